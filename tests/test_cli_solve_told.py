"""What `errai solve` tells, word by word and key by key, with stand-ins for the work itself."""

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import errai
from errai.cli import running
from errai.cli.progress import Progress
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.rules import PokerRules
from errai.response.bluff import bluff_exploitability
from errai.response.results import Exploitability
from errai.runs.abstracted import solve_abstracted_against_full
from errai.runs.bluff import solve_bluff
from errai.runs.evaluation import Evaluation
from errai.runs.find_abstraction import find_abstractions
from errai.runs.job import Job, Run
from errai.solvers.linear_programme import ProgrammeSize
from errai.solvers.solve import Solver, StopRule, configured_rule
from errai.solvers.table_solver import Measurement
from errai.strategy.strategy import Strategy

RunErrai = Callable[..., tuple[int, str, str]]

POINTS = (
    Measurement(3, 0.5, Exploitability((0.25, 0.5), 2)),
    Measurement(1200, 2.5, Exploitability((0.125, 0.25), 2)),
)
TOLD_POINTS = [
    {
        "iteration": 3,
        "seconds": 0.5,
        "exploitability_chips": 0.375,
        "exploitability_mbb_per_game": 187.5,
    },
    {
        "iteration": 1200,
        "seconds": 2.5,
        "exploitability_chips": 0.1875,
        "exploitability_mbb_per_game": 93.75,
    },
]


