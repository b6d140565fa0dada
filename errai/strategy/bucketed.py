"""A strategy of buckets whose game's hands never fit into memory at once, such as limit hold'em's.

Its tables have a row for each bucket, and a saved abstraction says which bucket a hand has. It is asked like
any strategy; it is measured sub-game by sub-game.

On disk it is one array file that names the abstraction's folder and fingerprint. The folder is looked for
where it was, and beside the strategy's own file; one with another fingerprint is refused.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.abstraction import read_manifest
from errai.abstraction.load import load_abstraction
from errai.abstraction.protocol import CardAbstraction
from errai.cards.deck import NUM_CARDS, format_cards
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import verify_memory
from errai.strategy.export import ExportedStrategy
from errai.strategy.information_sets import BucketSet, action_names, betting_strings, normalised
from errai.strategy.played import BucketLookup, BucketPlay, Play
from errai.strategy.strategy import find_node
from errai.tables.bucket_layout import BucketLayout, bucket_layout
from errai.tables.layout import Floats
from errai.tree.betting_tree import DECISION
from errai.tree.cells import Cells, cells_below


@dataclass(frozen=True, eq=False)
class SavedAbstraction:
    """An abstraction and where it was found.

    Attributes:
        folder: where it lies.
        fingerprint: of everything that decided its buckets.
        abstraction: what answers.
    """

    folder: Path
    fingerprint: str
    abstraction: CardAbstraction

    @staticmethod
    def open(folder: str | Path) -> "SavedAbstraction":
        """Open a folder of `errai abstract build`."""
        abstraction = load_abstraction(folder)
        return SavedAbstraction(Path(folder), read_manifest(Path(folder))["fingerprint"], abstraction)


@dataclass(frozen=True, eq=False)
class BucketStrategy(ExportedStrategy):
    """What to play in both positions, by bucket.

    Attributes:
        tree: the game; its hands are never asked for.
        saved: the abstraction of both positions.
        tables: [position] float[slots] played in proportion to the positive part.
    """

    tree: PublicTree
    saved: SavedAbstraction
    tables: tuple[Floats, Floats]

    def __post_init__(self) -> None:
        for position, table in enumerate(self.tables):
            if table.shape != (self.layout.num_slots[position],):
                raise UsageError(
                    f"a table of {table.shape} does not fit position {position} of '{self.game.name}': "
                    f"expected {self.layout.num_slots[position]:,} numbers"
                )

    @staticmethod
    def uniform(tree: PublicTree, folder: str | Path, dtype: npt.DTypeLike = np.float32) -> "BucketStrategy":
        """Return the strategy that plays every action alike, to be filled."""
        saved = SavedAbstraction.open(folder)
        layout = bucket_layout(tree.walk, Deals(tree.rules), (saved.abstraction, saved.abstraction))
        num_bytes = sum(layout.num_slots) * np.dtype(dtype).itemsize
        verify_memory(num_bytes, f"a strategy of '{tree.rules.name}' ({sum(layout.num_slots):,} slots)")
        return BucketStrategy(tree, saved, layout.zeros(dtype))

    @property
    def game(self) -> PokerRules:
        """The rules of the game."""
        return self.tree.rules

    @cached_property
    def layout(self) -> BucketLayout:
        """Where the slots of the tables are."""
        return bucket_layout(self.tree.walk, self._deals, (self.saved.abstraction, self.saved.abstraction))

    @cached_property
    def plays(self) -> tuple[Play, Play]:
        """What each position plays, at any boards."""
        lookup = BucketLookup(self.game, (self.saved.abstraction, self.saved.abstraction))
        first, second = (
            BucketPlay(self.layout, lookup, q, self.tables[q], self.saved.fingerprint) for q in (0, 1)
        )
        return first, second

    @cached_property
    def _deals(self) -> Deals:
        return Deals(self.game)

    def probabilities(self, betting: str, hand: str, board: str = "") -> dict[str, float]:
        """Return the probability of each action of the player to act; arguments as for any strategy."""
        node = find_node(self.tree, betting)
        player, round_index = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
        hole, public = self.game.parse_deal(hand, board, round_index)
        cards = np.array([[*hole, *public]], dtype=np.uint8)
        weights = self.weights(node)[:, self.rows(cards, round_index, player)[0]]
        return dict(zip(action_names(self.tree, node), normalised(weights).tolist(), strict=True))

    def information_sets(self) -> Iterator[BucketSet]:
        """Yield every information set of both positions, one for each bucket of a decision.

        In a round without buckets there is one for each canonical hand.
        """
        texts, cells = betting_strings(self.tree), self._first_cells
        for node in np.flatnonzero(self.tree.betting.kind == DECISION).tolist():
            player, r = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
            chances = normalised(self.weights(node)).T.tolist()
            hands = [""] * len(chances)
            if not self.layout.bucketed[player, r]:
                hands = [format_cards(cards) for cards in cells.cards(player, 0)]
            actions = tuple(action_names(self.tree, node))
            for bucket, (hand, row) in enumerate(zip(hands, chances, strict=True)):
                yield BucketSet(texts[node], r, bucket, hand, actions, tuple(row))

    def rows(self, cards: npt.NDArray[np.uint8], round_index: int, player: int) -> npt.NDArray[np.int64]:
        """Return the row of each deal in a round's tables: its bucket, or its cell: int64[N].

        Args:
            cards: uint8[N, hole + board], hole cards first, the board in the order of its deals.
            round_index: the round, from 0.
            player: position.
        """
        if self.layout.bucketed[player, round_index]:
            return self.saved.abstraction.buckets(cards, round_index, player).astype(np.int64, copy=False)
        # A round without buckets has one board, so the hole cards alone tell the cell.
        return self._cell_of[cards[:, 0], cards[:, self.game.num_hole_cards - 1]]

    def weights(self, node: int) -> Floats:
        """Return the slots of a decision, played in proportion to the positive part: float[actions, rows]."""
        player, r = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
        num_actions = int(self.tree.betting.num_children[node])
        return self.layout.decision(self.tables[player], player, r, self._slot(node), num_actions)

    def _slot(self, node: int) -> int:
        """Return the first slot of a decision among its player's slots of the round."""
        return int(self.tree.walk.slot[node])

    @cached_property
    def _cell_of(self) -> npt.NDArray[np.int64]:
        """The cell of each hand, by its first and its last card, where there is one board: int64[52, 52]."""
        hands = self.game.deck.hands(self.game.num_hole_cards)
        found = np.zeros((NUM_CARDS, NUM_CARDS), dtype=np.int64)
        first, last = hands[:, 0], hands[:, -1]
        found[first, last] = found[last, first] = self._first_cells.cells_of_hands(0, 0, hands)
        return found

    @cached_property
    def _first_cells(self) -> Cells:
        return cells_below(self._deals, 0, 0, last_round=0)

    def save(self, path: str | Path) -> None:
        """Write the strategy as one file, which `errai.load_strategy` reads."""
        from errai.strategy.files import save_bucket_strategy

        save_bucket_strategy(self, path)

    def describe_abstraction(self, path: str | Path) -> dict[str, Any]:
        """Return what a strategy file at `path` says of the abstraction."""
        return {
            "folder": str(self.saved.folder.absolute()),
            "beside": os.path.relpath(self.saved.folder.absolute(), Path(path).absolute().parent),
            "fingerprint": self.saved.fingerprint,
        }


def find_abstraction(about: dict[str, Any], path: str | Path) -> SavedAbstraction:
    """Open the abstraction that a strategy file names, where it was or beside the file."""
    folders = [Path(path).absolute().parent / about["beside"], Path(about["folder"])]
    for folder in folders:
        if folder.is_dir():
            saved = SavedAbstraction.open(folder)
            if saved.fingerprint == about["fingerprint"]:
                return saved
            raise UsageError(
                f"'{path}' was made with another abstraction than '{folder}': its fingerprint is "
                f"'{about['fingerprint']}', not '{saved.fingerprint}'"
            )
    raise UsageError(f"the abstraction of '{path}' was not found in '{folders[0]}' or '{folders[1]}'")
