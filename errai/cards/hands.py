"""All hands on boards at once, in the one hand order of `Deck.hands`."""

from math import comb

import numpy as np
import numpy.typing as npt

from errai.cards import _hands as kernels
from errai.cards.deck import Deck


def open_deals(
    deck: Deck, num_hole_cards: int, boards: npt.ArrayLike
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return every hand that shares no card with a board, together with that board.

    Args:
        deck: the cards in play.
        num_hole_cards: cards of a hand.
        boards: uint8[J, K], or one board uint8[K], of different cards of the deck.

    Returns:
        cards: uint8[*, num_hole_cards + K], the hand first, board by board and in the order of hands.
        place: int64[*], board * H + hand of each; for one board, the number of the hand.

    >>> deck = Deck("QK", "hs")
    >>> open_deals(deck, 1, deck.parse("Qs"))[1].tolist()
    [0, 2, 3]
    """
    hands = deck.hands(num_hole_cards)
    on_table = np.ascontiguousarray(np.atleast_2d(np.asarray(boards, dtype=np.uint8)))
    room = len(on_table) * comb(deck.size - on_table.shape[1], num_hole_cards)
    cards = np.empty((room, num_hole_cards + on_table.shape[1]), dtype=np.uint8)
    place = np.empty(room, dtype=np.int64)
    written = kernels.open_deals(on_table, hands, cards, place)
    assert written == room, "every board leaves equally many hands open"
    return cards, place
