"""What a sample of flops says of a whole game: estimates, and how far to trust them.

A canonical flop is drawn by the number of dealt flops that it stands for, with replacement. What it adds to
the values before the deal, divided by its chance to be drawn, is an unbiased estimate of these values for
every hand and betting sequence, and so is the mean over draws (Hansen and Hurwitz 1943). Whatever is fixed
before the flop is therefore worth the same on average over samples as in the whole game.

A best response is not fixed there: it takes what is best before the flop by values that it does not know
exactly. Two estimates have it between them:

- **maximum**: the best on the sampled flops. The mean of maxima is at least the maximum of means, so its mean
  over samples is not below the exact figure.
- **cross-validated**: draws are put into ten parts, and each part pays what was chosen on the nine others.
  What is chosen does not depend on the flops that it is paid on, and nothing is worth more than a best
  response: its mean over samples is not above the exact figure. (Two halves would do, too, but what is
  chosen on half of the flops is worse, and the figure lower.)

Intervals are of 95%, by Student's t with one degree of freedom less than there are draws. The standard error
of the maximum is the jackknife's over draws (Efron and Stein 1981). That of what is fixed before the flop is
the usual one of a mean, and the cross-validated figure takes it as if what was chosen were fixed. Either is
an interval of what its estimate is on average over samples, which is not the exact figure. Bounds from the
low end of the latter to the high end of the former have room for both biases; docs/findings.md says how often
they held it.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from errai.engine.root import Pair
from errai.engine.section import BEST
from errai.response.trunk import Trunk, Values

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

LEVEL = 0.95
"""Of all intervals."""

NUM_FOLDS = 10
"""Parts of the draws, each of which pays what was chosen on the others; with fewer draws one for each."""


def draw_boards(weights: npt.NDArray[np.int64], num_flops: int, seed: int) -> npt.NDArray[np.int64]:
    """Draw boards by their weights, with replacement; the first draws of a longer sample are a shorter one.

    Args:
        weights: int64[B].
        num_flops: how many.
        seed: of the draws.
    """
    ends = np.cumsum(weights)
    dealt = np.random.default_rng(seed).integers(0, int(ends[-1]), num_flops)
    return np.searchsorted(ends, dealt, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class FlopSample:
    """Flops that were drawn, and the values there; D different ones in N draws.

    Attributes:
        trunk: what is above the flops.
        values: [position] float64[D, ...] what a best response below the flop adds to the values before the
            deal, divided by the flop's chance to be drawn.
        own: float64[D, 2] what the profile itself wins by position, estimated from one flop, where this
            counts; 0 elsewhere.
        draws: int64[N] which of the flops was drawn.
    """

    trunk: Trunk
    values: Pair
    own: Floats
    draws: npt.NDArray[np.int64]

    @property
    def num_draws(self) -> int:
        """How many flops were drawn."""
        return len(self.draws)

    def means(self, draws: npt.NDArray[np.int64]) -> Pair:
        """Return the mean over some draws of the values before the deal."""
        found, counts = np.unique(draws, return_counts=True)
        shares = counts / len(draws)
        first, second = (shares @ values[found] for values in self.values)
        return first, second

    def own_values(self) -> Values:
        """Return what the profile itself wins, by position."""
        first, second = self.own[self.draws].mean(axis=0).tolist()
        return first, second

    def maximum(self) -> Values:
        """Return what the best on these flops wins, by position."""
        return self.trunk.values(self.means(self.draws), BEST)

    def maximum_by_draw(self) -> Floats:
        """Return the jackknife's pseudo-values of the maximum, beyond what the profile itself wins.

        Returns:
            float64[N] chips, the mean over the positions. The standard error of their mean is the maximum's.
        """
        number = self.num_draws
        means, own = self.means(self.draws), self.own[self.draws].mean(axis=0)
        found, places = np.unique(self.draws, return_inverse=True)
        without = np.empty(len(found))
        for place, flop in enumerate(found):
            first, second = (
                (number * mean - values[flop]) / (number - 1)
                for mean, values in zip(means, self.values, strict=True)
            )
            own_without = (number * own - self.own[flop]) / (number - 1)
            without[place] = np.mean(np.array(self.trunk.values((first, second), BEST)) - own_without)
        whole = float(np.mean(np.array(self.trunk.values(means, BEST)) - own))
        return number * whole - (number - 1) * without[places]

    def held_out(self, num_folds: int = NUM_FOLDS) -> Floats:
        """Return what each draw pays to what was chosen on other draws: float64[N, 2].

        Args:
            num_folds: parts of the draws, each of which pays what was chosen on the others; at least 2.
        """
        paid = np.empty((self.num_draws, 2))
        for part in np.array_split(np.arange(self.num_draws), min(num_folds, self.num_draws)):
            actions = self.trunk.best_actions(self.means(np.delete(self.draws, part)))
            known: dict[int, Values] = {}
            for draw in part.tolist():
                flop = int(self.draws[draw])
                if flop not in known:
                    values = self.values[0][flop], self.values[1][flop]
                    known[flop] = self.trunk.values_of(actions, values)
                paid[draw] = known[flop]
        return paid

    def beyond_own(self, paid: Floats) -> Floats:
        """Return what draws pay, float64[N, 2], beyond what the profile itself wins there: float64[N]."""
        beyond: Floats = (paid - self.own[self.draws]).mean(axis=1)
        return beyond


def mean_error(values: Floats) -> float:
    """Return the standard error of the mean of independent values, float64[N]."""
    return float(values.std(ddof=1)) / sqrt(len(values))


def interval_around(centre: float, error: float, num_draws: int) -> Interval:
    """Return the 95% interval of an estimate with a standard error."""
    reach = float(stdtrit(num_draws - 1, (1 + LEVEL) / 2)) * error
    return centre - reach, centre + reach
