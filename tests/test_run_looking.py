"""How a run is cut into stretches: it stops in time and answers soon, whatever the pace of its solver."""

from itertools import pairwise
from typing import NamedTuple, cast

import pytest

from errai.solvers.solve import StopRule, run_looking
from errai.solvers.table_solver import TableSolver


class Seen(NamedTuple):
    """Where it was; nothing is measured."""

    iteration: int
    seconds: float
    mbb_per_game: float | None = None


class Paced:
    """A solver that does nothing, at a pace of its own clock: `slower` times slower after each iteration."""

    def __init__(self, pace: float, slower: float = 1.0) -> None:
        self.iteration, self.seconds = 0, 0.0
        self.pace, self.slower = pace, slower
        self.longest = 0.0

    def run(self, iterations: int) -> None:
        """Let time go by."""
        taken = iterations / self.pace
        self.pace /= self.slower**iterations
        self.longest = max(self.longest, taken)
        self.iteration += iterations
        self.seconds += taken

    def look(self) -> Seen:
        """Return where it is."""
        return Seen(self.iteration, self.seconds)


@pytest.mark.parametrize("every", [None, 100_000])
@pytest.mark.parametrize("pace", [3.0, 200.0, 190_000.0, 3_000_000.0])
def test_a_time_limit_is_kept_within_a_second(pace: float, every: int | None) -> None:
    solver = Paced(pace)
    points = run_looking(cast(TableSolver, solver), StopRule.of(seconds=90), solver.look, every)
    assert 90 <= points[-1].seconds < 91
    assert solver.longest <= 1
    assert points[-1].iteration == solver.iteration


def test_one_that_becomes_slower_is_cut_into_shorter_stretches() -> None:
    solver = Paced(10_000, 1.0001)
    points = run_looking(cast(TableSolver, solver), StopRule.of(seconds=60), solver.look)
    assert 60 <= points[-1].seconds < 63


def test_it_is_asked_between_stretches_however_far_the_next_look_is() -> None:
    solver = Paced(1_000.0)
    asked: list[float] = []

    def ask() -> bool:
        asked.append(solver.seconds)
        return solver.seconds > 300

    assert not run_looking(
        cast(TableSolver, solver), StopRule.of(1_000_000), solver.look, 1_000_000, None, None, ask
    )
    waits = [later - before for before, later in pairwise(asked)]
    assert max(waits) <= 1
    assert sum(waits) / len(waits) > 0.4
