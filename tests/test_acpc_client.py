"""The client's side of the ACPC protocol: what is answered, what is counted, what is refused."""

import json
import socket
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from errai.errors import UsageError
from errai.games.betting import replay
from errai.games.catalogue import load_card_game
from errai.games.match_state import MatchState
from errai.play.acpc_client import VERSION, Conversation, NonsenseError, _send, connect, play
from errai.play.agent import Agent
from errai.play.decision_times import DecisionTimes
from errai.play.draws import Draws
from errai.play.lines import MAX_LINE_BYTES, LineBuffer, LineTooLongError
from errai.play.mended_action import mended_action

RunErrai = Callable[..., tuple[int, str, str]]
FILES = Path(__file__).parent / "game_files"

LIMIT = load_card_game("limit-holdem")
NOLIMIT = load_card_game("nolimit-holdem")
THREE = load_card_game(str(FILES / "holdem.limit.3p.game"))


class Listener(Agent):
    """Calls, and remembers what it was asked and told."""

    def __init__(self, game, action="c"):
        super().__init__(game)
        self.action, self.asked, self.ended, self.drawn = action, [], [], []

    def act(self, state: MatchState, draws: Draws) -> Any:
        self.asked.append(str(state))
        self.drawn.append(draws.random())
        return self.action

    def end_hand(self, state: MatchState) -> None:
        self.ended.append(str(state))


def heard(agent: Agent, *data: bytes, **how: Any) -> tuple[list[bytes], Any]:
    talk = Conversation(agent, **how)
    return [answer for piece in data for answer in talk.receive(piece)], talk


# Lines


def test_lines_come_out_however_they_are_cut():
    stream = b"one\r\ntwo\n\r\n# x\r\nth\rree\r\nrest"
    expected = [b"one", b"two", b"", b"# x", b"th\rree"]
    for size in range(1, len(stream) + 1):
        buffer = LineBuffer()
        pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert [line for piece in pieces for line in buffer.feed(piece)] == expected
        assert buffer.partial == b"rest"


