"""How fast deals are sampled and walked, against OpenSpiel's C++ and against memory in the same run.

    python benchmarks/bench_sampling.py           every row
    python benchmarks/bench_sampling.py --quick   Leduc and [2-1] hold'em alone

An iteration deals and walks once for each player. Rates are the best of several rounds in turn; compiling
and building are apart. One thread unless said. Rates of one thread are for a second of processor time, which
a busy machine changes less; one and two threads are compared by the clock.

- Leduc: external sampling against OpenSpiel's `ExternalSamplingMCCFRSolver`, and outcome and chance sampling.
- [2-1] hold'em, lossless tables; a published program does 337,000 iterations a second on another machine.
- Limit hold'em and a no-limit game with 169, 5,000, 5,000 and 5,000 buckets, which a hash of the hand's class
  gives: the look-up takes as long as that of a real abstraction, and the tables are as large. Visits of
  decisions stand beside reads of random 64-byte lines of an array as large as the tables, with addresses
  that are known ahead, and with addresses that wait for the read before.
- Two threads in shared tables against one.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

import errai
from errai.abstraction.features.hands import HandClasses
from errai.engine.public_tree import PublicTree
from errai.games.catalogue import load_card_game
from errai.games.rules import PokerRules
from errai.kernels import kernel
from errai.memory import format_bytes
from errai.solvers.sampled import SampledSolver
from errai.solvers.solve import configured_rule
from errai.solvers.update_rules import SampledRule
from errai.tree.bet_menu import BetMenu

SEED = 0
ROUNDS = 5
SECONDS = 0.4
NUM_BUCKETS = (169, 5000, 5000, 5000)
NUM_READS = 1 << 20
LINE = 16
"""Numbers of a cache line of 64 bytes."""

PUBLISHED_2_1 = 337_000
"""Iterations a second of external sampling on lossless [2-1] hold'em: slumbot2019."""

U = np.uint64


class HashedBuckets:
    """Buckets by a hash of the hand's class, as even as a good abstraction's; lossless before the flop."""

    name = "hashed"
    num_players_described = 1

    def __init__(self, game: PokerRules) -> None:
        self.game = game
        self._classes = HandClasses(game)

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the buckets of a round."""
        return NUM_BUCKETS[round_index]

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int64]:
        """Return the bucket of each deal."""
        index = self._classes.index(cards, round_index)
        if round_index == 0:
            return index
        mixed = index.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
        return (mixed % np.uint64(NUM_BUCKETS[round_index])).astype(np.int64)


@kernel()
def read_lines(  # type: ignore[no-untyped-def]  # a kernel
    waits,  # IN   bool  whether the next address must wait for what is read
    table,  # IN   float32[...]
    reads,  # IN   int64
    start,  # IN   uint64
):
    """Read a number of so many random lines of 64 bytes; return their sum."""
    lines = U(len(table) // LINE)
    x, total = start, np.float32(0)
    if waits:
        for _ in range(reads):
            found = table[((x >> U(32)) * lines >> U(32)) * U(LINE)]
            total += found
            x = (x + U(found)) * U(6364136223846793005) + U(1442695040888963407)
    else:
        for _ in range(reads):
            total += table[((x >> U(32)) * lines >> U(32)) * U(LINE)]
            x = x * U(6364136223846793005) + U(1442695040888963407)
    return total


def rate(work: Callable[[int], Any], at_once: int, clock: Callable[[], float]) -> float:
    """Return how many pieces of work are done a second."""
    done, began = 0, clock()
    while clock() - began < SECONDS:
        work(at_once)
        done += at_once
    return done / (clock() - began)


def best_rates(
    works: dict[str, tuple[Callable[[int], Any], int]], clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Return the best rate of each of several kinds of work, all of them in turn."""
    best = dict.fromkeys(works, 0.0)
    for work, _ in works.values():
        work(1)
    for _ in range(ROUNDS):
        for name, (work, at_once) in works.items():
            best[name] = max(best[name], rate(work, at_once, clock))
    return best


def solver(tree: PublicTree, name: str, threads: int = 1, **arguments: Any) -> SampledSolver:
    """Return a solver; `options` are the rule's."""
    rule = configured_rule(name, options=arguments.pop("options", None))
    assert isinstance(rule, SampledRule)
    return SampledSolver(tree, rule, num_threads=threads, seed=SEED, **arguments)


def bench_leduc() -> None:
    tree = PublicTree.of("leduc")
    theirs = pyspiel.ExternalSamplingMCCFRSolver(pyspiel.load_game("leduc_poker"), SEED)

    def openspiel(iterations: int) -> None:
        for _ in range(iterations):
            theirs.run_iteration()

    ours = {f"errai {name}": (solver(tree, name).run, 4096) for name in ("external", "outcome", "cs")}
    best = best_rates({"OpenSpiel C++ external": (openspiel, 100), **ours})
    print("Leduc, iterations a second")
    for name, found in best.items():
        print(f"  {name}: {found:,.0f} ({found / best['OpenSpiel C++ external']:.1f} times OpenSpiel)")


def bench_lossless() -> None:
    tree = PublicTree.of("holdem-2-1")
    one = solver(tree, "external")
    best = best_rates({"external": (one.run, 4096)})
    found = best["external"]
    print(f"[2-1] hold'em, lossless, {one.dtype} {format_bytes(2 * tree.num_slots * one.dtype.itemsize)}")
    print(f"  external: {found:,.0f} iterations a second ({found / PUBLISHED_2_1:.2f} times the published)")


def bench_buckets(name: str, menu: str | None) -> None:
    rules = load_card_game(name)
    tree = PublicTree.of(rules, None if menu is None else BetMenu.parse(menu))
    abstraction = HashedBuckets(rules)
    one = solver(tree, "external", abstractions=(abstraction, abstraction))
    two = solver(tree, "external", 2, abstractions=(abstraction, abstraction), options={"shared": True})
    # Both read and write the same tables, which are thereby as large as they would be alone.
    two.tables = one.tables
    size = sum(table.nbytes for pair in one.tables.values() for table in pair)
    array = np.zeros(size // 4, dtype=np.float32)
    array += np.float32(1)
    one.run(20_000)
    visits = one.num_visits / one.iteration
    best = best_rates(
        {
            "visits": (one.run, 2048),
            "known": (lambda reads: read_lines(False, array, reads, U(1)), NUM_READS),
            "waiting": (lambda reads: read_lines(True, array, reads, U(1)), NUM_READS),
        }
    )
    by_clock = best_rates({"one": (one.run, 8192), "two": (two.run, 8192)}, time.perf_counter)
    shape = "" if menu is None else f" with bets {menu}"
    print(f"{rules.name}{shape}, {tree.betting.num_nodes:,} betting nodes, tables {format_bytes(size)}")
    visited = best["visits"] * visits
    print(f"  external: {best['visits']:,.0f} iterations, {visited:,.0f} visits of decisions a second")
    for kind in ("known", "waiting"):
        times = best[kind] / visited
        print(f"  random lines, addresses {kind}: {best[kind]:,.0f} a second, {times:.2f} times the visits")
    print(
        f"  two threads in shared tables against one, by the clock: {by_clock['two'] / by_clock['one']:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_known_args()[0].quick
    print(f"errai {errai.__version__}, seed {SEED}, best of {ROUNDS} rounds of {SECONDS} s")
    bench_leduc()
    bench_lossless()
    if not quick:
        bench_buckets("limit-holdem", None)
        bench_buckets("nolimit-holdem", "1p,all-in")


if __name__ == "__main__":
    main()
