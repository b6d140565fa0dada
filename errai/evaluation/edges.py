"""Edges: how often a hand wins against one known hand at the showdown, less how often it loses.

The edge of a hand times the chips that each player has put in is what it wins on average if nobody bets any
more: its all-in equity, centred on zero. The mean of the next edges over the cards that come next is the edge
before them, which is what makes them the material of value functions.

After the first public deal every run-out is tried. Before it, in hold'em with the whole deck, edges are read
from a table of all pairs of hands, made once from all boards (some seconds) and kept in the cache folder. In
smaller games every run-out is tried there, too.
"""

from collections import OrderedDict
from functools import cache, cached_property
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.cache import CACHED_EDGES
from errai.array_file import read_array, write_array
from errai.cards import _evaluator
from errai.cards.boards import CanonicalBoards
from errai.cards.deck import FULL_DECK, NUM_CARDS
from errai.cards.equity import suit_permutations
from errai.cards.evaluator import evaluator_tables
from errai.errors import UsageError
from errai.evaluation import _edges
from errai.games.rules import PokerRules, Showdown
from errai.kernels import cache_root
from errai.workers import start_workers

Floats64 = npt.NDArray[np.float64]
Cards = npt.NDArray[np.uint8]

MOST_RUNOUTS = 200_000
"""More, for every hand of a log, would take days."""

EDGES_KEPT = 12
BOARDS_AT_ONCE = 64
"""Their strengths stay near while all pairs of hands are compared."""

TABLE_PATH = Path(CACHED_EDGES) / "holdem.array"
"""In the cache folder."""


