"""Best responses inside an abstract game of perfect recall whose hands do not fit into memory.

The chance of such a game is two matrices over rows of the last round (`errai.response.bucket_pairs`). Steps,
for each position:

1. Walk the betting down with the opponent's reach, a number for each of its rows; where a round begins, a row
   hands its reach on to all rows that come from it.
2. At a leaf, multiply with the matrix of its round: of the last round at showdowns, of any round, which is a
   sum of the last one's, at folds. All leaves of a round go into one product.
3. Walk up: the opponent's actions add up, of its own actions every row takes the best, and where a round
   began, the values of all rows that come from one row add up.

From a sample of boards, what is best on the sample wins too much on average. So boards are put into parts.
The *maximum* is chosen and paid on all of them. The *cross-validated* value is the mean over parts of what is
won there by what was chosen on the others, which on average is not above the exact figure. Intervals are of
95%, from the spread over parts, by Student's t; that of the maximum is from the spread of what its own
actions win on the parts (the derivative of a maximum is that of what is chosen), so it knows
nothing of the bias. `errai.response.flop_sample` does the same with flops.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.response.bucket_pairs import BucketPairs, Matrix
from errai.response.flop_sample import interval_around, mean_error
from errai.response.results import CrossValidated, Exploitability, SampledAbstractExploitability
from errai.strategy.bucketed import BucketStrategy
from errai.tree.betting_tree import CHANCE, DECISION, FOLD, SHOWDOWN

MOST_BYTES = 1 << 28
"""Vectors of one batch of betting sequences take about so many bytes at most."""

SHAPE_BYTES = 3 * 2
"""A node's kind, player and number of children, which NumPy joins as 16-bit numbers."""

Floats = npt.NDArray[np.floating]
Nodes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Values:
    """What the rows of a player win at some betting sequences, E of them.

    Attributes:
        best: float[E, rows] chosen and paid on all parts.
        parts: float[P, E, rows] the same choices paid on each part; None where there is one part.
        chosen: float[P, E, rows] chosen and paid on all parts but one.
        paid: float[P, E, rows] these choices paid on the part that was left out.
    """

    best: Floats
    parts: Floats | None = None
    chosen: Floats | None = None
    paid: Floats | None = None

    @staticmethod
    def of_leaves(by_part: Floats) -> "_Values":
        """Return the values of leaves: float[P, E, rows] paid on each part."""
        if len(by_part) == 1:
            return _Values(by_part[0])
        total = by_part.sum(axis=0)
        others = (total - by_part) / (len(by_part) - 1)
        return _Values(total / len(by_part), by_part, others, by_part)

    def _arrays(self) -> list[Floats]:
        found = (self.best, self.parts, self.chosen, self.paid)
        return [array for array in found if array is not None]

    def mapped(self, change: Callable[[Floats], Floats]) -> "_Values":
        """Return what a function makes of each array, whose last two axes are [E, rows]."""
        return _Values(*(change(array) for array in self._arrays()))

    def at(self, entries: slice) -> "_Values":
        """Return the values at some of the betting sequences."""
        return self.mapped(lambda array: array[..., entries, :])

    @staticmethod
    def sum_of(children: "list[_Values]") -> "_Values":
        """Add up the values of the opponent's actions."""
        return _Values(*(sum(arrays) for arrays in zip(*(one._arrays() for one in children), strict=True)))

    @staticmethod
    def best_of(children: "list[_Values]") -> "_Values":
        """Let every row take its best action; the first of those that are alike."""
        best = children[0]
        for other in children[1:]:
            better = other.best > best.best
            if best.parts is None or best.chosen is None or best.paid is None:
                best = _Values(np.where(better, other.best, best.best))
                continue
            assert other.parts is not None
            assert other.chosen is not None
            assert other.paid is not None
            elsewhere = other.chosen > best.chosen
            best = _Values(
                np.where(better, other.best, best.best),
                np.where(better, other.parts, best.parts),
                np.where(elsewhere, other.chosen, best.chosen),
                np.where(elsewhere, other.paid, best.paid),
            )
        return best


