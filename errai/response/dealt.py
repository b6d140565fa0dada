"""What a strategy wins from others, estimated from deals: quick in games of any size.

Steps: deal both hands and the whole board at random; look up where both stand in the tables; walk the whole
betting of the deal, so that nothing but the cards is left to chance; seat the strategy in either position
with the same cards, and take the mean. The mean over deals has a standard error, and from it a 95% interval.

The opponent is a simple agent or another strategy of the same betting, which may see other buckets: the same
cards are dealt, and looked up where it stands.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine._deals import FIRST, STRIDE
from errai.engine.deal_values import value_deals
from errai.engine.deal_walk import deal_tree
from errai.engine.deals import BucketDeals, CellDeals, DealBatch
from errai.errors import verify_whole
from errai.response.flop_sample import interval_around, mean_error
from errai.response.results import DealtExpectedValue
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.simple import simple_plays
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats
from errai.workers import Progress, start_workers

DEALS_A_CHUNK = 2048

FIRST_ITERATION = 1 << 40
"""Deals are numbered by iteration, and no solver gets this far: what is learnt from is not measured on."""

LEAST_DEALS = 2
"""Fewer have no interval."""

Report = Callable[[int, int], None]


def _source(strategy: Strategy | BucketStrategy) -> BucketDeals | CellDeals:
    """Return what deals, and finds where a strategy stands."""
    if isinstance(strategy, BucketStrategy):
        pair = (strategy.saved.abstraction, strategy.saved.abstraction)
        return BucketDeals(strategy.tree.rules, strategy.layout, pair)
    return CellDeals(strategy.tree)


class _Opposite(NamedTuple):
    """Who sits opposite: a strategy with deals of its own, or a simple agent, which looks at no cards.

    Attributes:
        tables: [position] what is played.
        source: finds where a strategy stands; None for a simple agent.
        before: [position] int64[R] slots of earlier rounds, which is where a simple agent stands.
    """

    tables: tuple[Floats, Floats]
    source: BucketDeals | CellDeals | None
    before: npt.NDArray[np.int64]

    @staticmethod
    def of(strategy: Strategy | BucketStrategy, opponent: "str | Strategy | BucketStrategy") -> "_Opposite":
        """Seat an opponent at a strategy's table."""
        num_slots = strategy.tree.walk.num_slots
        before = np.cumsum(num_slots, axis=1) - num_slots
        if isinstance(opponent, str):
            first, second = simple_plays(strategy.tree, opponent)
            return _Opposite((first.chances, second.chances), None, before)
        return _Opposite(opponent.tables, _source(opponent), before)

    def rows(self, batch: DealBatch, seed: int, begin: int) -> npt.NDArray[np.int64]:
        """Return where it stands in some deals: int64[N, 2, R, ROW_WIDTH] as in `DealBatch`."""
        if self.source is not None:
            theirs = self.source.batch(len(batch.keys))
            self.source.fill(theirs, seed, FIRST_ITERATION + begin, 1)
            return theirs.by_round()
        rows = np.zeros_like(batch.by_round())
        rows[:, :, :, FIRST] = self.before
        rows[:, :, :, STRIDE] = 1
        return rows


def dealt_expected_values(
    strategy: Strategy | BucketStrategy,
    opponents: Sequence[str | Strategy | BucketStrategy],
    deals: int,
    seed: int = 0,
    num_threads: int | None = None,
    report: Report | None = None,
) -> list[DealtExpectedValue]:
    """Estimate what a strategy wins from some opponents, each on the same deals.

    Args:
        strategy: of a card game.
        opponents: names of simple agents, or strategies of the same game and bet sizes.
        deals: how many; at least 2.
        seed: of the deals.
        num_threads: all cores without it; the result does not depend on it.
        report: called with deals done and deals in all.
    """
    verify_whole("deals", deals, LEAST_DEALS)
    tree = strategy.tree
    source = _source(strategy)
    arrays = deal_tree(tree.betting, tree.walk).arrays
    seats = [_Opposite.of(strategy, opponent) for opponent in opponents]

    def work(begin: int, end: int) -> npt.NDArray[np.float64]:
        batch = source.batch(end - begin)
        source.fill(batch, seed, FIRST_ITERATION + begin, 1)
        found = np.empty((len(seats), 2, end - begin))
        for place, opposite in enumerate(seats):
            theirs = opposite.rows(batch, seed, begin)
            for seat in (0, 1):
                seated = batch._replace(rows=batch.rows.copy())
                seated.by_round()[:, 1 - seat] = theirs[:, 1 - seat]
                own, other = strategy.tables[seat], opposite.tables[1 - seat]
                played: tuple[Floats, Floats] = (own, other) if seat == 0 else (other, own)
                found[place, seat] = value_deals(seat, arrays, seated, played)
        return found

    parts = []
    progress = Progress(report or (lambda done, total: None), deals)
    with start_workers(num_threads) as workers:
        for begin, end, part in workers.map(work, deals, DEALS_A_CHUNK, progress):
            parts.append(part)
            progress.add(end - begin)
    progress.finish()
    values = np.concatenate(parts, axis=2)
    return [_estimate(of_opponent, tree.rules.big_blind, seed) for of_opponent in values]


def _estimate(values: npt.NDArray[np.float64], big_blind: int, seed: int) -> DealtExpectedValue:
    """Return the mean of a strategy's winnings, float64[position, deals], with its interval."""
    first, second = values.mean(axis=1).tolist()
    both = values.mean(axis=0)
    interval = interval_around(float(both.mean()), mean_error(both), len(both))
    return DealtExpectedValue((first, second), interval, big_blind, len(both), seed)
