"""How the shards of a table are held: number format, memory or disk, behind one seam.

A solver opens a shard, works on an array of floats and closes it again; or it hands over gains to be added.
How the numbers lie in between it does not know:

    view = shards.open(number, buffer)      # the held numbers themselves, or `buffer` filled with them
    ...                                     # read and written
    shards.close(number, view)              # held again, and marked as changed
    shards.add(number, gains)               # without opening

Formats: float64, float32, and int32 fixed point, where a number v is held as v times the table's scale,
rounded half to even, between -(2^31 - 1) and 2^31 - 1. Whatever goes beyond an end stays at the end, in
floats too; NaN is refused. Opening and closing again changes nothing where the working floats are float64;
float32 has 24 bits, so int32 shards are then better added to.

On disk a table is a memory-mapped file without a name, which is gone when the process ends, however it ends.
Its blocks are reserved before it is mapped: a full disk is an error then, and not a signal later. It is
memory, not a checkpoint.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.memory import format_bytes, free_disk, verify_memory
from errai.tables import _shards as kernels
from errai.tables.layout import Floats

DTYPES = ("float64", "float32", "int32")


@dataclass(frozen=True)
class NumberFormat:
    """How one number is held.

    Attributes:
        dtype: NumPy's name: one of `DTYPES`.
        scale: what int32 multiplies a number with before it is rounded; 1 for floats.
    """

    dtype: str
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise UsageError(f"numbers cannot be held as '{self.dtype}': expected {', '.join(DTYPES)}")
        if not 0 < self.scale < float("inf"):
            raise UsageError(f"the scale must be a finite number above 0, not {self.scale}")
        if self.scale != 1 and not self.is_fixed:
            raise UsageError(f"'{self.dtype}' takes no scale: only int32 does")

    @property
    def is_fixed(self) -> bool:
        """Whether it is fixed point."""
        return self.dtype == "int32"

    @property
    def largest(self) -> float:
        """The largest number that can be held; its negative is the least."""
        return kernels.LARGEST / self.scale if self.is_fixed else float(np.finfo(self.dtype).max)

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return np.dtype(self.dtype).itemsize


class Shards:
    """One table of one player, held shard by shard.

    Attributes:
        begin: int64[shards + 1] where each shard begins, as `SubgameLayout.shard_begin` gives it.
        format: of the held numbers.
        working: dtype of what `open` gives.
        changed: the shards that were closed or added to since this set was last cleared.
        held: the numbers as they are held, all shards one after the other; what a checkpoint writes.
    """

    def __init__(
        self,
        begin: npt.NDArray[np.int64],
        number_format: NumberFormat,
        working: npt.DTypeLike = np.float64,
        folder: str | Path | None = None,
    ) -> None:
        """Allocate a table of zeros; what does not fit is refused first.

        Args:
            begin: int64[shards + 1].
            number_format: how numbers are held.
            working: float32 or float64.
            folder: where to put a table on disk; None for memory.
        """
        self.begin = begin
        self.format = number_format
        self.working: np.dtype[Any] = np.dtype(working)
        if self.working.name not in ("float64", "float32"):
            raise UsageError(f"the working numbers must be float32 or float64, not '{self.working.name}'")
        self.changed: set[int] = set()
        num_bytes = bytes_needed(begin, number_format)
        what = f"a table of {int(begin[-1]):,} slots as {number_format.dtype}"
        self.held: npt.NDArray[Any]
        if folder is None:
            verify_memory(num_bytes, what)
            self.held = np.zeros(int(begin[-1]), dtype=number_format.dtype)
        else:
            self.held = _mapped_zeros(Path(folder), int(begin[-1]), number_format.dtype, what)

    @property
    def num_shards(self) -> int:
        """How many shards there are."""
        return len(self.begin) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all held numbers."""
        return int(self.held.nbytes)

    def size(self, shard: int) -> int:
        """Return the slots of a shard."""
        return len(self._of(shard))

    def open(self, shard: int, buffer: Floats | None = None) -> Floats:
        """Return the numbers of a shard to read and to write, until it is closed.

        Args:
            shard: its number.
            buffer: working floats, as many as the shard has slots or more. Where numbers are held as what is
                worked with it stays as it is, and the held numbers themselves are returned.
        """
        held = self._of(shard)
        if held.dtype == self.working:
            return held
        if buffer is None or buffer.dtype != self.working or buffer.ndim != 1 or len(buffer) < len(held):
            given = "none" if buffer is None else f"one of {buffer.shape} {buffer.dtype}"
            raise UsageError(
                f"shard {shard} needs a buffer of {len(held):,} {self.working} to be opened in: "
                f"{given} was given"
            )
        values = buffer[: len(held)]
        if self.format.is_fixed:
            kernels.decode_fixed(held, self.format.scale, values)
        else:
            np.copyto(values, held, casting="same_kind")
        return values

    def close(self, shard: int, values: Floats) -> None:
        """Hold what was worked on; it counts as changed.

        Args:
            shard: its number.
            values: what `open` gave, or any other floats for each of its slots.
        """
        held = self._verified(shard, values)
        if values.dtype != held.dtype:
            if self.format.is_fixed:
                kernels.encode_fixed(values, self.format.scale, held)
            else:
                kernels.encode_float(values, self.format.largest, held)
        elif not np.may_share_memory(values, held):
            held[:] = values
        self.changed.add(shard)

    def add(self, shard: int, gains: Floats) -> None:
        """Add to the held numbers of a shard; it counts as changed.

        Args:
            shard: its number.
            gains: a float for each of its slots.
        """
        held = self._verified(shard, gains)
        if self.format.is_fixed:
            kernels.add_fixed(gains, self.format.scale, held)
        else:
            kernels.add_float(gains, self.format.largest, held)
        self.changed.add(shard)

    def _of(self, shard: int) -> npt.NDArray[Any]:
        if not 0 <= shard < self.num_shards:
            raise UsageError(f"shard {shard} does not exist: the table has {self.num_shards:,}")
        return self.held[self.begin[shard] : self.begin[shard + 1]]

    def _verified(self, shard: int, values: Floats) -> npt.NDArray[Any]:
        """Return a shard's held numbers if these floats fit them; nothing was written if not."""
        held = self._of(shard)
        if values.shape != held.shape or values.dtype.name not in ("float64", "float32"):
            raise UsageError(
                f"{values.shape} {values.dtype} do not fit shard {shard}: expected {held.shape} floats"
            )
        wrong = int(kernels.find_nan(values))
        if wrong != kernels.NOWHERE:
            raise FloatingPointError(f"slot {int(self.begin[shard]) + wrong} of a table is not a number")
        return held


def bytes_needed(begin: npt.NDArray[np.int64], number_format: NumberFormat) -> int:
    """Return the bytes that a table takes, in memory or on disk.

    Args:
        begin: int64[shards + 1].
        number_format: how numbers are held.
    """
    return int(begin[-1]) * number_format.itemsize


def _mapped_zeros(folder: Path, num_slots: int, dtype: str, what: str) -> npt.NDArray[Any]:
    """Return zeros in a file that has no name."""
    num_bytes = num_slots * np.dtype(dtype).itemsize
    free = free_disk(folder)
    if num_bytes > free:
        raise UsageError(
            f"{what} needs {format_bytes(num_bytes)} of disk in '{folder}', and {format_bytes(free)} are free"
        )
    if num_bytes == 0:
        return np.zeros(0, dtype=dtype)  # nothing cannot be mapped
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, num_bytes)
            else:
                file.truncate(num_bytes)
            return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=(num_slots,)))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None
