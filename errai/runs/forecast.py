"""How long a run will take yet, from its pace and from the slope of its convergence."""

import math
from collections.abc import Sequence

from errai.runs.evaluation import Evaluation
from errai.runs.job import Job
from errai.solvers.solve import UNLIMITED, StopRule
from errai.solvers.table_solver import Measurement

FIRST_TO_EXTRAPOLATE = 8
"""The first iterations say nothing about the slope of a convergence."""


class Forecast:
    """Watches a job and says how long it will take yet.

    Attributes:
        measurements: exact ones so far, those of an interrupted run included.
        last: the last evaluation; None before the first.
    """

    def __init__(self, job: Job) -> None:
        """Begin to watch.

        Args:
            job: the run.
        """
        self.measurements: list[Measurement] = []
        self.last: Evaluation | None = None
        for one in job.earlier:
            self.add(one)
        self._job = job
        self._last = (job.solver.iteration, job.solver.seconds)
        self._pace = math.inf

    def add(self, evaluation: Evaluation) -> None:
        """Note an evaluation."""
        self.last = evaluation
        if evaluation.measurement is not None:
            self.measurements.append(evaluation.measurement)

    def seconds_left(self) -> float | None:
        """Return the seconds to go; None where nothing is known."""
        solver = self._job.solver
        iterations, seconds = solver.iteration - self._last[0], solver.seconds - self._last[1]
        if iterations:
            # The first iterations may have waited for the compiler: only the latest count.
            self._pace = seconds / iterations
            self._last = (solver.iteration, solver.seconds)
        stop = self._job.stop
        left = seconds_to_go(self.measurements, solver.iteration, self._pace, stop)
        if stop.seconds is not None:  # what counts is the solver's own clock, also between measurements
            rest = max(0.0, stop.seconds - solver.seconds)
            left = rest if left is None else min(left, rest)
        return left if left is not None and math.isfinite(left) else None


def seconds_to_go(
    measurements: Sequence[Measurement], iteration: int, pace: float, stop: StopRule
) -> float | None:
    """Estimate how long a run will take yet; None where nothing is known.

    Args:
        measurements: so far.
        iteration: iterations done.
        pace: seconds an iteration.
        stop: when it is to stop. A target is extrapolated along the straight line, on two logarithmic
            axes, through the last measurement and the one at about half its iterations.
    """
    left = [max(0.0, (stop.iterations - iteration) * pace)]
    if stop.seconds is not None and measurements:
        left.append(max(0.0, stop.seconds - measurements[-1].seconds))
    if stop.mbb_per_game is not None:
        reached = _iteration_at(measurements, stop.mbb_per_game)
        if reached is not None:
            left.append(max(0.0, (reached - iteration) * pace))
        elif len(left) == 1 and stop.iterations >= UNLIMITED:
            return None
    return min(left)


def _iteration_at(measurements: Sequence[Measurement], target: float) -> float | None:
    if len(measurements) < 2:
        return None
    last = measurements[-1]
    earlier = min(measurements[:-1], key=lambda one: abs(one.iteration - last.iteration / 2))
    first_mbb, last_mbb = (one.exploitability.mbb_per_game for one in (earlier, last))
    if not 0 < last_mbb < first_mbb or earlier.iteration < FIRST_TO_EXTRAPOLATE:
        return None
    slope = math.log(last_mbb / first_mbb) / math.log(last.iteration / earlier.iteration)
    exponent = math.log(target / last_mbb) / slope
    return last.iteration * math.exp(min(exponent, 50.0))
