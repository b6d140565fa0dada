"""How fast the cells of public boards are made, on one core.

    python benchmarks/bench_cells.py

A path is one flop, turn and river of limit hold'em with 1,176 + 1,128 + 1,081 hands, the last sorted by
strength. `in the kernel` is the time of many paths made by one call, so the call itself does not count;
`one call` makes one path with fresh arrays. The whole of [2-1] hold'em has 1,756 boards, the sub-game of
an asymmetric flop 2,402. Best of several; compilation and canonical boards are apart.
"""

import time
from collections.abc import Callable

import numpy as np

from errai.cards.evaluator import evaluate
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.tree.cells import BoardLevel, cells_below, game_cells, make_cells, path_cells

NUM_PATHS = 50
ROUNDS = 10
FLOP = "2c7dKh"
TURN, RIVER = "9s", "Jd"


def seconds(work: Callable[[], object]) -> float:
    """Return the best time of several, after one that may compile."""
    work()
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def poker(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


def main() -> None:
    holdem, short = poker("limit-holdem"), poker("holdem-2-1")
    deals = Deals(holdem)
    deck = holdem.deck
    path = [0]
    for r, text in enumerate((FLOP, FLOP + TURN, FLOP + TURN + RIVER)):
        path.append(int(deals.boards.index(np.array([deck.parse(text)]), r)[0]))
    one_call = seconds(lambda: path_cells(deals, path[1:], [1.0] * 3, 1, dealt=True))
    hands = deck.hands(2)
    levels = [
        BoardLevel(
            np.repeat(deals.boards.cards(r)[number : number + 1], NUM_PATHS, axis=0),
            np.arange(NUM_PATHS + 1),
            np.ones(NUM_PATHS),
        )
        for r, number in enumerate(path[1:])
    ]
    many = seconds(lambda: make_cells(holdem, levels, (hands, hands), None, 1)) / NUM_PATHS
    river = np.array(deck.parse(FLOP + TURN + RIVER), dtype=np.uint8)
    is_open = hands[np.logical_not(np.isin(hands, river).any(axis=1))]
    rows = np.concatenate([is_open, np.tile(river, (len(is_open), 1))], axis=1)
    evaluating = seconds(lambda: evaluate(np.tile(rows, (NUM_PATHS, 1)))) / NUM_PATHS
    print(
        f"a path of hold'em: {many * 1e6:.0f} microseconds in the kernel, {one_call * 1e6:.0f} for one call;"
    )
    print(f"  {many / evaluating:.1f} times as long as evaluating its river ({evaluating * 1e6:.0f})")
    subgame = seconds(lambda: cells_below(deals, 1, path[1]))
    num_cells = int(cells_below(deals, 1, path[1]).players[0].cell_begin[-1])
    print(f"the sub-game of {FLOP}: {subgame:.3f} s, {subgame / num_cells * 1e9:.0f} ns a cell")
    whole = seconds(lambda: game_cells(short))
    num_cells = int(game_cells(short).players[0].cell_begin[-1])
    print(f"the whole of [2-1] hold'em: {whole:.3f} s, {whole / num_cells * 1e9:.0f} ns a cell")


if __name__ == "__main__":
    main()
