"""Strengths board by board, and percentiles without a table: the same numbers as look-ups give."""

from pathlib import Path

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive import abstraction_features as naive

import errai
from errai.abstraction.features import _features as kernels
from errai.abstraction.features.build import build_features, estimate_seconds
from errai.abstraction.features.by_boards import hand_numbers
from errai.abstraction.features.features import MANY_DEALS, BoardSweep, FeaturePlan
from errai.abstraction.features.hands import HandClasses
from errai.errors import UsageError
from errai.games.acpc_files import parse_game_file
from errai.games.catalogue import load_card_game
from errai.games.rules import PokerRules

TWO_CARDS = """GAMEDEF
limit
numPlayers = 2
numRounds = 3
blind = 10 5
raiseSize = 10 10 20
firstPlayer = 2 1 1
maxRaises = 1 1 1
numSuits = 3
numRanks = 4
numHoleCards = 2
numBoardCards = 0 2 1
END GAMEDEF
"""
"""Hands of two cards from a deck of twelve, a board of two and of one."""

NAMES = {
    "leduc": ("IR-HS-SHS 2-4", "IR-HS 2-4"),
    "rhode-island": ("IR-PHS-SHS 13-12-15", "IR-PHS-HS 13-12-15"),
}

with_jit = pytest.mark.skipif(WITHOUT_JIT, reason="too many boards for plain Python")


def game_of(name: str) -> PokerRules:
    if name != "two cards":
        return load_card_game(name)
    found = parse_game_file(TWO_CARDS, name)
    assert isinstance(found, PokerRules)
    return found


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["leduc", "two cards", pytest.param("rhode-island", marks=with_jit)])
def test_sums_are_those_of_look_ups(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rules = game_of(name)
    last = rules.num_rounds - 1
    needed = {f"strength-{r}" for r in range(last)} | {f"counts-{last}"}
    plan = FeaturePlan.of(rules, None, needed)
    assert plan.goes_by_boards
    assert f"strength-{last}" not in plan.arrays
    assert estimate_seconds(plan) > 0
    features = build_features(plan)
    found = {feature: np.array(features._array(feature)) for feature in plan.arrays}
    assert estimate_seconds(plan) == 0
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "other"))
    looked_up = FeaturePlan.of(rules, None, needed | {f"histograms-{r}" for r in range(last)})
    assert not looked_up.goes_by_boards
    other = build_features(looked_up)
    for feature, numbers in found.items():
        assert numbers.any()
        assert np.array_equal(numbers, other._array(feature)), feature


def test_the_strength_of_a_deal_is_the_twins() -> None:
    rules = game_of("two cards")
    classes = HandClasses(rules)
    sweep = BoardSweep(classes, None, 0)
    numbers = hand_numbers(sweep.hands)
    cards = classes.unindex(np.arange(0, classes.size(2), 7), 2)[:60]
    found = sweep.of_deals(np.ascontiguousarray(cards[:, :5]), numbers)
    for row, h2 in zip(cards.tolist(), found.tolist(), strict=True):
        assert h2 == naive.half_hands_beaten(rules, row[:2], row[2:])


def test_many_deals_are_looked_up_where_the_cache_has_strengths(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = game_of("two cards")
    last = rules.num_rounds - 1
    classes = HandClasses(rules)
    cards = np.ascontiguousarray(classes.unindex(np.arange(MANY_DEALS) % classes.size(last), last))
    numbers = hand_numbers(classes.hands)
    compared = BoardSweep(classes, None, 0).of_deals(cards, numbers)
    build_features(FeaturePlan.of(rules, None, {f"strength-{last}"}))
    sweep = BoardSweep(classes, None, 0)

    def refuse(*arguments: object) -> None:
        raise AssertionError("hands were compared")

    with monkeypatch.context() as patched:
        patched.setattr(kernels, "strengths_of_deals", refuse)
        assert np.array_equal(sweep.of_deals(cards, numbers), compared)
    assert np.array_equal(sweep.of_deals(cards[:-1], numbers), compared[:-1])  # too few to open a file


@pytest.mark.parametrize("name", ["leduc", pytest.param("rhode-island", marks=with_jit)])
def test_buckets_without_a_table_are_those_of_the_table(own_cache: Path, tmp_path: Path, name: str) -> None:
    rules = game_of(name)
    swept, tabled = (errai.abstract(rules, text) for text in NAMES[name])
    last = rules.num_rounds - 1
    classes = HandClasses(rules)
    for r in range(rules.num_rounds):
        cards = classes.unindex(np.arange(0, classes.size(r), max(1, classes.size(r) // 97)), r)
        assert np.array_equal(swept.buckets(cards, r), tabled.buckets(cards, r))
    board = classes.boards(last).cards(0)[-1]
    assert np.array_equal(swept.buckets_on_board(board), tabled.buckets_on_board(board))
    swept.save(tmp_path / "saved")
    loaded = errai.load_abstraction(tmp_path / "saved")
    assert np.array_equal(loaded.buckets(cards, last), swept.buckets(cards, last))
    assert not [*(tmp_path / "saved").glob(f"0-{last}-table.array")]


def test_only_a_last_round_without_recall_can_do_without_a_table() -> None:
    for text in ("IR-SHS-HS 2-4", "PR-HS-SHS 2-4"):
        with pytest.raises(
            UsageError, match="SHS puts hands of the last round into percentiles, without recall"
        ):
            errai.abstract("leduc", text)
