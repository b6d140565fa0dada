"""Kernels of bucket look-up in the last round, where no table of all deals could be held."""

import numpy as np

from errai.kernels import kernel

NO_BUCKET = -1


@kernel()
def nearest_in_group(
    rows,  # IN   uint16[J, D]
    group,  # IN   int64[J]  NO_BUCKET where there is no hand
    centres,  # IN   uint16[G, K, D]  centres of each group
    num_centres,  # IN   int64[G]  of them in use
    nearest,  # OUT  int64[J]  group * K + the nearest centre of its group, the lowest among equals
):
    """Find the nearest centre (squared differences) of each row among those of its group."""
    num_columns = rows.shape[1]
    most = centres.shape[1]
    for j in range(rows.shape[0]):
        if group[j] == NO_BUCKET:
            nearest[j] = NO_BUCKET
            continue
        best = np.int64(0)
        best_distance = np.int32(2**31 - 1)
        for k in range(max(num_centres[group[j]], 1)):
            # Chances times 3,500: 169 squared differences fit 32 bits.
            distance = np.int32(0)
            for d in range(num_columns):
                difference = np.int32(rows[j, d]) - np.int32(centres[group[j], k, d])
                distance += np.int32(difference * difference)
            if distance < best_distance:
                best = k
                best_distance = distance
        nearest[j] = group[j] * most + best
