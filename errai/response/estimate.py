"""How long an exact exploitability takes on this machine, said before it is begun.

Steps: count the game's work as betting nodes x canonical hands over all rounds, without building anything;
time the real thing on a game that is small but alike; scale. The pace differs from game to game with
the hands at a board and with what fits into caches, so the figure is good to a factor of two or so.

Where the hands of the whole game do not fit, any strategy is measured sub-game by sub-game
(`errai.response.subgames`); then one of its sub-games is the sample.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import SMALL_GAME_SLOTS, PublicTree, uniform_tables
from errai.engine.section import given_slice
from errai.games.catalogue import Game, load_card_game, load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import available_memory
from errai.response import subgames
from errai.response.exploitability import measure_exploitability
from errai.response.flop_sample import draw_boards
from errai.response.sampled import flop_weights, verify_sample
from errai.response.trunk import cut_round
from errai.strategy.played import Play, RulePlay
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import DECISION
from errai.tree.cells import game_cells_bytes
from errai.tree.size import GameSize, game_size
from errai.workers import verified_threads


@dataclass(frozen=True)
class Estimate:
    """What an exact exploitability would take.

    Attributes:
        steps: betting nodes x canonical hands over all rounds, for both positions.
        seconds: at the sample's pace.
        num_threads: threads that are to do it.
        sample: what was timed.
        table_bytes: of the strategy; 0 where it needs no tables.
        hand_bytes: of hands and boards, as many as are needed at a time.
        free_bytes: of memory, now.
    """

    steps: int
    seconds: float
    num_threads: int
    sample: str
    table_bytes: int
    hand_bytes: int
    free_bytes: int

    @property
    def fits(self) -> bool:
        """Whether memory suffices."""
        return self.table_bytes + self.hand_bytes <= self.free_bytes

    @property
    def nanoseconds_a_step(self) -> float:
        """The sample's pace."""
        return self.seconds / self.steps * 1e9


def estimate_exploitability(game: Game, menu: BetMenu | None = None) -> Estimate:
    """Estimate the exact exploitability of a strategy of a game.

    Args:
        game: the game, of any size.
        menu: bet sizes of a no-limit game.
    """
    rules = load_card_game(game)
    counted = game_size(rules, menu)
    sample = load_game("holdem-2-1" if rules.num_hole_cards == 2 else "rhode-island")
    sample_size = game_size(sample)
    if _num_steps(counted) <= _num_steps(sample_size):
        sample, sample_size, sample_menu = rules, counted, menu
    else:
        sample_menu = None
    tree = PublicTree.of(sample, sample_menu)
    tables = uniform_tables(tree)
    with tree.measuring() as walk:
        num_threads = walk.num_threads
        measure_exploitability(tree, tables, walk)  # kernels may have to be compiled
        began = time.perf_counter()
        measure_exploitability(tree, tables, walk)
    pace = (time.perf_counter() - began) / _num_steps(sample_size)
    table_bytes, hand_bytes = memory_needed(counted, rules)
    return Estimate(
        steps=_num_steps(counted),
        seconds=_num_steps(counted) * pace,
        num_threads=num_threads,
        sample=sample.name,
        table_bytes=table_bytes,
        hand_bytes=hand_bytes,
        free_bytes=available_memory(),
    )


def memory_needed(counted: GameSize, game: PokerRules) -> tuple[int, int]:
    """Return the bytes of a strategy's tables, and of all hands and boards, of a whole game."""
    slots = counted.table_slots
    tables = slots * (8 if slots <= SMALL_GAME_SLOTS else 4)
    return tables, game_cells_bytes(Deals(game))


def goes_by_subgames(game: Game, menu: BetMenu | None = None) -> bool:
    """Return whether a game must be measured sub-game by sub-game: its hands do not fit at once."""
    if not isinstance(game, PokerRules) or cut_round(game) is None:
        return False
    return 2 * sum(memory_needed(game_size(game, menu), game)) > available_memory()


