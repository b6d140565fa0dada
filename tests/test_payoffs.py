"""Payoffs: single leaves by hand, whole games against the twin; what is measured, saved and refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.payoffs import naive_house, naive_pay
from test_traversal import GAMES, MODES, UPDATES, Pair, game_pair, random_tables, spot_pair

import errai
from errai.cards.deck import Deck
from errai.engine.public_tree import PublicTree
from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.payoffs import PLAIN, Payoffs
from errai.games.rules import PokerRules
from errai.runs.folder import RunFolder
from errai.solvers.sequence_form import solve_sequence_form
from errai.strategy.strategy import Strategy
from errai.tree.betting_tree import FOLD, SHOWDOWN, build_betting_tree
from errai.tree.cells import game_cells
from errai.tree.walk import first_board_round, walk_tree

NO_STEP = np.zeros(5)
ORANGE = (7.0, 0.0, 0.0, 7.0)
RED = (0.0, -7.0, 0.0, 0.0)
GREEN = (0.0, -7.0, 0.0, -7.0)
RAKED = Payoffs(rake=0.05, rake_cap=3)
ZERO_SUM_TILT = Payoffs(tilt=((7, -3, 2, 5), (-3, 7, 5, 2)))
"""What one player gets more the other loses more."""

CONSTANT_RAKE = Payoffs(rake=0.5, rake_cap=0.5, no_flop_no_drop=False)
"""Half a chip from every pot of one chip or more."""

UNEVEN = PokerRules(
    name="uneven-stacks",
    deck=Deck("JQK", "hs"),
    num_hole_cards=1,
    num_board_cards=(0, 1),
    blinds=(2, 1),
    raise_sizes=(3, 3),
    max_raises=(1, 1),
    first_player=(1, 0),
    stacks=(9, 4),
)
"""A raise to 5 is called with the 4 chips that are left."""


def poker(name: str) -> PokerRules:
    rules = errai.load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


# Single leaves


@pytest.mark.parametrize(
    ("payoffs", "stake", "dealt", "expected"),
    [
        (Payoffs(), 10, True, (10, 0, -10, -10, 10)),
        (RAKED, 10, True, (9, -0.5, -10, -10, 9)),
        (RAKED, 50, True, (47, -1.5, -50, -50, 47)),  # 5 without the cap
        (RAKED, 50, False, (50, 0, -50, -50, 50)),
        (Payoffs(rake=0.05, rake_cap=3, no_flop_no_drop=False), 50, False, (47, -1.5, -50, -50, 47)),
        (Payoffs(rake=0.05), 50, True, (45, -2.5, -50, -50, 45)),
        (Payoffs(tilt=ORANGE), 10, True, (10.7, 0, -10, -10, 10.7)),
        (Payoffs(tilt=RED), 10, True, (10, 0, -9.3, -10, 10)),  # a smaller penalty
        (Payoffs(tilt=GREEN), 10, True, (10, 0, -9.3, -10, 9.3)),
        (Payoffs(tilt=(0, 0, 20, 0)), 10, True, (10, 0, -10, -12, 10)),
        (Payoffs(rake=0.05, tilt=(10, 0, 0, 20)), 10, True, (9.9, -0.5, -10, -10, 10.8)),
    ],
)
def test_what_a_leaf_is_worth(
    payoffs: Payoffs, stake: float, dealt: bool, expected: tuple[float, ...]
) -> None:
    stakes, seen = np.array([stake], dtype=np.float64), np.array([dealt])
    for player in (0, 1):
        shown = payoffs.showdown_values(player, stakes, seen)[0].tolist()
        folds = [payoffs.fold_values(player, stakes, seen, np.array([folded]))[0] for folded in (True, False)]
        assert [*shown, *folds] == pytest.approx(expected, abs=1e-12)


def test_each_position_has_its_own_tilt() -> None:
    payoffs = Payoffs(tilt=(ORANGE, GREEN))
    one, seen = np.ones(1), np.ones(1, dtype=bool)
    assert payoffs.showdown_values(0, one, seen)[0] == pytest.approx([1.07, 0, -1])
    assert payoffs.showdown_values(1, one, seen)[0] == pytest.approx([1, 0, -0.93])
    assert payoffs.fold_values(0, one, seen, ~seen)[0] == pytest.approx(1.07)
    assert payoffs.fold_values(1, one, seen, ~seen)[0] == pytest.approx(0.93)


@st.composite
def any_payoffs(draw: st.DrawFn) -> Payoffs:
    values: dict[str, Any] = {}
    if draw(st.booleans()):
        values["rake"] = draw(st.floats(1e-6, 0.99))
        values["rake_cap"] = draw(st.none() | st.floats(1e-3, 1e6))
        values["no_flop_no_drop"] = draw(st.booleans())
    percent = st.floats(-100, 100)
    tilt = st.tuples(percent, percent, percent, percent)
    if draw(st.booleans()):
        values["tilt"] = draw(tilt | st.tuples(tilt, tilt))
    return Payoffs(**values)


@given(any_payoffs())
def test_text_there_and_back(payoffs: Payoffs) -> None:
    assert Payoffs.parse(payoffs.describe()) == payoffs
    assert Payoffs.model_validate(json.loads(payoffs.model_dump_json())) == payoffs


@pytest.mark.parametrize(
    ("text", "payoffs"),
    [
        ("plain", Payoffs()),
        ("rake 7%", Payoffs(rake=0.07)),
        (" RAKE 5 %  cap 3.5 always", Payoffs(rake=0.05, rake_cap=3.5, no_flop_no_drop=False)),
        ("tilt 7, 0,0 ,7", Payoffs(tilt=(ORANGE, ORANGE))),
        ("tilt 7,0,0,7 / 0,-7,0,0; rake 5%", Payoffs(rake=0.05, tilt=(ORANGE, RED))),
        ("tilt 0,0,0,0", PLAIN),
    ],
)
def test_texts(text: str, payoffs: Payoffs) -> None:
    assert Payoffs.parse(text) == payoffs
    assert Payoffs.of(text) == payoffs == Payoffs.of(payoffs)
    assert hash(Payoffs.parse(text)) == hash(payoffs)


def test_descriptions_are_short() -> None:
    described = [payoffs.describe() for payoffs in (PLAIN, RAKED, CONSTANT_RAKE, Payoffs(tilt=ORANGE))]
    assert described == ["plain", "rake 5% cap 3", "rake 50% cap 0.5 always", "tilt 7,0,0,7"]
    assert Payoffs(rake=0.07, tilt=(ORANGE, RED)).describe() == "rake 7%; tilt 7,0,0,7 / 0,-7,0,0"
    assert Payoffs.of(None) is PLAIN


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' are not payoffs"),
        ("rake", "'rake' are not payoffs"),
        ("rake 5", "'rake 5' are not payoffs"),
        ("rake five%", "'five' is not a number"),
        ("rake 5% cap", "'rake 5% cap' are not payoffs"),
        ("rake 5%; rake 6%", "one rake and one tilt at most"),
        ("plain; rake 5%", "'plain; rake 5%' are not payoffs"),
        ("rake 100%", "rake of payoffs must be .*, not 1.0"),
        ("rake 5% cap 0", "rake_cap of payoffs must be .*, not 0.0"),
        ("rake 0% cap 3", "go with a rake above 0"),
        ("tilt 7,0,0", "tilt of payoffs must be four percentages"),
        ("tilt 7,0,0,7/1", "tilt of payoffs must be four percentages"),
        ("tilt 7,0,0,-101", "tilt of payoffs must be four percentages"),
        ("tilt 7,0,0,nan", "'nan' is not a number"),
    ],
)
def test_bad_texts_are_told(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as told:
        Payoffs.parse(text)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"rake": -0.1}, "rake of payoffs must be a part of the pot .*, not -0.1"),
        ({"rake": "5%"}, "rake of payoffs must be .*, not '5%'"),
        ({"rake": float("nan")}, "rake of payoffs must be .*, not nan"),
        ({"rake": 0.1, "rake_cap": -1}, "rake_cap of payoffs must be a number of chips .*, not -1"),
        ({"rake_cap": 3}, "go with a rake above 0"),
        ({"no_flop_no_drop": False}, "go with a rake above 0"),
        (
            {"rake": 0.1, "no_flop_no_drop": "maybe"},
            "no_flop_no_drop of payoffs must be true or false, not 'maybe'",
        ),
        ({"tilt": 7}, "tilt of payoffs must be four percentages .*, not 7"),
        ({"tilt": (ORANGE, RED, GREEN)}, "tilt of payoffs must be four percentages"),
        ({"rakes": 0.1}, "unknown key 'rakes' of payoffs: expected rake, rake_cap, no_flop_no_drop, tilt"),
    ],
)
def test_bad_values_are_told(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as told:
        Payoffs(**values)
    assert "\n" not in str(told.value)


def test_which_payoffs_are_zero_sum() -> None:
    assert PLAIN.is_zero_sum
    assert ZERO_SUM_TILT.is_zero_sum
    assert Payoffs(tilt=(7, 7, 5, 5)).is_zero_sum
    for payoffs in (
        RAKED,
        CONSTANT_RAKE,
        Payoffs(tilt=ORANGE),
        Payoffs(tilt=RED),
        Payoffs(tilt=(0, 0, 1, 0)),
    ):
        assert not payoffs.is_zero_sum
    assert PLAIN.is_plain
    assert not ZERO_SUM_TILT.is_plain


# Leaves of trees


def leaf_table(rules: PokerRules, payoffs: Payoffs) -> dict[tuple[int, int], list[float]]:
    """Return by (player, node) win, fold, tie and lose of leaves, as kernels see them."""
    tree, cells = build_betting_tree(rules), game_cells(rules)
    plan = walk_tree(tree, payoffs=payoffs, board_round=first_board_round(cells.boards)).plan
    first_of_second = int(plan.entries[0, 9])
    found: dict[tuple[int, int], list[float]] = {}
    for leaf, (_, showdown, fold) in enumerate(plan.leaves.tolist()):
        values = plan.leaf_chips[leaf].tolist()
        player = int(leaf >= first_of_second)
        if showdown >= 0:
            found[player, showdown] = [values[0], *values[2:]]
        if fold >= 0:
            found[player, fold] = [values[1]]
    return found


def test_no_flop_no_drop() -> None:
    """Leduc: folds of the first round pay no rake, those of the second and showdowns do."""
    rules = poker("leduc")
    tree = build_betting_tree(rules)
    for rule in (True, False):
        table = leaf_table(rules, Payoffs(rake=0.1, no_flop_no_drop=rule))
        for (player, node), values in table.items():
            stake = float(tree.chips[node].min())
            rake = 0.0 if rule and tree.round[node] == 0 else 0.2 * stake
            if tree.kind[node] == FOLD:
                assert values == pytest.approx([-stake if tree.player[node] == player else stake - rake])
            else:
                assert values == pytest.approx([stake - rake, -rake / 2, -stake])
        assert len(table) == 2 * int(np.isin(tree.kind, (FOLD, SHOWDOWN)).sum())


def test_games_without_public_cards_are_raked() -> None:
    table = leaf_table(poker("kuhn"), Payoffs(rake=0.1))
    assert sorted({value for values in table.values() for value in values}) == pytest.approx(
        [-2, -1, -0.2, -0.1, 0.8, 1.6]
    )


def test_plain_and_symmetric_payoffs_take_the_short_path() -> None:
    tree = build_betting_tree(poker("leduc"))
    assert walk_tree(tree).plan.leaf_chips.shape[1] == 2
    assert walk_tree(tree, payoffs=Payoffs(tilt=(7, 7, 0, 3))).plan.leaf_chips.shape[1] == 2
    for payoffs in (RAKED, Payoffs(tilt=ORANGE), Payoffs(tilt=(ORANGE, (0, 0, 0, 0)))):
        assert walk_tree(tree, payoffs=payoffs).plan.leaf_chips.shape[1] == 4


# Whole games against the twin


def random_payoffs(rng: np.random.Generator) -> Payoffs:
    """Return a rake with or without a cap that is felt, and a tilt for each position."""
    return Payoffs(
        rake=float(rng.uniform(0.02, 0.3)),
        rake_cap=float(rng.uniform(0.2, 1.5)) if rng.random() < 0.7 else None,
        no_flop_no_drop=bool(rng.random() < 0.6),
        tilt=tuple(tuple(rng.uniform(-40, 40, 4).tolist()) for _ in range(2)),
    )


def paid_pair(pair: Pair, payoffs: Payoffs) -> tuple[Traversal, Pair]:
    walk = Traversal(pair.tree, pair.cells, np.float64, 1, pair.initial, payoffs=payoffs)
    return walk, replace(pair, naive=replace(pair.naive, pay=naive_pay(payoffs)))


PAIRS: dict[str, Callable[[], Pair]] = {
    **{name: partial(game_pair, rules) for name, rules in GAMES.items()},
    "uneven": lambda: game_pair(UNEVEN),
    "spot": lambda: spot_pair(0),
    "other-spot": lambda: spot_pair(1),
}


@pytest.fixture(scope="module", params=list(PAIRS))
def pair(request: pytest.FixtureRequest) -> Pair:
    return PAIRS[request.param]()


@pytest.mark.parametrize("seed", range(3))
def test_values_against_the_twin(pair: Pair, seed: int) -> None:
    rng = np.random.default_rng(seed)
    payoffs = [RAKED, Payoffs(tilt=ORANGE), random_payoffs(rng)][seed]
    walk, paid = paid_pair(pair, payoffs)
    tables = random_tables(pair.layout, rng)
    naive = replace(paid.naive, source=pair.spread(tables))
    bound = pair.layout.tables(tables, tables, tables)
    for mode in ("evaluate", "best"):
        for player in (0, 1):
            values = walk.walk_once(player, MODES[mode], bound, NO_STEP)
            expected = naive.values(player, mode)
            for hand in naive.weights[player]:
                cell = pair.place(player, 0, hand, pair.naive.board)[1]
                assert values[cell] == pytest.approx(expected[hand], abs=1e-10)


@pytest.mark.parametrize("rule", ["cfr+", "dcfr"])
def test_learning_against_the_twin(pair: Pair, rule: str) -> None:
    rng = np.random.default_rng(9)
    payoffs = random_payoffs(rng)
    walk, paid = paid_pair(pair, payoffs)
    # From zero, regrets that cancel would decide by their rounding: start from random ones.
    drawn = [np.abs(rng.normal(size=size)) for size in pair.layout.num_slots]
    regrets, averages = (drawn[0], drawn[1]), pair.layout.zeros(np.float64)
    table = pair.spread(regrets)
    steps = np.array([[UPDATES[rule](t)] * 2 for t in (1, 2)])
    walk.learn(pair.layout.tables(regrets, regrets, averages), steps)
    naive = replace(paid.naive, source=table, regrets=table, averages={})
    for step in steps.tolist():
        for player in (0, 1):
            naive.values(player, "learn", step[player])
    pair.verify(regrets, naive.regrets)
    pair.verify(averages, naive.averages)


# By hand: Kuhn


def kuhn_value(chance: dict[tuple[str, str], dict[str, float]], rake: float) -> tuple[float, float]:
    """Return what both get in Kuhn poker where every pot is raked, line by line.

    Args:
        chance: by (betting so far, hand) the probability of each action.
        rake: part of the pot.
    """
    lines = {"cc": 1, "crf": 1, "crc": 2, "rf": 1, "rc": 2}
    totals = [0.0, 0.0]
    for first, second in permutations("JQK", 2):
        for line, stake in lines.items():
            probability = 1 / 6
            for place, action in enumerate(line):
                hand = (first, second)[place % 2]
                probability *= chance[line[:place], hand][action]
            if line.endswith("f"):
                winner = len(line) % 2  # whoever did not act last
            else:
                winner = 0 if "JQK".index(first) > "JQK".index(second) else 1
            totals[winner] += probability * (2 * stake * (1 - rake) - stake)
            totals[1 - winner] -= probability * stake
    return totals[0], totals[1]


def test_raked_kuhn_line_by_line() -> None:
    rules = poker("kuhn")
    rng = np.random.default_rng(4)
    tables = random_tables(PublicTree.of(rules).layout, rng)
    strategy = Strategy(PublicTree.of(rules), tables)
    chance = {
        (betting, hand): strategy.probabilities(betting, hand)
        for betting in ("", "c", "r", "cr")
        for hand in "JQK"
    }
    for rake in (0.0, 0.05, 0.3):
        payoffs = Payoffs(rake=rake) if rake else PLAIN
        found = errai.expected_value(strategy, strategy, payoffs)
        assert found.positions == pytest.approx(kuhn_value(chance, rake), abs=1e-12)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_players_together_lose_the_rake(name: str) -> None:
    rules = poker(name)
    payoffs = Payoffs(rake=0.08, rake_cap=0.4)
    run = errai.solve(rules, iterations=60, payoffs=payoffs)
    game = game_pair(rules)
    naive = replace(game.naive, source=game.spread(run.strategy.tables))
    house = replace(naive, pay=naive_house(payoffs))
    rake = house.mean_value(0, house.values(0, "evaluate"))
    positions = errai.expected_value(run.strategy, run.strategy).positions
    assert rake > 0.05
    assert sum(positions) == pytest.approx(-rake, abs=1e-12)
    paid = replace(naive, pay=naive_pay(payoffs))
    measured = errai.exploitability(run.strategy)
    best = [paid.mean_value(player, paid.values(player, "best")) for player in (0, 1)]
    assert measured.best_response_values == pytest.approx(best, abs=1e-12)
    assert measured.profile_values == pytest.approx(positions, abs=1e-12)
    assert measured.chips == pytest.approx((sum(best) + rake) / 2, abs=1e-12)
    assert measured.payoffs == "rake 8% cap 0.4"
    assert 0 <= measured.chips < 0.03


# What is measured


def test_zero_sum_payoffs_are_measured_as_plain_poker_is() -> None:
    run = errai.solve(poker("leduc"), iterations=50, payoffs=ZERO_SUM_TILT)
    measured = errai.exploitability(run.strategy)
    assert measured.profile_values is None
    assert measured.chips == sum(measured.best_response_values) / 2
    assert sum(errai.expected_value(run.strategy, run.strategy).positions) == pytest.approx(0, abs=1e-12)
    assert errai.exploitability(run.strategy, "plain").payoffs == "plain"


def test_payoffs_larger_by_the_same_percent_scale_everything() -> None:
    uniform = errai.uniform_strategy(poker("leduc"))
    plain, more = errai.exploitability(uniform), errai.exploitability(uniform, "tilt 10,10,10,10")
    assert more.best_response_values == pytest.approx(1.1 * np.array(plain.best_response_values), abs=1e-12)


def test_tilted_solution_in_the_unmodified_game() -> None:
    """As in table 2.3 of the thesis: solved with a tilt, measured without."""
    rules = poker("leduc")
    tilted = errai.solve(rules, iterations=400, payoffs=Payoffs(tilt=ORANGE))
    plain = errai.solve(rules, iterations=400)
    same_tables = Strategy(PublicTree.of(rules), tilted.strategy.tables)
    measured = errai.exploitability(tilted.strategy, payoffs="plain")
    assert measured == errai.exploitability(same_tables)
    # Worth 7% more to the winner: it is close to a solution of its own game, and off that of the real one.
    assert errai.exploitability(tilted.strategy).payoffs == "tilt 7,0,0,7"
    assert errai.exploitability(tilted.strategy).chips < 0.01
    assert errai.exploitability(plain.strategy).chips < measured.chips < 0.2
    # What the tilted players believe they win together is 7% of what changes hands.
    believed = errai.expected_value(tilted.strategy, tilted.strategy).positions
    game = game_pair(rules)
    house = replace(
        game.naive,
        source=game.spread(tilted.strategy.tables),
        pay=lambda player, how, stake, dealt: 0.0 if how == "tie" else stake,
    )
    assert sum(believed) == pytest.approx(0.07 * house.mean_value(0, house.values(0, "evaluate")), abs=1e-12)


def test_strategies_of_other_payoffs_are_compared_only_when_told() -> None:
    rules = poker("kuhn")
    raked = errai.solve(rules, iterations=20, payoffs="rake 5%").strategy
    plain = errai.solve(rules, iterations=20).strategy
    with pytest.raises(
        UsageError, match=r"and the other with 'plain': expected 'payoffs' that say which count"
    ):
        errai.expected_value(raked, plain)
    assert sum(errai.expected_value(raked, plain, "plain").positions) == pytest.approx(
        -sum(errai.expected_value(plain, raked, PLAIN).positions), abs=1e-12
    )


def test_dice_games_take_no_payoffs() -> None:
    game = errai.load_game("bluff-1-1")
    assert isinstance(game, BluffRules)
    with pytest.raises(UsageError, match="dice game"):
        errai.solve(game, payoffs="rake 5%")
    with pytest.raises(UsageError, match="dice game"):
        errai.exploitability(errai.solve(game, iterations=2).strategy, payoffs="plain")


# The linear programme


def test_constant_sum_games_are_solved_exactly() -> None:
    tree = PublicTree.of(poker("kuhn"), payoffs=CONSTANT_RAKE)
    exact = solve_sequence_form(tree.betting, tree.cells, payoffs=CONSTANT_RAKE)
    # The winner pays: that is another game, of another value than -1/18 - 1/4.
    assert exact.value == pytest.approx(-17 / 60, abs=1e-9)
    measured = errai.exploitability(
        errai.solve(poker("kuhn"), algorithm="lp", payoffs=CONSTANT_RAKE).strategy
    )
    assert measured.best_response_values == pytest.approx([-17 / 60, 17 / 60 - 0.5], abs=1e-9)
    assert measured.chips == pytest.approx(0, abs=1e-9)


def test_raked_ties_count_in_the_linear_programme() -> None:
    """Leduc, where hands tie and both pay half: no best response gains, and together they lose the rake."""
    measured = errai.exploitability(
        errai.solve(poker("leduc"), algorithm="lp", payoffs=CONSTANT_RAKE).strategy
    )
    assert sum(measured.best_response_values) == pytest.approx(-0.5, abs=1e-8)
    assert measured.chips == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_zero_sum_tilts_are_solved_exactly(name: str) -> None:
    rules = poker(name)
    exact = errai.solve(rules, algorithm="lp", payoffs=ZERO_SUM_TILT)
    assert errai.exploitability(exact.strategy).chips == pytest.approx(0, abs=1e-8)
    value = errai.expected_value(exact.strategy, exact.strategy).positions[0]
    learnt = errai.solve(rules, iterations=1500, payoffs=ZERO_SUM_TILT).strategy
    assert errai.expected_value(learnt, learnt).positions[0] == pytest.approx(value, abs=1e-3)
    assert abs(value - errai.expected_value(learnt, learnt, "plain").positions[0]) > 5e-3


@pytest.mark.parametrize("text", ["rake 5%", "tilt 7,0,0,7", "tilt 0,-7,0,0"])
def test_other_sums_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"payoffs '{text}' do not sum to the same at every leaf"):
        errai.solve(poker("leduc"), algorithm="lp", payoffs=text)


# On disk and as typed


def test_runs_and_strategies_keep_their_payoffs(tmp_path: Path) -> None:
    rules, folder = poker("leduc"), tmp_path / "run"
    errai.solve(rules, iterations=30, payoffs=RAKED, out=folder, measure_every=10)
    assert 'text = "rake 5% cap 3"' in (folder / "run.toml").read_text()
    resumed = errai.solve(rules, iterations=60, payoffs=RAKED, out=folder, resume=True, measure_every=10)
    straight = errai.solve(rules, iterations=60, payoffs="rake 5% cap 3", measure_every=10)
    assert [one.exploitability for one in resumed.measurements] == [
        one.exploitability for one in straight.measurements
    ]
    for table, expected in zip(resumed.strategy.tables, straight.strategy.tables, strict=True):
        assert np.array_equal(table, expected)
    assert errai.load_strategy(folder).tree.payoffs == RAKED
    section = RunFolder(folder).configuration.payoffs
    assert section is not None
    assert section.text == RAKED.describe()
    with pytest.raises(UsageError, match="payoffs 'rake 5% cap 3', not 'plain'"):
        errai.solve(rules, iterations=60, out=folder, resume=True)
    resumed.strategy.save(tmp_path / "strategy")
    loaded = errai.load_strategy(tmp_path / "strategy")
    assert loaded.tree.payoffs == RAKED
    assert errai.exploitability(loaded) == errai.exploitability(resumed.strategy)


def test_plain_runs_say_nothing_of_payoffs(tmp_path: Path) -> None:
    errai.solve(poker("kuhn"), iterations=2, payoffs="plain", out=tmp_path / "run")
    assert "payoffs" not in (tmp_path / "run" / "run.toml").read_text()


def test_payoffs_as_typed(run_errai) -> None:
    status, out, _ = run_errai(
        "solve", "leduc", "--iterations", "50", "--payoffs", "rake 5% cap 3", "--out", "r"
    )
    assert status == 0
    assert ", payoffs rake 5% cap 3\n" in out
    strategy = errai.solve(poker("leduc"), iterations=50, payoffs=RAKED).strategy
    for options, payoffs in (((), None), (("--payoffs", "plain"), "plain")):
        status, out, _ = run_errai("exploit", "r", "--json", *options)
        measured, found = errai.exploitability(strategy, payoffs), json.loads(out)
        assert found["payoffs"] == measured.payoffs == (payoffs or "rake 5% cap 3")
        assert found["exploitability_chips"] == measured.chips
        own = measured.profile_values
        assert found["profile_values_chips"] == (None if own is None else list(own))
    status, out, _ = run_errai("exploit", "r")
    assert "payoffs rake 5% cap 3" in out
    assert "the strategy itself wins -" in out
    status, out, _ = run_errai("exploit", "always-call", "--game", "leduc", "--payoffs", "rake 5%")
    assert "exploitability 1240 mbb/g (1.24 chips), payoffs rake 5%" in out
    status, out, _ = run_errai("solve", "kuhn", "--iterations", "5", "--payoffs", "tilt 7,0,0,7", "--json")
    assert json.loads(out)["payoffs"] == "tilt 7,0,0,7"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("solve", "leduc", "--payoffs", "rake"), "'rake' are not payoffs"),
        (
            ("solve", "bluff-1-1", "--payoffs", "rake 5%"),
            "--payoffs cannot be used with 'bluff-1-1', a dice game",
        ),
        (("solve", "leduc", "--algorithm", "lp", "--payoffs", "rake 5%"), "do not sum to the same"),
        (("solve", "--resume", "--out", "r", "--payoffs", "rake 5%"), "--payoffs needs a game"),
        (
            ("solve", "leduc", "--abstraction", "[JQ.K]", "--against-full", "--payoffs", "rake 5%"),
            "--payoffs cannot be used with --against-full",
        ),
    ],
)
def test_bad_payoffs_as_typed(run_errai, arguments: tuple[str, ...], sentence: str) -> None:
    status, _, err = run_errai(*arguments)
    assert status == 2
    assert sentence in err
    assert err.count("\n") <= 2


# Trees that cannot be


def test_three_hole_cards_are_refused_where_trees_are_made() -> None:
    three = replace(poker("kuhn"), name="three", deck=Deck("23456789TJQKA", "cdhs"), num_hole_cards=3)
    for make in (PublicTree.of, errai.solve, errai.uniform_strategy):
        with pytest.raises(UsageError, match="'three' deals 3 hole cards: expected 1 to 2"):
            make(three)
    assert PublicTree.of(replace(poker("kuhn"), num_hole_cards=2, deck=Deck("JQK", "hs"))).num_slots > 0


def test_unequal_stakes_are_met() -> None:
    tree = build_betting_tree(UNEVEN)
    shown = tree.chips[tree.kind == SHOWDOWN]
    assert (shown[:, 0] != shown[:, 1]).any()
