"""Sections of a public tree: every cut gives what the uncut walk gives, on any number of threads."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from naive.traversal import InfoSet, NaiveWalk, Vector

import errai
from errai.cards.deck import Deck, format_cards
from errai.engine import traversal
from errai.engine.public_tree import PublicTree
from errai.engine.section import BEST, KEEP, LEARN, PLAY, CutPlace
from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.solvers.solve import Solver
from errai.solvers.update_rules import RULES
from errai.strategy.strategy import Strategy, find_node
from errai.tables.layout import Floats
from errai.tree.betting_tree import DECISION
from errai.tree.buckets import Buckets
from errai.tree.size import game_size

SHORT_3_1 = PokerRules(
    name="short [3-1] hold'em",
    deck=Deck("TJQKA", "chs"),
    num_hole_cards=2,
    num_board_cards=(0, 2, 1),
    blinds=(2, 1),
    raise_sizes=(2, 2, 4),
    max_raises=(1, 1, 1),
    first_player=(1, 0, 0),
)
BOARD_FIRST = PokerRules(
    name="board first",
    deck=Deck("JQKA", "hs"),
    num_hole_cards=1,
    num_board_cards=(1, 1),
    blinds=(1, 1),
    raise_sizes=(2, 4),
    max_raises=(1, 1),
    first_player=(0, 0),
)
GAMES = {
    "leduc": errai.load_game("leduc"),
    "rhode-island": errai.load_game("rhode-island"),
    "short": SHORT_3_1,
    "board first": BOARD_FIRST,
}
CUTS = [
    (name, CutPlace(r, dealt))
    for name, game in GAMES.items()
    for r in range(1, game.num_rounds)
    for dealt in (True, False)
]

Learnt = list[Floats]


@cache
def tree_of(name: str) -> PublicTree:
    return PublicTree.of(GAMES[name])


def walker(tree: PublicTree, cut: CutPlace | None, num_threads: int = 1) -> Traversal:
    return Traversal(tree.betting, tree.cells, np.float64, num_threads, cut=cut)


def learn(walk: Traversal, tree: PublicTree, iterations: int, rule: str = "cfr") -> Learnt:
    """Return regrets, averages and best response values after some iterations."""
    regrets, averages = tree.layout.zeros(np.float64), tree.layout.zeros(np.float64)
    walk.learn(tree.layout.tables(regrets, regrets, averages), RULES[rule].steps(1, 1 + iterations))
    played = tree.layout.tables(averages, averages, averages)
    values = [walk.walk_once(player, BEST, played, np.zeros(5)) for player in (0, 1)]
    return [*regrets, *averages, *values]


@pytest.fixture(autouse=True)
def uncut_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traversal, "MANY_CELLS", 10**12)


@cache
def uncut(name: str, iterations: int, rule: str) -> Learnt:
    return learn(walker(tree_of(name), None), tree_of(name), iterations, rule)


@pytest.mark.parametrize(("name", "cut"), CUTS, ids=str)
def test_every_cut_learns_the_same_bits(monkeypatch: pytest.MonkeyPatch, name: str, cut: CutPlace) -> None:
    """With one share of a board's children the sums are those of the uncut walk, in its order."""
    monkeypatch.setattr(traversal, "NUM_SHARES", 1)
    iterations = 1 if name == "rhode-island" else 4
    walk = walker(tree_of(name), cut)
    assert walk.cut == cut
    for mine, other in zip(
        learn(walk, tree_of(name), iterations, "cfr+"), uncut(name, iterations, "cfr+"), strict=True
    ):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("name", "cut_round"), [("leduc", 1), ("short", 1), ("short", 2), ("board first", 1)]
)
def test_shares_change_the_last_bits_alone(name: str, cut_round: int) -> None:
    """Children in several shares are summed in another order: the one difference to an uncut walk."""
    walk = walker(tree_of(name), CutPlace(cut_round, dealt=False))
    assert max(unit.share for unit in walk._units) > 0
    for mine, other in zip(learn(walk, tree_of(name), 1), uncut(name, 1, "cfr"), strict=True):
        assert mine == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize(("name", "cut"), [cut for cut in CUTS if cut[0] != "rhode-island"], ids=str)
def test_workers_and_order_change_no_bit(name: str, cut: CutPlace) -> None:
    """1, 2 and 7 workers, and sub-games in any order."""
    tree = tree_of(name)
    expected = learn(walker(tree, cut), tree, 3, "cfr+")
    for num_threads, seed in ((2, 0), (7, 1), (1, 2)):
        walk = walker(tree, cut, num_threads)
        shuffle_units(walk, random.Random(seed))
        for mine, other in zip(learn(walk, tree, 3, "cfr+"), expected, strict=True):
            assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("cut", [CutPlace(1, dealt=True), CutPlace(2, dealt=False)], ids=str)
