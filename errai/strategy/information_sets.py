"""The information sets of a strategy, one after the other: betting, cards, actions and probabilities.

A decision of the betting at a canonical board has one information set for each cell, which is a class of
hands that the game's symmetry does not tell apart; one hand of the class represents it. Texts are those that
`Strategy.probabilities` takes, so whatever is listed here can be asked there.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.cards.deck import format_cards
from errai.engine.public_tree import PublicTree
from errai.tables.layout import Floats
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD, CHANCE, DECISION


class InformationSet(NamedTuple):
    """A decision with what its player knows, and what a strategy plays there.

    Attributes:
        betting: the ACPC betting string that leads to it.
        board: the public cards.
        hand: the player's hole cards; those of one hand where symmetry makes several the same.
        actions: as in betting strings.
        probabilities: of each action; the sum is 1.
    """

    betting: str
    board: str
    hand: str
    actions: tuple[str, ...]
    probabilities: tuple[float, ...]


class BucketSet(NamedTuple):
    """A decision of a bucket, and what a strategy of buckets plays there.

    Attributes:
        betting: the ACPC betting string that leads to it.
        round_index: the betting round, counted from 0.
        bucket: the bucket; in a round without buckets, the number of the hand.
        hand: the hole cards in a round without buckets, empty in others.
        actions: as in betting strings.
        probabilities: of each action; the sum is 1.
    """

    betting: str
    round_index: int
    bucket: int
    hand: str
    actions: tuple[str, ...]
    probabilities: tuple[float, ...]


class BluffSet(NamedTuple):
    """A decision of Bluff, and what a strategy plays there.

    Attributes:
        dice: those of who starts the round and of the other, such as `2-1`.
        betting: the round's bids, such as `1-2,1-5`.
        hand: the roll of who acts.
        actions: bids, or `b` for calling bluff.
        probabilities: of each action; the sum is 1.
    """

    dice: str
    betting: str
    hand: str
    actions: tuple[str, ...]
    probabilities: tuple[float, ...]


class BoardDecision(NamedTuple):
    """A decision of the betting at one board, for all hands.

    Attributes:
        node: of the betting tree.
        player: who acts.
        board_number: counted through all rounds.
        betting: the betting string.
        actions: as in betting strings.
        board: uint8[cards] the public cards.
        hands: uint8[cells, hole cards] the hand that represents each cell.
    """

    node: int
    player: int
    board_number: int
    betting: str
    actions: tuple[str, ...]
    board: npt.NDArray[np.uint8]
    hands: npt.NDArray[np.uint8]


def board_decisions(tree: PublicTree) -> Iterator[BoardDecision]:
    """Yield every decision of a card game at every canonical board."""
    betting, cells, texts = tree.betting, tree.cells, betting_strings(tree)
    for node in np.flatnonzero(betting.kind == DECISION).tolist():
        player, r = int(betting.player[node]), int(betting.round[node])
        hands = cells.players[player]
        num_hole = cells.hands[player].shape[1]
        actions = tuple(action_names(tree, node))
        first = int(cells.links.round_board[r])
        for number, board in enumerate(cells.boards[r], first):
            begin, end = hands.cell_begin[number : number + 2].tolist()
            held = hands.hand_card[hands.hand_begin[begin:end], :num_hole]
            yield BoardDecision(node, player, number, texts[node], actions, board, held)


def listed_sets(place: BoardDecision, probabilities: npt.NDArray[np.float64]) -> Iterator[InformationSet]:
    """Yield the information sets of a decision at a board.

    Args:
        place: the decision and the board.
        probabilities: float64[actions, cells] what is played.
    """
    board = format_cards(place.board)
    for hand, row in zip(place.hands, probabilities.T.tolist(), strict=True):
        yield InformationSet(place.betting, board, format_cards(hand), place.actions, tuple(row))


def normalised(weights: Floats) -> npt.NDArray[np.float64]:
    """Return probabilities in proportion to the positive part; uniform ones where there is none.

    Args:
        weights: float[actions], or float[actions, rows].
    """
    positive = np.maximum(weights.astype(np.float64), 0)
    totals = positive.sum(axis=0)
    probabilities: npt.NDArray[np.float64] = np.full_like(positive, 1 / len(positive))
    np.divide(positive, totals, out=probabilities, where=totals > 0)
    return probabilities


def action_names(tree: PublicTree, node: int) -> list[str]:
    """Return the actions at a decision as ACPC text."""
    names = []
    for child in tree.betting.children(node):
        action = int(tree.betting.action[child])
        if action == ACTION_FOLD:
            names.append("f")
        elif action == ACTION_CALL:
            names.append("c")
        else:
            names.append("r" if tree.rules.is_limit else f"r{action}")
    return names


def betting_strings(tree: PublicTree) -> list[str]:
    """Return the ACPC betting string of every node."""
    betting = tree.betting
    texts = [""] * betting.num_nodes
    for node in range(betting.num_nodes):
        children = betting.children(node)
        if betting.kind[node] == CHANCE:
            texts[children[0]] = texts[node] + "/"
        elif len(children):
            for child, name in zip(children, action_names(tree, node), strict=True):
                texts[child] = texts[node] + name
    return texts
