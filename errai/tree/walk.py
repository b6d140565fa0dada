"""The betting tree as the traversal walks it: rows of buffers, slots of tables, lists of leaves.

Derived once from a `BettingTree`. The traversal keeps a player's reach only where it changes: a node gets
a reach row of its own where it is an entry of a round or follows an action of that player, and shares
the row of its parent otherwise. Rows and slots are numbered through a round, so that any run of
neighbouring entries is a block of neighbouring rows, nodes and slots.

Letters: N nodes, R rounds, E entries of all rounds.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.games.payoffs import PLAIN, Payoffs
from errai.tree import _walk
from errai.tree.betting_tree import CHALLENGE, CHANCE, DECISION, FOLD, SHOWDOWN, BettingTree


class WalkPlan(NamedTuple):
    """What kernels know of the betting. Rows are counted from the start of the round.

    Attributes:
        decisions: int32[D, 7] for each decision, in the order of nodes: who acts, the number of actions, the
            node, its first child, its first slot, the reach row of who acts there, and at the first child.
        leaves: int32[L, 3] for each player, the reach rows of the opponent that end somewhere: the row, the
            showdown that it ends at and the fold, -1 for none. At a challenge the bid takes the fold's place.
        leaf_chips: float64[L, 2 or 4] what the player gets there for winning the showdown and at the fold,
            then for a tie and for losing. The last two are left out where, as in plain poker, no tie is worth
            anything and every loss is as large as the win. At a challenge: if the bid holds and if not.
        entries: int32[E + 1, 14] where the parts of each entry begin; its end is where the next one begins.
            Columns: the node; the decision; the entry of the next round that follows first; each player's
            reach row; each player's slot, counted through all rounds; the leaf of player 0 with a
            showdown, of player 0 with a fold alone, and the same of player 1; the CHANCE node before the
            entry (-1 at the root); the reach row of each player there.
        round_entry: int32[R + 1] the entries of each round.
    """

    decisions: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.int32]
    leaf_chips: npt.NDArray[np.float64]
    entries: npt.NDArray[np.int32]
    round_entry: npt.NDArray[np.int32]


class WalkTree(NamedTuple):
    """The betting with its slots numbered.

    Attributes:
        kind: int8[N] as in `BettingTree`.
        player: int8[N] who acts, or who folded.
        num_children: int32[N].
        slot: int32[N] first slot of a decision among its player's slots of the round.
        stake: float64[N] chips at issue at a leaf: what the folder had put in, or the lesser of both.
        num_slots: int64[2, R] slots of each player in a round.
        plan: the same for kernels.
    """

    kind: npt.NDArray[np.int8]
    player: npt.NDArray[np.int8]
    num_children: npt.NDArray[np.int32]
    slot: npt.NDArray[np.int32]
    stake: npt.NDArray[np.float64]
    num_slots: npt.NDArray[np.int64]
    plan: WalkPlan


def first_board_round(boards: Sequence[npt.NDArray[np.uint8]]) -> int:
    """Return the first round with public cards, 0 where no round has any: boards [round] uint8[B, cards]."""
    return next((r for r, cards in enumerate(boards) if cards.shape[1] > 0), 0)


def walk_tree(
    tree: BettingTree,
    round_values: tuple[float, float] = (1.0, -1.0),
    payoffs: Payoffs = PLAIN,
    board_round: int = 0,
) -> WalkTree:
    """Derive the traversal's view of a betting tree.

    Args:
        tree: the betting, or the bidding of a round of Bluff.
        round_values: in Bluff, what player 0 wins if player 0, and if player 1, wins the round.
        payoffs: what the players of a card game get at its leaves.
        board_round: the first round with public cards, which decides what is raked.
    """
    entries = np.concatenate(tree.entry_nodes)
    round_entry = np.cumsum([0, *(len(nodes) for nodes in tree.entry_nodes)]).astype(np.int32)
    entry_node = np.append(entries, tree.num_nodes).astype(np.int32)
    reach_row = np.empty((2, tree.num_nodes), dtype=np.int32)
    slot = np.full(tree.num_nodes, -1, dtype=np.int32)
    num_slots = np.zeros((2, tree.num_rounds), dtype=np.int64)
    entry_row = np.zeros((2, len(entries)), dtype=np.int32)
    entry_slot = np.zeros((2, len(entries) + 1), dtype=np.int32)
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
        entry_slot,
    )
    nodes = np.flatnonzero(tree.kind == DECISION)
    who, first_child = tree.player[nodes], tree.first_child[nodes]
    decisions = np.stack(
        [
            who,
            tree.num_children[nodes],
            nodes,
            first_child,
            slot[nodes],
            reach_row[who, nodes],
            reach_row[who, first_child],
        ],
        axis=1,
    ).astype(np.int32)
    # Entries are numbered in the order of the CHANCE nodes that they follow.
    closing = np.flatnonzero(tree.kind == CHANCE)
    next_begin = 1 + np.searchsorted(closing, entry_node)
    entry_parent = tree.parent[entries]
    parent_row = np.where(entry_parent >= 0, reach_row[:, entry_parent], 0)
    stake = tree.chips.min(axis=1).astype(np.float64)
    folded = np.flatnonzero(tree.kind == FOLD)
    stake[folded] = tree.chips[folded, tree.player[folded]]
    if (tree.kind == CHALLENGE).any():
        leaves, leaf_chips, leaf_begin = _challenges(tree, reach_row, entry_node, round_values)
    else:
        leaves, leaf_chips, leaf_begin = _leaves(tree, reach_row, entry_node, stake, payoffs, board_round)
    table = np.zeros((len(entries) + 1, 14), dtype=np.int32)
    table[:, 0] = entry_node
    table[:, 1] = np.searchsorted(nodes, entry_node)
    table[:, 2] = next_begin
    table[:-1, 3:5] = entry_row.T
    table[:, 5:7] = entry_slot.T
    table[:, 7:11] = leaf_begin.reshape(4, -1).T
    table[:-1, 11] = entry_parent
    table[:-1, 12:14] = parent_row.T
    return WalkTree(
        kind=np.ascontiguousarray(tree.kind),
        player=np.ascontiguousarray(tree.player),
        num_children=tree.num_children.astype(np.int32),
        slot=slot,
        stake=stake,
        num_slots=num_slots,
        plan=WalkPlan(
            decisions=np.ascontiguousarray(decisions),
            leaves=leaves,
            leaf_chips=leaf_chips,
            entries=table,
            round_entry=round_entry,
        ),
    )


def _leaves(
    tree: BettingTree,
    reach_row: npt.NDArray[np.int32],
    entry_node: npt.NDArray[np.int32],
    stake: npt.NDArray[np.float64],
    payoffs: Payoffs,
    board_round: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """List for each player the reach rows of the opponent that end, a showdown and a fold side by side."""
    showdowns = np.flatnonzero(tree.kind == SHOWDOWN)
    folds = np.flatnonzero(tree.kind == FOLD)
    parts: list[npt.NDArray[Any]] = []
    chips: list[npt.NDArray[np.float64]] = []
    begins = np.zeros((2, 2, len(entry_node)), dtype=np.int32)
    before = 0
    dealt = tree.round >= board_round
    for player in (0, 1):
        shown = payoffs.showdown_values(player, stake[showdowns], dealt[showdowns])
        won = payoffs.fold_values(player, stake[folds], dealt[folds], tree.player[folds] == player)
        # Rows are numbered anew in each round: with the round they are unique.
        rows = tree.round.astype(np.int64) << 32 | reach_row[1 - player]
        partner = _partners(rows[showdowns], rows[folds])
        alone = np.setdiff1d(np.arange(len(folds)), partner)
        fold_node = np.append(folds, -1)[partner]
        fold_won = np.append(won, 0.0)[partner]
        nothing = np.zeros(len(alone))
        parts.append(np.stack([reach_row[1 - player, showdowns], showdowns, fold_node], axis=1))
        chips.append(np.stack([shown[:, 0], fold_won, shown[:, 1], shown[:, 2]], axis=1))
        parts.append(np.stack([reach_row[1 - player, folds[alone]], nothing - 1, folds[alone]], axis=1))
        chips.append(np.stack([nothing, won[alone], nothing, nothing], axis=1))
        for which, nodes in enumerate((showdowns, folds[alone])):
            begins[player, which] = before + np.searchsorted(nodes, entry_node)
            before += len(nodes)
    values = np.concatenate(chips)
    win, _, tie, lose = values.T
    if not (tie.any() or (win + lose).any()):
        values = np.ascontiguousarray(values[:, :2])
    return np.concatenate(parts).astype(np.int32), values, begins


def _partners(
    showdown_rows: npt.NDArray[np.int64], fold_rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return for each showdown a fold with the same row that no other showdown has, or -1."""
    partner = np.full(len(showdown_rows), -1)
    _, showdown, fold = np.intersect1d(showdown_rows, fold_rows, return_indices=True)
    partner[showdown] = fold
    return partner


