"""`errai acpc`: an agent in a seat of the competition's dealer, or of ours."""

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from errai.cli.options import Json, Seed, time_option, whole_number
from errai.cli.output import format_seconds, print_json
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.games.rules import PokerRules
    from errai.play.acpc_client import Played

MAX_PORT = 65_535


def acpc_command(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="always-call, always-raise, always-fold, half, probe, random; a saved strategy or run, with "
            "a treatment ('runs/x:purify'); or a .py file with an agent.",
        ),
    ],
    host: Annotated[str, typer.Argument(metavar="HOST", help="Where the dealer is.")],
    port: Annotated[
        int,
        typer.Argument(metavar="PORT", parser=whole_number("PORT", 1, MAX_PORT), help="The seat's port."),
    ],
    game: Annotated[
        str | None,
        typer.Option(
            "--game",
            metavar="GAME",
            help="A game's name (see 'errai games') or an ACPC game file; without it that of the strategy.",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        time_option("--timeout", "Give up when the dealer is silent for so long; without it never."),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="FILE", help="Add every line that came ('<') or went ('>') to a file."),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Play a match under a dealer that speaks the ACPC protocol, until the connection ends."""
    from errai.play.acpc_client import Conversation, connect, play
    from errai.play.named import load_agent

    rules = _game(agent, game)
    with connect(host, port) as connection:
        player = load_agent(agent, rules, seed)
        file = _open_log(log)
        try:
            talk = Conversation(player, seed, None if file is None else lambda line: _write(file, line))
            ended = False
            try:
                play(player, connection, timeout=timeout, conversation=talk)
                ended = True
            finally:
                # Whatever ended it, what was played is told; before anything was, an error says enough.
                if ended or talk.played.hands or talk.played.times.count or json:
                    _tell(agent, rules, talk.played, json)
        finally:
            player.close()
            if file is not None:
                file.close()


def _game(agent: str, game: str | None) -> "PokerRules":
    """Return the game that is asked for, or that of a saved strategy."""
    from errai.games.catalogue import load_card_game
    from errai.runs.folder import saved_game
    from errai.strategy.postprocessing import split_options

    if game is not None:
        return load_card_game(game)
    path, _ = split_options(agent)
    if not path or path.endswith(".py") or not Path(path).exists():
        raise UsageError(f"--game is missing: '{agent}' is not a saved strategy that would tell its game")
    return load_card_game(saved_game(path)[0])


def _open_log(log: str | None) -> IO[str] | None:
    # By lines, so that nothing is lost however the match ends.
    return None if log is None else open(log, "a", buffering=1, encoding="latin-1", newline="\n")


def _write(file: IO[str], line: str) -> None:
    file.write(line + "\n")


def _tell(agent: str, rules: "PokerRules", played: "Played", json: bool) -> None:
    within = played.times.percentile(99)
    if json:
        print_json(
            {
                "agent": agent,
                "game": rules.name,
                "num_played": played.hands,
                "total_chips": None if played.chips is None else float(played.chips),
                "num_decisions": played.times.count,
                "decision_seconds_99_percent": within,
                "longest_decision_seconds": played.times.longest,
                "warnings": played.mended,
                "unfinished": played.unfinished,
            }
        )
        return
    line = f"{agent} played {played.hands:,} hands of {rules.name}: "
    if played.chips is None:
        line += "chips unknown, because a showdown hid a hand"
    else:
        each = 1000 * float(played.chips) / (rules.big_blind * max(played.hands, 1))
        line += f"{float(played.chips):+,.6g} chips ({each:+,.6g} mbb/g)"
    if within is not None:
        line += (
            f"; 99% of {played.times.count:,} decisions within {format_seconds(within)}, "
            f"the longest {format_seconds(played.times.longest)}"
        )
    if played.unfinished is not None:
        line += f"; the connection ended in hand {played.unfinished}"
    elif not played.hands:
        line += "; the connection ended before the first hand"
    if played.mended:
        line += f"; {played.mended:,} actions were not legal, the first: {played.first_mended}"
    print(f"errai: {line}", file=sys.stderr)
