"""Information sets are listed one by one: counted, summed, and the same as when each is asked for."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.cards.deck import Deck
from errai.engine.public_tree import PublicTree
from errai.games.bluff import BluffRules
from errai.games.catalogue import leduc
from errai.games.rules import PokerRules
from errai.strategy.bluff import BluffStrategy
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import InformationSet, normalised
from errai.strategy.strategy import Strategy
from errai.tree.bet_menu import BetMenu


def random_tables(strategy: Strategy | BucketStrategy, seed: int) -> None:
    """Fill tables with weights, some of them negative, and some decisions without any positive one."""
    rng = np.random.default_rng(seed)
    for table in strategy.tables:
        table[:] = rng.random(len(table)) - 0.4


def random_strategy(name: str, seed: int = 1) -> Strategy:
    strategy = errai.uniform_strategy(name)
    random_tables(strategy, seed)
    return strategy


def test_probabilities_are_positive_parts_in_proportion() -> None:
    assert normalised(np.array([-1.0, 3.0, 1.0])).tolist() == [0, 0.75, 0.25]
    assert normalised(np.array([-1.0, 0.0], dtype=np.float32)).tolist() == [0.5, 0.5]
    weights = np.array([[1, -1, 0], [3, -1, -0.0], [-4, 2, 0], [0, 0, 0]])
    expected = [[0.25, 0, 0.25], [0.75, 0, 0.25], [0, 1, 0.25], [0, 0, 0.25]]
    assert normalised(weights).tolist() == expected


@pytest.mark.parametrize(
    ("name", "num_sets"),
    [
        ("kuhn", 12),  # 3 cards x 4 decisions
        ("leduc", 288),  # by ranks: 6 decisions x 3 + 5 x 6 decisions x 9
    ],
)
def test_each_information_set_is_listed_once_and_as_asked(name: str, num_sets: int) -> None:
    strategy = random_strategy(name)
    listed = list(strategy.information_sets())
    assert len(listed) == strategy.tree.num_infosets == num_sets
    assert len({(one.betting, one.board, one.hand) for one in listed}) == num_sets
    for betting, board, hand, actions, probabilities in listed:
        assert sum(probabilities) == pytest.approx(1, abs=1e-15)
        asked = strategy.probabilities(betting, hand, board)
        assert dict(zip(actions, probabilities, strict=True)) == asked


def test_hands_that_differ_by_suits_alone_are_listed_once() -> None:
    rules = PokerRules("small", Deck("QKA", "chs"), 2, (0, 3), (1, 1), (1, 1), (1, 1), (0, 0))
    strategy = errai.uniform_strategy(rules)
    random_tables(strategy, 2)
    listed = list(strategy.information_sets())
    before = [one for one in listed if one.betting == ""]
    assert len(before) == 9  # 3 pairs, 3 suited and 3 other hands
    assert len(listed) == strategy.tree.num_infosets == len({one[:3] for one in listed})
    for betting, board, hand, actions, probabilities in listed:
        asked = strategy.probabilities(betting, hand, board)
        assert dict(zip(actions, probabilities, strict=True)) == asked


def test_an_abstracted_strategy_lists_every_hand() -> None:
    strategy = errai.solve(leduc(), iterations=5, abstraction=leduc_abstraction("[JQ.K]")).strategy
    assert isinstance(strategy, Strategy)
    listed = list(strategy.information_sets())
    assert strategy.tree.num_infosets < 288 == len(listed)
    for betting, board, hand, actions, probabilities in listed:
        asked = strategy.probabilities(betting, hand, board)
        assert dict(zip(actions, probabilities, strict=True)) == asked
    assert listed == list(strategy.unabstracted().information_sets())


def test_they_are_listed_lazily() -> None:
    strategy = errai.uniform_strategy("rhode-island")
    listed = strategy.information_sets()
    assert isinstance(listed, Iterator)
    assert next(listed) == InformationSet("", "", "2c", ("c", "r"), (0.5, 0.5))


def test_raises_of_a_no_limit_game_have_their_sizes() -> None:
    rules = PokerRules("small", Deck("JQK", "hs"), 1, (0, 1), (1, 1), None, (255, 255), (0, 0), (9, 9))
    strategy = errai.uniform_strategy(rules, BetMenu.parse("100%"))
    random_tables(strategy, 3)
    listed = list(strategy.information_sets())
    assert len(listed) == strategy.tree.num_infosets
    assert listed[0].actions == ("c", "r3")
    for betting, board, hand, actions, probabilities in listed:
        asked = strategy.probabilities(betting, hand, board)
        assert dict(zip(actions, probabilities, strict=True)) == asked


def test_bluff_lists_every_roll_of_every_stage() -> None:
    game = errai.load_game("bluff-2-1")
    assert isinstance(game, BluffRules)
    trees = {dice: PublicTree.of_bluff(game, dice) for dice in ((1, 1), (2, 1))}
    rng = np.random.default_rng(6)
    tables = {}
    for dice, tree in trees.items():
        first, second = (rng.random(size) - 0.4 for size in tree.layout.num_slots)
        tables[dice] = (first, second)
    strategy = BluffStrategy(game, trees, tables)
    num_sets = 6 * 2**12  # each roll at each ascending sequence of bids
    assert trees[1, 1].num_infosets == num_sets
    listed = list(islice(strategy.information_sets(), num_sets + 100))
    assert len({one[:3] for one in listed}) == len(listed)
    assert [one.dice for one in listed] == ["1-1"] * num_sets + ["2-1"] * 100
    assert listed[num_sets][:3] == ("2-1", "", "11")
    for one in [*listed[:num_sets:29], *listed[num_sets:]]:
        asked = strategy.probabilities(one.betting, one.hand, (int(one.dice[0]), int(one.dice[2])))
        assert dict(zip(one.actions, one.probabilities, strict=True)) == pytest.approx(asked, abs=1e-15)


def bucket_strategy(name: str, folder: Path) -> BucketStrategy:
    errai.abstract(leduc(), name, out=folder, clusters=3)
    strategy = BucketStrategy.uniform(PublicTree.of("leduc"), folder, np.float64)
    random_tables(strategy, 4)
    return strategy


@pytest.mark.usefixtures("cache")
def test_a_strategy_of_buckets_lists_buckets(tmp_path: Path) -> None:
    strategy = bucket_strategy("IR-HS-HS 2-4", tmp_path / "buckets")
    listed = list(strategy.information_sets())
    assert len(listed) == len({one[:3] for one in listed}) == 6 * 2 + 30 * 4
    assert {(one.round_index, one.hand) for one in listed} == {(0, ""), (1, "")}
    cards = np.array([strategy.game.deck.parse("KsQh")], dtype=np.uint8)
    bucket = int(strategy.saved.abstraction.buckets(cards, 1, 0)[0])
    found = [one for one in listed if (one.betting, one.bucket) == ("crrc/r", bucket)]
    asked = [strategy.probabilities("crrc/r", "Ks", "Qh")]
    assert [dict(zip(one.actions, one.probabilities, strict=True)) for one in found] == asked


@pytest.mark.usefixtures("cache")
def test_the_slots_of_a_bucket_are_together_those_of_a_hand_are_not(tmp_path: Path) -> None:
    strategy = bucket_strategy("IR-HS-HS 2-4", tmp_path / "buckets")
    num_slots = int(strategy.layout.stride[0, 0])  # of a bucket in the first round: 2 + 3 + 2
    assert num_slots == 7
    strategy.tables[0][:2] = [1, 2]
    strategy.tables[0][num_slots : num_slots + 2] = [3, 4]
    first, second = islice(strategy.information_sets(), 2)
    assert first == ("", 0, 0, "", ("c", "r"), (1 / 3, 2 / 3))
    assert second == ("", 0, 1, "", ("c", "r"), (3 / 7, 4 / 7))
    strategy = bucket_strategy("IR-HS-HS 3-4", tmp_path / "hands")
    strategy.tables[0][:6] = [1, 2, 3, 4, 5, 6]
    listed = [one.probabilities for one in islice(strategy.information_sets(), 3)]
    assert listed == [(1 / 5, 4 / 5), (2 / 7, 5 / 7), (3 / 9, 6 / 9)]


@pytest.mark.usefixtures("cache")
def test_a_strategy_of_buckets_lists_hands_in_a_round_without_buckets(tmp_path: Path) -> None:
    strategy = bucket_strategy("IR-HS-HS 3-4", tmp_path / "buckets")
    first = [one for one in strategy.information_sets() if one.betting == "cr"]
    assert [(one.bucket, one.hand[0]) for one in first] == [(0, "J"), (1, "Q"), (2, "K")]
    for one in first:
        asked = strategy.probabilities("cr", one.hand)
        assert dict(zip(one.actions, one.probabilities, strict=True)) == asked
