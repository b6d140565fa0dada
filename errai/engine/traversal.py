"""The one traversal of a public tree, behind solving, evaluating and best-responding.

Reach probabilities of all hands go down, counterfactual values of all hands come back (`_traversal.py`).
The root's round is the trunk; every board dealt after it is a share of sub-games. Shares are cut
into a fixed number of chunks whose results are added in order, so the same bits come out on any
number of threads.

Stages: configured (a betting tree and cells), allocated (`Traversal`, which says its bytes first),
used (`values`, `learn`).
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine import _traversal as kernels
from errai.engine._lanes import LANES, TILE
from errai.engine._terminal import SUMS_SIZE
from errai.games.payoffs import PLAIN, Payoffs
from errai.memory import verify_memory
from errai.tables.layout import Floats, Tables
from errai.tree.betting_tree import BettingTree
from errai.tree.cells import Cells, PlayerCells
from errai.tree.walk import first_board_round, walk_tree

LEARN, BEST, EVALUATE = kernels.LEARN, kernels.BEST, kernels.EVALUATE

NUM_FACTORS = 5
"""Numbers of an update rule's step."""

NUM_CHUNKS = 64
MAX_BLOCK_BYTES = 1 << 20
"""Entries are walked together as long as a block's buffers stay within a core's own cache."""

NUM_SHARES = 16
SHARE_BYTES = 1 << 29
"""Chunks that write to the same buckets do so in so many tables at most, of so many bytes in all."""

MANY_CELLS = 50_000
"""With fewer cells than this a walk is over before shares of it would pay."""


class CellArrays(NamedTuple):
    """What kernels know of the cells: those of the first player, then those of the second where they differ.

    Attributes:
        begin: int64[2, B + 1] the cells of each player at each board.
        parent: int32[C] as in `PlayerCells`.
        deal_weight: float[C] what the value of a cell adds to that of its parent cell: the chance of the
            deal times the part of the parent's hands that are in the cell.
        card: uint8[C, 2] as in `PlayerCells`.
        counts: float[C, 3] hands with the first card, with the second, and all.
        order: int32[C, 4] `below`, `up_to`, `tied_up_to` and `twin` of `PlayerCells`.
        used_cards: uint8[...] all cards that occur in `card`.
        bucket_weight: float[C] how much of its bucket a cell is: its hands times the chance of the deals so
            far; empty where no round is bucketed.
        matches: uint8[C, 6] in Bluff, as in `PlayerCells`.
    """

    begin: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int32]
    deal_weight: Floats
    card: npt.NDArray[np.uint8]
    counts: Floats
    order: npt.NDArray[np.int32]
    used_cards: npt.NDArray[np.uint8]
    bucket_weight: Floats
    matches: npt.NDArray[np.uint8]


def cell_arrays(cells: Cells, dtype: np.dtype[Any]) -> CellArrays:
    """Return both players' cells for kernels."""
    first, second = cells.players
    weights = [_deal_weights(cells, first, dtype)]
    begin = np.stack([first.cell_begin, second.cell_begin])
    joined = first
    if second is not first:
        weights.append(_deal_weights(cells, second, dtype))
        begin[1] += begin[0, -1]
        pairs: Any = zip(first, second, strict=True)
        joined = PlayerCells(*(np.concatenate(arrays) for arrays in pairs))
    return CellArrays(
        begin=begin,
        parent=joined.parent_cell,
        deal_weight=np.concatenate(weights),
        card=joined.card,
        counts=np.column_stack([joined.card_count, joined.multiplicity]).astype(dtype),
        order=np.stack([joined.below, joined.up_to, joined.tied_up_to, joined.twin], axis=1),
        used_cards=np.unique(joined.card),
        bucket_weight=np.zeros(0, dtype=dtype),
        matches=joined.matches,
    )


def _parent_boards(cells: Cells) -> npt.NDArray[np.int64]:
    """Return the parent of each board after the first round: boards are numbered in the order of parents."""
    links = cells.links
    return np.repeat(np.arange(len(links.child_begin)), links.child_end - links.child_begin)


def _deal_weights(cells: Cells, player: PlayerCells, dtype: np.dtype[Any]) -> Floats:
    links, begin = cells.links, player.cell_begin
    chance = np.repeat(links.deal_factor, np.diff(begin)) * player.multiplicity
    below = slice(int(begin[links.round_board[1]]), None)
    first_above = np.repeat(begin[_parent_boards(cells)], np.diff(begin[links.round_board[1] :]))
    chance[below] /= player.multiplicity[first_above + player.parent_cell[below]]
    return chance.astype(dtype)


