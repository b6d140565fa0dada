"""Writes play files (`play_file.py`): section by section, a chunk of a table in memory at a time.

What a file takes is known before the first byte is written, and refused where the disk has no room for it.
The file has a temporary name until all of it is safe.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.load import map_saved_arrays
from errai.array_file import PAGE, Array, ArrayHeader, write_pieces
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.memory import format_bytes, free_disk
from errai.strategy.bucketed import SavedAbstraction
from errai.strategy.files import LAYOUT, describe_game
from errai.strategy.play_file import (
    ABSTRACTION,
    FORMAT,
    NAME,
    OF_CELLS,
    OF_FOLDER,
    SLOT,
    TREE,
    WEIGHTS,
    describe_layout,
    embedded_abstraction,
)
from errai.strategy.quantised import BITS, Quantiser, scale_of, table_chunks, verify_bits
from errai.tables.bucket_layout import BucketLayout
from errai.tables.layout import Floats, TableLayout
from errai.tree.betting_tree import BettingTree

Report = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class PlaySource:
    """What a play file is made of.

    Attributes:
        name: what to call it in errors and on progress bars.
        tree: the game; abstracted where its cells have buckets.
        layout: of the tables.
        tables: [position] float[slots], each as neighbouring parts, which may be mapped.
        saved: the abstraction of a game whose cells do not fit into memory.
        fingerprint: of the run or file that the tables are from; empty without one.
        iterations: of the run; None where it is not known.
    """

    name: str
    tree: PublicTree
    layout: BucketLayout | TableLayout
    tables: tuple[Sequence[Floats], Sequence[Floats]]
    saved: SavedAbstraction | None
    fingerprint: str = ""
    iterations: int | None = None


@dataclass(frozen=True, eq=False)
class _Section:
    """An array of a play file: there, or, as `player` says, a table that is rounded when it is written."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    units: str
    array: Array | None = None
    player: int | None = None
    notes: dict[str, Any] | None = None

    @staticmethod
    def of(name: str, array: Array, units: str, notes: dict[str, Any] | None = None) -> "_Section":
        return _Section(name, array.dtype.newbyteorder("<").str, array.shape, units, array, None, notes)

    @property
    def num_bytes(self) -> int:
        return ArrayHeader(self.name, self.shape, self.dtype, self.units).num_bytes

    def entry(self, begin: int) -> dict[str, Any]:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "units": self.units,
            "begin": begin,
            "notes": self.notes or {},
        }


