"""`errai solve` and `errai exploit`, as typed, and what stands behind them."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errai
from errai.cards.deck import Deck
from errai.cli.output import format_seconds
from errai.cli.progress import Progress
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.rules import PokerRules, Showdown
from errai.response.estimate import estimate_exploitability
from errai.response.results import Exploitability
from errai.runs.folder import RunFolder
from errai.runs.forecast import seconds_to_go
from errai.solvers.solve import StopRule
from errai.solvers.table_solver import Measurement
from errai.strategy.simple import SIMPLE_RULES, simple_strategy
from errai.strategy.strategy import Strategy
from errai.strategy.table import strategy_tables
from errai.tree.size import game_size


def test_solve_exploit_and_resume(run_errai, tmp_path: Path) -> None:
    status, out, err = run_errai("solve", "leduc", "--iterations", "100", "--out", "runs/a")
    assert status == 0
    # On a busy machine, or while kernels compile, lines of progress may appear; nothing else does.
    assert all(re.match(r"errai: (iteration \d|compiling kernels)", line) for line in err.splitlines())
    assert out.startswith("leduc: 288 information sets, 672 slots\ntables of float64 10.5 KiB, buffers ")
    assert ", 1 thread, disk for checkpoints 21.0 KiB\n" in out
    assert re.search(r"value -0\.08\d+ chips for position 0, exploitability 13\.\d+ mbb/g", out)
    assert "saved in runs/a; next: errai show runs/a, errai exploit runs/a" in out
    status, out, _ = run_errai("exploit", "runs/a", "--json")
    measured = errai.exploitability(errai.solve(errai.load_game("leduc"), iterations=100).strategy)
    assert json.loads(out) == {
        "path": "runs/a",
        "game": "leduc",
        "payoffs": "plain",
        "exploitability_chips": measured.chips,
        "exploitability_mbb_per_game": measured.mbb_per_game,
        "best_response_values_chips": list(measured.best_response_values),
        "profile_values_chips": None,
    }
    for seed in ("0", "7"):  # its own seed, too: whoever gives one expects it to count
        status, _, err = run_errai("solve", "--resume", "--out", "runs/a", "--seed", seed)
        assert status == 2
        assert "--seed needs a game: a run that is resumed keeps its own" in err
    status, _, err = run_errai("solve", "leduc", "--resume", "--out", "runs/a", "--seed", "7")
    assert status == 2
    assert "seed '0', not '7'" in err
    status, out, _ = run_errai("solve", "--resume", "--out", "runs/a", "--iterations", "150", "--json")
    resumed = json.loads(out)
    assert resumed["iterations"] == 150
    straight = errai.solve(errai.load_game("leduc"), iterations=150).strategy
    for table, expected in zip(errai.load_strategy("runs/a").tables, straight.tables, strict=True):
        assert np.array_equal(table, expected)


def test_until_time_and_plot(run_errai, tmp_path: Path) -> None:
    status, out, _ = run_errai("solve", "kuhn", "--until", "1mbb", "--json", "--plot", "k.png")
    solved = json.loads(out)
    assert status == 0
    assert (
        solved["exploitability_mbb_per_game"] <= 1 < solved["measurements"][-2]["exploitability_mbb_per_game"]
    )
    assert solved["value_chips"] == pytest.approx(-1 / 18, abs=1e-3)
    assert (tmp_path / "k.png").read_bytes().startswith(b"\x89PNG")
    status, out, _ = run_errai("solve", "kuhn", "--time", "0.2s", "--json")
    solved = json.loads(out)
    assert 0.2 <= solved["seconds"] < 10
    assert solved["iterations"] > 100


def test_linear_programme(run_errai) -> None:
    status, out, _ = run_errai("solve", "kuhn", "--algorithm", "lp", "--out", "exact", "--json")
    assert status == 0
    assert json.loads(out)["value_chips"] == pytest.approx(-1 / 18, abs=1e-9)
    assert errai.exploitability(errai.load_strategy("exact")).chips == pytest.approx(0, abs=1e-9)
    status, _, err = run_errai("solve", "--resume", "--out", "exact")
    assert status == 2
    assert "solved exactly by a linear programme: there is nothing to resume" in err


def test_missing_matplotlib_is_told(run_errai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, _, err = run_errai("solve", "leduc", "--plot", "a.png")
    assert status == 2
    assert "drawing needs matplotlib" in err
    assert "errai[plots]" in err


def start(*arguments: str, cwd: Path, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "errai", *arguments],
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        **more,
    )


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_interrupted_solve_saves_and_says_how_to_go_on(tmp_path: Path, number: int, status: int) -> None:
    run = start("solve", "leduc", "--time", "10m", "--out", "run", cwd=tmp_path, stderr=subprocess.PIPE)
    assert run.stderr is not None
    assert "iteration" in run.stderr.readline() + run.stderr.readline()
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert run.returncode == status
    assert "ending after this iteration" in err
    assert "go on with: errai solve --resume --out run" in out
    assert "Traceback" not in err
    done = int(re.search(r"interrupted after ([\d,]+) iterations", out)[1].replace(",", ""))  # type: ignore[index]
    state = json.loads((tmp_path / "run" / "checkpoint.json").read_text())["state"]
    assert state["iteration"] == done > 0


def test_terminal_that_goes_away_saves_the_run(tmp_path: Path) -> None:
    """The kernel sends SIGHUP to the session of a terminal that is closed; nobody can be told anything."""
    child, ours = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        command = [sys.executable, "-m", "errai", "solve", "leduc", "--time", "10m", "--out", "run"]
        os.execv(command[0], command)
    shown = b""
    while b"mbb/g" not in shown:
        shown += os.read(ours, 4096)
    os.close(ours)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) != -signal.SIGHUP
    state = json.loads((tmp_path / "run" / "checkpoint.json").read_text())["state"]
    assert state["iteration"] > 0
    RunFolder(tmp_path / "run").verify()


def test_advice_of_an_interrupted_solve_repeats_what_was_given(
    run_errai, monkeypatch, tmp_path: Path
) -> None:
    """Interrupted by the first measurement, then followed: the same tables as without an interruption."""
    show = Progress.show

    def interrupted(self: Progress, *arguments: object) -> None:
        show(self, *arguments)  # type: ignore[arg-type]
        self.signal_number = signal.SIGTERM

    (tmp_path / "disk").mkdir()
    given = ["--threads", "1", "--tables-in", "disk", "--plot", "a.png", "--checkpoint-every", "5"]
    command = ["solve", "leduc", "--algorithm", "dcfr", "--discount", "1,0.5,1", "--measure-every", "10"]
    command += ["--iterations", "60", *given]
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "show", interrupted)
        status, out, _ = run_errai(*command, "--out", "a b", "--time", "10m")
    assert status == 143
    assert re.search(r"interrupted after [1-5]?\d iterations", out)
    (advice,) = re.findall(r"; go on with: errai (.*)\n", out)
    words = shlex.split(advice)
    assert words[:4] == ["solve", "--resume", "--out", "a b"]
    assert dict(zip(words[4::2], words[5::2], strict=True)) == dict(
        zip(given[::2], ["1", "disk", "a.png", "5.0"], strict=True)
    )
    assert run_errai(*words)[0] == 0
    assert run_errai(*command, "--out", "straight")[0] == 0
    ours, theirs = (errai.load_strategy(folder).tables for folder in ("a b", "straight"))
    for table, expected in zip(ours, theirs, strict=True):
        assert np.array_equal(table, expected)


def test_nohup_is_respected(tmp_path: Path) -> None:
    run = start(
        *("solve", "leduc", "--time", "3s", "--out", "run"),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert run.stderr is not None
    assert "iteration" in run.stderr.readline() + run.stderr.readline()
    run.send_signal(signal.SIGHUP)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert "saved in run; next:" in out


LONG_GAME = """\
GAMEDEF
limit
numPlayers = 2
numRounds = 2
blind = 1 1
raiseSize = 2 4
firstPlayer = 1 1
maxRaises = 3 3
numSuits = 4
numRanks = 13
numHoleCards = 1
numBoardCards = 0 1
END GAMEDEF
"""


def children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_interrupted_linear_programme_ends_at_once(tmp_path: Path, number: int, status: int) -> None:
    """Its size is told before; what solves it, for half a minute here, ends with the one that asked."""
    (tmp_path / "long.game").write_text(LONG_GAME)
    run = start(
        "solve", "long.game", "--algorithm", "lp", "--out", "run", cwd=tmp_path, stderr=subprocess.PIPE
    )
    assert run.stderr is not None
    line = run.stderr.readline()
    while "compiling" in line:
        line = run.stderr.readline()
    assert line == (
        "errai: linear programme of 16,746 rows, 16,746 columns, 226,150 nonzeros, "
        "about 251.7 MiB of memory\n"
    )
    while not children(run.pid):
        time.sleep(0.01)
    (solving,) = children(run.pid)
    time.sleep(3)  # HiGHS is at work by now
    assert run.poll() is None
    began = time.monotonic()
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    while Path(f"/proc/{solving}/exe").exists() and time.monotonic() < began + 20:
        time.sleep(0.01)
    assert time.monotonic() - began < 15
    assert run.returncode == status
    assert "Traceback" not in err
    if number != signal.SIGKILL:
        assert err == "errai: interrupted; a linear programme keeps nothing\n"
        assert not (tmp_path / "run").exists()
    # No lock is left behind.
    assert errai.solve("kuhn", iterations=5, out=tmp_path / "run").folder == tmp_path / "run"


@pytest.mark.parametrize("sent", [b"", b"\x09"])
def test_what_solves_a_linear_programme_ends_quietly_where_nothing_comes(sent: bytes) -> None:
    """As when the one that asked is killed before it has sent the programme."""
    command = [sys.executable, "-c", "from errai.solvers.linear_programme import serve; serve()"]
    done = subprocess.run(command, input=sent, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_too_large_a_linear_programme_is_refused(run_errai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.memory.available_memory", lambda: 2**26)
    status, _, err = run_errai("solve", "leduc", "--algorithm", "lp", "--out", "run")
    assert status == 2
    told = "482 rows, 482 columns, 1,928 nonzeros, about 82.7 MiB of memory"
    assert err.count("\n") == 1
    assert f"the linear programme ({told}) needs 82.7 MiB of memory, and 64.0 MiB are free" in err
    assert not Path("run").exists()


def test_a_process_that_dies_under_a_linear_programme_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    for command in ("raise SystemExit", "import sys; sys.stdin.buffer.read(1000); import os; os._exit(1)"):

        def die(arguments: list[str], command: str = command, **more: object) -> object:
            return real([arguments[0], "-c", command], **more)  # type: ignore[call-overload]

        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", die)
            with pytest.raises(UsageError, match="the process that solved it was killed"):
                errai.solve("leduc", "lp")


def test_terminal_gets_a_bar(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    run = start("solve", "leduc", "--time", "2s", cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # how a terminal says that the other side has left
        pass
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert b"iteration" in shown
    assert b"mbb/g" in shown
    assert b"to go" in shown
    assert "exploitability" in out
    assert "iteration 1" not in out


def test_estimate_answers_for_games_that_fit_nowhere() -> None:
    """A strategy of limit hold'em with tables would be 131 TiB; the estimate takes seconds."""
    found = estimate_exploitability(errai.load_game("limit-holdem"))
    # The river's decisions alone: 5,670 betting sequences x canonical hands, for both positions.
    assert found.steps > 2 * 5670 * 2_428_287_420
    assert found.table_bytes == 4 * game_size(errai.load_game("limit-holdem")).table_slots
    assert not found.fits
    assert found.seconds > 3600


