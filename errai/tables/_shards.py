"""Kernels of `shards.py`: numbers as they are worked with and as they are held.

Products and sums are taken in float64 and rounded once, in the written order (no fast mathematics), so that
the same number is held on every machine.
"""

import numpy as np

from errai.kernels import kernel

LARGEST = 2**31 - 1
"""The ends of fixed point are this and its negative, so that a number and its negative are both held."""

NOWHERE = -1


@kernel(fastmath=False)
def find_nan(
    values,  # IN   float[S]
):
    """Return where the first NaN is, or `NOWHERE`."""
    for i in range(len(values)):
        if values[i] != values[i]:
            return i
    return NOWHERE


@kernel(fastmath=False)
def encode_fixed(
    values,  # IN   float[S]  no NaN among them
    scale,  # IN   float64
    held,  # OUT  int32[S]
):
    """Hold numbers in fixed point: rounded half to even; what is beyond an end becomes the end."""
    for i in range(len(values)):
        step = np.rint(np.float64(values[i]) * scale)
        held[i] = np.int32(min(max(step, np.float64(-LARGEST)), np.float64(LARGEST)))


@kernel(fastmath=False)
def decode_fixed(
    held,  # IN   int32[S]
    scale,  # IN   float64
    values,  # OUT  float[S]
):
    """Give the numbers back that fixed point stands for."""
    for i in range(len(held)):
        values[i] = np.float64(held[i]) / scale


@kernel(fastmath=False)
def add_fixed(
    gains,  # IN   float[S]  no NaN among them
    scale,  # IN   float64
    held,  # INOUT int32[S]
):
    """Add gains, rounded half to even, to numbers in fixed point; a sum beyond an end becomes the end."""
    for i in range(len(gains)):
        # A float64 holds all sums inside the ends exactly; an integer would wrap around silently.
        step = np.float64(held[i]) + np.rint(np.float64(gains[i]) * scale)
        held[i] = np.int32(min(max(step, np.float64(-LARGEST)), np.float64(LARGEST)))


@kernel(fastmath=False)
def encode_float(
    values,  # IN   float[S]  no NaN among them
    limit,  # IN   float64  the largest number of the held kind
    held,  # OUT  float[S]
):
    """Hold numbers as floats of another size, rounded; what is beyond an end becomes the end."""
    for i in range(len(values)):
        held[i] = min(max(np.float64(values[i]), -limit), limit)


@kernel(fastmath=False)
def add_float(
    gains,  # IN   float[S]  no NaN among them
    limit,  # IN   float64  the largest number of the held kind
    held,  # INOUT float[S]
):
    """Add gains to numbers held as floats; a sum beyond an end becomes the end."""
    for i in range(len(gains)):
        held[i] = min(max(np.float64(held[i]) + np.float64(gains[i]), -limit), limit)
