"""The loop: iterations of an update rule over the traversal, measured now and then.

Steps: allocate the rule's tables for the public tree, run iterations in stretches, measure the exact
exploitability of the average after each stretch, stop at a number of iterations, a target or a time.

An iteration either learns as it walks, or adds up its gains in buffers that begin with zeros, which the
rule then turns into new tables (`errai.solvers.update_rules` says which rule does what).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from errai.engine._blocks import AVERAGE_WEIGHT
from errai.engine.protocol import Engine, EngineMaker
from errai.engine.public_tree import PublicTree
from errai.engine.section import LEARN, NUM_FACTORS
from errai.errors import UsageError, verify_number, verify_whole
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.memory import verify_memory
from errai.response.exploitability import measure_exploitability
from errai.solvers.table_solver import Measurement, Point, TableSolver
from errai.solvers.update_rules import (
    SampledBoardsRule,
    SampledRule,
    Update,
    UpdateRule,
    find_rule,
    rule_names,
)
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats
from errai.workers import Workers

PART_SLOTS = 1 << 16
"""A rule is applied to so many slots at a time: those of all its tables fit into a core's own cache."""

DEFAULT_ITERATIONS = 1000
"""Where nothing says when to stop."""
UNLIMITED = 10**12
"""Iterations of a run that is to stop for another reason."""

WARM_UP_GAME = "leduc"
"""Small, and every walk of a dtype is one kernel."""


