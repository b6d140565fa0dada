"""The nearest centre of every row, exactly, with few distances computed.

Centres get lists of their nearest other centres, which the search walks as far as the triangle inequality
demands (`_kmeans.py` has the argument and the loops). No N x K table of bounds is kept: the memory is that of
the lists, 8 bytes for each of up to 512 neighbours of each centre.
"""

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering import _kmeans
from errai.errors import UsageError
from errai.workers import Progress, Workers, start_workers

# Rows that one task works on: the same for any number of threads, so that the counts are the same, too.
CHUNK_ROWS = 1 << 15
CENTRES_PER_TABLE = 64
# A list of this many nearest centres seldom ends before the triangle inequality stops the search.
MAX_NEIGHBOURS = 512
# Fewer columns are measured faster than bounded.
MIN_COLUMNS_TO_BOUND = 24
MAX_TOTAL = 1 << 62

Rows = npt.NDArray[np.uint16]
Labels = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


class Metric(Enum):
    """How far two rows are from each other."""

    L1 = "l1"
    L2 = "l2"


def verify_rows(rows: npt.NDArray[Any], num_columns: int, metric: Metric, total_weight: int) -> Rows:
    """Refuse rows of another type or width, or values whose distances would not fit."""
    if rows.ndim != 2 or rows.dtype != np.uint16 or rows.shape[1] != num_columns or num_columns < 1:
        raise UsageError(
            f"rows must be uint16 with {max(num_columns, 1)} columns, not {rows.dtype}{list(rows.shape)}"
        )
    largest = int(rows.max(initial=0))
    farthest = num_columns * (largest if metric is Metric.L1 else largest**2)
    if farthest > np.iinfo(np.int32).max or farthest * total_weight >= MAX_TOTAL:
        raise UsageError(
            f"values up to {largest} in {num_columns} columns are too large: {metric.name} distances must "
            "stay below 2^31, and their weighted sum below 2^62"
        )
    return np.asarray(rows)


