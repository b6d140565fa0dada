"""Tables of papers that are matches between strategies, or measure treated ones, made of small games."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from naive import WITHOUT_JIT

import errai
from errai.experiments import purification_threshold, t7_table_2, thesis_table_5_3
from errai.experiments.figure import QUICK, Size, compare
from errai.games.catalogue import load_card_game
from errai.runs.training_file import PRESETS
from errai.strategy.postprocessing import Treatment
from errai.strategy.treated import treated

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game, and thousands of deals")

RunErrai = Callable[..., tuple[int, str, str]]


def ignore(*_: object) -> None:
    """Hear nothing."""


def test_treatments_win_what_they_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """T7 table 2 on Leduc, where what each treatment wins is known exactly."""
    trained = {
        seed: errai.solve("leduc", "external", iterations=400, seed=seed).strategy for seed in (5, 6, 7)
    }
    asked: list[tuple[str, float, int]] = []

    def train_preset(preset: str, seconds: float, seed: int, out: Path | None = None) -> object:
        asked.append((preset, seconds, seed))
        return trained[seed]

    monkeypatch.setattr(t7_table_2, "train_preset", train_preset)
    curves = t7_table_2.draw(Size(20_000, parts=("leduc", "8")), 5, ignore)
    assert asked == [("leduc", 8.0, 5), ("leduc", 8.0, 6), ("leduc", 2.0, 7)]
    assert curves.points == [8192, 16384, 20000]
    opponents = dict(zip(t7_table_2.OPPONENTS, (trained[6], trained[7], trained[5]), strict=True))
    treatments = {
        "none": "none",
        "purified": "purify",
        "threshold 0.15": "threshold=0.15",
        "New-0.2": "new=0.2",
    }
    for row in curves.rows:
        name = str(row["treatment"])
        played = treated(trained[5], Treatment.parse(treatments[name]))
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


def test_presets_of_the_tables_are_there() -> None:
    for size in (*t7_table_2.FIGURE.sizes.values(), *purification_threshold.FIGURE.sizes.values()):
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


def test_abstractions_of_table_5_3_have_the_sizes_of_the_thesis() -> None:
    rules = load_card_game("limit-holdem")
    names = [thesis_table_5_3.recipe(agent, rules, 10) for agent in thesis_table_5_3.AGENTS]
    assert names[:3] == ["PR-PHS-PHS 5x2-5x2-5x2-10", "PR-PHS-KO 5x2-5x2-5x2-10", "PR-KE-PHS 10-10-10-10"]
    assert names[6:9] == [
        "IR-PHS-PHS 169-150x60-150x60-9000",
        "IR-PHS-KO 169-150x60-150x60-9000",
        "IR-KE-PHS 169-9000-9000-9000",
    ]
    assert len(set(names)) == 12
    # In Rhode Island hold'em there are 8, 56 and 392 decisions: (4 * 8 + 16 * 56 + 64 * 392 - 13 * 8) // 448.
    assert thesis_table_5_3.recipe("IR-KE-KO", load_card_game("rhode-island"), 4) == "IR-KE-KO 13-57-57"


def test_crosstable_of_strategies(monkeypatch: pytest.MonkeyPatch) -> None:
    agents = ("PR-PHS-PHS", "IR-PHS-PHS", "IR-KE-KO")
    monkeypatch.setattr(thesis_table_5_3, "AGENTS", agents)
    trained: dict[str, errai.Strategy] = {}

    def train_preset(
        preset: str, seconds: float, seed: int, changed: dict[str, dict[str, str]], out: Path | None
    ) -> object:
        assert (preset, seconds, seed, changed["game"]) == ("limit-quick", 3.0, 2, {"name": "leduc"})
        name = changed["abstraction"]["name"]
        number = 10 ** (1 + len(trained))
        trained[name.split()[0]] = errai.solve("leduc", "external", iterations=number, seed=1).strategy
        return trained[name.split()[0]]

    monkeypatch.setattr(thesis_table_5_3, "train_preset", train_preset)
    curves = thesis_table_5_3.draw(Size(20_000, parts=("leduc", "2", "3")), 2, ignore)
    assert list(trained) == list(curves.values) == list(agents)
    rows = {str(row["agent"]): row for row in curves.rows}
    for agent, row in rows.items():
        assert row[agent] == ""
        others = [other for other in agents if other != agent]
        for other in others:
            assert float(row[other]) == -float(rows[other][agent])
            exact = errai.expected_value(trained[agent], trained[other]).mbb_per_game
            assert abs(float(row[other]) - exact) <= 2 * float(row["half-width of a match, at most"])
        average = sum(float(row[other]) for other in others) / 2
        assert row["average"] == pytest.approx(average) == curves.values[agent][-1]
    # More iterations win: so do both with imperfect recall, as seen from either side.
    assert curves.notes[3].startswith("imperfect recall wins 2 of 2 matches against perfect recall, 2 beyond")
    assert curves.notes[4].startswith("first three: IR-KE-KO, IR-PHS-PHS, PR-PHS-PHS (published: IR-KE-KO, ")
    claims = compare(thesis_table_5_3.FIGURE, curves).claims
    assert [(claim.below, claim.above, claim.holds) for claim in claims] == [
        ("PR-PHS-PHS", "IR-PHS-PHS", True)
    ]


def test_table_5_3_by_its_command(
    run_errai: RunErrai, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thesis_table_5_3, "AGENTS", ("PR-PHS-KO", "IR-KE-KO"))
    figure = replace(thesis_table_5_3.FIGURE, sizes={QUICK: Size(500, parts=("rhode-island", "2", "0.1"))})
    monkeypatch.setattr(thesis_table_5_3, "FIGURE", figure)
    status, out, _ = run_errai("reproduce", "thesis-table-5.3", "--out", "new")
    assert status == 0
    assert "in rhode-island: PR-PHS-KO 2x1-2x1-2, IR-KE-KO 13-7-7\n" in out
    assert (tmp_path / "new" / "thesis-table-5.3.png").stat().st_size > 10_000
    with open(tmp_path / "new" / "thesis-table-5.3-rows.csv", newline="") as file:
        assert [row["agent"] for row in csv.DictReader(file)] == ["PR-PHS-KO", "IR-KE-KO"]
    status, _, err = run_errai("reproduce", "thesis-table-5.3", "--iterations", "1", "--out", "new")
    assert (status, "1 deals have no interval: expected at least 2" in err) == (2, True)


def test_exploitability_by_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = errai.solve("leduc", "external", iterations=300, seed=1).strategy
    monkeypatch.setattr(purification_threshold, "train_preset", lambda *_, **__: strategy)
    curves = purification_threshold.draw(Size(40, parts=("leduc", "1")), 3, ignore)
    assert curves.points == [0.0, 0.05, 0.15, 0.25, 0.5]
    for place, threshold in enumerate(curves.points):
        # What stands at 0.5 was purified, and is the same as a threshold of 0.5.
        played = treated(strategy, Treatment.parse(f"threshold={threshold}"))
        sampled = errai.exploitability(played, flops=40, seed=3)
        assert curves.values["maximum"][place] == pytest.approx(sampled.mbb_per_game)
        assert curves.values["cross-validated"][place] == pytest.approx(sampled.cross_validated.mbb_per_game)
        exact = errai.exploitability(played).mbb_per_game
        assert curves.beside["bounds, low"][place] <= exact <= curves.beside["bounds, high"][place]
    assert len(set(curves.values["maximum"])) == 5
    assert curves.beside["GS6, published"] == (463.591, 326.119, 318.465, 335.048, 349.873)
    assert curves.notes[-2:] == (
        "GS6, published: least at 0.15, most at none",
        "Hyperborean, published: least at none, most at purified, rises all the way",
    )
    assert "(published: GS6 318.465, Hyperborean 258.53)" in curves.notes[2]


def test_thresholds_by_their_command(
    run_errai: RunErrai, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = replace(purification_threshold.FIGURE, sizes={QUICK: Size(5, parts=("leduc", "0.1"))})
    monkeypatch.setattr(purification_threshold, "FIGURE", figure)
    status, out, _ = run_errai("reproduce", "purification-threshold", "--out", "new")
    assert status == 0
    assert "  Hyperborean, published: least at none, most at purified, rises all the way\n" in out
    assert (tmp_path / "new" / "purification-threshold.png").stat().st_size > 10_000
    with open(tmp_path / "new" / "purification-threshold.csv", newline="") as file:
        assert [row["threshold"] for row in csv.DictReader(file)] == ["0.0", "0.05", "0.15", "0.25", "0.5"]
    status, _, err = run_errai("reproduce", "purification-threshold", "--iterations", "1", "--out", "new")
    assert (status, "1 flops are too few for an estimate: expected at least 2" in err) == (2, True)
