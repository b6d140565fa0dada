"""Slow, obvious twins of bucketing."""

from fractions import Fraction
from math import floor


def percentile_buckets(values: list[int], weights: list[int], num_buckets: int) -> list[int]:
    """The bucket where the middle of a value's weight falls."""
    total = sum(weights)
    found = []
    for value in values:
        before = sum(weight for other, weight in zip(values, weights, strict=True) if other < value)
        own = sum(weight for other, weight in zip(values, weights, strict=True) if other == value)
        found.append(floor((before + Fraction(own, 2)) / total * num_buckets))
    return found


def nearest_in_group(
    rows: list[list[int]], group: list[int], centres: list[list[list[int]]], num_centres: list[int]
) -> list[int]:
    """group * K + the nearest of the group's centres; the first where it has none."""
    found = []
    for row, g in zip(rows, group, strict=True):
        if g == -1:
            found.append(-1)
            continue
        used = centres[g][: max(num_centres[g], 1)]
        distances = [sum((a - b) ** 2 for a, b in zip(row, centre, strict=True)) for centre in used]
        found.append(g * len(centres[g]) + distances.index(min(distances)))
    return found
