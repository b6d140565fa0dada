"""`errai`: one file for the frame, one for each group of commands.

Commands import what they need when they run, so that `errai --help` answers at once. A `UsageError`
becomes one sentence on standard error and exit status 2; `--debug` shows the traceback instead.
"""

import sys
from typing import Annotated

import typer

from errai import __version__
from errai.cli import equity, games
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
app.command("equity")(equity.equity_command)


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
    debug = "--debug" in sys.argv[1:]
    # Accepted anywhere on the line, because it is remembered only after a command has failed.
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        status = app(arguments or ["--help"], prog_name="errai", standalone_mode=False)
    except (UsageError, typer.TyperException) as error:
        if debug:
            raise
        fail(str(error))
    except KeyboardInterrupt:
        if debug:
            raise
        print("errai: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # A reader such as `head` has seen enough; keep the interpreter from complaining at exit.
        sys.stdout = None
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
