"""A run while it is under way: allocated and, with a folder, locked; then run, saved and measured.

`prepare` makes a `Job` of what `errai.runs.run.configure` has described, `prepare_resumed` of a folder; a
`Run` is what came out, in memory and, with a folder, on disk.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from errai.array_file import PAGE
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.folder_lock import FolderLock
from errai.memory import format_bytes, free_disk
from errai.runs.configuration import RunConfiguration
from errai.runs.evaluation import Evaluation, Evaluator
from errai.runs.folder import RunFolder, Schedule, lock_run, solver_tables, verify_free
from errai.runs.rule_section import ForeignRule, LinearProgramme
from errai.runs.sections import CHECKPOINT_SECONDS, EvaluationSection, MachineSection
from errai.solvers.make import make_solver
from errai.solvers.sampled import SampledSolver
from errai.solvers.solve import StopRule, run_looking
from errai.solvers.table_solver import Measurement, TableSolver
from errai.solvers.update_rules import UpdateRule
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.strategy import Strategy
from errai.tables.checkpoint import ARRAY_SUFFIX, has_checkpoint
from errai.tree.betting_tree import DECISION

if TYPE_CHECKING:
    pass

DTYPES = ("float32", "float64")


@dataclass(frozen=True, eq=False)
class Run:
    """A solved game.

    Attributes:
        strategy: what to play.
        average: the average strategy, which converges to an equilibrium.
        current: the last iteration's strategy.
        measurements: exact exploitability of the average along the way.
        iterations: iterations done.
        folder: where it was saved; None if it was not.
        interrupted: whether it was told to end before it was done.
        evaluations: all that was measured along the way.
    """

    strategy: Strategy | BucketStrategy
    average: Strategy | BucketStrategy
    current: Strategy | BucketStrategy
    measurements: tuple[Measurement, ...]
    iterations: int = 0
    folder: Path | None = None
    interrupted: bool = False
    evaluations: tuple[Evaluation, ...] = ()

    def plot(self, path: str | Path) -> None:
        """Draw the convergence into a picture file, log-log; needs the extra `plots`."""
        from errai.runs.plot import plot_convergence

        plot_convergence({"average": self.measurements}, path, f"{self.strategy.game.name}")


@dataclass(eq=False)
class Job:
    """A run about to begin or to be resumed, with its memory taken and its folder locked; it runs once.

    Attributes:
        solver: fresh, or as the last checkpoint left it.
        schedule: when to stop and what to measure.
        folder: where to save, locked until the job ends or is closed; None for nowhere.
        earlier: evaluations of an interrupted run.
        seed: of the boards that evaluations draw.
        checkpoint_seconds: between checkpoints.
        saved: what the players see of a game whose hands do not fit into memory; None where they do.
    """

    solver: TableSolver
    schedule: Schedule
    folder: RunFolder | None
    earlier: list[Evaluation]
    seed: int = 0

    checkpoint_seconds: float = CHECKPOINT_SECONDS
    saved: SavedAbstraction | None = None

    @property
    def stop(self) -> StopRule:
        """When to stop."""
        return self.schedule.stop

    @property
    def measure_every(self) -> int | None:
        """Iterations between measurements; None leaves it to the stop rule."""
        return self.schedule.measure_every

    def run(
        self,
        report: Callable[[Evaluation], None] | None = None,
        between: Callable[[], bool] | None = None,
        checkpoint_every: float | None = None,
    ) -> Run:
        """Solve until done; saves now and then, at the end, and when told to end.

        Args:
            report: called after each evaluation.
            between: called about once a second between iterations; True ends the run.
            checkpoint_every: seconds between checkpoints; by default the job's own.
        """
        if checkpoint_every is None:
            checkpoint_every = self.checkpoint_seconds
        if not checkpoint_every >= 0:
            raise UsageError(f"the seconds between checkpoints must be 0 or more, not {checkpoint_every}")
        solver, folder, schedule = self.solver, self.folder, self.schedule
        evaluations = list(self.earlier)
        saved = paused = time.monotonic()
        interrupted = False

        def keep(evaluation: Evaluation) -> None:
            evaluations.append(evaluation)
            if folder is not None:
                folder.log(evaluation)
            if report is not None:
                report(evaluation)

        def pause() -> bool:
            nonlocal saved, paused, interrupted
            interrupted = between is not None and between()
            now = time.monotonic()
            # Where the next pause would come too late, now: a kill may cost one interval, not a pause more.
            if folder is not None and not interrupted and now - saved + (now - paused) >= checkpoint_every:
                self.save()
                saved = time.monotonic()
            paused = time.monotonic()
            return interrupted

        try:
            if not self.is_done():
                look = Evaluator(solver, schedule.evaluation, self.seed, self.strategy).look
                seconds = schedule.evaluation.every_seconds
                run_looking(solver, self.stop, look, self.measure_every, seconds, keep, pause)
                if folder is not None:
                    self.save()
        finally:
            self.close()
        average, current = self.strategy(), self.strategy(current=True)
        measured = tuple(found for one in evaluations if (found := one.measurement) is not None)
        where = folder.path if folder is not None else None
        return Run(
            average, average, current, measured, solver.iteration, where, interrupted, tuple(evaluations)
        )

    def strategy(self, current: bool = False) -> Strategy | BucketStrategy:
        """Return the average strategy, or the current one; it changes with the tables."""
        if self.saved is not None and isinstance(self.solver, SampledSolver):
            return self.solver.bucket_strategy(self.saved, current)
        return self.solver.strategy(current)

    def close(self) -> None:
        """Let another process write the folder; for a job that is not to run after all."""
        if self.folder is not None:
            self.folder.release()

    def is_done(self) -> bool:
        """Return whether an earlier evaluation has met the stop rule already."""
        return (
            bool(self.earlier)
            and self.earlier[-1].iteration == self.solver.iteration
            and self.stop.is_met(self.earlier[-1])
        )

    def save(self) -> None:
        """Write a checkpoint of tables that are sound."""
        assert self.folder is not None
        solver = self.solver
        solver.verify_finite()
        self.folder.save(
            solver.iteration,
            solver.seconds,
            self.schedule.state(),
            solver_tables(solver),
            solver.layout,
        )

    @property
    def algorithm(self) -> str:
        """What reports call the way in which it is solved."""
        return self.solver.rule.name

    @property
    def abstraction(self) -> str | None:
        """The name of what the players see; None for everything."""
        if self.saved is not None:
            return self.saved.abstraction.name
        buckets = self.solver.tree.buckets
        return None if buckets is None else buckets.name

    @property
    def num_slots(self) -> int:
        """Slots of both players' tables."""
        return sum(self.solver.layout.num_slots)

    @property
    def num_infosets(self) -> int:
        """Information sets of both players, as the tables tell them apart."""
        if self.saved is None:
            return self.solver.tree.num_infosets
        strategy = self.strategy()
        assert isinstance(strategy, BucketStrategy)
        betting, layout = self.solver.tree.betting, strategy.layout
        decides = betting.kind == DECISION
        return sum(
            int((decides & (betting.player == q) & (betting.round == r)).sum()) * int(layout.rows[q, r])
            for q in (0, 1)
            for r in range(layout.rows.shape[1])
        )

    @property
    def table_bytes(self) -> int:
        """Bytes of the tables that checkpoints hold."""
        return sum(table.nbytes for table in solver_tables(self.solver).values())


