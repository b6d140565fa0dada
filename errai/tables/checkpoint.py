"""A checkpoint: several arrays and a little state, on disk as a whole or not at all.

Steps of a write: the arrays go to files with the number of a new generation in their names, each safe before
the next; then `checkpoint.json`, which names them with their checksums, is replaced in one rename; then
the old generation is deleted. A kill at any moment leaves one good checkpoint, the old or the new, and
at worst some files that it does not name, which the next write removes.
"""

import fcntl
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from errai.array_file import (
    Array,
    checksum,
    read_array,
    remove_temporaries,
    sync_folder,
    write_array,
    write_text,
)
from errai.errors import UsageError

FILE_NAME = "checkpoint.json"
LOCK_NAME = "lock"
ARRAY_SUFFIX = ".array"
VERSION = 1

_FORMAT = "errai-checkpoint"


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
    found = read_checkpoint(folder, fingerprint)
    while True:
        try:
            return found, [_read_one(Path(folder), found, name) for name in names]
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

    def __init__(self, folder: str | Path, fingerprint: str) -> None:
        """Lock a folder and clear away what a killed writer has left.

        Args:
            folder: an existing folder.
            fingerprint: of the configuration.
        """
        self.folder = Path(folder)
        self.fingerprint = fingerprint
        self._lock: BinaryIO = open(self.folder / LOCK_NAME, "ab")  # noqa: SIM115 - held until `close`
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise UsageError(
                f"'{folder}' is being written by another process: wait for it, or choose another folder"
            ) from None
        remove_temporaries(self.folder)
        self._last = read_checkpoint(folder, fingerprint) if has_checkpoint(folder) else None

    def write(self, state: dict[str, Any], arrays: dict[str, tuple[Array, str]]) -> None:
        """Replace the checkpoint.

        Args:
            state: what to know again, as JSON can.
            arrays: array and unit, by name.
        """
        generation = self._last.generation + 1 if self._last else 0
        self._remove_unnamed()
        written = {}
        for name, (array, units) in arrays.items():
            file = f"{name}-{generation:06d}{ARRAY_SUFFIX}"
            check = write_array(
                self.folder / file, array, name=name, units=units, fingerprint=self.fingerprint
            )
            written[name] = (file, check)
        made = Checkpoint(self.fingerprint, generation, state, written)
        write_text(self.folder / FILE_NAME, made.text())
        self._last = made
        self._remove_unnamed()

    def _remove_unnamed(self) -> None:
        """Remove array files that the checkpoint on disk does not name."""
        named = {file for file, _ in self._last.arrays.values()} if self._last else set()
        for path in self.folder.glob(f"*{ARRAY_SUFFIX}"):
            if path.name not in named:
                path.unlink()
        sync_folder(self.folder)

    def close(self) -> None:
        """Let another process write."""
        self._lock.close()
