"""The frame of the command line: every default and bound, how errors are told, and what prints for people."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_cli import COMMANDS

from errai import __version__
from errai.cli import abstract_build, options, output
from errai.cli.main import main
from errai.cli.options import Refusal, decimal_number, duration, folder, menu_from_options, whole_number
from errai.cli.solve import target
from errai.cli.spot import _by_position, limit_bets, percent
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.runs.sections import CHECKPOINT_SECONDS
from errai.runs.spot import DEFAULT_ALGORITHM
from errai.solvers.solve import DEFAULT_ITERATIONS
from errai.strategy.spot_tree import SpotBetting

RunErrai = Callable[..., tuple[int, str, str]]

JSON, SEED = "--json False", "--seed 0"
MENU = ["--bets None", "--max-raises None", "--force-all-in 0.0"]
PARAMETERS = {
    "games": [JSON, SEED],
    "size": ["game required", *MENU, "--buckets None", JSON, SEED],
    "show": [
        *("game required", "betting ''", "--depth 3", *MENU, "--hand ''", "--board ''", "--plot None"),
        *(JSON, SEED),
    ],
    "export": ["source required", "path None", "--bits 16", "--verify False", JSON, SEED],
    "solve": [
        *("game None", "--algorithm None", "--iterations None", "--until None", "--time None", *MENU),
        *("--abstraction None", "--against-full False", "--payoffs None", "--threads None"),
        *("--tables-in None", "--dtype None", "--alternating/--simultaneous None", "--delay 0"),
        *("--discount None", "--option None", "--trunk None", "--out None", "--checkpoint-every None"),
        *("--measure-every None", "--resume False", "--plot None", JSON, "--seed None"),
    ],
    "train": [
        *("config None", "--preset None", "--out None", "--resume False", "--estimate False"),
        *("--iterations None", "--until None", "--time None", "--threads None", "--tables-in None"),
        *("--checkpoint-every None", "--plot None", JSON, "--seed None"),
    ],
    "exploit": [
        *("strategy required", "--game None", *MENU, "--payoffs None", "--flops None", "--compare None"),
        *("--threads None", "--keep None", "--estimate False", JSON, SEED),
    ],
    "match": [
        *("agents None", "--game None", "--hands None", "--duplicate False", "--until None"),
        *("--exact False", "--all None", "--log None", "--phh None", "--results None", JSON, SEED),
    ],
    "lbr": [
        *("agent required", "--game None", "--hands None", "--bets 'fcpa'", "--from-round 1"),
        *("--run-outs 300", "--keep None", JSON, SEED),
    ],
    "analyse": [
        *("log required", "--agent required", "--played None", "--name None", "--game None"),
        *("--partial False", "--plot None", "--threads None", JSON, SEED),
    ],
    "reproduce": [
        *("name required", "--out None", "--size None", "--iterations None", "--time None"),
        *("--resume False", JSON, SEED),
    ],
    "spot": [
        *("--board required", "--oop required", "--ip required", "--pot required", "--stack None"),
        *("--bets None", "--raises None", "--ip-bets None", "--ip-raises None", "--force-all-in 0.0"),
        *("--limit None", "--max-raises None", "--chip None", "--iterations None", "--until None"),
        *("--time None", "--algorithm None", "--threads None", "--show ''", "--show-board ''"),
        *("--hands False", JSON, SEED),
    ],
    "equity": ["first required", "second required", "--board ''", JSON, SEED],
    "acpc": [
        *("agent required", "host required", "port required", "--game None", "--timeout None", "--log None"),
        *(JSON, SEED),
    ],
    "dealer": [
        *("game required", "hands required", "card_seed required", "players required", "--log None"),
        *("--host '127.0.0.1'", "--ports None", "--start-time 60.0", "--response-time 60.0"),
        *("--hand-time 600.0", "--match-time None", JSON, "--seed None"),
    ],
    "cache": ["--clear None", "--verify False", JSON, SEED],
    "abstract features": ["game 'limit-holdem'", "--clusters None", "--threads None", JSON, SEED],
    "abstract build": [
        *("name None", "--game None", "--out None", "--config None", "--seed None", "--restarts None"),
        *("--iterations None", "--sample None", "--passes None", "--clusters None", "--threads None"),
        *("--resume False", JSON),
    ],
    "abstract public": [
        *("base required", "--out None", "--public 60", "--buckets '500'", "--round '2'", "--restarts 10"),
        *("--clusters None", "--threads None", JSON, SEED),
    ],
    "abstract info": ["abstraction required", JSON, SEED],
    "abstract show": [
        *("abstraction required", "--bucket None", "--hand None", "--board ''", "--player 0", "--limit 20"),
        *("--plot None", JSON, SEED),
    ],
    "abstract compare": ["first required", "second required", "--deals 100000", JSON, SEED],
}
"""Every argument and option in the order of the help, each with its default."""


def test_every_default_of_every_command() -> None:
    found = {
        name: [
            "/".join([*one.opts, *one.secondary_opts])
            + (" required" if one.required else f" {one.default!r}")
            for one in command.params
            if one.name != "help"
        ]
        for name, command in COMMANDS.items()
    }
    assert found == PARAMETERS


NEEDED = {
    "export": ["run", "leduc.play"],
    "size": ["leduc"],
    "show": ["leduc"],
    "solve": ["leduc"],
    "exploit": ["half"],
    "lbr": ["half"],
    "analyse": ["x", "--agent", "half"],
    "reproduce": ["x"],
    "spot": ["--board", "QsJh2h", "--oop", "AA", "--ip", "KK", "--pot", "1"],
    "equity": ["AA", "KK"],
    "acpc": ["x", "127.0.0.1", "1"],
    "dealer": ["leduc", "1", "0", "A", "B"],
    "abstract public": ["x"],
    "abstract info": ["x"],
    "abstract show": ["x"],
    "abstract compare": ["x", "y"],
}
LEAST = {
    "--seed": 0,
    "--threads": 1,
    "--iterations": 1,
    "--max-raises": 0,
    "--force-all-in": 0,
    "--delay": 0,
    "--checkpoint-every": 0,
    "--measure-every": 1,
    "--depth": 0,
    "--clusters": 1,
    "--restarts": 1,
    "--sample": 1,
    "--passes": 0,
    "--public": 1,
    "--player": 0,
    "--limit": 0,
    "--deals": 2,
    "--flops": 2,
    "--from-round": 1,
    "--run-outs": 1,
}
MOST = {
    "--seed": 2**63 - 1,
    "--threads": 1024,
    "--iterations": 10**12,
    "--player": 1,
    "--deals": 10**9,
    "--flops": 10**6,
    "--from-round": 4,
    "--run-outs": 10**6,
}


DEALERS_SEED = 2**32 - 1
"""The competition's dealer takes no larger one."""


