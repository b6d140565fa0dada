"""Which solver an algorithm needs."""

from pathlib import Path

import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.solvers.sampled import SampledSolver
from errai.solvers.solve import Solver
from errai.solvers.update_rules import SampledRule, UpdateRule


def make_solver(
    tree: PublicTree,
    rule: UpdateRule,
    dtype: npt.DTypeLike | None = None,
    num_threads: int | None = None,
    tables_in: str | Path | None = None,
    seed: int = 0,
    dice: tuple[int, int] | None = None,
) -> Solver | SampledSolver:
    """Return a fresh solver of a game whose hands fit into memory.

    Args:
        tree: the game.
        rule: the algorithm.
        dtype: of the tables; by default by size.
        num_threads: by default by size.
        tables_in: a folder that holds the tables; by default in memory.
        seed: of everything random.
        dice: [player] dice of a round of Bluff.
    """
    if isinstance(rule, SampledRule):
        return SampledSolver(tree, rule, dtype, num_threads, tables_in, seed, dice=dice)
    return Solver(tree, rule, dtype, num_threads, tables_in=tables_in)
