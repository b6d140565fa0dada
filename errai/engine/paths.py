"""Sampled boards: a walk of one path of public boards, weighted so that values and gains stay unbiased.

Public chance sampling (Johanson, Bard, Lanctot, Gibson and Bowling 2012; chapter 3 of Johanson's thesis). An
iteration goes:

1. Boards are dealt round by round, whoever holds what: a board is as likely as deals lead to it. A deal
   counts as often as the boards that might have been dealt instead: a CHANCE node's worth is unbiased.
2. Each player learns on that path, the first one first. In the opponent-public and self-public variants one
   hand of the opponent, or of the learner, is chosen as well: round by round a cell of those that its last
   cell may have become, as often as it has hands. Hands that the board's symmetry makes alike are one here.
3. The path is walked with vectors, and the learner learns (`_paths.py`).

The thesis deals boards of its own to each player. With one path for both, each answers the other where the
other has just learnt, and [2-1] hold'em is solved in half the time (`benchmarks/bench_public_sampling.py`).

What a table gains is the full walk's gain divided by the chance of visiting a row; in rows that belong to one
board (lossless rounds) it is not divided, because a factor of all regrets of an information set changes
nothing that is played. Buckets are shared by boards and get the whole weight.

`GamePaths` walks boards whose hands are all in memory, `errai.engine.dealt_paths` others.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from errai.engine import _paths as kernels
from errai.engine import _walk
from errai.engine._streams import stream_key
from errai.engine.plan import CellArrays, Plan, parent_boards
from errai.engine.root import Pair, Root
from errai.engine.section import LEARN, NO_SCALE, NUM_FACTORS
from errai.engine.workspace import Buffers, make_buffers
from errai.tables.layout import Floats, TableLayout, Tables
from errai.tree.cells import BoardLinks
from errai.workers import Workers

ALL_HANDS, OPPONENT_HAND, OWN_HAND = kernels.ALL_HANDS, kernels.OPPONENT_HAND, kernels.OWN_HAND


class FullPaths(NamedTuple):
    """The places of all boards that a path may go through.

    Attributes:
        round_board: int64[R + 1] as in `BoardLinks`.
        follow: int64[B, 2] the boards that follow each board.
        before: float64[B + 1] chances of the deals to all boards before each board.
        cell_begin: int64[2, B + 1] as in `CellArrays`.
        slot_begin: int64[2, B] as in `Tables`.
        slot_stride: int64[2, B] likewise.
        row_kind: uint8[2, R] likewise.
        parent: int32[C] as in `CellArrays`.
        order: int32[C, 4] likewise.
        leaf_chips: float64[L, 2 or 4] as in `WalkPlan`.
    """

    round_board: npt.NDArray[np.int64]
    follow: npt.NDArray[np.int64]
    before: npt.NDArray[np.float64]
    cell_begin: npt.NDArray[np.int64]
    slot_begin: npt.NDArray[np.int64]
    slot_stride: npt.NDArray[np.int64]
    row_kind: npt.NDArray[np.uint8]
    parent: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    leaf_chips: npt.NDArray[np.float64]


class Path(NamedTuple):
    """What was sampled.

    Attributes:
        boards: int64[R] a board of each round, counted through all rounds.
        held: int64[R] the cell of the sampled hand at each, counted from the board's first.
        chance: float64[R] how likely the hand has this cell, the boards given.
    """

    boards: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    chance: npt.NDArray[np.float64]

    @staticmethod
    def empty(num_rounds: int) -> "Path":
        """Allocate a path to be sampled."""
        return Path(
            np.zeros(num_rounds, dtype=np.int64), np.zeros(num_rounds, dtype=np.int64), np.ones(num_rounds)
        )


class Steps(NamedTuple):
    """Iterations to be done.

    Attributes:
        first: the number of the first, counted from 1.
        factors: float64[iterations, 2, 5] of the update rule: only the weight of the average is looked at.
        weights: float64[iterations] how often each iteration's regrets count.
    """

    first: int
    factors: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]


class PathEngine(Protocol):
    """What learns on sampled paths."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of all vectors and tables."""

    @property
    def num_threads(self) -> int:
        """Threads that share the work."""

    @property
    def nbytes(self) -> int:
        """Bytes of its buffers."""

    def learn(self, seed: int, steps: Steps, regrets: Pair, averages: Pair) -> None:
        """Do iterations; what is played are the regrets."""

    def close(self) -> None:
        """End its threads."""


def deals_before(links: BoardLinks) -> npt.NDArray[np.float64]:
    """Return the chances of the deals to all boards before each board: float64[B + 1]."""
    return np.concatenate([[0.0], np.cumsum(links.deal_factor)])


