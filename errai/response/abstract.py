"""Best responses inside an abstract game: what can be won by seeing one's own buckets alone.

CFR solves the abstract game, so this number falls to zero with the iterations, while the one in the real game
may stop or rise (Waugh, Schnizlein, Bowling and Szafron, "Abstraction Pathologies in Extensive Games", 2009;
chapter 4 of Johanson's thesis, 2016).

A real best response takes the maximum hand by hand, in one walk. Here the hands of a bucket decide together,
by the sum of their values over all boards, and what a decision is worth is known once all later ones of the
same player are made. Steps, for each position:

1. Sort the position's decisions by height: how many more of its own may follow at the most.
2. From the lowest height up: walk the whole game once with what is decided so far; each bucket takes
   the action with the largest sum at all decisions of the height.
3. Walk once more for the value.

That needs perfect recall: a bucket's hands must come from one bucket of the round before, or own earlier
choices would change how the hands of a bucket weigh. What forgets is refused.

Where the hands of a game do not fit into memory, its strategy is a `BucketStrategy`, and another computation
finds the same number, from all boards or from a sample (`errai.response.bucket_response`).
"""

from contextlib import closing
from typing import overload

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.engine.section import LEARN, PLAY
from errai.engine.traversal import Traversal
from errai.errors import UsageError, shortened
from errai.games.rounds import in_round
from errai.response.bucket_pairs import count_pairs
from errai.response.bucket_response import BucketResponse
from errai.response.results import Exploitability, SampledAbstractExploitability
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy
from errai.tables.layout import Floats
from errai.tree.betting_tree import DECISION, BettingTree
from errai.workers import verified_threads

_ADD_GAINS = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
"""A step that adds plain gains and averages nothing."""


@overload
def abstract_exploitability(
    strategy: Strategy | BucketStrategy, num_threads: int | None = None, *, boards: None = None, seed: int = 0
) -> Exploitability: ...


@overload
def abstract_exploitability(
    strategy: BucketStrategy, num_threads: int | None = None, *, boards: int, seed: int = 0
) -> SampledAbstractExploitability: ...


def abstract_exploitability(
    strategy: Strategy | BucketStrategy,
    num_threads: int | None = None,
    *,
    boards: int | None = None,
    seed: int = 0,
) -> Exploitability | SampledAbstractExploitability:
    """Measure a strategy in the game as its own abstraction shows it to both positions.

    Without an abstraction it is the exploitability in the real game.

    Args:
        strategy: of a game whose hands fit into memory, or a `BucketStrategy` of any; with an abstraction of
            perfect recall.
        num_threads: by default all cores for large games; the result does not depend on it. A
            `BucketStrategy` is measured on one thread, matrix products apart.
        boards: of a `BucketStrategy`, how many boards of the last round to draw; without it all of them,
            which is refused where they are too many.
        seed: of the draws.
    """
    verified_threads(num_threads)
    if isinstance(strategy, BucketStrategy):
        pair = (strategy.saved.abstraction, strategy.saved.abstraction)
        pairs = count_pairs(strategy.game, strategy.layout, pair, boards, seed)
        return BucketResponse(pairs).exploitability(strategy)
    if boards is not None:
        raise UsageError(
            f"the hands of '{strategy.tree.game.name}' fit into memory: boards must not be given, not "
            f"{shortened(boards)}"
        )
    tree = strategy.tree
    for player in (0, 1):
        _verify_recall(tree, player)
    with closing(tree.traversal(np.float64, num_threads)) as walk:
        first, second = (_response_value(tree, strategy.tables, walk, player) for player in (0, 1))
        own = None
        if not tree.payoffs.is_zero_sum:
            played = tree.layout.tables(*(3 * [_as_numbers(strategy.tables, walk)]))
            own = walk.mean_values(PLAY, played)
    return Exploitability((first, second), tree.game.big_blind, tree.payoffs.describe(), own)


def _as_numbers(tables: tuple[Floats, Floats], walk: Traversal) -> tuple[Floats, Floats]:
    return tables[0].astype(walk.dtype, copy=False), tables[1].astype(walk.dtype, copy=False)


