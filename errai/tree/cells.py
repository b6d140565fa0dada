"""Private hands at every public board, as the traversal walks them: cells.

A *cell* of a player at a board is a class of hands that nothing so far distinguishes: hands that the
game's symmetry maps onto each other while the board stays, round by round. All vectors of the traversal
(reach, values) run over the cells of one board. Cells are sorted by strength in the last round, so that
a showdown is a sweep, and before that by their least hand; the hands of a cell are contiguous and the least
of them represents it. In a spot with given ranges there is no symmetry to use and every hand is a
cell of its own.

One kernel makes the cells of any list of boards, one board at a time: all boards of a game (`game_cells`), a
board and those that follow it (`cells_below`), one board a round (`path_cells`), or the run-outs of a spot
(`spot_cells`). A canonical board has the same cells, in the same order, in each of them.

Before the first of these boards is dealt, hands are *root cells*: what a walk is given reach for and returns
values of. Where nothing is dealt, they are the cells of the first board.

Letters: B boards of all rounds, C cells of a player, H hands of a player over all boards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import verify_memory
from errai.tree import _cells as kernels
from errai.tree._cells import BELOW, PAIRS, TWIN, UP_TO
from errai.tree.cell_inputs import (
    BoardList,
    Cards,
    Floats,
    Ints,
    PlayerBuffers,
    SharedBuffers,
    both_places,
    deck_hands,
    game_cards,
    hand_list,
)

NO_CARD = kernels.NO_CARD
NO_CELL = kernels.NO_CELL

BYTES_A_CELL = 4 + 8 + 8 + 2 + 3 + 16
"""Of `PlayerCells`, without its hands."""

BYTES_A_HAND = 2
BYTES_A_BOARD = 2 * 8 + 3 * 8 + 6 * 8
"""Of `PlayerCells`, `BoardLinks` and what the kernel is told of each board."""


class PlayerCells(NamedTuple):
    """The cells of one player.

    Attributes:
        cell_begin: int64[B + 1] the cells of each board.
        parent_cell: int32[C] the cell at the parent board, counted from its first; of the first boards, the
            root cell.
        deal_weight: float64[C] what the value of a cell adds to that of its parent cell: the chance of the
            deal times the part of the parent's hands that are in the cell.
        hand_begin: int64[C + 1] the hands of each cell.
        hand_card: uint8[H, 2] cards of each hand, ascending; `NO_CARD` second where hands have one card.
        card: uint8[C, 2] for each card of the representative, the least of the cards that the symmetry of
            the board maps it onto; `NO_CARD` second where hands have one card.
        counts: uint8[C, 3] hands of the cell that hold the first card, the second (zero where it is the
            same), and all.
        order: int32[C, 4] how the cell stands among those of its board, counted from the board's first:
            `BELOW` opponent cells that are strictly weaker, `UP_TO` opponent cells that are not stronger,
            `TIED_UP_TO` own cells that are not stronger (all three used in the last round), and `TWIN`, the
            opponent's cell that holds the representative's own two cards, which inclusion and exclusion
            subtracts twice; `NO_CELL` where there is none and for one-card hands.
        matches: uint8[C, 6] in Bluff, dice of the roll that match each face or are stars; [0, 6] with cards.
    """

    cell_begin: Ints
    parent_cell: npt.NDArray[np.int32]
    deal_weight: Floats
    hand_begin: Ints
    hand_card: Cards
    card: Cards
    counts: Cards
    order: npt.NDArray[np.int32]
    matches: Cards

    @property
    def multiplicity(self) -> Cards:
        """uint8[C] hands of each cell."""
        return self.counts[:, 2]

    @property
    def below(self) -> npt.NDArray[np.int32]:
        """int32[C] opponent cells of the board that are strictly weaker."""
        return self.order[:, BELOW]

    @property
    def up_to(self) -> npt.NDArray[np.int32]:
        """int32[C] opponent cells of the board that are not stronger."""
        return self.order[:, UP_TO]

    @property
    def twin(self) -> npt.NDArray[np.int32]:
        """int32[C] the opponent's cell that holds the representative's own cards."""
        return self.order[:, TWIN]


class RootCells(NamedTuple):
    """A player's hands before the first boards are dealt; N cells.

    Attributes:
        multiplicity: float64[N] hands of each cell.
        hand_begin: int64[N + 1] the hands of each cell.
        hand_card: uint8[hands, 2] as in `PlayerCells`.
    """

    multiplicity: Floats
    hand_begin: Ints
    hand_card: Cards


class BoardLinks(NamedTuple):
    """How boards follow each other. Boards of all rounds are numbered through.

    Attributes:
        round_board: int64[R + 1] the boards of each round.
        child_begin: int64[B] first board of the next round that follows.
        child_end: int64[B] one past the last.
        deal_factor: float64[B] chance of the deal from the parent (or from the root) to this class of boards,
            given that it hits neither player's hand; or what whoever chose the boards says.
    """

    round_board: Ints
    child_begin: Ints
    child_end: Ints
    deal_factor: Floats


@dataclass(frozen=True)
class Cells:
    """Boards and both players' cells; the two are one object where the players see alike.

    Attributes:
        links: the boards.
        players: cells of each player.
        boards: [round] uint8[boards, cards].
        hands: [player] uint8[hands, hole cards] every hand that the player may hold, numbered in this order.
        root: [player] the hands before the first boards are dealt.
        first_round: the game's round that is round 0 here.
    """

    links: BoardLinks
    players: tuple[PlayerCells, PlayerCells]
    boards: tuple[Cards, ...]
    hands: tuple[Cards, Cards]
    root: tuple[RootCells, RootCells]
    first_round: int = 0

    @property
    def num_rounds(self) -> int:
        """Number of betting rounds."""
        return len(self.boards)

    def num_cells(self, player: int, round_index: int) -> int:
        """Return the cells of a player in a round."""
        begin = self.players[player].cell_begin
        first, last = self.links.round_board[round_index : round_index + 2]
        return int(begin[last] - begin[first])

    def cards(self, player: int, round_index: int) -> Cards:
        """Return the hole cards that represent each cell of a round, and its board: uint8[cells, cards]."""
        cells, boards = self.players[player], self.boards[round_index]
        first, last = self.links.round_board[round_index : round_index + 2]
        begin = cells.cell_begin[first : last + 1]
        hole = cells.hand_card[cells.hand_begin[begin[0] : begin[-1]], : self.hands[player].shape[1]]
        return np.concatenate([hole, np.repeat(boards, np.diff(begin), axis=0)], axis=1)

    def max_cells(self, round_index: int) -> int:
        """Return the most cells that either player has at a board of a round."""
        first, last = self.links.round_board[round_index : round_index + 2]
        return max(int(np.diff(cells.cell_begin[first : last + 1]).max()) for cells in self.players)

    def cells_of_hands(self, player: int, board: int, hands: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Return the cell of each hand at a board, counted from its first: int32[N].

        Args:
            player: whose hands.
            board: its number among all boards.
            hands: integers[N, hole cards], the cards in any order; `NO_CELL` where the board hits a hand or
                the player never holds it.
        """
        cells = self.players[player]
        begin = cells.hand_begin[cells.cell_begin[board] : cells.cell_begin[board + 1] + 1]
        cell_of = np.full(PAIRS * PAIRS, NO_CELL, dtype=np.int32)
        for places in both_places(cells.hand_card[begin[0] : begin[-1]]):
            cell_of[places] = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        found: npt.NDArray[np.int32] = cell_of[both_places(np.asarray(hands))[0]]
        return found

    def find_cell(self, player: int, board: int, hand: Sequence[int]) -> int:
        """Return the cell of a hand at a board, counted from its first.

        Args:
            player: whose hand.
            board: its number among all boards.
            hand: hole cards, the suits renamed as on the canonical board.
        """
        cell = int(self.cells_of_hands(player, board, [list(hand)])[0])
        if cell == NO_CELL:
            raise UsageError(
                f"player {player} cannot hold the cards {list(hand)} at board {board}: "
                "expected open cards of the player's range"
            )
        return cell

    def hand_numbers(self, player: int, board: int) -> Ints:
        """Return the number of the hand that represents each cell of a board: int64[cells]."""
        cells = self.players[player]
        begin = cells.hand_begin[cells.cell_begin[board] : cells.cell_begin[board + 1]]
        numbers: Ints = self._number_of_hand[player][both_places(cells.hand_card[begin])[0]]
        return numbers

    @cached_property
    def _number_of_hand(self) -> tuple[Ints, Ints]:
        first, second = (hand_list(hands).number.astype(np.int64) for hands in self.hands)
        return first, second


