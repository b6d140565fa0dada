"""Abstractions by name or folder, and abstract strategies learnt against a player who sees everything.

"CFR A-vs-U" of chapter 4 of Johanson's thesis ("Robust Strategies and Counter-Strategies: From Superhuman to
Optimal Play", 2016): where both players are abstracted, each learns to beat an opponent who is as blind as
itself. So the game is solved twice, with one position abstracted and the other not; what the abstracted
positions have learnt is one strategy, the least exploitable that the abstraction can express.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from errai.abstraction.named_groups import LEDUC, leduc_abstraction
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
from errai.tree.buckets import FULL


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


def find_abstractions(text: str, game: PokerRules) -> AbstractionPair:
    """Return what both positions see.

    Args:
        text: the folder of a saved abstraction, a name such as `[JQ.K]` in Leduc hold'em, or `full`; or two
            of these with `/` between them, one for each position.
        game: the game to be solved.
    """
    if _is_abstraction(text, game):
        one = _find_abstraction(text)
        return one, one
    for place, letter in enumerate(text):
        first, second = text[:place].strip(), text[place + 1 :].strip()
        if letter == "/" and _is_abstraction(first, game) and _is_abstraction(second, game):
            return _find_abstraction(first), _find_abstraction(second)
    named = "a name such as '[JQ.K]', " if game.name == LEDUC else ""
    raise UsageError(
        f"'{text}' is not an abstraction of '{game.name}': expected {named}the folder of a saved one or "
        "'full', or two of them with '/' between"
    )


def names_abstractions(text: str, game: PokerRules) -> bool:
    """Return whether `find_abstractions` knows what a text stands for; nothing is read."""
    if _is_abstraction(text, game):
        return True
    pairs = [(text[:i].strip(), text[i + 1 :].strip()) for i, letter in enumerate(text) if letter == "/"]
    return any(_is_abstraction(first, game) and _is_abstraction(second, game) for first, second in pairs)


def _is_abstraction(text: str, game: PokerRules) -> bool:
    if text == FULL or (text and Path(text).is_dir()):
        return True
    if game.name != LEDUC:
        return False
    try:
        leduc_abstraction(text)
    except UsageError:
        return False
    return True


def _find_abstraction(text: str) -> CardAbstraction | None:
    if text == FULL:
        return None
    if Path(text).is_dir():
        from errai.abstraction.load import load_abstraction  # takes its time, and names do not need it

        return load_abstraction(text)
    return leduc_abstraction(text)
