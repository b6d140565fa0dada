"""Hands of local best response in a file, so that a long measurement goes on where it was interrupted.

The file has one row for each deal: what each position won, expected and paid, and how lucky the deal was. A
deal depends on nothing but its number, the seed and what is measured, which the file's fingerprint says; so
a file serves fewer hands and more.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.array_file import checksum, read_array, write_array
from errai.errors import UsageError

Floats = npt.NDArray[np.float64]

COLUMNS = ("expected 0", "expected 1", "paid 0", "paid 1", "luck")
"""Of a row, the first four in chips, by position."""

SECONDS_BETWEEN_SAVES = 30.0


class KeptHands:
    """The rows of the deals so far.

    Attributes:
        rows: float64[deals, columns] of all deals that are asked for.
        done: how many of them are known.
    """

    def __init__(
        self, num_deals: int, path: str | Path | None = None, what: Mapping[str, object] | None = None
    ) -> None:
        """Take over what the file has, where there is one.

        Args:
            num_deals: deals that are asked for.
            path: the file; None keeps nothing.
            what: with a file, everything that a deal's row depends on besides its number, as JSON can say it.
        """
        self.rows = np.empty((num_deals, len(COLUMNS)))
        self.done = 0
        self._path = None if path is None else Path(path)
        self._fingerprint = checksum(json.dumps(dict(what or {}), sort_keys=True).encode())
        self._known, self._saved = 0, time.monotonic()
        if self._path is not None and self._path.exists():
            _, known = read_array(self._path, fingerprint=self._fingerprint)
            self.done = min(len(known), num_deals)
            self._known = len(known)
            self.rows[: self.done] = known[: self.done]
        elif self._path is not None and not self._path.absolute().parent.is_dir():
            raise UsageError(f"'{path}' cannot be written: its folder was not found")

    def add(self, row: Floats) -> None:
        """Keep the row of the next deal."""
        self.rows[self.done] = row
        self.done += 1
        if time.monotonic() - self._saved >= SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Write what is known, unless the file has it."""
        self._saved = time.monotonic()
        if self._path is None or self.done <= self._known:
            return
        write_array(
            self._path,
            self.rows[: self.done],
            name="local best response",
            units="chips",
            fingerprint=self._fingerprint,
            notes={"columns": list(COLUMNS)},
        )
        self._known = self.done
