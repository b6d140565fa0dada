"""Solving by sampled deals: chance sampling, external sampling and outcome sampling.

An iteration deals once (or `deals` times) for each player in turn and walks the betting of that deal
(`errai.engine.deal_walk`), so it touches a few slots of a table of any size.

- Chance sampling (`cs`): both players' actions are enumerated. The walked player's regrets and the opponent's
  average gain by the opponent's reach. Zinkevich et al. 2007; Johanson's thesis 2016, section 3.3,
  algorithm 1. Deviation: there each player's average gains in its own walk, by its own reach. The means are
  the same, but here nothing is left to do where the opponent does not get: half of the walk.
- External sampling (`external`): the opponent's actions are sampled as it plays them. Its average gains what
  it plays wherever it is met, which happens as often as it gets there. Lanctot et al. 2009.
- Outcome sampling (`outcome`): the walked player's actions are sampled, too, any of them alike with
  probability `exploration` and otherwise as it plays; gains are divided by the chance of getting there.
  Lanctot et al. 2009. Deviation: the average is the opponent's, as in external sampling, and divided by the
  chance of the walked player's choices alone. It is as right as the paper's stochastically weighted average,
  whose weights are larger.

On average over deals and choices, what a row gains is what it would gain in a walk of the whole tree, times
how often the row is dealt.

Weights and discounts of iterations, a floor of regrets and pruning are options of `SampledRule`. Pruning
(Brown and Sandholm 2019, Pluribus): in a part of the walks, actions with regret below a threshold are
left out where another action has positive regret, so that they are not played; in the other walks
their gains, and all gains below them, count so much more that the mean is the same.

Threads. With several deals in an iteration, their gains are gathered while no table changes and added in the
order of deals: the same bits on any number of threads. With `shared`, each thread does iterations of its own
in the same tables, and nothing is locked: a thread may read an information set half changed by another, and
of two gains of one slot in the same instant one may be lost. Both are rare where tables are large; results
cannot be repeated to the bit. Everything else depends on (seed, iteration) alone.
"""

import time
from collections import deque
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair
from errai.engine.deal_walk import CHANCE_SAMPLING, EXTERNAL, OUTCOME, DealWalk, Settings, deal_tree
from errai.engine.deals import BucketDeals, CellDeals, DealSource, DiceDeals
from errai.engine.protocol import Engine
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.deals import Deals
from errai.memory import verify_memory
from errai.response.exploitability import measure_exploitability
from errai.response.results import Exploitability
from errai.solvers.table_solver import Measurement, TableSolver
from errai.solvers.update_rules import SampledRule
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import BucketLayout, bucket_layout
from errai.tables.layout import Floats, slot_and_row
from errai.tree.betting_tree import DECISION
from errai.workers import Workers, verified_threads

BATCH_DEALS = 4096
"""Deals whose rows are looked up together."""

MIN_DEALS_FOR_THREADS = 1024
"""Iterations of fewer deals are not worth waking threads for, unless it is asked for."""

PART_SLOTS = 1 << 18
"""Slots that are discounted at a time."""

SAMPLING = {"chance": CHANCE_SAMPLING, "external": EXTERNAL, "outcome": OUTCOME}

Measurer = Callable[["SampledSolver", bool], Exploitability]
"""Measures a solver's average strategy, or with True its current one."""


