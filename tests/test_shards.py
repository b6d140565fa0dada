"""Shards as they are held: formats against whole numbers without end, memory and disk, what changed."""

import errno
import gc
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.tables import LARGEST, naive_fixed, naive_fixed_sum, naive_float32, naive_unfixed

from errai.errors import UsageError
from errai.tables import shards as module
from errai.tables.shards import NumberFormat, Shards, bytes_needed

# Without Numba, NumPy warns of products that are beyond all floats: here they are meant.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")

FLOATS = st.floats(allow_nan=False)
SCALES = st.sampled_from((1.0, 2.0, 1024.0, 1000.0, 1e-3, 0.1, 1 / 3, 2.0**20, 1e12))
HELD = st.integers(-LARGEST, LARGEST)
FORMATS = (NumberFormat("float64"), NumberFormat("float32"), NumberFormat("int32", 1024.0))
BEGIN = np.array([0, 3, 3, 10])


def one(number_format: NumberFormat, working: npt.DTypeLike = np.float64, size: int = 1) -> Shards:
    return Shards(np.array([0, size]), number_format, working)


# Formats


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=20), SCALES)
def test_fixed_point_is_the_naive_one(values: list[float], scale: float) -> None:
    table = one(NumberFormat("int32", scale), size=len(values))
    table.close(0, np.array(values))
    assert table.held.tolist() == [naive_fixed(value, scale) for value in values]
    opened = table.open(0, np.empty(len(values)))
    assert opened.tolist() == [naive_unfixed(held, scale) for held in table.held.tolist()]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=20), SCALES)
def test_fixed_point_of_float32_is_the_naive_one(values: list[float], scale: float) -> None:
    table = one(NumberFormat("int32", scale), np.float32, len(values))
    table.close(0, np.array(values, dtype=np.float32))
    assert table.held.tolist() == [naive_fixed(value, scale) for value in values]
    opened = table.open(0, np.empty(len(values), dtype=np.float32))
    expected = [np.float32(naive_unfixed(held, scale)) for held in table.held.tolist()]
    assert opened.tolist() == expected


@settings(deadline=None)
@given(st.lists(st.tuples(HELD, FLOATS), min_size=1, max_size=20), SCALES)
def test_a_saturating_sum_is_the_naive_one(pairs: list[tuple[int, float]], scale: float) -> None:
    table = one(NumberFormat("int32", scale), size=len(pairs))
    table.held[:] = [held for held, _ in pairs]
    table.add(0, np.array([gain for _, gain in pairs]))
    assert table.held.tolist() == [naive_fixed_sum(held, gain, scale) for held, gain in pairs]


@settings(deadline=None)
@given(st.lists(st.tuples(HELD, st.integers(-(2**33), 2**33)), min_size=1, max_size=20))
def test_sums_around_the_ends_never_wrap(pairs: list[tuple[int, int]]) -> None:
    table = one(NumberFormat("int32"), size=len(pairs))
    table.held[:] = [held for held, _ in pairs]
    table.add(0, np.array([gain for _, gain in pairs], dtype=np.float64))
    assert table.held.tolist() == [min(max(held + gain, -LARGEST), LARGEST) for held, gain in pairs]


@settings(deadline=None)
@given(st.lists(HELD, min_size=1, max_size=20), SCALES)
def test_opening_and_closing_changes_nothing(held: list[int], scale: float) -> None:
    table = one(NumberFormat("int32", scale), size=len(held))
    table.held[:] = held
    table.close(0, table.open(0, np.empty(len(held))))
    assert table.held.tolist() == held


def test_halves_are_rounded_to_even_and_ends_stay() -> None:
    table = one(NumberFormat("int32", 2.0), size=12)
    values = [0.25, 0.75, 1.25, -0.25, -0.75, 0.2, 0.3, np.inf, -np.inf, 1e300, 2**30 - 0.5, 2**30]
    table.close(0, np.array(values))
    assert table.held.tolist() == [0, 2, 2, 0, -2, 0, 1, LARGEST, -LARGEST, LARGEST, LARGEST, LARGEST]
    table.add(0, np.array([0.25, 0.75, -0.25, 1e300, -1e300, 0, 0, 0.5, -0.5, -0.5, -np.inf, 1.0]))
    assert table.held.tolist() == [
        0, 4, 2, LARGEST, -LARGEST, 0, 1, LARGEST, -LARGEST, LARGEST - 1, -LARGEST, LARGEST,
    ]  # fmt: skip
    assert table.format.largest == LARGEST / 2
    assert table.open(0, np.empty(12))[3] == table.format.largest


@settings(deadline=None)
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=20))
def test_float32_is_the_naive_one(pairs: list[tuple[float, float]]) -> None:
    table = one(NumberFormat("float32"), size=len(pairs))
    values, gains = (np.array(numbers) for numbers in zip(*pairs, strict=True))
    table.close(0, values)
    held = [naive_float32(value) for value in values.tolist()]
    assert table.held.dtype == np.float32
    assert table.held.tolist() == held
    assert table.open(0, np.empty(len(pairs))).tolist() == held
    table.add(0, gains)
    assert table.held.tolist() == [
        naive_float32(value + gain) for value, gain in zip(held, gains.tolist(), strict=True)
    ]


