"""`errai abstract` as typed: what it builds, what it tells, and what it refuses."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ASYMMETRIC, IMPERFECT, PERFECT
from naive import WITHOUT_JIT

import errai
from errai.abstraction.abstraction import Abstraction
from errai.abstraction.describe import features_of
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan, Features
from errai.cli import abstract_info, bars
from errai.cli.progress import Progress
from errai.games.catalogue import load_game

pytestmark = [
    pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game"),
    pytest.mark.usefixtures("cache"),
]


@pytest.fixture
def run_errai(run_errai, monkeypatch: pytest.MonkeyPatch):
    """The same at 80 columns, without lines of progress, which appear on a busy machine."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> tuple[int, str, str]:
        status, out, err = run_errai(*arguments)
        return status, out, re.sub(r"errai: (compiling kernels|[^:\n]+: \d+%).*\n", "", err)

    return run


# Features and build


def test_features(run_errai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "own"))
    status, out, err = run_errai("abstract", "features", "leduc")
    plan = FeaturePlan(load_game("leduc"), 3)
    assert (status, err) == (0, "")
    assert out.startswith(f"features of leduc: 432 bytes of disk in {plan.folder}, about ")
    assert "\nbuilt in " in out
    assert plan.is_complete()
    status, out, _ = run_errai("abstract", "features", "leduc", "--json")
    told = json.loads(out)
    assert (told["built"], told["num_hands"], told["clusters"]) == (False, [3, 9], 3)
    assert told["disk_bytes"] == plan.disk_bytes == 432
    status, out, err = run_errai(
        "abstract", "features", "leduc", "--clusters", "2", "--json", "--threads", "1"
    )
    assert json.loads(out)["built"]
    # OCHS against 2 clusters and these clusters are missing, (3 + 9) x 2 + 3 numbers of 2 bytes, and nothing
    # else of what does not depend on them.
    kept = 432 - 2 * (3 * (3 + 9) + 3)
    assert err.startswith(
        f"features of leduc: 54 bytes of disk in {plan.folder} besides {kept} bytes in the cache already, "
        "about "
    )
    assert FeaturePlan(load_game("leduc"), 2).is_complete()
    status, out, err = run_errai("abstract", "features", "leduc")
    assert out == (
        f"features of leduc: in the cache already, 432 bytes in {plan.folder}\n"
        "next: errai abstract build NAME, such as 'IR-KE-KO 169-200-200-200'\n"
    )
    status, out, err = run_errai("abstract", "build", "IR-HS 2-4", "--game", "leduc", "--out", "x")
    assert out.splitlines()[2] == f"features of leduc: in the cache already, 54 bytes in {plan.folder}"


def test_damaged_features_point_to_the_cache(run_errai, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "own"))
    assert run_errai("abstract", "features", "leduc")[0] == 0
    path = FeaturePlan(load_game("leduc"), 3).folder / "strength-1.array"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    status, _, err = run_errai("abstract", "build", "IR-HS 2-4", "--game", "leduc", "--out", "x")
    assert (status, err) == (
        2,
        f"errai: '{path}' is damaged: bytes 0 to 18 of its array do not match their checksum; 'errai cache "
        "--clear features' removes the features, so that they are built anew.\n",
    )


def test_interrupted_features_say_how_to_go_on(run_errai, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "own"))
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "report", interrupt)
        status, _, err = run_errai("abstract", "features", "leduc", "--clusters", "2")
    plan = FeaturePlan(load_game("leduc"), 2)
    assert status == 130
    assert err == (
        f"errai: interrupted; what is done stays in {plan.folder}; "
        "go on with: errai abstract features leduc --clusters 2\n"
    )
    assert not plan.is_complete()
    assert run_errai("abstract", "features", "leduc", "--clusters", "2")[0] == 0
    assert plan.is_complete()


