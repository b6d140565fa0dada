"""Real bettings in abstract trees: exact tables of the mappings, every fallback, and random bettings."""

import random
from collections.abc import Mapping
from functools import cache
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.games import play_randomly
from naive.tree import menus, nolimit_rules, small_nolimit_rules

import errai
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.betting import BettingState, replay
from errai.games.rules import PokerRules
from errai.strategy.information_sets import betting_strings
from errai.strategy.translation import NOWHERE, TRANSLATIONS, Follower, chance_of_smaller
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import (
    ACTION_CALL,
    ACTION_FOLD,
    DECISION,
    BettingTree,
    TreePlan,
    build_betting_tree,
)

NOLIMIT = errai.load_game("nolimit-holdem")
SHORT = nolimit_rules(blinds=(10, 5), stacks=(200, 200), num_rounds=4)
MAX_NODES = 5000

ASYMMETRIC = BetMenu(
    (),
    None,
    BetMenu.parse("a").force_all_in,
    "asymmetric",
    by_position=(
        BetMenu.parse("0.5p,1p|all-in", max_raises=2),
        BetMenu.parse("none|1p / none", max_raises=1),
    ),
)
MENUS = {
    "pot": BetMenu.parse("1p", max_raises=2),
    "pot and all-in": BetMenu.parse("1p,all-in", max_raises=2),
    "all-in": BetMenu.parse("all-in"),
    "no bets after the flop": BetMenu.parse("0.5p,1p|1p / none", max_raises=3),
    "no bets at all": BetMenu.parse("none"),
    "one bet": BetMenu.parse("0.5p,2p|none"),
    "asymmetric": ASYMMETRIC,
    "least raises": BetMenu.parse("min,0.7p", max_raises=2),
}


@cache
def tree_of(menu: str, rules: PokerRules = NOLIMIT) -> BettingTree:
    return build_betting_tree(rules, MENUS[menu])


class Drawn:
    """Draws that are given, and which of them were asked for."""

    def __init__(self, value: float, of_actions: Mapping[int, float] | None = None) -> None:
        self.value, self.of_actions, self.asked = value, of_actions or {}, list[int]()

    def __call__(self, action_number: int) -> float:
        self.asked.append(action_number)
        return self.of_actions.get(action_number, self.value)


def located(tree: BettingTree, betting: str, unit: float = 0.5, rules: PokerRules = NOLIMIT) -> int:
    return Follower(tree, rules).locate(replay(rules, betting), 0, Drawn(unit))


def path(tree: BettingTree, node: int) -> list[int]:
    """Return the actions that lead to a node, -3 where a round begins."""
    actions = []
    while node > 0:
        actions.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return actions[::-1]


C, F, ROUND = ACTION_CALL, ACTION_FOLD, -3

# The mappings


@pytest.mark.parametrize(
    ("below", "above", "bet", "chance"),
    [
        (0.5, 1.0, 0.5, 1.0),
        (0.5, 1.0, 1.0, 0.0),
        (0.5, 1.0, 0.7, 9 / 17),
        (0.0, 1.0, 0.5, 1 / 3),
        (0.0, 1.0, 1 / 3, 1 / 2),  # the midpoint of no bet and a pot-size bet
        (1.0, 3.0, 2.0, 1 / 3),
    ],
)
def test_pseudo_harmonic(below: float, above: float, bet: float, chance: float) -> None:
    assert chance_of_smaller("pseudo-harmonic", below, above, bet) == pytest.approx(chance, abs=1e-12)


@given(below=st.floats(0.01, 5), more=st.floats(0.01, 20))
def test_the_midpoint_is_where_both_are_alike(below: float, more: float) -> None:
    above = below + more
    # Solved for x by Ganzfried and Sandholm 2013: (A + B + 2AB) / (A + B + 2).
    middle = (below + above + 2 * below * above) / (below + above + 2)
    assert chance_of_smaller("pseudo-harmonic", below, above, middle) == pytest.approx(0.5)
    assert chance_of_smaller("pseudo-harmonic-midpoint", below, above, middle * (1 - 1e-9)) == 1
    assert chance_of_smaller("pseudo-harmonic-midpoint", below, above, middle * (1 + 1e-9)) == 0


