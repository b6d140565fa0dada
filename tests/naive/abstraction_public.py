"""Slow obvious twins of public clusters: plain loops over boards, hands and buckets."""

from fractions import Fraction
from math import sqrt


def differences(table):
    """V - sum of minima for every pair of rows of a transition table."""
    num_hands = sum(table[0])
    return [[num_hands - sum(min(a, b) for a, b in zip(x, y, strict=True)) for y in table] for x in table]


def transition_probabilities(before, after):
    """{(i, j): probability of going from bucket i to bucket j}, from both buckets of every hand left."""
    table = {}
    for i in before:
        hands = [h for h in range(len(before)) if before[h] == i]
        for j in {after[h] for h in hands}:
            table[i, j] = Fraction(sum(after[h] == j for h in hands), len(hands))
    return table


def l2_distance(x, y):
    """L2 distance between two sparse tables."""
    return sqrt(sum((x.get(key, 0) - y.get(key, 0)) ** 2 for key in {*x, *y}))


def move_boards(distances, clusters, num_clusters, in_turn):
    """One iteration of algorithm 3: new clusters, and how many boards moved."""
    before, after = list(clusters), list(clusters)
    for i in range(len(before)):
        seen = after if in_turn else before
        sums = [
            sum((distances[i][j] for j in range(len(seen)) if j != i and seen[j] == c), 0.0)
            for c in range(num_clusters)
        ]
        if min(sums) < sums[before[i]]:
            after[i] = sums.index(min(sums))
    return after, sum(a != b for a, b in zip(before, after, strict=True))


def objective(distances, clusters):
    """Sum of distances between pairs of boards that share a cluster."""
    pairs = [(i, j) for i in range(len(clusters)) for j in range(i)]
    return sum(distances[i][j] for i, j in pairs if clusters[i] == clusters[j])


def nearest_centre(row, centres):
    """Number of the centre with the smallest sum of squared differences, the lowest of equals."""
    squares = [sum((a - b) ** 2 for a, b in zip(row, centre, strict=True)) for centre in centres]
    return squares.index(min(squares))
