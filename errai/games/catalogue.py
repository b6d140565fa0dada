"""The games that Errai knows by name, and `load_game`."""

import re
import reprlib
from collections.abc import Callable
from dataclasses import replace
from os.path import isfile
from pathlib import Path
from typing import Literal, overload

from errai.cards.deck import FULL_DECK, Deck
from errai.errors import UsageError
from errai.games.acpc_files import format_game_file, parse_game_file, read_game_file
from errai.games.bluff import MAX_DICE, BluffRules
from errai.games.rules import UNLIMITED_RAISES, PokerRules, Showdown

Game = PokerRules | BluffRules

HOLDEM_BOARD = (0, 3, 1, 1)


def kuhn() -> PokerRules:
    """Kuhn poker: three cards, an ante of 1, one bet of 1 (Kuhn 1950)."""
    return PokerRules(
        name="kuhn",
        deck=Deck("JQK", "s"),
        num_hole_cards=1,
        num_board_cards=(0,),
        blinds=(1, 1),
        raise_sizes=(1,),
        max_raises=(1,),
        first_player=(0,),
    )


def leduc() -> PokerRules:
    """Leduc hold'em: six cards, an ante of 1, two rounds with bets of 2 and 4, two bets a round."""
    return PokerRules(
        name="leduc",
        deck=Deck("JQK", "hs"),
        num_hole_cards=1,
        num_board_cards=(0, 1),
        blinds=(1, 1),
        raise_sizes=(2, 4),
        max_raises=(2, 2),
        first_player=(0, 0),
    )


def rhode_island() -> PokerRules:
    """Rhode Island hold'em: one private and two public cards, an ante of 5, bets of 10, 20, 20."""
    return PokerRules(
        name="rhode-island",
        deck=FULL_DECK,
        num_hole_cards=1,
        num_board_cards=(0, 1, 1),
        blinds=(5, 5),
        raise_sizes=(10, 20, 20),
        max_raises=(3, 3, 3),
        first_player=(0, 0, 0),
        showdown=Showdown.THREE_CARD,
    )


def holdem(num_rounds: int, num_bets: int) -> PokerRules:
    """[R-B] hold'em: heads-up limit hold'em cut after R rounds with B bets a round.

    Before the flop the big blind counts as the first bet, but one raise is always possible. Bets double in
    the later half of the rounds: on the flop of a two-round game, on the turn of a longer one.
    """
    if not (1 <= num_rounds <= 4 and 1 <= num_bets <= 4):
        raise UsageError(
            f"holdem-{num_rounds}-{num_bets} is not a game: expected 1 to 4 rounds and 1 to 4 bets"
        )
    later = num_rounds - 1
    return PokerRules(
        name=f"holdem-{num_rounds}-{num_bets}",
        deck=FULL_DECK,
        num_hole_cards=2,
        num_board_cards=HOLDEM_BOARD[:num_rounds],
        blinds=(10, 5),
        raise_sizes=tuple(20 if 2 * i >= num_rounds else 10 for i in range(num_rounds)),
        max_raises=(max(1, num_bets - 1),) + (num_bets,) * later,
        first_player=(1,) + (0,) * later,
    )


def limit_holdem() -> PokerRules:
    """Heads-up limit Texas hold'em of the ACPC: blinds 5 and 10, bets 10, 10, 20, 20, four bets a round."""
    return replace(holdem(4, 4), name="limit-holdem")


def nolimit_holdem() -> PokerRules:
    """Heads-up no-limit Texas hold'em of the ACPC: blinds 50 and 100, 20,000 chips in every hand."""
    return PokerRules(
        name="nolimit-holdem",
        deck=FULL_DECK,
        num_hole_cards=2,
        num_board_cards=HOLDEM_BOARD,
        blinds=(100, 50),
        raise_sizes=None,
        max_raises=(UNLIMITED_RAISES,) * 4,
        first_player=(1, 0, 0, 0),
        stacks=(20_000, 20_000),
    )


