"""Feature caches and abstractions on disk: interrupted, resumed, damaged, foreign, on a full disk."""

import errno
import json
import os
import random
import re
import shutil
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from naive import WITHOUT_JIT

import errai
from errai import workers
from errai.abstraction.build import build_abstraction
from errai.abstraction.features import build as feature_build
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.methods import method
from errai.abstraction.options import BuildOptions
from errai.abstraction.recipe import parse_recipes
from errai.errors import UsageError
from errai.games.catalogue import load_game

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")

GAME: Final = "rhode-island"
CLUSTERS = 4


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Features:
    """Features in a cache of their own; they stay mapped when the variable is gone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        built = build_features(FeaturePlan(load_game(GAME), CLUSTERS), num_threads=1)
        for r in range(3):
            for read in (built.deals, built.strength, built.squared, built.ochs):
                read(r)
        built.histograms(0), built.histograms(1), built.opponent_clusters
        return built


def contents(folder: Path) -> dict[str, bytes]:
    """Arrays by name, without what is left of an interrupted build."""
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*.array")}


class Interrupted:
    """A report that interrupts after so many steps, whatever the time between two reports."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.seen: set[tuple[str, int]] = set()

    def __call__(self, what: str, done: int, total: int) -> None:
        self.seen.add((what, done))
        if len(self.seen) > self.steps:
            raise KeyboardInterrupt


def small_chunks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(feature_build, "BOARDS_A_CHUNK", 8)
    patch.setattr(feature_build, "DEALS_A_CHUNK", 500)
    patch.setattr(workers, "SECONDS_BETWEEN_REPORTS", 0.0)  # a report for every chunk


def test_interrupted_features_go_on_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = FeaturePlan(load_game(GAME), CLUSTERS)
    monkeypatch.setattr(feature_build, "CLUSTER_RESTARTS", 2)
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "straight"))
    build_features(plan, num_threads=1)
    straight = contents(plan.folder)
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "interrupted"))
    small_chunks(monkeypatch)
    attempts = 0
    # The first stage, over 20 chunks, begins anew until it is whole; the others go on where they were.
    for steps in (0, 9, 30, 30, 30, 30, 1000):
        assert not plan.is_complete()
        try:
            build_features(plan, num_threads=2, report=Interrupted(steps))
            break
        except KeyboardInterrupt:
            attempts += 1
            with pytest.raises(UsageError, match="to build it"):
                Features(plan)
    assert attempts >= 4
    assert contents(plan.folder) == straight
    assert not [path for path in plan.folder.iterdir() if path.name.endswith((".partial", ".journal"))]


def test_features_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = FeaturePlan(load_game("leduc"), 3)
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))
    with monkeypatch.context() as patch:
        usage = shutil.disk_usage(tmp_path)
        patch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10))
        with pytest.raises(UsageError, match=r"need .* of disk in '.*', but only 10 bytes are free"):
            build_features(plan)
    for calls in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(os, "posix_fallocate", fills_up_after(calls))
            with pytest.raises(OSError, match="No space left on device"):
                build_features(plan)
        assert not plan.is_complete()
    found = build_features(plan)
    assert found.deals(1).sum() == 6 * 5


def fills_up_after(calls: int):
    left = calls

    def reserve(descriptor: int, begin: int, length: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    return reserve


@pytest.mark.parametrize("harm", ["cut", "foreign", "text", "gone"])
def test_a_cache_that_is_not_ours_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))
    plan, other = FeaturePlan(load_game("leduc"), 3), FeaturePlan(load_game("kuhn"), 2)
    build_features(plan)
    path = plan.folder / "strength-1.array"
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif harm == "foreign":
        build_features(other)
        shutil.copy(other.folder / "strength-0.array", path)
    elif harm == "text":
        path.write_text("hello")
    else:
        path.unlink()
    with pytest.raises(UsageError, match=r"strength-1\.array'|feature 'strength-1' of 'leduc' is not in"):
        Features(plan).strength(1)


def test_a_cache_of_another_version_has_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = FeaturePlan(load_game("leduc"), 3)
    ours = plan.folder
    monkeypatch.setattr("errai.abstraction.features.features.FORMAT", 0)
    assert plan.folder != ours
    assert (
        FeaturePlan(load_game("leduc"), 2).folder == plan.folder != FeaturePlan(load_game("kuhn"), 2).folder
    )


NAMES = ["IR-KE-KO 5-20-10", "PR-KE-KO 4-3-2", "IR-PHS-HS 5-20-10 / IIP-KE-HS 4-6-3"]


@pytest.mark.parametrize("name", NAMES)
def test_interrupted_build_goes_on_with_the_same_bytes(tmp_path: Path, features: Features, name: str) -> None:
    recipes = parse_recipes(name, features.plan.rules)
    options = BuildOptions(seed=3, num_threads=1)
    straight = build_abstraction(recipes, features, options, out=tmp_path / "straight")
    folder = tmp_path / "interrupted"
    attempts = 0
    while True:
        done = len(list(folder.glob(".*.round"))) if folder.exists() else 0
        try:
            built = build_abstraction(
                recipes, features, options, out=folder, report=InterruptedAfterRound(folder, done + 1)
            )
            break
        except KeyboardInterrupt:
            attempts += 1
            assert len(list(folder.glob(".*.round"))) > done
            with pytest.raises(UsageError, match="is not an abstraction"):
                errai.load_abstraction(folder)
    assert attempts >= 1
    assert built.fingerprint == straight.fingerprint
    assert contents(folder) == contents(tmp_path / "straight")
    assert not list(folder.glob(".*"))
    loaded = errai.load_abstraction(folder, whole=True)
    cards = features.classes.unindex(np.arange(200), 2)
    for player in range(len(recipes)):
        assert np.array_equal(loaded.buckets(cards, 2, player), straight.buckets(cards, 2, player))


