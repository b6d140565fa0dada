"""Checkpoints: whole or not there, whichever durable step fails; only what changed is written."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from faults import Steps, watched
from killed_checkpoints import NAMES, arrays, left, opened

from errai.array_file import read_array, read_header
from errai.errors import UsageError
from errai.tables import checkpoint
from errai.tables.checkpoint import CheckpointWriter, read_arrays, read_checkpoint

FIRST = ["changed-000000.array", "checkpoint.json", "second-000000.array", "steady-000000.array"]
SECOND = ["changed-000001.array", "checkpoint.json", "second-000001.array", "steady-000000.array"]

# Writing 'changed' and 'second' anew and leaving 'steady' alone. An array is safe, and its name too, before
# the next begins; the checkpoint's name is safe before anything that it replaced is deleted.
STEPS = [
    "reserve ~changed-000001.array",
    "write ~changed-000001.array",
    "write ~changed-000001.array",
    "fsync ~changed-000001.array",
    "replace changed-000001.array",
    "fsync /",
    "reserve ~second-000001.array",
    "write ~second-000001.array",
    "write ~second-000001.array",
    "fsync ~second-000001.array",
    "replace second-000001.array",
    "fsync /",
    "write ~checkpoint.json",
    "fsync ~checkpoint.json",
    "replace checkpoint.json",
    "fsync /",
    "fsync /",
    "unlink changed-000000.array",
    "unlink second-000000.array",
]
COMMIT = STEPS.index("replace checkpoint.json")


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[CheckpointWriter]:
    with opened(tmp_path) as writer:
        yield writer


@pytest.fixture
def writer(fresh: CheckpointWriter) -> CheckpointWriter:
    fresh.write({"at": 0}, arrays(0))
    return fresh


def read(folder: Path) -> tuple[int, list[int]]:
    found, tables = read_arrays(folder, list(NAMES), "mark")
    return found.state["at"], [int(table[0]) for table in tables]


def write_second(writer: CheckpointWriter) -> None:
    writer.write({"at": 1}, arrays(1, ("changed", "second")), unchanged=["steady"])


def test_order_of_durable_steps(writer: CheckpointWriter) -> None:
    with watched(Steps()) as steps:
        write_second(writer)
    # Files are deleted in the order of the folder.
    assert steps.done[:-2] == STEPS[:-2]
    assert sorted(steps.done[-2:]) == STEPS[-2:]
    assert left(writer.folder) == SECOND
    assert read(writer.folder) == (1, [1, 0, 1])


def test_unchanged_arrays_keep_their_files(writer: CheckpointWriter) -> None:
    steady = writer.folder / "steady-000000.array"
    before = steady.stat()
    named = read_checkpoint(writer.folder).arrays["steady"]
    write_second(writer)
    writer.write({"at": 2}, arrays(2, ("changed",)), unchanged=("steady", "second"))
    after = steady.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    found = read_checkpoint(writer.folder)
    assert found.generation == 2
    assert found.arrays["steady"] == named
    assert {name: file for name, (file, _) in found.arrays.items()} == {
        "changed": "changed-000002.array",
        "second": "second-000001.array",
        "steady": "steady-000000.array",
    }
    assert left(writer.folder) == sorted(["checkpoint.json", *(file for file, _ in found.arrays.values())])
    assert read(writer.folder) == (2, [2, 0, 1])


def test_an_array_that_is_neither_written_nor_unchanged_is_gone(writer: CheckpointWriter) -> None:
    writer.write({"at": 1}, arrays(1, ("changed",)), unchanged=["steady"])
    assert sorted(read_checkpoint(writer.folder).arrays) == ["changed", "steady"]
    assert left(writer.folder) == ["changed-000001.array", "checkpoint.json", "steady-000000.array"]


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_an_error_at_any_step_leaves_one_checkpoint_and_nothing_else(
    writer: CheckpointWriter, step: int
) -> None:
    folder = writer.folder
    with watched(Steps(step)) as steps, pytest.raises(OSError, match="No space left"):
        write_second(writer)
    done = steps.done[: steps.done.index("failed")]
    assert len(done) == step
    if step <= COMMIT:
        # The failed attempt is taken back: its temporary file and the arrays that it had finished.
        assert left(folder) == FIRST
        assert read(folder) == (0, [0, 0, 0])
    else:
        deleted = {what.removeprefix("unlink ") for what in done if what.startswith("unlink")}
        assert left(folder) == sorted({*FIRST, *SECOND} - deleted)
        assert read(folder) == (1, [1, 0, 1])
    # The same writer goes on as if nothing had been.
    writer.write({"at": 2}, arrays(2, ("changed",)), unchanged=["steady", "second"])
    generation = 1 if step <= COMMIT else 2
    assert read_checkpoint(folder).generation == generation
    assert read(folder) == (2, [2, 0, 0 if step <= COMMIT else 1])
    assert len(left(folder)) == 4


def test_an_error_before_the_first_checkpoint_leaves_nothing(fresh: CheckpointWriter) -> None:
    for step in range(3 * 6 + 3):
        with watched(Steps(step)), pytest.raises(OSError, match="No space left"):
            fresh.write({"at": 0}, arrays(0))
        assert left(fresh.folder) == []
    fresh.write({"at": 0}, arrays(0))
    assert left(fresh.folder) == FIRST


def test_a_kill_at_any_step_leaves_one_checkpoint(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "killed_checkpoints.py", tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert [end["killed"] for end in ends] == [True] * len(STEPS) + [False]
    for step, end in enumerate(ends):
        files = set(FIRST)
        for what, name in (line.split() for line in STEPS[:step]):
            if what == "reserve" or (what == "write" and name == "~checkpoint.json"):
                files.add(name)
            elif what == "replace":
                files = files - {f"~{name}"} | {name}
        deleted = max(0, step - STEPS.index("unlink changed-000000.array"))
        if step in (
            STEPS.index("reserve ~changed-000001.array"),
            STEPS.index("reserve ~second-000001.array"),
        ):
            files.add(STEPS[step].split()[1])  # it was opened, and not yet reserved
        if step == STEPS.index("write ~checkpoint.json"):
            files.add("~checkpoint.json")
        assert set(end["left"]) <= files
        assert len(end["left"]) == len(files) - deleted
        if step <= COMMIT:
            assert (end["state"], end["values"]) == (0, [0, 0, 0])
        else:
            assert (end["state"], end["values"]) == (1, [1, 0, 1])
        generation = 1 if step <= COMMIT else 2
        assert end["after_next"] == [name.replace("000001", f"{generation:06d}") for name in SECOND]


def test_a_generation_that_is_replaced_while_it_is_read(
    writer: CheckpointWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first array was read when the writer replaced all: the reader starts again."""
    real = read_array
    pending = [1]

    def slow_read(*arguments: object, **options: object) -> object:
        result = real(*arguments, **options)  # type: ignore[arg-type]
        if pending:
            writer.write({"at": pending[0]}, arrays(pending.pop()))
        return result

    monkeypatch.setattr(checkpoint, "read_array", slow_read)
    assert read(writer.folder) == (1, [1, 1, 1])


