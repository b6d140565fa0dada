"""Kernels of the one traversal: reach goes down a block of betting nodes, values come back.

A block is a run of neighbouring entries of one round at one public board. Its nodes, reach rows and slots
are contiguous. All vectors run over the cells of the board. Buffers are flat with explicit unsigned
offsets: signed ones would make the compiler test every index for negative wrap-around and keep
it from vectorising.

What happens at the player's own decisions is the mode: LEARN plays the current strategy and updates
regrets and averages, BEST takes the best action, EVALUATE plays the given strategy. Only LEARN needs
the player's own reach.

Decisions with two and three actions, which are nearly all, have loops of their own that go over the cells
once. Kernels take arrays one by one and call each other one level deep: the compiler optimises
a kernel anew in each caller, and every array taken out of a tuple costs a reference count.
"""

import numpy as np

from errai.kernels import kernel
from errai.tree._buckets import gather_rows, scatter_rows
from errai.tree._challenge import value_challenges
from errai.tree._terminal import value_leaves

U = np.uint64

LEARN = 0
BEST = 1
EVALUATE = 2

PLAYER, ACTIONS, NODE, CHILD, SLOT, REACH_ROW, CHILD_ROW = range(7)
"""Columns of `WalkPlan.decisions`."""

TINY = 1e-30
"""Sums of regrets at or below this count as none: their inverse would overflow float32."""

WHOLE = 0
DOWN = 1
CHUNK = 2
UP = 3

POSITIVE_FACTOR = 0
NEGATIVE_FACTOR = 1
FLOOR = 2
AVERAGE_FACTOR = 3
AVERAGE_WEIGHT = 4


@kernel()
def push_reach(
    decisions,  # IN   int32[D, 7]
    first,  # IN   int64  the block's decisions
    last,  # IN   int64
    actor,  # IN   int64  whose reach goes down
    row_base,  # IN   int64  first of the block's reach rows
    slot_base,  # IN   int64  first of the block's slots
    source,  # IN   float[...]  played in proportion to its positive part, uniformly where there is none
    begin,  # IN   int64  the block's slots in `source`
    rows,  # IN   int64  distance of slots
    num_cells,  # IN   uint64
    total,  # TMP  float[width]
    reach_begin,  # IN   int64
    width,  # IN   int64  distance of reach rows
    reach,  # INOUT float[...]  rows of the entries are given, the others filled
):
    """Multiply a player's reach with the strategy, decision by decision, one row for each action."""
    number = reach.dtype.type
    zero, one, tiny = number(0), number(1), number(TINY)
    row, next_row = U(rows), U(width)
    for d in range(first, last):
        if decisions[d, PLAYER] != actor:
            continue
        num_actions = decisions[d, ACTIONS]
        k = U(begin + (decisions[d, SLOT] - slot_base) * rows)
        above = U(reach_begin + (decisions[d, REACH_ROW] - row_base) * width)
        below = U(reach_begin + (decisions[d, CHILD_ROW] - row_base) * width)
        share = one / number(num_actions)
        if num_actions == 2:
            for c in range(num_cells):
                x = max(source[k + c], zero)
                y = max(source[k + row + c], zero)
                s = x + y
                scale = reach[above + c] / s if s > tiny else reach[above + c] * share
                reach[below + c] = x * scale if s > tiny else scale
                reach[below + next_row + c] = y * scale if s > tiny else scale
        elif num_actions == 3:
            for c in range(num_cells):
                x = max(source[k + c], zero)
                y = max(source[k + row + c], zero)
                z = max(source[k + row + row + c], zero)
                s = x + y + z
                scale = reach[above + c] / s if s > tiny else reach[above + c] * share
                reach[below + c] = x * scale if s > tiny else scale
                reach[below + next_row + c] = y * scale if s > tiny else scale
                reach[below + next_row + next_row + c] = z * scale if s > tiny else scale
        else:
            for c in range(num_cells):
                total[c] = zero
            for a in range(num_actions):
                for c in range(num_cells):
                    x = max(source[k + U(a) * row + c], zero)
                    reach[below + U(a) * next_row + c] = x
                    total[c] += x
            for a in range(num_actions):
                at = below + U(a) * next_row
                for c in range(num_cells):
                    x = reach[at + c] / total[c] if total[c] > tiny else share
                    reach[at + c] = x * reach[above + c]


