"""`errai games`, `errai size`, `errai show`."""

from dataclasses import asdict
from os.path import isdir
from typing import TYPE_CHECKING, Annotated

import typer

from errai.cli.output import Json, Seed, decimal_number, print_json, print_table, scientific, whole_number
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.tree.bet_menu import BetMenu
    from errai.tree.size import GameSize

Bets = Annotated[
    str | None,
    typer.Option(
        "--bets",
        metavar="MENU",
        help="Bet sizes of a no-limit game, such as '0.5p,1p,all-in'; "
        "'|' parts the first bet from raises, '/' parts rounds.",
    ),
]
MaxRaises = Annotated[
    int | None,
    typer.Option(
        "--max-raises",
        parser=whole_number,
        metavar="INTEGER",
        help="With --bets: at most so many raises a round.",
    ),
]
ForceAllIn = Annotated[
    float,
    typer.Option(
        "--force-all-in",
        parser=decimal_number,
        metavar="NUMBER",
        help="With --bets: a raise leaving less than this part of the pot is all-in.",
    ),
]
PayoffsText = Annotated[
    str | None,
    typer.Option(
        "--payoffs",
        metavar="TEXT",
        help="What the players get: 'plain', 'rake 5% cap 3' ('... always': without a flop, too), "
        "'tilt 7,0,0,7' (percent more for winning a showdown, losing one, folding, winning by a fold).",
    ),
]
GameName = Annotated[
    str, typer.Argument(metavar="GAME", help="A game's name (see 'errai games') or an ACPC game file.")
]


def list_games(json: Json = False, seed: Seed = 0) -> None:
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
                scientific(size.decisions),
                scientific(size.raw_infosets),
                scientific(size.canonical_infosets),
            ]
            for size in sizes
        ],
    )
    print("Also: any holdem-ROUNDS-BETS, any bluff-DICE-DICE, or the path of an ACPC game file.")
    print("Next: 'errai size GAME' counts one in full, 'errai show GAME' prints its betting.")


