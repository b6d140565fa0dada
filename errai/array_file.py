r"""One array on disk: a line to recognise it, a JSON header, raw little-endian numbers.

    errai-array 1 <header bytes> <data bytes> <checksum of the header>\n
    { "name": ..., "shape": ..., "dtype": ..., "units": ..., "fingerprint": ..., ... }  (padded)
    raw numbers, from a multiple of 4,096 bytes on, so that they can be memory-mapped

The first line's checksum covers the padded header, the header's checksums cover the numbers block by block,
so no bit of a file can change unseen. Nothing is ever unpickled.

Writing takes a temporary name in the same folder, reserves the space (a full disk is an error here and not
a crash later), writes, syncs, renames, and syncs the folder: a kill at any moment leaves the old file or
the new one. Reading refuses in one sentence, by name, whatever does not fit.

An array too large to be made in memory is written piece by piece (`write_pieces`). One that is not made in
order is filled under a hidden name, mapped (`PartialArray`), and becomes an array file only when it is whole;
what was flushed of it outlives a kill. An array that is used mapped has every bit verified when a process
first opens it (`map_verified_array`).
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError

MAGIC = "errai-array"
VERSION = 1
PAGE = 4096
BLOCK_BYTES = 1 << 22
MAX_HEADER_BYTES = 1 << 26
DIGEST_BYTES = 16
YOUNG_FILE_NS = 1_000_000_000
DTYPES = ("<f4", "<f8", "<i4", "<i8", "|u1", "|i1", "<u2", "<i2", "<u4", "<u8")

TEMPORARY = ".tmp"
PARTIAL = ".partial"

_FIRST_LINE_BYTES = 96
_FIRST_LINE = re.compile(
    rf"{MAGIC} ([0-9]+) ([0-9]{{10}}) ([0-9]{{20}}) ([0-9a-f]{{{2 * DIGEST_BYTES}}}) *\n"
)
_TEMPORARY_NAME = re.compile(rf"\..+\.([0-9]+){re.escape(TEMPORARY)}")

Array = npt.NDArray[Any]
VerifyReport = Callable[[int, int], None]


@dataclass(frozen=True)
class ArrayHeader:
    """What a file says about its array.

    Attributes:
        name: what the array is, such as `regrets-0`.
        shape: its shape.
        dtype: NumPy's name of its numbers, little-endian.
        units: what one number counts, such as `chips`.
        fingerprint: of the configuration that made it; empty without one.
        notes: anything else that is text or numbers.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    units: str
    fingerprint: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def num_bytes(self) -> int:
        """Bytes of the numbers."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


def checksum(content: bytes | memoryview) -> str:
    """Return the checksum of some bytes, as 32 hexadecimal digits."""
    return blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def write_array(
    path: str | Path,
    parts: Array | Sequence[Array],
    *,
    name: str,
    units: str,
    fingerprint: str = "",
    notes: dict[str, Any] | None = None,
) -> str:
    """Write an array, or one-dimensional parts of it one after the other; returns the header's checksum.

    Args:
        path: where; an existing file is replaced only once the new one is safe.
        parts: the array, or several that are joined.
        name: what it is.
        units: what one number counts.
        fingerprint: of the configuration that made it.
        notes: what else the header should say, as JSON can.
    """
    arrays = [parts] if isinstance(parts, np.ndarray) else list(parts)
    arrays = [np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<")) for part in arrays]
    dtype = arrays[0].dtype.str
    if dtype not in DTYPES:
        raise UsageError(f"cannot write an array of {arrays[0].dtype}: expected one of {', '.join(DTYPES)}")
    shape = arrays[0].shape if len(arrays) == 1 else (sum(part.size for part in arrays),)
    header = ArrayHeader(name, shape, dtype, units, fingerprint, notes or {})
    num_blocks = sum(-(-part.nbytes // BLOCK_BYTES) for part in arrays)
    room = len(
        _format_header(header, ["0" * 2 * DIGEST_BYTES] * num_blocks, [part.nbytes for part in arrays])
    )
    with replaced_file(path) as file:
        _reserve(file, room + header.num_bytes)
        file.seek(room)
        sums = []
        for block in _blocks(arrays):
            sums.append(checksum(block))
            file.write(block)
        text = _format_header(header, sums, [part.nbytes for part in arrays])
        file.seek(0)
        file.write(text)
    return _checksum_in(text)


def write_pieces(
    path: str | Path,
    pieces: Iterable[Array],
    header: ArrayHeader,
    late_notes: Callable[[], dict[str, Any]] = dict,
) -> str:
    """Write an array that is made piece by piece and never whole in memory; returns the header's checksum.

    Args:
        path: where; an existing file is replaced only once the new one is safe.
        pieces: contiguous arrays whose bytes, one after the other, are those of the array.
        header: what the file will say about it.
        late_notes: asked after the last piece for notes that are not known earlier: a page of them at most.
    """
    num_blocks = -(-header.num_bytes // BLOCK_BYTES)
    empty = ["0" * 2 * DIGEST_BYTES] * num_blocks
    room = len(_format_header(header, empty, [header.num_bytes])) + PAGE
    block, filled, sums = memoryview(bytearray(BLOCK_BYTES)), 0, []
    with replaced_file(path) as file:
        _reserve(file, room + header.num_bytes)
        file.seek(room)
        for piece in pieces:
            content = piece.reshape(-1).view(np.uint8).data
            while len(content) > 0:
                size = min(len(content), BLOCK_BYTES - filled)
                block[filled : filled + size] = content[:size]
                filled, content = filled + size, content[size:]
                if filled == BLOCK_BYTES:
                    sums.append(checksum(block))
                    file.write(block)
                    filled = 0
        if filled:
            sums.append(checksum(block[:filled]))
            file.write(block[:filled])
        assert file.tell() == room + header.num_bytes, "the pieces are the array"
        told = replace(header, notes=header.notes | late_notes())
        text = _format_header(told, sums, [header.num_bytes], room)
        assert len(text) == room, "late notes fit into a page"
        file.seek(0)
        file.write(text)
    return _checksum_in(text)


def read_header(path: str | Path) -> ArrayHeader:
    """Read and verify what a file says about its array, the size of the file included."""
    with _opened(path) as file:
        return _read_header(file, str(path))[0]


def read_header_checksum(path: str | Path) -> str:
    """Return the checksum of a file's header, and so of all its blocks: it tells two files apart."""
    with _opened(path) as file:
        return _read_header(file, str(path))[3]


