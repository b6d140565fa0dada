"""How good a run is so far: what is measured of its average strategy now and then.

Where the game's hands are in memory, the exact exploitability, and exactly what simple agents lose. Else
estimates with an interval: what simple agents lose, from deals or flops drawn at random, and, if wanted, the
exploitability in the real game, from flops. Every evaluation of a run draws the same ones, so that its points
can be compared with each other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from errai.response.dealt import dealt_expected_values
from errai.response.exploitability import expected_value, exploitability
from errai.response.results import Exploitability
from errai.runs.sections import EvaluationSection
from errai.solvers.table_solver import Measurement, TableSolver
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy

Pair = tuple[float, float]


@dataclass(frozen=True)
class AgentValue:
    """What a strategy wins from a simple agent, averaged over both seatings.

    Attributes:
        agent: its name.
        positions: [position] chips a game.
        mbb_per_game: the mean in thousandths of a big blind.
        interval_mbb_per_game: 95% interval of the mean; None where it is exact.
    """

    agent: str
    positions: Pair
    mbb_per_game: float
    interval_mbb_per_game: Pair | None = None


@dataclass(frozen=True)
class SampledPoint:
    """The exploitability in the real game, estimated from flops.

    Attributes:
        mbb_per_game: the estimate, too high on average.
        bounds_mbb_per_game: the low end of the estimate from below, the high end of the one from above.
        flops: in the sample.
    """

    mbb_per_game: float
    bounds_mbb_per_game: Pair
    flops: int


@dataclass(frozen=True)
class Evaluation:
    """A run at one point.

    Attributes:
        iteration: iterations done.
        seconds: time spent on iterations, evaluations apart.
        exploitability: exact; None where it was not measured.
        agents: what the average strategy wins from simple agents.
        sampled: the exploitability estimated from flops; None where it was not.
    """

    iteration: int
    seconds: float
    exploitability: Exploitability | None = None
    agents: tuple[AgentValue, ...] = ()
    sampled: SampledPoint | None = None

    @property
    def mbb_per_game(self) -> float | None:
        """Exact exploitability in thousandths of a big blind; None where it was not measured."""
        return None if self.exploitability is None else self.exploitability.mbb_per_game

    @property
    def measurement(self) -> Measurement | None:
        """The point of the convergence curve; None where the exact exploitability was not measured."""
        if self.exploitability is None:
            return None
        return Measurement(self.iteration, self.seconds, self.exploitability)

    def entries(self) -> dict[str, Any]:
        """Return the line of `progress.jsonl`, by the keys of all JSON."""
        about: dict[str, Any] = {"iteration": self.iteration, "seconds": self.seconds}
        if (exact := self.exploitability) is not None:
            about |= {
                "exploitability_chips": exact.chips,
                "exploitability_mbb_per_game": exact.mbb_per_game,
                "best_response_values_chips": list(exact.best_response_values),
                "profile_values_chips": list(exact.profile_values) if exact.profile_values else None,
                "payoffs": exact.payoffs,
            }
        if self.agents:
            about["agents"] = [
                {
                    "agent": one.agent,
                    "expected_values_chips": list(one.positions),
                    "expected_mbb_per_game": one.mbb_per_game,
                    "interval_mbb_per_game": _listed(one.interval_mbb_per_game),
                }
                for one in self.agents
            ]
        if self.sampled is not None:
            about["sampled"] = {
                "flops": self.sampled.flops,
                "exploitability_mbb_per_game": self.sampled.mbb_per_game,
                "bounds_mbb_per_game": list(self.sampled.bounds_mbb_per_game),
            }
        return about

    @staticmethod
    def of(entries: dict[str, Any], big_blind: int) -> "Evaluation":
        """Return the evaluation of a line, as this version or an earlier one has written it.

        Args:
            entries: of the line.
            big_blind: of the game.
        """
        exact, sampled = None, None
        values = _pair(entries.get("best_response_values_chips", entries.get("best_response_values")))
        if values is not None:
            own = _pair(entries.get("profile_values_chips", entries.get("profile_values")))
            exact = Exploitability(values, big_blind, entries["payoffs"], own)
        agents = tuple(
            AgentValue(
                one["agent"],
                _pair(one["expected_values_chips"]) or (0.0, 0.0),
                one["expected_mbb_per_game"],
                _pair(one["interval_mbb_per_game"]),
            )
            for one in entries.get("agents", ())
        )
        if (one := entries.get("sampled")) is not None:
            bounds = _pair(one["bounds_mbb_per_game"]) or (0.0, 0.0)
            sampled = SampledPoint(one["exploitability_mbb_per_game"], bounds, one["flops"])
        return Evaluation(entries["iteration"], entries["seconds"], exact, agents, sampled)


def _listed(pair: Pair | None) -> list[float] | None:
    return None if pair is None else list(pair)


def _pair(values: list[float] | None) -> Pair | None:
    return None if values is None else (values[0], values[1])


class Evaluator:
    """Measures a solver's average strategy."""

    def __init__(
        self,
        solver: TableSolver,
        section: EvaluationSection,
        seed: int,
        strategy: Callable[[], Strategy | BucketStrategy],
    ) -> None:
        """Decide what is to be measured.

        Args:
            solver: whose strategy.
            section: what is wanted.
            seed: of the flops.
            strategy: returns the solver's average strategy.
        """
        self._solver, self._section, self._seed, self._strategy = solver, section, seed, strategy

    def look(self) -> Evaluation:
        """Measure the average strategy as it is."""
        solver, section = self._solver, self._section
        strategy = self._strategy()
        is_exact = section.exact
        if is_exact is None:
            is_exact = not isinstance(strategy, BucketStrategy)
        exact = solver.measure().exploitability if is_exact else None
        if exact is None:
            solver.verify_finite()
        sampled = None
        if section.exploitability and section.flops is not None:
            found = exploitability(
                strategy, flops=section.flops, seed=self._seed, num_threads=solver.num_threads
            )
            sampled = SampledPoint(found.mbb_per_game, found.bounds_mbb_per_game, found.num_flops)
        agents = self._against_agents(strategy)
        return Evaluation(solver.iteration, solver.seconds, exact, agents, sampled)

    def _against_agents(self, strategy: Strategy | BucketStrategy) -> tuple[AgentValue, ...]:
        """Return what simple agents lose: estimated from deals or from flops, or exactly."""
        section, seed, threads = self._section, self._seed, self._solver.num_threads
        if section.deals is not None:
            dealt = dealt_expected_values(strategy, section.agents, section.deals, seed, threads)
            return tuple(
                AgentValue(agent, one.positions, one.mbb_per_game, one.interval_mbb_per_game)
                for agent, one in zip(section.agents, dealt, strict=True)
            )
        found = []
        for agent in section.agents:
            if section.flops is None:
                exact = expected_value(strategy, agent)
                found.append(AgentValue(agent, exact.positions, exact.mbb_per_game))
            else:
                some = expected_value(strategy, agent, flops=section.flops, seed=seed, num_threads=threads)
                found.append(AgentValue(agent, some.positions, some.mbb_per_game, some.interval_mbb_per_game))
        return tuple(found)
