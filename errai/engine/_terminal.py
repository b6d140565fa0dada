"""Kernels of terminal values: folds and showdowns for all cells of a board in one sweep.

Sixteen leaves of one board go side by side (lanes), because the work of finding hands and cards is the
same for all of them. Leaves that follow the same action of the opponent share its reach, so a fold
and a showdown may share a lane.

With reach sums over the opponent's hands, S over all of them and S[c] over those that hold card c, the
hands that share no card with {a, b} sum to S - S[a] - S[b], plus the hand {a, b} itself, which
was subtracted twice. At a showdown the sums run over the hands met so far in order of strength: those
before a strength are weaker, those up to it not stronger. Cards that the board's symmetry maps onto
each other have equal sums, so one card of each such class stands for all of them.

In plain poker a showdown for x chips is worth x (weaker + not stronger - all). Where winning, tying and
losing have values of their own (rake, tilts), it is worth

    (win - tie) weaker + (tie - lose) not stronger + lose all,

and the own hand is missing once in the last two sums, so it adds tie times its reach.

Johanson, Waugh, Bowling and Zinkevich, "Accelerating Best Response Calculation in Large Extensive Games",
2011; the lanes and the symmetry of cards are additions.
"""

import numpy as np

from errai.engine._lanes import (
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
from errai.kernels import kernel

U = np.uint64

NUM_SUMS = 54
"""Card sums 0 to 51, 52 for the missing second card (always zero), 53 for all hands."""

SUMS_SIZE = (NUM_SUMS + 5) * LANES
"""With the chips of the leaves behind them."""

ROW, SHOWDOWN_NODE, FOLD_NODE = range(3)
"""Columns of `WalkPlan.leaves`."""

WON, WON_BY_FOLD, TIED, LOST = range(4)
"""Columns of `WalkPlan.leaf_chips`."""

BELOW, UP_TO, TIED_UP_TO, TWIN = (U(column) for column in range(4))
"""Columns of `CellArrays.order`."""

_WIDE = U(LANES)
_ALL = U(53 * LANES)
_SHOWDOWN_CHIPS = U(NUM_SUMS * LANES)
"""What winning is worth; where a showdown has three values, what losing is."""
_FOLD_CHIPS = U((NUM_SUMS + 1) * LANES)
_WIN_LESS_TIE = U((NUM_SUMS + 2) * LANES)
_TIE_LESS_LOSE = U((NUM_SUMS + 3) * LANES)
_TIE_CHIPS = U((NUM_SUMS + 4) * LANES)


def _make_sweep(weighted):
    """Return the kernel that sums reach, with weights or without: a flag would slow plain poker down."""

    @kernel()
    def sweep(
        reach,  # IN   float[opponent cells, LANES]  flat
        first_own,  # IN   uint64  first of the board's own cells
        num_own,  # IN   uint64
        first_other,  # IN   uint64  first of the board's opponent cells
        num_other,  # IN   uint64
        card,  # IN   uint8[C, 2]
        count,  # IN   uint8[C, 3]  hands with the first card, with the second, all
        order,  # IN   int32[C, 4]
        with_showdowns,  # IN   bool
        sums,  # INOUT float[SUMS_SIZE]  card sums zero before, totals after; then chips
        out,  # INOUT float[own cells, LANES]  flat; to add reach of weaker and of not stronger hands
    ):
        """Sum the opponent's reach in order of strength; at showdowns note the sums at each own cell twice.

        A cell is noted when all weaker hands are met, and again when all hands as strong are. The second
        time of one strength is mostly the first of the next, so both share a loop: short loops of irregular
        length are what this sweep costs. With weights, a cell's first sum counts (win - tie) times and its
        second one (tie - lose) times.
        """
        everything = load(sums, _ALL)
        met = U(0)
        done = U(0)  # own cells noted twice
        noted = U(0) if with_showdowns else num_own  # own cells noted at least once
        while True:
            if not with_showdowns or done == num_own:
                target = num_other
            else:
                target = U(
                    order[first_own + done, UP_TO] if done < noted else order[first_own + noted, BELOW]
                )
            for j in range(met, target):
                cell = first_other + j
                x = load(reach, j * _WIDE)
                everything = add(everything, multiply(spread(count[cell, U(2)], x), x))
                a = U(card[cell, U(0)]) * _WIDE
                store(sums, a, add(load(sums, a), multiply(spread(count[cell, U(0)], x), x)))
                b = U(card[cell, U(1)]) * _WIDE
                store(sums, b, add(load(sums, b), multiply(spread(count[cell, U(1)], x), x)))
            met = target
            if not with_showdowns or done == num_own:
                break
            end = noted
            if noted < num_own and U(order[first_own + noted, BELOW]) == met:
                end = U(order[first_own + noted, TIED_UP_TO])
            for i in range(done, end):
                a = load(sums, U(card[first_own + i, U(0)]) * _WIDE)
                b = load(sums, U(card[first_own + i, U(1)]) * _WIDE)
                noting = subtract(subtract(everything, a), b)
                if weighted:
                    noting = multiply(load(sums, _TIE_LESS_LOSE if i < noted else _WIN_LESS_TIE), noting)
                k = i * _WIDE
                store(out, k, add(load(out, k), noting))
            done = noted
            noted = end
        store(sums, _ALL, everything)

    return sweep


_sweep = _make_sweep(weighted=False)
_weighted_sweep = _make_sweep(weighted=True)


@kernel()
def _add_losses(
    num_own,  # IN   uint64
    first_own,  # IN   uint64
    card,  # IN   uint8[C, 2]
    order,  # IN   int32[C, 4]
    reach,  # IN   float[opponent cells, LANES]  flat
    no_twin,  # IN   uint64  where `reach` is zero
    sums,  # IN   float[SUMS_SIZE]  totals and chips
    out,  # INOUT float[own cells, LANES]  flat; weighted sums of weaker and of not stronger hands
):
    """Complete showdowns of three values with what does not depend on the order of strength."""
    everything = load(sums, _ALL)
    lose, tie = load(sums, _SHOWDOWN_CHIPS), load(sums, _TIE_CHIPS)
    for i in range(num_own):
        k = i * _WIDE
        a = load(sums, U(card[first_own + i, U(0)]) * _WIDE)
        b = load(sums, U(card[first_own + i, U(1)]) * _WIDE)
        same = order[first_own + i, TWIN]
        again = load(reach, U(same) * _WIDE if same >= 0 else no_twin)
        lost = multiply(lose, subtract(subtract(everything, a), b))
        store(out, k, add(load(out, k), add(lost, multiply(tie, again))))


@kernel()
def _is_nothing(
    reach,  # IN   float[...]
    begin,  # IN   uint64
    num_cells,  # IN   uint64
):
    """Return whether a row of reach is zero everywhere: then so are the values of its leaves."""
    c = U(0)
    while c < num_cells and reach[begin + c] == 0:
        c += U(1)
    return c == num_cells


@kernel()
def value_leaves(
    leaves,  # IN   int32[L, 3]  reach row of the opponent, showdown node, fold node (-1 for none)
    chips,  # IN   float64[L, 2 or 4]  for winning the showdown, at the fold; for a tie, for losing
    first_showdown,  # IN   int64  leaves with showdowns
    last_showdown,  # IN   int64
    first_fold,  # IN   int64  leaves with folds alone
    last_fold,  # IN   int64
    skips,  # IN   bool  whether to look for reach rows that are zero; a learner's hardly ever are
    row_base,  # IN   int64  first reach row of the opponent in the block
    node_base,  # IN   int64  first node of the block
    first_own,  # IN   uint64
    num_own,  # IN   uint64
    first_other,  # IN   uint64
    num_other,  # IN   uint64
    card,  # IN   uint8[C, 2]
    count,  # IN   uint8[C, 3]
    order,  # IN   int32[C, 4]
    used_cards,  # IN   uint8[...]  cards that occur, 52 included
    reach,  # IN   float[...]
    reach_begin,  # IN   int64  the opponent's reach rows of the round
    width,  # IN   int64  distance of rows, a multiple of TILE
    waste,  # IN   int64  a row of `value` that nobody reads
    value_begin,  # IN   int64
    lanes,  # TMP  float[3, max width + 1, LANES]  flat; the last row of the first is zero
    sums,  # TMP  float[SUMS_SIZE]
    offsets,  # TMP  uint64[3, LANES]
    value,  # OUT  float[...]  rows of the leaves
):
    """Fill the value rows of leaves, `LANES` reach rows at a time."""
    size = U(len(lanes) // 3)
    reach_in, out, fold_out = lanes[:size], lanes[size : U(2) * size], lanes[U(2) * size :]
    no_twin = size - _WIDE
    row_offsets, showdown_offsets, fold_offsets = offsets[0], offsets[1], offsets[2]
    num_showdowns = last_showdown - first_showdown
    num_leaves = num_showdowns + last_fold - first_fold
    weighted = chips.shape[1] > 2
    place = 0
    while place < num_leaves:
        with_showdowns = False
        with_folds = False
        used = 0
        while used < LANES and place < num_leaves:
            leaf = first_showdown + place if place < num_showdowns else first_fold + place - num_showdowns
            place += 1
            showdown, fold = leaves[leaf, SHOWDOWN_NODE], leaves[leaf, FOLD_NODE]
            row_offsets[used] = reach_begin + (leaves[leaf, ROW] - row_base) * width
            showdown_offsets[used] = waste if showdown < 0 else value_begin + (showdown - node_base) * width
            fold_offsets[used] = waste if fold < 0 else value_begin + (fold - node_base) * width
            if skips and _is_nothing(reach, row_offsets[used], num_other):
                for i in range(num_own):
                    value[showdown_offsets[used] + i] = 0
                    value[fold_offsets[used] + i] = 0
                continue
            with_showdowns |= showdown >= 0
            with_folds |= fold >= 0
            t = U(used)
            sums[_FOLD_CHIPS + t] = chips[leaf, WON_BY_FOLD]
            if weighted:
                win, tie, lose = chips[leaf, WON], chips[leaf, TIED], chips[leaf, LOST]
                sums[_SHOWDOWN_CHIPS + t] = lose
                sums[_WIN_LESS_TIE + t] = win - tie
                sums[_TIE_LESS_LOSE + t] = tie - lose
                sums[_TIE_CHIPS + t] = tie
            else:
                sums[_SHOWDOWN_CHIPS + t] = chips[leaf, WON]
            used += 1
        if used == 0:
            break
        for t in range(used, LANES):  # an unused lane reads what the first one reads and writes to the waste
            row_offsets[t] = row_offsets[0]
            showdown_offsets[t] = waste
            fold_offsets[t] = waste
        for c in range(U(0), num_other, U(TILE)):
            rows_to_lanes(reach, row_offsets, c, reach_in, c * _WIDE)
        nothing = spread(0, load(sums, _ALL))
        store(sums, _ALL, nothing)
        for k in range(U(len(used_cards))):
            store(sums, U(used_cards[k]) * _WIDE, nothing)
        if with_showdowns:
            for i in range(num_own):
                store(out, i * _WIDE, nothing)
        if weighted:
            _weighted_sweep(
                reach_in,
                first_own,
                num_own,
                first_other,
                num_other,
                card,
                count,
                order,
                with_showdowns,
                sums,
                out,
            )
        else:
            _sweep(
                reach_in,
                first_own,
                num_own,
                first_other,
                num_other,
                card,
                count,
                order,
                with_showdowns,
                sums,
                out,
            )
        everything = load(sums, _ALL)
        showdown_chips, fold_chips = load(sums, _SHOWDOWN_CHIPS), load(sums, _FOLD_CHIPS)
        plain_showdowns = with_showdowns and not weighted
        for i in range(num_own):
            k = i * _WIDE
            a = load(sums, U(card[first_own + i, U(0)]) * _WIDE)
            b = load(sums, U(card[first_own + i, U(1)]) * _WIDE)
            free = subtract(subtract(everything, a), b)
            if plain_showdowns:
                # Weaker, plus not stronger, less all: the own hand, twice counted and subtracted, cancels.
                store(out, k, multiply(showdown_chips, subtract(load(out, k), free)))
            if with_folds:
                same = order[first_own + i, TWIN]
                again = load(reach_in, U(same) * _WIDE if same >= 0 else no_twin)
                store(fold_out, k, multiply(fold_chips, add(free, again)))
        if with_showdowns and weighted:
            _add_losses(num_own, first_own, card, order, reach_in, no_twin, sums, out)
        if with_showdowns:
            for c in range(U(0), num_own, U(TILE)):
                lanes_to_rows(out, c * _WIDE, value, showdown_offsets, c)
        if with_folds:
            for c in range(U(0), num_own, U(TILE)):
                lanes_to_rows(fold_out, c * _WIDE, value, fold_offsets, c)
