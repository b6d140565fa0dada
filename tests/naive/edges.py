"""Edges and strengths by comparing hands one by one."""

from collections.abc import Sequence
from itertools import combinations

from errai.games.hand import showdown_strengths
from errai.games.rules import PokerRules

Hole = tuple[int, ...]


def naive_edge(rules: PokerRules, own: Hole, other: Hole, board: Sequence[int]) -> float:
    """Boards won less boards lost, over all that can come."""
    left = [card for card in rules.deck.cards if card not in {*own, *other, *board}]
    results = []
    for rest in combinations(left, sum(rules.num_board_cards) - len(board)):
        first, second = showdown_strengths(rules, [own, other], [*board, *rest])
        results.append((first > second) - (first < second))
    return sum(results) / len(results)


def naive_strength(rules: PokerRules, own: Hole, board: Sequence[int]) -> float:
    """The share of other hands that are beaten on a full board, ties as half."""
    left = [card for card in rules.deck.cards if card not in {*own, *board}]
    scores = []
    for other in combinations(left, rules.num_hole_cards):
        first, second = showdown_strengths(rules, [own, other], board)
        scores.append(1.0 if first > second else 0.5 if first == second else 0.0)
    return sum(scores) / len(scores)
