"""Edges of abstractions told, compared, built and of one's own: chunks, limits, sides, options, sentences."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ASYMMETRIC
from naive import WITHOUT_JIT

import errai
from errai.abstraction import build, compare, describe, own
from errai.abstraction.abstraction import Abstraction
from errai.abstraction.build import build_abstraction, feature_plan, fingerprint, verify_build
from errai.abstraction.compare import compare_round, overlap
from errai.abstraction.describe import (
    Spread,
    features_of,
    format_deal,
    is_by_class,
    members,
    occupancy,
    profile,
    round_buckets,
)
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.named_groups import leduc_abstraction
from errai.abstraction.options import BuildOptions
from errai.abstraction.own import abstraction_from_function
from errai.abstraction.population import random_deals
from errai.abstraction.protocol import (
    NO_BUCKET,
    bucket_of_text,
    buckets_on_board,
    verify_abstraction,
    verify_cards,
    verify_player,
)
from errai.abstraction.public.build import build_public_abstraction
from errai.abstraction.public.clusters import PublicClusters
from errai.abstraction.recipe import parse_recipes
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

pytestmark = [
    pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game"),
    pytest.mark.usefixtures("cache"),
]


def rules_of(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


def loaded(folders: Path, name: str) -> Abstraction:
    found = errai.load_abstraction(folders / name)
    assert isinstance(found, Abstraction)
    return found


# What is told


def test_the_spread_leaves_empty_buckets_out() -> None:
    assert Spread.of(np.array([0, 3, 10, 0, 5])) == (3, 5.0, 10)
    assert Spread.of(np.array([4, 0, 1, 9, 3])) == (1, 3.5, 9)


def test_rounds_whose_buckets_are_those_of_classes(folders: Path, features: Features) -> None:
    """Tables over classes; tables over deals where a board has no order yet; nothing that is looked up."""
    kinds = {
        name: [
            [is_by_class(found, r, player) for r in range(found.game.num_rounds)]
            for player in range(found.num_players_described)
        ]
        for name in ("imperfect", "perfect", "asymmetric", "refined", "leduc")
        for found in (loaded(folders, name),)
    }
    assert kinds == {
        "imperfect": [[True, True, True]],
        "perfect": [[True, True, False]],
        "asymmetric": [[True, True, True], [True, True, False]],
        "refined": [[True, True, False]],
        "leduc": [[True, True]],
    }
    lossless = build_abstraction(parse_recipes("IR-C-C 13-C-C", features.plan.rules), features)
    assert [is_by_class(lossless, r) for r in range(3)] == [True, True, False]
    named = leduc_abstraction("full")
    assert [is_by_class(named, r) for r in range(2)] == [False, False]
    assert round_buckets(named, 0, 0) is None
    sides = loaded(folders, "asymmetric")
    assert round_buckets(sides, 2, 1) is sides.rounds[1][2]
    alike = loaded(folders, "imperfect")
    assert round_buckets(alike, 2, 1) is alike.rounds[0][2]


def test_lossless_rounds_hold_one_hand_a_bucket(features: Features) -> None:
    found = build_abstraction(parse_recipes("IR-C-C 13-C-C", features.plan.rules), features)
    for r, (size, by_class) in enumerate(((13, True), (325, True), (9997, False))):
        full = occupancy(found, r, 0, features)
        assert (full.num_buckets, full.num_used, full.hands) == (size, size, (1, 1.0, 1))
        weights = np.sort(features.deals(r))
        expected = (weights[0], float(np.median(weights)), weights[-1]) if by_class else None
        assert full.deals == expected
        assert occupancy(found, r).deals is None
        some = members(found, r, 5, 0, features)
        assert (len(some), some.unit) == (1, "classes" if by_class else "canonical deals")
        assert found.buckets(some.cards(np.array([0])), r).tolist() == [5]
        assert some.classes.tolist() == features.classes.index(some.cards(np.array([0])), r).tolist()
        if by_class:
            assert some.deals is not None
            assert some.deals.tolist() == [int(features.deals(r)[5])]


def test_each_side_is_told(folders: Path, features: Features) -> None:
    found = loaded(folders, "asymmetric")
    for player, name in enumerate(ASYMMETRIC.split(" / ")):
        alone = build_abstraction(parse_recipes(name, features.plan.rules), features)
        for r in range(3):
            assert occupancy(found, r, player, features) == occupancy(alone, r, 0, features)
            some, other = members(found, r, 1, player, features), members(alone, r, 1, 0, features)
            assert (some.classes.tolist(), some.unit) == (other.classes.tolist(), other.unit)
            compared = compare_round(found, alone, r, player)
            assert (compared.rand, compared.adjusted_rand, compared.refinement) == (1.0, 1.0, (1.0, 1.0))
        assert compare_round(found, alone, 1, 1 - player).rand < 1


def test_tables_are_counted_in_chunks(folders: Path, features: Features, monkeypatch) -> None:
    found = loaded(folders, "imperfect")
    whole = [occupancy(found, r, 0, features) for r in range(3)]
    table = np.asarray(found.rounds[0][2].arrays["table"])
    assert whole[2].hands == Spread.of(np.bincount(table))
    assert whole[2].deals == Spread.of(np.bincount(table, features.deals(2)).astype(np.int64))
    rows = members(found, 2, 3, 0, features).classes
    assert rows.tolist() == np.flatnonzero(table == 3).tolist()
    monkeypatch.setattr(describe, "ROWS_A_CHUNK", 299)
    assert [occupancy(found, r, 0, features) for r in range(3)] == whole
    assert members(found, 2, 3, 0, features).classes.tolist() == rows.tolist()
    bare = members(found, 2, 3)
    assert (bare.deals, bare.unit, bare.num_sampled) == (None, "classes", 0)
    assert occupancy(found, 2).deals is None


def test_boards_are_looked_up_in_chunks_all_or_some(folders: Path, monkeypatch) -> None:
    """325 boards of two cards: where as many may be looked at, all are, and every deal counts once."""
    found = loaded(folders, "refined")
    rules, num_buckets = found.game, found.num_buckets(2)
    monkeypatch.setattr(describe, "BOARDS_A_CHUNK", 7)
    monkeypatch.setattr(describe, "MOST_BOARDS", 325)
    sizes = np.zeros(num_buckets, dtype=np.int64)
    deals = Deals(rules)
    for board, weight in zip(deals.boards.cards(1), deals.boards.weights(1), strict=True):
        buckets = found.buckets_on_board(board)
        sizes += int(weight) * np.bincount(buckets[buckets >= 0], minlength=num_buckets)
    assert sizes.sum() == 52 * 51 * 50
    full = occupancy(found, 2)
    assert (full.num_buckets, full.num_used) == (num_buckets, np.count_nonzero(sizes))
    assert (full.hands, full.deals, full.num_sampled) == (None, Spread.of(sizes), 0)
    biggest = int(sizes.argmax())
    some = members(found, 2, biggest)
    assert some.deals is not None
    assert (int(some.deals.sum()), some.num_sampled, some.unit) == (sizes.max(), 0, "canonical deals")
    cards = some.cards(np.arange(len(some)))
    assert len(np.unique(deals.rows.index(cards, 2))) == len(some)
    assert some.classes.tolist() == found.classes.index(cards, 2).tolist()
    assert some.cards(np.array([2, 0])).tolist() == cards[[2, 0]].tolist()
    monkeypatch.setattr(describe, "MOST_BOARDS", 324)
    rng = np.random.Generator(np.random.PCG64(5))
    boards = random_deals(found.classes, 2, 324, rng)[:, 1:]
    drawn, _ = open_deals(rules.deck, 1, boards)
    sizes = np.bincount(found.buckets(drawn, 2), minlength=num_buckets)
    sampled = occupancy(found, 2, seed=5)
    assert (sampled.num_used, sampled.deals) == (np.count_nonzero(sizes), Spread.of(sizes))
    assert sampled.num_sampled == len(drawn) == 324 * 50
    some = members(found, 2, biggest, seed=5)
    assert some.deals is not None
    assert (int(some.deals.sum()), some.num_sampled) == (sizes[biggest], 324 * 50)
    assert members(found, 2, biggest, seed=6).classes.tolist() != some.classes.tolist()


@pytest.mark.parametrize("bucket", [-1, 20])
def test_buckets_that_do_not_exist(folders: Path, bucket: int) -> None:
    with pytest.raises(UsageError) as caught:
        members(loaded(folders, "imperfect"), 1, bucket)
    assert str(caught.value) == (
        f"bucket {bucket} does not exist in round 2 of 'IR-KE-KO 5-20-10': it must be 0 to 19"
    )


def test_features_that_an_abstraction_was_made_of(folders: Path, tmp_path: Path, monkeypatch) -> None:
    """With its own number of opponent clusters; the default where it has none; nothing without a cache."""
    clusters = {
        name: None if (found := features_of(loaded(folders, name))) is None else found.plan.num_clusters
        for name in ("imperfect", "perfect", "leduc")
    }
    assert clusters == {"imperfect": 8, "perfect": 8, "leduc": 3}
    other = replace(loaded(folders, "imperfect"), num_opponent_clusters=5)
    found = features_of(other)
    assert found is not None
    assert found.plan.num_clusters == 5
    assert features_of(leduc_abstraction("JQ.K")) is None
    perfect = loaded(folders, "perfect")
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))
    assert features_of(perfect) is None


def test_profiles_of_hands_that_count_alike(features: Features, tmp_path: Path, monkeypatch) -> None:
    # No hand of Rhode Island loses to all others: some run-outs of each are said to be the weakest here.
    histograms = np.maximum(features.histograms(1), 3)
    monkeypatch.setattr(features, "histograms", lambda r: histograms)
    classes = np.array([3, 200, 77])
    alike, weighed = (profile(features, 1, classes, weights) for weights in (None, np.array([2, 2, 2])))
    for field in ("strength", "squared", "ochs", "points", "weakest", "strongest", "grid"):
        assert getattr(alike, field) == pytest.approx(getattr(weighed, field), rel=1e-12)
    assert alike.strength == pytest.approx(features.expected_strength(1)[classes].mean(), rel=1e-12)
    assert (features.plan.bin_width, features.plan.max_strength) == (2, 98)
    assert alike.grid == tuple(2 * i / 98 for i in range(51))
    assert len(alike.ochs) == 8
    rows = features.histograms(1)[classes].astype(float) / features.histogram_total(1)
    ended = rows.mean(axis=0)
    assert ended[0] == pytest.approx(3 / features.histogram_total(1))
    assert alike.points[0] == pytest.approx(ended[0], abs=1e-12)
    assert alike.points[50] == pytest.approx(1 - ended[49], abs=1e-12)
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))
    bare = build_features(FeaturePlan(features.plan.rules, 8, needed=()), num_threads=1)
    few = profile(bare, 1, classes)
    assert (few.ochs, few.points, few.grid) == ((), (), ())
    assert (few.strength, few.squared) == (alike.strength, alike.squared)


def test_deals_as_text() -> None:
    rules = rules_of("limit-holdem")
    cards = np.array(rules.deck.parse("KdAs2cQs7dThJh"), dtype=np.uint8)
    assert format_deal(rules, cards, 3, ordered=True) == "AsKd|Qs7d2c/Th/Jh"
    assert format_deal(rules, cards, 3, ordered=False) == "AsKd|QsJhTh7d2c"
    assert format_deal(rules, cards[:6], 2, ordered=True) == "AsKd|Qs7d2c/Th"
    assert format_deal(rules, cards[:5], 1, ordered=False) == "AsKd|Qs7d2c"
    assert format_deal(rules, cards[:2], 0, ordered=True) == "AsKd"


# Comparison


def test_comparisons_in_chunks_are_the_same(folders: Path, features: Features, monkeypatch) -> None:
    names = ("imperfect", "perfect", "refined")
    pairs = [
        (loaded(folders, one), loaded(folders, other), r)
        for one in names
        for other in names
        for r in range(3)
    ]
    lossless = build_abstraction(parse_recipes("IR-C-C 13-C-C", features.plan.rules), features)
    pairs += [(pairs[0][0], lossless, r) for r in range(3)]
    whole = [compare_round(*pair) for pair in pairs]
    monkeypatch.setattr(compare, "ROWS_A_CHUNK", 99)
    monkeypatch.setattr(compare, "DEALS_A_CHUNK", 998)
    assert [compare_round(*pair) for pair in pairs] == whole
    monkeypatch.setattr(compare, "MOST_CELLS", 5)
    assert [compare_round(*pair) for pair in pairs] == whole
    # A lossless one lies within any other; a hand of the same abstraction in the same bucket.
    assert [one.refinement[1] for one in whole[-3:]] == [1.0, 1.0, 1.0]
    assert [one.num_hands for one in whole[-3:]] == [13, 325, 9997]
    assert [one.rand for one in whole[:3]] == [1.0, 1.0, 1.0]


def test_empty_buckets_are_counted_apart() -> None:
    i, j, counts = np.array([0, 0, 4]), np.array([1, 7, 7]), np.array([2, 1, 3])
    found = overlap(i, j, counts, "random deals", (6, 9))
    assert (found.unit, found.num_buckets, found.num_used, found.num_hands) == (
        "random deals",
        (6, 9),
        (2, 2),
        6,
    )
    assert overlap(i, j, counts).num_buckets == (2, 2)
    assert overlap(i, j, counts).unit == "classes"
    # Of 15 pairs, 1 + 3 are in one cell, and the 2 x 3 of the first and the last cell are apart in both.
    assert found.rand == pytest.approx((4 + 6) / 15)
    assert found.refinement == (0.5, 0.5)


@pytest.mark.parametrize(("most", "unit"), [(9997, "canonical deals"), (9996, "random deals")])
def test_canonical_deals_where_they_are_few(folders: Path, monkeypatch, most: int, unit: str) -> None:
    first, second = loaded(folders, "imperfect"), loaded(folders, "perfect")
    monkeypatch.setattr(compare, "MOST_CANONICAL_DEALS", most)
    found = compare_round(first, second, 2, num_deals=2)
    assert (found.unit, found.num_hands) == (unit, 9997 if most == 9997 else 2)
    assert found.num_buckets == (10, 24)


def test_random_deals_by_seed_and_chunk(folders: Path, monkeypatch) -> None:
    first, second = loaded(folders, "imperfect"), loaded(folders, "perfect")
    monkeypatch.setattr(compare, "MOST_CANONICAL_DEALS", 0)
    monkeypatch.setattr(compare, "DEALS_A_CHUNK", 40)
    found = compare_round(first, second, 2, num_deals=100, seed=3)
    cards = [
        random_deals(first.classes, 2, size, np.random.Generator(np.random.PCG64(sequence)))
        for begin, size in ((0, 40), (40, 40), (80, 20))
        for sequence in (np.random.SeedSequence((3, begin)),)
    ]
    deals = np.concatenate(cards)
    pairs, counts = np.unique(
        np.stack([first.buckets(deals, 2), second.buckets(deals, 2)]), axis=1, return_counts=True
    )
    assert found == overlap(pairs[0], pairs[1], counts, "random deals", (10, 24))


def test_what_cannot_be_compared(folders: Path) -> None:
    first, leduc = loaded(folders, "imperfect"), leduc_abstraction("JQ.K")
    with pytest.raises(UsageError) as caught:
        compare_round(first, leduc, 0)
    assert str(caught.value) == (
        "'IR-KE-KO 5-20-10' and '[JQ.K]' cannot be compared: the cards of 'rhode-island' are not those of "
        "'leduc'"
    )
    with pytest.raises(UsageError) as caught:
        compare_round(first, first, 0, num_deals=1)
    assert str(caught.value) == "the number of deals to compare must be 2 or more, not 1"


# Build


def test_every_option_reaches_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    features: Any = object()

    def step(name: str, result: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            asked[name] = (arguments, options)
            return result

        return call

    monkeypatch.setattr(build, "build_features", step("features", features))
    monkeypatch.setattr(build, "build_abstraction", step("build", "built"))
    options = BuildOptions(seed=4, num_threads=3)
    name = "IR-KE-KO 5-20-10 / IR-HS-HS 5-9-7"
    found: Any = errai.abstract(
        "rhode-island", name, "out", clusters=5, options=options, report=(report := lambda *_: None)
    )
    assert found == "built"
    (plan, threads, reported), _ = asked["features"]
    assert (plan.num_clusters, threads, reported) == (5, 3, report)
    assert set(plan.needed) == {"strength-0", "strength-1", "strength-2", "histograms-0", "histograms-1"} | {
        "ochs-2",
        "opponent-clusters",
    }
    recipes = parse_recipes(name, rules_of("rhode-island"))
    assert asked["build"] == ((recipes, features, options), {"out": "out", "report": report})
    errai.abstract("rhode-island", name)
    assert asked["features"][0][0].num_clusters == 8
    assert asked["build"] == ((recipes, features, BuildOptions()), {"out": None, "report": None})


def test_what_does_not_fit_is_refused_by_both_names(features: Features, monkeypatch, tmp_path: Path) -> None:
    recipes = parse_recipes("IR-HS-HS 5-9-7 / IR-HS-HS 5-9-8", features.plan.rules)
    needed = build.memory_needed(recipes, features.plan, BuildOptions())
    monkeypatch.setattr("errai.memory.available_memory", lambda: needed - 1)
    for call in (
        lambda: verify_build(recipes, features.plan, BuildOptions()),
        lambda: build_abstraction(recipes, features, out=tmp_path / "a"),
        lambda: errai.abstract("rhode-island", "IR-HS-HS 5-9-7 / IR-HS-HS 5-9-8"),
    ):
        with pytest.raises(
            UsageError, match=r"building 'IR-HS-HS 5-9-7 / IR-HS-HS 5-9-8' needs .* of memory"
        ):
            call()
    assert not (tmp_path / "a").exists()
    monkeypatch.setattr("errai.memory.available_memory", lambda: needed)
    verify_build(recipes, features.plan, BuildOptions())


def test_a_sample_of_deals_may_have_more_rows_than_there_are_classes(monkeypatch) -> None:
    """Hold'em's turn has 13,960,050 classes and 55,190,538 deals, which recall tells apart."""
    monkeypatch.setattr("errai.memory.available_memory", lambda: 1 << 60)
    monkeypatch.setattr(build, "memory_needed", lambda *_: 0)
    recipes = parse_recipes("IIPI-KE-KE-PA-KO 169-9-20000000-9", rules_of("limit-holdem"))
    verify_build(recipes, feature_plan(recipes), BuildOptions(sample_size=20_000_000))
    with pytest.raises(UsageError, match="at least 20,000,000 rows, one for each cluster, not 19,999,999"):
        verify_build(recipes, feature_plan(recipes), BuildOptions(sample_size=19_999_999))


def test_seconds_and_seed_of_each_round(features: Features, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 11.26, 20.0, 20.04, 30.0, 33.0])
    monkeypatch.setattr(build, "perf_counter", lambda: next(times))
    found = build_abstraction(
        parse_recipes("IR-HS-HS 5-9-7", features.plan.rules), features, BuildOptions(seed=8)
    )
    assert found.statistics == (tuple({"seconds": seconds, "seed": 8} for seconds in (1.3, 0.0, 3.0)),)


def test_formats_are_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = parse_recipes("IR-KE-KO 5-9-7", rules_of("rhode-island"))
    plan = feature_plan(recipes)
    marks = [fingerprint(recipes, plan, BuildOptions())]
    monkeypatch.setattr(build, "FORMAT", 99)
    marks.append(fingerprint(recipes, plan, BuildOptions()))
    monkeypatch.setattr("errai.abstraction.features.features.FORMAT", 99)
    marks.append(fingerprint(recipes, plan, BuildOptions()))
    assert len(set(marks)) == 3
    assert [len(mark) for mark in marks] == [16, 16, 16]


def test_without_opponent_clusters_none_are_kept(features: Features) -> None:
    for name, num_clusters, size in (("IR-HS-HS 5-9-7", 0, 0), ("IR-HS-KO 5-9-7", 8, 13)):
        found = build_abstraction(parse_recipes(name, features.plan.rules), features)
        assert (found.num_opponent_clusters, len(found.opponent_clusters)) == (num_clusters, size)


# Abstractions of one's own, and the protocol


def test_limits_of_asking_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leduc has 30 deals and 9 canonical ones."""

    def choose(hand: str, board: str, round_index: int) -> int:
        return round_index

    for most, check_suits in ((30, True), (9, False)):
        monkeypatch.setattr(own, "MAX_DEALS_TO_ASK", most)
        found = abstraction_from_function("leduc", choose, check_suits=check_suits)
        assert [found.num_buckets(r) for r in range(2)] == [1, 2]
        assert found.name == "own"
        assert [table.dtype for table in found.tables] == [np.int32, np.int32]
        monkeypatch.setattr(own, "MAX_DEALS_TO_ASK", most - 1)
        with pytest.raises(UsageError) as caught:
            abstraction_from_function("leduc", choose, check_suits=check_suits)
        assert str(caught.value) == (
            "round 2 of leduc has 30 deals, and suits can be checked for at most 29: check_suits=False asks "
            "once for each of its 9 canonical deals"
            if check_suits
            else "round 2 of leduc has 9 canonical deals: a function can be asked for at most 8"
        )


