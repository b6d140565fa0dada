"""The dealer without sockets: what it says, what it makes of answers, what it logs."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from test_referee import dealers_game, pokerkit_state

from errai.cards.deck import format_card, format_cards, parse_cards
from errai.errors import UsageError
from errai.games.betting import NOBODY
from errai.games.catalogue import load_card_game
from errai.games.dealer_cards import DealerCards
from errai.games.match_state import HandRecord, parse_hand_record, parse_match_state, parse_score_record
from errai.games.rules import PokerRules
from errai.play.dealer import Dealer, Kind, MisbehaviourError
from errai.play.draws import Draws
from errai.play.simple_agents import SimpleAgent

FILES = Path(__file__).parent / "game_files"
GAMES = {path.name.removesuffix(".game"): load_card_game(str(path)) for path in sorted(FILES.glob("*.game"))}
LIMIT, NOLIMIT = load_card_game("limit-holdem"), load_card_game("nolimit-holdem")
THREE = GAMES["holdem.limit.3p"]


def last_line(message: bytes) -> bytes:
    """The state that a seat was told last."""
    assert message.endswith(b"\r\n")
    return message.split(b"\r\n")[-2]


def play_script(rules: PokerRules, seed: int, *bettings: str) -> list[str]:
    """Let scripted players bet as in these hands; returns the log."""
    log: list[str] = []
    names = "ABCDEFGHIJ"[: rules.num_players]
    dealer = Dealer(rules, list(names), len(bettings), seed, log=log.append)
    messages = dealer.begin()
    for action in re.findall(r"r\d*|[fc]", "".join(bettings)):
        seat = dealer.acting_seat
        messages = dealer.answer(seat, last_line(messages[seat]) + b":" + action.encode())
    assert dealer.is_over
    assert dealer.acting_seat == NOBODY
    assert dealer.warnings == [0] * len(names)
    return log


def play_agents(dealer: Dealer, agents: list[str], hear=lambda messages: None) -> None:
    """Let simple agents play a match, each in its seat."""
    players = [SimpleAgent(dealer.rules, name) for name in agents]
    messages = dealer.begin()
    hear(messages)
    draws: dict[tuple[int, int], Draws] = {}
    while not dealer.is_over:
        seat = dealer.acting_seat
        line = last_line(messages[seat])
        stream = draws.setdefault((dealer.num_played, seat), Draws(5, dealer.num_played, seat))
        action = players[seat].act(parse_match_state(dealer.rules, line.decode()), stream)
        messages = dealer.answer(seat, line + b":" + action.encode())
        hear(messages)


# Lines that the competition's dealer logged with seed 42


def test_the_log_of_limit_holdem_is_the_competitions():
    assert play_script(LIMIT, 42, "rc/crrc/crc/rrc", "cc/rc/rc/crrrrc", "cc/rc/rrc/rc") == [
        "STATE:0:rc/crrc/crc/rrc:7d3d|2hAc/5sKs7s/9s/6h:100|-100:A|B",
        "STATE:1:cc/rc/rc/crrrrc:9h6s|3d3h/5s3s8h/9d/5c:-120|120:B|A",
        "STATE:2:cc/rc/rrc/rc:4d6c|QsJh/3c9sJc/2d/Ts:-80|80:A|B",
        "SCORE:140|-140:A|B",
    ]


def test_the_log_of_no_limit_holdem_is_the_competitions():
    log = play_script(NOLIMIT, 42, "r17236c/cr18317r19924r20000c//", "cc/cc/r6586r19500r20000f")
    assert log[:2] == [
        "STATE:0:r17236c/cr18317r19924r20000c//:7d3d|2hAc/5sKs7s/9s/6h:20000|-20000:A|B",
        "STATE:1:cc/cc/r6586r19500r20000f:9h6s|3d3h/5s3s8h/9d:19500|-19500:B|A",
    ]
    assert log[2:] == ["SCORE:500|-500:A|B"]


# What is said


def test_every_seat_is_told_before_every_action_and_at_the_end():
    dealer = Dealer(LIMIT, ("A", "B"), 2, 42)
    assert dealer.begin() == [b"MATCHSTATE:0:0::7d3d|\r\n", b"MATCHSTATE:1:0::|2hAc\r\n"]
    assert dealer.acting_seat == 1
    assert dealer.answer(1, b"MATCHSTATE:1:0::|2hAc:r") == [
        b"MATCHSTATE:0:0:r:7d3d|\r\n",
        b"MATCHSTATE:1:0:r:|2hAc\r\n",
    ]
    # The end of a hand, and the next hand's first state at once.
    assert dealer.answer(0, b"MATCHSTATE:0:0:r:7d3d|:f") == [
        b"MATCHSTATE:0:0:rf:7d3d|\r\nMATCHSTATE:1:1::|3d3h\r\n",
        b"MATCHSTATE:1:0:rf:|2hAc\r\nMATCHSTATE:0:1::9h6s|\r\n",
    ]
    assert dealer.acting_seat == 0
    assert dealer.answer(0, b"MATCHSTATE:1:1::|3d3h:f") == [
        b"MATCHSTATE:1:1:f:|3d3h\r\n",
        b"MATCHSTATE:0:1:f:9h6s|\r\n",
    ]
    assert dealer.totals == [-10 - 5, 15]
    assert dealer.is_over


def test_three_positions_move_by_one_seat_every_hand():
    log: list[str] = []
    dealer = Dealer(THREE, ("A", "B", "C"), 4, 1, log=log.append)
    play_agents(dealer, ["always-fold"] * 3)
    assert [line.split(":")[-1] for line in log] == ["A|B|C", "B|C|A", "C|A|B", "A|B|C", "A|B|C"]
    # Everybody folds to the big blind: position 0 loses 5 chips to position 1, and A is it twice, as B is 1.
    assert [line.split(":")[-2] for line in log] == ["-5|5|0"] * 5


def test_who_has_folded_stays_hidden_at_a_showdown():
    dealer = Dealer(THREE, ("A", "B", "C"), 1, 1)
    messages = dealer.begin()
    for action in ("c", "r", "f", "c", "c", "c", "c", "c", "c", "c"):
        seat = dealer.acting_seat
        messages = dealer.answer(seat, last_line(messages[seat]) + b":" + action.encode())
    assert dealer.is_over
    cards = format_cards(DealerCards(THREE, 1).deal(1)[0].tolist())
    first, second, third, board = cards[:4], cards[4:8], cards[8:12], cards[12:]
    public = f"/{board[:6]}/{board[6:8]}/{board[8:]}"
    shown = [f"{first}||{third}{public}", f"{first}|{second}|{third}{public}", f"{first}||{third}{public}"]
    assert [message.decode().strip().split(":")[-1] for message in messages] == shown


def may_see(record: HandRecord, state_betting: str, position: int, is_showdown: bool) -> set[int]:
    """The cards that a position may see when the betting stands so, from the whole hand."""
    rules = record.betting.rules
    holes = set(record.holes[position])
    if is_showdown:
        holes |= {c for p, hole in enumerate(record.holes) if not record.betting.folded[p] for c in hole}
    return holes | set(record.board[: sum(rules.num_board_cards[: state_betting.count("/") + 1])])


def watch_for_hidden_cards(rules: PokerRules, num_hands: int, seed: int) -> int:
    """Read every message as text: each card in it must be one that the seat may see then."""
    log: list[str] = []
    told: list[tuple[int, int, str, str]] = []
    seats = rules.num_players
    dealer = Dealer(rules, "ABC"[:seats], num_hands, seed, log=log.append)

    def hear(messages: list[bytes]) -> None:
        for seat, message in enumerate(messages):
            for line in message.decode().split("\r\n")[:-1]:
                _, position, hand, betting, cards = line.split(":")
                assert int(position) == (seat - int(hand)) % seats
                told.append((int(hand), int(position), betting, cards))

    play_agents(dealer, (["half", "random", "probe"] * 2)[:seats], hear)
    records = [parse_hand_record(rules, line) for line in log[:-1]]
    shown = 0
    for hand, position, betting, cards in told:
        record = records[hand]
        is_over = betting == record.betting.betting
        allowed = may_see(record, betting, position, is_over and record.betting.is_showdown)
        assert set(parse_cards(re.sub(r"[|/]", "", cards))) == allowed
        shown += is_over and record.betting.is_showdown
    assert len({hand for hand, *_ in told}) == num_hands
    return shown


@pytest.mark.parametrize("name", GAMES)
def test_no_seat_is_told_a_card_that_it_may_not_see(name):
    assert watch_for_hidden_cards(GAMES[name], 60, 3) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_no_seat_is_told_a_card_that_it_may_not_see_in_1_000_hands(name):
    assert watch_for_hidden_cards(GAMES[name], 1000, 4) > 0


# What is logged


def pokerkit_values(record: HandRecord) -> tuple[int, ...]:
    """Replay a logged hand in PokerKit; returns the net chips by position."""
    state = pokerkit_state(record.betting.rules)
    before = state.starting_stacks
    for hole in record.holes:
        state.deal_hole(format_cards(hole))
    at_street: tuple[int, ...] = (0, 0)
    spent, dealt = list(record.betting.rules.blinds), 0
    for round_index, actions in enumerate(record.betting.betting.split("/")):
        if round_index:
            count = record.betting.rules.num_board_cards[round_index]
            state.burn_card("??")
            state.deal_board("".join(map(format_card, record.board[dealt : dealt + count])))
            dealt += count
            at_street = tuple(spent)
        for action in re.findall(r"r\d*|[fc]", actions):
            player = state.actor_index
            if action == "f":
                state.fold()
            elif action == "c":
                state.check_or_call()
                spent[player] = max(spent)
            elif len(action) > 1:
                state.complete_bet_or_raise_to(int(action[1:]) - at_street[player])
                spent[player] = int(action[1:])
            else:
                state.complete_bet_or_raise_to()
                spent[player] = at_street[player] + state.bets[player]
        while state.can_show_or_muck_hole_cards():
            state.show_or_muck_hole_cards(True)
    assert state.status is False
    return tuple(now - then for now, then in zip(state.stacks, before, strict=True))


def dealers_code_values(record: HandRecord) -> list[float]:
    """Replay a logged hand in the competition's own game code; returns the net chips by position."""
    rules = record.betting.rules
    state = dealers_game(rules).new_initial_state()
    board = list(record.board)
    for hole in record.holes:
        for card in hole:
            state.apply_action(rules.deck.position[card])
    actions = re.findall(r"r\d*|[fc]", record.betting.betting)
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rules.deck.position[board.pop(0)])
        else:
            state.apply_action("fcr".index(actions.pop(0)))
    assert not actions
    return list(state.returns())


