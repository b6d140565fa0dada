"""A strategy of Bluff: a game is a chain of stages, each with a tree and tables of its own."""

from dataclasses import dataclass

import numpy as np

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.bluff import CALL_BLUFF, BluffRules, format_bid, parse_roll, replay_bids, rolls
from errai.tables.layout import Floats
from errai.tree.betting_tree import ACTION_CALL, CHANCE

Dice = tuple[int, int]
"""Dice of who starts the round, and of the other."""


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
        layout, walk = tree.layout, tree.walk
        num_rows = int(layout.rows[player, board])
        begin = int(layout.begin[player, board]) + int(walk.slot[node]) * num_rows
        actions = [int(tree.betting.action[child]) for child in tree.betting.children(node)]
        slots = self.tables[stage][player][begin : begin + len(actions) * num_rows]
        weights = np.maximum(slots.reshape(len(actions), num_rows)[:, rolls(stage[player]).index(roll)], 0)
        total = float(weights.sum())
        chances = weights / total if total > 0 else np.full(len(actions), 1 / len(actions))
        names = [CALL_BLUFF if action == ACTION_CALL else format_bid(action) for action in actions]
        return dict(zip(names, chances.tolist(), strict=True))
