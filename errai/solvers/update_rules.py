"""Update rules of the CFR family: what one iteration does to regrets and averages, as five numbers.

In iteration t = 1, 2, ... a regret becomes `factor * old + new`, with one factor for positive and one for
negative regrets, and may be floored at zero; the average strategy becomes `factor * old + weight * new`.

- CFR (Zinkevich et al. 2007): no discount, uniform average.
- CFR+ (Tammelin 2014): regrets floored at zero (regret matching+), average weighted by max(t - delay, 0).
- Discounted CFR (Brown and Sandholm 2019): before iteration t's regrets are added, positive ones are
  multiplied by (t-1)^alpha / ((t-1)^alpha + 1), negative ones the same with beta, and the average by
  ((t-1) / t)^gamma. Linear CFR is alpha = beta = gamma = 1.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError


@dataclass(frozen=True)
class UpdateRule:
    """One member of the family.

    Attributes:
        name: as given to `solve`.
        floor: whether regrets are floored at zero (regret matching+).
        linear_average: whether iteration t counts t - delay times in the average.
        delay: iterations before averaging starts.
        discount: (alpha, beta, gamma) of Discounted CFR; None for no discount.
        alternating: whether the second player answers the first one's new strategy.
    """

    name: str
    floor: bool = False
    linear_average: bool = False
    delay: int = 0
    discount: tuple[float, float, float] | None = None
    alternating: bool = True

    def steps(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return the factors of iterations first .. last - 1, counted from 1: float64[iterations, 2, 5]."""
        t = np.arange(first, last, dtype=np.float64)
        steps = np.ones((len(t), 2, 5))
        steps[:, :, 2] = self.floor
        if self.discount is not None:
            alpha, beta, gamma = self.discount
            before = t - 1
            steps[:, :, 0] = (before**alpha / (before**alpha + 1))[:, np.newaxis]
            steps[:, :, 1] = (before**beta / (before**beta + 1))[:, np.newaxis]
            steps[:, :, 3] = ((before / t) ** gamma)[:, np.newaxis]
        if self.linear_average:
            steps[:, :, 4] = np.maximum(t - self.delay, 0)[:, np.newaxis]
        elif self.delay:
            steps[:, :, 4] = (t > self.delay)[:, np.newaxis]
        return steps


RULES = {
    "cfr": UpdateRule("cfr"),
    "cfr+": UpdateRule("cfr+", floor=True, linear_average=True),
    "linear-cfr": UpdateRule("linear-cfr", discount=(1.0, 1.0, 1.0)),
    "dcfr": UpdateRule("dcfr", discount=(1.5, 0.0, 2.0)),
}


def find_rule(name: str) -> UpdateRule:
    """Return the rule of a named algorithm."""
    if name not in RULES:
        raise UsageError(f"'{name}' is not an algorithm: {', '.join(RULES)} or lp is allowed")
    return RULES[name]
