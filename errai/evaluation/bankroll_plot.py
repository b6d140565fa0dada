"""Bankroll curves in the manner of THESIS chapter 8: what was won over a match, by several estimators."""

from collections.abc import Sequence
from pathlib import Path

from errai.errors import UsageError
from errai.evaluation.analysis import Estimated
from errai.runs.plot import verify_plots


def plot_bankrolls(estimates: Sequence[Estimated], path: str | Path, title: str) -> None:
    """Draw a curve for each estimator, with its mean and standard deviation in the legend.

    Args:
        estimates: of one match.
        path: the picture; its ending decides the format.
        title: stands above.
    """
    verify_plots()
    from matplotlib.figure import Figure  # not pyplot, which would look for a screen

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot(xlabel="hands", ylabel="bankroll (big blinds)", title=title)
    for one in estimates:
        label = f"{one.name} (mean {one.mbb_per_game:.0f}, std. dev. {one.deviation_mbb:.0f} mbb/g)"
        axes.plot(range(1, len(one.values) + 1), one.bankroll, label=label, linewidth=1.2)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise UsageError(f"'{path}' cannot be drawn: {str(error).splitlines()[0]}") from None
