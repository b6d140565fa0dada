"""CFR-BR: a player who may be abstracted learns against one who sees everything and answers it.

Johanson, Bard, Burch and Bowling, "Finding Optimal Abstract Strategies in Extensive-Form Games", 2012;
chapter 4 of Johanson's thesis, in the variant with the hybrid agent. Each position is solved on its own: as
the learner, against a hybrid opponent in the other one. In every iteration one sub-game below the trunk is
sampled; the hybrid learns in the trunk by its own regrets and answers the learner inside the sub-game with
an exact best response; then the learner learns against that (`errai.engine.sampled_subgames`). Both learners
together are one strategy, the least exploitable that their abstraction can express.

`trunk` says how many rounds are above the sub-games. In the two-round games [2-1] and [2-4] the hybrid
answers on a sampled flop if it is 1. If it is 2, nothing is left to answer, and the hybrid learns by its own
regrets at every hand of every board: public chance sampling against an unabstracted opponent.

The average strategy is proved to converge. The current one does so in practice where a best response answers
it, with more noise; the thesis plays either. With a trunk of all rounds only the average is of use.
"""

import time
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.engine.dealt_subgames import DealtSubgames
from errai.engine.paths import Steps
from errai.engine.public_tree import PublicTree
from errai.engine.root import Root
from errai.engine.sampled_subgames import GameSubgames, ResponseWalk, SubgameSource
from errai.engine.section import NUM_FACTORS
from errai.errors import UsageError, verify_whole
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import verify_memory
from errai.solvers.board_sampled import BoardSampledSolver
from errai.solvers.solve import WARM_UP_GAME, verified_steps, warm_up_walks
from errai.solvers.table_solver import SolverLayout, TableSolver
from errai.solvers.update_rules import ResponseRule
from errai.strategy.bucketed import SavedAbstraction
from errai.strategy.played import BucketLookup
from errai.tables.bucket_layout import bucket_layout
from errai.workers import Workers, verified_threads

TRUNKS = "trunks"
"""The table of what hybrid opponents have learnt: [position of the opponent] float[slots]."""


