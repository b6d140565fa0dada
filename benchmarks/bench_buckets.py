"""How much buckets cost an iteration of learning, on one thread and on all.

    python benchmarks/bench_buckets.py

The game is [2-1] hold'em, 15,442,180 information sets; the buckets of the flop are runs of hands of like
strength, and random ones. All ratios are to lossless tables in the same run; compilation is apart.
"""

import os
import time

import numpy as np

from errai.engine.public_tree import PublicTree
from errai.games.catalogue import load_game
from errai.solvers.solve import Solver
from errai.solvers.update_rules import find_rule
from errai.tree.buckets import Buckets

ROUNDS = 3
NUM_BUCKETS = (25, 570)


def seconds_an_iteration(tree: PublicTree, num_threads: int) -> float:
    solver = Solver(tree, find_rule("cfr+"), np.float32, num_threads)
    solver.run(1)  # kernels may have to be compiled
    best = float("inf")
    for _ in range(ROUNDS):
        before = solver.seconds
        solver.run(1)
        best = min(best, solver.seconds - before)
    return best


def main() -> None:
    began = time.perf_counter()
    tree = PublicTree.of(load_game("holdem-2-1"))
    cells = np.diff(tree.cells.players[0].cell_begin[1:])
    rng = np.random.default_rng(0)
    print(f"[2-1] hold'em made in {time.perf_counter() - began:.1f} s")
    for num_threads in sorted({1, os.cpu_count() or 1}):
        lossless = seconds_an_iteration(tree, num_threads)
        print(f"{num_threads} thread(s): lossless {lossless * 1000:.0f} ms an iteration")
        for number in NUM_BUCKETS:
            runs = np.concatenate([np.arange(size) * number // size for size in cells.tolist()])
            for name, buckets in (("runs", runs), ("random", rng.integers(0, number, len(runs)))):
                abstracted = tree.abstracted(Buckets.for_both({1: buckets.astype(np.int32)}))
                ratio = seconds_an_iteration(abstracted, num_threads) / lossless
                print(f"  {number} buckets, {name}: {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
