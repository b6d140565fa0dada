"""What a strategy wins from simple agents, estimated from deals: quick in games of any size.

Steps: deal both hands and the whole board at random; look up where both stand in the tables; walk the whole
betting of the deal, so that nothing but the cards is left to chance; seat the strategy in either position
with the same cards, and take the mean. The mean over deals has a standard error, and from it a 95% interval.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from errai.engine._deals import FIRST, ROWS, STRIDE, TIMES
from errai.engine.deal_values import value_deals
from errai.engine.deal_walk import deal_tree
from errai.engine.deals import BucketDeals, CellDeals
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


def dealt_expected_values(
    strategy: Strategy | BucketStrategy,
    agents: Sequence[str],
    deals: int,
    seed: int = 0,
    num_threads: int | None = None,
    report: Report | None = None,
) -> list[DealtExpectedValue]:
    """Estimate what a strategy wins from simple agents, each on the same deals.

    Args:
        strategy: of a card game.
        agents: their names.
        deals: how many; at least 2.
        seed: of the deals.
        num_threads: all cores without it; the result does not depend on it.
        report: called with deals done and deals in all.
    """
    verify_whole("deals", deals, LEAST_DEALS)
    tree = strategy.tree
    source: BucketDeals | CellDeals
    if isinstance(strategy, BucketStrategy):
        pair = (strategy.saved.abstraction, strategy.saved.abstraction)
        source = BucketDeals(tree.rules, strategy.layout, pair)
    else:
        source = CellDeals(tree)
    arrays = deal_tree(tree.betting, tree.walk).arrays
    plays = [simple_plays(tree, agent) for agent in agents]
    before = [np.concatenate([[0], np.cumsum(tree.walk.num_slots[q])]) for q in (0, 1)]

    def work(begin: int, end: int) -> npt.NDArray[np.float64]:
        batch = source.batch(end - begin)
        source.fill(batch, seed, FIRST_ITERATION + begin, 1)
        found = np.empty((len(agents), 2, end - begin))
        for seat in (0, 1):
            seated = batch._replace(rows=batch.rows.copy())
            opposite = seated.by_round()[:, 1 - seat]
            opposite[:, :, FIRST] = before[1 - seat][:-1]
            opposite[:, :, ROWS] = opposite[:, :, STRIDE] = 1
            opposite[:, :, TIMES] = 0
            for agent, play in enumerate(plays):
                own, other = strategy.tables[seat], play[1 - seat].chances
                played: tuple[Floats, Floats] = (own, other) if seat == 0 else (other, own)
                found[agent, seat] = value_deals(seat, arrays, seated, played)
        return found

    parts = []
    progress = Progress(report or (lambda done, total: None), deals)
    with start_workers(num_threads) as workers:
        for begin, end, part in workers.map(work, deals, DEALS_A_CHUNK, progress):
            parts.append(part)
            progress.add(end - begin)
    progress.finish()
    values = np.concatenate(parts, axis=2)
    return [_estimate(of_agent, tree.rules.big_blind, seed) for of_agent in values]


def _estimate(values: npt.NDArray[np.float64], big_blind: int, seed: int) -> DealtExpectedValue:
    """Return the mean of a strategy's winnings, float64[position, deals], with its interval."""
    first, second = values.mean(axis=1).tolist()
    both = values.mean(axis=0)
    interval = interval_around(float(both.mean()), mean_error(both), len(both))
    return DealtExpectedValue((first, second), interval, big_blind, len(both), seed)
