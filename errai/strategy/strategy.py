"""A strategy of both positions of a game: asked by betting string, hand and board.

A strategy holds one table for each position, in the layout of the public tree; probabilities are the
positive parts in proportion, so regrets, averages and probabilities are all tables of this kind. The rows of
an abstracted strategy are buckets; what it plays with a hand is what it plays with the hand's bucket.
"""

import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
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
from errai.strategy.export import ExportedStrategy
from errai.strategy.information_sets import (
    InformationSet,
    action_names,
    board_decisions,
    listed_sets,
    normalised,
)
from errai.strategy.played import Play, TablePlay
from errai.tables.layout import Floats, spread_rows
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import CHANCE, BettingTree
from errai.tree.walk import walk_tree

Probabilities = Sequence[float] | Mapping[str, float]
"""Of the actions at a decision, in their order or by name; a name that is left out has 0."""


@dataclass(frozen=True, eq=False)
class Strategy(ExportedStrategy):
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
        node, board_number, cell = self._find(betting, hand, board)
        weights = self.weights(int(self.tree.betting.player[node]), node, board_number)[:, cell]
        return dict(zip(action_names(self.tree, node), normalised(weights).tolist(), strict=True))

    def information_sets(self) -> Iterator[InformationSet]:
        """Yield every information set of both positions, one for each canonical hand at each canonical board.

        An abstracted strategy plays the hands of a bucket alike, and each of them is listed.

        >>> import errai
        >>> kuhn = errai.uniform_strategy("kuhn")
        >>> next(kuhn.information_sets())
        InformationSet(betting='', board='', hand='Js', actions=('c', 'r'), probabilities=(0.5, 0.5))
        >>> sum(1 for _ in kuhn.information_sets())
        12
        """
        for place in board_decisions(self.tree):
            weights = self.weights(place.player, place.node, place.board_number)
            yield from listed_sets(place, normalised(weights))

    def changed(self, changes: Mapping[tuple[str, ...], Probabilities]) -> "Strategy":
        """Return a strategy that plays otherwise at some information sets; this one stays as it is.

        Hands that the game's symmetry makes the same change together, and in an abstracted strategy all hands
        of a bucket do: `unabstracted` comes first where only one of them is to change.

        Args:
            changes: the probabilities of the actions, as a list or as a dictionary by action, for each
                (betting, hand) or (betting, hand, board), texts as for `probabilities`.

        >>> import errai
        >>> bold = errai.uniform_strategy("kuhn").changed({("", "K"): {"r": 1}, ("cr", "J"): [1, 0]})
        >>> bold.probabilities("", "K")
        {'c': 0.0, 'r': 1.0}
        """
        if not isinstance(changes, Mapping):
            raise UsageError(f"expected a dictionary of changes, not {reprlib.repr(changes)}")
        verify_memory(sum(table.nbytes for table in self.tables), f"a changed strategy of '{self.game.name}'")
        tree, layout = self.tree, self.tree.layout
        # Those of a play file are whole numbers, which cannot hold a probability.
        first, second = (table.astype(np.result_type(table, np.float32)) for table in self.tables)
        tables = (first, second)
        named: dict[tuple[int, int, int], tuple[str, ...]] = {}
        for key, probabilities in changes.items():
            if not (isinstance(key, tuple) and len(key) in (2, 3) and all(isinstance(k, str) for k in key)):
                raise UsageError(
                    f"{key!r} is not an information set: expected (betting, hand) or (betting, hand, board)"
                )
            node, board, row = self._find(*key)
            player, r = int(tree.betting.player[node]), int(tree.betting.round[node])
            if layout.bucketed[player, r]:
                row = int(layout.bucket[player][tree.cells.players[player].cell_begin[board] + row])
                board = int(tree.cells.links.round_board[r])  # all boards of the round share their buckets
            other = named.setdefault((node, board, row), key)
            if other != key:
                raise UsageError(f"{other} and {key} are one information set: expected one of them")
            slot, names = int(tree.walk.slot[node]), action_names(tree, node)
            slots = layout.decision(tables[player], player, board, r, slot, len(names))
            slots[:, row] = _verified(probabilities, names, key[0])
        return Strategy(tree, tables)

    def _find(self, betting: str, hand: str, board: str = "") -> tuple[int, int, int]:
        """Return the node, the number of the board among all, and the cell there."""
        node = find_node(self.tree, betting)
        player, round_index = int(self.tree.betting.player[node]), int(self.tree.betting.round[node])
        hole, public = self.game.parse_deal(hand, board, round_index)
        return node, *find_cell(self.tree, player, round_index, hole, public)

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
                f"'{betting}' leaves the tree at position {position}: expected {', '.join(names)}"
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
    deals = deals_of(tree.rules)
    found = deals.boards.canonicalise(np.array(board, dtype=np.uint8), deals.board_round(round_index))
    board_number = int(tree.cells.links.round_board[round_index]) + found.board_index
    renamed = found.card_permutation[list(hole)].tolist()
    return board_number, tree.cells.find_cell(player, board_number, renamed)


@lru_cache(maxsize=4)
def deals_of(rules: PokerRules) -> Deals:
    """Return the cards of a game, from the last few made where possible: a question must not count boards."""
    return Deals(rules)


def uniform_strategy(game: Game | str | Path, menu: BetMenu | None = None) -> Strategy:
    """Return the strategy that plays every action alike.

    Args:
        game: a card game, or its name or ACPC game file.
        menu: bet sizes of a no-limit game.
    """
    tree = PublicTree.of(game, menu)
    return Strategy(tree, uniform_tables(tree))


Chooser = Callable[[str, str, str, list[str]], Probabilities]


def strategy_from_function(game: Game | str | Path, choose: Chooser, menu: BetMenu | None = None) -> Strategy:
    """Return the strategy that a function describes.

    Args:
        game: a card game, or its name or ACPC game file.
        choose: `choose(betting, hand, board, actions)` returns a probability for each action, as a list or
            as a dictionary by action. It is asked once for every canonical information set.
        menu: bet sizes of a no-limit game.
    """
    tree = PublicTree.of(game, menu)
    tables = tree.layout.zeros(tree.default_dtype)
    strategy = Strategy(tree, tables)
    for place in board_decisions(tree):
        weights = strategy.weights(place.player, place.node, place.board_number)
        board, actions = format_cards(place.board), list(place.actions)
        for cell, hand in enumerate(place.hands):
            answer = choose(place.betting, format_cards(hand), board, actions)
            weights[:, cell] = _verified(answer, actions, place.betting)
    return strategy


def _verified(given: Probabilities, names: list[str], betting: str) -> npt.NDArray[np.float64]:
    """Return the probability of each action, refusing what is no distribution over them."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise UsageError(
                f"'{unknown[0]}' is not an action after '{betting}': expected {', '.join(names)}"
            )
        given = [given.get(name, 0.0) for name in names]
    try:
        chances = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        chances = np.zeros(0)
    if chances.shape != (len(names),) or not (chances >= 0).all() or abs(chances.sum() - 1) > 1e-6:
        raise UsageError(
            f"{given} after '{betting}' are not probabilities of {', '.join(names)}: "
            f"expected {len(names)} numbers from 0 to 1 whose sum is 1"
        )
    return chances
