"""How fast public boards are compared and clustered: 1,755 flops, 5,000 buckets, 60 clusters.

    python benchmarks/bench_public_clusters.py

The base is the percentile of five-card hand strength on the flop, so that nothing else need be built. The
yardstick of the distances is the same in NumPy, one row against all in one call, in the same run. Where the
features of limit hold'em are in the cache, private buckets of two clusters are built and looked up, too; the
yardstick of a look-up in the last round is NumPy's search over all centres.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.public.build import build_public_abstraction
from errai.abstraction.public.clusters import (
    PublicClusters,
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
    plan = FeaturePlan(rules)
    if plan.is_complete():
        bench_private_buckets(Features(plan), clusters)
    else:
        print(f"private buckets: not measured, the features of '{rules.name}' are not in the cache")


def bench_private_buckets(features: Features, clusters: PublicClusters) -> None:
    chosen = [0, NUM_CLUSTERS // 2]
    build_public_abstraction(features, clusters, only=chosen, buckets=5, max_iterations=1)
    build_s, built = timed(lambda: build_public_abstraction(features, clusters, only=chosen))
    flops = sum(len(clusters.boards(c)) for c in chosen)
    print(f"500 private buckets in 2 clusters of {flops} flops, 3 rounds: {build_s:.1f} s")
    generator = np.random.default_rng(0)
    firsts = Deals(features.plan.rules).boards.cards(0)[clusters.boards(chosen[1])]
    for num_cards, name in ((3, "flop"), (4, "turn"), (5, "river")):
        boards = []
        for _ in range(300):
            flop = generator.choice(firsts)
            more = [card for card in generator.permutation(52) if card not in flop][: num_cards - 3]
            boards.append(np.array([*flop, *more], dtype=np.uint8))
        best = min(timed(lambda b=boards: [built.buckets_on_board(x) for x in b])[0] for _ in range(5))  # type: ignore[misc]
        rate = 1326 * 300 / best / 1e6
        text = f"look-up of a {name}: {best / 300 * 1e6:.0f} µs, {rate:.1f} million hands a second"
        if num_cards == 5:
            centres = built.clusters[chosen[1]].centres.astype(np.int32)

            def plain(x: npt.NDArray[np.uint8], centres: npt.NDArray[np.int32] = centres) -> Any:
                rows = features.on_board(x).ochs.astype(np.int32)
                return np.square(rows[:, np.newaxis] - centres).sum(axis=2).argmin(axis=1)

            plain_s, _ = timed(lambda b=boards: [plain(x) for x in b[:20]])  # type: ignore[misc]
            text += f"; NumPy {plain_s / 20 * 1e6:.0f} µs, ratio {plain_s * 15 / best:.0f}"
        print(text)


if __name__ == "__main__":
    main()
