"""Post-processing: the papers' definitions and example, a naive twin, treatments as text, treated tables."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.postprocessing import naive_treated

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.runs.measure import find_measurable
from errai.strategy import treated as treating
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.postprocessing import CALL, FOLD, RAISE, Treatment, fold_call_bet, purify, threshold
from errai.strategy.strategy import Strategy
from errai.strategy.treated import treated
from errai.tree.bet_menu import BetMenu

TARTANIAN7 = [0.1, 0.25, 0.15, 0.15, 0.2, 0.15, 0, 0, 0]
"""Tartanian7, section 4: fold, call, bets of 0.5, 0.75, 1, 1.5, 2 and 5 pots, all-in."""

POT = 4
KINDS = [FOLD, CALL] + [RAISE] * 7


def played(text: str, row: list[float], kinds: list[int], is_first: bool = False) -> list[float]:
    found: list[float] = Treatment.parse(text).apply(np.array([row]), kinds, is_first)[0].tolist()
    return found


def only(action: int, number: int) -> list[float]:
    return [float(i == action) for i in range(number)]


# The papers


def test_tartanian7s_example() -> None:
    assert played("purify", TARTANIAN7, KINDS) == only(1, 9)
    assert played("new=0.2", TARTANIAN7, KINDS) == only(POT, 9)
    assert played("threshold=0.15", TARTANIAN7, KINDS) == pytest.approx(
        [0, 0.25 / 0.9, 0.15 / 0.9, 0.15 / 0.9, 0.2 / 0.9, 0.15 / 0.9, 0, 0, 0]
    )


@pytest.mark.parametrize(
    ("row", "text", "expected"),
    [
        # Folding must exceed the threshold.
        ([0.2, 0.3, 0.5], "new=0.2", [0, 0, 1]),
        ([0.21, 0.29, 0.5], "new=0.2", [1, 0, 0]),
        ([0.45, 0.1, 0.45], "new=0.5", [0.5, 0, 0.5]),  # ties are shared
        ([0.1, 0.6, 0.3], "new=0", [1, 0, 0]),
        ([0, 0.6, 0.4], "new=0", [0, 1, 0]),
        ([0.4, 0.35, 0.25], "new=1", [1, 0, 0]),
        ([0.1, 0.6, 0.3], "new=0.2,among=0.3", [0, 2 / 3, 1 / 3]),
        # A probability that equals the threshold stays; where all are below it, the likeliest is played.
        ([0.15, 0.15, 0.7], "threshold=0.15", [0.15, 0.15, 0.7]),
        ([0.1, 0.2, 0.7], "threshold=0.15", [0, 2 / 9, 7 / 9]),
        ([0.3, 0.3, 0.4], "threshold=0.5", [0, 0, 1]),
        ([0.4, 0.4, 0.2], "threshold=0.5", [0.5, 0.5, 0]),
        ([0.4, 0.4, 0.2], "purify", [0.5, 0.5, 0]),
        ([0.3, 0.3, 0.4], "none", [0.3, 0.3, 0.4]),
    ],
)
def test_rules_as_defined(row: list[float], text: str, expected: list[float]) -> None:
    assert played(text, row, [FOLD, CALL, RAISE]) == pytest.approx(expected)


def test_bets_tie_with_a_call_however_they_are_added_up() -> None:
    # 0.1 + 0.2 is not 0.3 in floating point.
    assert played("new=0.2", [0.3, 0.1, 0.2], [CALL, RAISE, RAISE]) == pytest.approx([0.5, 0, 0.5])


def test_thresholds_inside_the_bets() -> None:
    row = [0.1, 0.2, 0.3, 0.3, 0.1]
    kinds = [FOLD, CALL, RAISE, RAISE, RAISE]
    assert played("new=0.2", row, kinds) == pytest.approx([0, 0, 0.5, 0.5, 0])
    assert played("new=0.2,within=0.1", row, kinds) == pytest.approx([0, 0, 3 / 7, 3 / 7, 1 / 7])
    both = played("new=0.2,among=0.2,within=0.1", row, kinds)
    assert both == pytest.approx([0, 2 / 9, 3 / 9, 3 / 9, 1 / 9])


def test_the_first_action_may_be_spared() -> None:
    for text in ("purify", "threshold=0.5", "new=0.2"):
        spared = f"{text},spare-first"
        row = [0.3, 0.3, 0.4]
        assert played(spared, row, [FOLD, CALL, RAISE], is_first=True) == row
        assert played(spared, row, [FOLD, CALL, RAISE]) == played(text, row, [FOLD, CALL, RAISE])
        assert played(text, row, [FOLD, CALL, RAISE], is_first=True) != row


# Against the twin


TREATMENTS = ["purify", "threshold=0.15", "threshold=0", "threshold=1", "new=0.2", "new=0.4,among=0.25"]
TREATMENTS += ["new=0.1,within=0.3", "new=0.2,among=0.1,within=0.2,spare-first", "purify,spare-first", "none"]


@settings(deadline=None)
@given(
    data=st.data(),
    folds=st.booleans(),
    bets=st.integers(0, 5),
    text=st.sampled_from(TREATMENTS),
    is_first=st.booleans(),
)
def test_rows_are_treated_as_naive(
    data: st.DataObject, folds: bool, bets: int, text: str, is_first: bool
) -> None:
    kinds = [*([FOLD] if folds else []), CALL, *([RAISE] * bets)]
    rows = data.draw(
        st.lists(
            st.lists(st.integers(0, 6), min_size=len(kinds), max_size=len(kinds)).filter(any),
            min_size=1,
            max_size=5,
        )
    )
    treatment = Treatment.parse(text)
    exact = [[Fraction(weight, sum(row)) for weight in row] for row in rows]
    chances = np.array([[float(chance) for chance in row] for row in exact])
    before = chances.copy()
    found = treatment.apply(chances, kinds, is_first)
    assert np.array_equal(chances, before)
    expected = [naive_treated(row, kinds, treatment, is_first) for row in exact]
    assert found == pytest.approx(np.array(expected, dtype=float), abs=1e-9)
    assert (found[before == 0] == 0).all()


def test_one_bet_without_weight_is_not_played() -> None:
    chances = np.array([[0.0, 1.0, 0.0, 0.0]])
    assert fold_call_bet(chances, [FOLD, CALL, RAISE, RAISE], 0.2).tolist() == chances.tolist()
    assert purify(chances).tolist() == threshold(chances, 0.5).tolist() == chances.tolist()


# As text


@pytest.mark.parametrize("text", TREATMENTS)
def test_text_comes_back(text: str) -> None:
    assert str(Treatment.parse(text)) == text
    assert Treatment.parse(str(Treatment.parse(text))) == Treatment.parse(text)


def test_text_may_be_written_otherwise() -> None:
    assert str(Treatment.parse(" new = .20 , spare-first, within=0.5,among=1 ")) == (
        "new=0.2,among=1,within=0.5,spare-first"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not a treatment of strategies: expected 'purify', 'threshold=T' or 'new=T'"),
        ("pure", "'pure' is not a treatment"),
        ("purify=0.1", "'purify=0.1' is not a treatment"),
        ("threshold", "'threshold' is not a treatment"),
        ("threshold=", "'' in the treatment 'threshold=' is not a threshold: expected a number from 0 to 1"),
        ("threshold=1.5", "'1.5' in the treatment 'threshold=1.5' is not a threshold"),
        ("new=-0.1", "'-0.1' in the treatment"),
        ("new=nan", "'nan' in the treatment"),
        ("new=1e-3", "'1e-3' in the treatment"),
        ("purify,among=0.2", "'among=0.2' in the treatment 'purify,among=0.2' was not understood"),
        ("purify,spare-first,spare-first", "'spare-first' in the treatment"),
        ("new=0.2,among=0.1,among=0.2", "expected 'spare-first', 'among=T' or 'within=T', each once"),
        ("none,spare-first", "expected nothing after 'none'"),
        ("new=0.2,", "'' in the treatment 'new=0.2,'"),
    ],
)
def test_text_that_is_no_treatment_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        Treatment.parse(text)
    assert said in str(refused.value)


# Whole strategies


def random_tables(sizes: tuple[int, int], seed: int = 0) -> tuple[npt.NDArray[np.float64], ...]:
    """Small whole numbers, some of them negative: ties, rows without weight."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(-2, 4, size=size).astype(np.float64) for size in sizes)


