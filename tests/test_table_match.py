"""Matches played by the kernel: the same hands, action by action, as when agents or strategies are asked."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT, matches

import errai
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.named_groups import leduc_abstraction
from errai.engine._deals import FIRST, STRIDE
from errai.engine.public_tree import PublicTree
from errai.games.betting import BettingState
from errai.games.catalogue import load_card_game
from errai.games.dealer_cards import DealerCards
from errai.games.deals import Deals
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play import _table_match as kernels
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.draws import Draws
from errai.play.match import AgentMatch, MatchPlan, play_deals
from errai.play.named import load_agent
from errai.play.played_hands import SWAPPED_HANDS, position_of
from errai.play.table_match import TableMatch, exact_strategy, showdown_outcomes
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.postprocessing import Treatment
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import bucket_layout
from errai.tree.menu_file import load_bets

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # without the JIT

SEED = 11
FEW = 30 if WITHOUT_JIT else 1000


class HashedBuckets:
    """Buckets of hold'em by a hash of the hand's class: an abstraction that takes no time to build."""

    name = "hashed"
    num_players_described = 1

    def __init__(self, game: PokerRules, num_buckets: tuple[int, ...], factor: int) -> None:
        self.game = game
        self._num_buckets, self._factor = num_buckets, factor
        self._classes = HandClasses(game)

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        return self._num_buckets[round_index]

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int64]:
        index = self._classes.index(cards, round_index)
        return index if round_index == 0 else index * self._factor % self._num_buckets[round_index]


@lru_cache
def leduc(kind: str) -> Strategy:
    """A strategy of Leduc with a row for every hand, or with buckets; some of its weights are 0."""
    tree = PublicTree.of("leduc")
    if kind == "bucketed":
        tree = tree.abstracted_by(leduc_abstraction("JQ.K"))
    rng = np.random.default_rng(len(kind))
    first, second = (np.maximum(rng.normal(size=n), 0) for n in tree.layout.num_slots)
    return Strategy(tree, (first, second))


@lru_cache
def holdem(name: str, num_buckets: tuple[int, ...], factor: int, bets: str | None = None) -> BucketStrategy:
    """A strategy of hold'em with random weights of single precision, a third of them 0 or below."""
    menu = load_bets(bets, 2) if bets is not None else None
    tree = PublicTree.of(name, menu)
    abstraction: Any = HashedBuckets(tree.rules, num_buckets, factor)
    rng = np.random.default_rng(5)
    layout = bucket_layout(tree.walk, Deals(tree.rules), (abstraction, abstraction))
    first, second = (rng.normal(0.4, 1, size=n).astype(np.float32) for n in layout.num_slots)
    return BucketStrategy(tree, SavedAbstraction(Path("hashed"), "", abstraction), (first, second))


def seat(agent: str, strategy: Any = None) -> Agent:
    """An agent that plays a strategy with a treatment, or a simple one."""
    if strategy is None:
        return load_agent(agent, load_card_game("leduc"))
    return BlueprintAgent(strategy, Treatment.parse(agent), name=agent)


