"""CFR-BR: sampled sub-games against all of them, and what is learnt against the full walk."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from naive.paths import naive_paths
from naive.tables import naive_board_above
from test_abstract_solving import RandomAbstraction
from test_paths import GAINING, GAMES, tree_of

import errai
from errai import memory
from errai.abstraction.named_groups import leduc_abstraction
from errai.abstraction.stored import PlannedAbstraction
from errai.engine.dealt_boards import DealtBoards, all_boards_bytes
from errai.engine.dealt_subgames import DealtSubgames, most_hybrid_slots
from errai.engine.paths import Steps
from errai.engine.public_tree import PublicTree
from errai.engine.root import Root
from errai.engine.sampled_subgames import GameSubgames, ResponseWalk, hybrid_places, path_length
from errai.engine.section import KEEP, LEARN
from errai.errors import UsageError
from errai.experiments.abstracted_holdem import build_for
from errai.games.catalogue import load_card_game
from errai.games.deals import Deals
from errai.runs.abstracted import solve_abstracted_against_full
from errai.runs.training import Training
from errai.solvers.cfr_br import TRUNKS, ResponseSolver
from errai.solvers.make import make_solver
from errai.solvers.update_rules import ResponseRule
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.tables.layout import Floats, TableLayout

LEDUC = errai.load_game("leduc")
FINE = "IR-C-KO-C-C 169-570-C-C"
"""Imperfect recall with 570 buckets, of the thesis's figure 4.5."""
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
"""Without the JIT, random numbers warn where 64 bits wrap."""

NO_AVERAGE = np.array([1.0, 1.0, 0.0, 1.0, 0.0])


class FullResponse:
    """The same by the full walk: a hybrid that answers in all sub-games at once.

    Attributes:
        hybrid: float[slots] the hybrid's regrets in the trunk, lossless, and its best actions below.
        gained: what the hybrid gains in the trunk.
    """

    def __init__(
        self, tree: PublicTree, learner: int, trunk: int, regrets: Floats, trunk_regrets: Floats
    ) -> None:
        self.tree, self.learner = tree, learner
        full = replace(tree, buckets=None)
        layouts = (tree.layout, full.layout) if learner == 0 else (full.layout, tree.layout)
        self.layout: TableLayout = layouts[0].paired_with(layouts[1])
        self.walk = tree.traversal(np.float64, 1)
        position = 1 - learner
        self.hybrid = np.zeros(full.layout.num_slots[position])
        places, links = hybrid_places(tree.walk, tree.cells, trunk), tree.cells.links
        for board in range(int(links.round_board[trunk])):
            r = int(np.searchsorted(links.round_board, board, side="right")) - 1
            size = int(tree.walk.num_slots[position, r] * places.rows[position, board])
            begin, at = int(places.begin[position, board]), int(full.layout.begin[position, board])
            self.hybrid[at : at + size] = trunk_regrets[begin : begin + size]
        modes = np.full(tree.cells.num_rounds, LEARN, dtype=np.uint8)
        modes[trunk:] = KEEP
        self.gained = np.zeros_like(self.hybrid)
        tables = self._tables(regrets, self.hybrid, (regrets, self.gained), (regrets, self.gained))
        self.walk.walk_once(position, modes, tables, NO_AVERAGE)
        for board in range(int(links.round_board[trunk]), int(links.round_board[-1])):
            r = int(np.searchsorted(links.round_board, board, side="right")) - 1
            at = int(full.layout.begin[position, board])
            size = int(tree.walk.num_slots[position, r] * full.layout.rows[position, board])
            self.hybrid[at : at + size] = self.gained[at : at + size]

    def _tables(self, regrets: Floats, hybrid: Floats, written: Any, averages: Any) -> Any:
        def paired(own: Floats, other: Floats) -> tuple[Floats, Floats]:
            return (own, other) if self.learner == 0 else (other, own)

        return self.layout.tables(paired(regrets, hybrid), paired(*written), paired(*averages))

    def learn(self, regrets: Floats) -> list[Floats]:
        """Return what the learner gains against the hybrid."""
        gains, averages = np.zeros_like(regrets), np.zeros_like(regrets)
        spare = np.zeros_like(self.hybrid)
        tables = self._tables(regrets, self.hybrid, (gains, spare), (averages, spare))
        self.walk.walk_once(self.learner, LEARN, tables, GAINING)
        return [gains, averages]


