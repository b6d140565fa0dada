"""Chance, external and outcome sampling: against the twin, against the whole walk, options, threads, runs."""

import math
import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from naive import WITHOUT_JIT
from naive.sampling import NaiveSampler, add, all_deals, every_choice
from naive.traversal import Hand, InfoSet, Table

import errai
from errai.abstraction.own import FunctionAbstraction
from errai.engine import deal_walk
from errai.engine.public_tree import PublicTree
from errai.engine.section import LEARN
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.runs.job import prepare_resumed
from errai.solvers import sampled
from errai.solvers.sampled import SampledSolver
from errai.solvers.solve import Solver, StopRule, configured_rule
from errai.solvers.update_rules import DEAL_RULES, SampledRule
from errai.strategy.information_sets import betting_strings
from errai.strategy.strategy import find_cell
from errai.tables.layout import Floats
from errai.tree.betting_tree import DECISION
from errai.tree.buckets import Buckets

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
"""Plain Python warns where 64 bits wrap, as they must."""

KUHN, LEDUC = errai.load_game("kuhn"), errai.load_game("leduc")

Maps = Mapping[int, npt.NDArray[np.integer]]


def leduc_maps(name: str) -> tuple[Maps, Maps]:
    """Leduc seen in several ways: [player][round] the bucket of each cell."""
    tree = PublicTree.of(LEDUC)
    first, second = tree.cells.cards(0, 0) // 4, tree.cells.cards(0, 1) // 4
    high = (first[:, 0] == 11).astype(np.int64)
    rank = second[:, 0].astype(np.int64) - 9
    pair = (second[:, 0] == second[:, 1]).astype(np.int64)
    return {"lossless": ({}, {}), "rank": ({1: rank}, {1: rank}), "mixed": ({0: high, 1: pair}, {1: rank})}[
        name
    ]


def game_tree(game: PokerRules, maps: tuple[Maps, Maps] = ({}, {}), payoffs: str | None = None) -> PublicTree:
    tree = PublicTree.of(game, payoffs=payoffs)
    return tree.abstracted(Buckets(maps)) if any(maps) else tree


class Seen:
    """What the players of a game see, and where it stands in tables."""

    def __init__(self, tree: PublicTree) -> None:
        self.tree = tree
        self.nodes = {
            text: node
            for node, text in enumerate(betting_strings(tree))
            if tree.betting.kind[node] == DECISION
        }
        self.see = cache(self._see)

    def _see(self, player: int, round_index: int, hand: Hand, board: Hand) -> tuple[int, int]:
        """Return board and row; where boards share buckets, the round's first board."""
        tree, layout = self.tree, self.tree.layout
        number, cell = find_cell(tree, player, round_index, hand, board)
        if not layout.bucketed[player, round_index]:
            return number, cell
        first = int(tree.cells.links.round_board[round_index])
        return first, int(layout.bucket[player][tree.cells.players[player].cell_begin[number] + cell])

    def entry(self, tables: tuple[Floats, Floats], infoset: InfoSet) -> Floats:
        """Return a view of the slots of an information set of the twin."""
        player, text, seen = infoset
        board, row = cast(tuple[int, int], seen)
        node = self.nodes[text]
        slots = self.tree.layout.decision(
            tables[player],
            player,
            board,
            int(self.tree.betting.round[node]),
            int(self.tree.walk.slot[node]),
            int(self.tree.walk.num_children[node]),
        )
        return slots[:, row]

    def infosets(self) -> list[InfoSet]:
        """List every information set that some deal has."""
        rules, betting = self.tree.rules, self.tree.betting
        found = {}
        for deal in all_deals(rules):
            for text, node in self.nodes.items():
                player, r = int(betting.player[node]), int(betting.round[node])
                board = deal.board[: rules.num_board_cards_by(r)]
                found[player, text, self.see(player, r, deal.hands[player], board)] = True
        return list(found)

    def copied(self, tables: tuple[Floats, Floats]) -> Table:
        return {infoset: self.entry(tables, infoset).tolist() for infoset in self.infosets()}


def make(
    tree: PublicTree,
    name: str,
    seed: int = 5,
    threads: int | None = 1,
    dtype: Any = np.float64,
    **options: Any,
) -> SampledSolver:
    rule = configured_rule(name, options=options)
    assert isinstance(rule, SampledRule)
    return SampledSolver(tree, rule, dtype, threads, seed=seed)


