"""The competition dealer's cards by seed, against lines that it logged."""

import numpy as np
import pytest

from errai.cards.deck import format_cards
from errai.errors import UsageError
from errai.games.catalogue import load_card_game
from errai.games.dealer_cards import DealerCards

# Logged by the competition's dealer with seed 42 in two-player limit hold'em.
LOGGED = ["7d3d2hAc5sKs7s9s6h", "9h6s3d3h5s3s8h9d5c", "4d6cQsJh3c9sJc2dTs"]


def test_the_cards_are_those_that_the_dealer_logged():
    cards = DealerCards(load_card_game("limit-holdem"), 42).deal(3)
    assert [format_cards(hand) for hand in cards] == LOGGED


def test_hands_come_in_order_however_many_are_asked_for_at_once():
    rules = load_card_game("nolimit-holdem")
    together, apart, later = (DealerCards(rules, 7) for _ in range(3))
    hands = together.deal(5)
    np.testing.assert_array_equal(hands, np.concatenate([apart.deal(2), apart.deal(3)]))
    later.skip(4)
    np.testing.assert_array_equal(hands[4:], later.deal(1))


@pytest.mark.parametrize("name", ["kuhn", "leduc", "rhode-island"])
def test_a_small_deck_deals_its_own_cards_and_none_twice(name):
    rules = load_card_game(name)
    for hand in DealerCards(rules, 1).deal(200).tolist():
        assert len(set(hand)) == len(hand)
        assert set(hand) <= set(rules.deck.cards)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_the_dealer_does_not_take_is_refused(seed):
    with pytest.raises(UsageError, match="seed must be"):
        DealerCards(load_card_game("leduc"), seed)
