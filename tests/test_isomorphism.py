"""Hand indexing: published sizes, bijections over whole rounds, invariance, and the naive twin."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive.isomorphism import all_deals, canonical_deal, canonical_ranks, orbit

from errai.cards.deck import FULL_DECK, Deck
from errai.cards.isomorphism import HandIndexer, RankIndexer
from errai.errors import UsageError

HOLDEM = HandIndexer((2, 3, 1, 1))
LEDUC_DECK = Deck("JQK", "hs")

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="millions of deals")


def random_deals(rng, num_deals, num_cards, deck=FULL_DECK):
    """Deal without replacement: the i-th draw is among the cards left, then steps over those dealt."""
    positions = np.zeros((num_deals, num_cards), dtype=np.int64)
    for i in range(num_cards):
        draw = rng.integers(deck.size - i, size=num_deals)
        for dealt in np.sort(positions[:, :i], axis=1).T:
            draw += draw >= dealt
        positions[:, i] = draw
    return np.array(deck.cards, dtype=np.uint8)[positions]


def shuffled(rng, deals, cards_per_round):
    """Permute the suits of each deal, and the cards inside each round."""
    suits = np.argsort(rng.random((len(deals), 4)), axis=1).astype(np.uint8)
    result = (deals & 60) + np.take_along_axis(suits, deals & 3, axis=1)
    begin = 0
    for count in cards_per_round:
        rng.permuted(result[:, begin : begin + count], axis=1, out=result[:, begin : begin + count])
        begin += count
    return result


# `test_sizes_by_burnside` derives every count anew, also those whose origin is not named here.
PUBLISHED = [
    # Rounds kept apart: asserted by Waugh's program, hand-isomorphism; flop and river in Johanson's thesis.
    ((2, 3, 1, 1), [169, 1_286_792, 55_190_538, 2_428_287_420]),
    # The same hands with the board unordered.
    ((2, 4), [169, 13_960_050]),
    ((2, 5), [169, 123_156_254]),
    # Public boards; the 1,755 flops are in Brown, Ganzfried and Sandholm's paper on Tartanian7.
    ((3, 1, 1), [1_755, 63_193, 2_554_656]),
    ((4,), [16_432]),
    ((5,), [134_459]),
    # Rhode Island hold'em: 8 * 13 + 56 * 325 + 392 * 9,997 are the 3.94 million information sets that
    # Johanson's thesis gives.
    ((1, 1, 1), [13, 325, 9_997]),
]


@pytest.mark.parametrize(("cards_per_round", "sizes"), PUBLISHED)
def test_published_sizes(cards_per_round, sizes):
    indexer = HandIndexer(cards_per_round)
    assert [indexer.size(round) for round in range(indexer.num_rounds)] == sizes
    assert indexer.num_cards(indexer.num_rounds - 1) == sum(cards_per_round)


@pytest.mark.parametrize(
    ("cards_per_round", "num_ranks"),
    [(rounds[: i + 1], 13) for rounds, _ in PUBLISHED for i in range(len(rounds))]
    + [((7,), 13), ((1,) * 7, 13), ((1, 2, 1, 3), 9), ((2, 3), 4)],
)
def test_sizes_by_burnside(cards_per_round, num_ranks):
    # Classes = mean over the 24 suit permutations of the deals that each fixes. A permutation fixes a deal
    # when every round is a union of its cycles on cards, so count the ways to give cycles to rounds.
    cycle_types = {(1, 1, 1, 1): 1, (2, 1, 1): 6, (2, 2): 3, (3, 1): 8, (4,): 6}
    fixed = 0
    for cycles, how_many in cycle_types.items():
        ways = {cards_per_round: 1}
        for length in cycles * num_ranks:
            extended = dict(ways)
            for left, count in ways.items():
                for round, missing in enumerate(left):
                    if missing >= length:
                        key = (*left[:round], missing - length, *left[round + 1 :])
                        extended[key] = extended.get(key, 0) + count
            ways = extended
        fixed += how_many * ways.get((0,) * len(cards_per_round), 0)
    indexer = HandIndexer(cards_per_round, Deck.top(num_ranks, 4))
    assert indexer.size(indexer.num_rounds - 1) * 24 == fixed


def test_every_preflop_hand():
    hands = np.array(list(combinations(range(52), 2)), dtype=np.uint8)
    counts = np.bincount(HOLDEM.index(hands, 0), minlength=169)
    assert counts.size == 169
    assert sorted(counts) == [4] * 78 + [6] * 13 + [12] * 78  # suited, pairs, offsuit
    pairs = HOLDEM.index(hands[hands[:, 0] >> 2 == hands[:, 1] >> 2], 0)
    assert set(counts[pairs]) == {6}


@needs_jit
def test_every_flop_of_canonical_hole_cards():
    counts = np.zeros(HOLDEM.size(1), dtype=np.int64)
    flops = np.array(list(combinations(range(50), 3)), dtype=np.uint8)
    for hole in HOLDEM.unindex(np.arange(169), 0):
        left = np.delete(np.arange(52, dtype=np.uint8), hole)
        deals = np.concatenate([np.broadcast_to(hole, (len(flops), 2)), left[flops]], axis=1)
        counts += np.bincount(HOLDEM.index(deals, 1), minlength=counts.size)
    assert counts.size == HOLDEM.size(1)
    assert counts.min() >= 1
    assert counts.sum() == 169 * comb(50, 3)


@pytest.mark.slow
def test_every_flop_of_every_hole_cards():
    counts = np.zeros(HOLDEM.size(1), dtype=np.int64)
    flops = np.array(list(combinations(range(50), 3)), dtype=np.uint8)
    for hole in combinations(range(52), 2):
        left = np.delete(np.arange(52, dtype=np.uint8), hole)
        deals = np.concatenate(
            [np.broadcast_to(np.array(hole, dtype=np.uint8), (len(flops), 2)), left[flops]], axis=1
        )
        counts += np.bincount(HOLDEM.index(deals, 1), minlength=counts.size)
    assert counts.sum() == 25_989_600
    assert counts.min() >= 1
    assert set(np.unique(counts)) == {4, 12, 24}
    for index in np.random.default_rng(1).integers(counts.size, size=2_000):
        deal = HOLDEM.unindex(index, 1)[0]
        assert counts[index] == len(orbit(deal, (2, 3), FULL_DECK))


@needs_jit
@pytest.mark.parametrize("round", [2, 3])
def test_a_million_random_deals(round):
    rng = np.random.default_rng(round)
    dealt = HOLDEM.cards_per_round[: round + 1]
    deals = random_deals(rng, 1_000_000, sum(dealt))
    index = HOLDEM.index(deals, round)
    assert index.min() >= 0
    assert index.max() < HOLDEM.size(round)
    np.testing.assert_array_equal(HOLDEM.index(shuffled(rng, deals, dealt), round), index)
    canonical = HOLDEM.unindex(index, round)
    np.testing.assert_array_equal(HOLDEM.index(canonical, round), index)
    # The canonical deal is one deal for the whole class, with the ranks of the given one in each round.
    np.testing.assert_array_equal(np.sort(canonical[:, :2] >> 2, axis=1), np.sort(deals[:, :2] >> 2, axis=1))
    some = rng.integers(HOLDEM.size(round), size=1_000_000)
    np.testing.assert_array_equal(HOLDEM.index(HOLDEM.unindex(some, round), round), some)


@pytest.mark.parametrize(
    ("cards_per_round", "deck"),
    [
        ((2, 3, 1, 1), FULL_DECK),
        ((2, 5), FULL_DECK),
        ((1, 1, 1), FULL_DECK),
        ((1,) * 7, FULL_DECK),
        ((2, 3, 1, 1), Deck("6789TJQKA")),
        ((3, 2), Deck("79QA", "dhs")),
    ],
)
def test_classes_agree_with_the_naive_twin(cards_per_round, deck):
    rng = np.random.default_rng(5)
    indexer = HandIndexer(cards_per_round, deck)
    for round in range(indexer.num_rounds):
        dealt = cards_per_round[: round + 1]
        # A few ranks only, so that many of the deals fall into one class.
        few = Deck(deck.ranks[-4:], deck.suits)
        deals = random_deals(rng, 400, sum(dealt), few if few.size >= sum(dealt) else deck)
        index = indexer.index(deals, round)
        naive = [canonical_deal(deal, dealt, deck) for deal in deals]
        assert (
            len(set(zip(naive, index.tolist(), strict=True))) == len(set(naive)) == len(set(index.tolist()))
        )
        for deal, back in zip(naive, indexer.unindex(index, round), strict=True):
            assert canonical_deal(back, dealt, deck) == deal


SMALL_GAMES = [
    ((2, 2), Deck("JQK", "cdhs")),
    ((2, 1, 1), Deck("QKA", "dhs")),
    ((1, 1, 1), Deck("23A", "cs")),
    ((3, 2), Deck("5TK", "chs")),
    ((4,), Deck("2A", "cdhs")),
    ((1, 2), Deck("2345678", "h")),
    ((1, 1), LEDUC_DECK),
    ((1, 1, 1, 1, 1), Deck("89", "cdh")),
    ((7,), Deck("89", "cdhs")),
]


@pytest.mark.parametrize(("cards_per_round", "deck"), SMALL_GAMES)
@pytest.mark.parametrize(
    ("indexer_type", "canonical"), [(HandIndexer, canonical_deal), (RankIndexer, canonical_ranks)]
)
def test_bijection_on_small_decks(indexer_type, canonical, cards_per_round, deck):
    indexer = indexer_type(cards_per_round, deck)
    for round in range(indexer.num_rounds):
        dealt = cards_per_round[: round + 1]
        deals = np.array(list(all_deals(dealt, deck)), dtype=np.uint8)
        index = indexer.index(deals, round)
        naive = [canonical(deal, dealt, deck) for deal in deals]
        classes = set(zip(naive, index.tolist(), strict=True))
        assert len(classes) == len(set(naive)) == indexer.size(round)
        assert {number for _, number in classes} == set(range(indexer.size(round)))
        back = indexer.unindex(np.arange(indexer.size(round)), round)
        assert set(map(bytes, back)) <= set(map(bytes, deals))  # real deals, ascending in each round
        np.testing.assert_array_equal(indexer.index(back, round), np.arange(indexer.size(round)))


def test_rank_indexer_sizes():
    leduc = RankIndexer((1, 1), LEDUC_DECK)
    assert [leduc.size(0), leduc.size(1)] == [3, 9]  # 288 = 6 * 3 + 30 * 9 information sets of Leduc
    assert RankIndexer((1,), Deck("JQK", "s")).size(0) == 3
    assert RankIndexer((5,)).size(0) == comb(17, 5) - 13  # multisets of five ranks, less five of a kind


@needs_jit
def test_rank_indexer_on_the_full_deck():
    rng = np.random.default_rng(9)
    indexer = RankIndexer((2, 3, 1, 1))
    deals = random_deals(rng, 100_000, 7)
    index = indexer.index(deals, 3)
    np.testing.assert_array_equal(indexer.index(shuffled(rng, deals, (2, 3, 1, 1)), 3), index)
    ranks = [tuple(np.sort(part, axis=1).T) for part in np.split(deals >> 2, [2, 5, 6], axis=1)]
    keys = np.stack([column for part in ranks for column in part], axis=1)
    assert len(np.unique(keys, axis=0)) == len(np.unique(index))
    some = rng.integers(indexer.size(3), size=100_000)
    np.testing.assert_array_equal(indexer.index(indexer.unindex(some, 3), 3), some)


@given(st.permutations(range(52)), st.integers(0, 3), st.permutations(range(4)))
def test_shapes_and_types(order, round, suits):
    cards = order[: HOLDEM.num_cards(round)]
    renamed = [card // 4 * 4 + suits[card % 4] for card in cards]
    index = HOLDEM.index(cards, round)
    assert index.shape == (1,)
    assert index.dtype == np.int64
    for dtype in (np.int8, np.int64, np.uint16):
        assert HOLDEM.index(np.array([cards, renamed], dtype=dtype), round).tolist() == [index[0]] * 2
    canonical = HOLDEM.unindex(int(index[0]), round)
    assert canonical.dtype == np.uint8
    assert canonical.shape == (1, len(cards))


def test_strided_and_empty_input():
    deals = random_deals(np.random.default_rng(3), 50, 7)
    np.testing.assert_array_equal(HOLDEM.index(deals[:, :5], 1), HOLDEM.index(deals[:, :5].copy(), 1))
    np.testing.assert_array_equal(HOLDEM.index(deals[::2], 3), HOLDEM.index(deals, 3)[::2])
    assert HOLDEM.index(np.empty((0, 7), dtype=np.uint8), 3).shape == (0,)
    assert HOLDEM.unindex([], 3).shape == (0, 7)


@pytest.mark.parametrize("indexer", [HandIndexer((2, 3)), RankIndexer((2, 3))])
def test_bad_deals_are_named(indexer):
    deals = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [9, 10, 11, 12, 13]], dtype=np.uint8)
    deals[1, 4] = 5
    with pytest.raises(UsageError, match="row 1: the card 3d occurs twice"):
        indexer.index(deals, 1)
    for dtype, card in ((np.uint8, 52), (np.uint8, 255), (np.int64, -1), (np.int64, 300)):
        bad = deals.astype(dtype)
        bad[1, 4] = card
        with pytest.raises(UsageError, match=f"row 1: {card} is not a card"):
            indexer.index(bad, 1)
    with pytest.raises(UsageError, match=r"shape \(3, 4\) do not fit round 1 of \(2, 3\): a row has 5 cards"):
        indexer.index(deals[:, :4], 1)
    with pytest.raises(UsageError, match=r"shape \(3,\) do not fit"):
        indexer.index([1, 2, 3], 0)
    with pytest.raises(UsageError, match="not of the type float64"):
        indexer.index(deals.astype(float), 1)


@pytest.mark.parametrize("indexer_type", [HandIndexer, RankIndexer])
def test_cards_outside_a_short_deck(indexer_type):
    indexer = indexer_type((1, 1), LEDUC_DECK)
    with pytest.raises(UsageError, match="row 0: Ac is not in this deck of the ranks JQK"):
        indexer.index([[48, 47]], 1)
    with pytest.raises(UsageError, match="row 1: Jc is not in this deck"):
        indexer.index([[47, 46], [47, 36]], 1)


@pytest.mark.parametrize("indexer_type", [HandIndexer, RankIndexer])
def test_bad_indices_and_rounds(indexer_type):
    indexer = indexer_type((2, 3))
    for bad in (-1, indexer.size(0)):
        with pytest.raises(
            UsageError, match=f"index {bad} in row 1 is out of range.* 0 to {indexer.size(0) - 1}"
        ):
            indexer.unindex([0, bad], 0)
    for round in (-1, 2):
        for call in (indexer.size, indexer.num_cards):
            with pytest.raises(UsageError, match=f"round {round} does not exist"):
                call(round)
        with pytest.raises(UsageError, match=f"round {round} does not exist"):
            indexer.index([[0, 1]], round)
        with pytest.raises(UsageError, match=f"round {round} does not exist"):
            indexer.unindex(0, round)
    with pytest.raises(UsageError, match="row of integers"):
        indexer.unindex(0.5, 0)
    with pytest.raises(UsageError, match="row of integers"):
        indexer.unindex([[0]], 0)


@pytest.mark.parametrize("cards_per_round", [(), (0,), (2, -1), (4, 4), (8,)])
def test_impossible_rounds(cards_per_round):
    with pytest.raises(UsageError, match=r"cannot be the cards per round.*at most 7"):
        HandIndexer(cards_per_round)


def test_more_cards_than_the_deck_has():
    with pytest.raises(UsageError, match="at most 6"):
        RankIndexer((4, 3), LEDUC_DECK)
