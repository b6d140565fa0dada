"""Features of hands against slow twins, other people's evaluators and published figures."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive import abstraction_features as naive

from errai import memory, workers
from errai.abstraction.features import _features as kernels
from errai.abstraction.features import build as feature_build
from errai.abstraction.features import features as features_module
from errai.abstraction.features.build import build_features, estimate_seconds
from errai.abstraction.features.features import NUM_BINS, OCHS_SCALE, BoardSweep, FeaturePlan, Features
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.features.stage import Stage
from errai.array_file import ArrayHeader
from errai.cards._evaluator import BLOCKED
from errai.cards.equity import equity
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="134,459 boards are too many for plain Python")


def rules_of(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))
    return tmp_path


def naive_cumulative(values: list[int], plan: FeaturePlan) -> list[int]:
    return naive.cumulative_histogram(values, plan.bin_width, NUM_BINS)


@pytest.mark.parametrize(
    ("game", "num_clusters"), [("leduc", 2), ("kuhn", 2), pytest.param("rhode-island", 4, marks=needs_jit)]
)
def test_whole_small_games_against_the_twin(cache: Path, game: str, num_clusters: int) -> None:
    rules = rules_of(game)
    plan = FeaturePlan(rules, num_clusters)
    features = build_features(plan)
    classes = plan.classes
    hands = [tuple(hand) for hand in classes.hands.tolist()]
    of_class = features.opponent_clusters[classes.index(classes.hands, 0)]
    cluster_of = dict(zip(hands, of_class.tolist(), strict=True))
    rng = np.random.default_rng(5)
    for r in range(rules.num_rounds):
        size = classes.size(r)
        for number in sorted(set(rng.integers(size, size=min(size, 12)).tolist())):
            cards = classes.unindex(number, r)[0].tolist()
            hand, board = tuple(cards[: rules.num_hole_cards]), cards[rules.num_hole_cards :]
            boards = list(naive.runouts(rules, hand, board))
            values = [naive.half_hands_beaten(rules, hand, whole) for whole in boards]
            assert len(values) == plan.runouts(r)
            assert features.strength(r)[number] == sum(values)
            assert features.squared(r)[number] == sum(value**2 for value in values)
            if r < plan.last_round:
                row = features.histograms(r)[number]
                assert row.tolist() == naive_cumulative(values, plan)
                mean = Fraction(sum(values), plan.max_strength * len(values))
                assert abs(features.histogram_mean(row, r) - float(mean)) < 1e-15
                continue
            expected = naive.chances_against_clusters(rules, hand, board, cluster_of, num_clusters)
            whole_chance = Fraction(values[0], plan.max_strength)
            for c, chance in enumerate(expected):
                wanted = (chance if chance is not None else whole_chance) * OCHS_SCALE
                assert features.ochs(r)[number, c] == floor(wanted + Fraction(1, 2))


@needs_jit
def test_deals_count_every_deal_once(cache: Path) -> None:
    plan = FeaturePlan(rules_of("rhode-island"), 4)
    features = build_features(plan)
    for r, deals in enumerate((52, 52 * 51, 52 * 51 * 50 // 2)):
        assert int(features.deals(r).sum(dtype=np.int64)) == deals
        cards = plan.classes.unindex(np.arange(plan.classes.size(r)), r)
        assert (plan.classes.index(cards, r) == np.arange(plan.classes.size(r))).all()


@needs_jit
def test_earlier_ochs_is_the_mean_over_what_may_come(cache: Path) -> None:
    plan = FeaturePlan(rules_of("rhode-island"), 4)
    features = build_features(plan)
    classes = plan.classes
    for number in (0, 100, 300):
        hand, up = classes.unindex(number, 1)[0].tolist()
        following = [[hand, up, card] for card in plan.rules.deck.cards if card not in (hand, up)]
        rows = features.ochs(2)[classes.index(np.array(following, dtype=np.uint8), 2)]
        assert np.abs(features.ochs(1)[number] - rows.mean(axis=0)).max() <= 0.5


@needs_jit
@pytest.mark.parametrize(("r", "num_clusters"), [(0, 4), (1, 4), (1, 1)])
def test_earlier_ochs_is_rounded_to_the_nearest(cache: Path, r: int, num_clusters: int) -> None:
    """Every number of a round; a third of them and more would be smaller if they were rounded down."""
    features = build_features(FeaturePlan(rules_of("rhode-island"), num_clusters))
    classes = features.classes
    num_up = 0
    for number in range(classes.size(r)):
        known = classes.unindex(number, r)[0].tolist()
        following = [[*known, card] for card in features.plan.rules.deck.cards if card not in known]
        rows = features.ochs(r + 1)[classes.index(np.array(following, dtype=np.uint8), r + 1)]
        sums = rows.sum(axis=0, dtype=np.int64).tolist()
        means = [Fraction(total, len(following)) for total in sums]
        nearest = [floor(mean + Fraction(1, 2)) for mean in means]
        assert features.ochs(r)[number].tolist() == nearest
        num_up += sum(whole > mean for whole, mean in zip(nearest, means, strict=True))
    assert num_up > classes.size(r) * num_clusters / 3


def test_hold_em_boards_against_another_evaluator() -> None:
    """Strength and OCHS of all 1,081 hands of a river board, by phevaluator's ranks and plain counting."""
    from phevaluator import evaluate_cards

    classes = HandClasses(rules_of("limit-holdem"))
    rng = np.random.default_rng(11)
    clusters = rng.integers(8, size=169)
    sweep = BoardSweep(classes, clusters, 8)
    hands = classes.hands.tolist()
    of_hand = clusters[classes.index(classes.hands, 0)]
    for _ in range(1 if WITHOUT_JIT else 3):
        board = rng.choice(52, 5, replace=False).astype(np.uint8)
        features = sweep.features(board)
        # phevaluator's numbers of cards are ours; its smallest rank is the best hand.
        ranks = [
            evaluate_cards(*map(int, board), *hand) if not set(hand) & set(board.tolist()) else None
            for hand in hands
        ]
        assert features.is_open.tolist() == [rank is not None for rank in ranks]
        for i in rng.choice(1326, 40, replace=False).tolist():
            if ranks[i] is None:
                continue
            won, met = np.zeros(8), np.zeros(8)
            for j, rank in enumerate(ranks):
                if rank is not None and not set(hands[i]) & set(hands[j]):
                    won[of_hand[j]] += (ranks[i] < rank) + 0.5 * (ranks[i] == rank)
                    met[of_hand[j]] += 1
            assert met.sum() == 990
            assert features.strength[i] == 2 * won.sum()
            assert np.abs(features.ochs[i] / OCHS_SCALE - won / met).max() <= 0.5001 / OCHS_SCALE


