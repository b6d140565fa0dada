"""Buckets of cells: a sub-game and a path have those of the whole game, which alone says what is lossless."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

import errai
from errai.cards.deck import Deck
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.tree import buckets as buckets_module
from errai.tree.buckets import Buckets, bucketed_rounds, game_buckets, is_bucketed
from errai.tree.cells import cells_below, game_cells, path_cells


def poker(name: str) -> PokerRules:
    rules = errai.load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


SHORT = replace(poker("rhode-island"), name="short", deck=Deck("TJQK", "cdh"))
DEALS = Deals(SHORT)


@dataclass(frozen=True)
class TableAbstraction:
    """A table over the canonical hands of each round.

    Attributes:
        tables: [round] the bucket of each hand.
        nums: [round] how many buckets are said to exist.
        shift: added to the second player's buckets.
    """

    tables: tuple[npt.NDArray[np.int64], ...]
    nums: tuple[int, ...]
    shift: int = 0
    game: PokerRules = SHORT
    name: str = "table"

    @property
    def num_players_described(self) -> int:
        return 2 if self.shift else 1

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        return self.nums[round_index] + self.shift * player

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int64]:
        rows = DEALS.rows.index(cards, DEALS.row_round(round_index))
        return self.tables[round_index][rows] + self.shift * player


def random_table(seed: int, shift: int = 0) -> TableAbstraction:
    """The first round as it is, though numbered otherwise; five and seven buckets later."""
    rng = np.random.default_rng(seed)
    rows = [DEALS.num_rows(r) for r in range(3)]
    tables = (rng.permutation(rows[0]), rng.integers(0, 5, rows[1]), rng.integers(0, 7, rows[2]))
    return TableAbstraction(tables, (rows[0], 5, 9), shift)


@pytest.mark.parametrize("shift", [0, 3])
@pytest.mark.parametrize("dealt", [True, False])
def test_subgames_have_the_buckets_of_the_whole(shift: int, dealt: bool) -> None:
    abstraction = random_table(1, shift)
    pair = (abstraction, abstraction)
    whole_cells = game_cells(SHORT)
    whole = game_buckets(whole_cells, SHORT, pair)
    assert [sorted(maps) for maps in whole.maps] == [[1, 2], [1, 2]]
    alike = [whole.maps[0][r].tolist() == whole.maps[1][r].tolist() for r in (1, 2)]
    assert alike == [shift == 0, shift == 0], "each player is asked for"
    bucketed = bucketed_rounds(SHORT, pair)
    own = whole_cells.players[0]
    for first_round in (1, 2):
        found: dict[int, list[int]] = {r: [] for r in range(first_round, 3)}
        for board in range(DEALS.num_boards(first_round if dealt else first_round - 1)):
            cells = cells_below(DEALS, first_round, board, dealt)
            part = game_buckets(cells, SHORT, pair, bucketed)
            part.verify(cells)
            for r in found:
                assert part.num_buckets(r - first_round, 1) == abstraction.num_buckets(r, 1)
                found[r] += part.maps[1][r - first_round].tolist()
        for r, buckets in found.items():
            assert buckets == whole.maps[1][r].tolist()
    boards = [0, 2, int(DEALS.boards.child_begin(1)[2]) + 1]
    path = path_cells(DEALS, boards, [1.0, 1.0, 1.0])
    mine = game_buckets(path, SHORT, pair, bucketed)
    for r in (1, 2):
        at = int(whole_cells.links.round_board[r]) + boards[r]
        before = int(own.cell_begin[whole_cells.links.round_board[r]])
        here = slice(int(own.cell_begin[at]) - before, int(own.cell_begin[at + 1]) - before)
        assert mine.maps[0][r].tolist() == whole.maps[0][r][here].tolist()


@pytest.mark.parametrize("at_once", [7, 1_000_000])
def test_a_round_is_bucketed_where_two_of_all_hands_share_a_bucket(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets_module, "ROWS_AT_ONCE", at_once)
    rows = DEALS.num_rows(1)
    rng = np.random.default_rng(3)
    each_its_own = rng.permutation(rows)
    shared = each_its_own.copy()
    shared[rows - 1] = shared[0]  # far apart: no board has both

    def says(table: npt.NDArray[np.int64], number: int) -> bool:
        nothing = np.zeros(0, dtype=np.int64)
        return is_bucketed(TableAbstraction((nothing, table), (0, number)), DEALS, 1)

    assert not says(each_its_own, rows)
    assert not says(2 * each_its_own, 2 * rows)
    assert says(shared, rows)
    assert says(shared, rows + 5)
    assert says(np.minimum(each_its_own, rows - 2), rows - 1)


def test_sizes_bound_the_buckets() -> None:
    cells = game_cells(poker("leduc"))
    maps = {1: np.arange(9)}
    Buckets((maps, maps)).verify(cells)
    Buckets((maps, maps), sizes=({1: 9}, {1: 20})).verify(cells)
    with pytest.raises(UsageError, match="buckets of round 1 must be 0 to 7, not 8"):
        Buckets((maps, maps), sizes=({1: 9}, {1: 8})).verify(cells)
    below = {1: np.arange(9) - 1}
    with pytest.raises(UsageError, match="buckets of round 1 must be 0 to 7, not -1"):
        Buckets((below, below)).verify(cells)
