"""How often the buckets of two players meet, and who wins: the chance of an abstract game as two matrices.

With perfect recall a player's bucket tells all of its earlier ones, so the buckets of the last round are all
that players know of a whole deal. What is dealt comes to two matrices over (row of position 0, row of
position 1) in the last round: the probability of the pair, and the probability that position 0 wins less
that position 1 does. What is known in an earlier round is a sum of these.

The matrices are counted from boards, all of them or a sample: on one board all hands of both players that
share no card are paired. A sample is put into parts, each with matrices of its own, so that what is
chosen on some parts can be paid on another (`errai.response.bucket_response`).
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair
from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.cards.hands import open_deals
from errai.errors import UsageError, verify_whole
from errai.games.deals import Deals
from errai.games.rounds import in_round
from errai.games.rules import PokerRules, Showdown
from errai.memory import verify_memory
from errai.response import _bucket_pairs as kernels
from errai.response.flop_sample import draw_boards
from errai.tables.bucket_layout import BucketLayout
from errai.tree.cells import Cells, cells_below
from errai.workers import Progress, Report

BOARDS_A_CHUNK = 16

MOST_BOARDS = 20_000
"""Without a sample all canonical boards of the last round are walked, up to so many."""

MOST_EXACT_BYTES = 1 << 22
"""Larger matrices are held in float32."""

NO_ROW = -1

Matrix = npt.NDArray[np.floating]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BucketPairs:
    """What is dealt in an abstract game of perfect recall.

    Attributes:
        parents: `[position][round]` int64[rows] the row that each row had in the round before; empty in the
            first round. Rows that were not seen have parent 0.
        first_rows: [position] rows of the first round.
        together: [part] float[rows, rows] how likely rows of the last round meet; the sum is 1.
        ahead: [part] float[rows, rows] how likely position 0 wins with them, less how likely it loses.
        num_boards: in all parts.
        seed: that drew the boards; None where all were walked.
    """

    parents: tuple[tuple[Rows, ...], tuple[Rows, ...]]
    first_rows: tuple[int, int]
    together: tuple[Matrix, ...]
    ahead: tuple[Matrix, ...]
    num_boards: int
    seed: int | None

    @property
    def num_parts(self) -> int:
        """Parts of the boards."""
        return len(self.together)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Of the matrices."""
        return self.together[0].dtype


class _HandRows:
    """The rows of all hands on boards of the last round."""

    def __init__(self, rules: PokerRules, layout: BucketLayout, abstractions: AbstractionPair) -> None:
        self._rules, self._layout, self._abstractions = rules, layout, abstractions
        self._last = rules.num_rounds - 1
        self.parents = tuple(
            tuple(
                np.full(int(layout.rows[q, r]) if r > 0 else 0, NO_ROW, dtype=np.int64)
                for r in range(rules.num_rounds)
            )
            for q in (0, 1)
        )

    @property
    def pairs_a_board(self) -> int:
        """Hands of both players that share no card, on any board."""
        rules = self._rules
        left = rules.deck.size - sum(rules.num_board_cards)
        return comb(left, rules.num_hole_cards) * comb(left - rules.num_hole_cards, rules.num_hole_cards)

    def of(self, boards: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.generic], ...]:
        """Return masks, strengths and both positions' last rows, the hands of each board by strength."""
        rules = self._rules
        cards, _ = open_deals(rules.deck, rules.num_hole_cards, boards)
        rank = evaluate if rules.showdown is Showdown.POKER else evaluate_three_card
        shape = (len(boards), -1)
        strengths = rank(cards).reshape(shape)
        order = np.argsort(strengths, axis=1, kind="stable")
        bits = np.uint64(1) << cards[:, : rules.num_hole_cards].astype(np.uint64)
        arrays = (
            np.bitwise_or.reduce(bits, axis=1),
            strengths.astype(np.int32),
            self._last_rows(cards, 0).astype(np.int32),
            self._last_rows(cards, 1).astype(np.int32),
        )
        return tuple(np.take_along_axis(array.reshape(shape), order, axis=1) for array in arrays)

    def _last_rows(self, cards: npt.NDArray[np.uint8], q: int) -> Rows:
        """Return the rows of the last round, and keep what they had been before."""
        before = self._rows(cards, q, 0)
        for r in range(1, self._last + 1):
            rows = self._rows(cards, q, r)
            parents = self.parents[q][r]
            parents[rows] = np.where(parents[rows] == NO_ROW, before, parents[rows])
            if (parents[rows] != before).any():
                raise UsageError(
                    f"the buckets of position {q} forget {in_round(self._rules, r)} what earlier ones knew: "
                    "a best response inside an abstract game needs perfect recall"
                )
            before = rows
        return before

    def _rows(self, cards: npt.NDArray[np.uint8], q: int, r: int) -> Rows:
        """Return the rows of a round."""
        rules = self._rules
        hole = rules.num_hole_cards
        if self._layout.bucketed[q, r]:
            abstraction = self._abstractions[q]
            assert abstraction is not None
            seen = np.ascontiguousarray(cards[:, : hole + rules.num_board_cards_by(r)])
            return abstraction.buckets(seen, r, q).astype(np.int64)
        # A round without buckets has one board, so the hole cards alone tell the cell.
        return self._first_cells.cells_of_hands(q, 0, np.ascontiguousarray(cards[:, :hole])).astype(np.int64)

    @cached_property
    def _first_cells(self) -> Cells:
        return cells_below(Deals(self._rules), 0, 0, dealt=True, last_round=0)