def read_array(
    path: str | Path,
    *,
    fingerprint: str | None = None,
    expected_checksum: str | None = None,
    into: Array | None = None,
) -> tuple[ArrayHeader, Array]:
    """Read an array into memory and verify every bit of it.

    Args:
        path: the file.
        fingerprint: refuse the file if it was made by another configuration.
        expected_checksum: refuse the file if it is not the very one that `write_array` answered this for.
        into: contiguous; read into it rather than into a new array. It must have the file's shape and dtype.
    """
    with _opened(path) as file:
        header, sums, lengths = _verified_header(file, str(path), fingerprint, expected_checksum)
        array = np.empty(header.shape, dtype=header.dtype) if into is None else into
        if array.shape != header.shape or array.dtype != header.dtype:
            raise UsageError(
                f"'{path}' has {header.shape} numbers of {header.dtype}: "
                f"expected {array.shape} of {array.dtype}"
            )
        content = array.reshape(-1).view(np.uint8).data
        for (begin, end), expected in zip(_block_ranges(lengths), sums, strict=True):
            _read_block(file, path, content[begin:end], begin, expected)
        return header, array


def verify_array(
    path: str | Path,
    *,
    fingerprint: str | None = None,
    expected_checksum: str | None = None,
    report: VerifyReport | None = None,
) -> ArrayHeader:
    """Verify every bit of an array file, a block at a time.

    Args:
        path: the file.
        fingerprint: as for `read_array`.
        expected_checksum: as for `read_array`.
        report: called with bytes done and bytes in all.
    """
    with _opened(path) as file:
        header, sums, lengths = _verified_header(file, str(path), fingerprint, expected_checksum)
        room = memoryview(bytearray(min(BLOCK_BYTES, header.num_bytes)))
        for (begin, end), expected in zip(_block_ranges(lengths), sums, strict=True):
            _read_block(file, path, room[: end - begin], begin, expected)
            if report is not None:
                report(end, header.num_bytes)
        return header


def is_array_of(path: str | Path, array: Array, expected_checksum: str) -> bool:
    """Return whether a file was written with these very numbers, by the checksums in its header.

    The first block that differs settles it, so an array that changed costs next to nothing. A file whose
    header is damaged, or that is gone, was not.

    Args:
        path: the file.
        array: what is to be compared.
        expected_checksum: what `write_array` answered for the file.
    """
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    try:
        with _opened(path) as file:
            header, sums, lengths = _verified_header(file, str(path), None, expected_checksum)
    except UsageError:
        return False
    if (header.shape, header.dtype, lengths) != (array.shape, array.dtype.str, [array.nbytes]):
        return False
    return all(checksum(block) == one for block, one in zip(_blocks([array]), sums, strict=True))


def _read_block(file: BufferedReader, path: str | Path, block: memoryview, begin: int, expected: str) -> None:
    if file.readinto(block) != len(block) or checksum(block) != expected:
        raise UsageError(
            f"'{path}' is damaged: bytes {begin:,} to {begin + len(block):,} of its array do not match their "
            "checksum"
        )


