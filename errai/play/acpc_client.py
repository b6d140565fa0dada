"""An agent's seat at the table of a dealer that speaks the ACPC protocol.

1. Connect, load whatever takes long, then send `VERSION:2.0.0`; no clock runs before.
2. Read states. Where it is the agent's turn and the hand is not over, answer the whole line as it came, a
   colon and a legal action, in one write. Comments and empty lines say nothing.
3. The end of the connection is the end of the match.

`Conversation` is the protocol alone, bytes in and bytes out; `play` gives it a socket. A line that is no
state of the game raises `NonsenseError`: going on would mean to guess.
"""

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter

from errai.errors import UsageError
from errai.games.hand import HandState, showdown_strengths
from errai.games.match_state import MAX_HAND_NUMBER, MatchState, parse_match_state
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.decision_times import DecisionTimes
from errai.play.draws import Draws
from errai.play.lines import LINE_END, LineBuffer, LineTooLongError, is_comment, shown_line
from errai.play.mended_action import mended_action

VERSION = b"VERSION:2.0.0"
CONNECT_SECONDS = 30.0
SEND_SECONDS = 60.0
"""A dealer that reads nothing for so long is not one."""
READ_BYTES = 65_536

Log = Callable[[str], None]


class NonsenseError(UsageError):
    """The dealer has sent a line that is no state of the game."""


@dataclass
class Played:
    """What has been played in a seat.

    Attributes:
        hands: that were finished.
        chips: won over these hands; None once a showdown has hidden a hand that was in it.
        times: of the decisions.
        mended: actions of the agent that were not legal and were played as the dealer would have.
        first_mended: the first of them, in words.
        unfinished: the number of a hand in which the connection has ended.
    """

    hands: int
    chips: Fraction | None
    times: DecisionTimes
    mended: int = 0
    first_mended: str = ""
    unfinished: int | None = None


class Conversation:
    """What an agent hears and says in one match.

    Attributes:
        agent: who plays.
        played: the account so far.
    """

    def __init__(self, agent: Agent, seed: int = 0, log: Log | None = None) -> None:
        """Get ready; what has to be compiled is compiled here, before any clock runs.

        Args:
            agent: who plays.
            seed: of what the agent leaves to chance.
            log: told every line, with `<` before those that came and `>` before those that went.
        """
        self.agent = agent
        self.played = Played(0, Fraction(0), DecisionTimes())
        self._seed, self._log = seed, log
        self._buffer = LineBuffer()
        self._draws: tuple[tuple[int, int], Draws] | None = None
        self._last_finished: int | None = None
        _rehearse(agent)

    def receive(self, data: bytes) -> Iterator[bytes]:
        """Take what was read and yield the answers, each to be sent in one write."""
        try:
            for line in self._buffer.feed(data):
                began = perf_counter()
                if self._log is not None:
                    self._log("< " + line.decode("latin-1"))
                if is_comment(line):
                    continue
                answer = self._hear(line)
                if answer is not None:
                    if self._log is not None:
                        self._log("> " + answer.decode("latin-1"))
                    self.played.times.add(perf_counter() - began)
                    yield answer + LINE_END
        except LineTooLongError as error:
            raise NonsenseError(
                f"the dealer sent {error}, which begins with {shown_line(error.beginning)}"
            ) from None

    def _hear(self, line: bytes) -> bytes | None:
        """Return the answer to a line, if it wants one."""
        if line.endswith(b"\r"):  # which reading a state would overlook, and an answer repeat
            raise NonsenseError(f"the dealer sent {shown_line(line)}: expected one end of the line")
        try:
            state = parse_match_state(self.agent.game, line.decode("ascii"))
        except UnicodeDecodeError:
            raise NonsenseError(f"the dealer sent {shown_line(line)}: expected ASCII text") from None
        except UsageError as error:
            raise NonsenseError(
                f"the dealer sent {shown_line(line)}, which is no state of {self.agent.game.name}: {error}"
            ) from None
        if state.betting.is_over:
            self.played.unfinished = None
            self._finish(state)
            return None
        self.played.unfinished = state.hand_number
        if not state.is_my_turn:
            return None
        return line + b":" + self._choose(state).encode("ascii")

    def _choose(self, state: MatchState) -> str:
        seat = (state.position + state.hand_number) % state.betting.rules.num_players
        key = (state.hand_number, seat)
        if self._draws is None or self._draws[0] != key:
            self._draws = key, Draws(self._seed, *key)
        try:
            text = self.agent.act(state, self._draws[1])
        except UsageError:
            raise
        except Exception as error:  # of an agent of somebody's own
            raise UsageError(
                f"the agent '{self.agent.name}' failed at '{state}': {type(error).__name__}: {error}"
            ) from error
        mended = mended_action(state.betting, text) if isinstance(text, str) else None
        action, wrong = mended or ("c", "it is not an action")
        if wrong is not None:
            # Leaving would void the match for both, so the hand is played on as the dealer would have it.
            if not self.played.mended:
                self.played.first_mended = (
                    f"'{self.agent.name}' said {text!r} after '{state.betting.betting}' "
                    f"in hand {state.hand_number} and '{action}' was played: {wrong}"
                )
            self.played.mended += 1
        return action

    def _finish(self, state: MatchState) -> None:
        if state.hand_number == self._last_finished:
            return  # told twice
        self._last_finished = state.hand_number
        self.played.hands += 1
        if self.played.chips is not None:
            values = _values(state)
            self.played.chips = None if values is None else self.played.chips + values[state.position]
        self.agent.end_hand(state)


