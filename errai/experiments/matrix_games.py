"""Convergence in matrix games: what both parts of CEP's figure 2 are made of.

CEP: Tammelin, Burch, Johanson and Bowling, "Solving Heads-up Limit Texas Hold'em" (IJCAI 2015), which prints
the first iterations at which the curves reach certain values. Players update in turn.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from errai.experiments.figure import Curves, Tell
from errai.solvers.matrix import solve_matrix

ALGORITHMS = ("cfr", "cfr+")


def mean_convergence(
    game: Callable[[int], npt.NDArray[np.float64]], num_games: int, iterations: int, tell: Tell
) -> Curves:
    """Solve some matrix games by CFR and CFR+; the curves are means over the games.

    Args:
        game: number of a game to its payoffs.
        num_games: how many.
        iterations: of each.
        tell: whom to tell.
    """
    values: dict[str, Sequence[float]] = {}
    for place, name in enumerate(ALGORITHMS):
        total = np.zeros(iterations)
        for number in range(num_games):
            total += solve_matrix(game(number), name, iterations).exploitability
            tell("games", place * num_games + number + 1, len(ALGORITHMS) * num_games)
        values[name.upper()] = (total / num_games).tolist()
    return Curves(range(1, iterations + 1), values)
