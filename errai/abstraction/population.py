"""The deals of a round with what recall asks of them: their bucket in the round before, class and weight."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.abstraction.features import _features as kernels
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.round_buckets import RoundBuckets
from errai.cards.hands import open_deals
from errai.games.deals import Deals
from errai.workers import Progress, start_workers

BOARDS_A_CHUNK = 128
DEALS_A_CHUNK = 100_000


@dataclass(frozen=True)
class Population:
    """Deals of a round.

    Attributes:
        parents: uint32[N] bucket in the round before.
        classes: uint32[N] class of (hole cards, unordered board).
        weights: uint16[N] how often each deal counts.
    """

    parents: npt.NDArray[np.uint32]
    classes: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.uint16]

    def by_parent(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the deals sorted by parent, and where each parent's begin, up to the largest."""
        order = np.argsort(self.parents, kind="stable")
        ends = np.searchsorted(self.parents[order], np.arange(int(self.parents.max()) + 2))
        return order, ends


def all_deals(
    deals: Deals, classes: HandClasses, r: int, parent: RoundBuckets, num_threads: int | None
) -> Population:
    """Return every canonical deal of a round, in the order of its index."""
    board_round, row_round = deals.board_round(r), deals.row_round(r)
    boards, weights = deals.boards.cards(board_round), deals.boards.weights(board_round)
    size = deals.num_rows(r)
    parents, of_class = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    counted = np.zeros(size, dtype=np.uint16)
    num_hole = classes.rules.num_hole_cards
    before = num_hole + classes.num_board_cards(r - 1)

    def work(begin: int, end: int) -> None:
        cards, place = open_deals(classes.rules.deck, num_hole, boards[begin:end])
        index = deals.rows.index(cards, row_round)
        parents[index] = parent.of_deals(np.ascontiguousarray(cards[:, :before]))
        of_class[index] = classes.index(cards, r)
        kernels.count_deals(index, place, len(classes.hands), weights[begin:end], counted)

    with start_workers(num_threads) as workers:
        for _ in workers.map(work, len(boards), BOARDS_A_CHUNK, Progress(None, len(boards))):
            pass
    return Population(parents, of_class, counted)


def sampled_deals(
    deals: Deals,
    classes: HandClasses,
    r: int,
    parent: RoundBuckets,
    size: int,
    seed: int,
    num_threads: int | None,
) -> Population:
    """Return random deals of a round, each as likely as any other."""
    parents, of_class = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    num_hole = classes.rules.num_hole_cards
    before = num_hole + classes.num_board_cards(r - 1)
    num_cards = num_hole + classes.num_board_cards(r)
    deck = np.array(classes.rules.deck.cards, dtype=np.uint8)

    def work(begin: int, end: int) -> None:
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, begin))))
        cards = deck[_distinct(rng, len(deck), num_cards, end - begin)]
        parents[begin:end] = parent.of_deals(np.ascontiguousarray(cards[:, :before]))
        of_class[begin:end] = classes.index(cards, r)

    with start_workers(num_threads) as workers:
        for _ in workers.map(work, size, DEALS_A_CHUNK, Progress(None, size)):
            pass
    return Population(parents, of_class, np.ones(size, dtype=np.uint16))


def random_deals(classes: HandClasses, r: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return random deals of a round: uint8[N, hole + board]."""
    deck = np.array(classes.rules.deck.cards, dtype=np.uint8)
    num_cards = classes.rules.num_hole_cards + classes.num_board_cards(r)
    return np.asarray(deck[_distinct(rng, len(deck), num_cards, size)])


def _distinct(
    rng: np.random.Generator, num_different: int, num_drawn: int, size: int
) -> npt.NDArray[np.int64]:
    """Draw rows of different numbers: draw with replacement, and draw again what repeats."""
    rows = rng.integers(num_different, size=(size, num_drawn))
    while True:
        ordered = np.sort(rows, axis=1)
        bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(bad) == 0:
            return rows
        rows[bad] = rng.integers(num_different, size=(len(bad), num_drawn))
