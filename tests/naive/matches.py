"""Hands of a match played out by asking strategies in words: the twin of `errai.play._table_match`."""

from collections.abc import Sequence
from typing import Any

from errai.cards.deck import format_cards
from errai.games.hand import HandState
from naive.streams import draw_unit, stream_key


def choose(probabilities: Sequence[float], number: float) -> int:
    """The first action at which the sum of probabilities passes the number, or the last that is possible."""
    possible = [a for a, probability in enumerate(probabilities) if probability > 0]
    for a in possible:
        number -= probabilities[a]
        if number < 0:
            return a
    return possible[-1]


def play_hand(
    strategies: Sequence[Any], agents: Sequence[int], cards: list[int], seed: int, number: int
) -> HandState:
    """Play a hand between strategies.

    Args:
        strategies: [position] asked by betting string, hand and board.
        agents: [position] which agent it is, for its draws.
        cards: hole cards by position, then the whole board.
        seed: of the draws.
        number: of the hand, for its draws.
    """
    rules = strategies[0].game
    hole = rules.num_hole_cards
    hand = HandState.start(rules).deal_hole([cards[:hole], cards[hole : 2 * hole]])
    board = cards[2 * hole :]
    drawn = [0, 0]
    while not hand.is_over:
        if due := hand.num_board_cards_due:
            hand = hand.deal_board(board[len(hand.board) : len(hand.board) + due])
            continue
        p = hand.player
        chances = strategies[p].probabilities(
            hand.betting.betting, format_cards(hand.holes[p]), format_cards(hand.board)
        )
        unit = draw_unit(stream_key(seed, number, agents[p]), drawn[p])
        drawn[p] += 1
        hand = hand.act(list(chances)[choose(list(chances.values()), unit)])
    return hand
