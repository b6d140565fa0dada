"""A game's public tree with everything that a walk needs, made once and shared.

Betting tree, boards and cells, and the layout of its tables. `PublicTree.of` keeps the last few, because
a solver, its strategies and every measurement of them ask for the same one. Cells are made when they are
first asked for: those of the largest games never are as a whole.

Everything here is immutable and may be used by any number of threads at once; whoever walks does so in
buffers of its own (`traversal`), or in some that nobody else uses at the time (`measuring`).
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair, CardAbstraction
from errai.engine.plan import Plan
from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.catalogue import Game, load_card_game
from errai.games.payoffs import PLAIN, Payoffs
from errai.games.rules import PokerRules
from errai.tables.layout import Floats, TableLayout, bucketed_layout, lossless_layout, slot_and_row
from errai.tables.subgame_layout import board_layout
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import DECISION, BettingTree, build_betting_tree
from errai.tree.bluff_tree import build_split_bluff_tree
from errai.tree.buckets import Buckets, game_buckets, verify_same_cards
from errai.tree.cells import Cells, game_cells
from errai.tree.dice import dice_cells, roll_weights
from errai.tree.walk import WalkTree, first_board_round, walk_tree
from errai.workers import verified_threads

MAX_HOLE_CARDS = 2
"""Cells and the kernels of terminal values know hands of one and of two cards."""

SMALL_GAME_SLOTS = 2_000_000
"""Below this, tables are float64 and one thread does the work: precision is free and threads cost more."""


class CellSource:
    """Cells that are made when they are first asked for, and kept."""

    def __init__(self, make: Callable[[], Cells]) -> None:
        self._make = make
        self._cells: Cells | None = None
        self._lock = Lock()

    @staticmethod
    def of(cells: Cells) -> "CellSource":
        """Return a source of cells that are there."""
        return CellSource(lambda: cells)

    @property
    def cells(self) -> Cells:
        """The cells."""
        with self._lock:
            if self._cells is None:
                self._cells = self._make()
            return self._cells


@dataclass(frozen=True, eq=False)
class PublicTree:
    """A game ready to be walked.

    Attributes:
        game: its rules.
        menu: the bet sizes of its tree; None where the rules leave no choice.
        betting: the betting tree.
        source: of boards and hands.
        weights: [player] float64[root cells] how likely each root hand is; None where all are alike.
        round_values: in Bluff, what player 0 wins if player 0, and if player 1, wins the round.
        buckets: an abstraction whose buckets are the rows of the tables; None for lossless tables.
        payoffs: what the players of a card game get at its leaves.
    """

    game: Game
    menu: BetMenu | None
    betting: BettingTree
    source: CellSource
    weights: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
    buckets: Buckets | None = None
    round_values: tuple[float, float] = (1.0, -1.0)
    payoffs: Payoffs = PLAIN
    _plans: dict[str, Plan] = field(default_factory=dict, init=False, repr=False)
    _idle: deque[Traversal] = field(default_factory=deque, init=False, repr=False)

    @staticmethod
    def of(
        game: Game | str | Path, menu: BetMenu | None = None, payoffs: Payoffs | str | None = None
    ) -> "PublicTree":
        """Return the tree of a card game, from the last few made where possible.

        Args:
            game: from `load_game`, or what it takes.
            menu: bet sizes of a no-limit game.
            payoffs: by default plain poker.
        """
        game = load_card_game(game)
        if game.num_hole_cards > MAX_HOLE_CARDS:
            raise UsageError(
                f"'{game.name}' deals {game.num_hole_cards} hole cards: expected 1 to {MAX_HOLE_CARDS}"
            )
        return _public_tree(game, menu).under(payoffs)

    @staticmethod
    def of_bluff(
        game: BluffRules, dice: tuple[int, int], round_values: tuple[float, float] = (1.0, -1.0)
    ) -> "PublicTree":
        """Return the bidding of one round of Bluff, the starter first."""
        betting = build_split_bluff_tree(dice)
        cells = dice_cells(dice, betting.num_rounds)
        source = CellSource.of(cells)
        return PublicTree(game, None, betting, source, roll_weights(dice), round_values=round_values)

    @property
    def rules(self) -> PokerRules:
        """The rules of a card game."""
        assert isinstance(self.game, PokerRules), "a dice game has no cards to ask for"
        return self.game

    @property
    def cells(self) -> Cells:
        """Boards and hands of the whole game."""
        return self.source.cells

    @cached_property
    def walk(self) -> WalkTree:
        """The betting as the engine walks it."""
        first_board = 0
        if self.payoffs != PLAIN:  # rake may wait for the first board
            dealt = self.rules.num_board_cards
            first_board = next((r for r, cards in enumerate(dealt) if cards > 0), 0)
            if self.weights is not None:  # a spot begins with a board
                first_board = first_board_round(self.cells.boards)
        return walk_tree(self.betting, self.round_values, self.payoffs, first_board)

    @cached_property
    def layout(self) -> TableLayout:
        """Where the slots of the tables are."""
        if self.buckets is not None:
            return bucketed_layout(self.walk, self.cells, self.buckets)
        return board_layout(self.walk, self.cells)

    def plan(self, dtype: npt.DTypeLike) -> Plan:
        """Return the plan of the whole game for vectors of a dtype, shared by all who walk it."""
        name = np.dtype(dtype).name
        # Two threads may make the same plan at once; either will do.
        return self._plans.setdefault(name, Plan(self.walk, self.cells, np.dtype(dtype)))

    def under(self, payoffs: Payoffs | str | None) -> "PublicTree":
        """Return the same game with other payoffs, as such or as text; itself where they are its own."""
        chosen = Payoffs.of(payoffs)
        return self if chosen == self.payoffs else replace(self, payoffs=chosen)

    def abstracted(self, buckets: Buckets) -> "PublicTree":
        """Return the same game with tables of buckets; best responses stay those of the real game."""
        return replace(self, buckets=buckets)

    def abstracted_by(self, abstraction: CardAbstraction | AbstractionPair) -> "PublicTree":
        """Return the same game as one abstraction shows it to both positions, or a pair of them to each."""
        pair = abstraction if isinstance(abstraction, tuple) else (abstraction, abstraction)
        if len(pair) != 2:
            raise UsageError(f"expected one abstraction, or one for each of 2 positions, not {len(pair)}")
        verify_same_cards(self.rules, pair)  # before the cells, which may need more memory than there is
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
            slots = lossless_layout(self.walk, self.cells).num_slots
        return sum(slots) <= SMALL_GAME_SLOTS

    @property
    def default_dtype(self) -> type[np.floating]:
        """float64 for small games, float32 for large ones."""
        return np.float64 if self.is_small else np.float32

    def traversal(self, dtype: npt.DTypeLike | None = None, num_threads: int | None = None) -> Traversal:
        """Return a traversal with buffers of its own.

        Args:
            dtype: float32 or float64; by default by size.
            num_threads: by default all cores for large games. The same bits come out for any number.
        """
        threads = 1 if num_threads is None and self.is_small else verified_threads(num_threads)
        return Traversal(
            self.betting,
            self.cells,
            dtype or self.default_dtype,
            threads,
            self.weights,
            plan=self.plan(dtype or self.default_dtype),
        )

    def describe_slot(self, player: int, slot: int) -> str:
        """Name the decision, board and row of a slot."""
        layout = self.layout
        begin = layout.begin[player]
        sizes = layout.rows[player] * np.repeat(
            self.walk.num_slots[player], np.diff(self.cells.links.round_board)
        )
        # Of boards that share their slots, as in a bucketed round, the last.
        board = int(np.flatnonzero((begin <= slot) & (slot < begin + sizes))[-1])
        round_index = int(np.searchsorted(self.cells.links.round_board, board, side="right")) - 1
        walk = self.walk
        first, last = self.betting.round_begin[round_index : round_index + 2]
        nodes = np.arange(first, last)[(walk.slot[first:last] >= 0) & (walk.player[first:last] == player)]
        inside, row = slot_and_row(
            slot - int(layout.begin[player, board]),
            int(layout.stride[player, board]),
            bool(layout.bucketed[player, round_index]),
        )
        node = int(nodes[np.searchsorted(walk.slot[nodes], inside, side="right") - 1])
        return f"node {node} of round {round_index + 1}, board {board}, row {row}"

    @contextmanager
    def measuring(self) -> Iterator[Traversal]:
        """Lend buffers for evaluations in float64 that nobody else uses, and keep them for the next."""
        try:
            walk = self._idle.pop()
        except IndexError:
            walk = self.traversal(np.float64)
        try:
            yield walk
        finally:
            self._idle.append(walk)


@lru_cache(maxsize=4)
def _public_tree(game: PokerRules, menu: BetMenu | None) -> PublicTree:
    return PublicTree(game, menu, build_betting_tree(game, menu), CellSource(lambda: game_cells(game)))


def uniform_tables(tree: PublicTree) -> tuple[Floats, Floats]:
    """Return tables that play every action alike: zeros, which have no positive part."""
    return tree.layout.zeros(tree.default_dtype)
