"""What `errai abstract build` is to build: from options, from a TOML file, or from the note of a build begun.

A file says the same as the options:

    game = "limit-holdem"
    name = "IR-KE-KO 169-200-200-200"   # or: players = [NAME, NAME]; or a table [[rounds]] for each round
    out = "abstractions/ir200"
    seed = 0                            # and restarts, iterations, sample, passes, clusters

    [[rounds]]
    method = "KE"
    buckets = 200
    recall = false

What is given as an option goes before what stands in the file. While a build is under way, its folder has a
note with which `--resume` goes on. A line that says what to build may have `--resume`, too: it goes on with
that build, and begins it where nothing of it is there, as `errai solve GAME --resume` does with a run.
"""

import json
import re
import shlex
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from errai.errors import UsageError

DEFAULT_GAME = "limit-holdem"
NOTE_NAME = ".build.json"
NEEDS_OUT = "--resume needs --out, the folder of the build to go on with"

_BUCKETS = re.compile(r"[0-9]+(?:x[0-9]+)?|C", re.IGNORECASE)


@dataclass(frozen=True)
class Build:
    """What is to be built; what is None is left to the builder.

    Attributes:
        game: name of a game or path of a game file.
        name: the abstraction's.
        out: the folder to build in.
        seed: of everything random.
        restarts: k-means runs of which the best is kept.
        iterations: Lloyd steps of a run.
        sample: rows that k-means trains on first.
        passes: Lloyd steps over all rows after that.
        clusters: of opponent hands.
    """

    game: str
    name: str
    out: str | None = None
    seed: int | None = None
    restarts: int | None = None
    iterations: int | None = None
    sample: int | None = None
    passes: int | None = None
    clusters: int | None = None


def wanted_build(given: dict[str, Any], config: str | None) -> Build:
    """Return what options and a file describe.

    Args:
        given: the options that were given, by their names.
        config: the file's path.
    """
    wanted = (read_build_file(config) if config is not None else {}) | given
    if "name" not in wanted:
        raise UsageError("missing an abstraction's name such as 'IR-KE-KO 169-200-200-200', or --config FILE")
    return Build(**({"game": DEFAULT_GAME} | wanted))


def resumed_build(given: dict[str, Any], config: str | None) -> Build:
    """Return the build to go on with: the one begun in --out, or what is described, begun there or not."""
    if "name" in given or config is not None:
        build = wanted_build(given, config)
        if build.out is None:
            raise UsageError(NEEDS_OUT)
        return build
    if "out" not in given:
        raise UsageError(NEEDS_OUT)
    for key in given:
        if key != "out":
            raise UsageError(f"--{key} needs NAME: a build that is resumed keeps its own")
    folder = Path(given["out"])
    noted = _read_note(folder)
    if noted is None:
        raise UsageError(f"--resume found no unfinished build in '{folder}': NAME is needed to begin one")
    return Build(**noted)


def write_note(folder: Path, build: Build) -> None:
    """Note in a folder what is being built there."""
    from errai.array_file import write_text

    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / NOTE_NAME, json.dumps(asdict(build)))


def verify_folder(folder: Path, build: Build) -> None:
    """Refuse a folder in which another abstraction is, finished or not."""
    from errai.abstraction.folder import MANIFEST_NAME

    if (folder / MANIFEST_NAME).exists():
        raise UsageError(f"'{folder}' holds an abstraction already: --out must name another folder")
    noted = _read_note(folder)
    is_begun = any(folder.glob(".*.round")) if folder.is_dir() else False
    if noted is not None and is_begun and noted != asdict(build):
        raise UsageError(
            f"'{folder}' holds an unfinished build of something else, '{noted['name']}': go on with it by "
            f"--resume --out {shlex.quote(str(folder))}, or give another --out"
        )


def _read_note(folder: Path) -> dict[str, Any] | None:
    """Return what is being built in a folder; None where nothing is."""
    try:
        noted = json.loads((folder / NOTE_NAME).read_text())
        return asdict(Build(**noted | {"out": str(folder)}))
    except (OSError, ValueError, TypeError):
        return None


def read_build_file(path: str) -> dict[str, Any]:
    """Read a TOML file; an abstraction described in another way becomes its `name`."""
    from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

    from errai.validation import first_mistake

    class Section(BaseModel):
        """Nothing unknown, nothing converted."""

        model_config = ConfigDict(extra="forbid", strict=True)

    class RoundSection(Section):
        method: str
        buckets: str | None = None
        recall: bool = False

        @field_validator("buckets", mode="before")
        @classmethod
        def _as_text(cls, value: Any) -> str:
            text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
            if not _BUCKETS.fullmatch(text):
                raise ValueError("expected a whole number, or text such as '5x2'")
            return text

    class BuildFile(Section):
        game: str | None = None
        name: str | None = None
        out: str | None = None
        players: Annotated[list[str], Field(min_length=2, max_length=2)] | None = None
        rounds: Annotated[list[RoundSection], Field(min_length=1)] | None = None
        seed: Annotated[int, Field(ge=0)] | None = None
        restarts: Annotated[int, Field(ge=1)] | None = None
        iterations: Annotated[int, Field(ge=1)] | None = None
        sample: Annotated[int, Field(ge=1)] | None = None
        passes: Annotated[int, Field(ge=0)] | None = None
        clusters: Annotated[int, Field(ge=1)] | None = None

    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' is not a TOML file: {error}") from None
    try:
        read = BuildFile.model_validate(found)
    except ValidationError as error:
        raise UsageError(f"invalid '{path}': {first_mistake(error, BuildFile)}") from None
    described = [key for key in ("name", "players", "rounds") if getattr(read, key) is not None]
    if len(described) > 1:
        raise UsageError(f"invalid '{path}': it has both {' and '.join(described)}, where one is expected")
    given = read.model_dump(exclude_none=True, exclude={"players", "rounds"})
    if read.players is not None:
        given["name"] = " / ".join(read.players)
    if read.rounds is not None:
        for number, one in enumerate(read.rounds, 1):
            if one.buckets is None and one.method.upper() != "C":
                raise UsageError(f"invalid '{path}': rounds, entry {number}: buckets is missing")
        letters = "".join("P" if one.recall else "I" for one in read.rounds)
        methods = "-".join(one.method for one in read.rounds)
        sizes = "-".join(one.buckets or "C" for one in read.rounds)
        given["name"] = f"{letters}-{methods} {sizes}"
    return given
