"""Sampled sub-games: one path of boards through the trunk, and all that may follow it.

What CFR-BR walks (Johanson, Bard, Burch and Bowling 2012; chapter 4 of Johanson's thesis). One position, the
*learner*, has tables of its own, with buckets or without. The other one, the *hybrid*, sees everything: it
learns in the trunk, and below it answers the learner with a best response that is written down, played
against, and forgotten. Steps of an iteration:

1. Boards are dealt as far as the first round below the trunk, as in `errai.engine.paths`.
2. The hybrid is walked: in the trunk it learns, below it keeps its best actions.
3. The learner is walked, and learns in all rounds against that.

A trunk may have as many rounds as the game. A path then has a board in each of them, nothing follows it, and
the hybrid learns everywhere.

The hybrid's table is the trunk's rows, board by board, and behind them room for the responses of one
sub-game. Deals that were sampled count as often as those that might have been dealt instead, so that values
are unbiased; deals below them count as in a full walk.
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from errai.engine import _paths as path_kernels
from errai.engine import _walk as kernels
from errai.engine._streams import stream_key
from errai.engine.paths import Steps, deals_before, sampled_arrays
from errai.engine.plan import CellArrays, Plan
from errai.engine.root import Pair, Root
from errai.engine.section import KEEP, LEARN, NUM_FACTORS
from errai.engine.workspace import Buffers, make_buffers
from errai.tables.layout import Floats, Places, TableLayout, Tables
from errai.tree.cells import Cells
from errai.tree.walk import WalkTree

NO_AVERAGE = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
"""The step of a hybrid: what it plays on average is nobody's concern."""


class Subgame(NamedTuple):
    """What is walked in an iteration.

    Attributes:
        plan: boards and hands of, at least, the path and what follows it.
        first_board: the path's board in the first round.
        children: int64[B, 2] the boards that follow each board: in the trunk the path's alone.
        cells: weighted as sampled.
        layout: of the learner's tables, at the plan's boards.
        hybrid_begin: int64[2, B] where the slots of each board are in the table of a hybrid in each position.
        hybrid_rows: int64[2, B].
    """

    plan: Plan
    first_board: int
    children: npt.NDArray[np.int64]
    cells: CellArrays
    layout: TableLayout
    hybrid_begin: Places
    hybrid_rows: Places


class SubgameSource(Protocol):
    """What deals sub-games."""

    @property
    def trunk_slots(self) -> tuple[int, int]:
        """[position] slots that a hybrid keeps from one iteration to the next."""

    @property
    def hybrid_slots(self) -> tuple[int, int]:
        """[position] slots with room for the responses of any sub-game."""

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""

    def sample(self, seed: int, iteration: int, learner: int) -> Subgame:
        """Deal a sub-game for a learner."""

    def buffers(self, learner: int) -> Buffers:
        """Return the buffers of those who walk for a learner."""


class HybridPlaces(NamedTuple):
    """Where the slots of hybrids are.

    Attributes:
        begin: int64[2, B].
        rows: int64[2, B].
        trunk_slots: [position] slots of the trunk.
        size: [position] slots with those of one sub-game.
    """

    begin: Places
    rows: Places
    trunk_slots: tuple[int, int]
    size: tuple[int, int]


def path_length(trunk: int, num_rounds: int) -> int:
    """Return the boards of a path: the trunk's, and the first below it where there is one."""
    return min(trunk + 1, num_rounds)


def hybrid_places(walk: WalkTree, cells: Cells, trunk: int) -> HybridPlaces:
    """Lay out hybrids' tables for all boards of a plan.

    Args:
        walk: the betting.
        cells: boards and hands.
        trunk: rounds of the trunk; where the cells have no others, there are no responses.
    """
    links = cells.links
    begin, rows = (np.zeros((2, int(links.round_board[-1])), dtype=np.int64) for _ in range(2))
    trunk_slots, sizes = [], []
    for q, player in enumerate(cells.players):
        rows[q] = np.diff(player.cell_begin)
        end = kept = 0
        # [board of the first round below the trunk] the boards below it in the round at hand
        below = np.arange(
            links.round_board[trunk], links.round_board[path_length(trunk, cells.num_rounds)] + 1
        )
        for r in range(cells.num_rounds):
            first, last = links.round_board[r : r + 2].tolist()
            before = np.concatenate([[0], np.cumsum(rows[q, first:last])])
            slots = int(walk.num_slots[q, cells.first_round + r])
            if r < trunk:
                begin[q, first:last] = end + before[:-1] * slots
                end = kept = end + int(before[-1]) * slots
                continue
            if r > trunk:
                below = np.append(links.child_begin[below[:-1]], last)
            starts = before[below - first]
            begin[q, first:last] = end + (before[:-1] - np.repeat(starts[:-1], np.diff(below))) * slots
            end += int(np.diff(starts).max()) * slots
        trunk_slots.append(kept)
        sizes.append(end)
    return HybridPlaces(begin, rows, (trunk_slots[0], trunk_slots[1]), (sizes[0], sizes[1]))


