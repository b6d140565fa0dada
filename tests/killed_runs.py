"""A run that is killed again and again: python tests/killed_runs.py FOLDER KILLS SEED.

One process compiles the kernels and forks a child for each try; the child resumes the run, saving a
checkpoint every few iterations; the parent kills it with SIGKILL at a random moment, verifies every bit of
what is on disk and that nothing saved was lost, and lets the next child go on. In the end the tables must
be those of a run that was never interrupted.
"""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np

import errai
from errai.runs.folder import RunFolder, load_strategy
from errai.runs.run import Run, prepare_resumed
from errai.tables.checkpoint import has_checkpoint, read_arrays

ITERATIONS = 150
TABLE_NAMES = ("regrets-0", "regrets-1", "averages-0", "averages-1")


def solve(folder: Path | None) -> Run:
    return errai.solve(
        errai.load_game("kuhn"),
        iterations=ITERATIONS,
        measure_every=2,
        out=folder,
        resume=folder is not None,
        checkpoint_every=0,
    )


def main() -> None:
    folder, kills, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    straight = solve(None)
    reached = finished = killed = 0
    longest = 0.2
    while killed < kills:
        child = os.fork()
        if child == 0:
            solve(folder)
            os._exit(0)
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
        if not has_checkpoint(folder):
            assert reached == 0, "a saved checkpoint was lost"
            continue
        found, _ = read_arrays(folder, list(TABLE_NAMES) if reached else [], RunFolder(folder).fingerprint)
        assert found.state["iteration"] >= reached, "a saved checkpoint was lost"
        reached = found.state["iteration"]
        if reached:
            load_strategy(folder)
        prepare_resumed(folder)
        if reached == ITERATIONS:
            verify_end(folder, straight)
            finished += 1
            reached = 0
            shutil.rmtree(folder)
    solve(folder)
    verify_end(folder, straight)
    print(f"{killed} kills, {finished + 1} runs finished")


def verify_end(folder: Path, straight: Run) -> None:
    solve(folder)
    _, tables = read_arrays(folder, list(TABLE_NAMES), RunFolder(folder).fingerprint)
    for table, expected in zip(tables, (*straight.current.tables, *straight.average.tables), strict=True):
        assert np.array_equal(table, expected)
    for mine, other in zip(RunFolder(folder).measurements(), straight.measurements, strict=True):
        assert (mine.iteration, mine.exploitability) == (other.iteration, other.exploitability)


if __name__ == "__main__":
    main()
