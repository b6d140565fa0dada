"""The loop: iterations of an update rule over the traversal, measured now and then.

Steps: allocate regrets and averages for the public tree, run iterations in stretches, measure the exact
exploitability of the average after each stretch, stop at a number of iterations, a target or a time.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.engine.section import LEARN
from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.memory import verify_memory
from errai.response.exploitability import measure_exploitability
from errai.response.results import Exploitability
from errai.solvers.update_rules import UpdateRule, find_rule
from errai.tables.layout import Floats, Tables


@dataclass(frozen=True)
class Measurement:
    """One point of a convergence curve.

    Attributes:
        iteration: iterations done.
        seconds: time spent on iterations, measurements apart.
        exploitability: of the average strategy.
    """

    iteration: int
    seconds: float
    exploitability: Exploitability


class Solver:
    """CFR on one public tree: regrets, averages and the iterations done so far."""

    def __init__(
        self,
        tree: PublicTree,
        rule: UpdateRule,
        dtype: npt.DTypeLike | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Allocate the tables.

        Args:
            tree: the game.
            rule: the update rule.
            dtype: float32 or float64; by size without it.
            num_threads: threads; by size without it.
        """
        self.tree = tree
        self.rule = rule
        self.walk: Traversal = tree.traversal(dtype, num_threads)
        self.is_bucketed = [bool(rounds.any()) for rounds in tree.layout.bucketed]
        # Where a strategy must stay frozen while its regrets move, it takes a table of its own.
        self.is_frozen = [not rule.alternating or bucketed for bucketed in self.is_bucketed]
        copies = [3 if frozen else 2 for frozen in self.is_frozen]
        num_bytes = int(np.dot(copies, tree.layout.num_slots)) * self.walk.dtype.itemsize
        verify_memory(num_bytes, f"solving '{tree.game.name}' ({tree.num_slots:,} slots)")
        self.regrets = tree.layout.zeros(self.walk.dtype)
        self.averages = tree.layout.zeros(self.walk.dtype)
        self.iteration = 0
        self.seconds = 0.0

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the traversal's buffers."""
        return self.walk.nbytes

    def _tables(self, source: tuple[Floats, Floats]) -> Tables:
        return self.tree.layout.tables(source, self.regrets, self.averages)

    def run(self, iterations: int) -> None:
        """Do more iterations."""
        steps = self.rule.steps(self.iteration + 1, self.iteration + iterations + 1)
        # No iterations at all, but kernels are compiled now rather than on the clock.
        self.walk.learn(self._tables(self.regrets), steps[:0])
        began = time.perf_counter()
        if not any(self.is_frozen):
            self.walk.learn(self._tables(self.regrets), steps)
        else:
            first, second = (
                regrets.copy() if frozen else regrets
                for regrets, frozen in zip(self.regrets, self.is_frozen, strict=True)
            )
            for step in steps:
                self._run_frozen((first, second), step)
        self.iteration += iterations
        self.seconds += time.perf_counter() - began

    def restore(
        self, iteration: int, seconds: float, regrets: tuple[Floats, Floats], averages: tuple[Floats, Floats]
    ) -> None:
        """Go back to what a checkpoint holds; the arrays are taken over."""
        for table, saved in zip((*self.regrets, *self.averages), (*regrets, *averages), strict=True):
            if saved.shape != table.shape or saved.dtype != table.dtype:
                raise UsageError(
                    f"a table of {saved.shape} {saved.dtype} does not fit '{self.tree.game.name}': "
                    f"{table.shape} {table.dtype} is needed"
                )
        self.regrets, self.averages = regrets, averages
        self.iteration, self.seconds = iteration, seconds

    def _run_frozen(self, frozen: tuple[Floats, Floats], step: npt.NDArray[np.float64]) -> None:
        """Do one iteration in which players play frozen strategies while regrets move.

        The second player must answer what the first one played where players learn at once, and the
        cells of a bucket must all play what the bucket played before any of them learnt.
        """
        for player in (0, 1):
            regrets, averages = self.regrets[player], self.averages[player]
            for q in (0, 1):
                learns_next = q == player if self.rule.alternating else player == 0
                if self.is_frozen[q] and learns_next:
                    np.copyto(frozen[q], self.regrets[q])
            applied = step[player].copy()
            source = frozen
            if self.rule.alternating:  # the opponent plays what it has learnt
                source = (frozen[0], self.regrets[1]) if player == 0 else (self.regrets[0], frozen[1])
            if self.is_bucketed[player]:
                if (step[player, :2] != 1).any():
                    regrets *= np.where(regrets > 0, step[player, 0], step[player, 1]).astype(regrets.dtype)
                if step[player, 3] != 1:
                    averages *= averages.dtype.type(step[player, 3])
                applied[:4] = 1.0, 1.0, 0.0, 1.0  # a lossless round must not discount a second time
            self.walk.walk_once(player, LEARN, self._tables(source), applied)
            if self.is_bucketed[player] and step[player, 2] > 0:
                np.maximum(regrets, 0, out=regrets)

    def measure(self, current: bool = False) -> Measurement:
        """Measure the average strategy, or the current one, and check every table for NaN and infinity."""
        self.verify_finite()
        measured = measure_exploitability(self.tree, self.regrets if current else self.averages, self.walk)
        return Measurement(self.iteration, self.seconds, measured)

    def verify_finite(self) -> None:
        """Stop with the name of the decision where a table holds a number that is none."""
        for what, tables in (("regrets", self.regrets), ("averages", self.averages)):
            for player, table in enumerate(tables):
                # A sum is finite unless some entry is not, or the entries overflow together: both are fatal.
                if not np.isfinite(table.sum(dtype=np.float64)):
                    bad = np.flatnonzero(~np.isfinite(table))
                    slot = int(bad[0]) if len(bad) else 0
                    raise FloatingPointError(
                        f"the {what} of player {player} are not finite at slot {slot}, "
                        f"{self.tree.describe_slot(player, slot)}, after {self.iteration} iterations"
                    )


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
        if self.iterations < 1:
            raise UsageError(f"{self.iterations} iterations are impossible: 1 or more are allowed")
        if self.mbb_per_game is not None and not self.mbb_per_game > 0:
            raise UsageError(
                f"an exploitability of {self.mbb_per_game} mbb is no target: a number above 0 is allowed"
            )
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError(f"{self.seconds} seconds are no time limit: a number above 0 is allowed")

    def is_met(self, measurement: Measurement) -> bool:
        """Return whether to stop after a measurement."""
        return (
            measurement.iteration >= self.iterations
            or (
                self.mbb_per_game is not None and measurement.exploitability.mbb_per_game <= self.mbb_per_game
            )
            or self.is_out_of_time(measurement.seconds)
        )

    def is_out_of_time(self, seconds: float) -> bool:
        """Return whether iterations have taken their time."""
        return self.seconds is not None and seconds >= self.seconds


