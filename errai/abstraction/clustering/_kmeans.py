"""Kernels of k-means on rows of small integers: exact nearest centres with few distances computed.

The search keeps, for each centre, its nearest other centres in ascending order of their distance (the
*gap*). For a row x whose best centre so far is b at distance r, the triangle inequality says that a centre
with gap(b, c) > 2 r is farther from x than b (Elkan 2003, lemma 1; Phillips 2002), so the list of b is
walked until the gap is that large, and from its start again, at the better centre, whenever one is found.
A stamp for each centre keeps it from being measured twice for one row. Where a list ends too early, all
centres are looked at. In both cases the sums over groups of columns give a cheap lower bound of the L1
distance, which for cumulative histograms is nearly tight.

Rows are padded with zeros to a width that fills vector registers: the distances are the same, the loops
have no remainder. All distances are exact int32 (the caller has made sure that they fit).
"""

import numpy as np

from errai.kernels import kernel

# Number of groups of columns whose sums bound the L1 distance from below.
NUM_GROUPS = 8
# Rows whose masses are summed together, so that a draw looks at one block only.
ROWS_PER_BLOCK = 512
# Centres whose sums stay in the fastest cache while all columns are added.
CENTRES_PER_STRIP = 1024
# Gaps are rounded down to float32 and this is added to the radius: never a candidate lost to rounding.
SAFETY = 1.0 + 1e-9


@kernel(inline=True)
def distance_l1(
    row,  # IN  uint16[P]
    rows,  # IN  uint16[R, P]
    index,  # IN  int64
):
    """Return the sum of absolute differences, int32."""
    total = np.int32(0)
    for j in range(rows.shape[1]):
        a = np.int32(row[j])
        b = np.int32(rows[index, j])
        total = np.int32(total + np.int32(max(a, b) - min(a, b)))
    return total


@kernel(inline=True)
def distance_l2(
    row,  # IN  uint16[P]
    rows,  # IN  uint16[R, P]
    index,  # IN  int64
):
    """Return the sum of squared differences, int32."""
    total = np.int32(0)
    for j in range(rows.shape[1]):
        difference = np.int32(np.int32(row[j]) - np.int32(rows[index, j]))
        total = np.int32(total + np.int32(difference * difference))
    return total


@kernel()
def distance(
    row,  # IN  uint16[P]
    rows,  # IN  uint16[R, P]
    index,  # IN  int64
    squared,  # IN  bool  squared differences (L2) in place of absolute ones (L1)
):
    """Return the distance of `row` and `rows[index]` in the metric's integer units."""
    return distance_l2(row, rows, index) if squared else distance_l1(row, rows, index)


@kernel(inline=True)
def gap_of(
    a,  # IN  int32
    b,  # IN  int32
    squared,  # IN  bool
):
    """Return what one column adds to a distance, int32."""
    if squared:
        return np.int32(np.int32(a - b) * np.int32(a - b))
    return np.int32(max(a, b) - min(a, b))


@kernel()
def distance_table(
    columns,  # IN   uint16[D, K]  centres, one column of numbers after the other; D is a multiple of 4
    begin,  # IN   int64  first centre of the block
    squared,  # IN   bool
    totals,  # OUT  int32[CENTRES_PER_STRIP]
    keys,  # OUT  int64[B, K]  distance << 32 | other centre; a centre itself is the largest int64
):
    """Measure a block of centres against all, as keys that sort by distance and then by number.

    Many centres at once, four columns at a time: at least twice as fast as one distance after the other.
    """
    num_columns, num_centres = columns.shape
    for i in range(keys.shape[0]):
        for strip in range(0, num_centres, CENTRES_PER_STRIP):
            width = min(CENTRES_PER_STRIP, num_centres - strip)
            totals[:] = 0
            for j in range(0, num_columns, 4):
                a0 = np.int32(columns[j, begin + i])
                a1 = np.int32(columns[j + 1, begin + i])
                a2 = np.int32(columns[j + 2, begin + i])
                a3 = np.int32(columns[j + 3, begin + i])
                others0 = columns[j, strip : strip + width]
                others1 = columns[j + 1, strip : strip + width]
                others2 = columns[j + 2, strip : strip + width]
                others3 = columns[j + 3, strip : strip + width]
                for c in range(width):
                    low = np.int32(
                        gap_of(a0, np.int32(others0[c]), squared) + gap_of(a1, np.int32(others1[c]), squared)
                    )
                    high = np.int32(
                        gap_of(a2, np.int32(others2[c]), squared) + gap_of(a3, np.int32(others3[c]), squared)
                    )
                    totals[c] = np.int32(totals[c] + np.int32(low + high))
            for c in range(width):
                keys[i, strip + c] = np.int64(totals[c]) << 32 | (strip + c)
        keys[i, begin + i] = np.iinfo(np.int64).max


