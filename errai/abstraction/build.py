"""Building an abstraction: a recipe and features in, buckets of every hand out.

`methods/` says how the buckets of a round are made. Here rounds are built in an order in which each finds
what it needs: recall the round before, potential-aware buckets the round after. Each finished round is on
disk before the next begins, so a build that is interrupted goes on with the same recipe and seed, and ends
with the same bytes.
"""

import json
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.abstraction import FORMAT, Abstraction, AbstractionWriter, RoundFactory
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import OPPONENT_CLUSTERS, FeaturePlan, Features
from errai.abstraction.methods.find import METHODS
from errai.abstraction.methods.method import RoundWork
from errai.abstraction.options import SAMPLE, BuildOptions
from errai.abstraction.recipe import Recipe, parse_recipes
from errai.abstraction.round_buckets import ClassTable, RoundBuckets
from errai.errors import UsageError, verify_function, verify_path
from errai.games.catalogue import Game, load_card_game
from errai.games.deals import Deals
from errai.games.rounds import round_name
from errai.memory import verify_memory

Report = Callable[[str, int, int], None]


def abstract(
    game: Game | str | Path,
    name: str,
    out: str | Path | None = None,
    *,
    clusters: int | None = None,
    options: BuildOptions | None = None,
    report: Report | None = None,
) -> Abstraction:
    """Build an abstraction by name, and the features that it needs where the cache has none yet.

    Args:
        game: from `errai.load_game`, or what it takes: a name or the path of an ACPC game file.
        name: such as `IR-KE-KO 169-200-200-200`; see `recipe.py`.
        out: folder to save it in.
        clusters: opponent clusters of OCHS; 8 without it, or as many as there are classes of hole cards.
        options: seed and how much work to put in.
        report: called with what is being done, steps done and steps in all.
    """
    if options is not None and not isinstance(options, BuildOptions):
        raise UsageError(f"options must be BuildOptions, not {reprlib.repr(options)}")
    if out is not None:
        verify_path("out", out)
    if report is not None:
        verify_function("report", report)
    rules = load_card_game(game)
    recipes = parse_recipes(name, rules)
    options = options or BuildOptions()
    plan = feature_plan(recipes, clusters)
    verify_build(recipes, plan, options)
    features = build_features(plan, options.num_threads, report)
    return build_abstraction(recipes, features, options, out=out, report=report)


def feature_plan(recipes: Sequence[Recipe], clusters: int | None = None) -> FeaturePlan:
    """Return the plan of the features that recipes are made of.

    Args:
        recipes: one for both players, or one for each.
        clusters: opponent clusters of OCHS; 8 without it, or as many as there are classes of hole cards.
    """
    return FeaturePlan.of(recipes[0].rules, clusters, features_needed(recipes))


def features_needed(recipes: Sequence[Recipe]) -> frozenset[str]:
    """Return the features that all recipes together are made of; see `Recipe.features_needed`."""
    return frozenset().union(*(recipe.features_needed() for recipe in recipes))


def verify_build(recipes: Sequence[Recipe], plan: FeaturePlan, options: BuildOptions) -> None:
    """Refuse a build that cannot succeed, before any work: too small a sample, too little memory.

    Args:
        recipes: one for both players, or one for each.
        plan: of the features.
        options: how much work to put in.
    """
    for recipe in recipes:
        for r, one in enumerate(recipe.rounds):
            if SAMPLE in METHODS[one.method].options_used(one.recall):
                num_rows = Deals(recipe.rules).num_rows(r) if one.recall else plan.classes.size(r)
                options.effort(0).sampled(num_rows, one.num_buckets)
    name = " / ".join(recipe.name for recipe in recipes)
    verify_memory(memory_needed(recipes, plan, options), f"building '{name}'")


def memory_needed(recipes: Sequence[Recipe], plan: FeaturePlan, options: BuildOptions) -> int:
    """Return about how many bytes of memory a build takes at most, features aside, which are mapped."""
    held = most = 0
    for recipe in recipes:
        deals = Deals(recipe.rules)
        sizes = table_bytes(recipe, plan)
        for r in recipe.order():
            one, last = recipe.rounds[r], len(recipe.rounds) - 1
            num_parents = recipe.num_buckets(r - 1) if r > 0 else 1
            num_next = recipe.rounds[r + 1].num_buckets if r < last else 0
            working = METHODS[one.method].working_bytes(plan, deals, r, one, num_parents, num_next, options)
            held += sizes[r]
            most = max(most, held + working)
    return most


