"""What an abstraction looks like: how full its buckets are, which hands one holds, what features say of them.

How the hands of a round are counted depends on how its buckets are kept (`round_buckets.py`):

- a table over classes, or lossless buckets of them: every class; in deals, too, if the feature cache, which
  knows how many deals a class stands for, is at hand.
- a table over canonical deals, or lossless buckets of them: every canonical deal.
- anything else (a last round that is refined when it is looked up, public clusters, groups of ranks): every
  deal of every canonical board where these are few, else all deals of some random boards. As each hand is
  dealt with each of them equally often, these are random deals.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.abstraction.abstraction import Abstraction
from errai.abstraction.features.features import (
    HISTOGRAMS,
    NUM_BINS,
    OCHS,
    OCHS_SCALE,
    FeaturePlan,
    Features,
)
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.population import random_deals
from errai.abstraction.protocol import CardAbstraction
from errai.abstraction.round_buckets import ClassTable, DealTable, Lossless, RoundBuckets
from errai.cards.deck import format_cards
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rounds import in_round
from errai.games.rules import PokerRules

MOST_BOARDS = 2_000
"""Boards whose deals are looked up one by one: all of a round where it has no more, random ones otherwise."""

BOARDS_A_CHUNK = 64
ROWS_A_CHUNK = 1 << 21

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


class Spread(NamedTuple):
    """Sizes of the buckets that are not empty."""

    smallest: int
    median: float
    largest: int

    @staticmethod
    def of(sizes: Numbers) -> "Spread":
        """Return the spread of some sizes, empty buckets left out."""
        used = sizes[sizes > 0]
        return Spread(int(used.min()), float(np.median(used)), int(used.max()))


@dataclass(frozen=True)
class Occupancy:
    """How full the buckets of a round are.

    Attributes:
        num_buckets: empty ones included.
        num_used: not empty; in a sample, seen.
        hands: classes or canonical deals in a bucket; None where deals were looked up one by one.
        deals: deals in a bucket; None where the number of deals behind a canonical hand is not known.
        num_sampled: random deals that were looked up; 0 where everything was counted.
    """

    num_buckets: int
    num_used: int
    hands: Spread | None
    deals: Spread | None
    num_sampled: int = 0


@dataclass(frozen=True)
class Members:
    """The hands of a bucket.

    Attributes:
        classes: int64[N] class of each.
        deals: int64[N] deals that each stands for; None where that is not known.
        unit: what one of them is, in the plural.
        num_sampled: random deals among which they were found; 0 where all hands are listed.
    """

    classes: Numbers
    deals: Numbers | None
    unit: str
    _cards: Callable[[Numbers], npt.NDArray[np.uint8]]
    num_sampled: int = 0

    def __len__(self) -> int:
        return len(self.classes)

    def cards(self, places: Numbers) -> npt.NDArray[np.uint8]:
        """Return the cards of some of them: uint8[*, hole + board]."""
        return self._cards(places)


@dataclass(frozen=True)
class Profile:
    """What features say of a hand, or on average of the hands of a bucket.

    Attributes:
        strength: E[HS].
        weakest: least E[HS] of the hands.
        strongest: largest E[HS] of the hands.
        squared: E[HS2].
        ochs: strength against each opponent cluster, from the weakest to the strongest; empty where the cache
            does not have it.
        points: chances of the strengths `grid`, in a round before the last whose histograms the cache has.
        grid: [51] strengths, a bin apart. A strength between two of them counts for both, for each the more
            the nearer it is, so that the mean is E[HS].
    """

    strength: float
    weakest: float
    strongest: float
    squared: float
    ochs: tuple[float, ...]
    points: tuple[float, ...]
    grid: tuple[float, ...]


def features_of(abstraction: CardAbstraction) -> Features | None:
    """Return the features that an abstraction was made of; None where the cache does not have them."""
    num_clusters = getattr(abstraction, "num_opponent_clusters", None)
    if num_clusters is None:
        return None
    plan = FeaturePlan.of(abstraction.game, num_clusters or None, needed=())
    return Features(plan) if plan.is_complete() else None


def round_buckets(abstraction: CardAbstraction, r: int, player: int) -> RoundBuckets | None:
    """Return how the buckets of a round are kept; None for abstractions of another build."""
    if not isinstance(abstraction, Abstraction):
        return None
    return abstraction.rounds[player if abstraction.num_players_described > 1 else 0][r]


def is_by_class(abstraction: CardAbstraction, r: int, player: int = 0) -> bool:
    """Return whether a bucket is a table's entry, or the number, of a class of hands."""
    kept = round_buckets(abstraction, r, player)
    if isinstance(kept, ClassTable):
        return True
    # Where a board has no order yet, canonical deals are the classes, in the same order.
    classes, deals = HandClasses(abstraction.game), Deals(abstraction.game)
    return isinstance(kept, DealTable | Lossless) and deals.num_rows(r) == classes.size(r)


