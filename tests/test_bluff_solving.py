"""Bluff through the production solver: stages, exact exploitability against OpenSpiel, questions."""

import numpy as np
import pyspiel
import pytest

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.bluff import FACES, rolls
from errai.games.catalogue import bluff
from errai.response.bluff import bluff_exploitability
from errai.runs.bluff import BluffRun, round_values, solve_bluff
from errai.solvers.solve import StopRule
from errai.solvers.update_rules import RULES
from errai.strategy.bluff import BluffStrategy
from errai.tree.betting_tree import ACTION_CALL, DECISION

NUM_BIDS = 12
CHALLENGE_ACTION = 12  # OpenSpiel numbers bids as we do and calling bluff after them


def random_strategy(seed: int) -> BluffStrategy:
    game = bluff(1, 1)
    tree = PublicTree.of_bluff(game, (1, 1))
    generator = np.random.default_rng(seed)
    first, second = (generator.exponential(size=n) for n in tree.layout.num_slots)
    return BluffStrategy(game, {(1, 1): tree}, {(1, 1): (first, second)})


def open_spiel_policy(strategy: BluffStrategy) -> pyspiel.TabularPolicy:
    """The same strategy by OpenSpiel's information states, such as `3 1-4 2-2` (the star is its face 6)."""
    tree = strategy.trees[1, 1]
    betting, layout, walk = tree.betting, tree.layout, tree.walk
    texts = [""] * betting.num_nodes
    policy = {}
    for node in np.flatnonzero(betting.kind == DECISION).tolist():
        player, children = int(betting.player[node]), betting.children(node)
        rows = int(layout.rows[player, 0])
        begin = int(layout.begin[player, 0]) + int(walk.slot[node]) * rows
        weights = strategy.tables[1, 1][player][begin : begin + len(children) * rows].reshape(-1, rows)
        actions = [int(betting.action[child]) for child in children]
        for child, action in zip(children, actions, strict=True):
            if action != ACTION_CALL:
                texts[child] = f"{texts[node]} {action // 6 + 1}-{action % 6 + 1}"
        numbers = [CHALLENGE_ACTION if action == ACTION_CALL else action for action in actions]
        for row, (face,) in enumerate(rolls(1)):
            chances = weights[:, row] / weights[:, row].sum()
            policy[f"{face + 1}{texts[node]}"] = list(zip(numbers, chances.tolist(), strict=True))
    return pyspiel.TabularPolicy(policy)


def assert_as_open_spiel(strategy: BluffStrategy) -> None:
    theirs = pyspiel.exploitability(pyspiel.load_game("liars_dice"), open_spiel_policy(strategy))
    assert bluff_exploitability(strategy).chips == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_exploitability_equals_open_spiels(seed: int) -> None:
    assert_as_open_spiel(random_strategy(seed))


@pytest.mark.slow
def test_exploitability_of_50_random_strategies_equals_open_spiels() -> None:
    for seed in range(50):
        assert_as_open_spiel(random_strategy(1000 + seed))


@pytest.fixture(scope="module")
def solved() -> BluffRun:
    return solve_bluff(bluff(2, 1), RULES["cfr+"], StopRule(100))


def test_stages_are_solved_smallest_first(solved: BluffRun) -> None:
    assert list(solved.values) == [(1, 1), (2, 1)]
    assert solved.strategy.trees[2, 1].round_values == (1.0, -solved.values[1, 1])
    measured = bluff_exploitability(solved.strategy)
    assert 0 < measured.chips < 0.01
    # The equilibrium's value lies between what each position can be held to.
    low, high = -measured.best_response_values[1], measured.best_response_values[0]
    assert low <= solved.values[2, 1] <= high


def test_one_die_each_agrees_with_the_known_value() -> None:
    run = solve_bluff(bluff(1, 1), RULES["cfr+"], StopRule(2000))
    measured = bluff_exploitability(run.strategy)
    # OpenSpiel's CFR+ on liars_dice bounds the value to -0.0271 as well.
    assert -measured.best_response_values[1] <= run.values[1, 1] <= measured.best_response_values[0]
    assert run.values[1, 1] == pytest.approx(-0.0271, abs=2e-4)


def test_round_values_follow_the_rules() -> None:
    known = {(1, 1): 0.25, (2, 1): 0.5}
    assert round_values((1, 1), known.__getitem__) == (1.0, -1.0)
    # The starter with two dice wins at once, or leaves the other, who starts, with one die each.
    assert round_values((2, 1), known.__getitem__) == (1.0, -0.25)
    assert round_values((2, 2), known.__getitem__) == (0.5, -0.5)


def test_questions(solved: BluffRun) -> None:
    answer = solved.strategy.probabilities("1-3", hand="*")
    assert set(answer) == {"b", *(f"{q}-{f}" for q in (1, 2, 3) for f in FACES)} - {"1-1", "1-2", "1-3"}
    assert sum(answer.values()) == pytest.approx(1)
    assert set(solved.strategy.probabilities("", hand="2*")) == {f"{q}-{f}" for q in (1, 2, 3) for f in FACES}
    assert solved.strategy.probabilities("2-*", hand="1", dice=(1, 1)) == {"b": 1.0}
    with pytest.raises(UsageError, match="is not a roll of the player to act: expected 2 dice"):
        solved.strategy.probabilities("", hand="2")
    with pytest.raises(UsageError, match="is not a round of 'bluff-2-1': expected \\["):
        solved.strategy.probabilities("", hand="2", dice=(3, 3))
    with pytest.raises(UsageError, match="illegal at position 4, action '1-2'"):
        solved.strategy.probabilities("1-3,1-2", hand="2*")


@pytest.mark.slow
def test_two_dice_each_solved_in_turn() -> None:
    run = solve_bluff(bluff(2, 2), RULES["cfr+"], StopRule(60), measure_every=60)
    assert list(run.values) == [(1, 1), (2, 1), (2, 2)]
    assert run.strategy.trees[2, 2].round_values == (run.values[2, 1], -run.values[2, 1])
    measured = bluff_exploitability(run.strategy)
    assert 0 < measured.chips < 0.05