def interrupt(self: Progress, stage: str, done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_build(run_errai, features: Features, folders: Path, tmp_path: Path) -> None:
    status, out, err = run_errai("abstract", "build", IMPERFECT, "--game", "rhode-island")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{IMPERFECT} of rhode-island, in IR-KE-KO_5-20-10"
    assert lines[1] == "tables: 10.5 KiB of memory and disk (26 bytes + 650 bytes + 9.9 KiB)"
    assert re.search(r"\n  round 2  KE       20    20   0\.0\d+ +\d+  \d+\.\d+% +\d+\.\d\n", out)
    assert lines[-1] == "saved in IR-KE-KO_5-20-10; next: errai abstract info IR-KE-KO_5-20-10"
    for path in (folders / "imperfect").glob("*.array"):
        assert (tmp_path / "IR-KE-KO_5-20-10" / path.name).read_bytes() == path.read_bytes()
    status, _, err = run_errai("abstract", "build", IMPERFECT, "--game", "rhode-island")
    assert (status, err) == (
        2,
        "errai: 'IR-KE-KO_5-20-10' holds an abstraction already: --out must name another folder.\n",
    )


def test_build_makes_the_features_it_needs(run_errai, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "own"))
    status, out, err = run_errai(
        "abstract", "build", "IR-HS 2-4", "--game", "leduc", "--out", "a b", "--seed", "7", "--json"
    )
    assert status == 0
    assert err.startswith("features of leduc: 54 bytes of disk")
    told = json.loads(out)
    assert (told["abstraction"], told["seed"], told["out"]) == ("IR-HS-HS 2-4", 7, "a b")
    assert [one["used_buckets"] for one in told["rounds"]] == [2, 3]
    found = json.loads(run_errai("abstract", "info", "a b", "--json")[1])
    assert found["fingerprint"] == told["fingerprint"]
    assert [one["seed"] for one in found["rounds"]] == [7, 7]


CONFIGS = {
    "name": 'name = "IIP-KE-KO 5-6-3"',
    "players": 'players = ["IR-HS-HS 5-20-10", "PR-KE-HS 4-3-2"]\nrestarts = 1',
    "rounds": """
[[rounds]]
method = "KE"
buckets = 5
[[rounds]]
method = "PHS"
buckets = "2x3"
[[rounds]]
method = "KO"
buckets = 3
recall = true
""",
    "lossless": '[[rounds]]\nmethod = "C"\n[[rounds]]\nmethod = "C"\n[[rounds]]\nmethod = "HS"\nbuckets = 4',
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS.keys())
def test_build_from_a_file(run_errai, features: Features, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.toml").write_text(
        f'game = "rhode-island"\nseed = 3\niterations = 9\nsample = 300\npasses = 2\nclusters = 8\n{text}'
    )
    status, out, _ = run_errai("abstract", "build", "--config", "a.toml", "--out", "built", "--json")
    assert status == 0
    expected = {
        "name": "IIP-KE-KO 5-6-3",
        "players": ASYMMETRIC,
        "rounds": "IIP-KE-PHS-KO 5-2x3-3",
        "lossless": "IR-C-HS 13-325-4",
    }
    told = json.loads(out)
    assert told["seed"] == 3
    assert told["abstraction"] == next(expected[key] for key, value in CONFIGS.items() if value == text)
    assert errai.load_abstraction(tmp_path / "built", whole=True).name == told["abstraction"]


def test_flags_go_before_the_file(run_errai, features: Features, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f'game = "rhode-island"\nseed = 3\nout = "x"\nname = "{IMPERFECT}"')
    _, out, _ = run_errai("abstract", "build", PERFECT, "--config", "a.toml", "--seed", "4", "--json")
    told = json.loads(out)
    assert (told["abstraction"], told["seed"], told["out"]) == (PERFECT, 4, "x")


@pytest.mark.parametrize("again", ["same", "resume", "both", "moved"])
def test_interrupted_build_goes_on(run_errai, features, folders, monkeypatch, tmp_path, again: str) -> None:
    command = ["abstract", "build", IMPERFECT, "--game", "rhode-island", "--out", "x"]

    def report(self: Progress, stage: str, done: int, total: int) -> None:
        if stage.startswith("round 3"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "report", report)
        status, _, err = run_errai(*command)
    assert status == 130
    assert err == (
        "errai: interrupted; rounds that are done stay in x; "
        "go on with: errai abstract build --resume --out x\n"
    )
    assert run_errai("abstract", "info", "x")[2].startswith("errai: 'x' is not an abstraction")
    status, _, err = run_errai("abstract", "build", PERFECT, "--game", "rhode-island", "--out", "x")
    assert status == 2
    assert f"holds an unfinished build of something else, '{IMPERFECT}'" in err
    place = tmp_path / "x"
    if again == "moved":  # the note in it names the folder in which it was begun
        place = place.rename(tmp_path / "y")
    written = (place / "0-1-table.array").stat().st_mtime_ns
    resumed = ["abstract", "build", "--resume", "--out", place.name]
    status, _, _ = run_errai(*{"same": command, "both": [*command, "--resume"]}.get(again, resumed))
    assert status == 0
    assert (place / "0-1-table.array").stat().st_mtime_ns == written
    for path in (folders / "imperfect").glob("*.array"):
        assert (place / path.name).read_bytes() == path.read_bytes()
    assert not list(place.glob(".*"))


