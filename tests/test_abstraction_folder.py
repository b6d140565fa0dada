"""The folder of an abstraction: every durable step in order, notes, manifests, checksums, sentences."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults import Steps, watched
from naive import WITHOUT_JIT

import errai
from errai.abstraction.abstraction import Abstraction, AbstractionWriter, read_abstraction
from errai.abstraction.build import build_abstraction
from errai.abstraction.features.features import Features
from errai.abstraction.folder import FolderWriter, signed_json, verified_json
from errai.abstraction.methods import method
from errai.abstraction.recipe import parse_recipes
from errai.abstraction.round_buckets import ClassTable
from errai.array_file import read_array, write_array
from errai.errors import UsageError

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")

NUMBERS = np.arange(5, dtype=np.uint16)


def text_steps(name: str) -> list[str]:
    return [f"write ~{name}", f"fsync ~{name}", f"replace {name}", "fsync /"]


def array_steps(name: str) -> list[str]:
    """Room is reserved, the file is on disk, gets its name, and the name is on disk."""
    return [f"reserve ~{name}", f"fsync ~{name}", f"replace {name}", "fsync /"]


def durable(steps: Steps) -> list[str]:
    """Steps without the writes of arrays, whose number is their own affair."""
    return [step for step in steps.done if not (step.startswith("write") and ".array" in step)]


def test_every_step_of_a_part_is_durable_and_in_order(tmp_path: Path) -> None:
    """A note goes, durably, before the first array of its part is replaced, and comes back after the last."""
    writer = FolderWriter(tmp_path / "a", "mark", "round")
    arrays = {"table": (NUMBERS, "buckets"), "other": (NUMBERS, "hands")}
    written = [*array_steps("0-1-table.array"), *array_steps("0-1-other.array"), *text_steps(".0-1.round")]
    with watched(Steps()) as steps:
        entry = writer.write_part("0-1", "0-1-", arrays, {"kind": "classes"})
    assert durable(steps) == written
    with watched(Steps()) as steps:
        assert writer.write_part("0-1", "0-1-", arrays, {"kind": "classes"}) == entry
    assert durable(steps) == ["unlink .0-1.round", "fsync /", *written]
    for name, units in (("table", "buckets"), ("other", "hands")):
        header, found = read_array(
            tmp_path / "a" / f"0-1-{name}.array",
            fingerprint="mark",
            expected_checksum=entry["arrays"][name],
        )
        assert (header.name, header.units, found.tolist()) == (f"0-1-{name}", units, [0, 1, 2, 3, 4])
    assert {key: value for key, value in entry.items() if key != "arrays"} == {"kind": "classes"}


def test_a_folder_of_a_part_is_durable_before_its_arrays(tmp_path: Path) -> None:
    writer = FolderWriter(tmp_path / "a", "mark", "tables")
    with watched(Steps()) as steps:
        writer.write_part("c-1", "c-1/", {"x": (NUMBERS, "boards"), "y": (NUMBERS, "boards")}, {})
    assert durable(steps) == [
        "fsync /",
        *array_steps("x.array"),
        *array_steps("y.array"),
        *text_steps(".c-1.tables"),
    ]


def test_the_manifest_is_there_before_the_notes_go_and_the_lock_goes_last(tmp_path: Path) -> None:
    writer = FolderWriter(tmp_path / "a", "mark", "round")
    writer.write_part("0-0", "0-0-", {}, {})
    with watched(Steps()) as steps:
        writer.finish({"kind": "private"})
    assert steps.done == [*text_steps("abstraction.json"), "unlink .0-0.round", "unlink lock"]
    manifest = verified_json((tmp_path / "a" / "abstraction.json").read_bytes(), tmp_path)
    assert manifest == {"kind": "private", "fingerprint": "mark"}
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["abstraction.json"]


def test_a_finished_folder_loses_its_notes_and_is_refused(tmp_path: Path) -> None:
    """A build that was killed between its manifest and its notes has left them."""
    writer = FolderWriter(tmp_path / "a", "mark", "round")
    writer.write_part("0-0", "0-0-", {}, {})
    note = (tmp_path / "a" / ".0-0.round").read_bytes()
    writer.finish({})
    (tmp_path / "a" / ".0-0.round").write_bytes(note)
    (tmp_path / "a" / ".0-0.tables").write_bytes(note)
    with pytest.raises(UsageError) as caught:
        FolderWriter(tmp_path / "a", "mark", "round")
    assert str(caught.value) == f"'{tmp_path / 'a'}' holds an abstraction already: choose another folder"
    assert not (tmp_path / "a" / ".0-0.round").exists()
    assert (tmp_path / "a" / ".0-0.tables").exists(), "only notes of its own kind"


def test_notes_of_the_same_build_are_found_and_no_others(tmp_path: Path) -> None:
    writer = FolderWriter(tmp_path / "a", "mark", "round")
    entry = writer.write_part("0-0", "0-0-", {"table": (NUMBERS, "buckets")}, {"kind": "x", "statistics": {}})
    again = FolderWriter(tmp_path / "a", "mark", "round")
    assert again.written_part("0-0") == entry
    assert again.written_part("0-1") is None
    assert FolderWriter(tmp_path / "a", "other", "round").written_part("0-0") is None
    assert FolderWriter(tmp_path / "a", "mark", "tables").written_part("0-0") is None
    note = tmp_path / "a" / ".0-0.round"
    note.write_bytes(note.read_bytes().replace(b'"kind": "x"', b'"kind": "y"'))
    assert again.written_part("0-0") is None, "a damaged note is none"


def test_what_killed_writers_have_left_is_removed_in_all_folders(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    (folder / "cluster-0").mkdir(parents=True)
    left = [folder / ".x.array.99999.tmp", folder / "cluster-0" / ".x.array.99999.tmp"]
    kept = folder / "cluster-0" / "x.array"
    for path in (*left, kept):
        path.write_text("")
    FolderWriter(folder, "mark", "tables")
    assert [path.exists() for path in (*left, kept)] == [False, False, True]


def test_shared_arrays_have_units_notes_and_a_checksum(tmp_path: Path) -> None:
    writer = FolderWriter(tmp_path / "a", "mark", "round")
    checksum = writer.write_shared("opponents", NUMBERS, "clusters", {"num": 7})
    header, found = read_array(
        tmp_path / "a" / "opponents.array", fingerprint="mark", expected_checksum=checksum
    )
    assert (header.name, header.units, header.notes) == ("opponents", "clusters", {"num": 7})
    assert found.tolist() == NUMBERS.tolist()


def test_signed_json(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    text = signed_json({"b": 1, "a": [1, 2]})
    assert verified_json(text, path) == {"b": 1, "a": [1, 2]}
    found = json.loads(text)
    assert re.fullmatch("[0-9a-f]{32}", found["checksum"])
    # The order of keys does not matter, every value does.
    assert verified_json(json.dumps(dict(reversed(found.items()))), path) == {"b": 1, "a": [1, 2]}
    for changed in ({**found, "b": 2}, {**found, "c": 0}, {"b": 1, "checksum": found["checksum"]}):
        with pytest.raises(UsageError) as caught:
            verified_json(json.dumps(changed), path)
        assert str(caught.value) == f"'{path}' is damaged: it does not match its checksum"
    for content in ("", "[1]", "{}", "3", '"checksum"', b"\xff\xfe{}"):
        with pytest.raises(UsageError) as caught:
            verified_json(content, path)
        assert str(caught.value) == f"'{path}' is damaged: it is not valid JSON with a checksum"


def test_what_is_not_an_abstraction(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        errai.load_abstraction(tmp_path / "none")
    assert str(caught.value) == (
        f"'{tmp_path / 'none'}' is not an abstraction: expected a folder of 'errai abstract build'"
    )
    with pytest.raises(UsageError) as caught:
        errai.load_abstraction(tmp_path)
    assert str(caught.value) == (
        f"'{tmp_path}' is not an abstraction: expected a finished folder of 'errai abstract build'"
    )
    with pytest.raises(UsageError) as caught:
        errai.load_abstraction(7)  # type: ignore[arg-type]
    assert str(caught.value) == "expected the folder of an abstraction, not 7"
    (tmp_path / "abstraction.json").write_text(signed_json({"format": 9}))
    with pytest.raises(UsageError) as caught:
        errai.load_abstraction(tmp_path)
    assert str(caught.value) == (
        f"'{tmp_path}' has format version 9: expected version 1, so build it again with this version of errai"
    )


@needs_jit
def test_tables_of_another_round_are_refused(folders: Path, tmp_path: Path) -> None:
    """They are of the same build and whole: only the manifest tells them apart."""
    for whole in (False, True):
        harmed = tmp_path / str(whole)
        shutil.copytree(folders / "asymmetric", harmed)
        shutil.copy(harmed / "1-1-table.array", harmed / "0-1-table.array")
        with pytest.raises(UsageError, match=r"0-1-table\.array"):
            errai.load_abstraction(harmed, whole=whole)


@needs_jit
def test_a_table_that_was_changed_is_not_gone_on_with(features: Features, tmp_path: Path) -> None:
    """An interrupted build reads what it has written, and refuses what is not that."""
    recipes = parse_recipes("IR-HS-HS 5-9-7", features.plan.rules)
    writer = AbstractionWriter(tmp_path / "a", recipes, "mark")
    tables = [
        ClassTable(features.classes, r, np.zeros(features.classes.size(r), dtype=np.uint16), 5)
        for r in range(2)
    ]
    for r, table in enumerate(tables):
        writer.write_round(0, r, table, {"cost": 0.5})
    again = AbstractionWriter(tmp_path / "a", recipes, "mark")
    entry = again.written_round(0, 1)
    assert entry is not None
    assert entry["recipe"] == {"method": "HS", "num_buckets": 9, "nested": None, "recall": False}
    assert (entry["kind"], entry["num_buckets"], entry["statistics"]) == ("classes", 5, {"cost": 0.5})
    assert list(again.read_round(entry, 0, 1)) == ["table"]
    path = tmp_path / "a" / "0-1-table.array"
    write_array(path, tables[1].table + 1, name="0-1-table", units="buckets", fingerprint="mark")
    with pytest.raises(UsageError, match=r"0-1-table\.array"):
        again.read_round(entry, 0, 1)
    write_array(path, tables[1].table, name="0-1-table", units="buckets", fingerprint="other")
    with pytest.raises(UsageError, match="another configuration"):
        again.read_round(entry, 0, 1)


@needs_jit
def test_tables_are_mapped_or_read_whole(folders: Path) -> None:
    for whole in (False, True):
        loaded = errai.load_abstraction(folders / "imperfect", whole=whole)
        assert isinstance(loaded, Abstraction)
        for r in range(3):
            assert isinstance(loaded.rounds[0][r].arrays["table"], np.memmap) == (not whole)
    assert isinstance(read_abstraction(folders / "imperfect").rounds[0][0].arrays["table"], np.memmap)


@needs_jit
def test_opponent_clusters_are_counted_with_those_that_are_empty(
    features: Features, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A note says how many; where older versions left none, it is one more than the largest."""
    few = np.minimum(features.opponent_clusters, 4).astype(np.uint16)
    monkeypatch.setitem(features.__dict__, "opponent_clusters", few)
    found: dict[str, tuple[int, int]] = {}
    for name in ("IR-KE-KO 5-9-7", "IR-HS-HS 5-9-7"):
        folder = tmp_path / name
        built = build_abstraction(parse_recipes(name, features.plan.rules), features, out=folder)
        loaded = errai.load_abstraction(folder)
        assert loaded.num_opponent_clusters == built.num_opponent_clusters
        path = folder / "opponent-clusters.array"
        header, clusters = read_array(path)
        manifest = folder / "abstraction.json"
        entries = verified_json(manifest.read_bytes(), manifest)
        del entries["arrays"]  # nor had they a checksum of this file
        manifest.write_text(signed_json(entries))
        write_array(
            path, clusters, name=header.name, units=header.units, fingerprint=header.fingerprint, notes={}
        )
        found[name] = (built.num_opponent_clusters, errai.load_abstraction(folder).num_opponent_clusters)
    assert found == {"IR-KE-KO 5-9-7": (8, 5), "IR-HS-HS 5-9-7": (0, 0)}


