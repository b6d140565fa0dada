"""Folds and showdowns against the double loop over hands."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from naive.traversal import Hand, naive_fold_values, naive_showdown_payoffs

import errai
from errai.cards.deck import FULL_DECK, Deck
from errai.engine._lanes import LANES, TILE
from errai.engine._terminal import SUMS_SIZE, value_leaves
from errai.engine.plan import cell_arrays
from errai.games.rules import PokerRules
from errai.tree.cells import Cells, game_cells, spot_cells

U = np.uint64

SHORT = PokerRules(
    name="short",
    deck=Deck("9TJQKA", "chs"),
    num_hole_cards=2,
    num_board_cards=(0, 3),
    blinds=(2, 1),
    raise_sizes=(2, 2),
    max_raises=(1, 1),
    first_player=(1, 0),
)
RIVER = PokerRules(
    name="river",
    deck=FULL_DECK,
    num_hole_cards=2,
    num_board_cards=(0,),
    blinds=(1, 1),
    raise_sizes=(2,),
    max_raises=(1,),
    first_player=(0,),
)

Outcomes = tuple[float, float, float]
Leaf = tuple[int, float | Outcomes | None, float | None]
"""A row of reach; what its showdown is for, or what winning, tying and losing it is worth; what its fold is
worth; None for none."""


def outcomes_of(showdown: float | Outcomes | None) -> Outcomes:
    if isinstance(showdown, tuple):
        return showdown
    return (showdown or 0.0, 0.0, -(showdown or 0.0))


def poker(name: str) -> PokerRules:
    rules = errai.load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


def hands_of(cells: Cells, player: int, board: int) -> list[list[Hand]]:
    """Return the hands of each cell at a board."""
    own = cells.players[player]
    begin = own.hand_begin[own.cell_begin[board] : own.cell_begin[board + 1] + 1].tolist()
    return [
        [tuple(card for card in hand if card < 52) for hand in own.hand_card[first:last].tolist()]
        for first, last in pairwise(begin)
    ]


def run_kernel(
    cells: Cells, board: int, player: int, reach: npt.NDArray[Any], leaves: Sequence[Leaf]
) -> dict[tuple[int, str], npt.NDArray[Any]]:
    """Value leaves; returns a row of values for each (reach row, "showdown" or "fold")."""
    dtype = reach.dtype
    arrays = cell_arrays(cells, dtype)
    begin = arrays.begin
    num_own = int(begin[player, board + 1] - begin[player, board])
    num_other = int(begin[1 - player, board + 1] - begin[1 - player, board])
    width = -(-max(num_own, num_other) // TILE) * TILE
    padded = np.full((len(reach), width), np.nan, dtype=dtype)  # what is beyond the cells must not matter
    padded[:, :num_other] = reach
    ordered = [leaf for leaf in leaves if leaf[1] is not None] + [leaf for leaf in leaves if leaf[1] is None]
    num_showdowns = sum(leaf[1] is not None for leaf in leaves)
    table, chips = [], []
    names: list[tuple[int, str]] = []
    for row, showdown, fold in ordered:
        nodes = []
        for amount, kind in ((showdown, "showdown"), (fold, "fold")):
            nodes.append(len(names) if amount is not None else -1)
            if amount is not None:
                names.append((row, kind))
        table.append((row, *nodes))
        win, tie, lose = outcomes_of(showdown)
        chips.append((win, fold or 0.0, tie, lose))
    is_plain = not any(isinstance(showdown, tuple) for _, showdown, _ in leaves)
    value = np.full((len(names) + 1) * width, np.nan, dtype=dtype)
    value_leaves(
        np.array(table, dtype=np.int32),
        np.array(chips)[:, : 2 if is_plain else 4].copy(),
        0,
        num_showdowns,
        num_showdowns,
        len(ordered),
        True,
        0,
        0,
        U(begin[player, board]),
        U(num_own),
        U(begin[1 - player, board]),
        U(num_other),
        arrays.card,
        arrays.counts,
        arrays.order,
        arrays.used_cards,
        padded.reshape(-1),
        0,
        width,
        len(names) * width,
        0,
        np.zeros(3 * (width + 1) * LANES, dtype=dtype),
        np.zeros(SUMS_SIZE, dtype=dtype),
        np.zeros((3, LANES), dtype=np.uint64),
        value,
    )
    return {name: value[i * width : i * width + num_own] for i, name in enumerate(names)}


def compare(
    rules: PokerRules, cells: Cells, board: int, player: int, rng: np.random.Generator, num_rows: int
) -> None:
    """Compare plain showdowns with the twin, and showdowns of three values."""
    for is_plain in (True, False):
        compare_leaves(rules, cells, board, player, rng, num_rows, is_plain)


def compare_leaves(
    rules: PokerRules,
    cells: Cells,
    board: int,
    player: int,
    rng: np.random.Generator,
    num_rows: int,
    is_plain: bool,
) -> None:
    """Compare random reach rows with the twin; every third has a fold alone, of the others the odd ones."""
    own, other = hands_of(cells, player, board), hands_of(cells, 1 - player, board)
    reach = rng.random((num_rows, len(other))) * (rng.random((num_rows, len(other))) < 0.7)
    chips = rng.integers(1, 50, (num_rows, 2)) * [1.0, -1.0]
    leaves: list[Leaf] = []
    for row, (won, fold) in enumerate(chips.tolist()):
        showdown = won if is_plain else tuple(rng.normal(size=3).tolist())
        leaves.append(
            (row, None if row % 3 == 0 else showdown, fold if row % 3 == 0 or row % 2 == 1 else None)
        )
    found = run_kernel(cells, board, player, reach, leaves)
    last = cells.num_rounds - 1
    cards = tuple(cells.boards[last][board - int(cells.links.round_board[last])].tolist())
    assert rules.raise_sizes is not None
    at_showdown = replace(
        rules,
        num_board_cards=(len(cards),),
        raise_sizes=rules.raise_sizes[:1],
        max_raises=rules.max_raises[:1],
        first_player=rules.first_player[:1],
    )
    mine = [hand for hands in own for hand in hands]
    for row, showdown, fold in leaves:
        by_hand = {hand: reach[row, cell] for cell, hands in enumerate(other) for hand in hands}
        for kind, amount in (("showdown", showdown), ("fold", fold)):
            if amount is None:
                assert (row, kind) not in found
                continue
            twin = (
                naive_showdown_payoffs(at_showdown, cards, mine, by_hand, *outcomes_of(showdown))
                if kind == "showdown"
                else {hand: (fold or 0.0) * x for hand, x in naive_fold_values(mine, by_hand).items()}
            )
            for cell, hands in enumerate(own):
                # All hands of a cell are worth the same: that is what makes it one.
                expected = [twin[hand] for hand in hands]
                assert found[row, kind][cell] == pytest.approx(expected[0], abs=1e-10)
                assert expected == pytest.approx([expected[0]] * len(hands), abs=1e-10)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_one_card_games(name: str) -> None:
    rules = poker(name)
    cells = game_cells(rules)
    rng = np.random.default_rng(1)
    for board in range(*cells.links.round_board[-2:]):
        for player in (0, 1):
            compare(rules, cells, board, player, rng, 2 * LANES + 3)


def test_three_card_showdowns() -> None:
    rules = replace(poker("rhode-island"), name="small", deck=Deck("TJQK", "cdh"))
    cells = game_cells(rules)
    rng = np.random.default_rng(2)
    first, last = cells.links.round_board[-2:]
    for board in rng.choice(np.arange(first, last), 4, replace=False).tolist():
        compare(rules, cells, board, 0, rng, 5)


def test_two_card_games_with_symmetric_suits() -> None:
    cells = game_cells(SHORT)
    rng = np.random.default_rng(3)
    first, last = cells.links.round_board[-2:]
    boards = rng.choice(np.arange(first, last), 5, replace=False).tolist()
    # The boards with the fewest cells are the most symmetric ones.
    num_cells = np.diff(cells.players[0].cell_begin[first : last + 1])
    for board in [*boards, int(first + num_cells.argmin())]:
        compare(SHORT, cells, board, 0, rng, 4)


@pytest.mark.parametrize("seed", range(4))
def test_spots_with_different_hands(seed: int) -> None:
    rng = np.random.default_rng(seed)
    board = np.sort(rng.choice(52, 5, replace=False)).astype(np.uint8)
    free = FULL_DECK.hands(2)[~np.isin(FULL_DECK.hands(2), board).any(axis=1)]
    # Few hands against many: strengths that only one player has, ties, and hands that both have.
    picks = [np.sort(rng.choice(len(free), size, replace=False)) for size in (7, 60)]
    cells = spot_cells(RIVER, board, (free[picks[0]], free[picks[1]]))
    for player in (0, 1):
        compare(RIVER, cells, 0, player, rng, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lanes_do_not_leak(dtype: type[np.floating]) -> None:
    rng = np.random.default_rng(5)
    cells = game_cells(SHORT)
    board = int(cells.links.round_board[-2]) + 3
    num_other = len(hands_of(cells, 1, board))
    reach = rng.random((LANES + 4, num_other)).astype(dtype)
    leaves: list[Leaf] = [(row, 3.0, -2.0) for row in range(LANES)]
    leaves += [(LANES + i, None, 1.0) for i in range(4)]
    before = run_kernel(cells, board, 0, reach, leaves)
    for changed in (0, 7, LANES - 1, LANES, LANES + 3):
        other = reach.copy()
        other[changed] *= 2
        after = run_kernel(cells, board, 0, other, leaves)
        for (row, kind), values in before.items():
            same = np.array_equal(after[row, kind], values)
            assert same == (row != changed), (row, kind, changed)


def test_float32_is_close_to_float64() -> None:
    rng = np.random.default_rng(6)
    board = np.array([3, 14, 22, 35, 47], dtype=np.uint8)
    hands = FULL_DECK.hands(2)[~np.isin(FULL_DECK.hands(2), board).any(axis=1)]
    cells = spot_cells(RIVER, board, (hands, hands))
    reach = rng.random((2, len(hands)))
    leaves: list[Leaf] = [(0, 1.0, 1.0), (1, 1.0, None)]
    exact = run_kernel(cells, 0, 0, reach, leaves)
    rounded = run_kernel(cells, 0, 0, reach.astype(np.float32), leaves)
    for key, values in exact.items():
        assert np.abs(rounded[key] - values).max() < 1e-6 * reach.sum()


def test_plain_showdowns_are_a_case_of_the_general_ones() -> None:
    """The same showdowns through both paths of the kernel, hands that both players hold and ties included."""
    rng = np.random.default_rng(8)
    board = np.array([3, 14, 22, 35, 47], dtype=np.uint8)
    hands = FULL_DECK.hands(2)[~np.isin(FULL_DECK.hands(2), board).any(axis=1)]
    cells = spot_cells(RIVER, board, (hands, hands))
    reach = rng.random((3, len(hands)))
    plain: list[Leaf] = [(0, 5.0, 1.0), (1, 2.0, None), (2, None, -3.0)]
    general: list[Leaf] = [(0, (5.0, 0.0, -5.0), 1.0), (1, (2.0, 0.0, -2.0), None), (2, None, -3.0)]
    expected, found = run_kernel(cells, 0, 0, reach, plain), run_kernel(cells, 0, 0, reach, general)
    for key, values in expected.items():
        assert np.allclose(found[key], values, rtol=0, atol=1e-9)
    # Winning, tying and losing alike is what a fold is.
    alike: list[Leaf] = [(row, (1.5, 1.5, 1.5), 1.5) for row in range(3)]
    found = run_kernel(cells, 0, 0, reach, alike)
    for row in range(3):
        assert np.allclose(found[row, "showdown"], found[row, "fold"], rtol=0, atol=1e-9)
