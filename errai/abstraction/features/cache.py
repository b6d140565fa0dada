"""What the cache folder holds, of this version and of older ones: listed, verified, cleared.

A folder `features-HASH` has the features of some cards (`features.py`), a folder `abstraction-HASH` one
abstraction that a training needed (`errai/abstraction/stored.py`), a folder `kernels-HASH` the machine code
of one version of all kernels (`errai/kernels.py`), a folder `edges-FORMAT` what any two hands win from each
other (`errai/evaluation/edges.py`). Everything in them can be built again.
"""

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from errai.abstraction.features.features import ABOUT_NAME, FOLDER_PREFIX, FORMAT
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.folder import CACHED_PREFIX, MANIFEST_NAME, verified_json
from errai.array_file import PARTIAL, verify_array
from errai.errors import UsageError
from errai.folder_lock import LOCK_NAME, FolderLock
from errai.games.catalogue import restore_rules
from errai.games.rules import PokerRules
from errai.kernels import cache_root, kernel_hash

FEATURES, ABSTRACTIONS, KERNELS, EDGES = "features", "abstractions", "kernels", "edges"
KERNELS_PREFIX, EDGES_PREFIX = "kernels-", "edges-"

FORMAT_BEFORE_IT_WAS_NOTED = 1
FORMAT_OF_ABSTRACTIONS = 1
"""As `abstraction.py` has it, which is not imported here: it needs features itself."""

FORMAT_OF_EDGES = 1
CACHED_EDGES = f"{EDGES_PREFIX}{FORMAT_OF_EDGES}"
"""The folder in which edges are kept."""

_ARRAY = re.compile(r"(.+?)(?:-\d+)?(?:-of-(\d+))?\.array")
_CLUSTERS = re.compile(r"opponent-clusters(?:-(\d+))?\.array")


@dataclass(frozen=True)
class CachedFolder:
    """A folder of the cache.

    Attributes:
        path: the folder.
        kind: `features`, `abstractions`, `edges` or `kernels`.
        game: the game that it was built for, or its cards; empty for kernels and edges.
        cards: what decides features, as `HandClasses.card_signature`; empty where it is not known.
        what: what it holds, such as `strength`, `ochs of 8` or `unfinished histograms`.
        format: its version; None where it does not say.
        is_old: whether this version of Errai does not read it.
        num_bytes: on disk.
        modified: when it was last written, in seconds since 1970.
    """

    path: Path
    kind: str
    game: str
    cards: dict[str, Any]
    what: tuple[str, ...]
    format: int | str | None
    is_old: bool
    num_bytes: int
    modified: float

    def is_of(self, rules: PokerRules) -> bool:
        """Return whether it is of a game, or of another one with the same cards."""
        return self.cards == HandClasses(rules).card_signature()


def cached_folders() -> list[CachedFolder]:
    """List the folders: features, abstractions, edges, kernels, the newest of each kind first."""
    found = []
    for path in sorted(cache_root().glob("*-*")):
        if path.is_dir() and path.name.startswith(FOLDER_PREFIX):
            found.append(_feature_folder(path))
        elif path.is_dir() and path.name.startswith(CACHED_PREFIX):
            found.append(_abstraction_folder(path))
        elif path.is_dir() and path.name.startswith(KERNELS_PREFIX):
            found.append(_kernel_folder(path))
        elif path.is_dir() and path.name.startswith(EDGES_PREFIX):
            found.append(_edges_folder(path))
    order = (FEATURES, ABSTRACTIONS, EDGES, KERNELS)
    return sorted(found, key=lambda one: (order.index(one.kind), -one.modified))


def damages(folder: CachedFolder) -> Iterator[str]:
    """Verify every bit of all but kernels; yield a sentence for each file that is damaged."""
    if folder.kind == KERNELS:
        return
    for path in sorted(folder.path.glob("[!.]*.array")):
        try:
            header = verify_array(path)
        except UsageError as error:
            yield str(error)
            continue
        if header.name != path.stem:
            yield f"'{path}' is the file of another array, '{header.name}'"


