"""`errai match`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import SEED, Json, given_command, whole_option
from errai.cli.output import format_seconds, print_json, print_table
from errai.cli.progress import Progress
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.play.crosstable import Crosstable
    from errai.play.match import MatchPlan
    from errai.play.match_score import Score
    from errai.play.play_match import MatchOptions, MatchResult
    from errai.response.results import ExpectedValue

MAX_SEED = 2**32 - 1
"""As the competition's dealer takes it."""

MAX_HANDS = 2**32 - 1


def match_command(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT...",
            help="Two agents: always-call, always-raise, always-fold, half, probe, random; a saved strategy "
            "or run with an optional treatment, such as 'runs/x:purify', 'runs/x:threshold=0.15' or "
            "'runs/x:new=0.2'; or a .py file with a subclass of errai.Agent.",
        ),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option("--game", metavar="GAME", help="The game; needed where no agent is a saved strategy."),
    ] = None,
    hands: Annotated[
        int | None,
        whole_option(
            "--hands",
            "Deals to be played: 10,000 without it; with --until at most so many, 10,000,000 without it.",
            1,
            MAX_HANDS,
        ),
    ] = None,
    duplicate: Annotated[
        bool, typer.Option("--duplicate", help="Play every deal twice, with the seats swapped.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TEXT",
            help="Stop when the interval is narrow enough, such as '95% +-5' (mbb/g).",
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Compute the value instead of playing: strategies of small games.")
    ] = False,
    everyone: Annotated[
        str | None,
        typer.Option(
            "--all",
            metavar="FOLDER",
            help="A crosstable: all strategies, runs and agents of a folder, and those named besides.",
        ),
    ] = None,
    log: Annotated[
        str | None, typer.Option("--log", metavar="FILE", help="Write the hands as an ACPC log.")
    ] = None,
    phh: Annotated[
        str | None, typer.Option("--phh", metavar="FILE", help="Write the hands in PHH; needs PokerKit.")
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Keep results in an SQLite database; a match that is there goes on where it was left.",
        ),
    ] = None,
    json: Json = False,
    seed: Annotated[int, whole_option("--seed", SEED.help, 0, MAX_SEED)] = 0,
) -> None:
    """Play agents against each other: what the first wins, in mbb/g with a 95% interval."""
    given = agents or []
    if everyone is None and len(given) != 2:
        raise UsageError(f"expected two agents for a match, not {len(given)}; --all FOLDER plays many")
    if everyone is not None and (log or phh or exact):
        raise UsageError("--log, --phh and --exact are of one match: expected them without --all")
    if exact and (log or phh or results or until or duplicate or hands is not None):
        raise UsageError(
            "--exact plays no hands: expected it without --hands, --duplicate, --until, --log, --phh "
            "and --results"
        )
    from errai.play.play_match import MatchOptions, exact_match, find_game

    if exact:
        rules = find_game(given, game)
        _print_exact(given, rules.name, exact_match(given[0], given[1], rules), json)
        return
    options = MatchOptions(hands, duplicate, seed, until)
    if everyone is not None:
        _play_all(context, everyone, given, game, options, results, json)
        return
    _play_two(context, given, game, options, (log, phh, results), json)


def _go_on(context: typer.Context, results: str | None) -> str:
    if results is None:
        return "not kept: --results FILE keeps what is played, so that a match can go on"
    return f"what was played is in {results}; go on with: {given_command(context)}"


def _show(progress: Progress, plan: "MatchPlan", score: "Score", names: str = "") -> None:
    """Tell how far a match is, and how wide its interval is by now."""
    words = f"{names}deal {score.deals:,} of {plan.deals:,}, {score.words()}"
    if plan.half_width is not None:
        words += f", to stop at +- {plan.half_width:,.6g}"
    progress.show(words, score.deals, plan.deals)


def _play_two(
    context: typer.Context,
    agents: list[str],
    game: str | None,
    options: "MatchOptions",
    files: tuple[str | None, str | None, str | None],
    json: bool,
) -> None:
    from time import monotonic

    from errai.play.match import AgentFailedError
    from errai.play.play_match import MatchResult, find_game, play_match

    log, phh, results = files
    rules = find_game(agents, game)
    began = monotonic()
    with Progress(_go_on(context, results), between_steps=True) as progress:
        try:
            result = play_match(
                agents[0],
                agents[1],
                rules,
                options,
                log=log,
                phh=phh,
                results=results,
                report=lambda plan, score: _show(progress, plan, score),
                is_stopped=lambda: progress.signal_number != 0,
            )
        except AgentFailedError as failure:
            names = (agents[0], agents[1])
            played = MatchResult(
                rules.name, names, options.seed, options.duplicate, failure.score, failure=str(failure)
            )
            _print_match(played, monotonic() - began, results, json)
            raise
    _print_match(result, monotonic() - began, results, json)
    if result.interrupted:
        progress.say(f"interrupted; {_go_on(context, results)}")
        progress.leave_if_interrupted()