def test_workers_change_no_bit_in_rhode_island(cut: CutPlace) -> None:
    tree = tree_of("rhode-island")
    expected = learn(walker(tree, cut), tree, 2, "cfr+")
    for num_threads in (2, 7):
        walk = walker(tree, cut, num_threads)
        shuffle_units(walk, random.Random(num_threads))
        for mine, other in zip(learn(walk, tree, 2, "cfr+"), expected, strict=True):
            assert mine.tobytes() == other.tobytes()


def shuffle_units(walk: Traversal, rng: random.Random) -> None:
    """Walk the sub-games one by one in a random order."""
    units = list(walk._units)
    together = walk._walk_part

    def apart(part: Any, *arguments: Any) -> None:
        for unit in part:
            together([unit], *arguments)

    walk._walk_part = apart  # type: ignore[method-assign, assignment]
    rng.shuffle(units)
    walk._units = units


def test_gains_of_buckets_do_not_depend_on_workers() -> None:
    """Sub-games that share buckets add to them in a fixed number of groups, in order."""
    tree = tree_of("short")
    rng = np.random.default_rng(3)
    maps = {r: rng.integers(0, 7, tree.cells.num_cells(0, r)).astype(np.int32) for r in (1, 2)}
    bucketed = tree.abstracted(Buckets.for_both(maps))
    results = []
    for num_threads in (1, 2, 7):
        for cut in (CutPlace(1, dealt=True), CutPlace(2, dealt=True)):
            walk = walker(bucketed, cut, num_threads)
            source = tuple(rng_table(size, 4) for size in bucketed.layout.num_slots)
            regrets, averages = bucketed.layout.zeros(np.float64), bucketed.layout.zeros(np.float64)
            tables = bucketed.layout.tables((source[0], source[1]), regrets, averages)
            for player in (0, 1):
                walk.walk_once(player, LEARN, tables, np.array([1.0, 1.0, 0.0, 1.0, 1.0]))
            results.append((cut, [*regrets, *averages]))
    for cut, found in results:
        same = next(other for place, other in results if place == cut)
        assert all(mine.tobytes() == other.tobytes() for mine, other in zip(found, same, strict=True))
        for mine, other in zip(found, results[0][1], strict=True):
            assert mine == pytest.approx(other, abs=1e-12)


def rng_table(size: int, seed: int) -> Floats:
    return np.random.default_rng(seed).random(size)


@pytest.mark.parametrize("name", ["leduc", "short", "board first"])
def test_modes_by_round(name: str) -> None:
    """A position that plays in the first round and best-responds afterwards wins what lies between."""
    tree = tree_of(name)
    tables = tuple(rng_table(size, 5) for size in tree.layout.num_slots)
    played = tree.layout.tables((tables[0], tables[1]), (tables[0], tables[1]), (tables[0], tables[1]))
    walk = walker(tree, None)
    by_round = np.full(tree.cells.num_rounds, BEST, dtype=np.uint8)
    by_round[0] = PLAY
    for player in (0, 1):
        plays, mixed, best = (
            walk.mean_value(player, walk.walk_once(player, mode, played, np.zeros(5)))
            for mode in (PLAY, by_round, BEST)
        )
        assert plays < mixed < best
        # The same by hand: the best response is kept, its first round replaced by what is played there.
        kept = keep_response(walk, tree, player, (tables[0], tables[1]))
        first_round = slice(0, int(tree.walk.num_slots[player, 0] * tree.layout.rows[player, 0]))
        if tree.cells.links.round_board[1] == 1:
            kept[first_round] = tables[player][first_round]
            both = (kept, tables[1]) if player == 0 else (tables[0], kept)
            values = walk.walk_once(player, PLAY, tree.layout.tables(both, both, both), np.zeros(5))
            assert walk.mean_value(player, values) == pytest.approx(mixed, abs=1e-12)


def keep_response(walk: Traversal, tree: PublicTree, player: int, tables: tuple[Floats, Floats]) -> Floats:
    kept = tree.layout.zeros(np.float64)
    walk.walk_once(player, KEEP, tree.layout.tables(tables, kept, kept), np.zeros(5))
    return kept[player]


