"""HS, PHS and SHS: percentiles of hand strength (`clustering/percentile.py`)."""

from typing import Any

import numpy as np

from errai.abstraction.clustering.percentile import (
    MAX_VALUES_TO_COUNT,
    bucket_of_value,
    nested_percentiles,
    percentile_buckets,
)
from errai.abstraction.features.features import COUNTS, STRENGTH, BoardSweep, FeaturePlan
from errai.abstraction.methods.method import (
    Array,
    Method,
    RoundMethod,
    RoundRecipe,
    RoundWork,
    smallest_type,
)
from errai.abstraction.options import SEED, BuildOptions
from errai.abstraction.round_buckets import RoundBuckets
from errai.abstraction.round_buckets import SweptStrength as SweptBuckets
from errai.errors import UsageError
from errai.games.deals import Deals


class Strength(RoundMethod):
    """Percentiles of E[HS]."""

    name = Method.STRENGTH

    def features_needed(self, r: int, last_round: int, following: RoundMethod | None) -> frozenset[str]:
        """Strength, and its square before the last round."""
        return frozenset({f"{STRENGTH}-{r}"})

    def options_used(self, recall: bool) -> frozenset[str]:
        """Only the deals of a large last round that recalls are drawn at random."""
        return frozenset({SEED} if recall else {})

    def labels(self, work: RoundWork) -> Array:
        """Cut all classes."""
        return self._cut(work, slice(None), work.features.deals(work.r))

    def split(self, work: RoundWork, p: int, classes: Array, weights: Array) -> tuple[Array, Array | None]:
        """Cut the deals of one bucket; the last round is looked up by strength."""
        labels = self._cut(work, classes, weights)
        if not work.is_last:
            return labels, None
        strength = np.asarray(work.features.strength(work.r))[classes]
        weight = np.bincount(strength, weights, work.features.plan.max_strength + 1)
        return labels, bucket_of_value(weight.astype(np.int64), work.recipe.num_buckets)

    def _cut(self, work: RoundWork, classes: Any, weights: Array) -> Array:
        strength = np.asarray(work.features.strength(work.r)[classes])
        if work.recipe.nested is None:
            return percentile_buckets(strength, weights, work.recipe.num_buckets)
        squared = np.asarray(work.features.squared(work.r)[classes])
        return nested_percentiles(squared, strength, weights, work.recipe.nested)

    def labels_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, options: BuildOptions
    ) -> int:
        """Return about how much memory the cut of all classes takes."""
        return int(8 * plan.classes.size(r) * self._numbers_a_hand(plan, r, recipe))

    def split_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, num_deals: int
    ) -> int:
        """Return about how much memory the cut of so many deals takes, their features copied."""
        return int(8 * num_deals * (3 + self._numbers_a_hand(plan, r, recipe)))

    def _numbers_a_hand(self, plan: FeaturePlan, r: int, recipe: RoundRecipe) -> float:
        most = plan.runouts(r) * plan.max_strength
        return numbers_a_hand(most, most * plan.max_strength, recipe.nested)


def numbers_a_hand(most: int, most_squared: int, nested: tuple[int, int] | None) -> float:
    """Return how many numbers of 8 bytes percentiles hold at once for each hand.

    Args:
        most: largest sum of strengths.
        most_squared: largest sum of squares.
        nested: percentiles of squares and of strengths; None for strengths alone.
    """
    if nested is None:
        return _numbers_of(most)
    # Outer buckets, buckets and their order; then those of an outer bucket, which may be twice the mean.
    inner = (_numbers_of(most) + 1.5) * min(1.0, 2 / nested[0])
    return max(_numbers_of(most_squared), 4 + inner)


def _numbers_of(most: int) -> float:
    """Values that are too large to be counted one by one are sorted: copies, order and places of them."""
    return 2.1 if most < MAX_VALUES_TO_COUNT else 6.3


class NestedStrength(Strength):
    """Percentiles of E[HS2], and within each of them percentiles of E[HS]; in the last round of HS alone."""

    name = Method.NESTED_STRENGTH
    nests = True


class SweptStrength(Strength):
    """Percentiles of HS in the last round, which a hand is put into when it is asked for: no table.

    The buckets are those of HS. What is saved is the bucket of every strength.
    """

    name = Method.SWEPT_STRENGTH
    can_be_looked_ahead_to = False

    def features_needed(self, r: int, last_round: int, following: RoundMethod | None) -> frozenset[str]:
        """How many deals have each strength."""
        return frozenset({f"{COUNTS}-{r}"})

    def verify(self, rounds: tuple[RoundRecipe, ...], r: int, following: RoundMethod | None) -> None:
        """Refuse rounds in which a strength is not all that there is to know."""
        if following is not None or rounds[r].recall:
            raise UsageError(
                f"{self.name.value} puts hands of the last round into percentiles, without recall: "
                f"round {r + 1} of {len(rounds)} needs another method"
            )

    def build(self, work: RoundWork) -> RoundBuckets:
        """Cut the strengths themselves."""
        num_buckets = work.recipe.num_buckets
        found = bucket_of_value(work.features.counts().astype(np.int64), num_buckets)
        sweep = BoardSweep(work.features.classes, None, 0)
        kept = found.astype(smallest_type(num_buckets))
        return SweptBuckets(work.deals.rules.num_hole_cards, sweep, kept, num_buckets)

    def table_bytes(
        self, plan: FeaturePlan, deals: Deals, r: int, recipe: RoundRecipe, num_parents: int
    ) -> int:
        """A number for each strength."""
        return self.looked_up_bytes(plan, recipe.num_buckets, 1)

    def labels_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, options: BuildOptions
    ) -> int:
        """There is next to no work."""
        return 0
