"""Kernels of potential-aware abstraction: greedy earth mover's distances, pruned by how far means lie apart.

A row is a list of next-round buckets, one `unit` of mass each; a centre is a distribution over those buckets
with the same total. Masses and ground distances are integers, so every cost is exact.

The lower bound: moving one unit from bucket a to bucket b costs at least the norm of c_a - c_b, so moving
all costs at least the norm of the difference of the two means (the norm of a sum is at most the sum of the
norms). It is computed in float32 and lowered by a margin above the rounding error.
"""

import numpy as np

from errai.kernels import kernel

# Not in the support of the centre that is looked at.
ABSENT = -1
# A candidate is its bound above the number of its centre.
CENTRE_BITS = 18
CENTRE_MASK = (1 << CENTRE_BITS) - 1
NO_LIMIT = (1 << 63) - 1
# Margins of the lower bound: a share of it, and a share of the largest coordinate for each column.
RELATIVE_MARGIN = 1e-4
ABSOLUTE_MARGIN = 1e-6


@kernel()
def pack_row(
    row,  # IN   uint16[J]  next buckets in ascending order
    unit,  # IN   int64  mass of each
    buckets,  # OUT  int32[J]  the different ones
    masses,  # OUT  int64[J]
):
    """Merge equal buckets; return how many differ."""
    num_packed = 0
    for j in range(row.shape[0]):
        if num_packed > 0 and buckets[num_packed - 1] == row[j]:
            masses[num_packed - 1] += unit
        else:
            buckets[num_packed] = row[j]
            masses[num_packed] = unit
            num_packed += 1
    return num_packed


@kernel()
def greedy_cost(
    buckets,  # IN      int32[J]  different buckets of the row, ascending
    masses,  # IN      int64[J]
    num_packed,  # IN      int64  how many of them
    centre_buckets,  # IN      int32[nnz]  supports of all centres
    centre_masses,  # IN      int64[nnz]
    begin,  # IN      int64  the centre's part of these
    end,  # IN      int64
    ground,  # IN      int32[M, M]
    order,  # IN      uint16[M, M]  for each bucket all buckets in ascending distance
    limit,  # IN      int64  costs above it are of no interest
    remaining,  # IN/OUT  int64[M]  ABSENT everywhere, and again at the end
    targets,  # OUT     int64[J]
    ranks,  # OUT     int32[J]
):
    """Return the cost of the greedy transport, or some number above `limit` if the cost is above it.

    Rank by rank, each bucket of the row with mass left takes what it can from its next nearest bucket of
    the centre's support. What it then still has left pays at least that distance, which ends hopeless cases.
    """
    for e in range(begin, end):
        remaining[centre_buckets[e]] = centre_masses[e]
    for j in range(num_packed):
        targets[j] = masses[j]
        ranks[j] = 0
    cost = np.int64(0)
    num_open = num_packed
    while num_open > 0:
        num_open = 0
        pending = np.int64(0)
        for j in range(num_packed):
            wanted = targets[j]
            if wanted == 0:
                continue
            bucket = buckets[j]
            rank = ranks[j]
            nearest = order[bucket, rank]
            while remaining[nearest] == ABSENT:
                rank += 1
                nearest = order[bucket, rank]
            ranks[j] = rank + 1
            gap = np.int64(ground[bucket, nearest])
            moved = min(wanted, remaining[nearest])
            remaining[nearest] -= moved
            cost += moved * gap
            targets[j] = wanted - moved
            if wanted > moved:
                pending += (wanted - moved) * gap
                num_open += 1
        if cost + pending > limit:
            cost += pending
            break
    for e in range(begin, end):
        remaining[centre_buckets[e]] = ABSENT
    return cost


@kernel()
def mean_positions(
    rows,  # IN   uint16[n, J]
    next_centres,  # IN   uint16[M, D]
    positions,  # OUT  float32[n, P]  zero in the columns from D on
):
    """Write the mean of each row's bucket centres."""
    num_columns = next_centres.shape[1]
    scale = 1.0 / rows.shape[1]
    for i in range(rows.shape[0]):
        for d in range(num_columns):
            total = np.int64(0)
            for j in range(rows.shape[1]):
                total += np.int64(next_centres[rows[i, j], d])
            positions[i, d] = np.float32(total * scale)


@kernel()
def lower_bound(
    a,  # IN  float32[P]
    b,  # IN  float32[P]
    squared,  # IN  bool  L2 in place of L1
    margin,  # IN  float64  absolute
    scale,  # IN  float64  cost of moving all mass by a distance of 1
):
    """Return a cost, int64, that no transport between distributions with these means can go below."""
    total = np.float32(0.0)
    if squared:
        for d in range(a.shape[0]):
            difference = a[d] - b[d]
            total += difference * difference
    else:
        for d in range(a.shape[0]):
            total += abs(a[d] - b[d])
    distance = np.sqrt(np.float64(total)) if squared else np.float64(total)
    return np.int64(max(0.0, distance * (1.0 - RELATIVE_MARGIN) - margin) * scale)


