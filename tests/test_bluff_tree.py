"""The bidding tree of Bluff: against plain recursion, counts, refusals."""

from math import comb

import numpy as np
import pytest
from naive.tree import naive_arrays, naive_bluff_tree, naive_round_counts

from errai import memory
from errai.errors import UsageError
from errai.games.bluff import BluffState, num_bids
from errai.games.catalogue import bluff
from errai.tree import bluff_tree
from errai.tree.betting_tree import ACTION_CALL, CHALLENGE, DECISION, NO_NODE
from errai.tree.bluff_tree import bluff_round_count, build_bluff_tree, build_split_bluff_tree


def assert_as_naive(dice: tuple[int, int]) -> None:
    """Compare every array with the nested tree of ascending bids."""
    tree = build_bluff_tree(dice)
    root = naive_bluff_tree(bluff_tree.num_bids(dice))  # type: ignore[attr-defined]
    for name, expected in naive_arrays(root).items():
        assert getattr(tree, name).tolist() == expected, name
    (counts,) = naive_round_counts(root, 1)
    assert counts == bluff_round_count(dice)
    assert tree.round_begin.tolist() == [0, tree.num_nodes]
    assert [entries.tolist() for entries in tree.entry_nodes] == [[0]]
    assert tree.block(0, 0) == (0, tree.num_nodes)


def test_one_die_each_as_naive() -> None:
    assert_as_naive((1, 1))


@pytest.mark.parametrize("bids", range(1, 10))
def test_any_number_of_bids_as_naive(bids: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bluff_tree, "num_bids", lambda dice: bids)
    assert_as_naive((1, 1))


@pytest.mark.parametrize("dice", [(1, 1), (2, 1), (1, 2)])
def test_structure(dice: tuple[int, int]) -> None:
    tree = build_bluff_tree(dice)
    bids = num_bids(dice)
    nodes = np.arange(tree.num_nodes)
    assert tree.parent[0] == NO_NODE
    assert (tree.parent[1:] < nodes[1:]).all()
    number = tree.num_children.astype(np.int64)
    inner = nodes[number > 0]
    assert (tree.kind[inner] == DECISION).all()
    assert (tree.kind[number == 0] == CHALLENGE).all()
    # First children come in order and leave no gap, so every node but the root is a child once.
    assert tree.first_child[inner].tolist() == (1 + np.cumsum(number[inner]) - number[inner]).tolist()
    assert number.sum() == tree.num_nodes - 1
    assert (tree.parent[1:] == np.repeat(inner, number[inner])).all()
    # Every set of bids is a decision once: as many with k bids as there are sets of size k.
    depth = np.zeros(tree.num_nodes, dtype=np.int64)
    for node in nodes[1:]:
        depth[node] = depth[tree.parent[node]] + 1
    decisions = depth[tree.kind == DECISION]
    assert np.bincount(decisions).tolist() == [comb(bids, k) for k in range(bids + 1)]
    assert (tree.player[tree.kind == DECISION] == decisions % 2).all()
    challenges = nodes[tree.kind == CHALLENGE]
    assert (tree.player[challenges] == tree.player[tree.parent[challenges]]).all()
    assert (tree.action[challenges] == ACTION_CALL).all()


@pytest.mark.parametrize("bids", range(3, 10))
def test_a_split_tree_as_naive(bids: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bluff_tree, "num_bids", lambda dice: bids)
    monkeypatch.setattr(bluff_tree, "MAX_BIDS_IN_ONE_BLOCK", 2)
    tree = build_split_bluff_tree((1, 1))
    root = naive_bluff_tree(bids, split=bids // 2)
    for name, expected in naive_arrays(root).items():
        assert getattr(tree, name).tolist() == expected, name
    counts = naive_round_counts(root, 2)
    assert [tree.count(DECISION, r) for r in (0, 1)] == [count.decisions for count in counts]
    assert sum(count.decisions for count in counts) == bluff_round_count((1, 1)).decisions
    assert sum(count.showdowns for count in counts) == bluff_round_count((1, 1)).showdowns
    assert tree.entry_nodes[1].tolist() == [tree.block(1, e)[0] for e in range(counts[0].continuing)]


def test_a_split_tree_has_small_blocks() -> None:
    tree = build_split_bluff_tree((2, 1))
    assert tree.num_rounds == 2
    blocks = [end - begin for begin, end in (tree.block(1, e) for e in range(len(tree.entry_nodes[1])))]
    assert max(blocks) == 2**9  # below the lowest of 9 high bids: 2^8 decisions, each with a challenge
    assert tree.count(DECISION, 0) + tree.count(DECISION, 1) == 2**18


def test_few_bids_are_not_split() -> None:
    assert build_split_bluff_tree((1, 1)).num_rounds == 1


def test_the_tree_offers_what_the_rules_allow() -> None:
    # Follow the highest bid of each decision from the root to the longest bidding.
    rules = bluff(1, 1)
    tree = build_bluff_tree(rules.dice)
    state = BluffState.start(rules).roll(((0,), (1,)))
    node = 0
    for _ in range(num_bids(rules.dice)):
        children = tree.children(node)
        offered = [int(tree.action[child]) for child in children]
        legal = [bid for bid in range(num_bids(rules.dice)) if state.can_bid(bid)]
        assert offered == ([ACTION_CALL] if state.can_call_bluff() else []) + legal
        assert tree.player[node] == state.player
        node, state = children[int(bool(state.bids))], state.bid(legal[0])
    assert [int(tree.action[child]) for child in tree.children(node)] == [ACTION_CALL]


def test_counts() -> None:
    count = bluff_round_count((2, 2))
    assert count.decisions == 2**24
    assert count.showdowns == 2**24 - 1
    assert count.nodes == 2**25 - 1
    assert count.slots == 2 * (2**24 - 1)
    assert count.continuing == count.folds == 0


def test_refuses_too_many_nodes() -> None:
    with pytest.raises(UsageError, match=r"Bluff with 8 dice has 562,949,953,421,311 nodes.*at most 2,147"):
        build_bluff_tree((4, 4))


def test_refuses_what_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2**20)
    with pytest.raises(UsageError, match=r"Bluff with 4 dice \(33,554,431 nodes\) needs 1\.2 GiB of memory"):
        build_bluff_tree((2, 2))