def bluff(first: int, second: int) -> BluffRules:
    """Bluff (liar's dice) with a wild face; the loser of a challenge drops a die, the winner starts."""
    return BluffRules(name=f"bluff-{first}-{second}", dice=(first, second))


_NAMED: dict[str, Callable[[], Game]] = {
    "kuhn": kuhn,
    "leduc": leduc,
    "rhode-island": rhode_island,
    "holdem-2-1": lambda: holdem(2, 1),
    "holdem-2-4": lambda: holdem(2, 4),
    "limit-holdem": limit_holdem,
    "nolimit-holdem": nolimit_holdem,
    "bluff-1-1": lambda: bluff(1, 1),
    "bluff-2-1": lambda: bluff(2, 1),
    "bluff-2-2": lambda: bluff(2, 2),
}

_HOLDEM = re.compile(r"holdem-([0-9]{1,3})-([0-9]{1,3})")
_BLUFF = re.compile(r"bluff-([0-9]{1,3})-([0-9]{1,3})")


def game_names() -> tuple[str, ...]:
    """Return the names of the listed games; any `holdem-R-B` and `bluff-D-D` can be loaded besides."""
    return tuple(_NAMED)


PokerName = Literal[
    "kuhn", "leduc", "rhode-island", "holdem-2-1", "holdem-2-4", "limit-holdem", "nolimit-holdem"
]
BluffName = Literal["bluff-1-1", "bluff-2-1", "bluff-2-2"]
"""Names of which a type checker knows the kind of game."""


@overload
def load_game(name: PokerName) -> PokerRules: ...


@overload
def load_game(name: BluffName) -> BluffRules: ...


@overload
def load_game(name: str | Path | Game) -> Game: ...


def load_game(name: str | Path | Game) -> Game:
    """Return a game by name, or read one from an ACPC game file.

    Args:
        name: `kuhn`, `leduc`, `rhode-island`, `holdem-ROUNDS-BETS`, `limit-holdem`, `nolimit-holdem`,
            `bluff-DICE-DICE`, or the path of an ACPC game file; a game is returned as it is.
    """
    if isinstance(name, PokerRules | BluffRules):
        return name
    if not isinstance(name, str | Path):
        raise UsageError(f"expected a game, its name or the path of its file, not {reprlib.repr(name)}")
    text = str(name)
    if text in _NAMED:
        return _NAMED[text]()
    if match := _HOLDEM.fullmatch(text):
        return holdem(int(match[1]), int(match[2]))
    if match := _BLUFF.fullmatch(text):
        return bluff(int(match[1]), int(match[2]))
    if isfile(text):  # unlike Path.is_file, it answers for names that no file can have
        return read_game_file(text)
    raise UsageError(
        f"'{text}' is neither a game nor an ACPC game file: the games are {', '.join(game_names())}, "
        f"any holdem-ROUNDS-BETS with 1 to 4 each, and any bluff-DICE-DICE with 1 to {MAX_DICE} each"
    )


def load_card_game(name: str | Path | Game) -> PokerRules:
    """Do the same where dice will not do."""
    game = load_game(name)
    if isinstance(game, BluffRules):
        raise UsageError(f"'{game.name}' is a dice game: expected a card game")
    return game


def describe_rules(game: Game) -> dict[str, str]:
    """Describe a game so that nothing else is needed to have it again.

    A game that has no name of ours is described by the text of its ACPC game file.
    """
    about = {"name": game.name}
    if isinstance(game, PokerRules) and not _is_catalogued(game):
        about["file"] = format_game_file(game)
    return about


def restore_rules(about: dict[str, str]) -> Game:
    """Return the game that `describe_rules` described."""
    name, text = about["name"], about.get("file")
    return load_game(name) if text is None else parse_game_file(text, name)


def _is_catalogued(game: Game) -> bool:
    if isfile(game.name) and game.name not in game_names():
        return False
    try:
        return load_game(game.name) == game
    except UsageError:
        return False
