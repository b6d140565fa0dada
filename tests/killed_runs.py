"""A run that is killed again and again: python tests/killed_runs.py FOLDER KILLS SEED GAME ALGORITHM.

One process compiles the kernels and forks a child for each try; the child resumes the run, saving a
checkpoint every few iterations; the parent kills it with SIGKILL at a random moment, verifies every bit of
what is on disk and that nothing saved was lost, and lets the next child go on. In the end the tables must
be those of a run that was never interrupted.

Groups of shards are made so small that each table of Leduc has three; averages do not change before the delay
is over, so that some checkpoints keep files of earlier ones.
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
from errai.runs.folder import RunFolder, load_strategy, solver_tables
from errai.runs.job import Job, prepare, prepare_resumed
from errai.runs.run import configure
from errai.solvers.solve import StopRule
from errai.solvers.table_solver import Measurement
from errai.tables import groups
from errai.tables.checkpoint import has_checkpoint, read_arrays

ITERATIONS = 150
DELAY = 60
GROUP_BYTES = 1024


class Case:
    """A run, and what comes out where nobody kills it."""

    def __init__(self, game: str, algorithm: str) -> None:
        self.configured = configure(errai.load_game(game), algorithm, delay=DELAY)
        straight = self.prepare(None)
        self.measurements: tuple[Measurement, ...] = straight.run().measurements
        self.tables = solver_tables(straight.solver)

    def prepare(self, folder: Path | None) -> Job:
        return prepare(
            self.configured, StopRule(ITERATIONS), measure_every=2, out=folder, resume=folder is not None
        )

    def solve(self, folder: Path) -> None:
        self.prepare(folder).run(checkpoint_every=0)

    def verify_end(self, folder: Path) -> None:
        self.solve(folder)
        _, tables = read_arrays(folder, list(self.tables), RunFolder(folder).fingerprint)
        for table, expected in zip(tables, self.tables.values(), strict=True):
            assert np.array_equal(table, expected)
        for mine, other in zip(RunFolder(folder).measurements(), self.measurements, strict=True):
            assert (mine.iteration, mine.exploitability) == (other.iteration, other.exploitability)


def main() -> None:
    folder, kills, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    groups.GROUP_BYTES = GROUP_BYTES
    case = Case(sys.argv[4], sys.argv[5])
    reached = finished = killed = kept = 0
    longest = 0.2
    while killed < kills:
        child = os.fork()
        if child == 0:
            case.solve(folder)
            os._exit(0)
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
        if not has_checkpoint(folder):
            assert reached == 0, "a saved checkpoint was lost"
            continue
        found, _ = read_arrays(folder, list(case.tables) if reached else [], RunFolder(folder).fingerprint)
        assert found.state["iteration"] >= reached, "a saved checkpoint was lost"
        reached = found.state["iteration"]
        kept += any(f"-{found.generation:06d}." not in file for file, _ in found.arrays.values())
        if reached:
            load_strategy(folder, verify=True)
        prepare_resumed(folder).close()
        if reached == ITERATIONS:
            case.verify_end(folder)
            finished += 1
            reached = 0
            shutil.rmtree(folder)
    case.solve(folder)
    case.verify_end(folder)
    files = len(list(folder.glob("*.array")))
    print(f"{killed} kills, {finished + 1} runs finished, {files} array files, {kept} times some were kept")


if __name__ == "__main__":
    main()
