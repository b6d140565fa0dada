"""What a strategy plays at one decision, hand by hand, as a table for people.

Hands that the game's symmetry makes the same at the board stand in one row; the row is named by ranks alone
where suits never matter, by ranks and `s` or `o` for two hole cards without a board, and by one of its
hands otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.cards.deck import format_cards
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rounds import round_of_game
from errai.games.rules import PokerRules
from errai.strategy.information_sets import action_names, normalised
from errai.strategy.strategy import Strategy, find_node

MAX_BOARDS = 30


@dataclass(frozen=True, eq=False)
class StrategyTable:
    """One decision of a strategy.

    Attributes:
        betting: the betting that leads to it.
        board: the public cards.
        player: who acts.
        actions: as in betting strings.
        hands: [row] names, strongest cards first.
        counts: int64[row] hands that each row stands for.
        probabilities: float64[row, action].
    """

    betting: str
    board: str
    player: int
    actions: tuple[str, ...]
    hands: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]


def strategy_tables(strategy: Strategy, betting: str = "", board: str = "") -> Iterator[StrategyTable]:
    """Yield what is played after a betting string at a board, or at every board of a small game.

    Args:
        strategy: any strategy.
        betting: an ACPC betting string.
        board: the public cards; may be left out where a round has at most `MAX_BOARDS` up to symmetry.
    """
    game = strategy.game
    node = find_node(strategy.tree, betting)
    round_index = int(strategy.tree.betting.round[node])
    num_cards = game.num_board_cards_by(round_index)
    cards = game.parse_board(board, round_index) if board.strip() else ()
    if cards or not num_cards:
        yield _table(strategy, node, betting, np.array(cards, dtype=np.uint8))
        return
    boards = strategy.tree.cells.boards[round_index]
    if len(boards) > MAX_BOARDS:
        raise UsageError(
            f"{round_of_game(game, round_index)} has {len(boards):,} boards: "
            f"expected the {num_cards} cards of one"
        )
    for one in boards:
        yield _table(strategy, node, betting, one)


def _table(strategy: Strategy, node: int, betting: str, board: npt.NDArray[np.uint8]) -> StrategyTable:
    tree, game = strategy.tree, strategy.game
    player, round_index = int(tree.betting.player[node]), int(tree.betting.round[node])
    deals = Deals(game)
    found = deals.boards.canonicalise(board, deals.board_round(round_index))
    number = int(tree.cells.links.round_board[round_index]) + found.board_index
    hands = game.deck.hands(game.num_hole_cards)
    # Strongest cards first.
    hands = hands[game.deck.is_open(game.num_hole_cards, board)][::-1]
    of_hand = tree.cells.cells_of_hands(player, number, found.card_permutation[hands])
    cells, firsts, counts = np.unique(of_hand, return_index=True, return_counts=True)
    order = np.argsort(firsts)
    return StrategyTable(
        betting=betting,
        board=_name(game, board, len(board) > 0),
        player=player,
        actions=tuple(action_names(tree, node)),
        hands=tuple(_name(game, hands[first], len(board) > 0) for first in firsts[order]),
        counts=counts[order],
        probabilities=normalised(strategy.weights(player, node, number)[:, cells[order]]).T,
    )


def _name(game: PokerRules, cards: npt.NDArray[np.uint8], with_board: bool) -> str:
    text = format_cards(cards)
    if not game.suits_matter:
        return text[::2]
    if len(cards) == 2 and not with_board:
        ranks = "".join(sorted(text[::2], key="23456789TJQKA".index, reverse=True))
        return ranks + ("" if ranks[0] == ranks[1] else "s" if text[1] == text[3] else "o")
    return text
