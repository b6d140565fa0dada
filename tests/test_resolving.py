"""Re-solving with the gadget: on Leduc, exactly no more exploitable than the blueprint."""

from itertools import product

import numpy as np
import pytest

import errai
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.solvers.resolving import Place, ResolvedSubgame, arriving_reach, path_to, resolve
from errai.strategy.simple import simple_strategy
from errai.strategy.strategy import Strategy
from errai.tree.betting_tree import DECISION
from errai.tree.cut import Cut, betting_below


def solved(algorithm: str, iterations: int) -> Strategy:
    strategy = errai.solve("leduc", algorithm=algorithm, iterations=iterations).strategy
    assert isinstance(strategy, Strategy)
    return strategy


def places(tree: PublicTree, round_index: int) -> list[Place]:
    deals = Deals(tree.rules)
    entries = range(len(tree.betting.entry_nodes[round_index]))
    return [Place(round_index, e, b) for e, b in product(entries, range(deals.num_boards(round_index)))]


def with_resolved(
    blueprint: Strategy, round_index: int, iterations: int, least_margin: float = -2e-3
) -> Strategy:
    """Replace every sub-game of a round by what re-solving finds there, for both positions."""
    tree = blueprint.tree
    tables = (blueprint.tables[0].copy(), blueprint.tables[1].copy())
    for player, place in product((0, 1), places(tree, round_index)):
        found = resolve(tree, blueprint.plays, place, player, iterations)
        assert found.margins().min() > least_margin, (player, place)
        for begin, end in found.blocks:
            for node in range(begin, end):
                if tree.betting.kind[node] == DECISION and tree.betting.player[node] == player:
                    r = int(tree.betting.round[node])
                    assert r == round_index
                    board = int(tree.cells.links.round_board[r]) + place.board
                    slot, actions = int(tree.walk.slot[node]), int(tree.walk.num_children[node])
                    full = tree.layout.decision(tables[player], player, board, r, slot, actions)
                    full[:] = found.strategy.weights(player, found.node_of(node), 0)
    return Strategy(tree, tables)


@pytest.mark.parametrize("iterations", [3, 50])
def test_resolving_all_of_leducs_second_round_gives_away_no_more_in_either_position(iterations):
    blueprint = solved("cfr", iterations)
    before = errai.exploitability(blueprint).best_response_values
    after = errai.exploitability(with_resolved(blueprint, 1, 500)).best_response_values
    assert after[0] < before[0]
    assert after[1] < before[1]


def test_a_good_blueprint_is_not_made_worse_than_rounding():
    blueprint = solved("cfr+", 2000)
    before = errai.exploitability(blueprint).best_response_values
    after = errai.exploitability(with_resolved(blueprint, 1, 1000, -1e-2)).best_response_values
    # The gadget game is solved by iterations, so what is left of it may show.
    assert after[0] < before[0] + 2e-3
    assert after[1] < before[1] + 2e-3


