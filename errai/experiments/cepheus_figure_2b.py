"""CEP figure 2b: CFR and CFR+ in ten random 1000 x 1000 matrices; the curves are means."""

import numpy as np
import numpy.typing as npt

from errai.experiments.figure import PAPER, Curves, Figure, PublishedCrossing, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.matrix_games import mean_convergence

NUM_MATRICES = 10
MATRIX_SIZE = 1000


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides the matrices."""

    def game(number: int) -> npt.NDArray[np.float64]:
        return np.random.default_rng([seed, number]).standard_normal((MATRIX_SIZE, MATRIX_SIZE))

    return mean_convergence(game, NUM_MATRICES, size.iterations, tell)


FIGURE = Figure(
    "Random 1000 x 1000 matrices, mean of 10",
    "chips",
    {PAPER: Size(10_000)},
    draw,
    crossings=(
        PublishedCrossing("CFR", 1e-3, 510),
        PublishedCrossing("CFR", 1e-4),
        PublishedCrossing("CFR+", 1e-3, 83),
        PublishedCrossing("CFR+", 1e-4, 331),
        PublishedCrossing("CFR+", 1e-6, 4836),
    ),
)
