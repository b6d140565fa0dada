"""Game files of the Annual Computer Poker Competition: read, write, and refuse in one sentence.

A game file stands between `GAMEDEF` and `END GAMEDEF`, holds `limit` or `nolimit` and lines of the form
`key = value`. Case does not matter, `#` starts a comment. Reading takes three steps:

1. Split the text into one entry for each key, with its line number; unknown and repeated keys end here.
2. Read the numbers of each entry: how many there must be follows from `numPlayers` and `numRounds`.
3. Build `PokerRules`, which refuses combinations that cannot be played.

Defaults are the competition dealer's: `firstPlayer` is 1 in every round, `maxRaises` is 255 (no bound of
its own) in every round, and without `stack` the chips of a limit game never run out. Everything else
must be given. Deviations, all on the strict side: a no-limit game must name its stacks (the dealer
would take 2,147,483,647 chips), `raiseSize` in a no-limit game, surplus values and text after
`END GAMEDEF` are refused (the dealer overlooks them), and `limit` or `nolimit` must be said.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from errai.cards.deck import NUM_RANKS, NUM_SUITS, Deck
from errai.errors import UsageError
from errai.games.rules import (
    MAX_CHIPS,
    MAX_EVALUATED_CARDS,
    MAX_PLAYERS,
    MAX_ROUNDS,
    UNLIMITED_RAISES,
    PokerRules,
    Showdown,
)

MAX_FILE_BYTES = 65_536

_NUMBER = re.compile(r"[0-9]+")
# Longer runs of digits are out of every range; they are never turned into numbers.
_MAX_DIGITS = 10


@dataclass(frozen=True)
class _Key:
    """What the numbers of a key may be: least, greatest, and how many (one, a round, or a player)."""

    name: str
    least: int
    greatest: int
    each: str | None = None


_KEYS = {
    key.name.lower(): key
    for key in (
        _Key("numPlayers", 2, MAX_PLAYERS),
        _Key("numRounds", 1, MAX_ROUNDS),
        _Key("stack", 1, MAX_CHIPS, each="player"),
        _Key("blind", 0, MAX_CHIPS, each="player"),
        _Key("raiseSize", 1, MAX_CHIPS, each="round"),
        _Key("firstPlayer", 1, MAX_PLAYERS, each="round"),
        _Key("maxRaises", 0, UNLIMITED_RAISES, each="round"),
        _Key("numSuits", 1, NUM_SUITS),
        _Key("numRanks", 1, NUM_RANKS),
        _Key("numHoleCards", 1, MAX_EVALUATED_CARDS),
        _Key("numBoardCards", 0, MAX_EVALUATED_CARDS, each="round"),
    )
}

_BEGIN, _END, _LIMIT, _NOLIMIT = "gamedef", "end gamedef", "limit", "nolimit"
_EXPECTED = (
    "expected limit, nolimit, END GAMEDEF or 'KEY = NUMBERS' with a key of "
    f"{', '.join(key.name for key in _KEYS.values())}"
)


def read_game_file(path: str | Path) -> PokerRules:
    """Read the rules from an ACPC game file; the game's name is the path as given."""
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the game file '{name}' cannot be read: {error.strerror}") from None
    if len(content) > MAX_FILE_BYTES:
        raise UsageError(f"'{name}' is not a game file: it has more than {MAX_FILE_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"'{name}' is not a game file: its byte {error.start} is {content[error.start]:#04x}, "
            "which is not text"
        ) from None
    return parse_game_file(text, name)


def parse_game_file(text: str, name: str) -> PokerRules:
    r"""Read the rules from the text of an ACPC game file.

    >>> text = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\n"
    >>> text += "maxRaises = 1\nnumSuits = 1\nnumRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0\n"
    >>> parse_game_file(text + "END GAMEDEF", "QKA Kuhn").deck
    Deck(ranks='QKA', suits='s')
    """
    return _Reader(name, text).rules()


class _Reader:
    """The entries of one game file, and how each is read."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.entries: dict[str, tuple[int, str]] = {}  # key in lower case -> line number, value as text
        self._split(text)

    def _refuse(self, line: int, what: str) -> NoReturn:
        raise UsageError(f"line {line} of '{self.name}': {what}")

    def _split(self, text: str) -> None:
        begun = ended = False
        line_number = 0
        # Not splitlines(), which would also split at control characters inside a garbled line.
        for line_number, full_line in enumerate(text.split("\n"), start=1):
            line = full_line.partition("#")[0].strip()
            if not line:
                continue
            if ended:
                self._refuse(
                    line_number, f"{_quote(line)} stands after END GAMEDEF, where nothing may follow"
                )
            words = " ".join(line.lower().split())
            if words == _BEGIN:
                if begun:
                    self._refuse(line_number, "GAMEDEF occurs a second time")
                begun = True
            elif not begun:
                self._refuse(line_number, f"{_quote(line)} stands where GAMEDEF must begin the game")
            elif words == _END:
                ended = True
            else:
                self._add_entry(line_number, line, words)
        if not begun:
            raise UsageError(f"'{self.name}' is not a game file: it has no GAMEDEF line")
        if not ended:
            self._refuse(line_number, "the file ends without END GAMEDEF")

    def _add_entry(self, line_number: int, line: str, words: str) -> None:
        key, equals, value = line.partition("=")
        key = key.strip()
        if words in (_LIMIT, _NOLIMIT):
            key, name = _LIMIT, "limit or nolimit"
        elif equals and key.lower() in _KEYS:
            name = _KEYS[key.lower()].name
        else:
            self._refuse(line_number, f"{_quote(line)} has no meaning: {_EXPECTED}")
        if key.lower() in self.entries:
            first = self.entries[key.lower()][0]
            self._refuse(line_number, f"{name} is given a second time, after line {first}")
        self.entries[key.lower()] = (line_number, words if key == _LIMIT else value.strip())

    def _numbers(self, name: str, length: int) -> tuple[int, ...] | None:
        """Return the `length` numbers of a key, each in the key's range; None where the key is absent."""
        if name.lower() not in self.entries:
            return None
        key = _KEYS[name.lower()]
        line, value = self.entries[name.lower()]
        words = value.split()
        for word in words:
            if not (
                _NUMBER.fullmatch(word)
                and len(word) <= _MAX_DIGITS
                and key.least <= int(word) <= key.greatest
            ):
                self._refuse(line, f"{name} must be {key.least} to {key.greatest}, not {_quote(word)}")
        if len(words) != length:
            expected = "one" if key.each is None else f"{length}, one for each {key.each}"
            self._refuse(line, f"{name} has {len(words)} values ({_quote(value)}): expected {expected}")
        return tuple(int(word) for word in words)

    def _required(self, name: str, length: int = 1, why: str = "") -> tuple[int, ...]:
        numbers = self._numbers(name, length)
        if numbers is None:
            raise UsageError(f"'{self.name}' has no {name}, which every game{why} needs")
        return numbers

    def rules(self) -> PokerRules:
        """Return the rules that the entries describe."""
        if _LIMIT not in self.entries:
            raise UsageError(f"'{self.name}' does not say what is bet: expected a line 'limit' or 'nolimit'")
        is_limit = self.entries[_LIMIT][1] == _LIMIT
        num_players, num_rounds = self._required("numPlayers")[0], self._required("numRounds")[0]
        if not is_limit and "raisesize" in self.entries:
            line, value = self.entries["raisesize"]
            self._refuse(line, f"raiseSize is {_quote(value)}, but a nolimit game has no fixed raise sizes")
        first_player = self._numbers("firstPlayer", num_rounds) or (1,) * num_rounds
        if max(first_player) > num_players:
            line, value = self.entries["firstplayer"]
            self._refuse(line, f"firstPlayer must be 1 to {num_players}, not {_quote(value)}")
        stacks = self._numbers("stack", num_players)
        if stacks is None and not is_limit:
            raise UsageError(f"'{self.name}' has no stack, which every nolimit game needs")
        return PokerRules(
            name=self.name,
            deck=Deck.top(self._required("numRanks")[0], self._required("numSuits")[0]),
            num_hole_cards=self._required("numHoleCards")[0],
            num_board_cards=self._required("numBoardCards", num_rounds),
            blinds=self._required("blind", num_players),
            raise_sizes=self._required("raiseSize", num_rounds, why=" with a limit") if is_limit else None,
            max_raises=self._numbers("maxRaises", num_rounds) or (UNLIMITED_RAISES,) * num_rounds,
            first_player=tuple(position - 1 for position in first_player),
            stacks=stacks,
        )


def format_game_file(rules: PokerRules) -> str:
    """Write rules as an ACPC game file, which `parse_game_file` reads back as the same rules."""
    if rules.showdown is not Showdown.POKER:
        raise UsageError(
            f"'{rules.name}' cannot be written as an ACPC game file: it has a {rules.showdown.value} "
            "showdown, and such files know only poker's"
        )
    if rules.deck != Deck.top(rules.deck.num_ranks, rules.deck.num_suits):
        raise UsageError(
            f"'{rules.name}' cannot be written as an ACPC game file: its deck has the ranks "
            f"{rules.deck.ranks} and suits {rules.deck.suits}, "
            "and such files know only the top ranks and the last suits of cdhs"
        )
    lines = ["GAMEDEF", "limit" if rules.is_limit else "nolimit"]

    def add(key: str, *numbers: int) -> None:
        lines.append(f"{key} = {' '.join(map(str, numbers))}")

    add("numPlayers", rules.num_players)
    add("numRounds", rules.num_rounds)
    if rules.stacks is not None:
        add("stack", *rules.stacks)
    add("blind", *rules.blinds)
    if rules.raise_sizes is not None:
        add("raiseSize", *rules.raise_sizes)
    add("firstPlayer", *(position + 1 for position in rules.first_player))
    if set(rules.max_raises) != {UNLIMITED_RAISES}:
        add("maxRaises", *rules.max_raises)
    add("numSuits", rules.deck.num_suits)
    add("numRanks", rules.deck.num_ranks)
    add("numHoleCards", rules.num_hole_cards)
    add("numBoardCards", *rules.num_board_cards)
    return "\n".join([*lines, "END GAMEDEF", ""])


def _quote(text: str) -> str:
    """Return text for an error message: printable and short."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
