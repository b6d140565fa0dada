"""Perfect indices of hands up to suit isomorphism.

Kevin Waugh, "A Fast and Optimal Hand Isomorphism Algorithm", 2013. A deal is cut into rounds, whose order
counts; the order of cards inside a round does not. Two deals are the same class when a permutation of the
suits turns one into the other. `HandIndexer` numbers the classes of a round 0, 1, ... size - 1 without
gaps, in these steps:

1. Split the deal by suits. The *pattern* of a suit says how many of its cards came in each round. All
   suits with one pattern are numbered: the set of ranks (colexicographic) and the *arrangement*, which
   of these ranks came in which round.
2. Sort the suits by pattern and then by that number. The sorted patterns are the *configuration*.
3. Suits with equal patterns form a multiset of numbers, ranked by sums of binomials. The groups are
   digits of a mixed radix number, and each configuration has its own interval of indices.

Deviations from the paper: it numbers the ranks of a suit round by round among those still free; rank set
and arrangement give the same count with two look-ups for a suit. The order of classes therefore differs
from other programs, and only sizes can be compared with them. Rounds are indexed directly, not
incrementally from the round before.

`RankIndexer` has the same interface for games in which suits never matter (Kuhn, Leduc): the suits of
each rank are interchangeable on their own, so a class is the multiset of ranks of each round.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, groupby, product
from math import comb

import numpy as np
import numpy.typing as npt

from errai.cards import _isomorphism as kernels
from errai.cards.deck import FULL_DECK, NUM_CARDS, RANKS, SUITS, Deck
from errai.errors import UsageError

MAX_CARDS = 7

Cards = npt.NDArray[np.uint8]
Pattern = tuple[int, ...]


class RoundIndexer(ABC):
    """What all indexers share: rounds, shapes, and errors in the user's words.

    Attributes:
        cards_per_round: cards dealt in each round.
        deck: the cards that may be dealt.
    """

    def __init__(self, cards_per_round: Sequence[int], deck: Deck = FULL_DECK) -> None:
        given = tuple(int(n) for n in cards_per_round)
        most = min(MAX_CARDS, deck.size)
        if not given or min(given) < 1 or sum(given) > most:
            raise UsageError(
                f"{given} cannot be the cards per round: each round deals at least one card, all together "
                f"at most {most}"
            )
        self.cards_per_round = given
        self.deck = deck

    @property
    def num_rounds(self) -> int:
        """Number of rounds."""
        return len(self.cards_per_round)

    def num_cards(self, round: int) -> int:
        """Return the number of cards that a deal holds after a round (0 is the first)."""
        return sum(self._dealt(round))

    @abstractmethod
    def size(self, round: int) -> int:
        """Return the number of classes after a round."""

    def index(self, cards: npt.ArrayLike, round: int) -> npt.NDArray[np.int64]:
        """Return the class of each deal.

        Args:
            cards: integers[N, num_cards(round)], the rounds in order, cards inside a round in any order;
                a single deal may come without the first axis.
            round: 0 is the first.

        Returns:
            int64[N], each from 0 to size(round) - 1.
        """
        deals = self.verified_shape(cards, round)
        index = np.empty(len(deals), dtype=np.int64)
        self._refuse(deals, self._index(deals, self._dealt(round), index))
        return index

    def unindex(self, index: npt.ArrayLike, round: int) -> Cards:
        """Return a canonical deal of each class, uint8[N, num_cards(round)], ascending inside a round.

        Args:
            index: integers[N] or one integer, each from 0 to size(round) - 1.
            round: 0 is the first.
        """
        dealt = self._dealt(round)
        wanted = np.atleast_1d(np.asarray(index))
        if wanted.ndim != 1 or not (wanted.size == 0 or np.issubdtype(wanted.dtype, np.integer)):
            raise UsageError(
                f"indices are a row of integers, not {wanted.ndim} axes of the type {wanted.dtype}"
            )
        cards = np.zeros((wanted.size, sum(dealt)), dtype=np.uint8)
        bad = self._unindex(np.ascontiguousarray(wanted, dtype=np.int64), dealt, cards)
        if bad >= 0:
            raise UsageError(
                f"index {wanted[bad]} in row {bad} is out of range: round {round} of {self.cards_per_round} "
                f"has the indices 0 to {self.size(round) - 1}"
            )
        return cards

    def verified_shape(self, cards: npt.ArrayLike, round: int) -> Cards:
        """Return deals as contiguous uint8[N, num_cards(round)]; which cards they hold is not yet checked."""
        num_cards = self.num_cards(round)
        deals = np.asarray(cards)
        deals = deals[np.newaxis] if deals.ndim == 1 else deals
        if deals.ndim != 2 or deals.shape[1] != num_cards:
            raise UsageError(
                f"deals of the shape {np.shape(cards)} do not fit round {round} of {self.cards_per_round}: "
                f"a row has {num_cards} cards"
            )
        if deals.size and not np.issubdtype(deals.dtype, np.integer):
            raise UsageError(f"cards are integers from 0 to {NUM_CARDS - 1}, not of the type {deals.dtype}")
        if deals.dtype != np.uint8 and deals.size:
            outside = ((deals < 0) | (deals >= NUM_CARDS)).any(axis=1)
            if outside.any():
                self._refuse(deals, int(outside.argmax()))
        return np.ascontiguousarray(deals, dtype=np.uint8)

    def _refuse(self, deals: npt.NDArray[np.integer], row: int) -> None:
        """Say what is wrong with the deal in a row; nothing is when the row is -1."""
        if row < 0:
            return
        self.deck.verify(deals[row].tolist(), f"row {row}: ")
        raise AssertionError(f"row {row} was refused without a reason")

    def _dealt(self, round: int) -> Pattern:
        """Return the cards of each round up to and including a round."""
        if not 0 <= round < self.num_rounds:
            raise UsageError(
                f"round {round} does not exist: {self.cards_per_round} has 0 to {self.num_rounds - 1}"
            )
        return self.cards_per_round[: round + 1]

    @abstractmethod
    def _index(self, deals: Cards, dealt: Pattern, index: npt.NDArray[np.int64]) -> int:
        """Fill `index`; return the first bad row, or -1."""

    @abstractmethod
    def _unindex(self, index: npt.NDArray[np.int64], dealt: Pattern, cards: Cards) -> int:
        """Fill `cards`; return the first bad row, or -1."""


class HandIndexer(RoundIndexer):
    """Numbers deals up to a permutation of the suits, perfectly.

    >>> HandIndexer((2, 3, 1, 1)).size(3)
    2428287420
    """

    def size(self, round: int) -> int:
        """Return the number of classes after a round."""
        return suit_tables(self._dealt(round), self.deck).size

    def _index(self, deals: Cards, dealt: Pattern, index: npt.NDArray[np.int64]) -> int:
        t = suit_tables(dealt, self.deck)
        places = np.empty(sum(dealt), dtype=np.int64)
        return int(
            kernels.index_hands(deals, *t.key_arguments, t.configuration_of, t.configuration, places, index)
        )

    def sort_suits(self, cards: npt.ArrayLike, round: int) -> Cards:
        """Return where each suit of the deck stands when the suits of a deal are sorted: uint8[N, 4].

        Two deals of one class become equal when suits of equal position are identified. Columns are the
        suits of the deck in order; those beyond its number of suits stand for suits without cards.
        """
        deals = self.verified_shape(cards, round)
        t = suit_tables(self._dealt(round), self.deck)
        places = np.empty(deals.shape[1], dtype=np.int64)
        position = np.empty((len(deals), 4), dtype=np.uint8)
        self._refuse(deals, int(kernels.sort_suits(deals, *t.key_arguments, places, position)))
        return position

    def _unindex(self, index: npt.NDArray[np.int64], dealt: Pattern, cards: Cards) -> int:
        t = suit_tables(dealt, self.deck)
        return int(
            kernels.unindex_hands(
                index,
                t.size,
                *_deck_numbers(self.deck),
                t.round_begin,
                t.digit_bits,
                t.configuration,
                t.patterns,
                t.pattern_count,
                t.pattern_size,
                t.arrangement_begin,
                t.arrangements,
                t.num_rank_sets,
                t.rank_sets,
                np.empty(len(dealt), dtype=np.int64),
                np.empty(4, dtype=np.int64),
                cards,
            )
        )


class RankIndexer(RoundIndexer):
    """Numbers deals up to permutations of the suits of each rank: by the multisets of ranks in each round.

    >>> [RankIndexer((1, 1), Deck("JQK", "hs")).size(round) for round in (0, 1)]
    [3, 9]
    """

    def size(self, round: int) -> int:
        """Return the number of classes after a round."""
        return rank_tables(self._dealt(round), self.deck).size

    def _index(self, deals: Cards, dealt: Pattern, index: npt.NDArray[np.int64]) -> int:
        t = rank_tables(dealt, self.deck)
        scratch = np.empty(self.deck.num_ranks, dtype=np.int64)
        weights = np.repeat(t.weight_of_round, dealt)
        return int(
            kernels.index_ranks(deals, card_places(self.deck), weights, t.full, t.before, scratch, index)
        )

    def _unindex(self, index: npt.NDArray[np.int64], dealt: Pattern, cards: Cards) -> int:
        t = rank_tables(dealt, self.deck)
        return int(
            kernels.unindex_ranks(
                index,
                t.size,
                *_deck_numbers(self.deck),
                t.round_begin,
                t.weight_of_round,
                np.array(dealt, dtype=np.int64) + 1,
                t.full,
                t.before,
                np.empty(len(dealt), dtype=np.int64),
                cards,
            )
        )


@cache
def card_places(deck: Deck) -> npt.NDArray[np.uint8]:
    """Return 16 * suit + rank, counted within the deck, for each card number: uint8[256]."""
    places = np.full(256, kernels.NOT_IN_DECK, dtype=np.uint8)
    for i, card in enumerate(deck.cards):
        rank, suit = divmod(i, deck.num_suits)
        places[card] = 16 * suit + rank
    return places


@cache
def _deck_numbers(deck: Deck) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the suit numbers, padded to 4, and the rank numbers, padded to 13, of a deck."""
    suits = [SUITS.index(letter) for letter in deck.suits]
    ranks = [RANKS.index(letter) for letter in deck.ranks]
    return (
        np.array(suits + [0] * (len(SUITS) - len(suits)), dtype=np.int64),
        np.array(ranks + [0] * (len(RANKS) - len(ranks)), dtype=np.int64),
    )