@pytest.mark.parametrize(("below", "above"), [(0.5, 1.0), (1.0, 4.0), (0.25, 9.0)])
def test_deterministic_mappings_change_over_at_their_means(below: float, above: float) -> None:
    for name, middle in (("geometric", sqrt(below * above)), ("nearest", (below + above) / 2)):
        assert chance_of_smaller(name, below, above, middle - 1e-9) == 1
        assert chance_of_smaller(name, below, above, middle + 1e-9) == 0


def test_an_unknown_translation_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown translation 'middle': expected pseudo-harmonic, "):
        Follower(tree_of("pot"), NOLIMIT, "middle")


# Bets that the tree does not have


def test_bets_are_taken_for_a_neighbour_by_the_draw() -> None:
    # After a call the pot is 200: to 300 is one pot, to 1,000 4.5, all-in to 20,000 99.5.
    tree = tree_of("pot and all-in")
    chance = (99.5 - 4.5) * (1 + 1) / ((99.5 - 1) * (1 + 4.5))
    assert path(tree, located(tree, "r1000", chance - 1e-9)) == [300]
    assert path(tree, located(tree, "r1000", chance + 1e-9)) == [20000]


def test_the_same_bet_is_taken_alike_at_every_later_decision() -> None:
    tree = tree_of("no bets after the flop")  # raises to 200 and 300
    for unit, taken in ((0.1, 200), (0.9, 300)):
        drawn = Drawn(unit)
        follower = Follower(tree, NOLIMIT)
        assert path(tree, follower.locate(replay(NOLIMIT, "cr250"), 0, drawn)) == [C, taken]
        assert drawn.asked == [1]  # the second action of the hand
        # Not asked again, or asked for the same number.
        assert path(tree, follower.locate(replay(NOLIMIT, "cr250c/"), 0, drawn)) == [C, taken, C, ROUND]
        assert drawn.asked == [1]
        drawn = Drawn(unit)
        fresh = Follower(tree, NOLIMIT).locate(replay(NOLIMIT, "cr250c/"), 0, drawn)
        assert path(tree, fresh) == [C, taken, C, ROUND]
        assert drawn.asked == [1]


def test_another_hand_starts_anew() -> None:
    tree, follower = tree_of("pot and all-in"), Follower(tree_of("pot and all-in"), NOLIMIT)
    state = replay(NOLIMIT, "r1000")
    assert path(tree, follower.locate(state, 1, Drawn(0.1))) == [300]
    assert path(tree, follower.locate(state, 2, Drawn(0.99))) == [20000]
    assert path(tree, follower.locate(state, 1, Drawn(0.1))) == [300]


def test_bets_beyond_the_trees_become_its_smallest_and_largest() -> None:
    tree = tree_of("no bets after the flop")  # half pot 200, pot 300
    for unit in (0.0, 0.999):
        assert path(tree, located(tree, "r200", unit)) == [200]
        assert path(tree, located(tree, "r19999", unit)) == [300]
    tree = tree_of("pot")
    assert path(tree, located(tree, "r200", 0.0)) == [300]


@pytest.mark.parametrize(
    ("translation", "taken"),
    [("pseudo-harmonic-midpoint", 300), ("geometric", 300), ("nearest", 200)],
)
def test_each_translation_is_used(translation: str, taken: int) -> None:
    # Half pot and pot, and a bet of 0.74 pots: past both other means, below the arithmetic one.
    rules = nolimit_rules(blinds=(100, 50), stacks=(20000, 20000), num_rounds=1)
    tree = build_betting_tree(rules, BetMenu.parse("0.5p,1p", max_raises=1))
    drawn = Drawn(0.5)
    node = Follower(tree, rules, translation).locate(replay(rules, "r248"), 0, drawn)
    assert path(tree, node) == [taken]
    assert drawn.asked == []


