"""How far exploitability from a sample of flops is from the exact figure, by the number of flops.

All flops of a small game are walked once, which gives the exact figure; then samples of each size are drawn
from them, and both estimates are made of each as `errai exploit --flops` makes them. Shown is the mean of
each minus the exact figure, by strategy: of the maximum, which is expected to be above, of the
cross-validated figure, which is expected to be below, and of what cross-validation with two halves would say.
Beside it stand the spread of the estimates and how many of the 95% intervals hold the exact figure. The
cross-validated interval is one of a figure that is too low; bounds go from its low end to the high end of the
maximum's interval.

The same is told of how much more a best response wins from one strategy than from the next, estimated from
the same flops (`errai exploit --compare`).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.experiments.figure import Axes, Curves, Tell
from errai.response.compared import compare_samples
from errai.response.flop_sample import FlopSample, draw_boards
from errai.response.sampled import estimate_exploitability_from, flop_weights, walk_sample
from errai.response.subgames import SubgameResponse
from errai.strategy.played import Play
from errai.workers import verified_threads

SIZES = (10, 30, 100)
"""Flops in a sample."""

MAXIMUM, CROSS_VALIDATED, HALVES, EXACT = "maximum", "cross-validated", "two halves", "exact"

AXES = Axes("samples of each size", "flops", "flops", "mean minus exact exploitability", False, "as expected")


class Seen(NamedTuple):
    """What samples of one size said of one strategy; chips.

    Attributes:
        biases: [estimate] mean minus exact: maximum, cross-validated, two halves.
        spreads: [estimate] standard deviation over samples.
        holding: parts of the samples whose interval of the maximum, of the cross-validated figure, and
            whose bounds hold the exact figure.
    """

    biases: npt.NDArray[np.float64]
    spreads: npt.NDArray[np.float64]
    holding: npt.NDArray[np.float64]


def claims_for(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return which curves are expected to end below which, for some strategies."""
    pairs = [[(f"{name}, {CROSS_VALIDATED}", EXACT), (EXACT, f"{name}, {MAXIMUM}")] for name in names]
    return tuple(pair for both in pairs for pair in both)


def bias_curves(
    tree: PublicTree, strategies: dict[str, tuple[Play, Play]], num_samples: int, seed: int, tell: Tell
) -> Curves:
    """Measure what samples of flops say of some strategies.

    Args:
        tree: a zero-sum game all of whose flops can be walked.
        strategies: what both positions play, by name.
        num_samples: of each size.
        seed: of the first sample; the others have those that follow.
        tell: whom to tell.
    """
    in_mbb = 1000 / tree.game.big_blind
    values: dict[str, Sequence[float]] = {EXACT: [0.0] * len(SIZES)}
    beside: dict[str, Sequence[float]] = {}
    notes = []
    walked_all: dict[str, FlopSample] = {}
    exact_of: dict[str, float] = {}
    for name, plays in strategies.items():
        response = SubgameResponse(tree, plays)

        def walked(done: int, total: int, name: str = name) -> None:
            tell(f"{name}, all flops", done, total)

        boards = np.arange(response.num_boards)
        everything = walk_sample(response, boards, verified_threads(None), None, walked)
        exact = sum(response.root_values()) / 2
        walked_all[name], exact_of[name] = everything, exact
        notes.append(f"{name}: exact {exact * in_mbb:.1f} mbb/g")
        seen = []
        for size in SIZES:
            here = _sampled(everything, response, exact, size, num_samples, seed, name, tell)
            seen.append(here)
            high, low, halves = here.biases * in_mbb
            of_maximum, of_validated, of_bounds = here.holding
            notes.append(
                f"{name}, {size} flops: {MAXIMUM} {high:+.1f}, {CROSS_VALIDATED} {low:+.1f} ({HALVES} "
                f"{halves:+.1f}) mbb/g; {of_maximum:.0%} and {of_validated:.0%} of the intervals, "
                f"{of_bounds:.0%} of the bounds hold the exact figure"
            )
        for place, estimate in enumerate((MAXIMUM, CROSS_VALIDATED, HALVES)):
            values[f"{name}, {estimate}"] = [float(one.biases[place]) * in_mbb for one in seen]
            beside[f"{name}, {estimate}, spread"] = [float(one.spreads[place]) * in_mbb for one in seen]
        for place, of in enumerate((MAXIMUM, CROSS_VALIDATED, "bounds")):
            beside[f"{name}, {of}, part that holds exact"] = [float(one.holding[place]) for one in seen]
    weights = flop_weights(response)
    for first, second in pairwise(strategies):
        pair, exact = (walked_all[first], walked_all[second]), exact_of[first] - exact_of[second]
        notes.append(f"{first} less {second}: exact {exact * in_mbb:.1f} mbb/g")
        for size in SIZES:
            here = _compared(pair, tree, weights, exact, size, num_samples, seed)
            tell(f"{first} less {second}, samples of {size} flops", num_samples, num_samples)
            high, low = here.biases * in_mbb
            wide, narrow = here.spreads * in_mbb
            of_maximum, of_validated, of_bounds = here.holding
            notes.append(
                f"{first} less {second}, {size} flops: {MAXIMUM} {high:+.1f} ({wide:.1f}), {CROSS_VALIDATED} "
                f"{low:+.1f} ({narrow:.1f}) mbb/g; {of_maximum:.0%} and {of_validated:.0%} of the intervals, "
                f"{of_bounds:.0%} of the bounds hold the exact difference"
            )
    return Curves(list(SIZES), values, (), beside, tuple(notes))


