"""Weighted k-means on rows of integers, for millions of hands and thousands of buckets.

1. Start by k-means++ (Arthur and Vassilvitskii 2007): the next centre is a row drawn in proportion to its
   weight times its squared distance from the centres so far. The draw looks at no more than
   `SEEDING_ROWS_PER_CENTRE` rows for each centre, a random sample where there are more.
2. Lloyd's steps until no centre moves: every row goes to its nearest centre (the lowest number among
   equals), every centre to the weighted mean of its rows, rounded to integers. Centres that no row chose
   move to the rows that are farthest from their own.
3. Several restarts; the one with the lowest cost is kept.
4. `cluster_large` does this on a random sample of the rows and then takes Lloyd steps over all of them,
   chunk by chunk, from a memory map.

The metrics are those of abstractions (Johanson, Burch, Valenzano and Bowling, "Evaluating State-Space
Abstractions in Extensive-Form Games", 2013): L1 on cumulative histograms, which is the earth mover's
distance, and L2 on opponent cluster hand strengths. The nearest centre is exact: pruning by the triangle
inequality (`_kmeans.py`) gives the labels of plain Lloyd. Deviations: under L1 the centre is the rounded
mean, not the median, so that it is a histogram's average as in the papers; the cost may then rise in a
step, and `max_iterations` ends a cycle.

Everything is integer arithmetic, so the same seed gives the same bytes on any number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering import _kmeans, nearest
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
from errai.workers import Progress, Report, Workers, start_workers

__all__ = ["Clustering", "Metric", "assign", "cluster", "cluster_large"]

SEEDING_ROWS_PER_CENTRE = 20
SAMPLE_ROWS_PER_CENTRE = 100
MIN_SAMPLE_ROWS = 200_000
MAX_ITERATIONS = 50

# New centres of k-means++ between two chances to report progress.
SEEDS_PER_CALL = 64

ReadRows = Callable[[int, int], Rows]


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


def verify_sizes(num_rows: int, num_clusters: int, **counts: int) -> None:
    """Refuse a number of clusters that the rows cannot fill, and counts below their least value."""
    if not 1 <= num_clusters <= num_rows:
        raise UsageError(f"{num_clusters} clusters for {num_rows} rows: 1 to {num_rows} clusters are allowed")
    for name, value in counts.items():
        least = 0 if name in ("max_iterations", "full_passes") else 1
        if value < least:
            raise UsageError(f"{name} is {value}: {least} or more are allowed")


def verify_weights(weights: npt.NDArray[Any], num_rows: int) -> int:
    """Refuse weights that are not positive integers, one for each row; return their sum."""
    if weights.shape != (num_rows,) or weights.dtype.kind not in "iu":
        raise UsageError(
            f"weights are {weights.dtype}{list(weights.shape)}: {num_rows} integers, one a row, are needed"
        )
    if weights.min() < 1:
        raise UsageError(f"a weight is {weights.min()}: weights are 1 or more")
    return int(weights.sum(dtype=np.int64))


def _seeds(
    rows: Rows,
    weights: Int64s,
    num_clusters: int,
    metric: Metric,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Rows, Labels, int]:
    """Choose rows as first centres by k-means++.

    Returns:
        The centres, the nearest of them for each row, and the number of distances computed. Where fewer rows
        differ than centres are wanted, the surplus centres repeat the first, and so stay empty.
    """
    num_rows = len(rows)
    squared = metric is Metric.L2
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


def _farthest_rows(rows: Rows, distances: Labels, num_wanted: int) -> Rows:
    """Return different rows, the farthest from their centres first; none that is a centre itself."""
    found: dict[bytes, int] = {}
    for i in np.argsort(-distances.astype(np.int64), kind="stable"):
        if len(found) == num_wanted or distances[i] == 0:
            break
        found.setdefault(rows[i].tobytes(), int(i))
    return rows[list(found.values())]


def _moved_centres(centres: Rows, sums: Int64s, totals: Int64s, farthest: Callable[[int], Rows]) -> Rows:
    """Return the rounded means; centres without rows take the farthest rows as long as there are any."""
    filled = totals > 0
    moved = centres.copy()
    weight = totals[filled, None]
    moved[filled] = (2 * sums[filled] + weight) // (2 * weight)
    empty = np.flatnonzero(~filled)
    if len(empty):
        rows = farthest(len(empty))
        moved[empty[: len(rows)]] = rows
    return moved


class _Rows:
    """All rows of a clustering, in memory or read in chunks, and what is computed over them."""

    def __init__(self, read: ReadRows, weights: npt.NDArray[Any], num_columns: int, workers: Workers) -> None:
        self.read = read
        self.weights = weights
        self.num_rows = len(weights)
        self.num_columns = num_columns
        self.workers = workers

    def assign(
        self,
        centres: Centres,
        labels: npt.NDArray[Any],
        guessed: bool,
        progress: Progress,
        distances: Labels | None = None,
    ) -> tuple[int, Int64s, Int64s, Int64s]:
        """Write the nearest centre of every row to `labels`.

        Returns:
            The weighted sum of distances; weighted sums int64[K, D] and weights int64[K] of the centres'
            rows; and the counts of `_kmeans.assign_rows`.
        """
        sums = np.zeros((centres.num_centres, self.num_columns), dtype=np.int64)
        totals = np.zeros(centres.num_centres, dtype=np.int64)
        counts = np.zeros(2, dtype=np.int64)
        cost = 0

        def work(begin: int, end: int) -> tuple[Rows, Labels, Labels, Int64s]:
            rows = np.ascontiguousarray(self.read(begin, end))
            return rows, *centres.assign(rows, labels[begin:end] if guessed else None)

        for begin, end, found in self.workers.map(work, self.num_rows, nearest.CHUNK_ROWS, progress):
            rows, found_labels, measured, computed = found
            labels[begin:end] = found_labels
            if distances is not None:
                distances[begin:end] = measured
            weights = self.weights[begin:end].astype(np.int64)
            cost += int(_kmeans.add_rows(rows, weights, found_labels, measured, sums, totals))
            counts += computed
            progress.add(end - begin)
        return cost, sums, totals, counts


def _lloyd(
    rows: Rows,
    weights: Int64s,
    num_clusters: int,
    metric: Metric,
    rng: np.random.Generator,
    max_iterations: int,
    workers: Workers,
    progress: Progress,
) -> tuple[int, Clustering]:
    """Run k-means once; return the weighted sum of distances and the clustering."""
    num_rows, num_columns = rows.shape
    num_to_seed = min(num_rows, SEEDING_ROWS_PER_CENTRE * num_clusters)
    labels = np.full(num_rows, -1, dtype=np.int32)
    if num_to_seed < num_rows:
        sample = np.sort(rng.choice(num_rows, num_to_seed, replace=False, shuffle=False))
        centres, guesses, num_distances = _seeds(
            rows[sample], weights[sample], num_clusters, metric, rng, progress
        )
        labels[sample] = guesses
    else:
        centres, labels, num_distances = _seeds(rows, weights, num_clusters, metric, rng, progress)
    num_plain = num_to_seed * num_clusters
    num_bounds = 0
    distances = np.empty(num_rows, dtype=np.int32)
    table = _Rows(lambda begin, end: rows[begin:end], weights, num_columns, workers)
    iterations = 0
    while True:
        index = Centres(centres, metric, workers, progress)
        cost, sums, totals, counts = table.assign(index, labels, True, progress, distances)
        num_distances += index.num_distances + int(counts[0])
        num_bounds += int(counts[1])
        num_plain += num_rows * num_clusters
        if iterations == max_iterations:
            break
        moved = _moved_centres(centres, sums, totals, lambda wanted: _farthest_rows(rows, distances, wanted))
        if np.array_equal(moved, centres):
            break
        centres = moved
        iterations += 1
    found = Clustering(
        centres, labels, cost / int(weights.sum()), iterations, num_distances, num_plain, num_bounds
    )
    return cost, found


def random_stream(seed: int, *key: int) -> np.random.Generator:
    """Return a stream of random numbers of its own for each key."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def _best_of(
    rows: Rows,
    weights: Int64s,
    num_clusters: int,
    metric: Metric,
    seed: int,
    restarts: int,
    max_iterations: int,
    workers: Workers,
    progress: Progress,
) -> Clustering:
    """Run k-means from several starts and keep the cheapest, with the work of all."""
    best: Clustering | None = None
    best_cost = num_distances = num_plain = num_bounds = 0
    for restart in range(restarts):
        cost, found = _lloyd(
            rows,
            weights,
            num_clusters,
            metric,
            random_stream(seed, restart),
            max_iterations,
            workers,
            progress,
        )
        progress.jump((restart + 1) * (max_iterations + 1) * len(rows))
        num_distances += found.num_distances
        num_plain += found.num_plain_distances
        num_bounds += found.num_bounds
        if best is None or cost < best_cost:
            best, best_cost = found, cost
    assert best is not None
    return replace(best, num_distances=num_distances, num_plain_distances=num_plain, num_bounds=num_bounds)


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
    verify_sizes(len(points), num_clusters, restarts=restarts, max_iterations=max_iterations)
    total_weight = verify_weights(weights, len(points))
    rows = verify_rows(points, points.shape[-1], metric, total_weight)
    progress = Progress(report, restarts * (max_iterations + 1) * len(rows))
    with start_workers(num_threads) as workers:
        found = _best_of(
            rows,
            weights.astype(np.int64),
            num_clusters,
            metric,
            seed,
            restarts,
            max_iterations,
            workers,
            progress,
        )
    progress.finish()
    return found


