"""Kernels of update rules: what one iteration has gained turns tables into new tables, slot by slot."""

import numpy as np

from errai.engine._blocks import AVERAGE_FACTOR, FLOOR, NEGATIVE_FACTOR, POSITIVE_FACTOR
from errai.kernels import kernel

U = np.uint64


@kernel()
def apply_factors(
    step,  # IN   float64[5]  positive factor, negative factor, floor, average factor, average weight
    gain,  # IN   float[slots]  regrets of one iteration
    played,  # IN   float[slots]  strategies of one iteration, the average weight counted in
    regret,  # INOUT float[slots]
    average,  # INOUT float[slots]
):
    """Do what the walk does where it may write to the tables themselves."""
    number = regret.dtype.type
    zero = number(0)
    positive, negative = number(step[POSITIVE_FACTOR]), number(step[NEGATIVE_FACTOR])
    floor = zero if step[FLOOR] > 0 else number(-np.inf)
    keep = number(step[AVERAGE_FACTOR])
    for k in range(U(len(regret))):
        old = regret[k]
        new = old * (positive if old > zero else negative) + gain[k]
        regret[k] = floor if new < floor else new  # unlike max, it keeps what is no number
        average[k] = average[k] * keep + played[k]


@kernel()
def apply_predictive(
    gain,  # IN   float[slots]  regrets of one iteration
    played,  # IN   float[slots]  strategies of one iteration, the average weight counted in
    regret,  # INOUT float[slots]  not negative
    average,  # INOUT float[slots]
    prediction,  # OUT  float[slots]  the regrets if the next iteration gains what this one did
):
    """Add the gains, floor the regrets at zero, predict the next ones."""
    zero = regret.dtype.type(0)
    for k in range(U(len(regret))):
        new = regret[k] + gain[k]
        new = zero if new < zero else new  # unlike max, it keeps what is no number
        regret[k] = new
        prediction[k] = new + gain[k]
        average[k] += played[k]
