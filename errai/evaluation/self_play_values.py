"""A value function from the strategy itself: what it wins from itself, as far as a few features tell.

Steps: deal both hands and the whole board many times; play the strategy against itself in each deal, all
betting nodes with their probabilities; at each decision, fit what position 0 wins there to a few features of
the deal, each deal weighted by how often both players reach the node with it. Decisions that are hardly ever
reached keep the value of `BetCall`. So do all-in hands whose board is still to come, for which it is right.

The features are 1, the edge of position 0 now, the strengths that both hands had on the board of the round
before (in the first round: that they have now), and the edge times each. All but the edge are known before
the cards of the round, and the mean of the edge over those cards is the edge before them: so the mean of the
value over the next cards is exact.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from errai.engine.deals import BucketDeals, CellDeals
from errai.evaluation import _self_play_values
from errai.evaluation.edges import Edges
from errai.evaluation.observed import ObservedHand
from errai.evaluation.value_functions import BetCall, rounds_without_betting
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy
from errai.tree.betting_tree import DECISION

Floats64 = npt.NDArray[np.float64]
Ints64 = npt.NDArray[np.int64]

NUM_FEATURES = 6
DEALS = 10_000
DEALS_AT_ONCE = 1000
LEAST_REACH = 1e-6
MOST_NODES = 200_000
"""Of a betting tree: a larger one would take minutes and gigabytes to fit."""

RIDGE = 1.0
"""How many deals, each reached for sure, the value of `BetCall` counts for."""


def _features(edge: Floats64, first: Floats64 | float, second: Floats64 | float) -> Floats64:
    """Return the features of deals in the order of positions: float64[..., K]."""
    parts = np.broadcast_arrays(np.ones(()), edge, first, second, edge * first, edge * second)
    return np.stack(parts, axis=-1)


class SelfPlayValues:
    """What a strategy wins from itself.

    Attributes:
        tree: the betting.
        weights: float64[N, K] of the features at each decision, for what position 0 wins.
    """

    def __init__(
        self,
        strategy: Strategy | BucketStrategy,
        edges: Edges,
        deals: int = DEALS,
        seed: int = 0,
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        """Play and fit.

        Args:
            strategy: of both positions.
            edges: of its game.
            deals: how many are played.
            seed: of the deals.
            report: called with deals done and deals in all.
        """
        self.tree = strategy.tree
        self.weights = self._fitted(strategy, edges, deals, seed, report or (lambda done, total: None))
        strengths = edges.strengths(())
        values = _features(edges.of_pairs, strengths[:, np.newaxis], strengths) @ self.weights[0]
        # What position 0 is guessed to win before all cards.
        self._mean_of_all = float(values[edges.open_pairs].mean())

    def at(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the value of some hands at a decision."""
        return self._values(seen, node, hands, seen.edge(seen.round_of(node))[hands])

    def before_deal(self, seen: ObservedHand, node: int, hands: Ints64) -> Floats64:
        """Return the mean over the next cards: the edge is its own mean."""
        r = seen.round_of(node)
        if r == 0:
            return np.full(len(hands), self._mean_of_all * (1 if seen.position == 0 else -1))
        return self._values(seen, node, hands, seen.edge(r - 1)[hands])

    def _values(self, seen: ObservedHand, node: int, hands: Ints64, edge: Floats64) -> Floats64:
        assert seen.opponent is not None
        strengths = seen.edges.strengths(seen.board(max(seen.round_of(node) - 1, 0)))
        own, other = strengths[hands], float(strengths[self.tree.rules.deck.hand_index(seen.opponent)])
        sign = 1 if seen.position == 0 else -1
        first, second = (own, other) if seen.position == 0 else (other, own)
        value: Floats64 = sign * (_features(sign * edge, first, second) @ self.weights[node])
        return value

    def _fitted(
        self,
        strategy: Strategy | BucketStrategy,
        edges: Edges,
        deals: int,
        seed: int,
        report: Callable[[int, int], None],
    ) -> Floats64:
        tree, rules = self.tree, self.tree.rules
        betting, walk = tree.betting, tree.walk
        source: BucketDeals | CellDeals
        if isinstance(strategy, BucketStrategy):
            pair = (strategy.saved.abstraction, strategy.saved.abstraction)
            source = BucketDeals(rules, strategy.layout, pair)
        else:
            source = CellDeals(tree)
        num_cards = 2 * rules.num_hole_cards + sum(rules.num_board_cards)
        draws, deck = np.random.default_rng(seed), np.array(rules.deck.cards, dtype=np.uint8)
        products = np.zeros((betting.num_nodes, NUM_FEATURES, NUM_FEATURES))
        targets = np.zeros((betting.num_nodes, NUM_FEATURES))
        scratch = np.empty((3, betting.num_nodes))
        for begin in range(0, deals, DEALS_AT_ONCE):
            report(begin, deals)
            number = min(DEALS_AT_ONCE, deals - begin)
            order = np.argsort(draws.random((number, len(deck))), axis=1)[:, :num_cards]
            cards = np.ascontiguousarray(deck[order])
            batch = source.batch(number)
            source.place(cards, batch)
            features = np.stack([features_of(edges, dealt) for dealt in cards.tolist()])
            _self_play_values.gather_values(
                betting.kind,
                betting.player,
                betting.round,
                betting.first_child,
                walk.num_children,
                walk.slot,
                walk.stake,
                batch.by_round(),
                batch.by_outcome(),
                *strategy.tables,
                features,
                LEAST_REACH,
                scratch[0],
                scratch[1],
                scratch[2],
                products,
                targets,
            )
        prior = np.zeros((betting.num_nodes, NUM_FEATURES))
        prior[:, 1] = BetCall(tree).stake
        weights = np.zeros_like(prior)
        ended = rounds_without_betting(tree)
        weights[ended] = prior[ended]
        nodes = np.flatnonzero(betting.kind == DECISION)
        matrices = products[nodes] + RIDGE * np.eye(NUM_FEATURES)
        weights[nodes] = np.linalg.solve(matrices, (targets + RIDGE * prior)[nodes][:, :, np.newaxis])[
            :, :, 0
        ]
        return weights


def features_of(edges: Edges, dealt: list[int]) -> Floats64:
    """Return the features of one deal in each round: float64[R, K].

    Args:
        edges: of the game.
        dealt: hole cards of position 0, of position 1, and the whole board.
    """
    rules, hole = edges.rules, edges.rules.num_hole_cards
    pair = (tuple(dealt[:hole]), tuple(dealt[hole : 2 * hole]))
    public = tuple(dealt[2 * hole :])
    numbers = [rules.deck.hand_index(hand) for hand in pair]
    first, second = edges.strengths(())[numbers].tolist()
    rounds = [_features(edges.of_pairs[numbers[0], numbers[1]], first, second)]
    for r in range(1, rules.num_rounds):
        before, now = rules.num_board_cards_by(r - 1), rules.num_board_cards_by(r)
        new = np.array([public[before:now]], dtype=np.uint8)
        strengths, edge = edges.of_pair(pair, public[:before], new)
        rounds.append(_features(edge[0], first, second))
        first, second = strengths[0].tolist()
    return np.stack(rounds)
