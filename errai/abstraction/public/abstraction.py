"""Hierarchical public abstraction: private buckets inside each cluster of public boards.

Brown, Ganzfried and Sandholm, "Hierarchical Abstraction, Distributed Equilibrium Computation, and
Post-Processing, with Application to a Champion No-Limit Texas Hold'em Agent", 2015, algorithm 1:

1. Rounds before the special round (the flop) are not abstracted.
2. The public boards of the special round are clustered (`clusters.py`). Players never forget which
   cluster it was.
3. In each cluster and each round from the special one on, the private hands whose board began in that cluster
   are put into buckets, whatever was known of them before. Bucket b of cluster c is number c * B + b, where B
   is the most buckets that a cluster has in that round.

The algorithm of step 3 is the paper's own choice (Johanson, Burch, Valenzano and Bowling 2013): k-means under
the earth mover's distance between histograms of hand strength before the last round (KE), k-means under L2 of
the strengths against clusters of opponent hands in the last round (KO, on a random sample of deals of the
cluster, where there are too many). Hands weigh as much as the deals that they stand for. Buckets ascend with
the mean strength of their hands.

Nothing of a cluster needs anything of another, so their tables lie in folders of their own, and a worker
loads and holds only those that it works on:

    abstraction.json          what it is, with the checksum of every file; written last
    clusters.array            cluster of each canonical board of the special round
    opponents.array           cluster of each class of the opponent's hole cards
    cluster-7/boards.array    canonical boards of cluster 7
    cluster-7/round-1.array   uint16[F, H] bucket of each hand on each of these boards, 65535 where blocked
    cluster-7/round-2.array   uint16[F, D, H] the same after one more card, in the canonical board's suits
    cluster-7/round-3.array   uint16[K, C] centres: the bucket of a hand in the last round is the nearest one

A look-up renames the special round's board to the canonical one, and the hands and the later card with it.
The last round needs no renaming: strengths against all opponents are computed for all hands at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.abstraction import FORMAT, ReadTable, read_manifest, restore_poker_rules
from errai.abstraction.features.features import BoardSweep
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.folder import FolderWriter
from errai.abstraction.protocol import verify_cards, verify_player
from errai.abstraction.public import _abstraction as kernels
from errai.array_file import ArrayHeader, read_array
from errai.cards.deck import format_cards
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.games.catalogue import describe_rules
from errai.games.deals import Deals
from errai.games.rules import PokerRules

KIND = "public"

BLOCKED = 2**16 - 1
"""Stands in tables where a hand shares a card with the board."""

NO_BUCKET = kernels.NO_BUCKET

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ClusterTables:
    """The buckets inside one public cluster. F boards, D cards, H hands, K centres of C columns.

    Attributes:
        boards: int32[F], canonical boards of the special round, ascending.
        tables: by round; uint16[F, H] in the special round, uint16[F, D, H] in one that deals one card more.
        centres: uint16[K, C], centres of the last round in ascending order of their sums.
        costs: for each round from the special one on, the mean distance of a deal to its bucket's centre in
            the units of `kmeans` (last round: mean squared distance over the deals that were sampled).
    """

    boards: npt.NDArray[np.int32]
    tables: Mapping[int, npt.NDArray[np.uint16]]
    centres: npt.NDArray[np.uint16]
    costs: tuple[float, ...]

    @cached_property
    def centre_columns(self) -> npt.NDArray[np.uint16]:
        """The centres column by column, uint16[P * K], as the search reads them."""
        return padded(self.centres).T.reshape(-1)

    @cached_property
    def centre_sums(self) -> Numbers:
        """Sums of the centres, int64[K], ascending."""
        sums: Numbers = self.centres.sum(axis=1, dtype=np.int64)
        return sums


@dataclass(frozen=True, eq=False)
class PublicShape:
    """What a public abstraction is, without the tables of its clusters.

    Attributes:
        game: the rules.
        special_round: the betting round whose boards are clustered.
        cluster_of_board: int32[M], the cluster of each canonical board of that round.
        num_clusters: number of clusters.
        buckets_per_cluster: by round from the special one on, the most that a cluster has.
        opponent_clusters: cluster of each class of the opponent's hole cards, for the last round.
    """

    game: PokerRules
    special_round: int
    cluster_of_board: npt.NDArray[np.int32]
    num_clusters: int
    buckets_per_cluster: tuple[int, ...]
    opponent_clusters: npt.NDArray[np.uint16]

    @property
    def name(self) -> str:
        """Such as `PUBLIC60-KE-KO 169-500-500-500`, with the buckets of one cluster."""
        return public_name(self.game, self.special_round, self.num_clusters, self.buckets_per_cluster)


def public_name(
    game: PokerRules, special_round: int, num_clusters: int, buckets_per_cluster: tuple[int, ...]
) -> str:
    """Return the name of a public abstraction; arguments as in `PublicShape`."""
    classes = HandClasses(game)
    counts = [*(classes.size(r) for r in range(special_round)), *buckets_per_cluster]
    return f"PUBLIC{num_clusters}-KE-KO {'-'.join(map(str, counts))}"


class PublicAbstraction:
    """Buckets of a game's hands that never forget in which cluster the special round's board was.

    Attributes:
        game: the rules.
        special_round: the betting round whose boards are clustered.
        cluster_of_board: int32[M], the cluster of each canonical board of that round.
        num_clusters: number of clusters.
        buckets_per_cluster: by round from the special one on, the most that a cluster has.
        opponent_clusters: cluster of each class of the opponent's hole cards, for the last round.
        clusters: tables of the clusters that are at hand.
    """

    num_players_described = 1

    def __init__(self, shape: "PublicShape", clusters: Mapping[int, ClusterTables]) -> None:
        game = shape.game
        self.game = game
        self.special_round = shape.special_round
        self.cluster_of_board = shape.cluster_of_board
        self.num_clusters = shape.num_clusters
        self.buckets_per_cluster = shape.buckets_per_cluster
        self.opponent_clusters = shape.opponent_clusters
        self.clusters = dict(clusters)
        self.classes = HandClasses(game)
        self._deals = Deals(game)
        self._deck_cards = np.array(game.deck.cards, dtype=np.uint8)
        self._position = np.zeros(256, dtype=np.int64)
        self._position[self._deck_cards] = np.arange(game.deck.size)
        self._hand_positions = self._position[self.classes.hands]
        self._place = np.full(len(self.cluster_of_board), -1, dtype=np.int64)  # of a board in its cluster
        for tables in self.clusters.values():
            self._place[tables.boards] = np.arange(len(tables.boards))

    @property
    def name(self) -> str:
        """What it is, such as `PUBLIC60-KE-KO 169-500-500-500`, with the buckets of one cluster."""
        return self.shape.name

    @property
    def last_round(self) -> int:
        """The round that ends with a showdown."""
        return self.game.num_rounds - 1

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the number of buckets of a round, over all clusters."""
        verify_player(player)
        if round_index < self.special_round:
            return self.classes.size(round_index)
        self.classes.num_board_cards(round_index)  # refuses rounds that do not exist
        return self.num_clusters * self.buckets_per_cluster[round_index - self.special_round]

    def bucket(self, hand: str, board: str = "", player: int = 0) -> int:
        """Return the bucket of a hand on a board, both as text, the board in dealt order."""
        hole, public = self.game.parse_deal(hand, board)
        buckets = self.buckets_on_board(np.array(public, dtype=np.uint8), player)
        return int(buckets[self.game.deck.hand_index(hole)])

    def buckets_on_board(self, board: npt.NDArray[np.uint8], player: int = 0) -> Numbers:
        """Return the bucket of every hand of the one hand order: int64[H], -1 where it shares a card.

        Args:
            board: uint8[b], rounds in dealt order.
            player: whose buckets; both players have the same.
        """
        verify_player(player)
        board = np.ascontiguousarray(board, dtype=np.uint8)
        round_index = self.game.round_of_board(len(board))
        self.game.deck.verify(board.tolist())
        buckets = np.full(len(self.classes.hands), NO_BUCKET, dtype=np.int64)
        if round_index < self.special_round:
            deals, numbers = open_deals(self.game.deck, self.game.num_hole_cards, board)
            buckets[numbers] = self.classes.index(deals, round_index)
            return buckets
        number, permutation = self._special_board(board)
        tables, offset = self._tables_of(number, round_index)
        if round_index == self.last_round:
            features = self._sweep.features(board)
            kernels.nearest_centres(
                padded(features.ochs),
                features.is_open,
                tables.centre_columns,
                tables.centre_sums,
                offset,
                np.empty(len(tables.centres), dtype=np.int32),
                buckets,
            )
            return buckets
        row = tables.tables[round_index][self._place[number]]
        if row.ndim == 2:
            row = row[self._position[permutation[board[-1]]]]
        is_dealt = np.zeros(self.game.deck.size, dtype=bool)
        is_dealt[self._position[board]] = True
        renamed = self._position[permutation[self._deck_cards]]
        kernels.look_up_hands(row, self._hand_positions, renamed, is_dealt, offset, buckets)
        return buckets

    def buckets(self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0) -> Numbers:
        """Return the bucket of each deal, int64[N].

        Args:
            cards: uint8[N, hole + board], hole cards first, the board in dealt order.
            round_index: the round.
            player: whose buckets; both players have the same.
        """
        verify_player(player)
        verify_cards(cards, self.classes, round_index)
        num_hole = self.game.num_hole_cards
        classes = self.classes.index(cards, round_index)  # refuses whatever is no deal
        if round_index < self.special_round:
            return classes
        deals = np.atleast_2d(np.ascontiguousarray(cards, dtype=np.uint8))
        holes, boards = deals[:, :num_hole], deals[:, num_hole:]
        buckets = np.empty(len(deals), dtype=np.int64)
        if round_index == self.last_round:
            distinct, which = np.unique(boards, axis=0, return_inverse=True)
            numbers = self.game.deck.hand_indices(holes)
            order = np.argsort(which.reshape(-1), kind="stable")
            ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(distinct)))
            for board, rows in zip(distinct, np.split(order, ends[:-1]), strict=True):
                buckets[rows] = self.buckets_on_board(board)[numbers[rows]]
            return buckets
        batch = self._deals.boards.canonicalise_many(boards[:, : self._num_special_cards], self._board_round)
        each = np.arange(len(deals))
        numbers = self.game.deck.hand_indices(batch.card_permutation[each[:, None], holes])
        later = self._position[batch.card_permutation[each, boards[:, -1]]]
        for number in np.unique(self.cluster_of_board[batch.board_index]):
            rows = np.flatnonzero(self.cluster_of_board[batch.board_index] == number)
            tables, offset = self._tables_of(int(batch.board_index[rows[0]]), round_index)
            table = tables.tables[round_index]
            place = self._place[batch.board_index[rows]]
            key = (place, numbers[rows]) if table.ndim == 2 else (place, later[rows], numbers[rows])
            buckets[rows] = offset + table[key].astype(np.int64)
        return buckets

    def save(self, folder: str | Path) -> None:
        """Write all clusters, which must be at hand, and the manifest last."""
        missing = sorted(set(range(self.num_clusters)) - set(self.clusters))
        if missing:
            raise UsageError(
                f"cluster {missing[0]} is not loaded: a public abstraction is saved with all clusters"
            )
        writer = PublicWriter(folder, self.shape, "")
        for number, tables in sorted(self.clusters.items()):
            writer.write_cluster(number, tables)
        writer.finish()

    @property
    def shape(self) -> "PublicShape":
        """What it is, without the tables of its clusters."""
        return PublicShape(
            self.game,
            self.special_round,
            self.cluster_of_board,
            self.num_clusters,
            self.buckets_per_cluster,
            self.opponent_clusters,
        )

    @property
    def num_opponent_clusters(self) -> int:
        """Clusters of the opponent's hole cards, empty ones included: a centre has a column for each."""
        return int(next(iter(self.clusters.values())).centres.shape[1])

    @cached_property
    def _sweep(self) -> BoardSweep:
        """Compares all hands of a last-round board with the opponent clusters."""
        return BoardSweep(self.classes, self.opponent_clusters, self.num_opponent_clusters)

    @cached_property
    def _board_round(self) -> int:
        return self._deals.board_round(self.special_round)

    @cached_property
    def _num_special_cards(self) -> int:
        return self.classes.num_board_cards(self.special_round)

    def _special_board(self, board: npt.NDArray[np.uint8]) -> tuple[int, npt.NDArray[np.uint8]]:
        """Return the canonical board of the special round that a board began with, and its renaming."""
        found = self._deals.boards.canonicalise(board[: self._num_special_cards], self._board_round)
        return found.board_index, found.card_permutation

    def _tables_of(self, board_index: int, round_index: int) -> tuple[ClusterTables, int]:
        """Return the tables of a canonical board's cluster, and the number of its first bucket in a round."""
        number = int(self.cluster_of_board[board_index])
        if number not in self.clusters:
            board = format_cards(self._deals.boards.cards(self._board_round)[board_index])
            raise UsageError(
                f"the board {board} is in public cluster {number}, which is not loaded: "
                f"{', '.join(map(str, sorted(self.clusters)))} are"
            )
        return self.clusters[number], number * self.buckets_per_cluster[round_index - self.special_round]


