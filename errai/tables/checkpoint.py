"""A checkpoint: several arrays and a little state, on disk as a whole or not at all.

Steps of a write: the arrays go to files with the number of a new generation in their names, each safe before
the next; then `checkpoint.json`, which names them with their checksums, is replaced in one rename; then
the old generation is deleted. A kill at any moment leaves one good checkpoint, the old or the new, and
at worst some files that it does not name, which the next write removes.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from errai.array_file import (
    Array,
    checksum,
    map_array,
    read_array,
    sync_folder,
    verify_array,
    write_array,
    write_text,
)
from errai.errors import UsageError
from errai.folder_lock import FolderLock

FILE_NAME = "checkpoint.json"
ARRAY_SUFFIX = ".array"
VERSION = 1

_FORMAT = "errai-checkpoint"

Result = TypeVar("Result")


@dataclass(frozen=True)
class Checkpoint:
    """What `checkpoint.json` says.

    Attributes:
        fingerprint: of the configuration that it belongs to.
        generation: counts the writes.
        state: what the owner wants to know again, as JSON can.
        arrays: file name and checksum of each array, by name.
    """

    fingerprint: str
    generation: int
    state: dict[str, Any]
    arrays: dict[str, tuple[str, str]]

    def text(self) -> str:
        """Return the file's content, the same text for the same checkpoint."""
        entries = {
            "format": _FORMAT,
            "version": VERSION,
            "fingerprint": self.fingerprint,
            "generation": self.generation,
            "state": self.state,
            "arrays": {name: list(of) for name, of in self.arrays.items()},
        }
        body = json.dumps(entries, indent=1)
        return json.dumps({**entries, "checksum": checksum(body.encode())}, indent=1) + "\n"


def has_checkpoint(folder: str | Path) -> bool:
    """Return whether a folder holds a checkpoint."""
    return (Path(folder) / FILE_NAME).is_file()


def read_checkpoint(folder: str | Path, fingerprint: str | None = None) -> Checkpoint:
    """Read and verify `checkpoint.json`; the arrays are left alone."""
    path = Path(folder) / FILE_NAME
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None
    try:
        text = content.decode()
        entries = json.loads(text)
        found = Checkpoint(
            entries["fingerprint"],
            entries["generation"],
            entries["state"],
            {name: (file, check) for name, (file, check) in entries["arrays"].items()},
        )
        version = entries["version"]
        sound = found.text() == text
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        version, sound = VERSION, False
    if version != VERSION:
        raise UsageError(f"'{path}' has format version {version}: version {VERSION} is allowed")
    if not sound:
        raise UsageError(f"'{path}' is damaged: it does not fit its checksum")
    if fingerprint is not None and found.fingerprint != fingerprint:
        raise UsageError(
            f"'{path}' belongs to another configuration: its fingerprint is '{found.fingerprint}', "
            f"where '{fingerprint}' is needed"
        )
    return found


def read_arrays(folder: str | Path, names: list[str], fingerprint: str) -> tuple[Checkpoint, list[Array]]:
    """Read some arrays of a folder's checkpoint and verify every bit of them."""
    place = Path(folder)
    return _of_newest(place, fingerprint, lambda found: [_read_one(place, found, name) for name in names])


def verify_arrays(folder: str | Path, fingerprint: str, *, fully: bool = True) -> None:
    """Verify every bit of all arrays of a folder's checkpoint, a block at a time.

    Args:
        folder: the folder.
        fingerprint: of the configuration that it must belong to.
        fully: False verifies headers and sizes alone, which costs next to nothing.
    """
    verify = verify_array if fully else map_array

    def verify_all(found: Checkpoint) -> None:
        for file, check in found.arrays.values():
            verify(Path(folder) / file, fingerprint=fingerprint, expected_checksum=check)

    _of_newest(Path(folder), fingerprint, verify_all)


def _of_newest(
    folder: Path, fingerprint: str, read: Callable[[Checkpoint], Result]
) -> tuple[Checkpoint, Result]:
    """Read what a checkpoint names; once more where it was replaced meanwhile."""
    found = read_checkpoint(folder, fingerprint)
    while True:
        try:
            return found, read(found)
        except UsageError:
            # A writer may have replaced this generation meanwhile; what the old one named is then gone.
            newer = read_checkpoint(folder, fingerprint)
            if newer.generation == found.generation:
                raise
            found = newer


def _read_one(folder: Path, found: Checkpoint, name: str) -> Array:
    if name not in found.arrays:
        raise UsageError(f"'{folder / FILE_NAME}' names no array '{name}': the run has not saved it yet")
    file, check = found.arrays[name]
    return read_array(folder / file, fingerprint=found.fingerprint, expected_checksum=check)[1]


class CheckpointWriter:
    """The one process that may write a folder's checkpoints."""

    def __init__(self, lock: FolderLock, fingerprint: str) -> None:
        """Find the checkpoint that is to be replaced.

        Args:
            lock: of the folder; the caller holds it as long as it writes.
            fingerprint: of the configuration.
        """
        self._lock = lock
        self.folder = lock.path
        self.fingerprint = fingerprint
        self._last = self._on_disk()

    def _on_disk(self) -> Checkpoint | None:
        return read_checkpoint(self.folder, self.fingerprint) if has_checkpoint(self.folder) else None

    def write(self, state: dict[str, Any], arrays: dict[str, tuple[Array, str]]) -> None:
        """Replace the checkpoint.

        Args:
            state: what to know again, as JSON can.
            arrays: array and unit, by name.
        """
        assert self._lock.is_held, "whoever writes a folder holds its lock"
        generation = self._last.generation + 1 if self._last else 0
        self._remove_unnamed()
        try:
            self._last = self._replace(generation, state, arrays)
        except BaseException:
            # A full disk is to get back what was finished, unless the checkpoint came about after all.
            with suppress(OSError, UsageError):
                self._last = self._on_disk()
                self._remove_unnamed(f"*-{generation:06d}")
            raise
        self._remove_unnamed()

    def _replace(
        self, generation: int, state: dict[str, Any], arrays: dict[str, tuple[Array, str]]
    ) -> Checkpoint:
        written = {}
        for name, (array, units) in arrays.items():
            file = f"{name}-{generation:06d}{ARRAY_SUFFIX}"
            check = write_array(
                self.folder / file, array, name=name, units=units, fingerprint=self.fingerprint
            )
            written[name] = (file, check)
        made = Checkpoint(self.fingerprint, generation, state, written)
        write_text(self.folder / FILE_NAME, made.text())
        return made

    def _remove_unnamed(self, pattern: str = "*") -> None:
        """Remove array files that the checkpoint on disk does not name."""
        named = {file for file, _ in self._last.arrays.values()} if self._last else set()
        for path in self.folder.glob(f"{pattern}{ARRAY_SUFFIX}"):
            if path.name not in named:
                path.unlink()
        sync_folder(self.folder)
