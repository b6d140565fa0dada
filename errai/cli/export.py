"""`errai export`: a strategy as one file to play from."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import Json, Seed, whole_option
from errai.cli.output import print_json
from errai.cli.progress import Progress
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.strategy.play_file import PlayFile


def export_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run or a saved strategy; with --verify alone, an exported file."
        ),
    ],
    path: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="The file to write.", show_default=False)
    ] = None,
    bits: Annotated[int, whole_option("--bits", "Bits of a probability: 8 or 16.", 8, 16)] = 16,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the file and check every bit of it.")
    ] = False,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Write a strategy as one memory-mapped file that is opened at once and played anywhere.

    The file holds the abstraction, too: it can be copied to another machine without the run.
    """
    from errai.runs.export import export_strategy
    from errai.strategy.play_file import open_play_file
    from errai.strategy.quantised import BITS

    if bits not in BITS:
        raise UsageError(f"--bits must be 8 or 16, not {bits}")
    if path is None and not verify:
        raise UsageError(f"the file to write is missing: expected 'errai export {source} FILE'")
    if path is None:
        opened = open_play_file(source)
    else:
        with Progress(f"{path} was not written") as progress:
            opened = export_strategy(source, path, bits=bits, report=progress.report)
    if verify:
        with Progress("nothing was changed") as progress:
            opened.verify(lambda done, total: progress.report(f"{opened.path}: verifying", done, total))
    _print_file(opened, path is not None, verify, json)


def _print_file(opened: "PlayFile", is_new: bool, verified: bool, json: bool) -> None:
    from errai.memory import format_bytes

    manifest = opened.manifest
    seen, origin = manifest["abstraction"], manifest["source"]
    num_bytes = opened.path.stat().st_size
    about: dict[str, Any] = {
        "path": str(opened.path),
        "game": opened.game.name,
        "abstraction": seen["name"] if seen is not None else None,
        "iterations": origin["iterations"],
        "slots": sum(len(table) for table in opened.tables),
        "bits": opened.bits,
        "largest_error": opened.largest_error,
        "disk_bytes": num_bytes,
        "fingerprint": opened.fingerprint,
        "built": is_new,
        "verified": verified,
    }
    if json:
        print_json(about)
        return
    buckets = f" with abstraction {about['abstraction']}" if seen is not None else ""
    learnt = f", {origin['iterations']:,} iterations" if origin["iterations"] is not None else ""
    print(f"{opened.path}: {opened.game.name}{buckets}{learnt}, {format_bytes(num_bytes)}")
    print(
        f"  {about['slots']:,} probabilities of {opened.bits} bits, none off by more than "
        f"{opened.largest_error:.2g}; fingerprint {opened.fingerprint}"
    )
    if verified:
        print("  every bit is as it was written")
