"""Percentile buckets: hands sorted by one number and cut into parts of equal weight.

Percentile hand strength (Zinkevich, Johanson, Bowling and Piccione, 2007; chapter 5 of Johanson's thesis).
Hands with equal numbers are never separated, so some buckets may stay empty: hold'em's river has only
1,950 different strengths. The bucket of a number is where the middle of its weight falls.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

MAX_VALUES_TO_COUNT = 1 << 22
"""Up to here numbers are counted one by one instead of sorted."""

CHUNK = 1 << 22


def percentile_buckets(
    values: npt.NDArray[np.integer], weights: npt.NDArray[np.integer], num_buckets: int
) -> npt.NDArray[np.int64]:
    """Return the bucket of each hand, weakest first: int64[N].

    Args:
        values: integers[N], such as sums of strengths.
        weights: integers[N], deals that each hand stands for.
        num_buckets: parts of equal weight.
    """
    most = int(values.max(initial=0))
    if most < MAX_VALUES_TO_COUNT:
        weight = np.zeros(most + 1, dtype=np.int64)
        for begin in range(0, len(values), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            # Sums of deals stay far below 2^53, up to which float64 counts exactly.
            weight += np.bincount(values[chunk], weights[chunk], most + 1).astype(np.int64)
        return np.asarray(bucket_of_value(weight, num_buckets)[values])
    different, place = np.unique(values, return_inverse=True)
    weight = np.bincount(place, weights, len(different)).astype(np.int64)
    return bucket_of_value(weight, num_buckets)[place]


def bucket_of_value(weight: npt.NDArray[np.int64], num_buckets: int) -> npt.NDArray[np.int64]:
    """Return the bucket of each of some ascending numbers, given the weight of each, which may be 0."""
    before = np.cumsum(weight) - weight
    total = int(weight.sum())
    assert 2 * total * num_buckets < 2**63, "the middle of a weight must fit 64 bits"
    middle = (2 * before + weight) * num_buckets // max(2 * total, 1)
    return np.asarray(np.minimum(middle, num_buckets - 1))  # above all weight: the last bucket


def nested_percentiles(
    first_values: npt.NDArray[np.integer],
    second_values: npt.NDArray[np.integer],
    weights: npt.NDArray[np.integer],
    nested: tuple[int, int],
) -> npt.NDArray[np.int64]:
    """Return percentile buckets by the first number and, within each, by the second: int64[N]."""
    outer = percentile_buckets(first_values, weights, nested[0])
    buckets = outer * nested[1]
    order = np.argsort(outer, kind="stable")
    ends = np.searchsorted(outer[order], np.arange(nested[0] + 1))
    for begin, end in pairwise(ends):
        members = order[begin:end]
        if len(members):
            buckets[members] += percentile_buckets(second_values[members], weights[members], nested[1])
    return np.asarray(buckets)
