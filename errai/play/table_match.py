"""Agents that are tables over one betting tree, played against each other by a kernel.

Strategies with any treatment are, and in limit games the simple agents: what they play depends on the
betting and on where their cards stand in their own abstraction. Steps for a batch of deals: look up the rows
of both agents in both positions; play each hand out by draws with the keys of `Draws`; read what was bet from
the leaf. What comes out is the same, hand by hand, as when the agents are asked.

A treatment is applied ahead to a whole table; without one the table itself is played. Exact expected values
take the same tables.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.engine._deals import FIRST, ROW_WIDTH, STRIDE, TIE
from errai.engine.deal_walk import deal_tree
from errai.engine.deals import BucketDeals, CellDeals
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.payoffs import PLAIN
from errai.games.rules import PokerRules, Showdown
from errai.play import _table_match as kernels
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.played_hands import SWAPPED_HANDS, PlayedHands
from errai.play.simple_agents import SimpleAgent
from errai.strategy.blueprint import BucketBlueprint, StrategyBlueprint
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import betting_strings
from errai.strategy.simple import simple_plays, simple_strategy
from errai.strategy.strategy import Strategy
from errai.strategy.treated import treated
from errai.tables.layout import Floats

RULES_IN_LIMIT_GAMES = {"probe": "half"}
"""Simple agents that limit games make alike."""


@dataclass(frozen=True, eq=False)
class TableSeat:
    """An agent as a table for each position.

    Attributes:
        tables: [position] float[slots].
        is_weights: whether the tables are played in proportion to the positive part, or as they are.
        source: finds where cards stand; None for an agent that does not look at them.
        before: int64[2, R] slots of earlier rounds, which is where an agent without cards stands.
    """

    tables: tuple[Floats, Floats]
    is_weights: bool
    source: BucketDeals | CellDeals | None
    before: npt.NDArray[np.int64]

    def place(
        self, cards: npt.NDArray[np.uint8], rules: PokerRules
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8] | None]:
        """Return where the agent stands in some deals, as in `DealBatch`, and showdowns if it knows."""
        if self.source is not None:
            batch = self.source.batch(len(cards))
            self.source.place(cards, batch)
            return batch.by_round(), batch.outcomes
        rows = np.zeros((len(cards), 2, rules.num_rounds, ROW_WIDTH), dtype=np.int64)
        rows[:, :, :, FIRST] = self.before
        rows[:, :, :, STRIDE] = 1
        return rows, None


class TableMatch:
    """Two agents that are tables.

    Attributes:
        rules: the game.
        seats: the agents.
    """

    def __init__(self, tree: PublicTree, seats: tuple[TableSeat, TableSeat], seed: int) -> None:
        """Seat two agents.

        Args:
            tree: the betting that both know; its payoffs are those of plain poker.
            seats: the agents.
            seed: of their draws.
        """
        self.rules, self.seats = tree.rules, seats
        self._tree, self._seed = tree, seed
        self._arrays = deal_tree(tree.betting, tree.walk).arrays

    @staticmethod
    def of(first: Agent, second: Agent, seed: int) -> "TableMatch | None":
        """Return a match of two agents; None where they are not tables over one betting tree."""
        if not all(type(agent) in (BlueprintAgent, SimpleAgent) for agent in (first, second)):
            return None
        trees = [tree for tree in map(_tree_of, (first, second)) if tree is not None]
        if any(tree.menu != trees[0].menu for tree in trees):
            return None
        if not trees and first.game.is_limit and first.game.num_players == 2:
            trees = [PublicTree.of(first.game)]
        seats = [_seat_of(agent, trees[0]) for agent in (first, second)] if trees else [None, None]
        if seats[0] is None or seats[1] is None:
            return None
        return TableMatch(trees[0].under(PLAIN), (seats[0], seats[1]), seed)

    def play(self, cards: npt.NDArray[np.uint8], first_deal: int, hands_a_deal: int) -> PlayedHands:
        """Play some deals; arguments as for `AgentMatch.play`."""
        placed = [seat.place(cards, self.rules) for seat in self.seats]
        known = [outcomes for _, outcomes in placed if outcomes is not None]
        outcomes = known[0] if known else showdown_outcomes(self.rules, cards)
        deals = np.arange(first_deal, first_deal + len(cards))
        chips = np.zeros((hands_a_deal, len(cards)), dtype=np.int64)
        ends = np.zeros((hands_a_deal, len(cards)), dtype=np.int32)
        for swapped in range(hands_a_deal):
            for seat in (0, 1):  # the agent in position 0
                of_seat = slice((seat + swapped + first_deal) % 2, None, 2)
                won, ended = self._play_seated(
                    seat,
                    deals[of_seat] + swapped * SWAPPED_HANDS,
                    np.stack([placed[seat][0][of_seat, 0], placed[1 - seat][0][of_seat, 1]], axis=1),
                    outcomes[of_seat],
                )
                chips[swapped, of_seat] = won if seat == 0 else -won
                ends[swapped, of_seat] = ended
        return PlayedHands(cards, chips, (0, 0), lambda: [self._texts(row) for row in ends])

    def _play_seated(
        self,
        seat: int,
        numbers: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
        outcomes: npt.NDArray[np.int8],
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Play hands in which one agent has position 0; return what that position wins, and the leaves."""
        first, second = self.seats[seat], self.seats[1 - seat]
        chips, ends = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int32)
        kernels.play_hands(
            self._seed,
            numbers,
            seat,
            self._arrays.nodes,
            self._arrays.payoffs,  # those of position 0 come first
            rows.reshape(len(numbers), -1),
            np.ascontiguousarray(outcomes),
            first.tables[0],
            first.is_weights,
            second.tables[1],
            second.is_weights,
            ends,
            chips,
        )
        return chips, ends

    def _texts(self, ends: npt.NDArray[np.int32]) -> list[str]:
        strings = self._strings
        return [strings[end] for end in ends.tolist()]

    @cached_property
    def _strings(self) -> list[str]:
        return betting_strings(self._tree)


