"""An agent that plays a strategy and, from a chosen round on, solves the sub-game that it is in.

At its first decision of that round it takes the ranges that the strategy implies, offers the opponent
what the strategy gave away (`errai.solvers.resolving`), solves to the end of the game within its limit, and
plays the result for the rest of the hand; where the time was too short, the strategy itself. A bet that the
strategy does not know leads, as for any blueprint, to the sub-game that it was taken for.
"""

import re
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play.blueprint_agent import BlueprintAgent
from errai.solvers.resolving import DTYPE, Place, ResolvedSubgame
from errai.solvers.solve import warm_up_walks
from errai.strategy.information_sets import normalised
from errai.strategy.postprocessing import NO_TREATMENT, Treatment
from errai.strategy.translation import DEFAULT_TRANSLATION
from errai.tree.subgame import boards_below

STREET_ROUNDS = {"flop": 1, "turn": 2, "river": 3}
DEFAULT_SECONDS = 1.0
MOST_GIVEN_AWAY = 0.05
"""In big blinds a hand: where some hand of the opponent gains more by playing on than what the strategy gave
it, there was too little time, and the strategy itself is played."""

_TEXT = re.compile(
    r"(?P<round>[a-z]+|[1-9])(@(?P<seconds>[0-9]+(\.[0-9]+)?)s|@(?P<iterations>[1-9][0-9]{0,8}))?"
)


@dataclass(frozen=True)
class Resolving:
    """From which round on an agent solves, and for how long.

    Attributes:
        round: the first round that is solved anew, from 1 on.
        seconds: for one sub-game.
        iterations: in place of seconds, so that a match can be played again with the same result.
    """

    round: int
    seconds: float = DEFAULT_SECONDS
    iterations: int | None = None

    @staticmethod
    def parse(text: str) -> "Resolving":
        """Read what stands behind `resolve=`: a round, and a limit behind an `@` where it has one.

        >>> Resolving.parse("turn@0.5s")
        Resolving(round=2, seconds=0.5, iterations=None)
        >>> Resolving.parse("2@100")
        Resolving(round=1, seconds=1.0, iterations=100)
        """
        found = _TEXT.fullmatch(text)
        name = found["round"] if found else ""
        first = int(name) - 1 if name.isdigit() else STREET_ROUNDS.get(name, 0)
        if found is None or first < 1:
            raise UsageError(
                f"'resolve={text}' is invalid: expected a round after the first (flop, turn, river, or its "
                "number), such as resolve=turn, resolve=turn@0.5s or resolve=2@100 (iterations)"
            )
        seconds = float(found["seconds"]) if found["seconds"] else DEFAULT_SECONDS
        return Resolving(first, seconds, int(found["iterations"]) if found["iterations"] else None)


class ResolvingAgent(BlueprintAgent):
    """Someone who plays a strategy, and something better where there is time to find it.

    Attributes:
        resolving: from which round on, and for how long.
    """

    def __init__(
        self,
        strategy: Any,
        resolving: Resolving,
        treatment: Treatment = NO_TREATMENT,
        game: PokerRules | None = None,
        translation: str = DEFAULT_TRANSLATION,
        seed: int = 0,
        name: str = "resolving",
    ) -> None:
        """Get ready to play; arguments as for `BlueprintAgent`, and when and how long to solve."""
        super().__init__(strategy, treatment, game, translation, seed, name)
        if not 1 <= resolving.round < self.game.num_rounds:
            raise UsageError(
                f"'{self.game.name}' has {self.game.num_rounds} rounds: resolve must name one after the "
                f"first, not round {resolving.round + 1}"
            )
        if not hasattr(self.strategy, "plays"):
            raise UsageError(f"'{name}' cannot be solved further: expected a saved strategy or run")
        self.resolving = resolving
        warm_up_walks(DTYPE.name)
        self._deals = Deals(self.game)
        self._deals.boards.cards(
            self._deals.board_round(self.game.num_rounds - 1)
        )  # made once, before any clock
        self._known: tuple[object, ...] = ()
        self._subgame: ResolvedSubgame | None = None
        self._is_safe = False

    def chances(self, node: int, state: MatchState) -> list[float]:
        """Return what the solved sub-game plays; before the chosen round, what the strategy does."""
        first = self.resolving.round
        if state.betting.round < first or self.blueprint.betting.round[node] < first:
            return super().chances(node, state)
        subgame = self._solved(node, state)
        if not self._is_safe:
            return super().chances(node, state)
        hole = state.holes[state.position]
        assert hole is not None, "every seat sees its own cards"
        r = int(self.blueprint.betting.round[node])
        seen = np.array(state.board[: self.game.num_board_cards_by(r)], dtype=np.uint8)
        found = self._deals.boards.canonicalise(seen, self._deals.board_round(r))
        ranges = boards_below(self._deals, first, subgame.place.board).boards
        links = subgame.tree.cells.links
        board = int(links.round_board[r - first]) + found.board_index - ranges[r - first][0]
        cell = subgame.tree.cells.find_cell(
            state.position, board, found.card_permutation[list(hole)].tolist()
        )
        weights = subgame.strategy.weights(state.position, subgame.node_of(node), board)[:, cell]
        chances: list[float] = normalised(weights).tolist()
        return chances

    def _solved(self, node: int, state: MatchState) -> ResolvedSubgame:
        """Return the sub-game of a decision, solved: the last one where it is the same."""
        betting, first = self.blueprint.betting, self.resolving.round
        entry = node
        while betting.round[betting.parent[entry]] >= first:
            entry = int(betting.parent[entry])
        cards = np.array(state.board[: self.game.num_board_cards_by(first)], dtype=np.uint8)
        board = self._deals.boards.canonicalise(cards, self._deals.board_round(first)).board_index
        known = (state.hand_number, state.position, entry, int(board))
        if self._subgame is None or known != self._known:
            begin = time.perf_counter()
            self.close()
            number = int(np.searchsorted(betting.entry_nodes[first], entry))
            place = Place(first, number, int(board))
            self._subgame = ResolvedSubgame(
                self.strategy.tree, self.strategy.plays, self._deals, place, state.position
            )
            if self.resolving.iterations is not None:
                self._subgame.run(self.resolving.iterations)
            else:
                self._subgame.run_for(self.resolving.seconds - (time.perf_counter() - begin))
            self._is_safe = self._subgame.margins().min() >= -MOST_GIVEN_AWAY * self.game.big_blind
            self._known = known
        return self._subgame

    def close(self) -> None:
        """Drop the last sub-game."""
        if self._subgame is not None:
            self._subgame.close()
            self._subgame = None
