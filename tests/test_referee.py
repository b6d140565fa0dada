"""Two independent referees: random hands end with the same chips, and the same actions are legal on the way.

PokerKit plays heads-up limit and no-limit hold'em, with equal and unequal stacks. OpenSpiel's
`universal_poker`, which runs the competition's own game code, plays any rules: three and four players,
side pots, caps on raises, short decks.

Conversions, each tested below: given the blinds (small, big), PokerKit's heads-up player 0 posts the big
one, so its seats are the competition's positions. PokerKit counts bets within a street, we count over
the hand; the difference is what the player had put in before the street.

Known differences: PokerKit does not count the big blind as the first of four bets, so the number of raises
before the flop is told to it. OpenSpiel's short decks hold the lowest ranks and first suits, ours the highest
and last, so cards are matched by their place in the deck; it overlooks the stacks of limit games, so those
are left to PokerKit.
"""

import random
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pyspiel
import pytest
from pokerkit import Automation, FixedLimitTexasHoldem, NoLimitTexasHoldem

import errai
from errai.cards.deck import FULL_DECK, Deck, format_card
from errai.games.acpc_files import format_game_file, read_game_file
from errai.games.betting import BettingState
from errai.games.hand import HandState
from errai.games.rules import UNLIMITED_RAISES, PokerRules

FILES = Path(__file__).parent / "game_files"

LIMIT = errai.load_game("limit-holdem")
NOLIMIT = errai.load_game("nolimit-holdem")

AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.RUNOUT_COUNT_SELECTION,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)
PLENTY = 100_000


# PokerKit


def pokerkit_state(rules: PokerRules):
    """Return PokerKit's state of the same heads-up game, after the blinds."""
    big, small = rules.blinds
    stacks = rules.stacks or (PLENTY, PLENTY)
    if rules.raise_sizes is None:
        return NoLimitTexasHoldem.create_state(AUTOMATIONS, True, 0, (small, big), big, stacks, 2)
    small_bet, _, _, big_bet = rules.raise_sizes
    state = FixedLimitTexasHoldem.create_state(
        AUTOMATIONS, True, 0, (small, big), small_bet, big_bet, stacks, 2
    )
    state.streets = tuple(
        replace(street, max_completion_betting_or_raising_count=count)
        for street, count in zip(state.streets, rules.max_raises, strict=True)
    )
    return state


def choose(state: BettingState, rng: random.Random) -> str:
    """Choose an action so that every kind of ending occurs: folds are rare, raises of all sizes common."""
    bounds = state.raise_bounds()
    kind = rng.choices(("f", "c", "r"), (1, 4, 4))[0]
    if kind == "r" and bounds is not None:
        least, greatest = bounds
        if state.rules.is_limit:
            return "r"
        near = min(greatest, least + 3 * state.rules.big_blind)
        totals = (least, rng.randint(least, near), rng.randint(least, greatest), greatest)
        return f"r{rng.choices(totals, (4, 4, 2, 1))[0]}"
    return "f" if kind == "f" and state.can_fold() else "c"


def assert_same_actions(ours: BettingState, theirs, before: tuple[int, ...]) -> None:
    """Compare who acts and what is legal; `before` is what each player had put in before this street."""
    assert theirs.actor_index == ours.player
    assert theirs.can_fold() == ours.can_fold()
    assert theirs.can_check_or_call() == ours.can_call()
    assert theirs.checking_or_calling_amount == ours.to_call
    bounds = ours.raise_bounds()
    assert theirs.can_complete_bet_or_raise_to() == (bounds is not None)
    if bounds is not None:
        shift = before[ours.player]
        assert theirs.min_completion_betting_or_raising_to_amount + shift == bounds[0]
        assert theirs.max_completion_betting_or_raising_to_amount + shift == bounds[1]


