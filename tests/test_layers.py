"""The import direction of the folders: a folder imports only from those above it."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "errai"

# As in CONTRIBUTING.md, from the ground up; the rim may not be imported by anybody.
LAYERS = [
    "cards",
    "games",
    "abstraction",
    "tree",
    "tables",
    "engine",
    "strategy",
    "response",
    "solvers",
    "runs",
    "modelling",
    "play",
    "evaluation",
    "cluster",
    "experiments",
]
RIM = ["web", "cli"]
GROUND = {"array_file", "errors", "folder_lock", "kernels", "memory", "validation", "workers"}

FILES = sorted(PACKAGE.rglob("*.py"))


def imported_rooms(path: Path) -> set[str]:
    """The parts of errai that a file imports, at the top or inside functions."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            assert node.module is not None
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
    return {name.split(".")[1] for name in modules if name.startswith("errai.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_up_only(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    rooms = imported_rooms(path)
    if room in ("__init__", "__main__"):
        return  # the front door opens every room
    if room in GROUND:
        assert rooms <= GROUND
    elif room in RIM:
        assert rooms <= GROUND | set(LAYERS) | {room, "__version__"}
    else:
        assert room in LAYERS, f"{room} is not a folder of the design"
        assert rooms <= GROUND | set(LAYERS[: LAYERS.index(room) + 1])


def test_a_wrong_import_is_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from errai.cli import main\n    import errai.tree.size\n")
    assert imported_rooms(wrong) == {"cli", "tree"}


def test_kernel_files_sit_beside_their_callers() -> None:
    """`_name.py` has its `name.py`, or serves other kernels, or several files, of the same folder."""
    for path in FILES:
        if path.name.startswith("_") and not path.name.startswith("__"):
            room = re.escape(".".join(path.relative_to(PACKAGE.parent).parent.parts))
            imported = re.compile(rf"from {room}(\.{path.stem} import | import {path.stem}\b)")
            callers = [other for other in path.parent.glob("*.py") if imported.search(other.read_text())]
            served = len(callers) > 1 or any(other.name.startswith("_") for other in callers)
            assert path.with_name(path.name[1:]).exists() or served, f"{path} has no caller beside it"


def test_numba_is_used_through_the_one_decorator() -> None:
    for path in FILES:
        if path.name != "kernels.py":
            assert "njit" not in path.read_text(), f"{path} goes around errai.kernels.kernel"
