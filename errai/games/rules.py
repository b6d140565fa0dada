"""The rules of a poker game as data.

One frozen record says everything that distinguishes Kuhn from no-limit hold'em: deck, hole and board
cards, blinds or antes, limits or stacks, raises a round, who acts first, how a showdown is decided.
`betting.py` interprets the betting part, `hand.py` adds cards, `acpc_files.py` reads and writes the
record in the competition's format.

Chips are integers and count over the whole hand, blinds included. Positions are the ACPC's: heads-up
with blinds, position 0 posts the big blind and acts second before the flop, first after it.
"""

from dataclasses import dataclass
from enum import Enum
from math import comb
from typing import NoReturn

from errai.cards.deck import Deck
from errai.errors import UsageError

UNLIMITED_RAISES = 255
"""As in the ACPC's game files: no bound of the rules' own on the raises of a round."""

MAX_ACTIONS_A_ROUND = 64
"""The competition's dealer takes no raise that could not be called within this many actions."""

MAX_CHIPS = 2**31 - 1
"""As in the competition's dealer: totals are signed numbers of 32 bits."""

MAX_ROUNDS = 4
MAX_PLAYERS = 10
MAX_EVALUATED_CARDS = 7


class Showdown(Enum):
    """How hands are compared at the end."""

    POKER = "poker"
    """Best five cards; with fewer than five cards in all, only ranks and multiples count."""

    THREE_CARD = "three-card"
    """Rhode Island hold'em: three cards, where a straight beats a flush and three of a kind beats both."""


