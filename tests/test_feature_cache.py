"""The feature cache: what is built for whom, what is refused, what `errai cache` says of it and removes."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT

import errai
from errai import array_file
from errai.abstraction.build import build_abstraction
from errai.abstraction.clustering.kmeans import cluster
from errai.abstraction.describe import features_of, profile
from errai.abstraction.features import build as feature_build
from errai.abstraction.features.build import build_features, estimate_seconds, from_weakest
from errai.abstraction.features.cache import cached_folders, clear, damages
from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.methods import method
from errai.abstraction.recipe import parse_recipes
from errai.errors import UsageError
from errai.folder_lock import FolderLock
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.kernels import kernel_hash

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of whole games")

LEDUC_ALWAYS = {"deals-0", "deals-1", "strength-0", "strength-1", "squared-0"}


def rules_of(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(feature_build, "CLUSTER_RESTARTS", 2)
    return tmp_path / "cache"


def names(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.array")}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.array")}


# What is built


def test_only_what_a_recipe_needs_is_built(own_cache: Path) -> None:
    leduc = rules_of("leduc")
    for name, more in (
        ("PR-PHS 2-2", set()),
        ("IR-KE-HS 2-4", {"histograms-0"}),
        ("IR-HS-KO 2-4", {"opponent-clusters-3", "ochs-1-of-3"}),
        ("IR-KO 2-4", {"opponent-clusters-3", "ochs-1-of-3", "ochs-0-of-3"}),
    ):
        shutil.rmtree(own_cache, ignore_errors=True)
        abstraction = errai.abstract(leduc, name)
        assert names(FeaturePlan(leduc, 3).folder) == LEDUC_ALWAYS | more
        assert abstraction.num_opponent_clusters == (3 if "KO" in name else 0)


def test_what_is_needed_to_build_what_is_needed() -> None:
    def more(*needed: str) -> set[str]:
        plan = FeaturePlan(rules_of("limit-holdem"), 8, needed)
        always = {f"{kind}-{r}" for kind in ("deals", "strength") for r in range(4)}
        return plan.arrays.keys() - always - {f"squared-{r}" for r in range(3)}

    assert more() == more("strength", "deals-2") == set()
    assert more("histograms-1") == {"histograms-1", "histograms-2"}
    assert more("histograms") == {"histograms-0", "histograms-1", "histograms-2"}
    assert more("ochs-2") == {"opponent-clusters", "ochs-2", "ochs-3"}
    assert more("ochs") == {"opponent-clusters", "ochs-0", "ochs-1", "ochs-2", "ochs-3"}
    assert more("opponent-clusters") == {"opponent-clusters"}
    whole, some = FeaturePlan(rules_of("limit-holdem")), FeaturePlan(rules_of("limit-holdem"), 8, ())
    sizes = [169, 1_286_792, 13_960_050, 123_156_254]
    # Deals and the last strengths have 2 bytes, the other sums 4, those of the first round's squares 8.
    assert some.disk_bytes == 2 * sum(sizes) + 2 * sizes[3] + 8 * sum(sizes[:3]) + 4 * sizes[0]
    assert some.disk_bytes < whole.disk_bytes / 5
    assert whole.fingerprint == some.fingerprint
    marks = {name: array.header.fingerprint for name, array in whole.all_arrays.items()}
    others = FeaturePlan(rules_of("limit-holdem"), 7).all_arrays
    with_clusters = {"opponent-clusters", "ochs-0", "ochs-1", "ochs-2", "ochs-3"}
    assert {name for name, mark in marks.items() if mark == whole.fingerprint} == with_clusters
    assert {
        name for name, array in others.items() if array.header.fingerprint != marks[name]
    } == with_clusters
    with pytest.raises(UsageError, match=r"'ochs-4' is not a feature of 'limit-holdem': expected deals, "):
        FeaturePlan(rules_of("limit-holdem"), 8, {"ochs-4"})


def test_another_number_of_clusters_builds_nothing_twice(own_cache: Path) -> None:
    first, second = FeaturePlan(rules_of("leduc"), 2), FeaturePlan(rules_of("leduc"), 3)
    build_features(first)
    before = {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in first.folder.iterdir()}
    assert second.missing().keys() == {"opponent-clusters", "ochs-0", "ochs-1"}
    build_features(second)
    assert first.folder == second.folder
    assert {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in first.folder.iterdir()
        if path.name in before
    } == before
    assert {"ochs-0-of-2", "ochs-0-of-3", "opponent-clusters-3"} <= names(first.folder)
    assert Features(first).ochs(0).shape == (3, 2)
    assert Features(second).ochs(0).shape == (3, 3)


@pytest.mark.parametrize("game", ["leduc", "rhode-island"])
def test_the_order_of_building_changes_no_bit(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, game: str
) -> None:
    """Opponent clusters come from a sweep of their own where there is no histogram of hole cards yet."""
    plan = FeaturePlan(rules_of(game), 3)
    build_features(plan)
    at_once = contents(plan.folder)
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(own_cache / "piece by piece"))
    for needed in ((), {"histograms-1"} if game != "leduc" else (), {"histograms"}, {"ochs-1"}, None):
        build_features(FeaturePlan(plan.rules, 3, needed))
    assert contents(plan.folder) == at_once
    assert len(at_once) == (9 if game == "leduc" else 14)


def test_costs_are_those_of_what_is_missing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leduc: 3 boards in the last round, 3 classes with 5 cards to come in the first."""
    for constant, seconds in (("SECONDS_A_SWEPT_BOARD", 100.0), ("SECONDS_A_LOOK_UP", 1.0)):
        monkeypatch.setattr(feature_build, constant, seconds)
    leduc = rules_of("leduc")

    def seconds_of(needed: set[str] | None, num_clusters: int = 2) -> float:
        return estimate_seconds(FeaturePlan(leduc, num_clusters, needed), 1)

    assert (seconds_of(set()), seconds_of(None), seconds_of({"opponent-clusters"})) == (315.0, 615.0, 615.0)
    build_features(FeaturePlan(leduc, 2, set()))
    assert (seconds_of(set()), seconds_of({"histograms"}), seconds_of({"ochs-1"})) == (0.0, 15.0, 600.0)
    build_features(FeaturePlan(leduc, 2, {"histograms"}))
    assert (seconds_of({"ochs-1"}), seconds_of(None)) == (300.0, 315.0)
    build_features(FeaturePlan(leduc, 2))
    assert (seconds_of(None), seconds_of(None, 3)) == (0.0, 315.0)
    assert estimate_seconds(FeaturePlan(rules_of("kuhn"), 2), 2) == 100.0  # one board, twice, on two threads


