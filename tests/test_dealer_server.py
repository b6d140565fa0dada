"""The dealer's table over TCP: matches that are played, and every way of spoiling one.

Every server listens on a free port of the loopback and ends with its test; every wait is bounded.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from errai.cli.dealer import _Log
from errai.errors import UsageError
from errai.games.catalogue import load_card_game
from errai.games.match_state import parse_match_state
from errai.play import dealer_server
from errai.play.dealer import Dealer, Kind
from errai.play.dealer_server import Limits, Outcome, Table

RunErrai = Callable[..., tuple[int, str, str]]
Player = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

FILES = Path(__file__).parent / "game_files"
LEDUC = load_card_game("leduc")
WAIT = 30.0
LONG = Limits(start=WAIT, response=WAIT)
VERSION = b"VERSION:2.0.0\r\n"


def is_asked(line: bytes, game=LEDUC) -> bool:
    return parse_match_state(game, line.decode()).is_my_turn


def calling(action: Callable[[int], bytes | None] = lambda count: b"c", game=LEDUC) -> Player:
    """A player that answers correctly, or leaves when its action is None."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(VERSION)
        count = 0
        while line := await reader.readline():
            if is_asked(line, game):
                chosen = action(count)
                count += 1
                if chosen is None:
                    return
                writer.write(line.rstrip(b"\r\n") + b":" + chosen + b"\r\n")

    return talk


def answering(make: Callable[[bytes], bytes], after: int = 0) -> Player:
    """A player that answers correctly some times and then sends what is made of the line."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(VERSION)
        left = after
        while line := await reader.readline():
            if is_asked(line):
                state = line.rstrip(b"\r\n")
                writer.write(state + b":c\r\n" if left else make(state))
                left -= 1

    return talk


def beginning(data: bytes) -> Player:
    """A player that sends this in place of its version, then reads."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        while await reader.read(65536):
            pass

    return talk