def lossless_leduc() -> Strategy:
    tree = PublicTree.of("leduc")
    first, second = random_tables(tree.layout.num_slots)
    return Strategy(tree, (first, second))


def bucketed_leduc() -> Strategy:
    tree = PublicTree.of("leduc").abstracted_by((leduc_abstraction("[J.QK]"), leduc_abstraction("[JQ.K]")))
    first, second = random_tables(tree.layout.num_slots)
    return Strategy(tree, (first, second))


def nolimit_leduc() -> Strategy:
    rules = replace(errai.load_game("leduc"), name="no-limit", raise_sizes=None, stacks=(9, 9))
    tree = PublicTree.of(rules, BetMenu.parse("0.5p,1p,all-in", max_raises=2))
    first, second = random_tables(tree.layout.num_slots)
    return Strategy(tree, (first, second))


def saved_leduc(folder: Path, name: str) -> BucketStrategy:
    errai.abstract("leduc", name, out=folder, clusters=3)
    uniform = BucketStrategy.uniform(PublicTree.of("leduc"), folder, np.float64)
    first, second = random_tables(uniform.layout.num_slots)
    return BucketStrategy(uniform.tree, uniform.saved, (first, second))


def assert_treated(strategy: Strategy | BucketStrategy, text: str) -> None:
    """Compare every information set of a treated strategy with the treated information set."""
    treatment = Treatment.parse(text)
    changed = treated(strategy, treatment)
    assert type(changed) is type(strategy)
    before: list[Any] = list(strategy.information_sets())
    after: list[Any] = list(changed.information_sets())
    for old, new in zip(before, after, strict=True):
        assert old[:-1] == new[:-1]
        kinds = [{"f": FOLD, "c": CALL}.get(action, RAISE) for action in old.actions]
        # The first two actions of a hand are the first of either player.
        is_first = sum(letter in "fcr" for letter in old.betting) < 2
        expected = treatment.apply(np.array([old.probabilities]), kinds, is_first)[0]
        assert new.probabilities == pytest.approx(expected, abs=1e-12)


