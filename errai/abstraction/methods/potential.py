"""PA: k-means over the chances of reaching the next round's buckets (`clustering/potential_aware.py`)."""

import numpy as np

from errai.abstraction.clustering.nearest import Metric
from errai.abstraction.clustering.potential_aware import CHUNK_ROWS, cluster_potential
from errai.abstraction.features.build import num_next as num_next_sets
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.methods.clusters import EVERYTHING
from errai.abstraction.methods.method import Array, Clustered, Method, RoundMethod, RoundRecipe, RoundWork
from errai.abstraction.options import BuildOptions
from errai.errors import UsageError
from errai.memory import num_cores


class PotentialAware(RoundMethod):
    """k-means under the earth mover's distance of histograms over the next round's buckets."""

    name = Method.POTENTIAL_AWARE
    looks_ahead = True

    def features_needed(self, r: int, last_round: int, following: RoundMethod | None) -> frozenset[str]:
        """How far the next round's buckets are from each other."""
        assert following is not None, "the last round has none after it"
        return following.row_features(r + 1, last_round)

    def options_used(self, recall: bool) -> frozenset[str]:
        """Return all, for the deals of one bucket, too."""
        return EVERYTHING

    def verify(self, rounds: tuple[RoundRecipe, ...], r: int, following: RoundMethod | None) -> None:
        """Refuse rounds whose next round has no buckets of its own."""
        if following is None:
            raise UsageError(f"PA must have a round after it to look ahead to: round {r + 1} is the last")
        if r == 0:
            raise UsageError(
                "PA is not made for the first round, which has few hands: expected C, HS, PHS, KE or KO"
            )
        if rounds[r + 1].recall or not following.can_be_looked_ahead_to:
            raise UsageError(
                f"PA in round {r + 1} must have a round {r + 2} clustered alone to look ahead to: not one "
                "that recalls, nor a lossless one"
            )

    def labels(self, work: RoundWork) -> Array:
        """Cluster all classes."""
        weights = work.features.deals(work.r)
        return self._cluster(work, np.arange(len(weights)), weights)

    def split(self, work: RoundWork, p: int, classes: Array, weights: Array) -> tuple[Array, Array | None]:
        """Cluster the deals of one bucket."""
        return self._cluster(work, classes, weights), None

    def _cluster(self, work: RoundWork, classes: Array, weights: Array) -> Array:
        ahead, table, means = work.ahead
        found = cluster_potential(
            self.rows(work.features, work.r).next_buckets(
                classes,
                table,
                work.options.num_threads,
                lambda done, total: work.tell(f"{work.what}, what may come", done, total),
            ),
            weights,
            means,
            ahead.metric,
            min(work.recipe.num_buckets, len(classes)),
            work.options.effort(work.seed),
            work.report,
        )
        work.clustered.append(
            Clustered(
                found.cost,
                int(weights.sum(dtype=np.int64)),
                found.num_distances,
                found.num_plain_distances,
                found.iterations,
            )
        )
        return found.labels

    def distance(self, work: RoundWork, cost: float) -> float:
        """Turn a mean distance of the next round's rows into units of hand strength."""
        ahead = work.ahead[0]
        # Of OCHS, rows take a mean square.
        return ahead.distance(cost if ahead.metric is Metric.L1 else cost**2)

    def labels_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, options: BuildOptions
    ) -> int:
        """Return about how much memory the clustering of all classes takes."""
        num_rows = plan.classes.size(r)
        num_sampled = options.effort(0).sampled(num_rows, recipe.num_buckets)
        return _bytes(plan, r, num_rows, num_sampled, recipe.num_buckets, num_next)

    def split_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, num_deals: int
    ) -> int:
        """Return about how much memory the clustering of the deals of one bucket takes."""
        return _bytes(plan, r, num_deals, num_deals, min(recipe.num_buckets, num_deals), num_next)


def _bytes(
    plan: FeaturePlan, r: int, num_rows: int, num_sampled: int, num_clusters: int, num_next: int
) -> int:
    """Return about how much memory a clustering of rows takes, next to the tables of ground distances."""
    num_sets = num_next_sets(plan, r)
    rows = num_rows * (2 * num_sets + 8 + 4) + num_sampled * (2 * num_sets + 8 + 8 + 8 + 4)
    ground = 6 * num_next**2
    centres = 8 * num_clusters * num_next
    chunks = num_cores() * 2 * (CHUNK_ROWS * (2 * num_sets + 300) + 8 * num_next + 16 * num_clusters)
    return rows + ground + centres + chunks
