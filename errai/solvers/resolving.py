"""Re-solving one sub-game so that it is no more exploitable than the strategy that led there.

Burch, Johanson and Bowling, "Solving Imperfect Information Games Using Decomposition", 2014 (CFR-D and its
gadget). A player has a strategy for the whole game, the *blueprint*, and stands in a sub-game: a betting
sequence that begins a round, and a board. Steps:

1. Reach: how likely the blueprint brings each hand of the player here.
2. What the opponent could get: for each of its hands, the counterfactual value of a best response to the
   blueprint from here on.
3. The gadget: before the sub-game begins the opponent chooses, hand by hand, to take that value (and the game
   ends) or to play on. Whatever it does before, it can then gain nothing from the player's new strategy that
   the blueprint did not give away already.
4. CFR+ on the gadget game. The player's average strategy is what to play here.

The sub-game is a betting tree of its own with all hands and boards, walked by the same engine as any game;
the choice in the gadget is one more regret for each hand of the opponent. Deviations: none known; the average
counts iterations linearly.
"""

import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from errai.engine.plan import Plan
from errai.engine.public_tree import CellSource, PublicTree
from errai.engine.root import Pair, Root
from errai.engine.section import (
    BEST,
    LEARN,
    PLAY,
    REACH,
    VALUES,
    CutPlace,
    given_size,
    walk_section,
    whole_section,
)
from errai.engine.workspace import make_buffers
from errai.errors import UsageError, verify_whole
from errai.games.deals import Deals
from errai.games.rounds import round_of_game
from errai.memory import verify_memory
from errai.solvers.solve import verified_steps, warm_up_walks
from errai.solvers.update_rules import find_rule
from errai.strategy.played import Play, join_plays
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats
from errai.tree.cells import Cells, cells_below, path_cells
from errai.tree.cut import Cut, betting_below
from errai.tree.subgame import BoardRanges, boards_below

RULE = "cfr+"
DTYPE = np.dtype(np.float64)
BYTES_A_SLOT = 2 * DTYPE.itemsize
ITERATIONS_BETWEEN_LOOKS = 8
"""How often the clock is looked at, at least."""

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """A sub-game.

    Attributes:
        round: the betting round that it begins with, from 1 on.
        entry: which entry of that round it hangs from.
        board: the canonical board of the round.
    """

    round: int
    entry: int
    board: int


