"""Slow obvious twin of rounding rows of probabilities: exact fractions, one row at a time."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor


def naive_quantised(weights: Sequence[float], scale: int) -> tuple[list[int], Fraction]:
    """Return whole numbers that sum to the scale, by largest remainders, and the largest error."""
    positive = [max(Fraction(weight), Fraction(0)) for weight in weights]
    total = sum(positive)
    if total == 0:
        return [0] * len(weights), Fraction(0)
    exact = [scale * weight / total for weight in positive]
    counts = [1 if Fraction(1, 2) < x < 1 else floor(x) for x in exact]
    while sum(counts) < scale:
        lacking = [a for a in range(len(counts)) if exact[a] > 0]
        counts[max(lacking, key=lambda a: exact[a] - counts[a])] += 1
    while sum(counts) > scale:
        rich = [a for a in range(len(counts)) if counts[a] > 1]
        counts[min(rich, key=lambda a: exact[a] - counts[a])] -= 1
    return counts, max(abs(x - count) / scale for x, count in zip(exact, counts, strict=True))
