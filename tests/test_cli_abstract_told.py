"""What `errai abstract` tells of Leduc's abstractions: whole texts, and whole objects of `--json`."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT
from test_cli import KUHN_FILE

import errai
from errai.abstraction.abstraction import Abstraction
from errai.abstraction.build import abstract
from errai.abstraction.compare import Overlap, compare_round
from errai.abstraction.describe import (
    Occupancy,
    Spread,
    features_of,
    occupancy,
)
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.options import BuildOptions
from errai.abstraction.public.clusters import PublicClusters
from errai.abstraction.recipe import parse_recipes
from errai.cli import abstract_build, abstract_public
from errai.cli.options import Refusal
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules

RunErrai = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")

ONE, TWO = "IR-KE-KO 2-4", "IR-HS-HS 2-4 / PR-KE-HS 2-2"


def rules() -> PokerRules:
    found = load_game("leduc")
    assert isinstance(found, PokerRules)
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A folder with an abstraction of both players, `one`, and one of each, `two`; and all features."""
    folder = tmp_path_factory.mktemp("home")
    build_features(FeaturePlan.of(rules()), num_threads=1)
    abstract(rules(), ONE, folder / "one", options=BuildOptions(seed=3))
    abstract(rules(), TWO, folder / "two")
    return folder


