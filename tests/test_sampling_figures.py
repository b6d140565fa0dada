"""Figures of sampled solvers and CFR-BR, on games that take no time."""

from typing import Any

import numpy as np
import pytest

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.engine.public_tree import PublicTree
from errai.experiments import abstracted_holdem, thesis_figure_3_3, thesis_figure_3_6, thesis_figure_4_1
from errai.experiments.bluff_stage import first_stage
from errai.experiments.figure import PAPER, QUICK, Curves, Size, compare
from errai.experiments.registry import find_figure
from errai.games.catalogue import load_card_game
from errai.solvers.public_sampling import PublicSampledSolver
from errai.solvers.sampled import SampledSolver
from errai.solvers.table_solver import TableSolver

CURVES = {
    ("thesis-figure-3.2", "leduc"): ["CS in leduc", "OPCS in leduc", "SPCS in leduc", "PCS in leduc"],
    ("thesis-figure-3.5", "bluff-1-1"): ["CS", "PCS"],
    ("thesis-figure-3.6", "bluff-1-1"): ["CS", "PCS"],
    ("thesis-figure-4.3", "leduc"): ["CFR (PCS)", "CFR-BR average", "CFR-BR current"],
}


@pytest.mark.parametrize(("name", "game"), CURVES)
def test_races(name: str, game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thesis_figure_3_6, "OPPONENT_ITERATIONS", 300)
    told: list[tuple[str, int, int]] = []
    figure = find_figure(name)
    curves = figure.draw(Size(0.5, 1, (game,)), 3, lambda *one: told.append(one))
    assert list(curves.values) == CURVES[name, game]
    assert curves.points == [0.25, 0.354, 0.5]
    for values in curves.values.values():
        assert np.isfinite(values).all()
        assert min(values) > 0  # nobody is at an equilibrium, or wins from one
    assert told[-1][1:] == (told[-1][2], told[-1][2])
    # All that the thesis says of the curves is looked at in the paper's games, and what is of these here.
    assert {claim.below for claim in compare(figure, curves).claims} <= set(curves.values)
    assert figure.sizes[QUICK].amount < figure.sizes[PAPER].amount


def test_claims_of_races_are_about_curves_that_there_are() -> None:
    for name in ("thesis-figure-3.2", "thesis-figure-3.5", "thesis-figure-3.6", "thesis-figure-4.3"):
        figure = find_figure(name)
        assert figure.claims
        if name != "thesis-figure-3.2":
            named = {curve for claim in figure.claims for curve in claim}
            assert named <= set(CURVES[name, "leduc" if name.endswith("4.3") else "bluff-1-1"])
    race = find_figure("thesis-figure-3.2")
    assert race.sizes[PAPER].parts == ("holdem-2-1", "holdem-2-4")
    assert {curve.split(" in ")[1] for claim in race.claims for curve in claim} == set(
        race.sizes[PAPER].parts
    )


def pretend_pace(monkeypatch: pytest.MonkeyPatch, solver: type[TableSolver], an_iteration: float) -> None:
    """Let iterations of a kind of solver take so many seconds, whatever else the machine does."""
    run = solver.run

    def run_and_count(self: TableSolver, iterations: int) -> None:
        run(self, iterations)
        self.seconds = self.iteration * an_iteration

    monkeypatch.setattr(solver, "run", run_and_count)


