"""Durable steps that fail: each call that brings something to disk is counted, and one of them goes wrong."""

import builtins
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from typing import Any
from unittest import mock

from errai import array_file


class Steps:
    """What was brought to disk, step by step, such as `replace checkpoint.json`.

    Attributes:
        done: the steps so far. A temporary file is told as what it becomes with a ~, a folder as `/`.
        fail_at: the number of the step that fails before it does anything; None for none.
        kill: whether the process is killed there (True) or an error of a full disk is raised.
    """

    def __init__(self, fail_at: int | None = None, kill: bool = False) -> None:
        self.done: list[str] = []
        self.fail_at = fail_at
        self.kill = kill

    def step(self, what: str, path: str) -> None:
        if len(self.done) == self.fail_at:
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            self.done.append("failed")
            raise OSError(ENOSPC, os.strerror(ENOSPC))
        self.done.append(f"{what} {_plain(path)}")


def _plain(path: str) -> str:
    if os.path.isdir(path):
        return "/"
    name = Path(path).name
    return f"~{name[1:].rsplit('.', 2)[0]}" if name.endswith(".tmp") else name


def _path_of(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")


class _File:
    """A file whose writes are steps."""

    def __init__(self, file: Any, steps: Steps) -> None:
        self._file, self._steps = file, steps

    def write(self, content: Any) -> int:
        self._steps.step("write", self._file.name)
        return int(self._file.write(content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_File":
        self._file.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._file.__exit__(*raised)


@contextmanager
def watched(steps: Steps) -> Iterator[Steps]:
    """Count, and make fail, every fallocate, write, fsync, replace and unlink."""

    def before(what: str, call: Callable[..., Any], path: Callable[..., str]) -> Callable[..., Any]:
        def instead(*arguments: Any, **options: Any) -> Any:
            steps.step(what, path(*arguments))
            return call(*arguments, **options)

        return instead

    def opened(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        file = builtins.open(path, mode, *arguments, **options)  # noqa: SIM115 - the caller closes it
        return _File(file, steps) if set(mode) & set("wax+") else file

    with (
        mock.patch.object(os, "fsync", before("fsync", os.fsync, _path_of)),
        mock.patch.object(
            os, "posix_fallocate", before("reserve", os.posix_fallocate, lambda fd, *_: _path_of(fd))
        ),
        mock.patch.object(os, "replace", before("replace", os.replace, lambda _, target: str(target))),
        mock.patch.object(os, "unlink", before("unlink", os.unlink, lambda path, **_: str(path))),
        mock.patch.object(array_file, "open", opened, create=True),
    ):
        yield steps
