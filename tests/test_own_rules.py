"""Rules of one's own: what the documentation shows, refusals, and runs that are saved and resumed."""

import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import errai
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.runs.abstracted import solve_abstracted_against_full
from errai.runs.folder import RunFolder
from errai.solvers.solve import Solver, configured_rule
from errai.solvers.update_rules import RULES, FactorRule, Update, UpdateRule, is_recipe

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "update_rules.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
LEDUC = errai.load_game("leduc")
KUHN = errai.load_game("kuhn")
NAN = float("nan")


def rule_of(program: str, name: str) -> Any:
    """Return a class of the documentation without what is done with it there."""
    found: dict[str, Any] = {}
    exec(program[: program.index("run = ")], found)
    return found[name]


def assert_same_tables(one: Solver, other: Solver, names: tuple[str, ...]) -> None:
    for name in names:
        for first, second in zip(one.tables[name], other.tables[name], strict=True):
            assert first.tobytes() == second.tobytes()


# What the documentation shows; tests/test_docs.py runs it


def test_a_rule_takes_about_twenty_lines() -> None:
    assert len(PROGRAMS) == 2
    assert all(len(program.splitlines()) <= 26 for program in PROGRAMS)


def test_the_fused_example_is_what_it_says() -> None:
    fading = rule_of(PROGRAMS[0], "Fading")(half_life=2)
    half = 0.5**0.5
    assert fading.steps(4, 5).tolist() == [[[half, half, 0, half, 1]] * 2]
    assert fading.name == "Fading"
    assert not fading.goes_by_gains()


def test_the_example_by_gains_is_pcfr_plus_where_it_says_so() -> None:
    smooth = rule_of(PROGRAMS[1], "Smooth")
    one, other = (Solver(PublicTree.of(LEDUC), rule) for rule in (smooth(rate=1), RULES["pcfr+"]))
    for solver in (one, other):
        solver.run(5)
    for name in ("regrets", "averages", "predictions"):
        for first, second in zip(one.tables[name], other.tables[name], strict=True):
            assert first == pytest.approx(second, rel=1e-9, abs=1e-9)
    half = Solver(PublicTree.of(LEDUC), smooth())
    half.run(5)
    assert half.regrets[0] != pytest.approx(other.regrets[0], abs=1e-3)


# Rules as objects


class Reversed(UpdateRule):
    """CFR+ by gains, with every table written anew."""

    def apply(self, update: Update) -> None:
        tables = update.tables
        assert update.step.shape == (5,)
        tables["regrets"] = np.maximum(tables["regrets"] + update.gains, 0)
        tables["averages"] = tables["averages"] + update.played


def test_tables_may_be_replaced_and_a_fused_rule_may_go_by_gains() -> None:
    one, other = (Solver(PublicTree.of(LEDUC), rule) for rule in (Reversed(average_power=1), RULES["cfr+"]))
    for solver in (one, other):
        solver.run(10)
    for name in ("regrets", "averages"):
        for first, second in zip(one.tables[name], other.tables[name], strict=True):
            assert first == pytest.approx(second, abs=1e-9)


class Told(UpdateRule):
    """Plain CFR that keeps what it is told."""

    calls: ClassVar[list[tuple[int, int, list[float]]]] = []

    def steps(self, first: int, last: int) -> Any:
        steps = super().steps(first, last)
        steps[:, :, 0] = [[t + 0.25, t + 0.5] for t in range(first, last)]
        return steps

    def apply(self, update: Update) -> None:
        if len(update.gains) > 1:  # kernels are warmed up on a single slot
            self.calls.append((update.iteration, update.player, update.step.tolist()))
            UpdateRule.apply(self, update)


@pytest.mark.parametrize("alternating", [True, False])
def test_a_rule_is_told_who_has_learnt_and_when(alternating: bool) -> None:
    Told.calls.clear()
    solver = Solver(PublicTree.of(KUHN), Told(alternating=alternating))
    solver.run(2)
    solver.run(1)
    assert Told.calls == [
        (t, player, [t + own, 1, 0, 1, 1]) for t in (1, 2, 3) for player, own in ((0, 0.25), (1, 0.5))
    ]