@kernel()
def pull_values(
    decisions,  # IN   int32[D, 7]
    first,  # IN   int64  the block's decisions
    last,  # IN   int64
    player,  # IN   int64  whose values they are
    mode,  # IN   int64
    step,  # IN   float64[5]  the update rule's factors in this iteration
    node_base,  # IN   int64  first of the block's nodes
    row_base,  # IN   int64  first of the player's reach rows
    slot_base,  # IN   int64  first of the player's slots
    source,  # IN   float[...]
    regret,  # INOUT float[...]
    average,  # INOUT float[...]
    begin,  # IN   int64  the block's slots in all three
    rows,  # IN   int64  distance of slots
    num_cells,  # IN   uint64
    total,  # TMP  float[width]
    reach_begin,  # IN   int64
    reach,  # IN   float[...]
    value_begin,  # IN   int64
    width,  # IN   int64  distance of reach and value rows
    value,  # INOUT float[...]  rows of leaves and CHANCE nodes are given
):
    """Pull values up through a block, learning or choosing at the player's own decisions."""
    number = value.dtype.type
    zero, one, tiny = number(0), number(1), number(TINY)
    row, next_row = U(rows), U(width)
    positive = number(step[POSITIVE_FACTOR])
    negative = number(step[NEGATIVE_FACTOR])
    floor = zero if step[FLOOR] > 0 else number(-np.inf)
    keep = number(step[AVERAGE_FACTOR])
    weight = number(step[AVERAGE_WEIGHT])
    averages = mode == LEARN and (keep != one or weight != zero)
    for d in range(last - 1, first - 1, -1):
        num_actions = decisions[d, ACTIONS]
        here = U(value_begin + (decisions[d, NODE] - node_base) * width)
        child = U(value_begin + (decisions[d, CHILD] - node_base) * width)
        second, third = child + next_row, child + next_row + next_row
        if decisions[d, PLAYER] != player:
            if num_actions == 2:
                for c in range(num_cells):
                    value[here + c] = value[child + c] + value[second + c]
            elif num_actions == 3:
                for c in range(num_cells):
                    value[here + c] = value[child + c] + value[second + c] + value[third + c]
            else:
                for c in range(num_cells):
                    value[here + c] = value[child + c]
                for a in range(1, num_actions):
                    v = child + U(a) * next_row
                    for c in range(num_cells):
                        value[here + c] += value[v + c]
            continue
        if mode == BEST:
            for c in range(num_cells):
                value[here + c] = value[child + c]
            for a in range(1, num_actions):
                v = child + U(a) * next_row
                for c in range(num_cells):
                    value[here + c] = max(value[here + c], value[v + c])
            continue
        k = U(begin + (decisions[d, SLOT] - slot_base) * rows)
        share = one / number(num_actions)
        if num_actions == 2:
            for c in range(num_cells):
                x = max(source[k + c], zero)
                y = max(source[k + row + c], zero)
                s = x + y
                mixed = x * value[child + c] + y * value[second + c]
                plain = value[child + c] + value[second + c]
                value[here + c] = mixed / s if s > tiny else plain * share
        elif num_actions == 3:
            for c in range(num_cells):
                x = max(source[k + c], zero)
                y = max(source[k + row + c], zero)
                z = max(source[k + row + row + c], zero)
                s = x + y + z
                mixed = x * value[child + c] + y * value[second + c] + z * value[third + c]
                plain = value[child + c] + value[second + c] + value[third + c]
                value[here + c] = mixed / s if s > tiny else plain * share
        else:
            for c in range(num_cells):
                total[c] = zero
            for a in range(num_actions):
                for c in range(num_cells):
                    total[c] += max(source[k + U(a) * row + c], zero)
            for c in range(num_cells):
                value[here + c] = zero
            for a in range(num_actions):
                v = child + U(a) * next_row
                for c in range(num_cells):
                    x = max(source[k + U(a) * row + c], zero) / total[c] if total[c] > tiny else share
                    value[here + c] += x * value[v + c]
        if mode != LEARN:
            continue
        for a in range(num_actions):
            r = k + U(a) * row
            v = child + U(a) * next_row
            for c in range(num_cells):
                old = regret[r + c]
                factor = positive if old > zero else negative
                new = old * factor + (value[v + c] - value[here + c])
                regret[r + c] = floor if new < floor else new  # unlike max, it keeps what is no number
        if averages:
            own = U(reach_begin + (decisions[d, CHILD_ROW] - row_base) * width)
            for a in range(num_actions):
                r = k + U(a) * row
                o = own + U(a) * next_row
                for c in range(num_cells):
                    average[r + c] = average[r + c] * keep + weight * reach[o + c]


