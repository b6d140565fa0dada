"""Kernels of the one traversal: reach goes down a block of betting nodes, values come back.

A block is a run of neighbouring entries of one round at one public board. Its nodes, reach rows and slots
are contiguous. All vectors run over the cells of the board. Buffers are flat with explicit unsigned
offsets: signed ones would make the compiler test every index for negative wrap-around and keep
it from vectorising.

What happens at the player's own decisions is the mode: LEARN plays the current strategy and updates
regrets and averages, BEST takes the best action, EVALUATE plays the given strategy.
"""

import numpy as np

from errai.kernels import kernel
from errai.tree._terminal import LANES, fold_values, showdown_values

U = np.uint64

LEARN = 0
BEST = 1
EVALUATE = 2

DECISION = 0
CHANCE = 1
FOLD = 2
CHALLENGE = 4

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
def _strategy(
    source,  # IN   float[slots]  regrets, averages or probabilities of the acting player
    begin,  # IN   uint64  first slot of the decision
    num_actions,  # IN   int64
    rows,  # IN   uint64  distance between actions
    bucket,  # IN   int32[C]  row of each cell where bucketed
    first_cell,  # IN   uint64
    bucketed,  # IN   bool
    num_cells,  # IN   uint64
    total,  # TMP  float[width]
    width,  # IN   uint64  distance between rows of sigma
    sigma_begin,  # IN   uint64
    sigma,  # OUT  float[...]  num_actions rows
):
    """Play in proportion to the positive part of the source; uniformly where none is positive."""
    zero = source.dtype.type(0)
    for c in range(num_cells):
        total[c] = zero
    for a in range(num_actions):
        k = begin + U(a) * rows
        s = sigma_begin + U(a) * width
        if bucketed:
            for c in range(num_cells):
                x = max(source[k + U(bucket[first_cell + c])], zero)
                sigma[s + c] = x
                total[c] += x
        else:
            for c in range(num_cells):
                x = max(source[k + c], zero)
                sigma[s + c] = x
                total[c] += x
    one = source.dtype.type(1)
    tiny = source.dtype.type(TINY)
    for c in range(num_cells):
        total[c] = one / total[c] if total[c] > tiny else zero
    uniform = source.dtype.type(1.0 / num_actions)
    for a in range(num_actions):
        s = sigma_begin + U(a) * width
        for c in range(num_cells):
            sigma[s + c] = sigma[s + c] * total[c] if total[c] > zero else uniform


@kernel()
def _pass_down(
    reach,  # INOUT float[...]
    above,  # IN   uint64  offset of the node's reach
    below,  # IN   uint64  offset of the first child's reach
    num_actions,  # IN   int64
    num_cells,  # IN   uint64
    width,  # IN   uint64
    sigma_begin,  # IN   uint64
    sigma,  # IN   float[...]
):
    """Multiply a player's reach with the strategy, one row for each child."""
    for a in range(num_actions):
        s = sigma_begin + U(a) * width
        b = below + U(a) * width
        for c in range(num_cells):
            reach[b + c] = reach[above + c] * sigma[s + c]


