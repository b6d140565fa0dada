"""`errai abstract features` and `errai abstract build`."""

import re
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.build_file import (
    DEFAULT_GAME,
    NOTE_NAME,
    Build,
    resumed_build,
    verify_folder,
    wanted_build,
    write_note,
)
from errai.cli.options import Json, OptionalSeed, Out, Resume, Seed, Threads, given_command, whole_option
from errai.cli.output import format_seconds, print_json, print_table, round_keys
from errai.cli.progress import Progress
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.abstraction.abstraction import Abstraction
    from errai.abstraction.features.features import FeaturePlan, Features
    from errai.abstraction.recipe import Recipe

STATISTICS_COLUMNS = ("distance", "steps", "saved", "seconds")

BUILD_HELP = """Build an abstraction and save it.

    NAME is recall, methods and sizes: 'IR-KE-KO 169-200-200-200'.

    \b
    Recall
      PR  perfect: each round's buckets lie inside those of the round before
      IR  imperfect: each round is clustered alone
          or a letter P or I for each round, such as IIPP
    Methods: one for all rounds; two, before the last round and in it; or one a round
      HS   percentiles of the expected hand strength, E[HS]
      PHS  percentiles of E[HS2], and inside each of them of E[HS]
      SHS  HS of the last round, looked up without a table: soon built, slower to ask
      KE   k-means, earth mover's distance between histograms of hand strength
      KO   k-means on the strength against clusters of opponent hands (OCHS)
      PA   potential-aware: k-means on histograms over the next round's buckets
      C    canonical: every hand its own bucket, nothing is lost
    Sizes: buckets of each round (with recall, inside each bucket of the round
      before); 5x2 nests percentiles (PHS); C is lossless

    Two names with ' / ' between them make an abstraction of each position. Without --out it goes into a
    folder with its name.
    """

Clusters = Annotated[
    int | None,
    whole_option(
        "--clusters",
        "Clusters of opponent hands for OCHS; 8 without it, or all hole cards where these are fewer.",
        1,
    ),
]


