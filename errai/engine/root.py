"""Where a walk of a whole game starts: how likely each hand is, and what makes values chips a hand.

Hands of both players are weighted and share no card. The opponent's reach is scaled so that the value of a
hand is what it wins on average against the hands that it can meet.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.tables.layout import Floats
from errai.tree.cells import NO_CARD, Cells

Pair = tuple[Floats, Floats]
"""[player] a flat array."""


@dataclass(frozen=True, eq=False)
class Root:
    """The start of a walk.

    Attributes:
        initial: [player] float[root cells] weight of each hand of a cell.
        shares: [player] float64[root cells] how much of a player's range each cell is.
        scales: float64[2] for each walked player, the factor of the opponent's weights.
        num_pairs: the weight of all pairs of hands that share no card.
    """

    initial: Pair
    shares: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
    scales: npt.NDArray[np.float64]
    num_pairs: float

    @staticmethod
    def of(cells: Cells, dtype: npt.DTypeLike, weights: Pair | None = None) -> "Root":
        """Return the start of a walk over some cells.

        Args:
            cells: whose root cells they are.
            dtype: of the walk's vectors.
            weights: [player] float[root cells] weight of each hand of a cell; by default 1.
        """
        hands = [root.multiplicity for root in cells.root]
        given = [np.ones(len(held)) for held in hands] if weights is None else list(weights)
        initial = (given[0].astype(dtype), given[1].astype(dtype))
        ranges = [held * weight for held, weight in zip(hands, initial, strict=True)]
        num_pairs = weight_of_pairs(cells, initial)
        return Root(
            initial,
            (ranges[0] / ranges[0].sum(), ranges[1] / ranges[1].sum()),
            np.array([held.sum() / num_pairs for held in ranges]),
            num_pairs,
        )

    def mean_value(self, player: int, values: Floats) -> float:
        """Average root values over the player's hands, each met as often as it can be."""
        return float(self.shares[player] @ values.astype(np.float64))


def weight_of_pairs(cells: Cells, weights: Pair) -> float:
    """Return the weight of all pairs of hands that share no card, by inclusion and exclusion.

    Args:
        cells: whose root cells they are.
        weights: [player] float[root cells] weight of each hand of a cell.
    """
    (first, first_cards), (second, second_cards) = (
        (np.repeat(weight.astype(np.float64), root.multiplicity.astype(np.int64)), root.hand_card)
        for weight, root in zip(weights, cells.root, strict=True)
    )
    sums = np.zeros(NO_CARD + 1)
    for column in (0, 1):
        np.add.at(sums, second_cards[:, column], second)
    sums[NO_CARD] = 0
    weight_of = {tuple(hand): x for hand, x in zip(second_cards.tolist(), second.tolist(), strict=True)}
    same = [0.0 if hand[1] == NO_CARD else weight_of.get(tuple(hand), 0.0) for hand in first_cards.tolist()]
    met = second.sum() - sums[first_cards[:, 0]] - sums[first_cards[:, 1]] + np.array(same)
    return float((first * met).sum())
