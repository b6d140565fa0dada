"""A stage of a build: arrays that are filled chunk by chunk, and a journal of the chunks that are safe.

The journal and the arrays under way cannot come apart, whatever is killed when:

1. A stage that begins removes an old journal, durably, before it makes the first array.
2. A journal is written only after the numbers that it counts are on disk, and it names its arrays.
3. When all chunks are done, the journal says so before the first array gets its final name, so that what
   is left to do after a kill is to finish the others.
4. The journal goes before the last array gets its name, so that none is left when all have theirs.

Doing a chunk again writes the same numbers, so a stage goes on from where its journal stands.
"""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from errai.array_file import ArrayHeader, PartialArray, checksum, partial_path, sync_folder, write_text

JOURNAL = ".journal"
SECONDS_BETWEEN_NOTES = 60.0


class Stage:
    """Arrays under way.

    Attributes:
        arrays: by the name in their headers, mapped for writing; without those that have their final name.
        chunks_done: chunks that are safe.
    """

    def __init__(
        self, folder: Path, name: str, headers: Sequence[ArrayHeader], num_chunks: int, chunking: str
    ) -> None:
        """Go on with what an earlier attempt has left, or begin.

        Args:
            folder: of the arrays; the caller holds its lock.
            name: of the stage, one for each journal.
            headers: of the arrays that are missing.
            num_chunks: chunks in all.
            chunking: how the work is cut; chunks of another cut do not count.
        """
        self._folder, self._journal = folder, folder / f".{name}{JOURNAL}"
        self._num_chunks = num_chunks
        self._about = {"chunks": num_chunks, "chunking": chunking}
        self._made = {header.name: header.fingerprint for header in headers}
        noted = _read_journal(self._journal)
        resume = noted is not None and self._fits(noted, headers)
        if resume:
            assert noted is not None
            self._made, self.chunks_done = noted["arrays"], int(noted["done"])
        else:
            self.chunks_done = 0
            _remove_journal(self._journal, noted)
        self._partial = {
            header.name: PartialArray(array_path(folder, header.name), header, resume=resume)
            for header in headers
        }
        self.arrays = {one: partial.array for one, partial in self._partial.items()}
        self._noted_at = time.monotonic()

    def count(self) -> None:
        """Count a chunk, the next in order; about once a minute it is noted."""
        self.chunks_done += 1
        if time.monotonic() - self._noted_at >= SECONDS_BETWEEN_NOTES:
            self.note()

    def note(self) -> None:
        """Bring what is done to the disk, and then the journal of it."""
        for one in self._partial.values():
            one.flush()
        noted = {**self._about, "arrays": self._made, "done": self.chunks_done}
        write_text(self._journal, json.dumps({**noted, "checksum": _checksum(noted)}))
        self._noted_at = time.monotonic()

    def finish(self) -> None:
        """Give the arrays their names."""
        assert self.chunks_done == self._num_chunks, "a stage is finished when all chunks are done"
        self.note()
        self.arrays.clear()
        *others, last = self._partial.values()
        for one in others:
            one.finish()
        _remove_journal(self._journal, None)
        last.finish()

    def _fits(self, noted: dict[str, Any], headers: Sequence[ArrayHeader]) -> bool:
        """Return whether a journal is about these arrays, all of which are there as far as it tells."""
        if {key: noted.get(key) for key in self._about} != self._about:
            return False
        # Once all chunks are done, some arrays may have their names already and are not asked for any more.
        is_done = noted["done"] == self._num_chunks
        is_same = self._made.items() <= noted["arrays"].items() if is_done else self._made == noted["arrays"]
        return is_same and all(
            PartialArray.can_resume(array_path(self._folder, one.name), one) for one in headers
        )


def array_path(folder: Path, name: str) -> Path:
    """Return the file of an array."""
    return folder / f"{name}.array"


def _read_journal(journal: Path) -> dict[str, Any] | None:
    """Return what a journal says; None where there is none, or none that can be trusted."""
    try:
        noted: dict[str, Any] = json.loads(journal.read_bytes())
        return noted if noted.pop("checksum") == _checksum(noted) else None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None


def _remove_journal(journal: Path, noted: dict[str, Any] | None) -> None:
    """Remove a journal so that it does not come back, and then the unfinished arrays that it was about."""
    journal.unlink(missing_ok=True)
    sync_folder(journal.parent)
    left: Iterable[str] = noted["arrays"] if noted is not None else ()
    for name in left:
        partial_path(array_path(journal.parent, name)).unlink(missing_ok=True)


def _checksum(noted: dict[str, Any]) -> str:
    return checksum(json.dumps(noted, sort_keys=True).encode())