def test_the_disk_must_hold_what_is_missing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an unfinished build has taken counts as free: 54 bytes are wanted, of which 4,096 are there."""
    plan = FeaturePlan(rules_of("leduc"), 2, ())
    monkeypatch.setattr(feature_build, "free_disk", lambda _: 53)
    with pytest.raises(UsageError, match=r"need 54 bytes of disk in '.*', but only 53 bytes are free"):
        build_features(plan)
    assert not plan.folder.exists()
    plan.folder.mkdir(parents=True)
    (plan.folder / ".strength-1.array.partial").write_bytes(b"1")
    build_features(plan)
    monkeypatch.setattr(feature_build, "free_disk", lambda _: 59)
    with pytest.raises(UsageError, match=r"need 60 bytes of disk"):
        build_features(FeaturePlan(rules_of("leduc"), 3, {"ochs-1"}))


def test_a_missing_feature_is_told_by_name(own_cache: Path) -> None:
    features = build_features(FeaturePlan(rules_of("leduc"), 2, {"histograms"}))
    assert features.has("histograms-0")
    assert not features.has("ochs-0")
    assert not features.has("histograms-1")
    sentence = (
        r"the feature 'ochs-0' of 'leduc' is not in '.*': run 'errai abstract features leduc' to build it"
    )
    with pytest.raises(UsageError, match=sentence):
        features.ochs(0)
    with pytest.raises(UsageError, match=r"'opponent-clusters' of 'leduc' is not in"):
        features.board_sweep  # noqa: B018
    told = profile(features, 0, np.array([2]))
    assert (told.ochs, len(told.points)) == ((), 51)
    build_features(FeaturePlan(rules_of("leduc"), 2))
    assert len(profile(features, 0, np.array([2])).ochs) == 2


def test_a_folder_of_the_last_format_is_not_read(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = FeaturePlan(rules_of("leduc"), 2)
    with monkeypatch.context() as patch:
        patch.setattr("errai.abstraction.features.features.FORMAT", 1)
        old = plan.folder
    old.mkdir(parents=True)
    (old / "features.json").write_text(json.dumps({"cards": plan.classes.card_signature()}))
    assert not plan.is_complete()
    (found,) = cached_folders()
    assert (found.path, found.format, found.is_old) == (old, 1, True)


# Damage


def flip(path: Path, place: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def test_a_flipped_bit_of_the_cache_is_refused_by_name(own_cache: Path) -> None:
    plan = FeaturePlan(rules_of("leduc"), 2)
    build_features(plan)
    readers = {
        **{f"{kind}-{r}": (kind, r) for kind in ("deals", "strength") for r in (0, 1)},
        **{f"ochs-{r}-of-2": ("ochs", r) for r in (0, 1)},
        **{"squared-0": ("squared", 0), "histograms-0": ("histograms", 0)},
    }
    assert names(plan.folder) == readers.keys() | {"opponent-clusters-2"}
    for name, (kind, r) in readers.items():
        path = plan.folder / f"{name}.array"
        getattr(Features(plan), kind)(r)
        flip(path)
        with pytest.raises(
            UsageError, match=rf"{name}\.array' is damaged: bytes 0 to \d+ of its array do not"
        ):
            getattr(Features(plan), kind)(r)
        flip(path)
    flip(plan.folder / "opponent-clusters-2.array")
    with pytest.raises(UsageError, match=r"opponent-clusters-2\.array' is damaged"):
        Features(plan).board_sweep  # noqa: B018
    flip(plan.folder / "opponent-clusters-2.array")
    flip(plan.folder / "strength-1.array")
    (plan.folder / "histograms-0.array").unlink()
    with pytest.raises(UsageError, match=r"strength-1\.array' is damaged"):
        build_features(plan)


def test_an_array_is_verified_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    array_file.write_array(path, np.arange(5), name="a", units="chips")
    verified: list[str] = []
    real = array_file.verify_array

    def verify(file: str | Path, **more: Any) -> array_file.ArrayHeader:
        verified.append(Path(file).name)
        return real(file, **more)

    monkeypatch.setattr(array_file, "verify_array", verify)
    for count in (1, 2):  # too young to be told from what may be written in the same moment
        array_file.map_verified_array(path)
        assert len(verified) == count
    os.utime(path, ns=(0, 10**18))
    for _ in range(3):
        assert array_file.map_verified_array(path)[1].tolist() == [0, 1, 2, 3, 4]
        assert len(verified) == 3
    flip(path)
    with pytest.raises(UsageError, match=r"a' is damaged"):
        array_file.map_verified_array(path)
    with pytest.raises(UsageError, match=r"none' cannot be read"):
        array_file.map_verified_array(tmp_path / "none")


# Opponent clusters


def test_clusters_are_numbered_from_the_weakest_and_empty_ones_come_last() -> None:
    labels, weakness = np.array([0, 3, 3, 1]), np.array([0.1, 0.7, 0.9, 0.2])
    assert from_weakest(labels, weakness, 4).tolist() == [2, 0, 0, 1]


def test_an_empty_last_cluster_of_opponents_shifts_nothing(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def leave_one_empty(*arguments, **options):
        found = cluster(*arguments, **options)
        found.labels[found.labels == 3] = 2
        return found

    rules = rules_of("rhode-island")
    with monkeypatch.context() as patch:
        patch.setattr(feature_build, "cluster", leave_one_empty)
        features = build_features(FeaturePlan(rules, 4))
    assert sorted(set(features.opponent_clusters.tolist())) == [0, 1, 2]
    for constant, value in (("MAX_DEALS_IN_A_TABLE", 1000), ("MIN_DEALS_SAMPLED", 10_000)):
        monkeypatch.setattr(method, constant, value)
    monkeypatch.setattr(method, "MAX_DEALS_SAMPLED", 10_000)
    built = build_abstraction(parse_recipes("IIP-KE-KO 5-6-3", rules), features, out=tmp_path / "a")
    assert built.rounds[0][2].kind == "ochs"
    loaded = errai.load_abstraction(tmp_path / "a")
    assert loaded.num_opponent_clusters == 4
    cards = features.classes.unindex(np.arange(0, features.classes.size(2), 37), 2)
    assert np.array_equal(loaded.buckets(cards, 2), built.buckets(cards, 2))
    found = features_of(loaded)
    assert found is not None
    assert found.plan.num_clusters == 4


# errai cache


@pytest.fixture
def filled(own_cache: Path) -> Path:
    """Features of Leduc and Kuhn, an old folder of Leduc's, an unknown one, old kernels, edges."""
    build_features(FeaturePlan(rules_of("leduc"), 2))
    build_features(FeaturePlan(rules_of("leduc"), 3, {"ochs"}))
    build_features(FeaturePlan(rules_of("kuhn"), 2, ()))
    old = own_cache / "features-0000"
    shutil.copytree(FeaturePlan(rules_of("leduc"), 2).folder, old)
    cards = FeaturePlan(rules_of("leduc"), 2).classes.card_signature()
    (old / "features.json").write_text(json.dumps({"fingerprint": "x", "cards": cards}))
    (own_cache / "features-1111").mkdir()
    (own_cache / "features-1111" / ".ochs-1.array.partial").write_bytes(b"12345")
    (own_cache / "kernels-2222").mkdir()
    (own_cache / "kernels-2222" / "a.nbc").write_bytes(b"12345")
    for name in ("edges-1", "edges-0"):
        (own_cache / name).mkdir()
        array_file.write_array(own_cache / name / "holdem.array", np.zeros(3), name="holdem", units="boards")
    (own_cache / "mine").mkdir()
    return own_cache