@kernel()
def deal_reach(
    parent_row,  # IN   int32[2, E]
    entry_row,  # IN   int32[2, E]
    first_entry,  # IN   int64
    last_entry,  # IN   int64
    actor,  # IN   int64  whose reach goes down
    parent_base,  # IN   int64  first reach row of the parents' block
    parent_begin,  # IN   int64
    parent_width,  # IN   int64
    above,  # IN   float[...]  the buffer that holds the parents' reach
    parent_cell,  # IN   int32[C]
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    reach_begin,  # IN   int64
    width,  # IN   int64
    reach,  # OUT  float[...]
):
    """Give the entries of the next round, at one board, the reach of the CHANCE nodes before them."""
    for entry in range(first_entry, last_entry):
        source = U(parent_begin + (parent_row[actor, entry] - parent_base) * parent_width)
        target = U(reach_begin + (entry_row[actor, entry] - entry_row[actor, first_entry]) * width)
        for c in range(num_cells):
            reach[target + c] = above[source + U(parent_cell[first_cell + c])]


@kernel()
def add_deals(
    entry_node,  # IN   int32[E + 1]
    first_entry,  # IN   int64  the finished block
    last_entry,  # IN   int64
    parent_cell,  # IN   int32[C]
    deal_weight,  # IN   float[C]
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    value_begin,  # IN   int64
    width,  # IN   int64
    value,  # IN   float[...]
    sums_begin,  # IN   int64  where the sums of the block's first entry are
    parent_width,  # IN   int64
    sums,  # INOUT float[...]  [entry, parent cell]
):
    """Add what a block's entries are worth, weighted by the chance of the deal, to the parents' cells."""
    node_base = entry_node[first_entry]
    # Entries inside: neighbouring cells often have one parent, and each sum would wait for the one before.
    for c in range(num_cells):
        parent = U(sums_begin) + U(parent_cell[first_cell + c])
        weight = deal_weight[first_cell + c]
        for entry in range(first_entry, last_entry):
            source = U(value_begin + (entry_node[entry] - node_base) * width)
            sums[parent] += weight * value[source + c]
            parent += U(parent_width)


