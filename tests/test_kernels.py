"""The kernel cache: never stale, told once, and harmless where nothing can be written."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from errai.kernels import _OverloadFiles, cache_root

ROOT = Path(__file__).parent.parent

USE_A_KERNEL = (
    "import numpy as np; from errai.cards import evaluate; print(evaluate(np.array([[0, 5, 10, 15, 20]])))"
)


def run(code: str, cache: Path, package_home: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    # Numba's symbols depend on the order of a set; a fixed seed lets those of two processes be alike.
    environment |= {"ERRAI_CACHE_DIR": str(cache), "PYTHONPATH": str(package_home), "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=package_home,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


def small_package(tmp_path: Path) -> tuple[Path, Path]:
    """Make a package of nothing but the decorator; return where it lies, and a room in it for kernels."""
    home = tmp_path / "home"
    room = home / "errai" / "room"
    room.mkdir(parents=True)
    for name in ("__init__.py", "errors.py", "kernels.py"):
        shutil.copy(ROOT / "errai" / name, home / "errai" / name)
    (room / "__init__.py").write_text("")
    return home, room


def test_first_run_says_so_and_second_is_silent(tmp_path: Path) -> None:
    first = run(USE_A_KERNEL, tmp_path)
    assert first.stderr.count("compiling kernels") == 1
    second = run(USE_A_KERNEL, tmp_path)
    assert second.stderr == ""
    assert second.stdout == first.stdout


def test_a_change_in_any_kernel_file_starts_an_empty_cache(tmp_path: Path) -> None:
    """Numba alone would load old code when a function in another file changes."""
    home, room = small_package(tmp_path)
    inner = "from errai.kernels import kernel\n\n@kernel()\ndef inner(x):\n    return x + {}\n"
    outer = (
        "from errai.kernels import kernel\nfrom errai.room._inner import inner\n\n"
        "@kernel()\ndef outer(x):\n    return inner(x) * 10\n"
    )
    (room / "_inner.py").write_text(inner.format(1))
    (room / "_outer.py").write_text(outer)
    ask = "from errai.room._outer import outer; print(outer(1))"
    assert run(ask, tmp_path / "cache", home).stdout == "20\n"
    assert run(ask, tmp_path / "cache", home).stderr == ""
    (room / "_inner.py").write_text(inner.format(2))
    assert run(ask, tmp_path / "cache", home).stdout == "30\n"


def test_code_of_two_processes_is_told_apart(tmp_path: Path) -> None:
    """Numba alone gives both `add_up` one symbol, and whoever loads both calls one of them for both."""
    home, room = small_package(tmp_path)
    # So long that it is not inlined into its callers.
    rest = "".join(f"            total[1] += abs(numbers[i] - {k}.0) ** {k}.5\n" for k in range(60))
    (room / "_pair.py").write_text(
        "from errai.kernels import kernel\n\n"
        "def make(factor):\n"
        "    @kernel()\n"
        "    def add_up(numbers, total):\n"
        "        for i in range(len(numbers)):\n"
        f"            total[0] += factor * numbers[i]\n{rest}"
        "    return add_up\n\n"
        "add_once, add_twice = make(1.0), make(2.0)\n\n"
        + "".join(
            f"@kernel()\ndef {name}(numbers, total):\n    add_{name}(numbers, total)\n"
            f"    add_{name}(numbers, total)\n\n"
            for name in ("once", "twice")
        )
    )
    ask = (
        "import numpy as np; from errai.room import _pair\n"
        "for name in {!r}:\n"
        "    total = np.zeros(2)\n"
        "    getattr(_pair, name)(np.arange(5.0), total)\n"
        "    print(name, total[0])\n"
    )
    cache = tmp_path / "cache"
    assert run(ask.format(["once"]), cache, home).stdout == "once 20.0\n"
    assert run(ask.format(["twice"]), cache, home).stdout == "twice 40.0\n"
    both = run(ask.format(["once", "twice"]), cache, home)
    assert both.stderr == ""  # all of it comes from the cache
    assert both.stdout == "once 20.0\ntwice 40.0\n"


def test_overloads_that_are_saved_at_once_are_all_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba alone may write both to one file, which its index names for one of them."""
    first, second = (_OverloadFiles(str(tmp_path), "kernel", "stamp") for _ in range(2))
    has_read, may_go_on = threading.Event(), threading.Event()

    def read_and_wait() -> dict[str, str]:
        index: dict[str, str] = _OverloadFiles._load_index(first)
        has_read.set()
        may_go_on.wait(0.5)  # in vain: the other one waits for the lock
        return index

    monkeypatch.setattr(first, "_load_index", read_and_wait)
    saving = threading.Thread(target=first.save, args=("float32", "code of float32"))
    saving.start()
    has_read.wait()
    second.save("float64", "code of float64")
    may_go_on.set()
    saving.join()
    reader = _OverloadFiles(str(tmp_path), "kernel", "stamp")
    assert reader.load("float32") == "code of float32"
    assert reader.load("float64") == "code of float64"


def test_no_file_of_an_overload_is_named_again(tmp_path: Path) -> None:
    """An index that was read before another process began anew still names the right files."""
    files = _OverloadFiles(str(tmp_path), "kernel", "stamp")
    files.save("float32", "code of float32")
    older = files._load_index()
    files.flush()
    files.save("float64", "code of float64")
    files._save_index(older)
    assert files.load("float32") == "code of float32"


def test_an_overload_that_cannot_be_saved_is_no_error(tmp_path: Path) -> None:
    _OverloadFiles(str(tmp_path / "missing"), "kernel", "stamp").save("float32", "code of float32")


def test_a_cache_that_cannot_be_written_is_said_and_survived(tmp_path: Path) -> None:
    not_a_folder = tmp_path / "file"
    not_a_folder.write_text("")
    done = run(USE_A_KERNEL, not_a_folder)
    assert "cannot be written" in done.stderr
    assert done.stdout.startswith("[")


def test_old_caches_are_removed(tmp_path: Path) -> None:
    old = tmp_path / "kernels-0123"
    old.mkdir()
    os.utime(old, (0, 0))
    fresh = tmp_path / "kernels-4567"
    fresh.mkdir()
    run("import errai.kernels", tmp_path)
    assert not old.exists()
    assert fresh.exists()


def test_other_users_of_numba_keep_their_cache(tmp_path: Path) -> None:
    code = (
        "import numba; before = numba.config.CACHE_DIR; import errai.cards.evaluator; "
        "print(numba.config.CACHE_DIR == before)"
    )
    assert run(code, tmp_path).stdout == "True\n"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"ERRAI_CACHE_DIR": "/own", "XDG_CACHE_HOME": "/caches"}, "/own"),
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/errai"),
        ({}, "HOME/.cache/errai"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
def test_where_the_cache_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], expected: str
) -> None:
    for name in ("ERRAI_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), **variables}.items():
        monkeypatch.setenv(name, value)
    assert cache_root() == Path(expected.replace("HOME", str(tmp_path)))
