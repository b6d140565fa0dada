"""Information sets are listed one by one: counted, summed, and the same as when each is asked for."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.cards.deck import Deck
from errai.engine.public_tree import PublicTree
from errai.games.bluff import BluffRules
from errai.games.catalogue import leduc, rhode_island
from errai.games.rules import PokerRules
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import InformationSet
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
    strategy = errai.solve(game, iterations=3).strategy
    listed = list(strategy.information_sets())
    assert len({one[:3] for one in listed}) == len(listed)
    assert len(listed) == sum(tree.num_infosets for tree in strategy.trees.values())
    stages = {f"{dice[0]}-{dice[1]}": dice for dice in strategy.trees}
    for one in listed[:: len(listed) // 500]:
        asked = strategy.probabilities(one.betting, one.hand, stages[one.dice])
        assert dict(zip(one.actions, one.probabilities, strict=True)) == pytest.approx(asked, abs=1e-15)


def test_a_strategy_of_buckets_lists_buckets(folders: Path) -> None:
    tree = PublicTree.of("rhode-island")
    strategy = BucketStrategy.uniform(tree, folders / "imperfect", np.float64)
    random_tables(strategy, 4)
    listed = list(strategy.information_sets())
    sizes = {r: int(strategy.layout.rows[0, r]) for r in range(3)}
    assert sizes == {0: 5, 1: 20, 2: 10}
    decisions = {one.betting: one.round_index for one in listed}
    assert len(listed) == sum(sizes[r] for r in decisions.values())
    abstraction = strategy.saved.abstraction
    cards = np.array([tree.rules.deck.parse("As" + "Kd")], dtype=np.uint8)
    bucket = int(abstraction.buckets(cards, 1, 0)[0])
    found = [one for one in listed if (one.betting, one.bucket) == ("cc/", bucket)]
    assert [one.hand for one in found] == [""]
    asked = strategy.probabilities("cc/", "As", "Kd")
    assert dict(zip(found[0].actions, found[0].probabilities, strict=True)) == asked


def test_a_strategy_of_buckets_lists_hands_in_a_round_without_buckets(tmp_path: Path) -> None:
    errai.abstract(rhode_island(), "IR-HS-HS 13-5-5", out=tmp_path / "whole")
    strategy = BucketStrategy.uniform(PublicTree.of("rhode-island"), tmp_path / "whole", np.float64)
    random_tables(strategy, 5)
    first = [one for one in strategy.information_sets() if one.betting == "cr"]
    assert [one.hand[0] for one in first] == list("23456789TJQKA")
    for one in first:
        asked = strategy.probabilities("cr", one.hand)
        assert dict(zip(one.actions, one.probabilities, strict=True)) == asked
