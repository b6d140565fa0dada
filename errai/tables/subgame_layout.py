"""Where the slots of a table are when it is laid out by sub-game: each sub-game is one contiguous shard.

The trunk comes first, where the whole layout has it too: the rounds above the cut. Then, entry by entry of
the cut's round, the rows that all boards share (bucketed rounds), and board by board of the cut the
sub-game's own shard (lossless rounds). In a shard the rounds follow each other; in a round the boards below
the sub-game's board; at a board the slots below the entry, each with its rows.

The walk finds the slots of a block of entries at board b from `begin[b]` on, where slots are counted through
the round: `slot * stride[b]` further where rows are cells, `slot + row * stride[b]` where they are buckets.
So a sub-game is walked with a `begin` that is shifted back by the slots before its entry (`begin_for`), and
with rows of buckets as far apart as it has slots (`stride_for`). Neighbouring entries that are to be walked
together at a board can share a shard (`entries_together`).

Everything follows from counts, and nothing here is as large as entries times boards.

Letters: B boards of all rounds, R rounds, G runs of entries that share a shard, K boards at the cut.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.tables import _subgame_layout as kernels
from errai.tables.layout import Floats, TableLayout, lossless_layout
from errai.tree.cells import BoardLinks, Cells
from errai.tree.walk import WalkTree

ENTRY_NEXT, ENTRY_SLOT = 2, 5
"""Columns of `WalkPlan.entries`: the first entry of the next round that follows, and a player's slot."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SubgameLayout:
    """The places of slots, sub-game by sub-game.

    Attributes:
        whole: the same table without a cut; also says which rounds are bucketed.
        round: the first round below the cut; the number of rounds where there is no cut.
        run_begin: int64[G + 1] the entries of the cut's round, counted from its first, that share a shard.
        slot_begin: int64[2, R, G + 1] first slot of each run in each round below the cut, counted through the
            round.
        board_begin: int64[R, K + 1] the boards of each round that are below each board of the cut; zeros for
            rounds above it.
        round_board: int64[R + 1] as in `BoardLinks`.
        round_slots: int64[2, R] slots of each player in a round, as in `WalkTree`.
    """

    whole: TableLayout
    round: int
    run_begin: Places
    slot_begin: Places
    board_begin: Places
    round_board: Places
    round_slots: Places

    @property
    def num_runs(self) -> int:
        """Runs of entries that share a shard: the entries themselves where each has its own."""
        return len(self.run_begin) - 1

    @property
    def num_boards(self) -> int:
        """Boards at the cut."""
        return len(self.board_begin[0]) - 1

    @property
    def num_rounds(self) -> int:
        """Betting rounds."""
        return len(self.round_board) - 1

    def run_of(self, entry: int) -> int:
        """Return which run an entry of the cut's round, counted from the round's first, is in."""
        if not 0 <= entry < int(self.run_begin[-1]):
            raise UsageError(f"entry {entry} does not exist: the cut has {int(self.run_begin[-1])} entries")
        return int(np.searchsorted(self.run_begin, entry, side="right")) - 1

    @cached_property
    def _row_begin(self) -> Places:
        """int64[2, B + 1]: rows before each board, where rows belong to boards."""
        bucketed = np.repeat(self.whole.bucketed, np.diff(self.round_board), axis=1)
        rows = np.where(bucketed, 0, self.whole.rows)
        return np.concatenate([np.zeros((2, 1), dtype=np.int64), np.cumsum(rows, axis=1)], axis=1)

    @cached_property
    def _shared_rows(self) -> Places:
        """int64[2, R]: rows that all boards of a round share; 0 where rows belong to boards."""
        return np.where(self.whole.bucketed, self.whole.rows[:, self.round_board[:-1]], 0)

    def _num_slots(self, player: int, run: int) -> Places:
        """Slots of a run in each round: int64[R]."""
        slots: Places = self.slot_begin[player, :, run + 1] - self.slot_begin[player, :, run]
        return slots

    @cached_property
    def _run_place(self) -> Places:
        """int64[2, G + 1]: where the slots of each run begin, shared rows first."""
        places = np.zeros((2, self.num_runs + 1), dtype=np.int64)
        for q in (0, 1):
            rows = self._shared_rows[q].copy()
            rows += np.diff(self._row_begin[q, self.round_board])
            sizes = np.diff(self.slot_begin[q], axis=1)[self.round :] * rows[self.round :, np.newaxis]
            places[q, 1:] = np.cumsum(sizes.sum(axis=0))
            places[q] += self.trunk(q)[1]
        return places

    def _shared_size(self, player: int, run: int) -> int:
        return int((self._num_slots(player, run) * self._shared_rows[player])[self.round :].sum())

    def _own_begin(self, player: int, run: int, boards: slice = slice(None)) -> Places:
        """Where a run's own shards begin, board by board of the cut; the last is an end: int64[K + 1]."""
        slots, rows = self._num_slots(player, run), self._row_begin[player]
        begin = self._run_place[player, run] + self._shared_size(player, run)
        for r in range(self.round, self.num_rounds):
            begin = begin + slots[r] * (rows[self.board_begin[r, boards]] - rows[self.board_begin[r, 0]])
        return np.asarray(begin)

    def trunk(self, player: int) -> tuple[int, int]:
        """Return begin and end of the trunk's slots; all of them where there is no cut."""
        if self.round == self.num_rounds:
            return 0, self.whole.num_slots[player]
        return 0, int(self.whole.begin[player, self.round_board[self.round]])

    def shard(self, player: int, entry: int, board: int) -> tuple[int, int]:
        """Return begin and end of the slots that belong to a sub-game alone.

        Args:
            player: whose table.
            entry: of the cut's round, counted from the round's first.
            board: of the cut, counted from its round's first.
        """
        if not 0 <= board < self.num_boards:
            raise UsageError(f"board {board} does not exist: the cut has {self.num_boards} boards")
        begin, end = self._own_begin(player, self.run_of(entry), slice(board, board + 2)).tolist()
        return begin, end

    def shared(self, player: int, entry: int) -> tuple[int, int]:
        """Return begin and end of the slots of an entry whose rows all boards share: its bucketed rounds."""
        run = self.run_of(entry)
        begin = int(self._run_place[player, run])
        return begin, begin + self._shared_size(player, run)

    def shard_begin(self, player: int) -> Places:
        """Return where each shard begins, in the order of slots, and the end of the last: int64[shards + 1].

        The trunk is the first; then come, run by run, the shared shard where some round below the cut is
        bucketed, and the boards' own where some is not.
        """
        below = self.whole.bucketed[player, self.round :]
        begins = [np.zeros(1, dtype=np.int64)]
        for run in range(self.num_runs):
            if below.any():
                begins.append(self._run_place[player, run : run + 1])
            if not below.all():
                begins.append(self._own_begin(player, run)[:-1])
        begins.append(np.array([self.whole.num_slots[player]], dtype=np.int64))
        return np.concatenate(begins)

    def begin_for(self, player: int, entry: int) -> Places:
        """Return the `begin` with which the walk finds the slots of an entry and of its run: int64[B].

        Boards above the cut have their places in the trunk.
        """
        run = self.run_of(entry)
        begin: Places = self.whole.begin[player].copy()
        for r in range(self.round, self.num_rounds):
            begin[self.round_board[r] : self.round_board[r + 1]] = self._places(player, r, run)
        return begin

    def stride_for(self, player: int, entry: int) -> Places:
        """Return the `stride` with which the walk finds the slots of an entry and of its run: int64[B]."""
        run = self.run_of(entry)
        stride: Places = self.whole.stride[player].copy()
        for r in range(self.round, self.num_rounds):
            if self.whole.bucketed[player, r]:
                stride[self.round_board[r] : self.round_board[r + 1]] = self._num_slots(player, run)[r]
        return stride

    def layout_for(self, entry: int) -> TableLayout:
        """Return the layout to bind tables with for walks of the trunk and of an entry's run."""
        begin, stride = (
            np.stack([of(player, entry) for player in (0, 1)]) for of in (self.begin_for, self.stride_for)
        )
        shard_begin = (self.shard_begin(0), self.shard_begin(1))
        return replace(self.whole, begin=begin, stride=stride, shard_begin=shard_begin)

    def begin_within(self, player: int, entry: int, board: int) -> Places:
        """Return the `begin` for an array that holds one sub-game alone: its own shard, then the shared one.

        Its boards are those below the cut alone, round by round, as a sub-game's cells number them.
        """
        run = self.run_of(entry)
        own_begin, own_end = self.shard(player, entry, board)
        shared_begin, _ = self.shared(player, entry)
        parts = []
        for r in range(self.round, self.num_rounds):
            first = self.round_board[r]
            here = slice(*(self.board_begin[r, board : board + 2] - first).tolist())
            shift = own_end - own_begin - shared_begin if self.whole.bucketed[player, r] else -own_begin
            parts.append(self._places(player, r, run)[here] + shift)
        return np.concatenate(parts)

    def _places(self, player: int, r: int, run: int) -> Places:
        """Return the `begin` of every board of a round below the cut, for one run."""
        boards = slice(int(self.round_board[r]), int(self.round_board[r + 1]))
        rows = self.whole.rows[player, boards]
        slots = self._num_slots(player, run)
        first_slot = self.slot_begin[player, r, run]
        places: Places
        if self.whole.bucketed[player, r]:
            above = (slots * self._shared_rows[player])[self.round : r].sum()
            places = np.full(len(rows), self._run_place[player, run] + above - first_slot)
            return places
        row_begin = self._row_begin[player]
        shard = self._own_begin(player, run)[:-1]
        for earlier in range(self.round, r):
            shard += slots[earlier] * np.diff(row_begin[self.board_begin[earlier]])
        shard -= slots[r] * row_begin[self.board_begin[r, :-1]]
        places = np.repeat(shard, np.diff(self.board_begin[r])) - first_slot * rows
        places += slots[r] * row_begin[boards.start : boards.stop]
        return places

    def _edges(self, player: int, r: int) -> Places:
        """Return the slots of a round, counted through it, between which slots of a board are neighbours."""
        if r < self.round:
            return np.array([0, self.round_slots[player, r]])
        edges: Places = self.slot_begin[player, r]
        return edges

    def _places_at(self, player: int, r: int, slot: int) -> tuple[Places, int]:
        """Return the `begin` of every board of a round for one of its slots, and how many lie together."""
        if r < self.round:
            begin: Places = self.whole.begin[player, self.round_board[r] : self.round_board[r + 1]]
            return begin, int(self.round_slots[player, r])
        run = int(np.searchsorted(self.slot_begin[player, r], slot, side="right")) - 1
        return self._places(player, r, run), int(self._num_slots(player, run)[r])