@needs_jit
def test_opponent_clusters_of_another_build_are_refused(features: Features, tmp_path: Path) -> None:
    """The manifest has their checksum; manifests of older versions have none, and are read."""
    build_abstraction(parse_recipes("IR-KE-KO 5-9-7", features.plan.rules), features, out=tmp_path / "a")
    path, manifest = tmp_path / "a" / "opponent-clusters.array", tmp_path / "a" / "abstraction.json"
    header, clusters = read_array(path)
    other = clusters[::-1].copy()
    write_array(
        path, other, name=header.name, units=header.units, fingerprint=header.fingerprint, notes=header.notes
    )
    with pytest.raises(UsageError, match=r"opponent-clusters\.array"):
        errai.load_abstraction(tmp_path / "a")
    entries = verified_json(manifest.read_bytes(), manifest)
    assert entries.pop("arrays").keys() == {"opponent-clusters"}
    manifest.write_text(signed_json(entries))
    assert np.array_equal(errai.load_abstraction(tmp_path / "a").opponent_clusters, other)


@needs_jit
def test_saved_statistics_and_names(features: Features, tmp_path: Path) -> None:
    recipes = parse_recipes("IR-HS-HS 5-9-7 / IR-KE-HS 4-8-6", features.plan.rules)
    built = build_abstraction(recipes, features)
    built.save(tmp_path / "a")
    manifest = verified_json((tmp_path / "a" / "abstraction.json").read_bytes(), tmp_path)
    assert manifest["name"] == built.name == "IR-HS-HS 5-9-7 / IR-KE-HS 4-8-6"
    assert (manifest["kind"], manifest["format"]) == ("private", 1)
    assert manifest["fingerprint"] == built.fingerprint
    for player in range(2):
        for r in range(3):
            entry = manifest["players"][player][r]
            assert entry["statistics"] == built.statistics[player][r]
            assert entry["num_buckets"] == recipes[player].rounds[r].num_buckets
    bare = Abstraction(built.game, built.recipes, built.rounds, built.opponent_clusters)
    bare.save(tmp_path / "bare")
    loaded = errai.load_abstraction(tmp_path / "bare")
    assert isinstance(loaded, Abstraction)
    assert loaded.statistics == (({},) * 3,) * 2


