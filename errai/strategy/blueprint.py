"""A strategy as an agent asks it: by the node of the betting and the cards, in integers.

`blueprint_of` makes one from a strategy of any kind. Whatever else has the members of `Blueprint`, such as a
strategy file for play, is one as it is.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats
from errai.tree.betting_tree import BettingTree
from errai.tree.cells import Cells, cells_below


@runtime_checkable
class Blueprint(Protocol):
    """What an agent of two players plays by."""

    @property
    def game(self) -> PokerRules:
        """The rules that it was made for."""

    @property
    def betting(self) -> BettingTree:
        """The betting that it foresaw."""

    def place(self, player: int, round_index: int, hole: Sequence[int], board: Sequence[int]) -> Any:
        """Return where the numbers of a hand are in a round; what it is, only `chances` knows.

        Args:
            player: position.
            round_index: from 0.
            hole: the player's cards.
            board: the public cards of the round, in the order of their deals.
        """

    def chances(self, node: int, place: Any) -> list[float]:
        """Return the probability of each action at a decision, in the order of the node's children."""


class Place(NamedTuple):
    """Where the slots of a hand are in a round, as deals of the engine say it.

    Attributes:
        player: position.
        first: where its first slot is.
        stride: from one slot to the next.
    """

    player: int
    first: int
    stride: int


class _TableBlueprint:
    """What blueprints with a table for each position have in common."""

    def __init__(
        self, tree: PublicTree, tables: tuple[Floats, Floats], slot: npt.NDArray[np.int32] | None = None
    ) -> None:
        """Get ready to be asked.

        Args:
            tree: the game.
            tables: [position] numbers[slots] played in proportion to the positive part.
            slot: int32[N] first slot of each decision where it is known; counting takes long in a large tree.
        """
        self.tree, self.tables = tree, tables
        self.game, self.betting = tree.rules, tree.betting
        self._slot = tree.walk.slot if slot is None else slot

    def chances(self, node: int, place: Place) -> list[float]:
        """Return the probability of each action; see `Blueprint`."""
        number = int(self.betting.num_children[node])
        first = place.first + int(self._slot[node]) * place.stride
        slots = self.tables[place.player][first : first + (number - 1) * place.stride + 1 : place.stride]
        weights = [max(weight, 0.0) for weight in slots.tolist()]
        total = sum(weights)
        return [weight / total for weight in weights] if total > 0 else [1 / number] * number

    @cached_property
    def _deals(self) -> Deals:
        return Deals(self.game)


class StrategyBlueprint(_TableBlueprint):
    """A strategy whose hands are all in memory."""

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy.tree, strategy.tables)

    def place(self, player: int, round_index: int, hole: Sequence[int], board: Sequence[int]) -> Place:
        """Return where the slots of a hand are; see `Blueprint`."""
        tree, layout, deals = self.tree, self.tree.layout, self._deals
        found = deals.boards.canonicalise(np.array(board, dtype=np.uint8), deals.board_round(round_index))
        number = int(tree.cells.links.round_board[round_index]) + found.board_index
        cell = tree.cells.find_cell(player, number, found.card_permutation[list(hole)].tolist())
        begin, stride = int(layout.begin[player, number]), int(layout.stride[player, number])
        if not layout.bucketed[player, round_index]:
            return Place(player, begin + cell, stride)
        bucket = layout.bucket[player][int(tree.cells.players[player].cell_begin[number]) + cell]
        return Place(player, begin + int(bucket) * stride, 1)


class BucketBlueprint(_TableBlueprint):
    """A strategy of buckets whose hands never are in memory."""

    def __init__(self, strategy: BucketStrategy) -> None:
        # A strategy in a file of its own knows its slots.
        super().__init__(strategy.tree, strategy.tables, getattr(strategy, "slot", None))
        self._layout, self._abstraction = strategy.layout, strategy.saved.abstraction

    def place(self, player: int, round_index: int, hole: Sequence[int], board: Sequence[int]) -> Place:
        """Return where the slots of a hand are; see `Blueprint`."""
        layout = self._layout
        begin, stride = int(layout.begin[player, round_index]), int(layout.stride[player, round_index])
        if layout.bucketed[player, round_index]:
            cards = np.array([[*hole, *board]], dtype=np.uint8)
            bucket = int(self._abstraction.buckets(cards, round_index, player)[0])
            return Place(player, begin + bucket * stride, 1)
        return Place(player, begin + self._first_cells.find_cell(player, 0, hole), stride)

    @cached_property
    def _first_cells(self) -> Cells:
        return cells_below(self._deals, 0, 0, last_round=0)


def blueprint_of(strategy: Any) -> Blueprint:
    """Return a strategy, or what has one as its `strategy`, as agents ask it; a blueprint as it is."""
    strategy = getattr(strategy, "strategy", strategy)
    if isinstance(strategy, Strategy):
        if strategy.tree.weights is not None:
            raise UsageError(
                f"a strategy of '{strategy.game.name}' with given ranges cannot play: "
                "expected one of a whole game"
            )
        return StrategyBlueprint(strategy)
    if isinstance(strategy, BucketStrategy):
        return BucketBlueprint(strategy)
    if isinstance(strategy, Blueprint):
        return strategy
    raise UsageError(f"expected a strategy of a card game of two players, not {type(strategy).__name__}")