@kernel()
def _learn(
    regret,  # INOUT float[slots]
    average,  # INOUT float[slots]
    begin,  # IN   uint64
    num_actions,  # IN   int64
    rows,  # IN   uint64
    bucket,  # IN   int32[C]
    first_cell,  # IN   uint64
    bucketed,  # IN   bool
    multiplicity,  # IN   float32[C]
    num_cells,  # IN   uint64
    width,  # IN   uint64
    sigma_begin,  # IN   uint64
    sigma,  # IN   float[...]
    reach,  # IN   float[...]
    own,  # IN   uint64  offset of the player's reach at the node
    value,  # IN   float[...]
    here,  # IN   uint64  offset of the node's value
    child,  # IN   uint64  offset of the first child's value
    step,  # IN   float64[5]  the update rule's factors in this iteration
):
    """Discount and add regrets, add to the average strategy.

    Buckets gather several cells, so there the discount and the floor are applied to the whole table once
    an iteration by the caller, and the strategy that `source` holds stays frozen meanwhile.
    """
    number = regret.dtype.type
    zero = number(0)
    weight = number(step[AVERAGE_WEIGHT])
    if bucketed:
        for a in range(num_actions):
            k = begin + U(a) * rows
            s = sigma_begin + U(a) * width
            v = child + U(a) * width
            for c in range(num_cells):
                row = k + U(bucket[first_cell + c])
                hands = number(multiplicity[first_cell + c])
                regret[row] += hands * (value[v + c] - value[here + c])
                average[row] += hands * weight * reach[own + c] * sigma[s + c]
        return
    positive = number(step[POSITIVE_FACTOR])
    negative = number(step[NEGATIVE_FACTOR])
    keep = number(step[AVERAGE_FACTOR])
    floor = number(0) if step[FLOOR] > 0 else number(-np.inf)
    for a in range(num_actions):
        k = begin + U(a) * rows
        s = sigma_begin + U(a) * width
        v = child + U(a) * width
        for c in range(num_cells):
            old = regret[k + c]
            factor = positive if old > zero else negative
            regret[k + c] = max(old * factor + (value[v + c] - value[here + c]), floor)
            average[k + c] = average[k + c] * keep + weight * reach[own + c] * sigma[s + c]


@kernel()
def _leaves(
    r,  # IN   int64
    board,  # IN   int64
    folds,  # IN   bool  the block's folds, or its showdowns
    first_leaf,  # IN   int64
    last_leaf,  # IN   int64
    first_node,  # IN   int64  first node of the block
    row_base,  # IN   int64  first reach row of the opponent in the block
    player,  # IN   int64
    tree,  # IN   WalkTree
    cells,  # IN   (PlayerCells, PlayerCells)
    scratch,  # TMP  Scratch
):
    """Fill the value rows of leaves, `LANES` at a time."""
    nodes = tree.folds if folds else tree.showdowns
    opponent = 1 - player
    own, other = cells[player], cells[opponent]
    first_own, first_other = own.cell_begin[board], other.cell_begin[board]
    num_own = own.cell_begin[board + 1] - first_own
    num_other = other.cell_begin[board + 1] - first_other
    width = U(scratch.width[r])
    reach, value = scratch.reach, scratch.value
    reach_begin = U(scratch.reach_begin[opponent, r])
    value_begin = U(scratch.value_begin[r])
    lanes_in, lanes_out = scratch.lanes_in, scratch.lanes_out
    number = value.dtype.type
    for batch in range(first_leaf, last_leaf, LANES):
        used = min(LANES, last_leaf - batch)
        for t in range(used):
            source = reach_begin + U(tree.reach_row[opponent, nodes[batch + t]] - row_base) * width
            for c in range(U(num_other)):
                lanes_in[c * U(LANES) + U(t)] = reach[source + c]
        # Unused lanes keep what they held; nobody reads them.
        if folds:
            fold_values(
                lanes_in,
                first_own,
                num_own,
                own.hand_begin,
                own.hand_card,
                own.twin,
                first_other,
                num_other,
                other.hand_begin,
                other.hand_card,
                scratch.sums,
                lanes_out,
            )
        else:
            showdown_values(
                lanes_in,
                first_own,
                num_own,
                own.hand_begin,
                own.hand_card,
                own.below,
                own.up_to,
                first_other,
                num_other,
                other.hand_begin,
                other.hand_card,
                scratch.sums,
                lanes_out,
            )
        for t in range(used):
            node = nodes[batch + t]
            amount = tree.amount[node]
            if folds and tree.player[node] == player:
                amount = -amount
            chips = number(amount)
            target = value_begin + U(node - first_node) * width
            for c in range(U(num_own)):
                value[target + c] = chips * lanes_out[c * U(LANES) + U(t)]


