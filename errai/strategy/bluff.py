"""A strategy of Bluff: a game is a chain of stages, each with a tree and tables of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.bluff import CALL_BLUFF, BluffRules, format_bid, format_roll, parse_roll, replay_bids, rolls
from errai.strategy.export import ExportedStrategy
from errai.strategy.information_sets import BluffSet, normalised
from errai.tables.layout import Floats
from errai.tree.betting_tree import ACTION_CALL, CHANCE, DECISION

Dice = tuple[int, int]
"""Dice of who starts the round, and of the other."""


@dataclass(frozen=True, eq=False)
class BluffStrategy(ExportedStrategy):
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
            dice: which round, starter first; by default the game's first round.
        """
        stage = dice or self.game.dice
        if stage not in self.trees:
            raise UsageError(f"{stage} is not a round of '{self.game.name}': expected {list(self.trees)}")
        tree, bids = self.trees[stage], replay_bids(stage, betting)
        roll, node = parse_roll(hand), 0
        for bid in bids:
            actions = [int(tree.betting.action[child]) for child in tree.betting.children(node)]
            node = tree.betting.children(node)[actions.index(bid)]
            while tree.betting.kind[node] == CHANCE:
                node = int(tree.betting.first_child[node])
        player = len(bids) % 2
        if len(roll) != stage[player]:
            raise UsageError(f"'{hand}' is not a roll of the player to act: expected {stage[player]} dice")
        weights = self._weights(stage, node, player)[:, rolls(stage[player]).index(roll)]
        return dict(zip(_action_names(tree, node), normalised(weights).tolist(), strict=True))

    def information_sets(self) -> Iterator[BluffSet]:
        """Yield every information set of every stage.

        >>> import errai
        >>> run = errai.solve("bluff-1-1", iterations=1)
        >>> next(run.strategy.information_sets())[:3]
        ('1-1', '', '1')
        """
        for stage, tree in self.trees.items():
            dice = f"{stage[0]}-{stage[1]}"
            waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
            while waiting:
                node, bids = waiting.pop()
                while tree.betting.kind[node] == CHANCE:
                    node = int(tree.betting.first_child[node])
                if tree.betting.kind[node] != DECISION:
                    continue
                player, names = len(bids) % 2, _action_names(tree, node)
                chances = normalised(self._weights(stage, node, player)).T.tolist()
                for roll, row in zip(rolls(stage[player]), chances, strict=True):
                    yield BluffSet(dice, ",".join(bids), format_roll(roll), tuple(names), tuple(row))
                after = [
                    (child, (*bids, name))
                    for child, name in zip(tree.betting.children(node), names, strict=True)
                ]
                waiting += after[::-1]

    def _weights(self, stage: Dice, node: int, player: int) -> Floats:
        """Return the slots of a decision: float[actions, rolls]."""
        tree = self.trees[stage]
        r, walk = int(tree.betting.round[node]), tree.walk
        return tree.layout.decision(
            self.tables[stage][player], player, r, r, int(walk.slot[node]), int(walk.num_children[node])
        )


def _action_names(tree: PublicTree, node: int) -> list[str]:
    actions = [int(tree.betting.action[child]) for child in tree.betting.children(node)]
    return [CALL_BLUFF if action == ACTION_CALL else format_bid(action) for action in actions]
