"""Exploitability sub-game by sub-game: what the whole walk gives, for any strategy, kept and resumed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_sections import BOARD_FIRST, SHORT_3_1

import errai
from errai.array_file import read_array
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.payoffs import Payoffs
from errai.response import subgames
from errai.response.estimate import estimate_by_subgames
from errai.response.subgames import SubgameResponse, exploitability_by_subgames
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.played import RulePlay
from errai.strategy.simple import SIMPLE_RULES, simple_plays, simple_strategy
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats
from errai.tree.buckets import Buckets
from errai.tree.cells import cells_below
from errai.tree.subgame import boards_below, first_boards

RHODE_ISLAND = errai.load_game("rhode-island")
LIMIT = errai.load_game("limit-holdem")
GAMES = {"leduc": errai.load_game("leduc"), "short": SHORT_3_1, "board first": BOARD_FIRST}


def random_tables(sizes: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return tables in which some actions are never taken."""
    first, second = (np.maximum(rng.random(size) - 0.3, 0) for size in sizes)
    return first, second


def assert_same(strategy: Strategy, abs_error: float = 1e-12) -> None:
    whole = errai.exploitability(strategy)
    parts = exploitability_by_subgames(strategy.tree, strategy.plays, num_threads=2)
    assert parts.best_response_values == pytest.approx(whole.best_response_values, abs=abs_error)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", GAMES)
def test_lossless_strategies(name: str, seed: int) -> None:
    tree = PublicTree.of(GAMES[name])
    assert_same(Strategy(tree, random_tables(tree.layout.num_slots, np.random.default_rng(seed))))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", GAMES)
def test_bucketed_strategies(name: str, seed: int) -> None:
    """Each position bucketed in its own way, some rounds of it lossless."""
    tree = PublicTree.of(GAMES[name])
    rng = np.random.default_rng(100 + seed)
    maps: list[dict[int, np.ndarray]] = [{}, {}]
    for player in (0, 1):
        for r in range(tree.cells.num_rounds):
            if rng.random() < 0.7:
                maps[player][r] = rng.integers(0, 4, tree.cells.num_cells(player, r)).astype(np.int32)
    bucketed = tree.abstracted(Buckets((maps[0], maps[1])))
    assert_same(Strategy(bucketed, random_tables(bucketed.layout.num_slots, rng)))


def test_rhode_island() -> None:
    tree = PublicTree.of(RHODE_ISLAND)
    assert_same(Strategy(tree, random_tables(tree.layout.num_slots, np.random.default_rng(1))), 1e-11)


@pytest.mark.parametrize(
    "agents", [("half", "random"), ("always-call", "always-raise"), ("always-fold", "half")]
)
@pytest.mark.parametrize("name", GAMES)
def test_agents_that_look_at_no_cards(name: str, agents: tuple[str, str]) -> None:
    """Both positions different; tables of all hands and one number a slot are the same agent."""
    tree = PublicTree.of(GAMES[name])
    whole = errai.exploitability(simple_strategy(GAMES[name], agents[0], second=agents[1]))
    parts = exploitability_by_subgames(tree, simple_plays(tree, *agents), num_threads=2)
    assert parts.best_response_values == pytest.approx(whole.best_response_values, abs=1e-12)


def test_payoffs_that_are_not_zero_sum() -> None:
    """Rake: the profile's own values are found sub-game by sub-game, too."""
    raked = Payoffs(rake=0.05, rake_cap=1.0)
    tree = PublicTree.of(GAMES["short"], payoffs=raked)
    strategy = Strategy(tree, random_tables(tree.layout.num_slots, np.random.default_rng(2)))
    whole = errai.exploitability(strategy)
    parts = exploitability_by_subgames(tree, strategy.plays)
    assert parts.payoffs == whole.payoffs == raked.describe()
    assert whole.profile_values is not None
    assert parts.profile_values == pytest.approx(whole.profile_values, abs=1e-12)
    assert parts.chips == pytest.approx(whole.chips, abs=1e-12)


def test_a_game_without_boards_is_refused() -> None:
    kuhn = PublicTree.of(errai.load_game("kuhn"))
    with pytest.raises(UsageError, match="'kuhn' has no sub-games"):
        SubgameResponse(kuhn, simple_plays(kuhn, "half"))


# What is kept