class BucketResponse:
    """Best responses to strategies of one abstract game.

    Attributes:
        pairs: what is dealt.
    """

    def __init__(self, pairs: BucketPairs) -> None:
        self.pairs = pairs
        num_rounds = len(pairs.parents[0])
        # [round][part] how likely rows meet; of the last round they are the pairs' own.
        self._together: list[tuple[Matrix, ...]] = [pairs.together]
        for r in range(num_rounds - 1, 0, -1):
            first, second = (pairs.parents[q][r] for q in (0, 1))
            sizes = [_num_rows(pairs, q, r - 1) for q in (0, 1)]
            self._together.insert(
                0,
                tuple(
                    _summed(_summed(one, second, sizes[1]).T, first, sizes[0]).T for one in self._together[0]
                ),
            )

    def exploitability(self, strategy: BucketStrategy) -> Exploitability | SampledAbstractExploitability:
        """Measure a strategy.

        Args:
            strategy: of the abstract game.
        """
        if not strategy.tree.payoffs.is_plain:
            raise UsageError(
                f"payoffs are '{strategy.tree.payoffs.describe()}': a best response inside an abstract game "
                "whose hands do not fit into memory needs plain ones"
            )
        found = [_Walk(self, strategy, player).values() for player in (0, 1)]
        big_blind = strategy.game.big_blind
        best = found[0][0], found[1][0]
        if self.pairs.seed is None:
            return Exploitability(best, big_blind)
        parts, paid = (np.stack([found[q][k] for q in (0, 1)]) for k in (1, 2))
        by_part, paid_by_part = parts.mean(axis=0), paid.mean(axis=0)
        first, second = paid.mean(axis=1).tolist()
        number = self.pairs.num_parts
        below = CrossValidated(
            (first, second),
            interval_around(float(paid_by_part.mean()), mean_error(paid_by_part), number),
            big_blind,
        )
        interval = interval_around(sum(best) / 2, mean_error(by_part), number)
        return SampledAbstractExploitability(
            best, interval, below, big_blind, self.pairs.num_boards, self.pairs.seed
        )

    def leaf_values(self, player: int, r: int, reach: Floats, *, is_fold: bool) -> Floats:
        """Return what the rows of a player win at leaves, on each part: float[P, E, rows].

        Args:
            player: whose values.
            r: the round.
            reach: float[E, rows] the opponent's, times the chips at issue; negative where the player folded.
            is_fold: whether somebody has folded there, or hands are shown.
        """
        matrices = self._together[r] if is_fold else self.pairs.ahead
        if player == 0:
            return np.stack([reach @ one.T for one in matrices])
        return np.stack([(reach @ one) * (1 if is_fold else -1) for one in matrices])


def _num_rows(pairs: BucketPairs, player: int, r: int) -> int:
    """Return how many rows a round has; the first is known by its largest parent's number."""
    of_round = pairs.parents[player]
    return len(of_round[r]) if r > 0 else pairs.first_rows[player]


def _summed(values: Floats, parent: Nodes, size: int) -> Floats:
    """Add up the columns that come from one row of the round before: float[..., rows] to float[..., size]."""
    order = np.argsort(parent, kind="stable")
    found, begin = np.unique(parent[order], return_index=True)
    total = np.zeros((*values.shape[:-1], size), dtype=values.dtype)
    total[..., found] = np.add.reduceat(values[..., order], begin, axis=-1)
    return total


