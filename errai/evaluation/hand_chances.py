"""What a strategy plays with every hand at once, at a betting node and a board.

Estimators ask for the hands that the agent might have held, not only for the one that it held.
"""

import threading
from typing import Protocol

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import buckets_on_board
from errai.engine.public_tree import PublicTree
from errai.games.deals import Deals
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import normalised
from errai.strategy.played import RulePlay
from errai.strategy.simple import simple_plays
from errai.strategy.strategy import Strategy
from errai.tree.cells import Cells, cells_below

Floats64 = npt.NDArray[np.float64]
Ints64 = npt.NDArray[np.int64]

BOARDS_KEPT = 8
"""A hand has one board a round, seen from one position; an off-policy estimate asks for each twice."""


class HandChances(Protocol):
    """What is asked of a known strategy.

    Attributes:
        tree: the betting that it knows.
        strategy: its tables; None where it has none.
    """

    tree: PublicTree
    strategy: Strategy | BucketStrategy | None

    def chances(self, node: int, board: tuple[int, ...]) -> Floats64:
        """Return the probability of each action with each hand: float64[A, H].

        Args:
            node: a decision.
            board: the public cards of its round. What is said of hands that share a card with it has no
                meaning.
        """


class _Kept(threading.local):
    """The rows of the last few boards that a thread asked for."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, tuple[int, ...]], Ints64] = {}

    def get(self, key: tuple[int, tuple[int, ...]]) -> Ints64 | None:
        """Return what was kept for a player and a board."""
        return self._rows.get(key)

    def keep(self, key: tuple[int, tuple[int, ...]], rows: Ints64) -> Ints64:
        """Keep the rows of a player on a board; the oldest go."""
        while len(self._rows) >= BOARDS_KEPT:
            self._rows.pop(next(iter(self._rows)))
        self._rows[key] = rows
        return rows


class BucketChances:
    """A strategy of buckets, asked for all hands."""

    def __init__(self, strategy: BucketStrategy) -> None:
        self.tree = strategy.tree
        self.strategy: Strategy | BucketStrategy | None = strategy
        self._strategy = strategy
        self._kept = _Kept()
        self._first: Cells | None = None

    def chances(self, node: int, board: tuple[int, ...]) -> Floats64:
        """Return the probability of each action with each hand: float64[A, H]."""
        player, r = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
        layout, walk = self._strategy.layout, self.tree.walk
        rows = self._rows(player, r, board)
        slot, num_actions = int(walk.slot[node]), int(walk.num_children[node])
        weights = layout.decision(self._strategy.tables[player], player, r, slot, num_actions)
        return np.ascontiguousarray(normalised(weights[:, rows]))

    def _rows(self, player: int, r: int, board: tuple[int, ...]) -> Ints64:
        key = (player, board)
        if (found := self._kept.get(key)) is not None:
            return found
        if self._strategy.layout.bucketed[player, r]:
            cards = np.array(board, dtype=np.uint8)
            rows = buckets_on_board(self._strategy.saved.abstraction, cards, player)
        else:  # a first round without a board: each canonical hand has a row
            if self._first is None:
                self._first = cells_below(Deals(self.tree.rules), 0, 0, last_round=0)
            hands = self.tree.rules.deck.hands(self.tree.rules.num_hole_cards)
            rows = self._first.cells_of_hands(player, 0, hands).astype(np.int64)
        return self._kept.keep(key, np.maximum(rows, 0))


class TableChances:
    """A strategy of a game whose hands are all in memory."""

    def __init__(self, strategy: Strategy) -> None:
        self.tree = strategy.tree
        self.strategy: Strategy | BucketStrategy | None = strategy
        self._strategy = strategy
        self._deals = Deals(strategy.game)
        self._kept = _Kept()
        self._boards: dict[tuple[int, ...], int] = {}

    def chances(self, node: int, board: tuple[int, ...]) -> Floats64:
        """Return the probability of each action with each hand: float64[A, H]."""
        player, r = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
        number, cells = self._find(player, r, board)
        return normalised(self._strategy.weights(player, node, number))[:, cells]

    def _find(self, player: int, r: int, board: tuple[int, ...]) -> tuple[int, Ints64]:
        """Return the number of the canonical board, and the cell of every hand there."""
        key = (player, (r, *board))
        if (found := self._kept.get(key)) is not None:
            return self._boards[key[1]], found
        rules, cells = self.tree.rules, self.tree.cells
        canonical = self._deals.boards.canonicalise(
            np.array(board, dtype=np.uint8), self._deals.board_round(r)
        )
        number = int(cells.links.round_board[r]) + canonical.board_index
        hands = canonical.card_permutation[rules.deck.hands(rules.num_hole_cards)]
        rows = np.maximum(cells.cells_of_hands(player, number, hands), 0).astype(np.int64)
        self._boards[key[1]] = number
        return number, self._kept.keep(key, rows)


class RuleChances:
    """A reference agent, which looks at no cards."""

    def __init__(self, tree: PublicTree, name: str) -> None:
        """Make it.

        Args:
            tree: the game.
            name: such as `always-call`.
        """
        self.tree = tree
        self.strategy: Strategy | BucketStrategy | None = None
        self._plays: tuple[RulePlay, RulePlay] = simple_plays(tree, name)
        self._before = np.cumsum(tree.walk.num_slots, axis=1) - tree.walk.num_slots
        self._num_hands = tree.rules.num_hands()

    def chances(self, node: int, board: tuple[int, ...]) -> Floats64:
        """Return the probability of each action with each hand: float64[A, H]."""
        player, r = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
        begin = int(self._before[player, r]) + int(self.tree.walk.slot[node])
        chances = self._plays[player].chances[begin : begin + int(self.tree.walk.num_children[node])]
        return np.repeat(chances[:, np.newaxis], self._num_hands, axis=1)


def hand_chances(strategy: Strategy | BucketStrategy) -> HandChances:
    """Return a strategy of either kind, ready to be asked for all hands."""
    return BucketChances(strategy) if isinstance(strategy, BucketStrategy) else TableChances(strategy)
