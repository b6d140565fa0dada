"""`errai train`."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import (
    Iterations,
    Json,
    OptionalSeed,
    Out,
    Plot,
    Resume,
    TablesIn,
    Threads,
    Time,
    number_option,
)
from errai.cli.output import format_seconds, print_json, print_table, verify_picture
from errai.cli.progress import Progress
from errai.cli.running import run_job
from errai.cli.solve import target
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.runs.job import Job
    from errai.runs.training import Needs, Training
    from errai.runs.training_file import TrainingFile


def train_command(
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG",
            help="A TOML file that says everything; may be left out with --preset or --resume.",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", metavar="NAME", help="A file that comes with Errai; 'list' lists them."),
    ] = None,
    out: Out = None,
    resume: Resume = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what memory, disk and time it would take.")
    ] = False,
    iterations: Iterations = None,
    until: Annotated[
        float | None,
        typer.Option(
            "--until", parser=target, metavar="TARGET", help="Stop at an exploitability such as '1mbb'."
        ),
    ] = None,
    time: Time = None,
    threads: Threads = None,
    tables_in: TablesIn = None,
    checkpoint_every: Annotated[
        float | None, number_option("--checkpoint-every", "Seconds between checkpoints.", 0)
    ] = None,
    plot: Plot = None,
    json: Json = False,
    seed: OptionalSeed = None,
) -> None:
    """Train a strategy as one file says.

    The abstraction that it needs is built if it is missing. Options go before what the file says. Without
    --out the run goes into runs/NAME.
    """
    from errai.runs.job import prepare_resumed
    from errai.runs.sections import StopSection
    from errai.runs.training import Training
    from errai.runs.training_file import read_preset, read_training

    if preset == "list":
        _list_presets(json)
        return
    if config is not None and preset is not None:
        raise UsageError("--preset and CONFIG are both given: expected one of them")
    verify_picture(plot)
    how = {
        "--threads": threads,
        "--tables-in": tables_in,
        "--plot": plot,
        "--checkpoint-every": checkpoint_every,
    }
    stop: dict[str, Any] = {"iterations": iterations, "seconds": time, "mbb_per_game": until}
    given = {key: value for key, value in stop.items() if value is not None}
    if config is None and preset is None:
        if not resume or out is None:
            raise UsageError(
                "missing a configuration: expected a TOML file, --preset NAME (see '--preset list') or "
                "--resume --out FOLDER"
            )
        if seed is not None or estimate:
            option = "--seed" if seed is not None else "--estimate"
            raise UsageError(f"{option} needs a configuration: a run that is resumed keeps its own")
        rule = _stop_rule(StopSection(**given)) if given else None
        job = prepare_resumed(out, rule, num_threads=threads, tables_in=tables_in)
        _run(job, how, json)
        return
    name = preset if preset is not None else config
    assert name is not None
    file = read_preset(name) if preset is not None else read_training(name)
    changes: dict[str, Any] = {}
    if given:  # a new stop rule in place of the file's
        changes["stop"] = StopSection(**given)
    if seed is not None:
        changes["random"] = file.random.model_copy(update={"seed": seed})
    if checkpoint_every is not None:
        changes["checkpoints"] = file.checkpoints.model_copy(update={"seconds": checkpoint_every})
    machine = {"threads": threads, "tables_in": tables_in}
    if said := {key: value for key, value in machine.items() if value is not None}:
        changes["machine"] = file.machine.model_copy(update=said)
    stem = name.replace("\\", "/").rpartition("/")[2].removesuffix(".toml")
    training = Training(file.model_copy(update=changes), stem)
    place = out if out is not None else f"runs/{stem}"
    if estimate:
        _print_needs(training, training.needs(place), place, json)
        return
    _train(training, place, resume, how, json)


def _train(training: "Training", out: str, resume: bool, how: dict[str, Any], json: bool) -> None:
    """Tell what it takes, build what is missing, run."""
    from errai.tables.checkpoint import has_checkpoint

    if not (resume and has_checkpoint(out)):
        needs = training.verify(out)
        if not json:
            _print_needs(training, needs, out, json=False)
    go_on = shlex.join(["errai", "train", "--resume", "--out", out])
    with Progress(
        f"what is built stays in the cache; begin again with the same command, or {go_on}"
    ) as progress:
        job = training.prepare(out, resume=resume, report=progress.report)
    _run(job, how, json)


def _run(job: "Job", how: dict[str, Any], json: bool) -> None:
    if how["--checkpoint-every"] is not None:
        job.checkpoint_seconds = how["--checkpoint-every"]
    run_job(job, "train", how, json, {})


def _stop_rule(section: Any) -> Any:
    from errai.solvers.solve import StopRule

    return StopRule.of(section.iterations, section.mbb_per_game, section.seconds)


def _print_needs(training: "Training", needs: "Needs", out: str, json: bool) -> None:
    """Print what a run takes."""
    from errai.memory import format_bytes

    if json:
        print_json(
            {
                "game": training.rules.name,
                "abstraction": training.file.abstraction.name or None if training.file.abstraction else None,
                "algorithm": training.rule.name,
                "slots": needs.slots,
                "table_bytes": needs.table_bytes,
                "memory_bytes": needs.memory_bytes,
                "disk_bytes": needs.disk_bytes,
                "preparation_seconds": needs.preparation_seconds,
                "seconds": needs.seconds,
                "fits": needs.fits,
                "out": out,
            }
        )
        return
    print(f"{training.name}: {training.file.description or training.rules.name}")
    parts = [
        f"memory {format_bytes(needs.memory_bytes)} ({format_bytes(needs.free_memory_bytes)} free)",
        f"disk {format_bytes(needs.disk_bytes)} ({format_bytes(needs.free_disk_bytes)} free)",
        _time(training.file, needs),
    ]
    print(f"needs about: {', '.join(parts)}" + ("" if needs.fits else "; it does not fit"), flush=True)


def _time(file: "TrainingFile", needs: "Needs") -> str:
    before = needs.preparation_seconds
    prepared = f"{format_seconds(before)} to prepare, " if before else ""
    stop = file.stop
    if stop.seconds is not None:
        return f"time {prepared}{format_seconds(stop.seconds)} at most to train"
    if stop.mbb_per_game is not None:
        return f"time {prepared}until {stop.mbb_per_game:g} mbb/g"
    return f"time {prepared}until iteration {stop.iterations or 1000:,}"


def _list_presets(json: bool) -> None:
    from errai.runs.training_file import preset_names, read_preset

    found = {name: read_preset(name).description for name in preset_names()}
    if json:
        print_json({"presets": [{"name": name, "description": text} for name, text in found.items()]})
        return
    print_table("Presets of errai train", ["name", "what"], [[name, text] for name, text in found.items()])
