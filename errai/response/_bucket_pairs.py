"""Kernel that counts how often two players' buckets meet on boards, and who wins."""

import numpy as np

from errai.kernels import kernel


@kernel()
def add_pairs(
    masks,  # IN   uint64[J, H]  the cards of each hand of each board, weakest hand first
    strengths,  # IN   int32[J, H]  ascending
    first_rows,  # IN   int32[J, H]  row of each hand of position 0
    second_rows,  # IN   int32[J, H]  of position 1
    weights,  # IN   int32[J]  how often each board counts
    together,  # INOUT int32[rows, rows]  deals in which these rows meet
    ahead,  # INOUT int32[rows, rows]  those that position 0 wins less those that position 1 wins
):
    """Add all pairs of hands that share no card."""
    num_hands = masks.shape[1]
    for j in range(len(masks)):
        weight = weights[j]
        below = up_to = 0  # hands weaker than hand a; those that are not stronger
        for a in range(num_hands):
            while strengths[j, below] < strengths[j, a]:
                below += 1
            while up_to < num_hands and strengths[j, up_to] == strengths[j, a]:
                up_to += 1
            cards, row = masks[j, a], first_rows[j, a]
            for b in range(below):
                if cards & masks[j, b] == np.uint64(0):
                    together[row, second_rows[j, b]] += weight
                    ahead[row, second_rows[j, b]] += weight
            for b in range(below, up_to):
                if cards & masks[j, b] == np.uint64(0):
                    together[row, second_rows[j, b]] += weight
            for b in range(up_to, num_hands):
                if cards & masks[j, b] == np.uint64(0):
                    together[row, second_rows[j, b]] += weight
                    ahead[row, second_rows[j, b]] -= weight
