"""Two orders of the rows of bucketed tables, measured against each other.

    python benchmarks/bench_bucket_layout.py

Apart: `[slot][bucket]`, an action of all buckets together. Together: `[decision][bucket][action]`, the
actions of one information set together, as tables are. The betting is that of limit hold'em, with 169
buckets before the flop and 5,000 in each later round, drawn at random, or in runs of neighbours. Compared are

- the vector walk: all blocks of a round are gathered for the hands of one board, and gathered and scattered
  when a player learns;
- the scalar walk: the 2 or 3 actions of one random bucket at one random decision are read, matched and
  written back; either the next address waits for what was read ("one by one"), or it is known ("ahead").

Times are ratios within one run, the two orders in turn, the fastest of several; tables are float32, and those
of a river are larger than the caches. On a busy machine the ratios of times wander by a tenth or more; the
cache lines of 64 bytes that each order touches are counted beside them, and do not depend on the machine.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine._buckets import gather_rows, scatter_rows
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.kernels import kernel
from errai.tree.betting_tree import build_betting_tree
from errai.tree.walk import walk_tree

NUM_BUCKETS = (169, 5000, 5000, 5000)
NUM_HANDS = (169, 1176, 1128, 1081)
BLOCK_ENTRIES = 4
"""As many entries as the walk takes at once with float32 vectors of 1,081 hands."""

REPEATS = 15
NUM_TOUCHES = 300_000
LINE = 16
"""Slots of a cache line."""

U = np.uint64


@kernel()
def gather_apart(  # type: ignore[no-untyped-def]  # a kernel
    bucket,  # IN   int32[cells]
    num_slots,  # IN   int64
    begin,  # IN   int64
    rows,  # IN   int64
    source,  # IN   float32[...]  table
    width,  # IN   int64
    target,  # OUT  float32[slots, width]  flat
):
    """Spread the rows of buckets over the cells, where the actions of a bucket are apart."""
    for s in range(num_slots):
        k, t = U(begin + s * rows), U(s * width)
        for c in range(U(len(bucket))):
            target[t + c] = source[k + U(bucket[c])]


@kernel()
def scatter_apart(  # type: ignore[no-untyped-def]  # a kernel
    bucket,  # IN   int32[cells]
    weights,  # IN   float32[cells]
    num_slots,  # IN   int64
    begin,  # IN   int64
    rows,  # IN   int64
    width,  # IN   int64
    source,  # IN   float32[slots, width]  flat
    target,  # INOUT float32[...]  table
):
    """Add what cells have learnt to their buckets, where the actions of a bucket are apart."""
    for c in range(U(len(bucket))):
        k, t = U(begin) + U(bucket[c]), U(c)
        for _ in range(num_slots):
            target[k] += weights[c] * source[t]
            k += U(rows)
            t += U(width)


@kernel()
def touch_apart(  # type: ignore[no-untyped-def]  # a kernel
    waits,  # IN   bool  whether the next address must wait for what is read here
    decisions,  # IN   int64[D, 2]
    which,  # IN   int32[touches]  decision
    row,  # IN   int32[touches]  bucket
    rows,  # IN   int64
    table,  # INOUT float32[...]
):
    """Match the regrets of random information sets, one after the other, and add to them."""
    later = U(0)
    for i in range(len(which)):
        first, actions = decisions[which[i], 0], U(decisions[which[i], 1])
        k = U(first * rows) + U(row[i]) + later
        total = np.float32(0)
        for a in range(actions):
            total += max(table[k + a * U(rows)], np.float32(0))
        if waits:
            later = U(total < np.float32(0))  # never so, but the next address must wait to know
        for a in range(actions):
            table[k + a * U(rows)] += total * np.float32(1e-3)


@kernel()
def touch_together(  # type: ignore[no-untyped-def]  # a kernel
    waits,  # IN   bool  whether the next address must wait for what is read here
    decisions,  # IN   int64[D, 2]
    which,  # IN   int32[touches]
    row,  # IN   int32[touches]
    rows,  # IN   int64
    table,  # INOUT float32[...]
):
    """Do the same where the actions of a bucket are together."""
    later = U(0)
    for i in range(len(which)):
        first, actions = decisions[which[i], 0], U(decisions[which[i], 1])
        k = U(first * rows) + actions * U(row[i]) + later
        total = np.float32(0)
        for a in range(actions):
            total += max(table[k + a], np.float32(0))
        if waits:
            later = U(total < np.float32(0))
        for a in range(actions):
            table[k + a] += total * np.float32(1e-3)


class Round(NamedTuple):
    """One player's decisions in a round, and one board's hands.

    Attributes:
        decisions: int64[D, 2] first slot and number of actions.
        plan: int32[D, 7] the decisions of both players in all rounds, as in `WalkPlan`.
        blocks: [block] first decision of `plan`, last decision, first slot, slots.
        rows: buckets.
        num_cells: hands at a board.
        num_slots: of the round.
    """

    decisions: npt.NDArray[np.int64]
    plan: npt.NDArray[np.int32]
    blocks: list[tuple[int, int, int, int]]
    rows: int
    num_cells: int
    num_slots: int


def betting_rounds() -> list[Round]:
    """Return the rounds of limit hold'em as player 0 sees them."""
    rules = load_game("limit-holdem")
    assert isinstance(rules, PokerRules)
    walk = walk_tree(build_betting_tree(rules))
    plan = walk.plan
    rounds = []
    for r in range(4):
        first, last = plan.round_entry[r : r + 2].tolist()
        edges = plan.entries[[*range(first, last, BLOCK_ENTRIES), last]]
        slots = edges[:, 5] - plan.entries[first, 5]
        blocks = list(
            zip(
                edges[:-1, 1].tolist(),
                edges[1:, 1].tolist(),
                slots[:-1].tolist(),
                np.diff(slots).tolist(),
                strict=True,
            )
        )
        own = plan.decisions[edges[0, 1] : edges[-1, 1]].astype(np.int64)
        own = own[own[:, 0] == 0][:, [4, 1]]
        num_slots = int(walk.num_slots[0, r])
        rounds.append(Round(own, plan.decisions, blocks, NUM_BUCKETS[r], NUM_HANDS[r], num_slots))
    return rounds


