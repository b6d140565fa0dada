"""THESIS figure 4.5: [2-4] hold'em with an imperfect-recall abstraction of 169 and 570 buckets."""

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

BUCKETINGS = (
    ("IR-KO 169-570", ""),
    ("IR-C-KE-C-C 169-570-C-C", "limit-holdem"),
    ("IR-C-KO-C-C 169-570-C-C", "limit-holdem"),
)
"""Recipe, and the game whose features decide where it is not [2-4] hold'em itself."""


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides the clustering and what CFR-BR samples."""
    return abstracted_curves(BUCKETINGS, size.iterations, seed, tell, kept)


FIGURE = Figure(
    "[2-4] hold'em, imperfect recall, 570 buckets",
    "mbb/g",
    {PAPER: Size(200)},
    draw,
    ends=(
        (BOTH_ABSTRACTED, 103.0),
        (AGAINST_FULL, 25.0),
        *((response_curve(trunk, AVERAGE), 25.0) for trunk in TRUNKS),
    ),
)
