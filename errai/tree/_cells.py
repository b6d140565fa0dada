"""Kernels of `cells.py`: one pass over the cells of each board."""

from errai.kernels import kernel

NO_CARD = 52


@kernel()
def count_beaten(
    own_begin,  # IN   int64[B + 1]
    own_strength,  # IN   int64[C]  ascending at each board
    other_begin,  # IN   int64[B + 1]
    other_strength,  # IN   int64[D]  ascending at each board
    below,  # OUT  int32[C]  opponent cells of the board that are weaker
    up_to,  # OUT  int32[C]  opponent cells that are not stronger
    tied_up_to,  # OUT  int32[C]  own cells that are not stronger
):
    """Count for each cell how many cells of its board it beats or ties with."""
    for board in range(len(own_begin) - 1):
        first, last = own_begin[board], own_begin[board + 1]
        other_first, other_last = other_begin[board], other_begin[board + 1]
        weaker, not_stronger, tied = other_first, other_first, first
        for i in range(first, last):
            strength = own_strength[i]
            while weaker < other_last and other_strength[weaker] < strength:
                weaker += 1
            while not_stronger < other_last and other_strength[not_stronger] <= strength:
                not_stronger += 1
            while tied < last and own_strength[tied] <= strength:
                tied += 1
            below[i] = weaker - other_first
            up_to[i] = not_stronger - other_first
            tied_up_to[i] = tied - first


@kernel()
def class_cards(
    cell_begin,  # IN   int64[B + 1]
    hand_begin,  # IN   int32[C + 1]
    hand_card,  # IN   uint8[H, 2]  ascending in a hand
    least,  # TMP  uint8[NO_CARD + 1]
    card,  # OUT  uint8[C, 2]
    card_count,  # OUT  uint8[C, 2]
):
    """Find for each card of a cell's first hand the least of its images, and how many hands hold that.

    A cell holds all images of its first hand, so where the two cards have different ranks all images of
    each are the cell's cards of that rank. (Of a pair alone one could not tell which is whose image.)
    """
    for board in range(len(cell_begin) - 1):
        for c in range(NO_CARD + 1):
            least[c] = c
        for cell in range(cell_begin[board], cell_begin[board + 1]):
            first, last = hand_begin[cell], hand_begin[cell + 1]
            if hand_card[first, 0] // 4 == hand_card[first, 1] // 4:
                continue
            for column in range(2):
                # Hands have ascending cards, so a rank stays in its column throughout a cell.
                lowest = hand_card[first, column]
                for hand in range(first + 1, last):
                    lowest = min(lowest, hand_card[hand, column])
                for hand in range(first, last):
                    held = hand_card[hand, column]
                    least[held] = min(least[held], lowest)
        for cell in range(cell_begin[board], cell_begin[board + 1]):
            first, last = hand_begin[cell], hand_begin[cell + 1]
            for column in range(2):
                image = least[hand_card[first, column]]
                card[cell, column] = image
                number = 0
                for hand in range(first, last):
                    if hand_card[hand, 0] == image or hand_card[hand, 1] == image:
                        number += 1
                card_count[cell, column] = number
            if card[cell, 1] == NO_CARD or card[cell, 0] == card[cell, 1]:
                card_count[cell, 1] = 0
