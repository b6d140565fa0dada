"""`errai.solve`: solve a game by name of algorithm and keep what came out.

Stages: a run is configured (`configure`); a `Job` is allocated and, with a folder, locked (`prepare`, or
`prepare_resumed` from a folder), then run; a `Run` is what came out, in memory and, with a folder, on disk.
`run.strategy` is what to play, `run.average` and `run.current` where they differ, `run.measurements` the
convergence.
"""

import reprlib
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair, CardAbstraction
from errai.array_file import PAGE
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError, verify_function, verify_number, verify_path, verify_whole
from errai.folder_lock import FolderLock
from errai.games.bluff import BluffRules
from errai.games.catalogue import BluffName, Game, PokerName, load_game
from errai.games.payoffs import Payoffs
from errai.games.rules import PokerRules
from errai.memory import format_bytes, free_disk
from errai.runs.bluff import BluffRun, solve_bluff
from errai.runs.configuration import AbstractionSection, RunConfiguration
from errai.runs.folder import (
    RunFolder,
    lock_run,
    solver_tables,
    stop_from_state,
    stop_state,
    verify_free,
)
from errai.runs.rule_section import LINEAR_PROGRAMME, ForeignRule, LinearProgramme
from errai.solvers.make_solver import make_solver
from errai.solvers.solve import StopRule, configured_rule, run_solver, verify_measure_every
from errai.solvers.table_solver import Measurement, TableSolver
from errai.solvers.update_rules import UpdateRule
from errai.strategy.strategy import Strategy
from errai.tables.checkpoint import ARRAY_SUFFIX, has_checkpoint
from errai.tree.bet_menu import BetMenu
from errai.workers import verified_threads

if TYPE_CHECKING:
    from errai.solvers.linear_programme import ProgrammeSize

CHECKPOINT_SECONDS = 600.0
DTYPES = ("float32", "float64")


@dataclass(frozen=True, eq=False)
class Run:
    """A solved game.

    Attributes:
        strategy: what to play.
        average: the average strategy, which converges to an equilibrium.
        current: the last iteration's strategy.
        measurements: exploitability of the average along the way.
        iterations: iterations done.
        folder: where it was saved; None if it was not.
        interrupted: whether it was told to end before it was done.
    """

    strategy: Strategy
    average: Strategy
    current: Strategy
    measurements: tuple[Measurement, ...]
    iterations: int = 0
    folder: Path | None = None
    interrupted: bool = False

    def plot(self, path: str | Path) -> None:
        """Draw the convergence into a picture file, log-log; needs the extra `plots`."""
        from errai.runs.plot import plot_convergence

        plot_convergence({"average": self.measurements}, path, f"{self.strategy.game.name}")