def fill_at_random(solver: SampledSolver, pure: float = 0.0, mean: float = 1.0) -> None:
    """Begin with tables at random; some information sets play one action alone."""
    rng = np.random.default_rng(7)
    seen = Seen(solver.tree)
    for infoset in seen.infosets():
        entry = seen.entry(solver.regrets, infoset)
        entry[:] = rng.normal(mean, 3, size=len(entry))
        if rng.random() < pure:
            entry[:] = -1 - rng.random(len(entry))
            entry[rng.integers(len(entry))] = 1
        seen.entry(solver.averages, infoset)[:] = rng.random(len(entry))


# The twin


@pytest.mark.parametrize("deals", [1, 3])
@pytest.mark.parametrize("layout", ["lossless", "rank", "mixed"])
@pytest.mark.parametrize("name", DEAL_RULES)
def test_tables_are_those_of_the_twin(name: str, layout: str, deals: int) -> None:
    tree = game_tree(LEDUC, leduc_maps(layout))
    verify_twin(tree, name, 12, deals=deals, regret_power=1.0, average_power=2.0, delay=3)


@pytest.mark.parametrize("options", [{"regret_floor": -0.5}, {"prune_below": -1.0, "prune_probability": 0.5}])
@pytest.mark.parametrize("deals", [1, 4])
@pytest.mark.parametrize("name", ["cs", "external"])
def test_floor_and_pruning_are_those_of_the_twin(name: str, deals: int, options: dict[str, Any]) -> None:
    verify_twin(game_tree(LEDUC), name, 12, deals=deals, **options)


@pytest.mark.parametrize("name", DEAL_RULES)
def test_raked_and_tilted_payoffs_are_those_of_the_twin(name: str) -> None:
    def pay(player: int, how: str, stake: float, dealt: bool) -> float:
        rake = min(2 * stake * 0.1, 0.7) if dealt else 0.0
        if how == "win":
            return (stake - rake) * 1.07
        if how == "tie":
            return -rake / 2
        return stake - rake if how == "opponent folds" else -stake

    verify_twin(game_tree(LEDUC, payoffs="rake 10% cap 0.7; tilt 7,0,0,0"), name, 10, pay=pay)


def verify_twin(tree: PublicTree, name: str, iterations: int, pay: Any = None, **options: Any) -> None:
    """Solve by the kernel and by the twin, and compare every slot."""
    solver = make(tree, name, **options)
    fill_at_random(solver)
    seen, rule = Seen(tree), solver.rule
    for table in solver.regrets:
        np.maximum(table, rule.regret_floor, out=table)
    twin = NaiveSampler(
        tree.rules,
        rule.sampling,
        seen.see,
        seen.copied(solver.regrets),
        seen.copied(solver.averages),
        rule.exploration,
        rule.regret_floor,
        rule.prune_below,
        rule.prune_probability,
    )
    if pay is not None:
        twin.pay = pay
    before = [table.copy() for pair in (solver.regrets, solver.averages) for table in pair]
    solver.run(iterations)
    for t in range(1, iterations + 1):
        counted = max(t - rule.delay, 0)
        average = counted**rule.average_power if counted else 0.0
        twin.iterate(solver.seed, t, rule.deals, (t**rule.regret_power, average))
    for tables, expected in ((solver.regrets, twin.regrets), (solver.averages, twin.averages)):
        for infoset in seen.infosets():
            assert seen.entry(tables, infoset) == pytest.approx(expected[infoset], rel=1e-12, abs=1e-11)
    after = [table for pair in (solver.regrets, solver.averages) for table in pair]
    assert all((old != new).any() for old, new in zip(before, after, strict=True))


# What is gained on average


