"""Every key that a command prints with --json stands in the vocabulary, and every word there is printed."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acpc_checker import GAMES, Checker
from naive import WITHOUT_JIT

from errai.abstraction.build import abstract
from errai.cli import output
from errai.experiments import rhode_island
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.runs.run import solve

RunErrai = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")

GAME_FILES = Path(__file__).parent / "game_files"

BY_DATA = {"probabilities", "values_chips"}
"""Objects whose keys are actions or dice, not words."""

SPOT = ["spot", "--board", "QsJh2h7c3d", "--oop", "AhKh", "--ip", "JsTs", "--pot", "50", "--stack", "9"]
COMMANDS = [
    ["lbr", "half", "--game", "kuhn"],
    ["games"],
    ["size", "holdem-2-4", "--buckets", "PR 5-5"],
    ["size", "bluff-2-1"],
    ["size", "nolimit-holdem", "--bets", "list"],
    ["show", "leduc", "rr"],
    ["show", "bluff-1-1", "2-5", "--depth", "1"],
    ["show", "run", "cr"],
    ["show", "run", "cr", "--hand", "K"],
    ["solve", "kuhn", "--iterations", "5"],
    ["solve", "kuhn", "--algorithm", "lp"],
    ["solve", "bluff-1-1", "--iterations", "2"],
    ["solve", "leduc", "--abstraction", "[JQ.K]", "--against-full", "--iterations", "3"],
    ["train", "train.toml", "--out", "trained"],
    ["train", "--preset", "leduc", "--estimate"],
    ["train", "--preset", "list"],
    ["exploit", "run"],
    ["export", "run", "leduc.play", "--verify"],
    ["match", "half", "run", "--hands", "10", "--duplicate"],
    ["match", "half", "run", "--exact"],
    ["match", "--all", ".", "half", "--hands", "10"],
    ["exploit", "half", "--game", "leduc", "--estimate"],
    ["exploit", "half", "--game", "leduc", "--flops", "4"],
    ["exploit", "half", "--game", "leduc", "--flops", "4", "--compare", "always-call"],
    [*SPOT, "--iterations", "3"],
    ["equity", "AsAh", "KsKh", "--board", "2c7d9h4s3c"],
    ["analyse", "match.log", "--agent", "half", "--game", "leduc"],
    ["reproduce", "cepheus-figure-1b", "--iterations", "2"],
    ["reproduce", "thesis-table-4.1"],
    ["abstract", "features", "leduc"],
    ["abstract", "build", "IR-HS 2-4", "--game", "leduc", "--out", "new"],
    ["abstract", "public", "base", "--public", "2", "--buckets", "2", "--out", "public"],
    ["abstract", "info", "base"],
    ["abstract", "show", "base", "--bucket", "1:0"],
    ["abstract", "show", "base", "--hand", "K"],
    ["abstract", "compare", "base", "base"],
    ["dealer", "leduc", "3", "42", "A=always-call", "B=always-raise"],
    ["cache", "--verify"],
    ["cache", "--clear", "leduc"],
]


TRAINING = """
game = {name = "leduc"}
algorithm = {name = "cfr"}
stop = {iterations = 3}
evaluation = {agents = ["half"], flops = 2, exploitability = true}
"""


LOG = """STATE:0:cc/cc:Js|Ks/Qh:-1|1:A|B
STATE:1:cc/crc:Ks|Qs/Jh:5|-5:B|A
broken
"""


def vocabulary() -> set[str]:
    """The words in the first column of the table, and those in braces."""
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", output.__doc__ or "", flags=re.MULTILINE)[1:]
    words = {word for row, _ in rows for word in row.split(", ")}
    assert len(words) == sum(len(row.split(", ")) for row, _ in rows), "one meaning each"
    return words


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from keys_of(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            if key not in BY_DATA:
                yield from keys_of(one)


def test_keys_and_vocabulary_are_the_same(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(rhode_island, "GAME", "leduc")  # the same code on a game that takes no time
    leduc = load_game("leduc")
    assert isinstance(leduc, PokerRules)
    abstract(leduc, "IR-HS 2-4", tmp_path / "base")
    solve("leduc", iterations=2, out=tmp_path / "run")
    (tmp_path / "train.toml").write_text(TRAINING)
    (tmp_path / "match.log").write_text(LOG)
    printed = set()
    checker = Checker(GAMES["leduc.limit.2p.game"], hands=3)
    table = ["127.0.0.1", str(checker.listen()), "--game", str(GAME_FILES / "leduc.limit.2p.game")]
    threading.Thread(target=checker.run, daemon=True).start()
    for command in [["acpc", "always-call", *table], *COMMANDS]:
        status, out, error = run_errai(*command, "--json")
        assert status == 0, error
        printed |= set(keys_of(json.loads(out)))
    assert printed - vocabulary() == set()
    assert vocabulary() - printed == set()
