"""How long decisions took: counted in bins two percent wide, so that the memory is bounded."""

import math

_WIDTH = math.log(1.02)


class DecisionTimes:
    """Times in seconds.

    Attributes:
        count: how many there are.
        longest: the longest of them.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.count = 0
        self.longest = 0.0
        self._bins: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        """Count one."""
        place = math.ceil(math.log(max(seconds, 1e-9)) / _WIDTH)
        self._bins[place] = self._bins.get(place, 0) + 1
        self.count += 1
        self.longest = max(self.longest, seconds)

    def percentile(self, percent: float) -> float | None:
        """Return a time within which so many percent of the decisions came, at most 2% too long.

        >>> times = DecisionTimes()
        >>> for milliseconds in range(1, 101):
        ...     times.add(milliseconds / 1000)
        >>> 0.099 <= times.percentile(99) <= 0.101
        True
        """
        if not self.count:
            return None
        needed = math.ceil(self.count * percent / 100)
        for place in sorted(self._bins):
            needed -= self._bins[place]
            if needed <= 0:
                return min(math.exp(place * _WIDTH), self.longest)
        return self.longest
