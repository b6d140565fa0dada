"""Exact best response sub-game by sub-game, for games whose hands do not fit into memory at once.

The public tree is cut after the first public deal. The trunk is walked here, hand by hand in plain arrays,
because it is tiny; every (position, entry, board) below it is a sub-game of its own: probabilities in, values
out (24,570 of them in limit hold'em, as in Johanson, Waugh, Bowling and Zinkevich 2011). Sub-games share
the work over threads, their results are added in the order of boards, and what is done is kept in a file,
so that a computation of hours can be interrupted and resumed.

The strategy to respond to must not need tables over all hands: here it looks at the betting alone
(`ActionRule`), as the reference agents do. One bucket a round holds it, and what it never does is left
out of the tree.
"""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.array_file import read_array, write_array
from errai.engine.section import BEST
from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.response.exploitability import Exploitability
from errai.strategy.simple import ActionRule
from errai.tables.layout import bucketed_layout
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import (
    ACTION_CALL,
    ACTION_FOLD,
    CHANCE,
    DECISION,
    FOLD,
    BettingTree,
    build_betting_tree,
)
from errai.tree.buckets import Buckets
from errai.tree.cells import Cells
from errai.tree.cut import Cut
from errai.tree.subgame import nodes_below, spanned_tree, subgame_cells

SAVE_EVERY = 50
"""Boards between two savings of what is done."""

Vectors = npt.NDArray[np.float64]


def action_chances(tree: BettingTree, rule: ActionRule) -> Vectors:
    """Return for each node how likely its actor takes the action that leads there: float64[N]."""
    chances = np.ones(tree.num_nodes)
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        children = tree.children(node)
        actions = [int(tree.action[child]) for child in children]
        raises = sum(action not in (ACTION_FOLD, ACTION_CALL) for action in actions)
        given = np.array(rule(ACTION_FOLD in actions, raises > 0, raises), dtype=np.float64)
        if len(given) != len(actions) or given.min() < 0 or abs(given.sum() - 1) > 1e-9:
            raise UsageError(f"{given.tolist()} are not probabilities of {len(actions)} actions")
        chances[children.start : children.stop] = given
    return chances


