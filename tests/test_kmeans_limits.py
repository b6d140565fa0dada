"""k-means where chunks, blocks and lists end; what it says that it took, and what memory it will take."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from naive import abstraction_kmeans as naive

from errai import workers
from errai.abstraction.clustering import _kmeans, kmeans, lloyd, nearest
from errai.abstraction.clustering.kmeans import Metric, assign, bytes_to_train, cluster, cluster_large
from errai.abstraction.clustering.lloyd import Effort, Found, Work
from errai.errors import UsageError
from errai.workers import Progress, Workers, start_workers

both_metrics = pytest.mark.parametrize("metric", list(Metric))


@pytest.fixture
def one_thread() -> Iterator[Workers]:
    with start_workers(1) as started:
        yield started


def lines(*values: int, num_columns: int = 1) -> np.ndarray:
    """Rows on a line, all columns alike."""
    return np.repeat(np.array(values, dtype=np.uint16)[:, None], num_columns, axis=1)


def counted(
    rows: np.ndarray, centres: np.ndarray, metric: Metric, guesses: np.ndarray | None = None
) -> tuple[list[int], list[int]]:
    """Nearest centres, and how many distances and bounds it took to find them."""
    with start_workers(1) as started:
        labels, _, counts = nearest.Centres(centres, metric, started, Progress(None, 1)).assign(rows, guesses)
    return labels.tolist(), counts.tolist()


# Columns


@both_metrics
@pytest.mark.parametrize("num_columns", [1, 7, 8, 9, 16, 17, 32, 33])
def test_the_last_column_counts(metric: Metric, num_columns: int) -> None:
    """Also where the row fills its registers and no column is left for padding."""
    rows, centres = np.zeros((2, num_columns), dtype=np.uint16), np.zeros((2, num_columns), dtype=np.uint16)
    rows[:, -1], centres[:, -1] = (7, 10), (0, 7)
    labels, distances, _ = assign(rows, centres, metric, num_threads=1)
    assert labels.tolist() == [1, 1]
    assert distances.tolist() == [0, 3 if metric is Metric.L1 else 9]


@both_metrics
def test_every_column_counts_in_the_distances_of_centres(metric: Metric) -> None:
    """Four columns are added at a time."""
    columns = np.random.default_rng(1).integers(0, 100, (8, 5)).astype(np.uint16)
    keys, totals = np.empty((2, 5), dtype=np.int64), np.empty(_kmeans.CENTRES_PER_STRIP, dtype=np.int32)
    _kmeans.distance_table(columns, 2, metric is Metric.L2, totals, keys)
    table = naive.distances(columns.T, columns.T, metric.value)
    for row, centre in zip(keys, (2, 3), strict=True):
        others = [c for c in range(5) if c != centre]
        assert row[others].tolist() == [int(table[centre, c]) << 32 | c for c in others]
        assert row[centre] == np.iinfo(np.int64).max


@pytest.mark.parametrize("num_columns", [24, 25, 50])
def test_every_column_counts_in_a_lower_bound(num_columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A centre that differs in one column, whichever it is, is bounded away and never measured."""
    monkeypatch.setattr(nearest, "MAX_NEIGHBOURS", 0)
    row = np.full((1, num_columns), 9, dtype=np.uint16)
    for column in range(num_columns):
        other = row.copy()
        other[0, column] = 30
        found = counted(row, np.concatenate([row, other]), Metric.L1, np.array([0]))
        assert found == ([0], [1, 1]), column


