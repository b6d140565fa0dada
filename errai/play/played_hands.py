"""Hands that were played, as matches hand them on and logs write them.

Deals are numbered from 0. In deal n the first agent has position 0 if n is even, position 1 if it is odd:
positions rotate. A duplicate match plays every deal once more with the seats swapped; those hands have the
same numbers in a log of their own, as the competition's matches do, and draws of their own.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.cards.deck import format_cards
from errai.games.rules import PokerRules

SWAPPED_HANDS = 2**40
"""Is added to a hand's number for the draws of its second playing."""


def position_of(agent: int, deal: int, swapped: int) -> int:
    """Return the position of an agent.

    Args:
        agent: 0 or 1.
        deal: number of the deal.
        swapped: 1 in the second playing of a duplicate match, else 0.
    """
    return (agent + deal + swapped) % 2


class PlayedHands(NamedTuple):
    """Neighbouring deals that were played.

    Attributes:
        cards: uint8[D, cards] hole cards by position, then the whole board.
        chips: int64[playings, D] what the first agent won.
        illegal_actions: [agent] that were turned into legal ones.
        bettings: returns [playing][deal] the betting strings; they cost time, and only logs want them.
    """

    cards: npt.NDArray[np.uint8]
    chips: npt.NDArray[np.int64]
    illegal_actions: tuple[int, int]
    bettings: Callable[[], list[list[str]]]


class PlayedHand(NamedTuple):
    """One hand, as a log writes it.

    Attributes:
        number: of the deal.
        betting: the whole betting string.
        holes: [position] hole cards.
        board: public cards that were dealt.
        chips: [position] won.
        names: [position] of the agents.
    """

    number: int
    betting: str
    holes: tuple[list[int], ...]
    board: list[int]
    chips: tuple[int, int]
    names: tuple[str, str]


def hands_of(
    rules: PokerRules, played: PlayedHands, first_deal: int, swapped: int, names: tuple[str, str]
) -> Iterator[PlayedHand]:
    """Yield the hands of one playing of some deals.

    Args:
        rules: the game.
        played: the deals.
        first_deal: number of the first of them.
        swapped: 1 for the second playing of a duplicate match, else 0.
        names: [agent].
    """
    hole = rules.num_hole_cards
    bettings = played.bettings()[swapped]
    of_deal = zip(played.cards.tolist(), bettings, played.chips[swapped].tolist(), strict=True)
    for number, (cards, betting, chips) in enumerate(of_deal, first_deal):
        first = position_of(0, number, swapped)
        yield PlayedHand(
            number,
            betting,
            (cards[:hole], cards[hole : 2 * hole]),
            cards[2 * hole :][: rules.num_board_cards_by(betting.count("/"))],
            (chips, -chips) if first == 0 else (-chips, chips),
            names if first == 0 else (names[1], names[0]),
        )


def state_line(rules: PokerRules, hand: PlayedHand) -> str:
    """Return a hand as the `STATE` line of an ACPC log."""
    cards = "|".join(map(format_cards, hand.holes))
    dealt = 0
    for r in range(hand.betting.count("/") + 1):
        here = rules.num_board_cards[r]
        cards += ("/" if r else "") + format_cards(hand.board[dealt : dealt + here])
        dealt += here
    values = "|".join(map(str, hand.chips))
    return f"STATE:{hand.number}:{hand.betting}:{cards}:{values}:{'|'.join(hand.names)}"
