"""Spots: the linear programme and a naive twin, known solutions, sizes, symmetry, refusals, the command."""

import json
import sys
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive.spots import naive_expected_value, renamed

import errai
from errai.cards.deck import FULL_DECK, format_cards
from errai.cards.equity import equity
from errai.cards.ranges import NUM_HANDS
from errai.cli.main import main
from errai.cli.spot import most_seconds_left
from errai.errors import UsageError
from errai.runs.spot import solve_spot
from errai.solvers.sequence_form import solve_sequence_form
from errai.solvers.solve import Solver, StopRule
from errai.strategy.spot import SpotMeasurement, SpotResult, format_chips
from errai.strategy.spot_tree import SpotBetting, build_spot_tree

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="thousands of iterations in plain Python")

OOP = "88+, ATs+, KQs, AQo+, 76s"
IP = "QQ-66, AJs+, KJs+, AKo, 65s:0.5"


def lp_value(result: SpotResult) -> float:
    """Expected chips of OOP in an exact equilibrium of the same tree."""
    tree, betting = result.spot.tree, result.spot.betting
    exact = solve_sequence_form(tree.betting, tree.cells, tree.weights)
    return float(betting.pot) / 2 + exact.value * float(betting.unit)


def random_range(rng: np.random.Generator, board: np.ndarray, num_hands: int) -> np.ndarray:
    hands = FULL_DECK.hands(2)
    free = np.flatnonzero(~np.isin(hands, board).any(axis=1))
    weights = np.zeros(NUM_HANDS)
    weights[rng.choice(free, num_hands, replace=False)] = rng.choice([0.25, 0.5, 1.0], num_hands)
    return weights


# Values


def test_tiny_weights_are_solved_as_what_they_are_relative_to_each_other() -> None:
    """Weights of 1e-300 once became zero in float32, and regrets no numbers."""
    options: dict[str, Any] = {"board": "QsJh2h7c3d", "pot": 10, "stack": 20, "iterations": 20}
    tiny = solve_spot(ranges=("AA:1e-300, 99:5e-301", "KK:1e-200, QQ:1e-200"), **options)
    usual = solve_spot(ranges=("AA, 99:0.5", "KK, QQ"), **options)
    assert tiny.expected_values == usual.expected_values
    assert tiny.exploitability == usual.exploitability
    with pytest.raises(UsageError, match="in the range of IP is 1e-300, where the largest is 1"):
        solve_spot(ranges=("AA", "KK, TT:1e-300"), **options)
    # What the board blocks has no say: 7s7c is the largest weight and cannot be held.
    blocked = solve_spot(ranges=("AA", "7s7c, TT:1e-300"), **options)
    assert blocked.expected_values == solve_spot(ranges=("AA", "TT"), **options).expected_values


@needs_jit
@pytest.mark.parametrize("seed", range(20))
def test_random_river_spots_agree_with_the_linear_programme(seed: int) -> None:
    rng = np.random.default_rng(seed)
    board = rng.choice(52, 5, replace=False)
    ranges = [random_range(rng, board, int(rng.integers(10, 25))) for _ in range(2)]
    pot = float(rng.integers(10, 100))
    result = solve_spot(
        format_cards(board),
        ranges,
        pot=pot,
        stack=pot * float(rng.choice([0.5, 1.5, 4])),
        bets=("33%, 80%", "50%, a") if seed % 2 else "50%, a",
        raises="60%, a",
        force_all_in=0.1,
        iterations=4000,
        measure_every=4000,
    )
    assert result.exploitability_percent < 0.02
    assert result.expected_values[0] == pytest.approx(lp_value(result), abs=1e-4 * pot)
    assert sum(result.expected_values) == pytest.approx(pot, abs=1e-9)


@needs_jit
@pytest.mark.parametrize("limit", [None, (8, 16)])
def test_turn_spots_agree_with_the_linear_programme_and_the_naive_twin(limit: tuple[int, int] | None) -> None:
    sizes: dict[str, Any]
    sizes = {"limit": limit, "max_raises": 1} if limit else {"bets": "a", "raises": "none", "stack": 30}
    result = solve_spot(
        "QsJh2h7c", ("AhKh, 9s8s, QdTd:0.5", "JsTs, AcQc, 5d5s"), pot=20, iterations=2000, **sizes
    )
    assert result.expected_values[0] == pytest.approx(lp_value(result), abs=2e-3)
    for player in (0, 1):
        naive = naive_expected_value(result, player)
        assert result.expected_values[player] == pytest.approx(naive, abs=1e-4)


