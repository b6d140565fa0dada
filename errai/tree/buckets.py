"""Tables whose rows are buckets: any mapping of cells to buckets, chosen by round and by player.

A round without a mapping keeps its cells as rows, so one player may be abstracted while the other is not,
and early rounds may be lossless while late ones are not. A bucket is shared by all boards of its round
(imperfect recall) or by those that the mapping says.

`game_buckets` asks an abstraction of cards for the bucket of every cell of a game, of a sub-game or of a path
of boards. A round in which each canonical hand has a bucket of its own stays as it is: its boards share
nothing. That is a question about the whole game (`bucketed_rounds`), which a sub-game's cells cannot answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import AbstractionPair, CardAbstraction, verify_abstraction
from errai.array_file import checksum
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.tree.cells import Cells

FULL = "full"
"""The name of no abstraction at all."""

ROWS_AT_ONCE = 200_000
"""Canonical hands that are asked for their buckets together."""


@dataclass(frozen=True, eq=False)
class Buckets:
    """An abstraction of a game's cells.

    Attributes:
        maps: [player][round] int[cells of the round] the bucket of each cell, in the order of `Cells`, whose
            rounds these are.
        name: what reports call it.
        sizes: [player][round] the buckets of each of these rounds, empty ones included; without it, those up
            to the last that a cell has.
    """

    maps: tuple[Mapping[int, npt.NDArray[np.integer]], Mapping[int, npt.NDArray[np.integer]]]
    name: str = "buckets"
    sizes: tuple[Mapping[int, int], Mapping[int, int]] | None = None

    @staticmethod
    def for_both(maps: Mapping[int, npt.NDArray[np.integer]]) -> "Buckets":
        """Abstract both players alike."""
        return Buckets((maps, maps))

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the number of buckets of a bucketed round."""
        if self.sizes is not None:
            return self.sizes[player][round_index]
        return int(self.maps[player][round_index].max()) + 1

    @cached_property
    def fingerprint(self) -> str:
        """The checksum of all maps: two abstractions with the same one are the same."""
        return checksum(
            b"".join(
                f"{player} {r} {len(buckets)} ".encode() + buckets.astype("<i4").tobytes()
                for player, maps in enumerate(self.maps)
                for r, buckets in sorted(maps.items())
            )
        )

    def verify(self, cells: Cells) -> None:
        """Refuse maps that do not fit the game's cells."""
        for player, maps in enumerate(self.maps):
            for r, buckets in maps.items():
                if not 0 <= r < cells.num_rounds:
                    raise UsageError(f"a bucketed round must be 0 to {cells.num_rounds - 1}, not {r}")
                if buckets.shape != (cells.num_cells(player, r),):
                    raise UsageError(
                        f"expected {cells.num_cells(player, r):,} buckets, one for each cell, in round {r} "
                        f"of player {player}, not an array of shape {buckets.shape}"
                    )
                if buckets.min() < 0 or buckets.max() >= self.num_buckets(r, player):
                    wrong = buckets.min() if buckets.min() < 0 else buckets.max()
                    raise UsageError(
                        f"buckets of round {r} must be 0 to {self.num_buckets(r, player) - 1}, not {wrong}"
                    )


BucketedRounds = tuple[frozenset[int], frozenset[int]]
"""[position] the rounds of the game whose tables have buckets for rows."""


def bucketed_rounds(rules: PokerRules, abstractions: AbstractionPair) -> BucketedRounds:
    """Return which rounds of a game an abstraction changes.

    Args:
        rules: the game.
        abstractions: [position] None for a position that sees everything.
    """
    verify_same_cards(rules, abstractions)
    deals = Deals(rules)
    first, second = (
        frozenset(
            r
            for r in range(rules.num_rounds)
            if abstraction is not None and is_bucketed(abstraction, deals, r, player)
        )
        for player, abstraction in enumerate(abstractions)
    )
    return first, second


