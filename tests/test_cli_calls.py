"""What is typed reaches the Python API: each option off its default, seen where the API is called."""

import json
import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from naive import WITHOUT_JIT

from errai.abstraction.build import abstract
from errai.abstraction.options import BuildOptions
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.play.play_match import MatchOptions
from errai.response.estimate import Estimate
from errai.runs.job import Job
from errai.solvers.solve import StopRule

RunErrai = Callable[..., tuple[int, str, str]]

# Imported before any of them is patched: a module that is first imported while a function has a stand-in
# would keep it for good.
for name in (
    "errai.abstraction.compare",
    "errai.abstraction.describe",
    "errai.abstraction.public.build",
    "errai.cli.main",
    "errai.play.crosstable",
    "errai.play.play_match",
    "errai.runs.abstracted",
    "errai.runs.forecast",
    "errai.runs.measure",
    "errai.runs.spot",
):
    import_module(name)


class Recorder:
    """Stands in for a function of the API; notes what it was called with, and ends the command."""

    def __init__(self) -> None:
        self.arguments: tuple[Any, ...] = ()
        self.options: dict[str, Any] = {}

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.arguments, self.options = arguments, options
        raise UsageError("recorded")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, run_errai: RunErrai) -> Callable[..., Recorder]:
    def record(name: str, *command: str) -> Recorder:
        recorder = Recorder()
        with monkeypatch.context() as patch:
            patch.setattr(name, recorder)
            status, out, err = run_errai(*command)
        assert (status, out, err) == (2, "", "errai: recorded.\n")
        return recorder

    return record


