"""Slow obvious twins of matrix games and of the sequence form: plain loops over actions, hands and nodes."""

from itertools import permutations, product

import numpy as np

from errai.cards.evaluator import evaluate
from errai.tree.betting_tree import DECISION, FOLD, BettingTree


def weighted_rows(weights, rows):
    """The rows, each times its weight, added."""
    return [sum(w * row[k] for w, row in zip(weights, rows, strict=True)) for k in range(len(rows[0]))]


def regret_matching(regret):
    """Play in proportion to positive regret; uniformly where there is none."""
    positive = [max(r, 0.0) for r in regret]
    total = sum(positive)
    return [p / total for p in positive] if total > 0 else [1 / len(regret)] * len(regret)


def row_values(payoffs, column):
    """What each row wins against a mixture of columns."""
    return [sum(p * y for p, y in zip(row, column, strict=True)) for row in payoffs]


def column_values(payoffs, row):
    """What each column wins against a mixture of rows."""
    return [-sum(payoffs[i][j] * row[i] for i in range(len(row))) for j in range(len(payoffs[0]))]


def exploitability(payoffs, row, column):
    """Mean over the positions of what a best response wins."""
    return (max(row_values(payoffs, column)) + max(column_values(payoffs, row))) / 2


def self_play(payoffs, is_plus, alternating, linear, iterations):
    """Averages, next strategies, and the exploitability of the averages after each iteration."""
    sizes = len(payoffs), len(payoffs[0])
    regrets = [[0.0] * size for size in sizes]
    strategies = [regret_matching(regret) for regret in regrets]
    sums = [[0.0] * size for size in sizes]
    curve = []
    for t in range(1, iterations + 1):
        weight = t if linear else 1
        old_row = strategies[0]
        for q in (0, 1):
            opponent = strategies[1] if q == 0 else (strategies[0] if alternating else old_row)
            values = row_values(payoffs, opponent) if q == 0 else column_values(payoffs, opponent)
            sums[1 - q] = [total + weight * p for total, p in zip(sums[1 - q], opponent, strict=True)]
            mean = sum(p * v for p, v in zip(strategies[q], values, strict=True))
            regrets[q] = [r + v - mean for r, v in zip(regrets[q], values, strict=True)]
            if is_plus:
                regrets[q] = [max(r, 0.0) for r in regrets[q]]
            strategies[q] = regret_matching(regrets[q])
        averages = [[p / sum(total) for p in total] for total in sums]
        curve.append(exploitability(payoffs, *averages))
    return averages, strategies, curve


def kuhn_normal_form():
    """Kuhn poker as a matrix: a pure strategy says for each card what to do first and what to do on a bet.

    The first player checks or bets, and folds or calls when a check is bet at; the second bets or checks
    after a check, and folds or calls after a bet.
    """

    def wins(first, second, card, other):
        showdown = 1 if card > other else -1
        bets, calls_after_check = first[card]
        bets_after_check, calls = second[other]
        if bets:
            return 2 * showdown if calls else 1
        if bets_after_check:
            return 2 * showdown if calls_after_check else -1
        return showdown

    plans = list(product(product((False, True), repeat=2), repeat=3))
    deals = list(permutations(range(3), 2))
    return [
        [sum(wins(first, second, *deal) for deal in deals) / len(deals) for second in plans]
        for first in plans
    ]


class NaiveSpot:
    """A sub-game of one round at one board, every hand on its own, probabilities as nested lists.

    `play[q][node][hand]` holds the probabilities of the node's actions.
    """

    def __init__(self, tree: BettingTree, board, hands, weights):
        self.tree = tree
        self.hands = hands
        self.weights = weights
        self.strengths = [evaluate([[*hand, *board] for hand in own]).tolist() for own in hands]
        self.num_pairs = sum(
            weights[0][i] * weights[1][j]
            for i, j in product(range(len(hands[0])), range(len(hands[1])))
            if self.can_meet(i, j)
        )

    def can_meet(self, i, j):
        return not set(self.hands[0][i]) & set(self.hands[1][j])

    def best_response(self, q, play):
        """What a best response of player q wins on average."""
        totals = [
            self.weights[q][i] * self._best(q, play, i, 0, list(self.weights[1 - q]))
            for i in range(len(self.hands[q]))
        ]
        return sum(totals) / self.num_pairs

    def _best(self, q, play, hand, node, reach):
        """The most that a hand wins from the opponent's hands, each weighted by its reach."""
        tree = self.tree
        if tree.kind[node] == DECISION:
            values = []
            for action, child in enumerate(tree.children(node)):
                below = reach
                if tree.player[node] != q:
                    below = [r * play[1 - q][node][j][action] for j, r in enumerate(reach)]
                values.append(self._best(q, play, hand, child, below))
            return max(values) if tree.player[node] == q else sum(values)
        total = 0.0
        for j, r in enumerate(reach):
            if not (self.can_meet(hand, j) if q == 0 else self.can_meet(j, hand)):
                continue
            if tree.kind[node] == FOLD:
                folder = int(tree.player[node])
                chips = int(tree.chips[node][folder]) * (-1 if folder == q else 1)
            else:
                chips = int(min(tree.chips[node]))
                chips *= int(np.sign(self.strengths[q][hand] - self.strengths[1 - q][j]))
            total += r * chips
        return total


def played_in_full_game(payoffs, row, column):
    """What the purified and the unpurified row strategy win against a column strategy; ties are shared."""
    values = row_values(payoffs[: len(row)], column)
    most = max(row)
    best = [value for value, p in zip(values, row, strict=True) if p == most]
    return sum(best) / len(best), sum(p * value for p, value in zip(row, values, strict=True))
