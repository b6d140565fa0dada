"""Deals: one hand for each player and one board for each round, and where they stand in the tables.

A *source* of deals fills a batch: for each deal the row of each player in each round, who wins the showdown,
and a key, from which whoever walks the deal draws further. Deal n of an iteration is the same whoever asks
for it, in whatever batch. Sources are made for

- games whose cells are all in memory, with tables of cells or of buckets (`CellDeals`): a dealt board is
  looked up by its number, its cards are renamed as on the canonical board, and a table of all hands at
  all canonical boards gives the cell;
- games whose cells never fit, with buckets in every round that has more than one board (`BucketDeals`): the
  abstraction is asked for the buckets of a whole batch at once, so every kind of abstraction works;
- Bluff (`DiceDeals`).

Chance sampling deals so: Johanson's thesis 2016, section 3.3.
"""

from itertools import combinations
from math import comb
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair
from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.engine import _deals as kernels
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.bluff import num_bids
from errai.games.deals import Deals
from errai.games.rules import PokerRules, Showdown
from errai.memory import verify_memory
from errai.tables.bucket_layout import BucketLayout
from errai.tree.cells import cells_below

MAX_BOARD_NUMBERS = 1 << 24
"""Dealt boards of a round, told apart by the order of rounds alone, that are looked up in a table."""


