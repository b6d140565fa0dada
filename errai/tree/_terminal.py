"""Kernels of terminal values: folds and showdowns for all cells of a board in one sweep.

Sixteen leaves of one board go side by side (lanes), because the work of finding hands and cards is the
same for all of them. Leaves that follow the same action of the opponent share its reach, so a fold
and a showdown may share a lane.

With reach sums over the opponent's hands, S over all of them and S[c] over those that hold card c, the
hands that share no card with {a, b} sum to S - S[a] - S[b], plus the hand {a, b} itself, which
was subtracted twice. At a showdown the sums run over the hands met so far in order of strength: those
before a strength are weaker, those up to it not stronger. Cards that the board's symmetry maps onto
each other have equal sums, so one card of each such class stands for all of them.

Johanson, Waugh, Bowling and Zinkevich, "Accelerating Best Response Calculation in Large Extensive Games",
2011; the lanes and the symmetry of cards are additions.
"""

import numpy as np

from errai.kernels import kernel
from errai.tree._lanes import (
    LANES,
    TILE,
    add,
    lanes_to_rows,
    load,
    multiply,
    rows_to_lanes,
    spread,
    store,
    subtract,
)

U = np.uint64

NUM_SUMS = 54
"""Card sums 0 to 51, 52 for the missing second card (always zero), 53 for all hands."""

ROW = 0
SHOWDOWN_NODE = 1
FOLD_NODE = 2

_WIDE = U(LANES)
_ALL = U(53 * LANES)


@kernel()
def _add_cells(
    reach,  # IN   float[cells, LANES]  flat
    first,  # IN   uint64  cells of the opponent to add, counted from the board's first
    last,  # IN   uint64
    first_cell,  # IN   uint64  the board's first cell among all
    hands,  # IN   float32[C]
    card,  # IN   uint8[C, 2]
    card_count,  # IN   uint8[C, 2]
    sums,  # INOUT float[NUM_SUMS, LANES]  flat
):
    """Add cells of the opponent to the sums."""
    everything = load(sums, _ALL)
    for j in range(first, last):
        cell = first_cell + j
        x = load(reach, j * _WIDE)
        everything = add(everything, multiply(spread(hands[cell], x), x))
        a = U(card[cell, U(0)]) * _WIDE
        store(sums, a, add(load(sums, a), multiply(spread(card_count[cell, U(0)], x), x)))
        b = U(card[cell, U(1)]) * _WIDE
        store(sums, b, add(load(sums, b), multiply(spread(card_count[cell, U(1)], x), x)))
    store(sums, _ALL, everything)


@kernel()
def _sweep(
    reach,  # IN   float[opponent cells, LANES]  flat
    first_own,  # IN   uint64  first of the board's own cells
    num_own,  # IN   uint64
    first_other,  # IN   uint64  first of the board's opponent cells
    num_other,  # IN   uint64
    hands,  # IN   float32[C]
    card,  # IN   uint8[C, 2]
    card_count,  # IN   uint8[C, 2]
    below,  # IN   int32[C]
    up_to,  # IN   int32[C]
    with_showdowns,  # IN   bool
    sums,  # INOUT float[NUM_SUMS, LANES]  flat, zero before, totals after
    out,  # OUT  float[own cells, LANES]  flat; reach of weaker plus reach of not stronger hands
):
    """Sum the opponent's reach in order of strength; at showdowns note the sums at each own cell."""
    met = U(0)
    cell = U(0)
    while with_showdowns and cell < num_own:
        end_met = U(up_to[first_own + cell])
        weaker = U(below[first_own + cell])
        end = cell + U(1)
        # Both must agree: where the opponent ties with one own strength and has nothing before the next,
        # the two share `up_to` but not `below`.
        while end < num_own and U(up_to[first_own + end]) == end_met and U(below[first_own + end]) == weaker:
            end += U(1)
        _add_cells(reach, met, weaker, first_other, hands, card, card_count, sums)
        everything = load(sums, _ALL)
        for i in range(cell, end):
            a = load(sums, U(card[first_own + i, U(0)]) * _WIDE)
            b = load(sums, U(card[first_own + i, U(1)]) * _WIDE)
            store(out, i * _WIDE, subtract(subtract(everything, a), b))
        _add_cells(reach, weaker, end_met, first_other, hands, card, card_count, sums)
        everything = load(sums, _ALL)
        for i in range(cell, end):
            a = load(sums, U(card[first_own + i, U(0)]) * _WIDE)
            b = load(sums, U(card[first_own + i, U(1)]) * _WIDE)
            store(out, i * _WIDE, add(load(out, i * _WIDE), subtract(subtract(everything, a), b)))
        met = end_met
        cell = end
    _add_cells(reach, met, num_other, first_other, hands, card, card_count, sums)


