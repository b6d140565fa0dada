"""`errai abstract public`: cluster a round's public boards, then the private hands inside each cluster."""

import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.abstract import Clusters, Threads, build_features_told, feature_plan, verify_threads
from errai.cli.output import Json, Seed, print_json, print_table, whole_number
from errai.cli.progress import format_seconds
from errai.cli.stages import Stages, ended_by_signals
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.abstraction.abstraction import Abstraction
    from errai.abstraction.public.abstraction import PublicAbstraction
    from errai.abstraction.public.clusters import PublicClusters

DEFAULT_PUBLIC_CLUSTERS = 60
DEFAULT_PRIVATE_BUCKETS = "500"


def public_command(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="A saved abstraction whose buckets tell boards apart.")
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Where it goes; a folder with its name without it."),
    ] = None,
    public: Annotated[
        int,
        typer.Option("--public", parser=whole_number, metavar="INTEGER", help="Clusters of public boards."),
    ] = DEFAULT_PUBLIC_CLUSTERS,
    buckets: Annotated[
        str,
        typer.Option(
            "--buckets",
            metavar="SIZES",
            help="Private buckets of a cluster, in all rounds or in each: '500', '500-400-300'.",
        ),
    ] = DEFAULT_PRIVATE_BUCKETS,
    special_round: Annotated[
        int,
        typer.Option(
            "--round", parser=whole_number, metavar="INTEGER", help="Round whose boards are clustered."
        ),
    ] = 1,
    restarts: Annotated[
        int,
        typer.Option(
            "--restarts",
            parser=whole_number,
            metavar="INTEGER",
            help="Starts of the public clustering, of which the best is kept.",
        ),
    ] = 10,
    clusters: Clusters = None,
    threads: Threads = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Build Tartanian7's hierarchical abstraction: players never forget the cluster of the public board."""
    from errai.abstraction.abstraction import Abstraction
    from errai.abstraction.load import load_abstraction
    from errai.abstraction.public.build import NEEDED_FEATURES, build_public_abstraction
    from errai.abstraction.public.clusters import cluster_public_boards, public_differences, transition_table
    from errai.games.deals import Deals

    verify_threads(threads)
    sizes = _sizes(buckets)
    found = load_abstraction(base)
    if not isinstance(found, Abstraction):
        raise UsageError(f"'{base}' is a public abstraction itself: one of 'errai abstract build' is allowed")
    plan = feature_plan(found.game, clusters, NEEDED_FEATURES)
    go_on = shlex.join(["errai", "abstract", "public", base, *(["--out", out] if out else [])])
    features = build_features_told(plan, threads, json, go_on)
    began = time.monotonic()
    deals = Deals(found.game)
    table = transition_table(found.buckets_on_board, deals, special_round, found.num_buckets(special_round))
    boards = cluster_public_boards(
        public_differences(table, num_threads=threads or 2), public, seed=seed, restarts=restarts
    )
    clustered = time.monotonic() - began
    if not json:
        _tell_clusters(found, boards, special_round, clustered)
    name = f"PUBLIC{public}-KE-KO {buckets}"
    folder = Path(out if out is not None else re.sub(r"[^A-Za-z0-9.-]+", "_", name))
    _verify_room(folder, len(table), found)
    stages = Stages()
    with (
        ended_by_signals(f"clusters that are done stay in {folder}; the same command goes on"),
        stages.shown(),
    ):
        built = build_public_abstraction(
            features,
            boards,
            special_round=special_round,
            buckets=sizes,
            seed=seed,
            out=folder,
            num_threads=threads,
            report=lambda done, total: stages.report("private buckets", done, total),
        )
    _tell_built(built, boards, folder, clustered, time.monotonic() - began, seed, json)


def _sizes(text: str) -> int | list[int]:
    parts = text.split("-")
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"'{text}' are not sizes: a number, or one for each round such as '500-400-300'")
    return int(text) if len(parts) == 1 else [int(part) for part in parts]


def _verify_room(folder: Path, num_boards: int, base: "Abstraction") -> None:
    """Refuse what the disk cannot hold: a number of 2 bytes for each board, later card and hand."""
    from errai.memory import format_bytes, free_disk

    hands, cards = len(base.classes.hands), base.game.deck.size
    needed = 2 * num_boards * hands * (1 + cards)
    free = free_disk(folder)
    if needed > free:
        raise UsageError(
            f"the tables need {format_bytes(needed)} of disk in '{folder}', and {format_bytes(free)} are free"
        )


def _tell_clusters(base: "Abstraction", boards: "PublicClusters", r: int, seconds: float) -> None:
    sizes = sorted(boards.sizes.tolist())
    print(
        f"{len(boards.cluster_of_board):,} public boards of round {r} of {base.game.name} in "
        f"{boards.num_clusters} clusters, by the {base.num_buckets(r):,} buckets of {base.name}"
    )
    print(
        f"boards a cluster: {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}; "
        f"{boards.iterations} passes, {format_seconds(seconds)}",
        flush=True,
    )


def _tell_built(
    built: "PublicAbstraction",
    boards: "PublicClusters",
    folder: Path,
    clustered: float,
    seconds: float,
    seed: int,
    json: bool,
) -> None:
    rounds: list[dict[str, Any]] = [
        {
            "round": r,
            "buckets": built.num_buckets(r),
            "buckets_a_cluster": built.num_buckets(r) // built.num_clusters,
        }
        for r in range(built.special_round, built.game.num_rounds)
    ]
    if json:
        print_json(
            {
                "game": built.game.name,
                "name": built.name,
                "out": str(folder),
                "seed": seed,
                "boards_a_cluster": boards.sizes.tolist(),
                "objective": boards.objective,
                "seconds_to_cluster": clustered,
                "seconds": seconds,
                "rounds": rounds,
            }
        )
        return
    print_table(
        f"{built.name}, seed {seed}",
        ["round", "buckets", "a cluster"],
        [[str(one["round"]), f"{one['buckets']:,}", f"{one['buckets_a_cluster']:,}"] for one in rounds],
    )
    print(f"built in {format_seconds(seconds)}; saved in {folder}, a folder for each cluster")
