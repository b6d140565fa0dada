"""Slow obvious twins of update rules: tabular CFR with dictionaries, each rule as its paper writes it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from naive.traversal import NaiveWalk, Table


def naive_discount(t: int, exponent: float) -> float:
    """Return (t-1)^e / ((t-1)^e + 1), or its limit: e may be infinite, and t - 1 is 0 at first."""
    before = t - 1
    if before == 0:
        return 1.0 if exponent < 0 else 0.5 if exponent == 0 else 0.0
    if math.isinf(exponent):
        return 0.5 if before == 1 else float(exponent > 0)
    power: float = before**exponent
    return power / (power + 1)


@dataclass
class NaiveCfr:
    """CFR on a game walked hand by hand.

    Attributes:
        walk: the game, and what players see of it.
        name: of the rule.
        alternating: whether the second player answers the first one's new strategy.
        delay: iterations before averaging starts.
        discount: of `dcfr`.
        regrets: by information set, an entry for each action.
        averages: the same.
        predictions: the same, of `pcfr+`.
        iteration: iterations done.
    """

    walk: NaiveWalk
    name: str
    alternating: bool = True
    delay: int = 0
    discount: tuple[float, float, float] = (1.5, 0.0, 2.0)
    regrets: Table = field(default_factory=dict)
    averages: Table = field(default_factory=dict)
    predictions: Table = field(default_factory=dict)
    iteration: int = 0

    def iterate(self) -> None:
        """Do one iteration."""
        self.iteration += 1
        if self.alternating:
            for player in (0, 1):
                self._learn(*self._gains(player))
        else:
            for gains, played in [self._gains(player) for player in (0, 1)]:
                self._learn(gains, played)

    def _gains(self, player: int) -> tuple[Table, Table]:
        source = self.predictions if self.name == "pcfr+" else self.regrets
        walk = replace(self.walk, source=source, regrets={}, averages={})
        walk.values(player, "learn", (1, 1, 0, 1, 1))
        return walk.regrets, walk.averages

    def _learn(self, gains: Table, played: Table) -> None:
        for infoset, gain in gains.items():
            zeros = [0.0] * len(gain)
            regrets, averages = self.regrets.get(infoset, zeros), self.averages.get(infoset, zeros)
            self.regrets[infoset] = [self._regret(z, r) for z, r in zip(regrets, gain, strict=True)]
            self.averages[infoset] = [
                self._average(x, p) for x, p in zip(averages, played[infoset], strict=True)
            ]
            self.predictions[infoset] = [z + r for z, r in zip(self.regrets[infoset], gain, strict=True)]

    def _regret(self, old: float, gain: float) -> float:
        t = self.iteration
        if self.name == "cfr":
            return old + gain
        if self.name in ("cfr+", "pcfr+"):
            return max(old + gain, 0.0)
        if self.name == "linear-cfr":
            return old * (t - 1) / t + gain
        assert self.name == "dcfr"
        alpha, beta, _ = self.discount
        return old * naive_discount(t, alpha if old > 0 else beta) + gain

    def _average(self, old: float, played: float) -> float:
        t = self.iteration
        counted = max(t - self.delay, 0)
        if self.name == "cfr+":
            return old + counted * played
        if self.name == "pcfr+":
            return old + counted**2 * played
        fading = {"cfr": 0.0, "linear-cfr": 1.0, "dcfr": self.discount[2]}[self.name]
        factor: float = ((t - 1) / t) ** fading
        return old * factor + (played if counted else 0.0)


def naive_apply_factors(
    step: Sequence[float], gain: float, played: float, regret: float, average: float
) -> tuple[float, float]:
    """Return a new regret and a new average."""
    positive, negative, floor, keep, _ = step
    new = regret * (positive if regret > 0 else negative) + gain
    return (max(new, 0.0) if floor else new), average * keep + played


def naive_apply_predictive(
    gain: float, played: float, regret: float, average: float
) -> tuple[float, float, float]:
    """Return a new regret, a new average and a prediction of the regret after the next iteration."""
    new = max(regret + gain, 0.0)
    return new, average + played, new + gain
