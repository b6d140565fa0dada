"""Abstractions that are built when they are first needed, and kept in the cache by their fingerprint.

The fingerprint of an abstraction follows from its recipe alone (`errai.abstraction.build.fingerprint`), so it
is known before anything is built, and so are the memory and disk that building it takes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from errai.abstraction.abstraction import Abstraction, read_abstraction
from errai.abstraction.build import (
    build_abstraction,
    feature_plan,
    fingerprint,
    memory_needed,
    table_bytes,
    verify_build,
)
from errai.abstraction.features.build import MEMORY_BYTES, build_features, estimate_seconds
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.folder import CACHED_PREFIX, MANIFEST_NAME
from errai.abstraction.methods.method import Method
from errai.abstraction.options import BuildOptions
from errai.abstraction.recipe import Recipe, parse_recipes
from errai.games.rules import PokerRules
from errai.kernels import cache_root
from errai.workers import verified_threads

Report = Callable[[str, int, int], None]

CLUSTERED = (Method.EARTH_MOVER, Method.OPPONENT_CLUSTERS, Method.POTENTIAL_AWARE)
"""Methods by k-means, which takes longer than the features of its rows."""

MEASURED_BUCKETS = 9000
MEASURED_CORE_SECONDS = 90.0
CLUSTERING_POWER = 1.6
"""Of one restart: a round of 9,000 clusters of hold'em with two of them took 25 to 65 s on two cores, on
another machine 89 s, and one of 5,000 about a third of that."""


def cached_folder(mark: str) -> Path:
    """Return the folder of the cache in which the abstraction with a fingerprint is or would be."""
    return cache_root() / f"{CACHED_PREFIX}{mark}"


@dataclass(frozen=True, eq=False)
class PlannedAbstraction:
    """An abstraction by its recipe, built or not.

    Attributes:
        recipes: one for both players, or one for each.
        plan: of the features that it is made of.
        options: how much work goes into it.
    """

    recipes: tuple[Recipe, ...]
    plan: FeaturePlan
    options: BuildOptions

    @staticmethod
    def of(
        rules: PokerRules, name: str, options: BuildOptions, clusters: int | None = None
    ) -> "PlannedAbstraction":
        """Plan an abstraction by its name; arguments as for `errai.abstract`."""
        recipes = parse_recipes(name, rules)
        return PlannedAbstraction(recipes, feature_plan(recipes, clusters), options)

    @property
    def name(self) -> str:
        """As `errai.abstract` takes it."""
        return " / ".join(recipe.name for recipe in self.recipes)

    @cached_property
    def fingerprint(self) -> str:
        """Of everything that decides its buckets."""
        return fingerprint(self.recipes, self.plan, self.options)

    @property
    def folder(self) -> Path:
        """Where it is or will be."""
        return cached_folder(self.fingerprint)

    @property
    def is_built(self) -> bool:
        """Whether it is there."""
        return (self.folder / MANIFEST_NAME).is_file()

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the buckets of a round; canonical hands where it is lossless."""
        return self.recipes[player if len(self.recipes) > 1 else 0].num_buckets(round_index)

    @property
    def table_bytes(self) -> int:
        """Bytes of its tables, in memory or on disk."""
        return sum(size for recipe in self.recipes for size in table_bytes(recipe, self.plan))

    @property
    def missing_bytes(self) -> int:
        """Disk that building it takes yet, features included."""
        return 0 if self.is_built else self.table_bytes + self.plan.missing_bytes

    @property
    def building_bytes(self) -> int:
        """Memory that building it takes at most."""
        if self.is_built:
            return 0
        features = 0 if self.plan.is_complete() else MEMORY_BYTES
        return max(features, memory_needed(self.recipes, self.plan, self.options))

    def building_seconds(self) -> float:
        """Return about how long its features and k-means take; percentiles are soon cut."""
        if self.is_built:
            return 0.0
        work: float = sum(
            (one.num_buckets / MEASURED_BUCKETS) ** CLUSTERING_POWER
            for recipe in self.recipes
            for one in recipe.rounds
            if one.method in CLUSTERED
        )
        threads = verified_threads(self.options.num_threads)
        clustering = MEASURED_CORE_SECONDS * work * self.options.restarts / threads
        return estimate_seconds(self.plan, self.options.num_threads) + clustering

    def verify(self) -> None:
        """Refuse a build that cannot succeed, before any work."""
        if not self.is_built:
            verify_build(self.recipes, self.plan, self.options)

    def open(self, report: Report | None = None) -> Abstraction:
        """Return it, built first where it is missing; a build that was interrupted goes on.

        Args:
            report: called with what is being done, steps done and steps in all.
        """
        if not self.is_built:
            features = build_features(self.plan, self.options.num_threads, report)
            build_abstraction(self.recipes, features, self.options, out=self.folder, report=report)
        return read_abstraction(self.folder)
