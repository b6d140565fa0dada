"""Random numbers by key and counter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import streams as naive

from errai.engine import _streams as streams
from errai.kernels import kernel

U = np.uint64

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
"""Plain Python warns where 64 bits wrap, as they must."""


@kernel()
def _draw_all(seed, iteration, lane, counter, bound):
    key = streams.stream_key(seed, iteration, lane)
    return (
        key,
        streams.draw(key, counter),
        streams.draw_unit(key, counter),
        streams.draw_below(key, counter, bound),
    )


def test_numbers_are_those_of_splitmix64():
    # The first numbers of SplitMix64 seeded with 0 and with 1234567, as other implementations publish them.
    assert naive.draw(0, 0) == 0xE220A8397B1DCDAF
    assert [naive.draw(1234567, n) for n in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@settings(deadline=None)  # the first call compiles
@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**40),
    st.integers(0, 2**20),
    st.integers(0, 2**40),
    st.integers(1, 2**31 - 1),
)
def test_kernels_draw_what_the_twin_draws(seed, iteration, lane, counter, bound):
    key, bits, unit, below = _draw_all(seed, iteration, lane, U(counter), U(bound))
    assert int(key) == naive.stream_key(seed, iteration, lane)
    assert int(bits) == naive.draw(int(key), counter)
    assert float(unit) == naive.draw_unit(int(key), counter)
    assert int(below) == naive.draw_below(int(key), counter, bound)
    assert 0 <= unit < 1
    assert 0 <= below < bound


def test_seed_iteration_and_lane_each_make_another_stream():
    keys = {
        naive.stream_key(seed, iteration, lane)
        for seed in range(10)
        for iteration in range(10)
        for lane in range(10)
    }
    assert len(keys) == 1000


def test_each_of_52_cards_comes_as_often():
    draws = np.array([naive.draw_below(naive.stream_key(3, i, 0), 0, 52) for i in range(52_000)])
    counts = np.bincount(draws, minlength=52)
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 51 + 5 * (2 * 51) ** 0.5
