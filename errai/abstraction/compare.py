"""How much two abstractions of the same cards agree, round by round.

Both part the hands of a round; from the table n_ij of hands in bucket i of the one and j of the other:

- Rand index: the share of pairs of hands on which they agree, together in both or apart in both (Rand 1971).
  Adjusted (Hubert and Arabie 1985) it is 0 where buckets of these sizes agree by chance alone, 1 where
  they are the same.
- mutual information of the two buckets of a hand, over the mean of their entropies: 0 where one tells
  nothing of the other, 1 where each tells the other.
- refinement: the share of the one's buckets, empty ones left out, that lie within one bucket of the other.

The hands are all classes where both abstractions part classes, all canonical deals where these are few,
and random deals otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.abstraction.describe import Numbers, is_by_class, round_buckets
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.population import random_deals
from errai.abstraction.protocol import CardAbstraction
from errai.abstraction.round_buckets import ClassTable, DealTable
from errai.errors import UsageError
from errai.games.deals import Deals

MOST_CANONICAL_DEALS = 2_000_000
ROWS_A_CHUNK = 1 << 20
DEALS_A_CHUNK = 100_000
MOST_CELLS = 1 << 26
"""Cells of a table n_ij that is kept whole; larger ones are kept as the cells that are not empty."""


@dataclass(frozen=True)
class Overlap:
    """How much two abstractions agree in a round.

    Attributes:
        num_hands: hands that were compared.
        unit: what they are: classes, canonical deals or random deals.
        num_buckets: of both, empty ones included.
        num_used: of both, those in which there are hands.
        rand: share of pairs of hands on which they agree.
        adjusted_rand: the same, 0 by chance.
        mutual_information: normalised, 0 to 1.
        refinement: share of the first's buckets within one of the second, and the other way about.
    """

    num_hands: int
    unit: str
    num_buckets: tuple[int, int]
    num_used: tuple[int, int]
    rand: float
    adjusted_rand: float
    mutual_information: float
    refinement: tuple[float, float]


def compare_round(
    first: CardAbstraction,
    second: CardAbstraction,
    r: int,
    player: int = 0,
    num_deals: int = 100_000,
    seed: int = 0,
) -> Overlap:
    """Compare two abstractions in a round.

    Args:
        first: an abstraction.
        second: one of the same cards.
        r: the round, from 0.
        player: position.
        num_deals: random deals, where not all hands are compared.
        seed: of them.
    """
    if num_deals < 2:
        raise UsageError(f"the number of deals to compare must be 2 or more, not {num_deals}")
    if not first.game.deals_like(second.game):
        raise UsageError(
            f"'{first.name}' and '{second.name}' cannot be compared: the cards of '{first.game.name}' are "
            f"not those of '{second.game.name}'"
        )
    if is_by_class(first, r, player) and is_by_class(second, r, player):
        unit, pairs = "classes", _all_classes(first, second, r, player)
    elif Deals(first.game).num_rows(r) <= MOST_CANONICAL_DEALS:
        unit, pairs = "canonical deals", _canonical_deals(first, second, r, player)
    else:
        unit, pairs = "random deals", _random_deals(first, second, r, player, num_deals, seed)
    num_buckets = (first.num_buckets(r, player), second.num_buckets(r, player))
    i, j, counts = _table(pairs, num_buckets[1], num_buckets[0] * num_buckets[1])
    return overlap(i, j, counts, unit, num_buckets)


def overlap(
    i: Numbers, j: Numbers, counts: Numbers, unit: str = "classes", num_buckets: tuple[int, int] | None = None
) -> Overlap:
    """Return the measures of a table n_ij, given by its cells that are not empty.

    Args:
        i: int64[C] bucket of the first, for each cell.
        j: int64[C] bucket of the second.
        counts: int64[C] hands of both, above 0.
        unit: what they are.
        num_buckets: of both; those used, without it.
    """
    _, i = np.unique(i, return_inverse=True)
    _, j = np.unique(j, return_inverse=True)
    a, b = _sums(i, counts), _sums(j, counts)
    total = int(counts.sum())
    both, in_a, in_b, pairs = _pairs(counts), _pairs(a), _pairs(b), total * (total - 1) // 2
    by_chance = in_a * in_b / pairs if pairs else 0.0
    most = (in_a + in_b) / 2
    shares, expected = counts / total, (a[i] / total) * (b[j] / total)
    information = float(np.sum(shares * np.log(shares / expected)))
    entropies = [-float(np.sum(size / total * np.log(size / total))) for size in (a, b)]
    used = (len(a), len(b))
    return Overlap(
        total,
        unit,
        num_buckets or used,
        used,
        (pairs + 2 * both - in_a - in_b) / pairs if pairs else 1.0,
        (both - by_chance) / (most - by_chance) if most != by_chance else 1.0,
        max(0.0, 2 * information / sum(entropies)) if sum(entropies) > 0 else 1.0,
        (float(np.mean(np.bincount(i) == 1)), float(np.mean(np.bincount(j) == 1))),
    )


def _pairs(sizes: Numbers) -> int:
    """Return the pairs within parts of these sizes; no game has the 3 billion hands that would overflow."""
    return int(np.sum(sizes * (sizes - 1) // 2))


def _sums(place: Numbers, counts: Numbers) -> Numbers:
    sums = np.zeros(int(place.max()) + 1, dtype=np.int64)
    np.add.at(sums, place, counts)
    return sums


def _table(
    pairs: Iterator[tuple[Numbers, Numbers]], num_second: int, num_cells: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Count pairs of buckets: returns the cells that are not empty, and their counts."""
    cells: npt.NDArray[np.int64]
    if num_cells <= MOST_CELLS:
        dense = np.zeros(num_cells, dtype=np.int64)
        for i, j in pairs:
            np.add.at(dense, i * num_second + j, 1)
        cells = np.flatnonzero(dense)
        counts = dense[cells]
    else:
        cells, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        for i, j in pairs:
            some, some_counts = np.unique(i * num_second + j, return_counts=True)
            cells, place = np.unique(np.concatenate([cells, some]), return_inverse=True)
            counts = _sums(place, np.concatenate([counts, some_counts]))
    return cells // num_second, cells % num_second, counts


