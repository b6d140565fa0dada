"""Kernels of one hand against every other, over given run-outs of the board. Arrays in, arrays out."""

import numpy as np

from errai.cards._evaluator import strength_of
from errai.kernels import kernel


@kernel()
def meet_every_hand(
    own_key,  # IN   int64  state of the one hand
    own_mask,  # IN   int64
    board_key,  # IN   int64  state of the cards that lie, EMPTY_KEY included
    board_mask,  # IN   int64
    run_outs,  # IN   uint8[N, M]  cards to come, none of them on the board or in the one hand
    hand_keys,  # IN   int64[H]
    hand_masks,  # IN   int64[H]
    tables,  # IN   EvaluatorTables
    won,  # OUT  float64[H]  showdowns won against each hand, ties counting half
    met,  # OUT  int64[H]  showdowns
):
    """Count the showdowns of a hand against every other one; hands that share a card with it meet none."""
    num_hands = hand_keys.shape[0]
    won[:] = 0.0
    met[:] = 0
    for n in range(run_outs.shape[0]):
        key, mask = board_key, board_mask
        for card in run_outs[n]:
            key += tables.card_key[card]
            mask |= tables.card_mask[card]
        own = strength_of(key + own_key, mask | own_mask, tables)
        for hand in range(num_hands):
            if hand_masks[hand] & (mask | own_mask) == 0:
                other = strength_of(key + hand_keys[hand], mask | hand_masks[hand], tables)
                met[hand] += np.int64(1)
                if own > other:
                    won[hand] += 1.0
                elif own == other:
                    won[hand] += 0.5
