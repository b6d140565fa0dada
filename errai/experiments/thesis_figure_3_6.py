"""THESIS figure 3.6: what CS and PCS lose to an equilibrium of Bluff(2,2), by time.

The fixed opponent is a strategy solved by CFR+, where the thesis takes the last one of PCS and says that
another would do. Shown is what an average strategy loses on average over both seats. The quick size is
Bluff(2,1).
"""

from functools import partial

import numpy as np

from errai.engine.section import PLAY
from errai.experiments.bluff_stage import ALGORITHMS, GAME, QUICK_GAME, first_stage, stage_solver
from errai.experiments.figure import PAPER, QUICK, SECONDS, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.race import race
from errai.solvers.make import make_solver
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import find_rule
from errai.tables.layout import Floats

OPPONENT_ITERATIONS = 2000
"""Of CFR+."""

AXES = SECONDS._replace(what="loss to an equilibrium")


def _mean_value(solver: TableSolver, seated: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """Return what one wins from the other, on average over both seats, in chips."""
    layout, values = solver.tree.layout, []
    with solver.tree.measuring() as walk:
        for player in (0, 1):
            source = (seated[0], other[1]) if player == 0 else (other[0], seated[1])
            played = (source[0].astype(walk.dtype), source[1].astype(walk.dtype))
            tables = layout.tables(played, played, played)
            values.append(walk.mean_value(player, walk.walk_once(player, PLAY, tables, np.zeros(5))))
    return sum(values) / 2


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides what is sampled."""
    (game,) = size.parts
    stage = first_stage(game)
    opponent = make_solver(stage.tree, find_rule("cfr+"), dice=stage.dice)
    opponent.run(OPPONENT_ITERATIONS)

    def loss(solver: TableSolver) -> float:
        return -_mean_value(solver, solver.averages, opponent.averages)

    solvers = {name.upper(): partial(stage_solver, game, name) for name in ALGORITHMS}
    return race(solvers, size, seed, tell, loss, kept=kept)


FIGURE = Figure(
    "Bluff, first round, against an equilibrium, one thread",
    "chips",
    {QUICK: Size(20.0, 1, (QUICK_GAME,)), PAPER: Size(100_000.0, 5, (GAME,))},
    draw,
    claims=(("PCS", "CS"),),
    axes=AXES,
)