@kernel()
def sum_groups(
    row,  # IN   uint16[P]
    group_size,  # IN   int64  columns of a group
    sums,  # OUT  int32[NUM_GROUPS]
):
    """Sum neighbouring columns; the differences of these sums bound the L1 distance from below."""
    for g in range(NUM_GROUPS):
        total = np.int32(0)
        for j in range(g * group_size, min((g + 1) * group_size, row.shape[0])):
            total = np.int32(total + np.int32(row[j]))
        sums[g] = total


@kernel(inline=True)
def group_bound(
    sums,  # IN  int32[NUM_GROUPS]
    group_sums,  # IN  int32[K, NUM_GROUPS]
    index,  # IN  int64
):
    """Return a lower bound of the L1 distance."""
    total = np.int32(0)
    for g in range(NUM_GROUPS):
        a = sums[g]
        b = group_sums[index, g]
        total = np.int32(total + np.int32(max(a, b) - min(a, b)))
    return total


@kernel()
def assign_rows(
    points,  # IN      uint16[n, P]
    centres,  # IN      uint16[K, P]
    squared,  # IN      bool
    group_size,  # IN      int64  columns of a group; 0: no lower bounds
    group_sums,  # IN      int32[K, NUM_GROUPS]
    neighbours,  # IN      int32[K, M]  the nearest other centres in ascending distance
    gaps,  # IN      float32[K, M]  true distances to them, rounded down
    entries,  # IN      int32[G]  centres where a row may start that has no guess and is unlike the one before
    labels,  # IN/OUT  int32[n]  a guess or -1; then the nearest centre, the lowest of equals
    distances,  # OUT     int32[n]
    seen,  # OUT     int32[K]  all zero at the call
    sums,  # OUT     int32[NUM_GROUPS]
    counts,  # OUT     int64[2]  added to: distances and lower bounds computed
):
    """Find the nearest centre of each row."""
    num_centres = centres.shape[0]
    num_neighbours = neighbours.shape[1]
    num_distances = 0
    num_bounds = 0
    previous = np.int64(entries[0])
    for i in range(points.shape[0]):
        row = points[i]
        stamp = i + 1
        if group_size > 0:
            sum_groups(row, group_size, sums)
        best = np.int64(labels[i])
        guessed = best >= 0
        if not guessed:
            best = previous
        seen[best] = stamp
        best_distance = distance(row, centres, best, squared)
        num_distances += 1
        radius = np.sqrt(np.float64(best_distance)) if squared else np.float64(best_distance)
        # Neighbouring rows are often alike; where they are not, look around for a better start.
        if not guessed and num_neighbours > 0 and 2.0 * radius > gaps[best, num_neighbours - 1]:
            for e in range(entries.shape[0]):
                c = np.int64(entries[e])
                if seen[c] == stamp:
                    continue
                seen[c] = stamp
                if group_size > 0:
                    num_bounds += 1
                    if group_bound(sums, group_sums, c) > best_distance:
                        continue
                measured = distance(row, centres, c, squared)
                num_distances += 1
                if measured < best_distance or (measured == best_distance and c < best):
                    best = c
                    best_distance = measured

        # Walk the list of the best centre; begin again at a better one.
        found = True
        complete = True
        while found:
            found = False
            complete = num_neighbours == num_centres - 1
            radius = np.sqrt(np.float64(best_distance)) if squared else np.float64(best_distance)
            reach = 2.0 * radius * SAFETY
            for m in range(num_neighbours):
                if gaps[best, m] > reach:
                    complete = True
                    break
                c = np.int64(neighbours[best, m])
                if seen[c] == stamp:
                    continue
                seen[c] = stamp
                if group_size > 0:
                    num_bounds += 1
                    if group_bound(sums, group_sums, c) > best_distance:
                        continue
                measured = distance(row, centres, c, squared)
                num_distances += 1
                if measured < best_distance or (measured == best_distance and c < best):
                    best = c
                    best_distance = measured
                    found = True
                    break

        if not complete:
            for c in range(num_centres):
                if seen[c] == stamp:
                    continue
                if group_size > 0:
                    num_bounds += 1
                    if group_bound(sums, group_sums, c) > best_distance:
                        continue
                measured = distance(row, centres, c, squared)
                num_distances += 1
                if measured < best_distance or (measured == best_distance and c < best):
                    best = np.int64(c)
                    best_distance = measured
        previous = best
        labels[i] = best
        distances[i] = best_distance
    counts[0] += num_distances
    counts[1] += num_bounds