def test_a_cluster_without_hands_gets_the_chance_against_all() -> None:
    classes = HandClasses(rules_of("limit-holdem"))
    aces = int(classes.index(np.array([classes.rules.deck.parse("AsAh")], dtype=np.uint8), 0)[0])
    clusters = np.zeros(169, dtype=np.uint16)
    clusters[aces] = 1
    board = np.array(classes.rules.deck.parse("AsAhKd7c2c"), dtype=np.uint8)
    features = BoardSweep(classes, clusters, 2).features(board)
    hand = classes.rules.deck.hand_index(classes.rules.deck.parse("AdQc"))
    whole = features.strength[hand] / 1980
    assert abs(features.ochs[hand, 1] / OCHS_SCALE - whole) <= 0.5 / OCHS_SCALE  # no two aces are left


@pytest.mark.parametrize("num_clusters", [15, 16, 17])
def test_strengths_against_more_clusters_than_fit_a_register(num_clusters: int) -> None:
    """Each cluster alone, against all the others, says the same."""
    classes = HandClasses(rules_of("limit-holdem"))
    clusters = np.arange(169) % num_clusters
    board = np.array(classes.rules.deck.parse("AsTd9d6h2c"), dtype=np.uint8)
    found = BoardSweep(classes, clusters, num_clusters).features(board)
    for cluster in (0, 7, 13, 14, num_clusters - 1):
        alone = BoardSweep(classes, clusters == cluster, 2).features(board)
        assert np.array_equal(alone.strength, found.strength)
        assert np.array_equal(found.ochs[:, cluster], alone.ochs[:, 1])
    lanes = {15: 16, 16: 32, 17: 32}[num_clusters]  # one for all hands besides those of the clusters
    scratch = features_module._sweep_scratch(9, num_clusters)
    assert [one.shape for one in scratch[3:]] == [(lanes,), (53, lanes)] * 2


