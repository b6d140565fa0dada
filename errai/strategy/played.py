"""What one position plays, bound to the boards that are being walked.

A walk of a whole game reads the whole of a position's tables; one of a sub-game needs to know where the slots
of its own boards are, and which buckets its own hands have. A `Play` answers that for any boards, so
that a strategy of any size can be measured with the hands of one sub-game in memory at a time.
"""

import threading
import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair
from errai.array_file import checksum
from errai.engine._walk import BUCKETS, CELLS, ONE
from errai.games.rules import PokerRules
from errai.tables.bucket_layout import BucketLayout
from errai.tables.layout import Floats, TableLayout, Tables
from errai.tree.buckets import Buckets, bucketed_rounds, game_buckets
from errai.tree.cells import Cells
from errai.tree.subgame import BoardRanges
from errai.tree.walk import WalkTree


class BoundPlay(NamedTuple):
    """A position's table at some boards.

    Attributes:
        source: float[slots] played in proportion to the positive part.
        begin: int64[B] where the slots of each board begin.
        stride: int64[B] as in `TableLayout`.
        bucket: int32[C] row of each cell where rows are buckets; empty where none are.
        row_kind: uint8[R] CELLS, BUCKETS or ONE.
    """

    source: Floats
    begin: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    bucket: npt.NDArray[np.int32]
    row_kind: npt.NDArray[np.uint8]


class Play(Protocol):
    """What one position plays, at any boards."""

    @property
    def fingerprint(self) -> str:
        """Two plays with the same one play alike."""

    def bind(self, cells: Cells, boards: BoardRanges, dtype: np.dtype[Any]) -> BoundPlay:
        """Return the position's table at some boards."""


def join_plays(first: BoundPlay, second: BoundPlay) -> Tables:
    """Return the tables of both positions, to be read."""
    sources = (first.source, second.source)
    return Tables(
        sources,
        sources,
        sources,
        sources,
        np.stack([first.begin, second.begin]),
        np.stack([first.stride, second.stride]),
        (first.bucket, second.bucket),
        np.stack([first.row_kind, second.row_kind]),
    )


_NO_BUCKETS = np.zeros(0, dtype=np.int32)


class _TableIn:
    """A table in the number formats that walks ask for, each converted once: thousands of boards are bound.

    So the table must not change while its play is in use, as the play's fingerprint says, too.
    """

    def __init__(self, table: Floats) -> None:
        self._by_name = {table.dtype.name: table}

    def __call__(self, dtype: np.dtype[Any]) -> Floats:
        found = self._by_name.get(dtype.name)
        if found is None:
            # Two threads may convert at once; either will do.
            converted = next(iter(self._by_name.values())).astype(dtype)
            found = self._by_name.setdefault(dtype.name, converted)
        return found


@dataclass(frozen=True, eq=False)
class RulePlay:
    """A position that looks at no cards: one probability for each slot of the betting.

    Attributes:
        walk: the betting.
        player: the position.
        chances: float64[slots] by slot, rounds one after the other.
    """

    walk: WalkTree
    player: int
    chances: npt.NDArray[np.float64]

    @cached_property
    def fingerprint(self) -> str:
        """The checksum of the probabilities."""
        return checksum(self.chances.tobytes())

    def bind(self, cells: Cells, boards: BoardRanges, dtype: np.dtype[Any]) -> BoundPlay:
        """Return one row for all cells of every board."""
        before = np.concatenate([[0], np.cumsum(self.walk.num_slots[self.player])])
        here = before[boards.first_round : boards.first_round + cells.num_rounds]
        begin = np.repeat(here, np.diff(cells.links.round_board))
        return BoundPlay(
            self.chances.astype(dtype, copy=False),
            begin.astype(np.int64),
            np.ones(len(begin), dtype=np.int64),
            _NO_BUCKETS,
            np.full(cells.num_rounds, ONE, dtype=np.uint8),
        )


