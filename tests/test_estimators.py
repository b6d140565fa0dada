"""Estimators on Leduc, over every deal and action: their means are the exact values."""

from collections.abc import Callable
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from enumerated_hands import enumerated_hands
from naive import WITHOUT_JIT
from naive.edges import naive_edge

import errai
from errai.engine.deals import CellDeals
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.evaluation._self_play_values import gather_values
from errai.evaluation.divat import Divat
from errai.evaluation.edges import Edges
from errai.evaluation.estimators import (
    Estimator,
    Question,
    aivat,
    all_cards,
    all_cards_early_folds,
    basic,
    early_folds,
)
from errai.evaluation.hand_chances import RuleChances, hand_chances
from errai.evaluation.observed import ObservedHand
from errai.evaluation.self_play_values import SelfPlayValues, features_of
from errai.evaluation.value_functions import BetCall, Enumerated
from errai.games.match_state import HandRecord
from errai.strategy.information_sets import betting_strings
from errai.strategy.simple import simple_strategy
from errai.strategy.strategy import Strategy
from errai.tree.betting_tree import DECISION

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="thousands of hands")

MAKERS: dict[str, Callable[..., Estimator]] = {
    "basic": basic,
    "early folds": early_folds,
    "all cards": all_cards,
    "both": all_cards_early_folds,
}


@cache
def solved() -> Strategy:
    strategy = errai.solve("leduc", iterations=20).strategy
    assert isinstance(strategy, Strategy)
    return strategy


@cache
def uniform() -> Strategy:
    return errai.uniform_strategy("leduc")


@cache
def rough() -> Strategy:
    strategy = errai.solve("leduc", iterations=2).strategy
    assert isinstance(strategy, Strategy)
    return strategy


@cache
def edges() -> Edges:
    return Edges(uniform().game)


@cache
def guesses() -> Enumerated:
    """A value function without any sense: a number drawn for each deal and node."""
    draws = np.random.default_rng(5)
    known: dict[tuple[object, ...], float] = {}

    def guess(holes: tuple[tuple[int, ...], ...], board: tuple[int, ...], node: int) -> float:
        return float(known.setdefault((holes, board, node), draws.normal()))

    return Enumerated(edges(), guess)


@cache
def hands_of(first: Strategy, second: Strategy) -> list[tuple[HandRecord, float]]:
    return list(enumerated_hands(first.game, (first, second)))


def means(
    estimators: dict[str, Estimator],
    position: int,
    evaluated: Strategy,
    played: Strategy,
    opponent: Strategy,
    *,
    is_partial: bool = False,
) -> dict[str, float]:
    """The mean of each estimator over all hands, with their probabilities."""
    players = (played, opponent) if position == 0 else (opponent, played)
    one = hand_chances(evaluated)
    other = one if played is evaluated else hand_chances(played)
    totals = dict.fromkeys(estimators, 0.0)
    for record, chance in hands_of(*players):
        seen = ObservedHand(evaluated.tree, edges(), record, position, is_partial=is_partial)
        asked = Question(seen, one, other)
        for name, estimate in estimators.items():
            totals[name] += chance * estimate(asked)
    return totals


def all_estimators(tree: PublicTree) -> dict[str, Estimator]:
    values = {"money": None, "bet-call": BetCall(tree), "divat": Divat(tree, edges()), "any": guesses()}
    return {f"{name}, {of}": make(value) for name, make in MAKERS.items() for of, value in values.items()}


def verify_on_policy(estimators: dict[str, Estimator], position: int) -> None:
    exact = errai.expected_value(solved(), uniform()).positions[position]
    for name, mean in means(estimators, position, solved(), solved(), uniform()).items():
        assert mean == pytest.approx(exact, abs=1e-9), name


def verify_off_policy(estimators: dict[str, Estimator], position: int) -> None:
    exact = errai.expected_value(solved(), rough()).positions[position]
    for name, mean in means(estimators, position, solved(), uniform(), rough()).items():
        assert mean == pytest.approx(exact, abs=1e-9), name


def test_on_policy_means_are_exact() -> None:
    """Those of table 7.1, and AIVAT; in the other position, and with any values: below."""
    bet_call = BetCall(solved().tree)
    estimators = {name: make() for name, make in MAKERS.items()}
    estimators |= {"bet-call": basic(bet_call), "both, bet-call": all_cards_early_folds(bet_call)}
    estimators |= {"divat": basic(Divat(solved().tree, edges())), "aivat": aivat(bet_call)}
    estimators["aivat, itself"] = aivat(SelfPlayValues(solved(), edges(), deals=300))
    verify_on_policy(estimators, 1)