class InterruptedAfterRound:
    """A report that interrupts at the first step after another round is on disk."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder, self.rounds = folder, rounds

    def __call__(self, what: str, done: int, total: int) -> None:
        if len(list(self.folder.glob(".*.round"))) >= self.rounds:
            raise KeyboardInterrupt


def test_what_another_seed_has_left_is_not_used(tmp_path: Path, features: Features) -> None:
    recipes = parse_recipes(NAMES[0], features.plan.rules)
    with pytest.raises(KeyboardInterrupt):
        build_abstraction(
            recipes,
            features,
            BuildOptions(seed=1),
            out=tmp_path / "a",
            report=InterruptedAfterRound(tmp_path / "a", 1),
        )
    build_abstraction(recipes, features, BuildOptions(seed=2), out=tmp_path / "a")
    build_abstraction(recipes, features, BuildOptions(seed=2), out=tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_full_disk_ends_a_build_which_can_go_on(
    tmp_path: Path, features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = parse_recipes(NAMES[0], features.plan.rules)
    build_abstraction(recipes, features, out=tmp_path / "straight")
    folder = tmp_path / "full"
    for calls in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(os, "posix_fallocate", fills_up_after(calls))
            with pytest.raises(OSError, match="No space left on device"):
                build_abstraction(recipes, features, out=folder)
        with pytest.raises(UsageError, match="is not an abstraction"):
            errai.load_abstraction(folder)
    build_abstraction(recipes, features, out=folder)
    assert contents(folder) == contents(tmp_path / "straight")


def test_a_last_round_too_large_for_a_table(
    tmp_path: Path, features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refined when it is looked up: files hold what the builder had."""
    monkeypatch.setattr(method, "MAX_DEALS_IN_A_TABLE", 1000)
    monkeypatch.setattr(method, "MIN_DEALS_SAMPLED", 10_000)
    monkeypatch.setattr(method, "MAX_DEALS_SAMPLED", 10_000)
    cards = features.classes.unindex(np.arange(0, features.classes.size(2), 37), 2)
    for name in ("IIP-KE-KO 5-6-3", "IIP-KE-HS 5-6-3"):
        recipes = parse_recipes(name, features.plan.rules)
        built = build_abstraction(recipes, features, out=tmp_path / name)
        assert built.rounds[0][2].kind in ("ochs", "strength")
        loaded = errai.load_abstraction(tmp_path / name, whole=True)
        assert np.array_equal(loaded.buckets(cards, 2), built.buckets(cards, 2))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, features: Features) -> Path:
    folder = tmp_path_factory.mktemp("abstractions") / "saved"
    build_abstraction(parse_recipes(NAMES[2], features.plan.rules), features, out=folder)
    return folder


def test_flipped_bits_are_found(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "harmed"
    shutil.copytree(saved, folder)
    rng = random.Random(1)
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    manifest = folder / "abstraction.json"
    for path in [*paths, *(rng.choices(paths, k=60)), *([manifest] * 40)]:
        content = path.read_bytes()
        harmed = bytearray(content)
        harmed[rng.randrange(len(harmed))] ^= 1 << rng.randrange(8)
        path.write_bytes(harmed)
        for whole in (False, True):
            with pytest.raises(UsageError, match=re.escape(str(path))):
                errai.load_abstraction(folder, whole=whole)
        path.write_bytes(content)
    errai.load_abstraction(folder, whole=True)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "7", '{"checksum": "x"}', "\xff", '{"format": 2, "checksum": 1}']
)
def test_damaged_manifests_are_refused(saved: Path, tmp_path: Path, text: str) -> None:
    folder = tmp_path / "harmed"
    shutil.copytree(saved, folder)
    (folder / "abstraction.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"damaged|format version"):
        errai.load_abstraction(folder)


def test_files_of_another_abstraction_are_refused(saved: Path, tmp_path: Path, features: Features) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(saved, folder)
    other = tmp_path / "other"
    recipes = parse_recipes(NAMES[2], features.plan.rules)
    build_abstraction(recipes, features, BuildOptions(seed=9), out=other)
    shutil.copy(other / "0-1-table.array", folder / "0-1-table.array")
    with pytest.raises(UsageError, match=r"0-1-table\.array' was made by another configuration"):
        errai.load_abstraction(folder)


def test_a_finished_folder_is_not_built_over(saved: Path, features: Features) -> None:
    before = contents(saved)
    with pytest.raises(UsageError, match="holds an abstraction already"):
        build_abstraction(parse_recipes(NAMES[0], features.plan.rules), features, out=saved)
    assert contents(saved) == before


def test_the_manifest_tells_how_it_was_made(saved: Path) -> None:
    manifest = json.loads((saved / "abstraction.json").read_text())
    assert manifest["name"] == NAMES[2]
    assert manifest["game"] == {"name": GAME}
    assert [len(player) for player in manifest["players"]] == [3, 3]
    assert all(one["statistics"]["seed"] == 0 for player in manifest["players"] for one in player)