def play(
    agent: Agent,
    connection: socket.socket,
    seed: int = 0,
    log: Log | None = None,
    timeout: float | None = None,
    conversation: Conversation | None = None,
) -> Played:
    """Play until the connection ends.

    Args:
        agent: who plays; it has loaded.
        connection: to the dealer, where nothing was sent yet.
        seed: of what the agent leaves to chance.
        log: told every line that came or went.
        timeout: seconds to wait for the dealer's next line; None waits as long as the connection stands.
        conversation: to be used in place of a new one, by who wants the account even after an error.
    """
    conversation = conversation or Conversation(agent, seed, log)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    try:
        _send(connection, VERSION + LINE_END)
        while True:
            connection.settimeout(timeout)
            try:
                data = connection.recv(READ_BYTES)
            except TimeoutError:
                raise NonsenseError(f"the dealer was silent for {timeout:g} s") from None
            if not data:
                break
            for answer in conversation.receive(data):
                _send(connection, answer)
    except ConnectionError:
        pass  # the dealer has left with something unread: its end of the match as well
    return conversation.played


def connect(host: str, port: int) -> socket.socket:
    """Connect to a dealer."""
    try:
        return socket.create_connection((host, port), CONNECT_SECONDS)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"no dealer answers at {host} port {port}: {reason}") from None


def _send(connection: socket.socket, data: bytes) -> None:
    connection.settimeout(SEND_SECONDS)
    try:
        connection.sendall(data)
    except TimeoutError:
        raise NonsenseError(f"the dealer has read nothing for {SEND_SECONDS:g} s") from None


def _values(state: MatchState) -> tuple[Fraction, ...] | None:
    """Return the net chips of a finished hand; None where a hand that counts is hidden."""
    betting = state.betting
    if not betting.is_showdown:
        return betting.payoffs()
    live = [p for p, folded in enumerate(betting.folded) if not folded]
    holes = [hole for p in live if (hole := state.holes[p]) is not None]
    if len(holes) < len(live):
        return None
    strengths = [-1] * len(betting.folded)
    for position, strength in zip(live, showdown_strengths(betting.rules, holes, state.board), strict=True):
        strengths[position] = strength
    return betting.payoffs(strengths)


def _rehearse(agent: Agent) -> None:
    """Play a hand of calls that no dealer has dealt, so that kernels are ready before any clock runs.

    Only a blueprint is asked, which answers alike whatever it was asked before; other agents may learn.
    """
    rules = agent.game
    deck = list(rules.deck.cards)
    hand = HandState.start(rules).deal_hole(
        [[deck.pop() for _ in range(rules.num_hole_cards)] for _ in range(rules.num_players)]
    )
    while not hand.is_over:
        if due := hand.num_board_cards_due:
            hand = hand.deal_board([deck.pop() for _ in range(due)])
            continue
        if isinstance(agent, BlueprintAgent):
            own = hand.player
            holes = tuple(hole if p == own else None for p, hole in enumerate(hand.holes))
            agent.probabilities(MatchState(own, MAX_HAND_NUMBER, hand.betting, holes, hand.board))
        hand = hand.act("c")
    hand.payoffs()
