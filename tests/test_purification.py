"""`errai reproduce purification-matrix` and `purification-leduc`: tables 1 and 2 of the paper."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from naive.matrix import played_in_full_game

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.engine.public_tree import PublicTree
from errai.experiments import purification_leduc
from errai.experiments._purification_matrix import play_abstractions, solve_positive_game
from errai.experiments.figure import Size
from errai.experiments.purification_leduc import THRESHOLDS, LeducAbstractions, Range
from errai.experiments.purification_matrix import PURIFIED, UNPURIFIED, draw, draw_games, play_games
from errai.solvers.linear_programme import Programme, solve_programme
from errai.solvers.matrix import solve_matrix
from errai.solvers.optimal_face import OptimalFace
from errai.solvers.sequence_form import SequenceForm
from errai.strategy.postprocessing import Treatment
from errai.strategy.strategy import Strategy
from errai.strategy.treated import treated

RunErrai = Callable[..., tuple[int, str, str]]


def ignore(*_: object) -> None:
    """Hear nothing."""


def play(games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    purified, unpurified = np.empty(len(games)), np.empty(len(games))
    play_abstractions(games, purified, unpurified)
    return purified, unpurified


@pytest.mark.parametrize(("num_rows", "num_columns"), [(3, 3), (4, 4), (2, 5), (1, 1)])
def test_simplex_as_highs(num_rows: int, num_columns: int) -> None:
    generator = np.random.default_rng(5)
    for _ in range(30):
        payoffs = generator.uniform(-1, 1, (num_rows, num_columns))
        row, column = np.empty(num_rows), np.empty(num_columns)
        tableau = np.empty((num_rows + 1, num_rows + num_columns + 1))
        value = solve_positive_game(payoffs + 2, tableau, np.empty(num_rows, np.int64), row, column) - 2
        exact = solve_matrix(payoffs, "lp")
        assert value == pytest.approx(exact.value, abs=1e-12)
        assert row == pytest.approx(exact.row, abs=1e-9)
        assert column == pytest.approx(exact.column, abs=1e-9)


def test_abstract_strategies_as_naive() -> None:
    games = draw_games(40, 3, 0)
    purified, unpurified = play(games)
    for game, *here in zip(games, purified, unpurified, strict=True):
        row = solve_matrix(game[:3, :3], "lp").row
        column = solve_matrix(game, "lp").column
        assert here == pytest.approx(played_in_full_game(game.tolist(), row, column), abs=1e-9)
    assert (np.abs(purified - unpurified) > 1e-9).any()


def test_ties_are_shared() -> None:
    game = np.zeros((4, 4))
    game[:2, :2] = [[0.5, -0.5], [-0.5, 0.5]]  # 1/2 each, exactly
    game[2, :2] = -1.0
    game[:2, 2] = 1.0
    game[:, 3] = [-0.6, -0.75, -1.0, -1.0]  # the full game's column player plays this alone
    purified, unpurified = play(game[np.newaxis])
    assert purified[0] == pytest.approx(-0.675)
    assert unpurified[0] == pytest.approx(-0.675)
    # The paper's Proposition 1 in a 4 x 4 frame: U with 1/3, D with 2/3; D alone is purified.
    game[:2, :2] = [[0.5, 0.0], [0.0, 0.25]]
    purified, unpurified = play(game[np.newaxis])
    assert purified[0] == pytest.approx(-0.75)
    assert unpurified[0] == pytest.approx(-0.6 / 3 - 2 * 0.75 / 3)


def test_games_depend_on_the_seed_alone() -> None:
    few, many = play_games(1000, 7, ignore), play_games(60_000, 7, ignore)
    assert (few[PURIFIED] == many[PURIFIED][:1000]).all()
    assert (few[PURIFIED] != play_games(1000, 8, ignore)[PURIFIED]).any()
    assert (many[UNPURIFIED][50_000:51_000] != many[UNPURIFIED][:1000]).any()


def test_table_1() -> None:
    """The percentages to 0.3 points, the means within 2.6 standard errors of the difference (99%)."""
    curves = draw(Size(300_000), 0, ignore)
    percent = [curves.beside[f"{name}, percent"][-1] for name in ("better", "worse", "same")]
    assert percent == pytest.approx([17.44, 11.48, 71.08], abs=0.3)
    assert sum(percent) == pytest.approx(100)
    for name, published in ((PURIFIED, -0.050987), (UNPURIFIED, -0.054905)):
        half = curves.beside[f"{name}, half of the 95% interval"][-1]
        assert half == pytest.approx(0.00043 * 5**0.5, rel=0.03)
        assert abs(curves.values[name][-1] - published) < 2.6 / 1.96 * np.hypot(half, 0.00043)


def test_range_of_kuhns_equilibria() -> None:
    """Kuhn (1950): the first player bets a jack with 0 to 1/3, and a king thrice as often."""
    tree = PublicTree.of("kuhn")
    form = SequenceForm(tree.betting, tree.cells, tree.layout, tree.payoffs)
    ones = np.ones(len(tree.cells.root[0].multiplicity))
    payoffs = form.payoff_matrix((ones, ones)) / 6
    programme = Programme(payoffs, form.constraints(0), form.constraints(1))
    value, *_ = solve_programme(programme)
    assert value == pytest.approx(-1 / 18)
    face = OptimalFace(programme, value)
    bets = next(form.decisions(0, np.arange(1.0, 1 + form.layout.num_slots[0])))[1].astype(int)
    for hand, most in ((0, 1 / 3), (1, 0.0), (2, 1.0)):
        measure = np.zeros(payoffs.shape[0])
        measure[bets[hand]] = 1.0
        assert face.furthest(measure)[bets[hand]] == pytest.approx(most, abs=1e-6)
        assert face.furthest(-measure)[bets[hand]] == pytest.approx(0, abs=1e-6)
    other = OptimalFace(Programme(-payoffs.T.tocsr(), programme.other, programme.own), -value)
    plans = [other.furthest(np.random.default_rng(k).normal(size=payoffs.shape[1])) for k in range(3)]
    assert plans[0] == pytest.approx(plans[1], abs=1e-6)  # the second player's equilibrium is unique
    assert plans[0] == pytest.approx(plans[2], abs=1e-6)


@pytest.fixture(scope="module")
def leduc() -> LeducAbstractions:
    return LeducAbstractions()


def test_plans_and_probabilities(leduc: LeducAbstractions) -> None:
    first, _ = leduc.full
    table = np.random.default_rng(0).random(first.form.layout.num_slots[0])
    for decision in first.form.decisions(0, table):
        decision /= decision.sum(axis=0)
    again = first.form.probabilities(0, first.form.plan(0, table))
    assert again == pytest.approx(table, abs=1e-9)


def test_without_abstraction_nothing_is_lost(leduc: LeducAbstractions) -> None:
    values = leduc.values_of("full", "full", 2, np.random.default_rng(0))
    assert values.base == pytest.approx(0, abs=1e-4)
    assert values.on_face == pytest.approx((0, 0), abs=1e-4)
    assert values.on_both == pytest.approx((0, 0), abs=1e-4)
    # Whatever an equilibrium plays with some probability is a best response to any equilibrium.
    assert values.purified_seen == pytest.approx((0, 0), abs=1e-4)


def test_value_of_a_pair_as_strategies_meet(leduc: LeducAbstractions) -> None:
    """The same equilibria, walked by the engine instead of summed by sequences."""
    values = leduc.values_of("JQ.K", "J.QK", 1, np.random.default_rng(0))
    seen = leduc_abstraction("JQ.K"), leduc_abstraction("J.QK")
    full = PublicTree.of("leduc").abstracted_by(leduc_abstraction("full"))
    equilibrium = Strategy(full, _tables(leduc.full))
    won, purified, thresholded = list[float](), list[float](), list[float]()
    for player, pair in ((0, seen), (1, seen[::-1])):
        names = ("JQ.K", "J.QK") if player == 0 else ("J.QK", "JQ.K")
        abstract = Strategy(
            PublicTree.of("leduc").abstracted_by((pair[0], pair[1])), _tables(leduc.equilibria(*names))
        )
        for totals, treatment in ((won, "none"), (purified, "purify"), (thresholded, "threshold=0.15")):
            played = treated(abstract, Treatment.parse(treatment))
            totals.append(errai.expected_value(played, equilibrium).positions[player])
    assert values.base == pytest.approx(500 * sum(won), abs=1e-6)
    assert values.purified == pytest.approx(500 * sum(purified), abs=1e-6)
    assert values.by_threshold[THRESHOLDS.index(0.15)] == pytest.approx(500 * sum(thresholded), abs=1e-6)
    assert values.on_both.least <= values.on_face.least <= values.base + 1e-6
    assert values.base - 1e-6 <= values.on_face.most <= values.on_both.most
    assert values.by_threshold[0] == pytest.approx(values.base, abs=1e-6)
    assert not values.on_both.holds(-119.46)
    assert Range(-2.0, -1.0).holds(-2.009)


def _tables(equilibria: tuple[purification_leduc.Equilibria, ...]) -> tuple[np.ndarray, np.ndarray]:
    first, second = (one.form.probabilities(one.player, one.plan) for one in equilibria)
    return first, second


def test_the_commands(run_errai: RunErrai, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, _ = run_errai("reproduce", "purification-matrix", "--iterations", "2000", "--out", "new")
    assert status == 0
    assert "  unpurified ends below purified, as published: holds\n" in out
    assert (tmp_path / "new" / "purification-matrix.png").stat().st_size > 10_000
    chosen = {name: purification_leduc.PUBLISHED[name] for name in purification_leduc.SHOWN}
    monkeypatch.setattr(purification_leduc, "PUBLISHED", chosen)
    status, out, _ = run_errai("reproduce", "purification-leduc", "--iterations", "1", "--out", "new")
    assert status == 0
    assert "of both games 2 of 3;" in out
    with open(tmp_path / "new" / "purification-leduc-rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["strategy"] for row in rows] == list(chosen)
    assert float(rows[0]["base_published"]) == -59.97
    with open(tmp_path / "new" / "purification-leduc.csv", newline="") as file:
        assert next(csv.reader(file)) == ["threshold", *chosen]