@dataclass(frozen=True, eq=False)
class TablePlay:
    """A position that plays a table laid out for all boards of its game.

    Attributes:
        layout: of the table.
        cells: of the whole game.
        player: the position.
        table: float[slots].
    """

    layout: TableLayout
    cells: Cells
    player: int
    table: Floats

    @cached_property
    def _table_in(self) -> _TableIn:
        return _TableIn(self.table)

    @cached_property
    def fingerprint(self) -> str:
        """The checksum of the table and of its buckets."""
        buckets = self.layout.bucket[self.player]
        return checksum(f"{checksum(self.table.data)} {checksum(buckets.data)}".encode())

    def bind(self, cells: Cells, boards: BoardRanges, dtype: np.dtype[Any]) -> BoundPlay:
        """Return where the slots of some of the game's boards are."""
        layout, player = self.layout, self.player
        round_board, cell_begin = self.cells.links.round_board, self.cells.players[player].cell_begin
        begins, strides, buckets = [], [], []
        kinds = layout.bucketed[player, boards.first_round : boards.first_round + cells.num_rounds]
        for r, (first, last) in enumerate(boards.boards):
            here = slice(*(round_board[boards.first_round + r] + np.array([first, last])).tolist())
            begins.append(layout.begin[player, here])
            strides.append(layout.stride[player, here])
            if kinds.any():
                buckets.append(layout.bucket[player][cell_begin[here.start] : cell_begin[here.stop]])
        return BoundPlay(
            self._table_in(dtype),
            np.concatenate(begins),
            np.concatenate(strides),
            np.concatenate(buckets) if buckets else _NO_BUCKETS,
            np.where(kinds, BUCKETS, CELLS).astype(np.uint8),
        )


class BucketLookup:
    """The buckets of any cells, looked up once for both positions."""

    def __init__(self, rules: PokerRules, abstractions: AbstractionPair) -> None:
        self.rules, self.abstractions = rules, abstractions
        self._bucketed = bucketed_rounds(rules, abstractions)
        self._last = threading.local()

    def of(self, cells: Cells) -> Buckets:
        """Return the buckets of some cells; those of the last that this thread asked for are kept."""
        last = getattr(self._last, "cells", None)
        if last is None or last() is not cells:
            self._last.buckets = game_buckets(cells, self.rules, self.abstractions, self._bucketed)
            self._last.cells = weakref.ref(cells)  # the hands of a board are large, and soon dropped
        buckets: Buckets = self._last.buckets
        return buckets


@dataclass(frozen=True, eq=False)
class BucketPlay:
    """A position that plays a table of buckets and asks its abstraction for the bucket of a hand.

    Attributes:
        layout: of the table.
        lookup: the abstractions of both positions.
        player: the position.
        table: float[slots].
        abstraction_fingerprint: tells one abstraction from another.
    """

    layout: BucketLayout
    lookup: BucketLookup
    player: int
    table: Floats
    abstraction_fingerprint: str

    @cached_property
    def _table_in(self) -> _TableIn:
        return _TableIn(self.table)

    @cached_property
    def fingerprint(self) -> str:
        """The checksum of the table and of its abstraction."""
        return checksum(f"{checksum(self.table.data)} {self.abstraction_fingerprint}".encode())

    def bind(self, cells: Cells, boards: BoardRanges, dtype: np.dtype[Any]) -> BoundPlay:
        """Look up the buckets of all cells of some boards."""
        layout, player = self.layout, self.player
        rounds = slice(boards.first_round, boards.first_round + cells.num_rounds)
        num_boards = np.diff(cells.links.round_board)
        maps = self.lookup.of(cells).maps[player]
        bucket = np.zeros(int(cells.players[player].cell_begin[-1]), dtype=np.int32)
        for r, found in maps.items():
            first = int(cells.players[player].cell_begin[cells.links.round_board[r]])
            bucket[first : first + len(found)] = found
        return BoundPlay(
            self._table_in(dtype),
            np.repeat(layout.begin[player, rounds], num_boards),
            np.repeat(layout.stride[player, rounds], num_boards),
            bucket,
            np.where(layout.bucketed[player, rounds], BUCKETS, CELLS).astype(np.uint8),
        )
