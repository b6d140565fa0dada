"""Exact exploitability of Bluff: a best response plays a stage knowing what it wins in the stages after it.

Johanson's thesis 2016, section 3.2.3.
"""

from dataclasses import replace

import numpy as np

from errai.engine.section import BEST
from errai.response.results import Exploitability
from errai.strategy.bluff import BluffStrategy, Dice

_NO_STEP = np.zeros(5)


def bluff_exploitability(strategy: BluffStrategy) -> Exploitability:
    """Measure a strategy of the whole game exactly, through all stages."""
    best: dict[tuple[Dice, int], float] = {}
    for dice in reversed(strategy.game.stages()):
        starter, other = dice
        for role in (0, 1):
            # What the responder wins in the stages after this one, by who wins it.
            after_starter = (starter, other - 1), role
            after_other = (other, starter - 1), 1 - role
            sign = 1.0 if role == 0 else -1.0
            won = 1.0 if other == 1 else sign * best[after_starter]
            lost = -1.0 if starter == 1 else sign * best[after_other]
            tree = replace(strategy.trees[dice], round_values=(won, lost))
            tables = strategy.tables[dice]
            walk = tree.traversal(tables[0].dtype, 1)
            played = tree.layout.tables(tables, tables, tables)
            best[dice, role] = walk.mean_value(role, walk.walk_once(role, BEST, played, _NO_STEP))
    first = strategy.game.dice
    return Exploitability((best[first, 0], best[first, 1]), strategy.game.big_blind)
