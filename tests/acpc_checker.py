"""A dealer that only checks: what an agent under the ACPC protocol sends, byte by byte.

It shares nothing with the package. Rules and messages are written anew from the protocol's description: it
deals random cards, plays all seats but one with random legal actions, and records as a complaint
whatever the competition's dealer would warn of, wait for in vain, or void a match for:

- the first line is not `VERSION:2.0.0`; something is sent that was not asked for;
- an answer is not the line as it was sent, a colon, an action, CRLF; or it comes in pieces;
- an action is not legal: a fold that faces no bet, a raise past the cap or of a wrong size;
- no answer within the time; the agent leaves before the connection ends, or not after it.

To try the reading side, lines are sent whole, in pieces, together, behind comments, and with a bare LF.
"""

import random
import socket
import time
from dataclasses import dataclass, field

WAIT = 20.0
RANKS, SUITS = "23456789TJQKA", "cdhs"


@dataclass(frozen=True)
class Game:
    """The numbers of a game file."""

    blinds: tuple[int, ...]
    raise_sizes: tuple[int, ...] | None
    first: tuple[int, ...]
    max_raises: tuple[int, ...]
    suits: int
    ranks: int
    hole: int
    board: tuple[int, ...]
    stack: int | None = None


GAMES = {
    "holdem.limit.2p.game": Game(
        (10, 5), (10, 10, 20, 20), (2, 1, 1, 1), (3, 4, 4, 4), 4, 13, 2, (0, 3, 1, 1)
    ),
    "holdem.nolimit.2p.game": Game((100, 50), None, (2, 1, 1, 1), (99,) * 4, 4, 13, 2, (0, 3, 1, 1), 20000),
    "leduc.limit.2p.game": Game((1, 1), (2, 4), (1, 1), (2, 2), 2, 3, 1, (0, 1)),
    "kuhn.limit.3p.game": Game((1, 1, 1), (1,), (1,), (1,), 1, 4, 1, (0,), 2),
    "holdem.limit.3p.game": Game(
        (5, 10, 0), (10, 10, 20, 20), (3, 1, 1, 1), (3, 4, 4, 4), 4, 13, 2, (0, 3, 1, 1)
    ),
}


