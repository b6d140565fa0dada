"""How fast the engine solves and measures, against peers in the same run where they install with pip.

    python benchmarks/bench_engine.py           every row; the largest game takes a minute and 3 GB
    python benchmarks/bench_engine.py --quick   without [2-4] hold'em and without compiling

One core unless said. Times are the best of several rounds; compiling and building are apart. The peer on
Leduc is OpenSpiel's C++; what others published for jobs of this size, on other machines, is named in the row.
The floor of a sweep over tables is 16 bytes a slot (regrets and averages read and written once) at the
bandwidth of adding to a large array in place, on as many threads, measured here.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyspiel

from errai.cards.deck import FULL_DECK
from errai.engine.public_tree import PublicTree
from errai.engine.section import BEST
from errai.engine.traversal import Traversal
from errai.games.catalogue import holdem, leduc
from errai.games.rules import PokerRules
from errai.memory import format_bytes
from errai.response.exploitability import measure_exploitability
from errai.solvers.solve import Solver
from errai.solvers.update_rules import RULES
from errai.strategy.spot_tree import SpotBetting, build_spot_tree
from errai.tables.layout import lossless_layout
from errai.tree.betting_tree import build_betting_tree
from errai.tree.cells import spot_cells

SEED = 0
OOP = "44+, A4s+, K8s+, Q8s+, Q6s, J8s+, T7s+, 97s+, 86s+, 76s, 65s, 54s, A9o+, K9o+, QTo+, JTo"
IP = "44+, A8s+, A5s-A4s, K9s+, Q9s+, J9s+, T9s, 97s+, 87s, 75s+, ATo+, KTo+, QJo"

COMPILE = """
import time
import numpy as np
from errai.games.catalogue import kuhn
from errai.engine.public_tree import PublicTree
tree = PublicTree.of(kuhn())
for dtype in (np.float64, np.float32):
    walk = tree.traversal(dtype, 1)
    tables = tree.layout.zeros(dtype)
    begin = time.perf_counter()
    walk.learn(tree.layout.tables(tables, tables, tables), np.zeros((1, 2, 5)))
    print(f"  {np.dtype(dtype).name}: {time.perf_counter() - begin:.1f} s")