def write_play_file(
    source: PlaySource, path: str | Path, bits: int = 16, report: Report | None = None
) -> None:
    """Write a play file; an existing file is replaced only once the new one is safe.

    Args:
        source: what it is made of.
        path: where.
        bits: of a probability, 8 or 16.
        report: called with what is written, bytes done and bytes in all.
    """
    verify_bits(bits)
    target = Path(path)
    if target.is_dir() or not target.absolute().parent.is_dir():
        what = "it is a folder" if target.is_dir() else "its folder does not exist"
        raise UsageError(f"'{path}' cannot be written: {what}")
    seen, arrays = _abstraction(source)
    sections = [*_tree_sections(source.tree), *arrays, *_table_sections(source, bits)]
    entries, end = [], 0
    for section in sections:
        entries.append(section.entry(end))
        end += -(-section.num_bytes // PAGE) * PAGE
    manifest = describe_game(source.tree.game, source.tree.menu, source.tree.payoffs) | {
        "format": FORMAT,
        "table_layout": LAYOUT,
        "bits": bits,
        "scale": scale_of(bits),
        "abstraction": seen,
        "source": {"fingerprint": source.fingerprint, "iterations": source.iterations},
        "layout": describe_layout(source.layout) if isinstance(source.layout, BucketLayout) else None,
        "sections": entries,
    }
    free = free_disk(target.absolute().parent)
    if end > free:
        raise UsageError(f"'{path}' needs {format_bytes(end)} of disk, and {format_bytes(free)} are free")
    quantiser = Quantiser(bits)
    write_pieces(
        path,
        _pieces(source, sections, quantiser, report or (lambda stage, done, total: None), end),
        ArrayHeader(NAME, (end,), "|u1", "bytes", source.fingerprint, manifest),
        lambda: {"largest_error": quantiser.largest_error},
    )


def _tree_sections(tree: PublicTree) -> Iterator[_Section]:
    for one in fields(BettingTree):
        yield _Section.of(f"{TREE}{one.name}", getattr(tree.betting, one.name), one.name)
    yield _Section.of(SLOT, tree.walk.slot, "slots")


def _abstraction(source: PlaySource) -> tuple[dict[str, Any] | None, list[_Section]]:
    """Return what the manifest says of the abstraction, and its arrays."""
    if source.saved is not None:
        place = source.saved.folder
        manifest, arrays = map_saved_arrays(place) if place.is_dir() else embedded_abstraction(place)
        if manifest["fingerprint"] != source.saved.fingerprint:
            raise UsageError(
                f"'{place}' has changed: its fingerprint is '{manifest['fingerprint']}', not "
                f"'{source.saved.fingerprint}'"
            )
        seen = {
            "kind": OF_FOLDER,
            "name": manifest["name"],
            "fingerprint": manifest["fingerprint"],
            "manifest": manifest,
        }
        return seen, [
            _Section.of(f"{ABSTRACTION}{name}", array, header.units, header.notes)
            for name, (header, array) in arrays.items()
        ]
    buckets = source.tree.buckets
    if buckets is None:
        return None, []
    maps = [(player, r, of[r]) for player, of in enumerate(buckets.maps) for r in sorted(of)]
    rounds = [(player, r, buckets.num_buckets(r, player)) for player, r, _ in maps]
    seen = {"kind": OF_CELLS, "name": buckets.name, "fingerprint": buckets.fingerprint, "rounds": rounds}
    return seen, [
        _Section.of(f"{ABSTRACTION}{player}-{r}", found.astype(np.int32), "buckets")
        for player, r, found in maps
    ]


def _table_sections(source: PlaySource, bits: int) -> Iterator[_Section]:
    dtype = np.dtype(BITS[bits]).newbyteorder("<").str
    for player, num_slots in enumerate(source.layout.num_slots):
        if sum(len(part) for part in source.tables[player]) != num_slots:
            raise UsageError(f"{source.name} has tables that do not fit its game '{source.tree.rules.name}'")
        yield _Section(f"{WEIGHTS}{player}", dtype, (num_slots,), "weight", player=player)


def _pieces(
    source: PlaySource, sections: list[_Section], quantiser: Quantiser, report: Report, total: int
) -> Iterator[Array]:
    """Yield the bytes of a file's sections, each up to the end of its last page."""
    done = 0
    for section in sections:
        for piece in _content(source, section, quantiser):
            yield piece
            done += piece.nbytes
            report(f"{source.name}: writing", done, total)
        missing = -section.num_bytes % PAGE
        yield np.zeros(missing, dtype=np.uint8)
        done += missing


def _content(source: PlaySource, section: _Section, quantiser: Quantiser) -> Iterator[Array]:
    if section.array is not None:
        yield np.ascontiguousarray(section.array, dtype=section.dtype)
        return
    assert section.player is not None, "a section without an array is a table"
    is_by_board = isinstance(source.layout, TableLayout)
    round_board: npt.NDArray[np.int64] | None = source.tree.cells.links.round_board if is_by_board else None
    parts = source.tables[section.player]
    for chunk in table_chunks(source.tree.walk, source.layout, round_board, section.player):
        yield quantiser(_read(parts, chunk.begin, chunk.end), chunk, f"{source.name}")


def _read(parts: Sequence[Floats], begin: int, end: int) -> Floats:
    """Return some slots of a table that is in parts."""
    found, first = [], 0
    for part in parts:
        last = first + len(part)
        if first < end and begin < last:
            found.append(part[max(begin - first, 0) : end - first])
        first = last
    return found[0] if len(found) == 1 else np.concatenate(found)
