"""`errai games` and `errai size`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import Bets, ForceAllIn, GameName, Json, MaxRaises, Seed, menu_from_options
from errai.cli.output import counted_number, print_json, print_table, round_keys, short_number
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.games.catalogue import Game
    from errai.games.rules import PokerRules
    from errai.tree.size import GameSize, RoundSize

LIST = "list"
"""In the place of bet sizes: those that come with the package."""


def games_command(json: Json = False, seed: Seed = 0) -> None:
    """List every game with its size."""
    from errai.games.catalogue import game_names, load_game
    from errai.tree.size import game_size

    sizes = [game_size(load_game(name)) for name in game_names()]
    if json:
        print_json([_totals(size) for size in sizes])
        return
    print_table(
        "Games (sizes with every legal bet size)",
        ["game", "betting sequences", "information sets", "up to symmetry"],
        [
            [
                size.game,
                short_number(size.decisions),
                short_number(size.raw_infosets),
                short_number(size.canonical_infosets),
            ]
            for size in sizes
        ],
    )
    print("Also: any holdem-ROUNDS-BETS, any bluff-DICE-DICE, or the path of an ACPC game file.")
    print("Next: 'errai size GAME' counts one in full, 'errai show GAME' prints its betting.")


def size_command(
    game: GameName,
    bets: Bets = None,
    max_raises: MaxRaises = None,
    force_all_in: ForceAllIn = 0.0,
    buckets: Annotated[
        str | None,
        typer.Option(
            "--buckets",
            metavar="NAME",
            help="Count with an abstraction, by a name as for 'errai abstract build' "
            "('IR-KE-KO 169-9000-9000-9000') or by recall and sizes alone ('PR 10-10-10-10').",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Count a game: betting sequences, information sets, bytes.

    With --bets list, count its betting with every menu of bet sizes that comes with the package.
    """
    from errai.games.catalogue import load_card_game, load_game
    from errai.tree.size import game_size

    if bets == LIST:
        if max_raises is not None or force_all_in or buckets is not None:
            raise UsageError("--bets list goes without --max-raises, --force-all-in and --buckets")
        _print_menus(load_card_game(game), json)
        return
    rules = load_game(game)
    counted = game_size(rules, menu_from_options(bets, max_raises, force_all_in), buckets)
    if json:
        rounds = [_round(rules, one, r) for r, one in enumerate(counted.rounds)]
        print_json(_totals(counted) | {"rounds": rounds})
    else:
        _print_size(counted)


def _print_menus(rules: "PokerRules", json: bool) -> None:
    """Print the menus that come with the package, from the smallest tree to the largest."""
    from errai.games.rounds import round_name
    from errai.tree.menu_file import presets
    from errai.tree.size import betting_counts

    menus = [
        (preset, betting_counts(rules, preset.menu))
        for preset in presets()
        if preset.menu.suits(rules)  # a game without blinds has no dealer to speak of
    ]
    menus.sort(key=lambda one: sum(count.nodes for count in one[1]))
    if json:
        print_json(
            {
                "game": rules.name,
                "menus": [
                    {
                        "bets": preset.name,
                        "description": preset.description,
                        "betting_nodes": sum(count.nodes for count in counts),
                        "betting_sequences": sum(count.decisions for count in counts),
                        "rounds": [
                            round_keys(rules, r) | {"betting_nodes": asdict(count)}
                            for r, count in enumerate(counts)
                        ],
                    }
                    for preset, counts in menus
                ],
            }
        )
        return
    names = [round_name(rules, r) for r in range(rules.num_rounds)]
    print_table(
        f"Menus of bet sizes in {rules.name}: betting nodes, in all and by round",
        ["bets", "decisions", "nodes", *names],
        [
            [
                preset.name,
                short_number(sum(count.decisions for count in counts)),
                short_number(sum(count.nodes for count in counts)),
                *(short_number(count.nodes) for count in counts),
            ]
            for preset, counts in menus
        ],
    )
    for preset, _ in menus:
        print(f"{preset.name}: {preset.description}")


def _totals(counted: "GameSize") -> dict[str, Any]:
    return {
        "game": counted.game,
        "bets": counted.bets,
        "abstraction": counted.abstraction,
        "betting_nodes": counted.nodes,
        "betting_sequences": counted.decisions,
        "raw_information_sets": counted.raw_infosets,
        "canonical_information_sets": counted.canonical_infosets,
        "bucketed_information_sets": counted.bucketed_infosets,
        "slots": counted.table_slots,
        "regret_bytes": counted.regret_bytes,
        "average_bytes": counted.regret_bytes,
    }


def _round(rules: "Game", one: "RoundSize", index: int) -> dict[str, Any]:
    from errai.games.rules import PokerRules

    if isinstance(rules, PokerRules):
        which = round_keys(rules, index) | {"dice": None}
    else:
        which = {"round": index + 1, "street": None, "dice": one.name.removeprefix("dice ")}
    return which | {
        "betting_nodes": asdict(one.betting),
        "num_boards": one.boards,
        "num_hands": one.rows,
        "buckets": one.buckets,
        "raw_information_sets": one.raw_infosets,
        "canonical_information_sets": one.canonical_infosets,
        "bucketed_information_sets": one.bucketed_infosets,
        "slots": one.table_slots,
    }


def _print_size(counted: "GameSize") -> None:
    from errai.memory import format_bytes

    is_bucketed = counted.bucketed_infosets is not None
    header = ["", "decisions", "continuing", "folds", "showdowns", "boards", "raw infosets"]
    header += ["canonical infosets", *(["bucketed infosets"] if is_bucketed else []), "slots"]
    lines: list[tuple[str, list[int | None]]] = [
        (
            one.name,
            [
                *(one.betting.decisions, one.betting.continuing, one.betting.folds, one.betting.showdowns),
                *(one.boards, one.raw_infosets, one.canonical_infosets),
                *([one.bucketed_infosets] if is_bucketed else []),
                one.table_slots,
            ],
        )
        for one in counted.rounds
    ]
    totals: list[int | None] = [
        sum(numbers[column] or 0 for _, numbers in lines) for column in range(len(header) - 1)
    ]
    totals[header.index("boards") - 1] = None  # boards of one round lie on those of the round before
    lines.append(("total", totals))
    title = " ".join(
        [
            counted.game,
            *([f"with bets {counted.bets}"] if counted.bets else []),
            *([f"in buckets {counted.abstraction}"] if is_bucketed else []),
        ]
    )
    rows = [[name, *("" if n is None else short_number(n) for n in numbers)] for name, numbers in lines]
    print_table(title, header, rows)
    print(f"betting nodes: {counted_number(counted.nodes)}")
    if len(str(counted.raw_infosets)) != len(short_number(counted.raw_infosets).replace(",", "")):
        print(f"raw information sets: {counted_number(counted.raw_infosets)}; --json has them in full")
    for what in ("regrets", "averages"):
        print(f"{what}: {counted_number(counted.regret_bytes)} bytes ({format_bytes(counted.regret_bytes)})")
