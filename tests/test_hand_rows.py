"""Rows that hands are clustered by, the deals that recall looks at, percentiles; in chunks of any size."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from naive import abstraction_buckets as naive

from errai import workers
from errai.abstraction import population
from errai.abstraction.clustering import percentile
from errai.abstraction.clustering.nearest import Metric
from errai.abstraction.features import build as feature_build
from errai.abstraction.features import rows as rows_module
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.features.rows import HandRows
from errai.abstraction.population import Population, all_deals, random_deals, sampled_deals
from errai.abstraction.round_buckets import ClassTable, DealTable, Lossless
from errai.games.catalogue import load_game
from errai.games.deals import Deals


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Features:
    """The histograms of a game with 19,600 flops after each hand, which are counted in 32 bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("wide")))
        found = build_features(FeaturePlan(load_game("holdem-2-1"), 8, {"histograms"}))
        assert found.histograms(0).dtype == np.uint32
        assert len(found.strength(0)) == len(found.deals(0)) == 169
    return found


# Rows and their distances


def test_which_numbers_a_row_has(features: Features) -> None:
    for r, ochs, columns, metric in (
        (1, False, 50, Metric.L1),
        (2, False, 1, Metric.L1),
        (1, True, 8, Metric.L2),
        (2, True, 8, Metric.L2),
    ):
        rows = HandRows(features, r, ochs)
        assert (rows.metric, rows.num_columns, len(rows)) == (metric, columns, features.classes.size(r))
        source = features.ochs(r) if ochs else features.histograms(r) if r < 2 else features.strength(r)
        expected = np.asarray(source).reshape(len(rows), columns)
        assert np.array_equal(rows.read(10, 30), expected[10:30])
        chosen = np.array([40, 3, 3, 29])
        assert np.array_equal(rows.of_classes(chosen), expected[chosen])
        assert rows.read(0, 5).flags.c_contiguous


def test_histograms_of_more_than_16_bits_are_scaled_to_the_nearest(wide: Features) -> None:
    total, rows = wide.histogram_total(0), HandRows(wide, 0, ochs=False)
    assert total == 19_600 * 44
    exact = [Fraction(60_000 * int(number), total) for number in wide.histograms(0).ravel()]
    nearest = [floor(number + Fraction(1, 2)) for number in exact]
    assert rows.read(0, 169).ravel().tolist() == nearest
    assert rows.read(0, 169).dtype == rows.of_classes(np.array([5])).dtype == np.uint16
    assert sum(one > number for one, number in zip(nearest, exact, strict=True)) > 1000
    assert np.array_equal(rows.of_classes(np.array([7, 100])), rows.read(0, 169)[[7, 100]])


def test_distances_are_in_units_of_hand_strength(features: Features, wide: Features) -> None:
    """Where one hand is better in every quantile, the distance is the difference of the means."""
    for some, r, allowed in ((features, 0, 1e-12), (features, 1, 1e-12), (wide, 0, 1e-4)):
        rows, means = HandRows(some, r, ochs=False), some.expected_strength(r)
        numbers, found = rows.read(0, len(rows)).astype(np.int64), 0
        for worse in range(0, len(rows), 7):
            better = np.flatnonzero((numbers <= numbers[worse]).all(axis=1) & (means > means[worse] + 0.1))
            for other in better.tolist():
                found += 1
                gap = float(np.abs(numbers[worse] - numbers[other]).sum())
                assert rows.distance(gap) == pytest.approx(means[other] - means[worse], abs=allowed)
        assert found > 0
    assert HandRows(features, 2, ochs=False).distance(49.0) == 0.5  # of 98 half hands
    assert HandRows(features, 2, ochs=True).distance(1750.0**2) == 0.5
    assert HandRows(features, 1, ochs=True).distance(350.0**2) == 0.1


