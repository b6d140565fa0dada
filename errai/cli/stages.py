"""How work in stages tells where it is, by a bar or by lines, and how it ends early."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import typer

from errai.cli.progress import format_seconds, handled

SECONDS_BETWEEN_LINES = 5.0


class Stages:
    """Tells on standard error how far a stage is, and how long it will take yet."""

    def __init__(self) -> None:
        self._stage = ""
        self._first, self._began, self._told = 0, 0.0, time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    @contextmanager
    def shown(self) -> Iterator["Stages"]:
        """Show a bar while the work lasts, on a terminal."""
        if not sys.stderr.isatty():
            yield self
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
        with Bar(*columns, console=Console(stderr=True), transient=True) as self._bar:
            self._task = self._bar.add_task("starting", total=None)
            yield self
        self._bar = None

    def report(self, stage: str, done: int, total: int) -> None:
        """Tell of a stage; called about once a second.

        Args:
            stage: its name.
            done: steps done.
            total: steps in all.
        """
        now = time.monotonic()
        if stage != self._stage:
            # What an earlier attempt has done took no time now.
            self._stage, self._first, self._began = stage, done, now
        if self._bar is not None:
            self._bar.update(self._task, description=self._text(done, total), completed=done, total=total)
        elif now - self._told >= SECONDS_BETWEEN_LINES:
            self._told = now
            print(f"errai: {self._text(done, total)}", file=sys.stderr, flush=True)

    def _text(self, done: int, total: int) -> str:
        text = f"{self._stage}: {100 * done / max(total, 1):.0f}%"
        if done > self._first:
            left = (time.monotonic() - self._began) * (total - done) / (done - self._first)
            text += f", {format_seconds(left)} to go"
        return text


@contextmanager
def ended_by_signals(what_now: str) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into one line and the exit status of an interruption.

    Args:
        what_now: what has become of the work and how it goes on.
    """
    number = int(signal.SIGINT)

    def leave(given: int, frame: FrameType | None) -> None:
        nonlocal number
        number = given
        raise KeyboardInterrupt

    with handled((signal.SIGTERM, signal.SIGHUP), leave):
        try:
            yield
        except KeyboardInterrupt:
            with suppress(OSError):  # the terminal may have gone
                print(f"errai: interrupted; {what_now}", file=sys.stderr, flush=True)
            raise typer.Exit(128 + number) from None
