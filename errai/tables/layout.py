"""Where the slots of a game's tables are: rows of cells or of buckets, board by board.

A table is one flat array for each player. `TableLayout` says where the slots of each board begin and how many
rows it has; `Tables` binds arrays to a layout for the engine.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.tree.buckets import Buckets
from errai.tree.cells import Cells
from errai.tree.walk import WalkTree

Floats = npt.NDArray[Any]
Places = npt.NDArray[np.int64]


class Tables(NamedTuple):
    """Where each player's numbers are, and what is read and written.

    Attributes:
        source: [player] float[slots] what is played, in proportion to its positive part.
        regret: [player] float[slots] written where the player learns.
        average: [player] float[slots] written where the player learns.
        begin: int64[2, B] first slot of each board.
        stride: int64[2, B] as in `TableLayout`.
        gain: float[slots] of the player who learns, to which buckets add regrets, and the same for averages:
            the tables themselves, or the share of some boards.
        bucket: [player] int32[C] row of each cell where a round is bucketed.
        row_kind: uint8[2, R] whether a round's rows are cells, buckets or one for all cells.
    """

    source: tuple[Floats, Floats]
    regret: tuple[Floats, Floats]
    average: tuple[Floats, Floats]
    gain: tuple[Floats, Floats]
    begin: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    bucket: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
    row_kind: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class TableLayout:
    """The places of slots, board by board.

    Where rows are cells, the slots of a board lie `[slot][row]`, so that a walk of all cells reads them in
    order. Where rows are buckets, which all boards of a round share, they lie `[row][slot]`: what a walk of
    one deal visits is together, and neighbouring decisions of a bucket share cache lines.

    Attributes:
        begin: int64[2, B] the first slot of each board.
        rows: int64[2, B] rows of each board: its cells, or the round's buckets.
        stride: int64[2, B] from one slot to the next where rows are cells, that is how many rows there are;
            from one row to the next where they are buckets, that is how many slots there are.
        bucket: [player] int32[C], or empty.
        bucketed: bool[2, R].
        num_slots: [player] slots in all.
        shard_begin: [player] int64[shards + 1] where each shard begins and, last, where all end. A shard is
            the slots that are worked on, and saved, together.
    """

    begin: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    bucket: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
    bucketed: npt.NDArray[np.bool_]
    num_slots: tuple[int, int]
    shard_begin: tuple[Places, Places]

    def tables(
        self, source: tuple[Floats, Floats], regret: tuple[Floats, Floats], average: tuple[Floats, Floats]
    ) -> Tables:
        """Bind arrays to the layout."""
        gain = (regret[0], average[0])
        return Tables(
            source,
            regret,
            average,
            gain,
            self.begin,
            self.stride,
            self.bucket,
            self.bucketed.astype(np.uint8),
        )

    def paired_with(self, other: "TableLayout") -> "TableLayout":
        """Return the first player's places here and the second's in another layout of the same game."""
        return TableLayout(
            np.stack([self.begin[0], other.begin[1]]),
            np.stack([self.rows[0], other.rows[1]]),
            np.stack([self.stride[0], other.stride[1]]),
            (self.bucket[0], other.bucket[1]),
            np.stack([self.bucketed[0], other.bucketed[1]]),
            (self.num_slots[0], other.num_slots[1]),
            (self.shard_begin[0], other.shard_begin[1]),
        )

    def decision(
        self, table: Floats, player: int, board: int, round_index: int, slot: int, num_actions: int
    ) -> Floats:
        """Return a view of the slots of a decision at a board: float[actions, rows].

        Args:
            table: of the player.
            player: who decides.
            board: counted through all rounds.
            round_index: of the board.
            slot: the decision's first, as in `WalkTree`.
            num_actions: at the decision.
        """
        return decision_view(
            table[int(self.begin[player, board]) :],
            int(self.rows[player, board]),
            int(self.stride[player, board]),
            bool(self.bucketed[player, round_index]),
            slice(slot, slot + num_actions),
        )

    def zeros(self, dtype: npt.DTypeLike) -> tuple[Floats, Floats]:
        """Allocate a table of zeros for both players."""
        return np.zeros(self.num_slots[0], dtype=dtype), np.zeros(self.num_slots[1], dtype=dtype)


def decision_view(table: Floats, rows: int, stride: int, is_bucketed: bool, slots: slice) -> Floats:
    """Return a view of some slots of a board, or of a round's buckets: float[slots, rows].

    Args:
        table: from the first slot of the board or the round on.
        rows: of the board or the round.
        stride: as in `TableLayout`.
        is_bucketed: whether rows are buckets.
        slots: of the decision, counted through its player's slots of the round.
    """
    if is_bucketed:
        return table[: rows * stride].reshape(rows, stride)[:, slots].T
    return table[slots.start * stride : slots.stop * stride].reshape(-1, rows)


def slot_and_row(place: int, stride: int, is_bucketed: bool) -> tuple[int, int]:
    """Return slot and row of a place, counted from the first of a board or a round as in `TableLayout`."""
    quotient, remainder = divmod(place, stride)
    return (remainder, quotient) if is_bucketed else (quotient, remainder)


def lossless_layout(walk: WalkTree, cells: Cells) -> TableLayout:
    """Lay out tables whose rows are the cells themselves, round by round and board by board."""
    num_boards = int(cells.links.round_board[-1])
    begin = np.zeros((2, num_boards), dtype=np.int64)
    rows = np.zeros((2, num_boards), dtype=np.int64)
    num_slots = []
    for q, player in enumerate(cells.players):
        rows[q] = np.diff(player.cell_begin)
        per_round = np.repeat(walk.num_slots[q], np.diff(cells.links.round_board))
        ends = np.cumsum(rows[q] * per_round)
        begin[q] = ends - rows[q] * per_round
        num_slots.append(int(ends[-1]))
    empty = np.zeros(0, dtype=np.int32)
    bucketed = np.zeros((2, cells.num_rounds), dtype=bool)
    sizes = (num_slots[0], num_slots[1])
    return TableLayout(begin, rows, rows, (empty, empty), bucketed, sizes, _shards_by_board(begin, sizes))


def _shards_by_board(begin: Places, num_slots: tuple[int, int]) -> tuple[Places, Places]:
    """Return shards that are the slots of a board, or those that all boards of a bucketed round share."""
    first, second = (np.append(np.unique(begin[player]), num_slots[player]) for player in (0, 1))
    return first, second


def bucketed_layout(walk: WalkTree, cells: Cells, buckets: Buckets) -> TableLayout:
    """Lay out tables with buckets as rows where the abstraction says so, and cells elsewhere."""
    buckets.verify(cells)
    round_board = cells.links.round_board
    begin = np.zeros((2, int(round_board[-1])), dtype=np.int64)
    rows, stride = np.zeros_like(begin), np.zeros_like(begin)
    bucketed = np.zeros((2, cells.num_rounds), dtype=bool)
    bucket, num_slots = [], []
    for q, player in enumerate(cells.players):
        of_cell = np.zeros(int(player.cell_begin[-1]), dtype=np.int32)
        end = 0
        for r in range(cells.num_rounds):
            boards = slice(int(round_board[r]), int(round_board[r + 1]))
            slots = int(walk.num_slots[q, r])
            if r in buckets.maps[q]:
                bucketed[q, r] = True
                rows[q, boards], stride[q, boards] = buckets.num_buckets(r, q), slots
                begin[q, boards] = end
                first = int(player.cell_begin[boards.start])
                of_cell[first : first + len(buckets.maps[q][r])] = buckets.maps[q][r]
                end += slots * buckets.num_buckets(r, q)
            else:
                rows[q, boards] = np.diff(player.cell_begin[boards.start : boards.stop + 1])
                stride[q, boards] = rows[q, boards]
                ends = end + np.cumsum(rows[q, boards] * slots)
                begin[q, boards] = ends - rows[q, boards] * slots
                end = int(ends[-1])
        bucket.append(of_cell)
        num_slots.append(end)
    sizes = (num_slots[0], num_slots[1])
    of_cells = (bucket[0], bucket[1])
    return TableLayout(begin, rows, stride, of_cells, bucketed, sizes, _shards_by_board(begin, sizes))


def spread_rows(
    walk: WalkTree, cells: Cells, layout: TableLayout, lossless: TableLayout, player: int, table: Floats
) -> Floats:
    """Return a player's table with a row for every cell, each a copy of its bucket's.

    Args:
        walk: the betting as kernels see it.
        cells: the boards and hands.
        layout: of `table`.
        lossless: of the table to return.
        player: whose table it is.
        table: float[slots].
    """
    spread = np.empty(lossless.num_slots[player], dtype=table.dtype)
    cell_begin = cells.players[player].cell_begin
    for board in range(int(cells.links.round_board[-1])):
        r = int(np.searchsorted(cells.links.round_board, board, side="right")) - 1
        num_slots = int(walk.num_slots[player, r])
        begin, rows = int(layout.begin[player, board]), int(layout.rows[player, board])
        slots = table[begin : begin + num_slots * rows]
        if layout.bucketed[player, r]:
            bucket = layout.bucket[player][cell_begin[board] : cell_begin[board + 1]]
            slots = slots.reshape(rows, num_slots)[bucket].T
        begin = int(lossless.begin[player, board])
        spread[begin : begin + slots.size] = slots.ravel()
    return spread
