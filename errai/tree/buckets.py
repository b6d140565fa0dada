"""Tables whose rows are buckets: any mapping of cells to buckets, chosen by round and by player.

A round without a mapping keeps its cells as rows, so one player may be abstracted while the other is not,
and early rounds may be lossless while late ones are not. A bucket is shared by all boards of its round
(imperfect recall) or by those that the mapping says.

`game_buckets` asks an abstraction of cards for the bucket of every cell of a game. A round in which each cell
has a bucket of its own stays as it is: its boards share nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from errai.array_file import checksum
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.tree.cells import Cells

FULL = "full"
"""The name of no abstraction at all."""


class CardAbstraction(Protocol):
    """What says which hands look alike; rounds are counted from 0."""

    @property
    def game(self) -> PokerRules:
        """The game that it was made for."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def num_players_described(self) -> int:
        """1 where both players see alike, 2 where they do not."""

    def num_buckets(self, round_index: int, player: int = 0, /) -> int:
        """Return the buckets of a round."""

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0, /
    ) -> npt.NDArray[np.integer]:
        """Return the bucket of each row of hole cards and board, the board in the order of its deals."""


AbstractionPair = tuple[CardAbstraction | None, CardAbstraction | None]
"""[position] what each player sees; None for everything."""


@dataclass(frozen=True, eq=False)
class Buckets:
    """An abstraction of a game's cells.

    Attributes:
        maps: [player][round] int[cells of the round] the bucket of each cell, in the order of `Cells`.
        name: what reports call it.
    """

    maps: tuple[Mapping[int, npt.NDArray[np.integer]], Mapping[int, npt.NDArray[np.integer]]]
    name: str = "buckets"

    @staticmethod
    def for_both(maps: Mapping[int, npt.NDArray[np.integer]]) -> "Buckets":
        """Abstract both players alike."""
        return Buckets((maps, maps))

    def num_buckets(self, player: int, round_index: int) -> int:
        """Return the number of buckets of a bucketed round."""
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
                    raise UsageError(
                        f"round {r} cannot be bucketed: this game has rounds 0 to {cells.num_rounds - 1}"
                    )
                if buckets.shape != (cells.num_cells(player, r),):
                    raise UsageError(
                        f"{buckets.shape} buckets do not fit round {r} of player {player}, "
                        f"which has {cells.num_cells(player, r):,} cells"
                    )
                if buckets.min() < 0:
                    raise UsageError(f"bucket {buckets.min()} is impossible: buckets are numbered from 0")


def game_buckets(cells: Cells, rules: PokerRules, abstractions: AbstractionPair) -> Buckets:
    """Return the bucket of every cell of a game.

    Args:
        cells: all cells of the game.
        rules: the game.
        abstractions: [position] None for a position that sees everything.
    """
    maps: list[dict[int, npt.NDArray[np.int32]]] = []
    for player, abstraction in enumerate(abstractions):
        if abstraction is None:
            maps.append({})
            continue
        if not _deals_alike(abstraction.game, rules):
            raise UsageError(
                f"the abstraction '{abstraction.name}' is one of '{abstraction.game.name}', "
                f"whose cards are not those of '{rules.name}'"
            )
        is_twin = abstraction is abstractions[0] and abstraction.num_players_described == 1
        if player == 1 and is_twin and cells.players[0] is cells.players[1]:
            maps.append(maps[0])
            continue
        rounds = (_round_buckets(cells, abstraction, r, player) for r in range(cells.num_rounds))
        maps.append({r: buckets for r, buckets in enumerate(rounds) if buckets is not None})
    first, second = (FULL if one is None else one.name for one in abstractions)
    return Buckets((maps[0], maps[1]), first if first == second else f"{first}/{second}")


def _deals_alike(first: PokerRules, second: PokerRules) -> bool:
    """Return whether two games deal the same cards in the same rounds and compare them alike."""
    return (first.deck, first.num_hole_cards, first.num_board_cards, first.showdown) == (
        second.deck,
        second.num_hole_cards,
        second.num_board_cards,
        second.showdown,
    )


def _round_buckets(
    cells: Cells, abstraction: CardAbstraction, round_index: int, player: int
) -> npt.NDArray[np.int32] | None:
    """Return the bucket of each cell of a round; None where each has one of its own."""
    buckets = abstraction.buckets(cells.cards(player, round_index), round_index, player)
    num_buckets = abstraction.num_buckets(round_index, player)
    if buckets.min() < 0 or buckets.max() >= num_buckets:
        raise UsageError(
            f"the abstraction '{abstraction.name}' has buckets {buckets.min()} to {buckets.max()} in round "
            f"{round_index}: 0 to {num_buckets - 1} are allowed"
        )
    is_lossless = num_buckets >= len(buckets) and len(np.unique(buckets)) == len(buckets)
    return None if is_lossless else buckets.astype(np.int32)