def test_solve(recorded: Callable[..., Recorder], tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    how = ["--threads", "2", "--measure-every", "7", "--out", "x", "--resume", "--tables-in", "disk"]
    stop = ["--iterations", "9", "--until", "2mbb", "--time", "10m"]
    found = recorded("errai.runs.job.prepare", "solve", "leduc", *how, *stop)
    assert found.options == {
        "num_threads": 2,
        "measure_every": 7,
        "out": "x",
        "resume": True,
        "tables_in": "disk",
    }
    assert found.arguments[1] == StopRule(9, 2.0, 600.0)
    what = ["--algorithm", "dcfr", "--discount", "1,2,3", "--delay", "4", "--simultaneous", "--seed", "5"]
    what += ["--bets", "1p,a", "--max-raises", "3", "--force-all-in", "0.25", "--payoffs", "rake 5% cap 3"]
    found = recorded("errai.runs.run.configure", "solve", "nolimit-holdem", *what, "--dtype", "float32")
    menu = found.options.pop("bets")
    assert (menu.text, menu.max_raises, float(menu.force_all_in)) == ("1p,a", 3, 0.25)
    assert found.arguments[1] == "dcfr"
    assert found.options == {
        "seed": 5,
        "abstraction": None,
        "payoffs": "rake 5% cap 3",
        "alternating": False,
        "delay": 4,
        "discount": (1.0, 2.0, 3.0),
        "options": None,
        "trunk": None,
        "dtype": "float32",
    }


def test_options_of_an_algorithm(recorded: Callable[..., Recorder]) -> None:
    given = ["deals=3", "prune_below=-inf", "shared=false", "discount=[1.5, 0.0, 2.0]", "boards=own"]
    words = [word for text in given for word in ("--option", text)]
    found = recorded("errai.runs.run.configure", "solve", "leduc", "--algorithm", "external", *words)
    assert found.options["options"] == {
        "deals": 3,
        "prune_below": -math.inf,
        "shared": False,
        "discount": (1.5, 0.0, 2.0),
        "boards": "own",
    }


@pytest.mark.parametrize("text", ["deals", "=3", "deals=", "deals=1,5", "deals=three!", "a b=1"])
def test_an_option_that_is_none(text: str, run_errai: Callable[..., tuple[int, str, str]]) -> None:
    status, _, told = run_errai("solve", "leduc", "--algorithm", "external", "--option", text)
    assert status == 2
    assert f"--option must be a name and a value such as 'deals=64', not '{text}'" in told.replace("\n", " ")


@pytest.mark.parametrize(
    ("algorithm", "text", "told"),
    [
        ("external", "deals=three", "deals must be a whole number, not 'three'"),
        ("pcs", "boards=mine", "boards must be 'own', not 'mine'"),
        ("pcs", "boards=false", "boards must be 'own', not false"),
    ],
)
def test_a_word_that_is_no_value(
    algorithm: str, text: str, told: str, run_errai: Callable[..., tuple[int, str, str]]
) -> None:
    status, _, said = run_errai("solve", "leduc", "--algorithm", algorithm, "--option", text)
    assert status == 2
    assert told in said


def test_going_on_with_a_run(recorded: Callable[..., Recorder]) -> None:
    how = ["--threads", "2", "--measure-every", "7", "--tables-in", "disk", "--time", "90"]
    found = recorded("errai.runs.job.prepare_resumed", "solve", "--resume", "--out", "x", *how)
    assert found.arguments == ("x", StopRule(10**12, None, 90.0))
    assert found.options == {"num_threads": 2, "measure_every": 7, "tables_in": "disk"}


@pytest.mark.parametrize(
    "option",
    [
        ["--algorithm", "cfr"],
        ["--bets", "a"],
        ["--abstraction", "full"],
        ["--against-full"],
        ["--payoffs", "plain"],
        ["--dtype", "float32"],
        ["--discount", "1,2,3"],
        ["--delay", "3"],
        ["--alternating"],
        ["--simultaneous"],
    ],
    ids=lambda option: option[0],
)
def test_a_run_that_goes_on_keeps_its_own(run_errai: RunErrai, option: list[str]) -> None:
    status, out, err = run_errai("solve", "--resume", "--out", "x", *option)
    name = "--alternating" if option[0] == "--simultaneous" else option[0]
    assert (status, out) == (2, "")
    assert err == f"errai: {name} needs a game: a run that is resumed keeps its own.\n"


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [([], 600.0), (["--checkpoint-every", "5"], 5.0), (["--checkpoint-every", "0"], 0.0)],
)
def test_seconds_between_checkpoints(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, typed: list[str], seconds: float
) -> None:
    seen = []

    def run(self: Job, report: object, between: object, checkpoint_every: float) -> None:
        seen.append(checkpoint_every)
        raise UsageError("seen")

    monkeypatch.setattr(Job, "run", run)
    run_errai("solve", "kuhn", *typed)
    assert seen == [seconds]


def test_against_a_full_opponent(recorded: Callable[..., Recorder]) -> None:
    command = ["solve", "leduc", "--abstraction", "[JQ.K]", "--against-full", "--algorithm", "cfr"]
    more = ["--iterations", "8", "--measure-every", "4", "--threads", "2", "--dtype", "float32"]
    found = recorded("errai.runs.abstracted.solve_abstracted_against_full", *command, *more)
    _, (first, second), algorithm, iterations = found.arguments
    assert (first.name, second.name, algorithm, iterations) == ("[JQ.K]", "[JQ.K]", "cfr", 8)
    assert {name: found.options[name] for name in ("num_threads", "measure_every", "dtype", "delay")} == {
        "num_threads": 2,
        "measure_every": 4,
        "dtype": "float32",
        "delay": 0,
    }


