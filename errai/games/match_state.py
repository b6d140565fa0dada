"""The ACPC's lines as records: match states of the protocol, hands and scores of the logs.

- `MATCHSTATE:position:hand:betting:cards`, sent to every seat before every action: `MatchState`.
- `STATE:hand:betting:cards:values:names`, one a finished hand in a log: `HandRecord`.
- `SCORE:totals:names`, the last line of a log: `ScoreRecord`.

`cards` is one hole field for each position, joined by `|` and empty where hidden, then the public cards
of each later round behind a `/` (those of the first round, if any, follow the last hole field directly).
Parsing is strict: a line is taken only if its record prints as the same line, so betting and cards must
fit each other and the rules. An error is one sentence that names the part of the line. Values have at
most six decimals, as the competition's dealer writes them: a third of a pot is rounded.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from errai.cards.deck import format_cards, parse_cards
from errai.errors import UsageError
from errai.games.betting import BettingState, replay
from errai.games.hand import HandState, verify_count
from errai.games.rules import PokerRules

MAX_HAND_NUMBER = 2**32 - 1
NUM_DECIMALS = 6

_COUNT = re.compile(r"0|[1-9][0-9]{0,9}")
_VALUE = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{0,5}[1-9])?")
_NAME = re.compile(r"[^\s:|\x00-\x1f\x7f]+")

Holes = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class MatchState:
    """What one seat is told.

    Attributes:
        position: of the seat that is told, relative to the button.
        hand_number: number of the hand in the match.
        betting: the betting so far, with the rules.
        holes: [position] hole cards in the order dealt; None where hidden.
        board: public cards dealt so far.
    """

    position: int
    hand_number: int
    betting: BettingState
    holes: Holes
    board: tuple[int, ...]

    def __post_init__(self) -> None:
        _verify_record(self.betting, self.hand_number, self.holes, self.board)
        if not 0 <= self.position < len(self.holes):
            raise UsageError(f"position {self.position} is not in play: 0 to {len(self.holes) - 1} are")
        if self.holes[self.position] is None:
            raise UsageError(f"the hole cards of position {self.position} are hidden from itself")

    @property
    def is_my_turn(self) -> bool:
        """Whether the seat that is told has to act."""
        return self.betting.player == self.position

    def __str__(self) -> str:
        cards = _format_all_cards(self.betting, self.holes, self.board)
        return f"MATCHSTATE:{self.position}:{self.hand_number}:{self.betting.betting}:{cards}"


@dataclass(frozen=True, slots=True)
class HandRecord:
    """A finished hand in a log.

    Attributes:
        hand_number: number of the hand in the match.
        betting: the whole betting, with the rules.
        holes: [position] hole cards.
        board: public cards dealt.
        values: [position] net chips, to six decimals.
        names: [position] of the players.
    """

    hand_number: int
    betting: BettingState
    holes: tuple[tuple[int, ...], ...]
    board: tuple[int, ...]
    values: tuple[Fraction, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        _verify_record(self.betting, self.hand_number, self.holes, self.board)
        _verify_players("values", self.values, len(self.holes))
        _verify_players("names", self.names, len(self.holes))
        if not self.betting.is_over:
            raise UsageError(
                f"the hand is not over after '{self.betting.betting}': a log has finished hands only"
            )

    @staticmethod
    def of(hand: HandState, hand_number: int, names: Sequence[str]) -> "HandRecord":
        """Return the record of a finished hand."""
        values = tuple(round(value, NUM_DECIMALS) for value in hand.payoffs())
        return HandRecord(hand_number, hand.betting, hand.holes, hand.board, values, tuple(names))

    def hand(self) -> HandState:
        """Return the hand with its cards, whose payoffs can be compared with `values`."""
        return HandState(betting=self.betting, holes=self.holes, board=self.board)

    def __str__(self) -> str:
        cards = _format_all_cards(self.betting, self.holes, self.board)
        values, names = "|".join(map(format_value, self.values)), "|".join(self.names)
        return f"STATE:{self.hand_number}:{self.betting.betting}:{cards}:{values}:{names}"


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """The last line of a log.

    Attributes:
        totals: [seat] net chips over the match, to six decimals.
        names: [seat] of the players.
    """

    totals: tuple[Fraction, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        _verify_players("names", self.names, len(self.totals))

    def __str__(self) -> str:
        return f"SCORE:{'|'.join(map(format_value, self.totals))}:{'|'.join(self.names)}"


def parse_match_state(rules: PokerRules, line: str) -> MatchState:
    """Read a `MATCHSTATE` line, with or without its line end."""
    position, hand_number, betting, cards = _parts(
        line, "MATCHSTATE", ("position", "hand", "betting", "cards")
    )
    state = _parse_betting(rules, betting)
    holes, board = _parse_all_cards(state, cards)
    return MatchState(
        _parse_count("position", position), _parse_count("hand number", hand_number), state, holes, board
    )


def parse_hand_record(rules: PokerRules, line: str) -> HandRecord:
    """Read a `STATE` line of a log, with or without its line end."""
    parts = _parts(line, "STATE", ("hand", "betting", "cards", "values", "names"))
    hand_number, betting, cards, values, names = parts
    state = _parse_betting(rules, betting)
    holes, board = _parse_all_cards(state, cards)
    shown = tuple(hole for hole in holes if hole is not None)
    if len(shown) != len(holes):
        raise UsageError(f"the cards '{cards}' hide a hand: a log shows the hole cards of every position")
    return HandRecord(
        _parse_count("hand number", hand_number),
        state,
        shown,
        board,
        _parse_values("values", values),
        _parse_names(names),
    )


def parse_score_record(line: str) -> ScoreRecord:
    """Read a `SCORE` line of a log, with or without its line end."""
    totals, names = _parts(line, "SCORE", ("totals", "names"))
    return ScoreRecord(_parse_values("totals", totals), _parse_names(names))


def format_value(value: Fraction | int) -> str:
    """Write chips with at most six decimals and no trailing zeros.

    >>> format_value(Fraction(-100, 3))
    '-33.333333'
    """
    scaled = round(value * 10**NUM_DECIMALS)
    whole, decimals = divmod(abs(scaled), 10**NUM_DECIMALS)
    digits = f"{decimals:0{NUM_DECIMALS}}".rstrip("0")
    return ("-" if scaled < 0 else "") + str(whole) + ("." + digits if digits else "")


# The parts of a line


def _parts(line: str, tag: str, names: tuple[str, ...]) -> list[str]:
    line = line.removesuffix("\n").removesuffix("\r")
    head, *parts = line.split(":")
    if head != tag:
        raise UsageError(f"{_quote(line)} does not begin with '{tag}:'")
    if len(parts) != len(names):
        raise UsageError(
            f"{_quote(line)} has {len(parts)} parts after '{tag}': expected {len(names)}, " + ", ".join(names)
        )
    return parts


def _parse_count(what: str, text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise UsageError(f"the {what} {_quote(text)} is not a number: expected digits without leading zeros")
    return int(text)


def _parse_values(what: str, text: str) -> tuple[Fraction, ...]:
    values = text.split("|")
    for value in values:
        if not _VALUE.fullmatch(value) or value == "-0":
            raise UsageError(
                f"{_quote(value)} in the {what} is not a number of chips: "
                f"expected digits with at most {NUM_DECIMALS} decimals"
            )
    return tuple(Fraction(value) for value in values)


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


def _parse_betting(rules: PokerRules, text: str) -> BettingState:
    try:
        state = replay(rules, text)
    except UsageError as error:
        raise UsageError(f"the betting {error}") from None
    if state.betting != text:
        raise UsageError(
            f"the betting '{text}' lacks the '/' of a finished round: expected '{state.betting}'"
        )
    return state


def _parse_all_cards(state: BettingState, text: str) -> tuple[Holes, tuple[int, ...]]:
    rules = state.rules
    private, *public = text.split("/")
    if len(public) != state.round:
        raise UsageError(
            f"the cards {_quote(text)} have {len(public)} board fields: "
            f"expected {state.round} after the betting '{state.betting}'"
        )
    fields = private.split("|")
    if len(fields) != rules.num_players:
        raise UsageError(
            f"the cards {_quote(text)} have {len(fields)} hole fields: expected {rules.num_players}"
        )
    # Each card is two letters, so the first round's public cards are found from the end.
    split = len(fields[-1]) - 2 * rules.num_board_cards[0]
    fields[-1], first_board = fields[-1][: max(split, 0)], fields[-1][max(split, 0) :]
    holes = tuple(_parse_field(text, field, rules.num_hole_cards) if field else None for field in fields)
    boards = (
        _parse_field(text, field, count)
        for field, count in zip([first_board, *public], rules.num_board_cards, strict=False)
    )
    return holes, tuple(card for board in boards for card in board)


def _parse_field(text: str, field: str, num_cards: int) -> tuple[int, ...]:
    """Read one field of the cards, which must hold so many cards, each written as in `As`."""
    try:
        cards = parse_cards(field)
    except UsageError as error:
        raise UsageError(f"the cards {_quote(text)} are wrong at '{_shorten(field)}': {error}") from None
    if len(cards) != num_cards or format_cards(cards) != field:
        raise UsageError(
            f"the cards {_quote(text)} are wrong at '{_shorten(field)}': "
            f"expected {num_cards} cards written as 'As'"
        )
    return cards


def _format_all_cards(state: BettingState, holes: Holes, board: tuple[int, ...]) -> str:
    text = "|".join(format_cards(hole or ()) for hole in holes)
    ends = [state.rules.num_board_cards_by(r) for r in range(state.round + 1)]
    text += format_cards(board[: ends[0]])
    for begin, end in pairwise(ends):
        text += "/" + format_cards(board[begin:end])
    return text


def _verify_record(state: BettingState, hand_number: int, holes: Holes, board: tuple[int, ...]) -> None:
    """Refuse a record whose cards do not fit its betting and rules."""
    rules = state.rules
    if not 0 <= hand_number <= MAX_HAND_NUMBER:
        raise UsageError(f"the hand number must be 0 to {MAX_HAND_NUMBER}, not {hand_number}")
    _verify_players("hole cards", holes, rules.num_players)
    shown = [hole for hole in holes if hole is not None]
    for hole in shown:
        verify_count("hand", hole, rules.num_hole_cards)
    if len(board) != rules.num_board_cards_by(state.round):
        raise UsageError(
            f"the board has {len(board)} cards: expected {rules.num_board_cards_by(state.round)} "
            f"after the betting '{state.betting}'"
        )
    rules.deck.verify([*(card for hole in shown for card in hole), *board])


def _verify_players(what: str, values: Sequence[object], num_players: int) -> None:
    if len(values) != num_players:
        raise UsageError(f"expected {what} of {num_players} players, not {len(values)}")
    for name in values:
        if isinstance(name, str) and not _NAME.fullmatch(name):
            raise UsageError(
                f"invalid name of a player {_quote(name)}: it must not be empty or hold spaces, ':' or '|'"
            )


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _quote(text: str) -> str:
    """Return text for an error message: printable and short."""
    return repr(_shorten(text))
