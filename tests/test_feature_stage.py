"""The journal of a stage: when it is written, what it says, whom it is about, and when it goes."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from errai import array_file
from errai.abstraction.features import stage as stage_module
from errai.abstraction.features.stage import Stage, array_path
from errai.array_file import ArrayHeader, PartialArray, partial_path, read_array

JOURNAL = ".round-0.journal"


def header(name: str, size: int = 4, fingerprint: str = "x") -> ArrayHeader:
    return ArrayHeader(name, (size,), "<u2", "hands", fingerprint)


def begun(folder: Path, *names: str, chunks: int = 2, chunking: str = "4 by 2", **more: Any) -> Stage:
    return Stage(folder, "round-0", [header(name, **more) for name in names], chunks, chunking)


def noted(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / JOURNAL).read_text())
    return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = [1000.0]
    monkeypatch.setattr(stage_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def test_chunks_are_noted_once_a_minute(tmp_path: Path, clock: Callable[[float], None]) -> None:
    """At 60 seconds, not at 59.5; then the minute begins anew."""
    stage = begun(tmp_path, "a", chunks=9)
    done = []
    for seconds in (59.5, 0.5, 0.5, 59.0, 0.5):
        clock(seconds)
        stage.count()
        done.append(noted(tmp_path)["done"] if (tmp_path / JOURNAL).exists() else None)
    assert done == [None, 2, 2, 2, 5]


def test_what_a_journal_says(tmp_path: Path) -> None:
    stage = begun(tmp_path, "a", "b")
    assert list(stage.arrays) == ["a", "b"]
    assert not (tmp_path / JOURNAL).exists()
    stage.count()
    stage.note()
    said = noted(tmp_path)
    assert said.pop("checksum") == stage_module._checksum(said)
    assert said == {"chunks": 2, "chunking": "4 by 2", "arrays": {"a": "x", "b": "x"}, "done": 1}


@pytest.mark.parametrize(
    ("change", "done"),
    [
        ({}, 1),
        ({"chunks": 3}, 0),
        ({"chunking": "4 by 1"}, 0),
        ({"names": ["a"]}, 0),
        ({"names": ["a", "b", "c"]}, 0),
        ({"size": 5}, 0),
        ({"fingerprint": "y"}, 0),
    ],
)
def test_a_stage_goes_on_only_with_what_is_its_own(tmp_path: Path, change: dict[str, Any], done: int) -> None:
    first = begun(tmp_path, "a", "b")
    first.arrays["a"][:2] = 7
    first.count()
    first.note()
    second = begun(tmp_path, *change.pop("names", ["a", "b"]), **change)
    assert second.chunks_done == done
    assert second.arrays["a"].tolist()[:2] == ([7, 7] if done else [0, 0])
    assert (tmp_path / JOURNAL).exists() == bool(done), "a journal goes before an array is begun anew"


def test_arrays_that_an_old_journal_was_about_go_with_it(tmp_path: Path) -> None:
    first = begun(tmp_path, "a", "b")
    first.note()
    begun(tmp_path, "a")
    assert partial_path(array_path(tmp_path, "a")).exists()
    assert not partial_path(array_path(tmp_path, "b")).exists()


def test_a_stage_that_is_done_has_arrays_and_no_journal(tmp_path: Path) -> None:
    stage = begun(tmp_path, "a", "b")
    for begin in (0, 2):
        stage.arrays["a"][begin : begin + 2] = begin + 1
        stage.arrays["b"][begin : begin + 2] = begin + 5
        stage.count()
    stage.finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.array", "b.array"]
    assert read_array(tmp_path / "a.array")[1].tolist() == [1, 1, 3, 3]
    assert read_array(tmp_path / "b.array")[1].tolist() == [5, 5, 7, 7]


def test_a_stage_is_finished_when_all_chunks_are_done(tmp_path: Path) -> None:
    stage = begun(tmp_path, "a")
    stage.count()
    with pytest.raises(AssertionError, match="when all chunks are done"):
        stage.finish()


def test_what_is_left_of_a_finished_stage_is_finished(tmp_path: Path) -> None:
    """One array has its name already; the journal is about both, and all chunks are done."""
    stage = begun(tmp_path, "a", "b")
    stage.arrays["b"][:] = 9
    stage.count()
    stage.count()
    stage.note()
    stage._partial["a"].finish()
    again = begun(tmp_path, "b")
    assert again.chunks_done == 2
    again.finish()
    assert read_array(tmp_path / "b.array")[1].tolist() == [9] * 4
    assert not (tmp_path / JOURNAL).exists()


def test_the_order_of_durable_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that is removed is gone from the disk before an array is made or gets its name."""
    steps: list[str] = []

    def listen(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *more: Any, **options: Any) -> Any:
            steps.append(f"{name} {getattr(first, 'name', first)}")
            return real(first, *more, **options)

        return call

    class Listened(PartialArray):
        def __init__(self, path: str | Path, header: ArrayHeader, *, resume: bool = False) -> None:
            steps.append(f"{'resume' if resume else 'make'} {header.name}")
            super().__init__(path, header, resume=resume)

        def flush(self) -> None:
            steps.append(f"flush {self._header.name}")
            super().flush()

        def finish(self) -> None:
            steps.append(f"finish {self._header.name}")
            super().finish()

    monkeypatch.setattr(stage_module, "PartialArray", Listened)
    monkeypatch.setattr(stage_module, "write_text", listen("write", array_file.write_text))
    monkeypatch.setattr(stage_module, "sync_folder", listen("sync", array_file.sync_folder))
    monkeypatch.setattr(Path, "unlink", listen("remove", Path.unlink))
    stage = begun(tmp_path, "a", "b", chunks=0)
    removed = [f"remove {JOURNAL}", f"sync {tmp_path.name}"]
    assert steps == [*removed, "make a", "make b"]
    steps.clear()
    stage.note()
    assert steps == ["flush a", "flush b", f"write {JOURNAL}"]
    stage = begun(tmp_path, "a", "b", chunks=0)
    assert steps[3:] == ["resume a", "resume b"]
    steps.clear()
    stage.finish()
    assert steps == [
        *("flush a", "flush b", f"write {JOURNAL}"),
        *("finish a", "flush a", *removed, "finish b", "flush b"),
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"checksum": ""}', "null"])
def test_a_journal_that_is_none_is_not_followed(tmp_path: Path, text: str) -> None:
    begun(tmp_path, "a").arrays["a"][:] = 3
    (tmp_path / JOURNAL).write_text(text)
    stage = begun(tmp_path, "a")
    assert stage.chunks_done == 0
    assert np.array_equal(stage.arrays["a"], np.zeros(4))
    assert not (tmp_path / JOURNAL).exists()


def test_a_journal_with_another_checksum_is_not_followed(tmp_path: Path) -> None:
    stage = begun(tmp_path, "a")
    stage.count()
    stage.note()
    (tmp_path / JOURNAL).write_text((tmp_path / JOURNAL).read_text().replace('"done": 1', '"done": 2'))
    assert begun(tmp_path, "a").chunks_done == 0
