"""Sampled boards of games whose hands never fit into memory at once, such as limit hold'em's.

The hands of a path are made when it is dealt, their buckets looked up, and dropped after the walk. The tables
are `errai.tables.bucket_layout`'s, which need no hands.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.engine.dealt_boards import DealtBoards, layout_at
from errai.engine.paths import ALL_HANDS, PathWalker, SharedCut, Steps, board_stream
from errai.engine.plan import Plan
from errai.engine.root import Pair, Root
from errai.engine.workspace import Buffers, make_buffers
from errai.games.deals import Deals
from errai.tables.bucket_layout import BucketLayout
from errai.tree.buckets import Buckets
from errai.tree.cells import Cells, path_cells
from errai.tree.walk import WalkTree
from errai.workers import Workers

ENTRIES_A_THREAD = 4
"""A path is cut where so many betting sequences for each thread lead on, so that threads end together."""


class DealtPaths:
    """Paths whose hands are made when they are dealt.

    Threads share the betting sequences below a cut. No two of them have a slot in common, so the same bits
    come out on any number of threads.
    """

    def __init__(
        self,
        walk: WalkTree,
        deals: Deals,
        layout: BucketLayout,
        buckets: Callable[[Cells], Buckets],
        dtype: npt.DTypeLike,
        sampled: int = ALL_HANDS,
        num_threads: int = 1,
        *,
        own_boards: bool = False,
    ) -> None:
        """Make the boards of the game.

        Args:
            walk: the betting.
            deals: the game's cards.
            layout: of the tables.
            buckets: looks up the buckets of some cells.
            dtype: of vectors and tables.
            sampled: which private hand is sampled besides.
            num_threads: threads that share a path.
            own_boards: whether each player learns on boards of its own, or both on the same.
        """
        self._walk, self._layout, self._buckets = walk, layout, buckets
        self._dtype, self._sampled, self._num_threads = np.dtype(dtype), sampled, num_threads
        self._own_boards = own_boards
        self._boards = DealtBoards(deals)
        self._root: Root | None = None
        self._buffers: list[Buffers] = []
        self._cut = self._chosen_cut()

    def _chosen_cut(self) -> int | None:
        """Return the first round with enough entries for the threads, or the last; None for one thread."""
        num_entries = np.diff(self._walk.plan.round_entry).tolist()
        if self._num_threads == 1 or len(num_entries) == 1:
            return None
        enough = [
            r for r in range(1, len(num_entries)) if num_entries[r] >= ENTRIES_A_THREAD * self._num_threads
        ]
        return enough[0] if enough else len(num_entries) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of all vectors and tables."""
        return self._dtype

    @property
    def num_threads(self) -> int:
        """Threads that share a path."""
        return self._num_threads

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers and of the boards."""
        return self._boards.nbytes + sum(buffers.nbytes for buffers in self._buffers)

    @cached_property
    def _workers(self) -> Workers:
        return Workers(self._num_threads)

    @property
    def _shared(self) -> SharedCut | None:
        return None if self._cut is None else SharedCut(self._cut, self._workers, self._buffers[1:])

    def walker(self, path: npt.NDArray[np.int64]) -> PathWalker:
        """Make the hands of a path, look up their buckets, and return what walks it.

        Args:
            path: int64[R] boards, counted through all rounds of the game.
        """
        boards = self._boards
        cells = path_cells(boards.deals, boards.in_rounds(path), boards.factors(path))
        plan = Plan(self._walk, cells, self._dtype)
        if self._root is None:
            self._root = Root.of(cells, self._dtype)  # the same on every path
        if not self._buffers:
            with_slots = bool(self._layout.bucketed.any())
            self._buffers = [
                make_buffers(plan, with_slots=with_slots, most_cells=boards.most_cells)
                for _ in range(1 + (self._num_threads if self._cut is not None else 0))
            ]
        layout = layout_at(self._layout, cells, self._buckets(cells))
        arrays = plan.bucketed_arrays if layout.bucketed.any() else plan.arrays
        return PathWalker(
            plan, layout, arrays, self._root, self._sampled, self._buffers[0], own_boards=self._own_boards
        )

    def sample(self, seed: int, iteration: int, player: int = 0) -> npt.NDArray[np.int64]:
        """Return the boards of a player in an iteration, numbered through all rounds: int64[R]."""
        stream = board_stream(player, self._own_boards)
        return self._boards.sample(seed, iteration, stream, len(self._walk.plan.round_entry) - 1)

    def learn(self, seed: int, steps: Steps, regrets: Pair, averages: Pair) -> None:
        """Do iterations; what is played are the regrets."""
        for i, weight in enumerate(steps.weights.tolist()):
            iteration = steps.first + i
            for player in (0, 1):
                if player == 0 or self._own_boards:
                    walker = self.walker(self.sample(seed, iteration, player))
                    tables = walker.bind(regrets, averages)
                path, step = walker.sample(seed, iteration, player), steps.factors[i, player]
                walker.walk_path(player, path, tables, step, weight, self._shared)

    def close(self) -> None:
        """End the threads."""
        if "_workers" in vars(self):
            self._workers.close()
