"""A strategy of both positions of a game: asked by betting string, hand and board.

A strategy holds one table for each position, in the layout of the public tree; probabilities are the
positive parts in proportion, so regrets, averages and probabilities are all tables of this kind. The rows of
an abstracted strategy are buckets; what it plays with a hand is what it plays with the hand's bucket.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.cards.deck import format_cards
from errai.engine.public_tree import PublicTree, uniform_tables
from errai.errors import UsageError
from errai.games.betting import replay
from errai.games.catalogue import Game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import verify_memory
from errai.strategy.played import Play, TablePlay
from errai.tables.layout import Floats, spread_rows
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD, CHANCE, DECISION, BettingTree
from errai.tree.walk import walk_tree


@dataclass(frozen=True, eq=False)
class Strategy:
    """What to play in both positions.

    Attributes:
        tree: the game.
        tables: [position] float[slots] played in proportion to the positive part.
    """

    tree: PublicTree
    tables: tuple[Floats, Floats]

    @property
    def game(self) -> PokerRules:
        """The rules of the game."""
        return self.tree.rules

    def probabilities(self, betting: str, hand: str, board: str = "") -> dict[str, float]:
        """Return the probability of each action of the player to act.

        Args:
            betting: an ACPC betting string, such as `cr`.
            hand: the player's hole cards; bare ranks where suits do not matter.
            board: the public cards.
        """
        node = find_node(self.tree, betting)
        player, round_index = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
        hole, public = self.game.parse_deal(hand, board, round_index)
        board_number, cell = find_cell(self.tree, player, round_index, hole, public)
        weights = self.weights(player, node, board_number)[:, cell]
        return dict(zip(action_names(self.tree, node), normalised(weights).tolist(), strict=True))

    def save(self, path: str | Path) -> None:
        """Write the strategy as one file, which `errai.load_strategy` reads."""
        from errai.strategy.files import save_strategy

        save_strategy(self, path)

    def weights(self, player: int, node: int, board: int) -> Floats:
        """Return the slots of a decision at a board: float[actions, cells], a view of a lossless table."""
        layout, walk = self.tree.layout, self.tree.walk
        r = int(self.tree.betting.round[node])
        slots = layout.decision(
            self.tables[player], player, board, r, int(walk.slot[node]), int(walk.num_children[node])
        )
        if not layout.bucketed[player, r]:
            return slots
        cells = self.tree.cells.players[player].cell_begin[board : board + 2]
        return slots[:, layout.bucket[player][cells[0] : cells[1]]]

    @property
    def plays(self) -> tuple[Play, Play]:
        """What each position plays, at any boards."""
        first, second = (TablePlay(self.tree.layout, self.tree.cells, q, self.tables[q]) for q in (0, 1))
        return first, second

    def unabstracted(self) -> "Strategy":
        """Return the same strategy with a row for every cell of the game; itself where it has them."""
        if self.tree.buckets is None:
            return self
        tree = replace(self.tree, buckets=None)
        num_bytes = tree.num_slots * self.tables[0].itemsize
        verify_memory(num_bytes, f"a strategy for all hands of '{self.game.name}' ({tree.num_slots:,} slots)")
        walk, layout = walk_tree(tree.betting), self.tree.layout
        first, second = (
            spread_rows(walk, tree.cells, layout, tree.layout, player, self.tables[player])
            for player in (0, 1)
        )
        return Strategy(tree, (first, second))


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


def find_node(tree: PublicTree, betting: str) -> int:
    """Return the decision that a betting string leads to; an illegal action is named with its position."""
    state = replay(tree.rules, betting)
    if state.is_over:
        raise UsageError(f"the hand is over after '{betting}': nobody acts there")
    betting_tree = tree.betting
    node, position = 0, 0
    while position < len(state.betting):
        if state.betting[position] == "/":
            position += 1
            continue
        end = position + 1
        while end < len(state.betting) and state.betting[end].isdigit():
            end += 1
        text = state.betting[position:end]
        names = action_names(tree, node)
        if text not in names:
            raise UsageError(
                f"'{betting}' leaves the tree at position {position}: {', '.join(names)} are possible there"
            )
        node = betting_tree.children(node)[names.index(text)]
        node = _skip_chance(betting_tree, node)
        position = end
    return node


def _skip_chance(tree: BettingTree, node: int) -> int:
    while tree.kind[node] == CHANCE:
        node = int(tree.first_child[node])
    return node


def find_cell(
    tree: PublicTree, player: int, round_index: int, hole: Sequence[int], board: Sequence[int]
) -> tuple[int, int]:
    """Return the number of the board among all, and the cell of a hand there, counted from the first."""
    deals = Deals(tree.rules)
    found = deals.boards.canonicalise(np.array(board, dtype=np.uint8), deals.board_round(round_index))
    board_number = int(tree.cells.links.round_board[round_index]) + found.board_index
    renamed = found.card_permutation[list(hole)].tolist()
    return board_number, tree.cells.find_cell(player, board_number, renamed)


def normalised(weights: Floats) -> npt.NDArray[np.float64]:
    """Return probabilities in proportion to the positive part; uniform ones where there is none."""
    positive = np.maximum(weights.astype(np.float64), 0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(len(weights), 1 / len(weights))


def uniform_strategy(game: Game, menu: BetMenu | None = None) -> Strategy:
    """Return the strategy that plays every action alike."""
    tree = PublicTree.of(game, menu)
    return Strategy(tree, uniform_tables(tree))


Chooser = Callable[[str, str, str, list[str]], Sequence[float] | dict[str, float]]


def strategy_from_function(game: Game, choose: Chooser, menu: BetMenu | None = None) -> Strategy:
    """Return the strategy that a function describes.

    Args:
        game: the game.
        choose: `choose(betting, hand, board, actions)` returns a probability for each action, as a list or
            as a dictionary by action. It is asked once for every canonical information set.
        menu: bet sizes of a no-limit game.
    """
    tree = PublicTree.of(game, menu)
    tables = tree.layout.zeros(tree.default_dtype)
    strategy = Strategy(tree, tables)
    texts = betting_strings(tree)
    num_hole = tree.rules.num_hole_cards
    for node in np.flatnonzero(tree.betting.kind == DECISION).tolist():
        player, r = int(tree.betting.player[node]), int(tree.betting.round[node])
        cells = tree.cells.players[player]
        names = action_names(tree, node)
        first_board = int(tree.cells.links.round_board[r])
        for i, board in enumerate(tree.cells.boards[r]):
            weights = strategy.weights(player, node, first_board + i)
            begin, end = cells.cell_begin[first_board + i : first_board + i + 2]
            for cell in range(int(begin), int(end)):
                hand = cells.hand_card[cells.hand_begin[cell], :num_hole]
                answer = choose(texts[node], format_cards(hand), format_cards(board), names)
                weights[:, cell - int(begin)] = _verified(answer, names, texts[node])
    return strategy


def _verified(
    answer: Sequence[float] | dict[str, float], names: list[str], betting: str
) -> npt.NDArray[np.float64]:
    given = [answer.get(name, 0.0) for name in names] if isinstance(answer, dict) else list(answer)
    chances = np.array(given, dtype=np.float64)
    if len(chances) != len(names) or not (chances >= 0).all() or abs(chances.sum() - 1) > 1e-6:
        raise UsageError(
            f"{list(given)} after '{betting}' are not probabilities of {', '.join(names)}: "
            f"{len(names)} numbers from 0 to 1 with the sum 1 are allowed"
        )
    return chances


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
