"""`errai reproduce`: figures of papers, made again: data as CSV, a picture as PNG, and a comparison.

CEP: Tammelin, Burch, Johanson and Bowling, "Solving Heads-up Limit Texas Hold'em" (IJCAI 2015).

- cepheus-figure-1a: regret matching and regret matching+, averages with constant and with linear weights,
  in Rhode Island hold'em.
- cepheus-figure-1b: average and current strategies of CFR and CFR+ in Rhode Island hold'em.
- cepheus-figure-2a: CFR and CFR+ in skewed matching pennies.
- cepheus-figure-2b: the same in ten random 1000 x 1000 matrices; the curves are means.

THESIS: Johanson, "Robust Strategies and Counter-Strategies: From Superhuman to Optimal Play" (2016).

- thesis-figure-4.4: [2-4] hold'em with a perfect-recall abstraction of 5 buckets a round, both players
  abstracted and each against an unabstracted opponent.
- thesis-figure-4.5: the same with an imperfect-recall abstraction of 169 and 570 buckets.

Of CEP's figure 1 the paper prints no numbers, only which curve lies below which; of figure 2 it prints the
first iterations at which the curves reach certain values. Players update in turn in all curves. Of THESIS's
figures the text tells where the curves end, but not how hands were put into buckets: more than one way is
tried.
"""

import csv
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from errai.cli.output import Json, Seed, print_json, whole_number
from errai.cli.progress import SECONDS_BETWEEN_LINES
from errai.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from errai.solvers.update_rules import UpdateRule

RHODE_ISLAND = "rhode-island"
ABSTRACTED_GAME = "holdem-2-4"
BOTH_ABSTRACTED = "A-vs-A"
AGAINST_FULL = "A-vs-U"
POINTS_A_DECADE = 12
NUM_MATRICES = 10
MATRIX_SIZE = 1000
MATCHING_PENNIES = ((1.0, -2.0), (-2.0, 4.0))
"""The row player wins 1 on two heads, 4 on two tails, and loses 2 otherwise (CEP)."""


@dataclass(frozen=True)
class Curves:
    """What a figure shows.

    Attributes:
        iterations: [point].
        values: [point] exploitability, by name of the curve.
    """

    iterations: Sequence[int]
    values: dict[str, Sequence[float]]

    def first_at(self, curve: str, target: float) -> int | None:
        """Return the first measured iteration at which a curve is at most `target`."""
        pairs = zip(self.iterations, self.values[curve], strict=True)
        return next((iteration for iteration, value in pairs if value <= target), None)


@dataclass(frozen=True)
class Figure:
    """How a figure is made and what the paper says of it.

    Attributes:
        title: what it shows.
        unit: of exploitability.
        iterations: as many as are run without --iterations.
        draw: iterations and seed to curves.
        crossings: curve, target, published iteration; None where the paper's curve does not reach it in
            10,000 iterations, 0 where it prints no number.
        claims: curve, another curve that the paper has above it at the end.
        ends: end of a curve's name, published value at the end.
    """

    title: str
    unit: str
    iterations: int
    draw: Callable[[int, int], Curves]
    crossings: tuple[tuple[str, float, int | None], ...] = ()
    claims: tuple[tuple[str, str], ...] = ()
    ends: tuple[tuple[str, float], ...] = ()


def _points(iterations: int) -> list[int]:
    """Return the iterations to measure, evenly on a logarithmic axis, the last one included."""
    grid = {round(10 ** (k / POINTS_A_DECADE)) for k in range(POINTS_A_DECADE * 10)}
    return sorted({point for point in grid if point < iterations} | {iterations})


class _Lines:
    """Tells on standard error how far a figure is, not too often."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def tell(self, text: str) -> None:
        if time.monotonic() - self._told >= SECONDS_BETWEEN_LINES:
            self._told = time.monotonic()
            print(f"errai: {text}", file=sys.stderr, flush=True)


def _rhode_island(rules: dict[str, "UpdateRule"], iterations: int, current: bool) -> Curves:
    """Solve Rhode Island hold'em with some update rules; measure averages and, if asked, currents."""
    from errai.engine.public_tree import PublicTree
    from errai.games.catalogue import load_game
    from errai.solvers.solve import Solver

    tree = PublicTree.of(load_game(RHODE_ISLAND))
    points = _points(iterations)
    lines = _Lines()
    values: dict[str, Sequence[float]] = {}
    for name, rule in rules.items():
        solver = Solver(tree, rule)
        averages: list[float] = []
        currents: list[float] = []
        for point in points:
            solver.run(point - solver.iteration)
            averages.append(solver.measure().exploitability.mbb_per_game)
            if current:
                currents.append(solver.measure(current=True).exploitability.mbb_per_game)
            lines.tell(f"{name}: iteration {point:,} of {iterations:,}, {averages[-1]:.4g} mbb/g")
        values[f"{name} average" if current else name] = averages
        if current:
            values[f"{name} current"] = currents
    return Curves(points, values)


