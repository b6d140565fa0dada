"""A hand of a log as a known agent's analyst sees it: the path through the betting, and what lies open.

The agent's own cards are one case among all hands that it might have held; the opponent's are known, as they
are in a log, or hidden where a fold ended the hand (partial information).

Arrays over hands have the one order of `Deck.hands`: H hands, whatever the board.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.evaluation.edges import Edges
from errai.evaluation.hand_chances import HandChances
from errai.games.match_state import HandRecord
from errai.strategy.information_sets import action_names
from errai.tree.betting_tree import CHANCE, FOLD, SHOWDOWN

Floats64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Decision:
    """A decision of the agent.

    Attributes:
        node: where.
        action: which child was taken.
    """

    node: int
    action: int


class ObservedHand:
    """One hand of a known agent.

    Attributes:
        tree: the betting that the agent knows.
        edges: of the game.
        record: the hand as logged.
        position: of the agent.
        is_partial: whether a fold hides the opponent's cards.
        hand: number of the agent's hole cards.
        opponent: the other position's hole cards; None where hidden.
        nodes: from the root to the leaf, those between rounds included.
        decisions: of the agent, in order.
    """

    def __init__(
        self, tree: PublicTree, edges: Edges, record: HandRecord, position: int, *, is_partial: bool = False
    ) -> None:
        """Follow a hand.

        Args:
            tree: of the logged game.
            edges: of the same game.
            record: what was logged.
            position: of the agent.
            is_partial: whether a fold hides the opponent's cards.
        """
        self.tree, self.edges, self.record, self.position = tree, edges, record, position
        self.is_partial = is_partial
        self.hand = tree.rules.deck.hand_index(record.holes[position])
        is_hidden = is_partial and not record.betting.is_showdown
        self.opponent = None if is_hidden else record.holes[1 - position]
        self.nodes, self.decisions = self._follow()

    def _follow(self) -> tuple[list[int], list[Decision]]:
        betting, text = self.tree.betting, self.record.betting.betting
        node, nodes, decisions, place = 0, [0], [], 0
        while place < len(text):
            if text[place] == "/":
                place += 1
                continue
            end = place + 1
            while end < len(text) and text[end].isdigit():
                end += 1
            names = action_names(self.tree, node)
            if text[place:end] not in names:
                raise UsageError(
                    f"the betting '{text}' of hand {self.record.hand_number} leaves the strategy's tree at "
                    f"position {place}: expected {', '.join(names)}"
                )
            action = names.index(text[place:end])
            if betting.player[node] == self.position:
                decisions.append(Decision(node, action))
            node = int(betting.first_child[node]) + action
            nodes.append(node)
            while betting.kind[node] == CHANCE:
                node = int(betting.first_child[node])
                nodes.append(node)
            place = end
        return nodes, decisions

    @property
    def leaf(self) -> int:
        """Where the hand ended."""
        return self.nodes[-1]

    @cached_property
    def entries(self) -> list[int]:
        """Where each round began that the hand reached."""
        betting = self.tree.betting
        return [0, *(n for n in self.nodes[1:] if betting.kind[betting.parent[n]] == CHANCE)]

    def round_of(self, node: int) -> int:
        """Return the round of a node."""
        return int(self.tree.betting.round[node])

    def board(self, round_index: int) -> tuple[int, ...]:
        """Return the public cards of a round."""
        return self.record.board[: self.tree.rules.num_board_cards_by(round_index)]

    def open(self, round_index: int) -> Bools:
        """Return which hands the agent might have held, as far as board and opponent tell: bool[H]."""
        found = self._open.get(round_index)
        if found is None:
            seen = (*self.board(round_index), *(self.opponent or ()))
            found = self._open[round_index] = self.tree.rules.deck.is_open(
                self.tree.rules.num_hole_cards, seen
            )
        return found

    @cached_property
    def _open(self) -> dict[int, Bools]:
        return {}

    def edge(self, round_index: int) -> Floats64:
        """Return the edge of every hand over the opponent's, with the board of a round: float64[H]."""
        if self.opponent is None:
            raise UsageError(f"the opponent's cards of hand {self.record.hand_number} are hidden")
        return self.edges.against(self.opponent, self.board(round_index))

    def is_leaf(self, node: int) -> bool:
        """Return whether a node ends the hand at once."""
        return self.tree.betting.kind[node] in (FOLD, SHOWDOWN)

    def utility(self, leaf: int) -> Floats64:
        """Return what the agent gets at a leaf with every hand: float64[H]."""
        betting = self.tree.betting
        stake = float(self.tree.walk.stake[leaf])
        if betting.kind[leaf] == SHOWDOWN:
            return stake * self.edge(self.tree.rules.num_rounds - 1)
        won = stake if betting.player[leaf] != self.position else -stake
        return np.full(self.tree.rules.num_hands(), won)


class Reach:
    """How likely a strategy plays the agent's part of a hand, with every hand that it might hold.

    Attributes:
        chances: [decision] float64[A, H] what it plays there.
        before: [decision] float64[H] the probability of its earlier actions; one more entry for all of them.
    """

    def __init__(self, seen: ObservedHand, strategy: HandChances) -> None:
        """Ask a strategy along a hand."""
        self.chances: list[Floats64] = []
        self.before: list[Floats64] = [np.ones(seen.tree.rules.num_hands())]
        for decision in seen.decisions:
            chances = strategy.chances(decision.node, seen.board(seen.round_of(decision.node)))
            self.chances.append(chances)
            self.before.append(self.before[-1] * chances[decision.action])