def test_an_all_in_is_an_all_in() -> None:
    # In the tree the pot is smaller than in the real game, so the real all-in is fewer pots.
    tree = tree_of("pot and all-in")
    assert path(tree, located(tree, "r350r20000", 0.0)) == [300, 20000]


def test_an_all_in_below_a_minimum_raise_is_a_small_raise() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(100, 100), num_rounds=2)
    tree = build_betting_tree(rules, BetMenu.parse("0.1p,0.5p,1p,2p"))
    # 90 asks for a raise to at least 170; the all-in to 100 adds 10 to a pot of 180.
    node = located(tree, "r90r100", rules=rules)
    assert path(tree, node)[-1] == min(
        int(tree.action[child]) for child in tree.children(int(tree.parent[node])) if tree.action[child] > 0
    )
    assert Follower(tree, rules).texts(node, replay(rules, "r90r100"))[:2] == ["f", "c"]
    assert set(Follower(tree, rules).texts(node, replay(rules, "r90r100"))) == {"f", "c"}


# What no tree foresees


def test_a_raise_past_the_cap_takes_the_place_of_the_last_two() -> None:
    tree = tree_of("pot")  # two raises a round
    faced = located(tree, "r300r900")
    assert path(tree, faced) == [300, 900]
    assert Follower(tree, NOLIMIT).actions(faced) == [F, C]
    # The third raise: its maker is taken back to the own first raise, which the other faces.
    assert path(tree, located(tree, "r300r900r2700")) == [300]
    assert path(tree, located(tree, "r300r900r2700r8100")) == [300, 900]
    assert path(tree, located(tree, "r300r900r2700c/")) == [300, C, ROUND]


def test_a_bet_that_opens_a_round_without_bets_is_taken_for_a_check() -> None:
    tree = tree_of("no bets after the flop")
    faced = located(tree, "cc/r300")
    assert path(tree, faced) == [C, C, ROUND, C]
    assert Follower(tree, NOLIMIT).texts(faced, replay(NOLIMIT, "cc/r300")) == ["c"]
    assert path(tree, located(tree, "cc/r300c/")) == [C, C, ROUND, C, C, ROUND]


def test_a_bet_after_a_check_without_bets_leads_back_to_the_checker() -> None:
    tree = tree_of("no bets after the flop")
    assert path(tree, located(tree, "cc/cr300")) == [C, C, ROUND]
    # The checker calls, and the round ends where the tree's goes on: it is checked through.
    assert path(tree, located(tree, "cc/cr300c/")) == [C, C, ROUND, C, C, ROUND]


def test_betting_that_goes_on_after_the_trees_all_in() -> None:
    tree = tree_of("all-in")
    # A raise is taken for all-in; after a call, the flop is entered from the only line with chips behind.
    assert path(tree, located(tree, "r300")) == [20000]
    assert path(tree, located(tree, "r300c/")) == [C, C, ROUND]
    assert path(tree, located(tree, "r300c/r600c/")) == [C, C, ROUND, C, C, ROUND]


def test_the_pot_most_like_the_real_one_is_entered() -> None:
    rules = SHORT
    tree = build_betting_tree(rules, BetMenu.parse("0.5p,1p,3p,all-in", max_raises=1))
    # Taken for all-in by the draw, then called: 3 pots make 70, pot 30, half pot 20.
    assert path(tree, located(tree, "r120c/", 0.999, rules)) == [70, C, ROUND]
    tree = build_betting_tree(rules, BetMenu.parse("0.5p,1p,all-in", max_raises=1))
    assert path(tree, located(tree, "r120c/", 0.999, rules)) == [30, C, ROUND]


def test_the_most_similar_entry_of_all_where_no_line_leads_on() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(200, 200), num_rounds=2)
    tree = build_betting_tree(rules, BetMenu.parse("1p|all-in", max_raises=2))
    follower = Follower(tree, rules)
    # A hand that was lost is found again by its pot.
    for largest, entry in ((10, [C, C, ROUND]), (29, [30, C, ROUND]), (200, [30, C, ROUND])):
        assert path(tree, follower._similar_entry(NOWHERE, 1, largest)) == entry


