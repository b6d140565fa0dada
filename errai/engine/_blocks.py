"""Kernels of one block: reach goes down its betting nodes, values come back.

A block is a run of neighbouring entries of one round at one public board. Its nodes, reach rows and slots
are contiguous. All vectors run over the cells of the board. Buffers are flat with explicit unsigned
offsets: signed ones would make the compiler test every index for negative wrap-around and keep
it from vectorising.

What happens at the player's own decisions is the mode: LEARN plays the current strategy and updates
regrets and averages, BEST takes the best action, KEEP takes it and writes it down, PLAY plays the given
strategy. Only LEARN needs the player's own reach.

Decisions with two and three actions, which are nearly all, have loops of their own that go over the cells
once. Kernels take arrays one by one and call each other one level deep: the compiler optimises
a kernel anew in each caller, and every array taken out of a tuple costs a reference count.
"""

import numpy as np

from errai.kernels import kernel

U = np.uint64

LEARN = 0
BEST = 1
PLAY = 2
KEEP = 3
"""What the walked player does in a round."""

PLAYER, ACTIONS, NODE, CHILD, SLOT, REACH_ROW, CHILD_ROW = range(7)
"""Columns of `WalkPlan.decisions`."""

ENTRY_NODE, ENTRY_DECISION, ENTRY_NEXT = range(3)
ENTRY_ROW, ENTRY_SLOT, ENTRY_LEAF, ENTRY_PARENT, PARENT_ROW = 3, 5, 7, 11, 12
"""Columns of `WalkPlan.entries`; rows and slots have one for each player, leaves two."""

TINY = 1e-30
"""Sums of regrets at or below this count as none: their inverse would overflow float32."""

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
    regret,  # INOUT float[...]  what is learnt, or what is best where the mode is KEEP
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
        k = U(begin + (decisions[d, SLOT] - slot_base) * rows)
        if mode in (BEST, KEEP):
            for c in range(num_cells):
                value[here + c] = value[child + c]
            for a in range(1, num_actions):
                v = child + U(a) * next_row
                for c in range(num_cells):
                    value[here + c] = max(value[here + c], value[v + c])
            if mode == KEEP:
                for c in range(num_cells):
                    total[c] = one
                for a in range(num_actions):  # of actions that are as good, the first
                    v, r = child + U(a) * next_row, k + U(a) * row
                    for c in range(num_cells):
                        chosen = total[c] if value[v + c] == value[here + c] else zero
                        regret[r + c] = chosen
                        total[c] -= chosen
            continue
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
def spread_rule(
    num_cells,  # IN   uint64
    num_slots,  # IN   int64
    begin,  # IN   int64
    source,  # IN   float[...]  one number a slot
    width,  # IN   int64
    target,  # OUT  float[slots, width]  flat
):
    """Let all cells of a board play what a rule says that looks at no cards."""
    for s in range(num_slots):
        t, x = U(s * width), source[U(begin + s)]
        for c in range(num_cells):
            target[t + c] = x


@kernel()
def mark_live(
    entries,  # IN   int32[E + 1, 14]
    first_entry,  # IN   int64  entries of the next round
    last_entry,  # IN   int64
    opponent,  # IN   int64
    parent_base,  # IN   int64  first reach row of the parents' block
    parent_begin,  # IN   int64
    parent_width,  # IN   int64
    num_cells,  # IN   uint64  of the opponent at the parents' board
    reach,  # IN   float[...]
    live,  # OUT  uint8[E + 1]
):
    """Note which entries the opponent reaches with any hand; returns whether there is one."""
    found = False
    for entry in range(first_entry, last_entry):
        source = U(parent_begin + (entries[entry, PARENT_ROW + opponent] - parent_base) * parent_width)
        reached = 0
        for c in range(num_cells):
            if reach[source + c] != 0:
                reached = 1
                break
        live[entry] = reached
        found |= reached == 1
    return found
