"""Weighted k-means on rows of integers, for millions of hands and thousands of buckets.

`lloyd.py` has the loop: starts by k-means++, Lloyd's steps, restarts, a sample first where rows are many.
Here is the space of rows under L1 and L2:

1. k-means++ (Arthur and Vassilvitskii 2007): the next centre is a row drawn in proportion to its weight times
   its squared distance from the centres so far.
2. The nearest centre, the lowest number among equals, is exact: pruning by the triangle inequality
   (`nearest.py`, `_kmeans.py`) gives the labels of plain Lloyd.
3. A centre is the weighted mean of its rows, rounded to integers.

The metrics are those of abstractions (Johanson, Burch, Valenzano and Bowling, "Evaluating State-Space
Abstractions in Extensive-Form Games", 2013): L1 on cumulative histograms, which is the earth mover's
distance, and L2 on opponent cluster hand strengths. Deviations: under L1 the centre is the rounded mean, not
the median, so that it is a histogram's average as in the papers; the cost may then rise in a step, and
`max_iterations` ends a cycle.

Everything is integer arithmetic, so the same seed gives the same bytes on any number of threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering import _kmeans, nearest
from errai.abstraction.clustering.lloyd import (
    MAX_ITERATIONS,
    SEEDING_ROWS_PER_CENTRE,
    Distances,
    Effort,
    Farthest,
    Found,
    Means,
    ReadRows,
    Space,
    k_means,
    verify_weights,
)
from errai.abstraction.clustering.nearest import (
    Centres,
    Int64s,
    Labels,
    Metric,
    Rows,
    assign,
    padded_rows,
    verify_rows,
)
from errai.errors import UsageError
from errai.workers import Progress, Report, Workers

__all__ = ["MAX_ITERATIONS", "Clustering", "Metric", "assign", "bytes_to_train", "cluster", "cluster_large"]

# New centres of k-means++ between two chances to report progress.
SEEDS_PER_CALL = 64


@dataclass(frozen=True)
class Clustering:
    """Centres of a k-means clustering, and what it took. N rows, D columns, K centres.

    Attributes:
        centres: uint16[K, D], weighted means of their rows, rounded.
        labels: int32[N] (uint16[N] from `cluster_large` where K allows), the nearest centre of each row.
        cost: weighted mean over all rows of the distance (L1) or squared distance (L2) to their centre.
        iterations: Lloyd steps that moved the centres.
        num_distances: distances over all D columns that were computed, in all restarts.
        num_plain_distances: what plain k-means++ and plain Lloyd would have computed.
        num_bounds: lower bounds over `_kmeans.NUM_GROUPS` sums of columns that were computed besides.
    """

    centres: Rows
    labels: npt.NDArray[Any]
    cost: float
    iterations: int
    num_distances: int
    num_plain_distances: int
    num_bounds: int = 0

    @property
    def share_saved(self) -> float:
        """Share of the plain algorithm's distances that were never computed."""
        return 1.0 - self.num_distances / self.num_plain_distances


class _RowMeans(Means[Rows]):
    """Weighted sums of the rows of each centre."""

    def __init__(self, num_clusters: int, num_columns: int) -> None:
        self._sums = np.zeros((num_clusters, num_columns), dtype=np.int64)
        self._totals = np.zeros(num_clusters, dtype=np.int64)

    def add(self, rows: Rows, weights: Int64s, labels: Labels, distances: Distances) -> int:
        """Add rows to the sums of their centres; return the weighted sum of their distances."""
        return int(_kmeans.add_rows(rows, weights, labels, distances, self._sums, self._totals))

    def moved(self, centres: Rows, farthest: Farthest) -> Rows:
        """Return the rounded means; centres without rows take the farthest rows while there are any."""
        return _moved_centres(centres, self._sums, self._totals, farthest)


def _moved_centres(centres: Rows, sums: Int64s, totals: Int64s, farthest: Farthest) -> Rows:
    filled = totals > 0
    moved = centres.copy()
    weight = totals[filled, None]
    moved[filled] = (2 * sums[filled] + weight) // (2 * weight)
    empty = np.flatnonzero(~filled)
    if len(empty):
        rows = farthest(len(empty))
        moved[empty[: len(rows)]] = rows
    return moved


