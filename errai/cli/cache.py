"""`errai cache`: what the cache folder holds, whether it is whole, and how to be rid of it."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import Json, Seed
from errai.cli.output import print_json, print_table
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.abstraction.features.cache import CachedFolder

GROUPS = ("all", "old", "features", "abstractions", "edges", "kernels")


def cache_command(
    clear: Annotated[
        str | None,
        typer.Option(
            "--clear",
            metavar="WHAT",
            help="Remove 'all', 'old' (what this version does not read), 'features', 'abstractions', "
            "'edges', 'kernels', or features and abstractions of a game such as 'leduc'.",
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file but those of kernels and check it.")
    ] = False,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """List, verify or clear the cache.

    It holds features of hands, abstractions that a training needed, edges of hands that an analysis needed
    and compiled kernels, those of older versions included.
    """
    from errai.abstraction.features import cache
    from errai.abstraction.features.features import HOW_TO_BUILD_ANEW

    if clear is not None and verify:
        raise UsageError("--clear and --verify cannot be used together")
    folders = cache.cached_folders()
    if clear is not None:
        chosen = _chosen(folders, clear)
        for folder in chosen:
            cache.clear(folder)
        return _tell_cleared(chosen, clear, json)
    damages = {one.path: list(cache.damages(one)) for one in folders} if verify else None
    _tell_folders(folders, damages, json)
    broken = [sentence for sentences in (damages or {}).values() for sentence in sentences]
    if broken:
        more = f"; {len(broken) - 1} more files are damaged" if len(broken) > 1 else ""
        raise UsageError(f"{broken[0]}{more}; {HOW_TO_BUILD_ANEW}")
    return None


def _chosen(folders: "list[CachedFolder]", clear: str) -> "list[CachedFolder]":
    """Return the folders that a word or a game's name stands for."""
    from errai.games.catalogue import load_game
    from errai.games.rules import PokerRules

    if clear == "all":
        return folders
    if clear == "old":
        return [one for one in folders if one.is_old]
    if clear in GROUPS:
        return [one for one in folders if one.kind == clear]
    try:
        rules = load_game(clear)
    except UsageError:
        raise UsageError(
            f"--clear must be {', '.join(GROUPS)} or the name of a game, not '{clear}'"
        ) from None
    if not isinstance(rules, PokerRules):
        raise UsageError(f"'{clear}' is a dice game: only card games have features")
    return [one for one in folders if one.is_of(rules)]


def _tell_cleared(chosen: "list[CachedFolder]", clear: str, json: bool) -> None:
    from errai.memory import format_bytes

    num_bytes = sum(one.num_bytes for one in chosen)
    if json:
        print_json({"cleared": [str(one.path) for one in chosen], "disk_bytes": num_bytes})
    elif chosen:
        print(f"removed {len(chosen)} folder{'s' if len(chosen) > 1 else ''}, {format_bytes(num_bytes)}")
    else:
        print(f"nothing to remove: the cache holds nothing of '{clear}'")


def _tell_folders(folders: "list[CachedFolder]", damages: "dict[Any, list[str]] | None", json: bool) -> None:
    from errai.kernels import cache_root
    from errai.memory import format_bytes

    if json:
        print_json({"path": str(cache_root()), "folders": [_entry(one, damages) for one in folders]})
        return
    if not folders:
        print(f"the cache in {cache_root()} is empty")
        return

    def state(one: "CachedFolder") -> list[str]:
        if damages is None:
            return []
        found = damages[one.path]
        return [f"{len(found)} damaged" if found else "whole" if one.kind != "kernels" else "-"]

    rows = [
        [
            one.path.name,
            one.game or "-",
            ", ".join(one.what) or "nothing",
            _format(one),
            format_bytes(one.num_bytes),
            datetime.fromtimestamp(one.modified).strftime("%Y-%m-%d"),
            *state(one),
        ]
        for one in folders
    ]
    in_all = format_bytes(sum(one.num_bytes for one in folders))
    header = ["folder", "game", "holds", "format", "size", "written", *([] if damages is None else ["files"])]
    print_table(f"{cache_root()}: {in_all}", header, rows)
    if any(one.is_old for one in folders):
        print("  old: this version does not read it; 'errai cache --clear old' removes it")


def _format(one: "CachedFolder") -> str:
    """Say in which format a folder is, as far as it says so itself; kernels have none of their own."""
    version = "" if one.kind == "kernels" or one.format is None else str(one.format)
    return f"{version}{' (old)' if one.is_old else ''}".strip() or "-"


def _entry(one: "CachedFolder", damages: "dict[Any, list[str]] | None") -> dict[str, Any]:
    entry = {
        "path": str(one.path),
        "kind": one.kind,
        "game": one.game or None,
        "contents": list(one.what),
        "format": one.format,
        "old": one.is_old,
        "disk_bytes": one.num_bytes,
        "written": datetime.fromtimestamp(one.modified).astimezone().isoformat(timespec="seconds"),
    }
    return entry if damages is None else {**entry, "damaged": damages[one.path]}
