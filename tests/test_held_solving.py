"""Solving with tables whose numbers are not held as floats: how far it is from float64."""

import numpy as np
import pytest

import errai
from errai.engine.public_tree import PublicTree
from errai.response.exploitability import exploitability
from errai.solvers.solve import Solver
from errai.solvers.update_rules import find_rule
from errai.strategy.strategy import Strategy
from errai.tables._shards import LARGEST
from errai.tables.shards import NumberFormat, Shards
from errai.tables.subgame_layout import subgame_layout


def solve_held(number_format: NumberFormat, iterations: int) -> tuple[float, float]:
    """Solve Leduc by CFR+ with regrets that are held, shard by shard, between iterations.

    Returns the exploitability of the average in chips, and the largest regret that was held.
    """
    tree = PublicTree.of(errai.load_game("leduc"))
    solver = Solver(tree, find_rule("cfr+"), np.float64)
    layout = subgame_layout(solver.walk.walk, tree.cells.links, tree.layout, round_index=None)
    held = [Shards(layout.shard_begin(player), number_format) for player in (0, 1)]
    for _ in range(iterations):
        for player in (0, 1):
            values = held[player].open(0, solver.regrets[player])
            if values is not solver.regrets[player]:
                np.copyto(solver.regrets[player], values)
        solver.run(1)
        for player in (0, 1):
            held[player].close(0, solver.regrets[player])
    largest = max(float(np.abs(table.held).max()) for table in held)
    return exploitability(Strategy(tree, solver.averages)).chips, largest


@pytest.mark.parametrize(
    ("scale", "allowed"),
    # Measured after 1,000 iterations, where float64 reaches 2.59e-4 chips: -11%, +3.5%, and 5.5 times. Ties
    # that rounding breaks either way move each figure by as much.
    [(2.0**20, 0.3), (2.0**10, 0.3), (2.0**6, 6.0)],
)
def test_leduc_converges_with_fixed_point_regrets(scale: float, allowed: float) -> None:
    exact, _ = solve_held(NumberFormat("float64"), 1000)
    fixed, largest = solve_held(NumberFormat("int32", scale), 1000)
    assert exact < 3e-4
    assert largest < LARGEST
    assert abs(fixed - exact) < allowed * exact


def test_leduc_with_regrets_at_their_ends_stays_finite() -> None:
    """A scale that leaves room for regrets up to 1 chip alone: the strategy is worse, and nothing wraps."""
    chips, largest = solve_held(NumberFormat("int32", float(LARGEST)), 200)
    assert largest == LARGEST
    assert 0 < chips < 0.1
