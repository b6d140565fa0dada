"""The sequence-form linear programme: published values, symmetry against plain enumeration, naive spots."""

import numpy as np
import pytest
from naive import matrix as matrix_twin

from errai.cards.deck import FULL_DECK, Deck
from errai.engine.section import BEST, PLAY
from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.solvers.matrix import solve_matrix
from errai.solvers.sequence_form import MAX_NONZEROS, count_payoffs, solve_sequence_form
from errai.tables.layout import lossless_layout
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import DECISION, build_betting_tree
from errai.tree.bluff_tree import build_bluff_tree
from errai.tree.cells import game_cells, spot_cells

# Kuhn 1950; for Leduc as in OpenSpiel's sequence-form solver.
VALUES = {"kuhn": (-1 / 18, 1e-9), "leduc": (-0.085606424, 1e-9)}


def small_holdem() -> PokerRules:
    """Two hole cards from six, then one public card in each of two rounds: hands that symmetry maps."""
    return PokerRules(
        name="small hold'em",
        deck=Deck("QKA", "hs"),
        num_hole_cards=2,
        num_board_cards=(0, 1, 1),
        blinds=(1, 1),
        raise_sizes=(2, 2, 4),
        max_raises=(1, 1, 1),
        first_player=(0, 0, 0),
    )


def river_spot(num_hands: int, seed: int):
    """A random board with two random ranges of random weights, pot 50, 200 behind."""
    rng = np.random.default_rng(seed)
    rules = PokerRules("spot", FULL_DECK, 2, (0,), (25, 25), None, (255,), (0,), (225, 225))
    board = rng.choice(52, 5, replace=False).astype(np.uint8)
    hands = FULL_DECK.hands(2)
    hands = hands[np.logical_not(np.isin(hands, board).any(axis=1))]
    ranges = [hands[rng.choice(len(hands), num_hands, replace=False)] for _ in range(2)]
    tree = build_betting_tree(rules, BetMenu.parse("50%, a", force_all_in=0.05))
    cells = spot_cells(rules, board, (ranges[0], ranges[1]))
    return tree, cells, board, (rng.random(num_hands), rng.random(num_hands))


def measured(tree, cells, tables, mode, initial=None):
    """Mean value of each player by the traversal."""
    walk = Traversal(tree, cells, initial=initial)
    bound = lossless_layout(walk.walk, cells).tables(tables, tables, tables)
    return [walk.mean_value(q, walk.walk_once(q, mode, bound, np.zeros(5))) for q in (0, 1)]


def assert_probabilities(tree, cells, tables):
    """Every information set's actions share probability 1."""
    walk = Traversal(tree, cells).walk
    layout = lossless_layout(walk, cells)
    for q, table in enumerate(tables):
        assert (table >= 0).all()
        infosets = 0.0
        for r in range(tree.num_rounds):
            begin, end = tree.round_begin[r : r + 2]
            decisions = (tree.kind[begin:end] == DECISION) & (tree.player[begin:end] == q)
            infosets += np.count_nonzero(decisions) * cells.num_cells(q, r)
        assert len(table) == layout.num_slots[q]
        assert table.sum() == pytest.approx(infosets)


@pytest.mark.parametrize("name", VALUES)
def test_published_values(name):
    game = load_game(name)
    tree, cells = build_betting_tree(game), game_cells(game)
    result = solve_sequence_form(tree, cells)
    value, tolerance = VALUES[name]
    assert result.value == pytest.approx(value, abs=tolerance)
    assert 0 < result.num_nonzeros <= count_payoffs(tree, cells)
    assert_probabilities(tree, cells, result.tables)


def test_kuhn_equals_its_matrix():
    game = load_game("kuhn")
    result = solve_sequence_form(build_betting_tree(game), game_cells(game))
    exact = solve_matrix(matrix_twin.kuhn_normal_form(), "lp")
    assert result.value == pytest.approx(exact.value, abs=1e-9)


@pytest.mark.parametrize("name", VALUES)
def test_the_traversal_finds_nothing_to_exploit(name):
    game = load_game(name)
    tree, cells = build_betting_tree(game), game_cells(game)
    result = solve_sequence_form(tree, cells)
    best = measured(tree, cells, result.tables, BEST)
    assert sum(best) / 2 < 1e-8
    assert best[0] == pytest.approx(result.value, abs=1e-8)
    values = measured(tree, cells, result.tables, PLAY)
    assert values == pytest.approx([result.value, -result.value], abs=1e-8)


@pytest.mark.parametrize("game", [load_game("leduc"), small_holdem()], ids=lambda game: game.name)
def test_symmetry_changes_nothing(game):
    tree = build_betting_tree(game)
    hands = game.deck.hands(game.num_hole_cards)
    every_hand = spot_cells(game, np.zeros(0, dtype=np.uint8), (hands, hands))
    classes = game_cells(game)
    assert classes.num_cells(0, 1) < every_hand.num_cells(0, 1)
    merged, plain = (solve_sequence_form(tree, cells) for cells in (classes, every_hand))
    assert merged.value == pytest.approx(plain.value, abs=1e-9)
    assert merged.num_nonzeros < plain.num_nonzeros
    assert sum(measured(tree, classes, merged.tables, BEST)) / 2 < 1e-8