def reordered(table: npt.NDArray[np.float32], part: Round) -> npt.NDArray[np.float32]:
    """Return a table of `[slot][bucket]` as one of `[decision][bucket][action]`."""
    by_slot = table.reshape(part.num_slots, part.rows)
    return np.concatenate([by_slot[first : first + n].T.ravel() for first, n in part.decisions.tolist()])


def fastest(*calls: Callable[[], None]) -> list[float]:
    """Return the fewest seconds of each call, all of them in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(REPEATS):
        for which, call in enumerate(calls):
            began = time.perf_counter()
            call()
            best[which] = min(best[which], time.perf_counter() - began)
    return best


def compare_vectors(
    part: Round, bucket: npt.NDArray[np.int32], table: npt.NDArray[np.float32]
) -> list[float]:
    """Return seconds to gather apart and together, and to gather and scatter apart and together."""
    width = -(-part.num_cells // 64) * 64
    most = max(slots for _, _, _, slots in part.blocks)
    weights = np.linspace(0.5, 1.5, part.num_cells, dtype=np.float32)
    spread = [np.zeros(most * width, dtype=np.float32) for _ in range(2)]
    tables = [table.copy(), reordered(table, part)]
    rows, cells = part.rows, (bucket, U(0), U(part.num_cells))

    def apart(learn: bool) -> None:
        for _, _, slot, num_slots in part.blocks:
            gather_apart(bucket, num_slots, slot * rows, rows, tables[0], width, spread[0])
            for _ in range(2 * learn):
                scatter_apart(bucket, weights, num_slots, slot * rows, rows, width, spread[0], tables[0])

    def together(learn: bool) -> None:
        for first, last, slot, _ in part.blocks:
            block = (part.plan, first, last, 0, slot, *cells)
            gather_rows(*block, slot * rows, rows, tables[1], width, spread[1])
            for _ in range(2 * learn):
                scatter_rows(*block, weights, U(0), slot * rows, rows, width, spread[1], tables[1])

    apart(False)
    together(False)
    assert np.array_equal(spread[0], spread[1]), "both orders gather the same numbers"
    apart(True)
    together(True)
    assert np.allclose(reordered(tables[0], part), tables[1], rtol=1e-4), "both orders learn the same"
    return fastest(lambda: apart(False), lambda: together(False), lambda: apart(True), lambda: together(True))


def compare_touches(part: Round, rng: np.random.Generator, table: npt.NDArray[np.float32]) -> list[float]:
    """Return seconds for touches of random information sets, apart and together, one by one and ahead."""
    which = rng.integers(0, len(part.decisions), NUM_TOUCHES).astype(np.int32)
    row = rng.integers(0, part.rows, NUM_TOUCHES).astype(np.int32)
    tables = [table.copy(), reordered(table, part)]
    kernels: list[Callable[..., None]] = [touch_apart, touch_together]
    calls = [
        partial(touch, waits, part.decisions, which, row, part.rows, own)
        for waits in (True, False)
        for touch, own in zip(kernels, tables, strict=True)
    ]
    for call in calls:
        call()
    assert np.allclose(reordered(tables[0], part), tables[1], rtol=1e-5), "both orders touch the same"
    return fastest(*calls)


def lines_of_touches(part: Round) -> tuple[float, float]:
    """Return how many cache lines one touch needs on average, apart and together."""
    apart = together = 0
    for first, actions in part.decisions.tolist():
        begin = first * part.rows + actions * np.arange(part.rows)
        apart += actions * part.rows
        together += int(((begin + actions - 1) // LINE - begin // LINE + 1).sum())
    touches = len(part.decisions) * part.rows
    return apart / touches, together / touches


def lines_of_vectors(part: Round, bucket: npt.NDArray[np.int32]) -> tuple[int, int]:
    """Return how many cache lines of the table the hands of a board need, apart and together."""
    apart = together = 0
    rows = np.unique(bucket).astype(np.int64)
    for first, actions in part.decisions.tolist():
        begin, steps = first * part.rows, np.arange(actions)
        apart += len(np.unique((begin + steps[:, None] * part.rows + rows) // LINE))
        together += len(np.unique((begin + steps[:, None] + actions * rows) // LINE))
    return apart, together


def main() -> None:
    rng = np.random.default_rng(0)
    print("time of [decision][bucket][action] / time of [slot][bucket]")
    for r, part in enumerate(betting_rounds()):
        table = rng.random(part.num_slots * part.rows, dtype=np.float32)
        size = f"{table.nbytes / 2**20:,.1f} MiB"
        print(f"round {r + 1}: {part.num_slots:,} slots x {part.rows:,} buckets, {size}")
        scattered = rng.integers(0, part.rows, part.num_cells).astype(np.int32)
        for name, bucket in (("random", scattered), ("runs", np.sort(scattered) // 8 * 8)):
            gather_a, gather_b, learn_a, learn_b = compare_vectors(part, bucket, table)
            lines_a, lines_b = lines_of_vectors(part, bucket)
            print(
                f"  vector walk, {name} buckets: gather {gather_b / gather_a:.2f}, "
                f"learn {learn_b / learn_a:.2f}, lines {lines_b / lines_a:.2f}   "
                f"({learn_a * 1000:.1f} ms apart)"
            )
        one_a, one_b, ahead_a, ahead_b = compare_touches(part, rng, table)
        per_touch = one_a / NUM_TOUCHES * 1e9
        touched_a, touched_b = lines_of_touches(part)
        print(
            f"  scalar walk: one by one {one_b / one_a:.2f}, ahead {ahead_b / ahead_a:.2f}, "
            f"lines {touched_b / touched_a:.2f} ({touched_b:.2f} and {touched_a:.2f})   "
            f"({per_touch:.0f} ns a decision apart)"
        )


if __name__ == "__main__":
    main()
