"""What matches leave behind: logs, hand histories and results, complete however the match ends."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from naive import WITHOUT_JIT
from pokerkit import HandHistory
from test_referee import pokerkit_state

from errai.cards.deck import format_cards
from errai.errors import UsageError
from errai.games.catalogue import load_card_game
from errai.games.match_state import HandRecord, parse_hand_record, parse_score_record
from errai.games.rules import PokerRules
from errai.play.match import AgentFailedError
from errai.play.play_match import MatchOptions, play_match

OWN = """
import os
import time
import errai

class Own(errai.Agent):
    def probabilities(self, state):
        time.sleep(float(os.environ.get("DELAY", 0)))
        return {"c": 0.5, "r": 0.5}
"""


def read_log(rules: PokerRules, path: Path) -> tuple[list[HandRecord], tuple[Fraction, ...], tuple[str, ...]]:
    """Return the hands of a log, its totals and its names; the first line is a comment."""
    comment, *lines, score = path.read_text().splitlines()
    assert comment.startswith("# ")
    last = parse_score_record(score)
    return [parse_hand_record(rules, line) for line in lines], last.totals, last.names


def pokerkit_payoffs(record: HandRecord) -> tuple[int, ...]:
    """Play a logged hand again with PokerKit."""
    rules = record.betting.rules
    state = pokerkit_state(rules)
    start = state.starting_stacks
    for hole in record.holes:
        state.deal_hole(format_cards(hole))
    before = [0, 0]
    for r, texts in enumerate(record.betting.betting.split("/")):
        if r:
            before = [then - now for now, then in zip(state.stacks, start, strict=True)]
            state.burn_card("??")
            begin, end = rules.num_board_cards_by(r - 1), rules.num_board_cards_by(r)
            state.deal_board(format_cards(record.board[begin:end]))
        for action in re.findall(r"f|c|r[0-9]*", texts):
            if action == "f":
                state.fold()
            elif action == "c":
                state.check_or_call()
            elif action == "r":
                state.complete_bet_or_raise_to()
            else:
                state.complete_bet_or_raise_to(int(action[1:]) - before[state.actor_index])
        while state.can_show_or_muck_hole_cards():
            state.show_or_muck_hole_cards(True)
    assert state.status is False
    return tuple(now - then for now, then in zip(state.stacks, start, strict=True))


def referee(rules: PokerRules, agents: tuple[str, str], num_deals: int, folder: Path) -> None:
    """Play a duplicate match, and have its logs played again by PokerKit."""
    options = MatchOptions(num_deals, True, 17)
    result = play_match(*agents, rules, options, log=folder / "x.log")
    assert result.files == (folder / "x.log", folder / "x.swapped.log")
    won = Fraction(0)
    for swapped, path in enumerate(result.files):
        hands, totals, names = read_log(rules, path)
        assert names == (agents if swapped == 0 else agents[::-1])
        assert [hand.hand_number for hand in hands] == list(range(num_deals))
        by_name = dict.fromkeys(names, Fraction(0))
        for hand in hands:
            assert sum(hand.values) == 0
            assert hand.values == pokerkit_payoffs(hand)
            for name, value in zip(hand.names, hand.values, strict=True):
                by_name[name] += value
        assert hands[0].names == names
        assert hands[1].names == names[::-1]
        assert tuple(by_name[name] for name in names) == totals
        assert sum(totals) == 0
        won += by_name[agents[0]]
    assert won == result.score.total


REFEREED = [("limit-holdem", ("half", "random")), ("nolimit-holdem", ("random", "probe"))]


@pytest.mark.parametrize(("game", "agents"), REFEREED)
def test_logs_are_zero_sum_and_pay_what_pokerkit_pays(game, agents, tmp_path):
    referee(load_card_game(game), agents, 10 if WITHOUT_JIT else 100, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("game", "agents"), REFEREED)
def test_10_000_logged_hands_pay_what_pokerkit_pays(game, agents, tmp_path):
    referee(load_card_game(game), agents, 5000, tmp_path)


@pytest.mark.parametrize(("game", "agents"), [*REFEREED, ("limit-holdem", ("always-fold", "half"))])
def test_hand_histories_are_read_by_pokerkit_with_the_same_chips(game, agents, tmp_path):
    rules = load_card_game(game)
    options = MatchOptions(5 if WITHOUT_JIT else 40, True, 4)
    play_match(agents[0], agents[1], rules, options, log=tmp_path / "x.log", phh=tmp_path / "x.phhs")
    for name in ("x", "x.swapped"):
        hands, _, _ = read_log(rules, tmp_path / f"{name}.log")
        with open(tmp_path / f"{name}.phhs", "rb") as file:
            histories = list(HandHistory.load_all(file))
        assert [history.hand for history in histories] == [hand.hand_number for hand in hands]
        for history, hand in zip(histories, hands, strict=True):
            *_, end = history
            won = [now - then for now, then in zip(end.stacks, history.starting_stacks, strict=True)]
            assert won == list(hand.values)
            assert history.players == list(hand.names)


def test_hand_histories_of_other_games_or_without_pokerkit_are_refused(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="'leduc' has no name in PHH: expected limit or no-limit hold'em"):
        play_match("half", "half", "leduc", phh=tmp_path / "x.phhs")
    monkeypatch.setattr("errai.play.match_logs.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="PHH need PokerKit, which is not installed"):
        play_match("half", "half", "limit-holdem", phh=tmp_path / "x.phhs")
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_written_over(tmp_path):
    (tmp_path / "x.swapped.log").write_text("mine")
    with pytest.raises(UsageError, match=r"x.swapped.log' is there already: expected a new file"):
        play_match("half", "half", "leduc", MatchOptions(10, True), log=tmp_path / "x.log")
    assert (tmp_path / "x.swapped.log").read_text() == "mine"
    assert not (tmp_path / "x.log").exists()
    with pytest.raises(UsageError, match="cannot be written: its folder does not exist"):
        play_match("half", "half", "leduc", log=tmp_path / "none" / "x.log")


# Results


def test_a_match_goes_on_where_it_was_left(tmp_path):
    agents, db = ("half", "random"), tmp_path / "r.db"
    whole = play_match(*agents, "leduc", MatchOptions(9000, True, 3), log=tmp_path / "whole.log")
    for hands in (10, 8500, 8500, 9000):
        if hands == 9000:  # what a batch that was cut off has left
            with open(tmp_path / "x.log", "a") as file:
                file.write("STATE:8500:" * 100_000)
        part = play_match(*agents, "leduc", MatchOptions(hands, True, 3), log=tmp_path / "x.log", results=db)
        assert part.score.deals == hands
    assert part.score == whole.score
    for kind in ("log", "swapped.log"):
        assert (tmp_path / f"x.{kind}").read_bytes() == (tmp_path / f"whole.{kind}").read_bytes()
    with sqlite3.connect(db) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        batches = connection.execute("SELECT first_deal, deals FROM batches ORDER BY first_deal").fetchall()
    connection.close()
    assert batches == [(0, 10), (10, 8192), (8202, 298), (8500, 500)]


def test_other_matches_in_the_same_database_are_apart(tmp_path):
    db = tmp_path / "r.db"
    results = [
        play_match(first, second, game, MatchOptions(hands, duplicate, seed), results=db).score
        for hands, (first, second, game, duplicate, seed) in enumerate(
            [
                ("half", "random", "leduc", True, 3),
                ("random", "half", "leduc", True, 3),
                ("half", "random", "kuhn", True, 3),
                ("half", "random", "leduc", False, 3),
                ("half", "random", "leduc", True, 4),
            ],
            start=100,
        )
    ]
    assert [score.deals for score in results] == [100, 101, 102, 103, 104]


def test_an_agent_that_has_changed_begins_a_match_of_its_own(tmp_path):
    own, db = tmp_path / "own.py", tmp_path / "r.db"
    own.write_text(OWN)
    assert play_match(str(own), "half", "leduc", MatchOptions(30), results=db).score.deals == 30
    assert play_match(str(own), "half", "leduc", MatchOptions(20), results=db).score.deals == 30
    own.write_text(OWN + "# better\n")
    assert play_match(str(own), "half", "leduc", MatchOptions(20), results=db).score.deals == 20


def test_what_was_played_before_an_agent_failed_is_kept(tmp_path):
    own, db = tmp_path / "own.py", tmp_path / "r.db"
    failing = OWN.replace("return {", "assert state.hand_number < 150, 'enough'; return {")
    own.write_text(failing)
    files = {"log": tmp_path / "x.log", "results": db}
    for _ in range(2):  # the second attempt finds the same deals, plays none, and fails alike
        with pytest.raises(AgentFailedError, match=r"failed in hand 150: AssertionError: enough$") as failed:
            play_match(str(own), "half", "leduc", MatchOptions(400), **files)
        assert failed.value.score.deals == 150
        hands, totals, _ = read_log(load_card_game("leduc"), tmp_path / "x.log")
        assert len(hands) == 150
        assert totals[0] == failed.value.score.total


def test_files_that_do_not_fit_the_results_are_refused(tmp_path):
    db, log = tmp_path / "r.db", tmp_path / "x.log"
    play_match("half", "random", "leduc", MatchOptions(100), results=db)
    with pytest.raises(UsageError, match=r"x.log' would lack the 100 deals that were played before"):
        play_match("half", "random", "leduc", MatchOptions(200), results=db, log=log)
    play_match("half", "random", "kuhn", MatchOptions(100), results=db, log=log)
    log.write_bytes(log.read_bytes()[:500])
    with pytest.raises(UsageError, match=r"x.log' has 500 bytes of the .* that the match has written to it"):
        play_match("half", "random", "kuhn", MatchOptions(200), results=db, log=log)


def test_what_is_no_database_of_matches_is_refused(tmp_path):
    text = tmp_path / "text"
    text.write_text("not a database, and long enough to be looked at\n" * 50)
    with pytest.raises(UsageError, match="text' cannot be used for results of matches: file is not"):
        play_match("half", "half", "leduc", results=text)
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    with pytest.raises(UsageError, match=r"other.db' holds something else than results of matches"):
        play_match("half", "half", "leduc", results=other)
    with pytest.raises(UsageError, match="unable to open database file"):
        play_match("half", "half", "leduc", results=tmp_path / "none" / "r.db")


def test_two_processes_do_not_play_the_same_match(tmp_path):
    db = tmp_path / "r.db"

    def play_it_elsewhere(plan, score):
        if score.deals == 100:
            play_match(str(own), "half", "leduc", MatchOptions(300), results=db)

    own = tmp_path / "own.py"
    own.write_text(OWN)
    with pytest.raises(UsageError, match="another process plays the same match into"):
        play_match(str(own), "half", "leduc", MatchOptions(300), results=db, report=play_it_elsewhere)
    undisturbed = play_match(str(own), "half", "leduc", MatchOptions(300)).score
    assert play_match(str(own), "half", "leduc", MatchOptions(300), results=db).score == undisturbed


def started(folder: Path, delay: float, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "errai", "match", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent), "DELAY": str(delay)},
    )


def deals_kept(db: Path) -> int:
    try:
        connection = sqlite3.connect(db)
        (deals,) = connection.execute("SELECT SUM(deals) FROM batches").fetchone()
        connection.close()
    except sqlite3.Error:
        return 0
    return int(deals or 0)


def wait_for_more(db: Path, process: subprocess.Popen[str], before: int) -> None:
    while deals_kept(db) <= before:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_a_killed_match_goes_on_with_the_same_result(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    command = ["own.py", "half", "--game", "leduc", "--hands", "400", "--duplicate", "--seed", "9"]
    command += ["--log", "x.log", "--results", "r.db", "--json"]
    kept = 0
    for _ in range(2):
        process = started(tmp_path, 0.001, *command)
        wait_for_more(tmp_path / "r.db", process, kept)
        time.sleep(0.05)  # into the next batch
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = deals_kept(tmp_path / "r.db")
        assert 0 < kept < 400
    process = started(tmp_path, 0, *command)
    out, error = process.communicate()
    assert process.returncode == 0, error
    undisturbed = play_match(
        str(tmp_path / "own.py"), "half", "leduc", MatchOptions(400, True, 9), log=tmp_path / "whole.log"
    )
    found = json.loads(out)
    assert found["total_chips"] == undisturbed.score.total
    assert found["interval_mbb_per_game"] == list(undisturbed.score.interval or ())
    whole = (tmp_path / "whole.log").read_text().replace(str(tmp_path / "own.py"), "own.py")
    assert (tmp_path / "x.log").read_text() == whole


def test_ctrl_c_keeps_what_was_played_and_says_how_to_go_on(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    command = ["own.py", "half", "--game", "leduc", "--hands", "100000", "--results", "r.db"]
    process = started(tmp_path, 0.001, *command)
    wait_for_more(tmp_path / "r.db", process, 0)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate()
    assert process.returncode == 130
    assert out.startswith("own.py against half in leduc: ")
    assert f" {deals_kept(tmp_path / 'r.db'):,} hands in " in out
    assert (
        "interrupted; what was played is in r.db; go on with: errai match own.py half --game leduc" in error
    )
