"""An agent that plays a solved strategy, with any treatment.

Its decisions take a fraction of a millisecond: a hand is looked up once in a round, and the place in the
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
from errai.play.draws import Draws
from errai.strategy.blueprint import blueprint_of
from errai.strategy.postprocessing import NO_TREATMENT, Treatment, action_kind
from errai.strategy.translation import DEFAULT_TRANSLATION, NOWHERE, Follower, Unit

TRANSLATING = 1 << 32
"""Added to the position in the key of draws that translate bets: seats are smaller, so none draws these."""


class BlueprintAgent(Agent):
    """Someone who plays a strategy of a game of two players.

    Attributes:
        strategy: what it plays, untreated.
        blueprint: the same as it is asked.
        treatment: what is done to the probabilities first.
        translation: how bets that the strategy does not know are taken.
    """

    def __init__(
        self,
        strategy: Any,
        treatment: Treatment = NO_TREATMENT,
        game: PokerRules | None = None,
        translation: str = DEFAULT_TRANSLATION,
        seed: int = 0,
        name: str = "blueprint",
    ) -> None:
        """Get ready to play.

        Args:
            strategy: a `Strategy`, a `BucketStrategy` or a `Blueprint`.
            treatment: what is done to the probabilities first.
            game: what is played; by default the strategy's own game.
            translation: how bets that the strategy does not know are taken, one of `TRANSLATIONS`.
            seed: of the draws that translate bets.
            name: what reports call it.
        """
        self.strategy, self.blueprint = strategy, blueprint_of(strategy)
        self.treatment, self.translation = treatment, translation
        verify_fit(self.blueprint.game, game or self.blueprint.game, name)
        super().__init__(game or self.blueprint.game)
        self.name = name
        self._follower = Follower(self.blueprint.betting, self.game, translation)
        self._seed = seed
        self._seen: tuple[object, ...] = ()
        self._place: Any = None

    def probabilities(self, state: MatchState) -> Mapping[str, float]:
        """Return the probability of each action, by its text in the game that is played."""
        follower = self._follower
        node = follower.locate(state.betting, (state.hand_number, state.position), self._unit(state))
        if node == NOWHERE:
            return {"c": 1.0}
        hole = state.holes[state.position]
        assert hole is not None, "every seat sees its own cards"
        seen = (state.position, hole, state.board, state.betting.round)
        if seen != self._seen:
            self._place = self.blueprint.place(state.position, state.betting.round, hole, state.board)
            self._seen = seen
        chances = self.blueprint.chances(node, self._place)
        if not self.treatment.changes_nothing:
            kinds = [action_kind(action) for action in follower.actions(node)]
            is_first = self.treatment.spares_first and follower.is_first(node)
            chances = self.treatment.apply(np.array([chances]), kinds, is_first)[0].tolist()
        by_text: dict[str, float] = {}
        for text, chance in zip(follower.texts(node, state.betting), chances, strict=True):
            by_text[text] = by_text.get(text, 0.0) + chance
        return by_text

    def _unit(self, state: MatchState) -> Unit:
        """Return the draws that translate bets in a hand: the same ones whenever the hand is asked about."""

        def unit(action_number: int) -> float:
            draws = Draws(self._seed, state.hand_number, TRANSLATING + state.position)
            draws.counter = action_number
            return draws.random()

        return unit


def verify_fit(made_for: PokerRules, game: PokerRules, name: str) -> None:
    """Refuse a strategy whose rules are not those of the game that is played; names do not matter."""
    if replace(made_for, name=game.name) != game:
        raise UsageError(
            f"'{name}' was made for '{made_for.name}', whose rules differ from those of '{game.name}': "
            "expected a strategy of the game that is played"
        )