def _all_classes(
    first: CardAbstraction, second: CardAbstraction, r: int, player: int
) -> Iterator[tuple[Numbers, Numbers]]:
    size = HandClasses(first.game).size(r)
    for begin in range(0, size, ROWS_A_CHUNK):
        rows = np.arange(begin, min(begin + ROWS_A_CHUNK, size))
        yield _of_classes(first, rows, r, player), _of_classes(second, rows, r, player)


def _of_classes(abstraction: CardAbstraction, rows: Numbers, r: int, player: int) -> Numbers:
    kept = round_buckets(abstraction, r, player)
    if isinstance(kept, ClassTable | DealTable):
        return kept.table[rows[0] : rows[-1] + 1].astype(np.int64)
    return rows


def _canonical_deals(
    first: CardAbstraction, second: CardAbstraction, r: int, player: int
) -> Iterator[tuple[Numbers, Numbers]]:
    deals = Deals(first.game)
    size = deals.num_rows(r)
    for begin in range(0, size, DEALS_A_CHUNK):
        rows = np.arange(begin, min(begin + DEALS_A_CHUNK, size))
        yield _of_deals(first, second, deals.rows.unindex(rows, deals.row_round(r)), r, player)


def _random_deals(
    first: CardAbstraction, second: CardAbstraction, r: int, player: int, num_deals: int, seed: int
) -> Iterator[tuple[Numbers, Numbers]]:
    classes = HandClasses(first.game)
    for begin in range(0, num_deals, DEALS_A_CHUNK):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, begin))))
        cards = random_deals(classes, r, min(DEALS_A_CHUNK, num_deals - begin), rng)
        yield _of_deals(first, second, cards, r, player)


def _of_deals(
    first: CardAbstraction, second: CardAbstraction, cards: npt.NDArray[np.uint8], r: int, player: int
) -> tuple[Numbers, Numbers]:
    i, j = (one.buckets(cards, r, player).astype(np.int64) for one in (first, second))
    return i, j
