"""THESIS figure 3.5: chance sampling and public chance sampling in Bluff(2,2), by time.

All dice are private, so PCS samples nothing: an iteration is one of plain CFR over the whole tree. Published
as curves without numbers: PCS is far ahead. The quick size is Bluff(2,1).
"""

from functools import partial

from errai.experiments.bluff_stage import ALGORITHMS, GAME, QUICK_GAME, stage_solver
from errai.experiments.figure import PAPER, QUICK, SECONDS, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.race import race
from errai.solvers.table_solver import TableSolver


def _exploitability_in_chips(solver: TableSolver) -> float:
    return solver.measure().exploitability.chips


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides what is sampled."""
    (game,) = size.parts
    solvers = {name.upper(): partial(stage_solver, game, name) for name in ALGORITHMS}
    return race(solvers, size, seed, tell, _exploitability_in_chips, kept=kept)


FIGURE = Figure(
    "Bluff, first round, one thread",
    "chips",
    {QUICK: Size(20.0, 1, (QUICK_GAME,)), PAPER: Size(100_000.0, 5, (GAME,))},
    draw,
    claims=(("PCS", "CS"),),
    axes=SECONDS,
)
