"""Kernels of hand features: a sweep over the hands of one board, and sums over the cards that may come.

Letters: H hands of the deck, C opponent clusters, L lanes (C + 1 rounded up to `LANE_STEP`; lane 0 counts all
hands, lane c + 1 those of cluster c), N classes, J hands or deals of a chunk, B bins of a histogram.

Strengths are counted in halves: *h2* = 2 x hands beaten + hands tied. Everything is an integer, so no sum
depends on its order. Kernels are compiled without reordering of floats because the one division below
must round alike everywhere.
"""

import numpy as np

from errai.cards._equity import HAND_BITS, HAND_MASK, sort_ranked
from errai.cards._evaluator import BLOCKED, EMPTY_KEY, strengths_on_board
from errai.kernels import kernel

LANE_STEP = 16
NO_CARD = 52
OCHS_SCALE = 3500


@kernel(fastmath=False)
def sweep_board(
    strengths,  # IN   int32[H]  BLOCKED where hand and board share a card
    hand_cards,  # IN   uint8[H, 2]  the second is NO_CARD where hands have one card
    cluster_of_hand,  # IN   int64[H]  opponent cluster of each hand
    num_clusters,  # IN   int64  C, may be 0
    ranked,  # OUT  int64[H]  scratch
    scratch,  # OUT  int64[H]
    counts,  # OUT  int64[2, 256]  scratch
    below,  # OUT  int16[L]  scratch: hands so far
    held,  # OUT  int16[53, L]  scratch: hands so far that hold a card
    open_total,  # OUT  int16[L]  scratch: hands that the board leaves open
    open_held,  # OUT  int16[53, L]  scratch: those of them that hold a card
    h2,  # OUT  uint16[H]  zero where blocked
    ochs,  # OUT  uint16[H, C]  chance against each cluster times OCHS_SCALE
):
    """Compare every open hand of a board with all others, as a whole and cluster by cluster.

    Hands are sorted by strength and swept once from the weakest; what a hand beats is the count so far
    less those that hold one of its cards. After its group of equals is added, the same difference counts
    what it beats or ties; a hand of two cards is then taken off twice, and put back once.
    """
    num_lanes = below.shape[0]
    counts[:] = 0
    below[:] = 0
    held[:] = 0
    open_total[:] = 0
    open_held[:] = 0
    num_open = 0
    for hand in range(strengths.shape[0]):
        h2[hand] = 0
        if strengths[hand] == BLOCKED:
            for c in range(num_clusters):
                ochs[hand, c] = 0
            continue
        ranked[num_open] = np.int64(strengths[hand]) << HAND_BITS | hand
        counts[0, strengths[hand] & 255] += 1
        counts[1, strengths[hand] >> 8] += 1
        num_open += 1
        if num_clusters > 0:
            lane = cluster_of_hand[hand] + 1
            open_total[lane] += 1
            open_held[hand_cards[hand, 0], lane] += 1
            open_held[hand_cards[hand, 1], lane] += 1
    sort_ranked(ranked, num_open, counts, scratch)
    wins = np.empty(num_lanes, dtype=np.int16)
    begin = 0
    while begin < num_open:
        strength = ranked[begin] >> HAND_BITS
        end = begin
        while end < num_open and ranked[end] >> HAND_BITS == strength:
            hand = ranked[end] & HAND_MASK
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            h2[hand] = below[0] - held[a, 0] - held[b, 0]
            for c in range(num_clusters):
                ochs[hand, c] = below[c + 1] - held[a, c + 1] - held[b, c + 1]
            end += 1
        for i in range(begin, end):
            hand = ranked[i] & HAND_MASK
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            lane = cluster_of_hand[hand] + 1
            below[0] += 1
            held[a, 0] += 1
            held[b, 0] += 1
            if num_clusters > 0:
                below[lane] += 1
                held[a, lane] += 1
                held[b, lane] += 1
        # No hand holds the card that stands for a missing second one.
        for lane in range(num_lanes):
            held[NO_CARD, lane] = 0
        for i in range(begin, end):
            hand = ranked[i] & HAND_MASK
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            own = np.int16(1) if b != NO_CARD else np.int16(0)
            own_lane = cluster_of_hand[hand] + 1
            for lane in range(num_lanes):
                wins[lane] = below[lane] - held[a, lane] - held[b, lane]
            h2[hand] += wins[0] + own
            if num_clusters > 0:
                wins[own_lane] += own
                for c in range(num_clusters):
                    ochs[hand, c] += wins[c + 1]
        begin = end
    if num_clusters == 0:
        return
    for lane in range(num_lanes):
        open_held[NO_CARD, lane] = 0
    num_others = np.int64(0)
    for i in range(num_open):
        hand = ranked[i] & HAND_MASK
        a, b = hand_cards[hand, 0], hand_cards[hand, 1]
        own = np.int16(1) if b != NO_CARD else np.int16(0)
        num_others = 0
        for lane in range(num_lanes):
            wins[lane] = open_total[lane] - open_held[a, lane] - open_held[b, lane]
        wins[cluster_of_hand[hand] + 1] += own
        for c in range(num_clusters):
            num_others += wins[c + 1]
        whole = OCHS_SCALE * np.float64(h2[hand]) / np.float64(max(2 * num_others, 1))
        for c in range(num_clusters):
            opponents = np.float64(2 * wins[c + 1])
            # A cluster that the known cards have emptied says nothing: the chance against all stands in.
            share = OCHS_SCALE * np.float64(ochs[hand, c]) / max(opponents, 1.0)
            ochs[hand, c] = np.uint16((share if opponents > 0.0 else whole) + 0.5)