def game_cells(rules: PokerRules) -> Cells:
    """Return the cells of a whole game, up to its symmetry."""
    deals = Deals(rules)
    num_boards = sum(deals.num_boards(r) for r in range(rules.num_rounds))
    verify_memory(game_cells_bytes(deals), f"holding the hands of '{rules.name}' at {num_boards:,} boards")
    return cells_below(deals, 0, 0, dealt=rules.num_board_cards[0] == 0)


def game_cells_bytes(deals: Deals) -> int:
    """Return the memory that the cells of a whole game take, while they are made and afterwards."""
    rules = deals.rules
    num_bytes = 0
    for r in range(rules.num_rounds):
        num_open = comb(rules.deck.size - rules.num_board_cards_by(r), rules.num_hole_cards)
        num_bytes += deals.num_rows(r) * BYTES_A_CELL
        num_bytes += deals.num_boards(r) * (num_open * BYTES_A_HAND + BYTES_A_BOARD)
    return num_bytes


def cells_below(
    deals: Deals, first_round: int, board_index: int, dealt: bool = True, last_round: int | None = None
) -> Cells:
    """Return the cells of a board of a round and of all boards that follow it, rounds counted from there.

    Args:
        deals: the game's cards.
        first_round: the betting round to start with.
        board_index: one of its canonical boards; its children are neighbours in every later round. Without
            `dealt`, one of the round before, whose hands are the root cells.
        dealt: whether the cards of the first round are on the table; without it, all boards that follow are
            dealt, and the game's first round begins at the empty board.
        last_round: the last round to make; the game's last without it.
    """
    rules = deals.rules
    levels = _levels_below(deals, first_round, board_index, dealt, last_round)
    hands = rules.deck.hands(rules.num_hole_cards)
    root = None
    if not dealt:
        above = deals.boards.cards(_board_round(deals, first_round - 1))[board_index]
        root = _root_cells(rules, above, hands)
    return make_cells(rules, levels, (hands, hands), root, first_round)


