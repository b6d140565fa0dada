"""Solving with tables whose numbers are not held as floats: how far it is from float64."""

from pathlib import Path

import numpy as np
import pytest

import errai
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
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
    layout = subgame_layout(tree.walk, tree.cells.links, tree.layout, round_index=None)
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


@pytest.mark.parametrize("algorithm", ["cfr+", "pcfr+"])
def test_tables_on_disk_hold_the_same_bits(tmp_path: Path, algorithm: str) -> None:
    game = errai.load_game("leduc")
    in_memory = errai.solve(game, algorithm, 60)
    disk = tmp_path / "disk"
    disk.mkdir()
    errai.solve(game, algorithm, 20, out=tmp_path / "run", tables_in=disk)
    gone_on = errai.solve(game, algorithm, 60, out=tmp_path / "run", resume=True, tables_in=disk)
    assert list(disk.iterdir()) == []  # files without a name
    for strategy in ("average", "current"):
        for one, other in zip(
            getattr(in_memory, strategy).tables, getattr(gone_on, strategy).tables, strict=True
        ):
            assert isinstance(other.base, np.memmap)
            assert one.tobytes() == other.tobytes()


def test_tables_on_disk_need_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, rule, needed = PublicTree.of(errai.load_game("leduc")), find_rule("cfr+"), []
    monkeypatch.setattr("errai.solvers.solve.verify_memory", lambda num_bytes, _: needed.append(num_bytes))
    Solver(tree, rule, np.float64)
    Solver(tree, rule, np.float64, tables_in=tmp_path)
    assert needed == [2 * 672 * 8, 0]  # regrets and averages
    with pytest.raises(OSError, match="No such file or directory"):
        Solver(tree, rule, np.float64, tables_in=tmp_path / "missing")
    monkeypatch.setattr("errai.tables.shards.free_disk", lambda _: 336 * 8 - 1)
    with pytest.raises(UsageError, match=r"a table of 336 slots as float64 needs 2\.6 KiB of disk in"):
        Solver(tree, rule, np.float64, tables_in=tmp_path)
