"""Orders of the slots of bucketed tables, measured against each other.

    python benchmarks/bench_bucket_layout.py

By slot: `[slot][bucket]`. By decision: `[decision][bucket][action]`. By bucket: `[bucket][slot]`, as tables
are. The betting is that of limit hold'em, with 169 buckets before the flop and 5,000 in each later round,
drawn at random, or in runs of neighbours. Compared are

- the vector walk: all blocks of a round are gathered for the hands of one board, and gathered and scattered
  when a player learns;
- the scalar walk, in which a deal has one bucket in a round: the decisions below one random entry of the
  round are visited for one random bucket; the 2 or 3 actions of each are read, matched and written back.
  Either the next address waits for what was read ("one by one"), or it is known ("ahead").

Times are ratios within one run, to those of the order by slot, the orders in turn, the fastest of several;
tables are float32, and those of a river are larger than the caches. On a busy machine the ratios of times
wander by a tenth or more; the cache lines of 64 bytes that each order touches are counted beside them, and
do not depend on the machine.
"""

import time
from collections.abc import Callable, Sequence
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
NUM_VISITS = 40_000
LINE = 16
"""Slots of a cache line."""

ORDERS = ("by slot", "by decision", "by bucket")
FIRST, NUM_ACTIONS, NEXT_BUCKET, NEXT_ACTION = range(4)
"""Columns of a decision's places."""

U = np.uint64


@kernel()
def gather(  # type: ignore[no-untyped-def]  # a kernel
    bucket,  # IN   int32[cells]
    places,  # IN   int64[D, 4]  of a block's decisions
    source,  # IN   float32[...]  table
    width,  # IN   int64
    target,  # OUT  float32[slots, width]  flat
):
    """Spread the rows of buckets over the cells, decision by decision."""
    t = U(0)
    for d in range(U(len(places))):
        first, next_bucket, next_action = (
            U(places[d, FIRST]),
            U(places[d, NEXT_BUCKET]),
            U(places[d, NEXT_ACTION]),
        )
        for a in range(U(places[d, NUM_ACTIONS])):
            k = first + a * next_action
            for c in range(U(len(bucket))):
                target[t + c] = source[k + U(bucket[c]) * next_bucket]
            t += U(width)


@kernel()
def scatter(  # type: ignore[no-untyped-def]  # a kernel
    bucket,  # IN   int32[cells]
    places,  # IN   int64[D, 4]  of a block's decisions
    weights,  # IN   float32[cells]
    width,  # IN   int64
    source,  # IN   float32[slots, width]  flat
    target,  # INOUT float32[...]  table
):
    """Add what cells have learnt to their buckets, decision by decision."""
    t = U(0)
    for d in range(U(len(places))):
        first, next_bucket, next_action = (
            U(places[d, FIRST]),
            U(places[d, NEXT_BUCKET]),
            U(places[d, NEXT_ACTION]),
        )
        num_actions = U(places[d, NUM_ACTIONS])
        for c in range(U(len(bucket))):
            k = first + U(bucket[c]) * next_bucket
            for a in range(num_actions):
                target[k + a * next_action] += weights[c] * source[t + a * U(width) + c]
        t += num_actions * U(width)


@kernel()
def visit(  # type: ignore[no-untyped-def]  # a kernel
    waits,  # IN   bool  whether the next address must wait for what is read here
    places,  # IN   int64[D, 4]
    entry_decision,  # IN   int64[E + 1]  the first decision of each entry
    entry,  # IN   int32[visits]
    bucket,  # IN   int32[visits]
    table,  # INOUT float32[...]
):
    """Match the regrets of the decisions below an entry, for one bucket, and add to them."""
    later = U(0)
    for i in range(len(entry)):
        for d in range(entry_decision[entry[i]], entry_decision[entry[i] + 1]):
            k = U(places[d, FIRST]) + U(bucket[i]) * U(places[d, NEXT_BUCKET]) + later
            actions, next_action = U(places[d, NUM_ACTIONS]), U(places[d, NEXT_ACTION])
            total = np.float32(0)
            for a in range(actions):
                total += max(table[k + a * next_action], np.float32(0))
            if waits:
                later = U(total < np.float32(0))  # never so, but the next address must wait to know
            for a in range(actions):
                table[k + a * next_action] += total * np.float32(1e-3)


