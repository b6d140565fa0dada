"""How fast hands are evaluated and equities enumerated, on one core.

    python benchmarks/bench_evaluator.py

The yardstick is phevaluator's C extension, called from Python hand by hand in the fastest way that Python
offers (`map` over ready columns of integers, the module's C functions without their Python wrappers), on
the same hands in the same run. Times are the best of several rounds; compilation is timed apart.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from phevaluator import _pheval

from errai.cards.deck import FULL_DECK
from errai.cards.equity import equity
from errai.cards.evaluator import evaluate, evaluate_hands_on_board, evaluator_tables

NUM_HANDS = 1_000_000
NUM_BOARDS = 1_000
SEED = 0


def seconds(work: Callable[[], Any], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def random_hands(num_hands: int, num_cards: int) -> npt.NDArray[np.uint8]:
    keys = np.random.default_rng(SEED).random((num_hands, 52), dtype=np.float32)
    return np.ascontiguousarray(np.argpartition(keys, num_cards, axis=1)[:, :num_cards].astype(np.uint8))


def main() -> None:
    print(f"tables: {seconds(evaluator_tables, 1):.3f} s")
    print(f"compile or load, first call: {seconds(lambda: evaluate([[0, 1, 2, 3, 4]]), 1):.3f} s")
    for num_cards, theirs in (
        (5, _pheval.evaluate_5cards),
        (6, _pheval.evaluate_6cards),
        (7, _pheval.evaluate_7cards),
    ):
        hands = random_hands(NUM_HANDS, num_cards)
        columns = hands.T.tolist()
        ours_s = seconds(lambda hands=hands: evaluate(hands), 15)  # type: ignore[misc]
        theirs_s = seconds(lambda f=theirs, c=columns: deque(map(f, *c), maxlen=0), 5)  # type: ignore[misc]
        print(
            f"{num_cards} cards, {NUM_HANDS:,} random hands, seed {SEED}: "
            f"evaluate {NUM_HANDS / ours_s / 1e6:.1f} M hands/s, "
            f"phevaluator from Python {NUM_HANDS / theirs_s / 1e6:.2f} M hands/s, "
            f"ratio {theirs_s / ours_s:.1f}"
        )

    boards = random_hands(NUM_BOARDS, 5)
    all_hands = FULL_DECK.hands(2)
    evaluate_hands_on_board(boards[0], all_hands)
    board_s = seconds(lambda: [evaluate_hands_on_board(board, all_hands) for board in boards], 5)
    print(
        f"1,326 hands on one board: {board_s / NUM_BOARDS / len(all_hands) * 1e9:.1f} ns a hand with checks"
    )

    for sides, board in (
        (("AsKs", "QhQd"), "Ts9h2d"),
        (("random", "random"), "Ts9h2d"),
        (("AsKs", "QhQd"), ""),
        (("AsKh", "7d2c"), ""),
        (("AsKh", "random"), ""),
        (("random", "random"), ""),
    ):
        equity(sides, "Ts9h2d3c4c")
        result = equity(sides, board)
        took = seconds(lambda sides=sides, board=board: equity(sides, board), 2)  # type: ignore[misc]
        print(
            f"equity of {sides[0]} against {sides[1]} on '{board}': {result.equity:.6f}, "
            f"{result.num_boards:,} boards in {took:.3f} s"
        )


if __name__ == "__main__":
    main()
