"""What a match has come to: exact sums, the mean in mbb/g with its interval, and when that is narrow enough.

The unit of a match is a deal. It is played once or, in a duplicate match, twice with the seats swapped; then
the two hands have the same cards, luck cancels in their mean, and the interval is that of pairs. Sums are
whole chips, so a match that was cut into pieces and put together again has the same score to the last bit.

Sequential stopping looks at the half-width of the interval after 1,000 deals and then each time their number
has grown by a tenth. It never looks at the mean itself, so it does not stop on good luck; the interval tends
to the promised coverage as the width that is asked for falls (Chow and Robbins 1965). It is still a little
optimistic: samples whose spread happens to be small stop earlier.
"""

import re
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError, shortened
from errai.response.flop_sample import LEVEL, interval_around

FIRST_LOOK = 1_000
"""Deals before the first look at the interval."""

_UNTIL = re.compile(r"\s*(?:([0-9.]+)\s*%)?\s*(?:\+-|\+/-|±)\s*([0-9.]+(?:e[0-9]+)?)\s*(?:mbb(?:/g)?)?\s*")


@dataclass(frozen=True)
class Score:
    """The sums of a match, in chips that the first agent won.

    Attributes:
        big_blind: the unit of `mbb_per_game`.
        hands_a_deal: 1, or 2 in a duplicate match.
        deals: how many were played.
        totals: [playing] over all deals: one number, or two in a duplicate match.
        squares: of what each deal came to, over all its hands.
        hand_squares: of each hand.
        illegal_actions: [agent] that were turned into legal ones.
    """

    big_blind: int
    hands_a_deal: int
    deals: int = 0
    totals: tuple[int, ...] = ()
    squares: int = 0
    hand_squares: int = 0
    illegal_actions: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if not self.totals:
            object.__setattr__(self, "totals", (0,) * self.hands_a_deal)

    @property
    def total(self) -> int:
        """Chips that the first agent won, over all hands."""
        return sum(self.totals)

    def plus(self, chips: npt.NDArray[np.int64], illegal_actions: tuple[int, int] = (0, 0)) -> "Score":
        """Return the score with more deals.

        Args:
            chips: int64[hands of a deal, deals] that the first agent won.
            illegal_actions: [agent] in them.
        """
        # A deal of 2 * 2^31 chips has a square near 2^64: one batch of small numbers is added up as it is,
        # larger ones as Python's whole numbers.
        deals = chips.sum(axis=0)
        most = int(np.abs(deals).max(initial=0)) + int(np.abs(chips).max(initial=0))
        exact = chips.astype(object) if most**2 * max(len(deals), 1) * 2 >= 2**62 else chips
        return self.joined(
            replace(
                self,
                deals=len(deals),
                totals=tuple(chips.sum(axis=1).tolist()),
                squares=int((exact.sum(axis=0) ** 2).sum()),
                hand_squares=int((exact**2).sum()),
                illegal_actions=illegal_actions,
            )
        )

    def joined(self, other: "Score") -> "Score":
        """Return the score of two parts of one match."""
        assert (self.big_blind, self.hands_a_deal) == (other.big_blind, other.hands_a_deal)
        first, second = (a + b for a, b in zip(self.illegal_actions, other.illegal_actions, strict=True))
        return replace(
            self,
            deals=self.deals + other.deals,
            totals=tuple(a + b for a, b in zip(self.totals, other.totals, strict=True)),
            squares=self.squares + other.squares,
            hand_squares=self.hand_squares + other.hand_squares,
            illegal_actions=(first, second),
        )

    @property
    def hands(self) -> int:
        """How many hands were played."""
        return self.deals * self.hands_a_deal

    @property
    def chips(self) -> float:
        """What the first agent won a hand, in chips; 0 before the first."""
        return self.total / max(self.hands, 1)

    @property
    def mbb_per_game(self) -> float:
        """What the first agent won a hand, in thousandths of a big blind."""
        return self.chips / self.big_blind * 1000

    @property
    def standard_deviation(self) -> float | None:
        """Of a deal's mean over its hands, in thousandths of a big blind; None with fewer than two deals."""
        return self._deviation(self.deals, self.squares, self.hands_a_deal)

    @property
    def hand_standard_deviation(self) -> float | None:
        """Of a hand, in thousandths of a big blind."""
        return self._deviation(self.hands, self.hand_squares, 1)

    def _deviation(self, number: int, squares: int, hands: int) -> float | None:
        if number < 2:
            return None
        # Whole numbers first: the difference of two large floats would lose what counts.
        variance = (number * squares - self.total**2) / (number * (number - 1))
        return sqrt(variance) / hands / self.big_blind * 1000

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95% interval, in mbb/g; None with fewer than two deals."""
        interval = self.interval
        return None if interval is None else (interval[1] - interval[0]) / 2

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of what the first agent wins, in mbb/g; None with fewer than two deals."""
        deviation = self.standard_deviation
        if deviation is None:
            return None
        return interval_around(self.mbb_per_game, deviation / sqrt(self.deals), self.deals)

    def words(self) -> str:
        """Return the mean and its interval, as told to people."""
        width = self.half_width
        return f"{self.mbb_per_game:,.1f}" + (f" +- {width:,.1f}" if width is not None else "") + " mbb/g"


def parse_until(text: str) -> float:
    """Read when to stop: the half-width of the 95% interval in mbb/g.

    >>> parse_until("95% +-5")
    5.0
    """
    found = _UNTIL.fullmatch(text)
    try:
        level, width = (float(part) if part else None for part in found.groups()) if found else (None, None)
    except ValueError:
        level, width = None, None
    if width is None or width <= 0 or level not in (None, 100 * LEVEL):
        raise UsageError(
            f"'{shortened(text)}' does not say when to stop: expected the half-width of the 95% interval "
            "in mbb/g, such as '95% +-5'"
        )
    return width


def next_look(deals: int) -> int:
    """Return after how many deals the interval is looked at next."""
    look = FIRST_LOOK
    while look <= deals:
        look += look // 10
    return look


def is_narrow(score: Score, half_width: float) -> bool:
    """Return whether a match may stop: it is time to look, and the interval is narrow enough."""
    is_time = score.deals >= FIRST_LOOK and next_look(score.deals - 1) == score.deals
    reached = score.half_width
    return is_time and reached is not None and reached <= half_width
