"""Local best response: twins, the exact best response above it, hands played, and the command."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive.local_best_response import NaiveResponder, equity

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.array_file import read_header
from errai.cards.deck import format_cards, parse_cards
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.evaluation import kept_hands
from errai.evaluation.hand_equity import HandEquities
from errai.evaluation.hand_policy import HandPolicy, seen_by_player
from errai.evaluation.local_best_response import LocalBestResponder, local_best_response
from errai.games.betting import BettingState, replay
from errai.games.catalogue import load_card_game
from errai.games.match_state import MatchState
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.named import load_agent
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.postprocessing import Treatment
from errai.strategy.strategy import Strategy
from errai.tree.bet_menu import BetMenu

RunErrai = Callable[..., tuple[int, str, str]]
LEDUC, LIMIT, NOLIMIT = (load_card_game(name) for name in ("leduc", "limit-holdem", "nolimit-holdem"))


def random_tables(sizes: tuple[int, int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=sizes[0]), rng.normal(size=sizes[1])


def random_leduc(seed: int, abstraction: str | None = None) -> Strategy:
    tree = PublicTree.of("leduc")
    if abstraction is not None:
        tree = tree.abstracted_by(leduc_abstraction(abstraction))
    return Strategy(tree, random_tables(tree.layout.num_slots, seed))


# Equities


@pytest.mark.parametrize("game", ["leduc", "kuhn", "rhode-island"])
def test_equities_of_small_games_as_naive(game: str) -> None:
    rules = load_card_game(game)
    equities = HandEquities(rules, 10_000)
    cards = list(rules.deck.cards)
    for board in ((), tuple(cards[3:4])) if game == "leduc" else ((), ())[:1]:
        if game == "rhode-island":
            board = (cards[7],)
        found = equities.against_each(0, board)
        for hand, other in list(enumerate(equities.hands.tolist()))[:12]:
            own = equities.hands[0].tolist()
            if set(own) & set(other) or set(board) & {*own, *other}:
                assert found[hand] == 0
            else:
                assert found[hand] == pytest.approx(equity(rules, tuple(own), tuple(other), board), abs=1e-12)


def test_run_outs_that_are_drawn() -> None:
    """All 17,296 flops of [2-1] hold'em, and a sample of them, whose error is told by its size."""
    rules = load_card_game("holdem-2-1")
    own, other = parse_cards("AsKs"), parse_cards("QdQc")
    hand, opposing = (rules.deck.hand_index(cards) for cards in (own, other))
    exact = equity(rules, own, other, ())
    assert HandEquities(rules, 4000).against_each(hand, ())[opposing] == pytest.approx(exact, abs=1e-12)
    for seed in (0, 1):
        drawn = HandEquities(rules, 300, seed).against_each(hand, ())[opposing]
        assert drawn == pytest.approx(exact, abs=4 * 0.5 / (5 * 300 * 0.88) ** 0.5)
        assert drawn != pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("board", ["Qh7d2c", "Qh7d2cJs", "Qh7d2cJsTs"])
def test_equities_of_holdem_as_exact_equity(board: str) -> None:
    equities = HandEquities(LIMIT, 1081)
    deck = LIMIT.deck
    for own, other in (("AsKs", "QdQc"), ("7h6h", "AcTd")):
        found = equities.against_each(deck.hand_index(parse_cards(own)), parse_cards(board))
        exact = errai_equity(own, other, board)
        assert found[deck.hand_index(parse_cards(other))] == pytest.approx(exact, abs=1e-12)


def errai_equity(own: str, other: str, board: str) -> float:
    from errai.cards.equity import equity as exact

    found = exact((own, other), board)
    return found.win + found.tie / 2


def test_suits_are_alike_before_the_flop() -> None:
    equities = HandEquities(LIMIT, 20)
    deck = LIMIT.deck
    first, second = (
        equities.against_each(deck.hand_index(parse_cards(own)), ())[deck.hand_index(parse_cards(other))]
        for own, other in (("AsKh", "QsQh"), ("AcKd", "QcQd"))
    )
    assert first == second
    assert equities.against_each(deck.hand_index(parse_cards("AsKh")), ())[
        deck.hand_index(parse_cards("AsQd"))
    ] == pytest.approx(0)


# What an agent does with every hand


