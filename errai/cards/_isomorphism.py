"""Kernels of hand indexing. Arrays in, arrays out; `isomorphism.py` builds the tables and explains them.

Every kernel that reads user data checks it in the same pass and returns the first bad row, or -1.
"""

import numpy as np

from errai.kernels import kernel

RANK_MASK = 8191  # thirteen ranks of one suit; suit s of a deal occupies bits 16 s to 16 s + 12
NOT_IN_DECK = 64  # marks cards outside the deck in `place`, whose real values are below 64
LANE_MASK = 0xFFFFFFFF  # arrangements of two suits share a word, 32 bits for each
KEY_BITS = 24  # a suit's key is its pattern above 24 bits of its index within the pattern
KEY_MASK = (1 << KEY_BITS) - 1
MULTISET_LIMIT = 4095  # no index of two suits with equal patterns exceeds this; keeps cubes in int64


@kernel()
def _suit_keys(
    cards,  # IN   uint8[N, K]  deals, columns in the order of the rounds
    row,  # IN   int64  which deal
    place,  # IN   uint8[256]  16 * suit + rank of a card, NOT_IN_DECK for all others
    round_of,  # IN   int64[K]  round of each column
    first_column,  # IN   int64  first column whose round is not 0
    digit_bits,  # IN   int64  bits for one round number
    popcount,  # IN   uint8[8192]
    colex,  # IN   int32[8192]  number of a rank set among those of its size
    arrangement_key,  # IN   int32[*]  key of an arrangement: its pattern, and its share of the index
    places,  # OUT  int64[K]  scratch
):
    """Return the keys of the four suits of one deal and whether the deal is sound."""
    num_cards = cards.shape[1]
    one = np.int64(1)
    seen = np.int64(0)
    union = np.int64(0)
    for k in range(num_cards):
        p = np.int64(place[cards[row, k]])
        places[k] = p
        union |= p
        seen |= one << (p & 63)
    ranks0 = seen & RANK_MASK
    ranks1 = (seen >> 16) & RANK_MASK
    ranks2 = (seen >> 32) & RANK_MASK
    ranks3 = (seen >> 48) & RANK_MASK
    count0 = np.int64(popcount[ranks0])
    count1 = np.int64(popcount[ranks1])
    count2 = np.int64(popcount[ranks2])
    count3 = np.int64(popcount[ranks3])
    sound = union < NOT_IN_DECK and count0 + count1 + count2 + count3 == num_cards

    # An arrangement is the string of round numbers of a suit's cards, lowest rank first, closed by a one.
    # Round 0 adds nothing to it, so its columns are left out.
    low = (one << (digit_bits * count0)) | (one << (32 + digit_bits * count1))
    high = (one << (digit_bits * count2)) | (one << (32 + digit_bits * count3))
    for k in range(first_column, num_cards):
        p = places[k] & 63
        below = (seen >> (p & 48)) & ((one << (p & 15)) - one)
        digit = round_of[k] << (((p & 16) << 1) + digit_bits * np.int64(popcount[below & RANK_MASK]))
        is_high = -(p >> 5)  # all ones for the suits 2 and 3
        high += digit & is_high
        low += digit & ~is_high
    if not sound:
        return False, 0, 0, 0, 0
    return (
        True,
        np.int64(arrangement_key[low & LANE_MASK]) + np.int64(colex[ranks0]),
        np.int64(arrangement_key[low >> 32]) + np.int64(colex[ranks1]),
        np.int64(arrangement_key[high & LANE_MASK]) + np.int64(colex[ranks2]),
        np.int64(arrangement_key[high >> 32]) + np.int64(colex[ranks3]),
    )