def board_links(deals: Deals) -> BoardLinks:
    """Return how all boards of a game follow each other, without the hands there."""
    return _links(_levels_below(deals, 0, 0, deals.rules.num_board_cards[0] == 0))


def _levels_below(
    deals: Deals, first_round: int, board_index: int, dealt: bool, last_round: int | None = None
) -> "list[BoardLevel]":
    """Return the boards of `cells_below`, round by round."""
    rules = deals.rules
    num_rounds = rules.num_rounds if last_round is None else last_round + 1
    _verify_board(deals, first_round if dealt else first_round - 1, board_index)
    levels = []
    first, last = board_index, board_index + 1
    for r in range(first_round, num_rounds):
        deal = deals.board_round(r)
        if (r == first_round and dealt) or deal == _board_round(deals, r - 1):
            # The start, or no card is dealt: every board is its own only child.
            begin = np.arange(last - first + 1)
            factors = np.ones(last - first)
        else:
            begin = deals.boards.child_begin(deal)[first : last + 1]
            first, last = int(begin[0]), int(begin[-1])
            begin = begin - first
            factors = deals.boards.deals_from_parent(deal)[first:last] / _num_choices(rules, r)
        levels.append(BoardLevel(deals.boards.cards(deal)[first:last], begin, factors))
    return levels


def path_cells(
    deals: Deals,
    boards: Sequence[int],
    factors: Sequence[float],
    first_round: int = 0,
    dealt: bool | None = None,
    with_following: bool = False,
) -> Cells:
    """Return the cells of one board a round, each dealt from the one before.

    Args:
        deals: the game's cards.
        boards: [round] canonical boards, from the first round on; each must be a child of the one before.
        factors: [round] what the value of a board counts for at the one before: for a sampler the chance of
            the deal, given that it hits neither hand, over the chance of sampling it.
        first_round: the betting round of the first board.
        dealt: whether the cards of the first round are on the table before the path begins; otherwise the
            root cells are those of the board before. Without it, only where they deal nothing.
        with_following: whether to make all boards, too, that may follow the last one.
    """
    rules = deals.rules
    if not 1 <= len(boards) <= rules.num_rounds - first_round or len(factors) != len(boards):
        raise UsageError(
            f"{len(boards)} boards with {len(factors)} factors are not a path of '{rules.name}' from round "
            f"{first_round} on: expected 1 to {rules.num_rounds - first_round} boards, each with a factor"
        )
    if dealt is None:
        dealt = first_round == 0 and rules.num_board_cards[0] == 0
    levels = []
    for i, board in enumerate(boards):
        r = first_round + i
        _verify_board(deals, r, board)
        if i > 0 and _parent(deals, r, board) != boards[i - 1]:
            raise UsageError(
                f"board {board} of round {r} does not follow board {boards[i - 1]}: a child must"
            )
        cards = deals.boards.cards(deals.board_round(r))[board : board + 1]
        levels.append(BoardLevel(cards, np.array([0, 1]), np.array([factors[i]], dtype=np.float64)))
    if with_following:
        levels += _levels_below(deals, first_round + len(boards) - 1, boards[-1], dealt=True)[1:]
    hands = rules.deck.hands(rules.num_hole_cards)
    root = None
    if not dealt:
        above = deals.boards.cards(_board_round(deals, first_round - 1))
        root = _root_cells(rules, above[_parent(deals, first_round, boards[0])], hands)
    return make_cells(rules, levels, (hands, hands), root, first_round)