"""


def seconds(work: Callable[[], Any], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def seconds_an_iteration(solver: Solver, iterations: int, rounds: int) -> float:
    solver.run(1)
    return seconds(lambda: solver.run(iterations), rounds) / iterations


def bench_compiling() -> None:
    print("compiling the traversal, in a process with an empty cache:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"ERRAI_CACHE_DIR": folder}
        subprocess.run(
            [sys.executable, "-c", COMPILE], env=environment, check=True, stderr=subprocess.DEVNULL
        )


def bench_leduc(quick: bool) -> None:
    tree = PublicTree.of(leduc())
    solver = Solver(tree, RULES["cfr+"], np.float64, 1)
    ours = seconds_an_iteration(solver, 1000, 10)
    game = pyspiel.load_game("leduc_poker")
    theirs = pyspiel.CFRPlusSolver(game)
    theirs_s = seconds(theirs.evaluate_and_update_policy, 20)
    print(
        f"Leduc CFR+: {1 / ours:,.0f} iterations a second ({ours * 1e6:.1f} microseconds each), "
        f"OpenSpiel C++ {1 / theirs_s:,.0f}, ratio {theirs_s / ours:,.0f}; published: postflop-solver 23,800"
    )
    measured = measure_exploitability(tree, solver.averages, solver.walk)
    ours_s = seconds(lambda: measure_exploitability(tree, solver.averages, solver.walk), 2000)
    tables = tree.layout.tables(solver.averages, solver.regrets, solver.averages)
    walk_s = seconds(lambda: solver.walk.mean_values(BEST, tables), 2000)
    policy = theirs.tabular_average_policy()
    theirs_s = seconds(lambda: pyspiel.exploitability(game, policy), 5)
    print(
        f"Leduc exploitability ({measured.chips:.2g} chips): {ours_s * 1e6:.1f} microseconds, "
        f"OpenSpiel C++ {theirs_s * 1e3:.1f} ms, ratio {theirs_s / ours_s:,.0f}; "
        f"both walks in one call {walk_s * 1e6:.1f}, ratio {theirs_s / walk_s:,.0f}"
    )
    iterations = 10_000 if quick else 100_000
    cfr = Solver(tree, RULES["cfr"], np.float64, 1)
    cfr.run(1)
    taken = seconds(lambda: cfr.run(iterations), 1)
    print(f"Leduc, {iterations:,} CFR iterations: {taken:.2f} s")


@numba.njit(fastmath=True)
def quadratic_showdown(
    reach: npt.NDArray[np.float32],
    strength: npt.NDArray[np.int64],
    cards: npt.NDArray[np.uint8],
    value: npt.NDArray[np.float32],
) -> None:
    for i in range(len(strength)):
        a, b = cards[i, 0], cards[i, 1]
        total = np.float32(0)
        for j in range(len(strength)):
            if cards[j, 0] != a and cards[j, 0] != b and cards[j, 1] != a and cards[j, 1] != b:
                if strength[j] < strength[i]:
                    total += reach[j]
                elif strength[j] > strength[i]:
                    total -= reach[j]
        value[i] = total


def bench_terminals() -> None:
    """Time a river on which every hand is possible: one bet, so nearly all work is at the leaves."""
    rules = PokerRules("river", FULL_DECK, 2, (0,), (1, 1), (2,), (1,), (0,))
    board = np.array([3, 14, 22, 35, 47], dtype=np.uint8)
    hands = FULL_DECK.hands(2)[~np.isin(FULL_DECK.hands(2), board).any(axis=1)]
    cells = spot_cells(rules, board, (hands, hands))
    walk = Traversal(build_betting_tree(rules), cells, np.float32)
    layout = lossless_layout(walk.walk, cells)
    tables = layout.zeros(np.float32)
    bound = layout.tables(tables, tables, tables)
    num_leaves = len(walk.walk.plan.leaves) // 2
    walk.walk_once(0, BEST, bound, np.zeros(5))
    ours = seconds(lambda: walk.walk_once(0, BEST, bound, np.zeros(5)), 200) / num_leaves
    own = cells.players[0]
    cards = own.hand_card[own.hand_begin[:-1]]
    reach = np.random.default_rng(SEED).random(len(cards)).astype(np.float32)
    value = np.empty_like(reach)
    strength = own.below.astype(np.int64)
    quadratic_showdown(reach, strength, cards, value)
    theirs = seconds(lambda: quadratic_showdown(reach, strength, cards, value), 20)
    print(
        f"leaves of a river with {len(cards):,} hands: {ours * 1e6:.2f} microseconds each, the rest of the "
        f"walk included, {num_leaves} together; quadratic {theirs * 1e6:,.0f}, ratio {theirs / ours:,.0f}"
    )


def bench_spots() -> None:
    betting = SpotBetting.of(50, 200, "50%, a", "60%, a", 0.05)
    for name, board, iterations, rounds, published in (
        ("river", "QsJh2h7c3d", 200, 20, "61 microseconds"),
        ("turn", "QsJh2h7c", 5, 10, "12,000 microseconds"),
    ):
        spot = build_spot_tree(board, (OOP, IP), betting)
        taken = seconds_an_iteration(Solver(spot.tree, RULES["cfr+"], np.float32, 1), iterations, rounds)
        hands = [len(held) for held in spot.hands]
        print(
            f"{name} spot, {hands[0]} x {hands[1]} hands: {taken * 1e6:,.1f} microseconds an iteration, "
            f"{taken / spot.tree.num_slots * 1e9:.2f} ns a slot; published: postflop-solver {published}"
        )


def bandwidth(num_threads: int) -> float:
    """Return bytes a second that are read and written by adding to large arrays in place."""
    arrays = [np.ones(1 << 25, dtype=np.float32) for _ in range(num_threads)]
    with ThreadPoolExecutor(num_threads) as pool:
        taken = seconds(lambda: list(pool.map(lambda x: np.add(x, 1, out=x), arrays)), 7)
    return sum(2 * array.nbytes for array in arrays) / taken


def bench_holdem(rules: PokerRules, threads: tuple[int, ...], rounds: int) -> None:
    begin = time.perf_counter()
    tree = PublicTree.of(rules)
    slots = tree.num_slots
    built = time.perf_counter() - begin
    solver = Solver(tree, RULES["cfr+"], np.float32, 1)
    num_bytes = sum(table.nbytes for table in (*solver.regrets, *solver.averages))
    num_bytes += sum(array.nbytes for array in tree.cells.players[0])
    print(f"{rules.name}: {slots:,} slots, {format_bytes(num_bytes)}, built in {built:.1f} s")
    times = {}
    for num_threads in threads:
        solver.walk = tree.traversal(np.float32, num_threads)
        times[num_threads] = taken = seconds_an_iteration(solver, 1, rounds)
        floor = 16 * slots / bandwidth(num_threads)
        print(
            f"  CFR+ on {num_threads} thread{'s' if num_threads > 1 else ''}: {taken:.3f} s an iteration, "
            f"{taken / slots * 1e9:.2f} ns a slot, {taken / floor:.1f} times the floor of memory",
            flush=True,
        )
    if len(times) > 1:
        first, *_, last = threads
        print(f"  scaling from {first} to {last} threads: {times[first] / times[last]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out what takes a minute")
    quick = parser.parse_known_args()[0].quick
    if not quick:
        bench_compiling()
    bench_leduc(quick)
    bench_terminals()
    bench_spots()
    bench_holdem(holdem(2, 1), (1,), 5)
    if not quick:
        bench_holdem(holdem(2, 4), (1, 2), 4)


if __name__ == "__main__":
    main()
