"""What `errai abstract build` is to build: options, files and notes, each value where it belongs."""

import json
from pathlib import Path
from typing import Any

import pytest

from errai.cli.build_file import (
    Build,
    read_build_file,
    resumed_build,
    verify_folder,
    wanted_build,
    write_note,
)
from errai.errors import UsageError

WHOLE = {
    "game": "leduc",
    "name": "IR-HS 2-4",
    "out": "x",
    "seed": 1,
    "restarts": 2,
    "iterations": 3,
    "sample": 4,
    "passes": 5,
    "clusters": 6,
}
"""Every value another one."""


def toml(values: dict[str, Any]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "a.toml"
    path.write_text(toml(WHOLE))
    return path


def test_a_file_says_the_same_as_the_options(config: Path) -> None:
    expected = Build("leduc", "IR-HS 2-4", "x", 1, 2, 3, 4, 5, 6)
    assert read_build_file(str(config)) == WHOLE
    assert wanted_build({}, str(config)) == wanted_build(WHOLE, None) == expected
    assert resumed_build({}, str(config)) == resumed_build(WHOLE, None) == expected


@pytest.mark.parametrize("key", WHOLE)
def test_an_option_goes_before_the_file(config: Path, key: str) -> None:
    other = "other" if isinstance(WHOLE[key], str) else 0
    expected = Build(**(WHOLE | {key: other}))  # type: ignore[arg-type]
    assert wanted_build({key: other}, str(config)) == expected
    if key == "name":
        assert resumed_build({key: other}, str(config)) == expected


def test_what_is_not_said_is_left_to_the_builder(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "x"\nseed = 0\npasses = 0\n')
    assert read_build_file(str(tmp_path / "a.toml")) == {"name": "x", "seed": 0, "passes": 0}
    assert wanted_build({}, str(tmp_path / "a.toml")) == Build("limit-holdem", "x", seed=0, passes=0)
    assert wanted_build({"name": "y"}, None) == Build("limit-holdem", "y")
    with pytest.raises(UsageError) as refused:
        wanted_build({"game": "leduc"}, None)
    assert str(refused.value) == (
        "missing an abstraction's name such as 'IR-KE-KO 169-200-200-200', or --config FILE"
    )


ROUND = "[[rounds]]\nmethod = {}\nbuckets = {}\nrecall = {}\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('players = ["IR-HS 2-4", "PR-KE 2-2"]', "IR-HS 2-4 / PR-KE 2-2"),
        (ROUND.format('"KE"', 5, "true") + ROUND.format('"KO"', '"7"', "false"), "PI-KE-KO 5-7"),
        ('[[rounds]]\nmethod = "c"\n[[rounds]]\nmethod = "PHS"\nbuckets = "5X2"\n', "II-c-PHS C-5X2"),
        ('[[rounds]]\nmethod = "C"\nbuckets = "c"\nrecall = true\n', "P-C c"),
    ],
)
def test_other_ways_to_say_the_name(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    assert read_build_file(str(tmp_path / "a.toml")) == {"name": name}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed = -1", "seed must be 0 or more, not -1"),
        ('seed = "3"', "seed must be a whole number, not '3'"),
        ("restarts = 0", "restarts must be 1 or more, not 0"),
        ("iterations = 0", "iterations must be 1 or more, not 0"),
        ("sample = 0", "sample must be 1 or more, not 0"),
        ("passes = -1", "passes must be 0 or more, not -1"),
        ("clusters = 0", "clusters must be 1 or more, not 0"),
        ("game = 3", "game must be text, not 3"),
        ("out = 3", "out must be text, not 3"),
        ("rounds = []", "rounds must have 1 or more entries, not 0"),
        ('players = ["x", "y", "z"]', "players must have at most 2 entries, not 3"),
        ('name = "x"\n[[rounds]]\nmethod = "C"\n', "it has both name and rounds, where one is expected"),
        (
            'players = ["x", "y"]\n[[rounds]]\nmethod = "C"\n',
            "it has both players and rounds, where one is expected",
        ),
        *(
            (
                f'[[rounds]]\nmethod = "C"\n[[rounds]]\nmethod = "KE"\nbuckets = {text}',
                f"rounds, entry 2: buckets is {told}: expected a whole number, or text such as '5x2'",
            )
            for text, told in (('"5x"', "'5x'"), ("-3", "-3"), ("[3]", "[3]"))
        ),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, told: str) -> None:
    path = str(tmp_path / "a.toml")
    Path(path).write_text(text)
    with pytest.raises(UsageError) as refused:
        read_build_file(path)
    assert str(refused.value) == f"invalid '{path}': {told}"