@dataclass(frozen=True)
class SuitTables:
    """Everything that indexing one round needs.

    K cards, R rounds, P patterns, C configurations; arrangements hold `digit_bits` bits for each card of
    a suit, its round, the lowest rank in the lowest bits, and a one above them.

    Attributes:
        size: number of classes.
        digit_bits: bits of one round number.
        first_column: first column of a deal whose round is not 0.
        round_begin: int64[R + 1], columns of the rounds.
        round_of: int64[K], round of each column.
        place: uint8[256], see `card_places`.
        popcount: uint8[8192], cards of a rank set.
        colex: int32[8192], number of a rank set among those of its size.
        arrangement_key: int32[2 ** (digit_bits * K + 1)], pattern and share of the index.
        configuration_of: int32[P (P + 1) (P + 2) / 6], by the three largest patterns.
        configuration: int64[C, 8]: offset; strides of the sorted suits 1, 2, 3 (that of suit 0 is 1);
            unused; degrees of the suits 1, 2, 3, which count equal patterns up to each.
        patterns: int64[C, 4], ascending.
        pattern_count: int64[P], cards of a pattern.
        pattern_size: int64[P], rank sets times arrangements of a pattern.
        arrangement_begin: int64[P], where its arrangements begin.
        arrangements: int64[*], pattern after pattern.
        num_rank_sets: int64[8], rank sets of each size.
        rank_sets: int64[8, *], rank sets of each size in colexicographic order.
    """

    size: int
    digit_bits: int
    first_column: int
    round_begin: npt.NDArray[np.int64]
    round_of: npt.NDArray[np.int64]
    place: npt.NDArray[np.uint8]
    popcount: npt.NDArray[np.uint8]
    colex: npt.NDArray[np.int32]
    arrangement_key: npt.NDArray[np.int32]
    configuration_of: npt.NDArray[np.int32]
    configuration: npt.NDArray[np.int64]
    patterns: npt.NDArray[np.int64]
    pattern_count: npt.NDArray[np.int64]
    pattern_size: npt.NDArray[np.int64]
    arrangement_begin: npt.NDArray[np.int64]
    arrangements: npt.NDArray[np.int64]
    num_rank_sets: npt.NDArray[np.int64]
    rank_sets: npt.NDArray[np.int64]

    @property
    def key_arguments(self) -> tuple[object, ...]:
        """The tables that turn a deal into the keys of its suits, in the order of the kernels."""
        return (
            self.place,
            self.round_of,
            self.first_column,
            self.digit_bits,
            self.popcount,
            self.colex,
            self.arrangement_key,
        )


