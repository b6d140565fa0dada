"""The programs in examples/ run, are short, and print what they are about."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "demo.py")

PRINTED = {
    "solve_and_measure.py": [
        r"Exploitability: 0\.\d{3} mbb/g after 1,000 iterations",
        r"The first position wins -0\.0856 chips a game",  # the linear programme says -0.085606
        r"From one who always calls it wins 0\.\d{4} chips, a best response 1\.4667",
        r"A king that faces a raise: \{'f': 0\.0, 'c': 0\.\d+, 'r': 0\.\d+\}",
        r"288 information sets, 673 lines of leduc\.csv",
    ],
    "own_rule.py": [
        r"cfr\+ +[0-3]\.\d{4} mbb/g",
        r"pcfr\+ +[0-3]\.\d{4} mbb/g",
        r"Smooth, rate 0\.5 +[0-3]\.\d{4} mbb/g",
    ],
    "spot.py": [
        r"Exploitability: 0\.(0\d|10)% of the pot",
        r"Expected values: 48\.\d first to act \(OOP\), 5[12]\.\d second \(IP\)",
        r"OOP to act: c \d+%, r50 \d+%, r200 \d+%",
        r"IP after a check: c \d+%, r50 \d+%, r200 \d+%",
        r"  KK \(\d+%\): 1\.00, 0\.00, 0\.00",
    ],
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 40
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines
    for expected in PRINTED.get(path.name, []):
        assert any(re.fullmatch(expected, line) for line in lines), (expected, lines)
    assert not list(tmp_path.iterdir())


def test_every_example_is_there() -> None:
    assert set(PRINTED) <= {path.name for path in EXAMPLES}
