"""The buckets of one round: from cards to numbers, in a few ways.

- `Lossless`: the number of the canonical deal; no table.
- `ClassTable`: a table over classes of (hole cards, unordered board), for rounds that are clustered alone.
- `DealTable`: a table over canonical deals, whose rounds are told apart, for rounds that recall.
- `RefinedStrength`, `RefinedOchs`: for a last round that recalls, whose 2.4 billion deals no table could
  hold: the bucket before it, refined by the hand's strength or by the nearest of that bucket's centres. The
  features come from one sweep over the hands of the board, which takes no longer than look-ups would.
- `SweptStrength`: a last round by strength alone, found in the same way.
"""

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction import _round_buckets as kernels
from errai.abstraction.features.by_boards import hand_numbers
from errai.abstraction.features.features import BoardFeatures, BoardSweep
from errai.abstraction.features.hands import HandClasses
from errai.games.deals import Deals

NO_BUCKET = kernels.NO_BUCKET

FEW_HANDS = 16
"""So many hands of a board are compared with the others one by one; for more, all are sorted."""

Cards = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


class RoundBuckets(ABC):
    """What all kinds share.

    Attributes:
        kind: its name in files.
        num_buckets: buckets, empty ones included.
    """

    kind: str
    num_buckets: int

    @abstractmethod
    def of_deals(self, cards: Cards) -> Numbers:
        """Return the bucket of each row of hole cards and board, the board in the order of its deals."""

    def on_board(self, cards: Cards, hands: Numbers) -> Numbers:
        """Return the bucket of each row; all rows have one board, and the hands are numbered in `hands`."""
        return self.of_deals(cards)

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays that a file must hold, by name."""
        return {}


class Lossless(RoundBuckets):
    """Every canonical deal is a bucket."""

    kind = "lossless"

    def __init__(self, deals: Deals, round_index: int) -> None:
        self._deals, self._round = deals, deals.row_round(round_index)
        self.num_buckets = deals.num_rows(round_index)

    def of_deals(self, cards: Cards) -> Numbers:
        """Return the number of each canonical deal."""
        return self._deals.rows.index(cards, self._round)


class ClassTable(RoundBuckets):
    """A table over classes of hands."""

    kind = "classes"

    def __init__(self, classes: HandClasses, round_index: int, table: Array, num_buckets: int) -> None:
        self._classes, self._round = classes, round_index
        self.table = table
        self.num_buckets = num_buckets

    def of_deals(self, cards: Cards) -> Numbers:
        """Look the class of each deal up."""
        return self.table[self._classes.index(cards, self._round)].astype(np.int64)

    @property
    def arrays(self) -> dict[str, Array]:
        """The table."""
        return {"table": self.table}


class DealTable(RoundBuckets):
    """A table over canonical deals."""

    kind = "deals"

    def __init__(self, deals: Deals, round_index: int, table: Array, num_buckets: int) -> None:
        self._deals, self._round = deals, deals.row_round(round_index)
        self.table = table
        self.num_buckets = num_buckets

    def of_deals(self, cards: Cards) -> Numbers:
        """Look each canonical deal up."""
        return self.table[self._deals.rows.index(cards, self._round)].astype(np.int64)

    @property
    def arrays(self) -> dict[str, Array]:
        """The table."""
        return {"table": self.table}


class _Refined(RoundBuckets):
    """The buckets of the round before, refined by features of the last round."""

    def __init__(self, parent: RoundBuckets, num_parent_cards: int, num_hole: int, sweep: BoardSweep) -> None:
        self._parent, self._num_parent_cards = parent, num_parent_cards
        self._num_hole, self._sweep = num_hole, sweep
        # Number of a hand by its two cards in any order; hands of one card are found by that card twice.
        self._hand_number = np.zeros((256, 256), dtype=np.int64)
        first, last = sweep.hands[:, 0], sweep.hands[:, -1]
        self._hand_number[first, last] = self._hand_number[last, first] = np.arange(len(sweep.hands))

    def of_deals(self, cards: Cards) -> Numbers:
        """Sweep the hands of each board, and refine."""
        parents = self._parent.of_deals(np.ascontiguousarray(cards[:, : self._num_parent_cards]))
        boards = np.sort(cards[:, self._num_hole :], axis=1)
        order = np.lexsort(boards.T)
        ordered = boards[order]
        begins = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
        found = np.empty(len(cards), dtype=np.int64)
        for begin, end in pairwise(np.append(begins, len(cards)).tolist()):
            rows, board = order[begin:end], ordered[begin]
            hands = self._hand_number[cards[rows, 0], cards[rows, self._num_hole - 1]]
            found[rows] = self._refine(parents[rows], self._sweep.features(board), hands)
        return found

    def on_board(self, cards: Cards, hands: Numbers) -> Numbers:
        """Sweep the hands of the one board, and refine."""
        parents = self._parent.of_deals(np.ascontiguousarray(cards[:, : self._num_parent_cards]))
        return self._refine(parents, self._sweep.features(cards[0, self._num_hole :]), hands)

    @abstractmethod
    def _refine(self, parents: Numbers, features: BoardFeatures, hands: Numbers) -> Numbers:
        """Return the buckets of some hands of a board, given those of the round before."""


class SweptStrength(RoundBuckets):
    """A last round by strength alone, whose hands are compared when they are asked for: no table."""

    kind = "swept"

    def __init__(self, num_hole: int, sweep: BoardSweep, of_strength: Array, num_buckets: int) -> None:
        """Keep the bucket of every strength.

        Args:
            num_hole: hole cards.
            sweep: compares the hands of a board.
            of_strength: uint[strengths].
            num_buckets: empty ones included.
        """
        self._num_hole, self._sweep = num_hole, sweep
        self._of_strength = np.asarray(of_strength)
        self._hand_number = hand_numbers(sweep.hands)
        self.num_buckets = num_buckets

    def of_deals(self, cards: Cards) -> Numbers:
        """Compare each hand with the others on its board."""
        return self._of_strength[self._sweep.of_deals(cards, self._hand_number)].astype(np.int64)

    def on_board(self, cards: Cards, hands: Numbers) -> Numbers:
        """Sweep the hands of the one board."""
        strength = self._sweep.features(cards[0, self._num_hole :]).strength
        return self._of_strength[strength[hands]].astype(np.int64)

    @property
    def arrays(self) -> dict[str, Array]:
        """The bucket of every strength."""
        return {"strengths": self._of_strength}


class RefinedStrength(_Refined):
    """Refines by strength: a table of (bucket before, strength)."""

    kind = "strength"

    def __init__(
        self,
        parent: RoundBuckets,
        num_parent_cards: int,
        num_hole: int,
        sweep: BoardSweep,
        children: Array,
        num_children: int,
    ) -> None:
        """Keep the table.

        Args:
            parent: the round before.
            num_parent_cards: hole and board cards there.
            num_hole: hole cards.
            sweep: compares the hands of a board.
            children: uint[parents, strengths] which part of its parent a strength belongs to.
            num_children: parts of each parent.
        """
        super().__init__(parent, num_parent_cards, num_hole, sweep)
        self._children, self._num_children = children, num_children
        self._number_of_cards = hand_numbers(sweep.hands)
        self.num_buckets = parent.num_buckets * num_children

    def of_deals(self, cards: Cards) -> Numbers:
        """Compare each hand with the others on its board, or all of them where many are asked for."""
        num_boards = 1 + np.count_nonzero((np.diff(cards[:, self._num_hole :], axis=0) != 0).any(axis=1))
        if len(cards) > num_boards * FEW_HANDS:
            return super().of_deals(cards)
        parents = self._parent.of_deals(np.ascontiguousarray(cards[:, : self._num_parent_cards]))
        return self._part(parents, self._sweep.of_deals(cards, self._number_of_cards))

    def _refine(self, parents: Numbers, features: BoardFeatures, hands: Numbers) -> Numbers:
        return self._part(parents, features.strength[hands])

    def _part(self, parents: Numbers, strength: npt.NDArray[np.integer]) -> Numbers:
        child: Numbers = self._children[parents, strength].astype(np.int64)
        return parents * self._num_children + child

    @property
    def arrays(self) -> dict[str, Array]:
        """The table."""
        return {"children": self._children}


class RefinedOchs(_Refined):
    """Refines by the nearest of the parent's centres of opponent cluster hand strength."""

    kind = "ochs"

    def __init__(
        self,
        parent: RoundBuckets,
        num_parent_cards: int,
        num_hole: int,
        sweep: BoardSweep,
        centres: Array,
        num_centres: Array,
    ) -> None:
        """Keep the centres.

        Args:
            parent: the round before.
            num_parent_cards: hole and board cards there.
            num_hole: hole cards.
            sweep: compares the hands of a board.
            centres: uint16[parents, K, C].
            num_centres: int64[parents] of them in use.
        """
        super().__init__(parent, num_parent_cards, num_hole, sweep)
        self._centres, self._num_centres = np.asarray(centres), np.asarray(num_centres)
        self.num_buckets = parent.num_buckets * centres.shape[1]

    def _refine(self, parents: Numbers, features: BoardFeatures, hands: Numbers) -> Numbers:
        found = np.empty(len(hands), dtype=np.int64)
        kernels.nearest_in_group(
            np.ascontiguousarray(features.ochs[hands]), parents, self._centres, self._num_centres, found
        )
        return found

    @property
    def arrays(self) -> dict[str, Array]:
        """The centres."""
        return {"centres": self._centres, "num-centres": self._num_centres}