def test_what_is_described_and_not_yet_there_is_begun_by_resume(
    run_errai, features, folders, tmp_path
) -> None:
    """As a run is: one line serves before and after an interruption."""
    described = [IMPERFECT, "--game", "rhode-island", "--out", "x"]
    assert run_errai("abstract", "build", *described, "--resume")[0] == 0
    for path in (folders / "imperfect").glob("*.array"):
        assert (tmp_path / "x" / path.name).read_bytes() == path.read_bytes()
    (tmp_path / "build.toml").write_text(f'game = "rhode-island"\nname = "{IMPERFECT}"\nout = "y"\n')
    assert run_errai("abstract", "build", "--config", "build.toml", "--resume")[0] == 0
    (tmp_path / "bare.toml").write_text(f'game = "rhode-island"\nname = "{IMPERFECT}"\n')
    status, _, err = run_errai("abstract", "build", "--config", "bare.toml", "--resume")
    assert (status, err) == (2, "errai: --resume needs --out, the folder of the build to go on with.\n")
    assert run_errai("solve", "kuhn", "--iterations", "10", "--out", "run", "--resume")[0] == 0
    assert errai.load_strategy(tmp_path / "run").game.name == "kuhn"


def test_a_signal_ends_a_build_cleanly(cache: Path, tmp_path: Path) -> None:
    """A process of its own is interrupted in the middle and says how to go on."""
    command = [sys.executable, "-m", "errai", "abstract", "build", "IR-HS 169-50", "--game", "holdem-2-1"]
    run = subprocess.Popen(
        [*command, "--out", "x"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"ERRAI_CACHE_DIR": str(tmp_path / "own")},
    )
    assert run.stdout is not None
    while not run.stdout.readline().startswith("features of holdem-2-1: "):
        pass
    run.send_signal(signal.SIGTERM)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 143
    assert "go on with: errai abstract build --resume --out x\n" in err
    assert "Traceback" not in err


def test_a_terminal_gets_a_bar() -> None:
    code = (
        "import time\nfrom errai.cli.progress import Progress\nwith Progress() as progress:\n"
        "    for k in range(5):\n        progress.report('round 1 (KE)', k, 5)\n        time.sleep(0.15)\n"
    )
    ours, theirs = pty.openpty()
    run = subprocess.Popen([sys.executable, "-c", code], stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # how a terminal says that the other side has left
        pass
    assert run.wait(timeout=60) == 0
    assert b"round 1 (KE): 80%" in shown
    assert b"to go" in shown


def test_full_disk(run_errai, features: Features, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patch:
        # Room for the largest table, of 9.9 KiB, and not for all.
        patch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10_240))
        status, _, err = run_errai("abstract", "build", IMPERFECT, "--game", "rhode-island", "--out", "x")
    assert status == 2
    assert err == "errai: not enough disk for the tables in 'x': 10.5 KiB are needed, 10.0 KiB are free.\n"
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", refuse)
        status, _, err = run_errai("abstract", "build", IMPERFECT, "--game", "rhode-island", "--out", "x")
    assert status == 2
    assert err == "errai: 'x/opponent-clusters.array': No space left on device.\n"
    assert run_errai("abstract", "build", PERFECT, "--game", "rhode-island", "--out", "x")[0] == 0


def refuse(descriptor: int, begin: int, length: int) -> None:
    raise OSError(28, "No space left on device")


# Bad input; what is typed wrongly is in test_bad_inputs.py


def assert_refused(status: int, err: str, sentence: str) -> None:
    assert status == 2
    assert sentence in err
    assert err.startswith("errai: ")
    assert err.count("\n") == 1


