"""Numbers as bars: columns and lines of a terminal, or a picture."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.abstraction.describe import Profile

EIGHTHS_UP = " ▁▂▃▄▅▆▇█"
EIGHTHS_RIGHT = " ▏▎▍▌▋▊▉█"


def folded(values: Sequence[float], width: int) -> list[float]:
    """Sum neighbours until there are no more numbers than the width has room for.

    >>> folded([0.5, 0.25, 0.25], 2)
    [0.75, 0.25]
    """
    fold = -(-len(values) // max(width, 1))
    return [sum(values[i : i + fold]) for i in range(0, len(values), fold)]


def columns(values: Sequence[float], height: int, most: float, blocks: str) -> list[str]:
    """Draw columns that stand side by side, from the top line to the bottom one.

    Args:
        values: one a column.
        height: lines.
        most: value of a column that fills all lines, above 0.
        blocks: characters from an empty cell to a full one.

    >>> columns([0.0, 0.5, 1.0], 2, 1.0, " #")
    ['  #', ' ##']
    """
    steps = len(blocks) - 1
    # What is there is seen, however little.
    filled = [max(1, round(height * steps * min(1.0, v / most))) if v > 0 else 0 for v in values]
    return [
        "".join(blocks[max(0, min(steps, level - floor * steps))] for level in filled).rstrip()
        for floor in range(height - 1, -1, -1)
    ]


def line(share: float, width: int, blocks: str) -> str:
    """Draw a line of a length in proportion to a share of 0 to 1, padded to the width.

    >>> line(0.5, 4, " #")
    '##  '
    """
    steps = len(blocks) - 1
    filled = round(width * steps * min(max(share, 0.0), 1.0))
    full, rest = divmod(filled, steps)
    return (blocks[-1] * full + (blocks[rest] if rest else "")).ljust(width)


def blocks_up() -> str:
    """Return the characters of columns that standard output can show."""
    return EIGHTHS_UP if _can_show(EIGHTHS_UP) else " #"


def blocks_right() -> str:
    """Return the characters of lines that standard output can show."""
    return EIGHTHS_RIGHT if _can_show(EIGHTHS_RIGHT) else " #"


def _can_show(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plot_profiles(profiles: dict[str, "Profile"], path: str | Path, title: str) -> None:
    """Draw hands or buckets side by side: chances of each strength, and strength against clusters.

    Args:
        profiles: by name.
        path: the picture; its ending decides the format.
        title: stands above.
    """
    from matplotlib.figure import Figure  # not pyplot, which would look for a screen

    has_points = all(profile.points for profile in profiles.values())
    figure = Figure(figsize=(10, 4) if has_points else (6, 4), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(1, 2 if has_points else 1, squeeze=False)[0]
    if has_points:
        for name, profile in profiles.items():
            axes[0].plot(profile.grid, profile.points, drawstyle="steps-mid", label=name, linewidth=1.2)
            axes[0].fill_between(profile.grid, profile.points, step="mid", alpha=0.25)
        axes[0].set(xlabel="hand strength at the end", ylabel="chance", xlim=(0, 1))
        axes[0].legend()
    width = 0.8 / len(profiles)
    for place, (name, profile) in enumerate(profiles.items()):
        values = [profile.strength, *profile.ochs]
        positions = [k + (place - (len(profiles) - 1) / 2) * width for k in range(len(values))]
        axes[-1].bar(positions, values, width, label=name)
    labels = ["all", *map(str, range(len(profile.ochs)))]
    axes[-1].set_xticks(range(len(labels)), labels)
    axes[-1].set(
        xlabel="opponent cluster, from weak to strong hands", ylabel="strength against it", ylim=(0, 1)
    )
    axes[-1].legend()
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise UsageError(f"'{path}' cannot be drawn: {str(error).splitlines()[0]}") from None
