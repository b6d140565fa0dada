"""Cards, decks and private hands: numbers, text, and the one order of hands.

A card is `rank * 4 + suit`: 2c = 0, 2d = 1, ... As = 51, ranks `23456789TJQKA`, suits `cdhs`. Short
decks keep these numbers and hold fewer of them. A game that thinks in vectors of hands uses the
*hand order* of `Deck.hands`: all combinations of hole cards, colexicographic by position in the
deck (for hold'em the hand {a < b} is number b * (b - 1) / 2 + a).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError

RANKS = "23456789TJQKA"
SUITS = "cdhs"
NUM_RANKS = 13
NUM_SUITS = 4
NUM_CARDS = 52


def rank_of(card: int) -> int:
    """Return the rank of a card, 0 for a two up to 12 for an ace."""
    return card >> 2


def suit_of(card: int) -> int:
    """Return the suit of a card: 0, 1, 2, 3 for c, d, h, s."""
    return card & 3


def parse_card(text: str) -> int:
    """Read one card.

    >>> parse_card("As")
    51
    """
    if len(text) == 2:
        rank, suit = RANKS.find(text[0].upper()), SUITS.find(text[1].lower())
        if rank >= 0 and suit >= 0:
            return rank * 4 + suit
    raise UsageError(f"'{text}' is not a card: expected a rank of {RANKS} and a suit of {SUITS}, as in 'As'")


def parse_cards(text: str) -> tuple[int, ...]:
    """Read a row of cards, with or without spaces or commas between them; no card may occur twice.

    >>> parse_cards("As Kd")
    (51, 45)
    """
    packed = "".join(text.replace(",", " ").split())
    cards = tuple(parse_card(packed[i : i + 2]) for i in range(0, len(packed), 2))
    FULL_DECK.verify(cards)
    return cards


def format_card(card: int) -> str:
    """Write one card."""
    return RANKS[card >> 2] + SUITS[card & 3]


def format_cards(cards: Iterable[int]) -> str:
    """Write cards in the order given.

    >>> format_cards([51, 45])
    'AsKd'
    """
    return "".join(format_card(int(card)) for card in cards)


@dataclass(frozen=True)
class Deck:
    """Some ranks and some suits of the 52 cards, in every combination.

    Attributes:
        ranks: ascending, of `RANKS`.
        suits: ascending, of `SUITS`.
    """

    ranks: str = RANKS
    suits: str = SUITS

    def __post_init__(self) -> None:
        for what, given, letters in (("ranks", self.ranks, RANKS), ("suits", self.suits, SUITS)):
            positions = [letters.find(letter) for letter in given]
            if not given or min(positions) < 0 or positions != sorted(set(positions)):
                raise UsageError(
                    f"the {what} of a deck must be ascending letters of '{letters}', not '{given}'"
                )

    @staticmethod
    def top(num_ranks: int, num_suits: int) -> "Deck":
        """Return the short deck of the ACPC: the top ranks and the last suits of `cdhs`."""
        if not 1 <= num_ranks <= NUM_RANKS:
            raise UsageError(f"a deck must have 1 to {NUM_RANKS} ranks, not {num_ranks}")
        if not 1 <= num_suits <= NUM_SUITS:
            raise UsageError(f"a deck must have 1 to {NUM_SUITS} suits, not {num_suits}")
        return Deck(RANKS[-num_ranks:], SUITS[-num_suits:])

    @property
    def num_ranks(self) -> int:
        """Number of ranks."""
        return len(self.ranks)

    @property
    def num_suits(self) -> int:
        """Number of suits."""
        return len(self.suits)

    @property
    def size(self) -> int:
        """Number of cards."""
        return self.num_ranks * self.num_suits

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The cards in ascending order of their numbers."""
        return tuple(RANKS.index(rank) * 4 + SUITS.index(suit) for rank in self.ranks for suit in self.suits)

    @cached_property
    def position(self) -> dict[int, int]:
        """Where each card stands in `cards`."""
        return {card: i for i, card in enumerate(self.cards)}

    def parse(self, text: str, *, suits_matter: bool = True) -> tuple[int, ...]:
        """Read cards of this deck, with or without spaces or commas between them.

        Args:
            text: such as `AsKd`.
            suits_matter: False in a game where cards of one rank are interchangeable (`PokerRules` knows):
                a bare rank then stands for the first such card that is left. In a deck of one suit it
                always does.

        >>> Deck("JQK", "hs").parse("KKh", suits_matter=False) == parse_cards("KsKh")
        True
        """
        return self.parse_parts([text], suits_matter=suits_matter)[0]

    def parse_parts(self, texts: Sequence[str], *, suits_matter: bool = True) -> list[tuple[int, ...]]:
        """Read several rows of cards, such as a hand and a board, that share no card; see `parse`."""
        parts = [list(_read_cards(text)) for text in texts]
        taken = {card for part in parts for card, has_suit in part if has_suit}
        read: list[tuple[int, ...]] = []
        for text, part in zip(texts, parts, strict=True):
            cards = []
            for card, has_suit in part:
                if not has_suit:
                    card = self._first_of_rank(card, taken, text, suits_matter)
                    taken.add(card)
                cards.append(card)
            read.append(tuple(cards))
        self.verify([card for part in read for card in part])
        return read

    def _first_of_rank(self, card: int, taken: set[int], text: str, suits_matter: bool) -> int:
        """Return the first card of a bare rank that is left in the deck."""
        rank = RANKS[rank_of(card)]
        if suits_matter and self.num_suits > 1:
            raise UsageError(
                f"'{text}' gives the rank {rank} without a suit: suits matter here, so every card must have "
                f"one of {self.suits}, as in '{rank}{self.suits[-1]}'"
            )
        for choice in self.cards:
            if rank_of(choice) == rank_of(card) and choice not in taken:
                return choice
        raise UsageError(f"'{text}' needs more cards of the rank {rank} than this deck has left")

    def verify(self, cards: Sequence[int], where: str = "") -> None:
        """Refuse cards that are not in the deck or occur twice.

        Args:
            cards: their numbers.
            where: words before the sentence, such as `row 3: `.
        """
        for card in cards:
            if not 0 <= card < NUM_CARDS:
                raise UsageError(f"{where}{card} is not a card: expected a number from 0 to {NUM_CARDS - 1}")
            if card not in self.position:
                raise UsageError(
                    f"{where}{format_card(card)} is not in this deck of the ranks {self.ranks} "
                    f"and suits {self.suits}"
                )
        for place, card in enumerate(cards):
            if card in cards[:place]:
                raise UsageError(
                    f"{where}the card {format_card(card)} occurs twice in '{format_cards(cards)}'"
                )

    def num_hands(self, num_cards: int) -> int:
        """Return the number of combinations of `num_cards` cards of this deck."""
        return comb(self.size, num_cards)

    def hands(self, num_cards: int) -> npt.NDArray[np.uint8]:
        """Return all hands in the one hand order: uint8[num_hands, num_cards], cards ascending in a row."""
        return _hands(self, num_cards)

    def hand_index(self, cards: Sequence[int]) -> int:
        """Return the number of a hand, given its cards in any order, in the order of `hands`."""
        self.verify(cards)
        return int(self.hand_indices(np.array([cards], dtype=np.uint8))[0])

    def hand_indices(self, hands: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Return the numbers of many hands, int64[N].

        Args:
            hands: integers[N, cards], all different within a row, in any order; they are not verified.
        """
        positions = np.sort(self._position_of_card[hands], axis=1)
        numbers = np.zeros(len(hands), dtype=np.int64)
        for i in range(positions.shape[1]):
            numbers += _binomials(self.size, i + 1)[positions[:, i]]
        return numbers

    def is_open(self, num_cards: int, board: Iterable[int]) -> npt.NDArray[np.bool_]:
        """Return which hands share no card with a board, bool[num_hands], in the order of `hands`."""
        seen = np.zeros(NUM_CARDS, dtype=bool)
        seen[[int(card) for card in board]] = True
        return np.logical_not(seen[self.hands(num_cards)].any(axis=1))

    @cached_property
    def _position_of_card(self) -> npt.NDArray[np.int64]:
        """Where each of the 52 cards stands in `cards`; 0 for those that are not in the deck."""
        positions = np.zeros(NUM_CARDS, dtype=np.int64)
        positions[list(self.cards)] = np.arange(self.size)
        return positions


def _read_cards(text: str) -> Iterator[tuple[int, bool]]:
    """Yield each card of a text and whether its suit is given; a bare rank comes as its card of clubs."""
    packed = "".join(text.replace(",", " ").split())
    i = 0
    while i < len(packed):
        rank = RANKS.find(packed[i].upper())
        if rank >= 0 and (i + 1 == len(packed) or packed[i + 1].lower() not in SUITS):
            yield rank * 4, False
            i += 1
        else:
            yield parse_card(packed[i : i + 2]), True
            i += 2


@lru_cache(maxsize=32)
def _binomials(size: int, k: int) -> npt.NDArray[np.int64]:
    """Return n over k for all n below a size."""
    return np.array([comb(n, k) for n in range(size)], dtype=np.int64)


@lru_cache(maxsize=32)
def _hands(deck: Deck, num_cards: int) -> npt.NDArray[np.uint8]:
    positions = sorted(combinations(range(deck.size), num_cards), key=lambda hand: hand[::-1])
    cards = np.array(deck.cards, dtype=np.uint8)
    hands = cards[np.array(positions, dtype=np.int64).reshape(len(positions), num_cards)]
    hands.setflags(write=False)
    return hands


FULL_DECK = Deck()
