"""What must be on disk before what: the calls in their order, and what is left when one of them fails."""

import errno
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errai
from errai import array_file
from errai.array_file import (
    ArrayHeader,
    PartialArray,
    is_array_of,
    read_array,
    remove_temporaries,
    write_array,
    write_text,
)
from errai.errors import UsageError
from errai.folder_lock import FolderLock
from errai.runs import job as job_module
from errai.runs.folder import RunFolder
from errai.runs.job import prepare, prepare_resumed
from errai.runs.run import configure
from errai.solvers.solve import StopRule
from errai.tables import checkpoint, groups
from errai.tables.checkpoint import CheckpointWriter, read_arrays, read_checkpoint, verify_arrays

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
KUHN = errai.load_game("kuhn")


class Spy:
    """Notes the calls that make files last, in their order; can fail one of them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.synced: dict[str, bytes] = {}
        self.fail_at = ""
        for name in ("fsync", "replace", "unlink", "posix_fallocate"):
            patch.setattr(os, name, getattr(self, f"_{name}")(getattr(os, name)))

    def _note(self, call: str) -> None:
        self.calls.append(re.sub(r"\.\d+\.tmp", ".tmp", call))
        if self.fail_at and self.calls[-1] == self.fail_at:
            raise FULL

    def _fsync(self, real: Any) -> Any:
        def fsync(descriptor: int) -> None:
            path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
            self._note(f"sync {path.name}")
            if path.is_file():
                self.synced[path.name] = path.read_bytes()
            real(descriptor)

        return fsync

    def _replace(self, real: Any) -> Any:
        def replace(old: Any, new: Any) -> None:
            assert self.synced[Path(old).name] == Path(old).read_bytes(), "renamed before it was on disk"
            self._note(f"rename {Path(old).name} {Path(new).name}")
            real(old, new)

        return replace

    def _unlink(self, real: Any) -> Any:
        def unlink(path: Any, **more: Any) -> None:
            real(path, **more)
            self._note(f"remove {Path(path).name}")

        return unlink

    def _posix_fallocate(self, real: Any) -> Any:
        def posix_fallocate(descriptor: int, *more: int) -> None:
            self._note(f"reserve {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name}")
            real(descriptor, *more)

        return posix_fallocate


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    errai.solve(KUHN, iterations=1)  # kernels that are kept make files, too
    return Spy(monkeypatch)


def test_a_file_is_synced_then_renamed_then_its_folder_is_synced(tmp_path: Path, spy: Spy) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_text(folder / "a", "text")
    assert spy.calls == ["sync .a.tmp", "rename .a.tmp a", "sync folder"]
    spy.calls.clear()
    write_array(folder / "b", np.arange(1000), name="b", units="chips")
    assert spy.calls == ["reserve .b.tmp", "sync .b.tmp", "rename .b.tmp b", "sync folder"]


def header(size: int, dtype: str = "<f8") -> ArrayHeader:
    return ArrayHeader("a", (size,), dtype, "chips", "mark")


def test_a_partial_array_is_synced_then_renamed_then_its_folder_is_synced(tmp_path: Path, spy: Spy) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    partial = PartialArray(folder / "a", header(3))
    partial.array[:] = [1, 2, 3]
    partial.finish()
    assert spy.calls == ["reserve .a.partial", "sync .a.partial", "rename .a.partial a", "sync folder"]
    found, array = read_array(folder / "a", fingerprint="mark")
    assert (found, array.tolist()) == (header(3), [1, 2, 3])


def test_a_partial_array_goes_on_and_one_of_another_size_does_not(tmp_path: Path) -> None:
    assert not PartialArray.can_resume(tmp_path / "a", header(3))
    first = PartialArray(tmp_path / "a", header(3))
    first.array[:] = [1, 2, 3]
    first.flush()
    assert PartialArray.can_resume(tmp_path / "a", header(3))
    again, fresh_header = PartialArray(tmp_path / "a", header(3), resume=True), header(3)
    assert again.array.tolist() == [1, 2, 3]
    for other in (header(4), header(2), header(3, "<f4"), header(3, "<f4")):
        assert PartialArray.can_resume(tmp_path / "a", other) == (other == fresh_header)
        fresh, fresh_header = PartialArray(tmp_path / "a", other), other
        assert fresh.array.tolist() == [0] * other.shape[0]
        fresh.array[:] = 7
    fresh.finish()
    assert read_array(tmp_path / "a")[1].tolist() == [7, 7, 7]


def test_a_partial_array_that_finds_no_room_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise FULL

    monkeypatch.setattr(array_file, "_reserve", fail)
    with pytest.raises(OSError, match=r"No space left on device: '.*/a'"):
        PartialArray(tmp_path / "a", header(3))
    assert not list(tmp_path.iterdir())


def test_only_temporary_files_are_removed(tmp_path: Path) -> None:
    for name in (".a.4711.tmp", ".a.partial", ".b.partial", "b", ".a.tmp", "c.4711.tmp"):
        (tmp_path / name).touch()
    remove_temporaries(tmp_path)
    left = [".a.partial", ".a.tmp", ".b.partial", "b", "c.4711.tmp"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


# Checkpoints


def arrays(value: int, *names: str) -> dict[str, tuple[np.ndarray, str]]:
    return {name: (np.full(5, value), "chips") for name in names or ("x", "y")}


def test_a_checkpoint_names_arrays_that_are_safe_and_old_ones_go_last(tmp_path: Path, spy: Spy) -> None:
    folder = tmp_path / "folder"
    with FolderLock(folder, create=True) as lock:
        writer = CheckpointWriter(lock, "mark")
        writer.write({"n": 1}, arrays(1))
        spy.calls.clear()
        writer.write({"n": 2}, arrays(2))
    new = [f"{name}-000001.array" for name in "xy"]
    removed = [call for call in spy.calls if call.startswith("remove")]
    assert sorted(removed) == ["remove x-000000.array", "remove y-000000.array"]
    assert spy.calls == [
        *(f"reserve .{new[0]}.tmp", f"sync .{new[0]}.tmp", f"rename .{new[0]}.tmp {new[0]}", "sync folder"),
        *(f"reserve .{new[1]}.tmp", f"sync .{new[1]}.tmp", f"rename .{new[1]}.tmp {new[1]}", "sync folder"),
        "sync .checkpoint.json.tmp",
        "rename .checkpoint.json.tmp checkpoint.json",
        "sync folder",
        "sync folder",
        *removed,
    ]


@pytest.mark.parametrize(
    "step",
    [
        "reserve .y-000001.array.tmp",
        "sync .y-000001.array.tmp",
        "rename .y-000001.array.tmp y-000001.array",
        "sync .checkpoint.json.tmp",
        "rename .checkpoint.json.tmp checkpoint.json",
    ],
)
def test_a_checkpoint_that_fails_gives_back_the_disk(tmp_path: Path, spy: Spy, step: str) -> None:
    folder = tmp_path / "folder"
    with FolderLock(folder, create=True) as lock:
        writer = CheckpointWriter(lock, "mark")
        writer.write({"n": 1}, arrays(1))
        before = sorted(path.name for path in folder.iterdir())
        spy.fail_at = step
        with pytest.raises(OSError, match="No space left"):
            writer.write({"n": 2}, arrays(2))
        spy.fail_at = ""
        assert sorted(path.name for path in folder.iterdir()) == before
        found, (x,) = read_arrays(folder, ["x"], "mark")
        assert (found.state, x.tolist()) == ({"n": 1}, [1] * 5)
        writer.write({"n": 3}, arrays(3))
        found, (x,) = read_arrays(folder, ["x"], "mark")
        assert (found.generation, found.state, x.tolist()) == (1, {"n": 3}, [3] * 5)
        assert len(list(folder.iterdir())) == len(before)


def test_a_checkpoint_that_came_about_keeps_its_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the very last sync fails, the new checkpoint is on disk and the old arrays are not touched."""
    with FolderLock(tmp_path / "folder", create=True) as lock:
        writer = CheckpointWriter(lock, "mark")
        writer.write({"n": 1}, arrays(1))

        def write_but_fail(path: Path, text: str) -> None:
            write_text(path, text)
            raise FULL

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "write_text", write_but_fail)
            with pytest.raises(OSError, match="No space left"):
                writer.write({"n": 2}, arrays(2))
        found, (x,) = read_arrays(lock.path, ["x"], "mark")
        assert (found.generation, found.state, x.tolist()) == (1, {"n": 2}, [2] * 5)
        assert len(list(lock.path.glob("*.array"))) == 4
        writer.write({"n": 3}, arrays(3))
        assert read_checkpoint(lock.path).generation == 2
        assert len(list(lock.path.glob("*.array"))) == 2