def test_an_object_goes_wherever_a_name_goes() -> None:
    named = errai.solve(KUHN, "dcfr", 20)
    given = errai.solve(KUHN, FactorRule(name="mine", discount=(1.5, 0.0, 2.0)), 20)
    for one, other in zip(named.strategy.tables, given.strategy.tables, strict=True):
        assert one.tobytes() == other.tobytes()
    bluff = errai.load_game("bluff-1-1")
    assert isinstance(bluff, BluffRules)
    assert errai.solve(bluff, RULES["cfr+"], 10).values == errai.solve(bluff, "cfr+", 10).values
    spots = [
        errai.solve_spot(
            "2c3d4h5s7c", ("AA,KK", "QQ,JJ"), 10, 20, "50%", "50%", iterations=10, algorithm=algorithm
        )
        for algorithm in ("pcfr+", RULES["pcfr+"], RULES["cfr"])
    ]
    assert spots[0].algorithm == spots[1].algorithm == "pcfr+"
    assert spots[0].expected_values == spots[1].expected_values != spots[2].expected_values
    from errai.abstraction.named_groups import leduc_abstraction

    groups = leduc_abstraction("JQ.K")
    both = [solve_abstracted_against_full(LEDUC, groups, rule, 10) for rule in ("pcfr+", RULES["pcfr+"])]
    assert both[0].measurements[-1].exploitability == both[1].measurements[-1].exploitability


def test_options_given_beside_a_rule_win_over_its_own() -> None:
    rule = Reversed(delay=3, average_power=1)
    assert configured_rule(rule) is rule
    assert configured_rule(rule, alternating=False, delay=5) == Reversed(
        delay=5, average_power=1, alternating=False
    )
    assert (
        configured_rule("dcfr", discount=(1, 1, 1)).steps(1, 9).tolist()
        == RULES["linear-cfr"].steps(1, 9).tolist()
    )


def test_what_a_rule_plays_is_the_current_strategy() -> None:
    run = errai.solve(LEDUC, "pcfr+", 30)
    solver = Solver(PublicTree.of(LEDUC), RULES["pcfr+"])
    solver.run(30)
    for shown, played in zip(run.current.tables, solver.tables["predictions"], strict=True):
        assert shown.tobytes() == played.tobytes()
    measured = solver.measure(current=True).exploitability
    assert measured == errai.exploitability(run.current)
    assert measured != solver.measure().exploitability


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"delay": -1}, "the delay must be 0 or more iterations, not -1"),
        ({"delay": "soon"}, "invalid FactorRule: delay must be a whole number, not 'soon'"),
        ({"average_power": NAN}, "average_power of 'FactorRule' must be a number, not NaN"),
        (
            {"average_power": float("inf")},
            "weights the average must be finite and 0 or more, not inf",
        ),
        ({"discount": (1.0, NAN, 1.0)}, "discount of 'FactorRule' must be a number, not NaN"),
        ({"discount": (1.0, 1.0, -0.5)}, "gamma of the discount must be 0 or more, not -0.5"),
        (
            {"haste": 1},
            "invalid FactorRule: haste is unknown: expected name, alternating, delay, average_power",
        ),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        FactorRule(**options)


def test_tables_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="cannot have the tables regrets: expected names of letters"):

        class Twice(UpdateRule):
            extra_tables: ClassVar[tuple[str, ...]] = ("regrets",)

    with pytest.raises(UsageError, match="cannot have the tables a-b"):

        class Dashed(UpdateRule):
            extra_tables: ClassVar[tuple[str, ...]] = ("a-b",)

    with pytest.raises(UsageError, match="cannot play 'luck': expected one of its tables regrets, averages"):

        class Lucky(UpdateRule):
            source: ClassVar[str] = "luck"

    with pytest.raises(UsageError, match="Idle has tables of its own but no 'apply' that fills them"):

        class Idle(UpdateRule):
            extra_tables: ClassVar[tuple[str, ...]] = ("idle",)


