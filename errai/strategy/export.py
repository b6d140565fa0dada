"""Strategies as tables for other tools: NumPy arrays, a pandas frame, CSV and Parquet files.

A table has one row for each action of each information set: what tells the information set apart
(`betting`, `board` and `hand` of a card game), then `action` and `probability`.
"""

import csv
import io
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.array_file import replaced_file
from errai.errors import UsageError


class ExportedStrategy:
    """What every strategy that lists its information sets can be written as."""

    def information_sets(self) -> Iterator[Any]:
        """Yield named tuples whose last two fields are `actions` and `probabilities`."""
        raise NotImplementedError

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the table, all of one length.

        >>> import errai
        >>> columns = errai.uniform_strategy("kuhn").to_arrays()
        >>> {name: column.shape for name, column in columns.items()}
        {'betting': (24,), 'board': (24,), 'hand': (24,), 'action': (24,), 'probability': (24,)}
        >>> columns["hand"][columns["betting"] == "cr"].tolist()
        ['Js', 'Js', 'Qs', 'Qs', 'Ks', 'Ks']
        """
        rows = self._rows()
        names = next(rows)
        columns = zip(*rows, strict=True)
        return {name: np.array(column) for name, column in zip(names, columns, strict=True)}

    def to_frame(self) -> Any:
        """Return the table as a `pandas.DataFrame`; needs the package `pandas`.

        >>> import errai
        >>> frame = errai.uniform_strategy("kuhn").to_frame()
        >>> frame[frame.action == "r"].groupby("betting").probability.mean().to_dict()
        {'': 0.5, 'c': 0.5}
        """
        return _imported("pandas").DataFrame(self.to_arrays())

    def to_csv(self, path: str | Path) -> None:
        """Write the table as a CSV file with a line of names first; probabilities lose no digit.

        Row after row, so a large strategy takes no more memory; an existing file is replaced only once the
        new one is safe.
        """
        with replaced_file(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
            csv.writer(text, lineterminator="\n").writerows(self._rows())
            text.detach()

    def to_parquet(self, path: str | Path) -> None:
        """Write the table as a Parquet file; needs the packages `pandas` and `pyarrow`."""
        _imported("pyarrow")
        frame = self.to_frame()
        with replaced_file(path) as file:
            frame.to_parquet(file, engine="pyarrow", index=False)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the names of the columns, then the rows."""
        names: tuple[str, ...] = ()
        for found in self.information_sets():
            if not names:
                names = found._fields[:-2]
                yield *names, "action", "probability"
            for action, probability in zip(found.actions, found.probabilities, strict=True):
                yield *found[:-2], action, probability


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"the package '{name}' was not found: this export needs it") from None
