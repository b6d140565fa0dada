"""THESIS figure 3.2: chance sampling and its public variants in [2-1] and [2-4] hold'em, by time.

Published as curves without numbers: PCS is far ahead of CS, and OPCS and SPCS are behind it.
"""

from functools import partial

from errai.engine.public_tree import PublicTree
from errai.experiments.figure import PAPER, QUICK, SECONDS, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.race import published_rule, race
from errai.games.catalogue import load_card_game
from errai.solvers.make import make_solver
from errai.solvers.table_solver import TableSolver

GAMES = ("holdem-2-1", "holdem-2-4")
ALGORITHMS = ("cs", "opcs", "spcs", "pcs")


def curve(game: str, algorithm: str) -> str:
    """Name a curve."""
    return f"{algorithm.upper()} in {game}"


def _solver(game: str, algorithm: str, seed: int) -> TableSolver:
    tree = PublicTree.of(load_card_game(game))
    return make_solver(tree, published_rule(algorithm), num_threads=1, seed=seed)


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides what is sampled."""
    solvers = {
        curve(game, algorithm): partial(_solver, game, algorithm)
        for game in size.parts
        for algorithm in ALGORITHMS
    }
    return race(solvers, size, seed, tell, kept=kept)


FIGURE = Figure(
    "[2-1] and [2-4] hold'em by sampling, one thread",
    "mbb/g",
    {QUICK: Size(20.0, 1, GAMES[:1]), PAPER: Size(10_000.0, 5, GAMES)},
    draw,
    claims=tuple(
        (curve(game, low), curve(game, high))
        for game in GAMES
        for low, high in (("pcs", "cs"), ("cs", "opcs"), ("cs", "spcs"))
    ),
    axes=SECONDS,
)
