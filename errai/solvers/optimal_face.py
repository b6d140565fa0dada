"""All equilibrium strategies of one player: the optimal face of a game's linear programme.

Equilibria are seldom unique: what a player does where a rational opponent never goes is left open. The plans
that are worth the game's value whatever the opponent does form a polytope, the optimal face. A second linear
programme over it finds the equilibrium plan that is best by any linear measure, such as what it wins against
a certain opponent; two of them give the range of that measure over all equilibria.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

from errai.errors import UsageError
from errai.solvers.linear_programme import TOLERANCE, Programme

Floats = npt.NDArray[np.float64]

SLACK = 1e-9
"""How far a plan of the face may stay below the value, in units of the mean payoff."""


@dataclass(frozen=True, eq=False)
class OptimalFace:
    """The equilibrium plans of the player whose own sequences a programme has.

    Attributes:
        programme: the game.
        value: of the game to that player, in the payoffs of the programme.
    """

    programme: Programme
    value: float

    def furthest(self, measure: Floats) -> Floats:
        """Return the equilibrium plan of which a linear measure is largest.

        Args:
            measure: float64[own sequences] the weight of each sequence, the empty one first.
        """
        payoffs, own, other = self.programme.payoffs, self.programme.own, self.programme.other
        num_own, num_other = payoffs.shape
        num_infosets = other.shape[0]
        scale = float(np.abs(payoffs.data).mean()) if payoffs.nnz else 1.0
        size = float(np.abs(measure).max()) or 1.0
        result = linprog(
            c=np.concatenate([-measure / size, np.zeros(num_infosets)]),
            A_ub=sparse.hstack([-payoffs.T / scale, other.T]).tocsr(),
            b_ub=np.zeros(num_other),
            A_eq=sparse.hstack([own, sparse.csr_array((own.shape[0], num_infosets))]).tocsr(),
            b_eq=np.append(1.0, np.zeros(own.shape[0] - 1)),
            bounds=[(0, 1)] * num_own
            + [(self.value / scale - SLACK, None)]
            + [(None, None)] * (num_infosets - 1),
            method="highs",
            options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
        )
        if result.status != 0:
            raise UsageError(f"the linear programme of this game's equilibria failed: {result.message}")
        return np.asarray(np.maximum(result.x[:num_own], 0))