class Solver(TableSolver):
    """CFR on one public tree, all of which is walked in every iteration.

    Attributes:
        walk: the traversal.
    """

    def __init__(
        self,
        tree: PublicTree,
        rule: UpdateRule,
        dtype: npt.DTypeLike | None = None,
        num_threads: int | None = None,
        engine: EngineMaker | None = None,
        tables_in: str | Path | None = None,
    ) -> None:
        """Allocate the tables.

        Args:
            tree: the game.
            rule: the update rule.
            dtype: float32 or float64; by default by size.
            num_threads: threads; by default by size.
            engine: what makes the engine that walks; by default the CPU's.
            tables_in: a folder in whose file system the tables are held, mapped; by default in memory.
        """
        if isinstance(rule, SampledRule):
            raise UsageError(
                f"'{rule.name}' samples deals, and here the whole tree is walked: expected cfr+ or the like"
            )
        if isinstance(rule, SampledBoardsRule):
            raise UsageError(f"'{rule.name}' samples boards, and cannot be used where all of them are walked")
        self.walk: Engine = (engine or PublicTree.traversal)(tree, dtype, num_threads)
        self._is_bucketed = [bool(rounds.any()) for rounds in tree.layout.bucketed]
        self._goes_by_gains = players_by_gains(rule, self._is_bucketed)
        num_arrays = np.array(arrays_needed(rule, self._is_bucketed))
        if tables_in is not None:
            num_arrays -= len(rule.table_names())
        num_numbers = int(np.dot(num_arrays, tree.layout.num_slots))
        # Sub-games that share buckets gather gains in tables of their own, one player at a time.
        num_numbers += max(
            (
                2 * size * self.walk.num_gain_groups(size)
                for size, bucketed in zip(tree.layout.num_slots, self._is_bucketed, strict=True)
                if bucketed and self.walk.num_gain_groups(size) > 1
            ),
            default=0,
        )
        num_bytes = num_numbers * self.walk.dtype.itemsize
        verify_memory(num_bytes, f"solving '{tree.game.name}' ({tree.num_slots:,} slots)")
        super().__init__(tree, rule, tree.layout, self.walk.dtype, tables_in)
        # [player] gains and strategies of one iteration; zeros between iterations.
        self._gains = [
            (np.zeros(size, self.walk.dtype), np.zeros(size, self.walk.dtype)) if by_gains else None
            for size, by_gains in zip(tree.layout.num_slots, self._goes_by_gains, strict=True)
        ]
        self._is_warm = False

    @property
    def num_threads(self) -> int:
        """Threads that share the work."""
        return self.walk.num_threads

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the traversal's buffers and of one iteration's gains."""
        gains = sum(array.nbytes for pair in self._gains if pair is not None for array in pair)
        return self.walk.nbytes + gains

    def run(self, iterations: int) -> None:
        """Do more iterations."""
        first = self.iteration + 1
        steps = verified_steps(self.rule, first, first + iterations)
        if not self._is_warm:
            # Compiling is no part of solving.
            warm_up_walks(self.walk.dtype.name)
            if any(self._goes_by_gains):
                _warm_up_rule(self.rule, self.walk.dtype)
            self._is_warm = True
        began = time.perf_counter()
        if not any(self._goes_by_gains):
            self.walk.learn(self.tree.layout.tables(self.source, self.regrets, self.averages), steps)
        else:
            self._run_by_gains(first, steps)
        self.iteration += iterations
        self.seconds += time.perf_counter() - began

    def _run_by_gains(self, first: int, steps: npt.NDArray[np.float64]) -> None:
        """Do iterations in which one player or both go by gains."""
        for pair in self._gains:
            for array in pair or ():
                array.fill(0)  # an iteration that was interrupted may have left something
        written = [pair or own for pair, own in zip(self._gains, self._pairs(), strict=True)]
        (first_gain, first_played), (second_gain, second_played) = written
        tables = self.tree.layout.tables(
            self.source, (first_gain, second_gain), (first_played, second_played)
        )
        for iteration, step in enumerate(steps, start=first):
            for player in (0, 1):
                if self._goes_by_gains[player]:
                    gaining = np.array([1.0, 1.0, 0.0, 1.0, step[player, AVERAGE_WEIGHT]])
                    self.walk.walk_once(player, LEARN, tables, gaining)
                    if self.rule.alternating:
                        self._apply(iteration, player, step[player])
                else:
                    self.walk.walk_once(player, LEARN, tables, step[player])
            if not self.rule.alternating:
                for player in (0, 1):
                    self._apply(iteration, player, step[player])

    def _pairs(self) -> list[tuple[Floats, Floats]]:
        """Return regrets and averages by player."""
        return [(self.regrets[player], self.averages[player]) for player in (0, 1)]

    def _apply(self, iteration: int, player: int, step: npt.NDArray[np.float64]) -> None:
        """Turn a player's gains into new tables, part by part, and clear them."""
        pair = self._gains[player]
        if pair is None:
            return
        gains, played = pair

        def apply_part(begin: int, end: int) -> None:
            part = slice(begin, end)
            own = {name: both[player][part] for name, both in self.tables.items()}
            update = Update(iteration, player, step, dict(own), gains[part], played[part])
            self.rule.apply(update)
            for name, table in own.items():
                if update.tables[name] is not table:
                    table[:] = update.tables[name]
            gains[part] = 0
            played[part] = 0

        if len(gains) <= PART_SLOTS or self.walk.num_threads == 1:
            for begin in range(0, len(gains), PART_SLOTS):
                apply_part(begin, begin + PART_SLOTS)
        else:
            self._workers.run(apply_part, len(gains), PART_SLOTS)

    @cached_property
    def _workers(self) -> Workers:
        return Workers(self.walk.num_threads)

    def measure(self, current: bool = False) -> Measurement:
        """Measure the average strategy, or the current one, and check every table for NaN and infinity."""
        self.verify_finite()
        measured = measure_exploitability(self.tree, self.source if current else self.averages, self.walk)
        return Measurement(self.iteration, self.seconds, measured)

    def strategy(self, current: bool = False) -> Strategy:
        """Return the average strategy, or the current one; it changes with the tables."""
        return Strategy(self.tree, self.source if current else self.averages)

    def describe_slot(self, player: int, slot: int) -> str:
        """Name the decision, board and row of a slot."""
        return self.tree.describe_slot(player, slot)


def players_by_gains(rule: UpdateRule, is_bucketed: Sequence[bool] = (False, False)) -> list[bool]:
    """Return for each player whether one iteration's gains are added up before the tables change.

    So it must be where the rule says so, and where cells share a row: each of them plays what the row
    played before any of them learnt, and many small gains would be lost beside a large regret. Where players
    learn at once, the second answers what the first one played before it learnt; nobody answers the second.
    """
    return [
        rule.goes_by_gains() or bucketed or (player == 0 and not rule.alternating)
        for player, bucketed in enumerate(is_bucketed)
    ]


def arrays_needed(rule: UpdateRule, is_bucketed: Sequence[bool] = (False, False)) -> list[int]:
    """Return for each player how many numbers a slot takes: its tables and one iteration's gains."""
    kept = len(rule.table_names())
    return [kept + 2 if by_gains else kept for by_gains in players_by_gains(rule, is_bucketed)]


