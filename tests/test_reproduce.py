"""`errai reproduce`: the published crossing points, the files, and the claims of the paper."""

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from errai.cli.main import main
from errai.experiments import rhode_island
from errai.experiments.abstracted_holdem import abstraction_curves, build_for
from errai.experiments.figure import (
    PAPER,
    QUICK,
    SECONDS,
    Curves,
    Figure,
    PublishedCrossing,
    Size,
    Tell,
    compare,
    points_to_measure,
)
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.registry import FIGURES, find_figure
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules


def reproduce(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["errai", "reproduce", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out, told.err


def test_matching_pennies_cross_where_published(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tammelin et al. 2015, "Matrix Games": 1e-3 first at iteration 3,539 (CFR) and 343 (CFR+)."""
    name = "cepheus-figure-2a"
    status, out, _ = reproduce(capsys, monkeypatch, name, "--out", str(tmp_path), "--json")
    assert status == 0
    crossings = json.loads(out)["crossings"]
    assert [(one["curve"], one["iteration"], one["published"]) for one in crossings] == [
        ("CFR", 3539, 3539),
        ("CFR+", 343, 343),
    ]
    with open(tmp_path / f"{name}.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["iteration", "CFR", "CFR+"]
    assert len(rows) == 10_001
    assert float(rows[343][2]) <= 1e-3 < float(rows[342][2])
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    status, out, _ = reproduce(capsys, monkeypatch, name, "--out", str(tmp_path), "--iterations", "400")
    assert "CFR reaches 0.001 chips not within 400 iterations (published: 3,539)" in out
    assert "CFR+ reaches 0.001 chips first at iteration 343 (published: 343)" in out


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("cepheus")])
def test_every_figure_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    if "figure-1" in name:  # the same code on a game that takes no time
        monkeypatch.setattr(rhode_island, "GAME", "leduc")
    arguments = ("--out", str(tmp_path / "new"), "--iterations", "30", "--json")
    status, out, _ = reproduce(capsys, monkeypatch, name, *arguments)
    assert status == 0
    made = json.loads(out)
    assert {one["curve"] for one in made["crossings"]} == {one.curve for one in find_figure(name).crossings}
    assert all(claim["holds"] for claim in made["claims"])
    with open(made["data"], newline="") as file:
        rows = list(csv.reader(file))
    assert rows[-1][0] == "30"
    assert len(rows[0]) == (5 if "figure-1" in name else 3)
    assert Path(made["picture"]).stat().st_size > 1000


@pytest.mark.slow
def test_random_matrices_cross_where_published(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The means over ten other random matrices: within 15% of the published ones."""
    status, out, _ = reproduce(capsys, monkeypatch, "cepheus-figure-2b", "--out", str(tmp_path), "--json")
    assert status == 0
    for one in json.loads(out)["crossings"]:
        if one["published"] is None:
            assert one["iteration"] is None
        else:
            assert one["iteration"] == pytest.approx(one["published"], rel=0.15)


@pytest.fixture(scope="module")
def hold_em_features(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The features of the whole of hold'em, 4 GiB, in a cache of this file's own."""
    from errai.abstraction.features.build import build_features
    from errai.abstraction.features.features import FeaturePlan

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        build_features(FeaturePlan(load_game("limit-holdem")))
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("hold_em_features")
@pytest.mark.parametrize(
    ("bucketing", "both", "against_full"),
    [
        ("PR-PHS-PHS-C-C 5x1-5x1-C-C", (130, 158), (73, 89)),
        ("IR-C-KO-C-C 169-570-C-C", (65, 113), (20, 30)),
    ],
)
def test_abstracted_holdem_is_as_exploitable_as_published(
    bucketing: str, both: tuple[float, float], against_full: tuple[float, float]
) -> None:
    """Johanson 2016: 144 and 81 mbb/g in figure 4.4, 103 and 25 in figure 4.5.

    How hands were bucketed is not published; by hold'em's features three of the four come within 10% (4.4)
    and 20% (4.5). Why the fourth, imperfect recall with both abstracted, is lower: docs/findings.md.
    """
    game, hold_em = load_game("holdem-2-4"), load_game("limit-holdem")
    assert isinstance(game, PokerRules)
    assert isinstance(hold_em, PokerRules)
    found = abstraction_curves(game, build_for(game, bucketing, hold_em, 0), [120], lambda *_: None)
    assert both[0] < found.both[-1] < both[1]
    assert against_full[0] < found.against_full[-1] < against_full[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cepheus-figure-1a", "cepheus-figure-1b"])
def test_claims_hold_in_rhode_island(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    arguments = ("--out", str(tmp_path), "--iterations", "300", "--json")
    status, out, _ = reproduce(capsys, monkeypatch, name, *arguments)
    assert status == 0
    assert all(claim["holds"] for claim in json.loads(out)["claims"])


def test_points_are_even_on_a_logarithmic_axis() -> None:
    assert points_to_measure(1) == [1]
    assert points_to_measure(10) == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert points_to_measure(1000)[-1] == 1000
    assert len(points_to_measure(1000)) < 40


def test_curves_beside_published_ones(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A figure of four points: where curves cross, where they end, which is below, and what is left out."""
    values: dict[str, Sequence[float]] = {"A": [4.0, 2.0, 1.0, 0.5], "B": [1.0, 2.0, 3.0, 3.0]}

    def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
        return Curves([1, 2, 5, size.iterations], values, (f"'C' is left out: seed {seed}",))

    figure = Figure(
        "Two curves",
        "mbb/g",
        {PAPER: Size(9000), QUICK: Size(8, 3)},
        draw,
        crossings=(
            PublishedCrossing("A", 2.0, 1234),
            PublishedCrossing("A", 0.1),
            PublishedCrossing("B", 1.0, None, False),
        ),
        claims=(("A", "B"), ("B", "A")),
        ends=(("A", 0.75),),
    )
    found = compare(figure, draw(Size(7), 0, lambda *_: None))
    assert [one.point for one in found.crossings] == [2, None, 1]
    assert found.ends == (("A", 0.5, 0.75),)
    assert found.claims == (("A", "B", True), ("B", "A", False))
    monkeypatch.setattr("errai.experiments.registry.find_figure", lambda name: figure)
    status, out, err = reproduce(
        capsys, monkeypatch, "two", "--out", str(tmp_path), "--iterations", "7", "--seed", "3"
    )
    assert (status, err) == (0, "errai: 'C' is left out: seed 3\n")
    assert out.splitlines() == [
        "two: Two curves, 7 iterations, mean of 3 runs, seed 3",
        "  A reaches 2 mbb/g first at iteration 2 (published: 1,234)",
        "  A reaches 0.1 mbb/g not within 7 iterations (published: not within 9,000)",
        "  B reaches 1 mbb/g first at iteration 1 (published: no number)",
        "  A ends at 0.5 mbb/g (published: 0.75)",
        "  A ends below B, as published: holds",
        "  B ends below A, as published: does not hold",
        f"data in {tmp_path / 'two.csv'}, picture in {tmp_path / 'two.png'}",
    ]
    _, out, _ = reproduce(
        capsys, monkeypatch, "two", "--out", str(tmp_path), "--iterations", "7", "--seed", "3", "--json"
    )
    assert json.loads(out) == {
        "figure": "two",
        "iterations": 7,
        "runs": 3,
        "seed": 3,
        "unit": "mbb/g",
        "crossings": [
            {"curve": "A", "target": 2.0, "iteration": 2, "published": 1234},
            {"curve": "A", "target": 0.1, "iteration": None, "published": None},
            {"curve": "B", "target": 1.0, "iteration": 1, "published": None},
        ],
        "ends": [{"curve": "A", "value": 0.5, "published": 0.75}],
        "claims": [
            {"below": "A", "above": "B", "holds": True},
            {"below": "B", "above": "A", "holds": False},
        ],
        "notes": [],
        "data": str(tmp_path / "two.csv"),
        "picture": str(tmp_path / "two.png"),
    }
    assert (tmp_path / "two.csv").read_text().split() == [
        "iteration,A,B",
        "1,4.0,1.0",
        "2,2.0,2.0",
        "5,1.0,3.0",
        "7,0.5,3.0",
    ]


def test_every_figure_is_found_by_its_name() -> None:
    for name in FIGURES:
        assert PAPER in find_figure(name).sizes


def test_sizes_of_a_figure_over_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Size] = []

    def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
        asked.append(size)
        return Curves([0.5, 1.5], {"A": [2.0, 1.0], "B": [3.0, 2.0]})

    sizes = {QUICK: Size(90.0, 2, ("small",)), PAPER: Size(9000.0, 5, ("small", "large"))}
    claims = (("A", "B"), ("A", "a curve of the large game"))
    figure = Figure("A race", "mbb/g", sizes, draw, claims=claims, axes=SECONDS)
    monkeypatch.setattr("errai.experiments.registry.find_figure", lambda name: figure)
    out = ("--out", str(tmp_path))
    status, told, _ = reproduce(capsys, monkeypatch, "race", *out)
    assert status == 0
    assert told.splitlines() == [
        "race: A race, 1.5 minutes, mean of 2 runs, seed 0",
        "  A ends below B, as published: holds",
        f"data in {tmp_path / 'race.csv'}, picture in {tmp_path / 'race.png'}",
    ]
    assert (tmp_path / "race.csv").read_text().split() == ["second,A,B", "0.5,2.0,3.0", "1.5,1.0,2.0"]
    reproduce(capsys, monkeypatch, "race", *out, "--size", "paper")
    reproduce(capsys, monkeypatch, "race", *out, "--time", "3m")
    assert asked == [sizes[QUICK], sizes[PAPER], Size(180.0, 2, ("small",))]
    _, told, _ = reproduce(capsys, monkeypatch, "race", *out, "--json")
    assert (json.loads(told)["seconds"], json.loads(told)["runs"]) == (90.0, 2)
    for arguments, sentence in (
        (("--iterations", "5"), "'race' counts seconds: it takes --time, not --iterations"),
        (("--size", "huge"), "'huge' is not a size of this figure: expected quick or paper"),
    ):
        status, _, err = reproduce(capsys, monkeypatch, "race", *out, *arguments)
        assert status == 2
        assert sentence in err
    assert len(asked) == 4


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A figure that takes no time, and what it was asked for."""
    asked: list[object] = []

    def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
        asked.append((size.iterations, seed))
        tell("CFR", 1, 4)
        return Curves([1, 2], {"A": [2.0, 1.0]}, ())

    figure = Figure("One curve", "chips", {PAPER: Size(1234)}, draw, crossings=(), claims=(), ends=())
    monkeypatch.setattr("errai.experiments.registry.find_figure", lambda name: figure)
    return asked


def test_as_many_iterations_as_in_the_paper_and_into_this_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: list[object]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("errai.cli.progress.FIRST_GAP", 0.0)
    status, out, err = reproduce(capsys, monkeypatch, "one")
    assert (status, small) == (0, [(1234, 0)])
    assert out == "one: One curve, 1,234 iterations, seed 0\ndata in one.csv, picture in one.png\n"
    assert err == "errai: CFR: 25%\n"
    assert {path.name for path in tmp_path.iterdir()} == {"one.csv", "one.png", "one.log"}
    assert (tmp_path / "one.log").read_text().endswith("Z CFR: 25%\n")
    _, out, _ = reproduce(capsys, monkeypatch, "one", "--iterations", "1", "--json")
    assert (json.loads(out)["iterations"], small[1]) == (1, (1, 0))


def test_an_interrupted_figure_goes_on_with_the_parts_that_are_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[str] = []
    breaks_off = True

    def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
        def curve(name: str) -> list[float]:
            if name == "B" and breaks_off:
                raise KeyboardInterrupt
            made.append(name)
            return [2.0, 1.0 + len(made)]

        return Curves([1, 2], {name: kept.part(name, partial(curve, name)) for name in ("A", "B")})

    figure = Figure("Two curves", "chips", {PAPER: Size(1234)}, draw)
    monkeypatch.setattr("errai.experiments.registry.find_figure", lambda name: figure)
    monkeypatch.chdir(tmp_path)
    command = ("two", "--out", "a b", "--seed", "9")
    status, out, err = reproduce(capsys, monkeypatch, *command)
    assert (status, out) == (130, "")
    (kept,) = (tmp_path / "a b").iterdir()
    assert err == (
        f"errai: interrupted; parts that are done stay in a b/{kept.name}; go on with: "
        "errai reproduce two --out 'a b' --seed 9 --resume\n"
    )
    status, _, err = reproduce(capsys, monkeypatch, *command, "--resume")
    assert (status, err.count("--resume")) == (130, 1)
    breaks_off = False
    status, _, err = reproduce(capsys, monkeypatch, *command, "--resume", "--iterations", "5")
    assert (status, made) == (0, ["A", "A", "B"])  # another size begins anew
    assert reproduce(capsys, monkeypatch, *command, "--resume")[0] == 0
    assert made == ["A", "A", "B", "B"]
    assert (tmp_path / "a b" / "two.csv").read_text().split() == ["iteration,A,B", "1,2.0,2.0", "2,2.0,5.0"]
    assert not kept.exists()
    breaks_off = True
    assert reproduce(capsys, monkeypatch, *command)[0] == 130
    breaks_off = False
    status, _, err = reproduce(capsys, monkeypatch, *command)  # what is done is not thrown away by mistake
    assert (status, made[4:]) == (2, ["A"])
    assert "holds parts of an interrupted figure: go on with --resume, or remove it" in err
    assert reproduce(capsys, monkeypatch, *command, "--resume")[0] == 0
    assert made[4:] == ["A", "B"]


def test_a_figure_needs_matplotlib_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: list[object]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, _ = reproduce(capsys, monkeypatch, "one", "--out", "new")
    assert (status, out, small) == (2, "", [])
    assert list(tmp_path.iterdir()) == []
