"""Private hands at every public board, as the traversal walks them: cells.

A *cell* of a player at a board is a class of hands that nothing so far distinguishes: hands that the
game's symmetry maps onto each other while the board stays. All vectors of the traversal
(reach, values) run over the cells of one board. Cells are sorted by strength in the last round, so that
a showdown is a sweep; the hands of a cell are contiguous and the first of them represents it. In a
spot with given ranges there is no symmetry to use and every hand is a cell of its own.

Letters: B boards of all rounds, C cells of a player, H hands of a player over all boards.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.games.deals import Deals
from errai.games.rules import PokerRules, Showdown
from errai.memory import verify_memory
from errai.tree import _cells as kernels

NO_CARD = 52
NO_CELL = -1

BYTES_A_CELL = 4 * 7 + 4
BYTES_A_HAND = 2


class PlayerCells(NamedTuple):
    """The cells of one player.

    Attributes:
        cell_begin: int64[B + 1] the cells of each board.
        parent_cell: int32[C] the cell at the parent board, counted from its first.
        multiplicity: float32[C] hands of the cell.
        hand_begin: int32[C + 1] the hands of each cell.
        hand_card: uint8[H, 2] cards of each hand; `NO_CARD` second where hands have one card.
        below: int32[C] opponent cells of the board that are strictly weaker (used in the last round).
        up_to: int32[C] opponent cells of the board that are not stronger.
        tied_up_to: int32[C] own cells of the board that are not stronger.
        twin: int32[C] the opponent's cell, counted from the board's first, that holds the representative's
            own two cards, which inclusion and exclusion subtracts twice; `NO_CELL` for one-card hands.
        card: uint8[C, 2] for each card of the representative, the least of the cards that the symmetry of
            the board maps it onto; `NO_CARD` second where hands have one card.
        card_count: uint8[C, 2] hands of the cell that hold this card; zero for the second of two alike.
        matches: uint8[C, 6] in Bluff, dice of the roll that match each face or are stars; [0, 6] with cards.
    """

    cell_begin: npt.NDArray[np.int64]
    parent_cell: npt.NDArray[np.int32]
    multiplicity: npt.NDArray[np.float32]
    hand_begin: npt.NDArray[np.int32]
    hand_card: npt.NDArray[np.uint8]
    below: npt.NDArray[np.int32]
    up_to: npt.NDArray[np.int32]
    tied_up_to: npt.NDArray[np.int32]
    twin: npt.NDArray[np.int32]
    card: npt.NDArray[np.uint8]
    card_count: npt.NDArray[np.uint8]
    matches: npt.NDArray[np.uint8]


class BoardLinks(NamedTuple):
    """How boards follow each other. Boards of all rounds are numbered through.

    Attributes:
        round_board: int64[R + 1] the boards of each round.
        child_begin: int64[B] first board of the next round that follows.
        child_end: int64[B] one past the last.
        deal_factor: float64[B] chance of the deal from the parent to this class of boards, given that it hits
            neither player's hand.
    """

    round_board: npt.NDArray[np.int64]
    child_begin: npt.NDArray[np.int64]
    child_end: npt.NDArray[np.int64]
    deal_factor: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """Boards and both players' cells; the two are one object where the players see alike.

    Attributes:
        links: the boards.
        players: cells of each player.
        boards: [round] uint8[boards, cards].
        classes: [player][round] int64, the canonical number of each cell (or the hand's number in a spot).
    """

    links: BoardLinks
    players: tuple[PlayerCells, PlayerCells]
    boards: tuple[npt.NDArray[np.uint8], ...]
    classes: tuple[tuple[npt.NDArray[np.int64], ...], tuple[npt.NDArray[np.int64], ...]]

    @property
    def num_rounds(self) -> int:
        """Number of betting rounds."""
        return len(self.boards)

    def num_cells(self, player: int, round_index: int) -> int:
        """Return the cells of a player in a round."""
        begin = self.players[player].cell_begin
        first, last = self.links.round_board[round_index : round_index + 2]
        return int(begin[last] - begin[first])

    def cards(self, player: int, round_index: int) -> npt.NDArray[np.uint8]:
        """Return the hole cards that represent each cell of a round, and its board: uint8[cells, cards]."""
        cells, boards = self.players[player], self.boards[round_index]
        first, last = self.links.round_board[round_index : round_index + 2]
        begin = cells.cell_begin[first : last + 1]
        hole = cells.hand_card[cells.hand_begin[begin[0] : begin[-1]]]
        if (hole[:, 1] == NO_CARD).all():
            hole = hole[:, :1]
        return np.concatenate([hole, np.repeat(boards, np.diff(begin), axis=0)], axis=1)

    def max_cells(self, round_index: int) -> int:
        """Return the most cells that either player has at a board of a round."""
        first, last = self.links.round_board[round_index : round_index + 2]
        return max(int(np.diff(cells.cell_begin[first : last + 1]).max()) for cells in self.players)


Classify = Callable[[npt.NDArray[np.uint8], int], npt.NDArray[np.int64]]


def game_cells(rules: PokerRules) -> Cells:
    """Return the cells of a whole game, up to its symmetry."""
    deals = Deals(rules)
    num_boards = sum(deals.num_boards(r) for r in range(rules.num_rounds))
    num_cells = sum(deals.num_rows(r) for r in range(rules.num_rounds))
    num_bytes = num_cells * BYTES_A_CELL + num_boards * rules.num_hands() * (BYTES_A_HAND + 24)
    verify_memory(num_bytes, f"the hands of '{rules.name}' at {num_boards:,} boards")
    return cells_below(deals, 0, 0)


def cells_below(deals: Deals, first_round: int, board_index: int) -> Cells:
    """Return the cells of a board of a round and of all boards that follow it, rounds counted from there.

    Args:
        deals: the game's cards.
        first_round: the betting round to start with.
        board_index: one of its canonical boards; its children are neighbours in every later round.
    """
    rules = deals.rules
    boards, child_ranges, factors = [], [], []
    first, last = board_index, board_index + 1
    for r in range(first_round, rules.num_rounds):
        deal = deals.board_round(r)
        if r == first_round or deal == deals.board_round(r - 1):
            # The start, or no card is dealt: every board is its own only child.
            begin = np.arange(last - first + 1)
            factors.append(np.ones(last - first))
        else:
            known = 2 * rules.num_hole_cards + rules.num_board_cards_by(r - 1)
            choices = comb(rules.deck.size - known, rules.num_board_cards[r])
            begin = deals.boards.child_begin(deal)[first : last + 1]
            first, last = int(begin[0]), int(begin[-1])
            begin = begin - first
            factors.append(deals.boards.deals_from_parent(deal)[first:last] / choices)
        boards.append(deals.boards.cards(deal)[first:last])
        child_ranges.append(begin)

    def classify(cards: npt.NDArray[np.uint8], round_index: int) -> npt.NDArray[np.int64]:
        return deals.rows.index(cards, deals.row_round(first_round + round_index))

    hands = rules.deck.hands(rules.num_hole_cards)
    grouped = _group_hands(rules, boards, child_ranges, hands, classify)
    player = _player_cells(grouped, grouped)
    return Cells(
        _links(child_ranges, factors), (player, player), tuple(boards), (grouped.classes, grouped.classes)
    )


def spot_cells(
    rules: PokerRules,
    board: npt.NDArray[np.uint8],
    hands: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]],
) -> Cells:
    """Return the cells of a sub-game that starts at a board, every hand and every run-out on its own.

    Args:
        rules: the sub-game's rounds; its first deals no card.
        board: the cards on the table.
        hands: uint8[hands, hole cards] of each player, none of them hit by the board.
    """
    boards = [board[np.newaxis]]
    child_ranges = [np.array([0, 1])]
    factors = [np.ones(1)]
    for r in range(1, rules.num_rounds):
        assert rules.num_board_cards[r] == 1
        next_boards = [
            [*parent, card]
            for parent in boards[-1].tolist()
            for card in rules.deck.cards
            if card not in parent
        ]
        unseen = rules.deck.size - boards[-1].shape[1]
        child_ranges.append(np.arange(len(boards[-1]) + 1) * unseen)
        choices = unseen - 2 * rules.num_hole_cards
        factors.append(np.full(len(next_boards), 1 / choices))
        boards.append(np.array(next_boards, dtype=np.uint8))
    groups = [_group_hands(rules, boards, child_ranges, own, None) for own in hands]
    players = (_player_cells(groups[0], groups[1]), _player_cells(groups[1], groups[0]))
    classes = (groups[0].classes, groups[1].classes)
    return Cells(_links(child_ranges, factors), players, tuple(boards), classes)


def _links(child_ranges: list[npt.NDArray[np.int64]], factors: list[npt.NDArray[np.float64]]) -> BoardLinks:
    round_board = np.cumsum([0, *(len(factor) for factor in factors)]).astype(np.int64)
    child_begin = np.zeros(round_board[-1], dtype=np.int64)
    child_end = np.zeros(round_board[-1], dtype=np.int64)
    for r in range(1, len(factors)):
        here = slice(round_board[r - 1], round_board[r])
        child_begin[here] = round_board[r] + child_ranges[r][:-1]
        child_end[here] = round_board[r] + child_ranges[r][1:]
    return BoardLinks(round_board, child_begin, child_end, np.concatenate(factors))


@dataclass(frozen=True)
class _GroupedHands:
    """A player's hands at all boards, sorted by board, strength and class.

    Attributes:
        hands: uint8[hands, hole cards] all hands of the player.
        board: int64[H] board of each hand in the sorted list, numbered through the rounds.
        hand: int64[H] which of `hands`.
        strength: int64[H] zero before the last round.
        first: int64[C] the first hand of each cell.
        cell_begin: int64[B + 1].
        parent_cell: int32[C].
        cell_of: int32[B, hands] the cell of each hand at each board, or `NO_CELL`.
        classes: as in `Cells`.
    """

    hands: npt.NDArray[np.uint8]
    board: npt.NDArray[np.int64]
    hand: npt.NDArray[np.int64]
    strength: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    cell_begin: npt.NDArray[np.int64]
    parent_cell: npt.NDArray[np.int32]
    cell_of: npt.NDArray[np.int32]
    classes: tuple[npt.NDArray[np.int64], ...]


def _group_hands(
    rules: PokerRules,
    boards: list[npt.NDArray[np.uint8]],
    child_ranges: list[npt.NDArray[np.int64]],
    hands: npt.NDArray[np.uint8],
    classify: Classify | None,
) -> _GroupedHands:
    """Sort a player's hands at every board into cells."""
    num_boards = sum(len(round_boards) for round_boards in boards)
    cell_of = np.full((num_boards, len(hands)), NO_CELL, dtype=np.int32)
    parts: list[list[npt.NDArray[np.int64]]] = [[], [], [], []]
    begins, parents = [], []
    classes: list[npt.NDArray[np.int64]] = []
    first_board = num_cells = num_hands = 0
    for r, round_boards in enumerate(boards):
        board, hand = np.nonzero(_is_open(round_boards, hands))
        cards = np.concatenate([hands[hand], round_boards[board]], axis=1)
        numbers = hand.astype(np.int64) if classify is None else classify(cards, r)
        strength = np.zeros(len(hand), dtype=np.int64)
        if r == len(boards) - 1:
            strength += _strength(rules, cards)
        order = _sorted_order(board, strength, numbers)
        board, hand, numbers, strength = board[order], hand[order], numbers[order], strength[order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = (board[1:] != board[:-1]) | (numbers[1:] != numbers[:-1])
        first = np.flatnonzero(is_first)
        begin = np.searchsorted(board[first], np.arange(len(round_boards)))
        cell_of[first_board + board, hand] = np.cumsum(is_first) - 1 - begin[board]
        if r == 0:
            parents.append(np.zeros(len(first), dtype=np.int32))
        else:
            above = np.searchsorted(child_ranges[r], np.arange(len(round_boards)), side="right") - 1
            above += first_board - len(boards[r - 1])
            parents.append(cell_of[above[board[first]], hand[first]])
        begins.append(num_cells + begin)
        classes.append(numbers[first])
        for part, values in zip(parts, (first_board + board, hand, strength, num_hands + first), strict=True):
            part.append(values)
        first_board += len(round_boards)
        num_cells += len(first)
        num_hands += len(order)
    return _GroupedHands(
        hands=hands,
        board=np.concatenate(parts[0]),
        hand=np.concatenate(parts[1]),
        strength=np.concatenate(parts[2]),
        first=np.concatenate(parts[3]),
        cell_begin=np.append(np.concatenate(begins), num_cells).astype(np.int64),
        parent_cell=np.concatenate(parents),
        cell_of=cell_of,
        classes=tuple(classes),
    )


def _player_cells(own: _GroupedHands, other: _GroupedHands) -> PlayerCells:
    """Relate a player's cells to the opponent's hands."""
    board, hand = own.board[own.first], own.hand[own.first]
    num_cells = len(board)
    below, up_to, tied_up_to = (np.empty(num_cells, dtype=np.int32) for _ in range(3))
    kernels.count_beaten(
        own.cell_begin,
        own.strength[own.first],
        other.cell_begin,
        other.strength[other.first],
        below,
        up_to,
        tied_up_to,
    )
    num_hole_cards = own.hands.shape[1]
    twin = np.full(len(board), NO_CELL, dtype=np.int32)
    if num_hole_cards == 2:
        numbers = {tuple(cards): i for i, cards in enumerate(other.hands.tolist())}
        same = np.array([numbers.get(tuple(cards), NO_CELL) for cards in own.hands.tolist()])[hand]
        known = same != NO_CELL
        twin[known] = other.cell_of[board[known], same[known]]
    cards = np.full((len(own.hand), 2), NO_CARD, dtype=np.uint8)
    cards[:, :num_hole_cards] = own.hands[own.hand]
    hand_begin = np.append(own.first, len(own.hand)).astype(np.int32)
    card, card_count = (np.empty((num_cells, 2), dtype=np.uint8) for _ in range(2))
    least = np.empty(NO_CARD + 1, dtype=np.uint8)
    kernels.class_cards(own.cell_begin, hand_begin, cards, least, card, card_count)
    return PlayerCells(
        cell_begin=own.cell_begin,
        parent_cell=own.parent_cell,
        multiplicity=np.diff(hand_begin).astype(np.float32),
        hand_begin=hand_begin,
        hand_card=cards,
        below=below,
        up_to=up_to,
        tied_up_to=tied_up_to,
        twin=twin,
        card=card,
        card_count=card_count,
        matches=np.zeros((0, 6), dtype=np.uint8),
    )


def _sorted_order(
    board: npt.NDArray[np.int64], strength: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the order by board, strength and class; hands of one class stay in the order of hands."""
    strengths, classes = 1 + int(strength.max()), 1 + int(numbers.max())
    if (1 + int(board[-1])) * strengths * classes < 2**63:  # one sort instead of three
        return np.argsort((board * strengths + strength) * classes + numbers, kind="stable")
    return np.lexsort((numbers, strength, board))


def _is_open(boards: npt.NDArray[np.uint8], hands: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return whether each hand can be held at each board: bool[boards, hands]."""
    on_board = np.zeros((len(boards), NO_CARD), dtype=bool)
    np.put_along_axis(on_board, boards.astype(np.int64), True, axis=1)
    return np.logical_not(on_board[:, hands].any(axis=2))


def _strength(rules: PokerRules, cards: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    if rules.showdown is Showdown.THREE_CARD:
        return evaluate_three_card(cards)
    return evaluate(cards)