def assert_asked_alike(agent: BlueprintAgent, betting: BettingState, board: tuple[int, ...]) -> None:
    """The policy of all hands is what the agent says, hand by hand."""
    rules = agent.game
    equities = HandEquities(rules, 5)
    policy = HandPolicy(agent, equities.hands)
    is_open = equities.open_hands(board)
    found = policy.chances(betting, board, is_open)
    asked = 0
    for hand in np.flatnonzero(is_open)[::17].tolist():
        chances = agent.probabilities(seen_by_player(betting, equities.hands[hand].tolist(), board, 0))
        assert {action: each[hand] for action, each in found.items()} == pytest.approx(dict(chances))
        asked += 1
    assert asked > 0


@pytest.mark.parametrize("treatment", ["none", "purify", "threshold=0.3"])
@pytest.mark.parametrize("betting", ["", "r", "cc/", "crc/r"])
def test_all_hands_of_leduc_are_asked_alike(treatment: str, betting: str) -> None:
    state = replay(LEDUC, betting)
    board = (LEDUC.deck.cards[2],) if state.round else ()
    for abstraction in (None, "JQ.K"):
        agent = BlueprintAgent(random_leduc(4, abstraction), Treatment.parse(treatment))
        assert_asked_alike(agent, state, board)
        assert HandPolicy(agent, LEDUC.deck.hands(1)).is_exact


@pytest.mark.usefixtures("cache")
def test_all_hands_of_a_saved_abstraction_are_asked_alike(tmp_path: Path) -> None:
    errai.abstract("leduc", "IR-HS-HS 2-4", out=tmp_path, clusters=3)
    uniform = BucketStrategy.uniform(PublicTree.of("leduc"), tmp_path, np.float64)
    strategy = BucketStrategy(uniform.tree, uniform.saved, random_tables(uniform.layout.num_slots, 3))
    for betting in ("", "cr", "cc/r"):
        state = replay(LEDUC, betting)
        assert_asked_alike(BlueprintAgent(strategy), state, (LEDUC.deck.cards[0],) if state.round else ())


class TwoSizes:
    """A strategy of no-limit hold'em that looks at the first card, and is no table of ours."""

    def __init__(self) -> None:
        from errai.tree.betting_tree import build_betting_tree

        self.game = NOLIMIT
        self.betting = build_betting_tree(NOLIMIT, BetMenu.parse("1p,all-in", max_raises=2))

    def place(self, player: int, round_index: int, hole: tuple[int, ...], board: tuple[int, ...]) -> int:
        return hole[0]

    def chances(self, node: int, place: int) -> list[float]:
        number = int(self.betting.num_children[node])
        weights = [1 + (7 * node + 13 * place + 29 * a * a) % 11 for a in range(number)]
        return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("betting", ["", "r300", "r1000", "r300c/r555"])
def test_all_hands_are_asked_alike_with_translated_bets(betting: str) -> None:
    state = replay(NOLIMIT, betting)
    board = parse_cards("Qh7d2c") if state.round else ()
    agent = BlueprintAgent(TwoSizes(), Treatment.parse("new=0.2"), translation="nearest")
    assert_asked_alike(agent, state, board)
    policy = HandPolicy(agent, NOLIMIT.deck.hands(2))
    assert policy.is_exact
    assert not HandPolicy(BlueprintAgent(TwoSizes()), NOLIMIT.deck.hands(2)).is_exact


# Enumerated


@pytest.mark.parametrize("seed", [1, None])
def test_all_deals_of_leduc_as_naive(seed: int | None) -> None:
    strategy = errai.solve("leduc", iterations=7).strategy if seed is None else random_leduc(seed)
    naive = NaiveResponder(LEDUC, cache(strategy.probabilities))
    responder = LocalBestResponder(BlueprintAgent(strategy))
    for position in (0, 1):
        assert responder.enumerate_value(position) == pytest.approx(naive.value(position), abs=1e-9)


def test_never_above_the_best_response() -> None:
    strategies = {
        "uniform": errai.uniform_strategy("leduc"),
        "cfr, 20 iterations": errai.solve("leduc", "cfr", iterations=20).strategy,
        "cfr+, 2000 iterations": errai.solve("leduc", iterations=2000).strategy,
        "abstracted": errai.solve("leduc", iterations=50, abstraction=leduc_abstraction("JQ.K")).strategy,
        "random": random_leduc(9),
    }
    for name, strategy in strategies.items():
        exact = errai.exploitability(strategy)
        for bets in ("fc", "fcpa"):
            for first_round in (0, 1):
                found = local_best_response(
                    BlueprintAgent(strategy), bets=bets, first_round=first_round
                ).values
                for value, best in zip(found, exact.best_response_values, strict=True):
                    assert value <= best + 1e-9, name
    assert local_best_response(BlueprintAgent(strategies["uniform"])).mbb_per_game == pytest.approx(
        2178.2407407
    )


