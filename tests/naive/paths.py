"""Slow obvious twins of sampled boards: all paths and all hands with their chances, and one draw of each."""

from collections.abc import Iterator

from errai.tree.cells import BoardLinks, Cells
from naive import streams

NOTHING = -1


def naive_following(links: BoardLinks, boards: list[int]) -> list[tuple[int, float]]:
    """List the boards that may be dealt after some, each with its chance."""
    if boards:
        found = range(int(links.child_begin[boards[-1]]), int(links.child_end[boards[-1]]))
    else:
        found = range(int(links.round_board[0]), int(links.round_board[1]))
    total = sum(float(links.deal_factor[board]) for board in found)
    return [(board, float(links.deal_factor[board]) / total) for board in found]


def naive_paths(
    links: BoardLinks, num_rounds: int, boards: tuple[int, ...] = ()
) -> Iterator[tuple[list[int], float]]:
    """Yield every path of boards through the first rounds, with its chance."""
    if len(boards) == num_rounds:
        yield list(boards), 1.0
        return
    for board, chance in naive_following(links, list(boards)):
        for path, rest in naive_paths(links, num_rounds, (*boards, board)):
            yield path, chance * rest


def naive_become(cells: Cells, player: int, boards: list[int], held: list[int]) -> list[tuple[int, int]]:
    """List the cells that a hand may have at the next board, each with its number of hands."""
    own, board = cells.players[player], boards[len(held)]
    first, last = own.cell_begin[board : board + 2].tolist()
    return [
        (c - first, int(own.multiplicity[c]))
        for c in range(first, last)
        if not held or int(own.parent_cell[c]) == held[-1]
    ]


def naive_hands(
    cells: Cells, player: int, boards: list[int], held: tuple[int, ...] = (), chances: tuple[float, ...] = ()
) -> Iterator[tuple[list[int], list[float], float]]:
    """Yield every hand along a path: its cells, how likely it has each of them, and its own chance."""
    if len(held) == len(boards):
        yield list(held), list(chances), 1.0
        return
    left = naive_become(cells, player, boards, list(held))
    if not left:
        yield from naive_hands(cells, player, boards, (*held, NOTHING), (*chances, 1.0))
        return
    total = sum(hands for _, hands in left)
    before = chances[-1] if chances else 1.0
    for cell, hands in left:
        for path, of, rest in naive_hands(
            cells, player, boards, (*held, cell), (*chances, before * hands / total)
        ):
            yield path, of, hands / total * rest


def naive_sample(
    cells: Cells, seed: int, iteration: int, player: int, holder: int, own_boards: bool = False
) -> tuple[list[int], list[int]]:
    """Draw the boards and the hand of `holder` on which a player learns in an iteration."""
    num_rounds = cells.num_rounds
    key = streams.stream_key(seed, iteration, 3 if own_boards and player == 1 else 0)
    boards: list[int] = []
    for r in range(num_rounds):
        x = streams.draw_unit(key, r)
        following = naive_following(cells.links, boards)
        up_to = [sum(chance for _, chance in following[: n + 1]) for n in range(len(following))]
        boards.append(next(board for (board, _), end in zip(following, up_to, strict=True) if x < end))
    key = streams.stream_key(seed, iteration, 1 + player)
    held: list[int] = []
    for r in range(num_rounds):
        left = naive_become(cells, holder, boards, held)
        total = sum(hands for _, hands in left)
        x = streams.draw_below(key, r, total)
        chosen = NOTHING
        for cell, hands in left:
            if 0 <= x < hands:
                chosen = cell
            x -= hands
        held.append(chosen)
    return boards, held
