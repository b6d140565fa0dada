"""Update rules: exact factors, every rule against tabular CFR with dictionaries, rules of one's own."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive.traversal import Hand, InfoSet, NaiveWalk
from naive.update_rules import NaiveCfr, naive_apply_factors, naive_apply_predictive, naive_discount

import errai
from errai.engine.public_tree import PublicTree
from errai.games.rules import PokerRules
from errai.response.exploitability import expected_value
from errai.solvers import _update_rules as kernels
from errai.solvers.sequence_form import solve_sequence_form
from errai.solvers.solve import Solver, configured_rule
from errai.solvers.update_rules import RULES, FactorRule, UpdateRule, discount_factors
from errai.strategy.information_sets import betting_strings
from errai.strategy.strategy import Strategy, find_cell
from errai.tree.betting_tree import DECISION
from errai.tree.buckets import Buckets

LEDUC = errai.load_game("leduc")
LEDUC_VALUE = -0.085606424078
"""Of Leduc hold'em's equilibrium, in antes for the first player; OpenSpiel's programme has the same."""

RANK_ALONE_VALUE = -41 / 630
"""Of Leduc hold'em where nobody looks at the board, as the linear programme gives it to 1e-16."""

INF = math.inf


# Numbers


@pytest.mark.parametrize(
    ("exponent", "factors"),
    [
        (-INF, [1, 1 / 2, 0, 0, 0]),
        (-1.0, [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
        (0.0, [1 / 2] * 5),
        (0.5, [0, 1 / 2, 2**0.5 / (2**0.5 + 1), 3**0.5 / (3**0.5 + 1), 2 / 3]),
        (1.0, [0, 1 / 2, 2 / 3, 3 / 4, 4 / 5]),
        (INF, [0, 1 / 2, 1, 1, 1]),
    ],
)
def test_discount_factors_are_the_formulas_or_its_limits(exponent: float, factors: list[float]) -> None:
    assert discount_factors(np.arange(1.0, 6.0), exponent).tolist() == factors
    assert [naive_discount(t, exponent) for t in range(1, 6)] == factors
    steps = FactorRule(discount=(exponent, 1.0, 2.0)).steps(1, 6)
    assert steps[:, :, 0].tolist() == [[x, x] for x in factors]
    assert steps[:, :, 1].tolist() == [[x, x] for x in (0, 1 / 2, 2 / 3, 3 / 4, 4 / 5)]
    steps = FactorRule(discount=(1.0, exponent, 2.0)).steps(1, 6)
    assert steps[:, :, 0].tolist() == [[x, x] for x in (0, 1 / 2, 2 / 3, 3 / 4, 4 / 5)]
    assert steps[:, :, 1].tolist() == [[x, x] for x in factors]


def test_powers_beyond_all_floats_are_discounted_by_their_limit() -> None:
    assert discount_factors(np.array([2.0, 11.0]), 400.0).tolist() == [0.5, 1.0]
    assert discount_factors(np.array([2.0, 11.0]), -400.0).tolist() == [0.5, 0.0]


@pytest.mark.parametrize(
    ("name", "delay", "third"),
    [
        ("cfr", 0, [1, 1, 0, 1, 1]),
        ("cfr", 2, [1, 1, 0, 1, 1]),
        ("cfr", 3, [1, 1, 0, 1, 0]),
        ("cfr+", 0, [1, 1, 1, 1, 3]),
        ("cfr+", 2, [1, 1, 1, 1, 1]),
        ("cfr+", 5, [1, 1, 1, 1, 0]),
        ("linear-cfr", 0, [2 / 3, 2 / 3, 0, 2 / 3, 1]),
        ("linear-cfr", 3, [2 / 3, 2 / 3, 0, 2 / 3, 0]),
        ("dcfr", 0, [2**1.5 / (2**1.5 + 1), 1 / 2, 0, (2 / 3) ** 2, 1]),
        ("pcfr+", 0, [1, 1, 0, 1, 9]),
        ("pcfr+", 1, [1, 1, 0, 1, 4]),
        ("pcfr+", 4, [1, 1, 0, 1, 0]),
    ],
)
def test_the_third_iteration_of_each_recipe(name: str, delay: int, third: list[float]) -> None:
    rule = configured_rule(name, delay=delay)
    assert rule.steps(3, 4).tolist() == [[third, third]]
    assert rule.steps(1, 6)[2].tolist() == [third, third]


FLOATS = st.floats(-100, 100)


@settings(deadline=None)
@given(
    st.lists(st.tuples(FLOATS, FLOATS, FLOATS, FLOATS), min_size=1), st.tuples(*[FLOATS] * 2), st.booleans()
)
def test_kernels_do_what_their_twins_do(
    slots: list[tuple[float, float, float, float]], factors: tuple[float, float], floor: bool
) -> None:
    gain, played, regret, average = (np.array(column) for column in zip(*slots, strict=True))
    step = np.array([*factors, floor, 0.25, 3.0])
    regrets, averages = regret.copy(), average.copy()
    kernels.apply_factors(step, gain, played, regrets, averages)
    expected = [naive_apply_factors(step.tolist(), *slot) for slot in slots]
    assert regrets == pytest.approx([one[0] for one in expected], abs=1e-11)
    assert averages == pytest.approx([one[1] for one in expected], abs=1e-12)
    regrets, averages, predictions = np.maximum(regret, 0), average.copy(), np.full_like(regret, 7)
    kernels.apply_predictive(gain, played, regrets, averages, predictions)
    expected_too = [naive_apply_predictive(g, p, max(r, 0.0), a) for g, p, r, a in slots]
    for array, column in zip((regrets, averages, predictions), zip(*expected_too, strict=True), strict=True):
        assert array == pytest.approx(list(column), abs=1e-12)


def test_what_is_no_number_stays_where_it_can_be_seen() -> None:
    step, zero = np.array([1.0, 1.0, 1.0, 1.0, 1.0]), np.zeros(1)
    for apply in (
        lambda regret: kernels.apply_factors(step, zero, zero, regret, np.zeros(1)),
        lambda regret: kernels.apply_predictive(zero, zero, regret, np.zeros(1), np.zeros(1)),
    ):
        regret = np.array([np.nan])
        apply(regret)
        assert np.isnan(regret[0])


# Against the twin

Maps = Mapping[int, npt.NDArray[np.integer]]


def leduc_buckets(tree: PublicTree, bucket: Callable[[int, int | None], int], round_index: int) -> Any:
    """Return a map of the cells of a round by the rank of the hand and that of the board."""
    cards = tree.cells.cards(0, round_index) // 4
    return np.array([bucket(int(row[0]), int(row[1]) if len(row) > 1 else None) for row in cards])


def layouts() -> dict[str, tuple[Maps, Maps]]:
    """Leduc seen in several ways by both players: [player][round] the bucket of each cell."""
    tree = PublicTree.of(LEDUC)
    blind = leduc_buckets(tree, lambda hand, board: 0, 0)
    high = leduc_buckets(tree, lambda hand, board: int(hand == 11), 0)
    rank = leduc_buckets(tree, lambda hand, board: hand - 9, 1)
    pair = leduc_buckets(tree, lambda hand, board: int(hand == board), 1)
    return {
        "lossless": ({}, {}),
        "second round by rank": ({1: rank}, {1: rank}),
        "first round blind": ({0: blind}, {0: blind}),
        "one player": ({}, {0: high, 1: pair}),
        "the other": ({0: high, 1: rank}, {}),
        "crossed": ({0: high}, {1: pair}),
    }


LAYOUTS = layouts()


class Twins:
    """A game solved by the engine and by dictionaries."""

    def __init__(self, game: PokerRules, rule: UpdateRule, maps: tuple[Maps, Maps] = ({}, {})) -> None:
        tree = PublicTree.of(game)
        self.tree = tree.abstracted(Buckets(maps)) if any(maps) else tree
        self.solver = Solver(self.tree, rule, np.float64, 1)
        self.maps = maps
        self.cells: dict[Any, tuple[int, int]] = {}
        ones = dict.fromkeys([tuple(hand) for hand in game.deck.hands(game.num_hole_cards).tolist()], 1.0)
        walk = NaiveWalk(
            game,
            (ones, ones),
            see=self.see,
            merges=lambda player, round_index: round_index in maps[player],
        )
        discount = rule.discount if isinstance(rule, FactorRule) else None
        self.naive = NaiveCfr(walk, rule.name, rule.alternating, rule.delay, discount or (0.0, 0.0, 0.0))

    def find_cell(self, player: int, round_index: int, hand: Hand, board: Hand) -> tuple[int, int]:
        key = (player, round_index, hand, board)
        if key not in self.cells:
            self.cells[key] = find_cell(self.tree, *key)
        return self.cells[key]

    def see(self, player: int, round_index: int, hand: Hand, board: Hand) -> Any:
        if round_index not in self.maps[player]:
            return hand, board
        number, cell = self.find_cell(player, round_index, hand, board)
        begin = self.tree.cells.players[player].cell_begin
        first = begin[self.tree.cells.links.round_board[round_index]]
        return int(self.maps[player][round_index][begin[number] + cell - first])

    def entries(self) -> Iterator[tuple[str, InfoSet, list[float]]]:
        """Go over every entry of the solver's tables, by name of the table and by what the twin sees."""
        betting, texts = self.tree.betting, betting_strings(self.tree)
        game = self.tree.rules
        for node in np.flatnonzero(betting.kind == DECISION).tolist():
            player, r = int(betting.player[node]), int(betting.round[node])
            for dealt in permutations(game.deck.cards, game.num_hole_cards + game.num_board_cards_by(r)):
                hand, board = dealt[: game.num_hole_cards], dealt[game.num_hole_cards :]
                number, cell = self.find_cell(player, r, hand, board)
                infoset = (player, texts[node], self.see(player, r, hand, board))
                for name, tables in self.solver.tables.items():
                    yield (
                        name,
                        infoset,
                        Strategy(self.tree, tables).weights(player, node, number)[:, cell].tolist(),
                    )

    def start_at(self, iteration: int, seed: int = 0) -> None:
        """Begin with tables at random, mostly above zero: rounding errors would break ties at zero."""
        rng = np.random.default_rng(seed)
        self.solver.iteration = self.naive.iteration = iteration
        for tables in self.solver.tables.values():
            for table in tables:
                table[:] = rng.normal(6, 3, size=len(table))
        for name, infoset, entry in self.entries():
            getattr(self.naive, name)[infoset] = entry

    def verify_same(self) -> None:
        """Compare every entry of every table with that of the twin."""
        for name, infoset, entry in self.entries():
            assert entry == pytest.approx(getattr(self.naive, name)[infoset], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("alternating", [True, False], ids=["alternating", "simultaneous"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", RULES)
def test_every_rule_learns_what_its_twin_learns(name: str, layout: str, alternating: bool) -> None:
    twins = Twins(LEDUC, configured_rule(name, alternating, delay=4), LAYOUTS[layout])
    twins.start_at(2)
    for stretch in (1, 4):
        twins.solver.run(stretch)
        for _ in range(stretch):
            twins.naive.iterate()
    twins.verify_same()


@pytest.mark.parametrize("alternating", [True, False], ids=["alternating", "simultaneous"])
@pytest.mark.parametrize("name", RULES)
def test_kuhn_learns_what_its_twin_learns(name: str, alternating: bool) -> None:
    twins = Twins(errai.load_game("kuhn"), configured_rule(name, alternating))
    twins.start_at(1)
    twins.solver.run(10)
    for _ in range(10):
        twins.naive.iterate()
    twins.verify_same()


@pytest.mark.parametrize("layout", ["lossless", "second round by rank"])
@pytest.mark.parametrize("discount", [(1.5, -INF, 2.0), (INF, -1.0, 1.0), (0.5, 0.5, 0.0)])
def test_any_discount_learns_what_its_twin_learns(layout: str, discount: tuple[float, float, float]) -> None:
    twins = Twins(LEDUC, configured_rule("dcfr", discount=discount), LAYOUTS[layout])
    twins.start_at(1)
    twins.solver.run(4)
    for _ in range(4):
        twins.naive.iterate()
    twins.verify_same()


@pytest.mark.skipif(WITHOUT_JIT, reason="many iterations")
def test_pcfr_plus_finds_leducs_value() -> None:
    run = errai.solve(LEDUC, "pcfr+", 10_000, measure_every=10_000)
    assert expected_value(run.strategy, run.strategy).positions[0] == pytest.approx(LEDUC_VALUE, abs=1e-6)


@pytest.mark.skipif(WITHOUT_JIT, reason="many iterations")
@pytest.mark.parametrize("name", ["dcfr", "pcfr+"])
def test_leduc_without_a_look_at_the_board_has_its_own_value(name: str) -> None:
    tree = PublicTree.of(LEDUC).abstracted(Buckets(LAYOUTS["second round by rank"]))
    exact = Strategy(tree, solve_sequence_form(tree.betting, tree.cells, layout=tree.layout).tables)
    assert expected_value(exact, exact).positions[0] == pytest.approx(RANK_ALONE_VALUE, abs=1e-12)
    solver = Solver(tree, RULES[name])
    solver.run(2000)
    learnt = Strategy(tree, solver.averages)
    for first, second in ((learnt, learnt), (learnt, exact), (exact, learnt)):
        assert expected_value(first, second).positions[0] == pytest.approx(RANK_ALONE_VALUE, abs=1e-6)