@kernel()
def descend(
    r,  # IN   int64
    board,  # IN   int64
    first_entry,  # IN   int64
    last_entry,  # IN   int64
    player,  # IN   int64  whose values are wanted
    tree,  # IN   WalkTree
    cells,  # IN   (PlayerCells, PlayerCells)
    tables,  # IN   Tables
    scratch,  # INOUT Scratch  reach rows of the entries are given
):
    """Push reach through a block of betting nodes and value its folds and showdowns."""
    first_node, last_node = tree.entry_node[first_entry], tree.entry_node[last_entry]
    width = U(scratch.width[r])
    for node in range(first_node, last_node):
        if tree.kind[node] != DECISION:
            continue
        actor = tree.player[node]
        mine = cells[actor]
        first_cell = mine.cell_begin[board]
        num_cells = U(mine.cell_begin[board + 1] - first_cell)
        rows = U(tables.rows[actor, board])
        first_child = tree.first_child[node]
        sigma_begin = U(scratch.value_begin[r]) + U(first_child - first_node) * width
        num_actions = tree.num_children[node]
        _strategy(
            tables.source[actor],
            U(tables.begin[actor, board]) + U(tree.slot[node]) * rows,
            num_actions,
            rows,
            tables.bucket[actor],
            U(first_cell),
            tables.bucketed[actor, r],
            num_cells,
            scratch.total,
            width,
            sigma_begin,
            scratch.sigma,
        )
        base = scratch.reach_begin[actor, r]
        row_base = tree.entry_row[actor, first_entry]
        _pass_down(
            scratch.reach,
            U(base) + U(tree.reach_row[actor, node] - row_base) * width,
            U(base) + U(tree.reach_row[actor, first_child] - row_base) * width,
            num_actions,
            num_cells,
            width,
            sigma_begin,
            scratch.sigma,
        )
    row_base = tree.entry_row[1 - player, first_entry]
    for folds in (True, False):
        if folds:
            begin, end = tree.fold_begin[first_entry], tree.fold_begin[last_entry]
        else:
            begin, end = tree.showdown_begin[first_entry], tree.showdown_begin[last_entry]
        if end > begin:
            _leaves(r, board, folds, begin, end, first_node, row_base, player, tree, cells, scratch)


@kernel()
def ascend(
    r,  # IN   int64
    board,  # IN   int64
    first_entry,  # IN   int64
    last_entry,  # IN   int64
    player,  # IN   int64
    mode,  # IN   int64
    step,  # IN   float64[5]
    tree,  # IN   WalkTree
    cells,  # IN   (PlayerCells, PlayerCells)
    tables,  # INOUT Tables
    scratch,  # INOUT Scratch  values of leaves and CHANCE nodes are given
):
    """Pull values up through a block, learning or choosing at the player's own decisions."""
    first_node, last_node = tree.entry_node[first_entry], tree.entry_node[last_entry]
    width = U(scratch.width[r])
    own = cells[player]
    first_cell = own.cell_begin[board]
    num_cells = U(own.cell_begin[board + 1] - first_cell)
    rows = U(tables.rows[player, board])
    value, sigma = scratch.value, scratch.sigma
    base = U(scratch.value_begin[r])
    zero = value.dtype.type(0)
    for node in range(last_node - 1, first_node - 1, -1):
        if tree.kind[node] != DECISION:
            continue
        here = base + U(node - first_node) * width
        child = base + U(tree.first_child[node] - first_node) * width
        num_actions = tree.num_children[node]
        if tree.player[node] != player:
            for c in range(num_cells):
                value[here + c] = value[child + c]
            for a in range(1, num_actions):
                v = child + U(a) * width
                for c in range(num_cells):
                    value[here + c] += value[v + c]
        elif mode == BEST:
            for c in range(num_cells):
                value[here + c] = value[child + c]
            for a in range(1, num_actions):
                v = child + U(a) * width
                for c in range(num_cells):
                    value[here + c] = max(value[here + c], value[v + c])
        else:
            for c in range(num_cells):
                value[here + c] = zero
            for a in range(num_actions):
                v = child + U(a) * width
                for c in range(num_cells):
                    value[here + c] += sigma[v + c] * value[v + c]
            if mode == LEARN:
                _learn(
                    tables.regret[player],
                    tables.average[player],
                    U(tables.begin[player, board]) + U(tree.slot[node]) * rows,
                    num_actions,
                    rows,
                    tables.bucket[player],
                    U(first_cell),
                    tables.bucketed[player, r],
                    own.multiplicity,
                    num_cells,
                    width,
                    child,
                    sigma,
                    scratch.reach,
                    U(scratch.reach_begin[player, r])
                    + U(tree.reach_row[player, node] - tree.entry_row[player, first_entry]) * width,
                    value,
                    here,
                    child,
                    step,
                )


