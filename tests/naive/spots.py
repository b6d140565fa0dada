"""Slow obvious twins for spots: one pair of hands, one run-out, one action at a time."""

from functools import cache

from errai.cards.deck import format_cards, parse_cards
from errai.cards.evaluator import evaluate
from errai.strategy.spot import SpotResult
from errai.tree.betting_tree import CHANCE, FOLD, SHOWDOWN


def naive_expected_value(result: SpotResult, player: int) -> float:
    """Play every pair of hands through every run-out; chips of a range, the pot counted as to be won."""
    spot, betting = result.spot, result.spot.tree.betting
    unit = float(spot.betting.unit)

    @cache
    def played(text: str, board: tuple[int, ...]) -> dict[str, dict[str, float]]:
        table = result.strategy(text, format_cards(board[len(spot.board) :]))
        return {
            hand: dict(zip(table.actions, row, strict=True))
            for hand, row in zip(table.hands, table.probabilities.tolist(), strict=True)
        }

    def value(
        node: int, text: str, hands: tuple[tuple[int, ...], tuple[int, ...]], board: tuple[int, ...]
    ) -> float:
        chips = betting.chips[node]
        if betting.kind[node] == FOLD:
            folder = int(betting.player[node])
            return float(-chips[folder] if folder == player else chips[folder])
        if betting.kind[node] == SHOWDOWN:
            mine, theirs = (int(evaluate([[*hands[q], *board]])[0]) for q in (player, 1 - player))
            return float(min(chips)) * ((mine > theirs) - (mine < theirs))
        if betting.kind[node] == CHANCE:
            child = betting.children(node)[0]
            left = [card for card in range(52) if card not in (*hands[0], *hands[1], *board)]
            return sum(value(child, text + "/", hands, (*board, card)) for card in left) / len(left)
        actor = int(betting.player[node])
        chances = played(text, board)[format_cards(sorted(hands[actor], reverse=True))]
        return sum(
            chance * value(child, text + action, hands, board)
            for child, (action, chance) in zip(betting.children(node), chances.items(), strict=True)
        )

    total = weight = 0.0
    for first, first_weight in zip(spot.hands[0].tolist(), spot.weights[0].tolist(), strict=True):
        for second, second_weight in zip(spot.hands[1].tolist(), spot.weights[1].tolist(), strict=True):
            if not set(first) & set(second):
                pair = first_weight * second_weight
                total += pair * value(0, "", (tuple(first), tuple(second)), spot.board)
                weight += pair
    return float(spot.betting.pot) / 2 + total / weight * unit


def renamed(text: str, suits: dict[str, str]) -> str:
    """Rename the suits of a row of cards."""
    return "".join(
        card[0] + suits[card[1]] for card in (format_cards([number]) for number in parse_cards(text))
    )
