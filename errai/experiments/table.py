"""What a table of a paper is: its numbers, made under several assumptions, beside the published ones."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A number of a table.

    Attributes:
        row: what it is of.
        form: the assumption that it is made under.
        memory_bytes: exact.
        value: the same in the paper's unit.
        unit: the paper's.
        published: as printed.
    """

    row: str
    form: str
    memory_bytes: int
    value: float
    unit: str
    published: float

    @property
    def percent_off(self) -> float:
        """How far it is from the published number, in percent of that."""
        return 100 * (self.value / self.published - 1)

    @property
    def is_as_printed(self) -> bool:
        """Whether it is the published number, as far as that is printed."""
        return round(self.value, 2) == self.published


@dataclass(frozen=True)
class Table:
    """How a table is made.

    Attributes:
        title: what it shows.
        make: returns its numbers, those of the best assumption first.
    """

    title: str
    make: Callable[[], Sequence[Entry]]


def write_entries(entries: Sequence[Entry], path: Path) -> None:
    """Write a table as CSV, a line for each number."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*Entry._fields, "percent_off"])
        writer.writerows([*entry, round(entry.percent_off, 4)] for entry in entries)
