"""THESIS figure 4.4: [2-4] hold'em with a perfect-recall abstraction of 5 buckets a round."""

from errai.experiments.abstracted_holdem import (
    AGAINST_FULL,
    AVERAGE,
    BOTH_ABSTRACTED,
    TRUNKS,
    abstracted_curves,
    response_curve,
)
from errai.experiments.figure import PAPER, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept

BUCKETINGS = (("PR-PHS 5x1-5", ""), ("PR-PHS-PHS-C-C 5x1-5x1-C-C", "limit-holdem"))
"""Recipe, and the game whose features decide where it is not [2-4] hold'em itself."""


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides the clustering and what CFR-BR samples."""
    return abstracted_curves(BUCKETINGS, size.iterations, seed, tell, kept)


FIGURE = Figure(
    "[2-4] hold'em, perfect recall, 5 buckets a round",
    "mbb/g",
    {PAPER: Size(200)},
    draw,
    ends=(
        (BOTH_ABSTRACTED, 144.0),
        (AGAINST_FULL, 81.0),
        *((response_curve(trunk, AVERAGE), 81.0) for trunk in TRUNKS),
    ),
)