BAD_FILES = [
    ("name = 7", "invalid 'a.toml': name must be text, not 7"),
    ('seed = "x"', "invalid 'a.toml': seed must be a whole number, not 'x'"),
    ("seed = true", "invalid 'a.toml': seed must be a whole number, not true"),
    ("seed = -1", "invalid 'a.toml': seed must be 0 or more, not -1"),
    ("restarts = 0", "invalid 'a.toml': restarts must be 1 or more, not 0"),
    ("sample = 2.5", "invalid 'a.toml': sample must be a whole number, not 2.5"),
    ("passes = nan", "invalid 'a.toml': passes must be a whole number, not nan"),
    (
        "sed = 7",
        "invalid 'a.toml': sed is unknown: expected game, name, out, players, rounds, seed, restarts, "
        "iterations, sample, passes, clusters",
    ),
    ("name = ", "'a.toml' is not a TOML file"),
    ("\xff", "'a.toml' is not a TOML file"),
    ("", "missing an abstraction's name"),
    (
        'name = "x"\nplayers = ["x", "y"]',
        "invalid 'a.toml': it has both name and players, where one is expected",
    ),
    ('players = ["x"]', "invalid 'a.toml': players must have 2 or more entries, not 1"),
    ('players = ["x", 3]', "invalid 'a.toml': players, entry 2 must be text, not 3"),
    ("rounds = 3", "invalid 'a.toml': rounds must be a list, not 3"),
    ('[[rounds]]\nmethod = "KE"', "invalid 'a.toml': rounds, entry 1: buckets is missing"),
    ("[[rounds]]\nbuckets = 3", "invalid 'a.toml': rounds, entry 1: method is missing"),
    (
        '[[rounds]]\nmethod = "KE"\nbuckets = 5.5',
        "invalid 'a.toml': rounds, entry 1: buckets is 5.5: expected a whole number, or text such as '5x2'",
    ),
    (
        '[[rounds]]\nmethod = "KE"\nbuckets = true',
        "invalid 'a.toml': rounds, entry 1: buckets is true: expected a whole number, or text such as '5x2'",
    ),
    (
        '[[rounds]]\nmethod = "KE"\nbucket = 3',
        "invalid 'a.toml': rounds, entry 1: bucket is unknown: expected method, buckets, recall",
    ),
    (
        '[[rounds]]\nmethod = "KE"\nbuckets = 3\nrecall = "no"',
        "invalid 'a.toml': rounds, entry 1: recall must be true or false, not 'no'",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_FILES)
def test_bad_files_are_one_sentence(run_errai, tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.toml").write_bytes(text.encode("latin-1"))
    status, _, err = run_errai("abstract", "build", "--config", "a.toml")
    assert_refused(status, err, sentence)


def test_a_damaged_cache_is_named(run_errai, folders: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "own"))
    plan = FeaturePlan(load_game("leduc"), 3)
    build_features(plan)
    (plan.folder / "deals-1.array").write_text("of another version")
    status, _, err = run_errai("abstract", "info", str(folders / "leduc"))
    assert_refused(status, err, "deals-1.array' is not an array file of Errai, or its first line is damaged")
    status, _, err = run_errai("abstract", "build", "IR-HS 2-4", "--game", "leduc")
    assert_refused(status, err, "deals-1.array' is not an array file of Errai, or its first line is damaged")


def test_flipped_bits_are_found_by_info(run_errai, folders: Path, tmp_path: Path) -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    shutil.copytree(folders / "refined", tmp_path / "x")
    paths = sorted((tmp_path / "x").iterdir())
    for _ in range(24):
        path = paths[rng.integers(len(paths))]
        content = path.read_bytes()
        harmed = bytearray(content)
        harmed[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        path.write_bytes(harmed)
        status, _, err = run_errai("abstract", "info", "x")
        assert_refused(status, err, "'x")
        path.write_bytes(content)
    assert run_errai("abstract", "info", "x")[0] == 0


def test_missing_matplotlib_is_told(run_errai, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, _, err = run_errai(
        "abstract", "show", str(folders / "leduc"), "--bucket", "1:1", "--plot", "a.png"
    )
    assert_refused(status, err, "drawing needs matplotlib")


# Info


def test_info(run_errai, folders: Path, features: Features) -> None:
    status, out, err = run_errai("abstract", "info", str(folders / "imperfect"))
    assert (status, err) == (0, "")
    assert out.startswith(f"{IMPERFECT} of rhode-island\n")
    assert "every bit verified\nfingerprint " in out
    assert "round 1, round 2, round 3: hands are classes (hole cards, unordered board)\n" in out
    assert max(map(len, out.splitlines())) <= 80 + len(str(folders))
    told = json.loads(run_errai("abstract", "info", str(folders / "imperfect"), "--json")[1])
    found = errai.load_abstraction(folders / "imperfect")
    assert isinstance(found, Abstraction)
    assert told["fingerprint"] == found.fingerprint
    for r, one in enumerate(told["rounds"]):
        assert (one["buckets"], one["distance"]) == (found.num_buckets(r), found.statistics[0][r]["cost"])
        assert one["table_bytes"] == 2 * features.classes.size(r)
    told = json.loads(run_errai("abstract", "info", str(folders / "asymmetric"), "--json")[1])
    assert [(one["position"], one["round"], one["method"], one["recall"]) for one in told["rounds"]] == [
        (0, 1, "HS", False),
        (0, 2, "HS", False),
        (0, 3, "HS", False),
        (1, 1, "KE", False),
        (1, 2, "KE", True),
        (1, 3, "HS", True),
    ]
    out = run_errai("abstract", "info", str(folders / "asymmetric"))[1]
    assert "round 1, round 2, round 3 of player 0; round 1, round 2 of player 1: hands are classes" in out
    assert "round 3 of player 1: hands are canonical deals, each counted once\n" in out


def test_info_without_features(run_errai, folders: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "none"))
    status, out, _ = run_errai("abstract", "info", str(folders / "imperfect"))
    assert status == 0
    assert "deals are not known without the feature cache\n" in out
    told = json.loads(run_errai("abstract", "info", str(folders / "imperfect"), "--json")[1])
    assert told["features"] is None
    assert told["rounds"][1]["occupancy"]["deals_a_bucket"] is None
    status, out, _ = run_errai("abstract", "show", str(folders / "imperfect"), "--hand", "As")
    assert status == 0
    assert re.match(r"As: bucket \d of 5 in round 1, IR", out)
    assert "'errai abstract features rhode-island' builds" in out
    status, out, _ = run_errai("abstract", "show", str(folders / "imperfect"), "--bucket", "2:3")
    assert re.search(r"\n\d+ classes\nstrengths are not known", out)
    status, _, err = run_errai(
        "abstract", "show", str(folders / "imperfect"), "--hand", "As", "--plot", "a.png"
    )
    assert_refused(status, err, "--plot has nothing to draw")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0.5, "0"), (1234, "1,234"), (9_999_999, "9,999,999"), (10_000_000, "10.0M"), (2.5e9, "2,500.0M")],
)
def test_sizes_of_buckets_are_short(size: float, text: str) -> None:
    assert abstract_info._short(size) == text


