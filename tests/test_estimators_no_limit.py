"""Estimators in no-limit games: boards after an all-in, and bets that the strategy does not know."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from enumerated_hands import enumerated_hands
from naive import WITHOUT_JIT

import errai
from errai.cards.deck import parse_cards
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
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
from errai.evaluation.self_play_values import SelfPlayValues
from errai.evaluation.value_functions import BetCall, rounds_without_betting
from errai.games.betting import replay
from errai.games.catalogue import load_card_game
from errai.games.hand import HandState
from errai.games.match_state import HandRecord, MatchState
from errai.play.blueprint_agent import BlueprintAgent
from errai.strategy.strategy import Strategy
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import CHANCE, SHOWDOWN

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="thousands of hands")


@cache
def nolimit_leduc() -> PublicTree:
    rules = replace(load_card_game("leduc"), name="no-limit", raise_sizes=None, stacks=(9, 9))
    return PublicTree.of(rules, BetMenu.parse("1p,all-in", max_raises=2))


def random_strategy(seed: int) -> Strategy:
    rng = np.random.default_rng(seed)
    first, second = (rng.random(size) for size in nolimit_leduc().layout.num_slots)
    return Strategy(nolimit_leduc(), (first, second))


@pytest.mark.parametrize("position", [0, 1])
def test_means_are_exact_where_players_may_be_all_in(position: int) -> None:
    own, other = random_strategy(1), random_strategy(2)
    edges, equity = Edges(own.game), BetCall(own.tree)
    estimators: dict[str, Estimator] = {
        "money": basic(),
        "equity": basic(equity),
        "all cards, equity": all_cards(equity),
        "all cards, early folds, equity": all_cards_early_folds(equity),
        "aivat, equity": aivat(equity),
        "aivat, itself": aivat(SelfPlayValues(own, edges, deals=200)),
    }
    exact = errai.expected_value(own, other).positions[position]
    one = hand_chances(own)
    means, squares = dict.fromkeys(estimators, 0.0), dict.fromkeys(estimators, 0.0)
    players = (own, other) if position == 0 else (other, own)
    for record, chance in enumerated_hands(own.game, players):
        asked = Question(ObservedHand(own.tree, edges, record, position), one, one)
        for name, estimate in estimators.items():
            value = estimate(asked)
            means[name] += chance * value
            squares[name] += chance * value**2
    for name, mean in means.items():
        assert mean == pytest.approx(exact, abs=1e-9), name
    spread = {name: squares[name] - means[name] ** 2 for name in means}
    assert spread["equity"] < 0.8 * spread["money"]
    assert spread["aivat, itself"] < 0.5 * spread["money"]


def test_rounds_in_which_nobody_can_bet() -> None:
    tree = PublicTree.of("nolimit-holdem", BetMenu.parse("all-in"))
    betting, equity = tree.betting, BetCall(tree)
    found = rounds_without_betting(tree)
    assert {int(kind) for kind in betting.kind[found]} == {CHANCE, SHOWDOWN}
    assert (betting.kind[betting.parent[found]] == CHANCE).all()
    assert (equity.stake[found] == 20_000).all()
    assert len(rounds_without_betting(PublicTree.of("limit-holdem"))) == 0


def test_the_board_after_an_all_in_makes_no_difference() -> None:
    tree = PublicTree.of("nolimit-holdem", BetMenu.parse("1p,all-in"))
    rules, edges, chances = tree.rules, Edges(tree.rules), RuleChances(tree, "always-call")
    estimate = basic(BetCall(tree))
    for betting, same in (("r20000c", 0), ("r300c/cr20000c", 3), ("r300c/cc/cr20000c", 4)):
        found = set()
        for board in ("Qh7d2c9s3h", "Qh7d2c9sAs", "Qh7d2cAd5h"):
            if same == 4 and board[6:8] != "9s":
                continue
            state = HandState.start(rules).deal_hole([parse_cards("AcKc"), parse_cards("TdTh")])
            cards, actions = list(parse_cards(board)), re.findall("[fc]|r[0-9]+", betting)
            while not state.is_over:
                if due := state.num_board_cards_due:
                    state = state.deal_board(cards[:due])
                    cards = cards[due:]
                    continue
                state = state.act(actions.pop(0))
            seen = ObservedHand(tree, edges, HandRecord.of(state, 0, ("A", "B")), 0)
            found.add(round(estimate(Question(seen, chances, chances)), 6))
        assert len(found) == 1, betting


class Seated:
    """An agent asked as strategies are, in text."""

    def __init__(self, agent: BlueprintAgent) -> None:
        self._agent = agent

    def probabilities(self, betting: str, hand: str, board: str) -> Mapping[str, float]:
        state = replay(self._agent.game, betting)
        holes = tuple(tuple(parse_cards(hand)) if q == state.player else None for q in (0, 1))
        return self._agent.probabilities(MatchState(state.player, 0, state, holes, tuple(parse_cards(board))))


@pytest.mark.parametrize("position", [0, 1])
def test_means_are_exact_where_the_opponent_bets_what_the_strategy_does_not_know(position: int) -> None:
    """The strategy knows all-in alone, the opponent bets the pot, too."""
    tree = PublicTree.of(nolimit_leduc().rules, BetMenu.parse("all-in"))
    rng = np.random.default_rng(3)
    tables = [(rng.random(first), rng.random(second)) for first, second in 2 * [tree.layout.num_slots]]
    own, rough = (Strategy(tree, table) for table in tables)
    other, edges, equity = random_strategy(2), Edges(own.game), BetCall(tree)
    estimators: dict[str, Estimator] = {
        "money": basic(),
        "early folds": early_folds(),
        "all cards": all_cards(),
        "equity": basic(equity),
        "all cards, equity": all_cards(equity),
        "all cards, early folds, equity": all_cards_early_folds(equity),
        "aivat, equity": aivat(equity),
        "aivat, itself": aivat(SelfPlayValues(own, edges, deals=200)),
    }
    seat: Any = Seated(BlueprintAgent(own, translation="nearest"))
    one, another = hand_chances(own), hand_chances(rough)
    exact, part_left = 0.0, 0.0
    means, squares = dict.fromkeys(estimators, 0.0), dict.fromkeys(estimators, 0.0)
    for record, chance in enumerated_hands(own.game, (seat, other) if position == 0 else (other, seat)):
        seen = ObservedHand(tree, edges, record, position)
        part_left += chance * seen.has_left
        exact += chance * float(record.values[position])
        for name, estimate in estimators.items():
            value = estimate(Question(seen, one, one))
            means[name] += chance * value
            squares[name] += chance * value**2
        if seen.has_left:
            with pytest.raises(UsageError, match="can be evaluated for the strategy that played them alone"):
                basic()(Question(seen, one, another))
    assert 0.1 < part_left < 0.9
    for name, mean in means.items():
        assert mean == pytest.approx(exact, abs=1e-9), name
    spread = {name: squares[name] - means[name] ** 2 for name in means}
    assert spread["equity"] < 0.9 * spread["money"]
    assert spread["aivat, itself"] < 0.8 * spread["money"]
