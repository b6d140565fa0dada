"""Cells against a slow enumeration with explicit symmetries; the same cells for game, sub-game and path."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive.cells import NaiveBoard, boards_of, run_outs

import errai
from errai.cards.deck import Deck
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules, Showdown
from errai.tables.layout import lossless_layout
from errai.tree.betting_tree import build_betting_tree
from errai.tree.cells import (
    NO_CARD,
    NO_CELL,
    Cells,
    RootCells,
    cells_below,
    game_cells,
    game_cells_bytes,
    path_cells,
    spot_cells,
)
from errai.tree.size import game_size
from errai.tree.walk import walk_tree

MAX_BOARDS = 60 if WITHOUT_JIT else 300
EXAMPLES = 15 if WITHOUT_JIT else 60


def rules_of(
    deck: Deck, num_hole_cards: int, num_board_cards: tuple[int, ...], showdown: Showdown = Showdown.POKER
) -> PokerRules:
    rounds = len(num_board_cards)
    return PokerRules(
        name="small",
        deck=deck,
        num_hole_cards=num_hole_cards,
        num_board_cards=num_board_cards,
        blinds=(1, 1),
        raise_sizes=(2,) * rounds,
        max_raises=(1,) * rounds,
        first_player=(0,) * rounds,
        showdown=showdown,
    )


def poker(name: str) -> PokerRules:
    rules = errai.load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


@st.composite
def small_games(draw: st.DrawFn) -> PokerRules:
    """Draw a game of 1 to 3 rounds with boards of 0 to 3 cards, whose boards are few."""
    deck = Deck(
        draw(st.sampled_from(["2A", "5JK", "TJQK", "2345A"])), draw(st.sampled_from(["c", "dh", "chs"]))
    )
    num_hole_cards = draw(st.integers(1, 2))
    dealt = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))
    total = num_hole_cards + sum(dealt)
    assume(num_hole_cards + total <= deck.size and total <= 7)
    showdown = draw(st.sampled_from(list(Showdown))) if total == 3 else Showdown.POKER
    rules = rules_of(deck, num_hole_cards, dealt, showdown)
    deals = Deals(rules)
    assume(sum(deals.num_boards(r) for r in range(rules.num_rounds)) <= MAX_BOARDS)
    assume(rules.suits_matter or deck.num_suits**deck.num_ranks <= 81)
    return rules


def hands_of(cells: Cells, player: int, board: int) -> list[list[tuple[int, ...]]]:
    """Return the hands of each cell of a board."""
    own = cells.players[player]
    begin = own.hand_begin[own.cell_begin[board] : own.cell_begin[board + 1] + 1].tolist()
    return [hands_in(own.hand_card[first:last]) for first, last in pairwise(begin)]


def hands_in(cards: Any) -> list[tuple[int, ...]]:
    return [tuple(card for card in hand if card != NO_CARD) for hand in cards.tolist()]


def root_hands(root: RootCells) -> list[list[tuple[int, ...]]]:
    return [hands_in(root.hand_card[first:last]) for first, last in pairwise(root.hand_begin.tolist())]


def board_arrays(cells: Cells, player: int, board: int) -> dict[str, list[Any]]:
    """Return all that is known of a player's cells at a board, as lists."""
    own = cells.players[player]
    here = slice(*own.cell_begin[board : board + 2].tolist())
    arrays = {name: getattr(own, name)[here].tolist() for name in ("parent_cell", "card", "counts", "order")}
    return {"hands": hands_of(cells, player, board), "weight": own.deal_weight[here].tolist(), **arrays}


def verify_board(
    cells: Cells, player: int, board: int, naive: NaiveBoard, other: NaiveBoard, parent: NaiveBoard
) -> None:
    """Compare a board's cells with the twin's."""
    found = board_arrays(cells, player, board)
    assert found["hands"] == naive.cells
    numbers = range(len(naive.cells))
    one_card = cells.hands[player].shape[1] == 1
    assert found["card"] == [[*naive.card(i), *[NO_CARD][: int(one_card)]] for i in numbers]
    assert found["counts"] == [naive.counts(i) for i in numbers]
    assert found["order"] == [naive.order(i, other) for i in numbers]
    above = [parent.cell_of(hands[0]) for hands in naive.cells]
    assert found["parent_cell"] == above
    assert cells.links.deal_factor[board] == float(naive.factor)
    assert found["weight"] == pytest.approx(
        [
            float(naive.factor * len(hands) / len(parent.cells[p]))
            for p, hands in zip(above, naive.cells, strict=True)
        ],
        rel=1e-15,
    )