@pytest.mark.parametrize("rows", [1, 4, 9, 10])
@pytest.mark.parametrize("check_suits", [True, False])
def test_chunks_of_deals_to_ask_for(monkeypatch, rows: int, check_suits: bool) -> None:
    monkeypatch.setattr(own, "ROWS_A_CHUNK", rows)
    asked: list[tuple[str, str]] = []

    def choose(hand: str, board: str, round_index: int) -> int:
        asked.append((hand, board))
        return "JQK".index(hand[0]) * (1 + 2 * round_index) + ("JQK".index(board[0]) if board else 0)

    found = abstraction_from_function("leduc", choose, "all", check_suits=check_suits)
    assert len(asked) == len(set(asked)) == (6 + 30 if check_suits else 3 + 9)
    assert [sorted(table.tolist()) for table in found.tables] == [list(range(3)), list(range(9))]
    assert found.bucket("K", "J") == 6
    assert found.bucket("J", "K", 1) == 2
    with pytest.raises(UsageError, match="the player must be 0 or 1, not 2"):
        found.buckets(np.zeros((1, 1), dtype=np.uint8), 0, 2)
    with pytest.raises(UsageError, match="round 2 not found"):
        found.num_buckets(2)


def test_a_function_is_refused_by_board_and_round() -> None:
    with pytest.raises(UsageError) as caught:
        abstraction_from_function("leduc", lambda hand, board, r: 9 if board[:1] == hand[:1] else 0)
    assert str(caught.value) == (
        "the bucket of 'Jh' on board 'Js' in round 1 must be a whole number from 0 to 8, not 9"
    )
    with pytest.raises(UsageError) as caught:
        abstraction_from_function("leduc", lambda hand, board, r: int(board[1:] == "s"))
    assert str(caught.value).startswith("buckets must not depend on the names of suits: 'J")
    assert "in round 1, and the same hand in other suits has " in str(caught.value)


