"""The traversal against recursion over real cards, against OpenSpiel, and on several threads."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel
import pytest
from naive.traversal import Hand, InfoSet, NaiveWalk, Table

import errai
from errai.cards.deck import Deck
from errai.engine._walk import AT_ONCE
from errai.engine.section import BEST, LEARN, PLAY
from errai.engine.traversal import Traversal
from errai.games.deals import Deals
from errai.games.rules import UNLIMITED_RAISES, PokerRules
from errai.tables.layout import TableLayout, lossless_layout
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import (
    ACTION_CALL,
    ACTION_FOLD,
    CHANCE,
    DECISION,
    BettingTree,
    build_betting_tree,
)
from errai.tree.cells import Cells, game_cells, spot_cells

MODES = {"evaluate": PLAY, "best": BEST, "learn": LEARN}
NO_STEP = np.zeros(5)

Step = tuple[float, float, float, float, float]
"""Positive factor, negative factor, floor, what is kept of the average, weight of the iteration."""

UPDATES: dict[str, Callable[[int], Step]] = {
    "cfr": lambda t: (1.0, 1.0, 0.0, 1.0, 1.0),
    "cfr+": lambda t: (1.0, 1.0, 1.0, 1.0, t),
    "dcfr": lambda t: (t / (t + 1), 0.5, 0.0, ((t - 1) / t) ** 2, 1.0),
}


def named(name: str) -> PokerRules:
    rules = errai.load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


RHODE_ISLAND = replace(
    named("rhode-island"), name="small-rhode-island", deck=Deck("JQK", "ch"), max_raises=(1, 1, 1)
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
FLOP_HOLDEM = replace(
    SHORT_HOLDEM, name="flop-holdem", deck=Deck("TJQK", "hs"), num_board_cards=(0, 3), max_raises=(0, 1)
)
NO_LIMIT = PokerRules(
    name="no-limit-leduc",
    deck=Deck("JQK", "hs"),
    num_hole_cards=1,
    num_board_cards=(0, 1),
    blinds=(1, 1),
    raise_sizes=None,
    max_raises=(UNLIMITED_RAISES,) * 2,
    first_player=(0, 1),
    stacks=(6, 6),
)
GAMES = {
    "kuhn": named("kuhn"),
    "leduc": named("leduc"),
    "rhode-island": RHODE_ISLAND,
    "short-holdem": SHORT_HOLDEM,
    "flop-holdem": FLOP_HOLDEM,
    "no-limit": NO_LIMIT,
}


def node_texts(tree: BettingTree, is_limit: bool) -> list[str]:
    """Return the betting string of every node."""
    texts = [""] * tree.num_nodes
    for node in range(tree.num_nodes):
        for child in tree.children(node):
            action = int(tree.action[child])
            name = {ACTION_FOLD: "f", ACTION_CALL: "c"}.get(action, "r" if is_limit else f"r{action}")
            texts[child] = texts[node] + ("/" if tree.kind[node] == CHANCE else name)
    return texts


@dataclass(eq=False)
class Pair:
    """The same game twice: the engine and its twin, with a way from each information set to its slots."""

    rules: PokerRules
    tree: BettingTree
    cells: Cells
    naive: NaiveWalk
    initial: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None
    by_class: bool = True

    def traversal(self, dtype: npt.DTypeLike = np.float64, num_threads: int = 1) -> Traversal:
        return Traversal(self.tree, self.cells, dtype, num_threads, self.initial)

    @cached_property
    def walk(self) -> Traversal:
        return self.traversal()

    @cached_property
    def layout(self) -> TableLayout:
        return lossless_layout(self.walk.walk, self.cells)

    @cached_property
    def deals(self) -> Deals:
        return Deals(self.rules)

    @cached_property
    def places(self) -> list[dict[Any, tuple[int, int]]]:
        """For each player (board, cell) by round and class of hand and board, or by the cards themselves."""
        found: list[dict[Any, tuple[int, int]]] = [{}, {}]
        for player, own in enumerate(self.cells.players):
            for r, boards in enumerate(self.cells.boards):
                first = int(self.cells.links.round_board[r])
                before = int(own.cell_begin[first])
                classes = (
                    self.deals.rows.index(self.cells.cards(player, r), self.deals.row_round(r))
                    if self.by_class
                    else None
                )
                for b, board in enumerate(boards.tolist()):
                    begin = int(own.cell_begin[first + b])
                    for cell in range(begin, int(own.cell_begin[first + b + 1])):
                        if classes is not None:
                            key: Any = (r, int(classes[cell - before]))
                        else:
                            hand = own.hand_card[own.hand_begin[cell]].tolist()
                            key = (r, tuple(hand), tuple(board))
                        found[player][key] = (first + b, cell - begin)
        return found

    def place(self, player: int, round_index: int, hand: Hand, board: Hand) -> tuple[int, int]:
        """Return board and cell of a hand."""
        if not self.by_class:
            return self.places[player][round_index, hand, board]
        cards = np.array([[*hand, *board]], dtype=np.uint8)
        number = int(self.deals.rows.index(cards, self.deals.row_round(round_index))[0])
        return self.places[player][round_index, number]

    @cached_property
    def slots(self) -> dict[InfoSet, npt.NDArray[np.int64]]:
        """The slots of every information set that a walk of the twin meets."""
        met: Table = {}
        learner = replace(self.naive, source={}, regrets=met, averages={})
        for player in (0, 1):
            learner.values(player, "learn")
        nodes = {
            (int(self.tree.player[node]), text): node
            for node, text in enumerate(node_texts(self.tree, self.rules.is_limit))
            if self.tree.kind[node] == DECISION
        }
        found: dict[InfoSet, npt.NDArray[np.int64]] = {}
        for player, betting, seen in met:
            assert isinstance(seen, tuple)
            node = nodes[player, betting]
            board, cell = self.place(player, betting.count("/"), *seen)
            rows = int(self.layout.rows[player, board])
            begin = int(self.layout.begin[player, board]) + int(self.walk.walk.slot[node]) * rows + cell
            found[player, betting, seen] = begin + rows * np.arange(int(self.tree.num_children[node]))
        return found

    def verify(self, tables: tuple[npt.NDArray[Any], npt.NDArray[Any]], expected: Table) -> None:
        """Compare tables with the twin's: every slot, for every hand and board that shares it."""
        touched = [np.zeros(len(table), dtype=bool) for table in tables]
        for infoset, slots in self.slots.items():
            assert tables[infoset[0]][slots] == pytest.approx(expected[infoset], abs=1e-10), infoset
            touched[infoset[0]][slots] = True
        assert all(every.all() for every in touched)

    def spread(self, tables: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> Table:
        """Return tables as the twin's dictionary."""
        return {infoset: tables[infoset[0]][slots].tolist() for infoset, slots in self.slots.items()}


def game_pair(rules: PokerRules) -> Pair:
    hands = [tuple(hand) for hand in rules.deck.hands(rules.num_hole_cards).tolist()]
    ones = dict.fromkeys(hands, 1.0)
    menu = None if rules.is_limit else BetMenu.parse("min,a")
    return Pair(rules, build_betting_tree(rules, menu), game_cells(rules), NaiveWalk(rules, (ones, ones)))


def spot_pair(seed: int) -> Pair:
    """Return a spot with few hands, uneven weights and one card to come."""
    rng = np.random.default_rng(seed)
    deck = Deck("9TJQ", "chs")
    rules = PokerRules(
        name="spot",
        deck=deck,
        num_hole_cards=2,
        num_board_cards=(0, 1),
        blinds=(3, 3),
        raise_sizes=(3, 5),
        max_raises=(1, 2),
        first_player=(0, 0),
    )
    board = np.sort(rng.choice(deck.cards, 4, replace=False)).astype(np.uint8)
    free = deck.hands(2)[~np.isin(deck.hands(2), board).any(axis=1)]
    picked = [free[np.sort(rng.choice(len(free), size, replace=False))] for size in (9, 14)]
    cells = spot_cells(rules, board, (picked[0], picked[1]))
    weights, initial = [], []
    for player, hands in enumerate(picked):
        chances = (rng.random(len(hands)) + 0.1).tolist()
        weights.append({tuple(hand): x for hand, x in zip(hands.tolist(), chances, strict=True)})
        own = cells.players[player]
        order = [tuple(own.hand_card[own.hand_begin[cell]].tolist()) for cell in range(len(hands))]
        initial.append(np.array([weights[player][hand] for hand in order]))
    naive = NaiveWalk(rules, (weights[0], weights[1]), board=tuple(board.tolist()))
    return Pair(rules, build_betting_tree(rules), cells, naive, (initial[0], initial[1]), by_class=False)


def random_tables(layout: TableLayout, rng: np.random.Generator) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return tables with positive, zero and negative entries; some information sets have no positive one."""
    drawn = [rng.normal(size=size) * (rng.random(size) < 0.8) for size in layout.num_slots]
    return drawn[0], drawn[1]


PAIRS: dict[str, Callable[[], Pair]] = {
    **{name: partial(game_pair, rules) for name, rules in GAMES.items()},
    "spot": partial(spot_pair, 0),
    "other-spot": partial(spot_pair, 1),
}


@pytest.fixture(scope="module", params=list(PAIRS))
def pair(request: pytest.FixtureRequest) -> Pair:
    return PAIRS[request.param]()


@pytest.mark.parametrize("mode", ["evaluate", "best"])
def test_values_of_random_strategies(pair: Pair, mode: str) -> None:
    tables = random_tables(pair.layout, np.random.default_rng(7))
    naive = replace(pair.naive, source=pair.spread(tables))
    bound = pair.layout.tables(tables, tables, tables)
    means = []
    for player in (0, 1):
        values = pair.walk.walk_once(player, MODES[mode], bound, NO_STEP)
        expected = naive.values(player, mode)
        for hand in pair.naive.weights[player]:
            _, cell = pair.place(player, 0, hand, pair.naive.board)
            assert values[cell] == pytest.approx(expected[hand], abs=1e-10)
        means.append(pair.walk.mean_value(player, values))
        assert means[-1] == pytest.approx(naive.mean_value(player, expected), abs=1e-10)
    assert pair.walk.mean_values(MODES[mode], bound) == tuple(means)
    if mode == "evaluate":
        assert sum(means) == pytest.approx(0, abs=1e-10)
    else:
        assert sum(means) > 0.01


@pytest.mark.parametrize("rule", list(UPDATES))
def test_iterations(pair: Pair, rule: str) -> None:
    iterations = 2 if pair.rules.deck.size > 6 else 3
    steps = np.array([[UPDATES[rule](t)] * 2 for t in range(1, iterations + 1)])
    # From zero some regrets would be exactly zero, but for rounding, which is enough to play one action or
    # all alike. So both start from the same random regrets; positive ones where negative ones become zero.
    rng = np.random.default_rng(12)
    drawn = [rng.normal(size=size) for size in pair.layout.num_slots]
    start = [np.abs(numbers) if rule == "cfr+" else numbers for numbers in drawn]
    regrets, averages = (start[0], start[1]), pair.layout.zeros(np.float64)
    table = pair.spread(regrets)
    pair.walk.learn(pair.layout.tables(regrets, regrets, averages), steps)
    naive = replace(pair.naive, source=table, regrets=table, averages={})
    for step in steps.tolist():
        for player in (0, 1):
            naive.values(player, "learn", step[player])
    pair.verify(regrets, naive.regrets)
    pair.verify(averages, naive.averages)


def test_what_is_played_may_lie_apart_from_what_is_learnt() -> None:
    pair = game_pair(GAMES["leduc"])
    tables = random_tables(pair.layout, np.random.default_rng(8))
    regrets, averages = pair.layout.zeros(np.float64), pair.layout.zeros(np.float64)
    naive = replace(pair.naive, source=pair.spread(tables), regrets={}, averages={})
    step = UPDATES["cfr+"](3)
    for player in (0, 1):
        pair.walk.walk_once(player, LEARN, pair.layout.tables(tables, regrets, averages), np.array(step))
        naive.values(player, "learn", step)
    pair.verify(regrets, naive.regrets)
    pair.verify(averages, naive.averages)


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("name", ["leduc", "flop-holdem"])
def test_buckets_gather_hands_as_often_as_they_are_dealt(name: str, num_threads: int) -> None:
    pair = game_pair(GAMES[name])
    rng = np.random.default_rng(9)
    num_buckets = 3
    cells, walk = pair.cells, pair.traversal(num_threads=num_threads)
    bucket = rng.integers(0, num_buckets, int(cells.players[0].cell_begin[-1])).astype(np.int32)
    begin = np.zeros_like(pair.layout.begin)
    for q in (0, 1):
        begin[q] = np.repeat([0, walk.walk.num_slots[q, 0] * num_buckets], np.diff(cells.links.round_board))
    num_slots = (walk.walk.num_slots.sum(axis=1) * num_buckets).tolist()
    layout = TableLayout(
        begin=begin,
        rows=np.full_like(begin, num_buckets),
        stride=np.repeat(walk.walk.num_slots, np.diff(cells.links.round_board), axis=1),
        bucket=(bucket, bucket),
        bucketed=np.ones((2, cells.num_rounds), dtype=bool),
        num_slots=(num_slots[0], num_slots[1]),
        shard_begin=(np.array([0, num_slots[0]]), np.array([0, num_slots[1]])),
    )

    def see(player: int, round_index: int, hand: Hand, board: Hand) -> int:
        b, cell = pair.place(player, round_index, hand, board)
        return int(bucket[cells.players[player].cell_begin[b] + cell])

    slots: dict[InfoSet, npt.NDArray[np.int64]] = {}
    texts = node_texts(pair.tree, True)
    for node in np.flatnonzero(pair.tree.kind == DECISION).tolist():
        q, r = int(pair.tree.player[node]), int(pair.tree.round[node])
        first = int(begin[q, cells.links.round_board[r]]) + int(walk.walk.slot[node])
        for row in range(num_buckets):
            actions = np.arange(int(pair.tree.num_children[node]))
            slots[q, texts[node], row] = first + row * int(walk.walk.num_slots[q, r]) + actions
    source = random_tables(layout, rng)
    played = {infoset: source[infoset[0]][places].tolist() for infoset, places in slots.items()}
    naive = replace(pair.naive, source=played, regrets={}, averages={}, see=see, merges=True)
    regrets, averages = layout.zeros(np.float64), layout.zeros(np.float64)
    tables = layout.tables(source, regrets, averages)
    step = (1.0, 1.0, 0.0, 1.0, 2.0)
    for player in (0, 1):
        expected = naive.values(player, "learn", step)
        values = walk.walk_once(player, LEARN, tables, np.array(step))
        assert walk.mean_value(player, values) == pytest.approx(naive.mean_value(player, expected), abs=1e-10)
    for infoset, places in slots.items():
        for ours, theirs in ((regrets, naive.regrets), (averages, naive.averages)):
            row_of_theirs = theirs.get(infoset, [0.0] * len(places))
            assert ours[infoset[0]][places] == pytest.approx(row_of_theirs, abs=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["leduc", "rhode-island", "short-holdem"])
def test_threads_change_no_bit(name: str, dtype: type[np.floating]) -> None:
    pair = game_pair(GAMES[name])
    steps = np.array([[UPDATES["cfr+"](t)] * 2 for t in range(1, 6)])
    results = []
    for num_threads in (1, 2, 3, 7):
        walk = pair.traversal(dtype, num_threads)
        regrets, averages = pair.layout.zeros(dtype), pair.layout.zeros(dtype)
        walk.learn(pair.layout.tables(regrets, regrets, averages), steps)
        played = pair.layout.tables(averages, regrets, averages)
        values = [walk.walk_once(player, BEST, played, NO_STEP) for player in (0, 1)]
        results.append([*regrets, *averages, *values])
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            assert ours.tobytes() == theirs.tobytes()


def test_entries_walked_together_or_apart_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = game_pair(RHODE_ISLAND)
    tables = random_tables(pair.layout, np.random.default_rng(10))
    found = []
    for most_bytes in (1, 3_000, 1 << 20):
        monkeypatch.setattr("errai.engine.workspace.MAX_BLOCK_BYTES", most_bytes)
        walk = pair.traversal()
        regrets, averages = pair.layout.zeros(np.float64), pair.layout.zeros(np.float64)
        bound = pair.layout.tables(tables, regrets, averages)
        values = walk.walk_once(0, LEARN, bound, np.array(UPDATES["cfr"](1)))
        found.append((int(walk._buffers[-1].frame[:, AT_ONCE].max()), values, regrets[0], averages[0]))
    assert found[0][0] < found[1][0] < found[2][0]
    for ours in found[1:]:
        for mine, first in zip(ours[1:], found[0][1:], strict=True):
            assert mine == pytest.approx(first, abs=1e-12)


def test_what_is_no_number_stays_where_it_can_be_seen() -> None:
    pair = game_pair(GAMES["leduc"])
    regrets, averages = pair.layout.zeros(np.float64), pair.layout.zeros(np.float64)
    regrets[0][5] = np.nan
    pair.walk.learn(pair.layout.tables(regrets, regrets, averages), np.array([[UPDATES["cfr+"](1)] * 2]))
    assert np.isnan(regrets[0][5])


# OpenSpiel


def openspiel_infosets(game: Any) -> dict[str, Any]:
    """Return one state of each information set of OpenSpiel's by its name."""
    found = {}
    stack = [game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            found[state.information_state_string()] = state
        stack += [state.child(action) for action in state.legal_actions()]
    return found


def kuhn_place(state: Any) -> tuple[Hand, Hand, str]:
    """Return hand, board and betting of who acts; in theirs, 1 puts a chip in and 0 does not."""
    deals, actions = state.history()[:2], state.history()[2:]
    text, facing = "", False
    for action in actions:
        text += ("c" if facing else "r") if action else ("f" if facing else "c")
        facing = facing or bool(action)
    return (GAMES["kuhn"].deck.cards[deals[state.current_player()]],), (), text


def leduc_place(state: Any) -> tuple[Hand, Hand, str]:
    """Return hand, board and betting of who acts; their cards are numbered as ours are sorted."""
    cards = GAMES["leduc"].deck.cards
    again = state.get_game().new_initial_state()
    text = ""
    board: Hand = ()
    for action in state.history():
        if not again.is_chance_node():
            text += "fcr"[action]
        elif len(again.history()) >= 2:
            board, text = (cards[action],), text + "/"
        again.apply_action(action)
    return (cards[state.history()[state.current_player()]],), board, text


@pytest.mark.parametrize(("name", "place"), [("kuhn", kuhn_place), ("leduc", leduc_place)])
def test_exploitability_of_random_strategies_equals_openspiels(
    name: str, place: Callable[[Any], tuple[Hand, Hand, str]]
) -> None:
    pair = game_pair(GAMES[name])
    game = pyspiel.load_game(f"{name}_poker")
    slots = {}
    for text, state in openspiel_infosets(game).items():
        hand, board, betting = place(state)
        places = pair.slots[state.current_player(), betting, (hand, board)]
        assert len(places) == len(state.legal_actions())  # both in the order fold, call, raise
        slots[text] = (state.current_player(), state.legal_actions(), places)
    rng = np.random.default_rng(11)
    for _ in range(50):
        drawn = [rng.random(size) * (rng.random(size) < 0.7) for size in pair.layout.num_slots]
        tables = (drawn[0], drawn[1])
        policy = {}
        for text, (player, actions, places) in slots.items():
            chances = tables[player][places]
            chances = chances / chances.sum() if chances.sum() > 0 else np.full(len(places), 1 / len(places))
            policy[text] = list(zip(actions, chances.tolist(), strict=True))
        theirs = pyspiel.exploitability(game, pyspiel.TabularPolicy(policy))
        bound = pair.layout.tables(tables, tables, tables)
        best = [
            pair.walk.mean_value(player, pair.walk.walk_once(player, BEST, bound, NO_STEP))
            for player in (0, 1)
        ]
        assert sum(best) / 2 == pytest.approx(theirs, abs=1e-9)