def path_chances(links: BoardLinks, last_round: int | None = None) -> npt.NDArray[np.float64]:
    """Return how likely each board is sampled when the one before was: float64[B].

    Args:
        links: the boards.
        last_round: the last that is sampled; boards after it are all walked.
    """
    begin = links.round_board
    chance = np.ones(len(links.deal_factor))
    first = slice(int(begin[0]), int(begin[1]))
    chance[first] = links.deal_factor[first] / links.deal_factor[first].sum()
    parents = np.concatenate([np.zeros(begin[1], dtype=np.int64), parent_boards(links)])
    for r, (low, high) in enumerate(pairwise(begin[1:].tolist()), start=1):
        if last_round is not None and r > last_round:
            break
        factors, parent = links.deal_factor[low:high], parents[low:high]
        sums = np.bincount(parent, weights=factors, minlength=high)
        chance[low:high] = factors / sums[parent]
    return chance


def sampled_arrays(plan: Plan, bucketed: bool, last_round: int | None = None) -> CellArrays:
    """Return a plan's cells with deals that count as often as those that might have been dealt instead.

    Args:
        plan: all boards.
        bucketed: whether some rows are buckets.
        last_round: as for `path_chances`.
    """
    links, arrays = plan.cells.links, plan.bucketed_arrays if bucketed else plan.arrays
    chance = path_chances(links, last_round)
    visited = chance.copy()
    parents = parent_boards(links)
    for low, high in pairwise(links.round_board[1:].tolist()):
        visited[low:high] *= visited[parents[low - links.round_board[1] : high - links.round_board[1]]]
    alike = plan.cells.players[0] is plan.cells.players[1]
    sizes = np.concatenate([np.diff(arrays.begin[q]) for q in range(1 if alike else 2)])

    def of_cells(of_boards: npt.NDArray[np.float64]) -> Floats:
        return np.repeat(of_boards if alike else np.tile(of_boards, 2), sizes).astype(plan.dtype)

    arrays = arrays._replace(deal_weight=arrays.deal_weight / of_cells(chance))
    if bucketed:
        arrays = arrays._replace(bucket_weight=arrays.bucket_weight / of_cells(visited))
    return arrays


def board_stream(player: int, own_boards: bool) -> int:
    """Return which stream of an iteration a player's boards are drawn from."""
    return kernels.OTHER_BOARDS if player == 1 and own_boards else kernels.BOARDS


