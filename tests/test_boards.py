"""Canonical boards: counts, weights, parents, renamings, symmetries, and the naive twin."""

from collections import Counter
from math import comb, factorial

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive.isomorphism import (
    all_deals,
    canonical_deal,
    canonical_ranks,
    rank_renamings,
    renamed,
    split_rounds,
    suit_renamings,
)
from test_isomorphism import random_deals

from errai.cards.boards import MAX_BOARDS, CanonicalBoards
from errai.cards.deck import FULL_DECK, Deck
from errai.cards.isomorphism import HandIndexer
from errai.errors import UsageError

LEDUC_DECK = Deck("JQK", "hs")

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="millions of boards")


@pytest.fixture(scope="module")
def holdem():
    return CanonicalBoards((3, 1, 1))


def verify_tree(boards, round):
    """Check what must hold in every game between a round and the one before."""
    cards, weights, parent = boards.cards(round), boards.weights(round), boards.parent(round)
    before = boards.num_cards(round - 1)
    assert len(cards) == boards.num_boards(round)
    assert cards.dtype == np.uint8
    assert weights.dtype == np.int64
    assert parent.dtype == np.int32
    np.testing.assert_array_equal(cards[:, :before], boards.cards(round - 1)[parent])
    np.testing.assert_array_equal(boards.index(cards, round), np.arange(len(cards)))
    begin = boards.child_begin(round)
    np.testing.assert_array_equal(parent, np.repeat(np.arange(begin.size - 1), np.diff(begin)))
    deals = boards.deals_from_parent(round)
    np.testing.assert_array_equal(weights, deals * boards.weights(round - 1)[parent])
    from_each = comb(boards.deck.size - before, boards.cards_per_round[round])
    np.testing.assert_array_equal(np.add.reduceat(deals, begin[:-1]), from_each)


def verify_mapping(boards, round, dealt):
    """Check that renaming the cards of dealt boards gives the canonical ones, as sets round by round."""
    found = boards.canonicalise_many(dealt, round)
    images = np.take_along_axis(found.card_permutation, dealt, axis=1)
    begin = 0
    for count in boards.cards_per_round[: round + 1]:
        images[:, begin : begin + count].sort(axis=1)
        begin += count
    np.testing.assert_array_equal(images, boards.cards(round)[found.board_index])
    np.testing.assert_array_equal(
        np.sort(found.card_permutation, axis=1), np.tile(np.arange(52), (len(dealt), 1))
    )
    np.testing.assert_array_equal(found.card_permutation >> 2, np.tile(np.arange(52) >> 2, (len(dealt), 1)))
    deck_cards = list(boards.deck.cards)
    assert set(np.unique(found.card_permutation[:, deck_cards])) == set(deck_cards)
    if boards.suits_matter:
        cards = np.arange(52)
        np.testing.assert_array_equal(
            found.card_permutation, (cards & 60) + found.suit_permutation[:, cards & 3]
        )
    else:
        assert found.suit_permutation is None
    return found.board_index


@needs_jit
def test_holdem_boards(holdem):
    # 1,755; 63,193; 2,554,656 canonical boards; all dealt boards with the order between rounds kept.
    for round, (count, dealt) in enumerate([(1_755, 22_100), (63_193, 1_082_900), (2_554_656, 51_979_200)]):
        assert len(holdem.cards(round)) == count
        assert holdem.weights(round).sum() == dealt
        verify_tree(holdem, round)


@needs_jit
@pytest.mark.parametrize("round", [0, 1, 2])
def test_holdem_boards_against_the_naive_twin(holdem, round):
    dealt = holdem.cards_per_round[: round + 1]
    boards = random_deals(np.random.default_rng(round), 10_000, sum(dealt))
    index = verify_mapping(holdem, round, boards)
    np.testing.assert_array_equal(index, holdem.index(boards, round))
    for board, row in zip(boards[:2_000], index, strict=False):
        canonical = canonical_deal(board, dealt, FULL_DECK)
        assert split_rounds(holdem.cards(round)[row], dealt) == canonical
        prefix = [card for part in canonical[:-1] for card in part]
        assert holdem.index(prefix, round - 1)[0] == holdem.parent(round)[row]


@needs_jit
@pytest.mark.parametrize(("num_cards", "count"), [(4, 16_432), (5, 134_459)])
def test_unordered_boards(num_cards, count):
    boards = CanonicalBoards((num_cards,))
    assert boards.num_boards(0) == count
    assert boards.weights(0).sum() == comb(52, num_cards)
    verify_tree(boards, 0)


