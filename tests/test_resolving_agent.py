"""Agents that solve the sub-game that they are in."""

import numpy as np
import pytest

import errai
from errai.cards.deck import parse_cards
from errai.errors import UsageError
from errai.games.betting import replay
from errai.games.catalogue import load_card_game
from errai.games.deals import Deals
from errai.games.match_state import MatchState
from errai.play.named import load_agent
from errai.play.resolving_agent import Resolving, ResolvingAgent
from errai.solvers.resolving import Place, resolve


def state_of(name: str, position: int, betting: str, hand: str, board: str = "") -> MatchState:
    rules = load_card_game(name)
    holes: list[tuple[int, ...] | None] = [None, None]
    holes[position] = tuple(parse_cards(hand))
    return MatchState(position, 0, replay(rules, betting), tuple(holes), tuple(parse_cards(board)))


@pytest.fixture(scope="module")
def blueprint():
    return errai.solve("leduc", algorithm="cfr", iterations=10).strategy


def test_before_the_round_the_strategy_is_played(blueprint):
    agent = ResolvingAgent(blueprint, Resolving(1, iterations=50))
    assert agent.probabilities(state_of("leduc", 0, "", "Ks")) == pytest.approx(
        blueprint.probabilities("", "K")
    )


def test_from_the_round_on_the_solved_sub_game_is_played(blueprint):
    agent = ResolvingAgent(blueprint, Resolving(1, iterations=50))
    tree = blueprint.tree
    for hand, board, number in (("Ks", "Kh", 2), ("Qh", "Js", 0), ("Jh", "Js", 0)):
        found = agent.probabilities(state_of("leduc", 0, "cc/", hand, board))
        entry = next(
            e
            for e, node in enumerate(tree.betting.entry_nodes[1])
            if tree.betting.chips[node].tolist() == [1, 1]
        )
        subgame = resolve(tree, blueprint.plays, Place(1, entry, number), 0, 50, Deals(tree.rules))
        root_node = subgame.blocks[0][0]
        cell = subgame.tree.cells.find_cell(0, 0, canonical(tree, hand, board))
        weights = subgame.strategy.weights(0, subgame.node_of(root_node), 0)[:, cell]
        assert list(found.values()) == pytest.approx((weights / weights.sum()).tolist())
        assert found != pytest.approx(blueprint.probabilities("cc/", hand[0], board[0]))


def canonical(tree, hand: str, board: str) -> list[int]:
    found = Deals(tree.rules).boards.canonicalise(np.array(parse_cards(board), dtype=np.uint8), 0)
    renamed: list[int] = found.card_permutation[list(parse_cards(hand))].tolist()
    return renamed


def test_one_hand_solves_once_and_the_next_anew(blueprint):
    agent = ResolvingAgent(blueprint, Resolving(1, iterations=5))
    agent.probabilities(state_of("leduc", 0, "cc/", "Ks", "Qh"))
    first = agent._subgame
    agent.probabilities(state_of("leduc", 0, "cc/cr", "Ks", "Qh"))
    assert agent._subgame is first
    agent.probabilities(state_of("leduc", 0, "crc/", "Ks", "Qh"))
    assert agent._subgame is not first


def test_a_time_limit_ends_solving_and_leaves_probabilities(blueprint):
    agent = ResolvingAgent(blueprint, Resolving(1, seconds=0.01))
    found = agent.probabilities(state_of("leduc", 1, "cc/c", "Ks", "Qh"))
    assert sum(found.values()) == pytest.approx(1)
    agent.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preflop", "'resolve=preflop' is invalid: expected a round after the first"),
        ("turn@", "'resolve=turn@' is invalid"),
        ("1", "'resolve=1' is invalid"),
        ("turn@0", "'resolve=turn@0' is invalid"),
    ],
)
def test_what_is_no_round_or_limit_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        Resolving.parse(text)


def test_agents_by_name_resolve(blueprint, tmp_path):
    blueprint.save(tmp_path / "leduc.strategy")
    agent = load_agent(f"{tmp_path}/leduc.strategy:purify:resolve=2@20", "leduc")
    assert isinstance(agent, ResolvingAgent)
    assert max(agent.probabilities(state_of("leduc", 0, "cc/", "Ks", "Qh")).values()) == 1.0
    with pytest.raises(UsageError, match="are two rounds to resolve from"):
        load_agent(f"{tmp_path}/leduc.strategy:resolve=2:resolve=2@20", "leduc")
    with pytest.raises(UsageError, match="has 2 rounds: resolve must name one after the first, not round 3"):
        load_agent(f"{tmp_path}/leduc.strategy:resolve=turn", "leduc")


def test_too_little_time_leaves_the_strategy_as_it_is():
    uniform = errai.uniform_strategy("leduc")
    good = errai.solve("leduc", iterations=500).strategy
    state = state_of("leduc", 0, "cc/", "Ks", "Qh")
    hurried = ResolvingAgent(good, Resolving(1, seconds=1e-9))
    # One iteration plays every action alike, which gives away more than a good strategy does.
    assert hurried.probabilities(state) == pytest.approx(good.probabilities("cc/", "K", "Q"))
    assert hurried.probabilities(state) != pytest.approx(uniform.probabilities("cc/", "K", "Q"))