def test_what_is_kept_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted after some boards, resumed with the same partial sums; nothing is walked twice."""
    monkeypatch.setattr(subgames, "SAVE_EVERY", 4)
    tree = PublicTree.of(SHORT_3_1)
    strategy = Strategy(tree, random_tables(tree.layout.num_slots, np.random.default_rng(3)))
    whole = exploitability_by_subgames(tree, strategy.plays)

    def stop(done: int, total: int) -> None:
        if done == 13:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exploitability_by_subgames(tree, strategy.plays, 1, tmp_path, stop)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == [f"best-response-{first:06d}-{first + 4:06d}.array" for first in (0, 4, 8)]
    before = {path.name: read_array(path)[1] for path in tmp_path.iterdir()}
    walked: list[int] = []
    walk_board = SubgameResponse.walk_board

    def walk_and_note(self: SubgameResponse, board: int) -> None:
        walked.append(board)
        walk_board(self, board)

    monkeypatch.setattr(SubgameResponse, "walk_board", walk_and_note)
    again = exploitability_by_subgames(tree, strategy.plays, 2, tmp_path)
    assert again == whole
    assert min(walked) == 12
    for name, values in before.items():
        assert np.array_equal(read_array(tmp_path / name)[1], values)
    walked.clear()
    assert exploitability_by_subgames(tree, strategy.plays, 1, tmp_path) == whole
    assert walked == []


def test_what_is_kept_of_another_strategy_is_refused(tmp_path: Path) -> None:
    tree = PublicTree.of(GAMES["leduc"])
    exploitability_by_subgames(tree, simple_plays(tree, "half"), 1, tmp_path)
    with pytest.raises(UsageError, match="was made by another configuration"):
        exploitability_by_subgames(tree, simple_plays(tree, "random"), 1, tmp_path)
    raked = PublicTree.of(GAMES["leduc"], payoffs="rake 5%")
    with pytest.raises(UsageError, match="was made by another configuration"):
        exploitability_by_subgames(raked, simple_plays(raked, "half"), 1, tmp_path)


def test_what_is_kept_knows_both_positions_and_their_tables(tmp_path: Path) -> None:
    tree = PublicTree.of(GAMES["leduc"])
    exploitability_by_subgames(tree, simple_plays(tree, "half", "half"), 1, tmp_path / "agents")
    with pytest.raises(UsageError, match="was made by another configuration"):
        exploitability_by_subgames(tree, simple_plays(tree, "half", "random"), 1, tmp_path / "agents")
    tables = random_tables(tree.layout.num_slots, np.random.default_rng(5))
    exploitability_by_subgames(tree, Strategy(tree, tables).plays, 1, tmp_path / "tables")
    tables[1][-1] += 1
    with pytest.raises(UsageError, match="was made by another configuration"):
        exploitability_by_subgames(tree, Strategy(tree, tables).plays, 1, tmp_path / "tables")


def test_boards_that_nobody_reaches_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever folds to the blind is never met on a flop: not one hand of a later round is made."""
    tree = PublicTree.of(SHORT_3_1)
    slots = [int(tree.walk.num_slots[q].sum()) for q in (0, 1)]
    folds = [np.zeros(size) for size in slots]
    # The first to act (position 1) folds at once; nobody acts after that.
    folds[1][:2] = (1.0, 0.0)
    plays = (RulePlay(tree.walk, 0, np.full(slots[0], 0.5)), RulePlay(tree.walk, 1, folds[1]))
    response = SubgameResponse(tree, plays)
    assert not response.given[1].any()
    monkeypatch.setattr(subgames, "cells_below", lambda *arguments: pytest.fail("hands were made"))
    only = replace_reach(response)
    for board in range(response.num_boards):
        only.walk_board(board)


def replace_reach(response: SubgameResponse) -> SubgameResponse:
    """Leave the reach of the position that folds alone: the other meets nobody."""
    response.given[0][:] = 0
    return response


# Strategies of buckets


@pytest.fixture
def saved(folders: Path) -> Path:
    """A saved abstraction of Rhode Island hold'em."""
    return folders / "imperfect"