def listed(run_errai, *more: str) -> dict[str, dict[str, object]]:
    status, out, err = run_errai("cache", "--json", *more)
    assert (status, err) == (0, "")
    return {Path(entry["path"]).name: entry for entry in json.loads(out)["folders"]}


def test_cache_lists_what_there_is(filled: Path, run_errai) -> None:
    leduc, kuhn = (FeaturePlan(rules_of(name), 2).folder.name for name in ("leduc", "kuhn"))
    found = listed(run_errai)
    edges = {"edges-0", "edges-1"}
    assert found.keys() == {leduc, kuhn, "features-0000", "features-1111", "kernels-2222", *edges}
    assert (found["edges-1"]["contents"], found["edges-1"]["format"]) == (["holdem"], "1")
    holds = ["deals", "histograms", "ochs of 2, 3", "opponent clusters of 2, 3", "squared", "strength"]
    assert (found[leduc]["contents"], found[leduc]["game"], found[leduc]["format"]) == (holds, "leduc", 2)
    assert found[kuhn]["contents"] == ["deals", "strength"]
    assert (found["features-0000"]["game"], found["features-0000"]["format"]) == (
        "3 ranks x 2 suits, 1 + 0-1 cards",
        1,
    )
    assert found["features-1111"]["contents"] == ["unfinished ochs"]
    assert found["features-1111"]["format"] is None
    assert {name for name, entry in found.items() if entry["old"]} == {
        "features-0000",
        "features-1111",
        "edges-0",
        "kernels-2222",
    }
    status, out, err = run_errai("cache")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[3:-1]] == list(found)
    newest_first = [kuhn, "features-1111", leduc, "features-0000", "edges-1", "edges-0", "kernels-2222"]
    for age, name in enumerate(newest_first):
        for path in (filled / name).iterdir():
            os.utime(path, (10**9 - age, 10**9 - age))
    assert list(listed(run_errai)) == newest_first
    assert (
        out.splitlines()[-1] == "  old: this version does not read it; 'errai cache --clear old' removes it"
    )


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        ("old", {"features-0000", "features-1111", "edges-0", "kernels-2222"}),
        ("edges", {"edges-0", "edges-1"}),
        ("leduc", {"LEDUC", "features-0000"}),
        ("kernels", {"kernels-2222"}),
        ("features", {"LEDUC", "KUHN", "features-0000", "features-1111"}),
        (
            "all",
            {"LEDUC", "KUHN", "features-0000", "features-1111", "edges-0", "edges-1", "kernels-2222"},
        ),
        ("rhode-island", set()),
    ],
)
def test_cache_clears(filled: Path, run_errai, what: str, gone: set[str]) -> None:
    folders = {name.upper(): FeaturePlan(rules_of(name), 2).folder.name for name in ("leduc", "kuhn")}
    before = {path.name for path in filled.iterdir()}
    status, out, err = run_errai("cache", "--clear", what)
    assert (status, err) == (0, "")
    assert before - {path.name for path in filled.iterdir()} == {folders.get(name, name) for name in gone}
    plural = "s" if len(gone) > 1 else ""
    told = f"removed {len(gone)} folder{plural}, " if gone else "nothing to remove: the cache holds nothing"
    assert out.startswith(told)


