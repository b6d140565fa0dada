"""Play files: a strategy as one read-only, memory-mapped file with all that it takes to play it.

A play file is an array file (`errai/array_file.py`) of bytes: a header with a checksum, then blocks with one
each. The header's notes are the *manifest*: the game's rules, the bet sizes, the abstraction, where the
strategy came from, and where in the bytes each *section* is. Sections are arrays that begin at a page:

    tree/...           the betting tree, and the first slot of each decision
    abstraction/...    the arrays of the abstraction's folder, or the bucket of every cell of a small game
    weights-0, -1      what each position plays, in 8 or 16 bits (`quantised.py`), where its tables had it

Opening reads the manifest and maps the rest, so it takes as long for a terabyte as for a kilobyte; a decision
reads a few pages. Nothing but the manifest is verified before `verify` is asked for. A file can be copied
anywhere: it needs neither the run nor the abstraction that it was made from.
"""

import mmap
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.load import restore_saved
from errai.array_file import (
    Array,
    ArrayHeader,
    VerifyReport,
    is_array_file,
    map_array,
    read_header,
    read_header_checksum,
    verify_array,
)
from errai.engine.public_tree import CellSource, PublicTree
from errai.errors import UsageError
from errai.games.catalogue import Game
from errai.games.rules import PokerRules
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.files import LAYOUT, restore_game, restore_payoffs
from errai.strategy.played import Play
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import BucketLayout
from errai.tables.layout import Floats, TableLayout
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import BettingTree
from errai.tree.buckets import Buckets
from errai.tree.cells import game_cells

NAME = "play-file"
FORMAT = 1

TREE, SLOT, ABSTRACTION, WEIGHTS = "tree/", "tree/slot", "abstraction/", "weights-"
"""Names of sections, or what they begin with."""

OF_FOLDER, OF_CELLS = "folder", "cells"
"""What an abstraction's arrays are: those of its folder, or the buckets of all cells."""


@dataclass(frozen=True, eq=False)
class MappedBuckets(BucketStrategy):
    """A strategy of buckets whose layout and slots are known from a file, and not counted again.

    Attributes:
        places: where the slots of the tables are.
        slot: int32[N] first slot of each decision, as in `WalkTree`.
    """

    places: BucketLayout
    slot: npt.NDArray[np.int32]

    @cached_property
    def layout(self) -> BucketLayout:
        """Where the slots of the tables are."""
        return self.places

    def _slot(self, node: int) -> int:
        return int(self.slot[node])


@dataclass(frozen=True, eq=False)
class PlayFile:
    """An open play file, asked like the strategy that it was made from.

    Attributes:
        path: the file.
        manifest: what it says about itself.
        fingerprint: of the manifest and, through their checksums, of all that is in the file.
        strategy: what is played; its tables are whole numbers, mapped.
    """

    path: Path
    manifest: dict[str, Any]
    fingerprint: str
    strategy: Strategy | BucketStrategy

    @property
    def bits(self) -> int:
        """Bits of a probability."""
        return int(self.manifest["bits"])

    @property
    def largest_error(self) -> float:
        """How far any probability is from the one that was exported."""
        return float(self.manifest["largest_error"])

    @property
    def tree(self) -> PublicTree:
        """The game and its betting."""
        return self.strategy.tree

    @property
    def game(self) -> PokerRules:
        """The rules of the game."""
        return self.strategy.game

    @property
    def tables(self) -> tuple[Floats, Floats]:
        """[position] uint8[slots] or uint16[slots] played in proportion."""
        return self.strategy.tables

    @property
    def layout(self) -> BucketLayout | TableLayout:
        """Where the slots of the tables are."""
        return self.strategy.layout if isinstance(self.strategy, BucketStrategy) else self.tree.layout

    @property
    def plays(self) -> tuple[Play, Play]:
        """What each position plays, at any boards."""
        return self.strategy.plays

    def probabilities(self, betting: str, hand: str, board: str = "") -> dict[str, float]:
        """Return the probability of each action of the player to act; arguments as for any strategy."""
        return self.strategy.probabilities(betting, hand, board)

    def verify(self, report: VerifyReport | None = None) -> None:
        """Verify every bit of the file; damage is refused by the bytes that it is in.

        Args:
            report: called with bytes done and bytes in all.
        """
        verify_array(self.path, report=report)


def is_play_file(path: str | Path) -> bool:
    """Return whether a file is a play file; one whose header is damaged is refused."""
    return is_array_file(path) and read_header(path).name == NAME


