"""An abstraction of a game's cards: which hands look alike to a player, in each round.

On disk it is a folder: arrays of the rounds (`PLAYER-ROUND-NAME.array`) and `abstraction.json`, which is
written last and names every array with its checksum, so that nothing half-written is taken for whole. It
needs no feature cache to be used. Tables are memory-mapped, every bit of them verified when they are opened.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.features import BoardSweep
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.folder import MANIFEST_NAME, FolderWriter, verified_json
from errai.abstraction.methods.method import Method, RoundRecipe
from errai.abstraction.protocol import bucket_of_text, verify_cards, verify_player
from errai.abstraction.recipe import Recipe
from errai.abstraction.round_buckets import (
    NO_BUCKET,
    ClassTable,
    DealTable,
    Lossless,
    RefinedOchs,
    RefinedStrength,
    RoundBuckets,
    SweptStrength,
)
from errai.array_file import ArrayHeader, map_verified_array, read_array
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.games.catalogue import describe_rules, restore_rules
from errai.games.deals import Deals
from errai.games.rules import PokerRules

FORMAT = 1
CLUSTERS_NAME = "opponent-clusters"
COUNT_NOTE = "num_clusters"

Array = npt.NDArray[Any]
ReadTable = Callable[[str, str | None], tuple[ArrayHeader, Array]]


@dataclass(frozen=True, eq=False)
class Abstraction:
    """Buckets of every hand, for both players or for each.

    Attributes:
        game: the game that it was made for; it fits every game with the same cards.
        recipes: how it was made; one where both players see alike.
        rounds: `[player][round]` the buckets.
        opponent_clusters: uint16[classes of hole cards] for rounds that are looked up by OCHS; uint16[0]
            where no round is clustered by it.
        fingerprint: of everything that decided the buckets.
        statistics: `[player][round]` what clustering reported.
        num_opponent_clusters: of `opponent_clusters`, empty ones included; 0 where there are none.
    """

    game: PokerRules
    recipes: tuple[Recipe, ...]
    rounds: tuple[tuple[RoundBuckets, ...], ...]
    opponent_clusters: npt.NDArray[np.uint16]
    fingerprint: str = ""
    statistics: tuple[tuple[dict[str, Any], ...], ...] = field(default=())
    num_opponent_clusters: int = 0

    @property
    def name(self) -> str:
        """As given to `errai abstract build`."""
        return " / ".join(recipe.name for recipe in self.recipes)

    @property
    def num_players_described(self) -> int:
        """1 where both players see alike, 2 where they do not."""
        return len(self.rounds)

    @cached_property
    def classes(self) -> HandClasses:
        """The classes of the game's hands."""
        return HandClasses(self.game)

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the buckets of a round, empty ones included."""
        return self._round(round_index, player).num_buckets

    def bucket(self, hand: str, board: str = "", player: int = 0) -> int:
        """Return the bucket of a hand.

        Args:
            hand: hole cards as text, such as `AsKd`.
            board: public cards in the order of their deals.
            player: position.
        """
        return bucket_of_text(self, hand, board, player)

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int64]:
        """Return the bucket of each deal: int64[N].

        Args:
            cards: uint8[N, hole + board], hole cards first, the board in the order of its deals.
            round_index: from 0.
            player: position.
        """
        verify_cards(cards, self.classes, round_index)
        return self._round(round_index, player).of_deals(cards)

    def buckets_on_board(self, board: npt.NDArray[np.uint8], player: int = 0) -> npt.NDArray[np.int64]:
        """Return the bucket of every hand on a board: int64[H], -1 where hand and board share a card.

        Args:
            board: uint8[cards] in the order of the deals.
            player: position.
        """
        round_index = self.game.round_of_board(len(board))
        cards, numbers = open_deals(self.game.deck, self.game.num_hole_cards, board)
        found = np.full(len(self.classes.hands), NO_BUCKET, dtype=np.int64)
        found[numbers] = self._round(round_index, player).on_board(cards, numbers)
        return found

    def save(self, folder: str | Path) -> None:
        """Write the abstraction to a folder, the manifest last."""
        writer = AbstractionWriter(folder, self.recipes, self.fingerprint)
        writer.write_clusters(self.opponent_clusters, self.num_opponent_clusters)
        for player, rounds in enumerate(self.rounds):
            for r, buckets in enumerate(rounds):
                writer.write_round(player, r, buckets, self.statistics[player][r] if self.statistics else {})
        writer.finish()

    def _round(self, round_index: int, player: int) -> RoundBuckets:
        verify_player(player)
        self.classes.num_board_cards(round_index)  # refuses rounds that do not exist
        return self.rounds[player if self.num_players_described > 1 else 0][round_index]


class AbstractionWriter:
    """Writes an abstraction round by round; a folder without its manifest is not an abstraction yet."""

    def __init__(self, folder: str | Path, recipes: Sequence[Recipe], fingerprint: str) -> None:
        self._folder = FolderWriter(folder, fingerprint, "round")
        self._recipes = tuple(recipes)
        self._rounds: dict[tuple[int, int], dict[str, Any]] = {}
        self._shared: dict[str, str] = {}

    def write_clusters(self, opponent_clusters: npt.NDArray[np.uint16], num_clusters: int) -> None:
        """Write what OCHS look-ups need."""
        write, notes = self._folder.write_shared, {COUNT_NOTE: num_clusters}
        self._shared[CLUSTERS_NAME] = write(CLUSTERS_NAME, opponent_clusters, "clusters", notes)

    def write_round(self, player: int, r: int, buckets: RoundBuckets, statistics: dict[str, Any]) -> None:
        """Write a round, and a note of it with which an interrupted build goes on."""
        entry = {
            "kind": buckets.kind,
            "num_buckets": buckets.num_buckets,
            "recipe": _describe_round(self._recipes[player].rounds[r]),
            "statistics": statistics,
        }
        arrays = {name: (array, "buckets") for name, array in buckets.arrays.items()}
        self._rounds[player, r] = self._folder.write_part(f"{player}-{r}", f"{player}-{r}-", arrays, entry)

    def written_round(self, player: int, r: int) -> dict[str, Any] | None:
        """Return the entry of a round that an interrupted build has written."""
        entry = self._folder.written_part(f"{player}-{r}")
        if entry is not None:
            self._rounds[player, r] = entry
        return entry

    def read_round(self, entry: dict[str, Any], player: int, r: int) -> dict[str, Array]:
        """Read the arrays of a written round, every bit verified."""
        folder, fingerprint = self._folder.path, self._folder.fingerprint
        return {
            name: read_array(
                folder / f"{player}-{r}-{name}.array", fingerprint=fingerprint, expected_checksum=checksum
            )[1]
            for name, checksum in entry["arrays"].items()
        }

    def finish(self) -> None:
        """Write the manifest, after which the folder is an abstraction."""
        rounds = [
            [self._rounds[player, r] for r in range(len(recipe.rounds))]
            for player, recipe in enumerate(self._recipes)
        ]
        self._folder.finish(
            {
                "format": FORMAT,
                "kind": "private",
                "name": " / ".join(recipe.name for recipe in self._recipes),
                "game": describe_rules(self._recipes[0].rules),
                "players": rounds,
                "arrays": self._shared,
            }
        )


def read_abstraction(folder: Path, *, whole: bool = False) -> Abstraction:
    """Open a saved abstraction, every bit verified; tables are mapped or, with `whole`, read into memory."""
    read_table = read_array if whole else map_verified_array
    manifest = read_manifest(folder)

    def read(name: str, checksum: str | None) -> tuple[ArrayHeader, Array]:
        found = read_array if name == CLUSTERS_NAME else read_table
        return found(
            folder / f"{name}.array", fingerprint=manifest["fingerprint"], expected_checksum=checksum
        )

    return restore_abstraction(manifest, read)


def array_names(manifest: dict[str, Any]) -> dict[str, str | None]:
    """Return the arrays of an abstraction, given its manifest, each with its checksum if that is told."""
    # Older manifests do not tell the checksum of the clusters.
    names: dict[str, str | None] = {CLUSTERS_NAME: manifest.get("arrays", {}).get(CLUSTERS_NAME)}
    for player, entries in enumerate(manifest["players"]):
        for r, entry in enumerate(entries):
            names |= {f"{player}-{r}-{name}": checksum for name, checksum in entry["arrays"].items()}
    return names


def restore_abstraction(manifest: dict[str, Any], read: ReadTable) -> Abstraction:
    """Return the abstraction that a manifest describes.

    Args:
        manifest: of its folder.
        read: gives an array by its name and its checksum, None where that is not told.
    """
    rules = restore_poker_rules(manifest["game"])
    header, clusters = read(CLUSTERS_NAME, array_names(manifest)[CLUSTERS_NAME])
    players, recipes, statistics = [], [], []
    for player, entries in enumerate(manifest["players"]):
        builder = RoundFactory(rules, clusters)
        rounds: list[RoundBuckets] = []
        for r, entry in enumerate(entries):
            arrays = {
                name: read(f"{player}-{r}-{name}", checksum)[1] for name, checksum in entry["arrays"].items()
            }
            rounds.append(builder.make(entry["kind"], r, arrays, entry["num_buckets"], rounds))
        players.append(tuple(rounds))
        recipes.append(Recipe(rules, tuple(_restore_round(entry["recipe"]) for entry in entries)))
        statistics.append(tuple(entry["statistics"] for entry in entries))
    return Abstraction(
        rules,
        tuple(recipes),
        tuple(players),
        clusters,
        manifest["fingerprint"],
        tuple(statistics),
        header.notes[COUNT_NOTE] if COUNT_NOTE in header.notes else _count_as_before(clusters),
    )


class RoundFactory:
    """Makes a round's buckets from its arrays."""

    def __init__(self, rules: PokerRules, opponent_clusters: npt.NDArray[np.uint16]) -> None:
        self._rules = rules
        self._classes, self._deals = HandClasses(rules), Deals(rules)
        self._clusters = opponent_clusters

    @cached_property
    def _sweep_of_strength(self) -> BoardSweep:
        return BoardSweep(self._classes, None, 0)

    def make(
        self, kind: str, r: int, arrays: dict[str, Array], num_buckets: int, earlier: Sequence[RoundBuckets]
    ) -> RoundBuckets:
        """Return the buckets of a round.

        Args:
            kind: as `RoundBuckets.kind`.
            r: the round.
            arrays: by name, as `RoundBuckets.arrays`.
            num_buckets: empty ones included.
            earlier: the rounds before it.
        """
        if kind == Lossless.kind:
            return Lossless(self._deals, r)
        if kind == ClassTable.kind:
            return ClassTable(self._classes, r, arrays["table"], num_buckets)
        if kind == DealTable.kind:
            return DealTable(self._deals, r, arrays["table"], num_buckets)
        num_hole = self._rules.num_hole_cards
        if kind == SweptStrength.kind:
            return SweptStrength(num_hole, self._sweep_of_strength, arrays["strengths"], num_buckets)
        num_parent_cards = num_hole + self._classes.num_board_cards(r - 1)
        if kind == RefinedStrength.kind:
            children = arrays["children"]
            parts = num_buckets // earlier[-1].num_buckets
            sweep = self._sweep_of_strength
            return RefinedStrength(earlier[-1], num_parent_cards, num_hole, sweep, children, parts)
        # Centres have a column for each opponent cluster, the largest of which may be empty.
        centres, num_centres = arrays["centres"], arrays["num-centres"]
        sweep = BoardSweep(self._classes, self._clusters, centres.shape[2])
        return RefinedOchs(earlier[-1], num_parent_cards, num_hole, sweep, centres, num_centres)