def test_cache_does_not_clear_what_is_being_built(filled: Path, run_errai) -> None:
    plan = FeaturePlan(rules_of("leduc"), 2)
    before = contents(plan.folder)
    with FolderLock(plan.folder):
        status, _, err = run_errai("cache", "--clear", "leduc")
    assert status == 2
    assert f"'{plan.folder}' is being written by another process" in err
    assert contents(plan.folder) == before
    assert run_errai("cache", "--clear", "leduc", "--json")[0] == 0
    assert not plan.folder.exists()


def test_cache_verifies(filled: Path, run_errai) -> None:
    folder = FeaturePlan(rules_of("leduc"), 2).folder
    assert listed(run_errai, "--verify")[folder.name]["damaged"] == []
    status, out, _ = run_errai("cache", "--verify")
    assert (status, [line.split()[-1] for line in out.splitlines()[3:-1]]) == (0, ["whole"] * 6 + ["-"])
    flip(folder / "strength-0.array")
    shutil.copy(folder / "deals-0.array", folder / "deals-1.array")
    status, out, err = run_errai("cache", "--verify", "--json")
    assert status == 2
    assert err == (
        f"errai: '{folder}/deals-1.array' is the file of another array, 'deals-0'; 1 more files are damaged; "
        "'errai cache --clear features' removes the features, so that they are built anew.\n"
    )
    (entry,) = (one for one in json.loads(out)["folders"] if one["path"] == str(folder))
    assert len(entry["damaged"]) == 2
    assert "strength-0.array' is damaged: bytes 0 to 6" in entry["damaged"][1]


