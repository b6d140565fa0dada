"""Slow obvious twins of local best response: one hand at a time, Bayes' rule by replaying."""

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

from errai.cards.deck import format_cards
from errai.games.betting import BettingState
from errai.games.hand import showdown_strengths


@cache
def equity(rules, own, other, board):
    """How often a hand wins against another, ties counting half, over all run-outs."""
    missing = sum(rules.num_board_cards) - len(board)
    stub = [card for card in rules.deck.cards if card not in (*own, *other, *board)]
    shares = []
    for cards in combinations(stub, missing):
        mine, theirs = showdown_strengths(rules, [own, other], (*board, *cards))
        shares.append(1.0 if mine > theirs else 0.5 if mine == theirs else 0.0)
    return sum(shares) / len(shares)


class NaiveResponder:
    """Local best response with the raise in a limit game of one hole card and two rounds.

    `probabilities(betting, hand, board)` are the opponent's, all text.
    """

    def __init__(self, rules, probabilities):
        self.rules, self.probabilities = rules, probabilities

    def value(self, position):
        """What it wins in a position on average over all deals of three different cards."""
        deals = list(permutations(self.rules.deck.cards, 3))
        return sum(self._play(BettingState.start(self.rules), position, *deal) for deal in deals) / len(deals)

    def _play(self, state, position, own, other, public):
        if state.is_over:
            strengths = None
            if state.is_showdown:
                cards = {position: own, 1 - position: other}
                strengths = showdown_strengths(self.rules, [(cards[0],), (cards[1],)], (public,))
            return float(state.payoffs(strengths)[position])
        board = (public,) if state.round == 1 else ()
        if state.player == position:
            action = self._choice(state, position, own, board)
            return self._play(state.act(action), position, own, other, public)
        chances = self.probabilities(state.betting, format_cards([other]), format_cards(board))
        return sum(
            chance * self._play(state.act(action), position, own, other, public)
            for action, chance in chances.items()
            if chance > 0
        )

    def _choice(self, state, position, own, board):
        weights = {
            card: self._reach(state.betting, position, card, board)
            for card in self.rules.deck.cards
            if card != own and card not in board
        }
        spent, other = state.spent[position], state.spent[1 - position]

        def shown(weights, chips):
            total = sum(weights.values())
            wins = sum(
                weight * equity(self.rules, (own,), (card,), board) for card, weight in weights.items()
            )
            return (2 * wins / total - 1) * chips + spent

        values = {"c": shown(weights, state.largest)}
        if state.can_fold():
            values["f"] = 0.0
        if state.can_raise_to():
            after = state.act("r")
            folds = {
                card: self.probabilities(after.betting, format_cards([card]), format_cards(board)).get("f", 0)
                for card in weights
            }
            total = sum(weights.values())
            folding = sum(weights[card] * folds[card] for card in weights) / total
            values["r"] = folding * (spent + other)
            if folding < 1:
                staying = {card: weights[card] * (1 - folds[card]) for card in weights}
                values["r"] += (1 - folding) * shown(staying, after.largest)
        most = max(values.values())
        return next(action for action in "cfr" if action in values and values[action] >= most - 1e-12)

    def _reach(self, betting, position, card, board):
        """How likely the opponent plays as it has with a card."""
        state, reach = BettingState.start(self.rules), Fraction(1)
        for action in betting.replace("/", ""):
            if state.player != position:
                seen = board if state.round == 1 else ()
                chances = self.probabilities(state.betting, format_cards([card]), format_cards(seen))
                reach *= Fraction(chances[action])
            state = state.act(action)
        return float(reach)