def map_array(
    path: str | Path, *, fingerprint: str | None = None, expected_checksum: str | None = None
) -> tuple[ArrayHeader, Array]:
    """Map an array read-only without reading it: header and size are verified, the numbers are not."""
    with _opened(path) as file:
        header, _, _ = _verified_header(file, str(path), fingerprint, expected_checksum)
        begin = file.tell()
    if header.num_bytes == 0:
        return header, np.zeros(header.shape, dtype=header.dtype)
    return header, np.memmap(path, dtype=header.dtype, mode="r", offset=begin, shape=header.shape)


def map_verified_array(
    path: str | Path, *, fingerprint: str | None = None, expected_checksum: str | None = None
) -> tuple[ArrayHeader, Array]:
    """Map an array read-only after every bit of it was verified; a second mapping in a process is free.

    Verifying reads the whole file, about a second for each GB that the system has in memory already.
    """
    found = _identity(path)
    if found not in _VERIFIED:
        verify_array(path, fingerprint=fingerprint, expected_checksum=expected_checksum)
        # A file that changes in the same tick of the clock looks the same: a young one is not remembered.
        if found is not None and time.time_ns() - found.modified_ns > YOUNG_FILE_NS:
            _VERIFIED.add(found)
    return map_array(path, fingerprint=fingerprint, expected_checksum=expected_checksum)


class _Identity(NamedTuple):
    """What tells one content of a file from another."""

    device: int
    inode: int
    size: int
    modified_ns: int


_VERIFIED: set[_Identity] = set()


def _identity(path: str | Path) -> _Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None  # reading will say what is wrong
    return _Identity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class PartialArray:
    """An array that is filled in place, on disk, and becomes an array file when it is finished.

    Whether the numbers of an earlier attempt are any good is not known here: who goes on with them keeps a
    journal of what was written, and removes it before a new array is begun.

    Attributes:
        array: the numbers so far, mapped for writing.
    """

    def __init__(self, path: str | Path, header: ArrayHeader, *, resume: bool = False) -> None:
        """Reserve the disk for a new array of zeroes, or go on with an earlier attempt.

        Args:
            path: the array file to be.
            header: what it will say about itself.
            resume: open what an earlier attempt has left, which `can_resume` must have found.
        """
        self._path, self._header = Path(path), header
        self._partial = partial_path(path)
        self._room = _room(header)
        if not resume:
            self._reserve(self._room + header.num_bytes)
        self.array: Array = np.memmap(
            self._partial, dtype=header.dtype, mode="r+", offset=self._room, shape=header.shape
        )

    @staticmethod
    def can_resume(path: str | Path, header: ArrayHeader) -> bool:
        """Return whether an earlier attempt has left an array of the right size."""
        try:
            return partial_path(path).stat().st_size == _room(header) + header.num_bytes
        except FileNotFoundError:
            return False

    def _reserve(self, size: int) -> None:
        with open(self._partial, "wb") as file:
            try:
                _reserve(file, size)
            except OSError as error:
                self._partial.unlink(missing_ok=True)
                raise OSError(error.errno, error.strerror, str(self._path)) from None
            file.truncate(size)

    def flush(self) -> None:
        """Bring the numbers so far to the disk."""
        assert isinstance(self.array, np.memmap)
        self.array.flush()

    def finish(self) -> None:
        """Make the array file: numbers first, then the header with their checksums, then its name."""
        self.flush()
        sums = [checksum(block) for block in _blocks([self.array])]
        text = _format_header(self._header, sums, [self._header.num_bytes])
        assert len(text) == self._room, "a header's length does not depend on its checksums"
        with open(self._partial, "r+b") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        del self.array
        os.replace(self._partial, self._path)
        sync_folder(self._path.parent)


def partial_path(path: str | Path) -> Path:
    """Return the hidden name under which an array is filled before it is finished."""
    return Path(path).with_name(f".{Path(path).name}{PARTIAL}")