def test_steps_that_cannot_be() -> None:
    class Short(UpdateRule):
        def steps(self, first: int, last: int) -> Any:
            return np.ones((last - first, 5))

    class Endless(UpdateRule):
        def steps(self, first: int, last: int) -> Any:
            steps = super().steps(first, last)
            steps[1:] /= 0.0
            return steps

    with pytest.raises(UsageError, match=r"the steps of 'Short' have shape \(3, 5\): expected \(3, 2, 5\)"):
        Solver(PublicTree.of(KUHN), Short()).run(3)
    with (
        np.errstate(all="ignore"),
        pytest.raises(UsageError, match="the steps of 'Endless' are not finite in iteration 2"),
    ):
        Solver(PublicTree.of(KUHN), Endless()).run(3)


# Saved and resumed


def test_a_rules_own_tables_are_saved_and_resumed(tmp_path: Path) -> None:
    whole = errai.solve(LEDUC, "pcfr+", 20, out=tmp_path / "whole")
    errai.solve(LEDUC, "pcfr+", 7, out=tmp_path / "parts")
    errai.solve(LEDUC, "pcfr+", 20, out=tmp_path / "parts", resume=True)
    saved = []
    for name in ("whole", "parts"):
        folder = RunFolder(tmp_path / name)
        arrays = sorted(path.name.rpartition("-")[0] for path in folder.path.glob("*.array"))
        assert arrays == [
            f"{table}-{player}" for table in ("averages", "predictions", "regrets") for player in (0, 1)
        ]
        saved.append(Solver(folder.tree(), RULES["pcfr+"]))
        folder.restore(saved[-1])
        assert saved[-1].iteration == 20
    assert_same_tables(saved[0], saved[1], names=("regrets", "averages", "predictions"))
    for one, other in zip(whole.current.tables, saved[0].tables["predictions"], strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_run_with_a_rule_of_ones_own_goes_on_with_that_rule_alone(tmp_path: Path) -> None:
    smooth = rule_of(PROGRAMS[1], "Smooth")
    whole = errai.solve(LEDUC, smooth(rate=0.3), 20)
    out = tmp_path / "run"
    errai.solve(LEDUC, smooth(rate=0.3), 8, out=out)
    with pytest.raises(UsageError, match=r"is a run with rate '0\.3', not '0\.4'"):
        errai.solve(LEDUC, smooth(rate=0.4), 20, out=out, resume=True)
    with pytest.raises(UsageError, match="is a run with algorithm 'Smooth', not 'pcfr\\+'"):
        errai.solve(LEDUC, "pcfr+", 20, out=out, resume=True)
    from errai.runs.job import prepare_resumed

    with pytest.raises(UsageError, match=r"by the rule 'Smooth' \(.*Smooth\), which Errai does not know"):
        prepare_resumed(out)
    resumed = errai.solve(LEDUC, smooth(rate=0.3), 20, out=out, resume=True)
    assert resumed.iterations == 20
    for one, other in zip(whole.strategy.tables, resumed.strategy.tables, strict=True):
        assert one.tobytes() == other.tobytes()
    assert errai.load_strategy(out).tables[0].tobytes() == whole.strategy.tables[0].tobytes()


def test_names_that_say_all_about_a_rule() -> None:
    assert all(is_recipe(rule) for rule in RULES.values())
    assert is_recipe(configured_rule("dcfr", False, 3, (1.0, 2.0, 3.0)))
    assert not is_recipe(RULES["cfr+"].with_options(average_power=2))
    assert not is_recipe(RULES["linear-cfr"].with_options(discount=(1.0, 1.0, 2.0)))
    assert not is_recipe(Reversed(name="cfr+"))
    assert not is_recipe(Reversed())


def test_infinite_exponents_are_saved_and_resumed(tmp_path: Path) -> None:
    out, discount = tmp_path / "run", (1.5, float("-inf"), 2.0)
    errai.solve(KUHN, "dcfr", 5, discount=discount, out=out)
    assert RunFolder(out).configuration.algorithm == configured_rule("dcfr", discount=discount)
    resumed = errai.solve(KUHN, "dcfr", 9, discount=discount, out=out, resume=True)
    whole = errai.solve(KUHN, "dcfr", 9, discount=discount)
    for one, other in zip(whole.strategy.tables, resumed.strategy.tables, strict=True):
        assert one.tobytes() == other.tobytes()
