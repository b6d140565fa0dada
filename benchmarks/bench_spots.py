"""How fast spots are solved, on one core.

    python benchmarks/bench_spots.py

The river spot has 292 hands against 214, bets of half the pot or all-in, raises of 60% or all-in, a pot of
50 and stacks of 200; the turn spot has the same ranges before its last card. Best of several stretches of
iterations of the default algorithm; compilation is timed apart. Published for spots of this size, on other
machines: postflop-solver 61 microseconds an iteration on the river and 12 ms on the turn with 12 MB,
TexasSolver 250 microseconds and 43 ms with 121 MB. The ratio that does not depend on the machine is the
time for each slot, an action of a hand at a decision.
"""

import time

import numpy as np

from errai.memory import format_bytes
from errai.runs.spot import SPOT_DISCOUNT, solve_spot_tree
from errai.solvers.solve import Solver, configured_rule
from errai.strategy.spot_tree import SpotBetting, SpotTree, build_spot_tree

OOP = "44+, A4s+, K8s+, Q8s+, Q6s, J8s+, T7s+, 97s+, 86s+, 76s, 65s, 54s, A9o+, K9o+, QTo+, JTo"
IP = "44+, A8s+, A5s-A4s, K9s+, Q9s+, J9s+, T9s, 97s+, 87s, 75s+, ATo+, KTo+, QJo"
RIVER = "QsJh2h7c3d"
TURN = "QsJh2h7c"
TARGET_PERCENT = 0.1


def build(board: str) -> SpotTree:
    betting = SpotBetting.of(50, 200, "50%, a", "60%, a", 0.05)
    spot = build_spot_tree(board, (OOP, IP), betting)
    assert [len(hands) for hands in spot.hands] == [292, 214]
    return spot


def seconds_an_iteration(spot: SpotTree, iterations: int, rounds: int) -> float:
    solver = Solver(spot.tree, configured_rule("dcfr", discount=SPOT_DISCOUNT), np.float32, 1)
    solver.run(1)
    best = float("inf")
    for _ in range(rounds):
        before = solver.seconds
        solver.run(iterations)
        best = min(best, (solver.seconds - before) / iterations)
    return best


def main() -> None:
    begin = time.perf_counter()
    solve_spot_tree(build(RIVER), 1, num_threads=1)
    print(f"compile or load, first solution: {time.perf_counter() - begin:.3f} s")
    for name, board, iterations, rounds in (("river", RIVER, 200, 20), ("turn", TURN, 5, 10)):
        begin = time.perf_counter()
        spot = build(board)
        built = time.perf_counter() - begin
        taken = seconds_an_iteration(spot, iterations, rounds)
        slots = spot.tree.num_slots
        print(
            f"{name}: {len(spot.hands[0])} x {len(spot.hands[1])} hands, "
            f"{spot.tree.betting.num_nodes} betting nodes, "
            f"{slots:,} slots: {taken * 1e6:,.1f} microseconds an iteration, "
            f"{taken / slots * 1e9:.2f} ns a slot, tables {format_bytes(2 * 4 * slots)}, "
            f"built in {built:.3f} s"
        )
        for algorithm in ("dcfr", "cfr+"):
            result = solve_spot_tree(spot, 2000, algorithm=algorithm, until=TARGET_PERCENT, num_threads=1)
            print(
                f"  {algorithm}: {TARGET_PERCENT}% of the pot after {result.iterations} iterations, "
                f"{result.measurements[-1].seconds:.3f} s, measurements apart"
            )


if __name__ == "__main__":
    main()
