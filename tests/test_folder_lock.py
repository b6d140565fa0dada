"""Lock first, then look: one process at a time writes a folder, and whoever is refused leaves no trace."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import filelock
import pytest

import errai
from errai import folder_lock
from errai.errors import UsageError
from errai.folder_lock import FolderLock
from errai.runs import job as job_module
from errai.runs import run as run_module
from errai.runs.folder import RunFolder, lock_run
from errai.runs.job import prepare, prepare_resumed
from errai.runs.run import configure, solve_exactly
from errai.solvers import sequence_form
from errai.solvers.solve import StopRule

KUHN = errai.load_game("kuhn")
BUSY = "is being written by another process: wait for it, or choose another folder"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_one_holds_the_lock_until_it_lets_go(tmp_path: Path) -> None:
    first = FolderLock(tmp_path / "a" / "b", create=True)
    assert first.is_held
    with pytest.raises(UsageError, match=f"'{tmp_path}/a/b' {BUSY}"):
        FolderLock(tmp_path / "a" / "b")
    first.release()
    assert not first.is_held
    first.release()  # once more does nothing
    second = FolderLock(tmp_path / "a" / "b")
    first.release()
    with pytest.raises(UsageError, match=BUSY):
        FolderLock(tmp_path / "a" / "b", create=True)
    del second  # whoever is forgotten does not hold it
    FolderLock(tmp_path / "a" / "b").release()


def test_a_folder_that_is_missing_is_made_only_where_asked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FolderLock(tmp_path / "a")
    assert names(tmp_path) == []


def test_a_place_that_takes_no_folders_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc does, which says that there is none, however often one is made."""
    real, tried = Path.mkdir, []

    def refuse(path: Path, *more: Any) -> None:
        tried.append(path.name)
        if path.name == "never":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        real(path, *more)

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(FileNotFoundError):
        FolderLock(tmp_path / "a" / "never", create=True)
    assert tried.count("never") == 10
    assert FolderLock(tmp_path / "/".join("abcdefghijklmno"), create=True).is_held  # deeper than that


def test_what_was_made_for_nothing_goes_again(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), FolderLock(tmp_path / "a", create=True):
        raise ZeroDivisionError
    assert names(tmp_path) == []
    lock = FolderLock(tmp_path / "a", create=True)
    (tmp_path / "a" / "run.toml").touch()
    lock.abandon()
    assert not lock.is_held
    assert names(tmp_path / "a") == ["lock", "run.toml"]
    (tmp_path / "b").mkdir()
    with pytest.raises(ZeroDivisionError), FolderLock(tmp_path / "b", create=True):
        raise ZeroDivisionError
    assert names(tmp_path / "b") == ["lock"]  # somebody else has made it
    FolderLock(tmp_path / "b", create=True).release()


