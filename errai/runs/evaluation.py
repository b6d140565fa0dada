"""How good a run is so far: what is measured of its average strategy now and then.

Where the game's hands are in memory, the exact exploitability, and exactly what simple agents lose. Else
estimates from flops drawn at random, with an interval: what simple agents lose and, if wanted, the
exploitability in the real game. Every evaluation of a run draws the same flops, so that its points can be
compared with each other.
"""

from dataclasses import dataclass
from typing import Any

from errai.response.exploitability import expected_value
from errai.response.results import ExpectedValue, Exploitability
from errai.runs.sections import EvaluationSection
from errai.solvers.table_solver import Measurement, TableSolver
from errai.strategy.simple import simple_strategy
from errai.strategy.strategy import Strategy


@dataclass(frozen=True)
class AgentValue:
    """What a strategy wins from a simple agent.

    Attributes:
        agent: its name.
        value: in each position, with the mean over both.
    """

    agent: str
    value: ExpectedValue


@dataclass(frozen=True)
class Evaluation:
    """A run at one point.

    Attributes:
        iteration: iterations done.
        seconds: time spent on iterations, evaluations apart.
        exploitability: exact; None where it was not measured.
        agents: what the average strategy wins from simple agents.
    """

    iteration: int
    seconds: float
    exploitability: Exploitability | None = None
    agents: tuple[AgentValue, ...] = ()

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
                    "expected_values_chips": list(one.value.positions),
                    "mbb_per_game": one.value.mbb_per_game,
                }
                for one in self.agents
            ]
        return about

    @staticmethod
    def of(entries: dict[str, Any], big_blind: int) -> "Evaluation":
        """Return the evaluation of a line, as this version or an earlier one has written it.

        Args:
            entries: of the line.
            big_blind: of the game.
        """
        exact = None
        values = entries.get("best_response_values_chips", entries.get("best_response_values"))
        if values is not None:
            own = entries.get("profile_values_chips", entries.get("profile_values"))
            exact = Exploitability(
                (values[0], values[1]), big_blind, entries["payoffs"], (own[0], own[1]) if own else None
            )
        agents = tuple(
            AgentValue(one["agent"], ExpectedValue((first, second), big_blind))
            for one in entries.get("agents", ())
            for first, second in [one["expected_values_chips"]]
        )
        return Evaluation(entries["iteration"], entries["seconds"], exact, agents)


class Evaluator:
    """Measures a solver's average strategy."""

    def __init__(self, solver: TableSolver, section: EvaluationSection, seed: int) -> None:
        """Decide what is to be measured.

        Args:
            solver: whose strategy.
            section: what is wanted.
            seed: of the flops.
        """
        self._solver, self._section, self._seed = solver, section, seed
        self._agents: dict[str, Strategy] = {}

    def look(self) -> Evaluation:
        """Measure the average strategy as it is."""
        solver, section = self._solver, self._section
        exact = None
        if section.exact is not False:
            exact = solver.measure().exploitability
        agents = tuple(AgentValue(name, self._against(name)) for name in section.agents)
        return Evaluation(solver.iteration, solver.seconds, exact, agents)

    def _against(self, name: str) -> ExpectedValue:
        strategy = self._solver.strategy()
        if name not in self._agents:
            self._agents[name] = simple_strategy(strategy.tree.rules, name, strategy.tree.menu)
        return expected_value(strategy, self._agents[name], strategy.tree.payoffs)
