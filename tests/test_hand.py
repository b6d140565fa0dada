"""Hands with cards: deals at the right time, run-outs, payoffs with real strengths, OpenSpiel's toy games."""

import random
from collections.abc import Iterator
from itertools import permutations

import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.games import legal_actions, naive_payoffs, poker_rules

import errai
from errai.cards.deck import RANKS, parse_cards, rank_of
from errai.errors import UsageError
from errai.games.betting import NOBODY
from errai.games.hand import HandState, showdown_strength, showdown_strengths

KUHN = errai.load_game("kuhn")
LEDUC = errai.load_game("leduc")
RHODE_ISLAND = errai.load_game("rhode-island")
LIMIT = errai.load_game("limit-holdem")
NOLIMIT = errai.load_game("nolimit-holdem")


def dealt(rules, *holes: str) -> HandState:
    return HandState.start(rules).deal_hole([parse_cards(hole) for hole in holes])


def test_a_hand_of_limit_holdem_step_by_step():
    state = HandState.start(LIMIT)
    assert (state.player, state.is_over, state.can_call(), state.num_board_cards_due) == (
        NOBODY,
        False,
        False,
        0,
    )
    state = state.deal_hole([parse_cards("AsAd"), parse_cards("KsKd")])
    assert state.player == 1
    state = state.raise_to().call()
    assert (state.player, state.num_board_cards_due, state.can_call()) == (NOBODY, 3, False)
    state = state.deal_board(parse_cards("2c3c4h"))
    assert (state.player, state.num_board_cards_due) == (0, 0)
    state = state.call().call().deal_board(parse_cards("Kc")).raise_to().call().deal_board(parse_cards("9s"))
    state = state.call().call()
    assert state.is_over
    assert state.payoffs() == (-40, 40)


def test_all_in_runs_the_board_out_round_by_round():
    state = dealt(NOLIMIT, "AsAd", "KsKd").act("r20000").act("c")
    assert (state.betting.is_over, state.is_over, state.num_board_cards_due) == (True, False, 3)
    with pytest.raises(UsageError, match="the hand is not over after 'r20000c///'"):
        state.payoffs()
    for deal, due in (("2c3c4h", 1), ("5d", 1), ("9s", 0)):
        state = state.deal_board(parse_cards(deal))
        assert state.num_board_cards_due == due
    assert state.payoffs() == (20000, -20000)
    with pytest.raises(UsageError, match="the hand is over: no public card is dealt any more"):
        state.deal_board(parse_cards("9c"))


def test_a_fold_needs_no_more_cards():
    state = dealt(NOLIMIT, "AsAd", "KsKd").act("r300").act("f")
    assert (state.is_over, state.num_board_cards_due, state.payoffs()) == (True, 0, (-100, 100))


def test_a_split_pot():
    state = dealt(LIMIT, "2c3d", "2d3c")
    for board in ("AsKsQs", "Js", "Ts"):
        state = state.call().call().deal_board(parse_cards(board))
    assert state.call().call().payoffs() == (0, 0)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (lambda s: s.deal_hole([(0, 1)]), "expected hole cards of 2 players, not 1"),
        (lambda s: s.deal_hole([(0, 1), (2,)]), "a hand must have 2 cards, not 1"),
        (lambda s: s.deal_hole([(0, 1), (1, 2)]), "the card 2d occurs twice"),
        (lambda s: s.deal_hole([(0, 1), (2, 52)]), "52 is not a card"),
        (lambda s: s.deal_hole([(0, 1), (2, -1)]), "-1 is not a card"),
        (lambda s: s.call(), "the hole cards of this hand are not dealt yet"),
        (lambda s: s.deal_board((0, 1, 2)), "the hole cards of this hand are not dealt yet"),
    ],
)
def test_wrong_hole_cards_are_refused(step, sentence):
    with pytest.raises(UsageError, match=sentence):
        step(HandState.start(LIMIT))


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (lambda s: s.deal_hole([(0, 1), (2, 3)]), "the hole cards of this hand are dealt already"),
        (lambda s: s.deal_board((0, 1)), "a deal of public cards must have 3 cards, not 2"),
        (lambda s: s.deal_board((0, 1, 51)), "the card As occurs twice"),
        (lambda s: s.deal_board((0, 1, 1)), "the card 2d occurs twice"),
        (lambda s: s.deal_board((0, 1, 99)), "99 is not a card"),
        (lambda s: s.call(), "3 public cards must be dealt before the next action"),
        (lambda s: s.act("r"), "3 public cards must be dealt before the next action"),
        (
            lambda s: s.deal_board((0, 1, 2)).deal_board((3,)),
            "no public cards are due: position 0 has to act",
        ),
        (lambda s: s.deal_board((0, 1, 2)).fold(), "a fold is legal only when facing a bet"),
        (lambda s: s.deal_board((0, 1, 2)).raise_to(31), "the only raise here is to 20"),
    ],
)
def test_wrong_steps_on_the_flop_are_refused(step, sentence):
    with pytest.raises(UsageError, match=sentence):
        step(dealt(LIMIT, "AsAd", "KsKd").call().call())


def test_can_agrees_with_verify():
    state = HandState.start(LIMIT)
    assert not state.can_deal_hole([(0, 1), (1, 2)])
    assert state.can_deal_hole([(0, 1), (2, 3)])
    state = state.deal_hole([(0, 1), (2, 3)])
    assert (state.can_fold(), state.can_call(), state.can_raise_to(), state.can_raise_to(21)) == (
        True,
        True,
        True,
        False,
    )
    state = state.call().call()
    assert (state.can_fold(), state.can_call(), state.can_raise_to()) == (False, False, False)
    assert not state.can_deal_board((3, 4, 5))
    assert state.can_deal_board((4, 5, 6))


