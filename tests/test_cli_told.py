"""What the commands about games, strategies and spots tell: whole texts, and whole objects of `--json`."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errai
from errai.cards.equity import equity
from errai.cli import games as games_command
from errai.cli import spot as spot_command
from errai.cli.progress import Progress
from errai.errors import UsageError
from errai.games.catalogue import game_names, load_game
from errai.response.results import Exploitability
from errai.runs.spot import solve_spot
from errai.strategy.spot import SpotMeasurement, SpotTable
from errai.strategy.strategy import Strategy
from errai.strategy.table import strategy_tables
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import RoundCount
from errai.tree.show import betting_nodes
from errai.tree.size import GameSize, RoundSize, game_size

RunErrai = Callable[..., tuple[int, str, str]]


# errai games, errai size


def totals(size: GameSize) -> dict[str, Any]:
    return {
        "game": size.game,
        "bets": size.bets,
        "abstraction": size.abstraction,
        "betting_nodes": size.nodes,
        "betting_sequences": size.decisions,
        "raw_information_sets": size.raw_infosets,
        "canonical_information_sets": size.canonical_infosets,
        "bucketed_information_sets": size.bucketed_infosets,
        "slots": size.table_slots,
        "regret_bytes": size.regret_bytes,
        "average_bytes": size.regret_bytes,
    }


def test_games_as_json(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.games.catalogue.game_names", lambda: ("leduc", "bluff-2-1"))
    sizes = [game_size(load_game(name)) for name in ("leduc", "bluff-2-1")]
    assert json.loads(run_errai("games", "--json")[1]) == [totals(size) for size in sizes]
    assert len(game_names()) > 2


def test_games_as_text(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.games.catalogue.game_names", lambda: ("leduc", "bluff-2-1"))
    assert run_errai("games")[1] == (
        "Games (sizes with every legal bet size)\n"
        "  game       betting sequences  information sets  up to symmetry\n"
        "  ---------  -----------------  ----------------  --------------\n"
        "  leduc                     36               936             288\n"
        "  bluff-2-1            266,240         5,529,600       3,563,520\n"
        "Also: any holdem-ROUNDS-BETS, any bluff-DICE-DICE, or the path of an ACPC game file.\n"
        "Next: 'errai size GAME' counts one in full, 'errai show GAME' prints its betting.\n"
    )


@pytest.mark.parametrize(
    ("words", "menu", "buckets"),
    [
        (["leduc"], None, None),
        (["leduc", "--buckets", "PR 2-2"], None, "PR 2-2"),
        (
            ["nolimit-holdem", "--bets", "a", "--max-raises", "1", "--force-all-in", "0.5"],
            BetMenu.parse("a", 1, 0.5),
            None,
        ),
        (["bluff-2-1"], None, None),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_size_as_json(
    run_errai: RunErrai, words: list[str], menu: BetMenu | None, buckets: str | None
) -> None:
    size = game_size(load_game(words[0]), menu, buckets)
    streets = {"nolimit-holdem": ["preflop", "flop", "turn", "river"]}.get(words[0], [None] * 4)
    dice = ["2-1", "1-1"] if words[0] == "bluff-2-1" else [None] * 4
    assert json.loads(run_errai("size", *words, "--json")[1]) == totals(size) | {
        "rounds": [
            {
                "round": r + 1,
                "street": streets[r],
                "dice": dice[r],
                "betting_nodes": asdict(one.betting),
                "num_boards": one.boards,
                "num_hands": one.rows,
                "buckets": one.buckets,
                "raw_information_sets": one.raw_infosets,
                "canonical_information_sets": one.canonical_infosets,
                "bucketed_information_sets": one.bucketed_infosets,
                "slots": one.table_slots,
            }
            for r, one in enumerate(size.rounds)
        ]
    }


def test_size_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers that are all different, so that each is known by its column."""
    first = RoundSize("round 1", RoundCount(2, 3, 5, 7, 11), 13, 17, 19, 23, 29, 4)
    second = RoundSize("round 2", RoundCount(31, 37, 41, 43, 47), 53, 59, 10**20, 67, 71, 6)
    size = GameSize("a game", (first, second), "PR 4-6", "1p,a")
    betting = first.betting
    assert (betting.decisions, betting.continuing, betting.folds, betting.showdowns) == (2, 3, 5, 7)
    games_command._print_size(size)
    slots = [one.table_slots for one in size.rounds]
    header = [
        *("decisions", "continuing", "folds", "showdowns", "boards", "raw infosets"),
        *("canonical infosets", "bucketed infosets", "slots"),
    ]
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "a game with bets 1p,a in buckets PR 4-6"
    assert out[1].split("  ")[-1].strip() == "slots"
    assert [word.strip() for word in out[1].split("  ") if word.strip()] == header
    assert [line.split() for line in out[3:5]] == [
        [*["round", "1", "2", "3", "5", "7", "13", "19", "23", "8"], str(slots[0])],
        [*["round", "2", "31", "37", "41", "43", "53", "1.000e20", "67", "186"], str(slots[1])],
    ]
    assert out[5].split() == [*["total", "33", "40", "46", "50", "1.000e20", "90", "194"], str(sum(slots))]
    assert out[6:] == [
        f"betting nodes: {size.nodes}",
        "raw information sets: 1.000e20 (21 digits); --json has them in full",
        "regrets: 1,304 bytes (1.2 KiB)",
        "averages: 1,304 bytes (1.2 KiB)",
    ]
    games_command._print_size(GameSize("a game", (replace(first, buckets=None),)))
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "a game"
    assert "bucketed" not in out[1]
    assert len(out) == 8


