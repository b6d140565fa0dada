"""Exact counts of no-limit betting: against walked trees, and the published sizes of the ACPC's games."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive.tree import naive_betting_tree, naive_round_counts, nolimit_rules, small_nolimit_rules

import errai.games.betting
from errai.errors import UsageError
from errai.games.catalogue import nolimit_holdem
from errai.games.deals import Deals
from errai.games.rules import MAX_CHIPS, UNLIMITED_RAISES, PokerRules
from errai.tree.betting_tree import TreePlan
from errai.tree.nolimit_count import MAX_CHIPS_BEHIND, count_nolimit_rounds, has_closed_form

NO_LIMIT_OF_ACTIONS = 10_000

# Johanson, "Measuring the Size of Large No-Limit Poker Games" (2013), for the three games that the ACPC
# has played: blinds, stack, information sets, and actions over all canonical information sets.
PUBLISHED = {
    "2007": (
        (2, 1),
        1_000,
        7231696218395692677395045408177846358424267196938605536692771479904913016,
        937575457443070937268150407671117224976700640913137221641272121424098561,
    ),
    "2009": (
        (2, 1),
        400,
        1389094358906842392181537788403345780331801813952,
        180091019297791288982204479657796281550065385037,
    ),
    "2010": (
        (100, 50),
        20_000,
        int(
            "63751906610100755069030149623824432492047541871904263414439611676413655047455967"
            "4075887513367166011522983983431697050644965107911879207553424525286198175080441144"
        ),
        int(
            "82653117189901827068203416669319641326155549963289335994852924537125934134924844"
            "970514122385645557438192782454335992412716935898684703899327697523295834972572001"
        ),
    ),
}


@pytest.mark.parametrize("year", PUBLISHED)
def test_published_sizes_to_the_last_digit(year: str) -> None:
    blinds, stack, infosets, canonical_slots = PUBLISHED[year]
    rules = replace(nolimit_holdem(), blinds=blinds, stacks=(stack, stack))
    counts = count_nolimit_rounds(rules, max_actions=NO_LIMIT_OF_ACTIONS)
    deals = Deals(rules)
    assert sum(count.decisions * rules.num_deals(r) for r, count in enumerate(counts)) == infosets
    assert sum(count.slots * deals.num_rows(r) for r, count in enumerate(counts)) == canonical_slots


def test_the_dealers_limit_of_actions_takes_little_away() -> None:
    blinds, stack, infosets, _ = PUBLISHED["2009"]
    rules = replace(nolimit_holdem(), blinds=blinds, stacks=(stack, stack))
    counts = count_nolimit_rounds(rules)
    limited = sum(count.decisions * rules.num_deals(r) for r, count in enumerate(counts))
    assert limited < infosets
    assert infosets - limited < infosets // 1_000


@pytest.mark.parametrize("num_rounds", [1, 2, 3])
@pytest.mark.parametrize("blinds", [(2, 1), (1, 1), (3, 1), (3, 0), (1, 2)])
def test_small_stacks_against_walked_trees(blinds: tuple[int, int], num_rounds: int) -> None:
    for stack in range(max(blinds) + 1, max(blinds) + (6 if num_rounds == 3 else 8)):
        rules = nolimit_rules(blinds, (stack, stack), num_rounds)
        walked = naive_round_counts(naive_betting_tree(rules), num_rounds)
        assert count_nolimit_rounds(rules) == walked, stack


@pytest.mark.parametrize(("stack", "num_rounds"), [(15, 3), (12, 4), (26, 1)])
def test_larger_stacks_against_the_tree_plan(stack: int, num_rounds: int) -> None:
    rules = nolimit_rules(stacks=(stack, stack), num_rounds=num_rounds)
    assert count_nolimit_rounds(rules) == TreePlan(rules).round_counts()


@pytest.mark.parametrize("max_actions", [2, 3, 4, 5, 6, 7, 8])
def test_the_limit_of_actions_against_walked_trees(max_actions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errai.games.betting, "MAX_ACTIONS_A_ROUND", max_actions)
    for stack, num_rounds in product((2, 3, 6, 8), (1, 2)):
        for first in product((0, 1), repeat=num_rounds):
            rules = nolimit_rules((1, 1), (stack, stack), num_rounds, first_player=first)
            walked = naive_round_counts(naive_betting_tree(rules), num_rounds)
            assert count_nolimit_rounds(rules, max_actions) == walked, (stack, first)


def test_the_limit_of_actions_bites() -> None:
    rules = nolimit_rules((1, 1), (11, 11), 2)
    counts = [count_nolimit_rounds(rules, limit)[1].decisions for limit in (2, 4, 6, 8, 12, 64)]
    assert counts[:5] == sorted(set(counts[:5]))
    assert counts[4] == counts[5]  # ten chips allow at most ten raises


def test_the_dealers_own_limit_bites_in_a_deep_game() -> None:
    # One round, 70 chips behind: raises of one chip would go on for 70 actions.
    rules = nolimit_rules((1, 1), (71, 71), 1)
    assert count_nolimit_rounds(rules)[0].decisions < count_nolimit_rounds(rules, 200)[0].decisions


@settings(deadline=None, max_examples=60)
@given(rules=small_nolimit_rules(max_stack=12, equal=True), limit=st.integers(2, 9))
def test_random_games_and_limits(rules: PokerRules, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errai.games.betting, "MAX_ACTIONS_A_ROUND", limit)
        counted = count_nolimit_rounds(rules, limit)
        assume(sum(count.nodes for count in counted) < 5_000)
        assert counted == naive_round_counts(naive_betting_tree(rules), rules.num_rounds)


def test_where_the_formula_holds() -> None:
    assert has_closed_form(nolimit_rules())
    assert has_closed_form(nolimit_rules(max_raises=(64, UNLIMITED_RAISES)))
    assert not has_closed_form(nolimit_rules(max_raises=(63, UNLIMITED_RAISES)))
    assert not has_closed_form(nolimit_rules(stacks=(10, 11)))
    assert not has_closed_form(nolimit_rules(blinds=(1, 2, 0), stacks=(9, 9, 9)))
    assert not has_closed_form(replace(nolimit_rules(), raise_sizes=(2, 4)))


def test_refuses_stacks_that_would_take_minutes() -> None:
    rules = nolimit_rules(stacks=(MAX_CHIPS, MAX_CHIPS))
    with pytest.raises(UsageError, match=r"stacks of 2,147,483,647 chips in 'small' are too large.*--bets"):
        count_nolimit_rounds(rules)
    first_refused = MAX_CHIPS_BEHIND + 3
    with pytest.raises(UsageError, match=f"at most {MAX_CHIPS_BEHIND:,} chips above the big blind"):
        count_nolimit_rounds(nolimit_rules(stacks=(first_refused, first_refused)))


def test_refuses_a_limit_without_room_for_a_check_and_a_check() -> None:
    with pytest.raises(UsageError, match="the limit of actions a round must be 2 or more, not 1"):
        count_nolimit_rounds(nolimit_rules(), max_actions=1)