class Configured(NamedTuple):
    """What is to be solved, described and built.

    Attributes:
        configuration: all that decides the tables.
        tree: the game as the players see it.
        saved: what they see of a game whose hands do not fit into memory; None where `tree` has it.
    """

    configuration: RunConfiguration
    tree: PublicTree
    saved: SavedAbstraction | None = None


def prepare(
    configured: Configured,
    stop: StopRule | None = None,
    *,
    num_threads: int | None = None,
    measure_every: int | None = None,
    evaluation: EvaluationSection | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    tables_in: str | Path | None = None,
) -> Job:
    """Allocate a run, and lock its folder before anything is looked for there.

    Args:
        configured: what is to be solved.
        stop: when to stop; by default that of `StopRule.of` for a new run, its own rule for a resumed one.
        num_threads: as for `solve`.
        measure_every: as for `solve`.
        evaluation: what is measured; by default the exact exploitability.
        out: as for `solve`.
        resume: as for `solve`.
        tables_in: as for `solve`.
    """
    if configured.saved is not None and stop is not None and stop.mbb_per_game is not None:
        raise UsageError(
            "a target needs the exact exploitability, and the hands of "
            f"'{configured.tree.game.name}' do not fit into memory: expected iterations or a time"
        )
    with ExitStack() as undo:
        lock = None
        if out is not None:
            lock = lock_run(out, create=True)
            undo.callback(lock.abandon)
            if resume and has_checkpoint(out):
                wanted = (stop, measure_every, evaluation)
                job = _resumed(lock, wanted, num_threads, tables_in, configured)
                undo.pop_all()
                return job
            verify_free(lock)
        rule = configured.configuration.algorithm
        assert isinstance(rule, UpdateRule), "a linear programme has no iterations"
        numbers, seed = configured.configuration.tables.dtype, configured.configuration.random.seed
        solver = make_solver(
            configured.tree, rule, numbers, num_threads, tables_in, seed, saved=configured.saved
        )
        schedule = Schedule(stop or StopRule.of(), measure_every, evaluation or EvaluationSection())
        begun = configured.configuration.begun_as(
            stop=schedule.stop_section(),
            evaluation=schedule.evaluation.model_copy(update={"every": _whole(measure_every)}),
            machine=MachineSection(
                threads=_whole(num_threads),
                tables_in=None if tables_in is None else str(Path(tables_in).absolute()),
            ),
        )
        folder = None
        if lock is not None:
            _verify_disk(lock, solver)
            folder = RunFolder.create(lock, begun, schedule.state(), configured.tree.buckets)
        undo.pop_all()
    return Job(solver, schedule, folder, [], seed, begun.checkpoint_seconds, configured.saved)