def test_races_in_abstract_games(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_pace(monkeypatch, SampledSolver, 2**-20)
    pretend_pace(monkeypatch, PublicSampledSolver, 2**-13)
    monkeypatch.setattr(thesis_figure_3_3, "GAME", "leduc")
    monkeypatch.setattr(thesis_figure_3_3, "NUM_BOARDS", 60)
    monkeypatch.setattr(thesis_figure_3_3, "FIRST_POINT", 0.1)
    figure = find_figure("thesis-figure-3.3")
    curves = figure.draw(Size(0.2, 2, ("2", "3")), 3, lambda *_: None)
    names = ["CS in 2 buckets", "PCS in 2 buckets", "CS in 3 buckets", "PCS in 3 buckets"]
    assert list(curves.values) == names
    assert list(curves.beside) == [
        f"{name}, {what}" for name in names for what in ("cross-validated", "iterations", "visits")
    ]
    assert curves.points == [0.1, 0.2]
    for name in names:
        above, below = curves.values[name], curves.beside[f"{name}, cross-validated"]
        # Equal where one response is best on every part of the boards, as it can be with 2 buckets.
        assert all(low <= high * (1 + 1e-9) for low, high in zip(below, above, strict=True))
        assert name in names[:2] or below[-1] < 0.95 * above[-1]
        assert any(note.startswith(f"{name}: {above[-1]:.1f} mbb/g") for note in curves.notes)
    ahead = min(names[2:], key=lambda name: curves.values[name][-1])
    assert curves.notes[-2] == f"{ahead} is ahead at the end"
    for cs, pcs in (names[:2], names[2:]):
        cs_done, pcs_done = (curves.beside[f"{name}, iterations"] for name in (cs, pcs))
        assert (cs_done, pcs_done) == ([104_858, 209_716], [820, 1639])
        buckets = cs[len("CS in ") :]
        (told,) = (note for note in curves.notes if f" with {buckets} an iteration of PCS is worth " in note)
        target = max(curves.values[cs][-1], curves.values[pcs][-1])
        assert told.startswith(f"at {target:.1f} mbb/g ")
        assert "it takes as long as 128 and" in told


def test_what_an_iteration_of_pcs_is_worth() -> None:
    """CS needs 1,000 iterations where PCS, between 10 and 40, needs 20."""
    names = ("CS in 7 buckets", "PCS in 7 buckets")
    done = {"CS in 7 buckets": [100.0, 1000.0], "PCS in 7 buckets": [10.0, 40.0]}
    values: dict[str, list[float]] = {"CS in 7 buckets": [80.0, 20.0], "PCS in 7 buckets": [40.0, 10.0]}
    beside: dict[str, Any] = {f"{name}, iterations": done[name] for name in names}
    beside |= {
        f"{name}, visits": [0.0, done[name][-1] * each] for name, each in zip(names, (3, 600), strict=True)
    }
    found = Curves([1.0, 2.0], dict(values), beside=beside)
    assert thesis_figure_3_3._worth(found, "7") == (
        "at 20.0 mbb/g with 7 buckets an iteration of PCS is worth 50 of CS's; it takes as long as 25 "
        "and makes as many visits as 200"
    )


def test_visits_of_decisions_with_a_hand() -> None:
    """Leduc has 6 decisions in the first round and 30 in the second: 3 hands there, and on a board 2 or 3."""
    tree = PublicTree.of("leduc")
    saved = thesis_figure_3_3._abstraction(tree, "3", lambda *_: None)
    pcs = thesis_figure_3_3._solver(tree, saved, "pcs", 0)
    pcs.run(10)
    assert 2 * 10 * (6 * 3 + 30 * 2) <= thesis_figure_3_3.num_visits(pcs) <= 2 * 10 * (6 * 3 + 30 * 3)
    cs = thesis_figure_3_3._solver(tree, saved, "cs", 0)
    cs.run(10)
    assert 0 < thesis_figure_3_3.num_visits(cs) <= 2 * 10 * 36


def test_abstract_games_that_do_not_fit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thesis_figure_3_3, "GAME", "leduc")
    monkeypatch.setattr(thesis_figure_3_3, "NUM_BOARDS", 60)
    monkeypatch.setattr(thesis_figure_3_3, "FIRST_POINT", 0.1)
    curves = find_figure("thesis-figure-3.3").draw(Size(0.1, 1, ("4", "2")), 3, lambda *_: None)
    assert list(curves.values) == ["CS in 2 buckets", "PCS in 2 buckets"]
    assert curves.left_out[0].startswith("4 buckets a round are left out: the number of buckets in round 1")


