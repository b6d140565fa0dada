"""Slow obvious twins of the tables: the order of slots in a layout by sub-game, one slot at a time."""

import struct
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from errai.tables.layout import TableLayout
from errai.tree.betting_tree import DECISION, BettingTree
from errai.tree.cells import BoardLinks


class Slot(NamedTuple):
    """One number of a player's table; the board is None where all boards share the row."""

    round: int
    board: int | None
    node: int
    action: int
    row: int


@cache
def naive_entry(tree: BettingTree, node: int, round_index: int) -> int:
    """Climb from a node to the entry of a round above it; returns which entry of the round it is."""
    while tree.round[tree.parent[node]] >= round_index:
        node = int(tree.parent[node])
    return int(tree.entry_nodes[round_index].tolist().index(node))


def naive_board_above(links: BoardLinks, board: int, round_index: int) -> int:
    """Climb from a board to the one of an earlier round; returns which board of that round it is."""
    while board >= links.round_board[round_index + 1]:
        board = np.flatnonzero((links.child_begin <= board) & (board < links.child_end)).item()
    return board - int(links.round_board[round_index])


def naive_round_slots(
    tree: BettingTree, links: BoardLinks, layout: TableLayout, player: int, r: int
) -> Iterator[Slot]:
    """Yield the slots of a round in the order of the whole layout."""
    nodes = [
        node
        for node in range(tree.num_nodes)
        if tree.kind[node] == DECISION and tree.player[node] == player and tree.round[node] == r
    ]
    boards: list[int | None] = list(range(int(links.round_board[r]), int(links.round_board[r + 1])))
    rows = [int(layout.rows[player, board]) for board in boards]
    if layout.bucketed[player, r]:
        boards, rows = [None], rows[:1]
    for board, num_rows in zip(boards, rows, strict=True):
        slots: list[Slot] = []
        for node in nodes:
            num_actions = int(tree.num_children[node])
            for action in range(num_actions):
                slots += [Slot(r, board, node, action, row) for row in range(num_rows)]
        if board is None:  # the slots of a bucket are together, those of all decisions
            slots.sort(key=lambda slot: slot.row)
        yield from slots


def naive_whole(tree: BettingTree, links: BoardLinks, layout: TableLayout, player: int) -> list[Slot]:
    """List a player's slots round by round, as they lie without a cut."""
    return [
        slot for r in range(tree.num_rounds) for slot in naive_round_slots(tree, links, layout, player, r)
    ]


def naive_shards(
    tree: BettingTree,
    links: BoardLinks,
    layout: TableLayout,
    player: int,
    cut: int,
    dealt: bool,
    together: int,
) -> dict[tuple[int, int], list[Slot]]:
    """List a player's slots by shard: (-1, -1) the trunk, (run, -1) what boards share, (run, board) the rest.

    Shards come in the order of their keys, and in a shard slots are in the order of the whole layout.
    """
    shards: dict[tuple[int, int], list[Slot]] = {}
    for slot in naive_whole(tree, links, layout, player):
        key = (-1, -1)
        if slot.round >= cut:
            run = naive_entry(tree, slot.node, cut) // together
            board = -1
            if slot.board is not None:
                board = naive_board_above(links, slot.board, cut if dealt else cut - 1)
            key = (run, board)
        shards.setdefault(key, []).append(slot)
    return {key: shards[key] for key in sorted(shards)}


def naive_groups(sizes: list[int], most: int) -> list[list[int]]:
    """Put shards into groups one at a time: a group is closed when the next shard would make it too large."""
    groups: list[list[int]] = []
    for shard, size in enumerate(sizes):
        if groups and sum(sizes[other] for other in groups[-1]) + size <= most:
            groups[-1].append(shard)
        else:
            groups.append([shard])
    return groups


LARGEST = 2**31 - 1


def naive_fixed(value: float, scale: float) -> int:
    """Hold one number in fixed point; the product is that of floats, the rest is done with whole numbers."""
    product = value * scale
    if product == float("inf") or product == float("-inf"):
        return LARGEST if product > 0 else -LARGEST
    # Python rounds floats half to even.
    return min(max(round(product), -LARGEST), LARGEST)


def naive_unfixed(held: int, scale: float) -> float:
    """Give back what a number in fixed point stands for."""
    return held / scale


def naive_fixed_sum(held: int, gain: float, scale: float) -> int:
    """Add a gain to a number in fixed point, with integers that have no end before they are cut."""
    product = gain * scale
    if product == float("inf") or product == float("-inf"):
        return LARGEST if product > 0 else -LARGEST
    return min(max(held + round(product), -LARGEST), LARGEST)


def naive_float32(value: float) -> float:
    """Hold one number as a float32: the largest one stands for all that are larger."""
    largest = float(np.finfo(np.float32).max)
    return float(struct.unpack("f", struct.pack("f", min(max(value, -largest), largest)))[0])


def naive_gather(
    table: list[float], begin: int, stride: int, num_slots: int, bucket: list[int]
) -> list[list[float]]:
    """Return [slot][cell] what a bucketed table holds for each cell, for slots that follow each other."""
    return [[table[begin + row * stride + slot] for row in bucket] for slot in range(num_slots)]


def naive_scatter(
    table: list[float],
    begin: int,
    stride: int,
    num_slots: int,
    bucket: list[int],
    weight: list[float],
    learnt: list[list[float]],
) -> list[float]:
    """Return a bucketed table to which [slot][cell] was added, each cell with its weight."""
    added = list(table)
    for slot in range(num_slots):
        for cell, row in enumerate(bucket):
            added[begin + row * stride + slot] += weight[cell] * learnt[slot][cell]
    return added
