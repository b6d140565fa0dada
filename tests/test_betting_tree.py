"""The betting tree: node by node against nested recursion, structure, counts, refusals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from naive.tree import (
    flat_order,
    menus,
    naive_arrays,
    naive_betting_tree,
    naive_round_counts,
    nolimit_rules,
    small_nolimit_rules,
)

from errai import memory
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import MAX_CHIPS, UNLIMITED_RAISES, PokerRules
from errai.tree import betting_tree
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import (
    ACTION_NONE,
    BYTES_A_NODE,
    CHANCE,
    DECISION,
    FOLD,
    KIND_NAMES,
    NO_NODE,
    SHOWDOWN,
    BettingTree,
    RoundCount,
    TreePlan,
    build_betting_tree,
)

LIMIT_GAMES = ["kuhn", "leduc", "rhode-island", "holdem-2-1", "holdem-2-4", "holdem-3-2", "limit-holdem"]
MENUS = [
    "1p,all-in",
    "min",
    "a",
    "0.5p,1p|1p,all-in / 1p|all-in",
    "33%,75%,a | 60%,a / 50%,a",
]
MAX_RANDOM_NODES = 3_000


def poker_game(name: str) -> PokerRules:
    game = load_game(name)
    assert isinstance(game, PokerRules)
    return game


def assert_as_naive(rules: PokerRules, menu: BetMenu | None = None) -> BettingTree:
    """Compare every array of the tree, and the counts of the plan, with the nested tree."""
    plan = TreePlan(rules, menu)
    tree = plan.build()
    root = naive_betting_tree(rules, menu)
    for name, expected in naive_arrays(root).items():
        assert getattr(tree, name).tolist() == expected, name
    counts = naive_round_counts(root, rules.num_rounds)
    assert plan.round_counts() == counts
    assert plan.num_nodes == tree.num_nodes
    order = flat_order(root)
    for r in range(rules.num_rounds):
        begin, end = tree.round_begin[r : r + 2]
        assert {node.round for node in order[begin:end]} == {r}
        assert tree.count(DECISION, r) == counts[r].decisions
        assert tree.count(CHANCE, r) == counts[r].continuing
        assert tree.count(FOLD, r) == counts[r].folds
        assert tree.count(SHOWDOWN, r) == counts[r].showdowns
        assert end - begin == counts[r].nodes
    assert_structure(tree)
    return tree


def assert_structure(tree: BettingTree) -> None:
    """What the module promises of the layout, checked on the arrays alone."""
    nodes = np.arange(tree.num_nodes)
    parent, first, number = tree.parent, tree.first_child, tree.num_children.astype(np.int64)
    # Parents come first, and each node but the root is the child of its parent, exactly once.
    assert parent[0] == NO_NODE
    assert (parent[1:] < nodes[1:]).all()
    assert ((first == NO_NODE) == (number == 0)).all()
    inner = nodes[number > 0]
    children = np.concatenate([np.arange(first[n], first[n] + number[n]) for n in inner])
    assert sorted(children.tolist()) == nodes[1:].tolist()
    assert (parent[children] == np.repeat(inner, number[inner])).all()
    # Kinds: leaves are folds and showdowns, showdowns lie in the last round, a round ends in CHANCE.
    assert set(tree.kind[number == 0].tolist()) <= {FOLD, SHOWDOWN}
    assert set(tree.kind[number > 0].tolist()) <= {DECISION, CHANCE}
    last = tree.num_rounds - 1
    assert (tree.round[tree.kind == SHOWDOWN] == last).all()
    assert (tree.round[tree.kind == CHANCE] < last).all()
    assert (number[tree.kind == CHANCE] == 1).all()
    closed = nodes[tree.kind == CHANCE]
    assert (tree.round[first[closed]] == tree.round[closed] + 1).all()
    within = nodes[1:][tree.kind[parent[1:]] == DECISION]
    assert (tree.round[within] == tree.round[parent[within]]).all()
    # Rounds and entries are contiguous, and a block holds just what descends from its entry.
    assert tree.round_begin[0] == 0
    assert tree.round_begin[-1] == tree.num_nodes
    assert (np.diff(tree.round) >= 0).all()
    entry_of = np.full(tree.num_nodes, NO_NODE)
    for r, entries in enumerate(tree.entry_nodes):
        begin, end = tree.round_begin[r : r + 2]
        assert (np.diff(entries) > 0).all()
        assert (tree.action[entries] == ACTION_NONE).all()
        assert [tree.block(r, e)[0] for e in range(len(entries))] == entries.tolist()
        assert [tree.block(r, e)[1] for e in range(len(entries))] == [*entries[1:].tolist(), end]
        for node in range(begin, end):
            up = parent[node]
            entry_of[node] = node if up == NO_NODE or tree.kind[up] == CHANCE else entry_of[up]
        for e, entry in enumerate(entries):
            assert (entry_of[slice(*tree.block(r, e))] == entry).all()
    # Chips never shrink on the way down.
    assert (tree.chips[1:] >= tree.chips[parent[1:]]).all()


@pytest.mark.parametrize("name", LIMIT_GAMES)
def test_limit_games_as_naive(name: str) -> None:
    assert_as_naive(poker_game(name))


@pytest.mark.parametrize("menu", MENUS)
def test_four_rounds_with_a_menu_as_naive(menu: str) -> None:
    rules = nolimit_rules(blinds=(10, 5), stacks=(120, 120), num_rounds=4)
    assert_as_naive(rules, BetMenu.parse(menu, max_raises=2, force_all_in=0.1))


@pytest.mark.parametrize("stacks", [(7, 7), (3, 8), (8, 3), (6, 5)])
@pytest.mark.parametrize("blinds", [(2, 1), (1, 1), (1, 2), (0, 2)])
def test_every_chip_a_branch_as_naive(blinds: tuple[int, int], stacks: tuple[int, int]) -> None:
    assert_as_naive(nolimit_rules(blinds, stacks))


@settings(deadline=None, max_examples=60)
@given(rules=small_nolimit_rules(), menu=menus())
def test_random_games_with_menus_as_naive(rules: PokerRules, menu: BetMenu) -> None:
    assume(TreePlan(rules, menu).num_nodes <= MAX_RANDOM_NODES)
    assert_as_naive(rules, menu)


@settings(deadline=None, max_examples=40)
@given(rules=small_nolimit_rules(max_stack=9))
def test_random_games_with_every_size_as_naive(rules: PokerRules) -> None:
    assume(TreePlan(rules).num_nodes <= MAX_RANDOM_NODES)
    assert_as_naive(rules)


def test_limit_game_with_stacks_as_naive() -> None:
    # A stack that ends in the middle of a raise: all-in for less.
    assert_as_naive(replace(poker_game("leduc"), stacks=(6, 9)))


def test_all_in_goes_on_through_chance_alone() -> None:
    tree = build_betting_tree(nolimit_rules(stacks=(4, 4), num_rounds=4), BetMenu.parse("a"))
    jam = next(node for node in tree.children(0) if tree.action[node] == 4)
    call = tree.children(jam)[1]
    line = [call]
    while tree.num_children[line[-1]]:
        line.append(tree.children(line[-1])[0])
    assert [KIND_NAMES[tree.kind[node]] for node in line] == ["chance", "chance", "chance", "showdown"]
    assert tree.round[line].tolist() == [0, 1, 2, 3]
    assert tree.chips[line].tolist() == [[4, 4]] * 4


def test_an_all_in_is_one_node_a_round_in_the_flat_order() -> None:
    tree = build_betting_tree(nolimit_rules(stacks=(4, 4), num_rounds=3), BetMenu.parse("a"))
    sizes = [tree.block(1, e)[1] - tree.block(1, e)[0] for e in range(len(tree.entry_nodes[1]))]
    assert sorted(sizes)[:2] == [1, 1]  # called by either player before the flop


def test_limit_holdem_has_the_sequences_of_the_thesis() -> None:
    # THESIS table 5.2: sequences inside each round and continuing to the next.
    tree = build_betting_tree(poker_game("limit-holdem"))
    assert [tree.count(DECISION, r) for r in range(4)] == [8, 70, 630, 5_670]
    assert [len(entries) for entries in tree.entry_nodes] == [1, 7, 63, 567]


def test_the_arrays_are_read_only() -> None:
    tree = build_betting_tree(poker_game("kuhn"))
    with pytest.raises(ValueError, match="read-only"):
        tree.kind[0] = FOLD


def test_the_dtypes_are_as_documented() -> None:
    tree = build_betting_tree(poker_game("leduc"))
    assert tree.chips.shape == (tree.num_nodes, 2)
    int32 = (tree.parent, tree.first_child, tree.action, tree.chips)
    assert {array.dtype for array in int32} == {np.dtype(np.int32)}
    assert {array.dtype for array in (tree.kind, tree.player, tree.round)} == {np.dtype(np.int8)}
    assert tree.num_children.dtype == np.uint8
    assert tree.round_begin.dtype == np.int64
    arrays = (*int32, tree.kind, tree.player, tree.round, tree.num_children)
    assert sum(array.nbytes for array in arrays) == tree.num_nodes * BYTES_A_NODE


def test_round_count_adds_up() -> None:
    assert RoundCount(decisions=1, continuing=2, folds=4, showdowns=8, slots=100).nodes == 15


def test_counts_of_a_large_tree_that_is_not_built() -> None:
    plan = TreePlan(nolimit_rules(stacks=(100, 100), num_rounds=4), BetMenu.parse("min"))
    counts = plan.round_counts()
    assert plan.num_nodes == sum(count.nodes for count in counts) > 10**7
    # Each action leads to one node, each CHANCE to one entry, and nothing else leads to a node.
    assert plan.num_nodes == 1 + sum(count.slots + count.continuing for count in counts)


# Refusals


def test_refuses_more_than_two_players() -> None:
    three = poker_game(str(Path(__file__).parent / "game_files" / "kuhn.limit.3p.game"))
    with pytest.raises(UsageError, match="has 3 players: trees are built for 2"):
        TreePlan(three)


def test_refuses_a_menu_in_a_limit_game() -> None:
    with pytest.raises(UsageError, match="'leduc' is a limit game: its bet sizes are fixed"):
        TreePlan(poker_game("leduc"), BetMenu.parse("1p"))


def test_refuses_too_many_actions_and_asks_for_a_menu() -> None:
    with pytest.raises(UsageError, match=r"has 19,803 actions, more than 255: give a menu .*--bets"):
        TreePlan(poker_game("nolimit-holdem"))


def test_255_actions_are_allowed() -> None:
    rules = nolimit_rules(blinds=(1, 1), stacks=(255, 255), num_rounds=1, max_raises=(1,))
    tree = build_betting_tree(rules)
    assert tree.num_children[0] == 255  # a check and 254 bets
    assert_structure(tree)
    with pytest.raises(UsageError, match="has 256 actions"):
        TreePlan(replace(rules, stacks=(256, 256)))


def test_huge_stacks_are_refused_before_anything_is_made() -> None:
    rules = nolimit_rules(stacks=(MAX_CHIPS, MAX_CHIPS - 1))
    with pytest.raises(UsageError, match=r"2,147,483,64\d actions"):
        TreePlan(rules)


def test_chips_beyond_32_bits_are_refused() -> None:
    rules = replace(poker_game("kuhn"), raise_sizes=(2**30,), max_raises=(UNLIMITED_RAISES,))
    with pytest.raises(UsageError, match=r"a raise to 2,147,483,649 chips after 'r' in 'kuhn' is too large"):
        TreePlan(rules)


def test_the_largest_chips_fit() -> None:
    rules = replace(poker_game("kuhn"), blinds=(1, 1), raise_sizes=(MAX_CHIPS - 1,))
    assert build_betting_tree(rules).chips.max() == MAX_CHIPS


def test_refuses_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(betting_tree, "MAX_TEMPLATE_NODES", 20)
    with pytest.raises(UsageError, match="more than 20 distinct states: give a menu of bet sizes"):
        TreePlan(poker_game("limit-holdem"))


def test_refuses_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = TreePlan(poker_game("leduc"))
    monkeypatch.setattr(betting_tree, "MAX_NODES", plan.num_nodes - 1)
    with pytest.raises(UsageError, match=rf"the betting tree of 'leduc' has {plan.num_nodes} nodes.*at most"):
        plan.build()


def test_refuses_what_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = TreePlan(poker_game("leduc"))
    monkeypatch.setattr(memory, "available_memory", lambda: 1024)
    with pytest.raises(
        UsageError, match=r"the betting tree of 'leduc' \(\d+ nodes\) needs .* 1.0 KiB are free"
    ):
        plan.build()
