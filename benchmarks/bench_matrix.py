"""How fast matrix games are solved on one core, and where random ones cross the published marks.

    python benchmarks/bench_matrix.py

The yardstick is the same self-play in NumPy, whose two matrix-vector products an iteration are BLAS's
(pinned to one thread by `OPENBLAS_NUM_THREADS=1`, where the BLAS heeds it), on the same matrix in the same
run. Compilation is timed apart.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.solvers.matrix import solve_matrix
from errai.solvers.sequence_form import solve_sequence_form
from errai.tree.betting_tree import build_betting_tree
from errai.tree.cells import game_cells

SIZE = 1000
NUM_MATRICES = 10
MATCHING_PENNIES = [[1, -2], [-2, 4]]

Floats = npt.NDArray[np.float64]


def seconds(work: Callable[[], Any], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def numpy_self_play(payoffs: Floats, iterations: int) -> Floats:
    """CFR+ as in `solve_matrix`, with BLAS for the products."""
    by_column = np.ascontiguousarray(payoffs.T)
    num_rows, num_columns = payoffs.shape
    row, column = np.full(num_rows, 1 / num_rows), np.full(num_columns, 1 / num_columns)
    row_regret, column_regret = np.zeros(num_rows), np.zeros(num_columns)
    row_sum, column_sum = np.zeros(num_rows), np.zeros(num_columns)
    curve = np.empty(iterations)
    weights = 0.0
    for t in range(1, iterations + 1):
        weights += t
        values = payoffs @ column
        row_sum += t * values
        row_regret = np.maximum(row_regret + values - row @ values, 0)
        row = row_regret / row_regret.sum()
        values = by_column @ row
        column_sum += t * values
        column_regret = np.maximum(column_regret - values + column @ values, 0)
        column = column_regret / column_regret.sum()
        curve[t - 1] = (row_sum.max() - column_sum.min()) / (2 * weights)
    return curve


def main() -> None:
    print(f"compile or load, first call: {seconds(lambda: solve_matrix([[1]], iterations=1), 1):.2f} s")
    small_s = seconds(lambda: solve_matrix(MATCHING_PENNIES, "cfr+", 100_000), 5)
    print(f"matching pennies, cfr+: {small_s / 100_000 * 1e9:.0f} ns an iteration")
    crossings = [solve_matrix(MATCHING_PENNIES, name, 4000).first_at(1e-3) for name in ("cfr", "cfr+")]
    print(f"matching pennies, 1e-3: cfr at {crossings[0]} (published 3539), cfr+ at {crossings[1]} (343)")

    payoffs = np.random.default_rng(0).standard_normal((SIZE, SIZE))
    ours_s = seconds(lambda: solve_matrix(payoffs, "cfr+", 500), 3)
    blas_s = seconds(lambda: numpy_self_play(payoffs, 500), 3)
    apart = np.abs(solve_matrix(payoffs, "cfr+", 500).exploitability - numpy_self_play(payoffs, 500)).max()
    print(
        f"{SIZE} x {SIZE}, cfr+: {ours_s / 500 * 1e6:.0f} µs an iteration, NumPy with BLAS "
        f"{blas_s / 500 * 1e6:.0f} µs, ratio {blas_s / ours_s:.1f}; the curves differ by {apart:.0e} at most"
    )

    for algorithm, iterations, marks in (
        ("cfr", 10_000, {1e-3: "510", 1e-4: "never"}),
        ("cfr+", 5_600, {1e-3: "83", 1e-4: "331", 1e-6: "4836"}),
    ):
        begin = time.perf_counter()
        mean = np.zeros(iterations)
        for seed in range(NUM_MATRICES):
            matrix = np.random.default_rng(seed).standard_normal((SIZE, SIZE))
            mean += solve_matrix(matrix, algorithm, iterations).exploitability / NUM_MATRICES
        took = time.perf_counter() - begin
        found = {mark: int(np.argmax(mean <= mark)) + 1 if mean.min() <= mark else "never" for mark in marks}
        text = ", ".join(f"{mark:g} at {found[mark]} (published {marks[mark]})" for mark in marks)
        print(
            f"mean of {NUM_MATRICES} matrices, seeds 0-{NUM_MATRICES - 1}, {algorithm}: {text}; {took:.1f} s"
        )

    for name in ("kuhn", "leduc"):
        game = load_game(name)
        assert isinstance(game, PokerRules)
        tree, cells = build_betting_tree(game), game_cells(game)
        result = solve_sequence_form(tree, cells)
        took = seconds(lambda tree=tree, cells=cells: solve_sequence_form(tree, cells), 3)  # type: ignore[misc]
        print(f"{name} by lp: {result.value:.12f}, {result.num_nonzeros} payoffs, {took * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
