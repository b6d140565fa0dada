"""Tables in 8 and 16 bits: the kernel against its twin, what rounding promises, and chunks without gaps."""

from itertools import pairwise

import hypothesis.strategies as some
import numpy as np
import pytest
from hypothesis import example, given, settings
from naive.quantise import naive_quantised

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.strategy.quantised import Decisions, Quantiser, scale_of, table_chunks, verify_bits

# Whole numbers, so that no sum of them is rounded and no tie is decided by rounding.
WEIGHTS = some.lists(some.one_of(some.integers(-3, 3), some.integers(0, 10**6)), min_size=2, max_size=9)


def one_row(weights: list[float], bits: int) -> tuple[list[int], float]:
    quantiser = Quantiser(bits)
    decisions = Decisions(np.array([0]), np.array([1]), np.array([len(weights)]))
    return quantiser(np.array(weights, dtype=np.float64), decisions).tolist(), quantiser.largest_error


@settings(deadline=None)
@given(weights=WEIGHTS, bits=some.sampled_from([8, 16]))
@example(weights=[1000, 2, 2, 2, 2], bits=8)  # four actions of just over half a step
@example(weights=[10**6, 1, 0, -1], bits=8)
@example(weights=[27, 3], bits=8)  # 229.5 and 25.5 steps
def test_the_kernel_and_its_twin(weights: list[float], bits: int) -> None:
    found, error = one_row(weights, bits)
    expected, exact = naive_quantised(weights, scale_of(bits))
    assert error == pytest.approx(float(exact), abs=1e-9)
    assert sum(found) == (scale_of(bits) if max(weights) > 0 else 0)
    total = sum(max(weight, 0) for weight in weights)
    # Of two remainders that are the same, the last bit of a float may choose either: what was rounded up and
    # what was rounded down is the same by how much, not by which.
    parts = [scale_of(bits) * max(weight, 0) / (total or 1) for weight in weights]
    rounded, as_expected = (
        sorted(number - part for part, number in zip(parts, numbers, strict=True))
        for numbers in (found, expected)
    )
    assert rounded == pytest.approx(as_expected, abs=1e-9)
    for weight, number in zip(weights, found, strict=True):
        assert number == 0 or weight > 0, "zero stays zero"
        if total and weight / total * scale_of(bits) > 0.5 + 1e-9:
            assert number > 0, "more than half a step is never lost"


@pytest.mark.parametrize(
    ("weights", "numbers"),
    [
        ([1, 1], [128, 127]),
        ([1, 1, 1], [85, 85, 85]),
        ([0, 0, 0], [0, 0, 0]),
        ([-1, -2], [0, 0]),
        ([5, 0, -1], [255, 0, 0]),
        ([1e308, 1e308, 1e308], [85, 85, 85]),
        ([5e-324, 0], [255, 0]),
        ([252.96, 0.51, 0.51, 0.51, 0.51], [251, 1, 1, 1, 1]),
        ([254.55, 0.45], [255, 0]),
    ],
)
def test_rows_by_hand(weights: list[float], numbers: list[int]) -> None:
    assert one_row(weights, 8)[0] == numbers


def test_the_error_of_rare_actions_is_told() -> None:
    """Four actions of 0.51 steps get 1 each, and the fifth pays with 1.96."""
    assert one_row([252.96, 0.51, 0.51, 0.51, 0.51], 8)[1] == pytest.approx(1.96 / 255)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(UsageError, match=r"the table has (nan|inf) in slot 1: expected numbers"):
        one_row([1.0, bad], 8)


@pytest.mark.parametrize("bits", [0, 7, 32, True, "8", 16.0])
def test_other_bits_are_refused(bits: object) -> None:
    with pytest.raises(UsageError, match="bits must be 8 or 16, not "):
        verify_bits(bits)


def leduc_lossless() -> PublicTree:
    return PublicTree.of("leduc")


def leduc_buckets() -> PublicTree:
    from errai.abstraction.named_groups import leduc_abstraction

    return PublicTree.of("leduc").abstracted_by(leduc_abstraction("[JQ.K]"))


@pytest.mark.parametrize("make", [leduc_lossless, leduc_buckets])
@pytest.mark.parametrize("most_slots", [1, 7, 100, 10**6])
def test_chunks_are_the_table(make: object, most_slots: int) -> None:
    """Every decision at every board, as the layout itself finds them, in whatever chunks."""
    tree = make()  # type: ignore[operator]
    rng = np.random.default_rng(3)
    for player in (0, 1):
        table = rng.random(tree.layout.num_slots[player])
        chunks = list(table_chunks(tree.walk, tree.layout, tree.cells.links.round_board, player, most_slots))
        assert chunks[0].begin == 0
        assert chunks[-1].end == len(table)
        assert all(one.end == next_one.begin for one, next_one in pairwise(chunks))
        if most_slots == 10**6:
            assert len(chunks) == 1
        quantiser = Quantiser(16)
        found = np.concatenate([quantiser(table[one.begin : one.end], one) for one in chunks])
        for node in np.flatnonzero(tree.betting.player == player).tolist():
            if tree.walk.slot[node] < 0:
                continue
            r, num_actions = int(tree.betting.round[node]), int(tree.walk.num_children[node])
            for board in range(*tree.cells.links.round_board[r : r + 2].tolist()):
                where = (player, board, r, int(tree.walk.slot[node]), num_actions)
                given, rounded = tree.layout.decision(table, *where), tree.layout.decision(found, *where)
                for row in range(given.shape[1]):
                    expected = naive_quantised(given[:, row].tolist(), 65535)[0]
                    assert rounded[:, row].tolist() == expected