def exploitability_by_subgames(
    rules: PokerRules,
    rule: ActionRule,
    menu: BetMenu | None = None,
    num_threads: int = 1,
    keep_in: Path | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Exploitability:
    """Measure a strategy that looks at the betting alone.

    Args:
        rules: a game of at least two rounds that deals public cards in the second.
        rule: the strategy.
        menu: bet sizes of a no-limit game.
        num_threads: sub-games at a time; the result does not depend on it.
        keep_in: a folder in which what is done is kept and found again.
        report: called with (boards done, boards in all) for each position.
    """
    response = SubgameResponse(rules, rule, menu, num_threads, keep_in, report)
    values = [response.value(player) for player in (0, 1)]
    return Exploitability((values[0], values[1]), rules.big_blind)


class SubgameResponse:
    """A best response to one rule: the trunk, and the sub-games below it."""

    def __init__(
        self,
        rules: PokerRules,
        rule: ActionRule,
        menu: BetMenu | None,
        num_threads: int,
        keep_in: Path | None,
        report: Callable[[int, int], None] | None,
    ) -> None:
        self.rules, self.rule, self.num_threads = rules, rule, num_threads
        self.keep_in, self.report = keep_in, report
        self.tree = build_betting_tree(rules, menu)
        self.deals = Deals(rules)
        # Built here once: threads would build it at the same time.
        self.deals.boards.cards(self.deals.board_round(rules.num_rounds - 1))
        self.chances = action_chances(self.tree, rule)
        self.cut = Cut(self.tree, self.deals, round=1)
        self.hands = rules.deck.hands(rules.num_hole_cards)
        self.meets = _meetings(self.hands)
        what = f"{rules!r} {menu!r}".encode() + self.chances.tobytes()
        self.fingerprint = hashlib.blake2b(what, digest_size=16).hexdigest()
        self.subtrees: dict[tuple[int, int], tuple[BettingTree, Vectors]] = {}

    def value(self, player: int) -> float:
        """Return what a best response wins in a position, chips a game."""
        reach = self.reach(1 - player)
        opponents = comb(self.rules.deck.size - self.rules.num_hole_cards, self.rules.num_hole_cards)
        values = self._trunk_values(player, reach, self._entry_values(player, reach))
        return float(values.mean() / opponents)

    def reach(self, opponent: int) -> Vectors:
        """Return how the opponent's actions alone reach each node of the trunk; hands do not matter."""
        reach = np.ones(self.cut.trunk_end)
        for node in range(1, self.cut.trunk_end):
            parent = int(self.tree.parent[node])
            reach[node] = reach[parent]
            if self.tree.player[parent] == opponent:
                reach[node] *= self.chances[node]
        return reach

    def _trunk_values(self, player: int, reach: Vectors, entry_values: Vectors) -> Vectors:
        """Return the value of every hand at the root: float64[hands]."""
        values = np.zeros((self.cut.trunk_end, len(self.hands)))
        entry = len(entry_values)
        for node in range(self.cut.trunk_end - 1, -1, -1):
            kind = self.tree.kind[node]
            if kind == CHANCE:
                entry -= 1
                values[node] = entry_values[entry]
            elif kind == FOLD:
                loser = int(self.tree.player[node])
                chips = int(self.tree.chips[node, loser])
                values[node] = reach[node] * self.meets * (-chips if loser == player else chips)
            else:
                children = values[list(self.tree.children(node))]
                values[node] = (
                    children.max(axis=0) if self.tree.player[node] == player else children.sum(axis=0)
                )
        at_root: Vectors = values[0]
        return at_root

    def _entry_values(self, player: int, reach: Vectors) -> Vectors:
        """Return the values of every hand at the trunk's CHANCE nodes: float64[entries, hands]."""
        closing = np.flatnonzero(self.tree.kind[: self.cut.trunk_end] == CHANCE)
        live = [entry for entry in range(len(closing)) if reach[closing[entry]] > 0]
        num_boards = self.cut.num_boards
        total = np.zeros((len(closing), len(self.hands)))
        done, path = 0, self._path(player)
        if path is not None and path.exists():
            header, total = read_array(path, fingerprint=self.fingerprint)
            done = int(header.notes["boards"])
        if not live:
            return total

        def work(board: int) -> Vectors:
            return self._board_values(player, board, live, reach[closing])

        with ThreadPoolExecutor(self.num_threads) as pool:
            while done < num_boards:
                last = min(done + SAVE_EVERY, num_boards)
                for values in pool.map(work, range(done, last)):
                    total += values
                done = last
                if path is not None:
                    write_array(
                        path,
                        total,
                        name=path.stem,
                        units="chips",
                        fingerprint=self.fingerprint,
                        notes={"boards": done},
                    )
                if self.report is not None:
                    self.report(done, num_boards)
        return total

    def _path(self, player: int) -> Path | None:
        if self.keep_in is None:
            return None
        self.keep_in.mkdir(parents=True, exist_ok=True)
        return self.keep_in / f"best-response-{player}.errai"

    def _board_values(self, player: int, board: int, live: Sequence[int], reach: Vectors) -> Vectors:
        """Return what the sub-games of one board add to the trunk's hands: float64[entries, hands]."""
        cells = subgame_cells(self.cut, board)
        own = cells.players[player]
        end = int(own.cell_begin[1])
        result = np.zeros((len(reach), len(self.hands)))
        number = {tuple(hand): i for i, hand in enumerate(self.hands.tolist())}
        deal = self.deals.board_round(1)
        known = 2 * self.rules.num_hole_cards
        choices = comb(self.rules.deck.size - known, self.rules.num_board_cards[1])
        factor = int(self.deals.boards.deals_from_parent(deal)[board]) / choices
        rows = np.repeat(np.arange(end), np.diff(own.hand_begin[: end + 1]))
        cards = own.hand_card[: len(rows), : self.rules.num_hole_cards].tolist()
        hands = np.array([number[tuple(card)] for card in cards])
        for entry in live:
            values = self.subgame_values(player, entry, cells) * reach[entry]
            result[entry, hands] = factor * values[rows]
        # Boards of one class differ by a renaming of suits, which the trunk's hands feel: average over it.
        return self._symmetrised(result)

    def subtree(self, player: int, entry: int) -> tuple[BettingTree, Vectors]:
        """Return the betting below an entry without what the opponent never does, and its chances."""
        if (player, entry) not in self.subtrees:
            tree = self.tree
            nodes = nodes_below(self.cut, entry)
            is_kept = np.zeros(tree.num_nodes, dtype=bool)
            is_kept[nodes[0]] = True
            for node in nodes[1:].tolist():
                parent = int(tree.parent[node])
                ruled_out = tree.player[parent] == 1 - player and self.chances[node] == 0
                is_kept[node] = is_kept[parent] and not ruled_out
            kept = nodes[is_kept[nodes]]
            self.subtrees[player, entry] = spanned_tree(tree, kept, self.cut.round), self.chances[kept]
        return self.subtrees[player, entry]

    def subgame_values(self, player: int, entry: int, cells: Cells) -> Vectors:
        """Return what each cell of a board wins below an entry: float64[cells]."""
        tree, chances = self.subtree(player, entry)
        walk = Traversal(tree, cells, np.float64)
        walk.opponent_scales[:] = 1.0  # values against the sum of the hands it meets, as in the trunk
        one_bucket = {r: np.zeros(cells.num_cells(0, r), dtype=np.int32) for r in range(cells.num_rounds)}
        layout = bucketed_layout(walk.walk, cells, Buckets.for_both(one_bucket))
        source = layout.zeros(np.float64)
        for node in np.flatnonzero(tree.kind == DECISION).tolist():
            actor, board = int(tree.player[node]), int(cells.links.round_board[tree.round[node]])
            begin = int(layout.begin[actor, board]) + int(walk.walk.slot[node])
            children = tree.children(node)
            source[actor][begin : begin + len(children)] = chances[children.start : children.stop]
        tables = layout.tables(source, source, source)
        return walk.walk_once(player, BEST, tables, np.zeros(5)).astype(np.float64)

    def _symmetrised(self, values: Vectors) -> Vectors:
        """Average over the hands of each canonical class before the deal."""
        classes = self.deals.rows.index(self.hands, 0)
        size = np.bincount(classes)
        return np.stack([(np.bincount(classes, weights=row) / size)[classes] for row in values])


def _meetings(hands: npt.NDArray[np.uint8]) -> Vectors:
    """Return how many hands share no card with each hand."""
    by_card = np.zeros(52)
    np.add.at(by_card, hands.ravel(), 1)
    shared = by_card[hands].sum(axis=1) - (1 if hands.shape[1] == 2 else 0)
    meetings: Vectors = len(hands) - shared
    return meetings
