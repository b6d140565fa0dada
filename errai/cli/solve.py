"""`errai solve`."""

import re
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.games import Bets, ForceAllIn, MaxRaises, PayoffsText, menu_from_options
from errai.cli.output import Json, Seed, decimal_number, print_json, verify_picture, whole_number
from errai.cli.progress import SECONDS_BETWEEN_LINES, Interrupts, Progress, format_seconds
from errai.cli.stages import ended_by_signals
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.engine.public_tree import PublicTree
    from errai.games.bluff import BluffRules
    from errai.games.catalogue import Game
    from errai.games.rules import PokerRules
    from errai.runs.run import Configured, Job, Run
    from errai.solvers.linear_programme import ProgrammeSize
    from errai.solvers.solve import Measurement, StopRule
    from errai.solvers.update_rules import UpdateRule
    from errai.tree.bet_menu import BetMenu
    from errai.tree.buckets import CardAbstraction

_MBB = re.compile(r"\s*([0-9.eE+-]+)\s*mbb(?:/g)?\s*")
_TIME = re.compile(r"(?:([0-9.]+)d)?(?:([0-9.]+)h)?(?:([0-9.]+)m)?(?:([0-9.]+)s?)?")


def _target(text: str) -> float:
    """Read an exploitability such as `1mbb`."""
    match = _MBB.fullmatch(text)
    try:
        value = float(match[1]) if match else 0.0
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"'{text}' is not a target: an exploitability above 0 such as '1mbb' is allowed")
    return value


def _duration(text: str) -> float:
    """Read a time such as `90`, `90s`, `10m` or `1h30m`, in seconds."""
    match = _TIME.fullmatch(text.replace(" ", ""))
    try:
        parts = [float(part or 0) for part in match.groups()] if match else [0.0]
    except ValueError:
        parts = [0.0]
    seconds = sum(part * length for part, length in zip(parts, (86400, 3600, 60, 1), strict=False))
    if not seconds > 0:
        raise UsageError(
            f"'{text}' is not a time: seconds above 0, or such as '90s', '10m', '1h30m', are allowed"
        )
    return seconds


def _exponents(text: str) -> tuple[float, float, float]:
    """Read the three exponents of Discounted CFR."""
    try:
        alpha, beta, gamma = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"'{text}' are not discount exponents: three numbers such as '1.5,0,2' are allowed"
        ) from None
    return alpha, beta, gamma


Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        parser=whole_number,
        metavar="INTEGER",
        help="Threads; all cores for large games without it. The result does not depend on it.",
    ),
]


