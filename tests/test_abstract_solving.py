"""Solving with abstractions: buckets of every cell, exact measurement, runs, both kinds of opponent."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from naive import WITHOUT_JIT
from naive.abstraction_solving import naive_deals, naive_leduc_bucket, naive_unabstracted

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.cards.deck import Deck
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.experiments.abstracted_holdem import FirstRounds, abstraction_curves
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.response.exploitability import expected_value, exploitability
from errai.runs.abstracted import solve_abstracted_against_full
from errai.runs.find_abstraction import find_abstractions
from errai.solvers.solve import Solver
from errai.solvers.table_solver import Measurement
from errai.solvers.update_rules import RULES
from errai.strategy.strategy import Strategy, find_node
from errai.strategy.table import strategy_tables
from errai.tables.layout import bucketed_layout
from errai.tree.buckets import Buckets, game_buckets

LEDUC = errai.load_game("leduc")
RHODE_ISLAND = errai.load_game("rhode-island")
LEDUC_VALUE = -0.085606424078
"""Of Leduc hold'em's equilibrium, in antes for the first player; OpenSpiel's programme has the same."""

TINY_HOLDEM = PokerRules(
    name="tiny-holdem",
    deck=Deck.top(3, 3),
    num_hole_cards=2,
    num_board_cards=(0, 3),
    blinds=(2, 1),
    raise_sizes=(2, 4),
    max_raises=(1, 1),
    first_player=(1, 0),
)


@dataclass(frozen=True)
class RandomAbstraction:
    """Every canonical hand in a random bucket.

    Attributes:
        game: any.
        num: buckets of each round.
        seed: of the buckets; the players' are drawn apart.
    """

    game: PokerRules
    num: int
    seed: int = 0
    name: str = "random"
    num_players_described: int = 2

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        return self.num

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int32]:
        deals = Deals(self.game)
        rng = np.random.default_rng([self.seed, round_index, player])
        table = rng.integers(0, self.num, deals.num_rows(round_index)).astype(np.int32)
        return np.asarray(table[deals.rows.index(cards, deals.row_round(round_index))])


def all_tables(solver: Solver) -> list[npt.NDArray[Any]]:
    return [*solver.regrets, *solver.averages]


