"""Best responses inside abstract games by pairs of buckets, beside the walk of all hands."""

from pathlib import Path

import numpy as np
import pytest
from naive.bucket_pairs import bucket_pairs

import errai
from errai.abstraction import round_buckets
from errai.abstraction.features.features import BoardSweep
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.round_buckets import RefinedStrength, RoundBuckets
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.response import _bucket_pairs, bucket_response
from errai.response import bucket_pairs as pairs_module
from errai.response.bucket_pairs import BucketPairs, count_pairs
from errai.response.bucket_response import BucketResponse
from errai.response.results import SampledAbstractExploitability
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy

LEDUC = errai.load_game("leduc")
RHODE_ISLAND = errai.load_game("rhode-island")
TWO_SIDED = "PR-HS 2-2 / PR-HS 3-2"


def random_strategy(game: PokerRules, name: str, folder: Path, seed: int = 1) -> BucketStrategy:
    errai.abstract(game, name, out=folder)
    empty = BucketStrategy.uniform(PublicTree.of(game), folder, np.float64)
    rng = np.random.default_rng(seed)
    first, second = (rng.normal(size=size) for size in empty.layout.num_slots)
    return BucketStrategy(empty.tree, empty.saved, (first, second))


def of_all_hands(strategy: BucketStrategy) -> Strategy:
    """Return the same strategy with all hands in memory."""
    abstraction = strategy.saved.abstraction
    return Strategy(strategy.tree.abstracted_by((abstraction, abstraction)), strategy.tables)


def counted(
    strategy: BucketStrategy, boards: int | None = None, parts: int = 10, seed: int = 0
) -> BucketPairs:
    pair = (strategy.saved.abstraction, strategy.saved.abstraction)
    return count_pairs(strategy.game, strategy.layout, pair, boards, seed, parts)


@pytest.mark.parametrize("name", ["PR-HS 2-2", TWO_SIDED])
def test_pairs_are_those_of_all_deals(name: str, tmp_path: Path) -> None:
    strategy = random_strategy(LEDUC, name, tmp_path / "a")
    found = counted(strategy)
    together, ahead = bucket_pairs(LEDUC, strategy.saved.abstraction)
    assert found.num_parts == 1
    np.testing.assert_allclose(found.together[0], together, atol=1e-12)
    np.testing.assert_allclose(found.ahead[0], ahead, atol=1e-12)


@pytest.mark.parametrize(
    ("game", "name"),
    [
        (LEDUC, "PR-HS 2-2"),
        (LEDUC, TWO_SIDED),
        (RHODE_ISLAND, "PR-PHS 4x1-3x1-3"),
        (RHODE_ISLAND, "PR-PHS C-3x1-2"),  # the first round has cells
    ],
)
def test_all_boards_give_the_response_of_the_walk(game: PokerRules, name: str, tmp_path: Path) -> None:
    strategy = random_strategy(game, name, tmp_path / "a")
    expected = errai.abstract_exploitability(of_all_hands(strategy), 1)
    found = errai.abstract_exploitability(strategy)
    assert found.best_response_values == pytest.approx(expected.best_response_values, abs=1e-9)
    assert found.big_blind == expected.big_blind


def test_batches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = random_strategy(LEDUC, TWO_SIDED, tmp_path / "a")
    pairs = counted(strategy, 60, 3)
    whole = BucketResponse(pairs).exploitability(strategy)
    monkeypatch.setattr(bucket_response, "MOST_BYTES", 1)
    assert BucketResponse(pairs).exploitability(strategy) == whole


def test_parts_that_are_alike_have_no_bias_and_no_spread(tmp_path: Path) -> None:
    strategy = random_strategy(LEDUC, "PR-HS 2-2", tmp_path / "a")
    exact, one = errai.abstract_exploitability(strategy), counted(strategy)
    alike = BucketPairs(one.parents, one.first_rows, one.together * 3, one.ahead * 3, 9, seed=5)
    found = BucketResponse(alike).exploitability(strategy)
    assert isinstance(found, SampledAbstractExploitability)
    for value in (found.chips, found.cross_validated.chips, *found.bounds):
        assert value == pytest.approx(exact.chips, abs=1e-9)
    assert (found.num_boards, found.seed) == (9, 5)


