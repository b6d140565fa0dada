"""THESIS figure 4.1: exploitability in the abstract game falls while the one in the real game does not.

The thesis shows it in limit hold'em, where one exact measurement in the real game took 76 processor-days.
Here it is [2-4] hold'em with perfect recall and 5 buckets in each round, by the strength that hands have in
this game: both exploitabilities are exact, and a measurement takes seconds.
"""

from collections.abc import Sequence

from errai.engine.public_tree import PublicTree
from errai.experiments.abstracted_holdem import GAME, build_for
from errai.experiments.figure import PAPER, QUICK, Curves, Figure, Size, Tell, points_to_measure
from errai.games.catalogue import load_card_game
from errai.response.abstract import abstract_exploitability
from errai.solvers.solve import Solver
from errai.solvers.update_rules import find_rule

RECIPE = "PR-PHS 5x1-5"
ABSTRACT, REAL, LOWEST = "abstract game", "real game", "real game, lowest so far"


def draw(size: Size, seed: int, tell: Tell) -> Curves:
    """Make the curves; nothing is random but the order in which equal hands are put into buckets."""
    game = load_card_game(GAME)
    tree = PublicTree.of(game).abstracted_by(build_for(game, RECIPE, game, seed))
    solver = Solver(tree, find_rule("cfr"))
    points = points_to_measure(size.iterations)
    abstract: list[float] = []
    real: list[float] = []
    for point in points:
        solver.run(point - solver.iteration)
        real.append(solver.measure().exploitability.mbb_per_game)
        abstract.append(abstract_exploitability(solver.strategy(), solver.num_threads).mbb_per_game)
        tell("iterations", point, size.iterations)
    lowest = [min(real[: place + 1]) for place in range(len(real))]
    values: dict[str, Sequence[float]] = {ABSTRACT: abstract, REAL: real, LOWEST: lowest}
    return Curves(points, values)


FIGURE = Figure(
    "[2-4] hold'em, perfect recall, 5 buckets a round, CFR",
    "mbb/g",
    {QUICK: Size(200), PAPER: Size(10_000)},
    draw,
    claims=((ABSTRACT, REAL), (LOWEST, REAL)),
)
