"""The sequence-form linear programme: the exact equilibrium of a small two-player zero-sum game.

Koller, Megiddo and von Stengel, "Fast Algorithms for Finding Randomized Strategies in Game Trees" (1994).
A player's *sequence* is an action at one of its information sets together with all that it did before;
a realisation plan gives each sequence the probability that the player plays all of it. Plans are
the solutions x >= 0 of linear equations E x = e (the empty sequence has 1, and at each information set the
actions share the probability of the sequence that leads there), and payoffs are bilinear, x P y.

Steps:
1. number sequences: the slots of the lossless table layout, after the empty sequence;
2. at each board, enumerate the pairs of hands that share no card, add them up by cells, and enter them for
   every leaf of the board's round into P, times the chips at stake and the chance of the board;
3. solve it (`errai.solvers.linear_programme`);
4. turn plans into probabilities of actions; an information set that its player never reaches plays uniformly.

The enumeration is deliberately plain: this is the oracle that the fast traversal is held against.

With buckets for rows the programme is that of the abstract game. A bucket must then tell what its player did
before (perfect recall), or it has no sequence; an abstraction that forgets is refused.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from errai.engine.root import weight_of_pairs
from errai.errors import UsageError
from errai.games.payoffs import PLAIN, Payoffs
from errai.memory import verify_memory
from errai.solvers.linear_programme import (
    TOLERANCE,
    Programme,
    ProgrammeSize,
    solve_in_child,
    solve_programme,
)
from errai.tables.layout import TableLayout, lossless_layout
from errai.tree.betting_tree import CHALLENGE, DECISION, FOLD, SHOWDOWN, BettingTree
from errai.tree.cells import NO_CARD, Cells
from errai.tree.walk import WalkTree, first_board_round, walk_tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_NONZEROS = 4_000_000
"""Payoffs of pairs of sequences that are still a matter of minutes and of a few GB."""

LISTED_BYTES = 72
"""A payoff while the matrix is made: row, column and number, listed, joined and sorted."""

UNREACHED = 1e-12
"""A plan's probabilities up to this are the solver's rounding and count as none."""

NO_SLOT = -1


@dataclass(frozen=True)
class SequenceFormResult:
    """An equilibrium.

    Attributes:
        value: chips that player 0 wins on average over all pairs of hands that can meet.
        tables: [player] float64[slots] probability of each action, in the layout of the tables.
        plans: [player] float64[slots] probability that the player plays all of the sequence.
        num_nonzeros: payoffs of pairs of sequences that are not zero.
    """

    value: float
    tables: tuple[Floats, Floats]
    plans: tuple[Floats, Floats]
    num_nonzeros: int


def count_payoffs(tree: BettingTree, cells: Cells) -> int:
    """Return an upper bound on the payoffs that `solve_sequence_form` would list."""
    pairs_of_round = np.zeros(tree.num_rounds)
    for r in range(tree.num_rounds):
        boards = slice(cells.links.round_board[r], cells.links.round_board[r + 1] + 1)
        first, second = (np.diff(player.cell_begin[boards]) for player in cells.players)
        pairs_of_round[r] = (first.astype(np.float64) * second).sum()
    leaves = [tree.count(FOLD, r) + tree.count(SHOWDOWN, r) for r in range(tree.num_rounds)]
    return int((pairs_of_round * leaves).sum())


def solve_sequence_form(
    tree: BettingTree,
    cells: Cells,
    initial: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    layout: TableLayout | None = None,
    payoffs: Payoffs = PLAIN,
    *,
    report: Callable[[ProgrammeSize], None] | None = None,
    in_child: bool = False,
) -> SequenceFormResult:
    """Solve a small poker game or sub-game exactly.

    Args:
        tree: the betting.
        cells: boards and hands.
        initial: [player] float[root cells] weight of each hand of a cell; by default 1.
        layout: of the tables, with buckets for rows or not; by default lossless.
        payoffs: what the players get, which must sum to the same at every leaf of the game.
        report: called with the programme's size before it is solved.
        in_child: solve in a process of its own, which an interrupt ends at once.
    """
    if (tree.kind == CHALLENGE).any():
        raise UsageError("a dice game has no sequence-form programme here: expected a card game")
    num_payoffs = count_payoffs(tree, cells)
    if num_payoffs > MAX_NONZEROS:
        raise UsageError(
            f"the linear programme of this game has up to {num_payoffs:,} payoffs: "
            f"expected at most {MAX_NONZEROS:,}, and cfr+ solves larger games"
        )
    verify_memory(num_payoffs * LISTED_BYTES, f"a list of {num_payoffs:,} payoffs")
    weights = _verify_initial(cells, initial)
    form = SequenceForm(tree, cells, layout, payoffs)
    form.verify_constant_sum()
    num_pairs = weight_of_pairs(cells, weights)
    if num_pairs <= 0:
        raise UsageError(
            "no hand of one range can meet a hand of the other: at least one pair must be possible"
        )
    matrix = form.payoff_matrix(weights)
    programme = Programme(matrix, form.constraints(0), form.constraints(1))
    verify_memory(programme.size.memory_bytes, f"the linear programme ({programme.size})")
    if report is not None:
        report(programme.size)
    value, *plans = (solve_in_child if in_child else solve_programme)(programme)
    tables = [form.probabilities(q, plan) for q, plan in enumerate(plans)]
    return SequenceFormResult(
        value=value / num_pairs,
        tables=(tables[0], tables[1]),
        plans=(plans[0][1:], plans[1][1:]),
        num_nonzeros=matrix.nnz,
    )


def _verify_initial(
    cells: Cells, initial: tuple[npt.ArrayLike, npt.ArrayLike] | None
) -> tuple[Floats, Floats]:
    result = []
    for q, root in enumerate(cells.root):
        num_cells = len(root.multiplicity)
        weights = np.ones(num_cells) if initial is None else np.asarray(initial[q], dtype=np.float64)
        if weights.shape != (num_cells,):
            raise UsageError(
                f"the weights of player {q} have shape {weights.shape}: expected {num_cells}, one a cell"
            )
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise UsageError(f"the weights of player {q} must all be finite and 0 or more")
        result.append(weights)
    return result[0], result[1]


class SequenceForm:
    """Sequences, constraints and payoffs of one game."""

    def __init__(self, tree: BettingTree, cells: Cells, layout: TableLayout | None, payoffs: Payoffs) -> None:
        self.tree = tree
        self.cells = cells
        self.payoffs = payoffs
        self.dealt = tree.round >= first_board_round(cells.boards)
        self.walk: WalkTree = walk_tree(tree)
        self.layout = layout or lossless_layout(self.walk, cells)
        self.parent_board = _parent_boards(cells)
        # The slot (within a board) of the player's last action before each node, and the round of it.
        self.last_slot = np.full((2, tree.num_nodes), NO_SLOT, dtype=np.int64)
        self.last_round = np.zeros((2, tree.num_nodes), dtype=np.int64)
        for node in range(1, tree.num_nodes):  # parents come before their children
            above = tree.parent[node]
            self.last_slot[:, node] = self.last_slot[:, above]
            self.last_round[:, node] = self.last_round[:, above]
            if tree.kind[above] == DECISION:
                q = tree.player[above]
                self.last_slot[q, node] = self.walk.slot[above] + node - tree.first_child[above]
                self.last_round[q, node] = tree.round[above]

    def num_boards(self) -> int:
        """Return the boards of all rounds."""
        return int(self.cells.links.round_board[-1])

    def round_of(self, board: int) -> int:
        """Return the round of a board."""
        return int(np.searchsorted(self.cells.links.round_board, board, side="right")) - 1

    def slots(self, q: int, board: int, slot: int, cell: Ints) -> Ints:
        """Return where a board's slot is in the player's table, for some cells of the board."""
        layout, r = self.layout, self.round_of(board)
        if not layout.bucketed[q, r]:
            return np.asarray(layout.begin[q, board] + slot * layout.stride[q, board] + cell)
        row = layout.bucket[q][self.cells.players[q].cell_begin[board] + cell].astype(np.int64)
        return np.asarray(layout.begin[q, board] + slot + row * layout.stride[q, board])

    def lineage(self, q: int, board: int) -> list[tuple[int, Ints]]:
        """Return [round] the board and the cell there from which each cell of a board has come."""
        player = self.cells.players[q]
        cell = np.arange(player.cell_begin[board + 1] - player.cell_begin[board])
        result = [(board, cell)]
        for _ in range(self.round_of(board)):
            cell = player.parent_cell[player.cell_begin[board] + cell].astype(np.int64)
            board = int(self.parent_board[board])
            result.append((board, cell))
        return result[::-1]

    def sequence(self, q: int, node: int, lineage: list[tuple[int, Ints]]) -> Ints:
        """Return the sequence with which each cell of a board arrives at a node; 0 is the empty one."""
        slot = int(self.last_slot[q, node])
        if slot == NO_SLOT:
            return np.zeros(len(lineage[-1][1]), dtype=np.int64)
        board, cell = lineage[self.last_round[q, node]]
        return 1 + self.slots(q, board, slot, cell)

    def constraints(self, q: int) -> Any:
        """Return the matrix of E x = e: the empty sequence first, then a row an information set."""
        num_slots = self.layout.num_slots[q]
        before = np.full(num_slots, NO_SLOT, dtype=np.int64)  # by an infoset's first slot: what leads to it
        num_actions = np.zeros(num_slots, dtype=np.int64)
        distance = np.zeros(num_slots, dtype=np.int64)
        for board in range(self.num_boards()):
            lineage = self.lineage(q, board)
            for node in self._nodes(board, DECISION):
                if self.tree.player[node] != q:
                    continue
                first = self.slots(q, board, int(self.walk.slot[node]), lineage[-1][1])
                sequence = self.sequence(q, node, lineage)
                fresh = before[first] == NO_SLOT
                before[first[fresh]] = sequence[fresh]
                if (before[first] != sequence).any():
                    raise UsageError(
                        f"the buckets of player {q} forget what earlier ones knew: a linear programme needs "
                        "perfect recall, cfr+ does not"
                    )
                num_actions[first] = self.tree.num_children[node]
                is_bucketed = self.layout.bucketed[q, self.round_of(board)]
                distance[first] = 1 if is_bucketed else self.layout.rows[q, board]
        infosets = np.flatnonzero(before != NO_SLOT)
        rows = [np.zeros(1, np.int64), 1 + np.arange(len(infosets))]
        columns = [np.zeros(1, np.int64), before[infosets]]
        entries = [np.ones(1), np.full(len(infosets), -1.0)]
        for action in range(int(num_actions.max(initial=0))):
            has = num_actions[infosets] > action
            rows.append(1 + np.flatnonzero(has))
            columns.append(1 + infosets[has] + action * distance[infosets[has]])
            entries.append(np.ones(len(rows[-1])))
        shape = (1 + len(infosets), 1 + num_slots)
        places = (np.concatenate(rows), np.concatenate(columns))
        return sparse.coo_array((np.concatenate(entries), places), shape=shape).tocsr()

    def leaf_values(self, player: int, nodes: list[int]) -> Floats:
        """Return what a player gets for winning, tying and losing leaves, at folds alike: float64[L, 3]."""
        stake, dealt = self.walk.stake[nodes], self.dealt[nodes]
        shown = self.payoffs.showdown_values(player, stake, dealt)
        folded = self.payoffs.fold_values(player, stake, dealt, self.tree.player[nodes] == player)
        return np.where((self.tree.kind[nodes] == FOLD)[:, np.newaxis], folded[:, np.newaxis], shown)

    def verify_constant_sum(self) -> None:
        """Refuse payoffs that the players do not only share out between them."""
        nodes = np.flatnonzero((self.tree.kind == FOLD) | (self.tree.kind == SHOWDOWN)).tolist()
        # When one player wins, the other loses.
        sums = self.leaf_values(0, nodes) + self.leaf_values(1, nodes)[:, ::-1]
        if np.ptp(sums) > TOLERANCE * self.walk.stake[nodes].max():
            raise UsageError(
                f"payoffs '{self.payoffs.describe()}' do not sum to the same at every leaf of this game: "
                "a linear programme needs that, cfr+ does not"
            )

    def payoff_matrix(self, weights: tuple[Floats, Floats]) -> Any:
        """Return P, not yet divided by the weight of all pairs of hands."""
        chance = self._board_chances()
        rows, columns, entries = [], [], []
        for board in range(self.num_boards()):
            meets = self._meeting_pairs(board)
            lineages = [self.lineage(q, board) for q in (0, 1)]
            meets *= np.outer(*(weights[q][self._root_cells(q, lineages[q][0])] for q in (0, 1)))
            outcomes = self._outcomes(board)
            for kind, which, pairs in (
                (FOLD, 0, meets),
                (SHOWDOWN, 0, meets * (outcomes > 0)),
                (SHOWDOWN, 1, meets * (outcomes == 0)),
                (SHOWDOWN, 2, meets * (outcomes < 0)),
            ):
                first, second = np.nonzero(pairs)
                nodes = self._nodes(board, kind)
                for node, chips in zip(nodes, self.leaf_values(0, nodes)[:, which].tolist(), strict=True):
                    if chips == 0:
                        continue
                    rows.append(self.sequence(0, node, lineages[0])[first])
                    columns.append(self.sequence(1, node, lineages[1])[second])
                    entries.append(chance[board] * chips * pairs[first, second])
        shape = (1 + self.layout.num_slots[0], 1 + self.layout.num_slots[1])
        places = (np.concatenate(rows), np.concatenate(columns))
        return sparse.coo_array((np.concatenate(entries), places), shape=shape).tocsr()

    def probabilities(self, q: int, plan: Floats) -> Floats:
        """Turn a plan into the probability of each action."""
        table = np.zeros(self.layout.num_slots[q])
        for played, shares in zip(self.decisions(q, plan[1:]), self.decisions(q, table), strict=True):
            total = played.sum(axis=0)
            is_reached = total > UNREACHED
            shares[:] = np.where(is_reached, played / np.where(is_reached, total, 1), 1 / len(played))
        return table

    def decisions(self, q: int, table: Floats) -> Iterator[Floats]:
        """Yield views of a player's table, one for each decision at each board: float64[actions, rows].

        Boards whose rows are the same buckets have the same slots, which come once for each board.
        """
        for board in range(self.num_boards()):
            r = self.round_of(board)
            for node in self._nodes(board, DECISION):
                if self.tree.player[node] == q:
                    slot, num_actions = int(self.walk.slot[node]), int(self.tree.num_children[node])
                    yield self.layout.decision(table, q, board, r, slot, num_actions)

    def plan(self, q: int, table: Floats) -> Floats:
        """Turn probabilities of actions into a plan, the empty sequence first."""
        plan = np.zeros(1 + self.layout.num_slots[q])
        plan[0] = 1.0
        for board in range(self.num_boards()):
            lineage = self.lineage(q, board)
            for node in self._nodes(board, DECISION):
                if self.tree.player[node] != q:
                    continue
                before = plan[self.sequence(q, node, lineage)]
                for action in range(int(self.tree.num_children[node])):
                    slots = self.slots(q, board, int(self.walk.slot[node]) + action, lineage[-1][1])
                    plan[1 + slots] = before * table[slots]
        return plan

    def _nodes(self, board: int, kind: int) -> list[int]:
        begin, end = self.tree.round_begin[self.round_of(board) :][:2]
        nodes: list[int] = (begin + np.flatnonzero(self.tree.kind[begin:end] == kind)).tolist()
        return nodes

    def _root_cells(self, q: int, first: tuple[int, Ints]) -> Ints:
        """Return the root cells of some cells of a board of the first round."""
        player, (board, cell) = self.cells.players[q], first
        root: Ints = player.parent_cell[player.cell_begin[board] + cell].astype(np.int64)
        return root

    def _board_chances(self) -> Floats:
        """Return the chance of each board, given that it hits neither hand."""
        chance = self.cells.links.deal_factor.copy()
        for board in range(int(self.cells.links.round_board[1]), self.num_boards()):
            chance[board] *= chance[self.parent_board[board]]
        return chance

    def _meeting_pairs(self, board: int) -> Floats:
        """Return how many pairs of hands of two cells share no card: float64[cells, cells]."""
        cards, begins = [], []
        for player in self.cells.players:
            first, last = player.cell_begin[board], player.cell_begin[board + 1]
            hand_begin = player.hand_begin[first : last + 1]
            cards.append(player.hand_card[hand_begin[0] : hand_begin[-1]])
            begins.append(hand_begin[:-1] - hand_begin[0])
        mine, theirs = cards[0][:, np.newaxis, :, np.newaxis], cards[1][np.newaxis, :, np.newaxis, :]
        meets = np.logical_not(((mine == theirs) & (mine != NO_CARD)).any(axis=(2, 3))).astype(np.float64)
        by_cell = np.add.reduceat(np.add.reduceat(meets, begins[0], axis=0), begins[1], axis=1)
        return np.asarray(by_cell)

    def _outcomes(self, board: int) -> Floats:
        """Return 1 where player 0's cell is the stronger, -1 where it is the weaker, 0 at ties."""
        player, opponent = self.cells.players
        mine = slice(player.cell_begin[board], player.cell_begin[board + 1])
        theirs = np.arange(opponent.cell_begin[board + 1] - opponent.cell_begin[board])
        wins = theirs < player.below[mine][:, np.newaxis]
        loses = theirs >= player.up_to[mine][:, np.newaxis]
        return wins.astype(np.float64) - loses


def _parent_boards(cells: Cells) -> Ints:
    """Return the board before each board; 0 for those of the first round, which have none."""
    links = cells.links
    parents = np.zeros(links.round_board[-1], dtype=np.int64)
    for board in range(links.round_board[-2]):
        parents[links.child_begin[board] : links.child_end[board]] = board
    return parents
