"""The kernel that plays hands out: at each decision one action is drawn by what a table says.

The arithmetic is that of `errai.play.draws.Draws.choose` over probabilities, operation by operation, so a
hand comes out as it does when two agents are asked. That is why nothing may be reordered here.

Letters: N betting nodes, D hands, R rounds, L leaves.
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
from errai.engine._streams import draw_unit, stream_key
from errai.kernels import kernel

U = np.uint64


@kernel(fastmath=False)
def choose(
    table,  # IN   float[slots]
    is_weights,  # IN   bool  divide by the sum of the positive parts, or play the numbers as they are
    place,  # IN   int64  of the first action
    stride,  # IN   int64  from one action to the next
    num_actions,  # IN   int64
    left,  # IN   float64  the random number
):
    """Return the action that is drawn: int64."""
    total = 0.0
    for a in range(num_actions):
        x = np.float64(table[place + a * stride])
        total += x if x > 0.0 else 0.0
    chosen = np.int64(0)
    for a in range(num_actions):
        x = np.float64(table[place + a * stride])
        if is_weights:
            x = (x if x > 0.0 else 0.0) / total if total > 0.0 else 1.0 / num_actions
        if x > 0.0:
            chosen = np.int64(a)
            left -= x
            if left < 0.0:
                break
    return chosen


@kernel(fastmath=False)
def play_hands(
    seed,  # IN   int64  of the draws
    numbers,  # IN   int64[D]  of the hands, for the draws
    seat,  # IN   int64  which agent has position 0
    nodes,  # IN   int32[N * NODE_WIDTH]
    payoffs,  # IN   float64[L * 3]  of position 0
    rows,  # IN   int64[D, 2 * R * ROW_WIDTH]  where each position's slots are
    outcomes,  # IN   int8[D]
    first,  # IN   float[slots]  what position 0 plays
    first_is_weights,  # IN   bool
    second,  # IN   float[slots]  what position 1 plays
    second_is_weights,  # IN   bool
    ends,  # OUT  int32[D]  the leaf where each hand ends
    chips,  # OUT  int64[D]  what position 0 wins
):
    """Play hands, each from the root to a leaf."""
    for d in range(rows.shape[0]):
        first_key = stream_key(seed, numbers[d], seat)
        second_key = stream_key(seed, numbers[d], 1 - seat)
        first_drawn, second_drawn = U(0), U(0)
        node = np.int64(0)
        while True:
            at = node * NODE_WIDTH
            kind, child, slot = nodes[at + KIND], np.int64(nodes[at + CHILD]), np.int64(nodes[at + SLOT])
            if kind == CHANCE:
                node = child
                continue
            if kind != DECISION:
                ends[d] = node
                chips[d] = np.int64(payoffs[slot + outcomes[d]])
                break
            row, num_actions = nodes[at + ROUND], np.int64(nodes[at + ACTIONS])
            stride = rows[d, row + STRIDE]
            place = rows[d, row + FIRST] + slot * stride
            if nodes[at + PLAYER] == 0:
                drawn = draw_unit(first_key, first_drawn)
                first_drawn += U(1)
                node = child + choose(first, first_is_weights, place, stride, num_actions, drawn)
            else:
                drawn = draw_unit(second_key, second_drawn)
                second_drawn += U(1)
                node = child + choose(second, second_is_weights, place, stride, num_actions, drawn)