@cache
def suit_tables(dealt: Pattern, deck: Deck) -> SuitTables:
    """Build the tables for deals of these rounds."""
    num_cards, num_ranks = sum(dealt), deck.num_ranks
    digit_bits = max(1, (len(dealt) - 1).bit_length())
    popcount, colex = _rank_set_tables()
    num_rank_sets = np.array([comb(num_ranks, n) for n in range(MAX_CARDS + 1)], dtype=np.int64)
    rank_sets = np.zeros((MAX_CARDS + 1, int(num_rank_sets.max())), dtype=np.int64)
    for ranks in range(1 << num_ranks):
        if popcount[ranks] <= MAX_CARDS:
            rank_sets[popcount[ranks], colex[ranks]] = ranks

    # Pattern 0 is the suit without cards; a suit cannot hold more cards than there are ranks.
    patterns = [p for p in product(*(range(n + 1) for n in dealt)) if sum(p) <= num_ranks]
    key = np.zeros(1 << (digit_bits * num_cards + 1), dtype=np.int32)
    arrangements: list[int] = []
    arrangement_begin, pattern_size = [], []
    for number, pattern in enumerate(patterns):
        arrangement_begin.append(len(arrangements))
        rank_set_count = comb(num_ranks, sum(pattern))
        for i, rounds in enumerate(_arrangements(pattern)):
            code = 1 << (digit_bits * len(rounds))
            code |= sum(round << (digit_bits * place) for place, round in enumerate(rounds))
            key[code] = number << kernels.KEY_BITS | i * rank_set_count
            arrangements.append(code)
        pattern_size.append((len(arrangements) - arrangement_begin[-1]) * rank_set_count)

    configurations = list(_configurations(dealt, patterns, deck.num_suits))
    table = np.zeros((len(configurations), 8), dtype=np.int64)
    configuration_of = np.full(comb(len(patterns) + 2, 3), -1, dtype=np.int32)
    size = 0
    for number, configuration in enumerate(configurations):
        table[number, 0] = size
        configuration_of[sum(comb(p + i, i + 1) for i, p in enumerate(configuration[1:]))] = number
        stride, suit = 1, 0
        for pattern_number, group in groupby(configuration):
            length = len(list(group))
            for degree in range(1, length + 1):
                if suit > 0:
                    table[number, suit] = stride
                    table[number, 4 + suit] = degree
                suit += 1
            stride *= comb(pattern_size[pattern_number] + length - 1, length)
        size += stride

    round_begin = np.array([0, *accumulate(dealt)], dtype=np.int64)
    return SuitTables(
        size=size,
        digit_bits=digit_bits,
        first_column=dealt[0],
        round_begin=round_begin,
        round_of=np.repeat(np.arange(len(dealt)), dealt),
        place=card_places(deck),
        popcount=popcount,
        colex=colex,
        arrangement_key=key,
        configuration_of=configuration_of,
        configuration=table,
        patterns=np.array(configurations, dtype=np.int64),
        pattern_count=np.array([sum(p) for p in patterns], dtype=np.int64),
        pattern_size=np.array(pattern_size, dtype=np.int64),
        arrangement_begin=np.array(arrangement_begin, dtype=np.int64),
        arrangements=np.array(arrangements, dtype=np.int64),
        num_rank_sets=num_rank_sets,
        rank_sets=rank_sets,
    )


