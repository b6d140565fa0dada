"""Fuzzed lines against the client and the dealer: no crash, no hang, no growth of memory.

Lines are what either side might say in a real hand, changed at random: bytes flipped, cut, doubled, swapped
for others, numbers blown up, other games' lines. Many are still right, so that matches go on.
"""

import asyncio
import gc
import random
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from test_dealer import last_line, play_agents

from errai.games.catalogue import load_card_game
from errai.games.match_state import parse_match_state
from errai.games.rules import PokerRules
from errai.play.acpc_client import Conversation, NonsenseError, play
from errai.play.dealer import Dealer, Kind, MisbehaviourError
from errai.play.dealer_server import Limits, Table
from errai.play.simple_agents import SimpleAgent

FILES = Path(__file__).parent / "game_files"
GAMES = [load_card_game(str(path)) for path in sorted(FILES.glob("*.game"))]
WAIT = 60.0

PIECES = [
    *(
        b"MATCHSTATE:",
        b"VERSION:2.0.0",
        b"STATE:",
        b"SCORE:",
        b"#",
        b";",
        b":",
        b"|",
        b"/",
        b"//",
        b"\r",
        b"\x00",
    ),
    *(b"r", b"c", b"f", b"rr", b"r99999999999999999999", b"r-1", b"r0", b"-1", b"4294967296", b"9" * 400),
    *(b"As", b"7d7d", b"Zz", b"\xff", "é".encode(), b"r\xd9\xa3", b" ", b"\t", b"%s%n", b"A" * 9000),
]


def spoilt(line: bytes, rng: random.Random) -> bytes:
    """Return a line changed at random, and often not at all; it has no line feed."""
    for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
        at = rng.randrange(len(line) + 1)
        to = min(len(line), at + rng.randint(0, 8))
        change = rng.randrange(6)
        if change == 0 and line:
            at = min(at, len(line) - 1)
            line = line[:at] + bytes([line[at] ^ (1 << rng.randrange(8))]) + line[at + 1 :]
        elif change == 1:
            line = line[:at] + line[to:]
        elif change == 2:
            line = line[:to] + line[at:]
        elif change == 3:
            line = line[:at] + rng.choice(PIECES) + line[to:]
        elif change == 4:
            line = line[:at]
        else:
            line = rng.randbytes(rng.randint(0, 40))
    return line.replace(b"\n", b"")


def real_states(game: PokerRules) -> list[bytes]:
    """Return states of a game as its seats are told them."""
    lines: list[bytes] = []
    dealer = Dealer(game, "ABC"[: game.num_players], 20, 1)
    agents = ["random", "half", "probe"][: game.num_players]
    play_agents(dealer, agents, lambda told: lines.extend(b"".join(told).split(b"\r\n")[:-1]))
    return lines


class Memory:
    """What Python holds, and how large the process is, from one moment to another."""

    def __enter__(self) -> "Memory":
        gc.collect()
        tracemalloc.start()
        self._resident = psutil.Process().memory_info().rss
        return self

    def __exit__(self, *error: object) -> None:
        gc.collect()
        self.held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        self.grown = psutil.Process().memory_info().rss - self._resident


def fuzz_client(num_lines: int, seed: int) -> int:
    """Let clients of every game hear spoilt lines; returns how many were answered."""
    rng = random.Random(seed)
    states = [real_states(game) for game in GAMES]
    talks = [Conversation(SimpleAgent(game, "random")) for game in GAMES]
    answered, longest = 0, ""
    for _ in range(num_lines):
        which = rng.randrange(len(GAMES))
        talk = talks[which]
        other = which if rng.random() < 0.9 else rng.randrange(len(GAMES))
        line = spoilt(rng.choice(states[other]), rng)
        try:
            for answer in talk.receive(line + rng.choice((b"\n", b"\r\n"))):
                heard, _, action = answer.rpartition(b":")
                assert heard == line.removesuffix(b"\r")
                assert answer.endswith(b"\r\n")
                betting = parse_match_state(talk.agent.game, heard.decode()).betting
                betting.act(action.decode().strip())  # raises if it is not legal
                answered += 1
        except NonsenseError as error:
            longest = max(longest, str(error), key=len)
    assert "\n" not in longest
    assert len(longest) < 2000
    return answered


def fuzz_dealer(num_lines: int, seed: int) -> tuple[int, int]:
    """Let dealers of every game hear spoilt answers; returns how many were played and how many refused."""
    rng = random.Random(seed)
    dealers = [Dealer(game, "ABC"[: game.num_players], 10**6, seed) for game in GAMES]
    told = [dealer.begin() for dealer in dealers]
    played = refused = longest = 0
    unchanged = True
    for _ in range(num_lines):
        which = rng.randrange(len(dealers))
        dealer = dealers[which]
        seat = dealer.acting_seat if rng.random() < 0.9 else rng.randrange(len(dealer.names))
        action = rng.choice((b"c", b"c", b"r", b"f", b"r300", b"r%d" % rng.randrange(30_000)))
        line = spoilt(last_line(told[which][seat]) + b":" + action, rng)
        before = dealer.acting_seat, dealer.num_played, list(dealer.totals)
        try:
            told[which] = dealer.answer(seat, line)
            played += 1
        except MisbehaviourError as error:
            refused += 1
            unchanged = unchanged and (dealer.acting_seat, dealer.num_played, dealer.totals) == before
            longest = max(longest, len(dealer.fault(error).sentence))
    assert unchanged
    assert longest < 5000
    assert all(sum(dealer.totals) == 0 for dealer in dealers)
    return played, refused


