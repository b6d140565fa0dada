"""Hierarchical public abstraction on a hold'em of 16 cards: buckets, symmetry, files, threads, refusals."""

import json
from functools import cache
from itertools import combinations, permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive import abstraction_public as twin

import errai
from errai import workers
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.public import _abstraction as _public_abstraction
from errai.abstraction.public import build as public_build
from errai.abstraction.public.abstraction import ClusterTables, load_public_abstraction, padded
from errai.abstraction.public.build import build_public_abstraction
from errai.abstraction.public.clusters import (
    PublicClusters,
    cluster_public_boards,
    public_differences,
    transition_table,
)
from errai.abstraction.public.cost import memory_needed, table_bytes
from errai.array_file import write_array
from errai.cards.deck import Deck, format_cards
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

NUM_CLUSTERS = 4
BUCKETS = (12, 40, 20)

SMALL_HOLDEM = PokerRules(
    name="holdem-16",
    deck=Deck.top(4, 4),
    num_hole_cards=2,
    num_board_cards=(0, 3, 1, 1),
    blinds=(2, 1),
    raise_sizes=(2, 2, 4, 4),
    max_raises=(1, 1, 1, 1),
    first_player=(1, 0, 0, 0),
)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@cache
def features(rules=SMALL_HOLDEM):
    if WITHOUT_JIT:
        pytest.skip("features of a whole game")
    return build_features(FeaturePlan(rules, 3), num_threads=2)


@cache
def clusters(rules=SMALL_HOLDEM, num_clusters=NUM_CLUSTERS):
    strength = np.asarray(features(rules).strength(1))
    base = (strength.astype(np.int64) * 40 // (int(strength.max()) + 1)).astype(np.int32)
    return cluster_public_boards(public_differences(transition_table(base, Deals(rules), 1)), num_clusters)


@cache
def abstraction():
    return build_public_abstraction(features(), clusters(), buckets=BUCKETS, num_threads=2)


def random_deals(round_index, number, seed):
    num_cards = 2 + (0, 3, 4, 5)[round_index]
    generator = np.random.default_rng(seed)
    deck = np.array(SMALL_HOLDEM.deck.cards, dtype=np.uint8)
    return np.stack([generator.permutation(deck)[:num_cards] for _ in range(number)])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 17), st.sampled_from([3, 50, 3500]))
def test_nearest_centres_agree_with_their_twin(seed, num_centres, num_columns, largest):
    generator = np.random.default_rng(seed)
    # Columns move together, as strengths do, but for some noise.
    middle = generator.integers(0, largest, (num_centres + 30, 1))
    noise = generator.integers(0, 1 + largest // 4, (num_centres + 30, num_columns))
    numbers = (middle + noise).astype(np.uint16)
    centres, rows = numbers[:num_centres], numbers[num_centres:]
    centres = centres[np.argsort(centres.sum(axis=1), kind="stable")]
    is_open = generator.random(30) < 0.8
    found = np.empty(30, dtype=np.int64)
    tables = ClusterTables(np.zeros(0, dtype=np.int32), {}, centres, ())
    scratch = np.empty(num_centres, dtype=np.int32)
    _public_abstraction.nearest_centres(
        padded(rows), is_open, tables.centre_columns, tables.centre_sums, 1000, scratch, found
    )
    expected = [
        1000 + twin.nearest_centre(row, centres.tolist()) if is_row else -1
        for row, is_row in zip(rows.tolist(), is_open, strict=True)
    ]
    assert found.tolist() == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=9), st.integers(-1, 14))
def test_sums_below_a_bound_are_counted(numbers, bound):
    sums = np.array(sorted(numbers), dtype=np.int64)
    assert _public_abstraction._count_below(sums, bound) == sum(number < bound for number in numbers)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 16]), st.data())
def test_neighbouring_centres_are_measured(seed, num_columns, data):
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 4000, (7, num_columns)).astype(np.uint16)
    row = generator.integers(0, 4000, num_columns).astype(np.uint16)
    begin = data.draw(st.integers(0, 6))
    end = data.draw(st.integers(begin + 1, 7))
    squares = np.full(7, -1, dtype=np.int32)
    columns = np.ascontiguousarray(centres.T).reshape(-1)
    least = _public_abstraction._measure(row, columns, 7, begin, end, squares)
    expected = ((centres[begin:end].astype(np.int64) - row) ** 2).sum(axis=1).tolist()
    assert squares.tolist() == expected + [-1] * (7 - len(expected))
    assert least == min(expected)