@dataclass(eq=False)
class Job:
    """A run about to begin or to be resumed, with its memory taken and its folder locked; it runs once.

    Attributes:
        solver: fresh, or as the last checkpoint left it.
        stop: when to stop.
        measure_every: iterations between measurements; None leaves it to the stop rule.
        folder: where to save, locked until the job ends or is closed; None for nowhere.
        earlier: measurements of an interrupted run.
    """

    solver: TableSolver
    stop: StopRule
    measure_every: int | None
    folder: RunFolder | None
    earlier: list[Measurement]

    def run(
        self,
        report: Callable[[Measurement], None] | None = None,
        between: Callable[[], bool] | None = None,
        checkpoint_every: float = CHECKPOINT_SECONDS,
    ) -> Run:
        """Solve until done; saves now and then, at the end, and when told to end.

        Args:
            report: called after each measurement.
            between: called about once a second between iterations; True ends the run.
            checkpoint_every: seconds between checkpoints.
        """
        if not checkpoint_every >= 0:
            raise UsageError(f"the seconds between checkpoints must be 0 or more, not {checkpoint_every}")
        solver, folder = self.solver, self.folder
        measurements = list(self.earlier)
        saved = time.monotonic()
        interrupted = False

        def keep(measurement: Measurement) -> None:
            measurements.append(measurement)
            if folder is not None:
                folder.log(measurement)
            if report is not None:
                report(measurement)

        def pause() -> bool:
            nonlocal saved, interrupted
            interrupted = between is not None and between()
            if folder is not None and not interrupted and time.monotonic() - saved >= checkpoint_every:
                self.save()
                saved = time.monotonic()
            return interrupted

        try:
            if not self.is_done():
                run_solver(solver, self.stop, self.measure_every, keep, pause)
                if folder is not None:
                    self.save()
        finally:
            self.close()
        average, current = solver.strategy(), solver.strategy(current=True)
        assert isinstance(average, Strategy)
        assert isinstance(current, Strategy)
        where = folder.path if folder is not None else None
        return Run(average, average, current, tuple(measurements), solver.iteration, where, interrupted)

    def close(self) -> None:
        """Let another process write the folder; for a job that is not to run after all."""
        if self.folder is not None:
            self.folder.release()

    def is_done(self) -> bool:
        """Return whether an earlier measurement has met the stop rule already."""
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
            stop_state(self.stop, self.measure_every),
            solver_tables(solver),
            solver.layout,
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
    """

    configuration: RunConfiguration
    tree: PublicTree


def configure(
    game: Game,
    algorithm: str | UpdateRule = "cfr+",
    *,
    seed: int = 0,
    bets: BetMenu | str | None = None,
    abstraction: CardAbstraction | AbstractionPair | None = None,
    payoffs: Payoffs | str | None = None,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
    trunk: int | None = None,
    dtype: npt.DTypeLike | None = None,
) -> Configured:
    """Configure a run; arguments as for `solve`."""
    rule: UpdateRule | LinearProgramme = LinearProgramme()
    if algorithm != LINEAR_PROGRAMME:
        rule = configured_rule(algorithm, alternating, delay, discount, trunk)
    menu = BetMenu.parse(bets) if isinstance(bets, str) else bets
    if menu is not None and not isinstance(menu, BetMenu):
        raise UsageError(f"bets must be a BetMenu or text such as '0.5p,1p,all-in', not {reprlib.repr(menu)}")
    tree = _seen_tree(game, menu, abstraction, payoffs)
    if isinstance(rule, LinearProgramme):
        dtype = np.float64
    numbers = _verified_dtype(dtype) if dtype is not None else np.dtype(tree.default_dtype).name
    mark = None
    if tree.buckets is not None:
        mark = AbstractionSection(name=tree.buckets.name, fingerprint=tree.buckets.fingerprint)
    return Configured(RunConfiguration.of(game, menu, rule, numbers, seed, mark, tree.payoffs), tree)


def prepare(
    configured: Configured,
    stop: StopRule | None = None,
    *,
    num_threads: int | None = None,
    measure_every: int | None = None,
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
        out: as for `solve`.
        resume: as for `solve`.
        tables_in: as for `solve`.
    """
    with ExitStack() as undo:
        lock = None
        if out is not None:
            lock = lock_run(out, create=True)
            undo.callback(lock.abandon)
            if resume and has_checkpoint(out):
                job = _resumed(lock, stop, num_threads, measure_every, tables_in, configured)
                undo.pop_all()
                return job
            verify_free(lock)
        rule = configured.configuration.algorithm
        assert isinstance(rule, UpdateRule), "a linear programme has no iterations"
        numbers = configured.configuration.tables.dtype
        seed = configured.configuration.random.seed
        solver = make_solver(configured.tree, rule, numbers, num_threads, tables_in, seed)
        stop = stop or StopRule.of()
        folder = None
        if lock is not None:
            _verify_disk(lock, solver)
            state = stop_state(stop, measure_every)
            folder = RunFolder.create(lock, configured.configuration, state, configured.tree.buckets)
        undo.pop_all()
    return Job(solver, stop, measure_every, folder, [])


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
        num_threads: as for `solve`.
        measure_every: as for `solve`; without it the run's own.
        tables_in: as for `solve`.
    """
    with ExitStack() as undo:
        lock = lock_run(out, create=False)
        undo.callback(lock.release)
        job = _resumed(lock, stop, num_threads, measure_every, tables_in)
        undo.pop_all()
    return job


def _resumed(
    lock: FolderLock,
    stop: StopRule | None,
    num_threads: int | None,
    measure_every: int | None,
    tables_in: str | Path | None,
    asked: Configured | None = None,
) -> Job:
    """Take a run up whose folder is locked; one that is not as asked for is refused."""
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
    kept, kept_measuring = stop_from_state(folder.state())
    seed = found.random.seed
    solver = make_solver(folder.tree(), rule, found.tables.dtype, num_threads, tables_in, seed)
    folder.restore(solver)
    _verify_disk(lock, solver)
    return Job(solver, stop or kept, measure_every or kept_measuring, folder, folder.measurements())


def _seen_tree(
    game: Game,
    menu: BetMenu | None,
    abstraction: CardAbstraction | AbstractionPair | None,
    payoffs: Payoffs | str | None,
) -> PublicTree:
    """Return the game as the players see it."""
    tree = PublicTree.of(game, menu, payoffs)
    return tree if abstraction is None else tree.abstracted_by(abstraction)


def _verified_dtype(dtype: npt.DTypeLike) -> str:
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        raise UsageError(f"the tables must be {' or '.join(DTYPES)}, not '{name}'")
    return name


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


@overload
def solve(
    game: PokerRules | PokerName,
    algorithm: str | UpdateRule = ...,
    iterations: int | None = ...,
    seed: int = ...,
    **options: Any,
) -> Run: ...


@overload
def solve(
    game: BluffRules | BluffName,
    algorithm: str | UpdateRule = ...,
    iterations: int | None = ...,
    seed: int = ...,
    **options: Any,
) -> BluffRun: ...


@overload
def solve(
    game: str | Path,
    algorithm: str | UpdateRule = ...,
    iterations: int | None = ...,
    seed: int = ...,
    **options: Any,
) -> Run | BluffRun: ...


def solve(  # type: ignore[misc]  # the overloads name only what decides the type
    game: Game | str | Path,
    algorithm: str | UpdateRule = "cfr+",
    iterations: int | None = None,
    seed: int = 0,
    *,
    bets: BetMenu | str | None = None,
    abstraction: CardAbstraction | AbstractionPair | None = None,
    payoffs: Payoffs | str | None = None,
    until: float | None = None,
    seconds: float | None = None,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
    trunk: int | None = None,
    dtype: npt.DTypeLike | None = None,
    num_threads: int | None = None,
    measure_every: int | None = None,
    report: Callable[[Measurement], None] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    checkpoint_every: float = CHECKPOINT_SECONDS,
    tables_in: str | Path | None = None,
) -> Run | BluffRun:
    """Solve a game; Bluff is solved stage by stage, each to the same stop.

    Args:
        game: from `load_game`, or what it takes: a name or the path of an ACPC game file.
        algorithm: `cfr`, `cfr+`, `linear-cfr`, `dcfr`, `pcfr+` or `lp`; over sampled boards `pcs`, `opcs`,
            `spcs` or `cfr-br`; or an update rule.
        iterations: at most this many; without it 1,000, or any number where `until` or `seconds` is given.
        seed: of everything random; these algorithms draw nothing.
        bets: menu of bet sizes of a no-limit game.
        abstraction: what both players see of their cards, or a pair, one for each position, with None for a
            position that sees everything. Exploitability is that of the strategy in the real game.
        payoffs: what the players get at the end of a hand, as `Payoffs` or as text such as 'rake 5% cap 3';
            by default plain poker. Exploitability is measured with them.
        until: stop at this exploitability, in mbb a game.
        seconds: stop after this many seconds.
        alternating: whether players learn in turn; by default the algorithm's habit.
        delay: iterations before averaging starts.
        discount: (alpha, beta, gamma) for `dcfr`; where boards are sampled, alpha must be beta.
        trunk: with `cfr-br`, rounds above the sub-games that are sampled; by default 1.
        dtype: of the tables; by default float64 for small games.
        num_threads: by default all cores for large games; the result does not depend on it.
        measure_every: iterations between measurements of exploitability.
        report: called after each measurement.
        out: folder to save the run in, with checkpoints along the way.
        resume: continue the run in `out`, or begin it where there is none, and end with the same tables as
            a run that was never interrupted.
        checkpoint_every: seconds between checkpoints.
        tables_in: a folder on a disk that holds the tables during the run, in files without a name, so
            that they may be larger than the memory; the result does not depend on it.
    """
    for name, path in (("out", out), ("tables_in", tables_in)):
        if path is not None:
            verify_path(name, path)
    if report is not None:
        verify_function("report", report)
    verify_whole("seed", seed, 0)
    verify_measure_every(measure_every)
    verified_threads(num_threads)
    verify_number("checkpoint_every", checkpoint_every)
    game = load_game(game)
    stop = StopRule.of(iterations, until, seconds)
    if isinstance(game, BluffRules):
        given = (bets, abstraction, payoffs, out, tables_in)
        if any(one is not None for one in given) or algorithm == LINEAR_PROGRAMME:
            raise UsageError(
                f"'{game.name}' is a dice game: it takes no bet sizes, no abstraction, no payoffs, no "
                "folders and no lp"
            )
        rule = configured_rule(algorithm, alternating, delay, discount, trunk)
        return solve_bluff(game, rule, stop, measure_every, report, seed)
    configured = configure(
        game,
        algorithm,
        seed=seed,
        bets=bets,
        abstraction=abstraction,
        payoffs=payoffs,
        alternating=alternating,
        delay=delay,
        discount=discount,
        trunk=trunk,
        dtype=dtype,
    )
    if algorithm == LINEAR_PROGRAMME:
        return solve_exactly(configured, out)
    job = prepare(
        configured,
        stop,
        num_threads=num_threads,
        measure_every=measure_every,
        out=out,
        resume=resume,
        tables_in=tables_in,
    )
    return job.run(report, checkpoint_every=checkpoint_every)


def solve_exactly(
    configured: Configured,
    out: str | Path | None = None,
    report: "Callable[[ProgrammeSize], None] | None" = None,
) -> Run:
    """Solve a small game by its sequence-form linear programme.

    An abstraction must have perfect recall, and payoffs must sum to the same at every leaf.

    Args:
        configured: what is to be solved; its algorithm is `lp`.
        out: folder to save the solution in.
        report: called with the programme's size before it is solved.
    """
    from errai.solvers.sequence_form import solve_sequence_form  # SciPy takes its time to load

    tree = configured.tree
    began = time.perf_counter()
    with lock_run(out, create=True) if out is not None else nullcontext() as lock:
        if lock is not None:
            verify_free(lock)
        solved = solve_sequence_form(
            tree.betting,
            tree.cells,
            layout=tree.layout,
            payoffs=tree.payoffs,
            report=report,
            in_child=True,
        )
        exact = Strategy(tree, solved.tables)
        run = Run(exact, exact, exact, ())
        if lock is None:
            return run
        stop = stop_state(StopRule(1), None)
        folder = RunFolder.create(lock, configured.configuration, stop, tree.buckets)
        tables = {f"averages-{player}": table for player, table in enumerate(exact.tables)}
        folder.save(0, time.perf_counter() - began, stop, tables, tree.layout)
        return replace(run, folder=folder.path)
