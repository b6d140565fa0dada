"""Nearest centres and k-means with pruning against every distance computed, on one core, compile time apart.

Rows are made up but smooth as the real ones: cumulative histograms of 50 columns under L1, and eight
correlated columns under L2. Brute force is charged at the price of the fastest kernel, which measures many
centres at once, in the same run. Times are processor time, so that a busy machine disturbs them little.

Then potential-aware clustering: the share of greedy distances saved, and how far the greedy earth mover's
distance lies above the exact one, which a linear programme finds.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from errai.abstraction.clustering import _kmeans
from errai.abstraction.clustering.kmeans import Metric, assign, cluster
from errai.abstraction.clustering.lloyd import Effort
from errai.abstraction.clustering.nearest import Rows
from errai.abstraction.clustering.potential_aware import (
    PotentialClustering,
    cluster_potential,
    greedy_emd,
    ground_distances,
)

NUM_CENTRES = (200, 9_000)
NUM_ROWS = 200_000
NUM_TO_TRAIN = 20
NUM_NEXT_BUCKETS = 500
NUM_HANDS = 10_000
NUM_EXACT = 100

Numbers = npt.NDArray[Any]
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
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def seconds_a_distance(centres: Rows, metric: Metric) -> float:
    """What brute force pays at best, many centres at once: the best of several runs."""
    columns = np.zeros((-(-centres.shape[1] // 4) * 4, len(centres)), dtype=np.uint16)
    columns[: centres.shape[1]] = centres.T
    totals = np.empty(_kmeans.CENTRES_PER_STRIP, dtype=np.int32)
    keys = np.empty((min(100, len(centres)), len(centres)), dtype=np.int64)
    runs = [
        timed(lambda: _kmeans.distance_table(columns, 0, metric is Metric.L2, totals, keys))[0]
        for _ in range(9)
    ]
    return min(runs) / keys.size


def exact_emd(first: Numbers, second: Numbers, ground: Numbers) -> float:
    """The transport between the supports of two distributions as a linear programme."""
    sources, targets = np.flatnonzero(first), np.flatnonzero(second)
    leaving = np.kron(np.eye(len(sources)), np.ones(len(targets)))
    arriving = np.kron(np.ones(len(sources)), np.eye(len(targets)))
    masses = np.concatenate([first[sources] / first.sum(), second[targets] / second.sum()])
    costs = ground[np.ix_(sources, targets)].ravel()
    return float(linprog(costs, A_eq=np.vstack([leaving, arriving]), b_eq=masses).fun)


def potential_aware() -> None:
    """Hands that reach 46 of 500 next buckets around a place and with a spread of their own."""
    rng = np.random.default_rng(2)
    next_centres = histograms(NUM_NEXT_BUCKETS, 3)
    next_centres = next_centres[np.argsort(next_centres.sum(axis=1, dtype=np.int64))]
    middle, spread = rng.random((NUM_HANDS, 1)), 0.2 * rng.random((NUM_HANDS, 1))
    reached = np.clip(middle + spread * rng.normal(size=(NUM_HANDS, 46)), 0, 0.999)
    hands = (reached * NUM_NEXT_BUCKETS).astype(np.uint16)
    weights = np.ones(NUM_HANDS, dtype=np.int64)

    def run(num_hands: int, num_clusters: int) -> PotentialClustering:
        return cluster_potential(
            hands[:num_hands],
            weights[:num_hands],
            next_centres,
            Metric.L1,
            num_clusters,
            Effort(max_iterations=3, num_threads=1),
        )

    compile_seconds, _ = timed(lambda: run(100, 2))
    seconds, found = timed(lambda: run(NUM_HANDS, 200))
    print(f"potential-aware, {NUM_NEXT_BUCKETS} next buckets (first call {compile_seconds:.1f} s)")
    print(
        f"  200 centres: k-means++ and {found.iterations} steps on {NUM_HANDS} hands {seconds:.2f} s, "
        f"{found.share_saved:.2%} of the greedy distances saved, "
        f"{1e6 * seconds / found.num_distances:.1f} us each"
    )
    ground = ground_distances(next_centres, Metric.L1)
    for kind in ("their own centre", "any centre"):
        ratios = []
        for hand in rng.choice(NUM_HANDS, NUM_EXACT, replace=False):
            centre = found.labels[hand] if kind == "their own centre" else rng.integers(found.num_clusters)
            masses = np.rint(found.distribution(int(centre)) * found.total_mass).astype(np.int64)
            exact = exact_emd(np.bincount(hands[hand], minlength=NUM_NEXT_BUCKETS), masses, ground)
            ratios.append(greedy_emd(hands[hand], masses, ground) / exact)
        error = np.std(ratios, ddof=1) / np.sqrt(NUM_EXACT)
        print(
            f"  greedy to exact distance, {NUM_EXACT} hands and {kind}: mean ratio {np.mean(ratios):.3f} "
            f"(standard error {error:.3f}), largest {np.max(ratios):.3f}"
        )


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
    potential_aware()


if __name__ == "__main__":
    main()
