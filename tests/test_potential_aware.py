"""Potential-aware clustering: greedy distances against exact ones, pruned search against a full one."""

import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive import abstraction_potential as naive

from errai import workers
from errai.abstraction.clustering import _potential_aware as kernels
from errai.abstraction.clustering import potential_aware
from errai.abstraction.clustering.lloyd import Effort
from errai.abstraction.clustering.nearest import Metric
from errai.abstraction.clustering.potential_aware import (
    PotentialClustering,
    cluster_potential,
    greedy_emd,
    ground_distances,
    largest_remainders,
)
from errai.errors import UsageError

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="too many distances without compiled kernels")
both_metrics = pytest.mark.parametrize("metric", list(Metric))

FEW = 5 if WITHOUT_JIT else 30


def random_hands(num_rows: int, num_buckets: int, num_next: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Next buckets around a mean and a spread of each hand's own, and the buckets' centres on a curve."""
    rng = np.random.default_rng(seed)
    strength = (np.arange(num_buckets) + 0.5) / num_buckets
    centres = 1000 * np.stack([strength, strength**2, np.sin(3 * strength), 1 - strength**3], axis=1)
    middle, spread = rng.random((num_rows, 1)), 0.3 * rng.random((num_rows, 1))
    reached = np.clip(middle + spread * rng.normal(size=(num_rows, num_next)), 0, 0.999)
    return (reached * num_buckets).astype(np.uint16), np.rint(centres).astype(np.uint16)


def dense(row, num_buckets: int) -> np.ndarray:
    return np.bincount(row, minlength=num_buckets)


def as_fractions(found: PotentialClustering) -> list[dict[int, Fraction]]:
    centres = []
    for k in range(found.num_clusters):
        part = slice(found.centre_begin[k], found.centre_begin[k + 1])
        masses = zip(found.centre_buckets[part].tolist(), found.centre_masses[part].tolist(), strict=True)
        centres.append({bucket: Fraction(mass, found.total_mass) for bucket, mass in masses})
    return centres


@st.composite
def small_problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_rows, num_next = draw(st.integers(1, 14)), draw(st.integers(1, 6))
    num_buckets, num_columns = draw(st.integers(1, 7)), draw(st.integers(1, 10))
    rows = rng.integers(0, num_buckets, (num_rows, num_next)).astype(np.uint16)
    centres = rng.integers(0, draw(st.sampled_from([1, 4, 2000])) + 1, (num_buckets, num_columns))
    weights = rng.integers(1, 24, num_rows).astype(np.uint16)
    return (
        rows,
        weights,
        centres.astype(np.uint16),
        draw(st.sampled_from(Metric)),
        draw(st.integers(1, num_rows)),
    )


@given(small_problems())
@settings(max_examples=FEW, deadline=None)
def test_greedy_distance_as_naive_and_never_below_the_exact_one(problem):
    rows, _, centres, metric, _ = problem
    ground = ground_distances(centres, metric)
    for first, second in zip(rows, rows[::-1], strict=True):
        masses = dense(second, len(centres))
        found = greedy_emd(first, masses, ground)
        assert found == pytest.approx(float(naive.greedy_emd(first, naive.as_distribution(second), ground)))
        assert found >= naive.exact_emd(dense(first, len(centres)), masses, ground) - 1e-9
        assert greedy_emd(first, dense(first, len(centres)), ground) == 0


def test_greedy_distance_is_exact_for_one_and_for_two_buckets():
    assert greedy_emd([0, 0, 0], [5], [[0]]) == 0
    rng = np.random.default_rng(0)
    ground = [[0, 7], [7, 0]]
    for _ in range(10):
        row = rng.integers(0, 2, 6)
        masses = rng.integers(1, 9, 2)
        exact = naive.exact_emd(dense(row, 2), masses, ground)
        assert greedy_emd(row, masses, ground) == pytest.approx(exact)
        assert exact == pytest.approx(7 * abs(np.mean(row) - masses[1] / masses.sum()))


def test_greedy_distance_may_be_above_the_exact_one():
    """Places 10 and 0 both want place 6. The first served takes it, though it is nearer to place 20."""
    places = np.array([10, 0, 6, 20])
    ground = np.abs(places[:, None] - places)
    assert greedy_emd([0, 1], [0, 0, 1, 1], ground) == (4 + 20) / 2
    assert naive.exact_emd([1, 1, 0, 0], [0, 0, 1, 1], ground) == pytest.approx((10 + 6) / 2)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any), st.integers(1, 1000))
def test_largest_remainders(counts, mass):
    shares = largest_remainders(np.array(counts, dtype=np.int64), sum(counts), mass)
    assert shares.sum() == mass
    assert np.all(np.abs(shares - np.array(counts) * mass / sum(counts)) < 1)


@given(small_problems(), st.integers(0, 100))
@settings(max_examples=FEW, deadline=None)
def test_as_plain_k_means(problem, seed):
    rows, weights, centres, metric, num_clusters = problem
    arguments = rows, weights, centres, metric, num_clusters
    start = cluster_potential(*arguments, Effort(seed=seed, max_iterations=0, num_threads=1))
    found = cluster_potential(*arguments, Effort(seed=seed, max_iterations=5, num_threads=1))
    ground = ground_distances(centres, metric)
    uniforms = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(0,)))).random(
        num_clusters
    )
    chosen = naive.seeds(rows, weights, uniforms, ground)
    chosen += [chosen[0]] * (num_clusters - len(chosen))
    assert as_fractions(start) == [naive.as_distribution(rows[i]) for i in chosen]
    means, labels, cost, iterations = naive.lloyd(
        rows, weights, as_fractions(start), ground, found.total_mass, 5
    )
    assert found.labels.tolist() == labels
    assert as_fractions(found) == means
    assert found.cost * (1 if metric is Metric.L1 else potential_aware.L2_PARTS) == pytest.approx(float(cost))
    assert found.iterations == iterations


@needs_jit
@both_metrics
def test_pruned_search_is_the_full_search(metric):
    """Every label is the first of the cheapest centres, all of them measured; most need not have been."""
    rows, centres = random_hands(600, 60, 47, 1)
    weights = np.random.default_rng(2).integers(1, 24, len(rows)).astype(np.uint16)
    found = cluster_potential(
        rows, weights, centres, metric, 40, Effort(seed=3, max_iterations=3, sample_size=400)
    )
    ground = ground_distances(centres, metric)
    table = np.empty((len(rows), 40))
    for k in range(40):
        masses = np.rint(found.distribution(k) * found.total_mass).astype(np.int64)
        assert masses.sum() == found.total_mass
        table[:, k] = [greedy_emd(row, masses, ground) for row in rows]
    np.testing.assert_array_equal(found.labels, table.argmin(axis=1))
    parts = 1 if metric is Metric.L1 else potential_aware.L2_PARTS
    assert found.cost == pytest.approx(np.average(table.min(axis=1), weights=weights) / parts)
    assert found.share_saved > 0.5


@needs_jit
@both_metrics
def test_mean_bound_is_below_the_greedy_cost(metric):
    rows, centres = random_hands(200, 80, 46, 4)
    space = potential_aware._ground(centres, metric, 46)
    rows = np.sort(rows, axis=1)
    positions = space.positions(rows)
    ratios = []
    for a, b in zip(range(100), range(100, 200), strict=True):
        scale = 46.0 * space.unit * space.parts
        bound = kernels.lower_bound(positions[a], positions[b], space.squared, space.margin, scale)
        cost = greedy_emd(rows[a], dense(rows[b], 80), space.ground) * 46 * space.unit
        assert bound <= cost
        ratios.append(bound / cost)
    assert np.mean(ratios) > 0.5


@both_metrics
def test_the_lowest_of_equally_near_centres(metric):
    """A row half-way between two centres, whichever is guessed."""
    space = potential_aware._ground(np.array([[0], [10], [20]], dtype=np.uint16), metric, 2)
    ends = [potential_aware._support_of_row(np.array([b, b], dtype=np.uint16), space.unit) for b in (0, 2)]
    for supports in (ends, ends[::-1]):
        centres = potential_aware._Centres(space, supports)
        for guesses in (None, np.array([0]), np.array([1])):
            labels, costs, _ = centres.assign(np.array([[1, 1]], dtype=np.uint16), guesses)
            assert labels.tolist() == [0]
            assert costs.tolist() == [10 * space.parts * space.unit * 2]
    # Centres that are alike, at no distance from the row: the bound is not below the cost, but equals it.
    twins = potential_aware._Centres(space, [ends[0], ends[0]])
    assert twins.assign(np.array([[0, 0]], dtype=np.uint16), np.array([1]))[0].tolist() == [0]


@both_metrics
def test_passes_over_all_rows_are_plain_steps(metric, monkeypatch):
    """Training sees a sample; then every step is one of plain k-means over all rows."""
    monkeypatch.setattr(potential_aware, "CHUNK_ROWS", 16)
    rows, centres = random_hands(60, 12, 6, 1)
    weights = np.random.default_rng(2).integers(1, 24, len(rows)).astype(np.uint16)
    arguments = rows, weights, centres, metric, 4
    options: dict[str, Any] = {"seed": 3, "sample_size": 25, "num_threads": 1}
    before = cluster_potential(*arguments, Effort(full_passes=0, **options))
    found = cluster_potential(*arguments, Effort(full_passes=2, **options))
    ground = ground_distances(centres, metric)
    assert set(before.labels) == {0, 1, 2, 3}, "no centre is empty"
    means, labels, cost, steps = naive.lloyd(rows, weights, as_fractions(before), ground, found.total_mass, 2)
    assert steps == 2
    assert as_fractions(found) == means
    assert found.labels.tolist() == labels
    assert found.cost * (1 if metric is Metric.L1 else potential_aware.L2_PARTS) == pytest.approx(float(cost))
    assert found.iterations == before.iterations + 2
    assert found.cost < before.cost
    # What was trained is k-means of the sample alone.
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(3, spawn_key=(1, 4))))
    sample = np.sort(rng.choice(60, 25, replace=False, shuffle=False))
    alone = cluster_potential(
        rows[sample], weights[sample], centres, metric, 4, Effort(seed=3, num_threads=1)
    )
    assert as_fractions(alone) == as_fractions(before)
    assert alone.iterations == before.iterations


def test_two_kinds_of_hands_with_the_same_mean():
    """Steady hands and drawing hands of equal strength: what this abstraction is for."""
    centres = np.array([[0], [500], [1000]], dtype=np.uint16)
    steady, drawing = [1, 1, 1, 1], [0, 2, 0, 2]
    rows = np.array([steady, drawing, steady, [2, 0, 2, 0], [1, 1, 1, 2]], dtype=np.uint16)
    found = cluster_potential(
        rows, np.ones(5, dtype=np.int64), centres, Metric.L1, 2, Effort(restarts=4, num_threads=1)
    )
    assert found.labels[0] == found.labels[2] == found.labels[4]
    assert found.labels[1] == found.labels[3] != found.labels[0]
    np.testing.assert_allclose(found.distribution(found.labels[1]), [0.5, 0, 0.5])


@both_metrics
def test_one_cluster_as_many_as_rows_and_fewer_different_rows(metric):
    centres = np.arange(12, dtype=np.uint16).reshape(6, 2) * 50
    rows = np.array([[0, 1, 2], [3, 4, 5], [5, 5, 5], [2, 1, 0]], dtype=np.uint16)
    weights = np.array([1, 2, 3, 4])
    one = cluster_potential(rows, weights, centres, metric, 1, Effort(num_threads=1))
    counts = sum(w * dense(row, 6) for w, row in zip(weights, rows, strict=True))
    np.testing.assert_allclose(one.distribution(0), counts / 30, atol=1 / one.total_mass)
    every = cluster_potential(rows, weights, centres, metric, 4, Effort(num_threads=1))
    assert every.cost == 0
    assert len(set(every.labels)) == 3
    assert every.labels[0] == every.labels[3]


@needs_jit
def test_same_bytes_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(potential_aware, "CHUNK_ROWS", 100)
    monkeypatch.setattr(potential_aware, "SEEDING_CHUNK_ROWS", 100)
    rows, centres = random_hands(1_500, 50, 20, 5)
    weights = np.arange(1_500) % 5 + 1
    runs = [
        cluster_potential(
            rows,
            weights,
            centres,
            Metric.L1,
            12,
            Effort(seed=1, restarts=2, sample_size=700, max_iterations=4, num_threads=n),
        )
        for n in (1, 2, 3)
    ]
    for other in runs[1:]:
        for name in ("labels", "centre_begin", "centre_buckets", "centre_masses"):
            assert getattr(runs[0], name).tobytes() == getattr(other, name).tobytes()
        assert (runs[0].cost, runs[0].num_distances) == (other.cost, other.num_distances)
    other_seed = cluster_potential(rows, weights, centres, Metric.L1, 12, Effort(seed=2, sample_size=700))
    assert other_seed.labels.tobytes() != runs[0].labels.tobytes()


@needs_jit
def test_report_and_interrupt(monkeypatch):
    monkeypatch.setattr(workers, "SECONDS_BETWEEN_REPORTS", 0.0)
    rows, centres = random_hands(3_000, 50, 20, 6)
    arguments = rows, np.ones(3_000, dtype=np.int64), centres, Metric.L1, 10
    seen = []
    cluster_potential(
        *arguments,
        Effort(max_iterations=2, sample_size=1_000),
        report=lambda done, total: seen.append((done, total, threading.current_thread())),
    )
    assert {thread for _, _, thread in seen} == {threading.current_thread()}
    assert seen[-1][:2] == (9_000, 9_000)  # three steps on the sample, two passes over all rows
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cluster_potential(*arguments, Effort(), report=interrupt)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("errai-rows")]


# Limits, bounds and counts


def test_a_transport_is_abandoned_only_above_the_limit():
    """Two units at place 0 go to places 1 and 5 for 6; after the first the other pays at least 1 more."""
    ground = np.abs(np.array([0, 1, 5])[:, None] - np.array([0, 1, 5])).astype(np.int32)
    order = np.argsort(ground, axis=1, kind="stable").astype(np.uint16)
    remaining = np.full(3, kernels.ABSENT, dtype=np.int64)
    for limit in range(9):
        cost = kernels.greedy_cost(
            np.zeros(1, dtype=np.int32),
            np.array([2]),
            1,
            np.array([0, 1, 2], dtype=np.int32),
            np.array([9, 1, 1]),
            1,  # the first of the support belongs to another centre
            3,
            ground,
            order,
            limit,
            remaining,
            np.empty(1, dtype=np.int64),
            np.empty(1, dtype=np.int32),
        )
        assert cost == 6 if limit >= 6 else cost > limit
        assert remaining.tolist() == [kernels.ABSENT] * 3


def test_lower_bounds_leave_a_margin():
    """Distances 7 and 5 less a ten-thousandth and the margin, times the scale, rounded down; at least 0."""
    a, b = np.array([3, 0, 1], dtype=np.float32), np.array([0, 4, 1], dtype=np.float32)
    assert kernels.lower_bound(a, b, False, 0.5, 1000.0) == 6499
    assert kernels.lower_bound(a, b, True, 0.5, 1000.0) == 4499
    assert kernels.lower_bound(a, b, False, 100.0, 1000.0) == 0


def test_distances_of_next_buckets():
    """Under L2 in sixteenths, rounded up: the diagonal of a square is 22.6 of them, three units are 48."""
    centres = np.array([[0, 0], [1, 1], [3, 0], [0, 3]], dtype=np.uint16)
    assert ground_distances(centres, Metric.L1)[0].tolist() == [0, 2, 3, 3]
    assert ground_distances(centres, Metric.L2)[0].tolist() == [0, 23, 48, 48]
    for metric, parts in ((Metric.L1, 1), (Metric.L2, 16)):
        space = potential_aware._ground(centres, metric, 3)
        assert (space.parts, space.squared) == (parts, metric is Metric.L2)
        assert space.unit == 21_846  # three of them are 65,538
        assert space.margin == 1e-6 * 2 * 3
        assert space.order[0].tolist() == [0, 1, 2, 3]
        assert space.order[3].tolist() == ([3, 0, 1, 2] if metric is Metric.L1 else [3, 1, 0, 2])
        assert space.width == 8
        assert space.positions(np.array([[0, 2, 3], [1, 1, 2]], dtype=np.uint16))[:, :3].tolist() == [
            [1.0, 1.0, 0.0],
            [np.float32(5 / 3), np.float32(2 / 3), 0.0],
        ]


def test_centres_are_where_their_masses_are():
    space = potential_aware._ground(np.array([[0], [10]], dtype=np.uint16), Metric.L1, 4)
    both, one = np.array([0, 1], dtype=np.int32), np.array([1], dtype=np.int32)
    centres = potential_aware._Centres(space, [(both, np.array([1, 3])), (one, np.array([4]))])
    assert centres.positions[:, 0].tolist() == [7.5, 10.0]
    assert centres.begin.tolist() == [0, 2, 3]
    others = [
        [(both, np.array([2, 2])), (one, np.array([4]))],
        [(both, np.array([1, 3])), (one - 1, np.array([4]))],
        [(one, np.array([4])), (both, np.array([1, 3]))],
    ]
    assert centres.equals(potential_aware._Centres(space, [(both, np.array([1, 3])), (one, np.array([4]))]))
    assert not any(centres.equals(potential_aware._Centres(space, other)) for other in others)


@pytest.mark.parametrize(
    ("counts", "mass", "shares"),
    [([1, 1, 1], 4, [2, 1, 1]), ([1, 2], 2, [1, 1]), ([3, 1, 1], 3, [2, 1, 0]), ([1, 3, 2], 12, [2, 6, 4])],
)
def test_the_largest_remainders_are_rounded_up(counts, mass, shares):
    """The first of equals: of 1.8, 0.6 and 0.6 the first two."""
    assert largest_remainders(np.array(counts), sum(counts), mass).tolist() == shares


def test_weighted_costs_may_exceed_64_bits():
    counts = potential_aware._Counts(2, 3)
    rows, labels = np.array([[0, 1], [1, 2]], dtype=np.uint16), np.array([0, 1], dtype=np.int32)
    weights, costs = np.array([(1 << 30) - 1, 5]), np.array([(1 << 45) - 1, (1 << 44) + 12_345])
    expected = ((1 << 30) - 1) * ((1 << 45) - 1) + 5 * ((1 << 44) + 12_345)
    assert expected > 1 << 64
    assert counts.add(rows, weights, labels, costs) == expected
    assert counts._counts.tolist() == [[(1 << 30) - 1] * 2 + [0], [0, 5, 5]]


@both_metrics
def test_a_row_next_to_its_guess_is_measured_once(metric):
    """The mean of the row is 2.5 from one centre and 7.5 from the other, which is farther than the cost."""
    space = potential_aware._ground(np.array([[0], [10]], dtype=np.uint16), metric, 4)
    ends = [potential_aware._support_of_row(np.array([b] * 4, dtype=np.uint16), space.unit) for b in (0, 1)]
    centres = potential_aware._Centres(space, ends)
    for guesses in (None, np.array([0])):
        labels, costs, counts = centres.assign(np.array([[0, 0, 0, 1]], dtype=np.uint16), guesses)
        assert (labels.tolist(), counts.tolist()) == ([0], [1, 0])
        assert costs.tolist() == [10 * space.parts * space.unit]


def test_greedy_distances_are_counted():
    """Two rows of one mean, which are the two centres, so that no bound tells them apart.

    Choosing the first measures both, the second only itself: the other costs nothing. Then each row is
    measured from both centres.
    """
    rows, centres = np.array([[1, 1], [0, 2]], dtype=np.uint16), np.array([[0], [10], [20]], dtype=np.uint16)
    found = cluster_potential(
        rows, np.ones(2, dtype=np.int64), centres, Metric.L1, 2, Effort(max_iterations=0, num_threads=1)
    )
    assert found.cost == 0
    assert (found.num_distances, found.num_plain_distances) == (2 + 1 + 4, 4 + 4)
    assert found.share_saved == 1 / 8


@both_metrics
def test_first_centres_in_chunks_of_rows(metric, monkeypatch):
    """The same whatever the chunks, with as many distances."""
    rows, centres = random_hands(24, 12, 6, 9)
    weights = np.arange(24) % 5 + 1
    uniforms = np.random.Generator(np.random.PCG64(np.random.SeedSequence(4, spawn_key=(0,)))).random(5)
    chosen = naive.seeds(rows, weights, uniforms, ground_distances(centres, metric))
    counts = set()
    for chunk_rows in (1, 7, 1000):
        monkeypatch.setattr(potential_aware, "SEEDING_CHUNK_ROWS", chunk_rows)
        found = cluster_potential(
            rows, weights, centres, metric, 5, Effort(seed=4, max_iterations=0, num_threads=1)
        )
        assert as_fractions(found) == [naive.as_distribution(rows[i]) for i in chosen]
        counts.add(found.num_distances)
    assert len(counts) == 1


def test_a_draw_at_the_very_end_is_a_row_that_is_no_centre():
    class Draws:
        def random(self, size: int) -> np.ndarray:
            return np.array([0.0, 1.0])

    space = potential_aware._ground(np.array([[0], [10], [20]], dtype=np.uint16), Metric.L1, 1)
    rows = np.array([[0], [2], [0]], dtype=np.uint16)
    draws: Any = Draws()
    with workers.start_workers(1) as started:
        centres, labels, num_distances = potential_aware._PotentialSpace(space).seeds(
            rows, np.ones(3, dtype=np.int64), 2, draws, started, workers.Progress(None, 1)
        )
    assert centres.buckets.tolist() == [0, 2]
    assert (labels.tolist(), num_distances) == ([-1] * 3, 3 + 1)


def begin(*_, **__):
    raise InterruptedError("the work has begun")


@pytest.mark.parametrize(
    ("num_columns", "total_weight", "begins"),
    [((1 << 14) - 1, 1, True), (1 << 14, 1, False), (1, (1 << 47) - 1, True), (1, 1 << 47, False)],
)
def test_the_largest_costs_that_fit(num_columns, total_weight, begins, monkeypatch):
    """A row has 2^16 of mass, a column differs by 2^15: costs below 2^45, weighted counts below 2^63."""
    monkeypatch.setattr(potential_aware, "k_means", begin)
    centres = np.array([[0] * num_columns, [1 << 15] * num_columns], dtype=np.uint16)
    arguments = np.array([[0]], dtype=np.uint16), np.array([total_weight]), centres, Metric.L1, 1, Effort()
    if begins:
        with pytest.raises(InterruptedError):
            cluster_potential(*arguments)
        return
    with pytest.raises(UsageError, match=rf"1 next buckets at distances up to {num_columns << 15} with a "):
        cluster_potential(*arguments)


def test_bounds_and_numbers_of_centres_fit_in_64_bits(monkeypatch):
    monkeypatch.setattr(potential_aware, "k_means", begin)
    assert potential_aware.MAX_COST << kernels.CENTRE_BITS == 1 << 63
    rows, weights = np.zeros((1 << 18, 1), dtype=np.uint16), np.ones(1 << 18, dtype=np.uint8)
    with pytest.raises(InterruptedError):
        cluster_potential(rows, weights, CENTRES, Metric.L1, (1 << 18) - 1, Effort())
    with pytest.raises(UsageError, match=r"the number of clusters must be 1 to 262,143, not 262,144"):
        cluster_potential(rows, weights, CENTRES, Metric.L1, 1 << 18, Effort())


ROWS = np.array([[0, 1], [1, 2], [2, 2]], dtype=np.uint16)
ONES = np.ones(3, dtype=np.uint16)
CENTRES = np.array([[1], [2], [3]], dtype=np.uint16)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cluster_potential(ROWS, ONES, CENTRES, Metric.L1, 4, Effort()),
            "the number of clusters must be 1 to 3, one for each row, not 4",
        ),
        (
            lambda: cluster_potential(ROWS, ONES, CENTRES[:2], Metric.L1, 2, Effort()),
            "next buckets must be 0 to 1, one for each centre, not 2",
        ),
        (
            lambda: cluster_potential(ROWS, ONES, CENTRES[:0], Metric.L1, 2, Effort()),
            "the number of next buckets must be 1 to 65,536, not 0",
        ),
        (
            lambda: cluster_potential(ROWS.astype(np.int64), ONES, CENTRES, Metric.L1, 2, Effort()),
            "next buckets must be uint16 with 1 or more columns, not int64[3, 2]",
        ),
        (
            lambda: cluster_potential(ROWS, ONES, CENTRES, Metric.L1, 2, Effort(sample_size=1)),
            "the sample must have at least 2 rows, one for each cluster, not 1",
        ),
        (
            lambda: cluster_potential(ROWS, ONES.astype(np.int64) << 48, CENTRES, Metric.L1, 2, Effort()),
            "2 next buckets at distances up to 2 with a total weight of 844424930131968 are too many: costs "
            "must stay below 2^45, and weighted counts below 2^63",
        ),
        (
            lambda: cluster_potential(
                ROWS, ONES, np.zeros(((1 << 16) + 1, 1), dtype=np.uint16), Metric.L1, 2, Effort()
            ),
            "the number of next buckets must be 1 to 65,536, not 65,537",
        ),
        (
            lambda: cluster_potential(ROWS[:, :0], ONES, CENTRES, Metric.L1, 2, Effort()),
            "next buckets must be uint16 with 1 or more columns, not uint16[3, 0]",
        ),
        (
            lambda: greedy_emd([], [1, 1], [[0, 1], [1, 0]]),
            "the row must be one or more buckets from 0 to 1, not []",
        ),
        (
            lambda: greedy_emd([0], [0, 0], [[0, 1], [1, 0]]),
            "expected M masses, none negative and some positive, and M x M ground distances, not arrays of "
            "shapes (2,) and (2, 2)",
        ),
        (
            lambda: greedy_emd([0], [1, 1], [[0, 1]]),
            "expected M masses, none negative and some positive, and M x M ground distances, not arrays of "
            "shapes (2,) and (1, 2)",
        ),
        (
            lambda: greedy_emd([0, 3], [1, 1], [[0, 1], [1, 0]]),
            "the row must be one or more buckets from 0 to 1, not [0, 3]",
        ),
        (
            lambda: greedy_emd([0], [1, -1], [[0, 1], [1, 0]]),
            "expected M masses, none negative and some positive, and M x M ground distances, not arrays of "
            "shapes (2,) and (2, 2)",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value) == message