def test_strategies_of_buckets_without_the_hands_of_their_game(saved: Path, tmp_path: Path) -> None:
    """The same tables with all hands in memory and with those of one sub-game at a time, saved between."""
    tree = PublicTree.of(RHODE_ISLAND)
    abstraction = errai.load_abstraction(saved)
    whole = tree.abstracted_by(abstraction)
    large = BucketStrategy.uniform(tree, saved, np.float64)
    assert large.layout.num_slots == whole.layout.num_slots
    tables = random_tables(large.layout.num_slots, np.random.default_rng(4))
    strategy = BucketStrategy(tree, large.saved, tables)
    strategy.save(tmp_path / "large.strategy")
    loaded = errai.load_strategy(tmp_path / "large.strategy")
    assert isinstance(loaded, BucketStrategy)
    expected = Strategy(whole, tables)
    found = errai.exploitability(loaded)
    assert found.best_response_values == pytest.approx(
        errai.exploitability(expected).best_response_values, abs=1e-11
    )
    for betting, hand, board in (("", "As", ""), ("rc/", "2h", "Kd"), ("cc/rrc/c", "Td", "Tc9c")):
        assert loaded.probabilities(betting, hand, board) == expected.probabilities(betting, hand, board)


def test_an_abstraction_that_moved_or_changed_is_told(saved: Path, folders: Path, tmp_path: Path) -> None:
    strategy = BucketStrategy.uniform(PublicTree.of(RHODE_ISLAND), saved)
    strategy.save(tmp_path / "s")
    other = BucketStrategy.uniform(PublicTree.of(RHODE_ISLAND), folders / "imperfect")
    assert other.saved.fingerprint == strategy.saved.fingerprint
    moved = replace(strategy, saved=replace(strategy.saved, folder=tmp_path / "gone"))
    moved.save(tmp_path / "t")
    with pytest.raises(UsageError, match=r"the abstraction of '.*t' was not found in"):
        errai.load_strategy(tmp_path / "t")
    wrong = replace(strategy, saved=replace(strategy.saved, fingerprint="0" * 32))
    wrong.save(tmp_path / "u")
    with pytest.raises(UsageError, match="was made with another abstraction"):
        errai.load_strategy(tmp_path / "u")
    with pytest.raises(UsageError, match="does not fit position 0"):
        BucketStrategy(strategy.tree, strategy.saved, (np.zeros(3), strategy.tables[1]))


# Limit hold'em as a whole


def test_estimates_count_what_is_walked() -> None:
    """Steps are betting nodes x canonical hands, round by round, without what an agent never does."""
    tree = PublicTree.of(LIMIT)
    rows = (1_286_792, 55_190_538, 2_428_287_420)
    everything = estimate_by_subgames(tree, simple_plays(tree, "random"), 2)
    counts = [int(tree.betting.round_begin[r + 1] - tree.betting.round_begin[r]) for r in (1, 2, 3)]
    assert everything.steps == 2 * sum(count * number for count, number in zip(counts, rows, strict=True))
    # `half` never folds: below the flop 6.35e13 are walked.
    assert estimate_by_subgames(tree, simple_plays(tree, "half"), 2).steps == pytest.approx(6.35e13, rel=1e-3)
    call = estimate_by_subgames(tree, simple_plays(tree, "always-call"), 2)
    assert call.steps < everything.steps / 5
    assert call.fits
    assert call.hand_bytes < 2**30


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "published"), [("always-fold", 750.0), ("always-call", 1163.48)])
def test_table_2_1_of_the_thesis(agent: str, published: float) -> None:
    """The whole of limit hold'em; Johanson's thesis 2016, table 2.1."""
    tree = PublicTree.of(LIMIT)
    found = exploitability_by_subgames(tree, simple_plays(tree, agent), num_threads=2)
    assert found.mbb_per_game == pytest.approx(published, abs=0.01)