class Hand:
    """The betting of one hand, from the description of the protocol."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.num = len(game.blinds)
        self.spent = list(game.blinds)
        self.folded = [False] * self.num
        self.text = ""
        self.round = 0
        self.over = self.showdown = False
        self.least = 2 * max(game.blinds)
        self._begin_round()

    def _begin_round(self) -> None:
        self.raises = self.actions = 0
        self.to_act = {p for p in range(self.num) if self._can_act(p)}
        self.player = self._from(self.game.first[self.round] - 1)

    def _all_in(self, p: int) -> bool:
        return self.game.stack is not None and self.spent[p] >= self.game.stack

    def _can_act(self, p: int) -> bool:
        return not self.folded[p] and not self._all_in(p)

    def _from(self, p: int) -> int:
        while p % self.num not in self.to_act:
            p += 1
        return p % self.num

    def legal(self) -> tuple[bool, tuple[int, int] | None]:
        """Whether a fold is legal, and the bounds of a raise."""
        largest, mine = max(self.spent), self.spent[self.player]
        others = [p for p in range(self.num) if p != self.player]
        stack = self.game.stack if self.game.stack is not None else 10**9
        bounds = None
        if (
            self.raises < self.game.max_raises[self.round]
            and self.actions + self.num <= 64
            and stack > largest
            and any(self._can_act(p) for p in others)
        ):
            if self.game.raise_sizes is not None:
                to = min(stack, largest + self.game.raise_sizes[self.round])
                bounds = to, to
            else:
                bounds = min(self.least, stack), stack
        return largest > mine, bounds

    def complaint(self, action: str) -> str | None:
        """What the dealer would warn of."""
        fold, bounds = self.legal()
        if action == "c":
            return None
        if action == "f":
            return None if fold else "a fold without a bet"
        if not action.startswith("r") or bounds is None:
            return f"not a legal action: {action!r}"
        if self.game.raise_sizes is not None:
            return None if action == "r" else f"a size in a limit game: {action!r}"
        if not action[1:].isdigit() or action[1] == "0":
            return f"not a size: {action!r}"
        return None if bounds[0] <= int(action[1:]) <= bounds[1] else f"a wrong size: {action!r}"

    def act(self, action: str) -> None:
        p = self.player
        self.text += action
        self.actions += 1
        self.to_act.discard(p)
        largest = max(self.spent)
        if action == "f":
            self.folded[p] = True
        elif action == "c":
            self.spent[p] = min(largest, self.game.stack) if self.game.stack is not None else largest
        else:
            bounds = self.legal()[1]
            assert bounds is not None
            to = int(action[1:]) if len(action) > 1 else bounds[0]
            self.least = max(self.least, 2 * to - largest)
            self.spent[p] = to
            self.raises += 1
            self.to_act = {q for q in range(self.num) if q != p and self._can_act(q)}
        if self.folded.count(False) == 1:
            self.over = True
        elif self.to_act:
            self.player = self._from(p + 1)
        else:
            last = len(self.game.board) - 1
            if self.round == last or sum(map(self._can_act, range(self.num))) < 2:
                self.text += "/" * (last - self.round)
                self.round = last
                self.over = self.showdown = True
            else:
                self.text += "/"
                self.round += 1
                self.least = max(self.spent) + max(self.game.blinds)
                self._begin_round()


@dataclass
class Checker:
    """Checks one agent for some hands.

    Attributes:
        game: what is played.
        hands: how many.
        seed: of cards, actions and the ways in which lines are sent.
        seat: the agent's; 0 to the number of players less 1.
        complaints: what was wrong; empty for a perfect agent.
        answers: how many there were.
    """

    game: Game
    hands: int
    seed: int = 0
    seat: int = 0
    complaints: list[str] = field(default_factory=list)
    answers: int = 0

    def listen(self) -> int:
        """Open a port and return it."""
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(WAIT)
        return int(self._server.getsockname()[1])

    def run(self) -> None:
        """Deal every hand to whoever connects; never raises, never waits for long."""
        try:
            with self._server, self._server.accept()[0] as connection:
                connection.settimeout(WAIT)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connection = connection
                self._match()
        except (OSError, EOFError) as error:
            self.complaints.append(f"{type(error).__name__}: {error}")

    def _match(self) -> None:
        if (version := self._read()) != b"VERSION:2.0.0\r\n":
            self.complaints.append(f"no version: {version!r}")
            return
        self._rng = random.Random(self.seed)
        self._waiting = b""
        for number in range(self.hands):
            if not self._hand(number):
                return
        self._send(now=True)
        self._connection.shutdown(socket.SHUT_WR)
        if rest := self._connection.recv(65536):
            self.complaints.append(f"something behind the end: {rest!r}")

    def _hand(self, number: int) -> bool:
        game, rng = self.game, self._rng
        players = len(game.blinds)
        position = (self.seat - number) % players
        deck = [rank + suit for rank in RANKS[-game.ranks :] for suit in SUITS[-game.suits :]]
        rng.shuffle(deck)
        holes = ["".join(deck.pop() for _ in range(game.hole)) for _ in range(players)]
        boards = ["".join(deck.pop() for _ in range(count)) for count in game.board]
        hand = Hand(game)
        while True:
            seen = [
                hole if p == position or (hand.showdown and not hand.folded[p]) else ""
                for p, hole in enumerate(holes)
            ]
            cards = "/".join(["|".join(seen) + boards[0], *boards[1 : hand.round + 1]])
            line = f"MATCHSTATE:{position}:{number}:{hand.text}:{cards}".encode()
            self._waiting += rng.choice((b"", b"", b"# a comment\r\n", b"; another\n"))
            self._waiting += line + rng.choice((b"\r\n", b"\r\n", b"\n"))
            if hand.over:
                self._send(now=rng.random() < 0.5)
                return True
            asked = hand.player == position
            self._send(now=asked or rng.random() < 0.5)
            action = self._random_action(hand)
            if asked:
                answer = self._read()
                self.answers += 1
                beginning = line + b":"
                if not answer.startswith(beginning) or not answer.endswith(b"\r\n"):
                    self.complaints.append(f"to {line!r} the answer {answer!r}")
                    return False
                action = answer[len(beginning) : -2].decode("latin-1")
                if complaint := hand.complaint(action):
                    self.complaints.append(f"{complaint} after {hand.text!r}")
                    return False
            hand.act(action)

    def _random_action(self, hand: Hand) -> str:
        fold, bounds = hand.legal()
        kind = self._rng.choices("fcr", (1, 4, 4))[0]
        if kind == "r" and bounds is not None:
            if self.game.raise_sizes is not None:
                return "r"
            low, high = bounds
            return f"r{self._rng.choice((low, high, self._rng.randint(low, min(high, 3 * low))))}"
        return "f" if kind == "f" and fold else "c"

    def _send(self, now: bool) -> None:
        """Send what waits: all at once, or in two pieces."""
        if not now:
            return
        cut = self._rng.randrange(len(self._waiting) + 1) if self._rng.random() < 0.2 else 0
        for piece in (self._waiting[:cut], self._waiting[cut:]):
            if piece:
                self._connection.sendall(piece)
                if cut:
                    time.sleep(0.001)  # so that the pieces are read apart
        self._waiting = b""

    def _read(self) -> bytes:
        """Return one write of the agent; loopback hands over what was written at once."""
        data = self._connection.recv(65536)
        if not data:
            raise EOFError("the agent has left early")
        return data