class _Walk:
    """The walk of one position's best response."""

    def __init__(self, response: BucketResponse, strategy: BucketStrategy, player: int) -> None:
        self._response, self._strategy, self._player = response, strategy, player
        self._betting, self._stake = strategy.tree.betting, strategy.tree.walk.stake
        self._dtype = response.pairs.dtype

    def values(self) -> tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the maximum, the same actions on each part, and the cross-validated value of each part."""
        opponent = 1 - self._player
        reach = np.ones((1, _num_rows(self._response.pairs, opponent, 0)), dtype=self._dtype)
        found = self._round(0, np.zeros(1, dtype=np.int64), reach)
        best = float(found.best.sum(dtype=np.float64))
        if found.parts is None or found.paid is None:
            return best, np.array([best]), np.array([best])
        return best, *(array.sum(axis=(1, 2), dtype=np.float64) for array in (found.parts, found.paid))

    def _round(self, r: int, entries: Nodes, reach: Floats) -> _Values:
        """Return the values of rows where a round begins.

        Args:
            r: the round.
            entries: int64[E] the betting nodes where it begins.
            reach: float[E, rows] the opponent's reach there.
        """
        kept: list[tuple[Nodes, _Values]] = []
        for places in self._alike(r, entries):
            kept.append((places, self._block(r, entries[places], reach[places])))
        order = np.argsort(np.concatenate([places for places, _ in kept]))
        arrays = zip(*(values._arrays() for _, values in kept), strict=True)
        return _Values(*(np.concatenate(some, axis=-2)[..., order, :] for some in arrays))

    def _alike(self, r: int, entries: Nodes) -> Iterator[Nodes]:
        """Yield places of entries whose betting has one shape, not too many at a time."""
        betting, groups = self._betting, dict[bytes, list[int]]()
        first = betting.entry_nodes[r]
        rows = max(_num_rows(self._response.pairs, q, r) for q in (0, 1))
        for place, entry in enumerate(np.searchsorted(first, entries).tolist()):
            block = slice(*betting.block(r, entry))
            about = np.stack([betting.kind[block], betting.player[block], betting.num_children[block]])
            groups.setdefault(about.tobytes(), []).append(place)
        for shape, places in groups.items():
            vectors = len(shape) // SHAPE_BYTES * (1 + 3 * self._response.pairs.num_parts)
            number = max(1, MOST_BYTES // (vectors * rows * self._dtype.itemsize))
            for begin in range(0, len(places), number):
                yield np.array(places[begin : begin + number])

    def _block(self, r: int, entries: Nodes, reach: Floats) -> _Values:
        """Return the values where a round begins, for entries whose betting has one shape."""
        betting, player = self._betting, self._player
        begin, end = betting.block(r, int(np.searchsorted(betting.entry_nodes[r], entries[0])))
        kind, who = betting.kind[begin:end], betting.player[begin:end]
        children = [[node - begin for node in betting.children(begin + k)] for k in range(end - begin)]
        reaches: list[Floats] = [reach] * (end - begin)
        for k in np.flatnonzero(kind == DECISION).tolist():
            if who[k] == player:
                for child in children[k]:
                    reaches[child] = reaches[k]
            else:
                chances = self._chances(r, entries + k)
                for action, child in enumerate(children[k]):
                    reaches[child] = reaches[k] * chances[action]
        values: list[_Values | None] = [None] * (end - begin)
        for leaf, is_fold in ((FOLD, True), (SHOWDOWN, False)):
            places = np.flatnonzero(kind == leaf).tolist()
            if places:
                worth = [self._stake[entries + k] * self._sign(int(who[k]), is_fold) for k in places]
                weighted = np.concatenate(
                    [
                        reaches[k] * chips[:, np.newaxis].astype(self._dtype)
                        for k, chips in zip(places, worth, strict=True)
                    ]
                )
                found = self._response.leaf_values(player, r, weighted, is_fold=is_fold)
                for k, part in zip(places, np.split(found, len(places), axis=1), strict=True):
                    values[k] = _Values.of_leaves(part)
        self._go_on(r, entries, np.flatnonzero(kind == CHANCE).tolist(), reaches, values)
        for k in range(end - begin - 1, -1, -1):
            if kind[k] == DECISION:
                below = [one for child in children[k] if (one := values[child]) is not None]
                values[k] = _Values.best_of(below) if who[k] == player else _Values.sum_of(below)
                for child in children[k]:
                    values[child] = None  # no longer needed, and large
        found_values = values[0]
        assert found_values is not None
        return found_values

    def _go_on(
        self, r: int, entries: Nodes, places: list[int], reaches: list[Floats], values: list[_Values | None]
    ) -> None:
        """Fill in the values where the round ends and the next one begins."""
        if not places:
            return
        pairs, player = self._response.pairs, self._player
        parent = pairs.parents[1 - player][r + 1]
        following = np.concatenate([self._betting.first_child[entries + k] for k in places]).astype(np.int64)
        reach = np.concatenate([reaches[k] for k in places])[:, parent]
        own, size = pairs.parents[player][r + 1], _num_rows(pairs, player, r)
        found = self._round(r + 1, following, reach).mapped(lambda array: _summed(array, own, size))
        for place, k in enumerate(places):
            here = slice(place * len(entries), (place + 1) * len(entries))
            values[k] = found.at(here)

    def _sign(self, folded: int, is_fold: bool) -> int:
        return -1 if is_fold and folded == self._player else 1

    def _chances(self, r: int, nodes: Nodes) -> Floats:
        """Return what the opponent plays at some decisions: float[actions, E, rows]."""
        strategy, opponent = self._strategy, 1 - self._player
        found = np.stack([strategy.weights(int(node)) for node in nodes], axis=1)
        assert strategy.tree.betting.player[nodes[0]] == opponent
        positive = np.maximum(found, 0).astype(self._dtype)
        total = positive.sum(axis=0)
        alike = self._dtype.type(1 / len(positive))
        return np.where(total > 0, positive / np.where(total > 0, total, 1), alike)