def verified_steps(rule: UpdateRule, first: int, last: int) -> npt.NDArray[np.float64]:
    """Return a rule's steps, refusing what is no number or has another shape: float64[iterations, 2, 5]."""
    steps = np.asarray(rule.steps(first, last), dtype=np.float64)
    if steps.shape != (last - first, 2, NUM_FACTORS):
        raise UsageError(
            f"the steps of '{rule.name}' have shape {steps.shape}: expected {(last - first, 2, NUM_FACTORS)}"
        )
    if not np.isfinite(steps).all():
        bad = first + int(np.flatnonzero(~np.isfinite(steps).all(axis=(1, 2)))[0])
        raise UsageError(f"the steps of '{rule.name}' are not finite in iteration {bad}")
    return steps


@lru_cache
def warm_up_walks(dtype: str) -> None:
    """Have the kernels of walks compiled by learning in a small game, once a process."""
    game = load_game(WARM_UP_GAME)
    assert isinstance(game, PokerRules)
    tree = PublicTree.of(game)
    regrets, averages = tree.layout.zeros(dtype), tree.layout.zeros(dtype)
    with closing(tree.traversal(dtype, 1)) as walk:
        walk.learn(tree.layout.tables(regrets, regrets, averages), np.ones((1, 2, NUM_FACTORS)))


def _warm_up_rule(rule: UpdateRule, dtype: np.dtype[Any]) -> None:
    """Have the kernels of a rule compiled, whoever wrote it, by applying it to a slot of nothing."""
    tables = {name: np.zeros(1, dtype) for name in rule.table_names()}
    step = verified_steps(rule, 1, 2)[0, 0]
    rule.apply(Update(1, 0, step, tables, np.zeros(1, dtype), np.zeros(1, dtype)))


@dataclass(frozen=True)
class StopRule:
    """When to stop: whatever comes first.

    Attributes:
        iterations: iterations in all.
        mbb_per_game: exploitability to reach; None for no target.
        seconds: time for iterations; None for no limit.
    """

    iterations: int
    mbb_per_game: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        verify_whole("iterations", self.iterations, 1)
        for name, value in (("the target", self.mbb_per_game), ("the time limit", self.seconds)):
            if value is not None:
                verify_number(name, value)
        if self.mbb_per_game is not None and not self.mbb_per_game > 0:
            raise UsageError(f"the target exploitability must be above 0 mbb, not {self.mbb_per_game}")
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError(f"the time limit must be above 0 seconds, not {self.seconds}")

    @classmethod
    def of(
        cls, iterations: int | None = None, mbb_per_game: float | None = None, seconds: float | None = None
    ) -> "StopRule":
        """Return the rule of what was given: iterations have no bound where a target or a time stops them."""
        if iterations is None:
            is_open = mbb_per_game is not None or seconds is not None
            iterations = UNLIMITED if is_open else DEFAULT_ITERATIONS
        return cls(iterations, mbb_per_game, seconds)

    def is_met(self, point: Point) -> bool:
        """Return whether to stop at a point; a target is met only where the exploitability was measured."""
        measured = point.mbb_per_game
        return (
            point.iteration >= self.iterations
            or (self.mbb_per_game is not None and measured is not None and measured <= self.mbb_per_game)
            or self.is_out_of_time(point.seconds)
        )

    def is_out_of_time(self, seconds: float) -> bool:
        """Return whether iterations have taken their time."""
        return self.seconds is not None and seconds >= self.seconds


