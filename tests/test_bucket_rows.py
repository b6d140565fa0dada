"""Bucketed tables: the actions of an information set together, read and added to as the naive twin does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.tables import naive_gather, naive_scatter

import errai
from errai.engine._buckets import gather_rows, scatter_rows
from errai.engine.public_tree import PublicTree
from errai.tables.layout import slot_order, spread_rows
from errai.tree.betting_tree import DECISION
from errai.tree.buckets import Buckets
from errai.tree.walk import walk_tree

U = np.uint64


@st.composite
def blocks(draw: st.DrawFn) -> tuple[np.ndarray, int, int, np.ndarray, int, int, int]:
    """A block among both players' decisions: plan rows, first, last, buckets, rows, cells, actor."""
    who = draw(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 6)), min_size=1, max_size=8))
    plan = np.zeros((len(who), 7), dtype=np.int32)
    slots = [3, 5]  # of earlier decisions of the round
    for d, (player, actions) in enumerate(who):
        plan[d, [0, 1, 4]] = player, actions, slots[player]
        slots[player] += actions
    first = draw(st.integers(0, len(who)))
    last = draw(st.integers(first, len(who)))
    rows = draw(st.integers(1, 5))
    bucket = draw(st.lists(st.integers(0, rows - 1), min_size=3, max_size=40))
    return plan, first, last, np.array(bucket, dtype=np.int32), rows, len(bucket) - 2, draw(st.integers(0, 1))


@settings(deadline=None)
@given(blocks())
def test_rows_are_gathered_and_scattered_as_the_naive_twin_does(
    block: tuple[np.ndarray, int, int, np.ndarray, int, int, int],
) -> None:
    plan, first, last, bucket, rows, num_cells, actor = block
    own = [(int(row[4]), int(row[1])) for row in plan[first:last] if row[0] == actor]
    slot_base = own[0][0] if own else 7
    num_slots = sum(actions for _, actions in own)
    width, begin = num_cells + 3, 11
    rng = np.random.default_rng(0)
    table = rng.random(begin + num_slots * rows + 4)
    local = [(slot - slot_base, actions) for slot, actions in own]
    target = np.full((num_slots, width), -1.0)
    seen = bucket[2:].tolist()
    gather_rows(
        plan,
        first,
        last,
        actor,
        slot_base,
        bucket,
        U(2),
        U(num_cells),
        begin,
        rows,
        table,
        width,
        target.ravel(),
    )
    expected = naive_gather(table.tolist(), begin, rows, local, seen)
    assert target[:, :num_cells].tolist() == expected
    assert (target[:, num_cells:] == -1).all()
    weight = rng.random(num_cells + 1)
    learnt = rng.random((num_slots, width))
    added = table.copy()
    scatter_rows(
        plan, first, last, actor, slot_base, bucket, U(2), U(num_cells), weight, U(1), begin, rows, width,
        learnt.ravel(), added,
    )  # fmt: skip
    naive = naive_scatter(table.tolist(), begin, rows, local, seen, weight[1:].tolist(), learnt.tolist())
    assert added == pytest.approx(np.array(naive), rel=1e-13)
    assert np.array_equal(added[:begin], table[:begin])
    assert np.array_equal(added[begin + num_slots * rows :], table[begin + num_slots * rows :])


@pytest.fixture(scope="module")
def tree() -> PublicTree:
    """Leduc whose second round is bucketed at random, for player 1 alone."""
    whole = PublicTree.of(errai.load_game("leduc"))
    bucket = np.random.default_rng(5).integers(0, 4, whole.cells.num_cells(1, 1)).astype(np.int32)
    bucket[:4] = np.arange(4)
    return whole.abstracted(Buckets(({}, {1: bucket})))


def test_every_reader_finds_a_slot_where_it_is(tree: PublicTree) -> None:
    layout, cells, walk = tree.layout, tree.cells, walk_tree(tree.betting)
    lossless = PublicTree.of(tree.game).layout
    seen: list[set[int]] = [set(), set()]
    for player in (0, 1):
        table = np.arange(layout.num_slots[player], dtype=np.float64)
        spread = spread_rows(walk, cells, layout, lossless, player, table)
        for node in np.flatnonzero(
            (tree.betting.kind == DECISION) & (tree.betting.player == player)
        ).tolist():
            r, actions = int(tree.betting.round[node]), int(walk.num_children[node])
            for board in range(*cells.links.round_board[r : r + 2].tolist()):
                slot, rows = int(walk.slot[node]), int(layout.rows[player, board])
                first = int(layout.begin[player, board]) + slot * rows
                view = layout.decision(table, player, board, r, slot, actions)
                assert np.shares_memory(view, table)
                order = slot_order(walk, layout, player, r, board)
                begin, end = cells.players[player].cell_begin[board : board + 2].tolist()
                for action in range(actions):
                    for row in range(rows):
                        place = first + (
                            row * actions + action if (player, r) == (1, 1) else action * rows + row
                        )
                        assert view[action, row] == place
                        assert layout.begin[player, board] + order[slot + action, row] == place
                        # All boards of a bucketed round share their slots: the last one is named.
                        named = board if (player, r) != (1, 1) else int(cells.links.round_board[2]) - 1
                        assert tree.describe_slot(player, place) == (
                            f"node {node} of round {r + 1}, board {named}, row {row}"
                        )
                        seen[player].add(place)
                    for cell in range(end - begin):
                        row = int(layout.bucket[1][begin + cell]) if (player, r) == (1, 1) else cell
                        at = int(lossless.begin[player, board]) + (slot + action) * (end - begin) + cell
                        assert spread[at] == view[action, row]
        assert seen[player] == set(range(layout.num_slots[player]))