def parsed(name: str, option: str, text: str) -> object:
    words = list(NEEDED.get(name, []))
    if option in words:
        words[words.index(option) + 1] = text
    else:
        words += [option, text]
    with COMMANDS[name].make_context(name, words) as context:
        return context.params[option.removeprefix("--").replace("-", "_")]


NUMBERS = [
    (name, option)
    for name, command in COMMANDS.items()
    for one in command.params
    for option in one.opts
    if option in LEAST and (name, option) not in [("spot", "--limit"), ("spot", "--force-all-in")]
]


@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_bounds_of_every_number(name: str, option: str) -> None:
    least = LEAST[option]
    assert parsed(name, option, str(least)) == least
    with pytest.raises(Refusal) as refused:
        parsed(name, option, str(least - 1))
    assert refused.value.format_message() == f"{option} must be {least} or more, not {least - 1}"
    if option in MOST and (name, option) != ("abstract build", "--iterations"):
        most = DEALERS_SEED if (name, option) == ("match", "--seed") else MOST[option]
        assert parsed(name, option, str(most)) == most
        with pytest.raises(Refusal) as refused:
            parsed(name, option, str(most + 1))
        assert (
            refused.value.format_message()
            == f"{option} must be between {least:,} and {most:,}, not {most + 1}"
        )


