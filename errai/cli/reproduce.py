"""`errai reproduce`: a figure or table, made again: data as CSV, a picture as PNG, and a comparison."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai import __version__
from errai.cli.options import Iterations, Json, Out, Resume, Seed, Time, given_command
from errai.cli.output import format_seconds, print_json, print_table
from errai.cli.progress import Progress
from errai.errors import UsageError
from errai.experiments.registry import FIGURES, TABLES

if TYPE_CHECKING:
    from errai.experiments.figure import Comparison, Crossing, Figure, Size
    from errai.experiments.table import Entry


def reproduce_command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join([*FIGURES, *TABLES])}.")],
    out: Out = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size", metavar="SIZE", help="'quick' ends in minutes, 'paper' is as much as the paper has."
        ),
    ] = None,
    iterations: Iterations = None,
    time: Time = None,
    resume: Resume = False,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Make a figure or table of a paper again, or a measurement of our own.

    Data, picture, comparison and a log go into the folder --out (or here). Without --size it is the quick
    one, where the paper's takes more than minutes. --iterations, or --time for figures over seconds, sets
    how far each curve goes; of sampled exploitability, iterations are samples of each size.
    A table is data and comparison, and takes neither. Runs, matches and trainings that are done are kept
    until the figure is whole, so that --resume goes on where an interruption was.
    """
    if name in TABLES:
        options = {"--iterations": iterations, "--time": time, "--size": size, "--resume": resume or None}
        for option, value in options.items():
            if value is not None:
                raise UsageError(f"{option} needs a figure, and '{name}' is a table that is counted")
        _reproduce_table(name, Path(out or "."), json)
        return
    from errai.experiments.figure import compare, draw_picture
    from errai.experiments.kept import Kept
    from errai.experiments.registry import find_figure
    from errai.runs.plot import verify_plots

    figure = find_figure(name)
    verify_plots()
    chosen = _chosen_size(name, figure, size, iterations, time)
    folder = Path(out or ".")
    folder.mkdir(parents=True, exist_ok=True)
    data, picture = folder / f"{name}.csv", folder / f"{name}.png"
    what = {"figure": name, "size": asdict(chosen), "seed": seed, "version": __version__}
    kept = Kept(folder / name, what, resume=resume)
    command = given_command(context)
    told = f"parts that are done stay in {kept.folder}; go on with: {command}{'' if resume else ' --resume'}"
    with Progress(told, log=folder / f"{name}.log") as progress:
        curves = figure.draw(chosen, seed, progress.report, kept)
        for reason in curves.left_out:
            progress.say(reason)
    curves.write_csv(data, figure.axes.point)
    draw_picture(figure, curves, picture)
    found = compare(figure, curves)
    rows = folder / f"{name}-rows.csv"
    if curves.rows:
        curves.write_rows(rows)
    kept.remove()
    if json:
        print_json(_as_json(name, figure, found, chosen, seed) | {"data": str(data), "picture": str(picture)})
        return
    _print_comparison(name, figure, found, chosen, seed)
    print(f"data in {data}{f' and {rows}' if curves.rows else ''}, picture in {picture}")


def _reproduce_table(name: str, folder: Path, json: bool) -> None:
    from errai.experiments.registry import find_table
    from errai.experiments.table import write_entries

    table = find_table(name)
    entries = table.make()
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / f"{name}.csv"
    write_entries(entries, data)
    if json:
        rows = [entry._asdict() | {"percent_off": entry.percent_off} for entry in entries]
        print_json({"figure": name, "rows": rows, "data": str(data)})
        return
    print_table(
        f"{name}: {table.title}",
        ["", "assuming", "here", "published", "off"],
        [
            [
                entry.row,
                entry.form,
                f"{entry.value:,.2f} {entry.unit}",
                f"{entry.published:.2f} {entry.unit}",
                f"{entry.percent_off:+,.2f}%",
            ]
            for entry in entries
        ],
    )
    for row in dict.fromkeys(entry.row for entry in entries):
        print(f"  {row}: {_verdict([entry for entry in entries if entry.row == row])}")
    print(f"data in {data}")


def _verdict(entries: "list[Entry]") -> str:
    """Say how far the best assumption is off, which comes first."""
    best = entries[0]
    if best.is_as_printed:
        return f"as published, with '{best.form}'"
    return f"{abs(best.percent_off):.1f}% {'less' if best.percent_off < 0 else 'more'} than published"


def _chosen_size(
    name: str, figure: "Figure", size: str | None, iterations: int | None, seconds: float | None
) -> "Size":
    """Return the size that the options ask for."""
    chosen, is_timed = figure.size(size), figure.axes.steps == "seconds"
    if (iterations if is_timed else seconds) is not None:
        wrong, right = ("--iterations", "--time") if is_timed else ("--time", "--iterations")
        raise UsageError(f"'{name}' counts {figure.axes.steps}: it takes {right}, not {wrong}")
    amount = seconds if is_timed else iterations
    return chosen if amount is None else replace(chosen, amount=amount)


def _as_json(name: str, figure: "Figure", found: "Comparison", size: "Size", seed: int) -> dict[str, Any]:
    return {
        "figure": name,
        "seconds" if figure.axes.steps == "seconds" else "iterations": size.amount,
        "runs": size.runs,
        "seed": seed,
        "unit": figure.unit,
        "crossings": [
            {
                "curve": one.published.curve,
                "target": one.published.target,
                "iteration": one.point,
                "published": one.published.iteration,
            }
            for one in found.crossings
        ],
        "ends": [one._asdict() for one in found.ends],
        "claims": [one._asdict() for one in found.claims],
        "notes": list(found.curves.notes),
    }


def _print_comparison(name: str, figure: "Figure", found: "Comparison", size: "Size", seed: int) -> None:
    is_timed = figure.axes.steps == "seconds"
    far = format_seconds(size.amount) if is_timed else f"{size.amount:,} {figure.axes.steps}"
    mean = f", mean of {size.runs} runs" if size.runs > 1 else ""
    print(f"{name}: {figure.title}, {far}{mean}, seed {seed}")
    for note in found.curves.notes:
        print(f"  {note}")
    for one in found.crossings:
        at = f"not within {far}"
        if one.point is not None:
            at = f"first at iteration {one.point:,}"
        reaches = f"{one.published.curve} reaches {one.published.target:g} {figure.unit}"
        print(f"  {reaches} {at} (published: {_published(one, figure)})")
    for end in found.ends:
        print(f"  {end.curve} ends at {end.value:.1f} {figure.unit} (published: {end.published:g})")
    for claim in found.claims:
        holds = "holds" if claim.holds else "does not hold"
        print(f"  {claim.below} ends below {claim.above}, {figure.axes.expected}: {holds}")


def _published(one: "Crossing", figure: "Figure") -> str:
    if not one.published.is_printed:
        return "no number"
    if one.published.iteration is None:
        return f"not within {figure.size('paper').amount:,}"
    return f"{one.published.iteration:,}"