class DealBatch(NamedTuple):
    """Some deals, iteration by iteration.

    Attributes:
        rows: int64[N * 2 * R * ROW_WIDTH] where each player's slots are in each round, see `_deals.FIRST`.
        outcomes: int8[N * K] what showdowns come to, `FIRST_WINS`, `TIE` or `SECOND_WINS`; one with cards, in
            Bluff one for each bid.
        keys: uint64[N] of the random numbers of each deal.
    """

    rows: npt.NDArray[np.int64]
    outcomes: npt.NDArray[np.int8]
    keys: npt.NDArray[np.uint64]

    @staticmethod
    def zeros(num_deals: int, num_rounds: int, num_outcomes: int) -> "DealBatch":
        """Allocate a batch."""
        return DealBatch(
            np.zeros(num_deals * 2 * num_rounds * kernels.ROW_WIDTH, dtype=np.int64),
            np.zeros(num_deals * num_outcomes, dtype=np.int8),
            np.zeros(num_deals, dtype=np.uint64),
        )

    def by_round(self) -> npt.NDArray[np.int64]:
        """Return a view of `rows` as int64[N, 2, R, ROW_WIDTH]."""
        return self.rows.reshape(len(self.keys), 2, -1, kernels.ROW_WIDTH)

    def by_outcome(self) -> npt.NDArray[np.int8]:
        """Return a view of `outcomes` as int8[N, K]."""
        return self.outcomes.reshape(len(self.keys), -1)

    def part(self, first: int, last: int) -> "DealBatch":
        """Return a view of some of the deals."""
        rows, outcomes = (len(array) // len(self.keys) for array in (self.rows, self.outcomes))
        return DealBatch(
            self.rows[first * rows : last * rows],
            self.outcomes[first * outcomes : last * outcomes],
            self.keys[first:last],
        )


class DealSource(Protocol):
    """Deals of a game; several threads may ask at once, each with a batch of its own."""

    def batch(self, num_deals: int) -> DealBatch:
        """Allocate a batch."""

    def fill(self, batch: DealBatch, seed: int, first_deal: int, num_lanes: int) -> None:
        """Deal.

        Args:
            batch: to be filled with neighbouring deals.
            seed: of all random numbers.
            first_deal: the first of them: the iteration times `num_lanes`, plus which of its deals it is.
            num_lanes: deals of an iteration.
        """


class CellFinder(NamedTuple):
    """From dealt cards to cells. Tables of all rounds follow each other.

    Attributes:
        place: uint8[256] of each card in the deck.
        binomial: int64[53, 8].
        num_sets: int64[R] sets of as many cards as the round deals.
        board_begin: int64[R + 1] board cards before each round.
        number_begin: int64[R] where the boards of a round begin in `board` and `renaming`.
        board: int32[...] the canonical board of each dealt one, counted from the round's first.
        renaming: uint16[...] which renaming of cards leads there.
        renamed: uint8[renamings, 52] the place in the deck of what a card becomes.
        round_board: int64[R + 1].
        cell_begin: int64[B + 1].
        cell_table: int64[R] where the cells of a round begin in `cell`.
        num_hands: hands of the deck.
        cell: int16[...] the cell of each hand at each canonical board, counted from the board's first.
        order: int32[C, 4] as in `PlayerCells`.
    """

    place: npt.NDArray[np.uint8]
    binomial: npt.NDArray[np.int64]
    num_sets: npt.NDArray[np.int64]
    board_begin: npt.NDArray[np.int64]
    number_begin: npt.NDArray[np.int64]
    board: npt.NDArray[np.int32]
    renaming: npt.NDArray[np.uint16]
    renamed: npt.NDArray[np.uint8]
    round_board: npt.NDArray[np.int64]
    cell_begin: npt.NDArray[np.int64]
    cell_table: npt.NDArray[np.int64]
    num_hands: int
    cell: npt.NDArray[np.int16]
    order: npt.NDArray[np.int32]


def cell_finder(tree: PublicTree) -> CellFinder:
    """Make the look-up tables of a game whose cells are in memory."""
    rules, cells = tree.rules, tree.cells
    deals, deck = Deals(rules), rules.deck
    num_rounds, num_hands = rules.num_rounds, deck.num_hands(rules.num_hole_cards)
    num_sets = np.array([comb(deck.size, dealt) for dealt in rules.num_board_cards])
    num_numbers = np.cumprod(num_sets)
    round_board = cells.links.round_board
    if num_numbers[-1] > MAX_BOARD_NUMBERS:
        raise UsageError(
            f"'{rules.name}' deals {num_numbers[-1]:,} boards: one deal is found among at most "
            f"{MAX_BOARD_NUMBERS:,}"
        )
    num_cells = int(round_board[-1]) * num_hands
    num_bytes = int(num_numbers.sum()) * 6 + num_cells * 2
    verify_memory(num_bytes + 60 * int(num_numbers[-1]), f"finding the deals of '{rules.name}'")
    place = np.zeros(256, dtype=np.uint8)
    place[list(deck.cards)] = np.arange(deck.size)
    binomial = np.array([[comb(n, k) for k in range(8)] for n in range(53)])
    board_begin = np.array([0, *np.cumsum(rules.num_board_cards)])
    board = np.zeros(int(num_numbers.sum()), dtype=np.int32)
    renaming = np.zeros(len(board), dtype=np.uint16)
    number_begin = np.cumsum(num_numbers) - num_numbers
    renamings: list[npt.NDArray[np.uint8]] = []
    known: dict[bytes, int] = {}
    dealt_boards = np.zeros((1, 0), dtype=np.uint8)
    for r in range(num_rounds):
        dealt_boards = _deal_more(dealt_boards, deck.cards, rules.num_board_cards[r])
        numbers = np.empty(len(dealt_boards), dtype=np.int64)
        kernels.number_boards(dealt_boards, board_begin[: r + 2], place, binomial, num_sets[: r + 1], numbers)
        found = deals.boards.canonicalise_many(dealt_boards, deals.board_round(r))
        unique, which = np.unique(found.card_permutation, axis=0, return_inverse=True)
        for permutation in unique:
            if permutation.tobytes() not in known:
                known[permutation.tobytes()] = len(renamings)
                renamings.append(place[permutation])
        named = np.array([known[permutation.tobytes()] for permutation in unique])
        board[number_begin[r] + numbers] = found.board_index
        renaming[number_begin[r] + numbers] = named[which.ravel()]
    cell = np.full((int(round_board[-1]), num_hands), -1, dtype=np.int16)
    player = cells.players[0]
    kernels.number_hands(
        player.cell_begin, player.hand_begin, player.hand_card, rules.num_hole_cards, place, cell
    )
    return CellFinder(
        place=place,
        binomial=binomial,
        num_sets=num_sets,
        board_begin=board_begin,
        number_begin=number_begin,
        board=board,
        renaming=renaming,
        renamed=np.stack(renamings),
        round_board=round_board,
        cell_begin=player.cell_begin,
        cell_table=round_board[:-1] * num_hands,
        num_hands=num_hands,
        cell=cell.ravel(),
        order=player.order,
    )


def _deal_more(boards: npt.NDArray[np.uint8], deck: tuple[int, ...], num_cards: int) -> npt.NDArray[np.uint8]:
    """Return every board with every set of some more cards of the deck."""
    sets = list(combinations(deck, num_cards))
    more = np.array(sets, dtype=np.uint8).reshape(len(sets), num_cards)
    longer = np.concatenate([np.repeat(boards, len(more), axis=0), np.tile(more, (len(boards), 1))], axis=1)
    shared = np.zeros(len(longer), dtype=bool)
    for old in range(boards.shape[1]):
        for new in range(boards.shape[1], longer.shape[1]):
            shared |= longer[:, old] == longer[:, new]
    return np.ascontiguousarray(longer[~shared])


class _CardDeals:
    """What deals of cards have in common.

    Attributes:
        rules: the game.
    """

    def __init__(self, rules: PokerRules) -> None:
        self.rules = rules
        self._deck = np.array(rules.deck.cards, dtype=np.uint8)
        self._num_cards = 2 * rules.num_hole_cards + sum(rules.num_board_cards)

    def batch(self, num_deals: int) -> DealBatch:
        """Allocate a batch."""
        return DealBatch.zeros(num_deals, self.rules.num_rounds, 1)

    def _cards(self, batch: DealBatch, seed: int, first_deal: int, num_lanes: int) -> npt.NDArray[np.uint8]:
        """Draw hole cards of the first player, of the second, and boards: uint8[N, cards]."""
        cards = np.empty((len(batch.keys), self._num_cards), dtype=np.uint8)
        places = np.empty(self._num_cards, dtype=np.uint64)
        kernels.deal_cards(seed, first_deal, num_lanes, self._deck.copy(), places, batch.keys, cards)
        return cards


class CellDeals(_CardDeals):
    """Deals of a game whose cells are all in memory."""

    def __init__(self, tree: PublicTree) -> None:
        super().__init__(tree.rules)
        if tree.weights is not None:
            raise UsageError("a spot with ranges of its own has no deals to sample: expected a whole game")
        self._layout, self._finder = tree.layout, cell_finder(tree)

    def fill(self, batch: DealBatch, seed: int, first_deal: int, num_lanes: int) -> None:
        """Deal; arguments as for every source."""
        self.place(self._cards(batch, seed, first_deal, num_lanes), batch)

    def place(self, cards: npt.NDArray[np.uint8], batch: DealBatch) -> None:
        """Find the rows and the outcomes of given deals.

        Args:
            cards: uint8[N, cards] hole cards of the first player, of the second, then the board.
            batch: to be filled.
        """
        layout = self._layout
        kernels.place_deals(
            cards,
            self.rules.num_hole_cards,
            self._finder,
            layout.bucket,
            layout.bucketed,
            layout.begin,
            layout.stride,
            batch.rows,
            batch.outcomes,
        )


_NO_BUCKETS = np.zeros(0, dtype=np.int64)


class BucketDeals(_CardDeals):
    """Deals of a game whose cells do not fit into memory; its tables have buckets."""

    def __init__(self, rules: PokerRules, layout: BucketLayout, abstractions: AbstractionPair) -> None:
        """Prepare to deal.

        Args:
            rules: the game.
            layout: of its tables.
            abstractions: [position] what the layout was made for.
        """
        super().__init__(rules)
        self._layout, self._abstractions = layout, abstractions
        # A round without buckets has one board, so the hole cards alone tell the cell.
        first = cells_below(Deals(rules), 0, 0, dealt=True, last_round=0)
        hands = rules.deck.hands(rules.num_hole_cards)
        self._cell_of = np.zeros((256, 256), dtype=np.int64)
        found = first.cells_of_hands(0, 0, hands)
        self._cell_of[hands[:, 0], hands[:, -1]] = self._cell_of[hands[:, -1], hands[:, 0]] = found

    def fill(self, batch: DealBatch, seed: int, first_deal: int, num_lanes: int) -> None:
        """Deal; arguments as for every source."""
        self.place(self._cards(batch, seed, first_deal, num_lanes), batch)

    def place(self, cards: npt.NDArray[np.uint8], batch: DealBatch) -> None:
        """Ask for the buckets of given deals and compare hands; arguments as for `CellDeals.place`."""
        rules, layout = self.rules, self._layout
        hole, board = rules.num_hole_cards, cards[:, 2 * rules.num_hole_cards :]
        own = np.stack(
            [np.concatenate([cards[:, q * hole : (q + 1) * hole], board], axis=1) for q in (0, 1)], axis=1
        )
        for r in range(rules.num_rounds):
            buckets = self._buckets(own[:, :, : hole + rules.num_board_cards_by(r)], r)
            for q in (0, 1):
                rows = batch.by_round()[:, q, r]
                begin, stride = layout.begin[q, r], layout.stride[q, r]
                if layout.bucketed[q, r]:
                    rows[:, kernels.FIRST] = begin + buckets[q] * stride
                    rows[:, kernels.STRIDE] = 1
                else:
                    rows[:, kernels.FIRST] = begin + self._cell_of[own[:, q, 0], own[:, q, hole - 1]]
                    rows[:, kernels.STRIDE] = stride
        rank = evaluate if rules.showdown is Showdown.POKER else evaluate_three_card
        strengths = [rank(np.ascontiguousarray(own[:, q])) for q in (0, 1)]
        batch.outcomes[:] = kernels.TIE - np.sign(strengths[0] - strengths[1])

    def _buckets(self, seen: npt.NDArray[np.uint8], r: int) -> tuple[npt.NDArray[np.int64], ...]:
        """Return [position] the bucket of each deal in a round, where it has any.

        Args:
            seen: uint8[N, 2, hole + board] what each position sees.
            r: the round.
        """
        first, second = self._abstractions
        is_bucketed = self._layout.bucketed[:, r]
        if is_bucketed.all() and first is second and first is not None and first.num_players_described == 1:
            num_deals, _, num_cards = seen.shape
            # Both hands of a deal are neighbours: what compares hands ranks those of a board once for both.
            both = first.buckets(np.ascontiguousarray(seen.reshape(-1, num_cards)), r)
            found = both.astype(np.int64).reshape(num_deals, 2)
            return found[:, 0], found[:, 1]
        buckets = []
        for q, abstraction in enumerate(self._abstractions):
            if is_bucketed[q]:
                assert abstraction is not None
                of_deals = abstraction.buckets(np.ascontiguousarray(seen[:, q]), r, q)
                buckets.append(of_deals.astype(np.int64))
            else:
                buckets.append(_NO_BUCKETS)
        return tuple(buckets)


class DiceDeals:
    """Rolls of one round of Bluff."""

    def __init__(self, tree: PublicTree, dice: tuple[int, int]) -> None:
        """Prepare to roll.

        Args:
            tree: the bidding.
            dice: [player].
        """
        assert tree.weights is not None
        cells, layout = tree.cells, tree.layout
        first, second = (np.cumsum(weights / weights.sum()) for weights in tree.weights)
        self._chances = (first, second)
        self._matches = (
            cells.players[0].matches[: len(first)],
            cells.players[1].matches[: len(second)],
        )
        self._begin, self._stride = layout.begin, layout.stride
        self._num_bids = num_bids(dice)

    def batch(self, num_deals: int) -> DealBatch:
        """Allocate a batch."""
        return DealBatch.zeros(num_deals, self._begin.shape[1], self._num_bids)

    def fill(self, batch: DealBatch, seed: int, first_deal: int, num_lanes: int) -> None:
        """Roll; arguments as for every source."""
        kernels.deal_dice(
            seed,
            first_deal,
            num_lanes,
            self._chances,
            self._matches,
            self._begin,
            self._stride,
            batch.keys,
            batch.by_round(),
            batch.by_outcome(),
        )
