"""Kernels of bucketed tables: rows of buckets spread over the cells of a board, and gathered again."""

import numpy as np

from errai.kernels import kernel

U = np.uint64


@kernel()
def gather_rows(
    bucket,  # IN   int32[...]  the bucket of each cell, from first_cell on
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    num_slots,  # IN   int64
    begin,  # IN   int64
    rows,  # IN   int64
    source,  # IN   float[...]  table
    width,  # IN   int64
    target,  # OUT  float[slots, width]  flat
):
    """Spread the rows of buckets over the cells of a board."""
    for s in range(num_slots):
        k, t = U(begin + s * rows), U(s * width)
        for c in range(num_cells):
            target[t + c] = source[k + U(bucket[first_cell + c])]


@kernel()
def scatter_rows(
    bucket,  # IN   int32[...]
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    cell_weight,  # IN   float[C]
    first_weight,  # IN   uint64  where the board's cells begin in `cell_weight`
    num_slots,  # IN   int64
    begin,  # IN   int64
    rows,  # IN   int64
    width,  # IN   int64
    source,  # IN   float[slots, width]  flat
    target,  # INOUT float[...]  table
):
    """Add what the cells of a board have learnt, as often as chance deals them, to their buckets."""
    # Slots inside: neighbouring cells often have one bucket, and each sum would wait for the one before.
    for c in range(num_cells):
        k, t = U(begin) + U(bucket[first_cell + c]), c
        weight = cell_weight[first_weight + c]
        for _ in range(num_slots):
            target[k] += weight * source[t]
            k += U(rows)
            t += U(width)