def test_plans_multiply_up_from_probabilities():
    game = load_game("kuhn")
    tree, cells = build_betting_tree(game), game_cells(game)
    result = solve_sequence_form(tree, cells)
    walk = Traversal(tree, cells).walk
    layout = lossless_layout(walk, cells)
    for node in np.flatnonzero(tree.kind == DECISION):
        q = int(tree.player[node])
        above = [n for n in _ancestors(tree, node) if tree.player[tree.parent[n]] == q]
        for action in range(tree.num_children[node]):
            for cell in range(3):

                def place(decision, action, q=q, cell=cell):
                    slot = walk.slot[decision] + action
                    return layout.begin[q, 0] + slot * layout.rows[q, 0] + cell

                expected = result.tables[q][place(node, action)]
                for child in above:
                    parent = tree.parent[child]
                    expected *= result.tables[q][place(parent, child - tree.first_child[parent])]
                assert result.plans[q][place(node, action)] == pytest.approx(expected, abs=1e-9)


def _ancestors(tree, node):
    """The node itself and all before it, the root left out."""
    while node:
        yield node
        node = tree.parent[node]


@pytest.mark.parametrize("seed", range(6))
def test_river_spots_against_naive_best_responses(seed):
    tree, cells, board, weights = river_spot(12, seed)
    result = solve_sequence_form(tree, cells, weights)
    hands = [player.hand_card.tolist() for player in cells.players]
    spot = matrix_twin.NaiveSpot(tree, board.tolist(), hands, [own.tolist() for own in weights])
    play = [nested_play(tree, cells, result.tables, q) for q in (0, 1)]
    best = [spot.best_response(q, play) for q in (0, 1)]
    assert best[0] == pytest.approx(result.value, abs=1e-8)
    assert best[1] == pytest.approx(-result.value, abs=1e-8)


def nested_play(tree, cells, tables, q):
    """The probabilities of a one-round table as lists: [node][hand][action]."""
    walk = Traversal(tree, cells).walk
    rows = int(cells.players[q].cell_begin[1])
    result = {}
    for node in np.flatnonzero((tree.kind == DECISION) & (tree.player == q)).tolist():
        begin, num_actions = int(walk.slot[node]) * rows, int(tree.num_children[node])
        result[node] = tables[q][begin : begin + num_actions * rows].reshape(num_actions, rows).T.tolist()
    return result


def turn_spot(num_hands: int, seed: int):
    """As `river_spot`, one card earlier, with limit bets."""
    rng = np.random.default_rng(seed)
    rules = PokerRules("spot", FULL_DECK, 2, (0, 1), (25, 25), (25, 25), (1, 1), (0, 0))
    board = rng.choice(52, 4, replace=False).astype(np.uint8)
    hands = FULL_DECK.hands(2)
    hands = hands[np.logical_not(np.isin(hands, board).any(axis=1))]
    ranges = [hands[rng.choice(len(hands), num_hands, replace=False)] for _ in range(2)]
    cells = spot_cells(rules, board, (ranges[0], ranges[1]))
    return build_betting_tree(rules), cells, board, (rng.random(num_hands), rng.random(num_hands))


@pytest.mark.parametrize(("spot", "num_hands"), [(river_spot, 30), (turn_spot, 8)])
@pytest.mark.parametrize("seed", range(3))
def test_spots_by_the_traversal(spot, num_hands, seed):
    tree, cells, _, weights = spot(num_hands, seed)
    result = solve_sequence_form(tree, cells, weights)
    best = measured(tree, cells, result.tables, BEST, weights)
    assert best == pytest.approx([result.value, -result.value], abs=1e-8)


def test_the_unit_of_weights_does_not_matter():
    tree, cells, _, weights = river_spot(8, 1)
    one = solve_sequence_form(tree, cells, weights)
    other = solve_sequence_form(tree, cells, (weights[0] * 1e-6, weights[1] * 1e4))
    assert one.value == pytest.approx(other.value, abs=1e-9)


def test_a_hand_of_no_weight_is_no_hand():
    tree, cells, _, weights = river_spot(8, 2)
    weights[0][3:] = 0
    board = cells.boards[0][0]
    hands = [player.hand_card for player in cells.players]
    rules = PokerRules("spot", FULL_DECK, 2, (0,), (25, 25), None, (255,), (0,), (225, 225))
    fewer = spot_cells(rules, board, (hands[0][:3], hands[1]))
    expected = solve_sequence_form(tree, fewer, (weights[0][:3], weights[1]))
    assert solve_sequence_form(tree, cells, weights).value == pytest.approx(expected.value, abs=1e-9)


def test_too_large_a_game_is_refused():
    tree, cells, _, _ = river_spot(990, 0)
    assert count_payoffs(tree, cells) > MAX_NONZEROS
    with pytest.raises(UsageError, match=r"has up to 28,422,900 payoffs: expected at most 4,000,000"):
        solve_sequence_form(tree, cells)


def test_refusals():
    tree, cells, _, weights = river_spot(4, 0)
    with pytest.raises(UsageError, match=r"weights of player 1 have shape \(3,\): expected 4"):
        solve_sequence_form(tree, cells, (weights[0], weights[1][:3]))
    with pytest.raises(UsageError, match="weights of player 0 must all be finite and 0 or more"):
        solve_sequence_form(tree, cells, (-weights[0], weights[1]))
    with pytest.raises(UsageError, match="weights of player 1 must all be finite and 0 or more"):
        solve_sequence_form(tree, cells, (weights[0], weights[1] * np.nan))
    with pytest.raises(UsageError, match="no hand of one range can meet a hand of the other"):
        solve_sequence_form(tree, cells, (weights[0], weights[1] * 0))
    with pytest.raises(UsageError, match="a dice game has no sequence-form programme"):
        solve_sequence_form(build_bluff_tree((1, 1)), cells)
