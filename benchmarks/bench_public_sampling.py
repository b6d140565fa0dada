"""How fast sampled boards are walked beside all boards, and how soon sampling solves a game.

    python benchmarks/bench_public_sampling.py
    python benchmarks/bench_public_sampling.py --abstraction FOLDER   limit hold'em alone, with its buckets

[2-1] hold'em (15,442,180 information sets, lossless, float32, one thread): slots a second of public chance
sampling and of the full walk, in turns; then exploitability by seconds of `pcs`, `opcs` and `spcs`, as in
figure 3.2 of Johanson's thesis. Limit hold'em with 169, 5,000, 5,000 and 5,000 buckets, whose hands are made
on demand: buckets that are runs of neighbouring hands, and random ones; or those of an abstraction that
`errai abstract build` saved, whose look-ups are then part of the time. Seconds are the processor's, so that
a busy machine does not count; compilation is apart.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from errai.engine.dealt_paths import DealtPaths
from errai.engine.paths import GamePaths, Steps
from errai.engine.public_tree import PublicTree
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.solvers.make import make_solver
from errai.solvers.public_sampling import PublicSampledSolver
from errai.solvers.solve import Solver
from errai.solvers.update_rules import find_rule
from errai.strategy.bucketed import SavedAbstraction
from errai.strategy.played import BucketLookup
from errai.tables.bucket_layout import BucketLayout, bucket_layout
from errai.tree.betting_tree import DECISION
from errai.tree.buckets import Buckets
from errai.tree.cells import Cells

TURNS = 3
PATHS = 1000
SECONDS = (1.0, 2.0, 4.0, 8.0)
LIMIT_ITERATIONS = 5
LIMIT_BUCKETS = 5000
SEED = 1


def slots_of_paths(solver: PublicSampledSolver, first: int, last: int) -> int:
    """Count the slots that some iterations visit."""
    engine, tree = solver.engine, solver.tree
    assert isinstance(engine, GamePaths)
    walker, total = engine.walkers[0], 0
    for iteration in range(first, last):
        for player in (0, 1):
            for r, board in enumerate(walker.sample(solver.seed, iteration, player).boards.tolist()):
                total += int(tree.layout.rows[player, board] * tree.walk.num_slots[player, r])
    return total


def compare_walks(tree: PublicTree) -> None:
    """Tell slots a second of the full walk and of sampled paths."""
    full = Solver(tree, find_rule("cfr"), np.float32, 1)
    sampled = make_solver(tree, find_rule("pcs"), np.float32, 1, seed=SEED)
    assert isinstance(sampled, PublicSampledSolver)
    full.run(1)
    sampled.run(PATHS)
    found: list[tuple[float, float]] = []
    for _ in range(TURNS):
        began = time.process_time()
        full.run(1)
        whole = time.process_time() - began
        first = sampled.iteration + 1
        began = time.process_time()
        sampled.run(PATHS)
        paths = time.process_time() - began
        slots = slots_of_paths(sampled, first, first + PATHS)
        found.append((sum(tree.layout.num_slots) / whole, slots / paths))
    whole, paths = max(one for one, _ in found), max(one for _, one in found)
    print(
        f"[2-1] hold'em: full walk {whole / 1e6:.0f}, paths {paths / 1e6:.0f} million slots a second: "
        f"{whole / paths:.2f} times as long a slot"
    )


def converge(tree: PublicTree, algorithm: str) -> None:
    """Tell exploitability by seconds."""
    solver = make_solver(tree, find_rule(algorithm), np.float32, 1, seed=SEED)
    solver.run(1)
    spent, told = 0.0, []
    for seconds in SECONDS:
        while spent < seconds:
            began = time.process_time()
            solver.run(100)
            spent += time.process_time() - began
        told.append(f"{solver.measure().exploitability.mbb_per_game:.0f} ({solver.iteration:,})")
    print(f"{algorithm}: mbb/g (iterations) after {SECONDS} s: {', '.join(told)}", flush=True)


def limit_layout(tree: PublicTree, deals: Deals) -> BucketLayout:
    """Lay out tables of buckets after the preflop."""
    rows = np.full((2, 4), LIMIT_BUCKETS, dtype=np.int64)
    rows[:, 0] = deals.num_rows(0)
    sizes = rows * tree.walk.num_slots
    begin = np.cumsum(sizes, axis=1) - sizes
    ends = sizes.sum(axis=1)
    bucketed = np.array([[False, True, True, True]] * 2)
    stride = np.where(bucketed, tree.walk.num_slots, rows)
    return BucketLayout(begin, rows, stride, bucketed, (int(ends[0]), int(ends[1])))


def runs_of_neighbours(cells: Cells) -> Buckets:
    sizes = [cells.num_cells(0, r) for r in range(4)]
    return Buckets.for_both(
        {r: (np.arange(sizes[r]) * LIMIT_BUCKETS // sizes[r]).astype(np.int32) for r in (1, 2, 3)}
    )


def runs_of_ten(cells: Cells) -> Buckets:
    """Ten neighbours share a bucket, which is anywhere."""
    rng = np.random.default_rng(int(cells.boards[3].sum()))
    sizes = [cells.num_cells(0, r) for r in range(4)]
    return Buckets.for_both(
        {
            r: np.repeat(rng.integers(0, LIMIT_BUCKETS, sizes[r] // 10 + 1), 10)[: sizes[r]].astype(np.int32)
            for r in (1, 2, 3)
        }
    )


def at_random(cells: Cells) -> Buckets:
    rng = np.random.default_rng(int(cells.boards[3].sum()))
    return Buckets.for_both(
        {r: rng.integers(0, LIMIT_BUCKETS, cells.num_cells(0, r)).astype(np.int32) for r in (1, 2, 3)}
    )


def limit_holdem(folder: str | None) -> None:
    """Tell slots a second in limit hold'em, beside the full walk of the same run."""
    game = load_game("limit-holdem")
    assert isinstance(game, PokerRules)
    tree, deals = PublicTree.of(game), Deals(game)
    if folder is not None:
        abstraction = SavedAbstraction.open(folder).abstraction
        lookup = BucketLookup(game, (abstraction, abstraction))
        walk_paths(tree, deals, bucket_layout(tree.walk, deals, lookup.abstractions), folder, lookup.of)
        return
    layout = limit_layout(tree, deals)
    for name, buckets in (
        ("spread evenly", runs_of_neighbours),
        ("random for ten neighbours", runs_of_ten),
        ("random", at_random),
    ):
        walk_paths(tree, deals, layout, name, buckets)