def _padded_width(num_columns: int) -> int:
    """Columns that fill whole vector registers."""
    for width in (8, 16):
        if num_columns <= width:
            return width
    return -(-num_columns // 32) * 32


def padded_rows(rows: Rows) -> Rows:
    """Copy rows to the width that the kernels like."""
    padded = np.zeros((rows.shape[0], _padded_width(rows.shape[1])), dtype=np.uint16)
    padded[:, : rows.shape[1]] = rows
    return padded


class Centres:
    """Centres with the lists of neighbours that the search walks."""

    def __init__(self, centres: Rows, metric: Metric, workers: Workers, progress: Progress) -> None:
        self.num_centres, self.num_columns = centres.shape
        self.squared = metric is Metric.L2
        self.padded = padded_rows(centres)
        self._columns = np.zeros((-(-self.num_columns // 4) * 4, self.num_centres), dtype=np.uint16)
        self._columns[: self.num_columns] = centres.T
        bounded = metric is Metric.L1 and self.num_columns >= MIN_COLUMNS_TO_BOUND
        self.group_size = -(-self.num_columns // _kmeans.NUM_GROUPS) if bounded else 0
        self.group_sums = np.zeros((self.num_centres, _kmeans.NUM_GROUPS), dtype=np.int32)
        if bounded:
            starts = np.arange(0, self.num_columns, self.group_size)
            sums = np.add.reduceat(centres.astype(np.int32), starts, axis=1)
            self.group_sums[:, : sums.shape[1]] = sums
        num_entries = min(self.num_centres, 2 * int(np.sqrt(self.num_centres)) + 1)
        self.entries = (np.arange(num_entries) * self.num_centres // num_entries).astype(np.int32)
        num_neighbours = min(self.num_centres - 1, MAX_NEIGHBOURS)
        self.neighbours = np.empty((self.num_centres, num_neighbours), dtype=np.int32)
        self.gaps = np.empty((self.num_centres, num_neighbours), dtype=np.float32)
        for begin, end, nearest in workers.map(self._nearest, self.num_centres, CENTRES_PER_TABLE, progress):
            self.neighbours[begin:end] = nearest & 0xFFFF_FFFF
            true = (nearest >> 32).astype(np.float64)
            true = np.sqrt(true) if self.squared else true
            self.gaps[begin:end] = np.nextafter(true.astype(np.float32), np.float32(-1))
        self.num_distances = self.num_centres**2

    def _nearest(self, begin: int, end: int) -> Int64s:
        """Return the smallest keys of `distance_table` for some centres, ascending."""
        num_neighbours = self.neighbours.shape[1]
        keys = np.empty((end - begin, self.num_centres), dtype=np.int64)
        totals = np.empty(_kmeans.CENTRES_PER_STRIP, dtype=np.int32)
        _kmeans.distance_table(self._columns, begin, self.squared, totals, keys)
        if num_neighbours < self.num_centres - 1:
            keys.partition(num_neighbours, axis=1)
            keys = keys[:, :num_neighbours]
        return np.sort(keys, axis=1)[:, :num_neighbours]

    def assign(self, rows: Rows, guesses: npt.NDArray[Any] | None) -> tuple[Labels, Labels, Int64s]:
        """Return nearest centres, distances (int32), and counts of what was computed."""
        num_rows = len(rows)
        labels = np.full(num_rows, -1, dtype=np.int32) if guesses is None else guesses.astype(np.int32)
        distances = np.empty(num_rows, dtype=np.int32)
        counts = np.zeros(2, dtype=np.int64)
        _kmeans.assign_rows(
            padded_rows(rows),
            self.padded,
            self.squared,
            self.group_size,
            self.group_sums,
            self.neighbours,
            self.gaps,
            self.entries,
            labels,
            distances,
            np.zeros(self.num_centres, dtype=np.int32),
            np.empty(_kmeans.NUM_GROUPS, dtype=np.int32),
            counts,
        )
        return labels, distances, counts


def assign(
    points: Rows,
    centres: Rows,
    metric: Metric,
    *,
    labels: npt.NDArray[Any] | None = None,
    num_threads: int | None = None,
) -> tuple[Labels, npt.NDArray[np.uint32], int]:
    """Find the nearest centre of every row, exactly; the lowest number among equals.

    Args:
        points: uint16[N, D].
        centres: uint16[K, D].
        metric: L1 or L2.
        labels: integers [N] in 0..K-1, a guess for each row that makes the search faster.
        num_threads: all cores without it.

    Returns:
        Labels int32[N], distances uint32[N] (squared for L2), and the number of distances computed.
    """
    for rows in (points, centres):
        verify_rows(rows, centres.shape[-1], metric, 1)
    if len(centres) == 0:
        raise UsageError("the number of centres must be 1 or more, not 0")
    if labels is not None and (
        labels.shape != (len(points),)
        or (len(points) > 0 and not 0 <= labels.min() <= labels.max() < len(centres))
    ):
        raise UsageError(
            f"guessed labels must be {len(points)} numbers from 0 to {len(centres) - 1}, which these "
            f"of shape {labels.shape} are not"
        )
    nearest = np.empty(len(points), dtype=np.int32)
    distances = np.empty(len(points), dtype=np.uint32)
    progress = Progress(None, len(points))
    with start_workers(num_threads) as workers:
        index = Centres(np.asarray(centres), metric, workers, progress)
        num_distances = index.num_distances

        def work(begin: int, end: int) -> tuple[Labels, Labels, Int64s]:
            return index.assign(points[begin:end], None if labels is None else labels[begin:end])

        for begin, end, found in workers.map(work, len(points), CHUNK_ROWS, progress):
            nearest[begin:end], distances[begin:end] = found[0], found[1]
            num_distances += int(found[2][0])
    return nearest, distances, num_distances