def clear(folder: CachedFolder) -> None:
    """Remove a folder of the cache; one that is being built is refused."""
    if folder.kind in (KERNELS, EDGES):  # whoever misses a file there makes it anew
        shutil.rmtree(folder.path)
        return
    with FolderLock(folder.path):
        # What tells the format goes last: what is left of a removal that was killed is still listed. Of an
        # abstraction it goes first: what is left is not taken for one.
        last = (ABOUT_NAME,) if folder.kind == FEATURES else ()
        first = (MANIFEST_NAME,)
        for path in sorted(
            folder.path.iterdir(), key=lambda one: (one.name in last, one.name not in first, one.name)
        ):
            if path.name != LOCK_NAME:
                path.unlink()
        (folder.path / LOCK_NAME).unlink()
        folder.path.rmdir()


def _feature_folder(path: Path) -> CachedFolder:
    about: dict[str, Any] = {}
    try:
        read = json.loads((path / ABOUT_NAME).read_bytes())
        about = read if isinstance(read, dict) else {}
    except (OSError, ValueError):
        pass
    cards = about.get("cards", {})
    version = about.get("format", FORMAT_BEFORE_IT_WAS_NOTED) if about else None
    game = str(about.get("game", "")) or _describe_cards(cards)
    size, modified = _size(path)
    return CachedFolder(
        path, FEATURES, game, cards, _contents(path), version, version != FORMAT, size, modified
    )


def _abstraction_folder(path: Path) -> CachedFolder:
    about: dict[str, Any] = {}
    with suppress(OSError, UsageError):
        about = verified_json((path / MANIFEST_NAME).read_bytes(), path / MANIFEST_NAME)
    cards: dict[str, Any] = {}
    if about:
        rules = restore_rules(about["game"])
        assert isinstance(rules, PokerRules), "only card games are abstracted"
        cards = HandClasses(rules).card_signature()
    size, modified = _size(path)
    version = about.get("format")
    return CachedFolder(
        path,
        ABSTRACTIONS,
        about["game"]["name"] if about else "unknown cards",
        cards,
        (str(about["name"]) if about else "an unfinished abstraction",),
        version,
        version is not None and version != FORMAT_OF_ABSTRACTIONS,
        size,
        modified,
    )


def _kernel_folder(path: Path) -> CachedFolder:
    version = path.name.removeprefix(KERNELS_PREFIX)
    size, modified = _size(path)
    return CachedFolder(
        path, KERNELS, "", {}, ("machine code",), version, version != kernel_hash(), size, modified
    )


def _edges_folder(path: Path) -> CachedFolder:
    version = path.name.removeprefix(EDGES_PREFIX)
    size, modified = _size(path)
    is_old = version != str(FORMAT_OF_EDGES)
    return CachedFolder(path, EDGES, "", {}, _contents(path), version, is_old, size, modified)


def _contents(path: Path) -> tuple[str, ...]:
    """Say which arrays a folder has; the rounds of a feature count as one."""
    clusters: dict[str, set[str]] = defaultdict(set)
    for file in path.iterdir():
        is_partial = file.name.startswith(".") and file.name.endswith(PARTIAL)
        name = file.name[1 : -len(PARTIAL)] if is_partial else file.name
        if (match := _CLUSTERS.fullmatch(name)) is not None:
            kind, number = "opponent clusters", match[1]
        elif (match := _ARRAY.fullmatch(name)) is not None and (is_partial or not name.startswith(".")):
            kind, number = match[1], match[2]
        else:
            continue
        clusters[f"unfinished {kind}" if is_partial else kind].add(number or "")
    return tuple(
        kind + (f" of {', '.join(sorted(numbers, key=int))}" if all(numbers) else "")
        for kind, numbers in sorted(clusters.items())
    )


def _describe_cards(cards: dict[str, Any]) -> str:
    if not {"ranks", "suits", "hole", "board"} <= cards.keys():
        return "unknown cards"
    board = "-".join(map(str, cards["board"]))
    return f"{len(cards['ranks'])} ranks x {len(cards['suits'])} suits, {cards['hole']} + {board} cards"


def _size(path: Path) -> tuple[int, float]:
    """Return the bytes on disk of all files below a folder, and when the last of them was written."""
    stats = [one.stat() for one in path.rglob("*") if one.is_file()]
    modified = [one.st_mtime for one in stats] or [path.stat().st_mtime]
    return sum(one.st_blocks * 512 for one in stats), max(modified)
