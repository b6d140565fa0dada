"""`errai`: one file for the frame, one for each command.

A command parses and validates its line, calls the Python API and prints. Commands import what they need when
they run, so that `errai --help` answers at once. A `UsageError` becomes one sentence on standard error and
exit status 2; `--debug` shows the traceback instead.
"""

import io
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
import typer.main

from errai import __version__
from errai.cli import (
    abstract_build,
    abstract_compare,
    abstract_info,
    abstract_public,
    abstract_show,
    acpc,
    analyse,
    cache,
    dealer,
    equity,
    exploit,
    export,
    games,
    lbr,
    match,
    reproduce,
    show,
    solve,
    spot,
    train,
)
from errai.cli.options import Refusal
from errai.cli.output import fail
from errai.errors import UsageError

EXAMPLE = "\b\nExample:\n  {}"
"""Stands below the help of every command; click does not fold lines after its mark."""

app = typer.Typer(
    help="Build, solve and measure strategies for very large imperfect-information games.",
    epilog=EXAMPLE.format("errai solve leduc --until 1mbb --out runs/leduc"),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
abstractions = typer.Typer()


def add_command(name: str, run: Callable[..., Any], example: str, help_text: str | None = None) -> None:
    """Add a command.

    Args:
        name: as typed; that of a group and of a command in it with a space between them.
        run: what it does.
        example: a whole line.
        help_text: in place of the function's own words.
    """
    group = abstractions if name.startswith("abstract ") else app
    own_name = name.removeprefix("abstract ")
    group.command(own_name, epilog=EXAMPLE.format(example), help=help_text)(run)


add_command("games", games.games_command, "errai games --json")
add_command("size", games.size_command, "errai size limit-holdem --buckets 'IR-KE-KO 169-9000-9000-9000'")
add_command("show", show.show_command, "errai show leduc cr --depth 2")
add_command("solve", solve.solve_command, "errai solve leduc --until 1mbb --out runs/leduc")
add_command("train", train.train_command, "errai train --preset leduc --out runs/leduc")
add_command("exploit", exploit.exploit_command, "errai exploit always-call --game leduc")
add_command("export", export.export_command, "errai export runs/leduc leduc.play --bits 8")
add_command("match", match.match_command, "errai match half random --game leduc --duplicate")
add_command("lbr", lbr.lbr_command, "errai lbr half --game leduc")
add_command("analyse", analyse.analyse_command, "errai analyse match.log --agent runs/leduc --plot match.png")
add_command("reproduce", reproduce.reproduce_command, "errai reproduce cepheus-figure-2a --out figures")
add_command(
    "spot",
    spot.spot_command,
    "errai spot --board QsJh2h7c3d --oop 'QQ+,AKs' --ip 'TT+,AQs+' --pot 50 --stack 200",
)
add_command("equity", equity.equity_command, "errai equity AsKs 'QQ+,AKo:0.5' --board Qh7d2c")
add_command("acpc", acpc.acpc_command, "errai acpc runs/leduc:purify 127.0.0.1 16177")
add_command(
    "dealer", dealer.dealer_command, "errai dealer leduc 1000 42 A=always-call B=runs/leduc --log A-B.log"
)
add_command("cache", cache.cache_command, "errai cache --verify")
add_command("abstract features", abstract_build.features_command, "errai abstract features rhode-island")
add_command(
    "abstract build",
    abstract_build.build_command,
    "errai abstract build 'IR-KE-KO 13-50-60' --game rhode-island --out abstractions/ri",
    abstract_build.BUILD_HELP,
)
add_command(
    "abstract public",
    abstract_public.public_command,
    "errai abstract public abstractions/ri --public 4 --buckets 20-30 --out abstractions/public",
)
add_command("abstract info", abstract_info.info_command, "errai abstract info abstractions/ri")
add_command(
    "abstract show",
    abstract_show.show_command,
    "errai abstract show abstractions/ri --hand As --board Kd",
)
add_command(
    "abstract compare",
    abstract_compare.compare_command,
    "errai abstract compare abstractions/ri abstractions/ri60",
)
app.add_typer(
    abstractions,
    name="abstract",
    help="Build card abstractions, look at them, compare them.",
    epilog=EXAMPLE.format("errai abstract build --help"),
)


@abstractions.callback(invoke_without_command=True)
def abstract_frame(context: typer.Context) -> None:
    """Print what there is where no command is given."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"errai {__version__}")
        raise typer.Exit


@app.callback()
def frame(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """Run the command line; bad input is one sentence and status 2."""
    # Accepted anywhere on the line, because it is often remembered only after a command has failed.
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        status = _run(arguments or ["--help"])
    except (UsageError, typer.TyperException, KeyboardInterrupt, OSError, FloatingPointError) as error:
        _settle_output(error)
        if debug and not isinstance(error, BrokenPipeError):
            raise
        status = _explain(error, arguments)
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name need not be text
    command = typer.main.get_command(app)
    status = 0
    try:
        # Not `command.main`, which keeps interrupts and closed pipes to itself.
        with command.make_context("errai", list(arguments), obj=tuple(arguments)) as context:
            command.invoke(context)
    except typer.Exit as leave:
        status = leave.exit_code
    print(end="", flush=True)  # so that a closed pipe or a full disk is seen here and not at exit
    return status


def _settle_output(error: BaseException) -> None:
    """Write what is still unwritten, or drop it where the interpreter would fail on it again at exit."""
    try:
        if not isinstance(error, KeyboardInterrupt):  # who interrupts does not wait for a slow reader
            print(end="", flush=True)
            return
    except OSError:
        pass
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _command_path(arguments: list[str]) -> str:
    """Return which command a line is for, as far as it can be told."""
    path, command = ["errai"], typer.main.get_command(app)
    for word in arguments:
        inside = getattr(command, "commands", {})
        if word not in inside:
            break
        path, command = [*path, word], inside[word]
    return " ".join(path)


def _explain(error: BaseException, arguments: list[str]) -> int:
    """Tell an error in one sentence and return the exit status."""
    if isinstance(error, KeyboardInterrupt):
        print("errai: interrupted", file=sys.stderr)
        return 130
    if isinstance(error, BrokenPipeError):
        return 0  # a reader such as `head` has seen enough
    if isinstance(error, Refusal):
        return fail(error.format_message())
    if isinstance(error, typer.TyperException):
        message = error.format_message().rstrip(".?").replace(". Did you mean", ", did you mean")
        return fail(f"{message}; see '{_command_path(arguments)} --help'")
    if isinstance(error, FloatingPointError):  # a table went bad: not the user's doing
        fail(str(error))
        return 1
    if isinstance(error, OSError):
        about = f"'{error.filename}': " if error.filename else ""
        return fail(f"{about}{error.strerror or error}")
    return fail(str(error))


if __name__ == "__main__":
    main()