@pytest.mark.parametrize(
    ("agent", "call", "all_actions", "exact"),
    [
        ("always-call", 0.0, 1466.6667, 1466.6667),
        ("always-raise", 900.0, 2100.0, 2366.6667),
        ("half", 516.6667, 2016.6667, 2150.0),
    ],
)
def test_simple_agents_of_leduc(agent: str, call: float, all_actions: float, exact: float) -> None:
    """The exact figures are those of `errai exploit`."""
    assert local_best_response(agent, "leduc", bets="fc").mbb_per_game == pytest.approx(call, abs=1e-3)
    found = local_best_response(agent, "leduc")
    assert found.mbb_per_game == pytest.approx(all_actions, abs=1e-3)
    assert found.mbb_per_game <= exact + 1e-3
    assert found.interval == (found.chips, found.chips)


# Played


def test_hands_played_of_leduc_as_enumerated() -> None:
    agent = BlueprintAgent(random_leduc(1))
    exact = local_best_response(agent)
    played = local_best_response(agent, hands=2000, seed=2)
    assert played.is_expected
    for mean, (low, high) in (
        (played.chips, played.interval),
        (played.money, played.money_interval),
    ):
        assert mean == pytest.approx(exact.chips, abs=(high - low) / 2 * 3.3 / 1.96)
        assert (high - low) / 2 < 0.25
    assert played.chips != pytest.approx(played.money)
    assert np.mean(played.values) == pytest.approx(np.mean(played.interval))


@pytest.mark.parametrize(
    ("agent", "best_response"), [("always-call", 1163.48), ("always-raise", 3697.69), ("half", 2406.55)]
)
def test_bounds_in_limit_holdem(agent: str, best_response: float) -> None:
    """What best responses win from these agents in limit hold'em, mbb/g: thesis table 2.1."""
    found = local_best_response(agent, "limit-holdem", 200)
    low, high = found.interval_mbb_per_game
    assert 0.6 * best_response < low < best_response
    assert low < found.mbb_per_game < high
    assert high - low < 0.45 * best_response


def test_luck_is_nothing_on_average() -> None:
    responder = LocalBestResponder(load_agent("half", LEDUC))
    cards = list(LEDUC.deck.cards)
    assert np.mean([responder.luck(list(deal)) for deal in permutations(cards, 3)]) == pytest.approx(0)
    # A pair beats four hands; a king then beats three and loses to one, and nothing is left over for it.
    assert responder.luck([*parse_cards("Ks"), *parse_cards("Kh"), *parse_cards("Js")]) == pytest.approx(0.25)


def test_rounds_in_which_it_only_calls() -> None:
    agent = load_agent("half", LIMIT)
    late = LocalBestResponder(agent, first_round=3)
    hand = LIMIT.deck.hand_index(parse_cards("7h2c"))
    weights = late.equities.open_hands(parse_cards("7h2c")).astype(float)
    assert late.decide(replay(LIMIT, "r"), hand, (), weights) == "c"
    assert LocalBestResponder(agent, bets="fc").decide(replay(LIMIT, "r"), hand, (), weights) in "fc"
    aces = LIMIT.deck.hand_index(parse_cards("AhAc"))
    weights = late.equities.open_hands(parse_cards("AhAc")).astype(float)
    assert LocalBestResponder(agent).decide(replay(LIMIT, "r"), aces, (), weights) == "r"


def test_sizes_that_it_thinks_of() -> None:
    agent = load_agent("half", NOLIMIT)
    state = replay(NOLIMIT, "r300c/")
    assert LocalBestResponder(agent, "fc")._sizes(state) == []
    assert LocalBestResponder(agent, "fcpa")._sizes(state) == [900, 20000]
    # Of a pot of 600, fractions from 0.05 * 1.15^9 = 0.176 on are legal; those above 32.8 exceed the stack.
    many = LocalBestResponder(agent, "56bets")._sizes(state)
    assert many[:3] == [300 + round(600 * fraction) for fraction in (0.17589, 0.20228, 0.23262)]
    assert many[-3:] == [300 + round(600 * fraction) for fraction in (26.93846, 30.97923)] + [20000]
    assert len(many) == 39
    deep = replay(replace(NOLIMIT, stacks=(10**6, 10**6)), "r300c/")
    assert 300 + round(600 * 94.76618191) in LocalBestResponder(agent, "56bets")._sizes(deep)
    assert LocalBestResponder(agent, "56bets")._sizes(replay(NOLIMIT, "r20000")) == []


