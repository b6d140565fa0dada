"""The buffers of one caller of a plan: reach and values of a block in every round, and the walk's stack."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine import _walk as kernels
from errai.engine._blocks import ENTRY_NODE, ENTRY_SLOT
from errai.engine._lanes import LANES, TILE
from errai.engine._terminal import SUMS_SIZE
from errai.engine.plan import Plan
from errai.tables.layout import Floats

MAX_BLOCK_BYTES = 1 << 20
"""Entries are walked together as long as a block's buffers stay within a core's own cache."""

NUM_COLUMNS = 15


class Buffers(NamedTuple):
    """Buffers of one thread. Rows of a round are a width apart.

    Attributes:
        reach: float[...] reach rows of each round and player.
        value: float[...] value rows, one a node of the block, and one that nobody reads.
        deal: float[...] sums over boards for the CHANCE nodes of a block.
        lanes: float[3, max width + 1, LANES] flat.
        lane_sums: float[SUMS_SIZE].
        lane_offsets: uint64[3, LANES].
        slots: float[3, ...] what is played, learnt and averaged in the slots of a block, spread over its
            cells; empty where every round's rows are cells.
        live: uint8[E + 1] which entries are walked.
        frame: int64[R, 15] for each round the width of rows (at least the most cells at a board, a multiple
            of `TILE`), entries in a block, where its rows begin in `value` and in `deal`, the row that
            nobody reads, where each player's begin in `reach`, slots of each player in earlier rounds; and
            the walk's stack: board, last board, first entry, last entry, the block's first and last.
    """

    reach: Floats
    value: Floats
    deal: Floats
    lanes: Floats
    lane_sums: Floats
    lane_offsets: npt.NDArray[np.uint64]
    slots: Floats
    live: npt.NDArray[np.uint8]
    frame: npt.NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers."""
        return sum(array.nbytes for array in self)


def make_buffers(
    plan: Plan,
    top: int = 0,
    stop: int | None = None,
    with_slots: bool = False,
    most_cells: Sequence[int] | None = None,
) -> Buffers:
    """Allocate the buffers of one thread; zeros take no memory before they are written to.

    Args:
        plan: what is walked.
        top: the first round that is walked.
        stop: the round to stop before; by default all to the end.
        with_slots: whether tables may have other rows than cells.
        most_cells: [round] the most at a board, for buffers that other boards are to be walked in, too.
    """
    walk = plan.walk.plan
    stop = plan.num_rounds if stop is None else stop
    frame = np.zeros((plan.num_rounds, NUM_COLUMNS), dtype=np.int64)
    reach_size = value_size = deal_size = 0
    for r in range(top, stop):
        first, last = plan.entries(r)
        width = -(-(most_cells[r] if most_cells else plan.cells.max_cells(r)) // TILE) * TILE
        # Nobody gets to some rounds below a line that ends before them.
        nodes = int(np.diff(walk.entries[first : last + 1, ENTRY_NODE]).max(initial=0))
        block_bytes = 2 * max(1, nodes) * width * plan.dtype.itemsize
        at_once = max(1, min(last - first, MAX_BLOCK_BYTES // block_bytes))
        size = nodes * at_once * width
        frame[r, kernels.WIDTH], frame[r, kernels.AT_ONCE] = width, at_once
        frame[r, kernels.VALUES_BEGIN], frame[r, kernels.DEALS] = value_size, deal_size
        for q in range(2):
            frame[r, kernels.REACH_BEGIN + q] = reach_size
            frame[r, kernels.FIRST_SLOT + q] = walk.entries[first, ENTRY_SLOT + q]
            reach_size += size  # at most one row a node
        value_size += size
        deal_size += size
    frame[:, kernels.WASTE] = value_size
    widest = int(frame[:, kernels.WIDTH].max())
    zeros = partial(np.zeros, dtype=plan.dtype)
    return Buffers(
        reach=zeros(reach_size),
        value=zeros(value_size + widest),
        deal=zeros(deal_size),
        lanes=zeros(3 * (widest + 1) * LANES),
        lane_sums=zeros(SUMS_SIZE),
        lane_offsets=np.zeros((3, LANES), dtype=np.uint64),
        # An action of a block leads to a node of it, so there are no more slots than nodes.
        slots=zeros((3, value_size + widest if with_slots else 0)),
        live=np.zeros(len(walk.entries), dtype=np.uint8),
        frame=frame,
    )
