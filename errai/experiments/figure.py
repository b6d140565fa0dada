"""What a figure is: how its curves are made, and what the paper says of them.

Most are figures of papers, exploitability over iterations. One of our own measurements says what its axes are
and what is expected of it.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from errai.errors import UsageError
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.runs.plot import plot_curves

POINTS_A_DECADE = 12

QUICK, PAPER = "quick", "paper"
"""Names of sizes: one that ends in minutes, and the paper's."""

Tell = Callable[[str, int, int], None]
"""Called with what is being done, steps done and steps in all."""


@dataclass(frozen=True)
class Curves:
    """What a figure shows.

    Attributes:
        points: [point] iterations, or what else the curves run over.
        values: [point] what was measured, by name of the curve.
        left_out: curves that could not be made here, and why; a sentence each.
        beside: [point] by name: columns of the data that are not drawn.
        notes: what else was seen; a line each.
        rows: of a table that goes with the curves, a column for each name; written to a file of its own.
    """

    points: Sequence[float]
    values: dict[str, Sequence[float]]
    left_out: tuple[str, ...] = ()
    beside: dict[str, Sequence[float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rows: Sequence[Mapping[str, str | float]] = ()

    def first_at(self, curve: str, target: float) -> float | None:
        """Return the first measured point at which a curve is at most `target`."""
        pairs = zip(self.points, self.values[curve], strict=True)
        return next((point for point, value in pairs if value <= target), None)

    def write_csv(self, path: Path, point: str = "iteration") -> None:
        """Write the curves, a row for each measured iteration, or what else a point is."""
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            columns = self.values | self.beside
            writer.writerow([point, *columns])
            writer.writerows(zip(self.points, *columns.values(), strict=True))

    def write_rows(self, path: Path) -> None:
        """Write the table that goes with the curves."""
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)


@dataclass(frozen=True)
class Size:
    """How much of a figure is made.

    Attributes:
        amount: iterations, or seconds, of each curve.
        runs: independent runs whose mean a curve is.
        parts: which games, abstractions and so on; what the names mean is up to the figure.
    """

    amount: float
    runs: int = 1
    parts: tuple[str, ...] = ()

    @property
    def iterations(self) -> int:
        """The amount of a figure over iterations."""
        return int(self.amount)


class PublishedCrossing(NamedTuple):
    """Where a curve reaches a value, as published.

    Attributes:
        curve: its name.
        target: the value.
        iteration: the first at which it is reached; None where the paper's curve does not reach it.
        is_printed: whether the paper prints a number at all.
    """

    curve: str
    target: float
    iteration: int | None = None
    is_printed: bool = True


class Axes(NamedTuple):
    """What a figure is over, and of.

    Attributes:
        steps: what `--iterations` counts; where it is seconds, `--time`.
        point: of the horizontal axis, as the data's first column is named.
        points: the same in the plural.
        what: the name of the values.
        is_logarithmic: whether the vertical axis is.
        expected: why claims are expected to hold.
        is_over_logarithmic: whether the horizontal axis is logarithmic.
    """

    steps: str = "iterations"
    point: str = "iteration"
    points: str = "iterations"
    what: str = "exploitability"
    is_logarithmic: bool = True
    expected: str = "as published"
    is_over_logarithmic: bool = True


ITERATIONS = Axes()
SECONDS = Axes("seconds", "second", "seconds")
"""Of figures of papers: exploitability over iterations, or over the time that they take."""


class Draw(Protocol):
    """Makes the curves of a figure."""

    def __call__(self, size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
        """Return the curves.

        Args:
            size: how much of the figure is made.
            seed: of everything random.
            tell: whom to tell.
            kept: where parts that are done are kept.
        """


@dataclass(frozen=True)
class Figure:
    """How a figure is made and what the paper says of it.

    Attributes:
        title: what it shows.
        unit: of exploitability, as told.
        sizes: by name; `PAPER` as much as the paper has, `QUICK` where that takes more than minutes.
        draw: makes the curves.
        crossings: where curves reach certain values.
        claims: curve, another curve that the paper has above it at the end.
        ends: end of a curve's name, published value at the end.
        axes: what the axes of the picture and the counted steps are.
    """

    title: str
    unit: str
    sizes: dict[str, Size]
    draw: Draw
    crossings: tuple[PublishedCrossing, ...] = ()
    claims: tuple[tuple[str, str], ...] = ()
    ends: tuple[tuple[str, float], ...] = ()
    axes: Axes = ITERATIONS

    def size(self, name: str | None = None) -> Size:
        """Return a size by its name; without one, the least that there is."""
        if name is None:
            name = QUICK if QUICK in self.sizes else PAPER
        if name not in self.sizes:
            raise UsageError(f"'{name}' is not a size of this figure: expected {' or '.join(self.sizes)}")
        return self.sizes[name]


class Crossing(NamedTuple):
    """Where a curve reaches a value, here and as published."""

    published: PublishedCrossing
    point: float | None


class End(NamedTuple):
    """Where a curve ends, here and as published."""

    curve: str
    value: float
    published: float


class Claim(NamedTuple):
    """That a curve ends below another one, as published, and whether it does here."""

    below: str
    above: str
    holds: bool


@dataclass(frozen=True)
class Comparison:
    """A figure made again, beside the published one.

    Attributes:
        curves: as made here.
        crossings: one for each of the figure's.
        ends: one for each curve whose end is published.
        claims: one for each of the figure's.
    """

    curves: Curves
    crossings: tuple[Crossing, ...]
    ends: tuple[End, ...]
    claims: tuple[Claim, ...]


def compare(figure: Figure, curves: Curves) -> Comparison:
    """Lay curves beside what the paper says of them."""
    values = curves.values
    return Comparison(
        curves,
        tuple(Crossing(one, curves.first_at(one.curve, one.target)) for one in figure.crossings),
        tuple(
            End(curve, values[curve][-1], published)
            for curve in values
            for suffix, published in figure.ends
            if curve.endswith(suffix)
        ),
        tuple(
            Claim(low, high, values[low][-1] < values[high][-1])
            for low, high in figure.claims
            if low in values and high in values
        ),
    )


def draw_picture(figure: Figure, curves: Curves, path: Path) -> None:
    """Draw the curves."""
    axes = figure.axes
    points = {curve: (curves.points, values) for curve, values in curves.values.items()}
    what = f"{axes.what} ({figure.unit})"
    plot_curves(
        points,
        path,
        figure.title,
        what,
        axes.points,
        is_logarithmic=axes.is_logarithmic,
        is_over_logarithmic=axes.is_over_logarithmic,
    )


def points_to_measure(iterations: int) -> list[int]:
    """Return the iterations to measure, evenly on a logarithmic axis, the last one included.

    >>> points_to_measure(10)
    [1, 2, 3, 4, 5, 6, 7, 8, 10]
    """
    grid = {round(10 ** (k / POINTS_A_DECADE)) for k in range(POINTS_A_DECADE * 10)}
    return sorted({point for point in grid if point < iterations} | {iterations})