@pytest.fixture
def run(run_errai: RunErrai, home: Path, monkeypatch: pytest.MonkeyPatch) -> RunErrai:
    """The same in that folder and at 80 columns, without lines of progress and of the compiler."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("COLUMNS", "80")

    def quiet(*words: str) -> tuple[int, str, str]:
        status, out, err = run_errai(*words)
        return status, out, re.sub(r"errai: (compiling kernels|[^:\n]+: \d+%).*\n", "", err)

    return quiet


def opened(home: Path, name: str) -> Abstraction:
    found = errai.load_abstraction(home / name)
    assert isinstance(found, Abstraction)
    return found


# Features


def test_features_as_json(run: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = FeaturePlan.of(rules())
    told = {
        "game": "leduc",
        "clusters": 3,
        "fingerprint": plan.fingerprint,
        "out": str(plan.folder),
        "disk_bytes": 432,
        "num_hands": [3, 9],
        "built": False,
    }
    status, out, err = run("abstract", "features", "leduc", "--json")
    assert (status, json.loads(out), err) == (0, told, "")


@pytest.mark.parametrize("as_json", [True, False])
def test_features_are_announced_with_their_cost(
    run: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, as_json: bool
) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "own"))
    seen: list[Any] = []

    def estimate(plan: FeaturePlan, threads: int | None) -> float:
        seen.append(("estimate", plan.num_clusters, threads))
        return 5400.0

    def build(plan: FeaturePlan, threads: int | None, report: Any) -> None:
        seen.append(("build", plan.num_clusters, threads))

    monkeypatch.setattr("errai.abstraction.features.build.estimate_seconds", estimate)
    monkeypatch.setattr("errai.abstraction.features.build.build_features", build)
    more = ["--json"] if as_json else []
    status, out, err = run("abstract", "features", "leduc", "--clusters", "2", "--threads", "7", *more)
    plan = FeaturePlan(rules(), 2)
    line = f"features of leduc: {plan.disk_bytes} bytes of disk in {plan.folder}, about 1.5 hours\n"
    assert seen == [("estimate", 2, 7), ("build", 2, 7)]
    if as_json:
        assert (status, err, json.loads(out)["built"], json.loads(out)["clusters"]) == (0, line, True, 2)
    else:
        assert (status, err) == (0, "")
        assert re.fullmatch(
            re.escape(line)
            + r"built in \d+\.\d ms\nnext: errai abstract build NAME, such as 'IR-KE-KO 169-200-200-200'\n",
            out,
        )


# Build


def clustered(found: Abstraction, player: int, r: int) -> dict[str, Any]:
    known = found.statistics[player][r]
    return {
        "distance": known.get("cost"),
        "iterations": known.get("iterations"),
        "share_saved": known.get("share_saved"),
        "seconds": known.get("seconds"),
    }


def test_build_as_json(run: RunErrai, home: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "new")
    status, text, err = run(
        "abstract", "build", TWO, "--game", "leduc", "--out", out, "--seed", "5", "--json"
    )
    assert (status, err) == (0, "")
    found = opened(tmp_path, "new")
    assert json.loads(text) == {
        "game": "leduc",
        "abstraction": TWO,
        "fingerprint": found.fingerprint,
        "seed": 5,
        "out": out,
        "rounds": [
            {
                "position": player,
                "round": r + 1,
                "street": None,
                "method": method,
                "buckets": buckets,
                "used_buckets": used,
                **clustered(found, player, r),
            }
            for player, r, method, buckets, used in (
                (0, 0, "HS", 2, 2),
                (0, 1, "HS", 4, 3),
                (1, 0, "KE", 2, 2),
                (1, 1, "HS", 4, 4),
            )
        ],
    }
    assert not (tmp_path / "new" / ".build.json").exists()


def test_build_as_text(run: RunErrai, home: Path, tmp_path: Path) -> None:
    status, out, err = run("abstract", "build", TWO, "--game", "leduc", "--out", str(tmp_path / "a b"))
    assert (status, err) == (0, "")
    found = opened(tmp_path, "a b")
    seconds = [f"{found.statistics[player][r]['seconds']:,.1f}" for player in range(2) for r in range(2)]
    saved = f"{found.statistics[1][0]['share_saved']:.2%}"
    kept = FeaturePlan.of(rules(), None, {"histograms-0"})
    assert out.splitlines() == [
        f"{TWO} of leduc, in {tmp_path / 'a b'}",
        "tables: 48 bytes of memory and disk (6 bytes + 18 bytes + 6 bytes + 18 bytes)",
        f"features of leduc: in the cache already, 354 bytes in {kept.folder}",
        f"{TWO}, seed 0",
        "  round    player  by  buckets  used  distance  steps    saved  seconds",
        "  -------  ------  --  -------  ----  --------  -----  -------  -------",
        f"  round 1       0  HS        2     2         -      -        -  {seconds[0]:>7}",
        f"  round 2       0  HS        4     3         -      -        -  {seconds[1]:>7}",
        f"  round 1       1  KE        2     2   0.06667      1  {saved:>7}  {seconds[2]:>7}",
        f"  round 2       1  HS        4     4         -      -        -  {seconds[3]:>7}",
        "  distance: mean to a bucket's centre, in hand strength (KO: root mean square)",
        "  saved: share of distances that pruning did not have to compute",
        f"saved in {tmp_path / 'a b'}; next: errai abstract info '{tmp_path / 'a b'}'",
    ]


def test_what_a_build_is_given(run: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Clusters and threads go to the features; 0 passes are passes; the rest is left to the builder."""
    seen: list[Any] = []

    def features(plan: FeaturePlan, threads: int | None, as_json: bool, go_on: str) -> Any:
        seen.append((plan.num_clusters, threads, as_json, go_on, (tmp_path / "x y/.build.json").exists()))
        return "features"

    def build(recipes: Any, features: Any, options: BuildOptions, *, out: Path, report: Any) -> None:
        seen.append((" / ".join(one.name for one in recipes), features, options, out))
        raise KeyboardInterrupt

    monkeypatch.setattr(abstract_build, "build_features_told", features)
    monkeypatch.setattr("errai.abstraction.build.build_abstraction", build)
    out = str(tmp_path / "x y")
    words = ["abstract", "build", "ir-ko 2-4", "--game", "leduc", "--out", out, "--passes", "0"]
    again = f"errai abstract build --resume --out '{out}'"
    assert run(*words, "--seed", "0", "--clusters", "2", "--threads", "3", "--json") == (
        130,
        "",
        f"errai: interrupted; rounds that are done stay in {out}; go on with: {again}\n",
    )
    assert seen == [
        (2, 3, True, again, True),
        ("IR-KO-KO 2-4", "features", BuildOptions(full_passes=0, num_threads=3), Path(out)),
    ]
    assert json.loads((tmp_path / "x y" / ".build.json").read_text()) == {
        "game": "leduc",
        "name": "IR-KO-KO 2-4",
        "out": out,
        "seed": 0,
        "restarts": None,
        "iterations": None,
        "sample": None,
        "passes": 0,
        "clusters": 2,
    }