def _whole(number: int | None) -> int | None:
    """Return a whole number of Python's own in place of one of NumPy's."""
    return None if number is None else int(number)


def prepare_resumed(
    out: str | Path,
    stop: StopRule | None = None,
    *,
    num_threads: int | None = None,
    measure_every: int | None = None,
    tables_in: str | Path | None = None,
) -> Job:
    """Take a run up where its last checkpoint is.

    Args:
        out: its folder.
        stop: a new stop rule; without it the run's own.
        num_threads: as for `solve`; without it as the run was begun.
        measure_every: as for `solve`; without it the run's own.
        tables_in: as for `solve`; without it as the run was begun.
    """
    with ExitStack() as undo:
        lock = lock_run(out, create=False)
        undo.callback(lock.release)
        job = _resumed(lock, (stop, measure_every, None), num_threads, tables_in)
        undo.pop_all()
    return job


def _resumed(
    lock: FolderLock,
    wanted: tuple[StopRule | None, int | None, EvaluationSection | None],
    num_threads: int | None,
    tables_in: str | Path | None,
    asked: Configured | None = None,
) -> Job:
    """Take a run up whose folder is locked; one that is not as asked for is refused.

    Args:
        lock: of its folder.
        wanted: another stop rule, other iterations between measurements, other things to measure.
        num_threads: as for `solve`.
        tables_in: as for `solve`.
        asked: what the run must be.
    """
    folder = RunFolder.resume(lock)
    found = folder.configuration
    if asked is not None:
        found.verify_same(asked.configuration, lock.path)
        found = asked.configuration  # which has the rule itself, where the folder may have its name alone
    rule = found.algorithm
    if isinstance(rule, LinearProgramme):
        raise UsageError(
            f"'{lock.path}' was solved exactly by a linear programme: there is nothing to resume"
        )
    if isinstance(rule, ForeignRule):
        raise UsageError(
            f"'{lock.path}' was solved by the rule '{rule.name}' ({rule.origin}), which Errai does not know: "
            "solve(..., algorithm=rule, resume=True) resumes it"
        )
    if asked is None and found.machine is not None:
        num_threads = num_threads or found.machine.threads
        tables_in = tables_in or found.machine.tables_in
    saved = folder.saved_abstraction() if asked is None else asked.saved
    seed = found.random.seed
    solver = make_solver(folder.tree(), rule, found.tables.dtype, num_threads, tables_in, seed, saved=saved)
    folder.restore(solver)
    _verify_disk(lock, solver)
    kept = Schedule.of(folder.state())
    stop, measure_every, evaluation = wanted
    schedule = Schedule(stop or kept.stop, measure_every or kept.measure_every, evaluation or kept.evaluation)
    return Job(solver, schedule, folder, folder.evaluations(), seed, found.checkpoint_seconds, saved)


def _verify_disk(lock: FolderLock, solver: TableSolver) -> None:
    """Refuse a run whose checkpoints would not fit: the old and the new one lie side by side for a moment."""
    table_bytes = sum(table.nbytes for table in solver_tables(solver).values())
    # What lies there already, without the page of each header.
    taken = sum(max(0, path.stat().st_size - PAGE) for path in lock.path.glob(f"*{ARRAY_SUFFIX}"))
    needed, free = max(0, 2 * table_bytes - taken), free_disk(lock.path)
    if needed > free:
        raise UsageError(
            f"checkpoints in '{lock.path}' need {format_bytes(needed)} of disk, "
            f"and {format_bytes(free)} are free"
        )
