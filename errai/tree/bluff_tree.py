"""The bidding tree of one round of Bluff, in the same flat arrays as poker's betting trees.

Every ascending sequence of bids is a decision, so with B bids there are 2^B decisions and 2^B - 1
challenges. A whole game of Bluff is a chain of such rounds: the values of the rounds with fewer dice
are the payoffs at the challenges of the larger ones.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from errai.games.bluff import num_bids
from errai.tree.betting_tree import (
    ACTION_CALL,
    ACTION_NONE,
    CHALLENGE,
    CHANCE,
    DECISION,
    NO_NODE,
    NO_PLAYER,
    BettingTree,
    RoundCount,
    Template,
    stamp_tree,
    verify_num_nodes,
)


def bluff_round_count(dice: Sequence[int]) -> RoundCount:
    """Return the exact size of the bidding tree of a round with `dice` on the table."""
    decisions = 2 ** num_bids(dice)
    # Each node but the root is reached by one action.
    return RoundCount(
        decisions=decisions, continuing=0, folds=0, showdowns=decisions - 1, slots=2 * (decisions - 1)
    )


def build_bluff_tree(dice: Sequence[int]) -> BettingTree:
    """Return the bidding tree of a round: the starter has `dice[0]` dice, the other `dice[1]`.

    Children of a decision: calling bluff first (except at the root), then the bids, ascending.
    """
    bids = num_bids(dice)
    num_nodes = bluff_round_count(dice).nodes
    verify_num_nodes(num_nodes, f"the bidding tree of Bluff with {sum(dice)} dice")
    parent = np.full(num_nodes, NO_NODE, dtype=np.int32)
    first_child = np.full(num_nodes, NO_NODE, dtype=np.int32)
    num_children = np.zeros(num_nodes, dtype=np.uint8)
    kind = np.full(num_nodes, DECISION, dtype=np.int8)
    player = np.zeros(num_nodes, dtype=np.int8)
    action = np.full(num_nodes, ACTION_NONE, dtype=np.int32)

    level: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)  # decisions with equally many bids
    last_bid = np.full(1, -1, dtype=np.int64)
    end = 1
    for depth in range(bids + 1):
        has_bid = int(depth > 0)
        degree = bids - 1 - last_bid + has_bid
        begins = end + np.cumsum(degree) - degree
        num_children[level] = degree
        first_child[level] = np.where(degree > 0, begins, NO_NODE)
        total = int(degree.sum())
        child = np.arange(end, end + total)
        rank = child - np.repeat(begins, degree)  # 0 is the challenge wherever there is a bid
        bid = np.repeat(last_bid, degree) + rank + 1 - has_bid
        is_challenge = rank < has_bid
        parent[child] = np.repeat(level, degree)
        action[child] = np.where(is_challenge, ACTION_CALL, bid)
        kind[child] = np.where(is_challenge, CHALLENGE, DECISION)
        # The caller is who acts at the parent; at a decision it is the other's turn.
        player[child] = np.where(is_challenge, depth % 2, (depth + 1) % 2)
        end += total
        level, last_bid = child[~is_challenge], bid[~is_challenge]
    assert end == num_nodes
    return BettingTree(
        parent=parent,
        first_child=first_child,
        num_children=num_children,
        kind=kind,
        player=player,
        round=np.zeros(num_nodes, dtype=np.int8),
        action=action,
        chips=np.broadcast_to(np.int32(0), (num_nodes, 2)),
        round_begin=np.array([0, num_nodes], dtype=np.int64),
    )


MAX_BIDS_IN_ONE_BLOCK = 12


def build_split_bluff_tree(dice: Sequence[int]) -> BettingTree:
    """Return the bidding tree with the higher bids in a round of their own.

    A traversal holds all nodes below one entry of a round at a time. With 24 bids these would be 33
    million, so bids from the middle on start a second round, which deals nothing: 2^12 nodes each.
    """
    bids = num_bids(dice)
    if bids <= MAX_BIDS_IN_ONE_BLOCK:
        return build_bluff_tree(dice)
    split = bids // 2
    root = (-1, 0)
    templates = {root: _bluff_template(-1, 0, split, bids)}
    for last_bid in range(split, bids):
        for player in (0, 1):
            templates[last_bid, player] = _bluff_template(last_bid, player, bids, bids)
    num_nodes = templates[root].size
    for key in templates[root].next_keys:
        num_nodes += templates[key].size  # type: ignore[index]
    verify_num_nodes(num_nodes, f"the bidding tree of Bluff with {sum(dice)} dice")
    return stamp_tree(templates, root, num_nodes, 2)


def _bluff_template(last_bid: int, player: int, split: int, bids: int) -> Template:
    """Return the block below a bid: bids from `split` on leave it for the next round."""
    nodes: list[tuple[int, int, int, int]] = [(NO_NODE, DECISION, last_bid, player)]
    first_child, num_children = [], []
    next_keys: list[tuple[int, int]] = []
    for node, (_, kind, bid, actor) in enumerate(nodes):  # grows while it is walked: breadth first
        if kind != DECISION:
            first_child.append(NO_NODE)
            num_children.append(int(kind == CHANCE))
            if kind == CHANCE:
                next_keys.append((bid, 1 - actor))
            continue
        first_child.append(len(nodes))
        before = len(nodes)
        if bid >= 0:
            nodes.append((node, CHALLENGE, ACTION_CALL, actor))
        for higher in range(bid + 1, bids):
            inside = higher < split
            nodes.append((node, DECISION if inside else CHANCE, higher, 1 - actor if inside else actor))
        num_children.append(len(nodes) - before)
        if num_children[-1] == 0:
            first_child[-1] = NO_NODE
    size = len(nodes)
    return Template(
        parent=np.array([parent for parent, *_ in nodes], dtype=np.int32),
        first_child=np.array(first_child, dtype=np.int32),
        num_children=np.array(num_children, dtype=np.uint8),
        kind=np.array([kind for _, kind, *_ in nodes], dtype=np.int8),
        player=np.array(
            [NO_PLAYER if kind == CHANCE else actor for _, kind, _, actor in nodes], dtype=np.int8
        ),
        action=np.array([ACTION_NONE, *(bid for _, _, bid, _ in nodes[1:])], dtype=np.int32),
        chips=np.zeros((size, 2), dtype=np.int32),
        next_keys=tuple(next_keys),
    )