def assert_log_is_paid(rules: PokerRules, num_hands: int, seed: int, values) -> None:
    """Compare every value and the score of a log with what a referee says of the same hands."""
    log: list[str] = []
    names = "ABC"[: rules.num_players]
    play_agents(
        Dealer(rules, names, num_hands, seed, log=log.append), ["random", "half", "probe"][: len(names)]
    )
    totals = dict.fromkeys(names, Fraction(0))
    for number, line in enumerate(log[:-1]):
        record = parse_hand_record(rules, line)
        assert record.hand_number == number
        assert float(sum(record.values)) == pytest.approx(0, abs=1e-5)
        expected = values(record)
        assert [float(value) for value in record.values] == pytest.approx(list(expected), abs=1e-6)
        for name, value in zip(record.names, expected, strict=True):
            totals[name] += Fraction(value).limit_denominator(1000)
    score = parse_score_record(log[-1])
    assert score.names == tuple(names)
    assert [float(total) for total in score.totals] == pytest.approx([float(totals[name]) for name in names])
    assert float(sum(score.totals)) == pytest.approx(0, abs=1e-5)
    if len(names) == 2:
        assert sum(score.totals) == 0
    assert any(score.totals)


@pytest.mark.parametrize("rules", [LIMIT, NOLIMIT], ids=["limit", "no-limit"])
def test_logs_are_paid_as_pokerkit_pays(rules):
    assert_log_is_paid(rules, 150, 6, pokerkit_values)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [LIMIT, NOLIMIT], ids=["limit", "no-limit"])
