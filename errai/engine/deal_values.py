"""What deals are worth: the whole betting of each is walked, and tables say what both positions play."""

import numpy as np
import numpy.typing as npt

from errai.engine import _deal_values as kernels
from errai.engine._deal_walk import NODE_WIDTH
from errai.engine.deal_walk import DealArrays
from errai.engine.deals import DealBatch
from errai.tables.layout import Floats


def value_deals(
    player: int, arrays: DealArrays, batch: DealBatch, tables: tuple[Floats, Floats]
) -> npt.NDArray[np.float64]:
    """Return what a player wins in each deal, on average over both players' choices: float64[deals].

    Args:
        player: whose winnings.
        arrays: the betting.
        batch: the deals.
        tables: [position] float[slots] played in proportion to the positive part.
    """
    num_deals = len(batch.keys)
    values = np.empty(num_deals)
    kernels.value_deals(
        player,
        arrays.nodes,
        arrays.payoffs.reshape(2, -1),
        batch.rows.reshape(num_deals, -1),
        batch.by_outcome(),
        *tables,
        np.empty(len(arrays.nodes) // NODE_WIDTH),
        values,
    )
    return values