def features_command(
    context: typer.Context,
    game: Annotated[
        str, typer.Argument(metavar="GAME", help="A game's name or an ACPC game file.")
    ] = DEFAULT_GAME,
    clusters: Clusters = None,
    threads: Threads = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Build the features of every hand of a game.

    They are strengths, histograms and strengths against clusters of opponent hands.
    """
    from errai.abstraction.features.features import FeaturePlan
    from errai.games.catalogue import load_card_game

    plan = FeaturePlan.of(load_card_game(game), clusters)
    was_complete, began = plan.is_complete(), time.monotonic()
    build_features_told(plan, threads, json, given_command(context))
    if json:
        print_json(
            {
                "game": plan.rules.name,
                "clusters": plan.num_clusters,
                "fingerprint": plan.fingerprint,
                "out": str(plan.folder),
                "disk_bytes": plan.disk_bytes,
                "num_hands": [plan.classes.size(r) for r in range(plan.rules.num_rounds)],
                "built": not was_complete,
            }
        )
        return
    if not was_complete:
        print(f"built in {format_seconds(time.monotonic() - began)}")
    print("next: errai abstract build NAME, such as 'IR-KE-KO 169-200-200-200'")


def build_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Recall, methods and sizes, as above; may be left out with --resume.",
            show_default=False,
        ),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option(
            "--game", metavar="GAME", help=f"A game or an ACPC game file; {DEFAULT_GAME} without it."
        ),
    ] = None,
    out: Out = None,
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="Read what is not given here from a TOML file."),
    ] = None,
    seed: OptionalSeed = None,
    restarts: Annotated[
        int | None, whole_option("--restarts", "k-means runs, of which the best is kept.", 1)
    ] = None,
    iterations: Annotated[
        int | None, whole_option("--iterations", "At most so many steps of a k-means run.", 1)
    ] = None,
    sample: Annotated[
        int | None,
        whole_option("--sample", "Hands that k-means trains on first; by the buckets without it.", 1),
    ] = None,
    passes: Annotated[
        int | None, whole_option("--passes", "k-means steps over all hands after that.", 0)
    ] = None,
    clusters: Clusters = None,
    threads: Threads = None,
    resume: Resume = False,
    json: Json = False,
) -> None:
    """Build an abstraction; its help is `BUILD_HELP`."""
    options = {
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
    given = {key: value for key, value in options.items() if value is not None}
    _run_build(resumed_build(given, config) if resume else wanted_build(given, config), threads, json)


def folder_name(name: str) -> str:
    """Return the folder of an abstraction for which no other was given."""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", name)


def _run_build(build: Build, threads: int | None, json: bool) -> None:
    from errai.abstraction.build import build_abstraction, feature_plan, verify_build
    from errai.abstraction.options import BuildOptions
    from errai.abstraction.recipe import parse_recipes
    from errai.games.catalogue import load_card_game

    rules = load_card_game(build.game)
    recipes = parse_recipes(build.name, rules)
    plan = feature_plan(recipes, build.clusters)
    names = {"max_iterations": build.iterations, "sample_size": build.sample, "full_passes": build.passes}
    named = {"seed": build.seed, "restarts": build.restarts, **names, "num_threads": threads}
    options = BuildOptions(**{key: value for key, value in named.items() if value is not None})
    name = " / ".join(recipe.name for recipe in recipes)
    folder = Path(build.out if build.out is not None else folder_name(name))
    # As another folder or another spelling would have it, so that the note fits the same build again.
    game = str(Path(build.game).absolute()) if Path(build.game).is_file() else build.game
    build = replace(build, game=game, name=name, out=str(folder))
    verify_folder(folder, build)
    verify_build(recipes, plan, options)
    sizes = _verified_tables(recipes, plan, folder)
    if not json:
        _print_tables(name, rules.name, sizes, folder)
    go_on = shlex.join(["errai", "abstract", "build", "--resume", "--out", str(folder)])
    write_note(folder, build)
    features = build_features_told(plan, threads, json, go_on)
    with Progress(f"rounds that are done stay in {folder}; go on with: {go_on}") as progress:
        built = build_abstraction(recipes, features, options, out=folder, report=progress.report)
    (folder / NOTE_NAME).unlink(missing_ok=True)
    _print_built(built, folder, options.seed, json)


def build_features_told(plan: "FeaturePlan", threads: int | None, json: bool, go_on: str) -> "Features":
    """Build the features that are not in the cache; the disk and the time that these take are told first."""
    from errai.abstraction.features.build import build_features, estimate_seconds
    from errai.abstraction.features.features import Features
    from errai.memory import format_bytes

    if plan.is_complete():
        if not json:
            print(
                f"features of {plan.rules.name}: in the cache already, {format_bytes(plan.disk_bytes)} in "
                f"{plan.folder}",
                flush=True,
            )
        return Features(plan)
    kept = plan.disk_bytes - plan.missing_bytes
    with Progress(f"what is done stays in {plan.folder}; go on with: {go_on}") as progress:
        # With --json, standard output is for the result alone.
        print(
            f"features of {plan.rules.name}: {format_bytes(plan.missing_bytes)} of disk in {plan.folder}"
            + (f" besides {format_bytes(kept)} in the cache already" if kept else "")
            + f", about {format_seconds(estimate_seconds(plan, threads))}",
            file=sys.stderr if json else sys.stdout,
            flush=True,
        )
        return build_features(plan, threads, progress.report)


def _verified_tables(recipes: "tuple[Recipe, ...]", plan: "FeaturePlan", folder: Path) -> list[int]:
    """Return the bytes of the tables; refuse what the disk cannot hold."""
    from errai.abstraction.build import table_bytes
    from errai.memory import format_bytes, free_disk

    sizes = [size for recipe in recipes for size in table_bytes(recipe, plan)]
    free = free_disk(folder)
    if sum(sizes) > free:
        raise UsageError(
            f"not enough disk for the tables in '{folder}': {format_bytes(sum(sizes))} are needed, "
            f"{format_bytes(free)} are free"
        )
    return sizes


def _print_tables(name: str, game: str, sizes: list[int], folder: Path) -> None:
    """Print what the tables take before they are made."""
    from errai.memory import format_bytes

    parts = " + ".join(format_bytes(size) for size in sizes if size)
    print(f"{name} of {game}, in {folder}")
    print(
        f"tables: {format_bytes(sum(sizes))} of memory and disk" + (f" ({parts})" if " + " in parts else ""),
        flush=True,
    )


def _print_built(built: "Abstraction", folder: Path, seed: int, json: bool) -> None:
    from errai.abstraction.describe import features_of, occupancy
    from errai.games.rounds import round_name

    features = features_of(built)
    many = built.num_players_described > 1
    places = [(p, r) for p in range(built.num_players_described) for r in range(built.game.num_rounds)]
    rounds: list[dict[str, Any]] = [
        {
            "position": player,
            **round_keys(built.game, r),
            "method": built.recipes[player].rounds[r].method.value,
            "buckets": built.num_buckets(r, player),
            "used_buckets": occupancy(built, r, player, features, seed).num_used,
            **statistics_keys(built, r, player),
        }
        for player, r in places
    ]
    if json:
        print_json(
            {
                "game": built.game.name,
                "abstraction": built.name,
                "fingerprint": built.fingerprint,
                "seed": seed,
                "out": str(folder),
                "rounds": rounds,
            }
        )
        return
    print_table(
        f"{built.name}, seed {seed}",
        ["round", *(["player"] if many else []), "by", "buckets", "used", *STATISTICS_COLUMNS],
        [
            [
                round_name(built.game, r),
                *([str(player)] if many else []),
                one["method"],
                f"{one['buckets']:,}",
                f"{one['used_buckets']:,}",
                *statistics_cells(one),
            ]
            for (player, r), one in zip(places, rounds, strict=True)
        ],
    )
    explain_statistics(rounds)
    print(f"saved in {folder}; next: errai abstract info {shlex.quote(str(folder))}")


def statistics_keys(abstraction: "Abstraction", r: int, player: int) -> dict[str, Any]:
    """Return what is known of how a round was clustered."""
    known = abstraction.statistics[player][r]
    return {
        "distance": known.get("cost"),
        "iterations": known.get("iterations"),
        "share_saved": known.get("share_saved"),
        "seconds": known.get("seconds"),
    }


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
