"""The one exception that a user is meant to see.

Everything that a person can get wrong (a card, a game's name, a betting string, a file) raises
`UsageError` with one sentence that names the value and what is valid. The command line prints
that sentence and leaves with status 2; a traceback of any other exception is a defect of ours.
"""


class UsageError(ValueError):
    """Bad input, told in one sentence that names the value and what is valid."""