def test_off_policy_means_are_exact_where_everything_is_played() -> None:
    bet_call = BetCall(solved().tree)
    estimators = {name: make() for name, make in MAKERS.items()}
    verify_off_policy(estimators | {"both, bet-call": all_cards_early_folds(bet_call)}, 0)


@pytest.mark.slow
@pytest.mark.parametrize("position", [0, 1])
def test_means_are_exact_with_any_values(position: int) -> None:
    estimators = all_estimators(solved().tree)
    verify_off_policy(estimators, position)
    aivats = {"aivat, bet-call": aivat(BetCall(solved().tree)), "aivat, any": aivat(guesses())}
    aivats["aivat, itself"] = aivat(SelfPlayValues(solved(), edges(), deals=300))
    verify_on_policy(estimators | aivats, position)


def test_values_of_self_play_over_all_deals() -> None:
    """The normal equations of the constant feature are reach probabilities and values."""
    tree, strategy = rough().tree, rough()
    deals = np.array(list(permutations(tree.rules.deck.cards, 3)), dtype=np.uint8)
    source = CellDeals(tree)
    batch = source.batch(len(deals))
    source.place(deals, batch)
    features = np.stack([features_of(edges(), dealt) for dealt in deals.tolist()])
    products, targets = np.zeros((tree.betting.num_nodes, 6, 6)), np.zeros((tree.betting.num_nodes, 6))
    betting, walk, scratch = tree.betting, tree.walk, np.empty((3, tree.betting.num_nodes))
    gather_values(
        *(betting.kind, betting.player, betting.round, betting.first_child, walk.num_children, walk.slot),
        *(walk.stake, batch.by_round(), batch.by_outcome(), *strategy.tables, features, 0.0),
        *(scratch[0], scratch[1], scratch[2], products, targets),
    )
    texts, expected = betting_strings(tree), dict.fromkeys(betting_strings(tree), np.zeros(3))
    for record, chance in enumerated_hands(tree.rules, (strategy, strategy)):
        own, other = (tree.rules.deck.hand_index(hole) for hole in record.holes)
        edge = edges().of_pairs[own, other]
        value = float(record.values[0])
        for end in range(len(record.betting.betting) + 1):
            before = record.betting.betting[:end]
            if "/" not in before:  # the edge of the first round
                expected[before] = expected[before] + chance * np.array([1, value, edge * value])
            elif before in expected:
                expected[before] = expected[before] + chance * np.array([1, value, 0])
    nodes = np.flatnonzero(betting.kind == DECISION).tolist()
    for node in nodes:
        reach, value, product = expected[texts[node]]
        assert products[node, 0, 0] / len(deals) == pytest.approx(reach, abs=1e-12)
        assert targets[node, 0] / len(deals) == pytest.approx(value, abs=1e-12)
        if betting.round[node] == 0:
            assert targets[node, 1] / len(deals) == pytest.approx(product, abs=1e-12)


def test_features_of_a_deal() -> None:
    """Edges of both rounds, and strengths on the board of the round before."""
    rules = uniform().game
    own, other, board = rules.deck.parse("KsJsJh")
    found = features_of(edges(), [own, other, board])
    strengths = edges().strengths(())
    a, b = (strengths[rules.deck.hand_index((card,))] for card in (own, other))
    before = naive_edge(rules, (own,), (other,), ())
    assert found[0].tolist() == pytest.approx([1, before, a, b, before * a, before * b])
    assert found[1].tolist() == pytest.approx([1, -1, a, b, -a, -b])
    assert a == pytest.approx(
        (1 + np.mean([naive_edge(rules, (own,), (c,), ()) for c in rules.deck.cards if c != own])) / 2
    )


def test_off_policy_without_support_is_biased() -> None:
    """The proof needs every outcome to be played: always-call never shows what a fold would have lost."""
    caller = simple_strategy("leduc", "always-call")
    exact = errai.expected_value(solved(), uniform()).positions[0]
    found = means({"basic": basic(), "both": all_cards_early_folds()}, 0, solved(), caller, uniform())
    assert abs(found["basic"] - exact) > 0.1
    assert abs(found["both"] - exact) > 0.01


