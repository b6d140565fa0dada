"""Walking a plan on one machine: solving, evaluating and best-responding go through here.

Reach probabilities of all hands go down, counterfactual values of all hands come back (`_walk.py`). A walk
may be cut before a round: the trunk takes reach down to the cut, every sub-game below it takes that reach and
returns values, and the trunk is walked once more with these values given. Sub-games are independent, so
threads share them; what comes out does not depend on who walked which, nor when. Large games are always cut
after their first round, because that is how several threads share the work.

Before a round's cards are dealt (`dealt=False`) a board's sub-game is all that follows it, and its children
are walked in a fixed number of shares whose sums are added in order. After the deal every board is a
sub-game of its own.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine.plan import Plan
from errai.engine.root import Pair, Root
from errai.engine.section import (
    LEARN,
    NUM_FACTORS,
    REACH,
    VALUES,
    CutPlace,
    Section,
    given_size,
    given_slice,
    section_below,
    verified_cut,
    walk_section,
    whole_section,
)
from errai.engine.workspace import Buffers, make_buffers
from errai.games.payoffs import PLAIN, Payoffs
from errai.memory import verify_memory
from errai.tables.layout import Floats, Tables
from errai.tree.betting_tree import BettingTree
from errai.tree.cells import Cells
from errai.tree.walk import first_board_round, walk_tree
from errai.workers import Workers

NUM_SHARES = 64
"""Shares of the boards below a cut before the deal: enough for many threads to end at about one time."""

NUM_GAIN_GROUPS = 16
GAIN_BYTES = 1 << 29
"""Sub-games that write to the same buckets do so in so many tables at most, of so many bytes in all."""

MANY_CELLS = 50_000
"""With fewer cells than this a walk is over before cutting it would pay."""


class _Unit(NamedTuple):
    """The least that is walked below a cut at a time.

    Attributes:
        parent: the board at the cut.
        share: which share of the parent's children it is.
        first: its boards.
        last: one past them.
    """

    parent: int
    share: int
    first: int
    last: int


class Traversal:
    """A plan with the buffers of one caller.

    Attributes:
        plan: what is walked, shared.
        cut: where walks are cut; None for nowhere.
        num_threads: threads that share the sub-games.
    """

    def __init__(
        self,
        tree: BettingTree,
        cells: Cells,
        dtype: npt.DTypeLike = np.float64,
        num_threads: int = 1,
        initial: tuple[Floats, Floats] | None = None,
        round_values: tuple[float, float] = (1.0, -1.0),
        payoffs: Payoffs = PLAIN,
        *,
        plan: Plan | None = None,
        cut: CutPlace | None = None,
    ) -> None:
        """Allocate buffers for walks on `num_threads` threads.

        Args:
            tree: the betting.
            cells: boards and hands.
            dtype: float32 or float64.
            num_threads: threads that share the sub-games.
            initial: [player] float[root cells] weight of each hand of a cell; by default 1.
            round_values: in Bluff, what player 0 wins if player 0, and if player 1, wins the round.
            payoffs: what the players of a card game get at its leaves.
            plan: a plan of these made before, to share it.
            cut: where to cut; by default large games are cut after their first round.
        """
        if plan is None:
            walk = walk_tree(tree, round_values, payoffs, first_board_round(cells.boards))
            plan = Plan(walk, cells, np.dtype(dtype))
        self.plan = plan
        self.walk, self.cells, self.dtype = self.plan.walk, cells, self.plan.dtype
        self.num_threads = num_threads
        self.cut = self._usual_cut() if cut is None else verified_cut(self.plan, cut)
        self.root = Root.of(cells, self.dtype, initial)
        self.root_values: Pair = (np.zeros_like(self.root.initial[0]), np.zeros_like(self.root.initial[1]))
        self._trunk = whole_section(self.plan, self.cut)
        self._units = self._cut_units()
        self._has_slots = False
        self._buffers: list[Buffers] = []
        self._given: tuple[Pair, Pair] | None = None
        verify_memory(self._bytes_needed(), "the buffers of the walk")

    # What is allocated

    def _usual_cut(self) -> CutPlace | None:
        if self.plan.num_rounds < 2 or int(self.plan.arrays.begin[0, -1]) < MANY_CELLS:
            return None
        return CutPlace(1, dealt=False)

    def _cut_units(self) -> list[_Unit]:
        if self.cut is None:
            return []
        if self.cut.dealt:
            first, last = self.plan.boards(self.cut.round)
            return [_Unit(board, 0, board, board + 1) for board in range(first, last)]
        units = []
        first, last = self.plan.boards(self.cut.round - 1)
        for parent in range(first, last):
            begin, end = self.plan.children[parent].tolist()
            shares = min(end - begin, max(1, NUM_SHARES // (last - first)))
            units += [
                _Unit(
                    parent,
                    share,
                    begin + (end - begin) * share // shares,
                    begin + (end - begin) * (share + 1) // shares,
                )
                for share in range(shares)
            ]
        return units

    def _given_sizes(self) -> list[int]:
        """Return how many numbers each player's reach or values at the cut are."""
        return [0, 0] if self.cut is None else [given_size(self.plan, self.cut, q) for q in (0, 1)]

    def _bytes_needed(self) -> int:
        threads = max(1, min(self.num_threads, len(self._units)))
        below = self._make_buffers(self.cut.round if self.cut else 0, None)
        trunk = self._make_buffers(0, self.cut.round).nbytes if self.cut else 0
        return trunk + threads * below.nbytes + 2 * sum(self._given_sizes()) * self.dtype.itemsize

    def _make_buffers(self, top: int, stop: int | None) -> Buffers:
        return make_buffers(self.plan, top, stop, self._has_slots)

    def _allocate(self, with_slots: bool) -> None:
        """Make the buffers at the first walk, and again where tables need more than before."""
        if self._buffers and (self._has_slots or not with_slots):
            return
        self._has_slots = with_slots
        if self.cut is None:
            self._buffers = [self._make_buffers(0, None)]
            return
        threads = max(1, min(self.num_threads, len(self._units)))
        self._buffers = [self._make_buffers(0, self.cut.round)]
        self._buffers += [self._make_buffers(self.cut.round, None) for _ in range(threads)]
        if self._given is None:
            sizes = self._given_sizes()
            reach = (np.zeros(sizes[0], self.dtype), np.zeros(sizes[1], self.dtype))
            values = (np.zeros(sizes[0], self.dtype), np.zeros(sizes[1], self.dtype))
            self._given = (reach, values)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers so far."""
        given = [array for pair in self._given or () for array in pair]
        return sum(buffers.nbytes for buffers in self._buffers) + sum(array.nbytes for array in given)

    @cached_property
    def _workers(self) -> Workers:
        return Workers(len(self._buffers) - 1)

    # Walks

    def walk_once(
        self,
        player: int,
        mode: int | npt.NDArray[np.uint8],
        tables: Tables,
        step: npt.NDArray[np.float64],
    ) -> Floats:
        """Walk once for a player; returns the root's values, float[root cells], chips a hand.

        Args:
            player: whose values they are.
            mode: LEARN, BEST, KEEP or PLAY, or one for each round.
            tables: what both play and what is written.
            step: float64[5] of the update rule.
        """
        self._walk(player, player + 1, mode, tables, np.full((1, 2, NUM_FACTORS), step, dtype=np.float64))
        return self.root_values[player].copy()

    def learn(self, tables: Tables, steps: npt.NDArray[np.float64]) -> None:
        """Run iterations in which the players learn in turn: steps float64[iterations, 2, 5]."""
        if self.cut is None:
            self._walk(0, 2, LEARN, tables, steps)
            return
        for i in range(len(steps)):
            for player in (0, 1):
                self._walk(player, player + 1, LEARN, tables, steps[i : i + 1])

    def mean_value(self, player: int, values: Floats) -> float:
        """Average root values over the player's hands, each met as often as it can be."""
        return self.root.mean_value(player, values)

    def mean_values(self, mode: int, tables: Tables) -> tuple[float, float]:
        """Walk once for each player, both in one call of the kernel, and average; nobody may learn here."""
        assert mode != LEARN
        steps = np.zeros((1, 2, NUM_FACTORS))
        if self.cut is None:
            self._walk(0, 2, mode, tables, steps)
        else:
            for player in (0, 1):
                self._walk(player, player + 1, mode, tables, steps)
        return self.mean_value(0, self.root_values[0]), self.mean_value(1, self.root_values[1])

    def _walk(
        self,
        first_player: int,
        last_player: int,
        mode: int | npt.NDArray[np.uint8],
        tables: Tables,
        steps: npt.NDArray[np.float64],
    ) -> None:
        self._allocate(bool(tables.row_kind.any()))
        modes = np.empty((2, self.plan.num_rounds), dtype=np.uint8)
        modes[:] = mode
        learns = bool((modes[first_player:last_player] == LEARN).any())
        if learns:
            tables = tables._replace(gain=(tables.regret[first_player], tables.average[first_player]))

        def run(stage: int, given: tuple[Pair, Pair] | None = None) -> None:
            walk_section(
                self.plan,
                self._trunk,
                stage,
                (first_player, last_player),
                modes,
                tables,
                self._buffers[0],
                self.root.initial,
                self.root_values,
                given_reach=given[0] if given else None,
                given_values=given[1] if given else None,
                steps=steps,
                scales=self.root.scales,
                with_own=learns,
            )

        if self._given is None:
            run(VALUES)
            return
        assert last_player == first_player + 1, "a cut walk goes player by player"
        for reach in self._given[0]:
            reach.fill(0)
        run(REACH, self._given)
        self._walk_units(first_player, modes, learns, tables, steps)
        run(VALUES, self._given)

    def _walk_units(
        self,
        player: int,
        modes: npt.NDArray[np.uint8],
        learns: bool,
        tables: Tables,
        steps: npt.NDArray[np.float64],
    ) -> None:
        """Walk all that is below the cut, by threads, and leave its values for the trunk."""
        assert self.cut is not None
        assert self._given is not None
        values = self._given[1][player]
        values.fill(0)
        sums = {  # of parents whose children are walked in several shares
            parent: np.zeros(shares * len(self._slice(values, player, parent)), self.dtype)
            for parent, shares in Counter(unit.parent for unit in self._units).items()
            if shares > 1
        }
        gains: list[tuple[Floats, Floats]] = []
        num_parts = 4 * (len(self._buffers) - 1) if len(self._buffers) > 2 else 1
        if learns and tables.row_kind[player, self.cut.round :].any():
            gains = self._gain_tables(tables.gain)
            num_parts = len(gains)
        num_parts = min(num_parts, len(self._units))
        parts = iter(range(num_parts))

        def work(buffers: Buffers) -> None:
            for part in parts:  # next() of an iterator is atomic: each part is taken once
                first = len(self._units) * part // num_parts
                last = len(self._units) * (part + 1) // num_parts
                own = tables._replace(gain=gains[part]) if gains else tables
                self._walk_part(self._units[first:last], player, modes, learns, own, steps, buffers, sums)

        if len(self._buffers) == 2:
            work(self._buffers[1])
        else:
            below = self._buffers[1:]
            self._workers.run(lambda thread, _: work(below[thread]), len(below), 1)
        for part_gains in gains:
            for table, gained in zip(tables.gain, part_gains, strict=True):
                if gained is not table:
                    table += gained
        for parent, shares_of in sums.items():
            target = self._slice(values, player, parent)
            np.add.reduce(shares_of.reshape(-1, len(target)), axis=0, out=target)

    def _slice(self, given: Floats, player: int, board: int) -> Floats:
        """Return what is given at the cut for one board: [entry, cell] flat."""
        assert self.cut is not None
        return given_slice(self.plan, self.cut, given, player, board)

    def _walk_part(
        self,
        units: Sequence[_Unit],
        player: int,
        modes: npt.NDArray[np.uint8],
        learns: bool,
        tables: Tables,
        steps: npt.NDArray[np.float64],
        buffers: Buffers,
        sums: dict[int, Floats],
    ) -> None:
        """Walk neighbouring units on one thread."""
        assert self.cut is not None
        assert self._given is not None
        reach, values = self._given

        def run(section: Section, above: Pair, out: Pair) -> None:
            walk_section(
                self.plan,
                section,
                VALUES,
                (player, player + 1),
                modes,
                tables,
                buffers,
                above,
                out,
                steps=steps,
                with_own=learns,
            )

        if self.cut.dealt:
            run(section_below(self.plan, self.cut, np.array([units[0].first, units[-1].last])), reach, values)
            return
        for parent, group in groupby(units, key=lambda unit: unit.parent):
            of_parent = list(group)
            bounds = np.array([*(unit.first for unit in of_parent), of_parent[-1].last])
            above = (self._slice(reach[0], 0, parent), self._slice(reach[1], 1, parent))
            out = [self._slice(values[q], q, parent) for q in (0, 1)]
            if parent in sums:
                size = len(out[player])
                begin = of_parent[0].share * size
                out[player] = sums[parent][begin : begin + len(of_parent) * size]
            run(section_below(self.plan, self.cut, bounds, parent), above, (out[0], out[1]))

    def num_gain_groups(self, num_slots: int) -> int:
        """Return how many groups of sub-games gather the gains of a bucketed table apart.

        The number depends on sizes only, so the same bits come out on any number of threads.
        """
        most = GAIN_BYTES // max(1, 2 * num_slots * self.dtype.itemsize)
        return max(1, min(NUM_GAIN_GROUPS, len(self._units), most))

    def _gain_tables(self, gain: tuple[Floats, Floats]) -> list[tuple[Floats, Floats]]:
        """Return tables for the gains of each group of sub-games; the given ones where there is one group."""
        groups = self.num_gain_groups(len(gain[0]))
        if groups <= 1:
            return [gain]
        return [(np.zeros_like(gain[0]), np.zeros_like(gain[1])) for _ in range(groups)]

    def close(self) -> None:
        """End the threads."""
        if "_workers" in vars(self):
            self._workers.close()
