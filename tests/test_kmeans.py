"""k-means with pruning against plain k-means++ and plain Lloyd, and against known optima."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import WITHOUT_JIT
from naive import abstraction_kmeans as naive
from scipy.stats import wasserstein_distance

from errai import workers
from errai.abstraction.clustering import _kmeans, kmeans, lloyd, nearest
from errai.abstraction.clustering.kmeans import Clustering, Metric, assign, cluster, cluster_large
from errai.abstraction.clustering.lloyd import Effort
from errai.errors import UsageError

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="too many distances without compiled kernels")
both_metrics = pytest.mark.parametrize("metric", list(Metric))

FEW = 5 if WITHOUT_JIT else 60


def histograms(num_rows: int, seed: int, num_bins: int = 50, total: int = 1840) -> np.ndarray:
    """Cumulative histograms of random mixtures of three humps."""
    rng = np.random.default_rng(seed)
    middle = rng.beta(2, 2, (num_rows, 1, 1)) + rng.normal(0, 0.2, (num_rows, 3, 1))
    width = 0.01 + 0.08 * rng.random((num_rows, 3, 1))
    share = rng.dirichlet([1, 1, 1], num_rows)[:, :, None]
    bins = (np.arange(num_bins) + 0.5) / num_bins
    heights: np.ndarray = np.rint(total * (share / (1 + np.exp((middle - bins) / width))).sum(axis=1))
    return heights.astype(np.uint16)


def strengths(num_rows: int, seed: int) -> np.ndarray:
    """Eight correlated columns of 0..3500, such as strengths against opponent clusters."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(0, 1, (num_rows, 4)) * [1.0, 0.4, 0.25, 0.12]
    mixed = hidden @ np.vstack([np.linspace(1.2, 0.7, 8), rng.normal(0, 0.3, (3, 8))])
    return np.rint(3500 / (1 + np.exp(-mixed))).astype(np.uint16)


def realistic(metric: Metric, num_rows: int, seed: int) -> np.ndarray:
    return histograms(num_rows, seed) if metric is Metric.L1 else strengths(num_rows, seed)


