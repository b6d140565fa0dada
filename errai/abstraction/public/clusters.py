"""Public clusters: boards of one round that a base abstraction treats alike, grouped together.

Brown, Ganzfried and Sandholm, "Hierarchical Abstraction, Distributed Equilibrium Computation, and
Post-Processing, with Application to a Champion No-Limit Texas Hold'em Agent", 2015, algorithms 2 and 3.
Their flagship: 60 clusters of the 1,755 canonical flops from a base of 5,000 flop buckets.

1. `transition_table`: T[i][b], how many private hands fall into bucket b of the base on canonical board i.
2. `public_distances`: d_ij = (V - sum_b min(T_ib, T_jb)) / V, the share of the V private hands that the two
   boards do not send to the same buckets, whichever hands these are (algorithm 2).
3. `cluster_public_boards`: boards chosen as k-means++ does, each board with the nearest chosen one, and then
   each to the cluster with the smallest *sum* of distances to its boards (algorithm 3).

`waugh_distances` is the older way, for comparison: the L2 distance between tables of the probability of going
from each bucket of the round before to each bucket of this one. The paper's example, AhKs3d and AhKs2d, with
a base of 169 and 5,000 buckets (k-means under the earth mover's distance): algorithm 2 puts them 0.33 apart,
a third of the median distance of AhKs3d to other flops, Waugh's tables 10.2, two thirds of it. With coarser
bases the two ways differ more (100 buckets by strength: 4% and 58%). Both rank AhKs2d among the nearest few
flops: by Waugh's tables no flop at all is near.

Where the paper is silent, or does not work as printed:

- Algorithm 3 computes all clusters of an iteration from those of the iteration before. A sum favours small
  clusters, so all boards run to the few smallest at once, which are the largest next time. On the 1,755 flops
  (percentiles of hand strength in 1,000 buckets, 60 clusters, seed 0) 16 clusters are empty after one
  iteration. An empty cluster has the sum 0 and is every board's best, so after two iterations 1,738 flops lie
  in one cluster, and they move together from one empty cluster to the next for ever. With two clusters all
  flops are in one after the first iteration. Leaving empty clusters out of the choice only slows this down:
  all flops are in one cluster after about ten iterations.
- So boards move *in turn* here (`update="in turn"`): each looks at the clusters as they are when it is its
  turn. A move then lowers the sum of distances between all pairs of boards that share a cluster, by just what
  the board gains; nothing can be repeated, and the process ends. A board alone in its cluster has the sum 0
  there and never leaves, so no cluster is ever empty. On the same flops it ends after 8 iterations, with
  clusters of 10 to 78 flops (median 24): the balanced sizes that the paper reports of its sum objective.
  `update="at once"` is the printed algorithm.
- A board stays where it is when no other cluster is strictly better; else the lowest of equals is taken.
- Boards at distance 0 from a chosen one are never chosen while others remain; after that, any unchosen board
  is, with equal chances. A chosen board begins in its own cluster. So as many clusters as boards means each
  board alone, even where distances are 0.
- The clusters are finally numbered by their lowest boards; the best of several restarts is kept.
- Boards are not weighted by the deals that they stand for, as in the paper.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.hands import HandClasses
from errai.abstraction.public import _clusters as kernels
from errai.abstraction.seeds import verify_seed
from errai.cards.deck import format_cards
from errai.cards.hands import open_deals
from errai.errors import UsageError, verify_whole
from errai.games.deals import Deals
from errai.games.rounds import round_of_game
from errai.workers import start_workers

BucketsOnBoard = Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.integer[Any]]]
"""The bucket of every hand of the one hand order on a board in dealt order; -1 where they share a card."""

IN_TURN = "in turn"
AT_ONCE = "at once"
UPDATES = (IN_TURN, AT_ONCE)

MAX_HANDS = 2**16 - 1  # sums of minima are numbers of 16 bits
CHUNK = kernels.BLOCK


@dataclass(frozen=True)
class PublicClusters:
    """A clustering of the M canonical boards of a round.

    Attributes:
        cluster_of_board: int32[M], numbered by the lowest board of each; empty clusters come last.
        num_clusters: how many were asked for. All have boards, unless boards moved at once.
        objective: sum of the distances between all pairs of boards that share a cluster.
        iterations: passes over all boards, the last of which moved none if it converged.
        converged: whether it ended because no board moved.
        restart: which of the restarts had the smallest objective.
    """

    cluster_of_board: npt.NDArray[np.int32]
    num_clusters: int
    objective: float
    iterations: int
    converged: bool
    restart: int

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Boards of each cluster, int64[C]."""
        return np.bincount(self.cluster_of_board, minlength=self.num_clusters)

    def boards(self, cluster: int) -> npt.NDArray[np.int64]:
        """Return the numbers of the boards of a cluster, ascending."""
        if not 0 <= cluster < self.num_clusters:
            raise UsageError(f"the cluster must be 0 to {self.num_clusters - 1}, not {cluster}")
        return np.flatnonzero(self.cluster_of_board == cluster)