def _room(header: ArrayHeader) -> int:
    """Return the bytes before the numbers of an array in one part."""
    num_blocks = -(-header.num_bytes // BLOCK_BYTES)
    return len(_format_header(header, ["0" * 2 * DIGEST_BYTES] * num_blocks, [header.num_bytes]))


def is_array_file(path: str | Path) -> bool:
    """Return whether a file begins as array files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC) + 1) == f"{MAGIC} ".encode()
    except OSError:
        return False


@contextmanager
def replaced_file(path: str | Path) -> Iterator[BinaryIO]:
    """Give a file to write that takes the place of `path` only when all of it is safely on disk."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}{TEMPORARY}")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise
    sync_folder(target.parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a small text file safely."""
    with replaced_file(path) as file:
        file.write(text.encode())


def sync_folder(folder: str | Path) -> None:
    """Make renames and deletions in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries(folder: str | Path) -> None:
    """Remove what processes that were killed while writing have left; the caller holds the folder's lock."""
    for path in Path(folder).iterdir():
        if is_temporary(path):
            path.unlink(missing_ok=True)


def is_temporary(path: Path) -> bool:
    """Return whether a file has the name of one that is being written."""
    return _TEMPORARY_NAME.fullmatch(path.name) is not None


def _reserve(file: BinaryIO, num_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, num_bytes)


def _blocks(arrays: list[Array]) -> Iterator[memoryview]:
    for part in arrays:
        content = part.reshape(-1).view(np.uint8).data
        for begin in range(0, part.nbytes, BLOCK_BYTES):
            yield content[begin : begin + BLOCK_BYTES]


def _block_ranges(lengths: list[int]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of every block, where each part of an array begins a new one."""
    offset = 0
    for length in lengths:
        for begin in range(0, length, BLOCK_BYTES):
            yield offset + begin, offset + min(begin + BLOCK_BYTES, length)
        offset += length


def _checksum_in(text: bytes) -> str:
    """Return the checksum that a formatted header has in its first line."""
    return text[:_FIRST_LINE_BYTES].split()[-1].decode()


def _format_header(header: ArrayHeader, sums: list[str], lengths: list[int], least_bytes: int = 0) -> bytes:
    entries = {
        "name": header.name,
        "shape": list(header.shape),
        "dtype": header.dtype,
        "units": header.units,
        "fingerprint": header.fingerprint,
        "notes": header.notes,
        "block_bytes": BLOCK_BYTES,
        "part_bytes": lengths,
        "checksums": sums,
    }
    text = json.dumps(entries).encode()
    room = max(-(-(_FIRST_LINE_BYTES + len(text) + 1) // PAGE) * PAGE, least_bytes)
    padded = text.ljust(room - _FIRST_LINE_BYTES - 1) + b"\n"
    return _first_line(len(padded), header.num_bytes, checksum(padded)).encode() + padded


@contextmanager
def _opened(path: str | Path) -> Iterator[BufferedReader]:
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below, after an error of opening was told apart
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None
    with file:
        yield file


def _read_header(file: BufferedReader, path: str) -> tuple[ArrayHeader, list[str], list[int], str]:
    line = file.read(_FIRST_LINE_BYTES).decode("ascii", errors="replace")
    match = _FIRST_LINE.fullmatch(line)
    if match is None:
        raise UsageError(f"'{path}' is not an array file of Errai, or its first line is damaged")
    if int(match[1]) != VERSION:
        raise UsageError(f"'{path}' has format version {match[1]}: expected version {VERSION}")
    header_bytes, data_bytes = int(match[2]), int(match[3])
    if line != _first_line(header_bytes, data_bytes, match[4]):
        raise UsageError(f"'{path}' is damaged: its first line is not as it was written")
    size = os.fstat(file.fileno()).st_size
    if size != _FIRST_LINE_BYTES + header_bytes + data_bytes or header_bytes > MAX_HEADER_BYTES:
        raise UsageError(
            f"'{path}' is damaged: it has {size:,} bytes, but its first line says "
            f"{_FIRST_LINE_BYTES + header_bytes + data_bytes:,}"
        )
    text = file.read(header_bytes)
    if checksum(text) != match[4]:
        raise UsageError(f"'{path}' is damaged: its header does not match its checksum")
    # From here on the header is what we once wrote.
    entries = json.loads(text)
    header = ArrayHeader(
        entries["name"],
        tuple(entries["shape"]),
        entries["dtype"],
        entries["units"],
        entries["fingerprint"],
        entries["notes"],
    )
    if header.dtype not in DTYPES or header.num_bytes != data_bytes or entries["block_bytes"] != BLOCK_BYTES:
        raise UsageError(
            f"'{path}' is damaged: its size does not match its header, {header.shape} of {header.dtype}"
        )
    return header, entries["checksums"], entries["part_bytes"], match[4]


def _first_line(header_bytes: int, data_bytes: int, header_sum: str) -> str:
    text = f"{MAGIC} {VERSION} {header_bytes:010d} {data_bytes:020d} {header_sum}"
    return text.ljust(_FIRST_LINE_BYTES - 1) + "\n"


def _verified_header(
    file: BufferedReader, path: str, fingerprint: str | None, expected_checksum: str | None
) -> tuple[ArrayHeader, list[str], list[int]]:
    header, sums, lengths, header_sum = _read_header(file, path)
    if fingerprint is not None and header.fingerprint != fingerprint:
        raise UsageError(
            f"'{path}' was made by another configuration: its fingerprint is '{header.fingerprint}', "
            f"expected '{fingerprint}'"
        )
    if expected_checksum is not None and header_sum != expected_checksum:
        raise UsageError(f"'{path}' is not the file that the checkpoint names: their checksums differ")
    return header, sums, lengths
