"""Bet-size menus: which raises a no-limit betting tree offers, by round and raise number.

Text: sizes are joined by `,`; the menus of the first bet, the first raise, the second raise ... of a
round by `|`; rounds by `/`. The last menu of a round serves all later raises, the last round's all
later rounds. So `1p,all-in` is one menu for everything, and `0.5p,1p|1p,all-in / 1p|all-in` gives the
first round two menus and every later round two others.

A size is `0.5p` or `50%` (a call plus that part of the pot after calling), `min` (the least legal
raise) or `all-in` (also `a`). A size below the least legal raise becomes that raise; one beyond the
stack, or one after which the stack behind would be less than `force_all_in` of the pot that a call
would make, becomes all-in; equal sizes merge.
"""

from dataclasses import dataclass
from fractions import Fraction

from errai.errors import UsageError
from errai.games.betting import BettingState

ALL_IN = "all-in"
MIN_RAISE = "min"

Size = Fraction | str
"""A fraction of the pot, `ALL_IN` or `MIN_RAISE`."""


@dataclass(frozen=True)
class BetMenu:
    """Raise sizes by round and raise number.

    Attributes:
        sizes: [round][raise number][choice]; the last entry of either list repeats.
        max_raises: bets and raises allowed in a round by the menu; None leaves it to the rules.
        force_all_in: a raise is made all-in where it would leave less than this part of the pot.
        text: the menu as it was given.
    """

    sizes: tuple[tuple[tuple[Size, ...], ...], ...]
    max_raises: int | None
    force_all_in: Fraction
    text: str

    @staticmethod
    def parse(text: str, max_raises: int | None = None, force_all_in: float | str = 0) -> "BetMenu":
        """Read a menu from text."""
        if max_raises is not None and max_raises < 0:
            raise UsageError(f"a cap of {max_raises} raises is impossible: 0 or more are allowed")
        try:
            threshold = Fraction(str(force_all_in))
        except ValueError:
            raise UsageError(
                f"'{force_all_in}' is not a part of the pot: a number such as 0.05 is allowed"
            ) from None
        if threshold < 0:
            raise UsageError(f"an all-in threshold of {force_all_in} is impossible: 0 or more is allowed")
        rounds = tuple(
            tuple(tuple(_parse_size(size, text) for size in menu.split(",")) for menu in one_round.split("|"))
            for one_round in text.split("/")
        )
        return BetMenu(rounds, max_raises, threshold, text)

    def raise_totals(self, state: BettingState) -> list[int]:
        """Return the totals, ascending and distinct, that the player to act may raise to."""
        bounds = state.raise_bounds()
        if bounds is None or (self.max_raises is not None and state.num_raises >= self.max_raises):
            return []
        least, greatest = bounds
        assert state.rules.stacks is not None
        greatest = min(greatest, *state.rules.stacks)  # more than the other can call is the same bet
        by_raise = self.sizes[min(state.round, len(self.sizes) - 1)]
        totals = {
            self._total(size, state, min(least, greatest), greatest)
            for size in by_raise[min(state.num_raises, len(by_raise) - 1)]
        }
        return sorted(totals)

    def _total(self, size: Size, state: BettingState, least: int, greatest: int) -> int:
        if size == ALL_IN:
            return greatest
        if size == MIN_RAISE:
            total = least
        else:
            assert isinstance(size, Fraction)
            pot_after_call = state.rules.num_players * state.largest
            total = max(least, state.largest + _round_half_up(size * pot_after_call))
        pot_if_called = state.rules.num_players * total
        if total >= greatest or greatest - total < self.force_all_in * pot_if_called:
            return greatest
        return total


def raise_totals(state: BettingState, menu: BetMenu | None) -> list[int]:
    """Return every raise that a tree offers in a state: the menu's, or all legal ones without a menu."""
    if menu is not None and not state.rules.is_limit:
        return menu.raise_totals(state)
    bounds = state.raise_bounds()
    return [] if bounds is None else list(range(bounds[0], bounds[1] + 1))


def _round_half_up(chips: Fraction) -> int:
    return int((2 * chips + 1) // 2)


def _parse_size(text: str, menu: str) -> Size:
    size = text.strip().lower()
    if size in ("a", ALL_IN):
        return ALL_IN
    if size == MIN_RAISE:
        return MIN_RAISE
    scale = {"p": Fraction(1), "%": Fraction(1, 100)}.get(size[-1:])
    if scale is not None:
        try:
            fraction = Fraction(size[:-1].strip()) * scale
        except (ValueError, ZeroDivisionError):
            fraction = Fraction(0)
        if fraction > 0:
            return fraction
    raise UsageError(
        f"'{text.strip()}' in the menu '{menu}' is not a bet size: "
        "'0.5p', '50%', 'min' or 'all-in' is allowed"
    )
