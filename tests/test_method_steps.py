"""Methods step by step: what clustering is asked for, samples of many deals, chunks, what is told."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive.abstraction_buckets import percentile_buckets as naive_percentiles

from errai.abstraction.build import build_abstraction
from errai.abstraction.clustering.kmeans import Metric, assign, cluster, cluster_large
from errai.abstraction.clustering.percentile import nested_percentiles
from errai.abstraction.clustering.potential_aware import cluster_potential
from errai.abstraction.features.features import Features
from errai.abstraction.features.rows import HandRows
from errai.abstraction.methods import clusters, method, potential
from errai.abstraction.methods.find import METHODS
from errai.abstraction.methods.method import (
    Clustered,
    Method,
    RoundMethod,
    RoundRecipe,
    RoundWork,
    verify_recall,
)
from errai.abstraction.options import BuildOptions
from errai.abstraction.population import Population, all_deals, sampled_deals
from errai.abstraction.recipe import parse_recipes
from errai.abstraction.round_buckets import ClassTable, RefinedStrength
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")

OPTIONS = BuildOptions(seed=5, restarts=3, max_iterations=4, sample_size=100, full_passes=2, num_threads=2)


class Listener:
    """Calls a function and keeps what it was asked for and what it said."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.answers: list[Any] = []

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls.append((arguments, options))
        self.answers.append(self.function(*arguments, **options))
        return self.answers[-1]


def seed_of(r: int) -> int:
    return int(np.random.SeedSequence((OPTIONS.seed, r)).generate_state(1)[0])


def work_of(
    features: Features, r: int, recipe: RoundRecipe, parent: Any = None, following: Any = None
) -> RoundWork:
    deals = Deals(features.plan.rules)
    return RoundWork(r, recipe, features, deals, OPTIONS, parent, following, lambda *_: None, "this")


def table_over(features: Features, r: int, num_buckets: int) -> ClassTable:
    table = (np.arange(features.classes.size(r)) * 7 % num_buckets).astype(np.uint16)
    return ClassTable(features.classes, r, table, num_buckets)


def as_told(found: Any, weights: np.ndarray) -> Clustered:
    return Clustered(
        found.cost,
        int(weights.sum()),
        found.num_distances,
        found.num_plain_distances,
        found.iterations,
    )


@pytest.mark.parametrize(
    ("name", "r", "metric", "columns"),
    [
        (Method.EARTH_MOVER, 1, Metric.L1, 50),
        (Method.EARTH_MOVER, 2, Metric.L1, 1),
        (Method.OPPONENT_CLUSTERS, 1, Metric.L2, 8),
    ],
)
def test_all_classes_are_clustered_with_what_was_chosen(
    features: Features, monkeypatch: pytest.MonkeyPatch, name: Method, r: int, metric: Metric, columns: int
) -> None:
    listener = Listener(cluster_large)
    monkeypatch.setattr(clusters, "cluster_large", listener)
    work = work_of(features, r, RoundRecipe(name, 6))
    labels = METHODS[name].labels(work)
    (((read, weights, *asked), _),) = listener.calls
    size = features.classes.size(r)
    assert weights.tolist() == features.deals(r).tolist()
    assert asked == [size, columns, 6, metric, OPTIONS.effort(seed_of(r)), work.report]
    assert read(3, 9).tolist() == HandRows(features, r, metric is Metric.L2).read(3, 9).tolist()
    assert np.array_equal(labels, listener.answers[0].labels)
    assert work.clustered == [as_told(listener.answers[0], features.deals(r))]


SPLIT = np.array([40, 3, 77, 12, 300, 5, 81, 9, 150, 33, 201, 64, 18, 111, 250, 2, 99, 310, 47, 70])


