"""A race of algorithms by time on one thread: how exploitable each one's average is after so many seconds.

Measuring takes no time of the race. Curves are means over independent runs, as in THESIS chapter 3.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from errai.experiments.figure import Curves, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import PathRule, UpdateRule, find_rule

POINTS_A_DOUBLING = 2
FIRST_POINT = 0.25
"""Seconds before the first measurement."""

Measure = Callable[[TableSolver], float | Sequence[float]]
"""Of what the curves are; further numbers stand beside them."""
MakeSolver = Callable[[int], TableSolver]
"""Seed to a fresh solver on one thread."""


def published_rule(algorithm: str) -> UpdateRule:
    """Return the rule of an algorithm with boards of its own for each player's walk, as published."""
    rule = find_rule(algorithm)
    return rule.with_options(boards="own") if isinstance(rule, PathRule) else rule


def exploitability_of_average(solver: TableSolver) -> float:
    """Return the exploitability of the average strategy in mbb/g."""
    return solver.measure().exploitability.mbb_per_game


def seconds_to_measure(
    seconds: float, first_point: float = FIRST_POINT, points_a_doubling: int = POINTS_A_DOUBLING
) -> list[float]:
    """Return when to measure, evenly on a logarithmic axis, the end included.

    Args:
        seconds: the end.
        first_point: about how many pass before the first measurement.
        points_a_doubling: measurements while the time doubles.

    >>> seconds_to_measure(1.0)
    [0.25, 0.354, 0.5, 0.707, 1.0]
    """
    points, point = [seconds], seconds
    while point > first_point * 1.001:
        point /= 2 ** (1 / points_a_doubling)
        points.append(round(point, 3))
    return points[::-1]


def run_until(solver: TableSolver, seconds: float) -> None:
    """Run a solver until it has worked so long, in stretches that end soon after."""
    while solver.seconds < seconds:
        # Half of what seems to be left: a pace is only known so well.
        part_left = 0.5 * (seconds - solver.seconds) / max(solver.seconds, 1e-9)
        solver.run(max(1, int(part_left * solver.iteration)))


def race(
    solvers: Mapping[str, MakeSolver],
    size: Size,
    seed: int,
    tell: Tell,
    measure: Measure = exploitability_of_average,
    points: Sequence[float] | None = None,
    beside: Sequence[str] = (),
    kept: Kept = NOTHING_KEPT,
) -> Curves:
    """Run some solvers side by side.

    Args:
        solvers: by name of the curve.
        size: seconds of each run, and how many runs.
        seed: of the first run; later ones count up.
        tell: whom to tell.
        measure: of what the curves are, and further numbers that stand beside them.
        points: seconds after which to measure; `seconds_to_measure` decides without it.
        beside: names of the further numbers.
        kept: where runs that are done are kept.
    """
    points = seconds_to_measure(size.amount) if points is None else points
    values: dict[str, Sequence[float]] = {}
    further: dict[str, Sequence[float]] = {}
    steps = len(solvers) * size.runs * len(points)
    for place, (name, make) in enumerate(solvers.items()):
        runs = []
        for run in range(size.runs):
            before = (place * size.runs + run) * len(points)
            told = partial(_tell_step, tell, name, before, steps)
            # A solver is made only where its run is not kept, and dropped before the next one is made.
            curve = partial(_curve, make, seed + run, points, measure, told)
            runs.append(kept.part(f"{name}, seed {seed + run}", curve))
        means = np.mean(runs, axis=0).T.tolist()  # [number, point]
        values[name] = means[0]
        further |= {f"{name}, {what}": of for what, of in zip(beside, means[1:], strict=True)}
    return Curves(points, values, beside=further)


def _curve(
    make: MakeSolver, seed: int, points: Sequence[float], measure: Measure, told: Callable[[int], None]
) -> list[list[float]]:
    """Make and run one solver, and measure it at some times: [point, number]."""
    solver = make(seed)
    found: list[list[float]] = []
    for point in points:
        run_until(solver, point)
        found.append([float(number) for number in np.atleast_1d(measure(solver))])
        told(len(found))
    return found


def _tell_step(tell: Tell, name: str, before: int, steps: int, done: int) -> None:
    tell(name, before + done, steps)
