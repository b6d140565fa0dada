"""Tables laid out by sub-game: every slot in one shard, found by the walk's formula, at every cut."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from naive.tables import Slot, naive_entry, naive_shards, naive_whole
from naive.tree import nolimit_rules

from errai.cards.deck import Deck
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.tables.layout import TableLayout, bucketed_layout, lossless_layout
from errai.tables.subgame_layout import SubgameLayout, board_layout, copy_between, subgame_layout
from errai.tree.betting_tree import BettingTree, build_betting_tree
from errai.tree.buckets import Buckets
from errai.tree.cells import Cells, game_cells
from errai.tree.cut import Cut
from errai.tree.walk import WalkTree, walk_tree


def named(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


GAMES = {
    "kuhn": named("kuhn"),
    "leduc": named("leduc"),
    "rhode-island": replace(named("rhode-island"), deck=Deck("JQK", "ch"), max_raises=(1, 1, 1)),
    "holdem": PokerRules(
        name="short-holdem",
        deck=Deck("JQK", "cds"),
        num_hole_cards=2,
        num_board_cards=(0, 3, 1),
        blinds=(2, 1),
        raise_sizes=(2, 4, 4),
        max_raises=(1, 1, 1),
        first_player=(1, 0, 0),
    ),
    "no card": PokerRules(
        name="no-card-in-the-middle",
        deck=Deck("JQK", "cd"),
        num_hole_cards=1,
        num_board_cards=(0, 1, 0, 1),
        blinds=(1, 1),
        raise_sizes=(2, 4, 4, 4),
        max_raises=(1, 1, 1, 1),
        first_player=(0, 0, 0, 0),
    ),
    # Lines that are all-in go on without a decision: entries that have no slots.
    "all in": replace(
        nolimit_rules(stacks=(4, 5), num_rounds=3), deck=Deck("QK", "cdhs"), num_board_cards=(0, 1, 1)
    ),
}

ROWS = ("lossless", "bucketed", "first round", "later rounds", "last round", "one player")


@cache
def parts(name: str) -> tuple[BettingTree, WalkTree, Cells]:
    tree = build_betting_tree(GAMES[name])
    return tree, walk_tree(tree), game_cells(GAMES[name])


def whole_layout(name: str, rows: str) -> TableLayout:
    _, walk, cells = parts(name)
    rng = np.random.default_rng(7)
    rounds = {
        "lossless": range(0),
        "bucketed": range(cells.num_rounds),
        "one player": range(cells.num_rounds),
        "first round": range(1),
        "later rounds": range(1, cells.num_rounds),
        "last round": range(cells.num_rounds - 1, cells.num_rounds),
    }[rows]
    maps: list[dict[int, np.ndarray]] = []
    for player in (0, 1):
        maps.append({})
        for r in rounds:
            num = 2 + r + player  # another number of buckets in every round and for every player
            maps[player][r] = rng.integers(0, num, cells.num_cells(player, r)).astype(np.int32)
            maps[player][r][:num] = np.arange(num)
    if rows == "one player":
        maps[0] = {}
    layout = bucketed_layout(walk, cells, Buckets((maps[0], maps[1])))
    return lossless_layout(walk, cells) if rows == "lossless" else layout


def cuts(name: str) -> list[tuple[int, bool]]:
    return list(product(range(1, GAMES[name].num_rounds), (True, False)))


CASES = [
    (name, rows, cut, dealt, together)
    for name in GAMES
    for rows in ROWS
    for cut, dealt in cuts(name)
    for together in ((1, 2, None) if rows in ("lossless", "last round") else (1,))
]


def make(name: str, rows: str, cut: int | None, dealt: bool, together: int | None) -> SubgameLayout:
    _, walk, cells = parts(name)
    return subgame_layout(walk, cells.links, whole_layout(name, rows), cut, dealt, together)


def slot_at(walk: WalkTree, slot: Slot, layout: TableLayout, player: int, round_board: np.ndarray) -> int:
    """Return where the walk finds a slot with a layout of its entry."""
    board = int(round_board[slot.round]) if slot.board is None else slot.board
    begin, stride = int(layout.begin[player, board]), int(layout.stride[player, board])
    number = int(walk.slot[slot.node]) + slot.action
    if slot.board is None:
        return begin + number + slot.row * stride
    return begin + number * stride + slot.row


@pytest.mark.parametrize(("name", "rows", "cut", "dealt", "together"), CASES)
def test_every_slot_is_where_the_naive_order_has_it(
    name: str, rows: str, cut: int, dealt: bool, together: int | None
) -> None:
    tree, walk, cells = parts(name)
    layout = make(name, rows, cut, dealt, together)
    num_entries = len(tree.entry_nodes[cut])
    at_once = together or num_entries
    for player in (0, 1):
        shards = naive_shards(tree, cells.links, layout.whole, player, cut, dealt, at_once)
        bound = [layout.layout_for(entry) for entry in range(num_entries)]
        place = 0
        ranges = {}
        for key, slots in shards.items():
            ranges[key] = (place, place + len(slots))
            for slot in slots:
                entry = naive_entry(tree, slot.node, cut) if slot.round >= cut else num_entries - 1
                found = slot_at(walk, slot, bound[entry], player, cells.links.round_board)
                assert found == place
                place += 1
        assert place == layout.whole.num_slots[player]
        # Shards are these and no others: contiguous, in this order, every slot in one of them.
        assert layout.trunk(player) == ranges[-1, -1]
        for entry in range(num_entries):
            begin, end = layout.shared(player, entry)
            assert (begin, end) == ranges.get((entry // at_once, -1), (begin, begin))
            for board in range(layout.num_boards):
                begin, end = layout.shard(player, entry, board)
                assert (begin, end) == ranges.get((entry // at_once, board), (begin, begin))
        begins_of_shards = layout.shard_begin(player)
        assert (np.diff(begins_of_shards) >= 0).all()
        filled = begins_of_shards[:-1][np.diff(begins_of_shards) > 0].tolist()
        assert filled == [first for first, last in ranges.values() if last > first]
        assert begins_of_shards[-1] == place


@pytest.mark.parametrize(("name", "rows", "cut", "dealt", "together"), CASES)
def test_a_table_reads_the_same_through_every_layout(
    name: str, rows: str, cut: int, dealt: bool, together: int | None
) -> None:
    tree, walk, cells = parts(name)
    layout, whole = make(name, rows, cut, dealt, together), make(name, rows, None, True, 1)
    rng = np.random.default_rng(3)
    for player in (0, 1):
        table = rng.permutation(layout.whole.num_slots[player]).astype(np.float64)
        moved = copy_between(whole, table, layout, player)
        bound = [layout.layout_for(entry) for entry in range(len(tree.entry_nodes[cut]))]
        for place, slot in enumerate(naive_whole(tree, cells.links, layout.whole, player)):
            entry = naive_entry(tree, slot.node, cut) if slot.round >= cut else 0
            where = slot_at(walk, slot, bound[entry], player, cells.links.round_board)
            assert moved[where] == table[place]
        assert np.array_equal(copy_between(layout, moved, whole, player), table)
        for other_cut, other_dealt in cuts(name):
            other = make(name, rows, other_cut, other_dealt, 1)
            direct = copy_between(layout, moved, other, player)
            assert np.array_equal(direct, copy_between(whole, table, other, player))


@pytest.mark.parametrize(("name", "rows", "cut", "dealt", "together"), CASES)
def test_a_subgame_held_alone_is_found_in_its_own_array(
    name: str, rows: str, cut: int, dealt: bool, together: int | None
) -> None:
    _, _, cells = parts(name)
    layout = make(name, rows, cut, dealt, together)
    links = cells.links
    for player in (0, 1):
        table = np.arange(layout.whole.num_slots[player])
        for entry in range(0, int(layout.run_begin[-1]), 2):
            run, bound = layout.run_of(entry), layout.layout_for(entry)
            for board in range(layout.num_boards):
                own, shared = layout.shard(player, entry, board), layout.shared(player, entry)
                alone = np.concatenate([table[slice(*own)], table[slice(*shared)]])
                within = iter(layout.begin_within(player, entry, board).tolist())
                for r in range(cut, cells.num_rounds):
                    above = cut if dealt else cut - 1
                    first, last = (links.round_board[above] + board, links.round_board[above] + board + 1)
                    for _ in range(above, r):
                        first, last = links.child_begin[first], links.child_end[last - 1]
                    lo, hi = layout.slot_begin[player, r, run : run + 2].tolist()
                    for b in range(int(first), int(last)):
                        begin, stride = int(bound.begin[player, b]), int(bound.stride[player, b])
                        start = next(within)
                        num_rows = int(bound.rows[player, b])
                        if bound.bucketed[player, r]:
                            inside = lo + np.arange(num_rows)[:, np.newaxis] * stride + np.arange(hi - lo)
                        else:
                            inside = np.arange(lo * stride, hi * stride)
                        assert np.array_equal(alone[start + inside], table[begin + inside])
                assert next(within, None) is None


def test_shards_are_those_of_the_cut() -> None:
    """The numbers of entries and boards, and so of sub-games, are those that `Cut` counts."""
    for name in ("leduc", "rhode-island", "holdem", "no card"):
        tree, _, _ = parts(name)
        for cut, dealt in cuts(name):
            expected = Cut(tree, Deals(GAMES[name]), cut, dealt)
            layout = make(name, "lossless", cut, dealt, 1)
            assert (layout.num_runs, layout.num_boards) == (expected.num_entries, expected.num_boards)
            for player in (0, 1):
                assert len(layout.shard_begin(player)) == 1 + expected.num_subgames + 1
            # Buckets are shared by all boards: no sub-game has a shard of its own where all rounds have them.
            assert len(make(name, "bucketed", cut, dealt, 1).shard_begin(0)) == 1 + expected.num_entries + 1


@pytest.mark.parametrize("name", ["leduc", "rhode-island", "holdem"])
def test_a_games_tables_have_a_shard_for_the_trunk_and_for_each_board_that_follows(name: str) -> None:
    """What solvers and checkpoints use: whoever works below a board of the second round needs one shard."""
    _, walk, cells = parts(name)
    layout, links = board_layout(walk, cells), cells.links
    first, last = links.round_board[1:3].tolist()
    for player in (0, 1):
        begin = layout.shard_begin[player].tolist()
        assert len(begin) == 1 + (last - first) + 1
        assert (begin[0], begin[-1]) == (0, layout.num_slots[player])
        covered = [0] * (len(begin) - 1)
        for board in range(int(links.round_board[-1])):
            r = int(np.searchsorted(links.round_board, board, side="right")) - 1
            above = board
            for _ in range(r - 1):
                above = next(b for b in range(above) if links.child_begin[b] <= above < links.child_end[b])
            shard = 1 + above - first if r else 0
            size = int(walk.num_slots[player, r] * layout.rows[player, board])
            assert begin[shard] <= layout.begin[player, board]
            assert layout.begin[player, board] + size <= begin[shard + 1]
            covered[shard] += size
        assert covered == np.diff(begin).tolist()


def test_leduc_has_a_shard_of_21_slots_for_each_subgame() -> None:
    """5 betting sequences x 3 boards; below each player 0 decides among 2, 3 and 2 actions, with 3 ranks."""
    layout = make("leduc", "lossless", 1, True, 1)
    sizes = {layout.shard(0, e, b)[1] - layout.shard(0, e, b)[0] for e in range(5) for b in range(3)}
    assert sizes == {(2 + 3 + 2) * 3}
    assert layout.trunk(0) == (0, (2 + 3 + 2) * 3)
    assert layout.shard(0, 0, 0)[0] == layout.trunk(0)[1]
    assert layout.shard(0, 4, 2)[1] == layout.whole.num_slots[0]


@pytest.mark.parametrize("rows", ROWS)
def test_without_a_cut_there_is_one_shard(rows: str) -> None:
    layout = make("rhode-island", rows, None, True, 1)
    for player in (0, 1):
        assert layout.trunk(player) == (0, layout.whole.num_slots[player])
        assert layout.shard_begin(player).tolist() == [0, layout.whole.num_slots[player]]
        table = np.arange(layout.whole.num_slots[player], dtype=np.float32)
        assert np.array_equal(copy_between(layout, table, layout, player), table)


def test_layout_for_binds_both_players() -> None:
    layout = make("holdem", "one player", 1, True, 1)
    bound = layout.layout_for(2)
    for player in (0, 1):
        assert np.array_equal(bound.begin[player], layout.begin_for(player, 2))
        assert np.array_equal(bound.stride[player], layout.stride_for(player, 2))
    assert bound.num_slots == layout.whole.num_slots
    assert bound.rows is layout.whole.rows


def test_bad_cuts_and_numbers_are_told() -> None:
    with pytest.raises(UsageError, match=r"invalid cut before round 3: expected rounds 1 to 2"):
        make("rhode-island", "lossless", 3, True, 1)
    with pytest.raises(UsageError, match="invalid cut before round 0"):
        make("rhode-island", "lossless", 0, True, 1)
    with pytest.raises(UsageError, match="invalid cut before round 1: the game has one round"):
        make("kuhn", "lossless", 1, True, 1)
    with pytest.raises(UsageError, match="the entries of a shard must be 1 or more, not 0"):
        make("leduc", "lossless", 1, True, 0)
    layout = make("leduc", "lossless", 1, True, 1)
    for entry in (-1, 5):
        with pytest.raises(UsageError, match=f"entry {entry} does not exist: the cut has 5 entries"):
            layout.begin_for(0, entry)
    for board in (-1, 3):
        with pytest.raises(UsageError, match=f"board {board} does not exist: the cut has 3 boards"):
            layout.shard(0, 0, board)
    with pytest.raises(UsageError, match=r"a table of \(5,\) slots cannot be laid out"):
        copy_between(layout, np.zeros(5), layout, 0)