@kernel()
def _deal_down(
    r,  # IN   int64  round of the parents
    parent_first_entry,  # IN   int64  first entry of the parents' block
    child_board,  # IN   int64
    first_entry,  # IN   int64  entries of the next round to fill
    last_entry,  # IN   int64
    tree,  # IN   WalkTree
    cells,  # IN   (PlayerCells, PlayerCells)
    above,  # IN   float[...]  the buffer that holds the parents' reach
    scratch,  # INOUT Scratch
):
    """Give the entries of the next round, at one board, the reach of the CHANCE nodes before them."""
    width_above, width = U(scratch.width[r]), U(scratch.width[r + 1])
    reach = scratch.reach
    for q in range(2):
        mine = cells[q]
        first_cell = U(mine.cell_begin[child_board])
        num_cells = U(mine.cell_begin[child_board + 1]) - first_cell
        parent_base = tree.entry_row[q, parent_first_entry]
        base = tree.entry_row[q, first_entry]
        for entry in range(first_entry, last_entry):
            source = (
                U(scratch.reach_begin[q, r])
                + U(tree.reach_row[q, tree.entry_parent[entry]] - parent_base) * width_above
            )
            target = U(scratch.reach_begin[q, r + 1]) + U(tree.entry_row[q, entry] - base) * width
            for c in range(num_cells):
                reach[target + c] = above[source + U(mine.parent_cell[first_cell + c])]


@kernel()
def _next_entries(
    first_entry,  # IN   int64
    last_entry,  # IN   int64
    tree,  # IN   WalkTree
):
    """Return the run of entries of the next round that a block leads to; empty in the last round."""
    first = -1
    last = -1
    for node in range(tree.entry_node[first_entry], tree.entry_node[last_entry]):
        if tree.kind[node] == CHANCE:
            if first < 0:
                first = tree.next_entry[node]
            last = tree.next_entry[node] + 1
    return first, last


@kernel()
def _close_deal(
    r,  # IN   int64
    board,  # IN   int64
    first_entry,  # IN   int64  first entry of the block
    next_first,  # IN   int64  entries that follow it
    next_last,  # IN   int64
    player,  # IN   int64
    tree,  # IN   WalkTree
    cells,  # IN   (PlayerCells, PlayerCells)
    scratch,  # OUT  Scratch
    source_begin,  # IN   int64
    sums,  # IN   float[...]  [next entry, cell] from source_begin on
):
    """Turn the sums over boards and hands into values of the block's CHANCE nodes."""
    own = cells[player]
    width = U(scratch.width[r])
    first_cell = U(own.cell_begin[board])
    num_cells = U(own.cell_begin[board + 1]) - first_cell
    first_node = tree.entry_node[first_entry]
    value = scratch.value
    for entry in range(next_first, next_last):
        source = U(source_begin) + U(entry - next_first) * width
        target = U(scratch.value_begin[r]) + U(tree.entry_parent[entry] - first_node) * width
        for c in range(num_cells):
            value[target + c] = sums[source + c] / own.multiplicity[first_cell + c]


