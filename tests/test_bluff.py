"""Bluff: every rule by hand, whole games at random, and OpenSpiel's liar's dice for single rounds."""

import random
from itertools import product

import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import errai
from errai.errors import UsageError
from errai.games.bluff import (
    CALL_BLUFF,
    STAR,
    BluffRules,
    BluffState,
    bid_holds,
    format_bid,
    format_roll,
    num_bids,
    parse_bid,
    parse_roll,
    replay_bids,
    roll_probability,
    rolls,
)

BLUFF_1_1 = errai.load_game("bluff-1-1")
BLUFF_2_1 = errai.load_game("bluff-2-1")
BLUFF_2_2 = errai.load_game("bluff-2-2")


def rolled(rules: BluffRules, first: str, second: str) -> BluffState:
    return BluffState.start(rules).roll((parse_roll(first), parse_roll(second)))


# Bids


def test_bids_ascend_by_quantity_then_face_and_the_star_is_the_highest_face():
    bids = [format_bid(bid) for bid in range(num_bids((1, 1)))]
    assert bids == ["1-1", "1-2", "1-3", "1-4", "1-5", "1-*", "2-1", "2-2", "2-3", "2-4", "2-5", "2-*"]
    assert [parse_bid(text, (1, 1)) for text in bids] == list(range(12))


@pytest.mark.parametrize(
    "text", ["", "3-1", "0-1", "1-6", "1-0", "1", "1-", "-1", "1-11", "01-1", "\u00b2-5", "1 -1", "b"]
)
def test_what_is_not_a_bid(text):
    with pytest.raises(
        UsageError, match="is not a bid: expected a quantity from 1 to 2, '-' and a face of 12345"
    ):
        parse_bid(text, (1, 1))


def test_a_bid_must_exceed_the_last_one():
    state = rolled(BLUFF_2_2, "12", "34").act("2-3")
    assert format_bid(next(bid for bid in range(24) if state.can_bid(bid))) == "2-4"
    assert state.can_bid(parse_bid("3-1", (2, 2)))  # lowering the face is allowed if the quantity grows
    for lower in ("2-3", "2-2", "1-*"):
        with pytest.raises(UsageError, match=f"the bid {lower[0]}-.* does not exceed the last bid 2-3"):
            state.act(lower)
    with pytest.raises(UsageError, match="bid number 24 is not legal: 0 to 23 exist here"):
        state.bid(24)
    with pytest.raises(UsageError, match="bid number -1 is not legal"):
        state.bid(-1)


def test_after_the_highest_bid_only_a_call_is_left():
    state = rolled(BLUFF_1_1, "1", "2").act("2-*")
    assert not any(state.can_bid(bid) for bid in range(12))
    assert state.can_call_bluff()


def test_replayed_bids_name_the_position():
    assert replay_bids((2, 1), "1-2,1-5,3-*") == (1, 4, 17)
    assert replay_bids((2, 1), "") == ()
    with pytest.raises(
        UsageError, match=r"'1-2,1-2' is illegal at position 4, action '1-2': it does not exceed"
    ):
        replay_bids((2, 1), "1-2,1-2")
    with pytest.raises(
        UsageError, match=r"'1-2,4-1' is illegal at position 4, action '4-1': '4-1' is not a bid"
    ):
        replay_bids((2, 1), "1-2,4-1")
    with pytest.raises(UsageError, match=r"at position 4, action ''"):
        replay_bids((2, 1), "1-2,")


# Dice


def test_stars_count_as_every_face():
    holds = {("1-3", "3", "1"), ("1-3", "*", "1"), ("2-3", "3", "*"), ("2-3", "*", "*"), ("1-*", "1", "*")}
    fails = {("1-3", "2", "1"), ("2-3", "3", "1"), ("1-*", "3", "1"), ("2-*", "*", "1")}
    for bid, first, second in holds | fails:
        assert bid_holds(parse_bid(bid, (1, 1)), parse_roll(first), parse_roll(second)) == (
            (bid, first, second) in holds
        )


