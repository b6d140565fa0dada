"""The CFR family through the production loop: published values, targets, abstraction, refusals."""

from dataclasses import dataclass

import numpy as np
import pytest
from naive.traversal import NaiveWalk

import errai
from errai.cards.deck import Deck
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.betting import replay
from errai.games.rules import PokerRules
from errai.response.exploitability import expected_value, exploitability
from errai.response.subgames import exploitability_by_subgames
from errai.runs.run import Run
from errai.solvers.solve import Solver, configured_rule
from errai.solvers.update_rules import RULES
from errai.strategy.simple import ActionRule
from errai.strategy.strategy import strategy_from_function
from errai.tree.buckets import Buckets

KUHN_VALUE = -1 / 18  # Kuhn 1950
LEDUC_VALUE = -0.085606424  # published for Leduc hold'em; the LP gives -0.085606424078


def self_play_value(run: Run) -> float:
    return expected_value(run.strategy, run.strategy).positions[0]


@pytest.mark.parametrize(
    ("algorithm", "iterations"),
    [("lp", 1), ("cfr", 200_000), ("cfr+", 5_000), ("linear-cfr", 20_000), ("dcfr", 5_000)],
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
    run = errai.solve(errai.load_game("leduc"), "cfr", 4_000_000, measure_every=4_000_000)
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
    with pytest.raises(UsageError, match="1 hole cards and 1 board cards are allowed"):
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


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"algorithm": "cfr++"}, "'cfr\\+\\+' is not an algorithm"),
        ({"iterations": 0}, "0 iterations are impossible"),
        ({"delay": -1}, "a delay of -1"),
        ({"discount": (1, 1, 1)}, "takes no discount exponents"),
        ({"num_threads": 0}, "0 threads are impossible"),
    ],
)
def test_bad_options(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        errai.solve(errai.load_game("kuhn"), **options)  # type: ignore[arg-type]


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
    with pytest.raises(UsageError, match="do not fit round 1 of player 0, which has 9 cells"):
        tree.abstracted(Buckets.for_both({1: np.zeros(8, dtype=np.int64)})).layout  # noqa: B018
    with pytest.raises(UsageError, match="round 7 cannot be bucketed"):
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


@pytest.mark.parametrize("rule", [always_call, always_raise, half, always_fold])
@pytest.mark.parametrize("shape", [(2, 4), (3, 1)])
def test_reference_agents_on_a_short_deck(rule: ActionRule, shape: tuple[int, int]) -> None:
    rules = short_holdem(*shape)

    def choose(betting: str, hand: str, board: str, actions: list[str]) -> list[float]:
        raises = sum(action.startswith("r") for action in actions)
        return rule("f" in actions, raises > 0, raises)

    whole = exploitability(strategy_from_function(rules, choose)).best_response_values
    for num_threads in (1, 2):
        parts = exploitability_by_subgames(rules, rule, num_threads=num_threads).best_response_values
        assert parts == pytest.approx(whole, abs=1e-9)
    one, two = (exploitability_by_subgames(rules, rule, num_threads=n).best_response_values for n in (1, 2))
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
    fast = exploitability_by_subgames(rules, rule, num_threads=2).best_response_values
    assert fast == pytest.approx(slow, abs=1e-9)


def test_a_response_is_resumed_from_what_was_kept(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    rules = short_holdem(2, 1)
    whole = exploitability_by_subgames(rules, half, keep_in=folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "best-response-0.errai",
        "best-response-1.errai",
    ]
    boards_walked = []
    again = exploitability_by_subgames(
        rules, half, keep_in=folder, report=lambda done, _: boards_walked.append(done)
    )
    assert again.best_response_values == whole.best_response_values
    assert boards_walked == []
    with pytest.raises(UsageError, match="best-response-0"):
        exploitability_by_subgames(rules, always_call, keep_in=folder)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["rhode-island", "holdem-2-1"])
def test_below_one_mbb(game: str) -> None:
    run = errai.solve(errai.load_game(game), "cfr+", 5000, until=1.0)
    assert run.measurements[-1].exploitability.mbb_per_game < 1.0


@pytest.mark.slow
def test_two_rounds_four_bets_below_one_mbb_in_half_an_hour_and_12_gb() -> None:
    import resource

    run = errai.solve(errai.load_game("holdem-2-4"), "cfr+", 5000, until=1.0, num_threads=2)
    assert run.measurements[-1].exploitability.mbb_per_game < 1.0
    assert run.measurements[-1].seconds < 1800
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < 12e9


@pytest.mark.slow
def test_always_fold_in_limit_holdem_loses_exactly_three_quarters_of_a_blind() -> None:
    measured = exploitability_by_subgames(errai.load_game("limit-holdem"), always_fold, num_threads=2)
    assert measured.mbb_per_game == pytest.approx(750, abs=1e-9)
