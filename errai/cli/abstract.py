"""`errai abstract features` and `errai abstract build`; the commands that look at abstractions stand beside.

A build is described by flags or by a TOML file:

    game = "limit-holdem"
    name = "IR-KE-KO 169-200-200-200"   # or: players = [NAME, NAME]; or a table [[rounds]] for each round
    out = "abstractions/ir200"
    seed = 0                            # and restarts, iterations, sample, passes, clusters

    [[rounds]]
    method = "KE"
    buckets = 200
    recall = false

What is given as a flag goes before what stands in the file. While a build is under way, its folder has a note
with which `--resume` goes on.
"""

import json as json_text
import re
import shlex
import sys
import time
import tomllib
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.output import Json, Seed, print_json, print_table, whole_number
from errai.cli.progress import format_seconds
from errai.cli.stages import Stages, ended_by_signals
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.abstraction.abstraction import Abstraction
    from errai.abstraction.features.features import FeaturePlan, Features
    from errai.abstraction.recipe import Recipe
    from errai.games.rules import PokerRules

DEFAULT_GAME = "limit-holdem"
NOTE_NAME = ".build.json"

INTEGERS = ("seed", "restarts", "iterations", "sample", "passes", "clusters")
TEXTS = ("game", "name", "out")
KEYS = (*TEXTS, "players", "rounds", *INTEGERS)
ROUND_KEYS = ("method", "buckets", "recall")

STATISTICS_COLUMNS = ("distance", "steps", "saved", "seconds")

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        parser=whole_number,
        metavar="INTEGER",
        help="Threads; all cores without it. The result does not depend on it.",
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        parser=whole_number,
        metavar="INTEGER",
        help="Clusters of opponent hands for OCHS; 8 without it, or all hole cards where these are fewer.",
    ),
]


def _count(name: str, help_text: str) -> Any:
    return typer.Option(f"--{name}", parser=whole_number, metavar="INTEGER", help=help_text)


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


