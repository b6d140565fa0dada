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


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "errai", *shlex.split(command)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_runs(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
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
