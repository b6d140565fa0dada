"""A whole strategy after a treatment: what an agent with that treatment plays, as tables.

So a treated strategy is measured, matched at speed and saved like any other. The tables of both positions are
written anew, some decisions at a time; the strategy that they were made from stays as it is.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from errai.memory import verify_memory
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import normalised
from errai.strategy.postprocessing import CALL, FOLD, RAISE, Treatment
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import BucketLayout
from errai.tables.layout import TableLayout
from errai.tree.betting_tree import ACTION_FOLD, DECISION, BettingTree

AnyStrategy = TypeVar("AnyStrategy", bound=Strategy | BucketStrategy)

SLOTS_AT_ONCE = 1 << 20
"""Slots that are treated together, at least those of one row."""

BYTES_A_SLOT_AT_ONCE = 96
"""For places, probabilities and what treatments make of them: 30 to 85 as measured, by treatment."""


def treated(strategy: AnyStrategy, treatment: Treatment) -> AnyStrategy:
    """Return the strategy that an agent with a treatment plays; itself where nothing changes."""
    if treatment.changes_nothing:
        return strategy
    # Tables of whole numbers cannot hold probabilities.
    dtype = np.result_type(strategy.tables[0], np.float32)
    num_bytes = sum(map(len, strategy.tables)) * dtype.itemsize + BYTES_A_SLOT_AT_ONCE * SLOTS_AT_ONCE
    verify_memory(num_bytes, f"a strategy of '{strategy.game.name}' after '{treatment}'")
    betting, slot = strategy.tree.betting, strategy.tree.walk.slot
    first = first_decisions(betting) if treatment.spares_first else np.zeros(betting.num_nodes, dtype=bool)
    first_table, second_table = (np.empty(len(table), dtype=dtype) for table in strategy.tables)
    tables = (first_table, second_table)
    for nodes, kinds in _alike(betting, first):
        player, r = int(betting.player[nodes[0]]), int(betting.round[nodes[0]])
        for block in _blocks(strategy, player, r):
            for some, row in _parts(nodes, block.rows, len(kinds)):
                places = _places(block, slot[some].astype(np.int64), row, len(kinds))
                chances = normalised(strategy.tables[player][places].T).T
                tables[player][places] = treatment.apply(chances, kinds, bool(first[nodes[0]]))
    return replace(strategy, tables=tables)


def first_decisions(betting: BettingTree) -> npt.NDArray[np.bool_]:
    """Return which decisions are the first of their player in a hand: bool[nodes]."""
    parents, players = betting.parent.tolist(), betting.player.tolist()
    decides = (betting.kind == DECISION).tolist()
    acted = [(False, False)] * len(parents)  # [node] whether each player has acted before it
    for node, parent in enumerate(parents):
        if parent >= 0:
            before = acted[parent]
            if decides[parent]:
                before = (True, before[1]) if players[parent] == 0 else (before[0], True)
            acted[node] = before
    return np.array(
        [decides[node] and not acted[node][players[node]] for node in range(len(parents))], dtype=bool
    )


def _alike(
    betting: BettingTree, first: npt.NDArray[np.bool_]
) -> Iterator[tuple[npt.NDArray[np.int64], list[int]]]:
    """Yield decisions of one player, round and kind of actions, and the kinds of the actions."""
    nodes = np.flatnonzero(betting.kind == DECISION)
    can_fold = betting.action[betting.first_child[nodes]] == ACTION_FOLD
    signs = np.stack(
        [betting.player[nodes], betting.round[nodes], betting.num_children[nodes], can_fold, first[nodes]],
        axis=1,
    ).astype(np.int64)
    unique, which = np.unique(signs, axis=0, return_inverse=True)
    for group, (_, _, number, folds, _) in enumerate(unique.tolist()):
        kinds = [*([FOLD] if folds else []), CALL, *([RAISE] * (number - 1 - folds))]
        yield nodes[which.ravel() == group], kinds


class _Block(NamedTuple):
    """Where the slots of a round are, at one board or at all that share them, as in `TableLayout`."""

    begin: int
    rows: int
    stride: int
    is_bucketed: bool

    @staticmethod
    def at(layout: BucketLayout | TableLayout, player: int, place: int, is_bucketed: bool) -> "_Block":
        """Return the block of a round, or of a board."""
        at = player, place
        return _Block(int(layout.begin[at]), int(layout.rows[at]), int(layout.stride[at]), is_bucketed)


def _blocks(strategy: Strategy | BucketStrategy, player: int, r: int) -> Iterator[_Block]:
    """Yield where the slots of a round are, for each board or for all at once."""
    if isinstance(strategy, BucketStrategy):
        yield _Block.at(strategy.layout, player, r, bool(strategy.layout.bucketed[player, r]))
        return
    whole, round_board = strategy.tree.layout, strategy.tree.cells.links.round_board
    is_bucketed = bool(whole.bucketed[player, r])
    first, last = round_board[r : r + 2].tolist()
    for board in range(first, first + 1 if is_bucketed else last):
        yield _Block.at(whole, player, board, is_bucketed)


def _parts(
    nodes: npt.NDArray[np.int64], rows: int, num_actions: int
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield some decisions and some of their rows, until all were there."""
    rows_together = min(rows, max(1, SLOTS_AT_ONCE // num_actions))
    together = max(1, SLOTS_AT_ONCE // (rows * num_actions))
    for start in range(0, len(nodes), together):
        for row in range(0, rows, rows_together):
            yield nodes[start : start + together], np.arange(row, min(row + rows_together, rows))


def _places(
    block: _Block, first: npt.NDArray[np.int64], row: npt.NDArray[np.int64], num_actions: int
) -> npt.NDArray[np.int64]:
    """Return where the slots of decisions are: int64[decisions * chosen rows, actions].

    Args:
        block: where their round's slots are.
        first: int64[decisions] the first slot of each, counted through the round.
        row: the rows to be found, of each.
        num_actions: of each.
    """
    slot = first[:, np.newaxis, np.newaxis] + np.arange(num_actions)
    row = row[:, np.newaxis]
    inside = row * block.stride + slot if block.is_bucketed else slot * block.stride + row
    places: npt.NDArray[np.int64] = (block.begin + inside).reshape(-1, num_actions)
    return places