class Round(NamedTuple):
    """One player's decisions in a round, and one board's hands.

    Attributes:
        decisions: int64[D, 2] first slot and number of actions.
        entry_decision: int64[E + 1] the first decision of each entry with any, and the end.
        blocks: first decision and first slot of each block, and the ends.
        rows: buckets.
        num_cells: hands at a board.
        num_slots: of the round.
    """

    decisions: npt.NDArray[np.int64]
    entry_decision: npt.NDArray[np.int64]
    blocks: list[tuple[int, int]]
    rows: int
    num_cells: int
    num_slots: int

    def places(self, order: str) -> npt.NDArray[np.int64]:
        """Return where each decision's slots are: int64[D, 4]."""
        slot, actions = self.decisions.T
        rows, ones = np.full_like(slot, self.rows), np.ones_like(slot)
        columns = {
            "by slot": (slot * rows, actions, ones, rows),
            "by decision": (slot * rows, actions, actions, ones),
            "by bucket": (slot, actions, ones * self.num_slots, ones),
        }[order]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def in_order(self, by_slot: npt.NDArray[np.float32], order: str) -> npt.NDArray[np.float32]:
        """Return a table float32[slot, bucket] in another order, flat."""
        if order == "by slot":
            return by_slot.ravel().copy()
        if order == "by bucket":
            return by_slot.T.ravel()
        return np.concatenate([by_slot[first : first + n].T.ravel() for first, n in self.decisions.tolist()])


def betting_rounds() -> list[Round]:
    """Return the rounds of limit hold'em as player 0 sees them."""
    rules = load_game("limit-holdem")
    assert isinstance(rules, PokerRules)
    walk = walk_tree(build_betting_tree(rules))
    plan = walk.plan
    rounds = []
    for r in range(4):
        first, last = plan.round_entry[r : r + 2].tolist()
        of_round = plan.decisions[plan.entries[first, 1] : plan.entries[last, 1]].astype(np.int64)
        is_own = of_round[:, 0] == 0
        before = np.concatenate([[0], np.cumsum(is_own)])
        of_entry = before[plan.entries[first : last + 1, 1] - plan.entries[first, 1]]
        own = of_round[is_own][:, [4, 1]]
        num_slots = int(walk.num_slots[0, r])
        edges = [*range(0, last - first, BLOCK_ENTRIES), last - first]
        slot_of = [*own[:, 0].tolist(), num_slots]
        blocks = [(int(of_entry[edge]), slot_of[of_entry[edge]]) for edge in edges]
        rounds.append(Round(own, np.unique(of_entry), blocks, NUM_BUCKETS[r], NUM_HANDS[r], num_slots))
    return rounds


