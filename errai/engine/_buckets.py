"""Kernels of bucketed tables: rows of buckets spread over the cells of a board, and gathered again.

In a bucketed round the actions of one information set are together, `[decision][bucket][action]`, because
whoever walks one deal reads and writes them together and finds them in one cache line
(`benchmarks/bench_bucket_layout.py`). The walk's own buffers are `[slot][cell]`, as lossless tables are.
"""

import numpy as np

from errai.kernels import kernel

U = np.uint64

PLAYER, ACTIONS, SLOT = 0, 1, 4
"""Columns of `WalkPlan.decisions`."""


@kernel()
def gather_rows(
    decisions,  # IN   int32[D, 7]
    first,  # IN   int64  the block's decisions
    last,  # IN   int64
    actor,  # IN   int64  whose table it is
    slot_base,  # IN   int64  first of the block's slots
    bucket,  # IN   int32[...]  the bucket of each cell, from first_cell on
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    begin,  # IN   int64  the block's slots in `source`
    rows,  # IN   int64  buckets
    source,  # IN   float[...]  table
    width,  # IN   int64  distance of slots in `target`
    target,  # OUT  float[slots, width]  flat
):
    """Spread the rows of buckets over the cells of a board."""
    one, two, next_slot = U(1), U(2), U(width)
    for d in range(first, last):
        if decisions[d, PLAYER] != actor:
            continue
        num_actions = U(decisions[d, ACTIONS])
        slot = decisions[d, SLOT] - slot_base
        k, t = U(begin + slot * rows), U(slot * width)
        if num_actions == 2:
            for c in range(num_cells):
                place = k + two * U(bucket[first_cell + c])
                target[t + c] = source[place]
                target[t + next_slot + c] = source[place + one]
        elif num_actions == 3:
            for c in range(num_cells):
                place = k + (two + one) * U(bucket[first_cell + c])
                target[t + c] = source[place]
                target[t + next_slot + c] = source[place + one]
                target[t + two * next_slot + c] = source[place + two]
        else:
            for a in range(num_actions):
                for c in range(num_cells):
                    target[t + a * next_slot + c] = source[k + num_actions * U(bucket[first_cell + c]) + a]


@kernel()
def scatter_rows(
    decisions,  # IN   int32[D, 7]
    first,  # IN   int64  the block's decisions
    last,  # IN   int64
    actor,  # IN   int64  whose table it is
    slot_base,  # IN   int64  first of the block's slots
    bucket,  # IN   int32[...]  the bucket of each cell, from first_cell on
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    cell_weight,  # IN   float[C]
    first_weight,  # IN   uint64  where the board's cells begin in `cell_weight`
    begin,  # IN   int64  the block's slots in `target`
    rows,  # IN   int64  buckets
    width,  # IN   int64  distance of slots in `source`
    source,  # IN   float[slots, width]  flat
    target,  # INOUT float[...]  table
):
    """Add what the cells of a board have learnt, as often as chance deals them, to their buckets."""
    one, two, next_slot = U(1), U(2), U(width)
    number = target.dtype.type
    if num_cells == 0:
        return
    for d in range(first, last):
        if decisions[d, PLAYER] != actor:
            continue
        num_actions = U(decisions[d, ACTIONS])
        slot = decisions[d, SLOT] - slot_base
        k, t = U(begin + slot * rows), U(slot * width)
        # Neighbouring cells often have one bucket. Their sum is taken before it is added: each addition to
        # the table would wait for the one before.
        if num_actions == 2 or num_actions == 3:
            is_third = num_actions == 3
            third = t + two * next_slot if is_third else t  # of two actions nobody asks for the third sum
            row = bucket[first_cell]
            x, y, z = number(0), number(0), number(0)
            for c in range(num_cells):
                if bucket[first_cell + c] != row:
                    place = k + num_actions * U(row)
                    target[place] += x
                    target[place + one] += y
                    if is_third:
                        target[place + two] += z
                    row = bucket[first_cell + c]
                    x, y, z = number(0), number(0), number(0)
                weight = cell_weight[first_weight + c]
                x += weight * source[t + c]
                y += weight * source[t + next_slot + c]
                z += weight * source[third + c]
            place = k + num_actions * U(row)
            target[place] += x
            target[place + one] += y
            if is_third:
                target[place + two] += z
        else:
            for c in range(num_cells):
                place = k + num_actions * U(bucket[first_cell + c])
                weight = cell_weight[first_weight + c]
                for a in range(num_actions):
                    target[place + a] += weight * source[t + a * next_slot + c]
