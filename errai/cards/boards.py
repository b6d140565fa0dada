"""Canonical public boards: one for each class of boards that differ only by a renaming of suits.

A board is dealt in rounds, whose order counts; *round* r of a board is what lies there after r + 1 public
deals, and round -1 is the empty board, which every game has. The steps:

1. Apply every permutation of the suits to a board, sort the cards of each round, and keep the smallest
   result (first round first). That is the canonical board of the class. Its earlier rounds are again a
   canonical board, its parent, so a walk down the boards never renames a suit.
2. The canonical boards of a round, in ascending order, are numbered 0, 1, ... The children of a board are
   therefore neighbours. `HandIndexer` finds the class of a dealt board, a table the number of the class.
3. By the orbit-stabiliser theorem a board stands for (permutations of the suits) / (those that fix it)
   dealt boards: its weight. Divided by its parent's weight, it is the number of deals from the parent.

A renaming that takes a dealt board to the canonical one takes hands along: `card_permutation[card]`.
Where suits never matter (Leduc) the suits of each rank are renamed on their own, and a canonical board is
a pattern of ranks. The symmetry is that of the "canonical chance events" of Johanson, Waugh, Bowling and
Zinkevich, "Accelerating Best Response Calculation in Large Extensive Games", 2011.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.cards import _boards as kernels
from errai.cards.deck import FULL_DECK, NUM_CARDS, NUM_SUITS, RANKS, SUITS, Deck
from errai.cards.isomorphism import HandIndexer, RankIndexer
from errai.errors import UsageError

MAX_BOARDS = 100_000_000  # several gigabytes of tables; no known game comes near
MAX_STABILISER = 100_000


class CanonicalBoard(NamedTuple):
    """The canonical board of a dealt one, and the renaming that leads there.

    Attributes:
        board_index: number of the canonical board in its round.
        card_permutation: uint8[52], what each card becomes.
        suit_permutation: uint8[4], what each suit becomes; None where suits do not matter, because each
            rank then has a permutation of its own.
    """

    board_index: int
    card_permutation: npt.NDArray[np.uint8]
    suit_permutation: npt.NDArray[np.uint8] | None


class CanonicalBoardBatch(NamedTuple):
    """The same for many boards.

    Attributes:
        board_index: int64[N].
        card_permutation: uint8[N, 52].
        suit_permutation: uint8[N, 4], or None.
    """

    board_index: npt.NDArray[np.int64]
    card_permutation: npt.NDArray[np.uint8]
    suit_permutation: npt.NDArray[np.uint8] | None


@dataclass(frozen=True)
class BoardRound:
    """The canonical boards of one round: B boards of K cards, A boards in the round before.

    Attributes:
        cards: uint8[B, K], in ascending order, so the children of a board are neighbours.
        weights: int64[B], dealt boards that each stands for.
        parent: int32[B], its earlier rounds among the boards of the round before.
        child_begin: int64[A + 1], where the children of each board of the round before begin.
        deals_from_parent: int32[B], deals of this round that lead from the parent to this class.
        number_of_class: int32[B], number of the board of each class of the indexer.
    """

    cards: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int32]
    child_begin: npt.NDArray[np.int64]
    deals_from_parent: npt.NDArray[np.int32]
    number_of_class: npt.NDArray[np.int32]


class CanonicalBoards:
    """All canonical boards of a game, built round by round when they are first asked for.

    >>> boards = CanonicalBoards((3, 1, 1))
    >>> boards.num_boards(0), int(boards.weights(0).sum())
    (1755, 22100)

    Attributes:
        cards_per_round: public cards dealt in each round; empty for a game without a board.
        deck: the cards that may be dealt.
        suits_matter: False if the suits of each rank are interchangeable on their own.
    """

    def __init__(
        self, cards_per_round: Sequence[int], deck: Deck = FULL_DECK, suits_matter: bool = True
    ) -> None:
        self.cards_per_round = tuple(int(n) for n in cards_per_round)
        self.deck = deck
        self.suits_matter = suits_matter
        self._indexer: HandIndexer | RankIndexer | None = None
        if self.cards_per_round:
            self._indexer = (HandIndexer if suits_matter else RankIndexer)(self.cards_per_round, deck)
        self._suits = np.array([SUITS.index(letter) for letter in deck.suits], dtype=np.uint8)
        self._in_deck = np.isin(np.arange(NUM_CARDS), deck.cards)
        self._suit_permutations = self._all_suit_permutations()
        self._rounds: list[BoardRound] = []

    @property
    def num_rounds(self) -> int:
        """Number of public deals."""
        return len(self.cards_per_round)

    def num_cards(self, round: int) -> int:
        """Return the number of cards of a board."""
        self._verify_round(round)
        return sum(self.cards_per_round[: round + 1])

    def num_boards(self, round: int) -> int:
        """Return the number of canonical boards, without building them."""
        self._verify_round(round)
        return 1 if self._indexer is None or round < 0 else self._indexer.size(round)

    def cards(self, round: int) -> npt.NDArray[np.uint8]:
        """Return the canonical boards, uint8[B, num_cards(round)]: ascending, and sorted by parent."""
        return self._built(round).cards if round != -1 else np.zeros((1, 0), dtype=np.uint8)

    def weights(self, round: int) -> npt.NDArray[np.int64]:
        """Return how many dealt boards each canonical board stands for, int64[B].

        The order between rounds counts, the order inside a round does not.
        """
        return self._built(round).weights if round != -1 else np.ones(1, dtype=np.int64)

    def parent(self, round: int) -> npt.NDArray[np.int32]:
        """Return the number of each board's parent in the round before, int32[B]."""
        return self._built(round).parent

    def child_begin(self, round: int) -> npt.NDArray[np.int64]:
        """Return where the boards of this round begin for each board of the round before, int64[A + 1]."""
        return self._built(round).child_begin

    def deals_from_parent(self, round: int) -> npt.NDArray[np.int32]:
        """Return how many deals lead from the canonical parent to each class, int32[B]."""
        return self._built(round).deals_from_parent

    def index(self, boards: npt.ArrayLike, round: int) -> npt.NDArray[np.int64]:
        """Return the number of the canonical board of each dealt board, int64[N].

        Args:
            boards: integers[N, num_cards(round)], rounds in order, any order inside a round; one board
                may come without the first axis.
            round: -1 is the empty board.
        """
        self._verify_round(round)
        if self._indexer is None or round < 0:
            return np.zeros(len(_verified_empty(boards)), dtype=np.int64)
        classes = self._indexer.index(boards, round)  # refuses bad boards before any table is built
        return self._built(round).number_of_class[classes].astype(np.int64)

    def canonicalise(self, board: Sequence[int] | npt.NDArray[np.integer], round: int) -> CanonicalBoard:
        """Return the canonical board of one dealt board and the renaming of cards that leads there.

        Args:
            board: card numbers, rounds in order, any order inside a round.
            round: -1 is the empty board.
        """
        if np.ndim(board) != 1:
            raise UsageError(f"one board has one axis, not {np.ndim(board)}: give many to canonicalise_many")
        many = self.canonicalise_many(board, round)
        suits = many.suit_permutation
        return CanonicalBoard(
            int(many.board_index[0]), many.card_permutation[0], suits[0] if suits is not None else None
        )

    def canonicalise_many(self, boards: npt.ArrayLike, round: int) -> CanonicalBoardBatch:
        """Do the same for boards of the shape integers[N, num_cards(round)]."""
        board_index = self.index(boards, round)
        if self.suits_matter:
            suits = self._renamed_suits(boards, board_index, round)
            return CanonicalBoardBatch(board_index, card_permutations(suits), suits)
        canonical = self.cards(round)[board_index]
        dealt = np.ascontiguousarray(boards, dtype=np.uint8).reshape(canonical.shape)
        permutation = np.empty((len(board_index), NUM_CARDS), dtype=np.uint8)
        kernels.match_cards(dealt, canonical, self._round_begin(round), self._in_deck, permutation)
        return CanonicalBoardBatch(board_index, permutation, None)

    def _renamed_suits(
        self, boards: npt.ArrayLike, board_index: npt.NDArray[np.int64], round: int
    ) -> npt.NDArray[np.uint8]:
        """Return what each suit of dealt boards becomes in their canonical boards, uint8[N, 4]."""
        suits = np.empty((len(board_index), NUM_SUITS), dtype=np.uint8)
        if not isinstance(self._indexer, HandIndexer) or round < 0:
            suits[:] = np.arange(NUM_SUITS)
            return suits
        # Both boards have the same suits when these are sorted, so a suit becomes the one with its position.
        position = self._indexer.sort_suits(boards, round)
        canonical_position = self._indexer.sort_suits(self.cards(round)[board_index], round)
        kernels.rename_suits(position, canonical_position, self._suits, suits)
        return suits

    def stabiliser(self, round: int, index: int) -> npt.NDArray[np.uint8]:
        """Return all suit permutations that fix a canonical board round by round, uint8[G, 4].

        Values of hands at a board are unchanged by these; values computed from canonical children only
        are made whole by averaging over the stabiliser of the parent.
        """
        if not self.suits_matter:
            raise UsageError("suits do not matter on these boards: ask for card_stabiliser instead")
        cards = self._one_board(round, index)
        images = (cards & 60) + self._suit_permutations[:, cards & 3]
        begin = self._round_begin(round)
        for first, last in pairwise(begin):
            images[:, first:last].sort(axis=1)
        fixing: npt.NDArray[np.uint8] = self._suit_permutations[(images == cards).all(axis=1)]
        return fixing

    def card_stabiliser(self, round: int, index: int) -> npt.NDArray[np.uint8]:
        """Return all renamings of cards that fix a canonical board round by round, uint8[G, 52].

        Where suits do not matter these are products over the ranks, refused when they are too many.
        """
        if self.suits_matter:
            return card_permutations(self.stabiliser(round, index))
        cards = self._one_board(round, index).tolist()
        begin = self._round_begin(round)
        choices = []
        for rank in (RANKS.index(letter) for letter in self.deck.ranks):
            rounds = [{c & 3 for c in cards[a:b] if c >> 2 == rank} for a, b in pairwise(begin)]
            choices.append(
                [
                    rank * 4 + p
                    for p in self._suit_permutations
                    if all({int(p[suit]) for suit in suits} == suits for suits in rounds)
                ]
            )
        size = prod(len(choice) for choice in choices)
        if size > MAX_STABILISER:
            raise UsageError(
                f"board {index} of round {round} has {size} symmetries: at most {MAX_STABILISER} are listed"
            )
        stabiliser = np.tile(np.arange(NUM_CARDS, dtype=np.uint8), (size, 1))
        for row, combination in enumerate(product(*choices)):
            for images in combination:
                first = int(images.min())
                stabiliser[row, first : first + NUM_SUITS] = images
        return stabiliser

    def _built(self, round: int) -> BoardRound:
        """Return a round that has a parent, building it and those before it where needed."""
        self._verify_round(round)
        if round < 0:
            raise UsageError("round -1 is the empty board, which has no parent and no deals")
        if (num_boards := self.num_boards(round)) > MAX_BOARDS:
            raise UsageError(
                f"round {round} of {self.cards_per_round} has {num_boards} canonical boards: "
                f"at most {MAX_BOARDS} are built"
            )
        while len(self._rounds) <= round:
            self._rounds.append(self._build(len(self._rounds)))
        return self._rounds[round]

    def _build(self, round: int) -> BoardRound:
        """Make the canonical boards of a round from the classes of the indexer."""
        indexer = self._indexer
        num_boards = self.num_boards(round)
        assert indexer is not None
        boards = indexer.unindex(np.arange(num_boards), round)
        num_before = sum(self.cards_per_round[:round])
        if self.suits_matter:
            parent = self.index(boards[:, :num_before], round - 1)
            kernels.rename_cards(self._renamed_suits(boards[:, :num_before], parent, round - 1), boards)
            weights = np.empty(num_boards, dtype=np.int64)
            dealt = self.cards_per_round[: round + 1]
            kernels.minimise_last_round(
                np.repeat(np.arange(round + 1), dealt),
                num_before,
                self._suit_permutations,
                np.empty(round + 1, dtype=np.int64),
                boards,
                weights,
            )
            boards[:, :num_before] = self.cards(round - 1)[parent]
        else:
            parent = self.index(boards[:, :num_before], round - 1)
            weights = self.weights(round - 1)[parent] * self._num_rank_deals(boards, num_before)
        order = _sort_by_parent(parent, boards[:, num_before:])
        parent = parent[order]
        number_of_class = np.empty(num_boards, dtype=np.int32)
        number_of_class[order] = np.arange(num_boards, dtype=np.int32)
        num_parents = len(self.weights(round - 1))
        built = BoardRound(
            cards=boards[order],
            weights=weights[order],
            parent=parent.astype(np.int32),
            child_begin=np.searchsorted(parent, np.arange(num_parents + 1)),
            deals_from_parent=(weights[order] // self.weights(round - 1)[parent]).astype(np.int32),
            number_of_class=number_of_class,
        )
        for array in vars(built).values():
            array.setflags(write=False)
        return built

    def _num_rank_deals(self, boards: npt.NDArray[np.uint8], num_before: int) -> npt.NDArray[np.int64]:
        """Return how many deals of the last columns have the ranks that they have, int64[B]."""
        num_suits = self.deck.num_suits
        choose = np.array([[comb(n, k) for k in range(num_suits + 1)] for n in range(num_suits + 1)])
        deals = np.ones(len(boards), dtype=np.int64)
        for rank in (RANKS.index(letter) for letter in self.deck.ranks):
            is_rank = boards >> 2 == rank
            left = num_suits - is_rank[:, :num_before].sum(axis=1)
            deals *= choose[left, is_rank[:, num_before:].sum(axis=1)]
        return deals

    def _one_board(self, round: int, index: int) -> npt.NDArray[np.uint8]:
        """Return one canonical board."""
        num_boards = self.num_boards(round)
        if not 0 <= index < num_boards:
            raise UsageError(
                f"board {index} does not exist: round {round} has the canonical boards 0 to {num_boards - 1}"
            )
        board: npt.NDArray[np.uint8] = self.cards(round)[index]
        return board

    def _round_begin(self, round: int) -> npt.NDArray[np.int64]:
        """Return the columns where the rounds begin, and the number of cards: int64[round + 2]."""
        return np.cumsum([0, *self.cards_per_round[: round + 1]])

    def _all_suit_permutations(self) -> npt.NDArray[np.uint8]:
        """Return all permutations of the deck's suits, the identity first; absent suits stay."""
        num_suits = self.deck.num_suits
        table = np.tile(np.arange(NUM_SUITS, dtype=np.uint8), (factorial(num_suits), 1))
        table[:, self._suits] = self._suits[np.array(list(permutations(range(num_suits))))]
        return table

    def _verify_round(self, round: int) -> None:
        """Refuse a round that does not exist."""
        if not -1 <= round < self.num_rounds:
            raise UsageError(
                f"round {round} does not exist: boards of {self.cards_per_round} have the rounds "
                f"-1 (empty) to {self.num_rounds - 1}"
            )


def card_permutations(suit_permutations: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return what suit permutations, uint8[N, 4], do to each card, uint8[N, 52]."""
    cards = np.tile(np.arange(NUM_CARDS, dtype=np.uint8), (len(suit_permutations), 1))
    kernels.rename_cards(suit_permutations, cards)
    return cards


def _sort_by_parent(
    parent: npt.NDArray[np.int64], last_round: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int64]:
    """Return the order of boards by parent and then by the cards of the last round."""
    key = parent.astype(np.int64)
    for column in last_round.T:
        key = key << 6 | column  # at most 27 bits of parent and 6 for a card; 7 cards have one parent
    return np.argsort(key)


def _verified_empty(boards: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return empty boards as uint8[N, 0]."""
    given = np.asarray(boards)
    given = given[np.newaxis] if given.ndim == 1 else given
    if given.ndim != 2 or given.shape[1] != 0:
        raise UsageError(f"boards of the shape {np.shape(boards)} do not fit round -1, the empty board")
    return given.astype(np.uint8)
