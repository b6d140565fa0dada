"""The trunk of a public tree: everything above the cut after the first public deal.

Values come to it in two ways. From all boards of the cut, one after the other, as they were found there; or
summed over boards already, for the hands before the deal, which is all that a sample of boards can give
(`errai.response.sampled`). The latter also asks for the trunk's best actions, and for what given actions win.
"""

import numpy as np

from errai.engine._walk import CELLS
from errai.engine.plan import Plan
from errai.engine.public_tree import PublicTree
from errai.engine.root import Pair, Root
from errai.engine.section import (
    KEEP,
    PLAY,
    REACH,
    VALUES,
    CutPlace,
    given_size,
    given_slice,
    walk_section,
    whole_section,
)
from errai.engine.workspace import make_buffers
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.strategy.played import BoundPlay, Play, join_plays
from errai.tables.layout import Tables
from errai.tree.cells import cells_below
from errai.tree.subgame import first_boards

DTYPE = np.dtype(np.float64)

Values = tuple[float, float]
"""[position] chips a game."""


def cut_round(rules: PokerRules) -> int | None:
    """Return the first round after a game's first that deals public cards; None where none does."""
    for r in range(1, rules.num_rounds):
        if rules.num_board_cards[r] > 0:
            return r
    return None


class Trunk:
    """What is above the cut, and what both positions play there.

    Attributes:
        plan: boards and hands down to the boards of the cut.
        cut: where the tree is cut: after the deal.
        before_deal: the same cut before the deal.
    """

    def __init__(self, tree: PublicTree, plays: tuple[Play, Play], deals: Deals) -> None:
        """Make the trunk.

        Args:
            tree: a game that deals public cards after its first round.
            plays: what each position plays.
            deals: the game's boards.
        """
        first_below = cut_round(tree.rules)
        if first_below is None:
            raise UsageError(
                f"'{tree.rules.name}' has no sub-games: no round after its first deals public cards"
            )
        self.cut, self.before_deal = CutPlace(first_below, dealt=True), CutPlace(first_below, dealt=False)
        is_dealt = tree.rules.num_board_cards[0] == 0
        cells = cells_below(deals, 0, 0, is_dealt, last_round=first_below)
        self.plan = Plan(tree.walk, cells, DTYPE)
        self._root = Root.of(cells, DTYPE)
        first, second = (play.bind(cells, first_boards(deals, first_below + 1), DTYPE) for play in plays)
        self._plays = (first, second)
        self._tables = join_plays(first, second)
        self._buffers = make_buffers(self.plan, 0, first_below, with_slots=True)

    @property
    def num_boards(self) -> int:
        """Boards of the cut."""
        first, last = self.plan.boards(self.cut.round)
        return last - first

    def reach(self) -> Pair:
        """Return the reach that arrives at the cut: [position] float64[board, entry, cell]."""
        sizes = [given_size(self.plan, self.cut, q) for q in (0, 1)]
        reach: Pair = (np.zeros(sizes[0], DTYPE), np.zeros(sizes[1], DTYPE))
        self._walk(REACH, PLAY, self.cut, reach, self._tables)
        return reach

    def at_board(self, given: Pair, board: int) -> Pair:
        """Return what is given at one board of the cut: [position] a view, float64[entry, cell] flat."""
        number = self.plan.boards(self.cut.round)[0] + board
        first, second = (given_slice(self.plan, self.cut, given[q], q, number) for q in (0, 1))
        return first, second

    def root_values(self, values: Pair, mode: int) -> Values:
        """Return what each position wins, given its values at all boards of the cut.

        Args:
            values: [position] float64[board, entry, cell].
            mode: BEST or PLAY.
        """
        return self._means(self._walk(VALUES, mode, self.cut, values, self._tables))

    # Values before the deal

    def before_deal_values(self, given: Pair, board: int) -> Pair:
        """Return what the values at one board of the cut add to those before the deal.

        Args:
            given: [position] float64[board, entry, cell].
            board: which one.

        Returns:
            [position] float64[board before the deal, entry, cell] flat; summed over all boards of the cut,
            the values before the deal.
        """
        plan = self.plan
        number = plan.boards(self.cut.round)[0] + board
        parents = range(*plan.boards(self.cut.round - 1))
        parent = next(one for one in parents if plan.children[one, 0] <= number < plan.children[one, 1])
        first, last = plan.entries(self.cut.round)
        sums = []
        for q, values in enumerate(self.at_board(given, board)):
            cells = plan.cells.players[q]
            here = slice(int(cells.cell_begin[number]), int(cells.cell_begin[number + 1]))
            weighted = values.reshape(last - first, -1) * cells.deal_weight[here]
            added = np.zeros(given_size(plan, self.before_deal, q), DTYPE)
            target = given_slice(plan, self.before_deal, added, q, parent).reshape(last - first, -1)
            for entry, row in enumerate(weighted):
                target[entry] = np.bincount(cells.parent_cell[here], row, target.shape[1])
            sums.append(added)
        return sums[0], sums[1]

    def values(self, before_deal: Pair, mode: int) -> Values:
        """Return what each position wins, given its values before the deal; mode BEST or PLAY."""
        return self._means(self._walk(VALUES, mode, self.before_deal, before_deal, self._tables))

    def best_actions(self, before_deal: Pair) -> tuple[Tables, Tables]:
        """Return the best actions of each position in the trunk, given its values before the deal.

        Returns:
            [position] tables in which it takes these actions, and the opponent plays on; for `values_of`.
        """
        actions = []
        for q in (0, 1):
            tables = self._seated(q)
            self._walk(VALUES, KEEP, self.before_deal, before_deal, tables, q)
            actions.append(tables)
        return actions[0], actions[1]

    def values_of(self, actions: tuple[Tables, Tables], before_deal: Pair) -> Values:
        """Return what each position wins with some actions in the trunk, given its values before the deal."""
        first, second = (
            self._walk(VALUES, PLAY, self.before_deal, before_deal, actions[q], q)[q] for q in (0, 1)
        )
        return self._means((first, second))

    def _seated(self, player: int) -> Tables:
        """Return the opponent's tables beside an empty one of the player with a row for every cell."""
        cells = self.plan.cells
        rows = np.diff(cells.players[player].cell_begin).astype(np.int64)
        num_slots = self.plan.walk.num_slots[player, : cells.num_rounds].copy()
        num_slots[self.cut.round :] = 0  # nobody asks for rows below the trunk
        sizes = rows * np.repeat(num_slots, np.diff(cells.links.round_board))
        own = BoundPlay(
            np.zeros(int(sizes.sum()), DTYPE),
            np.cumsum(sizes) - sizes,
            rows,
            np.zeros(0, dtype=np.int32),
            np.full(cells.num_rounds, CELLS, dtype=np.uint8),
        )
        return join_plays(own, self._plays[1]) if player == 0 else join_plays(self._plays[0], own)

    def _walk(
        self, stage: int, mode: int, cut: CutPlace, given: Pair, tables: Tables, player: int | None = None
    ) -> Pair:
        """Walk the trunk for one position or both; what is given is reach to be written, or values."""
        out = (np.zeros_like(self._root.initial[0]), np.zeros_like(self._root.initial[1]))
        walk_section(
            self.plan,
            whole_section(self.plan, cut),
            stage,
            (0, 2) if player is None else (player, player + 1),
            np.full((2, self.plan.num_rounds), mode, dtype=np.uint8),
            tables,
            self._buffers,
            self._root.initial,
            out,
            given_reach=given,
            given_values=given,
            scales=self._root.scales,
        )
        return out

    def _means(self, values: Pair) -> Values:
        return self._root.mean_value(0, values[0]), self._root.mean_value(1, values[1])
