"""Convergence as a picture: exploitability over iterations, both axes logarithmic."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from errai.errors import UsageError
from errai.solvers.table_solver import Measurement

Curve = tuple[Sequence[float], Sequence[float]]


def plot_convergence(curves: Mapping[str, Sequence[Measurement]], path: str | Path, title: str) -> None:
    """Draw the exploitability of some runs.

    Args:
        curves: measurements by name of the curve.
        path: the picture; its ending decides the format.
        title: what was solved.
    """
    points = {
        name: (
            [measurement.iteration for measurement in curve],
            [measurement.exploitability.mbb_per_game for measurement in curve],
        )
        for name, curve in curves.items()
    }
    plot_curves(points, path, title, "exploitability (mbb/g)")


def plot_curves(
    curves: Mapping[str, Curve], path: str | Path, title: str, what: str, axis: str = "iterations"
) -> None:
    """Draw curves on two logarithmic axes.

    Args:
        curves: points and values by name of the curve; values of zero or less have no logarithm and
            are left out.
        path: the picture; its ending decides the format.
        title: stands above.
        what: the name of the values.
        axis: the name of the points.
    """
    verify_plots()
    from matplotlib.figure import Figure  # not pyplot, which would look for a screen

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel=axis, ylabel=what, title=title)
    for name, (points, values) in curves.items():
        shown = [(x, y) for x, y in zip(points, values, strict=True) if y > 0]
        marker = "." if len(shown) < 100 else ""
        axes.plot([x for x, _ in shown], [y for _, y in shown], label=name, marker=marker, linewidth=1.2)
    axes.grid(True, which="both", alpha=0.3)
    if curves:
        axes.legend()
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise UsageError(f"'{path}' cannot be drawn: {str(error).splitlines()[0]}") from None


def verify_plots() -> None:
    """Refuse to draw where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            "drawing needs matplotlib, which is not installed: pip install 'errai[plots]' brings it"
        ) from None
