"""Matrix games: the naive twin, CEP's crossing points, the linear programme, refusals."""

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive import matrix as matrix_twin

import errai
from errai.errors import UsageError
from errai.solvers import _matrix, matrix
from errai.solvers.matrix import solve_matrix

# CEP, "Matrix Games": the row player wins 1 on heads-heads, 4 on tails-tails and loses 2 otherwise.
SKEWED_MATCHING_PENNIES = [[1, -2], [-2, 4]]

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="matrices of a million payoffs")


def random_matrix(seed: int, *shape: int):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (4, 1), (2, 2), (3, 5), (7, 4), (9, 9)])
@pytest.mark.parametrize("algorithm", ["cfr", "cfr+"])
@pytest.mark.parametrize("alternating", [False, True])
@pytest.mark.parametrize("weighting", ["uniform", "linear"])
def test_self_play_agrees_with_its_twin(shape, algorithm, alternating, weighting):
    payoffs = random_matrix(sum(shape), *shape)
    result = solve_matrix(payoffs, algorithm, 60, alternating=alternating, weighting=weighting)
    averages, strategies, curve = matrix_twin.self_play(
        payoffs.tolist(), algorithm == "cfr+", alternating, weighting == "linear", 60
    )
    np.testing.assert_allclose(result.exploitability, curve, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.row, averages[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.column, averages[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.current_row, strategies[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(result.current_column, strategies[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("num_rows", range(1, 14))
def test_mixtures_skip_nothing_that_counts(num_rows):
    rng = np.random.default_rng(num_rows)
    weights = rng.random(num_rows) * (rng.random(num_rows) < 0.6)
    rows = rng.standard_normal((num_rows, 5))
    mixture, support = np.empty(5), np.empty(num_rows, dtype=np.uint64)
    _matrix.mix_rows(weights, rows.ravel(), support, mixture)
    expected = matrix_twin.weighted_rows(weights.tolist(), rows.tolist())
    np.testing.assert_allclose(mixture, expected, rtol=0, atol=1e-14)


def test_matching_pennies_crosses_where_published():
    # CEP: "given a target exploitability of 10^-3, CFR first reaches the target by iteration 3,539, while
    # CFR+ reaches the same target by iteration 343".
    assert solve_matrix(SKEWED_MATCHING_PENNIES, "cfr", 4000).first_at(1e-3) == 3539
    assert solve_matrix(SKEWED_MATCHING_PENNIES, "cfr+", 4000).first_at(1e-3) == 343


def test_simultaneous_updates_cannot_be_what_was_published():
    result = solve_matrix(SKEWED_MATCHING_PENNIES, "cfr", 4000, alternating=False)
    assert result.exploitability[3539 - 1] > 0.02
    assert result.first_at(1e-3) is None


def mean_crossings(num_matrices: int, algorithm: str, iterations: int, *targets: float):
    """Where the mean curve of random 1000 x 1000 games first reaches each target, as in CEP's figure 2b."""
    curves = [
        solve_matrix(random_matrix(seed, 1000, 1000), algorithm, iterations).exploitability
        for seed in range(num_matrices)
    ]
    mean = np.mean(curves, axis=0)
    return [int(np.argmax(mean <= target)) + 1 if mean.min() <= target else None for target in targets]


@needs_jit
def test_random_matrices_cross_near_where_published():
    # CEP, figure 2b: CFR 1e-3 at 510; CFR+ 1e-3 at 83, 1e-4 at 331.
    assert mean_crossings(3, "cfr+", 400, 1e-3, 1e-4) == pytest.approx([83, 331], rel=0.15)
    assert mean_crossings(3, "cfr", 600, 1e-3) == pytest.approx([510], rel=0.15)


@needs_jit
@pytest.mark.slow
def test_ten_random_matrices_cross_where_published():
    # CEP, figure 2b, mean of 10 matrices: CFR 1e-3 at 510, not 1e-4 within 10,000; CFR+ 83, 331, 4,836.
    at_1e3, at_1e4 = mean_crossings(10, "cfr", 10_000, 1e-3, 1e-4)
    assert at_1e3 == pytest.approx(510, rel=0.15)
    assert at_1e4 is None
    assert mean_crossings(10, "cfr+", 5600, 1e-3, 1e-4, 1e-6) == pytest.approx([83, 331, 4836], rel=0.15)


def test_small_random_matrices_are_faster_with_plus():
    for seed in range(3):
        payoffs = random_matrix(seed, 30, 30)
        plus, plain = (solve_matrix(payoffs, algorithm, 500) for algorithm in ("cfr+", "cfr"))
        assert plus.exploitability[-1] < plain.exploitability[-1] / 3


@pytest.mark.parametrize("seed", range(20))
def test_lp_and_self_play_agree(seed):
    rows, columns = np.random.default_rng(seed).integers(1, 12, size=2)
    payoffs = random_matrix(seed, rows, columns)
    exact = solve_matrix(payoffs, "lp")
    assert exact.exploitability.shape == (1,)
    assert matrix_twin.exploitability(payoffs.tolist(), exact.row, exact.column) < 1e-9
    learnt = solve_matrix(payoffs, "cfr+", 2000)
    assert learnt.exploitability[-1] < 1e-3
    # In a profile exploitable for e in the mean, each player is within 2 e of the value.
    assert abs(learnt.value - exact.value) <= 2 * learnt.exploitability[-1] + 1e-9


def test_lp_of_known_games():
    pennies = solve_matrix(SKEWED_MATCHING_PENNIES, "lp")
    np.testing.assert_allclose(pennies.row, [2 / 3, 1 / 3], atol=1e-9)
    np.testing.assert_allclose(pennies.column, [2 / 3, 1 / 3], atol=1e-9)
    assert pennies.value == pytest.approx(0, abs=1e-9)
    saddle = solve_matrix([[3, 2, 5], [1, 0, 9]], "lp")
    assert saddle.value == pytest.approx(2)
    np.testing.assert_allclose(saddle.row, [1, 0], atol=1e-9)
    np.testing.assert_allclose(saddle.column, [0, 1, 0], atol=1e-9)
    assert solve_matrix(np.zeros((2, 3)), "lp").value == 0


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_lp_does_not_depend_on_the_unit(unit):
    payoffs = random_matrix(1, 8, 6)
    np.testing.assert_allclose(solve_matrix(payoffs * unit, "lp").row, solve_matrix(payoffs, "lp").row)


def test_kuhn_as_a_matrix():
    payoffs = matrix_twin.kuhn_normal_form()
    assert solve_matrix(payoffs, "lp").value == pytest.approx(-1 / 18, abs=1e-9)  # Kuhn 1950
    learnt = solve_matrix(payoffs, "cfr+", 300)
    assert abs(learnt.value + 1 / 18) <= 2 * learnt.exploitability[-1] < 0.02


@pytest.mark.parametrize("algorithm", ["cfr", "cfr+"])
def test_the_last_exploitability_is_that_of_the_result(algorithm):
    payoffs = random_matrix(3, 6, 8)
    result = solve_matrix(payoffs, algorithm, 100)
    assert result.exploitability.shape == (100,)
    direct = matrix_twin.exploitability(payoffs.tolist(), result.row, result.column)
    assert result.exploitability[-1] == pytest.approx(direct, abs=1e-12)
    assert result.value == pytest.approx(float(result.row @ payoffs @ result.column))


def test_pieces_of_work_do_not_matter(monkeypatch):
    payoffs = random_matrix(4, 5, 5)
    whole = solve_matrix(payoffs, "cfr+", 37)
    monkeypatch.setattr(matrix, "WORK_A_CALL", 5 * payoffs.size)
    pieces = solve_matrix(payoffs, "cfr+", 37)
    np.testing.assert_array_equal(whole.exploitability, pieces.exploitability)
    np.testing.assert_array_equal(whole.current_row, pieces.current_row)


def test_fewer_iterations_are_the_beginning_of_more():
    payoffs = random_matrix(5, 4, 6)
    short, long = solve_matrix(payoffs, iterations=10), solve_matrix(payoffs, iterations=50)
    np.testing.assert_array_equal(short.exploitability, long.exploitability[:10])


def test_the_promised_name():
    assert errai.solve_matrix is solve_matrix
    assert errai.solve_matrix([[0, 1], [1, 0]]).exploitability.shape == (1000,)


def test_payoffs_are_left_alone():
    payoffs = random_matrix(6, 3, 3)
    before = payoffs.copy()
    for algorithm in matrix.ALGORITHMS:
        solve_matrix(payoffs, algorithm, 10)
    np.testing.assert_array_equal(payoffs, before)


@pytest.mark.parametrize(
    ("payoffs", "options", "message"),
    [
        ([[1, 2], [3]], {}, "payoffs are not a table of numbers"),
        ([["a"]], {}, "payoffs are not a table of numbers"),
        ([1, 2], {}, r"payoffs of shape \(2,\) are not a matrix"),
        ([[]], {}, r"payoffs of shape \(1, 0\) are not a matrix"),
        ([[1, 2], [3, float("nan")]], {}, "the payoff in row 1, column 1 must be between .*, not nan"),
        ([[1, float("inf")]], {}, "the payoff in row 0, column 1 must be between .*, not inf"),
        ([[1e200]], {}, r"the payoff in row 0, column 0 must be between .*, not 1e\+200"),
        ([[1]], {"algorithm": "magic"}, "unknown algorithm 'magic': expected 'cfr', 'cfr\\+' or 'lp'"),
        ([[1]], {"iterations": 0}, "iterations must be 1 or more, not 0"),
        ([[1]], {"weighting": "cubic"}, "unknown weighting 'cubic': expected 'uniform' or 'linear'"),
        ([[1]], {"algorithm": "lp", "weighting": "linear"}, "'lp' has no iterations"),
        ([[1]], {"algorithm": "lp", "alternating": True}, "'lp' has no iterations"),
    ],
)
def test_refusals(payoffs, options, message):
    with pytest.raises(UsageError, match=message):
        solve_matrix(payoffs, **options)