def play_against_pokerkit(rules: PokerRules, rng: random.Random) -> HandState:
    """Play one random hand in both, comparing every step; return our end."""
    deck = rng.sample(FULL_DECK.cards, 9)
    theirs = pokerkit_state(rules)
    start = theirs.starting_stacks
    ours = HandState.start(rules).deal_hole([deck[0:2], deck[2:4]])
    for hole in ours.holes:
        theirs.deal_hole("".join(map(format_card, hole)))
    dealt = 4
    before: tuple[int, ...] = (0, 0)
    while not ours.is_over:
        if due := ours.num_board_cards_due:
            cards = deck[dealt : dealt + due]
            dealt += due
            before = ours.betting.spent
            theirs.burn_card("??")
            theirs.deal_board("".join(map(format_card, cards)))
            ours = ours.deal_board(cards)
            continue
        assert_same_actions(ours.betting, theirs, before)
        action = choose(ours.betting, rng)
        player = ours.player
        ours = ours.act(action)
        if action == "f":
            theirs.fold()
        elif action == "c":
            theirs.check_or_call()
        else:
            theirs.complete_bet_or_raise_to(ours.betting.spent[player] - before[player])
        while ours.betting.is_showdown and theirs.can_show_or_muck_hole_cards():
            theirs.show_or_muck_hole_cards(True)
    assert theirs.status is False
    assert tuple(now - then for now, then in zip(theirs.stacks, start, strict=True)) == ours.payoffs()
    return ours


POKERKIT_GAMES = {
    "limit": LIMIT,
    "limit, all-ins": replace(LIMIT, stacks=(77, 77)),
    "limit, unequal stacks": replace(LIMIT, stacks=(130, 45)),
    "no-limit": NOLIMIT,
    "no-limit, 20 big blinds": replace(NOLIMIT, stacks=(2000, 2000)),
    "no-limit, odd chips": replace(NOLIMIT, blinds=(7, 3), stacks=(331, 331)),
    "no-limit, short button": replace(NOLIMIT, stacks=(3000, 150)),
    "no-limit, short big blind": replace(NOLIMIT, stacks=(430, 3000)),
}


def referee_with_pokerkit(name: str, num_hands: int, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    ends = [play_against_pokerkit(POKERKIT_GAMES[name], rng) for _ in range(num_hands)]
    # The comparison is worth something only if every kind of ending occurs.
    assert any(end.betting.is_showdown for end in ends)
    assert any(not end.betting.is_showdown for end in ends)
    if POKERKIT_GAMES[name].stacks is not None:
        assert any(end.betting.is_all_in(p) for end in ends for p in range(2))


@pytest.mark.parametrize("block", range(5))
@pytest.mark.parametrize("name", sorted(POKERKIT_GAMES))
def test_10_000_hands_against_pokerkit(name, block):
    referee_with_pokerkit(name, 250, block)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5, 15))
@pytest.mark.parametrize("name", sorted(POKERKIT_GAMES))
def test_100_000_hands_against_pokerkit(name, block):
    referee_with_pokerkit(name, 1250, block)


def test_pokerkits_seats_and_bets_are_converted():
    theirs, ours = pokerkit_state(NOLIMIT), BettingState.start(NOLIMIT)
    assert tuple(theirs.bets) == ours.spent == (100, 50)
    for hole in ("AsAd", "KsKd"):
        theirs.deal_hole(hole)
    assert tuple("".join(map(repr, cards)) for cards in theirs.hole_cards) == ("AsAd", "KsKd")
    assert theirs.actor_index == ours.player == 1
    theirs.complete_bet_or_raise_to(300)
    theirs.check_or_call()
    theirs.burn_card("??")
    theirs.deal_board("2c3c4c")
    ours = ours.raise_to(300).call()
    assert theirs.actor_index == ours.player == 0
    # The least bet on the flop: 100 within the street for PokerKit, 400 over the hand for us.
    assert theirs.min_completion_betting_or_raising_to_amount == 100
    assert ours.raise_bounds() == (400, 20000)


def test_pokerkit_counts_no_blind_as_a_bet():
    street = FixedLimitTexasHoldem.create_state(AUTOMATIONS, True, 0, (5, 10), 10, 20, 1000, 2).streets[0]
    assert (street.max_completion_betting_or_raising_count, LIMIT.max_raises[0]) == (4, 3)
    assert pokerkit_state(LIMIT).streets[0].max_completion_betting_or_raising_count == 3


# The competition's own game code, through OpenSpiel


@lru_cache(maxsize=4)
def dealers_game(rules: PokerRules):
    """Return OpenSpiel's game of the same rules, with every raise size as an action of its own."""
    game = pyspiel.universal_poker.load_universal_poker_from_acpc_gamedef(format_game_file(rules))
    if rules.is_limit:
        return game
    return pyspiel.load_game("universal_poker", {**game.get_parameters(), "bettingAbstraction": "fullgame"})