def test_cache_refuses(own_cache: Path, run_errai) -> None:
    assert run_errai("cache") == (0, f"the cache in {own_cache} is empty\n", "")
    for what, sentence in (
        (
            "leduk",
            "--clear must be all, old, features, abstractions, edges, kernels or the name of a game, "
            "not 'leduk'",
        ),
        ("bluff-1-1", "'bluff-1-1' is a dice game: only card games have features"),
    ):
        assert run_errai("cache", "--clear", what) == (2, "", f"errai: {sentence}.\n")
    assert run_errai("cache", "--clear", "all", "--verify")[0] == 2


def made(folder: Path, *files: str, about: str | None = None) -> Path:
    """Make a folder of the cache with empty files, and perhaps a note of what it is."""
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).touch()
    if about is not None:
        (folder / "features.json").write_text(about)
    return folder


def test_what_a_folder_holds_is_told_in_order(own_cache: Path) -> None:
    """Numbers of clusters as numbers, unfinished arrays apart, and nothing of what is only on its way."""
    made(
        own_cache / "features-a",
        *(
            "ochs-0-of-10.array",
            "ochs-1-of-9.array",
            ".ochs-1-of-8.array.partial",
            "opponent-clusters-9.array",
        ),
        *("strength-0.array", "strength-1.array", ".deals-0.array.partial", ".round-1.journal", "lock"),
        *(".squared-0.array.123.tmp", ".squared-0.array", "squared-0.array.txt"),
    )
    made(own_cache / "features-b", "opponent-clusters.array", "opponent-clusters-3.array", "ochs-1.array")
    first, second = sorted(cached_folders(), key=lambda one: one.path)
    assert first.what == (
        "ochs of 9, 10",
        "opponent clusters of 9",
        "strength",
        "unfinished deals",
        "unfinished ochs of 8",
    )
    assert second.what == ("ochs", "opponent clusters")  # of an older version, which did not tell how many


