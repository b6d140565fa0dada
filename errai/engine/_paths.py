"""Kernels of sampled boards: one path of public boards, perhaps with one private hand, as a game of its own.

The walk (`_walk.py`) asks of a board where its cells and slots begin, and which boards follow it. A path has
one board a round, and its places are copied into small arrays of their own: the board of round r is number
1 + 2 r, so that the end of its cells does not have to be the beginning of the next one's. The cells
themselves stay where they are.

Where a player's hand is sampled, too, that player has one cell a round. These cells are written behind all
others, and the walk is as short as vectors of one number are:

- *The learner's own hand.* Its values count as often as the other hands would have been chosen.
- *The opponent's hand.* Own cells note whether they beat this one hand, and chips at the leaves count as
  often as its other hands would have been chosen.
"""

import numpy as np

from errai.engine._blocks import ENTRY_LEAF
from errai.engine._streams import draw_below, draw_unit, stream_key
from errai.engine._walk import CELLS, TO_THE_END, VALUES, walk
from errai.kernels import kernel
from errai.tree._cells import BELOW, NO_CELL, TIED_UP_TO, TWIN, UP_TO

U = np.uint64

ALL_HANDS, OPPONENT_HAND, OWN_HAND = 0, 1, 2
"""Which private hand is sampled besides the boards: none (PCS), the opponent's (OPCS), the own (SPCS)."""

BOARDS, HAND, OTHER_BOARDS = 0, 1, 3
"""Streams of an iteration: of its boards, of the hand with which each player learns, which are two, and of
the second player's boards where these are its own."""

NOTHING = -1
"""In place of a cell: the boards have hit every hand that was left."""


@kernel()
def sample_boards(
    key,  # IN   uint64  of a stream; numbers 0 to R - 1 are drawn
    round_board,  # IN   int64[R + 1]
    follow,  # IN   int64[B, 2]  the boards that follow each board
    before,  # IN   float64[B + 1]  chances of the deals to all boards before each board
    boards,  # OUT  int64[R]
):
    """Deal a path of boards, each as likely as a deal from the one before leads there."""
    first, last = round_board[0], round_board[1]
    for r in range(len(boards)):
        x = before[first] + draw_unit(key, U(r)) * (before[last] - before[first])
        low, high = first, last  # the last board before which there is no more than x
        while high - low > 1:
            middle = (low + high) // 2
            if before[middle] <= x:
                low = middle
            else:
                high = middle
        boards[r] = low
        first, last = follow[low, 0], follow[low, 1]


@kernel()
def sample_hand(
    key,  # IN   uint64  of a stream; numbers 0 to R - 1 are drawn
    player,  # IN   int64  whose hand
    boards,  # IN   int64[R]
    cell_begin,  # IN   int64[2, B + 1]
    parent,  # IN   int32[C]
    counts,  # IN   uint8[C, 3]
    held,  # OUT  int64[R]  the hand's cell at each board, counted from the board's first; or NOTHING
    chance,  # OUT  float64[R]  how likely the hand has this cell, the boards given
):
    """Choose a hand round by round: each cell that is left as often as it has hands."""
    num_rounds = len(boards)
    for r in range(num_rounds):
        first, last = cell_begin[player, boards[r]], cell_begin[player, boards[r] + 1]
        total = 0
        for c in range(first, last):
            if r == 0 or parent[c] == held[r - 1]:
                total += np.int64(counts[c, 2])
        held[r], chance[r] = NOTHING, 1.0
        if total == 0:
            continue
        left = np.int64(draw_below(key, U(r), U(total)))
        for c in range(first, last):
            if r == 0 or parent[c] == held[r - 1]:
                left -= np.int64(counts[c, 2])
                if left < 0:
                    held[r] = c - first
                    chance[r] = (chance[r - 1] if r > 0 else 1.0) * counts[c, 2] / total
                    break


