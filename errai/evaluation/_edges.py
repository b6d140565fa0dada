"""Kernels of edges: how often each hand wins against one known hand, less how often it loses."""

import numpy as np

from errai.cards._equity import HAND_BITS, HAND_MASK
from errai.cards._evaluator import EMPTY_KEY, strength_of
from errai.kernels import kernel


@kernel()
def sum_edges(
    board_key,  # IN   int64        keys of the board's cards, without EMPTY_KEY
    board_mask,  # IN   int64
    runout_keys,  # IN   int64[R]     of every set of cards that the board may still get
    runout_masks,  # IN   int64[R]
    opponent_key,  # IN   int64        of the known hand
    opponent_mask,  # IN   int64
    hand_keys,  # IN   int64[H]     of all hands
    hand_masks,  # IN   int64[H]
    tables,  # IN   EvaluatorTables
    open_hands,  # OUT  int64[H]     scratch
    sums,  # OUT  int64[H]     run-outs won less run-outs lost; 0 for hands that share a card
):
    """Run out the board in every way; return the hands that share no card with board and opponent."""
    num_open = 0
    for h in range(hand_keys.shape[0]):
        sums[h] = 0
        if hand_masks[h] & (board_mask | opponent_mask) == 0:
            open_hands[num_open] = h
            num_open += 1
    for r in range(runout_keys.shape[0]):
        if runout_masks[r] & (board_mask | opponent_mask) != 0:
            continue
        key = np.int64(EMPTY_KEY) + board_key + runout_keys[r]
        mask = board_mask | runout_masks[r]
        to_beat = strength_of(key + opponent_key, mask | opponent_mask, tables)
        for i in range(num_open):
            h = open_hands[i]
            if hand_masks[h] & runout_masks[r] == 0:
                strength = strength_of(key + hand_keys[h], mask | hand_masks[h], tables)
                sums[h] += np.int64(strength > to_beat) - np.int64(strength < to_beat)
    return num_open


@kernel()
def sum_pair_edges(
    strengths,  # IN   float32[B, H]  of every hand on some boards; any number where blocked
    weights,  # IN   float32[B, H]  of the board, 0 where it blocks the hand
    row,  # OUT  float32[H]     scratch
    sums,  # IN/OUT  float32[H, H]  [a, b] for b > a: boards that a wins less those that b wins
):
    """Compare all pairs of hands on some boards, row by row, so that a row stays near.

    All are whole numbers below 2^24. As float32 they are as exact as integers, and Numba does not widen them,
    so that eight are compared at a time.
    """
    num_boards, num_hands = strengths.shape
    for a in range(num_hands):
        row[:] = np.float32(0.0)
        for n in range(num_boards):
            if weights[n, a] == 0:
                continue
            own = strengths[n, a]
            for b in range(a + 1, num_hands):
                other, weight = strengths[n, b], weights[n, b]
                won = weight if own > other else np.float32(0.0)
                lost = weight if own < other else np.float32(0.0)
                row[b] += won - lost
        for b in range(a + 1, num_hands):
            sums[a, b] += row[b]


@kernel()
def count_beaten(
    ranked,  # IN   int64[N]     strength << 16 | hand, ascending, of the hands that a board leaves open
    hand_cards,  # IN   uint8[H, K]  K of 1 or 2
    holders,  # OUT  int64[52]    scratch: open hands that hold a card
    held,  # OUT  int64[52]    scratch: those of them that are weaker
    shares,  # OUT  float64[H]   of the open hands that share no card: those beaten and half of those tied
):
    """Find how strong each hand is against a hand of which nothing is known."""
    num_ranked, num_cards = ranked.shape[0], hand_cards.shape[1]
    holders[:] = 0
    held[:] = 0
    for i in range(num_ranked):
        for k in range(num_cards):
            holders[hand_cards[ranked[i] & HAND_MASK, k]] += 1
    begin = 0
    while begin < num_ranked:
        end = begin
        while end < num_ranked and ranked[end] >> HAND_BITS == ranked[begin] >> HAND_BITS:
            hand = ranked[end] & HAND_MASK
            shares[hand] = begin
            for k in range(num_cards):
                shares[hand] -= held[hand_cards[hand, k]]
            end += 1
        for i in range(begin, end):
            for k in range(num_cards):
                held[hand_cards[ranked[i] & HAND_MASK, k]] += 1
        for i in range(begin, end):
            hand = ranked[i] & HAND_MASK
            # The hand itself is taken off once for each of its cards, and is no rival of its own.
            up_to = end + num_cards - 1
            rivals = num_ranked + num_cards - 1
            for k in range(num_cards):
                up_to -= held[hand_cards[hand, k]]
                rivals -= holders[hand_cards[hand, k]]
            shares[hand] = (shares[hand] + up_to) / (2 * max(rivals, 1))
        begin = end


@kernel()
def compare_pair(
    board_key,  # IN   int64      keys of the board's cards, without EMPTY_KEY
    board_mask,  # IN   int64
    deal_keys,  # IN   int64[D]   of the cards that may be dealt next
    deal_masks,  # IN   int64[D]   none of them on the board or in either hand
    runout_keys,  # IN   int64[R]   of every set of cards that may follow them
    runout_masks,  # IN   int64[R]
    pair_keys,  # IN   int64[2]   of the two hands
    pair_masks,  # IN   int64[2]
    hand_keys,  # IN   int64[H]   of all hands
    hand_masks,  # IN   int64[H]
    tables,  # IN   EvaluatorTables
    strengths,  # OUT  float64[D, 2]  of each hand on the board as it then lies: as in `count_beaten`
    edges,  # OUT  float64[D]     of the first hand over the second
):
    """Look at two hands after every deal of some."""
    for d in range(deal_keys.shape[0]):
        key = np.int64(EMPTY_KEY) + board_key + deal_keys[d]
        mask = board_mask | deal_masks[d]
        for p in range(2):
            own = strength_of(key + pair_keys[p], mask | pair_masks[p], tables)
            beaten, rivals = 0, 0
            for h in range(hand_keys.shape[0]):
                if hand_masks[h] & (mask | pair_masks[p]) == 0:
                    other = strength_of(key + hand_keys[h], mask | hand_masks[h], tables)
                    beaten += 2 * np.int64(own > other) + np.int64(own == other)
                    rivals += 1
            strengths[d, p] = beaten / (2.0 * max(rivals, 1))
        seen = mask | pair_masks[0] | pair_masks[1]
        won, count = 0, 0
        for r in range(runout_keys.shape[0]):
            if runout_masks[r] & seen == 0:
                full, cards = key + runout_keys[r], mask | runout_masks[r]
                first = strength_of(full + pair_keys[0], cards | pair_masks[0], tables)
                second = strength_of(full + pair_keys[1], cards | pair_masks[1], tables)
                won += np.int64(first > second) - np.int64(first < second)
                count += 1
        edges[d] = won / count