@pytest.mark.parametrize("name", ["leduc", "short", "board first"])
def test_a_kept_best_response_wins_what_it_said(name: str) -> None:
    tree = tree_of(name)
    strategy = Strategy(
        tree, (rng_table(tree.layout.num_slots[0], 6), rng_table(tree.layout.num_slots[1], 7))
    )
    found = errai.best_response(strategy)
    assert found.values == errai.exploitability(strategy).best_response_values
    won = errai.expected_value(found.strategy, strategy)
    assert won.positions == pytest.approx(found.values, abs=1e-12)
    for table in found.strategy.tables:
        assert set(np.unique(table)) == {0.0, 1.0}


def test_ties_take_the_first_action() -> None:
    """After an action that the opponent never takes everything is worth nothing: the first action is kept."""
    tree = tree_of("leduc")
    found = errai.best_response(passive(GAMES["leduc"]))
    node = find_node(tree, "cr")  # position 1 never raises
    assert found.strategy.weights(0, node, 0).tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3]
    for player in (0, 1):
        for node in np.flatnonzero(
            (tree.betting.kind == DECISION) & (tree.betting.player == player)
        ).tolist():
            if tree.betting.round[node] == 0:
                assert (found.strategy.weights(player, node, 0).sum(axis=0) == 1).all()


def passive(game: PokerRules) -> Strategy:
    """Return the strategy that checks and calls."""
    return errai.strategy_from_function(
        game, lambda betting, hand, board, actions: [float(action == "c") for action in actions]
    )


def test_best_responses_to_buckets_see_everything() -> None:
    tree = tree_of("short")
    maps = {r: np.arange(tree.cells.num_cells(0, r), dtype=np.int32) % 3 for r in (0, 2)}
    bucketed = tree.abstracted(Buckets.for_both(maps))
    sizes = bucketed.layout.num_slots
    strategy = Strategy(bucketed, (rng_table(sizes[0], 10), rng_table(sizes[1], 11)))
    found = errai.best_response(strategy)
    assert found.values == errai.exploitability(strategy).best_response_values
    assert errai.expected_value(found.strategy, strategy).positions == pytest.approx(found.values, abs=1e-12)


@pytest.mark.parametrize("cut", [CutPlace(1, dealt=True), CutPlace(2, dealt=True), CutPlace(2, dealt=False)])
def test_reach_of_an_earlier_walk_is_forgotten(cut: CutPlace) -> None:
    """What one strategy reached below the cut must not count for the next, who never gets there."""
    tree = tree_of("short")
    sizes = tree.layout.num_slots
    everywhere = (rng_table(sizes[0], 12), rng_table(sizes[1], 13))
    tables = passive(SHORT_3_1).tables
    walk = walker(tree, cut)
    for player in (0, 1):
        walk.walk_once(player, BEST, tree.layout.tables(everywhere, everywhere, everywhere), np.zeros(5))
        mine = walk.walk_once(player, BEST, tree.layout.tables(tables, tables, tables), np.zeros(5))
        fresh = walker(tree, None)
        other = fresh.walk_once(player, BEST, tree.layout.tables(tables, tables, tables), np.zeros(5))
        assert mine == pytest.approx(other, abs=1e-12)


def test_an_engine_of_ones_own() -> None:
    """A solver knows an engine by its protocol alone."""
    calls: list[str] = []

    class Counting:
        """Tells who asks, and lets the CPU do the work."""

        def __init__(self, tree: PublicTree, dtype: Any, num_threads: Any) -> None:
            self._inner = tree.traversal(dtype, num_threads)

        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(self._inner, name)

    solver = Solver(tree_of("leduc"), RULES["cfr+"], engine=Counting)
    solver.run(50)
    usual = Solver(tree_of("leduc"), RULES["cfr+"])
    usual.run(50)
    assert "learn" in calls
    assert solver.measure().exploitability == usual.measure().exploitability


def test_the_slots_of_a_boards_subgames_are_contiguous() -> None:
    """Trunk first, then one run of slots for each board of the second round with all that follow it."""
    tree = tree_of("rhode-island")
    links, layout = tree.cells.links, tree.layout
    for player in (0, 1):
        sizes = layout.rows[player] * np.repeat(tree.walk.num_slots[player], np.diff(links.round_board))
        end = int(sizes[0])
        assert layout.begin[player, 0] == 0
        for board in range(*links.round_board[1:3].tolist()):
            below = [board, *range(int(links.child_begin[board]), int(links.child_end[board]))]
            begins = layout.begin[player, below]
            assert begins[0] == end
            assert (np.diff(begins) == sizes[below][:-1]).all()
            end += int(sizes[below].sum())
        assert end == layout.num_slots[player]
        for slot in (0, int(sizes[0]), end - 1):
            assert "board" in tree.describe_slot(player, slot)


def test_a_cut_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="the round of a cut must be 1 to 1, not 2"):
        walker(tree_of("leduc"), CutPlace(2, dealt=True))


