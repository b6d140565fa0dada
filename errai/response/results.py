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
        return _in_mbb(self.chips, self.big_blind)


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
        return _beyond(self.best_response_values, self.profile_values)


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


class _Sampled(_MeanOverPositions):
    """A mean over the positions with an interval."""

    interval: tuple[float, float]

    @property
    def interval_mbb_per_game(self) -> tuple[float, float]:
        """The interval in thousandths of a big blind."""
        low, high = self.interval
        return _in_mbb(low, self.big_blind), _in_mbb(high, self.big_blind)


@dataclass(frozen=True)
class CrossValidated(_Sampled):
    """What a best response wins whose actions before the flop were chosen on other flops than it is paid on.

    Its mean over samples is not above the exact figure: nobody wins more than a best response.

    Attributes:
        best_response_values: [position] chips a game.
        interval: 95% interval of what this estimate is on average over samples, in chips: not of the exact
            figure, which is higher.
        big_blind: the unit of `mbb_per_game`.
        profile_values: [position] chips a game that the profile itself gets on the sampled flops; None where
            payoffs are zero-sum.
    """

    best_response_values: tuple[float, float]
    interval: tuple[float, float]
    big_blind: int
    profile_values: tuple[float, float] | None = None

    def _by_position(self) -> tuple[float, float]:
        return _beyond(self.best_response_values, self.profile_values)


class _Bounded(_Sampled):
    """An estimate from above that has one from below beside it."""

    cross_validated: CrossValidated

    @property
    def bounds(self) -> tuple[float, float]:
        """From the low end of the estimate from below to the high end of the one from above, in chips.

        Each end fails in at most about 2.5% of samples, so these hold the exact figure in at least about 95%.
        """
        return self.cross_validated.interval[0], self.interval[1]

    @property
    def bounds_mbb_per_game(self) -> tuple[float, float]:
        """The same in thousandths of a big blind."""
        return self.cross_validated.interval_mbb_per_game[0], self.interval_mbb_per_game[1]


@dataclass(frozen=True)
class SampledExploitability(_Bounded):
    """How much a best response wins from a profile, estimated from a sample of flops.

    Below each sampled flop the best response is exact. Before the flop it takes what is best on the sampled
    flops, so the mean of this estimate over samples is not below the exact figure. That of `cross_validated`
    is not above it. `bounds` is the interval that holds the exact figure.

    Attributes:
        best_response_values: [position] chips a game.
        interval: 95% interval of what this estimate is on average over samples, in chips: not of the exact
            figure, which is lower.
        cross_validated: the estimate from below.
        big_blind: the unit of `mbb_per_game`.
        num_flops: flops in the sample; one that was drawn twice counts twice.
        num_boards: different canonical flops among them.
        seed: that drew them.
        payoffs: which payoffs it was measured with, as text.
        profile_values: [position] chips a game that the profile itself gets on the sampled flops; None where
            payoffs are zero-sum.
    """

    best_response_values: tuple[float, float]
    interval: tuple[float, float]
    cross_validated: CrossValidated
    big_blind: int
    num_flops: int
    num_boards: int
    seed: int
    payoffs: str = PLAIN.describe()
    profile_values: tuple[float, float] | None = None

    def _by_position(self) -> tuple[float, float]:
        return _beyond(self.best_response_values, self.profile_values)


@dataclass(frozen=True)
class ExploitabilityDifference:
    """How much more a best response wins from one profile than from another, by estimates of one kind.

    Attributes:
        chips: a game, mean over the positions; below 0 where the first profile loses less.
        interval: 95% interval of what this difference is on average over samples, in chips. The biases of
            both estimates are in it, less as far as they are alike.
        big_blind: the unit of `mbb_per_game`.
    """

    chips: float
    interval: tuple[float, float]
    big_blind: int

    @property
    def mbb_per_game(self) -> float:
        """The difference in thousandths of a big blind."""
        return _in_mbb(self.chips, self.big_blind)

    @property
    def interval_mbb_per_game(self) -> tuple[float, float]:
        """The interval in thousandths of a big blind."""
        low, high = self.interval
        return _in_mbb(low, self.big_blind), _in_mbb(high, self.big_blind)