@kernel()
def place_path(
    player,  # IN   int64  who learns
    sampled,  # IN   int64  ALL_HANDS, OPPONENT_HAND or OWN_HAND
    boards,  # IN   int64[R]
    held,  # IN   int64[R]  the sampled hand's cells
    chance,  # IN   float64[R]
    full,  # IN   FullPaths  places of all boards
    cells,  # INOUT CellArrays  of the path: `begin` and, where a hand is sampled, what is its own
    bucket,  # INOUT [player] int32[C + R]  what is behind all cells
    begin,  # OUT  int64[2, 2 R + 1]  of the path's tables
    stride,  # OUT  int64[2, 2 R + 1]
    plan,  # INOUT WalkPlan  `leaf_chips` where the opponent's hand is sampled
):
    """Let the walk see one path."""
    num_rounds = len(boards)
    number = cells.deal_weight.dtype.type
    holder = player if sampled == OWN_HAND else 1 - player
    first_extra = len(cells.parent) - num_rounds
    for r in range(num_rounds):
        board, place = boards[r], 1 + 2 * r
        for q in range(2):
            first, last = full.cell_begin[q, board], full.cell_begin[q, board + 1]
            begin[q, place], stride[q, place] = full.slot_begin[q, board], full.slot_stride[q, board]
            cells.begin[q, place], cells.begin[q, place + 1] = first, last
            if sampled == ALL_HANDS:
                continue
            if q != holder:
                if sampled == OPPONENT_HAND:
                    for c in range(first, last):
                        cells.order[c, BELOW] = held[r] != NOTHING and full.order[c, BELOW] > held[r]
                        cells.order[c, UP_TO] = held[r] != NOTHING and full.order[c, UP_TO] > held[r]
                        cells.order[c, TIED_UP_TO] = full.order[c, TIED_UP_TO]
                        is_twin = held[r] != NOTHING and full.order[c, TWIN] == held[r]
                        cells.order[c, TWIN] = 0 if is_twin else NO_CELL
                continue
            extra = first_extra + r
            cells.begin[q, place], cells.begin[q, place + 1] = extra, extra
            if held[r] == NOTHING:
                continue
            cells.begin[q, place + 1] = extra + 1
            source = first + held[r]
            if full.row_kind[q, r] == CELLS:
                begin[q, place] += held[r]
            # The cell before the deal is the only one there.
            cells.parent[extra] = full.parent[source] if r == 0 else 0
            given = chance[r] / chance[r - 1] if r > 0 else chance[0]
            cells.deal_weight[extra] = cells.deal_weight[source] / number(given)
            cells.card[extra] = cells.card[source]
            cells.counts[extra] = cells.counts[source]
            cells.order[extra] = full.order[source]
            cells.order[extra, TIED_UP_TO] = 1
            if len(cells.bucket_weight) > 0:
                cells.bucket_weight[extra] = cells.bucket_weight[source] / number(chance[r])
                start = full.cell_begin[q, 0]
                bucket[q][extra - start] = bucket[q][source - start]
            if len(cells.matches) > 0:
                cells.matches[extra] = cells.matches[source]
        if sampled == OPPONENT_HAND:
            for column in range(ENTRY_LEAF + 2 * player, ENTRY_LEAF + 2 * player + 2):
                first_leaf = plan.entries[plan.round_entry[r], column]
                last_leaf = plan.entries[plan.round_entry[r + 1], column]
                for leaf in range(first_leaf, last_leaf):
                    for k in range(plan.leaf_chips.shape[1]):
                        plan.leaf_chips[leaf, k] = full.leaf_chips[leaf, k] / chance[r]


