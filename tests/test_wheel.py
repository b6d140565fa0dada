"""A wheel built from the source tree installs into a fresh environment and works outside the tree."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import errai

ROOT = Path(__file__).parent.parent
SOURCES = ("errai", "pyproject.toml", "README.md", "LICENSE", ".gitignore")
"""What a build looks at; what git ignores stays out of it."""


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command without what this process knows of the source tree."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="the extra 'dev' brings the build backend")
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in [name for name in SOURCES if (ROOT / name).exists()]:
        (tree / name).symlink_to(ROOT / name)
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    paths = os.pathsep.join(path for path in sys.path if path and Path(path) != ROOT)
    return out / run(sys.executable, "-c", build, out, cwd=tree, PYTHONPATH=paths).strip().splitlines()[-1]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel, and what it needs from this one."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", ask, cwd=folder).strip())
    # Folders named in a .pth file come after the environment's own, so this is not the Errai that runs.
    names = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(names)))
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install"]
    run(*pip, "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    return folder / "venv" / "bin"


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    package = ROOT / "errai"
    files = {
        path.relative_to(ROOT).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "errai/py.typed" in files
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == files


def test_it_is_found_where_it_was_installed(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed / "python", "-c", "import errai; print(errai.__file__, errai.__version__)", cwd=tmp_path
    )
    path, version = where.split()
    assert installed.parent in Path(path).parents
    assert version == errai.__version__


def test_the_command_works_outside_the_tree(installed: Path, tmp_path: Path) -> None:
    games = run(installed / "errai", "games", cwd=tmp_path)
    assert {"kuhn", "leduc", "limit-holdem"} <= set(games.split())
    # A game this small needs no compiled kernels, which would take a minute in a new place.
    solve: list[str | Path] = [installed / "errai", "solve", "kuhn", "--iterations", "20", "--out", "run"]
    run(*solve, cwd=tmp_path, NUMBA_DISABLE_JIT="1", ERRAI_CACHE_DIR=str(tmp_path / "cache"))
    table = run(installed / "errai", "show", "run", cwd=tmp_path, NUMBA_DISABLE_JIT="1")
    assert [line.split()[0] for line in table.splitlines() if line.split()[:1] in (["K"], ["Q"], ["J"])] == [
        "K",
        "Q",
        "J",
    ]
