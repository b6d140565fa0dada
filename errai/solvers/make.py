"""Which solver an algorithm needs."""

from pathlib import Path

import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.solvers.sampled import SampledSolver
from errai.solvers.solve import Solver
from errai.solvers.update_rules import SAMPLED_RULES, SampledRule, UpdateRule
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
) -> Solver | SampledSolver:
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
    if saved is not None and not isinstance(rule, SampledRule):
        raise UsageError(
            f"'{rule.name}' walks the whole tree, and the hands of '{tree.game.name}' do not fit into memory"
            f": expected {', '.join(SAMPLED_RULES)}"
        )
    if isinstance(rule, SampledRule):
        pair = None if saved is None else (saved.abstraction, saved.abstraction)
        return SampledSolver(tree, rule, dtype, num_threads, tables_in, seed, abstractions=pair, dice=dice)
    return Solver(tree, rule, dtype, num_threads, tables_in=tables_in)
