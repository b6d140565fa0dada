"""Equity: how often one hand or range beats another when all cards are dealt, exactly.

1. Drop hands that the board blocks; weigh the pairs of hands that share no card.
2. Renaming suits renames boards and changes no sum over all boards. So find the suit permutations that
   keep the board and one of the two ranges, for the range with more of them, and sum the other range over
   this group: both ranges are now unchanged by it, and boards equal up to the group count as one.
3. If permutations remain that keep the board but not the ranges, take all different images of the pair
   of ranges instead, when that is cheaper: they share the sorting of one board for each class under all
   these permutations, and are swept side by side.
4. Enumerate one board of each class (134,459 of 2,598,960 before the flop), weighted by the size of the
   class, and on each sort and sweep the hands (`_equity.py`).
5. Every pair of disjoint hands sees the same number of boards, so the divisor needs no enumeration.

Sums of weights that are multiples of a power of two are exact; others carry a relative error near 1e-15
of the heaviest hands' contribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import comb

import numpy as np
import numpy.typing as npt

from errai.cards import _equity, _evaluator
from errai.cards.deck import FULL_DECK, NUM_CARDS, NUM_SUITS, format_card, format_cards, parse_cards
from errai.cards.evaluator import evaluator_tables
from errai.cards.ranges import NUM_HANDS, Weights, parse_range, remove_blocked, verify_weights
from errai.errors import UsageError

BOARD_LENGTHS = (0, 3, 4, 5)
FULL_BOARD = 5
# Below this share of disjoint pairs, cancellation would cost more than three of float64's sixteen digits.
MIN_OPEN_SHARE = 1e-3
# Sweeping C pairs of ranges side by side takes about 1 + C / 12 times as long as sorting and sweeping one.
CHEAPNESS_SIDE_BY_SIDE = 12

_SIDES = ("first", "second")

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Equity:
    """Result of an exact enumeration, for the first of two sides.

    Attributes:
        win: probability that the first side wins.
        tie: probability that the pot is split.
        lose: probability that the first side loses.
        matchups: number of (hand, hand, board) combinations, each counted with both hands' weights.
        num_boards: full boards evaluated, after boards equal up to suits have been merged.
    """

    win: float
    tie: float
    lose: float
    matchups: float
    num_boards: int

    @property
    def equity(self) -> float:
        """The first side's share of the pot: win + tie / 2."""
        return self.win + self.tie / 2


@lru_cache(maxsize=1)
def suit_permutations() -> tuple[tuple[tuple[int, ...], ...], Int64s]:
    """Return the 24 suit permutations, and int64[24, 1326]: the number of each hand's image."""
    suit_images = tuple(permutations(range(NUM_SUITS)))
    hands = FULL_DECK.hands(2).astype(np.int64)
    renamed = ((hands & ~3) + np.array(images)[hands & 3] for images in suit_images)
    return suit_images, np.stack([FULL_DECK.hand_indices(images) for images in renamed])


@lru_cache(maxsize=1)
def _hand_states() -> tuple[Int64s, Int64s]:
    """Return the evaluator's keys and masks of all hands, each int64[1326]."""
    keys, masks = np.empty(NUM_HANDS, dtype=np.int64), np.empty(NUM_HANDS, dtype=np.int64)
    _evaluator.pack_rows(FULL_DECK.hands(2), evaluator_tables(), keys, masks)
    return keys, masks


def _parse_board(board: str) -> tuple[int, ...]:
    cards = parse_cards(board)
    if len(cards) not in BOARD_LENGTHS:
        raise UsageError(f"the board '{board}' must have 0, 3, 4 or 5 cards, not {len(cards)}")
    return cards


def _side_weights(side: str | npt.ArrayLike, board: tuple[int, ...], name: str) -> Weights:
    """Return a side's weights without the hands that the board blocks; at least one must be left."""
    weights = parse_range(side) if isinstance(side, str) else verify_weights(side)
    held = np.flatnonzero(weights)
    if len(held) == 0:
        raise UsageError(f"the {name} side has no hand with a weight above 0: expected at least one")
    left = remove_blocked(weights, board)
    if not left.any():
        if len(held) == 1:
            hand = FULL_DECK.hands(2)[held[0]][::-1]
            shared = next(int(card) for card in hand if card in board)
            raise UsageError(
                f"the {name} side's hand {format_cards(hand)} shares {format_card(shared)} with the board "
                f"'{format_cards(board)}': all cards must differ"
            )
        raise UsageError(
            f"the {name} side has no hand left on the board '{format_cards(board)}': "
            "at least one must share no card with it"
        )
    return left


def _weigh_pairs(first: Weights, second: Weights) -> tuple[Weights, Weights, float]:
    """Return both sides ready for the sweep, and the weight of all pairs of disjoint hands.

    The sweep adds a blocked hand's weight and takes it off again. That is harmless, and keeps ranges
    suit-symmetric, unless nearly all weight is blocked; then hands that meet no opponent are dropped.
    """
    _, masks = _hand_states()
    a, b = np.flatnonzero(first), np.flatnonzero(second)
    meets = masks[a][:, None] & masks[b][None, :] == 0
    if not meets.any():
        raise UsageError(
            "every hand of the first side shares a card with every hand of the second: "
            "at least one pair of hands must be disjoint"
        )
    pairs = float(first[a] @ (meets @ second[b]))
    if pairs < MIN_OPEN_SHARE * first.sum() * second.sum():
        first, second = first.copy(), second.copy()
        first[a[~meets.any(axis=1)]] = 0.0
        second[b[~meets.any(axis=0)]] = 0.0
    return first, second, pairs


