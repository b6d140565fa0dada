"""Kernels of `subgame_layout.py`."""

import numpy as np

from errai.kernels import kernel

U = np.uint64


@kernel()
def copy_blocks(
    first_slot,  # IN   int64  of a run of entries, counted through the round
    num_slots,  # IN   int64
    rows,  # IN   int64[boards of the round]
    source_begin,  # IN   int64[boards of the round]  as the walk takes it: shifted by `first_slot`
    target_begin,  # IN   int64[boards of the round]
    source,  # IN   number[...]  table
    target,  # OUT  number[...]  table
):
    """Copy the slots of a run of entries, board by board, from one layout to another."""
    for b in range(len(rows)):
        shift = first_slot * rows[b]
        k, t = U(source_begin[b] + shift), U(target_begin[b] + shift)
        for i in range(U(num_slots * rows[b])):
            target[t + i] = source[k + i]
