"""Bet-size menus: which raises a no-limit betting tree offers, by round and raise number.

Text: sizes are joined by `,`; the menus of the first bet, the first raise, the second raise ... of a
round by `|`; rounds by `/`. The last menu of a round serves all later raises, the last round's all
later rounds. So `1p,all-in` is one menu for everything, and `0.5p,1p|1p,all-in / 1p|all-in` gives the
first round two menus and every later round two others. `none` in the place of a menu offers no raise.

A size is `0.5p` or `50%` (a call plus that part of the pot after calling), `min` (the least legal
raise) or `all-in` (also `a`). A size below the least legal raise becomes that raise; one beyond the
stack, or one after which the stack behind would be less than `force_all_in` of the pot that a call
would make, becomes all-in; equal sizes merge. What differs by position, and caps by round, need a file
(`errai.tree.menu_file`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from errai.errors import UsageError
from errai.games.betting import BettingState, is_legal
from errai.games.rounds import STREETS, street_name
from errai.games.rules import PokerRules

ALL_IN = "all-in"
MIN_RAISE = "min"
NO_RAISE = "none"

SEATS = ("big_blind", "dealer")
"""[position] what hold'em calls the positions of two players."""

Size = Fraction | str
"""A fraction of the pot, `ALL_IN` or `MIN_RAISE`."""

# No exponents: a few letters of text must not ask for a number of a billion digits.
MOST_DECIMALS = 9
_NUMBER = re.compile(rf"[0-9]{{1,9}}(\.[0-9]{{0,{MOST_DECIMALS}}})?|\.[0-9]{{1,{MOST_DECIMALS}}}")


@dataclass(frozen=True)
class BetMenu:
    """Raise sizes by round and raise number.

    Attributes:
        sizes: [round][raise number][choice]; the last entry of either list repeats.
        max_raises: most bets and raises of a round by the menu; None leaves it to the rules.
        force_all_in: a raise is made all-in where it would leave less than this part of the pot.
        text: the menu as it was given; the name of one from a file.
        chip: raises by a part of the pot are rounded to multiples of it.
        by_position: [position] menus where they differ by position, which then stand for all of the above;
            empty otherwise.
        round_caps: [round] caps in place of `max_raises` where they differ by round; the last one repeats.
        names: streets and seats that a file speaks of; a game must have them where the menu has them.
    """

    sizes: tuple[tuple[tuple[Size, ...], ...], ...]
    max_raises: int | None
    force_all_in: Fraction
    text: str
    chip: int = 1
    by_position: tuple["BetMenu", ...] = ()
    round_caps: tuple[int | None, ...] = ()
    names: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str, max_raises: int | None = None, force_all_in: float | str = 0) -> "BetMenu":
        """Read a menu from text."""
        if max_raises is not None and max_raises < 0:
            raise UsageError(f"the cap on raises must be 0 or more, not {max_raises}")
        try:
            # As written in decimals: 0.05 is a twentieth. Infinity and NaN are no fractions.
            threshold = Fraction(str(float(force_all_in)))
        except (ValueError, OverflowError):
            threshold = Fraction(-1)
        if threshold < 0:
            raise UsageError(
                f"'{force_all_in}' is not an all-in threshold: expected a part of the pot of 0 or more, "
                "such as 0.05"
            )
        rounds = tuple(parse_round(one_round, text) for one_round in text.split("/"))
        return BetMenu(rounds, max_raises, threshold, text)

    def raise_totals(self, state: BettingState) -> list[int]:
        """Return the totals, ascending and distinct, that the player to act may raise to."""
        if self.by_position:
            return self.by_position[state.player].raise_totals(state)
        bounds, cap = state.raise_bounds(), self.cap(state.round)
        if bounds is None or (cap is not None and state.num_raises >= cap):
            return []
        least, greatest = bounds[0], max(bounds[0], min(bounds[1], self._most_to_call(state)))
        by_raise = self.sizes[min(state.round, len(self.sizes) - 1)]
        sizes = by_raise[min(state.num_raises, len(by_raise) - 1)]
        return sorted({self._total(size, state, least, greatest) for size in sizes})

    def cap(self, round_index: int) -> int | None:
        """Return the most bets and raises of a round; None where only the rules limit them."""
        if not self.round_caps:
            return self.max_raises
        return self.round_caps[min(round_index, len(self.round_caps) - 1)]

    def verify(self, rules: PokerRules) -> None:
        """Refuse a game in which a street or seat that the menu speaks of is another one, or none."""
        for r, street in enumerate(STREETS.values()):
            if street in self.names and r < rules.num_rounds and street_name(rules, r) != street:
                raise UsageError(
                    f"the bet sizes '{self.text}' speak of the {street}, which is not round {r + 1} of "
                    f"'{rules.name}': expected numbers of rounds, such as [rounds.{r + 1}]"
                )
        if any(seat in self.names for seat in SEATS) and not rules.blinds[0] > rules.blinds[1]:
            raise UsageError(
                f"the bet sizes '{self.text}' speak of the dealer or the big blind, and position 0 of "
                f"'{rules.name}' does not pay the larger blind: expected position_0 and position_1"
            )

    def suits(self, rules: PokerRules) -> bool:
        """Return whether a game has the streets and seats that the menu speaks of."""
        return is_legal(lambda: self.verify(rules))

    def _most_to_call(self, state: BettingState) -> int:
        """Return the largest total that an opponent could call: more is the same bet."""
        others = (p for p in range(state.rules.num_players) if p != state.player and not state.folded[p])
        return max(state.stack_of(p) for p in others)

    def _total(self, size: Size, state: BettingState, least: int, greatest: int) -> int:
        if size == ALL_IN:
            return greatest
        if size == MIN_RAISE:
            total = least
        else:
            assert isinstance(size, Fraction)
            # In whole numbers, which are many times as fast as fractions: a large tree asks a million times.
            part, whole = size.numerator * (sum(state.spent) + state.to_call), size.denominator * self.chip
            half_up = (2 * part + whole) // (2 * whole)
            total = max(least, state.largest + self.chip * half_up)
        dead = sum(chips for chips, folded in zip(state.spent, state.folded, strict=True) if folded)
        pot_if_called = 2 * total + dead
        threshold = self.force_all_in
        if (
            total >= greatest
            or (greatest - total) * threshold.denominator < threshold.numerator * pot_if_called
        ):
            return greatest
        return total