@pytest.mark.parametrize("chunk_rows", [1, 100, 1 << 16])
def test_mean_rows_in_chunks(features: Features, monkeypatch: pytest.MonkeyPatch, chunk_rows: int) -> None:
    monkeypatch.setattr(rows_module, "CHUNK_ROWS", chunk_rows)
    rows, weights = HandRows(features, 1, ochs=False), features.deals(1)
    assert len(rows) == 325
    assert len(set(weights.tolist())) > 1
    table = (np.arange(325) * 7 % 4).astype(np.uint16)
    numbers = rows.read(0, 325).astype(np.int64)
    found = rows.means(table, weights, 5)
    for bucket in range(4):
        chosen = table == bucket
        total = int(weights[chosen].sum(dtype=np.int64))
        sums = weights[chosen].astype(np.int64) @ numbers[chosen]
        assert found[bucket].tolist() == [(2 * one + total) // (2 * total) for one in sums.tolist()]
    assert not found[4].any()


@pytest.mark.parametrize("deals_a_chunk", [1, 150, 500_000])
def test_next_buckets_in_chunks(
    features: Features, monkeypatch: pytest.MonkeyPatch, deals_a_chunk: int
) -> None:
    """50 cards may come after two; a bucket for each, in the order of the deck."""
    monkeypatch.setattr(rows_module, "DEALS_A_CHUNK", deals_a_chunk)
    monkeypatch.setattr(workers, "SECONDS_BETWEEN_REPORTS", 0.0)
    classes, told = np.array([300, 7, 7, 41, 120, 0, 324]), []
    table = (np.arange(features.classes.size(2)) * 13 % 1000).astype(np.uint16)
    found = HandRows(features, 1, ochs=False).next_buckets(classes, table, 1, lambda *step: told.append(step))
    expected = []
    for cards in features.classes.unindex(classes, 1).tolist():
        following = [[*cards, card] for card in features.plan.rules.deck.cards if card not in cards]
        index = features.classes.index(np.array(following, dtype=np.uint8), 2)
        expected.append(table[index].tolist())
    assert found.tolist() == expected
    step = max(1, deals_a_chunk // 50)
    done = [min(begin + step, 7) for begin in range(0, 7, step)]
    assert [step for step in dict.fromkeys(told) if step[0]] == [(one, 7) for one in done]


# Deals


@pytest.mark.parametrize("boards_a_chunk", [3, 128])
def test_every_canonical_deal_with_its_bucket_class_and_weight(
    features: Features, monkeypatch: pytest.MonkeyPatch, boards_a_chunk: int
) -> None:
    """Against all 52 x 51 x 50 deals one by one; the bucket before is that of the first two cards."""
    monkeypatch.setattr(population, "BOARDS_A_CHUNK", boards_a_chunk)
    rules, classes = features.plan.rules, features.classes
    deals = Deals(rules)
    cards = np.array(rules.deck.cards, dtype=np.uint8)
    everything = np.stack(np.meshgrid(cards, cards, cards, indexing="ij"), axis=-1).reshape(-1, 3)
    different = np.ascontiguousarray(everything[[len(set(deal)) == 3 for deal in everything.tolist()]])
    index = deals.rows.index(different, 2)
    table = (np.arange(deals.num_rows(1)) * 5 % 11).astype(np.uint16)
    parent = DealTable(deals, 1, table, 11)
    for num_threads in (1, 2):
        found = all_deals(deals, classes, 2, parent, num_threads)
        assert np.array_equal(found.weights, np.bincount(index))
        assert len(set(found.weights.tolist())) > 1
        assert np.array_equal(found.classes[index], classes.index(different, 2))
        assert np.array_equal(found.parents[index], parent.of_deals(np.ascontiguousarray(different[:, :2])))


def test_deals_by_their_bucket_before() -> None:
    parents = np.array([2, 0, 2, 4], dtype=np.uint32)
    order, ends = Population(parents, parents, parents.astype(np.uint16)).by_parent()
    assert order.tolist() == [1, 0, 2, 3]
    assert ends.tolist() == [0, 1, 1, 3, 3, 4]


def test_a_chunk_of_sampled_deals_has_a_stream_of_its_own(
    features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the seed and its first deal."""
    monkeypatch.setattr(population, "DEALS_A_CHUNK", 100)
    classes, deals = features.classes, Deals(features.plan.rules)
    found = sampled_deals(deals, classes, 2, Lossless(deals, 1), 250, 5, 1)
    parts = [
        random_deals(
            classes, 2, size, np.random.Generator(np.random.PCG64(np.random.SeedSequence((5, begin))))
        )
        for begin, size in ((0, 100), (100, 100), (200, 50))
    ]
    cards = np.concatenate(parts)
    assert found.classes.tolist() == classes.index(cards, 2).tolist()
    assert found.parents.tolist() == deals.rows.index(np.ascontiguousarray(cards[:, :2]), 1).tolist()
    assert found.weights.tolist() == [1] * 250


def test_deals_with_a_card_twice_are_drawn_again() -> None:
    class Draws:
        def __init__(self) -> None:
            self.rows: Any = iter([[[0, 0], [1, 2], [3, 3]], [[4, 4], [5, 6]], [[8, 7]]])

        def integers(self, most: int, size: tuple[int, int]) -> np.ndarray:
            found = np.array(next(self.rows))
            assert (most, found.shape) == (9, size)
            return found

    draws: Any = Draws()
    assert population._distinct(draws, 9, 2, 3).tolist() == [[8, 7], [1, 2], [5, 6]]


def test_every_card_of_the_deck_is_dealt(features: Features) -> None:
    deals = random_deals(features.classes, 2, 3000, np.random.default_rng(1))
    assert deals.shape == (3000, 3)
    assert all(set(deals[:, place].tolist()) == set(features.plan.rules.deck.cards) for place in range(3))


# Tables


def test_tables_are_looked_up_by_class_and_by_deal(features: Features) -> None:
    classes, deals = features.classes, Deals(features.plan.rules)
    cards = random_deals(classes, 2, 500, np.random.default_rng(2))
    of_class = np.arange(classes.size(2), dtype=np.uint32) % 70_001
    by_class = ClassTable(classes, 2, of_class, 70_001)
    assert by_class.of_deals(cards).tolist() == of_class[classes.index(cards, 2)].tolist()
    of_deal = np.arange(deals.num_rows(2), dtype=np.uint32)[::-1]
    by_deal = DealTable(deals, 2, of_deal, len(of_deal))
    assert by_deal.of_deals(cards).tolist() == of_deal[deals.rows.index(cards, 2)].tolist()
    lossless = Lossless(deals, 2)
    assert lossless.num_buckets == deals.num_rows(2)
    assert lossless.of_deals(cards).tolist() == deals.rows.index(cards, 2).tolist()
    for one, names in ((by_class, ["table"]), (by_deal, ["table"]), (lossless, [])):
        assert one.of_deals(cards).dtype == np.int64
        assert list(one.arrays) == names
        assert np.array_equal(one.on_board(cards, np.arange(500)), one.of_deals(cards))
    # Rounds of Leduc: none of the first is dealt to the board, so that deals have fewer rounds than bets.
    leduc = Deals(load_game("leduc"))
    assert [Lossless(leduc, r).num_buckets for r in range(2)] == [leduc.num_rows(0), leduc.num_rows(1)]


# Percentiles


@pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
def test_percentiles_in_chunks(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(percentile, "CHUNK", chunk)
    rng = np.random.default_rng(4)
    values, weights = rng.integers(30, size=50), rng.integers(1, 9, size=50)
    expected = naive.percentile_buckets(values.tolist(), weights.tolist(), 6)
    assert percentile.percentile_buckets(values, weights, 6).tolist() == expected
    monkeypatch.setattr(percentile, "MAX_VALUES_TO_COUNT", 29)
    assert percentile.percentile_buckets(values, weights, 6).tolist() == expected


# Opponent clusters


def test_what_opponent_clusters_are_made_of(
    wide: Features, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Histograms of all hole cards, to the nearest of 60,000 parts; a pair is 6 hands, others are 4 or 12."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def listen(*arguments: Any, **options: Any) -> None:
        calls.append((arguments, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(feature_build, "cluster", listen)
    rows = HandRows(wide, 0, ochs=False).read(0, 169)
    hands = np.bincount(wide.classes.index(wide.classes.hands, 0)).tolist()
    assert sorted(set(hands)) == [4, 6, 12]
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("again")))
    plan = FeaturePlan(wide.plan.rules, 5, {"opponent-clusters"})
    with pytest.raises(KeyboardInterrupt):
        build_features(plan)
    ((points, weights, *others), options) = calls[0]
    assert np.array_equal(points, rows)
    assert points.dtype == np.uint16
    assert weights.tolist() == hands
    assert others == [5, Metric.L1]
    assert options == {"restarts": 50, "max_iterations": 200, "num_threads": 1}


def test_opponent_clusters_are_numbered_from_the_weakest(features: Features) -> None:
    strengths, labels = features.expected_strength(0), features.opponent_clusters
    means = [strengths[labels == cluster].mean() for cluster in range(8)]
    assert means == sorted(means)
    assert len(set(means)) == 8