def memory_of_pairs(layout: BucketLayout, num_parts: int) -> int:
    """Return the bytes of the matrices, with what counting one part takes besides."""
    first, second = (int(rows) for rows in layout.rows[:, -1])
    return (2 * num_parts * 4 + 16) * first * second


def count_pairs(
    rules: PokerRules,
    layout: BucketLayout,
    abstractions: AbstractionPair,
    boards: int | None = None,
    seed: int = 0,
    num_parts: int = 10,
    report: Report | None = None,
) -> BucketPairs:
    """Count what is dealt on all boards, or on a sample.

    Args:
        rules: the game.
        layout: of tables with a row for each bucket.
        abstractions: [position] what the layout was made for.
        boards: how many boards of the last round to draw, by their chances, with replacement; None for all.
        seed: of the draws.
        num_parts: of a sample, alike in size.
        report: called with boards done and boards in all.
    """
    verify_whole("seed", seed, 0)
    deals = Deals(rules)
    last = deals.board_round(rules.num_rounds - 1)
    if boards is None and deals.boards.num_boards(last) > MOST_BOARDS:
        raise UsageError(
            f"'{rules.name}' has {deals.boards.num_boards(last):,} boards: say how many are to be drawn"
        )
    if boards is not None:
        verify_whole("boards", boards, num_parts)
    verify_memory(
        memory_of_pairs(layout, num_parts if boards is not None else 2),
        f"a best response inside an abstract game with {layout.rows[0, -1]:,} buckets in the last round",
    )
    weights = deals.boards.weights(last)
    if boards is None:
        parts, counts = [np.arange(len(weights))], weights
    else:
        drawn = draw_boards(weights, boards, seed)
        parts, counts = np.array_split(drawn, num_parts), np.ones(len(weights), dtype=np.int64)
    cards, hands = deals.boards.cards(last), _HandRows(rules, layout, abstractions)
    total = sum(len(part) for part in parts)
    progress = Progress(report or (lambda done, total: None), total)
    together, ahead = [], []
    for part in parts:
        found = _count(hands, layout, cards[part], counts[part], progress)
        together.append(found[0])
        ahead.append(found[1])
    progress.finish()
    first, second = (tuple(np.maximum(one, 0) for one in of_player) for of_player in hands.parents)
    return BucketPairs(
        (first, second),
        (int(layout.rows[0, 0]), int(layout.rows[1, 0])),
        tuple(together),
        tuple(ahead),
        total,
        seed if boards is not None else None,
    )


def _count(
    hands: _HandRows,
    layout: BucketLayout,
    boards: npt.NDArray[np.uint8],
    counts: npt.NDArray[np.int64],
    progress: Progress,
) -> tuple[Matrix, Matrix]:
    """Return both matrices of some boards, as probabilities."""
    rows = layout.rows[:, -1].tolist()
    together, ahead = (np.zeros(rows, dtype=np.int32) for _ in range(2))
    for begin in range(0, len(boards), BOARDS_A_CHUNK):
        chunk = slice(begin, begin + BOARDS_A_CHUNK)
        kernels.add_pairs(*hands.of(boards[chunk]), counts[chunk].astype(np.int32), together, ahead)
        progress.add(len(boards[chunk]))
    dealt = int(counts.sum()) * hands.pairs_a_board
    if int(together.sum(dtype=np.int64)) != dealt:
        raise UsageError(f"{len(boards):,} boards are too many to be counted in 32 bits: expected fewer")
    dtype = np.float64 if together.nbytes <= MOST_EXACT_BYTES else np.float32
    return (together / dealt).astype(dtype), (ahead / dealt).astype(dtype)
