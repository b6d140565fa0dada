"""The command line: output for people and machines, one sentence for bad input, quick and quiet exits."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main

from errai.cli.main import app, main
from errai.cli.output import scientific
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


def test_size_of_no_limit_has_every_digit(errai: CommandLine) -> None:
    result = errai("size", "nolimit-holdem")
    exact = json.loads(errai("size", "nolimit-holdem", "--json").out)["raw_information_sets"]
    assert f"raw infosets:        {exact:,}" in result.out
    assert "e+" not in result.out


def test_size_as_json(errai: CommandLine) -> None:
    result = errai("size", "holdem-2-4", "--buckets", "PR 5-5", "--json")
    counted = json.loads(result.out)
    assert counted["buckets"] == "PR 5-5"
    assert counted["bucketed_information_sets"] == 1_790
    assert counted["canonical_information_sets"] == 90_076_792
    assert counted["regret_bytes"] == counted["average_bytes"] == 4 * counted["slots"]
    assert [one["betting"]["decisions"] for one in counted["rounds"]] == [8, 70]
    assert [one["bucketed_infosets"] for one in counted["rounds"]] == [40, 1_750]


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
    machine = json.loads(errai("show", "leduc", "rc/", "--depth", "1", "--json").out)
    assert machine == {"game": "leduc", "betting": "rc/", "lines": result.out.splitlines()}


def test_show_with_a_menu(errai: CommandLine) -> None:
    result = errai(
        "show", "nolimit-holdem", "r300c/", "--bets", "0.5p|a", "--depth", "1", "--max-raises", "1"
    )
    assert "  r600     player 1 acts, round 2, chips 600+300" in result.out.splitlines()


def test_equity(errai: CommandLine) -> None:
    result = errai("equity", "AsAh", "KsKh", "--board", "2c7d9h4s3c")
    assert result.out == (
        "AsAh against KsKh on 2c7d9h4s3c\n  equity 1.000000 (wins 1.000000, ties 0.000000, loses 0.000000)\n"
    )
    machine = json.loads(errai("equity", "AsAh", "KsKh", "--board", "2c7d9h4s3c", "--json").out)
    assert (machine["equity"], machine["win"], machine["tie"], machine["lose"]) == (1.0, 1.0, 0.0, 0.0)
    assert (machine["first"], machine["second"], machine["board"]) == ("AsAh", "KsKh", "2c7d9h4s3c")


def test_every_command_has_json_and_seed() -> None:
    commands = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    commands |= commands.pop("abstract").commands  # a group; its commands' names differ from all others
    for name, one in commands.items():
        options = {option for parameter in one.params for option in parameter.opts}
        assert {"--json", "--seed"} <= options, name


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
def test_scientific(number: int, text: str) -> None:
    assert scientific(number) == text


# Bad input: status 2 and one sentence that names it

BAD = [
    (["size", "chess"], "'chess' is neither a game nor an ACPC game file: the games are kuhn, leduc"),
    (["size", ""], "'' is neither a game nor an ACPC game file"),
    (["size", "holdem-5-1"], "holdem-5-1 is not a game: 1 to 4 rounds and 1 to 4 bets are allowed"),
    (["size", "holdem-2-0"], "holdem-2-0 is not a game"),
    (["size", "bluff-0-1"], "Bluff with (0, 1) dice is impossible"),
    (["size", "bluff-5-1"], "each player has 1 to 4"),
    (["show", "Leduc"], "'Leduc' is neither a game"),
    (["poker"], "No such command 'poker'; 'errai --help' tells what is allowed."),
    (["--chess"], "No such option: --chess"),
    (["size"], "Missing argument 'GAME'; 'errai size --help' tells what is allowed."),
    (["size", "leduc", "kuhn"], "unexpected extra argument(s) (kuhn)"),
    (["size", "leduc", "--chess"], "No such option: --chess"),
    (["games", "leduc"], "unexpected extra argument(s) (leduc)"),
    (["size", "leduc", "--bets"], "'--bets' requires an argument"),
    (["size", "leduc", "--seed", "x"], "Invalid value for '--seed': 'x' is not a whole number"),
    (["size", "leduc", "--seed", "1.5"], "'1.5' is not a whole number"),
    (["size", "leduc", "--bets", "1p"], "'leduc' is a limit game"),
    (["size", "bluff-1-1", "--bets", "1p"], "'bluff-1-1' is a dice game"),
    (["size", "nolimit-holdem", "--bets", "1p,big"], "'big' in the menu '1p,big' is not a bet size"),
    (["size", "nolimit-holdem", "--bets", ""], "'' in the menu '' is not a bet size"),
    (["size", "nolimit-holdem", "--bets", "1e99999999p"], "'1e99999999p' in the menu"),
    (["size", "nolimit-holdem", "--bets", "1p", "--max-raises", "-1"], "a cap of -1 raises is impossible"),
    (["size", "nolimit-holdem", "--bets", "1p", "--max-raises", "two"], "'two' is not a whole number"),
    (["size", "nolimit-holdem", "--bets", "a", "--force-all-in", "-1"], "'-1.0' is not an all-in threshold"),
    (["size", "nolimit-holdem", "--bets", "a", "--force-all-in", "nan"], "'nan' is not an all-in threshold"),
    (["size", "nolimit-holdem", "--bets", "a", "--force-all-in", "little"], "'little' is not a number"),
    (["size", "nolimit-holdem", "--max-raises", "2"], "--max-raises and --force-all-in go with --bets"),
    (["size", "nolimit-holdem", "--force-all-in", "1"], "--max-raises and --force-all-in go with --bets"),
    (["size", "leduc", "--buckets", "5"], "'5' are not buckets for 2 rounds"),
    (["size", "leduc", "--buckets", "PR x-5"], "'PR x-5' are not buckets for 2 rounds"),
    (["size", "leduc", "--buckets", "0-1"], "'0-1' are not buckets for 2 rounds"),
    (["size", "leduc", "--buckets", "4-4"], "4 buckets in round 1 are too many: it has 3 canonical hands"),
    (["size", "bluff-1-1", "--buckets", "5"], "'bluff-1-1' is a dice game"),
    (["show", "nolimit-holdem"], "'nolimit-holdem' has a branch for every chip"),
    (["show", "leduc", "--bets", "1p"], "'leduc' is a limit game"),
    (["show", "leduc", "--depth", "-1"], "a depth of -1 is impossible"),
    (["show", "leduc", "--depth", "deep"], "Invalid value for '--depth': 'deep' is not a whole number"),
    (["show", "leduc", "--depth", ""], "'' is not a whole number"),
    (["show", "leduc", "crrr"], "'crrr' is illegal at position 3, action 'r'"),
    (["show", "leduc", "hello"], "'hello' is illegal at position 0, action 'h'"),
    (["show", "leduc", "cc/\ncc"], "is illegal at position 3"),
    (["show", "nolimit-holdem", "r99999999999", "--bets", "a"], "is illegal at position 0"),
    (["show", "bluff-1-1", "1-7"], "'1-7' is illegal at position 0, action '1-7'"),
    (["equity", "AsAh"], "Missing argument"),
    (["equity", "AsAx", "KsKh"], "'AsAx' is not an item of a range"),
    (["equity", "AsAs", "KsKh"], "'AsAs' is not a hand: it has the card As twice"),
    (["equity", "", "KsKh"], "the range is empty"),
    (["equity", "AA,", "KK"], "has nothing between two commas"),
    (["equity", "AA:2", "KK"], "'AA:2' has the weight '2': a weight is a number of 0 to 1"),
    (["equity", "AA:0", "KK"], "has no hand with a weight above 0"),
    (["equity", "AAs", "KK"], "a pair is neither suited nor offsuit"),
    (["equity", "AKs-QJo", "KK"], "'AKs-QJo' is not a span"),
    (["equity", "AsAh", "AsKs"], "every hand of the first side shares a card"),
    (["equity", "AsAh", "KsKh", "--board", "2c3d"], "the board '2c3d' has 2 cards: 0, 3, 4 or 5 are allowed"),
    (["equity", "AsAh", "KsKh", "--board", "2c3d4h5s6c7d"], "has 6 cards"),
    (["equity", "AsAh", "KsKh", "--board", "2c3d4x"], "'4x' is not a card"),
    (["equity", "AsAh", "KsKh", "--board", "2c3d4"], "'4' is not a card"),
    (["equity", "AsAh", "KsKh", "--board", "2c2c3d"], "the card 2c occurs twice"),
    (["equity", "AsAh", "KsKh", "--board", "As3d4h"], "shares As with the board"),
]


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


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence(errai: CommandLine, arguments: list[str], sentence: str) -> None:
    assert_refused(errai(*arguments), sentence)


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
        (b"x" * 100_000, "it has more than the 65536 bytes allowed"),
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
            "actions, where 255 are allowed: give a menu of bet sizes (--bets)",
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
    assert done.stdout == "(start)  player 1 acts, round 1, chips 10+5\n"
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
