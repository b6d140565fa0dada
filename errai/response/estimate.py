"""How long an exact exploitability takes on this machine, said before it is begun.

Steps: count the game's work as betting nodes x canonical hands over all rounds, without building anything;
time the real thing on a game that is small but alike; scale. The pace differs from game to game with
the hands at a board and with what fits into caches, so the figure is good to a factor of two or so.

An agent that looks at the betting alone needs no tables and is measured sub-game by sub-game where the hands
of the whole game do not fit (`errai.response.subgames`); then one of its sub-games is the sample.
"""

import time
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from errai.engine.public_tree import SMALL_GAME_SLOTS, PublicTree, uniform_tables
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.catalogue import Game, load_game
from errai.games.rules import PokerRules
from errai.memory import available_memory, num_cores
from errai.response import subgames
from errai.response.exploitability import measure_exploitability
from errai.strategy.simple import ActionRule
from errai.tables.layout import Floats
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import CHANCE
from errai.tree.cells import BYTES_A_CELL, BYTES_A_HAND
from errai.tree.size import GameSize, game_size
from errai.tree.subgame import subgame_cells

BYTES_A_HAND_TO_BUILD = BYTES_A_HAND + 24
"""As `game_cells` counts them."""


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
    if isinstance(game, BluffRules):
        raise UsageError(f"'{game.name}' is a dice game: only card games are estimated")
    counted = game_size(game, menu)
    sample = load_game("holdem-2-1" if game.num_hole_cards == 2 else "rhode-island")
    sample_size = game_size(sample)
    if _num_steps(counted) <= _num_steps(sample_size):
        sample, sample_size, sample_menu = game, counted, menu
    else:
        sample_menu = None
    tree = PublicTree.of(sample, sample_menu)
    tables = uniform_tables(tree)
    measure_exploitability(tree, tables, tree.measuring)  # kernels may have to be compiled
    began = time.perf_counter()
    measure_exploitability(tree, tables, tree.measuring)
    pace = (time.perf_counter() - began) / _num_steps(sample_size)
    table_bytes, hand_bytes = memory_needed(counted, game)
    return Estimate(
        steps=_num_steps(counted),
        seconds=_num_steps(counted) * pace,
        num_threads=tree.measuring.num_threads,
        sample=sample.name,
        table_bytes=table_bytes,
        hand_bytes=hand_bytes,
        free_bytes=available_memory(),
    )


def memory_needed(counted: GameSize, game: PokerRules) -> tuple[int, int]:
    """Return the bytes of a strategy's tables, and of all hands and boards, of a whole game."""
    boards = sum(one.boards for one in counted.rounds)
    cells = sum(one.rows or 0 for one in counted.rounds)
    slots = counted.table_slots
    tables = slots * (8 if slots <= SMALL_GAME_SLOTS else 4)
    return tables, cells * BYTES_A_CELL + boards * game.num_hands() * BYTES_A_HAND_TO_BUILD


def falls_apart(game: Game) -> TypeGuard[PokerRules]:
    """Return whether a game can be measured sub-game by sub-game."""
    return isinstance(game, PokerRules) and game.num_rounds >= 2 and game.num_board_cards[1] > 0


def goes_by_subgames(game: Game, menu: BetMenu | None = None) -> bool:
    """Return whether an agent without tables must be measured sub-game by sub-game."""
    if not falls_apart(game):
        return False
    return 2 * sum(memory_needed(game_size(game, menu), game)) > available_memory()


def estimate_by_subgames(
    game: PokerRules, rule: ActionRule, menu: BetMenu | None = None, num_threads: int | None = None
) -> Estimate:
    """Estimate the exploitability of an agent that looks at the betting alone, sub-game by sub-game.

    Times the hands of one board and the smallest of the sub-games there, and scales by betting nodes x
    canonical hands. Branches that the agent never takes are left out, as they will be.

    Args:
        game: a game that `goes_by_subgames`.
        rule: the agent.
        menu: bet sizes of a no-limit game.
        num_threads: all cores without it.
    """
    threads = num_threads or num_cores()
    estimate_exploitability(load_game("kuhn"))  # kernels may have to be compiled
    began = time.perf_counter()
    response = subgames.SubgameResponse(game, rule, menu, threads, None, None)
    preparation = time.perf_counter() - began
    board = response.cut.num_boards // 2
    began = time.perf_counter()
    cells = subgame_cells(response.cut, board)
    building = time.perf_counter() - began
    num_cells = sum(cells.num_cells(0, r) for r in range(cells.num_rounds))
    all_cells = sum(response.deals.num_rows(r) for r in range(1, game.num_rounds))
    nodes = {
        (player, entry): number
        for player in (0, 1)
        for entry, number in _live_nodes(response, player).items()
    }
    pace = 0.0
    if nodes:
        player, entry = min(nodes, key=lambda subgame: nodes[subgame])
        began = time.perf_counter()
        response.subgame_values(player, entry, cells)
        pace = (time.perf_counter() - began) / nodes[player, entry]
    walking = pace * sum(nodes.values())
    arrays: list[Floats] = [*cells.players[0], *cells.boards, *cells.classes[0]]
    return Estimate(
        steps=all_cells * sum(nodes.values()),
        seconds=preparation + (2 * building + walking) * all_cells / num_cells / threads,
        num_threads=threads,
        sample=f"board {board + 1:,} of {response.cut.num_boards:,}",
        table_bytes=0,
        hand_bytes=threads * sum(array.nbytes for array in arrays),
        free_bytes=available_memory(),
    )


def _live_nodes(response: "subgames.SubgameResponse", player: int) -> dict[int, int]:
    """Return the betting nodes below each entry that the agent lets its opponent reach."""
    reach = response.reach(1 - player)
    closing = np.flatnonzero(response.tree.kind[: response.cut.trunk_end] == CHANCE)
    return {
        entry: response.subtree(player, entry)[0].num_nodes
        for entry, node in enumerate(closing)
        if reach[node] > 0
    }


def _num_steps(counted: GameSize) -> int:
    return 2 * sum(one.betting.nodes * (one.rows or 0) for one in counted.rounds)
