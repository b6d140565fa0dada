"""The one exception that a user is meant to see.

Everything that a person can get wrong (a card, a game's name, a betting string, a file) raises
`UsageError` with one sentence that names the value and what is valid. The command line prints
that sentence and leaves with status 2; a traceback of any other exception is a defect of ours.
"""

import reprlib
from numbers import Integral, Real
from os import PathLike


class UsageError(ValueError):
    """Bad input, told in one sentence that names the value and what is valid."""


def verify_whole(name: str, value: object, least: int | None = None) -> None:
    """Refuse what is not a whole number, or too small a one; a truth value is not a number.

    Args:
        name: what the number is of.
        value: what was given.
        least: the smallest number that is valid.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise UsageError(f"{name} must be a whole number, not {reprlib.repr(value)}")
    if least is not None and value < least:
        raise UsageError(f"{name} must be {least} or more, not {value}")


def verify_number(name: str, value: object) -> None:
    """Refuse what is not a number; a truth value is none."""
    if not isinstance(value, Real) or isinstance(value, bool) or value != value:
        raise UsageError(f"{name} must be a number, not {reprlib.repr(value)}")


def verify_path(name: str, value: object) -> None:
    """Refuse what does not name a file or folder."""
    if not isinstance(value, str | PathLike):
        raise UsageError(f"{name} must be a path, not {reprlib.repr(value)}")


def verify_function(name: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise UsageError(f"{name} must be a function, not {reprlib.repr(value)}")


def shortened(text: object) -> str:
    """Return a value as it is quoted in an error, cut where it is long."""
    value = str(text)
    return value if len(value) <= 40 else f"{value[:30]}... ({len(value):,} characters)"
