"""The folder of an abstraction while it is written: parts with notes, and the manifest that makes it whole.

Nothing half-written is taken for whole, and nothing that was written is lost, whatever is killed when:

1. A part that is begun loses its old note, durably, before its first array is replaced.
2. The note of a part is written after its arrays, names them with their checksums, and says what made them.
3. The manifest is written when all parts have their notes, and these go then.

Processes that write one folder take turns by its lock, so that what a killed one has left can be removed.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.array_file import remove_temporaries, sync_folder, write_array, write_text
from errai.errors import UsageError
from errai.folder_lock import LOCK_NAME, FolderLock

MANIFEST_NAME = "abstraction.json"
CACHED_PREFIX = "abstraction-"
"""Of the folders in the cache that hold an abstraction each, named by its fingerprint."""

Array = npt.NDArray[Any]


class FolderWriter:
    """Writes an abstraction part by part; a folder without its manifest is not an abstraction yet.

    Attributes:
        path: the folder.
        fingerprint: of everything that decides the buckets; parts of another are written anew.
    """

    def __init__(self, folder: str | Path, fingerprint: str, part: str) -> None:
        """Begin, or go on with what an interrupted build of the same has left.

        Args:
            folder: where; one that holds an abstraction is refused.
            fingerprint: of everything that decides the buckets.
            part: what its parts are, such as `round`: the ending of their notes.
        """
        self.path, self.fingerprint = Path(folder), fingerprint
        self._part = part
        with self._locked():
            if not (self.path / MANIFEST_NAME).exists():
                return
            self._remove_notes()
        raise UsageError(f"'{folder}' holds an abstraction already: choose another folder")

    def write_part(
        self, name: str, prefix: str, arrays: Mapping[str, tuple[Array, str]], entry: dict[str, Any]
    ) -> dict[str, Any]:
        """Write a part and its note; return the entry that the manifest must have of it.

        Args:
            name: of the part.
            prefix: of the names of its files.
            arrays: array and units by name.
            entry: what else is to be known about the part.
        """
        note = self._note(name)
        with self._locked():
            if note.exists():
                note.unlink()
                sync_folder(self.path)
            checksums = {
                one: self._write(f"{prefix}{one}", array, units) for one, (array, units) in arrays.items()
            }
            entry = {**entry, "arrays": checksums}
            write_text(note, signed_json({"made": self.fingerprint, **entry}))
        return entry

    def written_part(self, name: str) -> dict[str, Any] | None:
        """Return the entry of a part that an interrupted build of the same has written."""
        try:
            entry = verified_json(self._note(name).read_bytes(), self._note(name))
        except (OSError, UsageError):
            return None
        return entry if entry.pop("made") == self.fingerprint else None

    def write_shared(self, name: str, array: Array, units: str, notes: dict[str, Any] | None = None) -> str:
        """Write an array that belongs to no part; return its checksum."""
        with self._locked():
            return self._write(name, array, units, notes)

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, after which the folder is an abstraction, and remove what is needed no more."""
        with self._locked():
            write_text(self.path / MANIFEST_NAME, signed_json({**manifest, "fingerprint": self.fingerprint}))
            self._remove_notes()
            # Who waits for the lock looks whether the file is still there; see `folder_lock.py`.
            (self.path / LOCK_NAME).unlink()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with FolderLock(self.path, create=True):
            for folder in self.path.iterdir():
                if folder.is_dir():
                    remove_temporaries(folder)
            yield

    def _remove_notes(self) -> None:
        for note in self.path.glob(f".*.{self._part}"):
            note.unlink()

    def _note(self, name: str) -> Path:
        return self.path / f".{name}.{self._part}"

    def _write(self, name: str, array: Array, units: str, notes: dict[str, Any] | None = None) -> str:
        path = self.path / f"{name}.array"
        if not path.parent.exists():
            path.parent.mkdir()
            sync_folder(self.path)
        return write_array(
            path, np.asarray(array), name=name, units=units, fingerprint=self.fingerprint, notes=notes
        )


def signed_json(manifest: dict[str, Any]) -> str:
    """Write a manifest with a checksum of its own."""
    return json.dumps({**manifest, "checksum": _checksum(manifest)}, indent=1)


def verified_json(content: bytes | str, path: Path) -> dict[str, Any]:
    """Read what `signed_json` wrote; the path is only for the sentence that refuses it."""
    try:
        found: dict[str, Any] = json.loads(content)
        checksum = found.pop("checksum")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise UsageError(f"'{path}' is damaged: it is not valid JSON with a checksum") from None
    if checksum != _checksum(found):
        raise UsageError(f"'{path}' is damaged: it does not match its checksum")
    return found


def _checksum(manifest: dict[str, Any]) -> str:
    return sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:32]
