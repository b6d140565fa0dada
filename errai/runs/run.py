"""`errai.solve`: solve a game by name of algorithm and keep what came out.

Stages: a `Job` is configured and allocated (`prepare`, or `prepare_resumed` from a folder), then run; a `Run`
is what came out, in memory and, with a folder, on disk. `run.strategy` is what to play, `run.average` and
`run.current` where they differ, `run.measurements` the convergence.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.catalogue import Game
from errai.games.payoffs import Payoffs
from errai.games.rules import PokerRules
from errai.memory import format_bytes, free_disk
from errai.runs.bluff import BluffRun, solve_bluff
from errai.runs.folder import (
    AbstractionMark,
    RunConfiguration,
    RunFolder,
    solver_tables,
    stop_from_state,
    stop_state,
)
from errai.solvers.solve import Measurement, Solver, StopRule, configured_rule, run_solver
from errai.solvers.update_rules import FactorRule, UpdateRule, is_recipe
from errai.strategy.strategy import Strategy
from errai.tables.checkpoint import has_checkpoint
from errai.tree.bet_menu import BetMenu
from errai.tree.buckets import AbstractionPair, CardAbstraction

LINEAR_PROGRAMME = "lp"
DEFAULT_ITERATIONS = 1000
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
    """A run about to begin or to go on, with its memory taken.

    Attributes:
        solver: fresh, or as the last checkpoint left it.
        stop: when to stop.
        measure_every: iterations between measurements; None leaves it to the stop rule.
        folder: where to save; None for nowhere.
        earlier: measurements of an interrupted run.
    """

    solver: Solver
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
            raise UsageError(
                f"a checkpoint every {checkpoint_every} seconds is impossible: 0 or more is allowed"
            )
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

        if folder is not None:
            folder.lock()
        try:
            if not self.is_done():
                run_solver(solver, self.stop, self.measure_every, keep, pause)
                if folder is not None:
                    self.save()
        finally:
            if folder is not None:
                folder.unlock()
        average, current = Strategy(solver.tree, solver.averages), Strategy(solver.tree, solver.source)
        where = folder.path if folder is not None else None
        return Run(average, average, current, tuple(measurements), solver.iteration, where, interrupted)

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
        )

    @property
    def table_bytes(self) -> int:
        """Bytes of the tables that checkpoints hold."""
        return sum(table.nbytes for table in solver_tables(self.solver).values())


def prepare(
    game: Game,
    algorithm: str | UpdateRule,
    stop: StopRule | None = None,
    *,
    seed: int = 0,
    bets: BetMenu | str | None = None,
    abstraction: CardAbstraction | AbstractionPair | None = None,
    payoffs: Payoffs | str | None = None,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
    dtype: npt.DTypeLike | None = None,
    num_threads: int | None = None,
    measure_every: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
) -> Job:
    """Configure and allocate a run; arguments as for `solve`.

    Without a stop rule a new run does `DEFAULT_ITERATIONS`, and one that goes on keeps its own.
    """
    menu = BetMenu.parse(bets) if isinstance(bets, str) else bets
    rule = configured_rule(algorithm, alternating, delay, discount)
    tree = _seen_tree(game, menu, abstraction, payoffs)
    numbers = _verified_dtype(dtype) if dtype is not None else np.dtype(tree.default_dtype).name
    configuration = RunConfiguration(
        game,
        menu,
        rule.name,
        rule.alternating,
        rule.delay,
        rule.discount if isinstance(rule, FactorRule) else None,
        numbers,
        seed,
        AbstractionMark.of(tree),
        tree.payoffs,
        None if is_recipe(rule) else repr(rule),
    )
    if out is not None and resume and has_checkpoint(out):
        RunFolder(out).configuration.verify_same(configuration, out)
        return prepare_resumed(out, stop, rule=rule, num_threads=num_threads, measure_every=measure_every)
    solver = Solver(tree, rule, numbers, num_threads)
    stop = stop or StopRule(DEFAULT_ITERATIONS)
    folder = None
    if out is not None:
        _verify_disk(out, sum(table.nbytes for table in solver_tables(solver).values()))
        folder = RunFolder.create(out, configuration, stop_state(stop, measure_every), tree.buckets)
    return Job(solver, stop, measure_every, folder, [])


def prepare_resumed(
    out: str | Path,
    stop: StopRule | None = None,
    *,
    rule: UpdateRule | None = None,
    num_threads: int | None = None,
    measure_every: int | None = None,
) -> Job:
    """Take a run up where its last checkpoint is.

    Args:
        out: its folder.
        stop: a new stop rule; without it the run's own.
        rule: the run's update rule, which only a name can do without.
        num_threads: as for `solve`.
        measure_every: as for `solve`; without it the run's own.
    """
    folder = RunFolder(out)
    about = folder.configuration
    if about.algorithm == LINEAR_PROGRAMME:
        raise UsageError(f"'{out}' was solved exactly by a linear programme: there is nothing to resume")
    kept, kept_measuring = stop_from_state(folder.state())
    if rule is None:
        if about.rule is not None:
            raise UsageError(
                f"'{out}' was solved with {about.rule}, which is not one of Errai's rules: "
                "give the rule itself to errai.solve to go on"
            )
        rule = configured_rule(about.algorithm, about.alternating, about.delay, about.discount)
    solver = Solver(folder.tree(), rule, about.dtype, num_threads)
    folder.restore(solver)
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
        raise UsageError(f"tables of '{name}' are impossible: {' or '.join(DTYPES)} is allowed")
    return name


def _verify_disk(out: str | Path, table_bytes: int) -> None:
    """Refuse a run whose checkpoints would not fit: the old and the new one lie side by side for a moment."""
    free = free_disk(out)
    if 2 * table_bytes > free:
        raise UsageError(
            f"checkpoints in '{out}' need {format_bytes(2 * table_bytes)} of disk, "
            f"and {format_bytes(free)} are free"
        )


@overload
def solve(
    game: PokerRules,
    algorithm: str | UpdateRule = ...,
    iterations: int = ...,
    seed: int = ...,
    **options: Any,
) -> Run: ...


@overload
def solve(
    game: BluffRules,
    algorithm: str | UpdateRule = ...,
    iterations: int = ...,
    seed: int = ...,
    **options: Any,
) -> BluffRun: ...


def solve(  # type: ignore[misc]  # the overloads name only what decides the type
    game: Game,
    algorithm: str | UpdateRule = "cfr+",
    iterations: int = DEFAULT_ITERATIONS,
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
    dtype: npt.DTypeLike | None = None,
    num_threads: int | None = None,
    measure_every: int | None = None,
    report: Callable[[Measurement], None] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    checkpoint_every: float = CHECKPOINT_SECONDS,
) -> Run | BluffRun:
    """Solve a game; Bluff is solved stage by stage, each to the same stop.

    Args:
        game: from `load_game`.
        algorithm: `cfr`, `cfr+`, `linear-cfr`, `dcfr`, `pcfr+` or `lp`, or an update rule.
        iterations: at most so many.
        seed: of everything random; these algorithms draw nothing.
        bets: menu of bet sizes of a no-limit game.
        abstraction: what both players see of their cards, or a pair, one for each position, with None for a
            position that sees everything. Exploitability is that of the strategy in the real game.
        payoffs: what the players get at the end of a hand, as `Payoffs` or as text such as 'rake 5% cap 3';
            plain poker without it. Exploitability is measured with them.
        until: stop at this exploitability, in mbb a game.
        seconds: stop after so much time.
        alternating: whether players learn in turn; the algorithm's habit without it.
        delay: iterations before averaging starts.
        discount: (alpha, beta, gamma) for `dcfr`.
        dtype: of the tables; float64 for small games without it.
        num_threads: all cores for large games without it; the result does not depend on it.
        measure_every: iterations between measurements of exploitability.
        report: called after each measurement.
        out: folder to save the run in, with checkpoints along the way.
        resume: go on with the run in `out`, if there is one, and end with the same tables as a run that was
            never interrupted.
        checkpoint_every: seconds between checkpoints.
    """
    if isinstance(game, BluffRules):
        given = (bets, abstraction, payoffs, out)
        if any(one is not None for one in given) or algorithm == LINEAR_PROGRAMME:
            raise UsageError(
                f"'{game.name}' is a dice game: it takes no bet sizes, no abstraction, no payoffs, no folder "
                "and no lp"
            )
        rule = configured_rule(algorithm, alternating, delay, discount)
        return solve_bluff(game, rule, StopRule(iterations, until, seconds), measure_every, report)
    if algorithm == LINEAR_PROGRAMME:
        return solve_exactly(game, bets, abstraction=abstraction, payoffs=payoffs, seed=seed, out=out)
    job = prepare(
        game,
        algorithm,
        StopRule(iterations, until, seconds),
        seed=seed,
        bets=bets,
        abstraction=abstraction,
        payoffs=payoffs,
        alternating=alternating,
        delay=delay,
        discount=discount,
        dtype=dtype,
        num_threads=num_threads,
        measure_every=measure_every,
        out=out,
        resume=resume,
    )
    return job.run(report, checkpoint_every=checkpoint_every)


def solve_exactly(
    game: Game,
    bets: BetMenu | str | None = None,
    *,
    abstraction: CardAbstraction | AbstractionPair | None = None,
    payoffs: Payoffs | str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
) -> Run:
    """Solve a small game by its sequence-form linear programme.

    An abstraction must have perfect recall, and payoffs must sum to the same at every leaf.
    """
    from errai.solvers.sequence_form import solve_sequence_form  # SciPy takes its time to load

    menu = BetMenu.parse(bets) if isinstance(bets, str) else bets
    tree = _seen_tree(game, menu, abstraction, payoffs)
    began = time.perf_counter()
    solved = solve_sequence_form(tree.betting, tree.cells, layout=tree.layout, payoffs=tree.payoffs)
    exact = Strategy(tree, solved.tables)
    if out is None:
        return Run(exact, exact, exact, ())
    stop = stop_state(StopRule(1), None)
    numbers, mark = exact.tables[0].dtype.name, AbstractionMark.of(tree)
    configuration = RunConfiguration(
        game, menu, LINEAR_PROGRAMME, False, 0, None, numbers, seed, mark, tree.payoffs
    )
    folder = RunFolder.create(out, configuration, stop, tree.buckets)
    folder.lock()
    tables = {f"averages-{player}": table for player, table in enumerate(exact.tables)}
    folder.save(0, time.perf_counter() - began, stop, tables)
    folder.unlock()
    return replace(Run(exact, exact, exact, ()), folder=folder.path)