def test_rolls_and_their_probabilities():
    assert [len(rolls(n)) for n in (1, 2, 3)] == [6, 21, 56]
    for n in (1, 2, 3, 4):
        assert sum(roll_probability(roll) for roll in rolls(n)) == pytest.approx(1)
    assert roll_probability(parse_roll("33")) == pytest.approx(1 / 36)
    assert roll_probability(parse_roll("3*")) == pytest.approx(2 / 36)
    assert roll_probability(parse_roll("123")) == pytest.approx(6 / 216)
    assert format_roll(parse_roll("*31")) == "13*"
    for text in ("", "6", "1x", "0"):
        with pytest.raises(UsageError, match="is not a roll: expected one face of"):
            parse_roll(text)


def test_dice_are_rolled_once_before_the_bids():
    state = BluffState.start(BLUFF_2_1)
    with pytest.raises(UsageError, match="the dice of this round are not rolled yet"):
        state.act("1-1")
    with pytest.raises(UsageError, match=r"\[0\] is not a roll of player 0: expected 2 faces from 0 to 5"):
        state.roll(((0,), (1,)))
    assert not state.can_roll(((0, 6), (1,)))
    assert state.can_roll(((0, 5), (1,)))
    state = state.roll(((5, 0), (1,)))
    assert state.rolls == ((0, 5), (1,))
    with pytest.raises(UsageError, match="the dice of this round are rolled already"):
        state.roll(((5, 0), (1,)))


# Challenges


def test_bluff_cannot_be_called_before_a_bid():
    state = rolled(BLUFF_1_1, "1", "2")
    assert not state.can_call_bluff()
    with pytest.raises(UsageError, match="bluff cannot be called before the first bid"):
        state.act("b")


def test_the_caller_wins_if_the_bid_does_not_hold():
    end = rolled(BLUFF_1_1, "1", "2").act("1-3").act("b")
    assert (end.is_over, end.player, end.dice, end.payoffs()) == (True, -1, (0, 1), (-1, 1))
    assert end.history == "1-3,b"


def test_the_caller_loses_if_the_bid_holds():
    end = rolled(BLUFF_1_1, "1", "*").act("1-3").act("b")
    assert (end.dice, end.payoffs()) == ((1, 0), (1, -1))


def test_the_loser_drops_a_die_and_the_winner_starts():
    # Player 0 bids, player 1 calls; the bid does not hold: player 1 has won the round and starts.
    state = rolled(BLUFF_2_2, "12", "34").act("1-5").act("b")
    assert (state.dice, state.player, state.rolls, state.bids, state.is_over) == ((1, 2), 1, None, (), False)
    # The bid holds: player 0, who made it, has won and starts.
    state = rolled(BLUFF_2_2, "15", "34").act("1-5").act("b")
    assert (state.dice, state.player) == ((2, 1), 0)
    # Player 1 bids last and is right: player 1 starts.
    state = rolled(BLUFF_2_2, "15", "34").act("1-1").act("1-3").act("b")
    assert (state.dice, state.player) == ((1, 2), 1)


def test_a_whole_game():
    state = rolled(BLUFF_2_1, "3*", "3").act("2-3").act("3-3").act("b")
    assert (state.dice, state.player, state.history) == ((1, 1), 1, "2-3,3-3,b/")
    state = state.roll((parse_roll("1"), parse_roll("2"))).act("2-2")
    assert state.player == 0
    state = state.act("b")
    assert (state.dice, state.payoffs(), state.history) == ((1, 0), (1, -1), "2-3,3-3,b/2-2,b")
    for step in (lambda: state.act("1-1"), lambda: state.act("b")):
        with pytest.raises(UsageError, match="the game is over: no action is legal any more"):
            step()
    with pytest.raises(UsageError, match="the game is over: no dice are rolled any more"):
        state.roll(((0,), ()))


def test_payoffs_need_the_end():
    with pytest.raises(UsageError, match="the game is not over after '1-1'"):
        rolled(BLUFF_1_1, "1", "2").act("1-1").payoffs()


@pytest.mark.parametrize(
    ("dice", "stages"),
    [
        ((1, 1), ((1, 1),)),
        ((2, 1), ((2, 1), (1, 1))),
        ((1, 2), ((1, 2), (1, 1))),
        ((2, 2), ((2, 2), (2, 1), (1, 1))),
        ((3, 1), ((3, 1), (1, 2), (1, 1))),
        ((3, 2), ((3, 2), (3, 1), (2, 2), (2, 1), (1, 2), (1, 1))),
    ],
)
def test_stages_are_what_rounds_can_start_with(dice, stages):
    rules = BluffRules("x", dice)
    assert rules.stages() == stages
    # The same by walking every way the rounds can be won and lost.
    seen = set()
    frontier = [(dice, 0)]
    while frontier:
        left, starter = frontier.pop()
        if min(left) > 0:
            seen.add((left[starter], left[1 - starter]))
            frontier += [((left[0] - (loser == 0), left[1] - (loser == 1)), 1 - loser) for loser in (0, 1)]
    assert set(stages) == seen