def solve_command(
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="[GAME]",
            help="A game's name or an ACPC game file; may be left out with --resume.",
            show_default=False,
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", help="cfr, cfr+ (the default), linear-cfr, dcfr, pcfr+ or lp."),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            parser=whole_number,
            metavar="INTEGER",
            help="At most so many; 1,000 where nothing else is to stop the run.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TARGET", help="Stop at an exploitability such as '1mbb'."),
    ] = None,
    time_limit: Annotated[
        str | None, typer.Option("--time", metavar="TIME", help="Stop after a time such as '90s' or '10m'.")
    ] = None,
    bets: Bets = None,
    max_raises: MaxRaises = None,
    force_all_in: ForceAllIn = 0.0,
    abstraction: Annotated[
        str | None,
        typer.Option(
            "--abstraction",
            metavar="FOLDER|NAME",
            help="What the players see: a saved abstraction, or in Leduc a name such as '[JQ.K]'; "
            "A/B for the two positions, 'full' for everything.",
        ),
    ] = None,
    against_full: Annotated[
        bool,
        typer.Option(
            "--against-full",
            help="Solve twice, each position with its abstraction against an opponent who sees everything.",
        ),
    ] = False,
    payoffs: PayoffsText = None,
    threads: Threads = None,
    tables_in: Annotated[
        str | None,
        typer.Option(
            "--tables-in",
            metavar="FOLDER",
            help="Hold the tables on this folder's disk, not in memory, while the run goes on.",
        ),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="Of the tables: float32 or float64; by size without it.")
    ] = None,
    alternating: Annotated[
        bool | None,
        typer.Option(
            "--alternating/--simultaneous",
            help="Whether the players learn in turn or at once.",
            show_default=False,
        ),
    ] = None,
    delay: Annotated[
        int,
        typer.Option(
            "--delay", parser=whole_number, metavar="INTEGER", help="Iterations before averaging starts."
        ),
    ] = 0,
    discount: Annotated[
        str | None, typer.Option("--discount", metavar="A,B,C", help="Exponents of dcfr, such as '1.5,0,2'.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Save the run here, with checkpoints.")
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(
            "--checkpoint-every", parser=decimal_number, metavar="SECONDS", help="Time between checkpoints."
        ),
    ] = 600.0,
    measure_every: Annotated[
        int | None,
        typer.Option(
            "--measure-every",
            parser=whole_number,
            metavar="INTEGER",
            help="Iterations between measurements of exploitability.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out; a run that is missing begins.")
    ] = False,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw the convergence, such as 'leduc.png'.")
    ] = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Solve a game."""
    from errai.games.bluff import BluffRules
    from errai.games.catalogue import load_game
    from errai.runs.abstracted import find_abstractions
    from errai.runs.rule_section import LINEAR_PROGRAMME
    from errai.runs.run import DEFAULT_ITERATIONS, configure, prepare, prepare_resumed
    from errai.solvers.solve import StopRule, configured_rule

    stop = _stop_rule(iterations, until, time_limit)
    verify_picture(plot)
    if resume and out is None:
        raise UsageError("--resume goes on with the run in --out, which is missing")
    if game is None:
        if not resume:
            raise UsageError("a game is missing: 'errai games' lists them")
        fixed = {
            "--algorithm": algorithm,
            "--bets": bets,
            "--abstraction": abstraction,
            "--payoffs": payoffs,
            "--dtype": dtype,
            "--discount": discount,
            "--delay": delay or None,
            "--alternating": alternating,
        }
        if given := [name for name, value in fixed.items() if value is not None]:
            raise UsageError(f"{given[0]} goes with a game: a run that is resumed keeps its own")
        assert out is not None
        job = prepare_resumed(
            out, stop, num_threads=threads, measure_every=measure_every, tables_in=tables_in
        )
        _run_job(job, plot, checkpoint_every, json)
        return
    rules, menu = load_game(game), menu_from_options(bets, max_raises, force_all_in)
    exponents = _exponents(discount) if discount is not None else None
    if isinstance(rules, BluffRules):
        if algorithm == LINEAR_PROGRAMME or any(
            given is not None for given in (out, plot, menu, abstraction, payoffs, tables_in)
        ):
            raise UsageError(
                f"'{game}' is a dice game: --out, --tables-in, --plot, --bets, --payoffs, --abstraction and "
                "lp do not apply to it"
            )
        rule = configured_rule(algorithm or "cfr+", alternating, delay, exponents)
        _solve_bluff(rules, rule, stop or StopRule(DEFAULT_ITERATIONS), measure_every, json)
        return
    seen = find_abstractions(abstraction, rules) if abstraction is not None else None
    if against_full:
        if seen is None or seen[0] is None or seen[1] is None:
            raise UsageError("--against-full goes with --abstraction, which must say what both positions see")
        if (
            any(given is not None for given in (out, plot, until, time_limit, payoffs, tables_in))
            or algorithm == LINEAR_PROGRAMME
        ):
            raise UsageError(
                "--against-full takes --iterations: --out, --tables-in, --plot, --until, --time, --payoffs "
                "and lp do not apply"
            )
        options = {
            "bets": menu,
            "alternating": alternating,
            "delay": delay,
            "discount": exponents,
            "dtype": dtype,
            "num_threads": threads,
            "measure_every": measure_every,
        }
        _solve_against_full(
            rules, (seen[0], seen[1]), algorithm or "cfr+", iterations or DEFAULT_ITERATIONS, options, json
        )
        return
    if algorithm == LINEAR_PROGRAMME and plot is not None:
        raise UsageError("--plot draws a convergence, and lp has none: cfr+ has")
    if algorithm == LINEAR_PROGRAMME and tables_in is not None:
        raise UsageError("--tables-in holds the tables of iterations, and lp has none: cfr+ has")
    if algorithm != LINEAR_PROGRAMME and not json:
        _tell_size(rules, menu, dtype, configured_rule(algorithm or "cfr+", alternating, delay, exponents))
    configured = configure(
        rules,
        algorithm or "cfr+",
        seed=seed,
        bets=menu,
        abstraction=seen,
        payoffs=payoffs,
        alternating=alternating,
        delay=delay,
        discount=exponents,
        dtype=dtype,
    )
    if algorithm == LINEAR_PROGRAMME:
        _solve_exactly(configured, out, json)
        return
    job = prepare(
        configured,
        stop,
        num_threads=threads,
        measure_every=measure_every,
        out=out,
        resume=resume,
        tables_in=tables_in,
    )
    _run_job(job, plot, checkpoint_every, json)


def _solve_exactly(configured: "Configured", out: str | None, json: bool) -> None:
    """Solve by a linear programme, whose size is told before."""
    from errai.runs.rule_section import LINEAR_PROGRAMME
    from errai.runs.run import solve_exactly

    def report(size: "ProgrammeSize") -> None:
        print(f"errai: linear programme of {size}", file=sys.stderr, flush=True)

    with ended_by_signals("a linear programme keeps nothing"):
        run = solve_exactly(configured, out, None if json else report)
    _tell_end(run, LINEAR_PROGRAMME, {}, json)


def _solve_bluff(
    rules: "BluffRules", rule: "UpdateRule", stop: "StopRule", measure_every: int | None, json: bool
) -> None:
    """Solve Bluff stage by stage and tell the value of each."""
    from errai.response.bluff import bluff_exploitability
    from errai.runs.bluff import solve_bluff

    def report(measurement: "Measurement") -> None:
        chips = measurement.exploitability.chips
        print(f"iteration {measurement.iteration:,}: exploitability {chips:.6f}", file=sys.stderr)

    run = solve_bluff(rules, rule, stop, measure_every, None if json else report)
    measured = bluff_exploitability(run.strategy)
    if json:
        print_json(
            {
                "game": rules.name,
                "values": {f"{a}-{b}": value for (a, b), value in run.values.items()},
                "exploitability": measured.chips,
                "best_response_values": measured.best_response_values,
            }
        )
        return
    for (starter, other), value in run.values.items():
        print(f"dice {starter}-{other}: the starter wins {value:+.6f} a game")
    print(f"exploitability of the whole game: {measured.chips:.6f} (winning counts 1)")


def _stop_rule(iterations: int | None, until: str | None, limit: str | None) -> "StopRule | None":
    from errai.runs.run import UNLIMITED
    from errai.solvers.solve import StopRule

    if iterations is None and until is None and limit is None:
        return None
    return StopRule(
        iterations if iterations is not None else UNLIMITED,
        _target(until) if until is not None else None,
        _duration(limit) if limit is not None else None,
    )


def _tell_size(rules: "Game", menu: "BetMenu | None", dtype: str | None, rule: "UpdateRule") -> None:
    """Print what a run will take before it is taken."""
    from errai.engine.public_tree import SMALL_GAME_SLOTS
    from errai.memory import format_bytes
    from errai.solvers.solve import arrays_needed
    from errai.tree.size import game_size

    counted = game_size(rules, menu)
    slots = counted.table_slots
    number_bytes = {"float32": 4, "float64": 8}.get(dtype or "", 8 if slots <= SMALL_GAME_SLOTS else 4)
    print(
        f"{counted.game}: {counted.table_infosets:,} information sets, {slots:,} slots; "
        f"tables {format_bytes(sum(arrays_needed(rule)) * slots * number_bytes // 2)}",
        flush=True,
    )


def _run_job(job: "Job", plot: str | None, checkpoint_every: float, json: bool) -> None:
    from errai.memory import format_bytes

    sizes = {
        "slots": job.solver.tree.num_slots,
        "table_bytes": job.table_bytes,
        "buffer_bytes": job.solver.buffer_bytes,
    }
    if not json:
        _tell_abstraction(job.solver.tree)
        print(
            f"tables of {job.solver.walk.dtype} {format_bytes(sizes['table_bytes'])}, "
            f"buffers {format_bytes(sizes['buffer_bytes'])}, {threads_in_words(job.solver.walk.num_threads)}"
            + (f", disk for checkpoints {format_bytes(2 * sizes['table_bytes'])}" if job.folder else ""),
            flush=True,
        )
    with Interrupts().heeded() as interrupts, Progress(job).shown() as progress:

        def between() -> bool:
            progress.tick()
            return bool(interrupts)

        run = job.run(progress.report, between, checkpoint_every)
    if plot is not None and run.measurements:
        run.plot(plot)
    _tell_end(run, job.solver.rule.name, {**sizes, "seconds": job.solver.seconds}, json)
    if run.interrupted:
        raise typer.Exit(128 + interrupts.signal_number)


def _tell_abstraction(tree: "PublicTree") -> None:
    if tree.buckets is not None:
        print(
            f"abstraction {tree.buckets.name}: {tree.num_infosets:,} information sets, "
            f"{tree.num_slots:,} slots",
            flush=True,
        )


def _solve_against_full(
    rules: "PokerRules",
    seen: "tuple[CardAbstraction, CardAbstraction]",
    algorithm: str,
    iterations: int,
    options: dict[str, Any],
    json: bool,
) -> None:
    """Solve each position with its abstraction against an opponent who sees everything, and tell both."""
    from errai.response.exploitability import exploitability
    from errai.runs.abstracted import solve_abstracted_against_full

    told = time.monotonic()

    def report(position: int, measurement: "Measurement") -> None:
        nonlocal told
        if json or time.monotonic() - told < SECONDS_BETWEEN_LINES:
            return
        told = time.monotonic()
        value = measurement.exploitability.best_response_values[1 - position] / rules.big_blind * 1000
        print(
            f"errai: position {position} abstracted, iteration {measurement.iteration:,}: "
            f"a best response wins {value:.6g} mbb/g",
            file=sys.stderr,
            flush=True,
        )

    with Interrupts().heeded() as interrupts:
        found = solve_abstracted_against_full(
            rules, seen, algorithm, iterations, report=report, between=lambda: bool(interrupts), **options
        )
    measured = exploitability(found.strategy)
    tree = found.strategy.tree
    assert tree.buckets is not None
    if json:
        print_json(
            {
                "game": rules.name,
                "abstraction": tree.buckets.name,
                "against": "full",
                "algorithm": algorithm,
                "iterations": found.iterations,
                "infosets": tree.num_infosets,
                "exploitability_chips": measured.chips,
                "exploitability_mbb_per_game": measured.mbb_per_game,
                "best_response_values": list(measured.best_response_values),
                "measurements": [_point(measurement) for measurement in found.measurements],
            }
        )
        return
    _tell_abstraction(tree)
    print(
        f"{rules.name}: exploitability {measured.mbb_per_game:.6g} mbb/g ({measured.chips:.6g} chips) in the "
        f"real game, each position abstracted against an unabstracted one, {found.iterations:,} iterations "
        "each"
    )


def _tell_end(run: "Run", algorithm: str, more: dict[str, Any], json: bool) -> None:
    from errai.response.exploitability import expected_value, exploitability

    # Whoever presses Ctrl-C does not want to wait for a last measurement.
    measured = None if run.interrupted else exploitability(run.strategy)
    value = None if run.interrupted else expected_value(run.strategy, run.strategy).positions[0]
    name, buckets = run.strategy.game.name, run.strategy.tree.buckets
    payoffs = run.strategy.tree.payoffs
    if json:
        print_json(
            {
                "game": name,
                "abstraction": buckets.name if buckets is not None else None,
                "payoffs": payoffs.describe(),
                "algorithm": algorithm,
                "iterations": run.iterations,
                **more,
                "value": value,
                "exploitability_chips": measured.chips if measured else None,
                "exploitability_mbb_per_game": measured.mbb_per_game if measured else None,
                "best_response_values": list(measured.best_response_values) if measured else None,
                "out": str(run.folder) if run.folder else None,
                "interrupted": run.interrupted,
                "measurements": [_point(measurement) for measurement in run.measurements],
            }
        )
        return
    if measured is None:
        print(f"{name}: interrupted after {run.iterations:,} iterations")
    else:
        took = f" after {run.iterations:,} iterations in {format_seconds(more['seconds'])}" if more else ""
        print(
            f"{name}: value {value:.9f} chips for position 0, "
            f"exploitability {measured.mbb_per_game:.6g} mbb/g ({measured.chips:.6g} chips){took}"
            + ("" if payoffs.is_plain else f", payoffs {payoffs.describe()}")
        )
    if run.folder is None:
        print("not saved; --out FOLDER saves a run, so that it can be shown, measured and resumed")
    elif run.interrupted:
        print(f"saved in {run.folder}; go on with: errai solve --resume --out {run.folder}")
    else:
        print(f"saved in {run.folder}; next: errai show {run.folder}, errai exploit {run.folder}")


def threads_in_words(number: int) -> str:
    """Say how many threads."""
    return "1 thread" if number == 1 else f"{number} threads"


def _point(measurement: "Measurement") -> dict[str, Any]:
    return {
        "iteration": measurement.iteration,
        "seconds": measurement.seconds,
        "mbb_per_game": measurement.exploitability.mbb_per_game,
    }