def _challenges(
    tree: BettingTree,
    reach_row: npt.NDArray[np.int32],
    entry_node: npt.NDArray[np.int32],
    round_values: tuple[float, float],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """List the challenges of a bidding tree for each player, with the bid and what either outcome wins."""
    nodes = np.flatnonzero(tree.kind == CHALLENGE)
    bidding = tree.parent[nodes]
    bid = tree.action[bidding]
    # The first decision of a later round of bidding got its bid from the CHANCE node before it.
    bid = np.where(bid >= 0, bid, tree.action[tree.parent[bidding]])
    number = len(nodes)
    leaves = np.empty((2 * number, 3), dtype=np.int32)
    chips = np.empty((2 * number, 2))
    begins = np.zeros((2, 2, len(entry_node)), dtype=np.int32)
    caller = tree.player[nodes]
    for player, sign in ((0, 1.0), (1, -1.0)):
        here = slice(player * number, (player + 1) * number)
        leaves[here, 0] = reach_row[1 - player, nodes]
        leaves[here, 1] = nodes
        leaves[here, 2] = bid
        chips[here, 0] = sign * np.asarray(round_values)[1 - caller]
        chips[here, 1] = sign * np.asarray(round_values)[caller]
        begins[player, 0] = player * number + np.searchsorted(nodes, entry_node)
        begins[player, 1] = 2 * number
    return leaves, chips, begins
