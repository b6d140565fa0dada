"""Equity against an enumeration of every board and every pair of hands with phevaluator."""

import doctest

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive import evaluation as naive

from errai.cards import equity as equity_module
from errai.cards.deck import FULL_DECK, format_cards, parse_cards
from errai.cards.equity import Equity, equity
from errai.cards.ranges import format_range, parse_range
from errai.errors import UsageError

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="too many boards without compiled kernels")

HANDS = FULL_DECK.hands(2).tolist()


def as_dict(weights: np.ndarray, board: tuple[int, ...]) -> dict[tuple[int, int], float]:
    """Hands with a weight that the board leaves open."""
    return {
        (a, b): float(weights[i])
        for i, (a, b) in enumerate(HANDS)
        if weights[i] > 0 and a not in board and b not in board
    }


def assert_as_naive(first, second, board, tolerance=1e-12):
    cards = parse_cards(board)
    sides = [parse_range(side) if isinstance(side, str) else side for side in (first, second)]
    win, tie, lose, matchups = naive.equity(as_dict(sides[0], cards), as_dict(sides[1], cards), cards)
    found = equity((first, second), board)
    assert found.win == pytest.approx(win, abs=tolerance)
    assert found.tie == pytest.approx(tie, abs=tolerance)
    assert found.lose == pytest.approx(lose, abs=tolerance)
    assert found.equity == pytest.approx(win + tie / 2, abs=tolerance)
    assert found.matchups == pytest.approx(matchups, rel=1e-12)


def random_case(seed: int, num_board_cards: int) -> tuple[str | np.ndarray, str | np.ndarray, str]:
    """A hand or a small range a side; ranges as text or as weights, not always open on the board."""
    rng = np.random.default_rng(seed)
    deal = rng.permutation(52)
    board = deal[:num_board_cards]
    sides: list[str | np.ndarray] = []
    for player in range(2):
        own = deal[5 + 2 * player : 7 + 2 * player]
        weights = np.zeros(1326)
        if rng.random() < 0.6:
            some = rng.integers(0, 1326, rng.integers(1, 8))
            weights[some] = rng.choice([1.0, 0.5, 0.25, 0.3], len(some))
        weights[FULL_DECK.hand_index(own.tolist())] = 1.0
        sides.append(weights if rng.random() < 0.5 else format_range(weights))
    return sides[0], sides[1], format_cards(board)


@needs_jit
@pytest.mark.parametrize("seed", range(20))
def test_random_flops(seed):
    assert_as_naive(*random_case(seed, 3))


@pytest.mark.parametrize("seed", range(20, 35))
def test_random_turns(seed):
    assert_as_naive(*random_case(seed, 4))


@pytest.mark.parametrize("seed", range(35, 50))
def test_random_rivers(seed):
    assert_as_naive(*random_case(seed, 5))


@pytest.mark.parametrize("seed", range(3))
def test_wide_ranges_on_the_river(seed):
    """Hundreds of hands, so that the radix sort is used, many of them equal."""
    rng = np.random.default_rng(seed)
    board = format_cards(rng.permutation(52)[:5])
    first, second = rng.random((2, 1326)) * (rng.random((2, 1326)) < 0.2)
    assert_as_naive(first, second, board)


@needs_jit
@pytest.mark.parametrize("board", ["7s7h2d", "QsJs2s", "AsKhQd", "AcAdAh5s"])
def test_boards_with_suit_symmetry(board):
    """Ranges without particular suits on boards that leave suits alike; and one side with suits."""
    assert_as_naive("99, A2s, KQo:0.5", "88, T9s:0.25, 76o", board)
    assert_as_naive("KsQd, 9c8c:0.5", "88, T9s", board)
    assert_as_naive("88, T9s", "KsQd, 9c8c:0.5", board)


@needs_jit
@pytest.mark.parametrize("board", ["7s7h2d", "QsJs2s", "AcAdAh5s"])
def test_boards_with_suit_symmetry_that_both_ranges_break(board):
    """Images of the pair of ranges are swept side by side; weights that are no binary fractions."""
    assert_as_naive("99:0.7, T8s:0.3, KcQd:0.1", "66:0.9, 54s:0.3, KdQc:0.6", board)
    assert_as_naive("99:0.7, T8s:0.3, Kc9c:0", "66:0.9, KK:0.3, KdKh:0.6", board)
    assert equity(("99, KcQd", "66, KdQc"), board).num_boards == equity(("99", "66"), board).num_boards


@needs_jit
def test_two_hands_before_the_flop():
    assert_as_naive("AsKs", "QhQd", "")
    assert equity(("AsKs", "QhQd")).matchups == 1_712_304


@pytest.mark.slow
@needs_jit
@pytest.mark.parametrize("seed", range(100, 108))
def test_random_hands_before_the_flop(seed):
    deal = np.random.default_rng(seed).permutation(52)
    assert_as_naive(format_cards(deal[:2]), format_cards(deal[2:4]), "")