@needs_jit
def test_look_ups_of_each_player(folders: Path) -> None:
    """Both sides of an asymmetric one; where both see alike, either player is asked for the one side."""
    both = errai.load_abstraction(folders / "asymmetric")
    alike = errai.load_abstraction(folders / "imperfect")
    assert [[both.num_buckets(r, player) for r in range(3)] for player in range(2)] == [
        [5, 20, 10],
        [4, 12, 24],
    ]
    assert [alike.num_buckets(r, 1) for r in range(3)] == [5, 20, 10]
    board = np.array(both.game.deck.parse("Kd"), dtype=np.uint8)
    hand = both.game.deck.parse("As")
    number = both.game.deck.hand_index(hand)
    for player in range(2):
        cards = np.array([[*hand, *board]], dtype=np.uint8)
        expected = both.buckets(cards, 1, player)[0]
        assert both.rounds[player][1].of_deals(cards)[0] == expected  # type: ignore[union-attr]
        assert both.bucket("As", "Kd", player) == both.buckets_on_board(board, player)[number] == expected
    assert both.bucket("As", "Kd", 0) != both.bucket("As", "Kd", 1)
    with pytest.raises(UsageError, match="the player must be 0 or 1, not -1"):
        both.num_buckets(0, -1)
    with pytest.raises(UsageError, match=r"expected 2 cards in each row in round 2 of .* \(1, 3\)"):
        both.buckets(np.array([[0, 5, 9]], dtype=np.uint8), 1)
    with pytest.raises(UsageError, match="round 3 not found"):
        both.num_buckets(3)
    with pytest.raises(UsageError, match="round -1 not found"):
        alike.num_buckets(-1)