@kernel()
def index_hands(
    cards,  # IN   uint8[N, K]
    place,  # IN   uint8[256]
    round_of,  # IN   int64[K]
    first_column,  # IN   int64
    digit_bits,  # IN   int64
    popcount,  # IN   uint8[8192]
    colex,  # IN   int32[8192]
    arrangement_key,  # IN   int32[*]
    configuration_of,  # IN   int32[*]  configuration of the three largest patterns
    configuration,  # IN   int64[C, 8]  offset, strides 1 to 3, -, degrees 1 to 3 of the sorted suits
    places,  # OUT  int64[K]  scratch
    index,  # OUT  int64[N]
):
    """Index deals up to a permutation of the suits; return the first bad row, or -1."""
    for n in range(cards.shape[0]):
        sound, a, b, c, d = _suit_keys(
            cards, n, place, round_of, first_column, digit_bits, popcount, colex, arrangement_key, places
        )
        if not sound:
            return n
        # Sort the four keys without branches; equal patterns then stand together, by their index.
        a, b = min(a, b), max(a, b)
        c, d = min(c, d), max(c, d)
        a, c = min(a, c), max(a, c)
        b, d = min(b, d), max(b, d)
        b, c = min(b, c), max(b, c)

        p1, p2, p3 = b >> KEY_BITS, c >> KEY_BITS, d >> KEY_BITS
        which = configuration_of[p1 + ((p2 * (p2 + 1)) >> 1) + (p3 * (p3 + 1) * (p3 + 2)) // 6]

        # Multisets of equal patterns: the i-th smallest index x of a group adds binomial(x + i - 1, i).
        x1, x2, x3 = b & KEY_MASK, c & KEY_MASK, d & KEY_MASK
        pairs1 = (x1 * (x1 + 1)) >> 1
        pairs2 = (x2 * (x2 + 1)) >> 1
        pairs3 = (x3 * (x3 + 1)) >> 1
        short2 = min(x2, MULTISET_LIMIT)
        short3 = min(x3, MULTISET_LIMIT)
        triples2 = (short2 * (short2 + 1) * (short2 + 2)) // 6
        triples3 = (short3 * (short3 + 1) * (short3 + 2)) // 6
        degree2, degree3 = configuration[which, 6], configuration[which, 7]
        y1 = pairs1 if configuration[which, 5] == 2 else x1
        y2 = pairs2 if degree2 == 2 else x2
        y2 = triples2 if degree2 == 3 else y2
        y3 = pairs3 if degree3 == 2 else x3
        y3 = triples3 if degree3 == 3 else y3
        y3 = (triples3 * (short3 + 3)) >> 2 if degree3 == 4 else y3
        index[n] = (
            configuration[which, 0]
            + (a & KEY_MASK)
            + configuration[which, 1] * y1
            + configuration[which, 2] * y2
            + configuration[which, 3] * y3
        )
    return -1


@kernel()
def sort_suits(
    cards,  # IN   uint8[N, K]
    place,  # IN   uint8[256]
    round_of,  # IN   int64[K]
    first_column,  # IN   int64
    digit_bits,  # IN   int64
    popcount,  # IN   uint8[8192]
    colex,  # IN   int32[8192]
    arrangement_key,  # IN   int32[*]
    places,  # OUT  int64[K]  scratch
    position,  # OUT  uint8[N, 4]  where each suit of the deck stands among the sorted four
):
    """Sort the suits of deals by their keys; two deals of one class differ only by these positions."""
    for n in range(cards.shape[0]):
        sound, a, b, c, d = _suit_keys(
            cards, n, place, round_of, first_column, digit_bits, popcount, colex, arrangement_key, places
        )
        if not sound:
            return n
        position[n, 0] = int(b < a) + int(c < a) + int(d < a)
        position[n, 1] = int(a <= b) + int(c < b) + int(d < b)
        position[n, 2] = int(a <= c) + int(b <= c) + int(d < c)
        position[n, 3] = int(a <= d) + int(b <= d) + int(c <= d)
    return -1


@kernel()
def _multisets(
    x,  # IN   int64
    size,  # IN   int64  1 to 4
):
    """Return the number of multisets of a size over x kinds: binomial(x + size - 1, size)."""
    result = x
    for i in range(1, size):
        result = result * (x + i) // (i + 1)
    return result


@kernel()
def unindex_hands(
    index,  # IN   int64[N]
    size,  # IN   int64  number of classes
    suit_of,  # IN   int64[4]  suit number of each suit of the deck
    rank_of,  # IN   int64[13]  rank number of each rank of the deck
    round_begin,  # IN   int64[R + 1]  columns of the rounds
    digit_bits,  # IN   int64
    configuration,  # IN   int64[C, 8]  only the offsets are read
    patterns,  # IN   int64[C, 4]  the patterns of a configuration, ascending
    pattern_count,  # IN   int64[P]  cards of a pattern
    pattern_size,  # IN   int64[P]  indices of a pattern
    arrangement_begin,  # IN   int64[P]  first arrangement of a pattern
    arrangements,  # IN   int64[*]  arrangements, pattern after pattern
    num_rank_sets,  # IN   int64[8]  rank sets of each size
    rank_sets,  # IN   int64[8, *]  rank sets of each size in colexicographic order
    filled,  # OUT  int64[R]  scratch
    member,  # OUT  int64[4]  scratch
    cards,  # OUT  uint8[N, K]
):
    """Write the canonical deal of each index, rounds sorted; return the first bad row, or -1."""
    one = np.int64(1)
    num_rounds = round_begin.size - 1
    digit_mask = (one << digit_bits) - one
    for n in range(index.size):
        rest = index[n]
        if rest < 0 or rest >= size:
            return n
        low, high = 0, configuration.shape[0]
        while high - low > 1:
            middle = (low + high) // 2
            if configuration[middle, 0] <= rest:
                low = middle
            else:
                high = middle
        rest -= configuration[low, 0]

        j = 0
        while j < 4:
            end = j + 1
            while end < 4 and patterns[low, end] == patterns[low, j]:
                end += 1
            kinds = pattern_size[patterns[low, j]]
            group_size = _multisets(kinds, end - j)
            group = rest % group_size
            rest //= group_size
            for degree in range(end - j, 0, -1):
                x, above = 0, kinds
                while above - x > 1:
                    middle = (x + above) // 2
                    if _multisets(middle, degree) <= group:
                        x = middle
                    else:
                        above = middle
                group -= _multisets(x, degree)
                member[j + degree - 1] = x
            j = end

        for r in range(num_rounds):
            filled[r] = round_begin[r]
        for suit in range(4):
            pattern = patterns[low, 3 - suit]
            count = pattern_count[pattern]
            if count == 0:
                break
            arrangement = member[3 - suit] // num_rank_sets[count]
            ranks = rank_sets[count, member[3 - suit] - arrangement * num_rank_sets[count]]
            digits = arrangements[arrangement_begin[pattern] + arrangement]
            for rank in range(13):
                if (ranks >> rank) & 1:
                    r = digits & digit_mask
                    digits >>= digit_bits
                    card = rank_of[rank] * 4 + suit_of[suit]
                    k = filled[r]
                    while k > round_begin[r] and cards[n, k - 1] > card:
                        cards[n, k] = cards[n, k - 1]
                        k -= 1
                    cards[n, k] = card
                    filled[r] += 1
    return -1


@kernel()
def index_ranks(
    cards,  # IN   uint8[N, K]
    place,  # IN   uint8[256]
    round_weight,  # IN   int64[K]  what a card of each column adds to the pattern of its rank
    full,  # IN   int64  pattern of all cards together
    before,  # IN   int64[R, P, P + 1]  completions that precede a pattern, by rank and what is left to deal
    pattern_of_rank,  # OUT  int64[R]  scratch
    index,  # OUT  int64[N]
):
    """Index deals up to permutations of the suits of each rank; return the first bad row, or -1."""
    num_ranks = before.shape[0]
    num_cards = cards.shape[1]
    one = np.int64(1)
    for n in range(cards.shape[0]):
        for rank in range(num_ranks):
            pattern_of_rank[rank] = 0
        seen = np.int64(0)
        for k in range(num_cards):
            p = np.int64(place[cards[n, k]])
            if p >= NOT_IN_DECK or (seen >> p) & 1:
                return n
            seen |= one << p
            pattern_of_rank[p & 15] += round_weight[k]
        left = full
        total = np.int64(0)
        for rank in range(num_ranks):
            total += before[rank, left, pattern_of_rank[rank]]
            left -= pattern_of_rank[rank]
        index[n] = total
    return -1


@kernel()
def unindex_ranks(
    index,  # IN   int64[N]
    size,  # IN   int64
    suit_of,  # IN   int64[4]
    rank_of,  # IN   int64[13]
    round_begin,  # IN   int64[R + 1]
    weight_of_round,  # IN   int64[R]  what a card of each round adds to the pattern of its rank
    radix,  # IN   int64[R]  cards of each round, and one
    full,  # IN   int64
    before,  # IN   int64[R, P, P + 1]
    filled,  # OUT  int64[R]  scratch
    cards,  # OUT  uint8[N, K]
):
    """Write the canonical deal of each index: each rank's suits in the order of dealing."""
    num_rounds = round_begin.size - 1
    num_patterns = before.shape[1]
    for n in range(index.size):
        rest = index[n]
        if rest < 0 or rest >= size:
            return n
        for r in range(num_rounds):
            filled[r] = round_begin[r]
        left = full
        for rank in range(before.shape[0]):
            low, high = 0, num_patterns
            while high - low > 1:
                middle = (low + high) // 2
                if before[rank, left, middle] <= rest:
                    low = middle
                else:
                    high = middle
            rest -= before[rank, left, low]
            left -= low
            suit = 0
            for r in range(num_rounds):
                for _ in range((low // weight_of_round[r]) % radix[r]):
                    cards[n, filled[r]] = rank_of[rank] * 4 + suit_of[suit]
                    filled[r] += 1
                    suit += 1
    return -1