@pytest.mark.parametrize("name", [Method.EARTH_MOVER, Method.OPPONENT_CLUSTERS])
@pytest.mark.parametrize(("num_deals", "is_sample"), [(20, True), (13, True), (12, False), (11, False)])
@pytest.mark.parametrize("p", [0, 8])
def test_centres_of_many_deals_come_from_a_sample(
    features: Features,
    monkeypatch: pytest.MonkeyPatch,
    name: Method,
    num_deals: int,
    is_sample: bool,
    p: int,
) -> None:
    """12 rows, 4 for each of 3 parts; then all deals go to the nearest centre, 7 at a time."""
    monkeypatch.setattr(clusters, "MIN_ROWS_TO_TRAIN", 10)
    monkeypatch.setattr(clusters, "ROWS_TO_TRAIN_A_PART", 4)
    monkeypatch.setattr(clusters, "ROWS_TO_ASSIGN_AT_ONCE", 7)
    trained, assigned = Listener(cluster), Listener(assign)
    monkeypatch.setattr(clusters, "cluster", trained)
    monkeypatch.setattr(clusters, "assign", assigned)
    classes = SPLIT[:num_deals]
    weights = (np.arange(num_deals) % 5 + 1).astype(np.uint16)
    work = work_of(features, 1, RoundRecipe(name, 3, recall=True))
    labels, looked_up_by = METHODS[name].split(work, p, classes, weights)
    chosen = np.arange(num_deals)
    if is_sample:
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed_of(1), p))))
        chosen = np.sort(rng.choice(num_deals, 12, replace=False))
    rows = METHODS[name].rows(features, 1)
    (((points, counts, *asked), options),) = trained.calls
    assert points.tolist() == rows.of_classes(classes[chosen]).tolist()
    assert counts.tolist() == weights[chosen].tolist()
    assert asked == [3, rows.metric]
    assert options == {"seed": seed_of(1), "restarts": 3, "max_iterations": 4, "num_threads": 1}
    (found,) = trained.answers
    assert work.clustered == [as_told(found, weights)]
    sizes = [len(call[0][0]) for call in assigned.calls]
    assert sizes == ([7, 7, 6] if num_deals == 20 else [7, 6] if is_sample else [])
    expected = assign(rows.of_classes(classes), found.centres, rows.metric)[0]
    assert labels.tolist() == expected.tolist()
    if name is Method.EARTH_MOVER:
        assert looked_up_by is None, "before the last round there is a table"
    else:
        assert looked_up_by is not None
        assert np.array_equal(looked_up_by, found.centres)


@pytest.mark.parametrize(("least", "num_threads"), [(60, 2), (61, 1)])
def test_little_work_is_done_by_one_thread(
    features: Features, monkeypatch: pytest.MonkeyPatch, least: int, num_threads: int
) -> None:
    monkeypatch.setattr(clusters, "MIN_WORK_FOR_THREADS", least)
    trained = Listener(cluster)
    monkeypatch.setattr(clusters, "cluster", trained)
    work = work_of(features, 1, RoundRecipe(Method.EARTH_MOVER, 3, recall=True))
    METHODS[Method.EARTH_MOVER].split(work, 0, SPLIT, np.ones(20, dtype=np.uint16))
    assert trained.calls[0][1]["num_threads"] == num_threads


def test_limits_of_samples() -> None:
    assert (clusters.MIN_ROWS_TO_TRAIN, clusters.ROWS_TO_TRAIN_A_PART) == (20_000, 2000)
    assert (method.DEALS_SAMPLED_A_BUCKET, method.MAX_DEALS_IN_A_TABLE) == (20_000, 100_000_000)


def test_a_bucket_of_fewer_deals_than_parts(features: Features) -> None:
    """Each deal is a part of its own; in the last round every strength has the part of the nearest."""
    work = work_of(features, 2, RoundRecipe(Method.EARTH_MOVER, 5, recall=True))
    strengths = np.asarray(features.strength(2))
    values = np.unique(strengths)[[-4, 3, 20]].tolist()
    classes = np.array([int(np.flatnonzero(strengths == value)[0]) for value in values])
    labels, part = METHODS[Method.EARTH_MOVER].split(work, 0, classes, np.ones(3, dtype=np.uint16))
    assert sorted(labels.tolist()) == [0, 1, 2]
    assert part is not None
    centres = dict(zip(labels.tolist(), values, strict=True))
    expected = [min(range(3), key=lambda c: (abs(centres[c] - value), c)) for value in range(99)]
    assert part.tolist() == expected
    assert features.plan.max_strength == 98


