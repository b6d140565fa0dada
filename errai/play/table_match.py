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

import numpy as np
import numpy.typing as npt

from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.engine._deals import FIRST, ROWS, STRIDE, TIE
from errai.engine.deal_walk import deal_tree
from errai.engine.deals import BucketDeals, CellDeals
from errai.engine.public_tree import PublicTree
from errai.games.payoffs import PLAIN
from errai.games.rules import PokerRules, Showdown
from errai.memory import verify_memory
from errai.play import _table_match as kernels
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.played_hands import SWAPPED_HANDS, PlayedHands
from errai.play.simple_agents import SimpleAgent
from errai.strategy.blueprint import BucketBlueprint, StrategyBlueprint
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import betting_strings
from errai.strategy.postprocessing import Treatment, action_kind
from errai.strategy.simple import simple_plays, simple_strategy
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats
from errai.tree.betting_tree import DECISION, BettingTree

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
        """Return where the agent stands in some deals, int64[D, 2, R, 4], and the showdowns if it knows them."""
        if self.source is not None:
            batch = self.source.batch(len(cards))
            self.source.place(cards, batch)
            return batch.by_round(), batch.outcomes
        rows = np.zeros((len(cards), 2, rules.num_rounds, 4), dtype=np.int64)
        rows[:, :, :, FIRST] = self.before
        rows[:, :, :, ROWS] = rows[:, :, :, STRIDE] = 1
        return rows, None


class TableMatch:
    """Two agents that are tables."""

    def __init__(self, tree: PublicTree, seats: tuple[TableSeat, TableSeat], seed: int) -> None:
        """Seat two agents.

        Args:
            tree: the betting that both know; its payoffs are those of plain poker.
            seats: the agents.
            seed: of their draws.
        """
        self.rules = tree.rules
        self._tree, self._seats, self._seed = tree, seats, seed
        self._arrays = deal_tree(tree.betting, tree.walk).arrays

    @staticmethod
    def of(first: Agent, second: Agent, seed: int) -> "TableMatch | None":
        """Return a match of two agents; None where they are not tables over one betting tree."""
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
        placed = [seat.place(cards, self.rules) for seat in self._seats]
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
        first, second = self._seats[seat], self._seats[1 - seat]
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
    return (TIE - np.sign(first - second)).astype(np.int8)


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
    strategy = agent.strategy
    source = _source_of(strategy)
    if agent.treatment.changes_nothing:
        return TableSeat(strategy.tables, True, source, before)
    return TableSeat(treated_tables(strategy, agent.treatment), False, source, before)


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
    strategy: Strategy | BucketStrategy = agent.strategy
    if agent.treatment.changes_nothing:
        return strategy
    return replace(strategy, tables=treated_tables(strategy, agent.treatment))


def treated_tables(strategy: Strategy | BucketStrategy, treatment: Treatment) -> tuple[Floats, Floats]:
    """Return the probabilities that a treated strategy plays: [position] float64[slots].

    Args:
        strategy: any strategy of a card game.
        treatment: what is done at every decision.
    """
    tree = strategy.tree
    layout = strategy.layout if isinstance(strategy, BucketStrategy) else tree.layout
    verify_memory(8 * sum(layout.num_slots), f"a treated strategy of '{tree.rules.name}'")
    treated = (np.zeros(layout.num_slots[0]), np.zeros(layout.num_slots[1]))
    betting, walk = tree.betting, tree.walk
    first_decisions = _first_decisions(betting)
    for node in np.flatnonzero(betting.kind == DECISION).tolist():
        q, r, number = int(betting.player[node]), int(betting.round[node]), int(walk.num_children[node])
        kinds = [action_kind(int(betting.action[child])) for child in betting.children(node)]
        for begin, rows in _blocks(strategy, q, r):
            at = slice(begin + int(walk.slot[node]) * rows, begin + (int(walk.slot[node]) + number) * rows)
            # The actions of a bucket are together, those of cells are not.
            is_bucketed = bool(layout.bucketed[q, r])
            weights = strategy.tables[q][at].reshape((rows, number) if is_bucketed else (number, rows))
            chances = _in_proportion(weights if is_bucketed else weights.T)
            played = treatment.apply(chances, kinds, bool(first_decisions[node]))
            treated[q][at] = (played if is_bucketed else played.T).ravel()
    return treated


def _blocks(strategy: Strategy | BucketStrategy, player: int, round_index: int) -> list[tuple[int, int]]:
    """Return where the slots of a round begin, board by board, and the rows there; shared ones once."""
    if isinstance(strategy, BucketStrategy):
        layout = strategy.layout
        return [(int(layout.begin[player, round_index]), int(layout.rows[player, round_index]))]
    board_layout = strategy.tree.layout
    boards = slice(*strategy.tree.cells.links.round_board[round_index : round_index + 2].tolist())
    begins, rows = board_layout.begin[player, boards].tolist(), board_layout.rows[player, boards].tolist()
    return sorted(set(zip(begins, rows, strict=True)))


def _in_proportion(weights: Floats) -> npt.NDArray[np.float64]:
    """Return probabilities by row, float64[rows, actions], added up in the order of `Blueprint.chances`."""
    positive = np.maximum(weights.astype(np.float64), 0)
    totals = np.zeros(len(positive))
    for column in positive.T:
        totals += column
    chances: npt.NDArray[np.float64] = np.full_like(positive, 1 / positive.shape[1])
    np.divide(positive, totals[:, np.newaxis], out=chances, where=totals[:, np.newaxis] > 0)
    return chances


def _first_decisions(betting: BettingTree) -> npt.NDArray[np.bool_]:
    """Return which decisions are their player's first of the hand: bool[N]."""
    acted = np.zeros((betting.num_nodes, 2), dtype=bool)
    first = np.zeros(betting.num_nodes, dtype=bool)
    for node in range(betting.num_nodes):  # parents come before children
        above = int(betting.parent[node])
        if above >= 0:
            acted[node] = acted[above]
            if betting.kind[above] == DECISION:
                acted[node, betting.player[above]] = True
        if betting.kind[node] == DECISION:
            first[node] = not acted[node, betting.player[node]]
    return first