def subgame_layout(
    walk: WalkTree,
    links: BoardLinks,
    whole: TableLayout,
    round_index: int | None = None,
    dealt: bool = True,
    entries_together: int | None = 1,
) -> SubgameLayout:
    """Lay out a table by the sub-games below a cut, as `Cut` describes it; one shard without a cut.

    Args:
        walk: the betting as kernels see it.
        links: how boards follow each other.
        whole: the layout without a cut, lossless or bucketed.
        round_index: the first round below the cut; None for no cut.
        dealt: whether the round's cards are dealt in the trunk (True) or inside the sub-games.
        entries_together: neighbouring entries that share a shard; None for all.
    """
    num_rounds = len(links.round_board) - 1
    if round_index is not None and not 1 <= round_index < num_rounds:
        valid = f"expected rounds 1 to {num_rounds - 1} (counted from 0)"
        raise UsageError(
            f"invalid cut before round {round_index}: "
            + (valid if num_rounds > 1 else "the game has one round")
        )
    if entries_together is not None and entries_together < 1:
        raise UsageError(f"the entries of a shard must be 1 or more, not {entries_together}")
    cut = num_rounds if round_index is None else round_index
    plan = walk.plan
    entries = plan.entries.astype(np.int64)
    if round_index is None:
        run_begin = np.zeros(1, dtype=np.int64)
        board_begin = np.zeros((num_rounds, 1), dtype=np.int64)
    else:
        num_entries = int(plan.round_entry[cut + 1] - plan.round_entry[cut])
        together = num_entries if entries_together is None else entries_together
        run_begin = np.append(np.arange(0, num_entries, max(1, together)), num_entries).astype(np.int64)
        board_begin = _boards_below(links, cut, dealt)
    slot_begin = np.zeros((2, num_rounds, len(run_begin)), dtype=np.int64)
    following = run_begin + (plan.round_entry[cut] if round_index is not None else 0)
    for r in range(cut, num_rounds):
        for q in (0, 1):
            slots = entries[:, ENTRY_SLOT + q]
            slot_begin[q, r] = slots[following] - slots[plan.round_entry[r]]
        following = entries[following, ENTRY_NEXT]
    return SubgameLayout(whole, cut, run_begin, slot_begin, board_begin, links.round_board, walk.num_slots)