def padded(rows: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Return rows with columns of zeroes added, as many as the search needs."""
    missing = -rows.shape[1] % kernels.GROUP
    return np.pad(rows, ((0, 0), (0, missing))) if missing else rows


def cluster_folder(number: int) -> str:
    """Return the name of the folder that holds the tables of one cluster."""
    return f"cluster-{number}"


class PublicWriter:
    """Writes a public abstraction cluster by cluster; a folder without its manifest is not one yet."""

    def __init__(self, folder: str | Path, shape: PublicShape, fingerprint: str) -> None:
        """Begin, or go on with what an interrupted build of the same has left.

        Args:
            folder: where; one that holds an abstraction is refused.
            shape: what it is.
            fingerprint: of everything that decides the buckets; clusters of another are written anew.
        """
        self._folder = FolderWriter(folder, fingerprint, "tables")
        self._shape = shape
        self._entries: dict[int, dict[str, Any]] = {}

    def write_cluster(self, number: int, tables: ClusterTables) -> None:
        """Write the tables of a cluster, and a note of it with which an interrupted build goes on."""
        arrays: dict[str, tuple[Array, str]] = {"boards": (tables.boards, "boards")}
        arrays |= {f"round-{r}": (table, "buckets") for r, table in tables.tables.items()}
        arrays[f"round-{self._shape.game.num_rounds - 1}"] = (tables.centres, "chances")
        folder = cluster_folder(number)
        self._entries[number] = self._folder.write_part(
            folder, f"{folder}/", arrays, {"costs": list(tables.costs)}
        )

    def written_cluster(self, number: int) -> ClusterTables | None:
        """Return the tables of a cluster that an interrupted build has written, every bit verified."""
        entry = self._folder.written_part(cluster_folder(number))
        if entry is None:
            return None
        self._entries[number] = entry
        read = _reader(self._folder.path, self._folder.fingerprint)
        return _restore_cluster(self._shape, number, entry, read)

    def finish(self) -> None:
        """Write the manifest, after which the folder is an abstraction."""
        shape, write = self._shape, self._folder.write_shared
        shared = {
            "clusters": write("clusters", shape.cluster_of_board, "clusters"),
            "opponents": write("opponents", shape.opponent_clusters, "clusters"),
        }
        self._folder.finish(
            {
                "format": FORMAT,
                "kind": KIND,
                "name": shape.name,
                "game": describe_rules(shape.game),
                "special_round": shape.special_round,
                "num_clusters": shape.num_clusters,
                "buckets_per_cluster": list(shape.buckets_per_cluster),
                "arrays": shared,
                "clusters": [self._entries[number] for number in range(shape.num_clusters)],
            }
        )


def _reader(root: Path, fingerprint: str) -> ReadTable:
    """Return what reads arrays of a folder by name, every bit verified."""

    def read(name: str, checksum: str | None) -> tuple[ArrayHeader, Array]:
        return read_array(root / f"{name}.array", fingerprint=fingerprint, expected_checksum=checksum)

    return read


def _restore_cluster(
    shape: PublicShape, number: int, entry: dict[str, Any], read: ReadTable
) -> ClusterTables:
    last_round = shape.game.num_rounds - 1

    def table(name: str) -> Array:
        return read(f"{cluster_folder(number)}/{name}", entry["arrays"][name])[1]

    tables = {r: table(f"round-{r}") for r in range(shape.special_round, last_round)}
    return ClusterTables(table("boards"), tables, table(f"round-{last_round}"), tuple(entry["costs"]))


def load_public_abstraction(folder: str | Path, clusters: Iterable[int] | None = None) -> PublicAbstraction:
    """Load a public abstraction, every bit verified.

    Args:
        folder: that it was saved to.
        clusters: those to load; all without it.
    """
    root = Path(folder)
    manifest = read_manifest(root)
    if manifest["kind"] != KIND:
        raise UsageError(f"expected a {KIND} abstraction: '{folder}' is a {manifest['kind']} one")
    num_clusters = int(manifest["num_clusters"])
    for number in [] if clusters is None else sorted(set(clusters)):
        if not 0 <= number < num_clusters:
            raise UsageError(f"cluster {number} not found: '{folder}' has clusters 0 to {num_clusters - 1}")
    return restore_public_abstraction(manifest, _reader(root, manifest["fingerprint"]), clusters)


def public_array_names(manifest: dict[str, Any]) -> dict[str, str | None]:
    """Return the arrays of a public abstraction, given its manifest, with their checksums."""
    names: dict[str, str | None] = dict(manifest["arrays"])
    for number, entry in enumerate(manifest["clusters"]):
        names |= {f"{cluster_folder(number)}/{name}": one for name, one in entry["arrays"].items()}
    return names


def restore_public_abstraction(
    manifest: dict[str, Any], read: ReadTable, clusters: Iterable[int] | None = None
) -> PublicAbstraction:
    """Return the public abstraction that a manifest describes.

    Args:
        manifest: of its folder.
        read: gives an array by its name and its checksum.
        clusters: those to load; all without it.
    """
    shape = PublicShape(
        restore_poker_rules(manifest["game"]),
        int(manifest["special_round"]),
        read("clusters", manifest["arrays"]["clusters"])[1],
        int(manifest["num_clusters"]),
        tuple(manifest["buckets_per_cluster"]),
        read("opponents", manifest["arrays"]["opponents"])[1],
    )
    wanted = range(shape.num_clusters) if clusters is None else sorted(set(clusters))
    return PublicAbstraction(
        shape, {n: _restore_cluster(shape, n, manifest["clusters"][n], read) for n in wanted}
    )
