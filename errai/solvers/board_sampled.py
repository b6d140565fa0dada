"""What solvers over sampled boards share: hands in memory or made on demand, and how they are measured."""

from functools import cached_property

import numpy as np

from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.games.rounds import round_of_game
from errai.response.exploitability import measure_exploitability
from errai.solvers.table_solver import Measurement, TableSolver
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import BucketLayout


class BoardSampledSolver(TableSolver):
    """A solver whose iterations see a sample of the boards.

    Attributes:
        saved: the abstraction of a game whose hands do not fit into memory; None where they do.
    """

    saved: SavedAbstraction | None

    @cached_property
    def _measuring(self) -> Traversal:
        return self.tree.traversal(self.dtype)

    def measure(self, current: bool = False) -> Measurement:
        """Measure the average strategy, or the current one, and check every table for NaN and infinity."""
        self.verify_finite()
        if self.saved is not None:
            raise UsageError(
                f"the hands of '{self.tree.game.name}' are not in memory: what was learnt is measured "
                "sub-game by sub-game, by errai.exploitability(solver.strategy())"
            )
        played = self.source if current else self.averages
        measured = measure_exploitability(self.tree, played, self._measuring)
        return Measurement(self.iteration, self.seconds, measured)

    def strategy(self, current: bool = False) -> Strategy | BucketStrategy:
        """Return the average strategy, or the current one; it changes with the tables."""
        played = self.source if current else self.averages
        if self.saved is not None:
            return BucketStrategy(self.tree, self.saved, played)
        return Strategy(self.tree, played)

    def describe_slot(self, player: int, slot: int) -> str:
        """Name the decision and row of a slot; of a game of any size, its round."""
        if self.saved is None:
            return self.tree.describe_slot(player, slot)
        assert isinstance(self.layout, BucketLayout)
        r = int(np.searchsorted(self.layout.begin[player], slot, side="right")) - 1
        return round_of_game(self.tree.rules, r)
