"""Bad input to every command: one sentence on standard error that names it, status 2, nothing else.

What the sentences of other rooms say is tested there; here it is that they arrive whole and alone. Sentences
of the command line itself are given in full (they end with a full stop), others by the value that they must
name.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from naive import WITHOUT_JIT

from errai.abstraction.build import abstract
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.runs.run import solve

RunErrai = Callable[..., tuple[int, str, str]]

HUGE = "9" * 5000
CUT = "9" * 30 + "... (5,000 characters)"
SPOT = ["spot", "--board", "QsJh2h7c3d", "--oop", "AhKh,9s8s", "--ip", "JsTs,AcQc", "--pot", "50"]
RIVER = [*SPOT, "--stack", "200", "--iterations", "5"]
BUILD = ["abstract", "build"]
LEDUC = ["--game", "leduc", "--out", "new"]
NEEDS_BETS = "--max-raises and --force-all-in need --bets, which is missing."
MENU = ["size", "nolimit-holdem", "--bets", "a"]

BAD = [
    # The line itself
    (["checkers"], "No such command 'checkers'; see 'errai --help'."),
    (["--chess"], "No such option: --chess"),
    (
        ["cache", "--clear", "checkers"],
        "--clear must be all, old, features, abstractions, edges, kernels or the name of a game",
    ),
    (["cache", "--clear", "bluff-1-1"], "'bluff-1-1' is a dice game: only card games have features."),
    (["cache", "--clear", "old", "--verify"], "--clear and --verify cannot be used together."),
    (["abstract", "chess"], "No such command 'chess'; see 'errai abstract --help'."),
    (["size"], "Missing argument 'GAME'; see 'errai size --help'."),
    (["size", "leduc", "kuhn"], "(kuhn); see 'errai size --help'."),
    (["size", "leduc", "--bets"], "'--bets' requires an argument; see 'errai size --help'."),
    (["equity", "AsAh"], "Missing argument"),
    (["spot", "--oop", "AA"], "Missing option '--board'"),
    (["acpc", "always-call", "127.0.0.1"], "Missing argument 'PORT'; see 'errai acpc --help'."),
    (["acpc", "always-call", "127.0.0.1", "1"], "--game is missing: 'always-call' is not a saved strategy"),
    (["dealer", "leduc", "x", "1", "A", "B"], "HANDS must be a whole number, not 'x'."),
    (["dealer", "leduc", "3", "1", "A", "B", "C"], "leduc is played by 2 players, not 3."),
    # Numbers
    (["size", "leduc", "--seed", "-1"], "--seed must be 0 or more, not -1."),
    (["games", "--seed", "x"], "--seed must be a whole number, not 'x'."),
    (["equity", "AA", "KK", "--seed", "1.5"], "--seed must be a whole number, not '1.5'."),
    (["show", "leduc", "--seed", ""], "--seed must be a whole number, not ''."),
    (["exploit", "half", "--game", "leduc", "--seed", HUGE], f"--seed must be a whole number, not '{CUT}'."),
    (
        ["reproduce", "cepheus-figure-2a", "--seed", str(2**63)],
        "--seed must be between 0 and 9,223,372,036,854,775,807, not 9223372036854775808.",
    ),
    ([*BUILD, "IR-HS 2-4", *LEDUC, "--seed", "-1"], "--seed must be 0 or more, not -1."),
    (["abstract", "public", "abstraction", "--seed", "-1"], "--seed must be 0 or more, not -1."),
    (["solve", "leduc", "--threads", "0"], "--threads must be 1 or more, not 0."),
    (
        ["train", "none.toml"],
        "'none.toml' was not found: expected a .toml file or a preset (leduc, limit-large,",
    ),
    (["exploit", "half", "--threads", "-2"], "--threads must be 1 or more, not -2."),
    ([*RIVER, "--threads", "5000"], "--threads must be between 1 and 1,024, not 5000."),
    (["abstract", "features", "leduc", "--threads", "two"], "--threads must be a whole number, not 'two'."),
    (["exploit", "half", "--game", "leduc", "--flops", "0"], "--flops must be 2 or more, not 0."),
    (["exploit", "half", "--game", "leduc", "--flops", "1"], "--flops must be 2 or more, not 1."),
    (
        ["exploit", "half", "--game", "leduc", "--flops", "1000001"],
        "--flops must be between 2 and 1,000,000, not 1000001.",
    ),
    (["exploit", "half", "--game", "kuhn", "--flops", "9"], "'kuhn' has no sub-games"),
    (["solve", "leduc", "--iterations", "0"], "--iterations must be 1 or more, not 0."),
    (
        ["reproduce", "cepheus-figure-2a", "--iterations", "1" + 13 * "0"],
        "--iterations must be between 1 and 1,000,000,000,000, not 10000000000000.",
    ),
    ([*SPOT, "--stack", "9", "--iterations", "-3"], "--iterations must be 1 or more, not -3."),
    (["solve", "leduc", "--delay", "-1"], "--delay must be 0 or more, not -1."),
    (["solve", "leduc", "--measure-every", "0"], "--measure-every must be 1 or more, not 0."),
    (
        ["solve", "leduc", "--checkpoint-every", "nan"],
        "--checkpoint-every must be a finite number, not 'nan'.",
    ),
    (["show", "leduc", "--depth", "-1"], "--depth must be 0 or more, not -1."),
    (
        ["size", "nolimit-holdem", "--bets", "1p", "--max-raises", "-1"],
        "--max-raises must be 0 or more, not -1.",
    ),
    ([*MENU, "--force-all-in", "nan"], "--force-all-in must be a finite number, not 'nan'."),
    ([*MENU, "--force-all-in", "-1"], "--force-all-in must be 0 or more, not -1."),
    ([*SPOT[:-1], "nan", "--stack", "9"], "--pot must be a finite number, not 'nan'."),
    ([*SPOT[:-1], "0", "--stack", "9"], "--pot must be more than 0, not 0."),
    ([*SPOT, "--stack", "-5"], "--stack must be more than 0, not -5."),
    ([*SPOT, "--stack", "1e999"], "--stack must be a finite number, not '1e999'."),
    ([*RIVER, "--chip", "0"], "--chip must be more than 0, not 0."),
    ([*BUILD, "IR-HS 2-4", *LEDUC, "--restarts", "0"], "--restarts must be 1 or more, not 0."),
    ([*BUILD, "IR-HS 2-4", *LEDUC, "--passes", "-1"], "--passes must be 0 or more, not -1."),
    ([*BUILD, "IR-HS 2-4", *LEDUC, "--sample", "0"], "--sample must be 1 or more, not 0."),
    ([*BUILD, "IR-HS 2-4", *LEDUC, "--clusters", "0"], "--clusters must be 1 or more, not 0."),
    ([*BUILD, "IR-HS 2-4", *LEDUC, "--clusters", "4"], "4"),
    (["abstract", "features", "leduc", "--clusters", "4"], "4"),
    (
        ["abstract", "show", "abstraction", "--hand", "K", "--player", "2"],
        "--player must be between 0 and 1, not 2.",
    ),
    (
        ["abstract", "show", "abstraction", "--bucket", "1:0", "--limit", "-1"],
        "--limit must be 0 or more, not -1.",
    ),
    (
        ["abstract", "compare", "abstraction", "abstraction", "--deals", "1"],
        "--deals must be 2 or more, not 1.",
    ),
    (["abstract", "public", "abstraction", "--public", "0"], "--public must be 1 or more, not 0."),
    # Times, targets, sizes
    *(
        (
            [*command, "--time", text],
            f"--time must be a time above 0 such as '90s', '10m' or '1h30m', not '{text}'.",
        )
        for command in (["solve", "leduc"], RIVER)
        for text in ("soon", "0", "-5", "1.2.3s", "inf", "10x")
    ),
    (
        ["solve", "leduc", "--until", "3"],
        "--until must be an exploitability above 0 such as '1mbb', not '3'.",
    ),
    (["solve", "leduc", "--until", "-1mbb"], "such as '1mbb', not '-1mbb'."),
    (["solve", "leduc", "--until", "1e999mbb"], "such as '1mbb', not '1e999mbb'."),
    (["solve", "leduc", "--until", "nanmbb"], "such as '1mbb', not 'nanmbb'."),
    ([*RIVER, "--until", "x"], "--until must be a percentage above 0 such as '0.1%', not 'x'."),
    ([*RIVER, "--until", "-1%"], "--until must be a percentage above 0 such as '0.1%', not '-1%'."),
    (
        ["solve", "leduc", "--discount", "1,2"],
        "--discount must be three numbers such as '1.5,0,2', not '1,2'.",
    ),
    (["solve", "leduc", "--discount", "1,nan,2"], "such as '1.5,0,2', not '1,nan,2'."),
    (["solve", "leduc", "--discount", "1,2,3"], "'cfr+'"),
    ([*SPOT, "--limit", "10/x"], "such as '10/20', not '10/x'."),
    ([*RIVER, "--bets", "zzz"], "'zzz'"),
    ([*RIVER, "--ip-bets", "a"], "--ip-bets needs --bets, which is missing."),
    ([*RIVER, "--show", "r1"], "'r1'"),
    ([*RIVER, "--show-board", "2c"], "'2c'"),
    ([*RIVER, "--algorithm", "best"], "'best'"),
    (["spot", "--board", "QsQs2h", *RIVER[3:]], "Qs"),
    (["size", "nolimit-holdem", "--max-raises", "2"], NEEDS_BETS),
    (["size", "nolimit-holdem", "--max-raises", "0"], NEEDS_BETS),
    (["solve", "leduc", "--force-all-in", "1"], NEEDS_BETS),
    (["size", "nolimit-holdem", "--bets", "1p,big"], "'big'"),
    (["size", "nolimit-holdem", "--bets", "1e99999999p"], "1e99999999p"),
    (["size", "leduc", "--bets", "1p"], "'leduc'"),
    (["size", "bluff-1-1", "--bets", "1p"], "'bluff-1-1'"),
    (["size", "leduc", "--buckets", "5"], "'5'"),
    (["size", "leduc", "--buckets", "IR-XX 2-4"], "'XX'"),
    (["size", "leduc", "--buckets", "IR-HS 2-4 / PR-HS 2-2"], "'IR-HS 2-4 / PR-HS 2-2'"),
    (["size", "leduc", "--buckets", "4-4"], "4 buckets in round 1"),
    (["size", "limit-holdem", "--buckets", "PR 169-9000-9-9"], "buckets on the flop"),
    (["size", "bluff-1-1", "--buckets", "5"], "'bluff-1-1'"),
    # Games
    (["size", "holdem-5-1"], "holdem-5-1"),
    (["size", "bluff-5-1"], "(5, 1)"),
    *(
        ([*command, "chess"], "'chess'")
        for command in (
            ["size"],
            ["show"],
            ["solve"],
            ["exploit", "half", "--game"],
            ["abstract", "features"],
        )
    ),
    (["solve", "limit-holdem"], "memory"),
    (["solve"], "missing a game to solve: 'errai games' lists them."),
    (["solve", "leduc", "--algorithm", "best"], "'best'"),
    (["solve", "leduc", "--dtype", "int8"], "'int8'"),
    (["solve", "leduc", "--payoffs", "rake lots"], "rake lots"),
    (["solve", "leduc", "--abstraction", "[JQ.X]"], "'[JQ.X]'"),
    (["solve", "leduc", "--abstraction", "full", "--against-full"], "--against-full needs --abstraction"),
    (
        ["solve", "leduc", "--abstraction", "[JQ.K]", "--against-full", "--time", "9s"],
        "--time cannot be used with --against-full.",
    ),
    (["solve", "bluff-1-1", "--out", "x"], "--out cannot be used with 'bluff-1-1', a dice game."),
    (["solve", "bluff-1-1", "--algorithm", "lp"], "--algorithm lp cannot be used with 'bluff-1-1'"),
    (
        ["solve", "kuhn", "--algorithm", "lp", "--plot", "a.png"],
        "--plot cannot be used with lp, which has no iterations.",
    ),
    (["show", "nolimit-holdem"], "'nolimit-holdem'"),
    (["show", "leduc", "crrr"], "'crrr'"),
    (["show", "leduc", "cc/\ncc"], "is illegal"),
    (["show", "bluff-1-1", "1-7"], "'1-7'"),
    (
        ["show", "leduc", "--hand", "K"],
        "--hand, --board and --plot need a saved strategy or run, and 'leduc' is neither.",
    ),
    (["show", "leduc", "--board", "K"], "and 'leduc' is neither."),
    (["exploit", "always-call"], "'always-call' plays any game: --game must say which."),
    (["exploit", "always-win", "--game", "leduc"], "'always-win' is neither."),
    (
        ["exploit", "half", "--game", "bluff-1-1"],
        "'bluff-1-1' is a dice game: expected a card game.",
    ),
    (["exploit", "half", "--game", "kuhn", "--keep", "k"], "'kuhn'"),
    (["match", "half", "half"], "'half' and 'half' play any game: --game must say which."),
    (["match", "run", "noise"], "'noise'"),
    (["match", "run", "half", "--game", "kuhn"], "'run' was made for 'leduc', whose rules differ"),
    (["match", "run", "run:purify=1"], "'purify=1'"),
    (["match", "run", "half", "--results", "noise"], "'noise' cannot be used for results of matches"),
    (
        ["exploit", "run", "--game", "leduc"],
        "--game and --bets need a simple agent, and 'run' is a file or folder.",
    ),
    (["lbr", "nobody", "--game", "leduc"], "unknown agent 'nobody'"),
    (["lbr", "half", "--game", "leduc", "--bets", "x"], "unknown bet set 'x': expected fc, fcpa, 56bets."),
    (["analyse", "none.log", "--agent", "half", "--game", "leduc"], "'none.log'"),
    (["analyse", "none.log", "--agent", "half"], "--game must say which"),
    (
        ["reproduce", "table-9"],
        "unknown figure or table 'table-9': expected one of cepheus-figure-1a, cepheus-figure-1b, "
        "cepheus-figure-2a, cepheus-figure-2b, purification-leduc, purification-matrix, "
        "purification-threshold, "
        "sampled-exploitability, sampled-exploitability-3-1, t7-table-2, "
        "thesis-figure-3.2, thesis-figure-3.3, thesis-figure-3.5, thesis-figure-3.6, thesis-figure-4.1, "
        "thesis-figure-4.3, thesis-figure-4.4, thesis-figure-4.5, thesis-table-5.3, thesis-table-7.1, "
        "thesis-table-4.1.",
    ),
    # Cards and ranges
    (["equity", "AsAx", "KsKh"], "'AsAx'"),
    (["equity", "", "KsKh"], "empty"),
    (["equity", "AA:2", "KK"], "'AA:2'"),
    (["equity", "AA:nan", "KK"], "'AA:nan'"),
    (["equity", "AsAh", "AsKs"], "card"),
    (["equity", "AsAh", "KsKh", "--board", "2c3d"], "'2c3d'"),
    (["equity", "AsAh", "KsKh", "--board", "2c2c3d"], "2c"),
    # Abstractions
    (
        BUILD,
        "missing an abstraction's name such as 'IR-KE-KO 169-200-200-200', or --config FILE.",
    ),
    ([*BUILD, "hello", *LEDUC], "'hello'"),
    ([*BUILD, "IR-XX 2-4", *LEDUC], "'XX'"),
    ([*BUILD, "IR-HS 2-4-6", *LEDUC], "'2-4-6'"),
    ([*BUILD, "IR-HS 2-400", *LEDUC], "400"),
    (
        [*BUILD, "IR-HS 2-4", "--game", "bluff-1-1"],
        "'bluff-1-1' is a dice game: expected a card game.",
    ),
    ([*BUILD, "--resume"], "--resume needs --out, the folder of the build to go on with."),
    (
        [*BUILD, "--resume", "--out", "new"],
        "--resume found no unfinished build in 'new': NAME is needed to begin one.",
    ),
    (
        [*BUILD, "--resume", "--out", "new", "--seed", "1"],
        "--seed needs NAME: a build that is resumed keeps its own.",
    ),
    ([*BUILD, "IR-HS 2-4", "--resume"], "--resume needs --out, the folder of the build to go on with."),
    (
        [*BUILD, "IR-HS 2-4", "--game", "leduc", "--out", "abstraction"],
        "'abstraction' holds an abstraction already: --out must name another folder.",
    ),
    ([*BUILD, "--config", "none.toml"], "'none.toml': No such file or directory."),
    ([*BUILD, "--config", "noise"], "'noise' is not a TOML file"),
    (
        [*BUILD, "--config", "half.toml"],
        "invalid 'half.toml': rounds, entry 2: buckets is 5.5: expected a whole number",
    ),
    (["abstract", "show", "abstraction"], "expected one of --bucket ROUND:NUMBER and --hand CARDS."),
    (["abstract", "show", "abstraction", "--bucket", "1:0", "--hand", "K"], "expected one of --bucket"),
    (
        ["abstract", "show", "abstraction", "--bucket", "1"],
        "--bucket must be ROUND:NUMBER such as 'flop:25' or '2:25', not '1'.",
    ),
    (["abstract", "show", "abstraction", "--bucket", "1:x"], "or '2:25', not '1:x'."),
    (
        ["abstract", "show", "abstraction", "--bucket", "3:0"],
        "unknown round '3' of 'leduc': it must be 1, 2.",
    ),
    (["abstract", "show", "abstraction", "--bucket", "flop:0"], "unknown round 'flop' of 'leduc'"),
    (["abstract", "show", "abstraction", "--bucket", "0:0"], "unknown round '0' of 'leduc'"),
    (["abstract", "show", "abstraction", "--bucket", "1:20"], "20"),
    (
        ["abstract", "show", "abstraction", "--board", "K", "--bucket", "1:0"],
        "--board needs --hand, which is missing.",
    ),
    (
        ["abstract", "show", "abstraction", "--hand", "KsQs"],
        "'KsQs' is not a hand of 'leduc': the number of cards must be 1, not 2.",
    ),
    (["abstract", "show", "abstraction", "--hand", "Kx"], "x"),
    (["abstract", "show", "[JQ.X]", "--bucket", "1:0"], "'[JQ.X]'"),
    (["abstract", "public", "abstraction", "--round", "9"], "unknown round '9' of 'leduc'"),
    (
        ["abstract", "public", "abstraction", "--round", "1"],
        "the round whose boards are clustered must deal public cards, and round 1 of leduc deals none.",
    ),
    (
        ["abstract", "public", "abstraction", "--public", "14"],
        "the number of public clusters must be 1 to 3, one for each board, not 14.",
    ),
    (
        ["abstract", "public", "abstraction", "--public", "2", "--buckets", "5-5"],
        "must be one number of 1 to 65,535, or 1, one a round from round 2 on, not 5, 5.",
    ),
    *(
        (["abstract", "public", "abstraction", "--buckets", text], f"such as '500-400-300', not '{text}'.")
        for text in ("x", "5-0", "70000", "²")
    ),
    # Files and folders of the wrong kind
    *(
        ([*command, what], f"{what}'")
        for command in (["exploit"], ["show"], ["abstract", "info"], ["abstract", "compare", "abstraction"])
        for what in ("none", "noise", "empty")
        if command != ["show"] or what != "none"
    ),
    *(
        ([*command, *more], f"{command[-1]}'")
        for command, more in (
            *((["export", what], ["x.play"]) for what in ("none", "noise", "empty", "abstraction")),
            *((["export", "--verify", what], []) for what in ("none", "noise", "empty", "run")),
        )
    ),
    (["export", "run"], "the file to write is missing: expected 'errai export run FILE'."),
    (["export", "run", "x.play", "--bits", "9"], "--bits must be 8 or 16, not 9."),
    (["export", "run", "x.play", "--bits", "32"], "--bits must be between 8 and 16, not 32."),
    (["export", "run", "none/x.play"], "'none/x.play' cannot be written: its folder does not exist."),
    (["exploit", "abstraction"], "'abstraction'"),
    (["show", "abstraction"], "'abstraction'"),
    (["abstract", "info", "run"], "'run'"),
    (["abstract", "public", "run"], "'run'"),
    (["abstract", "show", "noise", "--hand", "K"], "'noise'"),
    (["size", "noise"], "'noise'"),
    (["size", "empty"], "'empty'"),
    (["solve", "run"], "'run'"),
    (["solve", "x" * 5000], "x" * 50),
    (
        ["show", "run", "--bets", "1p"],
        "--bets needs a game, and 'run' is a saved strategy with its own bet sizes.",
    ),
    (["show", "run", "rf"], "'rf'"),
    (["show", "run", "cc/", "--board", "QK"], "'QK'"),
    *(
        ([*command, "--out", "noise"], "--out must name a folder, and 'noise' is a file.")
        for command in (
            ["solve", "leduc"],
            ["reproduce", "cepheus-figure-2a"],
            [*BUILD, "IR-HS 2-4"],
            ["abstract", "public", "abstraction"],
        )
    ),
    (["solve", "leduc", "--out", "noise/below"], "--out must name a folder, and 'noise' is a file."),
    (["solve", "leduc", "--out", ""], "--out must name a folder, not ''."),
    (["solve", "leduc", "--out", "x" * 5000], "File name too long."),
    (["solve", "leduc", "--out", "run"], "'run'"),
    (
        ["exploit", "half", "--game", "leduc", "--keep", "noise"],
        "--keep must name a folder, and 'noise' is a file.",
    ),
    (["solve", "leduc", "--resume"], "--resume needs --out, the folder of the run to go on with."),
    (["solve", "--resume", "--out", "none"], "'none'"),
    (["solve", "--resume", "--out", "empty"], "'empty'"),
    (["solve", "--resume", "--out", "abstraction"], "'abstraction'"),
    (
        ["solve", "--resume", "--out", "run", "--algorithm", "cfr"],
        "--algorithm needs a game: a run that is resumed keeps its own.",
    ),
    (
        ["solve", "leduc", "--plot", "none/a.png"],
        "--plot cannot draw 'none/a.png': its folder does not exist.",
    ),
    (["solve", "leduc", "--plot", "a.never"], "--plot cannot draw 'a.never': the name must end with one of "),
    (
        ["abstract", "show", "abstraction", "--hand", "K", "--plot", "a"],
        "--plot cannot draw 'a': the name must end",
    ),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with things of every kind."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        leduc = load_game("leduc")
        assert isinstance(leduc, PokerRules)
        abstract(leduc, "IR-HS 2-4", folder / "abstraction")
    solve("leduc", iterations=2, out=folder / "run")
    (folder / "noise").write_bytes(bytes(range(256)) * 8)
    (folder / "half.toml").write_text(
        'game = "leduc"\n[[rounds]]\nmethod = "HS"\nbuckets = 2\n[[rounds]]\nmethod = "HS"\nbuckets = 5.5\n'
    )
    (folder / "empty").mkdir()
    return folder


def told(err: str) -> str:
    """What is said beside that kernels are compiled, which happens once for each of them on a machine."""
    return re.sub(r"errai: compiling kernels .*\n", "", err)


@pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")
@pytest.mark.parametrize(
    ("arguments", "sentence"), BAD, ids=[" ".join(arguments).replace("\n", " ")[:60] for arguments, _ in BAD]
)
def test_bad_input_is_one_sentence(
    run_errai: RunErrai,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(home)
    before = sorted(home.rglob("*"))
    status, out, err = run_errai(*arguments)
    assert (status, out) == (2, "")
    err = told(err)
    assert err.startswith("errai: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    if sentence.endswith(".") and err != f"errai: {sentence}\n":
        assert err.endswith(f"{sentence}\n")
    else:
        assert sentence in err
    assert sorted(home.rglob("*")) == before, "nothing is written"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files_are_named(run_errai: RunErrai, home: Path, tmp_path: Path) -> None:
    shutil.copy(home / "noise", tmp_path / "noise")
    (tmp_path / "noise").chmod(0)
    status, out, err = run_errai("size", "noise")
    assert (status, out, told(err)) == (2, "", "errai: 'noise': Permission denied.\n")


@pytest.mark.parametrize(
    "command",
    [["solve", "leduc", "--out", "new"], ["reproduce", "cepheus-figure-2a", "--iterations", "5"]],
    ids=lambda command: command[0],
)
def test_a_disk_that_refuses_is_one_sentence(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "new")

    monkeypatch.setattr(Path, "mkdir", refuse)
    status, out, err = run_errai(*command)
    assert (status, out, told(err)) == (2, "", "errai: 'new': Permission denied.\n")


def test_there_are_forty_and_every_command_has_one() -> None:
    from test_cli import all_commands

    assert len(BAD) >= 40
    for name in all_commands():
        assert any(arguments[: len(name.split())] == name.split() for arguments, _ in BAD), name
