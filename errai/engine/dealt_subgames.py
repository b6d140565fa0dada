"""Sampled sub-games of games whose hands never fit into memory at once, such as limit hold'em's.

The hands of the path and of all boards that may follow it are made when it is dealt, and dropped after the
walks. What hybrids keep, the trunk, has a row for every hand at each of its boards and must fit into memory.
"""

from collections.abc import Callable
from math import comb

import numpy as np
import numpy.typing as npt

from errai.engine.dealt_boards import DealtBoards, layout_at
from errai.engine.plan import Plan
from errai.engine.sampled_subgames import Subgame, hybrid_places, path_length
from errai.engine.workspace import Buffers, make_buffers
from errai.games.deals import Deals
from errai.memory import verify_memory
from errai.tables.bucket_layout import BucketLayout
from errai.tree.buckets import Buckets
from errai.tree.cells import Cells, cells_below, path_cells
from errai.tree.walk import WalkTree


def most_hybrid_slots(walk: WalkTree, deals: Deals, trunk: int) -> tuple[int, int]:
    """Return the slots of both hybrids' trunks, and at most those of their responses; no board is made.

    Args:
        walk: the betting.
        deals: the game's cards.
        trunk: rounds of the trunk.
    """
    rules, both = deals.rules, walk.num_slots.sum(axis=0)
    kept = sum(int(both[r]) * deals.num_rows(r) for r in range(trunk))
    responses, boards = 0, 1
    for r in range(trunk, rules.num_rounds):
        before = rules.num_board_cards_by(r - 1) if r > 0 else 0
        if r > trunk:
            boards *= comb(rules.deck.size - before, rules.num_board_cards[r])
        cells = comb(rules.deck.size - rules.num_board_cards_by(r), rules.num_hole_cards)
        responses += boards * cells * int(both[r])
    return kept, responses


class DealtSubgames:
    """Sub-games whose hands are made when they are dealt.

    Attributes:
        trunk_cells: the hands of the trunk.
    """

    def __init__(
        self,
        walk: WalkTree,
        deals: Deals,
        layout: BucketLayout,
        buckets: Callable[[Cells], Buckets],
        dtype: npt.DTypeLike,
        trunk: int,
    ) -> None:
        """Make the boards of the game, and the places of the trunk.

        Hands of boards below the trunk are not made here: on limit hold'em's turn they alone take 2.5 GiB.

        Args:
            walk: the betting.
            deals: the game's cards.
            layout: of the learners' tables.
            buckets: looks up the buckets of some cells.
            dtype: of vectors and tables.
            trunk: rounds of the trunk.
        """
        self._walk, self._layout, self._buckets = walk, layout, buckets
        self._dtype, self._trunk = np.dtype(dtype), trunk
        rules = deals.rules
        self._path_length = path_length(trunk, rules.num_rounds)
        rows = np.array([deals.num_rows(r) for r in range(rules.num_rounds)])
        trunk_slots = (walk.num_slots * rows)[:, :trunk].sum()
        # Both positions have a hybrid, and its hands are counted before they are made.
        verify_memory(
            int(trunk_slots) * self._dtype.itemsize, f"the trunks of '{rules.name}' ({trunk_slots:,} slots)"
        )
        self._boards = DealtBoards(deals)
        self.trunk_cells = cells_below(deals, 0, 0, rules.num_board_cards[0] == 0, last_round=trunk - 1)
        self._trunk_places = hybrid_places(walk, self.trunk_cells, trunk)
        self._made: dict[int, Buffers] = {}

    @property
    def trunk_slots(self) -> tuple[int, int]:
        """[position] slots that a hybrid keeps from one iteration to the next."""
        return self._trunk_places.trunk_slots

    @property
    def hybrid_slots(self) -> tuple[int, int]:
        """[position] slots with room for the responses of any sub-game."""
        round_board, follow = self._boards.links.round_board, self._boards.follow
        most_cells = self._boards.most_cells
        first = np.arange(round_board[self._trunk], round_board[self._path_length])
        last = first + 1
        sizes = np.array(self.trunk_slots)
        for r in range(self._trunk, len(most_cells)):
            sizes += int((last - first).max()) * most_cells[r] * self._walk.num_slots[:, r]
            first, last = follow[first, 0], follow[last - 1, 1]
        return int(sizes[0]), int(sizes[1])

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers and of the boards."""
        return self._boards.nbytes + sum(buffers.nbytes for buffers in self._made.values())

    def sample(self, seed: int, iteration: int, learner: int) -> Subgame:
        """Deal a sub-game for a learner."""
        return self.subgame(self._boards.sample(seed, iteration, learner, self._path_length), learner)

    def subgame(self, path: npt.NDArray[np.int64], learner: int) -> Subgame:
        """Return a sub-game of a learner: path int64[boards], boards counted through all rounds."""
        trunk, boards = self._trunk, self._boards
        numbers, factors = boards.in_rounds(path), boards.factors(path)
        cells = path_cells(boards.deals, numbers, factors, with_following=True)
        plan = Plan(self._walk, cells, self._dtype)
        if learner not in self._made:
            with_slots = bool(self._layout.bucketed.any())
            self._made[learner] = make_buffers(plan, with_slots=with_slots, most_cells=boards.most_cells)
        layout = layout_at(self._layout, cells, self._buckets(cells))
        places, above = hybrid_places(self._walk, cells, trunk), self._trunk_places
        begin = places.begin + (np.array(above.trunk_slots) - np.array(places.trunk_slots))[:, np.newaxis]
        begin[:, :trunk] = above.begin[:, path[:trunk]]
        arrays = plan.bucketed_arrays if layout.bucketed.any() else plan.arrays
        return Subgame(plan, 0, plan.children, arrays, layout, begin, places.rows)

    def buffers(self, learner: int) -> Buffers:
        """Return the buffers of those who walk for a learner."""
        return self._made[learner]