@pytest.mark.parametrize("end", [b"", b"\r", b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [1, 1000, 10**6])
def test_a_line_may_be_so_long_and_no_longer(end, size):
    def feed(data: bytes) -> int:
        buffer = LineBuffer()
        lines = [line for i in range(0, len(data), size) for line in buffer.feed(data[i : i + size])]
        assert len(buffer.partial) <= MAX_LINE_BYTES + 1
        return len(lines)

    assert feed(b"x" * MAX_LINE_BYTES + end) == (b"\n" in end)
    with pytest.raises(LineTooLongError) as error:
        feed(b"ab" + b"x" * (MAX_LINE_BYTES - 1) + end)
    assert error.value.beginning == b"ab" + b"x" * 58


def test_the_lines_before_one_that_is_too_long_are_had():
    buffer = LineBuffer()
    found = buffer.feed(b"good\n" + b"x" * 10**5)
    assert next(found) == b"good"
    with pytest.raises(LineTooLongError):
        next(found)
    assert buffer.partial == b""


# Answers


def test_an_answer_is_the_line_as_it_came_and_an_action():
    line = b"MATCHSTATE:1:7::|2hAc"
    for end in (b"\r\n", b"\n"):
        answers, talk = heard(Listener(LIMIT), line + end)
        assert answers == [line + b":c\r\n"]
    assert talk.agent.asked == [line.decode()]
    assert talk.played.times.count == 1


def test_partial_lines_comments_and_several_lines_in_one_read():
    pieces = (
        b"# welcome\r\nMATCHSTATE:0:0::7d",
        b"3d|\r",
        b"\nMATCHSTATE:0:0:c:7d3d|\r\n; soon\r\n\r\nMATCHSTATE:0:0:cc/:7d3d|/5sKs7s\r\nMATCHSTATE",
    )
    answers, _ = heard(Listener(LIMIT), *pieces)
    assert answers == [b"MATCHSTATE:0:0:c:7d3d|:c\r\n", b"MATCHSTATE:0:0:cc/:7d3d|/5sKs7s:c\r\n"]


@pytest.mark.parametrize(
    ("game", "line"),
    [
        (LIMIT, "MATCHSTATE:0:0::7d3d|"),  # the other one's turn
        (LIMIT, "MATCHSTATE:0:0:f:7d3d|"),  # folded
        (LIMIT, "MATCHSTATE:0:0:rc/crrc/crc/rrc:7d3d|2hAc/5sKs7s/9s/6h"),  # showdown
        (NOLIMIT, "MATCHSTATE:1:0:r20000c///:7d3d|2hAc/5sKs7s/9s/6h"),  # all-in before the flop
        (THREE, "MATCHSTATE:1:0:f:|7d3d|"),
    ],
)
def test_nothing_is_answered_out_of_turn_or_after_the_end(game, line):
    answers, talk = heard(Listener(game), line.encode() + b"\r\n")
    assert answers == []
    assert talk.agent.asked == []
    assert len(talk.agent.ended) == talk.played.hands == (talk.played.unfinished is None)


def test_what_is_drawn_depends_on_seed_hand_and_seat():
    """Three players: the seat is the position plus the number of the hand."""
    lines = b"MATCHSTATE:2:4::||7d3d\n", b"MATCHSTATE:2:4:crr:||7d3d\n", b"MATCHSTATE:2:5::||7d3d\n"
    _, talk = heard(Listener(THREE), *lines, seed=9)
    first, second = Draws(9, 4, (2 + 4) % 3), Draws(9, 5, (2 + 5) % 3)
    assert talk.agent.drawn == [first.random(), first.random(), second.random()]


# The account


def test_chips_are_those_of_the_logged_hands():
    """The competition dealer's log of seed 42 gives A 100, 120 and -80 chips."""
    lines = (
        b"MATCHSTATE:0:0:rc/crrc/crc/rrc:7d3d|2hAc/5sKs7s/9s/6h\r\n",
        b"MATCHSTATE:1:1:cc/rc/rc/crrrrc:9h6s|3d3h/5s3s8h/9d/5c\r\n",
        b"MATCHSTATE:0:2:cc/rc/rrc/rc:4d6c|QsJh/3c9sJc/2d/Ts\r\n",
    )
    agent = Listener(LIMIT)
    _, talk = heard(agent, *lines)
    assert (talk.played.hands, talk.played.chips) == (3, 140)
    assert agent.ended == [line.decode().strip() for line in lines]


def test_a_folded_hand_may_stay_hidden_and_a_hand_at_the_showdown_may_not():
    known = b"MATCHSTATE:0:0:cfc/cc/cc/cc:7d3d|2hAc|/5sKs7s/9s/6h\n"
    hidden = b"MATCHSTATE:0:1:ccc/ccc/ccc/ccc:7d3d|2hAc|/5sKs7s/9s/6h\n"
    _, talk = heard(Listener(THREE), known)
    # Position 0 folded its blind of 5; positions 1 and 2 are at the showdown, and 2 is hidden.
    assert talk.played.chips is None
    _, talk = heard(Listener(THREE), known.replace(b"cfc", b"fcc"))
    assert talk.played.chips == Fraction(10)
    _, talk = heard(Listener(THREE), known.replace(b"cfc", b"fcc"), hidden)
    assert (talk.played.hands, talk.played.chips) == (2, None)


def test_an_end_that_is_told_twice_counts_once():
    _, talk = heard(Listener(LIMIT), b"MATCHSTATE:0:0:f:7d3d|\n" * 2 + b"MATCHSTATE:1:1:f:|7d3d\n")
    assert (talk.played.hands, talk.played.chips) == (2, 0)


@pytest.mark.parametrize(
    ("game", "betting", "said", "played"),
    [
        (NOLIMIT, "", "r120", "r200"),
        (NOLIMIT, "", "r20001", "r20000"),
        (NOLIMIT, "", "r" + "9" * 5000, "r20000"),
        (NOLIMIT, "", "r", "c"),
        (NOLIMIT, "r20000", "r20000", "c"),
        (NOLIMIT, "c", "f", "c"),
        (NOLIMIT, "", "r0300", "r300"),
        (LIMIT, "", "r20", "r"),
        (LIMIT, "rrr", "r", "c"),
    ],
)
def test_actions_that_are_not_legal_are_mended(game, betting, said, played):
    found = mended_action(replay(game, betting), said)
    assert found is not None
    assert found[0] == played
    assert found[1]


@pytest.mark.parametrize("said", ["f", "c", "r300", "r200", "r20000"])
def test_legal_actions_are_left_alone(said):
    assert mended_action(replay(NOLIMIT, ""), said) == (said, None)


@pytest.mark.parametrize("said", ["", "x", "call", "C", "cc", "c ", "c\n", "r-5", "r5.0", "r٣", "rr", "f:"])
def test_what_is_not_an_action_is_not_mended(said):
    assert mended_action(replay(NOLIMIT, ""), said) is None


@pytest.mark.parametrize("said", [None, 7, "raise", "c\r\nMATCHSTATE"])
def test_an_agent_that_says_no_action_calls(said):
    answers, talk = heard(Listener(LIMIT, said), b"MATCHSTATE:1:0::|7d3d\r\n" * 2)
    assert answers == [b"MATCHSTATE:1:0::|7d3d:c\r\n"] * 2
    assert talk.played.mended == 2
    assert "it is not an action" in talk.played.first_mended


def test_an_agent_that_fails_is_named_with_the_state():
    class Failing(Agent):
        def act(self, state, draws):
            return str(1 // 0)

    with pytest.raises(
        UsageError, match=r"'Failing' failed at 'MATCHSTATE:1:0::\|7d3d': ZeroDivisionError: "
    ):
        heard(Failing(LIMIT), b"MATCHSTATE:1:0::|7d3d\r\n")


def test_a_blueprint_is_asked_in_every_round_before_it_says_that_it_is_there(monkeypatch):
    from errai.play.blueprint_agent import BlueprintAgent
    from errai.strategy.strategy import uniform_strategy

    asked = []
    monkeypatch.setattr(BlueprintAgent, "probabilities", lambda self, state: asked.append(str(state)))
    Conversation(BlueprintAgent(uniform_strategy(load_card_game("leduc"))))
    number = 2**32 - 1
    assert asked == [
        f"MATCHSTATE:{position}:{number}:{betting}:{cards}"
        for position, betting, cards in (
            (0, "", "Ks|"),
            (1, "c", "|Kh"),
            (0, "cc/", "Ks|/Qs"),
            (1, "cc/c", "|Kh/Qs"),
        )
    ]
    agent = Listener(LIMIT)  # might learn, so it is not asked
    Conversation(agent)
    assert agent.asked == agent.ended == []


def test_times_of_decisions():
    times = DecisionTimes()
    assert times.percentile(99) is None
    for seconds in [0.001] * 98 + [0.2, 0.1]:
        times.add(seconds)
    assert times.percentile(98) == pytest.approx(0.001, rel=0.02)
    assert times.percentile(99) == pytest.approx(0.1, rel=0.02)
    assert times.percentile(100) == times.longest == 0.2
    assert times.count == 100


# Nonsense


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"HELLO", "'HELLO', which is no state of limit-holdem: 'HELLO' does not begin with 'MATCHSTATE:'"),
        (b"MATCHSTATE:0:0:rrrr:7d3d|", "a round has at most 3 raises"),
        (b"MATCHSTATE:0:0::7d7d|", "'MATCHSTATE:0:0::7d7d|'"),
        (b"MATCHSTATE:2:0::7d3d|", "position 2 is not in play"),
        (b"MATCHSTATE:0:0::|7d3d", "the hole cards of position 0 are hidden from itself"),
        (b"MATCHSTATE:0:0:r300:7d3d|", "'MATCHSTATE:0:0:r300:7d3d|'"),
        (b"MATCHSTATE:0:0::Ks|", "'MATCHSTATE:0:0::Ks|'"),
        (
            b"MATCHSTATE:0:0::7d3d|\r",
            "'MATCHSTATE:0:0::7d3d|\\r': expected one end of the line",
        ),
        (b"\xff\xfe\x00", "the dealer sent '\\xff\\xfe\\x00': expected ASCII text"),
    ],
)
def test_nonsense_is_named(line, sentence):
    with pytest.raises(NonsenseError) as error:
        heard(Listener(LIMIT), line + b"\r\n")
    assert str(error.value).startswith("the dealer sent ")
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_line_without_an_end_is_nonsense_at_some_length():
    with pytest.raises(
        NonsenseError, match="a line of more than 8192 bytes, which begins with 'MATCHSTATE:0"
    ):
        heard(Listener(LIMIT), b"MATCHSTATE:0:" + b"1" * 10**5)


