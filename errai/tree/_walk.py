"""Kernels of `walk.py`."""

from errai.kernels import kernel

DECISION = 0
NO_NODE = -1


@kernel()
def assign_rows(
    parent,  # IN   int32[N]
    kind,  # IN   int8[N]
    player,  # IN   int8[N]
    num_children,  # IN   uint8[N]
    round_entry,  # IN   int32[R + 1]
    entry_node,  # IN   int32[E + 1]
    reach_row,  # OUT  int32[2, N]
    slot,  # OUT  int32[N], -1 where nobody acts
    num_slots,  # OUT  int64[2, R]
    entry_row,  # OUT  int32[2, E]
    entry_slot,  # OUT  int32[2, E + 1], counted through all rounds, zero before
):
    """Number reach rows and slots through each round; parents come before their children."""
    for r in range(len(round_entry) - 1):
        rows_0 = 0
        rows_1 = 0
        for entry in range(round_entry[r], round_entry[r + 1]):
            entry_row[0, entry] = rows_0
            entry_row[1, entry] = rows_1
            entry_slot[0, entry + 1] = entry_slot[0, entry]
            entry_slot[1, entry + 1] = entry_slot[1, entry]
            first = entry_node[entry]
            for node in range(first, entry_node[entry + 1]):
                above = parent[node]
                if node == first or player[above] == 0:
                    reach_row[0, node] = rows_0
                    rows_0 += 1
                else:
                    reach_row[0, node] = reach_row[0, above]
                if node == first or player[above] == 1:
                    reach_row[1, node] = rows_1
                    rows_1 += 1
                else:
                    reach_row[1, node] = reach_row[1, above]
                if kind[node] == DECISION:
                    slot[node] = num_slots[player[node], r]
                    num_slots[player[node], r] += num_children[node]
                    entry_slot[player[node], entry + 1] += num_children[node]