def rows_of(folders: Path, name: str):
    found = errai.load_abstraction(folders / name)
    return found, features_of(found)


# Show


def test_show_hand(run_errai, folders: Path, features: Features, tmp_path: Path) -> None:
    place = str(folders / "imperfect")
    found, _ = rows_of(folders, "imperfect")
    bucket = found.bucket("As", "Ts")
    command = ["abstract", "show", place, "--hand", "As", "--board", "Ts"]
    status, out, err = run_errai(*command, "--plot", "a.png")
    assert (status, err) == (0, "")
    assert out.startswith(f"As on Ts: bucket {bucket} of 20 in round 2, {IMPERFECT}\n  As: E[HS] 0.")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "█" in out
    assert out.splitlines()[-1] == f"next: errai abstract show {place} --bucket 2:{bucket}"
    told = json.loads(run_errai(*command, "--json")[1])
    row = features.classes.index(np.array([features.plan.rules.deck.parse("AsTs")], dtype=np.uint8), 1)
    assert (told["round"], told["street"], told["bucket"], told["buckets"]) == (2, None, bucket, 20)
    assert told["of_hand"]["strength"] == pytest.approx(features.expected_strength(1)[row[0]], rel=1e-12)
    others = np.flatnonzero(found.rounds[0][1].table == bucket)
    mean = np.average(features.expected_strength(1)[others], weights=features.deals(1)[others])
    assert told["of_bucket"]["strength"] == pytest.approx(mean, rel=1e-12)
    assert told["of_bucket"]["weakest"] <= told["of_hand"]["strength"] <= told["of_bucket"]["strongest"]
    status, out, _ = run_errai(
        "abstract", "show", place, "--hand", "As", "--board", "Ts9s", "--plot", "b.png"
    )
    assert status == 0
    assert "chance of each strength" not in out
    assert len(re.findall(r"\n  cluster \d ", out)) == 8
    assert (tmp_path / "b.png").exists()


