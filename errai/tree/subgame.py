"""Sub-games as parts of a game: which of its boards they have.

A game whose hands do not fit into memory at once is walked sub-game by sub-game: the cells of one board
and of all boards that follow it are made (`cells_below`), used and dropped.
"""

from dataclasses import dataclass

from errai.games.deals import Deals


@dataclass(frozen=True)
class BoardRanges:
    """Some boards of a game: neighbours in every round.

    Attributes:
        first_round: the game's round of the first range.
        boards: [round] the first canonical board, and one past the last.
    """

    first_round: int
    boards: tuple[tuple[int, int], ...]


def boards_below(deals: Deals, first_round: int, board_index: int) -> BoardRanges:
    """Return a board of a round and all boards that follow it."""
    first, last = board_index, board_index + 1
    ranges = [(first, last)]
    for r in range(first_round + 1, deals.rules.num_rounds):
        deal = deals.board_round(r)
        if deal != deals.board_round(r - 1):
            begin = deals.boards.child_begin(deal)
            first, last = int(begin[first]), int(begin[last])
        ranges.append((first, last))
    return BoardRanges(first_round, tuple(ranges))


def first_boards(deals: Deals, num_rounds: int) -> BoardRanges:
    """Return all boards of the first rounds."""
    return BoardRanges(0, tuple((0, deals.num_boards(r)) for r in range(num_rounds)))
