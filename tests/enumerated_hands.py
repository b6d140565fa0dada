"""Every hand of a small game with its probability, found by plain recursion over rules, cards and actions."""

from collections.abc import Iterator
from itertools import combinations, permutations

from errai.cards.deck import format_cards
from errai.games.hand import HandState
from errai.games.match_state import HandRecord
from errai.games.rules import PokerRules
from errai.strategy.strategy import Strategy

NAMES = ("first", "second")


def enumerated_hands(
    rules: PokerRules, players: tuple[Strategy, Strategy]
) -> Iterator[tuple[HandRecord, float]]:
    """Yield each finished hand of a game with one hole card, and how likely the players reach it."""
    deals = list(permutations(rules.deck.cards, 2))
    for first, second in deals:
        start = HandState.start(rules).deal_hole([(first,), (second,)])
        yield from finished_hands(start, players, 1 / len(deals))


def finished_hands(
    state: HandState, players: tuple[Strategy, Strategy], chance: float
) -> Iterator[tuple[HandRecord, float]]:
    """Yield each way in which a hand may go on to its end, with its probability."""
    if chance == 0:
        return
    if state.is_over:
        yield HandRecord.of(state, 0, NAMES), chance
        return
    if state.num_board_cards_due:
        gone = {card for hole in state.holes for card in hole} | set(state.board)
        left = [card for card in state.rules.deck.cards if card not in gone]
        boards = list(combinations(left, state.num_board_cards_due))
        for cards in boards:
            yield from finished_hands(state.deal_board(cards), players, chance / len(boards))
        return
    hand, board = format_cards(state.holes[state.player]), format_cards(state.board)
    for action, share in players[state.player].probabilities(state.betting.betting, hand, board).items():
        yield from finished_hands(state.act(action), players, chance * share)
