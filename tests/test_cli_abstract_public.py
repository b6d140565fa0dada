"""`errai abstract public` as typed."""

import json
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pytest

import errai
from errai.abstraction.public.abstraction import load_public_abstraction

RunErrai = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="features of a whole game")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
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
    assert "13 public boards of round 1 of rhode-island in 4 clusters, by the 40 buckets" in text
    assert "PUBLIC4-KE-KO 13-20-30" in text
    found = errai.load_abstraction(out)
    assert [found.num_buckets(r) for r in range(3)] == [13, 80, 120]
    board = np.array(found.game.deck.parse("KdQs"), dtype=np.uint8)
    buckets = found.buckets_on_board(board)
    assert (buckets >= 0).sum() == 50
    assert len(set((buckets[buckets >= 0] // 30).tolist())) == 1, "one public cluster"
    one = load_public_abstraction(out, clusters=[int(buckets.max()) // 30])
    assert (one.buckets_on_board(board) == buckets).all()
    status, text, error = run_errai("abstract", "public", str(home / "base"), "--public", "4", "--out", out)
    assert (status, text.count("\n")) == (2, 2)
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
    assert about["rounds"][0] == {"round": 1, "buckets": 65, "buckets_a_cluster": 5}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--public", "14"], "The number of public clusters must be 1 to 13, one for each board, not 14"),
        (["--buckets", "x"], "'x' are not sizes: a number, or one for each round such as '500-400-300'"),
        (["--buckets", "5-5-5"], "must be 2 numbers from 1 to 65535, not 5, 5, 5"),
        (["--round", "0"], "that deals public cards, not 0"),
        (["--threads", "0"], "0 threads are impossible"),
    ],
)
def test_bad_input(home: Path, run_errai: RunErrai, arguments: list[str], sentence: str) -> None:
    status, _, error = run_errai(
        "abstract", "public", str(home / "base"), "--public", "4", *arguments, "--out", str(home / "never")
    )
    assert status == 2
    assert sentence in error
    assert error.strip().count("\n") == 0
    assert not (home / "never" / "abstraction.json").exists()


def test_a_base_must_be_an_abstraction(home: Path, run_errai: RunErrai) -> None:
    status, _, error = run_errai("abstract", "public", str(home / "missing"))
    assert status == 2
    assert "is not an abstraction" in error
