"""`errai dealer`: a match over TCP by the ACPC protocol, with a verdict however it ends."""

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from errai.cli.options import GameName, Json, OptionalSeed, time_option, whole_number
from errai.cli.output import print_json
from errai.cli.progress import Progress
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.play.dealer import Dealer
    from errai.play.dealer_server import Outcome

MAX_CARD_SEED = 2**32 - 1
MAX_PORT = 65_535
MAX_WARNINGS_TOLD = 10
BROKEN = 1
"""Exit status of a match that was not played to its end."""


def port_numbers(text: str) -> list[int]:
    """Read ports such as `5001,5002`."""
    return [whole_number("--ports", 0, MAX_PORT)(word) for word in text.split(",")]


def dealer_command(
    game: GameName,
    hands: Annotated[
        int,
        typer.Argument(metavar="HANDS", parser=whole_number("HANDS", 1, 2**32 - 1), help="How many hands."),
    ],
    card_seed: Annotated[
        int,
        typer.Argument(
            metavar="SEED",
            parser=whole_number("SEED", 0, MAX_CARD_SEED),
            help="Seed of the cards, which are those of the competition's dealer.",
        ),
    ],
    players: Annotated[
        list[str],
        typer.Argument(
            metavar="PLAYER...",
            help="One for each seat: NAME waits for a connection; NAME=AGENT starts 'errai acpc' with an "
            "agent; NAME=PROGRAM starts a program with host and port, as the competition does.",
        ),
    ],
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="FILE", help="Write the log to a new file; without it, it is printed."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen at.")
    ] = "127.0.0.1",
    ports: Annotated[
        str | None,
        typer.Option(
            "--ports",
            metavar="PORT,PORT",
            help="Ports of the seats; without it any that are free, which are told on standard error.",
        ),
    ] = None,
    start_time: Annotated[
        float, time_option("--start-time", "Longest until a player has connected and sent its version.")
    ] = 60.0,
    response_time: Annotated[float, time_option("--response-time", "Longest response.")] = 60.0,
    hand_time: Annotated[
        float, time_option("--hand-time", "Longest for all responses of a player in a hand.")
    ] = 600.0,
    match_time: Annotated[
        float | None,
        time_option(
            "--match-time", "Longest for all responses of a player in the match; without it 7 s a hand."
        ),
    ] = None,
    json: Json = False,
    seed: OptionalSeed = None,
) -> None:
    """Deal a match over TCP by the ACPC protocol.

    The log has the competition's format. Agents that are started draw by --seed, or by SEED without it.
    Status 0 if every hand was played; 1, with a verdict, if a player has ended the match before.
    """
    from errai.games.catalogue import load_card_game
    from errai.play.dealer import Dealer, Kind
    from errai.play.dealer_server import Limits, Table

    rules = load_card_game(game)
    names, commands = zip(
        *(_player(text, game, card_seed if seed is None else seed) for text in players), strict=True
    )
    numbers = None if ports is None else port_numbers(ports)
    if numbers is not None and len(numbers) != len(names):
        raise UsageError(f"--ports has {len(numbers)} ports: expected one for each of {len(names)} players")
    warn = _Warnings()
    lines = _Log()
    dealer = Dealer(rules, names, hands, card_seed, log=lines.write, warn=warn.tell)
    lines.open(log, json)

    def tell_port(number: int, address: str, port: int) -> None:
        if commands[number] is None:
            _say(f"{names[number]} is awaited at {address} port {port}")

    with Progress(_kept(log, json)) as progress:
        table = Table(
            dealer,
            commands,
            Limits(start_time, response_time, hand_time, match_time),
            host,
            numbers,
            tell_port,
            # Where the log is printed it shows how far the match is.
            (lambda: progress.report("hands", dealer.num_played, hands)) if log is not None else None,
        )
        lines.write(f"# game/hands/seed {game} {hands} {card_seed}")
        try:
            try:
                outcome = table.run()
            except UsageError:
                lines.discard(log)
                raise
            if outcome.verdict.kind is not Kind.FINISHED:
                lines.write(f"# verdict: {outcome.verdict.kind.value}: {outcome.verdict.sentence}")
        finally:
            lines.close()
    _tell(game, card_seed, dealer, outcome, log, json)
    if outcome.verdict.kind is not Kind.FINISHED:
        raise typer.Exit(BROKEN)