def test_claims_about_abstract_games_name_the_games_of_the_thesis() -> None:
    figure = find_figure("thesis-figure-3.3")
    assert figure.claims == (
        ("CS in 5 buckets", "PCS in 5 buckets"),
        ("PCS in 8 buckets", "CS in 8 buckets"),
        ("PCS in 10 buckets", "CS in 10 buckets"),
        ("PCS in 12 buckets", "CS in 12 buckets"),
    )
    assert figure.sizes[QUICK].parts == ("2", "5", "8")
    assert figure.sizes[PAPER].parts == ("2", "5", "8", "10", "12")
    assert thesis_figure_3_3.recipe("8", 4) == "PR-PHS 8x1-8x1-8x1-8"


def test_rounds_with_fewer_dice_are_worth_what_they_are_solved_for() -> None:
    stage = first_stage("bluff-2-1")
    assert stage.dice == (2, 1)
    solved = errai.solve("bluff-1-1", iterations=1000)
    # Whoever has two dice and loses the round goes on with one, and does not start.
    assert stage.tree.round_values == pytest.approx((1.0, -solved.values[1, 1]), abs=1e-9)


def test_abstract_and_real_exploitability_part_ways() -> None:
    figure = find_figure("thesis-figure-4.1")
    curves = figure.draw(Size(1000, 1, ("leduc",)), 0, lambda *_: None)
    abstract, real, lowest = (np.array(values) for values in curves.values.values())
    assert list(lowest) == [min(real[: n + 1]) for n in range(len(real))]
    turn = int(real.argmin())
    assert real[0] > 2 * real[turn]  # it falls,
    assert real[-1] > 1.05 * real[turn]  # and rises again,
    assert abstract[-1] < 0.5 * abstract[turn]  # while the abstract game goes on falling
    found = compare(figure, curves).claims
    assert [claim.holds for claim in found] == [True, True]
    assert f"lowest at iteration {curves.points[turn]:,} " in curves.notes[0]


def test_buckets_of_hold_em_are_those_of_its_own_strength() -> None:
    game = load_card_game("holdem-2-1")
    assert thesis_figure_4_1._abstraction(game, 0).name == "PR-PHS-PHS 5-5"
    assert find_figure("thesis-figure-4.1").sizes[PAPER].parts == ("leduc", "holdem-2-4")


def test_cfr_br_beside_the_full_walk() -> None:
    """In Leduc with a coarse abstraction: CFR-BR comes to what learning against a full opponent finds."""
    game, abstraction = load_card_game("leduc"), leduc_abstraction("JQ.K")
    points = [10, 400]
    full = abstracted_holdem.abstraction_curves(game, abstraction, points, lambda *_: None, 1)
    told: list[tuple[str, int, int]] = []
    for trunk in (1, 2):
        found = abstracted_holdem.response_curves(
            game, abstraction, trunk, points, lambda *one: told.append(one), samples=200, num_threads=1
        )
        average, current = (f"{what}, {trunk}-round trunk" for what in ("CFR-BR average", "CFR-BR current"))
        assert list(found) == [average, current]
        assert found[average][-1] == pytest.approx(full.against_full[-1], rel=0.08)
        assert found[average][-1] < 0.5 * full.both[-1]
        assert found[average][0] > found[average][-1]
        assert found[current] != found[average]
        other = abstracted_holdem.response_curves(
            game, abstraction, trunk, [10], lambda *_: None, samples=20, num_threads=1, seed=1
        )
        same = abstracted_holdem.response_curves(
            game, abstraction, trunk, [10], lambda *_: None, samples=20, num_threads=1
        )
        assert other != same  # another seed samples other sub-games
    assert [one[1:] for one in told] == 2 * [(10, 400), (400, 400)]
    for name in ("thesis-figure-4.4", "thesis-figure-4.5"):
        ends = dict(find_figure(name).ends)
        assert {ends[f"CFR-BR average, {trunk}-round trunk"] for trunk in (1, 2)} == {ends["A-vs-U"]}
