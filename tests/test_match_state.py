"""Lines of the protocol and of logs: round trips, strictness, and fuzzed lines that may only be refused."""

import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.games import legal_actions, poker_rules

import errai
from errai.cards.deck import parse_cards
from errai.errors import UsageError
from errai.games.acpc_files import parse_game_file, read_game_file
from errai.games.betting import replay
from errai.games.hand import HandState
from errai.games.match_state import (
    MAX_HAND_NUMBER,
    HandRecord,
    MatchState,
    ScoreRecord,
    format_value,
    parse_hand_record,
    parse_match_state,
    parse_score_record,
)
from errai.games.rules import PokerRules

FILES = Path(__file__).parent / "game_files"

LIMIT = errai.load_game("limit-holdem")
NOLIMIT = errai.load_game("nolimit-holdem")
KUHN_3 = read_game_file(FILES / "kuhn.limit.3p.game")
LIMIT_3 = read_game_file(FILES / "holdem.limit.3p.game")
LEDUC = read_game_file(FILES / "leduc.limit.2p.game")


def random_hand(rules, rng: random.Random) -> list[HandState]:
    """Return the states of one random hand from the hole cards on, first to last."""
    deck = rng.sample(rules.deck.cards, rules.deck.size)
    hole = rules.num_hole_cards
    state = HandState.start(rules).deal_hole([deck[i * hole :][:hole] for i in range(rules.num_players)])
    del deck[: hole * rules.num_players]
    states = [state]
    while not state.is_over:
        if due := state.num_board_cards_due:
            state = state.deal_board(deck[:due])
            del deck[:due]
        else:
            state = state.act(rng.choice(legal_actions(state, rng)))
        states.append(state)
    return states


def told(state: HandState, position: int, hand_number: int = 0) -> MatchState:
    """Return what a position is told before the end: the others' cards are hidden."""
    holes = tuple(hole if p == position else None for p, hole in enumerate(state.holes))
    return MatchState(position, hand_number, state.betting, holes, state.board)


# Lines written by hand from the protocol's description.
LINES = [
    (LIMIT, "MATCHSTATE:0:0::TdAs|"),
    (LIMIT, "MATCHSTATE:1:30:r:|9s8h"),
    (LIMIT, "MATCHSTATE:0:0:rc/:TdAs|/2c8c3h"),
    (LIMIT, "MATCHSTATE:1:99:rrrc/rc/cc/:|Qd7c/2h8h5c/Th/6d"),
    (LIMIT, "MATCHSTATE:0:4:crc/cc/cc/cc:Jd9s|Qd7c/2h8h5c/Th/6d"),
    (NOLIMIT, "MATCHSTATE:0:31:r300r900c/r1800r3600r9000c/r20000c/:Jh9c|KsJd/6dJs9d/7d/2h"),
    (NOLIMIT, "MATCHSTATE:1:4294967295:r20000c///:8h9c|6h9d/Qd3cKh/2c/Kc"),
    (NOLIMIT, "MATCHSTATE:1:0:f:|6h9d"),
    (KUHN_3, "MATCHSTATE:2:7:cc:||As"),
    (KUHN_3, "MATCHSTATE:1:7:ccrfc:Js|Qs|As"),
    (LIMIT_3, "MATCHSTATE:0:0:cfc/:AdAc||/8hAsKc"),
    (LEDUC, "MATCHSTATE:0:0:crc/r:Qs|/Ah"),
]


@pytest.mark.parametrize(("rules", "line"), LINES)
def test_lines_survive_the_round_trip(rules, line):
    for ending in ("", "\n", "\r\n"):
        assert str(parse_match_state(rules, line + ending)) == line


def test_the_parts_of_a_match_state():
    state = parse_match_state(NOLIMIT, "MATCHSTATE:0:31:r300c/r400:Jh9c|/6dJs9d")
    assert (state.position, state.hand_number, state.betting.betting) == (0, 31, "r300c/r400")
    assert state.holes == (parse_cards("Jh9c"), None)
    assert state.board == parse_cards("6dJs9d")
    assert not state.is_my_turn
    assert parse_match_state(NOLIMIT, "MATCHSTATE:0:31:r300c/r400r500:Jh9c|/6dJs9d").is_my_turn
    assert not parse_match_state(NOLIMIT, "MATCHSTATE:0:31:f:Jh9c|").is_my_turn


