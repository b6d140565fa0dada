"""Kernels of equity: every board that can still come, and on each the showdown of two ranges.

On one board the hands are sorted by strength and swept once from the weakest to the strongest, with the
opponent's weight so far kept in all and for each card. What a hand beats is the weight so far less what
holds one of its two cards; after its group of equals has been added, the same difference plus the weight
of the hand itself (taken off twice) is what it beats or ties. This is the sorted evaluation with
inclusion and exclusion of Johanson, Waugh, Bowling and Zinkevich, "Accelerating Best Response
Calculation in Large Extensive Games" (2011): O(n log n) or, with the radix sort here, O(n) for n hands.
"""

import numpy as np

from errai.cards._evaluator import LANE_BITS, LANE_MASK, strength_of
from errai.kernels import kernel

# Up to this many hands insertion beats two passes over 256 counters.
MAX_HANDS_TO_INSERT = 40


@kernel()
def orbit_size(
    mask,  # IN  int64        a board, one bit a card, 16 bits a suit
    shifts,  # IN  int64[G, 4]  a group of suit permutations: the bit where each suit's lane goes
):
    """Return the number of different images of a board, 0 if one of them is smaller than the board."""
    num_fixed = 0
    for g in range(shifts.shape[0]):
        image = np.int64(0)
        for suit in range(4):
            image |= ((mask >> (LANE_BITS * suit)) & LANE_MASK) << shifts[g, suit]
        if image < mask:
            return 0
        if image == mask:
            num_fixed += 1
    return shifts.shape[0] // num_fixed


@kernel()
def sort_by_strength(
    strengths,  # IN   int32[H]  of 0 to 65,535 where they are looked at
    order,  # IN/OUT  int32[H]  the first num_hands are the hands to sort, then the same, ascending
    num_hands,  # IN   int64
    scratch,  # OUT  int32[H]
    counts,  # OUT  int64[256]
):
    """Sort hands by strength: insertion for a few, two passes of counting for many."""
    if num_hands <= MAX_HANDS_TO_INSERT:
        for i in range(1, num_hands):
            hand = order[i]
            j = i
            while j > 0 and strengths[order[j - 1]] > strengths[hand]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = hand
        return
    for shift in (0, 8):
        counts[:] = 0
        for i in range(num_hands):
            counts[(strengths[order[i]] >> shift) & 255] += 1
        begin = 0
        for digit in range(256):
            count = counts[digit]
            counts[digit] = begin
            begin += count
        for i in range(num_hands):
            digit = (strengths[order[i]] >> shift) & 255
            scratch[counts[digit]] = order[i]
            counts[digit] += 1
        for i in range(num_hands):
            order[i] = scratch[i]


@kernel()
def sweep_showdown(
    strengths,  # IN   int32[H]
    order,  # IN   int32[H]  the first num_hands are hands in ascending strength
    num_hands,  # IN   int64
    hand_cards,  # IN   uint8[H, 2]
    first_weights,  # IN   float64[H]
    second_weights,  # IN   float64[H]
    held,  # OUT  float64[52]  the second side's weight so far that holds a card
):
    """Return the weight of pairs of disjoint hands that the first side wins, and wins or ties."""
    held[:] = 0.0
    total = 0.0
    wins = 0.0
    wins_or_ties = 0.0
    begin = 0
    while begin < num_hands:
        strength = strengths[order[begin]]
        end = begin
        while end < num_hands and strengths[order[end]] == strength:
            hand = order[end]
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            wins += first_weights[hand] * (total - held[a] - held[b])
            end += 1
        for i in range(begin, end):
            hand = order[i]
            weight = second_weights[hand]
            total += weight
            held[hand_cards[hand, 0]] += weight
            held[hand_cards[hand, 1]] += weight
        for i in range(begin, end):
            hand = order[i]
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            wins_or_ties += first_weights[hand] * (total - held[a] - held[b] + second_weights[hand])
        begin = end
    return wins, wins_or_ties


@kernel()
def enumerate_showdowns(
    num_missing,  # IN   int64  cards still to come, 0 to 5
    board_key,  # IN   int64  state of the cards that lie, EMPTY_KEY included
    board_mask,  # IN   int64
    stub,  # IN   uint8[D]  cards that may come
    shifts,  # IN   int64[G, 4]  suit permutations that change neither the board nor the weights
    hand_keys,  # IN   int64[H]
    hand_masks,  # IN   int64[H]
    hand_cards,  # IN   uint8[H, 2]
    first_weights,  # IN   float64[H]
    second_weights,  # IN   float64[H]
    tables,  # IN   EvaluatorTables
    strengths,  # OUT  int32[H]  scratch
    order,  # OUT  int32[H]  scratch
    scratch,  # OUT  int32[H]
    counts,  # OUT  int64[256]  scratch
    held,  # OUT  float64[52]  scratch
    chosen,  # OUT  int64[5]  scratch
    sums,  # OUT  float64[2]  weight of pairs and boards that the first side wins, and wins or ties
):
    """Sum showdowns over all boards, one for each class of boards equal up to suits; return how many."""
    num_stub = stub.shape[0]
    num_boards = 0
    sums[:] = 0.0
    for i in range(num_missing):
        chosen[i] = i
    while True:
        key, mask = board_key, board_mask
        for i in range(num_missing):
            key += tables.card_key[stub[chosen[i]]]
            mask |= tables.card_mask[stub[chosen[i]]]
        weight = orbit_size(mask, shifts)
        if weight > 0:
            num_boards += 1
            num_hands = 0
            for hand in range(hand_keys.shape[0]):
                if hand_masks[hand] & mask == 0:
                    strengths[hand] = strength_of(key + hand_keys[hand], mask | hand_masks[hand], tables)
                    order[num_hands] = hand
                    num_hands += 1
            sort_by_strength(strengths, order, num_hands, scratch, counts)
            wins, wins_or_ties = sweep_showdown(
                strengths, order, num_hands, hand_cards, first_weights, second_weights, held
            )
            sums[0] += weight * wins
            sums[1] += weight * wins_or_ties
        # The next combination of the stub: the last place that can still move, those after it in a row.
        place = num_missing - 1
        while place >= 0 and chosen[place] == num_stub - num_missing + place:
            place -= 1
        if place < 0:
            return num_boards
        chosen[place] += 1
        for i in range(place + 1, num_missing):
            chosen[i] = chosen[i - 1] + 1