GAMES = [
    ((1,), LEDUC_DECK, False),
    ((1,), LEDUC_DECK, True),
    ((1, 1), FULL_DECK, True),  # Rhode Island hold'em
    ((1, 1), FULL_DECK, False),
    ((2, 1, 1), Deck("QKA", "dhs"), True),
    ((2, 1, 1), Deck("QKA", "dhs"), False),
    ((1, 3), Deck("JQK", "cdhs"), True),
    ((1, 3), Deck("JQK", "cdhs"), False),
    ((3, 2), Deck("5T", "cdhs"), True),
    ((3,), Deck("JQKA", "ds"), True),
    ((2, 1), Deck("23456", "h"), True),
    ((2, 1), Deck("23456", "h"), False),
]


@pytest.mark.parametrize(("cards_per_round", "deck", "suits_matter"), GAMES)
def test_all_boards_of_small_games(cards_per_round, deck, suits_matter):
    boards = CanonicalBoards(cards_per_round, deck, suits_matter)
    canonical = canonical_deal if suits_matter else canonical_ranks
    for round in range(boards.num_rounds):
        dealt = cards_per_round[: round + 1]
        everything = np.array(list(all_deals(dealt, deck)), dtype=np.uint8)
        naive = Counter(canonical(deal, dealt, deck) for deal in everything)
        expected = sorted(naive)
        assert [split_rounds(board, dealt) for board in boards.cards(round)] == expected
        assert boards.weights(round).tolist() == [naive[board] for board in expected]
        verify_tree(boards, round)
        index = verify_mapping(boards, round, everything)
        assert [expected[i] for i in index] == [canonical(deal, dealt, deck) for deal in everything]


@pytest.mark.parametrize("cards_per_round", [(3,), (1, 1), (2, 1)])
def test_stabilisers(cards_per_round):
    boards = CanonicalBoards(cards_per_round)
    round = boards.num_rounds - 1
    for index in np.random.default_rng(2).choice(boards.num_boards(round), size=100, replace=False):
        rounds = split_rounds(boards.cards(round)[index], cards_per_round)
        expected = {tuple(p.values()) for p in suit_renamings(FULL_DECK) if renamed(rounds, p) == rounds}
        stabiliser = boards.stabiliser(round, index)
        assert stabiliser.dtype == np.uint8
        assert {tuple(p) for p in stabiliser.tolist()} == expected
        assert len(stabiliser) == len(expected) == factorial(4) // boards.weights(round)[index]
        cards = np.arange(52)
        np.testing.assert_array_equal(
            boards.card_stabiliser(round, index), (cards & 60) + stabiliser[:, cards & 3]
        )


def test_stabilisers_of_short_decks():
    boards = CanonicalBoards((1,), Deck("JQK", "hs"))
    assert boards.stabiliser(-1, 0).tolist() == [[0, 1, 2, 3], [0, 1, 3, 2]]
    assert boards.stabiliser(0, 0).tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("cards_per_round", "deck"), [((1,), LEDUC_DECK), ((2, 1), Deck("QK", "dhs"))])
def test_stabilisers_where_suits_do_not_matter(cards_per_round, deck):
    boards = CanonicalBoards(cards_per_round, deck, suits_matter=False)
    renamings = list(rank_renamings(deck))
    for round in range(-1, boards.num_rounds):
        dealt = cards_per_round[: round + 1]
        for index, cards in enumerate(boards.cards(round)):
            rounds = split_rounds(cards, dealt)
            expected = {
                tuple(p[card] for card in deck.cards)
                for p in renamings
                if all({p[card] for card in part} == set(part) for part in rounds)
            }
            stabiliser = boards.card_stabiliser(round, index)
            assert {tuple(row) for row in stabiliser[:, list(deck.cards)].tolist()} == expected
            assert len(stabiliser) == len(expected) == len(renamings) // boards.weights(round)[index]
            outside = [card for card in range(52) if card not in deck.cards]
            assert (stabiliser[:, outside] == outside).all()


