"""Public clusters: the naive twins, T7's example, the collapse as printed, the extremes, refusals."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive import abstraction_public as twin

from errai.abstraction.clustering.kmeans import Metric, assign, cluster
from errai.abstraction.features.features import BoardSweep
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.public import _clusters as _public_clusters
from errai.abstraction.public import clusters as public_clusters
from errai.abstraction.public.clusters import (
    PublicClusters,
    _choose_boards,
    buckets_of_classes,
    cluster_public_boards,
    public_differences,
    public_distances,
    transition_table,
    verify_clusters,
    waugh_distances,
)
from errai.cards.deck import FULL_DECK, Deck, parse_cards
from errai.cards.evaluator import evaluate_hands_on_board
from errai.cards.isomorphism import HandIndexer, RankIndexer
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="all flops against all flops")

NUM_FLOPS = 1755  # T7, section 2.2; of 22,100 dealt flops
HANDS_OF_FLOP = 1176


@cache
def deals(name="limit-holdem"):
    return Deals(load_game(name))


def strength_percentiles(board, num_buckets):
    """Buckets of equal width by the share of hands on the board that are weaker, half of equal ones added."""
    strength = evaluate_hands_on_board(board, FULL_DECK.hands(2))
    ascending = np.sort(strength[strength >= 0])
    twice = np.searchsorted(ascending, strength) + np.searchsorted(ascending, strength, side="right")
    return np.where(strength >= 0, twice * num_buckets // (2 * len(ascending) + 1), -1)


@cache
def flop_table():
    return transition_table(lambda board: strength_percentiles(board, 1000), deals(), 1, 1000)


@cache
def flop_differences():
    return public_differences(flop_table(), num_threads=2)


def flop_number(text):
    return int(deals().boards.index(parse_cards(text), 0)[0])


def random_distances(seed, num_boards, largest):
    upper = np.triu(np.random.default_rng(seed).integers(0, largest, (num_boards, num_boards)), 1)
    return (upper + upper.T).astype(np.float64)


@needs_jit
def test_transition_table_counts_the_hands_of_every_flop():
    table = flop_table()
    assert table.shape == (NUM_FLOPS, 1000)
    assert table.dtype == np.uint16
    assert (table.sum(axis=1) == HANDS_OF_FLOP).all()
    board = deals().boards.cards(0)[flop_number("QsJs2d")]
    buckets = strength_percentiles(board, 1000).tolist()
    assert table[flop_number("QsJs2d")].tolist() == [buckets.count(b) for b in range(1000)]


@pytest.mark.parametrize(
    ("name", "round_index", "num_boards", "num_hands"),
    [("rhode-island", 1, 13, 51), ("rhode-island", 2, 325, 50), ("leduc", 1, 3, 5)],
)
def test_transition_table_of_other_games_by_class(name, round_index, num_boards, num_hands):
    game = deals(name)
    num_cards = round_index + 1
    indexer = (HandIndexer if game.rules.suits_matter else RankIndexer)((1, round_index), game.rules.deck)
    bucket_of_class = np.arange(indexer.size(1)) % 7
    table = transition_table(bucket_of_class, game, round_index)
    assert len(table) == num_boards
    assert (table.sum(axis=1) == num_hands).all()
    boards = game.boards.cards(game.board_round(round_index))
    for board in (0, num_boards // 2, num_boards - 1):
        expected = [0] * 7
        for card in game.rules.deck.cards:
            if card not in boards[board]:
                deal = np.array([[card, *boards[board]]], dtype=np.uint8)
                assert deal.shape[1] == num_cards
                expected[bucket_of_class[indexer.index(deal, 1)[0]]] += 1
        assert table[board].tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 70), st.integers(1, 2000))
def test_differences_agree_with_their_twin(seed, num_boards, num_buckets, num_hands):
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(num_buckets, 0.3), num_boards)
    table = np.array([generator.multinomial(num_hands, share / share.sum()) for share in shares])
    table = table.astype(np.uint16)
    differences = public_differences(table)
    assert differences.tolist() == twin.differences(table.tolist())
    assert (public_distances(table) == differences / num_hands).all()


def test_differences_do_not_depend_on_threads_or_blocks():
    generator = np.random.default_rng(5)
    num_boards = 2 * _public_clusters.BLOCK + 3
    table = generator.multinomial(40, np.full(6, 1 / 6), num_boards).astype(np.uint16)
    one, two = (public_differences(table, num_threads=n) for n in (1, 2))
    assert one.tobytes() == two.tobytes()
    assert one.tolist() == twin.differences(table.tolist())


@needs_jit
def test_distances_of_all_flops_are_symmetric_and_zero_on_the_diagonal():
    differences = flop_differences()
    assert np.array_equal(differences, differences.T)
    assert not differences.diagonal().any()
    assert differences.max() <= HANDS_OF_FLOP
    chosen = np.random.default_rng(0).choice(NUM_FLOPS, 8, replace=False)
    assert differences[np.ix_(chosen, chosen)].tolist() == twin.differences(flop_table()[chosen].tolist())


@pytest.mark.parametrize("name", ["rhode-island", "leduc"])
def test_waugh_distances_agree_with_their_twin(name):
    game = deals(name)
    hands = game.rules.deck.hands(1)[:, 0].astype(np.int64)
    before = hands // 4 % 4

    def buckets(board):
        return np.where(hands == board[0], -1, (hands * 5 + int(board[0]) * (hands & 2)) % 6)

    distances = waugh_distances(lambda board: before, buckets, game, 1, num_threads=2)
    tables = []
    for board in game.boards.cards(0):
        free = hands != board[0]
        tables.append(twin.transition_probabilities(before[free].tolist(), buckets(board)[free].tolist()))
    expected = [[twin.l2_distance(x, y) for y in tables] for x in tables]
    np.testing.assert_allclose(distances, expected, rtol=0, atol=1e-6)
    assert np.array_equal(distances, distances.T)


def test_waugh_distances_of_a_later_round():
    """The buckets before are those of the board as it was a card earlier, not of the first board dealt."""
    rules = PokerRules(
        name="three-boards",
        deck=Deck("QKA", "hs"),
        num_hole_cards=1,
        num_board_cards=(0, 1, 1, 1),
        blinds=(1, 1),
        raise_sizes=(1, 1, 1, 1),
        max_raises=(1, 1, 1, 1),
        first_player=(0, 0, 0, 0),
    )
    game, hands = Deals(rules), rules.deck.hands(1)[:, 0].astype(np.int64)

    def buckets_before(board):
        assert len(board) == 2
        return np.where(np.isin(hands, board), -1, (hands + int(board[1] >> 2)) % 3)

    def buckets(board):
        return np.where(np.isin(hands, board), -1, (hands >> 2) * 2 + (hands > board[2]))

    distances = waugh_distances(buckets_before, buckets, game, 3)
    tables = []
    for board in game.boards.cards(game.board_round(3)):
        free = ~np.isin(hands, board)
        before = buckets_before(board[:2])[free].tolist()
        tables.append(twin.transition_probabilities(before, buckets(board)[free].tolist()))
    expected = [[twin.l2_distance(x, y) for y in tables] for x in tables]
    np.testing.assert_allclose(distances, expected, rtol=0, atol=1e-6)


def test_differences_have_16_bits():
    """65,535 hands are the most; one more is refused."""
    table = np.array([[65535, 0], [0, 65535], [65534, 1]], dtype=np.uint16)
    assert public_differences(table).tolist() == [[0, 65535, 1], [65535, 0, 65534], [1, 65534, 0]]
    with pytest.raises(UsageError, match=r"not 65536 to 65536 in a table of shape \(2, 2\)"):
        public_differences(np.array([[65535, 1], [1, 65535]], dtype=np.uint16))
    with pytest.raises(UsageError, match="not 0 to 0"):
        public_differences(np.zeros((2, 2), dtype=np.uint16))


def test_a_table_has_as_many_columns_as_the_base_has_buckets():
    game = deals("leduc")
    numbers = np.arange(9) % 4
    assert transition_table(numbers, game, 1).shape == (3, 4)
    wide = transition_table(numbers, game, 1, num_buckets=6)
    assert wide.shape == (3, 6)
    assert wide[:, :4].tolist() == transition_table(numbers, game, 1, num_buckets=4).tolist()
    assert not wide[:, 4:].any()


@needs_jit
def test_example_of_the_paper_on_its_own_hands():
    """T7, section 2.2: the hands 43 and 42 on AhKs3d and AhKs2d; all other hands share one bucket here.

    The base puts 4c3s-AhKs3d with 4c2s-AhKs2d (bottom pair) and 4c3s-AhKs2d with 4c2s-AhKs3d (nothing), so
    algorithm 2 sees no difference, while Waugh's tables have nothing in common for 43 and for 42.
    """
    ranks = np.sort(FULL_DECK.hands(2) >> 2, axis=1)
    is_43, is_42 = ((ranks == pair).all(axis=1) for pair in ([1, 2], [0, 2]))
    preflop = np.where(is_43, 1, np.where(is_42, 2, 0))

    def buckets(board):
        percentile = strength_percentiles(board, 20)
        return np.where(percentile < 0, -1, np.where(preflop > 0, 1 + percentile, 0))

    three, two = flop_number("AhKs3d"), flop_number("AhKs2d")
    seen = []
    for flop in (three, two):
        given = buckets(deals().boards.cards(0)[flop])
        seen.append([set(given[(preflop == b) & (given >= 0)].tolist()) for b in (1, 2)])
    assert seen[0] == seen[1][::-1], "the premise: 43 and 42 swap their buckets from board to board"
    assert [len(found) for found in seen[0]] == [1, 1]
    assert seen[0][0] != seen[0][1]
    # 12 of these hands pair the low card and 16 do not, on either board.
    assert public_differences(transition_table(buckets, deals(), 1))[three, two] == 0
    # For 43 and for 42, a probability of 1 faces 0 in two entries: the most that tables can differ by.
    assert waugh_distances(lambda board: preflop, buckets, deals(), 1)[three, two] == pytest.approx(2.0)


@needs_jit
def test_example_of_the_paper_among_all_hands_and_flops():
    """The same boards with a base of 100 buckets by k-means over strengths against eight kinds of opponents.

    Both ways find them among the nearest few of the 1,754 others, but by algorithm 2 they are nearly equal,
    less than a tenth of the median distance apart, and by Waugh's tables more than half of it, because
    every hand whose own bucket differs from board to board counts in full.
    """
    boards, weights = deals().boards.cards(0), deals().boards.weights(0)
    classes = HandClasses(load_game("holdem-2-4"))
    hole = classes.index(classes.hands, 0)
    strengths, beaten, _ = BoardSweep(classes, None, 0).sweep(boards)
    is_open = strengths >= 0
    # Kinds of opponents: hole cards by how many hands they beat on a flop, in eight parts.
    mean = (weights @ (beaten * is_open)) / (weights @ is_open)
    opponents = np.argsort(np.argsort(np.bincount(hole, mean) / np.bincount(hole))) * 8 // 169
    rows = BoardSweep(classes, opponents, 8).sweep(boards)[2][is_open]
    some = np.random.default_rng(0).choice(len(rows), 20_000, replace=False)
    ones = np.ones(len(some), dtype=np.int64)
    centres = cluster(rows[some], ones, 100, Metric.L2, max_iterations=10).centres
    buckets = np.full(is_open.shape, -1, dtype=np.int64)
    buckets[is_open] = assign(rows, centres, Metric.L2)[0]

    def on_board(board):
        return buckets[deals().boards.index(board, 0)[0]]

    three, two = flop_number("AhKs3d"), flop_number("AhKs2d")
    for distances, least, most in (
        (public_distances(transition_table(on_board, deals(), 1)), 0, 1 / 10),
        (waugh_distances(lambda board: hole, on_board, deals(), 1), 1 / 2, 1),
    ):
        apart = distances[three, two] / np.median(distances[three])
        assert least < apart < most
        assert np.count_nonzero(distances[three] < distances[three, two]) < 10


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 6), st.booleans())
def test_an_iteration_agrees_with_its_twin(seed, num_boards, num_clusters, in_turn):
    distances = random_distances(seed, num_boards, 6)
    clusters = np.random.default_rng(seed).integers(0, num_clusters, num_boards).astype(np.int32)
    expected = twin.move_boards(distances.tolist(), clusters.tolist(), num_clusters, in_turn)
    before = clusters if in_turn else clusters.copy()
    num_moves = _public_clusters.move_boards(distances, before, np.empty(num_clusters), clusters)
    assert (clusters.tolist(), num_moves) == expected


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.data())
def test_boards_in_turn_always_end_with_no_empty_cluster(seed, num_boards, data):
    num_clusters = data.draw(st.integers(1, num_boards))
    distances = random_distances(seed, num_boards, 9)
    result = cluster_public_boards(distances, num_clusters, seed=seed, restarts=2)
    clusters = result.cluster_of_board.tolist()
    assert result.converged
    assert sorted(set(clusters)) == list(range(num_clusters))
    assert result.objective == twin.objective(distances.tolist(), clusters)
    assert twin.move_boards(distances.tolist(), clusters, num_clusters, True) == (clusters, 0)
    # Clusters are numbered by their lowest boards.
    assert [clusters.index(c) for c in range(num_clusters)] == sorted(map(clusters.index, set(clusters)))


def test_each_iteration_in_turn_lowers_the_objective():
    distances = random_distances(3, 60, 1000)
    curve = [cluster_public_boards(distances, 5, max_iterations=t, restarts=1).objective for t in range(4)]
    assert curve[0] > curve[1] > curve[2] >= curve[3]


@needs_jit
@pytest.mark.parametrize("num_clusters", [1, 60, NUM_FLOPS])
def test_every_flop_is_in_one_cluster(num_clusters):
    result = cluster_public_boards(flop_differences(), num_clusters, restarts=2)
    assert result.converged
    assert result.cluster_of_board.shape == (NUM_FLOPS,)
    assert result.sizes.sum() == NUM_FLOPS
    assert result.sizes.min() > 0
    assert np.concatenate([result.boards(c) for c in range(num_clusters)]).size == NUM_FLOPS
    if num_clusters == 1:
        assert not result.cluster_of_board.any()
        assert result.objective == flop_differences().sum(dtype=np.int64) / 2
    if num_clusters == NUM_FLOPS:
        assert result.cluster_of_board.tolist() == list(range(NUM_FLOPS))
        assert result.objective == 0


def test_as_many_clusters_as_boards_leaves_equal_boards_alone():
    for update in ("in turn", "at once"):
        result = cluster_public_boards(np.zeros((7, 7)), 7, update=update)
        assert result.cluster_of_board.tolist() == list(range(7))


@needs_jit
def test_the_algorithm_as_printed_collapses():
    """What the module says of boards that move at once, and of those that move in turn."""
    printed = cluster_public_boards(flop_differences(), 60, update="at once", max_iterations=50, restarts=1)
    assert not printed.converged
    assert printed.sizes.max() > 1700
    assert np.count_nonzero(printed.sizes == 0) > 50
    in_turn = cluster_public_boards(flop_differences(), 60, restarts=1)
    assert in_turn.converged
    assert (in_turn.iterations, in_turn.sizes.min(), in_turn.sizes.max()) == (8, 10, 78)


@needs_jit
def test_the_same_seed_gives_the_same_clusters():
    one, two = (
        cluster_public_boards(public_differences(flop_table(), num_threads=n), 60, seed=4, restarts=2)
        for n in (1, 2)
    )
    assert one.cluster_of_board.tobytes() == two.cluster_of_board.tobytes()
    assert one.objective == two.objective
    other = cluster_public_boards(flop_differences(), 60, seed=5, restarts=2)
    assert other.cluster_of_board.tobytes() != one.cluster_of_board.tobytes()


class Draws:
    """Stands in for random numbers: the first board, and then a number in [0, 1) for each further one."""

    def __init__(self, first, *uniforms):
        self.first, self.uniforms = first, list(uniforms)

    def integers(self, most):
        return self.first

    def random(self):
        return self.uniforms.pop(0)


def chosen_boards(distances, num_clusters, *draws):
    return _choose_boards(distances, num_clusters, Draws(*draws))  # type: ignore[arg-type]


def test_first_boards_are_drawn_by_squared_distance():
    distances = np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]])
    # From board 0 the squares are 1 and 9: a tenth of all draws is board 1.
    for uniform, board in ((0.0, 1), (0.099, 1), (0.101, 2), (0.999, 2)):
        assert chosen_boards(distances, 2, 0, uniform) == [0, board]
    # Then the nearest chosen board counts: the third is the one that is left.
    assert chosen_boards(distances, 3, 0, 0.101, 0.999) == [0, 2, 1]
    assert chosen_boards(distances, 3, 2, 0.999, 0.0) == [2, 1, 0]
    # A product that is rounded up to the sum of all is the last board that may be drawn, not one past it.
    assert chosen_boards(distances, 2, 2, 1.0) == [2, 1]
    assert chosen_boards(distances, 2, 0, 1.0) == [0, 2]
    # Boards that are all alike have equal chances, those that were chosen left out.
    assert chosen_boards(np.zeros((4, 4)), 3, 1, 0.34, 0.999) == [1, 2, 3]


def test_more_restarts_are_never_worse():
    distances = random_distances(8, 40, 1000)
    objectives = [cluster_public_boards(distances, 6, restarts=n).objective for n in (1, 3, 9)]
    assert objectives == sorted(objectives, reverse=True)


def test_each_restart_has_random_numbers_of_its_own(monkeypatch):
    """By seed and restart, so that more restarts begin with the same ones."""
    states = []

    def choose(distances, num_clusters, generator):
        states.append(generator.bit_generator.state)
        return _choose_boards(distances, num_clusters, generator)

    monkeypatch.setattr(public_clusters, "_choose_boards", choose)
    cluster_public_boards(random_distances(8, 12, 50), 3, seed=6, restarts=3)
    assert states == [np.random.default_rng((6, restart)).bit_generator.state for restart in range(3)]


def test_the_first_of_the_best_restarts_is_kept(monkeypatch):
    """Boards 0 and 1 are near each other; only the first restart parts them."""
    distances = [[0, 1, 5], [1, 0, 5], [5, 5, 0]]
    starts = iter([[0, 1], [2, 0], [1, 2]])
    monkeypatch.setattr(public_clusters, "_choose_boards", lambda *_: next(starts))
    found = cluster_public_boards(distances, 2, max_iterations=0, restarts=3)
    assert (found.objective, found.restart, found.iterations, found.converged) == (1.0, 1, 0, False)
    assert found.cluster_of_board.tolist() == [0, 0, 1]
    assert not found.cluster_of_board.flags.writeable


def test_iterations_are_counted_with_the_one_that_moves_nothing(monkeypatch):
    """Board 0 goes to board 1 in the first pass, and the second finds nothing to do."""
    distances = np.array([[0.0, 1, 9, 2], [1, 0, 9, 2], [9, 9, 0, 1], [2, 2, 1, 0]])
    monkeypatch.setattr(public_clusters, "_choose_boards", lambda *_: [0, 1])
    found = cluster_public_boards(distances, 2, restarts=1)
    stopped = cluster_public_boards(distances, 2, restarts=1, max_iterations=1)
    assert (found.iterations, found.converged) == (2, True)
    assert (stopped.iterations, stopped.converged) == (1, False)
    assert stopped.cluster_of_board.tolist() == found.cluster_of_board.tolist() == [0, 0, 1, 1]


def test_sizes_count_clusters_without_boards():
    found = PublicClusters(np.array([0, 1, 0], dtype=np.int32), 4, 0.0, 0, True, 0)
    assert found.sizes.tolist() == [2, 1, 0, 0]
    assert [found.boards(c).tolist() for c in range(4)] == [[0, 2], [1], [], []]
    with pytest.raises(UsageError, match="the cluster must be 0 to 3, not -1"):
        found.boards(-1)


def test_large_numbers_are_told_with_commas():
    with pytest.raises(UsageError) as caught:
        verify_clusters(1755, 2000, 0, 1)
    assert str(caught.value) == (
        "the number of public clusters must be 1 to 1,755, one for each board, not 2,000"
    )
    verify_clusters(1755, 1755, 0, 1)
    verify_clusters(1755, 1, 0, 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"num_clusters": 0}, "the number of public clusters must be 1 to 4, one for each board, not 0"),
        ({"num_clusters": 5}, "the number of public clusters must be 1 to 4, one for each board, not 5"),
        ({"max_iterations": -1}, "max_iterations must be 0 or more, not -1"),
        ({"restarts": 0}, "restarts must be 1 or more, not 0"),
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"update": "later"}, "update must be 'in turn' or 'at once', not 'later'"),
        ({"distances": np.zeros((2, 3))}, r"a square matrix over all boards, not of shape \(2, 3\)"),
        ({"distances": [[0, -1], [-1, 0]]}, r"negative or not finite"),
        ({"distances": [[0, np.nan], [np.nan, 0]]}, r"negative or not finite"),
        ({"distances": [[0, 1], [2, 0]]}, "must be symmetric with zeroes on the diagonal"),
        ({"distances": [[1, 2], [2, 0]]}, "must be symmetric with zeroes on the diagonal"),
    ],
)
def test_bad_clusterings_are_refused(options, sentence):
    arguments = {"distances": random_distances(0, 4, 5), "num_clusters": 2, **options}
    with pytest.raises(UsageError, match=sentence):
        cluster_public_boards(**arguments)


def test_bad_tables_are_refused():
    with pytest.raises(UsageError, match="round 1 of rhode-island has no boards to cluster"):
        transition_table(lambda board: np.zeros(52, dtype=np.int32), deals("rhode-island"), 0)
    with pytest.raises(UsageError, match="the round must be 0 to 2 in 'rhode-island', not 3"):
        transition_table(lambda board: np.zeros(52, dtype=np.int32), deals("rhode-island"), 3)
    with pytest.raises(
        UsageError, match=r"the 51 hands that share no card with the board 2c .*: 52 have one"
    ):
        transition_table(lambda board: np.zeros(52, dtype=np.int32), deals("rhode-island"), 1)
    with pytest.raises(UsageError, match="has bucket 4: it must be 0 to 3"):
        transition_table(
            lambda board: np.where(np.arange(52) == board[0], -1, 4), deals("rhode-island"), 1, num_buckets=4
        )
    with pytest.raises(
        UsageError, match=r"expected 9 buckets, one for each class of round 2 of leduc, not .* \(5,\)"
    ):
        buckets_of_classes(np.zeros(5, dtype=np.int32), deals("leduc"), 1)
    with pytest.raises(UsageError, match="equal sums of 1 to 65535 private hands, not 3 to 4"):
        public_differences(np.array([[1, 2], [2, 2]], dtype=np.uint16))
    with pytest.raises(UsageError, match=r"the number of threads must be 1 or more, not 0"):
        public_differences(np.array([[1, 2], [2, 1]], dtype=np.uint16), num_threads=0)
    with pytest.raises(UsageError, match="the cluster must be 0 to 2, not 3"):
        cluster_public_boards(random_distances(0, 4, 5), 3).boards(3)