@pytest.mark.parametrize("num_far", [0, 40])
def test_the_lowest_of_equally_near_centres(num_far):
    """Both centres are 5 from the row; many others with sums in between make the first look miss them."""
    far = [[1000 - i, 1000 + i] for i in range(100, 100 + num_far)]
    centres = np.array([[997, 996], *far, [1003, 1004]], dtype=np.uint16)  # sums ascend: 1993, 2000.., 2007
    rows = np.array([[1000, 1000], [1003, 1004]], dtype=np.uint16)
    tables = ClusterTables(np.zeros(0, dtype=np.int32), {}, centres, ())
    found = np.empty(2, dtype=np.int64)
    scratch = np.empty(len(centres), dtype=np.int32)
    _public_abstraction.nearest_centres(
        padded(rows), np.ones(2, dtype=bool), tables.centre_columns, tables.centre_sums, 0, scratch, found
    )
    assert found.tolist() == [0, num_far + 1]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 2), st.integers(0, 5))
def test_renamed_hands_are_looked_up(seed, num_hole, num_board):
    generator, deck = np.random.default_rng(seed), SMALL_HOLDEM.deck
    hands = deck.hands(num_hole)
    row = generator.permutation(len(hands)).astype(np.uint16)
    renamed, is_dealt = generator.permutation(deck.size), np.zeros(deck.size, dtype=bool)
    is_dealt[generator.choice(deck.size, num_board, replace=False)] = True
    positions = np.searchsorted(deck.cards, hands)
    found = np.empty(len(hands), dtype=np.int64)
    _public_abstraction.look_up_hands(row, positions, renamed, is_dealt, 1000, found)
    for hand, bucket in zip(positions.tolist(), found.tolist(), strict=True):
        if any(is_dealt[card] for card in hand):
            assert bucket == -1
        else:
            assert bucket == 1000 + row[deck.hand_index([deck.cards[renamed[card]] for card in hand])]


