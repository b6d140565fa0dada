"""Strategies as arrays, frames, CSV and Parquet."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

import errai
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.strategy.bluff import BluffStrategy
from errai.strategy.strategy import Strategy

KUHN = errai.uniform_strategy("kuhn").changed({("cr", "Q"): {"f": 2 / 3, "c": 1 / 3}})


def leduc() -> Strategy:
    tree, rng = PublicTree.of("leduc"), np.random.default_rng(1)
    first, second = (rng.random(size) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


def test_a_row_for_each_action(tmp_path: Path) -> None:
    KUHN.to_csv(tmp_path / "kuhn.csv")
    lines = (tmp_path / "kuhn.csv").read_text().splitlines()
    assert len(lines) == 1 + 24
    assert lines[:3] == ["betting,board,hand,action,probability", ",,Js,c,0.5", ",,Js,r,0.5"]
    assert "cr,,Qs,f,0.6666666666666666" in lines
    assert list(tmp_path.iterdir()) == [tmp_path / "kuhn.csv"]


def test_csv_loses_nothing(tmp_path: Path) -> None:
    strategy = leduc()
    strategy.to_csv(tmp_path / "leduc.csv")
    with open(tmp_path / "leduc.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 672 == strategy.tree.num_slots
    for row in rows:
        asked = strategy.probabilities(row["betting"], row["hand"], row["board"])
        assert float(row["probability"]) == asked[row["action"]]


def test_frames_and_arrays_have_the_same_columns(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    strategy = leduc()
    frame, columns = strategy.to_frame(), strategy.to_arrays()
    assert list(frame.columns) == list(columns) == ["betting", "board", "hand", "action", "probability"]
    for name, column in columns.items():
        assert frame[name].tolist() == column.tolist()
    totals = frame.groupby(["betting", "board", "hand"]).probability.sum()
    assert len(totals) == 288
    assert totals.to_numpy() == pytest.approx(1, abs=1e-15)
    pytest.importorskip("pyarrow")
    strategy.to_parquet(tmp_path / "leduc.parquet")
    again = pandas.read_parquet(tmp_path / "leduc.parquet")
    assert list(again.columns) == list(columns)
    assert all(again[name].tolist() == column.tolist() for name, column in columns.items())


def test_bluff_is_exported_by_dice() -> None:
    game = errai.load_game("bluff-1-1")
    tree = PublicTree.of_bluff(game, (1, 1))
    tables = {(1, 1): tree.layout.zeros(np.float64)}
    columns = BluffStrategy(game, {(1, 1): tree}, tables).to_arrays()
    assert list(columns) == ["dice", "betting", "hand", "action", "probability"]
    assert len(columns["dice"]) == 6 * 2 * (2**12 - 1)  # each node but the root is reached by one action
    assert set(columns["action"][columns["betting"] == "2-*"]) == {"b"}


def test_a_failed_export_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kuhn.csv"
    path.write_text("old")

    def broken(self: Strategy) -> None:
        raise RuntimeError("halfway")

    monkeypatch.setattr(Strategy, "information_sets", broken)
    with pytest.raises(RuntimeError, match="halfway"):
        KUHN.to_csv(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("package", "call"), [("pandas", "frame"), ("pandas", "parquet"), ("pyarrow", "parquet")]
)
def test_a_missing_package_is_named(
    package: str, call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if package == "pandas":
        monkeypatch.setitem(sys.modules, "pyarrow", sys)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=f"the package '{package}' was not found"):
        KUHN.to_frame() if call == "frame" else KUHN.to_parquet(tmp_path / "x")
    KUHN.to_csv(tmp_path / "y")
    assert len(KUHN.to_arrays()["hand"]) == 24
