"""Kernels of public clusters: distances between boards, and one iteration of their clustering."""

import numpy as np

from errai.kernels import kernel

# Boards side by side: two blocks of 32 rows of 5,000 buckets stay in a core's second-level cache.
BLOCK = 32


@kernel()
def differences_of_rows(
    table,  # IN   uint16[M, B]  private hands of each board in each bucket; every row sums to V
    num_hands,  # IN   uint16  V
    begin,  # IN   int64  first board
    end,  # IN   int64  one past the last
    differences,  # OUT  uint16[M, M]  rows begin to end right of the diagonal, and their mirror images
):
    """Count, for pairs of boards, the hands that do not share a bucket: V - sum of minima.

    No sum of minima exceeds V, so 16 bits hold it, and as many lanes of a vector work at once.
    """
    num_boards, num_buckets = table.shape
    for first in range(begin, num_boards, BLOCK):
        last = min(first + BLOCK, num_boards)
        for i in range(begin, end):
            row = table[i]
            for j in range(max(first, i + 1), last):
                other = table[j]
                shared = np.uint16(0)
                for b in range(num_buckets):
                    shared = np.uint16(shared + min(row[b], other[b]))
                differences[i, j] = num_hands - shared
                differences[j, i] = num_hands - shared
    for i in range(begin, end):
        differences[i, i] = 0


@kernel(fastmath=False)
def squared_distances_of_rows(
    entry_begin,  # IN   int64[M + 1]  where the entries of each row begin
    column,  # IN   int64[E]  ascending in a row
    value,  # IN   float64[E]
    begin,  # IN   int64  first row
    end,  # IN   int64  one past the last
    spread,  # TMP  float64[columns]  all zero, before and after
    distances,  # OUT  float64[M, M]  rows begin to end right of the diagonal, and their mirror images
):
    """Compute squared L2 distances between the rows of a sparse matrix.

    That of the rows x and y is |x|^2 plus the sum of y_e (y_e - 2 x_e) over the entries e of y.
    """
    num_rows = len(entry_begin) - 1
    for i in range(begin, end):
        norm = 0.0
        for e in range(entry_begin[i], entry_begin[i + 1]):
            spread[column[e]] = value[e]
            norm += value[e] * value[e]
        distances[i, i] = 0.0
        for j in range(i + 1, num_rows):
            total = norm
            for e in range(entry_begin[j], entry_begin[j + 1]):
                total += value[e] * (value[e] - 2.0 * spread[column[e]])
            distances[i, j] = max(total, 0.0)
            distances[j, i] = max(total, 0.0)
        for e in range(entry_begin[i], entry_begin[i + 1]):
            spread[column[e]] = 0.0


@kernel(fastmath=False)
def move_boards(
    distances,  # IN   float64[M, M]
    before,  # IN   int32[M]  cluster of each board in the previous iteration
    sums,  # TMP  float64[C]
    after,  # OUT  int32[M]  cluster of each board now; the same array as `before` moves boards in turn
):
    """Put each board into the cluster with the smallest sum of distances to its boards; count the moves.

    A board stays where it is when no cluster is better, and goes to the lowest of equally good ones.
    """
    num_boards, num_clusters = len(before), len(sums)
    num_moves = 0
    for i in range(num_boards):
        for c in range(num_clusters):
            sums[c] = 0.0
        for j in range(num_boards):
            if j != i:
                sums[before[j]] += distances[i, j]
        own = before[i]
        best = own
        for c in range(num_clusters):
            if sums[c] < sums[best]:
                best = c
        after[i] = best
        if best != own:
            num_moves += 1
    return num_moves
