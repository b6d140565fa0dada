"""The cards that the competition's dealer deals for a seed.

One stream of the Mersenne Twister serves a match. Each hand starts from the full deck, suit by suit and
ranks ascending inside a suit; the next card is the one at place `x % n` of the n that are left, and the last
of them takes its place. Hole cards come by position, then all board cards, whether they will be shown or not:
so a hand takes a fixed number of draws, and a duplicate match is the same seed with the seats swapped.
"""

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError, verify_whole
from errai.games.rules import PokerRules

MAX_SEED = 2**32 - 1


class DealerCards:
    """The deals of one match, in order.

    Attributes:
        rules: the game.
        num_cards: cards of one deal, hole cards of all positions and the whole board.
    """

    def __init__(self, rules: PokerRules, seed: int) -> None:
        """Begin a match.

        Args:
            rules: the game.
            seed: 0 to 2^32 - 1, as the dealer takes it.
        """
        verify_whole("seed", seed, 0)
        if seed > MAX_SEED:
            raise UsageError(f"seed must be {MAX_SEED} or less for a dealer's cards, not {seed}")
        self.rules = rules
        self.num_cards = rules.num_players * rules.num_hole_cards + sum(rules.num_board_cards)
        self._deck = np.array(
            sorted(rules.deck.cards, key=lambda card: (card % 4, card // 4)), dtype=np.uint8
        )
        self._stream = np.random.MT19937()
        self._stream._legacy_seeding(seed)

    def deal(self, num_hands: int) -> npt.NDArray[np.uint8]:
        """Return the next hands: uint8[hands, cards], hole cards by position, then the board."""
        drawn = self._stream.random_raw(num_hands * self.num_cards).reshape(num_hands, self.num_cards)
        deck = np.tile(self._deck, (num_hands, 1))
        every = np.arange(num_hands)
        cards = np.empty((num_hands, self.num_cards), dtype=np.uint8)
        for place in range(self.num_cards):
            left = len(self._deck) - place
            at = (drawn[:, place] % np.uint64(left)).astype(np.int64)
            cards[:, place] = deck[every, at]
            deck[every, at] = deck[:, left - 1]
        return cards

    def skip(self, num_hands: int) -> None:
        """Pass over hands, as when a match goes on."""
        self._stream.random_raw(num_hands * self.num_cards, output=False)
