"""What is dealt in each betting round of a game: canonical boards, and canonical hands as table rows.

The board tree is `errai.cards.boards.CanonicalBoards`; here betting rounds, some of which deal no card,
are matched with its public deals, and the game's own symmetry is chosen: renaming of suits, or of the
cards of each rank where no flush can decide. Neither boards nor indices are built before they are used.
"""

from functools import cached_property

from errai.cards.boards import CanonicalBoards
from errai.cards.isomorphism import HandIndexer, RankIndexer
from errai.games.rules import PokerRules


class Deals:
    """The private and public cards of a game, by betting round.

    Attributes:
        rules: the game.
    """

    def __init__(self, rules: PokerRules) -> None:
        self.rules = rules

    @cached_property
    def boards(self) -> CanonicalBoards:
        """The board tree; its rounds count public deals (`board_round`)."""
        dealt = [cards for cards in self.rules.num_board_cards if cards > 0]
        return CanonicalBoards(dealt, self.rules.deck, self.rules.suits_matter)

    @cached_property
    def rows(self) -> HandIndexer | RankIndexer:
        """The index of canonical (hand, board) pairs; its rounds are `row_round`."""
        indexer = HandIndexer if self.rules.suits_matter else RankIndexer
        dealt = [cards for cards in self.rules.num_board_cards if cards > 0]
        return indexer((self.rules.num_hole_cards, *dealt), self.rules.deck)

    def board_round(self, round_index: int) -> int:
        """Return which public deal a betting round follows: -1 before the first."""
        return sum(cards > 0 for cards in self.rules.num_board_cards[: round_index + 1]) - 1

    def row_round(self, round_index: int) -> int:
        """Return the round of `rows` that belongs to a betting round."""
        return self.board_round(round_index) + 1

    def num_boards(self, round_index: int) -> int:
        """Return the number of canonical boards in a betting round; 1 where none is dealt yet."""
        return self.boards.num_boards(self.board_round(round_index))

    def num_rows(self, round_index: int) -> int:
        """Return the number of canonical (hand, board) pairs in a betting round."""
        return self.rows.size(self.row_round(round_index))
