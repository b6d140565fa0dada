"""Golden play-throughs of every game, compared byte for byte.

The first line of each file in `playthroughs/` is the command that writes it, run in the repository's root.
A commit that changes a file says why. The files were checked by hand when they were frozen.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import errai
from errai.errors import UsageError
from errai.games.catalogue import game_names
from errai.games.match_state import parse_match_state
from errai.games.playthrough import PROGRAM, main, playthrough
from errai.games.rules import PokerRules

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "tests" / "playthroughs").glob("*.txt"))


def arguments_of(text: str) -> list[str]:
    """Return the arguments in the first line of a play-through."""
    command = text.splitlines()[0]
    assert command.startswith(f"$ {PROGRAM} ")
    return command.removeprefix(f"$ {PROGRAM} ").split()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden_playthrough(file, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    golden = file.read_bytes().decode()
    assert main(arguments_of(golden)) == 0
    assert capsys.readouterr().out == golden


def test_every_listed_game_has_a_playthrough():
    played = {arguments_of(file.read_text())[0] for file in FILES}
    assert played == {
        *game_names(),
        "tests/game_files/kuhn.limit.3p.game",
        "tests/game_files/holdem.limit.3p.game",
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_states_parse_and_payoffs_sum_to_zero(file, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = file.read_text()
    rules = errai.load_game(arguments_of(text)[0])
    for line in re.findall("MATCHSTATE:.*", text):
        assert isinstance(rules, PokerRules)
        assert parse_match_state(rules, line).is_my_turn
    payoffs = re.findall("payoffs +(.*)", text)
    assert len(payoffs) == int(arguments_of(text)[-1])
    for line in payoffs:
        assert sum(map(float, line.split())) == pytest.approx(0, abs=1e-5)


def test_hands_do_not_depend_on_how_many_are_played():
    leduc = errai.load_game("leduc")
    few, many = (playthrough(leduc, 5, hands).splitlines() for hands in (2, 4))
    assert many[1 : len(few)] == few[1:]


def test_as_a_program():
    done = subprocess.run(
        [sys.executable, *PROGRAM.split()[1:], "bluff-1-1", "--seed", "1", "--hands", "4"],
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout == (ROOT / "tests" / "playthroughs" / "bluff-1-1.txt").read_bytes()


def test_bad_input_is_one_sentence(capsys):
    assert main(["hearts"]) == 2
    assert capsys.readouterr().err.startswith("error: 'hearts' is neither a game nor an ACPC game file")
    with pytest.raises(UsageError, match="the number of hands must be 1 or more, not 0"):
        playthrough(errai.load_game("kuhn"), 0, 0)
