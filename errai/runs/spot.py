"""`errai.solve_spot`: solve one hold'em sub-game from a board, two ranges, a pot, a stack and bet sizes.

Steps: build the spot's tree (`errai.strategy.spot_tree`), run an algorithm of the CFR family on it, measure
the exact exploitability of the average strategy, keep that strategy with the expected values of both
ranges (`errai.strategy.spot` answers questions about it).
"""

from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np
import numpy.typing as npt

from errai.engine.section import PLAY
from errai.errors import UsageError
from errai.solvers.solve import Solver, StopRule, configured_rule, run_solver, verify_measure_every
from errai.solvers.table_solver import Measurement
from errai.solvers.update_rules import UpdateRule
from errai.strategy.spot import SpotMeasurement, SpotResult
from errai.strategy.spot_tree import SpotBetting, SpotTree, Texts, build_spot_tree

DEFAULT_ALGORITHM = "dcfr"
SPOT_DISCOUNT = (1.5, 0.5, 2.0)
"""Exponents of `dcfr` where none are given.

On two river spots and a turn spot of 292 x 214 hands it took 43% to 74% of the iterations of `cfr+` to 0.1%
of the pot. Discounted CFR's own beta of 0, which forgets negative regrets, is a little faster at first; but
on the turn its current strategy fell apart after 290 iterations and cost the average a hundred more.
"""
MEASURE_EVERY = 10
"""Iterations between measurements where a target is to be reached and nothing else is said."""

_NO_STEP = np.zeros(5)


def solve_spot(
    board: str,
    ranges: Sequence[str | npt.ArrayLike],
    pot: float,
    stack: float | None = None,
    bets: Texts | None = None,
    raises: Texts | None = None,
    force_all_in: float = 0.0,
    iterations: int | None = None,
    *,
    limit: float | Sequence[float] | None = None,
    max_raises: int | None = None,
    chip: float | None = None,
    algorithm: str | UpdateRule = DEFAULT_ALGORITHM,
    discount: tuple[float, float, float] | None = None,
    until: float | None = None,
    seconds: float | None = None,
    dtype: npt.DTypeLike = np.float32,
    num_threads: int | None = None,
    measure_every: int | None = None,
    report: Callable[[SpotMeasurement], None] | None = None,
) -> SpotResult:
    """Solve one hold'em sub-game.

    Args:
        board: 3 to 5 cards, such as `QsJh2h7c`.
        ranges: of the first to act (OOP) and of the other (IP), as text (`88+, AJs:0.5`) or float[1326].
        pot: chips in the middle.
        stack: chips behind of each player; may be left out in a limit spot.
        bets: sizes of the first bet of a round, such as `50%, a`; rounds joined by `/`; a pair of texts by
            position (`errai.strategy.spot_tree` has the whole grammar).
        raises: sizes of raises, such as `60%, a`: a call plus that part of the pot after calling.
        force_all_in: a bet that would leave less than this part of the pot after a call becomes all-in.
        iterations: at most this many; without it 1,000, or any number where `until` or `seconds` is given.
        limit: the bet size of a limit spot in chips, or one for each round; instead of bets and raises.
        max_raises: bets and raises allowed in a round; by default 4 in limit spots, any number otherwise.
        chip: round bet sizes to multiples of this many chips.
        algorithm: `cfr`, `cfr+`, `linear-cfr`, `dcfr` or `pcfr+`, or an update rule.
        discount: (alpha, beta, gamma) for `dcfr`; by default `SPOT_DISCOUNT`.
        until: stop at this exploitability, in percent of the pot.
        seconds: stop after this many seconds.
        dtype: of tables and values.
        num_threads: by default all cores for large spots; the result does not depend on it.
        measure_every: iterations between measurements of exploitability.
        report: called after each measurement.
    """
    betting = SpotBetting.of(pot, stack, bets, raises, force_all_in, limit, max_raises, chip)
    return solve_spot_tree(
        build_spot_tree(board, ranges, betting),
        iterations,
        algorithm=algorithm,
        discount=discount,
        until=until,
        seconds=seconds,
        dtype=dtype,
        num_threads=num_threads,
        measure_every=measure_every,
        report=report,
    )


def solve_spot_tree(
    spot: SpotTree,
    iterations: int | None = None,
    *,
    algorithm: str | UpdateRule = DEFAULT_ALGORITHM,
    discount: tuple[float, float, float] | None = None,
    until: float | None = None,
    seconds: float | None = None,
    dtype: npt.DTypeLike = np.float32,
    num_threads: int | None = None,
    measure_every: int | None = None,
    report: Callable[[SpotMeasurement], None] | None = None,
    report_start: Callable[[], None] | None = None,
) -> SpotResult:
    """Solve a spot whose tree is built; arguments as in `solve_spot`.

    `report_start` is called when everything has been checked and the memory taken, before any iteration.
    """
    tree, pot = spot.tree, float(spot.betting.pot)
    unit = float(spot.betting.unit)
    if until is not None and not until > 0:
        raise UsageError(f"the target must be above 0% of the pot, not {until}%")
    verify_measure_every(measure_every)
    # The stop rule counts in thousandths of the least bet.
    least_bets = pot / unit / tree.game.big_blind
    stop = StopRule.of(iterations, None if until is None else until / 100 * least_bets * 1000, seconds)
    if measure_every is None and until is not None:
        measure_every = MEASURE_EVERY
    points: list[SpotMeasurement] = []

    def keep(measured: Measurement) -> None:
        chips = measured.exploitability.chips * unit
        points.append(SpotMeasurement(measured.iteration, measured.seconds, chips, 100 * chips / pot))
        if report is not None:
            report(points[-1])

    if discount is None and algorithm == "dcfr":
        discount = SPOT_DISCOUNT
    rule = configured_rule(algorithm, discount=discount)
    solver = Solver(tree, rule, dtype, num_threads)
    with closing(solver.walk) as walk:
        if report_start is not None:
            report_start()
        run_solver(solver, stop, measure_every, keep)
        tables = tree.layout.tables(solver.averages, solver.averages, solver.averages)
        values = [walk.mean_value(q, walk.walk_once(q, PLAY, tables, _NO_STEP)) for q in range(2)]
    # Both walks see one game of zero sum: their rounding errors are averaged and the sum is the pot.
    first = pot / 2 + (values[0] - values[1]) / 2 * unit
    return SpotResult(spot, rule.name, solver.averages, (first, pot - first), tuple(points))