@needs_jit
def test_a_flop_spot_without_bets_is_an_equity() -> None:
    ranges = ("AhKh, QdQc", "JsTs, 5d5s, AcKc:0.5")
    result = solve_spot("Qs7h2h", ranges, pot=10, stack=5, bets="none", raises="none", iterations=1)
    expected = equity(ranges, "Qs7h2h").equity
    assert result.expected_values[0] / 10 == pytest.approx(expected, abs=1e-5)
    assert result.exploitability == pytest.approx(0, abs=1e-5)


@needs_jit
@pytest.mark.parametrize("size", [50, 100, 200])
def test_nuts_or_air_against_a_bluff_catcher(size: int) -> None:
    """The half-street game: bet s pots; the air bluffs s / (1 + s) of the time, a call comes in 1 / (1 + s).

    Ankenman and Chen, "The Mathematics of Poker" (2006), chapter 11.
    """
    s = size / 100
    result = solve_spot(
        "KsKdKc7h2s",
        ("AhAd, 8c6c", "QhQd"),
        pot=30,
        stack=100,
        bets=(f"{size}%", "none"),
        raises="none",
        iterations=5000,
        algorithm="cfr+",
    )
    bet = f"r{format_chips(30 * s)}"
    assert result.probabilities("", "AhAd")[bet] == pytest.approx(1, abs=1e-3)
    assert result.probabilities("", "8c6c")[bet] == pytest.approx(s / (1 + s), abs=2e-3)
    assert result.probabilities(bet, "QhQd")["c"] == pytest.approx(1 / (1 + s), abs=2e-3)
    assert result.expected_values[0] == pytest.approx(15 * (1 + s / (1 + s)), abs=5e-3)
    table = result.strategy()
    assert table.expected_values is not None
    assert table.equities is not None
    by_hand = dict(zip(table.hands, table.expected_values.tolist(), strict=True))
    assert by_hand["AhAd"] == pytest.approx(30 * (1 + s / (1 + s)), abs=0.1)
    assert by_hand["8c6c"] == pytest.approx(0, abs=0.1)
    assert dict(zip(table.hands, table.equities.tolist(), strict=True)) == {"AhAd": 1.0, "8c6c": 0.0}


@needs_jit
def test_exploitability_falls_and_a_target_stops() -> None:
    arguments: dict[str, Any]
    arguments = {"pot": 50, "stack": 200, "bets": "50%, a", "raises": "60%, a", "force_all_in": 0.05}
    seen: list[SpotMeasurement] = []
    result = solve_spot("QsJh2h7c3d", (OOP, IP), iterations=5000, until=0.1, report=seen.append, **arguments)
    assert result.exploitability_percent <= 0.1 < result.measurements[-2].exploitability_percent
    assert result.iterations < 1000
    assert tuple(seen) == result.measurements
    assert result.measurements[0].exploitability > 10 * result.exploitability
    assert result.exploitability == pytest.approx(result.exploitability_percent / 100 * 50)
    others = [
        solve_spot("QsJh2h7c3d", (OOP, IP), iterations=3000, algorithm=algorithm, **arguments)
        for algorithm in ("cfr", "cfr+", "linear-cfr")
    ]
    for other in others:
        assert other.exploitability_percent < 0.2
        assert other.expected_values[0] == pytest.approx(result.expected_values[0], abs=0.1)


@pytest.mark.parametrize(
    ("given", "iterations"),
    [
        ({}, 1000),
        ({"until": 0.5}, 10**12),
        ({"seconds": 600.0}, 10**12),
        ({"iterations": 7, "until": 0.5}, 7),
        ({"iterations": 7, "seconds": 600.0}, 7),
    ],
)
def test_a_target_or_a_time_leaves_iterations_without_a_bound(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], iterations: int
) -> None:
    """As in `errai.solve`."""
    seen: list[StopRule] = []

    def record(solver: Solver, stop: StopRule, *more: Any) -> None:
        seen.append(stop)
        raise UsageError("recorded")

    monkeypatch.setattr("errai.runs.spot.run_solver", record)
    with pytest.raises(UsageError, match="recorded"):
        solve_spot("QsJh2h7c3d", ("AhKh", "JsTs"), 50, 200, **given)
    assert [stop.iterations for stop in seen] == [iterations]
    assert seen[0].seconds == given.get("seconds")


