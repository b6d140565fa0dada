"""KE and KO: k-means over histograms of hand strength, or over strengths against opponent clusters."""

import numpy as np

from errai.abstraction.clustering.kmeans import Clustering, assign, bytes_to_train, cluster, cluster_large
from errai.abstraction.features.features import NUM_BINS, OCHS, OPPONENT_CLUSTERS, FeaturePlan, Features
from errai.abstraction.features.rows import HandRows
from errai.abstraction.methods.method import (
    Array,
    Clustered,
    Method,
    RoundMethod,
    RoundRecipe,
    RoundWork,
    parent_of,
)
from errai.abstraction.options import ITERATIONS, PASSES, RESTARTS, SAMPLE, SEED, BuildOptions
from errai.abstraction.round_buckets import RefinedOchs, RoundBuckets
from errai.memory import num_cores

ROWS_TO_TRAIN_A_PART = 2_000
MIN_ROWS_TO_TRAIN = 20_000
ROWS_TO_ASSIGN_AT_ONCE = 1 << 18
MIN_WORK_FOR_THREADS = 2_000_000
"""Rows times parts below which threads cost more than they save."""

EVERYTHING = frozenset({SEED, RESTARTS, ITERATIONS, SAMPLE, PASSES})


class EarthMover(RoundMethod):
    """k-means under the earth mover's distance of histograms of hand strength."""

    name = Method.EARTH_MOVER

    def features_needed(self, r: int, last_round: int, following: RoundMethod | None) -> frozenset[str]:
        """The rows themselves."""
        return self.row_features(r, last_round)

    def options_used(self, recall: bool) -> frozenset[str]:
        """Return all; the deals of one bucket have a sample of their own and no passes."""
        return EVERYTHING - {SAMPLE, PASSES} if recall else EVERYTHING

    def labels(self, work: RoundWork) -> Array:
        """Cluster all classes."""
        rows, weights = self.rows(work.features, work.r), work.features.deals(work.r)
        found = cluster_large(
            rows.read,
            weights,
            len(weights),
            rows.num_columns,
            work.recipe.num_buckets,
            rows.metric,
            work.options.effort(work.seed),
            work.report,
        )
        work.clustered.append(_clustered(found, weights))
        return found.labels

    def split(self, work: RoundWork, p: int, classes: Array, weights: Array) -> tuple[Array, Array | None]:
        """Cluster the deals of one bucket, on a sample where they are many."""
        rows = self.rows(work.features, work.r)
        num_parts = min(work.recipe.num_buckets, len(classes))
        most = max(MIN_ROWS_TO_TRAIN, ROWS_TO_TRAIN_A_PART * num_parts)
        chosen = np.arange(len(classes))
        if len(classes) > most:
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((work.seed, p))))
            chosen = np.sort(rng.choice(len(classes), most, replace=False))
        is_small = len(chosen) * num_parts < MIN_WORK_FOR_THREADS
        num_threads = 1 if is_small else work.options.num_threads
        found = cluster(
            rows.of_classes(classes[chosen]),
            weights[chosen],
            num_parts,
            rows.metric,
            seed=work.seed,
            restarts=work.options.restarts,
            max_iterations=work.options.max_iterations,
            num_threads=num_threads,
        )
        work.clustered.append(_clustered(found, weights))
        labels = found.labels
        if len(chosen) < len(classes):
            labels = np.empty(len(classes), dtype=np.int32)
            for begin in range(0, len(classes), ROWS_TO_ASSIGN_AT_ONCE):
                some = slice(begin, begin + ROWS_TO_ASSIGN_AT_ONCE)
                points = rows.of_classes(classes[some])
                labels[some] = assign(points, found.centres, rows.metric, num_threads=num_threads)[0]
        return labels, self._looked_up_by(work, found, rows)

    def _looked_up_by(self, work: RoundWork, found: Clustering, rows: HandRows) -> Array | None:
        """Return the part of every strength: in the last round a row is a strength."""
        if not work.is_last:
            return None
        values = np.arange(work.features.plan.max_strength + 1, dtype=np.uint16)[:, np.newaxis]
        return assign(values, found.centres, rows.metric, num_threads=1)[0]

    def num_columns(self, plan: FeaturePlan, r: int) -> int:
        """Return how many numbers a row has."""
        return 1 if r == plan.last_round else NUM_BINS

    def labels_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, options: BuildOptions
    ) -> int:
        """Return about how much memory k-means over all classes takes."""
        num_rows, num_buckets = plan.classes.size(r), recipe.num_buckets
        num_sampled = options.effort(0).sampled(num_rows, num_buckets)
        num_threads = options.num_threads or num_cores()
        # Without replacement, a sample of more than a fiftieth is drawn from a shuffled list of all.
        drawn = 8 * num_rows if num_rows > num_sampled > num_rows // 50 else 0
        trained = bytes_to_train(self.num_columns(plan, r), num_sampled, num_buckets, num_threads)
        return max(drawn, (2 if num_buckets <= 1 << 16 else 4) * num_rows) + trained

    def split_bytes(
        self, plan: FeaturePlan, r: int, recipe: RoundRecipe, num_next: int, num_deals: int
    ) -> int:
        """Return about how much memory k-means over the deals of one bucket takes."""
        num_parts, num_columns = min(recipe.num_buckets, num_deals), self.num_columns(plan, r)
        num_trained = min(num_deals, max(MIN_ROWS_TO_TRAIN, ROWS_TO_TRAIN_A_PART * num_parts))
        assigned = min(num_deals, ROWS_TO_ASSIGN_AT_ONCE) * (2 * num_columns + 8)
        trained = bytes_to_train(num_columns, num_trained, num_parts, num_cores())
        # Members, their classes, weights and labels, and the list that a sample is drawn from.
        return (8 + 4 + 2 + 4 + 8) * num_deals + max(assigned, trained)