CASES = [("leduc", (), 1), ("leduc", (0, 1), 1), ("rhode-island", (), 1), ("rhode-island", (), 2)]
CASES += [("rhode-island", (1, 2), 1), ("rhode-island", (2,), 2), ("board-first", (1,), 1)]
CASES += [("leduc", (), 2), ("leduc", (0, 1), 2), ("board-first", (0, 1), 2), ("rhode-island", (0, 1, 2), 3)]


@pytest.mark.parametrize(("name", "rounds", "trunk"), CASES)
@pytest.mark.parametrize("learner", [0, 1])
def test_gains_are_those_of_the_full_walk_on_average(
    name: str, rounds: tuple[int, ...], trunk: int, learner: int
) -> None:
    tree = tree_of(name, rounds)
    links, layout = tree.cells.links, tree.layout
    rng = np.random.default_rng(8)
    regrets = rng.normal(size=layout.num_slots[learner])
    source = GameSubgames(tree.plan(np.float64), layout, trunk)
    walk = ResponseWalk(source, learner, trunk, Root.of(tree.cells, np.float64))
    before = rng.normal(size=len(walk.trunk))
    sums, hybrid_sums = [np.zeros_like(regrets) for _ in range(2)], np.zeros_like(before)
    visited = np.zeros(int(links.round_board[-1]))
    for path, chance in naive_paths(links, path_length(trunk, tree.cells.num_rounds)):
        subgame = source.subgame(np.array(path), learner)
        walk.trunk[:] = before
        walk.respond(subgame, regrets)
        hybrid_sums += chance * (walk.trunk - before)
        walk.trunk[:] = before  # the learner is to meet what was played, not what was learnt
        played = regrets.copy()
        averages = np.zeros_like(regrets)
        walk.learn_on(subgame, played, averages, GAINING)
        sums[0] += chance * (played - regrets)
        sums[1] += chance * averages
        for board in range(len(visited)):
            r = int(np.searchsorted(links.round_board, board, side="right")) - 1
            above = min(r, trunk)
            if naive_board_above(links, board, above) + links.round_board[above] == path[above]:
                visited[board] += chance
    full = FullResponse(tree, learner, trunk, regrets, before)
    expected = full.learn(regrets)
    weights = by_slot(tree, layout, learner, visited)
    for found, whole in zip(sums, expected, strict=True):
        np.testing.assert_allclose(found, whole * weights, rtol=0, atol=1e-12)
    places = hybrid_places(tree.walk, tree.cells, trunk)
    for board in range(int(links.round_board[trunk])):
        position = 1 - learner
        r = int(np.searchsorted(links.round_board, board, side="right")) - 1
        size = int(tree.walk.num_slots[position, r] * places.rows[position, board])
        begin, at = int(places.begin[position, board]), int(full.layout.begin[position, board])
        np.testing.assert_allclose(
            hybrid_sums[begin : begin + size],
            full.gained[at : at + size] * visited[board],
            rtol=0,
            atol=1e-12,
        )