def test_how_long_a_spot_may_take_is_told_where_it_is_known() -> None:
    measured = SpotMeasurement(iteration=20, seconds=4.0, exploitability=1.0, exploitability_percent=2.0)
    for stop, left in (
        (StopRule.of(), 196.0),
        (StopRule.of(30), 2.0),
        (StopRule.of(30, seconds=5.0), 1.0),
        (StopRule.of(seconds=10.0), 6.0),
        (StopRule.of(seconds=3.0), 0.0),
        (StopRule.of(mbb_per_game=5.0), None),
    ):
        assert most_seconds_left(measured, stop) == left


@needs_jit
def test_renaming_suits_changes_nothing() -> None:
    suits = dict(zip("cdhs", "hscd", strict=True))
    hands = (["AhKh", "9s8s", "QdTd", "7d6c"], ["JsTs", "AcQc", "5d5s"])
    boards = ("QsJh2h7c", renamed("QsJh2h7c", suits))
    # A tie that rounding breaks the other way changes the path of later iterations, not where it leads.
    for iterations, tolerance in ((2, 1e-12), (3000, 1e-4)):
        values = []
        for board, rename in zip(boards, (False, True), strict=True):
            ranges = [", ".join(renamed(h, suits) if rename else h for h in own) for own in hands]
            result = solve_spot(
                board,
                ranges,
                pot=20,
                stack=30,
                iterations=iterations,
                measure_every=iterations,
                dtype=np.float64,
            )
            values.append(result.expected_values)
        assert values[0] == pytest.approx(values[1], abs=tolerance)


@needs_jit
def test_scale_and_threads_change_nothing() -> None:
    ranges = ("AhKh, 9s8s, QdTd", "JsTs, AcQc, 5d5s")
    one = solve_spot("QsJh2h7c", ranges, pot=20, stack=30, iterations=100, num_threads=1)
    two = solve_spot("QsJh2h7c", ranges, pot=20, stack=30, iterations=100, num_threads=2)
    assert one.expected_values == two.expected_values
    small = solve_spot("QsJh2h7c", ranges, pot=0.2, stack=0.3, iterations=100)
    assert small.expected_values[0] * 100 == pytest.approx(one.expected_values[0], rel=1e-4)


@needs_jit
def test_blocked_pairs_and_blocked_hands_do_not_count() -> None:
    # On this board only the pair (AhAd, KhKd) remains.
    result = solve_spot("As7c2d9h3c", ("AhAd, AsKs", "KhKd, AhQh"), pot=10, stack=10, iterations=200)
    assert [len(hands) for hands in result.spot.hands] == [1, 2]
    table = result.strategy("c")
    assert table.hands == ("KhKd", "AhQh")
    assert table.frequencies.tolist() == [1, 0]
    assert table.expected_values is not None
    assert np.isnan(table.expected_values[1])
    assert result.expected_values[0] == pytest.approx(10, abs=1e-3)


# Sizes


def actions(result: SpotResult, *bettings: str) -> list[tuple[str, ...]]:
    return [result.strategy(betting).actions for betting in bettings]


def one_iteration(**arguments: Any) -> SpotResult:
    given: dict[str, Any]
    given = {"board": "QsJh2h7c3d", "ranges": ("AhKh, 9s8s", "JsTs, AcQc"), "pot": 50, "stack": 200}
    return solve_spot(**(given | {"iterations": 1} | arguments))


def test_sizes_are_those_of_the_promise() -> None:
    result = one_iteration(bets="50%, a", raises="60%, a", force_all_in=0.05)
    assert actions(result, "", "c", "r25", "cr25", "r25r85", "r200") == [
        ("c", "r25", "r200"),
        ("c", "r25", "r200"),
        ("f", "c", "r85", "r200"),
        ("f", "c", "r85", "r200"),
        ("f", "c", "r200"),  # 85 + 60% of 220 is beyond the stack
        ("f", "c"),
    ]