def assert_twins(first: Agent, second: Agent, num_deals: int, hands_a_deal: int) -> None:
    """Play deals both ways, beginning with an odd one, in two batches."""
    cards = DealerCards(first.game, SEED).deal(num_deals)
    fast, slow = TableMatch.of(first, second, SEED), AgentMatch(first, second, SEED)
    assert fast is not None
    for begin, end in ((0, num_deals // 3), (num_deals // 3, num_deals)):
        theirs = slow.play(cards[begin:end], 7 + begin, hands_a_deal)
        ours = fast.play(cards[begin:end], 7 + begin, hands_a_deal)
        assert ours.bettings() == theirs.bettings()
        np.testing.assert_array_equal(ours.chips, theirs.chips)
        assert ours.illegal_actions == theirs.illegal_actions == (0, 0)


@pytest.mark.parametrize("hands_a_deal", [1, 2])
@pytest.mark.parametrize("kind", ["lossless", "bucketed"])
@pytest.mark.parametrize(
    ("treatment", "opponent"),
    [
        ("none", "half"),
        ("purify", "random"),
        ("threshold=0.3", "always-raise"),
        ("new=0.2,spare-first", "always-fold"),
        ("purify,spare-first", "probe"),
    ],
)
def test_leduc_hands_are_those_of_agents_that_are_asked(kind, treatment, opponent, hands_a_deal):
    assert_twins(seat(treatment, leduc(kind)), seat(opponent), FEW // 2, hands_a_deal)


@pytest.mark.parametrize("hands_a_deal", [1, 2])
def test_strategies_that_see_other_cards_meet(hands_a_deal):
    assert_twins(seat("none", leduc("bucketed")), seat("threshold=0.2", leduc("lossless")), FEW, hands_a_deal)
    assert_twins(seat("always-call"), seat("random"), FEW, hands_a_deal)


@pytest.mark.skipif(WITHOUT_JIT, reason="a large tree")
@pytest.mark.parametrize(
    ("treatment", "other"), [("none", "none"), ("threshold=0.15", "purify"), ("new=0.2", "none")]
)
def test_limit_holdem_hands_are_those_of_agents_that_are_asked(treatment, other):
    first = holdem("limit-holdem", (169, 20, 30, 40), 7919)
    second = holdem("limit-holdem", (169, 11, 13, 17), 104729)
    assert_twins(seat(treatment, first), seat(other, second), 1000, 2)


@pytest.mark.skipif(WITHOUT_JIT, reason="a large tree")
def test_no_limit_hands_with_the_same_bets_are_those_of_agents_that_are_asked():
    first = holdem("nolimit-holdem", (169, 20, 30, 40), 7919, "1p,all-in")
    second = holdem("nolimit-holdem", (169, 11, 13, 17), 104729, "1p,all-in")
    assert_twins(seat("none", first), seat("threshold=0.1", second), 200, 2)


def test_agents_over_different_trees_are_asked():
    first = holdem("nolimit-holdem", (169, 2, 2, 2), 3, "1p,all-in")
    second = holdem("nolimit-holdem", (169, 2, 2, 2), 3, "2p,all-in")
    assert TableMatch.of(seat("none", first), seat("none", second), SEED) is None
    half = load_agent("half", first.game)
    assert TableMatch.of(seat("none", first), half, SEED) is None
    assert TableMatch.of(half, half, SEED) is None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("errai.engine.deals.MAX_BOARD_NUMBERS", 5)  # a deal of Leduc has one of 6
        assert TableMatch.of(seat("none", leduc("lossless")), seat("half"), SEED) is None

    class Mine(BlueprintAgent):
        """Might do anything."""

    assert TableMatch.of(Mine(leduc("lossless")), seat("half"), SEED) is None


@pytest.mark.parametrize("swapped", [0, 1])
def test_leduc_hands_are_those_of_strategies_asked_in_words(swapped):
    strategies = (leduc("lossless"), leduc("bucketed"))
    match = TableMatch.of(seat("none", strategies[0]), seat("none", strategies[1]), SEED)
    assert match is not None
    cards = DealerCards(strategies[0].game, SEED).deal(FEW // 3)
    played = match.play(cards, 0, 2)
    for deal, dealt in enumerate(cards.tolist()):
        agents = [(deal + swapped) % 2, (deal + swapped + 1) % 2]
        number = deal + swapped * SWAPPED_HANDS
        hand = matches.play_hand([strategies[a] for a in agents], agents, dealt, SEED, number)
        assert played.bettings()[swapped][deal] == hand.betting.betting
        assert played.chips[swapped, deal] == hand.payoffs()[position_of(0, deal, swapped)]


class Given(Draws):
    """Draws one number that is given."""

    def __init__(self, number: float) -> None:
        super().__init__(0, 0, 0)
        self._number = number

    def random(self) -> float:
        return self._number


@settings(max_examples=300, deadline=None)
@given(
    weights=st.lists(st.floats(-1, 4, width=32), min_size=1, max_size=7),
    number=st.integers(0, 2**53 - 1),
    stride=st.integers(1, 3),
    is_weights=st.booleans(),
)
def test_one_action_is_drawn_as_draws_choose_does(weights, number, stride, is_weights):
    table = np.full(2 + stride * len(weights), 9.0, dtype=np.float32)
    table[2::stride] = [*weights, 9.0][: len(table[2::stride])]
    positive = [max(float(weight), 0.0) for weight in weights]
    total = 0.0
    for weight in positive:
        total += weight
    chances = [w / total for w in positive] if total > 0 else [1 / len(weights)] * len(weights)
    if not is_weights:
        chances = [float(weight) for weight in weights]
    wanted = Given(number / 2**53).choose({str(a): chance for a, chance in enumerate(chances)}) or "0"
    found = kernels.choose(table, is_weights, 2, stride, len(weights), number / 2**53)
    assert int(found) == int(wanted)
    if any(chance > 0 for chance in chances):
        assert matches.choose(chances, number / 2**53) == int(found)


def test_a_number_at_the_very_edge_of_a_probability_is_taken_as_draws_choose_does():
    rng = np.random.default_rng(1)
    for weights in rng.random((FEW, 3), dtype=np.float32):
        total = 0.0
        for weight in weights.tolist():
            total += weight
        first, second, _ = chances = [weight / total for weight in weights.tolist()]
        for number, action in (
            (np.nextafter(first, 0), 0),  # one bit below the edge, or at it
            (first, 1),
            (np.nextafter(first + second, 0) - 1e-15, 1),
            (first + second + 1e-15, 2),
        ):
            assert kernels.choose(weights, True, 0, 1, 3, float(number)) == action
            assert kernels.choose(np.array(chances), False, 0, 1, 3, float(number)) == action
            assert matches.choose(chances, float(number)) == action
            assert Given(float(number)).choose(dict(zip("012", chances, strict=True))) == str(action)


@pytest.mark.parametrize("treatment", ["threshold=0.15", "new=0.6,among=0.1"])
def test_treated_tables_hold_what_the_agent_says_to_the_last_bit(treatment):
    strategy = holdem("limit-holdem", (169, 2, 2, 2), 3)
    agent = seat(treatment, strategy)
    match = TableMatch.of(agent, agent, SEED)
    assert match is not None
    table = match.seats[0].tables[1]
    cards = DealerCards(agent.game, SEED).deal(50)
    rows, _ = match.seats[0].place(cards, agent.game)
    betting = BettingState.start(agent.game)
    mixed = 0
    for dealt, row in zip(cards.tolist(), rows[:, 1, 0], strict=True):
        # The root: its slots are the first of position 1.
        found = table[row[FIRST] + np.arange(3) * row[STRIDE]].tolist()
        state = MatchState(1, 0, betting, (None, tuple(dealt[2:4])), ())
        assert found == list((agent.probabilities(state) or {}).values())
        mixed += 0 < found[0] < 1
    assert mixed > 0


@pytest.mark.skipif(WITHOUT_JIT, reason="many hands")
@pytest.mark.parametrize("opponent", ["half", "random"])
def test_the_mean_of_many_hands_is_the_exact_value(opponent):
    first, second = seat("threshold=0.3", leduc("bucketed")), seat(opponent)
    strategies = exact_strategy(first), exact_strategy(second)
    exact = errai.expected_value(*strategies)  # type: ignore[arg-type]
    plan = MatchPlan((first, second), SEED, 200_000, True)
    score = play_deals(plan, plan.empty_score)
    assert score.half_width is not None
    assert abs(score.mbb_per_game - exact.mbb_per_game) < 2 * score.half_width
    assert score.half_width < 15


def test_showdowns_of_simple_agents_are_those_of_the_rules():
    for name in ("leduc", "rhode-island", "limit-holdem"):
        rules = load_card_game(name)
        cards = DealerCards(rules, 3).deal(40)
        outcomes = showdown_outcomes(rules, cards)
        match = AgentMatch(load_agent("always-call", rules), load_agent("always-call", rules), 0)
        won = [match.play(cards[d : d + 1], 0, 1).chips[0, 0] for d in range(40)]
        # Deal 0 seats the first agent in position 0; 0 is that it wins, 1 a tie.
        np.testing.assert_array_equal(1 - np.sign(won), outcomes)
