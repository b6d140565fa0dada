"""Building a public abstraction, step by step: what each step is asked for, samples, files, refusals."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT

import errai
from errai.abstraction.clustering.kmeans import Metric, cluster, cluster_large
from errai.abstraction.clustering.lloyd import Effort
from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.own import abstraction_from_function
from errai.abstraction.public import abstract as public_abstract
from errai.abstraction.public import abstraction as public_abstraction
from errai.abstraction.public import build as public_build
from errai.abstraction.public.abstract import abstract_public, cluster_boards, plan_public
from errai.abstraction.public.abstraction import load_public_abstraction, padded
from errai.abstraction.public.build import build_public_abstraction, verified_buckets
from errai.abstraction.public.clusters import PublicClusters, transition_table
from errai.array_file import read_array
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")

# Ranks 2 to A of Rhode Island's first board, unevenly.
THREE = PublicClusters(np.array([0, 1, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 1], dtype=np.int32), 3, 0.0, 1, True, 0)


def rhode_island() -> PokerRules:
    rules = load_game("rhode-island")
    assert isinstance(rules, PokerRules)
    return rules


class Listener:
    """Calls a function and keeps what it was asked for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls.append((arguments, options))
        return self.function(*arguments, **options)


@pytest.fixture
def listeners(monkeypatch: pytest.MonkeyPatch) -> tuple[Listener, Listener]:
    tables, centres = Listener(cluster_large), Listener(cluster)
    monkeypatch.setattr(public_build, "cluster_large", tables)
    monkeypatch.setattr(public_build, "cluster", centres)
    return tables, centres


def seed_of(seed: int, number: int, r: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(number, r)).generate_state(1, np.uint64)[0])


def test_each_clustering_is_asked_for_what_was_chosen(
    features: Features, listeners: tuple[Listener, Listener]
) -> None:
    """Seeds by cluster and round, restarts and iterations; deals of a class counted board by board."""
    build_public_abstraction(
        features, THREE, buckets=(5, 6), seed=9, restarts=3, max_iterations=4, num_threads=1
    )
    tables, centres = listeners
    rules, deals = features.plan.rules, Deals(features.plan.rules)
    boards, dealt = deals.boards.cards(0), deals.boards.weights(0)
    assert len(tables.calls) == len(centres.calls) == 3
    for number in range(3):
        counts: dict[int, int] = {}
        rows: dict[tuple[int, ...], int] = {}
        for board in THREE.boards(number).tolist():
            public = int(boards[board, 0])
            others = [card for card in rules.deck.cards if card != public]
            for hole in others:
                (one,) = features.classes.index(np.array([[hole, public]], dtype=np.uint8), 1).tolist()
                counts[one] = counts.get(one, 0) + int(dealt[board])
            for more in others:
                found = features.on_board(np.array([public, more], dtype=np.uint8))
                for row in found.ochs[found.is_open].tolist():
                    rows[tuple(row)] = rows.get(tuple(row), 0) + int(dealt[board])
        (read, weights, num_rows, columns, num_buckets, metric, effort), _ = tables.calls[number]
        assert (num_rows, columns, num_buckets, metric) == (len(counts), 50, 5, Metric.L1)
        assert effort == Effort(seed_of(9, number, 1), 3, 4, sample_size=500, full_passes=0, num_threads=1)
        assert weights.tolist() == [counts[one] for one in sorted(counts)]
        assert read(2, 7).tolist() == features.histograms(1)[sorted(counts)[2:7]].tolist()
        (points, weights, num_buckets, metric), options = centres.calls[number]
        assert dict(zip(map(tuple, points.tolist()), weights.tolist(), strict=True)) == rows
        assert (num_buckets, metric) == (6, Metric.L2)
        assert options == {
            "seed": seed_of(9, number, 2),
            "restarts": 3,
            "max_iterations": 4,
            "num_threads": 1,
        }


