"""What a run tells on the command line: what it takes, how far it is, what came out."""

import resource
import shlex
from typing import TYPE_CHECKING, Any

from errai.cli.output import format_seconds, format_threads, print_json
from errai.cli.progress import Progress

if TYPE_CHECKING:
    from errai.runs.evaluation import Evaluation
    from errai.runs.forecast import Forecast
    from errai.runs.job import Job, Run
    from errai.solvers.table_solver import Measurement


def run_job(job: "Job", command: str, how: dict[str, Any], json: bool, about: dict[str, Any]) -> None:
    """Run a job with all that it tells.

    Args:
        job: what to run.
        command: that goes on with it, `solve` or `train`.
        how: options that do not decide the result, to be repeated where the run goes on.
        json: print for machines.
        about: more to print then.
    """
    from errai.runs.forecast import Forecast

    go_on = None
    if job.folder is not None:
        given = [word for name, value in how.items() if value is not None for word in (name, str(value))]
        go_on = shlex.join(["errai", command, "--resume", "--out", str(job.folder.path), *given])
    sizes = {
        "slots": job.num_slots,
        "table_bytes": job.table_bytes,
        "buffer_bytes": job.solver.buffer_bytes,
        "threads": job.solver.num_threads,
    }
    if not json:
        _print_size(job)
    kept = f"the last checkpoint is kept; go on with: {go_on}" if go_on else "nothing was saved"
    forecast = Forecast(job)
    log = job.folder.log_path if job.folder is not None else None
    with Progress(kept, between_steps=True, log=log) as progress:

        def report(evaluation: "Evaluation") -> None:
            forecast.add(evaluation)
            _show(progress, forecast, job)

        def between() -> bool:
            _show(progress, forecast, job)
            return bool(progress.signal_number)

        run = job.run(report, between, job.checkpoint_seconds)
    plot = how.get("--plot")
    if plot is not None and run.measurements:
        run.plot(plot)
    told = about | sizes | {"seconds": job.solver.seconds}
    print_end(run, job.algorithm, told, go_on, json)
    if run.interrupted:
        progress.leave_if_interrupted()


def _print_size(job: "Job") -> None:
    """Say what a run takes."""
    from errai.memory import format_bytes

    seen = f" with abstraction {job.abstraction}" if job.abstraction is not None else ""
    print(
        f"{job.solver.tree.game.name}{seen}: {job.num_infosets:,} information sets, {job.num_slots:,} slots"
    )
    print(
        f"tables of {job.solver.dtype} {format_bytes(job.table_bytes)}, "
        f"buffers {format_bytes(job.solver.buffer_bytes)}, {format_threads(job.solver.num_threads)}"
        + (f", disk for checkpoints {format_bytes(2 * job.table_bytes)}" if job.folder else ""),
        flush=True,
    )


def _show(progress: Progress, forecast: "Forecast", job: "Job") -> None:
    from errai.memory import format_bytes

    parts = [f"iteration {job.solver.iteration:,}"]
    if forecast.last is not None:
        parts += evaluation_words(forecast.last)[:2]
    left = forecast.seconds_left()
    if left is not None:
        parts.append(f"{format_seconds(left)} to go")
    parts.append(format_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))
    spent = job.solver.seconds
    progress.show(", ".join(parts), spent, spent + left if left is not None else None)


def evaluation_words(found: "Evaluation") -> list[str]:
    """Return what an evaluation says, in the order of interest."""
    words = []
    if found.exploitability is not None:
        words.append(f"{found.exploitability.mbb_per_game:.4g} mbb/g")
    if found.sampled is not None:
        low, high = found.sampled.bounds_mbb_per_game
        words.append(
            f"exploitability {found.sampled.mbb_per_game:.4g} mbb/g ({low:.4g} to {high:.4g}, "
            f"{found.sampled.flops} flops)"
        )
    for one in found.agents:
        said = f"wins {one.mbb_per_game:.4g} mbb/g from {one.agent}"
        if one.interval_mbb_per_game is not None:
            low, high = one.interval_mbb_per_game
            said += f" ({low:.4g} to {high:.4g})"
        words.append(said)
    return words


