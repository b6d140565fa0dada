"""CEP figure 2a: CFR and CFR+ in skewed matching pennies."""

import numpy as np

from errai.experiments.figure import PAPER, Curves, Figure, PublishedCrossing, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.matrix_games import mean_convergence

MATCHING_PENNIES = ((1.0, -2.0), (-2.0, 4.0))
"""The row player wins 1 on two heads, 4 on two tails, and loses 2 otherwise (CEP)."""


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; nothing is random."""
    return mean_convergence(lambda _: np.array(MATCHING_PENNIES), 1, size.iterations, tell)


FIGURE = Figure(
    "Skewed matching pennies",
    "chips",
    {PAPER: Size(10_000)},
    draw,
    crossings=(PublishedCrossing("CFR", 1e-3, 3539), PublishedCrossing("CFR+", 1e-3, 343)),
)
