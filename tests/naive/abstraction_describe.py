"""Slow, obvious twins of what is told about abstractions."""

from collections import Counter
from itertools import combinations, permutations
from math import log

from errai.cards.deck import format_cards


def overlap(first, second):
    """Rand index, adjusted Rand index, normalised mutual information and both refinements, pair by pair."""
    together: Counter[tuple[bool, bool]] = Counter()
    for i, j in combinations(range(len(first)), 2):
        together[first[i] == first[j], second[i] == second[j]] += 1
    both, neither = together[True, True], together[False, False]
    only_first, only_second = together[True, False], together[False, True]
    num_pairs = both + neither + only_first + only_second
    above = 2 * (both * neither - only_first * only_second)
    below = (both + only_first) * (only_first + neither) + (both + only_second) * (only_second + neither)
    rand = (both + neither) / num_pairs if num_pairs else 1.0
    adjusted = above / below if below else 1.0
    return rand, adjusted, _information(first, second), refinement(first, second), refinement(second, first)


def _information(first, second):
    total = len(first)
    joint, a, b = Counter(zip(first, second, strict=True)), Counter(first), Counter(second)
    mutual = sum(n / total * log(n * total / (a[i] * b[j])) for (i, j), n in joint.items())
    entropies = sum(-n / total * log(n / total) for sizes in (a, b) for n in sizes.values())
    return 2 * mutual / entropies if entropies else 1.0


def refinement(first, second):
    """Share of the first's buckets that meet one bucket of the second."""
    met: dict[int, set[int]] = {bucket: set() for bucket in first}
    for i, j in zip(first, second, strict=True):
        met[i].add(j)
    return sum(len(others) == 1 for others in met.values()) / len(met)


def every_deal(rules, r):
    """Hole cards, a set, and the public cards of each round, a set each, as text: all deals of a round."""
    deck = rules.deck.cards
    for hole in combinations(deck, rules.num_hole_cards):
        left = [card for card in deck if card not in hole]
        new = rules.num_board_cards[: r + 1]
        for board in permutations(left, sum(new)):
            begin, is_first = 0, True
            for count in new:
                part = board[begin : begin + count]
                is_first &= list(part) == sorted(part)
                begin += count
            if is_first:
                yield format_cards(hole), format_cards(board)


def bucket_sizes(abstraction, r, player=0):
    """Deals in each bucket that is not empty, hand by hand."""
    return Counter(abstraction.bucket(hand, board, player) for hand, board in every_deal(abstraction.game, r))
