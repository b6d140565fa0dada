"""Potential-aware abstraction: hands with the same chances of reaching the same buckets of the next round.

Ganzfried and Sandholm, "Potential-Aware Imperfect-Recall Abstraction with Earth Mover's Distance in
Imperfect-Information Games" (AAAI 2014).

1. A class of a round is a row of next-round buckets, one for each public card that may come, all equally
   likely. The ground distance of two buckets is the distance of their centres in the next round.
2. Classes are clustered by k-means under the earth mover's distance. It is approximated greedily, as in the
   paper's algorithm 2: rank by rank, every bucket of the row takes what it can from the next nearest bucket
   of the centre. The greedy cost is a transport's cost, so never below the exact distance.
3. A centre is the mean distribution of its rows. Its masses are integers with the total of a row's, shared
   out by largest remainders.
4. Centres are tried in ascending order of a lower bound, the distance of the two means
   (`_potential_aware.py`), until it is above the best greedy cost. Trying all would give the same labels.
5. As in `kmeans.py`: k-means++ starts, restarts, empty centres moved to the farthest rows, training on a
   sample where there are many rows, and the same bytes on any number of threads.

Deviations from the paper: next buckets are merged before the transport and served in ascending order;
lower bounds and abandoned transports skip distances, without changing any label.

The tables of ground distances and orders take 6 M^2 bytes for M next buckets (486 MB for 9,000).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering import _potential_aware as kernels
from errai.abstraction.clustering.kmeans import (
    MAX_ITERATIONS,
    MIN_SAMPLE_ROWS,
    SAMPLE_ROWS_PER_CENTRE,
    SEEDING_ROWS_PER_CENTRE,
    random_stream,
    verify_sizes,
    verify_weights,
)
from errai.abstraction.clustering.nearest import Int64s, Metric, Rows, verify_rows
from errai.errors import UsageError
from errai.workers import Progress, Report, Workers, start_workers

CHUNK_ROWS = 1 << 10
SEEDING_CHUNK_ROWS = 1 << 14
# Euclidean distances are multiples of this part of a unit, rounded up so that bounds stay bounds.
L2_PARTS = 16
# A centre's masses are multiples of about this part of its total.
MIN_TOTAL_MASS = 1 << 16
MAX_NEXT_BUCKETS = 1 << 16
MAX_COST = 1 << 45
# A weighted sum of costs is taken in two halves of this many bits, so that it cannot overflow.
HALF_BITS = 22

Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True)
class PotentialClustering:
    """A potential-aware clustering, and what it took. N classes, K centres, M next buckets.

    Attributes:
        labels: int32[N] nearest centre of each class by the greedy distance.
        centre_begin: int64[K + 1] where each centre's part of the next two begins.
        centre_buckets: int32 next buckets with mass, ascending within a centre.
        centre_masses: int64 their masses; `total_mass` for each centre.
        total_mass: the mass of a distribution.
        num_next_buckets: M.
        cost: weighted mean over all classes of the greedy distance to their centre, in units of the metric.
        iterations: Lloyd steps that moved the centres.
        num_distances: greedy distances computed, in all restarts, abandoned ones included.
        num_plain_distances: what plain k-means++ and plain Lloyd would have computed.
    """

    labels: Int32s
    centre_begin: Int64s
    centre_buckets: Int32s
    centre_masses: Int64s
    total_mass: int
    num_next_buckets: int
    cost: float
    iterations: int
    num_distances: int
    num_plain_distances: int

    @property
    def num_clusters(self) -> int:
        """K."""
        return len(self.centre_begin) - 1

    @property
    def share_saved(self) -> float:
        """Share of the plain algorithm's distances that were never computed."""
        return 1.0 - self.num_distances / self.num_plain_distances

    def distribution(self, centre: int) -> npt.NDArray[np.float64]:
        """Return float64[M], the probability of each next bucket in a centre."""
        dense = np.zeros(self.num_next_buckets)
        part = slice(self.centre_begin[centre], self.centre_begin[centre + 1])
        dense[self.centre_buckets[part]] = self.centre_masses[part] / self.total_mass
        return dense


