"""Threads that share chunks of rows, with progress told on the caller's thread.

Chunks are cut in the same way for any number of threads and their results come back in order, so what is
computed does not depend on scheduling. An exception from a chunk, from the caller's progress report or
from Ctrl-C ends the threads before it is passed on.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import contextmanager
from typing import TypeVar

from errai.errors import UsageError
from errai.memory import num_cores

SECONDS_BETWEEN_REPORTS = 1.0

Report = Callable[[int, int], None]
Result = TypeVar("Result")


class Progress:
    """Counts rows and tells the caller about once a second, on the caller's thread."""

    def __init__(self, report: Report | None, total: int) -> None:
        self.report = report
        self.total = total
        self.done = 0
        self.told = time.monotonic()

    def add(self, rows: int) -> None:
        """Count rows that are done."""
        self.done = min(self.done + rows, self.total)
        self.tick()

    def jump(self, done: int) -> None:
        """Count all rows up to a number as done: what follows has become needless."""
        self.done = max(self.done, done)
        self.tick()

    def tick(self) -> None:
        """Tell the caller if it is time."""
        if self.report is not None and time.monotonic() - self.told >= SECONDS_BETWEEN_REPORTS:
            self.report(self.done, self.total)
            self.told = time.monotonic()

    def finish(self) -> None:
        """Tell the caller that all is done."""
        if self.report is not None:
            self.report(self.total, self.total)


class Workers:
    """Threads that work on chunks of rows; results come back in order on the caller's thread."""

    def __init__(self, pool: ThreadPoolExecutor, num_threads: int) -> None:
        self.pool = pool
        self.num_threads = num_threads

    def map(
        self, work: Callable[[int, int], Result], num_rows: int, chunk_rows: int, progress: Progress
    ) -> Iterator[tuple[int, int, Result]]:
        """Yield (begin, end, work(begin, end)) for all chunks, a few of them in flight."""
        running: deque[tuple[int, int, Future[Result]]] = deque()
        begins = iter(range(0, num_rows, chunk_rows))
        while True:
            while len(running) < 2 * self.num_threads and (begin := next(begins, None)) is not None:
                end = min(begin + chunk_rows, num_rows)
                running.append((begin, end, self.pool.submit(work, begin, end)))
            if not running:
                return
            begin, end, future = running.popleft()
            while True:
                try:
                    result = future.result(timeout=SECONDS_BETWEEN_REPORTS)
                    break
                except TimeoutError:
                    progress.tick()
            yield begin, end, result


@contextmanager
def start_workers(num_threads: int | None) -> Iterator[Workers]:
    """Start threads, and end them before leaving, whatever was raised."""
    if num_threads is None:
        num_threads = num_cores()
    if num_threads < 1:
        raise UsageError(f"num_threads must be 1 or more, not {num_threads}")
    pool = ThreadPoolExecutor(num_threads, thread_name_prefix="errai-rows")
    try:
        yield Workers(pool, num_threads)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
