"""DIVAT's value function: one round of sensible betting by the strength of both hands, then bet-call.

Billings and Kan, "A Tool for the Direct Assessment of Poker Decisions" (2006): a baseline plays the round by
fixed thresholds of hand strength, and the pot is valued by all-in equity. Zinkevich, Bowling, Bard, Kan and
Billings, "Optimal Unbiased Estimators for Evaluating Agent Performance" (2006): that is an advantage-sum.

The baseline here. A player's strength is the share of other hands that the own one beats on the board as it
lies; before the flop, its rank among all hands. A player makes the n-th bet of a round with a strength of at
least `make[n]` (the big blind is the first), calls with a strength of at least some multiple of the pot odds,
and folds otherwise. After the round half a bet is made and called in each round that is left. The value is
the mean over a loose, a moderate and a tight style, which smooths it, as the paper does.

Deviations. The paper's strengths look ahead to the river; these do not. Its thresholds are not those of this
file, which were chosen among a few by their variance. Neither makes a bias: only the variance depends on it.
The mean over the next cards is exact where they can come in at most `MOST_DEALS` ways; else (the flop of
hold'em) it is the mean over flops drawn by chance, which is an unbiased estimate, drawn anew for every hand.
"""

from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.evaluation.edges import Cards, Edges
from errai.evaluation.observed import ObservedHand
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD, DECISION, FOLD

Floats64 = npt.NDArray[np.float64]
Ints64 = npt.NDArray[np.int64]


class Style(NamedTuple):
    """How the baseline plays.

    Attributes:
        make: the strength from which the first, second, third and fourth bet of a round is made.
        first_odds: how many times the pot odds a call needs in the first round.
        later_odds: the same in later rounds, where bets tell more.
    """

    make: tuple[float, float, float, float]
    first_odds: float
    later_odds: float


STYLES = (
    Style((0.52, 0.77, 0.9, 0.95), 0.75, 1.5),
    Style((0.58, 0.825, 0.93, 0.965), 1.0, 2.0),
    Style((0.65, 0.86, 0.95, 0.975), 1.25, 2.5),
)

LATER_BETS = 0.5
"""Bets of each player in each later round."""

MOST_DEALS = 100
DRAWN_DEALS = 100