@settings(deadline=None)
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=20))
def test_float64_adds_and_stays_at_its_ends(pairs: list[tuple[float, float]]) -> None:
    table = one(NumberFormat("float64"), size=len(pairs))
    values, gains = (np.clip(numbers, -1.7e308, 1.7e308) for numbers in zip(*pairs, strict=True))
    table.close(0, values)
    assert table.held.tolist() == values.tolist()
    table.add(0, gains)
    largest = float(np.finfo(np.float64).max)
    assert table.held.tolist() == [
        min(max(value + gain, -largest), largest)
        for value, gain in zip(values.tolist(), gains.tolist(), strict=True)
    ]


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda number_format: number_format.dtype)
def test_nan_is_refused_and_nothing_is_written(number_format: NumberFormat) -> None:
    table = Shards(BEGIN, number_format)
    table.close(2, np.arange(7.0))
    before = table.held.copy()
    table.changed.clear()
    wrong = np.zeros(7)
    wrong[5] = np.nan
    for method in (table.close, table.add):
        with pytest.raises(FloatingPointError, match="slot 8 of a table is not a number"):
            method(2, wrong)
    assert np.array_equal(table.held, before)
    assert table.changed == set()


# Holding


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("working", [np.float32, np.float64])
@pytest.mark.parametrize("number_format", FORMATS, ids=lambda number_format: number_format.dtype)
def test_shards_are_opened_closed_and_added_to(
    tmp_path: Path, number_format: NumberFormat, working: type, on_disk: bool
) -> None:
    table = Shards(BEGIN, number_format, working, tmp_path if on_disk else None)
    assert (table.num_shards, [table.size(shard) for shard in range(3)]) == (3, [3, 0, 7])
    assert table.nbytes == bytes_needed(BEGIN, number_format) == 10 * np.dtype(number_format.dtype).itemsize
    assert table.held.tolist() == [0] * 10
    buffer: np.ndarray = np.full(9, -5, dtype=working)
    is_view = number_format.dtype == np.dtype(working).name
    values = table.open(2, buffer)
    assert values.dtype == working
    assert values.tolist() == [0.0] * 7
    assert np.shares_memory(values, table.held if is_view else buffer)
    assert buffer.tolist() == ([-5.0] * 9 if is_view else [0.0] * 7 + [-5.0] * 2)
    values[:] = np.arange(7)
    assert table.changed == set()
    table.close(2, values)
    assert table.changed == {2}
    table.add(0, np.array([1.5, -2, 0], dtype=working))
    table.close(1, np.zeros(0, dtype=working))
    assert table.changed == {0, 1, 2}
    assert table.open(0, buffer).tolist() == [1.5, -2, 0]
    assert table.open(2, buffer).tolist() == list(range(7))
    # What was not worked on in place is copied.
    table.close(0, np.array([4, 5, 6], dtype=np.float64))
    assert table.open(0, buffer).tolist() == [4, 5, 6]
    assert table.open(2, buffer).tolist() == list(range(7))


def test_a_mapped_table_leaves_no_file(tmp_path: Path) -> None:
    table = Shards(BEGIN, NumberFormat("float32"), folder=tmp_path)
    assert isinstance(table.held.base, np.memmap)
    assert list(tmp_path.iterdir()) == []
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line]
    assert len(mapped) == 1
    del table
    gc.collect()
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
    assert Shards(np.array([0, 0]), NumberFormat("int32"), folder=tmp_path).nbytes == 0


def test_a_full_disk_is_an_error_before_anything_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved = []

    def full(descriptor: int, begin: int, length: int) -> None:
        reserved.append((begin, length))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(np, "memmap", lambda *_, **__: pytest.fail("mapped before it was reserved"))
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}'"):
        Shards(BEGIN, NumberFormat("float64"), folder=tmp_path)
    assert reserved == [(0, 80)]
    monkeypatch.setattr(module, "free_disk", lambda _: 79)
    with pytest.raises(
        UsageError, match=r"of 10 slots as float64 needs 80 bytes of disk in '.*', and 79 bytes"
    ):
        Shards(BEGIN, NumberFormat("float64"), folder=tmp_path)
    assert len(reserved) == 1


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.memory.available_memory", lambda: 39)
    with pytest.raises(
        UsageError, match="a table of 10 slots as int32 needs 40 bytes of memory, and 39 bytes"
    ):
        Shards(BEGIN, NumberFormat("int32"))


def test_bad_input_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be held as 'int16': expected float64, float32, int32"):
        NumberFormat("int16")
    for scale in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(UsageError, match=f"the scale must be a finite number above 0, not {scale}"):
            NumberFormat("int32", scale)
    with pytest.raises(UsageError, match="'float32' takes no scale: only int32 does"):
        NumberFormat("float32", 2.0)
    with pytest.raises(UsageError, match="the working numbers must be float32 or float64, not 'float16'"):
        Shards(BEGIN, NumberFormat("int32"), np.float16)
    table = Shards(BEGIN, NumberFormat("int32"))
    for shard in (-1, 3):
        with pytest.raises(UsageError, match=f"shard {shard} does not exist: the table has 3"):
            table.size(shard)
    with pytest.raises(
        UsageError, match="shard 2 needs a buffer of 7 float64 to be opened in: none was given"
    ):
        table.open(2)
    for buffer in (np.zeros(6), np.zeros(7, dtype=np.float32), np.zeros((7, 1))):
        with pytest.raises(UsageError, match="shard 2 needs a buffer of 7 float64"):
            table.open(2, buffer)
    for values in (np.zeros(6), np.zeros(8), np.zeros(7, dtype=np.int32)):
        with pytest.raises(UsageError, match="do not fit shard 2"):
            table.close(2, values)
        with pytest.raises(UsageError, match="do not fit shard 2"):
            table.add(2, values)