# errai show


def test_show_passes_every_option(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def record(rules: Any, betting: str, depth: int, menu: Any) -> list[Any]:
        calls.append((rules.name, betting, depth, menu and (menu.text, menu.max_raises, menu.force_all_in)))
        return []

    for name in ("show_subtree", "betting_nodes"):
        monkeypatch.setattr(f"errai.tree.show.{name}", record)
    words = ["show", "nolimit-holdem", "c", "--bets", "a", "--max-raises", "2", "--force-all-in", "0.5"]
    assert run_errai(*words, "--depth", "0") == (0, "", "")
    assert json.loads(run_errai(*words, "--json")[1]) == {
        "game": "nolimit-holdem",
        "betting": "c",
        "nodes": [],
    }
    run_errai("show", "leduc")
    menu = ("a", 2, 0.5)
    assert calls == [
        ("nolimit-holdem", "c", 0, menu),
        ("nolimit-holdem", "c", 3, menu),
        ("leduc", "", 3, None),
    ]


def test_show_a_game_as_json(run_errai: RunErrai) -> None:
    told = json.loads(run_errai("show", "limit-holdem", "rrrc/", "--depth", "1", "--json")[1])
    nodes = list(betting_nodes(load_game("limit-holdem"), "rrrc/", 1))
    streets = [None, "preflop", "flop", "turn", "river"]
    assert told["nodes"] == [
        {
            "depth": node.depth,
            "action": node.label if node.depth else None,
            "kind": node.kind,
            "position": node.player,
            "round": None if node.round is None else node.round + 1,
            "street": streets[0 if node.round is None else node.round + 1],
            "chips": list(node.chips),
            "won_chips": node.won,
        }
        for node in nodes
    ]
    assert {node.player for node in nodes} == {0, 1, None}


def test_show_a_strategy(run_errai: RunErrai, tmp_path: Path) -> None:
    strategy = errai.solve("leduc", iterations=20, out=tmp_path / "run").strategy
    chances = strategy.probabilities("crc/r", "K", "Q")
    listed = ", ".join(f"{action} {chance:.4f}" for action, chance in chances.items())
    words = ["show", "run", "crc/r", "--hand", "K", "--board", "Q"]
    assert run_errai(*words) == (0, f"leduc after 'crc/r' with K on Q: {listed}\n", "")
    about = {"path": "run", "game": "leduc", "betting": "crc/r"}
    assert json.loads(run_errai(*words, "--json")[1]) == about | {
        "board": "Q",
        "hand": "K",
        "probabilities": chances,
    }
    strategy.save(tmp_path / "file")
    assert run_errai("show", "file", *words[2:]) == run_errai(*words)
    first = ", ".join(f"{action} {chance:.4f}" for action, chance in strategy.probabilities("", "J").items())
    assert run_errai("show", "run", "--hand", "J")[1] == f"leduc after '' with J: {first}\n"
    assert isinstance(strategy, Strategy)
    tables = list(strategy_tables(strategy, "crc/r", ""))
    assert len(tables) == 3
    assert json.loads(run_errai("show", "run", "crc/r", "--json")[1]) == about | {
        "tables": [
            {
                "board": table.board,
                "position": 1,
                "hands": [
                    {
                        "hand": hand,
                        "num_hands": int(count),
                        "probabilities": dict(zip(table.actions, row.tolist(), strict=True)),
                    }
                    for hand, count, row in zip(table.hands, table.counts, table.probabilities, strict=True)
                ],
            }
            for table in tables
        ]
    }
    rows = "".join(
        f"  {hand:4}  {count:5}  " + "  ".join(f"{chance:.4f}" for chance in row) + "\n"
        for hand, count, row in zip(tables[1].hands, tables[1].counts, tables[1].probabilities, strict=True)
    )
    assert run_errai("show", "run", "crc/r", "--board", "Q")[1] == (
        "leduc after 'crc/r', board Q: player 1 acts\n"
        "  hand  hands       f       c       r\n  ----  -----  ------  ------  ------\n" + rows
    )


def test_buckets_are_shown_by_hand_alone(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    class Buckets:
        game = load_game("leduc")

        def probabilities(self, *asked: str) -> dict[str, float]:
            return {"c": 0.25, "r": 0.75}

    Path("run").mkdir()
    monkeypatch.setattr("errai.runs.folder.load_strategy", lambda path: Buckets())
    monkeypatch.setattr("errai.strategy.bucketed.BucketStrategy", Buckets)
    told = "errai: --hand is needed: 'run' has buckets in place of hands.\n"
    assert run_errai("show", "run") == (2, "", told)
    assert run_errai("show", "run", "--hand", "K")[1] == "leduc after '' with K: c 0.2500, r 0.7500\n"


# errai equity


def test_equity_of_ranges(run_errai: RunErrai) -> None:
    found = equity(("AsKs", "QQ+"), "Qh7d2c4s")
    told = json.loads(run_errai("equity", "AsKs", "QQ+", "--board", "Qh7d2c4s", "--json")[1])
    assert told == {"ranges": ["AsKs", "QQ+"], "board": "Qh7d2c4s"} | {
        key: getattr(found, key) for key in ("equity", "win", "tie", "lose")
    }


def test_equity_before_the_flop(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    found = equity(("AA", "KK"), "Qh7d2c4s9h")

    def stand_in(*asked: object) -> object:
        seen.append(asked)
        return replace(found, win=0.5, tie=0.375, lose=0.125)

    monkeypatch.setattr("errai.cards.equity.equity", stand_in)
    assert run_errai("equity", "AA", "KK")[1] == (
        "AA against KK\n  equity 0.687500 (wins 0.500000, ties 0.375000, loses 0.125000)\n"
    )
    assert seen == [(("AA", "KK"), "")]


# errai exploit


def test_exploit(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Exploitability((0.5, 1.25), 10, "rake 5%", (-0.25, -0.125))
    shown: list[Any] = []

    def stand_in(self: object, threads: int | None, report: Callable[[int, int], None]) -> Exploitability:
        shown.append(threads)
        report(3, 8)
        return found

    monkeypatch.setattr("errai.runs.measure.Measurable.exploitability", stand_in)
    monkeypatch.setattr(Progress, "report", lambda self, *one: shown.append(one))
    words = ["exploit", "half", "--game", "holdem-1-1"]
    assert run_errai(*words) == (
        0,
        f"half in holdem-1-1: exploitability {found.mbb_per_game:.6g} mbb/g ({found.chips:.6g} chips), "
        "payoffs rake 5%\n"
        "  a best response wins 0.5 chips a game in position 0, 1.25 in position 1\n"
        "  the strategy itself wins -0.25 in position 0, -0.125 in position 1\n",
        "",
    )
    assert shown == [None, ("half: boards", 3, 8)]
    assert json.loads(run_errai(*words, "--json")[1]) == {
        "path": "half",
        "game": "holdem-1-1",
        "payoffs": "rake 5%",
        "exploitability_chips": found.chips,
        "exploitability_mbb_per_game": found.mbb_per_game,
        "best_response_values_chips": [0.5, 1.25],
        "profile_values_chips": [-0.25, -0.125],
    }


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ([], "nothing was kept: --keep FOLDER keeps what is done"),
        (
            ["--keep", "a b", "--threads", "2"],
            "what is done stays in a b; go on with: errai exploit half --game leduc --keep 'a b' --threads 2",
        ),
    ],
)
def test_an_interrupted_exploit(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, more: list[str], kept: str
) -> None:
    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("errai.runs.measure.Measurable.exploitability", leave)
    words = ["exploit", "half", "--game", "leduc", *more]
    assert run_errai(*words) == (130, "", f"errai: interrupted; {kept}\n")


def test_the_menu_of_exploit(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def find(*asked: Any) -> None:
        seen.append(asked)
        raise UsageError("seen")

    monkeypatch.setattr("errai.runs.measure.find_measurable", find)
    run_errai("exploit", "x", "--bets", "a", "--max-raises", "0", "--force-all-in", "0.5")
    run_errai("exploit", "x")
    (name, game, menu, payoffs, keep), second = seen
    assert (name, game, payoffs, keep) == ("x", None, None, None)
    assert (menu.text, menu.max_raises, float(menu.force_all_in)) == ("a", 0, 0.5)
    assert second == ("x", None, None, None, None)


# errai spot

SPOT = ["spot", "--board", "QsJh2h7c3d", "--oop", "AhKh:0.5,9s8s", "--ip", "JsTs,AcQc,QdQh", "--pot", "50"]
SPOT += ["--stack", "200", "--iterations", "20"]


def without_times(told: dict[str, Any]) -> dict[str, Any]:
    assert told["seconds"] == told["measurements"][-1]["seconds"]
    for one in (told, *told["measurements"]):
        assert one.pop("seconds") > 0
    return told


@pytest.mark.parametrize("show", ["", "r25"])
def test_spot_as_json(run_errai: RunErrai, show: str) -> None:
    status, out, err = run_errai(*SPOT, "--algorithm", "cfr+", "--show", show, "--json")
    assert (status, err) == (0, "")
    found = solve_spot(
        "QsJh2h7c3d", ("AhKh:0.5,9s8s", "JsTs,AcQc,QdQh"), 50, 200, iterations=20, algorithm="cfr+"
    )
    table = found.strategy(show)
    assert table.expected_values is not None
    assert table.equities is not None
    assert without_times(json.loads(out)) == {
        "board": "QsJh2h7c3d",
        "pot_chips": 50.0,
        "num_hands": [2, 3],
        "betting_nodes": found.spot.tree.betting.num_nodes,
        "slots": found.spot.tree.num_slots,
        "memory_bytes": 2 * 4 * found.spot.tree.num_slots,
        "algorithm": "cfr+",
        "iterations": 20,
        "expected_values_chips": list(found.expected_values),
        "exploitability_chips": found.exploitability,
        "exploitability_percent_of_pot": found.exploitability_percent,
        "measurements": [
            {
                "iteration": one.iteration,
                "exploitability_chips": one.exploitability,
                "exploitability_percent_of_pot": one.exploitability_percent,
            }
            for one in found.measurements
        ],
        "strategy": {
            "betting": show,
            "board": "QsJh2h7c3d",
            "position": len(show) // 3,
            "actions": list(table.actions),
            "hands": list(table.hands),
            "weights": table.weights.tolist(),
            "frequencies": table.frequencies.tolist(),
            "probabilities": table.probabilities.tolist(),
            "expected_values_chips": table.expected_values.tolist(),
            "equities": table.equities.tolist(),
        },
    }


TABLE = SpotTable(
    betting="r25",
    board="QsJh2h7c3d",
    position=1,
    actions=("f", "c", "r75"),
    hands=("AcKc", "AdKd", "7h7d"),
    weights=np.array([1.0, 1.0, 0.5]),
    frequencies=np.array([0.125, 0.25, 0.625]),
    probabilities=np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.125, 0.625]]),
    expected_values=np.array([0.0, 12.3456, np.nan]),
    equities=np.array([0.123, 0.5, 0.75]),
)


