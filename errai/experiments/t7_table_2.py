"""T7 table 2: what treatments of one no-limit strategy win in duplicate matches.

T7: Brown, Ganzfried and Sandholm, "Hierarchical Abstraction, Distributed Equilibrium Computation, and
Post-Processing, with Application to a Champion No-Limit Texas Hold'em Agent" (AAMAS 2015).
Section 4 says what the treatments are. Published are matches against the two strongest agents of the 2013
competition, which are not at hand. Steps:

1. train a strategy, another one from another seed, and a third for a quarter of the time;
2. play each treatment of the first against both others, and against the first as it is, every deal twice;
3. average over the opponents, and take the worst of them, as the table does.

All matches have the same cards. The strategy against itself is not played: in duplicate it wins 0. The curves
are the averages over the deals so far. An average's interval adds up those of its matches, which is the
widest that it can be, since the matches are not independent.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from errai.errors import UsageError
from errai.experiments.figure import PAPER, QUICK, Axes, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.match_course import Course, averages, play_course
from errai.experiments.preset_training import train_preset
from errai.play.blueprint_agent import BlueprintAgent
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.postprocessing import Treatment
from errai.strategy.strategy import Strategy

NONE, PURIFIED, THRESHOLD, NEW = "none", "purified", "threshold 0.15", "New-0.2"
TREATMENTS = {NONE: "none", PURIFIED: "purify", THRESHOLD: "threshold=0.15", NEW: "new=0.2"}
OTHER_SEED, SHORTER, ITSELF = "another seed", "a quarter of the time", "untreated"
OPPONENTS = (OTHER_SEED, SHORTER, ITSELF)


class PublishedRow(NamedTuple):
    """A row of table 2, in mbb/h: against Hyperborean, against Slumbot, on average and at worst."""

    hyperborean: float
    slumbot: float
    average: float
    worst: float


PUBLISHED = {
    NONE: PublishedRow(30, 10, 20, 10),
    PURIFIED: PublishedRow(55, 19, 37, 19),
    THRESHOLD: PublishedRow(35, 19, 27, 19),
    NEW: PublishedRow(39, 103, 71, 39),
}


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Train, and play every treatment against every opponent."""
    if size.iterations < 2:
        raise UsageError(f"{size.iterations} deals have no interval: expected at least 2")
    preset, seconds = size.parts[0], float(size.parts[1])
    trained = []
    for place, (lasting, own_seed) in enumerate(
        ((seconds, seed), (seconds, seed + 1), (seconds / 4, seed + 2))
    ):
        tell("training", place, 3)
        out = kept.run_folder(f"training for {lasting:g} seconds from seed {own_seed}")
        trained.append(train_preset(preset, lasting, own_seed, out=out))
    tell("training", 3, 3)
    opponents = dict(zip(OPPONENTS, [*trained[1:], trained[0]], strict=True))
    courses = {
        (treatment, opponent): _course(
            trained[0], treatment, opponents, opponent, size.iterations, seed, tell, kept
        )
        for treatment in TREATMENTS
        for opponent in OPPONENTS
        if (treatment, opponent) != (NONE, ITSELF)
    }
    deals = courses[NONE, OTHER_SEED].deals
    courses[NONE, ITSELF] = Course(deals, [0.0] * len(deals), [0.0] * len(deals))
    values: dict[str, Sequence[float]] = {}
    beside: dict[str, Sequence[float]] = {}
    for treatment in TREATMENTS:
        of = [courses[treatment, opponent] for opponent in OPPONENTS]
        values[treatment] = averages([one.means for one in of])
        beside[f"{treatment}, half of the 95% interval at most"] = averages([one.half_widths for one in of])
        for opponent, one in zip(OPPONENTS, of, strict=True):
            beside[f"{treatment} against {opponent}"] = one.means
            beside[f"{treatment} against {opponent}, half of the 95% interval"] = one.half_widths
    return Curves(deals, values, beside=beside, notes=tuple(_notes(courses)), rows=_rows(courses))


def _course(
    own: Strategy | BucketStrategy,
    treatment: str,
    opponents: Mapping[str, Strategy | BucketStrategy],
    opponent: str,
    num_deals: int,
    seed: int,
    tell: Tell,
    kept: Kept,
) -> Course:
    """Play one match."""
    first = BlueprintAgent(own, Treatment.parse(TREATMENTS[treatment]), name=treatment)
    second = BlueprintAgent(opponents[opponent], name=opponent)
    return play_course(first, second, num_deals, seed, tell, kept)


def _rows(courses: Mapping[tuple[str, str], Course]) -> list[dict[str, str | float]]:
    """Return table 2, a row for each treatment, with the published one beside it."""
    rows = []
    for treatment, published in PUBLISHED.items():
        row: dict[str, str | float] = {"treatment": treatment}
        ends = {opponent: courses[treatment, opponent] for opponent in OPPONENTS}
        for opponent, one in ends.items():
            row |= {opponent: one.means[-1], f"{opponent}, half-width": one.half_widths[-1]}
        won = [one.means[-1] for one in ends.values()]
        row |= {"average": sum(won) / len(won), "worst": min(won)}
        row |= {f"published, {name}": number for name, number in published._asdict().items()}
        rows.append(row)
    return rows


def _notes(courses: Mapping[tuple[str, str], Course]) -> list[str]:
    """Tell each row, and whether the order of averages is told apart by the intervals."""
    notes, on_average, widths = [], {}, {}
    for treatment, published in PUBLISHED.items():
        ends = [courses[treatment, opponent] for opponent in OPPONENTS]
        against = ", ".join(
            f"{opponent} {one.means[-1]:+.1f} +- {one.half_widths[-1]:.1f}"
            for opponent, one in zip(OPPONENTS, ends, strict=True)
        )
        on_average[treatment] = sum(one.means[-1] for one in ends) / len(ends)
        widths[treatment] = sum(one.half_widths[-1] for one in ends) / len(ends)
        worst = min(one.means[-1] for one in ends)
        notes.append(
            f"{treatment}: against {against}; average {on_average[treatment]:+.1f} "
            f"+- {widths[treatment]:.1f} at most, worst {worst:+.1f} mbb/g "
            f"(published: {published.average:+g} and {published.worst:+g})"
        )
    best, next_best = sorted(on_average, key=on_average.__getitem__, reverse=True)[:2]
    is_clear = on_average[best] - on_average[next_best] > widths[best] + widths[next_best]
    notes.append(
        f"{best} wins most on average, {'beyond' if is_clear else 'within'} the intervals "
        f"(published: {NEW}); next is {next_best}"
    )
    return notes


FIGURE = Figure(
    "treatments of a no-limit strategy in duplicate matches",
    "mbb/g",
    {
        QUICK: Size(100_000, parts=("nolimit-quick", "60")),
        PAPER: Size(10_000_000, parts=("nolimit-large", "259200")),
    },
    draw,
    claims=((NONE, THRESHOLD), (THRESHOLD, PURIFIED), (PURIFIED, NEW)),
    ends=tuple((name, row.average) for name, row in PUBLISHED.items()),
    axes=Axes("deals", "deals", "deals", "average win rate so far", False, "as published", False),
)
