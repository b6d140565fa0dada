"""Kernels of canonical boards. Arrays in, arrays out; `boards.py` validates and explains."""

import numpy as np

from errai.kernels import kernel


@kernel()
def minimise_last_round(
    round_of,  # IN   int64[K]  round of each column
    num_before,  # IN   int64  columns before the last round
    permutations,  # IN   uint8[G, 4]  all permutations of the deck's suits
    set_of_round,  # OUT  int64[R]  scratch, cards of each round as bits
    boards,  # IN and OUT  uint8[B, K]  earlier rounds are canonical; the last round becomes so
    orbit_size,  # OUT  int64[B]  dealt boards in the class of a board
):
    """Replace the last round by its smallest image under the suit permutations that fix the rounds before."""
    one = np.int64(1)
    num_cards = boards.shape[1]
    for n in range(boards.shape[0]):
        for r in range(set_of_round.size):
            set_of_round[r] = 0
        for k in range(num_cards):
            set_of_round[round_of[k]] |= one << np.int64(boards[n, k])
        last = set_of_round[set_of_round.size - 1]
        smallest = last
        num_fixing_all = 0
        for g in range(permutations.shape[0]):
            k = 0
            while k < num_before:
                image = np.int64(boards[n, k] & 60) + np.int64(permutations[g, boards[n, k] & 3])
                if not (set_of_round[round_of[k]] >> image) & 1:
                    break
                k += 1
            if k < num_before:
                continue
            mapped = np.int64(0)
            for k in range(num_before, num_cards):
                mapped |= one << (np.int64(boards[n, k] & 60) + np.int64(permutations[g, boards[n, k] & 3]))
            num_fixing_all += int(mapped == last)
            # Of two sets of one size, the one with the lowest card that is not in both comes first.
            difference = mapped ^ smallest
            if (difference & -difference) & mapped:
                smallest = mapped
        k = num_before
        for card in range(52):
            if (smallest >> card) & 1:
                boards[n, k] = card
                k += 1
        orbit_size[n] = permutations.shape[0] // num_fixing_all


@kernel()
def rename_suits(
    dealt_position,  # IN   uint8[N, 4]  where each suit of the deck stands when a dealt board's are sorted
    position,  # IN   uint8[N, 4]  the same for its canonical board
    suit_of,  # IN   uint8[S]  suit number of each suit of the deck
    suits,  # OUT  uint8[N, 4]  what each suit becomes
):
    """Rename each suit to the one with its position; suits outside the deck stay."""
    num_suits = suit_of.size
    for n in range(position.shape[0]):
        for suit in range(4):
            suits[n, suit] = suit
        for suit in range(num_suits):
            for target in range(num_suits):
                if position[n, target] == dealt_position[n, suit]:
                    suits[n, suit_of[suit]] = suit_of[target]


@kernel()
def rename_cards(
    suits,  # IN   uint8[N, 4]  what each suit becomes
    cards,  # IN and OUT  uint8[N, K]
):
    """Rename the suits of cards, row by row."""
    for n in range(cards.shape[0]):
        for k in range(cards.shape[1]):
            cards[n, k] = (cards[n, k] & 60) + suits[n, cards[n, k] & 3]


@kernel()
def match_cards(
    boards,  # IN   uint8[N, K]  dealt boards
    canonical,  # IN   uint8[N, K]  boards with the same ranks in each round
    round_begin,  # IN   int64[R + 1]
    in_deck,  # IN   bool[52]
    permutation,  # OUT  uint8[N, 52]  a card of the same rank for each card
):
    """Map each board to its canonical one within ranks; cards that were not dealt keep their order."""
    one = np.int64(1)
    for n in range(boards.shape[0]):
        mapped, taken = np.int64(0), np.int64(0)
        for r in range(round_begin.size - 1):
            for k in range(round_begin[r], round_begin[r + 1]):
                card = np.int64(boards[n, k])
                for j in range(round_begin[r], round_begin[r + 1]):
                    target = np.int64(canonical[n, j])
                    if target >> 2 == card >> 2 and not (taken >> target) & 1:
                        permutation[n, card] = target
                        mapped |= one << card
                        taken |= one << target
                        break
        for card in range(52):
            if not in_deck[card]:
                permutation[n, card] = card
            elif not (mapped >> card) & 1:
                target = card & 60
                while not in_deck[target] or (taken >> target) & 1:
                    target += 1
                permutation[n, card] = target
                taken |= one << target
