"""The evaluator against phevaluator, against its naive twin, and against exact counts."""

import doctest
from itertools import chain, combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive import evaluation as naive

from errai.cards import evaluator
from errai.cards.deck import FULL_DECK, parse_cards
from errai.cards.evaluator import (
    CATEGORY_NAMES,
    category,
    evaluate,
    evaluate_hands_on_board,
    evaluate_three_card,
    evaluator_tables,
)
from errai.errors import UsageError

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="too many hands without compiled kernels")

# Hands by category, high card first. Seven cards: B. Alspach, "7-Card Poker Hands" (2000).
SEVEN_CARD_HANDS = [23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584]
# Five cards: the ranks that fit times the suits that fit.
FIVE_CARD_HANDS = [
    (comb(13, 5) - 10) * (4**5 - 4),
    13 * comb(4, 2) * comb(12, 3) * 4**3,
    comb(13, 2) * comb(4, 2) ** 2 * 44,
    13 * comb(4, 3) * comb(12, 2) * 4**2,
    10 * (4**5 - 4),
    (comb(13, 5) - 10) * 4,
    13 * comb(4, 3) * 12 * comb(4, 2),
    13 * 48,
    10 * 4,
]
# Different strengths: K. Suffecool ("Cactus Kev") for five cards; Wikipedia, "Poker probability", for seven.
NUM_FIVE_CARD_CLASSES = 7462
NUM_SEVEN_CARD_CLASSES = 4824


def random_hands(num_hands: int, num_cards: int, seed: int) -> np.ndarray:
    """Rows of different cards; drawn with repetition, rows with a card twice are thrown away."""
    rng = np.random.default_rng(seed)
    rows: np.ndarray = rng.integers(0, 52, (num_hands * 2 + 100, num_cards), dtype=np.uint8)
    ordered = np.sort(rows, axis=1)
    rows = rows[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
    assert len(rows) >= num_hands
    return rows[:num_hands]


def all_hands(num_cards: int) -> np.ndarray:
    """All combinations in lexicographic order."""
    cards = chain.from_iterable(combinations(range(52), num_cards))
    return np.fromiter(cards, dtype=np.uint8, count=comb(52, num_cards) * num_cards).reshape(-1, num_cards)


def same_order(strengths: np.ndarray, smaller_is_better: np.ndarray) -> bool:
    """Whether two scores order all hands alike, ties included."""
    pairs = np.unique(np.stack([strengths, -smaller_is_better]), axis=1)
    return bool((np.diff(pairs[0]) > 0).all() and (np.diff(pairs[1]) > 0).all())


def test_same_order_sees_a_difference():
    assert same_order(np.array([1, 5, 5]), np.array([9, 2, 2]))
    assert not same_order(np.array([1, 5, 5]), np.array([9, 2, 3]))
    assert not same_order(np.array([1, 5, 6]), np.array([9, 2, 2]))
    assert not same_order(np.array([1, 5, 6]), np.array([9, 2, 3]))


@needs_jit
@pytest.mark.parametrize(("num_cards", "num_hands"), [(5, 100_000), (6, 100_000), (7, 1_000_000)])
def test_orders_random_hands_as_phevaluator_does(num_cards, num_hands):
    hands = random_hands(num_hands, num_cards, seed=num_cards)
    ranks = np.array(list(map(naive.PHEVALUATOR[num_cards], *hands.T.tolist())))
    assert same_order(evaluate(hands), ranks)


@needs_jit
def test_all_five_card_hands():
    strengths = evaluate(all_hands(5))
    counts = np.bincount(strengths)
    assert np.count_nonzero(counts) == NUM_FIVE_CARD_CLASSES
    assert np.bincount(category(strengths)).tolist() == FIVE_CARD_HANDS


@pytest.mark.slow
@needs_jit
def test_all_seven_card_hands():
    five = all_hands(5)
    first_row_above = np.searchsorted(five[:, 0], np.arange(52), side="right")
    counts = np.zeros(9 << 12, dtype=np.int64)
    for a, b in combinations(range(52), 2):
        rest = five[first_row_above[b] :]
        hands = np.empty((len(rest), 7), dtype=np.uint8)
        hands[:, 0], hands[:, 1], hands[:, 2:] = a, b, rest
        counts += np.bincount(evaluate(hands), minlength=len(counts))
    assert counts.sum() == comb(52, 7)
    assert counts.reshape(9, -1).sum(axis=1).tolist() == SEVEN_CARD_HANDS
    assert np.count_nonzero(counts) == NUM_SEVEN_CARD_CLASSES


def assert_ordered_as_twin(strengths, twins):
    order = np.argsort(strengths, kind="stable")
    for i, j in pairwise(order):
        assert twins[i] <= twins[j]
        assert (twins[i] == twins[j]) == (strengths[i] == strengths[j])


@pytest.mark.parametrize("num_cards", range(1, 8))
def test_naive_twin(num_cards):
    hands = random_hands(400, num_cards, seed=100 + num_cards)
    strengths = evaluate(hands)
    twins = [naive.strength(hand) for hand in hands.tolist()]
    assert_ordered_as_twin(strengths, twins)
    assert category(strengths).tolist() == [twin[0] for twin in twins]


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=7).filter(lambda r: max(map(r.count, r)) <= 4),
    st.data(),
)
def test_naive_twin_on_hands_of_few_suits(ranks, data):
    """Suits drawn near each other, so that flushes and straight flushes are common."""
    hands = []
    for _ in range(2):
        taken: list[int] = []
        for rank in data.draw(st.permutations(ranks)):
            suits = [suit for suit in range(4) if rank * 4 + suit not in taken]
            taken.append(rank * 4 + data.draw(st.sampled_from(suits[:2])))
        hands.append(taken)
    strengths = evaluate(hands)
    assert_ordered_as_twin(strengths, [naive.strength(hand) for hand in hands])


