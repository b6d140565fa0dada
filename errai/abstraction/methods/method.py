"""What every method of making a round's buckets has in common.

A round that is clustered *alone* gets a table over classes of (hole cards, unordered board); every class
counts with the deals that it stands for. A round that *recalls* solves one small problem for each bucket of
the round before, over the deals that lead there (Johanson's thesis, chapter 5, "Perfect and imperfect
recall"). Where these deals are too many for a table (hold'em's river), the parts of each bucket are made
from a random sample of deals, and a hand is put into the nearest part when it is looked up.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.features import (
    HISTOGRAMS,
    STRENGTH,
    BoardSweep,
    FeaturePlan,
    Features,
)
from errai.abstraction.features.rows import HandRows
from errai.abstraction.options import BuildOptions
from errai.abstraction.population import Population, all_deals, sampled_deals
from errai.abstraction.round_buckets import ClassTable, DealTable, RefinedStrength, RoundBuckets
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rounds import round_of_game

MAX_DEALS_IN_A_TABLE = 100_000_000
DEALS_SAMPLED_A_BUCKET = 20_000
MIN_DEALS_SAMPLED = 2_000_000
MAX_DEALS_SAMPLED = 30_000_000
TABLE_CHUNK = 1 << 22

# What recall holds for each deal: parent, class, weight and part, and their order by parent; while they are
# sorted, the parents in that order and the workspace of the sort besides.
BYTES_TO_SPLIT = 4 + 4 + 2 + 4 + 8
BYTES_TO_SORT = BYTES_TO_SPLIT + 4 + 8

Array = npt.NDArray[Any]


class Method(Enum):
    """How the hands of a round become buckets: what stands in an abstraction's name."""

    CANONICAL = "C"
    STRENGTH = "HS"
    NESTED_STRENGTH = "PHS"
    SWEPT_STRENGTH = "SHS"
    EARTH_MOVER = "KE"
    OPPONENT_CLUSTERS = "KO"
    POTENTIAL_AWARE = "PA"


@dataclass(frozen=True)
class RoundRecipe:
    """How the buckets of one round are made.

    Attributes:
        method: how.
        num_buckets: how many; with recall, within each bucket of the round before. 0 if lossless.
        nested: percentiles of E[HS2] and of E[HS], whose product is `num_buckets`; for PHS before the last
            round only.
        recall: whether a bucket tells the bucket of the round before.
    """

    method: Method
    num_buckets: int = 0
    nested: tuple[int, int] | None = None
    recall: bool = False


@dataclass(frozen=True)
class Clustered:
    """What a clustering reports.

    Attributes:
        cost: mean over all deals of the distance to the centre of their bucket, as `RoundMethod.distance`
            takes it.
        num_deals: that it stands for.
        num_distances: computed.
        num_plain_distances: that plain k-means would have computed.
        iterations: steps that moved centres.
    """

    cost: float
    num_deals: int
    num_distances: int
    num_plain_distances: int
    iterations: int


@dataclass
class RoundWork:
    """A round that is being built.

    Attributes:
        r: its number, from 0.
        recipe: how its buckets are made.
        features: of the game.
        deals: of the game.
        options: how much work to put in.
        parent: the round before, for one that recalls.
        following: the next round's table, and the method that made it, for one that looks ahead.
        tell: called with what is being done, steps done and in all.
        what: what is being done.
        statistics: what is told of the round in the end.
        clustered: what each clustering reported.
    """

    r: int
    recipe: RoundRecipe
    features: Features
    deals: Deals
    options: BuildOptions
    parent: RoundBuckets | None
    following: tuple[ClassTable, "RoundMethod"] | None
    tell: Callable[[str, int, int], None]
    what: str
    statistics: dict[str, Any] = field(default_factory=dict)
    clustered: list[Clustered] = field(default_factory=list)

    @property
    def is_last(self) -> bool:
        """Whether hands are compared in this round."""
        return self.r == self.features.plan.last_round

    @cached_property
    def ahead(self) -> tuple[HandRows, Array, Array]:
        """The next round's rows, its table, and the mean row of each of its buckets."""
        assert self.following is not None, "a round that looks ahead is built after the next"
        buckets, method = self.following
        rows = method.rows(self.features, self.r + 1)
        return (
            rows,
            buckets.table,
            rows.means(buckets.table, self.features.deals(self.r + 1), buckets.num_buckets),
        )

    @property
    def seed(self) -> int:
        """A seed of the round's own."""
        return int(np.random.SeedSequence((self.options.seed, self.r)).generate_state(1)[0])

    def report(self, done: int, total: int) -> None:
        """Tell how far the round is."""
        self.tell(self.what, done, total)

    def finish(self, method: "RoundMethod") -> dict[str, Any]:
        """Return the statistics, those of all clusterings together; every deal counts alike."""
        if self.clustered:
            num_deals = sum(one.num_deals for one in self.clustered)
            cost = sum(one.cost * (one.num_deals / num_deals) for one in self.clustered)
            computed = sum(one.num_distances for one in self.clustered)
            plain = sum(one.num_plain_distances for one in self.clustered)
            self.statistics |= {
                "cost": method.distance(self, cost),
                "share_saved": 1 - computed / plain,
                "iterations": max(one.iterations for one in self.clustered),
            }
        return self.statistics


