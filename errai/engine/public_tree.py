"""A game's public tree with everything that a traversal needs, made once and shared.

Betting tree, boards and cells, and the layout of its tables. `PublicTree.of` keeps the last few, because
a solver, its strategies and every measurement of them ask for the same one.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.catalogue import Game
from errai.games.rules import PokerRules
from errai.memory import num_cores
from errai.tables.layout import Floats, TableLayout, bucketed_layout, lossless_layout
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import DECISION, BettingTree, build_betting_tree
from errai.tree.bluff_tree import build_split_bluff_tree
from errai.tree.buckets import AbstractionPair, Buckets, CardAbstraction, game_buckets
from errai.tree.cells import Cells, game_cells
from errai.tree.dice import dice_cells, roll_weights
from errai.tree.walk import walk_tree

SMALL_GAME_SLOTS = 2_000_000
"""Below this, tables are float64 and one thread does the work: precision is free and threads cost more."""


@dataclass(frozen=True, eq=False)
class PublicTree:
    """A game ready to be walked.

    Attributes:
        game: its rules.
        menu: the bet sizes of its tree; None where the rules leave no choice.
        betting: the betting tree.
        cells: boards and hands.
        weights: [player] float64[root cells] how likely each root hand is; None where all are alike.
        round_values: in Bluff, what player 0 wins if player 0, and if player 1, wins the round.
        buckets: an abstraction whose buckets are the rows of the tables; None for lossless tables.
    """

    game: Game
    menu: BetMenu | None
    betting: BettingTree
    cells: Cells
    weights: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
    buckets: Buckets | None = None
    round_values: tuple[float, float] = (1.0, -1.0)

    @staticmethod
    def of(game: Game, menu: BetMenu | None = None) -> "PublicTree":
        """Return the tree of a game, from the last few made where possible."""
        if isinstance(game, BluffRules):
            raise UsageError(f"'{game.name}' has a tree for each number of dice left: use its stages")
        return _public_tree(game, menu)

    @staticmethod
    def of_bluff(
        game: BluffRules, dice: tuple[int, int], round_values: tuple[float, float] = (1.0, -1.0)
    ) -> "PublicTree":
        """Return the bidding of one round of Bluff, the starter first."""
        betting = build_split_bluff_tree(dice)
        cells = dice_cells(dice, betting.num_rounds)
        return PublicTree(game, None, betting, cells, roll_weights(dice), round_values=round_values)

    @property
    def rules(self) -> PokerRules:
        """The rules of a card game."""
        assert isinstance(self.game, PokerRules), "a dice game has no cards to ask for"
        return self.game

    @cached_property
    def layout(self) -> TableLayout:
        """Where the slots of the tables are."""
        walk = walk_tree(self.betting)
        if self.buckets is not None:
            return bucketed_layout(walk, self.cells, self.buckets)
        return lossless_layout(walk, self.cells)

    def abstracted(self, buckets: Buckets) -> "PublicTree":
        """Return the same game with tables of buckets; best responses stay those of the real game."""
        return replace(self, buckets=buckets)

    def abstracted_by(self, abstraction: CardAbstraction | AbstractionPair) -> "PublicTree":
        """Return the same game as one abstraction shows it to both positions, or a pair of them to each."""
        pair = abstraction if isinstance(abstraction, tuple) else (abstraction, abstraction)
        if len(pair) != 2:
            raise UsageError(f"{len(pair)} abstractions are impossible: one, or one for each of 2 positions")
        return self.abstracted(game_buckets(self.cells, self.rules, pair))

    @property
    def num_slots(self) -> int:
        """Slots of both players' tables."""
        return sum(self.layout.num_slots)

    @property
    def num_infosets(self) -> int:
        """Information sets of both players, as the tables tell them apart."""
        betting, layout, total = self.betting, self.layout, 0
        for r in range(self.cells.num_rounds):
            boards = slice(*self.cells.links.round_board[r : r + 2].tolist())
            for q in (0, 1):
                rows = layout.rows[q, boards]
                decides = (betting.kind == DECISION) & (betting.player == q) & (betting.round == r)
                total += int(decides.sum()) * int(rows[0] if layout.bucketed[q, r] else rows.sum())
        return total

    @cached_property
    def is_small(self) -> bool:
        """Whether a traversal is soon over: buckets make tables small, but every hand is walked."""
        slots = self.layout.num_slots
        if self.buckets is not None:
            slots = lossless_layout(walk_tree(self.betting), self.cells).num_slots
        return sum(slots) <= SMALL_GAME_SLOTS

    @property
    def default_dtype(self) -> type[np.floating]:
        """float64 for small games, float32 for large ones."""
        return np.float64 if self.is_small else np.float32

    def traversal(self, dtype: npt.DTypeLike | None = None, num_threads: int | None = None) -> Traversal:
        """Return a traversal with buffers of its own.

        Args:
            dtype: float32 or float64; by size without it.
            num_threads: all cores for large games without it. The same bits come out for any number.
        """
        if num_threads is None:
            num_threads = 1 if self.is_small else num_cores()
        if num_threads < 1:
            raise UsageError(f"{num_threads} threads are impossible: 1 or more are allowed")
        return Traversal(
            self.betting,
            self.cells,
            dtype or self.default_dtype,
            num_threads,
            self.weights,
            self.round_values,
        )

    def describe_slot(self, player: int, slot: int) -> str:
        """Name the decision, board and row of a slot."""
        layout = self.layout
        board = int(np.searchsorted(layout.begin[player], slot, side="right")) - 1
        place, row = divmod(slot - int(layout.begin[player, board]), int(layout.rows[player, board]))
        round_index = int(np.searchsorted(self.cells.links.round_board, board, side="right")) - 1
        walk = self.measuring.walk
        first, last = self.betting.round_begin[round_index : round_index + 2]
        nodes = np.arange(first, last)[(walk.slot[first:last] >= 0) & (walk.player[first:last] == player)]
        node = int(nodes[np.searchsorted(walk.slot[nodes], place, side="right") - 1])
        return f"node {node} of round {round_index + 1}, board {board}, row {row}"

    @cached_property
    def measuring(self) -> Traversal:
        """The traversal for evaluations, in float64, kept between calls."""
        return self.traversal(np.float64)


@lru_cache(maxsize=4)
def _public_tree(game: PokerRules, menu: BetMenu | None) -> PublicTree:
    return PublicTree(game, menu, build_betting_tree(game, menu), game_cells(game))


def uniform_tables(tree: PublicTree) -> tuple[Floats, Floats]:
    """Return tables that play every action alike: zeros, which have no positive part."""
    return tree.layout.zeros(tree.default_dtype)
