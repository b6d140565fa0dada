"""Nearest centres and k-means with pruning against every distance computed, on one core, compile time apart.

Rows are made up but smooth as the real ones: cumulative histograms of 50 columns under L1, and eight
correlated columns under L2. Both sides of each ratio use the same distance kernels in the same run.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from errai.abstraction import _kmeans
from errai.abstraction.kmeans import Metric, assign, cluster
from errai.abstraction.nearest import Rows

NUM_CENTRES = (200, 9_000)
NUM_ROWS = 200_000
NUM_TO_TRAIN = 20

Result = TypeVar("Result")


def histograms(num_rows: int, seed: int) -> Rows:
    """Cumulative histograms of 46 outcomes, drawn around a random mixture of three humps."""
    rng = np.random.default_rng(seed)
    middle = rng.beta(2, 2, (num_rows, 1, 1)) + rng.normal(0, 0.2, (num_rows, 3, 1))
    width = 0.01 + 0.08 * rng.random((num_rows, 3, 1))
    share = rng.dirichlet([1, 1, 1], num_rows)[:, :, None]
    bins = (np.arange(50) + 0.5) / 50
    rows: Rows = np.rint(1840 * (share / (1 + np.exp((middle - bins) / width))).sum(axis=1)).astype(np.uint16)
    return rows


def strengths(num_rows: int, seed: int) -> Rows:
    """Eight correlated columns of 0..3500 that four hidden numbers decide."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(0, 1, (num_rows, 4)) * [1.0, 0.4, 0.25, 0.12]
    mixing = np.vstack([np.linspace(1.2, 0.7, 8), np.random.default_rng(1).normal(0, 0.3, (3, 8))])
    return np.rint(3500 / (1 + np.exp(-hidden @ mixing))).astype(np.uint16)


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def seconds_a_distance(centres: Rows, metric: Metric) -> float:
    """What brute force pays: centres against all centres by the same kernel, the best of several runs."""
    width = -(-centres.shape[1] // 32) * 32 if centres.shape[1] > 8 else 8
    padded = np.zeros((len(centres), width), dtype=np.uint16)
    padded[:, : centres.shape[1]] = centres
    keys = np.empty((min(100, len(centres)), len(centres)), dtype=np.int64)
    runs = [timed(lambda: _kmeans.distance_table(padded, 0, metric is Metric.L2, keys))[0] for _ in range(9)]
    return min(runs) / keys.size


def main() -> None:
    for metric, make in ((Metric.L1, histograms), (Metric.L2, strengths)):
        rows = np.concatenate([make(20_000, seed) for seed in range(NUM_ROWS // 20_000)])
        compile_seconds, _ = timed(
            lambda rows=rows, metric=metric: cluster(  # type: ignore[misc]
                rows[:100], np.ones(100, dtype=np.int64), 9, metric, num_threads=1
            )
        )
        print(f"{metric.name}, {rows.shape[1]} columns (first call {compile_seconds:.1f} s)")
        for num_centres in NUM_CENTRES:
            sample = rows[: NUM_TO_TRAIN * num_centres]
            weights = np.ones(len(sample), dtype=np.int64)
            trained, found = timed(
                lambda sample=sample, weights=weights, metric=metric, k=num_centres: cluster(  # type: ignore[misc]
                    sample, weights, k, metric, max_iterations=4, num_threads=1
                )
            )
            pruned, (_, _, num_distances) = timed(
                lambda rows=rows, found=found, metric=metric: assign(  # type: ignore[misc]
                    rows, found.centres, metric, num_threads=1
                )
            )
            price = seconds_a_distance(found.centres, metric)
            print(
                f"  {num_centres} centres: {1e9 * price:5.2f} ns a distance; all "
                f"{len(rows)} rows {1e6 * pruned / len(rows):5.2f} us a row, lists of neighbours included "
                f"({price * num_centres * len(rows) / pruned:6.1f} times as fast as all distances, "
                f"{1 - num_distances / len(rows) / num_centres:.2%} of the distances saved)"
            )
            plain_seconds = found.num_plain_distances * price
            print(
                f"  {' ' * len(str(num_centres))}         k-means++ and {found.iterations} steps on "
                f"{len(sample)} rows {trained:6.2f} s ({plain_seconds / trained:6.1f} times as fast, "
                f"{found.share_saved:.2%} saved)"
            )


if __name__ == "__main__":
    main()
