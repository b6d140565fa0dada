"""Where a real betting stands in an abstract betting tree."""

from errai.errors import UsageError
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD, CHANCE, NO_NODE, BettingTree


class Follower:
    """Follows the betting of hands in a betting tree."""

    def __init__(self, betting: BettingTree, rules: PokerRules, seed: int = 0) -> None:
        self._betting, self._rules, self._seed = betting, rules, seed
        self._node, self._text = 0, ""

    def locate(self, state: MatchState) -> int:
        """Return the decision of the tree that the player to act is at."""
        text = state.betting.betting
        if not text.startswith(self._text):
            self._node, self._text = 0, ""
        place, node = len(self._text), self._node
        while place < len(text):
            if text[place] == "/":
                place += 1
                continue
            end = place + 1
            while end < len(text) and text[end].isdigit():
                end += 1
            node = self._child(node, text[place:end])
            place = end
        self._node, self._text = node, text
        return node

    def actions(self, node: int) -> list[int]:
        """Return the actions at a decision."""
        first = int(self._betting.first_child[node])
        actions: list[int] = self._betting.action[
            first : first + int(self._betting.num_children[node])
        ].tolist()
        return actions

    def texts(self, node: int, state: MatchState) -> list[str]:
        """Return the actions at a decision as texts of the real game."""
        names = {ACTION_FOLD: "f", ACTION_CALL: "c"}
        return [
            names.get(action, "r" if self._rules.is_limit else f"r{action}") for action in self.actions(node)
        ]

    def is_first(self, node: int) -> bool:
        """Return whether a decision is its player's first of the hand."""
        tree, player = self._betting, int(self._betting.player[node])
        above = int(tree.parent[node])
        while above != NO_NODE:
            if tree.kind[above] != CHANCE and tree.player[above] == player:
                return False
            above = int(tree.parent[above])
        return True

    def _child(self, node: int, text: str) -> int:
        action = {"f": ACTION_FOLD, "c": ACTION_CALL}.get(text)
        actions = self.actions(node)
        raises = [a for a in actions if a >= 0]
        if action is None:
            action = raises[0] if text == "r" and raises else int(text[1:] or -1)
        if action not in actions:
            raise UsageError(f"'{text}' is not in the betting tree")
        child = int(self._betting.first_child[node]) + actions.index(action)
        while self._betting.kind[child] == CHANCE:
            child = int(self._betting.first_child[child])
        return child