def _board_symmetries(board: tuple[int, ...]) -> list[int]:
    """Return which of the 24 suit permutations map the board to itself."""
    suit_images, _ = suit_permutations()
    return [
        g
        for g, images in enumerate(suit_images)
        if {card & ~3 | images[card & 3] for card in board} == set(board)
    ]


def _symmetries(weights: Weights, among: list[int]) -> list[int]:
    """Return which of some suit permutations map every hand to one of equal weight."""
    _, hand_images = suit_permutations()
    return [g for g in among if np.array_equal(weights[hand_images[g]], weights)]


def _one_of_each_coset(group: list[int], whole: list[int]) -> list[int]:
    """Return permutations of `whole` that change in different ways what `group` does not change."""
    suit_images, _ = suit_permutations()
    chosen: list[int] = []
    covered: set[tuple[int, ...]] = set()
    for g in whole:
        if suit_images[g] not in covered:
            chosen.append(g)
            covered |= {tuple(suit_images[h][suit] for suit in suit_images[g]) for h in group}
    return chosen


def _merge_suits(first: Weights, second: Weights, board: tuple[int, ...]) -> tuple[list[int], Weights, int]:
    """Use suit symmetry as this module's description says in steps 2 and 3.

    Returns:
        the group under which boards are merged; float64[2, C, 1326], pairs of ranges, one or more, that
        the group at most shuffles; and how many times the wanted sums their boards' sums are.
    """
    _, hand_images = suit_permutations()
    whole = _board_symmetries(board)
    group, group_of_second = _symmetries(first, whole), _symmetries(second, whole)
    if len(group) >= len(group_of_second):
        second = second[hand_images[group]].sum(axis=0)
    else:
        group = group_of_second
        first = first[hand_images[group]].sum(axis=0)
    images = hand_images[_one_of_each_coset(group, whole)]
    num_hands = np.count_nonzero(first + second)
    num_hands_of_images = np.count_nonzero((first + second)[images].any(axis=0))
    if num_hands_of_images * (1 + len(images) / CHEAPNESS_SIDE_BY_SIDE) < num_hands * len(images):
        return whole, np.stack([first[images], second[images]]), len(group) * len(images)
    return group, np.stack([first, second])[:, None, :], len(group)


def equity(hands_or_ranges: Sequence[str | npt.ArrayLike], board: str = "") -> Equity:
    """Return how often the first of two hands or ranges wins, ties and loses at showdown, exactly.

    Takes milliseconds after the flop, a fraction of a second for two hands before it, and seconds for
    wide ranges before it (most where both ranges single out suits).

    Args:
        hands_or_ranges: two sides, each a hand (`"AsKs"`), a range as text (see `ranges.py`) or float[1326].
        board: 0, 3, 4 or 5 cards as text.

    >>> equity(("AsAh", "7c2d"), "Ad7h7s2c2s").win
    1.0
    """
    if isinstance(hands_or_ranges, str) or len(hands_or_ranges) != 2:
        raise UsageError("equity needs two sides: give a pair of hands, ranges or vectors of weights")
    cards = _parse_board(board)
    first, second = (
        _side_weights(side, cards, name) for side, name in zip(hands_or_ranges, _SIDES, strict=True)
    )
    # Powers of two cost no digit, and keep products of tiny weights from vanishing.
    exponents = [int(np.frexp(weights.max())[1]) for weights in (first, second)]
    first, second = np.ldexp(first, -exponents[0]), np.ldexp(second, -exponents[1])
    first, second, pairs = _weigh_pairs(first, second)
    group, ranges, multiple = _merge_suits(first, second, cards)

    tables = evaluator_tables()
    suit_images, _ = suit_permutations()
    shifts = np.array([suit_images[g] for g in group], dtype=np.int64) * _evaluator.LANE_BITS
    hands = np.flatnonzero(ranges.any(axis=(0, 1)))
    keys, masks = _hand_states()
    stub = np.array([card for card in range(NUM_CARDS) if card not in cards], dtype=np.uint8)
    num_missing = FULL_BOARD - len(cards)
    num_pairs = ranges.shape[1]
    sums = np.empty(2)
    num_boards = _equity.enumerate_showdowns(
        num_missing,
        np.int64(_evaluator.EMPTY_KEY) + tables.card_key[list(cards)].sum(),
        tables.card_mask[list(cards)].sum(),
        stub,
        shifts,
        keys[hands],
        masks[hands],
        FULL_DECK.hands(2)[hands],
        np.ascontiguousarray(ranges[0][:, hands].T),
        np.ascontiguousarray(ranges[1][:, hands].T),
        tables,
        np.empty(len(hands), dtype=np.int64),
        np.empty(len(hands), dtype=np.int64),
        np.empty((2, 256), dtype=np.int64),
        np.empty((NUM_CARDS, num_pairs)),
        np.empty(num_pairs),
        np.empty(num_pairs),
        np.empty(num_pairs),
        np.empty(FULL_BOARD, dtype=np.int64),
        sums,
    )
    matchups = pairs * comb(NUM_CARDS - 4 - len(cards), num_missing)
    wins, wins_or_ties = (sums / (multiple * matchups)).tolist()
    matchups = float(np.ldexp(matchups, sum(exponents)))
    # Rounding may leave a hair on the wrong side of 0 or 1.
    win = min(max(wins, 0.0), 1.0)
    win_or_tie = min(max(wins_or_ties, win), 1.0)
    return Equity(win, win_or_tie - win, 1.0 - win_or_tie, matchups, num_boards)