def test_who_reads_while_a_checkpoint_is_replaced_gets_the_new_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FolderLock(tmp_path / "folder", create=True) as lock:
        writer = CheckpointWriter(lock, "mark")
        writer.write({"n": 1}, arrays(1))
        real, replaced = checkpoint._read_one, 0

        def replace_first(folder: Path, found: checkpoint.Checkpoint, name: str) -> Any:
            nonlocal replaced
            if name == "y" and replaced < 2:
                replaced += 1
                writer.write({"n": 1 + replaced}, arrays(1 + replaced))
            return real(folder, found, name)

        monkeypatch.setattr(checkpoint, "_read_one", replace_first)
        found, (x, y) = read_arrays(lock.path, ["x", "y"], "mark")
        assert (found.state, x.tolist(), y.tolist()) == ({"n": 3}, [3] * 5, [3] * 5)


def test_damage_is_no_reason_to_read_again(tmp_path: Path) -> None:
    with FolderLock(tmp_path / "folder", create=True) as lock:
        CheckpointWriter(lock, "mark").write({}, arrays(1))
    (lock.path / "y-000000.array").write_bytes(b"")
    with pytest.raises(UsageError, match=r"y-000000.array"):
        read_arrays(lock.path, ["x", "y"], "mark")
    read_arrays(lock.path, ["x"], "mark")
    for fully in (True, False):
        with pytest.raises(UsageError, match=r"y-000000.array"):
            verify_arrays(lock.path, "mark", fully=fully)


