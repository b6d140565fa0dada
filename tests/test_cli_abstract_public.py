"""`errai abstract public` as typed."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from naive import WITHOUT_JIT

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.abstraction.public.abstraction import load_public_abstraction
from errai.abstraction.public.clusters import PublicClusters
from errai.cli import abstract_public
from errai.cli.progress import Progress

RunErrai = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    """A folder with a base abstraction of Rhode Island hold'em."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        folder = tmp_path_factory.mktemp("home")
        errai.abstract(errai.load_game("rhode-island"), "IR-KE-KO 13-40-60", folder / "base")
        yield folder


def test_public_clusters_and_their_buckets(home: Path, run_errai: RunErrai) -> None:
    out = str(home / "four")
    status, text, _ = run_errai(
        "abstract", "public", str(home / "base"), "--public", "4", "--buckets", "20-30", "--out", out
    )
    assert status == 0
    assert text.startswith(
        f"PUBLIC4-KE-KO 13-20-30 of rhode-island, in {out}\n"
        "tables: 3.1 KiB of memory and disk; to build them about "
    )
    assert "13 public boards of round 2 of rhode-island in 4 clusters, by the 40 buckets" in text
    assert "PUBLIC4-KE-KO 13-20-30" in text
    found = errai.load_abstraction(out)
    assert [found.num_buckets(r) for r in range(3)] == [13, 80, 120]
    board = np.array(found.game.deck.parse("KdQs"), dtype=np.uint8)
    buckets = found.buckets_on_board(board)
    assert (buckets >= 0).sum() == 50
    assert len(set((buckets[buckets >= 0] // 30).tolist())) == 1, "one public cluster"
    one = load_public_abstraction(out, clusters=[int(buckets.max()) // 30])
    assert (one.buckets_on_board(board) == buckets).all()
    told = json.loads(run_errai("abstract", "info", out, "--json")[1])
    files = [path for path in Path(out).rglob("*.*") if path.is_file()]
    assert len(files) == 3 + 4 * 3, "the folders of the clusters count, too"
    assert told["disk_bytes"] == sum(path.stat().st_size for path in files)
    status, text, error = run_errai("abstract", "public", str(home / "base"), "--public", "4", "--out", out)
    assert (status, text) == (2, "")
    assert "holds an abstraction already" in error


def test_json(home: Path, run_errai: RunErrai) -> None:
    status, text, _ = run_errai(
        "abstract",
        "public",
        str(home / "base"),
        "--public",
        "13",
        "--buckets",
        "5",
        "--out",
        str(home / "all"),
        "--json",
    )
    about = json.loads(text)
    assert status == 0
    assert about["boards_a_cluster"] == [1] * 13
    assert about["rounds"][0] == {"round": 2, "street": None, "buckets": 65, "buckets_a_cluster": 5}


def test_sizes_of_clusters_are_told_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    """Clusters are numbered by their boards, so the first need not be the smallest."""
    sizes = [4, 1, 9, 7, 2]
    boards = PublicClusters(np.repeat(np.arange(5, dtype=np.int32), sizes), 5, 3.0, 6, True, 0)
    built = abstract_public.PublicBuild(None, boards, 2.0, 5.0)  # type: ignore[arg-type]
    abstract_public._print_clusters(leduc_abstraction("[JQ.K]"), built, 1)
    assert capsys.readouterr().out == (
        "23 public boards of round 2 of leduc in 5 clusters, by the 4 buckets of [JQ.K]\n"
        "boards a cluster: 1 to 9, median 4; 6 passes, 2.0 s\n"
    )


def test_a_base_must_be_an_abstraction(home: Path, run_errai: RunErrai) -> None:
    status, _, error = run_errai("abstract", "public", str(home / "missing"))
    assert status == 2
    assert "is not an abstraction" in error


@pytest.mark.parametrize("stage", ["features", "private buckets"])
def test_the_advice_of_an_interrupted_build_gives_the_same_bytes(
    home: Path, run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: str
) -> None:
    """With every option that decides the result off its default, and a folder whose name needs quotes."""
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    options = ["--public", "5", "--buckets", "7-6", "--round", "2", "--restarts", "2", "--clusters", "4"]
    command = ["abstract", "public", str(home / "base"), *options, "--seed", "3", "--threads", "1"]
    calls = []

    def report(self: Progress, what: str, done: int, total: int) -> None:
        calls.append(what)
        if what.startswith(stage) and done >= min(2, total):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "report", report)
        status, _, error = run_errai(*command, "--out", "a b")
    assert status == 130
    (advice,) = re.findall(r"; go on with: (errai .*)\n", error)
    assert shlex.split(advice) == ["errai", *command, "--out", "a b"]
    status, _, error = run_errai(*shlex.split(advice)[1:])
    assert status == 0, error
    assert run_errai(*command, "--out", "straight")[0] == 0
    assert_same_bytes(tmp_path / "a b", tmp_path / "straight")
    # And another command builds something else: no option was without effect.
    for name in ("--public", "--buckets", "--clusters", "--seed"):
        changed = list(command)
        changed[command.index(name) + 1] = {"--public": "4", "--buckets": "6-6", "--clusters": "3"}.get(
            name, "4"
        )
        assert run_errai(*changed, "--out", f"other{name}")[0] == 0
        with pytest.raises(AssertionError):
            assert_same_bytes(tmp_path / "a b", tmp_path / f"other{name}")


def assert_same_bytes(one: Path, other: Path) -> None:
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    assert len(files) > 5
    for name in files:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_refused_before_anything_is_built(
    home: Path, run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What cannot be built is refused without the features, which may take minutes."""
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    base = str(home / "base")
    for options in (["--public", "14"], ["--buckets", "5-5-5"], ["--round", "1"], ["--round", "river"]):
        status, out, error = run_errai("abstract", "public", base, *options, "--out", "never")
        assert (status, out, error.count("\n")) == (2, "", 1)
    assert not (tmp_path / "never").exists()
    assert not (tmp_path / "cache").exists()
    status, out, error = run_errai("abstract", "public", base, "--public", "3", "--out", str(home / "base"))
    assert (status, out) == (2, "")
    assert error == f"errai: '{home / 'base'}' holds an abstraction already: choose another folder.\n"