@cache
def _rank_set_tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Return the sizes of all rank sets, uint8[8192], and their colexicographic numbers, int32[8192]."""
    ranks = np.arange(1 << len(RANKS))
    popcount = np.zeros(ranks.size, dtype=np.uint8)
    colex = np.zeros(ranks.size, dtype=np.int32)
    binomial = np.array([[comb(r, i) for i in range(len(RANKS) + 1)] for r in range(len(RANKS))])
    for rank in range(len(RANKS)):
        member = (ranks >> rank) & 1
        popcount += member.astype(np.uint8)
        colex += (member * binomial[rank, popcount]).astype(np.int32)
    return popcount, colex


def _arrangements(pattern: Pattern) -> Iterator[tuple[int, ...]]:
    """Yield every order of the rounds in which a pattern's cards may appear from low to high rank."""
    if not any(pattern):
        yield ()
    for round, count in enumerate(pattern):
        if count:
            rest = (*pattern[:round], count - 1, *pattern[round + 1 :])
            for tail in _arrangements(rest):
                yield (round, *tail)


def _configurations(dealt: Pattern, patterns: list[Pattern], num_suits: int) -> Iterator[tuple[int, ...]]:
    """Yield all ascending fours of pattern numbers whose cards add up to the deal; absent suits are empty."""
    number = {pattern: i for i, pattern in enumerate(patterns)}

    def extend(chosen: tuple[int, ...], left: Pattern, suits_left: int) -> Iterator[tuple[int, ...]]:
        smallest = chosen[-1] if chosen else 0
        if suits_left == 1:
            last = number.get(left, -1)
            if last >= smallest:
                yield (*chosen, last)
            return
        for i in range(smallest, len(patterns)):
            if all(p <= n for p, n in zip(patterns[i], left, strict=True)):
                rest = tuple(n - p for p, n in zip(patterns[i], left, strict=True))
                yield from extend((*chosen, i), rest, suits_left - 1)

    for configuration in extend((), dealt, num_suits):
        yield (0,) * (len(SUITS) - num_suits) + configuration


