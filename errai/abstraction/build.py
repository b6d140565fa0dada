"""Building an abstraction: a recipe and features in, buckets of every hand out.

A round that is clustered *alone* gets a table over classes of (hole cards, unordered board); every class
counts with the deals that it stands for. A round that *recalls* solves one small problem for each bucket of
the round before, over the deals that lead there (Johanson's thesis, chapter 5, "Perfect and imperfect
recall"). Where these deals are too many for a table (hold'em's river), the parts of each bucket are made
from a random sample of deals, and a hand is put into the nearest part when it is looked up.

Rounds are built in an order in which each finds what it needs: recall the round before, potential-aware
buckets the round after. Each finished round is on disk before the next begins, so a build that is
interrupted goes on with the same recipe and seed, and ends with the same bytes.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.abstraction import FORMAT, Abstraction, AbstractionWriter, RoundFactory
from errai.abstraction.clustering.kmeans import Clustering, Metric, assign, cluster, cluster_large
from errai.abstraction.clustering.percentile import bucket_of_value, nested_percentiles, percentile_buckets
from errai.abstraction.clustering.potential_aware import PotentialClustering, cluster_potential
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import (
    DEFAULT_CLUSTERS,
    HISTOGRAMS,
    OCHS,
    OPPONENT_CLUSTERS,
    STRENGTH,
    BoardSweep,
    FeaturePlan,
    Features,
)
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.features.rows import HandRows
from errai.abstraction.population import Population, all_deals, sampled_deals
from errai.abstraction.recipe import Method, Recipe, RoundRecipe, parse_recipes
from errai.abstraction.round_buckets import ClassTable, DealTable, Lossless, RefinedOchs, RefinedStrength
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules

MAX_DEALS_IN_A_TABLE = 100_000_000
DEALS_SAMPLED_A_BUCKET = 20_000
MIN_DEALS_SAMPLED = 2_000_000
MAX_DEALS_SAMPLED = 30_000_000
ROWS_TO_TRAIN_A_PART = 2_000
MIN_ROWS_TO_TRAIN = 20_000

Array = npt.NDArray[Any]
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class BuildOptions:
    """How much work a build puts in; part of the fingerprint, except for the threads.

    Attributes:
        seed: of everything random.
        restarts: independent k-means runs, of which the best is kept.
        max_iterations: Lloyd steps of a run.
        sample_size: rows that k-means trains on before it sees all; by the number of buckets without it.
        full_passes: Lloyd steps over all rows after that.
        num_threads: all cores without it; the result does not depend on it.
    """

    seed: int = 0
    restarts: int = 2
    max_iterations: int = 50
    sample_size: int | None = None
    full_passes: int = 1
    num_threads: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("restarts", self.restarts), ("iterations", self.max_iterations)):
            if value < 1:
                raise UsageError(f"{value} {name} are impossible: 1 or more are allowed")
        if self.full_passes < 0:
            raise UsageError(f"{self.full_passes} passes are impossible: 0 or more are allowed")


def abstract(
    game: PokerRules,
    name: str,
    out: str | Path | None = None,
    *,
    clusters: int | None = None,
    options: BuildOptions | None = None,
    report: Report | None = None,
) -> Abstraction:
    """Build an abstraction by name, and the features that it needs where the cache has none yet.

    Args:
        game: from `errai.load_game`.
        name: such as `IR-KE-KO 169-200-200-200`; see `recipe.py`.
        out: folder to save it in.
        clusters: opponent clusters of OCHS; 8 without it, or as many as there are classes of hole cards.
        options: seed and how much work to put in.
        report: called with what is being done, steps done and steps in all.
    """
    recipes = parse_recipes(name, game)
    options = options or BuildOptions()
    num_clusters = clusters or min(DEFAULT_CLUSTERS, HandClasses(game).size(0))
    plan = FeaturePlan(game, num_clusters, needed_features(recipes))
    features = build_features(plan, options.num_threads, report)
    return build_abstraction(recipes, features, options, out=out, report=report)


def build_abstraction(
    recipes: tuple[Recipe, ...],
    features: Features,
    options: BuildOptions | None = None,
    *,
    out: str | Path | None = None,
    report: Report | None = None,
) -> Abstraction:
    """Build an abstraction.

    Args:
        recipes: one for both players, or one for each.
        features: of the game.
        options: how much work to put in.
        out: folder to save it in, round by round; what an interrupted build of the same left there is used.
        report: called with what is being done, steps done and steps in all.
    """
    options = options or BuildOptions()
    tell = report or (lambda what, done, total: None)
    mark = fingerprint(recipes, features, options)
    writer = AbstractionWriter(out, recipes, mark) if out is not None else None
    has_clusters = OPPONENT_CLUSTERS in FeaturePlan(recipes[0].rules, 1, needed_features(recipes)).arrays
    clusters = np.asarray(features.opponent_clusters) if has_clusters else np.zeros(0, dtype=np.uint16)
    num_clusters = features.plan.num_clusters if has_clusters else 0
    if writer is not None:
        writer.write_clusters(clusters, num_clusters)
    players, statistics = [], []
    for player, recipe in enumerate(recipes):
        side = _Side(recipe, features, options, tell, f" of player {player}" if len(recipes) > 1 else "")
        for r in side.order():
            entry = writer.written_round(player, r) if writer is not None else None
            if entry is not None and writer is not None:
                arrays = writer.read_round(entry, player, r)
                earlier = [side.rounds[e] for e in range(r) if e in side.rounds]
                factory = RoundFactory(recipe.rules, clusters)
                side.rounds[r] = factory.make(entry["kind"], r, arrays, entry["num_buckets"], earlier)
                side.statistics[r] = entry["statistics"]
                continue
            began = perf_counter()
            side.build(r)
            side.statistics[r] |= {"seconds": round(perf_counter() - began, 1), "seed": options.seed}
            if writer is not None:
                writer.write_round(player, r, side.rounds[r], side.statistics[r])
        players.append(tuple(side.rounds[r] for r in range(len(recipe.rounds))))
        statistics.append(tuple(side.statistics[r] for r in range(len(recipe.rounds))))
    if writer is not None:
        writer.finish()
    return Abstraction(
        recipes[0].rules, recipes, tuple(players), clusters, mark, tuple(statistics), num_clusters
    )


def needed_features(recipes: tuple[Recipe, ...]) -> frozenset[str]:
    """Return the features that recipes need, by the names of `FeaturePlan`."""
    needed = {STRENGTH}
    for recipe in recipes:
        last_round = len(recipe.rounds) - 1
        for r, one in enumerate(recipe.rounds):
            if one.method is Method.OPPONENT_CLUSTERS:
                needed.add(f"{OCHS}-{r}")
            if one.method in (Method.EARTH_MOVER, Method.POTENTIAL_AWARE) and r < last_round:
                needed.add(f"{HISTOGRAMS}-{r}")
            # Potential-aware buckets are told apart by the rows of the round after, whatever its method.
            if one.method is Method.POTENTIAL_AWARE and r + 1 < last_round:
                needed.add(f"{HISTOGRAMS}-{r + 1}")
    return frozenset(needed)


def fingerprint(recipes: tuple[Recipe, ...], features: Features, options: BuildOptions) -> str:
    """Return the mark of everything that decides the buckets."""
    about = {
        "format": FORMAT,
        "features": features.plan.fingerprint,
        "names": [recipe.name for recipe in recipes],
        "options": [
            options.seed,
            options.restarts,
            options.max_iterations,
            options.sample_size,
            options.full_passes,
        ],
    }
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


@dataclass
class _Side:
    """One player's abstraction under way."""

    recipe: Recipe
    features: Features
    options: BuildOptions
    tell: Report
    whose: str
    rounds: dict[int, Any] = field(default_factory=dict)
    statistics: dict[int, dict[str, Any]] = field(default_factory=dict)

    @cached_property
    def deals(self) -> Deals:
        return Deals(self.recipe.rules)

    @property
    def last_round(self) -> int:
        return len(self.recipe.rounds) - 1

    def order(self) -> list[int]:
        """Return the rounds in an order in which each finds what it needs."""
        order: list[int] = []
        waiting = list(range(len(self.recipe.rounds)))
        while waiting:
            r = next(r for r in waiting if all(needed in order for needed in self._needs(r)))
            waiting.remove(r)
            order.append(r)
        return order

    def _needs(self, r: int) -> list[int]:
        needs = [r - 1] if self.recipe.rounds[r].recall else []
        return [*needs, r + 1] if self.recipe.rounds[r].method is Method.POTENTIAL_AWARE else needs

    def build(self, r: int) -> None:
        """Build a round."""
        recipe = self.recipe.rounds[r]
        self.tell(self._what(r), 0, 1)
        self.statistics[r] = {}
        if recipe.method is Method.CANONICAL:
            self.rounds[r] = Lossless(self.deals, r)
        elif recipe.recall:
            self._build_recalling(r, recipe)
        else:
            self._build_alone(r, recipe)

    def _build_alone(self, r: int, recipe: RoundRecipe) -> None:
        weights = self.features.deals(r)
        if recipe.method in (Method.STRENGTH, Method.NESTED_STRENGTH):
            labels = self._percentiles(r, recipe, slice(None), weights)
        elif recipe.method is Method.POTENTIAL_AWARE:
            rows = self._rows(r, recipe.method)
            found = self._cluster_potential(rows, np.arange(len(weights)), weights, recipe.num_buckets, r)
            labels = found.labels
        else:
            rows = self._rows(r, recipe.method)
            clustering = cluster_large(
                rows.read,
                weights,
                len(weights),
                rows.num_columns,
                recipe.num_buckets,
                rows.metric,
                seed=self._seed(r),
                restarts=self.options.restarts,
                sample_size=self.options.sample_size,
                full_passes=self.options.full_passes,
                max_iterations=self.options.max_iterations,
                num_threads=self.options.num_threads,
                report=self._report(r),
            )
            self._note(r, rows, [clustering])
            labels = clustering.labels
        table = labels.astype(_smallest(recipe.num_buckets))
        self.rounds[r] = ClassTable(self.features.classes, r, table, recipe.num_buckets)

    def _build_recalling(self, r: int, recipe: RoundRecipe) -> None:
        parent = self.rounds[r - 1]
        if self.deals.num_rows(r) <= MAX_DEALS_IN_A_TABLE:
            deals = all_deals(self.deals, self.features.classes, r, parent, self.options.num_threads)
            labels = self._refine(r, recipe, deals)[0]
            num_buckets = parent.num_buckets * recipe.num_buckets
            table = deals.parents * np.int64(recipe.num_buckets) + labels
            self.rounds[r] = DealTable(self.deals, r, table.astype(_smallest(num_buckets)), num_buckets)
            return
        if r != self.last_round:
            raise UsageError(
                f"round {r} of '{self.recipe.rules.name}' has {self.deals.num_rows(r):,} deals, too many for "
                f"a table with recall: at most {MAX_DEALS_IN_A_TABLE:,} are allowed before the last round"
            )
        wanted = DEALS_SAMPLED_A_BUCKET * parent.num_buckets
        size = min(max(MIN_DEALS_SAMPLED, wanted), MAX_DEALS_SAMPLED)
        deals = sampled_deals(
            self.deals, self.features.classes, r, parent, size, self._seed(r), self.options.num_threads
        )
        self.statistics[r]["deals_sampled"] = size
        _, parts = self._refine(r, recipe, deals)
        rules = self.recipe.rules
        num_parent_cards = rules.num_hole_cards + rules.num_board_cards_by(r - 1)
        shared = (parent, num_parent_cards, rules.num_hole_cards)
        if recipe.method is Method.OPPONENT_CLUSTERS:
            shape = (parent.num_buckets, recipe.num_buckets, self.features.plan.num_clusters)
            centres = np.zeros(shape, dtype=np.uint16)
            num_centres = np.zeros(parent.num_buckets, dtype=np.int64)
            for p, part in parts.items():
                centres[p, : len(part)] = part
                num_centres[p] = len(part)
            self.rounds[r] = RefinedOchs(*shared, self.features.board_sweep, centres, num_centres)
        else:
            most = self.features.plan.max_strength
            children = np.zeros((parent.num_buckets, most + 1), dtype=_smallest(recipe.num_buckets))
            for p, part in parts.items():
                children[p] = part
            sweep = BoardSweep(self.features.classes, None, 0)
            self.rounds[r] = RefinedStrength(*shared, sweep, children, recipe.num_buckets)

    def _refine(
        self, r: int, recipe: RoundRecipe, deals: Population
    ) -> tuple[npt.NDArray[np.int64], dict[int, Array]]:
        """Cut the deals of each parent into parts.

        Returns:
            The part of each deal, and for each parent what its parts are: centres, or in the last round of a
            strength method the part of each strength.
        """
        labels = np.zeros(len(deals.parents), dtype=np.int64)
        parts: dict[int, Array] = {}
        clusterings: list[Clustering] = []
        by_strength = recipe.method in (Method.STRENGTH, Method.NESTED_STRENGTH)
        rows = None if by_strength else self._rows(r, recipe.method)
        order, ends = deals.by_parent()
        for p in range(len(ends) - 1):
            members = order[ends[p] : ends[p + 1]]
            self.tell(self._what(r), p, len(ends) - 1)
            if len(members) == 0:
                continue
            classes, weights = deals.classes[members], deals.weights[members]
            if rows is None:
                labels[members] = self._percentiles(r, recipe, classes, weights)
                if r == self.last_round:
                    strength = np.asarray(self.features.strength(r))[classes]
                    weight = np.bincount(strength, weights, self.features.plan.max_strength + 1)
                    parts[p] = bucket_of_value(weight.astype(np.int64), recipe.num_buckets)
                continue
            num_parts = min(recipe.num_buckets, len(members))
            if recipe.method is Method.POTENTIAL_AWARE:
                found = self._cluster_potential(rows, classes, weights, num_parts, r)
                labels[members] = found.labels
                continue
            points = rows.of_classes(classes)
            labels[members], centres, clustering = self._cluster_members(
                points, weights, num_parts, rows.metric, r, p
            )
            clusterings.append(clustering)
            parts[p] = centres
            if r == self.last_round and recipe.method is Method.EARTH_MOVER:
                values = np.arange(self.features.plan.max_strength + 1, dtype=np.uint16)[:, np.newaxis]
                parts[p] = assign(values, centres, rows.metric, num_threads=1)[0]
        if rows is not None and clusterings:
            self._note(r, rows, clusterings)
        return labels, parts

    def _cluster_members(
        self, points: Array, weights: Array, num_parts: int, metric: Metric, r: int, p: int
    ) -> tuple[Array, Array, Clustering]:
        """Cluster the deals of one parent, on a sample where they are many."""
        most = max(MIN_ROWS_TO_TRAIN, ROWS_TO_TRAIN_A_PART * num_parts)
        train, train_weights = points, weights
        if len(points) > most:
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((self._seed(r), p))))
            chosen = np.sort(rng.choice(len(points), most, replace=False))
            train, train_weights = points[chosen], weights[chosen]
        num_threads = 1 if len(train) * num_parts < 2_000_000 else self.options.num_threads
        found = cluster(
            train,
            train_weights,
            num_parts,
            metric,
            seed=self._seed(r),
            restarts=self.options.restarts,
            max_iterations=self.options.max_iterations,
            num_threads=num_threads,
        )
        if len(points) == len(train):
            return found.labels, found.centres, found
        return assign(points, found.centres, metric, num_threads=num_threads)[0], found.centres, found

    def _percentiles(self, r: int, recipe: RoundRecipe, classes: Any, weights: Array) -> Array:
        strength = np.asarray(self.features.strength(r)[classes])
        if recipe.nested is None:
            return percentile_buckets(strength, weights, recipe.num_buckets)
        squared = np.asarray(self.features.squared(r)[classes])
        return nested_percentiles(squared, strength, weights, recipe.nested)

    def _cluster_potential(
        self, rows: HandRows, classes: Array, weights: Array, num_buckets: int, r: int
    ) -> PotentialClustering:
        """Cluster classes by their histograms over the next round's buckets."""
        following = self.rounds[r + 1]
        ahead = self.recipe.rounds[r + 1].method
        next_rows = self._rows(r + 1, ahead)
        found = cluster_potential(
            rows.next_buckets(
                classes,
                following.table,
                self.options.num_threads,
                lambda done, total: self.tell(f"{self._what(r)}, what may come", done, total),
            ),
            weights,
            next_rows.means(following.table, self.features.deals(r + 1), following.num_buckets),
            next_rows.metric,
            num_buckets,
            seed=self._seed(r),
            restarts=self.options.restarts,
            sample_size=self.options.sample_size,
            max_iterations=self.options.max_iterations,
            num_threads=self.options.num_threads,
            report=self._report(r),
        )
        self.statistics[r] |= {
            "cost": found.cost,
            "share_saved": found.share_saved,
            "iterations": found.iterations,
        }
        return found

    def _rows(self, r: int, method: Method) -> HandRows:
        return HandRows(self.features, r, method is Method.OPPONENT_CLUSTERS)

    def _seed(self, r: int) -> int:
        """Return a seed of the round's own."""
        return int(np.random.SeedSequence((self.options.seed, r)).generate_state(1)[0])

    def _what(self, r: int) -> str:
        return f"round {r}{self.whose} ({self.recipe.rounds[r].method.value})"

    def _report(self, r: int) -> Callable[[int, int], None]:
        return lambda done, total: self.tell(self._what(r), done, total)

    def _note(self, r: int, rows: HandRows, clusterings: list[Clustering]) -> None:
        computed = sum(one.num_distances for one in clusterings)
        plain = sum(one.num_plain_distances for one in clusterings)
        self.statistics[r] |= {
            "cost": float(np.mean([rows.distance(one.cost) for one in clusterings])),
            "share_saved": 1 - computed / plain,
            "iterations": max(one.iterations for one in clusterings),
        }


def _smallest(num_buckets: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type for so many buckets."""
    return np.uint16 if num_buckets <= 1 << 16 else np.uint32