def test_a_lock_file_that_was_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process gives its new folder up between our opening of the file and our lock."""
    other = FolderLock(tmp_path / "a", create=True)
    calls = 0

    def lock_slowly(descriptor: int, *, blocking: bool) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1:
            other.abandon()
            assert names(tmp_path) == []
        return filelock.lock_descriptor(descriptor, blocking=blocking)

    monkeypatch.setattr(folder_lock, "lock_descriptor", lock_slowly)
    lock = FolderLock(tmp_path / "a", create=True)
    assert calls == 2
    assert names(tmp_path / "a") == ["lock"]
    with pytest.raises(UsageError, match=BUSY):
        FolderLock(tmp_path / "a")
    lock.release()


def test_locking_clears_away_what_the_killed_have_left(tmp_path: Path) -> None:
    errai.solve(KUHN, iterations=5, out=tmp_path / "run")
    whole = names(tmp_path / "run")
    (tmp_path / "run" / ".regrets-0-000009.array.4711.tmp").write_bytes(b"half")
    errai.load_strategy(tmp_path / "run")
    assert names(tmp_path / "run") != whole  # who only reads leaves everything alone
    prepare_resumed(tmp_path / "run").close()
    assert names(tmp_path / "run") == whole


def test_a_job_holds_its_folder_from_before_the_look_until_it_ends(tmp_path: Path) -> None:
    job = prepare(configure(KUHN), StopRule(20), out=tmp_path / "run")
    for other in (
        lambda: errai.solve(KUHN, "cfr", 10, out=tmp_path / "run"),
        lambda: errai.solve(KUHN, "lp", out=tmp_path / "run"),
        lambda: errai.solve(KUHN, iterations=20, out=tmp_path / "run", resume=True),
        lambda: prepare_resumed(tmp_path / "run"),
    ):
        with pytest.raises(UsageError, match=BUSY):
            other()
    assert job.run().iterations == 20
    resumed = prepare_resumed(tmp_path / "run", StopRule(2000))
    with pytest.raises(UsageError, match=BUSY):
        prepare_resumed(tmp_path / "run", StopRule(60))
    assert resumed.run().iterations == 2000
    assert RunFolder(tmp_path / "run").state()["iteration"] == 2000


def test_a_job_that_fails_lets_go(tmp_path: Path) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    job = prepare(configure(KUHN), StopRule(20), out=tmp_path / "run")
    with pytest.raises(ZeroDivisionError):
        job.run(fail)
    assert prepare_resumed(tmp_path / "run").run().iterations == 20


def test_nothing_is_looked_at_before_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that another process makes just before we get the lock is seen."""
    real = lock_run

    def lock_after_another(path: Path, *, create: bool) -> FolderLock:
        with monkeypatch.context() as patch:
            for module in (job_module, run_module):
                patch.setattr(module, "lock_run", real)
            errai.solve(KUHN, "cfr", 7, out=path)
        return real(path, create=create)

    for module in (job_module, run_module):
        monkeypatch.setattr(module, "lock_run", lock_after_another)
    different: list[dict[str, Any]] = [{}, {"resume": True}, {"algorithm": "lp"}]
    for number, options in enumerate(different):
        folder = tmp_path / str(number)
        with pytest.raises(UsageError, match=r"holds a run already|only the same one can be resumed"):
            errai.solve(KUHN, iterations=20, out=folder, **options)
        run = RunFolder(folder)
        run.verify()
        assert (run.configuration.algorithm.name, run.state()["iteration"]) == ("cfr", 7)


def test_refused_runs_leave_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ({"num_threads": 0}, {"dtype": "int8"}, {"algorithm": "best"}):
        with pytest.raises(UsageError):
            errai.solve(KUHN, iterations=5, out=tmp_path / "run", **options)
        assert names(tmp_path) == []
    with pytest.raises(UsageError, match="is not a run"):
        prepare_resumed(tmp_path / "run")
    assert names(tmp_path) == []
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is not a run"):
        prepare_resumed(tmp_path / "empty")
    assert names(tmp_path / "empty") == []


def test_a_folder_in_use_is_refused_before_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errai.solve(KUHN, iterations=5, out=tmp_path / "run")

    def allocate(*_: object, **__: object) -> None:
        raise AssertionError("tables were allocated")

    monkeypatch.setattr(job_module, "make_solver", allocate)
    with pytest.raises(UsageError, match="holds a run already"):
        errai.solve(KUHN, iterations=5, out=tmp_path / "run")


def test_folders_of_others_get_no_lock(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    for create, told in ((True, "is in use and holds no run"), (False, "is not a run")):
        with pytest.raises(UsageError, match=told):
            lock_run(tmp_path, create=create)
        with pytest.raises(UsageError, match=told):
            lock_run(tmp_path / "letter", create=create)
    (tmp_path / "lock").touch()
    with pytest.raises(UsageError, match="is in use and holds no run"):
        errai.solve(KUHN, iterations=5, out=tmp_path)
    assert names(tmp_path) == ["letter", "lock"]


def test_a_programme_that_fails_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configured = configure(KUHN, "lp")

    def fail(*_: object) -> None:
        raise UsageError("the linear programme of this game failed: by order")

    with monkeypatch.context() as patch:
        patch.setattr(sequence_form, "solve_in_child", fail)
        with pytest.raises(UsageError, match="by order"):
            solve_exactly(configured, tmp_path / "run")
    assert names(tmp_path) == []
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "save", fail)
        with pytest.raises(UsageError, match="by order"):
            solve_exactly(configured, tmp_path / "run")
    with pytest.raises(UsageError, match="holds a run already"):
        solve_exactly(configured, tmp_path / "run")
    assert solve_exactly(configured, tmp_path / "other").folder == tmp_path / "other"
    FolderLock(tmp_path / "other").release()


def run_pairs(tmp_path: Path, pairs: int, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "paired_runs.py", tmp_path, str(pairs), str(seed)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{pairs} pairs")


def test_ten_pairs_of_commands_at_once(tmp_path: Path) -> None:
    run_pairs(tmp_path, 10, seed=1)


@pytest.mark.slow
def test_two_hundred_pairs_of_commands_at_once(tmp_path: Path) -> None:
    run_pairs(tmp_path, 200, seed=2)