def estimate_by_subgames(
    tree: PublicTree,
    plays: tuple[Play, Play],
    num_threads: int | None = None,
    flops: int | None = None,
    seed: int = 0,
) -> Estimate:
    """Estimate an exploitability that is measured sub-game by sub-game.

    Times the hands of one board and the smallest of the sub-games there, and scales by betting nodes x
    canonical hands. Entries that the opponent reaches with no hand are left out, as they will be. Of a sample
    of flops it counts as many hands below as its flops have of all hands on flops.

    Args:
        tree: a game that `goes_by_subgames`.
        plays: what each position plays.
        num_threads: by default all cores.
        flops: how many are to be drawn; all boards without it.
        seed: of the draws.
    """
    threads = verified_threads(num_threads)
    response = subgames.SubgameResponse(tree, plays)
    share = 1.0 if flops is None else _share_of_hands(response, flops, seed)
    board = response.num_boards // 2
    first_round, num_rounds = response.cut.round, tree.rules.num_rounds
    response.walk_entries(0, response.prepare_board(0), (0, 0))  # kernels may have to be compiled
    began = time.perf_counter()
    walk = response.prepare_board(board)
    building = time.perf_counter() - began
    cells = np.array([walk.plan.cells.num_cells(0, r) for r in range(num_rounds - first_round)])
    rows = np.array([response.deals.num_rows(r) for r in range(first_round, num_rounds)], dtype=object)
    nodes = [_walked_nodes(response, player) for player in (0, 1)]
    entries = walk.plan.entries(0)
    sizes = {e: int(sum((of[e - entries[0]] * cells).sum() for of in nodes)) for e in range(*entries)}
    live = [entry for entry, size in sizes.items() if size > 0]
    pace = 0.0
    if live:
        sample = min(live, key=lambda entry: sizes[entry])
        began = time.perf_counter()
        response.walk_entries(board, walk, (sample, sample + 1))
        pace = (time.perf_counter() - began) / sizes[sample]
    all_steps = int(sum((of.sum(axis=0) * rows).sum() for of in nodes))
    steps = all_steps if flops is None else int(all_steps * share)
    all_cells = share * int(rows.sum())
    given = sum(array.nbytes for array in response.given)
    return Estimate(
        steps=steps,
        seconds=(building * all_cells / int(cells.sum()) + pace * steps) / threads,
        num_threads=threads,
        sample=f"board {board + 1:,} of {response.num_boards:,}",
        table_bytes=sum(table.nbytes for table in walk.tables.source),
        hand_bytes=threads * walk.nbytes + given,
        free_bytes=available_memory(),
    )


def _share_of_hands(response: "subgames.SubgameResponse", flops: int, seed: int) -> float:
    """Return how much of all hands at the cut the boards of a sample have, each counted once."""
    verify_sample(flops, seed)
    plan = response.trunk.plan
    boards = slice(*plan.boards(response.cut.round))
    cells = np.diff(plan.arrays.begin[0])[boards]
    drawn = np.unique(draw_boards(flop_weights(response), flops, seed))
    return float(cells[drawn].sum() / cells.sum())


def _walked_nodes(response: "subgames.SubgameResponse", player: int) -> npt.NDArray[np.int64]:
    """Return the betting nodes that a position's walk visits: int64[entries at the cut, rounds below].

    A node is left out where the opponent is known never to get there: by the reach at the cut, and below it
    by the probabilities of one who looks at no cards.
    """
    tree, opponent, cut = response.tree, 1 - player, response.cut
    betting, first_round = tree.betting, cut.round
    first, last = response.trunk.plan.entries(first_round)
    is_live = np.zeros(last - first, dtype=bool)
    for board in range(*response.trunk.plan.boards(first_round)):
        given = given_slice(response.trunk.plan, cut, response.given[opponent], opponent, board)
        is_live |= given.reshape(last - first, -1).any(axis=1)
    play = response.plays[opponent]
    is_taken = _taken_actions(tree, play, opponent) if isinstance(play, RulePlay) else None
    begin = int(betting.round_begin[first_round])
    origin = np.full(betting.num_nodes, -1)  # which entry at the cut a live node descends from
    origin[betting.entry_nodes[first_round]] = np.where(is_live, np.arange(last - first), -1)
    parents = betting.parent.tolist()
    for node in range(begin, betting.num_nodes):  # parents come before their children
        if parents[node] >= begin and (is_taken is None or is_taken[node]):
            origin[node] = origin[parents[node]]
    nodes = np.zeros((last - first, tree.rules.num_rounds - first_round), dtype=np.int64)
    live = np.flatnonzero(origin >= 0)
    np.add.at(nodes, (origin[live], betting.round[live] - first_round), 1)
    return nodes


def _taken_actions(tree: PublicTree, play: RulePlay, player: int) -> npt.NDArray[np.bool_]:
    """Return for each node whether the action that leads there may be taken: a rule never takes some."""
    is_taken = np.ones(tree.betting.num_nodes, dtype=bool)
    before = np.concatenate([[0], np.cumsum(tree.walk.num_slots[player])])
    for node in np.flatnonzero((tree.betting.kind == DECISION) & (tree.betting.player == player)).tolist():
        children = tree.betting.children(node)
        begin = int(before[tree.betting.round[node]]) + int(tree.walk.slot[node])
        is_taken[children.start : children.stop] = play.chances[begin : begin + len(children)] > 0
    return is_taken


def _num_steps(counted: GameSize) -> int:
    return 2 * sum(one.betting.nodes * (one.rows or 0) for one in counted.rounds)