def test_whoever_writes_holds_the_lock(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "folder", create=True)
    writer = CheckpointWriter(lock, "mark")
    lock.release()
    with pytest.raises(AssertionError, match="holds its lock"):
        writer.write({}, arrays(1))


# Runs


@pytest.fixture
def run(tmp_path: Path) -> Path:
    errai.solve(KUHN, iterations=20, out=tmp_path / "run")
    return tmp_path / "run"


def test_measurements_are_on_disk_before_the_checkpoint_that_counts_them(tmp_path: Path, spy: Spy) -> None:
    errai.solve(KUHN, iterations=20, out=tmp_path / "run")
    last = len(spy.calls) - spy.calls[::-1].index("rename .checkpoint.json.tmp checkpoint.json")
    synced = max(place for place, call in enumerate(spy.calls[:last]) if call == "sync progress.jsonl")
    assert spy.synced["progress.jsonl"] == (tmp_path / "run" / "progress.jsonl").read_bytes()
    assert len(spy.synced["progress.jsonl"].splitlines()) == 13
    assert synced < last


def test_a_new_run_is_only_a_run_when_all_of_it_is_there(tmp_path: Path, spy: Spy) -> None:
    prepare(configure(KUHN), StopRule(10), out=tmp_path / "above" / "run").close()
    renamed = [call.split()[-1] for call in spy.calls if call.startswith("rename")]
    assert renamed == ["run.toml", "fingerprint", "progress.jsonl", "checkpoint.json"]
    # The folders are synced into those that hold them before anything is put there.
    assert spy.calls[:2] == [f"sync {tmp_path.name}", "sync above"]


@pytest.mark.parametrize("step", ["run.toml", "fingerprint", "progress.jsonl", "checkpoint.json"])
def test_a_beginning_that_fails_can_be_begun_again(tmp_path: Path, spy: Spy, step: str) -> None:
    spy.fail_at = f"sync .{step}.tmp"
    with pytest.raises(OSError, match="No space left"):
        errai.solve(KUHN, iterations=20, out=tmp_path / "run")
    spy.fail_at = ""
    with pytest.raises(UsageError, match=r"is not a run|was not found"):
        errai.load_strategy(tmp_path / "run")
    assert errai.solve(KUHN, "cfr", 30, out=tmp_path / "run").iterations == 30
    assert errai.load_strategy(tmp_path / "run").game == KUHN


def test_a_full_disk_in_the_middle_leaves_the_last_checkpoint(run: Path, spy: Spy) -> None:
    before = sorted(path.name for path in run.iterdir())
    job = prepare_resumed(run, StopRule(40))
    spy.fail_at = "reserve .averages-0-000002.array.tmp"
    with pytest.raises(OSError, match=r"No space left on device: '.*averages-0-000002.array'"):
        job.run()
    spy.fail_at = ""
    assert sorted(path.name for path in run.iterdir()) == before
    RunFolder(run).verify()
    straight = errai.solve(KUHN, iterations=40)
    resumed = prepare_resumed(run, StopRule(40)).run()
    for table, expected in zip(resumed.strategy.tables, straight.strategy.tables, strict=True):
        assert np.array_equal(table, expected)


