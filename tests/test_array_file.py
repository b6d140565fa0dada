"""Arrays on disk: what is read is what was written, and nothing else is read."""

import errno
import os
import random
from pathlib import Path

import numpy as np
import pytest

from errai import array_file
from errai.array_file import (
    BLOCK_BYTES,
    PAGE,
    is_array_file,
    map_array,
    read_array,
    read_header,
    remove_temporaries,
    write_array,
)
from errai.errors import UsageError


def write(path: Path, array: np.ndarray, **more: object) -> str:
    return write_array(path, array, name="regrets-0", units="chips", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", ">f8"])
@pytest.mark.parametrize("shape", [(0,), (7,), (3, 5), (2, 3, 4)])
def test_what_is_read_is_what_was_written(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.random.default_rng(1).random(shape) * 100).astype(dtype)
    write(tmp_path / "a", array, fingerprint="abc", notes={"of": "leduc"})
    for read in (read_array, map_array):
        header, back = read(tmp_path / "a", fingerprint="abc")
        assert (back == array).all()
        assert back.shape == shape
        assert back.dtype == array.dtype.newbyteorder("<")
        assert (header.name, header.units, header.notes) == ("regrets-0", "chips", {"of": "leduc"})


def test_many_blocks_and_parts(tmp_path: Path) -> None:
    """Blocks of 4 MiB, the last one short; two parts of one array, each with blocks of its own."""
    rng = np.random.default_rng(2)
    parts = [rng.random(BLOCK_BYTES // 8 + 3), rng.random(5)]
    write_array(tmp_path / "a", parts, name="weights", units="weight")
    assert (read_array(tmp_path / "a")[1] == np.concatenate(parts)).all()
    with open(tmp_path / "a", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(UsageError, match=r"'.*a' is damaged: bytes 4,194,328 to 4,194,368"):
        read_array(tmp_path / "a")


def test_numbers_begin_at_a_page(tmp_path: Path) -> None:
    write(tmp_path / "a", np.arange(4.0))
    content = (tmp_path / "a").read_bytes()
    assert len(content) == PAGE + 32
    assert content[PAGE:] == np.arange(4.0).tobytes()
    assert b'"shape": [4], "dtype": "<f8", "units": "chips"' in content


def flip_bits(path: Path, num_flips: int, seed: int) -> None:
    content = path.read_bytes()
    rng = random.Random(seed)
    for bit in rng.sample(range(8 * len(content)), num_flips):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        with pytest.raises(UsageError) as refused:
            read_array(path)
        assert str(path) in str(refused.value), bit
    path.write_bytes(content)
    read_array(path)


def test_flipped_bits_are_seen(tmp_path: Path) -> None:
    write(tmp_path / "a", np.random.default_rng(3).random(500))
    flip_bits(tmp_path / "a", 100, seed=4)


@pytest.mark.slow
def test_every_flipped_bit_of_a_small_file_is_seen(tmp_path: Path) -> None:
    write(tmp_path / "a", np.random.default_rng(3).random(20))
    flip_bits(tmp_path / "a", 8 * (PAGE + 160), seed=5)


def test_a_cut_or_grown_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, np.arange(100.0))
    content = path.read_bytes()
    for length in (0, 1, 50, 95, 96, 97, PAGE, PAGE + 1, len(content) - 1):
        path.write_bytes(content[:length])
        for read in (read_array, map_array, read_header):
            with pytest.raises(UsageError, match="damaged"):
                read(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(UsageError, match="has 4,897 bytes, but its first line says 4,896"):
        read_array(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'.*none' cannot be read: No such file"):
        read_array(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_array(tmp_path)
    np.save(tmp_path / "b.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match=r"'.*b.npy' is not an array file"):
        read_array(tmp_path / "b.npy")
    assert not is_array_file(tmp_path / "b.npy")
    write(tmp_path / "a", np.arange(3))
    assert is_array_file(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(content.replace(b"errai-array 1", b"errai-array 2", 1))
    with pytest.raises(UsageError, match="format version 2: expected version 1"):
        read_array(tmp_path / "a")


def test_another_fingerprint_or_file_is_refused(tmp_path: Path) -> None:
    first = write(tmp_path / "a", np.arange(3), fingerprint="one")
    with pytest.raises(UsageError, match=r"another configuration: its fingerprint is 'one', expected 'two'"):
        read_array(tmp_path / "a", fingerprint="two")
    read_array(tmp_path / "a", expected_checksum=first)
    write(tmp_path / "a", np.arange(1, 4), fingerprint="one")
    with pytest.raises(UsageError, match="not the file that the checkpoint names"):
        read_array(tmp_path / "a", expected_checksum=first)


def test_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write an array of object: expected one of <f4, <f8"):
        write(tmp_path / "a", np.array([None]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", ["_reserve", "_blocks", "os.fsync", "os.replace"])
def test_a_failure_at_any_step_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    write(tmp_path / "a", np.arange(3))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(*((os, step[3:]) if step.startswith("os.") else (array_file, step)), fail)
        with pytest.raises(OSError, match=r"No space left on device: '.*a'"):
            write(tmp_path / "a", np.arange(4))
    assert (read_array(tmp_path / "a")[1] == np.arange(3)).all()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    write(tmp_path / "a", np.arange(3))
    (tmp_path / ".a.123.tmp").write_text("half")
    (tmp_path / "mine.tmp").write_text("kept")
    remove_temporaries(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "mine.tmp"]
