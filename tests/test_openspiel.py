"""Strategies in OpenSpiel and back: the same exploitability by its own measure, the same probabilities."""

import sys
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policies
from open_spiel.python.algorithms import cfr
from open_spiel.python.algorithms.exploitability import exploitability as their_exploitability

import errai
from errai.cards.deck import Deck
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.strategy import openspiel
from errai.strategy.openspiel import openspiel_game
from errai.strategy.strategy import Strategy

needs_universal_poker = pytest.mark.skipif(
    "universal_poker" not in pyspiel.registered_names(),
    reason="this build of OpenSpiel has no universal_poker",
)

BLINDS = PokerRules("limit with blinds", Deck.top(3, 2), 1, (0, 1), (2, 1), (2, 3), (1, 2), (1, 0))
"""Position 1 acts first before the board, position 0 after it."""

TWO_CARDS = PokerRules("two cards", Deck.top(3, 2), 2, (0,), (2, 1), (2,), (2,), (1,))

GAMES = [
    "kuhn",
    "leduc",
    pytest.param(BLINDS, marks=needs_universal_poker),
    pytest.param(TWO_CARDS, marks=needs_universal_poker),
]


def random_strategy(game: Any, seed: int = 1) -> Strategy:
    """Return a strategy in which some actions are never taken."""
    tree, rng = PublicTree.of(game), np.random.default_rng(seed)
    first, second = (np.maximum(rng.random(size) - 0.3, 0) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


def assert_same_measure(strategy: Strategy) -> None:
    policy = errai.to_openspiel(strategy)
    ours = errai.exploitability(strategy).chips
    assert their_exploitability(policy.game, policy) == pytest.approx(ours, abs=1e-9)
    converted = policies.python_policy_to_pyspiel_policy(policy)
    assert pyspiel.exploitability(policy.game, converted) == pytest.approx(ours, abs=1e-9)


@pytest.mark.parametrize("game", GAMES)
def test_openspiel_measures_a_random_strategy_alike(game: Any) -> None:
    assert_same_measure(random_strategy(game))


@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_openspiel_measures_a_solved_game_alike(game: str) -> None:
    strategy = errai.solve(game, iterations=100).strategy
    assert isinstance(strategy, Strategy)
    assert_same_measure(strategy)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("library", ["python", "c++"])
def test_a_strategy_comes_back_as_it_went(game: Any, library: str) -> None:
    strategy = random_strategy(game, 2)
    policy = errai.to_openspiel(strategy)
    if library == "c++":
        policy = policies.python_policy_to_pyspiel_policy(policy)
    back = errai.from_openspiel(game, policy)
    pairs = list(zip(strategy.information_sets(), back.information_sets(), strict=True))
    assert len(pairs) == strategy.tree.num_infosets
    for one, other in pairs:
        assert one[:4] == other[:4]
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-12)


def test_a_policy_that_openspiel_solved_is_measured_alike() -> None:
    game = pyspiel.load_game("leduc_poker")
    solver = cfr.CFRPlusSolver(game)
    for _ in range(5):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    strategy = errai.from_openspiel("leduc", policy)
    ours = errai.exploitability(strategy).chips
    assert ours == pytest.approx(their_exploitability(game, policy), abs=1e-9)


def test_an_abstracted_strategy_is_given_hand_by_hand() -> None:
    from errai.abstraction.named_groups import leduc_abstraction

    strategy = errai.solve("leduc", iterations=20, abstraction=leduc_abstraction("[JQ.K]")).strategy
    assert isinstance(strategy, Strategy)
    assert_same_measure(strategy)


def test_a_policy_that_tells_suits_apart_is_refused() -> None:
    policy = errai.to_openspiel(errai.uniform_strategy("leduc"))
    state = openspiel_game("leduc").game.new_initial_state().child(5).child(0)
    policy.action_probability_array[policy.state_index(state)] = [0, 0.4, 0.6]
    with pytest.raises(UsageError, match="plays 'Kh' and 'Ks' differently after ''"):
        errai.from_openspiel("leduc", policy)


def test_what_cannot_be_translated_is_refused() -> None:
    uniform = policies.UniformRandomPolicy(pyspiel.load_game("kuhn_poker"))
    with pytest.raises(UsageError, match=r"policy is one of 'kuhn_poker\(\)': expected 'leduc_poker\(\)'"):
        errai.from_openspiel("leduc", uniform)
    with pytest.raises(UsageError, match="expected a policy of OpenSpiel, not 'policy'"):
        errai.from_openspiel("kuhn", "policy")
    with pytest.raises(UsageError, match=r"the policy gives \{\} at '0'"):
        errai.from_openspiel("kuhn", pyspiel.TabularPolicy({"x": [(0, 1.0)]}))
    for game in ("rhode-island", "nolimit-holdem"):
        with pytest.raises(UsageError, match=f"'{game}' cannot be given to OpenSpiel"):
            errai.from_openspiel(game, uniform)
    with pytest.raises(UsageError, match="'bluff-1-1' is a dice game: expected a card game"):
        errai.from_openspiel("bluff-1-1", uniform)
    with pytest.raises(UsageError, match="whose hands fit into memory, not 'kuhn'"):
        errai.to_openspiel("kuhn")  # type: ignore[arg-type]


def test_without_openspiel_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    openspiel._openspiel_game.cache_clear()
    with pytest.raises(UsageError, match="the package 'open_spiel' has 'pyspiel'"):
        errai.to_openspiel(errai.uniform_strategy("kuhn"))
    with pytest.raises(UsageError, match="the package 'open_spiel' has 'pyspiel'"):
        errai.from_openspiel("kuhn", None)
