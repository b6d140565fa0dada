"""The first round of a game of Bluff, as figures 3.5 and 3.6 of THESIS race for it.

Rounds with fewer dice are solved first by CFR+, and what they are worth is given at the leaves.
"""

from functools import lru_cache
from typing import NamedTuple

from errai.engine.public_tree import PublicTree
from errai.games.bluff import BluffRules
from errai.games.catalogue import load_game
from errai.runs.bluff import round_values, solve_bluff
from errai.solvers.make import make_solver
from errai.solvers.solve import StopRule
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import find_rule
from errai.strategy.bluff import Dice

ALGORITHMS = ("cs", "pcs")

LATER_ITERATIONS = 1000
"""Of CFR+ in the rounds with fewer dice."""

QUICK_GAME, GAME = "bluff-2-1", "bluff-2-2"


class Stage(NamedTuple):
    """A round of Bluff.

    Attributes:
        dice: of the starter and of the other.
        tree: its bidding, with what later rounds are worth at the leaves.
    """

    dice: Dice
    tree: PublicTree


@lru_cache(maxsize=1)
def first_stage(name: str) -> Stage:
    """Return the first round of a game."""
    game = load_game(name)
    assert isinstance(game, BluffRules)
    dice, *later = game.stages()
    values: dict[Dice, float] = {}
    for stage in later:
        if stage not in values:
            rules = BluffRules(f"bluff-{stage[0]}-{stage[1]}", stage)
            values |= solve_bluff(rules, find_rule("cfr+"), StopRule(LATER_ITERATIONS)).values
    return Stage(dice, PublicTree.of_bluff(game, dice, round_values(dice, values.__getitem__)))


def stage_solver(name: str, algorithm: str, seed: int) -> TableSolver:
    """Return a fresh solver of the first round of a game, on one thread."""
    stage = first_stage(name)
    return make_solver(stage.tree, find_rule(algorithm), num_threads=1, seed=seed, dice=stage.dice)
