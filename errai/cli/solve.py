"""`errai solve`."""

import math
import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import (
    Bets,
    ForceAllIn,
    Iterations,
    Json,
    MaxRaises,
    OptionalSeed,
    Out,
    PayoffsText,
    Plot,
    Refusal,
    Resume,
    TablesIn,
    Threads,
    Time,
    menu_from_options,
    number_option,
    whole_option,
)
from errai.cli.output import print_json, verify_picture
from errai.cli.progress import Progress
from errai.cli.running import point, print_end, run_job
from errai.errors import UsageError, shortened

if TYPE_CHECKING:
    from errai.abstraction.protocol import CardAbstraction
    from errai.games.bluff import BluffRules
    from errai.games.rules import PokerRules
    from errai.runs.job import Configured, Job
    from errai.solvers.linear_programme import ProgrammeSize
    from errai.solvers.solve import StopRule
    from errai.solvers.table_solver import Measurement
    from errai.solvers.update_rules import UpdateRule

_MBB = re.compile(r"\s*([0-9.eE+-]+)\s*mbb(?:/g)?\s*")


def target(text: str) -> float:
    """Read an exploitability such as `1mbb`, in mbb/g."""
    match = _MBB.fullmatch(str(text))
    try:
        value = float(match[1]) if match else 0.0
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise Refusal(f"--until must be an exploitability above 0 such as '1mbb', not '{shortened(text)}'")
    return value


def exponents(text: str) -> tuple[float, float, float]:
    """Read the three exponents of Discounted CFR, which may be infinite."""
    try:
        alpha, beta, gamma = (float(part) for part in text.split(","))
    except ValueError:
        alpha = beta = gamma = math.nan
    if any(map(math.isnan, (alpha, beta, gamma))):
        raise Refusal(f"--discount must be three numbers such as '1.5,0,2', not '{shortened(text)}'")
    return alpha, beta, gamma


def named_options(texts: list[str] | None) -> dict[str, Any] | None:
    """Read options such as `deals=64` or `boards=own`: values as in TOML, but words without quotes."""
    if not texts:
        return None
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if value.isalpha() and value not in ("true", "false", "inf", "nan"):
            value = f'"{value}"'
        try:
            found |= tomllib.loads(f"value = {value}") if equals and name.isidentifier() else {}
        except tomllib.TOMLDecodeError:
            found.pop("value", None)
        if "value" not in found:
            raise Refusal(f"--option must be a name and a value such as 'deals=64', not '{shortened(text)}'")
        value = found.pop("value")
        found[name] = tuple(value) if isinstance(value, list) else value
    return found


