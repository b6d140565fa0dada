"""What an agent would do with every hand that it may hold, asked at once where the agent allows it.

- An agent that never looks at its cards is asked once.
- One that plays a strategy of tables is asked by rows of its tables, all hands together; its treatment and
  its translation of bets are its own. Bets that it translates by chance are drawn anew here: whoever asks
  does not know what the agent itself has drawn.
- Any other agent is asked hand by hand.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.protocol import buckets_on_board
from errai.errors import UsageError
from errai.games.betting import BettingState
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.draws import Draws
from errai.play.simple_agents import SimpleAgent
from errai.strategy.blueprint import BucketBlueprint, Place, StrategyBlueprint
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.postprocessing import action_kind
from errai.strategy.translation import NOWHERE, Follower, chance_of_smaller

Floats = npt.NDArray[np.float64]
Chances = Mapping[str, Floats]
"""[action, as ACPC text] float64[hands] its probability with each hand."""

MODELLING = 1 << 33
"""Added to the position in the key of draws that translate bets here; agents have other keys."""


class HandPolicy:
    """An agent's probabilities, hand by hand.

    Attributes:
        agent: who is asked.
        rules: the game.
        is_exact: whether the answers are the agent's own probabilities for certain. They are not where it
            translates bets by chance, nor where an agent of one's own cannot be looked into.
        translates_by_chance: whether the agent takes bets that it does not know by chance.
    """

    def __init__(self, agent: Agent, hands: npt.NDArray[np.uint8], seed: int = 0) -> None:
        """Get ready to ask.

        Args:
            agent: who is asked.
            hands: uint8[H, cards] every hand of the deck, in its order.
            seed: of draws that translate bets.
        """
        self.agent, self.rules = agent, agent.game
        self._hands, self._seed = hands, seed
        self.is_exact, self.translates_by_chance = isinstance(agent, SimpleAgent), False
        self._places: tuple[Any, npt.NDArray[np.int64] | list[Any]] = (None, [])
        if isinstance(agent, BlueprintAgent):
            self._follower = Follower(agent.blueprint.betting, agent.game, agent.translation)
            self.translates_by_chance = not agent.game.is_limit and not _is_settled(agent.translation)
            self.is_exact = not self.translates_by_chance

    def chances(
        self,
        betting: BettingState,
        board: tuple[int, ...],
        open_hands: npt.NDArray[np.bool_],
        hand_number: int = 0,
    ) -> Chances:
        """Return the probability of each action with each hand; hands that are not open have any.

        Args:
            betting: the agent has to act.
            board: the public cards, in the order of their deals.
            open_hands: bool[hands] which may be held.
            hand_number: of the match.
        """
        if isinstance(self.agent, BlueprintAgent):
            return self._by_tables(self.agent, betting, board, open_hands, hand_number)
        places = np.flatnonzero(open_hands)
        if isinstance(self.agent, SimpleAgent):
            asked = self._ask(betting, board, int(places[0]), hand_number)
            # Views of one number: some agents have a probability for every number of chips.
            return {
                action: np.broadcast_to(np.float64(chance), len(self._hands))
                for action, chance in asked.items()
            }
        found: dict[str, Floats] = {}
        for hand in places.tolist():
            for action, chance in self._ask(betting, board, hand, hand_number).items():
                found.setdefault(action, np.zeros(len(self._hands)))[hand] = chance
        return found

    def _ask(
        self, betting: BettingState, board: tuple[int, ...], hand: int, hand_number: int
    ) -> Mapping[str, float]:
        state = seen_by_player(betting, self._hands[hand].tolist(), board, hand_number)
        asked = self.agent.probabilities(state)
        if asked is None:
            raise UsageError(
                f"the agent '{self.agent.name}' does not say its probabilities: local best response needs "
                "them for every hand"
            )
        return asked

    def _by_tables(
        self,
        agent: BlueprintAgent,
        betting: BettingState,
        board: tuple[int, ...],
        open_hands: npt.NDArray[np.bool_],
        hand_number: int,
    ) -> Chances:
        player = betting.player

        def unit(action_number: int) -> float:
            draws = Draws(self._seed, hand_number, MODELLING + player)
            draws.counter = action_number
            return draws.random()

        node = self._follower.locate(betting, (hand_number, player), unit)
        if node == NOWHERE:
            return {"c": np.ones(len(self._hands))}
        actions = self._follower.actions(node)
        rows = self._rows(agent, node, len(actions), betting, board, open_hands)
        if not agent.treatment.changes_nothing:
            kinds = [action_kind(action) for action in actions]
            is_first = agent.treatment.spares_first and self._follower.is_first(node)
            rows = agent.treatment.apply(rows, kinds, is_first)
        found: dict[str, Floats] = {}
        for column, text in enumerate(self._follower.texts(node, betting)):
            found[text] = found[text] + rows[:, column] if text in found else rows[:, column]
        return found

    def _rows(
        self,
        agent: BlueprintAgent,
        node: int,
        num_actions: int,
        betting: BettingState,
        board: tuple[int, ...],
        open_hands: npt.NDArray[np.bool_],
    ) -> Floats:
        """Return the strategy's probabilities, even where a hand is not open: float64[hands, actions]."""
        blueprint, player = agent.blueprint, betting.player
        key = (player, betting.round, board)
        if self._places[0] != key:
            self._places = (key, self._find_places(agent, player, betting.round, board))
        places = self._places[1]
        rows = np.full((len(self._hands), num_actions), 1 / num_actions)
        chosen = np.flatnonzero(open_hands)
        if isinstance(places, list):
            for hand in chosen.tolist():
                rows[hand] = blueprint.chances(node, places[hand])
            return rows
        assert isinstance(blueprint, StrategyBlueprint | BucketBlueprint)
        first, stride = places[chosen].T
        begin = first + int(blueprint.tree.walk.slot[node]) * stride
        slots = begin[:, np.newaxis] + np.arange(num_actions) * stride[:, np.newaxis]
        weights = np.maximum(blueprint.tables[player][slots].astype(np.float64), 0)
        total = weights.sum(axis=1, keepdims=True)
        rows[chosen] = np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / num_actions)
        return rows

    def _find_places(
        self, agent: BlueprintAgent, player: int, round_index: int, board: tuple[int, ...]
    ) -> npt.NDArray[np.int64] | list[Any]:
        """Return where every hand's slots are: int64[hands, 2] as in `Place`, or what the blueprint says."""
        blueprint, strategy = agent.blueprint, agent.strategy
        is_open = np.logical_not(np.isin(self._hands, np.array(board, dtype=np.uint8)).any(axis=1))
        if isinstance(strategy, BucketStrategy) and strategy.layout.bucketed[player, round_index]:
            buckets = buckets_on_board(strategy.saved.abstraction, np.array(board, dtype=np.uint8), player)
            layout, at = strategy.layout, (player, round_index)
            first = layout.begin[at] + buckets.astype(np.int64) * layout.stride[at]
            return np.stack([first, np.ones_like(first)], axis=1)
        places = [
            blueprint.place(player, round_index, hand, board) if may_be_held else None
            for hand, may_be_held in zip(self._hands.tolist(), is_open.tolist(), strict=True)
        ]
        if not isinstance(blueprint, StrategyBlueprint | BucketBlueprint):
            return places
        return np.array(
            [place[1:] if isinstance(place, Place) else (0, 0) for place in places], dtype=np.int64
        )


def seen_by_player(
    betting: BettingState, hole: list[int], board: tuple[int, ...], hand_number: int
) -> MatchState:
    """Return what the player to act is told, holding some cards."""
    player = betting.player
    holes = tuple(tuple(hole) if q == player else None for q in range(betting.rules.num_players))
    return MatchState(player, hand_number, betting, holes, board)


def _is_settled(translation: str) -> bool:
    """Whether a translation leaves nothing to chance."""
    grid = [(1.0, 2.0, 1.1), (1.0, 2.0, 1.5), (0.5, 3.0, 1.0)]
    return all(chance_of_smaller(translation, *sizes) in (0.0, 1.0) for sizes in grid)


def verify_two_players(rules: PokerRules) -> None:
    """Refuse games of more than two players."""
    if rules.num_players != 2:
        raise UsageError(
            f"'{rules.name}' has {rules.num_players} players: local best response needs a game of 2"
        )
