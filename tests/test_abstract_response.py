"""Best responses inside an abstract game."""

import numpy as np
import pytest
from scipy.optimize import linprog

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.engine.public_tree import PublicTree
from errai.engine.root import weight_of_pairs
from errai.errors import UsageError
from errai.response.abstract import abstract_exploitability, decision_heights
from errai.response.exploitability import exploitability
from errai.solvers.sequence_form import SequenceForm
from errai.strategy.strategy import Strategy
from errai.tree.buckets import Buckets

LEDUC = errai.load_game("leduc")


def random_strategy(tree: PublicTree, seed: int) -> Strategy:
    rng = np.random.default_rng(seed)
    first, second = (rng.normal(size=size) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


def programmed_response(strategy: Strategy, player: int) -> float:
    """Return what a best response wins in a position, by a linear programme over its sequences."""
    tree = strategy.tree
    form = SequenceForm(tree.betting, tree.cells, tree.layout, tree.payoffs)
    weights = [np.ones(len(root.multiplicity)) for root in tree.cells.root]
    matrix = form.payoff_matrix((weights[0], weights[1]))
    opponent = 1 - player
    plan = _plan(form, opponent, strategy.tables[opponent])
    worth = matrix @ plan if player == 0 else -(matrix.T @ plan)
    rows = form.constraints(player)
    right = np.zeros(rows.shape[0])
    right[0] = 1
    found = linprog(-worth, A_eq=rows, b_eq=right, bounds=(0, None))
    assert found.status == 0
    return float(-found.fun) / weight_of_pairs(tree.cells, (weights[0], weights[1]))


def _plan(form: SequenceForm, player: int, table: np.ndarray) -> np.ndarray:
    """Return how likely a player takes all actions of a sequence: float64[1 + slots]."""
    plan = np.zeros(1 + len(table))
    plan[0] = 1
    for board in range(form.num_boards()):
        lineage = form.lineage(player, board)
        for node in np.flatnonzero((form.tree.player == player) & (form.tree.kind == 0)).tolist():
            if form.tree.round[node] != form.round_of(board):
                continue
            num_actions = int(form.tree.num_children[node])
            slots = np.stack(
                [
                    form.slots(player, board, int(form.walk.slot[node]) + a, lineage[-1][1])
                    for a in range(num_actions)
                ]
            )
            positive = np.maximum(table[slots], 0)
            total = positive.sum(axis=0)
            shares = np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / num_actions)
            plan[1 + slots] = shares * plan[form.sequence(player, node, lineage)]
    return plan


@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_without_an_abstraction_it_is_the_real_one(game: str) -> None:
    strategy = random_strategy(PublicTree.of(game), 1)
    real, abstract = exploitability(strategy), abstract_exploitability(strategy)
    assert abstract.best_response_values == pytest.approx(real.best_response_values, abs=1e-12)


@pytest.mark.parametrize("pair", [("JQ.K", "JQ.K"), ("JQK", "J.QK"), ("full", "J.Q.K")])
def test_a_linear_programme_finds_the_same_response(pair: tuple[str, str]) -> None:
    seen = (leduc_abstraction(pair[0]), leduc_abstraction(pair[1]))
    for seed in range(3):
        strategy = random_strategy(PublicTree.of(LEDUC).abstracted_by(seen), seed)
        found = abstract_exploitability(strategy)
        for player in (0, 1):
            expected = programmed_response(strategy, player)
            assert found.best_response_values[player] == pytest.approx(expected, abs=1e-9)
        assert found.chips < exploitability(strategy).chips


def test_an_abstract_equilibrium_cannot_be_exploited_by_its_own_buckets() -> None:
    exact = errai.solve(LEDUC, "lp", abstraction=leduc_abstraction("JQ.K")).strategy
    assert isinstance(exact, Strategy)
    assert abstract_exploitability(exact).chips == pytest.approx(0, abs=1e-9)
    assert exploitability(exact).chips > 0.1


def test_rake_counts_what_the_profile_gets() -> None:
    tree = PublicTree.of(LEDUC, payoffs="rake 5% cap 1").abstracted_by(leduc_abstraction("full"))
    strategy = random_strategy(tree, 4)
    real, abstract = exploitability(strategy), abstract_exploitability(strategy)
    assert abstract.profile_values == pytest.approx(real.profile_values, abs=1e-12)
    assert abstract.chips == pytest.approx(real.chips, abs=1e-12)


def test_buckets_that_forget_are_refused() -> None:
    forgets = PublicTree.of(LEDUC).abstracted(Buckets.for_both({1: np.zeros(9, dtype=np.int32)}))
    with pytest.raises(UsageError, match="buckets of position 0 forget in round 2 what earlier ones knew"):
        abstract_exploitability(random_strategy(forgets, 0))


def test_threads_change_nothing() -> None:
    strategy = random_strategy(PublicTree.of("leduc").abstracted_by(leduc_abstraction("J.QK")), 5)
    assert abstract_exploitability(strategy, 1) == abstract_exploitability(strategy, 2)


def test_heights_in_kuhn() -> None:
    betting = PublicTree.of("kuhn").betting
    first, second = (decision_heights(betting, player) for player in (0, 1))
    # The first player may decide again after a check and a bet; the second decides once.
    assert sorted(first[first >= 0].tolist()) == [0, 1]
    assert first[0] == 1
    assert sorted(second[second >= 0].tolist()) == [0, 0]
