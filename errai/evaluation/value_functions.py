"""Value functions: guesses of what a hand is worth to the agent, with every hand that it might hold.

Any guess keeps an advantage-sum or AIVAT unbiased, as long as its mean over the next cards (`before_deal`) is
exact, or an unbiased estimate of it; the better the guess, the less variance is left.

- `BetCall`: one bet and a call in each round that is left, valued by all-in equity: bet-call DIVAT's.
- `SelfPlayValues` (`self_play_values.py`): what the strategy wins from itself: AIVAT's.
- `Divat` (`divat.py`): a round of sensible betting by the strength of both hands.
- `Enumerated`: any function of one's own, whose means are taken over all deals: for small games.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Protocol

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.evaluation.edges import Edges
from errai.evaluation.observed import ObservedHand
from errai.tree.betting_tree import CHANCE, DECISION

Floats64 = npt.NDArray[np.float64]
Ints64 = npt.NDArray[np.int64]


class ValueFunction(Protocol):
    """What is asked of a guess. Values are the agent's, in chips."""

    def at(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the value of some hands at a decision, with the board of its round: float64[N]."""

    def before_deal(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the mean of `at` over the cards that are dealt before a round: float64[N].

        Args:
            seen: the hand.
            node: where the round begins. At the root the cards are the hole cards of both players, and the
                mean is the same for all hands.
            hands: some hands that the board of the round before leaves open.
        """


def value_at(values: ValueFunction, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
    """Return the value of some hands at any node: exact at the end of the hand."""
    if seen.is_leaf(node):
        return seen.utility(node)[hands]
    if seen.tree.betting.kind[node] == CHANCE:
        return values.before_deal(seen, int(seen.tree.betting.first_child[node]), hands)
    return values.at(seen, node, hands)


class BetCall:
    """All-in equity with one bet in every round that has none yet, where there may still be bets."""

    def __init__(self, tree: PublicTree) -> None:
        """Find what would be at stake at the end, node by node."""
        betting, rules = tree.betting, tree.rules
        largest = betting.chips.max(axis=1).astype(np.float64)
        entry_chips = np.zeros(betting.num_nodes)
        bets = np.array(rules.raise_sizes or (0,) * rules.num_rounds, dtype=np.float64)
        later = np.cumsum(bets[::-1])[::-1] - bets
        self.stake = np.zeros(betting.num_nodes)
        for node in np.flatnonzero(betting.kind == DECISION).tolist():
            parent, r = int(betting.parent[node]), int(betting.round[node])
            is_entry = parent < 0 or betting.kind[parent] == CHANCE
            entry_chips[node] = largest[node] if is_entry else entry_chips[parent]
            has_bet = largest[node] > entry_chips[node]
            self.stake[node] = largest[node] + later[r] + (0.0 if has_bet else bets[r])
        for node in rounds_without_betting(tree).tolist():
            self.stake[node] = betting.chips[node].min()

    def at(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the value of some hands at a decision."""
        value: Floats64 = self.stake[node] * seen.edge(seen.round_of(node))[hands]
        return value

    def before_deal(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return its mean over the next cards: equities are their own means, and 0 before all cards."""
        r = seen.round_of(node)
        value: Floats64 = self.stake[node] * (seen.edge(r - 1)[hands] if r else np.zeros(len(hands)))
        return value


def rounds_without_betting(tree: PublicTree) -> Ints64:
    """Return where rounds begin in which nobody can bet any more, because players are all-in: int64[N]."""
    betting = tree.betting
    parents = np.maximum(betting.parent, 0)
    begins = (betting.parent >= 0) & (betting.kind[parents] == CHANCE) & (betting.kind != DECISION)
    found: Ints64 = np.flatnonzero(begins).astype(np.int64)
    return found


Guess = Callable[[tuple[tuple[int, ...], ...], tuple[int, ...], int], float]
"""(hole cards by position, board, node) -> chips of position 0."""


class Enumerated:
    """A function of one's own, at every deal of a small game."""

    def __init__(self, edges: Edges, guess: Guess) -> None:
        """Take a function.

        Args:
            edges: of the game.
            guess: what position 0 wins, as a function of both hands, the board and the betting node.
        """
        self._rules, self._hands = edges.rules, edges.hands
        self._guess = guess
        self._mean_of_all: dict[tuple[int, int], float] = {}

    def _value(
        self, position: int, own: tuple[int, ...], other: tuple[int, ...], board: tuple[int, ...], node: int
    ) -> float:
        holes = (own, other) if position == 0 else (other, own)
        return self._guess(holes, board, node) * (1 if position == 0 else -1)

    def at(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the value of some hands at a decision."""
        assert seen.opponent is not None
        board = seen.board(seen.round_of(node))
        holes = [tuple(hole) for hole in self._hands[hands].tolist()]
        return np.array([self._value(seen.position, own, seen.opponent, board, node) for own in holes])

    def before_deal(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the mean over every deal."""
        assert seen.opponent is not None
        r, position = seen.round_of(node), seen.position
        all_holes = [tuple(hole) for hole in self._hands.tolist()]
        if r == 0:
            if (node, position) not in self._mean_of_all:
                values = [
                    self._value(position, own, other, (), node)
                    for own in all_holes
                    for other in all_holes
                    if not set(own) & set(other)
                ]
                self._mean_of_all[node, position] = float(np.mean(values))
            return np.full(len(hands), self._mean_of_all[node, position])
        board, num_new = seen.board(r - 1), self._rules.num_board_cards[r]
        means = []
        for own in (all_holes[hand] for hand in hands):
            gone = {*own, *seen.opponent, *board}
            left = [card for card in self._rules.deck.cards if card not in gone]
            deals = combinations(left, num_new)
            means.append(
                np.mean([self._value(position, own, seen.opponent, (*board, *new), node) for new in deals])
            )
        return np.array(means)