def print_end(run: "Run", algorithm: str, more: dict[str, Any], go_on: str | None, json: bool) -> None:
    """Print what came out.

    Args:
        run: what came out.
        algorithm: its name.
        more: what else is known.
        go_on: the command that goes on with it.
        json: print for machines.
    """
    from errai.strategy.bucketed import BucketStrategy

    if isinstance(run.strategy, BucketStrategy):
        _print_sampled_end(run, algorithm, more, go_on, json)
        return
    from errai.response.exploitability import expected_value, exploitability

    # Whoever presses Ctrl-C does not want to wait for a last measurement.
    measured = None if run.interrupted else exploitability(run.strategy)
    value = None if run.interrupted else expected_value(run.strategy, run.strategy).positions[0]
    name, tree = run.strategy.game.name, run.strategy.tree
    if json:
        print_json(
            {
                "game": name,
                "abstraction": tree.buckets.name if tree.buckets is not None else None,
                "payoffs": tree.payoffs.describe(),
                "algorithm": algorithm,
                "iterations": run.iterations,
                "information_sets": tree.num_infosets,
                **more,
                "value_chips": value,
                "exploitability_chips": measured.chips if measured else None,
                "exploitability_mbb_per_game": measured.mbb_per_game if measured else None,
                "best_response_values_chips": list(measured.best_response_values) if measured else None,
                "out": str(run.folder) if run.folder else None,
                "interrupted": run.interrupted,
                "measurements": [point(measurement) for measurement in run.measurements],
                **_last_agents(run),
            }
        )
        return
    if measured is None:
        print(f"{name}: interrupted after {run.iterations:,} iterations")
    else:
        took = f" after {run.iterations:,} iterations in {format_seconds(more['seconds'])}" if more else ""
        print(
            f"{name}: value {value:.9f} chips for position 0, "
            f"exploitability {measured.mbb_per_game:.6g} mbb/g ({measured.chips:.6g} chips){took}"
            + ("" if tree.payoffs.is_plain else f", payoffs {tree.payoffs.describe()}")
        )
    _print_agents(run)
    _print_place(run, go_on)


def _print_sampled_end(
    run: "Run", algorithm: str, more: dict[str, Any], go_on: str | None, json: bool
) -> None:
    """Print what came out where nothing is measured exactly: the last evaluation."""
    name, tree = run.strategy.game.name, run.strategy.tree
    last = run.evaluations[-1] if run.evaluations else None
    if json:
        print_json(
            {
                "game": name,
                "payoffs": tree.payoffs.describe(),
                "algorithm": algorithm,
                "iterations": run.iterations,
                **more,
                "out": str(run.folder) if run.folder else None,
                "interrupted": run.interrupted,
                "measurements": [one.entries() for one in run.evaluations],
                **_last_agents(run),
            }
        )
        return
    ended = "interrupted after" if run.interrupted else "trained for"
    print(f"{name}: {ended} {run.iterations:,} iterations in {format_seconds(more['seconds'])}")
    if last is not None and last.sampled is not None:
        low, high = last.sampled.bounds_mbb_per_game
        print(
            f"  exploitability in the real game {last.sampled.mbb_per_game:.6g} mbb/g, estimated from "
            f"{last.sampled.flops:,} flops: {low:.6g} to {high:.6g} (95%)"
        )
    _print_agents(run)
    _print_place(run, go_on)


def _last_agents(run: "Run") -> dict[str, Any]:
    """Return what the last evaluation says of simple agents; nothing where it says nothing."""
    entries = run.evaluations[-1].entries() if run.evaluations else {}
    return {key: entries[key] for key in ("agents", "sampled") if key in entries}


def _print_agents(run: "Run") -> None:
    last = run.evaluations[-1] if run.evaluations else None
    for one in last.agents if last is not None else ():
        said = f"  wins {one.mbb_per_game:,.1f} mbb/g from {one.agent}"
        if one.interval_mbb_per_game is not None:
            low, high = one.interval_mbb_per_game
            said += f", between {low:,.1f} and {high:,.1f} (95%)"
        print(said)


def _print_place(run: "Run", go_on: str | None) -> None:
    from errai.strategy.bucketed import BucketStrategy

    if run.folder is None:
        print("not saved; --out FOLDER saves a run, so that it can be shown, measured and resumed")
    elif run.interrupted:
        print(f"saved in {run.folder}; go on with: {go_on}")
    else:
        place = shlex.quote(str(run.folder))
        some = " --flops 4" if isinstance(run.strategy, BucketStrategy) else ""
        print(f"saved in {run.folder}; next: errai show {place}, errai exploit {place}{some}")


def point(measurement: "Measurement") -> dict[str, Any]:
    """Return an exact measurement as data."""
    return {
        "iteration": measurement.iteration,
        "seconds": measurement.seconds,
        "exploitability_chips": measurement.exploitability.chips,
        "exploitability_mbb_per_game": measurement.exploitability.mbb_per_game,
    }
