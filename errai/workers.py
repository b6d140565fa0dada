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

from errai.errors import verify_whole
from errai.memory import num_cores

SECONDS_BETWEEN_REPORTS = 1.0

Report = Callable[[int, int], None]
Result = TypeVar("Result")


def verified_threads(num_threads: int | None) -> int:
    """Return a number of threads, one for each core where none is given."""
    if num_threads is None:
        return num_cores()
    verify_whole("the number of threads", num_threads, 1)
    return num_threads


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
    """Threads that work on chunks of rows; results come back in order on the caller's thread.

    They wait for work until `close`; `start_workers` closes them.
    """

    def __init__(self, num_threads: int | None) -> None:
        """Start threads.

        Args:
            num_threads: one for each core without it.
        """
        self.num_threads = verified_threads(num_threads)
        self._pool = ThreadPoolExecutor(self.num_threads, thread_name_prefix="errai-rows")

    def map(
        self,
        work: Callable[[int, int], Result],
        num_rows: int,
        chunk_rows: int,
        progress: Progress | None = None,
    ) -> Iterator[tuple[int, int, Result]]:
        """Yield (begin, end, work(begin, end)) for all chunks, a few of them in flight.

        Args:
            work: called on the threads.
            num_rows: rows in all.
            chunk_rows: rows of a chunk.
            progress: told of the time that passes; the caller adds the rows.
        """
        running: deque[tuple[int, int, Future[Result]]] = deque()
        begins = iter(range(0, num_rows, chunk_rows))
        while True:
            while len(running) < 2 * self.num_threads and (begin := next(begins, None)) is not None:
                end = min(begin + chunk_rows, num_rows)
                running.append((begin, end, self._pool.submit(work, begin, end)))
            if not running:
                return
            begin, end, future = running.popleft()
            while True:
                try:
                    result = future.result(timeout=SECONDS_BETWEEN_REPORTS)
                    break
                except TimeoutError:
                    if progress is not None:
                        progress.tick()
            yield begin, end, result

    def run(self, work: Callable[[int, int], None], num_rows: int, chunk_rows: int) -> None:
        """Do the same for work that returns nothing."""
        for _ in self.map(work, num_rows, chunk_rows):
            pass

    def close(self) -> None:
        """End the threads; chunks that were not begun are dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def start_workers(num_threads: int | None) -> Iterator[Workers]:
    """Start threads, and end them before leaving, whatever was raised."""
    workers = Workers(num_threads)
    try:
        yield workers
    finally:
        workers.close()
