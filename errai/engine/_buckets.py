"""Kernels of bucketed tables: rows of buckets spread over the cells of a board, and gathered again.

In a bucketed round the slots of one bucket are together, `[bucket][slot]`: whoever walks one deal finds what
it visits in few cache lines, and so does whoever walks a board, since the slots of a block follow each other
(`benchmarks/bench_bucket_layout.py`). The walk's own buffers are `[slot][cell]`, as lossless tables are.
"""

import numpy as np

from errai.kernels import kernel

U = np.uint64

LONG_RUN = U(4)
"""Neighbouring cells of one bucket, from which on they are taken together."""


@kernel()
def gather_rows(
    bucket,  # IN   int32[...]  the bucket of each cell, from first_cell on
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    begin,  # IN   int64  where the block's slots of the first bucket begin in `source`
    stride,  # IN   int64  from one bucket to the next
    num_slots,  # IN   int64  of the block
    source,  # IN   float[...]  table
    width,  # IN   int64  distance of slots in `target`
    target,  # OUT  float[slots, width]  flat
):
    """Spread the rows of buckets over the cells of a board."""
    one, next_slot, apart = U(1), U(width), U(stride)
    c = U(0)
    while c < num_cells:
        row = bucket[first_cell + c]
        end = c + one
        while end < num_cells and bucket[first_cell + end] == row:
            end += one
        place = U(begin) + apart * U(row)
        if end - c >= LONG_RUN:
            for s in range(U(num_slots)):
                x = source[place + s]
                for k in range(s * next_slot + c, s * next_slot + end):
                    target[k] = x
        else:
            for k in range(c, end):
                for s in range(U(num_slots)):
                    target[s * next_slot + k] = source[place + s]
        c = end


@kernel()
def scatter_rows(
    bucket,  # IN   int32[...]  the bucket of each cell, from first_cell on
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    cell_weight,  # IN   float[C]
    first_weight,  # IN   uint64  where the board's cells begin in `cell_weight`
    begin,  # IN   int64  where the block's slots of the first bucket begin in `target`
    stride,  # IN   int64  from one bucket to the next
    num_slots,  # IN   int64  of the block
    width,  # IN   int64  distance of slots in `source`
    source,  # IN   float[slots, width]  flat
    target,  # INOUT float[...]  table
):
    """Add what the cells of a board have learnt, as often as chance deals them, to their buckets."""
    one, next_slot, apart = U(1), U(width), U(stride)
    number = target.dtype.type
    c = U(0)
    while c < num_cells:
        row = bucket[first_cell + c]
        end = c + one
        while end < num_cells and bucket[first_cell + end] == row:
            end += one
        place = U(begin) + apart * U(row)
        if end - c >= LONG_RUN:
            for s in range(U(num_slots)):
                x = number(0)
                for k in range(c, end):
                    x += cell_weight[first_weight + k] * source[s * next_slot + k]
                target[place + s] += x
        else:
            for k in range(c, end):
                weight = cell_weight[first_weight + k]
                for s in range(U(num_slots)):
                    target[place + s] += weight * source[s * next_slot + k]
        c = end
