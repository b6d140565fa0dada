"""Tables of probabilities in 8 or 16 bits, made chunk by chunk from tables of any kind.

A row is rounded by largest remainders, so that it still sums to the scale, 255 or 65,535. An action of more
than half a step never becomes 0, though that may cost the others more than one step where many actions are
that rare; one of probability 0 stays 0. A row without any positive weight stays zeros, which every reader
plays as it plays such rows elsewhere: all actions alike. Slots keep their places.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine._blocks import ACTIONS, ENTRY_DECISION, PLAYER, SLOT
from errai.errors import UsageError
from errai.strategy import _quantised as kernels
from errai.tables.bucket_layout import BucketLayout
from errai.tables.layout import Floats, TableLayout
from errai.tree.walk import WalkTree

BITS = {8: np.uint8, 16: np.uint16}

CHUNK_SLOTS = 1 << 21
"""Slots that are rounded together, and all of a table that is ever in memory."""

Numbers = npt.NDArray[np.int64]


def scale_of(bits: int) -> int:
    """Return what a row sums to."""
    return (1 << bits) - 1


def verify_bits(bits: object) -> int:
    """Return the bits of a probability, refusing others than there are."""
    if isinstance(bits, bool) or not isinstance(bits, int) or bits not in BITS:
        raise UsageError(f"bits must be {' or '.join(map(str, BITS))}, not {bits!r}")
    return bits


class Decisions(NamedTuple):
    """Neighbouring decisions of a table, each with the rows that lie together: one where rows are buckets.

    Attributes:
        first: int64[D] first slot of each.
        rows: int64[D] from one action to the next, too.
        actions: int64[D].
    """

    first: Numbers
    rows: Numbers
    actions: Numbers

    @property
    def begin(self) -> int:
        """The first slot."""
        return int(self.first[0])

    @property
    def end(self) -> int:
        """Where the slots end."""
        return int(self.first[-1] + self.rows[-1] * self.actions[-1])

    def part(self, first: int, last: int) -> "Decisions":
        """Return some of the decisions."""
        here = slice(first, last)
        return Decisions(self.first[here], self.rows[here], self.actions[here])

    @staticmethod
    def joined(parts: Sequence["Decisions"]) -> "Decisions":
        """Return the decisions of neighbouring parts."""
        return Decisions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def table_chunks(
    walk: WalkTree,
    layout: BucketLayout | TableLayout,
    round_board: npt.NDArray[np.integer] | None,
    player: int,
    most_slots: int = CHUNK_SLOTS,
) -> Iterator[Decisions]:
    """Yield all decisions of a player's table in the order of slots, in chunks of about one size.

    Args:
        walk: the betting.
        layout: of the table.
        round_board: int64[R + 1] the first board of each round, where the layout tells boards apart.
        player: whose table.
        most_slots: of a chunk; larger only where the cells of one decision are more.
    """
    pending: list[Decisions] = []
    size = 0
    for region in _regions(walk, layout, round_board, player, most_slots):
        for part in _split(region, most_slots):
            if pending and size + part.end - part.begin > most_slots:
                yield Decisions.joined(pending)
                pending, size = [], 0
            pending.append(part)
            size += part.end - part.begin
    if pending:
        yield Decisions.joined(pending)


def _regions(
    walk: WalkTree,
    layout: BucketLayout | TableLayout,
    round_board: npt.NDArray[np.integer] | None,
    player: int,
    most_slots: int,
) -> Iterator[Decisions]:
    """Yield the decisions of each board, or of some buckets of all boards, in the order of slots."""
    num_rounds = walk.num_slots.shape[1]
    if round_board is None:
        places = np.arange(num_rounds)
    else:
        places = np.repeat(np.arange(num_rounds), np.diff(round_board))
    begins, rows = layout.begin[player], layout.rows[player]
    sizes = rows * walk.num_slots[player, places]
    own = [_own_decisions(walk, player, r) for r in range(num_rounds)]
    end = 0
    for place in np.lexsort([places, begins]).tolist():
        r = int(places[place])
        if sizes[place] == 0 or begins[place] < end:  # no decision, or a board that shares its slots
            continue
        assert begins[place] == end, "the slots of a table have no gaps"
        end += int(sizes[place])
        slot, actions = own[r]
        if not layout.bucketed[player, r]:
            yield Decisions(begins[place] + slot * rows[place], np.full(len(slot), rows[place]), actions)
            continue
        num_slots = int(walk.num_slots[player, r])
        step = max(1, most_slots // num_slots)
        for row in range(0, int(rows[place]), step):
            some = np.arange(row, min(row + step, int(rows[place])))
            first = (begins[place] + some[:, np.newaxis] * num_slots + slot).ravel()
            yield Decisions(first, np.ones_like(first), np.tile(actions, len(some)))
    assert end == layout.num_slots[player], "the decisions cover the table"


def _own_decisions(walk: WalkTree, player: int, round_index: int) -> tuple[Numbers, Numbers]:
    """Return first slot and actions of a player's decisions in a round, in the order of slots."""
    plan = walk.plan
    here = slice(*plan.entries[plan.round_entry[round_index : round_index + 2], ENTRY_DECISION].tolist())
    own = plan.decisions[here][plan.decisions[here, PLAYER] == player].astype(np.int64)
    return own[:, SLOT], own[:, ACTIONS]


def _split(region: Decisions, most_slots: int) -> Iterator[Decisions]:
    """Yield parts of a region that are no larger than wished, where that can be."""
    if region.end - region.begin <= most_slots:
        yield region
        return
    ends = np.append(region.first[1:], region.end)
    place = 0
    while place < len(ends):
        last = int(np.searchsorted(ends, region.first[place] + most_slots, side="right"))
        if last > place:
            yield region.part(place, last)
            place = last
            continue
        yield region.part(place, place + 1)  # the cells of one board, which are few
        place += 1


@dataclass(eq=False)
class Quantiser:
    """Rounds chunk after chunk and remembers the worst.

    Attributes:
        bits: 8 or 16.
        largest_error: of any probability so far.
    """

    bits: int
    largest_error: float = 0.0

    def __call__(self, weights: Floats, decisions: Decisions, name: str = "the table") -> npt.NDArray[Any]:
        """Return the chunk in small whole numbers.

        Args:
            weights: float[slots] of the chunk.
            decisions: of the chunk, as `table_chunks` gives them.
            name: what to call the table where it is refused.
        """
        if not np.isfinite(weights).all():
            slot = decisions.begin + int(np.flatnonzero(~np.isfinite(weights))[0])
            raise UsageError(
                f"{name} has {weights[slot - decisions.begin]} in slot {slot:,}: expected numbers"
            )
        out = np.empty(len(weights), dtype=BITS[self.bits])
        most = int(decisions.actions.max())
        error = kernels.quantise(
            np.ascontiguousarray(weights),
            decisions.first - decisions.begin,
            decisions.rows,
            decisions.actions,
            scale_of(self.bits),
            np.empty(most),
            np.empty(most, dtype=np.int64),
            out,
        )
        self.largest_error = max(self.largest_error, float(error))
        return out