class Edges:
    """The edges of all hands of a game."""

    def __init__(self, rules: PokerRules) -> None:
        """Get ready.

        Args:
            rules: a two-player game whose hands are compared as poker hands.
        """
        if rules.num_players != 2 or rules.showdown is not Showdown.POKER or rules.num_hole_cards > 2:
            raise UsageError(
                f"'{rules.name}' has no edges: expected two players with one or two hole cards each, "
                "compared as poker hands"
            )
        self.rules = rules
        self.hands = rules.deck.hands(rules.num_hole_cards)
        self._num_board_cards = sum(rules.num_board_cards)
        self._tables = evaluator_tables()
        self._keys, self._masks = self._pack(self.hands)
        self._runouts: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}
        self._kept: OrderedDict[tuple[tuple[int, ...], tuple[int, ...]], Floats64] = OrderedDict()
        self._shares: OrderedDict[tuple[int, ...], Floats64] = OrderedDict()

    @cached_property
    def is_holdem(self) -> bool:
        """Whether these are hold'em's hands and board, whatever the betting."""
        return (self.rules.deck, self.rules.num_hole_cards, self._num_board_cards) == (FULL_DECK, 2, 5)

    def against(self, opponent: tuple[int, ...], board: tuple[int, ...]) -> Floats64:
        """Return the edge of every hand against a known one: float64[H], 0 for hands that share a card.

        Args:
            opponent: hole cards of the known hand.
            board: the public cards so far.
        """
        key = (tuple(sorted(opponent)), tuple(sorted(board)))
        found = self._kept.get(key)
        if found is None:
            if not board and self.is_holdem:
                found = self.of_pairs[:, self.rules.deck.hand_index(opponent)]
            else:
                found = self._enumerated(opponent, board)
            self._kept[key] = found
            if len(self._kept) > EDGES_KEPT:
                self._kept.popitem(last=False)
        return found

    @cached_property
    def of_pairs(self) -> Floats64:
        """The edge of every hand against every other before the first public deal: float64[H, H]."""
        if self.is_holdem:
            return holdem_edges()
        columns = [self._enumerated(tuple(hand), ()) for hand in self.hands.tolist()]
        return np.stack(columns, axis=1)

    @cached_property
    def open_pairs(self) -> npt.NDArray[np.bool_]:
        """Which pairs of hands share no card: bool[H, H]."""
        is_open: npt.NDArray[np.bool_] = self._masks[:, np.newaxis] & self._masks == 0
        return is_open

    def strengths(self, board: tuple[int, ...]) -> Floats64:
        """Return the share of other hands that each hand beats on a board as it lies: float64[H].

        Ties count as half. Before the first public deal: the share of showdowns that it wins. 0 for hands
        that the board blocks.
        """
        key = tuple(sorted(board))
        found = self._shares.get(key)
        if found is None:
            found = self._strengths(board)
            self._shares[key] = found
            if len(self._shares) > EDGES_KEPT:
                self._shares.popitem(last=False)
        return found

    def of_pair(
        self, pair: tuple[tuple[int, ...], tuple[int, ...]], board: tuple[int, ...], deals: Cards
    ) -> tuple[Floats64, Floats64]:
        """Return how two hands stand after each of some deals: strengths float64[D, 2], edges float64[D].

        Args:
            pair: hole cards of both.
            board: the public cards before the deal.
            deals: uint8[D, cards] public cards that come next, none of them seen before.
        """
        keys, masks = self._pack(np.array(pair, dtype=np.uint8))
        board_keys, board_masks = self._pack(np.array([board], dtype=np.uint8).reshape(1, -1))
        strengths, edges = np.empty((len(deals), 2)), np.empty(len(deals))
        _edges.compare_pair(
            board_keys[0],
            board_masks[0],
            *self._pack(deals),
            *self._runouts_of(self._num_board_cards - len(board) - deals.shape[1]),
            keys,
            masks,
            self._keys,
            self._masks,
            self._tables,
            strengths,
            edges,
        )
        return strengths, edges

    def _strengths(self, board: tuple[int, ...]) -> Floats64:
        if not board:
            mean: Floats64 = (self.of_pairs * self.open_pairs).sum(axis=1) / self.open_pairs.sum(axis=1)
            return (1 + mean) / 2
        key, mask = self._pack(np.array([board], dtype=np.uint8))
        found = np.empty(len(self.hands), dtype=np.int32)
        _evaluator.strengths_on_board(
            key[0] + _evaluator.EMPTY_KEY, mask[0], self._keys, self._masks, self._tables, found
        )
        numbers = np.flatnonzero(found != _evaluator.BLOCKED)
        ranked = np.sort(found[numbers].astype(np.int64) << 16 | numbers)
        shares = np.zeros(len(self.hands))
        counts = np.empty((2, NUM_CARDS), dtype=np.int64)
        _edges.count_beaten(ranked, self.hands, counts[0], counts[1], shares)
        return shares

    def _enumerated(self, opponent: tuple[int, ...], board: tuple[int, ...]) -> Floats64:
        rules, num_missing = self.rules, self._num_board_cards - len(board)
        runout_keys, runout_masks = self._runouts_of(num_missing)
        keys, masks = self._pack(np.array([opponent], dtype=np.uint8))
        board_keys, board_masks = self._pack(np.array([board], dtype=np.uint8).reshape(1, -1))
        sums = np.empty(len(self.hands), dtype=np.int64)
        _edges.sum_edges(
            board_keys[0],
            board_masks[0],
            runout_keys,
            runout_masks,
            keys[0],
            masks[0],
            self._keys,
            self._masks,
            self._tables,
            np.empty(len(self.hands), dtype=np.int64),
            sums,
        )
        num_unseen = rules.deck.size - len(board) - 2 * rules.num_hole_cards
        return sums / comb(num_unseen, num_missing)

    def _runouts_of(self, num_cards: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        found = self._runouts.get(num_cards)
        if found is None:
            deck = self.rules.deck
            if comb(deck.size, num_cards) > MOST_RUNOUTS:
                raise UsageError(
                    f"{comb(deck.size, num_cards):,} boards of '{self.rules.name}' are too many to try: "
                    f"at most {MOST_RUNOUTS:,} are"
                )
            runouts = list(combinations(deck.cards, num_cards))
            rows = np.array(runouts, dtype=np.uint8).reshape(len(runouts), num_cards)
            found = self._runouts[num_cards] = self._pack(rows)
        return found

    def _pack(self, rows: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        keys, masks = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
        _evaluator.pack_rows(rows, self._tables, keys, masks)
        return keys, masks


@cache
def holdem_edges() -> Floats64:
    """Return the edge of every hand of hold'em against every other before the flop: float64[1326, 1326].

    It is read from the cache folder, or made and kept there.
    """
    path = cache_root() / TABLE_PATH
    try:
        sums = read_array(path)[1]
    except UsageError:
        sums = _sum_all_boards()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_array(path, sums, name=path.stem, units="boards won less boards lost")
    return sums / comb(NUM_CARDS - 4, 5)


def _sum_all_boards() -> npt.NDArray[np.int32]:
    """Return, for each pair of hands, the boards that the first wins less those that it loses."""
    hands, tables = FULL_DECK.hands(2), evaluator_tables()
    boards = CanonicalBoards((5,))
    cards, weights = boards.cards(0), boards.weights(0)
    keys, masks = np.empty(len(hands), dtype=np.int64), np.empty(len(hands), dtype=np.int64)
    _evaluator.pack_rows(hands, tables, keys, masks)
    board_keys, board_masks = np.empty(len(cards), dtype=np.int64), np.empty(len(cards), dtype=np.int64)
    _evaluator.pack_rows(cards, tables, board_keys, board_masks)

    def work(begin: int, end: int) -> npt.NDArray[np.float32]:
        sums = np.zeros((len(hands), len(hands)), dtype=np.float32)
        found = np.empty(len(hands), dtype=np.int32)
        row = np.empty(len(hands), dtype=np.float32)
        for first in range(begin, end, BOARDS_AT_ONCE):
            here = range(first, min(first + BOARDS_AT_ONCE, end))
            strengths = np.empty((len(here), len(hands)), dtype=np.float32)
            shares = np.empty((len(here), len(hands)), dtype=np.float32)
            for place, board in enumerate(here):
                _evaluator.strengths_on_board(
                    board_keys[board] + _evaluator.EMPTY_KEY, board_masks[board], keys, masks, tables, found
                )
                strengths[place] = found
                shares[place] = np.where(found == _evaluator.BLOCKED, 0, weights[board])
            _edges.sum_pair_edges(strengths, shares, row, sums)
        return sums

    sums = np.zeros((len(hands), len(hands)), dtype=np.int64)
    with start_workers(None) as workers:
        for _, _, part in workers.map(work, len(cards), 8192):
            sums += part.astype(np.int64)
    sums -= sums.T  # what the second wins, the first loses
    # A canonical board stands for its images under all renamings of suits, each as often as the others.
    _, images = suit_permutations()
    total = np.zeros_like(sums)
    for image in images:
        total += sums[np.ix_(image, image)]
    total //= len(images)
    total[masks[:, np.newaxis] & masks != 0] = 0
    return total.astype(np.int32)
