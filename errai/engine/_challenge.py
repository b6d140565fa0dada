"""Kernel of terminal values in Bluff: a bid holds or not, by counts of matching dice.

Everything about an opponent's roll that matters for a bid is how many of its dice match the face, so the
reach of all rolls is gathered into one sum for each count (Johanson's thesis 2016, section 3.3.2).
"""

import numpy as np

from errai.kernels import kernel

U = np.uint64

NUM_FACES = 6
MAX_COUNTS = 8
"""One more than the dice that a player may have, and room to spare."""


@kernel()
def value_challenges(
    leaves,  # IN   int32[L, 3]  reach row of the opponent, node, number of the challenged bid
    chips,  # IN   float64[L, 2]  what the player wins if the bid holds, and if it does not
    first_leaf,  # IN   int64
    last_leaf,  # IN   int64
    row_base,  # IN   int64  first reach row of the opponent in the block
    node_base,  # IN   int64  first node of the block
    first_own,  # IN   uint64
    num_own,  # IN   uint64
    first_other,  # IN   uint64
    num_other,  # IN   uint64
    matches,  # IN   uint8[C, NUM_FACES]  dice of each roll that match a face or are stars
    reach,  # IN   float[...]
    reach_begin,  # IN   int64
    width,  # IN   int64
    value_begin,  # IN   int64
    at_least,  # TMP  float[MAX_COUNTS]
    value,  # OUT  float[...]
):
    """Fill the value rows of challenges."""
    number = value.dtype.type
    for leaf in range(first_leaf, last_leaf):
        quantity = leaves[leaf, 2] // NUM_FACES + 1
        face = U(leaves[leaf, 2] % NUM_FACES)
        for k in range(MAX_COUNTS):
            at_least[k] = 0
        row = U(reach_begin + (leaves[leaf, 0] - row_base) * width)
        for c in range(num_other):
            at_least[matches[first_other + c, face]] += reach[row + c]
        for k in range(MAX_COUNTS - 2, -1, -1):
            at_least[k] += at_least[k + 1]
        if_it_holds, if_not = number(chips[leaf, 0]), number(chips[leaf, 1])
        target = U(value_begin + (leaves[leaf, 1] - node_base) * width)
        for c in range(num_own):
            needed = max(quantity - matches[first_own + c, face], 0)
            holds = at_least[needed] if needed < MAX_COUNTS else number(0)
            value[target + c] = if_it_holds * holds + if_not * (at_least[0] - holds)
