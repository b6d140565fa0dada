"""What every solver of tables has: regrets, averages, a rule's own tables, and the iterations done so far.

How an iteration goes (all of the tree, or a sample of it) is up to its subclasses: `Solver` walks the whole
game. Checkpoints hold `tables`; whoever resumes fills them and sets `iteration` and `seconds`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from errai.engine.public_tree import PublicTree
from errai.response.results import Exploitability
from errai.solvers.update_rules import AVERAGES, REGRETS, UpdateRule
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats, Places
from errai.tables.shards import NumberFormat, Shards


class Point(Protocol):
    """Where a run was when it was looked at."""

    @property
    def iteration(self) -> int:
        """Iterations done."""

    @property
    def seconds(self) -> float:
        """Time spent on them."""

    @property
    def mbb_per_game(self) -> float | None:
        """Exact exploitability; None where it was not measured."""


@dataclass(frozen=True)
class Measurement:
    """One point of a convergence curve.

    Attributes:
        iteration: iterations done.
        seconds: time spent on iterations, measurements apart.
        exploitability: of the average strategy.
    """

    iteration: int
    seconds: float
    exploitability: Exploitability

    @property
    def mbb_per_game(self) -> float:
        """Exploitability in thousandths of a big blind."""
        return self.exploitability.mbb_per_game


class SolverLayout(Protocol):
    """What a solver knows of where its slots are."""

    @property
    def num_slots(self) -> tuple[int, int]:
        """[player] slots in all."""

    @property
    def shard_begin(self) -> tuple[Places, Places]:
        """[player] int64[shards + 1] where each shard begins and, last, where all end."""


class TableSolver(ABC):
    """A solver whose state is a number for each slot of some tables.

    Attributes:
        tree: the game.
        rule: the update rule.
        layout: where the slots are.
        dtype: of the tables.
        tables: [name][player] float[slots] all that a checkpoint must hold; resuming from one fills
            them and sets `iteration` and `seconds`.
        iteration: iterations done.
        seconds: time spent on them.
    """

    def __init__(
        self,
        tree: PublicTree,
        rule: UpdateRule,
        layout: SolverLayout,
        dtype: np.dtype[Any],
        tables_in: str | Path | None = None,
    ) -> None:
        """Allocate the tables.

        Args:
            tree: the game.
            rule: the update rule.
            layout: where the slots are.
            dtype: float32 or float64.
            tables_in: a folder in whose file system the tables are held, mapped; by default in memory.
        """
        self.tree, self.rule, self.layout, self.dtype = tree, rule, layout, dtype
        held = {name: self._shards(tables_in) for name in rule.table_names()}
        self.tables = {name: (first.held, second.held) for name, (first, second) in held.items()}
        self.iteration = 0
        self.seconds = 0.0

    def _shards(self, folder: str | Path | None) -> tuple[Shards, Shards]:
        """Allocate a table of both players; whoever walks works on the held numbers themselves."""
        numbers = NumberFormat(self.dtype.name)
        first, second = (Shards(begin, numbers, self.dtype, folder) for begin in self.layout.shard_begin)
        return first, second

    @abstractmethod
    def run(self, iterations: int) -> None:
        """Do more iterations."""

    @abstractmethod
    def measure(self, current: bool = False) -> Measurement:
        """Measure the average strategy, or the current one, and check every table for NaN and infinity."""

    @abstractmethod
    def strategy(self, current: bool = False) -> Strategy | BucketStrategy:
        """Return the average strategy, or the current one; it changes with the tables."""

    @property
    @abstractmethod
    def num_threads(self) -> int:
        """Threads that share the work."""

    @property
    @abstractmethod
    def buffer_bytes(self) -> int:
        """Bytes of all that is not a table: buffers, and one iteration's gains."""

    @abstractmethod
    def describe_slot(self, player: int, slot: int) -> str:
        """Name the decision and row of a slot."""

    @property
    def regrets(self) -> tuple[Floats, Floats]:
        """[player] float[slots]."""
        return self.tables[REGRETS]

    @property
    def averages(self) -> tuple[Floats, Floats]:
        """[player] float[slots] the average strategy, not normalised."""
        return self.tables[AVERAGES]

    @property
    def source(self) -> tuple[Floats, Floats]:
        """[player] float[slots] what is played in the next iteration, in proportion to its positive part."""
        return self.tables[self.rule.source]

    def verify_finite(self) -> None:
        """Stop with the name of the decision where a table holds a number that is none."""
        for what, tables in self.tables.items():
            for player, table in enumerate(tables):
                # A sum is finite unless some entry is not, or the entries overflow together: both are fatal.
                if not np.isfinite(table.sum(dtype=np.float64)):
                    bad = np.flatnonzero(~np.isfinite(table))
                    slot = int(bad[0]) if len(bad) else 0
                    raise FloatingPointError(
                        f"the {what} of player {player} are not finite at slot {slot}, "
                        f"{self.describe_slot(player, slot)}, after {self.iteration} iterations"
                    )
