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
# A sorted entry is a strength above the number of its hand.
HAND_BITS = 16
HAND_MASK = 0xFFFF


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
def evaluate_open_hands(
    board_key,  # IN   int64  EMPTY_KEY included
    board_mask,  # IN   int64
    hand_keys,  # IN   int64[H]
    hand_masks,  # IN   int64[H]
    tables,  # IN   EvaluatorTables
    ranked,  # OUT  int64[H]  strength << HAND_BITS | hand, for the hands that the board leaves open
    counts,  # OUT  int64[2, 256]  how often each low and each high byte of a strength occurs
):
    """Evaluate the hands that share no card with the board; return how many they are."""
    counts[:] = 0
    num_open = 0
    for hand in range(hand_keys.shape[0]):
        if hand_masks[hand] & board_mask == 0:
            strength = strength_of(board_key + hand_keys[hand], board_mask | hand_masks[hand], tables)
            ranked[num_open] = np.int64(strength) << HAND_BITS | hand
            counts[0, strength & 255] += 1
            counts[1, strength >> 8] += 1
            num_open += 1
    return num_open


@kernel()
def sort_ranked(
    ranked,  # IN/OUT  int64[H]  the first num_open are sorted by strength, ascending
    num_open,  # IN   int64
    counts,  # IN   int64[2, 256]  from `evaluate_open_hands`; used up
    scratch,  # OUT  int64[H]
):
    """Sort evaluated hands: insertion for a few, a radix sort by the strength's two bytes for many."""
    if num_open <= MAX_HANDS_TO_INSERT:
        for i in range(1, num_open):
            entry = ranked[i]
            j = i
            while j > 0 and ranked[j - 1] > entry:
                ranked[j] = ranked[j - 1]
                j -= 1
            ranked[j] = entry
        return
    for byte in range(2):
        begin = 0
        for digit in range(256):
            count = counts[byte, digit]
            counts[byte, digit] = begin
            begin += count
    for i in range(num_open):
        digit = (ranked[i] >> HAND_BITS) & 255
        scratch[counts[0, digit]] = ranked[i]
        counts[0, digit] += 1
    for i in range(num_open):
        digit = (scratch[i] >> (HAND_BITS + 8)) & 255
        ranked[counts[1, digit]] = scratch[i]
        counts[1, digit] += 1


@kernel()
def sweep_showdown(
    ranked,  # IN   int64[H]  strength << HAND_BITS | hand; the first num_open, by ascending strength
    num_open,  # IN   int64
    hand_cards,  # IN   uint8[H, 2]
    first_weights,  # IN   float64[H]
    second_weights,  # IN   float64[H]
    held,  # OUT  float64[52]  scratch: the second side's weight so far that holds a card
):
    """Return the weight of pairs of disjoint hands that the first side wins, and wins or ties."""
    held[:] = 0.0
    total = 0.0
    wins = 0.0
    wins_or_ties = 0.0
    begin = 0
    while begin < num_open:
        strength = ranked[begin] >> HAND_BITS
        end = begin
        while end < num_open and ranked[end] >> HAND_BITS == strength:
            hand = ranked[end] & HAND_MASK
            wins += first_weights[hand] * (total - held[hand_cards[hand, 0]] - held[hand_cards[hand, 1]])
            end += 1
        for i in range(begin, end):
            hand = ranked[i] & HAND_MASK
            weight = second_weights[hand]
            total += weight
            held[hand_cards[hand, 0]] += weight
            held[hand_cards[hand, 1]] += weight
        for i in range(begin, end):
            hand = ranked[i] & HAND_MASK
            beaten = total - held[hand_cards[hand, 0]] - held[hand_cards[hand, 1]] + second_weights[hand]
            wins_or_ties += first_weights[hand] * beaten
        begin = end
    return wins, wins_or_ties