def test_any_number_of_threads_may_measure_query_and_solve_at_once() -> None:
    """8 threads x 500 measurements of one game, with queries and solving between them."""
    game = GAMES["leduc"]
    rng = np.random.default_rng(8)
    sizes = tree_of("leduc").layout.num_slots
    strategies = [Strategy(tree_of("leduc"), (rng.random(sizes[0]), rng.random(sizes[1]))) for _ in range(8)]
    expected = [errai.exploitability(strategy) for strategy in strategies]
    solved = errai.solve(game, iterations=20).average.tables
    asked = [strategy.probabilities("crc/", "K", "Q") for strategy in strategies]

    def work(number: int) -> int:
        strategy, right = strategies[number], 0
        for i in range(500):
            right += errai.exploitability(strategy) == expected[number]
            if i % 100 == 0:
                assert strategy.probabilities("crc/", "K", "Q") == asked[number]
                again = errai.solve(game, iterations=20).average.tables
                assert all(np.array_equal(mine, other) for mine, other in zip(again, solved, strict=True))
        return right

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [500] * 8


def test_zero_reach_is_left_out_without_a_trace() -> None:
    """A strategy that never bets leaves most of the tree unreached, and nothing is lost by skipping it."""
    tree = tree_of("short")
    tables = passive(SHORT_3_1).tables
    played = tree.layout.tables(tables, tables, tables)
    walk = walker(tree, None)
    visited: list[npt.NDArray[np.uint8]] = []
    for player in (0, 1):
        values = walk.walk_once(player, BEST, played, np.zeros(5))
        visited.append(walk._buffers[0].live.copy())
        naive = walk.walk_once(player, BEST, nearly(tree, tables), np.zeros(5))
        assert values == pytest.approx(naive, abs=1e-9)
    last = slice(*tree.walk.plan.round_entry[-2:].tolist())
    assert 0 < visited[0][last].sum() < len(visited[0][last])


def nearly(tree: PublicTree, tables: tuple[Floats, Floats]) -> Any:
    """The same tables with a trace of every action, so that nothing is skipped."""
    traced = (tables[0] + 1e-13, tables[1] + 1e-13)
    return tree.layout.tables(traced, traced, traced)


def test_boards_of_the_first_round_are_all_walked() -> None:
    """A limit game of one round, 2 suits x 3 ranks, one hole card, one board card: by CFR+ and by LP."""
    game = replace(
        BOARD_FIRST,
        name="one round",
        deck=Deck("QKA", "hs"),
        num_board_cards=(1,),
        raise_sizes=(2,),
        max_raises=(2,),
        first_player=(0,),
    )
    run = errai.solve(game, iterations=2000)
    assert run.strategy.tree.num_slots == game_size(game).table_slots == 126
    exact = errai.solve(game, "lp")
    value = errai.expected_value(exact.strategy, exact.strategy).positions[0]
    assert errai.exploitability(exact.strategy).chips < 1e-9
    assert errai.expected_value(run.strategy, run.strategy).positions[0] == pytest.approx(value, abs=1e-3)
    assert errai.exploitability(run.strategy).chips < 1e-3


def test_boards_of_the_first_round_against_the_twin() -> None:
    """Values of a random profile, hand by hand, where each of two rounds deals a public card."""
    tree = tree_of("board first")
    hands: Vector = {(card,): 1.0 for card in BOARD_FIRST.deck.cards}
    rng = random.Random(9)
    texts: dict[tuple[int, str], list[float]] = {}

    def chances(betting: str, hand: str, board: str, actions: list[str]) -> list[float]:
        ranks = hand[0] + board[::2]
        weights = texts.setdefault((hash(ranks), betting), [rng.random() for _ in actions])
        return [weight / sum(weights) for weight in weights]

    strategy = errai.strategy_from_function(BOARD_FIRST, chances)
    naive = NaiveWalk(BOARD_FIRST, (hands, hands))

    def naive_chances(infoset: InfoSet, num_actions: int) -> list[float]:
        seen: Any = infoset[2]
        hand, board = (format_cards(cards) for cards in seen)
        return chances(infoset[1], hand, board, ["a"] * num_actions)

    naive.strategy = naive_chances  # type: ignore[method-assign]
    walk = walker(tree, None)
    played = tree.layout.tables(strategy.tables, strategy.tables, strategy.tables)
    for player in (0, 1):
        for mode, named in ((PLAY, "evaluate"), (BEST, "best")):
            mine = walk.mean_value(player, walk.walk_once(player, mode, played, np.zeros(5)))
            assert mine == pytest.approx(naive.mean_value(player, naive.values(player, named)), abs=1e-12)
