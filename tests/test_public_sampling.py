"""Solvers over sampled boards: pcs, opcs, spcs as algorithms."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_abstract_solving import RandomAbstraction
from test_paths import verify_unbiased

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.abstraction.protocol import CardAbstraction
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.solvers.make import make_solver
from errai.solvers.public_sampling import SAMPLED_HANDS, PublicSampledSolver
from errai.solvers.solve import Solver
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import PathRule, find_rule
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.strategy import Strategy

ALGORITHMS = ("pcs", "opcs", "spcs")
LEDUC = errai.load_game("leduc")
RHODE_ISLAND = errai.load_game("rhode-island")


def rule_of(name: str, **options: Any) -> PathRule:
    rule = find_rule(name).with_options(**options)
    assert isinstance(rule, PathRule)
    return rule


def saved(abstraction: CardAbstraction) -> SavedAbstraction:
    """Return an abstraction as if it had been saved somewhere."""
    return SavedAbstraction(Path("nowhere"), "none", abstraction)


def all_tables(solver: TableSolver) -> list[npt.NDArray[Any]]:
    return [table for both in solver.tables.values() for table in both]


def same_tables(one: TableSolver, other: TableSolver) -> bool:
    pairs = zip(all_tables(one), all_tables(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("algorithm", "options", "most"),
    [
        ("pcs", {}, 50),
        ("opcs", {}, 100),
        ("spcs", {}, 100),
        ("pcs", {"discount": (1, 1, 1)}, 50),
        ("pcs", {"options": {"boards": "own"}}, 50),
    ],
)
def test_leduc_is_solved(algorithm: str, options: dict[str, Any], most: float) -> None:
    run = errai.solve(LEDUC, algorithm, 8000, seed=1, measure_every=8000, **options)
    assert run.measurements[-1].exploitability.mbb_per_game < most


@pytest.mark.slow
def test_order_of_the_curves_of_figure_3_2() -> None:
    found = {}
    for algorithm in ALGORITHMS:
        solver = make_solver(PublicTree.of("holdem-2-1"), rule_of(algorithm), np.float32, seed=1)
        solver.run(40_000)
        found[algorithm] = solver.measure().exploitability.mbb_per_game
    assert found["pcs"] < 45
    assert 150 < found["opcs"] < 300 < 500 < found["spcs"]


@pytest.mark.parametrize("boards", [{}, {"boards": "own"}])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_runs_go_on_with_the_same_bits(tmp_path: Path, algorithm: str, boards: dict[str, Any]) -> None:
    abstraction = leduc_abstraction("[JQ.K]")
    options: dict[str, Any] = {"seed": 3, "abstraction": abstraction, "discount": (2, 2, 1), "delay": 20}
    options["options"] = boards
    whole = errai.solve(LEDUC, algorithm, 120, out=tmp_path / "whole", measure_every=50, **options)
    errai.solve(LEDUC, algorithm, 70, out=tmp_path / "parts", measure_every=50, **options)
    parts = errai.solve(LEDUC, algorithm, 120, out=tmp_path / "parts", resume=True, **options)
    for one, other in zip(whole.average.tables, parts.average.tables, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(whole.current.tables, parts.current.tables, strict=True):
        np.testing.assert_array_equal(one, other)
    loaded = errai.load_strategy(tmp_path / "parts")
    assert isinstance(loaded, Strategy)
    np.testing.assert_array_equal(loaded.tables[0], whole.average.tables[0])


def test_what_is_sampled_depends_on_the_seed_and_not_on_stretches() -> None:
    tree = PublicTree.of("leduc")
    solvers = [make_solver(tree, rule_of("pcs"), seed=seed) for seed in (4, 4, 5)]
    solvers[0].run(30)
    for stretch in (1, 9, 20):
        solvers[1].run(stretch)
    solvers[2].run(30)
    assert same_tables(solvers[0], solvers[1])
    assert not same_tables(solvers[0], solvers[2])


def test_each_player_learns_on_boards_of_its_own_where_the_rule_says_so() -> None:
    """In one iteration on its own boards, the second player learns nothing on those of the first."""
    tree = PublicTree.of("rhode-island")
    shared, own = (make_solver(tree, rule_of("pcs", boards=boards), seed=2) for boards in (None, "own"))
    for solver in (shared, own):
        solver.run(1)
    assert np.array_equal(shared.regrets[0], own.regrets[0])
    begin, last = tree.layout.begin, tree.cells.links.round_board[-1]
    learnt = []
    for solver in (shared, own):
        assert isinstance(solver, PublicSampledSolver)
        places = np.flatnonzero(solver.regrets[1])
        rivers = np.sort(begin[1, tree.cells.links.round_board[2] : last])
        learnt.append(set(np.searchsorted(rivers, places[places >= rivers[0]], side="right").tolist()))
    assert not learnt[0] & learnt[1]


@pytest.mark.parametrize("boards", ["other", True, 1])
def test_other_boards_are_refused(boards: object) -> None:
    with pytest.raises(UsageError, match="boards must be 'own'"):
        errai.solve(LEDUC, "pcs", 10, options={"boards": boards})
    with pytest.raises(UsageError, match="'cfr-br' has no option 'boards'"):
        errai.solve(LEDUC, "cfr-br", 10, options={"boards": "own"})


def test_a_game_without_public_chance_is_walked_as_a_whole() -> None:
    tree = PublicTree.of("kuhn")
    sampled, full = make_solver(tree, rule_of("pcs")), Solver(tree, find_rule("cfr"))
    sampled.run(50)
    full.run(50)
    assert same_tables(sampled, full)
    dice = [errai.solve("bluff-1-1", algorithm, 20) for algorithm in ("pcs", "cfr")]
    assert dice[0].values == dice[1].values


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("player", [0, 1])
def test_gains_of_dice_are_those_of_the_full_walk_on_average(player: int, algorithm: str) -> None:
    game = errai.load_game("bluff-1-1")
    verify_unbiased(PublicTree.of_bluff(game, (1, 1)), player, SAMPLED_HANDS[algorithm])


@pytest.mark.parametrize("algorithm", ["opcs", "spcs"])
def test_dice_are_sampled_by_the_seed(algorithm: str) -> None:
    runs = [errai.solve("bluff-1-1", algorithm, 100, seed=seed, measure_every=100) for seed in (2, 2, 3)]
    assert runs[0].values == runs[1].values
    assert runs[0].values != runs[2].values


def test_linear_weights_are_those_of_linear_cfr() -> None:
    tree = PublicTree.of("kuhn")
    sampled = make_solver(tree, rule_of("pcs", discount=(1, 1, 1)))
    full = Solver(tree, find_rule("linear-cfr"))
    sampled.run(40)
    full.run(40)
    for one, other in zip(all_tables(sampled), all_tables(full), strict=True):
        np.testing.assert_allclose(one / 40, other, rtol=1e-10)  # the same but for the last weight


def test_a_discount_counts_as_a_discount() -> None:
    rule, dcfr = rule_of("pcs", discount=(1.5, 1.5, 2), delay=3), find_rule("dcfr")
    weights, steps = rule.gain_weights(1, 30), dcfr.with_options(discount=(1.5, 1.5, 2)).steps(1, 30)
    np.testing.assert_allclose(weights[:-1] / weights[1:], steps[1:, 0, 0], rtol=1e-12)
    assert rule.gain_weights(7, 12).tolist() == weights[6:11].tolist()
    averages = rule.steps(1, 30)[:, 0, 4]
    assert averages[:3].tolist() == [0, 0, 0]
    np.testing.assert_allclose(averages[3:-1] / averages[4:], steps[4:, 0, 3], rtol=1e-12)


# Hands that are made on demand


def of_deals(
    game: PokerRules, algorithm: str, num_threads: int = 1, boards: str | None = None, **options: Any
) -> PublicSampledSolver:
    abstraction = RandomAbstraction(game, 20)
    return PublicSampledSolver.of_deals(
        PublicTree.of(game),
        rule_of(algorithm, discount=(1, 1, 1), boards=boards),
        saved(abstraction),
        np.float64,
        num_threads,
        **options,
    )


@pytest.mark.parametrize("boards", [None, "own"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("game", [LEDUC, RHODE_ISLAND])
def test_hands_made_on_demand_learn_what_those_in_memory_learn(
    game: PokerRules, algorithm: str, boards: str | None
) -> None:
    dealt = of_deals(game, algorithm, boards=boards, seed=6)
    # The same buckets; preflop Leduc has more of them than hands, and keeps its hands.
    tree = PublicTree.of(game).abstracted_by(RandomAbstraction(game, 20))
    rule = rule_of(algorithm, discount=(1, 1, 1), boards=boards)
    held = PublicSampledSolver(tree, rule, np.float64, seed=6)
    rng = np.random.default_rng(0)
    for one, other in zip(all_tables(dealt), all_tables(held), strict=True):
        one[:] = rng.normal(size=len(one))  # no ties, which rounding would break either way
        other[:] = one
    before = [table.copy() for table in all_tables(dealt)]
    for solver in (dealt, held):
        solver.run(3)
    assert dealt.layout.num_slots == held.layout.num_slots
    for one, other in zip(all_tables(dealt), all_tables(held), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert not any(map(np.array_equal, before, all_tables(dealt)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_threads_change_no_bit(algorithm: str) -> None:
    solvers = [of_deals(RHODE_ISLAND, algorithm, threads, seed=1) for threads in (1, 2, 7)]
    for solver in solvers:
        solver.run(6)
        solver.engine.close()
    assert same_tables(solvers[0], solvers[1])
    assert same_tables(solvers[0], solvers[2])


def test_a_strategy_of_buckets_comes_out_and_is_measured_elsewhere() -> None:
    solver = of_deals(LEDUC, "pcs")
    solver.run(10)
    strategy = solver.strategy()
    assert isinstance(strategy, BucketStrategy)
    assert strategy.tables[0] is solver.averages[0]
    assert 0 < errai.exploitability(strategy).mbb_per_game < 5000
    with pytest.raises(UsageError, match=r"the hands of 'leduc' are not in memory"):
        solver.measure()
    assert [solver.describe_slot(0, slot) for slot in (0, solver.layout.num_slots[0] - 1)] == [
        "round 1 of leduc",
        "round 2 of leduc",
    ]


def test_the_command_line(run_errai) -> None:
    status, out, _ = run_errai(
        "solve", "leduc", "--algorithm", "pcs", "--iterations", "60", "--seed", "9", "--json"
    )
    assert status == 0
    measured = errai.solve(LEDUC, "pcs", 60, seed=9).measurements[-1].exploitability
    assert json.loads(out)["exploitability_mbb_per_game"] == pytest.approx(measured.mbb_per_game, abs=1e-6)
    outs = [
        run_errai("solve", "bluff-1-1", "--algorithm", "opcs", "--iterations", "9", "--seed", seed)[1]
        for seed in "12"
    ]
    assert outs[0] != outs[1]


# What is refused


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alternating": False}, "alternating must be True"),
        ({"discount": (1.5, 0, 2)}, "alpha = beta of 1 or more"),
        ({"discount": (0.5, 0.5, 1)}, "alpha = beta of 1 or more"),
        ({"discount": (1, 1, -1)}, "gamma of 0 or more"),
        ({"trunk": 1}, "'pcs' has no trunk"),
        ({"seed": -1}, "seed must be 0 or more"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        errai.solve(LEDUC, "pcs", 1, **options)


def test_a_walk_of_all_boards_refuses_to_sample() -> None:
    with pytest.raises(UsageError, match="'pcs' samples boards"):
        Solver(PublicTree.of("leduc"), find_rule("pcs"))


def test_threads_out_of_order_learn_in_the_same_tables() -> None:
    tree = PublicTree.of("leduc")
    solver = PublicSampledSolver(tree, rule_of("pcs"), num_threads=2, in_order=False)
    solver.run(6000)
    assert solver.num_threads == 2
    assert solver.measure().exploitability.mbb_per_game < 200