def test_sizes_differ_by_position_round_and_raise() -> None:
    result = one_iteration(
        board="QsJh2h7c",
        bets=("33% / a", "none / 150%"),
        raises=("100% | a", "min"),
        pot=60,
        stack=500,
    )
    assert actions(result, "", "c", "r19.8", "r19.8r39.6") == [
        ("c", "r19.8"),
        ("c",),
        ("f", "c", "r39.6"),
        ("f", "c", "r500"),  # the second raise of the round
    ]
    river = [result.strategy(betting, "3d").actions for betting in ("cc/", "cc/c", "cc/cr90", "cc/cr90r330")]
    assert river == [
        ("c", "r500"),
        ("c", "r90"),
        ("f", "c", "r330"),  # 90 and a pot of 240
        ("f", "c", "r500"),  # the least raise would be to 570
    ]


def test_a_bet_that_leaves_little_is_all_in() -> None:
    # A bet of 50 into 50 with 65 behind leaves 15 with a pot of 150.
    assert actions(one_iteration(stack=65, bets="100%", force_all_in=0.1), "") == [("c", "r50")]
    assert actions(one_iteration(stack=65, bets="100%", force_all_in=0.11), "") == [("c", "r65")]


def test_odd_pots_fractions_and_chips() -> None:
    assert actions(one_iteration(pot=37, bets="50%"), "") == [("c", "r18.5")]
    assert actions(one_iteration(pot=37, bets="50%", chip=1), "") == [("c", "r19")]
    assert actions(one_iteration(pot=37, bets="1%", chip=5), "") == [("c", "r5")]
    assert actions(one_iteration(pot=0.75, stack=3.5, bets="50%"), "") == [("c", "r0.375")]
    assert sum(one_iteration(pot=37.37).expected_values) == pytest.approx(37.37)


def test_limit_spots() -> None:
    result = one_iteration(board="QsJh2h7c", stack=None, limit=(10, 20), max_raises=2)
    assert actions(result, "", "r", "rr") == [("c", "r"), ("f", "c", "r"), ("f", "c")]
    assert result.strategy("rc/", "3d").actions == ("c", "r")
    chips = result.spot.tree.betting.chips[result._find_node("rc/r")] * float(result.spot.betting.unit)
    assert chips.tolist() == pytest.approx([25 + 10 + 20, 25 + 10])


def test_betting_strings_lead_to_decisions() -> None:
    result = one_iteration(board="QsJh2h7c", bets="50%", raises="none")
    table = result.strategy("r25c/c", "3d")
    assert (table.board, table.position, table.actions) == ("QsJh2h7c3d", 1, ("c", "r75"))
    assert table.expected_values is None
    assert result.strategy("r25.0c/c", "QsJh2h7c3d").hands == ("JsTs", "AcQc")
    assert "AcQc" not in result.strategy("r25c/c", "Ac").hands
    for betting, board, complaint in (
        ("r30", "", "'r30' leaves the spot's tree at position 0, 'r30': expected c, r25"),
        ("cx", "", "'x': expected c, r25"),
        ("r25f", "", "the hand is over after 'r25f'"),
        ("r25c", "", "'' is not a board of the river: expected 1 new cards after 'QsJh2h7c'"),
        ("r25c/", "Qs", "is not a board of the river"),
    ):
        with pytest.raises(UsageError, match=complaint.replace("(", r"\(")):
            result.strategy(betting, board)
    with pytest.raises(UsageError, match="OOP cannot hold 'AcKc' on 'QsJh2h7c'"):
        result.probabilities("", "AcKc")
    with pytest.raises(UsageError, match="IP cannot hold 'AcQc' on 'QsJh2h7cAc'"):
        result.probabilities("cc/c", "AcQc", "Ac")