def is_bucketed(abstraction: CardAbstraction, deals: Deals, round_index: int, player: int = 0) -> bool:
    """Return whether two canonical hands of a round share a bucket.

    Fewer buckets than hands say so at once; otherwise every hand is asked for.

    Args:
        abstraction: what says which hands look alike.
        deals: the game's cards.
        round_index: the game's round.
        player: position.
    """
    num_buckets, num_rows = abstraction.num_buckets(round_index, player), deals.num_rows(round_index)
    if num_buckets < num_rows:
        return True
    taken = np.zeros(num_buckets, dtype=bool)
    for begin in range(0, num_rows, ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + ROWS_AT_ONCE, num_rows))
        cards = deals.rows.unindex(rows, deals.row_round(round_index))
        buckets = _asked(abstraction, cards, round_index, player)
        if taken[buckets].any() or len(np.unique(buckets)) < len(buckets):
            return True
        taken[buckets] = True
    return False


def game_buckets(
    cells: Cells, rules: PokerRules, abstractions: AbstractionPair, bucketed: BucketedRounds | None = None
) -> Buckets:
    """Return the bucket of every cell.

    Args:
        cells: all cells of the game, of a sub-game, or of a path.
        rules: the game.
        abstractions: [position] None for a position that sees everything.
        bucketed: from `bucketed_rounds`, for whoever asks often.
    """
    if bucketed is None:
        bucketed = bucketed_rounds(rules, abstractions)
    else:
        verify_same_cards(rules, abstractions)
    maps: list[dict[int, npt.NDArray[np.int32]]] = []
    sizes: list[dict[int, int]] = []
    for player, abstraction in enumerate(abstractions):
        if abstraction is None:
            maps.append({})
            sizes.append({})
            continue
        is_twin = abstraction is abstractions[0] and abstraction.num_players_described == 1
        if player == 1 and is_twin and cells.players[0] is cells.players[1]:
            maps.append(maps[0])
            sizes.append(sizes[0])
            continue
        rounds = {
            r: cells.first_round + r
            for r in range(cells.num_rounds)
            if cells.first_round + r in bucketed[player]
        }
        maps.append(
            {
                r: _asked(abstraction, cells.cards(player, r), of_game, player).astype(np.int32)
                for r, of_game in rounds.items()
            }
        )
        sizes.append({r: abstraction.num_buckets(of_game, player) for r, of_game in rounds.items()})
    first, second = (FULL if one is None else one.name for one in abstractions)
    name = first if first == second else f"{first}/{second}"
    return Buckets((maps[0], maps[1]), name, (sizes[0], sizes[1]))


def verify_same_cards(rules: PokerRules, abstractions: AbstractionPair) -> None:
    """Refuse abstractions of other cards."""
    for abstraction in abstractions:
        if abstraction is None:
            continue
        verify_abstraction(abstraction)
        if not rules.deals_like(abstraction.game):
            raise UsageError(
                f"the abstraction '{abstraction.name}' was made for '{abstraction.game.name}', "
                f"whose cards are not those of '{rules.name}'"
            )


def _asked(
    abstraction: CardAbstraction, cards: npt.NDArray[np.uint8], round_index: int, player: int
) -> npt.NDArray[np.integer]:
    """Return the bucket of each deal, refusing numbers that the abstraction says it has not."""
    num_buckets = abstraction.num_buckets(round_index, player)
    # Part by part: what an abstraction needs to look up millions of deals at once is larger than they are.
    buckets: npt.NDArray[np.integer] = np.empty(len(cards), dtype=np.int64)
    for begin in range(0, len(cards), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        buckets[part] = abstraction.buckets(cards[part], round_index, player)
    if buckets.min() < 0 or buckets.max() >= num_buckets:
        raise UsageError(
            f"the abstraction '{abstraction.name}' gives buckets {buckets.min()} to {buckets.max()} in round "
            f"{round_index}: they must be 0 to {num_buckets - 1}"
        )
    return buckets
