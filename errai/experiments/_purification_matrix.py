"""Kernels of random matrix games: the simplex method, and purification. Arrays in, arrays out."""

import numpy as np

from errai.kernels import kernel

ROUNDING = 1e-9
"""Probabilities that differ by less are equal, and share what is purified."""


@kernel()
def solve_positive_game(
    payoffs,  # IN   float64[R, C]  what the row player wins, every number above 0
    tableau,  # TMP  float64[R + 1, C + R + 1]
    basis,  # TMP  int64[R]
    row,  # OUT  float64[R]  the row player's equilibrium strategy
    column,  # OUT  float64[C]  the column player's
):
    """Solve a matrix game by the simplex method; return its value.

    Maximise the sum of y under payoffs y <= 1 and y >= 0: y is the column player's strategy divided by the
    value, and the prices of the inequalities are the row player's, likewise. The variable and the
    inequality of least number move (Bland's rule), so that the method ends.
    """
    num_rows, num_columns = payoffs.shape
    last = num_columns + num_rows
    tableau[:] = 0.0
    for i in range(num_rows):
        for j in range(num_columns):
            tableau[i, j] = payoffs[i, j]
        tableau[i, num_columns + i] = 1.0
        tableau[i, last] = 1.0
        basis[i] = num_columns + i
    for j in range(num_columns):
        tableau[num_rows, j] = -1.0
    while True:
        entering = -1
        for j in range(last):
            if tableau[num_rows, j] < -1e-13:
                entering = j
                break
        if entering < 0:
            break
        leaving = -1
        least = np.inf
        for i in range(num_rows):
            if tableau[i, entering] > 1e-13:
                ratio = tableau[i, last] / tableau[i, entering]
                if ratio < least or (ratio == least and basis[i] < basis[leaving]):
                    least = ratio
                    leaving = i
        if leaving < 0:  # rounding: in a game of positive payoffs some inequality always binds
            break
        pivot = tableau[leaving, entering]
        for k in range(last + 1):
            tableau[leaving, k] /= pivot
        for i in range(num_rows + 1):
            if i != leaving:
                factor = tableau[i, entering]
                if factor != 0.0:
                    for k in range(last + 1):
                        tableau[i, k] -= factor * tableau[leaving, k]
        basis[leaving] = entering
    value = 1.0 / tableau[num_rows, last]
    column[:] = 0.0
    for i in range(num_rows):
        if basis[i] < num_columns:
            column[basis[i]] = tableau[i, last] * value
        row[i] = max(tableau[num_rows, num_columns + i], 0.0) * value
    return value


@kernel()
def play_abstractions(
    games,  # IN   float64[G, N, N]  what the row player wins, between -1 and 1
    purified,  # OUT  float64[G]  what the purified abstract strategy wins against the full game's equilibrium
    unpurified,  # OUT  float64[G]  what the abstract strategy itself wins
):
    """Solve each game with and without its last row and column; play the small game's row strategy in it."""
    num_games, size, _ = games.shape
    shifted = np.empty((size, size))
    small = np.empty((size - 1, size - 1))
    full_tableau = np.empty((size + 1, 2 * size + 1))
    small_tableau = np.empty((size, 2 * size - 1))
    basis = np.empty(size, np.int64)
    full_row, full_column = np.empty(size), np.empty(size)
    row, column = np.empty(size - 1), np.empty(size - 1)
    for g in range(num_games):
        for i in range(size):
            for j in range(size):
                shifted[i, j] = games[g, i, j] + 2.0
                if i < size - 1 and j < size - 1:
                    small[i, j] = shifted[i, j]
        solve_positive_game(shifted, full_tableau, basis, full_row, full_column)
        solve_positive_game(small, small_tableau, basis[: size - 1], row, column)
        most = row.max()
        total, num_most, total_of_most = 0.0, 0, 0.0
        for i in range(size - 1):
            won = 0.0
            for j in range(size):
                won += games[g, i, j] * full_column[j]
            total += row[i] * won
            if row[i] >= most - ROUNDING:
                num_most += 1
                total_of_most += won
        purified[g] = total_of_most / num_most
        unpurified[g] = total
