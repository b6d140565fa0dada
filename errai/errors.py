"""The one exception that a user is meant to see.

Everything that a person can get wrong (a card, a game's name, a betting string, a file) raises
`UsageError` with one sentence that names the value and what is valid. The command line prints
that sentence and leaves with status 2; a traceback of any other exception is a defect of ours.
"""


class UsageError(ValueError):
    """Bad input, told in one sentence that names the value and what is valid."""


def shortened(text: object) -> str:
    """Return a value as it is quoted in an error, cut where it is long."""
    value = str(text)
    return value if len(value) <= 40 else f"{value[:30]}... ({len(value):,} characters)"
