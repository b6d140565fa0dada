"""Naive twins of k-means: every distance computed, one step after the other."""

import numpy as np
from scipy.spatial.distance import cdist


def distances(points, centres, metric: str) -> np.ndarray:
    """Distances [N, K]: sums of absolute (l1) or squared (l2) differences."""
    table: np.ndarray = cdist(points, centres, {"l1": "cityblock", "l2": "sqeuclidean"}[metric])
    return table.astype(np.int64)  # float64 sums of integers are exact


def assign(points, centres, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The nearest centre of each row, the lowest among equals, and its distance."""
    table = distances(points, centres, metric)
    return table.argmin(axis=1), table.min(axis=1)


def seeds(points, weights, uniforms, metric: str) -> list[int]:
    """Rows chosen by k-means++ from one uniform number for each; stops when no row has a distance."""
    mass = [int(weight) for weight in weights]
    nearest = None
    chosen: list[int] = []
    for uniform in uniforms:
        total = sum(mass)
        if total == 0:
            break
        target = int(uniform * float(total))
        row = 0
        while target >= mass[row]:
            target -= mass[row]
            row += 1
        chosen.append(row)
        measured = distances(points, points[row : row + 1], metric)[:, 0]
        nearest = measured if nearest is None else np.minimum(nearest, measured)
        squares = nearest if metric == "l2" else nearest**2
        mass = [int(weight) * int(square) for weight, square in zip(weights, squares, strict=True)]
    return chosen


def move(points, weights, centres, labels, measured) -> np.ndarray:
    """Rounded weighted means; empty centres, in order, take the farthest different rows."""
    moved: np.ndarray = centres.copy()
    order = sorted(range(len(points)), key=lambda i: (-measured[i], i))
    taken: list[tuple[int, ...]] = []
    for k in range(len(centres)):
        members = [i for i in range(len(points)) if labels[i] == k]
        if members:
            total = sum(int(weights[i]) for i in members)
            for j in range(points.shape[1]):
                weighted = sum(int(weights[i]) * int(points[i, j]) for i in members)
                moved[k, j] = (2 * weighted + total) // (2 * total)
            continue
        for i in order:
            row = tuple(int(value) for value in points[i])
            if measured[i] > 0 and row not in taken:
                moved[k] = points[i]
                taken.append(row)
                break
    return moved


def lloyd(points, weights, centres, metric: str, max_iterations: int):
    """Plain Lloyd from given centres: centres, labels, cost, and the steps that moved them."""
    iterations = 0
    while True:
        labels, measured = assign(points, centres, metric)
        if iterations == max_iterations:
            break
        moved = move(points, weights, centres, labels, measured)
        if np.array_equal(moved, centres):
            break
        centres = moved
        iterations += 1
    cost = sum(int(w) * int(d) for w, d in zip(weights, measured, strict=True)) / int(
        np.sum(weights, dtype=int)
    )
    return centres, labels, cost, iterations