class SampledSolver(TableSolver):
    """CFR by sampled deals.

    Attributes:
        rule: what is sampled, and how iterations count.
        seed: of everything random.
        dealer: deals.
        abstractions: [position] of a game whose hands do not fit into memory; None where `tree` has all.
        measurer: measures instead of the exact walk; a game whose hands do not fit into memory needs one.
    """

    rule: SampledRule

    def __init__(
        self,
        tree: PublicTree,
        rule: SampledRule,
        dtype: npt.DTypeLike | None = None,
        num_threads: int | None = None,
        tables_in: str | Path | None = None,
        seed: int = 0,
        abstractions: AbstractionPair | None = None,
        measurer: Measurer | None = None,
        dice: tuple[int, int] | None = None,
    ) -> None:
        """Allocate the tables.

        Args:
            tree: the game, with its abstraction where all its hands fit into memory.
            rule: the algorithm.
            dtype: float32 or float64; by default by size.
            num_threads: by default one, or all cores where the rule has work for them.
            tables_in: a folder in whose file system the tables are held, mapped; by default in memory.
            seed: of everything random.
            abstractions: [position] what players see of a game whose hands do not fit into memory.
            measurer: how to measure; by default exactly.
            dice: [player] dice of a round of Bluff.
        """
        self.seed, self.abstractions, self.measurer = seed, abstractions, measurer
        layout = tree.layout if abstractions is None else _bucket_layout(tree, abstractions)
        default = np.float32 if abstractions is not None else tree.default_dtype
        numbers = np.dtype(dtype if dtype is not None else default)
        if tables_in is None:
            num_bytes = len(rule.table_names()) * sum(layout.num_slots) * numbers.itemsize
            verify_memory(num_bytes, f"solving '{tree.game.name}' ({sum(layout.num_slots):,} slots)")
        super().__init__(tree, rule, layout, numbers, tables_in)
        self.dealer: DealSource
        if isinstance(tree.game, BluffRules):
            assert dice is not None
            self.dealer = DiceDeals(tree, dice)
        elif isinstance(layout, BucketLayout):
            assert abstractions is not None
            self.dealer = BucketDeals(tree.rules, layout, abstractions)
        else:
            self.dealer = CellDeals(tree)
        self._tree = deal_tree(tree.betting, tree.walk)
        self._settings = Settings(
            SAMPLING[rule.sampling],
            rule.exploration,
            rule.regret_floor,
            rule.prune_below,
            rule.prune_probability,
        )
        self._num_threads = self._chosen_threads(num_threads)
        self._batch_iterations = max(1, BATCH_DEALS // (2 * rule.deals))
        num_deals = 2 * rule.deals * self._batch_iterations
        shares = self._num_threads if rule.shared else 1
        self._batches = deque(self.dealer.batch(num_deals) for _ in range(shares))
        self._walks = deque(DealWalk(self._tree, self._settings) for _ in range(self._num_threads))
        self._is_warm = False

    def _chosen_threads(self, num_threads: int | None) -> int:
        chosen = verified_threads(num_threads)
        has_work = self.rule.shared or self.rule.deals >= MIN_DEALS_FOR_THREADS
        if num_threads is None and not has_work:
            return 1
        return chosen if self.rule.shared else min(chosen, self.rule.deals)

    @property
    def num_threads(self) -> int:
        """Threads that share the work."""
        return self._num_threads

    @property
    def num_visits(self) -> int:
        """Decisions visited so far by this object."""
        return sum(walk.visits for walk in self._walks)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of batches of deals, stacks and journals."""
        return sum(walk.nbytes for walk in self._walks) + sum(
            array.nbytes for batch in self._batches for array in batch
        )

    @cached_property
    def walk(self) -> Engine:
        """What walks the whole tree, to measure."""
        return self.tree.traversal(self.dtype, self._num_threads)

    @cached_property
    def _workers(self) -> Workers:
        return Workers(self._num_threads)

    # Iterations

    def run(self, iterations: int) -> None:
        """Do more iterations."""
        if not self._is_warm:
            warm_up_deals(self.rule, self.dtype.name)  # compiling is no part of solving
            self._is_warm = True
        began = time.perf_counter()
        last = self.iteration + iterations
        while self.iteration < last:
            end = last
            if every := self.rule.discount_every:
                end = min(end, (self.iteration // every + 1) * every)
            self._do(self.iteration + 1, end + 1)
            self.iteration = end
            if (factors := self.rule.discounts(end)) is not None:
                self._discount(*factors)
        self.seconds += time.perf_counter() - began

    def _do(self, first: int, last: int) -> None:
        """Do iterations first .. last - 1."""
        if self.rule.shared and self._num_threads > 1:
            self._workers.run(
                lambda begin, end: self._learn(first + begin, first + end),
                last - first,
                self._batch_iterations,
            )
        elif self._num_threads > 1:
            for iteration in range(first, last):
                self._gather(iteration)
        else:
            for begin in range(first, last, self._batch_iterations):
                self._learn(begin, min(begin + self._batch_iterations, last))

    def _learn(self, first: int, last: int) -> None:
        """Do a batch of iterations with buffers that nobody else uses at the time."""
        lanes = 2 * self.rule.deals
        whole, walk = self._batches.pop(), self._walks.pop()
        try:
            batch = whole.part(0, (last - first) * lanes)
            self.dealer.fill(batch, self.seed, first * lanes, lanes)
            weights = self.rule.weights(first, last)
            walk.learn(batch, self.rule.deals, weights, self.regrets, self.averages)
        finally:
            self._batches.append(whole)
            self._walks.append(walk)

    def _gather(self, iteration: int) -> None:
        """Do one iteration whose deals are shared out to threads."""
        deals, batch = self.rule.deals, self._batches[0]
        weights = self.rule.weights(iteration, iteration + 1)
        share = -(-deals // self._num_threads)

        def deal(begin: int, end: int) -> None:
            self.dealer.fill(batch.part(begin, end), self.seed, iteration * 2 * deals + begin, 2 * deals)

        self._workers.run(deal, 2 * deals, share)
        for player in (0, 1):

            def work(begin: int, end: int, player: int = player) -> None:
                first = player * deals
                walk = self._walks[begin // share]
                walk.gather(batch, deals, first + begin, first + end, weights, self.regrets, self.averages)

            self._workers.run(work, deals, share)
            for part in range(-(-deals // share)):
                self._walks[part].add(player, self.regrets, self.averages)
            for part in range(-(-deals // share)):
                self._walks[part].raise_to_floor(player, self.regrets)

    def _discount(self, positive: float, negative: float, average: float) -> None:
        """Multiply all tables."""
        for player in (0, 1):
            regret, averages = self.regrets[player], self.averages[player]
            for begin in range(0, len(regret), PART_SLOTS):
                part = slice(begin, begin + PART_SLOTS)
                factors = np.where(regret[part] > 0, positive, negative)
                regret[part] *= factors.astype(self.dtype)
                averages[part] *= self.dtype.type(average)

    # What came out

    def measure(self, current: bool = False) -> Measurement:
        """Measure the average strategy, or the current one, and check every table for NaN and infinity."""
        self.verify_finite()
        if self.measurer is not None:
            measured = self.measurer(self, current)
        elif self.abstractions is not None:
            raise UsageError(
                f"the hands of '{self.tree.game.name}' do not fit into memory: a measurer must say how to "
                "measure its strategies"
            )
        else:
            measured = measure_exploitability(self.tree, self._played(current), self.walk)
        return Measurement(self.iteration, self.seconds, measured)

    def strategy(self, current: bool = False) -> Strategy:
        """Return the average strategy, or the current one; it changes with the tables."""
        if self.abstractions is not None:
            raise UsageError(
                f"the hands of '{self.tree.game.name}' do not fit into memory: bucket_strategy gives its "
                "strategy"
            )
        return Strategy(self.tree, self._played(current))

    def bucket_strategy(self, saved: SavedAbstraction, current: bool = False) -> BucketStrategy:
        """Return the strategy of a game whose hands do not fit into memory.

        Args:
            saved: the abstraction of both positions, and where it lies.
            current: the last iteration's strategy instead of the average.
        """
        return BucketStrategy(self.tree, saved, self._played(current))

    def _played(self, current: bool) -> tuple[Floats, Floats]:
        return self.regrets if current else self.averages

    def describe_slot(self, player: int, slot: int) -> str:
        """Name the decision and row of a slot."""
        layout = self.layout
        if not isinstance(layout, BucketLayout):
            return self.tree.describe_slot(player, slot)
        r = int(np.searchsorted(layout.begin[player], slot, side="right")) - 1
        betting, walk = self.tree.betting, self.tree.walk
        place, stride = slot - int(layout.begin[player, r]), int(layout.stride[player, r])
        nodes = np.flatnonzero((betting.kind == DECISION) & (betting.player == player) & (betting.round == r))
        inside, row = slot_and_row(place, stride, bool(layout.bucketed[player, r]))
        node = int(nodes[np.searchsorted(walk.slot[nodes], inside, side="right") - 1])
        return f"node {node} of round {r + 1}, row {row}"


def _bucket_layout(tree: PublicTree, abstractions: AbstractionPair) -> BucketLayout:
    return bucket_layout(tree.walk, Deals(tree.rules), abstractions)


@lru_cache
def warm_up_deals(rule: SampledRule, dtype: str) -> None:
    """Have the kernels of a rule compiled in a small game, once a process."""
    small = rule.with_options(deals=min(rule.deals, 2), shared=False)
    solver = SampledSolver(PublicTree.of("kuhn"), small, dtype, 1)
    solver._is_warm = True
    solver.run(1)
    if rule.deals > 1:
        solver._gather(2)
        solver._workers.close()
