"""Bucketed tables: the slots of a bucket together, read and added to as the naive twin does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.tables import naive_gather, naive_scatter

import errai
from errai.engine._buckets import gather_rows, scatter_rows
from errai.engine.public_tree import PublicTree
from errai.tables.layout import spread_rows
from errai.tree.betting_tree import DECISION
from errai.tree.buckets import Buckets
from errai.tree.walk import walk_tree

U = np.uint64


@settings(deadline=None)
@given(
    bucket=st.lists(st.integers(0, 4), min_size=2, max_size=40),
    num_slots=st.integers(0, 11),
    first_slot=st.integers(0, 5),
    later_slots=st.integers(0, 5),
)
def test_rows_are_gathered_and_scattered_as_the_naive_twin_does(
    bucket: list[int], num_slots: int, first_slot: int, later_slots: int
) -> None:
    """A block's slots are some of each bucket's; 11 numbers stand before the table."""
    begin, stride, num_cells = 11 + first_slot, first_slot + num_slots + later_slots, len(bucket) - 2
    width, of_cell = num_cells + 3, np.array(bucket, dtype=np.int32)
    rng = np.random.default_rng(0)
    table = rng.random(11 + 5 * stride + 4)
    target = np.full((num_slots, width), -1.0)
    gather_rows(of_cell, U(2), U(num_cells), begin, stride, num_slots, table, width, target.ravel())
    assert target[:, :num_cells].tolist() == naive_gather(
        table.tolist(), begin, stride, num_slots, bucket[2:]
    )
    assert (target[:, num_cells:] == -1).all()
    weight = rng.random(num_cells + 1)
    learnt = rng.random((num_slots, width))
    added = table.copy()
    scatter_rows(
        of_cell, U(2), U(num_cells), weight, U(1), begin, stride, num_slots, width, learnt.ravel(), added
    )
    naive = naive_scatter(
        table.tolist(), begin, stride, num_slots, bucket[2:], weight[1:].tolist(), learnt.tolist()
    )
    assert added == pytest.approx(np.array(naive), rel=1e-13)
    places = begin + np.array(bucket[2:], dtype=np.int64)[:, np.newaxis] * stride + np.arange(num_slots)
    untouched = np.setdiff1d(np.arange(len(table)), places)
    assert np.array_equal(added[untouched], table[untouched])


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
                first, num_slots = int(layout.begin[player, board]), int(walk.num_slots[player, r])
                view = layout.decision(table, player, board, r, slot, actions)
                assert np.shares_memory(view, table)
                begin, end = cells.players[player].cell_begin[board : board + 2].tolist()
                for action in range(actions):
                    for row in range(rows):
                        place = first + (slot + action) * rows + row
                        if (player, r) == (1, 1):
                            place = first + row * num_slots + slot + action
                        assert view[action, row] == place
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