def solve_command(
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME",
            help="A game's name or an ACPC game file; may be left out with --resume.",
            show_default=False,
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            help="cfr, cfr+ (the default), linear-cfr, dcfr, pcfr+ or lp; over sampled deals cs, external or "
            "outcome; over sampled boards pcs, opcs, spcs or cfr-br.",
        ),
    ] = None,
    iterations: Iterations = None,
    until: Annotated[
        float | None,
        typer.Option(
            "--until", parser=target, metavar="TARGET", help="Stop at an exploitability such as '1mbb'."
        ),
    ] = None,
    time: Time = None,
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
    tables_in: TablesIn = None,
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
    delay: Annotated[int, whole_option("--delay", "Iterations before averaging starts.", 0)] = 0,
    discount: Annotated[
        str | None, typer.Option("--discount", metavar="A,B,C", help="Exponents of dcfr, such as '1.5,0,2'.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="An option of an algorithm that samples, such as 'deals=64'; may be given several times.",
        ),
    ] = None,
    trunk: Annotated[
        int | None,
        whole_option(
            "--trunk", "Rounds above the sampled sub-games of cfr-br, up to all of them; 1 without it.", 1
        ),
    ] = None,
    out: Out = None,
    checkpoint_every: Annotated[
        float | None, number_option("--checkpoint-every", "Seconds between checkpoints; 600 without it.", 0)
    ] = None,
    measure_every: Annotated[
        int | None,
        whole_option("--measure-every", "Iterations between measurements of exploitability.", 1),
    ] = None,
    resume: Resume = False,
    plot: Plot = None,
    json: Json = False,
    seed: OptionalSeed = None,
) -> None:
    """Solve a game.

    Without --iterations, --until and --time it stops after 1,000 iterations.
    """
    from errai.games.bluff import BluffRules
    from errai.games.catalogue import load_game
    from errai.runs.find_abstraction import find_abstractions
    from errai.runs.job import prepare, prepare_resumed
    from errai.runs.rule_section import LINEAR_PROGRAMME
    from errai.runs.run import configure
    from errai.solvers.solve import DEFAULT_ITERATIONS, StopRule, configured_rule

    stop = _stop_rule(iterations, until, time)
    discounts = exponents(discount) if discount is not None else None
    named = named_options(option)
    verify_picture(plot)
    menu = menu_from_options(bets, max_raises, force_all_in)
    how = {
        "--threads": threads,
        "--tables-in": tables_in,
        "--plot": plot,
        "--checkpoint-every": checkpoint_every,
    }
    if resume and out is None:
        raise UsageError("--resume needs --out, the folder of the run to go on with")
    if game is None:
        if not resume:
            raise UsageError("missing a game to solve: 'errai games' lists them")
        fixed = {
            "--algorithm": algorithm,
            "--bets": bets,
            "--abstraction": abstraction,
            "--against-full": against_full or None,
            "--payoffs": payoffs,
            "--dtype": dtype,
            "--discount": discount,
            "--trunk": trunk,
            "--delay": delay or None,
            "--alternating": alternating,
            "--option": option or None,
            "--seed": seed,
        }
        if given := [name for name, value in fixed.items() if value is not None]:
            raise UsageError(f"{given[0]} needs a game: a run that is resumed keeps its own")
        assert out is not None
        job = prepare_resumed(
            out, stop, num_threads=threads, measure_every=measure_every, tables_in=tables_in
        )
        _run_job(job, how, json)
        return
    rules = load_game(game)
    if isinstance(rules, BluffRules):
        refused: dict[str, Any] = {
            "--out": out,
            "--tables-in": tables_in,
            "--plot": plot,
            "--bets": bets,
            "--payoffs": payoffs,
            "--abstraction": abstraction,
            "--against-full": against_full or None,
        }
        if algorithm == LINEAR_PROGRAMME:
            refused["--algorithm lp"] = algorithm
        _refuse(refused, f"'{game}', a dice game")
        rule = configured_rule(algorithm or "cfr+", alternating, delay, discounts, named, trunk)
        _solve_bluff(rules, rule, stop or StopRule.of(), measure_every, json, seed or 0)
        return
    if against_full:
        seen = find_abstractions(abstraction, rules) if abstraction is not None else None
        if seen is None or seen[0] is None or seen[1] is None:
            raise UsageError("--against-full needs --abstraction with an abstraction for both positions")
        refused = {
            "--out": out,
            "--tables-in": tables_in,
            "--plot": plot,
            "--until": until,
            "--time": time,
            "--payoffs": payoffs,
        }
        if algorithm == LINEAR_PROGRAMME:
            refused["--algorithm lp"] = algorithm
        _refuse(refused, "--against-full")
        options = {
            "bets": menu,
            "alternating": alternating,
            "delay": delay,
            "discount": discounts,
            "dtype": dtype,
            "num_threads": threads,
            "measure_every": measure_every,
        }
        _solve_against_full(
            rules, (seen[0], seen[1]), algorithm or "cfr+", iterations or DEFAULT_ITERATIONS, options, json
        )
        return
    if algorithm == LINEAR_PROGRAMME:
        refused = {"--plot": plot, "--tables-in": tables_in, "--iterations": iterations}
        _refuse(refused | {"--until": until, "--time": time}, "lp, which has no iterations")
    configured = configure(
        rules,
        algorithm or "cfr+",
        seed=seed or 0,
        bets=menu,
        abstraction=abstraction,
        payoffs=payoffs,
        alternating=alternating,
        delay=delay,
        discount=discounts,
        options=named,
        trunk=trunk,
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
    _run_job(job, how, json)


def _run_job(job: "Job", how: dict[str, Any], json: bool) -> None:
    """Run a job with the options that do not decide its result."""
    if how["--checkpoint-every"] is not None:
        job.checkpoint_seconds = how["--checkpoint-every"]
    run_job(job, "solve", how, json, {})


def _refuse(options: dict[str, Any], what: str) -> None:
    """Refuse the first option that was given and does not apply."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} cannot be used with {what}")


def _stop_rule(iterations: int | None, until: float | None, seconds: float | None) -> "StopRule | None":
    """Return when to stop; None where nothing says so, and a resumed run keeps its own rule."""
    from errai.solvers.solve import StopRule

    if iterations is None and until is None and seconds is None:
        return None
    return StopRule.of(iterations, until, seconds)


def _solve_exactly(configured: "Configured", out: str | None, json: bool) -> None:
    """Solve by a linear programme, whose size is told before."""
    from errai.runs.rule_section import LINEAR_PROGRAMME
    from errai.runs.run import solve_exactly

    with Progress("a linear programme keeps nothing") as progress:

        def report(size: "ProgrammeSize") -> None:
            progress.say(f"linear programme of {size}")

        run = solve_exactly(configured, out, None if json else report)
    print_end(run, LINEAR_PROGRAMME, {}, None, json)


def _solve_bluff(
    rules: "BluffRules",
    rule: "UpdateRule",
    stop: "StopRule",
    measure_every: int | None,
    json: bool,
    seed: int,
) -> None:
    """Solve Bluff stage by stage and tell the value of each."""
    from errai.response.bluff import bluff_exploitability
    from errai.runs.bluff import solve_bluff

    with Progress("nothing was saved") as progress:

        def report(measurement: "Measurement") -> None:
            chips = measurement.exploitability.chips
            progress.show(f"iteration {measurement.iteration:,}, exploitability {chips:.6f}")

        run = solve_bluff(rules, rule, stop, measure_every, report, seed)
    measured = bluff_exploitability(run.strategy)
    if json:
        print_json(
            {
                "game": rules.name,
                "algorithm": rule.name,
                "values_chips": {f"{a}-{b}": value for (a, b), value in run.values.items()},
                "exploitability_chips": measured.chips,
                "best_response_values_chips": list(measured.best_response_values),
            }
        )
        return
    for (starter, other), value in run.values.items():
        print(f"dice {starter}-{other}: the starter wins {value:+.6f} a game")
    print(f"exploitability of the whole game: {measured.chips:.6f} (winning counts 1)")


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

    with Progress("nothing was saved", between_steps=True) as progress:

        def report(position: int, measurement: "Measurement") -> None:
            value = measurement.exploitability.best_response_values[1 - position] / rules.big_blind * 1000
            progress.show(
                f"position {position} abstracted, iteration {measurement.iteration:,}: "
                f"a best response wins {value:.6g} mbb/g",
                measurement.iteration + position * iterations,
                2 * iterations,
            )

        found = solve_abstracted_against_full(
            rules,
            seen,
            algorithm,
            iterations,
            report=report,
            between=lambda: bool(progress.signal_number),
            **options,
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
                "information_sets": tree.num_infosets,
                "exploitability_chips": measured.chips,
                "exploitability_mbb_per_game": measured.mbb_per_game,
                "best_response_values_chips": list(measured.best_response_values),
                "measurements": [point(measurement) for measurement in found.measurements],
            }
        )
        return
    print(
        f"abstraction {tree.buckets.name}: {tree.num_infosets:,} information sets, {tree.num_slots:,} slots"
    )
    print(
        f"{rules.name}: exploitability {measured.mbb_per_game:.6g} mbb/g ({measured.chips:.6g} chips) in the "
        f"real game, each position abstracted against an unabstracted one, {found.iterations:,} iterations "
        "each"
    )
