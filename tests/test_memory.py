"""Memory and processors that a process may use: psutil's, or less in control groups as Linux writes them."""

import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from errai.memory import available_memory, num_cores, verify_memory

SYSTEM = 64 * 1024


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small machine without limits."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=SYSTEM))


def write(root: Path, files: dict[str, object]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


def version_2(path: str, groups: dict[str, dict[str, object]]) -> dict[str, object]:
    return {
        "proc/self/cgroup": f"0::{path}",
        **{
            f"sys/fs/cgroup/{group}/{name}": of
            for group, files in groups.items()
            for name, of in files.items()
        },
    }


@pytest.mark.usefixtures("system")
def test_memory_without_limits_is_the_systems(tmp_path: Path) -> None:
    assert available_memory(tmp_path) == SYSTEM
    write(tmp_path, version_2("/a", {"a": {"memory.max": "max", "memory.current": 5}}))
    assert available_memory(tmp_path) == SYSTEM
    write(tmp_path, version_2("/a", {"a": {"memory.max": 100_000, "memory.current": 5}}))
    assert available_memory(tmp_path) == SYSTEM  # a limit above what the machine has


@pytest.mark.usefixtures("system")
def test_smallest_limit_of_all_ancestors_counts(tmp_path: Path) -> None:
    own: dict[str, object] = {"memory.max": 50_000, "memory.current": 10_000}
    write(tmp_path, version_2("/job/step", {"job/step": own}))
    assert available_memory(tmp_path) == 40_000
    above: dict[str, object] = {"memory.max": 30_000, "memory.current": 12_000}
    above["memory.stat"] = "anon 1\ninactive_file 2000"
    write(tmp_path, version_2("/job/step", {"job/step": own, "job": above}))
    assert available_memory(tmp_path) == 20_000
    write(tmp_path, version_2("/job/step", {"": {"memory.max": 900, "memory.current": 1000}}))
    assert available_memory(tmp_path) == 0
    write(tmp_path, version_2("/elsewhere", {"": {"memory.max": 900, "memory.current": 300}}))
    assert available_memory(tmp_path) == 600  # the host's path, in a container that sees its root alone


@pytest.mark.usefixtures("system")
def test_limits_of_the_first_version(tmp_path: Path) -> None:
    lines = "9:name=systemd:/x\n4:memory:/batch/7\n2:cpu,cpuacct:/batch\n0::/"
    files: dict[str, object] = {
        "proc/self/cgroup": lines,
        "sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes": 9223372036854771712,
        "sys/fs/cgroup/memory/batch/7/memory.usage_in_bytes": 4096,
        "sys/fs/cgroup/memory/batch/memory.limit_in_bytes": 20_000,
        "sys/fs/cgroup/memory/batch/memory.usage_in_bytes": 6_000,
        "sys/fs/cgroup/memory/batch/memory.stat": "inactive_file 9\ntotal_inactive_file 1000",
        "sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us": 100_000,
        "sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us": 100_000,
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": -1,
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": 100_000,
    }
    write(tmp_path, files)
    assert available_memory(tmp_path) == 15_000
    assert num_cores(tmp_path) == 1


def test_processors_are_those_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil.Process, "cpu_affinity", lambda _: list(range(12)))
    assert num_cores(tmp_path) == 12
    write(tmp_path, version_2("/a/b", {"a/b": {"cpu.max": "max 100000"}}))
    assert num_cores(tmp_path) == 12
    write(tmp_path, version_2("/a/b", {"a": {"cpu.max": "250000 100000"}}))
    assert num_cores(tmp_path) == 3  # two and a half, which need three threads
    write(tmp_path, version_2("/a/b", {"": {"cpu.max": "20000 100000"}}))
    assert num_cores(tmp_path) == 1
    monkeypatch.setattr(psutil.Process, "cpu_affinity", lambda _: [5, 7])
    assert num_cores(tmp_path / "nowhere") == 2
    monkeypatch.delattr(psutil.Process, "cpu_affinity")  # as on systems that have none
    monkeypatch.setattr(psutil, "cpu_count", lambda: 6)
    assert num_cores(tmp_path / "nowhere") == 6


def test_this_process_has_some_of_both() -> None:
    assert available_memory() > 2**20
    assert 1 <= num_cores() <= len(os.sched_getaffinity(0))


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.memory.available_memory", lambda: 1024)
    verify_memory(1024, "this")
    with pytest.raises(ValueError, match=r"this needs 2\.0 KiB of memory, and 1\.0 KiB are free"):
        verify_memory(2048, "this")