def test_a_tree_without_decisions_in_a_round() -> None:
    # Position 0 has to go all-in at once; nobody decides anything after the first round of the tree.
    rules = nolimit_rules(blinds=(10, 5), stacks=(12, 200), num_rounds=2)
    tree = build_betting_tree(rules, BetMenu.parse("all-in"))
    assert located(tree, "cc/", rules=rules) != NOWHERE
    follower = Follower(tree, rules)
    follower._alive_entries[1] = (follower._alive_entries[1][0][:0], follower._alive_entries[1][1][:0])
    assert follower._similar_entry(NOWHERE, 1, 10) == NOWHERE


def test_lines_keep_their_history_where_the_tree_is_all_in() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(200, 200), num_rounds=2)
    tree = build_betting_tree(rules, BetMenu.parse("1p|all-in", max_raises=2))
    # The second raise is taken for all-in and called; the caller's decision leads nowhere else.
    for before in ([30], [C, 30]):
        text = "".join("c" if action == C else f"r{action}" for action in before)
        assert path(tree, located(tree, f"{text}r50", rules=rules)) == [*before, 200]
        assert path(tree, located(tree, f"{text}r50c/", rules=rules)) == [*before, C, ROUND]


# Own actions in the real game


def test_own_bets_are_the_same_part_of_the_real_pot() -> None:
    tree = tree_of("pot and all-in")
    state = replay(NOLIMIT, "r400")  # taken for the pot-size raise to 300
    follower = Follower(tree, NOLIMIT)
    node = follower.locate(state, 0, Drawn(0.0))
    assert path(tree, node) == [300]
    assert follower.actions(node) == [F, C, 900, 20000]
    assert follower.texts(node, state) == ["f", "c", "r1200", "r20000"]
    # And the own bet of 1,200 is the tree's 900, whatever is drawn.
    assert path(tree, follower.locate(state.act("r1200").act("c"), 0, Drawn(0.999))) == [300, 900, C, ROUND]


def test_own_bets_are_at_least_a_minimum_raise_and_at_most_all_in() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(100, 100), num_rounds=2)
    tree = build_betting_tree(rules, BetMenu.parse("0.5p,1p,2p"))
    state = replay(rules, "r30r80")
    follower = Follower(tree, rules)
    node = follower.locate(state, 0, Drawn(0.999))
    assert set(follower.texts(node, state)) <= {"f", "c", "r100"}
    state = replay(rules, "r20r39")
    node = follower.locate(state, 1, Drawn(0.0))
    assert all(
        39 + 19 <= int(text[1:]) <= 100 for text in follower.texts(node, state) if text.startswith("r")
    )


def test_all_in_stays_all_in_in_a_smaller_pot() -> None:
    tree, state = tree_of("pot and all-in"), replay(NOLIMIT, "r260")
    follower = Follower(tree, NOLIMIT)
    node = follower.locate(state, 0, Drawn(0.0))
    assert path(tree, node) == [300]
    assert follower.texts(node, state) == ["f", "c", "r780", "r20000"]


def test_all_in_is_what_the_shorter_stack_has() -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(100, 300), num_rounds=2)
    tree = build_betting_tree(rules, BetMenu.parse("1p,all-in", max_raises=2))
    follower = Follower(tree, rules)
    assert follower.texts(0, BettingState.start(rules)) == ["f", "c", "r30", "r100"]
    for total in (100, 101, 300):  # more than the other has is the same bet
        assert path(tree, located(tree, f"r{total}", 0.0, rules)) == [100]
    # The raise to 40 is taken for 30. From there a pot-size bet is all-in in the real game, and so is 101.
    tree = build_betting_tree(rules, BetMenu.parse("0.5p,1p,all-in", max_raises=2))
    for total in (100, 101, 120):
        assert path(tree, located(tree, f"r40c/cr{total}", 0.0, rules)) == [30, C, ROUND, C, 90]


