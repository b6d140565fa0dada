"""What every abstraction of cards can be asked: the one protocol that the rest of Errai relies on.

Built abstractions (`abstraction.py`), public ones (`public/abstraction.py`), Leduc's named groups
(`named_groups.py`) and those made of a user's function (`own.py`) all have it. A class of one's own that has
these five members can be given to `errai.solve(..., abstraction=...)`, too.

Rounds and players are counted from 0. The round comes before the player in every call, because a round is
always needed and a player only where the two positions see differently. Arrays are indexed the other way
round, [player, round], as all tables are.
"""

import reprlib
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.hands import HandClasses
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.games.rounds import in_round
from errai.games.rules import PokerRules

NO_BUCKET = -1
"""Stands for the bucket of a hand that shares a card with the board."""


@runtime_checkable
class CardAbstraction(Protocol):
    """Which hands look alike to a player, in each round."""

    @property
    def game(self) -> PokerRules:
        """The game that it was made for; it fits every game with the same cards."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def num_players_described(self) -> int:
        """1 where both players see alike, 2 where they do not."""

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the buckets of a round, empty ones included."""

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.integer[Any]]:
        """Return the bucket of each deal: integers[N], from 0 up to `num_buckets` of the round.

        Args:
            cards: uint8[N, hole + board], hole cards first, the board in the order of its deals.
            round_index: the round, from 0.
            player: position.
        """


AbstractionPair = tuple[CardAbstraction | None, CardAbstraction | None]
"""[position] what each player sees; None for everything."""


def bucket_of_text(abstraction: CardAbstraction, hand: str, board: str, player: int) -> int:
    """Return the bucket of a hand and a board that are given as text, the board in the order of its deals."""
    hole, public = abstraction.game.parse_deal(hand, board)
    cards = np.array([hole + public], dtype=np.uint8)
    return int(abstraction.buckets(cards, abstraction.game.round_of_board(len(public)), player)[0])


def buckets_on_board(
    abstraction: CardAbstraction, board: npt.NDArray[np.uint8], player: int = 0
) -> npt.NDArray[np.int64]:
    """Return the bucket of every hand on a board: int64[H], NO_BUCKET where hand and board share a card.

    Args:
        abstraction: any kind; one that has a faster way of its own is asked for that.
        board: uint8[cards] in the order of the deals.
        player: position.
    """
    if (own := getattr(abstraction, "buckets_on_board", None)) is not None:
        return np.asarray(own(board, player), dtype=np.int64)
    game = abstraction.game
    cards, numbers = open_deals(game.deck, game.num_hole_cards, board)
    found = np.full(game.deck.num_hands(game.num_hole_cards), NO_BUCKET, dtype=np.int64)
    found[numbers] = abstraction.buckets(cards, game.round_of_board(len(board)), player)
    return found


def verify_abstraction(found: object) -> None:
    """Refuse what is not an abstraction."""
    if not isinstance(found, CardAbstraction):
        raise UsageError(f"expected an abstraction, not {reprlib.repr(found)}")


def verify_player(player: int) -> None:
    """Refuse a position that there is not."""
    if player not in (0, 1):
        raise UsageError(f"the player must be 0 or 1, not {player}")


def verify_cards(cards: npt.NDArray[np.uint8], classes: HandClasses, round_index: int) -> None:
    """Refuse an array that does not hold deals of a round."""
    expected = classes.rules.num_hole_cards + classes.num_board_cards(round_index)
    if cards.ndim != 2 or cards.shape[1] != expected:
        raise UsageError(
            f"expected {expected} cards in each row {in_round(classes.rules, round_index)} of "
            f"{classes.rules.name}, not an array of shape {cards.shape}"
        )