def test_2_000_lines_against_the_client():
    fuzz_client(500, 1)
    with Memory() as memory:
        assert fuzz_client(2000, 2) > 100
    assert memory.held < 300_000


def test_2_000_lines_against_the_dealer():
    fuzz_dealer(500, 1)
    with Memory() as memory:
        played, refused = fuzz_dealer(2000, 2)
    assert min(played, refused) > 300
    assert memory.held < 300_000


@pytest.mark.slow
def test_100_000_lines_against_the_client():
    fuzz_client(2000, 3)
    with Memory() as memory:
        assert fuzz_client(100_000, 4) > 5000
    assert memory.held < 300_000
    assert memory.grown < 30_000_000


@pytest.mark.slow
def test_100_000_lines_against_the_dealer():
    fuzz_dealer(2000, 3)
    with Memory() as memory:
        played, refused = fuzz_dealer(100_000, 4)
    assert min(played, refused) > 10_000
    assert memory.held < 300_000
    assert memory.grown < 30_000_000


# The same over sockets, in pieces of any size


def pieces(data: bytes, rng: random.Random) -> Iterator[bytes]:
    while data:
        size = rng.choice((1, 10, 100, 1000, 100_000))
        yield data[:size]
        data = data[size:]


async def spoilt_match(seed: int) -> Kind:
    """Seat a player that answers rightly with one that does not always; returns how the match ended."""
    rng = random.Random(seed)
    game = rng.choice(GAMES)
    names = "ABC"[: game.num_players]
    dealer = Dealer(game, names, 5, seed)
    tasks: list[asyncio.Task[None]] = []

    async def play_seat(number: int, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            greeting = b"VERSION:2.0.0"
            writer.write(
                (spoilt(greeting, rng) if number == 0 and rng.random() < 0.1 else greeting) + b"\r\n"
            )
            while line := await reader.readline():
                if parse_match_state(game, line.decode()).is_my_turn:
                    answer = line.rstrip() + b":c"
                    if number == 0:
                        answer = spoilt(answer, rng)
                    for piece in pieces(answer + b"\r\n", rng):
                        writer.write(piece)
                        await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    def tell_port(number: int, host: str, port: int) -> None:
        tasks.append(asyncio.create_task(play_seat(number, port)))

    table = Table(dealer, [None] * len(names), Limits(start=1.0, response=1.0), tell_port=tell_port)
    outcome = await asyncio.wait_for(table.play(), WAIT)
    assert outcome.verdict.seat in (None, 0)
    for task in tasks:
        task.cancel()
    assert all(
        result is None or isinstance(result, asyncio.CancelledError)
        for result in await asyncio.gather(*tasks, return_exceptions=True)
    )
    return outcome.verdict.kind


async def spoilt_matches(seeds: range) -> set[Kind]:
    return {await spoilt_match(seed) for seed in seeds}


def test_spoilt_matches_end_with_a_verdict():
    kinds = asyncio.run(spoilt_matches(range(25)))
    assert {Kind.GARBAGE, Kind.WRONG_ECHO} <= kinds


@pytest.mark.slow
def test_many_spoilt_matches_end_with_a_verdict():
    asyncio.run(spoilt_matches(range(100)))
    before = psutil.Process().memory_info().rss
    files = psutil.Process().num_fds()
    kinds = asyncio.run(spoilt_matches(range(100, 1100)))
    assert {Kind.FINISHED, Kind.GARBAGE, Kind.WRONG_ECHO, Kind.TIMEOUT, Kind.FLOODING} <= kinds
    assert psutil.Process().memory_info().rss - before < 30_000_000
    assert psutil.Process().num_fds() <= files


def fuzz_sessions(num_sessions: int, seed: int) -> set[str]:
    """Let clients connect to dealers that send spoilt lines in pieces; returns how the sessions ended."""
    rng = random.Random(seed)
    states = [real_states(game) for game in GAMES]
    ends = set()
    for _ in range(num_sessions):
        which = rng.randrange(len(GAMES))
        game = GAMES[which]
        count = rng.randint(1, 30)
        lines = [rng.choice(states[which]) for _ in range(count)]
        if rng.random() < 0.5:
            lines = [spoilt(line, rng) for line in lines]
        data = b"\r\n".join(lines) + rng.choice((b"", b"\n"))
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(WAIT)
            thread = threading.Thread(target=send_all, args=(server, data, rng.randrange(10**9)), daemon=True)
            thread.start()
            with socket.create_connection(server.getsockname(), WAIT) as connection:
                try:
                    play(SimpleAgent(game, "random"), connection, timeout=WAIT)
                    ends.add("the end")
                except NonsenseError:
                    ends.add("nonsense")
            thread.join(WAIT)
            assert not thread.is_alive()
    return ends


def send_all(server: socket.socket, data: bytes, seed: int) -> None:
    connection, _ = server.accept()
    with connection:
        connection.settimeout(WAIT)
        try:
            connection.recv(100)
            for piece in pieces(data, random.Random(seed)):
                connection.sendall(piece)
        except ConnectionError:
            pass


def test_clients_leave_dealers_that_send_nonsense():
    assert fuzz_sessions(25, 1) == {"the end", "nonsense"}


@pytest.mark.slow
def test_many_clients_leave_dealers_that_send_nonsense():
    assert fuzz_sessions(1000, 2) == {"the end", "nonsense"}
