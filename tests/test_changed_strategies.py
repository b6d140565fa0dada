"""Strategies that are built and changed by hand."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.strategy.strategy import Strategy, uniform_strategy

KUHN_VALUE = -Fraction(1, 18)
"""Of the first position (Kuhn 1950)."""


def kuhn_equilibrium(alpha: float) -> dict[tuple[str, ...], Mapping[str, float]]:
    """Return Kuhn's family of equilibria, alpha from 0 to 1/3 (Kuhn 1950)."""
    return {
        ("", "J"): {"c": 1 - alpha, "r": alpha},
        ("", "Q"): {"c": 1},
        ("", "K"): {"c": 1 - 3 * alpha, "r": 3 * alpha},
        ("cr", "J"): {"f": 1},
        ("cr", "Q"): {"f": 2 / 3 - alpha, "c": 1 / 3 + alpha},
        ("cr", "K"): {"c": 1},
        ("c", "J"): {"c": 2 / 3, "r": 1 / 3},
        ("c", "Q"): {"c": 1},
        ("c", "K"): {"r": 1},
        ("r", "J"): {"f": 1},
        ("r", "Q"): {"f": 2 / 3, "c": 1 / 3},
        ("r", "K"): {"c": 1},
    }


@pytest.mark.parametrize("alpha", [0, 1 / 6, 1 / 3])
def test_kuhns_equilibria_by_hand(alpha: float) -> None:
    strategy = uniform_strategy("kuhn").changed(kuhn_equilibrium(alpha))
    assert errai.exploitability(strategy).chips == pytest.approx(0, abs=1e-12)
    value = errai.expected_value(strategy, strategy).positions[0]
    assert value == pytest.approx(float(KUHN_VALUE), abs=1e-12)


@pytest.mark.parametrize(
    ("called", "won"),
    [
        # The equilibrium's 1/2. Each time the second has the king and the first the queen, 1 in 6, the second
        # wins 1 + called; with the jack instead, a bluff gains 3/2 - 3 called over a check.
        (1 / 6, 1 / 6 * (3 / 2 - 3 / 6) - 1 / 6 * (1 / 2 - 1 / 6)),
        (1 / 2, 0),
        (5 / 6, 1 / 6 * (5 / 6 - 1 / 2)),
    ],
)
def test_outside_the_family_there_is_something_to_win(called: float, won: float) -> None:
    changes = kuhn_equilibrium(1 / 6) | {("cr", "Q"): {"f": 1 - called, "c": called}}
    strategy = uniform_strategy("kuhn").changed(changes)
    assert errai.exploitability(strategy).chips == pytest.approx(won / 2, abs=1e-12)


def filled(tree: PublicTree, seed: int) -> Strategy:
    rng = np.random.default_rng(seed)
    first, second = (rng.random(size) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


def test_nothing_else_changes() -> None:
    before = filled(PublicTree.of("leduc"), 1)
    kept = [table.copy() for table in before.tables]
    changes = {("crc/", "Js", "Qh"): [0.25, 0.75], ("cr", "K"): {"c": 1}, ("c", "Q"): [1, 0]}
    after = before.changed(changes)  # type: ignore[arg-type]
    assert all((table == copy).all() for table, copy in zip(before.tables, kept, strict=True))
    old, new = list(before.information_sets()), list(after.information_sets())
    differing = [
        (one.betting, one.hand[0], one.board[:1], one.probabilities)
        for one, other in zip(new, old, strict=True)
        if one != other
    ]
    assert differing == [
        ("c", "Q", "", (1.0, 0.0)),  # of position 1, the others of position 0
        ("cr", "K", "", (0.0, 1.0, 0.0)),
        ("crc/", "J", "Q", (0.25, 0.75)),
    ]
    assert after.probabilities("crc/", "Jh", "Qs") == {"c": 0.25, "r": 0.75}


def test_all_hands_of_a_bucket_change_together() -> None:
    tree = PublicTree.of("leduc").abstracted_by(leduc_abstraction("[JQ.K]"))
    before = filled(tree, 2)
    after = before.changed({("cc/", "J", "K"): [0, 1]})
    assert after.probabilities("cc/", "Q", "K") == {"c": 0.0, "r": 1.0}
    assert after.probabilities("cc/", "K", "K") == before.probabilities("cc/", "K", "K")
    kings = before.changed({("cc/", "K", "Q"): [0, 1]})
    assert kings.probabilities("cc/", "K", "J") == {"c": 0.0, "r": 1.0}
    assert kings.probabilities("cc/", "J", "Q") == before.probabilities("cc/", "J", "Q")
    alone = before.unabstracted().changed({("cc/", "J", "K"): [0, 1]})
    assert alone.probabilities("cc/", "Q", "K") == before.probabilities("cc/", "Q", "K")
    with pytest.raises(UsageError, match="are one information set"):
        before.changed({("cc/", "J", "K"): [0, 1], ("cc/", "Q", "K"): [1, 0]})
    with pytest.raises(UsageError, match="are one information set"):
        before.changed({("cc/", "K", "J"): [0, 1], ("cc/", "K", "Q"): [1, 0]})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({("cr", "K"): [0.5, 0.5]}, r"\[0.5, 0.5\] after 'cr' are not probabilities of f, c, r"),
        ({("cr", "K"): [0.5, 0.5, 0.5]}, r"expected 3 numbers from 0 to 1 whose sum is 1"),
        ({("cr", "K"): [-0.5, 1, 0.5]}, r"\[-0.5, 1, 0.5\] after 'cr'"),
        ({("cr", "K"): [float("nan"), 1, 0]}, r"\[nan, 1, 0\] after 'cr'"),
        ({("cr", "K"): "abc"}, "abc after 'cr'"),
        ({("cr", "K"): None}, "None after 'cr'"),
        ({("cr", "K"): {"x": 1}}, "'x' is not an action after 'cr': expected f, c, r"),
        ({("cr",): [1, 0, 0]}, r"\('cr',\) is not an information set: expected \(betting, hand\)"),
        ([("cr", "K")], r"expected a dictionary of changes, not \[\('cr', 'K'\)\]"),
        ({"cr": [1, 0, 0]}, "'cr' is not an information set"),
        ({("cr", 5): [1, 0, 0]}, r"\('cr', 5\) is not an information set"),
        ({("cx", "K"): [1, 0, 0]}, "'cx' is illegal at position 1"),
        ({("crf", "K"): [1, 0, 0]}, "the hand is over after 'crf'"),
        ({("cr", "A"): [1, 0, 0]}, "A"),
        ({("cr", "K", "Q"): [1, 0, 0]}, "Q"),
        ({("cr", "Kh"): [1, 0, 0], ("cr", "Ks"): [0, 1, 0]}, "are one information set"),
    ],
)
def test_what_is_impossible_is_refused(changes: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told) as refused:
        uniform_strategy("leduc").changed(changes)
    assert "\n" not in str(refused.value)


def test_a_function_may_name_no_other_action() -> None:
    with pytest.raises(UsageError, match="'raise' is not an action after '': expected c, r"):
        errai.strategy_from_function("kuhn", lambda *_: {"raise": 1.0})
