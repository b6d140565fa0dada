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
5. The loop is that of every k-means (`lloyd.py`): k-means++ starts, restarts, empty centres moved to the
   farthest rows, training on a sample where there are many rows and steps over all of them after it, the
   same bytes on any number of threads.

Deviations from the paper: next buckets are merged before the transport and served in ascending order;
lower bounds and abandoned transports skip distances, without changing any label.

The tables of ground distances and orders take 6 M^2 bytes for M next buckets (486 MB for 9,000), the counts
of K centres 8 K M.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering import _potential_aware as kernels
from errai.abstraction.clustering.lloyd import (
    Distances,
    Effort,
    Farthest,
    Means,
    Space,
    k_means,
    verify_weights,
)
from errai.abstraction.clustering.nearest import Int64s, Labels, Metric, Rows, verify_rows
from errai.errors import UsageError
from errai.workers import Progress, Report, Workers

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
class _Ground:
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


def _ground(next_centres: Rows, metric: Metric, num_next: int) -> _Ground:
    """Measure all pairs of next buckets and sort them."""
    ground = ground_distances(next_centres, metric)
    order = np.empty(ground.shape, dtype=np.uint16)
    for bucket in range(len(ground)):
        order[bucket] = np.argsort(ground[bucket], kind="stable")
    return _Ground(
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
            "expected M masses, none negative and some positive, and M x M ground distances, not arrays of "
            f"shapes {masses.shape} and {table.shape}"
        )
    if buckets.ndim != 1 or len(buckets) == 0 or buckets[-1] >= len(masses):
        raise UsageError(
            f"the row must be one or more buckets from 0 to {len(masses) - 1}, not {buckets.tolist()}"
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
    """Distributions over the next buckets, with their supports one after the other; ready to be searched."""

    num_distances = 0
    """Nothing is measured before the search."""

    def __init__(self, space: _Ground, supports: list[tuple[Int32s, Int64s]]) -> None:
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

    def assign(
        self, rows: Rows, guesses: npt.NDArray[np.integer[Any]] | None
    ) -> tuple[Labels, Int64s, Int64s]:
        """Return nearest centres, greedy costs, and how many of them were computed; rows are sorted."""
        space = self.space
        num_centres = len(self.supports)
        labels = np.full(len(rows), -1, dtype=np.int32) if guesses is None else guesses.astype(np.int32)
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
        return labels, costs, np.array([num_distances, 0], dtype=np.int64)


def _support_of_row(row: Rows, unit: int) -> tuple[Int32s, Int64s]:
    """Return a row as a distribution."""
    buckets, counts = np.unique(row, return_counts=True)
    return buckets.astype(np.int32), counts.astype(np.int64) * unit


class _Counts(Means[_Centres]):
    """How often each next bucket occurs among the rows of each centre."""

    def __init__(self, num_clusters: int, num_buckets: int) -> None:
        self._counts = np.zeros((num_clusters, num_buckets), dtype=np.int64)

    def add(self, rows: Rows, weights: Int64s, labels: Labels, distances: Distances) -> int:
        """Count rows; return the weighted sum of their costs."""
        kernels.count_rows(rows, weights, labels, self._counts)
        high, low = np.divmod(distances, 1 << HALF_BITS)
        return (int(weights @ high) << HALF_BITS) + int(weights @ low)

    def moved(self, centres: _Centres, farthest: Farthest) -> _Centres:
        """Return the mean distributions; centres without rows take the farthest rows while there are any."""
        supports = list(centres.supports)
        empty = []
        for k, counts in enumerate(self._counts):
            present = np.flatnonzero(counts)
            if len(present) == 0:
                empty.append(k)
                continue
            masses = largest_remainders(counts[present], int(counts.sum()), centres.total_mass)
            supports[k] = present[masses > 0].astype(np.int32), masses[masses > 0]
        if empty:
            for k, row in zip(empty, farthest(len(empty)), strict=False):
                supports[k] = _support_of_row(row, centres.space.unit)
        return _Centres(centres.space, supports)


class _PotentialSpace(Space[_Centres]):
    """Rows of next buckets under the greedy earth mover's distance; centres are distributions."""

    def __init__(self, space: _Ground) -> None:
        self._space = space

    @property
    def chunk_rows(self) -> int:
        """Rows that one task works on."""
        return CHUNK_ROWS

    def search(self, centres: _Centres, workers: Workers, progress: Progress) -> _Centres:
        """Centres are ready to be searched."""
        return centres

    def means(self, num_clusters: int) -> _Counts:
        """Return empty counts."""
        return _Counts(num_clusters, len(self._space.centres))

    def same(self, first: _Centres, second: _Centres) -> bool:
        """Return whether no centre has moved."""
        return first.equals(second)

    def seeds(
        self,
        rows: Rows,
        weights: Int64s,
        num_clusters: int,
        rng: np.random.Generator,
        workers: Workers,
        progress: Progress,
    ) -> tuple[_Centres, Labels, int]:
        """Choose rows as first centres by k-means++; surplus centres repeat the first, and so stay empty."""
        space = self._space
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
        centres = _Centres(space, supports + [supports[0]] * (num_clusters - len(supports)))
        return centres, np.full(num_rows, -1, dtype=np.int32), num_distances


def _sorted_rows(next_buckets: npt.NDArray[Any], num_buckets: int) -> Rows:
    """Copy rows with their buckets in ascending order; refuse a bucket that there is not."""
    rows: Rows = np.sort(next_buckets, axis=1)
    if len(rows) and (largest := int(rows[:, -1].max())) >= num_buckets:
        raise UsageError(f"next buckets must be 0 to {num_buckets - 1}, one for each centre, not {largest}")
    return rows


def cluster_potential(
    next_buckets: Rows,
    weights: npt.NDArray[Any],
    next_centres: Rows,
    metric: Metric,
    num_clusters: int,
    effort: Effort,
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
        effort: how much work to put in. In a pass over all rows, where the training saw a sample, a centre
            that is left without rows moves to the sample's row that is farthest from its own.
        report: called with rows assigned and their largest possible number about once a second, from the
            calling thread; what it raises ends the work and is passed on.

    Returns:
        The clustering; every label is the nearest of the returned centres by the greedy distance.
    """
    num_rows = len(next_buckets)
    effort.sampled(num_rows, num_clusters)
    total_weight = verify_weights(weights, num_rows)
    verify_rows(next_centres, next_centres.shape[-1], metric, 1)
    if next_buckets.ndim != 2 or next_buckets.dtype != np.uint16 or next_buckets.shape[1] == 0:
        raise UsageError(
            "next buckets must be uint16 with 1 or more columns, not "
            f"{next_buckets.dtype}{list(next_buckets.shape)}"
        )
    num_next = next_buckets.shape[1]
    if not 1 <= len(next_centres) <= MAX_NEXT_BUCKETS:
        raise UsageError(
            f"the number of next buckets must be 1 to {MAX_NEXT_BUCKETS:,}, not {len(next_centres):,}"
        )
    if num_clusters > kernels.CENTRE_MASK:
        raise UsageError(f"the number of clusters must be 1 to {kernels.CENTRE_MASK:,}, not {num_clusters:,}")
    ground = _ground(next_centres, metric, num_next)
    total_mass = num_next * ground.unit
    farthest = total_mass * int(ground.ground.max())
    if farthest >= MAX_COST or total_weight * num_next * total_mass >= 1 << 63:
        raise UsageError(
            f"{num_next} next buckets at distances up to {int(ground.ground.max())} with a total weight of "
            f"{total_weight} are too many: costs must stay below 2^45, and weighted counts below 2^63"
        )
    found = k_means(
        _PotentialSpace(ground),
        lambda begin, end: _sorted_rows(next_buckets[begin:end], len(next_centres)),
        weights,
        num_next,
        num_clusters,
        effort,
        report=report,
    )
    return PotentialClustering(
        found.labels,
        found.centres.begin,
        found.centres.buckets,
        found.centres.masses,
        total_mass,
        len(next_centres),
        found.cost / total_weight / total_mass / ground.parts,
        found.iterations,
        found.work.distances,
        found.work.plain_distances,
    )