def fastest(calls: Sequence[Callable[[], None]]) -> list[float]:
    """Return the fewest seconds of each call, all of them in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(REPEATS):
        for which, call in enumerate(calls):
            began = time.perf_counter()
            call()
            best[which] = min(best[which], time.perf_counter() - began)
    return best


def compare_vectors(
    part: Round, bucket: npt.NDArray[np.int32], by_slot: npt.NDArray[np.float32]
) -> tuple[list[float], list[float]]:
    """Return seconds to gather in each order, and to gather and scatter."""
    width = -(-part.num_cells // 64) * 64
    blocks = [(a, b, s, t - s) for (a, s), (b, t) in zip(part.blocks[:-1], part.blocks[1:], strict=True)]
    most = max(slots for *_, slots in blocks)
    weights = np.linspace(0.5, 1.5, part.num_cells, dtype=np.float32)
    spread = {order: np.zeros(most * width, dtype=np.float32) for order in ORDERS}
    tables = {order: part.in_order(by_slot, order) for order in ORDERS}
    places = {order: part.places(order) for order in ORDERS}

    def by_places(order: str, learn: bool) -> None:
        for first, last, _, _ in blocks:
            here = places[order][first:last]
            gather(bucket, here, tables[order], width, spread[order])
            for _ in range(2 * learn):
                scatter(bucket, here, weights, width, spread[order], tables[order])

    def as_the_engine_does(learn: bool) -> None:
        cells, table, target = (bucket, U(0), U(part.num_cells)), tables["by bucket"], spread["by bucket"]
        for _, _, slot, num_slots in blocks:
            gather_rows(*cells, slot, part.num_slots, num_slots, table, width, target)
            for _ in range(2 * learn):
                scatter_rows(*cells, weights, U(0), slot, part.num_slots, num_slots, width, target, table)

    seconds = []
    for learn in (False, True):
        calls = [partial(by_places, order, learn) for order in ORDERS[:2]]
        calls.append(partial(as_the_engine_does, learn))
        for call in calls:
            call()
        for order in ORDERS[1:]:
            assert np.allclose(spread["by slot"], spread[order]), "all orders gather the same numbers"
            learnt = part.in_order(tables["by slot"].reshape(by_slot.shape), order)
            assert np.allclose(learnt, tables[order], rtol=1e-4), "all orders learn the same"
        seconds.append(fastest(calls))
    return seconds[0], seconds[1]


def compare_visits(
    part: Round, rng: np.random.Generator, by_slot: npt.NDArray[np.float32]
) -> tuple[list[float], list[float], int]:
    """Return seconds of visits in each order, one by one and ahead, and how many decisions they visit."""
    entry = rng.integers(0, len(part.entry_decision) - 1, NUM_VISITS).astype(np.int32)
    bucket = rng.integers(0, part.rows, NUM_VISITS).astype(np.int32)
    tables = {order: part.in_order(by_slot, order) for order in ORDERS}
    seconds = []
    for waits in (True, False):
        calls = [
            partial(visit, waits, part.places(order), part.entry_decision, entry, bucket, tables[order])
            for order in ORDERS
        ]
        for call in calls:
            call()
        for order in ORDERS[1:]:
            learnt = part.in_order(tables["by slot"].reshape(by_slot.shape), order)
            assert np.allclose(learnt, tables[order], rtol=1e-5), "all orders learn the same"
        seconds.append(fastest(calls))
    return seconds[0], seconds[1], int(np.diff(part.entry_decision)[entry].sum())


def lines_of_visits(part: Round) -> list[float]:
    """Return how many cache lines the visit of an entry needs on average, in each order."""
    found = []
    rows = np.arange(0, part.rows, 7)
    for order in ORDERS:
        places, lines = part.places(order), 0
        for begin, end in zip(part.entry_decision[:-1], part.entry_decision[1:], strict=True):
            slots = [
                place + np.arange(actions) * next_action
                for place, actions, _, next_action in places[begin:end].tolist()
            ]
            at = np.concatenate(slots) + rows[:, np.newaxis] * np.repeat(
                places[begin:end, NEXT_BUCKET], places[begin:end, NUM_ACTIONS]
            )
            at = np.sort(at // LINE, axis=1)
            lines += len(rows) + int((np.diff(at, axis=1) > 0).sum())
        found.append(lines / len(rows) / (len(part.entry_decision) - 1))
    return found


def lines_of_vectors(part: Round, bucket: npt.NDArray[np.int32]) -> list[int]:
    """Return how many cache lines of the table the hands of a board need, in each order."""
    rows = np.unique(bucket).astype(np.int64)
    found = []
    for order in ORDERS:
        lines = [
            np.unique((place + np.arange(actions)[:, np.newaxis] * next_action + rows * next_row) // LINE)
            for place, actions, next_row, next_action in part.places(order).tolist()
        ]
        found.append(len(np.unique(np.concatenate(lines))))
    return found


def ratios(values: Sequence[float]) -> str:
    """Say how the second and third compare with the first."""
    return f"{values[1] / values[0]:.2f} and {values[2] / values[0]:.2f}"


def main() -> None:
    rng = np.random.default_rng(0)
    print("[decision][bucket][action] and [bucket][slot], both in units of [slot][bucket]")
    for r, part in enumerate(betting_rounds()):
        by_slot = rng.random((part.num_slots, part.rows), dtype=np.float32)
        size = f"{by_slot.nbytes / 2**20:,.1f} MiB"
        print(f"round {r + 1}: {part.num_slots:,} slots x {part.rows:,} buckets, {size}")
        scattered = rng.integers(0, part.rows, part.num_cells).astype(np.int32)
        for name, bucket in (("random", scattered), ("runs", np.sort(scattered) // 8 * 8)):
            gathered, learnt = compare_vectors(part, bucket, by_slot)
            print(
                f"  vector walk, {name} buckets: gather {ratios(gathered)}, learn {ratios(learnt)}, "
                f"lines {ratios(lines_of_vectors(part, bucket))}   ({learnt[0] * 1000:.1f} ms by slot)"
            )
        one, ahead, num_decisions = compare_visits(part, rng, by_slot)
        lines = lines_of_visits(part)
        print(
            f"  scalar walk: one by one {ratios(one)}, ahead {ratios(ahead)}, lines {ratios(lines)} "
            f"({', '.join(f'{count:.2f}' for count in lines)} an entry)   "
            f"({one[0] / num_decisions * 1e9:.0f} ns a decision by slot)"
        )


if __name__ == "__main__":
    main()