def test_too_little_disk_is_refused_before_anything_is_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new run needs room for two checkpoints, one that goes on for the second; each has 4 tables of 12."""
    tables = 4 * 12 * 8
    monkeypatch.setattr(job_module, "free_disk", lambda _: 2 * tables - 1)
    with pytest.raises(
        UsageError, match=f"need {2 * tables} bytes of disk, and {2 * tables - 1} bytes are free"
    ):
        errai.solve(KUHN, iterations=20, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(job_module, "free_disk", lambda _: 2 * tables)
    errai.solve(KUHN, iterations=20, out=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    monkeypatch.setattr(job_module, "free_disk", lambda _: tables - 1)
    for go_on in (
        lambda: prepare_resumed(tmp_path / "run", StopRule(40)),
        lambda: errai.solve(KUHN, iterations=40, out=tmp_path / "run", resume=True),
    ):
        with pytest.raises(UsageError, match=f"need {tables} bytes of disk, and {tables - 1} bytes are free"):
            go_on()
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    monkeypatch.setattr(job_module, "free_disk", lambda _: tables)
    assert prepare_resumed(tmp_path / "run", StopRule(40)).run().iterations == 40


def test_damaged_regrets_are_told(run: Path, run_errai) -> None:
    """Numbers by `verify`, `errai exploit` and resuming; a header or a size by whoever opens the run."""
    RunFolder(run).verify()
    file = run / read_checkpoint(run).arrays["regrets-1"][0]
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    told = rf"{file.name}' is damaged: bytes 0 to 96 of its array do not match"
    for read in (
        RunFolder(run).verify,
        lambda: prepare_resumed(run),
        lambda: errai.load_strategy(run, verify=True),
    ):
        with pytest.raises(UsageError, match=told):
            read()
    errai.load_strategy(run)
    status, _, err = run_errai("exploit", str(run))
    assert status == 2
    assert re.search(told, err)
    for damaged in (content[:-1], content[:500] + b"?" + content[501:]):
        file.write_bytes(damaged)
        with pytest.raises(UsageError, match=re.escape(file.name)):
            errai.load_strategy(run)
        assert run_errai("show", str(run))[0] == 2
    file.write_bytes(content)
    assert run_errai("exploit", str(run))[0] == 0


def test_damaged_buckets_are_told_by_verify(tmp_path: Path) -> None:
    from errai.abstraction.named_groups import leduc_abstraction

    errai.solve("leduc", iterations=5, abstraction=leduc_abstraction("[JQ.K]"), out=tmp_path / "run")
    RunFolder(tmp_path / "run").verify()
    file = tmp_path / "run" / "buckets"
    content = file.read_bytes()
    file.write_bytes(content[:-4] + bytes([content[-4] ^ 1]) + content[-3:])
    with pytest.raises(UsageError, match="buckets' is damaged"):
        RunFolder(tmp_path / "run").verify()


def save_after_17(folder: Path) -> None:
    """Leave a run that was measured after 10 iterations and saved after 17."""
    errai.solve(KUHN, iterations=10, measure_every=10, out=folder)
    job = prepare_resumed(folder, StopRule(40))
    job.solver.run(7)
    job.save()
    job.close()


def test_a_run_goes_on_past_its_last_measurement(tmp_path: Path) -> None:
    """It measures after 20 iterations, as if nothing had been."""
    straight = errai.solve(KUHN, iterations=40, measure_every=10)
    save_after_17(tmp_path / "run")
    job = prepare_resumed(tmp_path / "run")
    assert (job.solver.iteration, job.measure_every, job.stop) == (17, 10, StopRule(40))
    assert [one.iteration for one in job.earlier] == [10]
    assert job.solver.seconds == RunFolder(tmp_path / "run").state()["seconds"] > 0
    resumed = job.run()
    assert [(one.iteration, one.exploitability) for one in resumed.measurements] == [
        (one.iteration, one.exploitability) for one in straight.measurements
    ]
    for table, expected in zip(resumed.strategy.tables, straight.strategy.tables, strict=True):
        assert np.array_equal(table, expected)


@pytest.mark.parametrize("end", [10, 15, 17])
def test_a_run_beyond_its_new_end_is_measured_where_it_is(tmp_path: Path, end: int) -> None:
    """Told to stop where it has been already: there is one more measurement, at 17."""
    save_after_17(tmp_path / "run")
    again = prepare_resumed(tmp_path / "run", StopRule(end)).run()
    assert [one.iteration for one in again.measurements] == [10, 17]
    straight = errai.solve(KUHN, iterations=17)
    assert again.measurements[-1].exploitability == straight.measurements[-1].exploitability
    # It is done now, and going on to the same end does nothing.
    before = read_checkpoint(tmp_path / "run")
    assert prepare_resumed(tmp_path / "run").run().iterations == 17
    assert read_checkpoint(tmp_path / "run") == before


def test_measurements_after_the_last_checkpoint_are_dropped(run: Path) -> None:
    kept = (run / "progress.jsonl").read_bytes()
    (run / "progress.jsonl").write_bytes(kept + kept[:50])
    assert len(RunFolder(run).measurements()) == 13
    job = prepare_resumed(run, StopRule(40))
    assert (run / "progress.jsonl").read_bytes() == kept
    resumed = job.run()
    assert len((run / "progress.jsonl").read_text().splitlines()) == len(resumed.measurements)
    assert RunFolder(run).measurements() == list(resumed.measurements)


# Only what changed

TABLES = ("regrets", "averages", "predictions")


def test_what_did_not_change_keeps_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Averages before the delay is over: the three groups of each table keep their first files."""
    monkeypatch.setattr(groups, "GROUP_BYTES", 1024)
    configured = configure(errai.load_game("leduc"), "pcfr+", delay=4)
    job = prepare(configured, StopRule(8), out=tmp_path / "run")
    generations = {}
    for iteration in (2, 4, 6):
        job.solver.run(2)
        job.save()
        found = read_checkpoint(tmp_path / "run")
        generations[iteration] = {name: int(file[-12:-6]) for name, (file, _) in found.arrays.items()}
        assert sorted(path.name for path in (tmp_path / "run").glob("*.array")) == sorted(
            file for file, _ in found.arrays.values()
        )
    job.close()
    names = [f"{table}-{player}.000{n}" for table in TABLES for player in (0, 1) for n in range(3)]
    assert sorted(generations[2]) == sorted(names)
    assert set(generations[2].values()) == {1}
    for iteration, generation in ((4, 2), (6, 3)):
        for name in names:
            is_kept = iteration == 4 and name.startswith("averages")
            assert generations[iteration][name] == (1 if is_kept else generation)
    RunFolder(tmp_path / "run").verify()
    resumed = prepare_resumed(tmp_path / "run")
    for table in TABLES:
        for one, other in zip(resumed.solver.tables[table], job.solver.tables[table], strict=True):
            assert np.array_equal(one, other)
    resumed.close()