def test_cards_outside_a_short_deck_are_named():
    with pytest.raises(UsageError, match="Ac is not in this deck of the ranks JQK and suits s"):
        dealt(KUHN, "Ac", "Ks")


def test_strengths():
    board = parse_cards("2c7d9hTsJs")
    straight, pair = (showdown_strength(LIMIT, parse_cards(hole), board) for hole in ("8c3d", "JcAd"))
    assert straight > pair
    assert showdown_strengths(LIMIT, [], board) == []
    with pytest.raises(UsageError, match="a board must have 5 cards, not 4"):
        showdown_strength(LIMIT, parse_cards("8c3d"), board[:4])
    with pytest.raises(UsageError, match="the card 2c occurs twice"):
        showdown_strength(LIMIT, parse_cards("2c3d"), board)


def test_leduc_pairs_beat_ranks():
    def strength(hole, board):
        return showdown_strength(LEDUC, parse_cards(hole), parse_cards(board))

    assert strength("Js", "Jh") > strength("Ks", "Jh") > strength("Qs", "Jh")
    assert strength("Ks", "Jh") == strength("Kh", "Jh")


def test_rhode_island_ranks_three_cards():
    # Three of a kind beats a straight, which beats a flush, which beats a pair: the game's own order.
    ordered = ["4c", "2d", "3s", "Ad"]
    board = {"4c": "4d4h", "2d": "3h4s", "3s": "7s9s", "Ad": "AhKc"}
    strengths = [showdown_strength(RHODE_ISLAND, parse_cards(h), parse_cards(board[h])) for h in ordered]
    assert strengths == sorted(strengths, reverse=True)
    assert len(set(strengths)) == 4


@given(rules=poker_rules(), seed=st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_random_hands_end_and_conserve_chips(rules, seed):
    rng = random.Random(seed)
    deck = rng.sample(rules.deck.cards, rules.deck.size)
    hole = rules.num_hole_cards
    state = HandState.start(rules).deal_hole([deck[i * hole :][:hole] for i in range(rules.num_players)])
    del deck[: hole * rules.num_players]
    while not state.is_over:
        if due := state.num_board_cards_due:
            state = state.deal_board(deck[:due])
            del deck[:due]
        else:
            state = state.act(rng.choice(legal_actions(state, rng)))
    payoffs = state.payoffs()
    assert sum(payoffs) == 0
    betting = state.betting
    strengths = [0] * rules.num_players
    if betting.is_showdown:
        assert len(state.board) == sum(rules.num_board_cards)
        strengths = showdown_strengths(rules, state.holes, state.board)
    assert list(payoffs) == naive_payoffs(betting.spent, betting.folded, strengths)


# OpenSpiel: Kuhn has the cards 0, 1, 2 = J, Q, K and the actions 0 pass, 1 bet. In Leduc card 2r + s is
# rank r of suit s, on the board too, and 0 folds, 1 calls, 2 raises. Player 0 acts first in both.


def _endings(state: HandState, deals: list[int]) -> Iterator[tuple[list[str], HandState]]:
    """Yield every way to end a hand, given the cards still to come."""
    if state.is_over:
        yield [], state
    elif state.num_board_cards_due:
        for actions, end in _endings(state.deal_board(deals[:1]), deals[1:]):
            yield ["/", *actions], end
    else:
        for action in legal_actions(state):
            for actions, end in _endings(state.act(action), deals):
                yield [action, *actions], end


def test_kuhn_agrees_with_openspiel_on_every_history():
    game = pyspiel.load_game("kuhn_poker")
    histories = 0
    for first, second in permutations(KUHN.deck.cards, 2):
        for actions, end in _endings(HandState.start(KUHN).deal_hole([(first,), (second,)]), []):
            theirs = game.new_initial_state()
            for card in (first, second):
                theirs.apply_action(rank_of(card) - RANKS.index("J"))
            facing = False
            for action in actions:
                # Theirs: 1 puts a chip in, 0 does not. Ours: a call of a bet puts one in, a check does not.
                theirs.apply_action(int(action == "r" or (action == "c" and facing)))
                facing = facing or action == "r"
            assert theirs.is_terminal()
            assert tuple(theirs.returns()) == end.payoffs()
            histories += 1
    assert histories == 30


def test_leduc_agrees_with_openspiel_on_every_history():
    game = pyspiel.load_game("leduc_poker")
    code = {"f": 0, "c": 1, "r": 2}
    cards = LEDUC.deck.cards
    histories = set()
    for first, second, board in permutations(cards, 3):
        for actions, end in _endings(HandState.start(LEDUC).deal_hole([(first,), (second,)]), [board]):
            if "/" not in actions and board != min(card for card in cards if card not in (first, second)):
                continue  # the same history for every board: compared once
            theirs = game.new_initial_state()
            theirs.apply_action(cards.index(first))
            theirs.apply_action(cards.index(second))
            for action in actions:
                if theirs.is_chance_node():
                    assert action == "/"
                    theirs.apply_action(cards.index(board))
                else:
                    theirs.apply_action(code[action])
            assert theirs.is_terminal()
            assert tuple(theirs.returns()) == end.payoffs()
            histories.add(str(theirs))
    assert len(histories) == 5520