def verify_game(rules: PokerRules) -> None:
    """Compare all cells of a game with the twin's."""
    cells = game_cells(rules)
    assert cells.players[0] is cells.players[1]
    root, levels = boards_of(rules)
    identity = rules.num_board_cards[0] == 0
    assert root_hands(cells.root[0]) == (levels[0][0] if identity else root).cells
    assert cells.root[0].multiplicity.tolist() == [len(hands) for hands in root_hands(cells.root[0])]
    first = 0
    places: dict[int, int] = {}
    for r, level in enumerate(levels):
        assert [tuple(board) for board in cells.boards[r].tolist()] == [naive.cards for naive in level]
        assert cells.links.round_board[r] == first
        for i, naive in enumerate(level):
            places[id(naive)] = first + i
            parent = naive.parent if naive.parent is not None else root
            if r == 0 and identity:
                parent = naive
            verify_board(cells, 0, first + i, naive, naive, parent)
            if r > 0:
                above = places[id(naive.parent)]
                assert cells.links.child_begin[above] <= first + i < cells.links.child_end[above]
        first += len(level)
    assert cells.links.round_board[-1] == first
    assert cells.players[0].cell_begin[0] == cells.players[0].hand_begin[0] == 0
    assert cells.players[0].hand_begin[-1] == len(cells.players[0].hand_card)


@settings(max_examples=EXAMPLES, deadline=None)
@given(small_games())
def test_cells_of_small_games_against_the_twin(rules: PokerRules) -> None:
    verify_game(rules)


@pytest.mark.parametrize(
    "rules",
    [
        poker("kuhn"),
        poker("leduc"),
        replace(poker("rhode-island"), deck=Deck("TJQK", "cdh")),
        rules_of(Deck("JQK", "cdhs"), 1, (1, 1), Showdown.THREE_CARD),
        rules_of(Deck("JQK", "dhs"), 2, (3, 0)),
        rules_of(Deck("JQK", "ch"), 1, (1,)),
        rules_of(Deck("JQK", "cdhs"), 2, (1, 1)),
        rules_of(Deck("3456", "cdh"), 2, (3,)),
    ],
    ids=lambda rules: f"{rules.name}-{rules.num_board_cards}",
)
def test_cells_of_chosen_games_against_the_twin(rules: PokerRules) -> None:
    verify_game(rules)


@settings(max_examples=EXAMPLES, deadline=None)
@given(small_games(), st.data())
def test_subgames_and_paths_have_the_cells_of_the_whole(rules: PokerRules, data: st.DataObject) -> None:
    whole, deals = game_cells(rules), Deals(rules)
    first_round = data.draw(st.integers(0, rules.num_rounds - 1))
    board = data.draw(st.integers(0, deals.num_boards(first_round) - 1))
    dealt = cells_below(deals, first_round, board)
    assert dealt.first_round == first_round
    verify_part(whole, dealt, {0: int(whole.links.round_board[first_round]) + board})
    assert root_hands(dealt.root[0]) == hands_of(dealt, 0, 0)
    if first_round > 0:
        before = data.draw(st.integers(0, deals.num_boards(first_round - 1) - 1))
        undealt = cells_below(deals, first_round, before, dealt=False)
        above = int(whole.links.round_board[first_round - 1]) + before
        children = range(int(whole.links.child_begin[above]), int(whole.links.child_end[above]))
        verify_part(whole, undealt, dict(enumerate(children)), with_first=True)
        assert root_hands(undealt.root[0]) == hands_of(whole, 0, above)
    path = [board]
    for r in range(first_round + 1, rules.num_rounds):
        at = int(whole.links.round_board[r - 1]) + path[-1]
        below = range(int(whole.links.child_begin[at]), int(whole.links.child_end[at]))
        path.append(data.draw(st.sampled_from(below)) - int(whole.links.round_board[r]))
    path = path[: data.draw(st.integers(1, len(path)))]
    factors = data.draw(st.lists(st.floats(0.1, 3), min_size=len(path), max_size=len(path)))
    found = path_cells(deals, path, factors, first_round)
    assert found.links.deal_factor.tolist() == factors
    for i, number in enumerate(path):
        at = int(whole.links.round_board[first_round + i]) + number
        mine, theirs = board_arrays(found, 0, i), board_arrays(whole, 0, at)
        weights = np.array(theirs.pop("weight")) / whole.links.deal_factor[at] * factors[i]
        assert mine.pop("weight") == pytest.approx(weights.tolist(), rel=1e-14)
        assert mine == theirs
    if first_round > 0:
        at = int(whole.links.round_board[first_round - 1])
        parents = np.repeat(
            np.arange(len(whole.links.child_begin)), whole.links.child_end - whole.links.child_begin
        )
        parent = parents[int(whole.links.round_board[first_round]) + board - int(whole.links.round_board[1])]
        assert parent >= at
        assert root_hands(found.root[0]) == hands_of(whole, 0, parent)
        begun = path_cells(deals, path, factors, first_round, dealt=True)
        assert root_hands(begun.root[0]) == hands_of(begun, 0, 0)
        assert board_arrays(begun, 0, 0)["parent_cell"] == list(range(len(begun.root[0].multiplicity)))
        assert (begun.players[0].deal_weight[: begun.players[0].cell_begin[1]] == factors[0]).all()


