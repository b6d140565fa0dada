"""Strategies to and from OpenSpiel: `to_openspiel` and `from_openspiel`.

OpenSpiel has Kuhn poker and Leduc hold'em as games of their own, and plays other limit games from ACPC game
definitions (`universal_poker`). It tells all cards apart and counts actions: in `kuhn_poker` 0 passes and 1
puts a chip in, elsewhere 0 folds, 1 checks or calls and 2 raises. Cards are dealt in the order of the deck,
the hole cards of position 0 first. Here one hand stands for all that the game's symmetry makes the same.

A hand is followed in both at once (`HandState` is ours), so no text of OpenSpiel's is read.
"""

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from errai.cards.deck import format_cards
from errai.errors import UsageError
from errai.games.acpc_files import format_game_file
from errai.games.betting import BettingState, replay
from errai.games.catalogue import Game, kuhn, leduc, load_card_game
from errai.games.hand import HandState
from errai.games.rules import PokerRules, Showdown
from errai.strategy.information_sets import action_names, betting_strings
from errai.strategy.strategy import Strategy, find_cell, uniform_strategy
from errai.tree.betting_tree import DECISION

SAME_PROBABILITY = 1e-6
"""Hands that are one here may differ by this much in a policy, because of rounding."""


@dataclass(frozen=True)
class OpenSpielGame:
    """A game as both sides know it.

    Attributes:
        rules: ours.
        game: OpenSpiel's.
        action_of: (betting so far, number of OpenSpiel's action) -> our text.
    """

    rules: PokerRules
    game: Any
    action_of: Callable[[BettingState, int], str]

    def follow(self, history: Sequence[int]) -> HandState:
        """Return our state after a history of OpenSpiel's, which ends where a player acts."""
        cards, num_hole = self.rules.deck.cards, self.rules.num_hole_cards
        dealt = [cards[card] for card in history[: 2 * num_hole]]
        state = HandState.start(self.rules).deal_hole([dealt[:num_hole], dealt[num_hole:]])
        place = 2 * num_hole
        while place < len(history):
            if due := state.num_board_cards_due:
                state = state.deal_board([cards[card] for card in history[place : place + due]])
                place += due
            else:
                state = state.act(self.action_of(state.betting, history[place]))
                place += 1
        return state

    def state(self, betting: str, hand: Sequence[int], board: Sequence[int]) -> Any:
        """Return OpenSpiel's state at a decision; the opponent holds any other cards."""
        rules, position = self.rules, self.rules.deck.position
        actor = replay(rules, betting).player
        taken = {*hand, *board}
        other = [card for card in rules.deck.cards if card not in taken][: rules.num_hole_cards]
        holes = (hand, other) if actor == 0 else (other, hand)
        state, ours = self.game.new_initial_state(), HandState.start(rules).deal_hole(holes)
        for card in (*holes[0], *holes[1]):
            state.apply_action(position[card])
        for text in betting.replace("/", ""):
            ours = self._deal(state, ours, board)
            number = next(n for n in state.legal_actions() if self.action_of(ours.betting, n) == text)
            state.apply_action(number)
            ours = ours.act(text)
        self._deal(state, ours, board)
        return state

    def _deal(self, state: Any, ours: HandState, board: Sequence[int]) -> HandState:
        """Deal what is due in both."""
        while due := ours.num_board_cards_due:
            cards = board[len(ours.board) : len(ours.board) + due]
            for card in cards:
                state.apply_action(self.rules.deck.position[card])
            ours = ours.deal_board(cards)
        return ours


def to_openspiel(strategy: Strategy) -> Any:
    """Return a strategy as OpenSpiel's `policy.TabularPolicy`, whose `game` is OpenSpiel's game.

    Needs the package `open_spiel`. Payoffs other than plain poker's (rake) are not known to OpenSpiel.

    Args:
        strategy: of Kuhn poker, Leduc hold'em, or a limit game that can be written as an ACPC game file.

    >>> import errai
    >>> from open_spiel.python.algorithms.exploitability import exploitability
    >>> strategy = errai.uniform_strategy("kuhn")
    >>> policy = errai.to_openspiel(strategy)
    >>> f"{exploitability(policy.game, policy):.6f}, {errai.exploitability(strategy).chips:.6f}"
    '0.458333, 0.458333'
    """
    if not isinstance(strategy, Strategy):
        raise UsageError(
            f"expected a strategy of a card game whose hands fit into memory, not {reprlib.repr(strategy)}"
        )
    known = openspiel_game(strategy.game)

    def play(state: Any) -> dict[int, float]:
        ours = known.follow(state.history())
        hand, board = format_cards(ours.holes[ours.player]), format_cards(ours.board)
        played = strategy.probabilities(ours.betting.betting, hand, board)
        return {number: played[known.action_of(ours.betting, number)] for number in state.legal_actions()}

    return _imported("open_spiel.python.policy").tabular_policy_from_callable(known.game, play)