def _figure_1a(iterations: int, seed: int) -> Curves:
    from errai.solvers.update_rules import FactorRule

    rules: dict[str, UpdateRule] = {
        "RM, constant (CFR)": FactorRule(),
        "RM, linear": FactorRule(average_power=1.0),
        "RM+, constant": FactorRule(floor=True),
        "RM+, linear (CFR+)": FactorRule(floor=True, average_power=1.0),
    }
    return _rhode_island(rules, iterations, current=False)


def _figure_1b(iterations: int, seed: int) -> Curves:
    from errai.solvers.update_rules import find_rule

    return _rhode_island({"CFR": find_rule("cfr"), "CFR+": find_rule("cfr+")}, iterations, current=True)


def _mean_curves(games: Callable[[int], "np.ndarray"], num_games: int, iterations: int) -> Curves:
    import numpy as np

    from errai.solvers.matrix import solve_matrix

    lines = _Lines()
    values: dict[str, Sequence[float]] = {}
    for name in ("cfr", "cfr+"):
        total = np.zeros(iterations)
        for number in range(num_games):
            total += solve_matrix(games(number), name, iterations).exploitability
            lines.tell(f"{name}: game {number + 1} of {num_games}")
        values[name.upper()] = (total / num_games).tolist()
    return Curves(range(1, iterations + 1), values)


def _figure_2a(iterations: int, seed: int) -> Curves:
    import numpy as np

    return _mean_curves(lambda _: np.array(MATCHING_PENNIES), 1, iterations)


def _figure_2b(iterations: int, seed: int) -> Curves:
    import numpy as np

    def game(number: int) -> "np.ndarray":
        return np.random.default_rng([seed, number]).standard_normal((MATRIX_SIZE, MATRIX_SIZE))

    return _mean_curves(game, NUM_MATRICES, iterations)


def _abstracted_holdem(bucketings: Sequence[tuple[str, str]], iterations: int, seed: int) -> Curves:
    """Solve [2-4] hold'em with some abstractions; those that need hold'em's features only where they are."""
    from errai.abstraction.features.features import FeaturePlan
    from errai.experiments.abstraction_figures import abstraction_curves, build_for
    from errai.games.catalogue import load_game
    from errai.games.rules import PokerRules

    game = load_game(ABSTRACTED_GAME)
    assert isinstance(game, PokerRules)
    points = _points(iterations)
    lines = _Lines()
    values: dict[str, Sequence[float]] = {}
    for recipe, features_of in bucketings:
        rules = load_game(features_of) if features_of else game
        assert isinstance(rules, PokerRules)
        if features_of and not FeaturePlan(rules).is_complete():
            print(
                f"errai: '{recipe}' is left out, which needs the features of {features_of}: "
                f"'errai abstract features {features_of}' builds them",
                file=sys.stderr,
            )
            continue
        abstraction = build_for(game, recipe, rules, seed)
        found = abstraction_curves(game, abstraction, points, lines.tell)
        values[f"{abstraction.name}, {BOTH_ABSTRACTED}"] = found.both
        values[f"{abstraction.name}, {AGAINST_FULL}"] = found.against_full
    return Curves(points, values)


def _figure_4_4(iterations: int, seed: int) -> Curves:
    bucketings = (("PR-PHS 5x1-5", ""), ("PR-PHS-PHS-C-C 5x1-5x1-C-C", "limit-holdem"))
    return _abstracted_holdem(bucketings, iterations, seed)


def _figure_4_5(iterations: int, seed: int) -> Curves:
    bucketings = (
        ("IR-KO 169-570", ""),
        ("IR-C-KE-C-C 169-570-C-C", "limit-holdem"),
        ("IR-C-KO-C-C 169-570-C-C", "limit-holdem"),
    )
    return _abstracted_holdem(bucketings, iterations, seed)


NO_NUMBER = 0