@pytest.mark.parametrize("num_columns", [24, 25, 50])
def test_a_lower_bound_is_never_above_the_distance(num_columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A centre that is 1 away, where one at 2 is guessed."""
    monkeypatch.setattr(nearest, "MAX_NEIGHBOURS", 0)
    row = np.full((1, num_columns), 9, dtype=np.uint16)
    for column in range(num_columns):
        centres = row.repeat(2, axis=0)
        centres[:, column] += np.array([2, 1], dtype=np.uint16)
        assert counted(row, centres, Metric.L1, np.array([0])) == ([1], [2, 1]), column


def test_rows_of_few_columns_and_squares_are_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "MAX_NEIGHBOURS", 0)
    for num_columns, metric, counts in (
        (nearest.MIN_COLUMNS_TO_BOUND - 1, Metric.L1, [2, 0]),
        (nearest.MIN_COLUMNS_TO_BOUND, Metric.L1, [1, 1]),
        (nearest.MIN_COLUMNS_TO_BOUND, Metric.L2, [2, 0]),
    ):
        centres = lines(0, 9, num_columns=num_columns)
        assert counted(centres[:1], centres, metric, np.array([0])) == ([0], counts)


# The search of the nearest centre


def test_a_row_starts_where_the_row_before_it_ended() -> None:
    """Row 10 is 10 from centre 0, looks around and finds centre 1, where the next row is at once."""
    assert counted(lines(0, 10, 10), lines(0, 10), Metric.L1) == ([0, 1, 1], [1 + 2 + 1, 0])


def test_a_row_looks_around_only_where_the_list_of_its_start_is_too_short() -> None:
    """Row 8 is 8 from centre 0; its list reaches up to 100, so that centre 2 is never measured."""
    assert counted(lines(8), lines(0, 10, 100), Metric.L1) == ([1], [2, 0])


@pytest.mark.parametrize("guess", [0, 1])
def test_rounding_of_gaps_hides_no_centre(guess: int) -> None:
    """The row is in the middle of two centres, whose gap, 2 x the square root of 5, is rounded up in 32 bits.

    The same with a gap of 2^25 + 6, which has more bits than a float32 holds.
    """
    assert float(np.float32(2 * 5**0.5)) > 2 * 5**0.5 * _kmeans.SAFETY
    rows, centres = np.array([[1, 2]], dtype=np.uint16), np.array([[0, 0], [2, 4]], dtype=np.uint16)
    assert assign(rows, centres, Metric.L2, labels=np.array([guess]), num_threads=1)[0].tolist() == [0]
    gap = 2**25 + 6
    assert float(np.float32(gap)) > gap * _kmeans.SAFETY
    rows = np.full((1, 1025), 1 << 14, dtype=np.uint16)
    rows[0, 0] = 3
    centres = np.concatenate([0 * rows, 2 * rows])
    found, distances, _ = assign(rows, centres, Metric.L1, labels=np.array([guess]), num_threads=1)
    assert (found.tolist(), distances.tolist()) == ([0], [gap // 2])


@both_metrics
def test_chunks_of_rows_are_put_together(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three chunks; with the right guesses each row is measured once, after 2 x 2 distances of centres."""
    monkeypatch.setattr(nearest, "CHUNK_ROWS", 2)
    rows, centres = lines(0, 12, 11, 3, 10), lines(0, 10)
    labels, distances, num_distances = assign(
        rows, centres, metric, labels=np.array([0, 1, 1, 0, 1]), num_threads=1
    )
    assert labels.tolist() == [0, 1, 1, 0, 1]
    assert distances.tolist() == ([0, 2, 1, 3, 0] if metric is Metric.L1 else [0, 4, 1, 9, 0])
    assert num_distances == 4 + 5


def test_guesses_must_be_centres_one_for_each_row() -> None:
    rows = lines(1, 2, 3)
    for guesses in (np.array([0, -1, 0]), np.array([0, 1, 2]), np.array([0, 1])):
        with pytest.raises(UsageError, match=r"guessed labels must be 3 numbers from 0 to 1, which these of"):
            assign(rows, rows[:2], Metric.L1, labels=guesses, num_threads=1)


# What fits


@pytest.mark.parametrize(
    ("metric", "num_columns", "largest", "total_weight", "fits"),
    [
        (Metric.L2, 1, 46_340, 1, True),  # the largest square below 2^31
        (Metric.L2, 1, 46_341, 1, False),
        (Metric.L2, 2, 46_340, 1, False),
        (Metric.L1, 32_768, 65_535, 1, True),
        (Metric.L1, 32_769, 65_535, 1, False),
        (Metric.L1, 2, 1 << 11, (1 << 50) - 1, True),  # distances of 2^12
        (Metric.L1, 2, 1 << 11, 1 << 50, False),
    ],
)
def test_the_largest_values_that_fit(
    metric: Metric, num_columns: int, largest: int, total_weight: int, fits: bool
) -> None:
    rows = np.full((1, num_columns), largest, dtype=np.uint16)
    if fits:
        assert nearest.verify_rows(rows, num_columns, metric, total_weight) is rows
        return
    with pytest.raises(UsageError, match=rf"too large: {metric.name} distances must stay below 2\^31, "):
        nearest.verify_rows(rows, num_columns, metric, total_weight)


def test_weights_count_in_what_fits() -> None:
    rows, weights = lines(0, 1 << 12), np.array([1 << 49, 1 << 49])
    sentence = "values up to 4096 in 1 columns are too large: L1 distances must stay below 2^31, and their "
    for call in (
        lambda: cluster(rows, weights, 1, Metric.L1, num_threads=1),
        lambda: cluster_large(lambda a, b: rows[a:b], weights, 2, 1, 1, Metric.L1, Effort(num_threads=1)),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert str(caught.value) == f"{sentence}weighted sum below 2^62"
    assert cluster(rows, weights - 1, 1, Metric.L1, max_iterations=0, num_threads=1).cost == 2048


def test_rows_in_memory_are_all_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many; only of rows that are read is a sample taken."""
    monkeypatch.setattr(lloyd, "MIN_SAMPLE_ROWS", 3)
    monkeypatch.setattr(lloyd, "SAMPLE_ROWS_PER_CENTRE", 1)
    rows, weights = lines(0, 5, 9, 20, 30), np.ones(5, dtype=np.int64)
    found = cluster(rows, weights, 2, Metric.L1, max_iterations=0, num_threads=1)
    assert found.num_plain_distances == 2 * (5 + 5)
    read = cluster_large(
        lambda a, b: rows[a:b], weights, 5, 1, 2, Metric.L1, Effort(max_iterations=0, num_threads=1)
    )
    assert read.num_plain_distances == 2 * (3 + 3 + 5 + 5)  # the sample, and two passes over all


def test_how_many_rows_are_trained_on() -> None:
    """100 for each cluster, at least 200,000, never more than there are; or what is asked for."""
    assert [Effort().sampled(10**6, clusters) for clusters in (1, 2000, 2001, 5000, 20_000)] == [
        200_000,
        200_000,
        200_100,
        500_000,
        10**6,
    ]
    assert Effort().sampled(300, 5) == 300
    assert [Effort(sample_size=size).sampled(300, 5) for size in (5, 299, 300, 301)] == [5, 299, 300, 300]
    for size in (0, 4):
        with pytest.raises(UsageError, match=rf"at least 5 rows, one for each cluster, not {size}"):
            Effort(sample_size=size).sampled(300, 5)
    assert Effort(max_iterations=0, full_passes=0).max_iterations == 0
    assert Effort() == Effort(
        seed=0, restarts=1, max_iterations=50, sample_size=None, full_passes=1, num_threads=None
    )


@pytest.mark.parametrize(("num_clusters", "label_type"), [(1 << 16, np.uint16), ((1 << 16) + 1, np.int32)])
def test_more_than_65536_clusters_have_labels_of_32_bits(
    num_clusters: int, label_type: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listen(*arguments: Any) -> Found[np.ndarray]:
        return Found(np.empty(0), np.zeros(1, dtype=arguments[6]), 14, 3, Work(5, 10, 2))

    monkeypatch.setattr(kmeans, "k_means", listen)
    weights = np.full(70_000, 2)
    found = cluster_large(
        lambda a, b: lines(*range(a, b)), weights, 70_000, 1, num_clusters, Metric.L1, Effort()
    )
    assert found.labels.dtype == label_type
    assert (found.cost, found.iterations) == (14 / 140_000, 3)
    assert (found.num_distances, found.num_plain_distances, found.num_bounds) == (5, 10, 2)
    assert found.share_saved == 0.5


@pytest.mark.parametrize(
    ("num_columns", "num_rows", "num_clusters", "num_threads", "parts"),
    [
        # Rows in memory, and then the lists of two steps and the chunks of all threads,
        (8, 1000, 10, 1, (1000 * 44, 20 * (80 + 64 + 32), 2 * 1000 * 48)),
        (12, 1000, 10, 1, (1000 * 52, 20 * (80 + 96 + 64), 2 * 1000 * 72)),
        (50, 100_000, 9000, 2, (100_000 * 128, 18_000 * (4096 + 400 + 256), 4 * 32_768 * 244)),
        # or the tables of distances of 64 centres,
        (1, 2000, 2000, 4, (2000 * 30, 4000 * (4096 + 8 + 32), 8 * 64 * 8 * 2000)),
        # or the 20 rows for each centre that the first ones are chosen from.
        (169, 2_000_000, 100_000, 1, (2_000_000 * 366, 2_000_000 * (338 + 384 + 24))),
    ],
)
def test_memory_of_training(
    num_columns: int, num_rows: int, num_clusters: int, num_threads: int, parts: tuple[int, ...]
) -> None:
    assert bytes_to_train(num_columns, num_rows, num_clusters, num_threads) == sum(parts)


# First centres


class Draws:
    """Random numbers that are known."""

    def __init__(self, *uniforms: float) -> None:
        self.uniforms = np.array(uniforms)

    def random(self, size: int) -> np.ndarray:
        assert size == len(self.uniforms)
        return self.uniforms


@pytest.mark.parametrize(
    ("uniforms", "chosen"),
    [
        ((0.0, 0.0), [0, 5]),
        ((0.3, 0.0), [0, 5]),
        ((0.34, 0.0), [5, 0]),  # a third of the weight is that of the first row
        ((0.34, 0.6), [5, 0]),  # of masses 25 and 16
        ((0.34, 0.61), [5, 9]),
        ((1.0, 1.0), [9, 5]),  # rounding may reach the end
    ],
)
def test_first_centres_by_draws_that_are_known(
    uniforms: tuple[float, float], chosen: list[int], one_thread: Workers
) -> None:
    space: Any = kmeans._RowSpace(Metric.L1, 1)
    rows, weights = lines(0, 5, 9), np.ones(3, dtype=np.int64)
    centres, _, _ = space.seeds(rows, weights, 2, Draws(*uniforms), one_thread, Progress(None, 1))
    assert centres.ravel().tolist() == chosen


@both_metrics
@pytest.mark.parametrize("seeds_per_call", [2, 7, 64])
def test_first_centres_of_several_blocks_of_rows(
    metric: Metric, seeds_per_call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masses are summed in blocks of 512 rows, and centres are chosen a few in a call."""
    monkeypatch.setattr(kmeans, "SEEDS_PER_CALL", seeds_per_call)
    monkeypatch.setattr(lloyd, "SEEDING_ROWS_PER_CENTRE", 1000)
    num_rows = 2 * _kmeans.ROWS_PER_BLOCK + 300
    points = (np.arange(num_rows) * 377 % 4999).astype(np.uint16)[:, None]
    weights = np.arange(num_rows) % 7 + 1
    found = cluster(points, weights, 18, metric, seed=3, max_iterations=0, num_threads=1)
    uniforms = np.random.Generator(np.random.PCG64(np.random.SeedSequence(3, spawn_key=(0,)))).random(18)
    chosen = naive.seeds(points, weights, uniforms, metric.value)
    assert {row // _kmeans.ROWS_PER_BLOCK for row in chosen} == {0, 1, 2}
    np.testing.assert_array_equal(found.centres, points[chosen])


@both_metrics
def test_first_centres_are_chosen_from_some_rows_by_their_weights(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lloyd, "SEEDING_ROWS_PER_CENTRE", 3)
    points = np.random.default_rng(5).permutation(3000)[:40].astype(np.uint16)[:, None]
    weights = np.random.default_rng(6).integers(1, 100, 40)
    for seed in range(4):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(0,))))
        sample = np.sort(rng.choice(40, 12, replace=False, shuffle=False))
        chosen = naive.seeds(points[sample], weights[sample], rng.random(4), metric.value)
        found = cluster(points, weights, 4, metric, seed=seed, max_iterations=0, num_threads=1)
        np.testing.assert_array_equal(found.centres, points[sample[chosen]])
        assert found.num_plain_distances == 12 * 4 + 40 * 4


