"""`errai analyse`."""

from typing import TYPE_CHECKING, Annotated

import typer

from errai.cli.options import Json, Plot, Seed, Threads
from errai.cli.output import print_json, print_table, verify_picture
from errai.cli.progress import Progress
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.evaluation.analysis import Estimated
    from errai.play.logs import MatchLog

BROKEN_SHOWN = 5


def analyse_command(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A match's log in the ACPC's format.")],
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            metavar="STRATEGY",
            help="Whose winnings are asked for: a saved strategy or run or, with --game, always-call, "
            "always-raise, always-fold, half or random.",
        ),
    ],
    played: Annotated[
        str | None,
        typer.Option(
            "--played",
            metavar="STRATEGY",
            help="Who played the logged hands, where it is not --agent (off-policy).",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The player of the log who is analysed; else the first one."
        ),
    ] = None,
    game: Annotated[
        str | None, typer.Option("--game", metavar="GAME", help="The game, where only simple agents play.")
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Hide the opponent's cards in hands that ended in a fold, as in play."
        ),
    ] = False,
    plot: Plot = None,
    threads: Threads = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Estimate what an agent wins from a log, with less luck in it than the money has.

    Each line is an estimate with the standard deviation of one hand and a 95% interval, in mbb/g. All need
    the agent's strategy and use its probabilities with all cards that it might have held. --plot draws
    bankrolls over the match.
    """
    verify_picture(plot)
    from errai.evaluation.analysis import analyse
    from errai.evaluation.bankroll_plot import plot_bankrolls
    from errai.evaluation.known_agents import find_agents
    from errai.evaluation.observed import follow
    from errai.play.logs import read_log

    evaluated, other = find_agents(agent, played, game)
    found = read_log(log, evaluated.tree.rules)
    who = name or _first_player(found, log)
    hands = found.of_player(who)
    with Progress("nothing was kept") as progress:
        for line in found.broken[:BROKEN_SHOWN]:
            progress.say(f"{log}: {line}")
        if len(found.broken) > BROKEN_SHOWN:
            progress.say(f"{log}: {len(found.broken) - BROKEN_SHOWN:,} more lines were passed over")
        estimates = analyse(
            hands,
            evaluated,
            other,
            is_partial=partial,
            seed=seed,
            num_threads=threads,
            report=lambda stage, done, total: progress.report(f"{log}: {stage}", done, total),
        )
    num_left = sum(follow(evaluated.tree, record, position).has_left for record, position in hands)
    strategy = agent if other is None else f"{agent} on hands of {played}"
    title = f"{strategy} as {who} in {log}: {len(hands):,} hands"
    if plot is not None:
        plot_bankrolls(estimates, plot, title)
    if json:
        print_json(
            {
                "path": log,
                "game": evaluated.tree.rules.name,
                "agent": agent,
                "played": played,
                "player": who,
                "partial": partial,
                "seed": seed,
                "num_hands": len(hands),
                "num_hands_that_left": num_left,
                "broken_lines": [{"line": line.number, "reason": line.reason} for line in found.broken],
                "estimates": [_as_json(one) for one in estimates],
                "picture": plot,
            }
        )
        return
    _print(title, estimates, plot)
    if num_left:
        print(
            f"  {num_left:,} hands left the strategy's betting tree: from there on they count as they were "
            "paid, less the luck of the boards"
        )


def _first_player(found: "MatchLog", log: str) -> str:
    """Return who is analysed where nobody is named."""
    if not found.hands:
        reason = f", as {found.broken[0]}" if found.broken else ""
        raise UsageError(f"'{log}' has no hand of this game{reason}")
    return found.first_player


def _as_json(one: "Estimated") -> dict[str, object]:
    return {
        "estimator": one.name,
        "mbb_per_game": one.mbb_per_game,
        "interval_mbb_per_game": list(one.interval_mbb_per_game),
        "deviation_mbb": one.deviation_mbb,
        "unbiased": one.is_unbiased,
    }


def _print(title: str, estimates: "list[Estimated]", plot: str | None) -> None:
    rows = []
    for one in estimates:
        low, high = one.interval_mbb_per_game
        name = one.name if one.is_unbiased else f"{one.name} *"
        rows.append(
            [name, f"{one.mbb_per_game:,.1f}", f"{low:,.1f}", f"{high:,.1f}", f"{one.deviation_mbb:,.1f}"]
        )
    print_table(title, ["mbb/g", "estimate", "from", "to (95%)", "std. dev."], rows)
    if not all(one.is_unbiased for one in estimates):
        print("  * may be biased: the opponent's cards are hidden in hands that ended in a fold")
    if plot is not None:
        print(f"bankrolls in {plot}")
