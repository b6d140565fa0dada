"""Tables whose rows are buckets: any mapping of cells to buckets, chosen by round and by player.

A round without a mapping keeps its cells as rows, so one player may be abstracted while the other is not,
and early rounds may be lossless while late ones are not. A bucket is shared by all boards of its round
(imperfect recall) or by those that the mapping says.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.tree.cells import Cells
from errai.tree.traversal import TableLayout
from errai.tree.walk import WalkTree


@dataclass(frozen=True, eq=False)
class Buckets:
    """An abstraction of a game's cells.

    Attributes:
        maps: [player][round] int[cells of the round] the bucket of each cell, in the order of `Cells`.
    """

    maps: tuple[Mapping[int, npt.NDArray[np.integer]], Mapping[int, npt.NDArray[np.integer]]]

    @staticmethod
    def for_both(maps: Mapping[int, npt.NDArray[np.integer]]) -> "Buckets":
        """Abstract both players alike."""
        return Buckets((maps, maps))

    def num_buckets(self, player: int, round_index: int) -> int:
        """Return the number of buckets of a bucketed round."""
        return int(self.maps[player][round_index].max()) + 1

    def verify(self, cells: Cells) -> None:
        """Refuse maps that do not fit the game's cells."""
        for player, maps in enumerate(self.maps):
            for r, buckets in maps.items():
                if not 0 <= r < cells.num_rounds:
                    raise UsageError(
                        f"round {r} cannot be bucketed: this game has rounds 0 to {cells.num_rounds - 1}"
                    )
                if buckets.shape != (cells.num_cells(player, r),):
                    raise UsageError(
                        f"{buckets.shape} buckets do not fit round {r} of player {player}, "
                        f"which has {cells.num_cells(player, r):,} cells"
                    )
                if buckets.min() < 0:
                    raise UsageError(f"bucket {buckets.min()} is impossible: buckets are numbered from 0")


def bucketed_layout(walk: WalkTree, cells: Cells, buckets: Buckets) -> TableLayout:
    """Lay out tables with buckets as rows where the abstraction says so, and cells elsewhere."""
    buckets.verify(cells)
    round_board = cells.links.round_board
    begin = np.zeros((2, int(round_board[-1])), dtype=np.int64)
    rows = np.zeros_like(begin)
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
                rows[q, boards] = buckets.num_buckets(q, r)
                begin[q, boards] = end
                first = int(player.cell_begin[boards.start])
                of_cell[first : first + len(buckets.maps[q][r])] = buckets.maps[q][r]
                end += slots * buckets.num_buckets(q, r)
            else:
                rows[q, boards] = np.diff(player.cell_begin[boards.start : boards.stop + 1])
                ends = end + np.cumsum(rows[q, boards] * slots)
                begin[q, boards] = ends - rows[q, boards] * slots
                end = int(ends[-1])
        bucket.append(of_cell)
        num_slots.append(end)
    return TableLayout(begin, rows, (bucket[0], bucket[1]), bucketed, (num_slots[0], num_slots[1]))