@pytest.mark.slow
@needs_jit
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("AsKh, 9d9c:0.5", "QhQd, 7s2s:0.25"),
        ("AsKh, KdQd", "88:0.3"),
        ("99:0.7", "AhKh:0.3, 7c6d"),
    ],
)
def test_small_ranges_before_the_flop(first, second):
    assert_as_naive(first, second, "")


@needs_jit
def test_a_range_is_the_mean_of_its_hands_before_the_flop():
    """Bilinearity: independent of how suits are merged, which differs from call to call."""
    first, second = "AsKh, 9d9c:0.5", "QhQd, As7s:0.25"
    parts = []
    for a, weight_a in (("AsKh", 1.0), ("9d9c", 0.5)):
        for b, weight_b in (("QhQd", 1.0), ("As7s", 0.25)):
            if not set(parse_cards(a)) & set(parse_cards(b)):
                one = equity((a, b))
                parts.append((weight_a * weight_b * one.matchups, one))
    total = sum(weight for weight, _ in parts)
    found = equity((first, second))
    assert found.matchups == total
    assert found.win == pytest.approx(sum(weight * one.win for weight, one in parts) / total, abs=1e-13)
    assert found.tie == pytest.approx(sum(weight * one.tie for weight, one in parts) / total, abs=1e-13)


@needs_jit
def test_suit_symmetry_leaves_the_canonical_boards():
    """134,459 classes of unordered five-card boards, also when only one side is free of suits."""
    both = equity(("AA", "KK"))
    assert both.num_boards == equity(("AsAh", "KK")).num_boards == 134_459
    assert equity(("AsAh", "KK")).win == pytest.approx(both.win, abs=1e-15)
    assert equity(("KK", "AA")).lose == pytest.approx(both.win, abs=1e-15)


@pytest.mark.slow
@needs_jit
def test_every_hand_against_every_hand_before_the_flop():
    found = equity(("random", "random"))
    assert found.matchups == 1326 * 1225 * 1_712_304
    assert found.win == pytest.approx(found.lose, abs=1e-15)
    assert found.equity == pytest.approx(0.5, abs=1e-15)


def test_exact_extremes():
    assert equity(("AsAh", "KsKh"), "AdAcKdKc2s") == Equity(1.0, 0.0, 0.0, 1.0, 1)
    assert equity(("3s3h", "4s4h"), "AdAcKdKcQs") == Equity(0.0, 1.0, 0.0, 1.0, 1)
    assert equity(("7c2d", "AsAh"), "Ad3h8s9cJs").lose == 1.0


def test_a_blocked_heavy_hand_does_not_drown_a_light_one():
    """AsKs can never meet AsAh, so only the pair of queens counts, however small its weight."""
    light = equity(("AsAh", "AsKs, QdQc:1e-17"), "Qh7d7c2s")
    assert light.win == pytest.approx(equity(("AsAh", "QdQc"), "Qh7d7c2s").win, abs=1e-15)


def test_the_smallest_weights():
    found = equity(("AsAh:5e-324", "QdQc:5e-324"), "Qh7d7c2s")
    assert found.win == equity(("AsAh", "QdQc"), "Qh7d7c2s").win
    assert found.matchups == 0.0


@pytest.mark.parametrize(
    ("sides", "board", "message"),
    [
        (("AsKs", "QhQd"), "AsTd", "the board 'AsTd' must have 0, 3, 4 or 5 cards, not 2"),
        (("AsKs", "QhQd"), "2s3s4s5s6s7s", "the board '2s3s4s5s6s7s' must have 0, 3, 4 or 5 cards, not 6"),
        (("AsKs", "QhQd"), "2s2s3d", "the card 2s occurs twice in '2s2s3d'"),
        (
            ("AsKs", "QhQd"),
            "QdTd2c",
            "the second side's hand QhQd shares Qd with the board 'QdTd2c': all cards must",
        ),
        (
            ("AA", "KK"),
            "AsAhAd",
            "the first side has no hand left on the board 'AsAhAd': at least one must share",
        ),
        (("AsKs", "AsQd"), "", "every hand of the first side shares a card with every hand of the second"),
        (("AA:0", "KK"), "", "the first side has no hand with a weight above 0: expected at least one"),
        (
            ("AA", np.zeros(1326)),
            "",
            "the second side has no hand with a weight above 0: expected at least one",
        ),
        (("AA", np.ones(5)), "", r"the weights have the shape \(5,\)"),
        (("AA", "KKx"), "", "'KKx' is not an item of a range"),
        (("AA",), "", "equity needs two sides"),
        (("AA", "KK", "QQ"), "", "equity needs two sides"),
        ("AK", "", "equity needs two sides"),
    ],
)
def test_equity_refuses(sides, board, message):
    with pytest.raises(UsageError, match="^" + message):
        equity(sides, board)


def test_examples_in_the_documentation():
    assert doctest.testmod(equity_module).failed == 0