def _compared(
    pair: tuple[FlopSample, FlopSample],
    tree: PublicTree,
    weights: npt.NDArray[np.int64],
    exact: float,
    size: int,
    num_samples: int,
    seed: int,
) -> Seen:
    """Draw samples of one size for two strategies all of whose flops have been walked."""
    estimates, holding = np.empty((num_samples, 2)), np.empty((num_samples, 3))
    for number in range(num_samples):
        draws = draw_boards(weights, size, seed + number)
        first, second = (replace(everything, draws=draws) for everything in pair)
        found = compare_samples(first, second, tree, seed + number)
        estimates[number] = found.from_above.chips, found.from_below.chips
        intervals = found.from_above.interval, found.from_below.interval, found.bounds
        holding[number] = [low <= exact <= high for low, high in intervals]
    return Seen(estimates.mean(axis=0) - exact, estimates.std(axis=0), holding.mean(axis=0))


def _sampled(
    everything: FlopSample,
    response: SubgameResponse,
    exact: float,
    size: int,
    num_samples: int,
    seed: int,
    name: str,
    tell: Tell,
) -> Seen:
    """Draw samples of one size from flops that have all been walked."""
    weights = flop_weights(response)
    estimates, holding = np.empty((num_samples, 3)), np.empty((num_samples, 3))
    for number in range(num_samples):
        sample = replace(everything, draws=draw_boards(weights, size, seed + number))
        found = estimate_exploitability_from(sample, response.tree, seed + number)
        below = found.cross_validated
        estimates[number] = found.chips, below.chips, _with_halves(sample)
        intervals = found.interval, below.interval, found.bounds
        holding[number] = [low <= exact <= high for low, high in intervals]
        tell(f"{name}, samples of {size} flops", number + 1, num_samples)
    return Seen(estimates.mean(axis=0) - exact, estimates.std(axis=0), holding.mean(axis=0))


def _with_halves(sample: FlopSample) -> float:
    """Return what cross-validation with two halves says, in chips."""
    halves = np.array_split(sample.draws, 2)
    won = [
        sample.trunk.values_of(sample.trunk.best_actions(sample.means(chosen)), sample.means(paid))
        for chosen, paid in (halves, halves[::-1])
    ]
    weights = np.array([len(halves[1]), len(halves[0])]) / sample.num_draws
    return float(weights @ np.mean(won, axis=1))
