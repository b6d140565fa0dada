"""Features and abstractions killed at every durable step, once, twice and any number of times."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killed_features import SMALL_STEPS
from killed_states import KilledStates
from naive import WITHOUT_JIT

import errai
from errai.abstraction import build as build_module
from errai.abstraction.build import build_abstraction
from errai.abstraction.features import build as feature_build
from errai.abstraction.features import stage as feature_stage
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.options import BuildOptions
from errai.abstraction.public.build import build_public_abstraction
from errai.abstraction.public.clusters import PublicClusters
from errai.abstraction.recipe import parse_recipes
from errai.array_file import ArrayHeader, PartialArray
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="the kernels are not what is tested here")


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Many small steps on one thread; times that are always the same."""
    for module, name, value in SMALL_STEPS:
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(build_module, "perf_counter", lambda: 0.0)
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))


def leduc_features(num_clusters: int = 2) -> Features:
    return build_features(FeaturePlan(load_game("leduc"), num_clusters), num_threads=1)


def unless_done(job: Callable[[], Any]) -> Callable[[], None]:
    """Return a job that is content where a killed one had finished."""

    def run() -> None:
        with suppress(FileExistsError):
            try:
                job()
            except UsageError as error:
                raise (FileExistsError if "holds an abstraction already" in str(error) else error) from None

    return run


def watched(folder: Path, job: Callable[[Callable[..., None]], Any]) -> KilledStates:
    """Return the states of a job that is given a report: it may be killed between two chunks, too."""
    states: list[KilledStates] = []

    def report(*_: object) -> None:
        if states:
            states[0].step()

    found = KilledStates(folder, lambda: job(report))
    states.append(found)
    return found


def test_features_killed_any_number_of_times(tmp_path: Path) -> None:
    """136 states in all, from 62 after the first kill; a straight build has over 150 durable steps."""
    plan = FeaturePlan(load_game("leduc"), 2)
    states = watched(plan.folder, lambda report: build_features(plan, 1, report))
    names = {path.removesuffix(".array") for path in states.finished}
    assert names == {array.header.name for array in plan.arrays.values()} | {"features.json"}
    assert states.num_steps > 150
    assert states.verify(1) > 50
    assert states.verify() > 100


@pytest.mark.slow
def test_features_killed_for_real(tmp_path: Path) -> None:
    """By SIGKILL, once at every durable step: what is left is what the tests around go on from."""
    script = Path(__file__).with_name("killed_features.py")
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)
    assert counts["steps"] > 120
    assert counts == dict.fromkeys(counts, counts["steps"])


def test_features_that_need_more_killed_any_number_of_times(tmp_path: Path) -> None:
    """Strengths are there; OCHS comes on top of them."""
    plan = FeaturePlan(load_game("leduc"), 2)
    home = tmp_path / "strengths"
    build_features(FeaturePlan(load_game("leduc"), 2, needed=()), 1)
    shutil.copytree(plan.folder, home)

    def job(report: Callable[..., None]) -> None:
        for path in home.iterdir():
            if path.suffix == ".array":
                (plan.folder / path.name).write_bytes(path.read_bytes())
        build_features(plan, 1, report)

    states = watched(plan.folder, job)
    assert len(states.finished) == len(plan.arrays) + 1
    assert states.verify() > 50


def test_numbers_are_on_disk_before_the_journal_that_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(PartialArray, "flush", lambda self: calls.append("numbers"))
    monkeypatch.setattr(feature_stage, "write_text", lambda path, text: calls.append(path.name))
    headers = [ArrayHeader(name, (3,), "<u2", "hands") for name in "ab"]
    stage = feature_stage.Stage(tmp_path, "round-0", headers, 2, "3 by 2")
    stage.count()
    assert calls == ["numbers", "numbers", ".round-0.journal"]
    monkeypatch.setattr(feature_stage, "SECONDS_BETWEEN_NOTES", 1e9)
    stage.count()
    assert len(calls) == 3


def test_chunks_of_another_cut_do_not_count(tmp_path: Path) -> None:
    """Four rows are two chunks of two, or one of three and one of one: what was done is not known then."""
    headers = [ArrayHeader("a", (4,), "<u2", "hands")]
    stage = feature_stage.Stage(tmp_path, "round-0", headers, 2, "4 by 2")
    stage.count()
    stage.note()
    assert feature_stage.Stage(tmp_path, "round-0", headers, 2, "4 by 2").chunks_done == 1
    assert feature_stage.Stage(tmp_path, "round-0", headers, 2, "4 by 3").chunks_done == 0


class Interrupted:
    """A report that interrupts at a step of the first stage whose name begins so."""

    def __init__(self, stage: str, step: int) -> None:
        self.stage, self.step = stage, step

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage.startswith(self.stage) and done >= self.step:
            raise KeyboardInterrupt