@dataclass(frozen=True)
class _Space:
    """The next round's buckets and how far they are from each other.

    Attributes:
        centres: uint16[M, D].
        ground: int32[M, M], in parts of a unit of the metric.
        order: uint16[M, M], for each bucket all buckets in ascending distance, the lowest of equals first.
        parts: parts of a unit: 1 under L1.
        unit: mass of each next bucket of a row.
        squared: whether means are compared under L2.
        margin: what rounding may add to the distance of two means.
    """

    centres: Rows
    ground: Int32s
    order: Rows
    parts: int
    unit: int
    squared: bool
    margin: float

    @property
    def width(self) -> int:
        """Columns of positions, so many that they fill vector registers."""
        return -(-int(self.centres.shape[1]) // 8) * 8

    def positions(self, rows: Rows) -> npt.NDArray[np.float32]:
        """Return float32[n, P], the mean of each row's bucket centres."""
        positions = np.zeros((len(rows), self.width), dtype=np.float32)
        kernels.mean_positions(rows, self.centres, positions)
        return positions


def ground_distances(next_centres: Rows, metric: Metric) -> Int32s:
    """Return int32[M, M], the distances of bucket centres; under L2 in sixteenths of a unit, rounded up."""
    num_buckets = len(next_centres)
    ground = np.empty((num_buckets, num_buckets), dtype=np.int32)
    wide = next_centres.astype(np.int64)
    for bucket in range(num_buckets):
        difference = wide - wide[bucket]
        if metric is Metric.L1:
            ground[bucket] = np.abs(difference).sum(axis=1)
        else:
            ground[bucket] = np.ceil(L2_PARTS * np.sqrt((difference**2).sum(axis=1)))
    return ground


def _space(next_centres: Rows, metric: Metric, num_next: int) -> _Space:
    """Measure all pairs of next buckets and sort them."""
    ground = ground_distances(next_centres, metric)
    order = np.empty(ground.shape, dtype=np.uint16)
    for bucket in range(len(ground)):
        order[bucket] = np.argsort(ground[bucket], kind="stable")
    return _Space(
        np.ascontiguousarray(next_centres),
        ground,
        order,
        1 if metric is Metric.L1 else L2_PARTS,
        -(-MIN_TOTAL_MASS // num_next),
        metric is Metric.L2,
        kernels.ABSOLUTE_MARGIN * next_centres.shape[1] * int(next_centres.max()),
    )


def greedy_emd(row: npt.ArrayLike, distribution: npt.ArrayLike, ground: npt.ArrayLike) -> float:
    """Return the greedy approximation of the earth mover's distance.

    Args:
        row: buckets, each with the same mass.
        distribution: integers [M], the masses of the buckets, in any unit.
        ground: integers [M, M], distances of the buckets.

    Returns:
        The cost of moving one unit of mass in all. Never below the exact distance.
    """
    buckets = np.sort(np.asarray(row, dtype=np.uint16))
    masses = np.asarray(distribution, dtype=np.int64)
    table = np.asarray(ground, dtype=np.int32)
    if masses.ndim != 1 or table.shape != (len(masses), len(masses)) or masses.min() < 0 or masses.sum() < 1:
        raise UsageError(
            f"a distribution of shape {masses.shape} and ground distances of shape {table.shape} do not fit: "
            "M masses, none negative and some positive, and M x M distances are needed"
        )
    if buckets.ndim != 1 or len(buckets) == 0 or buckets[-1] >= len(masses):
        raise UsageError(
            f"buckets {buckets.tolist()} do not fit: one or more from 0 to {len(masses) - 1} are allowed"
        )
    support = np.flatnonzero(masses).astype(np.int32)
    total = int(masses.sum())
    num_next = len(buckets)
    packed = np.empty(num_next, dtype=np.int32)
    packed_masses = np.empty(num_next, dtype=np.int64)
    num_packed = kernels.pack_row(buckets, total, packed, packed_masses)
    cost = kernels.greedy_cost(
        packed,
        packed_masses,
        num_packed,
        support,
        masses[support] * num_next,
        0,
        len(support),
        table,
        np.argsort(table, axis=1, kind="stable").astype(np.uint16),
        kernels.NO_LIMIT,
        np.full(len(masses), kernels.ABSENT, dtype=np.int64),
        np.empty(num_next, dtype=np.int64),
        np.empty(num_next, dtype=np.int32),
    )
    return float(cost / (total * num_next))


def largest_remainders(counts: Int64s, total: int, mass: int) -> Int64s:
    """Share out `mass` in proportion to `counts` of sum `total`; the largest remainders are rounded up."""
    whole, remainders = np.divmod(counts * mass, total)
    missing = mass - int(whole.sum())
    whole[np.argsort(-remainders, kind="stable")[:missing]] += 1
    return whole


class _Centres:
    """Distributions over the next buckets, with their supports one after the other."""

    def __init__(self, space: _Space, supports: list[tuple[Int32s, Int64s]]) -> None:
        self.space = space
        self.supports = supports
        self.begin = np.zeros(len(supports) + 1, dtype=np.int64)
        np.cumsum([len(buckets) for buckets, _ in supports], out=self.begin[1:])
        self.buckets = np.concatenate([buckets for buckets, _ in supports])
        self.masses = np.concatenate([masses for _, masses in supports])
        self.total_mass = int(supports[0][1].sum())
        self.positions = np.zeros((len(supports), space.width), dtype=np.float32)
        for k, (buckets, masses) in enumerate(supports):
            mean = masses @ space.centres[buckets].astype(np.int64) / self.total_mass
            self.positions[k, : len(mean)] = mean

    def equals(self, other: "_Centres") -> bool:
        return all(
            np.array_equal(mine, theirs)
            for mine, theirs in (
                (self.begin, other.begin),
                (self.buckets, other.buckets),
                (self.masses, other.masses),
            )
        )

    def assign(self, rows: Rows, guesses: Int32s | None) -> tuple[Int32s, Int64s, int]:
        """Return nearest centres, greedy costs, and how many of them were computed; rows are sorted."""
        space = self.space
        num_centres = len(self.supports)
        labels = np.full(len(rows), -1, dtype=np.int32) if guesses is None else guesses.copy()
        costs = np.empty(len(rows), dtype=np.int64)
        num_distances = kernels.assign_rows(
            rows,
            space.unit,
            space.positions(rows),
            self.begin,
            self.buckets,
            self.masses,
            self.positions,
            space.ground,
            space.order,
            space.squared,
            space.margin,
            float(space.parts * self.total_mass),
            labels,
            costs,
            np.full(len(space.centres), kernels.ABSENT, dtype=np.int64),
            np.empty(num_centres, dtype=np.int64),
            np.empty(num_centres, dtype=np.int64),
        )
        return labels, costs, num_distances


def _support_of_row(row: Rows, unit: int) -> tuple[Int32s, Int64s]:
    """Return a row as a distribution."""
    buckets, counts = np.unique(row, return_counts=True)
    return buckets.astype(np.int32), counts.astype(np.int64) * unit


def _farthest_rows(rows: Rows, costs: Int64s, num_wanted: int) -> list[int]:
    """Return numbers of different rows, the farthest from their centres first; none at no distance."""
    found: dict[bytes, int] = {}
    for i in np.argsort(-costs, kind="stable"):
        if len(found) == num_wanted or costs[i] == 0:
            break
        found.setdefault(rows[i].tobytes(), int(i))
    return list(found.values())


def _moved_centres(centres: _Centres, rows: Rows, weights: Int64s, labels: Int32s, costs: Int64s) -> _Centres:
    """Return the mean distributions; centres without rows take the farthest rows as long as there are any."""
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(len(centres.supports) + 1))
    counts = np.empty(len(centres.space.centres), dtype=np.int64)
    supports = list(centres.supports)
    empty = []
    for k in range(len(supports)):
        members = order[ends[k] : ends[k + 1]]
        if len(members) == 0:
            empty.append(k)
            continue
        total = int(kernels.count_members(rows, weights, members, counts))
        present = np.flatnonzero(counts)
        masses = largest_remainders(counts[present], total, centres.total_mass)
        supports[k] = present[masses > 0].astype(np.int32), masses[masses > 0]
    if empty:
        for k, i in zip(empty, _farthest_rows(rows, costs, len(empty)), strict=False):
            supports[k] = _support_of_row(rows[i], centres.space.unit)
    return _Centres(centres.space, supports)


def _seeds(
    space: _Space,
    rows: Rows,
    weights: Int64s,
    num_clusters: int,
    rng: np.random.Generator,
    workers: Workers,
    progress: Progress,
) -> tuple[_Centres, int]:
    """Choose rows as first centres by k-means++; surplus centres repeat the first, and so stay empty."""
    num_rows, num_next = rows.shape
    positions = space.positions(rows)
    scale = float(space.parts * num_next * space.unit)
    costs = np.full(num_rows, kernels.NO_LIMIT, dtype=np.int64)
    uniforms = rng.random(num_clusters)
    masses = weights.astype(np.float64)
    chosen: list[int] = []
    num_distances = 0
    for uniform in uniforms:
        cumulative = np.cumsum(masses)
        if cumulative[-1] == 0:
            break
        row = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
        row = min(row, int(np.flatnonzero(masses)[-1]))
        chosen.append(row)

        def work(begin: int, end: int, row: int = row) -> int:
            return int(
                kernels.approach_centre(
                    rows[begin:end],
                    space.unit,
                    positions[begin:end],
                    rows[row],
                    positions[row],
                    space.ground,
                    space.order,
                    space.squared,
                    space.margin,
                    scale,
                    costs[begin:end],
                    np.full(len(space.centres), kernels.ABSENT, dtype=np.int64),
                )
            )

        for _, _, computed in workers.map(work, num_rows, SEEDING_CHUNK_ROWS, progress):
            num_distances += computed
        progress.tick()
        masses = weights * (costs / scale) ** 2
    supports = [_support_of_row(rows[row], space.unit) for row in chosen]
    return _Centres(space, supports + [supports[0]] * (num_clusters - len(supports))), num_distances


def _sorted_rows(next_buckets: npt.NDArray[Any], num_buckets: int) -> Rows:
    """Copy rows with their buckets in ascending order; refuse a bucket that there is not."""
    rows: Rows = np.sort(next_buckets, axis=1)
    if len(rows) and (largest := int(rows[:, -1].max())) >= num_buckets:
        raise UsageError(
            f"next bucket {largest} is not among {num_buckets} centres: 0 to {num_buckets - 1} are allowed"
        )
    return rows


def _assign(
    centres: _Centres,
    read: Callable[[int, int], Rows],
    weights: npt.NDArray[Any],
    labels: Int32s,
    guessed: bool,
    workers: Workers,
    progress: Progress,
    costs: Int64s | None = None,
) -> tuple[int, int]:
    """Write the nearest centre of every row to `labels`; return weighted cost and distances computed."""
    total = num_distances = 0

    def work(begin: int, end: int) -> tuple[Int32s, Int64s, int]:
        return centres.assign(read(begin, end), labels[begin:end] if guessed else None)

    for begin, end, (nearest, measured, computed) in workers.map(work, len(labels), CHUNK_ROWS, progress):
        labels[begin:end] = nearest
        if costs is not None:
            costs[begin:end] = measured
        chunk_weights = weights[begin:end].astype(np.int64)
        high, low = np.divmod(measured, 1 << HALF_BITS)
        total += (int(chunk_weights @ high) << HALF_BITS) + int(chunk_weights @ low)
        num_distances += computed
        progress.add(end - begin)
    return total, num_distances


@dataclass(frozen=True)
class _Trained:
    """One run of k-means on the sample."""

    centres: _Centres
    labels: Int32s
    cost: int
    iterations: int
    num_distances: int
    num_plain_distances: int


def _lloyd(
    space: _Space,
    rows: Rows,
    weights: Int64s,
    num_clusters: int,
    rng: np.random.Generator,
    max_iterations: int,
    workers: Workers,
    progress: Progress,
) -> _Trained:
    """Run k-means once on sorted rows."""
    num_rows = len(rows)
    num_to_seed = min(num_rows, SEEDING_ROWS_PER_CENTRE * num_clusters)
    sample = np.arange(num_rows)
    if num_to_seed < num_rows:
        sample = np.sort(rng.choice(num_rows, num_to_seed, replace=False, shuffle=False))
    centres, num_distances = _seeds(
        space, rows[sample], weights[sample], num_clusters, rng, workers, progress
    )
    num_plain = num_to_seed * num_clusters
    labels = np.full(num_rows, -1, dtype=np.int32)
    costs = np.empty(num_rows, dtype=np.int64)
    iterations = 0
    while True:
        cost, computed = _assign(
            centres,
            lambda begin, end: rows[begin:end],
            weights,
            labels,
            iterations > 0,
            workers,
            progress,
            costs,
        )
        num_distances += computed
        num_plain += num_rows * num_clusters
        if iterations == max_iterations:
            break
        moved = _moved_centres(centres, rows, weights, labels, costs)
        if moved.equals(centres):
            break
        centres = moved
        iterations += 1
    return _Trained(centres, labels, cost, iterations, num_distances, num_plain)


def cluster_potential(
    next_buckets: Rows,
    weights: npt.NDArray[Any],
    next_centres: Rows,
    metric: Metric,
    num_clusters: int,
    *,
    seed: int = 0,
    restarts: int = 1,
    sample_size: int | None = None,
    max_iterations: int = MAX_ITERATIONS,
    num_threads: int | None = None,
    report: Report | None = None,
) -> PotentialClustering:
    """Cluster classes of hands by their chances of reaching the buckets of the next round.

    Args:
        next_buckets: uint16[N, J], the bucket after each of J equally likely public cards; a memory map is
            read chunk by chunk.
        weights: positive integers [N].
        next_centres: uint16[M, D], centres of the next round's buckets.
        metric: how far these are from each other.
        num_clusters: K, 1 to N. Where fewer rows differ, the surplus centres repeat the first and stay empty.
        seed: the same seed gives the same bytes on any number of threads.
        restarts: independent runs, of which the cheapest is kept.
        sample_size: rows to train on, max(200,000, 100 K) without it; all rows are assigned in the end.
        max_iterations: Lloyd steps at most.
        num_threads: all cores without it.
        report: called with rows assigned and their largest possible number about once a second, from the
            calling thread; what it raises ends the work and is passed on.

    Returns:
        The clustering; every label is the nearest of the returned centres by the greedy distance.
    """
    num_rows = len(next_buckets)
    if sample_size is None:
        sample_size = max(MIN_SAMPLE_ROWS, SAMPLE_ROWS_PER_CENTRE * num_clusters)
    verify_sizes(num_rows, num_clusters, restarts=restarts, max_iterations=max_iterations)
    if sample_size < num_clusters:
        raise UsageError(
            f"sample_size is {sample_size}: the {num_clusters} clusters need at least as many rows"
        )
    total_weight = verify_weights(weights, num_rows)
    verify_rows(next_centres, next_centres.shape[-1], metric, 1)
    if next_buckets.ndim != 2 or next_buckets.dtype != np.uint16 or next_buckets.shape[1] == 0:
        raise UsageError(
            f"next buckets are {next_buckets.dtype}{list(next_buckets.shape)}: uint16 with 1 or more columns "
            "are needed"
        )
    num_next = next_buckets.shape[1]
    if not 1 <= len(next_centres) <= MAX_NEXT_BUCKETS:
        raise UsageError(f"{len(next_centres)} next buckets: 1 to {MAX_NEXT_BUCKETS} are allowed")
    if num_clusters > kernels.CENTRE_MASK:
        raise UsageError(f"{num_clusters} clusters: 1 to {kernels.CENTRE_MASK} are allowed")
    space = _space(next_centres, metric, num_next)
    total_mass = num_next * space.unit
    farthest = total_mass * int(space.ground.max())
    if farthest >= MAX_COST or total_weight * num_next * total_mass >= 1 << 63:
        raise UsageError(
            f"{num_next} next buckets at distances up to {int(space.ground.max())} with a total weight of "
            f"{total_weight} are too many: costs must stay below 2^45, and weighted counts below 2^63"
        )

    def read(begin: int, end: int) -> Rows:
        return _sorted_rows(next_buckets[begin:end], len(next_centres))

    whole = sample_size >= num_rows
    sample_size = min(sample_size, num_rows)
    progress = Progress(report, restarts * (max_iterations + 1) * sample_size + (0 if whole else num_rows))
    best: _Trained | None = None
    num_distances = num_plain = 0
    with start_workers(num_threads) as workers:
        sample = np.arange(num_rows)
        if not whole:
            rng = random_stream(seed, restarts, num_clusters)
            sample = np.sort(rng.choice(num_rows, sample_size, replace=False, shuffle=False))
        rows = _sorted_rows(np.asarray(next_buckets[sample]), len(next_centres))
        sample_weights = weights[sample].astype(np.int64)
        for restart in range(restarts):
            trained = _lloyd(
                space,
                rows,
                sample_weights,
                num_clusters,
                random_stream(seed, restart),
                max_iterations,
                workers,
                progress,
            )
            progress.jump((restart + 1) * (max_iterations + 1) * sample_size)
            num_distances += trained.num_distances
            num_plain += trained.num_plain_distances
            if best is None or trained.cost < best.cost:
                best = trained
        assert best is not None
        labels, cost = best.labels, best.cost
        if not whole:
            labels = np.empty(num_rows, dtype=np.int32)
            cost, computed = _assign(best.centres, read, weights, labels, False, workers, progress)
            num_distances += computed
            num_plain += num_rows * num_clusters
    progress.finish()
    return PotentialClustering(
        labels,
        best.centres.begin,
        best.centres.buckets,
        best.centres.masses,
        total_mass,
        len(next_centres),
        cost / total_weight / total_mass / space.parts,
        best.iterations,
        num_distances,
        num_plain,
    )
