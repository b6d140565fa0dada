"""`errai abstract public`: cluster a round's public boards, then the private hands inside each cluster."""

import time as clock
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.abstract_build import Clusters, build_features_told, folder_name
from errai.cli.options import Json, Out, Refusal, Seed, Threads, given_command, whole_option
from errai.cli.output import format_seconds, print_json, print_table, round_keys
from errai.cli.progress import Progress
from errai.errors import shortened

if TYPE_CHECKING:
    from errai.abstraction.protocol import CardAbstraction
    from errai.abstraction.public.abstract import PublicPlan
    from errai.abstraction.public.abstraction import PublicAbstraction
    from errai.abstraction.public.clusters import PublicClusters

DEFAULT_PUBLIC_CLUSTERS = 60
DEFAULT_PRIVATE_BUCKETS = "500"
DEFAULT_ROUND = "2"
MAX_BUCKETS = 65535


def bucket_sizes(text: str) -> tuple[int, ...]:
    """Read buckets of all rounds, or of each, joined by `-`."""
    parts = text.split("-")
    if not all(part.isascii() and part.isdecimal() and len(part) <= 5 for part in parts) or not all(
        1 <= int(part) <= MAX_BUCKETS for part in parts
    ):
        raise Refusal(
            f"--buckets must be a number of 1 to {MAX_BUCKETS:,}, or one for each round such as "
            f"'500-400-300', not '{shortened(text)}'"
        )
    return tuple(map(int, parts))


@dataclass(frozen=True)
class PublicBuild:
    """What was built, and what is to be told of it.

    Attributes:
        abstraction: of all clusters.
        boards: the clusters of public boards.
        seconds_to_cluster: boards alone.
        seconds: in all.
    """

    abstraction: "PublicAbstraction"
    boards: "PublicClusters"
    seconds_to_cluster: float
    seconds: float


def public_command(
    context: typer.Context,
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="A saved abstraction whose buckets tell boards apart.")
    ],
    out: Out = None,
    public: Annotated[
        int, whole_option("--public", "Clusters of public boards.", 1)
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
        str,
        typer.Option(
            "--round",
            metavar="ROUND",
            help="Round whose boards are clustered: a street such as 'flop', or a number from 1.",
        ),
    ] = DEFAULT_ROUND,
    restarts: Annotated[
        int, whole_option("--restarts", "Starts of the public clustering, of which the best is kept.", 1)
    ] = 10,
    clusters: Clusters = None,
    threads: Threads = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Build Tartanian7's hierarchical abstraction.

    Boards are clustered first, and the players never forget the cluster of the public board.
    """
    from errai.abstraction.load import load_abstraction
    from errai.abstraction.public.abstract import plan_public
    from errai.games.rounds import find_round

    sizes = bucket_sizes(buckets)
    found = load_abstraction(base)
    r = find_round(found.game, special_round)
    name = f"PUBLIC{public}-KE-KO {'-'.join(map(str, sizes))}"
    folder = Path(out if out is not None else folder_name(name))
    plan = plan_public(
        found,
        folder,
        public_clusters=public,
        buckets=sizes[0] if len(sizes) == 1 else sizes,
        special_round=r,
        clusters=clusters,
        seed=seed,
        restarts=restarts,
        num_threads=threads,
    )
    if not json:
        _print_plan(plan, folder)
    command = given_command(context)
    build_features_told(plan.features, threads, json, command)
    with Progress(f"clusters that are done stay in {folder}; go on with: {command}") as progress:
        began = clock.monotonic()
        clustered: list[tuple[PublicClusters, float]] = []
        abstraction = plan.build(
            progress.report, lambda boards: clustered.append((boards, clock.monotonic() - began))
        )
        built = PublicBuild(abstraction, *clustered[0], clock.monotonic() - began)
    if json:
        print_json(_as_json(built, folder, seed))
    else:
        _print_clusters(found, built, r)
        _print_built(built, folder, seed)


def _print_plan(plan: "PublicPlan", folder: Path) -> None:
    """Print what the build takes before it is begun."""
    from errai.memory import format_bytes

    print(f"{plan.name} of {plan.base.game.name}, in {folder}")
    print(
        f"tables: {format_bytes(plan.table_bytes)} of memory and disk; to build them about "
        f"{format_bytes(plan.memory_bytes)} of memory",
        flush=True,
    )


def _rounds(built: "PublicAbstraction") -> list[dict[str, Any]]:
    return [
        {
            **round_keys(built.game, r),
            "buckets": built.num_buckets(r),
            "buckets_a_cluster": built.num_buckets(r) // built.num_clusters,
        }
        for r in range(built.special_round, built.game.num_rounds)
    ]


def _as_json(built: PublicBuild, folder: Path, seed: int) -> dict[str, Any]:
    return {
        "game": built.abstraction.game.name,
        "abstraction": built.abstraction.name,
        "out": str(folder),
        "seed": seed,
        "boards_a_cluster": built.boards.sizes.tolist(),
        "objective": built.boards.objective,
        "seconds_to_cluster": built.seconds_to_cluster,
        "seconds": built.seconds,
        "rounds": _rounds(built.abstraction),
    }


def _print_clusters(base: "CardAbstraction", built: PublicBuild, r: int) -> None:
    from errai.games.rounds import round_of_game

    boards, sizes = built.boards, sorted(built.boards.sizes.tolist())
    print(
        f"{len(boards.cluster_of_board):,} public boards of {round_of_game(base.game, r)} "
        f"in {boards.num_clusters} clusters, by the {base.num_buckets(r):,} buckets of {base.name}"
    )
    print(
        f"boards a cluster: {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}; "
        f"{boards.iterations} passes, {format_seconds(built.seconds_to_cluster)}"
    )


def _print_built(built: PublicBuild, folder: Path, seed: int) -> None:
    from errai.games.rounds import round_name

    game = built.abstraction.game
    print_table(
        f"{built.abstraction.name}, seed {seed}",
        ["round", "buckets", "a cluster"],
        [
            [round_name(game, one["round"] - 1), f"{one['buckets']:,}", f"{one['buckets_a_cluster']:,}"]
            for one in _rounds(built.abstraction)
        ],
    )
    print(f"built in {format_seconds(built.seconds)}; saved in {folder}, a folder for each cluster")
