"""`errai abstract info`, `errai abstract show` and `errai abstract compare`."""

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli import bars
from errai.cli.abstract_build import (
    STATISTICS_COLUMNS,
    explain_statistics,
    statistics_cells,
    statistics_keys,
)
from errai.cli.options import Json, Plot, Seed, shortened, whole_option
from errai.cli.output import MOST_DIGITS, print_json, print_table, round_keys, verify_picture
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.abstraction.compare import Overlap
    from errai.abstraction.describe import Buckets, Members, Occupancy, Profile, Spread
    from errai.abstraction.features.features import Features

CHART_LINES = 6
MOST_IN_FULL = 10_000_000

Player = Annotated[
    int,
    whole_option("--player", "Position 0 or 1, where the two see differently.", 0, 1),
]


def info_command(
    abstraction: Annotated[str, typer.Argument(metavar="FOLDER", help="A saved abstraction.")],
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Say what an abstraction is, how full its buckets are and how near their hands; verify every bit."""
    from errai.abstraction.describe import features_of, occupancy

    found = _open(abstraction, whole=True)
    features = features_of(found)
    rounds = [
        {
            "position": player,
            **round_keys(found.game, r),
            **_kept(found, r, player),
            "occupancy": occupancy(found, r, player, features, seed),
        }
        for player in range(_num_players(found))
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
        print_json(about | {"rounds": [one | {"occupancy": asdict(one["occupancy"])} for one in rounds]})
        return
    _print_info(found, about, rounds)


def show_command(
    abstraction: Annotated[
        str,
        typer.Argument(metavar="FOLDER", help="A saved abstraction, or in Leduc a name such as '[JQ.K]'."),
    ],
    bucket: Annotated[
        str | None,
        typer.Option(
            "--bucket",
            metavar="ROUND:NUMBER",
            help="The hands of a bucket, such as 'flop:25' or, counting rounds from 1, '2:25'.",
        ),
    ] = None,
    hand: Annotated[
        str | None, typer.Option("--hand", metavar="CARDS", help="The bucket of a hand, such as 'AsKd'.")
    ] = None,
    board: Annotated[
        str, typer.Option("--board", metavar="CARDS", help="With --hand: public cards as dealt, 'Qs7d2c'.")
    ] = "",
    player: Player = 0,
    limit: Annotated[int, whole_option("--limit", "At most so many hands.", 0)] = 20,
    plot: Plot = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Show the hands of a bucket, or the bucket of a hand, with the strengths that may come of them."""
    if (bucket is None) == (hand is None):
        raise UsageError("Expected one of --bucket ROUND:NUMBER and --hand CARDS")
    if board and hand is None:
        raise UsageError("--board needs --hand, which is missing")
    verify_picture(plot)
    found = _open(abstraction)
    if hand is not None:
        _show_hand(found, abstraction, hand, board, player, plot, json, seed)
    else:
        assert bucket is not None
        _show_bucket(found, bucket, player, limit, plot, json, seed)


def compare_command(
    first: Annotated[str, typer.Argument(metavar="A", help="A saved abstraction.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one of the same cards.")],
    deals: Annotated[
        int,
        whole_option("--deals", "Random deals in rounds where not all hands can be compared.", 2, 10**9),
    ] = 100_000,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Compare two abstractions round by round: on which pairs of hands do they agree."""
    from errai.abstraction.compare import compare_round
    from errai.games.rounds import round_name

    a, b = _open(first), _open(second)
    num_players = max(_num_players(a), _num_players(b))
    rounds = [
        (player, r, compare_round(a, b, r, player, deals, seed))
        for player in range(num_players)
        for r in range(a.game.num_rounds)
    ]
    if json:
        print_json(
            {
                "first": {"path": first, "abstraction": a.name, "game": a.game.name},
                "second": {"path": second, "abstraction": b.name, "game": b.game.name},
                "seed": seed,
                "rounds": [
                    {"position": p, **round_keys(a.game, r), **_agreement(found)} for p, r, found in rounds
                ],
            }
        )
        return
    print(f"A: {a.name} ({first})")
    print(f"B: {b.name} ({second})")
    many = num_players > 1
    print_table(
        f"agreement on the cards of {a.game.name}",
        [
            "round",
            *(["player"] if many else []),
            "A used",
            "B used",
            "Rand",
            "adjusted",
            "inform.",
            "A in B",
            "B in A",
        ],
        [
            [
                round_name(a.game, r),
                *([str(p)] if many else []),
                *(f"{used:,}" for used in found.num_used),
                f"{found.rand:.4f}",
                f"{found.adjusted_rand:.4f}",
                f"{found.mutual_information:.4f}",
                *(f"{share:.1%}" for share in found.refinement),
            ]
            for p, r, found in rounds
        ],
    )
    print("  used: buckets with hands in them")
    print("  Rand: share of pairs of hands that are together in both or apart in both")
    print("  adjusted: the same, 0 by chance, 1 where A and B are the same")
    print("  inform.: mutual information over the mean entropy; 1 where each bucket tells the other")
    print("  A in B: share of A's buckets that lie within one bucket of B; 100%: A refines B")
    for unit in dict.fromkeys(found.unit for _, _, found in rounds):
        which = [round_name(a.game, r) for p, r, found in rounds if found.unit == unit and p == 0]
        more = f", seed {seed}" if unit == "random deals" else ""
        counted = ", ".join(f"{found.num_hands:,}" for p, _, found in rounds if found.unit == unit and p == 0)
        print(f"  compared in {', '.join(which)}: {counted} {unit}{more}")


def _agreement(found: "Overlap") -> dict[str, Any]:
    told = asdict(found)
    return {"used_buckets": told.pop("num_used"), **told}


def _open(text: str, *, whole: bool = False) -> "Buckets":
    """Open a saved abstraction, or one of Leduc by its name."""
    from errai.abstraction.load import load_abstraction
    from errai.abstraction.named_groups import leduc_abstraction

    if text.startswith("[") and not Path(text).exists():
        return leduc_abstraction(text)
    return load_abstraction(text, whole=whole)


def _num_players(abstraction: "Buckets") -> int:
    return int(getattr(abstraction, "num_players_described", 1))


def _kept(abstraction: "Buckets", r: int, player: int) -> dict[str, Any]:
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


def _print_info(found: "Buckets", about: dict[str, Any], rounds: list[dict[str, Any]]) -> None:
    from errai.games.rounds import round_name
    from errai.memory import format_bytes

    many = _num_players(found) > 1

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


def _counting(found: "Buckets", one: dict[str, Any], has_features: bool) -> str:
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


def _spread_cells(spread: "Spread | None") -> list[str]:
    if spread is None:
        return ["-", "-", "-"]
    return [_short(size) for size in spread]


def _short(size: float) -> str:
    return f"{size:,.0f}" if size < MOST_IN_FULL else f"{size / 1e6:,.1f}M"


def _parse_bucket(found: "Buckets", text: str) -> tuple[int, int]:
    from errai.games.rounds import find_round

    round_text, colon, number = text.partition(":")
    if not colon or not number.isascii() or not number.isdigit() or len(number) > MOST_DIGITS:
        raise UsageError(
            f"--bucket must be ROUND:NUMBER such as 'flop:25' or '2:25', not '{shortened(text)}'"
        )
    return find_round(found.game, round_text), int(number)


def _show_bucket(
    found: "Buckets", text: str, player: int, limit: int, plot: str | None, json: bool, seed: int
) -> None:
    from errai.abstraction.describe import features_of, members, profile
    from errai.games.rounds import round_name

    r, bucket = _parse_bucket(found, text)
    features = features_of(found)
    hands = members(found, r, bucket, player, features, seed)
    mean = profile(features, r, hands.classes, hands.deals) if features is not None and len(hands) else None
    shown = _listed(found, features, hands, r, limit)
    num_deals = int(hands.deals.sum()) if hands.deals is not None else None
    title = f"bucket {bucket} of {round_name(found.game, r)}, {found.name}"
    if plot is not None:
        _plot({"mean of the bucket": mean}, plot, title)
    if json:
        print_json(
            {
                "game": found.game.name,
                "abstraction": found.name,
                "position": player,
                **round_keys(found.game, r),
                "bucket": bucket,
                "unit": hands.unit,
                "num_hands": len(hands),
                "num_deals": num_deals,
                "num_random_deals_searched": hands.num_sampled or None,
                "mean": asdict(mean) if mean is not None else None,
                "hands": [{"hand": name, "strength": strength} for name, strength in shown],
            }
        )
        return
    print(title)
    where = f" among {hands.num_sampled:,} random deals" if hands.num_sampled else ""
    behind = f", {num_deals:,} deals" if num_deals is not None and not hands.num_sampled else ""
    print(f"{len(hands):,} {hands.unit}{behind}{where}")
    if mean is not None:
        print(
            f"E[HS] {mean.strength:.4f} on average, from {mean.weakest:.4f} to {mean.strongest:.4f}; "
            f"E[HS2] {mean.squared:.4f}"
        )
        _draw_points({"mean of the bucket": mean})
        _draw_ochs({"mean of the bucket": mean})
    elif len(hands):
        _tell_missing(found)
    if len(shown) < len(hands) and shown:
        order = (
            "from the weakest to the strongest" if features is not None else "in the order of their numbers"
        )
        print(f"{len(shown)} of them, {order}:")
    _print_hands(shown)


def _listed(
    found: "Buckets", features: "Features | None", hands: "Members", r: int, limit: int
) -> list[tuple[str, float | None]]:
    """Return some hands of a bucket, evenly from the weakest to the strongest, with their E[HS]."""
    import numpy as np

    from errai.abstraction.describe import format_deal

    strength = None
    order = np.arange(len(hands))
    if features is not None:
        whole = features.plan.runouts(r) * features.plan.max_strength
        strength = features.strength(r)[hands.classes] / whole
        order = np.argsort(strength, kind="stable")
    places = np.unique(np.linspace(0, len(hands) - 1, min(limit, len(hands))).round().astype(int))
    chosen = order[places]
    is_ordered = hands.unit != "classes"
    names = [format_deal(found.game, cards, r, ordered=is_ordered) for cards in hands.cards(chosen)]
    strengths = [None] * len(names) if strength is None else strength[chosen].tolist()
    return list(zip(names, strengths, strict=True))


def _print_hands(shown: list[tuple[str, float | None]]) -> None:
    """Print hands in as many columns as there is room for, downwards."""
    if not shown:
        return
    cells = [name + (f" {strength:.3f}" if strength is not None else "") for name, strength in shown]
    width = max(map(len, cells)) + 3
    num_columns = max(1, (shutil.get_terminal_size().columns - 2) // width)
    num_lines = -(-len(cells) // num_columns)
    for first in range(num_lines):
        print("  " + "".join(cell.ljust(width) for cell in cells[first::num_lines]).rstrip())


def _show_hand(
    found: "Buckets",
    path: str,
    hand: str,
    board: str,
    player: int,
    plot: str | None,
    json: bool,
    seed: int,
) -> None:
    import numpy as np

    from errai.abstraction.describe import features_of, members, profile
    from errai.abstraction.features.hands import HandClasses
    from errai.games.rounds import round_name, street_name

    cards = np.array([found.game.deck.parse(hand + board)], dtype=np.uint8)
    num_board = len(found.game.deck.parse(board))
    if cards.shape[1] - num_board != found.game.num_hole_cards:
        raise UsageError(
            f"--hand must have {found.game.num_hole_cards} hole cards in '{found.game.name}', "
            f"not {cards.shape[1] - num_board}: '{hand}'"
        )
    classes = HandClasses(found.game)
    r = classes.round_of_board(num_board)
    bucket = int(found.buckets(cards, r, player)[0])
    features = features_of(found)
    profiles: dict[str, Profile] = {}
    if features is not None:
        others = members(found, r, bucket, player, features, seed)
        profiles[hand] = profile(features, r, classes.index(cards, r))
        if len(others):  # a sample need not have met a small bucket
            profiles["mean of its bucket"] = profile(features, r, others.classes, others.deals)
    name = hand + (f" on {board}" if board else "")
    title = f"{name}: bucket {bucket} of {found.num_buckets(r, player):,} in {round_name(found.game, r)}"
    if plot is not None:
        _plot(profiles, plot, f"{title}, {found.name}")
    if json:
        print_json(
            {
                "game": found.game.name,
                "abstraction": found.name,
                "position": player,
                "hand": hand,
                "board": board,
                **round_keys(found.game, r),
                "bucket": bucket,
                "buckets": found.num_buckets(r, player),
                "of_hand": asdict(profiles[hand]) if profiles else None,
                "of_bucket": asdict(profiles["mean of its bucket"]) if len(profiles) > 1 else None,
            }
        )
        return
    print(f"{title}, {found.name}")
    if not profiles:
        _tell_missing(found)
        return
    for who, one in profiles.items():
        spread = f" (from {one.weakest:.4f} to {one.strongest:.4f})" if one.weakest < one.strongest else ""
        print(f"  {who}: E[HS] {one.strength:.4f}{spread}, E[HS2] {one.squared:.4f}")
    _draw_points(profiles)
    _draw_ochs(profiles)
    where = street_name(found.game, r) or r + 1
    print(f"next: errai abstract show {shlex.quote(path)} --bucket {where}:{bucket}")


def _tell_missing(found: "Buckets") -> None:
    game = shlex.quote(found.game.name)
    if getattr(found, "opponent_clusters", None) is None:
        return
    print(f"strengths are not known without the feature cache, which 'errai abstract features {game}' builds")


def _draw_points(profiles: "dict[str, Profile]") -> None:
    """Draw how likely each strength at the end is: one chart for each hand or bucket, on the same scale."""
    charts = {name: one for name, one in profiles.items() if one.points}
    if not charts:
        return
    room = shutil.get_terminal_size().columns - 4
    columns = {name: bars.folded(one.points, room) for name, one in charts.items()}
    most = max(max(values) for values in columns.values())
    blocks = bars.blocks_up()
    for name, values in columns.items():
        print(f"chance of each strength at the end, {name}")
        for text in bars.columns(values, CHART_LINES, most, blocks):
            print(f"  |{text}")
        print("  +" + "-" * len(values))
        print("   0" + "1".rjust(round((len(values) - 1) / charts[name].grid[-1])))


def _draw_ochs(profiles: "dict[str, Profile]") -> None:
    """Draw strengths against all hands and against each cluster as lines."""
    room = shutil.get_terminal_size().columns
    names = list(profiles)
    length = max(6, min(24, (room - 18) // len(names) - 10))
    blocks = bars.blocks_right()
    print("strength against the opponent's hands, from weak to strong clusters: " + ", ".join(names))
    num_clusters = len(profiles[names[0]].ochs)
    for k in range(-1, num_clusters):
        label = "all hands" if k < 0 else f"cluster {k}"
        cells = []
        for one in profiles.values():
            share = one.strength if k < 0 else one.ochs[k]
            cells.append(f"{share:.3f} {bars.line(share, length, blocks)}")
        print(f"  {label:<10} " + "  ".join(cells).rstrip())


def _plot(profiles: "Mapping[str, Profile | None]", path: str, title: str) -> None:
    drawn = {name: one for name, one in profiles.items() if one is not None}
    if not drawn:
        raise UsageError("--plot has nothing to draw: strengths are not known without the feature cache")
    bars.plot_profiles(drawn, path, title)
