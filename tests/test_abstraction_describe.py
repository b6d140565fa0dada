"""What is told of abstractions, against looking every deal up: occupancy, members, profiles, overlap."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ASYMMETRIC, IMPERFECT, PERFECT
from hypothesis import given
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive import abstraction_describe as naive

import errai
from errai.abstraction import compare, describe
from errai.abstraction.build import build_abstraction, table_bytes
from errai.abstraction.compare import compare_round, overlap
from errai.abstraction.describe import features_of, is_by_class, members, occupancy, profile
from errai.abstraction.features.features import Features
from errai.abstraction.methods import method
from errai.abstraction.named_groups import leduc_abstraction
from errai.abstraction.population import random_deals
from errai.abstraction.recipe import parse_recipes

pytestmark = [
    pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game"),
    pytest.mark.usefixtures("cache"),
]


def rows_of(folders: Path, name: str):
    found = errai.load_abstraction(folders / name)
    return found, features_of(found)


@pytest.mark.parametrize("name", ["leduc", "imperfect", "perfect"])
def test_occupancy_and_members_by_hand(folders: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against looking every deal of the first two rounds up as text."""
    monkeypatch.setattr(describe, "ROWS_A_CHUNK", 10)  # several chunks, the last of which is short
    found, features = rows_of(folders, name)
    for r in range(2):
        sizes = naive.bucket_sizes(found, r)
        full = occupancy(found, r, 0, features)
        assert full.num_used == len(sizes)
        assert full.num_sampled == 0
        assert full.deals is not None
        assert full.deals == (min(sizes.values()), np.median(list(sizes.values())), max(sizes.values()))
        for bucket, size in sizes.items():
            some = members(found, r, bucket, 0, features)
            assert some.deals is not None
            assert some.deals.sum() == size
            assert set(found.buckets(some.cards(np.arange(len(some))), r)) == {bucket}


def test_occupancy_of_canonical_deals(folders: Path, features: Features) -> None:
    found, _ = rows_of(folders, "perfect")
    full = occupancy(found, 2, 0, features)
    rows = found.rounds[0][2].table
    assert not is_by_class(found, 2)
    assert full.hands == (
        np.bincount(rows).min(),
        np.median(np.bincount(rows, minlength=24)),
        np.bincount(rows).max(),
    )
    assert full.deals is None
    some = members(found, 2, 5, 0, features)
    assert len(some) == np.sum(rows == 5)
    assert set(found.buckets(some.cards(np.arange(len(some))), 2)) == {5}
    assert some.unit == "canonical deals"


def test_looked_up_rounds_are_counted_whole_or_sampled(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, features = rows_of(folders, "refined")
    full = occupancy(found, 2, 0, features)
    assert (full.hands, full.num_sampled) == (None, 0)
    assert full.deals is not None
    sizes = [members(found, 2, bucket, 0, features) for bucket in range(found.num_buckets(2))]
    in_deals = [int(one.deals.sum()) for one in sizes if one.deals is not None]
    assert sum(in_deals) == 52 * 51 * 50
    assert full.num_used == sum(size > 0 for size in in_deals)
    assert full.deals.largest == max(in_deals)
    monkeypatch.setattr(describe, "MOST_BOARDS", 100)
    sampled = occupancy(found, 2, 0, features, seed=1)
    assert sampled.num_sampled == 100 * 50
    assert sampled.deals is not None
    assert sampled.deals.largest / 5000 == pytest.approx(full.deals.largest / (52 * 51 * 50), rel=0.25)
    assert sampled == occupancy(found, 2, 0, features, seed=1)
    biggest = int(np.argmax(in_deals))
    some = members(found, 2, biggest, 0, features, seed=1)
    assert some.num_sampled == 5000
    assert set(found.buckets(some.cards(np.arange(len(some))), 2)) == {biggest}


def test_occupancy_of_named_groups() -> None:
    found = leduc_abstraction("[JQ.K]")
    for r in range(2):
        sizes = naive.bucket_sizes(found, r)
        full = occupancy(found, r)
        assert full.deals == (min(sizes.values()), np.median(list(sizes.values())), max(sizes.values()))


@pytest.mark.parametrize("name", [IMPERFECT, PERFECT, ASYMMETRIC, "IR-C-HS C-C-4", "PR-PHS-HS 4-2x2-3"])
def test_tables_are_as_large_as_was_told(features: Features, name: str) -> None:
    recipes = parse_recipes(name, features.plan.rules)
    built = build_abstraction(recipes, features)
    for recipe, rounds in zip(recipes, built.rounds, strict=True):
        real = tuple(sum(array.nbytes for array in one.arrays.values()) for one in rounds)
        assert table_bytes(recipe, features.plan) == real


@pytest.mark.parametrize("name", ["IIP-KE-KO 5-6-3", "IIP-KE-HS 5-6-3"])
def test_refined_tables_are_as_large_as_was_told(features: Features, monkeypatch, name: str) -> None:
    monkeypatch.setattr(method, "MAX_DEALS_IN_A_TABLE", 1000)
    monkeypatch.setattr(method, "MIN_DEALS_SAMPLED", 10_000)
    monkeypatch.setattr(method, "MAX_DEALS_SAMPLED", 10_000)
    test_tables_are_as_large_as_was_told(features, name)


def test_profiles(features: Features, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe, "ROWS_A_CHUNK", 5 * 50)  # 5, 5 and 2 of the 12 hands
    rng = np.random.Generator(np.random.PCG64(3))
    for r in range(3):
        classes = rng.choice(features.classes.size(r), 12, replace=False)
        weights = rng.integers(1, 20, 12)
        mean = profile(features, r, classes, weights)
        strengths = features.expected_strength(r)[classes]
        assert mean.strength == pytest.approx(np.average(strengths, weights=weights), rel=1e-12)
        assert (mean.weakest, mean.strongest) == (strengths.min(), strengths.max())
        squares = features.expected_strength_squared(r)[classes]
        assert mean.squared == pytest.approx(np.average(squares, weights=weights), rel=1e-12)
        against = np.average(features.ochs(r)[classes], weights=weights, axis=0) / 3500
        assert mean.ochs == pytest.approx(against, rel=1e-12)
        if r < 2:
            assert len(mean.points) == len(mean.grid) == 51
            assert min(mean.points) > -1e-12
            assert sum(mean.points) == pytest.approx(1, abs=1e-12)
            assert np.dot(mean.points, mean.grid) == pytest.approx(mean.strength, abs=1e-12)
        else:
            assert mean.points == mean.grid == ()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30))