@pytest.mark.parametrize("num_clusters", [0, 13, 16])
def test_three_card_boards_are_swept_one_by_one(num_clusters: int) -> None:
    """What a board blocks is open on the next."""
    rules = rules_of("rhode-island")
    classes = HandClasses(rules)
    sweep = BoardSweep(classes, np.arange(13) if num_clusters else None, num_clusters)
    boards = np.array([rules.deck.parse(text) for text in ("AsKd", "7c7d", "AsKd")], dtype=np.uint8)
    strengths, h2, ochs = sweep.sweep(boards)
    for j, board in enumerate(boards.tolist()):
        for hand in (0, 1, 20, 21, 51):
            blocked = hand in board
            assert (strengths[j, hand] == BLOCKED) == blocked
            assert h2[j, hand] == (0 if blocked else naive.half_hands_beaten(rules, (hand,), board))
    assert np.array_equal(h2[0], h2[2])
    assert np.array_equal(ochs[0], ochs[2])
    if num_clusters:
        assert ochs[0, 20].tolist() == BoardSweep(classes, np.arange(13), 13).features(boards[0]).ochs[
            20
        ].tolist() + (num_clusters - 13) * [floor(3500 * Fraction(int(h2[0, 20]), 98) + Fraction(1, 2))]


@pytest.fixture(scope="module")
def hole_cards() -> tuple[FeaturePlan, np.ndarray, np.ndarray]:
    """Cumulative histograms of the 169 hands, and how often each river strength occurs."""
    plan = FeaturePlan(rules_of("limit-holdem"))
    sweep = BoardSweep(plan.classes, None, 0)
    boards = plan.classes.boards(3)
    cards, weights = boards.cards(0), boards.weights(0)
    partial, steps = (np.zeros((169, NUM_BINS + 1), dtype=np.int64) for _ in range(2))
    seen = np.zeros(plan.max_strength + 1, dtype=np.int64)
    for begin in range(0, len(cards), 256):
        chunk = slice(begin, begin + 256)
        strengths, h2, _ = sweep.sweep(cards[chunk])
        kernels.add_first_round(
            strengths, h2, weights[chunk], sweep.class_of_hand, plan.bin_width, partial, steps
        )
        seen += np.bincount(h2[strengths >= 0], minlength=len(seen))
    hands = np.bincount(sweep.class_of_hand, minlength=169)
    rows = (partial + np.cumsum(steps, axis=1))[:, :NUM_BINS]
    assert (rows % hands[:, np.newaxis] == 0).all()
    return plan, rows // hands[:, np.newaxis], seen


def row_of(plan: FeaturePlan, rows: np.ndarray, hand: str) -> np.ndarray:
    cards = np.array([plan.rules.deck.parse(hand)], dtype=np.uint8)
    return np.asarray(rows[plan.classes.index(cards, 0)[0]])


def expected_strength(plan: FeaturePlan, row: np.ndarray) -> Fraction:
    runouts = plan.runouts(0)
    halves = NUM_BINS * plan.bin_width * runouts - int(row.sum())
    return Fraction(halves, runouts * plan.max_strength)


def earth_movers(plan: FeaturePlan, rows: np.ndarray, first: str, second: str) -> float:
    gap = np.abs(row_of(plan, rows, first) - row_of(plan, rows, second)).sum()
    return float(gap / (plan.runouts(0) * plan.max_strength))


@needs_jit
def test_the_river_has_1950_strengths(hole_cards: tuple[FeaturePlan, np.ndarray, np.ndarray]) -> None:
    """THESIS section 11.3.1: "only 1950 possible E[HS] values on the river".

    A strength is 2 x beaten + tied of 990 hands, so 1,981 values are conceivable; 31 of them never occur.
    24 of them lie above 1,890, all odd: an odd number needs an odd number of ties, and a hand near the top
    ties with hands of the same ranks in other suits, which come in even numbers unless a flush is about.
    """
    plan, _, seen = hole_cards
    assert plan.max_strength == 1980
    assert int((seen > 0).sum()) == 1950
    missing = np.flatnonzero(seen == 0)
    assert len(missing) == 31
    high = missing[missing > 1890]
    assert len(high) == 24
    assert (high % 2 == 1).all()
    assert seen[0] > 0
    assert seen[1980] > 0