@pytest.mark.parametrize("round_index", [0, 1, 2, 3])
def test_every_hand_has_a_bucket_of_its_public_cluster(round_index):
    deals = Deals(SMALL_HOLDEM)
    for board in random_deals(round_index, 40, round_index)[:, 2:]:
        buckets = abstraction().buckets_on_board(board)
        blocked = np.isin(SMALL_HOLDEM.deck.hands(2), board).any(axis=1)
        assert ((buckets == -1) == blocked).all()
        assert buckets.max() < abstraction().num_buckets(round_index)
        if round_index > 0:
            public = clusters().cluster_of_board[deals.boards.index(board[:3], 0)[0]]
            assert set((buckets[~blocked] // BUCKETS[round_index - 1]).tolist()) == {int(public)}


@pytest.mark.parametrize("round_index", [0, 1, 2, 3])
def test_suits_and_the_order_inside_a_round_do_not_matter(round_index):
    cards = random_deals(round_index, 200, 10 + round_index)
    buckets = abstraction().buckets(cards, round_index)
    generator = np.random.default_rng(round_index)
    for suits in permutations(range(4)):
        renamed = (cards & 60) + np.array(suits, dtype=np.uint8)[cards & 3]
        renamed[:, :2] = generator.permuted(renamed[:, :2], axis=1)
        renamed[:, 2:5] = generator.permuted(renamed[:, 2:5], axis=1)
        assert (abstraction().buckets(renamed, round_index) == buckets).all()


@pytest.mark.parametrize("round_index", [0, 1, 2, 3])
def test_all_look_ups_agree(round_index):
    cards = random_deals(round_index, 25, 20 + round_index)
    for deal, bucket in zip(cards, abstraction().buckets(cards, round_index), strict=True):
        on_board = abstraction().buckets_on_board(deal[2:])
        assert on_board[SMALL_HOLDEM.deck.hand_index(deal[:2].tolist())] == bucket
        assert abstraction().bucket(format_cards(deal[:2]), format_cards(deal[2:])) == bucket


def test_names_and_numbers_of_buckets():
    assert abstraction().name == f"PUBLIC{NUM_CLUSTERS}-KE-KO 16-12-40-20"
    assert [abstraction().num_buckets(r) for r in range(4)] == [16, 48, 160, 80]
    assert len(set(abstraction().buckets_on_board(np.zeros(0, dtype=np.uint8)).tolist())) == 16


def test_a_table_round_is_the_clustering_of_its_deals():
    """Round 2 in one cluster: weights counted deal by deal, the labels of k-means, numbered by strength."""
    public, rules, features_ = 1, SMALL_HOLDEM, features()
    deals = Deals(rules)
    flops = list(combinations(rules.deck.cards, 3))
    inside = clusters().cluster_of_board[deals.boards.index(np.array(flops, dtype=np.uint8), 0)] == public
    counts: dict[int, int] = {}
    bucket_of_class: dict[int, int] = {}
    for flop in np.array(flops, dtype=np.uint8)[inside]:
        for turn in rules.deck.cards:
            if turn in flop:
                continue
            board = np.array([*flop, turn], dtype=np.uint8)
            hands = rules.deck.hands(2)[~np.isin(rules.deck.hands(2), board).any(axis=1)]
            cards = np.concatenate([hands, np.tile(board, (len(hands), 1))], axis=1)
            found = abstraction().buckets_on_board(board)
            for c, b in zip(
                features_.classes.index(cards, 2).tolist(), found[found >= 0].tolist(), strict=True
            ):
                counts[c] = counts.get(c, 0) + 1
                assert bucket_of_class.setdefault(c, b) == b, "a class has one bucket in a cluster"
    classes = sorted(counts)
    rows = np.asarray(features_.histograms(2))[classes]
    tables = abstraction().clusters[public]
    # The same seed is not to be had from outside; every label must be the nearest of the labels' own means.
    labels = np.array([bucket_of_class[c] - public * BUCKETS[1] for c in classes])
    weights = np.array([counts[c] for c in classes])
    means = np.array([np.average(rows[labels == b], axis=0, weights=weights[labels == b]) for b in range(40)])
    centres = np.floor(means + 0.5)
    distance = np.abs(rows[:, None, :].astype(np.int64) - centres).sum(axis=2)
    assert (distance[np.arange(len(rows)), labels] == distance.min(axis=1)).all()
    assert np.average(distance.min(axis=1), weights=weights) == pytest.approx(tables.costs[1])
    # And they are numbered from the weakest to the strongest.
    assert (np.diff(centres.sum(axis=1)) <= 0).all()


def test_the_last_round_takes_the_nearest_centre_of_its_cluster():
    deals = Deals(SMALL_HOLDEM)
    for board in random_deals(3, 10, 7)[:, 2:]:
        public = int(clusters().cluster_of_board[deals.boards.index(board[:3], 0)[0]])
        centres = abstraction().clusters[public].centres.tolist()
        found = features().on_board(board)
        expected = [
            public * BUCKETS[2] + twin.nearest_centre(row, centres) if is_open else -1
            for row, is_open in zip(found.ochs.tolist(), found.is_open, strict=True)
        ]
        assert abstraction().buckets_on_board(board).tolist() == expected


def test_random_boards_of_the_last_round_come_as_often_as_they_are_dealt():
    """A canonical flop stands for 4, 12 or 24 deals, and is drawn in proportion to them."""
    deals = Deals(SMALL_HOLDEM)
    dealt = deals.boards.weights(deals.board_round(1))
    assert (len(dealt), int(dealt.sum()), sorted(set(dealt.tolist()))) == (48, 560, [4, 12, 24])
    chances = []

    def choice(number, size, p=None):
        chances.append(p)
        return np.arange(size) % number

    choices: Any = SimpleNamespace(
        features=SimpleNamespace(classes=HandClasses(SMALL_HOLDEM)), special_round=1
    )
    generator: Any = SimpleNamespace(choice=choice, random=np.random.default_rng(0).random)
    ends, weights, is_sample = public_build._last_boards(choices, deals, np.arange(len(dealt)), generator)
    assert is_sample
    assert chances[0].tolist() == (dealt / 560).tolist()
    assert set(weights.tolist()) == {1}
    assert all(len(set(board)) == 5 for board in ends.tolist())


def test_enough_buckets_lose_nothing_but_equal_histograms():
    built = build_public_abstraction(features(), clusters(), buckets=60_000, only=[2])
    tables, public = built.clusters[2], clusters().boards(2)
    deals = Deals(SMALL_HOLDEM)
    hands = SMALL_HOLDEM.deck.hands(2)
    seen: dict[int, bytes] = {}
    for place, board in enumerate(deals.boards.cards(0)[public]):
        for hand, bucket in zip(hands, tables.tables[1][place], strict=True):
            if bucket == 65535:
                assert np.isin(hand, board).any()
                continue
            row = features().classes.index(np.array([[*hand, *board]], dtype=np.uint8), 1)[0]
            histogram = features().histograms(1)[row].tobytes()
            assert seen.setdefault(int(bucket), histogram) == histogram
    assert tables.costs[:2] == (0.0, 0.0)


def test_threads_and_other_clusters_do_not_matter():
    one = build_public_abstraction(features(), clusters(), buckets=BUCKETS, num_threads=1, only=[3, 1])
    assert sorted(one.clusters) == [1, 3]
    other = build_public_abstraction(features(), clusters(), buckets=BUCKETS, num_threads=1, only=[1], seed=1)
    for number in (1, 3):
        here, there = one.clusters[number], abstraction().clusters[number]
        assert here.centres.tobytes() == there.centres.tobytes()
        assert here.costs == there.costs
        for round_index in (1, 2):
            assert here.tables[round_index].tobytes() == there.tables[round_index].tobytes()
    assert other.clusters[1].tables[2].tobytes() != one.clusters[1].tables[2].tobytes()


@pytest.mark.parametrize("num_clusters", [1, 13])
def test_rhode_island_at_both_extremes(num_clusters):
    rules = load_game("rhode-island")
    public = clusters(rules, num_clusters)
    built = build_public_abstraction(features(rules), public, buckets=(5, 9))
    assert [built.num_buckets(r) for r in range(3)] == [13, 5 * num_clusters, 9 * num_clusters]
    board = np.array([4, 21], dtype=np.uint8)
    for num_cards, size in ((1, 5), (2, 9)):
        buckets = built.buckets_on_board(board[:num_cards])
        assert np.count_nonzero(buckets < 0) == num_cards
        expected = public.cluster_of_board[Deals(rules).boards.index(board[:1], 0)[0]]
        assert set((buckets[buckets >= 0] // size).tolist()) == {int(expected)}


def test_leduc_has_its_special_round_last():
    rules = load_game("leduc")
    identity = PublicClusters(np.arange(3, dtype=np.int32), 3, 0.0, 0, True, 0)
    built = build_public_abstraction(features(rules), identity, buckets=4)
    assert [built.num_buckets(r) for r in range(2)] == [3, 12]
    buckets = {hand: built.bucket(hand, "Q") for hand in "JQK"}
    assert buckets["J"] < buckets["K"] < buckets["Q"], "a pair beats all"


def test_saved_and_loaded_again(tmp_path):
    abstraction().save(tmp_path / "a")
    loaded = load_public_abstraction(tmp_path / "a")
    assert (loaded.name, loaded.game) == (abstraction().name, SMALL_HOLDEM)
    for round_index in range(4):
        cards = random_deals(round_index, 100, 30 + round_index)
        assert (loaded.buckets(cards, round_index) == abstraction().buckets(cards, round_index)).all()


def test_a_worker_loads_only_its_own_clusters(tmp_path):
    abstraction().save(tmp_path / "a")
    for number in (0, 2, 3):
        for path in (tmp_path / "a" / f"cluster-{number}").iterdir():
            path.unlink()
    loaded = load_public_abstraction(tmp_path / "a", clusters=[1])
    assert list(loaded.clusters) == [1]
    flops = Deals(SMALL_HOLDEM).boards.cards(0)
    mine, others = flops[clusters().boards(1)[0]], flops[clusters().boards(2)[0]]
    assert (loaded.buckets_on_board(mine) == abstraction().buckets_on_board(mine)).all()
    with pytest.raises(UsageError, match=r"is in public cluster 2, which is not loaded: 1 are"):
        loaded.buckets_on_board(others)
    with pytest.raises(UsageError, match=r"cluster 0 is not loaded: a public abstraction is saved with all"):
        loaded.save(tmp_path / "b")
    with pytest.raises(UsageError, match=r"cluster 4 not found: .* has clusters 0 to 3"):
        load_public_abstraction(tmp_path / "a", clusters=[4])
    with pytest.raises(UsageError, match=r"cannot be read"):
        load_public_abstraction(tmp_path / "a")


def test_no_file_can_change_or_be_missing_unseen(tmp_path):
    folder = tmp_path / "a"
    abstraction().save(folder)
    for path in sorted(folder.rglob("*.*")):
        content = path.read_bytes()
        middle = len(content) * 2 // 3
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :])
        with pytest.raises(UsageError, match="damaged"):
            load_public_abstraction(folder)
        path.unlink()
        with pytest.raises(UsageError, match=r"cannot be read|is not an abstraction"):
            load_public_abstraction(folder)
        path.write_bytes(content)
    load_public_abstraction(folder)


def test_an_interrupted_save_leaves_nothing_to_load(tmp_path, monkeypatch):
    folder = tmp_path / "a"
    written = []

    def refuse(path, *args, **options):
        written.append(path)
        if len(written) > 5:
            raise OSError(28, "No space left on device")
        return write_array(path, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr("errai.abstraction.folder.write_array", refuse)
        with pytest.raises(OSError, match="No space left"):
            abstraction().save(folder)
    with pytest.raises(UsageError, match="is not an abstraction"):
        load_public_abstraction(folder)
    abstraction().save(folder)
    with pytest.raises(UsageError, match="holds an abstraction already"):
        abstraction().save(folder)
    assert errai.load_abstraction(folder).name == abstraction().name


def test_an_interrupted_build_goes_on_with_the_same_bytes(tmp_path):
    options: dict[str, Any] = {"buckets": BUCKETS, "seed": 3}
    build_public_abstraction(features(), clusters(), out=tmp_path / "whole", **options)

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_public_abstraction(
            features(), clusters(), out=tmp_path / "a", num_threads=1, report=interrupt, **options
        )
    with pytest.raises(UsageError, match="is not an abstraction"):
        load_public_abstraction(tmp_path / "a")
    first = (tmp_path / "a" / "cluster-0" / "round-2.array").stat().st_mtime_ns
    build_public_abstraction(features(), clusters(), out=tmp_path / "a", **options)
    assert (tmp_path / "a" / "cluster-0" / "round-2.array").stat().st_mtime_ns == first, "not built again"
    whole, again = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "whole", tmp_path / "a")
    )
    assert again == whole


def test_the_manifest_says_what_it_is(tmp_path):
    abstraction().save(tmp_path)
    manifest = json.loads((tmp_path / "abstraction.json").read_text())
    assert manifest["kind"] == "public"
    assert manifest["buckets_per_cluster"] == list(BUCKETS)
    assert [len(entry["arrays"]) for entry in manifest["clusters"]] == [4] * NUM_CLUSTERS


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"buckets": 0},
            "must be one number of 1 to 65,535, or 3, one a round from the flop on, not 0, 0, 0",
        ),
        (
            {"buckets": (5, 5)},
            "must be one number of 1 to 65,535, or 3, one a round from the flop on, not 5, 5",
        ),
        ({"special_round": 4}, "special_round must be 0 to 3 in 'holdem-16', not 4"),
        ({"special_round": 0}, "must deal public cards, and the preflop round of holdem-16 deals none"),
        ({"special_round": 2}, "boards of the turn of holdem-16, not of"),
        ({"only": [9]}, "the cluster must be 0 to 3, not 9"),
        ({"num_threads": 0}, "the number of threads must be 1 or more, not 0"),
        ({"seed": -1}, "seed must be 0 or more, not -1"),
    ],
)
def test_bad_builds_are_refused(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        build_public_abstraction(features(), clusters(), **options)


def test_bad_look_ups_are_refused():
    for hand, board, sentence in (
        ("AsKs", "AsQdQh", "As occurs twice"),
        ("As", "KsQdQh", "'As' is not a hand of 'holdem-16': the number of cards must be 2, not 1"),
        ("AsKs", "QdQh", "a board of 2 cards does not belong to a round"),
        ("2s2d", "KsQdQh", "2s is not in this deck"),
    ):
        with pytest.raises(UsageError, match=sentence):
            abstraction().bucket(hand, board)
    with pytest.raises(UsageError, match="the player must be 0 or 1, not 2"):
        abstraction().num_buckets(1, player=2)
    with pytest.raises(UsageError, match="round 4 not found"):
        abstraction().num_buckets(4)
    empty = PublicClusters(np.zeros_like(clusters().cluster_of_board), 2, 0.0, 0, True, 0)
    with pytest.raises(UsageError, match="public cluster 1 is empty"):
        build_public_abstraction(features(), empty)


def test_no_more_clusters_are_built_at_a_time_than_there_are():
    plan = FeaturePlan(load_game("rhode-island"), 4)
    needed = [memory_needed(plan, 1, 3, (500, 500), 10, num_threads) for num_threads in range(1, 6)]
    tables = sum(table_bytes(plan, 1, 3, (500, 500)))
    assert [bytes_ - tables for bytes_ in needed] == [n * (needed[0] - tables) for n in (1, 2, 3, 3, 3)]
    assert needed[0] > tables


def test_report_is_told_of_every_cluster(monkeypatch):
    """Once each; what is told every second besides does not come where a second is long."""
    monkeypatch.setattr(workers, "SECONDS_BETWEEN_REPORTS", 1e6)
    told = []
    build_public_abstraction(features(), clusters(), buckets=3, report=lambda *done: told.append(done))
    assert told == [(n, NUM_CLUSTERS) for n in range(1, NUM_CLUSTERS + 1)]