def test_numbers_that_are_none_are_null() -> None:
    found = solve_spot("QsJh2h7c3d", ("AhKh", "JsTs"), 50, 200, iterations=1)
    told: Any = spot_command._as_json(found, TABLE)
    assert told["strategy"]["expected_values_chips"] == [0.0, 12.3456, None]
    assert told["strategy"]["equities"] == [0.123, 0.5, 0.75]
    told = spot_command._as_json(found, replace(TABLE, expected_values=None, equities=None))
    assert (told["strategy"]["expected_values_chips"], told["strategy"]["equities"]) == (None, None)


def test_a_table_of_classes(capsys: pytest.CaptureFixture[str]) -> None:
    """Those held most often first; all of them above."""
    spot_command._print_strategy(TABLE, False)
    assert capsys.readouterr().out == (
        "IP on QsJh2h7c3d after 'r25', in percent\n"
        "  hands  of range  fold  check/call   r75\n"
        "  -----  --------  ----  ----------  ----\n"
        "  all      100.00  21.9        35.9  42.2\n"
        "  77        62.50  25.0        12.5  62.5\n"
        "  AKs       37.50  16.7        75.0   8.3\n"
    )


def test_a_table_of_hands(capsys: pytest.CaptureFixture[str]) -> None:
    spot_command._print_strategy(TABLE, True)
    assert capsys.readouterr().out == (
        "IP on QsJh2h7c3d after 'r25', in percent\n"
        "  hand  of range  fold  check/call   r75      EV  equity\n"
        "  ----  --------  ----  ----------  ----  ------  ------\n"
        "  all     100.00  21.9        35.9  42.2\n"
        "  AcKc     12.50  50.0        25.0  25.0   0.000    12.3\n"
        "  AdKd     25.00   0.0       100.0   0.0  12.346    50.0\n"
        "  7h7d     62.50  25.0        12.5  62.5     nan    75.0\n"
    )
    spot_command._print_strategy(
        replace(TABLE, betting="", position=0, expected_values=None, equities=None), True
    )
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["OOP on QsJh2h7c3d, in percent", "  hand  of range  fold  check/call   r75"]
    assert out[-1] == "  7h7d     62.50  25.0        12.5  62.5"


