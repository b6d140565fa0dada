"""The CFR family through the production loop: published values, targets, abstraction, refusals."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive.traversal import NaiveWalk

import errai
from errai.cards.deck import Deck
from errai.engine.public_tree import PublicTree
from errai.engine.section import LEARN
from errai.errors import UsageError
from errai.games.betting import replay
from errai.games.catalogue import PokerName
from errai.games.rules import PokerRules
from errai.response.exploitability import expected_value, exploitability
from errai.response.results import Exploitability
from errai.response.subgames import exploitability_by_subgames
from errai.runs.job import Run
from errai.solvers.solve import Solver, arrays_needed, configured_rule, players_by_gains
from errai.solvers.update_rules import RULES, PredictiveRule, Update, UpdateRule
from errai.strategy.simple import ActionRule, simple_plays
from errai.strategy.strategy import strategy_from_function
from errai.tree.buckets import Buckets

ROOT = Path(__file__).parent.parent

KUHN_VALUE = -1 / 18  # Kuhn 1950
LEDUC_VALUE = -0.085606424  # published for Leduc hold'em; the LP gives -0.085606424078


def self_play_value(run: Run) -> float:
    return expected_value(run.strategy, run.strategy).positions[0]


@pytest.mark.parametrize(
    ("algorithm", "iterations"),
    [
        ("lp", 1),
        ("cfr", 200_000),
        ("cfr+", 5_000),
        ("linear-cfr", 20_000),
        ("dcfr", 5_000),
        ("pcfr+", 5_000),
    ],
)
def test_kuhn_value(algorithm: str, iterations: int) -> None:
    run = errai.solve(errai.load_game("kuhn"), algorithm, iterations, measure_every=iterations)
    assert abs(self_play_value(run) - KUHN_VALUE) < 1e-6


@pytest.mark.parametrize(("algorithm", "iterations"), [("lp", 1), ("cfr+", 10_000), ("dcfr", 10_000)])
def test_leduc_value(algorithm: str, iterations: int) -> None:
    run = errai.solve(errai.load_game("leduc"), algorithm, iterations, measure_every=iterations)
    assert abs(self_play_value(run) - LEDUC_VALUE) < 1e-6


@pytest.mark.slow
def test_leduc_value_by_plain_cfr() -> None:
    # After 4,000,000 iterations the value is right to 1.02e-6, after 8,000,000 to 5.7e-7.
    run = errai.solve(errai.load_game("leduc"), "cfr", 8_000_000, measure_every=8_000_000)
    assert abs(self_play_value(run) - LEDUC_VALUE) < 1e-6


def test_cfr_plus_on_leduc_is_below_one_thousandth_within_500_iterations() -> None:
    run = errai.solve(errai.load_game("leduc"), "cfr+", 500, measure_every=500)
    assert run.measurements[-1].exploitability.chips < 1e-3


def test_run_stops_at_its_target() -> None:
    run = errai.solve(errai.load_game("leduc"), "cfr+", 100_000, until=5.0)
    assert run.measurements[-1].exploitability.mbb_per_game <= 5.0
    assert all(m.exploitability.mbb_per_game > 5.0 for m in run.measurements[:-1])
    assert run.iterations < 1000


def test_simultaneous_and_alternating_updates_differ_and_both_converge() -> None:
    game = errai.load_game("leduc")
    ends = []
    for alternating in (True, False):
        run = errai.solve(game, "cfr", 2000, alternating=alternating, measure_every=2000)
        ends.append(run.measurements[-1].exploitability.chips)
    assert ends[0] != ends[1]
    assert max(ends) < 0.05


def test_current_and_average_strategies() -> None:
    run = errai.solve(errai.load_game("leduc"), "cfr+", 1000)
    average, current = exploitability(run.average), exploitability(run.current)
    assert average.chips < current.chips < 1.0
    assert run.strategy is run.average


def test_delay_leaves_early_iterations_out_of_the_average() -> None:
    game = errai.load_game("kuhn")
    tree = PublicTree.of(game)
    solver = Solver(tree, configured_rule("cfr+", delay=10))
    solver.run(10)
    assert all((table == 0).all() for table in solver.averages)
    solver.run(1)
    assert any(table.any() for table in solver.averages)


def test_probabilities_are_asked_in_the_users_words() -> None:
    strategy = errai.solve(errai.load_game("kuhn"), "lp").strategy
    # In every equilibrium of Kuhn poker the second player bets and calls with a king, folds a jack to a bet.
    assert strategy.probabilities("r", hand="K") == pytest.approx({"f": 0, "c": 1})
    assert strategy.probabilities("r", hand="J") == pytest.approx({"f": 1, "c": 0})
    assert strategy.probabilities("c", hand="K") == pytest.approx({"c": 0, "r": 1})
    leduc = errai.uniform_strategy(errai.load_game("leduc"))
    assert leduc.probabilities("crc/", hand="Ks", board="Kh") == {"c": 0.5, "r": 0.5}
    with pytest.raises(UsageError, match="the board '' must be 1 at this point of 'leduc', not 0"):
        leduc.probabilities("crc/", hand="K")
    with pytest.raises(UsageError, match="the hand is over after 'crf'"):
        leduc.probabilities("crf", hand="K")


def test_one_and_two_threads_give_the_same_bits() -> None:
    tree = PublicTree.of(errai.load_game("rhode-island"))
    solvers = [Solver(tree, RULES["cfr+"], np.float32, num_threads) for num_threads in (1, 2)]
    for solver in solvers:
        solver.run(3)
    for name in ("regrets", "averages"):
        for player in (0, 1):
            one, two = (getattr(solver, name)[player] for solver in solvers)
            assert one.tobytes() == two.tobytes()


def test_a_number_that_is_none_stops_the_run_with_the_nodes_name() -> None:
    solver = Solver(PublicTree.of(errai.load_game("leduc")), RULES["cfr+"])
    solver.run(1)
    solver.regrets[1][100] = np.nan
    with pytest.raises(
        FloatingPointError, match=r"the regrets of player 1 are not finite at slot 100, node \d+ of round 2"
    ):
        solver.measure()


def test_a_rules_own_tables_are_checked_like_the_others() -> None:
    solver = Solver(PublicTree.of(errai.load_game("leduc")), RULES["pcfr+"])
    solver.run(1)
    solver.tables["predictions"][0][7] = np.inf
    with pytest.raises(FloatingPointError, match="the predictions of player 0 are not finite at slot 7"):
        solver.verify_finite()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"algorithm": "cfr++"}, "unknown algorithm 'cfr\\+\\+'"),
        ({"iterations": 0}, "iterations must be 1 or more, not 0"),
        ({"delay": -1}, "the delay must be 0 or more iterations, not -1"),
        ({"discount": (1, 1, 1)}, "takes no discount exponents"),
        ({"algorithm": "pcfr+", "discount": (1, 1, 1)}, "'pcfr\\+' takes no discount exponents"),
        ({"algorithm": "dcfr", "discount": (1, float("nan"), 1)}, "must be a number, not NaN"),
        ({"algorithm": "dcfr", "discount": (1, 1, -1)}, "gamma of the discount must be 0 or more, not -1.0"),
        ({"algorithm": "dcfr", "discount": (1, 1)}, r"discount is \(1, 1\): expected more entries"),
        ({"algorithm": 7}, "unknown algorithm 7: expected cfr, .* or an object of a subclass"),
        ({"num_threads": 0}, "the number of threads must be 1 or more, not 0"),
    ],
)
def test_bad_options(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        errai.solve(errai.load_game("kuhn"), **options)


# One iteration's gains


def test_who_adds_up_gains_before_tables_change() -> None:
    cfr, predictive = RULES["cfr"], RULES["pcfr+"]
    at_once = cfr.with_options(alternating=False)
    for rule, is_bucketed, by_gains, arrays in (
        (cfr, (False, False), [False, False], [2, 2]),
        (cfr, (True, False), [True, False], [4, 2]),
        (cfr, (False, True), [False, True], [2, 4]),
        (at_once, (False, False), [True, False], [4, 2]),
        (at_once, (False, True), [True, True], [4, 4]),
        (predictive, (False, False), [True, True], [5, 5]),
        (predictive.with_options(alternating=False), (True, True), [True, True], [5, 5]),
    ):
        assert players_by_gains(rule, is_bucketed) == by_gains
        assert arrays_needed(rule, is_bucketed) == arrays


@pytest.mark.parametrize(
    ("algorithm", "alternating", "arrays"),
    [("cfr+", True, (2, 2)), ("cfr", False, (4, 2)), ("pcfr+", True, (5, 5))],
)
def test_memory_is_asked_for_before_it_is_taken(
    algorithm: str, alternating: bool, arrays: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("errai.solvers.solve.verify_memory", lambda num_bytes, what: asked.append(num_bytes))
    tree = PublicTree.of(errai.load_game("leduc"))
    assert tree.layout.num_slots == (336, 336)
    solver = Solver(tree, configured_rule(algorithm, alternating), np.float32)
    assert asked == [336 * sum(arrays) * 4]
    kept = sum(table.nbytes for pair in solver.tables.values() for table in pair)
    fused = Solver(tree, RULES["cfr"], np.float32)
    assert kept + solver.buffer_bytes - fused.buffer_bytes == asked[0]


def test_too_little_memory_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.memory.available_memory", lambda: 20_000)
    monkeypatch.setattr("errai.engine.traversal.verify_memory", lambda num_bytes, what: None)
    tree = PublicTree.of(errai.load_game("leduc"))
    Solver(tree, RULES["cfr"])
    with pytest.raises(UsageError, match=r"solving 'leduc' \(672 slots\) needs 26.2 KiB of memory"):
        Solver(tree, RULES["pcfr+"])


@pytest.mark.parametrize("share_bytes", [None, 1])
def test_many_small_gains_count_beside_a_large_float32_regret(
    share_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every board's gain is below the last digit of the regret, and their sum is not."""
    if share_bytes is not None:  # a large game whose gains have no room for shares
        monkeypatch.setattr("errai.engine.traversal.MANY_CELLS", 0)
        monkeypatch.setattr("errai.engine.traversal.GAIN_BYTES", share_bytes)
    tree = PublicTree.of(short_holdem(2, 1))
    blind = {r: np.zeros(tree.cells.num_cells(0, r), dtype=np.int32) for r in (0, 1)}
    tree = tree.abstracted(Buckets.for_both(blind))
    large = 2.0**24  # numbers above it are 2 apart
    exact, solver = (Solver(tree, RULES["cfr"], dtype, 1) for dtype in (np.float64, np.float32))
    for one in (exact, solver):
        for table in one.regrets:
            table.fill(large)
        one.run(1)
    straight = tree.layout.zeros(np.float32)
    for table in straight:
        table.fill(large)
    tables = tree.layout.tables(tuple(table.copy() for table in straight), straight, straight)  # type: ignore[arg-type]
    solver.walk.walk_once(0, LEARN, tables, np.array([1.0, 1.0, 0.0, 1.0, 0.0]))
    gains = exact.regrets[0] - large
    assert np.abs(gains).max() > 20
    assert np.abs(solver.regrets[0] - large - gains).max() <= 1
    assert np.abs(straight[0] - large - gains).max() > 10


