"""Every state of a disk that a kill can leave, and every state that a second and a third kill can leave then.

A job is watched while it writes: before each call that changes or secures a file, the folder is read as
another process would find it after a kill at that moment (what Python still holds in a buffer is not there,
what was written to a mapped file is). Each state is then put back on disk and the job is run again, which
must end with the same bytes, and whose own states are those after two kills; and so on. States that were met
before need no second run, so that all pairs of kills, and all sequences of any length, take seconds for a
tiny game. A kill loses nothing that was written and not synced, so nothing is synced here;
`test_durability.py` sees to that.
"""

import builtins
import itertools
import mmap
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from errai import array_file
from errai.folder_lock import LOCK_NAME

State = tuple[tuple[str, bytes], ...]
"""Relative path and content of every file; the number of the writing process is taken out of names."""

_PROCESS = re.compile(r"\.\d+\.tmp$")


class InTurn:
    """Stands for a pool of threads: does at once what it is given, so that states do not depend on chance."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(work(*arguments))
        return future

    def shutdown(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> "InTurn":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class KilledStates:
    """The states that kills of a job can leave in a folder.

    Attributes:
        folder: where the job writes.
        finished: the files of an undisturbed run.
        num_steps: durable steps of an undisturbed run.
        states: what a kill at each of them leaves, each state once.
        steps: what a kill at each step of the last run would have left; the last is after its end.
        kill_at: a step at which this very process is killed; None for none.
    """

    def __init__(self, folder: Path, job: Callable[[], object]) -> None:
        """Run the job once, undisturbed.

        Args:
            folder: where it writes; must not exist yet.
            job: to be killed; ends quietly where all is done already.
        """
        self.folder = folder
        self._job = job
        self._processes = itertools.count(100_000)
        self.steps: list[State] = []
        self.kill_at: int | None = None
        self.run()
        self.finished = self.read()
        self.num_steps = len(self.steps)
        self.states = list(dict.fromkeys(self.steps))

    def verify(self, num_kills: int | None = None) -> int:
        """Go on after kills and compare; return how many states were gone on from.

        Args:
            num_kills: kills one after the other; any number of them without it.
        """
        known = dict.fromkeys(self.states)
        level = list(known)
        while level and num_kills != 0:
            following: dict[State, None] = {}
            for state in level:
                self.restore(state)
                self.run()
                assert self.read() == self.finished, self._told(state)
                following |= {new: None for new in self.steps if new not in known}
            known |= following if num_kills != 1 else {}
            level = list(following)
            num_kills = None if num_kills is None else num_kills - 1
        return len(known)

    def read(self) -> dict[str, bytes]:
        """Return the files by relative path, without locks."""
        return dict(self._state())

    def step(self) -> None:
        """Note what a kill would leave now, or be killed."""
        if len(self.steps) == self.kill_at:
            signal.raise_signal(signal.SIGKILL)
        self.steps.append(self._state())

    def run(self) -> None:
        """Run the job, and note its states."""
        self.steps = []
        with self._watched():
            self._job()
        self.step()

    def _state(self) -> State:
        return tuple(
            (_PROCESS.sub(".PROCESS.tmp", str(path.relative_to(self.folder))), path.read_bytes())
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name != LOCK_NAME
        )

    def restore(self, state: State) -> None:
        """Put a state back on disk, as another process has left it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, content in state:
            path = self.folder / name.replace(".PROCESS.tmp", ".99999.tmp")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def _told(self, state: State) -> str:
        now = self.read()
        wrong = [name for name in now.keys() | self.finished if now.get(name) != self.finished.get(name)]
        return f"killed with {sorted(dict(state))}, gone on: {sorted(wrong)} differ"

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Note a state before each durable call of a process of its own."""

        def before(call: Callable[..., Any]) -> Callable[..., Any]:
            def instead(*arguments: Any, **options: Any) -> Any:
                self.step()
                return call(*arguments, **options)

            return instead

        def opened(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if not set(mode) & set("wax+"):
                return builtins.open(path, mode, *arguments, **options)
            self.step()
            return _File(builtins.open(path, mode, *arguments, **options), self.step)

        class Mapped(mmap.mmap):
            flush = before(_nothing)

        process = next(self._processes)
        with ExitStack() as stack:
            for name in ("posix_fallocate", "replace", "unlink", "mkdir", "rmdir"):
                stack.enter_context(mock.patch.object(os, name, before(getattr(os, name))))
            stack.enter_context(mock.patch.object(os, "fsync", before(_nothing)))
            stack.enter_context(mock.patch.object(os, "getpid", return_value=process))
            stack.enter_context(mock.patch.object(array_file, "open", opened, create=True))
            stack.enter_context(mock.patch.object(mmap, "mmap", Mapped))
            yield


def _nothing(*_: object) -> None:
    pass


class _File:
    """A file whose calls are steps."""

    def __init__(self, file: Any, step: Callable[[], None]) -> None:
        self._file, self._step = file, step

    def __getattr__(self, name: str) -> Any:
        if name in ("write", "truncate", "flush"):
            self._step()
        return getattr(self._file, name)

    def __enter__(self) -> "_File":
        self._file.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._file.__exit__(*raised)