class ResponseSolver(BoardSampledSolver):
    """CFR-BR in both positions.

    Attributes:
        seed: of everything that is sampled.
        walks: [learner] the learner in this position, and the hybrid in the other.
    """

    rule: ResponseRule

    def __init__(
        self,
        tree: PublicTree,
        rule: ResponseRule,
        dtype: npt.DTypeLike | None = None,
        num_threads: int | None = None,
        seed: int = 0,
        tables_in: str | Path | None = None,
    ) -> None:
        """Allocate the tables of a game whose hands fit into memory.

        Args:
            tree: the game, as the learners see it.
            rule: the update rule.
            dtype: float32 or float64; by default by size.
            num_threads: with two or more, both positions are solved at the same time. The result does not
                depend on it.
            seed: of everything that is sampled.
            tables_in: a folder in whose file system the learners' tables are held; by default in memory.
        """
        verify_trunk(tree, rule.trunk)
        numbers = np.dtype(dtype or tree.default_dtype)
        threads = 1 if num_threads is None and tree.is_small else verified_threads(num_threads)
        source = GameSubgames(tree.plan(numbers), tree.layout, rule.trunk)
        root = Root.of(tree.cells, numbers, tree.weights)
        self._allocate(tree, rule, tree.layout, source, root, threads, seed, tables_in)

    def _allocate(
        self,
        tree: PublicTree,
        rule: ResponseRule,
        layout: SolverLayout,
        source: SubgameSource,
        root: Root,
        num_threads: int,
        seed: int,
        tables_in: str | Path | None,
        saved: SavedAbstraction | None = None,
    ) -> None:
        verify_whole("seed", seed, 0)
        self.seed, self.saved, self._source, self._num_threads = seed, saved, source, min(2, num_threads)
        dtype = root.initial[0].dtype
        slots = sum(layout.num_slots) * (0 if tables_in is not None else len(rule.table_names()))
        slots += sum(source.hybrid_slots)
        verify_memory(slots * dtype.itemsize, f"solving '{tree.game.name}' ({slots:,} numbers)")
        TableSolver.__init__(self, tree, rule, layout, dtype, tables_in)
        self.walks = [ResponseWalk(source, learner, rule.trunk, root) for learner in (0, 1)]
        self.tables[TRUNKS] = (self.walks[1].trunk, self.walks[0].trunk)

    @classmethod
    def of_deals(
        cls,
        tree: PublicTree,
        rule: ResponseRule,
        saved: SavedAbstraction,
        dtype: npt.DTypeLike = np.float32,
        num_threads: int | None = None,
        seed: int = 0,
        tables_in: str | Path | None = None,
    ) -> "ResponseSolver":
        """Allocate the tables of a game of any size, whose cells are never asked for as a whole.

        Args:
            tree: the game.
            rule: the update rule; the trunk that it asks for must fit into memory, hand by hand.
            saved: what both learners see; rounds with more than one board must have buckets.
            dtype: float32 or float64.
            num_threads: as above; by default all cores.
            seed: of everything that is sampled.
            tables_in: a folder in whose file system the learners' tables are held; by default in memory.
        """
        verify_trunk(tree, rule.trunk)
        deals, pair = Deals(tree.rules), (saved.abstraction, saved.abstraction)
        layout = bucket_layout(tree.walk, deals, pair)
        lookup = BucketLookup(tree.rules, pair)
        source = DealtSubgames(tree.walk, deals, layout, lookup.of, dtype, rule.trunk)
        solver = cls.__new__(cls)
        root = Root.of(source.trunk_cells, dtype)
        threads = verified_threads(num_threads)
        solver._allocate(tree, rule, layout, source, root, threads, seed, tables_in, saved)
        return solver

    @property
    def num_threads(self) -> int:
        """Threads that share the work."""
        return self._num_threads

    @property
    def buffer_bytes(self) -> int:
        """Bytes of buffers and responses."""
        return self._source.nbytes + sum(walk.hybrid.nbytes - walk.trunk.nbytes for walk in self.walks)

    @cached_property
    def _workers(self) -> Workers:
        return Workers(2)

    def run(self, iterations: int) -> None:
        """Do more iterations."""
        first = self.iteration + 1
        factors = verified_steps(self.rule, first, first + iterations)
        steps = Steps(first, factors, self.rule.gain_weights(first, first + iterations))
        _warm_up_responses(self.dtype.name)  # compiling is no part of solving
        began = time.perf_counter()

        def learn(learner: int, _: int = 0) -> None:
            regrets, averages = self.regrets[learner], self.averages[learner]
            self.walks[learner].learn(self.seed, steps, regrets, averages)

        if self._num_threads == 1:
            learn(0)
            learn(1)
        else:
            self._workers.run(learn, 2, 1)
        self.iteration += iterations
        self.seconds += time.perf_counter() - began

    def verify_finite(self) -> None:
        """Stop with the name of the decision where a table holds a number that is none."""
        for position, trunk in enumerate(self.tables[TRUNKS]):
            if not np.isfinite(trunk.sum(dtype=np.float64)):
                raise FloatingPointError(
                    f"the trunk's regrets of the opponent in position {position} are not finite after "
                    f"{self.iteration} iterations"
                )
        super().verify_finite()


@lru_cache
def _warm_up_responses(dtype: str) -> None:
    """Have the kernels of CFR-BR compiled by learning in a small game, once a process."""
    warm_up_walks(dtype)
    game = load_game(WARM_UP_GAME)
    assert isinstance(game, PokerRules)
    tree = PublicTree.of(game)
    walk = ResponseWalk(GameSubgames(tree.plan(dtype), tree.layout, 1), 0, 1, Root.of(tree.cells, dtype))
    regrets, averages = (tree.layout.zeros(dtype)[0] for _ in range(2))
    walk.learn(0, Steps(1, np.ones((1, 2, NUM_FACTORS)), np.ones(1)), regrets, averages)


def verify_trunk(tree: PublicTree, trunk: int) -> None:
    """Refuse a trunk of more rounds than the game has."""
    num_rounds = tree.betting.num_rounds
    if not 1 <= trunk <= num_rounds:
        valid = "1 round" if num_rounds == 1 else f"1 to {num_rounds} rounds"
        raise UsageError(f"the trunk of '{tree.game.name}' must have {valid}, not {trunk}")
