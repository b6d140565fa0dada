"""What the competition's dealer makes of an action that is not legal: a call, or a size inside the bounds."""

import re

from errai.games.betting import BettingState

_ACTION = re.compile(r"[fc]|r([0-9]*)")
_MAX_DIGITS = 10


def mended_action(betting: BettingState, text: str) -> tuple[str, str | None] | None:
    """Return the action that is played for a text, and what was wrong with the text.

    A fold that faces no bet and a raise where none is legal become calls; the size of a raise is brought
    inside its bounds, and a limit game overlooks it.

    >>> from errai.games.catalogue import load_game
    >>> mended_action(BettingState.start(load_game("nolimit-holdem")), "r120")
    ('r200', 'a raise to 120 is not legal: expected 200 to 20000 here')
    >>> mended_action(BettingState.start(load_game("leduc")), "check")

    Args:
        betting: where the betting stands; somebody has to act.
        text: what was said.

    Returns:
        The action and None if the text is a legal one, or what was wrong; None where it is not an action.
    """
    match = _ACTION.fullmatch(text)
    if match is None:
        return None
    if text == "c":
        return "c", None
    if text == "f":
        return ("f", None) if betting.can_fold() else ("c", "a fold is legal only when facing a bet")
    digits = match[1]
    bounds = betting.raise_bounds()
    if bounds is None:
        return "c", "no raise is legal here"
    if betting.rules.is_limit:
        return "r", "a raise of a limit game names no size" if digits else None
    least, most = bounds
    if not digits:
        return "c", f"a raise of a no-limit game names its total, {least} to {most} here"
    size = int(digits) if len(digits) <= _MAX_DIGITS else most + 1
    mended = min(max(size, least), most)
    action = f"r{mended}"
    if mended != size:
        named = digits if len(digits) <= _MAX_DIGITS else f"a number of {len(digits)} digits"
        return action, f"a raise to {named} is not legal: expected {least} to {most} here"
    return action, None if action == text else f"'{text}' is written '{action}'"