@pytest.mark.parametrize(
    ("game", "layout", "name", "options"),
    [
        *((KUHN, "lossless", name, {}) for name in DEAL_RULES),
        *((LEDUC, layout, name, {}) for layout in ("lossless", "rank", "mixed") for name in DEAL_RULES),
        (LEDUC, "lossless", "cs", {"prune_below": -1.0, "prune_probability": 0.75}),
        (LEDUC, "mixed", "external", {"prune_below": -1.0, "prune_probability": 0.75}),
    ],
    ids=lambda value: value.name if isinstance(value, PokerRules) else str(value),
)
@pytest.mark.skipif(WITHOUT_JIT, reason="no kernel of sampling is called")
def test_mean_gains_are_those_of_the_whole_walk(
    game: PokerRules, layout: str, name: str, options: dict[str, Any]
) -> None:
    """Over all deals and all choices, each with its chance. The twin walks; the kernel walks as the twin."""
    tree = game_tree(game, leduc_maps(layout) if game is LEDUC else ({}, {}))
    solver = make(tree, name, **options)
    # Where most of the opponent's choices are certain, all ways that the rest may fall can be tried.
    fill_at_random(solver, pure=0.8 if name == "external" and game is LEDUC else 0.2)
    seen, rule = Seen(tree), solver.rule
    twin = NaiveSampler(
        game, rule.sampling, seen.see, seen.copied(solver.regrets), {}, rule.exploration,
        prune_below=rule.prune_below, prune_probability=rule.prune_probability,
    )  # fmt: skip
    deals = list(all_deals(game))
    for player in (0, 1):
        gained: Table = {}
        played: Table = {}
        chances = 0.0
        for deal in deals:
            for chance, (regret, average) in every_choice(partial(twin.gains, player, deal)):
                add(gained, regret, chance / len(deals))
                add(played, average, chance / len(deals))
                chances += chance / len(deals)
        assert chances == pytest.approx(1, abs=1e-12)
        regrets, _ = whole_gains(solver, player)
        _, averages = whole_gains(solver, 1 - player)
        verify_means(seen, player, regrets, gained, with_opponent=True)
        verify_means(seen, 1 - player, averages, played, with_opponent=False)