def test_overlap_by_pairs(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    cells = sorted(set(pairs))
    i, j = (np.array([cell[k] for cell in cells]) for k in range(2))
    found = overlap(i, j, np.array([pairs.count(cell) for cell in cells]))
    told = (found.rand, found.adjusted_rand, found.mutual_information, *found.refinement)
    assert told == pytest.approx(naive.overlap(first, second), abs=1e-12)
    assert found.num_hands == len(pairs)
    assert found.num_used == (len(set(first)), len(set(second)))


@pytest.mark.parametrize(("r", "unit"), [(0, "classes"), (1, "classes"), (2, "canonical deals")])
def test_compare_rounds(folders: Path, features: Features, r: int, unit: str) -> None:
    first, _ = rows_of(folders, "imperfect")
    second, _ = rows_of(folders, "perfect")
    found = compare_round(first, second, r)
    assert found.unit == unit
    rows = second.rounds[0][r]
    cards = (
        features.classes.unindex(np.arange(features.classes.size(r)), r)
        if r < 2
        else rows._deals.rows.unindex(np.arange(len(rows.table)), 2)
    )
    labels = [one.buckets(cards, r).tolist() for one in (first, second)]
    assert found.num_hands == len(cards)
    if r < 2:  # all pairs of 9,997 deals are too many for the twin
        told = (found.rand, found.adjusted_rand, found.mutual_information, *found.refinement)
        assert told == pytest.approx(naive.overlap(*labels), abs=1e-12)
    assert found.refinement[0] == naive.refinement(*labels)


def test_compare_by_random_deals_and_large_tables(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = rows_of(folders, "imperfect")
    second, _ = rows_of(folders, "refined")
    whole = compare_round(first, second, 2)
    monkeypatch.setattr(compare, "MOST_CANONICAL_DEALS", 100)
    monkeypatch.setattr(compare, "DEALS_A_CHUNK", 700)
    chunks: list[np.ndarray] = []

    def drawn(*arguments: Any) -> np.ndarray:
        chunks.append(random_deals(*arguments))
        return chunks[-1]

    monkeypatch.setattr(compare, "random_deals", drawn)
    sampled = compare_round(first, second, 2, num_deals=5000, seed=2)
    assert (sampled.unit, sampled.num_hands) == ("random deals", 5000)
    assert [len(one) for one in chunks] == [700] * 7 + [100]
    assert len({one[:100].tobytes() for one in chunks}) == 8, "each chunk has deals of its own"
    assert sampled.rand == pytest.approx(whole.rand, abs=0.03)
    monkeypatch.setattr(compare, "MOST_CELLS", 10)
    assert compare_round(first, second, 2, num_deals=5000, seed=2) == sampled
    assert compare_round(first, second, 2, num_deals=5000, seed=3) != sampled
