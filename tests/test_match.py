"""Matches of agents that are asked: what they see, what becomes of their answers, and the score."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT

from errai.errors import UsageError
from errai.games.betting import replay
from errai.games.catalogue import load_card_game
from errai.games.dealer_cards import DealerCards
from errai.games.match_state import MatchState
from errai.play.agent import Agent
from errai.play.match import AgentFailedError, AgentMatch, MatchPlan, legal_action, play_deals
from errai.play.match_logs import log_names
from errai.play.match_score import FIRST_LOOK, Score, is_narrow, next_look, parse_until
from errai.play.named import load_agent
from errai.play.play_match import exact_match
from errai.play.played_hands import hands_of, state_line

LIMIT, NOLIMIT, LEDUC = (load_card_game(name) for name in ("limit-holdem", "nolimit-holdem", "leduc"))

# Logged by the competition's dealer with seed 42.
LOGGED_LIMIT = [
    "STATE:0:rc/crrc/crc/rrc:7d3d|2hAc/5sKs7s/9s/6h:100|-100:A|B",
    "STATE:1:cc/rc/rc/crrrrc:9h6s|3d3h/5s3s8h/9d/5c:-120|120:B|A",
    "STATE:2:cc/rc/rrc/rc:4d6c|QsJh/3c9sJc/2d/Ts:-80|80:A|B",
]
LOGGED_NOLIMIT = [
    "STATE:0:r17236c/cr18317r19924r20000c//:7d3d|2hAc/5sKs7s/9s/6h:20000|-20000:A|B",
    "STATE:1:cc/cc/r6586r19500r20000f:9h6s|3d3h/5s3s8h/9d:19500|-19500:B|A",
]


class Scripted(Agent):
    """Plays bettings that are given, one a hand, and notes what it sees."""

    def __init__(self, game, bettings):
        super().__init__(game)
        self.bettings, self.seen, self.ends = bettings, [], []

    def act(self, state, draws):
        self.seen.append(state)
        rest = self.bettings[state.hand_number][len(state.betting.betting) :]
        end = 1
        while end < len(rest) and rest[end].isdigit():
            end += 1
        return rest[:end]

    def end_hand(self, state):
        self.ends.append(state)


class Answers(Agent):
    """Always gives the same answer, be it legal or not."""

    def __init__(self, game, answer):
        super().__init__(game)
        self.answer = answer

    def act(self, state, draws):
        return self.answer


class Fails(Agent):
    """Calls, and raises an exception in one hand."""

    name = "mine"

    def __init__(self, game, number, *, at_end=False, second_time=False):
        super().__init__(game)
        self.number, self.at_end, self.second_time, self.times = number, at_end, second_time, 0

    def act(self, state, draws):
        self.fail(state, at_end=False)
        return "c"

    def end_hand(self, state):
        self.fail(state, at_end=True)
        self.times += state.hand_number == self.number

    def fail(self, state, at_end):
        if at_end == self.at_end and state.hand_number == self.number and self.times >= self.second_time:
            raise KeyError("no such\nthing")


@pytest.mark.parametrize(("rules", "logged"), [(LIMIT, LOGGED_LIMIT), (NOLIMIT, LOGGED_NOLIMIT)])
def test_hands_that_the_competitions_dealer_logged_come_out_as_it_wrote_them(rules, logged):
    bettings = [line.split(":")[2] for line in logged]
    match = AgentMatch(Scripted(rules, bettings), Scripted(rules, bettings), 0)
    played = match.play(DealerCards(rules, 42).deal(len(logged)), 0, 1)
    lines = [state_line(rules, hand) for hand in hands_of(rules, played, 0, 0, ("A", "B"))]
    assert lines == logged
    assert played.illegal_actions == (0, 0)


def test_a_swapped_hand_has_the_same_cards_by_position_and_the_other_agents():
    bettings = [line.split(":")[2] for line in LOGGED_LIMIT]
    match = AgentMatch(Scripted(LIMIT, bettings), Scripted(LIMIT, bettings), 0)
    played = match.play(DealerCards(LIMIT, 42).deal(3), 0, 2)
    np.testing.assert_array_equal(played.chips, [[100, 120, -80], [-100, -120, 80]])
    swapped = [state_line(LIMIT, hand) for hand in hands_of(LIMIT, played, 0, 1, ("A", "B"))]
    assert swapped[0] == LOGGED_LIMIT[0].replace("A|B", "B|A")
    assert swapped[1] == LOGGED_LIMIT[1].replace("B|A", "A|B")


def test_agents_see_their_own_cards_and_those_of_the_other_at_a_showdown_alone():
    bettings = ["cc/cc/cc/cc", "rf", "cc/rf"]
    agents = Scripted(LIMIT, bettings), Scripted(LIMIT, bettings)
    AgentMatch(*agents, 0).play(DealerCards(LIMIT, 42).deal(3), 0, 1)
    for number, agent in enumerate(agents):
        for state in agent.seen:
            assert isinstance(state, MatchState)
            assert state.is_my_turn
            assert state.position == (state.hand_number + number) % 2
            assert [hole is None for hole in state.holes] == [p != state.position for p in (0, 1)]
        assert [sum(hole is None for hole in state.holes) for state in agent.ends] == [0, 1, 1]
        assert [state.betting.betting for state in agent.ends] == bettings
        assert [len(state.board) for state in agent.ends] == [5, 0, 3]


@pytest.mark.parametrize(
    ("rules", "betting", "answer", "becomes"),
    [
        (LIMIT, "", "f", ("f", True)),
        (LIMIT, "c", "f", ("c", False)),
        (LIMIT, "c", "c", ("c", True)),
        (LIMIT, "", "r", ("r", True)),
        (LIMIT, "", "r20", ("r", False)),
        (LIMIT, "rrr", "r", ("c", False)),
        (LIMIT, "", "", ("c", False)),
        (LIMIT, "", "raise", ("c", False)),
        (LIMIT, "", None, ("c", False)),
        (LIMIT, "", 7, ("c", False)),
        (NOLIMIT, "", "r200", ("r200", True)),
        (NOLIMIT, "", "r199", ("r200", False)),
        (NOLIMIT, "", "r0", ("r200", False)),
        (NOLIMIT, "", "r20000", ("r20000", True)),
        (NOLIMIT, "", "r99999999999", ("r20000", False)),
        (NOLIMIT, "", "r0200", ("r200", False)),
        (NOLIMIT, "", "r", ("c", False)),
        (NOLIMIT, "r300c/", "r399", ("r400", False)),
        (NOLIMIT, "r20000", "r20000", ("c", False)),
    ],
)
def test_an_illegal_action_becomes_a_call_and_a_wrong_size_the_nearest(rules, betting, answer, becomes):
    assert legal_action(replay(rules, betting), answer) == becomes


def test_illegal_actions_are_counted_for_who_did_them():
    first, second = Answers(LEDUC, "fold!"), load_agent("always-call", LEDUC)
    for pair, counted in (((first, second), (60, 0)), ((second, first), (0, 60))):
        plan = MatchPlan(pair, 3, 15, True)
        score = play_deals(plan, plan.empty_score)
        # Two rounds of checks, 30 hands: each is one action of the agent that cannot speak.
        assert score.illegal_actions == counted
        assert score == replace(
            play_deals(MatchPlan((second, second), 3, 15, True), plan.empty_score), illegal_actions=counted
        )


@pytest.mark.parametrize("at_end", [False, True])
def test_an_agents_exception_ends_the_match_in_one_sentence_and_keeps_what_was_played(at_end):
    whole = MatchPlan((load_agent("always-call", LEDUC), load_agent("random", LEDUC)), 5, 120)
    undisturbed = play_deals(replace(whole, asks=True), whole.empty_score)
    failing = MatchPlan((Fails(LEDUC, 120, at_end=at_end), whole.agents[1]), 5, 1000)
    with pytest.raises(
        AgentFailedError, match=r"^the agent 'mine' failed in hand 120: KeyError: 'no such.*thing'$"
    ) as failed:
        play_deals(failing, failing.empty_score)
    assert failed.value.score == undisturbed


def test_a_deal_that_was_played_in_half_does_not_count():
    other = load_agent("always-raise", LEDUC)
    failing = MatchPlan((Fails(LEDUC, 30, second_time=True), other), 5, 1000, True)
    with pytest.raises(AgentFailedError) as failed:
        play_deals(failing, failing.empty_score)
    plan = MatchPlan((load_agent("always-call", LEDUC), other), 5, 30, True)
    assert failed.value.score == play_deals(plan, plan.empty_score)


def test_who_interrupts_gets_through():
    class Interrupted(Agent):
        def act(self, state, draws):
            raise KeyboardInterrupt

    plan = MatchPlan((Interrupted(LEDUC), load_agent("half", LEDUC)), 0, 10)
    with pytest.raises(KeyboardInterrupt):
        play_deals(plan, plan.empty_score)


def test_a_match_has_two_players_and_a_number_of_hands():
    three = replace(LIMIT, blinds=(5, 10, 0), first_player=(2, 0, 0, 0))
    with pytest.raises(UsageError, match="has 3 players: expected a game of 2"):
        MatchPlan((load_agent("half", three), load_agent("half", three)), 0, 10)
    pair = load_agent("half", LEDUC), load_agent("half", LEDUC)
    with pytest.raises(UsageError, match="hands must be 1 or more, not 0"):
        MatchPlan(pair, 0, 0)
    with pytest.raises(UsageError, match="hands must be at most 4,294,967,295"):
        MatchPlan(pair, 0, 2**32)


# The score


@settings(max_examples=60, deadline=None)
@given(
    hands_a_deal=st.sampled_from([1, 2]),
    most=st.sampled_from([3, 20_000, 2**31 - 1]),
    seed=st.integers(0, 1000),
    cut=st.integers(0, 40),
)
def test_a_score_is_that_of_all_deals_however_it_is_cut(hands_a_deal, most, seed, cut):
    chips = np.random.default_rng(seed).integers(-most, most, (hands_a_deal, 40), endpoint=True)
    empty = Score(10, hands_a_deal)
    whole = empty.plus(chips, (1, 2))
    assert empty.plus(chips[:, :cut], (1, 0)).plus(chips[:, cut:], (0, 2)) == whole
    values = chips.mean(axis=0) / 10 * 1000
    assert (whole.deals, whole.hands) == (40, 40 * hands_a_deal)
    assert whole.totals == tuple(int(sum(row.tolist())) for row in chips)
    assert whole.squares == sum(sum(column) ** 2 for column in chips.T.tolist())
    assert whole.mbb_per_game == pytest.approx(values.mean())
    assert whole.standard_deviation == pytest.approx(values.std(ddof=1))
    assert whole.hand_standard_deviation == pytest.approx((chips * 100.0).std(ddof=1))
    # Student's t with 39 degrees of freedom: 2.0227 (any table of it).
    assert whole.half_width == pytest.approx(2.0227 * values.std(ddof=1) / sqrt(40), rel=1e-4)


def test_a_score_of_fewer_than_two_deals_has_no_interval():
    one = Score(10, 1).plus(np.array([[30]]))
    assert (one.mbb_per_game, one.interval, one.standard_deviation, one.half_width) == (
        3000,
        None,
        None,
        None,
    )
    assert one.words() == "3,000.0 mbb/g"
    assert Score(10, 1).mbb_per_game == 0


@pytest.mark.parametrize(
    ("text", "width"), [("95% +-5", 5), ("+-0.5", 0.5), ("95%+/-10mbb", 10), ("± 2 mbb/g", 2)]
)
def test_when_to_stop_is_read(text, width):
    assert parse_until(text) == width


@pytest.mark.parametrize("text", ["", "5", "90% +-5", "95% +-0", "95% +--5", "95% +-x", "+-1.2.3", "95%"])
def test_what_does_not_say_when_to_stop_is_refused(text):
    with pytest.raises(UsageError, match="does not say when to stop: expected the half-width"):
        parse_until(text)


def test_looks_come_at_growing_numbers_of_deals():
    assert [next_look(n) for n in (0, 999, 1000, 1099, 1100, 1210)] == [1000, 1000, 1100, 1100, 1210, 1331]
    narrow = Score(1, 1, FIRST_LOOK, (0,), 0)
    assert is_narrow(narrow, 0.1)
    assert not is_narrow(replace(narrow, deals=FIRST_LOOK + 1), 0.1)
    assert not is_narrow(replace(narrow, squares=10**6), 0.1)


def test_a_match_stops_at_the_first_look_at_which_its_interval_is_narrow():
    pair = load_agent("half", LEDUC), load_agent("random", LEDUC)
    for asks in (False, True):
        plan = MatchPlan(pair, 1, 5000, half_width=280, asks=asks)
        score = play_deals(plan, plan.empty_score)
        looks = [1000, 1100, 1210, 1331, 1464, 1610, 1771, 1948, 2142, 2356, 2591]
        assert score.deals in looks
        assert score.half_width is not None
        assert score.half_width <= 280
        before = replace(plan, deals=looks[looks.index(score.deals) - 1], half_width=None)
        wider = play_deals(before, plan.empty_score).half_width
        assert wider is not None
        assert wider > 280


@pytest.mark.slow
@pytest.mark.skipif(WITHOUT_JIT, reason="many matches")
def test_intervals_of_matches_that_stop_early_hold_the_exact_value_as_often_as_they_say():
    pair = load_agent("half", LEDUC), load_agent("random", LEDUC)
    exact = exact_match(*pair).mbb_per_game
    inside = 0
    for seed in range(2000):
        plan = MatchPlan(pair, seed, 100_000, True, half_width=120)
        low, high = play_deals(plan, plan.empty_score).interval or (0, 0)
        inside += low <= exact <= high
    # 95% of 2,000 is 1,900 with a standard deviation of 10.
    assert 1860 <= inside <= 1940


def test_names_in_logs_hold_nothing_that_parts_fields():
    assert log_names("runs/x:new=0.2", "a b|c") == ("runs/x_new=0.2", "a_b_c")
    assert log_names("half", "half") == ("half", "half-2")
