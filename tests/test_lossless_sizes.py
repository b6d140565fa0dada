"""The size C, lossless, in a build file: as in a name it goes with any method."""

from pathlib import Path

import pytest

from errai.abstraction.methods.method import Method
from errai.abstraction.recipe import parse_recipes
from errai.cli.build_file import read_build_file
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules

ROUNDS = """
[[rounds]]
method = "{}"
{}
[[rounds]]
method = "KE"
buckets = 9
[[rounds]]
method = "KO"
buckets = 7
recall = true
"""


def read(folder: Path, method: str, buckets: str) -> str:
    (folder / "a.toml").write_text(ROUNDS.format(method, buckets))
    name = read_build_file(str(folder / "a.toml"))["name"]
    assert isinstance(name, str)
    return name


@pytest.mark.parametrize("size", ["C", "c"])
@pytest.mark.parametrize("method", ["KE", "C", "c"])
def test_lossless_rounds_of_any_method(tmp_path: Path, method: str, size: str) -> None:
    name = read(tmp_path, method, f'buckets = "{size}"')
    assert name == f"IIP-{method}-KE-KO {size}-9-7"
    rules = load_game("rhode-island")
    assert isinstance(rules, PokerRules)
    (recipe,) = parse_recipes(name, rules)
    assert [one.method for one in recipe.rounds] == [
        Method.CANONICAL,
        Method.EARTH_MOVER,
        Method.OPPONENT_CLUSTERS,
    ]
    assert [one.recall for one in recipe.rounds] == [False, False, True]


def test_only_the_lossless_method_needs_no_size(tmp_path: Path) -> None:
    assert read(tmp_path, "C", "") == "IIP-C-KE-KO C-9-7"
    with pytest.raises(UsageError) as caught:
        read(tmp_path, "KE", "")
    path = tmp_path / "a.toml"
    assert str(caught.value) == f"invalid '{path}': rounds, entry 1: buckets is missing"