@kernel()
def learn_paths(
    seed,  # IN   int64
    first_iteration,  # IN   int64
    sampled,  # IN   int64  ALL_HANDS, OPPONENT_HAND or OWN_HAND
    own_boards,  # IN   bool  whether each player learns on boards of its own
    modes,  # IN   uint8[2, R]
    steps,  # IN   float64[iterations, 2, 5]  the update rule's factors
    weights,  # IN   float64[iterations]  how often each iteration's regrets count
    scales,  # IN   float64[2]
    scaled,  # TMP  float64[2]
    entries,  # IN   int64[2]  of the first round, first and one past the last
    widths,  # IN   int64[2]  each player's root cells
    full,  # IN   FullPaths  all boards
    plan,  # INOUT WalkPlan
    children,  # IN   int64[2 R + 1, 2]  of the path's boards
    bounds,  # IN   int64[2]  the path's first board
    cells,  # INOUT CellArrays  of the path
    tables,  # INOUT [player] Tables  of the path, as each player learns
    boards,  # TMP  int64[R]
    held,  # TMP  int64[R]
    chance,  # TMP  float64[R]
    above,  # IN   [player] float[...]  reach of root cells
    buffers,  # INOUT Buffers
    out,  # OUT  [player] float[...]  values of root cells
):
    """Do iterations: sample a path, and let each player learn on it, perhaps with a hand of its own."""
    for i in range(len(steps)):
        for player in range(2):
            if player == 0 or own_boards:
                key = stream_key(seed, first_iteration + i, BOARDS if player == 0 else OTHER_BOARDS)
                sample_boards(key, full.round_board, full.follow, full.before, boards)
            key = stream_key(seed, first_iteration + i, HAND + player)
            if sampled != ALL_HANDS:
                holder = player if sampled == OWN_HAND else 1 - player
                sample_hand(key, holder, boards, full.cell_begin, full.parent, cells.counts, held, chance)
            own = tables[player]
            place_path(
                player, sampled, boards, held, chance, full, cells, own.bucket, own.begin, own.stride, plan
            )
            scaled[player] = scales[player] * weights[i]
            walk(
                VALUES,
                player,
                player + 1,
                modes,
                True,
                steps[i : i + 1],
                scaled,
                0,
                entries[0],
                entries[1],
                bounds,
                False,
                0,
                entries[0],
                entries[1] - entries[0],
                widths,
                len(boards),
                TO_THE_END,
                0,
                0,
                0,
                plan,
                children,
                cells,
                own,
                above,
                above,
                above,
                buffers,
                out,
            )


@kernel()
def learn_responses(
    seed,  # IN   int64
    first_iteration,  # IN   int64
    learner,  # IN   int64  position
    modes,  # IN   uint8[2, 2, R]  of the hybrid's walk, and of the learner's
    steps,  # IN   float64[2 iterations, 2, 5]  of the hybrid's walk, and of the learner's, in turn
    weights,  # IN   float64[iterations]  how often each iteration's regrets count
    scales,  # IN   float64[2]
    scaled,  # TMP  float64[2]
    entries,  # IN   int64[2]  of the first round, first and one past the last
    widths,  # IN   int64[2]  each player's root cells
    round_board,  # IN   int64[R + 1]
    follow,  # IN   int64[B, 2]
    before,  # IN   float64[B + 1]
    plan,  # IN   WalkPlan
    children,  # INOUT int64[B, 2]  a copy of `follow`; those of a path's boards are changed
    cells,  # IN   CellArrays
    tables,  # INOUT [walk] Tables
    boards,  # TMP  int64[path]  rounds of the trunk, and the first below it if any
    bounds,  # TMP  int64[2]
    above,  # IN   [player] float[...]  reach of root cells
    buffers,  # INOUT Buffers
    out,  # OUT  [player] float[...]  values of root cells
):
    """Do iterations of CFR-BR in games where no two boards of a sub-game share buckets."""
    for i in range(len(weights)):
        sample_boards(stream_key(seed, first_iteration + i, learner), round_board, follow, before, boards)
        for r in range(len(boards) - 1):
            children[boards[r], 0], children[boards[r], 1] = boards[r + 1], boards[r + 1] + 1
        bounds[0], bounds[1] = boards[0], boards[0] + 1
        for turn in range(2):
            player = learner if turn == 1 else 1 - learner
            scaled[player] = scales[player] * weights[i]
            walk(
                VALUES,
                player,
                player + 1,
                modes[turn],
                True,
                steps[2 * i + turn : 2 * i + turn + 1],
                scaled,
                0,
                entries[0],
                entries[1],
                bounds,
                False,
                0,
                entries[0],
                entries[1] - entries[0],
                widths,
                len(round_board) - 1,
                TO_THE_END,
                0,
                0,
                0,
                plan,
                children,
                cells,
                tables[turn],
                above,
                above,
                above,
                buffers,
                out,
            )