TEXTS = ["purify", "threshold=0.3", "new=0.2", "purify,spare-first"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("make", [lossless_leduc, bucketed_leduc, nolimit_leduc])
def test_every_information_set_is_treated(
    text: str, make: Callable[[], Strategy], monkeypatch: pytest.MonkeyPatch
) -> None:
    for slots in (1, 40, 1 << 20):
        monkeypatch.setattr(treating, "SLOTS_AT_ONCE", slots)
        strategy = make()
        kept = strategy.tables[0].copy()
        assert_treated(strategy, text)
        assert np.array_equal(strategy.tables[0], kept)


@pytest.mark.usefixtures("cache")
def test_every_bucket_is_treated(tmp_path: Path) -> None:
    strategy = saved_leduc(tmp_path, "IR-HS-HS 2-4")
    for text in TEXTS:
        assert_treated(strategy, text)


def test_tables_of_whole_numbers_become_probabilities() -> None:
    strategy = lossless_leduc()
    first, second = (np.maximum(table, 0).astype(np.uint8) for table in strategy.tables)
    whole = Strategy(strategy.tree, (first, second))
    changed = treated(whole, Treatment.parse("threshold=0.3"))
    expected = treated(strategy, Treatment.parse("threshold=0.3"))
    assert changed.tables[1] == pytest.approx(expected.tables[1], abs=1e-6)
    assert treated(whole, Treatment.parse("purify")).tables[0].dtype == np.float32


def test_a_strategy_without_treatment_is_itself() -> None:
    strategy = lossless_leduc()
    assert treated(strategy, Treatment.parse("none")) is strategy


def test_memory_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.memory.available_memory", lambda: 1000)
    with pytest.raises(UsageError, match="a strategy of 'leduc' after 'purify'"):
        treated(lossless_leduc(), Treatment.parse("purify"))


def test_a_saved_strategy_is_measured_after_a_treatment(tmp_path: Path) -> None:
    strategy, path = lossless_leduc(), str(tmp_path / "x:y")
    strategy.save(path)
    for text in ("purify", "new=0.2,spare-first"):
        expected = errai.exploitability(treated(strategy, Treatment.parse(text))).chips
        assert find_measurable(f"{path}:{text}").exploitability().chips == pytest.approx(expected)
        kept = find_measurable(f"{path}:{text}", keep=tmp_path / text)  # sub-game by sub-game
        assert kept.exploitability().chips == pytest.approx(expected)
    assert find_measurable(path).exploitability().chips != pytest.approx(expected)
    for text, said in (
        ("pure", "'pure' is not a treatment of strategies"),
        ("purify:purify", "has 2 treatments: expected at most one"),
    ):
        with pytest.raises(UsageError, match=said):
            find_measurable(f"{path}:{text}")
    with pytest.raises(UsageError, match="nowhere' is neither"):
        find_measurable("nowhere:purify")