def open_play_file(path: str | Path, *, verify: bool = False) -> PlayFile:
    """Open a play file that `errai.export_strategy` wrote.

    Args:
        path: the file.
        verify: verify every bit of it first, about a second for each GB.
    """
    header = _read_manifest(path)
    if verify:
        verify_array(path)
    manifest = header.notes
    sections = _Sections(path)
    game, menu = restore_game(manifest)
    assert isinstance(game, PokerRules), "only card games are exported"
    betting = BettingTree(*(sections[f"{TREE}{one.name}"] for one in fields(BettingTree)))
    cells = CellSource(lambda: game_cells(game))
    tree = PublicTree(game, menu, betting, cells, payoffs=restore_payoffs(manifest))
    tables = (sections[f"{WEIGHTS}0"], sections[f"{WEIGHTS}1"])
    seen = manifest["abstraction"]
    strategy: Strategy | BucketStrategy
    if seen is not None and seen["kind"] == OF_FOLDER:
        abstraction = restore_saved(seen["manifest"], sections.read_abstraction)
        saved = SavedAbstraction(Path(path), seen["fingerprint"], abstraction)
        places = _restore_layout(manifest["layout"])
        strategy = MappedBuckets(tree, saved, tables, places, sections[SLOT])
    else:
        if seen is not None:
            tree = tree.abstracted(_restore_buckets(seen, sections))
        strategy = Strategy(tree, tables)
    return PlayFile(Path(path), manifest, read_header_checksum(path), strategy)


def play_file_game(path: str | Path) -> tuple[Game, BetMenu | None]:
    """Return the game and bet sizes of a play file."""
    return restore_game(_read_manifest(path).notes)


def embedded_abstraction(path: str | Path) -> tuple[dict[str, Any], dict[str, tuple[ArrayHeader, Array]]]:
    """Return manifest and arrays of a play file's abstraction, as `map_saved_arrays` does of a folder.

    Every bit of the file is verified.
    """
    header = _read_manifest(path)
    verify_array(path)
    sections = _Sections(path)
    names = [one["name"] for one in header.notes["sections"] if one["name"].startswith(ABSTRACTION)]
    found = {name.removeprefix(ABSTRACTION): sections.with_header(name) for name in names}
    return header.notes["abstraction"]["manifest"], found


def describe_layout(layout: BucketLayout) -> dict[str, Any]:
    """Return a layout of buckets as a manifest has it."""
    return {
        "begin": layout.begin.tolist(),
        "rows": layout.rows.tolist(),
        "stride": layout.stride.tolist(),
        "bucketed": layout.bucketed.tolist(),
        "num_slots": list(layout.num_slots),
    }


def _restore_layout(about: dict[str, Any]) -> BucketLayout:
    first, second = about["num_slots"]
    return BucketLayout(
        np.array(about["begin"], dtype=np.int64),
        np.array(about["rows"], dtype=np.int64),
        np.array(about["stride"], dtype=np.int64),
        np.array(about["bucketed"], dtype=bool),
        (first, second),
    )


def _restore_buckets(about: dict[str, Any], sections: "_Sections") -> Buckets:
    maps: tuple[dict[int, Array], dict[int, Array]] = ({}, {})
    sizes: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for player, r, num_buckets in about["rounds"]:
        maps[player][r] = sections[f"{ABSTRACTION}{player}-{r}"]
        sizes[player][r] = num_buckets
    return Buckets(maps, about["name"], sizes)


def _read_manifest(path: str | Path) -> ArrayHeader:
    header = read_header(path)
    if header.name != NAME:
        raise UsageError(f"'{path}' holds '{header.name}': expected a file of 'errai export'")
    found = (header.notes.get("format"), header.notes.get("table_layout"))
    if found != (FORMAT, LAYOUT):
        raise UsageError(
            f"'{path}' has format version {found[0]} with tables of layout {found[1]}: expected version "
            f"{FORMAT} with layout {LAYOUT}, so export it again with this version of errai"
        )
    return header


class _Sections:
    """The arrays of a play file by name, mapped."""

    def __init__(self, path: str | Path) -> None:
        header, content = map_array(path)
        # Plain views: slices of NumPy's own class of mapped arrays take several times as long.
        self._content = content.view(np.ndarray)
        self._entries = {one["name"]: one for one in header.notes["sections"]}
        if hasattr(mmap, "MADV_RANDOM") and isinstance(content, np.memmap):
            # A page where one is wanted, and not the megabytes around it that some systems read ahead.
            content._mmap.madvise(mmap.MADV_RANDOM)  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> Array:
        return self.with_header(name)[1]

    def with_header(self, name: str) -> tuple[ArrayHeader, Array]:
        one = self._entries[name]
        header = ArrayHeader(name, tuple(one["shape"]), one["dtype"], one["units"], notes=one["notes"])
        content = self._content[one["begin"] : one["begin"] + header.num_bytes]
        return header, content.view(header.dtype).reshape(header.shape)

    def read_abstraction(self, name: str, checksum: str | None) -> tuple[ArrayHeader, Array]:
        return self.with_header(f"{ABSTRACTION}{name}")
