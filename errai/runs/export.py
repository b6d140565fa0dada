"""`errai.export_strategy`: a play file of a run, of a saved strategy, or of a strategy in memory.

Tables of runs and files are mapped, not read: an export needs the memory of one chunk of a table, besides
the cells of a game whose hands fit into memory. Every bit of what is exported is verified first.
"""

import reprlib
from pathlib import Path

from errai.array_file import is_array_file, map_verified_array, read_header_checksum
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.runs.folder import RunFolder
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction, find_abstraction
from errai.strategy.files import restore_game, restore_payoffs, verify_strategy_header
from errai.strategy.play_file import PlayFile, is_play_file, open_play_file
from errai.strategy.play_file_writer import PlaySource, Report, write_play_file
from errai.strategy.quantised import verify_bits
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import BucketLayout, bucket_layout
from errai.tables.checkpoint import map_arrays
from errai.tables.layout import TableLayout


def export_strategy(
    source: str | Path | Strategy | BucketStrategy,
    path: str | Path,
    *,
    bits: int = 16,
    report: Report | None = None,
) -> PlayFile:
    """Write a strategy as a play file: one memory-mapped file with all that it takes to play.

    Args:
        source: a run's folder, a strategy file, a play file, or a strategy.
        path: the file to write; an existing one is replaced only once the new one is safe.
        bits: of a probability: 8 or 16.
        report: called with what is done, bytes done and bytes in all.
    """
    verify_bits(bits)
    if not isinstance(path, str | Path):
        raise UsageError(f"expected the path of a file to write, not {reprlib.repr(path)}")
    write_play_file(_play_source(source), path, bits, report)
    return open_play_file(path)


def _play_source(source: str | Path | Strategy | BucketStrategy) -> PlaySource:
    if isinstance(source, BucketStrategy | Strategy):
        return _of_strategy(source)
    if not isinstance(source, str | Path):
        raise UsageError(f"expected a strategy, or the path of one or of a run, not {reprlib.repr(source)}")
    if Path(source).is_dir():
        return _of_run(source)
    if is_array_file(source) and is_play_file(source):
        opened = open_play_file(source, verify=True)
        found = _of_strategy(opened.strategy, f"'{source}'")
        origin = opened.manifest["source"]
        return PlaySource(
            found.name,
            found.tree,
            found.layout,
            found.tables,
            found.saved,
            origin["fingerprint"],
            origin["iterations"],
        )
    return _of_file(source)


def _of_strategy(strategy: Strategy | BucketStrategy, name: str = "the strategy") -> PlaySource:
    tree, tables = strategy.tree, strategy.tables
    if tree.weights is not None:
        raise UsageError(
            f"a strategy of '{strategy.game.name}' with given ranges cannot be exported: "
            "expected one of a whole game"
        )
    parts = ([tables[0]], [tables[1]])
    if isinstance(strategy, BucketStrategy):
        return PlaySource(name, tree, strategy.layout, parts, strategy.saved)
    return PlaySource(name, tree, tree.layout, parts, None)


def _of_run(path: str | Path) -> PlaySource:
    run = RunFolder(path)
    found, (first, second) = map_arrays(path, ["averages-0", "averages-1"], run.fingerprint)
    tree, saved = run.tree(), run.saved_abstraction()
    iterations = int(found.state["iteration"])
    return PlaySource(
        f"'{path}'", tree, _layout(tree, saved), (first, second), saved, run.fingerprint, iterations
    )


def _of_file(path: str | Path) -> PlaySource:
    verify_strategy_header(path)
    header, table = map_verified_array(path)
    game, menu = restore_game(header.notes)
    tree = PublicTree.of(game, menu, restore_payoffs(header.notes))
    saved = find_abstraction(header.notes["abstraction"], path) if "abstraction" in header.notes else None
    layout = _layout(tree, saved)
    first = layout.num_slots[0]
    parts = ([table[:first]], [table[first:]])
    return PlaySource(f"'{path}'", tree, layout, parts, saved, read_header_checksum(path))


def _layout(tree: PublicTree, saved: SavedAbstraction | None) -> BucketLayout | TableLayout:
    if saved is None:
        return tree.layout
    return bucket_layout(tree.walk, Deals(tree.rules), (saved.abstraction, saved.abstraction))
