"""Slow obvious twins of solving with buckets: an abstract strategy spelt out hand by hand."""

from itertools import combinations

from errai.cards.deck import format_cards
from errai.games.rules import PokerRules
from errai.strategy.strategy import Strategy, strategy_from_function


def naive_leduc_bucket(groups: str, hole: str, board: str) -> tuple[int, bool]:
    """Return the group of a rank and whether it pairs the board, from the text of a name such as `JQ.K`."""
    group = next(i for i, ranks in enumerate(groups.strip("[]").split(".")) if hole[0] in ranks)
    return group, board != "" and hole[0] == board[0]


def naive_unabstracted(strategy: Strategy) -> Strategy:
    """Return a lossless strategy that asks an abstract one what it plays, once for every hand."""

    def choose(betting: str, hand: str, board: str, actions: list[str]) -> dict[str, float]:
        return strategy.probabilities(betting, hand, board)

    return strategy_from_function(strategy.game, choose, strategy.tree.menu)


def naive_deals(rules: PokerRules, round_index: int) -> list[tuple[str, str]]:
    """Return every hand and board of a round as text, boards in the order of their deals."""
    found = []
    for hole in combinations(rules.deck.cards, rules.num_hole_cards):
        boards: list[tuple[int, ...]] = [()]
        for dealt in rules.num_board_cards[: round_index + 1]:
            boards = [
                (*board, *cards)
                for board in boards
                for cards in combinations([c for c in rules.deck.cards if c not in (*hole, *board)], dealt)
            ]
        found += [(format_cards(hole), format_cards(board)) for board in boards]
    return found