@needs_jit
@pytest.mark.parametrize("name", ["IIP-KE-KO 5-6-3", "PR-HS-HS 3-2-2"])
def test_an_interrupted_build_has_the_rounds_before(
    features: Features, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Rounds that are refined when looked up, from files, look up what the straight build does."""
    monkeypatch.setattr(method, "MAX_DEALS_IN_A_TABLE", 1000)
    monkeypatch.setattr(method, "MIN_DEALS_SAMPLED", 5000)
    monkeypatch.setattr(method, "MAX_DEALS_SAMPLED", 5000)
    recipes = parse_recipes(name, features.plan.rules)
    straight = build_abstraction(recipes, features)
    finish = AbstractionWriter.finish

    def interrupted(self: AbstractionWriter) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(AbstractionWriter, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build_abstraction(recipes, features, out=tmp_path / "a")
    monkeypatch.setattr(AbstractionWriter, "finish", finish)
    told: list[Any] = []
    resumed = build_abstraction(recipes, features, out=tmp_path / "a", report=lambda *step: told.append(step))
    assert told == [], "nothing is built again"
    cards = features.classes.unindex(np.arange(0, 5083, 11), 2)
    assert resumed.buckets(cards, 2).tolist() == straight.buckets(cards, 2).tolist()
    assert [one["seed"] for one in resumed.statistics[0]] == [0, 0, 0]
    assert resumed.statistics[0][2]["deals_sampled"] == 5000