@pytest.mark.parametrize(("num_buckets", "rows_a_bucket"), [(3, 7), (4, 10), (3, 500)])
def test_a_sample_has_as_many_hands_of_each_board(
    features: Features,
    listeners: tuple[Listener, Listener],
    monkeypatch: pytest.MonkeyPatch,
    num_buckets: int,
    rows_a_bucket: int,
) -> None:
    """Ten boards, swept three at a time: enough hands of each, rounded up, or all of its 50."""
    monkeypatch.setattr(public_build, "SAMPLE_BOARDS", 10)
    monkeypatch.setattr(public_build, "SAMPLE_ROWS_PER_BUCKET", rows_a_bucket)
    monkeypatch.setattr(public_build, "BOARDS_A_SWEEP", 3)
    swept_at_once = Listener(features.board_sweep.sweep)
    monkeypatch.setattr(features.board_sweep, "sweep", swept_at_once)
    build_public_abstraction(features, THREE, buckets=num_buckets, only=[1], num_threads=1)
    ((points, weights, _, _), _) = listeners[1].calls[0]
    kept = min(50, ceil(rows_a_bucket * num_buckets / 10))
    assert weights.sum() == 10 * kept
    boards = [arguments[0] for arguments, _ in swept_at_once.calls]
    assert [len(some) for some in boards] == [3, 3, 3, 1]
    swept = np.concatenate(boards)
    assert set((swept[:, 0] >> 2).tolist()) <= {1, 6, 12}, "they begin in the cluster"
    assert (swept[:, 0] != swept[:, 1]).all()
    possible = {tuple(row) for board in swept for row in features.on_board(board).ochs.tolist()}
    assert {tuple(row) for row in points.tolist()} <= possible


@pytest.mark.parametrize(("most", "is_sample"), [(3 * 51, False), (3 * 51 - 1, True)])
def test_boards_are_drawn_where_there_are_more(
    features: Features, monkeypatch: pytest.MonkeyPatch, most: int, is_sample: bool
) -> None:
    monkeypatch.setattr(public_build, "SAMPLE_BOARDS", most)
    deals = Deals(features.plan.rules)
    choices = public_build._Choices(features, 1, (5, 5), 0, 1, 10)
    boards = THREE.boards(1)
    ends, weights, drawn = public_build._last_boards(choices, deals, boards, np.random.default_rng(4))
    assert (len(ends), len(weights), drawn) == (most, most, is_sample)
    if not is_sample:
        special = deals.boards.cards(0)[boards]
        expected = [
            (*board, card)
            for board in special.tolist()
            for (card,) in combinations(features.plan.rules.deck.cards, 1)
            if card not in board
        ]
        assert list(map(tuple, ends.tolist())) == expected
        assert weights.tolist() == [4] * most
    again = public_build._last_boards(choices, deals, boards, np.random.default_rng(4))[0]
    assert np.array_equal(ends, again)


