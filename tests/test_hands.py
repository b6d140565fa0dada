"""All hands at once: their numbers, and those that boards leave open."""

from itertools import combinations, permutations

import numpy as np
import pytest
from naive import isomorphism as naive

from errai.cards import _hands as kernels
from errai.cards.deck import FULL_DECK, Deck, parse_cards
from errai.cards.hands import open_deals

LEDUC = Deck("JQK", "hs")
SHORT = Deck("9TJ", "cds")
DECKS = [LEDUC, SHORT, Deck("A", "cdhs")]


@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize("num_cards", [1, 2, 3])
def test_numbers_of_many_hands(deck: Deck, num_cards: int) -> None:
    hands = deck.hands(num_cards)
    for order in permutations(range(num_cards)):
        assert deck.hand_indices(hands[:, order]).tolist() == list(range(len(hands)))


def test_the_kernel_numbers_pairs_as_the_deck_does() -> None:
    for a, b in permutations(range(SHORT.size), 2):
        cards = [SHORT.cards[a], SHORT.cards[b]]
        assert kernels.pair_index(a, b) == SHORT.hand_index(cards)


@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize("num_cards", [1, 2])
@pytest.mark.parametrize("board_size", [0, 1, 2])
def test_open_hands_against_the_naive_twin(deck: Deck, num_cards: int, board_size: int) -> None:
    hands = deck.hands(num_cards).tolist()
    boards = [list(board) for board in combinations(deck.cards, board_size)]
    cards, place = open_deals(
        deck, num_cards, np.array(boards, dtype=np.uint8).reshape(len(boards), board_size)
    )
    expected, expected_place = naive.open_deals(hands, boards)
    assert (cards.tolist(), place.tolist()) == (expected, expected_place)
    for j, board in enumerate(boards):
        is_open = deck.is_open(num_cards, board)
        assert np.flatnonzero(is_open).tolist() == [p % len(hands) for p in place if p // len(hands) == j]


def test_one_board_gives_the_numbers_of_hands() -> None:
    board = parse_cards("AsKd7c")
    cards, numbers = open_deals(FULL_DECK, 2, board)
    assert len(numbers) == 49 * 48 // 2
    assert (FULL_DECK.hand_indices(cards[:, :2]) == numbers).all()
    assert (cards[:, 2:] == board).all()
    assert FULL_DECK.is_open(2, board)[numbers].all()
