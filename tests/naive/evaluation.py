"""Slow, obvious twins of the evaluator, of ranges and of equity. Cards are rank * 4 + suit."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import fsum

from phevaluator import _pheval

RANKS = "23456789TJQKA"
PHEVALUATOR = {5: _pheval.evaluate_5cards, 6: _pheval.evaluate_6cards, 7: _pheval.evaluate_7cards}

Strength = tuple[int, list[int]]


def multiples_strength(cards: Sequence[int]) -> Strength:
    """Category (as in errai's evaluator) and ranks in order of weight; no straights, no flushes."""
    count = Counter(card // 4 for card in cards)
    ranks = sorted(count, key=lambda rank: (count[rank], rank), reverse=True)
    shape = [*sorted(count.values(), reverse=True), 0]
    if shape[0] == 4:
        return 7, ranks
    if shape[0] == 3:
        return (6 if shape[1] >= 2 else 3), ranks
    if shape[0] == 2:
        return (2 if shape[1] == 2 else 1), ranks
    return 0, ranks


def five_card_strength(cards: Sequence[int]) -> Strength:
    """Category and tie-break of exactly five cards."""
    ranks = sorted((card // 4 for card in cards), reverse=True)
    flush = len({card % 4 for card in cards}) == 1
    straight = len(set(ranks)) == 5 and ranks[0] - ranks[4] == 4
    if ranks == [12, 3, 2, 1, 0]:
        straight, ranks = True, [3, 2, 1, 0, -1]
    if straight:
        return (8 if flush else 4), ranks
    if flush:
        return 5, ranks
    return multiples_strength(cards)


def strength(cards: Sequence[int]) -> Strength:
    """Strength of 1 to 7 cards: the best five of them, or multiples alone below five."""
    if len(cards) < 5:
        return multiples_strength(cards)
    return max(five_card_strength(five) for five in combinations(cards, 5))


def three_card_strength(cards: Sequence[int]) -> Strength:
    """Strength of three cards by the rules of Rhode Island hold'em, category 0 to 5."""
    ranks = sorted((card // 4 for card in cards), reverse=True)
    flush = len({card % 4 for card in cards}) == 1
    straight = ranks[0] - 1 == ranks[1] == ranks[2] + 1
    if ranks == [12, 1, 0]:
        straight, ranks = True, [1, 0, -1]
    category, multiples = multiples_strength(cards)
    if category == 3:
        return 4, multiples
    if category == 1:
        return 1, multiples
    return {(True, True): 5, (True, False): 3, (False, True): 2, (False, False): 0}[straight, flush], ranks


def cell_of(hand: Sequence[int]) -> str:
    """Name of the starting hand: `88`, `AKs` or `AKo`."""
    low, high = sorted(hand)
    name = RANKS[high // 4] + RANKS[low // 4]
    return name if high // 4 == low // 4 else name + ("s" if high % 4 == low % 4 else "o")


def equity(
    first: dict[tuple[int, int], float], second: dict[tuple[int, int], float], board: Sequence[int]
) -> tuple[float, float, float, float]:
    """Win, tie, lose and weight of all matchups, by going through every board and every pair of hands."""
    stub = [card for card in range(52) if card not in board]
    pairs = [(a, b) for a in first for b in second if not set(a) & set(b)]
    hands = {hand for pair in pairs for hand in pair}
    # Whole numbers for each pair, weighted at the end: a long sum of weights would drift.
    wins: Counter[object] = Counter()
    ties: Counter[object] = Counter()
    totals: Counter[object] = Counter()
    for runout in combinations(stub, 5 - len(board)):
        full = (*board, *runout)
        rank = {
            hand: _pheval.evaluate_7cards(*full, *hand)
            for hand in hands
            if hand[0] not in full and hand[1] not in full
        }
        for a, b in pairs:
            if a in rank and b in rank:
                totals[a, b] += 1
                wins[a, b] += rank[a] < rank[b]
                ties[a, b] += rank[a] == rank[b]
    win, tie, total = (
        fsum(count[a, b] * first[a] * second[b] for a, b in pairs) for count in (wins, ties, totals)
    )
    return win / total, tie / total, 1.0 - (win + tie) / total, total