def verify_part(whole: Cells, part: Cells, first: dict[int, int], with_first: bool = False) -> None:
    """Compare the cells of a sub-game with those of the game; `first` are the game's boards of its own."""
    places = dict(first)
    assert len(first) == part.links.round_board[1]
    for board in range(int(part.links.round_board[-2])):
        mine = range(int(part.links.child_begin[board]), int(part.links.child_end[board]))
        at = places[board]
        theirs = range(int(whole.links.child_begin[at]), int(whole.links.child_end[at]))
        places.update(zip(mine, theirs, strict=True))
    assert len(places) == part.links.round_board[-1]
    for board, at in places.items():
        mine_, theirs_ = board_arrays(part, 0, board), board_arrays(whole, 0, at)
        if board in first and not with_first:
            number = len(mine_["hands"])
            assert mine_.pop("parent_cell") == list(range(number))
            assert mine_.pop("weight") == [1.0] * number
            del theirs_["parent_cell"], theirs_["weight"]
        else:
            assert part.links.deal_factor[board] == whole.links.deal_factor[at]
        assert mine_ == theirs_
    for r, boards in enumerate(part.boards):
        start = int(part.links.round_board[r])
        for i, cards in enumerate(boards.tolist()):
            r_whole = part.first_round + r
            at = places[start + i] - int(whole.links.round_board[r_whole])
            assert cards == whole.boards[r_whole][at].tolist()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(1, 2), st.lists(st.integers(0, 2), max_size=2), st.integers(0, 4), st.data())
def test_spots_against_the_twin(
    num_hole_cards: int, later: list[int], num_board_cards: int, data: st.DataObject
) -> None:
    deck = Deck("9TJ", "chs")
    assume(2 * num_hole_cards + sum(later) + num_board_cards <= 8)
    rules = rules_of(deck, num_hole_cards, (0, *later))
    board = data.draw(st.permutations(deck.cards))[:num_board_cards]
    is_open = [tuple(hand) for hand in deck.hands(num_hole_cards).tolist() if not set(hand) & set(board)]
    ranges = [data.draw(st.lists(st.sampled_from(is_open), min_size=1, unique=True)) for _ in range(2)]
    arrays = [np.array(own, dtype=np.uint8) for own in ranges]
    cells = spot_cells(rules, np.array(board, dtype=np.uint8), (arrays[0], arrays[1]))
    levels = run_outs(rules, tuple(board), (ranges[0], ranges[1]))
    number = 0
    for r, level in enumerate(levels):
        assert [tuple(cards) for cards in cells.boards[r].tolist()] == [one[0].cards for one in level]
        for pair in level:
            for q in (0, 1):
                parent = pair[q].parent or pair[q]
                verify_board(cells, q, number, pair[q], pair[1 - q], parent)
                expected = [ranges[q].index(hands[0]) for hands in pair[q].cells]
                assert cells.hand_numbers(q, number).tolist() == expected
            number += 1
    for q in (0, 1):
        assert root_hands(cells.root[q]) == hands_of(cells, q, 0)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "small-rhode-island", "first-board", "short"])
def test_there_are_as_many_cells_as_canonical_hands(name: str) -> None:
    games = {
        "small-rhode-island": replace(poker("rhode-island"), deck=Deck("TJQK", "cdhs")),
        "first-board": rules_of(Deck("JQKA", "cdhs"), 2, (3, 1)),
        "short": rules_of(Deck("TJQKA", "dhs"), 2, (0, 3)),
    }
    rules = games.get(name) or poker(name)
    cells, counted = game_cells(rules), game_size(rules)
    tree = build_betting_tree(rules)
    for r, one in enumerate(counted.rounds):
        assert len(cells.boards[r]) == one.boards
        assert cells.num_cells(0, r) == one.rows
    layout = lossless_layout(walk_tree(tree), cells)
    assert sum(layout.num_slots) == counted.table_slots


