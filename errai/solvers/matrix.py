"""Two-player zero-sum matrix games: regret matching, regret matching+ and the linear programme.

CEP: Tammelin, Burch, Johanson, Bowling, "Solving Heads-up Limit Texas Hold'em" (IJCAI 2015), section
"Matrix Games" and figure 2. An iteration of self-play is:

1. the row player values its actions against the column player's current strategy, adds the regret of not
   having played each of them and plays next in proportion to positive regret (regret matching+ then
   forgets negative regret);
2. the column player does the same, against the row player's *new* strategy where updates alternate
   and against its old one where they are simultaneous;
3. each strategy that was faced in 1 and 2 enters its player's average, with weight 1 in `cfr` and with
   the number of the iteration in `cfr+`.

Both start from uniform strategies. Exploitability is the mean over the two positions of what a best
response wins, here (max of A y - min of x A) / 2 for the averages x and y.

What CEP leaves open was found by trial over 180 combinations: who learns first, the strategies at the
start, whether a player's average takes its strategy before or after its own update, when in the iteration
the averages are measured, alternating or simultaneous; each with the mean, sum, maximum or either position's
part of the best responses, and for CFR+ with weights t - 1, t, t + 1 and t squared. One combination alone
gives the published crossing point of CFR in skewed matching pennies, 1e-3 first at iteration 3,539,
and it also gives the 343 of CFR+ (with weight t, and with t + 1). It is the one above: the averages take
what the opponent has faced, so after t iterations the row player's runs over its strategies 2 to t + 1 and
the column player's over 1 to t. (With both from 1 to t the crossing points are 3,847 and 519.)
CEP calls simultaneous updates a mark of CFR, but its figure 2 must alternate in CFR too: simultaneous
CFR is still at 0.02 after 3,539 iterations of matching pennies, and at 0.01 after the 510 iterations in
which the published CFR reaches 1e-3 in random 1000 x 1000 matrices. So alternating is the default here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from errai.errors import UsageError
from errai.solvers import _matrix

Floats = npt.NDArray[np.float64]

ALGORITHMS = ("cfr", "cfr+", "lp")
WEIGHTINGS = ("uniform", "linear")

LARGEST_PAYOFF = 1e100
"""Sums over iterations of larger payoffs could leave the range of float64."""

WORK_A_CALL = 1 << 24
"""Payoffs read in one call of a kernel: between calls, Ctrl-C is heard."""

LP_TOLERANCE = 1e-10


@dataclass(frozen=True)
class MatrixResult:
    """A solved matrix game.

    Attributes:
        row: float64[rows] average strategy of the row player: what to play.
        column: float64[columns] average strategy of the column player.
        current_row: float64[rows] what the row player would play in the next iteration.
        current_column: float64[columns].
        value: what the row player wins when `row` meets `column`.
        exploitability: float64[iterations] of the average strategies after each iteration, the mean over the
            two positions of what a best response wins; one number for `lp`.
    """

    row: Floats
    column: Floats
    current_row: Floats
    current_column: Floats
    value: float
    exploitability: Floats

    def first_at(self, target: float) -> int | None:
        """Return the first iteration whose average strategies are exploitable for `target` at most."""
        reached = np.flatnonzero(self.exploitability <= target)
        return int(reached[0]) + 1 if len(reached) else None


def solve_matrix(
    payoffs: npt.ArrayLike,
    algorithm: str = "cfr+",
    iterations: int = 1000,
    *,
    alternating: bool | None = None,
    weighting: str | None = None,
) -> MatrixResult:
    """Solve a two-player zero-sum matrix game.

    Args:
        payoffs: [rows, columns] what the row player wins and the column player loses.
        algorithm: `cfr` (regret matching), `cfr+` (regret matching+) or `lp` (exact).
        iterations: of self-play; `lp` needs none.
        alternating: whether the column player learns from the row player's new strategy (the default).
        weighting: of iterations in the averages, `uniform` (default of `cfr`) or `linear` (of `cfr+`).
    """
    matrix = _verify_payoffs(payoffs)
    if algorithm not in ALGORITHMS:
        raise UsageError(f"unknown algorithm '{algorithm}': expected {_listed(ALGORITHMS)}")
    if algorithm == "lp":
        if alternating is not None or weighting is not None:
            raise UsageError("'lp' has no iterations: alternating and weighting go with 'cfr' or 'cfr+'")
        return _solve_lp(matrix)
    if iterations < 1:
        raise UsageError(f"iterations must be 1 or more, not {iterations}")
    is_plus = algorithm == "cfr+"
    if weighting is None:
        weighting = "linear" if is_plus else "uniform"
    elif weighting not in WEIGHTINGS:
        raise UsageError(f"unknown weighting '{weighting}': expected {_listed(WEIGHTINGS)}")
    weights = np.ones(iterations) if weighting == "uniform" else np.arange(1.0, iterations + 1)
    return _self_play(matrix, weights, is_plus, alternating is not False)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names[:-1]) + f" or '{names[-1]}'"


def _verify_payoffs(payoffs: npt.ArrayLike) -> Floats:
    try:
        matrix = np.array(payoffs, dtype=np.float64, order="C")
    except (ValueError, TypeError):
        raise UsageError("payoffs are not a table of numbers: expected rows of equal length") from None
    if matrix.ndim != 2 or not matrix.size:
        raise UsageError(
            f"payoffs of shape {matrix.shape} are not a matrix: expected at least one row and one column"
        )
    wrong = np.argwhere(np.logical_not(np.abs(matrix) <= LARGEST_PAYOFF))
    if len(wrong):
        i, j = wrong[0]
        raise UsageError(
            f"the payoff in row {i}, column {j} must be between {-LARGEST_PAYOFF:g} and {LARGEST_PAYOFF:g}, "
            f"not {matrix[i, j]}"
        )
    return matrix


def _self_play(matrix: Floats, weights: Floats, is_plus: bool, alternating: bool) -> MatrixResult:
    sizes = matrix.shape
    row_wins = np.ascontiguousarray(matrix.T).ravel()
    column_wins = -matrix.ravel()

    def pair(fill: Any) -> tuple[Floats, Floats]:
        return fill(sizes[0]), fill(sizes[1])

    strategy = pair(lambda size: np.full(size, 1 / size))
    value, regret, strategy_sum, value_sum = (pair(np.zeros) for _ in range(4))
    support = np.empty(max(sizes), dtype=np.uint64)
    exploitability = np.empty(len(weights))
    at_once = max(1, WORK_A_CALL // matrix.size)
    for begin in range(0, len(weights), at_once):
        end = min(begin + at_once, len(weights))
        _matrix.iterate(
            weights[begin:end],
            alternating,
            is_plus,
            row_wins,
            column_wins,
            support,
            value,
            regret,
            strategy,
            strategy_sum,
            value_sum,
            float(weights[:begin].sum()),
            exploitability[begin:end],
        )
    row, column = (total / total.sum() for total in strategy_sum)
    return MatrixResult(row, column, *strategy, float(row @ matrix @ column), exploitability)


def _solve_lp(matrix: Floats) -> MatrixResult:
    """Maximise the least that a mixture of rows wins; the dual prices are the column player's mixture."""
    num_rows, num_columns = matrix.shape
    # Tolerances of the solver are absolute: a game's solution must not depend on the unit of its payoffs.
    scale = float(np.abs(matrix).max()) or 1.0
    scaled = matrix / scale
    result = linprog(
        c=np.append(np.zeros(num_rows), -1.0),
        A_ub=np.hstack([-scaled.T, np.ones((num_columns, 1))]),
        b_ub=np.zeros(num_columns),
        A_eq=np.append(np.ones(num_rows), 0.0)[np.newaxis],
        b_eq=np.ones(1),
        bounds=[(0, None)] * num_rows + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE},
    )
    if result.status != 0:
        raise UsageError(
            f"the linear programme of a {num_rows} x {num_columns} game failed: {result.message}"
        )
    row = np.maximum(result.x[:num_rows], 0)
    column = np.maximum(-result.ineqlin.marginals, 0)
    row, column = row / row.sum(), column / column.sum()
    best = float((matrix @ column).max() - (row @ matrix).min())
    exploitability = np.array([max(best / 2, 0.0)])
    return MatrixResult(row, column, row, column, float(row @ matrix @ column), exploitability)
