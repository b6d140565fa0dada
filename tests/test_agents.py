"""Agents by name: simple ones, strategies with treatments and translations, files of one's own; refusals."""

import pickle
import random
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.games import NOLIMIT_3, play_randomly, poker_rules
from naive.tree import nolimit_rules

import errai
from errai.abstraction.named_groups import leduc_abstraction
from errai.cards.deck import parse_cards
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.betting import BettingState, replay
from errai.games.catalogue import load_card_game
from errai.games.hand import showdown_strengths
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.draws import Draws
from errai.play.named import load_agent
from errai.play.simple_agents import SIMPLE_AGENTS, SimpleAgent
from errai.runs.training_file import PRESETS
from errai.strategy.blueprint import Blueprint, blueprint_of
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.postprocessing import Treatment
from errai.strategy.strategy import Strategy
from errai.strategy.translation import TRANSLATIONS, Follower
from errai.strategy.treated import treated
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import BettingTree, build_betting_tree

LEDUC, LIMIT, NOLIMIT = (load_card_game(name) for name in ("leduc", "limit-holdem", "nolimit-holdem"))


def seen(betting: BettingState, hand_number: int = 0, hole: str = "", board: str = "") -> MatchState:
    """Return what the player to act sees, with cards that fit where none are given."""
    rules, deck = betting.rules, [*betting.rules.deck.cards]
    own = parse_cards(hole) if hole else tuple(deck[: rules.num_hole_cards])
    dealt = rules.num_board_cards_by(betting.round)
    public = parse_cards(board) if board else tuple(deck[rules.num_hole_cards :][:dealt])
    holes = tuple(own if p == betting.player else None for p in range(rules.num_players))
    return MatchState(betting.player, hand_number, betting, holes, public)


# Simple agents


@pytest.mark.parametrize(
    ("name", "start", "raised", "capped"),
    [
        ("always-fold", {"f": 1}, {"f": 1}, {"f": 1}),
        ("always-call", {"c": 1}, {"c": 1}, {"c": 1}),
        ("always-raise", {"r": 1}, {"r": 1}, {"c": 1}),
        ("half", {"c": 1 / 2, "r": 1 / 2}, {"c": 1 / 2, "r": 1 / 2}, {"c": 1}),
        ("probe", {"c": 1 / 2, "r": 1 / 2}, {"c": 1 / 2, "r": 1 / 2}, {"c": 1}),
        (
            "random",
            {"f": 1 / 3, "c": 1 / 3, "r": 1 / 3},
            {"f": 1 / 3, "c": 1 / 3, "r": 1 / 3},
            {"f": 1 / 2, "c": 1 / 2},
        ),
    ],
)
def test_simple_agents_in_limit_holdem(
    name: str, start: dict[str, float], raised: dict[str, float], capped: dict[str, float]
) -> None:
    agent = load_agent(name, LIMIT)
    assert agent.name == name
    for betting, expected in (("", start), ("r", raised), ("rrr", capped)):
        assert agent.probabilities(seen(replay(LIMIT, betting))) == pytest.approx(expected)


def test_nobody_folds_where_a_check_is_free() -> None:
    state = seen(replay(LIMIT, "cc/"))
    assert load_agent("always-fold", LIMIT).probabilities(state) == {"c": 1.0}
    assert load_agent("random", LIMIT).probabilities(state) == {"c": 0.5, "r": 0.5}


@pytest.mark.parametrize(
    ("betting", "total"),
    [
        ("", 300),  # call 50, and raise by the pot of 200
        ("r300", 900),
        ("cc/", 300),
        ("cc/r200", 600),
        ("r300r900r2700r8100", 20000),
    ],
)
def test_always_raise_and_half_raise_by_the_pot_without_limits(betting: str, total: int) -> None:
    state = seen(replay(NOLIMIT, betting))
    assert load_agent("always-raise", NOLIMIT).probabilities(state) == {f"r{total}": 1.0}
    assert load_agent("half", NOLIMIT).probabilities(state) == {"c": 0.5, f"r{total}": 0.5}


def test_random_and_probe_raise_to_any_total_without_limits() -> None:
    rules = replace(NOLIMIT, stacks=(300, 300))
    state = seen(replay(rules, ""))
    each = 1 / 3 / 101
    chances = load_agent("random", rules).probabilities(state)
    expected = {"f": 1 / 3, "c": 1 / 3} | {f"r{total}": each for total in range(200, 301)}
    assert chances == pytest.approx(expected)
    chances = load_agent("probe", rules).probabilities(state)
    assert chances == pytest.approx({"c": 1 / 2} | {f"r{total}": 1 / 2 / 101 for total in range(200, 301)})


