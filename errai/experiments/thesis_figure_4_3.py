"""THESIS figure 4.3: CFR-BR beside public chance sampling in unabstracted [2-4] hold'em, by time.

Published as curves without numbers: CFR is ahead of CFR-BR's average, and CFR-BR's current strategy, though
noisier, is often ahead of its average. A trunk of one round. The quick size is [2-1] hold'em.
"""

from functools import partial

from errai.engine.public_tree import PublicTree
from errai.experiments.figure import PAPER, QUICK, SECONDS, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.race import exploitability_of_average, race
from errai.games.catalogue import load_card_game
from errai.solvers.make import make_solver
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import find_rule

CFR, AVERAGE, CURRENT = "CFR (PCS)", "CFR-BR average", "CFR-BR current"


def _solver(game: str, algorithm: str, seed: int) -> TableSolver:
    return make_solver(PublicTree.of(load_card_game(game)), find_rule(algorithm), num_threads=1, seed=seed)


def _exploitability_of_current(solver: TableSolver) -> float:
    return solver.measure(current=True).exploitability.mbb_per_game


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides what is sampled."""
    (game,) = size.parts
    curves = [
        race({name: partial(_solver, game, algorithm)}, size, seed, tell, measure, kept=kept)
        for name, algorithm, measure in (
            (CFR, "pcs", exploitability_of_average),
            (AVERAGE, "cfr-br", exploitability_of_average),
            (CURRENT, "cfr-br", _exploitability_of_current),
        )
    ]
    values = {name: values for one in curves for name, values in one.values.items()}
    return Curves(curves[0].points, values)


FIGURE = Figure(
    "Unabstracted hold'em of two rounds, one thread",
    "mbb/g",
    {QUICK: Size(20.0, 1, ("holdem-2-1",)), PAPER: Size(10_000.0, 1, ("holdem-2-4",))},
    draw,
    claims=((CFR, AVERAGE),),
    axes=SECONDS,
)