def walk_paths(
    tree: PublicTree, deals: Deals, layout: BucketLayout, name: str, buckets: Callable[[Cells], Buckets]
) -> None:
    """Tell slots a second of one kind of buckets."""
    paths = DealtPaths(tree.walk, deals, layout, buckets, np.float32)
    regrets, averages = layout.zeros(np.float32), layout.zeros(np.float32)
    steps = Steps(1, np.ones((LIMIT_ITERATIONS, 2, 5)), np.ones(LIMIT_ITERATIONS))
    paths.learn(SEED, steps, regrets, averages)  # pages are touched, kernels may have to be compiled
    began = time.process_time()
    paths.learn(SEED, steps, regrets, averages)
    seconds, slots, hands = time.process_time() - began, 0, 0
    kinds = zip(tree.betting.player, tree.betting.round, tree.betting.kind, strict=True)
    decisions = Counter((int(q), int(r)) for q, r, kind in kinds if kind == DECISION)
    num_decisions = np.array([[decisions[q, r] for r in range(4)] for q in (0, 1)])
    for iteration in range(1, LIMIT_ITERATIONS + 1):
        cells = np.diff(paths.walker(paths.sample(SEED, iteration)).full.cell_begin)
        slots += int((cells * tree.walk.num_slots).sum())
        hands += int((cells * num_decisions).sum())
    print(
        f"limit hold'em, buckets {name}: {slots / seconds / 1e6:.0f} million slots, "
        f"{hands / seconds / 1e6:.0f} million hands at decisions a second, "
        f"{seconds / LIMIT_ITERATIONS * 1000:.0f} ms an iteration",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--abstraction", metavar="FOLDER")
    folder = parser.parse_known_args()[0].abstraction
    tree = PublicTree.of(load_game("holdem-2-1"))
    compare_walks(tree)
    if folder is None:
        for algorithm in ("pcs", "opcs", "spcs"):
            converge(tree, algorithm)
    limit_holdem(folder)


if __name__ == "__main__":
    main()