# Sockets


def dealt(*pieces: bytes, hang_up: Callable[[socket.socket], object] = socket.socket.close):
    """Serve one client these bytes; returns the port, and a list that gets what the client sent."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(20)
    sent: list[bytes] = []

    def serve() -> None:
        with server:
            connection, _ = server.accept()
            connection.settimeout(20)
            sent.append(connection.recv(65536))
            for piece in pieces:
                connection.sendall(piece)
                if b"1:0::" in piece:
                    sent.append(connection.recv(65536))
            hang_up(connection)
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return server.getsockname()[1], sent, thread


def test_play_ends_with_the_connection():
    port, sent, thread = dealt(b"MATCHSTATE:1:0::|7d3d\r\n", b"MATCHSTATE:1:0:c:|7d3d\r\nMATCH")
    with connect("127.0.0.1", port) as connection:
        played = play(Listener(LIMIT), connection, timeout=20)
    thread.join(20)
    assert sent == [VERSION + b"\r\n", b"MATCHSTATE:1:0::|7d3d:c\r\n"]
    assert (played.hands, played.unfinished, played.times.count) == (0, 0, 1)


def test_a_connection_that_is_cut_is_an_end_as_well():
    def cut(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    port, _, thread = dealt(b"MATCHSTATE:1:0::|7d3d\r\nMATCHSTATE:1:0:f:|7d3d\r\n", hang_up=cut)
    with connect("127.0.0.1", port) as connection:
        play(Listener(LIMIT), connection, timeout=20)
    thread.join(20)


def test_a_silent_dealer_is_left_after_a_time():
    left = threading.Event()
    port, _, thread = dealt(hang_up=lambda connection: left.wait(20))
    with connect("127.0.0.1", port) as connection, pytest.raises(NonsenseError, match=r"silent for 0\.2 s"):
        play(Listener(LIMIT), connection, timeout=0.2)
    left.set()
    thread.join(20)


def test_a_dealer_that_does_not_read_is_left(monkeypatch):
    monkeypatch.setattr("errai.play.acpc_client.SEND_SECONDS", 0.1)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(NonsenseError, match=r"the dealer has read nothing for 0\.1 s"):
        _send(ours, b"x" * 10**7)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_nobody_there():
    port = free_port()
    with pytest.raises(UsageError, match=f"no dealer answers at 127.0.0.1 port {port}: Connection refused"):
        connect("127.0.0.1", port)


# The command


def test_the_command_tells_what_was_played(run_errai: RunErrai, tmp_path: Path):
    lines = b"MATCHSTATE:1:0::|7d3d\r\n", b"MATCHSTATE:1:0:c:|7d3d\r\n", b"MATCHSTATE:1:0:crf:|7d3d\r\n"
    port, _, thread = dealt(*lines)
    command = ["acpc", "always-call", "127.0.0.1", str(port), "--game", "limit-holdem", "--log", "wire.log"]
    status, out, told = run_errai(*command)
    thread.join(20)
    assert (status, out) == (0, "")
    assert told.startswith(
        "errai: always-call played 1 hands of limit-holdem: -10 chips (-1,000 mbb/g); 99% of"
    )
    assert (tmp_path / "wire.log").read_text().splitlines() == [
        "< MATCHSTATE:1:0::|7d3d",
        "> MATCHSTATE:1:0::|7d3d:c",
        "< MATCHSTATE:1:0:c:|7d3d",
        "< MATCHSTATE:1:0:crf:|7d3d",
    ]


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ([], "before the first hand"),
        ([b"# not yet\r\n"], "before the first hand"),
        ([b"MATCHSTATE:0:0::7d3d|\r\n"], "in hand 0"),
    ],
)
def test_an_end_before_anything_was_played_is_told(run_errai: RunErrai, lines: list[bytes], where: str):
    """So ends a match whose other player has left: without a word it would look like one that was played."""
    port, _, thread = dealt(*lines)
    status, out, told = run_errai("acpc", "half", "127.0.0.1", str(port), "--game", "limit-holdem")
    thread.join(20)
    assert (status, out) == (0, "")
    assert told == (
        f"errai: half played 0 hands of limit-holdem: +0 chips (+0 mbb/g); the connection ended {where}\n"
    )


def test_nothing_but_nonsense_is_told_where_nothing_was_played(run_errai: RunErrai):
    port, _, thread = dealt(b"RUBBISH\r\n")
    status, out, told = run_errai("acpc", "half", "127.0.0.1", str(port), "--game", "limit-holdem")
    thread.join(20)
    assert (status, out) == (2, "")
    assert told.startswith("errai: the dealer sent 'RUBBISH'")
    assert told.count("\n") == 1


def test_the_command_prints_json(run_errai: RunErrai):
    port, _, thread = dealt(b"MATCHSTATE:1:0::|7d3d\r\n", b"MATCHSTATE:0:1:f:7d3d|\r\n")
    command = ["acpc", "always-call", "127.0.0.1", str(port), "--game", "limit-holdem", "--json"]
    status, out, told = run_errai(*command)
    thread.join(20)
    found = json.loads(out)
    assert (status, told) == (0, "")
    assert (found["num_played"], found["total_chips"], found["num_decisions"]) == (1, 5.0, 1)
    assert 0 < found["decision_seconds_99_percent"] <= found["longest_decision_seconds"] < 20


def test_what_was_played_is_told_before_nonsense(run_errai: RunErrai):
    port, _, thread = dealt(b"MATCHSTATE:0:1:f:7d3d|\r\nRUBBISH\r\n")
    command = ["acpc", "always-call", "127.0.0.1", str(port), "--game", "limit-holdem"]
    status, out, told = run_errai(*command)
    thread.join(20)
    assert (status, out) == (2, "")
    first, second = told.splitlines()
    assert first == "errai: always-call played 1 hands of limit-holdem: +5 chips (+500 mbb/g)"
    assert second == (
        "errai: the dealer sent 'RUBBISH', which is no state of limit-holdem: "
        "'RUBBISH' does not begin with 'MATCHSTATE:'."
    )


def test_the_game_is_that_of_the_strategy_unless_it_is_said(run_errai: RunErrai):
    from errai.strategy.strategy import uniform_strategy

    uniform_strategy(load_card_game("leduc")).save("uniform.npz")
    for agent in ("uniform.npz", "uniform.npz:purify", "uniform.npz:purify:translation=nearest"):
        port, _, thread = dealt(b"MATCHSTATE:0:0::Ks|\r\n")
        status, _, told = run_errai("acpc", agent, "127.0.0.1", str(port))
        thread.join(20)
        assert status == 0
        assert f"{agent} played 0 hands of leduc" in told
    port, _, thread = dealt(b"MATCHSTATE:0:0::KsKd|\r\n")
    status, _, told = run_errai("acpc", "uniform.npz", "127.0.0.1", str(port))
    thread.join(20)
    assert status == 2
    assert "'MATCHSTATE:0:0::KsKd|', which is no state of leduc" in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["always-call", "127.0.0.1", "1"], "--game is missing: 'always-call' is not a saved strategy"),
        (["always-call", "127.0.0.1", "0"], "PORT must be 1 or more, not 0"),
        (["always-call", "127.0.0.1", "65536"], "PORT must be between 1 and 65,535, not 65536"),
        (["always-call", "127.0.0.1", "1", "--game", "chess"], "'chess' is neither a game nor"),
        (["always-call", "a" * 300, "1", "--game", "leduc"], "no dealer answers at aaa"),
    ],
)
def test_bad_lines_of_the_command(run_errai: RunErrai, words, sentence):
    status, out, told = run_errai("acpc", *words)
    assert (status, out) == (2, "")
    assert sentence in told
    assert told.count("\n") == 1