@pytest.mark.parametrize(
    ("rules", "line", "sentence"),
    [
        (LIMIT, "", "'' does not begin with 'MATCHSTATE:'"),
        (LIMIT, "matchstate:0:0::TdAs|", "does not begin with 'MATCHSTATE:'"),
        (
            LIMIT,
            "MATCHSTATE:0:0::TdAs|:r",
            "has 5 parts after 'MATCHSTATE': expected 4, position, hand, bett",
        ),
        (LIMIT, "MATCHSTATE:0:0:TdAs|", "has 3 parts after 'MATCHSTATE': expected 4"),
        (LIMIT, "MATCHSTATE:2:0::TdAs|", "position 2 is not in play: 0 to 1 are"),
        (LIMIT, "MATCHSTATE:-1:0::TdAs|", "the position '-1' is not a number"),
        (LIMIT, "MATCHSTATE:x:0::TdAs|", "the position 'x' is not a number"),
        (LIMIT, "MATCHSTATE::0::TdAs|", "the position '' is not a number"),
        (
            LIMIT,
            "MATCHSTATE:0:007::TdAs|",
            "the hand number '007' is not a number: expected digits without leading zeros",
        ),
        (
            LIMIT,
            "MATCHSTATE:0:4294967296::TdAs|",
            "the hand number must be 0 to 4294967295, not 4294967296",
        ),
        (LIMIT, "MATCHSTATE:0:" + "9" * 5000 + "::TdAs|", "the hand number '9+...' is not a number"),
        (
            LIMIT,
            "MATCHSTATE:0:0:cf:TdAs|",
            "the betting 'cf' is illegal at position 1, action 'f': a fold is legal",
        ),
        (
            LIMIT,
            "MATCHSTATE:0:0:cc:TdAs|",
            "the betting 'cc' lacks the '/' of a finished round: expected 'cc/'",
        ),
        (
            NOLIMIT,
            "MATCHSTATE:0:0:r20000c:TdAs|",
            "the betting 'r20000c' lacks the '/' .*: expected 'r20000c///'",
        ),
        (
            LIMIT,
            "MATCHSTATE:0:0:cc/:TdAs|",
            "the cards 'TdAs|' have 0 board fields: expected 1 after the betting 'cc/'",
        ),
        (LIMIT, "MATCHSTATE:0:0::TdAs|/2c3c4c", "have 1 board fields: expected 0 after the betting ''"),
        (LIMIT, "MATCHSTATE:0:0::TdAs", "the cards 'TdAs' have 1 hole fields: expected 2"),
        (LIMIT, "MATCHSTATE:0:0::TdAs||", "have 3 hole fields: expected 2"),
        (LIMIT, "MATCHSTATE:0:0::Td|", "are wrong at 'Td': expected 2 cards written as 'As'"),
        (LIMIT, "MATCHSTATE:0:0::TdAsKs|", "are wrong at 'TdAsKs': expected 2 cards written as 'As'"),
        (LIMIT, "MATCHSTATE:0:0::tdAs|", "are wrong at 'tdAs': expected 2 cards written as 'As'"),
        (LIMIT, "MATCHSTATE:0:0::Td As|", "are wrong at 'Td As': expected 2 cards written as 'As'"),
        (LIMIT, "MATCHSTATE:0:0::TdXx|", "are wrong at 'TdXx': 'Xx' is not a card"),
        (LIMIT, "MATCHSTATE:0:0::TdTd|", "are wrong at 'TdTd': the card Td occurs twice"),
        (LIMIT, "MATCHSTATE:0:0::TdAs|KdAs", "the card As occurs twice"),
        (LIMIT, "MATCHSTATE:0:0:cc/:TdAs|/Td3c4c", "the card Td occurs twice"),
        (LIMIT, "MATCHSTATE:0:0:cc/:TdAs|/3c4c", "are wrong at '3c4c': expected 3 cards written as 'As'"),
        (LIMIT, "MATCHSTATE:0:0::|TdAs", "the hole cards of position 0 are hidden from itself"),
        (
            LEDUC,
            "MATCHSTATE:0:0::Js|",
            "Js is not in this deck of the ranks QKA and suits hs",
        ),
        (LIMIT, "MATCHSTATE:0:0::TdAs|\n\n", "cards written as 'As'|is not a card"),
    ],
)
def test_wrong_lines_name_the_part(rules, line, sentence):
    with pytest.raises(UsageError, match=sentence.replace("|'", r"\|'")):
        parse_match_state(rules, line)


