"""What an agent is: asked for an action whenever it is its turn.

An agent of one's own takes ten lines:

    class Caller(errai.Agent):
        def probabilities(self, state):
            return {"c": 1.0}

and every command takes the path of the file that it is in. An agent that knows its probabilities says them,
and `act` draws by them; one that does not (it asks a person, another program, or searches) has an `act` of
its own. Off-policy estimates need probabilities.
"""

from collections.abc import Mapping

from errai.errors import UsageError
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play.draws import Draws


class Agent:
    """Someone who plays a game.

    Attributes:
        game: what it plays.
        name: what reports and logs call it.
    """

    name = ""

    def __init__(self, game: PokerRules) -> None:
        """Get ready to play; whatever takes long belongs here, before any clock runs."""
        self.game = game
        self.name = self.name or type(self).__name__

    def probabilities(self, state: MatchState) -> Mapping[str, float] | None:
        """Return the probability of each action, by ACPC text, or None where the agent cannot say.

        Args:
            state: what the agent sees. It is its turn: `state.betting.player == state.position`.
        """
        return None

    def act(self, state: MatchState, draws: Draws) -> str:
        """Return an action as ACPC text: `f`, `c`, `r` in limit games, `rN` in no-limit ones.

        Args:
            state: what the agent sees; it is its turn.
            draws: whatever is left to chance is drawn from here, so that a hand can be played again.
        """
        chances = self.probabilities(state)
        if chances is None:
            raise UsageError(
                f"the agent '{self.name}' has neither probabilities nor act: expected one of them"
            )
        return draws.choose(chances)

    def end_hand(self, state: MatchState) -> None:
        """Learn how a hand ended: the last state, in which nobody acts."""

    def close(self) -> None:
        """Give back what the agent holds; the match is over."""
