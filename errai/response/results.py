"""What is measured of strategies, in chips by position and in the units of reports.

Conventions: exploitability is the mean over the two positions of what a best response wins, in chips, when
the profile plays both positions; where payoffs are not zero-sum, of what it wins beyond what the profile
itself gets there. `mbb_per_game` divides by the big blind (in ante games the ante) and multiplies by 1,000.
"""

from dataclasses import dataclass

from errai.games.payoffs import PLAIN


class _MeanOverPositions:
    """Chips by position and their mean, in the units of reports."""

    big_blind: int

    def _by_position(self) -> tuple[float, float]:
        raise NotImplementedError

    @property
    def chips(self) -> float:
        """Mean over the positions, in chips."""
        return sum(self._by_position()) / 2

    @property
    def mbb_per_game(self) -> float:
        """Mean over the positions, in thousandths of a big blind."""
        return self.chips / self.big_blind * 1000


@dataclass(frozen=True)
class Exploitability(_MeanOverPositions):
    """How much a best response wins from a profile.

    Attributes:
        best_response_values: [position] chips a game that a best response wins in that position.
        big_blind: the unit of `mbb_per_game`.
        payoffs: which payoffs it was measured with, as text.
        profile_values: [position] chips a game that the profile itself gets there, which count where payoffs
            are not zero-sum; None where they are.
    """

    best_response_values: tuple[float, float]
    big_blind: int
    payoffs: str = PLAIN.describe()
    profile_values: tuple[float, float] | None = None

    def _by_position(self) -> tuple[float, float]:
        (first, second), own = self.best_response_values, self.profile_values or (0.0, 0.0)
        return first - own[0], second - own[1]


@dataclass(frozen=True)
class ExpectedValue(_MeanOverPositions):
    """What a strategy wins from another, in each position and as the mean over both seatings.

    Attributes:
        positions: [position] chips a game that the first strategy wins in that position.
        big_blind: the unit of `mbb_per_game`.
    """

    positions: tuple[float, float]
    big_blind: int

    def _by_position(self) -> tuple[float, float]:
        return self.positions
