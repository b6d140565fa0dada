"""The boards of a game whose hands never fit into memory at once: dealing them, placing them in tables."""

from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from errai.engine import _paths as kernels
from errai.engine._streams import stream_key
from errai.engine.paths import deals_before
from errai.games.deals import Deals
from errai.tables.bucket_layout import BucketLayout
from errai.tables.layout import TableLayout
from errai.tree.buckets import Buckets
from errai.tree.cells import BoardLinks, Cells, board_links

BYTES_A_BOARD = 96
"""Of `CanonicalBoards`, `BoardLinks` and what is kept here; measured on the 2.6 million of limit hold'em."""


def all_boards_bytes(deals: Deals) -> int:
    """Return about what the boards of a game take without their hands; none is made."""
    return BYTES_A_BOARD * sum(deals.num_boards(r) for r in range(deals.rules.num_rounds))


class DealtBoards:
    """All boards of a game, without the hands there.

    Attributes:
        deals: the game's cards.
        links: how the boards follow each other.
        follow: int64[B, 2] the boards that follow each board.
    """

    def __init__(self, deals: Deals) -> None:
        self.deals = deals
        self.links: BoardLinks = board_links(deals)
        self.follow = np.stack([self.links.child_begin, self.links.child_end], axis=1)
        self._before = deals_before(self.links)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in (*self.links, self.follow, self._before))

    @cached_property
    def most_cells(self) -> list[int]:
        """[round] cells that a board may have."""
        deals, rules = self.deals, self.deals.rules
        return [
            deals.num_rows(r)
            if deals.num_boards(r) == 1
            else comb(rules.deck.size - rules.num_board_cards_by(r), rules.num_hole_cards)
            for r in range(rules.num_rounds)
        ]

    def sample(self, seed: int, iteration: int, lane: int, num_rounds: int) -> npt.NDArray[np.int64]:
        """Return boards of an iteration, numbered through all rounds: int64[rounds]."""
        path = np.zeros(num_rounds, dtype=np.int64)
        key = np.uint64(stream_key(seed, iteration, lane))
        kernels.sample_boards(key, self.links.round_board, self.follow, self._before, path)
        return path

    def in_rounds(self, path: npt.NDArray[np.int64]) -> list[int]:
        """Return the boards of a path, each counted in its round."""
        found: list[int] = (path - self.links.round_board[: len(path)]).tolist()
        return found

    def factors(self, path: npt.NDArray[np.int64]) -> list[float]:
        """Return what the value of each board of a path counts for at the one before.

        That is the chance of the deal over the chance to choose it among all: the sum of all deals' chances.
        """
        spans = [self.links.round_board[:2].tolist(), *self.follow[path[:-1]].tolist()]
        return [float(self._before[last] - self._before[first]) for first, last in spans]


def layout_at(layout: BucketLayout, cells: Cells, buckets: Buckets) -> TableLayout:
    """Return the places of some boards, whose rounds begin with the game's first, in tables of buckets.

    Args:
        layout: of the tables.
        cells: the boards and hands.
        buckets: of these cells.
    """
    round_board, found = cells.links.round_board, []
    for player, maps in zip(cells.players, buckets.maps, strict=True):
        bucket = np.zeros(int(player.cell_begin[-1]), dtype=np.int32)
        for r, of_round in maps.items():
            first = int(player.cell_begin[round_board[r]])
            bucket[first : first + len(of_round)] = of_round
        found.append(bucket)
    return TableLayout(
        np.repeat(layout.begin, np.diff(round_board), axis=1),
        np.repeat(layout.rows, np.diff(round_board), axis=1),
        np.repeat(layout.stride, np.diff(round_board), axis=1),
        (found[0], found[1]),
        layout.bucketed,
        layout.num_slots,
        layout.shard_begin,
    )
