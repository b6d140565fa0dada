"""The betting tree as the traversal walks it: rows of buffers, slots of tables, lists of leaves.

Derived once from a `BettingTree`. The traversal keeps a player's reach only where it changes: a node gets
a reach row of its own where it is an entry of a round or follows an action of that player, and shares
the row of its parent otherwise. Rows and slots are numbered through a round, so that any run of
neighbouring entries is a block of neighbouring rows, nodes and slots.

Letters: N nodes, R rounds, E entries of all rounds.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.tree import _walk
from errai.tree.betting_tree import CHALLENGE, CHANCE, DECISION, FOLD, SHOWDOWN, BettingTree


class WalkTree(NamedTuple):
    """What kernels know of the betting.

    Attributes:
        kind: int8[N] as in `BettingTree`.
        player: int8[N] who acts, or who folded.
        first_child: int32[N].
        num_children: int32[N].
        reach_row: int32[2, N] the row of each player's reach, counted from the start of the round.
        slot: int32[N] first slot of a decision among its player's slots of the round.
        amount: float64[N] chips that change hands at a leaf.
        next_entry: int32[N] for a CHANCE node, which of all entries the next round starts at.
        round_entry: int32[R + 1] the entries of each round.
        entry_node: int32[E + 1] first node of each entry's block.
        entry_row: int32[2, E] reach rows before each entry in its round.
        entry_parent: int32[E] the CHANCE node that each entry follows; -1 at the root.
        num_slots: int64[2, R] slots of each player in a round.
        showdown_begin: int32[E + 1] where the showdowns of each entry begin in `showdowns`.
        showdowns: int32[...] nodes.
        fold_begin: int32[E + 1] the same for folds.
        folds: int32[...] nodes.
    """

    kind: npt.NDArray[np.int8]
    player: npt.NDArray[np.int8]
    first_child: npt.NDArray[np.int32]
    num_children: npt.NDArray[np.int32]
    reach_row: npt.NDArray[np.int32]
    slot: npt.NDArray[np.int32]
    amount: npt.NDArray[np.float64]
    next_entry: npt.NDArray[np.int32]
    round_entry: npt.NDArray[np.int32]
    entry_node: npt.NDArray[np.int32]
    entry_row: npt.NDArray[np.int32]
    entry_parent: npt.NDArray[np.int32]
    num_slots: npt.NDArray[np.int64]
    showdown_begin: npt.NDArray[np.int32]
    showdowns: npt.NDArray[np.int32]
    fold_begin: npt.NDArray[np.int32]
    folds: npt.NDArray[np.int32]


def walk_tree(tree: BettingTree) -> WalkTree:
    """Derive the traversal's view of a betting tree."""
    entries = np.concatenate(tree.entry_nodes)
    round_entry = np.cumsum([0, *(len(nodes) for nodes in tree.entry_nodes)]).astype(np.int32)
    entry_node = np.append(entries, tree.num_nodes).astype(np.int32)
    reach_row = np.empty((2, tree.num_nodes), dtype=np.int32)
    slot = np.full(tree.num_nodes, -1, dtype=np.int32)
    num_slots = np.zeros((2, tree.num_rounds), dtype=np.int64)
    entry_row = np.zeros((2, len(entries)), dtype=np.int32)
    _walk.assign_rows(
        tree.parent,
        tree.kind,
        tree.player,
        tree.num_children,
        round_entry,
        entry_node,
        reach_row,
        slot,
        num_slots,
        entry_row,
    )
    next_entry = np.full(tree.num_nodes, -1, dtype=np.int32)
    closing = np.flatnonzero(tree.kind == CHANCE)
    next_entry[closing] = np.searchsorted(entries, tree.first_child[closing])
    leaves = []
    for kinds in ((SHOWDOWN, CHALLENGE), (FOLD,)):
        nodes = np.flatnonzero(np.isin(tree.kind, kinds)).astype(np.int32)
        leaves += [np.searchsorted(nodes, entry_node).astype(np.int32), nodes]
    # A folder loses what it had put in; at a showdown both have put in the same, or the lesser counts.
    amount = tree.chips.min(axis=1).astype(np.float64)
    folded = np.flatnonzero(tree.kind == FOLD)
    amount[folded] = tree.chips[folded, tree.player[folded]]
    return WalkTree(
        kind=np.ascontiguousarray(tree.kind),
        player=np.ascontiguousarray(tree.player),
        first_child=np.ascontiguousarray(tree.first_child),
        num_children=tree.num_children.astype(np.int32),
        reach_row=reach_row,
        slot=slot,
        amount=amount,
        next_entry=next_entry,
        round_entry=round_entry,
        entry_node=entry_node,
        entry_row=entry_row,
        entry_parent=tree.parent[entries].astype(np.int32),
        num_slots=num_slots,
        showdown_begin=leaves[0],
        showdowns=leaves[1],
        fold_begin=leaves[2],
        folds=leaves[3],
    )


def decision_nodes(tree: BettingTree) -> npt.NDArray[np.int64]:
    """Return the nodes at which somebody acts."""
    return np.flatnonzero(tree.kind == DECISION)
