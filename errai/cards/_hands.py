"""Kernels of hands in the one hand order: the number of a pair, and the hands that boards leave open."""

import numpy as np

from errai.kernels import kernel


@kernel(fastmath=False, inline=True)
def pair_index(
    a,  # IN   int64  position of a card in the deck
    b,  # IN   int64  of another one
):
    """Return the number of a hand of two cards: `Deck.hand_indices` inside kernels."""
    high, low = max(a, b), min(a, b)
    return high * (high - 1) // 2 + low


@kernel(fastmath=False)
def open_deals(
    boards,  # IN   uint8[J, K]
    hands,  # IN   uint8[H, N]
    cards,  # OUT  uint8[*, N + K]  hand and board of each open hand, board by board
    place,  # OUT  int64[*]  board * H + hand of each
):
    """List the hands that each board leaves open; return how many they are."""
    num_hands, num_hole = hands.shape
    one = np.int64(1)
    n = 0
    for j in range(boards.shape[0]):
        seen = np.int64(0)
        for k in range(boards.shape[1]):
            seen |= one << np.int64(boards[j, k])
        for hand in range(num_hands):
            shared = np.int64(0)
            for k in range(num_hole):
                shared |= seen >> np.int64(hands[hand, k])
            if shared & 1:
                continue
            for k in range(num_hole):
                cards[n, k] = hands[hand, k]
            for k in range(boards.shape[1]):
                cards[n, num_hole + k] = boards[j, k]
            place[n] = j * num_hands + hand
            n += 1
    return n