class OpponentClusters(EarthMover):
    """k-means over the strength against clusters of opponent hands."""

    name = Method.OPPONENT_CLUSTERS

    def row_features(self, r: int, last_round: int) -> frozenset[str]:
        """Strengths against clusters of opponent hands, which a later look-up needs, too."""
        return frozenset({f"{OCHS}-{r}", OPPONENT_CLUSTERS})

    def rows(self, features: Features, r: int) -> HandRows:
        """Return strengths against opponent clusters."""
        return HandRows(features, r, ochs=True)

    def num_columns(self, plan: FeaturePlan, r: int) -> int:
        """Return how many numbers a row has."""
        return plan.num_clusters

    def _looked_up_by(self, work: RoundWork, found: Clustering, rows: HandRows) -> Array | None:
        """Return the centres, to the nearest of which a hand belongs."""
        return found.centres

    def looked_up(self, work: RoundWork, parts: dict[int, Array]) -> RoundBuckets:
        """Keep the centres of every bucket of the round before."""
        parent, shared = parent_of(work)
        shape = (parent.num_buckets, work.recipe.num_buckets, work.features.plan.num_clusters)
        centres = np.zeros(shape, dtype=np.uint16)
        num_centres = np.zeros(parent.num_buckets, dtype=np.int64)
        for p, part in parts.items():
            centres[p, : len(part)] = part
            num_centres[p] = len(part)
        return RefinedOchs(*shared, work.features.board_sweep, centres, num_centres)

    def looked_up_bytes(self, plan: FeaturePlan, num_buckets: int, num_parents: int) -> int:
        """Return the size of all centres."""
        return num_parents * (2 * num_buckets * plan.num_clusters + 8)


def _clustered(found: Clustering, weights: Array) -> Clustered:
    return Clustered(
        found.cost,
        int(weights.sum(dtype=np.int64)),
        found.num_distances,
        found.num_plain_distances,
        found.iterations,
    )