def _bucket_weights(cells: Cells, dtype: np.dtype[Any]) -> Floats:
    links = cells.links
    chance = links.deal_factor.copy()
    parents = _parent_boards(cells)
    for first, last in pairwise(links.round_board[1:].tolist()):
        chance[first:last] *= chance[parents[first - links.round_board[1] : last - links.round_board[1]]]
    players = cells.players[:1] if cells.players[0] is cells.players[1] else cells.players
    weights = [np.repeat(chance, np.diff(player.cell_begin)) * player.multiplicity for player in players]
    return np.concatenate(weights).astype(dtype)


class Scratch(NamedTuple):
    """Buffers of one thread. Rows of a round are a width apart.

    Attributes:
        reach: float[...] reach rows of each round and player.
        value: float[...] value rows, one a node of the block, and one that nobody reads.
        deal: float[...] sums over boards for the CHANCE nodes of a block.
        lanes: float[3, max width + 1, LANES] flat.
        lane_sums: float[SUMS_SIZE].
        lane_offsets: uint64[3, LANES].
        slots: float[3, ...] what is played, learnt and averaged in the slots of a block, spread over its
            cells; empty where no round is bucketed.
        frame: int64[R, 14] for each round the width of rows (at least the most cells at a board, a multiple
            of `TILE`), entries in a block, where its rows begin in `value` and in `deal`, the row that
            nobody reads, where each player's begin in `reach`, slots of each player in earlier rounds; and
            the walk's stack: board, last board, first entry, last entry, current entry.
    """

    reach: Floats
    value: Floats
    deal: Floats
    lanes: Floats
    lane_sums: Floats
    lane_offsets: npt.NDArray[np.uint64]
    slots: Floats
    frame: npt.NDArray[np.int64]


def _copied(scratch: Scratch) -> Scratch:
    return Scratch._make(array.copy() for array in scratch)


