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

from errai.engine._buckets import gather_rows, scatter_rows
from errai.engine._challenge import value_challenges
from errai.engine._terminal import value_leaves
from errai.kernels import kernel

U = np.uint64

LEARN = 0
BEST = 1
EVALUATE = 2

PLAYER, ACTIONS, NODE, CHILD, SLOT, REACH_ROW, CHILD_ROW = range(7)
"""Columns of `WalkPlan.decisions`."""

ENTRY_NODE, ENTRY_DECISION, ENTRY_NEXT = range(3)
ENTRY_ROW, ENTRY_SLOT, ENTRY_LEAF, ENTRY_PARENT, PARENT_ROW = 3, 5, 7, 11, 12
"""Columns of `WalkPlan.entries`; rows and slots have one for each player, leaves two."""

WIDTH, AT_ONCE, VALUES, DEALS, WASTE, REACH, FIRST_SLOT = 0, 1, 2, 3, 4, 5, 7
BOARD, LAST_BOARD, FIRST_ENTRY, LAST_ENTRY, ENTRY = range(9, 14)
"""Columns of `Scratch.frame`; reach and slots have one for each player."""

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
    bucketed,  # IN   bool  then nothing is discounted or floored
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
    positive = one if bucketed else number(step[POSITIVE_FACTOR])
    negative = one if bucketed else number(step[NEGATIVE_FACTOR])
    floor = zero if step[FLOOR] > 0 and not bucketed else number(-np.inf)
    keep = one if bucketed else number(step[AVERAGE_FACTOR])
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
    entries,  # IN   int32[E + 1, 14]
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
        source = U(parent_begin + (entries[entry, PARENT_ROW + actor] - parent_base) * parent_width)
        row = entries[entry, ENTRY_ROW + actor] - entries[first_entry, ENTRY_ROW + actor]
        target = U(reach_begin + row * width)
        for c in range(num_cells):
            reach[target + c] = above[source + U(parent_cell[first_cell + c])]


