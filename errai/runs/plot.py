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
    curves: Mapping[str, Curve],
    path: str | Path,
    title: str,
    what: str,
    over: str = "iterations",
    *,
    is_logarithmic: bool = True,
    is_over_logarithmic: bool = True,
) -> None:
    """Draw curves on logarithmic axes.

    Args:
        curves: iterations and values by name of the curve.
        path: the picture; its ending decides the format.
        title: stands above.
        what: the name of the values.
        over: the name of the horizontal axis.
        is_logarithmic: whether the vertical axis is, too; values of zero or less have no logarithm and are
            then left out.
        is_over_logarithmic: whether the horizontal axis is.
    """
    verify_plots()
    from matplotlib.figure import Figure  # not pyplot, which would look for a screen

    figure = Figure(figsize=(7, 5), layout="constrained")
    over_scale, scale = ("log" if chosen else "linear" for chosen in (is_over_logarithmic, is_logarithmic))
    axes = figure.add_subplot(xscale=over_scale, yscale=scale, xlabel=over, ylabel=what, title=title)
    for name, (iterations, values) in curves.items():
        shown = [(x, y) for x, y in zip(iterations, values, strict=True) if y > 0 or not is_logarithmic]
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
