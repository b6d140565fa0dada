"""Where the slots of bucketed tables are, said without the hands of the game.

In a bucketed round all boards share the buckets, so two numbers say where its slots are. A round without
buckets has a row for each cell, which works here only where the round has one board, as before the flop.
So the layout of a game whose hands never fit into memory at once is still a few numbers.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rounds import round_of_game
from errai.tables.layout import Floats, Places, decision_view
from errai.tree.buckets import bucketed_rounds
from errai.tree.walk import WalkTree

SHARD_SLOTS = 1 << 22
"""A shard is at most so many slots of one round."""


@dataclass(frozen=True, eq=False)
class BucketLayout:
    """The places of slots by round, ordered inside a round as in `TableLayout`.

    Attributes:
        begin: int64[2, R] where the slots of each round begin.
        rows: int64[2, R] rows of each round.
        stride: int64[2, R] from one row to the next where rows are buckets, else from one slot to the next.
        bucketed: bool[2, R] whether rows are buckets, or the cells of the round's only board.
        num_slots: [player] slots in all.
    """

    begin: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    bucketed: npt.NDArray[np.bool_]
    num_slots: tuple[int, int]

    @property
    def shard_begin(self) -> tuple[Places, Places]:
        """[player] int64[shards + 1] where each shard begins and, last, where all end."""
        first, second = (
            np.unique(
                [
                    *(
                        place
                        for begin, end in pairwise([*self.begin[q].tolist(), self.num_slots[q]])
                        for place in range(begin, end, SHARD_SLOTS)
                    ),
                    self.num_slots[q],
                ]
            )
            for q in (0, 1)
        )
        return first, second

    def decision(self, table: Floats, player: int, round_index: int, slot: int, num_actions: int) -> Floats:
        """Return a view of the slots of a decision: float[actions, rows].

        Args:
            table: of the player.
            player: who decides.
            round_index: of the decision.
            slot: the decision's first, as in `WalkTree`.
            num_actions: at the decision.
        """
        at = player, round_index
        from_begin = table[int(self.begin[at]) :]
        slots = slice(slot, slot + num_actions)
        return decision_view(
            from_begin, int(self.rows[at]), int(self.stride[at]), bool(self.bucketed[at]), slots
        )

    def zeros(self, dtype: npt.DTypeLike) -> tuple[Floats, Floats]:
        """Allocate a table of zeros for both players."""
        return np.zeros(self.num_slots[0], dtype=dtype), np.zeros(self.num_slots[1], dtype=dtype)


def bucket_layout(walk: WalkTree, deals: Deals, abstractions: AbstractionPair) -> BucketLayout:
    """Lay out the tables of two positions.

    Args:
        walk: the betting.
        deals: the game's cards.
        abstractions: [position] what each sees; None for everything.
    """
    num_rounds = deals.rules.num_rounds
    bucketed = np.zeros((2, num_rounds), dtype=bool)
    rows = np.zeros((2, num_rounds), dtype=np.int64)
    for q, rounds in enumerate(bucketed_rounds(deals.rules, abstractions)):
        abstraction = abstractions[q]
        for r in range(num_rounds):
            bucketed[q, r] = r in rounds
            if r in rounds and abstraction is not None:
                rows[q, r] = abstraction.num_buckets(r, q)
            elif deals.num_boards(r) == 1:
                rows[q, r] = deals.num_rows(r)
            else:
                raise UsageError(
                    f"{round_of_game(deals.rules, r)} has {deals.num_rows(r):,} "
                    f"hands at {deals.num_boards(r):,} boards: it must have buckets where the hands of the "
                    "game do not fit into memory"
                )
    sizes = rows * walk.num_slots
    begin = np.cumsum(sizes, axis=1) - sizes
    first, second = sizes.sum(axis=1).tolist()
    stride = np.where(bucketed, walk.num_slots, rows)
    return BucketLayout(begin, rows, stride, bucketed, (first, second))