class Solved:
    """Lets every job end with one run, however it was configured: in an hour and a half."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def strategy(self) -> Strategy:
        assert isinstance(self.run.strategy, Strategy)
        return self.run.strategy

    def ends(self, **changes: Any) -> None:
        """Let the next jobs end in another way."""
        self.run = replace(self.run, **changes)


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> Solved:
    """After 1,234 iterations."""
    found = Solved(replace(errai.solve("leduc", iterations=7), measurements=POINTS, iterations=1234))

    def stand_in(self: Job, *_: object) -> Run:
        self.solver.seconds = 5400.0
        self.close()
        return found.run

    monkeypatch.setattr(Job, "run", stand_in)
    monkeypatch.setattr(Solver, "buffer_bytes", 3 << 10)
    return found


def test_json_of_a_run(run_errai: RunErrai, solved: Solved) -> None:
    solved.ends(folder=Path("a b"))
    status, out, err = run_errai("solve", "leduc", "--threads", "2", "--algorithm", "dcfr", "--json")
    assert (status, err) == (0, "")
    measured = errai.exploitability(solved.strategy)
    assert json.loads(out) == {
        "game": "leduc",
        "abstraction": None,
        "payoffs": "plain",
        "algorithm": "dcfr",
        "iterations": 1234,
        "information_sets": 288,
        "slots": 672,
        "table_bytes": 2 * 8 * 672,
        "buffer_bytes": 3 << 10,
        "threads": 2,
        "seconds": 5400.0,
        "value_chips": errai.expected_value(solved.strategy, solved.strategy).positions[0],
        "exploitability_chips": measured.chips,
        "exploitability_mbb_per_game": measured.mbb_per_game,
        "best_response_values_chips": list(measured.best_response_values),
        "out": "a b",
        "interrupted": False,
        "measurements": TOLD_POINTS,
    }


def test_text_of_a_run(run_errai: RunErrai, solved: Solved) -> None:
    measured = errai.exploitability(solved.strategy)
    value = errai.expected_value(solved.strategy, solved.strategy).positions[0]
    size = (
        "leduc: 288 information sets, 672 slots\ntables of float64 10.5 KiB, buffers 3.0 KiB, 2 threads{}\n"
    )
    end = (
        f"leduc: value {value:.9f} chips for position 0, exploitability {measured.mbb_per_game:.6g} mbb/g "
        f"({measured.chips:.6g} chips) after 1,234 iterations in 1.5 hours\n"
    )
    assert run_errai("solve", "leduc", "--threads", "2") == (
        0,
        size.format("")
        + end
        + "not saved; --out FOLDER saves a run, so that it can be shown, measured and resumed\n",
        "",
    )
    solved.ends(folder=Path("a b"))
    assert run_errai("solve", "leduc", "--threads", "2", "--out", "a b") == (
        0,
        size.format(", disk for checkpoints 21.0 KiB")
        + end
        + "saved in a b; next: errai show 'a b', errai exploit 'a b'\n",
        "",
    )


def test_an_interrupted_run_is_not_measured_again(
    run_errai: RunErrai, solved: Solved, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved.ends(folder=Path("x"), interrupted=True)
    for name in ("exploitability", "expected_value"):
        monkeypatch.setattr(f"errai.response.exploitability.{name}", None)
    status, out, err = run_errai("solve", "leduc", "--out", "x", "--threads", "1", "--checkpoint-every", "0")
    assert (status, err) == (0, "")
    assert out.splitlines()[2:] == [
        "leduc: interrupted after 1,234 iterations",
        "saved in x; go on with: errai solve --resume --out x --threads 1 --checkpoint-every 0.0",
    ]
    told = json.loads(run_errai("solve", "leduc", "--out", "y", "--json")[1])
    for key in (
        "value_chips",
        "exploitability_chips",
        "exploitability_mbb_per_game",
        "best_response_values_chips",
    ):
        assert told[key] is None
    assert told["interrupted"] is True
    solved.ends(folder=None)
    told = json.loads(run_errai("solve", "leduc", "--json")[1])
    assert told["out"] is None
    _, out, _ = run_errai("solve", "leduc")
    assert out.splitlines()[2:] == [
        "leduc: interrupted after 1,234 iterations",
        "not saved; --out FOLDER saves a run, so that it can be shown, measured and resumed",
    ]


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ([], "nothing was saved"),
        (
            ["--out", "a b", "--plot", "p.png", "--tables-in", "disk"],
            "the last checkpoint is kept; go on with: errai solve --resume --out 'a b' --tables-in disk "
            "--plot p.png",
        ),
    ],
)
def test_a_run_that_is_left_at_once_says_what_is_kept(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: list[str], kept: str
) -> None:
    def leave(self: Job, *_: object) -> None:
        self.close()
        raise KeyboardInterrupt

    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(Job, "run", leave)
    assert run_errai("solve", "leduc", "--json", *more) == (130, "", f"errai: interrupted; {kept}\n")


def test_pictures_are_drawn_where_there_is_something_to_draw(
    run_errai: RunErrai, solved: Solved, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    monkeypatch.setattr(Run, "plot", lambda self, path: drawn.append((self.iterations, path)))
    run_errai("solve", "leduc", "--plot", "a.png")
    assert drawn == [(1234, "a.png")]
    solved.ends(measurements=())
    assert run_errai("solve", "leduc", "--plot", "a.png")[0] == 0
    assert len(drawn) == 1


def test_where_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations, the last measurement, the time to go, memory; the bar is the share of the time."""
    usage = SimpleNamespace(ru_maxrss=2048)
    monkeypatch.setattr("resource.getrusage", lambda who: usage)
    shown: list[tuple[object, ...]] = []
    progress: Any = SimpleNamespace(show=lambda *one: shown.append(one))
    job: Any = SimpleNamespace(solver=SimpleNamespace(iteration=12345, seconds=30.0))
    last = Evaluation(POINTS[1].iteration, POINTS[1].seconds, POINTS[1].exploitability)
    for known, left in ((None, None), (last, 45.0), (last, 0.0)):
        forecast: Any = SimpleNamespace(last=known, seconds_left=lambda left=left: left)
        running._show(progress, forecast, job)
    assert shown == [
        ("iteration 12,345, 2.0 MiB", 30.0, None),
        ("iteration 12,345, 93.75 mbb/g, 45.0 s to go, 2.0 MiB", 30.0, 75.0),
        ("iteration 12,345, 93.75 mbb/g, 0.0 ms to go, 2.0 MiB", 30.0, 30.0),
    ]


