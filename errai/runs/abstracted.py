"""Abstract strategies learnt against a player who sees everything.

"CFR A-vs-U" of chapter 4 of Johanson's thesis ("Robust Strategies and Counter-Strategies: From Superhuman to
Optimal Play", 2016): where both players are abstracted, each learns to beat an opponent who is as blind as
itself. So the game is solved twice, with one position abstracted and the other not; what the abstracted
positions have learnt is one strategy, the least exploitable that the abstraction can express.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from errai.abstraction.protocol import AbstractionPair, CardAbstraction
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.response.results import Exploitability
from errai.runs.evaluation import Evaluation
from errai.runs.job import prepare
from errai.runs.run import configure
from errai.solvers.solve import DEFAULT_ITERATIONS, StopRule
from errai.solvers.table_solver import Measurement
from errai.solvers.update_rules import UpdateRule
from errai.strategy.strategy import Strategy


@dataclass(frozen=True, eq=False)
class AgainstFull:
    """An abstract strategy whose positions have learnt against an opponent who sees everything.

    Attributes:
        strategy: both positions, abstracted.
        measurements: its exploitability along the way; seconds are those of both solutions.
        iterations: of each solution.
    """

    strategy: Strategy
    measurements: tuple[Measurement, ...]
    iterations: int


def solve_abstracted_against_full(
    game: PokerRules,
    abstraction: CardAbstraction | tuple[CardAbstraction, CardAbstraction],
    algorithm: str | UpdateRule = "cfr+",
    iterations: int = DEFAULT_ITERATIONS,
    *,
    report: Callable[[int, Measurement], None] | None = None,
    between: Callable[[], bool] | None = None,
    **options: Any,
) -> AgainstFull:
    """Solve a game twice, each position abstracted against an unabstracted opponent.

    Args:
        game: from `load_game`.
        abstraction: of both positions, or one for each.
        algorithm: as for `solve`.
        iterations: of each solution.
        report: called with the abstracted position and each measurement of its solution.
        between: called about once a second between iterations; True ends the work with `KeyboardInterrupt`.
        options: of `solve`: `bets`, `alternating`, `delay`, `discount`, `dtype`, `num_threads`,
            `measure_every`.
    """
    pair = abstraction if isinstance(abstraction, tuple) else (abstraction, abstraction)
    if len(pair) != 2 or None in pair:
        raise UsageError("both positions need an abstraction: one of them has none to learn with")
    if options.get("payoffs") is not None:
        raise UsageError(
            "abstractions against a full opponent are measured in plain poker: no payoffs go with it"
        )
    tree = PublicTree.of(game, options.get("bets")).abstracted_by(pair)
    tables, measured = [], []
    for position, one in enumerate(pair):
        seen: AbstractionPair = (one, None) if position == 0 else (None, one)
        rest = {name: options[name] for name in ("num_threads", "measure_every") if name in options}
        chosen = {name: value for name, value in options.items() if name not in rest}
        configured = configure(game, algorithm, abstraction=seen, **chosen)
        job = prepare(configured, StopRule(iterations), **rest)

        def tell(evaluation: Evaluation, position: int = position) -> None:
            if report is not None and evaluation.measurement is not None:
                report(position, evaluation.measurement)

        run = job.run(tell, between)
        if run.interrupted:
            raise KeyboardInterrupt
        tables.append(run.average.tables[position])
        measured.append(run.measurements)
    return AgainstFull(
        Strategy(tree, (tables[0], tables[1])),
        tuple(_joined(first, second) for first, second in zip(*measured, strict=True)),
        iterations,
    )


def _joined(first: Measurement, second: Measurement) -> Measurement:
    """Return the exploitability of both abstracted halves: a best response to each sits opposite to it."""
    assert first.iteration == second.iteration
    opposite = (second.exploitability.best_response_values[0], first.exploitability.best_response_values[1])
    measured = Exploitability(opposite, first.exploitability.big_blind)
    return Measurement(first.iteration, first.seconds + second.seconds, measured)