def features_command(
    game: Annotated[
        str, typer.Argument(metavar="[GAME]", help="A game's name or an ACPC game file.")
    ] = DEFAULT_GAME,
    clusters: Clusters = None,
    threads: Threads = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Build the features of every hand of a game: strengths, histograms, strength against clusters."""
    from errai.memory import format_bytes

    verify_threads(threads)
    plan = feature_plan(_poker_rules(game), clusters)
    was_complete, began = plan.is_complete(), time.monotonic()
    command = shlex.join(
        ["errai", "abstract", "features", game, *(["--clusters", str(clusters)] if clusters else [])]
    )
    build_features_told(plan, threads, json, command)
    if json:
        print_json(
            {
                "game": plan.rules.name,
                "clusters": plan.num_clusters,
                "fingerprint": plan.fingerprint,
                "folder": str(plan.folder),
                "disk_bytes": plan.disk_bytes,
                "classes": [plan.classes.size(r) for r in range(plan.rules.num_rounds)],
                "built": not was_complete,
            }
        )
        return
    if was_complete:
        print(
            f"the features of {plan.rules.name} are in {plan.folder} already "
            f"({format_bytes(plan.disk_bytes)})"
        )
    else:
        print(f"built in {format_seconds(time.monotonic() - began)}")
    print("next: errai abstract build NAME, such as 'IR-KE-KO 169-200-200-200'")


def build_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Recall, features and buckets by round: 'IR-KE-KO 169-200-200-200', 'PR-PHS 10-10-10-10'; "
            "two names with ' / ' between them for an abstraction of each position.",
            show_default=False,
        ),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option(
            "--game", metavar="GAME", help=f"A game or an ACPC game file; {DEFAULT_GAME} without it."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Where it goes; a folder with its name without it."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="Read what is not given here from a TOML file."),
    ] = None,
    seed: Annotated[int | None, _count("seed", "Seed of everything random; 0 without it.")] = None,
    restarts: Annotated[int | None, _count("restarts", "k-means runs, of which the best is kept.")] = None,
    iterations: Annotated[int | None, _count("iterations", "At most so many steps of a k-means run.")] = None,
    sample: Annotated[
        int | None, _count("sample", "Hands that k-means trains on first; by the buckets without it.")
    ] = None,
    passes: Annotated[int | None, _count("passes", "k-means steps over all hands after that.")] = None,
    clusters: Clusters = None,
    threads: Threads = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the unfinished build in --out; needs no NAME.")
    ] = False,
    json: Json = False,
) -> None:
    """Build an abstraction and save it."""
    flags = {
        "game": game,
        "name": name,
        "out": out,
        "seed": seed,
        "restarts": restarts,
        "iterations": iterations,
        "sample": sample,
        "passes": passes,
        "clusters": clusters,
    }
    given = {key: value for key, value in flags.items() if value is not None}
    if resume:
        build = _noted_build(given, config)
    else:
        build = _wanted_build((_read_config(config) if config is not None else {}) | given)
    _run_build(build, threads, json)


def _run_build(build: Build, threads: int | None, json: bool) -> None:
    from errai.abstraction.build import BuildOptions, build_abstraction, features_needed
    from errai.abstraction.recipe import parse_recipes
    from errai.array_file import write_text

    verify_threads(threads)
    rules = _poker_rules(build.game)
    recipes = parse_recipes(build.name, rules)
    plan = feature_plan(rules, build.clusters, features_needed(recipes))
    names = {"max_iterations": build.iterations, "sample_size": build.sample, "full_passes": build.passes}
    named = {"seed": build.seed, "restarts": build.restarts, **names, "num_threads": threads}
    options = BuildOptions(**{key: value for key, value in named.items() if value is not None})
    name = " / ".join(recipe.name for recipe in recipes)
    folder = Path(build.out if build.out is not None else re.sub(r"[^A-Za-z0-9.-]+", "_", name))
    # As another folder or another spelling would have it, so that the note fits the same build again.
    game = str(Path(build.game).absolute()) if Path(build.game).is_file() else build.game
    build = replace(build, game=game, name=name, out=str(folder))
    _verify_folder(folder, build)
    _tell_tables(recipes, plan, folder, json)
    go_on = shlex.join(["errai", "abstract", "build", "--resume", "--out", str(folder)])
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / NOTE_NAME, json_text.dumps(asdict(build)))
    features = build_features_told(plan, threads, json, go_on)
    stages = Stages()
    with (
        ended_by_signals(f"rounds that are done stay in {folder}; go on with: {go_on}"),
        stages.shown(),
    ):
        built = build_abstraction(recipes, features, options, out=folder, report=stages.report)
    (folder / NOTE_NAME).unlink(missing_ok=True)
    _tell_built(built, folder, options.seed, json)


def _read_config(path: str) -> dict[str, Any]:
    """Read a TOML file of a build; the name of an abstraction given in another way becomes `name`."""
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' is not a TOML file: {error}") from None
    _verify_keys(found, KEYS, f"'{path}'")
    for key in (*INTEGERS, *TEXTS):
        wanted, word = (int, "a whole number") if key in INTEGERS else (str, "text")
        if key in found and (not isinstance(found[key], wanted) or isinstance(found[key], bool)):
            raise UsageError(f"'{found[key]}' is not {word}, which '{key}' in '{path}' must be")
    described = [key for key in ("name", "players", "rounds") if key in found]
    if len(described) > 1:
        raise UsageError(f"'{path}' has both {' and '.join(described)}: one of them is allowed")
    if "players" in found:
        players = found.pop("players")
        if not isinstance(players, list) or len(players) != 2 or not all(isinstance(p, str) for p in players):
            raise UsageError(f"players in '{path}' must be a list of two names")
        found["name"] = " / ".join(players)
    if "rounds" in found:
        found["name"] = _name_of_rounds(found.pop("rounds"), path)
    return found


def _name_of_rounds(rounds: Any, path: str) -> str:
    if not isinstance(rounds, list) or not rounds or not all(isinstance(one, dict) for one in rounds):
        raise UsageError(f"rounds in '{path}' must be tables, one for each round under [[rounds]]")
    letters, methods, sizes = "", [], []
    for number, one in enumerate(rounds):
        place = f"round {number} of '{path}'"
        _verify_keys(one, ROUND_KEYS, place)
        if not isinstance(one.get("method"), str):
            raise UsageError(f'{place} has no method: one such as method = "KE" is needed')
        recall = one.get("recall", False)
        if not isinstance(recall, bool):
            raise UsageError(f"'{recall}' is not a kind of recall in {place}: true or false is allowed")
        is_lossless = one["method"].upper() == "C"
        if "buckets" not in one and not is_lossless:
            raise UsageError(f"{place} has no buckets: a number such as buckets = 200 is needed")
        letters += "P" if recall else "I"
        methods.append(one["method"])
        sizes.append(str(one.get("buckets", "C")))
    return f"{letters}-{'-'.join(methods)} {'-'.join(sizes)}"


def _verify_keys(found: dict[str, Any], allowed: tuple[str, ...], place: str) -> None:
    for key in found:
        if key not in allowed:
            raise UsageError(f"'{key}' is not a key of {place}: {', '.join(allowed)} are allowed")


def _wanted_build(given: dict[str, Any]) -> Build:
    if "name" not in given:
        raise UsageError(
            "an abstraction's name is missing: one such as 'IR-KE-KO 169-200-200-200' is allowed, "
            "or --config FILE"
        )
    return Build(**({"game": DEFAULT_GAME} | given))


def _noted_build(given: dict[str, Any], config: str | None) -> Build:
    """Return the build that was begun in --out."""
    if "out" not in given:
        raise UsageError("--resume goes on with the build in --out, which is missing")
    others = [key for key in given if key != "out"] + (["config"] if config is not None else [])
    if others:
        raise UsageError(f"'{others[0]}' does not go with --resume, which goes on as the build was begun")
    folder = Path(given["out"])
    noted = _read_note(folder)
    if noted is None:
        raise UsageError(f"'{folder}' has no unfinished build that could go on")
    return Build(**noted)


def _verify_folder(folder: Path, build: Build) -> None:
    """Refuse a folder in which another abstraction is, finished or not."""
    from errai.abstraction.abstraction import MANIFEST_NAME

    if (folder / MANIFEST_NAME).exists():
        raise UsageError(f"'{folder}' holds an abstraction already: another --out is allowed")
    noted = _read_note(folder)
    is_begun = any(folder.glob(".*.round")) if folder.is_dir() else False
    if noted is not None and is_begun and noted != asdict(build):
        raise UsageError(
            f"'{folder}' holds an unfinished build of something else, '{noted['name']}': "
            f"--resume --out {folder} goes on with it, another --out is allowed"
        )


def _read_note(folder: Path) -> dict[str, Any] | None:
    """Return what is being built in a folder; None where nothing is."""
    try:
        noted = json_text.loads((folder / NOTE_NAME).read_text())
        return asdict(Build(**noted | {"out": str(folder)}))
    except (OSError, ValueError, TypeError):
        return None


def _poker_rules(game: str) -> "PokerRules":
    from errai.games.catalogue import load_game
    from errai.games.rules import PokerRules

    rules = load_game(game)
    if not isinstance(rules, PokerRules):
        raise UsageError(f"'{game}' is a dice game: only cards are abstracted")
    return rules


def verify_threads(threads: int | None) -> None:
    """Refuse a number of threads that cannot be."""
    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads are impossible: 1 or more are allowed")


def feature_plan(
    rules: "PokerRules", clusters: int | None, needed: Collection[str] | None = None
) -> "FeaturePlan":
    """Return which features are needed, all of them by default; with 8 opponent clusters by default."""
    from errai.abstraction.features.features import DEFAULT_CLUSTERS, FeaturePlan
    from errai.abstraction.features.hands import HandClasses

    if clusters is None:
        clusters = min(DEFAULT_CLUSTERS, HandClasses(rules).size(0))
    return FeaturePlan(rules, clusters, needed)


def build_features_told(plan: "FeaturePlan", threads: int | None, json: bool, go_on: str) -> "Features":
    """Build the features that are not in the cache; disk and time are told first."""
    from errai.abstraction.features.build import build_features, estimate_seconds
    from errai.abstraction.features.features import Features
    from errai.memory import format_bytes

    if plan.is_complete():
        return Features(plan)
    stages = Stages()
    with (
        ended_by_signals(f"what is done stays in {plan.folder}; go on with: {go_on}"),
        stages.shown(),
    ):
        # With --json, standard output is for the result alone.
        print(
            f"features of {plan.rules.name}: {format_bytes(plan.disk_bytes)} of disk in {plan.folder}, "
            f"about {format_seconds(estimate_seconds(plan, threads))}",
            file=sys.stderr if json else sys.stdout,
            flush=True,
        )
        return build_features(plan, threads, stages.report)


def _tell_tables(recipes: "tuple[Recipe, ...]", plan: "FeaturePlan", folder: Path, json: bool) -> None:
    """Print what the tables take before they are made, and refuse what the disk cannot hold."""
    from errai.abstraction.describe import table_bytes
    from errai.memory import format_bytes, free_disk

    sizes = [table_bytes(recipe, plan) for recipe in recipes]
    needed = sum(sum(one) for one in sizes)
    free = free_disk(folder)
    if needed > free:
        raise UsageError(
            f"the tables need {format_bytes(needed)} of disk in '{folder}', and {format_bytes(free)} are free"
        )
    if not json:
        name = " / ".join(recipe.name for recipe in recipes)
        parts = " + ".join(format_bytes(size) for one in sizes for size in one if size)
        print(f"{name} of {plan.rules.name}, in {folder}")
        print(
            f"tables: {format_bytes(needed)} of memory and disk" + (f" ({parts})" if " + " in parts else ""),
            flush=True,
        )


def _tell_built(built: "Abstraction", folder: Path, seed: int, json: bool) -> None:
    from errai.abstraction.describe import features_of, occupancy, round_name

    features = features_of(built)
    rounds: list[dict[str, Any]] = [
        {
            "player": player,
            "round": r,
            "method": built.recipes[player].rounds[r].method.value,
            "buckets": built.num_buckets(r, player),
            "used_buckets": occupancy(built, r, player, features, seed).num_used,
            "distance": built.statistics[player][r].get("cost"),
            "iterations": built.statistics[player][r].get("iterations"),
            "share_saved": built.statistics[player][r].get("share_saved"),
            "seconds": built.statistics[player][r].get("seconds"),
        }
        for player in range(built.num_players_described)
        for r in range(built.game.num_rounds)
    ]
    if json:
        print_json(
            {
                "game": built.game.name,
                "name": built.name,
                "fingerprint": built.fingerprint,
                "seed": seed,
                "out": str(folder),
                "rounds": rounds,
            }
        )
        return
    print_table(
        f"{built.name}, seed {seed}",
        [
            "round",
            *(["player"] if built.num_players_described > 1 else []),
            "by",
            "buckets",
            "used",
            *STATISTICS_COLUMNS,
        ],
        [
            [
                round_name(built.game, one["round"]),
                *([str(one["player"])] if built.num_players_described > 1 else []),
                one["method"],
                f"{one['buckets']:,}",
                f"{one['used_buckets']:,}",
                *statistics_cells(one),
            ]
            for one in rounds
        ],
    )
    explain_statistics(rounds)
    print(f"saved in {folder}; next: errai abstract info {shlex.quote(str(folder))}")


def statistics_cells(one: dict[str, Any]) -> list[str]:
    """Return distance, iterations, share saved and seconds of a round as text; '-' where there is none."""

    def cell(key: str, form: str) -> str:
        return "-" if one[key] is None else format(one[key], form)

    return [
        cell("distance", ".5f"),
        cell("iterations", ","),
        cell("share_saved", ".2%"),
        cell("seconds", ",.1f"),
    ]


def explain_statistics(rounds: list[dict[str, Any]]) -> None:
    """Say what the columns of statistics mean, if they say anything."""
    if any(one["distance"] is not None for one in rounds):
        print("  distance: mean to a bucket's centre, in hand strength (KO: root mean square)")
        print("  saved: share of distances that pruning did not have to compute")