@kernel()
def value_leaves(
    leaves,  # IN   int32[L, 3]  reach row of the opponent, showdown node, fold node (-1 for none)
    chips,  # IN   float64[L, 2]  what the player wins at the showdown, and at the fold
    first_leaf,  # IN   int64
    last_leaf,  # IN   int64
    with_showdowns,  # IN   bool
    row_base,  # IN   int64  first reach row of the opponent in the block
    node_base,  # IN   int64  first node of the block
    first_own,  # IN   uint64
    num_own,  # IN   uint64
    first_other,  # IN   uint64
    num_other,  # IN   uint64
    hands,  # IN   float32[C]
    card,  # IN   uint8[C, 2]
    card_count,  # IN   uint8[C, 2]
    below,  # IN   int32[C]
    up_to,  # IN   int32[C]
    twin,  # IN   int32[C]
    used_cards,  # IN   uint8[...]  cards that occur, 52 included
    reach,  # IN   float[...]
    reach_begin,  # IN   int64  the opponent's reach rows of the round
    width,  # IN   int64  distance of rows, a multiple of TILE
    waste,  # IN   int64  a row of `value` that nobody reads
    value_begin,  # IN   int64
    lanes,  # TMP  float[3, max width, LANES]  flat
    sums,  # TMP  float[NUM_SUMS, LANES]  flat
    offsets,  # TMP  uint64[3, LANES]
    lane_chips,  # TMP  float[2, LANES]  flat
    value,  # OUT  float[...]  rows of the leaves
):
    """Fill the value rows of leaves, `LANES` reach rows at a time."""
    size = U(len(lanes) // 3)
    reach_in, out, fold_out = lanes[:size], lanes[size : U(2) * size], lanes[U(2) * size :]
    row_offsets, showdown_offsets, fold_offsets = offsets[0], offsets[1], offsets[2]
    for batch in range(first_leaf, last_leaf, LANES):
        any_fold = False
        for t in range(LANES):
            leaf = batch + t
            if leaf >= last_leaf:  # an unused lane reads what the first one reads and writes to the waste
                row_offsets[t] = row_offsets[0]
                showdown_offsets[t] = waste
                fold_offsets[t] = waste
                continue
            row_offsets[t] = reach_begin + (leaves[leaf, ROW] - row_base) * width
            showdown, fold = leaves[leaf, SHOWDOWN_NODE], leaves[leaf, FOLD_NODE]
            showdown_offsets[t] = waste if showdown < 0 else value_begin + (showdown - node_base) * width
            fold_offsets[t] = waste if fold < 0 else value_begin + (fold - node_base) * width
            any_fold |= fold >= 0
            lane_chips[t] = chips[leaf, 0]
            lane_chips[LANES + t] = chips[leaf, 1]
        for c in range(U(0), num_other, U(TILE)):
            rows_to_lanes(reach, row_offsets, c, reach_in, c * _WIDE)
        nothing = spread(0, load(sums, _ALL))
        store(sums, _ALL, nothing)
        for k in range(U(len(used_cards))):
            store(sums, U(used_cards[k]) * _WIDE, nothing)
        _sweep(
            reach_in,
            first_own,
            num_own,
            first_other,
            num_other,
            hands,
            card,
            card_count,
            below,
            up_to,
            with_showdowns,
            sums,
            out,
        )
        everything = load(sums, _ALL)
        showdown_chips = load(lane_chips, U(0))
        fold_chips = load(lane_chips, _WIDE)
        for i in range(num_own):
            k = i * _WIDE
            a = load(sums, U(card[first_own + i, U(0)]) * _WIDE)
            b = load(sums, U(card[first_own + i, U(1)]) * _WIDE)
            free = subtract(subtract(everything, a), b)
            if with_showdowns:
                # Weaker, plus not stronger, less all: the own hand, twice counted and subtracted, cancels.
                store(out, k, multiply(showdown_chips, subtract(load(out, k), free)))
            if any_fold:
                if twin[first_own + i] >= 0:
                    free = add(free, load(reach_in, U(twin[first_own + i]) * _WIDE))
                store(fold_out, k, multiply(fold_chips, free))
        if with_showdowns:
            for c in range(U(0), num_own, U(TILE)):
                lanes_to_rows(out, c * _WIDE, value, showdown_offsets, c)
        if any_fold:
            for c in range(U(0), num_own, U(TILE)):
                lanes_to_rows(fold_out, c * _WIDE, value, fold_offsets, c)