def size(
    game: GameName,
    bets: Bets = None,
    max_raises: MaxRaises = None,
    force_all_in: ForceAllIn = 0.0,
    buckets: Annotated[
        str | None,
        typer.Option(
            "--buckets",
            help="Buckets by round: 'IR 169-9000-9000-9000', or 'PR 10-10-10-10' (perfect recall).",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Count a game: betting sequences by round, information sets, slots, bytes."""
    from errai.games.catalogue import load_game
    from errai.tree.size import game_size

    counted = game_size(load_game(game), menu_from_options(bets, max_raises, force_all_in), buckets)
    if json:
        print_json(_totals(counted) | {"rounds": [_round(counted, i) for i in range(len(counted.rounds))]})
    else:
        _print_size(counted)


def show(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME|FILE",
            help="A game, as for the other commands, or a strategy or run that was saved.",
        ),
    ],
    betting: Annotated[str, typer.Argument(help="Where to start, such as 'crc/'; in Bluff '1-2,1-5'.")] = "",
    depth: Annotated[
        int,
        typer.Option("--depth", parser=whole_number, metavar="INTEGER", help="How many actions to follow."),
    ] = 3,
    bets: Bets = None,
    max_raises: MaxRaises = None,
    force_all_in: ForceAllIn = 0.0,
    hand: Annotated[str, typer.Option("--hand", help="Of a strategy: one hand only, such as 'AsKd'.")] = "",
    board: Annotated[str, typer.Option("--board", help="Of a strategy: the public cards.")] = "",
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Print the betting of a game below a betting string, or what a strategy plays there."""
    from errai.array_file import is_array_file
    from errai.games.catalogue import game_names, load_game
    from errai.tree.show import show_subtree

    menu = menu_from_options(bets, max_raises, force_all_in)
    if game not in game_names() and (isdir(game) or is_array_file(game)):
        if menu is not None:
            raise UsageError(f"'{game}' knows its bet sizes: --bets goes with a game")
        _show_strategy(game, betting, hand, board, json)
        return
    if hand or board:
        raise UsageError(
            f"'{game}' is not a strategy or run that was saved: --hand and --board go with those"
        )
    lines = show_subtree(load_game(game), betting, depth, menu)
    if json:
        print_json({"game": game, "betting": betting, "lines": list(lines)})
        return
    for line in lines:
        print(line)


def _show_strategy(path: str, betting: str, hand: str, board: str, json: bool) -> None:
    from errai.runs.folder import load_strategy
    from errai.strategy.bucketed import BucketStrategy
    from errai.strategy.table import strategy_tables

    strategy = load_strategy(path)
    name = strategy.game.name
    if hand:
        found = strategy.probabilities(betting, hand, board)
        if json:
            print_json(
                {"game": name, "betting": betting, "hand": hand, "board": board, "probabilities": found}
            )
            return
        place = f" on {board}" if board else ""
        print(f"{name} after '{betting}' with {hand}{place}: " + _listed_probabilities(found))
        return
    if isinstance(strategy, BucketStrategy):
        raise UsageError(f"'{path}' has buckets in place of hands: --hand says which hand to show")
    tables = list(strategy_tables(strategy, betting, board))
    if json:
        print_json(
            [
                {
                    "game": name,
                    "betting": betting,
                    "board": table.board,
                    "player": table.player,
                    "hands": [
                        {
                            "hand": row,
                            "count": int(count),
                            "probabilities": dict(zip(table.actions, chances.tolist(), strict=True)),
                        }
                        for row, count, chances in zip(
                            table.hands, table.counts, table.probabilities, strict=True
                        )
                    ],
                }
                for table in tables
            ]
        )
        return
    for table in tables:
        place = f", board {table.board}" if table.board else ""
        print_table(
            f"{name} after '{betting}'{place}: player {table.player} acts",
            ["hand", "hands", *table.actions],
            [
                [row, str(count), *(f"{chance:.4f}" for chance in chances)]
                for row, count, chances in zip(table.hands, table.counts, table.probabilities, strict=True)
            ],
        )


def _listed_probabilities(found: dict[str, float]) -> str:
    return ", ".join(f"{action} {chance:.4f}" for action, chance in found.items())


def menu_from_options(bets: str | None, max_raises: int | None, force_all_in: float) -> "BetMenu | None":
    """Return the menu that the options describe; None without one."""
    from errai.tree.bet_menu import BetMenu

    if bets is None:
        if max_raises is not None or force_all_in:
            raise UsageError("--max-raises and --force-all-in go with --bets, which is missing")
        return None
    return BetMenu.parse(bets, max_raises, force_all_in)


def _totals(counted: "GameSize") -> dict[str, object]:
    return {
        "game": counted.game,
        "bets": counted.bets,
        "buckets": counted.abstraction,
        "betting_nodes": counted.nodes,
        "decision_sequences": counted.decisions,
        "raw_information_sets": counted.raw_infosets,
        "canonical_information_sets": counted.canonical_infosets,
        "bucketed_information_sets": counted.bucketed_infosets,
        "slots": counted.table_slots,
        "regret_bytes": counted.regret_bytes,
        "average_bytes": counted.regret_bytes,
    }


def _round(counted: "GameSize", index: int) -> dict[str, object]:
    one = counted.rounds[index]
    return asdict(one) | {
        "bucketed_infosets": one.bucketed_infosets,
        "table_slots": one.table_slots,
    }


def _print_size(counted: "GameSize") -> None:
    from errai.memory import format_bytes

    bucketed = counted.bucketed_infosets is not None
    header = [
        "",
        "decisions",
        "continuing",
        "folds",
        "showdowns",
        "boards",
        "raw infosets",
        "canonical infosets",
    ]
    rows = [
        [
            one.name,
            f"{one.betting.decisions:,}",
            f"{one.betting.continuing:,}",
            f"{one.betting.folds:,}",
            f"{one.betting.showdowns:,}",
            f"{one.boards:,}",
            f"{one.raw_infosets:,}",
            f"{one.canonical_infosets:,}",
            *([f"{one.bucketed_infosets:,}"] if bucketed else []),
            f"{one.table_slots:,}",
        ]
        for one in counted.rounds
    ]
    total = [
        "total",
        *(
            f"{sum(getattr(one.betting, what) for one in counted.rounds):,}"
            for what in ("decisions", "continuing", "folds", "showdowns")
        ),
        "",
        f"{counted.raw_infosets:,}",
        f"{counted.canonical_infosets:,}",
        *([f"{counted.bucketed_infosets:,}"] if bucketed else []),
        f"{counted.table_slots:,}",
    ]
    title = " ".join(
        [
            counted.game,
            *([f"with bets {counted.bets}"] if counted.bets else []),
            *([f"in buckets {counted.abstraction}"] if bucketed else []),
        ]
    )
    columns = [*header, *(["bucketed infosets"] if bucketed else []), "slots"]
    if max(len(cell) for row in rows for cell in row) > 30:
        # Numbers of a hundred digits make no table: one a line.
        for row in [*rows, total]:
            print(f"{title}, {row[0]}")
            for name, cell in zip(columns[1:], row[1:], strict=True):
                print(f"  {name + ':':<20} {cell}")
    else:
        print_table(title, columns, [*rows, total])
    print(f"betting nodes: {counted.nodes:,}")
    for what in ("regrets", "averages"):
        print(f"{what}: {counted.regret_bytes:,} bytes ({format_bytes(counted.regret_bytes)})")