@dataclass(frozen=True)
class ComparedExploitability:
    """How much more a best response wins from one profile than from another, from the same sample of flops.

    Attributes:
        first: the estimates of the first profile.
        second: those of the second, from the same flops.
        from_above: the difference of their estimates from above.
        from_below: the difference of their estimates from below.
        bounds: an interval in chips that has room for the biases of all estimates, and holds the difference
            of the exact figures in at least about 95% of samples.
    """

    first: SampledExploitability
    second: SampledExploitability
    from_above: ExploitabilityDifference
    from_below: ExploitabilityDifference
    bounds: tuple[float, float]

    @property
    def bounds_mbb_per_game(self) -> tuple[float, float]:
        """The bounds in thousandths of a big blind."""
        low, high = self.bounds
        return _in_mbb(low, self.first.big_blind), _in_mbb(high, self.first.big_blind)


@dataclass(frozen=True)
class SampledAbstractExploitability(_Bounded):
    """How much a best response wins inside an abstract game, estimated from a sample of boards.

    It takes what is best on the sampled boards, so the mean of this estimate over samples is not below the
    exact figure. That of `cross_validated` is not above it. `bounds` is the interval that holds it.

    Attributes:
        best_response_values: [position] chips a game.
        interval: 95% interval of what this estimate is on average over samples, in chips: not of the exact
            figure, which is lower.
        cross_validated: the estimate from below, whose actions were chosen on other boards than it is paid
            on, in all rounds.
        big_blind: the unit of `mbb_per_game`.
        num_boards: boards of the last round in the sample; one that was drawn twice counts twice.
        seed: that drew them.
    """

    best_response_values: tuple[float, float]
    interval: tuple[float, float]
    cross_validated: CrossValidated
    big_blind: int
    num_boards: int
    seed: int

    def _by_position(self) -> tuple[float, float]:
        return self.best_response_values


@dataclass(frozen=True)
class SampledExpectedValue(_Sampled):
    """What a strategy wins from another, estimated from a sample of flops; all else is exact.

    Attributes:
        positions: [position] chips a game that the first strategy wins in that position.
        interval: 95% interval of the mean over the positions, in chips.
        position_intervals: [position] the same of each position.
        big_blind: the unit of `mbb_per_game`.
        num_flops: flops in the sample; one that was drawn twice counts twice.
        num_boards: different canonical flops among them.
        seed: that drew them.
    """

    positions: tuple[float, float]
    interval: tuple[float, float]
    position_intervals: tuple[tuple[float, float], tuple[float, float]]
    big_blind: int
    num_flops: int
    num_boards: int
    seed: int

    def _by_position(self) -> tuple[float, float]:
        return self.positions


@dataclass(frozen=True)
class DealtExpectedValue(_Sampled):
    """What a strategy wins from another, estimated from deals; the betting of each is exact.

    Attributes:
        positions: [position] chips a game that the strategy wins in that position.
        interval: 95% interval of the mean over the positions, in chips.
        big_blind: the unit of `mbb_per_game`.
        num_deals: deals in the sample, each played in both positions.
        seed: that drew them.
    """

    positions: tuple[float, float]
    interval: tuple[float, float]
    big_blind: int
    num_deals: int
    seed: int

    def _by_position(self) -> tuple[float, float]:
        return self.positions


def _beyond(values: tuple[float, float], own: tuple[float, float] | None) -> tuple[float, float]:
    """Return what is won by position beyond what the profile itself gets."""
    first, second = own or (0.0, 0.0)
    return values[0] - first, values[1] - second


def _in_mbb(chips: float, big_blind: int) -> float:
    """Return chips a game as thousandths of a big blind."""
    return chips / big_blind * 1000
