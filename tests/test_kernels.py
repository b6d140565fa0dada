"""The kernel cache: never stale, told once, and harmless where nothing can be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from errai.kernels import cache_root

ROOT = Path(__file__).parent.parent

USE_A_KERNEL = (
    "import numpy as np; from errai.cards import evaluate; print(evaluate(np.array([[0, 5, 10, 15, 20]])))"
)


def run(code: str, cache: Path, package_home: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    environment |= {"ERRAI_CACHE_DIR": str(cache), "PYTHONPATH": str(package_home)}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=package_home,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


def test_first_run_says_so_and_second_is_silent(tmp_path: Path) -> None:
    first = run(USE_A_KERNEL, tmp_path)
    assert first.stderr.count("compiling kernels") == 1
    second = run(USE_A_KERNEL, tmp_path)
    assert second.stderr == ""
    assert second.stdout == first.stdout


def test_a_change_in_any_kernel_file_starts_an_empty_cache(tmp_path: Path) -> None:
    """Numba alone would load old code when a function in another file changes."""
    home = tmp_path / "home"
    package = home / "errai"
    package.mkdir(parents=True)
    for name in ("__init__.py", "errors.py", "kernels.py"):
        shutil.copy(ROOT / "errai" / name, package / name)
    room = package / "room"
    room.mkdir()
    (room / "__init__.py").write_text("")
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
