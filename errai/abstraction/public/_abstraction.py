"""Kernels of the public abstraction: buckets of all hands of a board at once."""

import numpy as np

from errai.cards._hands import pair_index
from errai.kernels import kernel

I32 = np.int32
U = np.uint64

NO_BUCKET = -1
GROUP = 8  # columns that are measured in one pass
FEW = 16  # centres that are measured first


@kernel()
def _count_below(
    sums,  # IN   int64[K]  ascending
    bound,  # IN   int64
):
    """Return how many sums are below a bound, by halving; no jump depends on the sums."""
    begin, size = 0, len(sums)
    while size > 0:
        half = (size + 1) // 2
        begin += half if sums[begin + half - 1] < bound else 0
        size -= half
    return begin


@kernel()
def _measure(
    row,  # IN   uint16[P]
    columns,  # IN   uint16[P * K]  centres, column by column
    stride,  # IN   int64  K
    begin,  # IN   int64  first centre
    end,  # IN   int64  one past the last
    squares,  # OUT  int32[K]  squared distances of these centres, from its start on
):
    """Measure a row against neighbouring centres side by side; return the least squared distance."""
    num_centres = U(end - begin)
    k = U(stride)
    for c in range(num_centres):
        squares[c] = 0
    for g in range(0, len(row), GROUP):
        x0, x1, x2, x3 = I32(row[g]), I32(row[g + 1]), I32(row[g + 2]), I32(row[g + 3])
        x4, x5, x6, x7 = I32(row[g + 4]), I32(row[g + 5]), I32(row[g + 6]), I32(row[g + 7])
        c0 = U(g) * k + U(begin)
        c1, c2, c3, c4 = c0 + k, c0 + U(2) * k, c0 + U(3) * k, c0 + U(4) * k
        c5, c6, c7 = c0 + U(5) * k, c0 + U(6) * k, c0 + U(7) * k
        for c in range(num_centres):
            d0, d1 = I32(x0 - I32(columns[c0 + c])), I32(x1 - I32(columns[c1 + c]))
            d2, d3 = I32(x2 - I32(columns[c2 + c])), I32(x3 - I32(columns[c3 + c]))
            d4, d5 = I32(x4 - I32(columns[c4 + c])), I32(x5 - I32(columns[c5 + c]))
            d6, d7 = I32(x6 - I32(columns[c6 + c])), I32(x7 - I32(columns[c7 + c]))
            four = I32(I32(I32(d0 * d0) + I32(d1 * d1)) + I32(I32(d2 * d2) + I32(d3 * d3)))
            more = I32(I32(I32(d4 * d4) + I32(d5 * d5)) + I32(I32(d6 * d6) + I32(d7 * d7)))
            squares[c] = I32(squares[c] + I32(four + more))
    least = squares[0]
    for c in range(num_centres):
        least = min(least, squares[c])
    return least


@kernel()
def nearest_centres(
    rows,  # IN   uint16[H, P]  P columns are a multiple of GROUP; those beyond the features are zero
    is_open,  # IN   bool[H]  rows to look at
    columns,  # IN   uint16[P * K]  centres in ascending order of their sums, column by column
    sums,  # IN   int64[K]  their sums
    offset,  # IN   int64  number of the first centre's bucket
    squares,  # OUT  int32[K]  scratch
    buckets,  # OUT  int64[H]  offset + the nearest centre by L2, the lowest of equals; NO_BUCKET: not open
):
    """Find the nearest centre of each row, exactly.

    By Cauchy and Schwarz the sums of two rows of P columns that are d apart differ by at most sqrt(P) d. So
    the nearest of a few centres with about the row's sum says in which interval of sums the nearest of all
    must be. The centres of the interval are neighbours, and are measured side by side.
    """
    num_columns = rows.shape[1]
    num_centres = len(sums)
    for h in range(len(is_open)):
        if not is_open[h]:
            buckets[h] = NO_BUCKET
            continue
        row = rows[h]
        total = np.int64(0)
        for k in range(num_columns):
            total += np.int64(row[k])
        begin = max(min(_count_below(sums, total) - FEW // 2, num_centres - FEW), 0)
        end = min(begin + FEW, num_centres)
        least = _measure(row, columns, num_centres, begin, end, squares)
        reach = np.int64(np.sqrt(np.float64(num_columns) * np.float64(least))) + 1
        begin = _count_below(sums, total - reach)
        end = _count_below(sums, total + reach + 1)
        least = _measure(row, columns, num_centres, begin, end, squares)
        nearest = 0
        while squares[nearest] != least:
            nearest += 1
        buckets[h] = offset + begin + nearest


@kernel()
def look_up_hands(
    row,  # IN   uint16[H]  buckets of all hands on the renamed board
    hands,  # IN   int64[H, 1 or 2]  cards of each hand by their position in the deck, ascending
    renamed,  # IN   int64[D]  position that each card of the deck becomes
    is_dealt,  # IN   bool[D]  cards of the board, before the renaming
    offset,  # IN   int64  number of the first bucket
    buckets,  # OUT  int64[H]  NO_BUCKET where hand and board share a card
):
    """Rename the cards of every hand and look the hand up."""
    num_hands, num_hole = hands.shape
    for h in range(num_hands):
        if is_dealt[hands[h, 0]] or is_dealt[hands[h, num_hole - 1]]:
            buckets[h] = NO_BUCKET
            continue
        number = renamed[hands[h, 0]]
        if num_hole == 2:
            number = pair_index(number, renamed[hands[h, 1]])
        buckets[h] = offset + np.int64(row[number])