@kernel()
def _add_up(
    r,  # IN   int64  round of the finished block
    board,  # IN   int64
    first_entry,  # IN   int64  the block
    last_entry,  # IN   int64
    all_first_entry,  # IN   int64  first entry of all that hang from the parents' block
    player,  # IN   int64
    chance,  # IN   float64
    tree,  # IN   WalkTree
    cells,  # IN   (PlayerCells, PlayerCells)
    scratch,  # IN   Scratch
    target_begin,  # IN   int64
    sums,  # INOUT float[...]  [entry, parent cell] from target_begin on
):
    """Add what a block's entries are worth, summed over the hands of a cell, to the parents' cells."""
    own = cells[player]
    width_above, width = U(scratch.width[r - 1]), U(scratch.width[r])
    first_cell = U(own.cell_begin[board])
    num_cells = U(own.cell_begin[board + 1]) - first_cell
    value = scratch.value
    first_node = tree.entry_node[first_entry]
    factor = value.dtype.type(chance)
    for entry in range(first_entry, last_entry):
        source = U(scratch.value_begin[r]) + U(tree.entry_node[entry] - first_node) * width
        target = U(target_begin) + U(entry - all_first_entry) * width_above
        for c in range(num_cells):
            parent = U(own.parent_cell[first_cell + c])
            hands = value.dtype.type(own.multiplicity[first_cell + c])
            sums[target + parent] += factor * hands * value[source + c]