class PathWalker:
    """The small arrays of one path at a time, and the buffers to walk it in; belongs to one thread.

    Attributes:
        full: the places of all boards.
        sampled: ALL_HANDS, OPPONENT_HAND or OWN_HAND.
        own_boards: whether each player learns on boards of its own.
    """

    def __init__(
        self,
        plan: Plan,
        layout: TableLayout,
        cells: CellArrays,
        root: Root,
        sampled: int = ALL_HANDS,
        buffers: Buffers | None = None,
        *,
        own_boards: bool = False,
    ) -> None:
        """Allocate for paths of a plan.

        Args:
            plan: all boards; its rounds are those of the game.
            layout: of the tables.
            cells: from `sampled_arrays`.
            root: how likely the hands are.
            sampled: which private hand is sampled besides.
            buffers: to walk in; by default new ones.
            own_boards: whether each player learns on boards of its own, or both on the same.
        """
        self.sampled, self.own_boards = sampled, own_boards
        self._root, self._layout = root, layout
        num_rounds = plan.num_rounds
        self.full = FullPaths(
            plan.cells.links.round_board,
            plan.children,
            deals_before(plan.cells.links),
            cells.begin,
            layout.begin,
            layout.stride,
            layout.bucketed.astype(np.uint8),
            cells.parent,
            cells.order,
            plan.walk.plan.leaf_chips,
        )
        begin = np.zeros((2, 2 * num_rounds + 2), dtype=np.int64)
        begin[:, 0] = cells.begin[:, 0]
        self._cells = cells._replace(begin=begin)
        self._bucket = layout.bucket
        self._walk_plan = plan.walk.plan
        if sampled != ALL_HANDS:
            self._cells = _with_extra_cells(self._cells, num_rounds)
            size = len(self._cells.parent)
            first, second = (np.append(own, np.zeros(size - len(own), np.int32)) for own in layout.bucket)
            self._bucket = (first, second)
        if sampled == OPPONENT_HAND:
            self._walk_plan = self._walk_plan._replace(leaf_chips=self._walk_plan.leaf_chips.copy())
        places = 1 + 2 * np.arange(num_rounds)
        self._children = np.zeros((2 * num_rounds + 1, 2), dtype=np.int64)
        self._children[places] = np.stack([places + 2, places + 3], axis=1)
        self._modes = np.full((2, num_rounds), LEARN, dtype=np.uint8)
        self._path = Path.empty(num_rounds)
        self._scaled = np.zeros(2)
        self._entries = np.array(plan.entries(0))
        self._widths = np.array([len(initial) for initial in root.initial])
        self.root_values: Pair = (np.zeros_like(root.initial[0]), np.zeros_like(root.initial[1]))
        self.buffers = buffers or make_buffers(plan, with_slots=bool(layout.bucketed.any()))

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers and of what is not shared with other walkers."""
        own = sum(array.nbytes for array in self._cells) if self.sampled != ALL_HANDS else 0
        return own + self.buffers.nbytes

    def bind(self, regrets: Pair, averages: Pair) -> tuple[Tables, Tables]:
        """Return the tables of a path as each player learns in them."""
        shape = (2, len(self._children))
        begin, stride = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        first, second = (
            Tables(
                regrets,
                regrets,
                averages,
                (regrets[player], averages[player]),
                begin,
                stride,
                self._bucket,
                self.full.row_kind,
            )
            for player in (0, 1)
        )
        return first, second

    def learn(self, seed: int, steps: Steps, tables: tuple[Tables, Tables]) -> None:
        """Do iterations.

        Args:
            seed: of all that is sampled.
            steps: the iterations.
            tables: from `bind`.
        """
        kernels.learn_paths(
            seed,
            steps.first,
            self.sampled,
            self.own_boards,
            self._modes,
            steps.factors,
            steps.weights,
            self._root.scales,
            self._scaled,
            self._entries,
            self._widths,
            self.full,
            self._walk_plan,
            self._children,
            np.array([1, 2]),
            self._cells,
            tables,
            *self._path,
            self._root.initial,
            self.buffers,
            self.root_values,
        )

    def sample(self, seed: int, iteration: int, player: int) -> Path:
        """Return what is sampled for a player in an iteration."""
        path, full = Path.empty(len(self._path.boards)), self.full
        key = np.uint64(stream_key(seed, iteration, board_stream(player, self.own_boards)))
        kernels.sample_boards(key, full.round_board, full.follow, full.before, path.boards)
        if self.sampled != ALL_HANDS:
            key = np.uint64(stream_key(seed, iteration, kernels.HAND + player))
            holder = player if self.sampled == OWN_HAND else 1 - player
            counts = self._cells.counts
            kernels.sample_hand(key, holder, path.boards, full.cell_begin, full.parent, counts, *path[1:])
        return path

    def walk_path(
        self,
        player: int,
        path: Path,
        tables: tuple[Tables, Tables],
        step: npt.NDArray[np.float64],
        weight: float = 1.0,
        shared: "SharedCut | None" = None,
    ) -> Floats:
        """Learn on a given path; returns the root's values.

        Args:
            player: who learns.
            path: boards and the sampled hand.
            tables: from `bind`.
            step: float64[5] of the update rule.
            weight: how often the regrets count.
            shared: threads that share what is below a cut; by default the caller walks it all.
        """
        own = tables[player]
        full, plan = self.full, self._walk_plan
        kernels.place_path(
            player, self.sampled, *path, full, self._cells, own.bucket, own.begin, own.stride, plan
        )
        steps = np.broadcast_to(step, (1, 2, NUM_FACTORS)).copy()
        num_rounds, initial = len(path.boards), self._root.initial
        start = _Start(0, self._entries.tolist(), self._widths, self._root.scales * weight, initial)
        if shared is None:
            self._run(_walk.VALUES, player, start, num_rounds, own, steps, self.buffers, self.root_values)
            return self.root_values[player].copy()
        cut = shared.round
        widths = np.diff(self._cells.begin[:, 2 * cut - 1 : 2 * cut + 1])[:, 0]
        first, last = plan.round_entry[cut : cut + 2].tolist()
        sizes, dtype = (widths * (last - first)).tolist(), initial[0].dtype
        reach: Pair = (np.zeros(sizes[0], dtype), np.zeros(sizes[1], dtype))
        values: Pair = (np.zeros(sizes[0], dtype), np.zeros(sizes[1], dtype))
        given = (reach, values)
        self._run(_walk.REACH, player, start, cut, own, steps, self.buffers, self.root_values, given)
        left = iter(range(first, last))

        def work(thread: int, _: int) -> None:
            for entry in left:  # next() of an iterator is atomic: each entry is taken once
                parts = [slice((entry - first) * w, (entry + 1 - first) * w) for w in widths.tolist()]
                above, out = ((both[0][parts[0]], both[1][parts[1]]) for both in given)
                below = _Start(cut, [entry, entry + 1], widths, NO_SCALE, above)
                buffers = shared.buffers[thread]
                self._run(_walk.VALUES, player, below, num_rounds, own, steps, buffers, out)

        shared.workers.run(work, len(shared.buffers), 1)
        self._run(_walk.VALUES, player, start, cut, own, steps, self.buffers, self.root_values, given)
        return self.root_values[player].copy()

    def _run(
        self,
        stage: int,
        player: int,
        start: "_Start",
        stop: int,
        tables: Tables,
        steps: npt.NDArray[np.float64],
        buffers: Buffers,
        out: Pair,
        given: tuple[Pair, Pair] | None = None,
    ) -> None:
        """Walk some rounds of the path that is placed."""
        first, last = start.entries
        below = [0, 0] if given is None else self._walk_plan.round_entry[stop : stop + 2].tolist()
        reach, values = given or (start.above, start.above)
        _walk.walk(
            stage,
            player,
            player + 1,
            self._modes,
            True,
            steps,
            start.scales,
            start.round,
            first,
            last,
            np.array([1, 2]) + 2 * start.round,
            False,
            0,
            first,
            last - first,
            start.widths,
            stop,
            _walk.TO_THE_END if given is None else _walk.UNDEALT,
            2 * stop - 1,
            below[0],
            below[1] - below[0],
            self._walk_plan,
            self._children,
            self._cells,
            tables,
            start.above,
            reach,
            values,
            buffers,
            out,
        )


class SharedCut(NamedTuple):
    """Threads that share the betting sequences below a cut.

    Attributes:
        round: the first round that they share.
        workers: the threads.
        buffers: [thread] to walk in.
    """

    round: int
    workers: Workers
    buffers: Sequence[Buffers]


class _Start(NamedTuple):
    """Where a walk of some rounds of a path starts.

    Attributes:
        round: its first.
        entries: there, the first and one past the last.
        widths: int64[2] each player's cells before the round's cards are dealt.
        scales: float64[2] of the opponent's reach, for each walked player.
        above: [player] reach of these cells, entry by entry.
    """

    round: int
    entries: list[int]
    widths: npt.NDArray[np.int64]
    scales: npt.NDArray[np.float64]
    above: Pair


def _with_extra_cells(cells: CellArrays, number: int) -> CellArrays:
    """Return own copies of the arrays with room for more cells behind them."""

    def longer(array: Floats) -> Floats:
        return np.concatenate([array, np.zeros((number, *array.shape[1:]), array.dtype)])

    with_weights, with_matches = len(cells.bucket_weight) > 0, len(cells.matches) > 0
    return cells._replace(
        parent=longer(cells.parent),
        deal_weight=longer(cells.deal_weight),
        card=longer(cells.card),
        counts=longer(cells.counts),
        order=longer(cells.order),
        bucket_weight=longer(cells.bucket_weight) if with_weights else cells.bucket_weight,
        matches=longer(cells.matches) if with_matches else cells.matches,
    )


class GamePaths:
    """Paths through boards whose hands are all in memory.

    Attributes:
        walkers: one for each thread.
    """

    def __init__(
        self,
        plan: Plan,
        layout: TableLayout,
        sampled: int = ALL_HANDS,
        num_threads: int = 1,
        weights: tuple[Floats, Floats] | None = None,
        *,
        own_boards: bool = False,
    ) -> None:
        """Allocate the walkers.

        Args:
            plan: the whole game.
            layout: of the tables.
            sampled: which private hand is sampled besides.
            num_threads: with more than one, threads do iterations of their own at the same time, in the same
                tables and without waiting: the fastest way, and one whose bits depend on timing.
            weights: [player] float[root cells] how likely each root hand is; by default all alike.
            own_boards: whether each player learns on boards of its own, or both on the same.
        """
        self.plan, self.layout = plan, layout
        root = Root.of(plan.cells, plan.dtype, weights)
        cells = sampled_arrays(plan, bool(layout.bucketed.any()))
        self.walkers = [
            PathWalker(plan, layout, cells, root, sampled, own_boards=own_boards) for _ in range(num_threads)
        ]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of all vectors and tables."""
        return self.plan.dtype

    @property
    def num_threads(self) -> int:
        """Threads that do iterations."""
        return len(self.walkers)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""
        return sum(walker.nbytes for walker in self.walkers)

    @cached_property
    def _workers(self) -> Workers:
        return Workers(len(self.walkers))

    def learn(self, seed: int, steps: Steps, regrets: Pair, averages: Pair) -> None:
        """Do iterations; what is played are the regrets."""
        if len(self.walkers) == 1:
            self.walkers[0].learn(seed, steps, self.walkers[0].bind(regrets, averages))
            return
        edges = np.linspace(0, len(steps.weights), len(self.walkers) + 1).astype(int).tolist()

        def work(thread: int, _: int) -> None:
            part = slice(edges[thread], edges[thread + 1])
            own = Steps(steps.first + part.start, steps.factors[part], steps.weights[part])
            self.walkers[thread].learn(seed, own, self.walkers[thread].bind(regrets, averages))

        self._workers.run(work, len(self.walkers), 1)

    def close(self) -> None:
        """End the threads."""
        if "_workers" in vars(self):
            self._workers.close()
