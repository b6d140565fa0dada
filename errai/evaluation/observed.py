"""A hand of a log as a known agent's analyst sees it: the path through the betting, and what lies open.

The agent's own cards are one case among all hands that it might have held; the opponent's are known, as they
are in a log, or hidden where a fold ended the hand (partial information).

In no-limit games a betting may leave the agent's tree, by a bet that it does not have: what the agent would
have done with other cards is then not known from there on. The path ends at the decision where it left, and
the rest of the hand is told by what the agent's own cards were paid and by what was at stake in its rounds.

Arrays over hands have the one order of `Deck.hands`: H hands, whatever the board.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.evaluation.edges import Edges
from errai.evaluation.hand_chances import HandChances
from errai.games.betting import BettingState
from errai.games.match_state import HandRecord
from errai.strategy.information_sets import action_names
from errai.tree.betting_tree import CHANCE, FOLD, SHOWDOWN

Floats64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ACTION = re.compile("[fc]|r[0-9]*")
"""An action in a betting string."""


@dataclass(frozen=True)
class Decision:
    """A decision of the agent.

    Attributes:
        node: where.
        action: which child was taken.
    """

    node: int
    action: int


class Followed(NamedTuple):
    """A hand in a betting tree, as far as it goes there.

    Attributes:
        nodes: from the root to the leaf, or to the decision where the betting left the tree.
        decisions: of one player, in order.
        has_left: whether it left.
    """

    nodes: list[int]
    decisions: list[Decision]
    has_left: bool


def follow(tree: PublicTree, record: HandRecord, position: int) -> Followed:
    """Follow a hand in a betting tree.

    Args:
        tree: of the logged game.
        record: what was logged.
        position: whose decisions are noted.
    """
    betting, text = tree.betting, record.betting.betting
    node, nodes = 0, [0]
    decisions: list[Decision] = []
    for action in ACTION.findall(text):
        names = action_names(tree, node)
        if action not in names:
            return Followed(nodes, decisions, True)
        number = names.index(action)
        if betting.player[node] == position:
            decisions.append(Decision(node, number))
        node = int(betting.first_child[node]) + number
        nodes.append(node)
        while betting.kind[node] == CHANCE:
            node = int(betting.first_child[node])
            nodes.append(node)
    return Followed(nodes, decisions, False)


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
        nodes: from the root to the leaf, those between rounds included, or to where it left the tree.
        decisions: of the agent, in order, on this path.
        has_left: whether the betting left the tree.
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
        self.nodes, self.decisions, self.has_left = follow(tree, record, position)

    @property
    def leaf(self) -> int:
        """Where the hand ended, or the decision at which its betting left the tree."""
        return self.nodes[-1]

    @cached_property
    def paid(self) -> float:
        """What the agent was paid, in chips."""
        return float(self.record.hand().payoffs()[self.position])

    @cached_property
    def later_luck(self) -> float:
        """What the boards gave that came after the betting had left the tree, by all-in equity, in chips."""
        if not self.has_left or self.opponent is None:
            return 0.0
        luck, stakes = 0.0, _stakes(self.record.betting)
        for r in range(self.round_of(self.leaf) + 1, len(stakes)):
            luck += stakes[r] * float(self.edge(r)[self.hand] - self.edge(r - 1)[self.hand])
        return luck

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


def _stakes(betting: BettingState) -> list[float]:
    """Return what each player has put in at the beginning of each round that was dealt, in chips."""
    rules, state = betting.rules, BettingState.start(betting.rules)
    stakes = [float(min(state.spent))]
    for action in ACTION.findall(betting.betting):
        before, state = state.round, state.act(action)
        stakes += [float(min(state.spent))] * (state.round - before)
    if state.is_showdown:  # whoever is all-in sees the whole board
        stakes += [float(min(state.spent))] * (rules.num_rounds - len(stakes))
    return stakes


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