def one_row_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut three rows into three chunks, of which two are under way at a time."""
    monkeypatch.setattr(feature_build, "BOARDS_A_CHUNK", 1)
    monkeypatch.setattr(feature_build, "DEALS_A_CHUNK", 1)


def straight_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    with monkeypatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "straight"))
        build_features(FeaturePlan(load_game("leduc"), 2), 1)
        folder = FeaturePlan(load_game("leduc"), 2).folder
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_build_of_less_does_not_use_the_journal_of_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All features are interrupted, strengths alone are interrupted further on, and all are built."""
    one_row_a_chunk(monkeypatch)
    expected = straight_build(tmp_path, monkeypatch)
    plan, less = FeaturePlan(load_game("leduc"), 2), FeaturePlan(load_game("leduc"), 2, ())
    for one, step in ((plan, 1), (less, 3)):
        with pytest.raises(KeyboardInterrupt):
            build_features(one, 1, Interrupted("features of round 1", step))
        assert (plan.folder / ".round-0.journal").exists()
    build_features(plan, 1)
    assert {path.name: path.read_bytes() for path in plan.folder.iterdir()} == expected


@pytest.mark.parametrize("harm", ["done", "text", "partial"])
def test_a_damaged_journal_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    one_row_a_chunk(monkeypatch)
    expected = straight_build(tmp_path, monkeypatch)
    plan = FeaturePlan(load_game("leduc"), 2)
    with pytest.raises(KeyboardInterrupt):
        build_features(plan, 1, Interrupted("features of round 2", 1))
    journal, partial = plan.folder / ".round-1.journal", plan.folder / ".strength-1.array.partial"
    text = journal.read_text()
    assert '"done": 1' in text
    if harm == "partial":
        partial.write_bytes(partial.read_bytes()[:-1])
        # Made again with the right size, it must not be taken for what the journal is about.
        states = KilledStates(plan.folder, lambda: build_features(plan, 1))
        for state in states.states[:8]:
            states.restore(state)
            build_features(plan, 1)
            assert states.read() == {name: content for name, content in expected.items() if name != "lock"}
        return
    journal.write_text(text.replace('"done": 1', '"done": 3') if harm == "done" else "[1]")
    build_features(plan, 1)
    assert {path.name: path.read_bytes() for path in plan.folder.iterdir()} == expected


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second start does the second of two chunks, and after all chunks none."""
    plan = FeaturePlan(load_game("leduc"), 2)
    with pytest.raises(KeyboardInterrupt):
        build_features(plan, 1, Interrupted("features of round 2", 2))
    told: list[tuple[str, int, int]] = []
    build_features(plan, 1, lambda *step: told.append(step))
    assert next(step for step in told if step[0] == "features of round 2") == ("features of round 2", 3, 3)
    assert not [step for step in told if step[0] == "strengths of hole cards"]


ABSTRACTION = "IR-KE-KO 2-4"


@pytest.mark.parametrize("name", [ABSTRACTION, "PR-HS 2-2 / IR-KE-HS 3-5"])
def test_abstractions_killed_any_number_of_times(tmp_path: Path, name: str) -> None:
    features = leduc_features()
    recipes = parse_recipes(name, features.plan.rules)
    options = BuildOptions(num_threads=1)
    folder = tmp_path / "abstraction"
    states = KilledStates(
        folder, unless_done(lambda: build_abstraction(recipes, features, options, out=folder))
    )
    assert "abstraction.json" in states.finished
    assert not [path for path in states.finished if path.startswith(".")]
    assert states.num_steps > 25
    assert states.verify() > 15


def test_saving_an_abstraction_killed_any_number_of_times(tmp_path: Path) -> None:
    features = leduc_features()
    built = build_abstraction(parse_recipes(ABSTRACTION, features.plan.rules), features)
    states = KilledStates(tmp_path / "saved", unless_done(lambda: built.save(tmp_path / "saved")))
    assert states.verify() > 15
    loaded = errai.load_abstraction(tmp_path / "saved")
    cards = features.classes.unindex(np.arange(9), 1)
    assert np.array_equal(loaded.buckets(cards, 1), built.buckets(cards, 1))


def test_public_abstractions_killed_any_number_of_times(tmp_path: Path) -> None:
    features = leduc_features()
    num_boards = Deals(features.plan.rules).num_boards(1)
    clusters = PublicClusters(np.arange(num_boards, dtype=np.int32) % 2, 2, 0.0, 1, True, 0)
    folder = tmp_path / "public"

    states = KilledStates(
        folder,
        unless_done(
            lambda: build_public_abstraction(features, clusters, buckets=3, out=folder, num_threads=1)
        ),
    )
    assert {"cluster-0/boards.array", "cluster-1/round-1.array"} <= states.finished.keys()
    assert states.verify() > 15
    shutil.rmtree(folder)
    built = build_public_abstraction(features, clusters, buckets=3)
    saved = KilledStates(folder, unless_done(lambda: built.save(folder)))
    assert saved.verify() > 15


def test_the_note_of_another_build_does_not_outlive_its_arrays(tmp_path: Path) -> None:
    """Seed 1 is killed after its first round, seed 2 as it replaces that round, and seed 1 goes on."""
    features = leduc_features()
    recipes = parse_recipes("IR-KE-KE 2-4", features.plan.rules)
    folder = tmp_path / "a"

    def build(seed: int) -> Callable[[], None]:
        options = BuildOptions(seed, num_threads=1)
        return unless_done(lambda: build_abstraction(recipes, features, options, out=folder))

    first = KilledStates(folder, build(1))
    first.restore(next(state for state in first.states if ".0-0.round" in dict(state)))
    second = KilledStates(folder, build(2))
    mixed = [state for state in second.states if "abstraction.json" not in dict(state)]
    assert len(mixed) > 15
    for state in mixed:
        second.restore(state)
        build(1)()
        assert second.read() == first.finished