def occupancy(
    abstraction: CardAbstraction, r: int, player: int = 0, features: Features | None = None, seed: int = 0
) -> Occupancy:
    """Count how full the buckets of a round are.

    Args:
        abstraction: any kind.
        r: the round, from 0.
        player: position.
        features: of its game, if at hand: they know how many deals a class stands for.
        seed: of the random boards, where not all can be looked at.
    """
    kept = round_buckets(abstraction, r, player)
    num_buckets = abstraction.num_buckets(r, player)
    weights = features.deals(r) if features is not None and is_by_class(abstraction, r, player) else None
    if isinstance(kept, Lossless):
        deals = Spread.of(np.asarray(weights, dtype=np.int64)) if weights is not None else None
        return Occupancy(num_buckets, num_buckets, Spread(1, 1.0, 1), deals)
    if isinstance(kept, ClassTable | DealTable):
        sizes, in_deals = np.zeros((2, num_buckets), dtype=np.int64)
        for begin in range(0, len(kept.table), ROWS_A_CHUNK):
            labels = kept.table[begin : begin + ROWS_A_CHUNK]
            sizes += np.bincount(labels, minlength=num_buckets)
            if weights is not None:
                counted = np.bincount(labels, weights[begin : begin + ROWS_A_CHUNK], num_buckets)
                in_deals += counted.astype(np.int64)
        deals = Spread.of(in_deals) if weights is not None else None
        return Occupancy(num_buckets, int(np.count_nonzero(sizes)), Spread.of(sizes), deals)
    sizes, num_sampled = np.zeros(num_buckets, dtype=np.int64), 0
    for cards, weight in _deals(abstraction.game, r, seed):
        labels = abstraction.buckets(cards, r, player)
        np.add.at(sizes, labels, weight)
        num_sampled += len(cards)
    if has_few_boards(abstraction.game, r):
        num_sampled = 0
    return Occupancy(num_buckets, int(np.count_nonzero(sizes)), None, Spread.of(sizes), num_sampled)


def members(
    abstraction: CardAbstraction,
    r: int,
    bucket: int,
    player: int = 0,
    features: Features | None = None,
    seed: int = 0,
) -> Members:
    """Return the hands of a bucket, each class or canonical deal once.

    Args:
        abstraction: any kind.
        r: the round, from 0.
        bucket: its number, from 0.
        player: position.
        features: of its game, if at hand.
        seed: of the random boards, where not all can be looked at.
    """
    num_buckets = abstraction.num_buckets(r, player)
    rules = abstraction.game
    if not 0 <= bucket < num_buckets:
        raise UsageError(
            f"bucket {bucket} does not exist {in_round(rules, r)} of '{abstraction.name}': "
            f"it must be 0 to {num_buckets - 1:,}"
        )
    classes, deals = HandClasses(rules), Deals(rules)
    kept = round_buckets(abstraction, r, player)
    if isinstance(kept, ClassTable | DealTable | Lossless):
        rows = np.array([bucket]) if isinstance(kept, Lossless) else _rows_of(kept.table, bucket)
        if is_by_class(abstraction, r, player):
            weights = features.deals(r)[rows].astype(np.int64) if features is not None else None
            return Members(rows, weights, "classes", lambda places: classes.unindex(rows[places], r))
        cards = deals.rows.unindex(rows, deals.row_round(r))
        return Members(classes.index(cards, r), None, "canonical deals", lambda places: cards[places])
    found, counts, num_sampled = [], [], 0
    for cards, weight in _deals(rules, r, seed):
        chosen = abstraction.buckets(cards, r, player) == bucket
        found.append(cards[chosen])
        counts.append(weight[chosen])
        num_sampled += len(cards)
    # Deals of one canonical deal are told once, with their number.
    cards = np.concatenate(found)
    row = deals.rows.index(cards, deals.row_round(r))
    _, first, place = np.unique(row, return_index=True, return_inverse=True)
    totals = np.zeros(len(first), dtype=np.int64)
    np.add.at(totals, place.reshape(-1), np.concatenate(counts))
    return Members(
        classes.index(cards[first], r),
        totals,
        "canonical deals",
        lambda places: cards[first[places]],
        0 if has_few_boards(rules, r) else num_sampled,
    )


