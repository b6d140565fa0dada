"""Runs and strategies on disk: the same bits after any interruption, damage told by name."""

import os
import random
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errai
from errai.cards.deck import Deck
from errai.errors import UsageError
from errai.folder_lock import FolderLock
from errai.games.rules import PokerRules
from errai.runs.job import Run, prepare, prepare_resumed
from errai.runs.run import configure
from errai.solvers.solve import StopRule, measurement_points
from errai.solvers.table_solver import Measurement
from errai.strategy.files import describe_game, restore_game
from errai.tables.checkpoint import has_checkpoint, read_checkpoint
from errai.tree.bet_menu import BetMenu

GAME_FILES = Path(__file__).parent / "game_files"
LEDUC = errai.load_game("leduc")


def assert_same_tables(first: Run, second: Run) -> None:
    for mine, other in ((first.average, second.average), (first.current, second.current)):
        for table, expected in zip(mine.tables, other.tables, strict=True):
            assert table.dtype == expected.dtype
            assert np.array_equal(table, expected)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("cfr+", {}),
        ("cfr", {"alternating": False}),
        ("dcfr", {"discount": (1.5, 0.5, 2.0)}),
        ("cfr+", {"delay": 20, "alternating": False}),
    ],
)
def test_resumed_run_ends_with_the_same_bits(tmp_path: Path, algorithm: str, options: dict[str, Any]) -> None:
    straight = errai.solve(LEDUC, algorithm, 60, **options)
    errai.solve(LEDUC, algorithm, 30, **options, out=tmp_path / "run")
    resumed = errai.solve(LEDUC, algorithm, 60, **options, out=tmp_path / "run", resume=True)
    assert_same_tables(resumed, straight)
    assert resumed.iterations == 60
    loaded = errai.load_strategy(tmp_path / "run")
    for table, expected in zip(loaded.tables, straight.average.tables, strict=True):
        assert np.array_equal(table, expected)


def test_interrupted_run_measures_and_stops_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    """With a target, too, the number of iterations does not depend on interruptions."""
    stop = StopRule(10_000, mbb_per_game=50)
    straight = prepare(configure(LEDUC), stop).run()
    job = prepare(configure(LEDUC), stop, out=tmp_path / "run")
    ticks = 0

    def end_soon() -> bool:
        nonlocal ticks
        ticks += 1
        return ticks == 4

    first = job.run(between=end_soon)
    assert first.interrupted
    assert first.folder == tmp_path / "run"
    assert 0 < prepare_resumed(tmp_path / "run").solver.iteration < straight.iterations
    resumed = prepare_resumed(tmp_path / "run").run()
    assert not resumed.interrupted
    assert_same_tables(resumed, straight)
    assert points(resumed.measurements) == points(straight.measurements)
    assert resumed.measurements[-1].exploitability.mbb_per_game <= 50


def points(measurements: tuple[Measurement, ...]) -> list[tuple[int, object]]:
    return [(measurement.iteration, measurement.exploitability) for measurement in measurements]


def test_finished_run_is_not_run_again(tmp_path: Path) -> None:
    errai.solve(LEDUC, iterations=10, out=tmp_path / "run")
    before = read_checkpoint(tmp_path / "run")
    again = prepare_resumed(tmp_path / "run").run()
    assert again.iterations == 10
    assert read_checkpoint(tmp_path / "run") == before


def test_measurement_points_follow_from_the_stop_rule() -> None:
    def first(count: int, stop: StopRule, every: int | None = None) -> list[int]:
        grid = measurement_points(stop, every)
        return [next(grid) for _ in range(count)]

    assert first(4, StopRule(100)) == [5, 10, 15, 20]
    assert first(10, StopRule(1000, mbb_per_game=1)) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12]
    assert first(3, StopRule(12), 5) == [5, 10, 12]


ONE_GROUP, SEVERAL_GROUPS, SAMPLED = ("kuhn", "cfr+", 4), ("leduc", "pcfr+", 18), ("leduc", "external", 12)
BY_BUCKETS = ("limit-holdem", "external", 16)
"""Game, algorithm and array files: a table for each player, one of whose groups is a file."""


def told_of_kills(tmp_path: Path, kills: int, seed: int, game: str, algorithm: str) -> str:
    script = Path(__file__).parent / "killed_runs.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "run", str(kills), str(seed), game, algorithm],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout, end="")
    return done.stdout


