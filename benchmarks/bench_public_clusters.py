"""How fast public boards are compared and clustered: 1,755 flops, 5,000 buckets, 60 clusters.

    python benchmarks/bench_public_clusters.py

The base is the percentile of five-card hand strength on the flop, so that nothing else need be built. The
yardstick of the distances is the same in NumPy, one row against all in one call, in the same run.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.public_clusters import (
    cluster_public_boards,
    public_differences,
    transition_table,
    waugh_distances,
)
from errai.cards.deck import FULL_DECK
from errai.cards.evaluator import evaluate_hands_on_board
from errai.cards.isomorphism import HandIndexer
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

NUM_BUCKETS = 5000
NUM_CLUSTERS = 60


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def percentile_buckets(board: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    strength = evaluate_hands_on_board(board, FULL_DECK.hands(2))
    ascending = np.sort(strength[strength >= 0])
    twice = np.searchsorted(ascending, strength) + np.searchsorted(ascending, strength, side="right")
    return np.where(strength >= 0, twice * NUM_BUCKETS // (2 * len(ascending) + 1), -1)


def numpy_differences(table: npt.NDArray[np.uint16]) -> npt.NDArray[np.int64]:
    num_hands = table[0].sum()
    return np.stack([num_hands - np.minimum(row, table).sum(axis=1) for row in table])


def main() -> None:
    rules = load_game("limit-holdem")
    assert isinstance(rules, PokerRules)
    deals = Deals(rules)
    small = np.ones((2, 3), dtype=np.uint16)
    first_s, _ = timed(lambda: cluster_public_boards(public_differences(small), 1))
    print(f"compile or load, first call: {first_s:.2f} s")

    table_s, table = timed(lambda: transition_table(percentile_buckets, deals, 1, NUM_BUCKETS))
    num_flops = len(table)
    print(f"transition table: {num_flops} flops x {NUM_BUCKETS} buckets in {table_s:.2f} s, base included")

    num_triples = num_flops * (num_flops - 1) // 2 * NUM_BUCKETS
    numpy_s, expected = timed(lambda: numpy_differences(table))
    for num_threads in (1, 2):
        ours_s, differences = timed(lambda n=num_threads: public_differences(table, num_threads=n))  # type: ignore[misc]
        assert np.array_equal(differences, expected)
        print(
            f"distances, {num_threads} threads: {num_triples / 1e9:.1f} billion triples in {ours_s:.2f} s, "
            f"{num_triples / ours_s / 1e9:.1f} billion a second; NumPy {numpy_s:.1f} s, "
            f"ratio {numpy_s / ours_s:.0f}"
        )

    preflop = HandIndexer((2,)).index(FULL_DECK.hands(2), 0)
    waugh_s, _ = timed(lambda: waugh_distances(lambda board: preflop, percentile_buckets, deals, 1))
    print(f"Waugh's distances, base included: {waugh_s:.2f} s")

    cluster_s, clusters = timed(lambda: cluster_public_boards(differences, NUM_CLUSTERS))
    sizes = clusters.sizes
    print(
        f"{NUM_CLUSTERS} clusters, best of 10 restarts, seed 0: {cluster_s:.2f} s; objective "
        f"{clusters.objective / table[0].sum():.1f}, {clusters.iterations} iterations, "
        f"{sizes.min()} to {sizes.max()} flops, median {np.median(sizes):.0f}"
    )


if __name__ == "__main__":
    main()
