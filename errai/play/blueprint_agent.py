"""An agent that plays a solved strategy, with any treatment.

Its decisions take a fraction of a millisecond: what a hand is in a round is looked up once, and the place in the
betting is advanced from where it was.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from errai.errors import UsageError
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.strategy.blueprint import blueprint_of
from errai.strategy.postprocessing import NO_TREATMENT, Treatment, action_kind
from errai.strategy.translation import Follower


class BlueprintAgent(Agent):
    """Someone who plays a strategy of a game of two players.

    Attributes:
        strategy: what it plays, untreated.
        blueprint: the same as it is asked.
        treatment: what is done to the probabilities first.
    """

    def __init__(
        self,
        strategy: Any,
        treatment: Treatment = NO_TREATMENT,
        game: PokerRules | None = None,
        seed: int = 0,
        name: str = "blueprint",
    ) -> None:
        """Get ready to play.

        Args:
            strategy: a `Strategy`, a `BucketStrategy` or a `Blueprint`.
            treatment: what is done to the probabilities first.
            game: what is played; by default the strategy's own game.
            seed: of the draws that translate bets.
            name: what reports call it.
        """
        self.strategy, self.blueprint, self.treatment = strategy, blueprint_of(strategy), treatment
        verify_fit(self.blueprint.game, game or self.blueprint.game, name)
        super().__init__(game or self.blueprint.game)
        self.name = name
        self._follower = Follower(self.blueprint.betting, self.game, seed)
        self._seen: tuple[object, ...] = ()
        self._place: Any = None

    def probabilities(self, state: MatchState) -> Mapping[str, float]:
        """Return the probability of each action, by its text in the game that is played."""
        node = self._follower.locate(state)
        hole = state.holes[state.position]
        assert hole is not None, "every seat sees its own cards"
        seen = (state.position, hole, state.board, state.betting.round)
        if seen != self._seen:
            self._place = self.blueprint.place(state.position, state.betting.round, hole, state.board)
            self._seen = seen
        chances = self.blueprint.chances(node, self._place)
        actions = self._follower.actions(node)
        if not self.treatment.changes_nothing:
            kinds = [action_kind(action) for action in actions]
            treated = self.treatment.apply(np.array([chances]), kinds, self._follower.is_first(node))
            chances = treated[0].tolist()
        by_text: dict[str, float] = {}
        for text, chance in zip(self._follower.texts(node, state), chances, strict=True):
            by_text[text] = by_text.get(text, 0.0) + chance
        return by_text


def verify_fit(made_for: PokerRules, game: PokerRules, name: str) -> None:
    """Refuse a strategy whose rules are not those of the game that is played; names do not matter."""
    if replace(made_for, name=game.name) != game:
        raise UsageError(
            f"'{name}' was made for '{made_for.name}', whose rules differ from those of '{game.name}': "
            "expected a strategy of the game that is played"
        )