def by_slot(
    tree: PublicTree, layout: TableLayout, player: int, visited: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return how often each slot is visited; buckets get the whole weight of what is rarely visited."""
    links, weights = tree.cells.links, np.ones(layout.num_slots[player])
    for board, chance in enumerate(visited.tolist()):
        r = int(np.searchsorted(links.round_board, board, side="right")) - 1
        if not layout.bucketed[player, r]:
            begin = int(layout.begin[player, board])
            size = int(tree.walk.num_slots[player, r] * layout.rows[player, board])
            weights[begin : begin + size] = chance
    return weights


@pytest.mark.parametrize(("name", "rounds"), [("leduc", (0, 1)), ("rhode-island", ())])
@pytest.mark.parametrize("learner", [0, 1])
def test_many_iterations_are_one_after_the_other(name: str, rounds: tuple[int, ...], learner: int) -> None:
    tree = tree_of(name, rounds)
    source, root = GameSubgames(tree.plan(np.float64), tree.layout, 1), Root.of(tree.cells, np.float64)
    many, single = (ResponseWalk(source, learner, 1, root) for _ in range(2))
    size = tree.layout.num_slots[learner]
    tables = [(np.zeros(size), np.zeros(size)) for _ in range(2)]
    rule = ResponseRule(name="cfr-br", discount=(1, 1, 1))
    steps = Steps(4, rule.steps(4, 10), rule.gain_weights(4, 10))
    many.learn(5, steps, *tables[0])
    for i, iteration in enumerate(range(4, 10)):
        subgame = source.sample(5, iteration, learner)
        single.respond(subgame, tables[1][0], iteration)
        single.learn_on(subgame, tables[1][0], tables[1][1], steps.factors[i, learner], iteration)
    np.testing.assert_array_equal(many.hybrid, single.hybrid)
    np.testing.assert_array_equal(tables[0], tables[1])
    assert many.trunk.any()


def test_a_coarse_abstraction_becomes_as_good_as_it_can_be() -> None:
    abstraction = leduc_abstraction("[JQ.K]")
    full = solve_abstracted_against_full(LEDUC, abstraction, "cfr+", 1000, measure_every=1000)
    least = full.measurements[-1].exploitability.mbb_per_game
    run = errai.solve(
        LEDUC, "cfr-br", 30_000, abstraction=abstraction, discount=(1, 1, 1), measure_every=30_000, seed=1
    )
    found = run.measurements[-1].exploitability.mbb_per_game
    assert least == pytest.approx(170, abs=1)
    assert least - 1 < found < least + 25
    assert errai.exploitability(run.average).mbb_per_game == pytest.approx(found)
    sampled = errai.solve(
        LEDUC, "cfr-br", 30_000, abstraction=abstraction, discount=(1, 1, 1), trunk=2, measure_every=30_000
    )
    assert least - 1 < sampled.measurements[-1].exploitability.mbb_per_game < least + 25
    assert not np.array_equal(run.average.tables[0], run.current.tables[0])


@pytest.mark.slow
def test_a_coarse_abstraction_comes_to_rest_there() -> None:
    abstraction = leduc_abstraction("[JQ.K]")
    full = solve_abstracted_against_full(LEDUC, abstraction, "cfr+", 2000, measure_every=2000)
    least = full.measurements[-1].exploitability.mbb_per_game
    run = errai.solve(LEDUC, "cfr-br", 400_000, abstraction=abstraction, measure_every=400_000, seed=1)
    found = run.measurements[-1].exploitability.mbb_per_game
    assert least - 0.1 < found < least + 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "iterations", "published", "by_the_full_walk"),
    [("PR-PHS-PHS-C-C 5x1-5x1-C-C", 80_000, 81, 82.2), (FINE, 40_000, 25, 26.3)],
)
@pytest.mark.parametrize("trunk", [1, 2])
def test_figures_of_the_thesis(
    recipe: str, iterations: int, published: float, by_the_full_walk: float, trunk: int
) -> None:
    """Figures 4.4 and 4.5; what the full walk finds is in docs/findings.md."""
    found = exploitability_of_average(recipe, iterations, trunk)
    assert found == pytest.approx(published, abs=2)
    assert found == pytest.approx(by_the_full_walk, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("trunk", [1, 2])
def test_imperfect_recall_comes_to_where_the_full_walk_does(trunk: int) -> None:
    """Of the full walk after 400 iterations of CFR+, when it has nearly stopped falling."""
    assert exploitability_of_average(FINE, 160_000, trunk) == pytest.approx(22.07, abs=1.5)


def exploitability_of_average(recipe: str, iterations: int, trunk: int) -> float:
    """Run CFR-BR in [2-4] hold'em; returns mbb/g of the real game."""
    game, holdem = errai.load_game("holdem-2-4"), errai.load_game("limit-holdem")
    tree = PublicTree.of(game).abstracted_by(build_for(game, recipe, holdem, 0))
    solver = ResponseSolver(tree, ResponseRule(name="cfr-br", discount=(1, 1, 1), trunk=trunk))
    solver.run(iterations)
    return solver.measure().exploitability.mbb_per_game


@pytest.mark.parametrize("trunk", [1, 2, 3])
def test_runs_go_on_with_the_same_bits(tmp_path: Path, trunk: int) -> None:
    tree = tree_of("rhode-island", (1, 2))
    rule = ResponseRule(name="cfr-br", trunk=trunk)
    whole, parts, resumed = (ResponseSolver(tree, rule, seed=3) for _ in range(3))
    whole.run(20)
    parts.run(8)
    for name, both in parts.tables.items():
        for position in (0, 1):
            resumed.tables[name][position][:] = both[position]
    resumed.iteration = parts.iteration
    resumed.run(12)
    for name, both in whole.tables.items():
        for position in (0, 1):
            np.testing.assert_array_equal(both[position], resumed.tables[name][position])
            assert both[position].any()
    assert set(whole.tables) == {"regrets", "averages", TRUNKS}


def test_runs_on_disk_go_on(tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 3, "trunk": 1, "measure_every": 20}
    whole = errai.solve(LEDUC, "cfr-br", 60, out=tmp_path / "whole", **options)
    errai.solve(LEDUC, "cfr-br", 40, out=tmp_path / "parts", **options)
    parts = errai.solve(LEDUC, "cfr-br", 60, out=tmp_path / "parts", resume=True, **options)
    for one, other in zip(whole.current.tables, parts.current.tables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_change_no_bit() -> None:
    tree = tree_of("rhode-island", (1, 2))
    solvers = [make_solver(tree, ResponseRule(name="cfr-br"), num_threads=n, seed=2) for n in (1, 2, 7)]
    for solver in solvers:
        solver.run(12)
    for name, both in solvers[0].tables.items():
        for other in solvers[1:]:
            for position in (0, 1):
                np.testing.assert_array_equal(both[position], other.tables[name][position])


@pytest.mark.parametrize(
    ("name", "trunk"), [("leduc", 1), ("leduc", 2), ("rhode-island", 1), ("rhode-island", 2)]
)
def test_hands_made_on_demand_learn_what_those_in_memory_learn(name: str, trunk: int) -> None:
    game = GAMES[name]
    abstraction = RandomAbstraction(game, 4)
    rule = ResponseRule(name="cfr-br", trunk=trunk)
    held = ResponseSolver(PublicTree.of(game).abstracted_by(abstraction), rule, np.float64, seed=6)
    saved = SavedAbstraction(Path("nowhere"), "none", abstraction)
    dealt = ResponseSolver.of_deals(PublicTree.of(game), rule, saved, np.float64, 1, seed=6)
    rng = np.random.default_rng(0)
    for table, both in held.tables.items():
        for position in (0, 1):
            both[position][:] = rng.normal(size=len(both[position]))  # ties would be broken by rounding
            dealt.tables[table][position][:] = both[position]
    before = [table.copy() for both in held.tables.values() for table in both]
    for solver in (held, dealt):
        solver.run(3)
    after = [table for both in held.tables.values() for table in both]
    assert not any(map(np.array_equal, before, after))
    for one, other in zip(after, [t for both in dealt.tables.values() for t in both], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    assert isinstance(dealt.strategy(), BucketStrategy)
    assert isinstance(dealt._source, DealtSubgames)
    assert dealt._source.trunk_cells.num_rounds == trunk  # hands below the trunk come and go with a path
    with pytest.raises(UsageError, match="are not in memory"):
        dealt.measure()


def test_a_trunk_that_does_not_fit_is_refused() -> None:
    tree = PublicTree.of("limit-holdem")
    abstraction = RandomAbstraction(tree.rules, 4)
    saved = SavedAbstraction(Path("nowhere"), "none", abstraction)
    with pytest.raises(UsageError, match="the trunks of 'limit-holdem'"):
        ResponseSolver.of_deals(tree, ResponseRule(name="cfr-br", trunk=3), saved)


def test_a_trunk_of_all_rounds_has_a_row_for_every_hand_and_no_responses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = tree_of("leduc", (0, 1))
    whole = replace(tree, buckets=None).layout.num_slots
    numbers = sum(whole) + 2 * sum(tree.layout.num_slots)
    rule = ResponseRule(name="cfr-br", trunk=2)
    solver = ResponseSolver(tree, rule)
    for learner, walk in enumerate(solver.walks):
        assert len(walk.hybrid) == len(walk.trunk) == whole[1 - learner]
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * numbers)
    ResponseSolver(tree, rule)
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * numbers - 1)
    with pytest.raises(UsageError, match=rf"solving 'leduc' \({numbers:,} numbers\) needs"):
        ResponseSolver(tree, rule)


def test_one_round_is_all_trunk() -> None:
    run = errai.solve("kuhn", "cfr-br", 4000, discount=(1, 1, 1), measure_every=4000)
    assert run.measurements[-1].exploitability.chips < 1e-3


def test_the_command_line(run_errai) -> None:
    arguments = ("--abstraction", "[JQ.K]", "--algorithm", "cfr-br", "--trunk", "1", "--iterations", "50")
    status, out, _ = run_errai("solve", "leduc", *arguments, "--seed", "4", "--json")
    assert status == 0
    run = errai.solve(LEDUC, "cfr-br", 50, seed=4, abstraction=leduc_abstraction("[JQ.K]"))
    told = json.loads(out)
    assert told["algorithm"] == "cfr-br"
    assert told["exploitability_mbb_per_game"] == pytest.approx(
        run.measurements[-1].exploitability.mbb_per_game, abs=1e-6
    )
    status, _, err = run_errai("solve", "leduc", "--trunk", "1")
    assert status == 2
    assert "'cfr+' has no trunk: only cfr-br does" in err


@pytest.mark.parametrize(
    ("game", "options", "sentence"),
    [
        ("leduc", {"trunk": 3}, "the trunk of 'leduc' must have 1 to 2 rounds, not 3"),
        ("leduc", {"trunk": 0}, "trunk must be 1 or more, not 0"),
        ("kuhn", {"trunk": 2}, "the trunk of 'kuhn' must have 1 round, not 2"),
        ("leduc", {"alternating": False}, "alternating must be True"),
    ],
)
def test_what_cannot_be(game: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        errai.solve(game, "cfr-br", 1, **options)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "rhode-island"])
def test_slots_of_hybrids_are_told_before_any_board_is_made(name):
    tree = PublicTree.of(name)
    deals = Deals(tree.rules)
    for trunk in range(1, tree.rules.num_rounds + 1):
        places = hybrid_places(tree.walk, tree.cells, trunk)
        kept, responses = most_hybrid_slots(tree.walk, deals, trunk)
        assert kept == sum(places.trunk_slots)
        assert sum(places.size) - kept <= responses
        assert (responses == 0) == (trunk == tree.rules.num_rounds)