def spot_cells(rules: PokerRules, board: Cards, hands: tuple[Cards, Cards]) -> Cells:
    """Return the cells of a sub-game that starts at a board, every hand and every run-out on its own.

    Args:
        rules: the sub-game's rounds; its first deals no card.
        board: the cards on the table.
        hands: uint8[hands, hole cards] of each player, none of them hit by the board.
    """
    levels = [BoardLevel(board[np.newaxis], np.array([0, 1]), np.ones(1))]
    for r in range(1, rules.num_rounds):
        dealt = rules.num_board_cards[r]
        before = levels[-1].cards
        boards = [
            [*parent, *cards]
            for parent in before.tolist()
            for cards in combinations([card for card in rules.deck.cards if card not in parent], dealt)
        ]
        unseen = rules.deck.size - before.shape[1]
        begin = np.arange(len(before) + 1) * comb(unseen, dealt)
        factors = np.full(len(boards), 1 / comb(unseen - 2 * rules.num_hole_cards, dealt))
        cards = np.array(boards, dtype=np.uint8).reshape(len(boards), before.shape[1] + dealt)
        levels.append(BoardLevel(cards, begin, factors))
    return make_cells(rules, levels, hands, None, 0, with_symmetry=False)


class BoardLevel(NamedTuple):
    """The boards of one round, as whoever chose them gives them.

    Attributes:
        cards: uint8[boards, cards].
        begin: int64[boards of the round before + 1] the children of each; unused in the first round.
        factors: float64[boards] as `BoardLinks.deal_factor`.
    """

    cards: Cards
    begin: Ints
    factors: Floats


def make_cells(
    rules: PokerRules,
    levels: Sequence[BoardLevel],
    hands: tuple[Cards, Cards],
    root: RootCells | None,
    first_round: int,
    with_symmetry: bool = True,
) -> Cells:
    """Make the cells of any boards, chosen by an enumeration or by a sampler.

    Args:
        rules: the game.
        levels: the boards of each round; with symmetry, canonical ones.
        hands: of each player; one object where they see alike.
        root: the hands before the first boards are dealt; None where these are the first board's.
        first_round: the game's round of the first boards.
        with_symmetry: whether hands that the game's symmetry makes alike share a cell.
    """
    are_alike = hands[0] is hands[1]
    game = game_cards(rules, with_symmetry)
    links = _links(levels)
    boards = _board_list(rules, levels, links, root is None, first_round)
    if are_alike and hands[0] is rules.deck.hands(rules.num_hole_cards):
        lists = [deck_hands(rules.deck, rules.num_hole_cards)]
    else:
        lists = [hand_list(own) for own in (hands[:1] if are_alike else hands)]
    buffers = [PlayerBuffers.of(len(own.mask)) for own in lists]
    scratch = SharedBuffers.of(game)
    made = []
    for own, own_buffers in zip(lists, buffers, strict=True):
        num_cells, num_hands = (np.empty(len(boards.num_cards), dtype=np.int64) for _ in range(2))
        kernels.count_cells(boards, game, own, scratch, own_buffers, num_cells, num_hands)
        made.append(_empty_cells(num_cells, int(num_hands.sum())))
    known = root or RootCells(np.empty(0), np.zeros(1, dtype=np.int64), np.empty((0, 2), dtype=np.uint8))
    kernels.make_cells(
        boards,
        game,
        are_alike,
        lists[0],
        lists[-1],
        known,
        known,
        scratch,
        buffers[0],
        buffers[-1],
        made[0],
        made[-1],
    )
    roots = [known] if root is not None else [_first_board(cells) for cells in made]
    return Cells(
        links=links,
        players=(made[0], made[-1]),
        boards=tuple(level.cards for level in levels),
        hands=hands,
        root=(roots[0], roots[-1]),
        first_round=first_round,
    )