def table_of(
    *players: Player | None, hands=20, limits=LONG, game=LEDUC, **how
) -> tuple[Outcome, Dealer, list[str]]:
    """Seat players and play; a player that is None never connects."""
    log: list[str] = []
    dealer = Dealer(game, "ABC"[: len(players)], hands, 42, log=log.append)

    async def seat(player: Player, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await player(reader, writer)
        except (ConnectionError, TimeoutError):
            pass
        finally:
            writer.close()

    async def run() -> Outcome:
        tasks: list[asyncio.Task[None]] = []

        def tell_port(number: int, host: str, port: int) -> None:
            player = players[number]
            if player is not None:
                tasks.append(asyncio.create_task(seat(player, port)))

        table = Table(dealer, [None] * len(players), limits, tell_port=tell_port, **how)
        try:
            return await asyncio.wait_for(table.play(), WAIT)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(run()), dealer, log


# Matches that are played


def test_a_match_is_played_to_its_end():
    outcome, dealer, log = table_of(calling(), calling())
    assert outcome.verdict.kind is Kind.FINISHED
    assert (outcome.verdict.seat, outcome.verdict.sentence) == (None, "20 hands were played to the end")
    assert dealer.num_played == 20
    assert len(log) == 21
    assert log[-1].startswith("SCORE:")
    assert all(0 < longest <= total for longest, total in zip(outcome.longest, outcome.seconds, strict=True))


def test_what_may_be_sent_counts_anew_after_every_answer(monkeypatch):
    monkeypatch.setattr(dealer_server, "MAX_UNANSWERED_BYTES", 100)
    outcome, _, _ = table_of(calling(), calling())
    assert outcome.verdict.kind is Kind.FINISHED


def test_three_players():
    game = load_card_game(str(FILES / "kuhn.limit.3p.game"))
    players = [calling(lambda count: b"r" if count % 2 else b"c", game)] * 3
    outcome, _, log = table_of(*players, game=game)
    assert outcome.verdict.kind is Kind.FINISHED
    assert len(log) == 21


def test_comments_empty_lines_and_bare_line_feeds_are_taken():
    def answer(state: bytes) -> bytes:
        return b"# thinking\r\n\r\n; still\n" + state + b":c\n"

    outcome, dealer, _ = table_of(answering(answer), answering(answer))
    assert (outcome.verdict.kind, dealer.warnings) == (Kind.FINISHED, [0, 0])


def test_wrong_actions_are_mended_and_the_match_goes_on():
    outcome, dealer, _ = table_of(calling(lambda count: b"f"), calling())
    assert outcome.verdict.kind is Kind.FINISHED
    assert dealer.warnings == [40, 0]  # two rounds a hand


def test_a_taken_seat_is_not_given_again():
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("peername")
        other, intruder = await asyncio.open_connection(*address)
        with suppress(ConnectionError):
            assert await other.read() == b""
        intruder.close()
        await calling()(reader, writer)

    outcome, _, _ = table_of(twice, calling())
    assert outcome.verdict.kind is Kind.FINISHED


def test_who_leaves_with_the_last_answer_has_played():
    outcome, _, _ = table_of(calling(), calling(lambda count: b"r" if count == 0 else None), hands=1)
    assert outcome.verdict.kind is Kind.DISCONNECTED

    # In one hand of calls B answers twice, and leaves at once after the second, which is the last.
    async def leaves(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(VERSION)
        for _ in range(2):
            while not is_asked(line := await reader.readline()):
                pass
            writer.write(line.rstrip() + b":c\r\n")
            await writer.drain()

    outcome, _, log = table_of(calling(), leaves, hands=1)
    assert outcome.verdict.kind is Kind.FINISHED
    assert len(log) == 2


# Matches that are spoilt: (player, kind, what the verdict says)

SPOILERS: dict[str, tuple[Player, Kind, str]] = {
    "garbage": (
        answering(lambda state: b"\x00\xff\r\n"),
        Kind.GARBAGE,
        "B sent '\\x00\\xff', which is no answer",
    ),
    "no action": (
        answering(lambda state: state + b":q\r\n"),
        Kind.GARBAGE,
        "B answered 'q', which is not an",
    ),
    "wrong echo": (
        answering(lambda state: state.replace(b":0:", b":1:", 1) + b":c\r\n"),
        Kind.WRONG_ECHO,
        "B answered 'MATCHSTATE:1:1:c:|",
    ),
    "twice": (
        answering(lambda state: (state + b":r\r\n") * 2),
        Kind.OUT_OF_TURN,
        "B sent 'MATCHSTATE:1:0:c:|",
    ),
    "early exit": (
        calling(lambda count: b"c" if count < 5 else None),
        Kind.DISCONNECTED,
        "B left, in hand 2",
    ),
    "silence": (
        answering(lambda state: b""),
        Kind.TIMEOUT,
        "B did not answer within the 1 s of a response",
    ),
    "half a line": (answering(lambda state: state), Kind.TIMEOUT, "B did not answer within the 1 s of"),
    "a long line": (
        answering(lambda state: b"x" * 9000),
        Kind.FLOODING,
        "B sent a line of more than 8192 bytes",
    ),
    "comments": (
        answering(lambda state: b"# comment\r\n" * 50_000),
        Kind.FLOODING,
        "B sent more than 65,536 bytes without being asked",
    ),
    "line feeds": (answering(lambda state: b"\n" * 10**6), Kind.FLOODING, "B sent more than 65,536 bytes"),
    "no version": (beginning(b""), Kind.NEVER_CAME, "B did not send its version within 1 s, before the"),
    "old version": (
        beginning(b"VERSION:1.0.0\r\n"),
        Kind.WRONG_VERSION,
        "B sent 'VERSION:1.0.0' where 'VERSION:2.0.0' was expected, before the first hand",
    ),
    "flood for a version": (beginning(b"x" * 10**6), Kind.FLOODING, "B sent a line of more than 8192 bytes"),
}
SHORT = Limits(start=1.0, response=1.0)


@pytest.mark.parametrize("name", SPOILERS)
def test_whoever_spoils_a_match_is_named(name):
    player, kind, sentence = SPOILERS[name]
    outcome, dealer, log = table_of(calling(), player, limits=SHORT)
    assert (outcome.verdict.kind, outcome.verdict.seat) == (kind, 1)
    assert outcome.verdict.sentence.startswith(sentence)
    assert len(log) == dealer.num_played
    assert not any(line.startswith("SCORE") for line in log)


async def thinking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A player that takes its time."""
    writer.write(VERSION)
    await asyncio.sleep(WAIT)


def test_a_flood_while_another_thinks():
    async def flooding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(VERSION)
        while True:
            writer.write(b"; " + b"x" * 1000 + b"\n")
            await writer.drain()

    outcome, _, _ = table_of(thinking, flooding)
    assert (outcome.verdict.kind, outcome.verdict.seat) == (Kind.FLOODING, 1)


def test_a_seat_that_leaves_while_another_thinks():
    async def leaving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(VERSION)
        await reader.readline()

    outcome, _, _ = table_of(thinking, leaving)
    assert (outcome.verdict.kind, outcome.verdict.seat) == (Kind.DISCONNECTED, 1)


def test_nobody_connects():
    outcome, _, log = table_of(calling(), None, limits=SHORT)
    assert (outcome.verdict.kind, outcome.verdict.seat) == (Kind.NEVER_CAME, 1)
    assert outcome.verdict.sentence == "B did not connect within 1 s, before the first hand"
    assert log == []


def slow(seconds: float) -> Player:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(VERSION)
        while line := await reader.readline():
            if is_asked(line):
                await asyncio.sleep(seconds)
                writer.write(line.rstrip() + b":c\r\n")

    return talk


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (
            Limits(hand=1.0, match=WAIT),
            "B did not answer within the 1 s of its responses in a hand, in hand 0",
        ),
        (Limits(match=1.5), "B did not answer within the 1.5 s of its responses in the match, in hand 1"),
    ],
)
def test_limits_count_what_was_taken_together(limits, sentence):
    """Two answers a hand of 0.6 s each: the second of a hand, or the third of the match, is too late."""
    outcome, _, _ = table_of(calling(), slow(0.6), limits=limits)
    assert outcome.verdict.kind is Kind.TIMEOUT
    assert outcome.verdict.sentence == sentence


def test_the_clock_of_a_hand_begins_anew():
    outcome, _, _ = table_of(calling(), slow(0.15), limits=Limits(hand=1.0), hands=5)
    assert outcome.verdict.kind is Kind.FINISHED
    assert outcome.seconds[1] > 1.0


def test_the_clock_of_a_match_is_seven_seconds_a_hand(monkeypatch):
    monkeypatch.setattr(dealer_server, "SECONDS_A_HAND", 0.3)
    outcome, _, _ = table_of(calling(), slow(0.6), hands=5)
    assert outcome.verdict.sentence.startswith(
        "B did not answer within the 1.5 s of its responses in the match"
    )


def test_a_seat_that_does_not_read():
    async def run() -> tuple[int, Kind]:
        events: asyncio.Queue[Any] = asyncio.Queue()
        seat = dealer_server._Seat(1, events)
        server = await asyncio.get_running_loop().create_server(lambda: seat, "127.0.0.1", 0)
        async with server:
            with socket.create_connection(server.sockets[0].getsockname()):
                await asyncio.sleep(0.1)
                sent = 0
                while events.empty() and sent < 10**9:
                    seat.send(b"x" * 10**6)
                    sent += 10**6
                    await asyncio.sleep(0)
                number, event = events.get_nowait()
                assert seat.transport is not None
                seat.transport.abort()
                await asyncio.wait_for(seat.closed.wait(), WAIT)
        return number, event.kind

    assert asyncio.run(run()) == (1, Kind.NOT_READING)


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen at 127.0.0.1 port {port}: .*[Aa]ddress.*in use"):
            table_of(None, None, ports=[port, 0])


# The command


def test_the_command_plays_agents_and_logs(run_errai: RunErrai, tmp_path: Path):
    command = ["dealer", "leduc", "30", "42", "A=always-call", "B=half"]
    status, out, _ = run_errai(*command, "--log", "match.log")
    log = (tmp_path / "match.log").read_text()
    assert status == 0
    lines = log.splitlines()
    assert lines[0] == "# game/hands/seed leduc 30 42"
    assert [line.split(":")[0] for line in lines[1:]] == ["STATE"] * 30 + ["SCORE"]
    won = int(lines[-1].split(":")[1].split("|")[0])
    assert out == f"30 hands were played to the end: A {won:+}, B {-won:+} chips; log in match.log\n"
    # The same match again, printed; a log is never overwritten.
    assert run_errai(*command)[:2] == (0, log)
    status, out, told = run_errai(*command, "--log", "match.log")
    assert (status, out) == (2, "")
    assert told == "errai: --log 'match.log' is there already: expected the name of a new file.\n"
    assert (tmp_path / "match.log").read_text() == log


def test_every_line_of_a_log_is_written_out_at_once(tmp_path: Path):
    log = _Log()
    log.open(str(tmp_path / "match.log"), json=False)
    for count in (1, 2):
        log.write("STATE")
        assert (tmp_path / "match.log").read_text() == "STATE\n" * count
    log.close()


BOT = """#!/bin/sh
exec {python} {file} "$@"
"""
BOT_SOURCE = """
import socket, sys
seat = socket.create_connection((sys.argv[1], int(sys.argv[2])))
seat.sendall(b"VERSION:2.0.0\\r\\n")
{then}
"""


def bot(folder: Path, then: str) -> str:
    """A program such as the competition would start."""
    (folder / "bot_source").write_text(BOT_SOURCE.format(then=then))
    path = folder / "bot.sh"
    path.write_text(BOT.format(python=sys.executable, file=folder / "bot_source"))
    path.chmod(0o755)
    return str(path)


def test_the_command_starts_programs_and_gives_a_verdict(run_errai: RunErrai, tmp_path: Path):
    command = ["dealer", "leduc", "30", "42", "A=always-call", f"B={bot(tmp_path, 'sys.exit(3)')}", "--json"]
    status, out, told = run_errai(*command, "--log", "match.log")
    found = json.loads(out)
    assert status == 1
    assert (found["verdict"], found["num_played"], found["statuses"][1]) == ("disconnected", 0, 3)
    assert found["told"].startswith("B left with status 3, ")
    assert f"errai: verdict: disconnected: {found['told']}; 0 of 30 hands were played\n" in told
    log = (tmp_path / "match.log").read_text().splitlines()
    assert log == ["# game/hands/seed leduc 30 42", f"# verdict: disconnected: {found['told']}"]


def test_a_program_that_does_not_leave_is_ended(run_errai: RunErrai, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(dealer_server, "GRACE_SECONDS", 0.5)
    then = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    command = ["dealer", "leduc", "3", "42", "A=always-call", f"B={bot(tmp_path, then)}", "--json"]
    status, out, _ = run_errai(*command, "--response-time", "1s")
    assert status == 1
    found = json.loads(out)
    assert (found["verdict"], found["statuses"][1]) == ("timeout", -signal.SIGKILL)


def test_a_program_that_leaves_without_connecting(run_errai: RunErrai, tmp_path: Path):
    path = tmp_path / "bot.sh"
    path.write_text("#!/bin/sh\nexit 4\n")
    path.chmod(0o755)
    status, out, _ = run_errai("dealer", "leduc", "3", "42", "A", "B=bot.sh", "--json")
    found = json.loads(out)
    assert (status, found["statuses"]) == (1, [None, 4])
    assert found["told"] == "B left without connecting with status 4, before the first hand"


@pytest.mark.parametrize("text", ["", "\x00\x01"])
def test_a_program_that_cannot_be_started(run_errai: RunErrai, tmp_path: Path, text: str):
    path = tmp_path / "bot"
    path.write_text(text)
    path.chmod(0o755)
    status, out, told = run_errai("dealer", "leduc", "3", "42", "A", "B=bot", "--json")
    assert (status, out) == (2, "")
    assert f"errai: cannot start '{path}' for B: Exec format error.\n" in told


def test_an_agent_that_cannot_be_is_told(run_errai: RunErrai):
    status, out, _ = run_errai("dealer", "leduc", "3", "42", "A=nobody", "B=always-call", "--json")
    assert (status, json.loads(out)["told"]) == (1, "A left with status 2, before the first hand")


def test_an_interrupted_match_keeps_what_was_played(tmp_path: Path):
    """A signal ends the dealer and the programs that it has started; the log has whole lines."""
    words = ["dealer", "limit-holdem", "1000000", "1", "A=always-call", "B=half", "--log", "match.log"]
    process = subprocess.Popen(
        [sys.executable, "-m", "errai", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(FILES.parent.parent)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "match.log"
    end = time.monotonic() + 60
    while not (log.exists() and log.read_text().count("STATE") >= 3):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children()
    assert len(children) == 2
    process.send_signal(signal.SIGTERM)
    out, told = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert out == ""
    assert "interrupted; the hands that were played are in match.log" in told
    assert psutil.wait_procs(children, timeout=30)[1] == []
    lines = log.read_text().splitlines()
    assert [line.split(":")[1] for line in lines[1:]] == [str(number) for number in range(len(lines) - 1)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["chess", "3", "1", "A", "B"], "'chess' is neither a game nor"),
        (["bluff-1-1", "3", "1", "A", "B"], "'bluff-1-1' is a dice game"),
        (["leduc", "0", "1", "A", "B"], "HANDS must be 1 or more, not 0"),
        (["leduc", "3", "4294967296", "A", "B"], "SEED must be between 0 and 4,294,967,295, not 4294967296"),
        (["leduc", "3", "1", "A"], "leduc is played by 2 players, not 1"),
        (["leduc", "3", "1", "A=", "B"], "'A=' names no agent: expected NAME, NAME=AGENT or NAME=PROGRAM"),
        (["leduc", "3", "1", "A", "B", "--ports", "5001"], "--ports has 1 ports: expected one for each of 2"),
        (["leduc", "3", "1", "A", "B", "--ports", "x,y"], "--ports must be a whole number, not 'x'"),
        (["leduc", "3", "1", "A", "B", "--response-time", "0"], "--response-time must be a time above 0"),
        (
            ["leduc", "3", "1", "A", "B", "--host", "192.0.2.1", "--log", "x"],
            "cannot listen at 192.0.2.1 port 0",
        ),
        (["leduc", "3", "1", "A", "B", "--log", "no/x"], "'no/x': No such file or directory"),
    ],
)
def test_bad_lines_of_the_command(run_errai: RunErrai, tmp_path: Path, words, sentence):
    status, out, told = run_errai("dealer", *words)
    assert (status, out) == (2, "")
    assert sentence in told
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_ports_are_told_and_awaited(run_errai: RunErrai):
    status, out, told = run_errai("dealer", "leduc", "3", "1", "A", "B", "--start-time", "0.2")
    assert (status, out.splitlines()[0]) == (1, "# game/hands/seed leduc 3 1")
    lines = told.splitlines()
    for name, line in zip("AB", lines, strict=False):
        assert line.startswith(f"errai: {name} is awaited at 127.0.0.1 port ")
    assert lines[2] == (
        "errai: verdict: never came: A did not connect within 0.2 s, before the first hand; "
        "0 of 3 hands were played"
    )