def board_layout(walk: WalkTree, cells: Cells) -> TableLayout:
    """Lay out lossless tables by the boards of the second round: a shard is a board with all that follows it.

    A walk takes all entries of a board together, so they share a shard, and one layout serves them all.
    """
    whole = lossless_layout(walk, cells)
    if cells.num_rounds == 1:
        return whole
    return subgame_layout(walk, cells.links, whole, 1, entries_together=None).layout_for(0)


def _boards_below(links: BoardLinks, cut: int, dealt: bool) -> Places:
    """Return the boards below each board of the cut: int64[R, K + 1]; zeros for rounds above it."""
    round_board = links.round_board
    start = cut if dealt else cut - 1
    begin = np.arange(round_board[start], round_board[start + 1] + 1)
    below = np.zeros((len(round_board) - 1, len(begin)), dtype=np.int64)
    for r in range(start, len(round_board) - 1):
        below[r] = begin
        if r + 1 < len(round_board) - 1:
            # Boards are numbered in the order of their parents, so the end of one is the next one's begin.
            begin = np.append(links.child_begin[begin[:-1]], round_board[r + 2])
    below[:cut] = 0
    return below


def copy_between(source: SubgameLayout, table: Floats, target: SubgameLayout, player: int) -> Floats:
    """Return a player's table in another layout of the same tables.

    Args:
        source: the layout of `table`.
        table: number[slots].
        target: the layout of what is returned.
        player: whose table it is.
    """
    whole = source.whole
    if table.shape != (whole.num_slots[player],) or target.whole.num_slots != whole.num_slots:
        raise UsageError(
            f"a table of {table.shape} slots cannot be laid out for {target.whole.num_slots[player]:,}: "
            f"its layout has {whole.num_slots[player]:,}"
        )
    copied = np.empty_like(table)
    for r in range(source.num_rounds):
        edges = np.union1d(source._edges(player, r), target._edges(player, r)).tolist()
        rows = whole.rows[player, int(source.round_board[r]) : int(source.round_board[r + 1])]
        for first, last in pairwise(edges):
            source_begin, source_stride = source._places_at(player, r, first)
            target_begin, target_stride = target._places_at(player, r, first)
            if whole.bucketed[player, r]:
                row = np.arange(rows[0])  # all boards share them; each is copied like a board of one row
                source_begin = source_begin[0] + row * source_stride
                target_begin = target_begin[0] + row * target_stride
            kernels.copy_blocks(
                first,
                last - first,
                np.ones_like(row) if whole.bucketed[player, r] else rows,
                source_begin,
                target_begin,
                table,
                copied,
            )
    return copied