def _root_cells(rules: PokerRules, board: Cards, hands: Cards) -> RootCells:
    """Return the cells of a board on which nobody is shown down."""
    level = BoardLevel(board[np.newaxis], np.array([0, 1]), np.ones(1))
    return make_cells(rules, [level], (hands, hands), None, NO_SHOWDOWN).root[0]


NO_SHOWDOWN = -1
"""As a first round: none of the boards belongs to the last one."""


def _first_board(cells: PlayerCells) -> RootCells:
    begin = cells.hand_begin[: cells.cell_begin[1] + 1]
    return RootCells(np.diff(begin).astype(np.float64), begin, cells.hand_card[: begin[-1]])


def _empty_cells(num_cells: Ints, num_hands: int) -> PlayerCells:
    cell_begin = np.append(0, np.cumsum(num_cells))
    total = int(cell_begin[-1])
    return PlayerCells(
        cell_begin=cell_begin,
        parent_cell=np.empty(total, dtype=np.int32),
        deal_weight=np.empty(total, dtype=np.float64),
        hand_begin=np.empty(total + 1, dtype=np.int64),
        hand_card=np.empty((num_hands, 2), dtype=np.uint8),
        card=np.empty((total, 2), dtype=np.uint8),
        counts=np.empty((total, 3), dtype=np.uint8),
        order=np.empty((total, 4), dtype=np.int32),
        matches=np.zeros((0, 6), dtype=np.uint8),
    )


def _links(levels: Sequence[BoardLevel]) -> BoardLinks:
    round_board = np.cumsum([0, *(len(level.factors) for level in levels)]).astype(np.int64)
    child_begin = np.zeros(round_board[-1], dtype=np.int64)
    child_end = np.zeros(round_board[-1], dtype=np.int64)
    for r, level in enumerate(levels[1:], start=1):
        here = slice(round_board[r - 1], round_board[r])
        child_begin[here] = round_board[r] + level.begin[:-1]
        child_end[here] = round_board[r] + level.begin[1:]
    factors = np.concatenate([level.factors for level in levels])
    return BoardLinks(round_board, child_begin, child_end, factors)


def _board_list(
    rules: PokerRules, levels: Sequence[BoardLevel], links: BoardLinks, is_root: bool, first_round: int
) -> BoardList:
    sizes = np.diff(links.round_board)
    num_cards = np.array([level.cards.shape[1] for level in levels])
    card = np.full((int(links.round_board[-1]), int(num_cards.max())), NO_CARD, dtype=np.uint8)
    for first, level in zip(links.round_board[:-1].tolist(), levels, strict=True):
        card[first : first + len(level.cards), : level.cards.shape[1]] = level.cards
    parent = np.full(len(card), kernels.IS_ROOT if is_root else kernels.AT_ROOT, dtype=np.int64)
    before = int(links.round_board[-2])
    parent[sizes[0] :] = np.repeat(np.arange(before), (links.child_end - links.child_begin)[:before])
    last_round = rules.num_rounds - 1 - first_round if first_round != NO_SHOWDOWN else NO_SHOWDOWN
    return BoardList(
        card=card,
        num_cards=np.repeat(num_cards, sizes),
        parent=parent,
        factor=links.deal_factor,
        with_strength=np.repeat(np.arange(len(levels)) == last_round, sizes),
    )


def _board_round(deals: Deals, round_index: int) -> int:
    """Return which public deal a round follows; -1 before the first round."""
    return deals.board_round(round_index) if round_index >= 0 else -1


def _parent(deals: Deals, round_index: int, board_index: int) -> int:
    """Return the board before a board of a round; the same where nothing is dealt in the round."""
    deal = deals.board_round(round_index)
    if deal == _board_round(deals, round_index - 1):
        return board_index
    return int(deals.boards.parent(deal)[board_index])


def _num_choices(rules: PokerRules, round_index: int) -> int:
    """Return how many deals of a round hit neither hand."""
    known = 2 * rules.num_hole_cards + rules.num_board_cards_by(round_index - 1)
    return comb(rules.deck.size - known, rules.num_board_cards[round_index])


def _verify_board(deals: Deals, round_index: int, board_index: int) -> None:
    num_boards = deals.boards.num_boards(_board_round(deals, round_index))
    if not 0 <= board_index < num_boards:
        raise UsageError(
            f"board {board_index} of round {round_index} does not exist: expected 0 to {num_boards - 1}"
        )
