"""What agents lose, from deals: exact where all deals are walked, and within its interval where some are."""

from itertools import permutations

import numpy as np
import pytest
from naive import WITHOUT_JIT

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.engine.deal_values import value_deals
from errai.engine.deal_walk import deal_tree
from errai.engine.deals import CellDeals
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.acpc_files import parse_game_file
from errai.response.dealt import dealt_expected_values
from errai.strategy.simple import simple_strategy
from errai.strategy.strategy import Strategy

few_deals = pytest.mark.skipif(WITHOUT_JIT, reason="thousands of deals are too many for plain Python")


BLINDS = """GAMEDEF
limit
numPlayers = 2
numRounds = 2
blind = 2 1
raiseSize = 2 2
firstPlayer = 2 1
maxRaises = 1 1
numSuits = 2
numRanks = 4
numHoleCards = 1
numBoardCards = 0 1
END GAMEDEF
"""
"""The positions have different decisions, because one acts first before the board and the other after it."""


def solved(game: str = "leduc") -> Strategy:
    rules = parse_game_file(BLINDS, game) if game == "blinds" else errai.load_game(game)
    found = errai.solve(rules, iterations=12).strategy
    assert isinstance(found, Strategy)
    return found


@pytest.mark.parametrize("agent", ["random", "always-call", "always-raise"])
@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_all_deals_give_the_exact_value(game: str, agent: str) -> None:
    """The twin of the kernel is the vector walk, which knows nothing of deals."""
    strategy = solved(game)
    other = simple_strategy(strategy.game, agent)
    tree, rules = strategy.tree, strategy.tree.rules
    num_cards = 2 * rules.num_hole_cards + sum(rules.num_board_cards)
    cards = np.array([*permutations(rules.deck.cards, num_cards)], dtype=np.uint8)
    source = CellDeals(tree)
    batch = source.batch(len(cards))
    source.place(cards, batch)
    arrays = deal_tree(tree.betting, tree.walk).arrays
    exact = errai.expected_value(strategy, other)
    for seat in (0, 1):
        first, second = (strategy.tables[q] if q == seat else other.tables[q] for q in (0, 1))
        values = value_deals(seat, arrays, batch, (first, second))
        assert values.mean() == pytest.approx(exact.positions[seat], abs=1e-12)


@few_deals
@pytest.mark.parametrize("game", ["leduc", "blinds"])
def test_the_interval_holds_the_exact_value_and_threads_change_nothing(game: str) -> None:
    strategy = solved(game)
    agents = ["always-call", "always-raise", "half", "random", "always-fold"]
    found = dealt_expected_values(strategy, agents, 6000, seed=1, num_threads=1)
    assert dealt_expected_values(strategy, agents, 6000, seed=1, num_threads=2) == found
    assert dealt_expected_values(strategy, agents[:2], 6000, seed=1) == found[:2]
    for agent, one in zip(agents, found, strict=True):
        exact = errai.expected_value(strategy, agent)
        low, high = one.interval
        assert low < exact.chips < high
        assert one.chips == pytest.approx((low + high) / 2)
        assert (one.num_deals, one.seed, one.big_blind) == (6000, 1, strategy.tree.rules.big_blind)
        assert high - low < 0.2 * one.big_blind


def test_too_few_deals_are_refused() -> None:
    with pytest.raises(UsageError, match="deals must be 2 or more, not 1"):
        dealt_expected_values(solved(), ["half"], 1)


def _random(tree: PublicTree, seed: int, dtype: type[np.floating] = np.float64) -> Strategy:
    rng = np.random.default_rng(seed)
    first, second = (rng.random(size).astype(dtype) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


@few_deals
def test_two_strategies_with_other_buckets_meet_on_the_same_deals() -> None:
    tree = PublicTree.of("leduc")
    first = _random(tree.abstracted_by(leduc_abstraction("JQ.K")), 1, np.float32)
    second = _random(tree.abstracted_by(leduc_abstraction("J.QK")), 2)
    exact = errai.expected_value(first, second)
    found = errai.expected_value(first, second, deals=40_000, seed=3)
    assert found == errai.expected_value(first, second, deals=40_000, seed=3, num_threads=1)
    error = (found.interval[1] - found.interval[0]) / 2 / 1.96
    assert abs(found.chips - exact.chips) < 5 * error
    for position in (0, 1):
        assert found.positions[position] == pytest.approx(exact.positions[position], abs=0.1)
    assert error < 0.02
    back = errai.expected_value(second, first, deals=40_000, seed=3)
    assert back.positions == pytest.approx((-found.positions[1], -found.positions[0]), abs=1e-12)


@few_deals
def test_a_strategy_wins_nothing_from_itself_on_any_deal() -> None:
    strategy = _random(PublicTree.of("leduc"), 4)
    found = errai.expected_value(strategy, strategy, deals=500)
    assert found.chips == pytest.approx(0, abs=1e-12)
    assert found.interval == pytest.approx((0, 0), abs=1e-12)


def test_flops_and_deals_are_not_asked_for_together() -> None:
    strategy = _random(PublicTree.of("leduc"), 4)
    with pytest.raises(UsageError, match="'flops' and 'deals' are two ways to sample"):
        errai.expected_value(strategy, "half", flops=3, deals=4)  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="seed must be 0 or more, not -1"):
        errai.expected_value(strategy, "half", deals=4, seed=-1)
