"""Bet menus: what their text means, clamping and merging, and what is refused."""

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.tree import menus, naive_raise_totals, nolimit_rules, small_nolimit_rules

from errai.errors import UsageError
from errai.games.betting import BettingState, replay
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.tree.bet_menu import ALL_IN, MIN_RAISE, BetMenu, raise_totals

DEEP = nolimit_rules(blinds=(10, 5), stacks=(2_000, 2_000), num_rounds=4)


def totals(
    menu: str,
    betting: str = "",
    rules: PokerRules = DEEP,
    max_raises: int | None = None,
    force_all_in: float | str = 0,
) -> list[int]:
    return list(raise_totals(replay(rules, betting), BetMenu.parse(menu, max_raises, force_all_in)))


# Reading


def test_text_becomes_sizes_by_round_and_raise() -> None:
    menu = BetMenu.parse(" 0.5p, 75% |1p,All-In / min|A ")
    half, three_quarters, pot = Fraction(1, 2), Fraction(3, 4), Fraction(1)
    assert menu.sizes == (
        ((half, three_quarters), (pot, ALL_IN)),
        ((MIN_RAISE,), (ALL_IN,)),
    )
    assert menu.max_raises is None
    assert menu.force_all_in == 0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0.33p", Fraction(33, 100)),
        ("33%", Fraction(33, 100)),
        (".5P", Fraction(1, 2)),
        ("2.p", Fraction(2)),
        ("12.5 %", Fraction(1, 8)),
        ("1000p", Fraction(1000)),
    ],
)
def test_sizes_are_exact(text: str, size: Fraction) -> None:
    assert BetMenu.parse(text).sizes == (((size,),),)


def test_the_threshold_is_read_as_written() -> None:
    assert BetMenu.parse("a", force_all_in=0.05).force_all_in == Fraction(1, 20)
    assert BetMenu.parse("a", force_all_in="0.15").force_all_in == Fraction(3, 20)


@pytest.mark.parametrize(
    ("menu", "size"),
    [
        ("", ""),
        ("1p,", ""),
        ("1p||a", ""),
        ("1p/", ""),
        ("1p,huge", "huge"),
        ("0p", "0p"),
        ("0.0p", "0.0p"),
        ("-1p", "-1p"),
        ("p", "p"),
        ("%", "%"),
        ("100", "100"),
        ("1/2p", "1"),
        ("nanp", "nanp"),
        ("infp", "infp"),
        ("1e3p", "1e3p"),
        ("1e999999999p", "1e999999999p"),
        ("9999999999p", "9999999999p"),
        ("1_0p", "1_0p"),
        ("²p", "²p"),
        ("1pp", "1pp"),
        ("all in", "all in"),
        ("1p;a", "1p;a"),
    ],
)
def test_refuses_what_is_not_a_size_and_names_it(menu: str, size: str) -> None:
    expected = f"'{size}' in the menu '{menu}' is not a bet size: expected '0.5p', '50%', 'min' or 'all-in'"
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}$"):
        BetMenu.parse(menu)


@pytest.mark.parametrize("threshold", [-0.1, "-1", float("nan"), float("inf"), "x", "1/0", "", 10**400])
def test_refuses_a_threshold_that_is_none(threshold: float | str) -> None:
    with pytest.raises(
        UsageError, match=rf"^'{threshold}' is not an all-in threshold: expected a part of the pot"
    ):
        BetMenu.parse("a", force_all_in=threshold)


def test_refuses_a_negative_cap() -> None:
    with pytest.raises(UsageError, match="the cap on raises must be 0 or more, not -1"):
        BetMenu.parse("a", max_raises=-1)


# Sizes: `50%` is of the pot; a raise of `60%` is a call plus 60% of the pot after calling


def test_a_bet_is_a_part_of_the_pot() -> None:
    # Both have put in 10 chips; the pot is 20.
    assert totals("50%", "cc/") == [20]
    assert totals("100%", "cc/") == [30]
    assert totals("250%", "cc/") == [60]
    # A raised pot: both have put in 30, the pot is 60.
    assert totals("50%,1p", "r30c/") == [60, 90]


def test_a_raise_is_a_call_and_a_part_of_the_pot_after_calling() -> None:
    # Both have 25 in the pot; a bet of 25 (half the pot of 50); calling makes the pot 100.
    assert totals("60%", "r25c/r50") == [50 + 60]
    assert totals("60%", "r25c/r50r110") == [110 + 132]


def test_the_first_raise_of_blinds() -> None:
    # Calling 10 makes the pot 20: a pot-sized raise goes to 30, half a pot to the least legal 20.
    assert totals("1p") == [30]
    assert totals("0.5p") == [20]
    # After a limp the big blind raises 20 into 20.
    assert totals("1p", "c") == [30]


def test_the_pot_counts_what_is_in_it_where_the_big_blind_acts_first() -> None:
    rules = nolimit_rules(blinds=(10, 4), stacks=(500, 500), num_rounds=1, first_player=(0,))
    assert totals("1p", "", rules) == [24]  # 14 chips lie in the pot, nothing is to call
    assert totals("1p", "c", rules) == [30]  # the other calls 6 first


def test_odd_parts_are_rounded_half_up() -> None:
    rules = nolimit_rules(blinds=(1, 1), stacks=(500, 500), num_rounds=2, first_player=(0, 0))
    # 15 chips each, a pot of 30: 35% are 10.5, 34% are 10.2 chips.
    assert totals("35%", "r15c/", rules) == [15 + 11]
    assert totals("34%", "r15c/", rules) == [15 + 10]