@dataclass(frozen=True)
class PokerRules:
    """Everything that a poker game's rules say. Tuples over rounds or positions, as named.

    Attributes:
        name: as given to `load_game`.
        deck: the cards in play.
        num_hole_cards: private cards of each player, dealt before the first round.
        num_board_cards: [round] public cards dealt at the start of each round.
        blinds: [position] forced bets; equal ones are antes.
        raise_sizes: [round] size of a bet or raise in a limit game; None in a no-limit game.
        max_raises: [round] most bets and raises; `UNLIMITED_RAISES` for no bound.
        first_player: [round] position that acts first.
        stacks: [position] chips at the start of a hand; None where chips cannot run out.
        showdown: how hands are compared.
    """

    name: str
    deck: Deck
    num_hole_cards: int
    num_board_cards: tuple[int, ...]
    blinds: tuple[int, ...]
    raise_sizes: tuple[int, ...] | None
    max_raises: tuple[int, ...]
    first_player: tuple[int, ...]
    stacks: tuple[int, ...] | None = None
    showdown: Showdown = Showdown.POKER

    def __post_init__(self) -> None:
        self._verify_shape()
        self._verify_chips()
        self._verify_cards()

    def _refuse(self, what: str) -> NoReturn:
        raise UsageError(f"invalid rules of '{self.name}': {what}")

    def _verify_shape(self) -> None:
        if not 1 <= self.num_rounds <= MAX_ROUNDS:
            self._refuse(f"expected 1 to {MAX_ROUNDS} rounds, not {self.num_rounds}")
        if not 2 <= self.num_players <= MAX_PLAYERS:
            self._refuse(f"expected 2 to {MAX_PLAYERS} players, not {self.num_players}")
        for what, values, length in (
            ("maxRaises", self.max_raises, self.num_rounds),
            ("firstPlayer", self.first_player, self.num_rounds),
            ("raiseSize", self.raise_sizes, self.num_rounds),
            ("stack", self.stacks, self.num_players),
        ):
            if values is not None and len(values) != length:
                self._refuse(f"{what} must have {length} values, not {len(values)}")

    def _verify_chips(self) -> None:
        for chips in (*self.blinds, *(self.raise_sizes or ()), *(self.stacks or ())):
            if chips > MAX_CHIPS:
                self._refuse(f"expected at most {MAX_CHIPS} chips, not {chips}")
        if min(self.blinds) < 0 or max(self.blinds) == 0:
            self._refuse(f"the blinds must be 0 or more and one of them positive, not {self.blinds}")
        if self.raise_sizes is not None and min(self.raise_sizes) <= 0:
            self._refuse(f"the raise sizes must be positive, not {self.raise_sizes}")
        if self.raise_sizes is None and self.stacks is None:
            self._refuse("a no-limit game needs stacks")
        if self.stacks is not None and min(self.stacks) <= max(self.blinds):
            self._refuse(f"each stack must exceed the largest blind {max(self.blinds)}, not {self.stacks}")
        if min(self.max_raises) < 0 or max(self.max_raises) > UNLIMITED_RAISES:
            self._refuse(f"the raises of a round must be 0 to {UNLIMITED_RAISES}, not {self.max_raises}")
        if min(self.first_player) < 0 or max(self.first_player) >= self.num_players:
            self._refuse(
                f"the first players must be positions 0 to {self.num_players - 1}, not {self.first_player}"
            )

    def _verify_cards(self) -> None:
        if self.num_hole_cards < 1:
            self._refuse(f"expected 1 hole card or more, not {self.num_hole_cards}")
        if min(self.num_board_cards) < 0:
            self._refuse(f"the board cards must be 0 or more, not {self.num_board_cards}")
        needed = self.num_players * self.num_hole_cards + sum(self.num_board_cards)
        if needed > self.deck.size:
            self._refuse(f"{needed} cards are dealt from a deck of {self.deck.size}")
        evaluated = self.num_hole_cards + sum(self.num_board_cards)
        if evaluated > MAX_EVALUATED_CARDS:
            self._refuse(f"a showdown must have at most {MAX_EVALUATED_CARDS} cards, not {evaluated}")
        if self.showdown is Showdown.THREE_CARD and evaluated != 3:
            self._refuse(f"a three-card showdown must have 3 cards, not {evaluated}")

    @property
    def num_players(self) -> int:
        """Number of players."""
        return len(self.blinds)

    @property
    def num_rounds(self) -> int:
        """Number of betting rounds."""
        return len(self.num_board_cards)

    @property
    def is_limit(self) -> bool:
        """Whether bets have fixed sizes."""
        return self.raise_sizes is not None

    @property
    def big_blind(self) -> int:
        """The unit of `mbb_per_game`: the big blind, or the ante where all pay the same."""
        return max(self.blinds)

    @property
    def suits_matter(self) -> bool:
        """Whether a flush can decide a showdown; if not, cards of one rank are interchangeable."""
        return self.showdown is Showdown.THREE_CARD or self.num_hole_cards + sum(self.num_board_cards) >= 5

    def deals_like(self, other: "PokerRules") -> bool:
        """Return whether another game deals the same cards in the same rounds and compares them alike."""
        return (self.deck, self.num_hole_cards, self.num_board_cards, self.showdown) == (
            other.deck,
            other.num_hole_cards,
            other.num_board_cards,
            other.showdown,
        )

    def num_board_cards_by(self, round_index: int) -> int:
        """Return how many public cards lie on the table in a round."""
        return sum(self.num_board_cards[: round_index + 1])

    def round_of_board(self, num_cards: int) -> int:
        """Return the last round with so many public cards."""
        rounds = [r for r in range(self.num_rounds) if self.num_board_cards_by(r) == num_cards]
        if not rounds:
            sizes = sorted({self.num_board_cards_by(r) for r in range(self.num_rounds)})
            raise UsageError(
                f"a board of {num_cards} cards does not belong to a round of '{self.name}': "
                f"expected {' or '.join(map(str, sizes))} cards"
            )
        return rounds[-1]

    def parse_deal(
        self, hand: str, board: str = "", round_index: int | None = None
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Read a player's hole cards and the board, which must fit the game and share no card.

        Args:
            hand: the hole cards as text; ranks alone will do where suits do not matter.
            board: the public cards in the order of their deals.
            round_index: the round that the board must belong to; any round without it.
        """
        hole, public = self.deck.parse_parts([hand, board], suits_matter=self.suits_matter)
        if len(hole) != self.num_hole_cards:
            raise UsageError(
                f"'{hand}' is not a hand of '{self.name}': "
                f"the number of cards must be {self.num_hole_cards}, not {len(hole)}"
            )
        self._verify_board(board, public, round_index)
        return hole, public

    def parse_board(self, board: str, round_index: int | None = None) -> tuple[int, ...]:
        """Read a board alone; see `parse_deal`."""
        public = self.deck.parse(board, suits_matter=self.suits_matter)
        self._verify_board(board, public, round_index)
        return public

    def _verify_board(self, board: str, cards: tuple[int, ...], round_index: int | None) -> None:
        if round_index is None:
            self.round_of_board(len(cards))
        elif len(cards) != (expected := self.num_board_cards_by(round_index)):
            raise UsageError(
                f"the number of cards on the board '{board}' must be {expected} at this point of "
                f"'{self.name}', not {len(cards)}"
            )

    def num_hands(self) -> int:
        """Return the number of private hands."""
        return self.deck.num_hands(self.num_hole_cards)

    def num_deals(self, round_index: int) -> int:
        """Return the number of (hand, board) pairs one player can see in a round, rounds kept apart."""
        deals, remaining = self.num_hands(), self.deck.size - self.num_hole_cards
        for dealt in self.num_board_cards[: round_index + 1]:
            deals *= comb(remaining, dealt)
            remaining -= dealt
        return deals
