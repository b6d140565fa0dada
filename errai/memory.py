"""The cost of a thing before it is paid: bytes in words, and a refusal of what does not fit.

Memory and processors are those that this process may use, which in a container or in a job of a batch system
are fewer than the machine has. psutil knows the machine and the affinity; control groups, which it does not
look at, are read here.
"""

import shutil
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import psutil

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


def available_memory(root: str | Path = "/") -> int:
    """Return the bytes of memory that this process could still take without swapping.

    That is what the system has, or what is left of the smallest limit of a control group (a container, a job
    of a batch system) that the process is in, directly or through an ancestor.

    Args:
        root: where the `proc` and `sys` of control groups are.
    """
    limits = [psutil.virtual_memory().available]
    for folder, limit, usage, cache in _memory_groups(Path(root)):
        most, taken = _number(folder / limit), _number(folder / usage)
        if most is not None and taken is not None:
            # Files that were only read are counted as taken, and given back as soon as they are in the way.
            limits.append(max(0, most - max(0, taken - _field(folder / "memory.stat", cache))))
    return min(limits)


def num_cores(root: str | Path = "/") -> int:
    """Return the processors that this process may use: affinity and quotas of control groups count.

    Args:
        root: where the `proc` and `sys` of control groups are.
    """
    # Not every system has an affinity (macOS has none).
    process = psutil.Process()
    allowed = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else psutil.cpu_count() or 1
    quotas = [quota for quota in _cpu_quotas(Path(root)) if quota > 0]
    return max(1, min([allowed, *(ceil(quota) for quota in quotas)]))


def _memory_groups(root: Path) -> Iterator[tuple[Path, str, str, str]]:
    """Yield folder, and names of limit, usage and cache, of every control group that counts memory."""
    for folder in _groups(root, None):
        yield folder, "memory.max", "memory.current", "inactive_file"
    for folder in _groups(root, "memory"):
        yield folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"


def _cpu_quotas(root: Path) -> Iterator[float]:
    """Yield how many processors' time each control group may use; none where there is no quota."""
    for folder in _groups(root, None):
        words = _text(folder / "cpu.max").split()
        if len(words) == 2 and all(word.isdigit() for word in words):
            yield int(words[0]) / int(words[1])
    for folder in _groups(root, "cpu"):
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        if quota is not None and period:
            yield quota / period


def _groups(root: Path, controller: str | None) -> Iterator[Path]:
    """Yield the folders of this process's control group and of all above it.

    Args:
        root: where `proc` and `sys` are.
        controller: of version 1, such as `memory`; None for the one tree of version 2.
    """
    mounts = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if controller is None and names == "":
            mount = mounts / "unified" if (mounts / "unified").is_dir() else mounts
        elif controller is not None and controller in names.split(","):
            mount = mounts / names if (mounts / names).is_dir() else mounts / controller
        else:
            continue
        # Inside a container the path may be the host's: what of it does not exist here has no files.
        inner = Path(path.lstrip("/"))
        for group in (inner, *inner.parents):
            yield mount / group


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _field(path: Path, name: str) -> int:
    """Return the number after a word at the beginning of a line; 0 where there is none."""
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


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