def test_groups_of_another_size_are_read_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leduc = errai.load_game("leduc")
    for iterations, size, num_files in ((10, 1024, 12), (20, 2048, 8), (30, 1 << 26, 4)):
        monkeypatch.setattr(groups, "GROUP_BYTES", size)
        run = errai.solve(leduc, iterations=iterations, out=tmp_path / "run", resume=True)
        assert len(list((tmp_path / "run").glob("*.array"))) == num_files
    for one, other in zip(
        run.strategy.tables, errai.solve(leduc, iterations=30).strategy.tables, strict=True
    ):
        assert np.array_equal(one, other)


def test_a_file_is_that_of_the_same_numbers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "BLOCK_BYTES", 64)
    array = np.arange(100, dtype=np.float64)
    mark = write_array(tmp_path / "a", array, name="a", units="chips")
    assert is_array_of(tmp_path / "a", array.copy(), mark)
    other: np.ndarray
    for place in (0, 7, 8, 99):
        other = array.copy()
        other[place] += 1
        assert not is_array_of(tmp_path / "a", other, mark)
    minus = array.copy()
    minus[0] = -0.0
    for other in (minus, array[:99], np.append(array, 0), array.reshape(10, 10), array.view(np.int64)):
        assert not is_array_of(tmp_path / "a", other, mark)
    assert not is_array_of(tmp_path / "a", array, "0" * 32)
    assert not is_array_of(tmp_path / "b", array, mark)


def test_a_damaged_header_is_healed_by_the_next_checkpoint(tmp_path: Path) -> None:
    with FolderLock(tmp_path / "folder", create=True) as lock:
        writer = CheckpointWriter(lock, "mark")
        writer.write({}, arrays(1))
        same = {name: array for name, (array, _) in arrays(1).items()}
        assert writer.find_unchanged(same) == {"x", "y"}
        (lock.path / "x-000000.array").write_bytes(b"")
        assert writer.find_unchanged(same) == {"y"}
        assert writer.find_unchanged({"z": same["x"]}) == set()