def test_partial_information() -> None:
    """Money, early folds and, on-policy, all cards need no hidden card; bet-call DIVAT is biased."""
    exact = errai.expected_value(solved(), uniform()).positions[1]
    bet_call = BetCall(solved().tree)
    chosen = {"money": basic(), "folds": early_folds(), "cards": all_cards(), "bet-call": basic(bet_call)}
    found = means(chosen, 1, solved(), solved(), uniform(), is_partial=True)
    for name in ("money", "folds", "cards"):
        assert found[name] == pytest.approx(exact, abs=1e-9), name
    assert abs(found["bet-call"] - exact) > 0.01
    off = means({"folds": early_folds()}, 0, solved(), uniform(), rough(), is_partial=True)
    assert off["folds"] == pytest.approx(errai.expected_value(solved(), rough()).positions[0], abs=1e-9)


def test_perfect_values_leave_no_variance_but_the_opponents() -> None:
    """With the exact value as its guess AIVAT's only luck is the opponent's: none against a pure strategy."""
    caller, tree = simple_strategy("leduc", "always-call"), solved().tree
    half = simple_strategy("leduc", "half")
    known: dict[tuple[object, ...], float] = {}
    texts = betting_strings(tree)

    def exact(holes: tuple[tuple[int, ...], ...], board: tuple[int, ...], node: int) -> float:
        key = (holes, board, node)
        if key not in known:
            known[key] = _value_from(texts[node], holes, board, (half, caller))
        return known[key]

    estimate, chances = aivat(Enumerated(edges(), exact)), hand_chances(half)
    value = errai.expected_value(half, caller).positions[0]
    for record, _ in list(enumerated_hands(tree.rules, (half, caller)))[::29]:
        asked = Question(ObservedHand(tree, edges(), record, 0), chances, chances)
        assert estimate(asked) == pytest.approx(value, abs=1e-9)


def _value_from(
    betting: str,
    holes: tuple[tuple[int, ...], ...],
    board: tuple[int, ...],
    players: tuple[Strategy, Strategy],
) -> float:
    from enumerated_hands import finished_hands

    from errai.games.betting import replay
    from errai.games.hand import HandState

    start = HandState(replay(players[0].game, betting), holes, board)
    return sum(chance * float(record.values[0]) for record, chance in finished_hands(start, players, 1.0))


def test_a_reference_agent_is_asked_like_its_strategy() -> None:
    tree = uniform().tree
    rule, table = RuleChances(tree, "half"), hand_chances(simple_strategy("leduc", "half"))
    for node in np.flatnonzero(tree.betting.kind == 0).tolist():
        board = tree.rules.deck.parse("Qs") if tree.betting.round[node] else ()
        assert rule.chances(node, board) == pytest.approx(table.chances(node, board))


def test_what_cannot_have_been_played_is_named() -> None:
    caller = hand_chances(simple_strategy("leduc", "always-call"))
    record = next(
        r for r, _ in enumerated_hands(uniform().game, (uniform(), uniform())) if "r" in r.betting.betting
    )
    position = 0 if record.betting.betting[0] == "r" else 1
    seen = ObservedHand(uniform().tree, edges(), record, position)
    for estimate in (basic(), all_cards()):
        with pytest.raises(UsageError, match="hand 0 cannot have been played"):
            estimate(Question(seen, hand_chances(uniform()), caller))
    with pytest.raises(UsageError, match="AIVAT evaluates the strategy that played"):
        aivat(BetCall(uniform().tree))(Question(seen, hand_chances(uniform()), caller))


def test_divat_needs_a_limit() -> None:
    tree = errai.uniform_strategy("kuhn").tree
    assert Divat(tree, Edges(tree.rules)).tree is tree
    from dataclasses import replace

    rules = replace(tree.rules, raise_sizes=None, stacks=(3, 3))
    with pytest.raises(UsageError, match="DIVAT is made for limit games"):
        Divat(errai.uniform_strategy(rules).tree, Edges(rules))


@pytest.mark.parametrize("position", [0, 1])
def test_values_of_self_play_leave_little_variance(position: int) -> None:
    """Against itself AIVAT then has less than 0.3 of money's deviation, and with bet-call about 0.6."""
    chances, values = hand_chances(solved()), SelfPlayValues(solved(), edges(), deals=1000)
    squares = np.zeros(2)
    for record, chance in hands_of(solved(), solved())[::5]:
        asked = Question(ObservedHand(solved().tree, edges(), record, position), chances, chances)
        squares += chance * np.array([basic()(asked), aivat(values)(asked)]) ** 2
    money, own = np.sqrt(squares)
    assert own < 0.3 * money
