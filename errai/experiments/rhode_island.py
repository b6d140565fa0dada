"""Convergence in Rhode Island hold'em by update rule: what both parts of CEP's figure 1 are made of.

CEP: Tammelin, Burch, Johanson and Bowling, "Solving Heads-up Limit Texas Hold'em" (IJCAI 2015). The paper
prints no numbers of figure 1, only which curve lies below which. Players update in turn in all curves.
"""

from collections.abc import Sequence

from errai.engine.public_tree import PublicTree
from errai.experiments.figure import Curves, PublishedCrossing, Tell, points_to_measure
from errai.games.catalogue import load_game
from errai.solvers.solve import Solver
from errai.solvers.update_rules import UpdateRule

GAME = "rhode-island"
TARGETS = (10.0, 1.0)


def crossings_without_numbers(curves: Sequence[str]) -> tuple[PublishedCrossing, ...]:
    """Return where to look for curves of which the paper prints no number."""
    return tuple(PublishedCrossing(curve, target, None, False) for curve in curves for target in TARGETS)


def convergence(rules: dict[str, UpdateRule], iterations: int, tell: Tell, *, current: bool) -> Curves:
    """Solve Rhode Island hold'em with some update rules.

    Args:
        rules: by name of the curve.
        iterations: of each.
        tell: whom to tell.
        current: measure current strategies beside averages.
    """
    tree = PublicTree.of(load_game(GAME))
    points = points_to_measure(iterations)
    values: dict[str, Sequence[float]] = {}
    for number, (name, rule) in enumerate(rules.items()):
        solver = Solver(tree, rule)
        averages: list[float] = []
        currents: list[float] = []
        for point in points:
            solver.run(point - solver.iteration)
            averages.append(solver.measure().exploitability.mbb_per_game)
            if current:
                currents.append(solver.measure(current=True).exploitability.mbb_per_game)
            tell("iterations", number * iterations + point, len(rules) * iterations)
        values[f"{name} average" if current else name] = averages
        if current:
            values[f"{name} current"] = currents
    return Curves(points, values)
