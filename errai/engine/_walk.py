"""The kernel that walks part of a public tree, depth first over rounds and boards.

It starts at some entries of a round and some of its boards, with the reach of both players' hands given, and
stops at a round boundary, where the values of the walked player's hands are given, or at the end of the
game. Everything between goes block by block (`_blocks.py`).

Two stages: REACH takes reach down and hands out what arrives at the stop; VALUES does it again with values
given at the stop, and brings values back. A walk that goes to the end of the game needs the second alone.

How what is given and handed out lies in memory is said in `_edges.py`.
"""

import numpy as np

from errai.engine._blocks import (
    ENTRY_DECISION,
    ENTRY_LEAF,
    ENTRY_NEXT,
    ENTRY_NODE,
    ENTRY_PARENT,
    ENTRY_ROW,
    ENTRY_SLOT,
    LEARN,
    PLAY,
    add_deals,
    deal_reach,
    mark_live,
    pull_values,
    push_reach,
    spread_rule,
)
from errai.engine._buckets import gather_rows, scatter_rows
from errai.engine._challenge import value_challenges
from errai.engine._edges import end_values, hand_out, mark_given, start_reach, take_values
from errai.engine._terminal import value_leaves
from errai.kernels import kernel

U = np.uint64

WIDTH, AT_ONCE, VALUES_BEGIN, DEALS, WASTE, REACH_BEGIN, FIRST_SLOT = 0, 1, 2, 3, 4, 5, 7
BOARD, LAST_BOARD, FIRST_ENTRY, LAST_ENTRY, ENTRY, BLOCK_END = range(9, 15)
"""Columns of `Buffers.frame`; reach and slots have one for each player."""

CELLS, BUCKETS, ONE = 0, 1, 2
"""Rows of a table in a round: the cells themselves, buckets of them, or one for all."""

REACH = 0
VALUES = 1

TO_THE_END, UNDEALT, DEALT = 0, 1, 2
"""Where a walk stops: nowhere, before the cards of the next round are dealt, or after."""


