"""Kernels of the evaluator: one hand is two integers, its strength is a few table look-ups.

A hand's *state* is a pair of int64 that grows by plain addition, card by card, in any order:

- `key`: bits 0-16 hold the counts of the ranks 2 to 8 as a number in base five, bits 17-30 those of
  the ranks 9 to ace, bits 32-47 four counters of the suits, each started at 3 so that the fifth card
  of a suit sets the counter's top bit (`SUIT_TOP_BITS`);
- `mask`: one bit a card, 16 bits a suit, so that a suit's ranks are a 13-bit number.

Start with `EMPTY_KEY` and 0, add `card_key[card]` and `card_mask[card]`, ask `strength_of`. The state of a
board is added to the state of each hand, so 1,081 hands on a board cost 1,081 look-ups. The tables
are built, and their fields described, in `evaluator.py`.
"""

import numpy as np

from errai.kernels import kernel

LOWER_MASK = 0x1FFFF
UPPER_SHIFT = 17
UPPER_MASK = 0x3FFF
SUIT_SHIFT = 32
EMPTY_KEY = 0x3333 << SUIT_SHIFT
SUIT_TOP_BITS = 0x8888
LANE_BITS = 16
LANE_MASK = 0x1FFF
# The mask of every number that is no card; far from the 52 bits of cards, and not the sign bit.
NO_CARD = 1 << 62

CATEGORY_SHIFT = 12
NO_ROW = -1
BLOCKED = -1


@kernel()
def strength_of(
    key,  # IN  int64           EMPTY_KEY plus the keys of 1 to 7 different cards
    mask,  # IN  int64           sum of the masks of the same cards
    tables,  # IN  EvaluatorTables
):
    """Return the strength of one hand; larger wins, equal ties."""
    lower = tables.lower_rank[key & LOWER_MASK]
    upper = tables.upper_offset[(key >> UPPER_SHIFT) & UPPER_MASK]
    by_rank = tables.rank_strength[upper + lower]
    # Five cards of one suit leave two, too few for a full house or four of a kind: a flush is the best of
    # its hand. Without one the shift is 0 and the look-up answers 0, as the suit c then has under five
    # cards. No branch: one that flips at random 3% of the time costs more than all the look-ups.
    suits = (key >> SUIT_SHIFT) & SUIT_TOP_BITS
    shift = ((suits >> 3 | suits >> 11) & 16) | ((suits >> 6 | suits >> 10) & 32)
    by_suit = tables.flush_strength[(mask >> shift) & LANE_MASK]
    return np.int32(max(by_rank, by_suit))


@kernel()
def evaluate_rows(
    cards,  # IN   uint8[N, K]  K of 1 to 7
    tables,  # IN   EvaluatorTables
    strengths,  # OUT  int32[N]
):
    """Evaluate every row; return NO_ROW, or the first row with a number above 51 or a card twice."""
    num_rows, num_cards = cards.shape
    card_key, card_mask = tables.card_key, tables.card_mask
    for i in range(num_rows):
        key = np.int64(EMPTY_KEY)
        mask = np.int64(0)
        wrong = np.int64(0)
        for j in range(num_cards):
            card = cards[i, j]
            wrong |= mask & card_mask[card]
            mask |= card_mask[card]
            key += card_key[card]
        if wrong | (mask & NO_CARD) != 0:
            return i
        strengths[i] = strength_of(key, mask, tables)
    return NO_ROW


@kernel()
def pack_rows(
    cards,  # IN   uint8[N, K]  K of 0 to 7
    tables,  # IN   EvaluatorTables
    keys,  # OUT  int64[N]     sums of card keys, without EMPTY_KEY: to be added to a board's key
    masks,  # OUT  int64[N]
):
    """Turn rows of cards into states; return NO_ROW, or the first row that is wrong."""
    num_rows, num_cards = cards.shape
    card_key, card_mask = tables.card_key, tables.card_mask
    for i in range(num_rows):
        key = np.int64(0)
        mask = np.int64(0)
        wrong = np.int64(0)
        for j in range(num_cards):
            card = cards[i, j]
            wrong |= mask & card_mask[card]
            mask |= card_mask[card]
            key += card_key[card]
        if wrong | (mask & NO_CARD) != 0:
            return i
        keys[i] = key
        masks[i] = mask
    return NO_ROW


@kernel()
def strengths_on_board(
    board_key,  # IN   int64     EMPTY_KEY plus the keys of the board's cards
    board_mask,  # IN   int64
    hand_keys,  # IN   int64[H]  from `pack_rows`
    hand_masks,  # IN   int64[H]
    tables,  # IN   EvaluatorTables
    strengths,  # OUT  int32[H]  BLOCKED where hand and board share a card
):
    """Evaluate many hands on one board."""
    for h in range(hand_keys.shape[0]):
        if hand_masks[h] & board_mask != 0:
            strengths[h] = BLOCKED
        else:
            strengths[h] = strength_of(board_key + hand_keys[h], board_mask | hand_masks[h], tables)


@kernel()
def three_card_strength(
    a,  # IN  three different cards, in any order
    b,
    c,
):
    """Return the strength of one hand of Rhode Island hold'em, its category above CATEGORY_SHIFT."""
    x, y, z = np.int32(a >> 2), np.int32(b >> 2), np.int32(c >> 2)
    low = min(x, y, z)
    high = max(x, y, z)
    middle = x + y + z - low - high
    flush = (a & 3) == (b & 3) and (b & 3) == (c & 3)
    if low == high:
        return np.int32(4 << CATEGORY_SHIFT | high)
    if low == middle or middle == high:
        kicker = low + high - middle
        return np.int32(1 << CATEGORY_SHIFT | middle * 13 + kicker)
    wheel = high == 12 and middle == 1 and low == 0
    if wheel or (high == middle + 1 and middle == low + 1):
        category = 5 if flush else 3
        return np.int32(category << CATEGORY_SHIFT | (1 if wheel else high))
    category = 2 if flush else 0
    return np.int32(category << CATEGORY_SHIFT | (high * 13 + middle) * 13 + low)


@kernel()
def evaluate_three_card_rows(
    cards,  # IN   uint8[N, 3]
    strengths,  # OUT  int32[N]
):
    """Evaluate every row; return NO_ROW, or the first row with a number above 51 or a card twice."""
    for i in range(cards.shape[0]):
        a, b, c = cards[i, 0], cards[i, 1], cards[i, 2]
        if max(a, b, c) > 51 or a in (b, c) or b == c:
            return i
        strengths[i] = three_card_strength(a, b, c)
    return NO_ROW
