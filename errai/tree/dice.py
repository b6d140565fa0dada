"""The rolls of Bluff as cells, so that the one traversal walks bidding trees too.

There is no board and no card to remove: every roll is a cell that occurs with its probability, and the
rounds that a split bidding tree has (`bluff_tree.py`) deal nothing.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from errai.games.bluff import FACES, STAR, roll_probability, rolls
from errai.tree._cells import TWIN
from errai.tree.cells import NO_CARD, NO_CELL, BoardLinks, Cells, PlayerCells, RootCells


def dice_cells(dice: Sequence[int], num_rounds: int) -> Cells:
    """Return the cells of a round of Bluff: the rolls of each player, alike in every part of the bidding."""
    players = tuple(_roll_cells(number, num_rounds) for number in dice)
    boards = np.arange(num_rounds, dtype=np.int64)
    links = BoardLinks(
        round_board=np.arange(num_rounds + 1, dtype=np.int64),
        child_begin=np.minimum(boards + 1, num_rounds - 1) if num_rounds > 1 else np.zeros(1, dtype=np.int64),
        child_end=np.append(boards[1:] + 1, num_rounds - 1 if num_rounds > 1 else 0),
        deal_factor=np.ones(num_rounds),
    )
    empty = tuple(np.zeros((1, 0), dtype=np.uint8) for _ in range(num_rounds))
    first, second = (np.zeros((len(rolls(number)), 0), dtype=np.uint8) for number in dice)
    roots = [_root_rolls(cells, len(rolls(number))) for cells, number in zip(players, dice, strict=True)]
    return Cells(links, (players[0], players[1]), empty, (first, second), (roots[0], roots[1]))


def roll_weights(dice: Sequence[int]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return how likely each roll of each player is."""
    first, second = (np.array([roll_probability(roll) for roll in rolls(number)]) for number in dice)
    return first, second


def _root_rolls(cells: PlayerCells, number: int) -> RootCells:
    return RootCells(np.ones(number), cells.hand_begin[: number + 1], cells.hand_card[:number])


def _roll_cells(num_dice: int, num_rounds: int) -> PlayerCells:
    thrown = rolls(num_dice)
    number = len(thrown)
    matches = np.array(
        [[sum(die in (face, STAR) for die in roll) for face in range(len(FACES))] for roll in thrown],
        dtype=np.uint8,
    )
    total = number * num_rounds
    counts = np.zeros((total, 3), dtype=np.uint8)
    counts[:, 2] = 1
    order = np.zeros((total, 4), dtype=np.int32)
    order[:, TWIN] = NO_CELL
    return PlayerCells(
        cell_begin=np.arange(num_rounds + 1, dtype=np.int64) * number,
        parent_cell=np.tile(np.arange(number, dtype=np.int32), num_rounds),
        deal_weight=np.ones(total),
        hand_begin=np.arange(total + 1, dtype=np.int64),
        hand_card=np.full((total, 2), NO_CARD, dtype=np.uint8),
        card=np.full((total, 2), NO_CARD, dtype=np.uint8),
        counts=counts,
        order=order,
        matches=np.tile(matches, (num_rounds, 1)),
    )