@needs_jit
def test_figure_5_2_of_the_thesis(hole_cards: tuple[FeaturePlan, np.ndarray, np.ndarray]) -> None:
    """By earth mover's distance pairs go with pairs and suited connectors with their like; by E[HS] not."""
    plan, rows, _ = hole_cards
    strength = {
        hand: float(expected_strength(plan, row_of(plan, rows, hand)))
        for hand in ("4s4h", "6s6h", "TsJs", "QsKs")
    }
    assert earth_movers(plan, rows, "4s4h", "6s6h") < earth_movers(plan, rows, "4s4h", "TsJs")
    assert earth_movers(plan, rows, "TsJs", "QsKs") < earth_movers(plan, rows, "TsJs", "4s4h")
    assert abs(strength["4s4h"] - strength["TsJs"]) < abs(strength["4s4h"] - strength["6s6h"])
    assert abs(strength["TsJs"] - strength["4s4h"]) < abs(strength["TsJs"] - strength["QsKs"])
    for first in strength:
        for second in strength:
            gap = abs(strength[first] - strength[second])
            assert earth_movers(plan, rows, first, second) >= gap - 1e-12


@needs_jit
def test_expected_strength_of_two_hands(hole_cards: tuple[FeaturePlan, np.ndarray, np.ndarray]) -> None:
    plan, rows, _ = hole_cards
    assert (
        abs(float(expected_strength(plan, row_of(plan, rows, "AsAh"))) - equity(("AsAh", "random")).equity)
        < 1e-12
    )
    # The mean over all hands against a random hand is a half, to the last digit.
    hands = np.bincount(plan.classes.index(plan.classes.hands, 0))
    total = sum(int(n) * expected_strength(plan, row) for n, row in zip(hands, rows, strict=True))
    assert total / 1326 == Fraction(1, 2)


@pytest.mark.slow
def test_expected_strength_of_twenty_hands(hole_cards: tuple[FeaturePlan, np.ndarray, np.ndarray]) -> None:
    """Against the exact enumeration of `errai.cards.equity`, which shares no table with the features."""
    plan, rows, _ = hole_cards
    rng = np.random.default_rng(2)
    deck = plan.rules.deck
    for number in rng.choice(169, 20, replace=False).tolist():
        from errai.cards.deck import format_cards

        hand = format_cards(plan.classes.unindex(number, 0)[0])
        exact = equity((hand, "random")).equity
        assert abs(float(expected_strength(plan, rows[number])) - exact) < 1e-12, hand
    assert deck.size == 52