def _entries(result: "MatchResult") -> dict[str, Any]:
    """Return a match as data."""
    score = result.score
    return {
        "agents": list(result.agents),
        "num_deals": score.deals,
        "num_hands": score.hands,
        "mbb_per_game": score.mbb_per_game,
        "interval_mbb_per_game": list(score.interval) if score.interval is not None else None,
        "standard_deviation_mbb": score.standard_deviation,
        "hand_standard_deviation_mbb": score.hand_standard_deviation,
        "total_chips": score.total,
        "illegal_actions": list(score.illegal_actions),
        "interrupted": result.interrupted,
        "failure": result.failure,
    }


def _print_match(result: "MatchResult", seconds: float, results: str | None, json: bool) -> None:
    """Print how a match came out.

    Args:
        result: what was played.
        seconds: how long it took now.
        results: the database that has it.
        json: print for machines.
    """
    score = result.score
    if json:
        print_json(
            {
                "game": result.game,
                "seed": result.seed,
                "duplicate": result.duplicate,
                **_entries(result),
                "seconds": seconds,
                "logs": [str(path) for path in result.files],
                "results": results,
            }
        )
        return
    first, second = result.agents
    dealt = f"{score.deals:,} deals, each played twice," if result.duplicate else f"{score.hands:,} hands"
    print(
        f"{first} against {second} in {result.game}: {score.words()} (95%), "
        f"{dealt} in {format_seconds(seconds)}, seed {result.seed}"
    )
    if score.standard_deviation is not None and score.hand_standard_deviation is not None:
        by_hand = f"{score.hand_standard_deviation:,.0f} mbb of a hand"
        if result.duplicate:
            print(f"  standard deviation {by_hand}, {score.standard_deviation:,.0f} mbb of a pair's mean")
        else:
            print(f"  standard deviation {by_hand}")
    if any(score.illegal_actions):
        said = ", ".join(
            f"{number:,} by {name}"
            for name, number in zip(result.agents, score.illegal_actions, strict=True)
            if number
        )
        print(f"  illegal actions, turned into calls or legal sizes: {said}")
    for path in result.files:
        print(f"  hands in {path}")


def _print_exact(agents: list[str], game: str, value: "ExpectedValue", json: bool) -> None:
    if json:
        print_json(
            {
                "game": game,
                "agents": agents,
                "expected_mbb_per_game": value.mbb_per_game,
                "profile_values_chips": list(value.positions),
            }
        )
        return
    # Adding 0 makes a rounded -0 a plain one.
    won = round(value.mbb_per_game, 6) + 0.0
    first, second = (round(chips, 9) + 0.0 for chips in value.positions)
    print(f"{agents[0]} against {agents[1]} in {game}: {won:.6f} mbb/g, exactly")
    print(f"  wins {first:.9f} chips a game in position 0, {second:.9f} in position 1")


def _play_all(
    context: typer.Context,
    folder: str,
    named: list[str],
    game: str | None,
    options: "MatchOptions",
    results: str | None,
    json: bool,
) -> None:
    from time import monotonic

    from errai.play.crosstable import agents_in, play_all

    began = monotonic()
    with Progress(_go_on(context, results), between_steps=True) as progress:
        table = play_all(
            [*agents_in(folder), *named],
            game,
            options,
            results=results,
            report=lambda plan, score: _show(
                progress, plan, score, " against ".join(agent.name for agent in plan.agents) + ": "
            ),
            is_stopped=lambda: progress.signal_number != 0,
        )
    _print_all(table, options, monotonic() - began, results, json)
    if progress.signal_number:
        progress.say(f"interrupted; {_go_on(context, results)}")
        progress.leave_if_interrupted()
    if table.failures:
        raise UsageError("; ".join(dict.fromkeys(table.failures)))


def _print_all(
    table: "Crosstable", options: "MatchOptions", seconds: float, results: str | None, json: bool
) -> None:
    game = table.results[0].game
    if json:
        print_json(
            {
                "game": game,
                "seed": options.seed,
                "duplicate": options.duplicate,
                "agents": list(table.agents),
                "matches": [_entries(result) for result in table.results],
                "left_out": list(table.left_out),
                "seconds": seconds,
                "results": results,
            }
        )
        return
    rows = []
    for row, name in enumerate(table.agents):
        cells = []
        for column in range(len(table.agents)):
            won = table.score(row, column) if row != column else None
            if won is None:
                cells.append("-" if row == column else "not played")
            else:
                cells.append(f"{won[0]:,.1f}" + (f" +- {won[1]:,.1f}" if won[1] is not None else ""))
        rows.append([f"{row + 1} {name}", *cells])
    dealt = max(result.score.deals for result in table.results)
    print_table(
        f"{game}: what the row wins from the column in mbb/g (95%), {dealt:,} deals"
        + (" played twice" if options.duplicate else "")
        + f", seed {options.seed}",
        ["agent", *(str(column + 1) for column in range(len(table.agents)))],
        rows,
    )
    for said in table.left_out:
        print(f"  left out: {said}")
    for result in table.results:
        if any(result.score.illegal_actions):
            first, second = result.score.illegal_actions
            print(f"  illegal actions, {' against '.join(result.agents)}: {first:,} and {second:,}")
