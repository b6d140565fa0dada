"""`errai.abstract_public`: a hierarchical public abstraction from a base; `errai abstract public` calls it.

1. Cluster the public boards of a round by what the base's buckets make of them (`clusters.py`).
2. Put the private hands of each cluster into buckets (`build.py`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.load import load_abstraction
from errai.abstraction.protocol import CardAbstraction, buckets_on_board, verify_abstraction
from errai.abstraction.public.abstraction import PublicAbstraction
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
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import format_bytes, free_disk, num_cores

DEFAULT_PUBLIC_CLUSTERS = 60
DEFAULT_RESTARTS = 10

Report = Callable[[str, int, int], None]


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
    found = load_abstraction(base) if isinstance(base, str | Path) else base
    if isinstance(found, PublicAbstraction):
        raise UsageError(
            f"the base '{found.name}' is a public abstraction itself: expected one of 'errai abstract build'"
        )
    verify_abstraction(found)
    rules = found.game
    counts = verified_buckets(rules, special_round, buckets)
    verify_clusters(Deals(rules).num_boards(special_round), public_clusters, seed, restarts)
    plan = FeaturePlan.of(rules, clusters, NEEDED_FEATURES)
    if out is not None:
        _verify_disk(Path(out), rules, special_round)
    features = build_features(plan, num_threads, report)
    boards = cluster_boards(
        found, public_clusters, special_round, seed=seed, restarts=restarts, num_threads=num_threads
    )
    if clustered is not None:
        clustered(boards)
    return build_public_abstraction(
        features,
        boards,
        special_round=special_round,
        buckets=counts,
        seed=seed,
        out=out,
        num_threads=num_threads,
        report=None if report is None else lambda done, total: report("private buckets", done, total),
    )


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


def _verify_disk(folder: Path, rules: PokerRules, special_round: int) -> None:
    """Refuse what the disk cannot hold: a number of 2 bytes for each board, later card and hand."""
    num_boards, num_hands = Deals(rules).num_boards(special_round), rules.num_hands()
    needed, free = 2 * num_boards * num_hands * (1 + rules.deck.size), free_disk(folder)
    if needed > free:
        raise UsageError(
            f"the tables in '{folder}' need {format_bytes(needed)} of disk, and {format_bytes(free)} are free"
        )