def test_the_last_round_of_percentiles_is_looked_up_by_weighted_strength(features: Features) -> None:
    work = work_of(features, 2, RoundRecipe(Method.STRENGTH, 4, recall=True))
    rng = np.random.default_rng(2)
    classes = rng.choice(features.classes.size(2), 60, replace=False)
    weights = rng.integers(1, 30, 60).astype(np.uint16)
    labels, part = METHODS[Method.STRENGTH].split(work, 0, classes, weights)
    values = features.strength(2)[classes].tolist()
    assert labels.tolist() == naive_percentiles(values, weights.tolist(), 4)
    assert part is not None
    assert part[values].tolist() == labels.tolist()
    assert len(part) == 99
    assert naive_percentiles(values, [1] * 60, 4) != labels.tolist(), "weights matter here"
    assert METHODS[Method.STRENGTH].split(replace(work, r=1), 0, classes[:9] % 325, weights[:9])[1] is None


def test_percentiles_of_squares_come_first(features: Features) -> None:
    work = work_of(features, 1, RoundRecipe(Method.NESTED_STRENGTH, 10, (5, 2)))
    strength, squared = np.asarray(features.strength(1)), np.asarray(features.squared(1))
    weights = features.deals(1)
    labels = METHODS[Method.NESTED_STRENGTH].labels(work)
    assert labels.tolist() == nested_percentiles(squared, strength, weights, (5, 2)).tolist()
    assert labels.tolist() != nested_percentiles(strength, squared, weights, (5, 2)).tolist()