def test_an_interrupted_iteration_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = PublicTree.of(errai.load_game("leduc"))
    steady, shaken = (Solver(tree, RULES["pcfr+"]) for _ in range(2))
    steady.run(3)
    shaken.run(2)
    with monkeypatch.context() as patch:
        patch.setattr(PredictiveRule, "apply", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            shaken.run(1)
    assert shaken.iteration == 2
    shaken.run(1)
    for name, tables in steady.tables.items():
        for one, other in zip(tables, shaken.tables[name], strict=True):
            assert one.tobytes() == other.tobytes()


def _interrupt(rule: UpdateRule, update: Update) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("algorithm", ["pcfr+", "cfr"])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_rules_are_applied_in_parts_of_any_size(
    algorithm: str, num_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = PublicTree.of(errai.load_game("leduc"))
    rule = configured_rule(algorithm, alternating=False)
    whole = Solver(tree, rule, np.float64, 1)
    whole.run(5)
    monkeypatch.setattr("errai.solvers.solve.PART_SLOTS", 100)
    parts = Solver(tree, rule, np.float64, num_threads)
    parts.run(5)
    for name, tables in whole.tables.items():
        for one, other in zip(tables, parts.tables[name], strict=True):
            assert one.tobytes() == other.tobytes()


# Kernels are compiled before the clock starts

SPY = """
import sys
from types import SimpleNamespace
import numpy as np
import errai
from errai.engine.public_tree import PublicTree
from errai.solvers import solve
from errai.tree.buckets import Buckets

dtype, num_threads, rows, algorithm, game = sys.argv[1:]
readings = []

def compiled():
    kernels = {id(f): f for name, module in list(sys.modules.items()) if name.startswith("errai.")
               for f in vars(module).values() if hasattr(f, "signatures")}
    return sorted((f.py_func.__name__, str(one)) for f in kernels.values() for one in f.signatures)

def perf_counter():
    readings.append(compiled())
    return float(len(readings))

if game.startswith("bluff"):
    tree = PublicTree.of_bluff(errai.load_game(game), (1, 1))
else:
    tree = PublicTree.of(errai.load_game(game))
if rows == "bucketed":
    tree = tree.abstracted(Buckets.for_both({1: np.zeros(tree.cells.num_cells(0, 1), dtype=np.int32)}))
solver = solve.Solver(tree, solve.configured_rule(algorithm), dtype, int(num_threads))
solve.time = SimpleNamespace(perf_counter=perf_counter)
solver.run(2)
assert len(readings) == 2, len(readings)
assert any(name == "walk" for name, _ in readings[0]), readings[0]
assert readings[0] == readings[1], sorted(set(readings[1]) - set(readings[0]))
print(solver.seconds)
"""


@pytest.mark.skipif(WITHOUT_JIT, reason="nothing is compiled")
@pytest.mark.parametrize(
    "way",
    [
        ("float32", "2", "lossless", "cfr+", "rhode-island"),
        ("float64", "1", "lossless", "cfr+", "leduc"),
        ("float32", "2", "bucketed", "dcfr", "rhode-island"),
        ("float64", "1", "bucketed", "pcfr+", "leduc"),
        ("float64", "1", "lossless", "pcfr+", "bluff-1-1"),
    ],
    ids="-".join,
)
def test_kernels_are_compiled_before_the_clock_starts(way: tuple[str, ...]) -> None:
    """In a process of its own, where nothing is compiled or loaded yet."""
    done = subprocess.run([sys.executable, "-c", SPY, *way], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1.0\n"


# Buckets


def test_buckets_that_merge_nothing_change_nothing() -> None:
    tree = PublicTree.of(errai.load_game("leduc"))
    maps = {r: np.arange(tree.cells.num_cells(0, r)) for r in range(2)}
    for algorithm in ("cfr", "cfr+", "dcfr"):
        plain, bucketed = (
            Solver(tree, RULES[algorithm]),
            Solver(tree.abstracted(Buckets.for_both(maps)), RULES[algorithm]),
        )
        for solver in (plain, bucketed):
            solver.run(50)
        ours, theirs = plain.measure().exploitability, bucketed.measure().exploitability
        assert ours.best_response_values == pytest.approx(theirs.best_response_values, abs=1e-9)


def test_one_player_abstracted_the_other_not() -> None:
    tree = PublicTree.of(errai.load_game("leduc"))
    blind = {0: np.zeros(3, dtype=np.int64), 1: np.zeros(9, dtype=np.int64)}
    both = Solver(tree.abstracted(Buckets.for_both(blind)), RULES["cfr+"])
    first_only = Solver(tree.abstracted(Buckets((blind, {}))), RULES["cfr+"])
    for solver in (both, first_only):
        solver.run(2000)
    real = Solver(tree, RULES["cfr+"])
    real.run(2000)
    value = real.measure().exploitability.best_response_values
    blind_pair, one_blind = both.measure().exploitability, first_only.measure().exploitability
    # Who sees its cards is nearly as hard to exploit as in the real game's equilibrium; who does not, is not.
    assert one_blind.best_response_values[0] < blind_pair.best_response_values[0]
    assert one_blind.best_response_values[1] > value[1] + 0.1


def test_buckets_that_do_not_fit() -> None:
    tree = PublicTree.of(errai.load_game("leduc"))
    with pytest.raises(
        UsageError, match="expected 9 buckets, one for each cell, in round 1 of player 0, not"
    ):
        tree.abstracted(Buckets.for_both({1: np.zeros(8, dtype=np.int64)})).layout  # noqa: B018
    with pytest.raises(UsageError, match="a bucketed round must be 0 to 1, not 7"):
        tree.abstracted(Buckets.for_both({7: np.zeros(8, dtype=np.int64)})).layout  # noqa: B018


# The reference agents, sub-game by sub-game and all at once

SHORT = Deck("QKA", "cdhs")


def short_holdem(num_rounds: int, num_bets: int, deck: Deck = SHORT) -> PokerRules:
    """[R-B] hold'em on a short deck."""
    later = num_rounds - 1
    return PokerRules(
        name=f"short-{num_rounds}-{num_bets}",
        deck=deck,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1)[:num_rounds],
        blinds=(10, 5),
        raise_sizes=tuple(20 if 2 * i >= num_rounds else 10 for i in range(num_rounds)),
        max_raises=(max(1, num_bets - 1),) + (num_bets,) * later,
        first_player=(1,) + (0,) * later,
    )


def always_call(can_fold: bool, can_raise: bool, raises: int) -> list[float]:
    return [0.0] * can_fold + [1.0] + [0.0] * raises


def always_raise(can_fold: bool, can_raise: bool, raises: int) -> list[float]:
    return [0.0] * can_fold + ([0.0, 1.0] if can_raise else [1.0])


def half(can_fold: bool, can_raise: bool, raises: int) -> list[float]:
    return [0.0] * can_fold + ([0.5, 0.5] if can_raise else [1.0])


def always_fold(can_fold: bool, can_raise: bool, raises: int) -> list[float]:
    return ([1.0, 0.0] if can_fold else [1.0]) + [0.0] * raises


def measure_by_subgames(rules: PokerRules, rule: ActionRule, num_threads: int) -> Exploitability:
    """Measure the agent of the same name, sub-game by sub-game."""
    tree = PublicTree.of(rules)
    name = rule.__name__.replace("_", "-")
    return exploitability_by_subgames(tree, simple_plays(tree, name), num_threads)


@pytest.mark.parametrize("rule", [always_call, always_raise, half, always_fold])
@pytest.mark.parametrize("shape", [(2, 4), (3, 1)])
def test_reference_agents_on_a_short_deck(rule: ActionRule, shape: tuple[int, int]) -> None:
    rules = short_holdem(*shape)

    def choose(betting: str, hand: str, board: str, actions: list[str]) -> Sequence[float]:
        raises = sum(action.startswith("r") for action in actions)
        return rule("f" in actions, raises > 0, raises)

    whole = exploitability(strategy_from_function(rules, choose)).best_response_values
    for num_threads in (1, 2):
        parts = measure_by_subgames(rules, rule, num_threads).best_response_values
        assert parts == pytest.approx(whole, abs=1e-9)
    one, two = (measure_by_subgames(rules, rule, n).best_response_values for n in (1, 2))
    assert one == two


@dataclass
class NaiveRule(NaiveWalk):
    """The naive walk of a strategy that looks at the betting alone."""

    rule: ActionRule = half

    def strategy(self, infoset: tuple[int, str, object], num_actions: int) -> list[float]:
        state = replay(self.rules, infoset[1])
        return list(self.rule(state.can_fold(), state.can_raise_to(), int(state.can_raise_to())))


@pytest.mark.slow
@pytest.mark.parametrize("rule", [always_call, always_raise, half])
@pytest.mark.parametrize("shape", [(2, 4), (3, 1)])
def test_reference_agents_against_the_naive_twin(rule: ActionRule, shape: tuple[int, int]) -> None:
    rules = short_holdem(*shape, Deck("KA", "cdhs"))
    ones = dict.fromkeys([tuple(hand) for hand in rules.deck.hands(2).tolist()], 1.0)
    naive = NaiveRule(rules, (ones, ones), rule=rule)
    slow = [naive.mean_value(player, naive.values(player, "best")) for player in (0, 1)]
    fast = measure_by_subgames(rules, rule, 2).best_response_values
    assert fast == pytest.approx(slow, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["rhode-island", "holdem-2-1"])
def test_below_one_mbb(game: PokerName) -> None:
    run = errai.solve(errai.load_game(game), "cfr+", 5000, until=1.0)
    assert run.measurements[-1].exploitability.mbb_per_game < 1.0


@pytest.mark.slow
def test_two_rounds_four_bets_below_one_mbb_in_half_an_hour_and_12_gb() -> None:
    import resource

    run = errai.solve(errai.load_game("holdem-2-4"), "cfr+", 5000, until=1.0, num_threads=2)
    assert run.measurements[-1].exploitability.mbb_per_game < 1.0
    assert run.measurements[-1].seconds < 1800
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < 12e9
