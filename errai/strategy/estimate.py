"""How long an exact exploitability takes on this machine, said before it is begun.

Steps: count the game's work as betting nodes x canonical hands over all rounds, without building anything;
time the real thing on a game that is small but alike; scale. The pace differs from game to game with
the hands at a board and with what fits into caches, so the figure is good to a factor of two or so.
"""

import time
from dataclasses import dataclass

from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.catalogue import Game, load_game
from errai.response.exploitability import measure_exploitability
from errai.tree.bet_menu import BetMenu
from errai.tree.cells import BYTES_A_CELL, BYTES_A_HAND
from errai.tree.memory import available_memory
from errai.tree.public_tree import SMALL_GAME_SLOTS, PublicTree, uniform_tables
from errai.tree.size import GameSize, game_size

BYTES_A_HAND_TO_BUILD = BYTES_A_HAND + 24
"""As `game_cells` counts them."""


@dataclass(frozen=True)
class Estimate:
    """What an exact exploitability would take.

    Attributes:
        steps: betting nodes x canonical hands over all rounds, for both positions.
        seconds: at the sample's pace.
        num_threads: threads of the sample.
        sample: the game that was timed.
        table_bytes: of the strategy.
        hand_bytes: of hands and boards.
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
    boards = sum(one.boards for one in counted.rounds)
    cells = sum(one.rows or 0 for one in counted.rounds)
    return Estimate(
        steps=_num_steps(counted),
        seconds=_num_steps(counted) * pace,
        num_threads=tree.measuring.num_threads,
        sample=sample.name,
        table_bytes=counted.table_slots * (8 if counted.table_slots <= SMALL_GAME_SLOTS else 4),
        hand_bytes=cells * BYTES_A_CELL + boards * game.num_hands() * BYTES_A_HAND_TO_BUILD,
        free_bytes=available_memory(),
    )


def _num_steps(counted: GameSize) -> int:
    return 2 * sum(one.betting.nodes * (one.rows or 0) for one in counted.rounds)
