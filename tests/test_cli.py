"""The command line: output for people and machines, one sentence for bad input, quick and quiet exits."""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main

from errai.cli.main import app, main
from errai.cli.output import short_number
from errai.games.catalogue import game_names

GAME_FILES = Path(__file__).parent / "game_files"
KUHN_FILE = """\
GAMEDEF
limit
numPlayers = 2
numRounds = 1
blind = 1 1
raiseSize = 1
maxRaises = 1
numSuits = 1
numRanks = 3
numHoleCards = 1
numBoardCards = 0
END GAMEDEF
"""
# Bytecode that may not be kept would be compiled anew in every start that is timed below.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


class CommandLine:
    """Runs `errai` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: str) -> Result:
        self._monkeypatch.setattr(sys, "argv", ["errai", *arguments])
        with pytest.raises(SystemExit) as leave:
            main()
        printed = self._capsys.readouterr()
        assert isinstance(leave.value.code, int)
        return Result(leave.value.code, printed.out, printed.err)


@pytest.fixture
def errai(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


def start(*arguments: str | bytes, unbuffered: bool = False, **options: object) -> "subprocess.Popen[bytes]":
    """Start `errai` as a process of its own."""
    environment = ENVIRONMENT | {"PYTHONUNBUFFERED": "1" if unbuffered else ""}
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "errai", *arguments], stderr=subprocess.PIPE, env=environment, **options
    )


# Output


def test_games(errai: CommandLine) -> None:
    result = errai("games")
    assert result.status == 0
    assert result.err == ""
    for name in game_names():
        assert f"\n  {name} " in result.out
    assert "13,803,249,787,132" in result.out
    assert "6.375e161" in result.out


def test_games_as_json(errai: CommandLine) -> None:
    result = errai("games", "--json")
    games = {game["game"]: game for game in json.loads(result.out)}
    assert tuple(games) == game_names()
    assert games["leduc"]["canonical_information_sets"] == 288
    assert len(str(games["nolimit-holdem"]["raw_information_sets"])) == 162


def test_size_prints_full_integers(errai: CommandLine) -> None:
    result = errai("size", "limit-holdem")
    assert result.status == 0
    assert result.err == ""
    for number in ("319,365,922,522,608", "13,803,249,787,132", "5,670", "2,554,656", "17,221"):
        assert number in result.out
    assert len(result.out.splitlines()) == 11


def test_size_of_no_limit_fits_a_terminal(errai: CommandLine) -> None:
    result = errai("size", "nolimit-holdem")
    exact = json.loads(errai("size", "nolimit-holdem", "--json").out)["raw_information_sets"]
    assert len(str(exact)) == 162
    assert "raw information sets: 6.375e161 (162 digits); --json has them in full\n" in result.out
    assert str(exact).startswith("6375")
    assert not re.search(r"[0-9,]{26}", result.out)
    assert max(map(len, result.out.splitlines())) < 140


def test_size_as_json(errai: CommandLine) -> None:
    result = errai("size", "holdem-2-4", "--buckets", "PR 5-5", "--json")
    counted = json.loads(result.out)
    assert counted["abstraction"] == "PR 5-5"
    assert counted["bucketed_information_sets"] == 1_790
    assert counted["canonical_information_sets"] == 90_076_792
    assert counted["regret_bytes"] == counted["average_bytes"] == 4 * counted["slots"]
    assert [(one["round"], one["street"]) for one in counted["rounds"]] == [(1, "preflop"), (2, "flop")]
    assert [one["betting_nodes"]["decisions"] for one in counted["rounds"]] == [8, 70]
    assert [one["bucketed_information_sets"] for one in counted["rounds"]] == [40, 1_750]
    dice = json.loads(errai("size", "bluff-2-1", "--json").out)["rounds"]
    assert [(one["round"], one["street"], one["dice"]) for one in dice] == [
        (1, None, "2-1"),
        (2, None, "1-1"),
    ]


@pytest.mark.parametrize(
    ("game", "name", "by_round"),
    [
        ("limit-holdem", "IR-KE-KO 169-9000-9000-9000", [169, 9000, 9000, 9000]),
        ("limit-holdem", "PR-PHS 10-10-10-10", [10, 100, 1000, 10000]),
        ("limit-holdem", "IIPP-PHS 10-5x4-3-2", [10, 20, 60, 120]),
        ("leduc", "PR-C-HS C-2", [3, 6]),
        ("rhode-island", "IR-C-KE-KO C-C-60", [13, 325, 60]),
    ],
)
def test_size_takes_the_names_of_abstractions(
    errai: CommandLine, game: str, name: str, by_round: list[int]
) -> None:
    counted = json.loads(errai("size", game, "--buckets", name, "--json").out)
    assert [one["buckets"] for one in counted["rounds"]] == by_round
    text = errai("size", game, "--buckets", name).out
    assert text.startswith(f"{game} in buckets {name}\n")
    assert f"{counted['bucketed_information_sets']:,}" in text


def test_size_with_a_menu(errai: CommandLine) -> None:
    arguments = (
        "size",
        "nolimit-holdem",
        "--bets",
        "1p,all-in",
        "--max-raises",
        "2",
        "--force-all-in",
        "0.1",
    )
    text, machine = errai(*arguments), errai(*arguments, "--json")
    assert text.out.startswith("nolimit-holdem with bets 1p,all-in\n")
    counted = json.loads(machine.out)
    assert counted["bets"] == "1p,all-in"
    assert f"betting nodes: {counted['betting_nodes']:,}\n" in text.out


@pytest.mark.parametrize("name", ["bluff-2-1", "holdem-3-2", "bluff-4-4"])
def test_size_of_games_that_are_not_listed(errai: CommandLine, name: str) -> None:
    assert errai("size", name).out.startswith(f"{name}\n")


def test_size_of_a_game_file(errai: CommandLine) -> None:
    ours = json.loads(errai("size", "limit-holdem", "--json").out)
    theirs = json.loads(errai("size", str(GAME_FILES / "holdem.limit.2p.game"), "--json").out)
    assert ours["rounds"] == theirs["rounds"]


def test_show(errai: CommandLine) -> None:
    result = errai("show", "leduc", "rc/", "--depth", "1")
    assert result.out.splitlines() == [
        "rc/      player 0 acts, round 2, chips 3+3",
        "  c        player 1 acts, round 2, chips 3+3",
        "    ...",
        "  r        player 1 acts, round 2, chips 7+3",
        "    ...",
    ]


def test_a_folder_with_the_name_of_a_game_does_not_hide_it(
    errai: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = errai("show", "leduc", "--depth", "1")
    assert shown.status == 0
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leduc").mkdir()
    assert errai("show", "leduc", "--depth", "1") == shown


def test_show_as_json(errai: CommandLine) -> None:
    shown = json.loads(errai("show", "leduc", "rr", "--depth", "1", "--json").out)
    nodes = shown.pop("nodes")
    assert shown == {"game": "leduc", "betting": "rr"}
    keys = ("depth", "action", "kind", "position", "round", "street", "chips", "won_chips")
    assert [tuple(node[key] for key in keys) for node in nodes] == [
        (0, None, "decision", 0, 1, None, [3, 5], None),
        (1, "f", "fold", 1, 1, None, [3, 5], 3),
        (1, "c", "decision", 0, 2, None, [5, 5], None),
        (2, "", "more", None, None, None, [], None),
    ]
    (river,) = json.loads(errai("show", "nolimit-holdem", "r20000c", "--bets", "a", "--json").out)["nodes"]
    assert (river["kind"], river["street"], river["chips"]) == ("showdown", "river", [20000, 20000])
    flop = json.loads(errai("show", "limit-holdem", "cc/", "--depth", "0", "--json").out)["nodes"][0]
    assert (flop["round"], flop["street"]) == (2, "flop")
    dice = json.loads(errai("show", "bluff-1-1", "2-5", "--depth", "1", "--json").out)["nodes"]
    assert [(node["action"], node["kind"], node["dice"]) for node in dice] == [
        (None, "decision", [1, 1]),
        ("b", "challenge", [1, 1]),
        ("2-*", "decision", [1, 1]),
        ("", "more", []),
    ]


def test_show_with_a_menu(errai: CommandLine) -> None:
    result = errai(
        "show", "nolimit-holdem", "r300c/", "--bets", "0.5p|a", "--depth", "1", "--max-raises", "1"
    )
    assert "  r600     player 1 acts, flop, chips 600+300" in result.out.splitlines()


def test_equity(errai: CommandLine) -> None:
    result = errai("equity", "AsAh", "KsKh", "--board", "2c7d9h4s3c")
    assert result.out == (
        "AsAh against KsKh on 2c7d9h4s3c\n  equity 1.000000 (wins 1.000000, ties 0.000000, loses 0.000000)\n"
    )
    machine = json.loads(errai("equity", "AsAh", "KsKh", "--board", "2c7d9h4s3c", "--json").out)
    assert (machine["equity"], machine["win"], machine["tie"], machine["lose"]) == (1.0, 1.0, 0.0, 0.0)
    assert (machine["ranges"], machine["board"]) == (["AsAh", "KsKh"], "2c7d9h4s3c")


def test_equity_tells_wins_ties_and_losses_apart(errai: CommandLine) -> None:
    """Three of six hands lose to the aces, one is as good, two have made a set."""
    line = ["equity", "AsAh", "KsKd,TcTd,8c8d,AcAd,QcQd,JcJd", "--board", "2h7d9hJsQs"]
    machine = json.loads(errai(*line, "--json").out)
    told = [machine[key] for key in ("equity", "win", "tie", "lose")]
    assert told == pytest.approx([7 / 12, 1 / 2, 1 / 6, 1 / 3], abs=1e-12)
    assert errai(*line).out.endswith("  equity 0.583333 (wins 0.500000, ties 0.166667, loses 0.333333)\n")


def all_commands() -> dict[str, typer.core.TyperCommand]:
    """Every command by its whole name, groups walked through."""
    found = {}
    waiting = {"": typer.main.get_command(app)}
    while waiting:
        name, command = waiting.popitem()
        inside = getattr(command, "commands", None)
        if inside is None:
            found[name] = command
        else:
            waiting |= {f"{name} {key}".strip(): value for key, value in inside.items()}
    return found  # type: ignore[return-value]


COMMANDS = all_commands()


def test_there_are_commands() -> None:
    assert {"games", "size", "show", "solve", "exploit", "export", "spot", "equity", "reproduce"} <= set(
        COMMANDS
    )
    assert {f"abstract {name}" for name in ("features", "build", "public", "info", "show", "compare")} <= set(
        COMMANDS
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_and_seed(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {"--json", "--seed"} <= options


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_one_example_that_is_parsed(errai: CommandLine, name: str) -> None:
    """In one line as it stands, however narrow the terminal is."""
    text = errai(*name.split(), "--help").out
    (example,) = re.findall(r"\n  Example:\n    errai (.*)\n$", text)
    words = shlex.split(example)
    assert words[: len(name.split())] == name.split()
    with COMMANDS[name].make_context(name, words[len(name.split()) :]) as context:
        assert context.params


SHARED = ("--threads", "--seed", "--time", "--out", "--json", "--resume", "--plot", "--clusters")


@pytest.mark.parametrize("option", SHARED)
def test_shared_options_are_one(option: str) -> None:
    """The same help and the same refusal wherever a command has one."""
    found = {
        (parameter.metavar, parameter.help)  # type: ignore[attr-defined]
        for command in COMMANDS.values()
        for parameter in command.params
        if option in parameter.opts
    }
    assert len(found) == 1


@pytest.mark.parametrize("arguments", [["--help"], [], ["size", "--help"], ["show", "--help"]])
def test_help(errai: CommandLine, arguments: list[str]) -> None:
    result = errai(*arguments)
    assert result.status == 0
    assert result.out.startswith("Usage: errai")
    assert result.err == ""


def test_version(errai: CommandLine) -> None:
    result = errai("--version")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("errai ")


def test_a_seed_is_accepted_and_changes_nothing(errai: CommandLine) -> None:
    assert errai("size", "kuhn", "--seed", "7") == errai("size", "kuhn")


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (10**18 - 1, "999,999,999,999,999,999"), (10**18, "1.000e18"), (12345 * 10**20, "1.234e24")],
)
def test_short_number(number: int, text: str) -> None:
    assert short_number(number) == text


# Bad input: status 2 and one sentence that names it


def assert_refused(result: Result, sentence: str) -> None:
    """One line on standard error that names the input, nothing on standard output, status 2."""
    assert result.status == 2
    assert result.out == ""
    # A kernel that was never used here before is compiled, and that is said first.
    told = re.sub(r"errai: compiling kernels .*\n", "", result.err)
    assert sentence in told
    assert told.startswith("errai: ")
    assert told.endswith(".\n")
    assert told.count("\n") == 1
    assert "Traceback" not in told


@pytest.mark.parametrize("extra", [["--json"], ["--seed", "3"]])
def test_bad_input_is_one_sentence_with_other_options_too(errai: CommandLine, extra: list[str]) -> None:
    assert_refused(errai("show", "leduc", "crrr", *extra), "'crrr' is illegal at position 3")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not a game file: it has no GAMEDEF line"),
        (bytes(range(256)) * 8, "is not a game file: its byte"),
        (b"\x7fELF\x01\x00" + bytes(1000), "stands where GAMEDEF must begin the game"),
        (b"\xff\xfe" * 100, "is not a game file: its byte 0 is 0xff"),
        (b"x" * 100_000, "it has more than 65536 bytes"),
        (b"hello", "'hello' stands where GAMEDEF must begin the game"),
        (KUHN_FILE.replace("blind = 1 1", "blind = 1").encode(), "line 5 of"),
        (KUHN_FILE.replace("numPlayers = 2\n", "").encode(), "has no numPlayers"),
        (
            KUHN_FILE.replace("= 2", "= 3")
            .replace("1 1", "1 1 1")
            .replace("numRanks = 3", "numRanks = 4")
            .encode(),
            "has 3 players",
        ),
        (
            KUHN_FILE.replace("raiseSize = 1", "raiseSize = 2147483647").encode(),
            "a raise to 2,147,483,648 chips",
        ),
        (
            KUHN_FILE.replace("limit", "nolimit\nstack = 2147483647 2147483647")
            .replace("raiseSize = 1\n", "")
            .replace("maxRaises = 1\n", "")
            .encode(),
            "stacks of 2,147,483,647 chips",
        ),
        (
            KUHN_FILE.replace("limit", "nolimit\nstack = 2147483647 2147483646")
            .replace("raiseSize = 1\n", "")
            .encode(),
            "actions, more than 255: give a menu of bet sizes (--bets)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_game_files(errai: CommandLine, tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "bad.game"
    path.write_bytes(content)
    assert_refused(errai("size", str(path)), sentence)


def test_folders_and_missing_files_are_no_game_files(errai: CommandLine, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.game", Path("/"), Path("x" * 5_000)):
        result = errai("size", str(path))
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
        assert str(path)[:100] in result.err


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["--debug", "size", "chess"], ["size", "chess", "--debug"]):
        monkeypatch.setattr(sys, "argv", ["errai", *arguments])
        with pytest.raises(ValueError, match="'chess' is neither a game"):
            main()
    process = start("size", "chess", "--debug", stdout=subprocess.DEVNULL)
    _, err = process.communicate()
    assert process.returncode == 1
    assert b"Traceback (most recent call last)" in err


def test_debug_changes_nothing_where_all_is_well(errai: CommandLine) -> None:
    assert errai("--debug", "size", "kuhn") == errai("size", "kuhn")


# As a process


def test_bad_input_as_a_process() -> None:
    process = start("equity", "AsAx", "KsKh", stdout=subprocess.PIPE)
    out, err = process.communicate()
    assert_refused(Result(process.returncode, out.decode(), err.decode()), "'AsAx' is not an item of a range")


def test_a_table_that_went_bad_is_not_the_users_doing(
    errai: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def configure(*_: object, **__: object) -> None:
        raise FloatingPointError("the regrets of player 1 are not finite")

    monkeypatch.setattr("errai.runs.run.configure", configure)
    assert errai("solve", "kuhn") == Result(1, "", "errai: the regrets of player 1 are not finite.\n")


def test_help_does_not_wait_for_numba() -> None:
    program = (
        "import sys, errai.cli.main; late = {'numba', 'numpy'} & set(sys.modules); assert not late, late"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=ENVIRONMENT)


def test_help_takes_less_than_half_a_second_of_work() -> None:
    """In processor time, which other programs on the machine do not stretch; nothing in it waits."""
    used = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "errai", "--help"], check=True, capture_output=True, env=ENVIRONMENT
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(used) < 0.5


@pytest.mark.parametrize("unbuffered", [True, False])
@pytest.mark.parametrize("arguments", [("show", "limit-holdem", "--depth", "12"), ("size", "leduc")])
def test_a_closed_pipe_is_no_error(arguments: tuple[str, ...], unbuffered: bool) -> None:
    process = start(*arguments, unbuffered=unbuffered, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    if arguments[0] == "show":
        assert process.stdout.readline().startswith(b"(start)")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (0, b"")


def test_piping_into_head() -> None:
    command = f"'{sys.executable}' -m errai show limit-holdem --depth 10 | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout == "(start)  player 1 acts, preflop, chips 10+5\n"
    assert done.stderr == ""


@pytest.mark.parametrize("unbuffered", [True, False])
def test_an_interrupt_is_one_line_and_status_130(unbuffered: bool) -> None:
    process = start("show", "limit-holdem", "--depth", "99", unbuffered=unbuffered, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    err = process.stderr.read()  # nobody reads the rest of the output, and nobody needs to
    assert (process.wait(), err) == (130, b"errai: interrupted\n")
    process.stdout.close()
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("unbuffered", [True, False])
def test_a_full_disk_is_one_line(unbuffered: bool) -> None:
    with open("/dev/full", "w") as full:
        process = start("size", "leduc", unbuffered=unbuffered, stdout=full)
        _, err = process.communicate()
    assert (process.returncode, err) == (2, b"errai: No space left on device.\n")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.game"
    with open(path, "w") as file:
        file.write(KUHN_FILE)
    process = start("size", path, stdout=subprocess.PIPE)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert b"betting nodes: 9\n" in out