def _player(text: str, game: str, seed: int) -> tuple[str, list[str] | None]:
    """Return the name of a player and the program to start, if any."""
    name, equals, what = text.partition("=")
    if not equals:
        return name, None
    if not what:
        raise UsageError(f"'{text}' names no agent: expected NAME, NAME=AGENT or NAME=PROGRAM")
    path = Path(what)
    if path.is_file() and path.suffix != ".py" and os.access(path, os.X_OK):
        return name, [str(path.absolute())]
    words = [sys.executable, "-m", "errai", "acpc", "--game", game, "--seed", str(seed)]
    return name, [*words, "--", what]


class _Log:
    """The lines of a match's log, each written out at once: nothing that was played is lost."""

    def __init__(self) -> None:
        self._file: IO[str] | None = None
        self._prints = False

    def open(self, path: str | None, json: bool) -> None:
        """Begin a new file, or print where none is named and nothing else is printed."""
        self._prints = path is None and not json
        if path is None:
            return
        try:
            self._file = open(  # noqa: SIM115 - it stays open for the match
                path, "x", encoding="utf-8", errors="surrogateescape", newline="\n"
            )
        except FileExistsError:
            raise UsageError(f"--log '{path}' is there already: expected the name of a new file") from None

    def write(self, line: str) -> None:
        if self._prints:
            print(line, flush=True)
        elif self._file is not None:
            self._file.write(line + "\n")
            self._file.flush()

    def discard(self, path: str | None) -> None:
        """Leave nothing of a match that could not begin."""
        if path is not None:
            os.unlink(path)

    def close(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()


class _Warnings:
    """Tells the first warnings; all of them are counted."""

    def __init__(self) -> None:
        self._count = 0

    def tell(self, sentence: str) -> None:
        self._count += 1
        if self._count <= MAX_WARNINGS_TOLD:
            more = "; later ones are counted only" if self._count == MAX_WARNINGS_TOLD else ""
            _say(f"warning: {sentence}{more}")


def _kept(log: str | None, json: bool) -> str:
    if log is not None:
        return f"the hands that were played are in {log}"
    return "no log was kept: --log FILE keeps one" if json else "the hands that were played are printed above"


def _say(text: str) -> None:
    print(f"errai: {text}", file=sys.stderr, flush=True)


def _tell(game: str, seed: int, dealer: "Dealer", outcome: "Outcome", log: str | None, json: bool) -> None:
    from errai.play.dealer import Kind

    verdict = outcome.verdict
    if json:
        print_json(
            {
                "game": game,
                "seed": seed,
                "names": list(dealer.names),
                "num_hands": dealer.num_hands,
                "num_played": dealer.num_played,
                "totals_chips": [float(chips) for chips in dealer.totals],
                "warnings": dealer.warnings,
                "verdict": verdict.kind.value,
                "told": verdict.sentence,
                "statuses": outcome.statuses,
                "answer_seconds": outcome.seconds,
                "longest_answer_seconds": outcome.longest,
                "out": log,
            }
        )
    for name, warnings, status in zip(dealer.names, dealer.warnings, outcome.statuses, strict=True):
        if warnings:
            _say(f"{name}: {warnings:,} actions were not legal and were mended")
        if status and verdict.kind is Kind.FINISHED:
            _say(f"{name} left with status {status}")
    if verdict.kind is not Kind.FINISHED:
        kept = f"; {dealer.num_played:,} of {dealer.num_hands:,} hands were played"
        _say(f"verdict: {verdict.kind.value}: {verdict.sentence}{kept}")
    elif log is not None and not json:
        score = ", ".join(
            f"{name} {float(chips):+,.6g}" for name, chips in zip(dealer.names, dealer.totals, strict=True)
        )
        print(f"{verdict.sentence}: {score} chips; log in {log}")
