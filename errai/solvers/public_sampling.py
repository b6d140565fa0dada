"""Public chance sampling: each iteration sees one path of public boards.

Johanson, Bard, Lanctot, Gibson and Bowling, "Efficient Nash Equilibrium Approximation through Monte Carlo
Counterfactual Regret Minimization", 2012; chapter 3 of Johanson's thesis, algorithm 1. Steps of an iteration:

1. Sample a path of boards.
2. For each player in turn, sample with `opcs` one hand of the opponent besides, with `spcs` one of the
   player's own; walk the path with vectors, and let the player learn by regret matching
   (`errai.engine.paths`).

Deviations: both players learn on the same boards, unless the rule says `boards="own"`; hands that the board's
symmetry makes alike count as one hand; and boards are dealt without looking at the sampled hand, so that now
and then they hit it and teach nothing. A game without public chance, such as Bluff or Kuhn, has one path:
`pcs` is then plain CFR, all of the tree in every iteration.

A game whose hands fit into memory is walked where they lie and measured like any other. One that does not fit
needs an abstraction that was saved (`PublicSampledSolver.of_deals`): the hands of a path are made when it is
dealt; measuring such a strategy is another computation (`errai.exploitability`).
"""

import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.engine.dealt_paths import DealtPaths
from errai.engine.paths import ALL_HANDS, OPPONENT_HAND, OWN_HAND, GamePaths, PathEngine, Steps
from errai.engine.public_tree import PublicTree
from errai.engine.section import NUM_FACTORS
from errai.errors import verify_whole
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import verify_memory
from errai.solvers.board_sampled import BoardSampledSolver
from errai.solvers.solve import WARM_UP_GAME, verified_steps
from errai.solvers.table_solver import SolverLayout, TableSolver
from errai.solvers.update_rules import PathRule
from errai.strategy.bucketed import SavedAbstraction
from errai.strategy.played import BucketLookup
from errai.tables.bucket_layout import bucket_layout
from errai.workers import verified_threads

SAMPLED_HANDS = {"pcs": ALL_HANDS, "opcs": OPPONENT_HAND, "spcs": OWN_HAND}
"""Which private hand each algorithm samples besides the boards."""


class PublicSampledSolver(BoardSampledSolver):
    """CFR on sampled paths of public boards.

    Attributes:
        seed: of everything that is sampled; what an iteration samples depends on it and on the iteration.
        engine: what walks.
    """

    rule: PathRule

    def __init__(
        self,
        tree: PublicTree,
        rule: PathRule,
        dtype: npt.DTypeLike | None = None,
        num_threads: int | None = None,
        seed: int = 0,
        tables_in: str | Path | None = None,
        *,
        in_order: bool = True,
    ) -> None:
        """Allocate the tables of a game whose hands fit into memory.

        Args:
            tree: the game.
            rule: the update rule; its name says what is sampled.
            dtype: float32 or float64; by default by size.
            num_threads: threads that do iterations at the same time without `in_order`. In order, iterations
                follow each other, and their paths are too short to be shared.
            seed: of everything that is sampled.
            tables_in: a folder in whose file system the tables are held, mapped; by default in memory.
            in_order: whether the tables are to depend on nothing but the seed. Without it threads write to
                the same tables without waiting for each other.
        """
        numbers = np.dtype(dtype or tree.default_dtype)
        threads = 1 if in_order else verified_threads(num_threads)
        sampled = SAMPLED_HANDS[rule.name]
        engine = GamePaths(
            tree.plan(numbers), tree.layout, sampled, threads, tree.weights, own_boards=rule.boards == "own"
        )
        self._allocate(tree, rule, tree.layout, engine, seed, tables_in)

    def _allocate(
        self,
        tree: PublicTree,
        rule: PathRule,
        layout: SolverLayout,
        engine: PathEngine,
        seed: int,
        tables_in: str | Path | None,
        saved: SavedAbstraction | None = None,
    ) -> None:
        verify_whole("seed", seed, 0)
        self.seed, self.engine, self.saved = seed, engine, saved
        slots, held = sum(layout.num_slots), 0 if tables_in is not None else len(rule.table_names())
        verify_memory(slots * held * engine.dtype.itemsize, f"solving '{tree.game.name}' ({slots:,} slots)")
        TableSolver.__init__(self, tree, rule, layout, engine.dtype, tables_in)

    @classmethod
    def of_deals(
        cls,
        tree: PublicTree,
        rule: PathRule,
        saved: SavedAbstraction,
        dtype: npt.DTypeLike = np.float32,
        num_threads: int | None = None,
        seed: int = 0,
        tables_in: str | Path | None = None,
    ) -> "PublicSampledSolver":
        """Allocate the tables of a game of any size, whose cells are never asked for.

        Args:
            tree: the game.
            rule: the update rule; its name says what is sampled.
            saved: what both positions see; rounds with more than one board must have buckets.
            dtype: float32 or float64.
            num_threads: threads that share a path; by default all cores. The result does not depend on it.
            seed: of everything that is sampled.
            tables_in: a folder in whose file system the tables are held, mapped; by default in memory.
        """
        deals, pair = Deals(tree.rules), (saved.abstraction, saved.abstraction)
        layout = bucket_layout(tree.walk, deals, pair)
        lookup, threads = BucketLookup(tree.rules, pair), verified_threads(num_threads)
        sampled = SAMPLED_HANDS[rule.name]
        solver = cls.__new__(cls)
        engine = DealtPaths(
            tree.walk, deals, layout, lookup.of, dtype, sampled, threads, own_boards=rule.boards == "own"
        )
        solver._allocate(tree, rule, layout, engine, seed, tables_in, saved)
        return solver

    @property
    def num_threads(self) -> int:
        """Threads that share the work."""
        return self.engine.num_threads

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the engine's buffers."""
        return self.engine.nbytes

    def run(self, iterations: int) -> None:
        """Do more iterations."""
        first = self.iteration + 1
        factors = verified_steps(self.rule, first, first + iterations)
        weights = self.rule.gain_weights(first, first + iterations)
        _warm_up_paths(self.dtype.name, SAMPLED_HANDS[self.rule.name])  # compiling is no part of solving
        began = time.perf_counter()
        self.engine.learn(self.seed, Steps(first, factors, weights), self.regrets, self.averages)
        self.iteration += iterations
        self.seconds += time.perf_counter() - began


@lru_cache
def _warm_up_paths(dtype: str, sampled: int) -> None:
    """Have the kernels of sampled paths compiled by learning in a small game, once a process."""
    game = load_game(WARM_UP_GAME)
    assert isinstance(game, PokerRules)
    tree = PublicTree.of(game)
    regrets, averages = tree.layout.zeros(dtype), tree.layout.zeros(dtype)
    paths = GamePaths(tree.plan(dtype), tree.layout, sampled)
    paths.learn(0, Steps(1, np.ones((1, 2, NUM_FACTORS)), np.ones(1)), regrets, averages)
    walker = paths.walkers[0]
    walker.walk_path(0, walker.sample(0, 1, 0), walker.bind(regrets, averages), np.ones(NUM_FACTORS))
