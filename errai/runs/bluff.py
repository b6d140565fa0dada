"""Bluff solved stage by stage: rounds with fewer dice first, their values at the leaves of larger ones.

A round of Bluff starts afresh: new dice, and everybody knows who has how many and who starts. So a game is
a chain of stages, and so is an exact best response: it plays a stage knowing what it will win from the
stages after it (Johanson's thesis 2016, section 3.2.3).
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from errai.engine.public_tree import PublicTree
from errai.engine.section import PLAY
from errai.games.bluff import BluffRules
from errai.solvers.make import make_solver
from errai.solvers.solve import StopRule, run_solver
from errai.solvers.table_solver import Measurement
from errai.solvers.update_rules import UpdateRule
from errai.strategy.bluff import BluffStrategy, Dice
from errai.tables.layout import Floats

_NO_STEP = np.zeros(5)


@dataclass(frozen=True, eq=False)
class BluffRun:
    """A solved game of Bluff.

    Attributes:
        strategy: what to play.
        values: [stage] what the starter of a round wins on average, from -1 to 1.
        measurements: [stage] convergence of the stage, the later stages' values given.
    """

    strategy: BluffStrategy
    values: dict[Dice, float]
    measurements: dict[Dice, tuple[Measurement, ...]]


def round_values(dice: Dice, starter_value: Callable[[Dice], float]) -> tuple[float, float]:
    """Return what the starter wins if the starter, and if the other, wins a round.

    Args:
        dice: the round.
        starter_value: what the starter of a later round wins there.
    """
    starter, other = dice
    won = 1.0 if other == 1 else starter_value((starter, other - 1))
    lost = -1.0 if starter == 1 else -starter_value((other, starter - 1))
    return won, lost


def solve_bluff(
    game: BluffRules,
    rule: UpdateRule,
    stop: StopRule,
    measure_every: int | None = None,
    report: Callable[[Measurement], None] | None = None,
    seed: int = 0,
) -> BluffRun:
    """Solve every stage of a game of Bluff, the smallest first."""
    values: dict[Dice, float] = {}
    trees: dict[Dice, PublicTree] = {}
    tables: dict[Dice, tuple[Floats, Floats]] = {}
    measurements: dict[Dice, tuple[Measurement, ...]] = {}
    for dice in reversed(game.stages()):
        tree = PublicTree.of_bluff(game, dice, round_values(dice, values.__getitem__))
        solver = make_solver(tree, rule, num_threads=1, seed=seed, dice=dice)
        measurements[dice] = tuple(run_solver(solver, stop, measure_every, report))
        trees[dice], tables[dice] = tree, solver.averages
        played = tree.layout.tables(solver.averages, solver.averages, solver.averages)
        with closing(tree.traversal(solver.dtype, 1)) as walk:
            values[dice] = walk.mean_value(0, walk.walk_once(0, PLAY, played, _NO_STEP))
    return BluffRun(BluffStrategy(game, trees, tables), values, measurements)
