"""Kernels of self-play: what every betting node of a deal is worth, and what explains it."""

import numpy as np

from errai.engine._deals import FIRST, FIRST_WINS, STRIDE
from errai.kernels import kernel
from errai.tree.betting_tree import CHANCE, DECISION, FOLD


@kernel()
def gather_values(
    kind,  # IN   int8[N]   of the betting nodes, parents before their children
    player,  # IN   int8[N]
    rounds,  # IN   int8[N]
    first_child,  # IN   int32[N]
    num_children,  # IN   int32[N]
    slot,  # IN   int32[N]
    stake,  # IN   float64[N]  at leaves
    rows,  # IN   int64[D, 2, R, 4]  as in `DealBatch`
    outcomes,  # IN   int8[D, 1]
    first_table,  # IN   float[slots]  of position 0
    second_table,  # IN   float[slots]  of position 1
    features,  # IN   float64[D, R, K]  of the deal in each round
    least_reach,  # IN   float64  what both players reach less often is not gathered
    reach,  # OUT  float64[N]  scratch
    chances,  # OUT  float64[N]  scratch: of the action that leads to a node
    values,  # OUT  float64[N]  scratch: of position 0
    products,  # IN/OUT  float64[N, K, K]  sums of reach times features times features
    targets,  # IN/OUT  float64[N, K]  sums of reach times features times values
):
    """Play a strategy against itself in some deals, and add up normal equations for every decision."""
    num_nodes, num_features = kind.shape[0], features.shape[2]
    for d in range(rows.shape[0]):
        reach[0] = 1.0
        for n in range(num_nodes):
            first, count = first_child[n], num_children[n]
            if kind[n] == CHANCE:
                reach[first] = reach[n]
                chances[first] = 1.0
            elif kind[n] == DECISION:
                p = player[n]
                place = rows[d, p, rounds[n]]
                begin = place[FIRST] + slot[n] * place[STRIDE]
                total = 0.0
                for a in range(count):
                    at = begin + a * place[STRIDE]
                    weight = max(first_table[at] if p == 0 else second_table[at], 0.0)
                    chances[first + a] = weight
                    total += weight
                for a in range(count):
                    chances[first + a] = chances[first + a] / total if total > 0 else 1.0 / count
                    reach[first + a] = reach[n] * chances[first + a]
        sign = 1.0 - (np.float64(outcomes[d, 0]) - FIRST_WINS)
        for n in range(num_nodes - 1, -1, -1):
            if kind[n] == DECISION or kind[n] == CHANCE:
                value = 0.0
                for child in range(first_child[n], first_child[n] + num_children[n]):
                    value += chances[child] * values[child]
                values[n] = value
            elif kind[n] == FOLD:
                values[n] = stake[n] if player[n] == 1 else -stake[n]
            else:
                values[n] = stake[n] * sign
        for n in range(num_nodes):
            if kind[n] == DECISION and reach[n] >= least_reach:
                r = rounds[n]
                for i in range(num_features):
                    weighted = reach[n] * features[d, r, i]
                    targets[n, i] += weighted * values[n]
                    for j in range(num_features):
                        products[n, i, j] += weighted * features[d, r, j]