def raise_totals(state: BettingState, menu: BetMenu | None) -> Sequence[int]:
    """Return every raise that a tree offers in a state: the menu's, or all legal ones without a menu."""
    if menu is not None and not state.rules.is_limit:
        return menu.raise_totals(state)
    bounds = state.raise_bounds()
    return range(0) if bounds is None else range(bounds[0], bounds[1] + 1)


def parse_round(text: str, menu: str | None = None) -> tuple[tuple[Size, ...], ...]:
    """Read the sizes of one round, [raise number][choice].

    Args:
        text: such as `0.5p,1p|all-in`.
        menu: the whole text that it is a part of.
    """
    return tuple(_parse_sizes(sizes, text if menu is None else menu) for sizes in text.split("|"))


def round_text(sizes: Sequence[Sequence[Size]]) -> str:
    """Return what `parse_round` reads as these sizes.

    >>> round_text(parse_round(" 50%, .75P,a | none | 0.000000003% "))
    '0.5p,0.75p,all-in | none | 0.000000003%'
    """
    return " | ".join(",".join(map(_size_text, choices)) or NO_RAISE for choices in sizes)


def _size_text(size: Size) -> str:
    if isinstance(size, str):
        return size
    for unit, value in (("p", size), ("%", 100 * size)):
        digits, rest = divmod(value * 10**MOST_DECIMALS, 1)
        if rest == 0:
            whole, decimals = divmod(int(digits), 10**MOST_DECIMALS)
            return f"{whole}.{decimals:0{MOST_DECIMALS}}".rstrip("0").rstrip(".") + unit
    raise UsageError(f"{size} of the pot cannot be written as a bet size of at most {MOST_DECIMALS} decimals")


def _parse_sizes(text: str, menu: str) -> tuple[Size, ...]:
    if text.strip().lower() == NO_RAISE:
        return ()
    return tuple(_parse_size(size, menu) for size in text.split(","))


def _parse_size(text: str, menu: str) -> Size:
    size = text.strip().lower()
    if size in ("a", ALL_IN):
        return ALL_IN
    if size == MIN_RAISE:
        return MIN_RAISE
    scale = {"p": Fraction(1), "%": Fraction(1, 100)}.get(size[-1:])
    if scale is not None:
        number = size[:-1].strip()
        if _NUMBER.fullmatch(number) and Fraction(number) > 0:
            return Fraction(number) * scale
    raise UsageError(
        f"'{text.strip()}' in the menu '{menu}' is not a bet size: expected '0.5p', '50%', 'min' or 'all-in'"
    )