def test_a_build_is_noted_so_that_it_is_found_from_anywhere(
    run: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A game file by its whole path, the name as it is spelt, and nothing that was not given."""
    seen: list[Any] = []

    def build(recipes: Any, features: Any, options: BuildOptions, **_: object) -> None:
        seen.append(options)
        raise UsageError("enough")

    monkeypatch.setattr(abstract_build, "build_features_told", lambda *_: None)
    monkeypatch.setattr("errai.abstraction.build.build_abstraction", build)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.game").write_text(KUHN_FILE)
    assert run("abstract", "build", "ir-hs 2", "--game", "own.game") == (
        2,
        "IR-HS 2 of own.game, in IR-HS_2\ntables: 6 bytes of memory and disk\n",
        "errai: enough.\n",
    )
    assert seen == [BuildOptions()]
    noted = json.loads((tmp_path / "IR-HS_2" / ".build.json").read_text())
    assert {key: value for key, value in noted.items() if value is not None} == {
        "game": str(tmp_path / "own.game"),
        "name": "IR-HS 2",
        "out": "IR-HS_2",
    }


@pytest.mark.parametrize("check", ["verify_build", "table_bytes"])
def test_a_build_is_checked_before_its_features_are_made(
    run: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: str
) -> None:
    def refuse(*_: object) -> None:
        raise UsageError("refused")

    monkeypatch.setattr(abstract_build, "build_features_told", None)
    monkeypatch.setattr(f"errai.abstraction.build.{check}", refuse)
    out = str(tmp_path / "x")
    assert run("abstract", "build", ONE, "--game", "leduc", "--out", out) == (2, "", "errai: refused.\n")
    assert not (tmp_path / "x").exists()


def test_a_disk_that_just_holds_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = parse_recipes(ONE, rules())
    monkeypatch.setattr("errai.memory.free_disk", lambda folder: 24)
    assert abstract_build._verified_tables(recipes, FeaturePlan.of(rules()), Path("x")) == [6, 18]
    monkeypatch.setattr("errai.memory.free_disk", lambda folder: 23)
    with pytest.raises(UsageError) as refused:
        abstract_build._verified_tables(recipes, FeaturePlan.of(rules()), Path("x"))
    assert str(refused.value) == (
        "not enough disk for the tables in 'x': 24 bytes are needed, 23 bytes are free"
    )


# Info


def spread(one: Spread | None) -> dict[str, float] | None:
    return None if one is None else dict(zip(("smallest", "median", "largest"), one, strict=True))


@pytest.mark.parametrize("name", ["one", "two"])
def test_info_as_json(run: RunErrai, home: Path, name: str) -> None:
    found = opened(home, name)
    features = features_of(found)
    assert features is not None
    sides = range(1 if name == "one" else 2)
    full = {(player, r): occupancy(found, r, player, features) for player in sides for r in range(2)}
    made = {
        "one": [("KE", False, 2), ("KO", False, 4)],
        "two": [("HS", False, 2), ("HS", False, 4), ("KE", False, 2), ("HS", True, 4)],
    }[name]
    assert json.loads(run("abstract", "info", name, "--json")[1]) == {
        "path": name,
        "game": "leduc",
        "abstraction": {"one": ONE, "two": TWO}[name],
        "fingerprint": found.fingerprint,
        "features": str(features.plan.folder),
        "disk_bytes": sum(path.stat().st_size for path in (home / name).iterdir()),
        "rounds": [
            {
                "position": player,
                "round": r + 1,
                "street": None,
                "kind": found.rounds[player][r].kind,
                "method": method,
                "recall": recall,
                "buckets": buckets,
                "table_bytes": (6, 18)[r],
                **clustered(found, player, r),
                "seed": 3 if name == "one" else 0,
                "occupancy": {
                    "used_buckets": one.num_used,
                    "hands_a_bucket": spread(one.hands),
                    "deals_a_bucket": spread(one.deals),
                    "num_random_deals": None,
                },
            }
            for ((player, r), one), (method, recall, buckets) in zip(full.items(), made, strict=True)
        ],
    }


def test_info_as_text(run: RunErrai, home: Path) -> None:
    found = opened(home, "two")
    seconds = [f"{found.statistics[player][r]['seconds']:,.1f}" for player in range(2) for r in range(2)]
    saved = f"{found.statistics[1][0]['share_saved']:.2%}"
    size = sum(path.stat().st_size for path in (home / "two").iterdir()) * 10 // 1024 / 10
    assert run("abstract", "info", "two")[1].splitlines() == [
        f"{TWO} of leduc",
        f"{size} KiB in two, every bit verified",
        f"fingerprint {found.fingerprint}, seed 0",
        "how it was made",
        "  round    player  by  recall  buckets  distance  steps    saved  seconds     table",
        "  -------  ------  --  ------  -------  --------  -----  -------  -------  --------",
        f"  round 1       0  HS      no        2         -      -        -  {seconds[0]:>7}   6 bytes",
        f"  round 2       0  HS      no        4         -      -        -  {seconds[1]:>7}  18 bytes",
        f"  round 1       1  KE      no        2   0.06667      1  {saved:>7}  {seconds[2]:>7}   6 bytes",
        f"  round 2       1  HS     yes        4         -      -        -  {seconds[3]:>7}  18 bytes",
        "  distance: mean to a bucket's centre, in hand strength (KO: root mean square)",
        "  saved: share of distances that pruning did not have to compute",
        "how full its buckets are (smallest, median, largest of those that are used)",
        "  round    player  used  hands        deals",
        "  -------  ------  ----  -----  -  -  -----  --  --",
        "  round 1       0     2      1  2  2      2   3   4",
        "  round 2       0     3      3  3  3      6  12  12",
        "  round 1       1     2      1  2  2      2   3   4",
        "  round 2       1     4      1  2  3      2   8  12",
        "  round 1, round 2 of player 0; round 1, round 2 of player 1: hands are classes (hole cards, "
        "unordered board)",
    ]


def test_info_of_named_groups(run: RunErrai) -> None:
    assert run("abstract", "info", "[JQ.K]")[1] == (
        "[JQ.K] of leduc\n"
        "how it was made\n"
        "  round    by  recall  buckets  distance  steps  saved  seconds  table\n"
        "  -------  --  ------  -------  --------  -----  -----  -------  -----\n"
        "  round 1   -       -        2         -      -      -        -   none\n"
        "  round 2   -       -        4         -      -      -        -   none\n"
        "how full its buckets are (smallest, median, largest of those that are used)\n"
        "  round    used  hands        deals\n"
        "  -------  ----  -----  -  -  -----  -  --\n"
        "  round 1     2      -  -  -      2  3   4\n"
        "  round 2     4      -  -  -      2  6  16\n"
        "  round 1, round 2: all deals were looked up\n"
    )
    told = json.loads(run("abstract", "info", "[JQ.K]", "--json")[1])
    assert (told["fingerprint"], told["features"], told["disk_bytes"]) == (None, None, 0)
    assert told["rounds"][1] == {
        **{"position": 0, "round": 2, "street": None, "kind": "by look-up", "method": None, "recall": None},
        **{"buckets": 4, "table_bytes": None, "distance": None, "iterations": None, "share_saved": None},
        **{"seconds": None, "seed": None},
        "occupancy": {
            "used_buckets": 4,
            "hands_a_bucket": None,
            "deals_a_bucket": {"smallest": 2, "median": 6.0, "largest": 16},
            "num_random_deals": None,
        },
    }


def test_random_deals_are_told(run: RunErrai, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the seed that was given, where not all deals were looked up."""
    seen = []

    def stand_in(found: Any, r: int, player: int, features: Any, seed: int) -> Occupancy:
        seen.append((r, player, features is not None, seed))
        return Occupancy(4, 3, None, Spread(1, 2.5, 12_345_678), 9876)

    monkeypatch.setattr("errai.abstraction.describe.occupancy", stand_in)
    out = run("abstract", "info", "one", "--seed", "8")[1]
    assert seen == [(0, 0, True, 8), (1, 0, True, 8)]
    assert out.endswith("  round 1, round 2: seen in 9,876 random deals\n")
    assert "  round 2     3      -  -  -      1  2  12.3M\n" in out
    told = json.loads(run("abstract", "info", "one", "--json")[1])
    assert told["rounds"][0]["occupancy"] == {
        "used_buckets": 3,
        "hands_a_bucket": None,
        "deals_a_bucket": {"smallest": 1, "median": 2.5, "largest": 12_345_678},
        "num_random_deals": 9876,
    }


# Compare


def test_compare_as_json(run: RunErrai, home: Path) -> None:
    a, b = opened(home, "one"), opened(home, "two")
    rounds = []
    for player in range(2):
        for r in range(2):
            found = compare_round(a, b, r, player)
            rounds.append(
                {
                    "position": player,
                    "round": r + 1,
                    "street": None,
                    "num_hands": (3, 9)[r],
                    "unit": "classes",
                    "buckets": list(found.num_buckets),
                    "used_buckets": list(found.num_used),
                    "rand": found.rand,
                    "adjusted_rand": found.adjusted_rand,
                    "mutual_information": found.mutual_information,
                    "refinement": list(found.refinement),
                }
            )
    assert json.loads(run("abstract", "compare", "one", "two", "--seed", "6", "--json")[1]) == {
        "abstractions": [
            {"path": "one", "abstraction": ONE, "game": "leduc"},
            {"path": "two", "abstraction": TWO, "game": "leduc"},
        ],
        "seed": 6,
        "rounds": rounds,
    }


def test_compare_as_text(run: RunErrai, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def stand_in(a: Any, b: Any, r: int, player: int, deals: int, seed: int) -> Overlap:
        seen.append((a.name, b.name, r, player, deals, seed))
        unit = ("classes", "random deals")[r]
        sizes = (1000 * (r + 1) + player, unit, (2, 4), (1234, 5), 0.1234567, 0.25, 0.5, (0.75, 1.0))
        return Overlap(*sizes)

    monkeypatch.setattr("errai.abstraction.compare.compare_round", stand_in)
    assert run("abstract", "compare", "two", "one", "--seed", "9") == (
        0,
        f"A: {TWO} (two)\n"
        f"B: {ONE} (one)\n"
        "agreement on the cards of leduc\n"
        "  round    player  A used  B used    Rand  adjusted  inform.  A in B  B in A\n"
        "  -------  ------  ------  ------  ------  --------  -------  ------  ------\n"
        "  round 1       0   1,234       5  0.1235    0.2500   0.5000   75.0%  100.0%\n"
        "  round 2       0   1,234       5  0.1235    0.2500   0.5000   75.0%  100.0%\n"
        "  round 1       1   1,234       5  0.1235    0.2500   0.5000   75.0%  100.0%\n"
        "  round 2       1   1,234       5  0.1235    0.2500   0.5000   75.0%  100.0%\n"
        "  used: buckets with hands in them\n"
        "  Rand: share of pairs of hands that are together in both or apart in both\n"
        "  adjusted: the same, 0 by chance, 1 where A and B are the same\n"
        "  inform.: mutual information over the mean entropy; 1 where each bucket tells the other\n"
        "  A in B: share of A's buckets that lie within one bucket of B; 100%: A refines B\n"
        "  compared in round 1: 1,000 classes\n"
        "  compared in round 2: 2,000 random deals, seed 9\n",
        "",
    )
    assert seen == [(TWO, ONE, r, player, 100_000, 9) for player in range(2) for r in range(2)]


# Public


@pytest.fixture
def public(run: RunErrai, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A plan that builds nothing, and what it was made of."""
    seen: list[Any] = []
    boards = PublicClusters(np.repeat(np.arange(3, dtype=np.int32), [4, 1, 9]), 3, 2.5, 6, True, 0)
    built: Any = SimpleNamespace(
        game=rules(), name="P", num_clusters=3, special_round=1, num_buckets=lambda r: (13, 3 * 1234)[r]
    )

    def build(report: Any, told: Callable[[PublicClusters], None]) -> Any:
        seen.append(report.__name__)
        clock.now += 5400.0
        told(boards)
        clock.now += 1800.0
        return built

    def plan(base: Any, folder: Path, **options: Any) -> Any:
        seen.append((base.name, folder, options))
        return SimpleNamespace(
            **{"name": "P 1-2", "base": base, "features": "features", "build": build},
            **{"table_bytes": 512, "memory_bytes": 3 << 20},
        )

    clock = SimpleNamespace(now=100.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(abstract_public, "clock", clock)
    monkeypatch.setattr("errai.abstraction.public.abstract.plan_public", plan)
    monkeypatch.setattr(abstract_public, "build_features_told", lambda *asked: seen.append(asked))
    return seen


def test_public_as_text(run: RunErrai, public: list[Any]) -> None:
    assert run("abstract", "public", "one", "--seed", "4", "--threads", "2") == (
        0,
        "P 1-2 of leduc, in PUBLIC60-KE-KO_500\n"
        "tables: 512 bytes of memory and disk; to build them about 3.0 MiB of memory\n"
        f"14 public boards of round 2 of leduc in 3 clusters, by the 4 buckets of {ONE}\n"
        "boards a cluster: 1 to 9, median 4; 6 passes, 1.5 hours\n"
        "P, seed 4\n"
        "  round    buckets  a cluster\n"
        "  -------  -------  ---------\n"
        "  round 2    3,702      1,234\n"
        "built in 2.0 hours; saved in PUBLIC60-KE-KO_500, a folder for each cluster\n",
        "",
    )
    options = {
        **{"public_clusters": 60, "buckets": 500, "special_round": 1, "clusters": None, "seed": 4},
        **{"restarts": 10, "num_threads": 2},
    }
    assert public == [
        (ONE, Path("PUBLIC60-KE-KO_500"), options),
        ("features", 2, False, "errai abstract public one --seed 4 --threads 2"),
        "report",
    ]


def test_public_as_json(run: RunErrai, public: list[Any]) -> None:
    words = ["--public", "3", "--buckets", "20-30", "--out", "x", "--clusters", "2", "--seed", "4"]
    status, out, err = run("abstract", "public", "one", *words, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "game": "leduc",
        "abstraction": "P",
        "out": "x",
        "seed": 4,
        "boards_a_cluster": [4, 1, 9],
        "objective": 2.5,
        "seconds_to_cluster": 5400.0,
        "seconds": 7200.0,
        "rounds": [{"round": 2, "street": None, "buckets": 3702, "buckets_a_cluster": 1234}],
    }
    (_, folder, options), asked, _ = public
    assert (folder, options["buckets"], options["clusters"]) == (Path("x"), (20, 30), 2)
    assert asked[:3] == ("features", None, True)


def test_an_interrupted_public_build(
    run: RunErrai, public: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(abstract_public, "PublicBuild", leave)
    assert run("abstract", "public", "one", "--out", "a b", "--json") == (
        130,
        "",
        "errai: interrupted; clusters that are done stay in a b; go on with: errai abstract public one "
        "--out 'a b' --json\n",
    )


def test_sizes_of_private_buckets() -> None:
    assert abstract_public.bucket_sizes("65535-1") == (65535, 1)
    for text in ("65536", "0", "1-", "-1", "000001"):
        with pytest.raises(Refusal, match=re.escape(f"not '{text}'")):
            abstract_public.bucket_sizes(text)
