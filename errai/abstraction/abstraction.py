"""An abstraction of a game's cards: which hands look alike to a player, in each round.

On disk it is a folder: arrays of the rounds (`PLAYER-ROUND-NAME.array`) and `abstraction.json`, which is
written last and names every array with its checksum, so that nothing half-written is taken for whole. It
needs no feature cache to be used. Tables are memory-mapped.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.features import BoardSweep
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.recipe import Method, Recipe, RoundRecipe
from errai.abstraction.round_buckets import (
    NO_BUCKET,
    ClassTable,
    DealTable,
    Lossless,
    RefinedOchs,
    RefinedStrength,
    RoundBuckets,
)
from errai.array_file import map_array, read_array, write_array, write_text
from errai.errors import UsageError
from errai.games.catalogue import describe_rules, restore_rules
from errai.games.deals import Deals
from errai.games.rules import PokerRules

FORMAT = 1
MANIFEST_NAME = "abstraction.json"
CLUSTERS_NAME = "opponent-clusters"

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Abstraction:
    """Buckets of every hand, for both players or for each.

    Attributes:
        game: the game that it was made for; it fits every game with the same cards.
        recipes: how it was made; one where both players see alike.
        rounds: [player][round] the buckets.
        opponent_clusters: uint16[classes of hole cards] for rounds that are looked up by OCHS.
        fingerprint: of everything that decided the buckets.
        statistics: [player][round] what clustering reported.
    """

    game: PokerRules
    recipes: tuple[Recipe, ...]
    rounds: tuple[tuple[RoundBuckets, ...], ...]
    opponent_clusters: npt.NDArray[np.uint16]
    fingerprint: str = ""
    statistics: tuple[tuple[dict[str, Any], ...], ...] = field(default=())

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
        num_hole = self.game.num_hole_cards
        cards = self.game.deck.parse(hand + board)
        hole, public = self.game.deck.parse(hand), self.game.deck.parse(board)
        if len(hole) != num_hole:
            raise UsageError(
                f"'{hand}' is not a hand of '{self.game.name}': {num_hole} hole cards are allowed"
            )
        round_index = self.classes.round_of_board(len(public))
        return int(self.buckets(np.array([cards], dtype=np.uint8), round_index, player)[0])

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int64]:
        """Return the bucket of each deal: int64[N].

        Args:
            cards: uint8[N, hole + board], hole cards first, the board in the order of its deals.
            round_index: from 0.
            player: position.
        """
        expected = self.game.num_hole_cards + self.classes.num_board_cards(round_index)
        if cards.ndim != 2 or cards.shape[1] != expected:
            raise UsageError(
                f"cards of shape {cards.shape} do not fit round {round_index} of '{self.game.name}': "
                f"{expected} in a row are allowed"
            )
        return self._round(round_index, player).of_deals(cards)

    def buckets_on_board(self, board: npt.NDArray[np.uint8], player: int = 0) -> npt.NDArray[np.int64]:
        """Return the bucket of every hand on a board: int64[H], -1 where hand and board share a card.

        Args:
            board: uint8[cards] in the order of the deals.
            player: position.
        """
        hands = self.classes.hands
        round_index = self.classes.round_of_board(len(board))
        is_open = self.classes.is_open(board)
        cards = np.empty((int(is_open.sum()), hands.shape[1] + len(board)), dtype=np.uint8)
        cards[:, : hands.shape[1]] = hands[is_open]
        cards[:, hands.shape[1] :] = board
        found = np.full(len(hands), NO_BUCKET, dtype=np.int64)
        found[is_open] = self._round(round_index, player).on_board(cards, np.flatnonzero(is_open))
        return found

    def verify_fits(self, rules: PokerRules) -> None:
        """Refuse a game with other cards."""
        if HandClasses(rules).card_signature() != self.classes.card_signature():
            raise UsageError(
                f"the abstraction '{self.name}' was made for the cards of '{self.game.name}', "
                f"which are not those of '{rules.name}'"
            )

    def save(self, folder: str | Path) -> None:
        """Write the abstraction to a folder, the manifest last."""
        writer = AbstractionWriter(folder, self.recipes, self.fingerprint)
        writer.write_clusters(self.opponent_clusters)
        for player, rounds in enumerate(self.rounds):
            for r, buckets in enumerate(rounds):
                writer.write_round(player, r, buckets, self.statistics[player][r] if self.statistics else {})
        writer.finish()

    def _round(self, round_index: int, player: int) -> RoundBuckets:
        if player not in (0, 1):
            raise UsageError(f"player {player} does not exist: positions 0 and 1 do")
        self.classes.num_board_cards(round_index)  # refuses rounds that do not exist
        return self.rounds[player if self.num_players_described > 1 else 0][round_index]


class AbstractionWriter:
    """Writes an abstraction round by round; a folder without its manifest is not an abstraction yet."""

    def __init__(self, folder: str | Path, recipes: Sequence[Recipe], fingerprint: str) -> None:
        self._folder = Path(folder)
        if (self._folder / MANIFEST_NAME).exists():
            raise UsageError(f"'{folder}' holds an abstraction already: another folder is allowed")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._recipes, self._fingerprint = tuple(recipes), fingerprint
        self._rounds: dict[tuple[int, int], dict[str, Any]] = {}

    def write_clusters(self, opponent_clusters: npt.NDArray[np.uint16]) -> None:
        """Write what OCHS look-ups need."""
        self._write(CLUSTERS_NAME, opponent_clusters)

    def write_round(self, player: int, r: int, buckets: RoundBuckets, statistics: dict[str, Any]) -> None:
        """Write a round, and a note of it with which an interrupted build goes on."""
        checksums = {
            name: self._write(f"{player}-{r}-{name}", array) for name, array in buckets.arrays.items()
        }
        entry = {
            "kind": buckets.kind,
            "num_buckets": buckets.num_buckets,
            "arrays": checksums,
            "recipe": _describe_round(self._recipes[player].rounds[r]),
            "statistics": statistics,
        }
        self._rounds[player, r] = entry
        write_text(self._note(player, r), signed_json({"made": self._fingerprint, **entry}))

    def written_round(self, player: int, r: int) -> dict[str, Any] | None:
        """Return the entry of a round that an interrupted build has written."""
        try:
            entry = verified_json(self._note(player, r).read_bytes(), self._note(player, r))
        except (OSError, UsageError):
            return None
        if entry.pop("made") != self._fingerprint:
            return None
        self._rounds[player, r] = entry
        return entry

    def read_round(self, entry: dict[str, Any], player: int, r: int) -> dict[str, Array]:
        """Read the arrays of a written round, every bit verified."""
        return _read_arrays(self._folder, entry, player, r, self._fingerprint, whole=True)

    def finish(self) -> None:
        """Write the manifest, after which the folder is an abstraction."""
        rounds = [
            [self._rounds[player, r] for r in range(len(recipe.rounds))]
            for player, recipe in enumerate(self._recipes)
        ]
        manifest = {
            "format": FORMAT,
            "kind": "private",
            "name": " / ".join(recipe.name for recipe in self._recipes),
            "game": describe_rules(self._recipes[0].rules),
            "fingerprint": self._fingerprint,
            "players": rounds,
        }
        write_text(self._folder / MANIFEST_NAME, signed_json(manifest))
        for player, r in self._rounds:
            self._note(player, r).unlink(missing_ok=True)

    def _note(self, player: int, r: int) -> Path:
        return self._folder / f".{player}-{r}.round"

    def _write(self, name: str, array: Array) -> str:
        return write_array(
            self._folder / f"{name}.array", array, name=name, units="buckets", fingerprint=self._fingerprint
        )


def read_abstraction(folder: Path, *, whole: bool = False) -> Abstraction:
    """Read a saved abstraction; with `whole`, every bit of its tables is verified."""
    manifest = read_manifest(folder)
    rules = restore_poker_rules(manifest["game"])
    clusters = read_array(folder / f"{CLUSTERS_NAME}.array", fingerprint=manifest["fingerprint"])[1]
    players, recipes, statistics = [], [], []
    for player, entries in enumerate(manifest["players"]):
        builder = RoundFactory(rules, clusters)
        rounds: list[RoundBuckets] = []
        for r, entry in enumerate(entries):
            arrays = _read_arrays(folder, entry, player, r, manifest["fingerprint"], whole)
            rounds.append(builder.make(entry["kind"], r, arrays, entry["num_buckets"], rounds))
        players.append(tuple(rounds))
        recipes.append(Recipe(rules, tuple(_restore_round(entry["recipe"]) for entry in entries)))
        statistics.append(tuple(entry["statistics"] for entry in entries))
    return Abstraction(
        rules, tuple(recipes), tuple(players), clusters, manifest["fingerprint"], tuple(statistics)
    )


class RoundFactory:
    """Makes a round's buckets from its arrays."""

    def __init__(self, rules: PokerRules, opponent_clusters: npt.NDArray[np.uint16]) -> None:
        self._rules = rules
        self._classes, self._deals = HandClasses(rules), Deals(rules)
        self._clusters = opponent_clusters

    @cached_property
    def _sweep(self) -> BoardSweep:
        return BoardSweep(self._classes, self._clusters, int(self._clusters.max()) + 1)

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
        num_parent_cards = num_hole + self._classes.num_board_cards(r - 1)
        if kind == RefinedStrength.kind:
            children = arrays["children"]
            parts = num_buckets // earlier[-1].num_buckets
            sweep = self._sweep_of_strength
            return RefinedStrength(earlier[-1], num_parent_cards, num_hole, sweep, children, parts)
        return RefinedOchs(
            earlier[-1], num_parent_cards, num_hole, self._sweep, arrays["centres"], arrays["num-centres"]
        )


