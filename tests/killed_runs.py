"""A run that is killed again and again: python tests/killed_runs.py FOLDER KILLS SEED GAME ALGORITHM.

ALGORITHM is `shared` for external sampling whose threads share tables. Limit hold'em goes by buckets.

One process compiles the kernels and forks a child for each try; the child resumes the run, saving a
checkpoint every few iterations; the parent kills it with SIGKILL at a random moment, verifies every bit of
what is on disk and that nothing saved was lost, and lets the next child go on. In the end the tables must
be those of a run that was never interrupted.

Where threads share tables no two runs are alike. What is verified instead, after every kill: a run looks up
about once a second, and whenever it did, no more was unsaved than is learnt between two checkpoints.

Groups of shards are made so small that each table of Leduc has three; averages do not change before the delay
is over, so that some checkpoints keep files of earlier ones.
"""

import mmap
import os
import random
import shutil
import signal
import struct
import sys
import time
from pathlib import Path

import numpy as np

import errai
from errai.runs.folder import RunFolder, load_strategy, solver_tables
from errai.runs.job import Job, prepare, prepare_resumed
from errai.runs.run import configure
from errai.runs.training import Training
from errai.solvers.solve import StopRule
from errai.solvers.table_solver import Measurement
from errai.tables import groups
from errai.tables.checkpoint import has_checkpoint, read_arrays

ITERATIONS = 150
DELAY = 60
GROUP_BYTES = 1024


class Case:
    """A run, and what comes out where nobody kills it."""

    iterations = ITERATIONS
    interval = 0.0
    longest = 0.2

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
        self.prepare(folder).run(checkpoint_every=self.interval)

    def verify_end(self, folder: Path) -> None:
        self.solve(folder)
        _, tables = read_arrays(folder, list(self.tables), RunFolder(folder).fingerprint)
        for table, expected in zip(tables, self.tables.values(), strict=True):
            assert np.array_equal(table, expected)
        for mine, other in zip(RunFolder(folder).measurements(), self.measurements, strict=True):
            assert (mine.iteration, mine.exploitability) == (other.iteration, other.exploitability)


class HoldemCase(Case):
    """A run by buckets in limit hold'em, with the same bits at the end."""

    iterations = 300_000
    interval = 0.1
    longest = 2.0

    def __init__(self, **rule: object) -> None:
        self.training = Training.find(
            {
                "game": {"name": "limit-holdem"},
                "abstraction": {"name": "IR-PHS-SHS 169-5-5-5"},
                "algorithm": {"name": "external", **rule},
                "stop": {"iterations": self.iterations},
                "machine": {"threads": 2 if rule else 1},
            }
        )
        if os.fork() == 0:  # threads of a build would not survive in the children
            self.training.configured()
            os._exit(0)
        os.wait()
        self.finish()

    def finish(self) -> None:
        straight = self.prepare(None)
        self.measurements = straight.run().measurements
        self.tables = solver_tables(straight.solver)

    def prepare(self, folder: Path | None) -> Job:
        return self.training.prepare(folder, resume=folder is not None)


class SharedCase(HoldemCase):
    """The same with threads that share tables: told by how many seconds of learning are lost."""

    iterations = 10**9
    interval = 1.0
    longest = 4.0

    def finish(self) -> None:
        self.seen = mmap.mmap(-1, 24)  # of the child, seen by the parent: see `solve`
        self.saved = 0.0
        self.tables = {}

    def solve(self, folder: Path) -> None:
        job = self.prepare(folder)
        began, looks = time.time(), [job.solver.seconds] * 2

        def look() -> bool:
            """Note what was learnt at the last two looks; what was due at the first is on disk by now."""
            looks[:] = [looks[1], job.solver.seconds]
            self.seen[:] = struct.pack("3d", began, *looks)
            return False

        self.seen[:] = struct.pack("3d", began, *looks)
        job.run(between=look, checkpoint_every=self.interval)

    def lost(self, killed: float, saved: float) -> tuple[float, float]:
        """Return the seconds learnt but not saved at the look before the last, and all since the beginning.

        The latter count what is no learning, too, such as the start, and what was under way at the kill.

        Args:
            killed: when it was killed.
            saved: seconds of learning in the last checkpoint.
        """
        began, before, _ = struct.unpack("3d", self.seen[:])
        found = (before - saved, killed - began - (saved - self.saved)) if began else (0.0, 0.0)
        self.seen[:], self.saved = bytes(24), saved
        return found


def find_case(game: str, algorithm: str) -> Case:
    """Return a run by the words of the command line."""
    if algorithm == "shared":
        return SharedCase(shared=True)
    return HoldemCase() if game == "limit-holdem" else Case(game, algorithm)


def main() -> None:
    folder, kills, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    groups.GROUP_BYTES = GROUP_BYTES
    case = find_case(sys.argv[4], sys.argv[5])
    reached = finished = killed = kept = 0
    lost = []
    while killed < kills:
        child = os.fork()
        if child == 0:
            case.solve(folder)
            os._exit(0)
        time.sleep(rng.uniform(0, case.longest))
        moment = time.time()
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
        if isinstance(case, SharedCase):
            due, all_of_it = case.lost(moment, found.state["seconds"])
            assert due <= case.interval, f"{due} seconds were unsaved at a look"
            lost.append(all_of_it)
        kept += any(f"-{found.generation:06d}." not in file for file, _ in found.arrays.values())
        if reached:
            load_strategy(folder, verify=True)
        prepare_resumed(folder).close()
        if reached == case.iterations:
            case.verify_end(folder)
            finished += 1
            reached = 0
            shutil.rmtree(folder)
    if isinstance(case, SharedCase):
        print(f"{killed} kills, {reached} iterations saved, {max(lost):.3f} seconds lost at most at a kill")
        return
    case.solve(folder)
    case.verify_end(folder)
    files = len(list(folder.glob("*.array")))
    print(f"{killed} kills, {finished + 1} runs finished, {files} array files, {kept} times some were kept")


if __name__ == "__main__":
    main()