@kernel()
def _add_chunks(
    num_chunks,  # IN   int64
    sums,  # INOUT float[chunks, size]  flat; the first chunk receives the total
):
    """Add the chunks in order, so that threads cannot matter."""
    if num_chunks > 1:
        size = U(len(sums) // num_chunks)
        for chunk in range(1, num_chunks):
            begin = U(chunk) * size
            for k in range(size):
                sums[k] += sums[begin + k]


@kernel()
def _walk(
    stage,  # IN   int64  WHOLE, DOWN, CHUNK or UP
    chunk,  # IN   int64  which share of the boards after the root, for CHUNK
    num_chunks,  # IN   int64
    player,  # IN   int64  whose values are wanted
    mode,  # IN   int64  LEARN, BEST or EVALUATE
    step,  # IN   float64[5]
    initial,  # IN   (float[cells], float[cells])  weight of each player's hands at the root
    opponent_scale,  # IN   float64  makes values chips a hand
    tree,  # IN   WalkTree
    links,  # IN   BoardLinks
    cells,  # IN   (PlayerCells, PlayerCells)
    tables,  # INOUT Tables
    above,  # IN   float[...]  reach of the root's block, for CHUNK
    scratch,  # INOUT Scratch
    sums,  # INOUT float[chunks, entries of round 1, width]  flat
):
    """Walk the tree, or one stage of the walk, depth first over rounds and boards.

    The walk is a loop with a stack of one frame a round: (board, last board, first entry, last entry,
    first entry of the current block). A frame's block goes down, then the boards that follow are
    walked as a new frame, then the block comes up and adds its value to the frame above.
    """
    frame = scratch.frame
    reach = scratch.reach
    num_rounds = len(tree.round_entry) - 1
    next_first, next_last = _next_entries(0, 1, tree)
    chunk_size = (next_last - next_first) * scratch.width[0]
    level = 0
    frame[0, 0], frame[0, 1], frame[0, 2], frame[0, 3], frame[0, 4] = 0, 1, 0, 1, 0
    descending = True
    if stage == CHUNK:
        level = 1
        num_boards = links.child_end[0] - links.child_begin[0]
        frame[1, 0] = links.child_begin[0] + num_boards * chunk // num_chunks
        frame[1, 1] = links.child_begin[0] + num_boards * (chunk + 1) // num_chunks
        frame[1, 2], frame[1, 3], frame[1, 4] = next_first, next_last, next_first
        if frame[1, 0] == frame[1, 1]:
            return
    elif stage == UP:
        descending = False
    else:
        for q in range(2):
            scale = reach.dtype.type(opponent_scale if q != player else 1.0)
            begin = U(scratch.reach_begin[q, 0])
            for c in range(U(len(initial[q]))):
                reach[begin + c] = initial[q][c] * scale
        for k in range(U(len(sums))):
            sums[k] = 0
    while True:
        board = frame[level, 0]
        first_entry = frame[level, 4]
        last_entry = min(first_entry + scratch.entries_at_once[level], frame[level, 3])
        if descending:
            if level > 0:
                parent_entry = frame[level - 1, 4] if level > 1 else 0
                source = above if level == 1 and stage == CHUNK else reach
                _deal_down(
                    level - 1, parent_entry, board, first_entry, last_entry, tree, cells, source, scratch
                )
            descend(level, board, first_entry, last_entry, player, tree, cells, tables, scratch)
            if level == 0 and stage == DOWN:
                return
            if level + 1 < num_rounds:
                next_first, next_last = _next_entries(first_entry, last_entry, tree)
                if next_last > next_first:
                    if level > 0:
                        begin = U(scratch.deal_begin[level])
                        for k in range(U((next_last - next_first) * scratch.width[level])):
                            scratch.deal[begin + k] = 0
                    level += 1
                    frame[level, 0], frame[level, 1] = links.child_begin[board], links.child_end[board]
                    frame[level, 2], frame[level, 3], frame[level, 4] = next_first, next_last, next_first
                    continue
        if not descending:
            next_first, next_last = _next_entries(first_entry, last_entry, tree)
            if level > 0:
                _close_deal(
                    level,
                    board,
                    first_entry,
                    next_first,
                    next_last,
                    player,
                    tree,
                    cells,
                    scratch,
                    scratch.deal_begin[level],
                    scratch.deal,
                )
            else:
                _add_chunks(num_chunks, sums)
                _close_deal(0, 0, 0, next_first, next_last, player, tree, cells, scratch, 0, sums)
        ascend(level, board, first_entry, last_entry, player, mode, step, tree, cells, tables, scratch)
        if level == 0:
            return
        if level == 1:
            which = chunk if stage == CHUNK else _chunk_of(board, num_chunks, links)
            _add_up(
                1,
                board,
                first_entry,
                last_entry,
                frame[1, 2],
                player,
                links.deal_factor[board],
                tree,
                cells,
                scratch,
                which * chunk_size,
                sums,
            )
        else:
            _add_up(
                level,
                board,
                first_entry,
                last_entry,
                frame[level, 2],
                player,
                links.deal_factor[board],
                tree,
                cells,
                scratch,
                scratch.deal_begin[level - 1],
                scratch.deal,
            )
        descending = True
        frame[level, 4] = last_entry
        if last_entry == frame[level, 3]:
            frame[level, 4] = frame[level, 2]
            frame[level, 0] += 1
            if frame[level, 0] == frame[level, 1]:
                if level == 1 and stage == CHUNK:
                    return
                level -= 1
                descending = False


@kernel()
def _chunk_of(
    board,  # IN   int64  a board of round 1
    num_chunks,  # IN   int64
    links,  # IN   BoardLinks
):
    """Return the chunk that a board belongs to when boards are cut at num_boards * chunk // num_chunks."""
    place = board - links.child_begin[0]
    num_boards = links.child_end[0] - links.child_begin[0]
    chunk = place * num_chunks // num_boards
    while num_boards * (chunk + 1) // num_chunks <= place:
        chunk += 1
    return chunk


@kernel()
def walk(
    stage,  # IN   int64
    chunk,  # IN   int64
    num_chunks,  # IN   int64
    first_player,  # IN   int64
    last_player,  # IN   int64  players from first to last - 1 are walked in turn
    mode,  # IN   int64
    steps,  # IN   float64[iterations, 2, 5]  the update rule's factors
    initial,  # IN   (float[cells], float[cells])
    opponent_scales,  # IN   float64[2]
    tree,  # IN   WalkTree
    links,  # IN   BoardLinks
    cells,  # IN   (PlayerCells, PlayerCells)
    tables,  # INOUT Tables
    above,  # IN   float[...]
    scratch,  # INOUT Scratch  the root's values are the first row of `value`
    sums,  # TMP  float[...]
):
    """Walk once for each iteration and player. The one entry point, because each takes long to compile."""
    for i in range(len(steps)):
        for player in range(first_player, last_player):
            _walk(
                stage,
                chunk,
                num_chunks,
                player,
                mode,
                steps[i, player],
                initial,
                opponent_scales[player],
                tree,
                links,
                cells,
                tables,
                above,
                scratch,
                sums,
            )
