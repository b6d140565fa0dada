"""THESIS figure 3.3: chance sampling and public chance sampling in abstract games of four sizes, by time.

Limit hold'em with perfect recall and n percentiles of E[HS2] in each round within each bucket of the round
before, so n^4 on the river; exploitability inside the abstract game. Published as curves without numbers: in
the smallest game CS is ahead, and PCS matches and then surpasses it as buckets grow. 5, 8, 10 and 12 buckets
are taken for the thesis's; 2 are added, where CS is far ahead.

Who is ahead by time depends on how fast each is programmed: PCS works on vectors of hands, which a processor
of today does many at a time, and CS on one deal. What does not depend on that is how many iterations of CS
one of PCS is worth, that is how many more of them CS needs to get as far. PCS is ahead where its iteration
takes less time than these. Both are told, and how many more *visits* an iteration of PCS makes, of decisions
with one hand each. Between measurements iterations are read off a line on logarithmic axes.

A measurement takes the best response on a sample of boards (`errai.response.bucket_response`), the same ones
for all curves of a size. It is too high on average; the data has beside each curve what the cross-validated
estimate says, which is too low. Measuring takes no time of the race.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from errai.abstraction.options import BuildOptions
from errai.abstraction.stored import PlannedAbstraction
from errai.engine.dealt_paths import DealtPaths
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.experiments.figure import PAPER, QUICK, SECONDS, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.race import published_rule, race, seconds_to_measure
from errai.games.catalogue import load_card_game
from errai.response.bucket_pairs import count_pairs
from errai.response.bucket_response import BucketResponse
from errai.response.results import SampledAbstractExploitability
from errai.solvers.public_sampling import PublicSampledSolver
from errai.solvers.sampled import SampledSolver
from errai.solvers.table_solver import TableSolver
from errai.solvers.update_rules import PathRule, SampledRule
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.tree.betting_tree import DECISION

GAME = "limit-holdem"
ALGORITHMS = ("cs", "pcs")
OURS, SMALL, LARGER = "2", "5", ("8", "10", "12")
"""Buckets a round: one size of our own, smaller than the thesis's, then the thesis's."""

NUM_BOARDS = 10_000
"""That a measurement is made on."""

MANY_ROWS = 1_000
"""Matrices of more rows are kept in two parts, those of fewer in ten."""

BELOW, ITERATIONS, VISITS = "cross-validated", "iterations", "visits"
"""Columns beside a curve."""

NUM_PATHS = 32
"""Whose hands are counted."""

FIRST_POINT = 2.0
"""Seconds before the first measurement, which itself takes seconds."""


def curve(buckets: str, algorithm: str) -> str:
    """Name a curve."""
    return f"{algorithm.upper()} in {buckets} buckets"


def recipe(buckets: str, num_rounds: int) -> str:
    """Return the name of the abstraction with so many percentiles of E[HS2] a round.

    >>> recipe("5", 4)
    'PR-PHS 5x1-5x1-5x1-5'
    """
    return f"PR-PHS {'-'.join((num_rounds - 1) * [f'{buckets}x1'])}-{buckets}"


class _Measure:
    """Measures solvers of one abstract game."""

    def __init__(self, tree: PublicTree, saved: SavedAbstraction, seed: int, tell: Tell) -> None:
        self._saved = saved
        layout = BucketStrategy.uniform(tree, saved.folder).layout
        pair = (saved.abstraction, saved.abstraction)
        num_parts = 10 if layout.rows.max() <= MANY_ROWS else 2
        self._response = BucketResponse(
            count_pairs(tree.rules, layout, pair, NUM_BOARDS, seed, num_parts, partial(tell, "boards"))
        )

    def __call__(self, solver: TableSolver) -> tuple[float, ...]:
        """Return the exploitability of the average strategy in the abstract game, and what stands beside it.

        In mbb/g, from above and from below; then iterations, and decisions that were visited with a hand.
        """
        found = self._response.exploitability(BucketStrategy(solver.tree, self._saved, solver.averages))
        assert isinstance(found, SampledAbstractExploitability)
        return found.mbb_per_game, found.cross_validated.mbb_per_game, solver.iteration, num_visits(solver)


def num_visits(solver: TableSolver) -> float:
    """Return the decisions that a solver has visited so far, counted once for each hand at each.

    Of PCS it is an estimate: hands at the boards of the first iterations stand for those of all.
    """
    if isinstance(solver, SampledSolver):
        return solver.num_visits
    assert isinstance(solver, PublicSampledSolver)
    betting = solver.tree.betting
    decisions = np.bincount(betting.round[betting.kind == DECISION], minlength=betting.num_rounds)
    engine = solver.engine
    assert isinstance(engine, DealtPaths)
    paths = [engine.sample(solver.seed, iteration) for iteration in range(1, NUM_PATHS + 1)]
    hands = [np.diff(engine.walker(path).full.cell_begin[0]) for path in paths]
    # Each player's walk visits the decisions of both.
    return float(2 * solver.iteration * np.mean([of_path @ decisions for of_path in hands]))


def iterations_to(target: float, iterations: Sequence[float], values: Sequence[float]) -> float:
    """Return after how many iterations a falling curve is at a value, along a line on logarithmic axes.

    >>> round(iterations_to(10.0, [10.0, 1000.0], [100.0, 1.0]), 9)
    100.0
    """
    falling = np.minimum.accumulate(values)[::-1]
    return float(np.exp(np.interp(np.log(target), np.log(falling), np.log(iterations)[::-1])))


def _worth(found: Curves, buckets: str) -> str:
    """Tell how many iterations of CS one of PCS is worth, takes as long as, and visits as much as."""
    cs, pcs = (curve(buckets, one) for one in ALGORITHMS)
    target = max(found.values[cs][-1], found.values[pcs][-1])
    done = {name: found.beside[f"{name}, {ITERATIONS}"] for name in (cs, pcs)}
    visits = {name: found.beside[f"{name}, {VISITS}"][-1] / done[name][-1] for name in (cs, pcs)}
    needed = {name: iterations_to(target, done[name], found.values[name]) for name in (cs, pcs)}
    return (
        f"at {target:.1f} mbb/g with {buckets} buckets an iteration of PCS is worth "
        f"{needed[cs] / needed[pcs]:,.0f} of CS's; it takes as long as {done[cs][-1] / done[pcs][-1]:,.0f} "
        f"and makes as many visits as {visits[pcs] / visits[cs]:,.0f}"
    )


def _abstraction(tree: PublicTree, buckets: str, tell: Tell) -> SavedAbstraction:
    """Return an abstraction of the cache, built first where it is missing; always the same one."""
    name = recipe(buckets, tree.rules.num_rounds)
    planned = PlannedAbstraction.of(tree.rules, name, BuildOptions(seed=0))
    planned.verify()
    planned.open(tell)
    return SavedAbstraction.open(planned.folder)


def _solver(tree: PublicTree, saved: SavedAbstraction, algorithm: str, seed: int) -> TableSolver:
    rule = published_rule(algorithm)
    if isinstance(rule, PathRule):
        return PublicSampledSolver.of_deals(tree, rule, saved, num_threads=1, seed=seed)
    assert isinstance(rule, SampledRule)
    pair = (saved.abstraction, saved.abstraction)
    return SampledSolver(tree, rule, num_threads=1, seed=seed, abstractions=pair)


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; the seed decides what is sampled."""
    tree = PublicTree.of(load_card_game(GAME))
    points = seconds_to_measure(size.amount, FIRST_POINT, points_a_doubling=1)
    values: dict[str, Sequence[float]] = {}
    beside: dict[str, Sequence[float]] = {}
    notes, left_out = [], []
    for buckets in size.parts:
        try:
            saved = _abstraction(tree, buckets, tell)
            measure = _Measure(tree, saved, seed, tell)
        except UsageError as error:  # what was raced so far is kept
            left_out.append(f"{buckets} buckets a round are left out: {error}")
            continue
        solvers = {curve(buckets, one): partial(_solver, tree, saved, one) for one in ALGORITHMS}
        found = race(solvers, size, seed, tell, measure, points, (BELOW, ITERATIONS, VISITS), kept)
        values |= found.values
        beside |= found.beside
        for name in solvers:
            notes.append(
                f"{name}: {values[name][-1]:.1f} mbb/g at the end on {NUM_BOARDS:,} boards, "
                f"{beside[f'{name}, {BELOW}'][-1]:.1f} on others than it is chosen on"
            )
        ahead = min(solvers, key=lambda name: values[name][-1])
        notes.append(f"{ahead} is ahead at the end")
        notes.append(_worth(found, buckets))
    return Curves(points, values, tuple(left_out), beside=beside, notes=tuple(notes))


FIGURE = Figure(
    "limit hold'em, perfect recall, percentiles of E[HS2], in the abstract game, one thread",
    "mbb/g",
    {QUICK: Size(32.0, 1, (OURS, SMALL, LARGER[0])), PAPER: Size(10_000.0, 5, (OURS, SMALL, *LARGER))},
    draw,
    claims=(
        (curve(SMALL, "cs"), curve(SMALL, "pcs")),
        *((curve(buckets, "pcs"), curve(buckets, "cs")) for buckets in LARGER),
    ),
    axes=SECONDS,
)