@kernel()
def add_rows(
    points,  # IN      uint16[n, D]
    weights,  # IN      int64[n]
    labels,  # IN      int32[n]
    distances,  # IN      int32[n]
    sums,  # IN/OUT  int64[K, D]  weighted sums of the rows of each centre
    totals,  # IN/OUT  int64[K]  total weight of each centre
):
    """Add rows to the sums of their centres; return the weighted sum of distances, int64."""
    cost = np.int64(0)
    for i in range(points.shape[0]):
        c = labels[i]
        weight = weights[i]
        totals[c] += weight
        cost += weight * np.int64(distances[i])
        for j in range(sums.shape[1]):
            sums[c, j] += weight * np.int64(points[i, j])
    return cost


@kernel(inline=True)
def seeding_mass(
    weight,  # IN  int64
    measured,  # IN  int32  distance to the nearest centre so far, squared already for L2
    squared,  # IN  bool
    shift,  # IN  int64  bits dropped so that the sum over all rows fits
):
    """Return a row's share in the draw of the next centre: weight times squared distance."""
    square = np.int64(measured)
    if not squared:
        square *= square
    return weight * max(square >> shift, np.int64(measured > 0))


@kernel()
def start_seeding(
    points,  # IN   uint16[n, P]
    first,  # IN   int64  row of the first centre
    squared,  # IN   bool
    distances,  # OUT  int32[n]
):
    """Measure all rows from the first centre; return the largest distance."""
    largest = np.int32(0)
    for i in range(points.shape[0]):
        distances[i] = distance(points[first], points, i, squared)
        largest = max(largest, distances[i])
    return largest


@kernel()
def sum_masses(
    weights,  # IN   int64[n]
    distances,  # IN   int32[n]
    squared,  # IN   bool
    shift,  # IN   int64
    masses,  # OUT  int64[ceil(n / ROWS_PER_BLOCK)]
):
    """Sum the shares in the draw over blocks of rows."""
    masses[:] = 0
    for i in range(weights.shape[0]):
        masses[i // ROWS_PER_BLOCK] += seeding_mass(weights[i], distances[i], squared, shift)


@kernel()
def seed_centres(
    points,  # IN      uint16[n, P]
    weights,  # IN      int64[n]
    uniforms,  # IN      float64[K]  one draw in [0, 1) for each centre
    begin,  # IN      int64  centres chosen so far
    end,  # IN      int64
    squared,  # IN      bool
    shift,  # IN      int64
    chosen,  # IN/OUT  int64[K]  rows that are centres
    labels,  # IN/OUT  int32[n]  nearest centre so far
    distances,  # IN/OUT  int32[n]
    masses,  # IN/OUT  int64[blocks]
    gaps,  # OUT     int64[K]  distances of the new centre from the others
):
    """Choose the next centres by k-means++; return how many are chosen in all and the distances computed.

    A new centre c can only be nearer to x than x's centre b if d(b, c) < 2 d(x, b). The number chosen stays
    below `end` when every row has become a centre or equals one.
    """
    num_distances = 0
    factor = np.int64(4) if squared else np.int64(2)
    num_rows = points.shape[0]
    for k in range(begin, end):
        total = np.int64(0)
        for block in range(masses.shape[0]):
            total += masses[block]
        if total == 0:
            return k, num_distances
        target = min(np.int64(uniforms[k] * np.float64(total)), total - 1)
        block = 0
        while target >= masses[block]:
            target -= masses[block]
            block += 1
        i = block * ROWS_PER_BLOCK
        mass = seeding_mass(weights[i], distances[i], squared, shift)
        while target >= mass:
            target -= mass
            i += 1
            mass = seeding_mass(weights[i], distances[i], squared, shift)
        chosen[k] = i
        centre = points[i]
        for j in range(k):
            gaps[j] = np.int64(distance(centre, points, chosen[j], squared))
        num_distances += k
        for i in range(num_rows):
            before = distances[i]
            if gaps[labels[i]] < factor * np.int64(before):
                measured = distance(centre, points, i, squared)
                num_distances += 1
                if measured < before:
                    masses[i // ROWS_PER_BLOCK] += seeding_mass(
                        weights[i], measured, squared, shift
                    ) - seeding_mass(weights[i], before, squared, shift)
                    labels[i] = k
                    distances[i] = measured
    return end, num_distances