def profile(features: Features, r: int, classes: Numbers, weights: Numbers | None = None) -> Profile:
    """Return what features say of some classes on average.

    Args:
        features: of the game.
        r: the round of the classes.
        classes: one or more.
        weights: how much each counts; alike without them.
    """
    plan = features.plan
    weight = np.ones(len(classes)) if weights is None else weights.astype(np.float64)
    is_last = r == plan.last_round
    has_ochs, has_histograms = features.has(f"{OCHS}-{r}"), features.has(f"{HISTOGRAMS}-{r}")
    most = plan.runouts(r) * plan.max_strength
    strength, squared = 0.0, 0.0
    ochs, cumulative = np.zeros(plan.num_clusters if has_ochs else 0), np.zeros(NUM_BINS)
    weakest, strongest = np.inf, -np.inf
    step = ROWS_A_CHUNK // NUM_BINS
    for begin in range(0, len(classes), step):
        some, counts = classes[begin : begin + step], weight[begin : begin + step]
        strengths = features.strength(r)[some] / most
        strength += float(counts @ strengths)
        weakest, strongest = min(weakest, float(strengths.min())), max(strongest, float(strengths.max()))
        squares = strengths**2 if is_last else features.squared(r)[some] / (most * plan.max_strength)
        squared += float(counts @ squares)
        if has_ochs:
            ochs += counts @ features.ochs(r)[some]
        if has_histograms:
            cumulative += counts @ features.histograms(r)[some]
    total = weight.sum()
    points: tuple[float, ...] = ()
    grid: tuple[float, ...] = ()
    if has_histograms:
        ended = cumulative / total / features.histogram_total(r)
        points = tuple(np.diff(ended, prepend=0.0, append=1.0).tolist())
        grid = tuple((np.arange(NUM_BINS + 1) * plan.bin_width / plan.max_strength).tolist())
    return Profile(
        strength / total,
        weakest,
        strongest,
        squared / total,
        tuple((ochs / total / OCHS_SCALE).tolist()),
        points,
        grid,
    )


def format_deal(rules: PokerRules, cards: Array, r: int, *, ordered: bool) -> str:
    """Write a deal as text, high cards first.

    Args:
        rules: the game.
        cards: uint8[hole + board].
        r: its round.
        ordered: whether the rounds of the board are told apart, by a `/`.
    """
    num_hole = rules.num_hole_cards
    ends = [0, rules.num_board_cards_by(r)]
    if ordered:
        ends = [0, *(rules.num_board_cards_by(one) for one in range(r + 1))]
    board = cards[num_hole:].tolist()
    parts = [format_cards(sorted(board[a:b], reverse=True)) for a, b in pairwise(ends)]
    hole = format_cards(sorted(cards[:num_hole].tolist(), reverse=True))
    return "|".join([hole, *(["/".join(part for part in parts if part)] if board else [])])


def has_few_boards(rules: PokerRules, r: int) -> bool:
    """Return whether all boards of a round are looked at where a table does not help."""
    return Deals(rules).num_boards(r) <= MOST_BOARDS


def _rows_of(table: Array, bucket: int) -> Numbers:
    parts = [
        begin + np.flatnonzero(table[begin : begin + ROWS_A_CHUNK] == bucket)
        for begin in range(0, len(table), ROWS_A_CHUNK)
    ]
    return np.concatenate(parts)


def _deals(rules: PokerRules, r: int, seed: int) -> Iterator[tuple[npt.NDArray[np.uint8], Numbers]]:
    """Yield the deals of a round's boards, and how often each counts: all of them or random boards."""
    classes, deals = HandClasses(rules), Deals(rules)
    if has_few_boards(rules, r):
        public = deals.board_round(r)
        boards, weights = deals.boards.cards(public), deals.boards.weights(public)
    else:
        rng = np.random.Generator(np.random.PCG64(seed))
        boards = random_deals(classes, r, MOST_BOARDS, rng)[:, rules.num_hole_cards :]
        weights = np.ones(len(boards), dtype=np.int64)
    for begin in range(0, len(boards), BOARDS_A_CHUNK):
        some = slice(begin, begin + BOARDS_A_CHUNK)
        cards, place = open_deals(rules.deck, rules.num_hole_cards, boards[some])
        yield cards, weights[some][place // len(classes.hands)]