def _read_sample(
    read: ReadRows, num_rows: int, num_columns: int, sample_size: int, rng: np.random.Generator
) -> tuple[Rows, Int64s]:
    """Return random rows in ascending order, and their numbers."""
    sample = np.sort(rng.choice(num_rows, sample_size, replace=False, shuffle=False))
    rows = np.empty((sample_size, num_columns), dtype=np.uint16)
    for begin in range(0, num_rows, nearest.CHUNK_ROWS):
        end = min(begin + nearest.CHUNK_ROWS, num_rows)
        first, last = np.searchsorted(sample, (begin, end))
        if first < last:
            rows[first:last] = read(begin, end)[sample[first:last] - begin]
    return rows, sample


def cluster_large(
    read: ReadRows,
    weights: npt.NDArray[Any],
    num_rows: int,
    num_columns: int,
    num_clusters: int,
    metric: Metric,
    *,
    seed: int = 0,
    restarts: int = 1,
    sample_size: int | None = None,
    full_passes: int = 1,
    max_iterations: int = MAX_ITERATIONS,
    num_threads: int | None = None,
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
        seed: as for `cluster`.
        restarts: independent runs on the sample, of which the cheapest is kept.
        sample_size: rows of the sample, each as likely as any other and with its weight;
            max(200,000, 100 K) without it. Where it is N or more, this is `cluster` on all rows.
        full_passes: Lloyd steps over all rows after that. A centre that is left without rows moves to the
            sample's row that is farthest from its own.
        max_iterations: Lloyd steps on the sample at most.
        num_threads: all cores without it.
        report: as for `cluster`.

    Returns:
        The clustering of all rows, labels as uint16 where K allows.
    """
    if sample_size is None:
        sample_size = max(MIN_SAMPLE_ROWS, SAMPLE_ROWS_PER_CENTRE * num_clusters)
    verify_sizes(
        num_rows,
        num_clusters,
        restarts=restarts,
        max_iterations=max_iterations,
        full_passes=full_passes,
        sample_size=sample_size,
    )
    if sample_size < num_clusters:
        raise UsageError(
            f"sample_size is {sample_size}: the {num_clusters} clusters need at least as many rows"
        )
    total_weight = verify_weights(weights, num_rows)
    whole = sample_size >= num_rows
    sample_size = min(sample_size, num_rows)
    label_type: type[np.uint16] | type[np.int32] = np.uint16 if num_clusters <= 1 << 16 else np.int32

    def read_verified(begin: int, end: int) -> Rows:
        return verify_rows(read(begin, end), num_columns, metric, total_weight)

    num_to_train = restarts * (max_iterations + 1) * sample_size
    progress = Progress(report, num_to_train + (0 if whole else (full_passes + 1) * num_rows))
    with start_workers(num_threads) as workers:
        rows, sample = _read_sample(
            read_verified, num_rows, num_columns, sample_size, random_stream(seed, restarts, num_clusters)
        )
        found = _best_of(
            rows,
            weights[sample].astype(np.int64),
            num_clusters,
            metric,
            seed,
            restarts,
            max_iterations,
            workers,
            progress,
        )
        if whole:
            progress.finish()
            return replace(found, labels=found.labels.astype(label_type))

        labels = np.zeros(num_rows, dtype=label_type)
        table = _Rows(read_verified, weights, num_columns, workers)
        centres, num_distances, num_bounds = found.centres, found.num_distances, found.num_bounds
        for full_pass in range(full_passes + 1):
            index = Centres(centres, metric, workers, progress)
            cost, sums, totals, counts = table.assign(index, labels, full_pass > 0, progress)
            num_distances += index.num_distances + int(counts[0])
            num_bounds += int(counts[1])
            if full_pass < full_passes:

                def farthest(wanted: int, index: Centres = index) -> Rows:
                    return _farthest_rows(rows, index.assign(rows, None)[1], wanted)

                centres = _moved_centres(centres, sums, totals, farthest)
    progress.finish()
    return Clustering(
        centres,
        labels,
        cost / total_weight,
        found.iterations + full_passes,
        num_distances,
        found.num_plain_distances + (full_passes + 1) * num_rows * num_clusters,
        num_bounds,
    )