@kernel()
def walk(
    stage,  # IN   int64  REACH or VALUES
    first_player,  # IN   int64
    last_player,  # IN   int64  players from first to last - 1 are walked in turn
    modes,  # IN   uint8[2, R]  what each player does in each round when it is walked
    with_own,  # IN   bool  whether the walked player's own reach is needed
    steps,  # IN   float64[iterations, 2, 5]  the update rule's factors
    scales,  # IN   float64[2]  for each walked player, a factor of the opponent's reach at the start
    top,  # IN   int64  the round to start with, counted from the first of `cells`
    first_entry,  # IN   int64  entries of that round
    last_entry,  # IN   int64
    bounds,  # IN   int64[S + 1]  boards of that round, in shares whose sums are kept apart
    root_dealt,  # IN   bool  whether reach is given for the cells of these boards, or of their parent
    root_board,  # IN   int64  if dealt: the first board of what is given
    root_entry,  # IN   int64  the first entry of what is given
    root_entries,  # IN   int64  entries of what is given
    above_width,  # IN   int64[2]  if not dealt: each player's cells at the parent
    stop,  # IN   int64  rounds from this one on are not walked
    stops,  # IN   int64  TO_THE_END, UNDEALT or DEALT
    given_board,  # IN   int64  the first board of what is given at the stop
    given_entry,  # IN   int64
    given_entries,  # IN   int64
    plan,  # IN   WalkPlan
    children,  # IN   int64[B, 2]  first and last of the boards that follow each board
    cells,  # IN   CellArrays
    tables,  # INOUT Tables
    above,  # IN   [player] float[...]  reach at the start
    given_reach,  # OUT  [player] float[...]  reach at the stop, in stage REACH
    given_values,  # IN   [player] float[...]  values at the stop, in stage VALUES
    buffers,  # INOUT Buffers
    out,  # OUT  [player] float[...]  values at the start, in stage VALUES; [share, entry, cell] if not dealt,
    # else zero before, since what the opponent never reaches is left alone
):
    """Walk for each iteration and player.

    The walk is a loop with a stack of one frame a round: board, last board, first entry, last entry, and
    the current block. A frame's block goes down, then the boards that follow are walked as a new frame, then
    the block comes up and adds its values to the frame above.
    """
    entries, decisions = plan.entries, plan.decisions
    reach, value, deal, frame = buffers.reach, buffers.value, buffers.deal, buffers.frame
    lanes, slots, live = buffers.lanes, buffers.slots, buffers.live
    cell_begin = cells.begin
    for walked in range(len(steps) * (last_player - first_player)):
        player = first_player + walked % (last_player - first_player)
        step = steps[walked // (last_player - first_player), player]
        opponent = 1 - player
        if stage == VALUES and not root_dealt:
            for k in range(U(len(out[player]))):
                out[player][k] = 0
        for share in range(len(bounds) - 1):
            level = top
            descending = True
            for entry in range(first_entry, last_entry):
                live[entry] = 1
            root = frame[top]
            root[BOARD], root[LAST_BOARD] = bounds[share], bounds[share + 1]
            root[FIRST_ENTRY], root[LAST_ENTRY], root[ENTRY] = first_entry, last_entry, first_entry
            while frame[top, BOARD] < frame[top, LAST_BOARD]:
                here = frame[level]
                board, width, value_begin = here[BOARD], here[WIDTH], here[VALUES_BEGIN]
                if level == top and descending and not with_own and here[ENTRY] == first_entry:
                    num_other = U(cell_begin[opponent, board + 1] - cell_begin[opponent, board])
                    before = cell_begin[opponent, board] - cell_begin[opponent, root_board]
                    here[ENTRY] = mark_given(
                        first_entry,
                        last_entry,
                        before * root_entries if root_dealt else 0,
                        np.int64(num_other) if root_dealt else above_width[opponent],
                        root_entry,
                        num_other if root_dealt else U(above_width[opponent]),
                        above[opponent],
                        live,
                    )
                    if here[ENTRY] == last_entry:
                        here[ENTRY] = first_entry
                        here[BOARD] += 1
                        continue
                if descending:
                    end = here[ENTRY] + 1
                    most = min(here[ENTRY] + here[AT_ONCE], here[LAST_ENTRY])
                    while end < most and live[end] == 1:
                        end += 1
                    here[BLOCK_END] = end
                first, last = entries[here[ENTRY]], entries[here[BLOCK_END]]
                first_own = U(cell_begin[player, board])
                num_own = U(cell_begin[player, board + 1]) - first_own
                has_next = last[ENTRY_NEXT] > first[ENTRY_NEXT]
                if descending:
                    for q in range(2):
                        if q == player and not with_own:
                            continue
                        first_cell = U(cell_begin[q, board])
                        num_cells = U(cell_begin[q, board + 1]) - first_cell
                        if level > top:
                            deal_reach(
                                entries,
                                here[ENTRY],
                                here[BLOCK_END],
                                q,
                                entries[frame[level - 1, ENTRY], ENTRY_ROW + q],
                                frame[level - 1, REACH_BEGIN + q],
                                frame[level - 1, WIDTH],
                                reach,
                                cells.parent,
                                first_cell,
                                num_cells,
                                here[REACH_BEGIN + q],
                                width,
                                reach,
                            )
                        else:
                            start_reach(
                                entries,
                                here[ENTRY],
                                here[BLOCK_END],
                                q,
                                (cell_begin[q, board] - cell_begin[q, root_board]) * root_entries
                                if root_dealt
                                else 0,
                                np.int64(num_cells) if root_dealt else above_width[q],
                                root_entry,
                                root_dealt,
                                cells.parent,
                                first_cell,
                                num_cells,
                                reach.dtype.type(scales[player] if q != player else 1.0),
                                above[q],
                                here[REACH_BEGIN + q],
                                width,
                                reach,
                            )
                        slot_base = first[ENTRY_SLOT + q] - here[FIRST_SLOT + q]
                        num_slots = last[ENTRY_SLOT + q] - first[ENTRY_SLOT + q]
                        begin, stride = tables.begin[q, board], tables.stride[q, board]
                        source_table = tables.source[q]
                        if tables.row_kind[q, level] == BUCKETS:
                            gather_rows(
                                tables.bucket[q],
                                first_cell - U(cell_begin[q, 0]),
                                num_cells,
                                begin + slot_base,
                                stride,
                                num_slots,
                                source_table,
                                width,
                                slots[0],
                            )
                        elif tables.row_kind[q, level] == ONE:
                            spread_rule(
                                num_cells, num_slots, begin + slot_base, source_table, width, slots[0]
                            )
                        if tables.row_kind[q, level] == CELLS:
                            begin += slot_base * stride
                        else:
                            source_table, begin, stride = slots[0], 0, width
                        push_reach(
                            decisions,
                            first[ENTRY_DECISION],
                            last[ENTRY_DECISION],
                            q,
                            first[ENTRY_ROW + q],
                            slot_base,
                            source_table,
                            begin,
                            stride,
                            num_cells,
                            lanes,
                            here[REACH_BEGIN + q],
                            width,
                            reach,
                        )
                    first_other = U(cell_begin[opponent, board])
                    num_other = U(cell_begin[opponent, board + 1]) - first_other
                    if stage == VALUES and len(cells.matches) > 0:
                        value_challenges(
                            plan.leaves,
                            plan.leaf_chips,
                            first[ENTRY_LEAF + 2 * player],
                            last[ENTRY_LEAF + 2 * player],
                            first[ENTRY_ROW + opponent],
                            first[ENTRY_NODE],
                            first_own,
                            num_own,
                            first_other,
                            num_other,
                            cells.matches,
                            reach,
                            here[REACH_BEGIN + opponent],
                            width,
                            value_begin,
                            buffers.lane_sums,
                            value,
                        )
                    elif stage == VALUES:
                        value_leaves(
                            plan.leaves,
                            plan.leaf_chips,
                            first[ENTRY_LEAF + 2 * player],
                            last[ENTRY_LEAF + 2 * player],
                            first[ENTRY_LEAF + 2 * player + 1],
                            last[ENTRY_LEAF + 2 * player + 1],
                            not with_own,
                            first[ENTRY_ROW + opponent],
                            first[ENTRY_NODE],
                            first_own,
                            num_own,
                            first_other,
                            num_other,
                            cells.card,
                            cells.counts,
                            cells.order,
                            cells.used_cards,
                            reach,
                            here[REACH_BEGIN + opponent],
                            width,
                            here[WASTE],
                            value_begin,
                            lanes,
                            buffers.lane_sums,
                            buffers.lane_offsets,
                            value,
                        )
                    if has_next and stage == VALUES:
                        end = here[DEALS] + (last[ENTRY_NEXT] - first[ENTRY_NEXT]) * width
                        for k in range(U(here[DEALS]), U(end)):
                            deal[k] = 0
                    if has_next and level + 1 < stop:
                        found = True
                        if with_own:
                            for entry in range(first[ENTRY_NEXT], last[ENTRY_NEXT]):
                                live[entry] = 1
                        else:
                            found = mark_live(
                                entries,
                                first[ENTRY_NEXT],
                                last[ENTRY_NEXT],
                                opponent,
                                first[ENTRY_ROW + opponent],
                                here[REACH_BEGIN + opponent],
                                width,
                                num_other,
                                reach,
                                live,
                            )
                        if found:
                            level += 1
                            below = frame[level]
                            below[BOARD], below[LAST_BOARD] = children[board, 0], children[board, 1]
                            entry = first[ENTRY_NEXT]
                            while live[entry] == 0:
                                entry += 1
                            below[FIRST_ENTRY], below[ENTRY], below[LAST_ENTRY] = (
                                entry,
                                entry,
                                last[ENTRY_NEXT],
                            )
                            continue
                    elif has_next and stops != TO_THE_END:
                        is_dealt = stops == DEALT
                        first_below = children[board, 0] if is_dealt else board
                        last_below = children[board, 1] if is_dealt else board + 1
                        for below_board in range(first_below, last_below):
                            for q in range(2):
                                first_cell = U(cell_begin[q, below_board])
                                num_cells = U(cell_begin[q, below_board + 1]) - first_cell
                                before = cell_begin[q, below_board] - cell_begin[q, given_board]
                                if stage == REACH and (with_own or q != player):
                                    hand_out(
                                        entries,
                                        first[ENTRY_NEXT],
                                        last[ENTRY_NEXT],
                                        q,
                                        first[ENTRY_ROW + q],
                                        here[REACH_BEGIN + q],
                                        width,
                                        reach,
                                        is_dealt,
                                        cells.parent,
                                        first_cell,
                                        num_cells,
                                        before * given_entries,
                                        given_entry,
                                        given_reach[q],
                                    )
                                elif stage == VALUES and q == player:
                                    take_values(
                                        first[ENTRY_NEXT],
                                        last[ENTRY_NEXT],
                                        is_dealt,
                                        cells.parent,
                                        cells.deal_weight,
                                        first_cell,
                                        num_cells,
                                        before * given_entries,
                                        given_entry,
                                        given_values[player],
                                        here[DEALS],
                                        width,
                                        deal,
                                    )
                if stage == VALUES:
                    if has_next:
                        # The sums over the boards that follow are the values of the block's CHANCE nodes.
                        for entry in range(first[ENTRY_NEXT], last[ENTRY_NEXT]):
                            source = U(here[DEALS] + (entry - first[ENTRY_NEXT]) * width)
                            node = entries[entry, ENTRY_PARENT] - first[ENTRY_NODE]
                            target = U(value_begin + node * width)
                            for c in range(num_own):
                                value[target + c] = deal[source + c]
                    mode = modes[player, level]
                    slot_base = first[ENTRY_SLOT + player] - here[FIRST_SLOT + player]
                    num_slots = last[ENTRY_SLOT + player] - first[ENTRY_SLOT + player]
                    begin, stride = tables.begin[player, board], tables.stride[player, board]
                    source_table = tables.source[player]
                    regret, average = tables.regret[player], tables.average[player]
                    apart = tables.row_kind[player, level] != CELLS and mode in (LEARN, PLAY)
                    if apart:
                        if tables.row_kind[player, level] == BUCKETS:
                            gather_rows(
                                tables.bucket[player],
                                first_own - U(cell_begin[player, 0]),
                                num_own,
                                begin + slot_base,
                                stride,
                                num_slots,
                                source_table,
                                width,
                                slots[0],
                            )
                        else:
                            spread_rule(num_own, num_slots, begin + slot_base, source_table, width, slots[0])
                        source_table, regret, average = slots[0], slots[1], slots[2]
                        for k in range(U(num_slots * width)):
                            regret[k] = 0
                            average[k] = 0
                    pull_values(
                        decisions,
                        first[ENTRY_DECISION],
                        last[ENTRY_DECISION],
                        player,
                        mode,
                        step,
                        first[ENTRY_NODE],
                        first[ENTRY_ROW + player],
                        slot_base,
                        source_table,
                        regret,
                        average,
                        0 if apart else begin + slot_base * stride,
                        width if apart else stride,
                        num_own,
                        lanes,
                        here[REACH_BEGIN + player],
                        reach,
                        value_begin,
                        width,
                        value,
                    )
                    if apart and mode == LEARN:
                        for which in range(2):
                            scatter_rows(
                                tables.bucket[player],
                                first_own - U(cell_begin[player, 0]),
                                num_own,
                                cells.bucket_weight,
                                first_own,
                                begin + slot_base,
                                stride,
                                num_slots,
                                width,
                                regret if which == 0 else average,
                                tables.gain[which],
                            )
                    if level == top and root_dealt:
                        end_values(
                            entries,
                            here[ENTRY],
                            here[BLOCK_END],
                            (cell_begin[player, board] - cell_begin[player, root_board]) * root_entries,
                            root_entry,
                            num_own,
                            value_begin,
                            width,
                            value,
                            out[player],
                        )
                    else:
                        # To the frame above, or to whoever gave the reach at the start.
                        is_start = level == top
                        width_above = above_width[player] if is_start else frame[level - 1, WIDTH]
                        first_above = root_entry if is_start else entries[frame[level - 1, ENTRY], ENTRY_NEXT]
                        begin = share * root_entries * width_above if is_start else frame[level - 1, DEALS]
                        add_deals(
                            entries,
                            here[ENTRY],
                            here[BLOCK_END],
                            cells.parent,
                            cells.deal_weight,
                            first_own,
                            num_own,
                            value_begin,
                            width,
                            value,
                            begin + (here[ENTRY] - first_above) * width_above,
                            width_above,
                            out[player] if is_start else deal,
                        )
                descending = True
                entry = here[BLOCK_END]
                while entry < here[LAST_ENTRY] and live[entry] == 0:
                    entry += 1
                if entry < here[LAST_ENTRY]:
                    here[ENTRY] = entry
                    continue
                here[ENTRY] = here[FIRST_ENTRY]
                here[BOARD] += 1
                if here[BOARD] == here[LAST_BOARD] and level > top:
                    level -= 1
                    descending = False
