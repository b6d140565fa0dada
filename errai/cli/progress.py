"""How a long run tells where it is: a bar for people at a terminal, lines for everybody else."""

import math
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from errai.runs.run import Job
    from errai.solvers.solve import Measurement, StopRule

SECONDS_BETWEEN_LINES = 1.0

FIRST_TO_EXTRAPOLATE = 8
"""The first iterations say nothing about the slope of a convergence."""


def format_seconds(seconds: float) -> str:
    """Write a time in the unit that suits it.

    >>> format_seconds(5400.0)
    '1.5 hours'
    """
    for unit, length in (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * length or (unit == "hours" and seconds >= length):
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


def seconds_to_go(
    measurements: Sequence["Measurement"], iteration: int, pace: float, stop: "StopRule"
) -> float | None:
    """Estimate how long a run will take yet; None where nothing is known.

    Args:
        measurements: so far.
        iteration: iterations done.
        pace: seconds an iteration.
        stop: when it is to stop. A target is extrapolated along the straight line, on two logarithmic
            axes, through the last measurement and the one at about half its iterations.
    """
    from errai.runs.run import UNLIMITED

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


def _iteration_at(measurements: Sequence["Measurement"], target: float) -> float | None:
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


class Progress:
    """Tells of a job's iterations and measurements on standard error."""

    def __init__(self, job: "Job") -> None:
        """Begin; nothing is shown yet.

        Args:
            job: the run.
        """
        self._job = job
        self._measurements = list(job.earlier)
        self._last = (job.solver.iteration, job.solver.seconds)
        self._pace = math.inf
        self._told = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    @contextmanager
    def shown(self) -> Iterator["Progress"]:
        """Show a bar while the run lasts, on a terminal."""
        if not sys.stderr.isatty():
            yield self
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as self._bar:
            self._task = self._bar.add_task("", total=None)
            yield self
        self._bar = None

    def tick(self) -> None:
        """Tell of iterations; called about once a second."""
        solver = self._job.solver
        iterations, seconds = solver.iteration - self._last[0], solver.seconds - self._last[1]
        if iterations:
            # The first iterations may have waited for the compiler: only the latest count.
            self._pace = seconds / iterations
            self._last = (solver.iteration, solver.seconds)
        if self._bar is not None:
            left = self._left()
            spent = solver.seconds
            total = spent + left if left is not None else None
            with suppress(OSError):  # a terminal that has gone must not take the run with it
                self._bar.update(self._task, description=self._text(), completed=spent, total=total)

    def report(self, measurement: "Measurement") -> None:
        """Tell of a measurement."""
        self._measurements.append(measurement)
        self.tick()
        if self._bar is None and time.monotonic() - self._told >= SECONDS_BETWEEN_LINES:
            self._told = time.monotonic()
            _say(f"errai: {self._text()}")

    def _left(self) -> float | None:
        return seconds_to_go(self._measurements, self._job.solver.iteration, self._pace, self._job.stop)

    def _text(self) -> str:
        from errai.memory import format_bytes

        parts = [f"iteration {self._job.solver.iteration:,}"]
        if self._measurements:
            parts.append(f"{self._measurements[-1].exploitability.mbb_per_game:.4g} mbb/g")
        left = self._left()
        if left is not None and math.isfinite(left):
            parts.append(f"{format_seconds(left)} to go")
        parts.append(format_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))
        return ", ".join(parts)


class Interrupts:
    """Notes Ctrl-C, SIGTERM or SIGHUP, so that a run can end between two iterations.

    A second one ends it at once.
    """

    def __init__(self) -> None:
        self.signal_number = 0

    def __bool__(self) -> bool:
        return self.signal_number != 0

    @contextmanager
    def heeded(self) -> Iterator["Interrupts"]:
        """Take over SIGINT, SIGTERM and SIGHUP for a while."""
        with handled((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), self._note):
            yield self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal_number:
            raise KeyboardInterrupt
        self.signal_number = number
        _say("errai: ending after this iteration; once more to leave at once")


@contextmanager
def handled(numbers: Sequence[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle signals for a while; a SIGHUP that is to be ignored, as under nohup, stays ignored."""
    theirs = {}
    for number in numbers:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            theirs[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, before in theirs.items():
            signal.signal(number, before)


def _say(line: str) -> None:
    """Print a line on standard error; who has closed it must not end the run by that."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
