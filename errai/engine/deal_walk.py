"""The scalar walk: the betting of one deal at a time, for chance, external and outcome sampling.

`DealWalk` owns what one caller needs (stack and journal) and calls the kernel for batches of deals
(`_deal_walk.py` says how it walks). With one deal for each player in an iteration, tables change as they are
walked. With more, gains go to a *journal*, a list of slots and gains in the order of deals, which is applied
when the last deal is walked; so several threads may walk parts of the deals, and the tables do not depend
on how many there are.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine import _deal_walk as kernels
from errai.engine._deals import ROW_WIDTH
from errai.engine.deals import DealBatch
from errai.tables.layout import Floats
from errai.tree.betting_tree import CHALLENGE, CHANCE, DECISION, BettingTree
from errai.tree.walk import WalkTree

CHANCE_SAMPLING, EXTERNAL, OUTCOME = kernels.CHANCE_SAMPLING, kernels.EXTERNAL, kernels.OUTCOME

FIRST_JOURNAL = 1 << 12

_LEAF_BEGIN = 7
"""The first of four columns of `WalkPlan.entries`: leaves of each player with a showdown, and without."""


class Settings(NamedTuple):
    """What the kernel knows of an algorithm.

    Attributes:
        sampling: `CHANCE_SAMPLING`, `EXTERNAL` or `OUTCOME`.
        exploration: in outcome sampling, how often the walked player tries any action alike.
        regret_floor: no regret is let below it; minus infinity for none.
        prune_below: actions of lower regret are left out now and then; minus infinity for never.
        prune_probability: how often.
    """

    sampling: int
    exploration: float
    regret_floor: float
    prune_below: float
    prune_probability: float


class Extras(NamedTuple):
    """What the plainest walks do without.

    Attributes:
        gathers: whether gains go to a journal, or to the tables at once.
        applies: whether the journal is applied, and begun anew, after a player's last deal.
        prunes: whether actions of low regret are left out now and then.
    """

    gathers: bool
    applies: bool
    prunes: bool


class DealArrays(NamedTuple):
    """What the kernel knows of the betting.

    Attributes:
        nodes: int32[N * 8] for each node: kind, who acts, first child, number of actions, first slot, where
            the rows of who acts stand among those of a deal; at a leaf, the outcome that it looks at for the
            first child, and where its payoffs begin for the slot.
        payoffs: float64[2 * L * 3] what each player gets at a leaf if the first player wins, at a tie, and if
            the second wins; the same three times after a fold. At a challenge: if the bid holds, unused, and
            if it does not.
        room: most actions of a decision, and at least 3.
    """

    nodes: npt.NDArray[np.int32]
    payoffs: npt.NDArray[np.float64]
    room: int


class DealTree(NamedTuple):
    """The betting as the scalar walk sees it.

    Attributes:
        arrays: for the kernel.
        max_depth: most decisions on the way to a leaf.
    """

    arrays: DealArrays
    max_depth: int


def deal_tree(betting: BettingTree, walk: WalkTree) -> DealTree:
    """Derive the scalar walk's view of a betting tree; payoffs are those of the walk's leaves."""
    kind = betting.kind
    nodes = np.zeros((betting.num_nodes, kernels.NODE_WIDTH), dtype=np.int32)
    nodes[:, kernels.KIND] = kind
    nodes[:, kernels.PLAYER] = betting.player
    nodes[:, kernels.CHILD] = betting.first_child
    nodes[:, kernels.ACTIONS] = betting.num_children
    nodes[:, kernels.SLOT] = walk.slot
    rounds_before = betting.player.astype(np.int32) * betting.num_rounds
    nodes[:, kernels.ROUND] = ROW_WIDTH * (rounds_before + betting.round)
    leaves = np.flatnonzero((kind != DECISION) & (kind != CHANCE))
    leaf_of = np.full(betting.num_nodes, -1, dtype=np.int32)
    leaf_of[leaves] = np.arange(len(leaves))
    nodes[leaves, kernels.SLOT] = 3 * leaf_of[leaves]
    nodes[leaves, kernels.CHILD] = 0
    payoffs = np.zeros((2, len(leaves), 3))
    plan = walk.plan
    for q in (0, 1):
        first, last = plan.entries[[0, -1], _LEAF_BEGIN + 2 * q]
        with_showdown, chips = plan.leaves[first:last], plan.leaf_chips[first:last]
        shown = leaf_of[with_showdown[:, 1]]
        if (kind == CHALLENGE).any():
            nodes[with_showdown[:, 1], kernels.CHILD] = with_showdown[:, 2]
            payoffs[q, shown, 0], payoffs[q, shown, 2] = chips[:, 0], chips[:, 1]
            continue
        win, (tie, lose) = chips[:, 0], (chips[:, 2:].T if chips.shape[1] > 2 else (0.0, -chips[:, 0]))
        own, others = (0, 2) if q == 0 else (2, 0)
        payoffs[q, shown, own], payoffs[q, shown, 1], payoffs[q, shown, others] = win, tie, lose
        beside = with_showdown[:, 2] >= 0
        payoffs[q, leaf_of[with_showdown[beside, 2]]] = chips[beside, 1:2]
        first, last = plan.entries[[0, -1], _LEAF_BEGIN + 2 * q + 1]
        payoffs[q, leaf_of[plan.leaves[first:last, 2]]] = plan.leaf_chips[first:last, 1:2]
    depth = np.empty(betting.num_nodes, dtype=np.int32)
    max_depth = kernels.count_depth(betting.parent, kind, depth)
    arrays = DealArrays(nodes.ravel(), payoffs.ravel(), max(3, int(betting.num_children.max())))
    return DealTree(arrays, int(max_depth))


class DealWalk:
    """Walks of deals, for one caller at a time.

    Attributes:
        tree: the betting.
        settings: what each player does.
        visits: decisions that were visited so far.
    """

    def __init__(self, tree: DealTree, settings: Settings) -> None:
        self.tree, self.settings = tree, settings
        self.visits = 0
        self._frames = np.zeros((tree.max_depth + 1) * kernels.FRAME_WIDTH, dtype=np.int64)
        self._floats = np.zeros((tree.max_depth + 1) * (kernels.NUM_FLOATS + 3 * tree.arrays.room))
        self._slots = np.zeros(FIRST_JOURNAL, dtype=np.int64)
        self._gains = np.zeros(FIRST_JOURNAL)
        self._length = 0

    @property
    def nbytes(self) -> int:
        """Bytes of stack and journal so far."""
        return sum(array.nbytes for array in (self._frames, self._floats, self._slots, self._gains))

    def learn(
        self,
        batch: DealBatch,
        num_deals: int,
        weights: npt.NDArray[np.float64],
        regrets: tuple[Floats, Floats],
        averages: tuple[Floats, Floats],
    ) -> None:
        """Do iterations in which the players learn in turn.

        Args:
            batch: their deals.
            num_deals: deals of a player in an iteration, whose gains are added up before tables change.
            weights: float64[iterations, 2] of an iteration's regrets, and of its strategy in the average.
            regrets: [player] float[slots] changed.
            averages: [player] float[slots] changed.
        """
        position = np.zeros(2, dtype=np.int64)
        last = 2 * num_deals * len(weights)
        self._walk(position, last, num_deals, num_deals > 1, True, weights, batch, regrets, averages)

    def gather(
        self,
        batch: DealBatch,
        num_deals: int,
        first: int,
        last: int,
        weights: npt.NDArray[np.float64],
        regrets: tuple[Floats, Floats],
        averages: tuple[Floats, Floats],
    ) -> None:
        """Walk some deals of one player and keep their gains for `add`; tables do not change.

        Args:
            batch: deals.
            num_deals: deals of a player in an iteration.
            first: the first deal of the batch to walk.
            last: one past the last.
            weights: as for `learn`.
            regrets: as for `learn`.
            averages: as for `learn`.
        """
        position = np.array([first, 0], dtype=np.int64)
        self._walk(position, last, num_deals, True, False, weights, batch, regrets, averages)
        self._length = int(position[1])

    def _walk(
        self,
        position: npt.NDArray[np.int64],
        last: int,
        num_deals: int,
        gathers: bool,
        applies: bool,
        weights: npt.NDArray[np.float64],
        batch: DealBatch,
        regrets: tuple[Floats, Floats],
        averages: tuple[Floats, Floats],
    ) -> None:
        """Call the kernel until all deals are walked, with a longer journal where it must be."""
        sampling = self.settings.sampling
        prunes = self.settings.prune_below > -np.inf
        extras = Extras(gathers, gathers and applies, prunes) if gathers or prunes else None
        while True:
            self.visits += kernels.walk_deals(
                self.settings,
                position,
                last,
                num_deals,
                True if sampling == CHANCE_SAMPLING else None,
                True if sampling == OUTCOME else None,
                extras,
                weights,
                self.tree.arrays,
                batch,
                regrets,
                averages,
                self._slots,
                self._gains,
                self._frames,
                self._floats,
            )
            if position[0] == last:
                return
            self._grow()

    def add(self, player: int, regrets: tuple[Floats, Floats], averages: tuple[Floats, Floats]) -> None:
        """Add what `gather` has gathered for a player."""
        length = self._length
        kernels.add_journal(self._slots, self._gains, length, regrets[player], averages[1 - player])

    def raise_to_floor(self, player: int, regrets: tuple[Floats, Floats]) -> None:
        """Raise the regrets that were gathered for to the floor; it comes after the last `add`."""
        kernels.raise_to_floor(self._slots, self._length, self.settings.regret_floor, regrets[player])

    def _grow(self) -> None:
        """Make the journal twice as long."""
        self._slots = np.concatenate([self._slots, np.zeros_like(self._slots)])
        self._gains = np.concatenate([self._gains, np.zeros_like(self._gains)])