class Divat:
    """What DIVAT guesses where a round begins."""

    def __init__(self, tree: PublicTree, edges: Edges, seed: int = 0) -> None:
        """Get ready.

        Args:
            tree: of a limit game.
            edges: of the same game.
            seed: of the flops that are drawn.
        """
        if not tree.rules.is_limit:
            raise UsageError(f"DIVAT is made for limit games, and '{tree.rules.name}' has no limit")
        self.tree, self.edges, self.seed = tree, edges, seed
        self._rounds: dict[int, list[_RoundTable]] = {}

    def at(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the value of some hands where a round begins."""
        assert seen.opponent is not None
        r = seen.round_of(node)
        strengths = self._strengths(seen.board(r))
        other = strengths[self.tree.rules.deck.hand_index(seen.opponent)]
        return self._values(seen.position, node, strengths[hands], other, seen.edge(r)[hands])

    def before_deal(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the mean over the next cards, or an estimate of it."""
        r = seen.round_of(node)
        if r == 0:
            return np.full(len(hands), self._mean_of_all[seen.position])
        return np.array([self._mean(seen, node, r, hand) for hand in hands.tolist()])

    def _mean(self, seen: ObservedHand, node: int, r: int, hand: int) -> float:
        assert seen.opponent is not None
        own, board = tuple(self.edges.hands[hand].tolist()), seen.board(r - 1)
        deals = self._deals((*own, *seen.opponent, *board), r, seen.record.hand_number, hand)
        if deals.shape[1] == 0:
            return float(self.at(seen, node, np.array([hand]))[0])
        strengths, edges = self.edges.of_pair((own, seen.opponent), board, deals)
        return float(self._values(seen.position, node, strengths[:, 0], strengths[:, 1], edges).mean())

    def _deals(self, gone: tuple[int, ...], r: int, hand_number: int, hand: int) -> Cards:
        """Return all cards that may come in a round, or some that are drawn."""
        left = np.array([card for card in self.tree.rules.deck.cards if card not in gone], dtype=np.uint8)
        num_new = self.tree.rules.num_board_cards[r]
        if comb(len(left), num_new) <= MOST_DEALS:
            rows = list(combinations(left.tolist(), num_new))
            return np.array(rows, dtype=np.uint8).reshape(len(rows), num_new)
        draws = np.random.default_rng((self.seed, hand_number, hand))
        keys = draws.random((DRAWN_DEALS, len(left)))
        return left[np.argpartition(keys, num_new, axis=1)[:, :num_new]]

    def _strengths(self, board: tuple[int, ...]) -> Floats64:
        return self.edges.strengths(board) if board else self._first_strengths

    @cached_property
    def _first_strengths(self) -> Floats64:
        """The rank of each hand among all before the first public deal, ties in their middle."""
        found = np.round(self.edges.strengths(()), 9)
        ordered = np.sort(found)
        low, high = np.searchsorted(ordered, found), np.searchsorted(ordered, found, side="right")
        middle: Floats64 = (low + high) / (2 * len(found))
        return middle

    @cached_property
    def _mean_of_all(self) -> tuple[float, float]:
        """By position, the mean over the hole cards of both."""
        strengths = self._first_strengths
        first, second = (
            float(
                self._values(p, 0, strengths[:, np.newaxis], strengths, self.edges.of_pairs)[
                    self.edges.open_pairs
                ].mean()
            )
            for p in (0, 1)
        )
        return first, second

    def _values(
        self, position: int, node: int, own: Floats64, other: Floats64 | float, edge: Floats64
    ) -> Floats64:
        """Return what strengths and edges are worth to a position where a round begins."""
        tables = self._rounds.get(node)
        if tables is None:
            tables = self._rounds[node] = [_RoundTable(self.tree, node, style) for style in STYLES]
        sign = 1 if position == 0 else -1
        total = np.zeros(np.broadcast_shapes(np.shape(own), np.shape(other)))
        for table in tables:
            mine, theirs = table.bins(own), table.bins(np.asarray(other))
            first, second = (mine, theirs) if position == 0 else (theirs, mine)
            total += sign * table.folded[first, second] + table.stake[first, second] * edge
        return total / len(tables)


class _RoundTable:
    """How the baseline plays a round from its beginning, for every pair of strengths that it tells apart.

    Attributes:
        folded: float64[B, B] what position 0 wins by a fold, 0 where nobody folds; by bins of both positions.
        stake: float64[B, B] chips of each at the showdown, 0 where somebody folds.
    """

    def __init__(self, tree: PublicTree, entry: int, style: Style) -> None:
        betting, rules = tree.betting, tree.rules
        self._tree, self._entry, self._style = tree, entry, style
        r = int(betting.round[entry])
        assert rules.raise_sizes is not None
        later = LATER_BETS * sum(rules.raise_sizes[r + 1 :])
        bounds, nodes = set(style.make), [entry]
        while nodes:
            node = nodes.pop()
            if betting.kind[node] == DECISION:
                bounds.add(self._least_to_call(node))
                nodes.extend(betting.children(node))
        self._bounds = np.array(sorted(bounds))
        lowest = [-1.0, *self._bounds.tolist()]  # a strength on a bound is above it
        self.folded, self.stake = np.zeros((2, len(lowest), len(lowest)))
        num_bets = int(r == 0 and len(set(rules.blinds)) > 1)
        for i, first in enumerate(lowest):
            for j, second in enumerate(lowest):
                leaf = self._play((first, second), num_bets)
                if betting.kind[leaf] == FOLD:
                    lost = float(tree.walk.stake[leaf])
                    self.folded[i, j] = lost if betting.player[leaf] == 1 else -lost
                else:
                    self.stake[i, j] = betting.chips[leaf].min() + later

    def bins(self, strengths: Floats64) -> Ints64:
        """Return which strengths the baseline plays alike."""
        return np.searchsorted(self._bounds, strengths, side="right")

    def _least_to_call(self, node: int) -> float:
        """Return the strength that a call needs: some multiple of its share of the final pot."""
        betting = self._tree.betting
        largest = int(betting.chips[node].max())
        odds = (largest - int(betting.chips[node, betting.player[node]])) / (2 * largest)
        return odds * (self._style.later_odds if betting.round[node] else self._style.first_odds)

    def _play(self, strengths: tuple[float, float], num_bets: int) -> int:
        """Return where the round ends."""
        betting, make, node = self._tree.betting, self._style.make, self._entry
        while betting.kind[node] == DECISION:
            strength = strengths[betting.player[node]]
            actions = {int(betting.action[child]): child for child in betting.children(node)}
            raises = [child for action, child in actions.items() if action not in (ACTION_FOLD, ACTION_CALL)]
            if raises and num_bets < len(make) and strength >= make[num_bets]:
                node = raises[0]
                num_bets += 1
            elif ACTION_FOLD in actions and strength < self._least_to_call(node):
                node = actions[ACTION_FOLD]
            else:
                node = actions[ACTION_CALL]
        return node