def showdown_outcomes(rules: PokerRules, cards: npt.NDArray[np.uint8]) -> npt.NDArray[np.int8]:
    """Return what the showdowns of deals come to, as `DealBatch.outcomes` says it: int8[D].

    Args:
        rules: the game.
        cards: uint8[D, cards] hole cards of position 0, of position 1, then the board.
    """
    rank = evaluate if rules.showdown is Showdown.POKER else evaluate_three_card
    hole, board = rules.num_hole_cards, cards[:, 2 * rules.num_hole_cards :]
    first, second = (
        rank(np.concatenate([cards[:, q * hole : (q + 1) * hole], board], axis=1)) for q in (0, 1)
    )
    outcomes: npt.NDArray[np.int8] = (TIE - np.sign(first - second)).astype(np.int8)
    return outcomes


def _tree_of(agent: Agent) -> PublicTree | None:
    """Return the tree of an agent that plays the table of a strategy."""
    if type(agent) is not BlueprintAgent:
        return None
    blueprint = agent.blueprint
    return blueprint.tree if isinstance(blueprint, StrategyBlueprint | BucketBlueprint) else None


def _seat_of(agent: Agent, tree: PublicTree) -> TableSeat | None:
    """Return an agent as tables over a tree's betting; None where it is more than that."""
    before = np.cumsum(tree.walk.num_slots, axis=1) - tree.walk.num_slots
    if type(agent) is SimpleAgent and agent.game.is_limit:
        first, second = simple_plays(tree, RULES_IN_LIMIT_GAMES.get(agent.name, agent.name))
        return TableSeat((first.chances, second.chances), False, None, before)
    if type(agent) is not BlueprintAgent or _tree_of(agent) is None:
        return None
    strategy = _strategy_of(agent)
    try:
        source = _source_of(strategy)
    except UsageError:  # a game with too many boards for a table of all: the agent itself looks one up
        return None
    if agent.treatment.changes_nothing:
        return TableSeat(strategy.tables, True, source, before)
    # In double precision, because that is what an agent's probabilities have.
    first_table, second_table = (table.astype(np.float64, copy=False) for table in strategy.tables)
    precise = replace(strategy, tables=(first_table, second_table))
    return TableSeat(treated(precise, agent.treatment).tables, False, source, before)


def _strategy_of(agent: BlueprintAgent) -> Any:
    """Return the strategy whose tables an agent plays, which may stand inside what it was made from."""
    return getattr(agent.strategy, "strategy", agent.strategy)


def _source_of(strategy: Strategy | BucketStrategy) -> BucketDeals | CellDeals:
    if isinstance(strategy, BucketStrategy):
        pair = (strategy.saved.abstraction, strategy.saved.abstraction)
        return BucketDeals(strategy.tree.rules, strategy.layout, pair)
    return CellDeals(strategy.tree)


def exact_strategy(agent: Agent) -> Strategy | BucketStrategy | None:
    """Return what an agent plays as a strategy whose value can be computed; None where it is no strategy."""
    if type(agent) is SimpleAgent and agent.game.is_limit:
        return simple_strategy(agent.game, RULES_IN_LIMIT_GAMES.get(agent.name, agent.name))
    if type(agent) is not BlueprintAgent or _tree_of(agent) is None:
        return None
    strategy: Strategy | BucketStrategy = treated(_strategy_of(agent), agent.treatment)
    return strategy