@pytest.mark.parametrize("most", [9997, 9996])
def test_a_round_that_recalls_has_a_table_where_it_fits(
    features: Features, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Rhode Island's last round has 9,997 canonical deals; where that is too many, deals are drawn."""
    monkeypatch.setattr(method, "MAX_DEALS_IN_A_TABLE", most)
    monkeypatch.setattr(method, "MIN_DEALS_SAMPLED", 500)
    monkeypatch.setattr(method, "DEALS_SAMPLED_A_BUCKET", 300)
    whole, drawn = Listener(all_deals), Listener(sampled_deals)
    monkeypatch.setattr(method, "all_deals", whole)
    monkeypatch.setattr(method, "sampled_deals", drawn)
    parent = table_over(features, 1, 3)
    work = work_of(features, 2, RoundRecipe(Method.STRENGTH, 4, recall=True), parent)
    built = METHODS[Method.STRENGTH].build(work)
    assert built.num_buckets == 12
    if most == 9997:
        assert (built.kind, work.statistics) == ("deals", {})
        assert whole.calls == [((work.deals, features.classes, 2, parent, 2), {})]
    else:
        assert (built.kind, work.statistics) == ("strength", {"deals_sampled": 900})
        assert drawn.calls == [((work.deals, features.classes, 2, parent, 900, seed_of(2), 2), {})]


def test_parts_and_their_numbers_have_as_many_bits_as_they_need(
    features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    """70,000 parts of a bucket: 16 bits would wrap them. Bucket 1 has no deals and no part of its own."""
    strength = METHODS[Method.STRENGTH]
    told: list[tuple[str, int, int]] = []
    parent = table_over(features, 1, 4)
    recipe = RoundRecipe(Method.STRENGTH, 70_000, recall=True)
    work = replace(work_of(features, 2, recipe, parent), tell=lambda *step: told.append(step))
    asked = []

    def split(work: RoundWork, p: int, classes: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
        asked.append((p, classes.tolist(), weights.tolist()))
        return np.full(len(classes), 69_990 + p), np.full(99, 69_980 + p)

    monkeypatch.setattr(strength, "split", split)
    parents = np.array([3, 0, 2, 0], dtype=np.uint32)
    deals = Population(
        parents, np.array([10, 11, 12, 13], dtype=np.uint32), np.array([1, 2, 3, 4], dtype=np.uint16)
    )
    labels, parts = strength._split_all(work, deals)
    assert labels.tolist() == [69_993, 69_990, 69_992, 69_990]
    assert asked == [(0, [11, 13], [2, 4]), (2, [12], [3]), (3, [10], [1])]
    assert told == [("this", p, 4) for p in range(4)]
    made = strength.looked_up(work, parts)
    assert isinstance(made, RefinedStrength)
    assert made.num_buckets == 280_000
    assert made.arrays["children"][:, 5].tolist() == [69_980, 0, 69_982, 69_983]


def test_tables_take_two_bytes_where_that_is_enough(features: Features) -> None:
    for name, recall in ((Method.STRENGTH, False), (Method.EARTH_MOVER, False), (Method.STRENGTH, True)):
        parent = table_over(features, 0, 3) if recall else None
        built = METHODS[name].build(work_of(features, 1, RoundRecipe(name, 4, recall=recall), parent))
        assert built.arrays["table"].dtype == np.uint16


def test_clusterings_of_all_buckets_are_told_together(features: Features) -> None:
    """Costs as means over deals: 2 of 10 and 5 of 30; distances in all; the most iterations."""
    work = work_of(features, 1, RoundRecipe(Method.EARTH_MOVER, 4))
    work.statistics["deals_sampled"] = 7
    scaled: Any = SimpleNamespace(distance=lambda work, cost: 100 * cost)
    assert work.finish(scaled) == {"deals_sampled": 7}
    work.clustered += [Clustered(2.0, 10, 5, 20, 3), Clustered(5.0, 30, 10, 40, 2)]
    assert work.finish(scaled) == {
        "deals_sampled": 7,
        "cost": 425.0,
        "share_saved": 0.75,
        "iterations": 3,
    }


def test_recall_before_the_last_round_needs_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    deals = Deals(load_game("rhode-island"))
    monkeypatch.setattr(method, "MAX_DEALS_IN_A_TABLE", 9997)
    verify_recall(1, 2, deals)
    verify_recall(2, 3, deals)
    monkeypatch.setattr(method, "MAX_DEALS_IN_A_TABLE", 9996)
    verify_recall(2, 2, deals)
    with pytest.raises(UsageError) as caught:
        verify_recall(2, 3, deals)
    assert str(caught.value) == (
        "round 3 of rhode-island has 9,997 deals: a table with recall before the last round must have at "
        "most 9,996"
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("IR-PA-PA 13-20-30", "PA must have a round after it to look ahead to: round 3 is the last"),
        (
            "IR-PA-KO 5-20-30",
            "PA is not made for the first round, which has few hands: expected C, HS, PHS, KE or KO",
        ),
        (
            "IR-PA-C 13-20-C",
            "PA in round 2 must have a round 3 clustered alone to look ahead to: not one that recalls, nor a "
            "lossless one",
        ),
        (
            "IIP-PA-KO 13-20-3",
            "PA in round 2 must have a round 3 clustered alone to look ahead to: not one that recalls, nor a "
            "lossless one",
        ),
    ],
)
def test_rounds_that_cannot_look_ahead(name: str, sentence: str) -> None:
    rules = load_game("rhode-island")
    with pytest.raises(UsageError) as caught:
        parse_recipes(name, rules)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("ochs", [False, True])
def test_what_may_come_is_clustered_with_what_was_chosen(
    features: Features, monkeypatch: pytest.MonkeyPatch, ochs: bool
) -> None:
    listener, rows = Listener(cluster_potential), Listener(HandRows.next_buckets)
    monkeypatch.setattr(potential, "cluster_potential", listener)
    monkeypatch.setattr(HandRows, "next_buckets", lambda *arguments: rows(*arguments))
    following = table_over(features, 2, 30)
    ahead = METHODS[Method.OPPONENT_CLUSTERS if ochs else Method.EARTH_MOVER]
    told: list[tuple[str, int, int]] = []
    recipe = RoundRecipe(Method.POTENTIAL_AWARE, 6)
    work = replace(
        work_of(features, 1, recipe, following=(following, ahead)), tell=lambda *step: told.append(step)
    )
    aware = METHODS[Method.POTENTIAL_AWARE]
    weights = np.arange(1, 5, dtype=np.uint16)
    labels, looked_up_by = aware.split(work, 0, SPLIT[:4], weights)
    assert looked_up_by is None
    all_labels = aware.labels(work)
    assert (len(set(labels.tolist())), len(all_labels)) == (4, 325)
    next_rows = HandRows(features, 2, ochs)
    means = next_rows.means(following.table, features.deals(2), 30)
    for call, classes, counts, num_buckets in (
        (0, SPLIT[:4], weights, 4),
        (1, np.arange(325), features.deals(1), 6),
    ):
        (points, weight, mean, metric, *asked), _ = listener.calls[call]
        assert points.tolist() == rows.answers[call].tolist()
        assert weight.tolist() == counts.tolist()
        assert mean.tolist() == means.tolist()
        assert metric is next_rows.metric
        assert asked == [num_buckets, OPTIONS.effort(seed_of(1)), work.report]
        (_, some, table, num_threads, report), _ = rows.calls[call]
        assert (some.tolist(), table is following.table, num_threads) == (classes.tolist(), True, 2)
        report(3, 4)
        assert told[-1] == ("this, what may come", 3, 4)
    assert work.clustered == [
        as_told(found, counts)
        for found, counts in zip(listener.answers, (weights, features.deals(1)), strict=True)
    ]
    # A mean distance of OCHS is squared, because rows take the root of a mean square.
    assert aware.distance(work, 49.0) == pytest.approx(49 / (3500 if ochs else 98), rel=1e-12)


def test_every_round_and_every_bucket_before_is_told(features: Features) -> None:
    told: list[tuple[str, int, int]] = []
    recipes = parse_recipes("PR-HS-HS 3-2-2 / IR-HS-C 3-4-C", features.plan.rules)
    build_abstraction(recipes, features, report=lambda *step: told.append(step))
    first = [
        ("round 1 of player 0 (HS)", 0, 1),
        ("round 2 of player 0 (HS)", 0, 1),
        *(("round 2 of player 0 (HS)", p, 3) for p in range(3)),
        ("round 3 of player 0 (HS)", 0, 1),
        *(("round 3 of player 0 (HS)", p, 6) for p in range(6)),
    ]
    assert told == [
        *first,
        ("round 1 of player 1 (HS)", 0, 1),
        ("round 2 of player 1 (HS)", 0, 1),
        ("round 3 of player 1 (C)", 0, 1),
    ]
    told.clear()
    build_abstraction(recipes[:1], features, report=lambda *step: told.append(step))
    assert told == [(what.replace(" of player 0", ""), done, total) for what, done, total in first]


def test_order_of_methods() -> None:
    """As they are told in sentences and documents."""
    assert [one.name.value for one in METHODS.values()] == ["C", "HS", "PHS", "SHS", "KE", "KO", "PA"]
    looks_ahead = {name for name, one in METHODS.items() if one.looks_ahead}
    nests = {name for name, one in METHODS.items() if one.nests}
    without_centres = {name for name, one in METHODS.items() if not one.can_be_looked_ahead_to}
    assert (looks_ahead, nests, without_centres) == (
        {Method.POTENTIAL_AWARE},
        {Method.NESTED_STRENGTH},
        {Method.CANONICAL, Method.SWEPT_STRENGTH},
    )
    assert all(isinstance(one, RoundMethod) for one in METHODS.values())