def restore_poker_rules(about: dict[str, str]) -> PokerRules:
    """Return the card game that `describe_rules` described."""
    rules = restore_rules(about)
    assert isinstance(rules, PokerRules), "only card games are abstracted"
    return rules


def signed_json(manifest: dict[str, Any]) -> str:
    """Write a manifest with a checksum of its own."""
    return json.dumps({**manifest, "checksum": _checksum(manifest)}, indent=1)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and verify the manifest of a saved abstraction."""
    try:
        content = (folder / MANIFEST_NAME).read_bytes()
    except OSError:
        raise UsageError(
            f"'{folder}' is not an abstraction: a finished folder of 'errai abstract build' is allowed"
        ) from None
    manifest = verified_json(content, folder / MANIFEST_NAME)
    if manifest.get("format") != FORMAT:
        raise UsageError(
            f"'{folder}' has format version {manifest.get('format')}: version {FORMAT} is allowed"
        )
    return manifest


def verified_json(content: bytes | str, path: Path) -> dict[str, Any]:
    """Read what `signed_json` wrote; the path is only for the sentence that refuses it."""
    try:
        found: dict[str, Any] = json.loads(content)
        checksum = found.pop("checksum")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise UsageError(f"'{path}' is damaged: it is not what was written") from None
    if checksum != _checksum(found):
        raise UsageError(f"'{path}' is damaged: it does not fit its checksum")
    return found


def _checksum(manifest: dict[str, Any]) -> str:
    return sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:32]


def _read_arrays(
    folder: Path, entry: dict[str, Any], player: int, r: int, fingerprint: str, whole: bool
) -> dict[str, Array]:
    read = read_array if whole else map_array
    return {
        name: read(
            folder / f"{player}-{r}-{name}.array", fingerprint=fingerprint, expected_checksum=checksum
        )[1]
        for name, checksum in entry["arrays"].items()
    }


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