def test_readers_beside_a_busy_writer_see_whole_generations(writer: CheckpointWriter) -> None:
    def write_on() -> None:
        for value in range(1, 60):
            writer.write({"at": value}, arrays(value))

    thread = Thread(target=write_on)
    thread.start()
    seen = []
    while thread.is_alive():
        at, values = read(writer.folder)
        assert values == [at] * 3
        seen.append(at)
    thread.join()
    assert seen == sorted(seen)
    assert read(writer.folder) == (59, [59] * 3)


def test_damage_is_told_even_where_a_reader_would_try_again(writer: CheckpointWriter) -> None:
    (writer.folder / "second-000000.array").unlink()
    with pytest.raises(UsageError, match=r"'.*second-000000.array' cannot be read"):
        read(writer.folder)


def test_tables_of_several_groups_are_read_as_one(writer: CheckpointWriter) -> None:
    table = np.arange(12, dtype=np.float32)
    groups = {f"regrets-0.{number:04d}": table[3 * number : 3 * number + 3] for number in (2, 0, 3, 1)}
    groups["regrets-00.0000"] = table[:1]
    writer.write({"at": 1}, {name: (group, "chips") for name, group in groups.items()})
    _, (found,) = read_arrays(writer.folder, ["regrets-0"], "mark")
    assert found.dtype == np.float32
    assert found.tolist() == table.tolist()
    file = writer.folder / "regrets-0.0002-000001.array"
    assert read_header(file).name == "regrets-0.0002"
    damaged = bytearray(file.read_bytes())
    damaged[-1] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(UsageError, match=r"'.*regrets-0.0002-000001.array' is damaged"):
        read_arrays(writer.folder, ["regrets-0"], "mark")
    with pytest.raises(UsageError, match="names no array 'regrets'"):
        read_arrays(writer.folder, ["regrets"], "mark")


def test_files_of_an_earlier_write_are_not_mixed_in(writer: CheckpointWriter) -> None:
    names = ("changed", "steady.0000", "steady.0001", "second")
    for at in (1, 2):
        before = {name: writer.folder / f"{name}-000001.array" for name in names}
        contents = {name: path.read_bytes() for name, path in before.items() if path.exists()}
        writer.write({"at": at}, arrays(at, names))
    assert read(writer.folder) == (2, [2, 2, 2])
    for name in names:
        path = writer.folder / f"{name}-000002.array"
        content = path.read_bytes()
        path.write_bytes(contents[name])
        with pytest.raises(UsageError, match=rf"'.*{name}-000002.array' is not the file that the checkpoint"):
            read(writer.folder)
        path.write_bytes(content)


def test_what_a_killed_writer_left_is_gone_before_anything_is_written(writer: CheckpointWriter) -> None:
    """Its room may be needed, and no later failure may keep it."""
    (writer.folder / "changed-000001.array").write_bytes(b"left")
    (writer.folder / "other-000001.array").write_bytes(b"left")
    with watched(Steps()) as steps:
        write_second(writer)
    assert steps.done[0] == "fsync /"
    assert sorted(steps.done[1:3]) == ["unlink changed-000001.array", "unlink other-000001.array"]
    assert steps.done[3:-2] == STEPS[:-2]
    assert left(writer.folder) == SECOND


def test_what_cannot_stay_unchanged_is_told(writer: CheckpointWriter) -> None:
    before = left(writer.folder)
    with pytest.raises(
        UsageError, match=r"'other' cannot stay unchanged in '.*': the last checkpoint has none"
    ):
        writer.write({"at": 1}, {}, unchanged=["steady", "other"])
    with pytest.raises(UsageError, match=r"'changed' cannot stay unchanged in '.*': it is to be written"):
        writer.write({"at": 1}, arrays(1), unchanged=["changed"])
    assert left(writer.folder) == before
    assert read(writer.folder) == (0, [0, 0, 0])


def test_nothing_can_stay_unchanged_before_the_first_checkpoint(fresh: CheckpointWriter) -> None:
    with pytest.raises(UsageError, match="'steady' cannot stay unchanged"):
        fresh.write({"at": 0}, {}, unchanged=["steady"])
