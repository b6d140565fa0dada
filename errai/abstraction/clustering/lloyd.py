"""The one loop of every k-means: starts, Lloyd's steps, restarts, training on a sample, passes over all rows.

1. Several times: choose first centres among the rows by k-means++, looking at no more than
   `SEEDING_ROWS_PER_CENTRE` rows for each centre, a random sample where there are more. Then take Lloyd's
   steps until no centre moves: every row goes to its nearest centre, every centre to the mean of its rows.
   Centres that no row chose move to the rows that are farthest from their own.
2. Keep the cheapest.
3. Where there are many rows, this is done on a random sample of them. Then all rows, chunk by chunk, go to
   their nearest centres, and Lloyd's steps are taken over all of them.

What a distance is, how the nearest centre is found and what a mean is, a `Space` says: `kmeans.py` has that
of rows under L1 and L2, `potential_aware.py` that of distributions under the earth mover's distance.
Costs are sums of integers, chunks are cut alike for any number of threads and their results come back in
order, so the same seed gives the same bytes on any number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering.nearest import Int64s, Labels, Rows
from errai.abstraction.seeds import random_stream, verify_seed
from errai.errors import UsageError, verify_whole
from errai.workers import Progress, Report, Workers, start_workers

SEEDING_ROWS_PER_CENTRE = 20
SAMPLE_ROWS_PER_CENTRE = 100
MIN_SAMPLE_ROWS = 200_000
MAX_ITERATIONS = 50

ReadRows = Callable[[int, int], Rows]
Distances = npt.NDArray[np.signedinteger[Any]]
Farthest = Callable[[int], Rows]

Centres = TypeVar("Centres")


class Search(Protocol):
    """Centres, prepared for the search of the nearest."""

    num_distances: int
    """Distances that the preparation has computed."""

    def assign(
        self, rows: Rows, guesses: npt.NDArray[np.integer[Any]] | None
    ) -> tuple[Labels, Distances, Int64s]:
        """Return nearest centres, distances, and counts int64[2] of distances and lower bounds computed.

        Args:
            rows: uint16[n, D].
            guesses: a centre for each row that makes the search faster, or -1; None where there are none.
        """


class Means(ABC, Generic[Centres]):
    """Adds up the rows of each centre."""

    @abstractmethod
    def add(self, rows: Rows, weights: Int64s, labels: Labels, distances: Distances) -> int:
        """Add rows to their centres; return the weighted sum of their distances."""

    @abstractmethod
    def moved(self, centres: Centres, farthest: Farthest) -> Centres:
        """Return the means; centres without rows take the farthest rows as long as there are any."""


class Space(ABC, Generic[Centres]):
    """What k-means must know of a kind of rows and centres."""

    @property
    @abstractmethod
    def chunk_rows(self) -> int:
        """Rows that one task works on."""

    @abstractmethod
    def seeds(
        self,
        rows: Rows,
        weights: Int64s,
        num_clusters: int,
        rng: np.random.Generator,
        workers: Workers,
        progress: Progress,
    ) -> tuple[Centres, Labels, int]:
        """Choose rows as first centres by k-means++.

        Returns:
            The centres, a guess of the nearest of them for each row or -1, and the distances computed. Where
            fewer rows differ than centres are wanted, the surplus ones repeat the first, and so stay empty.
        """

    @abstractmethod
    def search(self, centres: Centres, workers: Workers, progress: Progress) -> Search:
        """Prepare the search of nearest centres."""

    @abstractmethod
    def means(self, num_clusters: int) -> Means[Centres]:
        """Return empty sums."""

    @abstractmethod
    def same(self, first: Centres, second: Centres) -> bool:
        """Return whether no centre has moved."""


@dataclass
class Work:
    """What a clustering has cost.

    Attributes:
        distances: computed over all columns.
        plain_distances: what plain k-means++ and plain Lloyd would have computed.
        bounds: lower bounds that were computed besides.
    """

    distances: int = 0
    plain_distances: int = 0
    bounds: int = 0

    def add(self, other: "Work") -> None:
        """Add the cost of another part."""
        self.distances += other.distances
        self.plain_distances += other.plain_distances
        self.bounds += other.bounds


@dataclass(frozen=True)
class Found(Generic[Centres]):
    """Centres of k-means.

    Attributes:
        centres: the space's.
        labels: integers[N], the nearest centre of each row.
        cost: weighted sum of distances, an integer.
        iterations: Lloyd steps that moved the centres.
        work: what it took.
    """

    centres: Centres
    labels: npt.NDArray[Any]
    cost: int
    iterations: int
    work: Work


@dataclass(frozen=True)
class Effort:
    """How much work k-means puts in.

    Attributes:
        seed: the same seed gives the same bytes on any number of threads.
        restarts: independent runs, of which the cheapest is kept.
        max_iterations: Lloyd steps of a run at most.
        sample_size: rows to train on, max(200,000, 100 K) without it; all where it is N or more.
        full_passes: Lloyd steps over all rows, where the training saw a sample.
        num_threads: all cores without it.
    """

    seed: int = 0
    restarts: int = 1
    max_iterations: int = MAX_ITERATIONS
    sample_size: int | None = None
    full_passes: int = 1
    num_threads: int | None = None

    def __post_init__(self) -> None:
        verify_seed(self.seed)
        for name, least in (("restarts", 1), ("max_iterations", 0), ("full_passes", 0)):
            verify_whole(name, getattr(self, name), least)

    def sampled(self, num_rows: int, num_clusters: int) -> int:
        """Return the rows to train on; refuse a sample that has fewer rows than there are clusters."""
        if not 1 <= num_clusters <= num_rows:
            raise UsageError(
                f"the number of clusters must be 1 to {num_rows:,}, one for each row, not {num_clusters:,}"
            )
        if self.sample_size is not None and self.sample_size < num_clusters:
            raise UsageError(
                f"the sample must have at least {num_clusters:,} rows, one for each cluster, not "
                f"{self.sample_size:,}"
            )
        return min(self.sample_size or max(MIN_SAMPLE_ROWS, SAMPLE_ROWS_PER_CENTRE * num_clusters), num_rows)


def verify_weights(weights: npt.NDArray[Any], num_rows: int) -> int:
    """Refuse weights that are not positive integers, one for each row; return their sum."""
    if weights.shape != (num_rows,) or weights.dtype.kind not in "iu":
        raise UsageError(
            f"weights must be {num_rows} integers, one for each row, not {weights.dtype}{list(weights.shape)}"
        )
    if weights.min() < 1:
        raise UsageError(f"weights must be 1 or more, not {weights.min()}")
    return int(weights.sum(dtype=np.int64))


def k_means(
    space: Space[Centres],
    read: ReadRows,
    weights: npt.NDArray[Any],
    num_columns: int,
    num_clusters: int,
    effort: Effort,
    label_type: type[np.integer[Any]] = np.int32,
    report: Report | None = None,
) -> Found[Centres]:
    """Cluster rows: on a sample where they are many, then over all of them.

    Args:
        space: what distances and means are.
        read: gives uint16[end - begin, D] for (begin, end); called from several threads at once.
        weights: positive integers [N].
        num_columns: D.
        num_clusters: K, 1 to N.
        effort: how much work to put in.
        label_type: of the labels of all rows.
        report: called with rows assigned and their largest possible number about once a second, from the
            calling thread; what it raises ends the work and is passed on.

    Returns:
        The clustering of all rows; every label is the nearest of the returned centres.
    """
    num_rows = len(weights)
    sample_size = effort.sampled(num_rows, num_clusters)
    num_to_train = effort.restarts * (effort.max_iterations + 1) * sample_size
    passes = effort.full_passes + 1 if sample_size < num_rows else 0
    progress = Progress(report, num_to_train + passes * num_rows)
    with start_workers(effort.num_threads) as workers:
        sample = np.arange(num_rows)
        if passes:
            rng = random_stream(effort.seed, effort.restarts, num_clusters)
            sample = np.sort(rng.choice(num_rows, sample_size, replace=False, shuffle=False))
        rows = _read_sample(read, num_rows, num_columns, sample, space.chunk_rows)
        found = _best_of(
            space, rows, weights[sample].astype(np.int64), num_clusters, effort, workers, progress
        )
        if passes:
            found = _over_all(
                space, read, weights, rows, found, num_clusters, passes, label_type, workers, progress
            )
    progress.finish()
    return Found(
        found.centres, found.labels.astype(label_type, copy=False), found.cost, found.iterations, found.work
    )


def _read_sample(read: ReadRows, num_rows: int, num_columns: int, sample: Int64s, chunk_rows: int) -> Rows:
    """Return some rows, given by their numbers in ascending order."""
    rows = np.empty((len(sample), num_columns), dtype=np.uint16)
    for begin in range(0, num_rows, chunk_rows):
        end = min(begin + chunk_rows, num_rows)
        first, last = np.searchsorted(sample, (begin, end))
        if first < last:
            rows[first:last] = read(begin, end)[sample[first:last] - begin]
    return rows


def _best_of(
    space: Space[Centres],
    rows: Rows,
    weights: Int64s,
    num_clusters: int,
    effort: Effort,
    workers: Workers,
    progress: Progress,
) -> Found[Centres]:
    """Run k-means from several starts and keep the cheapest, with the work of all."""
    best: Found[Centres] | None = None
    work = Work()
    for restart in range(effort.restarts):
        rng = random_stream(effort.seed, restart)
        found = _lloyd(space, rows, weights, num_clusters, rng, effort.max_iterations, workers, progress)
        progress.jump((restart + 1) * (effort.max_iterations + 1) * len(rows))
        work.add(found.work)
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    return Found(best.centres, best.labels, best.cost, best.iterations, work)


def _lloyd(
    space: Space[Centres],
    rows: Rows,
    weights: Int64s,
    num_clusters: int,
    rng: np.random.Generator,
    max_iterations: int,
    workers: Workers,
    progress: Progress,
) -> Found[Centres]:
    """Run k-means once on rows in memory, until no centre moves."""
    num_rows = len(rows)
    num_to_seed = min(num_rows, SEEDING_ROWS_PER_CENTRE * num_clusters)
    labels = np.full(num_rows, -1, dtype=np.int32)
    if num_to_seed < num_rows:
        sample = np.sort(rng.choice(num_rows, num_to_seed, replace=False, shuffle=False))
        centres, labels[sample], num_distances = space.seeds(
            rows[sample], weights[sample], num_clusters, rng, workers, progress
        )
    else:
        centres, labels, num_distances = space.seeds(rows, weights, num_clusters, rng, workers, progress)
    work = Work(num_distances, num_to_seed * num_clusters)
    distances = np.empty(num_rows, dtype=np.int64)
    iterations = 0
    while True:
        search = space.search(centres, workers, progress)
        means = space.means(num_clusters)
        cost = _assign(
            space, search, lambda begin, end: rows[begin:end], weights, labels, True, means, work, workers,
            progress, distances,
        )  # fmt: skip
        work.plain_distances += num_rows * num_clusters
        if iterations == max_iterations:
            break
        moved = means.moved(centres, lambda wanted: farthest_rows(rows, distances, wanted))
        if space.same(moved, centres):
            break
        centres = moved
        iterations += 1
    return Found(centres, labels, cost, iterations, work)


def _over_all(
    space: Space[Centres],
    read: ReadRows,
    weights: npt.NDArray[Any],
    sample: Rows,
    trained: Found[Centres],
    num_clusters: int,
    passes: int,
    label_type: type[np.integer[Any]],
    workers: Workers,
    progress: Progress,
) -> Found[Centres]:
    """Assign all rows, chunk by chunk, and move the centres between two passes."""
    labels = np.zeros(len(weights), dtype=label_type)
    centres, work = trained.centres, trained.work
    cost = 0
    for full_pass in range(passes):
        search = space.search(centres, workers, progress)
        means = space.means(num_clusters)
        cost = _assign(space, search, read, weights, labels, full_pass > 0, means, work, workers, progress)
        work.plain_distances += len(weights) * num_clusters
        if full_pass + 1 < passes:

            def farthest(wanted: int, search: Search = search) -> Rows:
                """Return rows of the sample: all rows' distances are not kept."""
                return farthest_rows(sample, search.assign(sample, None)[1], wanted)

            centres = means.moved(centres, farthest)
    return Found(centres, labels, cost, trained.iterations + passes - 1, work)