class GameSubgames:
    """Sub-games of a game whose hands are all in memory.

    Attributes:
        plan: the whole game.
        layout: of the learners' tables.
    """

    def __init__(self, plan: Plan, layout: TableLayout, trunk: int) -> None:
        """Weigh the deals.

        Args:
            plan: the whole game.
            layout: of the learners' tables.
            trunk: rounds of the trunk.
        """
        self.plan, self.layout, self._path_length = plan, layout, path_length(trunk, plan.num_rounds)
        bucketed = bool(layout.bucketed.any())
        self._cells = sampled_arrays(plan, bucketed, trunk)
        self._before = deals_before(plan.cells.links)
        self._places = hybrid_places(plan.walk, plan.cells, trunk)
        self._children = [plan.children.copy() for _ in range(2)]
        self._buffers = [make_buffers(plan, with_slots=bucketed) for _ in range(2)]

    @property
    def trunk_slots(self) -> tuple[int, int]:
        """[position] slots that a hybrid keeps from one iteration to the next."""
        return self._places.trunk_slots

    @property
    def hybrid_slots(self) -> tuple[int, int]:
        """[position] slots with room for the responses of any sub-game."""
        return self._places.size

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""
        return sum(buffers.nbytes for buffers in self._buffers) + sum(own.nbytes for own in self._children)

    def sample(self, seed: int, iteration: int, learner: int) -> Subgame:
        """Deal a sub-game for a learner; the last one of this learner is no longer to be walked."""
        path = np.zeros(self._path_length, dtype=np.int64)
        key = np.uint64(stream_key(seed, iteration, learner))
        round_board = self.plan.cells.links.round_board
        path_kernels.sample_boards(key, round_board, self.plan.children, self._before, path)
        return self.subgame(path, learner)

    def subgame(self, path: npt.NDArray[np.int64], learner: int) -> Subgame:
        """Return a sub-game of a learner: path int64[boards], boards counted through all rounds."""
        # What an earlier path has left is at boards that this one does not visit, or replaces.
        self._children[learner][path[:-1]] = np.stack([path[1:], path[1:] + 1], axis=1)
        return self.whole(learner)._replace(first_board=int(path[0]))

    def whole(self, learner: int) -> Subgame:
        """Return what all sub-games of a learner have in common."""
        children, places = self._children[learner], self._places
        return Subgame(self.plan, 0, children, self._cells, self.layout, places.begin, places.rows)

    def learn(
        self,
        seed: int,
        steps: Steps,
        learner: int,
        modes: npt.NDArray[np.uint8],
        tables: tuple[Tables, Tables],
        root: Root,
    ) -> None:
        """Do iterations for a learner: modes and tables are those of the hybrid's walk and of its own."""
        factors = np.empty((2 * len(steps.weights), 2, NUM_FACTORS))
        factors[::2] = NO_AVERAGE
        factors[1::2] = steps.factors
        path_kernels.learn_responses(
            seed,
            steps.first,
            learner,
            modes,
            factors,
            steps.weights,
            root.scales,
            np.zeros(2),
            np.array(self.plan.entries(0)),
            np.array([len(initial) for initial in root.initial]),
            self.plan.cells.links.round_board,
            self.plan.children,
            self._before,
            self.plan.walk.plan,
            self._children[learner],
            self._cells,
            tables,
            np.zeros(self._path_length, dtype=np.int64),
            np.zeros(2, dtype=np.int64),
            root.initial,
            self._buffers[learner],
            (np.zeros_like(root.initial[0]), np.zeros_like(root.initial[1])),
        )

    def buffers(self, learner: int) -> Buffers:
        """Return the buffers of those who walk for a learner."""
        return self._buffers[learner]


