"""Naive twins of potential-aware clustering: fractions, every centre tried; the exact distance by LP."""

from collections import Counter
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def as_distribution(row) -> dict[int, Fraction]:
    """Equal mass on each bucket of a row."""
    return {bucket: Fraction(count, len(row)) for bucket, count in Counter(int(b) for b in row).items()}


def greedy_emd(row, centre: dict[int, Fraction], ground) -> Fraction:
    """Ganzfried and Sandholm's algorithm 2, with equal buckets of the row merged."""
    wanted = as_distribution(row)
    remaining = dict(centre)
    ranked = {bucket: sorted(centre, key=lambda other: (ground[bucket][other], other)) for bucket in wanted}
    cost = Fraction(0)
    for rank in range(len(centre)):
        for bucket in sorted(wanted):
            source = ranked[bucket][rank]
            moved = min(wanted[bucket], remaining[source])
            cost += moved * int(ground[bucket][source])
            wanted[bucket] -= moved
            remaining[source] -= moved
    return cost


def exact_emd(first, second, ground) -> float:
    """The transport problem as a linear programme; distributions as arrays [M]."""
    first, second, ground = np.asarray(first, float), np.asarray(second, float), np.asarray(ground, float)
    num_buckets = len(first)
    leaving = np.kron(np.eye(num_buckets), np.ones(num_buckets))
    arriving = np.kron(np.ones(num_buckets), np.eye(num_buckets))
    found = linprog(
        ground.ravel(),
        A_eq=np.vstack([leaving, arriving]),
        b_eq=np.concatenate([first / first.sum(), second / second.sum()]),
    )
    assert found.status == 0
    return float(found.fun)


def seeds(rows, weights, uniforms, ground) -> list[int]:
    """Rows chosen by k-means++ from one uniform number for each; stops when no row has a distance."""
    masses = [Fraction(int(weight)) for weight in weights]
    nearest = None
    chosen: list[int] = []
    for uniform in uniforms:
        if sum(masses) == 0:
            break
        target = Fraction(float(uniform)) * sum(masses)
        row = 0
        while target >= masses[row]:
            target -= masses[row]
            row += 1
        chosen.append(row)
        costs = [greedy_emd(other, as_distribution(rows[row]), ground) for other in rows]
        nearest = costs if nearest is None else [min(pair) for pair in zip(nearest, costs, strict=True)]
        masses = [int(weight) * cost**2 for weight, cost in zip(weights, nearest, strict=True)]
    return chosen


def assign(rows, centres: list[dict[int, Fraction]], ground) -> tuple[list[int], list[Fraction]]:
    """The nearest centre of each row by the greedy distance, the lowest among equals."""
    labels, costs = [], []
    for row in rows:
        table = [greedy_emd(row, centre, ground) for centre in centres]
        costs.append(min(table))
        labels.append(table.index(min(table)))
    return labels, costs


def mean(rows, weights, total_mass: int) -> dict[int, Fraction]:
    """Mean distribution in multiples of 1 / total_mass, shared out by largest remainders."""
    counts: Counter[int] = Counter()
    for row, weight in zip(rows, weights, strict=True):
        for bucket in row:
            counts[int(bucket)] += int(weight)
    total = sum(counts.values())
    exact = {bucket: Fraction(count * total_mass, total) for bucket, count in counts.items()}
    masses = {bucket: int(share) for bucket, share in exact.items()}
    by_remainder = sorted(exact, key=lambda bucket: (masses[bucket] - exact[bucket], bucket))
    for bucket in by_remainder[: total_mass - sum(masses.values())]:
        masses[bucket] += 1
    return {bucket: Fraction(mass, total_mass) for bucket, mass in masses.items() if mass > 0}


def lloyd(rows, weights, centres, ground, total_mass: int, max_iterations: int):
    """Plain Lloyd: centres, labels, weighted mean cost, and the steps that moved the centres."""
    iterations = 0
    while True:
        labels, costs = assign(rows, centres, ground)
        if iterations == max_iterations:
            break
        moved = list(centres)
        farthest = sorted(range(len(rows)), key=lambda i: (-costs[i], i))
        taken: list[dict[int, Fraction]] = []
        for k in range(len(centres)):
            members = [i for i in range(len(rows)) if labels[i] == k]
            if members:
                moved[k] = mean([rows[i] for i in members], [weights[i] for i in members], total_mass)
                continue
            for i in farthest:
                if costs[i] > 0 and as_distribution(rows[i]) not in taken:
                    taken.append(as_distribution(rows[i]))
                    moved[k] = taken[-1]
                    break
        if moved == centres:
            break
        centres = moved
        iterations += 1
    cost = sum(int(w) * c for w, c in zip(weights, costs, strict=True)) / int(np.sum(weights))
    return centres, labels, cost, iterations