def test_three_players() -> None:
    state = seen(replay(NOLIMIT_3, ""))  # 50 + 100 are in; a call of 100, then a pot of 250
    assert load_agent("always-raise", NOLIMIT_3).probabilities(state) == {"r350": 1.0}


@settings(deadline=None, max_examples=150)
@given(rules=poker_rules(), seed=st.integers(0, 2**32), name=st.sampled_from(SIMPLE_AGENTS))
def test_simple_agents_draw_by_their_probabilities_and_act_legally(
    rules: PokerRules, seed: int, name: str
) -> None:
    agent = SimpleAgent(rules, name)
    for number, betting in enumerate(play_randomly(rules, random.Random(seed))):
        if betting.is_over:
            continue
        state = seen(betting)
        chances = agent.probabilities(state)
        assert sum(chances.values()) == pytest.approx(1)
        for action in chances:
            betting.act(action)  # refuses what is not legal
        action = agent.act(state, Draws(seed, number, 0))
        assert action == Draws(seed, number, 0).choose(chances)


# Strategies


def random_strategy(tree: PublicTree, seed: int = 0) -> Strategy:
    rng = np.random.default_rng(seed)
    first, second = (rng.integers(-1, 4, size=size).astype(np.float64) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


def leduc_strategy() -> Strategy:
    return random_strategy(PublicTree.of("leduc"))


def bucketed_leduc() -> Strategy:
    pair = (leduc_abstraction("[J.QK]"), leduc_abstraction("[JQ.K]"))
    return random_strategy(PublicTree.of("leduc").abstracted_by(pair))


def assert_plays(strategy: Strategy | BucketStrategy, text: str, asked: Strategy | BucketStrategy) -> None:
    """Compare an agent at every deal and decision of Leduc with the treated strategy."""
    treatment = Treatment.parse(text)
    agent, expected = BlueprintAgent(strategy, treatment), treated(asked, treatment)
    number = 0
    for one in leduc_strategy().information_sets():  # as texts; what it plays does not matter here
        state = replay(LEDUC, one.betting)
        for hole in ("Js", "Jh", "Qs", "Qh", "Ks", "Kh"):
            if hole == one.board:
                continue
            number += 1
            chances = agent.probabilities(seen(state, number, hole, one.board))
            assert chances == pytest.approx(expected.probabilities(one.betting, hole, one.board), abs=1e-12)


@pytest.mark.parametrize("text", ["none", "purify", "threshold=0.3", "new=0.2", "purify,spare-first"])
def test_an_agent_plays_what_its_strategy_says(text: str) -> None:
    for make in (leduc_strategy, bucketed_leduc):
        assert_plays(make(), text, make())


@pytest.mark.usefixtures("cache")
def test_an_agent_of_a_saved_abstraction_plays_what_its_strategy_says(tmp_path: Path) -> None:
    errai.abstract("leduc", "IR-HS-HS 2-4", out=tmp_path, clusters=3)
    uniform = BucketStrategy.uniform(PublicTree.of("leduc"), tmp_path, np.float64)
    rng = np.random.default_rng(1)
    first, second = (rng.integers(-1, 4, size=len(table)).astype(np.float64) for table in uniform.tables)
    strategy = BucketStrategy(uniform.tree, uniform.saved, (first, second))
    for text in ("none", "new=0.2", "purify,spare-first"):
        assert_plays(strategy, text, strategy)


def test_whatever_has_a_strategy_plays_it() -> None:
    @dataclass
    class File:
        strategy: Strategy

    strategy = leduc_strategy()
    first, second = (np.maximum(table, 0).astype(np.uint8) for table in strategy.tables)
    state = seen(replay(LEDUC, "cr"), hole="Ks")
    agent = BlueprintAgent(File(Strategy(strategy.tree, (first, second))))
    assert agent.probabilities(state) == pytest.approx(strategy.probabilities("cr", "Ks"))


def test_an_agent_draws_one_number_a_decision() -> None:
    agent, draws = BlueprintAgent(leduc_strategy()), Draws(0, 0, 0)
    state = seen(replay(LEDUC, "cr"))
    action = agent.act(state, draws)
    assert draws.counter == 1
    assert action == Draws(0, 0, 0).choose(agent.probabilities(state))


def test_a_spot_cannot_play() -> None:
    strategy = leduc_strategy()
    weighted = replace(strategy.tree, weights=(np.ones(3), np.ones(3)))
    with pytest.raises(UsageError, match="with given ranges cannot play: expected one of a whole game"):
        blueprint_of(Strategy(weighted, strategy.tables))
    with pytest.raises(UsageError, match="expected a strategy of a card game of two players, not str"):
        blueprint_of("leduc")


class MixedBlueprint:
    """Plays any actions of a tree, whatever the cards are: what translation needs to be tried."""

    def __init__(self, game: PokerRules, betting: BettingTree) -> None:
        self.game, self.betting = game, betting

    def place(self, player: int, round_index: int, hole: Sequence[int], board: Sequence[int]) -> Any:
        assert len(board) == self.game.num_board_cards_by(round_index)
        return player

    def chances(self, node: int, place: Any) -> list[float]:
        assert self.betting.player[node] == place
        weights = np.random.default_rng(node).random(int(self.betting.num_children[node]))
        chances: list[float] = (weights / weights.sum()).tolist()
        return chances


MENUS = ("1p,all-in", "0.5p,1p|none", "all-in", "none", "0.33p,0.66p,1p,2p|1p / 1p")


@cache
def mixed_blueprint(menu: str) -> MixedBlueprint:
    return MixedBlueprint(NOLIMIT, build_betting_tree(NOLIMIT, BetMenu.parse(menu, max_raises=2)))


@settings(deadline=None, max_examples=150)
@given(
    menu=st.sampled_from(MENUS),
    translation=st.sampled_from(list(TRANSLATIONS)),
    treatment=st.sampled_from(["none", "purify", "new=0.2,spare-first"]),
    seed=st.integers(0, 2**32),
)
def test_hands_of_nolimit_holdem_are_legal_and_can_be_asked_again(
    menu: str, translation: str, treatment: str, seed: int
) -> None:
    blueprint = mixed_blueprint(menu)
    assert isinstance(blueprint, Blueprint)
    agent, again = (
        BlueprintAgent(blueprint, Treatment.parse(treatment), translation=translation, seed=5) for _ in (0, 1)
    )
    rng, other = random.Random(seed), load_agent("random", NOLIMIT)
    betting, own = BettingState.start(NOLIMIT), rng.randrange(2)
    draws = [Draws(seed, 3, seat) for seat in (0, 1)]
    told = []
    while not betting.is_over:
        state = seen(betting, 3)
        player = agent if betting.player == own else other
        action = player.act(state, draws[betting.player])
        if player is agent:
            told.append((state, agent.probabilities(state)))
        betting = betting.act(action)  # refuses what is not legal
    # In any order, by an agent that saw none of it.
    for state, chances in reversed(told):
        assert again.probabilities(state) == chances
        assert sum(chances.values()) == pytest.approx(1)


def test_a_bet_is_translated_by_hand_and_seed() -> None:
    # A raise to 1,000 is the pot-size raise in about 35% of hands, else all-in.
    blueprint = mixed_blueprint("1p,all-in")
    state = replay(NOLIMIT, "r1000")
    follower = Follower(blueprint.betting, NOLIMIT)
    pot = follower.texts(follower.locate(state, 0, lambda number: 0.0), state)
    taken = []
    for seed in (0, 1):
        agent = BlueprintAgent(blueprint, seed=seed)
        hands = [agent.probabilities(seen(state, hand)) for hand in range(400)]
        taken.append([list(chances) == pot for chances in hands])
    assert taken[0] != taken[1]
    chance = (99.5 - 4.5) * (1 + 1) / ((99.5 - 1) * (1 + 4.5))
    assert np.mean(taken) == pytest.approx(chance, abs=4 * (chance * (1 - chance) / 800) ** 0.5)


def test_every_bet_of_a_hand_has_a_draw_of_its_own() -> None:
    agent = BlueprintAgent(mixed_blueprint("1p,all-in"), seed=5)
    numbers = [
        agent._unit(seen(replay(NOLIMIT, betting), hand))(action)
        for betting in ("r1000", "r1000r2000")  # of either position
        for hand in (0, 1)
        for action in (0, 1, 2)
    ]
    # And none is what the seat draws by when it acts.
    draws = [Draws(5, hand, seat) for hand in (0, 1) for seat in (0, 1)]
    numbers += [draw.random() for draw in draws for _ in range(3)]
    assert len(set(numbers)) == len(numbers) == 24


def test_a_round_without_cards_is_a_round() -> None:
    rules = replace(LEDUC, num_board_cards=(0, 0))
    asked = []

    class Recorded(MixedBlueprint):
        def place(self, player: int, round_index: int, hole: Sequence[int], board: Sequence[int]) -> Any:
            asked.append((player, round_index))
            return super().place(player, round_index, hole, board)

    agent = BlueprintAgent(Recorded(rules, build_betting_tree(rules)))
    for betting in ("c", "cc/c", "cc/cr", "c"):
        agent.probabilities(seen(replay(rules, betting)))
    assert asked == [(1, 0), (1, 1), (0, 1), (1, 0)]


@pytest.mark.slow
def test_a_trained_strategy_wins_from_bets_that_it_does_not_know(tmp_path: Path) -> None:
    training = tomllib.loads((PRESETS / "nolimit-quick.toml").read_text())
    training["stop"] = {"iterations": 1_000_000}
    training["algorithm"]["shared"] = False
    del training["evaluation"]
    errai.train(training, out=tmp_path / "run")
    agents = [load_agent(text, NOLIMIT) for text in (str(tmp_path / "run"), "random")]
    rng, won = random.Random(0), list[float]()
    for number in range(10_000):
        cards, own = rng.sample(NOLIMIT.deck.cards, 9), number % 2
        holes, board = (tuple(cards[:2]), tuple(cards[2:4])), tuple(cards[4:])
        draws = [Draws(0, number, seat) for seat in (0, 1)]
        betting = BettingState.start(NOLIMIT)
        while not betting.is_over:
            player = betting.player
            told = tuple(hole if p == player else None for p, hole in enumerate(holes))
            public = board[: NOLIMIT.num_board_cards_by(betting.round)]
            state = MatchState(player, number, betting, told, public)
            betting = betting.act(agents[player != own].act(state, draws[player]))
        strengths = showdown_strengths(NOLIMIT, holes, board) if betting.is_showdown else None
        won.append(float(betting.payoffs(strengths)[own]))
    assert np.mean(won) > 0


def test_an_agent_checks_where_its_tree_has_nothing_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from errai.strategy import translation

    agent = BlueprintAgent(mixed_blueprint("1p,all-in"))
    monkeypatch.setattr(Follower, "locate", lambda *_: translation.NOWHERE)
    assert agent.probabilities(seen(replay(NOLIMIT, "r1000"))) == {"c": 1.0}


# Names and refusals


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "leduc.strategy"
    leduc_strategy().save(path)
    return str(path)


def test_a_saved_strategy_with_options(saved: str) -> None:
    state = seen(replay(LEDUC, "cr"), hole="Ks")
    plain = load_agent(saved, LEDUC)
    assert plain.probabilities(state) == pytest.approx(leduc_strategy().probabilities("cr", "Ks"))
    for text in ("purify", "threshold=0.3", "new=0.2", "new=0.2,among=0.3,spare-first"):
        agent = load_agent(f"{saved}:{text}", LEDUC)
        assert agent.name == f"{saved}:{text}"
        expected = treated(leduc_strategy(), Treatment.parse(text)).probabilities("cr", "Ks")
        assert agent.probabilities(state) == pytest.approx(expected)
    for text in ("translation=nearest", "purify:translation=geometric", "translation=geometric:purify"):
        agent = load_agent(f"{saved}:{text}", LEDUC)
        assert isinstance(agent, BlueprintAgent)
        assert agent.translation == ("nearest" if "nearest" in text else "geometric")
        assert agent.treatment.kind == ("purify" if "purify" in text else "none")


def test_names_of_games_do_not_matter(saved: str) -> None:
    load_agent(saved, replace(LEDUC, name="the game on the wire"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (":pure", "'pure' is not a treatment of strategies: expected 'purify', 'threshold=T' or 'new=T'"),
        (":threshold=2", "'2' in the treatment 'threshold=2' is not a threshold"),
        (":purify:new=0.2", "'purify' and 'new=0.2' are two treatments: expected at most one"),
        (":translation=middle", "unknown translation 'middle': expected pseudo-harmonic,"),
        (":", "'' is not a treatment of strategies"),
    ],
)
def test_options_that_make_no_sense_are_refused(saved: str, options: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        load_agent(saved + options, LEDUC)
    assert said in str(refused.value)


def test_a_strategy_that_does_not_fit_is_refused_before_it_is_read(
    saved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errai.play.named.load_strategy", lambda path: pytest.fail("was read"))
    with pytest.raises(UsageError) as refused:
        load_agent(f"{saved}:purify", LIMIT)
    assert str(refused.value) == (
        f"'{saved}' was made for 'leduc', whose rules differ from those of 'limit-holdem': "
        "expected a strategy of the game that is played"
    )


@pytest.mark.parametrize("text", ["always_call", "nowhere/run", "nowhere:purify", "", "Half"])
def test_unknown_agents_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        load_agent(text, LEDUC)
    assert str(refused.value) == (
        f"unknown agent '{text.partition(':')[0]}': expected always-fold, always-call, always-raise, half, "
        "probe, random, or the path of a saved strategy, a run or a .py file"
    )


def test_a_file_that_is_no_strategy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UsageError, match=r"expected a saved strategy or run: '.*notes.txt' is neither"):
        load_agent(str(tmp_path / "notes.txt"), LEDUC)


# Agents of one's own


CALLER = """
import errai

class Caller(errai.Agent):
    def probabilities(self, state):
        return {"c": 1.0}
"""


def test_an_agent_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "caller.py"
    path.write_text(CALLER)
    agent = load_agent(str(path), LEDUC)
    assert (agent.name, agent.game) == ("Caller", LEDUC)
    assert agent.act(seen(replay(LEDUC, "cr")), Draws(0, 0, 0)) == "c"


def test_a_file_may_import_its_neighbours_and_have_dataclasses(tmp_path: Path) -> None:
    (tmp_path / "advice_of_neighbours.py").write_text('ADVICE = {"c": 1.0}')
    path = tmp_path / "caller.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from advice_of_neighbours import ADVICE\n\n@dataclass\nclass Note:\n    text: str\n"
        + CALLER.replace('{"c": 1.0}', "ADVICE")
    )
    before = [*sys.path]
    assert load_agent(str(path), LEDUC).probabilities(seen(replay(LEDUC, "cr"))) == {"c": 1.0}
    assert sys.path == before


def test_two_files_of_one_name_are_two_agents(tmp_path: Path) -> None:
    agents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "bot.py"
        path.write_text(CALLER.replace('"c": 1.0', f'"{name}": 1.0'))
        agents.append(load_agent(str(path), LEDUC))
    state = seen(replay(LEDUC, "cr"))
    assert [agent.probabilities(state) for agent in agents] == [{"a": 1.0}, {"b": 1.0}]
    assert pickle.loads(pickle.dumps(type(agents[0]))) is type(agents[0])


def test_a_class_with_an_underscore_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "caller.py"
    path.write_text(CALLER.replace("Caller", "_Base") + "\nclass Mine(_Base):\n    pass\n")
    assert load_agent(str(path), LEDUC).name == "Mine"


def test_agents_that_a_file_imports_are_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "caller.py"
    path.write_text("from errai.play.simple_agents import SimpleAgent\n" + CALLER)
    assert load_agent(str(path), LEDUC).name == "Caller"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "has no agent: expected one subclass of errai.Agent"),
        (CALLER + CALLER.replace("Caller", "Other"), "has 2 agents (Caller, Other): expected one subclass"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("def", "cannot be imported: SyntaxError"),
        ("import nothing_like_this", "cannot be imported: ModuleNotFoundError"),
        (
            CALLER.replace("def prob", "def __init__(self, game):\n        1 / 0\n\n    def prob"),
            "cannot be made",
        ),
    ],
)
def test_files_without_one_agent_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "some.py"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        load_agent(str(path), LEDUC)
    assert f"'{path}' " in str(refused.value)
    assert said in str(refused.value)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'mine.py' was not found: expected a .py file with an agent"):
        load_agent("mine.py", LEDUC)


def test_an_agent_without_probabilities_says_so() -> None:
    with pytest.raises(UsageError, match="the agent 'Agent' has neither probabilities nor act"):
        Agent(LEDUC).act(seen(replay(LEDUC, "cr")), Draws(0, 0, 0))


def test_small_games_without_limits_by_their_exact_tree() -> None:
    # Every legal bet is in the tree, so an agent plays its strategy at every decision.
    rules = nolimit_rules(blinds=(2, 1), stacks=(6, 6), num_rounds=1)
    blueprint = MixedBlueprint(rules, build_betting_tree(rules))
    agent = BlueprintAgent(blueprint)
    for seed in range(50):
        for betting in play_randomly(rules, random.Random(seed)):
            if not betting.is_over:
                bounds = betting.raise_bounds()
                legal = (["f"] if betting.can_fold() else []) + ["c"]
                legal += [f"r{total}" for total in range(bounds[0], bounds[1] + 1)] if bounds else []
                assert list(agent.probabilities(seen(betting))) == legal
