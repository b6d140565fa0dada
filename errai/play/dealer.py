"""The dealer of the ACPC protocol, without sockets and without a clock.

A match is hands of one game between as many seats as it has players. Cards follow from the seed
(`DealerCards`), positions move by one seat every hand. Every seat is told the state before every action and
once more at the end of a hand, and the next hand's first state follows at once:

    dealer = Dealer(rules, ("A", "B"), num_hands=1000, seed=42)
    messages = dealer.begin()                      # [seat] bytes to send
    while not dealer.is_over:
        messages = dealer.answer(dealer.acting_seat, line)

An answer is the state as it was told to the seat, a colon and an action. An action that is not legal is
mended as the competition's dealer does, and counted. Whatever else comes raises `MisbehaviourError`, which
ends the match: the competition's dealer would wait for a better line until the time runs out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from errai.errors import UsageError, verify_whole
from errai.games.betting import NOBODY
from errai.games.dealer_cards import DealerCards
from errai.games.hand import HandState
from errai.games.match_state import MAX_HAND_NUMBER, HandRecord, MatchState, ScoreRecord
from errai.games.rules import PokerRules
from errai.play.lines import LINE_END, shown_line
from errai.play.mended_action import mended_action

_HANDS_AT_ONCE = 64

Tell = Callable[[str], None]


class Kind(Enum):
    """How a match has ended."""

    FINISHED = "finished"
    NEVER_CAME = "never came"
    WRONG_VERSION = "wrong version"
    TIMEOUT = "timeout"
    DISCONNECTED = "disconnected"
    GARBAGE = "garbage"
    WRONG_ECHO = "wrong echo"
    OUT_OF_TURN = "out of turn"
    FLOODING = "flooding"
    NOT_READING = "not reading"


class MisbehaviourError(Exception):
    """A seat has done what ends a match.

    Attributes:
        kind: of the end.
        seat: whose doing it is.
        sentence: what it has done, in words that follow its name.
    """

    def __init__(self, kind: Kind, seat: int, sentence: str) -> None:
        """Keep who has done what."""
        super().__init__(sentence)
        self.kind, self.seat, self.sentence = kind, seat, sentence


@dataclass(frozen=True)
class Verdict:
    """How a match has ended.

    Attributes:
        kind: of the end.
        seat: whose doing it is; None for a match that was played to its end.
        sentence: the same in words.
    """

    kind: Kind
    seat: int | None
    sentence: str


class Dealer:
    """One match as the dealer sees it.

    Attributes:
        rules: the game.
        names: [seat] of the players.
        num_hands: of the match.
        num_played: hands that are finished.
        totals: [seat] net chips over these hands.
        warnings: [seat] actions that were not legal and were mended.
    """

    def __init__(
        self,
        rules: PokerRules,
        names: Sequence[str],
        num_hands: int,
        seed: int,
        *,
        log: Tell | None = None,
        warn: Tell | None = None,
    ) -> None:
        """Prepare a match; nothing is dealt before `begin`.

        Args:
            rules: the game.
            names: [seat] of the players.
            num_hands: of the match.
            seed: of the cards, 0 to 2^32 - 1.
            log: told the lines of the match's log: a STATE for each hand, SCORE at the end.
            warn: told what was wrong with an action, one sentence each.
        """
        verify_whole("the number of hands", num_hands, 1)
        if num_hands > MAX_HAND_NUMBER:
            raise UsageError(f"the number of hands must be {MAX_HAND_NUMBER} or less, not {num_hands}")
        if len(names) != rules.num_players:
            raise UsageError(f"{rules.name} is played by {rules.num_players} players, not {len(names)}")
        if len(set(names)) < len(names):
            raise UsageError(f"two players have the same name: {', '.join(names)}")
        ScoreRecord((Fraction(0),) * len(names), tuple(names))  # refuses names that no log can hold
        self.rules, self.names, self.num_hands = rules, tuple(names), num_hands
        self.num_played = 0
        self.totals = [Fraction(0)] * len(names)
        self.warnings = [0] * len(names)
        self._log, self._warn = log, warn
        self._source = DealerCards(rules, seed)
        self._deals: list[list[int]] = []
        self._cards: list[int] = []
        self._hand = HandState.start(rules)
        self._told = [b""] * len(names)

    @property
    def is_over(self) -> bool:
        """Whether every hand was played."""
        return self.num_played == self.num_hands

    @property
    def acting_seat(self) -> int:
        """The seat that has to answer; `NOBODY` when the match is over."""
        return NOBODY if self.is_over else self._seat_of(self._hand.player)

    def _seat_of(self, position: int) -> int:
        return (position + self.num_played) % len(self.names)

    def _position_of(self, seat: int) -> int:
        return (seat - self.num_played) % len(self.names)

    def begin(self) -> list[bytes]:
        """Deal the first hand and return what each seat is told."""
        self._deal()
        return self._tell()

    def answer(self, seat: int, line: bytes) -> list[bytes]:
        """Play a seat's answer and return what each seat is told then.

        Args:
            seat: who has answered.
            line: the answer without its line end.

        Raises:
            MisbehaviourError: the line is no answer to the state that the seat was told.
        """
        if seat != self.acting_seat:
            raise MisbehaviourError(
                Kind.OUT_OF_TURN, seat, f"sent {shown_line(line)} when it was not its turn"
            )
        told = self._told[seat]
        echo, _, action = line.rpartition(b":")
        if echo != told:
            if line.startswith(b"MATCHSTATE:"):
                raise MisbehaviourError(
                    Kind.WRONG_ECHO, seat, f"answered {shown_line(line)} to '{told.decode()}'"
                )
            raise MisbehaviourError(Kind.GARBAGE, seat, f"sent {shown_line(line)}, which is no answer")
        mended = mended_action(self._hand.betting, action.decode("latin-1"))
        if mended is None:
            raise MisbehaviourError(
                Kind.GARBAGE, seat, f"answered {shown_line(action)}, which is not an action"
            )
        legal, wrong = mended
        if wrong is not None:
            self._count_warning(seat, action.decode(), legal, wrong)
        self._hand = self._with_board(self._hand.act(legal))
        messages = self._tell()
        if not self._hand.is_over:
            return messages
        self._finish()
        if self.is_over:
            return messages
        self._deal()
        return [last + first for last, first in zip(messages, self._tell(), strict=True)]

    def verdict(self) -> Verdict:
        """Return the verdict of a match that was played to its end."""
        return Verdict(Kind.FINISHED, None, f"{self.num_played:,} hands were played to the end")

    def fault(self, error: MisbehaviourError) -> Verdict:
        """Return the verdict of a match that a seat has ended."""
        when = f"in hand {self.num_played}" if self._cards else "before the first hand"
        return Verdict(error.kind, error.seat, f"{self.names[error.seat]} {error.sentence}, {when}")

    def _deal(self) -> None:
        if not self._deals:
            count = min(_HANDS_AT_ONCE, self.num_hands - self.num_played)
            self._deals = self._source.deal(count).tolist()[::-1]
        self._cards = self._deals.pop()
        each, players = self.rules.num_hole_cards, self.rules.num_players
        holes = [self._cards[p * each : (p + 1) * each] for p in range(players)]
        self._hand = self._with_board(HandState.start(self.rules).deal_hole(holes))

    def _with_board(self, hand: HandState) -> HandState:
        """Deal the public cards that are due."""
        begin = self.rules.num_hole_cards * self.rules.num_players
        while due := hand.num_board_cards_due:
            first = begin + len(hand.board)
            hand = hand.deal_board(self._cards[first : first + due])
        return hand

    def _tell(self) -> list[bytes]:
        """Return the state as each seat may see it: other hands only at a showdown, and then who is in it."""
        hand = self._hand
        betting = hand.betting
        for seat in range(len(self.names)):
            own = self._position_of(seat)
            holes = tuple(
                hole if p == own or (betting.is_showdown and not betting.folded[p]) else None
                for p, hole in enumerate(hand.holes)
            )
            state = MatchState(own, self.num_played, betting, holes, hand.board)
            self._told[seat] = str(state).encode("ascii")
        return [line + LINE_END for line in self._told]

    def _finish(self) -> None:
        order = [self._seat_of(position) for position in range(len(self.names))]
        payoffs = self._hand.payoffs()
        for seat, value in zip(order, payoffs, strict=True):
            self.totals[seat] += value
        if self._log is not None:
            names = [self.names[seat] for seat in order]
            self._log(str(HandRecord.of(self._hand, self.num_played, names)))
        self.num_played += 1
        if self.is_over and self._log is not None:
            self._log(str(ScoreRecord(tuple(self.totals), self.names)))

    def _count_warning(self, seat: int, said: str, legal: str, wrong: str) -> None:
        self.warnings[seat] += 1
        if self._warn is not None:
            shown = said if len(said) <= 20 else f"{said[:17]}..."
            self._warn(
                f"{self.names[seat]} said '{shown}' after '{self._hand.betting.betting}' in hand "
                f"{self.num_played} and '{legal}' was played: {wrong}"
            )
