"""`errai.train` and its file: what is read, refused, built, run, resumed and told."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errai
from errai.abstraction.stored import PlannedAbstraction
from errai.array_file import read_array
from errai.errors import UsageError
from errai.runs import run as run_module
from errai.runs import training as training_module
from errai.runs.configuration import RunConfiguration
from errai.runs.evaluation import Evaluation
from errai.runs.folder import RunFolder, Schedule
from errai.runs.job import prepare, prepare_resumed
from errai.runs.run import configure
from errai.runs.sections import FormatSection
from errai.runs.training import Training
from errai.runs.training_file import parse_entries, preset_names, read_preset, read_training
from errai.solvers.solve import StopRule
from errai.solvers.update_rules import find_rule
from errai.strategy.bucketed import BucketStrategy
from errai.tables.checkpoint import read_checkpoint

RunErrai = Callable[..., tuple[int, str, str]]

LEDUC: dict[str, Any] = {
    "game": {"name": "leduc"},
    "algorithm": {"name": "cfr+"},
    "stop": {"iterations": 30},
    "evaluation": {"every": 10, "agents": ["always-call"]},
}
RHODE_ISLAND: dict[str, Any] = {
    "game": {"name": "rhode-island"},
    "abstraction": {"name": "IR-HS-SHS 13-12-15"},
    "algorithm": {"name": "external", "average_power": 1.0},
    "random": {"seed": 5},
    "stop": {"iterations": 600},
    "evaluation": {"every": 200, "agents": ["always-call", "half"], "deals": 50},
}


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for abstractions; compiled kernels stay where they are."""
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def by_buckets(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every game goes by buckets, as hold'em does, whose hands never are in memory."""
    monkeypatch.setattr(run_module, "MOST_CELL_BYTES", 0)
    return own_cache


def tables_of(run: Any) -> list[Any]:
    return [*run.strategy.tables, *run.current.tables]


# What is read


def test_presets_are_the_promised_ones() -> None:
    sizes = ("quick", "small", "large")
    hold_em = [f"{game}-{size}" for game in ("limit", "nolimit") for size in sizes]
    assert preset_names() == tuple(sorted([*hold_em, "leduc", "rhode-island"]))
    for name in preset_names():
        found = read_preset(name)
        assert found.description
        assert found.stop != type(found.stop)()


@pytest.mark.parametrize("name", ["leduc", "rhode-island", "limit-quick", "nolimit-quick", "limit-small"])
def test_presets_say_what_they_need(own_cache: Path, name: str) -> None:
    needs = Training.find(name).needs()
    slots = {
        "leduc": 672,
        "limit-quick": 334_789,
        "nolimit-quick": 75_713,
        "limit-small": 16_565_549,
    }
    if name in slots:
        assert needs.slots == slots[name]
    assert needs.table_bytes == 2 * needs.slots * (8 if name == "leduc" else 4)
    assert needs.disk_bytes >= 2 * needs.table_bytes
    if name.endswith("quick"):
        assert needs.disk_bytes < 10**9
        assert needs.seconds is not None
        assert needs.preparation_seconds + needs.seconds < 120


def test_a_file_is_read_with_the_rules_own_options() -> None:
    file = parse_entries(dict(LEDUC), "x")
    assert file.algorithm == find_rule("cfr+")
    file = parse_entries(LEDUC | {"algorithm": {"name": "dcfr", "delay": 3}}, "x")
    assert file.algorithm.model_dump()["delay"] == 3
    assert file.algorithm.model_dump()["discount"] == (1.5, 0.0, 2.0)


def test_the_runs_own_file_trains_the_same_again(tmp_path: Path) -> None:
    first = errai.train(LEDUC, tmp_path / "a")
    again = errai.train(tmp_path / "a" / "run.toml", tmp_path / "b")
    assert (tmp_path / "a" / "run.toml").read_text() == (tmp_path / "b" / "run.toml").read_text()
    for mine, other in zip(tables_of(first), tables_of(again), strict=True):
        assert np.array_equal(mine, other)
    assert [one.iteration for one in first.evaluations] == [10, 20, 30]


def test_the_configuration_of_a_training_comes_back(tmp_path: Path) -> None:
    errai.train(LEDUC | {"machine": {"threads": 1}, "checkpoints": {"seconds": 5.0}}, tmp_path / "a")
    text = (tmp_path / "a" / "run.toml").read_text()
    found = RunConfiguration.parse(text, "run.toml")
    assert found.text() == text
    assert found.stop is not None
    assert found.stop.iterations == 30
    assert found.evaluation is not None
    assert found.evaluation.agents == ("always-call",)
    assert found.machine is not None
    assert found.machine.threads == 1
    assert found.checkpoint_seconds == 5.0


def test_solve_keeps_the_same_sections(tmp_path: Path) -> None:
    errai.solve("leduc", iterations=20, until=0.5, measure_every=10, num_threads=1, out=tmp_path / "run")
    found = RunFolder(tmp_path / "run").configuration
    assert found.stop is not None
    assert found.stop.model_dump() == {"iterations": 20, "seconds": None, "mbb_per_game": 0.5}
    assert found.evaluation is not None
    assert found.evaluation.every == 10
    assert found.machine is not None
    assert found.machine.threads == 1


BAD: list[tuple[dict[str, Any], str]] = [
    ({"luck": {}}, "luck is unknown: expected description, format, game, bets, abstraction, algorithm,"),
    ({"game": {"name": "chess"}}, "game: 'chess' is neither a game nor an ACPC game file"),
    ({"game": {"name": "bluff-1-1"}}, "game.name 'bluff-1-1' is a dice game: expected a card game"),
    ({"algorithm": {"name": "best"}}, "algorithm: unknown algorithm 'best'"),
    ({"algorithm": {"name": "cfr+", "speed": 3}}, "algorithm.speed is unknown: expected name, alternating"),
    ({"algorithm": {"name": "lp"}}, "algorithm.name 'lp' has no iterations"),
    ({"algorithm": {"name": "x", "class": "a.B"}}, "algorithm.class 'a.B' is not known to Errai"),
    ({"algorithm": {"delay": 3}}, "algorithm.name is missing"),
    ({"bets": {"menu": "big"}}, "bets is {'menu': 'big'}: 'big' is not a menu of bet sizes"),
    (
        {"abstraction": {}},
        "abstraction is {}: expected a name such as 'IR-KE-KO 169-200-200-200'",
    ),
    ({"abstraction": {"name": "IR-KE 3"}}, "abstraction.name: expected 2 sizes, one for each round"),
    (
        {"abstraction": {"name": "IR-KE-KO 3-500"}},
        "abstraction.name: the number of buckets in round 2 of leduc must be 1 to",
    ),
    (
        {"abstraction": {"folder": "nowhere"}},
        "abstraction.folder: 'nowhere' is not an abstraction of 'leduc'",
    ),
    ({"abstraction": {"name": "[JQ.K]", "speed": 1}}, "abstraction.speed is unknown: expected name, finger"),
    ({"payoffs": {"text": "rake 5"}}, "payoffs.text is 'rake 5': 'rake 5' are not payoffs"),
    ({"tables": {"dtype": "int8"}}, "tables.dtype must be 'float32' or 'float64', not 'int8'"),
    ({"random": {"seed": -1}}, "random.seed must be 0 or more, not -1"),
    ({"stop": {"iterations": 0}}, "stop.iterations must be 1 or more, not 0"),
    ({"stop": {"seconds": 0}}, "stop.seconds must be more than 0, not 0"),
    ({"stop": {"time": 5}}, "stop.time is unknown: expected iterations, seconds, mbb_per_game"),
    ({"checkpoints": {"seconds": -1.0}}, "checkpoints.seconds must be 0 or more, not -1.0"),
    ({"evaluation": {"agents": ["nobody"]}}, "evaluation.agents is ('nobody',): unknown agent 'nobody'"),
    ({"evaluation": {"flops": 1}}, "evaluation.flops must be 2 or more, not 1"),
    ({"evaluation": {"every": 1, "every_seconds": 1}}, "'every' and 'every_seconds' are both given"),
    ({"evaluation": {"exploitability": True}}, "'exploitability' needs 'flops'"),
    ({"machine": {"threads": 0}}, "machine.threads must be 1 or more, not 0"),
    ({"format": {"version": 9}}, "has format version 9: expected version 4"),
    (
        {"stop": {"mbb_per_game": 1.0}, "evaluation": {"exact": False}},
        "stop.mbb_per_game needs evaluation.exact, which is false",
    ),
]


@pytest.mark.parametrize(("change", "told"), BAD, ids=lambda value: str(value)[:40])
def test_what_cannot_work_is_refused_by_the_name_of_the_key(
    own_cache: Path, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        errai.train(LEDUC | change, tmp_path / "run")
    assert told in str(refused.value)
    assert not (tmp_path / "run").exists()
    assert not own_cache.exists() or not [*own_cache.glob("abstraction-*")]


def test_files_that_are_none_are_refused(tmp_path: Path, run_errai: RunErrai) -> None:
    for content, told in (
        (b"[game", "is not TOML"),
        (b"\xff", "is not TOML"),
        (b"", "is invalid: game is missing"),
    ):
        (tmp_path / "a.toml").write_bytes(content)
        with pytest.raises(UsageError, match=told):
            read_training(tmp_path / "a.toml")
    for line, told in (
        (["train"], "missing a configuration"),
        (["train", "none.toml"], "'none.toml' was not found: expected a .toml file or a preset (leduc, "),
        (["train", "--preset", "huge"], "unknown preset 'huge': expected one of leduc, limit-large"),
        (["train", "a.toml", "--preset", "leduc"], "--preset and CONFIG are both given"),
        (["train", "--resume", "--out", "none"], "'none' is not a run"),
        (["train", "--resume", "--out", "none", "--seed", "3"], "--seed needs a configuration"),
        (["train", "--preset", "leduc", "--until", "1"], "--until must be an exploitability"),
    ):
        status, out, err = run_errai(*line)
        assert (status, out) == (2, "")
        assert told in err


def test_more_than_the_machine_has_is_refused_with_the_key(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_module, "available_memory", lambda: 1000)
    with pytest.raises(UsageError, match=r"game\.name: .* of memory \(672 slots\), and 1000 bytes"):
        errai.train(LEDUC, tmp_path / "run")
    with pytest.raises(UsageError, match=r"abstraction\.name: the run needs .* of memory"):
        errai.train(LEDUC | {"abstraction": {"name": "IR-KE-KO 3-5"}}, tmp_path / "run")
    monkeypatch.undo()
    monkeypatch.setattr(training_module, "free_disk", lambda folder: 20_000)
    with pytest.raises(UsageError, match=r"game\.name: .* needs 21\.0 KiB of disk .* 19\.5 KiB are free"):
        errai.train(LEDUC, tmp_path / "run")
    assert not (tmp_path / "run").exists()


# What is built


def test_an_abstraction_is_built_once_and_found_again(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = LEDUC | {"abstraction": {"name": "IR-KE-KO 3-5", "seed": 4}}
    first = errai.train(entries, tmp_path / "a")
    folders = [*own_cache.glob("abstraction-*")]
    assert len(folders) == 1
    planned = Training.find(entries).planned
    assert planned is not None
    assert planned.folder == folders[0]
    assert (planned.is_built, planned.missing_bytes, planned.building_seconds()) == (True, 0, 0.0)

    def never(*arguments: object, **more: object) -> None:
        raise AssertionError("it is there")

    monkeypatch.setattr("errai.abstraction.stored.build_abstraction", never)
    again = errai.train(entries, tmp_path / "b")
    for mine, other in zip(tables_of(first), tables_of(again), strict=True):
        assert np.array_equal(mine, other)
    found = RunFolder(tmp_path / "a").configuration.abstraction
    assert found is not None
    assert (found.name, found.seed, found.folder) == ("IR-C-KO 3-5", 4, None)


def test_an_abstraction_in_a_folder_is_used_as_it_is(own_cache: Path, tmp_path: Path) -> None:
    errai.abstract("leduc", "IR-KE-KO 3-5", tmp_path / "kept")
    entries = LEDUC | {"abstraction": {"folder": str(tmp_path / "kept")}}
    run = errai.train(entries, tmp_path / "a")
    named = errai.train(LEDUC | {"abstraction": {"name": "IR-KE-KO 3-5"}})
    for mine, other in zip(tables_of(run), tables_of(named), strict=True):
        assert np.array_equal(mine, other)
    entries["abstraction"]["fingerprint"] = "0123"
    with pytest.raises(UsageError, match=r"abstraction\.fingerprint is '0123', and 'IR-C-KO 3-5' has"):
        errai.train(entries, tmp_path / "b")


# What is run


def test_evaluations_are_lines_with_the_keys_of_all_json(tmp_path: Path) -> None:
    run = errai.train(LEDUC, tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "progress.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == [10, 20, 30]
    last = run.evaluations[-1]
    exact = errai.exploitability(run.strategy)
    assert lines[-1]["exploitability_mbb_per_game"] == exact.mbb_per_game == last.mbb_per_game
    value = errai.expected_value(run.strategy, "always-call")
    assert lines[-1]["agents"] == [
        {
            "agent": "always-call",
            "expected_values_chips": list(value.positions),
            "expected_mbb_per_game": value.mbb_per_game,
            "interval_mbb_per_game": None,
        }
    ]
    assert RunFolder(tmp_path / "run").evaluations() == list(run.evaluations)


def test_a_game_by_buckets_is_trained_loaded_and_measured(
    by_buckets: Path, tmp_path: Path, run_errai: RunErrai
) -> None:
    run = errai.train(RHODE_ISLAND, tmp_path / "run")
    assert isinstance(run.strategy, BucketStrategy)
    assert (run.measurements, [one.iteration for one in run.evaluations]) == ((), [200, 400, 600])
    assert [one.agent for one in run.evaluations[-1].agents] == ["always-call", "half"]
    loaded = errai.load_strategy(tmp_path / "run", verify=True)
    assert isinstance(loaded, BucketStrategy)
    for mine, other in zip(run.strategy.tables, loaded.tables, strict=True):
        assert np.array_equal(mine, other)
    found = RunFolder(tmp_path / "run").configuration.abstraction
    planned = Training.find(RHODE_ISLAND).planned
    assert found is not None
    assert planned is not None
    assert (found.fingerprint, found.folder) == (planned.fingerprint, str(planned.folder))
    status, out, _ = run_errai("show", "run", "c", "--hand", "As")
    assert status == 0
    assert out.startswith("rhode-island after 'c' with As: c ")
    status, out, _ = run_errai("exploit", "run", "--flops", "2", "--threads", "1")
    assert (status, "2 flops" in out) == (0, True)


def test_solve_goes_by_buckets_where_it_must(by_buckets: Path, tmp_path: Path, run_errai: RunErrai) -> None:
    errai.abstract("rhode-island", "IR-HS-SHS 13-12-15", tmp_path / "kept")
    options: dict[str, Any] = {"algorithm": "external", "iterations": 600, "seed": 5}
    options |= {"options": {"average_power": 1.0}, "abstraction": tmp_path / "kept"}
    solved = errai.solve("rhode-island", **options)
    trained = errai.train(RHODE_ISLAND)
    for mine, other in zip(tables_of(solved), tables_of(trained), strict=True):
        assert np.array_equal(mine, other)
    with pytest.raises(UsageError, match="a target needs the exact exploitability"):
        errai.solve("rhode-island", until=1.0, **options)
    line = ["solve", "rhode-island", "--algorithm", "external", "--abstraction", "kept", "--iterations", "50"]
    status, out, _ = run_errai(*line, "--out", "run")
    assert status == 0
    assert "rhode-island: trained for 50 iterations" in out
    assert "errai exploit run --flops 4" in out


def test_a_game_by_buckets_goes_on_to_the_same_bits(by_buckets: Path, tmp_path: Path) -> None:
    straight = errai.train(RHODE_ISLAND)
    errai.train(RHODE_ISLAND | {"stop": {"iterations": 250}}, tmp_path / "run")
    resumed = errai.train(RHODE_ISLAND, tmp_path / "run", resume=True)
    for mine, other in zip(tables_of(straight), tables_of(resumed), strict=True):
        assert np.array_equal(mine, other)
    assert resumed.evaluations[-1].agents == straight.evaluations[-1].agents


@pytest.mark.parametrize("name", ["cs", "outcome", "pcs", "opcs", "spcs", "cfr-br"])
def test_every_algorithm_that_samples_goes_by_buckets(by_buckets: Path, tmp_path: Path, name: str) -> None:
    change = {"algorithm": {"name": name}, "stop": {"iterations": 6}, "evaluation": {"every": 3}}
    straight = errai.train(RHODE_ISLAND | change)
    errai.train(RHODE_ISLAND | change | {"stop": {"iterations": 4}}, tmp_path / "run")
    resumed = errai.train(RHODE_ISLAND | change, tmp_path / "run", resume=True)
    loaded = errai.load_strategy(tmp_path / "run", verify=True)
    for mine, other in zip(tables_of(straight), tables_of(resumed), strict=True):
        assert np.array_equal(mine, other)
    for mine, other in zip(straight.strategy.tables, loaded.tables, strict=True):
        assert np.array_equal(mine, other)
        assert mine.any()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "iterations"), [("pcs", 6), ("external", 2000)])
def test_limit_holdem_goes_on_by_buckets_with_the_same_bytes(
    tmp_path: Path, run_errai: RunErrai, name: str, iterations: int
) -> None:
    """Building the buckets, once for both, takes most of the time."""
    (tmp_path / "limit.toml").write_text(
        '[game]\nname = "limit-holdem"\n\n[abstraction]\nname = "IR-PHS-SHS 169-5-5-5"\n\n'
        f'[algorithm]\nname = "{name}"\n\n[random]\nseed = 3\n'
    )
    line = ("train", "limit.toml", "--checkpoint-every", "0")
    assert run_errai(*line, "--out", "straight", "--iterations", str(iterations))[0] == 0
    assert run_errai(*line, "--out", "parts", "--iterations", str(iterations // 3))[0] == 0
    begun = read_checkpoint(Path("parts")).state["iteration"]
    assert run_errai("train", "--resume", "--out", "parts", "--iterations", str(iterations))[0] == 0
    whole, parts = (read_checkpoint(Path(folder)) for folder in ("straight", "parts"))
    assert (begun, whole.state["iteration"], parts.state["iteration"]) == (
        iterations // 3,
        iterations,
        iterations,
    )
    assert whole.arrays.keys() == parts.arrays.keys()
    for array, (file, _) in whole.arrays.items():
        straight, resumed = (
            read_array(Path(folder) / found)[1]
            for folder, found in (("straight", file), ("parts", parts.arrays[array][0]))
        )
        assert straight.tobytes() == resumed.tobytes()
        assert straight.any()


def test_a_walk_of_all_hands_is_refused_where_they_do_not_fit(
    by_buckets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_module, "available_memory", lambda: 10_000)
    with pytest.raises(UsageError, match=r"abstraction\.name: the run needs .* of memory"):
        errai.train(RHODE_ISLAND | {"algorithm": {"name": "cfr+"}})


def test_a_run_by_buckets_without_its_abstraction_says_so(by_buckets: Path, tmp_path: Path) -> None:
    errai.train(RHODE_ISLAND | {"stop": {"iterations": 10}}, tmp_path / "run")
    planned = Training.find(RHODE_ISLAND).planned
    assert planned is not None
    planned.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"'IR-HS-SHS 13-12-15' .* was not found in .*run\.toml' buil"):
        errai.load_strategy(tmp_path / "run")
    (tmp_path / "elsewhere").rename(tmp_path / "run" / "abstraction")
    assert isinstance(errai.load_strategy(tmp_path / "run"), BucketStrategy)
    again = errai.train(tmp_path / "run" / "run.toml")
    assert planned.is_built
    for mine, other in zip(errai.load_strategy(tmp_path / "run").tables, again.strategy.tables, strict=True):
        assert np.array_equal(mine, other)


def test_what_cannot_be_measured_by_buckets_is_refused(by_buckets: Path) -> None:
    for change, told in (
        ({"stop": {"mbb_per_game": 1.0}}, "stop.mbb_per_game needs the exact exploitability"),
        ({"evaluation": {"exact": True}}, "evaluation.exact needs the exact exploitability"),
        (
            {"evaluation": {"agents": ["half"]}},
            "evaluation.agents needs evaluation.deals or evaluation.flops",
        ),
    ):
        with pytest.raises(UsageError, match=re.escape(told)):
            errai.train(RHODE_ISLAND | change)


# What is resumed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"algorithm": {"name": "cfr"}}, "a run with algorithm 'cfr+', not 'cfr'"),
        ({"algorithm": {"name": "cfr+", "delay": 2}}, "a run with delay '0', not '2'"),
        ({"random": {"seed": 1}}, "a run with seed '0', not '1'"),
        ({"tables": {"dtype": "float32"}}, "a run with dtype 'float64', not 'float32'"),
        ({"payoffs": {"text": "rake 5%"}}, "a run with payoffs 'plain', not 'rake 5%'"),
        ({"abstraction": {"name": "[JQ.K]"}}, "a run with abstraction 'None', not '[JQ.K]'"),
        ({"game": {"name": "kuhn"}}, "a run with game 'leduc', not 'kuhn'"),
    ],
)
def test_a_changed_configuration_is_not_resumed(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    errai.train(LEDUC, tmp_path / "run")
    with pytest.raises(UsageError, match=re.escape(told)):
        errai.train(LEDUC | change, tmp_path / "run", resume=True)


def test_when_to_stop_and_what_to_measure_may_change(tmp_path: Path) -> None:
    errai.train(LEDUC, tmp_path / "run")
    change = {"stop": {"iterations": 50}, "evaluation": {"every": 20}, "machine": {"threads": 1}}
    resumed = errai.train(LEDUC | change, tmp_path / "run", resume=True)
    assert [(one.iteration, len(one.agents)) for one in resumed.evaluations] == [
        (10, 1),
        (20, 1),
        (30, 1),
        (40, 0),
        (50, 0),
    ]
    straight = errai.train(LEDUC | {"stop": {"iterations": 50}})
    for mine, other in zip(tables_of(straight), tables_of(resumed), strict=True):
        assert np.array_equal(mine, other)
    job = prepare_resumed(tmp_path / "run")
    job.close()
    assert (job.stop.iterations, job.measure_every, job.schedule.evaluation.agents) == (50, 20, ())


def test_runs_of_the_format_before_are_read_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entries(self: Evaluation) -> dict[str, Any]:
        assert self.exploitability is not None
        return {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "best_response_values": self.exploitability.best_response_values,
            "big_blind": 1,
            "payoffs": "plain",
            "profile_values": None,
            "chips": self.exploitability.chips,
            "mbb_per_game": self.exploitability.mbb_per_game,
        }

    def state(self: Schedule) -> dict[str, Any]:
        return {"stop": asdict(self.stop), "measure_every": self.measure_every}

    configured = configure(errai.load_game("leduc"))
    old = configured.configuration.model_copy(update={"format": FormatSection(version=2)})
    with monkeypatch.context() as patch:
        patch.setattr(Evaluation, "entries", entries)
        patch.setattr(Schedule, "state", state)
        patch.setattr(RunConfiguration, "begun_as", lambda self, **sections: self)
        before = prepare(configured._replace(configuration=old), StopRule(20), out=tmp_path / "run").run()
    text = (tmp_path / "run" / "run.toml").read_text()
    assert "version = 2" in text
    assert "[stop]" not in text
    assert RunFolder(tmp_path / "run").evaluations() == list(before.evaluations)
    straight = errai.solve("leduc", iterations=40)
    resumed = errai.solve("leduc", iterations=40, out=tmp_path / "run", resume=True)
    for mine, other in zip(tables_of(straight), tables_of(resumed), strict=True):
        assert np.array_equal(mine, other)


# The command


def test_the_command_tells_what_it_needs_and_what_came_out(tmp_path: Path, run_errai: RunErrai) -> None:
    status, out, _ = run_errai("train", "--preset", "leduc", "--iterations", "40", "--out", "run")
    assert status == 0
    assert out.startswith("leduc: Leduc hold'em, all of it, to a thousandth of an ante\nneeds about: memory ")
    assert "from always-raise" in out
    assert out.endswith("saved in run; next: errai show run, errai exploit run\n")
    status, out, _ = run_errai("train", "--resume", "--out", "run", "--iterations", "50", "--json")
    told = json.loads(out)
    assert (status, told["iterations"], told["out"]) == (0, 50, "run")
    assert [one["agent"] for one in told["agents"]] == ["always-call", "always-raise", "half", "random"]
    status, out, _ = run_errai("train", "--preset", "leduc", "--iterations", "40", "--out", "run")
    assert status == 2
    status, out, _ = run_errai("train", "--preset", "list")
    assert "limit-quick" in out


def test_an_estimate_computes_nothing(own_cache: Path, tmp_path: Path, run_errai: RunErrai) -> None:
    status, out, _ = run_errai("train", "--preset", "limit-quick", "--estimate", "--json")
    told = json.loads(out)
    assert (status, told["slots"], told["fits"]) == (0, 334_789, True)
    assert not (tmp_path / "runs").exists()
    assert not own_cache.exists()
    status, out, _ = run_errai("train", "--preset", "leduc", "--estimate")
    assert "needs about: memory" in out


def test_an_interrupted_training_saves_and_goes_on(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "errai", "train", "--preset", "leduc", "--time", "10m", "--out", "run"]
    with subprocess.Popen(
        line, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stderr is not None
        while "iteration" not in run.stderr.readline():
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert "ending after this iteration" in err
    assert "go on with: errai train --resume --out run" in out
    assert "iteration" in (tmp_path / "run" / "log.txt").read_text()
    done = RunFolder(tmp_path / "run").state()["iteration"]
    job = prepare_resumed(tmp_path / "run")
    job.close()
    assert job.solver.iteration == done > 0


def test_plans_know_the_fingerprint_before_the_build(own_cache: Path) -> None:
    from errai.abstraction.options import BuildOptions

    planned = PlannedAbstraction.of(errai.load_game("leduc"), "IR-KE-KO 3-5", BuildOptions(seed=2))
    assert not planned.is_built
    assert planned.missing_bytes > 0
    before = planned.fingerprint
    assert planned.open().fingerprint == before
    assert planned.is_built