def run_kills(tmp_path: Path, kills: int, seed: int, case: tuple[str, str, int]) -> None:
    game, algorithm, num_files = case
    told = told_of_kills(tmp_path, kills, seed, game, algorithm)
    found = re.fullmatch(r"(\d+) kills, \d+ runs finished, (\d+) array files, (\d+) times .*\n", told)
    assert found is not None
    assert (int(found[1]), int(found[2])) == (kills, num_files)
    if kills >= 100:  # few kills may all fall before a second checkpoint
        assert int(found[3]) > 0, "no checkpoint has kept the file of an earlier one"


@pytest.mark.parametrize(
    "case", [ONE_GROUP, SEVERAL_GROUPS, SAMPLED], ids=["one group", "several groups", "sampled"]
)
def test_ten_kills_lose_nothing(tmp_path: Path, case: tuple[str, str, int]) -> None:
    run_kills(tmp_path, 10, 1, case)


@pytest.mark.slow
def test_three_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    run_kills(tmp_path, 300, 2, ONE_GROUP)


@pytest.mark.slow
def test_a_hundred_kills_of_a_run_with_several_groups_lose_nothing(tmp_path: Path) -> None:
    run_kills(tmp_path, 100, 3, SEVERAL_GROUPS)


@pytest.mark.slow
def test_fifty_kills_of_a_run_that_samples_lose_nothing(tmp_path: Path) -> None:
    run_kills(tmp_path, 50, 4, SAMPLED)


@pytest.mark.slow
def test_fifty_kills_of_a_run_by_buckets_lose_nothing(tmp_path: Path) -> None:
    run_kills(tmp_path, 50, 5, BY_BUCKETS)


@pytest.mark.slow
def test_fifty_kills_where_threads_share_tables_find_no_checkpoint_overdue(tmp_path: Path) -> None:
    """The script ends with an error where more than an interval was unsaved when the run looked up.

    A kill loses that and what was under way since, which is about a second.
    """
    told = told_of_kills(tmp_path, 50, 6, "limit-holdem", "shared")
    found = re.fullmatch(r"50 kills, (\d+) iterations saved, (.*) seconds lost at most at a kill\n", told)
    assert found is not None
    assert int(found[1]) > 0
    assert float(found[2]) > 0


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    errai.solve(errai.load_game("kuhn"), iterations=20, out=tmp_path / "run")
    return tmp_path / "run"


def read_all(folder: Path) -> None:
    """Read all that a run's folder holds, as resuming and loading do."""
    job = prepare_resumed(folder)
    assert job.earlier[-1].iteration == 20
    errai.load_strategy(folder)


def flip_bits(folder: Path, flips: int, seed: int) -> None:
    read_all(folder)
    files = sorted(path for path in folder.iterdir() if path.stat().st_size)
    assert len(files) == 8  # run.toml, fingerprint, checkpoint.json, progress.jsonl and four arrays
    rng = random.Random(seed)
    for number in range(flips):
        path = files[number % len(files)]
        content = path.read_bytes()
        damaged = bytearray(content)
        bit = rng.randrange(8 * len(content))
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        with pytest.raises(UsageError) as refused:
            read_all(folder)
        assert path.name in str(refused.value), (bit, path, refused.value)
        path.write_bytes(content)
    read_all(folder)


def test_flipped_bits_are_told_by_the_file(run_folder: Path) -> None:
    flip_bits(run_folder, 56, seed=3)


@pytest.mark.slow
def test_a_thousand_flipped_bits_are_told_by_the_file(run_folder: Path) -> None:
    flip_bits(run_folder, 1000, seed=4)