def from_openspiel(game: Game | str | Path, policy: Any) -> Strategy:
    """Return a policy of OpenSpiel's as a strategy.

    Args:
        game: Kuhn poker, Leduc hold'em, or a limit game that can be written as an ACPC game file.
        policy: of the same game in OpenSpiel, from its Python or its C++ library. Hands that differ only by
            the names of suits must play alike.
    """
    known = openspiel_game(game)
    _verify_policy(known, policy)
    strategy = uniform_strategy(known.rules)
    tree = strategy.tree
    texts = betting_strings(tree)
    for node in np.flatnonzero(tree.betting.kind == DECISION).tolist():
        _copy_decision(known, policy, strategy, node, texts[node])
    return strategy


def _copy_decision(known: OpenSpielGame, policy: Any, strategy: Strategy, node: int, betting: str) -> None:
    """Enter what a policy plays at a decision into a strategy, for all boards and hands."""
    tree, rules = strategy.tree, known.rules
    player, r = int(tree.betting.player[node]), int(tree.betting.round[node])
    actions = action_names(tree, node)
    seen: dict[tuple[int, int], tuple[list[float], str]] = {}
    for board in _boards(rules, r):
        for hand in rules.deck.hands(rules.num_hole_cards).tolist():
            if set(hand) & set(board):
                continue
            board_number, cell = find_cell(tree, player, r, hand, board)
            played = _asked(known, policy, betting, actions, hand, board)
            deal = f"{format_cards(hand)} {format_cards(board)}".strip()
            first, first_deal = seen.setdefault((board_number, cell), (played, deal))
            if not np.allclose(played, first, rtol=0, atol=SAME_PROBABILITY):
                raise UsageError(
                    f"the policy plays '{first_deal}' and '{deal}' differently after '{betting}': "
                    f"expected the same, because '{rules.name}' is symmetric there"
                )
            strategy.weights(player, node, board_number)[:, cell] = first


def openspiel_game(game: Game | str | Path) -> OpenSpielGame:
    """Return a game with its twin in OpenSpiel."""
    rules = load_card_game(game)
    if rules.num_players != 2 or not rules.is_limit or rules.showdown is not Showdown.POKER:
        raise UsageError(
            f"'{rules.name}' cannot be given to OpenSpiel: expected kuhn, leduc, or a limit game for two "
            "players that an ACPC game file can describe"
        )
    return _openspiel_game(rules)


@lru_cache(maxsize=4)
def _openspiel_game(rules: PokerRules) -> OpenSpielGame:
    pyspiel = _imported("pyspiel")
    if replace(rules, name="kuhn") == kuhn():
        return OpenSpielGame(rules, pyspiel.load_game("kuhn_poker"), _kuhn_action)
    if replace(rules, name="leduc") == leduc():
        return OpenSpielGame(rules, pyspiel.load_game("leduc_poker"), _limit_action)
    if "universal_poker" not in pyspiel.registered_names():
        raise UsageError(f"'{rules.name}' needs universal_poker, which this build of OpenSpiel is without")
    described = pyspiel.universal_poker.load_universal_poker_from_acpc_gamedef(format_game_file(rules))
    return OpenSpielGame(rules, described, _limit_action)


def _kuhn_action(betting: BettingState, number: int) -> str:
    if number == 0:
        return "f" if betting.can_fold() else "c"
    return "r" if betting.raise_bounds() is not None else "c"


def _limit_action(betting: BettingState, number: int) -> str:
    return "fcr"[number]


def _boards(rules: PokerRules, round_index: int) -> list[tuple[int, ...]]:
    """Return every board of a round, the cards of each deal ascending."""
    boards: list[tuple[int, ...]] = [()]
    for num_cards in rules.num_board_cards[: round_index + 1]:
        deals = rules.deck.hands(num_cards).tolist()
        boards = [(*board, *deal) for board in boards for deal in deals if not set(board) & set(deal)]
    return boards


def _asked(
    known: OpenSpielGame,
    policy: Any,
    betting: str,
    actions: Sequence[str],
    hand: Sequence[int],
    board: Sequence[int],
) -> list[float]:
    """Return what a policy plays, in the order of our actions."""
    state = known.state(betting, hand, board)
    ours = known.follow(state.history()).betting
    try:
        given = dict(policy.action_probabilities(state))
    except (KeyError, RuntimeError):
        given = {}
    named = {known.action_of(ours, number): float(chance) for number, chance in given.items()}
    played = [named.get(action, 0.0) for action in actions]
    if min(played) < 0 or abs(sum(played) - 1) > SAME_PROBABILITY:
        raise UsageError(
            f"the policy gives {given} at '{state.information_state_string()}': "
            f"expected probabilities of the actions {state.legal_actions()}"
        )
    return played


def _verify_policy(known: OpenSpielGame, policy: Any) -> None:
    if not hasattr(policy, "action_probabilities"):
        raise UsageError(f"expected a policy of OpenSpiel, not {reprlib.repr(policy)}")
    # Policies of the C++ library do not know their game.
    game = getattr(policy, "game", None)
    if game is not None and str(game) != str(known.game):
        raise UsageError(f"the policy is one of '{game}': expected '{known.game}'")


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"OpenSpiel was not found: the package 'open_spiel' has '{name}'") from None