class ResolvedSubgame:
    """A sub-game about to be solved anew for one position, or solved.

    Attributes:
        place: which one.
        player: the position that plays what is found.
        cells: its boards and hands; rounds are counted from the sub-game's first.
        blocks: [round] begin and end of its nodes in the whole betting tree.
        tree: its betting as a game of its own.
        offered: float64[cells] what each hand of the opponent may take instead of playing on, in the units of
            `root_values`: a best response to the blueprint.
        iteration: iterations done.
    """

    def __init__(
        self, whole: PublicTree, plays: tuple[Play, Play], deals: Deals, place: Place, player: int
    ) -> None:
        """Bring both ranges to the sub-game, and find out what the blueprint gives away there.

        Args:
            whole: the game, as the blueprint plays it.
            plays: [position] the blueprint.
            deals: the game's cards.
            place: the sub-game.
            player: the position that is to play what is found.
        """
        warm_up_walks(DTYPE.name)  # compiling is no part of solving
        verify_place(whole, deals, place)
        self.place, self.player = place, player
        self.blocks = Cut(whole.betting, deals, place.round).blocks(place.entry)
        betting = betting_below(whole.betting, self.blocks, place.round)
        self.cells = cells_below(deals, place.round, place.board)
        reach = arriving_reach(whole, plays, deals, place)
        if not reach[player].any():
            # The blueprint never comes here, so nothing says what it holds: every hand alike.
            reach[player][:] = 1.0
        weights = (reach[0].copy(), reach[1].copy())
        weights[1 - player][:] = 1.0
        cells = replace(self.cells, first_round=0)
        self.tree = PublicTree(
            whole.game, whole.menu, betting, CellSource.of(cells), weights, payoffs=whole.payoffs
        )
        verify_memory(
            self.tree.num_slots * BYTES_A_SLOT, f"re-solving {round_of_game(whole.rules, place.round)}"
        )
        self._walk = self.tree.traversal(DTYPE, 1)
        self._regrets, self._averages = self.tree.layout.zeros(DTYPE), self.tree.layout.zeros(DTYPE)
        best = best_values(whole, plays, deals, place, self.cells, weights, 1 - player)
        self.offered: Values = best * self._walk.root.scales[1 - player]
        # [take, play on] regrets of the opponent's choice, hand by hand.
        self._choice = np.zeros((2, len(self.offered)))
        self.iteration = 0

    @property
    def num_slots(self) -> int:
        """Slots of both positions' tables."""
        return self.tree.num_slots

    def run(self, iterations: int) -> None:
        """Do more iterations."""
        rule, opponent = find_rule(RULE), 1 - self.player
        tables = self.tree.layout.tables(self._regrets, self._regrets, self._averages)
        entering = self._walk.root.initial[opponent]
        steps = verified_steps(rule, self.iteration + 1, self.iteration + 1 + iterations)
        for step in steps:
            entering[:] = self._chance_to_play_on()
            self._walk.walk_once(self.player, LEARN, tables, step[self.player])
            played = self._walk.walk_once(opponent, LEARN, tables, step[opponent])
            value = entering * played + (1 - entering) * self.offered
            self._choice[0] += self.offered - value
            self._choice[1] += played - value
            np.maximum(self._choice, 0, out=self._choice)
        self.iteration += iterations

    def run_for(self, seconds: float) -> None:
        """Do iterations as long as the next ones will end in time; at least one."""
        begin = time.perf_counter()
        done, spent = 0, 0.0
        while not done or spent + spent / done * min(done, ITERATIONS_BETWEEN_LOOKS) <= seconds:
            some = max(1, min(done, ITERATIONS_BETWEEN_LOOKS))
            self.run(some)
            done, spent = done + some, time.perf_counter() - begin

    def _chance_to_play_on(self) -> Values:
        total = self._choice.sum(axis=0)
        return np.where(total > 0, self._choice[1] / np.where(total > 0, total, 1.0), 0.5)

    @cached_property
    def strategy(self) -> Strategy:
        """What was found; only the player's position is to be played. It changes with further iterations."""
        return Strategy(self.tree, self._averages)

    def margins(self) -> Values:
        """Return by how much playing on is worse for each hand of the opponent than what it is offered.

        That is against the player's average strategy and a best response to it: where no margin is
        negative, the sub-game gives away no more than the blueprint did. In chips a hand.
        """
        opponent = 1 - self.player
        self._walk.root.initial[opponent][:] = 1.0
        tables = self.tree.layout.tables(self._averages, self._averages, self._averages)
        best = self._walk.walk_once(opponent, BEST, tables, np.zeros(5))
        margins: Values = self.offered - best
        return margins

    def node_of(self, node: int) -> int:
        """Return the sub-game's node of a node of the whole betting tree."""
        before = 0
        for begin, end in self.blocks:
            if begin <= node < end:
                return before + node - begin
            before += end - begin
        raise UsageError(f"node {node} is not in the sub-game: expected one below node {self.blocks[0][0]}")

    def close(self) -> None:
        """Give back threads."""
        self._walk.close()


def resolve(
    whole: PublicTree,
    plays: tuple[Play, Play],
    place: Place,
    player: int,
    iterations: int,
    deals: Deals | None = None,
) -> ResolvedSubgame:
    """Solve a sub-game anew for one position; arguments as for `ResolvedSubgame`."""
    verify_whole("iterations", iterations, 1)
    subgame = ResolvedSubgame(whole, plays, deals or Deals(whole.rules), place, player)
    with closing(subgame):
        subgame.run(iterations)
    return subgame


