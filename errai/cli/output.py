"""What every command shares: JSON for machines, tables for people, one sentence for errors."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from errai.errors import UsageError


def whole_number(text: str | int) -> int:
    """Read an option that is an integer."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a whole number") from None


def decimal_number(text: str | float) -> float:
    """Read an option that is a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number") from None


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        parser=whole_number,
        metavar="INTEGER",
        help="Seed of everything random; exact commands ignore it.",
    ),
]


def fail(sentence: str) -> int:
    """Print one sentence on standard error and return the exit status of bad input, 2."""
    text = " ".join(sentence.split())
    print(f"errai: {text}" + ("" if text.endswith(".") else "."), file=sys.stderr)
    return 2


def verify_picture(plot: str | None) -> None:
    """Find out before hours of work that a picture cannot be drawn."""
    if plot is None:
        return
    from errai.runs.plot import verify_plots

    verify_plots()
    if not Path(plot).absolute().parent.is_dir():
        raise UsageError(f"'{plot}' cannot be drawn: its folder does not exist")


def print_json(value: Any) -> None:
    """Print a value as JSON; integers of any size stay exact."""
    print(json.dumps(value, indent=2))


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table with the first column to the left and numbers to the right, however wide."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(title)
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())


def scientific(number: int) -> str:
    """Write an integer with thousands separators, or as a power of ten where it has over 18 digits.

    >>> scientific(15442180)
    '15,442,180'
    """
    digits = str(number)
    return f"{number:,}" if len(digits) <= 18 else f"{digits[0]}.{digits[1:4]}e{len(digits) - 1}"
