"""A decision of hold'em as a grid of 13 by 13: one cell for each class of two hole cards.

Aces come first. Pairs are on the diagonal, suited hands above it and offsuit ones below, as in figure 9.4 of
Johanson's thesis 2016. With a board, a cell is the mean over those hands of its class that share no card with
it; a class has none where the board has taken too many of its cards.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.cards.deck import FULL_DECK, RANKS, format_cards
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import action_names, normalised
from errai.strategy.strategy import Strategy, deals_of, find_node

SIZE = len(RANKS)

NUM_SUITS = 4


@dataclass(frozen=True, eq=False)
class HandGrid:
    """What a strategy plays at one decision, by class of hole cards.

    Attributes:
        betting: the betting that leads to it.
        board: the public cards.
        player: who acts.
        actions: as in betting strings.
        counts: int64[13, 13] hands of each class that share no card with the board.
        probabilities: float64[13, 13, actions] the mean over these hands; zeros where there are none.
    """

    betting: str
    board: str
    player: int
    actions: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]

    @property
    def frequencies(self) -> npt.NDArray[np.float64]:
        """The mean over all hands, each as likely as any other: float64[actions]."""
        shares = self.counts / self.counts.sum()
        found: npt.NDArray[np.float64] = np.einsum("ij,ija->a", shares, self.probabilities)
        return found

    @property
    def by_kind(self) -> npt.NDArray[np.float64]:
        """The chances of folding, calling and raising by any amount: float64[13, 13, 3]."""
        kinds = ["fcr".index(action[0]) for action in self.actions]
        found = np.zeros((SIZE, SIZE, 3))
        for place, kind in enumerate(kinds):
            found[:, :, kind] += self.probabilities[:, :, place]
        return found


def is_holdem(game: PokerRules) -> bool:
    """Return whether hands of a game are two cards of the full deck, whose suits matter."""
    return game.num_hole_cards == 2 and game.deck == FULL_DECK and game.suits_matter


def class_name(row: int, column: int) -> str:
    """Return the name of a cell's class.

    >>> class_name(0, 0), class_name(0, 1), class_name(1, 0)
    ('AA', 'AKs', 'AKo')
    """
    high, low = (RANKS[SIZE - 1 - place] for place in (min(row, column), max(row, column)))
    return high + low + ("" if row == column else "s" if row < column else "o")


def hand_grid(strategy: Strategy | BucketStrategy, betting: str = "", board: str = "") -> HandGrid:
    """Return a decision as a grid.

    Args:
        strategy: of hold'em.
        betting: an ACPC betting string.
        board: the public cards of that round, in the order of their deals.
    """
    game = strategy.game
    if not is_holdem(game):
        raise UsageError(f"'{game.name}' has no grid of hands: expected hold'em with the full deck")
    node = find_node(strategy.tree, betting)
    player, round_index = int(strategy.tree.betting.player[node]), int(strategy.tree.betting.round[node])
    public = np.array(game.parse_board(board, round_index), dtype=np.uint8)
    hands = game.deck.hands(game.num_hole_cards)[game.deck.is_open(game.num_hole_cards, public)]
    chances = normalised(_weights(strategy, node, hands, public))
    rows, columns = cells_of(hands)
    counts = np.zeros((SIZE, SIZE), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    sums = np.zeros((SIZE, SIZE, len(chances)))
    np.add.at(sums, (rows, columns), chances.T)
    means = sums / np.maximum(counts, 1)[:, :, np.newaxis]
    actions = tuple(action_names(strategy.tree, node))
    return HandGrid(betting, format_cards(public), player, actions, counts, means)


def cells_of(hands: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return row and column of each hand: int64[N] twice, of uint8[N, 2]."""
    places = SIZE - 1 - hands.astype(np.int64) // NUM_SUITS
    near, far = places.min(axis=1), places.max(axis=1)
    is_suited = hands[:, 0] % NUM_SUITS == hands[:, 1] % NUM_SUITS
    return np.where(is_suited, near, far), np.where(is_suited, far, near)


def _weights(
    strategy: Strategy | BucketStrategy,
    node: int,
    hands: npt.NDArray[np.uint8],
    board: npt.NDArray[np.uint8],
) -> npt.NDArray[np.float64]:
    """Return what is played with each hand: float[actions, hands]."""
    tree = strategy.tree
    player, round_index = int(tree.betting.player[node]), int(tree.betting.round[node])
    if isinstance(strategy, BucketStrategy):
        cards = np.concatenate([hands, np.broadcast_to(board, (len(hands), len(board)))], axis=1)
        return strategy.weights(node)[:, strategy.rows(cards, round_index, player)]
    deals = deals_of(strategy.game)
    found = deals.boards.canonicalise(board, deals.board_round(round_index))
    number = int(tree.cells.links.round_board[round_index]) + found.board_index
    cells = tree.cells.cells_of_hands(player, number, found.card_permutation[hands])
    return strategy.weights(player, node, number)[:, cells]
