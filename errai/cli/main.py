"""`errai`: one file for the frame, one for each group of commands.

Commands import what they need when they run, so that `errai --help` answers at once. A `UsageError`
becomes one sentence on standard error and exit status 2; `--debug` shows the traceback instead.
"""

import io
import os
import sys
from typing import Annotated

import typer
import typer.main

from errai import __version__
from errai.cli import (
    abstract,
    abstract_public,
    abstract_show,
    cache,
    equity,
    exploit,
    games,
    reproduce,
    solve,
    spot,
)
from errai.cli.output import fail
from errai.errors import UsageError

app = typer.Typer(
    help="Build, solve, play and prove strategies for very large imperfect-information games.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("games")(games.list_games)
app.command("size")(games.size)
app.command("show")(games.show)
app.command("solve")(solve.solve_command)
app.command("exploit")(exploit.exploit_command)
app.command("reproduce")(reproduce.reproduce_command)
app.command("spot")(spot.spot_command)
app.command("equity")(equity.equity_command)
app.command("cache")(cache.cache_command)

abstractions = typer.Typer()
abstractions.command("features")(abstract.features_command)
abstractions.command("build")(abstract.build_command)
abstractions.command("public")(abstract_public.public_command)
abstractions.command("info")(abstract_show.info_command)
abstractions.command("show")(abstract_show.show_command)
abstractions.command("compare")(abstract_show.compare_command)
app.add_typer(abstractions, name="abstract", help="Build card abstractions, look at them, compare them.")


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
    # Accepted anywhere on the line, because it is remembered only after a command has failed.
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        status = _run(arguments or ["--help"])
    except (UsageError, typer.TyperException, KeyboardInterrupt, OSError, FloatingPointError) as error:
        _settle_output(error)
        if debug and not isinstance(error, BrokenPipeError):
            raise
        status = _explain(error)
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name need not be text
    command = typer.main.get_command(app)
    status = 0
    try:
        # Not `command.main`, which keeps interrupts and closed pipes to itself.
        with command.make_context("errai", arguments) as context:
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


def _explain(error: BaseException) -> int:
    """Tell an error in one sentence and return the exit status."""
    if isinstance(error, KeyboardInterrupt):
        print("errai: interrupted", file=sys.stderr)
        return 130
    if isinstance(error, BrokenPipeError):
        return 0  # a reader such as `head` has seen enough
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "errai"
        return fail(f"{error.format_message().rstrip('.')}; '{command} --help' tells what is allowed")
    if isinstance(error, FloatingPointError):  # a table went bad: not the user's doing
        fail(str(error))
        return 1
    if isinstance(error, OSError):
        about = f"'{error.filename}': " if error.filename else ""
        return fail(f"{about}{error.strerror or error}")
    return fail(str(error))


if __name__ == "__main__":
    main()
