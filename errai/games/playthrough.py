"""Play-throughs: random hands of a game, written down step by step for people to read.

`python -m errai.games.playthrough GAME --seed N --hands N` prints one; the same arguments always give
the same text, so the tests keep play-throughs of every game as golden files and compare byte for byte.

1. The first line is the command that gives the text again; then come the rules.
2. Each hand (of Bluff: each game) is played by a random player, from a stream of its own that depends on
   the seed and the number of the hand alone.
3. Each step shows the state as the player to act is told it, what is legal, and what was chosen.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from errai.cards.deck import format_cards
from errai.errors import UsageError
from errai.games.betting import BettingState
from errai.games.bluff import (
    CALL_BLUFF,
    FACES,
    BluffRules,
    BluffState,
    bid_holds,
    format_bid,
    format_roll,
    num_bids,
)
from errai.games.catalogue import Game, load_game
from errai.games.hand import HandState
from errai.games.match_state import MatchState, format_value
from errai.games.rules import UNLIMITED_RAISES, PokerRules

PROGRAM = "python -m errai.games.playthrough"

# How often the random player folds, calls and raises where all three are legal.
ACTION_WEIGHTS = {"f": 1, "c": 4, "r": 4}
# How often a no-limit raise is the least, about a pot, anything, and all-in.
SIZE_WEIGHTS = (4, 4, 1, 1)
# How often the random player of Bluff calls, and by how much it raises bids at most.
CALL_BLUFF_PROBABILITY = 0.3
MAX_BID_STEP = 5


class _Stream:
    """Random choices made of `random()` alone, whose values Python promises never to change."""

    def __init__(self, *key: object) -> None:
        self._random = random.Random("/".join(map(str, key))).random

    def below(self, bound: int) -> int:
        return int(self._random() * bound)

    def between(self, least: int, greatest: int) -> int:
        return least + self.below(greatest - least + 1)

    def happens(self, probability: float) -> bool:
        return self._random() < probability

    def weighted(self, weights: Sequence[int]) -> int:
        """Return a place in `weights`, in proportion to them."""
        ticket = self.below(sum(weights))
        return next(i for i, total in enumerate(accumulate(weights)) if ticket < total)

    def draw(self, cards: list[int], count: int) -> list[int]:
        """Take cards from a deck."""
        return [cards.pop(self.below(len(cards))) for _ in range(count)]


def playthrough(game: Game, seed: int = 0, num_hands: int = 3) -> str:
    """Return the record of some random hands of a game, or of some games of Bluff."""
    if num_hands < 1:
        raise UsageError(f"the number of hands must be 1 or more, not {num_hands}")
    lines = [f"$ {PROGRAM} {game.name} --seed {seed} --hands {num_hands}", ""]
    lines += _bluff_header(game) if isinstance(game, BluffRules) else _poker_header(game)
    for hand_number in range(num_hands):
        stream = _Stream(seed, hand_number)
        lines.append("")
        if isinstance(game, BluffRules):
            lines += _bluff_game(game, stream, hand_number)
        else:
            lines += _poker_hand(game, stream, hand_number)
    return "\n".join(lines) + "\n"


# Poker


def _poker_header(rules: PokerRules) -> Iterator[str]:
    yield f"deck          ranks {rules.deck.ranks}, suits {rules.deck.suits}"
    yield f"showdown      {rules.showdown.value}"
    yield f"hole cards    {rules.num_hole_cards}"
    yield f"board cards   {_spaced(rules.num_board_cards)}"
    yield f"blinds        {_spaced(rules.blinds)}"
    yield f"stacks        {_spaced(rules.stacks) if rules.stacks is not None else 'unlimited'}"
    yield f"raise sizes   {_spaced(rules.raise_sizes) if rules.raise_sizes is not None else 'no limit'}"
    yield f"raises        {' '.join('any' if n == UNLIMITED_RAISES else str(n) for n in rules.max_raises)}"
    yield f"acts first    {_spaced(rules.first_player)}"


def _poker_hand(rules: PokerRules, stream: _Stream, hand_number: int) -> Iterator[str]:
    deck = list(rules.deck.cards)
    state = HandState.start(rules).deal_hole(
        [stream.draw(deck, rules.num_hole_cards) for _ in range(rules.num_players)]
    )
    yield f"hand {hand_number}"
    yield f"  hole cards  {_spaced(format_cards(hole) for hole in state.holes)}"
    while not state.is_over:
        if due := state.num_board_cards_due:
            cards = stream.draw(deck, due)
            state = state.deal_board(cards)
            yield f"  board       {format_cards(cards)}"
            continue
        player, betting = state.player, state.betting
        told = tuple(hole if p == player else None for p, hole in enumerate(state.holes))
        yield f"  {MatchState(player, hand_number, betting, told, state.board)}"
        action = _choose(betting, stream)
        yield f"    position {player}  spent {_spaced(betting.spent)}  legal {_legal(betting)}  -> {action}"
        state = state.act(action)
    end = "showdown" if state.betting.is_showdown else "fold"
    yield f"  end         '{state.betting.betting}'  {end}  spent {_spaced(state.betting.spent)}"
    yield f"  payoffs     {_spaced(format_value(value) for value in state.payoffs())}"


def _legal(state: BettingState) -> str:
    words = ["f"] if state.can_fold() else []
    words.append(f"c({state.to_call})" if state.to_call else "c")
    if (bounds := state.raise_bounds()) is not None:
        least, greatest = bounds
        if state.rules.is_limit:
            words.append(f"r({least})")
        else:
            words.append(f"r{least}" if least == greatest else f"r{least}..r{greatest}")
    return " ".join(words)


def _choose(state: BettingState, stream: _Stream) -> str:
    bounds = state.raise_bounds()
    legal = {"f": state.can_fold(), "c": True, "r": bounds is not None}
    actions = [action for action, is_legal in legal.items() if is_legal]
    action = actions[stream.weighted([ACTION_WEIGHTS[action] for action in actions])]
    if action != "r" or bounds is None or state.rules.is_limit:
        return action
    least, greatest = bounds
    pot = sum(state.spent) + state.to_call
    pot_sized = min(greatest, max(least, state.largest + stream.between(pot // 2, pot)))
    return f"r{(least, pot_sized, stream.between(least, greatest), greatest)[stream.weighted(SIZE_WEIGHTS)]}"


# Bluff


def _bluff_header(rules: BluffRules) -> Iterator[str]:
    yield f"dice          {_spaced(rules.dice)}"
    yield f"faces         {FACES}, where * counts as every face"


def _bluff_game(rules: BluffRules, stream: _Stream, game_number: int) -> Iterator[str]:
    state = BluffState.start(rules)
    yield f"game {game_number}"
    while not state.is_over:
        yield f"  round       dice {_spaced(state.dice)}, player {state.player} starts"
        first, second = ([stream.below(len(FACES)) for _ in range(dice)] for dice in state.dice)
        state = state.roll((first, second))
        yield f"  rolls       {format_roll(first)} {format_roll(second)}"
        dice = state.dice
        while state.rolls is not None:
            action = _choose_bid(state, stream)
            bids = state.bids
            yield f"    player {state.player}  legal {_legal_bids(state)}  -> {action}"
            state = state.act(action)
        holds = "holds" if bid_holds(bids[-1], first, second) else "does not hold"
        loser = next(player for player in range(2) if state.dice[player] < dice[player])
        yield f"  challenge   {format_bid(bids[-1])} {holds}: player {loser} drops a die"
    yield f"  end         '{state.history}'"
    yield f"  payoffs     {_spaced(state.payoffs())}"


def _legal_bids(state: BluffState) -> str:
    least, greatest = (state.bids[-1] + 1 if state.bids else 0), num_bids(state.dice) - 1
    words = [f"{format_bid(least)}..{format_bid(greatest)}"] if least < greatest else []
    words += [format_bid(least)] if least == greatest else []
    words += [CALL_BLUFF] if state.can_call_bluff() else []
    return " ".join(words)


def _choose_bid(state: BluffState, stream: _Stream) -> str:
    least, greatest = (state.bids[-1] + 1 if state.bids else 0), num_bids(state.dice) - 1
    if least > greatest or (state.can_call_bluff() and stream.happens(CALL_BLUFF_PROBABILITY)):
        return CALL_BLUFF
    return format_bid(min(greatest, least + stream.below(MAX_BID_STEP)))


def _spaced(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a play-through; return the exit status."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Print random hands.")
    parser.add_argument("game", help="a game's name or an ACPC game file")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same hands")
    parser.add_argument("--hands", type=int, default=3, help="number of hands")
    options = parser.parse_args(arguments)
    try:
        sys.stdout.write(playthrough(load_game(options.game), options.seed, options.hands))
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