def test_canonical_children_and_the_stabiliser_give_exact_values():
    # Any function of (hand, board) that ignores the names of suits: here a number for each class.
    deck = Deck("QKA", "dhs")
    classes = HandIndexer((1, 2), deck)
    value_of_class = np.random.default_rng(4).normal(size=classes.size(1))
    boards = CanonicalBoards((2,), deck)

    def values(board):
        return {
            hand: value_of_class[classes.index([hand, *board], 1)[0]]
            for hand in deck.cards
            if hand not in board
        }

    exact: Counter[int] = Counter()
    for board in all_deals((2,), deck):
        exact.update(values(board))
    folded: Counter[int] = Counter()
    group = boards.card_stabiliser(-1, 0)
    for board, deals in zip(boards.cards(0).tolist(), boards.deals_from_parent(0).tolist(), strict=True):
        for hand, value in values(board).items():
            for permutation in group:
                folded[int(permutation[hand])] += deals * value / len(group)
    assert folded.keys() == exact.keys()
    for hand in deck.cards:
        assert folded[hand] == pytest.approx(exact[hand], abs=1e-12)


@pytest.mark.parametrize("suits_matter", [True, False])
def test_a_game_without_a_board(suits_matter):
    boards = CanonicalBoards((), Deck("JQK", "s"), suits_matter)
    assert boards.num_rounds == 0
    assert boards.num_boards(-1) == 1
    assert boards.num_cards(-1) == 0
    assert boards.cards(-1).shape == (1, 0)
    assert boards.weights(-1).tolist() == [1]
    assert boards.canonicalise([], -1).board_index == 0
    assert boards.canonicalise([], -1).card_permutation.tolist() == list(range(52))
    assert boards.index(np.empty((3, 0), dtype=np.uint8), -1).tolist() == [0, 0, 0]
    assert len(boards.card_stabiliser(-1, 0)) == 1
    with pytest.raises(UsageError, match="round 0 does not exist"):
        boards.cards(0)


def test_one_board():
    boards = CanonicalBoards((3,))
    found = boards.canonicalise([51, 50, 45], 0)  # As Ah Kd
    assert isinstance(found.board_index, int)
    assert boards.cards(0)[found.board_index].tolist() == [44, 49, 50]  # Kc Ad Ah
    assert found.suit_permutation is not None
    assert found.suit_permutation[1] == 0
    assert sorted(found.card_permutation[[51, 50, 45]].tolist()) == [44, 49, 50]
    leduc = CanonicalBoards((1,), LEDUC_DECK, suits_matter=False).canonicalise([47], 0)  # Ks
    assert leduc.board_index == 2
    assert leduc.suit_permutation is None
    assert leduc.card_permutation[[46, 47]].tolist() == [47, 46]


def test_rounds_are_built_when_asked():
    lazy = CanonicalBoards((3, 1, 1, 1))
    assert lazy.cards(0).shape == (1_755, 3)
    assert lazy.num_boards(3) > MAX_BOARDS
    with pytest.raises(UsageError, match="canonical boards: at most 100000000 are built"):
        lazy.cards(3)
    with pytest.raises(ValueError, match="read-only"):
        lazy.cards(0)[0, 0] = 1


def test_bad_input_is_named():
    boards = CanonicalBoards((3, 1))
    with pytest.raises(UsageError, match="row 0: the card 2c occurs twice"):
        boards.canonicalise([0, 1, 0], 0)
    with pytest.raises(UsageError, match="row 1: 52 is not a card"):
        boards.canonicalise_many([[0, 1, 2], [0, 1, 52]], 0)
    with pytest.raises(UsageError, match="a row has 4 cards"):
        boards.canonicalise([0, 1, 2], 1)
    with pytest.raises(UsageError, match="canonicalise_many"):
        boards.canonicalise(np.array([[0, 1, 2]]), 0)
    with pytest.raises(UsageError, match="do not fit round -1"):
        boards.index([[3]], -1)
    for round in (-2, 2):
        with pytest.raises(UsageError, match=f"round {round} does not exist"):
            boards.num_boards(round)
    with pytest.raises(UsageError, match="round -1 is the empty board"):
        boards.parent(-1)
    with pytest.raises(UsageError, match=r"board 1755 does not exist: .* 0 to 1754"):
        boards.stabiliser(0, 1755)
    with pytest.raises(UsageError, match="cannot be the cards per round"):
        CanonicalBoards((3, 0))
    ranks = CanonicalBoards((1,), suits_matter=False)
    with pytest.raises(UsageError, match="ask for card_stabiliser"):
        ranks.stabiliser(0, 0)
    with pytest.raises(UsageError, match="symmetries: at most 100000 are listed"):
        ranks.card_stabiliser(0, 0)