def first_centres(
    points: np.ndarray, weights, num_clusters: int, metric: Metric, seed: int, restart: int = 0
) -> np.ndarray:
    """The centres before the first step; surplus ones repeat the first, as documented."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(restart,))))
    sample = np.arange(len(points))
    if len(points) > lloyd.SEEDING_ROWS_PER_CENTRE * num_clusters:
        num_to_seed = lloyd.SEEDING_ROWS_PER_CENTRE * num_clusters
        sample = np.sort(rng.choice(len(points), num_to_seed, replace=False, shuffle=False))
    chosen = naive.seeds(points[sample], weights[sample], rng.random(num_clusters), metric.value)
    return points[sample[chosen + [chosen[0]] * (num_clusters - len(chosen))]]


def assert_same(a: Clustering, b: Clustering) -> None:
    assert a.centres.tobytes() == b.centres.tobytes()
    assert a.labels.tobytes() == b.labels.tobytes()
    assert (a.cost, a.iterations, a.num_distances) == (b.cost, b.iterations, b.num_distances)


@st.composite
def small_problems(draw):
    num_rows = draw(st.integers(1, 30))
    num_columns = draw(st.integers(1, 30))
    largest = draw(st.sampled_from([1, 3, 50, 3000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = rng.integers(0, largest + 1, (num_rows, num_columns)).astype(np.uint16)
    weights = rng.integers(1, 100, num_rows).astype(np.uint16)
    return points, weights, draw(st.integers(1, num_rows)), draw(st.sampled_from(Metric))


@given(small_problems(), st.integers(0, 100))
@settings(max_examples=FEW, deadline=None)
def test_as_plain_k_means(problem, seed):
    points, weights, num_clusters, metric = problem
    found = cluster(points, weights, num_clusters, metric, seed=seed, max_iterations=8, num_threads=1)
    start = first_centres(points, weights, num_clusters, metric, seed)
    centres, labels, cost, iterations = naive.lloyd(points, weights, start, metric.value, 8)
    np.testing.assert_array_equal(found.centres, centres)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.cost == pytest.approx(cost, rel=1e-15)
    assert found.iterations == iterations


@given(small_problems(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=FEW, deadline=None)
def test_assign_as_plain_for_any_centres_and_guesses(problem, seed, guess):
    points, _, _, metric = problem
    rng = np.random.default_rng(seed)
    centres = rng.choice(points, rng.integers(1, 40)) + rng.integers(0, 2, points.shape[1]).astype(np.uint16)
    guesses = rng.integers(0, len(centres), len(points)) if guess else None
    labels, distances, num_distances = assign(points, centres, metric, labels=guesses, num_threads=1)
    plain_labels, plain_distances = naive.assign(points, centres, metric.value)
    np.testing.assert_array_equal(labels, plain_labels)
    np.testing.assert_array_equal(distances, plain_distances)
    assert (labels.dtype, distances.dtype) == (np.int32, np.uint32)
    assert num_distances >= len(points)


SPACES = [(Metric.L1, 1), (Metric.L1, nearest.MIN_COLUMNS_TO_BOUND), (Metric.L2, 1)]


def lines(*values: int, num_columns: int = 1) -> np.ndarray:
    """Rows on a line, all columns alike; under L1 the lower bound of a distance is then the distance."""
    return np.repeat(np.array(values, dtype=np.uint16)[:, None], num_columns, axis=1)


@pytest.mark.parametrize(("metric", "num_columns"), SPACES)
@pytest.mark.parametrize("num_neighbours", [0, 512])
def test_the_lowest_of_equally_near_centres(metric, num_columns, num_neighbours, monkeypatch):
    """A row in the middle of two centres, whichever is guessed: in the walk of the list, and among all."""
    monkeypatch.setattr(nearest, "MAX_NEIGHBOURS", num_neighbours)
    middle, centres = lines(5, num_columns=num_columns), lines(4, 6, num_columns=num_columns)
    for guess in (0, 1):
        for pair in (centres, centres[::-1]):
            assert assign(middle, pair, metric, labels=np.array([guess]), num_threads=1)[0].tolist() == [0]
    assert assign(middle, centres, metric, num_threads=1)[0].tolist() == [0]


@pytest.mark.parametrize(("metric", "num_columns"), SPACES)
def test_the_lowest_of_equally_near_centres_where_rows_look_around(metric, num_columns, monkeypatch):
    """The row before left centre 3 as the start; its short list does not reach, so entries are tried."""
    monkeypatch.setattr(nearest, "MAX_NEIGHBOURS", 1)
    rows, centres = lines(6, 5, num_columns=num_columns), lines(100, 101, 4, 6, num_columns=num_columns)
    assert assign(rows, centres, metric, num_threads=1)[0].tolist() == [3, 2]


@pytest.mark.parametrize(("metric", "num_columns"), SPACES)
def test_a_centre_twice_as_far_from_the_guess_as_the_row_is_looked_at(metric, num_columns):
    """The guess is 500 from the row, the nearest centre 499 beyond it: a gap of just less than 2 radii."""
    rows, centres = lines(500, num_columns=num_columns), lines(0, 999, num_columns=num_columns)
    labels, distances, _ = assign(rows, centres, metric, labels=np.array([0]), num_threads=1)
    assert labels.tolist() == [1]
    assert distances.tolist() == [499 * num_columns if metric is Metric.L1 else 499**2]


@both_metrics
def test_a_new_centre_twice_as_far_from_the_old_as_the_row_is_looked_at(metric):
    """k-means++ prunes by twice the distance, which is four times the square of it."""
    squared = metric is Metric.L2
    points = nearest.padded_rows(lines(0, 500, 999))
    weights, distances = np.ones(3, dtype=np.int64), np.empty(3, dtype=np.int32)
    _kmeans.start_seeding(points, 0, squared, distances)
    masses, labels = np.empty(1, dtype=np.int64), np.zeros(3, dtype=np.int32)
    _kmeans.sum_masses(weights, distances, squared, 0, masses)
    assert masses.tolist() == [500**2 + 999**2]
    chosen, uniforms, gaps = np.zeros(2, dtype=np.int64), np.array([0.0, 0.9]), np.empty(2, dtype=np.int64)
    _kmeans.seed_centres(points, weights, uniforms, 1, 2, squared, 0, chosen, labels, distances, masses, gaps)
    assert chosen.tolist() == [0, 2]
    assert labels.tolist() == [0, 1, 1]
    assert distances.tolist() == [0, 499**2 if squared else 499, 0]
    assert masses.tolist() == [499**2]


@pytest.mark.parametrize(
    ("metric", "far", "weight"), [(Metric.L1, 60_000, 1 << 33), (Metric.L2, 40_000, 800_000_000)]
)
def test_a_row_next_to_a_centre_is_chosen_where_masses_are_scaled_down(metric, far, weight):
    """Weight times squared distance would not fit, so bits are dropped: of a distance of 1 none is left."""
    rows, weights = lines(0, 1, far), np.full(3, weight)
    assert (3 * weight * far**2).bit_length() > 61
    for seed in range(4):
        found = cluster(rows, weights, 3, metric, seed=seed, max_iterations=0, num_threads=1)
        assert sorted(found.centres[:, 0].tolist()) == [0, 1, far]
        assert found.cost == 0


@both_metrics
def test_distances_of_many_centres_are_told_with_their_numbers(metric):
    """Of centres that are measured strip by strip."""
    num_centres = 2 * _kmeans.CENTRES_PER_STRIP + 3
    columns = np.zeros((4, num_centres), dtype=np.uint16)
    columns[0] = np.arange(num_centres) * 7 % 999
    keys = np.empty((2, num_centres), dtype=np.int64)
    begin = _kmeans.CENTRES_PER_STRIP + 5
    squared = metric is Metric.L2
    totals = np.empty(_kmeans.CENTRES_PER_STRIP, dtype=np.int32)
    _kmeans.distance_table(columns, begin, squared, totals, keys)
    for row, centre in zip(keys, (begin, begin + 1), strict=True):
        gaps = np.abs(columns[0].astype(np.int64) - int(columns[0, centre]))
        expected = (gaps**2 if squared else gaps) << 32 | np.arange(num_centres)
        expected[centre] = np.iinfo(np.int64).max
        assert np.array_equal(row, expected)


@needs_jit
@both_metrics
def test_as_plain_lloyd_on_a_sample(metric):
    """The steps of 20,000 rows and 200 centres, and most distances never computed."""
    points = realistic(metric, 20_000, 1)
    weights = np.random.default_rng(2).integers(1, 24, len(points)).astype(np.uint16)
    start = cluster(points, weights, 200, metric, seed=3, max_iterations=0)
    found = cluster(points, weights, 200, metric, seed=3, max_iterations=5)
    centres = start.centres
    for _ in range(5):
        labels, _ = naive.assign(points, centres, metric.value)
        totals = np.bincount(labels, weights, minlength=200).astype(np.int64)[:, None]
        sums = np.zeros((200, points.shape[1]), dtype=np.int64)
        np.add.at(sums, labels, points.astype(np.int64) * weights[:, None])
        assert totals.min() > 0
        centres = ((2 * sums + totals) // (2 * totals)).astype(np.uint16)
    labels, distances = naive.assign(points, centres, metric.value)
    np.testing.assert_array_equal(found.centres, centres)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.cost == pytest.approx(np.average(distances, weights=weights), rel=1e-12)
    assert found.num_plain_distances == 4_000 * 200 + 6 * 20_000 * 200
    assert found.share_saved > 0.8


@needs_jit
@both_metrics
def test_short_neighbour_lists_change_nothing(metric, monkeypatch):
    """Lists that end too early fall back to all centres."""
    points = realistic(metric, 3_000, 4)
    centres = realistic(metric, 300, 5)
    labels, distances = naive.assign(points, centres, metric.value)
    for length in (0, 1, 7):
        monkeypatch.setattr(nearest, "MAX_NEIGHBOURS", length)
        found, measured, _ = assign(points, centres, metric)
        np.testing.assert_array_equal(found, labels)
        np.testing.assert_array_equal(measured, distances)


@needs_jit
@both_metrics
def test_same_bytes_on_any_number_of_threads(metric, monkeypatch):
    monkeypatch.setattr(nearest, "CHUNK_ROWS", 1_000)
    points = realistic(metric, 12_345, 6)
    weights = np.arange(len(points), dtype=np.int64) % 7 + 1

    def run(num_threads: int) -> list[Clustering]:
        small = cluster(
            points, weights, 50, metric, seed=1, restarts=2, max_iterations=6, num_threads=num_threads
        )
        large = cluster_large(
            lambda begin, end: points[begin:end],
            weights,
            len(points),
            points.shape[1],
            50,
            metric,
            Effort(sample_size=3_000, num_threads=num_threads),
        )
        return [small, large]

    for one, other in zip(run(1), run(2), strict=True):
        assert_same(one, other)
    for one, other in zip(run(1), run(3), strict=True):
        assert_same(one, other)


def test_seed_and_restarts():
    points = strengths(400, 7)
    weights = np.ones(400, dtype=np.uint16)
    runs = [cluster(points, weights, 6, Metric.L2, seed=seed, num_threads=1) for seed in (0, 0, 1)]
    assert_same(runs[0], runs[1])
    assert runs[0].centres.tobytes() != runs[2].centres.tobytes()
    several = cluster(points, weights, 6, Metric.L2, seed=0, restarts=4, num_threads=1)
    assert several.cost <= runs[0].cost
    assert several.num_distances > runs[0].num_distances


def test_each_restart_starts_elsewhere_and_the_cheapest_is_kept():
    """Three starts of one seed, each as its own naive run; the second, which is the cheapest, is returned."""
    points, weights = strengths(60, 7), np.ones(60, dtype=np.int64)
    runs = []
    for restart in range(3):
        start = first_centres(points, weights, 5, Metric.L2, 1, restart)
        runs.append(naive.lloyd(points, weights, start, Metric.L2.value, 50))
    costs = [run[2] for run in runs]
    assert len(set(costs)) == 3
    assert costs.index(min(costs)) == 1
    found = cluster(points, weights, 5, Metric.L2, seed=1, restarts=3, num_threads=1)
    np.testing.assert_array_equal(found.centres, runs[1][0])
    assert found.iterations == runs[1][3]


def test_optimum_on_a_line():
    """Three clumps: the optimum is known, and several starts find it."""
    points = np.array([[10], [11], [12], [500], [502], [504], [3000], [3001]], dtype=np.uint16)
    weights = np.array([1, 2, 1, 1, 1, 1, 3, 3])
    found = cluster(points, weights, 3, Metric.L2, restarts=4, num_threads=1)
    assert sorted(found.centres.ravel()) == [11, 502, 3001]  # 3000.5 rounds up
    assert found.cost == pytest.approx((2 + 8 + 3) / 13)
    assert len({*found.labels[:3]}) == len({*found.labels[3:6]}) == len({*found.labels[6:]}) == 1


def test_optimum_of_a_grid_of_squares():
    """Corners of nine far squares: the centres are the middles, each corner at squared distance 2."""
    middles = np.array([(x, y) for x in (100, 900, 1700) for y in (100, 900, 1700)])
    corners = np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
    points = (middles[:, None] + corners).reshape(-1, 2).astype(np.uint16)
    found = cluster(points, np.ones(36, dtype=np.int64), 9, Metric.L2, restarts=8, num_threads=1)
    assert sorted(map(tuple, found.centres.tolist())) == sorted(map(tuple, middles.tolist()))
    assert found.cost == 2


def test_l1_of_cumulative_histograms_is_the_earth_movers_distance():
    rng = np.random.default_rng(8)
    counts = rng.multinomial(46, rng.dirichlet(np.ones(50), 20))
    cumulative = counts.cumsum(axis=1).astype(np.uint16)
    bins = np.arange(50)
    for a, b in zip(range(10), range(10, 20), strict=True):
        distance = assign(cumulative[a : a + 1], cumulative[b : b + 1], Metric.L1, num_threads=1)[1][0]
        assert distance / 46 == pytest.approx(wasserstein_distance(bins, bins, counts[a], counts[b]))


@both_metrics
def test_one_cluster_and_as_many_as_rows(metric):
    points = np.random.default_rng(9).permutation(3000)[:40].reshape(20, 2).astype(np.uint16)
    weights = np.arange(1, 21)
    one = cluster(points, weights, 1, metric, num_threads=1)
    mean = (points.astype(np.int64) * weights[:, None]).sum(axis=0) / weights.sum()
    np.testing.assert_array_equal(one.centres[0], np.floor(mean + 0.5))
    assert set(one.labels) == {0}
    every = cluster(points, weights, 20, metric, num_threads=1)
    assert sorted(every.labels) == list(range(20))
    assert every.cost == 0


@both_metrics
def test_fewer_different_rows_than_clusters(metric):
    points = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [3, 4]], dtype=np.uint16)
    found = cluster(points, np.ones(5, dtype=np.uint16), 5, metric, num_threads=1)
    assert found.cost == 0
    assert len(set(found.labels)) == 3
    np.testing.assert_array_equal(found.centres[found.labels], points)


def test_empty_centres_move_to_the_farthest_rows():
    points = np.array([[0], [1], [2], [90], [90], [50], [2]], dtype=np.uint16)
    distances = np.array([0, 1, 2, 40, 40, 40, 2], dtype=np.int32)
    assert lloyd.farthest_rows(points, distances, 9).ravel().tolist() == [90, 50, 2, 1]
    assert lloyd.farthest_rows(points, distances, 1).ravel().tolist() == [90]
    sums = np.array([[3], [0], [0]])
    moved = kmeans._moved_centres(
        np.array([[7], [8], [9]], dtype=np.uint16),
        sums,
        np.array([2, 0, 0]),
        lambda wanted: lloyd.farthest_rows(points, distances, wanted)[:1],
    )
    assert moved.ravel().tolist() == [2, 90, 9]  # 1.5 rounds up; one row for two empty centres


@needs_jit
@both_metrics
def test_large_is_the_same_as_small_where_the_sample_is_all(metric):
    points = realistic(metric, 2_000, 10)
    weights = np.ones(2_000, dtype=np.uint16)
    small = cluster(points, weights, 30, metric, seed=5)
    large = cluster_large(
        lambda begin, end: points[begin:end],
        weights,
        len(points),
        points.shape[1],
        30,
        metric,
        Effort(seed=5),
    )
    np.testing.assert_array_equal(small.labels, large.labels)
    np.testing.assert_array_equal(small.centres, large.centres)
    assert small.cost == large.cost
    assert large.labels.dtype == np.uint16


@needs_jit
@both_metrics
def test_large_from_a_memory_map(metric, tmp_path, monkeypatch):
    """Labels are nearest, centres the means of a pass over all rows, no read is larger than a chunk."""
    monkeypatch.setattr(nearest, "CHUNK_ROWS", 4_096)
    points = realistic(metric, 15_000, 11)
    weights = np.random.default_rng(12).integers(1, 24, len(points)).astype(np.uint16)
    file = tmp_path / "rows"
    points.tofile(file)
    mapped = np.memmap(file, dtype=np.uint16, mode="r", shape=points.shape)
    sizes = []

    def read(begin: int, end: int) -> np.ndarray:
        sizes.append(end - begin)
        return mapped[begin:end]

    arguments = (read, weights, len(points), points.shape[1], 60, metric)
    before = cluster_large(*arguments, Effort(sample_size=5_000, full_passes=0))
    found = cluster_large(*arguments, Effort(sample_size=5_000, full_passes=2))
    assert max(sizes) == 4_096
    centres = before.centres
    for _ in range(2):
        labels, distances = naive.assign(points, centres, metric.value)
        centres = naive.move(points, weights, centres, labels, distances)
    labels, distances = naive.assign(points, centres, metric.value)
    np.testing.assert_array_equal(found.centres, centres)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.cost == pytest.approx(np.average(distances, weights=weights), rel=1e-12)
    assert found.cost < before.cost
    assert found.share_saved > 0


@needs_jit
def test_report_comes_from_the_caller_and_its_exceptions_pass(monkeypatch):
    monkeypatch.setattr(workers, "SECONDS_BETWEEN_REPORTS", 0.0)
    points = strengths(20_000, 13)
    weights = np.ones(len(points), dtype=np.uint16)
    seen: list[tuple[int, int]] = []
    threads = set()

    def report(done: int, total: int) -> None:
        seen.append((done, total))
        threads.add(threading.current_thread())

    cluster(points, weights, 100, Metric.L2, max_iterations=3, report=report)
    assert threads == {threading.current_thread()}
    assert seen[-1] == (80_000, 80_000)
    assert seen == sorted(seen)
    assert len(seen) > 4

    def interrupt(done: int, total: int) -> None:
        if done > 20_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cluster(points, weights, 100, Metric.L2, max_iterations=3, report=interrupt)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("errai-rows")]


POINTS = np.arange(20, dtype=np.uint16).reshape(10, 2)
ONES = np.ones(10, dtype=np.uint16)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cluster(POINTS, ONES, 11, Metric.L1),
            "the number of clusters must be 1 to 10, one for each row, not 11",
        ),
        (
            lambda: cluster(POINTS, ONES, 0, Metric.L1),
            "the number of clusters must be 1 to 10, one for each row, not 0",
        ),
        (lambda: cluster(POINTS, ONES, 2, Metric.L1, restarts=0), "restarts must be 1 or more, not 0"),
        (
            lambda: cluster(POINTS, ONES, 2, Metric.L1, max_iterations=-1),
            "max_iterations must be 0 or more, not -1",
        ),
        (
            lambda: cluster(POINTS, ONES, 2, Metric.L1, num_threads=0),
            "the number of threads must be 1 or more, not 0",
        ),
        (lambda: cluster(POINTS, ONES, 2, Metric.L1, seed=-1), "seed must be 0 or more, not -1"),
        (
            lambda: cluster(POINTS, ONES[1:], 2, Metric.L1),
            "weights must be 10 integers, one for each row, not uint16[9]",
        ),
        (
            lambda: cluster(POINTS, ONES * 0.5, 2, Metric.L1),
            "weights must be 10 integers, one for each row, not float64[10]",
        ),
        (lambda: cluster(POINTS, ONES * 0, 2, Metric.L1), "weights must be 1 or more, not 0"),
        (
            lambda: cluster(POINTS.astype(np.int64), ONES, 2, Metric.L1),
            "rows must be uint16 with 2 columns, not int64[10, 2]",
        ),
        (
            lambda: cluster(POINTS + np.uint16(60_000), ONES, 2, Metric.L2),
            "values up to 60019 in 2 columns are too large: L2 distances must stay below 2^31, and their "
            "weighted sum below 2^62",
        ),
        (
            lambda: assign(POINTS, POINTS[:, :1], Metric.L1),
            "rows must be uint16 with 1 columns, not uint16[10, 2]",
        ),
        (lambda: assign(POINTS, POINTS[:0], Metric.L1), "the number of centres must be 1 or more, not 0"),
        (
            lambda: assign(POINTS, POINTS[:3], Metric.L1, labels=np.full(10, 3)),
            "guessed labels must be 10 numbers from 0 to 2, which these of shape (10,) are not",
        ),
        (
            lambda: cluster_large(lambda a, b: POINTS[a:b], ONES, 10, 2, 5, Metric.L1, Effort(sample_size=4)),
            "the sample must have at least 5 rows, one for each cluster, not 4",
        ),
        (
            lambda: cluster_large(lambda a, b: POINTS[a:b], ONES, 10, 3, 5, Metric.L1, Effort()),
            "rows must be uint16 with 3 columns, not uint16[10, 2]",
        ),
        (
            lambda: cluster_large(
                lambda a, b: POINTS[a:b], ONES, 10, 2, 5, Metric.L1, Effort(full_passes=-1)
            ),
            "full_passes must be 0 or more, not -1",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value) == message