def test_everything_that_decides_the_buckets_is_in_the_fingerprint(
    features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = public_build._Choices(features, 1, (5, 6), 7, 8, 9)
    other = Features(FeaturePlan(load_game("leduc"), 3))
    marks = [
        public_build._fingerprint(one, THREE)
        for one in (
            choices,
            choices._replace(features=other),
            choices._replace(special_round=2),
            choices._replace(buckets=(6, 5)),
            choices._replace(seed=6),
            choices._replace(restarts=7),
            choices._replace(max_iterations=10),
        )
    ]
    moved = THREE.cluster_of_board.copy()
    moved[0] = 1
    marks.append(public_build._fingerprint(choices, replace(THREE, cluster_of_board=moved)))
    monkeypatch.setattr(public_build, "FORMAT", 7)
    marks.append(public_build._fingerprint(choices, THREE))
    assert len(set(marks)) == len(marks) == 9


def test_some_clusters_are_written_and_the_rest_later(features: Features, tmp_path: Path) -> None:
    """A folder is an abstraction when all clusters are there; those that are there are not built again."""
    options: dict[str, Any] = {"buckets": (5, 6), "out": tmp_path / "a", "num_threads": 1}
    told: list[tuple[int, int]] = []
    build_public_abstraction(features, THREE, only=[2, 0, 2], report=lambda *one: told.append(one), **options)
    assert told[-1] == (2, 2)
    with pytest.raises(UsageError, match="is not an abstraction"):
        load_public_abstraction(tmp_path / "a")
    kept = (tmp_path / "a" / "cluster-2" / "boards.array").stat().st_mtime_ns
    built = build_public_abstraction(features, THREE, **options)
    assert (tmp_path / "a" / "cluster-2" / "boards.array").stat().st_mtime_ns == kept
    loaded = load_public_abstraction(tmp_path / "a")
    assert sorted(loaded.clusters) == sorted(built.clusters) == [0, 1, 2]
    for number, tables in loaded.clusters.items():
        assert tables.costs == built.clusters[number].costs
        assert len(tables.costs) == 2
        assert tables.boards.tolist() == THREE.boards(number).tolist()


def test_what_another_choice_has_left_is_not_used(features: Features, tmp_path: Path) -> None:
    straight = build_public_abstraction(features, THREE, buckets=(5, 6), num_threads=1)
    for folder, change in (
        ("seed", {"seed": 4}),
        ("restarts", {"restarts": 2}),
        ("iterations", {"max_iterations": 1}),
        ("buckets", {"buckets": (6, 5)}),
    ):
        out = tmp_path / folder
        changed: dict[str, Any] = {"buckets": (5, 6), **change}
        build_public_abstraction(features, THREE, only=[0], out=out, num_threads=1, **changed)
        built = build_public_abstraction(features, THREE, buckets=(5, 6), out=out, num_threads=1)
        for loaded in (built, load_public_abstraction(out)):
            assert loaded.clusters[0].costs == straight.clusters[0].costs
            assert np.array_equal(loaded.clusters[0].centres, straight.clusters[0].centres)


def test_files_of_another_cluster_are_refused(features: Features, tmp_path: Path) -> None:
    """They have the same fingerprint and are whole: only the manifest tells them apart."""
    build_public_abstraction(features, THREE, buckets=(5, 6), out=tmp_path / "a", num_threads=1)
    for name in ("boards", "round-1", "round-2"):
        harmed = tmp_path / name
        shutil.copytree(tmp_path / "a", harmed)
        shutil.copy(harmed / "cluster-1" / f"{name}.array", harmed / "cluster-0" / f"{name}.array")
        with pytest.raises(UsageError, match=f"cluster-0/{name}.array"):
            load_public_abstraction(harmed)
    shutil.copy(tmp_path / "a" / "opponents.array", tmp_path / "a" / "clusters.array")
    with pytest.raises(UsageError, match=r"clusters\.array"):
        load_public_abstraction(tmp_path / "a")


def test_files_say_what_they_hold(features: Features, tmp_path: Path) -> None:
    build_public_abstraction(features, THREE, buckets=(5, 6), out=tmp_path, num_threads=1)
    units = {
        str(path.relative_to(tmp_path)): read_array(path)[0].units
        for path in [*tmp_path.glob("*.array"), *tmp_path.glob("cluster-1/*.array")]
    }
    assert units == {
        "clusters.array": "clusters",
        "opponents.array": "clusters",
        "cluster-1/boards.array": "boards",
        "cluster-1/round-1.array": "buckets",
        "cluster-1/round-2.array": "chances",
    }


def test_a_private_abstraction_is_not_a_public_one(folders: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_public_abstraction(folders / "leduc")
    assert str(caught.value) == (f"expected a public abstraction: '{folders / 'leduc'}' is a private one")


def test_sentences_name_boards_and_clusters(features: Features) -> None:
    """Rhode Island has 13 boards of one card and 325 of two; the threes are in cluster 1."""
    with pytest.raises(UsageError) as caught:
        build_public_abstraction(features, THREE, special_round=2, buckets=5)
    assert str(caught.value) == "expected clusters of the 325 boards of round 3 of rhode-island, not of 13"
    built = build_public_abstraction(features, THREE, buckets=(5, 6), only=[2, 0], num_threads=1)
    for call in (
        lambda: built.bucket("As", "3d"),
        lambda: built.buckets(np.array([[51, 5]], dtype=np.uint8), 1),
        lambda: built.bucket("As", "3dKs"),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert str(caught.value) == ("the board 3c is in public cluster 1, which is not loaded: 0, 2 are")
    base = np.full(325, 9)
    with pytest.raises(UsageError) as caught:
        transition_table(base, Deals(features.plan.rules), 1, num_buckets=9)
    assert str(caught.value) == "a hand on the board 2c has bucket 9: it must be 0 to 8"


def test_ranks_of_equal_values_are_in_their_order() -> None:
    assert public_build._ranks(np.array([3, 1, 3, 0, 1])).tolist() == [3, 1, 4, 0, 2]


def test_centres_are_sorted_by_their_sums_and_equals_as_they_come(
    features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    centres = np.zeros((4, 8), dtype=np.uint16)
    centres[:, 0], centres[:, 1] = [60_000, 5, 3, 1], [60_000, 0, 2, 0]

    def found(*arguments: Any, **options: Any) -> Any:
        return replace(cluster(*arguments, **options), centres=centres, cost=0.5)

    monkeypatch.setattr(public_build, "cluster", found)
    built = build_public_abstraction(features, THREE, buckets=(5, 4), only=[1], num_threads=1)
    assert built.clusters[1].centres[:, 0].tolist() == [1, 5, 3, 60_000]
    assert built.clusters[1].centre_sums.tolist() == [1, 5, 5, 120_000]
    assert built.clusters[1].costs[1] == 0.5


@pytest.mark.parametrize(("columns", "width"), [(1, 8), (8, 8), (9, 16), (16, 16)])
def test_rows_are_padded_with_zeroes(columns: int, width: int) -> None:
    rows = np.full((2, columns), 7, dtype=np.uint16)
    assert padded(rows).tolist() == [[7] * columns + [0] * (width - columns)] * 2


@pytest.mark.parametrize(
    ("dealt", "special_round", "first", "between"),
    [
        ((0, 2, 2, 1), 1, "round 2", (2,)),
        ((0, 3, 0, 2), 1, "round 2", (0,)),
        ((2, 1, 1, 1), 0, "round 1", (1, 1)),
    ],
)
def test_one_card_may_be_dealt_between(
    dealt: tuple[int, ...], special_round: int, first: str, between: tuple[int, ...]
) -> None:
    rules = load_game("limit-holdem")
    assert isinstance(rules, PokerRules)
    with pytest.raises(UsageError) as caught:
        verified_buckets(replace(rules, name="other", num_board_cards=dealt), special_round, 5)
    assert str(caught.value) == (
        f"at most one public card may be dealt between {first} and the last: 'other' deals {between}"
    )


def test_buckets_of_a_cluster_have_16_bits() -> None:
    rules = rhode_island()
    assert verified_buckets(rules, 1, 65_535) == (65_535, 65_535)
    assert verified_buckets(rules, 1, (1, 65_535)) == (1, 65_535)
    assert verified_buckets(rules, 2, [7]) == (7,)
    with pytest.raises(UsageError, match="or 2, one a round from round 2 on, not 7, 65536"):
        verified_buckets(rules, 1, (7, 65_536))


def test_every_option_reaches_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    base = abstraction_from_function("rhode-island", lambda hand, board, r: r, "base", check_suits=False)
    told: list[Any] = []
    clusters = PublicClusters(np.zeros(325, dtype=np.int32), 1, 0.0, 0, True, 0)
    features: Any = object()
    asked: dict[str, Any] = {}

    def step(name: str, result: Any) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            asked[name] = (arguments, options)
            return result

        return call

    for name, result in (
        ("build_features", features),
        ("transition_table", "table"),
        ("public_differences", "differences"),
        ("cluster_public_boards", clusters),
        ("build_public_abstraction", "built"),
    ):
        monkeypatch.setattr(public_abstract, name, step(name, result))
    monkeypatch.setattr(public_abstract, "num_cores", lambda: 11)
    options: dict[str, Any] = {
        "public_clusters": 3,
        "buckets": 5,
        "special_round": 2,
        "clusters": 4,
        "seed": 6,
        "restarts": 7,
    }
    for num_threads in (None, 8):
        seen: list[Any] = []
        report = lambda *step: told.append(step)  # noqa: E731
        found: Any = abstract_public(
            base, "out", num_threads=num_threads, report=report, clustered=seen.append, **options
        )
        assert found == "built"
        assert seen == [clusters]
        (plan, threads, reported), _ = asked["build_features"]
        assert (plan.rules, plan.num_clusters, threads, reported) == (base.game, 4, num_threads, report)
        assert set(plan.needed) == {"histograms", "opponent-clusters"}
        (_, deals, special_round, num_buckets), _ = asked["transition_table"]
        assert (deals.rules, special_round, num_buckets) == (base.game, 2, 3)
        assert asked["public_differences"] == (("table",), {"num_threads": num_threads or 11})
        assert asked["cluster_public_boards"] == (("differences", 3), {"seed": 6, "restarts": 7})
        arguments, given = asked["build_public_abstraction"]
        given.pop("report")(2, 3)
        assert told[-1] == ("private buckets", 2, 3)
        assert arguments == (features, clusters)
        assert given == {
            "special_round": 2,
            "buckets": (5,),
            "seed": 6,
            "out": Path("out"),
            "num_threads": num_threads,
        }
    abstract_public(base, **options)
    assert asked["build_features"][0][2] is asked["build_public_abstraction"][1]["report"] is None
    assert asked["build_public_abstraction"][1]["out"] is None


def test_defaults_are_those_of_the_paper() -> None:
    """T7: 60 clusters of the flops, 500 buckets in each."""
    base = abstraction_from_function("rhode-island", lambda hand, board, r: 0, "base", check_suits=False)
    plan = plan_public(base, public_clusters=5)
    assert (plan.buckets, plan.special_round, plan.seed, plan.restarts) == ((500, 500), 1, 0, 10)
    assert (plan.features.num_clusters, plan.num_threads, plan.out) == (8, None, None)
    assert plan.name == "PUBLIC5-KE-KO 13-500-500"
    with pytest.raises(UsageError, match="must be 1 to 13, one for each board, not 60"):
        plan_public(base)


def test_boards_are_told_apart_by_the_first_position(folders: Path) -> None:
    base = errai.load_abstraction(folders / "asymmetric")
    first = errai.abstract("rhode-island", "IR-HS-HS 5-20-10")
    second = errai.abstract("rhode-island", "PR-KE-HS 4-3-2")
    found, one, other = (
        cluster_boards(some, 6, 1, seed=3, restarts=4, num_threads=1) for some in (base, first, second)
    )
    assert found.cluster_of_board.tolist() == one.cluster_of_board.tolist()
    assert found.objective == one.objective != other.objective


def test_room_is_needed_to_the_byte(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = abstraction_from_function("rhode-island", lambda hand, board, r: 0, "base", check_suits=False)
    plan = plan_public(base, public_clusters=4, buckets=5, num_threads=1)
    monkeypatch.setattr("errai.memory.available_memory", lambda: plan.memory_bytes)
    monkeypatch.setattr(public_abstract, "free_disk", lambda folder: plan.table_bytes)
    assert (
        plan_public(base, tmp_path / "a", public_clusters=4, buckets=5, num_threads=1).out == tmp_path / "a"
    )


def test_without_a_number_all_cores_build(monkeypatch: pytest.MonkeyPatch) -> None:
    base = abstraction_from_function("rhode-island", lambda hand, board, r: 0, "base", check_suits=False)
    monkeypatch.setattr("errai.workers.num_cores", lambda: 3)
    taken = [
        plan_public(base, public_clusters=4, buckets=50, num_threads=num_threads).memory_bytes
        for num_threads in (None, 3, 1)
    ]
    assert taken[0] == taken[1] > taken[2]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"num_threads": 0}, "the number of threads must be 1 or more, not 0"),
        ({"out": 5}, "out must be a path, not 5"),
        ({"clustered": 5}, "clustered must be a function, not 5"),
        ({"special_round": 3}, "special_round must be 0 to 2 in 'rhode-island', not 3"),
        ({"special_round": -1}, "special_round must be 0 to 2 in 'rhode-island', not -1"),
        ({"clusters": 14}, "the number of opponent clusters must be 1 to 13"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], sentence: str) -> None:
    base = abstraction_from_function("rhode-island", lambda hand, board, r: 0, "base", check_suits=False)
    with pytest.raises(UsageError) as caught:
        abstract_public(base, **{"public_clusters": 4, **options})
    assert str(caught.value).startswith(sentence)


def test_a_public_abstraction_is_no_base(features: Features, tmp_path: Path) -> None:
    built = build_public_abstraction(features, THREE, buckets=(5, 6), num_threads=1)
    with pytest.raises(UsageError) as caught:
        plan_public(built)
    assert str(caught.value) == (
        "the base 'PUBLIC3-KE-KO 13-5-6' is a public abstraction itself: "
        "expected one of 'errai abstract build'"
    )
    with pytest.raises(UsageError, match="expected an abstraction, not 5"):
        plan_public(5)  # type: ignore[arg-type]


def test_look_ups_refuse_players_and_rounds_that_do_not_exist(features: Features) -> None:
    built = build_public_abstraction(features, THREE, buckets=(5, 6), num_threads=1)
    cards = np.array([[0, 5]], dtype=np.uint8)
    for call in (
        lambda: built.buckets(cards, 1, 2),
        lambda: built.buckets_on_board(cards[0, 1:], 2),
        lambda: built.bucket("As", "Kd", 2),
        lambda: built.num_buckets(1, 2),
    ):
        with pytest.raises(UsageError, match="the player must be 0 or 1, not 2"):
            call()
    with pytest.raises(UsageError, match=r"expected 2 cards in each row .*, not an array of shape \(1, 3\)"):
        built.buckets(np.array([[0, 5, 9]], dtype=np.uint8), 1)
    with pytest.raises(UsageError, match="twice"):
        built.buckets_on_board(np.array([5, 5], dtype=np.uint8))
    assert built.buckets(cards, 1, 1).tolist() == built.buckets(cards, 1, 0).tolist()
    assert built.num_opponent_clusters == 8
    assert public_abstraction.KIND == "public"
