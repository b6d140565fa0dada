"""Slow, obvious twins of the hand features: every opponent hand and every run-out, one by one."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.games.rules import PokerRules, Showdown


def showdown_strength(rules: PokerRules, cards: Sequence[int]) -> int:
    row = np.array([cards], dtype=np.uint8)
    return int((evaluate_three_card if rules.showdown is Showdown.THREE_CARD else evaluate)(row)[0])


def opponents(rules: PokerRules, known: Sequence[int]) -> Iterator[tuple[int, ...]]:
    left = [card for card in rules.deck.cards if card not in known]
    return combinations(left, rules.num_hole_cards)


def half_hands_beaten(rules: PokerRules, hand: Sequence[int], board: Sequence[int]) -> int:
    """2 x beaten + tied."""
    own = showdown_strength(rules, [*hand, *board])
    total = 0
    for other in opponents(rules, [*hand, *board]):
        theirs = showdown_strength(rules, [*other, *board])
        total += 2 * (own > theirs) + (own == theirs)
    return total


def chances_against_clusters(
    rules: PokerRules,
    hand: Sequence[int],
    board: Sequence[int],
    cluster_of: dict[tuple[int, ...], int],
    num_clusters: int,
) -> list[Fraction | None]:
    """The chance against a random hand of each cluster; None where no hand of it is left."""
    own = showdown_strength(rules, [*hand, *board])
    won, met = [0] * num_clusters, [0] * num_clusters
    for other in opponents(rules, [*hand, *board]):
        theirs = showdown_strength(rules, [*other, *board])
        won[cluster_of[other]] += 2 * (own > theirs) + (own == theirs)
        met[cluster_of[other]] += 2
    return [Fraction(w, m) if m else None for w, m in zip(won, met, strict=True)]


def runouts(rules: PokerRules, hand: Sequence[int], board: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Whole boards that may follow."""
    left = [card for card in rules.deck.cards if card not in (*hand, *board)]
    missing = rules.num_board_cards_by(rules.num_rounds - 1) - len(board)
    for rest in combinations(left, missing):
        yield (*board, *rest)


def cumulative_histogram(values: Sequence[int], bin_width: int, num_bins: int) -> list[int]:
    """The cumulative distribution, summed over the integers of each bin.

    Averaging over a bin from b w to (b + 1) w of a step at an integer v is w minus the part of the bin that
    lies below v: exactly what summing "is v at most t" over the integers t = b w ... (b + 1) w - 1 counts.
    """
    return [
        sum(value <= t for value in values for t in range(b * bin_width, (b + 1) * bin_width))
        for b in range(num_bins)
    ]