def test_nolimit_agents_with_treatment_and_translation() -> None:
    agent = BlueprintAgent(TwoSizes(), Treatment.parse("purify"), translation="nearest")
    found = local_best_response(agent, hands=6, run_outs=20)
    assert found.is_expected
    by_chance = local_best_response(BlueprintAgent(TwoSizes()), hands=4, bets="fc", run_outs=5)
    assert not by_chance.is_expected
    assert by_chance.chips == pytest.approx(by_chance.money)


def nolimit_leduc(translation: str) -> BlueprintAgent:
    rules = replace(LEDUC, name="no-limit", raise_sizes=None, stacks=(9, 9))
    tree = PublicTree.of(rules, BetMenu.parse("1p,all-in", max_raises=2))
    strategy = Strategy(tree, random_tables(tree.layout.num_slots, 6))
    return BlueprintAgent(strategy, Treatment.parse("purify"), translation=translation)


def test_hands_played_of_nolimit_leduc_as_enumerated() -> None:
    exact = local_best_response(nolimit_leduc("nearest"), bets="56bets")
    assert exact.chips > local_best_response(nolimit_leduc("nearest"), bets="fc").chips
    played = local_best_response(nolimit_leduc("nearest"), hands=1000, bets="56bets")
    low, high = played.interval
    assert played.chips == pytest.approx(exact.chips, abs=(high - low) / 2 * 3.3 / 1.96)
    with pytest.raises(UsageError, match="translates bets by chance, which cannot be enumerated"):
        local_best_response(nolimit_leduc("pseudo-harmonic"))


class Gambler(Agent):
    """Folds jacks, and remembers the ends of hands."""

    ends = 0

    def probabilities(self, state: MatchState) -> Mapping[str, float] | None:
        hole = state.holes[state.position]
        assert hole is not None
        folds = state.betting.to_call > 0 and format_cards(hole)[0] == "J"
        return {"f": 0.75, "c": 0.25} if folds else {"c": 1.0}

    def end_hand(self, state: MatchState) -> None:
        self.ends += 1


def test_an_agent_of_ones_own_is_asked_hand_by_hand() -> None:
    agent = Gambler(LEDUC)
    equities = HandEquities(LEDUC)
    found = HandPolicy(agent, equities.hands).chances(replay(LEDUC, "r"), (), equities.open_hands([]))
    jacks = [format_cards(hand)[0] == "J" for hand in equities.hands.tolist()]
    assert found["f"].tolist() == [0.75 if jack else 0 for jack in jacks]
    played = local_best_response(agent, hands=40)
    assert agent.ends == 40
    assert not played.is_expected
    # Who folds jacks most of the time loses less than who never folds, and not nothing.
    assert local_best_response(agent).mbb_per_game == pytest.approx(1087.5)


# Kept


class EndedError(Exception):
    pass


def end_after(hands: int) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if done == hands:
            raise EndedError

    return report


def test_hands_that_are_kept_give_what_an_undisturbed_measurement_gives(tmp_path: Path) -> None:
    path = tmp_path / "hands.array"
    whole = local_best_response("random", "leduc", hands=60, seed=5)
    for hands in (21, 40):  # in the middle of a deal, which is played anew; and at its end
        with pytest.raises(EndedError):
            local_best_response("random", "leduc", hands=60, seed=5, keep_in=path, report=end_after(hands))
    assert read_header(path).shape == (19, 5)
    told: list[int] = []
    again = local_best_response(
        "random", "leduc", hands=60, seed=5, keep_in=path, report=lambda done, _: told.append(done)
    )
    assert again == whole
    assert told[0] == 39  # hands that were kept are not played anew
    assert read_header(path).shape == (30, 5)
    fewer = local_best_response("random", "leduc", hands=40, seed=5, keep_in=path)
    assert fewer == local_best_response("random", "leduc", hands=40, seed=5)
    assert read_header(path).shape == (30, 5)