@kernel()
def add_deals(
    entries,  # IN   int32[E + 1, 14]
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
    node_base = entries[first_entry, ENTRY_NODE]
    # Entries inside: neighbouring cells often have one parent, and each sum would wait for the one before.
    for c in range(num_cells):
        parent = U(sums_begin) + U(parent_cell[first_cell + c])
        weight = deal_weight[first_cell + c]
        for entry in range(first_entry, last_entry):
            source = U(value_begin + (entries[entry, ENTRY_NODE] - node_base) * width)
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
    children,  # IN   int64[B, 2]  first and last of the boards that follow each board
    cells,  # IN   CellArrays
    tables,  # INOUT Tables
    above,  # IN   float[...]  reach of the root's block, for CHUNK
    scratch,  # INOUT Scratch
    sums,  # INOUT float[chunks, entries of round 1, width]  flat
    root,  # OUT  float[2, cells]  values of the walked players
):
    """Walk the tree for each iteration and player, or one stage of it, depth first over rounds and boards.

    The walk is a loop with a stack of one frame a round: board, last board, first entry, last entry, and
    first entry of the current block. A frame's block goes down, then the boards that follow are
    walked as a new frame, then the block comes up and adds its value to the frame above.
    """
    entries, decisions = plan.entries, plan.decisions
    reach, value, frame, lanes = scratch.reach, scratch.value, scratch.frame, scratch.lanes
    cell_begin = cells.begin
    chunk_size = (entries[1, ENTRY_NEXT] - entries[0, ENTRY_NEXT]) * frame[0, WIDTH]
    num_boards = children[0, 1] - children[0, 0]
    for walked in range(len(steps) * (last_player - first_player)):
        player = first_player + walked % (last_player - first_player)
        step = steps[walked // (last_player - first_player), player]
        opponent = 1 - player
        level = 0
        descending = stage != UP
        which_chunk = chunk
        frame[0, BOARD], frame[0, LAST_BOARD] = 0, 1
        frame[0, FIRST_ENTRY], frame[0, LAST_ENTRY], frame[0, ENTRY] = 0, 1, 0
        if stage == CHUNK:
            level = 1
            frame[1, BOARD] = children[0, 0] + num_boards * chunk // num_chunks
            frame[1, LAST_BOARD] = children[0, 0] + num_boards * (chunk + 1) // num_chunks
            frame[1, FIRST_ENTRY], frame[1, ENTRY] = entries[0, ENTRY_NEXT], entries[0, ENTRY_NEXT]
            frame[1, LAST_ENTRY] = entries[1, ENTRY_NEXT]
            if frame[1, BOARD] == frame[1, LAST_BOARD]:
                continue
        elif stage != UP:
            for q in range(2):
                scale = reach.dtype.type(opponent_scales[player] if q != player else 1.0)
                begin = U(frame[0, REACH + q])
                for c in range(U(cell_begin[q, 1] - cell_begin[q, 0])):
                    reach[begin + c] = initial[U(q), c] * scale
            for k in range(U(len(sums))):
                sums[k] = 0
        while True:
            here = frame[level]
            board, width, value_begin = here[BOARD], here[WIDTH], here[VALUES]
            first_entry = here[ENTRY]
            last_entry = min(first_entry + here[AT_ONCE], here[LAST_ENTRY])
            first, last = entries[first_entry], entries[last_entry]
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
                            entries,
                            first_entry,
                            last_entry,
                            q,
                            entries[frame[level - 1, ENTRY], ENTRY_ROW + q] if level > 1 else 0,
                            frame[level - 1, REACH + q],
                            frame[level - 1, WIDTH],
                            above if level == 1 else reach,
                            cells.parent,
                            first_cell,
                            num_cells,
                            here[REACH + q],
                            width,
                            reach,
                        )
                    slot_base = first[ENTRY_SLOT + q] - here[FIRST_SLOT + q]
                    rows = tables.rows[q, board]
                    begin = tables.begin[q, board] + slot_base * rows
                    source = tables.source[q]
                    if tables.bucketed[q, level]:
                        gather_rows(
                            decisions,
                            first[ENTRY_DECISION],
                            last[ENTRY_DECISION],
                            q,
                            slot_base,
                            tables.bucket[q],
                            first_cell - U(cell_begin[q, 0]),
                            num_cells,
                            begin,
                            rows,
                            source,
                            width,
                            scratch.slots[0],
                        )
                        source, begin, rows = scratch.slots[0], 0, width
                    push_reach(
                        decisions,
                        first[ENTRY_DECISION],
                        last[ENTRY_DECISION],
                        q,
                        first[ENTRY_ROW + q],
                        slot_base,
                        source,
                        begin,
                        rows,
                        num_cells,
                        lanes,
                        here[REACH + q],
                        width,
                        reach,
                    )
                first_other = U(cell_begin[opponent, board])
                num_other = U(cell_begin[opponent, board + 1]) - first_other
                if len(cells.matches) > 0:
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
                        here[REACH + opponent],
                        width,
                        value_begin,
                        scratch.lane_sums,
                        value,
                    )
                else:
                    value_leaves(
                        plan.leaves,
                        plan.leaf_chips,
                        first[ENTRY_LEAF + 2 * player],
                        last[ENTRY_LEAF + 2 * player],
                        first[ENTRY_LEAF + 2 * player + 1],
                        last[ENTRY_LEAF + 2 * player + 1],
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
                        here[REACH + opponent],
                        width,
                        here[WASTE],
                        value_begin,
                        lanes,
                        scratch.lane_sums,
                        scratch.lane_offsets,
                        value,
                    )
                if level == 0 and stage == DOWN:
                    break
                if last[ENTRY_NEXT] > first[ENTRY_NEXT]:
                    if level > 0:
                        end = here[DEALS] + (last[ENTRY_NEXT] - first[ENTRY_NEXT]) * width
                        for k in range(U(here[DEALS]), U(end)):
                            scratch.deal[k] = 0
                    level += 1
                    frame[level, BOARD], frame[level, LAST_BOARD] = children[board, 0], children[board, 1]
                    frame[level, FIRST_ENTRY], frame[level, ENTRY] = first[ENTRY_NEXT], first[ENTRY_NEXT]
                    frame[level, LAST_ENTRY] = last[ENTRY_NEXT]
                    which_chunk = 0 if level == 1 else which_chunk
                    continue
            else:
                # The sums over the boards that follow are the values of the block's CHANCE nodes.
                if level == 0:
                    for which in range(1, num_chunks):
                        for k in range(U(chunk_size)):
                            sums[k] += sums[U(which * chunk_size) + k]
                dealt = sums if level == 0 else scratch.deal
                begin = 0 if level == 0 else here[DEALS]
                for entry in range(first[ENTRY_NEXT], last[ENTRY_NEXT]):
                    source_row = U(begin + (entry - first[ENTRY_NEXT]) * width)
                    target = U(value_begin + (entries[entry, ENTRY_PARENT] - first[ENTRY_NODE]) * width)
                    for c in range(num_own):
                        value[target + c] = dealt[source_row + c]
            slot_base = first[ENTRY_SLOT + player] - here[FIRST_SLOT + player]
            num_slots = last[ENTRY_SLOT + player] - first[ENTRY_SLOT + player]
            rows = tables.rows[player, board]
            begin = tables.begin[player, board] + slot_base * rows
            source, regret, average = tables.source[player], tables.regret[player], tables.average[player]
            bucketed = tables.bucketed[player, level] and mode != BEST
            if bucketed:
                gather_rows(
                    decisions,
                    first[ENTRY_DECISION],
                    last[ENTRY_DECISION],
                    player,
                    slot_base,
                    tables.bucket[player],
                    first_own - U(cell_begin[player, 0]),
                    num_own,
                    begin,
                    rows,
                    source,
                    width,
                    scratch.slots[0],
                )
                source, regret, average = scratch.slots[0], scratch.slots[1], scratch.slots[2]
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
                bucketed,
                first[ENTRY_NODE],
                first[ENTRY_ROW + player],
                slot_base,
                source,
                regret,
                average,
                0 if bucketed else begin,
                width if bucketed else rows,
                num_own,
                lanes,
                here[REACH + player],
                reach,
                value_begin,
                width,
                value,
            )
            if bucketed and mode == LEARN:
                for which in range(2):
                    scatter_rows(
                        decisions,
                        first[ENTRY_DECISION],
                        last[ENTRY_DECISION],
                        player,
                        slot_base,
                        tables.bucket[player],
                        first_own - U(cell_begin[player, 0]),
                        num_own,
                        cells.bucket_weight,
                        first_own,
                        begin,
                        rows,
                        width,
                        regret if which == 0 else average,
                        tables.gain[which],
                    )
            if level == 0:
                for c in range(num_own):
                    root[U(player), c] = value[U(value_begin) + c]
                break
            if level == 1 and stage == WHOLE:
                # Boards are cut into chunks at num_boards * chunk // num_chunks.
                while num_boards * (which_chunk + 1) // num_chunks <= board - children[0, 0]:
                    which_chunk += 1
            width_above = frame[level - 1, WIDTH]
            begin = which_chunk * chunk_size if level == 1 else frame[level - 1, DEALS]
            add_deals(
                entries,
                first_entry,
                last_entry,
                cells.parent,
                cells.deal_weight,
                first_own,
                num_own,
                value_begin,
                width,
                value,
                begin + (first_entry - here[FIRST_ENTRY]) * width_above,
                width_above,
                sums if level == 1 else scratch.deal,
            )
            here[ENTRY] = last_entry
            descending = True
            if last_entry == here[LAST_ENTRY]:
                here[ENTRY] = here[FIRST_ENTRY]
                here[BOARD] += 1
                if here[BOARD] == here[LAST_BOARD]:
                    if level == 1 and stage == CHUNK:
                        break
                    level -= 1
                    descending = False
