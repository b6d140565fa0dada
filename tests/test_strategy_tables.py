"""Tables of papers that are matches between strategies, or measure treated ones, made of small games."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import errai
from errai.experiments import t7_table_2
from errai.experiments.figure import QUICK, Size, compare
from errai.runs.training_file import PRESETS
from errai.strategy.postprocessing import Treatment
from errai.strategy.treated import treated

RunErrai = Callable[..., tuple[int, str, str]]


def ignore(*_: object) -> None:
    """Hear nothing."""


def test_treatments_win_what_they_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """T7 table 2 on Leduc, where what each treatment wins is known exactly."""
    trained = {
        seed: errai.solve("leduc", "external", iterations=400, seed=seed).strategy for seed in (5, 6, 7)
    }
    asked: list[tuple[str, float, int]] = []

    def train_preset(preset: str, seconds: float, seed: int) -> object:
        asked.append((preset, seconds, seed))
        return trained[seed]

    monkeypatch.setattr(t7_table_2, "train_preset", train_preset)
    curves = t7_table_2.draw(Size(20_000, parts=("leduc", "8")), 5, ignore)
    assert asked == [("leduc", 8.0, 5), ("leduc", 8.0, 6), ("leduc", 2.0, 7)]
    assert curves.points == [8192, 16384, 20000]
    opponents = dict(zip(t7_table_2.OPPONENTS, (trained[6], trained[7], trained[5]), strict=True))
    for row in curves.rows:
        name = str(row["treatment"])
        played = treated(trained[5], Treatment.parse(t7_table_2.TREATMENTS[name]))
        won = []
        for opponent, strategy in opponents.items():
            exact = errai.expected_value(played, strategy).mbb_per_game
            margin = 2 * float(row[f"{opponent}, half-width"]) + 1e-9
            assert abs(float(row[opponent]) - exact) <= margin, (name, opponent)
            won.append(float(row[opponent]))
        assert row["average"] == pytest.approx(sum(won) / 3) == curves.values[name][-1]
        assert row["worst"] == min(won)
    assert curves.rows[0]["untreated"] == 0
    assert all(float(row["untreated"]) != 0 for row in curves.rows[1:])
    found = compare(t7_table_2.FIGURE, curves)
    assert [(end.curve, end.published) for end in found.ends] == [
        ("none", 20),
        ("purified", 37),
        ("threshold 0.15", 27),
        ("New-0.2", 71),
    ]
    assert len(found.claims) == 3


def test_presets_of_table_2_are_there() -> None:
    for size in t7_table_2.FIGURE.sizes.values():
        assert (PRESETS / f"{size.parts[0]}.toml").is_file()
        assert float(size.parts[1]) > 0


def test_table_2_by_its_command(run_errai: RunErrai, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = replace(t7_table_2.FIGURE, sizes={QUICK: Size(500, parts=("leduc", "0.2"))})
    monkeypatch.setattr(t7_table_2, "FIGURE", figure)
    status, out, _ = run_errai("reproduce", "t7-table-2", "--out", "new")
    assert status == 0
    assert "  none ends below threshold 0.15, as published: " in out
    assert (tmp_path / "new" / "t7-table-2.png").stat().st_size > 10_000
    with open(tmp_path / "new" / "t7-table-2-rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["treatment"], row["published, worst"]) for row in rows] == [
        ("none", "10"),
        ("purified", "19"),
        ("threshold 0.15", "19"),
        ("New-0.2", "39"),
    ]
    status, _, err = run_errai("reproduce", "t7-table-2", "--iterations", "1", "--out", "new")
    assert (status, "1 deals have no interval: expected at least 2" in err) == (2, True)
