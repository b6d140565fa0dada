"""The options that commands share, each defined once: what it reads, its bounds and its help.

A value out of bounds is refused while the line is parsed, before a command has begun.
"""

import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.errors import UsageError, shortened

if TYPE_CHECKING:
    from errai.tree.bet_menu import BetMenu

MAX_SEED = 2**63 - 1
MAX_THREADS = 1024
MAX_ITERATIONS = 10**12
MAX_SECONDS = 100 * 365.25 * 86400

_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_DURATION = re.compile(r"(?:([0-9.]+)d)?(?:([0-9.]+)h)?(?:([0-9.]+)m)?(?:([0-9.]+)s?)?")


class Refusal(typer.BadParameter):
    """A value of an option refused in a whole sentence, to which nothing is to be added."""

    def format_message(self) -> str:
        """Return the sentence."""
        return self.message


def _bounds(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return f"at most {most:,}" if least is None else f"{least:,} or more"
    return f"between {least:,} and {most:,}"


def whole_number(name: str, least: int | None = None, most: int | None = None) -> Callable[[str | int], int]:
    """Return what reads an option that is a whole number.

    Args:
        name: the option's.
        least: the smallest value that is valid.
        most: the largest one.
    """

    def parse(text: str | int) -> int:
        if not _WHOLE.fullmatch(str(text)):
            raise Refusal(f"{name} must be a whole number, not '{shortened(text)}'")
        value = int(text)
        if least is not None and value < least:
            raise Refusal(f"{name} must be {_bounds(least, None)}, not {shortened(text)}")
        if most is not None and value > most:
            raise Refusal(f"{name} must be {_bounds(least, most)}, not {shortened(text)}")
        return value

    return parse


def decimal_number(
    name: str, least: float | None = None, above: float | None = None
) -> Callable[[str | float], float]:
    """Return what reads an option that is a finite number.

    Args:
        name: the option's.
        least: the smallest value that is valid.
        above: a value that is too small.
    """

    def parse(text: str | float) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise Refusal(f"{name} must be a finite number, not '{shortened(text)}'")
        if least is not None and value < least:
            raise Refusal(f"{name} must be {_bounds(least, None)}, not {shortened(text)}")
        if above is not None and value <= above:
            raise Refusal(f"{name} must be more than {above:,}, not {shortened(text)}")
        return value

    return parse


def duration(text: str | float, name: str = "--time") -> float:
    """Read a time such as `90`, `90s`, `10m` or `1h30m`, in seconds."""
    match = _DURATION.fullmatch(str(text).replace(" ", ""))
    try:
        parts = [float(part or 0) for part in match.groups()] if match else [0.0]
    except ValueError:
        parts = [0.0]
    seconds = sum(part * length for part, length in zip(parts, (86400, 3600, 60, 1), strict=False))
    if not 0 < seconds <= MAX_SECONDS:
        raise Refusal(
            f"{name} must be a time above 0 such as '90s', '10m' or '1h30m', not '{shortened(text)}'"
        )
    return seconds


def folder(name: str) -> Callable[[str], str]:
    """Return what reads an option that names a folder, there or to be made."""

    def parse(text: str) -> str:
        path = Path(text)
        if not text:
            raise Refusal(f"{name} must name a folder, not ''")
        for part in (path, *path.parents):
            try:
                is_in_the_way = part.exists() and not part.is_dir()
            except OSError as error:
                raise Refusal(
                    f"{name} must name a folder, not '{shortened(text)}': {error.strerror}"
                ) from None
            if is_in_the_way:
                raise Refusal(f"{name} must name a folder, and '{part}' is a file")
        return text

    return parse


def whole_option(name: str, text: str, least: int | None = None, most: int | None = None) -> Any:
    """Return an option that is a whole number."""
    return typer.Option(name, parser=whole_number(name, least, most), metavar="INTEGER", help=text)


def number_option(name: str, text: str, least: float | None = None, above: float | None = None) -> Any:
    """Return an option that is a number."""
    return typer.Option(name, parser=decimal_number(name, least, above), metavar="NUMBER", help=text)


def time_option(name: str, text: str) -> Any:
    """Return an option that is a time."""
    return typer.Option(name, parser=lambda given: duration(given, name), metavar="TIME", help=text)


def given_command(context: typer.Context) -> str:
    """Return the command as it was typed, to be typed again."""
    return shlex.join(["errai", *context.find_root().obj])


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]

SEED = whole_option("--seed", "Seed of everything random; exact commands ignore it.", 0, MAX_SEED)
Seed = Annotated[int, SEED]
OptionalSeed = Annotated[int | None, SEED]

Threads = Annotated[
    int | None,
    whole_option(
        "--threads",
        "Threads; without it all cores, for large games. The result does not depend on it, unless sampled "
        "deals are learnt in tables that threads share ('shared').",
        1,
        MAX_THREADS,
    ),
]
Time = Annotated[
    float | None,
    typer.Option(
        "--time", parser=duration, metavar="TIME", help="Stop after a time such as '90s', '10m' or '1h30m'."
    ),
]
Iterations = Annotated[
    int | None, whole_option("--iterations", "Stop after so many iterations.", 1, MAX_ITERATIONS)
]
Out = Annotated[
    str | None,
    typer.Option("--out", parser=folder("--out"), metavar="FOLDER", help="Folder to save the result in."),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the work in --out; nothing else is needed. Where what to do is given, too, it is "
        "begun if --out has none of it yet.",
    ),
]
TablesIn = Annotated[
    str | None,
    typer.Option(
        "--tables-in",
        parser=folder("--tables-in"),
        metavar="FOLDER",
        help="Hold the tables on this folder's disk, not in memory, while the run goes on.",
    ),
]
Plot = Annotated[
    str | None, typer.Option("--plot", metavar="FILE", help="Draw a picture, such as 'leduc.png'.")
]
GameName = Annotated[
    str, typer.Argument(metavar="GAME", help="A game's name (see 'errai games') or an ACPC game file.")
]
Bets = Annotated[
    str | None,
    typer.Option(
        "--bets",
        metavar="MENU",
        help="Bet sizes of a no-limit game, such as '0.5p,1p,all-in' ('|' parts the first bet from raises, "
        "'/' parts rounds); a name of 'errai size nolimit-holdem --bets list'; or a TOML file.",
    ),
]
MaxRaises = Annotated[
    int | None, whole_option("--max-raises", "With --bets: at most so many raises a round.", 0)
]
ForceAllIn = Annotated[
    float,
    number_option(
        "--force-all-in", "With --bets: a raise leaving less than this part of the pot is all-in.", 0
    ),
]
PayoffsText = Annotated[
    str | None,
    typer.Option(
        "--payoffs",
        metavar="TEXT",
        help="What the players get: 'plain', 'rake 5% cap 3' ('... always': without a flop, too), "
        "'tilt 7,0,0,7' (percent more for winning a showdown, losing one, folding, winning by a fold).",
    ),
]


def menu_from_options(bets: str | None, max_raises: int | None, force_all_in: float) -> "BetMenu | None":
    """Return the menu that the options describe; None without one."""
    from errai.tree.menu_file import load_bets

    if bets is None:
        if max_raises is not None or force_all_in:
            raise UsageError("--max-raises and --force-all-in need --bets, which is missing")
        return None
    return load_bets(bets, max_raises, force_all_in)
