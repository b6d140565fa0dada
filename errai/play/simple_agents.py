"""The reference agents that look at nothing but the betting, in any game and with any number of players.

- `always-fold` folds where it faces a bet and checks otherwise.
- `always-call` checks and calls.
- `always-raise` raises, and calls where no raise is legal. In no-limit games it raises by the pot: a call
  plus as much as the pot then has, as far as the stack reaches.
- `half` calls or raises at even odds, with the raises of `always-raise`.
- `probe` never folds, and calls and raises at even odds wherever both are legal (Johanson's thesis, 2016,
  section 6.3.2). In limit games that is `half`; in no-limit ones it raises to any legal total alike, so that
  it sees as much of the opponent as it can.
- `random` folds, calls and raises at even odds among what is legal; in no-limit games it raises to any legal
  total alike.
"""

from collections.abc import Mapping

from errai.games.betting import BettingState
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.draws import Draws

FOLD_WEIGHT, CALL_WEIGHT, RAISE_WEIGHT = range(3)

_ODDS = {
    "always-fold": (1.0, 0.0, 0.0),
    "always-call": (0.0, 1.0, 0.0),
    "always-raise": (0.0, 0.0, 1.0),
    "half": (0.0, 1.0, 1.0),
    "probe": (0.0, 1.0, 1.0),
    "random": (1.0, 1.0, 1.0),
}
"""How often each agent folds, calls and raises, among what is legal; where nothing of it is, it calls."""

_ANY_TOTAL = ("probe", "random")
"""Agents that raise to any legal total alike."""

SIMPLE_AGENTS = tuple(_ODDS)


class SimpleAgent(Agent):
    """A reference agent."""

    def __init__(self, game: PokerRules, name: str) -> None:
        """Get ready to play.

        Args:
            game: any game.
            name: one of `SIMPLE_AGENTS`.
        """
        super().__init__(game)
        self.name = name
        self._odds = _ODDS[name]
        self._any_total = name in _ANY_TOTAL and not game.is_limit

    def probabilities(self, state: MatchState) -> Mapping[str, float]:
        """Return the probability of each action; there may be as many as there are chips."""
        odds, totals = self._legal(state.betting)
        total_odds = sum(odds)
        chances = {}
        for action, weight in zip("fc", odds, strict=False):
            if weight > 0:
                chances[action] = weight / total_odds
        for total in totals if odds[RAISE_WEIGHT] > 0 else ():
            chances[self._raise(total)] = odds[RAISE_WEIGHT] / total_odds / len(totals)
        return chances

    def act(self, state: MatchState, draws: Draws) -> str:
        """Return an action; one number is drawn, however many totals there are."""
        odds, totals = self._legal(state.betting)
        left = draws.random() * sum(odds)
        if left < odds[FOLD_WEIGHT]:
            return "f"
        left -= odds[FOLD_WEIGHT]
        if left < odds[CALL_WEIGHT] or odds[RAISE_WEIGHT] == 0:
            return "c"
        left = (left - odds[CALL_WEIGHT]) / odds[RAISE_WEIGHT]
        return self._raise(totals[min(int(left * len(totals)), len(totals) - 1)])

    def _legal(self, betting: BettingState) -> tuple[tuple[float, float, float], range]:
        """Return how often to fold, call and raise here, and the totals to raise to."""
        fold, call, more = self._odds
        bounds = betting.raise_bounds() if more > 0 else None
        odds = (fold if betting.to_call > 0 else 0.0, call, more if bounds is not None else 0.0)
        if sum(odds) == 0:
            odds = (0.0, 1.0, 0.0)
        if bounds is None:
            return odds, range(0)
        if self._any_total:
            return odds, range(bounds[0], bounds[1] + 1)
        pot = betting.largest + sum(betting.spent) + betting.to_call
        total = min(max(pot, bounds[0]), bounds[1])
        return odds, range(total, total + 1)

    def _raise(self, total: int) -> str:
        return "r" if self.game.is_limit else f"r{total}"