@pytest.mark.parametrize("option", ["--pot", "--stack", "--chip"])
def test_chips_of_a_spot_are_above_nothing(option: str) -> None:
    assert parsed("spot", option, "0.25") == 0.25
    with pytest.raises(Refusal, match=f"^{option} must be more than 0, not 0$"):
        parsed("spot", option, "0")


def test_times_end_at_a_hundred_years() -> None:
    assert duration("36525d") == options.MAX_SECONDS == 36525 * 86400
    with pytest.raises(Refusal, match="not '36525d1s'"):
        duration("36525d1s")


def test_values_in_refusals_are_cut_where_they_are_long() -> None:
    long, cut = "7" * 50, "7" * 30 + "... (50 characters)"
    for parse, sentence in (
        (whole_number("--x", 0, 9), f"--x must be between 0 and 9, not {cut}"),
        (whole_number("--x"), f"--x must be a whole number, not 'x{cut}'"),
        (decimal_number("--x", above=1e300), f"--x must be more than 1e+300, not {cut}"),
        (decimal_number("--x", least=1e300), f"--x must be 1e+300 or more, not {cut}"),
        (decimal_number("--x"), f"--x must be a finite number, not 'x{cut}'"),
        (target, f"--until must be an exploitability above 0 such as '1mbb', not 'x{cut}'"),
        (percent, f"--until must be a percentage above 0 such as '0.1%', not 'x{cut}'"),
        (
            limit_bets,
            f"--limit must be a bet size in chips, or one a round such as '10/20', not 'x{cut}'",
        ),
    ):
        text = f"x{long}" if "'x" in sentence else long
        with pytest.raises(Refusal) as refused:
            parse(text)
        assert refused.value.format_message() == sentence.replace("'x" + cut, f"'x{cut[1:]}").replace(
            "(50", f"({len(text)}"
        )


def test_a_menu_is_made_of_all_its_options() -> None:
    menu = menu_from_options("1p,a", 0, 0.0)
    assert menu is not None
    assert (menu.text, menu.max_raises, float(menu.force_all_in)) == ("1p,a", 0, 0)
    menu = menu_from_options("a", None, 0.5)
    assert menu is not None
    assert (menu.max_raises, float(menu.force_all_in)) == (None, 0.5)
    assert menu_from_options(None, None, 0.0) is None


def test_sizes_of_the_second_position() -> None:
    assert _by_position("50%", None, "bets") == "50%"
    assert _by_position("50%", "a", "bets") == ("50%", "a")
    assert _by_position(None, None, "bets") is None
    with pytest.raises(UsageError, match=r"^--ip-raises needs --raises, which is missing$"):
        _by_position(None, "a", "raises")


def test_folders_that_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    parse = folder("--keep")
    for text in (str(tmp_path), str(tmp_path / "new" / "deep"), "new"):
        assert parse(text) == text
    with pytest.raises(Refusal) as refused:
        parse(str(tmp_path / "file" / "a" / "b"))
    assert refused.value.format_message() == f"--keep must name a folder, and '{tmp_path / 'file'}' is a file"
    with pytest.raises(Refusal) as refused:
        parse("x" * 300)
    assert (
        refused.value.format_message()
        == f"--keep must name a folder, not '{'x' * 30}... (300 characters)': File name too long"
    )


def test_folders_are_named_like_abstractions() -> None:
    assert abstract_build.folder_name("IR-KE-KO 169-5x2 / PR-HS 4") == "IR-KE-KO_169-5x2_PR-HS_4"


# Help


def help_of(run_errai: RunErrai, *words: str) -> str:
    """The help without its line breaks."""
    status, out, err = run_errai(*words, "--help")
    assert (status, err) == (0, "")
    return " ".join(out.split())