def test_the_order_of_the_cards_does_not_matter():
    rng = np.random.default_rng(5)
    hands = random_hands(200, 7, seed=5)
    assert np.array_equal(evaluate(hands), evaluate(rng.permuted(hands, axis=1)))


def test_six_and_seven_cards_share_the_scale_of_five():
    for hand in random_hands(50, 7, seed=6).tolist():
        best_five = evaluate(list(combinations(hand, 5))).max()
        best_six = evaluate(list(combinations(hand, 6))).max()
        assert evaluate(hand)[0] == best_five == best_six


def test_few_cards_know_no_straights_and_flushes():
    suited_connected, high = evaluate([parse_cards("5s4s3s2s"), parse_cards("6d4s3c2h")])
    assert suited_connected < high
    assert CATEGORY_NAMES[category(suited_connected)[0]] == "high card"
    two_pair, trips = evaluate([parse_cards("AsAdKsKd"), parse_cards("2s2d2h3c")])
    assert two_pair < trips


def test_shapes_and_types():
    hand = [51, 47, 43, 39, 35]
    assert evaluate(hand).shape == (1,)
    assert evaluate(hand).dtype == np.int32
    wide = np.array([hand, hand[::-1]], dtype=np.int64)
    for cards in (wide, wide.astype(np.uint8), np.asfortranarray(wide.astype(np.uint8)), wide.astype(">i4")):
        assert evaluate(cards).tolist() == [evaluate(hand)[0]] * 2
    assert evaluate(np.empty((0, 7), dtype=np.uint8)).shape == (0,)
    assert category(evaluate(hand)).dtype == np.int8
    assert CATEGORY_NAMES[int(category(evaluate(hand))[0])] == "straight flush"


