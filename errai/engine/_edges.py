"""Kernels of a walk's edges: what is given and handed back at the start, and at the stop.

At a cut after the deal everything lies [board, entry, cell], boards one after the other: the cells of a
board begin at (cells before it) x (entries at the cut). At a cut before the deal the cells are those
of the board that the cards will be dealt to.
"""

import numpy as np

from errai.engine._blocks import ENTRY_NODE, ENTRY_ROW, PARENT_ROW
from errai.kernels import kernel

U = np.uint64


@kernel()
def start_reach(
    entries,  # IN   int32[E + 1, 14]
    first_entry,  # IN   int64  the block
    last_entry,  # IN   int64
    actor,  # IN   int64
    begin,  # IN   int64  what is given for entry `root_entry`
    distance,  # IN   int64  of what is given for one entry and the next
    root_entry,  # IN   int64
    is_dealt,  # IN   bool  whether cells are the board's own or their parents
    parent_cell,  # IN   int32[C]
    first_cell,  # IN   uint64
    num_cells,  # IN   uint64
    scale,  # IN   float
    given,  # IN   float[...]
    reach_begin,  # IN   int64
    width,  # IN   int64
    reach,  # OUT  float[...]
):
    """Give the entries of the walk's first block the reach that the caller has given."""
    for entry in range(first_entry, last_entry):
        row = entries[entry, ENTRY_ROW + actor] - entries[first_entry, ENTRY_ROW + actor]
        target = U(reach_begin + row * width)
        source = U(begin + (entry - root_entry) * distance)
        if is_dealt:
            for c in range(num_cells):
                reach[target + c] = given[source + c] * scale
        else:
            for c in range(num_cells):
                reach[target + c] = given[source + U(parent_cell[first_cell + c])] * scale


@kernel()
def mark_given(
    first_entry,  # IN   int64
    last_entry,  # IN   int64
    begin,  # IN   int64  what is given for entry `root_entry`
    distance,  # IN   int64
    root_entry,  # IN   int64
    num_cells,  # IN   uint64  numbers of one entry
    given,  # IN   float[...]  the opponent's reach
    live,  # OUT  uint8[E + 1]
):
    """Note which entries the opponent reaches with any hand; returns the first, or `last_entry`."""
    first_live = last_entry
    for entry in range(last_entry - 1, first_entry - 1, -1):
        source = U(begin + (entry - root_entry) * distance)
        live[entry] = 0
        for c in range(num_cells):
            if given[source + c] != 0:
                live[entry] = 1
                first_live = entry
                break
    return first_live


@kernel()
def end_values(
    entries,  # IN   int32[E + 1, 14]
    first_entry,  # IN   int64  the block
    last_entry,  # IN   int64
    begin,  # IN   int64  where the values of entry `root_entry` go
    root_entry,  # IN   int64
    num_cells,  # IN   uint64
    value_begin,  # IN   int64
    width,  # IN   int64
    value,  # IN   float[...]
    out,  # OUT  float[...]
):
    """Hand back the values of a block at the start, for the cells of its own board."""
    for entry in range(first_entry, last_entry):
        node = entries[entry, ENTRY_NODE] - entries[first_entry, ENTRY_NODE]
        source = U(value_begin + node * width)
        target = U(begin) + U(entry - root_entry) * num_cells
        for c in range(num_cells):
            out[target + c] = value[source + c]


@kernel()
def hand_out(
    entries,  # IN   int32[E + 1, 14]
    first_entry,  # IN   int64  entries of the next round
    last_entry,  # IN   int64
    actor,  # IN   int64
    row_base,  # IN   int64  first reach row of the block before the stop
    reach_begin,  # IN   int64
    width,  # IN   int64
    reach,  # IN   float[...]
    is_dealt,  # IN   bool
    parent_cell,  # IN   int32[C]
    first_cell,  # IN   uint64  cells at the stop
    num_cells,  # IN   uint64
    begin,  # IN   int64  where the reach of entry `given_entry` goes
    given_entry,  # IN   int64
    given,  # OUT  float[...]
):
    """Hand out the reach that arrives at the stop, at one board."""
    for entry in range(first_entry, last_entry):
        source = U(reach_begin + (entries[entry, PARENT_ROW + actor] - row_base) * width)
        target = U(begin) + U(entry - given_entry) * num_cells
        if is_dealt:
            for c in range(num_cells):
                given[target + c] = reach[source + U(parent_cell[first_cell + c])]
        else:
            for c in range(num_cells):
                given[target + c] = reach[source + c]


@kernel()
def take_values(
    first_entry,  # IN   int64  entries of the next round
    last_entry,  # IN   int64
    is_dealt,  # IN   bool
    parent_cell,  # IN   int32[C]
    deal_weight,  # IN   float[C]
    first_cell,  # IN   uint64  cells at the stop
    num_cells,  # IN   uint64
    begin,  # IN   int64  the values of entry `given_entry`
    given_entry,  # IN   int64
    given,  # IN   float[...]
    deals_begin,  # IN   int64
    width,  # IN   int64
    deal,  # INOUT float[...]  [entry, cell before the deal]
):
    """Add the values that are given at the stop, at one board, to those before the deal."""
    for entry in range(first_entry, last_entry):
        source = U(begin) + U(entry - given_entry) * num_cells
        target = U(deals_begin + (entry - first_entry) * width)
        if is_dealt:
            for c in range(num_cells):
                k = target + U(parent_cell[first_cell + c])
                deal[k] += deal_weight[first_cell + c] * given[source + c]
        else:
            for c in range(num_cells):
                deal[target + c] = given[source + c]