def test_estimate_by_subgames_leaves_out_what_an_agent_never_does(run_errai) -> None:
    arguments = ("exploit", "always-call", "--game", "limit-holdem", "--estimate")
    status, out, _ = run_errai(*arguments, "--threads", "2", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["fits"]
    assert found["table_bytes"] < 2**20  # one number a slot, whatever the hands
    assert 60 < found["seconds"] < 1e6
    # At least one betting node a position and river hand, and far fewer than in the whole tree.
    assert 2 * 2_428_287_420 < found["steps"] < 5670 * 2_428_287_420


@pytest.mark.parametrize("agent", ["always-call", "half"])
def test_subgame_by_subgame_is_the_same(run_errai, tmp_path: Path, agent: str) -> None:
    _, out, _ = run_errai("exploit", agent, "--game", "leduc", "--json")
    whole = json.loads(out)["best_response_values_chips"]
    for _ in range(2):  # the second time from what the first has kept
        status, out, _ = run_errai("exploit", agent, "--game", "leduc", "--keep", "kept", "--json")
        assert status == 0
        assert json.loads(out)["best_response_values_chips"] == pytest.approx(whole, abs=1e-12)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["best-response-000000-000003.array"]


def test_other_payoffs_reach_the_subgames(run_errai) -> None:
    """A saved run measured under a rake: the same at once and sub-game by sub-game."""
    run_errai("solve", "leduc", "--iterations", "20", "--out", "run")
    plain = json.loads(run_errai("exploit", "run", "--json")[1])
    raked = ["exploit", "run", "--payoffs", "rake 5% cap 3", "--json"]
    whole, parted = (json.loads(run_errai(*raked, *more)[1]) for more in ([], ["--keep", "kept"]))
    assert parted["payoffs"] == whole["payoffs"] == "rake 5% cap 3"
    for key in ("best_response_values_chips", "profile_values_chips"):
        assert parted[key] == pytest.approx(whole[key], abs=1e-12)
    assert whole["exploitability_chips"] != pytest.approx(plain["exploitability_chips"], abs=1e-4)


def test_estimate_of_a_small_game_is_its_own_time() -> None:
    found = estimate_exploitability(errai.load_game("leduc"))
    assert found.sample == "leduc"
    assert found.fits
    tree = PublicTree.of(errai.load_game("leduc"))
    nodes = np.diff(tree.betting.round_begin)
    assert found.steps == 2 * sum(int(nodes[r]) * tree.cells.num_cells(0, r) for r in range(2))
    assert found.table_bytes == 672 * 8
    assert found.seconds < 1
    with pytest.raises(UsageError, match="is a dice game"):
        estimate_exploitability(errai.load_game("bluff-1-1"))


@pytest.mark.parametrize("game", ["kuhn", "leduc", "holdem-1-2"])
@pytest.mark.parametrize("name", list(SIMPLE_RULES))
def test_simple_agents_play_as_their_description(game: str, name: str) -> None:
    """Every table entry against the agent asked in words, decision by decision."""
    rules = errai.load_game(game)

    def choose(betting: str, hand: str, board: str, actions: list[str]) -> dict[str, float]:
        raises = [action for action in actions if action.startswith("r")]
        if name == "random":
            return {action: 1 / len(actions) for action in actions}
        if name == "always-fold":
            return {"f" if "f" in actions else "c": 1.0}
        if name == "always-call" or not raises:
            return {"c": 1.0}
        if name == "always-raise":
            return {raises[0]: 1.0}
        return {"c": 0.5, raises[0]: 0.5}

    expected = errai.strategy_from_function(rules, choose)
    found = simple_strategy(rules, name)
    for table, other in zip(found.tables, expected.tables, strict=True):
        assert np.array_equal(table, other)


def test_exploitability_of_simple_agents(run_errai) -> None:
    # Always-fold gives up its ante of 1 whenever it faces a bet.
    status, out, _ = run_errai("exploit", "always-fold", "--game", "leduc", "--json")
    assert status == 0
    assert json.loads(out)["exploitability_mbb_per_game"] == pytest.approx(1000)
    status, out, _ = run_errai("exploit", "always-fold", "--game", "holdem-1-1")
    # The small blind is half a big blind, the big blind a whole one: 750 on average, as in limit hold'em.
    assert "exploitability 750 mbb/g" in out
    assert "wins 5 chips a game in position 0, 10 in position 1" in out
    with pytest.raises(UsageError, match="unknown agent 'sometimes': expected always-fold, always-call"):
        simple_strategy(errai.load_game("kuhn"), "sometimes")


def test_simple_agents_raise_to_every_size_alike() -> None:
    rule = SIMPLE_RULES["always-raise"]
    assert rule(True, True, 4) == [0, 0, 0.25, 0.25, 0.25, 0.25]
    assert SIMPLE_RULES["half"](False, True, 2) == [0.5, 0.25, 0.25]


def test_times_in_words() -> None:
    assert [format_seconds(seconds) for seconds in (0.01, 5, 100, 5400, 4e5, 1e9)] == [
        "10.0 ms",
        "5.0 s",
        "1.7 minutes",
        "1.5 hours",
        "4.6 days",
        "31.7 years",
    ]


def test_time_to_go_is_extrapolated() -> None:
    """Exploitability 1000 / t: 1 mbb is reached at iteration 1,000."""
    measurements = [Measurement(t, t / 10, Exploitability((1 / t, 1 / t), 1)) for t in (10, 20, 50, 100)]
    assert seconds_to_go(measurements, 100, 0.1, StopRule(10**12, 1.0)) == pytest.approx(90)
    assert seconds_to_go(measurements, 100, 0.1, StopRule(300, 1.0)) == pytest.approx(20)
    assert seconds_to_go(measurements, 100, 0.1, StopRule(10**12, None, 15)) == pytest.approx(5)
    assert seconds_to_go(measurements[:1], 10, 0.1, StopRule(10**12, 1.0)) is None


def test_show_prints_what_a_strategy_plays(run_errai) -> None:
    run_errai("solve", "leduc", "--iterations", "50", "--out", "run")
    strategy = errai.load_strategy("run")
    status, out, _ = run_errai("show", "run", "cr")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "leduc after 'cr': player 0 acts"
    assert lines[1].split() == ["hand", "hands", "f", "c", "r"]
    assert [line.split()[:2] for line in lines[3:]] == [["K", "2"], ["Q", "2"], ["J", "2"]]
    king = strategy.probabilities("cr", "K")
    assert lines[3].split()[2:] == [f"{king[action]:.4f}" for action in "fcr"]
    status, out, _ = run_errai("show", "run", "crc/", "--board", "Q", "--json")
    shown = json.loads(out)
    assert (shown["path"], shown["game"], shown["betting"]) == ("run", "leduc", "crc/")
    (table,) = shown["tables"]
    assert (table["board"], table["position"]) == ("Q", 0)
    assert [(row["hand"], row["num_hands"]) for row in table["hands"]] == [("K", 2), ("Q", 1), ("J", 2)]
    for row in table["hands"]:
        assert row["probabilities"] == pytest.approx(strategy.probabilities("crc/", row["hand"], "Q"))
    _, out, _ = run_errai("show", "run", "crc/")
    assert [line for line in out.splitlines() if "board" in line] == [
        f"leduc after 'crc/', board {rank}: player 0 acts" for rank in "JQK"
    ]
    _, out, _ = run_errai("show", "run", "crc/r", "--hand", "K", "--board", "Q")
    assert out.startswith("leduc after 'crc/r' with K on Q: f 0.")


def test_tables_agree_with_probabilities_hand_by_hand() -> None:
    """Every row of every board, in a game with suits that matter, asked with boards in any suits."""
    game = PokerRules(
        "two suits", Deck("JQKA", "hs"), 2, (0, 3), (2, 1), (2, 2), (1, 1), (1, 0), showdown=Showdown.POKER
    )
    rng = np.random.default_rng(5)
    tree = PublicTree.of(game)
    tables = tuple(rng.random(slots) for slots in tree.layout.num_slots)
    strategy = Strategy(tree, (tables[0], tables[1]))
    assert game.suits_matter
    for board in ("QhKsAs", "AsKsJs", "QsQhAh"):
        (table,) = strategy_tables(strategy, "cc/", board)
        assert table.counts.sum() == 10
        for hand, chances in zip(table.hands, table.probabilities, strict=True):
            asked = strategy.probabilities("cc/", hand, board)
            assert dict(zip(table.actions, chances.tolist(), strict=True)) == pytest.approx(asked)
