"""The immutable plan of a walk: betting, boards and hands as the kernels see them.

A plan is shared by any number of callers and threads; each walks it in buffers of its own
(`errai.engine.workspace`). Its boards are those of a whole game, of one sub-game or of one path: rounds
are counted from the first that its cells have, which is `first_round` of the game.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.tables.layout import Floats
from errai.tree.cells import BoardLinks, Cells, PlayerCells
from errai.tree.walk import WalkTree


class CellArrays(NamedTuple):
    """What kernels know of the cells: those of the first player, then those of the second where they differ.

    Attributes:
        begin: int64[2, B + 1] the cells of each player at each board.
        parent: int32[C] as in `PlayerCells`.
        deal_weight: float[C] as in `PlayerCells`.
        card: uint8[C, 2] as in `PlayerCells`.
        counts: uint8[C, 3] hands with the first card, with the second, and all.
        order: int32[C, 4] as in `PlayerCells`.
        used_cards: uint8[...] all cards that occur in `card`.
        bucket_weight: float[C] how much of its bucket a cell is: its hands times the chance of the deals so
            far; empty where no round is bucketed.
        matches: uint8[C, 6] in Bluff, as in `PlayerCells`.
    """

    begin: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int32]
    deal_weight: Floats
    card: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint8]
    order: npt.NDArray[np.int32]
    used_cards: npt.NDArray[np.uint8]
    bucket_weight: Floats
    matches: npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Plan:
    """What is walked.

    Attributes:
        walk: the betting of the whole game.
        cells: boards and hands.
        dtype: of all vectors; tables must have the same.
    """

    walk: WalkTree
    cells: Cells
    dtype: np.dtype[Any]

    @property
    def first_round(self) -> int:
        """The game's round that the plan's first is."""
        return self.cells.first_round

    @property
    def num_rounds(self) -> int:
        """Rounds that the plan has boards for."""
        return self.cells.num_rounds

    def entries(self, round_index: int) -> tuple[int, int]:
        """Return the first entry of a round, and one past its last; rounds counted as in the plan."""
        begin = self.walk.plan.round_entry
        return int(begin[self.first_round + round_index]), int(begin[self.first_round + round_index + 1])

    def boards(self, round_index: int) -> tuple[int, int]:
        """Return the first board of a round, and one past its last."""
        begin = self.cells.links.round_board
        return int(begin[round_index]), int(begin[round_index + 1])

    def num_cells(self, player: int, first_board: int, last_board: int) -> int:
        """Return a player's cells at some neighbouring boards."""
        begin = self.arrays.begin[player]
        return int(begin[last_board] - begin[first_board])

    @cached_property
    def children(self) -> npt.NDArray[np.int64]:
        """int64[B, 2] the boards that follow each board."""
        return np.stack([self.cells.links.child_begin, self.cells.links.child_end], axis=1)

    @cached_property
    def arrays(self) -> CellArrays:
        """The cells for kernels."""
        return cell_arrays(self.cells, self.dtype)

    @cached_property
    def bucketed_arrays(self) -> CellArrays:
        """The same with what only bucketed tables need."""
        return self.arrays._replace(bucket_weight=_bucket_weights(self.cells, self.dtype))


def cell_arrays(cells: Cells, dtype: np.dtype[Any]) -> CellArrays:
    """Return both players' cells for kernels."""
    first, second = cells.players
    begin = np.stack([first.cell_begin, second.cell_begin])
    joined = first
    if second is not first:
        begin[1] += begin[0, -1]
        pairs: Any = zip(first, second, strict=True)
        joined = PlayerCells(*(np.concatenate(arrays) for arrays in pairs))
    return CellArrays(
        begin=begin,
        parent=joined.parent_cell,
        deal_weight=joined.deal_weight.astype(dtype, copy=False),
        card=joined.card,
        counts=joined.counts,
        order=joined.order,
        used_cards=np.unique(joined.card),
        bucket_weight=np.zeros(0, dtype=dtype),
        matches=joined.matches,
    )


def parent_boards(links: BoardLinks) -> npt.NDArray[np.int64]:
    """Return the parent of each board after the first round: boards are numbered in the order of parents."""
    return np.repeat(np.arange(len(links.child_begin)), links.child_end - links.child_begin)


def _bucket_weights(cells: Cells, dtype: np.dtype[Any]) -> Floats:
    links = cells.links
    chance = links.deal_factor.copy()
    parents = parent_boards(links)
    for first, last in pairwise(links.round_board[1:].tolist()):
        chance[first:last] *= chance[parents[first - links.round_board[1] : last - links.round_board[1]]]
    players = cells.players[:1] if cells.players[0] is cells.players[1] else cells.players
    weights = [np.repeat(chance, np.diff(player.cell_begin)) * player.multiplicity for player in players]
    return np.concatenate(weights).astype(dtype)
