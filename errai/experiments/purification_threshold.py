"""PUR table 4: how exploitable one limit hold'em strategy is after thresholds and purification.

PUR: Ganzfried, Sandholm and Waugh, "Strategy Purification and Thresholding" (AAMAS 2012), section 8.2.
Published are exact figures of two agents of the 2010 competition, GS6 and Hyperborean, which are not at hand.
Here a strategy of a preset is trained, and its exploitability in the real game is estimated from a sample of
flops, the same ones for every threshold: from above, and cross-validated from below. Differences between
thresholds are surer than the figures themselves, since the flops are the same.

A threshold of 0.5 is purification, with ties shared: no two actions are likelier, and where none is as likely
the likeliest is kept. So the purified strategy stands at 0.5.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

from errai.errors import UsageError
from errai.experiments.figure import PAPER, QUICK, Axes, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.preset_training import train_preset
from errai.response.exploitability import exploitability
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.postprocessing import Treatment
from errai.strategy.strategy import Strategy
from errai.strategy.treated import treated

NONE, PURIFIED = "none", "purified"
TREATMENTS = {
    NONE: (0.0, "none"),
    "0.05": (0.05, "threshold=0.05"),
    "0.15": (0.15, "threshold=0.15"),
    "0.25": (0.25, "threshold=0.25"),
    PURIFIED: (0.5, "purify"),
}
"""Name of a row of the table, the threshold that it is, and the treatment."""

PUBLISHED = {
    "GS6": (463.591, 326.119, 318.465, 335.048, 349.873),
    "Hyperborean": (235.209, 243.705, 258.53, 277.841, 437.242),
}
"""[row] in mbb/h, by agent."""

MAXIMUM, CROSS_VALIDATED = "maximum", "cross-validated"
LOW, HIGH = "bounds, low", "bounds, high"


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Train a strategy, and measure it after every treatment."""
    if size.iterations < 2:
        raise UsageError(f"{size.iterations} flops are too few for an estimate: expected at least 2")
    preset, seconds = size.parts
    tell("training", 0, 1)
    strategy = train_preset(preset, float(seconds), seed, out=kept.run_folder("training"))
    tell("training", 1, 1)
    found: dict[str, dict[str, float]] = {}
    for place, (row, (_, treatment)) in enumerate(TREATMENTS.items()):
        tell("thresholds", place, len(TREATMENTS))
        found[row] = kept.part(row, partial(_measured, strategy, treatment, size.iterations, seed))
    tell("thresholds", len(TREATMENTS), len(TREATMENTS))
    columns = {name: [one[name] for one in found.values()] for name in (MAXIMUM, CROSS_VALIDATED, LOW, HIGH)}
    values: dict[str, Sequence[float]] = {name: columns[name] for name in (MAXIMUM, CROSS_VALIDATED)}
    beside: dict[str, Sequence[float]] = {name: columns[name] for name in (LOW, HIGH)}
    beside |= {f"{agent}, published": numbers for agent, numbers in PUBLISHED.items()}
    points = [threshold for threshold, _ in TREATMENTS.values()]
    return Curves(points, values, beside=beside, notes=tuple(_notes(found, values)))


def _measured(
    strategy: Strategy | BucketStrategy, treatment: str, num_flops: int, seed: int
) -> dict[str, float]:
    """Return estimates and bounds of a treated strategy, in mbb/g."""
    one = exploitability(treated(strategy, Treatment.parse(treatment)), flops=num_flops, seed=seed)
    low, high = (1000 / one.big_blind * bound for bound in one.bounds)
    return {
        MAXIMUM: one.mbb_per_game,
        CROSS_VALIDATED: one.cross_validated.mbb_per_game,
        LOW: low,
        HIGH: high,
    }


def _notes(found: Mapping[str, Mapping[str, float]], values: Mapping[str, Sequence[float]]) -> list[str]:
    """Tell each row, and which published shape it is like."""
    notes = []
    for place, (row, one) in enumerate(found.items()):
        published = ", ".join(f"{agent} {numbers[place]:g}" for agent, numbers in PUBLISHED.items())
        notes.append(
            f"{row}: {values[MAXIMUM][place]:.1f} from above, "
            f"{values[CROSS_VALIDATED][place]:.1f} from below, "
            f"bounds {one[LOW]:.1f} to {one[HIGH]:.1f} mbb/g (published: {published})"
        )
    for name, numbers in {**values, **PUBLISHED}.items():
        whose = f"{name}, published" if name in PUBLISHED else name
        notes.append(f"{whose}: {describe_shape(numbers)}")
    return notes


def describe_shape(numbers: Sequence[float]) -> str:
    """Say which rows of the table are least and most exploitable, and whether it rises all the way.

    >>> describe_shape(PUBLISHED["GS6"])
    'least at 0.15, most at none'
    >>> describe_shape(PUBLISHED["Hyperborean"])
    'least at none, most at purified, rises all the way'
    """
    rows = list(TREATMENTS)
    least, most = (rows[list(numbers).index(pick(numbers))] for pick in (min, max))
    rises = all(low < high for low, high in pairwise(numbers))
    return f"least at {least}, most at {most}{', rises all the way' if rises else ''}"


FIGURE = Figure(
    "exploitability of a limit hold'em strategy by threshold (0.5 is purification)",
    "mbb/g",
    {QUICK: Size(4, parts=("limit-quick", "60")), PAPER: Size(1000, parts=("limit-large", "259200"))},
    draw,
    axes=Axes("flops", "threshold", "threshold", "exploitability", False, "as published", False),
)
