"""A checkpoint: several arrays and a little state, on disk as a whole or not at all.

Steps of a write: the arrays that changed go to files with the number of a new generation in their names, each
safe before the next; then `checkpoint.json`, which names all arrays with their checksums, is replaced in one
rename; then the files that it no longer names are deleted. Arrays that did not change keep the file of the
generation that wrote them. A kill at any moment leaves one good checkpoint, the old or the new, and at worst
some files that it does not name, which the next write removes; a write that fails removes them itself.

A large table is several arrays, the groups of its shards (`groups.py`); readers get it as one.
"""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from errai.array_file import (
    Array,
    checksum,
    is_array_of,
    map_array,
    map_verified_array,
    read_array,
    read_header,
    sync_folder,
    verify_array,
    write_array,
    write_text,
)
from errai.errors import UsageError
from errai.folder_lock import FolderLock
from errai.tables.groups import groups_of

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
        raise UsageError(f"'{path}' has format version {version}: expected version {VERSION}")
    if not sound:
        raise UsageError(f"'{path}' is damaged: it does not fit its checksum")
    if fingerprint is not None and found.fingerprint != fingerprint:
        raise UsageError(
            f"'{path}' belongs to another configuration: its fingerprint is '{found.fingerprint}', "
            f"expected '{fingerprint}'"
        )
    return found


def read_arrays(folder: str | Path, names: list[str], fingerprint: str) -> tuple[Checkpoint, list[Array]]:
    """Read some arrays of a folder's checkpoint and verify every bit of them."""
    place = Path(folder)
    return _of_newest(place, fingerprint, lambda found: [_read_one(place, found, name) for name in names])


def read_into(folder: str | Path, arrays: Mapping[str, Array], fingerprint: str) -> Checkpoint:
    """Read arrays of a folder's checkpoint, by name, into arrays of their size; verify every bit of them."""
    place = Path(folder)

    def read_all(found: Checkpoint) -> None:
        for name, array in arrays.items():
            _read_one(place, found, name, array)

    return _of_newest(place, fingerprint, read_all)[0]


def map_arrays(
    folder: str | Path, names: list[str], fingerprint: str
) -> tuple[Checkpoint, list[list[Array]]]:
    """Map some arrays of a folder's checkpoint, each as its groups, after every bit of them was verified."""
    place = Path(folder)

    def map_all(found: Checkpoint) -> list[list[Array]]:
        return [
            [
                map_verified_array(place / file, fingerprint=found.fingerprint, expected_checksum=check)[1]
                for file, check in _files_of(place, found, name)
            ]
            for name in names
        ]

    return _of_newest(place, fingerprint, map_all)


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


def _files_of(folder: Path, found: Checkpoint, name: str) -> list[tuple[str, str]]:
    """Return file name and checksum of the groups of an array, in the order of slots."""
    files = [found.arrays[group] for group in groups_of(name, found.arrays)]
    if not files:
        raise UsageError(f"'{folder / FILE_NAME}' names no array '{name}': the run has not saved it yet")
    return files


def _read_one(folder: Path, found: Checkpoint, name: str, into: Array | None = None) -> Array:
    files = _files_of(folder, found, name)
    groups, checks = [folder / file for file, _ in files], [check for _, check in files]
    if len(groups) == 1:
        return read_array(groups[0], fingerprint=found.fingerprint, expected_checksum=checks[0], into=into)[1]
    # Each group where it belongs: a table that fills the memory must not be there twice.
    headers = [read_header(path) for path in groups]
    num_slots = sum(header.shape[0] for header in headers)
    table = np.empty(num_slots, dtype=headers[0].dtype) if into is None else into
    if table.shape != (num_slots,):
        raise UsageError(
            f"'{folder / FILE_NAME}' has {num_slots:,} numbers of '{name}': expected {len(table):,}"
        )
    begin = 0
    for path, check, header in zip(groups, checks, headers, strict=True):
        part = table[begin : begin + header.shape[0]]
        read_array(path, fingerprint=found.fingerprint, expected_checksum=check, into=part)
        begin += len(part)
    return table


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
        self._on_disk()  # which must belong to this configuration

    def _on_disk(self) -> Checkpoint | None:
        return read_checkpoint(self.folder, self.fingerprint) if has_checkpoint(self.folder) else None

    def find_unchanged(self, arrays: Mapping[str, Array]) -> set[str]:
        """Return the names of those arrays that are what the last checkpoint holds under that name."""
        last = self._on_disk()
        named = last.arrays if last else {}
        return {
            name
            for name, array in arrays.items()
            if name in named and is_array_of(self.folder / named[name][0], array, named[name][1])
        }

    def write(
        self,
        state: dict[str, Any],
        arrays: dict[str, tuple[Array, str]],
        unchanged: Collection[str] = (),
    ) -> None:
        """Replace the checkpoint.

        Args:
            state: what to know again, as JSON can.
            arrays: array and unit, by name, to be written.
            unchanged: names of arrays of the last checkpoint that are still what it holds. Their files stay.
        """
        assert self._lock.is_held, "whoever writes a folder holds its lock"
        # What is on disk counts: a write that failed in its last step may have replaced the checkpoint.
        last = self._on_disk()
        generation = last.generation + 1 if last else 0
        kept = {name: last.arrays[name] for name in unchanged if last and name in last.arrays}
        for name in unchanged:
            if name not in kept or name in arrays:
                raise UsageError(
                    f"array '{name}' cannot stay unchanged in '{self.folder}': "
                    + ("it is to be written" if name in arrays else "the last checkpoint has none")
                )
        self._remove_unnamed(last)
        written = {name: f"{name}-{generation:06d}{ARRAY_SUFFIX}" for name in arrays}
        named = dict(kept)
        try:
            for name, (array, units) in arrays.items():
                path = self.folder / written[name]
                check = write_array(path, array, name=name, units=units, fingerprint=self.fingerprint)
                named[name] = (written[name], check)
            made = Checkpoint(self.fingerprint, generation, state, named)
            write_text(self.folder / FILE_NAME, made.text())
        except BaseException:
            self._take_back(generation, list(written.values()))
            raise
        self._remove_unnamed(made)

    def _take_back(self, generation: int, files: list[str]) -> None:
        """Remove the files of a write that failed, unless its checkpoint had been replaced already."""
        # The error that brought us here is the one to tell; what cannot be removed now is removed later.
        with suppress(OSError, UsageError):
            if has_checkpoint(self.folder) and read_checkpoint(self.folder).generation == generation:
                return
            for file in files:
                (self.folder / file).unlink(missing_ok=True)

    def _remove_unnamed(self, found: Checkpoint | None) -> None:
        """Remove array files that the checkpoint on disk does not name."""
        named = {file for file, _ in found.arrays.values()} if found else set()
        unnamed = [path for path in self.folder.glob(f"*{ARRAY_SUFFIX}") if path.name not in named]
        if unnamed:
            # A power failure must not bring back the checkpoint that names them.
            sync_folder(self.folder)
        for path in unnamed:
            path.unlink()
