"""Game files of the competition: the five known games, round trips, and every way to be refused."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.games import poker_rules

import errai
from errai.cards.deck import FULL_DECK, Deck
from errai.errors import UsageError
from errai.games.acpc_files import MAX_FILE_BYTES, format_game_file, parse_game_file, read_game_file
from errai.games.rules import UNLIMITED_RAISES, PokerRules

FILES = Path(__file__).parent / "game_files"

LEDUC = (FILES / "leduc.limit.2p.game").read_text()
NOLIMIT = (FILES / "holdem.nolimit.2p.game").read_text()

# The table of game files in the competition's specification.
TABLE = {
    "holdem.limit.2p.game": PokerRules(
        name="",
        deck=FULL_DECK,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1, 1),
        blinds=(10, 5),
        raise_sizes=(10, 10, 20, 20),
        max_raises=(3, 4, 4, 4),
        first_player=(1, 0, 0, 0),
    ),
    "holdem.nolimit.2p.game": PokerRules(
        name="",
        deck=FULL_DECK,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1, 1),
        blinds=(100, 50),
        raise_sizes=None,
        max_raises=(UNLIMITED_RAISES,) * 4,
        first_player=(1, 0, 0, 0),
        stacks=(20000, 20000),
    ),
    "leduc.limit.2p.game": PokerRules(
        name="",
        deck=Deck("QKA", "hs"),
        num_hole_cards=1,
        num_board_cards=(0, 1),
        blinds=(1, 1),
        raise_sizes=(2, 4),
        max_raises=(2, 2),
        first_player=(0, 0),
    ),
    "kuhn.limit.3p.game": PokerRules(
        name="",
        deck=Deck("JQKA", "s"),
        num_hole_cards=1,
        num_board_cards=(0,),
        blinds=(1, 1, 1),
        raise_sizes=(1,),
        max_raises=(1,),
        first_player=(0,),
        stacks=(2, 2, 2),
    ),
    "holdem.limit.3p.game": PokerRules(
        name="",
        deck=FULL_DECK,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1, 1),
        blinds=(5, 10, 0),
        raise_sizes=(10, 10, 20, 20),
        max_raises=(3, 4, 4, 4),
        first_player=(2, 0, 0, 0),
    ),
}


@pytest.mark.parametrize("file", sorted(TABLE))
def test_the_competitions_games(file):
    path = FILES / file
    assert read_game_file(path) == replace(TABLE[file], name=str(path))
    assert errai.load_game(str(path)) == read_game_file(path)


def test_there_is_a_file_for_each_game_of_the_table():
    assert {path.name for path in FILES.glob("*.game")} == set(TABLE)


@pytest.mark.parametrize(
    ("file", "name"), [("holdem.limit.2p.game", "limit-holdem"), ("holdem.nolimit.2p.game", "nolimit-holdem")]
)
def test_built_in_games_equal_the_competitions(file, name):
    assert replace(read_game_file(FILES / file), name=name) == errai.load_game(name)


@given(rules=poker_rules())
@settings(deadline=None)
def test_rules_survive_the_round_trip(rules):
    assert parse_game_file(format_game_file(rules), rules.name) == rules


def test_format_says_what_files_cannot_hold():
    with pytest.raises(UsageError, match=r"'leduc' cannot be .* the ranks JQK and suits hs, .* top ranks"):
        format_game_file(errai.load_game("leduc"))
    with pytest.raises(UsageError, match=r"'rhode-island' cannot be .* a three-card showdown"):
        format_game_file(errai.load_game("rhode-island"))


def test_case_comments_spaces_and_line_ends_do_not_matter():
    loud = LEDUC.upper().replace("\n", " # comment\r\n").replace("=", "  =\t")
    assert parse_game_file(loud, "x") == parse_game_file(LEDUC, "x")
    assert parse_game_file(LEDUC.replace(" = ", "="), "x") == parse_game_file(LEDUC, "x")


def test_defaults_are_the_dealers():
    short = re.sub(r"(firstPlayer|maxRaises).*\n", "", LEDUC)
    rules = parse_game_file(short, "x")
    assert rules.first_player == (0, 0)
    assert rules.max_raises == (UNLIMITED_RAISES, UNLIMITED_RAISES)
    assert rules.stacks is None


def _without(text: str, key: str) -> str:
    return re.sub(rf"^{key}.*\n", "", text, flags=re.MULTILINE)


def _with(text: str, key: str, value: str) -> str:
    changed = re.sub(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
    assert changed != text
    return changed


@pytest.mark.parametrize(
    "key",
    [
        "numPlayers",
        "numRounds",
        "blind",
        "raiseSize",
        "numSuits",
        "numRanks",
        "numHoleCards",
        "numBoardCards",
    ],
)
def test_missing_keys_are_named(key):
    with pytest.raises(UsageError, match=f"'x' has no {key}, which every game.* needs"):
        parse_game_file(_without(LEDUC, key), "x")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (_without(LEDUC, "limit"), "expected a line 'limit' or 'nolimit'"),
        (_without(NOLIMIT, "stack"), "'x' has no stack, which every nolimit game needs"),
        (_without(LEDUC, "END"), "line 14 of 'x': the file ends without END GAMEDEF"),
        (_without(LEDUC, "GAMEDEF"), "line 2 of 'x': 'limit' stands where GAMEDEF must begin the game"),
        ("", "'x' is not a game file: it has no GAMEDEF line"),
        ("# nothing\n", "'x' is not a game file: it has no GAMEDEF line"),
        (LEDUC + "limit\n", "line 15 of 'x': 'limit' stands after END GAMEDEF"),
        ("GAMEDEF\n" + LEDUC, "line 3 of 'x': GAMEDEF occurs a second time"),
        (
            LEDUC.replace("limit", "potlimit", 1),
            "line 3 of 'x': 'potlimit' has no meaning: expected limit, nolimit, END",
        ),
        (LEDUC.replace("limit\n", "limit = 1\n", 1), "line 3 of 'x': 'limit = 1' has no meaning"),
        (
            LEDUC.replace("blind", "blinds"),
            "line 6 of 'x': 'blinds = 1 1' has no meaning: expected limit, .*blind",
        ),
        (LEDUC.replace("blind =", "blind"), "line 6 of 'x': 'blind 1 1' has no meaning: .*'KEY = NUMBERS'"),
        (
            LEDUC.replace("END", "blind = 1 1\nEND"),
            "line 14 of 'x': blind is given a second time, after line 6",
        ),
        (LEDUC.replace("END", "nolimit\nEND"), "line 14 of 'x': limit or nolimit is given a second time"),
        (_with(LEDUC, "numPlayers", "1"), "line 4 of 'x': numPlayers must be 2 to 10, not '1'"),
        (_with(LEDUC, "numPlayers", "11"), "line 4 of 'x': numPlayers must be 2 to 10, not '11'"),
        (
            _with(LEDUC, "numPlayers", "2 2"),
            r"line 4 of 'x': numPlayers has 2 values \('2 2'\): expected one",
        ),
        (
            _with(LEDUC, "numPlayers", ""),
            r"line 4 of 'x': numPlayers has 0 values \(''\): expected one",
        ),
        (
            _with(LEDUC, "numPlayers", "3"),
            "line 6 of 'x': blind has 2 values .*: expected 3, one for each player",
        ),
        (_with(LEDUC, "numRounds", "5"), "line 5 of 'x': numRounds must be 1 to 4, not '5'"),
        (_with(LEDUC, "blind", "1 -1"), "line 6 of 'x': blind must be 0 to 2147483647, not '-1'"),
        (_with(LEDUC, "blind", "1 one"), "line 6 of 'x': blind must be 0 to 2147483647, not 'one'"),
        (_with(LEDUC, "blind", "1 1.5"), "line 6 of 'x': blind must be 0 to 2147483647, not '1.5'"),
        (_with(LEDUC, "blind", "1 \u0661"), "line 6 of 'x': blind must be 0 to 2147483647, not '\u0661'"),
        (
            _with(LEDUC, "blind", "1 2147483648"),
            "line 6 of 'x': blind must be 0 to 2147483647, not '2147483648'",
        ),
        (
            _with(LEDUC, "blind", "1 " + "9" * 5000),
            "line 6 of 'x': blind must be 0 to 2147483647, not '9{37}\\.\\.\\.'",
        ),
        (_with(LEDUC, "blind", "0 0"), r"invalid rules of 'x': the blinds .*, not \(0, 0\)"),
        (
            _with(LEDUC, "raiseSize", "2 4 8"),
            "line 7 of 'x': raiseSize has 3 values .*: expected 2, one for each r",
        ),
        (
            _with(LEDUC, "raiseSize", "2 0"),
            "line 7 of 'x': raiseSize must be 1 to 2147483647, not '0'",
        ),
        (
            NOLIMIT.replace("END", "raiseSize = 1 1 1 1\nEND"),
            "line 13 of 'x': raiseSize is '1 1 1 1', but a nolimit",
        ),
        (_with(LEDUC, "firstPlayer", "1 0"), "line 8 of 'x': firstPlayer must be 1 to 10, not '0'"),
        (_with(LEDUC, "firstPlayer", "1 3"), "line 8 of 'x': firstPlayer must be 1 to 2, not '1 3'"),
        (_with(LEDUC, "maxRaises", "2 256"), "line 9 of 'x': maxRaises must be 0 to 255, not '256'"),
        (_with(LEDUC, "numSuits", "5"), "line 10 of 'x': numSuits must be 1 to 4, not '5'"),
        (_with(LEDUC, "numRanks", "14"), "line 11 of 'x': numRanks must be 1 to 13, not '14'"),
        (_with(LEDUC, "numHoleCards", "0"), "line 12 of 'x': numHoleCards must be 1 to 7, not '0'"),
        (
            _with(LEDUC, "numHoleCards", "5"),
            "invalid rules of 'x': 11 cards are dealt from a deck of 6",
        ),
        (_with(LEDUC, "numBoardCards", "0"), "line 13 of 'x': numBoardCards has 1 values .*: expected 2"),
        (_with(NOLIMIT, "stack", "20000 50"), "invalid rules of 'x': each stack"),
    ],
)
def test_nonsense_is_refused_with_line_key_and_value(text, sentence):
    with pytest.raises(UsageError, match=sentence) as caught:
        parse_game_file(text, "x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"GAMEDEF\n\x93\x00\xff", "is not a game file: its byte 8 is 0x93, which is not text"),
        (bytes(range(128)), "stands where GAMEDEF must begin the game"),
        (b"#" * (MAX_FILE_BYTES + 1), "it has more than 65536 bytes"),
    ],
)
def test_files_that_are_no_game_files(tmp_path, content, sentence):
    path = tmp_path / "garbage.game"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        read_game_file(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match=r"missing\.game' cannot be read: No such file"):
        read_game_file(tmp_path / "missing.game")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_game_file(tmp_path)


@given(
    place=st.integers(0, len(LEDUC)),
    length=st.integers(0, 12),
    text=st.text(st.sampled_from("=# 0123456789\n\tlimtENDGAMEx\x00\x0b\u2028\u0661"), max_size=12),
)
@settings(max_examples=500, deadline=None)
def test_mutated_files_are_read_or_refused(place, length, text):
    mutated = LEDUC[:place] + text + LEDUC[place + length :]
    try:
        rules = parse_game_file(mutated, "x")
    except UsageError:
        return
    assert parse_game_file(format_game_file(rules), "x") == rules