def test_what_is_not_legal_becomes_a_check_or_call() -> None:
    tree = tree_of("pot and all-in")
    faces = located(tree, "r300")
    assert Follower(tree, NOLIMIT).texts(faces, replay(NOLIMIT, "cc/"))[:2] == ["c", "c"]
    assert set(Follower(tree, NOLIMIT).texts(faces, replay(NOLIMIT, "r20000"))) == {"f", "c"}


# Everything else, by chance


@pytest.mark.parametrize("name", MENUS)
def test_bettings_of_the_tree_are_themselves(name: str) -> None:
    tree = PublicTree.of(SHORT, MENUS[name])
    texts = betting_strings(tree)
    for translation in TRANSLATIONS:
        follower = Follower(tree.betting, SHORT, translation)
        for node in (tree.betting.kind == DECISION).nonzero()[0].tolist()[:2000]:
            drawn = Drawn(0.5)
            state = replay(SHORT, texts[node])
            assert follower.locate(state, 0, drawn) == node
            assert drawn.asked == []
            names = [name.rpartition("/")[2] for name in (texts[c] for c in tree.betting.children(node))]
            before = texts[node].rpartition("/")[2]
            assert follower.texts(node, state) == [name[len(before) :] for name in names]


def assert_follows(tree: BettingTree, states: list[BettingState], translation: str, unit: float) -> None:
    """Follow a betting step by step and afresh: a decision of the same player and round, legal actions."""
    rules = states[0].rules
    step_by_step = Follower(tree, rules, translation)
    for state in states:
        if state.is_over:
            continue
        node = step_by_step.locate(state, 0, Drawn(unit))
        assert Follower(tree, rules, translation).locate(state, 0, Drawn(unit)) == node
        assert (int(tree.kind[node]), int(tree.player[node]), int(tree.round[node])) == (
            DECISION,
            state.player,
            state.round,
        )
        texts = step_by_step.texts(node, state)
        number = sum(letter in "fcr" for letter in state.betting)
        for text in dict.fromkeys(texts):
            after = state.act(text)  # refuses what is not legal
            if text.startswith("r"):
                # Whoever bets so is taken at the word, whatever is drawn for the bet.
                for other in (0.0, 0.999):
                    draws = Drawn(unit, {number: other})
                    child = Follower(tree, rules, translation).locate(after, 0, draws)
                    assert tree.parent[child] == node
                    assert texts[child - int(tree.first_child[node])] == text


@settings(deadline=None, max_examples=300)
@given(
    name=st.sampled_from(list(MENUS)),
    translation=st.sampled_from(list(TRANSLATIONS)),
    seed=st.integers(0, 2**32),
    unit=st.floats(0, 0.999),
)
def test_random_bettings_of_nolimit_holdem_are_followed(
    name: str, translation: str, seed: int, unit: float
) -> None:
    assert_follows(tree_of(name), play_randomly(NOLIMIT, random.Random(seed)), translation, unit)


@settings(deadline=None, max_examples=150)
@given(rules=small_nolimit_rules(), menu=menus(), seed=st.integers(0, 2**32), unit=st.floats(0, 0.999))
def test_random_bettings_of_random_games_are_followed(
    rules: PokerRules, menu: BetMenu, seed: int, unit: float
) -> None:
    if TreePlan(rules, menu).num_nodes <= MAX_NODES:
        tree = build_betting_tree(rules, menu)
        assert_follows(tree, play_randomly(rules, random.Random(seed)), "pseudo-harmonic", unit)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "holdem-2-4"])
def test_limit_games_are_followed_exactly(name: str) -> None:
    tree = PublicTree.of(name)
    texts = betting_strings(tree)
    follower = Follower(tree.betting, tree.rules)
    for node in (tree.betting.kind == DECISION).nonzero()[0].tolist():
        state = replay(tree.rules, texts[node])
        assert follower.locate(state, 0, Drawn(0.5)) == node
