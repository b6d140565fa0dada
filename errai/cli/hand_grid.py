"""A decision of hold'em for people: a grid of 13 by 13 in the terminal, or as a picture.

Red is fold, blue is call and green is raise, as in figure 9.4 of Johanson's thesis 2016; a cell is cut into
parts in proportion. Where there is no colour, letters and tenths stand for it.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from errai.errors import UsageError

if TYPE_CHECKING:
    from rich.text import Text

    from errai.strategy.grid import HandGrid

FOLD, CALL, RAISE = "#b03a2e", "#2b6cb0", "#2f8f4e"
KIND_COLOURS = (FOLD, CALL, RAISE)
KIND_LETTERS = "fcr"
KIND_NAMES = ("fold", "call", "raise")

CELL_WIDTH = 5
"""Characters of a cell in colour, and so the parts that it is cut into."""

LEGEND_COLUMNS = 4
"""Actions side by side below a picture: the widths of five all-in raises do not fit."""

PURE = 0.95
"""From here on an action stands alone where there is no colour."""


def print_grid(grid: "HandGrid", title: str) -> None:
    """Print a decision, in colour where standard output shows it."""
    from rich.console import Console

    console = Console(highlight=False)
    print(title)
    if console.color_system is None or console.no_color:
        for line in plain_lines(grid):
            print(line)
        print(f"  {legend(grid)}")
        print("  F, C, R: fold, call or raise, 95% or more; r6f4: raise 60%, fold 40%; -: no hand")
        return
    for row in coloured_lines(grid):
        console.print(row, soft_wrap=True)
    key = "  ".join(
        f"[white on {colour}] {name} [/]" for name, colour in zip(KIND_NAMES, KIND_COLOURS, strict=True)
    )
    console.print(f"{key}  {legend(grid)}", soft_wrap=True)


def legend(grid: "HandGrid") -> str:
    """Say how often each action is taken, over all hands alike."""
    listed = ", ".join(
        f"{action} {100 * chance:.1f}%"
        for action, chance in zip(grid.actions, grid.frequencies.tolist(), strict=True)
    )
    return f"{listed} of {int(grid.counts.sum()):,} hands"


def plain_lines(grid: "HandGrid") -> list[str]:
    """Return the grid in letters and tenths, a line for each row and one of ranks above."""
    from errai.cards.deck import RANKS

    ranks, kinds = RANKS[::-1], grid.by_kind
    lines = ["    " + "".join(rank.ljust(CELL_WIDTH) for rank in ranks).rstrip()]
    for i, rank in enumerate(ranks):
        cells = [plain_cell(kinds[i, j].tolist()) if grid.counts[i, j] else "-" for j in range(len(ranks))]
        lines.append(f"  {rank} " + "".join(cell.ljust(CELL_WIDTH) for cell in cells).rstrip())
    return lines


def plain_cell(chances: list[float]) -> str:
    """Write the chances of folding, calling and raising in four characters at most.

    >>> plain_cell([0.0, 0.02, 0.98]), plain_cell([0.4, 0.0, 0.6]), plain_cell([0.03, 0.94, 0.03])
    ('R', 'r6f4', 'c9')
    """
    order = sorted(range(len(chances)), key=lambda kind: -chances[kind])
    if chances[order[0]] >= PURE:
        return KIND_LETTERS[order[0]].upper()
    tenths = [(KIND_LETTERS[kind], min(round(10 * chances[kind]), 9)) for kind in order[:2]]
    return "".join(f"{letter}{tenth}" for letter, tenth in tenths if tenth)


def coloured_lines(grid: "HandGrid") -> "list[Text]":
    """Return the grid in colour: each cell has its name, and a background of parts."""
    from rich.text import Text

    from errai.strategy.grid import class_name

    kinds, lines = grid.by_kind, []
    for i in range(len(kinds)):
        line = Text()
        for j in range(len(kinds)):
            name = class_name(i, j).center(CELL_WIDTH)
            if not grid.counts[i, j]:
                line.append(name, style="dim")
            else:
                for letter, colour in zip(name, part_colours(kinds[i, j].tolist()), strict=True):
                    line.append(letter, style=f"white on {colour}")
            line.append(" ")
        lines.append(line)
    return lines


def part_colours(chances: list[float]) -> list[str]:
    """Return the colours of a cell's characters, in proportion to the chances of the three kinds.

    >>> part_colours([0.6, 0.4, 0.0]) == [FOLD] * 3 + [CALL] * 2
    True
    """
    ends = [chances[0], chances[0] + chances[1]]
    middles = [(place + 0.5) / CELL_WIDTH for place in range(CELL_WIDTH)]
    return [KIND_COLOURS[sum(middle > end for end in ends)] for middle in middles]


def plot_grid(grid: "HandGrid", path: str | Path, title: str) -> None:
    """Draw a decision; raises of several sizes have shades of green, the larger the darker.

    Args:
        grid: the decision.
        path: the picture; its ending decides the format.
        title: stands above.
    """
    from matplotlib.figure import Figure  # not pyplot, which would look for a screen
    from matplotlib.patches import Patch

    from errai.strategy.grid import SIZE, class_name

    colours = action_colours(grid.actions)
    figure = Figure(figsize=(8, 8.6), layout="constrained")
    figure.suptitle(title)
    axes = figure.add_subplot(aspect="equal", xlim=(0, SIZE), ylim=(SIZE, 0))
    axes.set_axis_off()
    for i in range(SIZE):
        ends = grid.probabilities[i].cumsum(axis=1)
        for place, colour in enumerate(colours):
            widths = grid.probabilities[i, :, place]
            begins = [j + ends[j, place] - widths[j] for j in range(SIZE)]
            axes.barh(i + 0.5, widths, height=1.0, left=begins, color=colour, linewidth=0)
        for j in range(SIZE):
            shade = "white" if grid.counts[i, j] else "#999999"
            axes.text(j + 0.5, i + 0.5, class_name(i, j), color=shade, ha="center", va="center", fontsize=10)
    axes.hlines(range(SIZE + 1), 0, SIZE, color="white", linewidth=1.5)
    axes.vlines(range(SIZE + 1), 0, SIZE, color="white", linewidth=1.5)
    shares = zip(grid.actions, grid.frequencies.tolist(), colours, strict=True)
    patches = [Patch(color=colour, label=f"{spelt(name)} {100 * f:.1f}%") for name, f, colour in shares]
    figure.legend(handles=patches, loc="outside lower center", ncols=LEGEND_COLUMNS, frameon=False)
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise UsageError(f"'{path}' cannot be drawn: {str(error).splitlines()[0]}") from None


def spelt(action: str) -> str:
    """Spell an action out.

    >>> spelt("f"), spelt("r"), spelt("r600")
    ('fold', 'raise', 'raise to 600')
    """
    word = KIND_NAMES[KIND_LETTERS.index(action[0])]
    return word if len(action) == 1 else f"{word} to {action[1:]}"


def action_colours(actions: tuple[str, ...]) -> list[str]:
    """Return the colour of each action.

    >>> action_colours(("f", "c", "r")) == [FOLD, CALL, RAISE]
    True
    >>> action_colours(("c", "r200", "r600"))[1:]
    ['#58b575', '#14532d']
    """
    num_raises = sum(action.startswith("r") for action in actions)
    colours, seen = [], 0
    for action in actions:
        kind = KIND_LETTERS.index(action[0])
        if kind == KIND_LETTERS.index("r") and num_raises > 1:
            share = seen / (num_raises - 1)
            mixed = [
                round((1 - share) * x + share * y) for x, y in zip((88, 181, 117), (20, 83, 45), strict=True)
            ]
            colours.append("#" + "".join(f"{part:02x}" for part in mixed))
            seen += 1
        else:
            colours.append(KIND_COLOURS[kind])
    return colours