@pytest.mark.slow
def test_buckets_of_the_full_deck_are_begun_killed_and_resumed(tmp_path: Path) -> None:
    """A bucketed strategy of limit hold'em, walked board by board, killed, resumed with the same sums."""
    errai.abstract(LIMIT, "IR-PHS 169-20-20-20", out=tmp_path / "abstraction")
    tree = PublicTree.of(LIMIT)
    empty = BucketStrategy.uniform(tree, tmp_path / "abstraction")
    rng = np.random.default_rng(6)
    tables = tuple(rng.random(size, dtype=np.float32) for size in empty.layout.num_slots)
    BucketStrategy(tree, empty.saved, (tables[0], tables[1])).save(tmp_path / "strategy")
    # Pages of mapped files (the abstraction, the cache of features) are left out of what is measured: how
    # many of them the system maps at once is its own decision, and it drops them where memory is short.
    program = (
        "import sys, threading, time\n"
        "from pathlib import Path\n"
        "import errai\n"
        "from errai.response import subgames\n"
        "subgames.SAVE_EVERY = 1\n"
        "own = [0]\n"
        "def watch():\n"
        "    while True:\n"
        "        status = Path('/proc/self/status').read_text()\n"
        "        own.append(1024 * int(status.partition('RssAnon:')[2].split()[0]))\n"
        "        time.sleep(0.005)\n"
        "threading.Thread(target=watch, daemon=True).start()\n"
        "strategy = errai.load_strategy(sys.argv[1])\n"
        "def stop(done, total):\n"
        "    if len(list(Path(sys.argv[2]).glob('*.array'))) == int(sys.argv[3]):\n"
        "        print(max(own))\n"
        "        raise SystemExit\n"
        "keep, threads = Path(sys.argv[2]), int(sys.argv[4])\n"
        "subgames.exploitability_by_subgames(strategy.tree, strategy.plays, threads, keep, stop)\n"
    )

    def walk(folder: str, threads: int, kill: bool = False) -> int:
        paths = str(tmp_path / "strategy"), str(tmp_path / folder)
        command = [sys.executable, "-c", program, *paths, "2", str(threads)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if kill:
            while not list((tmp_path / folder).glob("*.array")):
                time.sleep(0.1)
            time.sleep(1)
            child.send_signal(signal.SIGKILL)
        out, _ = child.communicate()
        return int(out or 0)

    peak = walk("straight", 2)
    walk("killed", 1, kill=True)
    assert [path.name for path in (tmp_path / "killed").glob("*.array")] == [
        "best-response-000000-000001.array"
    ]
    walk("killed", 1)
    for first in (0, 1):
        name = f"best-response-{first:06d}-{first + 1:06d}.array"
        straight, killed = (read_array(tmp_path / folder / name)[1] for folder in ("straight", "killed"))
        assert straight.any()
        assert np.array_equal(straight, killed)
    assert 10**8 < peak - sum(table.nbytes for table in tables) < 8 * 10**8


def test_a_killed_computation_goes_on(tmp_path: Path, run_errai: Callable[..., tuple[int, str, str]]) -> None:
    """SIGKILL in the middle of `errai exploit --keep`; the same command ends with the right figure."""
    keep = tmp_path / "kept"
    command = ["exploit", "random", "--game", "rhode-island", "--keep", str(keep), "--threads", "1"]
    child = subprocess.Popen(
        [sys.executable, "-m", "errai", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 300
    while not (keep.is_dir() and any(keep.glob("*.array"))) and child.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    (keep / f".best-response-000000-000005.array.{child.pid}.tmp").write_bytes(b"half")
    status, out, _ = run_errai(*command)
    assert status == 0
    expected = errai.exploitability(simple_strategy(RHODE_ISLAND, "random"))
    assert f"exploitability {expected.mbb_per_game:.6g} mbb/g" in out
    assert not list(keep.glob(".*"))


def test_simple_agents_in_both_seats(run_errai: Callable[..., tuple[int, str, str]]) -> None:
    assert {"always-call", "half"} <= set(SIMPLE_RULES)
    status, out, _ = run_errai("exploit", "always-call/half", "--game", "leduc", "--threads", "2")
    assert status == 0
    expected = errai.exploitability(simple_strategy(GAMES["leduc"], "always-call", second="half"))
    assert f"exploitability {expected.mbb_per_game:.6g} mbb/g" in out
    assert "payoffs plain" in out


def test_a_table_is_converted_once_for_all_boards() -> None:
    tree = PublicTree.of(errai.load_game("leduc"))
    tables = tree.layout.zeros(np.float32)
    play = Strategy(tree, tables).plays[0]
    boards = [boards_below(Deals(tree.rules), 1, board) for board in (0, 1)]
    first, second = (
        play.bind(cells_below(Deals(tree.rules), 1, board), at, np.dtype(np.float64))
        for board, at in enumerate(boards)
    )
    assert first.source is second.source
    assert first.source.dtype == np.float64
    assert play.bind(tree.cells, first_boards(Deals(tree.rules), 2), np.dtype(np.float32)).source is tables[0]
