"""The solver of an update rule: all of the tree in every iteration, sampled boards, or sampled sub-games."""

from pathlib import Path

import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.solvers.cfr_br import ResponseSolver
from errai.solvers.public_sampling import PublicSampledSolver
from errai.solvers.solve import Solver
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import ResponseRule, SampledBoardsRule, UpdateRule


def make_solver(
    tree: PublicTree,
    rule: UpdateRule,
    dtype: npt.DTypeLike | None = None,
    num_threads: int | None = None,
    tables_in: str | Path | None = None,
    seed: int = 0,
) -> TableSolver:
    """Allocate the solver that a rule asks for.

    Args:
        tree: the game.
        rule: the update rule.
        dtype: float32 or float64; by default by size.
        num_threads: threads; by default by size.
        tables_in: a folder in whose file system the tables are held, mapped; by default in memory.
        seed: of everything that is sampled.
    """
    if isinstance(rule, ResponseRule):
        return ResponseSolver(tree, rule, dtype, num_threads, seed, tables_in)
    if isinstance(rule, SampledBoardsRule):
        return PublicSampledSolver(tree, rule, dtype, num_threads, seed, tables_in)
    return Solver(tree, rule, dtype, num_threads, tables_in=tables_in)