@kernel(fastmath=False)
def sweep_boards(
    boards,  # IN   uint8[J, K]
    tables,  # IN   EvaluatorTables
    hand_keys,  # IN   int64[H]
    hand_masks,  # IN   int64[H]
    hand_cards,  # IN   uint8[H, 2]
    cluster_of_hand,  # IN   int64[H]
    num_clusters,  # IN   int64
    strengths,  # OUT  int32[J, H]
    h2,  # OUT  uint16[J, H]
    ochs,  # OUT  uint16[J, H, C]
):
    """Do `sweep_board` for many boards of a game with poker's showdown."""
    num_hands = hand_keys.shape[0]
    num_lanes = LANE_STEP * ((num_clusters + LANE_STEP) // LANE_STEP)
    ranked = np.empty(num_hands, dtype=np.int64)
    scratch = np.empty(num_hands, dtype=np.int64)
    counts = np.empty((2, 256), dtype=np.int64)
    below = np.empty(num_lanes, dtype=np.int16)
    held = np.empty((NO_CARD + 1, num_lanes), dtype=np.int16)
    open_total = np.empty(num_lanes, dtype=np.int16)
    open_held = np.empty((NO_CARD + 1, num_lanes), dtype=np.int16)
    for j in range(boards.shape[0]):
        key = np.int64(EMPTY_KEY)
        mask = np.int64(0)
        for k in range(boards.shape[1]):
            key += tables.card_key[boards[j, k]]
            mask |= tables.card_mask[boards[j, k]]
        strengths_on_board(key, mask, hand_keys, hand_masks, tables, strengths[j])
        sweep_board(
            strengths[j],
            hand_cards,
            cluster_of_hand,
            num_clusters,
            ranked,
            scratch,
            counts,
            below,
            held,
            open_total,
            open_held,
            h2[j],
            ochs[j],
        )


@kernel(fastmath=False)
def scatter_strength(
    index,  # IN   int64[*]  class of each open hand
    place,  # IN   int64[*]  board * H + hand
    h2,  # IN   uint16[J, H]
    class_strength,  # OUT  uint16[N]
):
    """Write the strengths of a chunk's hands to their classes. A class belongs to one board only."""
    num_hands = h2.shape[1]
    for n in range(index.shape[0]):
        class_strength[index[n]] = h2[place[n] // num_hands, place[n] % num_hands]


@kernel(fastmath=False)
def scatter_ochs(
    index,  # IN   int64[*]  class of each open hand
    place,  # IN   int64[*]  board * H + hand
    ochs,  # IN   uint16[J, H, C]
    class_ochs,  # OUT  uint16[N, C]
):
    """Write the strengths against clusters of a chunk's hands to their classes."""
    num_hands = ochs.shape[1]
    for n in range(index.shape[0]):
        j, hand = place[n] // num_hands, place[n] % num_hands
        for c in range(ochs.shape[2]):
            class_ochs[index[n], c] = ochs[j, hand, c]


@kernel(fastmath=False)
def add_first_round(
    strengths,  # IN   int32[J, H]
    h2,  # IN   uint16[J, H]
    board_weights,  # IN   int64[J]
    class_of_hand,  # IN   int64[H]  class of the hole cards
    bin_width,  # IN   int64  in halves
    partial,  # OUT  int64[N, B + 1]  share of a strength's own bin
    steps,  # OUT  int64[N, B + 1]  gain of all bins from here on
):
    """Add a chunk of last-round boards to the histograms of the first round's classes."""
    for j in range(h2.shape[0]):
        weight = board_weights[j]
        for hand in range(h2.shape[1]):
            if strengths[j, hand] == BLOCKED:
                continue
            k = class_of_hand[hand]
            value = np.int64(h2[j, hand])
            bin_index = value // bin_width
            partial[k, bin_index] += weight * ((bin_index + 1) * bin_width - value)
            steps[k, bin_index + 1] += weight * bin_width


@kernel(fastmath=False)
def next_deals(
    cards,  # IN   uint8[J, K]  deals of a round
    combinations,  # IN   uint8[D, n]  sets of cards that may come next
    deals,  # OUT  uint8[J * E, K + n]  each deal with each set that it leaves open, E for each deal
):
    """List what may follow each deal; return how many rows were written."""
    n = 0
    num_known, num_new = cards.shape[1], combinations.shape[1]
    for j in range(cards.shape[0]):
        seen = np.int64(0)
        for k in range(num_known):
            seen |= np.int64(1) << np.int64(cards[j, k])
        for d in range(combinations.shape[0]):
            hit = np.int64(0)
            for k in range(num_new):
                hit |= (seen >> np.int64(combinations[d, k])) & 1
            if hit != 0:
                continue
            for k in range(num_known):
                deals[n, k] = cards[j, k]
            for k in range(num_new):
                deals[n, num_known + k] = combinations[d, k]
            n += 1
    return n


@kernel(fastmath=False)
def gather_last_round(
    index,  # IN   int64[J, E]  classes of the last round that follow each class of a chunk
    next_strength,  # IN   uint16[M]
    bin_width,  # IN   int64
    bins,  # OUT  int64[2, B' + 1]  scratch, B' the bins of a histogram whether or not they are wanted
    strength,  # OUT  uint[J]  sum of h2
    squared,  # OUT  uint[J]  sum of squares
    histograms,  # OUT  uint[J, B]  cumulative, see features.py; no columns where they are not wanted
):
    """Sum the last round's strengths over the cards that may come, for the round before it."""
    num_next = index.shape[1]
    num_bins = histograms.shape[1]
    for j in range(index.shape[0]):
        bins[:] = 0
        total = np.int64(0)
        total_squared = np.int64(0)
        for e in range(num_next):
            value = np.int64(next_strength[index[j, e]])
            total += value
            total_squared += value * value
            bin_index = value // bin_width
            bins[0, bin_index] += (bin_index + 1) * bin_width - value
            bins[1, bin_index + 1] += bin_width
        strength[j] = total
        squared[j] = total_squared
        step = np.int64(0)
        for b in range(num_bins):
            step += bins[1, b]
            histograms[j, b] = bins[0, b] + step


@kernel(fastmath=False)
def gather_middle_round(
    index,  # IN   int64[J, E]  classes of the next round that follow each class of a chunk
    times_counted,  # IN   int64  how often the sums below count each set of cards still to come
    next_strength,  # IN   uint[M]
    next_squared,  # IN   uint[M]
    next_histograms,  # IN   uint[M, B]
    row,  # OUT  int64[B]  scratch
    strength,  # OUT  uint[J]
    squared,  # OUT  uint[J]
    histograms,  # OUT  uint[J, B]  no columns where they are not wanted
):
    """Sum the next round's features over the cards that may come, for a round two or more before the last."""
    num_next = index.shape[1]
    num_bins = histograms.shape[1]
    for j in range(index.shape[0]):
        row[:] = 0
        total = np.int64(0)
        total_squared = np.int64(0)
        for e in range(num_next):
            k = index[j, e]
            total += np.int64(next_strength[k])
            total_squared += np.int64(next_squared[k])
            for b in range(num_bins):
                row[b] += np.int64(next_histograms[k, b])
        strength[j] = total // times_counted
        squared[j] = total_squared // times_counted
        for b in range(num_bins):
            histograms[j, b] = row[b] // times_counted


@kernel(fastmath=False)
def gather_ochs(
    index,  # IN   int64[J, E]  classes of the next round that follow each class of a chunk
    next_ochs,  # IN   uint16[M, C]
    sums,  # OUT  int64[C]  scratch
    ochs,  # OUT  uint16[J, C]  rounded to the nearest, a half up
):
    """Average the next round's strengths against clusters over the cards that may come next."""
    num_next = index.shape[1]
    num_clusters = ochs.shape[1]
    for j in range(index.shape[0]):
        sums[:] = 0
        for e in range(num_next):
            for c in range(num_clusters):
                sums[c] += np.int64(next_ochs[index[j, e], c])
        for c in range(num_clusters):
            ochs[j, c] = (2 * sums[c] + num_next) // (2 * num_next)


@kernel(fastmath=False)
def count_deals(
    index,  # IN   int64[*]  class of each open hand of a chunk of boards
    place,  # IN   int64[*]  board * H + hand
    num_hands,  # IN   int64
    board_weights,  # IN   int64[J]
    class_deals,  # OUT  uint16[N]  a class belongs to one board only
):
    """Count the deals that each class stands for."""
    for n in range(index.shape[0]):
        class_deals[index[n]] = 0
    for n in range(index.shape[0]):
        class_deals[index[n]] += board_weights[place[n] // num_hands]


@kernel(fastmath=False)
def sum_next_boards(
    next_boards,  # IN   uint8[J, E, K]  what each board may become
    next_index,  # IN   int64[J, E]  their canonical boards
    renamed,  # IN   uint8[J, E, 53]  what cards become there; NO_CARD stays
    hand_cards,  # IN   uint8[H, 2]
    hand_number,  # IN   int64[53, 53]  by both cards, in any order
    next_strength,  # IN   uint[M, H]  of the hands on each canonical board
    next_squared,  # IN   uint[M, H]; no rows where the strengths themselves are to be squared
    strength,  # OUT  int64[J, H]  zero where blocked
    squared,  # OUT  int64[J, H]
):
    """Sum strengths and squares of every hand over the boards that may come."""
    strength[:] = 0
    squared[:] = 0
    squares = next_squared.shape[0] == 0
    one = np.int64(1)
    for j in range(next_boards.shape[0]):
        for e in range(next_boards.shape[1]):
            seen = np.int64(0)
            for k in range(next_boards.shape[2]):
                seen |= one << np.int64(next_boards[j, e, k])
            m = next_index[j, e]
            for h in range(hand_cards.shape[0]):
                a, b = hand_cards[h, 0], hand_cards[h, 1]
                if (seen >> np.int64(a)) & 1 or (seen >> np.int64(b)) & 1:
                    continue
                n = hand_number[renamed[j, e, a], renamed[j, e, b]]
                value = np.int64(next_strength[m, n])
                strength[j, h] += value
                squared[j, h] += value * value if squares else np.int64(next_squared[m, n])


@kernel(fastmath=False)
def scatter_sums(
    index,  # IN   int64[*]  class of each open hand
    place,  # IN   int64[*]  board * H + hand
    sums,  # IN   int64[J, H]
    times_counted,  # IN   int64  how often the sums count each set of cards still to come
    of_class,  # OUT  uint[N]
):
    """Write sums of a chunk's hands to their classes."""
    num_hands = sums.shape[1]
    for n in range(index.shape[0]):
        of_class[index[n]] = sums[place[n] // num_hands, place[n] % num_hands] // times_counted


@kernel(fastmath=False)
def strengths_of_deals(
    cards,  # IN   uint8[N, 2 + K]  hole cards and a last-round board
    tables,  # IN   EvaluatorTables
    hand_keys,  # IN   int64[H]
    hand_masks,  # IN   int64[H]
    hand_number,  # IN   int64[53, 53]  by both cards, in any order
    strengths,  # OUT  int32[H]  scratch
    h2,  # OUT  int64[N]
):
    """Compare each hand with all others on its board; deals of one board should be neighbours."""
    num_cards = cards.shape[1]
    for n in range(cards.shape[0]):
        is_new = n == 0
        for k in range(2, num_cards):
            is_new = is_new or cards[n, k] != cards[n - 1, k]
        if is_new:
            key = np.int64(EMPTY_KEY)
            mask = np.int64(0)
            for k in range(2, num_cards):
                key += tables.card_key[cards[n, k]]
                mask |= tables.card_mask[cards[n, k]]
            strengths_on_board(key, mask, hand_keys, hand_masks, tables, strengths)
        hand = hand_number[cards[n, 0], cards[n, 1]]
        own, own_mask = strengths[hand], hand_masks[hand]
        beaten = np.int64(0)
        for h in range(strengths.shape[0]):
            other = strengths[h]
            if other != BLOCKED and hand_masks[h] & own_mask == 0:
                beaten += 2 * np.int64(own > other) + np.int64(own == other)
        h2[n] = beaten