@dataclass(frozen=True)
class RankTables:
    """Everything that rank indexing of one round needs: R ranks, P patterns in mixed radix.

    Attributes:
        size: number of classes.
        full: pattern of all cards together.
        round_begin: int64[rounds + 1], columns of the rounds.
        weight_of_round: int64[rounds], what one card of a round adds to a pattern.
        before: int64[R, P, P + 1]: with a pattern still left to deal to this and later ranks, the number of
            ways in which this rank takes a smaller pattern than the last axis says.
    """

    size: int
    full: int
    round_begin: npt.NDArray[np.int64]
    weight_of_round: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]


@cache
def rank_tables(dealt: Pattern, deck: Deck) -> RankTables:
    """Count the ways to complete a deal, from the last rank back to the first."""
    weights = [*accumulate((n + 1 for n in dealt), lambda a, b: a * b, initial=1)]
    patterns = [p[::-1] for p in product(*(range(n + 1) for n in reversed(dealt)))]
    takes = [
        (left, pattern, left - pattern)
        for left, pattern in product(range(len(patterns)), repeat=2)
        if sum(patterns[pattern]) <= deck.num_suits
        and all(p <= n for p, n in zip(patterns[pattern], patterns[left], strict=True))
    ]
    before = np.zeros((deck.num_ranks, len(patterns), len(patterns) + 1), dtype=np.int64)
    ways = np.zeros(len(patterns), dtype=np.int64)
    ways[0] = 1
    for rank in reversed(range(deck.num_ranks)):
        for left, pattern, rest in takes:
            before[rank, left, pattern + 1] = ways[rest]
        np.cumsum(before[rank], axis=1, out=before[rank])
        ways = before[rank, :, -1].copy()
    return RankTables(
        size=int(ways[-1]),
        full=len(patterns) - 1,
        round_begin=np.array([0, *accumulate(dealt)], dtype=np.int64),
        weight_of_round=np.array(weights[:-1], dtype=np.int64),
        before=before,
    )