class _RowSpace(Space[Rows]):
    """Rows of integers under L1 or L2; centres are rows, too."""

    def __init__(self, metric: Metric, num_columns: int) -> None:
        self._metric, self._num_columns = metric, num_columns

    @property
    def chunk_rows(self) -> int:
        """Rows that one task works on."""
        return nearest.CHUNK_ROWS

    def search(self, centres: Rows, workers: Workers, progress: Progress) -> Centres:
        """Prepare lists of neighbouring centres."""
        return Centres(centres, self._metric, workers, progress)

    def means(self, num_clusters: int) -> _RowMeans:
        """Return empty sums."""
        return _RowMeans(num_clusters, self._num_columns)

    def same(self, first: Rows, second: Rows) -> bool:
        """Return whether no centre has moved."""
        return np.array_equal(first, second)

    def seeds(
        self,
        rows: Rows,
        weights: Int64s,
        num_clusters: int,
        rng: np.random.Generator,
        workers: Workers,
        progress: Progress,
    ) -> tuple[Rows, Labels, int]:
        """Choose rows as first centres by k-means++, on one thread."""
        num_rows = len(rows)
        squared = self._metric is Metric.L2
        padded = padded_rows(rows)
        uniforms = rng.random(num_clusters)
        cumulative = np.cumsum(weights)
        first = int(np.searchsorted(cumulative, int(uniforms[0] * float(cumulative[-1])), side="right"))
        first = min(first, num_rows - 1)
        distances = np.empty(num_rows, dtype=np.int32)
        largest = int(_kmeans.start_seeding(padded, first, squared, distances))
        heaviest = int(cumulative[-1]) * (largest if squared else largest**2)
        shift = max(0, heaviest.bit_length() - 61)
        masses = np.empty(-(-num_rows // _kmeans.ROWS_PER_BLOCK), dtype=np.int64)
        _kmeans.sum_masses(weights, distances, squared, shift, masses)
        chosen = np.full(num_clusters, first, dtype=np.int64)
        labels = np.zeros(num_rows, dtype=np.int32)
        gaps = np.empty(num_clusters, dtype=np.int64)
        num_distances = num_rows
        for begin in range(1, num_clusters, SEEDS_PER_CALL):
            end = min(begin + SEEDS_PER_CALL, num_clusters)
            num_chosen, computed = _kmeans.seed_centres(
                padded, weights, uniforms, begin, end, squared, shift, chosen, labels, distances, masses, gaps
            )
            num_distances += computed
            progress.tick()
            if num_chosen < end:
                break
        return rows[chosen], labels, num_distances


def cluster(
    points: Rows,
    weights: npt.NDArray[Any],
    num_clusters: int,
    metric: Metric,
    *,
    seed: int = 0,
    restarts: int = 1,
    max_iterations: int = MAX_ITERATIONS,
    num_threads: int | None = None,
    report: Report | None = None,
) -> Clustering:
    """Cluster rows by k-means++ and Lloyd's steps until no centre moves.

    Args:
        points: uint16[N, D]. L1 distances must stay below 2^31, squared L2 distances too.
        weights: positive integers [N], how often each row counts.
        num_clusters: K, 1 to N. Where fewer rows differ, the surplus centres repeat the first and stay empty.
        metric: L1 (cumulative histograms) or L2.
        seed: the same seed gives the same bytes on any number of threads.
        restarts: independent runs, of which the cheapest is kept.
        max_iterations: Lloyd steps at most.
        num_threads: all cores without it.
        report: called with rows assigned and their largest possible number about once a second, from the
            calling thread; what it raises ends the work and is passed on.

    Returns:
        The clustering; every label is the nearest of the returned centres.
    """
    if points.ndim != 2:
        raise UsageError(f"rows must have 2 dimensions, not {points.ndim}")
    effort = Effort(seed, restarts, max_iterations, sample_size=len(points), num_threads=num_threads)
    effort.sampled(len(points), num_clusters)
    total_weight = verify_weights(weights, len(points))
    rows = verify_rows(points, points.shape[1], metric, total_weight)
    found = k_means(
        _RowSpace(metric, rows.shape[1]),
        lambda begin, end: rows[begin:end],
        weights,
        rows.shape[1],
        num_clusters,
        effort,
        report=report,
    )
    return _clustering(found, total_weight)


def cluster_large(
    read: ReadRows,
    weights: npt.NDArray[Any],
    num_rows: int,
    num_columns: int,
    num_clusters: int,
    metric: Metric,
    effort: Effort,
    report: Report | None = None,
) -> Clustering:
    """Cluster more rows than should be held in memory: on a sample first, then over all of them.

    Args:
        read: gives uint16[end - begin, D] for (begin, end), such as a slice of a memory map; called from
            several threads at once.
        weights: positive integers [N].
        num_rows: N.
        num_columns: D.
        num_clusters: K.
        metric: L1 or L2.
        effort: how much work to put in. Each row is as likely as any other to be in the sample, and has its
            weight there; where the sample is N or more, this is `cluster` on all rows. In a pass over all
            rows, a centre that is left without any moves to the sample's row that is farthest from its own.
        report: as for `cluster`.

    Returns:
        The clustering of all rows, labels as uint16 where K allows.
    """
    effort.sampled(num_rows, num_clusters)
    total_weight = verify_weights(weights, num_rows)
    label_type: type[np.integer[Any]] = np.uint16 if num_clusters <= 1 << 16 else np.int32
    found = k_means(
        _RowSpace(metric, num_columns),
        lambda begin, end: verify_rows(read(begin, end), num_columns, metric, total_weight),
        weights,
        num_columns,
        num_clusters,
        effort,
        label_type,
        report,
    )
    return _clustering(found, total_weight)


def _clustering(found: Found[Rows], total_weight: int) -> Clustering:
    return Clustering(
        found.centres,
        found.labels,
        found.cost / total_weight,
        found.iterations,
        found.work.distances,
        found.work.plain_distances,
        found.work.bounds,
    )


def bytes_to_train(num_columns: int, num_rows: int, num_clusters: int, num_threads: int) -> int:
    """Return about how much memory k-means on rows in memory takes."""
    width = 8 if num_columns <= 8 else 16 if num_columns <= 16 else -(-num_columns // 32) * 32
    sample = num_rows * (2 * num_columns + 8 + 8 + 8 + 4)  # rows, numbers, weights, distances, labels
    seeding = min(num_rows, SEEDING_ROWS_PER_CENTRE * num_clusters) * (2 * num_columns + 2 * width + 24)
    # The lists of neighbours of one step are held until those of the next are made.
    lists = 2 * num_clusters * (8 * min(num_clusters, nearest.MAX_NEIGHBOURS) + 8 * num_columns + 4 * width)
    tables = num_threads * 2 * 64 * 8 * num_clusters
    chunks = num_threads * 2 * min(num_rows, nearest.CHUNK_ROWS) * (2 * num_columns + 2 * width + 16)
    return sample + max(seeding, lists + max(tables, chunks))
