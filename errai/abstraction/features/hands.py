"""The hands that an abstraction tells apart at most: classes of (hole cards, unordered board) in each round.

What a hand is worth depends on which cards lie on the board and not on the order in which they came, so
features are kept for classes of hole cards and an *unordered* board: 169, 1,286,792, 13,960,050 and
123,156,254 in hold'em, where the dealt order alone would make the last two 55,190,538 and 2,428,287,420.
Two deals are of one class when the game's symmetry (renaming of suits, or of the cards of each rank where
no flush can decide) turns one into the other.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from errai.cards.boards import CanonicalBoards
from errai.cards.isomorphism import HandIndexer, RankIndexer
from errai.errors import UsageError
from errai.games.rules import PokerRules, Showdown


class HandClasses:
    """The classes of a game's hands, by betting round.

    >>> from errai.games.catalogue import load_game
    >>> [HandClasses(load_game("limit-holdem")).size(round) for round in range(4)]
    [169, 1286792, 13960050, 123156254]

    Attributes:
        rules: the game; only its cards matter.
    """

    def __init__(self, rules: PokerRules) -> None:
        if rules.num_hole_cards not in (1, 2):
            raise UsageError(
                f"'{rules.name}' deals {rules.num_hole_cards} hole cards: expected 1 or 2 to be abstracted"
            )
        self.rules = rules

    @property
    def num_rounds(self) -> int:
        """Number of betting rounds."""
        return self.rules.num_rounds

    def num_board_cards(self, round_index: int) -> int:
        """Return the number of public cards in a round."""
        if not 0 <= round_index < self.num_rounds:
            raise UsageError(
                f"round {round_index} not found: '{self.rules.name}' has rounds 0 to {self.num_rounds - 1}"
            )
        return self.rules.num_board_cards_by(round_index)

    @cached_property
    def hands(self) -> npt.NDArray[np.uint8]:
        """All hole cards in the one order of hands: uint8[H, hole cards]."""
        return self.rules.deck.hands(self.rules.num_hole_cards)

    def size(self, round_index: int) -> int:
        """Return the number of classes of a round."""
        indexer, last = self._indexer(round_index)
        return indexer.size(last)

    def index(self, cards: npt.NDArray[np.uint8], round_index: int) -> npt.NDArray[np.int64]:
        """Return the class of each deal, int64[N].

        Args:
            cards: uint8[N, hole + board], hole cards first, the board in any order.
            round_index: the round.
        """
        indexer, last = self._indexer(round_index)
        return indexer.index(cards, last)

    def unindex(self, classes: npt.ArrayLike, round_index: int) -> npt.NDArray[np.uint8]:
        """Return a deal of each class: uint8[N, hole + board]."""
        indexer, last = self._indexer(round_index)
        return indexer.unindex(classes, last)

    def boards(self, round_index: int) -> CanonicalBoards:
        """Return the canonical unordered boards of a round, all of them dealt at once."""
        num_cards = self.num_board_cards(round_index)
        return CanonicalBoards((num_cards,) if num_cards else (), self.rules.deck, self.rules.suits_matter)

    def card_signature(self) -> dict[str, object]:
        """Say what of the rules decides features: two games with one signature share them."""
        rules = self.rules
        return {
            "ranks": rules.deck.ranks,
            "suits": rules.deck.suits,
            "hole": rules.num_hole_cards,
            "board": list(rules.num_board_cards),
            "showdown": rules.showdown.value,
        }

    @property
    def is_three_card(self) -> bool:
        """Whether showdowns are those of Rhode Island hold'em."""
        return self.rules.showdown is Showdown.THREE_CARD

    def _indexer(self, round_index: int) -> tuple[HandIndexer | RankIndexer, int]:
        num_board = self.num_board_cards(round_index)
        rounds = (self.rules.num_hole_cards, num_board) if num_board else (self.rules.num_hole_cards,)
        kind = HandIndexer if self.rules.suits_matter else RankIndexer
        return kind(rounds, self.rules.deck), len(rounds) - 1
