"""What the README says is run: its commands and its Python."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ errai (.*)$", README, flags=re.MULTILINE)
PROGRAMS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_commands_run_one_after_the_other(tmp_path: Path) -> None:
    """In one folder and in order: some use what others have saved."""
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "errai", *shlex.split(command)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout.strip(), command


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_runs(program: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2428287420" in done.stdout


def test_there_is_something_to_run() -> None:
    assert len(COMMANDS) >= 5
    assert len(PROGRAMS) == 1


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\bmake (\w+)\b", (ROOT / page).read_text()):
            if target in ("demo", "test", "prove", "bench", "clean"):
                assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_linked_files_exist() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link).exists(), link