@kernel()
def sweep_showdowns(
    ranked,  # IN   int64[H]  as in `sweep_showdown`
    num_open,  # IN   int64
    hand_cards,  # IN   uint8[H, 2]
    first_weights,  # IN   float64[H, C]
    second_weights,  # IN   float64[H, C]
    held,  # OUT  float64[52, C]  scratch
    totals,  # OUT  float64[C]  scratch
    wins,  # OUT  float64[C]
    wins_or_ties,  # OUT  float64[C]
):
    """Do `sweep_showdown` for C pairs of ranges side by side, a fraction of the time for each."""
    num_pairs = totals.shape[0]
    held[:] = 0.0
    totals[:] = 0.0
    wins[:] = 0.0
    wins_or_ties[:] = 0.0
    begin = 0
    while begin < num_open:
        strength = ranked[begin] >> HAND_BITS
        end = begin
        while end < num_open and ranked[end] >> HAND_BITS == strength:
            hand = ranked[end] & HAND_MASK
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            for c in range(num_pairs):
                wins[c] += first_weights[hand, c] * (totals[c] - held[a, c] - held[b, c])
            end += 1
        for i in range(begin, end):
            hand = ranked[i] & HAND_MASK
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            for c in range(num_pairs):
                weight = second_weights[hand, c]
                totals[c] += weight
                held[a, c] += weight
                held[b, c] += weight
        for i in range(begin, end):
            hand = ranked[i] & HAND_MASK
            a, b = hand_cards[hand, 0], hand_cards[hand, 1]
            for c in range(num_pairs):
                beaten = totals[c] - held[a, c] - held[b, c] + second_weights[hand, c]
                wins_or_ties[c] += first_weights[hand, c] * beaten
        begin = end


@kernel()
def enumerate_showdowns(
    num_missing,  # IN   int64  cards still to come, 0 to 5
    board_key,  # IN   int64  state of the cards that lie, EMPTY_KEY included
    board_mask,  # IN   int64
    stub,  # IN   uint8[D]  cards that may come
    shifts,  # IN   int64[G, 4]  suit permutations that only shuffle the C pairs of ranges, and keep the board
    hand_keys,  # IN   int64[H]
    hand_masks,  # IN   int64[H]
    hand_cards,  # IN   uint8[H, 2]
    first_weights,  # IN   float64[H, C]
    second_weights,  # IN   float64[H, C]
    tables,  # IN   EvaluatorTables
    ranked,  # OUT  int64[H]  scratch
    scratch,  # OUT  int64[H]
    counts,  # OUT  int64[2, 256]  scratch
    held,  # OUT  float64[52, C]  scratch
    totals,  # OUT  float64[C]  scratch
    wins,  # OUT  float64[C]  scratch
    wins_or_ties,  # OUT  float64[C]  scratch
    chosen,  # OUT  int64[5]  scratch
    sums,  # OUT  float64[2]  all C pairs: weight that the first side wins, and wins or ties
):
    """Sum showdowns over all boards, one for each class of boards equal up to suits; return how many."""
    num_stub = stub.shape[0]
    num_boards = 0
    sums[:] = 0.0
    # The same memory without the last dimension, for the sweep of a single pair.
    first, second, held_by_one = first_weights.reshape(-1), second_weights.reshape(-1), held.reshape(-1)
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
            num_open = evaluate_open_hands(key, mask, hand_keys, hand_masks, tables, ranked, counts)
            sort_ranked(ranked, num_open, counts, scratch)
            if totals.shape[0] == 1:
                wins[0], wins_or_ties[0] = sweep_showdown(
                    ranked, num_open, hand_cards, first, second, held_by_one
                )
            else:
                sweep_showdowns(
                    ranked,
                    num_open,
                    hand_cards,
                    first_weights,
                    second_weights,
                    held,
                    totals,
                    wins,
                    wins_or_ties,
                )
            for c in range(totals.shape[0]):
                sums[0] += weight * wins[c]
                sums[1] += weight * wins_or_ties[c]
        # The next combination of the stub: the last place that can still move, those after it in a row.
        place = num_missing - 1
        while place >= 0 and chosen[place] == num_stub - num_missing + place:
            place -= 1
        if place < 0:
            return num_boards
        chosen[place] += 1
        for i in range(place + 1, num_missing):
            chosen[i] = chosen[i - 1] + 1
