"""The kernel that values deals: what a player wins in each, on average over both players' choices.

Letters: N betting nodes, D deals, R rounds, L leaves.
"""

import numpy as np

from errai.engine._deal_walk import (
    ACTIONS,
    CHANCE,
    CHILD,
    DECISION,
    KIND,
    NODE_WIDTH,
    PLAYER,
    ROUND,
    SLOT,
)
from errai.engine._deals import FIRST, STRIDE
from errai.kernels import kernel


@kernel()
def value_deals(
    player,  # IN   int64  whose winnings
    nodes,  # IN   int32[N * NODE_WIDTH]  parents come before children
    payoffs,  # IN   float64[2, L * 3]
    rows,  # IN   int64[D, 2 * R * ROW_WIDTH]  where each position's slots are
    outcomes,  # IN   int8[D, K]
    first,  # IN   float[slots]  what position 0 plays, in proportion to the positive part
    second,  # IN   float[slots]  what position 1 plays
    reach,  # TMP  float64[N]
    values,  # OUT  float64[D]
):
    """Walk the whole betting of each deal, from the root down; what is never reached is passed over."""
    for d in range(rows.shape[0]):
        reach[:] = 0.0
        reach[0] = 1.0
        value = 0.0
        for node in range(reach.shape[0]):
            here = reach[node]
            if here == 0.0:
                continue
            at = node * NODE_WIDTH
            kind, child, slot = nodes[at + KIND], nodes[at + CHILD], np.int64(nodes[at + SLOT])
            if kind == CHANCE:
                reach[child] = here
                continue
            if kind != DECISION:
                value += here * payoffs[player, slot + outcomes[d, child]]
                continue
            who, row, num_actions = nodes[at + PLAYER], nodes[at + ROUND], np.int64(nodes[at + ACTIONS])
            stride = rows[d, row + STRIDE]
            place = rows[d, row + FIRST] + slot * stride
            total = 0.0
            for a in range(num_actions):
                x = np.float64(first[place + a * stride] if who == 0 else second[place + a * stride])
                x = x if x > 0.0 else 0.0
                reach[child + a] = x
                total += x
            for a in range(num_actions):
                share = reach[child + a] / total if total > 0.0 else 1.0 / num_actions
                reach[child + a] = here * share
        values[d] = value