@kernel()
def assign_rows(
    rows,  # IN      uint16[n, J]  next buckets, ascending in each row
    unit,  # IN      int64  mass of each of them
    positions,  # IN      float32[n, P]
    centre_begin,  # IN      int64[K + 1]
    centre_buckets,  # IN      int32[nnz]
    centre_masses,  # IN      int64[nnz]
    centre_positions,  # IN      float32[K, P]
    ground,  # IN      int32[M, M]
    order,  # IN      uint16[M, M]
    squared,  # IN      bool
    margin,  # IN      float64
    scale,  # IN      float64
    labels,  # IN/OUT  int32[n]  a guess or -1; then the nearest centre, the lowest of equals
    costs,  # OUT     int64[n]
    remaining,  # IN/OUT  int64[M]  ABSENT everywhere
    bounds,  # OUT     int64[K]
    candidates,  # OUT     int64[K]  bound and centre in one number
):
    """Find the nearest centre of each row by the greedy distance; return the number of greedy distances.

    Centres are tried in ascending order of their lower bound until it is above the best cost.
    """
    num_centres = centre_begin.shape[0] - 1
    num_next = rows.shape[1]
    buckets = np.empty(num_next, dtype=np.int32)
    masses = np.empty(num_next, dtype=np.int64)
    targets = np.empty(num_next, dtype=np.int64)
    ranks = np.empty(num_next, dtype=np.int32)
    num_distances = 0
    for i in range(rows.shape[0]):
        num_packed = pack_row(rows[i], unit, buckets, masses)
        first = np.int64(labels[i])
        nearest = np.int64(0)
        for k in range(num_centres):
            bounds[k] = lower_bound(positions[i], centre_positions[k], squared, margin, scale)
            if bounds[k] < bounds[nearest]:
                nearest = np.int64(k)
        if first < 0:
            first = nearest
        best = first
        best_cost = greedy_cost(
            buckets,
            masses,
            num_packed,
            centre_buckets,
            centre_masses,
            centre_begin[best],
            centre_begin[best + 1],
            ground,
            order,
            NO_LIMIT,
            remaining,
            targets,
            ranks,
        )
        num_distances += 1
        num_candidates = 0
        for k in range(num_centres):
            if bounds[k] <= best_cost and k != first:
                candidates[num_candidates] = bounds[k] << CENTRE_BITS | k
                num_candidates += 1
        candidates[:num_candidates].sort()
        for c in range(num_candidates):
            if candidates[c] >> CENTRE_BITS > best_cost:
                break
            k = candidates[c] & CENTRE_MASK
            cost = greedy_cost(
                buckets,
                masses,
                num_packed,
                centre_buckets,
                centre_masses,
                centre_begin[k],
                centre_begin[k + 1],
                ground,
                order,
                best_cost,
                remaining,
                targets,
                ranks,
            )
            num_distances += 1
            if cost < best_cost or (cost == best_cost and k < best):
                best = k
                best_cost = cost
        labels[i] = best
        costs[i] = best_cost
    return num_distances


@kernel()
def approach_centre(
    rows,  # IN      uint16[n, J]  next buckets, ascending in each row
    unit,  # IN      int64  mass of each of them
    positions,  # IN      float32[n, P]
    centre,  # IN      uint16[J]  the row that is the new centre
    centre_position,  # IN      float32[P]
    ground,  # IN      int32[M, M]
    order,  # IN      uint16[M, M]
    squared,  # IN      bool
    margin,  # IN      float64
    scale,  # IN      float64
    costs,  # IN/OUT  int64[n]  greedy cost to the nearest centre so far
    remaining,  # IN/OUT  int64[M]  ABSENT everywhere
):
    """Lower the costs of the rows that are nearer to a new centre; return the number of greedy distances."""
    num_next = rows.shape[1]
    centre_buckets = np.empty(num_next, dtype=np.int32)
    centre_masses = np.empty(num_next, dtype=np.int64)
    buckets = np.empty(num_next, dtype=np.int32)
    masses = np.empty(num_next, dtype=np.int64)
    targets = np.empty(num_next, dtype=np.int64)
    ranks = np.empty(num_next, dtype=np.int32)
    support = pack_row(centre, unit, centre_buckets, centre_masses)
    num_distances = 0
    for i in range(rows.shape[0]):
        if lower_bound(positions[i], centre_position, squared, margin, scale) >= costs[i]:
            continue
        num_packed = pack_row(rows[i], unit, buckets, masses)
        cost = greedy_cost(
            buckets,
            masses,
            num_packed,
            centre_buckets,
            centre_masses,
            0,
            support,
            ground,
            order,
            costs[i],
            remaining,
            targets,
            ranks,
        )
        num_distances += 1
        costs[i] = min(costs[i], cost)
    return num_distances


@kernel()
def count_rows(
    rows,  # IN      uint16[n, J]
    weights,  # IN      int64[n]
    labels,  # IN      int32[n]
    counts,  # IN/OUT  int64[K, M]  how often each next bucket occurs among the rows of each centre
):
    """Add the next buckets of rows to the counts of their centres."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            counts[labels[i], rows[i, j]] += weights[i]