class BySide:
    """Position 0 sees the rank of its card, position 1 whether it is a king."""

    game = rules_of("leduc")
    name = "by side"
    num_players_described = 2

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        return 2 if player else 3

    def buckets(self, cards: np.ndarray, round_index: int, player: int = 0) -> np.ndarray:
        rank = (cards[:, 0] >> 2) - 9
        return (rank == 2).astype(np.int64) if player else rank


class WithBoards(BySide):
    """Has a faster way of its own."""

    def buckets_on_board(self, board: np.ndarray, player: int = 0) -> list[int]:
        return [player, len(board)]


def test_the_protocol_asks_for_the_right_side() -> None:
    board = np.array(BySide.game.deck.parse("Qh"), dtype=np.uint8)
    assert buckets_on_board(BySide(), board).tolist() == [0, 0, NO_BUCKET, 1, 2, 2]
    assert buckets_on_board(BySide(), board, 1).tolist() == [0, 0, NO_BUCKET, 0, 1, 1]
    assert bucket_of_text(BySide(), "Q", "K", 0) == 1
    assert bucket_of_text(BySide(), "Q", "K", 1) == 0
    found = buckets_on_board(WithBoards(), board, 1)
    assert (found.tolist(), found.dtype) == ([1, 1], np.int64)
    for player, sizes in ((0, [2, 2, 2]), (1, [4, 2])):
        full = occupancy(BySide(), 0, player)
        assert (full.num_used, full.deals) == (len(sizes), Spread.of(np.array(sizes)))
        told = [members(BySide(), 0, bucket, player).deals for bucket in range(len(sizes))]
        assert [0 if deals is None else int(deals.sum()) for deals in told] == sizes
    verify_abstraction(BySide())
    with pytest.raises(UsageError) as caught:
        verify_abstraction({"a": 1})
    assert str(caught.value) == "expected an abstraction, not {'a': 1}"
    verify_player(0)
    verify_player(1)
    for player in (-1, 2):
        with pytest.raises(UsageError, match=f"the player must be 0 or 1, not {player}"):
            verify_player(player)


