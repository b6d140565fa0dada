"""Sampled boards: the walk of a path against all paths, and what is sampled against its twin."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from naive.paths import naive_hands, naive_paths, naive_sample

import errai
from errai.cards.deck import Deck
from errai.engine.paths import ALL_HANDS, OPPONENT_HAND, OWN_HAND, GamePaths, Path, PathWalker
from errai.engine.public_tree import PublicTree
from errai.engine.section import LEARN
from errai.games.payoffs import Payoffs
from errai.games.rules import PokerRules
from errai.tables.layout import Floats, Tables
from errai.tree.buckets import Buckets

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
"""Without the JIT, random numbers warn where 64 bits wrap."""

KINDS = {"pcs": ALL_HANDS, "opcs": OPPONENT_HAND, "spcs": OWN_HAND}
GAINING = np.array([1.0, 1.0, 0.0, 1.0, 3.0])
"""Gains alone; a strategy counts three times."""


def named(name: str) -> PokerRules:
    rules = errai.load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


SMALL_RHODE_ISLAND = replace(
    named("rhode-island"), name="small-rhode-island", deck=Deck("QK", "cds"), max_raises=(1, 1, 1)
)
SHORT_HOLDEM = PokerRules(
    name="short-holdem",
    deck=Deck("JQK", "cds"),
    num_hole_cards=2,
    num_board_cards=(0, 1),
    blinds=(2, 1),
    raise_sizes=(2, 4),
    max_raises=(1, 1),
    first_player=(1, 0),
)
BOARD_FIRST = replace(SHORT_HOLDEM, name="board-first", num_board_cards=(1, 1), deck=Deck("QK", "cds"))
GAMES = {
    "kuhn": named("kuhn"),
    "leduc": named("leduc"),
    "rhode-island": SMALL_RHODE_ISLAND,
    "short-holdem": SHORT_HOLDEM,
    "board-first": BOARD_FIRST,
}


@cache
def tree_of(name: str, rounds: tuple[int, ...] = (), payoffs: str = "plain") -> PublicTree:
    """Return a game in whose given rounds three buckets are dealt at random to the cells of each player."""
    tree = PublicTree.of(GAMES[name]).under(Payoffs.parse(payoffs) if payoffs != "plain" else None)
    if not rounds:
        return tree
    rng = np.random.default_rng(5)
    maps = [{r: rng.integers(0, 3, tree.cells.num_cells(q, r)) for r in rounds} for q in (0, 1)]
    return tree.abstracted(Buckets((maps[0], maps[1]), sizes=(dict.fromkeys(rounds, 3),) * 2))


def random_tables(tree: PublicTree, seed: int = 3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    first, second = (rng.normal(size=size) for size in tree.layout.num_slots)
    return first, second


def gain_on(walker: PathWalker, player: int, path: Path, source: tuple[Floats, Floats]) -> list[Floats]:
    """Return regrets, averages and root values that one walk of a path gains."""
    regrets, averages = ([np.zeros_like(table) for table in source] for _ in range(2))
    both = walker.bind((regrets[0], regrets[1]), (averages[0], averages[1]))
    tables = (both[0]._replace(source=source), both[1]._replace(source=source))
    values = walker.walk_path(player, path, tables, GAINING)
    assert not regrets[1 - player].any()
    return [regrets[player], averages[player], values]


def full_gain(tree: PublicTree, player: int, source: tuple[Floats, Floats]) -> list[Floats]:
    regrets, averages = tree.layout.zeros(np.float64), tree.layout.zeros(np.float64)
    tables: Tables = tree.layout.tables(source, regrets, averages)
    values = tree.traversal(np.float64, 1).walk_once(player, LEARN, tables, GAINING)
    return [regrets[player], averages[player], values]


def slots_of_row(tree: PublicTree, player: int, r: int, board: int, cell: int | None) -> list[int]:
    """Return the slots that belong to a board, or to one of its cells, alone."""
    layout, num_slots = tree.layout, int(tree.walk.num_slots[player, r])
    rows = int(layout.rows[player, board])
    begin = int(layout.begin[player, board])
    cells = range(rows) if cell is None else [cell]
    return [begin + slot * rows + c for slot in range(num_slots) for c in cells]


CASES = [
    ("kuhn", ()),
    ("leduc", ()),
    ("leduc", (0,)),
    ("leduc", (1,)),
    ("leduc", (0, 1)),
    ("short-holdem", ()),
    ("short-holdem", (1,)),
    ("rhode-island", ()),
    ("rhode-island", (1, 2)),
    ("board-first", ()),
    ("board-first", (0, 1)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "rounds"), CASES)
@pytest.mark.parametrize("player", [0, 1])
def test_gains_are_those_of_the_full_walk_on_average(
    name: str, rounds: tuple[int, ...], player: int, kind: str
) -> None:
    verify_unbiased(tree_of(name, rounds), player, KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_payoffs_that_are_not_zero_sum(kind: str) -> None:
    verify_unbiased(tree_of("leduc", (1,), "rake 10% cap 1"), 0, KINDS[kind])


def verify_unbiased(tree: PublicTree, player: int, sampled: int) -> None:
    source, num_rounds = random_tables(tree), tree.cells.num_rounds
    paths = GamePaths(tree.plan(np.float64), tree.layout, sampled, weights=tree.weights)
    walker = paths.walkers[0]
    holder = player if sampled == OWN_HAND else 1 - player
    sums = [np.zeros_like(part) for part in full_gain(tree, player, source)]
    visited = np.zeros(len(sums[0]))
    total = 0.0
    for boards, chance in naive_paths(tree.cells.links, num_rounds):
        hands = [([0] * num_rounds, [1.0] * num_rounds, 1.0)]
        if sampled != ALL_HANDS:
            hands = list(naive_hands(tree.cells, holder, boards))
        for held, chances, of_hand in hands:
            total += chance * of_hand
            path = Path(np.array(boards), np.array(held), np.array(chances))
            for part, gained in zip(sums, gain_on(walker, player, path, source), strict=True):
                part += chance * of_hand * gained
            for r, board in enumerate(boards):
                if tree.layout.bucketed[player, r] or (sampled == OWN_HAND and held[r] < 0):
                    continue
                cell = held[r] if sampled == OWN_HAND else None
                visited[slots_of_row(tree, player, r, board, cell)] += chance * of_hand
    assert total == pytest.approx(1, abs=1e-12)
    for r, (first, _) in enumerate(pairwise(tree.cells.links.round_board.tolist())):
        if tree.layout.bucketed[player, r]:
            begin = int(tree.layout.begin[player, first])
            size = int(tree.walk.num_slots[player, r] * tree.layout.rows[player, first])
            visited[begin : begin + size] = 1  # the whole weight of what is rarely visited
    assert (visited > 0).all()
    expected = full_gain(tree, player, source)
    np.testing.assert_allclose(sums[0], expected[0] * visited, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sums[1], expected[1] * visited, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sums[2], expected[2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("own_boards", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["leduc", "short-holdem", "rhode-island", "board-first"])
def test_samples_are_those_of_the_twin(name: str, kind: str, own_boards: bool) -> None:
    tree = tree_of(name)
    paths = GamePaths(tree.plan(np.float64), tree.layout, KINDS[kind], own_boards=own_boards)
    walker = paths.walkers[0]
    for iteration in range(1, 30):
        for player in (0, 1):
            holder = player if kind == "spcs" else 1 - player
            boards, held = naive_sample(tree.cells, 7, iteration, player, holder, own_boards)
            path = walker.sample(7, iteration, player)
            assert path.boards.tolist() == boards
            if kind != "pcs":
                assert path.held.tolist() == held
                chances = [of for cells, of, _ in naive_hands(tree.cells, holder, boards) if cells == held]
                np.testing.assert_allclose(path.chance, chances[0], rtol=1e-15)
