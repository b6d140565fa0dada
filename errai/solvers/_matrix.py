"""Kernels of regret matching in matrix games. Arrays in, arrays out."""

import numpy as np

from errai.kernels import kernel

U = np.uint64


@kernel()
def mix_rows(
    weights,  # IN   float64[m]
    rows,  # IN   float64[m * n]  flat, row by row
    support,  # TMP  uint64[m]
    mixture,  # OUT  float64[n]
):
    """Add the rows, each times its weight.

    Rows of weight zero, about half of them once regret matching has settled, are not read; four rows go
    side by side, so that the sums are loaded and stored a quarter as often.
    """
    width = U(len(mixture))
    num_played = 0
    for i in range(len(weights)):
        if weights[i] != 0:
            support[num_played] = U(i)
            num_played += 1
    for k in range(width):
        mixture[k] = 0
    in_fours = num_played - num_played % 4
    for p in range(0, in_fours, 4):
        i0, i1, i2, i3 = support[p], support[p + 1], support[p + 2], support[p + 3]
        w0, w1, w2, w3 = weights[i0], weights[i1], weights[i2], weights[i3]
        r0, r1, r2, r3 = i0 * width, i1 * width, i2 * width, i3 * width
        for k in range(width):
            mixture[k] += w0 * rows[r0 + k] + w1 * rows[r1 + k] + w2 * rows[r2 + k] + w3 * rows[r3 + k]
    for p in range(in_fours, num_played):
        i = support[p]
        w = weights[i]
        r = i * width
        for k in range(width):
            mixture[k] += w * rows[r + k]


@kernel()
def _regret_matching(
    value,  # IN   float64[n]  what each action wins now
    is_plus,  # IN   bool  forget negative regret
    regret,  # INOUT float64[n]
    strategy,  # INOUT float64[n]  what was played, then what is played next
):
    """Add the regret of not having played each action; play in proportion to its positive part."""
    mean = 0.0
    for a in range(len(value)):
        mean += strategy[a] * value[a]
    total = 0.0
    for a in range(len(value)):
        new = regret[a] + value[a] - mean
        regret[a] = max(new, 0.0) if is_plus else new
        strategy[a] = max(new, 0.0)
        total += strategy[a]
    uniform = 1.0 / len(value)
    for a in range(len(value)):
        strategy[a] = strategy[a] / total if total > 0 else uniform


@kernel()
def _face(
    weight,  # IN   float64  of this iteration in the averages
    rows,  # IN   float64[m * n]  flat: what the learner's actions win against each opponent action
    opponent,  # IN   float64[m]  the strategy faced
    support,  # TMP  uint64[m]
    value,  # OUT  float64[n]  what each action of the learner wins
    value_sum,  # INOUT float64[n]
    strategy_sum,  # INOUT float64[m]  of the opponent
):
    """Value the learner's actions; what was faced goes into the opponent's average."""
    mix_rows(opponent, rows, support, value)
    for a in range(len(value)):
        value_sum[a] += weight * value[a]
    for b in range(len(opponent)):
        strategy_sum[b] += weight * opponent[b]


@kernel()
def iterate(
    weights,  # IN   float64[T]  of the iterations in the averages
    alternating,  # IN   bool  the column player learns from what the row player has just learnt
    is_plus,  # IN   bool
    row_wins,  # IN   float64[columns * rows]  flat: by column action, what each row action wins
    column_wins,  # IN   float64[rows * columns]  flat: by row action, what each column action wins
    support,  # TMP  uint64[max(rows, columns)]
    value,  # TMP  (float64[rows], float64[columns])
    regret,  # INOUT (float64[rows], float64[columns])
    strategy,  # INOUT (float64[rows], float64[columns])
    strategy_sum,  # INOUT (float64[rows], float64[columns])
    value_sum,  # INOUT (float64[rows], float64[columns])  actions against the opponent's strategy_sum
    weight_sum,  # IN   float64  of the iterations before
    exploitability,  # OUT  float64[T]  of the average strategies after each iteration
):
    """Run iterations of self-play.

    The averages' own payoffs are sums of payoffs that learning needs anyway, so best responses to
    them cost no product of their own.
    """
    for t in range(len(weights)):
        _face(weights[t], row_wins, strategy[1], support, value[0], value_sum[0], strategy_sum[1])
        if not alternating:
            _face(weights[t], column_wins, strategy[0], support, value[1], value_sum[1], strategy_sum[0])
        _regret_matching(value[0], is_plus, regret[0], strategy[0])
        if alternating:
            _face(weights[t], column_wins, strategy[0], support, value[1], value_sum[1], strategy_sum[0])
        _regret_matching(value[1], is_plus, regret[1], strategy[1])
        weight_sum += weights[t]
        best = value_sum[0].max() + value_sum[1].max()
        exploitability[t] = max(best / (2.0 * weight_sum), 0.0)
