"""Bluff solved stage by stage: rounds with fewer dice first, their values at the leaves of larger ones.

A round of Bluff starts afresh: new dice, and everybody knows who has how many and who starts. So a game is
a chain of stages, and so is an exact best response: it plays a stage knowing what it will win from the
stages after it (Johanson's thesis 2016, section 3.2.3).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from errai.errors import UsageError
from errai.games.bluff import (
    CALL_BLUFF,
    BluffRules,
    format_bid,
    parse_roll,
    replay_bids,
    rolls,
)
from errai.response.exploitability import Exploitability
from errai.solvers.solve import Measurement, Solver, StopRule, run_solver
from errai.solvers.update_rules import UpdateRule
from errai.tree.betting_tree import ACTION_CALL, CHANCE
from errai.tree.public_tree import PublicTree
from errai.tree.traversal import BEST, EVALUATE, Floats

Dice = tuple[int, int]
"""Dice of who starts the round, and of the other."""

_NO_STEP = np.zeros(5)


@dataclass(frozen=True, eq=False)
class BluffStrategy:
    """What to play in every stage of Bluff.

    Attributes:
        game: the game.
        trees: the bidding of each stage.
        tables: [stage][starter or other] played in proportion to the positive part.
    """

    game: BluffRules
    trees: dict[Dice, PublicTree]
    tables: dict[Dice, tuple[Floats, Floats]]

    def measure(self) -> Exploitability:
        """Return the exact exploitability over the whole game."""
        return bluff_exploitability(self)

    def probabilities(self, betting: str, hand: str, dice: Dice | None = None) -> dict[str, float]:
        """Return the probability of each action after a round's bids.

        Args:
            betting: bids such as `1-2,1-5`; empty at the start of a round.
            hand: the roll of who acts, such as `3*`.
            dice: which round, starter first; the game's first round without it.
        """
        stage = dice or self.game.dice
        if stage not in self.trees:
            raise UsageError(f"{stage} is no round of '{self.game.name}': {list(self.trees)} are")
        tree, bids = self.trees[stage], replay_bids(stage, betting)
        roll, node = parse_roll(hand), 0
        for bid in bids:
            actions = [int(tree.betting.action[child]) for child in tree.betting.children(node)]
            node = tree.betting.children(node)[actions.index(bid)]
            while tree.betting.kind[node] == CHANCE:
                node = int(tree.betting.first_child[node])
        player = len(bids) % 2
        if len(roll) != stage[player]:
            raise UsageError(f"'{hand}' is not a roll of {stage[player]} dice, which the player to act has")
        board = int(tree.betting.round[node])
        layout, walk = tree.layout, tree.measuring.walk
        num_rows = int(layout.rows[player, board])
        begin = int(layout.begin[player, board]) + int(walk.slot[node]) * num_rows
        actions = [int(tree.betting.action[child]) for child in tree.betting.children(node)]
        slots = self.tables[stage][player][begin : begin + len(actions) * num_rows]
        weights = np.maximum(slots.reshape(len(actions), num_rows)[:, rolls(stage[player]).index(roll)], 0)
        total = float(weights.sum())
        chances = weights / total if total > 0 else np.full(len(actions), 1 / len(actions))
        names = [CALL_BLUFF if action == ACTION_CALL else format_bid(action) for action in actions]
        return dict(zip(names, chances.tolist(), strict=True))


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
) -> BluffRun:
    """Solve every stage of a game of Bluff, the smallest first."""
    values: dict[Dice, float] = {}
    trees: dict[Dice, PublicTree] = {}
    tables: dict[Dice, tuple[Floats, Floats]] = {}
    measurements: dict[Dice, tuple[Measurement, ...]] = {}
    for dice in reversed(game.stages()):
        tree = PublicTree.of_bluff(game, dice, round_values(dice, values.__getitem__))
        solver = Solver(tree, rule, num_threads=1)
        measurements[dice] = tuple(run_solver(solver, stop, measure_every, report))
        trees[dice], tables[dice] = tree, solver.averages
        played = tree.layout.tables(solver.averages, solver.averages, solver.averages)
        values[dice] = solver.walk.mean_value(0, solver.walk.walk_once(0, EVALUATE, played, _NO_STEP))
    return BluffRun(BluffStrategy(game, trees, tables), values, measurements)


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