def restore_poker_rules(about: dict[str, str]) -> PokerRules:
    """Return the card game that `describe_rules` described."""
    rules = restore_rules(about)
    assert isinstance(rules, PokerRules), "only card games are abstracted"
    return rules


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and verify the manifest of a saved abstraction."""
    try:
        content = (folder / MANIFEST_NAME).read_bytes()
    except OSError:
        raise UsageError(
            f"'{folder}' is not an abstraction: expected a finished folder of 'errai abstract build'"
        ) from None
    manifest = verified_json(content, folder / MANIFEST_NAME)
    if manifest.get("format") != FORMAT:
        raise UsageError(
            f"'{folder}' has format version {manifest.get('format')}: expected version {FORMAT}, so build it "
            "again with this version of errai"
        )
    return manifest


def _count_as_before(opponent_clusters: npt.NDArray[np.uint16]) -> int:
    """Count the clusters of a file that does not say how many they are: older versions took the largest."""
    return int(opponent_clusters.max()) + 1 if len(opponent_clusters) else 0


def _describe_round(recipe: RoundRecipe) -> dict[str, Any]:
    return {
        "method": recipe.method.value,
        "num_buckets": recipe.num_buckets,
        "nested": recipe.nested,
        "recall": recipe.recall,
    }


def _restore_round(about: dict[str, Any]) -> RoundRecipe:
    nested = tuple(about["nested"]) if about["nested"] is not None else None
    return RoundRecipe(Method(about["method"]), about["num_buckets"], nested, about["recall"])
