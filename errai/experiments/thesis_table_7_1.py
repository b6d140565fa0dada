"""THESIS table 7.1: the standard deviation of estimators of what an agent wins in heads-up limit hold'em.

THESIS: Johanson, "Robust Strategies and Counter-Strategies: from Superhuman to Optimal Play" (2016), chapter
7. Published is a million hands of S2298 against PsOpti4, with the cards of both. Those agents are not at
hand: here two strategies of the preset `limit-quick`, trained from different seeds, play each other.
On-policy the one that played is evaluated, off-policy the other one on the same hands. The curves are the
standard deviation over the hands so far.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from errai.errors import UsageError
from errai.evaluation.analysis import (
    AIVAT,
    ALL_CARDS,
    BASIC,
    BET_CALL,
    DIVAT,
    EARLY_FOLDS,
    MONEY,
    Estimated,
    analyse,
)
from errai.evaluation.hand_chances import hand_chances
from errai.experiments.figure import PAPER, QUICK, Axes, Curves, Figure, Size, Tell, points_to_measure
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.preset_training import train_preset
from errai.experiments.strategy_match import play_hands
from errai.strategy.bucketed import BucketStrategy

PRESET = "limit-quick"
SECONDS_TO_TRAIN = 60
"""Of each strategy, as in the preset: what it plays depends on the machine, and so do the numbers."""

ON, OFF = "on-policy", "off-policy"
AC_BET_CALL, AC_EF_BET_CALL = f"AC+{BET_CALL}", f"AC+EF+{BET_CALL}"

PUBLISHED = {
    MONEY: 5103,
    DIVAT: 1935,
    BET_CALL: 2891,
    EARLY_FOLDS: 5126,
    ALL_CARDS: 4213,
    AC_BET_CALL: 2146,
    AC_EF_BET_CALL: 1778,
}
"""Standard deviations of the strategy that played, in mbb."""

ORDER = (AC_EF_BET_CALL, DIVAT, AC_BET_CALL, BET_CALL, ALL_CARDS, MONEY)
ORDER_OFF_POLICY = (AC_EF_BET_CALL, AC_BET_CALL, ALL_CARDS, BASIC)


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Train both, play, and analyse."""
    num_hands = size.iterations
    if num_hands < 2:
        raise UsageError(f"{num_hands} hands have no standard deviation: expected at least 2")
    strategies = []
    for place in (0, 1):
        tell("training", place, 2)
        strategies.append(_trained(seed + place))
    tell("training", 2, 2)
    own, other = strategies
    records = play_hands((own, other), ("own", "other"), num_hands, seed)
    hands = [(record, record.names.index("own")) for record in records]
    mine, theirs = hand_chances(own), hand_chances(other)
    found = {
        ON: analyse(
            hands, mine, seed=seed, report=lambda stage, done, total: tell(f"{ON}: {stage}", done, total)
        ),
        OFF: analyse(
            hands,
            theirs,
            mine,
            seed=seed,
            report=lambda stage, done, total: tell(f"{OFF}: {stage}", done, total),
        ),
    }
    points = [point for point in points_to_measure(num_hands) if point > 1]
    values: dict[str, Sequence[float]] = {
        f"{policy}: {one.name}": _deviations(one, points) for policy in found for one in found[policy]
    }
    return Curves(points, values, notes=tuple(_notes(found)))


def _trained(seed: int) -> BucketStrategy:
    """Train one strategy of the preset for a while."""
    strategy = train_preset(PRESET, SECONDS_TO_TRAIN, seed)
    assert isinstance(strategy, BucketStrategy)
    return strategy


def _deviations(one: Estimated, points: Sequence[int]) -> list[float]:
    """Return the standard deviation over the first hands, in mbb."""
    in_mbb = 1000 / one.big_blind
    return [float(np.std(one.values[:point], ddof=1)) * in_mbb for point in points]


def _notes(found: dict[str, list[Estimated]]) -> list[str]:
    notes = []
    for policy, estimates in found.items():
        for one in estimates:
            low, high = one.interval_mbb_per_game
            notes.append(
                f"{policy}: {one.name} {one.mbb_per_game:.1f} mbb/g ({low:.1f} to {high:.1f}), "
                f"standard deviation {one.deviation_mbb:.0f}"
            )
    money, best = (next(one for one in found[ON] if one.name == name) for name in (MONEY, AIVAT))
    notes.append(f"AIVAT's standard deviation is {best.deviation_mbb / money.deviation_mbb:.3f} of money's")
    return notes


def _chain(policy: str, order: Sequence[str]) -> tuple[tuple[str, str], ...]:
    names = [f"{policy}: {name}" for name in order]
    return tuple(itertools.pairwise(names))


FIGURE = Figure(
    "standard deviations of estimators in limit hold'em",
    "mbb",
    {QUICK: Size(4000), PAPER: Size(1_000_000)},
    draw,
    claims=(
        *_chain(ON, ORDER),
        (f"{ON}: {AIVAT}", f"{ON}: {AC_EF_BET_CALL}"),
        *_chain(OFF, ORDER_OFF_POLICY),
    ),
    ends=tuple((f"{ON}: {name}", float(value)) for name, value in PUBLISHED.items()),
    axes=Axes("hands", "hand", "hands", "standard deviation of a hand", True, "as expected"),
)