def test_reach_is_the_product_of_what_the_blueprint_plays():
    blueprint = solved("cfr", 20)
    tree = blueprint.tree
    deals = Deals(tree.rules)
    # The entry after "crc/": position 0 checked and called, position 1 raised.
    node = next(
        n for n in tree.betting.entry_nodes[1] if tree.betting.chips[n].tolist() == [3, 3] and is_crc(tree, n)
    )
    entry = tree.betting.entry_nodes[1].tolist().index(node)
    for board, card in enumerate("JQK"):
        found = arriving_reach(tree, blueprint.plays, deals, Place(1, entry, board))
        cells = tree.cells.cards(0, 1)[:, 0]
        begin = tree.cells.players[0].cell_begin[tree.cells.links.round_board[1] + board]
        first = int(tree.cells.players[0].cell_begin[tree.cells.links.round_board[1]])
        for place, reach in enumerate(zip(*found, strict=True)):
            hand = "JQK"[(int(cells[begin - first + place]) // 4) - 9]
            checks = blueprint.probabilities("", hand)["c"] * blueprint.probabilities("cr", hand)["c"]
            assert reach[0] == pytest.approx(checks, abs=1e-12), (card, hand)
            assert reach[1] == pytest.approx(blueprint.probabilities("c", hand)["r"], abs=1e-12)


def is_crc(tree: PublicTree, node: int) -> bool:
    actions = []
    while node > 0:
        actions.append(int(tree.betting.action[node]))
        node = int(tree.betting.parent[node])
    return [a for a in actions[::-1] if a >= -2] == [-1, 3, -1]


def test_the_blueprint_itself_gives_away_exactly_what_is_offered():
    """Played in the sub-game, it leaves no margin for any hand: both sides are in the same units."""
    blueprint = solved("cfr", 20)
    tree = blueprint.tree
    for player, place in product((0, 1), places(tree, 1)):
        subgame = ResolvedSubgame(tree, blueprint.plays, Deals(tree.rules), place, player)
        board = int(tree.cells.links.round_board[1]) + place.board
        for node in range(*subgame.blocks[0]):
            if tree.betting.kind[node] == DECISION and tree.betting.player[node] == player:
                own = subgame.strategy.weights(player, subgame.node_of(node), 0)
                own[:] = blueprint.weights(player, node, board)
        np.testing.assert_allclose(subgame.margins(), 0, atol=1e-12)
        assert np.abs(subgame.offered).max() > 0.1
        subgame.close()


def test_a_hand_that_the_blueprint_never_brings_is_solved_as_if_all_were_there():
    always_raise = simple_strategy("leduc", "always-raise")
    tree = always_raise.tree
    node = next(n for n in range(len(tree.betting.entry_nodes[1])) if is_checked(tree, n))
    found = resolve(tree, always_raise.plays, Place(1, node, 0), 0, 20)
    assert np.isfinite(found.strategy.tables[0]).all()


def is_checked(tree: PublicTree, entry: int) -> bool:
    return bool(tree.betting.chips[tree.betting.entry_nodes[1][entry]].tolist() == [1, 1])


@pytest.mark.parametrize("name", ["leduc", "rhode-island", "limit-holdem"])
def test_the_betting_of_a_sub_game_is_that_of_the_whole_tree(name):
    tree = PublicTree.of(name)
    deals = Deals(tree.rules)
    last = tree.betting.num_rounds - 1
    for round_index in range(1, last + 1):
        entry = len(tree.betting.entry_nodes[round_index]) // 2
        blocks = Cut(tree.betting, deals, round_index).blocks(entry)
        part = betting_below(tree.betting, blocks, round_index)
        nodes = np.concatenate([np.arange(begin, end) for begin, end in blocks])
        assert part.num_rounds == last + 1 - round_index
        assert part.parent[0] == -1
        for new, old in enumerate(nodes.tolist()):
            assert part.kind[new] == tree.betting.kind[old]
            assert part.chips[new].tolist() == tree.betting.chips[old].tolist()
            assert [nodes[child] for child in part.children(new)] == list(tree.betting.children(old))


def test_the_path_to_a_board_follows_parents():
    deals = Deals(PublicTree.of("rhode-island").rules)
    for board in (0, 7, deals.num_boards(2) - 1):
        first, second, third = path_to(deals, 2, board)
        assert (first, third) == (0, board)
        begin = deals.boards.child_begin(1)
        assert begin[second] <= board < begin[second + 1]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (Place(0, 0, 0), "a sub-game begins with round 1 to 1, not 0"),
        (Place(1, 5, 0), "entry 5 does not exist: expected 0 to 4"),
        (Place(1, 0, 3), "board 3 does not exist: expected 0 to 2"),
    ],
)
def test_a_sub_game_that_there_is_not_is_refused(place, message):
    blueprint = errai.uniform_strategy("leduc")
    with pytest.raises(UsageError, match=message):
        resolve(blueprint.tree, blueprint.plays, place, 0, 1)
