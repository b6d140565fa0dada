"""The cost of a thing before it is paid: bytes in words, and a refusal of what does not fit."""

import os
import shutil
from pathlib import Path

from errai.errors import UsageError

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")


def format_bytes(num_bytes: int) -> str:
    """Write a number of bytes with the largest unit that keeps it above one.

    >>> format_bytes(3 * 2**20)
    '3.0 MiB'
    """
    unit = 0
    while unit + 1 < len(_UNITS) and num_bytes >= 1024 ** (unit + 1):
        unit += 1
    if unit == 0:
        return f"{num_bytes} bytes"
    scaled = num_bytes * 10 // 1024**unit  # integers: some games' tables exceed every float
    if scaled >= 10_000_000:
        digits = str(scaled // 10)
        return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1} {_UNITS[unit]}"
    return f"{scaled // 10}.{scaled % 10} {_UNITS[unit]}"


def available_memory() -> int:
    """Return the bytes of memory that the system could give without swapping."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def verify_memory(num_bytes: int, what: str) -> None:
    """Refuse what does not fit into the memory that is free now."""
    available = available_memory()
    if num_bytes > available:
        raise UsageError(
            f"{what} needs {format_bytes(num_bytes)} of memory, and {format_bytes(available)} are free"
        )


def free_disk(folder: str | Path) -> int:
    """Return the bytes that are free where a folder is or will be."""
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free
