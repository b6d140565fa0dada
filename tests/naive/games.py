"""Slow obvious twins and random material for the tests of games."""

import random
from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st

from errai.cards.deck import FULL_DECK, Deck
from errai.games.betting import BettingState
from errai.games.hand import HandState
from errai.games.rules import UNLIMITED_RAISES, PokerRules

NOLIMIT_3 = PokerRules(
    name="no-limit hold'em for three",
    deck=FULL_DECK,
    num_hole_cards=2,
    num_board_cards=(0, 3, 1, 1),
    blinds=(50, 100, 0),
    raise_sizes=None,
    max_raises=(UNLIMITED_RAISES,) * 4,
    first_player=(2, 0, 0, 0),
    stacks=(1000, 2000, 3000),
)


def naive_payoffs(spent: Sequence[int], folded: Sequence[bool], strengths: Sequence[int]) -> list[Fraction]:
    """Hand out the pot chip by chip: the n-th chip of every player forms a pot of its own."""
    net = [Fraction(-chips) for chips in spent]
    for n in range(1, max(spent) + 1):
        payers = [p for p, chips in enumerate(spent) if chips >= n]
        live = [p for p in payers if not folded[p]]
        winners = [p for p in live if strengths[p] == max(strengths[q] for q in live)]
        for p in winners:
            net[p] += Fraction(len(payers), len(winners))
    return net


def legal_actions(state: BettingState | HandState, rng: random.Random | None = None) -> list[str]:
    """Return the legal actions as text; of no-limit raises the bounds, and one between if `rng` is given."""
    betting = state.betting if isinstance(state, HandState) else state
    actions = [text for text, can in (("f", state.can_fold()), ("c", state.can_call())) if can]
    bounds = betting.raise_bounds()
    if bounds is None:
        return actions
    if betting.rules.is_limit:
        return [*actions, "r"]
    totals = {*bounds, *([rng.randint(*bounds)] if rng else [])}
    return actions + [f"r{total}" for total in sorted(totals)]


def play_randomly(rules: PokerRules, rng: random.Random) -> list[BettingState]:
    """Return the states of one random betting, first to last."""
    states = [BettingState.start(rules)]
    while not states[-1].is_over:
        states.append(states[-1].act(rng.choice(legal_actions(states[-1], rng))))
    return states


def _tuples(values: st.SearchStrategy[int], length: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[values] * length)


@st.composite
def poker_rules(draw: st.DrawFn, max_players: int = 4, max_stack: int = 60) -> PokerRules:
    """Draw any small game: limit or not, with or without stacks, equal or unequal, antes or blinds."""
    players = draw(st.integers(2, max_players))
    rounds = draw(st.integers(1, 4))
    limit = draw(st.booleans())
    blinds = draw(_tuples(st.integers(0, 6), players).filter(any))
    stacks = draw(_tuples(st.integers(max(blinds) + 1, max_stack), players))
    return PokerRules(
        name="random",
        deck=draw(st.sampled_from([FULL_DECK, Deck.top(6, 4), Deck.top(13, 2)])),
        num_hole_cards=draw(st.integers(1, 2)),
        num_board_cards=(0, 3, 1, 1)[:rounds],
        blinds=blinds,
        raise_sizes=draw(_tuples(st.integers(1, 12), rounds)) if limit else None,
        max_raises=draw(_tuples(st.one_of(st.integers(0, 4), st.just(UNLIMITED_RAISES)), rounds)),
        first_player=draw(_tuples(st.integers(0, players - 1), rounds)),
        stacks=None if limit and draw(st.booleans()) else stacks,
    )