@given(rules=poker_rules(), seed=st.integers(0, MAX_HAND_NUMBER))
@settings(max_examples=100, deadline=None)
def test_every_state_of_a_random_hand_survives_the_round_trip(rules, seed):
    hands = random_hand(rules, random.Random(seed))
    for state in hands:
        if state.num_board_cards_due:
            continue  # the dealer tells the cards of a round together with its start
        for position in range(rules.num_players):
            record = told(state, position, seed)
            assert parse_match_state(rules, str(record)) == record
    shown = MatchState(0, seed, hands[-1].betting, hands[-1].holes, hands[-1].board)
    assert parse_match_state(rules, str(shown)) == shown
    names = [f"player-{p}" for p in range(rules.num_players)]
    logged = HandRecord.of(hands[-1], seed, names)
    assert parse_hand_record(rules, str(logged)) == logged
    assert logged.hand() == hands[-1]
    for value, exact in zip(logged.values, hands[-1].payoffs(), strict=True):
        assert abs(value - exact) <= Fraction(1, 2_000_000)


def test_public_cards_of_the_first_round_follow_the_hole_cards():
    # As the competition's own code prints a game with numBoardCards = 1 0 1.
    rules = PokerRules(
        name="early board",
        deck=LIMIT.deck,
        num_hole_cards=1,
        num_board_cards=(1, 0, 1),
        blinds=(1, 1),
        raise_sizes=(2, 2, 2),
        max_raises=(2, 2, 2),
        first_player=(0, 0, 0),
    )
    for line in ("MATCHSTATE:0:0::2c|3c", "MATCHSTATE:1:0:cc/:|2d3c/", "MATCHSTATE:1:0:cc/cc/c:2c|2d3c//3d"):
        assert str(parse_match_state(rules, line)) == line
    state = parse_match_state(rules, "MATCHSTATE:0:0:cc/cc/:2c|3c//3d")
    assert (state.holes, state.board) == (((0,), None), parse_cards("3c3d"))


# Logs


def test_log_lines_by_hand():
    line = "STATE:0:r300r20000f:TdAs|2h3d:300|-300:alice|bob"
    record = parse_hand_record(NOLIMIT, line + "\r\n")
    assert str(record) == line
    assert record.hand().payoffs() == record.values == (300, -300)
    assert record.names == ("alice", "bob")
    score = parse_score_record("SCORE:-12.5|12.5:alice|bob\n")
    assert score == ScoreRecord((Fraction(-25, 2), Fraction(25, 2)), ("alice", "bob"))
    assert str(score) == "SCORE:-12.5|12.5:alice|bob"


def test_a_third_of_a_pot_is_rounded_to_six_decimals():
    assert [
        format_value(v) for v in (Fraction(50, 3), Fraction(-200, 3), 7, Fraction(-1, 10**7), Fraction(1, 2))
    ] == [
        "16.666667",
        "-66.666667",
        "7",
        "0",
        "0.5",
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "STATE:0:f:TdAs|2h3d:50|-50",
            "has 4 parts after 'STATE': expected 5, hand, betting, cards, values",
        ),
        ("STATE:0:c:TdAs|2h3d:50|-50:a|b", "the hand is not over after 'c': a log has finished hands only"),
        (
            "STATE:0:f:TdAs|:50|-50:a|b",
            "the cards 'TdAs|' hide a hand: a log shows the hole cards of every position",
        ),
        ("STATE:0:f:TdAs|2h3d:50:a|b", "expected values of 2 players, not 1"),
        ("STATE:0:f:TdAs|2h3d:50|x:a|b", "'x' in the values is not a number of chips"),
        ("STATE:0:f:TdAs|2h3d:50|1e3:a|b", "'1e3' in the values is not a number of chips"),
        ("STATE:0:f:TdAs|2h3d:50|-0:a|b", "'-0' in the values is not a number of chips"),
        (
            "STATE:0:f:TdAs|2h3d:50|-50.0000001:a|b",
            "'-50.0000001' in the values is not .* at most 6 decimals",
        ),
        ("STATE:0:f:TdAs|2h3d:50|-50:a", "expected names of 2 players, not 1"),
        ("STATE:0:f:TdAs|2h3d:50|-50:a|", "invalid name of a player ''"),
        ("STATE:0:f:TdAs|2h3d:50|-50:a|b c", "invalid name of a player 'b c'"),
    ],
)
def test_wrong_log_lines_name_the_part(line, sentence):
    with pytest.raises(UsageError, match=sentence.replace("|'", r"\|'")):
        parse_hand_record(NOLIMIT, line)


