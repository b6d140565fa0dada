"""`errai.solve`: solve a game by name of algorithm and keep what came out.

Stages: a run is configured (`configure`); a `Job` is prepared and run (`errai.runs.job`); a `Run` comes out.
`run.strategy` is what to play, `run.average` and `run.current` where they differ, `run.measurements` the
convergence.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair, CardAbstraction
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError, verify_function, verify_number, verify_path, verify_whole
from errai.games.bluff import BluffRules
from errai.games.catalogue import BluffName, Game, PokerName, load_card_game, load_game
from errai.games.deals import Deals
from errai.games.payoffs import Payoffs
from errai.games.rules import PokerRules
from errai.runs.bluff import BluffRun, solve_bluff
from errai.runs.configuration import RunConfiguration
from errai.runs.evaluation import Evaluation
from errai.runs.find_abstraction import find_abstractions
from errai.runs.folder import RunFolder, Schedule, lock_run, verify_free
from errai.runs.job import Configured, Run, prepare
from errai.runs.rule_section import LINEAR_PROGRAMME, LinearProgramme
from errai.runs.sections import CHECKPOINT_SECONDS, AbstractionSection
from errai.solvers.make import goes_by_buckets
from errai.solvers.solve import StopRule, configured_rule, verify_measure_every
from errai.solvers.table_solver import Measurement
from errai.solvers.update_rules import UpdateRule
from errai.strategy.bucketed import SavedAbstraction
from errai.strategy.strategy import Strategy
from errai.tree.bet_menu import BetMenu
from errai.tree.buckets import verify_same_cards
from errai.tree.cells import game_cells_bytes
from errai.tree.menu_file import load_bets
from errai.workers import verified_threads

if TYPE_CHECKING:
    from errai.solvers.linear_programme import ProgrammeSize

DTYPES = ("float32", "float64")

MOST_CELL_BYTES = 1 << 32
"""A game whose boards and hands take more is solved by buckets where deals or boards are sampled."""


def configure(
    game: Game,
    algorithm: str | UpdateRule = "cfr+",
    *,
    seed: int = 0,
    bets: BetMenu | str | Path | None = None,
    abstraction: CardAbstraction | AbstractionPair | str | Path | None = None,
    payoffs: Payoffs | str | None = None,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
    options: Mapping[str, Any] | None = None,
    trunk: int | None = None,
    dtype: npt.DTypeLike | None = None,
) -> Configured:
    """Configure a run; arguments as for `solve`."""
    rule: UpdateRule | LinearProgramme = LinearProgramme()
    if algorithm != LINEAR_PROGRAMME:
        rule = configured_rule(algorithm, alternating, delay, discount, options, trunk)
    menu = load_bets(bets) if bets is not None else None
    if isinstance(abstraction, str | Path):
        rules = load_card_game(game)
        if isinstance(rule, UpdateRule) and goes_by_buckets(rule) and is_large(rules):
            tree = PublicTree.of(rules, menu, payoffs)
            return _configure_by_buckets(tree, rule, abstraction, dtype, seed)
        abstraction = find_abstractions(str(abstraction), rules)
    tree = _seen_tree(game, menu, abstraction, payoffs)
    if isinstance(rule, LinearProgramme):
        dtype = np.float64
    numbers = _verified_dtype(dtype) if dtype is not None else np.dtype(tree.default_dtype).name
    mark = None
    if tree.buckets is not None:
        mark = AbstractionSection(name=tree.buckets.name, fingerprint=tree.buckets.fingerprint)
    return Configured(RunConfiguration.of(game, menu, rule, numbers, seed, mark, tree.payoffs), tree)


def is_large(rules: PokerRules) -> bool:
    """Return whether boards and hands of a game are not to be held as a whole where some are sampled."""
    return game_cells_bytes(Deals(rules)) > MOST_CELL_BYTES


def _configure_by_buckets(
    tree: PublicTree, rule: UpdateRule, folder: str | Path, dtype: npt.DTypeLike | None, seed: int
) -> Configured:
    """Configure a run of a game whose hands never are in memory: buckets are looked up as they are met."""
    saved = SavedAbstraction.open(folder)
    verify_same_cards(tree.rules, (saved.abstraction, saved.abstraction))
    mark = AbstractionSection(
        name=saved.abstraction.name, fingerprint=saved.fingerprint, folder=str(Path(folder).absolute())
    )
    numbers = _verified_dtype(dtype if dtype is not None else np.float32)
    configuration = RunConfiguration.of(tree.rules, tree.menu, rule, numbers, seed, mark, tree.payoffs)
    return Configured(configuration, tree, saved)


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
    bets: BetMenu | str | Path | None = None,
    abstraction: CardAbstraction | AbstractionPair | str | Path | None = None,
    payoffs: Payoffs | str | None = None,
    until: float | None = None,
    seconds: float | None = None,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
    options: Mapping[str, Any] | None = None,
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
        algorithm: `cfr`, `cfr+`, `linear-cfr`, `dcfr`, `pcfr+` or `lp`; over sampled deals `cs`, `external`
            or `outcome`; over sampled boards `pcs`, `opcs`, `spcs` or `cfr-br`; or an update rule.
        iterations: at most this many; without it 1,000, or any number where `until` or `seconds` is given.
        seed: of everything random; `cs`, `external` and `outcome` draw deals and choices.
        bets: menu of bet sizes of a no-limit game: from `load_bets`, or what it takes (text such as
            '0.5p,1p,all-in', the name of a menu that comes with the package, the path of a TOML file).
        abstraction: what both players see of their cards, or a pair, one for each position, with None for a
            position that sees everything; or the folder of a saved one. Exploitability is that of the
            strategy in the real game. A game whose hands do not fit into memory needs a folder and an
            algorithm that samples.
        payoffs: what the players get at the end of a hand, as `Payoffs` or as text such as 'rake 5% cap 3';
            by default plain poker. Exploitability is measured with them.
        until: stop at this exploitability, in mbb a game.
        seconds: stop after this many seconds.
        alternating: whether players learn in turn; by default the algorithm's habit.
        delay: iterations before averaging starts.
        discount: (alpha, beta, gamma) for `dcfr`; where boards are sampled, alpha must be beta.
        options: of algorithms that sample, by name, such as `{"deals": 64}`; see `errai.SampledRule`.
        trunk: with `cfr-br`, rounds above the sub-games that are sampled, up to all of them; by default 1.
        dtype: of the tables; by default float64 for small games.
        num_threads: by default all cores for large games; the result does not depend on it, unless the
            option `shared` of an algorithm that samples is on.
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
        rule = configured_rule(algorithm, alternating, delay, discount, options, trunk)
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
        options=options,
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

    def tell(evaluation: Evaluation) -> None:
        if report is not None and evaluation.measurement is not None:
            report(evaluation.measurement)

    return job.run(tell, checkpoint_every=checkpoint_every)


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
        stop = Schedule(StopRule(1)).state()
        folder = RunFolder.create(lock, configured.configuration, stop, tree.buckets)
        tables = {f"averages-{player}": table for player, table in enumerate(exact.tables)}
        folder.save(0, time.perf_counter() - began, stop, tables, tree.layout)
        return replace(run, folder=folder.path)
