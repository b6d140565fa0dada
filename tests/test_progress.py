"""The one class that tells how far a command is: lines, log, bar, signals, and how it ends early."""

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from errai.cli import progress as module
from errai.cli.progress import Progress


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    @staticmethod
    def strftime(form: str, when: object) -> str:
        return "2026-01-02 03:04:05Z"

    @staticmethod
    def gmtime() -> object:
        return None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_lines_come_rarer_and_say_the_time_to_go(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        for second in range(1, 2001):
            clock.now = 1000.0 + second / 2
            progress.report("round 1 (KE)", second, 2000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "errai: round 1 (KE): 0%, 16.6 minutes to go",
        "errai: round 1 (KE): 0%, 16.6 minutes to go",
        "errai: round 1 (KE): 0%, 16.6 minutes to go",
    ]
    # One a second for ten seconds, then each time the work has taken a tenth longer, then one a minute.
    assert len(lines) == 53
    assert lines[-1] == "errai: round 1 (KE): 96%, 38.0 s to go"


def test_what_was_done_before_takes_no_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        progress.report("a", 90, 100)  # an earlier attempt has come so far
        clock.now += 10
        progress.report("a", 95, 100)
        clock.now += 10
        progress.report("b", 0, 4)
        clock.now += 10
        progress.report("b", 1, 4)
        clock.now += 10
        progress.report("c", 0, 0)
    assert capsys.readouterr().err.splitlines() == [
        "errai: a: 95%, 10.0 s to go",
        "errai: b: 0%",
        "errai: b: 25%, 30.0 s to go",
        "errai: c: 0%",
    ]


def test_a_log_has_the_same_lines_with_the_time(
    clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text("of an earlier attempt\n")
    with Progress(log=log) as progress:
        progress.show("too soon")
        clock.now += 1
        progress.show("iteration 7")
    assert log.read_text() == "of an earlier attempt\n2026-01-02 03:04:05Z iteration 7\n"
    assert capsys.readouterr().err == "errai: iteration 7\n"


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_work_with_one_line(
    number: int, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [signal.getsignal(one) for one in module.SIGNALS]
    with pytest.raises(typer.Exit) as left, Progress("half of it is in x"):
        signal.raise_signal(number)
    assert left.value.exit_code == status
    assert capsys.readouterr().err == "errai: interrupted; half of it is in x\n"
    assert [signal.getsignal(one) for one in module.SIGNALS] == before


def test_work_in_steps_is_left_to_end_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("x", between_steps=True) as progress:
        assert progress.signal_number == 0
        progress.leave_if_interrupted()
        signal.raise_signal(signal.SIGTERM)
        assert progress.signal_number == signal.SIGTERM
    assert capsys.readouterr().err == "errai: ending after this iteration; once more to leave at once\n"
    with pytest.raises(typer.Exit) as left:
        progress.leave_if_interrupted()
    assert left.value.exit_code == 143


def test_the_second_signal_ends_it_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as left, Progress("x", between_steps=True):
        list(map(signal.raise_signal, (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)))
    assert left.value.exit_code == 129  # as the first one asked for
    assert capsys.readouterr().err.splitlines()[1:] == ["errai: interrupted; x"]


def test_an_ignored_hang_up_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Progress("x") as progress:
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
        assert progress.signal_number == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_errors_pass_through_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ZeroDivisionError), Progress("x"):
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGTERM) == before


def test_who_closes_standard_error_does_not_end_the_work(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        with Progress() as progress:
            clock.now += 5
            progress.show("iteration 7")
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())  # what is unwritten must not fail at its end


def test_a_terminal_gets_a_bar_and_no_lines() -> None:
    code = (
        "import time\nfrom errai.cli.progress import Progress\nwith Progress() as progress:\n"
        "    for k in range(5):\n        progress.report('[round] 1 (KE)', k, 5)\n        time.sleep(0.3)\n"
    )
    ours, theirs = pty.openpty()
    run = subprocess.Popen([sys.executable, "-c", code], stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # how a terminal says that the other side has left
        pass
    assert run.wait(timeout=60) == 0
    assert b"[round] 1 (KE): 80%" in shown, "brackets are no markup"
    assert b" to go" in shown
    assert b"errai:" not in shown
    assert re.search("━".encode(), shown)


class Bar:
    """Stands in for Rich's bar; notes what it is told."""

    def __init__(self, *columns: Any, console: Any, transient: bool) -> None:
        self.told: list[Any] = [(len(columns), columns[0].bar_width, console.stderr, transient)]

    def add_task(self, description: str, total: float | None) -> int:
        self.told.append((description, total))
        return 7

    def start(self) -> None:
        self.told.append("start")

    def stop(self) -> None:
        self.told.append("stop")
        raise OSError("the terminal has gone")

    def update(self, task: int, **what: Any) -> None:
        self.told.append((task, what))
        if what["description"] == "gone":
            raise OSError("the terminal has gone")


def test_a_bar_is_as_full_as_the_work_is_done(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """At once, however little time has passed; lines go to the log alone."""
    monkeypatch.setattr("rich.progress.Progress", Bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    log = tmp_path / "a.log"
    with Progress(log=log) as progress:
        bar = progress._bar
        progress.report("a", 1, 4)
        clock.now += 10
        progress.report("a", 3, 4)
        progress.show("where", 2.5, 10.0)
        progress.show("nowhere")
        progress.show("gone")
    assert bar.told == [
        (2, 20, True, True),
        ("starting", None),
        "start",
        (7, {"description": "a: 25%", "completed": 1, "total": 4}),
        (7, {"description": "a: 75%, 5.0 s to go", "completed": 3, "total": 4}),
        (7, {"description": "where", "completed": 2.5, "total": 10.0}),
        (7, {"description": "nowhere", "completed": None, "total": None}),
        (7, {"description": "gone", "completed": None, "total": None}),
        "stop",
    ]
    assert capsys.readouterr().err == ""
    assert log.read_text() == "2026-01-02 03:04:05Z a: 75%, 5.0 s to go\n"


def test_the_first_line_waits_a_second_from_the_start_of_the_work(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress()
    clock.now += 100
    with progress:
        clock.now += 0.99
        progress.show("too soon")
        clock.now += 0.01
        progress.show("now")
        clock.now += 0.99
        progress.show("too soon again")
    assert capsys.readouterr().err == "errai: now\n"


def test_lines_of_long_work_are_at_most_a_minute_apart(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as progress:
        for second in (100, 109, 110, 10_000, 10_059, 10_060):
            clock.now = 1000.0 + second
            progress.show(f"at {second}")
    assert capsys.readouterr().err.splitlines() == [
        "errai: at 100",
        "errai: at 10000",
        "errai: at 10060",
    ]


def test_an_interrupt_without_a_signal_and_without_advice(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as left, Progress():
        raise KeyboardInterrupt
    assert left.value.exit_code == 130
    assert capsys.readouterr().err == "errai: interrupted\n"


def test_the_log_has_the_time_of_greenwich(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_GAP", 0.0)
    monkeypatch.setattr("time.gmtime", lambda: (2026, 3, 4, 5, 6, 7, 0, 1, 0))
    with Progress(log=tmp_path / "a.log") as progress:
        progress.show("x")
    assert (tmp_path / "a.log").read_text() == "2026-03-04 05:06:07Z x\n"