class Traversal:
    """A public tree ready to be walked, with the buffers for it.

    Attributes:
        tree: the betting.
        walk: the betting as kernels see it.
        cells: the boards and hands.
        dtype: of all vectors; tables must have the same.
    """

    def __init__(
        self,
        tree: BettingTree,
        cells: Cells,
        dtype: npt.DTypeLike = np.float64,
        num_threads: int = 1,
        initial: tuple[Floats, Floats] | None = None,
        round_values: tuple[float, float] = (1.0, -1.0),
        payoffs: Payoffs = PLAIN,
    ) -> None:
        """Allocate buffers for one traversal on `num_threads` threads.

        Args:
            tree: the betting.
            cells: boards and hands.
            dtype: float32 or float64.
            num_threads: threads that share the boards after the root.
            initial: [player] float[root cells] weight of each hand of a cell; 1 without it.
            round_values: in Bluff, what player 0 wins if player 0, and if player 1, wins the round.
            payoffs: what the players of a card game get at its leaves.
        """
        self.tree = tree
        self.walk = walk_tree(tree, round_values, payoffs, first_board_round(cells.boards))
        self.cells = cells
        self.dtype = np.dtype(dtype)
        self.num_threads = num_threads
        ends = [int(player.cell_begin[1]) for player in cells.players]
        ones = [np.ones(end) for end in ends] if initial is None else list(initial)
        self.initial = (ones[0].astype(self.dtype), ones[1].astype(self.dtype))
        self._initial = np.zeros((2, max(ends)), dtype=self.dtype)
        for row, weights in zip(self._initial, self.initial, strict=True):
            row[: len(weights)] = weights
        self._children = np.stack([cells.links.child_begin, cells.links.child_end], axis=1)
        self._cells = cell_arrays(cells, self.dtype)
        self.hands = [
            player.multiplicity[:end].astype(np.float64)
            for player, end in zip(cells.players, ends, strict=True)
        ]
        ranges = [hands * one for hands, one in zip(self.hands, self.initial, strict=True)]
        self._root_shares = [held / held.sum() for held in ranges]
        self.num_pairs = self._num_pairs()
        # With this scale the value of a hand is its expected chips against the whole range it can meet.
        self.opponent_scales = np.array([held.sum() / self.num_pairs for held in ranges])
        num_boards = int(cells.links.child_end[0] - cells.links.child_begin[0]) if cells.num_rounds > 1 else 0
        self.num_chunks = min(NUM_CHUNKS, num_boards)
        next_entries = (
            int(self.walk.plan.round_entry[2] - self.walk.plan.round_entry[1]) if cells.num_rounds > 1 else 0
        )
        scratch = self._scratch()  # zeros take no memory before they are written to
        sums = self.num_chunks * next_entries * int(scratch.frame[0, kernels.WIDTH])
        threads = max(1, min(num_threads, self.num_chunks))
        # With more than one thread the first buffers hold the root while the others walk below it.
        copies = threads + 1 if threads > 1 else 1
        num_bytes = sum(array.nbytes for array in scratch) * copies + sums * self.dtype.itemsize
        verify_memory(num_bytes, "the buffers of the traversal")
        self.scratch = [scratch, *(_copied(scratch) for _ in range(1, copies))]
        self.sums = np.zeros(sums, dtype=self.dtype)
        self.root_values = np.zeros((2, max(ends)), dtype=self.dtype)

    def _num_pairs(self) -> float:
        """Return the weight of all pairs of hands that share no card."""
        cells = self.cells.players
        weights = []
        for q, own in enumerate(cells):
            by_hand = np.repeat(self.initial[q].astype(np.float64), self.hands[q].astype(np.int64))
            weights.append((by_hand, own.hand_card[: len(by_hand)]))
        card_sums = []
        for by_hand, cards in weights:
            sums = np.zeros(53)
            for column in (0, 1):
                np.add.at(sums, cards[:, column], by_hand)
            sums[52] = 0
            card_sums.append(sums)
        (first, cards), (second, other_cards) = weights
        numbers = {
            tuple(hand): weight for hand, weight in zip(other_cards.tolist(), second.tolist(), strict=True)
        }
        same = np.array([numbers.get(tuple(hand), 0.0) if hand[1] != 52 else 0.0 for hand in cards.tolist()])
        met = second.sum() - card_sums[1][cards[:, 0]] - card_sums[1][cards[:, 1]] + same
        return float((first * met).sum())

    def _scratch(self) -> Scratch:
        plan, cells = self.walk.plan, self.cells
        frame = np.zeros((cells.num_rounds, 14), dtype=np.int64)
        reach_size = value_size = deal_size = 0
        for r in range(cells.num_rounds):
            first, last = int(plan.round_entry[r]), int(plan.round_entry[r + 1])
            width = -(-cells.max_cells(r) // TILE) * TILE
            # Nobody gets to some rounds below a line that ends before them.
            nodes = int(np.diff(plan.entries[first : last + 1, kernels.ENTRY_NODE]).max(initial=0))
            block_bytes = 2 * max(1, nodes) * width * self.dtype.itemsize
            at_once = max(1, min(last - first, MAX_BLOCK_BYTES // block_bytes))
            size = nodes * at_once * width
            frame[r, kernels.WIDTH], frame[r, kernels.AT_ONCE] = width, at_once
            frame[r, kernels.VALUES], frame[r, kernels.DEALS] = value_size, deal_size
            for q in range(2):
                frame[r, kernels.REACH + q] = reach_size
                frame[r, kernels.FIRST_SLOT + q] = plan.entries[first, kernels.ENTRY_SLOT + q]
                reach_size += size  # at most one row a node
            value_size += size
            deal_size += size
        frame[:, kernels.WASTE] = value_size
        widest = int(frame[:, kernels.WIDTH].max())
        zeros = partial(np.zeros, dtype=self.dtype)
        return Scratch(
            reach=zeros(reach_size),
            value=zeros(value_size + widest),
            deal=zeros(deal_size),
            lanes=zeros(3 * (widest + 1) * LANES),
            lane_sums=zeros(SUMS_SIZE),
            lane_offsets=np.zeros((3, LANES), dtype=np.uint64),
            slots=zeros((3, 0)),
            frame=frame,
        )

    def _allow_buckets(self) -> None:
        """Make the buffers that only bucketed tables need."""
        if self.scratch[0].slots.size == 0:
            self._cells = self._cells._replace(bucket_weight=_bucket_weights(self.cells, self.dtype))
            # An action of a block leads to a node of it, so there are no more slots than nodes.
            slots = np.zeros((3, len(self.scratch[0].value)), dtype=self.dtype)
            self.scratch = [scratch._replace(slots=slots.copy()) for scratch in self.scratch]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(len(self.scratch) - 1, thread_name_prefix="errai-walk")

    def walk_once(self, player: int, mode: int, tables: Tables, step: npt.NDArray[np.float64]) -> Floats:
        """Traverse once for a player; returns the root's values, float[root cells], chips a hand."""
        self._walk(player, player + 1, mode, tables, np.full((1, 2, NUM_FACTORS), step, dtype=np.float64))
        return self.root_values[player, : len(self.initial[player])].copy()

    def learn(self, tables: Tables, steps: npt.NDArray[np.float64]) -> None:
        """Run iterations in which the players learn in turn: steps float64[iterations, 2, 5]."""
        if len(self.scratch) == 1:
            self._walk(0, 2, LEARN, tables, steps)
            return
        for i in range(len(steps)):
            for player in (0, 1):
                self._walk(player, player + 1, LEARN, tables, steps[i : i + 1])

    def _walk(
        self, first_player: int, last_player: int, mode: int, tables: Tables, steps: npt.NDArray[np.float64]
    ) -> None:
        if tables.bucketed.any():
            self._allow_buckets()
        shares = []
        if mode == LEARN and len(steps) > 0 and tables.bucketed[first_player:last_player].any():
            assert last_player == first_player + 1, "buckets stay frozen while a player learns"
            tables = tables._replace(gain=(tables.regret[first_player], tables.average[first_player]))
            shares = self._shares(tables.gain)
        main = self.scratch[0]

        def run(stage: int, chunk: int, scratch: Scratch, tables: Tables) -> None:
            kernels.walk(
                stage,
                chunk,
                self.num_chunks,
                first_player,
                last_player,
                mode,
                steps,
                self._initial,
                self.opponent_scales,
                self.walk.plan,
                self._children,
                self._cells,
                tables,
                main.reach,
                scratch,
                self.sums,
                self.root_values,
            )

        # Threads that share a bucket would write over each other.
        if len(shares) == 1 or (not shares and len(self.scratch) == 1):
            run(kernels.WHOLE, 0, main, tables)
            return
        run(kernels.DOWN, 0, main, tables)
        parts = len(shares) or self.num_chunks
        numbers = iter(range(parts))

        def work(scratch: Scratch) -> None:
            for part in numbers:  # next() of an iterator is atomic: each part is taken once
                own = tables._replace(gain=shares[part]) if shares else tables
                for chunk in range(self.num_chunks * part // parts, self.num_chunks * (part + 1) // parts):
                    run(kernels.CHUNK, chunk, scratch, own)

        if len(self.scratch) == 1:
            work(main)
        else:
            for done in [self._pool.submit(work, scratch) for scratch in self.scratch[1:]]:
                done.result()
        for share in shares:
            for table, gains in zip(tables.gain, share, strict=True):
                table += gains
        run(kernels.UP, 0, main, tables)

    def _shares(self, gain: tuple[Floats, Floats]) -> list[tuple[Floats, Floats]]:
        """Return zeros for the gains of each share of the boards; the tables alone where there is one share.

        The number depends on sizes only, so the same bits come out on any number of threads.
        """
        num_cells = int(self._cells.begin[0, -1])
        most = SHARE_BYTES // max(1, gain[0].nbytes + gain[1].nbytes) if num_cells >= MANY_CELLS else 1
        num_shares = min(NUM_SHARES, self.num_chunks, most)
        if num_shares <= 1:
            return [gain]
        return [(np.zeros_like(gain[0]), np.zeros_like(gain[1])) for _ in range(num_shares)]

    def mean_value(self, player: int, values: Floats) -> float:
        """Average root values over the player's hands, each met as often as it can be."""
        return float(self._root_shares[player] @ values.astype(np.float64))

    def mean_values(self, mode: int, tables: Tables) -> tuple[float, float]:
        """Walk once for each player, both in one call of the kernel, and average; nobody may learn here."""
        assert mode != LEARN
        steps = np.zeros((1, 2, NUM_FACTORS))
        if len(self.scratch) == 1:
            self._walk(0, 2, mode, tables, steps)
        else:
            for player in (0, 1):
                self._walk(player, player + 1, mode, tables, steps)
        first, second = (self.root_values[q, : len(self.initial[q])] for q in (0, 1))
        return self.mean_value(0, first), self.mean_value(1, second)


@contextmanager
def closing(traversal: Traversal) -> Iterator[Traversal]:
    """Use a traversal and end its threads afterwards."""
    try:
        yield traversal
    finally:
        if "_pool" in vars(traversal):
            traversal._pool.shutdown()
