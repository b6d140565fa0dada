"""Which of two strategies loses less to a best response, from one sample of flops for both.

An estimate from a sample of flops (`errai.response.sampled`) varies with the flops much more than strategies
of one kind differ, but most of what a flop adds it adds to both. So the flops are drawn once, and differences
are taken draw by draw. Steps: walk the sample for each strategy; subtract the estimates of one kind; take the
standard error of each from the draws' differences, with the jackknife's pseudo-values for the maximum.

The biases of two estimates from above cancel as far as the strategies are alike, and so do those of two from
below; what is left of them can have either sign. Bounds go from (from below - from above) to (from above -
from below), each with its interval, and have room for all biases.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.response.flop_sample import Floats, FlopSample, draw_boards, interval_around, mean_error
from errai.response.results import ComparedExploitability, ExploitabilityDifference
from errai.response.sampled import (
    estimate_exploitability_from,
    flop_weights,
    verify_sample,
    walk_sample,
)
from errai.response.subgames import SubgameResponse
from errai.strategy.played import Play

Played = tuple[PublicTree, tuple[Play, Play]]
"""A game, and what both positions play."""

SECOND_KEPT = "compared"
"""Folder, in that where flops are kept, for those of the second strategy."""


def compared_exploitability(
    first: Played,
    second: Played,
    flops: int,
    seed: int = 0,
    num_threads: int = 1,
    keep_in: Path | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ComparedExploitability:
    """Estimate how much more a best response wins from one strategy than from another.

    Args:
        first: a game that deals public cards after its first round, and what is played there.
        second: the same game with the same bet sizes and payoffs, and what else is played there.
        flops: how many to draw, with replacement; at least 2.
        seed: of the draws.
        num_threads: flops at a time; the result does not depend on it.
        keep_in: a folder in which what is done is kept and found again.
        report: called with (flops done, flops in all), those of both strategies.
    """
    verify_sample(flops, seed)
    verify_same_tree(first[0], second[0])
    samples = []
    for number, (tree, plays) in enumerate((first, second)):

        def tell(done: int, total: int, before: int = number) -> None:
            if report is not None:
                report(before * total + done, 2 * total)

        response = SubgameResponse(tree, plays)
        boards = draw_boards(flop_weights(response), flops, seed)
        folder = keep_in / SECOND_KEPT if keep_in is not None and number else keep_in
        samples.append(walk_sample(response, boards, num_threads, folder, tell))
    return compare_samples(samples[0], samples[1], first[0], seed)


def verify_same_tree(first: PublicTree, second: PublicTree) -> None:
    """Refuse two strategies that do not play one game with the same bet sizes and payoffs."""
    if first.game != second.game or first.menu != second.menu:
        raise UsageError(
            f"'{first.game.name}' and '{second.game.name}' are not the same game with the same bet sizes: "
            "only strategies of one tree can be compared"
        )
    if first.payoffs != second.payoffs:
        raise UsageError(
            f"one strategy was solved with payoffs '{first.payoffs.describe()}' and the other with "
            f"'{second.payoffs.describe()}': expected 'payoffs' that say which count"
        )


def compare_samples(
    first: FlopSample, second: FlopSample, tree: PublicTree, seed: int
) -> ComparedExploitability:
    """Compare two strategies by the same draws.

    Args:
        first: flops walked for one strategy.
        second: the same draws, walked for the other.
        tree: the game.
        seed: that drew them.
    """
    number, big_blind = first.num_draws, tree.game.big_blind
    found = [estimate_exploitability_from(sample, tree, seed) for sample in (first, second)]
    maxima = [one.chips for one in found]
    paid = [one.cross_validated.chips for one in found]
    maximum_by_draw = [sample.maximum_by_draw() for sample in (first, second)]
    paid_by_draw = [sample.beyond_own(sample.held_out()) for sample in (first, second)]

    def interval(difference: float, by_draw: Floats) -> tuple[float, float]:
        return interval_around(difference, mean_error(by_draw), number)

    above, below = maxima[0] - maxima[1], paid[0] - paid[1]
    least = interval(paid[0] - maxima[1], paid_by_draw[0] - maximum_by_draw[1])[0]
    most = interval(maxima[0] - paid[1], maximum_by_draw[0] - paid_by_draw[1])[1]
    return ComparedExploitability(
        found[0],
        found[1],
        ExploitabilityDifference(above, interval(above, np.subtract(*maximum_by_draw)), big_blind),
        ExploitabilityDifference(below, interval(below, np.subtract(*paid_by_draw)), big_blind),
        (least, most),
    )
