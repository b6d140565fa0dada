"""Leduc hold'em's card abstractions by name: `[JQK]`, `[JQ.K]`, `[J.QK]`, `[J.Q.K]` and `full`.

Waugh, Schnizlein, Bowling and Szafron, "Abstraction Pathologies in Extensive Games" (2009); Ganzfried,
Sandholm and Waugh, "Strategy Purification and Thresholding" (2012). Ranks of one group look alike before the
flop. On the flop the player knows the group of its card and whether it has paired the board, which depends
on the card that it really holds; of the board it knows nothing else. `full` knows everything.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.hands import HandClasses
from errai.abstraction.protocol import bucket_of_text, verify_cards, verify_player
from errai.cards.deck import RANKS
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

FULL = "full"
LEDUC = "leduc"


@dataclass(frozen=True)
class RankGroups:
    """An abstraction of Leduc hold'em by groups of ranks.

    Attributes:
        game: Leduc hold'em.
        groups: the ranks of each group; None where every card is known.
    """

    game: PokerRules
    groups: tuple[str, ...] | None

    num_players_described = 1

    @property
    def name(self) -> str:
        """As given to `leduc_abstraction`."""
        return FULL if self.groups is None else f"[{'.'.join(self.groups)}]"

    @cached_property
    def _deals(self) -> Deals:
        return Deals(self.game)

    @cached_property
    def _group_of_rank(self) -> npt.NDArray[np.int32]:
        assert self.groups is not None
        found = np.zeros(len(RANKS), dtype=np.int32)
        for group, ranks in enumerate(self.groups):
            found[[RANKS.index(rank) for rank in ranks]] = group
        return found

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the buckets of a round: groups, then groups paired or not."""
        self._verify(round_index, player)
        if self.groups is None:
            return self._deals.num_rows(round_index)
        return len(self.groups) * (1 + round_index)

    def bucket(self, hand: str, board: str = "", player: int = 0) -> int:
        """Return the bucket of a hand, given as text.

        >>> leduc_abstraction("JQ.K").bucket("Q", "Q")
        1
        """
        return bucket_of_text(self, hand, board, player)

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int32]:
        """Return the bucket of each row of hole card and board.

        Args:
            cards: uint8[N, 1 or 2].
            round_index: from 0.
            player: both see alike.
        """
        self._verify(round_index, player)
        verify_cards(cards, self._classes, round_index)
        if self.groups is None:
            return self._deals.rows.index(cards, self._deals.row_round(round_index)).astype(np.int32)
        ranks = cards >> 2
        group = np.asarray(self._group_of_rank[ranks[:, 0]])
        if round_index == 0:
            return group
        return np.asarray(2 * group + (ranks[:, 0] == ranks[:, 1]), dtype=np.int32)

    @cached_property
    def _classes(self) -> HandClasses:
        return HandClasses(self.game)

    def _verify(self, round_index: int, player: int) -> None:
        verify_player(player)
        self._classes.num_board_cards(round_index)  # refuses rounds that do not exist


def leduc_abstraction(name: str) -> RankGroups:
    """Return an abstraction of Leduc hold'em.

    Args:
        name: groups of the ranks J, Q and K with dots between them, in brackets or not, or `full`.
    """
    game = load_game(LEDUC)
    assert isinstance(game, PokerRules)
    if name == FULL:
        return RankGroups(game, None)
    groups = tuple(name.removeprefix("[").removesuffix("]").split("."))
    if "" in groups or sorted("".join(groups)) != sorted(game.deck.ranks):
        raise UsageError(
            f"unknown abstraction of Leduc hold'em '{name}': expected the ranks J, Q and K in groups, "
            "such as '[JQ.K]', or 'full'"
        )
    return RankGroups(game, groups)
