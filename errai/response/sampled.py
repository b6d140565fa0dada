"""Exploitability and expected value in games too large for a walk of all flops: from a sample of them.

Steps: draw canonical flops; walk the sub-games below each, exactly (`errai.response.subgames`); estimate from
them the values before the flop, and walk the trunk with these (`errai.response.flop_sample` says what is
biased, and to which side). Any game that deals public cards after its first round will do, and the boards of
that deal are its flops.

What is kept is one file a flop. It does not depend on the sample, so a larger one, or one with another seed,
takes it over.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.engine.section import PLAY
from errai.errors import verify_whole
from errai.response.flop_sample import FlopSample, draw_boards, interval_around, mean_error
from errai.response.results import CrossValidated, SampledExpectedValue, SampledExploitability
from errai.response.subgames import SubgameResponse, walk_boards
from errai.strategy.played import Play

LEAST_FLOPS = 2
"""Fewer have no interval, and no other half."""

Report = Callable[[int, int], None]
Boards = npt.NDArray[np.int64]


def verify_sample(flops: object, seed: object) -> None:
    """Refuse a number of flops, or a seed, that is none."""
    verify_whole("flops", flops, LEAST_FLOPS)
    verify_whole("seed", seed, 0)


def flop_weights(response: SubgameResponse) -> npt.NDArray[np.int64]:
    """Return how many dealt boards each board of the cut stands for: int64[B]."""
    deals = response.deals
    return deals.boards.weights(deals.board_round(response.cut.round))


def sampled_exploitability(
    tree: PublicTree,
    plays: tuple[Play, Play],
    flops: int,
    seed: int = 0,
    num_threads: int = 1,
    keep_in: Path | None = None,
    report: Report | None = None,
) -> SampledExploitability:
    """Estimate how much a best response wins from what two positions play.

    Args:
        tree: a game that deals public cards after its first round.
        plays: what each position plays.
        flops: how many to draw, with replacement; at least 2.
        seed: of the draws.
        num_threads: flops at a time; the result does not depend on it.
        keep_in: a folder in which what is done is kept and found again.
        report: called with (flops done, flops in all).
    """
    verify_sample(flops, seed)
    response = SubgameResponse(tree, plays)
    boards = draw_boards(flop_weights(response), flops, seed)
    sample = walk_sample(response, boards, num_threads, keep_in, report)
    return estimate_exploitability_from(sample, tree, seed)


def walk_sample(
    response: SubgameResponse,
    boards: Boards,
    num_threads: int = 1,
    keep_in: Path | None = None,
    report: Report | None = None,
) -> FlopSample:
    """Walk the flops of a sample, the profile's own play included where payoffs are not zero-sum.

    Args:
        response: best responses, nothing walked yet.
        boards: int64[N] as drawn.
        num_threads: flops at a time.
        keep_in: a folder in which what is done is kept and found again.
        report: called with (flops done, flops in all).
    """
    tree = response.tree
    found, draws = np.unique(boards, return_inverse=True)
    own = np.zeros((len(found), 2))
    passes = 1 if tree.payoffs.is_zero_sum else 2

    def walk(what: SubgameResponse, before: int) -> list[npt.NDArray[np.float64]]:
        def tell(done: int, total: int) -> None:
            if report is not None:
                report(before * total + done, passes * total)

        return _values_at(what, found, num_threads, keep_in, tell)

    first, second = walk(response, 0)
    if not tree.payoffs.is_zero_sum:
        profile = SubgameResponse(tree, response.plays, PLAY)
        for place, values in enumerate(zip(*walk(profile, 1), strict=True)):
            own[place] = profile.trunk.values(values, PLAY)
    return FlopSample(response.trunk, (first, second), own, draws)


def estimate_exploitability_from(sample: FlopSample, tree: PublicTree, seed: int) -> SampledExploitability:
    """Return both estimates of a sample that was drawn with a seed."""
    big_blind, number = tree.game.big_blind, sample.num_draws
    own = None if tree.payoffs.is_zero_sum else sample.own_values()
    paid = sample.held_out()
    by_draw = sample.beyond_own(paid)
    first, second = paid.mean(axis=0).tolist()
    below = CrossValidated(
        (first, second),
        interval_around(float(by_draw.mean()), mean_error(by_draw), number),
        big_blind,
        own,
    )
    best = sample.maximum()
    centre = float(np.mean(np.array(best) - np.array(own or (0.0, 0.0))))
    return SampledExploitability(
        best,
        interval_around(centre, mean_error(sample.maximum_by_draw()), number),
        below,
        big_blind,
        number,
        len(np.unique(sample.draws)),
        seed,
        tree.payoffs.describe(),
        own,
    )


def sampled_expected_value(
    tree: PublicTree,
    first: tuple[Play, Play],
    second: tuple[Play, Play],
    flops: int,
    seed: int = 0,
    num_threads: int = 1,
    report: Report | None = None,
) -> SampledExpectedValue:
    """Estimate what one strategy wins from another, in each position; both seatings see the same flops.

    Args:
        tree: a game that deals public cards after its first round.
        first: what the first strategy plays in each position.
        second: what the other plays.
        flops: how many to draw, with replacement; at least 2.
        seed: of the draws.
        num_threads: flops at a time; the result does not depend on it.
        report: called with (flops done, flops in all).
    """
    verify_sample(flops, seed)
    by_draw = np.empty((flops, 2))
    for position in (0, 1):

        def tell(done: int, total: int, before: int = position) -> None:
            if report is not None:
                report(before * total + done, 2 * total)

        seated = (first[0], second[1]) if position == 0 else (second[0], first[1])
        response = SubgameResponse(tree, seated, PLAY, (position, position + 1))
        boards = draw_boards(flop_weights(response), flops, seed)
        found, draws = np.unique(boards, return_inverse=True)
        values = zip(*_values_at(response, found, num_threads, None, tell), strict=True)
        won = np.array([response.trunk.values(one, PLAY)[position] for one in values])
        by_draw[:, position] = won[draws]
    means = by_draw.mean(axis=0).tolist()
    intervals = [interval_around(means[q], mean_error(by_draw[:, q]), flops) for q in (0, 1)]
    both = by_draw.mean(axis=1)
    return SampledExpectedValue(
        (means[0], means[1]),
        interval_around(float(both.mean()), mean_error(both), flops),
        (intervals[0], intervals[1]),
        tree.game.big_blind,
        flops,
        len(found),
        seed,
    )


def _values_at(
    response: SubgameResponse, boards: Boards, num_threads: int, keep_in: Path | None, report: Report
) -> list[npt.NDArray[np.float64]]:
    """Walk some boards; returns what each adds to values before the deal, divided by its chance."""
    batches = [(board, board + 1) for board in boards.tolist()]
    walk_boards(response, batches, num_threads, keep_in, report)
    weights = flop_weights(response)
    chances = weights[boards] / weights.sum()
    added = [response.trunk.before_deal_values(response.given, board) for board in boards.tolist()]
    return [np.stack([one[q] for one in added]) / chances[:, np.newaxis] for q in (0, 1)]
