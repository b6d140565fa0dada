"""An agent of one's own, which every command takes by the path of its file.

python examples/own_agent.py
"""

import errai
from errai.games.match_state import MatchState, parse_match_state


class Pairs(errai.Agent):
    """Raises with a pair or better on the board's cards, calls otherwise, and never folds."""

    def probabilities(self, state: MatchState) -> dict[str, float]:
        """Return the probability of each action, in the texts of the competition."""
        bounds, own = state.betting.raise_bounds(), state.holes[state.position] or ()
        ranks = [card // 4 for card in (*own, *state.board)]
        if bounds is None or len(set(ranks)) == len(ranks):
            return {"c": 1.0}
        return {"r" if self.game.is_limit else f"r{bounds[0]}": 1.0}


def main() -> None:
    """Ask it what it plays in two hands of Leduc hold'em."""
    game = errai.load_game("leduc")
    agent = errai.load_agent(__file__, game)
    for line in ("MATCHSTATE:0:0:cc/:Qs|/Qh", "MATCHSTATE:0:1:cc/:Qs|/Kh"):
        print(line, agent.probabilities(parse_match_state(game, line)))


if __name__ == "__main__":
    main()
