"""Rows of numbers whose distances say how much alike two hands are: what clustering works on.

Under the earth mover's distance a row is a cumulative histogram (in the last round the strength itself) and
the distance is L1; for opponent cluster hand strength a row is that vector and the distance is L2.
"""

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering import _kmeans
from errai.abstraction.clustering.kmeans import Metric
from errai.abstraction.features import _features as kernels
from errai.abstraction.features.build import next_sets, num_next
from errai.abstraction.features.features import NUM_BINS, OCHS_SCALE, Array, Features
from errai.workers import Progress, Report, start_workers

SCALED_TOTAL = 60_000
"""What histograms end at that were counted in more than 16 bits."""

CHUNK_ROWS = 1 << 16
DEALS_A_CHUNK = 500_000

Rows = npt.NDArray[np.uint16]


class HandRows:
    """The rows of a round's classes.

    Attributes:
        metric: L1 for histograms, L2 for OCHS.
        num_columns: numbers in a row.
    """

    def __init__(self, features: Features, round_index: int, ochs: bool) -> None:
        self._features, self._round = features, round_index
        self.metric = Metric.L2 if ochs else Metric.L1
        self._is_last = round_index == features.plan.last_round
        self._source: Array
        if ochs:
            self._source = features.ochs(round_index)
        elif self._is_last:
            self._source = features.strength(round_index)[:, np.newaxis]
        else:
            self._source = features.histograms(round_index)
        self.num_columns = self._source.shape[1]

    def __len__(self) -> int:
        return len(self._source)

    def read(self, begin: int, end: int) -> Rows:
        """Return the rows of classes from `begin` up to `end`."""
        return self._fitted(self._source[begin:end])

    def of_classes(self, classes: npt.NDArray[np.integer]) -> Rows:
        """Return the rows of some classes."""
        return self._fitted(self._source[classes])

    def distance(self, cost: float) -> float:
        """Turn a mean distance of rows into units of hand strength; for OCHS a mean square into its root."""
        plan = self._features.plan
        if self.metric is Metric.L2:
            return float(np.sqrt(cost)) / OCHS_SCALE
        if self._is_last:
            return cost / plan.max_strength
        return cost / self._total * plan.bin_width / plan.max_strength

    def means(self, table: Array, weights: Array, num_buckets: int) -> Rows:
        """Return the mean row of each bucket of a table over classes: uint16[num_buckets, columns]."""
        sums = np.zeros((num_buckets, self.num_columns), dtype=np.int64)
        totals = np.zeros(num_buckets, dtype=np.int64)
        for begin in range(0, len(self), CHUNK_ROWS):
            end = min(begin + CHUNK_ROWS, len(self))
            labels = table[begin:end].astype(np.int32)
            weight = weights[begin:end].astype(np.int64)
            _kmeans.add_rows(self.read(begin, end), weight, labels, np.zeros_like(labels), sums, totals)
        totals = np.maximum(totals, 1)[:, np.newaxis]
        return ((2 * sums + totals) // (2 * totals)).astype(np.uint16)

    def next_buckets(
        self,
        classes: npt.NDArray[np.integer],
        table: Array,
        num_threads: int | None = None,
        report: Report | None = None,
    ) -> Rows:
        """Return the buckets that the next public cards may lead to: uint16[N, sets of cards].

        Args:
            classes: of this round.
            table: bucket of each class of the next round.
            num_threads: all cores without it.
            report: called with classes done and in all.
        """
        plan, r = self._features.plan, self._round
        sets, num_sets = next_sets(plan, r), num_next(plan, r)
        found = np.empty((len(classes), num_sets), dtype=np.uint16)

        def work(begin: int, end: int) -> None:
            cards = plan.classes.unindex(classes[begin:end], r)
            deals = np.empty((len(cards) * num_sets, cards.shape[1] + sets.shape[1]), dtype=np.uint8)
            kernels.next_deals(cards, sets, deals)
            index = plan.classes.index(deals, r + 1)
            found[begin:end] = table[index].reshape(len(cards), num_sets)

        progress = Progress(report, len(classes))
        with start_workers(num_threads) as workers:
            step = max(1, DEALS_A_CHUNK // num_sets)
            for begin, end, _ in workers.map(work, len(classes), step, progress):
                progress.add(end - begin)
        return found

    @property
    def _total(self) -> int:
        """What the rows of histograms end at."""
        if self._source.dtype == np.uint16:
            return self._features.histogram_total(self._round)
        return SCALED_TOTAL

    def _fitted(self, rows: Array) -> Rows:
        """Return rows in 16 bits."""
        if rows.dtype == np.uint16:
            return np.ascontiguousarray(rows)
        assert rows.shape[1] == NUM_BINS, "only histograms are counted in more than 16 bits"
        return np.rint(rows * (SCALED_TOTAL / self._features.histogram_total(self._round))).astype(np.uint16)
