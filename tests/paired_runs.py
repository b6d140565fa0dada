"""Pairs of commands that want one folder at the same moment: python tests/paired_runs.py FOLDER PAIRS SEED.

One process compiles the kernels and forks two children for each pair; both wait for one signal and then do
what `errai` does with their arguments. One wins. The other is told so in one sentence, and the folder holds
the winner's run, every bit of it, as if there had been nobody else.
"""

import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

import errai
from errai.cli.main import main as errai_main
from errai.runs.folder import RunFolder
from errai.runs.job import Run
from errai.tables.checkpoint import read_checkpoint

GAME: Final = "kuhn"
COMMANDS: list[tuple[list[str], Callable[[], Run]]] = [
    (["--algorithm", "cfr+", "--iterations", "120"], lambda: errai.solve(GAME, "cfr+", 120)),
    (["--algorithm", "cfr", "--iterations", "80"], lambda: errai.solve(GAME, "cfr", 80)),
    (["--algorithm", "dcfr", "--iterations", "60"], lambda: errai.solve(GAME, "dcfr", 60)),
    (["--delay", "5", "--iterations", "90"], lambda: errai.solve(GAME, iterations=90, delay=5)),
    (["--simultaneous", "--iterations", "70"], lambda: errai.solve(GAME, iterations=70, alternating=False)),
    (["--dtype", "float32", "--iterations", "50"], lambda: errai.solve(GAME, iterations=50, dtype="float32")),
    (["--algorithm", "lp"], lambda: errai.solve(GAME, "lp")),
]
LINEAR_PROGRAMME_EVERY = 10
"""Only so many pairs have a linear programme in them, which starts a process of its own."""

REFUSALS = (
    "is being written by another process",
    "holds a run already: resume it, or choose another folder",
    "only the same one can be resumed",
)


def start(arguments: list[str], told: Path, gate: int) -> int:
    child = os.fork()
    if child:
        return child
    output = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["errai", *arguments]
    os.read(gate, 1)
    status = 99
    try:
        errai_main()
    except SystemExit as left:
        status = int(left.code or 0)
    finally:
        os._exit(status)


def race(first: list[str], second: list[str], place: Path, rng: random.Random) -> list[tuple[int, str]]:
    """Start two commands at once, or nearly; returns the exit status and the last line of each."""
    ready, go = os.pipe()
    told = [place / "first", place / "second"]
    children = [start(arguments, one, ready) for arguments, one in zip((first, second), told, strict=True)]
    os.write(go, b"x")
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0, 0.2))
    os.write(go, b"x")
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(ready)
    os.close(go)
    return [(status, one.read_text().splitlines()[-1]) for status, one in zip(statuses, told, strict=True)]


def assert_refused(outcome: tuple[int, str]) -> None:
    status, line = outcome
    assert status == 2, outcome
    assert line.startswith("errai: '"), line
    assert any(refusal in line for refusal in REFUSALS), line


def assert_whole(folder: Path, expected: Run) -> None:
    """The run that is there is one that was alone, and nothing else lies about."""
    run = RunFolder(folder)
    run.verify()
    for table, other in zip(run.strategy().tables, expected.strategy.tables, strict=True):
        assert np.array_equal(table, other)
    arrays = {file for file, _ in read_checkpoint(folder).arrays.values()}
    rest = {"run.toml", "fingerprint", "checkpoint.json", "progress.jsonl", "lock"}
    assert {path.name for path in folder.iterdir()} - {"log.txt"} == rest | arrays


def race_to_begin(place: Path, rng: random.Random, expected: list[Run], with_programme: bool) -> str:
    """Two commands that differ, on a new folder."""
    folder = place / "made" / "run"
    some = range(len(COMMANDS) - 1)
    pair = [rng.choice(some), len(COMMANDS) - 1] if with_programme else rng.sample(some, 2)
    rng.shuffle(pair)
    resumes = ["--resume"] if rng.random() < 0.3 else []
    first, second = (["solve", GAME, *COMMANDS[one][0], "--out", str(folder), *resumes] for one in pair)
    outcomes = race([*first, "--checkpoint-every", "0"], [*second, "--checkpoint-every", "0"], place, rng)
    winners = [one for one, (status, _) in zip(pair, outcomes, strict=True) if status == 0]
    assert len(winners) == 1, outcomes
    assert_refused(next(outcome for outcome in outcomes if outcome[0] != 0))
    assert_whole(folder, expected[winners[0]])
    shutil.rmtree(place / "made")
    return "busy" if any(REFUSALS[0] in line for _, line in outcomes) else "after"


def race_to_go_on(place: Path, rng: random.Random, expected: dict[int, Run]) -> str:
    """Two commands that take one run up, to different ends."""
    folder = place / "resumed"
    errai.solve(GAME, iterations=20, out=folder)
    ends = list(expected)
    rng.shuffle(ends)
    first, second = (["solve", "--resume", "--out", str(folder), "--iterations", str(end)] for end in ends)
    outcomes = race(first, second, place, rng)
    reached = [end for end, (status, _) in zip(ends, outcomes, strict=True) if status == 0]
    assert reached, outcomes
    for outcome in outcomes:
        if outcome[0]:
            assert_refused(outcome)
    assert_whole(folder, expected[max(reached)])
    shutil.rmtree(folder)
    return "busy" if len(reached) == 1 else "after"


def main() -> None:
    place, pairs, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    expected = [solve() for _, solve in COMMANDS]
    ends = {end: errai.solve(GAME, iterations=end) for end in (60, 600)}
    seen = {"busy": 0, "after": 0}
    for number in range(pairs):
        if number % 4 == 3:
            seen[race_to_go_on(place, rng, ends)] += 1
        else:
            seen[race_to_begin(place, rng, expected, number % LINEAR_PROGRAMME_EVERY == 0)] += 1
    print(f"{pairs} pairs, {seen['busy']} told while the other wrote, {seen['after']} after it")


if __name__ == "__main__":
    main()
