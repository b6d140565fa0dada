"""Hand strength: which of several hands wins, for 1 to 7 cards, by table look-up.

1. Ranks decide every hand but flushes. The 76,155 ways to hold at most seven cards, at most four of a
   rank, are numbered without gaps: the counts of the six upper ranks give an offset, the counts of
   the seven lower ranks, sorted by how many cards they are, a place after it. For a given upper part
   the lower parts that still fit are a prefix of that order, so offset + place is the number.
2. The strength of each of these hands is computed once: category, then the masks of the ranks that
   matter, larger first, then a dense rank inside the category.
3. Five cards of one suit look up the 13-bit mask of that suit instead.

Hands of 5, 6 and 7 cards get their best five-card poker hand, on one common scale. With 1 to 4 cards
(Kuhn, Leduc, hold'em cut before the flop) only multiples and ranks count: no straights, no flushes.
Strengths of hands of fewer than five cards are only comparable at equal numbers of cards.

The tables are built from these rules in less than 0.1 s at first use; together they take 374 kB.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.cards import _evaluator as kernels
from errai.cards.deck import FULL_DECK, NUM_CARDS, NUM_RANKS
from errai.errors import UsageError

HIGH_CARD = 0
PAIR = 1
TWO_PAIR = 2
THREE_OF_A_KIND = 3
STRAIGHT = 4
FLUSH = 5
FULL_HOUSE = 6
FOUR_OF_A_KIND = 7
STRAIGHT_FLUSH = 8

CATEGORY_NAMES = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)

MAX_CARDS = 7
NUM_LOWER_RANKS = 7
# Below this number of cards there are neither straights nor flushes.
NUM_CARDS_OF_POKER_HAND = 5

Int64s = npt.NDArray[np.int64]


class EvaluatorTables(NamedTuple):
    """What the kernels look up. Card tables have 256 entries, so that any uint8 is a safe index.

    Attributes:
        card_key: int64[256], what a card adds to a hand's key; 0 for numbers that are no card.
        card_mask: int64[256], the card's bit; `NO_CARD` for numbers that are no card.
        lower_rank: uint16[71876], place of the counts of ranks 2 to 8, by their number in base five.
        upper_offset: uint32[14376], where the hands with these counts of ranks 9 to ace begin.
        rank_strength: uint16[76155], strength of each combination of ranks, no flush.
        flush_strength: uint16[8192], strength by the ranks of one suit; 0 where they are fewer than five.
    """

    card_key: Int64s
    card_mask: Int64s
    lower_rank: npt.NDArray[np.uint16]
    upper_offset: npt.NDArray[np.uint32]
    rank_strength: npt.NDArray[np.uint16]
    flush_strength: npt.NDArray[np.uint16]


def _count_vectors(num_ranks: int) -> tuple[Int64s, Int64s, Int64s]:
    """Return all counts of `num_ranks` ranks with at most MAX_CARDS cards, sorted by number of cards.

    Returns:
        counts int64[V, num_ranks]; their numbers in base five int64[V]; their numbers of cards int64[V].
    """
    numbers = np.arange(5**num_ranks)
    counts = numbers[:, None] // 5 ** np.arange(num_ranks) % 5
    totals = counts.sum(axis=1)
    order = np.argsort(totals, kind="stable")[: np.count_nonzero(totals <= MAX_CARDS)]
    return counts[order], numbers[order], totals[order]


def _top_bits(masks: Int64s, num_bits: int) -> Int64s:
    """Keep the highest `num_bits` set bits of each 13-bit mask."""
    kept = np.zeros_like(masks)
    left = masks.copy()
    for _ in range(num_bits):
        top = np.where(left > 0, 1 << (np.frexp(left)[1].astype(np.int64) - 1).clip(0), 0)
        kept |= top
        left &= ~top
    return kept


def _straight_bits(masks: Int64s) -> Int64s:
    """Return, for each 13-bit mask, the bits of ranks at which a straight ends, the wheel at 5."""
    with_low_ace = masks << 1 | masks >> (NUM_RANKS - 1)
    ends = with_low_ace
    for i in range(1, 5):
        ends = ends & with_low_ace << i
    return ends >> 1


def _order_keys(counts: Int64s, *, straights: bool) -> Int64s:
    """Return, for rank counts int64[V, 13], a number that sorts as the hands do, its category on top."""
    at_least = [((counts >= n) << np.arange(NUM_RANKS)).sum(axis=1) for n in range(1, 5)]
    ranks, pairs, trips, quads = at_least
    top_pair, top_trips, top_quads = _top_bits(pairs, 1), _top_bits(trips, 1), _top_bits(quads, 1)
    two_pairs = _top_bits(pairs, 2)
    full_of = _top_bits(pairs & ~top_trips, 1)
    ends = _top_bits(_straight_bits(ranks), 1)
    # Best first. A mask of n ranks is larger as a number exactly if the hand of these n ranks is better.
    choices = [
        (FOUR_OF_A_KIND, quads > 0, top_quads, _top_bits(ranks & ~top_quads, 1)),
        (FULL_HOUSE, (trips > 0) & (full_of > 0), top_trips, full_of),
        (STRAIGHT, (ends > 0) & straights, ends, ends),
        (THREE_OF_A_KIND, trips > 0, top_trips, _top_bits(ranks & ~top_trips, 2)),
        (TWO_PAIR, two_pairs > top_pair, two_pairs, _top_bits(ranks & ~two_pairs, 1)),
        (PAIR, pairs > 0, top_pair, _top_bits(ranks & ~top_pair, 3)),
    ]
    return np.select(
        [holds for _, holds, _, _ in choices],
        [category << 26 | major << 13 | minor for category, _, major, minor in choices],
        _top_bits(ranks, NUM_CARDS_OF_POKER_HAND),
    )


def _dense_strengths(order_keys: Int64s) -> npt.NDArray[np.uint16]:
    """Replace the low part of each key by its rank among the different keys of its category."""
    distinct, place = np.unique(order_keys, return_inverse=True)
    categories = distinct >> 26
    begin = np.searchsorted(categories, np.arange(len(CATEGORY_NAMES)))
    places = np.arange(len(distinct)) - begin[categories]
    strengths: npt.NDArray[np.uint16] = (categories << kernels.CATEGORY_SHIFT | places).astype(np.uint16)
    return strengths[place]


def _rank_tables() -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint32], npt.NDArray[np.uint16]]:
    """Build `lower_rank`, `upper_offset` and `rank_strength`."""
    lower_counts, lower_numbers, lower_totals = _count_vectors(NUM_LOWER_RANKS)
    upper_counts, upper_numbers, upper_totals = _count_vectors(NUM_RANKS - NUM_LOWER_RANKS)
    lower_rank = np.zeros(lower_numbers.max() + 1, dtype=np.uint16)
    lower_rank[lower_numbers] = np.arange(len(lower_numbers))

    num_fitting = np.searchsorted(lower_totals, MAX_CARDS - upper_totals, side="right")
    begin = np.cumsum(num_fitting) - num_fitting
    upper_offset = np.zeros(upper_numbers.max() + 1, dtype=np.uint32)
    upper_offset[upper_numbers] = begin

    upper = np.repeat(np.arange(len(upper_numbers)), num_fitting)
    lower = np.arange(len(upper)) - begin[upper]
    counts = np.concatenate([lower_counts[lower], upper_counts[upper]], axis=1)
    poker = lower_totals[lower] + upper_totals[upper] >= NUM_CARDS_OF_POKER_HAND
    rank_strength = np.zeros(len(counts), dtype=np.uint16)
    for rows, straights in ((poker, True), (~poker, False)):
        rank_strength[rows] = _dense_strengths(_order_keys(counts[rows], straights=straights))
    return lower_rank, upper_offset, rank_strength


def _flush_table() -> npt.NDArray[np.uint16]:
    """Build `flush_strength`; masks of fewer than five ranks give 0, below every hand."""
    masks = np.arange(1 << NUM_RANKS)
    ends = _top_bits(_straight_bits(masks), 1)
    best = _top_bits(masks, NUM_CARDS_OF_POKER_HAND)
    enough = (masks[:, None] >> np.arange(NUM_RANKS) & 1).sum(axis=1) >= NUM_CARDS_OF_POKER_HAND
    order_keys = np.where(ends > 0, STRAIGHT_FLUSH << 26 | ends, FLUSH << 26 | best)
    flush_strength = np.zeros(len(masks), dtype=np.uint16)
    flush_strength[enough] = _dense_strengths(order_keys[enough])
    return flush_strength


@lru_cache(maxsize=1)
def evaluator_tables() -> EvaluatorTables:
    """Return the tables for the kernels of `_evaluator`, built at the first call and kept."""
    card_key = np.zeros(256, dtype=np.int64)
    card_mask = np.full(256, kernels.NO_CARD, dtype=np.int64)
    for card in range(NUM_CARDS):
        rank, suit = card >> 2, card & 3
        if rank < NUM_LOWER_RANKS:
            rank_key = 5**rank
        else:
            rank_key = 5 ** (rank - NUM_LOWER_RANKS) << kernels.UPPER_SHIFT
        card_key[card] = rank_key + (1 << kernels.SUIT_SHIFT + 4 * suit)
        card_mask[card] = 1 << kernels.LANE_BITS * suit + rank
    tables = EvaluatorTables(card_key, card_mask, *_rank_tables(), _flush_table())
    for table in tables:
        table.setflags(write=False)
    return tables


def _as_rows(cards: npt.ArrayLike, what: str) -> npt.NDArray[np.uint8]:
    """Return cards as contiguous uint8[N, K]; numbers that do not fit become 255, which is no card."""
    try:
        array = np.asarray(cards)
    except ValueError as error:
        raise UsageError(f"the {what} are ragged: every row must have the same number of cards") from error
    if array.size == 0 and array.ndim <= 2:
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2):
        raise UsageError(
            f"the {what} are {array.dtype} of shape {array.shape}: "
            "cards must be integers from 0 to 51, one hand or one hand a row"
        )
    if array.ndim == 1:
        array = array[None, :]
    if array.dtype != np.uint8:
        array = np.where((array < 0) | (array >= NUM_CARDS), 255, array).astype(np.uint8)
    return np.ascontiguousarray(array)


def _raise_for_row(cards: npt.ArrayLike, row: int) -> None:
    """Say what is wrong with a row that a kernel has refused."""
    array: npt.NDArray[Any] = np.atleast_2d(np.asarray(cards))
    FULL_DECK.verify([int(card) for card in array[row]], f"row {row}: ")
    raise AssertionError(f"row {row} was refused without a fault")


def evaluate(cards: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return the strength of hands of 1 to 7 cards: larger wins, equal ties.

    Args:
        cards: integers [N, K], or one hand [K]; cards of 0 to 51, all different within a row.

    Returns:
        int32[N]; compare only hands of equally many cards when these are fewer than five.

    >>> from errai.cards.deck import parse_cards
    >>> flush, straight = evaluate([parse_cards("AhKh9h4h2h"), parse_cards("AhKdQdJcTs")])
    >>> bool(flush > straight)
    True
    """
    rows = _as_rows(cards, "cards")
    if not 1 <= rows.shape[1] <= MAX_CARDS:
        raise UsageError(f"cannot evaluate hands of {rows.shape[1]} cards: expected 1 to {MAX_CARDS} cards")
    strengths = np.empty(len(rows), dtype=np.int32)
    wrong_row = kernels.evaluate_rows(rows, evaluator_tables(), strengths)
    if wrong_row != kernels.NO_ROW:
        _raise_for_row(cards, wrong_row)
    return strengths


