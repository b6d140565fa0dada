"""A checkpoint's writer killed before each durable step: python tests/killed_checkpoints.py FOLDER.

The process has one thread and forks a child for each step, which is killed there. Prints for each step the
steps that were done before, the files that are left, and the generation that is read: lines of JSON.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from faults import Steps, watched

from errai.folder_lock import FolderLock
from errai.tables.checkpoint import CheckpointWriter, read_arrays

NAMES = ("changed", "steady", "second")


def arrays(value: int, names: tuple[str, ...] = NAMES) -> dict[str, tuple[np.ndarray, str]]:
    return {name: (np.full(5, value, dtype=np.int32), "chips") for name in names}


@contextmanager
def opened(folder: Path) -> Iterator[CheckpointWriter]:
    with FolderLock(folder) as lock:
        yield CheckpointWriter(lock, "mark")


def write_second(folder: Path, steps: Steps) -> None:
    with opened(folder) as writer, watched(steps):
        writer.write({"at": 1}, arrays(1, ("changed", "second")), unchanged=["steady"])


def left(folder: Path) -> list[str]:
    return sorted(
        f"~{path.name[1:].rsplit('.', 2)[0]}" if path.name.endswith(".tmp") else path.name
        for path in folder.iterdir()
        if path.name != "lock"
    )


def main() -> None:
    home = Path(sys.argv[1])
    step = 0
    while True:
        folder = home / str(step)
        folder.mkdir()
        with opened(folder) as first:
            first.write({"at": 0}, arrays(0))
        child = os.fork()
        if child == 0:
            write_second(folder, Steps(step, kill=True))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        found, values = read_arrays(folder, list(NAMES), "mark")
        after_kill = left(folder)
        write_second(folder, Steps())
        print(
            json.dumps(
                {
                    "killed": os.WIFSIGNALED(status),
                    "left": after_kill,
                    "state": found.state["at"],
                    "values": [int(array[0]) for array in values],
                    "after_next": left(folder),
                }
            )
        )
        shutil.rmtree(folder)
        if not os.WIFSIGNALED(status):
            return
        step += 1


if __name__ == "__main__":
    main()