@pytest.mark.parametrize(
    "line", ["SCORE:1|-1", "SCORE:1|-1:a", "SCORE:a|b:1|-1:", "SCORES:1|-1:a|b", "SCORE:1:a|b"]
)
def test_wrong_scores_are_refused(line):
    with pytest.raises(UsageError):
        parse_score_record(line)


def test_records_refuse_cards_that_do_not_fit():
    betting = replay(LIMIT, "cc/")
    with pytest.raises(UsageError, match="the board has 0 cards: expected 3 after the betting 'cc/'"):
        MatchState(0, 0, betting, ((0, 1), None), ())
    with pytest.raises(UsageError, match="a hand must have 2 cards, not 1"):
        MatchState(0, 0, betting, ((0,), None), (4, 5, 6))
    with pytest.raises(UsageError, match="expected hole cards of 2 players, not 3"):
        MatchState(0, 0, betting, ((0, 1), None, None), (4, 5, 6))
    with pytest.raises(UsageError, match="77 is not a card"):
        MatchState(0, 0, betting, ((0, 77), None), (4, 5, 6))
    with pytest.raises(UsageError, match="the hand number must be 0 to 4294967295, not -1"):
        MatchState(0, -1, betting, ((0, 1), None), (4, 5, 6))


# Fuzzing

ALPHABET = "MATCHSTATE:0123456789crf/|AKQJT98cdhs-. \t\r\n\x00\x7f\u00e9\u0661\u2028"


def fuzz(num_lines: int, seed: int) -> tuple[int, int]:
    """Mutate lines; each must be refused by a UsageError or print as it was. Return (taken, refused)."""
    rng = random.Random(seed)
    logs = [
        (
            rules,
            str(HandRecord.of(random_hand(rules, rng)[-1], 5, [f"p{i}" for i in range(rules.num_players)])),
        )
        for rules in (LIMIT, NOLIMIT, KUHN_3, LIMIT_3, LEDUC)
    ]
    parsers = [(parse_match_state, LINES), (parse_hand_record, logs)]
    taken = 0
    for _ in range(num_lines):
        parse, lines = rng.choice(parsers)
        rules, line = rng.choice(lines)
        for _ in range(rng.choice((1, 1, 2, 8))):
            i, j = rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)
            letters = "".join(rng.choices(ALPHABET, k=rng.choice((0, 1, 1, 2))))
            line = rng.choice(
                (
                    line[:i] + letters + line[i + rng.choice((0, 1, 2)) :],  # replace, insert or delete
                    line[: min(i, j)] + line[max(i, j) :],  # cut a piece out
                    line[:i] + line[i:j] * rng.choice((2, 3)) + line[max(i, j) :],  # repeat a piece
                    line[:i] + rng.choice(lines)[1][j:],  # splice two lines
                )
            )
        try:
            record = parse(rules, line)
        except UsageError:
            continue
        taken += 1
        assert str(record) == line.removesuffix("\n").removesuffix("\r")
    return taken, num_lines - taken


@pytest.mark.parametrize("seed", range(4))
def test_10_000_mutated_lines(seed):
    taken, refused = fuzz(2_500, seed)
    assert refused > taken > 0


@pytest.mark.slow
def test_100_000_mutated_lines():
    taken, refused = fuzz(100_000, 99)
    assert refused > taken > 0


FOUR_PLAYERS = """\
GAMEDEF
limit
numPlayers = 4
numRounds = 1
blind = 5 10 0 0
raiseSize = 10
firstPlayer = 3
maxRaises = 3
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 5
END GAMEDEF
"""


def test_a_pot_split_three_ways_stands_in_a_log_to_six_decimals():
    """The small blind folds 5 chips; the board plays for the other three, who get 5/3 each."""
    rules = parse_game_file(FOUR_PLAYERS, "four")
    holes = tuple(tuple(parse_cards(text)) for text in ("2c3c", "2d3d", "2h3h", "2s3s"))
    hand = HandState(replay(rules, "ccfc"), holes, tuple(parse_cards("AsKsQsJsTs")))
    third = Fraction(5, 3)
    assert hand.payoffs() == (-5, third, third, third)
    record = HandRecord.of(hand, 7, ("a", "b", "c", "d"))
    assert record.values == (-5, *[Fraction(1666667, 10**6)] * 3)
    line = "STATE:7:ccfc:2c3c|2d3d|2h3h|2s3sAsKsQsJsTs:-5|1.666667|1.666667|1.666667:a|b|c|d"
    assert str(record) == line
    assert parse_hand_record(rules, line).values == record.values
