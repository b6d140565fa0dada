"""`errai equity`."""

from typing import Annotated

import typer

from errai.cli.options import Json, Seed
from errai.cli.output import print_json


def equity_command(
    first: Annotated[str, typer.Argument(help="A hand such as 'AsKs' or a range such as '88+,AJs:0.5'.")],
    second: Annotated[str, typer.Argument(help="The other hand or range.")],
    board: Annotated[
        str, typer.Option("--board", metavar="CARDS", help="0, 3, 4 or 5 cards, such as 'Qs7d2c'.")
    ] = "",
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Compare two hold'em hands or ranges by exact enumeration."""
    from errai.cards.equity import equity

    result = equity((first, second), board)
    if json:
        print_json(
            {
                "ranges": [first, second],
                "board": board,
                "equity": result.equity,
                "win": result.win,
                "tie": result.tie,
                "lose": result.lose,
            }
        )
        return
    print(f"{first} against {second}" + (f" on {board}" if board else ""))
    print(
        f"  equity {result.equity:.6f} (wins {result.win:.6f}, "
        f"ties {result.tie:.6f}, loses {result.lose:.6f})"
    )