@pytest.mark.parametrize(
    ("about", "game", "version"),
    [
        (None, "unknown cards", None),
        ("[1]", "unknown cards", None),
        ("{", "unknown cards", None),
        ('{"format": 2, "cards": {"ranks": "JQK"}}', "unknown cards", 2),
        ('{"format": 9, "game": "mine"}', "mine", 9),
        (
            '{"cards": {"ranks": "JQKA", "suits": "shd", "hole": 2, "board": [0, 3, 1]}}',
            "4 ranks x 3 suits, 2 + 0-3-1 cards",
            1,
        ),
    ],
)
def test_folders_of_which_little_is_known(
    own_cache: Path, about: str | None, game: str, version: int | None
) -> None:
    made(own_cache / "features-a", about=about)
    (found,) = cached_folders()
    assert (found.kind, found.game, found.format, found.is_old) == ("features", game, version, version != 2)


def test_sizes_and_times_of_folders(own_cache: Path) -> None:
    """Of all files, whichever folder they are in: what they take on disk, and when the last was written."""
    folder = made(own_cache / f"kernels-{kernel_hash()}")
    for name, size, time in (("a/b.nbi", 1, 5000), ("c.nbc", 5000, 7000), ("a/d", 0, 6000)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"x" * size)
        os.utime(folder / name, (time, time))
    empty = made(own_cache / "kernels-0")
    os.utime(empty, (3000, 3000))
    made(own_cache / "features-a")
    (own_cache / "kernels-file").touch()
    features, newer, older = cached_folders()
    taken = sum((folder / name).stat().st_blocks * 512 for name in ("a/b.nbi", "c.nbc", "a/d"))
    assert taken >= 3 * 512
    assert (newer.path, newer.num_bytes, newer.modified, newer.is_old) == (folder, taken, 7000.0, False)
    assert (older.path, older.num_bytes, older.modified, older.is_old) == (empty, 0, 3000.0, True)
    assert (newer.what, newer.format, newer.game, newer.cards) == (("machine code",), kernel_hash(), "", {})
    assert features.kind == "features"
    assert list(damages(newer)) == []


def test_what_tells_the_format_goes_last(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(own_cache / "features-a", "a.array", "z.array", ".b.array.partial", about="{}")
    gone: list[str] = []
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        gone.append(path.name)
        real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    clear(cached_folders()[0])
    assert gone[-5:] == [".b.array.partial", "a.array", "z.array", "features.json", "lock"]
    assert not folder.exists()


def test_only_whole_arrays_are_verified(own_cache: Path) -> None:
    folder = made(own_cache / "features-a", ".strength-0.array.partial", ".deals-0.array", about="{}")
    assert list(damages(cached_folders()[0])) == []
    (folder / "b.array").write_bytes(b"no array")
    array_file.write_array(folder / "c.array", np.arange(3), name="d", units="chips")
    first, second = damages(cached_folders()[0])
    assert "b.array'" in first
    assert second == f"'{folder / 'c.array'}' is the file of another array, 'd'"