def verify_place(whole: PublicTree, deals: Deals, place: Place) -> None:
    """Refuse a sub-game that there is not."""
    num_rounds = whole.betting.num_rounds
    if not 1 <= place.round < num_rounds:
        raise UsageError(f"a sub-game begins with round 1 to {num_rounds - 1}, not {place.round}")
    for what, number, size in (
        ("entry", place.entry, len(whole.betting.entry_nodes[place.round])),
        ("board", place.board, deals.num_boards(place.round)),
    ):
        if not 0 <= number < size:
            raise UsageError(f"{what} {number} does not exist: expected 0 to {size - 1}")


def arriving_reach(whole: PublicTree, plays: tuple[Play, Play], deals: Deals, place: Place) -> Pair:
    """Return how likely each position's strategy brings its hands to a sub-game: float64[cells] each."""
    boards = path_to(deals, place.round, place.board)
    cells = path_cells(deals, boards, [1.0] * len(boards))
    plan = Plan(whole.walk, cells, DTYPE)
    ranges = BoardRanges(0, tuple((board, board + 1) for board in boards))
    tables = join_plays(*(play.bind(cells, ranges, DTYPE) for play in plays))
    cut, root = CutPlace(place.round, dealt=True), Root.of(cells, DTYPE)
    first, second = (np.zeros(given_size(plan, cut, q), DTYPE) for q in (0, 1))
    reach: Pair = (first, second)
    out = (np.zeros_like(root.initial[0]), np.zeros_like(root.initial[1]))
    walk_section(
        plan,
        whole_section(plan, cut),
        REACH,
        (0, 2),
        np.full((2, plan.num_rounds), PLAY, dtype=np.uint8),
        tables,
        make_buffers(plan, 0, place.round, with_slots=True),
        root.initial,
        out,
        given_reach=reach,
        given_values=reach,
        with_own=True,
    )
    entries = len(whole.betting.entry_nodes[place.round])
    first, second = (both.reshape(entries, -1)[place.entry].copy() for both in reach)
    return first, second


def path_to(deals: Deals, round_index: int, board: int) -> list[int]:
    """Return the canonical boards of all rounds up to one: each is dealt from the one before."""
    path = [board]
    for r in range(round_index, 0, -1):
        deal = deals.board_round(r)
        if deal == deals.board_round(r - 1):
            path.append(path[-1])
        elif deal == 0:
            path.append(0)
        else:
            path.append(int(np.searchsorted(deals.boards.child_begin(deal), path[-1], side="right")) - 1)
    return path[::-1]


def best_values(
    whole: PublicTree,
    plays: tuple[Play, Play],
    deals: Deals,
    place: Place,
    cells: Cells,
    reach: Pair,
    player: int,
) -> Floats:
    """Return what a best response of a position wins in a sub-game, hand by hand: float64[cells].

    Args:
        whole: the game.
        plays: what both positions play.
        deals: the game's cards.
        place: the sub-game.
        cells: its boards and hands.
        reach: [position] float64[cells] with which hands the positions are there.
        player: whose best response.
    """
    plan = Plan(whole.walk, cells, DTYPE)
    boards = boards_below(deals, place.round, place.board)
    tables = join_plays(*(play.bind(cells, boards, DTYPE) for play in plays))
    first, last = plan.entries(0)
    above, out = [], []
    for q in (0, 1):
        given = np.zeros((last - first, len(reach[q])), DTYPE)
        given[place.entry] = reach[q]
        above.append(given.ravel())
        out.append(np.zeros_like(above[-1]))
    section = replace(whole_section(plan), entries=(first + place.entry, first + place.entry + 1))
    walk_section(
        plan,
        section,
        VALUES,
        (player, player + 1),
        np.full((2, plan.num_rounds), BEST, dtype=np.uint8),
        tables,
        make_buffers(plan, with_slots=True),
        (above[0], above[1]),
        (out[0], out[1]),
    )
    found: Floats = out[player].reshape(last - first, -1)[place.entry]
    return found