def random_rules(rng: random.Random) -> PokerRules:
    """Return small rules of any kind."""
    players, rounds = rng.randint(2, 4), rng.randint(1, 4)
    limit = rng.random() < 0.5
    blinds = [rng.randint(0, 6) for _ in range(players - 1)]
    blinds.insert(rng.randrange(players), rng.randint(1, 6))
    deepest = rng.choice((12, 40, 120))
    stacks = tuple(rng.randint(max(blinds) + 1, deepest) for _ in range(players))
    if rng.random() < 0.3:
        stacks = (stacks[0],) * players
    return PokerRules(
        name="random",
        deck=rng.choice((FULL_DECK, Deck.top(6, 4), Deck.top(13, 2))),
        num_hole_cards=rng.randint(1, 2),
        num_board_cards=(0, 3, 1, 1)[:rounds],
        blinds=tuple(blinds),
        raise_sizes=tuple(rng.randint(1, 12) for _ in range(rounds)) if limit else None,
        max_raises=tuple(rng.choice((0, 1, 2, 3, 4, UNLIMITED_RAISES)) for _ in range(rounds)),
        first_player=tuple(rng.randrange(players) for _ in range(rounds)),
        stacks=None if limit else stacks,
    )


def their_actions(ours: BettingState) -> list[int]:
    """Return our legal actions as OpenSpiel numbers them: 0 fold, 1 call, 2 a limit raise, N a raise to N."""
    actions = [0] * ours.can_fold() + [1] * ours.can_call()
    if (bounds := ours.raise_bounds()) is None:
        return actions
    return [*actions, 2] if ours.rules.is_limit else [*actions, *range(bounds[0], bounds[1] + 1)]


def play_against_the_dealer(rules: PokerRules, rng: random.Random) -> HandState:
    """Play one random hand in both, comparing every step; return our end."""
    theirs = dealers_game(rules).new_initial_state()
    deck = rng.sample(rules.deck.cards, rules.deck.size)
    hole = rules.num_hole_cards
    ours = HandState.start(rules).deal_hole([deck[i * hole :][:hole] for i in range(rules.num_players)])
    for card in deck[: hole * rules.num_players]:
        theirs.apply_action(rules.deck.position[card])
    del deck[: hole * rules.num_players]
    while not ours.is_over:
        if due := ours.num_board_cards_due:
            for card in deck[:due]:
                theirs.apply_action(rules.deck.position[card])
            ours = ours.deal_board(deck[:due])
            del deck[:due]
            continue
        assert theirs.current_player() == ours.player
        assert theirs.legal_actions() == their_actions(ours.betting)
        action = choose(ours.betting, rng)
        ours = ours.act(action)
        theirs.apply_action({"f": 0, "c": 1, "r": 2}.get(action) or int(action[1:] or 0))
    assert theirs.is_terminal()
    assert f":{ours.betting.betting}:" in str(theirs)
    assert theirs.returns() == pytest.approx([float(value) for value in ours.payoffs()], abs=1e-9)
    return ours


DEALERS_GAMES = {
    "limit": LIMIT,
    "limit, three players": read_game_file(FILES / "holdem.limit.3p.game"),
    "kuhn, three players": read_game_file(FILES / "kuhn.limit.3p.game"),
    "leduc": read_game_file(FILES / "leduc.limit.2p.game"),
    "no-limit, 50 big blinds": replace(NOLIMIT, blinds=(2, 1), stacks=(100, 100)),
}


@pytest.mark.parametrize("name", sorted(DEALERS_GAMES))
def test_1_000_hands_of_named_games_against_the_dealers_code(name):
    rng = random.Random(name)
    for _ in range(200):
        play_against_the_dealer(DEALERS_GAMES[name], rng)


def referee_with_the_dealer(num_games: int, seed: int) -> None:
    """Play 20 hands of each of many random games."""
    rng = random.Random(seed)
    sides = 0
    for _ in range(num_games):
        rules = random_rules(rng)
        for _ in range(20):
            end = play_against_the_dealer(rules, rng).betting
            live = {chips for chips, folded in zip(end.spent, end.folded, strict=True) if not folded}
            sides += len(live) > 2
    assert sides > 0  # side pots between three or more players have occurred


@pytest.mark.parametrize("seed", range(4))
def test_random_games_against_the_dealers_code(seed):
    referee_with_the_dealer(60, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 14))
def test_many_random_games_against_the_dealers_code(seed):
    referee_with_the_dealer(500, seed)