class RoundMethod(ABC):
    """A way to make a round's buckets: its rows, how it clusters, how it refines, its bytes.

    Attributes:
        name: as in an abstraction's name.
        looks_ahead: whether it needs the buckets of the next round.
        can_be_looked_ahead_to: whether another may need its buckets.
        nests: whether sizes such as `5x2` mean something, before the last round.
    """

    name: ClassVar[Method]
    looks_ahead: ClassVar[bool] = False
    can_be_looked_ahead_to: ClassVar[bool] = True
    nests: ClassVar[bool] = False

    # What it needs.

    @abstractmethod
    def features_needed(self, r: int, last_round: int, following: "RoundMethod | None") -> frozenset[str]:
        """Return the features that a round of this method is made of, such as `histograms-1`.

        Args:
            r: the round.
            last_round: the game's last.
            following: the method of the next round; None in the last.
        """

    def row_features(self, r: int, last_round: int) -> frozenset[str]:
        """Return the features that tell how far two buckets of a round are from each other."""
        return frozenset({f"{STRENGTH if r == last_round else HISTOGRAMS}-{r}"})

    @abstractmethod
    def options_used(self, recall: bool) -> frozenset[str]:
        """Return which of `BuildOptions` decide the buckets of a round that recalls or does not."""

    def verify(self, rounds: tuple[RoundRecipe, ...], r: int, following: "RoundMethod | None") -> None:  # noqa: B027
        """Refuse a round in which the method cannot be used; most can be used anywhere."""

    # How it clusters.

    def rows(self, features: Features, r: int) -> HandRows:
        """Return the rows whose distances say how far hands and buckets of a round are from each other."""
        return HandRows(features, r, ochs=False)

    def distance(self, work: RoundWork, cost: float) -> float:
        """Turn the mean cost of a clustering into a distance in units of hand strength."""
        return self.rows(work.features, work.r).distance(cost)

    @abstractmethod
    def labels(self, work: RoundWork) -> Array:
        """Return the bucket of every class of a round that is clustered alone: integers[classes]."""

    @abstractmethod
    def split(self, work: RoundWork, p: int, classes: Array, weights: Array) -> tuple[Array, Array | None]:
        """Cut the deals of one bucket of the round before into parts.

        Args:
            work: the round.
            p: the bucket of the round before.
            classes: uint32[n] class of each deal.
            weights: uint16[n] how often each counts.

        Returns:
            The part of each deal, and what the last round is looked up by: the part of every strength, or
            centres.
        """

    def looked_up(self, work: RoundWork, parts: dict[int, Array]) -> RoundBuckets:
        """Return the buckets of a last round with too many deals for a table, from what `split` returned."""
        parent, shared = parent_of(work)
        plan = work.features.plan
        children = np.zeros(
            (parent.num_buckets, plan.max_strength + 1), dtype=smallest_type(work.recipe.num_buckets)
        )
        for p, part in parts.items():
            children[p] = part
        sweep = BoardSweep(work.features.classes, None, 0)
        return RefinedStrength(*shared, sweep, children, work.recipe.num_buckets)

    def build(self, work: RoundWork) -> RoundBuckets:
        """Build a round."""
        num_buckets = work.recipe.num_buckets
        if not work.recipe.recall:
            table = self.labels(work).astype(smallest_type(num_buckets), copy=False)
            return ClassTable(work.features.classes, work.r, table, num_buckets)
        parent, _ = parent_of(work)
        threads, classes = work.options.num_threads, work.features.classes
        if work.deals.num_rows(work.r) <= MAX_DEALS_IN_A_TABLE:
            deals = all_deals(work.deals, classes, work.r, parent, threads)
            table = self._split_all(work, deals)[0]
            in_all = parent.num_buckets * num_buckets
            return DealTable(work.deals, work.r, _numbered(deals.parents, table, num_buckets, in_all), in_all)
        size = num_sampled(parent.num_buckets)
        deals = sampled_deals(work.deals, classes, work.r, parent, size, work.seed, threads)
        work.statistics["deals_sampled"] = size
        return self.looked_up(work, self._split_all(work, deals)[1])

    def _split_all(self, work: RoundWork, deals: Population) -> tuple[Array, dict[int, Array]]:
        """Cut the deals of each bucket of the round before; return the part of each deal, and the parts."""
        labels = np.zeros(len(deals.parents), dtype=smallest_type(work.recipe.num_buckets))
        parts: dict[int, Array] = {}
        order, ends = deals.by_parent()
        for p in range(len(ends) - 1):
            members = order[ends[p] : ends[p + 1]]
            work.report(p, len(ends) - 1)
            if len(members):
                labels[members], part = self.split(work, p, deals.classes[members], deals.weights[members])
                if part is not None:
                    parts[p] = part
        return labels, parts

    # What it costs.

    def table_bytes(
        self, plan: FeaturePlan, deals: Deals, r: int, recipe: RoundRecipe, num_parents: int
    ) -> int:
        """Return the size of a round's table.

        Args:
            plan: of the features.
            deals: of the game.
            r: the round.
            recipe: how its buckets are made.
            num_parents: buckets of the round before.
        """
        if not recipe.recall:
            return plan.classes.size(r) * _number_bytes(recipe.num_buckets)
        if deals.num_rows(r) <= MAX_DEALS_IN_A_TABLE:
            return deals.num_rows(r) * _number_bytes(num_parents * recipe.num_buckets)
        return self.looked_up_bytes(plan, recipe.num_buckets, num_parents)

    def looked_up_bytes(self, plan: FeaturePlan, num_buckets: int, num_parents: int) -> int:
        """Return the size of what `looked_up` keeps."""
        return num_parents * (plan.max_strength + 1) * _number_bytes(num_buckets)

    @abstractmethod
    def labels_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, options: BuildOptions
    ) -> int:
        """Return about how much memory `labels` takes; `num_next` are the buckets of the next round."""

    @abstractmethod
    def split_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, num_deals: int
    ) -> int:
        """Return about how much memory `split` takes for so many deals."""

    def working_bytes(
        self,
        plan: FeaturePlan,
        deals: Deals,
        r: int,
        recipe: RoundRecipe,
        num_parents: int,
        num_next: int,
        options: BuildOptions,
    ) -> int:
        """Return about how much memory the build of a round takes, besides its table."""
        if not recipe.recall:
            return self.labels_bytes(plan, r, recipe, num_next, options)
        num_deals = deals.num_rows(r)
        if num_deals > MAX_DEALS_IN_A_TABLE:
            num_deals = num_sampled(num_parents)
        # Twice the mean: some buckets have more deals than others.
        largest = min(num_deals, 2 * num_deals // num_parents + 1)
        split = BYTES_TO_SPLIT * num_deals + self.split_bytes(plan, r, recipe, num_next, largest)
        return max(BYTES_TO_SORT * num_deals, split)


def num_sampled(num_parents: int) -> int:
    """Return how many deals of a last round are drawn that has too many."""
    return min(max(MIN_DEALS_SAMPLED, DEALS_SAMPLED_A_BUCKET * num_parents), MAX_DEALS_SAMPLED)


def verify_recall(r: int, last_round: int, deals: Deals) -> None:
    """Refuse recall in a round before the last that has too many deals for a table."""
    if r != last_round and deals.num_rows(r) > MAX_DEALS_IN_A_TABLE:
        raise UsageError(
            f"{round_of_game(deals.rules, r)} has {deals.num_rows(r):,} deals: "
            f"a table with recall before the last round must have at most {MAX_DEALS_IN_A_TABLE:,}"
        )


def smallest_type(num_buckets: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type for so many buckets."""
    return np.uint16 if num_buckets <= 1 << 16 else np.uint32


def _number_bytes(num_buckets: int) -> int:
    return np.dtype(smallest_type(num_buckets)).itemsize


def parent_of(work: RoundWork) -> tuple[RoundBuckets, tuple[RoundBuckets, int, int]]:
    """Return the round before, and what all that is refined when looked up is made with."""
    assert work.parent is not None, "a round that recalls is built after the one before it"
    rules = work.deals.rules
    num_parent_cards = rules.num_hole_cards + rules.num_board_cards_by(work.r - 1)
    return work.parent, (work.parent, num_parent_cards, rules.num_hole_cards)


def _numbered(parents: Array, parts: Array, num_parts: int, in_all: int) -> Array:
    """Return parent x parts + part, chunk by chunk."""
    table = np.empty(len(parents), dtype=smallest_type(in_all))
    for begin in range(0, len(table), TABLE_CHUNK):
        some = slice(begin, begin + TABLE_CHUNK)
        table[some] = parents[some] * np.int64(num_parts) + parts[some]
    return table