def buckets_of_classes(
    bucket_of_class: npt.NDArray[np.integer[Any]], deals: Deals, round_index: int
) -> BucketsOnBoard:
    """Return a look-up of all hands on a board in a table of the bucket of every class.

    Args:
        bucket_of_class: integers[classes] over hole cards and unordered board of the round.
        deals: the game.
        round_index: betting round, 0 is the first.
    """
    classes = HandClasses(deals.rules)
    if bucket_of_class.shape != (classes.size(round_index),):
        raise UsageError(
            f"expected {classes.size(round_index)} buckets, one for each class of "
            f"{round_of_game(deals.rules, round_index)}, not an array of shape {bucket_of_class.shape}"
        )

    def buckets_on_board(board: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
        cards, numbers = open_deals(deals.rules.deck, deals.rules.num_hole_cards, board)
        buckets = np.full(len(classes.hands), -1, dtype=np.int32)
        buckets[numbers] = bucket_of_class[classes.index(cards, round_index)]
        return buckets

    return buckets_on_board


def transition_table(
    buckets: BucketsOnBoard | npt.NDArray[np.integer[Any]],
    deals: Deals,
    round_index: int = 1,
    num_buckets: int | None = None,
) -> npt.NDArray[np.uint16]:
    """Count the private hands of every canonical board that fall into each bucket of a base abstraction.

    Args:
        buckets: of every hand on a board, or of every class of the round (see `buckets_of_classes`).
        deals: the game.
        round_index: betting round whose boards are clustered, 0 is the first.
        num_buckets: of the base in that round; by default one more than the largest that occurs.

    Returns:
        uint16[M, B]; every row sums to the number of hands that the board leaves.
    """
    boards = _public_boards(deals, round_index)
    counts = []
    for board, _, given in _all_buckets(buckets, deals, round_index):
        most = int(given.max())
        if num_buckets is not None and most >= num_buckets:
            raise UsageError(
                f"a hand on the board {format_cards(board)} has bucket {most}: it must be 0 to "
                f"{num_buckets - 1}"
            )
        counts.append(np.bincount(given).astype(np.uint16))
    table = np.zeros((len(boards), num_buckets or max(len(row) for row in counts)), dtype=np.uint16)
    for row, count in zip(table, counts, strict=True):
        row[: len(count)] = count
    return table


def public_differences(table: npt.NDArray[np.uint16], *, num_threads: int = 1) -> npt.NDArray[np.uint16]:
    """Return algorithm 2's distances times V: V - sum_b min(T_ib, T_jb), exact, uint16[M, M].

    Args:
        table: uint16[M, B] of `transition_table`.
        num_threads: threads that work at once; the result does not depend on them.
    """
    table = np.ascontiguousarray(table, dtype=np.uint16)
    totals = table.sum(axis=1, dtype=np.int64)
    if table.ndim != 2 or table.size == 0 or totals.min() != totals.max() or not 0 < totals[0] <= MAX_HANDS:
        raise UsageError(
            f"the rows of a transition table must have equal sums of 1 to {MAX_HANDS} private hands, not "
            f"{totals.min()} to {totals.max()} in a table of shape {table.shape}"
        )
    differences = np.empty((len(table), len(table)), dtype=np.uint16)
    work = partial(kernels.differences_of_rows, table, np.uint16(totals[0]))
    _in_chunks(len(table), num_threads, lambda begin, end: work(begin, end, differences))
    return differences


def public_distances(table: npt.NDArray[np.uint16], *, num_threads: int = 1) -> npt.NDArray[np.float64]:
    """Return algorithm 2's distances d_ij = (V - sum_b min(T_ib, T_jb)) / V, float64[M, M].

    Symmetric, from 0 to 1; 0 also between different boards that send as many hands into every bucket.
    """
    differences = public_differences(table, num_threads=num_threads)
    distances: npt.NDArray[np.float64] = differences / np.float64(table[0].sum())
    return distances


def waugh_distances(
    buckets_before: BucketsOnBoard,
    buckets: BucketsOnBoard | npt.NDArray[np.integer[Any]],
    deals: Deals,
    round_index: int = 1,
    *,
    num_threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Return the L2 distances between the boards' tables of transition probabilities, float64[M, M].

    Entry T[f][i][j] of Waugh et al., "A Practical Use of Imperfect Recall", 2009, is the probability of
    going from bucket i of the round before to bucket j when the board is f; a bucket i that the board leaves
    no hand has zeroes. Rounding leaves equal boards at up to about 1e-6.

    Args:
        buckets_before: of every hand on the board of the round before (empty before the flop).
        buckets: of every hand on a board of the round, or of every class of it.
        deals: the game.
        round_index: betting round whose boards are compared.
        num_threads: threads that work at once; the result does not depend on them.
    """
    num_before = sum(deals.rules.num_board_cards[:round_index])
    keys, counts, shares = [], [], []
    for board, free, given in _all_buckets(buckets, deals, round_index):
        before = buckets_before(board[:num_before])[free].astype(np.int64)
        key, count = np.unique(before << 32 | given, return_counts=True)
        keys.append(key)
        counts.append(len(key))
        shares.append(count / np.bincount(before)[key >> 32])
    distinct, column = np.unique(np.concatenate(keys), return_inverse=True)
    entry_begin = np.cumsum([0, *counts])
    value = np.concatenate(shares)
    squares = np.empty((len(counts), len(counts)), dtype=np.float64)

    def work(begin: int, end: int) -> None:
        spread = np.zeros(len(distinct), dtype=np.float64)
        kernels.squared_distances_of_rows(entry_begin, column, value, begin, end, spread, squares)

    _in_chunks(len(counts), num_threads, work)
    return np.sqrt(squares)


def cluster_public_boards(
    distances: npt.ArrayLike,
    num_clusters: int,
    *,
    seed: int = 0,
    max_iterations: int = 1000,
    restarts: int = 10,
    update: str = IN_TURN,
) -> PublicClusters:
    """Cluster boards by the sums of their distances (algorithm 3).

    Args:
        distances: [M, M], symmetric, zero on the diagonal. Integers, such as `public_differences`, make every
            sum and so every comparison exact; the objective then counts in their units.
        num_clusters: 1 to M.
        seed: the same seed gives the same clusters.
        max_iterations: passes over all boards at most, 0 or more.
        restarts: starts to try; the clustering with the smallest objective is returned.
        update: `"in turn"`, or `"at once"` as printed, which does not work (see above).
    """
    given = _verified_distances(distances)
    verify_clusters(len(given), num_clusters, seed, restarts)
    if max_iterations < 0:
        raise UsageError(f"max_iterations must be 0 or more, not {max_iterations}")
    if update not in UPDATES:
        raise UsageError(f"update must be {' or '.join(map(repr, UPDATES))}, not '{update}'")
    best: PublicClusters | None = None
    for restart in range(restarts):
        generator = np.random.default_rng((seed, restart))
        clusters = _first_clusters(given, _choose_boards(given, num_clusters, generator))
        sums = np.empty(num_clusters, dtype=np.float64)
        iterations, num_moves = 0, len(given)
        while iterations < max_iterations and num_moves > 0:
            before = clusters if update == IN_TURN else clusters.copy()
            num_moves = kernels.move_boards(given, before, sums, clusters)
            iterations += 1
        objective = float(np.where(clusters[:, None] == clusters, given, 0.0).sum()) / 2
        if best is None or objective < best.objective:
            numbered = _numbered_by_lowest_board(clusters)
            best = PublicClusters(numbered, num_clusters, objective, iterations, num_moves == 0, restart)
    assert best is not None
    best.cluster_of_board.setflags(write=False)
    return best


def verify_clusters(num_boards: int, num_clusters: int, seed: int, restarts: int) -> None:
    """Refuse what boards cannot be clustered with."""
    verify_whole("the number of public clusters", num_clusters)
    if not 1 <= num_clusters <= num_boards:
        raise UsageError(
            f"the number of public clusters must be 1 to {num_boards:,}, one for each board, not "
            f"{num_clusters:,}"
        )
    verify_whole("restarts", restarts, 1)
    verify_seed(seed)


def _choose_boards(
    distances: npt.NDArray[np.float64], num_clusters: int, generator: np.random.Generator
) -> list[int]:
    """Choose different boards as k-means++ does: by the squared distance to the nearest one chosen."""
    chosen = [int(generator.integers(len(distances)))]
    is_free = np.ones(len(distances), dtype=bool)
    is_free[chosen[0]] = False
    nearest = distances[chosen[0]].copy()
    while len(chosen) < num_clusters:
        weights = nearest * nearest
        if not weights.any():
            weights = is_free.astype(np.float64)
        ahead = np.cumsum(weights)
        board = int(np.searchsorted(ahead, generator.random() * ahead[-1], side="right"))
        board = min(board, int(np.flatnonzero(weights)[-1]))  # where the product was rounded up to the sum
        chosen.append(board)
        is_free[board] = False
        np.minimum(nearest, distances[board], out=nearest)
    return chosen


def _first_clusters(distances: npt.NDArray[np.float64], chosen: list[int]) -> npt.NDArray[np.int32]:
    """Return the number of the nearest chosen board for each board; chosen ones begin with themselves."""
    clusters: npt.NDArray[np.int32] = distances[chosen].argmin(axis=0).astype(np.int32)
    clusters[chosen] = np.arange(len(chosen))
    return clusters


def _numbered_by_lowest_board(clusters: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Rename clusters, so that their lowest boards ascend."""
    _, lowest, cluster = np.unique(clusters, return_index=True, return_inverse=True)
    number = np.empty(len(lowest), dtype=np.int32)
    number[np.argsort(lowest)] = np.arange(len(lowest))
    renamed: npt.NDArray[np.int32] = number[cluster.reshape(-1)]
    return renamed


def _verified_distances(distances: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a matrix of distances, or say what is wrong with it."""
    given = np.ascontiguousarray(distances, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.size == 0:
        raise UsageError(f"distances must be a square matrix over all boards, not of shape {given.shape}")
    if not (np.isfinite(given).all() and given.min() >= 0):
        raise UsageError("distances must be finite and 0 or more: some are negative or not finite")
    if given.diagonal().any() or not np.array_equal(given, given.T):
        raise UsageError("distances must be symmetric with zeroes on the diagonal: these are not")
    return given


def _public_boards(deals: Deals, round_index: int) -> npt.NDArray[np.uint8]:
    """Return the canonical boards of a betting round."""
    rules = deals.rules
    if not 0 <= round_index < rules.num_rounds:
        raise UsageError(
            f"the round must be 0 to {rules.num_rounds - 1} in '{rules.name}', not {round_index}"
        )
    if rules.num_board_cards[round_index] == 0:
        raise UsageError(
            f"{round_of_game(rules, round_index)} has no boards to cluster: "
            "expected one that deals public cards"
        )
    return deals.boards.cards(deals.board_round(round_index))


def _all_buckets(
    buckets: BucketsOnBoard | npt.NDArray[np.integer[Any]], deals: Deals, round_index: int
) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_], npt.NDArray[np.integer[Any]]]]:
    """Yield every canonical board, which hands share no card with it, bool[num_hands], and their buckets."""
    look_up = buckets if callable(buckets) else buckets_of_classes(buckets, deals, round_index)
    rules = deals.rules
    for board in _public_boards(deals, round_index):
        free = rules.deck.is_open(rules.num_hole_cards, board)
        given = look_up(board)
        if given.shape != free.shape or not np.array_equal(given >= 0, free):
            raise UsageError(
                f"the {free.sum()} hands that share no card with the board {format_cards(board)} must have a "
                f"bucket in the base abstraction: {np.count_nonzero(given >= 0)} have one"
            )
        yield board, free, given[free]


def _in_chunks(num_rows: int, num_threads: int, work: Callable[[int, int], None]) -> None:
    """Work on rows in chunks; early ones, which have the most pairs, are begun first."""
    with start_workers(num_threads) as workers:
        workers.run(work, num_rows, CHUNK)