def test_cut_and_missing_files_are_told_by_name(run_folder: Path) -> None:
    for path in sorted(path for path in run_folder.iterdir() if path.stat().st_size):
        content = path.read_bytes()
        for length in (0, 1, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            with pytest.raises(UsageError, match=re.escape(path.name)):
                read_all(run_folder)
        path.unlink()
        with pytest.raises(UsageError, match=re.escape(path.name)):
            read_all(run_folder)
        path.write_bytes(content)


def test_arrays_of_another_run_are_refused(run_folder: Path, tmp_path: Path) -> None:
    errai.solve(errai.load_game("kuhn"), iterations=20, seed=1, out=tmp_path / "other")
    names = read_checkpoint(run_folder).arrays
    file = names["regrets-0"][0]
    shutil.copy(tmp_path / "other" / file, run_folder / file)
    with pytest.raises(UsageError, match="was made by another configuration"):
        read_all(run_folder)
    shutil.copy(tmp_path / "other" / "checkpoint.json", run_folder)
    with pytest.raises(UsageError, match=r"checkpoint.json' belongs to another configuration"):
        read_all(run_folder)


def test_arrays_of_an_older_checkpoint_are_refused(run_folder: Path) -> None:
    file = read_checkpoint(run_folder).arrays["averages-0"][0]
    old = (run_folder / file).read_bytes()
    errai.solve(errai.load_game("kuhn"), iterations=40, out=run_folder, resume=True)
    newer = read_checkpoint(run_folder).arrays["averages-0"][0]
    assert newer != file
    assert not (run_folder / file).exists()
    (run_folder / newer).write_bytes(old)
    with pytest.raises(UsageError, match="not the file that the checkpoint names"):
        errai.load_strategy(run_folder)


def test_another_configuration_does_not_go_on(run_folder: Path) -> None:
    kuhn = errai.load_game("kuhn")
    for game, options, told in (
        (LEDUC, {}, "game 'kuhn', not 'leduc'"),
        (kuhn, {"algorithm": "cfr"}, "algorithm 'cfr+', not 'cfr'"),
        (kuhn, {"seed": 7}, "seed '0', not '7'"),
        (kuhn, {"delay": 3}, "delay '0', not '3'"),
        (kuhn, {"dtype": "float32"}, "dtype 'float64', not 'float32'"),
        (kuhn, {"alternating": False}, "alternating 'True', not 'False'"),
    ):
        with pytest.raises(UsageError, match=re.escape(told)):
            errai.solve(game, iterations=40, out=run_folder, resume=True, **options)


def test_folders_that_hold_something_are_left_alone(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds a run already: resume it"):
        errai.solve(LEDUC, iterations=10, out=run_folder)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    with pytest.raises(UsageError, match="is in use and holds no run"):
        errai.solve(LEDUC, iterations=10, out=tmp_path / "mine")
    with pytest.raises(UsageError, match=r"'.*letter' is in use and holds no run"):
        errai.solve(LEDUC, iterations=10, out=tmp_path / "mine" / "letter")
    with pytest.raises(UsageError, match=r"is not a run: it has no checkpoint.json"):
        errai.load_strategy(tmp_path / "mine")
    with pytest.raises(UsageError, match=r"expected a saved strategy or run: '.*letter' is neither"):
        errai.load_strategy(tmp_path / "mine" / "letter")
    with pytest.raises(UsageError, match=r"'.*none' was not found: expected a saved strategy or run"):
        errai.load_strategy(tmp_path / "none")


def test_two_processes_do_not_write_one_run(run_folder: Path) -> None:
    with FolderLock(run_folder):
        with pytest.raises(UsageError, match="is being written by another process"):
            prepare_resumed(run_folder, StopRule(40))
        with pytest.raises(UsageError, match="is being written by another process"):
            errai.solve(LEDUC, iterations=10, out=run_folder)
    assert prepare_resumed(run_folder, StopRule(40)).run().iterations == 40


def test_run_that_was_created_but_not_begun_begins(tmp_path: Path) -> None:
    """A kill before the first checkpoint leaves a folder that can go on, or be made again."""
    prepare(configure(LEDUC), StopRule(10), out=tmp_path / "run")
    with pytest.raises(UsageError, match="names no array 'averages-0': the run has not saved it yet"):
        errai.load_strategy(tmp_path / "run")
    assert prepare_resumed(tmp_path / "run").run().iterations == 10
    for name in ("run.toml", ".run.toml.123.tmp"):
        folder = tmp_path / f"half with {name}"
        folder.mkdir()
        (folder / name).write_text("[form")
        assert not has_checkpoint(folder)
        assert errai.solve(LEDUC, iterations=10, out=folder).iterations == 10
        assert not list(folder.glob(".*"))


def test_impossible_values_are_told(tmp_path: Path) -> None:
    for options, told in (
        ({"dtype": "int8"}, "the tables must be float32 or float64, not 'int8'"),
        ({"dtype": "many"}, "the tables must be float32 or float64, not 'many'"),
        ({"until": 0}, "the target exploitability must be above 0 mbb, not 0"),
        ({"seconds": -1}, "the time limit must be above 0 seconds, not -1"),
        ({"measure_every": 0}, "the iterations between measurements must be 1 or more, not 0"),
        ({"checkpoint_every": -1}, "the seconds between checkpoints must be 0 or more, not -1"),
    ):
        with pytest.raises(UsageError, match=re.escape(told)):
            errai.solve(LEDUC, iterations=10, **options)
    errai.solve(LEDUC, iterations=10, out=tmp_path)
    text = (tmp_path / "checkpoint.json").read_text()
    (tmp_path / "checkpoint.json").write_text(text.replace('"version": 1', '"version": 9'))
    with pytest.raises(UsageError, match="has format version 9: expected version 1"):
        errai.load_strategy(tmp_path)


def test_a_target_or_a_time_is_reached_without_a_number_of_iterations() -> None:
    """As on the command line: only an explicit number of iterations ends a run before its target."""
    solved = errai.solve("leduc", until=0.2)
    assert solved.iterations > 1000
    assert solved.measurements[-1].exploitability.mbb_per_game <= 0.2
    assert solved.measurements[-2].exploitability.mbb_per_game > 0.2
    assert errai.solve("leduc", until=0.2, iterations=50).iterations == 50
    timed = errai.solve("kuhn", seconds=0.2)
    assert timed.iterations > 1000
    assert timed.measurements[-1].seconds >= 0.2
    assert errai.solve("kuhn").iterations == 1000
    assert errai.solve("bluff-1-1", iterations=5).strategy.game == errai.load_game("bluff-1-1")


def test_games_are_solved_by_name_or_file() -> None:
    for name in ("leduc", GAME_FILES / "leduc.limit.2p.game"):
        by_name, by_game = errai.solve(name, iterations=10), errai.solve(errai.load_game(name), iterations=10)
        assert isinstance(by_name, Run)
        assert isinstance(by_game, Run)
        assert by_name.strategy.game == by_game.strategy.game
        assert_same_tables(by_name, by_game)
    with pytest.raises(UsageError, match="'chess' is neither a game nor an ACPC game file"):
        errai.solve("chess")


def test_strategy_file_gives_the_same_probabilities(tmp_path: Path) -> None:
    strategy = errai.solve(LEDUC, iterations=100).strategy
    strategy.save(tmp_path / "leduc.strategy")
    loaded = errai.load_strategy(tmp_path / "leduc.strategy")
    assert loaded.probabilities("cr", "K") == strategy.probabilities("cr", "K")
    assert loaded.probabilities("crc/r", "Q", "K") == strategy.probabilities("crc/r", "Q", "K")
    for table, expected in zip(loaded.tables, strategy.tables, strict=True):
        assert np.array_equal(table, expected)
    assert errai.exploitability(loaded) == errai.exploitability(strategy)
    strategy.save(tmp_path / "leduc.strategy")  # in the place of the old one
    errai.load_strategy(tmp_path / "leduc.strategy")


def test_array_that_is_no_strategy_is_refused(run_folder: Path) -> None:
    file = run_folder / read_checkpoint(run_folder).arrays["averages-0"][0]
    with pytest.raises(UsageError, match="holds 'averages-0': expected a strategy"):
        errai.load_strategy(file)


def test_game_file_is_kept_inside(tmp_path: Path) -> None:
    """A run of a game file needs the file no more."""
    path = tmp_path / "my.game"
    shutil.copy(GAME_FILES / "leduc.limit.2p.game", path)
    game = errai.load_game(path)
    assert isinstance(game, PokerRules)
    run = errai.solve(game, iterations=20, out=tmp_path / "run")
    run.strategy.save(tmp_path / "saved")
    path.unlink()
    assert "raiseSize = 2 4\n" in (tmp_path / "run" / "run.toml").read_text()
    for place in ("run", "saved"):
        loaded = errai.load_strategy(tmp_path / place)
        assert loaded.game == game
        assert np.array_equal(loaded.tables[0], run.strategy.tables[0])


def test_games_and_menus_come_back_as_they_were() -> None:
    nolimit = errai.load_game("nolimit-holdem")
    for menu in (
        BetMenu.parse("0.5p,1p|all-in / min", 3, 0.05),
        BetMenu.parse("33%", None, "0.1"),
    ):
        restored = restore_game(describe_game(nolimit, menu))
        assert restored == (nolimit, menu)
        assert restored[1] is not None
        assert restored[1].force_all_in in (Fraction(1, 20), Fraction(1, 10))
    for name in ("kuhn", "rhode-island", "holdem-3-1", "bluff-2-1"):
        assert restore_game(describe_game(errai.load_game(name), None)) == (errai.load_game(name), None)
    unnamed = PokerRules("mine", Deck("2QA", "c"), 1, (0,), (1, 1), (1,), (1,), (0,))
    with pytest.raises(UsageError, match="'mine' cannot be written as an ACPC game file"):
        describe_game(unnamed, None)
    misnamed = PokerRules("a\nb", Deck("QKA", "s"), 1, (0,), (1, 1), (1,), (1,), (0,))
    with pytest.raises(UsageError, match=r"'a\\nb' cannot be saved"):
        describe_game(misnamed, None)