def test_a_first_round_with_a_board_deals_all_boards() -> None:
    """One hole card, one board card, one round, 2 suits x 3 ranks: 9 classes x 14 actions are 126 slots."""
    rules = replace(rules_of(Deck("JQK", "hs"), 1, (1,)), max_raises=(2,))
    cells = game_cells(rules)
    assert [len(boards) for boards in cells.boards] == [3]
    assert cells.players[0].cell_begin.tolist() == [0, 3, 6, 9]
    assert root_hands(cells.root[0]) == [[(38,), (39,)], [(42,), (43,)], [(46,), (47,)]]
    # 6 cards, 2 of them in hands: 4 deals; 2 of each rank.
    assert cells.links.deal_factor.tolist() == [0.5, 0.5, 0.5]
    layout = lossless_layout(walk_tree(build_betting_tree(rules)), cells)
    assert sum(layout.num_slots) == game_size(rules).table_slots == 126


@pytest.mark.parametrize("name", ["leduc", "small-rhode-island", "first-board", "short"])
def test_what_a_deal_adds_to_a_parent_cell_is_one_chance_for_all(name: str) -> None:
    """A hand sees C(n - h, k) deals of k of n unseen cards, each with the chance 1 / C(n - 2h, k)."""
    games = {
        "small-rhode-island": replace(poker("rhode-island"), deck=Deck("TJQK", "cdhs")),
        "first-board": rules_of(Deck("JQKA", "cdhs"), 2, (3, 1)),
        "short": rules_of(Deck("TJQKA", "dhs"), 2, (0, 3)),
    }
    rules = games.get(name) or poker(name)
    cells = game_cells(rules)
    own, links = cells.players[0], cells.links
    for r in range(rules.num_rounds):
        dealt = rules.num_board_cards[r]
        unseen = rules.deck.size - rules.num_board_cards_by(r - 1)
        expected = comb(unseen - rules.num_hole_cards, dealt) / comb(unseen - 2 * rules.num_hole_cards, dealt)
        if r == 0:
            parents = [(len(cells.root[0].multiplicity), range(int(links.round_board[1])))]
        else:
            parents = [
                (
                    int(own.cell_begin[board + 1] - own.cell_begin[board]),
                    range(int(links.child_begin[board]), int(links.child_end[board])),
                )
                for board in range(*links.round_board[r - 1 : r + 1].tolist())
            ]
        for num_cells, children in parents:
            here = slice(int(own.cell_begin[children.start]), int(own.cell_begin[children.stop]))
            sums = np.bincount(own.parent_cell[here], own.deal_weight[here], minlength=num_cells)
            assert sums == pytest.approx([expected] * num_cells, rel=1e-12)


@settings(max_examples=EXAMPLES, deadline=None)
@given(small_games(), st.data())
def test_hands_are_found_on_dealt_boards(rules: PokerRules, data: st.DataObject) -> None:
    cells, deals = game_cells(rules), Deals(rules)
    r = data.draw(st.integers(0, rules.num_rounds - 1))
    shuffled = data.draw(st.permutations(rules.deck.cards))
    hand = shuffled[: rules.num_hole_cards]
    board = shuffled[rules.num_hole_cards :][: rules.num_board_cards_by(r)]
    found = deals.boards.canonicalise(np.array(board, dtype=np.uint8), deals.board_round(r))
    at = int(cells.links.round_board[r]) + found.board_index
    renamed = found.card_permutation[list(hand)].tolist()
    cell = cells.find_cell(0, at, renamed)
    assert cells.cells_of_hands(0, at, [renamed, renamed[::-1]]).tolist() == [cell, cell]
    assert tuple(sorted(renamed)) in hands_of(cells, 0, at)[cell]
    before = int(cells.players[0].cell_begin[cells.links.round_board[r]])
    row = int(cells.players[0].cell_begin[at]) + cell - before
    numbers = deals.rows.index(
        np.array([cells.cards(0, r)[row].tolist(), [*hand, *board]]), deals.row_round(r)
    )
    assert numbers[0] == numbers[1]
    if board:
        hit = [int(cells.boards[r][found.board_index, 0]), renamed[0]][: len(hand)]
        assert cells.cells_of_hands(0, at, [hit]).tolist() == [NO_CELL]