def test_the_least_of_every_number_is_valid(tmp_path: Path) -> None:
    least = {"seed": 0, "restarts": 1, "iterations": 1, "sample": 1, "passes": 0, "clusters": 1}
    (tmp_path / "a.toml").write_text(toml(least))
    assert read_build_file(str(tmp_path / "a.toml")) == least


# Notes of builds that have begun


def test_a_note_is_what_was_begun_wherever_it_lies(tmp_path: Path) -> None:
    build = Build(**WHOLE)  # type: ignore[arg-type]
    write_note(tmp_path / "deep" / "x", build)
    (tmp_path / "deep" / "x").rename(tmp_path / "y")
    found = resumed_build({"out": str(tmp_path / "y")}, None)
    assert found == Build(**(WHOLE | {"out": str(tmp_path / "y")}))  # type: ignore[arg-type]


@pytest.mark.parametrize("note", [None, "", "{", "[]", '{"game": "leduc"}', '{"game": "a", "b": 1}'])
def test_a_folder_without_a_note_that_can_be_read(tmp_path: Path, note: str | None) -> None:
    if note is not None:
        (tmp_path / ".build.json").write_text(note)
    with pytest.raises(UsageError) as refused:
        resumed_build({"out": str(tmp_path)}, None)
    assert str(refused.value) == (
        f"--resume found no unfinished build in '{tmp_path}': NAME is needed to begin one"
    )
    verify_folder(tmp_path, Build("leduc", "x"))


@pytest.mark.parametrize("key", ["game", "seed", "restarts", "iterations", "sample", "passes", "clusters"])
def test_a_build_that_goes_on_keeps_its_own(tmp_path: Path, key: str) -> None:
    write_note(tmp_path, Build("leduc", "x", str(tmp_path)))
    with pytest.raises(UsageError) as refused:
        resumed_build({"out": str(tmp_path), key: 0}, None)
    assert str(refused.value) == f"--{key} needs NAME: a build that is resumed keeps its own"


def test_going_on_needs_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "x"\n')
    for given, config in (({}, None), ({"name": "x"}, None), ({}, str(tmp_path / "a.toml"))):
        with pytest.raises(UsageError) as refused:
            resumed_build(given, config)
        assert str(refused.value) == "--resume needs --out, the folder of the build to go on with"


def test_a_folder_with_a_blank_is_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "my buckets"
    write_note(folder, Build("leduc", "x", str(folder), seed=1))
    (folder / ".0-0.round").write_text("")
    with pytest.raises(UsageError) as refused:
        verify_folder(folder, Build("leduc", "x", str(folder), seed=2))
    assert f"go on with it by --resume --out '{folder}', or" in str(refused.value)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    build = Build("leduc", "x", str(tmp_path), seed=1)
    verify_folder(tmp_path / "new", build)
    write_note(tmp_path, build)
    other = Build("leduc", "x", str(tmp_path), seed=2)
    verify_folder(tmp_path, other)  # nothing of it has been built yet
    (tmp_path / ".0-0.round").write_text("")
    verify_folder(tmp_path, build)
    with pytest.raises(UsageError) as refused:
        verify_folder(tmp_path, other)
    assert str(refused.value) == (
        f"'{tmp_path}' holds an unfinished build of something else, 'x': go on with it by --resume --out "
        f"{tmp_path}, or give another --out"
    )
    (tmp_path / "abstraction.json").write_text("")
    with pytest.raises(UsageError) as refused:
        verify_folder(tmp_path, build)
    assert str(refused.value) == f"'{tmp_path}' holds an abstraction already: --out must name another folder"