@needs_jit
def test_squares_of_the_last_round_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The square of hold'em's best hand has 22 bits, its strength 11."""
    features = Features.__new__(Features)
    features.plan = FeaturePlan(rules_of("limit-holdem"))
    strengths = np.array([0, 255, 256, 1000, 1980], dtype=np.uint16)
    monkeypatch.setattr(Features, "strength", lambda self, round_index: strengths)
    assert features.squared(3).tolist() == [0, 65_025, 65_536, 1_000_000, 3_920_400]
    assert features.expected_strength_squared(3)[[0, -1]].tolist() == [0.0, 1.0]
    assert features.expected_strength(3)[3] == 1000 / 1980


def test_features_are_the_same_on_one_and_two_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_build, "BOARDS_A_CHUNK", 8)
    monkeypatch.setattr(feature_build, "DEALS_A_CHUNK", 500)
    found = []
    for num_threads in (1, 2):
        monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / str(num_threads)))
        plan = FeaturePlan(rules_of("rhode-island"), 3)
        build_features(plan, num_threads)
        found.append({path.name: path.read_bytes() for path in plan.folder.glob("*.array")})
    assert found[0] == found[1]
    assert len(found[0]) == 5 + 5 + 3 + 1


# Kernels and limits


def test_boards_are_added_to_the_first_round_by_their_weight() -> None:
    """Strengths 3 and 4 of hand 0 on boards of weight 2 and 7; hand 1 is blocked on the second."""
    partial, steps = (np.zeros((2, 4), dtype=np.int64) for _ in range(2))
    kernels.add_first_round(
        np.array([[5, 5], [5, BLOCKED]], dtype=np.int32),
        np.array([[3, 5], [4, 0]], dtype=np.uint16),
        np.array([2, 7]),
        np.array([0, 1]),
        2,
        partial,
        steps,
    )
    assert partial.tolist() == [[0, 2 * 1, 7 * 2, 0], [0, 0, 2 * 1, 0]]
    assert steps.tolist() == [[0, 0, 2 * 2, 7 * 2], [0, 0, 0, 2 * 2]]
    rows = (partial + np.cumsum(steps, axis=1))[:, :3]
    assert (
        rows[0].tolist()
        == np.sum(
            [[w * n for n in naive.cumulative_histogram([v], 2, 3)] for w, v in ((2, 3), (7, 4))], axis=0
        ).tolist()
    )


def test_sums_over_the_last_cards_have_bins_of_any_width() -> None:
    """Strengths 0, 5 and 5, then 4, 3 and 0, in two bins of three."""
    index, strengths = np.array([[0, 2, 2], [1, 3, 0]]), np.array([0, 4, 5, 3], dtype=np.uint16)
    sums, histograms = np.empty((2, 2), dtype=np.uint32), np.empty((2, 2), dtype=np.uint32)
    kernels.gather_last_round(
        index, strengths, 3, np.empty((2, 3), dtype=np.int64), sums[0], sums[1], histograms
    )
    assert sums.tolist() == [[10, 7], [50, 25]]
    for row, values in zip(histograms.tolist(), ([0, 5, 5], [4, 3, 0]), strict=True):
        assert row == naive.cumulative_histogram(values, 3, 2)
    assert histograms.tolist() == [[3, 5], [3, 8]]


def test_sums_over_two_rounds_count_every_set_of_cards_once() -> None:
    """Each set of cards still to come is counted twice, by either card that comes first."""
    index = np.array([[0, 1, 1], [2, 2, 2]])
    strength, squared, histograms = (np.empty((2, n), dtype=np.uint64) for n in (1, 1, 2))
    kernels.gather_middle_round(
        index,
        2,
        np.array([10, 20, 30]),
        np.array([100, 400, 900]),
        np.array([[1, 2], [3, 4], [8, 6]]),
        np.empty(2, dtype=np.int64),
        strength[:, 0],
        squared[:, 0],
        histograms,
    )
    assert strength.ravel().tolist() == [25, 45]
    assert squared.ravel().tolist() == [450, 1350]
    assert histograms.tolist() == [[3, 5], [12, 9]]


def test_means_of_ochs_are_rounded_a_half_up() -> None:
    ochs = np.empty((3, 2), dtype=np.uint16)
    following = np.array([[1, 0], [2, 3], [2, 65_535]], dtype=np.uint16)
    kernels.gather_ochs(np.array([[0, 1], [0, 0], [2, 2]]), following, np.empty(2, dtype=np.int64), ochs)
    assert ochs.tolist() == [[2, 2], [1, 0], [2, 65_535]]


def test_deals_that_are_counted_again_are_not_counted_twice() -> None:
    """As when a chunk is done again after a kill; two boards of weights 4 and 12, three hands."""
    index, place = np.array([0, 1, 1, 3, 3, 3]), np.array([0, 1, 2, 3, 4, 5])
    counted = np.array([9, 9, 9, 9], dtype=np.uint16)
    for _ in range(2):
        kernels.count_deals(index, place, 3, np.array([4, 12]), counted)
        assert counted.tolist() == [4, 8, 9, 36]


def test_what_may_follow_a_deal() -> None:
    cards = np.array([[0, 2], [3, 51]], dtype=np.uint8)
    sets = np.array([[0, 1], [1, 3], [4, 51]], dtype=np.uint8)
    deals = np.empty((4, 4), dtype=np.uint8)
    assert kernels.next_deals(cards, sets, deals) == 3
    assert deals[:3].tolist() == [[0, 2, 1, 3], [0, 2, 4, 51], [3, 51, 0, 1]]


def test_numbers_get_the_smallest_type_that_holds_them() -> None:
    limits = (0, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**64 - 1)
    assert [features_module._unsigned(most) for most in limits] == ["<u2", "<u2", "<u4", "<u4", "<u8", "<u8"]
    with pytest.raises(UsageError, match=r"sums up to 18,446,744,073,709,551,616 do not fit in 64 bits"):
        features_module._unsigned(2**64)


def test_arrays_of_the_full_deck() -> None:
    """Sums over 2,118,760, 1,081, 46 and 1 run-outs of up to 1,980 half hands, in bins of 40."""
    plan = FeaturePlan(rules_of("limit-holdem"), 5)
    assert (plan.max_strength, plan.bin_width) == (1980, 40)
    types = {
        "deals": ["<u2", "<u2", "<u2", "<u2"],
        "strength": ["<u4", "<u4", "<u4", "<u2"],
        "squared": ["<u8", "<u4", "<u4"],
        "histograms": ["<u4", "<u2", "<u2"],
        "ochs": ["<u2", "<u2", "<u2", "<u2"],
    }
    columns = {"histograms": (50,), "ochs": (5,)}
    sizes = [169, 1_286_792, 13_960_050, 123_156_254]
    found = {name: (array.header.shape, array.header.dtype) for name, array in plan.all_arrays.items()}
    assert found == {
        "opponent-clusters": ((169,), "<u2"),
        "counts-3": ((1981,), "<u8"),
        **{
            f"{kind}-{r}": ((sizes[r], *columns.get(kind, ())), dtype)
            for kind, of_round in types.items()
            for r, dtype in enumerate(of_round)
        },
    }
    units = {name: array.header.units for name, array in plan.all_arrays.items()}
    assert {units[f"{kind}-0"] for kind in types} | {units["opponent-clusters"]} == {
        "deals",
        "half hands beaten",
        "squared half hands beaten",
        "runouts x bin width",
        "1/3500",
        "clusters",
    }
    assert FeaturePlan.of(rules_of("limit-holdem")).num_clusters == 8
    assert FeaturePlan.of(rules_of("leduc")).num_clusters == 3
    assert FeaturePlan.of(rules_of("limit-holdem"), 12, ("ochs",)) == FeaturePlan(plan.rules, 12, ("ochs",))


def test_bins_hold_the_best_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """98 half hands in 50 bins of 2; in 49 of them the last would end below 98."""
    plan = FeaturePlan(rules_of("rhode-island"), 4)
    assert plan.bin_width == 2
    before = plan.fingerprint, plan.folder
    monkeypatch.setattr(features_module, "NUM_BINS", 49)
    assert plan.bin_width == 3
    assert plan.fingerprint != before[0]
    assert plan.folder != before[1]


def test_what_of_the_rules_decides_features() -> None:
    assert HandClasses(rules_of("rhode-island")).card_signature() == {
        "ranks": "23456789TJQKA",
        "suits": "cdhs",
        "hole": 1,
        "board": [0, 1, 1],
        "showdown": rules_of("rhode-island").showdown.value,
    }
    assert rules_of("rhode-island").showdown is not rules_of("leduc").showdown


def test_costs_are_known_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))  # what is there already costs nothing
    plan = FeaturePlan(rules_of("limit-holdem"))
    assert [plan.classes.size(r) for r in range(4)] == [169, 1_286_792, 13_960_050, 123_156_254]
    assert 4.3e9 < plan.disk_bytes < 4.5e9
    assert estimate_seconds(plan, 2) == pytest.approx(
        (2 * 134_459 * 1.5e-4 + (169 * 19_600 + 1_286_792 * 47 + 13_960_050 * 46) * 4e-7) / 2
    )
    assert [plan.runouts(r) for r in range(4)] == [2_118_760, 1081, 46, 1]
    assert FeaturePlan(rules_of("nolimit-holdem")).fingerprint == plan.fingerprint
    assert FeaturePlan(rules_of("limit-holdem"), 5).fingerprint != plan.fingerprint


def test_bad_input() -> None:
    with pytest.raises(UsageError, match=r"number of opponent clusters must be 1 to 169, .*, not 170"):
        FeaturePlan(rules_of("limit-holdem"), 170)
    with pytest.raises(UsageError, match=r"number of opponent clusters must be 1 to 3, .* 'leduc', not 0"):
        FeaturePlan(rules_of("leduc"), 0)
    for r in (-1, 2):
        with pytest.raises(UsageError, match=rf"round {r} not found: 'leduc' has rounds 0 to 1"):
            HandClasses(rules_of("leduc")).num_board_cards(r)
    for num_hole_cards in (3, 4):
        few_on_the_board = replace(rules_of("limit-holdem"), num_board_cards=(0, 1, 1, 1))
        rules = replace(few_on_the_board, num_hole_cards=num_hole_cards)
        with pytest.raises(UsageError, match=rf"deals {num_hole_cards} hole cards: expected 1 or 2 to be"):
            HandClasses(rules)
    with pytest.raises(UsageError, match="a board of 2 cards does not belong to a round"):
        rules_of("limit-holdem").round_of_board(2)


def test_the_last_round_has_no_histograms(cache: Path) -> None:
    features = build_features(FeaturePlan(rules_of("leduc"), 2, ()))
    sentence = r"round 2 of leduc is the last, where a hand has one strength and no histogram"
    with pytest.raises(UsageError, match=sentence):
        features.histograms(1)


def test_working_memory_is_asked_for_before(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: (1 << 30) - 1)
    with pytest.raises(UsageError, match=r"building the features of 'leduc' needs 1.0 GiB of memory"):
        build_features(FeaturePlan(rules_of("leduc"), 2))
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    build_features(FeaturePlan(rules_of("leduc"), 2, ()), 1)


def test_stages_are_reported(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three boards of Leduc and three classes of hole cards, one at a time; before them the empty board."""
    monkeypatch.setattr(workers, "SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr(feature_build, "BOARDS_A_CHUNK", 1)
    monkeypatch.setattr(feature_build, "DEALS_A_CHUNK", 5)
    monkeypatch.setattr(feature_build, "CLUSTER_RESTARTS", 1)
    told: list[tuple[str, int, int]] = []
    build_features(FeaturePlan(rules_of("leduc"), 2), 1, lambda *step: told.append(step))
    assert [step for step in dict.fromkeys(told) if step[1]] == [
        *(("strengths of hole cards", done, 3) for done in (1, 2, 3)),
        *(("features of round 2", done, 3) for done in (1, 2, 3)),
        *(("features of round 1", done, 3) for done in (1, 2, 3)),
        ("deals of round 1", 1, 1),
    ]


def test_stages_say_how_their_work_is_cut(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three boards, two at a time; three classes with five cards to come, so that 14 deals are two."""
    made: list[tuple[object, ...]] = []

    class Listened(Stage):
        def __init__(self, folder: Path, name: str, headers: Sequence[ArrayHeader], *cut: Any) -> None:
            made.append((folder, name, [header.name for header in headers], *cut))
            super().__init__(folder, name, headers, *cut)

    monkeypatch.setattr(feature_build, "Stage", Listened)
    monkeypatch.setattr(feature_build, "BOARDS_A_CHUNK", 2)
    monkeypatch.setattr(feature_build, "DEALS_A_CHUNK", 14)
    plan = FeaturePlan(rules_of("leduc"), 2, {"histograms"})
    build_features(plan, 1)
    assert made == [
        (plan.folder, "round-1", ["deals-1", "strength-1"], 2, "3 by 2"),
        (plan.folder, "round-0", ["strength-0", "squared-0", "histograms-0"], 2, "3 by 2"),
    ]


def test_an_array_of_other_features_is_refused(cache: Path) -> None:
    plan = FeaturePlan(rules_of("leduc"), 2)
    build_features(plan)
    other = FeaturePlan(rules_of("kuhn"), 2)
    build_features(other)
    path = plan.folder / "strength-0.array"
    path.write_bytes((other.folder / path.name).read_bytes())
    with pytest.raises(UsageError, match=r"strength-0\.array' was made by another configuration"):
        Features(plan).strength(0)
    path.write_bytes((plan.folder / "deals-0.array").read_bytes())
    with pytest.raises(UsageError, match=r"strength-0\.array' is not the feature 'strength-0' of 'leduc'"):
        Features(plan).strength(0)
