"""How fast the hands of a board are swept and looked up in the buckets of a full-deck abstraction.

    python -m benchmarks.bench_abstraction

Tables are filled at random, since only their sizes matter here: 1.3, 14 and 123 million classes, and 55
million deals for a turn that recalls. One thread; processor time, so that other work counts less.
"""

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from errai.abstraction.abstraction import Abstraction
from errai.abstraction.features.features import BoardSweep
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.recipe import Recipe
from errai.abstraction.round_buckets import ClassTable, DealTable, Lossless, RefinedOchs, RefinedStrength
from errai.cards.evaluator import evaluate_hands_on_board
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

NUM_BOARDS = 300
NUM_CLUSTERS = 8


def seconds_a_board(work: Callable[[npt.NDArray[np.uint8]], object], boards: npt.NDArray[np.uint8]) -> float:
    work(boards[0])
    began = time.process_time()
    for board in boards:
        work(board)
    return (time.process_time() - began) / len(boards)


def numpy_strengths(board: npt.NDArray[np.uint8], hands: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The quadratic way: every hand against every other that shares no card with it."""
    strength = evaluate_hands_on_board(board, hands)
    is_open = strength >= 0
    meets = (hands[:, None, :, None] != hands[None, :, None, :]).all(axis=(2, 3)) & is_open & is_open[:, None]
    return np.asarray(((1 + np.sign(strength[:, None] - strength)) * meets).sum(axis=1))


def main() -> None:
    rules = load_game("limit-holdem")
    assert isinstance(rules, PokerRules)
    classes, deals = HandClasses(rules), Deals(rules)
    rng = np.random.default_rng(0)
    clusters = rng.integers(NUM_CLUSTERS, size=169).astype(np.uint16)
    sweep = BoardSweep(classes, clusters, NUM_CLUSTERS)
    boards = {
        r: np.array([rng.choice(52, classes.num_board_cards(r), replace=False) for _ in range(NUM_BOARDS)])
        .astype(np.uint8)
        .reshape(NUM_BOARDS, -1)
        for r in range(4)
    }
    swept = seconds_a_board(sweep.features, boards[3])
    plain = seconds_a_board(lambda board: numpy_strengths(board, classes.hands), boards[3][:5])
    print(f"sweep of a river board, strength and {NUM_CLUSTERS} clusters: {swept * 1e6:.0f} us, ", end="")
    print(f"{plain / swept:.0f} times the quadratic way in NumPy (strength alone)")

    def table(size: int, num_buckets: int) -> npt.NDArray[np.uint16]:
        return rng.integers(num_buckets, size=size, dtype=np.uint16)

    alone = [ClassTable(classes, r, table(classes.size(r), 9000), 9000) for r in (1, 2, 3)]
    turn = DealTable(deals, 2, table(deals.num_rows(2), 1000), 1000)
    by_strength = RefinedStrength(
        turn, 6, 2, BoardSweep(classes, None, 0), rng.integers(10, size=(1000, 1981)), 10
    )
    centres = rng.integers(3500, size=(1000, 10, NUM_CLUSTERS)).astype(np.uint16)
    by_ochs = RefinedOchs(turn, 6, 2, sweep, centres, np.full(1000, 10))
    recipe = Recipe.parse("IR-KE-KO 169-9000-9000-9000", rules)
    for name, rounds in (
        ("imperfect recall", (Lossless(deals, 0), *alone)),
        ("perfect recall, river by strength", (Lossless(deals, 0), alone[0], turn, by_strength)),
        ("perfect recall, river by OCHS", (Lossless(deals, 0), alone[0], turn, by_ochs)),
    ):
        abstraction = Abstraction(rules, (recipe,), (rounds,), clusters)
        speeds = [1326 / seconds_a_board(abstraction.buckets_on_board, boards[r]) / 1e6 for r in range(4)]
        print(f"{name}: {', '.join(f'{speed:.1f}' for speed in speeds)} million hands a second by round")


if __name__ == "__main__":
    main()
