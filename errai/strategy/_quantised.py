"""The kernel that rounds rows of probabilities to small whole numbers whose sum stays the same.

Letters: S slots, D decisions.
"""

import numpy as np

from errai.kernels import kernel


@kernel(fastmath=False)
def quantise(
    weights,  # IN   float[S]  played in proportion to the positive part
    first,  # IN   int64[D]  first slot of each decision
    rows,  # IN   int64[D]  its rows, which are together for each action
    actions,  # IN   int64[D]  its actions
    scale,  # IN   int64  what a row sums to
    share,  # TMP  float64[most actions]
    count,  # TMP  int64[most actions]
    out,  # OUT  uint8[S] or uint16[S]
):
    """Round by largest remainders; return the largest error of a probability.

    A row without a positive weight becomes zeros, which is played as it was: all actions alike. No action of
    more than half a step becomes 0, and none of 0 becomes more.
    """
    largest = 0.0
    for d in range(first.shape[0]):
        num_actions = actions[d]
        stride = rows[d]
        for row in range(stride):
            place = first[d] + row
            top, total = 0.0, 0.0
            for a in range(num_actions):
                x = np.float64(weights[place + a * stride])
                share[a] = x if x > 0.0 else 0.0
                top = share[a] if share[a] > top else top
            for a in range(num_actions):
                # No sum of these overflows, and none is too small to divide by.
                share[a] = share[a] / top if top > 0.0 else 0.0
                total += share[a]
            if total == 0.0:
                for a in range(num_actions):
                    out[place + a * stride] = 0
                continue
            left = scale
            for a in range(num_actions):
                share[a] = share[a] / total * scale
                count[a] = np.int64(share[a])
                if count[a] == 0 and share[a] > 0.5:
                    count[a] = 1
                left -= count[a]
            while left != 0:
                # Where too little was given, to the action that lacks most; otherwise from the one that lacks
                # least and has more than one step to lose.
                best, most = -1, 0.0
                for a in range(num_actions):
                    lacks = share[a] - count[a]
                    if left > 0:
                        if best < 0 or lacks > most:  # an action of 0 lacks nothing, and another does
                            best, most = a, lacks
                    elif count[a] > 1 and (best < 0 or lacks < most):
                        best, most = a, lacks
                step = 1 if left > 0 else -1
                count[best] += step
                left -= step
            for a in range(num_actions):
                error = abs(count[a] - share[a]) / scale
                largest = error if error > largest else largest
                out[place + a * stride] = count[a]
    return largest
