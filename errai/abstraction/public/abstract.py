"""`errai.abstract_public`: a hierarchical public abstraction from a base; `errai abstract public` calls it.

1. Cluster the public boards of a round by what the base's buckets make of them (`clusters.py`).
2. Put the private hands of each cluster into buckets (`build.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.folder import MANIFEST_NAME
from errai.abstraction.load import load_abstraction
from errai.abstraction.protocol import CardAbstraction, buckets_on_board, verify_abstraction
from errai.abstraction.public.abstraction import PublicAbstraction, public_name
from errai.abstraction.public.build import (
    DEFAULT_BUCKETS,
    NEEDED_FEATURES,
    build_public_abstraction,
    verified_buckets,
)
from errai.abstraction.public.clusters import (
    PublicClusters,
    cluster_public_boards,
    public_differences,
    transition_table,
    verify_clusters,
)
from errai.abstraction.public.cost import memory_needed, table_bytes
from errai.errors import UsageError, verify_function, verify_path
from errai.games.deals import Deals
from errai.games.rounds import round_of_game
from errai.memory import format_bytes, free_disk, num_cores, verify_memory
from errai.workers import verified_threads

DEFAULT_PUBLIC_CLUSTERS = 60
DEFAULT_RESTARTS = 10

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PublicPlan:
    """A public abstraction that can be built: everything was verified, and nothing is computed yet.

    Attributes:
        base: an abstraction whose buckets tell boards apart.
        out: folder to save it in; None for nowhere.
        public_clusters: clusters of public boards.
        buckets: of a cluster in each round from the special one on.
        special_round: the round whose boards are clustered, from 0.
        features: the plan of the features that are needed.
        seed: of everything random.
        restarts: starts of the public clustering.
        num_threads: all cores without it.
    """

    base: CardAbstraction
    out: Path | None
    public_clusters: int
    buckets: tuple[int, ...]
    special_round: int
    features: FeaturePlan
    seed: int
    restarts: int
    num_threads: int | None

    @property
    def name(self) -> str:
        """What it will be called, such as `PUBLIC60-KE-KO 169-500-500-500`."""
        return public_name(self.base.game, self.special_round, self.public_clusters, self.buckets)

    @property
    def table_bytes(self) -> int:
        """Bytes of all tables, in memory and on disk."""
        return sum(table_bytes(self.features, self.special_round, self.public_clusters, self.buckets))

    @property
    def memory_bytes(self) -> int:
        """About how many bytes of memory the build takes at most, tables included, features aside."""
        return memory_needed(
            self.features,
            self.special_round,
            self.public_clusters,
            self.buckets,
            self.base.num_buckets(self.special_round),
            verified_threads(self.num_threads),
        )

    def build(
        self, report: Report | None = None, clustered: Callable[[PublicClusters], None] | None = None
    ) -> PublicAbstraction:
        """Build it, and the features where the cache has none; arguments as for `abstract_public`."""
        features = build_features(self.features, self.num_threads, report)
        boards = cluster_boards(
            self.base,
            self.public_clusters,
            self.special_round,
            seed=self.seed,
            restarts=self.restarts,
            num_threads=self.num_threads,
        )
        if clustered is not None:
            clustered(boards)
        return build_public_abstraction(
            features,
            boards,
            special_round=self.special_round,
            buckets=self.buckets,
            seed=self.seed,
            out=self.out,
            num_threads=self.num_threads,
            report=None if report is None else lambda done, total: report("private buckets", done, total),
        )


def abstract_public(
    base: CardAbstraction | str | Path,
    out: str | Path | None = None,
    *,
    public_clusters: int = DEFAULT_PUBLIC_CLUSTERS,
    buckets: int | Sequence[int] = DEFAULT_BUCKETS,
    special_round: int = 1,
    clusters: int | None = None,
    seed: int = 0,
    restarts: int = DEFAULT_RESTARTS,
    num_threads: int | None = None,
    report: Report | None = None,
    clustered: Callable[[PublicClusters], None] | None = None,
) -> PublicAbstraction:
    """Build Tartanian7's hierarchical abstraction, and the features that it needs where the cache has none.

    What cannot be built, or does not fit into the memory or on the disk, is refused before any work.

    Args:
        base: an abstraction whose buckets tell boards apart, or the folder of a saved one.
        out: folder to save it in, cluster by cluster; what an interrupted build of the same left is used.
        public_clusters: clusters of public boards.
        buckets: private buckets of one cluster, in all rounds from the special one on, or in each.
        special_round: the round whose boards are clustered, from 0.
        clusters: opponent clusters of OCHS; 8 without it, or as many as there are classes of hole cards.
        seed: of everything random; the same seed gives the same bytes.
        restarts: starts of the public clustering, of which the best is kept.
        num_threads: all cores without it; the result does not depend on it.
        report: called with what is being done, steps done and steps in all.
        clustered: called with the clusters of public boards as soon as they are known.
    """
    for name, function in (("report", report), ("clustered", clustered)):
        if function is not None:
            verify_function(name, function)
    plan = plan_public(
        base,
        out,
        public_clusters=public_clusters,
        buckets=buckets,
        special_round=special_round,
        clusters=clusters,
        seed=seed,
        restarts=restarts,
        num_threads=num_threads,
    )
    return plan.build(report, clustered)


def plan_public(
    base: CardAbstraction | str | Path,
    out: str | Path | None = None,
    *,
    public_clusters: int = DEFAULT_PUBLIC_CLUSTERS,
    buckets: int | Sequence[int] = DEFAULT_BUCKETS,
    special_round: int = 1,
    clusters: int | None = None,
    seed: int = 0,
    restarts: int = DEFAULT_RESTARTS,
    num_threads: int | None = None,
) -> PublicPlan:
    """Verify what is to be built, and that it has room; arguments as for `abstract_public`."""
    if out is not None:
        verify_path("out", out)
    verified_threads(num_threads)
    found = load_abstraction(base) if isinstance(base, str | Path) else base
    if isinstance(found, PublicAbstraction):
        raise UsageError(
            f"the base '{found.name}' is a public abstraction itself: expected one of 'errai abstract build'"
        )
    verify_abstraction(found)
    rules = found.game
    counts = verified_buckets(rules, special_round, buckets)
    verify_clusters(Deals(rules).num_boards(special_round), public_clusters, seed, restarts)
    features = FeaturePlan.of(rules, clusters, NEEDED_FEATURES)
    folder = Path(out) if out is not None else None
    plan = PublicPlan(
        found, folder, public_clusters, counts, special_round, features, seed, restarts, num_threads
    )
    what = f"building a public abstraction of {round_of_game(rules, special_round)}"
    verify_memory(plan.memory_bytes, what)
    if folder is not None:
        _verify_folder(folder, plan.table_bytes)
    return plan


def cluster_boards(
    base: CardAbstraction,
    public_clusters: int = DEFAULT_PUBLIC_CLUSTERS,
    special_round: int = 1,
    *,
    seed: int = 0,
    restarts: int = DEFAULT_RESTARTS,
    num_threads: int | None = None,
) -> PublicClusters:
    """Cluster the public boards of a round by what the first position's buckets make of them."""
    table = transition_table(
        lambda board: buckets_on_board(base, board),
        Deals(base.game),
        special_round,
        base.num_buckets(special_round),
    )
    differences = public_differences(table, num_threads=num_threads or num_cores())
    return cluster_public_boards(differences, public_clusters, seed=seed, restarts=restarts)


def _verify_folder(folder: Path, num_bytes: int) -> None:
    """Refuse a folder that holds an abstraction, or whose disk cannot hold this one."""
    if (folder / MANIFEST_NAME).exists():
        raise UsageError(f"'{folder}' holds an abstraction already: choose another folder")
    free = free_disk(folder)
    if num_bytes > free:
        raise UsageError(
            f"the tables in '{folder}' need {format_bytes(num_bytes)} of disk, and {format_bytes(free)} "
            "are free"
        )