def test_too_small_becomes_the_least_legal_raise() -> None:
    assert totals("1%", "cc/") == [20]
    assert totals("1%", "cc/r100") == [190]  # the last raise was by 90
    assert totals("min", "cc/r100") == [190]


def test_too_large_becomes_all_in() -> None:
    assert totals("1000p", "cc/") == [2_000]
    assert totals("a", "cc/") == [2_000]


def test_equal_sizes_merge_and_ascend() -> None:
    assert totals("a,1000p,2p,1p,min,1%,100%,50%", "r30c/") == [40, 60, 90, 150, 2_000]
    assert totals("1%,2%,3%,min", "cc/") == [20]


def test_no_raise_where_none_is_legal() -> None:
    assert totals("1p,a", "r2000") == []
    over = BettingState.start(DEEP).raise_to(2_000).fold()
    assert BetMenu.parse("1p").raise_totals(over) == []


def test_a_cap_of_raises_counts_in_each_round() -> None:
    assert totals("1p", "", max_raises=0) == []
    assert totals("1p", "r30", max_raises=1) == []
    assert totals("1p", "r30", max_raises=2) == [90]
    assert totals("1p", "r30c/", max_raises=1) == [90]


def test_the_rules_own_cap_holds_too() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(2_000, 2_000), max_raises=(1, 2))
    assert totals("1p", "r30", rules) == []
    assert totals("1p", "r30", rules, max_raises=5) == []


def test_menus_by_raise_number() -> None:
    menu = "0.5p|1p|a"
    assert totals(menu, "cc/") == [20]
    assert totals(menu, "cc/r20") == [60]
    assert totals(menu, "cc/r20r60") == [2_000]
    assert totals("0.5p|1p", "cc/r20r60") == [180]  # the last one serves all later raises


def test_menus_by_round() -> None:
    menu = "1p / 2p | a / 50%"
    assert totals(menu) == [30]
    assert totals(menu, "cc/") == [50]
    assert totals(menu, "cc/r50") == [2_000]
    assert totals(menu, "cc/cc/") == [20]
    assert totals(menu, "cc/cc/cc/") == [20]  # the last one serves all later rounds


def test_a_raise_that_leaves_little_becomes_all_in() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(100, 100))
    # From 30 each, a bet of 1p goes to 90: called, the pot is 180 and 10 stay behind.
    assert totals("1p", "r30c/", rules) == [90]
    assert totals("1p", "r30c/", rules, force_all_in="0.05") == [90]  # 10 is more than 9
    assert totals("1p", "r30c/", rules, force_all_in="0.06") == [100]  # 10 is less than 10.8
    exactly = 10 / 180
    assert totals("1p", "r30c/", rules, force_all_in=exactly) == [90]  # as much is not less
    assert totals("min", "r30c/", rules, force_all_in=1) == [100]  # the least raise, too


def test_unequal_stacks_bet_what_the_shorter_can_call() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(60, 500))
    assert totals("a", "", rules) == [60]
    assert totals("5p", "", rules) == [60]
    assert totals("1p", "", rules, force_all_in=0.5) == [30]  # 30 behind is half of 60
    assert totals("1p", "", rules, force_all_in=0.51) == [60]
    assert totals("a", "c", rules) == [60]


def test_a_raise_below_the_least_total_names_the_least_though_the_other_has_less() -> None:
    # The opponent has 12, the least legal raise is to 20: only totals from 20 up are legal.
    rules = nolimit_rules(blinds=(10, 5), stacks=(12, 500))
    assert totals("min,1p,a", "", rules) == [20]
    assert replay(rules, "r20c").is_showdown


def test_all_in_for_less_than_a_full_raise() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(15, 15))
    assert totals("min,1p,a", "", rules) == [15]


def test_three_players_call_what_the_longest_opponent_has() -> None:
    rules = nolimit_rules(blinds=(5, 10, 0), stacks=(300, 40, 500), num_rounds=1, first_player=(2,))
    assert totals("a", "", rules) == [300]
    assert totals("a", "cfr20", rules) == [40]  # the player with 300 has folded
    # A call makes the pot 20 + 20 + 5 dead chips; a raise to 30 that is called leaves 10 in 65.
    assert totals("20%", "cfr20", rules) == [30]
    assert totals("20%", "cfr20", rules, force_all_in=0.15) == [30]
    assert totals("20%", "cfr20", rules, force_all_in=0.16) == [40]


# Without a menu


def test_without_a_menu_every_legal_size_is_offered() -> None:
    rules = nolimit_rules(blinds=(2, 1), stacks=(7, 9))
    start = BettingState.start(rules)
    assert list(raise_totals(start, None)) == [4, 5, 6, 7, 8, 9]
    assert list(raise_totals(start.call(), None)) == [4, 5, 6, 7]
    assert list(raise_totals(start.raise_to(9), None)) == []


def test_a_limit_game_has_one_size() -> None:
    leduc = load_game("leduc")
    assert isinstance(leduc, PokerRules)
    assert list(raise_totals(BettingState.start(leduc), None)) == [3]
    assert list(raise_totals(replay(leduc, "rr"), None)) == []


@settings(deadline=None, max_examples=150)
@given(rules=small_nolimit_rules(max_stack=60), menu=menus(), data=st.data())
def test_every_offer_is_legal_and_as_naive(rules: PokerRules, menu: BetMenu, data: st.DataObject) -> None:
    state = BettingState.start(rules)
    while not state.is_over:
        offered = raise_totals(state, menu)
        assert list(offered) == naive_raise_totals(state, menu)
        assert all(state.can_raise_to(total) for total in offered)
        following = [state.call(), *(state.raise_to(total) for total in offered)]
        state = following[data.draw(st.integers(0, len(following) - 1))]