def test_long_measurements_are_kept_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_hands, "SECONDS_BETWEEN_SAVES", 0.0)
    seen = []

    def report(done: int, total: int) -> None:
        if done == 7:
            seen.append(read_header(tmp_path / "hands").shape[0])

    local_best_response("half", "leduc", hands=8, keep_in=tmp_path / "hands", report=report)
    assert seen == [3]


@pytest.mark.parametrize(
    "other", [{"seed": 6}, {"bets": "fc"}, {"first_round": 1}, {"run_outs": 5}, {"agent": "half"}]
)
def test_hands_of_another_measurement_are_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"agent": "random", "game": "leduc", "hands": 8, "keep_in": tmp_path / "hands"}
    local_best_response(**asked)
    with pytest.raises(UsageError, match="hands"):
        local_best_response(**asked | other)


def test_a_run_that_was_trained_on_is_another_agent(tmp_path: Path) -> None:
    errai.solve("leduc", iterations=5, out=str(tmp_path / "run"))
    asked: dict[str, Any] = {"hands": 8, "keep_in": tmp_path / "hands"}
    local_best_response(str(tmp_path / "run"), "leduc", **asked)
    local_best_response(str(tmp_path / "run"), "leduc", **asked)
    errai.solve("leduc", iterations=9, out=str(tmp_path / "run"), resume=True)
    with pytest.raises(UsageError, match="hands"):
        local_best_response(str(tmp_path / "run"), "leduc", **asked)


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="given as text"):
        local_best_response(load_agent("half", LEDUC), hands=8, keep_in=tmp_path / "hands")
    with pytest.raises(UsageError, match="a number of hands"):
        local_best_response("half", "leduc", keep_in=tmp_path / "hands")
    with pytest.raises(UsageError, match="its folder was not found"):
        local_best_response("half", "leduc", hands=8, keep_in=tmp_path / "nowhere" / "hands")


# The command and refusals


def test_the_command(run_errai: RunErrai) -> None:
    status, out, _ = run_errai("lbr", "half", "--game", "leduc")
    assert (status, out.splitlines()[0]) == (
        0,
        "half in leduc: a best response wins at least 2016.67 mbb/g (2.01667 chips), by local best response, "
        "fcpa, over all deals",
    )
    status, out, _ = run_errai("lbr", "half", "--game", "limit-holdem", "--hands", "20", "--from-round", "2")
    assert status == 0
    assert "20 hands, fcpa from round 2, seed 0\n  so a best response wins at least " in out
    errai.solve("leduc", iterations=10, out="run")
    kept = ("lbr", "run", "--hands", "20", "--keep", "hands")
    first, second = run_errai(*kept), run_errai(*kept)
    assert first[:2] == second[:2] == run_errai(*kept[:4])[:2]
    assert read_header("hands").shape == (10, 5)
    status, out, _ = run_errai("lbr", "run:purify", "--json")
    told = json.loads(out)
    assert (status, told["agent"], told["game"], told["num_hands"]) == (0, "run:purify", "leduc", None)
    exact = json.loads(run_errai("exploit", "run:purify", "--json")[1])
    assert 0 < told["local_best_response_mbb_per_game"] <= exact["exploitability_mbb_per_game"] + 1e-9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["half"], "the agent 'half' needs --game, such as --game limit-holdem"),
        (["half", "--game", "leduc", "--bets", "all"], "unknown bet set 'all': expected fc, fcpa, 56bets"),
        (["half", "--game", "leduc", "--hands", "7"], "hands must be even"),
        (["half", "--game", "leduc", "--keep", "hands"], "--keep needs --hands"),
        (["half", "--game", "leduc", "--hands", "2"], "--hands must be 4 or more, not 2"),
        (["half", "--game", "leduc", "--from-round", "3"], "--from-round must be between 1 and 2 in 'leduc'"),
        (["half", "--game", "limit-holdem"], "enumerating takes at most 20,000"),
        (["nobody", "--game", "leduc"], "unknown agent 'nobody'"),
        (["half", "--game", "bluff-1-1"], "card game"),
    ],
)
def test_refusals(run_errai: RunErrai, arguments: list[str], said: str) -> None:
    status, out, error = run_errai("lbr", *arguments)
    assert (status, out) == (2, "")
    assert said in error


def test_an_agent_that_does_not_say_its_probabilities() -> None:
    with pytest.raises(UsageError, match="does not say its probabilities"):
        local_best_response(Agent(LEDUC))