class ResponseWalk:
    """One learner, and the hybrid that it learns against.

    Attributes:
        learner: its position.
        hybrid: float[slots] the hybrid's regrets in the trunk, then its responses.
    """

    def __init__(self, source: SubgameSource, learner: int, trunk: int, root: Root) -> None:
        """Allocate the hybrid's table.

        Args:
            source: of sub-games.
            learner: the learner's position.
            trunk: rounds of the trunk.
            root: how likely the hands are.
        """
        self.learner, self._source, self._trunk, self._root = learner, source, trunk, root
        self.hybrid: Floats = np.zeros(source.hybrid_slots[1 - learner], root.initial[0].dtype)
        self._gains: tuple[Floats, Floats] | None = None

    @property
    def trunk(self) -> Floats:
        """float[slots] what the hybrid keeps from one iteration to the next."""
        return self.hybrid[: self._source.trunk_slots[1 - self.learner]]

    def learn(self, seed: int, steps: Steps, regrets: Floats, averages: Floats) -> None:
        """Do iterations: regrets and averages are the learner's."""
        source = self._source
        if isinstance(source, GameSubgames) and not self._shares_buckets(source.layout):
            source.learn(
                seed,
                steps,
                self.learner,
                self._modes(source.plan.num_rounds),
                (
                    self._tables(source.whole(self.learner), regrets, regrets),
                    self._tables(source.whole(self.learner), regrets, averages),
                ),
                self._root,
            )
            return
        for i, weight in enumerate(steps.weights.tolist()):
            subgame = self._source.sample(seed, steps.first + i, self.learner)
            self.respond(subgame, regrets, weight)
            self.learn_on(subgame, regrets, averages, steps.factors[i, self.learner], weight)

    def respond(self, subgame: Subgame, regrets: Floats, weight: float = 1.0) -> None:
        """Let the hybrid learn in the trunk, and write down its best actions below."""
        position = 1 - self.learner
        tables, modes = self._tables(subgame, regrets, regrets), self._modes(subgame.plan.num_rounds)
        self._walk(subgame, position, modes[0], tables, NO_AVERAGE, weight)

    def learn_on(
        self,
        subgame: Subgame,
        regrets: Floats,
        averages: Floats,
        step: npt.NDArray[np.float64],
        weight: float = 1.0,
    ) -> None:
        """Let the learner learn in all rounds, against the hybrid as it is."""
        tables = self._tables(subgame, regrets, averages)
        modes = self._modes(subgame.plan.num_rounds)
        apart = self._shares_buckets(subgame.layout)
        if apart:
            if self._gains is None:
                self._gains = (np.zeros_like(regrets), np.zeros_like(averages))
            for gains in self._gains:
                gains.fill(0)
            tables = tables._replace(gain=self._gains)
        self._walk(subgame, self.learner, modes[1], tables, step, weight)
        if apart and self._gains is not None:
            regrets += self._gains[0]
            averages += self._gains[1]

    def _shares_buckets(self, layout: TableLayout) -> bool:
        """Return whether several boards of a sub-game share buckets.

        Each cell is then to play what its bucket played before any of them learnt.
        """
        return bool(layout.bucketed[self.learner, self._trunk + 1 :].any())

    def _modes(self, num_rounds: int) -> npt.NDArray[np.uint8]:
        """Return the modes of the hybrid's walk and of the learner's: uint8[2, 2, R]."""
        modes = np.full((2, 2, num_rounds), LEARN, dtype=np.uint8)
        modes[0, :, self._trunk :] = KEEP
        return modes

    def _tables(self, subgame: Subgame, regrets: Floats, averages: Floats) -> Tables:
        """Return the learner's tables and the hybrid's."""
        layout, first = subgame.layout, self.learner == 0

        def paired(own: Floats, other: Floats) -> Pair:
            return (own, other) if first else (other, own)

        def both(own: Places, other: Places) -> Places:
            return np.stack(paired(own[self.learner], other[1 - self.learner]))

        lossless = np.zeros(0, dtype=np.int32)
        kinds = layout.bucketed[self.learner].astype(np.uint8)
        return Tables(
            paired(regrets, self.hybrid),
            paired(regrets, self.hybrid),
            paired(averages, self.hybrid),
            (regrets, averages),
            both(layout.begin, subgame.hybrid_begin),
            both(layout.stride, subgame.hybrid_rows),
            paired(layout.bucket[self.learner], lossless),
            np.stack(paired(kinds, np.zeros_like(kinds))),
        )

    def _walk(
        self,
        subgame: Subgame,
        player: int,
        modes: npt.NDArray[np.uint8],
        tables: Tables,
        step: npt.NDArray[np.float64],
        weight: float,
    ) -> None:
        plan, root = subgame.plan, self._root
        first, last = plan.entries(0)
        out = (np.zeros_like(root.initial[0]), np.zeros_like(root.initial[1]))
        kernels.walk(
            kernels.VALUES,
            player,
            player + 1,
            modes,
            True,
            np.full((1, 2, NUM_FACTORS), step),
            root.scales * weight,
            0,
            first,
            last,
            np.array([subgame.first_board, subgame.first_board + 1]),
            False,
            0,
            first,
            last - first,
            np.array([len(initial) for initial in root.initial]),
            plan.num_rounds,
            kernels.TO_THE_END,
            0,
            0,
            0,
            plan.walk.plan,
            subgame.children,
            subgame.cells,
            tables,
            root.initial,
            root.initial,
            root.initial,
            self._source.buffers(self.learner),
            out,
        )