def test_a_spot_as_text(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the table, and the table that is asked for."""
    tables: list[Any] = []
    monkeypatch.setattr(spot_command, "_print_strategy", lambda *one: tables.append(one))
    turn = ["--board", "QsJh2h7c", "--show", "cc/", "--show-board", "3d", "--hands"]
    words = [*SPOT[:1], *turn, *SPOT[3:]]
    status, out, err = run_errai(*words)
    assert status == 0
    assert "errai: iteration" not in err
    found = solve_spot("QsJh2h7c", ("AhKh:0.5,9s8s", "JsTs,AcQc,QdQh"), 50, 200, iterations=20)
    tree = found.spot.tree
    lines = out.splitlines()
    oop, ip = found.expected_values
    assert lines[:3] + lines[4:] == [
        "QsJh2h7c: 2 hands of OOP against 3 of IP",
        f"  betting nodes {tree.betting.num_nodes:,}, boards {1 + len(tree.cells.boards[1])}, "
        f"slots {tree.num_slots:,}",
        f"  memory for regrets and averages: {8 * tree.num_slots / 1024:.1f} KiB",
        f"  exploitability {found.exploitability:.6g} chips, {found.exploitability_percent:.4g}% of the pot",
        f"  expected values: OOP {oop:.6g}, IP {ip:.6g} chips",
    ]
    assert lines[3].startswith("20 iterations of dcfr in 0.")
    assert lines[3].endswith(" s")
    ((table, every_hand),) = tables
    assert (table.betting, table.board, every_hand) == ("cc/", "QsJh2h7c3d", True)
    run_errai(*SPOT)
    assert tables[1][1] is False


def test_where_a_spot_is(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    def solve(*_: object, report: Callable[[SpotMeasurement], None], **__: object) -> None:
        report(SpotMeasurement(2000, 4.0, 1.5, 3.0))
        raise KeyboardInterrupt

    monkeypatch.setattr("errai.runs.spot.solve_spot_tree", solve)
    monkeypatch.setattr(Progress, "show", lambda self, *one: shown.append(one))
    assert run_errai(*SPOT[:-1], "3000") == (130, "", "errai: interrupted; nothing was saved\n")
    run_errai(*SPOT[:-2], "--until", "0.5%")
    run_errai(*SPOT[:-2], "--time", "10s")
    text = "iteration 2,000, exploitability 3% of the pot"
    assert shown == [
        (f"{text}, at most 2.0 s to go", 4.0, 6.0),
        (text,),
        (f"{text}, at most 6.0 s to go", 4.0, 10.0),
    ]


def test_no_raise_at_all_is_a_number_of_raises(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def record(*given: Any) -> None:
        seen.append(given)
        raise UsageError("seen")

    monkeypatch.setattr("errai.strategy.spot_tree.SpotBetting.of", record)
    run_errai(*SPOT, "--max-raises", "0")
    run_errai(*SPOT)
    assert seen == [
        (50.0, 200.0, None, None, 0.0, None, 0, None),
        (50.0, 200.0, None, None, 0.0, None, None, None),
    ]


def test_a_decision_is_looked_for_before_the_work(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errai.runs.spot.solve_spot_tree", None)
    status, out, err = run_errai(*SPOT, "--show", "r1")
    assert (status, out) == (2, "")
    assert "'r1' leaves the spot's tree at position 0" in err