def random_strategy(tree: PublicTree, seed: int) -> Strategy:
    rng = np.random.default_rng(seed)
    first, second = (rng.normal(size=size) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


# Names


@pytest.mark.parametrize("name", ["[JQK]", "[JQ.K]", "[J.QK]", "[J.Q.K]", "JQ.K"])
def test_leducs_abstractions_are_what_their_names_say(name: str) -> None:
    abstraction = leduc_abstraction(name)
    for r in (0, 1):
        seen: dict[tuple[int, bool], set[int]] = {}
        for hand, board in naive_deals(LEDUC, r):
            seen.setdefault(naive_leduc_bucket(name, hand, board), set()).add(abstraction.bucket(hand, board))
        numbers = [bucket for found in seen.values() for bucket in found]
        assert sorted(numbers) == list(range(abstraction.num_buckets(r)))
    assert abstraction.name.strip("[]") == name.strip("[]")


def test_full_tells_every_hand_apart() -> None:
    full = leduc_abstraction("full")
    assert [full.num_buckets(r) for r in (0, 1)] == [3, 9]
    assert len({full.bucket(hand, board) for hand, board in naive_deals(LEDUC, 1)}) == 9
    assert PublicTree.of(LEDUC).abstracted_by(full).num_slots == PublicTree.of(LEDUC).num_slots


@pytest.mark.parametrize("name", ["", "JQ", "J.Q.K.A", "JQ..K", "JJ.QK", "[QK]"])
def test_names_that_mean_nothing(name: str) -> None:
    with pytest.raises(UsageError, match=r"unknown abstraction of Leduc hold'em .*: expected .* or 'full'"):
        leduc_abstraction(name)


def test_cards_and_rounds_that_leduc_does_not_have() -> None:
    abstraction = leduc_abstraction("JQ.K")
    with pytest.raises(UsageError, match=r"round 2 .*'leduc'"):
        abstraction.num_buckets(2)
    with pytest.raises(
        UsageError, match=r"expected 2 cards in each row in round 2 of leduc, not .* \(1, 3\)"
    ):
        abstraction.buckets(np.zeros((1, 3), dtype=np.uint8), 1)
    with pytest.raises(UsageError, match="a board of 2 cards does not belong to a round of 'leduc'"):
        abstraction.bucket("J", "QK")


# Buckets of cells


@pytest.mark.parametrize("game", [LEDUC, TINY_HOLDEM], ids=lambda game: game.name)
def test_every_cell_has_the_bucket_of_each_of_its_hands(game: PokerRules) -> None:
    abstraction = RandomAbstraction(game, 4)
    tree = PublicTree.of(game).abstracted_by(abstraction)
    strategy = random_strategy(tree, 1)
    layout = tree.layout
    assert layout.bucketed[:, 1].all()
    first_node = find_node(tree, "cc/")
    player = int(tree.betting.player[first_node])
    deals = naive_deals(game, 1)
    for i in np.random.default_rng(3).choice(len(deals), 30, replace=False):
        hand, board = deals[i]
        cards = np.array([game.deck.parse(hand + board)], dtype=np.uint8)
        row = int(abstraction.buckets(cards, 1, player)[0])
        # The round's first decision has the first two of a bucket's slots.
        first = int(tree.cells.links.round_board[1])
        places = int(layout.begin[player, first]) + row * int(layout.stride[player, first]) + np.arange(2)
        played = np.maximum(strategy.tables[player][places], 0)
        expected = played / played.sum() if played.sum() > 0 else np.full(2, 0.5)
        found = list(strategy.probabilities("cc/", hand, board).values())
        assert found == pytest.approx(expected.tolist(), abs=1e-12)


def test_a_round_that_loses_nothing_stays_as_it_is() -> None:
    tree = PublicTree.of(LEDUC)
    buckets = game_buckets(tree.cells, LEDUC, (leduc_abstraction("J.Q.K"), leduc_abstraction("full")))
    assert list(buckets.maps[0]) == [1]
    assert list(buckets.maps[1]) == []
    assert buckets.name == "[J.Q.K]/full"
    layout = bucketed_layout(tree.walk, tree.cells, buckets)
    assert layout.bucketed.tolist() == [[False, True], [False, False]]
    assert layout.num_slots[1] == tree.layout.num_slots[1]


def test_an_abstraction_of_other_cards_is_refused() -> None:
    tree = PublicTree.of(RHODE_ISLAND)
    with pytest.raises(UsageError, match=r"'\[JQ.K\]' was made for 'leduc', whose cards are not those"):
        tree.abstracted_by(leduc_abstraction("JQ.K"))


def test_buckets_beyond_their_number_are_refused() -> None:
    @dataclass(frozen=True)
    class Wrong(RandomAbstraction):
        def num_buckets(self, round_index: int, player: int = 0) -> int:
            return 2

    with pytest.raises(UsageError, match=r"'random' gives buckets 0 to 3 in round .: they must be 0 to 1"):
        PublicTree.of(LEDUC).abstracted_by(Wrong(LEDUC, 4, seed=2))
    with pytest.raises(UsageError, match="expected one abstraction, or one for each of 2 positions, not 3"):
        PublicTree.of(LEDUC).abstracted_by((None, None, None))  # type: ignore[arg-type]


# Measuring


@pytest.mark.parametrize("game", [LEDUC, TINY_HOLDEM], ids=lambda game: game.name)
def test_an_abstract_strategy_is_worth_what_it_is_worth_hand_by_hand(game: PokerRules) -> None:
    tree = PublicTree.of(game).abstracted_by((RandomAbstraction(game, 3), None))
    strategy, other = random_strategy(tree, 1), random_strategy(PublicTree.of(game), 2)
    plain, naive = strategy.unabstracted(), naive_unabstracted(strategy)
    assert plain.tree.buckets is None
    measured = exploitability(strategy).best_response_values
    assert measured == pytest.approx(exploitability(plain).best_response_values, abs=1e-10)
    assert measured == pytest.approx(exploitability(naive).best_response_values, abs=1e-10)
    for first, second, expected in (
        (strategy, other, expected_value(naive, other)),
        (other, strategy, expected_value(other, naive)),
        (strategy, plain, expected_value(naive, naive)),
    ):
        assert expected_value(first, second).positions == pytest.approx(expected.positions, abs=1e-10)
    assert other.unabstracted() is other


def test_two_abstractions_meet_in_one_game() -> None:
    tree = PublicTree.of(LEDUC)
    first = random_strategy(tree.abstracted_by(leduc_abstraction("JQ.K")), 1)
    second = random_strategy(tree.abstracted_by(leduc_abstraction("J.QK")), 2)
    apart = expected_value(first.unabstracted(), second.unabstracted())
    assert expected_value(first, second).positions == pytest.approx(apart.positions, abs=1e-12)


@pytest.mark.skipif(WITHOUT_JIT, reason="too large for plain Python")
@pytest.mark.parametrize("num_threads", [1, 2, 3])
def test_rhode_island_in_random_buckets(num_threads: int) -> None:
    """Solved for a few iterations on any number of threads with the same bits; measured both ways."""
    tree = PublicTree.of(RHODE_ISLAND).abstracted_by(
        RandomAbstraction(RHODE_ISLAND, 40, num_players_described=2)
    )
    solver = Solver(tree, RULES["cfr+"], np.float64, num_threads)
    solver.run(3)
    alone = Solver(tree, RULES["cfr+"], np.float64, 1)
    alone.run(3)
    for table, expected in zip(all_tables(solver), all_tables(alone), strict=True):
        assert table.tobytes() == expected.tobytes()
    strategy = Strategy(tree, solver.averages)
    measured = exploitability(strategy).best_response_values
    assert measured == pytest.approx(exploitability(strategy.unabstracted()).best_response_values, abs=1e-9)


@pytest.mark.parametrize("name", ["leduc", "tiny-holdem"])
def test_shares_of_the_boards_add_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large games learn in shares of their boards; here every game does."""
    game = LEDUC if name == "leduc" else TINY_HOLDEM
    tree = PublicTree.of(game).abstracted_by(RandomAbstraction(game, 3))
    straight = Solver(tree, RULES["cfr"], np.float64, 1)
    straight.run(5)
    monkeypatch.setattr("errai.engine.traversal.MANY_CELLS", 0)
    found = []
    for num_threads in (1, 2, 3):
        shared = Solver(tree, RULES["cfr"], np.float64, num_threads)
        shared.run(5)
        found.append(shared)
        for table, expected in zip(all_tables(shared), all_tables(straight), strict=True):
            assert table == pytest.approx(expected, abs=1e-9)
    for other in found[1:]:
        for table, expected in zip(all_tables(other), all_tables(found[0]), strict=True):
            assert table.tobytes() == expected.tobytes()


# Solving


def test_full_on_both_sides_is_the_game_itself() -> None:
    full = leduc_abstraction("full")
    run = errai.solve(LEDUC, "lp", abstraction=(full, full))
    assert expected_value(run.strategy, run.strategy).positions[0] == pytest.approx(LEDUC_VALUE, abs=1e-9)
    assert exploitability(run.strategy).chips == pytest.approx(0, abs=1e-9)
    learnt = errai.solve(LEDUC, "cfr+", 50, abstraction=(full, None))
    plain = errai.solve(LEDUC, "cfr+", 50)
    for table, expected in zip(learnt.strategy.tables, plain.strategy.tables, strict=True):
        assert table.tobytes() == expected.tobytes()


@pytest.mark.skipif(WITHOUT_JIT, reason="many iterations")
@pytest.mark.parametrize("pair", [("JQ.K", "JQ.K"), ("J.Q.K", "JQK"), ("full", "J.QK")])
def test_the_abstract_game_has_one_value(pair: tuple[str, str]) -> None:
    """The linear programme and CFR+ agree on what the abstract game is worth, players in turn or at once."""
    seen = (leduc_abstraction(pair[0]), leduc_abstraction(pair[1]))
    exact = errai.solve(LEDUC, "lp", abstraction=seen).strategy
    value = expected_value(exact, exact).positions[0]
    for algorithm, alternating, near in (("cfr+", True, 1e-3), ("dcfr", True, 1e-3), ("cfr", False, 0.02)):
        learnt = errai.solve(LEDUC, algorithm, 1000, abstraction=seen, alternating=alternating).strategy
        assert expected_value(learnt, learnt).positions[0] == pytest.approx(value, abs=near)
        # An equilibrium's half gets the value at least; who learns still comes near it.
        assert expected_value(exact, learnt).positions[0] >= value - 1e-9
        assert expected_value(learnt, exact).positions[0] >= value - near


PUBLISHED = {
    "JQ.K-J.QK": -119.46, "J.QK-full": -115.63, "J.QK-J.Q.K": -96.66, "JQ.K-J.Q.K": -96.48,
    "JQ.K-full": -99.30, "JQ.K-JQK": -80.14, "JQ.K-JQ.K": -59.97, "J.Q.K-J.QK": -60.28,
    "J.Q.K-J.Q.K": -46.23, "J.Q.K-JQ.K": -44.61, "full-JQK": -43.80, "J.QK-J.QK": -96.60,
    "J.QK-JQK": -95.69, "full-J.QK": -52.94, "J.QK-JQ.K": -77.86, "J.Q.K-full": -68.10,
    "full-JQ.K": -55.52, "full-J.Q.K": -51.14, "JQK-J.QK": -282.94, "JQK-full": -273.87,
    "JQK-J.Q.K": -258.29, "J.Q.K-JQK": -156.35, "JQK-JQK": -386.89, "JQK-JQ.K": -274.69,
}  # fmt: skip
"""Ganzfried, Sandholm and Waugh 2012, table 2, base EV in mb/h: own abstraction, then the opponent's."""


@pytest.mark.slow
@pytest.mark.skipif(WITHOUT_JIT, reason="many linear programmes")
def test_abstract_equilibria_against_an_equilibrium_as_published() -> None:
    """Each position's half of an abstract equilibrium against the full game's, averaged over the positions.

    Neither equilibrium is unique, so no value is. A search over pairs of them, by linear programmes in
    turn for either side, found values from -57 to -19 for J.Q.K-J.Q.K and from -663 to -367 for JQK-JQK,
    and 20 of the 24 published values within such ranges if a bet of "mb/h" is one chip. The paper calls it
    a small bet, which is two; then 9 are. The other four (JQ.K-J.QK, and J.QK-full, J.QK-J.Q.K,
    J.QK-J.QK) miss by 2 to 24. The search may not have found the ends of the ranges.
    """
    equilibrium = errai.solve(LEDUC, "lp").strategy
    ours = []
    for pair in PUBLISHED:
        own, other = (leduc_abstraction(name) for name in pair.split("-"))
        first = errai.solve(LEDUC, "lp", abstraction=(own, other)).strategy
        second = errai.solve(LEDUC, "lp", abstraction=(other, own)).strategy
        wins = expected_value(first, equilibrium).positions[0]
        wins += expected_value(second, equilibrium).positions[1]
        ours.append(wins / 2 * 1000)
    published = np.array(list(PUBLISHED.values()))
    assert max(ours) < 1e-6  # nobody wins from an equilibrium
    assert np.corrcoef(ours, published)[0, 1] > 0.9
    assert np.median(np.abs(np.array(ours) - published)) < 25
    by_pair = dict(zip(PUBLISHED, ours, strict=True))
    assert -57 < by_pair["J.Q.K-J.Q.K"] < -18.5
    assert -664 < by_pair["JQK-JQK"] < -367


def test_a_linear_programme_needs_perfect_recall() -> None:
    tree = PublicTree.of(LEDUC)
    from errai.solvers.sequence_form import solve_sequence_form

    forgets = tree.abstracted(Buckets.for_both({1: np.zeros(9, dtype=np.int32)}))
    with pytest.raises(UsageError, match=r"buckets of player . forget what earlier ones knew"):
        solve_sequence_form(tree.betting, tree.cells, layout=forgets.layout)


def test_abstract_strategies_are_shown_and_saved(tmp_path: Path) -> None:
    run = errai.solve(LEDUC, "cfr+", 30, abstraction=leduc_abstraction("JQ.K"))
    assert isinstance(run.strategy, Strategy)
    assert run.strategy.probabilities("c", "J") == run.strategy.probabilities("c", "Q")
    assert run.strategy.probabilities("cc/", "Q", "Q") != run.strategy.probabilities("cc/", "Q", "K")
    table = next(iter(strategy_tables(run.strategy, "c")))
    by_hand = dict(zip(table.hands, table.probabilities.tolist(), strict=True))
    assert by_hand["J"] == by_hand["Q"] == list(run.strategy.probabilities("c", "J").values())
    run.strategy.save(tmp_path / "strategy")
    loaded = errai.load_strategy(tmp_path / "strategy")
    assert loaded.tree.buckets is None
    assert exploitability(loaded).chips == pytest.approx(exploitability(run.strategy).chips, abs=1e-12)


def test_runs_with_an_abstraction_go_on_and_refuse_another(tmp_path: Path) -> None:
    seen = (leduc_abstraction("JQ.K"), leduc_abstraction("full"))
    straight = errai.solve(LEDUC, "cfr+", 60, abstraction=seen)
    errai.solve(LEDUC, "cfr+", 30, abstraction=seen, out=tmp_path / "run")
    assert 'name = "[JQ.K]/full"' in (tmp_path / "run" / "run.toml").read_text()
    for other in (None, leduc_abstraction("J.QK"), (seen[1], seen[0])):
        with pytest.raises(
            UsageError, match=r"run with abstraction '\[JQ.K\]/full' \(fingerprint .*\), not '"
        ):
            errai.solve(LEDUC, "cfr+", 60, abstraction=other, out=tmp_path / "run", resume=True)
    resumed = errai.solve(LEDUC, "cfr+", 60, abstraction=seen, out=tmp_path / "run", resume=True)
    loaded = errai.load_strategy(tmp_path / "run")
    assert loaded.tree.buckets is not None
    for table, again, expected in zip(
        resumed.average.tables, loaded.tables, straight.average.tables, strict=True
    ):
        assert table.tobytes() == expected.tobytes() == again.tobytes()
    content = bytearray((tmp_path / "run" / "buckets").read_bytes())
    content[-1] ^= 1
    (tmp_path / "run" / "buckets").write_bytes(content)
    with pytest.raises(UsageError, match="buckets' is damaged"):
        errai.load_strategy(tmp_path / "run")


@pytest.mark.skipif(WITHOUT_JIT, reason="many iterations")
def test_learning_against_a_full_opponent_is_less_exploitable() -> None:
    abstraction = leduc_abstraction("J.QK")
    blind = errai.solve(LEDUC, "cfr+", 1000, abstraction=abstraction).strategy
    reports: list[int] = []

    def report(position: int, measurement: Measurement) -> None:
        reports.append(position)

    found = solve_abstracted_against_full(
        LEDUC, abstraction, iterations=1000, measure_every=500, report=report
    )
    assert reports == [0, 0, 1, 1]
    assert [one.iteration for one in found.measurements] == [500, 1000]
    measured = exploitability(found.strategy)
    assert measured.mbb_per_game < exploitability(blind).mbb_per_game
    assert found.measurements[-1].exploitability.best_response_values == pytest.approx(
        measured.best_response_values, abs=1e-9
    )
    # No strategy of the abstraction can do better: a position that is abstracted gets what the game of one
    # abstracted and one full player is worth.
    for position in (0, 1):
        pair = (abstraction, None) if position == 0 else (None, abstraction)
        exact = errai.solve(LEDUC, "lp", abstraction=pair).strategy
        value = expected_value(exact, exact).positions[position]
        assert -measured.best_response_values[1 - position] == pytest.approx(value, abs=2e-3)
    with pytest.raises(UsageError, match="both positions need an abstraction"):
        solve_abstracted_against_full(LEDUC, (abstraction, None))  # type: ignore[arg-type]


def test_curves_of_an_abstraction_end_where_its_solutions_do() -> None:
    abstraction = leduc_abstraction("JQ.K")
    told: list[tuple[str, int, int]] = []
    curves = abstraction_curves(LEDUC, abstraction, [5, 20], lambda *one: told.append(one))
    both = errai.solve(LEDUC, "cfr+", 20, abstraction=abstraction).strategy
    halves = solve_abstracted_against_full(LEDUC, abstraction, iterations=20).strategy
    assert curves.both[-1] == pytest.approx(exploitability(both).mbb_per_game, abs=1e-9)
    assert curves.against_full[-1] == pytest.approx(exploitability(halves).mbb_per_game, abs=1e-9)
    assert len(told) == 6
    assert told[-1] == ("[JQ.K], position 1 abstracted", 20, 20)


def test_an_abstraction_of_a_longer_game_serves_one_that_ends_sooner() -> None:
    longer = replace(
        TINY_HOLDEM,
        name="longer",
        num_board_cards=(0, 3, 1),
        raise_sizes=(2, 4, 4),
        max_raises=(1, 1, 1),
        first_player=(1, 0, 0),
    )
    random = RandomAbstraction(longer, 3)
    first = FirstRounds(random, TINY_HOLDEM)
    cards = np.array([TINY_HOLDEM.deck.cards[:5]], dtype=np.uint8)
    assert first.buckets(cards, 1).tolist() == random.buckets(cards, 1).tolist()
    assert (first.name, first.num_buckets(1), first.num_players_described) == ("random of longer", 3, 2)
    assert PublicTree.of(TINY_HOLDEM).abstracted_by(first).layout.bucketed.all()
    with pytest.raises(UsageError, match="first rounds of 'longer' do not deal what 'leduc' does"):
        FirstRounds(random, LEDUC)


def test_dice_have_no_cards_to_abstract() -> None:
    with pytest.raises(UsageError, match="dice game: it takes no bet sizes, no abstraction"):
        errai.solve(errai.load_game("bluff-1-1"), abstraction=leduc_abstraction("JQ.K"))


# The command line


def test_solving_with_names(run_errai) -> None:
    status, out, _ = run_errai("solve", "leduc", "--abstraction", "[JQ.K]/full", "--iterations", "20")
    assert status == 0
    assert "abstraction [JQ.K]/full: 210 information sets, 490 slots" in out
    status, out, _ = run_errai("solve", "leduc", "--abstraction", "JQ.K", "--algorithm", "lp", "--json")
    assert status == 0
    told = json.loads(out)
    assert told["abstraction"] == "[JQ.K]"
    assert told["value_chips"] == pytest.approx(-0.107430794, abs=1e-8)
    arguments = ("--abstraction", "JQ.K", "--against-full", "--iterations", "50")
    status, out, _ = run_errai("solve", "leduc", *arguments, "--json")
    assert status == 0
    told = json.loads(out)
    assert (told["information_sets"], told["against"]) == (132, "full")
    assert told["measurements"][-1]["exploitability_mbb_per_game"] == pytest.approx(
        told["exploitability_mbb_per_game"], abs=1e-6
    )
    status, out, _ = run_errai("solve", "leduc", *arguments)
    assert "each position abstracted against an unabstracted one, 50 iterations each" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("leduc", "--abstraction", "JQ.A"),
            "'JQ.A' is not an abstraction of 'leduc': expected a name such as",
        ),
        (
            ("rhode-island", "--abstraction", "JQ.K"),
            "abstraction of 'rhode-island': expected the folder of a saved",
        ),
        (("leduc", "--against-full"), "--against-full needs --abstraction"),
        (("leduc", "--against-full", "--abstraction", "JQK/full"), "an abstraction for both positions"),
        (
            ("leduc", "--against-full", "--abstraction", "JQK", "--out", "x"),
            "--out cannot be used with --against-full",
        ),
        (("bluff-1-1", "--abstraction", "full"), "--abstraction cannot be used with 'bluff-1-1'"),
        (("--resume", "--out", "x", "--abstraction", "full"), "--abstraction needs a game"),
    ],
)
def test_what_cannot_be_asked(run_errai, arguments: tuple[str, ...], sentence: str) -> None:
    status, _, err = run_errai("solve", *arguments)
    assert status == 2
    assert sentence in err


def test_two_positions_are_found_by_the_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = find_abstractions("[JQ.K]/full", LEDUC)
    assert first is not None
    assert (first.name, second) == ("[JQ.K]", None)
    assert find_abstractions("full", RHODE_ISLAND) == (None, None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").mkdir()
    with pytest.raises(UsageError, match="'a/b' is not an abstraction: "):
        find_abstractions("full/a/b", LEDUC)
