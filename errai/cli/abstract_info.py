"""`errai abstract info`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.abstract_build import (
    STATISTICS_COLUMNS,
    explain_statistics,
    statistics_cells,
    statistics_keys,
)
from errai.cli.options import Json, Seed
from errai.cli.output import print_json, print_table, round_keys

if TYPE_CHECKING:
    from errai.abstraction.describe import Occupancy, Spread
    from errai.abstraction.protocol import CardAbstraction

MOST_IN_FULL = 10_000_000


def info_command(
    abstraction: Annotated[str, typer.Argument(metavar="FOLDER", help="A saved abstraction.")],
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Describe an abstraction, and verify every bit.

    How full are its buckets, how near to each other are their hands?
    """
    from errai.abstraction.describe import features_of, occupancy

    found = open_abstraction(abstraction, whole=True)
    features = features_of(found)
    rounds = [
        {
            "position": player,
            **round_keys(found.game, r),
            **_kept(found, r, player),
            "occupancy": occupancy(found, r, player, features, seed),
        }
        for player in range(num_players(found))
        for r in range(found.game.num_rounds)
    ]
    files = [path for path in Path(abstraction).rglob("*") if path.is_file()]
    about = {
        "path": abstraction,
        "game": found.game.name,
        "abstraction": found.name,
        "fingerprint": getattr(found, "fingerprint", None),
        "features": str(features.plan.folder) if features is not None else None,
        "disk_bytes": sum(path.stat().st_size for path in files),
    }
    if json:
        print_json(about | {"rounds": [one | {"occupancy": _filled(one["occupancy"])} for one in rounds]})
        return
    _print_info(found, about, rounds)


def open_abstraction(text: str, *, whole: bool = False) -> "CardAbstraction":
    """Open a saved abstraction, or one of Leduc by its name."""
    from errai.abstraction.load import load_abstraction
    from errai.abstraction.named_groups import leduc_abstraction

    if text.startswith("[") and not Path(text).exists():
        return leduc_abstraction(text)
    return load_abstraction(text, whole=whole)


def num_players(abstraction: "CardAbstraction") -> int:
    """Return 1 where both players see alike, 2 where they do not."""
    return int(getattr(abstraction, "num_players_described", 1))


def _kept(abstraction: "CardAbstraction", r: int, player: int) -> dict[str, Any]:
    """Return what is known of how a round was made and is kept."""
    from errai.abstraction.abstraction import Abstraction
    from errai.abstraction.describe import round_buckets

    kept = round_buckets(abstraction, r, player)
    recipe, seed = None, None
    clustered = dict.fromkeys(("distance", "iterations", "share_saved", "seconds"))
    if isinstance(abstraction, Abstraction):
        recipe = abstraction.recipes[player].rounds[r]
        clustered = statistics_keys(abstraction, r, player)
        seed = abstraction.statistics[player][r].get("seed")
    return {
        "kind": kept.kind if kept is not None else "by look-up",
        "method": recipe.method.value if recipe is not None else None,
        "recall": recipe.recall if recipe is not None else None,
        "buckets": abstraction.num_buckets(r, player),
        "table_bytes": sum(array.nbytes for array in kept.arrays.values()) if kept is not None else None,
        **clustered,
        "seed": seed,
    }


def _print_info(found: "CardAbstraction", about: dict[str, Any], rounds: list[dict[str, Any]]) -> None:
    from errai.games.rounds import round_name
    from errai.memory import format_bytes

    many = num_players(found) > 1

    def head(one: dict[str, Any]) -> list[str]:
        return [round_name(found.game, one["round"] - 1), *([str(one["position"])] if many else [])]

    print(f"{about['abstraction']} of {about['game']}")
    if about["disk_bytes"]:
        print(f"{format_bytes(about['disk_bytes'])} in {about['path']}, every bit verified")
    seeds = sorted({one["seed"] for one in rounds if one["seed"] is not None})
    if about["fingerprint"]:
        print(f"fingerprint {about['fingerprint']}" + "".join(f", seed {seed}" for seed in seeds))
    titles = ["round", *(["player"] if many else [])]
    print_table(
        "how it was made",
        [*titles, "by", "recall", "buckets", *STATISTICS_COLUMNS, "table"],
        [
            [
                *head(one),
                one["method"] or "-",
                "-" if one["recall"] is None else "yes" if one["recall"] else "no",
                f"{one['buckets']:,}",
                *statistics_cells(one),
                format_bytes(one["table_bytes"]) if one["table_bytes"] else "none",
            ]
            for one in rounds
        ],
    )
    explain_statistics(rounds)
    print_table(
        "how full its buckets are (smallest, median, largest of those that are used)",
        [*titles, "used", "hands", "", "", "deals", "", ""],
        [
            [
                *head(one),
                f"{one['occupancy'].num_used:,}",
                *_spread_cells(one["occupancy"].hands),
                *_spread_cells(one["occupancy"].deals),
            ]
            for one in rounds
        ],
    )
    notes: dict[str, dict[int, list[str]]] = {}
    for one in rounds:
        places = notes.setdefault(_counting(found, one, about["features"] is not None), {})
        places.setdefault(one["position"], []).append(round_name(found.game, one["round"] - 1))
    for note, places in notes.items():
        told = [", ".join(some) + (f" of player {player}" if many else "") for player, some in places.items()]
        print(f"  {'; '.join(told)}: {note}")


def _counting(found: "CardAbstraction", one: dict[str, Any], has_features: bool) -> str:
    """Say what was counted in a round."""
    from errai.abstraction.describe import is_by_class

    full: Occupancy = one["occupancy"]
    if full.num_sampled:
        return f"seen in {full.num_sampled:,} random deals"
    if full.hands is None:
        return "all deals were looked up"
    if not is_by_class(found, one["round"] - 1, one["position"]):
        return "hands are canonical deals, each counted once"
    missing = "" if has_features else "; deals are not known without the feature cache"
    return f"hands are classes (hole cards, unordered board){missing}"


def _filled(occupancy: "Occupancy") -> dict[str, Any]:
    return {
        "used_buckets": occupancy.num_used,
        "hands_a_bucket": occupancy.hands._asdict() if occupancy.hands is not None else None,
        "deals_a_bucket": occupancy.deals._asdict() if occupancy.deals is not None else None,
        "num_random_deals": occupancy.num_sampled or None,
    }


def _spread_cells(spread: "Spread | None") -> list[str]:
    if spread is None:
        return ["-", "-", "-"]
    return [_short(size) for size in spread]


def _short(size: float) -> str:
    return f"{size:,.0f}" if size < MOST_IN_FULL else f"{size / 1e6:,.1f}M"