def whole_gains(solver: SampledSolver, player: int) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return what one walk of the whole tree gains for a player."""
    layout = solver.tree.layout
    gains, played = layout.zeros(np.float64), layout.zeros(np.float64)
    step = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    solver.walk.walk_once(player, LEARN, layout.tables(solver.regrets, gains, played), step)
    return gains, played


def verify_means(
    seen: Seen, player: int, whole: tuple[Floats, Floats], means: Table, with_opponent: bool
) -> None:
    """Compare mean gains with the whole walk's, times how often chance deals the row.

    The whole walk counts the cells of a bucket by their hands and by the chance of the board among
    those that hit neither hand; regrets are of deals that hit neither, averages of deals that do not hit the
    player's own.
    """
    tree = seen.tree
    rules = tree.rules
    weights = tree.plan(np.float64).bucketed_arrays.bucket_weight
    hole, size = rules.num_hole_cards, rules.deck.size
    assert any(any(mean) for mean in means.values())
    for infoset in seen.infosets():
        who, text, place = infoset
        board, row = cast(tuple[int, int], place)
        if who != player:
            continue
        r = int(tree.betting.round[seen.nodes[text]])
        factor = 1 / rules.num_hands()
        if not tree.layout.bucketed[player, r]:
            factor *= float(weights[tree.cells.players[player].cell_begin[board] + row])
        if not with_opponent:
            for before in range(r + 1):
                known, dealt = (
                    rules.num_board_cards_by(before - 1) if before else 0,
                    rules.num_board_cards[before],
                )
                factor *= math.comb(size - 2 * hole - known, dealt) / math.comb(size - hole - known, dealt)
        expected = factor * seen.entry(whole, infoset)
        assert means.get(infoset, [0.0] * len(expected)) == pytest.approx(expected, rel=0, abs=1e-12)


# Convergence


@pytest.mark.skipif(WITHOUT_JIT, reason="many iterations")
@pytest.mark.parametrize(
    ("game", "name", "first", "bound"),
    [
        ("kuhn", "cs", 10_000, 1.5),
        ("kuhn", "external", 10_000, 1.5),
        ("kuhn", "outcome", 10_000, 4),
        ("leduc", "cs", 10_000, 15),
        ("leduc", "external", 10_000, 20),
        ("leduc", "outcome", 10_000, 150),
    ],
)
def test_exploitability_falls_with_the_root_of_iterations(
    game: str, name: str, first: int, bound: float
) -> None:
    """Exploitability times the root of iterations stays within bounds while iterations grow sixteenfold."""
    points = []
    for seed in range(4):
        solver = make(PublicTree.of(game), name, seed=seed)
        scaled = []
        for iterations in (first, 16 * first):
            solver.run(iterations - solver.iteration)
            scaled.append(solver.measure().exploitability.chips * math.sqrt(iterations))
        points.append(scaled)
    early, late = np.mean(points, axis=0)
    assert late < bound
    assert 0.4 < late / early < 2.5


# Batches, threads, resuming


def bits(solver: SampledSolver) -> list[bytes]:
    return [table.tobytes() for pair in solver.tables.values() for table in pair]


@pytest.mark.parametrize("name", DEAL_RULES)
def test_iterations_do_not_depend_on_how_they_are_batched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = game_tree(LEDUC, leduc_maps("mixed"))
    whole = make(tree, name, discount_every=7)
    whole.run(30)
    monkeypatch.setattr(sampled, "BATCH_DEALS", 8)
    parts = make(tree, name, discount_every=7)
    for stretch in (1, 2, 13, 14):
        parts.run(stretch)
    assert bits(parts) == bits(whole)
    assert bits(make(tree, name, seed=6)) != bits(whole)


@pytest.mark.parametrize("options", [{}, {"regret_floor": -0.1}, {"prune_below": -0.5}])
@pytest.mark.parametrize("name", ["cs", "external"])
def test_any_number_of_threads_gathers_the_same_bits(name: str, options: dict[str, Any]) -> None:
    tree = game_tree(LEDUC, leduc_maps("rank"))
    alone = make(tree, name, deals=23, **options)
    alone.run(5)
    for threads in (2, 7):
        together = make(tree, name, threads=threads, deals=23, **options)
        assert together.num_threads == threads
        together.run(5)
        assert bits(together) == bits(alone)


def test_a_journal_grows_where_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = PublicTree.of(LEDUC)
    roomy = make(tree, "cs", deals=5)
    roomy.run(4)
    monkeypatch.setattr(deal_walk, "FIRST_JOURNAL", 4)
    for threads in (1, 2):
        short = make(tree, "cs", threads=threads, deals=5)
        short.run(4)
        assert bits(short) == bits(roomy)


@pytest.mark.skipif(WITHOUT_JIT, reason="many iterations")
def test_shared_tables_are_learnt_by_several_threads() -> None:
    solver = make(PublicTree.of(LEDUC), "external", threads=3, shared=True)
    solver.run(60_000)
    assert solver.num_threads == 3
    assert solver.num_visits > 60_000
    assert solver.measure().exploitability.chips < 0.15
    alone, plain = make(PublicTree.of(LEDUC), "external", shared=True), make(PublicTree.of(LEDUC), "external")
    for one in (alone, plain):
        one.run(50)
    assert bits(alone) == bits(plain)


@pytest.mark.parametrize("name", DEAL_RULES)
def test_resumed_run_ends_with_the_same_bits(tmp_path: Path, name: str) -> None:
    options = {"deals": 2, "discount_every": 25, "regret_power": 0.5, "regret_floor": -1000.0}
    straight = errai.solve(LEDUC, name, 60, seed=4, options=options)
    errai.solve(LEDUC, name, 40, seed=4, options=options, out=tmp_path / "run")
    resumed = errai.solve(LEDUC, name, 60, seed=4, options=options, out=tmp_path / "run", resume=True)
    for mine, other in ((resumed.average, straight.average), (resumed.current, straight.current)):
        for table, expected in zip(mine.tables, other.tables, strict=True):
            assert np.array_equal(table, expected)
    text = (tmp_path / "run" / "run.toml").read_text()
    assert "deals = 2" in text
    assert "prune_below = -inf" in text
    job = prepare_resumed(tmp_path / "run", StopRule(70))
    assert isinstance(job.solver, SampledSolver)
    assert job.solver.rule == configured_rule(name, options=options)
    assert job.solver.seed == 4
    job.close()
    with pytest.raises(UsageError, match="deals '2', not '3'"):
        errai.solve(
            LEDUC, name, 60, seed=4, options={**options, "deals": 3}, out=tmp_path / "run", resume=True
        )


def test_seed_decides() -> None:
    runs = [errai.solve(KUHN, "external", 50, seed=seed).current.tables[0] for seed in (1, 1, 2)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


# Options


def test_weights_and_discounts_of_iterations() -> None:
    rule = SampledRule(sampling="external", regret_power=1.0, average_power=2.0, delay=2)
    assert rule.weights(1, 5).tolist() == [[1, 0], [2, 0], [3, 1], [4, 4]]
    rule = SampledRule(sampling="external", discount=(1.5, 0.0, 2.0), discount_every=10)
    assert rule.discounts(15) is None
    assert rule.discounts(20) == (2**1.5 / (2**1.5 + 1), 0.5, (2 / 3) ** 2)
    solver = make(PublicTree.of(KUHN), "external", discount=(1.5, 0.0, 2.0), discount_every=10)
    plain = make(PublicTree.of(KUHN), "external")
    for one in (solver, plain):
        one.run(9)
    assert bits(solver) == bits(plain)
    for one in (solver, plain):
        one.run(1)
    for q in (0, 1):
        regrets = plain.regrets[q]
        assert np.array_equal(solver.regrets[q], np.where(regrets > 0, regrets * 0.5, regrets * 0.5))
        assert np.array_equal(solver.averages[q], plain.averages[q] * 0.25)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("external", {"deals": 0}, "the deals of an iteration must be 1 or more, not 0"),
        (
            "external",
            {"deals": 2, "shared": True},
            "shared tables change with every deal: they need deals = 1",
        ),
        ("external", {"regret_power": -1.0}, "finite and 0 or more, not -1.0"),
        ("external", {"discount_every": -1}, "iterations of a period must be 0 or more, not -1"),
        ("external", {"discount": (1.0, 1.0, -1.0)}, "gamma of the discount must be 0 or more, not -1.0"),
        ("external", {"regret_floor": 1.0}, "the floor of regrets must be 0 or less, not 1.0"),
        ("external", {"prune_below": 1.0}, "0 or less and not below the floor, not 1.0"),
        ("external", {"prune_below": -5.0, "regret_floor": -1.0}, "not below the floor, not -5.0"),
        ("external", {"prune_probability": 1.0}, "from 0 to below 1, not 1.0"),
        ("outcome", {"prune_below": -1.0}, "there is nothing to prune"),
        ("outcome", {"exploration": 0.0}, "above 0 and at most 1, not 0.0"),
        ("outcome", {"colour": 1}, "'outcome' has no option 'colour': expected average_power, deals, "),
        ("cfr+", {"deals": 2}, "'cfr\\+' has no option 'deals': expected alternating, delay"),
    ],
)
def test_bad_options(name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        errai.solve(KUHN, name, 10, options=options)


def test_what_sampling_cannot_do() -> None:
    with pytest.raises(UsageError, match="'external' learns for one player at a time"):
        errai.solve(KUHN, "external", 10, alternating=False)
    with pytest.raises(UsageError, match="'external' samples deals, and here the whole tree is walked"):
        Solver(PublicTree.of(KUHN), configured_rule("external"))


@pytest.mark.parametrize("name", DEAL_RULES)
def test_bluff(name: str) -> None:
    """A round of Bluff with one die each: 36 pairs of rolls, two rounds of bidding."""
    number = 30 if WITHOUT_JIT else {"cs": 20_000, "external": 50_000, "outcome": 500_000}[name]
    run = errai.solve("bluff-1-1", name, number, seed=2, measure_every=number)
    assert WITHOUT_JIT or run.measurements[1, 1][-1].exploitability.chips < (
        0.25 if name == "outcome" else 0.1
    )


# Games whose hands do not fit into memory


def leduc_by_function() -> FunctionAbstraction:
    return errai.abstraction_from_function(
        "leduc", lambda hand, board, r: int(hand[0] == board[0]) if board else int(hand[0] == "K")
    )


@pytest.mark.parametrize("name", DEAL_RULES)
def test_tables_of_buckets_alone_are_those_with_all_cells(name: str) -> None:
    """The same abstraction, with the hands of the game in memory and without them."""
    abstraction = leduc_by_function()
    tree = PublicTree.of(LEDUC)
    rule = configured_rule(name)
    assert isinstance(rule, SampledRule)
    without = SampledSolver(tree, rule, np.float64, seed=5, abstractions=(abstraction, abstraction))
    with_cells = make(tree.abstracted_by(abstraction), name)
    assert without.layout.num_slots == with_cells.layout.num_slots
    for solver in (without, with_cells):
        solver.run(40)
    assert bits(without) == bits(with_cells)
    for player in (0, 1):
        for slot in range(0, without.layout.num_slots[player], 5):
            told = with_cells.describe_slot(player, slot)
            assert without.describe_slot(player, slot) == re.sub(r" board \d+,", "", told)
    with pytest.raises(UsageError, match="a measurer must say how to measure"):
        without.measure()
    with pytest.raises(UsageError, match="bucket_strategy gives its strategy"):
        without.strategy()
    without.measurer = lambda solver, current: with_cells.measure(current).exploitability
    assert without.measure().exploitability == with_cells.measure().exploitability


@pytest.mark.slow
def test_rhode_island_falls_with_the_root_of_iterations() -> None:
    tree = PublicTree.of("rhode-island")
    for name in ("cs", "external"):
        solver = make(tree, name, dtype=np.float32)
        scaled = []
        for iterations in (1_000_000, 4_000_000, 16_000_000):
            solver.run(iterations - solver.iteration)
            scaled.append(solver.measure().exploitability.chips * math.sqrt(iterations))
        assert max(scaled) / min(scaled) < 2
