"""Parts of figures that are kept: once made, never made again, and never taken for another one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from test_race import Clock

from errai.errors import UsageError
from errai.experiments import match_course, preset_training
from errai.experiments.figure import Size
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.race import race
from errai.games.catalogue import load_card_game
from errai.play.named import load_agent


def ignore(*_: object) -> None:
    """Hear nothing."""


def never(*_: object, **__: object) -> Any:
    raise AssertionError("it is kept")


def test_a_part_is_made_once(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "figure", {"seed": 1})
    assert kept.part("A against B", lambda: [1.5, 1e-17]) == [1.5, 1e-17]
    again = Kept(tmp_path / "figure", {"seed": 1}, resume=True)
    assert again.part("A against B", never) == [1.5, 1e-17]
    # Names that look alike as files are told apart.
    assert again.part("A-against-B", lambda: 2) == 2
    assert Kept(tmp_path / "figure", {"seed": 2}, resume=True).part("A against B", lambda: 3) == 3
    assert again.part("A against B", never) == [1.5, 1e-17]
    with pytest.raises(UsageError, match="holds parts of an interrupted figure"):
        Kept(tmp_path / "figure", {"seed": 1})
    again.remove()
    assert Kept(tmp_path / "figure", {"seed": 1}).part("A against B", lambda: 4) == 4
    again.remove()
    assert again.folder is not None
    assert not again.folder.exists()


def test_what_is_no_part_is_refused_by_name(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "figure")
    kept.part("A", lambda: 1)
    kept.part("B", lambda: 2)
    assert kept.folder is not None
    first, second = sorted(kept.folder.iterdir())
    second.write_bytes(first.read_bytes())
    with pytest.raises(UsageError, match="is not the part 'B' of this figure: remove it"):
        kept.part("B", never)
    first.write_bytes(first.read_bytes()[:-3])
    with pytest.raises(UsageError, match="is not the part 'A' of this figure"):
        kept.part("A", never)


def test_nothing_is_kept_without_a_folder() -> None:
    assert [NOTHING_KEPT.part("A", partial(int, number)) for number in (1, 2)] == [1, 2]
    assert NOTHING_KEPT.run_folder("A") is None
    NOTHING_KEPT.remove()


def test_an_interrupted_race_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    seeds: list[int] = []

    def make(seed: int) -> Any:
        seeds.append(seed)
        return Clock(1 / 64, seed)

    def measure(fails_from: int) -> Callable[[Any], tuple[float, int]]:
        def measured(solver: Any) -> tuple[float, int]:
            if solver.seed >= fails_from:
                raise KeyboardInterrupt
            return 1 / solver.iteration, solver.seed

        return measured

    def run(kept: Kept, fails_from: int) -> Any:
        size = Size(0.5, runs=3)
        return race({"A": make}, size, 7, ignore, cast(Any, measure(fails_from)), None, ("seed",), kept)

    whole = run(NOTHING_KEPT, 99)
    assert whole.beside == {"A, seed": [8.0, 8.0, 8.0]}
    with pytest.raises(KeyboardInterrupt):
        run(Kept(tmp_path / "race"), 8)
    seeds.clear()
    assert run(Kept(tmp_path / "race", resume=True), 99) == whole
    assert seeds == [8, 9]


def test_matches_and_trainings_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_card_game("leduc")
    agents = load_agent("half", game), load_agent("random", game)
    kept = Kept(tmp_path / "table")
    found = match_course.play_course(*agents, 20_000, 3, ignore, kept)
    assert found == match_course.play_course(*agents, 20_000, 3, ignore)
    monkeypatch.setattr(match_course, "play_match", never)
    again = match_course.play_course(*agents, 20_000, 3, ignore, kept)
    assert [list(column) for column in again] == [list(column) for column in found]
    out = kept.run_folder("training")
    changed = {"algorithm": {"name": "cfr+"}, "stop": {"iterations": 5}}
    first = preset_training.train_preset("leduc", 1.0, 0, changed, out)
    assert out is not None
    files = {path: path.stat().st_mtime_ns for path in out.glob("*.array")}
    second = preset_training.train_preset("leduc", 1.0, 0, changed, out)
    assert files == {path: path.stat().st_mtime_ns for path in out.glob("*.array")} != {}
    assert first.probabilities("cr", hand="K") == second.probabilities("cr", hand="K")
