"""Parts of a public tree as trees of their own: the betting that some nodes span, the cells below one board.

A game whose hands do not fit into memory at once is walked sub-game by sub-game: the cells of one board
and of all boards that follow it are made, used and dropped. And against an opponent who looks at the
betting alone, whatever that opponent never does can be left out of the tree.
"""

from dataclasses import fields

import numpy as np
import numpy.typing as npt

from errai.tree.betting_tree import NO_NODE, BettingTree
from errai.tree.cells import Cells, cells_below
from errai.tree.cut import Cut


def spanned_tree(tree: BettingTree, nodes: npt.NDArray[np.int64], first_round: int = 0) -> BettingTree:
    """Return the betting tree of some nodes; a child that is missing is an action that is never taken.

    Args:
        tree: the whole.
        nodes: ascending; the first is the new root, and every other's parent is among them.
        first_round: the round of the new root, which becomes round 0.
    """
    number = np.full(tree.num_nodes, NO_NODE, dtype=np.int32)
    number[nodes] = np.arange(len(nodes))
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for field in fields(tree):
        if field.name != "round_begin":
            arrays[field.name] = getattr(tree, field.name)[nodes]
    parent = np.where(tree.parent[nodes] == NO_NODE, NO_NODE, number[tree.parent[nodes]])
    parent[0] = NO_NODE
    num_children = np.bincount(parent[1:], minlength=len(nodes))
    first_child = np.full(len(nodes), NO_NODE, dtype=np.int32)
    # Written from the last child to the first, so that the first one stays.
    first_child[parent[:0:-1]] = np.arange(len(nodes) - 1, 0, -1)
    arrays["parent"] = parent.astype(np.int32)
    arrays["first_child"] = first_child
    arrays["num_children"] = num_children.astype(np.uint8)
    arrays["round"] = (tree.round[nodes] - first_round).astype(np.int8)
    round_begin = np.searchsorted(arrays["round"], np.arange(tree.num_rounds - first_round + 1))
    return BettingTree(**arrays, round_begin=round_begin.astype(np.int64))  # type: ignore[arg-type]


def nodes_below(cut: Cut, entry: int) -> npt.NDArray[np.int64]:
    """Return the nodes below an entry of the cut's round, ascending."""
    return np.concatenate([np.arange(begin, end) for begin, end in cut.blocks(entry)])


def subgame_cells(cut: Cut, board_index: int) -> Cells:
    """Return the cells of a board at the cut and of all boards that follow it.

    Where the cut's cards are dealt inside the sub-games, the board is one of the round before and its hands
    are the root cells.
    """
    return cells_below(cut.deals, cut.round, board_index, cut.dealt)