def test_a_run_is_shown_after_measurements_and_between_iterations(
    run_errai: RunErrai, solved: Solved, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    progress: Any = None

    def run(self: Job, report: Any, between: Any, every: float) -> Run:
        report(Evaluation(POINTS[0].iteration, POINTS[0].seconds, POINTS[0].exploitability))
        seen.append(between())
        progress.signal_number = 15
        seen.append(between())
        self.close()
        return solved.run

    def show(told: Progress, forecast: Any, job: Job) -> None:
        nonlocal progress
        progress = told
        seen.append(list(forecast.measurements))

    monkeypatch.setattr(Job, "run", run)
    monkeypatch.setattr(running, "_show", show)
    assert run_errai("solve", "leduc", "--json")[0] == 0
    assert seen == [[POINTS[0]], [POINTS[0]], False, [POINTS[0]], True]


# By a linear programme


def test_a_linear_programme(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = errai.solve("kuhn", "lp")
    measured = errai.exploitability(exact.strategy)
    value = errai.expected_value(exact.strategy, exact.strategy).positions[0]
    seen: list[Any] = []

    def stand_in(configured: Any, out: object, report: Any) -> Run:
        seen.append((configured.tree.game.name, out))
        if report is not None:
            report(ProgrammeSize(3, 4, 5))
        return replace(exact, folder=Path("x") if out else None)

    monkeypatch.setattr("errai.runs.run.solve_exactly", stand_in)
    status, out, err = run_errai("solve", "kuhn", "--algorithm", "lp", "--json", "--out", "x")
    assert (status, err, seen) == (0, "", [("kuhn", "x")])
    assert json.loads(out) == {
        "game": "kuhn",
        "abstraction": None,
        "payoffs": "plain",
        "algorithm": "lp",
        "iterations": 0,
        "information_sets": 12,
        "value_chips": value,
        "exploitability_chips": measured.chips,
        "exploitability_mbb_per_game": measured.mbb_per_game,
        "best_response_values_chips": list(measured.best_response_values),
        "out": "x",
        "interrupted": False,
        "measurements": [],
    }
    assert run_errai("solve", "kuhn", "--algorithm", "lp") == (
        0,
        f"kuhn: value {value:.9f} chips for position 0, exploitability {measured.mbb_per_game:.6g} mbb/g "
        f"({measured.chips:.6g} chips)\n"
        "not saved; --out FOLDER saves a run, so that it can be shown, measured and resumed\n",
        f"errai: linear programme of {ProgrammeSize(3, 4, 5)}\n",
    )


# Bluff


def test_bluff(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = errai.load_game("bluff-1-1")
    assert isinstance(rules, BluffRules)
    rule = configured_rule("dcfr", False, 1, (1.0, 0.5, 2.0))
    run = replace(
        solve_bluff(rules, rule, StopRule.of(3)), values={(2, 1): -0.25, (1, 1): 1 / 3}
    )  # of more stages than there are
    measured = bluff_exploitability(run.strategy)
    seen: list[Any] = []

    def stand_in(*arguments: Any) -> Any:
        *asked, report, seed = arguments
        seen.append((*asked, seed))
        report(Measurement(4321, 1.0, Exploitability((0.25, 0.5), 1)))
        return run

    shown: list[Any] = []
    monkeypatch.setattr("errai.runs.bluff.solve_bluff", stand_in)
    monkeypatch.setattr(Progress, "show", lambda self, *one: shown.append(one))
    how = ["--algorithm", "dcfr", "--discount", "1,0.5,2", "--delay", "1", "--simultaneous"]
    stop = ["--iterations", "3", "--until", "2mbb", "--time", "9s", "--measure-every", "7"]
    status, out, err = run_errai("solve", "bluff-1-1", *how, *stop, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "game": "bluff-1-1",
        "algorithm": "dcfr",
        "values_chips": {"2-1": -0.25, "1-1": 1 / 3},
        "exploitability_chips": measured.chips,
        "best_response_values_chips": list(measured.best_response_values),
    }
    assert shown == [("iteration 4,321, exploitability 0.375000",)]
    assert run_errai("solve", "bluff-1-1", "--seed", "5") == (
        0,
        "dice 2-1: the starter wins -0.250000 a game\n"
        "dice 1-1: the starter wins +0.333333 a game\n"
        f"exploitability of the whole game: {measured.chips:.6f} (winning counts 1)\n",
        "",
    )
    assert seen == [
        (rules, rule, StopRule(3, 2.0, 9.0), 7, 0),
        (rules, configured_rule("cfr+", None, 0, None), StopRule.of(), None, 5),
    ]


# Against a full opponent


def test_against_a_full_opponent(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    leduc = errai.load_game("leduc")
    assert isinstance(leduc, PokerRules)
    first, second = find_abstractions("[JQ.K]/[J.QK]", leduc)
    assert first is not None
    assert second is not None
    found = replace(
        solve_abstracted_against_full(leduc, (first, second), iterations=4),
        measurements=POINTS,
        iterations=1234,
    )
    measured = errai.exploitability(found.strategy)
    seen: list[Any] = []

    def stand_in(*arguments: Any, report: Any, between: Any, **options: Any) -> Any:
        seen.append((*arguments[2:], options))
        assert between() is False
        return found

    monkeypatch.setattr("errai.runs.abstracted.solve_abstracted_against_full", stand_in)
    words = ["solve", "leduc", "--abstraction", "[JQ.K]/[J.QK]", "--against-full"]
    how = ["--discount", "1,2,3", "--delay", "2", "--alternating", "--algorithm", "dcfr"]
    status, out, err = run_errai(*words, *how, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "game": "leduc",
        "abstraction": "[JQ.K]/[J.QK]",
        "against": "full",
        "algorithm": "dcfr",
        "iterations": 1234,
        "information_sets": found.strategy.tree.num_infosets,
        "exploitability_chips": measured.chips,
        "exploitability_mbb_per_game": measured.mbb_per_game,
        "best_response_values_chips": list(measured.best_response_values),
        "measurements": TOLD_POINTS,
    }
    tree = found.strategy.tree
    assert run_errai(*words) == (
        0,
        f"abstraction [JQ.K]/[J.QK]: {tree.num_infosets} information sets, {tree.num_slots} slots\n"
        f"leduc: exploitability {measured.mbb_per_game:.6g} mbb/g ({measured.chips:.6g} chips) in the real "
        "game, each position abstracted against an unabstracted one, 1,234 iterations each\n",
        "",
    )
    nothing = {"bets": None, "dtype": None, "num_threads": None, "measure_every": None}
    assert seen == [
        ("dcfr", 1000, nothing | {"alternating": True, "delay": 2, "discount": (1.0, 2.0, 3.0)}),
        ("cfr+", 1000, nothing | {"alternating": None, "delay": 0, "discount": None}),
    ]


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupt_against_a_full_opponent(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, signals: int
) -> None:
    """The first signal lets the iteration end; the work sees it when it asks."""

    def stand_in(*_: object, between: Callable[[], bool], **__: object) -> None:
        for _number in range(signals):
            signal.raise_signal(signal.SIGTERM)
        assert between()
        raise KeyboardInterrupt

    monkeypatch.setattr("errai.runs.abstracted.solve_abstracted_against_full", stand_in)
    words = ["solve", "leduc", "--abstraction", "[JQ.K]", "--against-full"]
    assert run_errai(*words) == (
        143,
        "",
        "errai: ending after this iteration; once more to leave at once\n"
        "errai: interrupted; nothing was saved\n",
    )


def test_an_interrupted_bluff_ends_at_once(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.runs.bluff.solve_bluff", lambda *_: signal.raise_signal(signal.SIGINT))
    assert run_errai("solve", "bluff-1-1") == (130, "", "errai: interrupted; nothing was saved\n")


# What cannot be asked for together


REFUSED = {
    "'bluff-1-1', a dice game": [
        *("--out", "--tables-in", "--plot", "--bets", "--payoffs", "--abstraction", "--against-full"),
        "--algorithm lp",
    ],
    "--against-full": [
        *("--out", "--tables-in", "--plot", "--until", "--time", "--payoffs"),
        "--algorithm lp",
    ],
    "lp, which has no iterations": ["--plot", "--tables-in", "--iterations", "--until", "--time"],
}
VALUES = {
    "--out": "x",
    "--tables-in": "x",
    "--plot": "a.png",
    "--bets": "a",
    "--payoffs": "plain",
    "--abstraction": "full",
    "--until": "1mbb",
    "--time": "9s",
    "--iterations": "5",
}


@pytest.mark.parametrize(
    ("what", "option"), [(what, option) for what, options in REFUSED.items() for option in options]
)
def test_what_cannot_be_asked_for_together(run_errai: RunErrai, what: str, option: str) -> None:
    words = {
        "'bluff-1-1', a dice game": ["bluff-1-1"],
        "--against-full": ["leduc", "--abstraction", "[JQ.K]", "--against-full"],
        "lp, which has no iterations": ["kuhn", "--algorithm", "lp"],
    }[what]
    words += [*option.split(), *([VALUES[option]] if option in VALUES else [])]
    assert run_errai("solve", *words) == (2, "", f"errai: {option} cannot be used with {what}.\n")


def test_checks_come_before_the_work(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture that cannot be drawn, exponents and sizes that are none: before a game is even looked for."""

    def load_game(name: str) -> None:
        raise UsageError("looked for")

    monkeypatch.setattr("errai.games.catalogue.load_game", load_game)
    for words, told in (
        (["--plot", "none/a.png"], "--plot cannot draw 'none/a.png': its folder does not exist"),
        (["--discount", "1"], "--discount must be three numbers such as '1.5,0,2', not '1'"),
        (["--max-raises", "1"], "--max-raises and --force-all-in need --bets, which is missing"),
        (["--resume"], "--resume needs --out, the folder of the run to go on with"),
        ([], "looked for"),
    ):
        assert run_errai("solve", "leduc", *words) == (2, "", f"errai: {told}.\n")
