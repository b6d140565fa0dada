"""Logs of matches in the ACPC's format, read as they are.

A log has a `STATE` line for each hand, a `SCORE` line at its end, and comments that begin with `#` or `;`. A
line that cannot be read is kept by its number and the reason, and the rest is still read.
"""

from dataclasses import dataclass
from pathlib import Path

from errai.errors import UsageError
from errai.games.match_state import (
    NUM_DECIMALS,
    HandRecord,
    ScoreRecord,
    format_value,
    parse_hand_record,
    parse_score_record,
)
from errai.games.rules import PokerRules

COMMENTS = ("#", ";")


@dataclass(frozen=True)
class BrokenLine:
    """A line that was passed over.

    Attributes:
        number: of the line, from 1.
        reason: one sentence.
    """

    number: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.number} was passed over: {self.reason}"


@dataclass(frozen=True)
class MatchLog:
    """What a log says.

    Attributes:
        hands: in the order of the log.
        scores: of its `SCORE` lines.
        broken: the lines that could not be read.
    """

    hands: tuple[HandRecord, ...]
    scores: tuple[ScoreRecord, ...]
    broken: tuple[BrokenLine, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The players, in the order in which they first appear."""
        return tuple(dict.fromkeys(name for hand in self.hands for name in hand.names))

    @property
    def first_player(self) -> str:
        """The first seat of the score or, without one, the first name of the first hand."""
        return self.scores[0].names[0] if self.scores else self.names[0]

    def of_player(self, name: str) -> list[tuple[HandRecord, int]]:
        """Return the hands of a player, each with the player's position."""
        if name not in self.names:
            known = ", ".join(self.names) or "nobody"
            raise UsageError(f"'{name}' is not a player of this log: expected one of {known}")
        return [(hand, hand.names.index(name)) for hand in self.hands if name in hand.names]


def read_log(path: str | Path, rules: PokerRules) -> MatchLog:
    """Read a log of a game; its values must be what its betting and cards pay.

    Args:
        path: of the log.
        rules: the game.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"the log '{path}' cannot be read: {error.strerror}") from None
    hands: list[HandRecord] = []
    scores: list[ScoreRecord] = []
    broken: list[BrokenLine] = []
    for number, raw in enumerate(content.split(b"\n"), start=1):
        line = raw.decode("utf-8", errors="replace").strip()
        if not line or line.startswith(COMMENTS):
            continue
        try:
            if line.startswith("SCORE:"):
                scores.append(parse_score_record(line))
            else:
                hands.append(_verified(parse_hand_record(rules, line)))
        except UsageError as error:
            broken.append(BrokenLine(number, str(error)))
    return MatchLog(tuple(hands), tuple(scores), tuple(broken))


def _verified(record: HandRecord) -> HandRecord:
    """Refuse values that the cards and the betting do not pay, and a player against itself."""
    paid = tuple(round(value, NUM_DECIMALS) for value in record.hand().payoffs())
    if paid != record.values:
        raise UsageError(
            f"the values {'|'.join(map(format_value, record.values))} are not what the hand pays: "
            f"expected {'|'.join(map(format_value, paid))}"
        )
    if len(set(record.names)) != len(record.names):
        raise UsageError(f"the names {'|'.join(record.names)} are not of different players")
    return record
