"""The betting against the competition's rules: legal actions, sizes, caps, ends of rounds, pots."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.games import NOLIMIT_3, legal_actions, naive_payoffs, play_randomly, poker_rules

import errai
from errai.errors import UsageError
from errai.games.acpc_files import read_game_file
from errai.games.betting import NOBODY, BettingState, replay
from errai.games.rules import MAX_ACTIONS_A_ROUND

FILES = Path(__file__).parent / "game_files"

KUHN = errai.load_game("kuhn")
LEDUC = errai.load_game("leduc")
LIMIT = errai.load_game("limit-holdem")
NOLIMIT = errai.load_game("nolimit-holdem")
KUHN_3 = read_game_file(FILES / "kuhn.limit.3p.game")
LIMIT_3 = read_game_file(FILES / "holdem.limit.3p.game")


# Who acts


def test_reverse_blinds_the_button_acts_first_before_the_flop_and_last_after_it():
    start = BettingState.start(LIMIT)
    assert (start.player, start.spent, start.to_call) == (1, (10, 5), 5)
    assert start.call().player == 0
    flop = replay(LIMIT, "cc/")
    assert (flop.round, flop.player, flop.call().player) == (1, 0, 1)


def test_three_players_act_in_order_and_the_big_blind_has_an_option():
    state = BettingState.start(LIMIT_3)
    assert (state.player, state.to_call) == (2, 10)
    state = state.call()
    assert (state.player, state.to_call) == (0, 5)
    state = state.call()
    assert (state.player, state.to_call, state.can_fold(), state.can_raise_to()) == (1, 0, False, True)
    assert state.call().betting == "ccc/"
    raised = state.raise_to()
    assert (raised.spent, raised.player, raised.pending) == ((10, 20, 10), 2, (True, False, True))


def test_folded_players_are_passed_over():
    state = replay(LIMIT_3, "cfc/")
    assert (state.folded, state.player) == ((True, False, False), 1)
    assert replay(LIMIT_3, "cfc/c").player == 2
    assert replay(LIMIT_3, "cfc/rf").is_over


def test_all_in_players_are_passed_over():
    # Position 0 has 1,000 chips, calls all-in and does not act any more; the others play on.
    state = replay(NOLIMIT_3, "r1500cc/")
    assert state.spent == (1000, 1500, 1500)
    assert [state.is_all_in(p) for p in range(3)] == [True, False, False]
    assert state.player == 1
    assert replay(NOLIMIT_3, "r1500cc/c").player == 2
    assert replay(NOLIMIT_3, "r1500cc/cc/").player == 1


# Folding


def test_a_fold_needs_a_bet():
    assert BettingState.start(LIMIT).can_fold()
    assert not replay(LIMIT, "c").can_fold()
    assert not replay(LIMIT, "cc/").can_fold()
    assert not BettingState.start(LEDUC).can_fold()
    with pytest.raises(UsageError, match="a fold is legal only when facing a bet"):
        replay(LIMIT, "c").fold()


# Limit raises


@pytest.mark.parametrize(
    ("betting", "spent"),
    [
        ("r", (10, 20)),
        ("rrr", (30, 40)),
        ("cc/r", (20, 10)),
        ("cc/cc/r", (30, 10)),
        ("rrrc/rrrrc/rrrrc/rrrrc", (240, 240)),
    ],
)
def test_limit_raises_have_one_size_a_round(betting, spent):
    assert replay(LIMIT, betting).spent == spent


def test_the_cap_on_raises():
    # The big blind is the first of four bets before the flop: three raises there, four later.
    assert replay(LIMIT, "rr").can_raise_to()
    assert not replay(LIMIT, "rrr").can_raise_to()
    assert replay(LIMIT, "cc/rrr").can_raise_to()
    assert not replay(LIMIT, "cc/rrrr").can_raise_to()
    assert replay(LIMIT, "rrr").raise_bounds() is None
    with pytest.raises(UsageError, match="no raise is legal here: a round has at most 3 raises"):
        replay(LIMIT, "rrr").raise_to()
    assert not replay(KUHN, "r").can_raise_to()
    assert not replay(LEDUC, "rr").can_raise_to()


def test_a_limit_raise_has_no_other_size():
    state = BettingState.start(LIMIT)
    assert state.raise_bounds() == (20, 20)
    assert state.raise_to(20) == state.raise_to()
    with pytest.raises(
        UsageError, match="a raise to 25 is not legal in a limit game: the only raise here is to 20"
    ):
        state.raise_to(25)


def test_a_limit_raise_stops_at_the_stack():
    short = replace(LIMIT, stacks=(100, 27))
    state = replay(short, "rr")
    assert state.raise_bounds() is None  # position 1 has 27 chips and faces 30
    state = replay(short, "r")
    assert state.raise_bounds() == (30, 30)
    assert replay(short, "rrc").spent == (30, 27)
    assert replay(short, "rrc").betting == "rrc///"
    assert BettingState.start(replace(LIMIT, stacks=(100, 17))).raise_bounds() == (17, 17)


# No-limit raises


@pytest.mark.parametrize(
    ("betting", "bounds"),
    [
        ("", (200, 20000)),  # twice the big blind
        ("c", (200, 20000)),
        ("r200", (300, 20000)),
        ("r300", (500, 20000)),  # a raise of 200 is raised by at least 200
        ("r300r500", (700, 20000)),
        ("r300r1000", (1700, 20000)),
        ("r300c/", (400, 20000)),  # one big blind on the flop
        ("r300c/c", (400, 20000)),
        ("r300c/r400", (500, 20000)),
        ("r300c/r900", (1500, 20000)),
        ("r300c/r900c/", (1000, 20000)),  # the least raise starts anew in each round
        ("r19950c/", (20000, 20000)),  # all-in for less than a big blind
        ("r10000", (19900, 20000)),
        ("r15000", (20000, 20000)),  # all-in for less than the last raise
        ("r20000", None),  # no raise against an all-in
        ("r300c/r20000", None),
        ("r20000c///", None),
    ],
)
def test_least_and_greatest_raise(betting, bounds):
    state = replay(NOLIMIT, betting)
    assert state.raise_bounds() == bounds
    if bounds is not None:
        least, greatest = bounds
        assert state.can_raise_to(least)
        assert state.can_raise_to(greatest)
        assert not state.can_raise_to(least - 1)
        assert not state.can_raise_to(greatest + 1)
        assert not state.can_raise_to()


def test_wrong_raises_name_what_is_valid():
    state = replay(NOLIMIT, "r300c/")
    with pytest.raises(UsageError, match="a raise to 399 is not legal: expected 400 to 20000 here"):
        state.raise_to(399)
    with pytest.raises(UsageError, match="a raise to 20001 is not legal: expected 400 to 20000 here"):
        state.raise_to(20001)
    with pytest.raises(UsageError, match="a raise in a no-limit game names its total, from 400 to 20000"):
        state.raise_to()
    with pytest.raises(UsageError, match="no raise is legal here: every opponent is all-in"):
        replay(replace(NOLIMIT, stacks=(5000, 20000)), "cc/r5000").raise_to(10000)
    with pytest.raises(UsageError, match="the player's stack of 20000 does not exceed the bet of 20000"):
        replay(NOLIMIT, "r20000").raise_to(20000)


def test_a_short_all_in_does_not_lower_the_least_raise():
    # Position 2 raises to 900 (by 800), position 0 is all-in with 1,000, position 1 may raise to 1,700.
    state = replay(NOLIMIT_3, "r900r1000")
    assert (state.player, state.raise_bounds()) == (1, (1700, 2000))
    # The competition's dealer lets the first raiser raise again after a short all-in.
    assert replay(NOLIMIT_3, "r900r1000c").raise_bounds() == (1700, 3000)


def test_no_raise_when_the_rest_have_folded_or_are_all_in():
    # Position 0 is all-in with 1,000 chips, position 1 folds: position 2 has 3,000, but nobody could answer.
    state = replay(NOLIMIT_3, "r900r1000f")
    assert (state.player, state.to_call, state.raise_bounds()) == (2, 100, None)
    assert state.call().betting == "r900r1000fc///"


def test_blinds_without_a_small_one():
    rules = replace(NOLIMIT, blinds=(1, 1), first_player=(0,) * 4, stacks=(10, 10))
    assert BettingState.start(rules).raise_bounds() == (2, 10)
    assert replay(rules, "cc/").raise_bounds() == (2, 10)


def test_at_most_64_actions_a_round():
    tiny = replace(NOLIMIT, blinds=(2, 1))
    state = BettingState.start(tiny)
    while (bounds := state.raise_bounds()) is not None:
        state = state.raise_to(bounds[0])
    # A raise is taken only if it can still be called, so the 63rd action is the last raise.
    assert state.num_actions == MAX_ACTIONS_A_ROUND - 1
    with pytest.raises(UsageError, match="no raise is legal here: a round has at most 64 actions"):
        state.raise_to(20000)
    assert state.call().round == 1


# Text


def test_all_in_deals_the_remaining_rounds_without_betting():
    state = replay(NOLIMIT, "r20000c///")
    assert (state.is_over, state.is_showdown, state.round, state.player) == (True, True, 3, NOBODY)
    assert replay(NOLIMIT, "r20000c") == state
    assert replay(NOLIMIT, "r300c/r20000c").betting == "r300c/r20000c//"
    assert replay(NOLIMIT, "cc/cc/cc/r20000c").betting == "cc/cc/cc/r20000c"
    assert state.to_call == 0


def test_a_fold_ends_the_hand_where_it_is():
    state = replay(NOLIMIT, "cc/r300f")
    assert (state.is_over, state.is_showdown, state.round, state.betting) == (True, False, 1, "cc/r300f")


@pytest.mark.parametrize(
    ("rules", "betting", "sentence"),
    [
        (
            LIMIT,
            "x",
            "'x' is illegal at position 0, action 'x': 'x' is not an action: expected 'f', 'c' or 'r'",
        ),
        (LIMIT, "cf", "'cf' is illegal at position 1, action 'f': a fold is legal only when facing a bet"),
        (
            LIMIT,
            "rrrr",
            "position 3, action 'r': no raise is legal here: a round has at most 3 raises",
        ),
        (LIMIT, "r20", "position 0, action 'r20': 'r20' is not an action: expected 'f', 'c' or 'r'"),
        (LIMIT, "ccc", "'ccc' is illegal at position 2: a '/' is missing where the round ends"),
        (LIMIT, "c/c", "'c/c' is illegal at position 1: a '/' stands where no round ends"),
        (LIMIT, "/", "'/' is illegal at position 0: a '/' stands where no round ends"),
        (LIMIT, "cc//", "'cc//' is illegal at position 3: a '/' stands where no round ends"),
        (LIMIT, "fc", "'fc' is illegal at position 1, action 'c': the hand is over"),
        (LIMIT, "cc/cc/cc/cc/", "at position 11: a '/' stands where no round ends"),
        (LIMIT, "cc/cc/cc/ccc", "at position 11, action 'c': the hand is over: no action is legal any more"),
        (
            NOLIMIT,
            "r",
            "position 0, action 'r': a raise in a no-limit game names its total, from 200 to 20000",
        ),
        (
            NOLIMIT,
            "r199",
            "position 0, action 'r199': a raise to 199 is not legal: expected 200 to 20000 here",
        ),
        (
            NOLIMIT,
            "r300c/r399",
            "position 6, action 'r399': a raise to 399 is not legal: expected 400 to 20000",
        ),
        (NOLIMIT, "r20001", "position 0, action 'r20001': a raise to 20001 is not legal"),
        (NOLIMIT, "r20000r20000", "position 6, action 'r20000': no raise is legal here"),
        (NOLIMIT, "r20000c////", "position 10: a '/' stands where no round ends"),
        (NOLIMIT, "r20000cc", "position 7: a '/' is missing where the round ends"),
        (NOLIMIT, "r20000c///c", "position 10, action 'c': the hand is over"),
        (
            NOLIMIT,
            "r0300",
            "position 0, action 'r0300': 'r0300' is not an action: .* 'rN' with N chips of 1 to 10 digits",
        ),
        (NOLIMIT, "r" + "9" * 5000, "position 0, action 'r9+': 'r9+' is not an action"),
        (NOLIMIT, "r3\u06600", "is not an action"),
        (NOLIMIT, "r-300", "position 0, action 'r': a raise in a no-limit game names its total"),
        (NOLIMIT, "C", "'C' is illegal at position 0, action 'C': 'C' is not an action"),
    ],
)
def test_illegal_strings_name_the_action_and_its_position(rules, betting, sentence):
    with pytest.raises(UsageError, match=sentence):
        replay(rules, betting)


# The end


def test_payoffs_of_folds():
    assert replay(LIMIT, "f").payoffs() == (5, -5)
    assert replay(LIMIT, "rf").payoffs() == (-10, 10)
    assert replay(LIMIT, "rrf").payoffs() == (20, -20)
    # The uncalled part of a raise does not count.
    assert replay(NOLIMIT, "r300r20000f").payoffs() == (300, -300)
    assert replay(LIMIT_3, "rff").payoffs() == (-5, -10, 15)
    assert replay(KUHN_3, "ccrff").payoffs() == (-1, -1, 2)


def test_payoffs_of_showdowns():
    ended = replay(KUHN, "rc")
    assert (ended.payoffs((2, 1)), ended.payoffs((1, 2)), ended.payoffs((1, 1))) == ((2, -2), (-2, 2), (0, 0))
    # A short all-in call returns the rest of the bet.
    short = replay(replace(NOLIMIT, stacks=(700, 20000)), "r20000c")
    assert short.payoffs((1, 2)) == (-700, 700)


def test_side_pots():
    # 1,000, 2,000 and 3,000 chips all-in: a main pot of 3,000, a side pot of 2,000, and 1,000 uncalled.
    ended = replay(NOLIMIT_3, "r3000cc")
    assert ended.spent == (1000, 2000, 3000)
    assert ended.payoffs((3, 2, 1)) == (2000, 0, -2000)
    assert ended.payoffs((1, 3, 2)) == (-1000, 3000, -2000)
    assert ended.payoffs((1, 2, 3)) == (-1000, -2000, 3000)
    assert ended.payoffs((2, 2, 1)) == (500, 1500, -2000)
    assert ended.payoffs((2, 2, 2)) == (0, 0, 0)


def test_odd_chips_are_shared_exactly():
    # Position 0 leaves its blind of 5 behind, the others share the pot of 25.
    ended = replay(LIMIT_3, "cfc/cc/cc/cc")
    assert ended.payoffs((9, 1, 1)) == (-5, Fraction(5, 2), Fraction(5, 2))
    four = replace(NOLIMIT_3, blinds=(50, 100, 0, 0), stacks=(1000,) * 4)
    ended = replay(four, "ccfc/ccc/ccc/ccc")
    assert ended.payoffs((0, 1, 1, 1)) == (-50, *[Fraction(50, 3)] * 3)


def test_payoffs_need_the_end_and_the_strengths():
    with pytest.raises(UsageError, match="the hand is not over after 'cc/'"):
        replay(LIMIT, "cc/").payoffs()
    with pytest.raises(UsageError, match="'rc' ends in a showdown: expected the strengths of the hands"):
        replay(KUHN, "rc").payoffs()
    with pytest.raises(UsageError, match="expected 2 strengths, not 3"):
        replay(KUHN, "rc").payoffs((1, 2, 3))


# Everything at once


@given(rules=poker_rules(), seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=300, deadline=None)
def test_random_play_ends_conserves_chips_and_replays(rules, seed, data):
    states = play_randomly(rules, random.Random(seed))
    end = states[-1]
    assert len(states) <= 1 + rules.num_rounds * MAX_ACTIONS_A_ROUND
    assert len(legal_actions(end)) == 0
    for state in states:
        assert replay(rules, state.betting) == state
        assert all(spent <= state.stack_of(p) for p, spent in enumerate(state.spent))
    for before, after in pairwise(states):
        assert not before.folded[before.player]
        assert not before.is_all_in(before.player)
        assert after.num_actions <= MAX_ACTIONS_A_ROUND
    strengths = data.draw(st.tuples(*[st.integers(0, 2)] * rules.num_players))
    payoffs = end.payoffs(strengths)
    assert sum(payoffs) == 0
    assert list(payoffs) == naive_payoffs(end.spent, end.folded, strengths)


@pytest.mark.parametrize(
    ("rules", "sequences", "continuing"),
    [
        # Betting sequences a round of heads-up limit hold'em: Johanson's thesis, table 5.2.
        (LIMIT, [8, 70, 630, 5670], [7, 63, 567]),
        (errai.load_game("holdem-2-1"), [4, 12], [3]),
        (LEDUC, [6, 30], [5]),
        (errai.load_game("rhode-island"), [8, 56, 392], [7, 49]),
        (KUHN, [4], []),
    ],
)
def test_numbers_of_betting_sequences(rules, sequences, continuing):
    inside = [0] * rules.num_rounds
    entries = [0] * rules.num_rounds
    stack = [BettingState.start(rules)]
    while stack:
        state = stack.pop()
        if state.is_over:
            continue
        inside[state.round] += 1
        entries[state.round] += state.num_actions == 0
        stack += [state.act(action) for action in legal_actions(state)]
    assert inside == sequences
    assert entries == [1, *continuing]