def test_cards_of_another_round_are_refused(features: Features) -> None:
    verify_cards(np.zeros((0, 3), dtype=np.uint8), features.classes, 2)
    for shape in ((2, 2), (3,), (1, 3, 1)):
        with pytest.raises(UsageError) as caught:
            verify_cards(np.zeros(shape, dtype=np.uint8), features.classes, 2)
        assert str(caught.value) == (
            f"expected 3 cards in each row in round 3 of rhode-island, not an array of shape {shape}"
        )


def test_named_groups_by_number() -> None:
    """Groups in the order of their names; on the flop twice the group, and one more for a pair."""
    found = leduc_abstraction("[K.JQ]")
    assert (found.name, leduc_abstraction("K.JQ").name, leduc_abstraction("full").name) == (
        "[K.JQ]",
        "[K.JQ]",
        "full",
    )
    assert [found.bucket(hand) for hand in "JQK"] == [1, 1, 0]
    buckets = {hand + board: found.bucket(hand, board, 1) for hand in "JQK" for board in "JQK"}
    assert buckets == {
        "JJ": 3,
        "JQ": 2,
        "JK": 2,
        "QJ": 2,
        "QQ": 3,
        "QK": 2,
        "KJ": 0,
        "KQ": 0,
        "KK": 1,
    }
    for one in (found, leduc_abstraction("full")):
        for call in (
            lambda one=one: one.num_buckets(0, 2),
            lambda one=one: one.buckets(np.zeros((1, 1), dtype=np.uint8), 0, 2),
        ):
            with pytest.raises(UsageError, match="the player must be 0 or 1, not 2"):
                call()


def test_public_clusters_are_told_by_their_deals(features: Features) -> None:
    """Looked up board by board, weighted; all deals of each round are counted."""
    clusters = PublicClusters(np.arange(13, dtype=np.int32) % 3, 3, 0.0, 1, True, 0)
    found = build_public_abstraction(features, clusters, buckets=(4, 5), num_threads=1)
    for r, num_deals in ((0, 52), (1, 52 * 51)):
        totals = 0
        for bucket in range(found.num_buckets(r)):
            some = members(found, r, bucket)
            assert some.deals is not None
            totals += int(some.deals.sum())
        assert totals == num_deals
        full = occupancy(found, r)
        assert full.hands is None
        assert full.num_buckets == found.num_buckets(r)
    assert features_of(found) is not None