# What it took


@both_metrics
@pytest.mark.parametrize("restarts", [1, 3])
def test_distances_and_bounds_are_counted(
    metric: Metric, restarts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows, which are the two centres.

    Choosing them takes 2 distances from the first, 1 of the second from the first, and 1 of the row that
    becomes the second. Their lists take 2 x 2, and each row is measured from its own; without lists the other
    centre is bounded under L1, and measured under L2.
    """
    monkeypatch.setattr(nearest, "MAX_NEIGHBOURS", 0)
    rows = lines(0, 10, num_columns=24)
    found = cluster(rows, np.ones(2, dtype=np.int64), 2, metric, restarts=restarts, num_threads=1)
    others = (0, 2) if metric is Metric.L1 else (2, 0)
    assert found.num_distances == restarts * (4 + 4 + 2 + others[0])
    assert found.num_bounds == restarts * others[1]
    assert found.num_plain_distances == restarts * (2 * 2 + 2 * 2)
    assert found.share_saved == 1 - found.num_distances / found.num_plain_distances


def test_the_first_of_the_cheapest_starts_is_kept_and_all_are_counted(
    one_thread: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = iter(
        Found(
            np.array([[restart]]), np.array([restart]), cost, restart, Work(10**restart, 7, 2 * 10**restart)
        )
        for restart, cost in enumerate((5, 3, 3, 4))
    )
    streams = []
    monkeypatch.setattr(lloyd, "random_stream", lambda *key: streams.append(key))
    monkeypatch.setattr(lloyd, "_lloyd", lambda *_: next(runs))
    progress = Progress(None, 1000)
    best: Found[np.ndarray] = lloyd._best_of(
        kmeans._RowSpace(Metric.L1, 1),
        lines(1, 2),
        np.ones(2, dtype=np.int64),
        1,
        Effort(9, 4, 6),
        one_thread,
        progress,
    )
    assert (best.centres.tolist(), best.labels.tolist(), best.cost, best.iterations) == ([[1]], [1], 3, 1)
    assert best.work == Work(1111, 28, 2222)
    assert streams == [(9, 0), (9, 1), (9, 2), (9, 3)]
    assert progress.done == 4 * 7 * 2


def test_progress_of_several_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that ends early counts as one that took all its steps: 4 assignments of 2 rows."""
    monkeypatch.setattr(workers, "SECONDS_BETWEEN_REPORTS", 0.0)
    seen: list[tuple[int, int]] = []
    cluster(
        lines(0, 10),
        np.ones(2, dtype=np.int64),
        2,
        Metric.L1,
        restarts=2,
        max_iterations=3,
        num_threads=1,
        report=lambda *told: seen.append(told),
    )
    assert sorted(set(seen)) == [(0, 16), (2, 16), (8, 16), (10, 16), (16, 16)]
    assert seen == sorted(seen)


class StartedAt(kmeans._RowSpace):
    """Rows under L1 whose first centres are given."""

    def __init__(self, *centres: int) -> None:
        super().__init__(Metric.L1, 1)
        self.centres = lines(*centres)

    def seeds(self, rows: np.ndarray, *_: Any) -> tuple[np.ndarray, np.ndarray, int]:
        return self.centres, np.full(len(rows), -1, dtype=np.int32), 0


@pytest.mark.parametrize("chunk_rows", [1, 2, 1000])
def test_a_centre_without_rows_moves_to_the_farthest_row(
    chunk_rows: int, one_thread: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows are nearer to 3 than to 1,000; their mean is 12.4, and 50 is the farthest from 3."""
    monkeypatch.setattr(nearest, "CHUNK_ROWS", chunk_rows)

    def steps(space: StartedAt, max_iterations: int) -> Found[np.ndarray]:
        rows, weights, rng = lines(0, 2, 50, 4, 6), np.ones(5, dtype=np.int64), np.random.default_rng(0)
        return lloyd._lloyd(space, rows, weights, 2, rng, max_iterations, one_thread, Progress(None, 10))

    found = steps(StartedAt(3, 1000), 1)
    assert found.centres.ravel().tolist() == [12, 50]
    assert found.labels.tolist() == [0, 0, 1, 0, 0]
    assert (found.cost, found.iterations) == (12 + 10 + 0 + 8 + 6, 1)
    still = steps(StartedAt(3, 1000), 0)
    assert (still.centres.ravel().tolist(), still.cost, still.iterations) == (
        [3, 1000],
        3 + 1 + 47 + 1 + 3,
        0,
    )
    ended = steps(StartedAt(3, 50), 9)
    assert (ended.centres.ravel().tolist(), ended.cost, ended.iterations) == ([3, 50], 8, 0)


def test_a_centre_without_rows_moves_to_the_farthest_row_of_the_sample(
    one_thread: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Centres 3 and 1,000: the mean of all rows is 12.4, and 0 is as far from 3 as any of the sample.

    In the second pass row 6 is as near to 0 as to 12, and goes to the lower number.
    """
    monkeypatch.setattr(nearest, "CHUNK_ROWS", 2)
    rows, sample = lines(0, 2, 4, 6, 50), lines(4, 0, 6)
    trained = Found(lines(3, 1000), np.zeros(3, dtype=np.int32), 0, 7, Work(0, 100, 0))
    found = lloyd._over_all(
        kmeans._RowSpace(Metric.L1, 1),
        lambda begin, end: rows[begin:end],
        np.ones(5, dtype=np.uint16),
        sample,
        trained,
        2,
        2,
        np.uint16,
        one_thread,
        Progress(None, 10),
    )
    assert found.centres.ravel().tolist() == [12, 0]
    assert found.labels.tolist() == [1, 1, 1, 0, 0]
    assert found.labels.dtype == np.uint16
    assert (found.cost, found.iterations) == (0 + 2 + 4 + 6 + 38, 7 + 1)
    # Twice 2 x 2 distances of the centres. In the first pass each row is so near to 3 that no other centre is
    # measured; in the second each begins at 12 and is measured from both.
    assert found.work == Work(2 * 4 + 5 + 2 * 5, 100 + 2 * 5 * 2, 0)