def measurement_points(stop: StopRule, measure_every: int | None = None) -> Iterator[int]:
    """Yield the iterations after which to measure.

    They follow from the stop rule alone, so a run that was interrupted measures, and therefore stops,
    where an uninterrupted one would have.

    Args:
        stop: when to stop.
        measure_every: iterations between measurements; without it about twenty measurements, and with a
            target more at the start, so that it is not overshot by much.
    """
    is_open = stop.mbb_per_game is not None or stop.seconds is not None
    least = 1 if is_open else -(-stop.iterations // 20)
    point = 0
    while True:
        point += measure_every or max(least, point // 4)
        yield min(point, stop.iterations)


def run_solver(
    solver: Solver,
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
    if measure_every is not None and measure_every < 1:
        raise UsageError(f"measuring every {measure_every} iterations is impossible: 1 or more are allowed")
    measurements: list[Measurement] = []
    stretch = 1
    for point in measurement_points(stop, measure_every):
        if point <= solver.iteration < stop.iterations:
            continue
        while solver.iteration < point and not stop.is_out_of_time(solver.seconds):
            before = solver.seconds
            solver.run(min(stretch, point - solver.iteration))
            # Short enough to answer soon, long enough to cost nothing; the tables do not depend on it.
            if solver.seconds - before < 0.5:
                stretch *= 2
            elif solver.seconds - before > 1:
                stretch = max(1, stretch // 2)
            # Where a measurement is due it comes first: a run that ends here would never make it.
            if solver.iteration < point and between is not None and between():
                return measurements
        measurements.append(solver.measure())
        if report is not None:
            report(measurements[-1])
        if stop.is_met(measurements[-1]) or (between is not None and between()):
            break
    return measurements


def configured_rule(
    algorithm: str,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
) -> UpdateRule:
    """Return a named rule with its options."""
    rule = find_rule(algorithm)
    if delay < 0:
        raise UsageError(f"a delay of {delay} iterations is impossible: 0 or more is allowed")
    if discount is not None:
        if algorithm != "dcfr":
            raise UsageError(f"'{algorithm}' takes no discount exponents: only dcfr does")
        rule = replace(rule, discount=discount)
    return replace(rule, delay=delay, alternating=rule.alternating if alternating is None else alternating)