def test_what_is_chosen_elsewhere_wins_less_and_the_bounds_hold(tmp_path: Path) -> None:
    strategy = random_strategy(RHODE_ISLAND, "PR-PHS 4x1-3x1-3", tmp_path / "a")
    exact = errai.abstract_exploitability(strategy).chips
    above, below, held = [], [], 0
    for seed in range(20):
        found = errai.abstract_exploitability(strategy, boards=20, seed=seed)
        above.append(found.chips)
        below.append(found.cross_validated.chips)
        held += found.bounds[0] <= exact <= found.bounds[1]
    assert np.mean(below) < exact < np.mean(above)
    assert held >= 18  # of 20, at 95%


def test_what_cannot_be_measured_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = random_strategy(LEDUC, "PR-HS 2-2", tmp_path / "a")
    with pytest.raises(UsageError, match="the hands of 'leduc' fit into memory: boards must not be given"):
        errai.abstract_exploitability(of_all_hands(strategy), boards=5)  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="boards must be 10 or more, not 3"):
        errai.abstract_exploitability(strategy, boards=3)
    with pytest.raises(UsageError, match="seed must be 0 or more, not -1"):
        errai.abstract_exploitability(strategy, boards=10, seed=-1)
    raked = BucketStrategy(strategy.tree.under("rake 5% cap 1"), strategy.saved, strategy.tables)
    with pytest.raises(UsageError, match=r"payoffs are 'rake 5% cap 1': .* needs plain ones"):
        errai.abstract_exploitability(raked)
    monkeypatch.setattr(pairs_module, "MOST_BOARDS", 2)
    with pytest.raises(UsageError, match="'leduc' has 3 boards: say how many are to be drawn"):
        errai.abstract_exploitability(strategy)


def test_buckets_that_forget_are_refused(tmp_path: Path) -> None:
    strategy = random_strategy(LEDUC, "IR-HS 3-2", tmp_path / "a")
    with pytest.raises(UsageError, match="buckets of position 0 forget in round 2 what earlier ones knew"):
        errai.abstract_exploitability(strategy)


def test_counts_that_do_not_fit_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = random_strategy(LEDUC, "PR-HS 2-2", tmp_path / "a")
    monkeypatch.setattr(_bucket_pairs, "add_pairs", lambda *_: None)
    with pytest.raises(UsageError, match="are too many to be counted in 32 bits"):
        counted(strategy)


class SumOfCards(RoundBuckets):
    """A round before the last whose buckets are told by the cards themselves."""

    kind = "sum"
    num_buckets = 3

    def of_deals(self, cards: np.ndarray) -> np.ndarray:
        found: np.ndarray = cards.sum(axis=1, dtype=np.int64) % 3
        return found


@pytest.mark.parametrize("few", [0, 16])
def test_single_deals_of_a_refined_round_are_those_of_its_boards(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few hands of a board are compared one by one, many by sorting; `on_board` sorts."""
    monkeypatch.setattr(round_buckets, "FEW_HANDS", few)
    sweep = BoardSweep(HandClasses(errai.load_game("limit-holdem")), None, 0)
    children = np.random.default_rng(4).integers(0, 5, (3, 1981)).astype(np.uint8)
    refined = RefinedStrength(SumOfCards(), 6, 2, sweep, children, 5)
    rng = np.random.default_rng(3)
    cards = np.array([rng.permutation(52)[:7] for _ in range(6)], dtype=np.uint8)
    low, high = np.sort(cards[:, :2], axis=1).T.astype(np.int64)
    expected = [
        int(refined.on_board(one[np.newaxis], np.array([number]))[0])
        for one, number in zip(cards, high * (high - 1) // 2 + low, strict=True)
    ]
    assert refined.of_deals(cards).tolist() == expected
