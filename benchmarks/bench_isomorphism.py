"""Speed of hand indexing and of building canonical boards, on one core, compile time apart.

Indexing figures are the best of several runs. The yardstick of the same run is NumPy's cumulative sum over
all cards of the deals, which tells a slow machine from a slow kernel.
"""

import time
from collections.abc import Callable

import numpy as np

from errai.cards.boards import CanonicalBoards
from errai.cards.isomorphism import HandIndexer

NUM_DEALS = 1_000_000
REPEATS = 5
HOLDEM = (2, 3, 1, 1)


def seconds(work: Callable[[], object]) -> float:
    """Return the shortest time of several runs."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    rng = np.random.default_rng(0)
    shuffled = np.argsort(rng.random((NUM_DEALS, 52), dtype=np.float32), axis=1)[:, : sum(HOLDEM)]
    deals = shuffled.astype(np.uint8)
    yardstick = seconds(lambda: np.cumsum(deals.ravel(), dtype=np.int64))
    indexer = HandIndexer(HOLDEM)

    start = time.perf_counter()
    indexer.unindex(indexer.index(deals[:1], 3), 3)
    print(f"first call (tables and compilation)  {time.perf_counter() - start:8.2f} s")
    print(f"yardstick, cumulative sum of the deals {NUM_DEALS / yardstick / 1e6:6.1f} M deals/s")
    for round in range(len(HOLDEM)):
        cards = np.ascontiguousarray(deals[:, : indexer.num_cards(round)])
        index = indexer.index(cards, round)
        there = seconds(lambda cards=cards, round=round: indexer.index(cards, round))  # type: ignore[misc]
        back = seconds(lambda index=index, round=round: indexer.unindex(index, round))  # type: ignore[misc]
        print(
            f"2-3-1-1 round {round}: index {NUM_DEALS / there / 1e6:6.1f} M deals/s "
            f"({there / yardstick:5.1f} x yardstick), unindex {NUM_DEALS / back / 1e6:6.1f} M deals/s "
            f"({back / yardstick:5.1f} x yardstick)"
        )

    CanonicalBoards((3, 1)).cards(1)
    start = time.perf_counter()
    boards = CanonicalBoards((3, 1, 1))
    num_boards = len(boards.cards(2))
    built = time.perf_counter() - start
    print(
        f"canonical boards 3-1-1: {num_boards} rivers in {built:.2f} s ({built / yardstick:.0f} x yardstick)"
    )


if __name__ == "__main__":
    main()
