"""Parts of a figure that are done, kept in a folder: one that takes days goes on where it was interrupted.

A part is whatever takes long by itself: one run of a curve, a match, a strategy that is trained. What it came
to is a file of JSON, written at once or not at all; a training is a run's folder with checkpoints of its own.
The folder's name ends in a fingerprint of all that decides the parts, so that a figure of another size or
seed begins anew.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from errai.array_file import checksum, write_text
from errai.errors import UsageError

Part = TypeVar("Part")

SUFFIX = ".json"


class Kept:
    """What is done of a figure.

    Attributes:
        folder: where it is kept; None keeps nothing.
    """

    def __init__(
        self, beside: str | Path | None = None, what: Mapping[str, Any] | None = None, *, resume: bool = False
    ) -> None:
        """Begin, or go on.

        Args:
            beside: the beginning of the folder's path, such as `figures/thesis-figure-3.2`.
            what: everything that decides the parts, as JSON can say it.
            resume: use the parts that are there; without it, parts that are there are refused.
        """
        self.folder: Path | None = None
        if beside is None:
            return
        fingerprint = checksum(json.dumps(dict(what or {}), sort_keys=True).encode())[:12]
        self.folder = Path(f"{beside}-parts-{fingerprint}")
        if self.folder.exists() and not resume:
            raise UsageError(
                f"'{self.folder}' holds parts of an interrupted figure: go on with --resume, or remove it"
            )

    def part(self, name: str, make: Callable[[], Part]) -> Part:
        """Return a part as it was kept, or make it and keep it.

        Args:
            name: of the part, unlike every other one's.
            make: makes it, of what JSON can hold: numbers, texts, lists and dictionaries.
        """
        if self.folder is None:
            return make()
        path = self.folder / f"{_file_name(name)}{SUFFIX}"
        if path.exists():
            known: Part = self._read(path, name)
            return known
        made = make()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({"part": name, "value": made}))
        return made

    def run_folder(self, name: str) -> Path | None:
        """Return the folder in which a training is to keep itself; None where nothing is kept."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / _file_name(name)

    def remove(self) -> None:
        """Remove what is kept, as when the figure is whole."""
        if self.folder is not None and self.folder.exists():
            shutil.rmtree(self.folder)

    def _read(self, path: Path, name: str) -> Any:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["part"] == name:
                return found["value"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise UsageError(
            f"'{path}' is not the part '{name}' of this figure: remove it, so that it is made anew"
        )


def _file_name(name: str) -> str:
    """Return a name for files that no other part has."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:60]
    return f"{readable}-{checksum(name.encode())[:8]}"


NOTHING_KEPT = Kept()
"""For whoever makes a figure in one go."""