def test_progress_against_a_full_opponent_tells_of_the_opponent(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A best response to the abstracted position sits opposite; chips of Leduc's ante become mbb/g."""
    from errai.cli.progress import Progress
    from errai.response.results import Exploitability
    from errai.solvers.table_solver import Measurement

    shown = []

    def solve(*_: object, report: Callable[[int, Measurement], None], **__: object) -> None:
        report(0, Measurement(3, 1.0, Exploitability((0.25, 0.5), 1)))
        report(1, Measurement(4, 1.0, Exploitability((0.25, 0.5), 1)))
        raise UsageError("enough")

    monkeypatch.setattr("errai.runs.abstracted.solve_abstracted_against_full", solve)
    monkeypatch.setattr(Progress, "show", lambda self, *one: shown.append(one))
    run_errai("solve", "leduc", "--abstraction", "[JQ.K]", "--against-full", "--iterations", "10")
    assert shown == [
        ("position 0 abstracted, iteration 3: a best response wins 500 mbb/g", 3, 20),
        ("position 1 abstracted, iteration 4: a best response wins 250 mbb/g", 14, 20),
    ]


def test_exploit(recorded: Callable[..., Recorder]) -> None:
    options = ["--bets", "1p,a", "--max-raises", "2", "--payoffs", "rake 5% cap 3", "--keep", "kept"]
    found = recorded(
        "errai.runs.measure.find_measurable", "exploit", "half", "--game", "nolimit-holdem", *options
    )
    name, game, menu, payoffs, keep = found.arguments
    assert (name, game, payoffs, keep) == ("half", "nolimit-holdem", "rake 5% cap 3", "kept")
    assert (menu.text, menu.max_raises) == ("1p,a", 2)
    simple = ["exploit", "half", "--game", "leduc", "--threads", "3"]
    assert recorded("errai.runs.measure.Measurable.exploitability", *simple).arguments[0] == 3
    assert recorded("errai.runs.measure.Measurable.estimate", *simple, "--estimate").arguments == (3, None, 0)


def test_match(recorded: Callable[..., Recorder]) -> None:
    options = ["--hands", "70", "--duplicate", "--until", "+-5", "--seed", "9"]
    files = ["--log", "x.log", "--phh", "x.phhs", "--results", "x.db"]
    command = ["match", "half", "random", "--game", "leduc", *options]
    found = recorded("errai.play.play_match.play_match", *command, *files)
    first, second, rules, chosen = found.arguments
    assert (first, second, rules.name) == ("half", "random", "leduc")
    assert chosen == MatchOptions(70, True, 9, "+-5")
    assert [found.options[name] for name in ("log", "phh", "results")] == ["x.log", "x.phhs", "x.db"]
    found = recorded("errai.play.crosstable.play_all", *command, "--all", ".", "--results", "x.db")
    assert found.arguments == (["half", "random"], "leduc", MatchOptions(70, True, 9, "+-5"))
    assert found.options["results"] == "x.db"


def test_every_number_of_an_estimate_is_told(run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Estimate(
        steps=2_000_000_000,
        seconds=5.0,
        num_threads=3,
        sample="a river",
        table_bytes=7 << 10,
        hand_bytes=9 << 10,
        free_bytes=11 << 10,
    )
    monkeypatch.setattr("errai.runs.measure.Measurable.estimate", lambda *_: found)
    command = ["exploit", "half", "--game", "leduc", "--estimate"]
    assert json.loads(run_errai(*command, "--json")[1]) == {
        "game": "leduc",
        "steps": 2_000_000_000,
        "seconds": 5.0,
        "threads": 3,
        "sample": "a river",
        "table_bytes": 7 << 10,
        "hand_bytes": 9 << 10,
        "fits": False,
    }
    assert run_errai(*command) == (
        0,
        "leduc: 2,000,000,000 steps (a betting node with a hand at a board, for both positions), about "
        "5.0 s here on 3 threads, at the pace of a river (2.50 ns a step)\n"
        "  memory: 7.0 KiB for the strategy's tables and 9.0 KiB for hands and boards at a time, which does "
        "not fit into the 11.0 KiB that are free\n",
        "",
    )


SPOT = ["spot", "--board", "QsJh2h", "--oop", "AhKh", "--ip", "JsTs", "--pot", "50"]


def test_spot(recorded: Callable[..., Recorder]) -> None:
    sizes = ["--stack", "200", "--bets", "50%", "--ip-bets", "a", "--raises", "60%", "--ip-raises", "70%"]
    more = ["--force-all-in", "0.1", "--max-raises", "3", "--chip", "0.5"]
    found = recorded("errai.strategy.spot_tree.SpotBetting.of", *SPOT, *sizes, *more)
    assert found.arguments == (50.0, 200.0, ("50%", "a"), ("60%", "70%"), 0.1, None, 3, 0.5)
    found = recorded("errai.strategy.spot_tree.SpotBetting.of", *SPOT, "--limit", "10/20/20")
    assert found.arguments == (50.0, None, None, None, 0.0, [10.0, 20.0, 20.0], None, None)
    river = [*SPOT[:2], "QsJh2h7c3d", *SPOT[3:], "--stack", "9"]
    how = ["--until", "0.5%", "--time", "10m", "--algorithm", "cfr+", "--threads", "2", "--iterations", "7"]
    found = recorded("errai.runs.spot.solve_spot_tree", *river, *how)
    assert found.arguments[1] == 7
    names = ("algorithm", "until", "seconds", "num_threads")
    assert [found.options[name] for name in names] == ["cfr+", 0.5, 600.0, 2]
    found = recorded("errai.runs.spot.solve_spot_tree", *river)
    assert (found.arguments[1], *(found.options[name] for name in names)) == (None, "dcfr", None, None, None)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if WITHOUT_JIT:
        pytest.skip("features of a whole game")
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    leduc = load_game("leduc")
    assert isinstance(leduc, PokerRules)
    abstract(leduc, "IR-HS 2-4", tmp_path / "base")
    return tmp_path


def test_build(run_errai: RunErrai, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr("errai.abstraction.build.build_abstraction", recorder)
    work = ["--seed", "3", "--restarts", "4", "--iterations", "5", "--sample", "6", "--passes", "7"]
    command = ["abstract", "build", "IR-HS 2-4", "--game", "leduc", "--out", "new", *work, "--threads", "2"]
    assert run_errai(*command)[0] == 2
    assert recorder.arguments[2] == BuildOptions(
        seed=3, restarts=4, max_iterations=5, sample_size=6, full_passes=7, num_threads=2
    )
    assert recorder.options["out"] == Path("new")


def test_public(run_errai: RunErrai, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr("errai.abstraction.public.abstract.plan_public", recorder)
    work = ["--public", "2", "--buckets", "5", "--round", "2", "--restarts", "4", "--seed", "6"]
    assert run_errai("abstract", "public", "base", "--out", "new", *work, "--threads", "2")[0] == 2
    assert recorder.arguments[1] == Path("new")
    assert recorder.options == {
        "special_round": 1,
        "public_clusters": 2,
        "buckets": 5,
        "clusters": None,
        "restarts": 4,
        "seed": 6,
        "num_threads": 2,
    }


@pytest.mark.parametrize("restarts", [1, 4])
def test_public_clusters_start_as_often_as_asked(
    run_errai: RunErrai, base: Path, monkeypatch: pytest.MonkeyPatch, restarts: int
) -> None:
    recorder = Recorder()
    monkeypatch.setattr("errai.abstraction.public.abstract.cluster_public_boards", recorder)
    command = ["abstract", "public", "base", "--public", "2", "--restarts", str(restarts), "--seed", "6"]
    assert run_errai(*command)[0] == 2
    assert recorder.options == {"seed": 6, "restarts": restarts}


def test_compare(run_errai: RunErrai, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr("errai.abstraction.compare.compare_round", recorder)
    command = ["abstract", "compare", "base", "base", "--deals", "77", "--seed", "9"]
    assert run_errai(*command) == (2, "", "errai: recorded.\n")
    assert recorder.arguments[2:] == (0, 0, 77, 9)