def test_impossible_dice_are_refused():
    with pytest.raises(UsageError, match=r"each player of Bluff must have 1 to 4 dice, not \(0, 1\)"):
        BluffRules("x", (0, 1))


def test_number_of_information_sets():
    # Any set of the 24 bids may have been made, and a player sees one of 21 rolls.
    # Source: "352 million information sets", Johanson's thesis, chapter 3.
    assert 2 ** num_bids((2, 2)) * len(rolls(2)) == 352_321_536


@given(dice=st.tuples(st.integers(1, 4), st.integers(1, 4)), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_random_games_end(dice, seed):
    rng = random.Random(seed)
    state = BluffState.start(BluffRules("x", dice))
    rounds = 0
    while not state.is_over:
        before = state
        first, second = ([rng.randrange(6) for _ in range(n)] for n in state.dice)
        state = state.roll((first, second))
        bids = []
        while state.rolls is not None:
            legal = [bid for bid in range(num_bids(state.dice)) if state.can_bid(bid)]
            if state.can_call_bluff() and (not legal or rng.random() < 0.4):
                caller = state.player
                state = state.call_bluff()
            else:
                bids.append(rng.choice(legal[:7]))
                state = state.bid(bids[-1])
        assert bids == sorted(set(bids))
        # Counted by hand: dice that show the face or a star, against the quantity.
        matching = sum(die in (bids[-1] % 6, STAR) for die in (*first, *second))
        loser = caller if matching >= bids[-1] // 6 + 1 else 1 - caller
        assert [a - b for a, b in zip(before.dice, state.dice, strict=True)] == [loser == 0, loser == 1]
        assert state.is_over or state.player == 1 - loser
        rounds += 1
    assert rounds <= sum(dice) - 1
    assert sorted(state.payoffs()) == [-1, 1]
    assert state.dice[state.payoffs().index(-1)] == 0


# OpenSpiel's liar's dice: the same order of bids (rule "reset-face"), and its face 6 is wild like our star,
# which we write `*`. It differs in two ways: it ends after one challenge, so its returns are compared with
# who loses our round, and both players have equally many dice.


@pytest.mark.parametrize("rules", [BLUFF_1_1, BLUFF_2_2])
def test_rounds_agree_with_openspiel(rules):
    game = pyspiel.load_game(f"liars_dice(numdice={rules.dice[0]},dice_sides=6,bidding_rule=reset-face)")
    call = game.num_distinct_actions() - 1
    assert call == num_bids(rules.dice)
    rng = random.Random(1)
    for dice in list(product(range(6), repeat=sum(rules.dice)))[:: 7 if rules is BLUFF_2_2 else 1]:
        theirs = game.new_initial_state()
        for face in dice:
            theirs.apply_action(face)
        ours = BluffState.start(rules).roll((dice[: rules.dice[0]], dice[rules.dice[0] :]))
        while ours.rolls is not None:
            legal = [bid for bid in range(call) if ours.can_bid(bid)] + [call] * ours.can_call_bluff()
            assert (theirs.current_player(), theirs.legal_actions()) == (ours.player, legal)
            bids = [action for action in legal if action != call]
            for bid in bids:
                assert theirs.action_to_string(ours.player, bid) == format_bid(bid).replace("*", "6")
            action = rng.choice(bids[:6] + legal[-1:])
            theirs.apply_action(action)
            ours = ours.act(CALL_BLUFF if action == call else format_bid(action))
        assert theirs.is_terminal()
        lost = [now < before for now, before in zip(ours.dice, rules.dice, strict=True)]
        assert theirs.returns() == [-1 if loses else 1 for loses in lost]


def test_openspiels_other_order_of_bids_is_not_ours():
    state = pyspiel.load_game("liars_dice(bidding_rule=reset-quantity)").new_initial_state()
    state.apply_action(0)
    state.apply_action(0)
    names = [state.action_to_string(0, action) for action in state.legal_actions()]
    assert names[:4] == ["1-1", "2-1", "1-2", "2-2"]
