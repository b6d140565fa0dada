"""Races of algorithms by time, with a solver whose time is its own."""

from typing import Any, cast

from errai.experiments.figure import Size
from errai.experiments.race import published_rule, race, run_until, seconds_to_measure
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import PathRule, SampledRule


class Clock:
    """A solver each of whose iterations takes a fixed time."""

    def __init__(self, pace: float, seed: int) -> None:
        self.pace, self.seed = pace, seed
        self.iteration, self.seconds = 0, 0.0
        self.stretches: list[int] = []

    def run(self, iterations: int) -> None:
        self.stretches.append(iterations)
        self.iteration += iterations
        self.seconds += iterations * self.pace


def test_points_double_every_second_time_and_end_at_the_end() -> None:
    assert seconds_to_measure(2.0) == [0.25, 0.354, 0.5, 0.707, 1.0, 1.414, 2.0]
    assert seconds_to_measure(0.1) == [0.1]
    assert seconds_to_measure(0.3) == [0.212, 0.3]


def test_a_solver_stops_at_its_first_iteration_past_the_time() -> None:
    clock = Clock(0.125, 0)
    run_until(cast(TableSolver, clock), 3.0)
    assert (clock.iteration, clock.seconds) == (24, 3.0)
    assert max(clock.stretches) > 5  # not one by one
    run_until(cast(TableSolver, clock), 3.1)
    assert clock.iteration == 25
    run_until(cast(TableSolver, clock), 3.1)
    assert clock.iteration == 25


def test_curves_are_means_over_runs_with_seeds_of_their_own() -> None:
    seeds: list[tuple[str, int]] = []
    told: list[tuple[Any, ...]] = []

    def make(name: str, pace: float) -> Any:
        def with_seed(seed: int) -> Any:
            seeds.append((name, seed))
            return Clock(pace, seed)

        return with_seed

    found = race(
        {"fast": make("fast", 1 / 64), "slow": make("slow", 1 / 16)},
        Size(0.5, runs=2),
        7,
        lambda *report: told.append(report),
        lambda solver: cast(Any, solver).iteration + 1000 * cast(Any, solver).seed,
    )
    assert seeds == [("fast", 7), ("fast", 8), ("slow", 7), ("slow", 8)]
    assert found.points == [0.25, 0.354, 0.5]
    assert found.values == {"fast": [7516.0, 7523.0, 7532.0], "slow": [7504.0, 7506.0, 7508.0]}
    assert told[0] == ("fast", 1, 12)
    assert told[-1] == ("slow", 12, 12)


def test_algorithms_as_published_sample_boards_for_each_walk() -> None:
    for algorithm in ("pcs", "opcs", "spcs"):
        rule = published_rule(algorithm)
        assert isinstance(rule, PathRule)
        assert (rule.name, rule.boards) == (algorithm, "own")
    assert isinstance(published_rule("cs"), SampledRule)
