"""A run on disk: what is written where, and how it is found again.

A *run* is a folder:

    run.toml          the whole configuration (`errai.runs.configuration`)
    fingerprint       checksum of run.toml; stands in every array
    checkpoint.json   the iteration, when to stop, and the arrays of the last good checkpoint
    regrets-0-NNNNNN.array, ...   the arrays: a table, or the groups of a large table's shards
    buckets           with an abstraction: the bucket of every cell of the game; where the cells never are in
                      memory, run.toml names the abstraction's folder instead
    progress.jsonl    one line for each evaluation
    log.txt           what the command line told, with the time
    lock              held by the process that writes

Whoever writes locks first and then looks (`lock_run`), and keeps the lock until the job ends. Whoever reads
needs no lock: `run.toml` is written once and never changed, and a checkpoint is replaced in one step. Lines
of `progress.jsonl` after the last checkpoint are dropped when a run goes on: it measures again what it solves
again. A run keeps the buckets that it was solved with, so that its strategy does not depend on where the
abstraction came from.

What is verified when: opening a run verifies its configuration; `strategy` verifies every bit of the averages
and headers and sizes of all other arrays; resuming and `verify` verify every bit of everything.
"""

import json
import os
import reprlib
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.stored import cached_folder
from errai.array_file import Array, checksum, is_temporary, read_array, write_array, write_text
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.folder_lock import LOCK_NAME, FolderLock
from errai.games.catalogue import Game
from errai.runs.configuration import RunConfiguration
from errai.runs.evaluation import Evaluation
from errai.runs.rule_section import with_tuples
from errai.runs.sections import EvaluationSection, StopSection
from errai.solvers.solve import UNLIMITED, StopRule
from errai.solvers.table_solver import Measurement, SolverLayout, TableSolver
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.files import read_strategy, strategy_game
from errai.strategy.play_file import is_play_file, open_play_file, play_file_game
from errai.strategy.strategy import Strategy
from errai.tables import groups
from errai.tables.checkpoint import (
    FILE_NAME,
    CheckpointWriter,
    has_checkpoint,
    read_arrays,
    read_checkpoint,
    read_into,
    verify_arrays,
)
from errai.tree.bet_menu import BetMenu
from errai.tree.buckets import Buckets

CONFIGURATION_NAME = "run.toml"
FINGERPRINT_NAME = "fingerprint"
PROGRESS_NAME = "progress.jsonl"
BUCKETS_NAME = "buckets"
LOG_NAME = "log.txt"
ABSTRACTION_NAME = "abstraction"

UNITS = {"regrets": "chips", "averages": "weight"}
"""Of the tables that every rule has; those of a rule's own are in units of its own."""

_SIGNS = {LOCK_NAME, CONFIGURATION_NAME, FILE_NAME}
"""Files that tell a run's folder, a half-made one included, from somebody else's."""


def lock_run(path: str | Path, *, create: bool) -> FolderLock:
    """Take the right to write a run's folder.

    A folder that holds something else is left alone: not even a lock is put there. That look decides nothing
    about runs, and what does comes after the lock.

    Args:
        path: the folder.
        create: make it where it is missing; otherwise it must hold a run.
    """
    folder = Path(path)
    names = {one.name for one in folder.iterdir() if not is_temporary(one)} if folder.is_dir() else set()
    if create and ((folder.exists() and not folder.is_dir()) or (names and not names & _SIGNS)):
        raise _in_use(folder)
    if not create and not names & _SIGNS:
        raise _no_run(folder)
    return FolderLock(folder, create=create)


def _in_use(folder: Path) -> UsageError:
    return UsageError(f"'{folder}' is in use and holds no run: expected an empty or a new folder")


def _no_run(folder: Path) -> UsageError:
    return UsageError(f"'{folder}' is not a run: it has no {FILE_NAME}")