def test_tables_fit_the_second_level_cache():
    assert sum(table.nbytes for table in evaluator_tables()) < 400_000


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        ([[0, 1, 2, 3, 4], [0, 1, 2, 3, 52]], "row 1: 52 is not a card: expected a number from 0 to 51"),
        ([[0, -1]], "row 0: -1 is not a card: expected a number from 0 to 51"),
        ([[300, 1]], "row 0: 300 is not a card: expected a number from 0 to 51"),
        ([[0, 1], [51, 51], [3, 3]], "row 1: the card As occurs twice in"),
        ([8, 5, 8], "row 0: the card 4c occurs twice in"),
        (list(range(8)), "cannot evaluate hands of 8 cards: expected 1 to 7 cards"),
        ([], "cannot evaluate hands of 0 cards: expected 1 to 7 cards"),
        ([0.5, 1.0], "the cards are float64 of shape"),
        ([[[1]]], "the cards are int64 of shape"),
        ([[1, 2], [1]], "the cards are ragged"),
        ("AsKs", "the cards are <U4 of shape"),
    ],
)
def test_evaluate_refuses(cards, message):
    with pytest.raises(UsageError, match="^" + message):
        evaluate(cards)


@pytest.mark.parametrize("strength", [-1, 9 << 12, [0, -1], 0.5])
def test_category_refuses(strength):
    with pytest.raises(UsageError, match="strength"):
        category(strength)


def test_three_card_examples():
    order = [
        "AsAdKs",
        "2s3s7s",
        "AhKhJh",
        "As2d3c",
        "2d3c4s",
        "QsKdAc",
        "2s2d2h",
        "AsAdAh",
        "As2s3s",
        "QdKdAd",
    ]
    strengths = evaluate_three_card([parse_cards(text) for text in order])
    assert (np.diff(strengths) > 0).all()


@needs_jit
def test_all_three_card_hands():
    hands = all_hands(3)
    assert_ordered_as_twin(
        evaluate_three_card(hands), [naive.three_card_strength(hand) for hand in hands.tolist()]
    )


def test_three_card_twin():
    hands = random_hands(300, 3, seed=8)
    assert_ordered_as_twin(
        evaluate_three_card(hands), [naive.three_card_strength(hand) for hand in hands.tolist()]
    )


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        ([[0, 1, 2], [3, 4, 4]], "row 1: the card 3c occurs twice"),
        ([[0, 1, 52]], "row 0: 52 is not a card"),
        ([[0, 1]], "a three-card hand must have 3 cards, not 2"),
    ],
)
def test_evaluate_three_card_refuses(cards, message):
    with pytest.raises(UsageError, match="^" + message):
        evaluate_three_card(cards)


@pytest.mark.parametrize("num_board_cards", range(6))
@pytest.mark.parametrize("num_hole_cards", [1, 2])
def test_hands_on_board(num_board_cards, num_hole_cards):
    board = random_hands(1, 6, seed=num_board_cards)[0, :num_board_cards].tolist()
    hands = FULL_DECK.hands(num_hole_cards)[::17]
    strengths = evaluate_hands_on_board(board, hands)
    for hand, strength in zip(hands.tolist(), strengths.tolist(), strict=True):
        expected = -1 if set(hand) & set(board) else evaluate([*board, *hand])[0]
        assert strength == expected


@pytest.mark.parametrize(
    ("board", "hands", "message"),
    [
        ([0, 1, 2, 3, 4, 5], [[6, 7]], "a board must be one row of 0 to 5 cards, not 6 cards"),
        ([[0], [1]], [[6, 7]], "a board must be one row of 0 to 5 cards, not 2 cards"),
        ([0, 0, 1], [[6, 7]], "row 0: the card 2c occurs twice"),
        ([0, 99, 1], [[6, 7]], "row 0: 99 is not a card"),
        ([0, 1, 2], [[6, 7], [8, 8]], "row 1: the card 4c occurs twice"),
        ([0, 1, 2], [[6, 7, 8]], "hands on a board must have 1 or 2 cards, not 3"),
    ],
)
def test_evaluate_hands_on_board_refuses(board, hands, message):
    with pytest.raises(UsageError, match="^" + message):
        evaluate_hands_on_board(board, hands)


def test_examples_in_the_documentation():
    assert doctest.testmod(evaluator).failed == 0