def test_help_tells_the_defaults_that_hold(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    solve, spot = help_of(run_errai, "solve"), help_of(run_errai, "spot")
    for text in (solve, spot):
        assert f"it stops after {DEFAULT_ITERATIONS:,} iterations" in text
    assert f"Seconds between checkpoints; {CHECKPOINT_SECONDS:g} without it." in solve
    assert "cfr+ (the default)" in solve
    assert f"{DEFAULT_ALGORITHM} (the default)" in spot
    betting, limit = SpotBetting.of(50.0, 200.0), SpotBetting.of(50.0, None, limit=10)
    assert betting == SpotBetting.of(50.0, 200.0, "50%, a", "60%, a")
    assert "'/' parts rounds. [50%,a]" in spot
    assert "the first raise from the second. [60%,a]" in spot
    assert limit == SpotBetting.of(50.0, None, limit=10, max_raises=4)
    assert "in limit spots 4 without it." in spot
    assert "limit-holdem without it." in help_of(run_errai, "abstract", "build")
    assert "Clusters of opponent hands for OCHS; 8 without it" in help_of(run_errai, "abstract", "features")


def test_help_of_the_whole_and_of_a_group(run_errai: RunErrai) -> None:
    whole = help_of(run_errai)
    assert whole.endswith("Example: errai solve leduc --until 1mbb --out runs/leduc")
    assert "--debug Show the traceback of an error." in whole
    group = help_of(run_errai, "abstract")
    assert group.endswith("Example: errai abstract build --help")
    assert run_errai("abstract")[1] == run_errai("abstract", "--help")[1]


def test_help_of_build_lists_every_method(run_errai: RunErrai) -> None:
    out = run_errai("abstract", "build", "--help")[1]
    for line in (
        "PR  perfect: each round's buckets lie inside those of the round before",
        "IR  imperfect: each round is clustered alone",
        "HS   percentiles of the expected hand strength, E[HS]",
        "PHS  percentiles of E[HS2], and inside each of them of E[HS]",
        "KE   k-means, earth mover's distance between histograms of hand strength",
        "KO   k-means on the strength against clusters of opponent hands (OCHS)",
        "PA   potential-aware: k-means on histograms over the next round's buckets",
        "C    canonical: every hand its own bucket, nothing is lost",
    ):
        assert f" {line}\n" in out


def test_version(run_errai: RunErrai) -> None:
    assert run_errai("--version") == (0, f"errai {__version__}\n", "")
    assert run_errai("--version", "size", "kuhn") == (0, f"errai {__version__}\n", "")


# Errors


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (OSError("out of luck"), 2, "errai: out of luck.\n"),
        (OSError(28, "No space left on device"), 2, "errai: No space left on device.\n"),
        (OSError(28, "No space left on device", "x/y"), 2, "errai: 'x/y': No space left on device.\n"),
        (FloatingPointError("a table is bad."), 1, "errai: a table is bad.\n"),
        (UsageError("a sentence\nof two  lines"), 2, "errai: a sentence of two lines.\n"),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_are_one_sentence_and_a_status(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, told: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("errai.cards.equity.equity", fail)
    command = ("equity", "AA", "KK")
    assert run_errai(*command) == (status, "", told)
    if isinstance(error, BrokenPipeError):
        assert run_errai(*command, "--debug") == (0, "", "")
    else:
        monkeypatch.setattr(sys, "argv", ["errai", *command, "--debug"])
        with pytest.raises(type(error)) as raised:
            main()
        assert raised.value is error


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["siz", "leduc"], "No such command 'siz', did you mean 'size'; see 'errai --help'."),
        (["abstract", "buil"], "No such command 'buil', did you mean 'build'; see 'errai abstract --help'."),
        (["abstract", "build", "--nothing"], "No such option: --nothing; see 'errai abstract build --help'."),
        (["abstract", "info"], "Missing argument 'FOLDER'; see 'errai abstract info --help'."),
        (["spot", "--board", "x"], "Missing option '--oop'; see 'errai spot --help'."),
        (["size", "size", "size"], "Got unexpected extra argument(s) (size); see 'errai size --help'."),
    ],
)
def test_what_is_typed_wrongly_is_told_with_the_help_to_read(
    run_errai: RunErrai, words: list[str], sentence: str
) -> None:
    status, out, err = run_errai(*words)
    assert (status, out, err) == (2, "", f"errai: {sentence}\n")


