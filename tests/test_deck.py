"""Cards, decks and the one order of hands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errai.cards.deck import FULL_DECK, RANKS, SUITS, Deck, format_card, format_cards, parse_card, parse_cards
from errai.errors import UsageError

LEDUC = Deck("JQK", "hs")


def test_card_numbers_are_as_promised() -> None:
    assert [parse_card(text) for text in ("2c", "2d", "2h", "2s", "3c", "As")] == [0, 1, 2, 3, 4, 51]


@given(st.integers(0, 51))
def test_text_round_trip(card: int) -> None:
    assert parse_card(format_card(card)) == card


def test_cards_with_and_without_spaces() -> None:
    assert parse_cards("As Kd,2c") == parse_cards("AsKd2c") == (51, 45, 0)
    assert parse_cards("") == ()
    assert format_cards((51, 45, 0)) == "AsKd2c"


@pytest.mark.parametrize("text", ["A", "Ax", "1s", "10s", "AsK", "♠A", "As-Kd"])
def test_impossible_cards(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a card: expected a rank of .* and a suit of cdhs"):
        parse_cards(text)


def test_duplicate_cards_are_named() -> None:
    with pytest.raises(UsageError, match="the card As occurs twice in 'AsKdAs'"):
        parse_cards("AsKdAs")


def test_short_decks() -> None:
    assert format_cards(LEDUC.cards) == "JhJsQhQsKhKs"
    assert Deck.top(3, 2) == Deck("QKA", "hs")
    assert (FULL_DECK.size, FULL_DECK.num_ranks, FULL_DECK.num_suits) == (52, 13, 4)
    for ranks, suits in (("", "s"), ("KQ", "s"), ("QQ", "s"), ("QX", "s"), ("Q", "sc")):
        with pytest.raises(UsageError, match="of a deck must be ascending letters of"):
            Deck(ranks, suits)
    with pytest.raises(UsageError, match="a deck must have 1 to 13 ranks, not 14"):
        Deck.top(14, 4)
    with pytest.raises(UsageError, match="a deck must have 1 to 4 suits, not 0"):
        Deck.top(13, 0)


def test_bare_ranks() -> None:
    kuhn = Deck("JQK", "s")
    assert format_cards(kuhn.parse("K")) == "Ks"
    assert format_cards(LEDUC.parse("KK", suits_matter=False)) == "KhKs"
    assert format_cards(LEDUC.parse("KKh", suits_matter=False)) == "KsKh"
    assert format_cards(LEDUC.parse("JsQ", suits_matter=False)) == "JsQh"
    hand, board = LEDUC.parse_parts(["K", "K h"], suits_matter=False)
    assert (format_cards(hand), format_cards(board)) == ("Ks", "Kh")
    with pytest.raises(UsageError, match="'KKK' needs more cards of the rank K than this deck has left"):
        LEDUC.parse("KKK", suits_matter=False)
    with pytest.raises(UsageError, match="'K' needs more cards of the rank K"):
        kuhn.parse_parts(["K", "K"])
    with pytest.raises(UsageError, match="As is not in this deck of the ranks JQK and suits hs"):
        LEDUC.parse("As")


@pytest.mark.parametrize(
    ("deck", "text", "named"),
    [
        (FULL_DECK, "AK", "'AK' gives the rank A without a suit: .* one of cdhs, as in 'As'"),
        (FULL_DECK, "AsK", "'AsK' gives the rank K without a suit"),
        (FULL_DECK, "k, As", "'k, As' gives the rank K without a suit"),
        (LEDUC, "Q", "'Q' gives the rank Q without a suit: .* one of hs, as in 'Qs'"),
    ],
)
def test_a_bare_rank_is_refused_where_suits_matter(deck: Deck, text: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        deck.parse(text)


def test_a_hand_and_a_board_keep_their_ends() -> None:
    """The suit of a card does not come from the next text."""
    with pytest.raises(UsageError, match="'sK' is not a card"):
        FULL_DECK.parse_parts(["A", "sKd"])
    with pytest.raises(UsageError, match="the card As occurs twice"):
        FULL_DECK.parse_parts(["AsKd", "2cAs"])


@pytest.mark.parametrize("deck", [FULL_DECK, LEDUC, Deck("789TJ", "cds")])
@pytest.mark.parametrize("num_cards", [1, 2])
def test_hand_order(deck: Deck, num_cards: int) -> None:
    hands = deck.hands(num_cards)
    assert len(hands) == deck.num_hands(num_cards)
    for number, hand in enumerate(hands):
        assert list(hand) == sorted(hand)
        assert deck.hand_index(hand.tolist()[::-1]) == number


def test_holdem_hand_numbers() -> None:
    for number, (a, b) in enumerate(FULL_DECK.hands(2).tolist()):
        assert number == b * (b - 1) // 2 + a


def test_numbers_that_are_no_cards() -> None:
    with pytest.raises(UsageError, match="77 is not a card: expected a number from 0 to 51"):
        FULL_DECK.verify([77])


def test_letters_are_all_there() -> None:
    assert len(RANKS) == 13
    assert SUITS == "cdhs"