FIGURES = {
    "cepheus-figure-1a": Figure(
        "Rhode Island hold'em: regret matching and weighting",
        "mbb/g",
        2000,
        _figure_1a,
        tuple(
            (curve, target, NO_NUMBER)
            for curve in ("RM, constant (CFR)", "RM, linear", "RM+, constant", "RM+, linear (CFR+)")
            for target in (10.0, 1.0)
        ),
        (("RM+, constant", "RM, constant (CFR)"), ("RM+, linear (CFR+)", "RM+, constant")),
    ),
    "cepheus-figure-1b": Figure(
        "Rhode Island hold'em: average and current strategies",
        "mbb/g",
        2000,
        _figure_1b,
        tuple(
            (curve, target, NO_NUMBER)
            for curve in ("CFR average", "CFR current", "CFR+ average", "CFR+ current")
            for target in (10.0, 1.0)
        ),
        (("CFR+ current", "CFR average"), ("CFR+ average", "CFR average"), ("CFR average", "CFR current")),
    ),
    "cepheus-figure-2a": Figure(
        "Skewed matching pennies",
        "chips",
        10_000,
        _figure_2a,
        (("CFR", 1e-3, 3539), ("CFR+", 1e-3, 343)),
    ),
    "cepheus-figure-2b": Figure(
        "Random 1000 x 1000 matrices, mean of 10",
        "chips",
        10_000,
        _figure_2b,
        (
            ("CFR", 1e-3, 510),
            ("CFR", 1e-4, None),
            ("CFR+", 1e-3, 83),
            ("CFR+", 1e-4, 331),
            ("CFR+", 1e-6, 4836),
        ),
    ),
    "thesis-figure-4.4": Figure(
        "[2-4] hold'em, perfect recall, 5 buckets a round",
        "mbb/g",
        200,
        _figure_4_4,
        ends=((BOTH_ABSTRACTED, 144.0), (AGAINST_FULL, 81.0)),
    ),
    "thesis-figure-4.5": Figure(
        "[2-4] hold'em, imperfect recall, 570 buckets",
        "mbb/g",
        200,
        _figure_4_5,
        ends=((BOTH_ABSTRACTED, 103.0), (AGAINST_FULL, 25.0)),
    ),
}


def reproduce_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join(FIGURES)}.")],
    out: Annotated[str, typer.Option("--out", metavar="FOLDER", help="Where data and picture go.")] = ".",
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            parser=whole_number,
            metavar="INTEGER",
            help="Fewer or more than the figure has, which takes minutes.",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Make a figure of a paper again: data, picture, comparison."""
    if name not in FIGURES:
        raise UsageError(f"'{name}' is not a figure that can be reproduced: {', '.join(FIGURES)} are allowed")
    figure = FIGURES[name]
    number = figure.iterations if iterations is None else iterations
    if number < 1:
        raise UsageError(f"{number} iterations are impossible: 1 or more are allowed")
    from errai.runs.plot import plot_curves, verify_plots

    verify_plots()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    curves = figure.draw(number, seed)
    data, picture = folder / f"{name}.csv", folder / f"{name}.png"
    with open(data, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["iteration", *curves.values])
        writer.writerows(zip(curves.iterations, *curves.values.values(), strict=True))
    points = {curve: (curves.iterations, values) for curve, values in curves.values.items()}
    plot_curves(points, picture, figure.title, f"exploitability ({figure.unit})")
    crossings = [
        (curve, target, curves.first_at(curve, target), published)
        for curve, target, published in figure.crossings
    ]
    ends = [
        (curve, values[-1], published)
        for curve, values in curves.values.items()
        for suffix, published in figure.ends
        if curve.endswith(suffix)
    ]
    claims = [
        {"below": low, "above": high, "holds": curves.values[low][-1] < curves.values[high][-1]}
        for low, high in figure.claims
    ]
    if json:
        print_json(
            {
                "figure": name,
                "iterations": number,
                "seed": seed,
                "unit": figure.unit,
                "crossings": [
                    {"curve": curve, "target": target, "iteration": iteration, "published": published or None}
                    for curve, target, iteration, published in crossings
                ],
                "ends": [
                    {"curve": curve, "value": value, "published": published}
                    for curve, value, published in ends
                ],
                "claims": claims,
                "data": str(data),
                "picture": str(picture),
            }
        )
        return
    print(f"{name}: {figure.title}, {number:,} iterations, seed {seed}")
    for curve, target, iteration, published in crossings:
        print(
            f"  {curve} reaches {target:g} {figure.unit} {_at(iteration, number)} "
            f"(published: {_published(published)})"
        )
    for curve, value, number_published in ends:
        print(f"  {curve} ends at {value:.1f} {figure.unit} (published: {number_published:g})")
    for claim in claims:
        holds = "holds" if claim["holds"] else "does not hold"
        print(f"  {claim['below']} ends below {claim['above']}, as published: {holds}")
    print(f"data in {data}, picture in {picture}")


def _at(iteration: int | None, number: int) -> str:
    return (
        f"first at iteration {iteration:,}" if iteration is not None else f"not within {number:,} iterations"
    )


def _published(iteration: int | None) -> str:
    if iteration == NO_NUMBER:
        return "no number"
    return f"{iteration:,}" if iteration is not None else "not within 10,000"