def _response_value(tree: PublicTree, tables: tuple[Floats, Floats], walk: Traversal, player: int) -> float:
    """Return what a best response in one position wins, seeing what the tables tell apart."""
    played = _as_numbers(tables, walk)
    response = np.zeros(tree.layout.num_slots[player], walk.dtype)
    source = (response, played[1]) if player == 0 else (played[0], response)
    gains, averages = tree.layout.zeros(walk.dtype), tree.layout.zeros(walk.dtype)
    heights = decision_heights(tree.betting, player)
    for height in range(int(heights.max()) + 1):
        gains[player].fill(0)
        walk.walk_once(player, LEARN, tree.layout.tables(source, gains, averages), _ADD_GAINS)
        for node in np.flatnonzero(heights == height).tolist():
            _choose(tree, player, node, gains[player], response)
    tables_read = tree.layout.tables(source, source, source)
    return walk.mean_value(player, walk.walk_once(player, PLAY, tables_read, np.zeros(5)))


def decision_heights(betting: BettingTree, player: int) -> npt.NDArray[np.int64]:
    """Return how many more decisions of a player may follow each of its own: int64[N], -1 at other nodes."""
    # [node] the most decisions of the player from there on.
    below = np.zeros(betting.num_nodes, dtype=np.int64)
    is_own = (betting.kind == DECISION) & (betting.player == player)
    parents = betting.parent.tolist()
    for node in range(betting.num_nodes - 1, -1, -1):  # parents come before their children
        below[node] += int(is_own[node])
        if parents[node] >= 0:
            below[parents[node]] = max(below[parents[node]], below[node])
    return np.where(is_own, below - 1, -1)


def _choose(tree: PublicTree, player: int, node: int, gains: Floats, response: Floats) -> None:
    """Let every row of a decision take the action that gains most; the first of those that are alike."""
    layout, round_index = tree.layout, int(tree.betting.round[node])
    slot, num_actions = int(tree.walk.slot[node]), int(tree.walk.num_children[node])
    boards = range(*tree.cells.links.round_board[round_index : round_index + 2].tolist())
    if layout.bucketed[player, round_index]:
        boards = boards[:1]  # all boards share their rows
    for board in boards:
        place = (player, board, round_index, slot, num_actions)
        gained, chosen = layout.decision(gains, *place), layout.decision(response, *place)
        chosen[:] = np.arange(num_actions)[:, np.newaxis] == gained.argmax(axis=0)


def _verify_recall(tree: PublicTree, player: int) -> None:
    """Refuse tables whose rows forget what earlier ones knew."""
    cells, layout = tree.cells.players[player], tree.layout
    links = tree.cells.links
    cell_board = np.repeat(np.arange(len(cells.cell_begin) - 1), np.diff(cells.cell_begin))
    rows = np.arange(int(cells.cell_begin[-1]))
    for r in range(1, tree.cells.num_rounds):
        first, last = (int(cells.cell_begin[links.round_board[k]]) for k in (r, r + 1))
        if not layout.bucketed[player, r]:
            continue
        before = slice(int(cells.cell_begin[links.round_board[r - 1]]), first)
        known = rows.copy()  # the row of each cell before; numbers of cells where there are no buckets
        if layout.bucketed[player, r - 1]:
            known[before] = layout.bucket[player][before]
        boards = np.arange(links.round_board[r - 1], links.round_board[r])
        parent_board = np.repeat(boards, (links.child_end - links.child_begin)[boards])
        of_cell = parent_board[cell_board[first:last] - links.round_board[r]]
        parents = known[cells.cell_begin[of_cell] + cells.parent_cell[first:last]]
        bucket = layout.bucket[player][first:last]
        one_parent = np.zeros(int(bucket.max()) + 1, dtype=np.int64)
        one_parent[bucket] = parents
        if (one_parent[bucket] != parents).any():
            raise UsageError(
                f"the buckets of position {player} forget {in_round(tree.rules, r)} what earlier ones knew: "
                "a best response inside an abstract game needs perfect recall"
            )