# Printing


def test_json_is_indented_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"a": [10**30, None], "b": True})
    assert capsys.readouterr().out == (
        '{\n  "a": [\n    1000000000000000000000000000000,\n    null\n  ],\n  "b": true\n}\n'
    )


def test_rounds_are_counted_from_one_and_named_in_hold_em() -> None:
    hold_em, leduc = load_game("limit-holdem"), load_game("leduc")
    assert isinstance(hold_em, PokerRules)
    assert isinstance(leduc, PokerRules)
    assert output.round_keys(hold_em, 2) == {"round": 3, "street": "turn"}
    assert output.round_keys(leduc, 1) == {"round": 2, "street": None}


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table("title", ["name", "x", "longer"], [["a", "1", "2"], ["bcdef", "333", ""]])
    assert capsys.readouterr().out == (
        "title\n  name     x  longer\n  -----  ---  ------\n  a        1       2\n  bcdef  333\n"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 ms"),
        (0.0994, "99.4 ms"),
        (0.1, "0.1 s"),
        (89.9, "89.9 s"),
        (90.0, "1.5 minutes"),
        (3599.0, "60.0 minutes"),
        (3600.0, "1.0 hours"),
        (86400.0, "24.0 hours"),
        (1.5 * 86400, "1.5 days"),
        (1.4 * 365.25 * 86400, "511.4 days"),
        (1.5 * 365.25 * 86400, "1.5 years"),
        (1234.5 * 365.25 * 86400, "1,234.5 years"),
    ],
)
def test_times_in_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert output.format_seconds(seconds) == text


def test_numbers_and_threads_in_words() -> None:
    assert [output.format_threads(number) for number in (1, 2, 16)] == ["1 thread", "2 threads", "16 threads"]
    assert output.counted_number(10**18 - 1) == "999,999,999,999,999,999"
    assert output.counted_number(10**18) == "1.000e18 (19 digits)"


def test_pictures_may_have_any_ending_that_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    output.verify_picture(None)
    for name in ("a.png", "a.PNG", "a.b.svg"):
        output.verify_picture(str(tmp_path / name))
    with pytest.raises(UsageError) as refused:
        output.verify_picture(str(tmp_path / "a.never"))
    told = f"--plot cannot draw '{tmp_path / 'a.never'}': the name must end with one of "
    assert str(refused.value).startswith(told)
    endings = str(refused.value).removeprefix(told).split(", ")
    assert endings == sorted(endings)
    assert {"pdf", "png", "svg"} <= set(endings)


def test_what_the_tables_take(capsys: pytest.CaptureFixture[str]) -> None:
    abstract_build._print_tables("A", "a game", [512, 0, 1536], Path("x"))
    abstract_build._print_tables("B", "a game", [0, 512], Path("x"))
    assert capsys.readouterr().out == (
        "A of a game, in x\ntables: 2.0 KiB of memory and disk (512 bytes + 1.5 KiB)\n"
        "B of a game, in x\ntables: 512 bytes of memory and disk\n"
    )


def test_statistics_as_text() -> None:
    cells = abstract_build.statistics_cells
    assert cells({"distance": 0.123456, "iterations": 1234, "share_saved": 0.98765, "seconds": 1234.56}) == [
        "0.12346",
        "1,234",
        "98.77%",
        "1,234.6",
    ]
    assert cells({"distance": 0.0, "iterations": 0, "share_saved": 0.0, "seconds": 0.0}) == [
        *("0.00000", "0", "0.00%", "0.0")
    ]
    assert cells(dict.fromkeys(("distance", "iterations", "share_saved", "seconds"))) == ["-"] * 4