def test_long_logs_are_paid_as_pokerkit_pays(rules):
    assert_log_is_paid(rules, 3000, 7, pokerkit_values)


@pytest.mark.parametrize("name", ["holdem.limit.3p", "kuhn.limit.3p", "leduc.limit.2p"])
def test_logs_are_paid_as_the_dealers_code_pays(name):
    assert_log_is_paid(GAMES[name], 150, 8, dealers_code_values)


# Answers that are not right


@pytest.mark.parametrize(
    ("rules", "said", "played", "wrong"),
    [
        (LIMIT, "r30", "r", "a raise of a limit game names no size"),
        (NOLIMIT, "r120", "r200", "a raise to 120 is not legal: expected 200 to 20000 here"),
        (NOLIMIT, "r999999999999", "r20000", "a raise to a number of 12 digits is not legal: expected 200"),
        (NOLIMIT, "r", "c", "a raise of a no-limit game names its total, 200 to 20000 here"),
        (GAMES["leduc.limit.2p"], "f", "c", "a fold is legal only when facing a bet"),
    ],
)
def test_actions_that_are_not_legal_are_mended_counted_and_told(rules, said, played, wrong):
    warnings: list[str] = []
    dealer = Dealer(rules, ("A", "B"), 1, 42, warn=warnings.append)
    messages = dealer.begin()
    seat = dealer.acting_seat
    messages = dealer.answer(seat, last_line(messages[seat]) + b":" + said.encode())
    assert messages[0].split(b":")[3] == played.encode()
    assert dealer.warnings[seat] == 1
    assert sum(dealer.warnings) == 1
    told = f"{'AB'[seat]} said '{said}' after '' in hand 0 and '{played}' was played: {wrong}"
    assert len(warnings) == 1
    assert warnings[0].startswith(told)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"", Kind.GARBAGE),
        (b"hello", Kind.GARBAGE),
        (b"MATCHSTATE:1:0::|2hAc", Kind.WRONG_ECHO),
        (b"MATCHSTATE:1:0::|2hAc:", Kind.GARBAGE),
        (b"MATCHSTATE:1:0::|2hAc:x", Kind.GARBAGE),
        (b"MATCHSTATE:1:0::|2hAc:c:c", Kind.WRONG_ECHO),
        (b"MATCHSTATE:1:0::|2hAc :c", Kind.WRONG_ECHO),
        (b"MATCHSTATE:0:0::|2hAc:c", Kind.WRONG_ECHO),
        (b"MATCHSTATE:1:0::|2hAd:c", Kind.WRONG_ECHO),
        (b"MATCHSTATE:1:0::|2hAc:\xff", Kind.GARBAGE),
        (b"VERSION:2.0.0", Kind.GARBAGE),
        (b"\x00" * 8000, Kind.GARBAGE),
    ],
)
def test_what_is_no_answer_ends_the_match(line, kind):
    dealer = Dealer(LIMIT, ("A", "B"), 1, 42)
    dealer.begin()
    with pytest.raises(MisbehaviourError) as error:
        dealer.answer(1, line)
    assert (error.value.kind, error.value.seat) == (kind, 1)
    verdict = dealer.fault(error.value)
    assert verdict.sentence.startswith("B ")
    assert verdict.sentence.endswith(", in hand 0")
    assert len(verdict.sentence) < 300


def test_an_answer_out_of_turn_ends_the_match():
    dealer = Dealer(LIMIT, ("A", "B"), 1, 42)
    messages = dealer.begin()
    with pytest.raises(MisbehaviourError) as error:
        dealer.answer(0, last_line(messages[0]) + b":c")
    assert (error.value.kind, error.value.seat) == (Kind.OUT_OF_TURN, 0)


@pytest.mark.parametrize(
    ("names", "hands", "sentence"),
    [
        (("A",), 1, "limit-holdem is played by 2 players, not 1"),
        (("A", "B", "C"), 1, "limit-holdem is played by 2 players, not 3"),
        (("A", "A"), 1, "two players have the same name: A, A"),
        (("A", "B|C"), 1, "invalid name of a player 'B|C'"),
        (("A", ""), 1, "invalid name of a player ''"),
        (("A", "B"), 0, "the number of hands must be 1 or more, not 0"),
        (("A", "B"), 2**32, "the number of hands must be 4294967295 or less, not 4294967296"),
    ],
)
def test_matches_that_cannot_be(names, hands, sentence):
    with pytest.raises(UsageError) as error:
        Dealer(LIMIT, names, hands, 1)
    assert sentence in str(error.value)
