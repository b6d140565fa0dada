"""What a long command tells while it works, and how it ends early: one class for all commands.

    with Progress("rounds that are done stay in x; go on with: errai ...") as progress:
        work(report=progress.report)

On a terminal there is a bar with the time to go; elsewhere there are lines, the fewer the longer the work has
taken, all on standard error. A command that has a log gets the same lines there, with the time. SIGINT,
SIGTERM and SIGHUP end the work with one line that says what was kept and how to go on, and with the status
128 + signal; or, where the work can end between two steps (`between_steps`), they only leave a note that the
work looks at.
"""

import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import typer

from errai.cli.output import format_seconds

FIRST_GAP = 1.0
"""Seconds before the first line; later ones come each time the work has taken a tenth longer."""
GROWTH = 0.1
LONGEST_GAP = 60.0

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Progress:
    """Tells on standard error how far the work is, and hears signals while it lasts."""

    def __init__(
        self, if_interrupted: str = "", *, between_steps: bool = False, log: Path | None = None
    ) -> None:
        """Prepare; nothing is shown and no signal heard before `with`.

        Args:
            if_interrupted: what has become of the work then, and how to go on.
            between_steps: leave a note on the first signal (`signal_number`) for the work to end by itself.
                A second one ends it at once.
            log: a file to write lines to as well.
        """
        self.signal_number = 0
        self._if_interrupted, self._between_steps, self._log = if_interrupted, between_steps, log
        self._stage, self._done_before, self._stage_began = "", 0, 0.0
        self._began = self._told = time.monotonic()
        self._handlers: dict[int, Any] = {}
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Progress":
        self._began = self._told = time.monotonic()
        for number in SIGNALS:
            # A hang-up that is ignored, as under nohup, stays ignored.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._hear)
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("starting", total=None)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            with suppress(OSError):  # the terminal may have gone
                self._bar.stop()
            self._bar = None
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if isinstance(error, KeyboardInterrupt):
            self.say("interrupted" + (f"; {self._if_interrupted}" if self._if_interrupted else ""))
            raise typer.Exit(128 + (self.signal_number or signal.SIGINT)) from None

    def leave_if_interrupted(self) -> None:
        """Leave with the status of an interruption where a signal has ended the work between two steps."""
        if self.signal_number:
            raise typer.Exit(128 + self.signal_number)

    def report(self, stage: str, done: int, total: int) -> None:
        """Tell how far a stage is.

        Args:
            stage: its name.
            done: steps done.
            total: steps in all.
        """
        now = time.monotonic()
        if stage != self._stage:
            # What an earlier attempt has done took no time now.
            self._stage, self._done_before, self._stage_began = stage, done, now
        text = f"{stage}: {100 * done / max(total, 1):.0f}%"
        if done > self._done_before:
            left = (now - self._stage_began) * (total - done) / (done - self._done_before)
            text += f", {format_seconds(left)} to go"
        self.show(text, done, total)

    def show(self, text: str, done: float | None = None, total: float | None = None) -> None:
        """Show where the work is: at once on a bar, now and then as a line.

        Args:
            text: where it is, in words.
            done: how much of the bar is full; nothing where it is not known.
            total: of how much.
        """
        now = time.monotonic()
        if self._bar is not None:
            with suppress(OSError):  # a terminal that has gone must not take the work with it
                self._bar.update(self._task, description=text, completed=done, total=total)
        gap = min(max(FIRST_GAP, GROWTH * (now - self._began)), LONGEST_GAP)
        if now - self._told < gap:
            return
        self._told = now
        if self._bar is None:
            self.say(text)
        if self._log is not None:
            with open(self._log, "a") as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime())} {text}\n")

    def say(self, text: str) -> None:
        """Print a line on standard error; who has closed it must not end the work by that."""
        with suppress(OSError):
            print(f"errai: {text}", file=sys.stderr, flush=True)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        noted = self.signal_number
        self.signal_number = noted or number
        if noted or not self._between_steps:
            raise KeyboardInterrupt
        self.say("ending after this iteration; once more to leave at once")