def category(strength: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the category of strengths from `evaluate`, an index into `CATEGORY_NAMES`.

    Args:
        strength: integers [N], or one.

    Returns:
        int8[N], HIGH_CARD (0) to STRAIGHT_FLUSH (8).
    """
    strengths = np.atleast_1d(np.asarray(strength))
    if strengths.dtype.kind not in "iu":
        raise UsageError(f"strengths of type {strengths.dtype} have no category: give integers from evaluate")
    categories = strengths >> kernels.CATEGORY_SHIFT
    outside = (categories < 0) | (categories >= len(CATEGORY_NAMES))
    if outside.any():
        raise UsageError(
            f"{strengths[outside][0]} is not a strength that evaluate returns for a hand of cards"
        )
    return categories.astype(np.int8)


def evaluate_three_card(cards: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return the strength of hands of Rhode Island hold'em: larger wins, equal ties.

    Straight flush, three of a kind, straight, flush, pair, high card; Q-K-A is the highest straight
    and A-2-3 the lowest.

    Args:
        cards: integers [N, 3], or one hand [3]; cards of 0 to 51, all different within a row.

    Returns:
        int32[N]; not comparable with strengths from `evaluate`.
    """
    rows = _as_rows(cards, "cards")
    if rows.shape[1] != 3:
        raise UsageError(f"a three-card hand must have 3 cards, not {rows.shape[1]}")
    strengths = np.empty(len(rows), dtype=np.int32)
    wrong_row = kernels.evaluate_three_card_rows(rows, strengths)
    if wrong_row != kernels.NO_ROW:
        _raise_for_row(cards, wrong_row)
    return strengths


def evaluate_hands_on_board(board: npt.ArrayLike, hands: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return the strength of every hand together with one board.

    Args:
        board: integers [B], 0 to 5 cards.
        hands: integers [H, 1] or [H, 2], or one hand; at most 7 cards with the board.

    Returns:
        int32[H], as `evaluate` of board and hand; -1 where the hand shares a card with the board.
    """
    board_rows, hand_rows = _as_rows(board, "board's cards"), _as_rows(hands, "hands")
    if len(board_rows) != 1 or board_rows.shape[1] > 5:
        raise UsageError(f"a board must be one row of 0 to 5 cards, not {board_rows.size} cards")
    if hand_rows.shape[1] not in (1, 2):
        raise UsageError(f"hands on a board must have 1 or 2 cards, not {hand_rows.shape[1]}")
    tables = evaluator_tables()
    board_key, board_mask = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    if kernels.pack_rows(board_rows, tables, board_key, board_mask) != kernels.NO_ROW:
        _raise_for_row(board, 0)
    hand_keys, hand_masks = np.empty(len(hand_rows), dtype=np.int64), np.empty(len(hand_rows), dtype=np.int64)
    wrong_row = kernels.pack_rows(hand_rows, tables, hand_keys, hand_masks)
    if wrong_row != kernels.NO_ROW:
        _raise_for_row(hands, wrong_row)
    strengths = np.empty(len(hand_rows), dtype=np.int32)
    kernels.strengths_on_board(
        board_key[0] + kernels.EMPTY_KEY, board_mask[0], hand_keys, hand_masks, tables, strengths
    )
    return strengths
