"""Ranges: the grammar by examples, there and back for any weights, bad input by its sentence."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import evaluation as naive

from errai.cards import ranges
from errai.cards.deck import FULL_DECK, format_cards
from errai.cards.ranges import (
    LEAST_RELATIVE_WEIGHT,
    format_range,
    parse_range,
    relative_weights,
    remove_blocked,
)
from errai.errors import UsageError

HANDS = FULL_DECK.hands(2).tolist()
CELLS = [naive.cell_of(hand) for hand in HANDS]


def weights_of(expected: dict[str, float]) -> np.ndarray:
    """Weights by names of starting hands."""
    return np.array([expected.get(cell, 0.0) for cell in CELLS])


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("88", "88"),
        ("JJ+", "JJ QQ KK AA"),
        ("AA+", "AA"),
        ("88-55", "88 77 66 55"),
        ("55-88", "88 77 66 55"),
        ("77-77", "77"),
        ("AKs", "AKs"),
        ("AKo", "AKo"),
        ("AK", "AKs AKo"),
        ("KA", "AKs AKo"),
        ("AJs+", "AJs AQs AKs"),
        ("JTo+", "JTo"),
        ("T8+", "T8s T8o T9s T9o"),
        ("A5s-A2s", "A5s A4s A3s A2s"),
        ("A2s-A5s", "A5s A4s A3s A2s"),
        ("K9-KT", "K9s K9o KTs KTo"),
        ("JTs-87s", "JTs T9s 98s 87s"),
        ("64o-86o", "64o 75o 86o"),
        (" qq + , a2S , 72O ", "QQ KK AA A2s 72o"),
        ("AKs-AKs", "AKs"),
    ],
)
def test_items(text, cells):
    assert np.array_equal(parse_range(text), weights_of(dict.fromkeys(cells.split(), 1.0)))


def test_single_hands_random_weights_and_overriding():
    assert parse_range("KdQd").sum() == 1
    assert parse_range("KdQd")[FULL_DECK.hand_index((45, 41))] == 1
    assert np.array_equal(parse_range("qdKD"), parse_range("KdQd"))
    assert np.array_equal(parse_range("random"), np.ones(1326))
    assert np.array_equal(parse_range("random:0.25"), np.full(1326, 0.25))
    assert np.array_equal(
        parse_range("AKs : 0.5, QQ:.25,22:1e-3"), weights_of({"AKs": 0.5, "QQ": 0.25, "22": 0.001})
    )
    assert np.array_equal(parse_range("random, 72o:0"), weights_of(dict.fromkeys(set(CELLS) - {"72o"}, 1.0)))
    assert np.array_equal(parse_range("AKs:0.5, AK"), weights_of({"AKs": 1.0, "AKo": 1.0}))


@pytest.mark.parametrize(
    "text",
    [
        "random",
        "random:0",
        "random:0.5",
        "TT+",
        "88-55, 22",
        "QQ+, AQs+, AKo, KQs, T9s",
        "AJ+, A5s-A2s",
        "AsKh, AsKd",
        "AA, AKs:0.5, 7s2h:0.25",
        "32",
    ],
)
def test_compact_text_comes_back_as_it_was(text):
    assert format_range(parse_range(text)) == text


weight = st.one_of(st.sampled_from([0.0, 0.5, 1.0, -0.0, 5e-324]), st.floats(0.0, 1.0))
some_hands = st.one_of(
    st.sampled_from(sorted(set(CELLS))).map(lambda cell: [i for i, c in enumerate(CELLS) if c == cell]),
    st.sampled_from("AKQJT987654").map(lambda rank: [i for i, c in enumerate(CELLS) if c[0] == rank]),
    st.lists(st.integers(0, 1325), max_size=20),
)


@given(weight, st.lists(st.tuples(some_hands, weight), max_size=12))
def test_there_and_back(base, edits):
    weights = np.full(1326, base)
    for hands, value in edits:
        weights[hands] = value
    assert np.array_equal(parse_range(format_range(weights)), weights)


def test_there_and_back_when_all_weights_differ():
    weights = np.random.default_rng(0).random(1326)
    assert np.array_equal(parse_range(format_range(weights)), weights)


def test_remove_blocked():
    weights = parse_range("AA, AKs:0.5")
    for cards in ("As Kd", (51, 45)):
        left = remove_blocked(weights, cards)
        for hand, before, after in zip(HANDS, weights, left, strict=True):
            assert after == (0.0 if {51, 45} & set(hand) else before)
    assert np.array_equal(remove_blocked(weights, ""), weights)
    assert weights.sum() == 8.0


SPAN = "is not a span: both ends must be pairs, or have one high card"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the range is empty: expected '88'"),
        ("  ", "the range is empty: expected '88'"),
        ("AA,,KK", "the range 'AA,,KK' has nothing between two commas or at an end"),
        ("AA,", "the range 'AA,' has nothing between two commas or at an end"),
        ("AhAh", "the card Ah occurs twice in 'AhAh'"),
        ("AKx", "'AKx' is not an item of a range: expected '88'"),
        ("1010", "'1010' is not an item of a range: expected '88'"),
        ("A", "'A' is not an item of a range: expected '88'"),
        ("AhKdQc", "'AhKdQc' is not an item of a range: expected '88'"),
        ("AhKd+", r"'AhKd\+' is not an item of a range: expected '88'"),
        ("99-77-55", "'99-77-55' is not an item of a range: expected '88'"),
        ("+", r"'\+' is not an item of a range: expected '88'"),
        ("88s", "'88s' is not an item of a range: a pair is neither suited nor offsuit"),
        ("A5s-K2s", f"'A5s-K2s' {SPAN}"),
        ("A5s-A2o", f"'A5s-A2o' {SPAN}"),
        ("A5s-A2", f"'A5s-A2' {SPAN}"),
        ("88-A8", f"'88-A8' {SPAN}"),
        ("AK:1.5", "'AK:1.5' has the weight '1.5': a weight must be a number from 0 to 1"),
        ("AK:-1", "'AK:-1' has the weight '-1': a weight must be a number from 0 to 1"),
        ("AK:nan", "'AK:nan' has the weight 'nan': a weight must be a number from 0 to 1"),
        ("AK:", "'AK:' has the weight '': a weight must be a number from 0 to 1"),
        ("AK:0.5:0.5", "'AK:0.5:0.5' has the weight '0.5:0.5': a weight must be a number from 0 to 1"),
    ],
)
def test_parse_range_refuses(text, message):
    with pytest.raises(UsageError, match="^" + message):
        parse_range(text)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            np.ones(1325),
            r"the weights have the shape \(1325,\): expected one number for each of 1326 hands",
        ),
        (
            np.full(1326, 2.0),
            f"the weight of {format_cards((1, 0))} is 2.0: a weight must be a number from 0 to 1",
        ),
        (
            np.full(1326, np.nan),
            f"the weight of {format_cards((1, 0))} is nan: a weight must be a number from 0 to 1",
        ),
        (["a"] * 1326, "the weights are not numbers"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(UsageError, match="^" + message):
        format_range(weights)
    with pytest.raises(UsageError, match="^" + message):
        remove_blocked(weights, "As")


def test_remove_blocked_refuses_what_is_no_card():
    with pytest.raises(UsageError, match=r"^52 is not a card: expected a number from 0 to 51"):
        remove_blocked(np.ones(1326), [52])


def test_examples_in_the_documentation():
    assert doctest.testmod(ranges).failed == 0


@pytest.mark.parametrize(("text", "scaled"), [("AA:1e-300, KK:5e-301", 0.5), ("AA:0.25, KK:0.25", 1.0)])
def test_relative_weights_count_against_the_largest(text: str, scaled: float) -> None:
    weights = relative_weights(parse_range(text), "OOP")
    assert weights.tolist() == weights_of({"AA": 1.0, "KK": scaled}).tolist()


def test_weights_that_would_be_lost_in_rounding_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"of AdAc in the range of IP is 1e-300, where the largest is 0.5: it must be 0, or"
    ):
        relative_weights(parse_range("AA:1e-300, KK:0.5"), "IP")
    least = relative_weights(parse_range("AA:1e-9, KK"), "IP")
    assert least.min(where=least > 0, initial=1) == LEAST_RELATIVE_WEIGHT


@pytest.mark.parametrize("text", ["AA:1", "AA:1.0", "AA : 1"])
def test_a_weight_of_one_is_a_whole_hand(text: str) -> None:
    """The largest weight that there is: no more is read into it than into none."""
    assert (parse_range(text) == parse_range("AA")).all()
    assert parse_range(text).sum() == 6
