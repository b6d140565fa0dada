"""One sub-game of a cut as a public tree of its own: entries of a round at one public board.

A game whose hands do not fit into memory at once is walked sub-game by sub-game: the cells of one board and of
all boards that follow it are made, used and dropped.
"""

from dataclasses import fields

import numpy as np
import numpy.typing as npt

from errai.tree.betting_tree import NO_NODE, BettingTree
from errai.tree.cells import Cells, cells_below
from errai.tree.cut import Cut


def subgame_betting(cut: Cut, entry: int) -> BettingTree:
    """Return the betting below an entry of the cut's round, its rounds counted from 0."""
    tree = cut.tree
    blocks = list(cut.blocks(entry))
    picked = np.concatenate([np.arange(begin, end) for begin, end in blocks])
    number = np.full(tree.num_nodes, NO_NODE, dtype=np.int32)
    number[picked] = np.arange(len(picked))
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for field in fields(tree):
        if field.name != "round_begin":
            arrays[field.name] = getattr(tree, field.name)[picked]
    for name in ("parent", "first_child"):
        old = getattr(tree, name)[picked]
        arrays[name] = np.where(old == NO_NODE, NO_NODE, number[old]).astype(np.int32)
    arrays["parent"][0] = NO_NODE  # type: ignore[call-overload]
    arrays["round"] = (tree.round[picked] - cut.round).astype(np.int8)
    # A line that is all-in before the last round still has every later round.
    sizes = [end - begin for begin, end in blocks] + [0] * (tree.num_rounds - cut.round - len(blocks))
    return BettingTree(**arrays, round_begin=np.cumsum([0, *sizes]).astype(np.int64))  # type: ignore[arg-type]


def subgame_cells(cut: Cut, board_index: int) -> Cells:
    """Return the cells of a board of the cut's round and of all boards that follow it."""
    return cells_below(cut.deals, cut.round, board_index)
