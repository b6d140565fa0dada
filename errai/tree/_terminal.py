"""Kernels of terminal values: folds and showdowns for all cells of a board in one sweep.

Sixteen leaves of one board go side by side (lanes), because the work of finding hands and cards is the
same for all of them and the compiler turns the lanes into vector instructions.

With reach sums over the opponent's hands, S over all of them and S[c] over those that hold card c, the
hands that share no card with {a, b} sum to S - S[a] - S[b], plus the hand {a, b} itself, which
was subtracted twice. At a showdown the sums run over the hands met so far in order of strength: those
before a strength are weaker, those up to it not stronger.
"""

import numpy as np

from errai.kernels import kernel

U = np.uint64

LANES = 16
NUM_SUMS = 55
"""Card sums 0 to 51, 52 for the missing second card (never added to), 53 as its waste bin, 54 for all."""

_MISSING = U(52)
_ALL = U(54 * LANES)


@kernel()
def _add_cell(
    reach,  # IN   float[cells, LANES]  flat
    cell,  # IN   uint64  which row of reach
    hand_begin,  # IN   int32[C + 1]
    hand_card,  # IN   uint8[H, 2]
    global_cell,  # IN   int64  which of all cells
    sums,  # OUT  float[NUM_SUMS, LANES]  flat
):
    """Add the hands of one cell of the opponent to the sums."""
    source = cell * U(LANES)
    first, last = hand_begin[global_cell], hand_begin[global_cell + 1]
    number = last - first
    for t in range(U(LANES)):
        sums[_ALL + t] += reach[source + t] * number
    for hand in range(first, last):
        a = U(hand_card[hand, 0]) * U(LANES)
        second = U(hand_card[hand, 1])
        if second == _MISSING:
            second += U(1)
        b = second * U(LANES)
        for t in range(U(LANES)):
            x = reach[source + t]
            sums[a + t] += x
            sums[b + t] += x


@kernel()
def showdown_values(
    reach,  # IN   float[opponent cells, LANES]  flat
    first_own,  # IN   int64  first of the board's own cells
    num_own,  # IN   int64
    own_hand_begin,  # IN   int32[C + 1]
    own_hand_card,  # IN   uint8[H, 2]
    below,  # IN   int32[C]
    up_to,  # IN   int32[C]
    first_opponent,  # IN   int64  first of the board's opponent cells
    num_opponent,  # IN   int64
    opponent_hand_begin,  # IN   int32[C + 1]
    opponent_hand_card,  # IN   uint8[H, 2]
    sums,  # TMP  float[NUM_SUMS, LANES]  flat
    value,  # OUT  float[own cells, LANES]  flat
):
    """Reach of the hands that a cell beats less that of the hands it loses to, in every lane."""
    for k in range(U(NUM_SUMS * LANES)):
        sums[k] = 0
    met = 0
    cell = 0
    while cell < num_own:
        end = cell + 1
        while end < num_own and up_to[first_own + end] == up_to[first_own + cell]:
            end += 1
        while met < below[first_own + cell]:
            _add_cell(reach, U(met), opponent_hand_begin, opponent_hand_card, first_opponent + met, sums)
            met += 1
        for i in range(cell, end):
            hand = own_hand_begin[first_own + i]
            a = U(own_hand_card[hand, 0]) * U(LANES)
            b = U(own_hand_card[hand, 1]) * U(LANES)
            k = U(i) * U(LANES)
            for t in range(U(LANES)):
                value[k + t] = sums[_ALL + t] - sums[a + t] - sums[b + t]
        while met < up_to[first_own + cell]:
            _add_cell(reach, U(met), opponent_hand_begin, opponent_hand_card, first_opponent + met, sums)
            met += 1
        for i in range(cell, end):
            hand = own_hand_begin[first_own + i]
            a = U(own_hand_card[hand, 0]) * U(LANES)
            b = U(own_hand_card[hand, 1]) * U(LANES)
            k = U(i) * U(LANES)
            for t in range(U(LANES)):
                value[k + t] += sums[_ALL + t] - sums[a + t] - sums[b + t]
        cell = end
    while met < num_opponent:
        _add_cell(reach, U(met), opponent_hand_begin, opponent_hand_card, first_opponent + met, sums)
        met += 1
    # Weaker, plus not stronger, less all: the own hand, counted twice and twice subtracted, cancels.
    for i in range(num_own):
        hand = own_hand_begin[first_own + i]
        a = U(own_hand_card[hand, 0]) * U(LANES)
        b = U(own_hand_card[hand, 1]) * U(LANES)
        k = U(i) * U(LANES)
        for t in range(U(LANES)):
            value[k + t] -= sums[_ALL + t] - sums[a + t] - sums[b + t]


@kernel()
def fold_values(
    reach,  # IN   float[opponent cells, LANES]  flat
    first_own,  # IN   int64
    num_own,  # IN   int64
    own_hand_begin,  # IN   int32[C + 1]
    own_hand_card,  # IN   uint8[H, 2]
    twin,  # IN   int32[C]
    first_opponent,  # IN   int64
    num_opponent,  # IN   int64
    opponent_hand_begin,  # IN   int32[C + 1]
    opponent_hand_card,  # IN   uint8[H, 2]
    sums,  # TMP  float[NUM_SUMS, LANES]  flat
    value,  # OUT  float[own cells, LANES]  flat
):
    """Reach of the opponent's hands that share no card with a cell, in every lane."""
    for k in range(U(NUM_SUMS * LANES)):
        sums[k] = 0
    for j in range(num_opponent):
        _add_cell(reach, U(j), opponent_hand_begin, opponent_hand_card, first_opponent + j, sums)
    for i in range(num_own):
        hand = own_hand_begin[first_own + i]
        a = U(own_hand_card[hand, 0]) * U(LANES)
        b = U(own_hand_card[hand, 1]) * U(LANES)
        k = U(i) * U(LANES)
        for t in range(U(LANES)):
            value[k + t] = sums[_ALL + t] - sums[a + t] - sums[b + t]
        if twin[first_own + i] >= 0:
            same = U(twin[first_own + i]) * U(LANES)
            for t in range(U(LANES)):
                value[k + t] += reach[same + t]
