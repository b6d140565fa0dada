"""Which solver an algorithm needs: all of the tree in every iteration, sampled deals, boards or sub-games."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.solvers.cfr_br import ResponseSolver
from errai.solvers.public_sampling import PublicSampledSolver
from errai.solvers.sampled import SampledSolver
from errai.solvers.solve import Solver
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import (
    NAMED_RULES,
    PathRule,
    ResponseRule,
    SampledBoardsRule,
    SampledRule,
    UpdateRule,
)
from errai.strategy.bucketed import SavedAbstraction


def make_solver(
    tree: PublicTree,
    rule: UpdateRule,
    dtype: npt.DTypeLike | None = None,
    num_threads: int | None = None,
    tables_in: str | Path | None = None,
    seed: int = 0,
    dice: tuple[int, int] | None = None,
    saved: SavedAbstraction | None = None,
) -> TableSolver:
    """Return a fresh solver of a game.

    Args:
        tree: the game.
        rule: the algorithm.
        dtype: of the tables; by default by size.
        num_threads: by default by size.
        tables_in: a folder that holds the tables; by default in memory.
        seed: of everything random.
        dice: [player] dice of a round of Bluff.
        saved: what both positions see of a game whose hands do not fit into memory.
    """
    if isinstance(rule, SampledRule):
        pair = None if saved is None else (saved.abstraction, saved.abstraction)
        return SampledSolver(tree, rule, dtype, num_threads, tables_in, seed, abstractions=pair, dice=dice)
    if saved is not None:
        if not isinstance(rule, SampledBoardsRule):
            able = ", ".join(name for name, one in NAMED_RULES.items() if goes_by_buckets(one))
            raise UsageError(
                f"'{rule.name}' needs all hands of '{tree.game.name}', which do not fit into memory: "
                f"expected {able}"
            )
        numbers = dtype if dtype is not None else np.float32
        if isinstance(rule, ResponseRule):
            return ResponseSolver.of_deals(tree, rule, saved, numbers, num_threads, seed, tables_in)
        assert isinstance(rule, PathRule)
        return PublicSampledSolver.of_deals(tree, rule, saved, numbers, num_threads, seed, tables_in)
    if isinstance(rule, ResponseRule):
        return ResponseSolver(tree, rule, dtype, num_threads, seed, tables_in)
    if isinstance(rule, PathRule):
        return PublicSampledSolver(tree, rule, dtype, num_threads, seed, tables_in)
    return Solver(tree, rule, dtype, num_threads, tables_in=tables_in)


def goes_by_buckets(rule: UpdateRule) -> bool:
    """Return whether a rule can do without the cells of a game whose tables have buckets."""
    return isinstance(rule, SampledRule | SampledBoardsRule)
