"""The random numbers of one seat in one hand, by key and counter.

What an agent draws depends on (seed, hand, seat) and on how often it has drawn in the hand, and on nothing
else: a hand can be played again, alone, in a batch or by a kernel, and comes out the same. The numbers
are those of `errai.engine._streams`, in plain integers.
"""

from collections.abc import Mapping

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_TO_UNIT = 1.0 / (1 << 53)


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Draws:
    """A stream of random numbers.

    Attributes:
        key: tells the stream from others.
        counter: how many numbers were drawn.
    """

    __slots__ = ("counter", "key")

    def __init__(self, seed: int, hand_number: int, seat: int) -> None:
        """Begin the stream of a seat in a hand.

        >>> Draws(0, 7, 1).random() == Draws(0, 7, 1).random()
        True
        """
        key = _mix((seed + _GOLDEN) & _MASK)
        key = _mix(key ^ ((hand_number + _GOLDEN) & _MASK))
        self.key = _mix(key ^ ((seat * _GOLDEN + _GOLDEN) & _MASK))
        self.counter = 0

    def random(self) -> float:
        """Return a number from 0 up to, but not, 1."""
        self.counter += 1
        return (_mix((self.key + self.counter * _GOLDEN) & _MASK) >> 11) * _TO_UNIT

    def choose(self, probabilities: Mapping[str, float]) -> str:
        """Return one of some actions by their probabilities, in their order; one number is drawn.

        >>> Draws(0, 0, 0).choose({"f": 0.0, "c": 1.0})
        'c'
        """
        left = self.random()
        chosen = ""
        for action, probability in probabilities.items():
            if probability > 0:
                chosen = action
                left -= probability
                if left < 0:
                    break
        return chosen