@kernel()
def walk(
    stage,  # IN   int64  WHOLE, DOWN, CHUNK or UP
    chunk,  # IN   int64  which share of the boards after the root, for CHUNK
    num_chunks,  # IN   int64
    first_player,  # IN   int64
    last_player,  # IN   int64  players from first to last - 1 are walked in turn
    mode,  # IN   int64  LEARN, BEST or EVALUATE
    steps,  # IN   float64[iterations, 2, 5]  the update rule's factors
    initial,  # IN   float[2, cells]  weight of each player's hands at the root
    opponent_scales,  # IN   float64[2]  makes values chips a hand
    plan,  # IN   WalkPlan
    boards,  # IN   BoardArrays
    cells,  # IN   CellArrays
    tables,  # INOUT Tables
    above,  # IN   float[...]  reach of the root's block, for CHUNK
    scratch,  # INOUT Scratch
    sums,  # INOUT float[chunks, entries of round 1, width]  flat
    root,  # OUT  float[2, cells]  values of the walked players
):
    """Walk the tree for each iteration and player, or one stage of it, depth first over rounds and boards.

    The walk is a loop with a stack of one frame a round: (board, last board, first entry, last entry,
    first entry of the current block). A frame's block goes down, then the boards that follow are
    walked as a new frame, then the block comes up and adds its value to the frame above.
    """
    entry_node, entry_row, next_begin = plan.entry_node, plan.entry_row, plan.next_begin
    decisions, decision_begin, leaf_begin = plan.decisions, plan.decision_begin, plan.leaf_begin
    reach, value, frame, total = scratch.reach, scratch.value, scratch.frame, scratch.total
    reach_begins, value_begins, widths = scratch.reach_begin, scratch.value_begin, scratch.width
    cell_begin = cells.begin
    next_first, next_last = next_begin[0], next_begin[1]
    chunk_size = (next_last - next_first) * widths[0]
    for walked in range(len(steps) * (last_player - first_player)):
        player = first_player + walked % (last_player - first_player)
        step = steps[walked // (last_player - first_player), player]
        scratch.plain_step[AVERAGE_WEIGHT] = step[AVERAGE_WEIGHT]
        opponent = 1 - player
        level = 0
        frame[0, 0], frame[0, 1], frame[0, 2], frame[0, 3], frame[0, 4] = 0, 1, 0, 1, 0
        descending = True
        which_chunk = chunk
        if stage == CHUNK:
            level = 1
            num_boards = boards.child_end[0] - boards.child_begin[0]
            frame[1, 0] = boards.child_begin[0] + num_boards * chunk // num_chunks
            frame[1, 1] = boards.child_begin[0] + num_boards * (chunk + 1) // num_chunks
            frame[1, 2], frame[1, 3], frame[1, 4] = next_begin[0], next_begin[1], next_begin[0]
            if frame[1, 0] == frame[1, 1]:
                continue
        elif stage == UP:
            descending = False
        else:
            for q in range(2):
                scale = reach.dtype.type(opponent_scales[player] if q != player else 1.0)
                begin = U(reach_begins[q, 0])
                for c in range(U(cell_begin[q, 1] - cell_begin[q, 0])):
                    reach[begin + c] = initial[U(q), c] * scale
            for k in range(U(len(sums))):
                sums[k] = 0
        while True:
            board = frame[level, 0]
            first_entry = frame[level, 4]
            last_entry = min(first_entry + scratch.entries_at_once[level], frame[level, 3])
            first_decision, last_decision = decision_begin[first_entry], decision_begin[last_entry]
            node_base = entry_node[first_entry]
            next_first, next_last = next_begin[first_entry], next_begin[last_entry]
            width, value_begin = widths[level], value_begins[level]
            first_own = U(cell_begin[player, board])
            num_own = U(cell_begin[player, board + 1]) - first_own
            if descending:
                for q in range(2):
                    if q == player and mode != LEARN:
                        continue
                    first_cell = U(cell_begin[q, board])
                    num_cells = U(cell_begin[q, board + 1]) - first_cell
                    if level > 0:
                        deal_reach(
                            plan.parent_row,
                            entry_row,
                            first_entry,
                            last_entry,
                            q,
                            entry_row[q, frame[level - 1, 4]] if level > 1 else 0,
                            reach_begins[q, level - 1],
                            widths[level - 1],
                            above if level == 1 else reach,
                            cells.parent,
                            first_cell,
                            num_cells,
                            reach_begins[q, level],
                            width,
                            reach,
                        )
                    slot_base = plan.entry_slot[q, first_entry] - plan.entry_slot[q, plan.round_entry[level]]
                    begin = tables.begin[q, board] + slot_base * tables.rows[q, board]
                    rows = tables.rows[q, board]
                    source = tables.source[q]
                    if tables.bucketed[q, level]:
                        gather_rows(
                            tables.bucket[q],
                            first_cell - U(cell_begin[q, 0]),
                            num_cells,
                            plan.entry_slot[q, last_entry] - plan.entry_slot[q, first_entry],
                            begin,
                            rows,
                            source,
                            width,
                            scratch.played,
                        )
                        source, begin, rows = scratch.played, 0, width
                    push_reach(
                        decisions,
                        first_decision,
                        last_decision,
                        q,
                        entry_row[q, first_entry],
                        slot_base,
                        source,
                        begin,
                        rows,
                        num_cells,
                        total,
                        reach_begins[q, level],
                        width,
                        reach,
                    )
                first_showdown = leaf_begin[player, 0, first_entry]
                last_showdown = leaf_begin[player, 0, last_entry]
                first_fold, last_fold = leaf_begin[player, 1, first_entry], leaf_begin[player, 1, last_entry]
                if len(cells.matches) > 0:
                    value_challenges(
                        plan.leaves,
                        plan.leaf_chips,
                        first_showdown,
                        last_showdown,
                        entry_row[opponent, first_entry],
                        node_base,
                        first_own,
                        num_own,
                        U(cell_begin[opponent, board]),
                        U(cell_begin[opponent, board + 1] - cell_begin[opponent, board]),
                        cells.matches,
                        reach,
                        reach_begins[opponent, level],
                        width,
                        value_begin,
                        scratch.lane_sums,
                        value,
                    )
                else:
                    value_leaves(
                        plan.leaves,
                        plan.leaf_chips,
                        first_showdown,
                        last_showdown,
                        first_fold,
                        last_fold,
                        entry_row[opponent, first_entry],
                        node_base,
                        first_own,
                        num_own,
                        U(cell_begin[opponent, board]),
                        U(cell_begin[opponent, board + 1] - cell_begin[opponent, board]),
                        cells.hands,
                        cells.card,
                        cells.card_count,
                        cells.below,
                        cells.up_to,
                        cells.tied_up_to,
                        cells.twin,
                        cells.used_cards,
                        reach,
                        reach_begins[opponent, level],
                        width,
                        scratch.waste[0],
                        value_begin,
                        scratch.lanes,
                        scratch.lane_sums,
                        scratch.lane_offsets,
                        scratch.lane_chips,
                        value,
                    )
                if level == 0 and stage == DOWN:
                    break
                if next_last > next_first:
                    if level > 0:
                        begin = scratch.deal_begin[level]
                        for k in range(U(begin), U(begin + (next_last - next_first) * width)):
                            scratch.deal[k] = 0
                    level += 1
                    frame[level, 0], frame[level, 1] = boards.child_begin[board], boards.child_end[board]
                    frame[level, 2], frame[level, 3], frame[level, 4] = next_first, next_last, next_first
                    which_chunk = 0 if level == 1 else which_chunk
                    continue
            else:
                # The sums over the boards that follow are the values of the block's CHANCE nodes.
                if level == 0:
                    for which in range(1, num_chunks):
                        for k in range(U(chunk_size)):
                            sums[k] += sums[U(which * chunk_size) + k]
                dealt = sums if level == 0 else scratch.deal
                begin = 0 if level == 0 else scratch.deal_begin[level]
                for entry in range(next_first, next_last):
                    source_row = U(begin + (entry - next_first) * width)
                    target = U(value_begin + (plan.entry_parent[entry] - node_base) * width)
                    for c in range(num_own):
                        value[target + c] = dealt[source_row + c]
            slot_base = (
                plan.entry_slot[player, first_entry] - plan.entry_slot[player, plan.round_entry[level]]
            )
            num_slots = plan.entry_slot[player, last_entry] - plan.entry_slot[player, first_entry]
            begin = tables.begin[player, board] + slot_base * tables.rows[player, board]
            rows = tables.rows[player, board]
            source, regret, average = tables.source[player], tables.regret[player], tables.average[player]
            bucketed = tables.bucketed[player, level] and mode != BEST
            if bucketed:
                gather_rows(
                    tables.bucket[player],
                    first_own - U(cell_begin[player, 0]),
                    num_own,
                    num_slots,
                    begin,
                    rows,
                    source,
                    width,
                    scratch.played,
                )
                source, regret, average = scratch.played, scratch.learnt, scratch.averaged
                for k in range(U(num_slots * width)):
                    regret[k] = 0
                    average[k] = 0
            pull_values(
                decisions,
                first_decision,
                last_decision,
                player,
                mode,
                scratch.plain_step if bucketed else step,
                node_base,
                entry_row[player, first_entry],
                slot_base,
                source,
                regret,
                average,
                0 if bucketed else begin,
                width if bucketed else rows,
                num_own,
                total,
                reach_begins[player, level],
                reach,
                value_begin,
                width,
                value,
            )
            if bucketed and mode == LEARN:
                for which in range(2):
                    scatter_rows(
                        tables.bucket[player],
                        first_own - U(cell_begin[player, 0]),
                        num_own,
                        cells.bucket_weight,
                        first_own,
                        num_slots,
                        begin,
                        rows,
                        width,
                        regret if which == 0 else average,
                        tables.regret[player] if which == 0 else tables.average[player],
                    )
            if level == 0:
                for c in range(num_own):
                    root[U(player), c] = value[U(value_begin) + c]
                break
            if level == 1 and stage == WHOLE:
                # Boards are cut into chunks at num_boards * chunk // num_chunks.
                num_boards = boards.child_end[0] - boards.child_begin[0]
                while num_boards * (which_chunk + 1) // num_chunks <= board - boards.child_begin[0]:
                    which_chunk += 1
            dealt = sums if level == 1 else scratch.deal
            begin = which_chunk * chunk_size if level == 1 else scratch.deal_begin[level - 1]
            add_deals(
                entry_node,
                first_entry,
                last_entry,
                cells.parent,
                cells.deal_weight,
                first_own,
                num_own,
                value_begin,
                width,
                value,
                begin + (first_entry - frame[level, 2]) * widths[level - 1],
                widths[level - 1],
                dealt,
            )
            frame[level, 4] = last_entry
            descending = True
            if last_entry == frame[level, 3]:
                frame[level, 4] = frame[level, 2]
                frame[level, 0] += 1
                if frame[level, 0] == frame[level, 1]:
                    if level == 1 and stage == CHUNK:
                        break
                    level -= 1
                    descending = False
