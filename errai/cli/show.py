"""`errai show`: the betting of a game, or what a saved strategy plays.

A decision of hold'em is shown as a grid of hands, those of other games as tables.
"""

from os.path import isdir
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import (
    Bets,
    ForceAllIn,
    Json,
    MaxRaises,
    Plot,
    Seed,
    menu_from_options,
    whole_option,
)
from errai.cli.output import print_json, print_table, round_keys, verify_picture
from errai.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from errai.games.catalogue import Game
    from errai.strategy.grid import HandGrid
    from errai.strategy.table import StrategyTable
    from errai.tree.show import BettingNode


def show_command(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME|FILE",
            help="A game, as for the other commands, or a saved or exported strategy or run.",
        ),
    ],
    betting: Annotated[str, typer.Argument(help="Where to start, such as 'crc/'; in Bluff '1-2,1-5'.")] = "",
    depth: Annotated[int, whole_option("--depth", "How many actions to follow.", 0)] = 3,
    bets: Bets = None,
    max_raises: MaxRaises = None,
    force_all_in: ForceAllIn = 0.0,
    hand: Annotated[
        str, typer.Option("--hand", metavar="CARDS", help="Of a strategy: one hand only, such as 'AsKd'.")
    ] = "",
    board: Annotated[
        str, typer.Option("--board", metavar="CARDS", help="Of a strategy: the public cards.")
    ] = "",
    plot: Plot = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Print the betting of a game, or what a strategy plays: in hold'em as a grid of hands."""
    from errai.array_file import is_array_file
    from errai.games.catalogue import game_names, load_game
    from errai.tree.show import betting_nodes, show_subtree

    menu = menu_from_options(bets, max_raises, force_all_in)
    if game not in game_names() and (isdir(game) or is_array_file(game)):
        if menu is not None:
            raise UsageError(f"--bets needs a game, and '{game}' is a saved strategy with its own bet sizes")
        verify_picture(plot)
        _show_strategy(game, betting, hand, board, plot, json)
        return
    if hand or board or plot is not None:
        raise UsageError(f"--hand, --board and --plot need a saved strategy or run, and '{game}' is neither")
    rules = load_game(game)
    if json:
        nodes = [_node(rules, node) for node in betting_nodes(rules, betting, depth, menu)]
        print_json({"game": rules.name, "betting": betting, "nodes": nodes})
        return
    for line in show_subtree(rules, betting, depth, menu):
        print(line)


def _node(rules: "Game", node: "BettingNode") -> dict[str, Any]:
    """Return a node of the betting as data."""
    from errai.games.rules import PokerRules

    about: dict[str, Any] = {
        "depth": node.depth,
        "action": node.label if node.depth else None,
        "kind": node.kind,
        "position": node.player,
    }
    if isinstance(rules, PokerRules):
        where = round_keys(rules, node.round) if node.round is not None else {"round": None, "street": None}
        return about | where | {"chips": list(node.chips), "won_chips": node.won}
    return about | {"dice": list(node.chips)}


def _show_strategy(path: str, betting: str, hand: str, board: str, plot: str | None, json: bool) -> None:
    from errai.runs.folder import load_strategy
    from errai.strategy.bucketed import BucketStrategy
    from errai.strategy.grid import hand_grid, is_holdem
    from errai.strategy.table import strategy_tables

    strategy = load_strategy(path)
    name = strategy.game.name
    about = {"path": path, "game": name, "betting": betting}
    if plot is not None and (hand or not is_holdem(strategy.game)):
        why = "--hand asks for one hand alone" if hand else f"'{name}' is not hold'em with the full deck"
        raise UsageError(f"--plot draws all hands of hold'em: {why}")
    if hand:
        found = strategy.probabilities(betting, hand, board)
        if json:
            print_json(about | {"board": board, "hand": hand, "probabilities": found})
            return
        place = f" on {board}" if board else ""
        listed = ", ".join(f"{action} {chance:.4f}" for action, chance in found.items())
        print(f"{name} after '{betting}' with {hand}{place}: {listed}")
        return
    if is_holdem(strategy.game):
        _show_grid(hand_grid(strategy, betting, board), name, about, plot, json)
        return
    if isinstance(strategy, BucketStrategy):
        raise UsageError(f"--hand is needed: '{path}' has buckets in place of hands")
    tables = list(strategy_tables(strategy, betting, board))
    if json:
        print_json(about | {"tables": [_table(table) for table in tables]})
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


def _show_grid(grid: "HandGrid", name: str, about: dict[str, Any], plot: str | None, json: bool) -> None:
    from errai.cli.hand_grid import plot_grid, print_grid
    from errai.strategy.grid import SIZE, class_name

    place = f", board {grid.board}" if grid.board else ""
    title = f"{name} after '{grid.betting}'{place}: player {grid.player} acts"
    if plot is not None:
        plot_grid(grid, plot, title)
    if not json:
        print_grid(grid, title)
        if plot is not None:
            print(f"drawn in {plot}")
        return

    def named(chances: "npt.NDArray[np.float64]") -> dict[str, float]:
        return dict(zip(grid.actions, chances.tolist(), strict=True))

    hands = [
        {
            "hand": class_name(i, j),
            "num_hands": int(grid.counts[i, j]),
            "probabilities": named(grid.probabilities[i, j]) if grid.counts[i, j] else None,
        }
        for i in range(SIZE)
        for j in range(SIZE)
    ]
    table = {
        "board": grid.board,
        "position": grid.player,
        "probabilities": named(grid.frequencies),
        "hands": hands,
    }
    print_json(about | {"tables": [table], "picture": plot})


def _table(table: "StrategyTable") -> dict[str, Any]:
    rows = zip(table.hands, table.counts, table.probabilities, strict=True)
    return {
        "board": table.board,
        "position": table.player,
        "hands": [
            {
                "hand": hand,
                "num_hands": int(count),
                "probabilities": dict(zip(table.actions, chances.tolist(), strict=True)),
            }
            for hand, count, chances in rows
        ],
    }
