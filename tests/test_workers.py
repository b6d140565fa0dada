"""Threads over chunks of rows: order, progress on the caller's thread, and the end of the threads."""

import threading

import pytest

from errai import workers as module
from errai.errors import UsageError
from errai.memory import num_cores
from errai.workers import Progress, Workers, start_workers, verified_threads


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_chunks_are_cut_alike_and_come_back_in_order(num_threads: int) -> None:
    with start_workers(num_threads) as workers:
        assert workers.num_threads == num_threads
        found = list(workers.map(lambda begin, end: (begin, end), 10, 3))
        assert list(workers.map(lambda begin, end: 1, 0, 3)) == []
    assert found == [(0, 3, (0, 3)), (3, 6, (3, 6)), (6, 9, (6, 9)), (9, 10, (9, 10))]


def test_work_runs_on_the_threads() -> None:
    names = []
    with start_workers(1) as workers:
        workers.run(lambda begin, end: names.append(threading.current_thread().name), 2, 1)
    assert names == ["errai-rows_0"] * 2


def test_threads_end_whatever_is_raised() -> None:
    before = threading.active_count()

    def fail(begin: int, _: int) -> None:
        raise ZeroDivisionError(str(begin))

    with pytest.raises(ZeroDivisionError, match="0"), start_workers(3) as workers:
        workers.run(fail, 9, 1)
    assert threading.active_count() == before
    standing = Workers(2)
    standing.run(lambda begin, end: None, 4, 1)
    standing.close()
    assert threading.active_count() == before


def test_the_caller_is_told_while_a_chunk_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_REPORTS", 0.001)
    told: list[tuple[int, int]] = []
    may_end = threading.Event()

    def report(done: int, total: int) -> None:
        told.append((done, total))
        may_end.set()

    def work(begin: int, end: int) -> bool:
        return may_end.wait(60)

    progress = Progress(report, 5)
    with start_workers(1) as workers:
        assert [result for _, _, result in workers.map(work, 1, 1, progress)] == [True]
    assert set(told) == {(0, 5)}
    progress.jump(3)
    progress.add(9)
    assert progress.done == 5
    progress.finish()
    assert told[-1] == (5, 5)


def test_numbers_of_threads() -> None:
    assert verified_threads(3) == 3
    assert verified_threads(None) == num_cores()
    for number in (0, -1):
        with pytest.raises(UsageError, match=f"the number of threads must be 1 or more, not {number}"):
            verified_threads(number)
