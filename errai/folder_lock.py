"""A folder that one process at a time may write: lock first, then look.

The lock is a file `lock` in the folder, locked by the system (filelock's `lock_descriptor`): it goes with the
process that holds it, however that one ends, and it needs no clearing away. Whoever wants to write makes the
folder if there is none, takes the lock, and only then looks at what the folder holds.

Where a command fails before it has written anything, the folder that was made for its lock goes again; so
after locking one looks whether the locked file is still the one in the folder. That is why the file is opened
here and not by `filelock.FileLock`: without waiting, that one cannot tell a file that was removed meanwhile,
which must be tried again, from one that another process holds, which must be told at once; and where the
system has no locks it goes on with a file that would outlive a killed process.
"""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from filelock import lock_descriptor

from errai.array_file import remove_temporaries, sync_folder
from errai.errors import UsageError

LOCK_NAME = "lock"


class FolderLock:
    """The right to write a folder, from the constructor on until `release`."""

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        """Lock a folder, and clear away what killed writers have left in it.

        Args:
            path: the folder.
            create: make it, and all above it, where it is missing.
        """
        self.path = Path(path)
        self._create, self._made = create, False
        self._descriptor = -1
        while self._descriptor < 0:
            if create:
                self._made |= _make_folder(self.path)
            self._descriptor = self._try()
        remove_temporaries(self.path)

    def _try(self) -> int:
        """Return the lock file's descriptor, locked; -1 where another process has removed it meanwhile."""
        try:
            descriptor = os.open(self.path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            if not self._create:
                raise
            return -1
        is_ours = False
        try:
            if not lock_descriptor(descriptor, blocking=False):
                raise UsageError(
                    f"'{self.path}' is being written by another process: wait for it, or choose another "
                    "folder"
                )
            with suppress(FileNotFoundError):
                is_ours = os.path.samestat(os.fstat(descriptor), os.stat(self.path / LOCK_NAME))
        finally:
            if not is_ours:
                os.close(descriptor)
        return descriptor if is_ours else -1

    @property
    def is_held(self) -> bool:
        """Whether the lock has not been released yet."""
        return self._descriptor >= 0

    def release(self) -> None:
        """Let another process write."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def abandon(self) -> None:
        """Let another process write, and remove a folder that was made for the lock and holds nothing."""
        if self.is_held and self._made:
            with suppress(OSError):  # another process may have come meanwhile
                if [one.name for one in self.path.iterdir()] == [LOCK_NAME]:
                    (self.path / LOCK_NAME).unlink()
                    self.path.rmdir()
        self.release()

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.abandon() if kind is not None else self.release()

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.release()


def _make_folder(path: Path, attempts: int = 10) -> bool:
    """Make a folder and all above it, so that they last; returns whether it was missing.

    Args:
        path: the folder.
        attempts: how often to try: others may remove the one above meanwhile, and there are places, such as
            /proc, that take no folders and say no more than that there is none.
    """
    try:
        path.mkdir()
    except FileExistsError:
        return False
    except FileNotFoundError:
        if attempts == 1:
            raise
        _make_folder(path.parent)
        return _make_folder(path, attempts - 1)
    sync_folder(path.parent)
    return True