def measurement_points(
    stop: StopRule, measure_every: int | None = None, by_time: bool = False
) -> Iterator[int]:
    """Yield the iterations after which to measure.

    They follow from the stop rule alone, so a run that was interrupted measures, and therefore stops,
    where an uninterrupted one would have.

    Args:
        stop: when to stop.
        measure_every: iterations between measurements; without it about twenty measurements, and with a
            target more at the start, so that it is not overshot by much.
        by_time: whether the clock says when to measure, and iterations only when to stop.
    """
    if by_time:
        yield stop.iterations
        return
    is_open = stop.mbb_per_game is not None or stop.seconds is not None
    least = 1 if is_open else -(-stop.iterations // 20)
    point = 0
    while True:
        point += measure_every or max(least, point // 4)
        yield min(point, stop.iterations)


def verify_measure_every(measure_every: int | None) -> None:
    """Refuse a number of iterations after which nothing can be measured."""
    if measure_every is not None:
        verify_whole("the iterations between measurements", measure_every, 1)


def run_solver(
    solver: TableSolver,
    stop: StopRule,
    measure_every: int | None = None,
    report: Callable[[Measurement], None] | None = None,
    between: Callable[[], bool] | None = None,
) -> list[Measurement]:
    """Run a solver until a stop rule is met; returns the measurements.

    Args:
        solver: a solver, fresh or resumed.
        stop: when to stop.
        measure_every: iterations between measurements, as `measurement_points` takes it.
        report: called after each measurement.
        between: called about once a second between iterations; the run ends at once where it answers True.
    """
    return run_looking(solver, stop, solver.measure, measure_every, None, report, between)


Looked = TypeVar("Looked", bound=Point)


def run_looking(
    solver: TableSolver,
    stop: StopRule,
    look: Callable[[], Looked],
    every: int | None = None,
    every_seconds: float | None = None,
    report: Callable[[Looked], None] | None = None,
    between: Callable[[], bool] | None = None,
) -> list[Looked]:
    """Run a solver until a stop rule is met, and look at it now and then; returns what was seen.

    Args:
        solver: a solver, fresh or resumed.
        stop: when to stop.
        look: measures the solver as it is.
        every: iterations between looks, as `measurement_points` takes it.
        every_seconds: time on iterations between looks, in place of `every`.
        report: called after each look.
        between: called about once a second between iterations; the run ends at once where it answers True.
    """
    verify_measure_every(every)
    seen: list[Looked] = []
    stretch = 1
    last_look = solver.seconds
    points = measurement_points(stop, every, every_seconds is not None)
    point = next(points)
    while point <= solver.iteration < stop.iterations:
        point = next(points)

    def is_due() -> bool:
        return (
            solver.iteration >= point
            or stop.is_out_of_time(solver.seconds)
            or (every_seconds is not None and solver.seconds - last_look >= every_seconds)
        )

    while True:
        while not is_due():
            before, done = solver.seconds, min(stretch, point - solver.iteration)
            solver.run(done)
            # Short enough to answer soon, long enough to cost nothing; the tables do not depend on it.
            if solver.seconds - before > 1:
                stretch = max(1, done // 2)
            elif solver.seconds - before < 0.5 and done == stretch:
                stretch *= 2
            # Where a look is due it comes first: a run that ends here would never take it.
            if not is_due() and between is not None and between():
                return seen
        seen.append(look())
        last_look = solver.seconds
        if report is not None:
            report(seen[-1])
        if stop.is_met(seen[-1]) or (between is not None and between()):
            return seen
        if solver.iteration >= point:
            point = next(points)


def configured_rule(
    algorithm: str | UpdateRule,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
    options: Mapping[str, Any] | None = None,
    trunk: int | None = None,
) -> UpdateRule:
    """Return a rule with its options.

    Args:
        algorithm: a name, or a rule, which keeps those of its own options that are not given here.
        alternating: whether players learn in turn; by default the rule's habit.
        delay: iterations before averaging starts.
        discount: (alpha, beta, gamma) for `dcfr` and for rules that sample.
        options: others of the rule's own by name, such as `deals`.
        trunk: rounds above the sampled sub-games of `cfr-br`.
    """
    if not isinstance(algorithm, str | UpdateRule):
        raise UsageError(
            f"unknown algorithm {algorithm!r}: expected {rule_names()}, lp or an object of a subclass of "
            "errai.UpdateRule"
        )
    rule = find_rule(algorithm) if isinstance(algorithm, str) else algorithm
    verify_whole("delay", delay)
    if alternating is not None and not isinstance(alternating, bool):
        raise UsageError(f"alternating must be True or False, not {alternating!r}")
    chosen: dict[str, Any] = {}
    for name, value in (options or {}).items():
        if name not in rule.free_options():
            raise UsageError(
                f"'{rule.name}' has no option '{name}': expected {', '.join(sorted(rule.free_options()))}"
            )
        chosen[name] = value
    if alternating is not None:
        chosen["alternating"] = alternating
    if delay != 0:
        chosen["delay"] = delay
    if discount is not None:
        if "discount" not in rule.free_options():
            raise UsageError(
                f"'{rule.name}' takes no discount exponents: only dcfr and what samples deals or boards do"
            )
        chosen["discount"] = discount
    if trunk is not None:
        if "trunk" not in rule.free_options():
            raise UsageError(f"'{rule.name}' has no trunk: only cfr-br does")
        verify_whole("trunk", trunk, 1)
        chosen["trunk"] = trunk
    return rule.with_options(**chosen) if chosen else rule
