"""`errai match`: what is printed, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import errai
from errai.play.crosstable import agents_in
from errai.play.play_match import MatchOptions, exact_match, play_match

RunErrai = Callable[..., tuple[int, str, str]]

CALLER = """
import errai

class Caller(errai.Agent):
    def probabilities(self, state):
        return {"c": 1.0}
"""


def test_a_match_is_told(run_errai: RunErrai) -> None:
    status, out, error = run_errai(
        "match", "half", "random", "--game", "leduc", "--hands", "500", "--seed", "3"
    )
    score = play_match("half", "random", "leduc", MatchOptions(500, seed=3)).score
    assert (status, error) == (0, "")
    first, second = out.splitlines()
    assert first.startswith(f"half against random in leduc: {score.words()} (95%), 500 hands in ")
    assert first.endswith(", seed 3")
    assert second == f"  standard deviation {score.hand_standard_deviation:,.0f} mbb of a hand"


def test_a_duplicate_match_is_told_with_both_deviations(run_errai: RunErrai) -> None:
    command = ("match", "half", "random", "--game", "leduc", "--hands", "500", "--duplicate")
    status, out, error = run_errai(*command, "--log", "x.log")
    score = play_match("half", "random", "leduc", MatchOptions(500, True)).score
    assert (status, error) == (0, "")
    assert score.hands == 1000
    first, second, *files = out.splitlines()
    assert f": {score.words()} (95%), 500 deals, each played twice, in " in first
    assert second == (
        f"  standard deviation {score.hand_standard_deviation:,.0f} mbb of a hand, "
        f"{score.standard_deviation:,.0f} mbb of a pair's mean"
    )
    assert files == ["  hands in x.log", "  hands in x.swapped.log"]


def test_the_game_is_that_of_a_saved_strategy(run_errai: RunErrai) -> None:
    errai.uniform_strategy("kuhn").save("kuhn.strategy")
    for agents in (("kuhn.strategy:purify", "half"), ("half", "kuhn.strategy")):
        status, out, error = run_errai("match", *agents, "--hands", "20", "--json")
        assert (status, error) == (0, "")
        assert json.loads(out)["game"] == "kuhn"


def test_an_exact_value_is_that_of_strategies_after_their_treatment(run_errai: RunErrai) -> None:
    solved = errai.solve("leduc", iterations=20).strategy
    solved.save("leduc.strategy")
    status, out, error = run_errai("match", "leduc.strategy", "half", "--exact")
    value = errai.expected_value(solved, "half")
    assert (status, error) == (0, "")
    assert out.splitlines() == [
        f"leduc.strategy against half in leduc: {value.mbb_per_game:.6f} mbb/g, exactly",
        f"  wins {value.positions[0]:.9f} chips a game in position 0, {value.positions[1]:.9f} in position 1",
    ]
    purified = exact_match("leduc.strategy:purify", "half")
    assert abs(purified.mbb_per_game - value.mbb_per_game) > 1
    assert exact_match("half", "leduc.strategy").mbb_per_game == pytest.approx(-value.mbb_per_game)
    # Two agents that never fold pay each other nothing on average.
    status, out, error = run_errai("match", "half", "always-call", "--game", "leduc", "--exact")
    assert out.splitlines()[0] == "half against always-call in leduc: 0.000000 mbb/g, exactly"


def test_an_agents_failure_is_one_sentence_after_what_was_played(run_errai: RunErrai, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        CALLER.replace("return", "assert state.hand_number < 7, 'tired'\n        return")
    )
    command = ("match", "mine.py", "half", "--game", "leduc", "--hands", "20")
    status, out, error = run_errai(*command)
    assert status == 2
    assert error == "errai: the agent 'Caller' failed in hand 7: AssertionError: tired.\n"
    assert ", 7 hands in " in out
    status, out, error = run_errai(*command, "--json")
    assert status == 2
    assert json.loads(out)["num_hands"] == 7
    assert json.loads(out)["failure"] == "the agent 'Caller' failed in hand 7: AssertionError: tired"


def test_a_crosstable_goes_on_after_an_agents_failure(run_errai: RunErrai, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        CALLER.replace("return", "assert state.hand_number < 7, 'tired'\n        return")
    )
    command = ("match", "--all", ".", "half", "random", "--game", "leduc", "--hands", "20", "--json")
    status, out, error = run_errai(*command)
    assert status == 2
    assert error == "errai: the agent 'Caller' failed in hand 7: AssertionError: tired.\n"
    matches = json.loads(out)["matches"]
    assert [one["num_hands"] for one in matches] == [7, 7, 20]
    assert [one["failure"] is None for one in matches] == [False, False, True]
    assert "not played" not in run_errai(*command[:-1])[1]


def test_illegal_actions_are_told(run_errai: RunErrai, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CALLER.replace('"c"', '"all-in"'))
    status, out, error = run_errai("match", "always-call", "mine.py", "--game", "kuhn", "--hands", "4")
    assert (status, error) == (0, "")
    assert out.splitlines()[-1] == "  illegal actions, turned into calls or legal sizes: 4 by mine.py"


def test_a_crosstable_has_everybody_of_a_folder_and_those_named(run_errai: RunErrai, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    errai.solve("leduc", iterations=20, out=folder / "run")
    errai.uniform_strategy("leduc").save(folder / "uniform.strategy")
    errai.uniform_strategy("kuhn").save(folder / "kuhn.strategy")
    (folder / "own.py").write_text(CALLER)
    (folder / "_helper.py").write_text("")
    (folder / "notes.txt").write_text("nothing")
    names = ["all/kuhn.strategy", "all/own.py", "all/run", "all/uniform.strategy"]
    assert agents_in("all") == names
    command = ("match", "--all", "all", "half", "--game", "leduc", "--hands", "60", "--duplicate")
    status, out, error = run_errai(*command, "--results", "r.db")
    assert (status, error) == (0, "")
    title, header, _, *rows = out.splitlines()
    assert title.startswith("leduc: what the row wins from the column in mbb/g (95%), 60 deals played twice")
    assert header.split() == ["agent", "1", "2", "3", "4"]
    assert [row.split()[1] for row in rows[:4]] == [*names[1:], "half"]
    assert rows[4:] == ["  left out: all/kuhn.strategy: a strategy of 'kuhn'"]
    score = play_match("all/own.py", "half", "leduc", MatchOptions(60, True)).score
    assert rows[0].endswith(f"  {score.words()}".removesuffix(" mbb/g"))
    negative = f"{-score.mbb_per_game:,.1f} +- {score.half_width:,.1f}"
    assert " ".join(rows[3].split()[2:5]) == negative
    status, out, error = run_errai(*command, "--results", "r.db", "--json")
    found = json.loads(out)
    assert found["agents"] == [*names[1:], "half"]
    assert [one["agents"] for one in found["matches"]] == [
        [first, second]
        for i, first in enumerate([*names[1:], "half"])
        for second in [*names[1:], "half"][i + 1 :]
    ]
    assert found["matches"][2]["total_chips"] == score.total


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("half",), "expected two agents for a match, not 1; --all FOLDER plays many"),
        (("half", "half"), "'half' and 'half' play any game: --game must say which"),
        (("half", "nobody", "--game", "leduc"), "unknown agent 'nobody': expected always-fold,"),
        (("half", "half", "--game", "leduc", "--until", "soon"), "'soon' does not say when to stop"),
        (("half", "half", "--game", "leduc", "--hands", "0"), "--hands must be 1 or more, not 0"),
        (("half", "half", "--game", "leduc", "--seed", "4294967296"), "--seed must be between 0 and"),
        (("half", "half", "--game", "leduc", "--exact", "--hands", "5"), "--exact plays no hands"),
        (("half", "half", "--game", "nolimit-holdem", "--exact"), "the agent 'half' is not a strategy over"),
        (("--all", "nowhere"), "'nowhere' is not a folder: expected one with strategies, runs or agents"),
        (("--all", ".", "half", "--game", "leduc"), "expected 2 agents or more of 'leduc' for a crosstable"),
        (("--all", ".", "half", "--log", "x"), "--log, --phh and --exact are of one match"),
        (("half", "half", "--game", "bluff-1-1"), "bluff"),
        (
            ("half", "half", "--game", "leduc", "--log", "no/x.log"),
            "'no/x.log' cannot be written",
        ),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_sentence(
    run_errai: RunErrai, command: tuple[str, ...], sentence: str
) -> None:
    status, out, error = run_errai("match", *command)
    assert (status, out) == (2, "")
    assert error.startswith("errai: ")
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_duplicate_play_brings_the_deviation_well_below_half_in_limit_holdem(run_errai: RunErrai) -> None:
    status, _, error = run_errai("train", "--preset", "limit-quick", "--time", "15s", "--out", "run")
    assert status == 0, error
    for opponent in ("run", "run:purify"):
        status, out, error = run_errai("match", "run", opponent, "--hands", "20000", "--duplicate", "--json")
        assert status == 0, error
        found = json.loads(out)
        # A pair's mean; 0.71 would come from taking the mean of two hands alone.
        assert found["standard_deviation_mbb"] < 0.4 * found["hand_standard_deviation_mbb"]
        assert found["num_hands"] == 40_000