# Refusals


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"board": "QsJh"}, "the board 'QsJh' must have 3, 4 or 5 cards, not 2"),
        ({"board": "QsJh2hQs"}, "the card Qs occurs twice"),
        ({"board": "QsJh2hXx"}, "'Xx' is not a card"),
        ({"ranges": ("AhKh",)}, "expected 2 ranges, the first to act first, not \\('AhKh',\\)"),
        ({"ranges": ("QsJh", "AcQc")}, "the range of OOP has no hand left on the board"),
        ({"ranges": ("AcQc", np.zeros(1326))}, "the range of IP is empty"),
        ({"ranges": ("AcQc", "AcKc")}, "every hand of OOP shares a card with every hand of IP"),
        ({"ranges": ("AcQc", "AZs")}, "'AZs' is not an item of a range"),
        ({"pot": 0}, "the pot must be a number of chips above 0, up to 2,147,483,647, not 0"),
        ({"pot": float("nan")}, "the pot must be a number of chips above 0, up to 2,147,483,647, not nan"),
        ({"stack": -1}, "the stack must be a number of chips above 0, up to 2,147,483,647, not -1"),
        ({"stack": None}, "the stack is missing"),
        ({"stack": 1e9, "pot": 1}, "a stack of 1e\\+09 is too deep for a pot of 1"),
        ({"bets": "fifty"}, "'fifty' in the menu 'fifty' is not a bet size"),
        ({"bets": "50% | a"}, "'50% | a' is not a menu of first bets"),
        (
            {"bets": ("a", "a", "a")},
            "invalid bets \\('a', 'a', 'a'\\): expected one text, or one for each",
        ),
        ({"limit": 10, "bets": "a"}, "a limit spot has one bet size"),
        ({"limit": ()}, "the limit has no bet size"),
        ({"limit": -3}, "the limit bet must be a number of chips above 0, up to 2,147,483,647, not -3"),
        ({"max_raises": -1}, "the raises of a round must be 0 to 254, not -1"),
        ({"chip": 201}, "the smallest chip must be at most the stack of 200, not 201"),
        ({"chip": 0}, "the smallest chip must be a number of chips above 0, up to 2,147,483,647, not 0"),
        ({"force_all_in": -1}, "'-1' is not an all-in threshold"),
        ({"iterations": 0}, "iterations must be 1 or more, not 0"),
        ({"until": 0}, "the target must be above 0% of the pot, not 0%"),
        ({"measure_every": 0}, "the iterations between measurements must be 1 or more, not 0"),
        ({"algorithm": "magic"}, "unknown algorithm 'magic'"),
    ],
)
def test_bad_input_is_one_sentence(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint.replace("|", r"\|")):
        one_iteration(**changes)


def test_the_tree_is_ready_before_memory_is_taken() -> None:
    spot = build_spot_tree("QsJh2h7c3d", (OOP, IP), SpotBetting.of(50, 200))
    assert spot.rounds == ("river",)
    assert spot.tree.num_slots > 0


def test_the_package_has_the_promised_name() -> None:
    assert errai.solve_spot is solve_spot


# The command


def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[int, str, str]:
    base = [
        "errai",
        "spot",
        "--board",
        "QsJh2h7c3d",
        "--oop",
        "AhKh,9s8s",
        "--ip",
        "JsTs,AcQc",
        "--pot",
        "50",
    ]
    monkeypatch.setattr(sys, "argv", [*base, *words])
    with pytest.raises(SystemExit) as leave:
        main()
    out, err = capsys.readouterr()
    return int(leave.value.code or 0), out, err


def test_command_prints_memory_values_and_strategy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = command(capsys, monkeypatch, "--stack", "200", "--iterations", "20", "--bets", "50%,a")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "QsJh2h7c3d: 2 hands of OOP against 2 of IP"
    assert lines[2].startswith("  memory for regrets and averages: ")
    assert "% of the pot" in out
    assert "expected values: OOP" in out
    assert "AKs" in out
    status, out, _ = command(
        capsys,
        monkeypatch,
        "--stack",
        "200",
        "--iterations",
        "20",
        "--show",
        "r25",
        "--hands",
        "--until",
        "50%",
    )
    assert status == 0
    assert "IP on QsJh2h7c3d after 'r25'" in out
    assert "equity" in out
    assert "AcQc" in out


def test_command_prints_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, _ = command(
        capsys, monkeypatch, "--limit", "10", "--max-raises", "2", "--json", "--show", "r"
    )
    answer = json.loads(out)
    assert status == 0
    assert sum(answer["expected_values_chips"]) == pytest.approx(50)
    assert answer["strategy"]["actions"] == ["f", "c", "r"]
    assert answer["memory_bytes"] == 8 * answer["slots"]
