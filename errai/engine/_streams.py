"""Random numbers by key and counter: what is drawn depends on (seed, iteration, lane) and on nothing else.

A key is made once for each thing that draws; the n-th number of a key can be asked for at any time, on any
thread. The mixing function is that of SplitMix64 (Steele, Lea and Flood 2014).
"""

import numpy as np

from errai.kernels import kernel

U = np.uint64

GOLDEN = U(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)
TO_UNIT = 1.0 / (1 << 53)


@kernel(inline=True)
def mix(x):
    """Return a permutation of the 64-bit numbers in which every bit depends on all bits: uint64 to uint64."""
    x = (x ^ (x >> U(30))) * FIRST_FACTOR
    x = (x ^ (x >> U(27))) * SECOND_FACTOR
    return x ^ (x >> U(31))


@kernel()
def stream_key(
    seed,  # IN   int64  0 or more
    iteration,  # IN   int64
    lane,  # IN   int64  tells the streams of one iteration apart
):
    """Return the key of a stream: uint64."""
    key = mix(U(seed) + GOLDEN)
    key = mix(key ^ (U(iteration) + GOLDEN))
    return mix(key ^ (U(lane) * GOLDEN + GOLDEN))


@kernel(inline=True)
def draw(
    key,  # IN   uint64
    counter,  # IN   uint64  which number of the stream
):
    """Return 64 random bits."""
    return mix(key + (counter + U(1)) * GOLDEN)


@kernel(inline=True)
def draw_unit(
    key,  # IN   uint64
    counter,  # IN   uint64
):
    """Return a random float64 from 0 up to, but not, 1: a multiple of 2^-53."""
    return np.float64(draw(key, counter) >> U(11)) * TO_UNIT


@kernel(inline=True)
def draw_below(
    key,  # IN   uint64
    counter,  # IN   uint64
    bound,  # IN   uint64  below 2^31
):
    """Return a random uint64 from 0 up to, but not, `bound`; no number is likelier by more than 2^-32."""
    return ((draw(key, counter) >> U(32)) * bound) >> U(32)