def test_show_in_a_narrow_terminal(run_errai, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = run_errai("abstract", "show", str(folders / "imperfect"), "--hand", "As", "--board", "Ts")
    drawn = [line for line in out.splitlines() if re.match(r"  [|+]|  cluster|  all", line)]
    assert len(drawn) == 2 * 7 + 9
    assert max(map(len, drawn)) <= 40


def test_show_bucket(run_errai, folders: Path, features: Features) -> None:
    found, _ = rows_of(folders, "imperfect")
    place = str(folders / "imperfect")
    status, out, err = run_errai("abstract", "show", place, "--bucket", "2:7", "--limit", "5")
    assert (status, err) == (0, "")
    assert out.startswith(f"bucket 7 of round 2, {IMPERFECT}\n")
    assert "5 of them, from the weakest to the strongest:\n" in out
    listed = re.findall(r"(\w\w)\|(\w\w) (0\.\d+)", out)
    assert len(listed) == 5
    assert {found.bucket(hand, board) for hand, board, _ in listed} == {7}
    assert [float(one[2]) for one in listed] == sorted(float(one[2]) for one in listed)
    told = json.loads(run_errai("abstract", "show", place, "--bucket", "2:7", "--json", "--limit", "999")[1])
    assert len(told["hands"]) == told["num_hands"] == np.sum(found.rounds[0][1].table == 7)
    assert told["num_deals"] == features.deals(1)[found.rounds[0][1].table == 7].sum()
    strengths = [one["strength"] for one in told["hands"]]
    assert (strengths[0], strengths[-1]) == (told["mean"]["weakest"], told["mean"]["strongest"])
    few = json.loads(run_errai("abstract", "show", place, "--bucket", "2:7", "--json", "--limit", "5")[1])
    last = told["num_hands"] - 1
    assert last > 8, "more hands than are shown"
    assert few["hands"] == [told["hands"][round(last * part / 4)] for part in range(5)], "evenly from all"
    status, out, _ = run_errai(
        "abstract", "show", str(folders / "perfect"), "--bucket", "3:7", "--limit", "3"
    )
    assert re.search(r"\n  \w\w\|\w\w/\w\w 0\.\d+", out)
    status, out, _ = run_errai(
        "abstract", "show", str(folders / "refined"), "--bucket", "3:7", "--limit", "0"
    )
    assert status == 0
    assert re.search(r"\n\d+ canonical deals, [\d,]+ deals\n", out)


def test_show_named_groups(run_errai) -> None:
    status, out, _ = run_errai("abstract", "show", "[JQ.K]", "--bucket", "2:2")
    assert (status, out.splitlines()[1]) == (0, "2 canonical deals, 8 deals")
    out = run_errai("abstract", "show", "[JQ.K]", "--hand", "Js", "--board", "Jh")[1]
    assert out == "Js on Jh: bucket 1 of 4 in round 2, [JQ.K]\n"
    assert run_errai("abstract", "info", "[JQ.K]")[0] == 0


def test_bars() -> None:
    assert bars.columns([1.0, 0.5, 0.001, 0.0], 2, 1.0, " .:") == [":", "::."]
    assert bars.line(1.0, 3, " .:") == ":::"
    assert bars.line(0.5, 3, " .:") == ":. "
    assert bars.line(2.0, 3, " #") == "###"
    assert bars.folded([1.0, 2.0, 3.0], 3) == [1.0, 2.0, 3.0]
    assert bars.folded([1.0, 2.0, 3.0], 0) == [6.0]


# Compare


def test_compare_command(run_errai, folders: Path) -> None:
    place = str(folders / "imperfect")
    told = json.loads(run_errai("abstract", "compare", place, place, "--json")[1])
    for one in told["rounds"]:
        assert one["rand"] == one["adjusted_rand"] == 1
        assert one["mutual_information"] == pytest.approx(1, abs=1e-12)
        assert one["refinement"] == [1, 1]
    status, out, err = run_errai("abstract", "compare", "[JQ.K]", "[J.Q.K]")
    assert (status, err) == (0, "")
    assert "  round 1       2       3  0.6667    0.0000   0.7337   50.0%  100.0%\n" in out
    assert "compared in round 1, round 2: 3, 9 canonical deals\n" in out
    out = run_errai("abstract", "compare", place, str(folders / "asymmetric"))[1]
    assert "  round    player  A used" in out


@pytest.mark.parametrize("arguments", [[], ["--help"], ["build", "--help"]])
def test_help(run_errai, arguments: list[str]) -> None:
    status, out, err = run_errai("abstract", *arguments)
    assert (status, err) == (0, "")
    assert out.startswith("Usage: errai abstract")