def test_what_training_needs_counts_boards_where_they_are_made(monkeypatch):
    monkeypatch.setattr(PlannedAbstraction, "building_bytes", 0)
    about = {"game": {"name": "limit-holdem"}, "abstraction": {"name": "IR-PHS-SHS 169-20-20-20"}}
    deals, boards = (
        Training.find({**about, "algorithm": {"name": name}}).needs() for name in ("external", "pcs")
    )
    # 2,619,605 boards, the empty one included; a single deal needs none.
    assert boards.memory_bytes - deals.memory_bytes == 96 * 2619605


@pytest.mark.parametrize("name", ["leduc", "rhode-island", "holdem-2-1"])
def test_boards_without_hands_take_what_was_told(name):
    deals = Deals(load_card_game(name))
    boards = deals.boards
    made = DealtBoards(deals).nbytes
    for of_round in (
        boards.cards,
        boards.weights,
        boards.parent,
        boards.child_begin,
        boards.deals_from_parent,
    ):
        made += sum(of_round(r).nbytes for r in range(boards.num_rounds))
    assert made <= all_boards_bytes(deals)


def test_what_training_needs_counts_the_hybrids():
    about = {"game": {"name": "limit-holdem"}, "abstraction": {"name": "IR-PHS-SHS 169-20-20-20"}}
    plain = Training.find({**about, "algorithm": {"name": "pcs"}}).needs()
    answered = Training.find({**about, "algorithm": {"name": "cfr-br", "trunk": 2}}).needs()
    # As thesis table 4.1 has it, with hands up to suits: 0.87 GiB for both positions' trunks.
    trunk = answered.table_bytes - plain.table_bytes
    assert trunk == 4 * (
        21 * 169 + sum(PublicTree.of("limit-holdem").walk.num_slots[:, 1].tolist()) * 1286792
    )
    assert answered.memory_bytes > trunk + 2**31
    assert answered.disk_bytes - plain.disk_bytes == 2 * trunk
