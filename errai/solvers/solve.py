"""The loop: iterations of an update rule over the traversal, measured now and then.

Steps: allocate regrets and averages for the public tree, run iterations in stretches, measure the exact
exploitability of the average after each stretch, stop at a number of iterations, a target or a time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.response.exploitability import Exploitability, measure_exploitability
from errai.solvers.update_rules import UpdateRule, find_rule
from errai.tree.memory import verify_memory
from errai.tree.public_tree import PublicTree
from errai.tree.traversal import LEARN, Floats, Tables, Traversal


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
        copies = 2 if rule.alternating else 3
        num_bytes = copies * tree.num_slots * self.walk.dtype.itemsize
        verify_memory(num_bytes, f"solving '{tree.game.name}' ({tree.num_slots:,} slots)")
        self.regrets = tree.layout.zeros(self.walk.dtype)
        self.averages = tree.layout.zeros(self.walk.dtype)
        self.iteration = 0
        self.seconds = 0.0

    def _tables(self, source: tuple[Floats, Floats]) -> Tables:
        return self.tree.layout.tables(source, self.regrets, self.averages)

    def run(self, iterations: int) -> None:
        """Do more iterations."""
        began = time.perf_counter()
        steps = self.rule.steps(self.iteration + 1, self.iteration + iterations + 1)
        if self.rule.alternating:
            self.walk.learn(self._tables(self.regrets), steps)
        else:
            # The second player must answer what the first one played, not what it has just learnt.
            frozen = self.regrets[0].copy()
            tables = self._tables((frozen, self.regrets[1]))
            for step in steps:
                np.copyto(frozen, self.regrets[0])
                for player in (0, 1):
                    self.walk.walk_once(player, LEARN, tables, step[player])
        self.iteration += iterations
        self.seconds += time.perf_counter() - began

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

    def is_met(self, measurement: Measurement) -> bool:
        """Return whether to stop after a measurement."""
        return (
            measurement.iteration >= self.iterations
            or (
                self.mbb_per_game is not None and measurement.exploitability.mbb_per_game <= self.mbb_per_game
            )
            or (self.seconds is not None and measurement.seconds >= self.seconds)
        )


def run_solver(
    solver: Solver,
    stop: StopRule,
    measure_every: int | None = None,
    report: Callable[[Measurement], None] | None = None,
) -> list[Measurement]:
    """Run a solver until a stop rule is met; returns the measurements.

    Args:
        solver: a solver, fresh or resumed.
        stop: when to stop.
        measure_every: iterations between measurements; without it about twenty measurements, and more at
            the start, so that a target is not overshot by much.
        report: called after each measurement.
    """
    measurements: list[Measurement] = []
    while True:
        stretch = measure_every or max(1, solver.iteration // 4)
        if measure_every is None and stop.mbb_per_game is None and stop.seconds is None:
            stretch = max(stretch, -(-stop.iterations // 20))
        solver.run(min(stretch, stop.iterations - solver.iteration))
        measurements.append(solver.measure())
        if report is not None:
            report(measurements[-1])
        if stop.is_met(measurements[-1]):
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
