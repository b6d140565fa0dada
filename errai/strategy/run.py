"""`errai.solve`: solve a game by name of algorithm and keep what came out.

A `Run` is the solver with its measurements: `run.strategy` is what to play, `run.average` and `run.current`
where they differ, `run.measurements` the convergence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from errai.games.catalogue import Game
from errai.solvers.sequence_form import solve_sequence_form
from errai.solvers.solve import Measurement, Solver, StopRule, configured_rule, run_solver
from errai.strategy.strategy import Strategy
from errai.tree.bet_menu import BetMenu
from errai.tree.public_tree import PublicTree


@dataclass(frozen=True, eq=False)
class Run:
    """A solved game.

    Attributes:
        strategy: what to play.
        average: the average strategy, which converges to an equilibrium.
        current: the last iteration's strategy.
        measurements: exploitability of the average along the way.
    """

    strategy: Strategy
    average: Strategy
    current: Strategy
    measurements: tuple[Measurement, ...]

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return self.measurements[-1].iteration if self.measurements else 0


def solve(
    game: Game,
    algorithm: str = "cfr+",
    iterations: int = 1000,
    seed: int = 0,
    *,
    bets: BetMenu | str | None = None,
    until: float | None = None,
    seconds: float | None = None,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
    dtype: npt.DTypeLike | None = None,
    num_threads: int | None = None,
    measure_every: int | None = None,
    report: Callable[[Measurement], None] | None = None,
) -> Run:
    """Solve a game.

    Args:
        game: from `load_game`.
        algorithm: `cfr`, `cfr+`, `linear-cfr`, `dcfr` or `lp`.
        iterations: at most so many.
        seed: of everything random; these algorithms draw nothing.
        bets: menu of bet sizes of a no-limit game.
        until: stop at this exploitability, in mbb a game.
        seconds: stop after so much time.
        alternating: whether players learn in turn; the algorithm's habit without it.
        delay: iterations before averaging starts.
        discount: (alpha, beta, gamma) for `dcfr`.
        dtype: of the tables; float64 for small games without it.
        num_threads: all cores for large games without it; the result does not depend on it.
        measure_every: iterations between measurements of exploitability.
        report: called after each measurement.
    """
    tree = PublicTree.of(game, BetMenu.parse(bets) if isinstance(bets, str) else bets)
    if algorithm == "lp":
        exact = Strategy(tree, solve_sequence_form(tree.betting, tree.cells).tables)
        return Run(exact, exact, exact, ())
    rule = configured_rule(algorithm, alternating, delay, discount)
    solver = Solver(tree, rule, dtype, num_threads)
    measurements = run_solver(solver, StopRule(iterations, until, seconds), measure_every, report)
    average, current = Strategy(tree, solver.averages), Strategy(tree, solver.regrets)
    return Run(average, average, current, tuple(measurements))
