"""Abstractions by name or folder."""

from pathlib import Path

from errai.abstraction.named_groups import LEDUC, leduc_abstraction
from errai.abstraction.protocol import AbstractionPair, CardAbstraction
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.tree.buckets import FULL


def find_abstractions(text: str, game: PokerRules) -> AbstractionPair:
    """Return what both positions see.

    Args:
        text: the folder of a saved abstraction, a name such as `[JQ.K]` in Leduc hold'em, or `full`; or two
            of these with `/` between them, one for each position.
        game: the game to be solved.
    """
    if _is_abstraction(text, game):
        one = _find_abstraction(text)
        return one, one
    for place, letter in enumerate(text):
        first, second = text[:place].strip(), text[place + 1 :].strip()
        if letter == "/" and _is_abstraction(first, game) and _is_abstraction(second, game):
            return _find_abstraction(first), _find_abstraction(second)
    named = "a name such as '[JQ.K]', " if game.name == LEDUC else ""
    raise UsageError(
        f"'{text}' is not an abstraction of '{game.name}': expected {named}the folder of a saved one or "
        "'full', or two of them with '/' between"
    )


def names_abstractions(text: str, game: PokerRules) -> bool:
    """Return whether `find_abstractions` knows what a text stands for; nothing is read."""
    if _is_abstraction(text, game):
        return True
    pairs = [(text[:i].strip(), text[i + 1 :].strip()) for i, letter in enumerate(text) if letter == "/"]
    return any(_is_abstraction(first, game) and _is_abstraction(second, game) for first, second in pairs)


def _is_abstraction(text: str, game: PokerRules) -> bool:
    if text == FULL or (text and Path(text).is_dir()):
        return True
    if game.name != LEDUC:
        return False
    try:
        leduc_abstraction(text)
    except UsageError:
        return False
    return True


def _find_abstraction(text: str) -> CardAbstraction | None:
    if text == FULL:
        return None
    if Path(text).is_dir():
        from errai.abstraction.load import load_abstraction  # takes its time, and names do not need it

        return load_abstraction(text)
    return leduc_abstraction(text)