class RunFolder:
    """A run on disk."""

    def __init__(self, path: str | Path, lock: FolderLock | None = None) -> None:
        """Open a run's folder and verify its configuration.

        Args:
            path: the folder.
            lock: of the folder, to write it.
        """
        self.path = Path(path)
        if not has_checkpoint(path):
            raise _no_run(self.path)
        text = self._read_text(CONFIGURATION_NAME)
        self.fingerprint = checksum(text.encode())
        if self._read_text(FINGERPRINT_NAME) != f"{self.fingerprint}\n":
            raise UsageError(
                f"'{self.path / CONFIGURATION_NAME}' and '{self.path / FINGERPRINT_NAME}' do not match: "
                "one of them was changed after the run began"
            )
        self.configuration = RunConfiguration.parse(text, self.path / CONFIGURATION_NAME)
        self._lock = lock
        self._writer = CheckpointWriter(lock, self.fingerprint) if lock is not None else None

    @staticmethod
    def create(
        lock: FolderLock,
        configuration: RunConfiguration,
        state: dict[str, Any],
        buckets: Buckets | None = None,
    ) -> "RunFolder":
        """Begin a run in a folder; one that holds a run, or other things, is refused.

        Args:
            lock: of the folder; it is the run's from here on.
            configuration: of the run.
            state: when it is to stop and to be measured, as `Schedule` gives it.
            buckets: of its abstraction.
        """
        folder = lock.path
        verify_free(lock)
        text = configuration.text()
        fingerprint = checksum(text.encode())
        write_text(folder / CONFIGURATION_NAME, text)
        write_text(folder / FINGERPRINT_NAME, fingerprint + "\n")
        write_text(folder / PROGRESS_NAME, "")
        if buckets is not None:
            _write_buckets(folder / BUCKETS_NAME, buckets, fingerprint)
        # Only now is it a run: a kill before leaves files that the next one replaces.
        CheckpointWriter(lock, fingerprint).write(
            {"iteration": 0, "seconds": 0.0, **state, **_progress_state(b"")}, {}
        )
        return RunFolder(folder, lock)

    @staticmethod
    def resume(lock: FolderLock) -> "RunFolder":
        """Go on with the run in a folder; measurements after its last checkpoint are dropped.

        Args:
            lock: of the folder; it is the run's from here on.
        """
        found = RunFolder(lock.path, lock)
        write_text(found.path / PROGRESS_NAME, found._progress(found.state()).decode())
        return found

    @property
    def log_path(self) -> Path:
        """Where a command may keep what it tells."""
        return self.path / LOG_NAME

    def release(self) -> None:
        """Let another process write."""
        if self._lock is not None:
            self._lock.release()

    def _read_text(self, name: str) -> str:
        try:
            return (self.path / name).read_bytes().decode()
        except OSError as error:
            raise UsageError(f"'{self.path / name}' cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"'{self.path / name}' is damaged: it is not text") from None

    def tree(self) -> PublicTree:
        """Return the public tree of the run's game, abstracted as the run was."""
        tree = PublicTree.of(*self.configuration.restored, self.configuration.restored_payoffs)
        mark = self.configuration.abstraction
        return tree if mark is None or mark.folder is not None else tree.abstracted(self._buckets)

    def saved_abstraction(self) -> SavedAbstraction | None:
        """Return what the players see of a game whose hands do not fit into memory; None where they do.

        It is looked for beside the run, where it was, and in the cache.
        """
        mark = self.configuration.abstraction
        if mark is None or mark.folder is None:
            return None
        places = (self.path / ABSTRACTION_NAME, Path(mark.folder), cached_folder(mark.fingerprint))
        folders = list(dict.fromkeys(places))
        for folder in folders:
            if folder.is_dir():
                saved = SavedAbstraction.open(folder)
                if saved.fingerprint == mark.fingerprint:
                    return saved
        tried = " or ".join(f"'{folder}'" for folder in folders)
        raise UsageError(
            f"the abstraction '{mark.name}' (fingerprint {mark.fingerprint}) of '{self.path}' was not found "
            f"in {tried}: 'errai train {self.path / CONFIGURATION_NAME}' builds it"
        )

    @cached_property
    def _buckets(self) -> Buckets:
        assert self.configuration.abstraction is not None
        path = self.path / BUCKETS_NAME
        header, array = read_array(path, fingerprint=self.fingerprint)
        maps: tuple[dict[int, npt.NDArray[np.integer]], ...] = ({}, {})
        begin = 0
        for player, round_index, size in header.notes["maps"]:
            maps[player][round_index] = array[begin : begin + size]
            begin += size
        buckets = Buckets((maps[0], maps[1]), self.configuration.abstraction.name)
        if buckets.fingerprint != self.configuration.abstraction.fingerprint:
            raise UsageError(f"'{path}' does not hold the buckets of the run's abstraction")
        return buckets

    def state(self) -> dict[str, Any]:
        """Return what the last checkpoint says besides its arrays."""
        return read_checkpoint(self.path, self.fingerprint).state

    def strategy(self) -> Strategy | BucketStrategy:
        """Return the average strategy of the last checkpoint, every bit of it verified."""
        self.evaluations()
        verify_arrays(self.path, self.fingerprint, fully=False)
        _, tables = read_arrays(self.path, ["averages-0", "averages-1"], self.fingerprint)
        tree, saved = self.tree(), self.saved_abstraction()
        if saved is not None:
            return BucketStrategy(tree, saved, (tables[0], tables[1]))
        if tuple(len(table) for table in tables) != tree.layout.num_slots:
            raise UsageError(f"'{self.path}' has tables that do not fit its game '{tree.game.name}'")
        return Strategy(tree, (tables[0], tables[1]))

    def restore(self, solver: TableSolver) -> None:
        """Put a solver where the last checkpoint was."""
        found = read_checkpoint(self.path, self.fingerprint)
        if found.state["iteration"] == 0:
            return
        found = read_into(self.path, solver_tables(solver), self.fingerprint)
        solver.iteration, solver.seconds = found.state["iteration"], found.state["seconds"]

    def measurements(self) -> list[Measurement]:
        """Return the exact measurements up to the last checkpoint."""
        return [found for one in self.evaluations() if (found := one.measurement) is not None]

    def evaluations(self) -> list[Evaluation]:
        """Return all that was measured up to the last checkpoint."""
        points = [json.loads(line) for line in self._progress(self.state()).decode().splitlines()]
        big_blind = self.configuration.restored[0].big_blind if points else 0
        return [Evaluation.of(point, big_blind) for point in points]

    def _progress(self, state: dict[str, Any]) -> bytes:
        path = self.path / PROGRESS_NAME
        try:
            content = path.read_bytes()[: state["progress_bytes"]]
        except OSError as error:
            raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None
        if _progress_state(content) != {key: state[key] for key in ("progress_bytes", "progress_checksum")}:
            raise UsageError(f"'{path}' is damaged: it does not fit the checksum in checkpoint.json")
        return content

    def verify(self) -> None:
        """Verify every bit of the run, regrets included; damage is refused by the name of the file."""
        self.evaluations()
        if self.configuration.abstraction is not None and self.saved_abstraction() is None:
            self._buckets  # noqa: B018 - reading them verifies them
        verify_arrays(self.path, self.fingerprint)

    def log(self, evaluation: Evaluation) -> None:
        """Append an evaluation to `progress.jsonl`; whoever watches the file sees it at once."""
        with open(self.path / PROGRESS_NAME, "a") as lines:
            lines.write(json.dumps(evaluation.entries()) + "\n")

    def save(
        self,
        iteration: int,
        seconds: float,
        schedule: dict[str, Any],
        tables: dict[str, Array],
        layout: SolverLayout,
    ) -> None:
        """Write a checkpoint: those groups of shards that changed since the last one.

        Args:
            iteration: iterations done.
            seconds: time that they took.
            schedule: when the run is to stop and to be measured, as `Schedule` gives it.
            tables: by name and player, as `solver_tables` gives them.
            layout: of the tables.
        """
        assert self._writer is not None, "a run that is only read cannot be saved"
        with open(self.path / PROGRESS_NAME, "rb") as lines:
            os.fsync(lines.fileno())  # what the checkpoint vouches for must be on disk before it
            progress = _progress_state(lines.read())
        state = {"iteration": iteration, "seconds": seconds, **schedule, **progress}
        arrays: dict[str, Array] = {}
        for name, table in tables.items():
            begin = layout.shard_begin[int(name.rpartition("-")[2])]
            if begin[-1] != len(table):  # a table of another shape than regrets and averages is one shard
                begin = np.array([0, len(table)])
            arrays |= groups.grouped(name, table, begin, groups.GROUP_BYTES)
        unchanged = self._writer.find_unchanged(arrays)
        changed = {name: array for name, array in arrays.items() if name not in unchanged}
        self._writer.write(
            state,
            {name: (array, UNITS.get(name.partition("-")[0], "rule")) for name, array in changed.items()},
            unchanged,
        )


def verify_free(lock: FolderLock) -> None:
    """Refuse a folder that holds a run, or anything else but what a killed beginning has left."""
    names = {one.name for one in lock.path.iterdir()}
    if FILE_NAME in names:
        raise UsageError(f"'{lock.path}' holds a run already: resume it, or choose another folder")
    if CONFIGURATION_NAME not in names and names != {LOCK_NAME}:
        raise _in_use(lock.path)


def _write_buckets(path: Path, buckets: Buckets, fingerprint: str) -> None:
    maps = [(player, r, of[r]) for player, of in enumerate(buckets.maps) for r in sorted(of)]
    parts = [found.astype(np.int32) for _, _, found in maps]
    notes = {"maps": [(player, r, len(found)) for player, r, found in maps]}
    array = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    write_array(path, array, name="buckets", units="buckets", fingerprint=fingerprint, notes=notes)


@dataclass(frozen=True)
class Schedule:
    """When a run stops and is measured, which may change from one resumption to the next.

    Attributes:
        stop: when to stop.
        measure_every: iterations between measurements; None leaves it to the stop rule.
        evaluation: what is measured.
    """

    stop: StopRule
    measure_every: int | None = None
    evaluation: EvaluationSection = field(default_factory=EvaluationSection)

    def state(self) -> dict[str, Any]:
        """Return it as a checkpoint keeps it."""
        about = self.evaluation.model_dump(exclude={"every"}, exclude_defaults=True, mode="json")
        return {"stop": asdict(self.stop), "measure_every": self.measure_every, "evaluation": about}

    def stop_section(self) -> StopSection:
        """Return the stop rule as a configuration has it."""
        stop = self.stop
        seconds, target = (None if x is None else float(x) for x in (stop.seconds, stop.mbb_per_game))
        iterations = int(stop.iterations) if stop.iterations < UNLIMITED else None
        return StopSection(iterations=iterations, seconds=seconds, mbb_per_game=target)

    @staticmethod
    def of(state: dict[str, Any]) -> "Schedule":
        """Return the schedule that a checkpoint has kept."""
        about = with_tuples(state.get("evaluation", {}))
        return Schedule(StopRule(**state["stop"]), state["measure_every"], EvaluationSection(**about))


def solver_tables(solver: TableSolver) -> dict[str, Array]:
    """Return the tables of a solver by name and player, such as `regrets-0`."""
    return {
        f"{name}-{player}": table for name, pair in solver.tables.items() for player, table in enumerate(pair)
    }


def _progress_state(content: bytes) -> dict[str, Any]:
    return {"progress_bytes": len(content), "progress_checksum": checksum(content)}


def load_strategy(path: str | Path, *, verify: bool = False) -> Strategy | BucketStrategy:
    """Read a strategy that `Strategy.save` wrote, or the average strategy of a run; open a play file.

    Args:
        path: a strategy file, a run's folder, or a play file, whose tables stay on disk.
        verify: verify all of a run, not only its averages, and all of a play file, not only its manifest;
            strategy files always are.
    """
    if not isinstance(path, str | Path):
        raise UsageError(f"expected the path of a saved strategy or run, not {reprlib.repr(path)}")
    if not Path(path).is_dir():
        return open_play_file(path, verify=verify).strategy if is_play_file(path) else read_strategy(path)
    run = RunFolder(path)
    if verify:
        run.verify()
    return run.strategy()


def saved_game(path: str | Path) -> tuple[Game, BetMenu | None]:
    """Return the game and bet sizes of a saved strategy or run without reading its tables."""
    if Path(path).is_dir():
        return RunFolder(path).configuration.restored
    return play_file_game(path) if is_play_file(path) else strategy_game(path)