def test_a_hand_that_nobody_holds_is_refused() -> None:
    cells = game_cells(poker("leduc"))
    with pytest.raises(
        UsageError, match=r"player 1 cannot hold the cards \[38\] at board 1: expected open cards"
    ):
        cells.find_cell(1, 1, [38])


@pytest.mark.parametrize("dealt", [True, False])
def test_subgames_of_a_cut_start_where_it_lies(dealt: bool) -> None:
    rules = replace(poker("rhode-island"), deck=Deck("TJQK", "cdh"))
    deals = Deals(rules)
    last_board = deals.num_boards(2 if dealt else 1) - 1
    cells = cells_below(deals, 2, last_board, dealt)
    last = deals.boards.cards(1 if dealt else 0)[-1].tolist()
    assert (cells.boards[0][:, : len(last)] == last).all()
    assert len(cells.boards[0]) == (1 if dealt else 7)
    assert cells.first_round == 2


def test_a_path_below_a_later_board_starts_from_that_boards_hands() -> None:
    rules = replace(poker("rhode-island"), deck=Deck("TJQK", "cdh"))
    deals, whole = Deals(rules), game_cells(rules)
    last = deals.num_boards(2) - 1
    found = path_cells(deals, [last], [1.0], first_round=2)
    assert deals.boards.parent(1)[last] == 3
    assert root_hands(found.root[0]) == hands_of(whole, 0, int(whole.links.round_board[1]) + 3)
    assert root_hands(found.root[0]) != hands_of(whole, 0, int(whole.links.round_board[1]))


def test_boards_that_do_not_exist_or_follow_are_refused() -> None:
    deals = Deals(replace(poker("rhode-island"), deck=Deck("TJQK", "cdh")))
    with pytest.raises(UsageError, match="board 4 of round 1 does not exist: expected 0 to 3"):
        cells_below(deals, 1, 4)
    with pytest.raises(UsageError, match="board 4 of round 1 does not exist: expected 0 to 3"):
        cells_below(deals, 2, 4, dealt=False)
    with pytest.raises(UsageError, match="board -1 of round 0 does not exist: expected 0 to 0"):
        path_cells(deals, [-1], [1.0])
    last = deals.num_boards(2) - 1
    with pytest.raises(UsageError, match=f"board {last} of round 2 does not follow board 0"):
        path_cells(deals, [0, 0, last], [1.0, 1.0, 1.0])
    with pytest.raises(UsageError, match="2 boards with 1 factors are not a path"):
        path_cells(deals, [0, 0], [1.0])
    with pytest.raises(UsageError, match="1 to 1 boards"):
        path_cells(deals, [0, 0], [1.0, 1.0], first_round=2)


MEASURE = """
import sys
from dataclasses import replace
import errai
from errai.cards.deck import Deck
from errai.games.deals import Deals
from errai.tree.cells import game_cells, game_cells_bytes

def status(name):  # of this process alone: the usage that the system reports starts from the parent's
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024

game_cells(errai.load_game("leduc"))  # loads the kernels
rules = errai.load_game(sys.argv[1])
if len(sys.argv) > 2:
    rules = replace(rules, deck=Deck(sys.argv[2], "cdhs"))
deals = Deals(rules)
deals.boards.cards(deals.boards.num_rounds - 1)
open("/proc/self/clear_refs", "w").write("5")  # starts a new peak
before = status("VmRSS")
cells = game_cells(rules)
print(status("VmHWM") - before, game_cells_bytes(deals))
"""


@pytest.mark.skipif(WITHOUT_JIT, reason="millions of hands in plain Python")
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks cannot be reset here")
@pytest.mark.parametrize("arguments", [["holdem-2-1"], ["holdem-3-1", "9TJQKA"]], ids=["holdem-2-1", "short"])
def test_the_memory_said_is_the_memory_taken(arguments: list[str]) -> None:
    command = [sys.executable, "-c", MEASURE, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    measured, said = map(int, ended.stdout.split())
    assert 0.9 <= said / measured <= 1.5


def test_cells_take_the_bytes_that_are_said() -> None:
    rules = rules_of(Deck("TJQKA", "dhs"), 2, (0, 3, 1))
    cells = game_cells(rules)
    arrays: list[npt.NDArray[np.generic]] = [
        *cells.players[0],
        cells.links.child_begin,
        cells.links.child_end,
        cells.links.deal_factor,
    ]
    taken = sum(array.nbytes for array in arrays)
    assert taken <= game_cells_bytes(Deals(rules)) <= 1.2 * taken
