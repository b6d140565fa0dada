"""C: every canonical hand is a bucket."""

from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.methods.method import Array, Method, RoundMethod, RoundRecipe, RoundWork
from errai.abstraction.options import BuildOptions
from errai.abstraction.round_buckets import Lossless as LosslessBuckets
from errai.abstraction.round_buckets import RoundBuckets
from errai.games.deals import Deals


class Lossless(RoundMethod):
    """Needs no features, no table and no work."""

    name = Method.CANONICAL
    can_be_looked_ahead_to = False

    def features_needed(self, r: int, last_round: int, following: RoundMethod | None) -> frozenset[str]:
        """Nothing is compared."""
        return frozenset()

    def options_used(self, recall: bool) -> frozenset[str]:
        """Nothing is chosen."""
        return frozenset()

    def build(self, work: RoundWork) -> RoundBuckets:
        """Return the numbers of canonical hands."""
        return LosslessBuckets(work.deals, work.r)

    def labels(self, work: RoundWork) -> Array:
        """There is no table."""
        raise NotImplementedError

    def split(self, work: RoundWork, p: int, classes: Array, weights: Array) -> tuple[Array, Array | None]:
        """Lossless rounds recall by themselves."""
        raise NotImplementedError

    def table_bytes(
        self, plan: FeaturePlan, deals: Deals, r: int, recipe: RoundRecipe, num_parents: int
    ) -> int:
        """There is no table."""
        return 0

    def labels_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, options: BuildOptions
    ) -> int:
        """There is no work."""
        return 0

    def split_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, num_deals: int
    ) -> int:
        """There is no work."""
        return 0