def _assign(
    space: Space[Centres],
    search: Search,
    read: ReadRows,
    weights: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    guessed: bool,
    means: Means[Centres],
    work: Work,
    workers: Workers,
    progress: Progress,
    distances: Int64s | None = None,
) -> int:
    """Write the nearest centre of every row to `labels`, add the rows up; return the weighted cost."""
    cost = 0
    work.distances += search.num_distances

    def search_chunk(begin: int, end: int) -> tuple[Rows, Labels, Distances, Int64s]:
        rows = np.ascontiguousarray(read(begin, end))
        return rows, *search.assign(rows, labels[begin:end] if guessed else None)

    for begin, end, found in workers.map(search_chunk, len(weights), space.chunk_rows, progress):
        rows, nearest, measured, counts = found
        labels[begin:end] = nearest
        if distances is not None:
            distances[begin:end] = measured
        cost += means.add(rows, weights[begin:end].astype(np.int64), nearest, measured)
        work.distances += int(counts[0])
        work.bounds += int(counts[1])
        progress.add(end - begin)
    return cost


def farthest_rows(rows: Rows, distances: Distances, num_wanted: int) -> Rows:
    """Return different rows, the farthest from their centres first; none that is a centre itself."""
    found: dict[bytes, int] = {}
    for i in np.argsort(-distances.astype(np.int64), kind="stable"):
        if len(found) == num_wanted or distances[i] == 0:
            break
        found.setdefault(rows[i].tobytes(), int(i))
    return rows[list(found.values())]
