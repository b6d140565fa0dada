"""Building a hierarchical public abstraction: the private buckets of every public cluster.

Step 3 of `abstraction.py`, for each cluster alone, several at a time on threads:

1. The special round, and a round that deals one card more: list the classes of all hands on all boards of the
   cluster, add up the deals that each stands for here, cluster their cumulative histograms (where there are
   many, centres are found on a random sample of the classes), and write each hand's bucket into a table.
2. The last round: strengths against opponent clusters on all boards of the cluster, or on `SAMPLE_BOARDS`
   random ones with some random hands each; keep the centres.
3. Number the buckets by the mean strength of their centres, weakest first.

Each cluster has random numbers of its own, so the buckets depend on the seed and not on the threads, nor on
which other clusters are built.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import combinations
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.abstraction.abstraction import FORMAT
from errai.abstraction.clustering.kmeans import MAX_ITERATIONS, Metric, cluster, cluster_large
from errai.abstraction.clustering.lloyd import Effort
from errai.abstraction.features.features import HISTOGRAMS, OPPONENT_CLUSTERS, Features
from errai.abstraction.features.rows import HandRows
from errai.abstraction.public.abstraction import (
    BLOCKED,
    ClusterTables,
    PublicAbstraction,
    PublicShape,
    PublicWriter,
)
from errai.abstraction.public.clusters import PublicClusters
from errai.abstraction.seeds import verify_seed
from errai.cards.hands import open_deals
from errai.errors import UsageError, verify_whole
from errai.games.deals import Deals
from errai.games.rounds import round_of_game, the_round
from errai.games.rules import PokerRules
from errai.workers import Progress, start_workers, verified_threads

DEFAULT_BUCKETS = 500

NEEDED_FEATURES = (HISTOGRAMS, OPPONENT_CLUSTERS)
"""What a `FeaturePlan` must have: strengths against opponents are computed board by board."""

SAMPLE_ROWS_PER_BUCKET = 100
SAMPLE_BOARDS = 1000
BOARDS_A_SWEEP = 64

Report = Callable[[int, int], None]


class _Choices(NamedTuple):
    """What all clusters of a build share."""

    features: Features
    special_round: int
    buckets: tuple[int, ...]
    seed: int
    restarts: int
    max_iterations: int


def build_public_abstraction(
    features: Features,
    clusters: PublicClusters,
    *,
    special_round: int = 1,
    buckets: int | Sequence[int] = DEFAULT_BUCKETS,
    seed: int = 0,
    restarts: int = 1,
    max_iterations: int = MAX_ITERATIONS,
    only: Sequence[int] | None = None,
    out: str | Path | None = None,
    num_threads: int | None = None,
    report: Report | None = None,
) -> PublicAbstraction:
    """Put the private hands of each public cluster into buckets, in every round from the special one on.

    Args:
        features: of the game.
        clusters: of the canonical boards of the special round.
        special_round: the betting round whose boards are clustered.
        buckets: of one cluster, in all these rounds or in each; where fewer hands differ, fewer are used.
        seed: the same seed gives the same bytes.
        restarts: of each k-means.
        max_iterations: of each k-means.
        only: clusters to build; all without it.
        out: folder to save it in, cluster by cluster; what an interrupted build left there is used.
        num_threads: clusters at a time; one for each core without it.
        report: called with clusters done and in all, from the calling thread; an exception ends the build.
    """
    rules = features.plan.rules
    deals = Deals(rules)
    verify_seed(seed)
    counts = verified_buckets(rules, special_round, buckets)
    num_boards = deals.num_boards(special_round)
    if len(clusters.cluster_of_board) != num_boards:
        raise UsageError(
            f"expected clusters of the {num_boards} boards of {round_of_game(rules, special_round)}, "
            f"not of {len(clusters.cluster_of_board)}"
        )
    wanted = range(clusters.num_clusters) if only is None else sorted(set(only))
    for number in wanted:
        if len(clusters.boards(number)) == 0:
            raise UsageError(f"public cluster {number} is empty: every cluster must have a board")
    verified_threads(num_threads)
    choices = _Choices(features, special_round, counts, seed, restarts, max_iterations)
    deals.boards.cards(deals.board_round(special_round))  # built once, before threads share them
    features.board_sweep  # noqa: B018 - the same
    shape = PublicShape(
        rules,
        special_round,
        clusters.cluster_of_board,
        clusters.num_clusters,
        counts,
        np.asarray(features.opponent_clusters),
    )
    writer = PublicWriter(out, shape, _fingerprint(choices, clusters)) if out is not None else None
    built: dict[int, ClusterTables] = {}
    for number in wanted:
        if writer is not None and (found := writer.written_cluster(number)) is not None:
            built[number] = found
    missing = [number for number in wanted if number not in built]

    def build_one(begin: int, _: int) -> ClusterTables:
        return _build_cluster(choices, deals, missing[begin], clusters.boards(missing[begin]))

    progress = Progress(report, len(wanted))
    with start_workers(num_threads) as workers:
        for begin, _, tables in workers.map(build_one, len(missing), 1, progress):
            built[missing[begin]] = tables
            if writer is not None:
                writer.write_cluster(missing[begin], tables)
            progress.done = len(built)
            if report is not None:
                report(len(built), len(wanted))
    if writer is not None and len(built) == clusters.num_clusters:
        writer.finish()
    return PublicAbstraction(shape, built)


def _fingerprint(choices: _Choices, clusters: PublicClusters) -> str:
    """Return the mark of everything that decides the buckets."""
    about = {
        "format": FORMAT,
        "features": choices.features.plan.fingerprint,
        "clusters": sha256(clusters.cluster_of_board.tobytes()).hexdigest(),
        "options": [
            choices.special_round,
            choices.buckets,
            choices.seed,
            choices.restarts,
            choices.max_iterations,
        ],
    }
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def verified_buckets(rules: PokerRules, special_round: int, buckets: int | Sequence[int]) -> tuple[int, ...]:
    """Return the buckets of one cluster in each round from the special one on, or say what is wrong."""
    verify_whole("special_round", special_round)
    if not 0 <= special_round < rules.num_rounds:
        raise UsageError(
            f"special_round must be 0 to {rules.num_rounds - 1} in '{rules.name}', not {special_round}"
        )
    where = the_round(rules, special_round)
    if rules.num_board_cards[special_round] == 0:
        raise UsageError(
            "the round whose boards are clustered must deal public cards, and "
            f"{round_of_game(rules, special_round)} deals none"
        )
    between = rules.num_board_cards[special_round + 1 : -1]
    if len(between) > 1 or (between and between[0] != 1):
        raise UsageError(
            f"at most one public card may be dealt between {where} and the last: "
            f"'{rules.name}' deals {between}"
        )
    num_rounds = rules.num_rounds - special_round
    counts = tuple(buckets) if isinstance(buckets, Iterable) else (buckets,) * num_rounds
    for count in counts:
        verify_whole("the buckets of a cluster", count)
    if len(counts) != num_rounds or not all(1 <= count <= BLOCKED for count in counts):
        raise UsageError(
            f"the buckets of a cluster must be one number of 1 to {BLOCKED:,}, or {num_rounds}, one a round "
            f"from {where} on, not {', '.join(map(str, counts))}"
        )
    return counts


def _build_cluster(
    choices: _Choices, deals: Deals, number: int, boards: npt.NDArray[np.int64]
) -> ClusterTables:
    """Build the tables of one cluster."""
    last_round = choices.features.plan.last_round
    tables, costs = {}, []
    for round_index in range(choices.special_round, last_round):
        tables[round_index], cost = _build_table(choices, deals, number, boards, round_index)
        costs.append(cost)
    centres, cost = _build_centres(choices, deals, number, boards)
    return ClusterTables(boards.astype(np.int32), tables, centres, (*costs, cost))


def _build_table(
    choices: _Choices, deals: Deals, number: int, boards: npt.NDArray[np.int64], round_index: int
) -> tuple[npt.NDArray[np.uint16], float]:
    """Cluster the hands of a round before the last; return their buckets and the mean distance."""
    board_round = deals.board_round(choices.special_round)
    special = deals.boards.cards(board_round)[boards]
    later = () if round_index == choices.special_round else deals.rules.deck.cards
    classes = np.stack([_classes_on(choices.features, board, later, round_index) for board in special])
    is_open = classes >= 0
    distinct, which = np.unique(classes[is_open], return_inverse=True)
    shape = (-1,) + (1,) * (classes.ndim - 1)
    weight = np.broadcast_to(deals.boards.weights(board_round)[boards].reshape(shape), classes.shape)
    # Sums of integers far below 2^53: exact as floats.
    weights = np.bincount(which, weights=weight[is_open]).astype(np.int64)
    rows = HandRows(choices.features, round_index, ochs=False)
    num_buckets = min(choices.buckets[round_index - choices.special_round], len(distinct))
    found = cluster_large(
        lambda begin, end: rows.of_classes(distinct[begin:end]),
        weights,
        len(distinct),
        rows.num_columns,
        num_buckets,
        rows.metric,
        Effort(
            _seed(choices.seed, number, round_index),
            choices.restarts,
            choices.max_iterations,
            sample_size=SAMPLE_ROWS_PER_BUCKET * num_buckets,
            full_passes=0,
            num_threads=1,
        ),
    )
    # The larger a cumulative histogram, the weaker the hand.
    new_number = _ranks(-found.centres.sum(axis=1, dtype=np.int64))
    table = np.full(classes.shape, BLOCKED, dtype=np.uint16)
    table[is_open] = new_number[found.labels][which]
    return table, found.cost


def _classes_on(
    features: Features, board: npt.NDArray[np.uint8], later: Sequence[int], round_index: int
) -> npt.NDArray[np.int64]:
    """Return the class of every hand on a board, int64[H], or after each later card, int64[D, H].

    It is -1 where hand, board and later card share a card.
    """
    classes = features.classes
    num_hands = len(classes.hands)
    places = [i for i, card in enumerate(later) if card not in board]
    after = np.array([[*board, later[i]] for i in places] if later else [board], dtype=np.uint8)
    cards, place = open_deals(classes.rules.deck, classes.rules.num_hole_cards, after)
    found = np.full(len(after) * num_hands, -1, dtype=np.int64)
    found[place] = classes.index(cards, round_index)
    if not later:
        return found
    table = np.full((len(later), num_hands), -1, dtype=np.int64)
    table[places] = found.reshape(len(places), num_hands)
    return table


def _build_centres(
    choices: _Choices, deals: Deals, number: int, boards: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint16], float]:
    """Cluster the strengths of last-round hands against opponent clusters; return sorted centres and cost."""
    last_round = choices.features.plan.last_round
    num_buckets = choices.buckets[-1]
    seed = _seed(choices.seed, number, last_round)
    generator = np.random.default_rng(seed)
    ends, weights, is_sample = _last_boards(choices, deals, boards, generator)
    num_kept = max(1, -(-SAMPLE_ROWS_PER_BUCKET * num_buckets // len(ends)))
    rows, counts = [], []
    for begin in range(0, len(ends), BOARDS_A_SWEEP):
        some = slice(begin, begin + BOARDS_A_SWEEP)
        strengths, _, ochs = choices.features.board_sweep.sweep(ends[some])
        is_kept = strengths >= 0
        if is_sample:
            chance = np.where(is_kept, generator.random(is_kept.shape), 2.0)
            kept = min(num_kept, int(is_kept[0].sum()))
            is_kept &= chance <= np.partition(chance, kept - 1, axis=1)[:, kept - 1 : kept]
        rows.append(ochs[is_kept])
        counts.append(np.repeat(weights[some], is_kept.sum(axis=1)))
    distinct, which = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    found = cluster(
        distinct,
        np.bincount(which.reshape(-1), weights=np.concatenate(counts)).astype(np.int64),
        min(num_buckets, len(distinct)),
        Metric.L2,
        seed=seed,
        restarts=choices.restarts,
        max_iterations=choices.max_iterations,
        num_threads=1,
    )
    order = np.argsort(found.centres.sum(axis=1, dtype=np.int64), kind="stable")
    return found.centres[order], found.cost


def _last_boards(
    choices: _Choices, deals: Deals, boards: npt.NDArray[np.int64], generator: np.random.Generator
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], bool]:
    """Return last-round boards of a cluster, their weights, and whether they are a sample of too many."""
    board_round = deals.board_round(choices.special_round)
    special, weights = deals.boards.cards(board_round)[boards], deals.boards.weights(board_round)[boards]
    rules = deals.rules
    num_more = choices.features.classes.num_board_cards(rules.num_rounds - 1) - special.shape[1]
    if len(special) * comb(rules.deck.size - special.shape[1], num_more) <= SAMPLE_BOARDS:
        ends = [
            (*board, *more)
            for board in special.tolist()
            for more in combinations([card for card in rules.deck.cards if card not in board], num_more)
        ]
        return np.array(ends, dtype=np.uint8), np.repeat(weights, len(ends) // len(special)), False
    dealt = special[generator.choice(len(special), SAMPLE_BOARDS, p=weights / weights.sum())]
    cards = np.array(rules.deck.cards, dtype=np.uint8)
    chance = generator.random((SAMPLE_BOARDS, len(cards)))
    chance[(cards == dealt[:, :, np.newaxis]).any(axis=1)] = 2.0  # already dealt
    more = cards[np.argsort(chance, axis=1)[:, :num_more]]
    return np.concatenate([dealt, more], axis=1), np.ones(SAMPLE_BOARDS, dtype=np.int64), True


def _seed(seed: int, number: int, round_index: int) -> int:
    """Return a seed of its own for a cluster and round."""
    return int(np.random.SeedSequence(seed, spawn_key=(number, round_index)).generate_state(1, np.uint64)[0])


def _ranks(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint16]:
    """Return the place of each value when they are sorted."""
    ranks = np.empty(len(values), dtype=np.uint16)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks
