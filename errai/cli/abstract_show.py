"""`errai abstract show`."""

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from errai.cli import bars
from errai.cli.abstract_info import open_abstraction
from errai.cli.options import Json, Plot, Seed, whole_option
from errai.cli.output import MOST_DIGITS, print_json, round_keys, verify_picture
from errai.errors import UsageError, shortened

if TYPE_CHECKING:
    from errai.abstraction.describe import Members, Profile
    from errai.abstraction.features.features import Features
    from errai.abstraction.protocol import CardAbstraction

CHART_LINES = 6

Player = Annotated[
    int,
    whole_option("--player", "Position 0 or 1, where the two see differently.", 0, 1),
]


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
    """Show the hands of a bucket, or the bucket of a hand.

    The strengths that may come of them are shown, too.
    """
    if (bucket is None) == (hand is None):
        raise UsageError("expected one of --bucket ROUND:NUMBER and --hand CARDS")
    if board and hand is None:
        raise UsageError("--board needs --hand, which is missing")
    verify_picture(plot)
    found = open_abstraction(abstraction)
    if hand is not None:
        _show_hand(found, abstraction, hand, board, player, plot, json, seed)
    else:
        assert bucket is not None
        _show_bucket(found, bucket, player, limit, plot, json, seed)


def _parse_bucket(found: "CardAbstraction", text: str) -> tuple[int, int]:
    from errai.games.rounds import find_round

    round_text, colon, number = text.partition(":")
    if not colon or not number.isascii() or not number.isdigit() or len(number) > MOST_DIGITS:
        raise UsageError(
            f"--bucket must be ROUND:NUMBER such as 'flop:25' or '2:25', not '{shortened(text)}'"
        )
    return find_round(found.game, round_text), int(number)


def _show_bucket(
    found: "CardAbstraction", text: str, player: int, limit: int, plot: str | None, json: bool, seed: int
) -> None:
    from errai.abstraction.describe import features_of, members, profile
    from errai.games.rounds import the_round

    r, bucket = _parse_bucket(found, text)
    features = features_of(found)
    hands = members(found, r, bucket, player, features, seed)
    mean = profile(features, r, hands.classes, hands.deals) if features is not None and len(hands) else None
    shown = _listed(found, features, hands, r, limit)
    num_deals = int(hands.deals.sum()) if hands.deals is not None else None
    title = f"bucket {bucket} of {the_round(found.game, r)}, {found.name}"
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
                "num_random_deals": hands.num_sampled or None,
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
    found: "CardAbstraction", features: "Features | None", hands: "Members", r: int, limit: int
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
    found: "CardAbstraction",
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
    from errai.games.rounds import in_round, street_name

    hole, public = found.game.parse_deal(hand, board)
    cards = np.array([hole + public], dtype=np.uint8)
    classes = HandClasses(found.game)
    r = found.game.round_of_board(len(public))
    bucket = int(found.buckets(cards, r, player)[0])
    features = features_of(found)
    profiles: dict[str, Profile] = {}
    if features is not None:
        others = members(found, r, bucket, player, features, seed)
        profiles[hand] = profile(features, r, classes.index(cards, r))
        if len(others):  # a sample need not have met a small bucket
            profiles["mean of its bucket"] = profile(features, r, others.classes, others.deals)
    name = hand + (f" on {board}" if board else "")
    title = f"{name}: bucket {bucket} of {found.num_buckets(r, player):,} {in_round(found.game, r)}"
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


def _tell_missing(found: "CardAbstraction") -> None:
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