def table_bytes(recipe: Recipe, plan: FeaturePlan) -> tuple[int, ...]:
    """Return how large the table of each round will be."""
    deals = Deals(recipe.rules)
    return tuple(
        METHODS[one.method].table_bytes(plan, deals, r, one, recipe.num_buckets(r - 1) if r > 0 else 1)
        for r, one in enumerate(recipe.rounds)
    )


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
    verify_build(recipes, features.plan, options)
    mark = fingerprint(recipes, features.plan, options)
    writer = AbstractionWriter(out, recipes, mark) if out is not None else None
    clusters: npt.NDArray[np.uint16] = np.zeros(0, dtype=np.uint16)
    num_clusters = 0
    if OPPONENT_CLUSTERS in features_needed(recipes):
        clusters, num_clusters = np.asarray(features.opponent_clusters), features.plan.num_clusters
    if writer is not None:
        writer.write_clusters(clusters, num_clusters)
    players, statistics = [], []
    for player, recipe in enumerate(recipes):
        whose = f" of player {player}" if len(recipes) > 1 else ""
        rounds: dict[int, RoundBuckets] = {}
        told: dict[int, dict[str, Any]] = {}
        for r in recipe.order():
            entry = writer.written_round(player, r) if writer is not None else None
            if entry is not None and writer is not None:
                arrays = writer.read_round(entry, player, r)
                earlier = [rounds[e] for e in range(r) if e in rounds]
                factory = RoundFactory(recipe.rules, clusters)
                rounds[r] = factory.make(entry["kind"], r, arrays, entry["num_buckets"], earlier)
                told[r] = entry["statistics"]
                continue
            began = perf_counter()
            rounds[r], told[r] = _build_round(recipe, r, rounds, features, options, report, whose)
            told[r] |= {"seconds": round(perf_counter() - began, 1), "seed": options.seed}
            if writer is not None:
                writer.write_round(player, r, rounds[r], told[r])
        players.append(tuple(rounds[r] for r in range(len(recipe.rounds))))
        statistics.append(tuple(told[r] for r in range(len(recipe.rounds))))
    if writer is not None:
        writer.finish()
    return Abstraction(
        recipes[0].rules, recipes, tuple(players), clusters, mark, tuple(statistics), num_clusters
    )


def _build_round(
    recipe: Recipe,
    r: int,
    rounds: dict[int, RoundBuckets],
    features: Features,
    options: BuildOptions,
    report: Report | None,
    whose: str,
) -> tuple[RoundBuckets, dict[str, Any]]:
    """Build one round of one player's side; return it and what is told of it."""
    one, ahead = recipe.rounds[r], recipe.following(r)
    method = METHODS[one.method]
    following = None
    if method.looks_ahead:
        table = rounds[r + 1]
        assert isinstance(table, ClassTable)
        assert ahead is not None
        following = (table, ahead)
    work = RoundWork(
        r,
        one,
        features,
        Deals(recipe.rules),
        options,
        rounds.get(r - 1) if one.recall else None,
        following,
        report or (lambda what, done, total: None),
        f"{round_name(recipe.rules, r)}{whose} ({one.method.value})",
    )
    work.report(0, 1)
    built = method.build(work)
    return built, work.finish(method)


def fingerprint(recipes: Sequence[Recipe], plan: FeaturePlan, options: BuildOptions) -> str:
    """Return the mark of everything that decides the buckets, and of nothing else."""
    used = frozenset[str]().union(*(recipe.options_used() for recipe in recipes))
    # Without OCHS it does not matter how many opponent clusters there are.
    has_clusters = OPPONENT_CLUSTERS in features_needed(recipes)
    plan = plan if has_clusters else replace(plan, num_clusters=1)
    about = {
        "format": FORMAT,
        "features": plan.fingerprint,
        "names": [recipe.name for recipe in recipes],
        "options": {name: getattr(options, name) for name in sorted(used)},
    }
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
