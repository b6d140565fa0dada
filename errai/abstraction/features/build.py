"""Building the features of every class of hands, from the last round up.

1. Opponent clusters: sweep every canonical last-round board (134,459 in hold'em), add each hand's strength to
   the histogram of its hole cards, cluster those by k-means under the earth mover's distance.
2. Last round: sweep the boards again, now cluster by cluster, and write strength and OCHS of every class.
3. Every earlier round: for each class, look up the classes that the next public cards lead to, and sum.
4. Deals: how many deals each class stands for.

Each stage works on chunks, several at a time on threads, and fills arrays on disk in place. A journal
says how many chunks are done once they are safely on disk; doing a chunk again writes the same numbers, so
a build that was killed goes on where its journal stands. The last file, `features.json`, is written when
all arrays are whole.
"""

import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from math import comb
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering.kmeans import Metric, cluster
from errai.abstraction.features import _features as kernels
from errai.abstraction.features.features import (
    COMPLETE_NAME,
    NUM_BINS,
    Array,
    ArrayPlan,
    BoardSweep,
    FeaturePlan,
    Features,
)
from errai.array_file import ArrayHeader, PartialArray, map_array, remove_temporaries, write_array, write_text
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.memory import format_bytes, free_disk, verify_memory
from errai.workers import Progress, start_workers, verified_threads

BOARDS_A_CHUNK = 64
DEALS_A_CHUNK = 200_000
SECONDS_BETWEEN_FLUSHES = 60.0

# Measured on one core of a common machine; only for the time told before a build.
SECONDS_A_SWEPT_BOARD = 1.5e-4
SECONDS_A_LOOK_UP = 4e-7

MEMORY_BYTES = 1 << 30
"""Working memory of a build; mapped files come on top and give way when memory is short."""

CLUSTER_TOTAL = 60_000
"""What cumulative histograms of hole cards are scaled to for clustering: they must fit 16 bits."""

CLUSTER_RESTARTS = 50
CLUSTER_ITERATIONS = 200

Report = Callable[[str, int, int], None]
Result = TypeVar("Result")


def estimate_seconds(plan: FeaturePlan, num_threads: int | None = None) -> float:
    """Return about how long a build takes."""
    classes = plan.classes
    boards = classes.boards(plan.last_round).num_boards(_board_round(plan, plan.last_round))
    seconds = 2 * boards * SECONDS_A_SWEPT_BOARD
    for r in range(plan.last_round):
        seconds += classes.size(r) * num_next(plan, r) * SECONDS_A_LOOK_UP
    return seconds / (verified_threads(num_threads))


def build_features(
    plan: FeaturePlan, num_threads: int | None = None, report: Report | None = None
) -> Features:
    """Build what the cache does not have yet and return the features.

    Args:
        plan: which features.
        num_threads: all cores without it; the numbers do not depend on it.
        report: called with a stage's name, steps done and steps in all about once a second; an exception of
            its own ends the build, which can be taken up again later.
    """
    if plan.is_complete():
        return Features(plan)
    folder = plan.folder
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _verify_disk(plan)
        verify_memory(MEMORY_BYTES, f"building the features of '{plan.rules.name}'")
        build = _Build(plan, num_threads, report or (lambda stage, done, total: None))
        build.opponent_clusters()
        build.last_round()
        for r in range(plan.last_round - 1, -1, -1):
            build.earlier_round(r)
            build.deals(r)
        about = {"fingerprint": plan.fingerprint, "cards": plan.classes.card_signature()}
        write_text(folder / COMPLETE_NAME, json.dumps(about))
    return Features(plan)


@dataclass
class _Build:
    """One build under way."""

    plan: FeaturePlan
    num_threads: int | None
    report: Report

    def opponent_clusters(self) -> None:
        """Stage 1."""
        plan, array = self.plan, self.plan.opponent_clusters
        if self._has(array):
            return
        sweep = BoardSweep(plan.classes, None, 0)
        boards, weights = self._boards(plan.last_round)
        num_classes = plan.classes.size(0)
        partial, steps = (np.zeros((num_classes, NUM_BINS + 1), dtype=np.int64) for _ in range(2))

        def work(begin: int, end: int) -> tuple[Array, Array]:
            strengths, h2, _ = sweep.sweep(boards[begin:end])
            sums = np.zeros_like(partial), np.zeros_like(steps)
            kernels.add_first_round(
                strengths, h2, weights[begin:end], sweep.class_of_hand, plan.bin_width, *sums
            )
            return sums

        for some_partial, some_steps in self._map(
            "strengths of hole cards", work, len(boards), BOARDS_A_CHUNK
        ):
            partial += some_partial
            steps += some_steps
        cumulative = (partial + np.cumsum(steps, axis=1))[:, :NUM_BINS]
        total = steps.sum(axis=1)
        points = np.rint(cumulative * (CLUSTER_TOTAL / total[:, np.newaxis])).astype(np.uint16)
        hands = np.bincount(sweep.class_of_hand, minlength=num_classes)
        found = cluster(
            points,
            hands,
            plan.num_clusters,
            Metric.L1,
            restarts=CLUSTER_RESTARTS,
            max_iterations=CLUSTER_ITERATIONS,
            num_threads=1,
        )
        assert found.labels is not None
        self._write(array, _from_weakest(found.labels, cumulative.sum(axis=1) / total, plan.num_clusters))

    def last_round(self) -> None:
        """Stage 2."""
        plan, r = self.plan, self.plan.last_round
        plans = plan.arrays(r)
        if all(self._has(array) for array in plans):
            return
        sweep = BoardSweep(plan.classes, self._read(plan.opponent_clusters), plan.num_clusters)
        boards, weights = self._boards(r)
        with self._filled(f"round-{r}", plans) as stage:
            deals, strength, ochs = stage.arrays

            def work(begin: int, end: int) -> None:
                _, h2, against = sweep.sweep(boards[begin:end])
                cards, place = open_deals(plan.rules.deck, plan.rules.num_hole_cards, boards[begin:end])
                index = plan.classes.index(cards, r)
                kernels.scatter_board_features(
                    index, place, weights[begin:end], h2, against, deals, strength, ochs
                )

            stage.run(self, f"features of round {r}", work, len(boards), BOARDS_A_CHUNK)

    def earlier_round(self, r: int) -> None:
        """Stage 3."""
        plan = self.plan
        plans = plan.arrays(r)[1:]
        if all(self._has(array) for array in plans):
            return
        following = [self._read(array) for array in plan.arrays(r + 1)[1:]]
        sets = next_sets(plan, r)
        num_new = sets.shape[1]
        to_come = plan.classes.num_board_cards(plan.last_round) - plan.classes.num_board_cards(r)
        num_sets = num_next(plan, r)
        with self._filled(f"round-{r}", plans) as stage:

            def work(begin: int, end: int) -> None:
                cards = plan.classes.unindex(np.arange(begin, end), r)
                deals = np.empty((len(cards) * num_sets, cards.shape[1] + num_new), dtype=np.uint8)
                written = kernels.next_deals(cards, sets, deals)
                assert written == len(deals), "every deal leaves as many cards open"
                index = plan.classes.index(deals, r + 1).reshape(len(cards), num_sets)
                out = [array[begin:end] for array in stage.arrays]
                sums = np.empty(plan.num_clusters, dtype=np.int64)
                if r + 1 == plan.last_round:
                    bins = np.empty((2, NUM_BINS + 1), dtype=np.int64)
                    kernels.gather_last_round(index, *following, plan.bin_width, bins, sums, *out)
                else:
                    row = np.empty(NUM_BINS, dtype=np.int64)
                    kernels.gather_middle_round(index, comb(to_come, num_new), *following, row, sums, *out)

            stage.run(
                self, f"features of round {r}", work, plan.classes.size(r), max(1, DEALS_A_CHUNK // num_sets)
            )

    def deals(self, r: int) -> None:
        """Stage 4."""
        plan, array = self.plan, self.plan.arrays(r)[0]
        if self._has(array):
            return
        hand_cards = BoardSweep(plan.classes, None, 0).hand_cards
        boards, weights = self._boards(r)
        counted = np.zeros(array.shape, dtype=array.dtype)

        def work(begin: int, end: int) -> None:
            cards, place = open_deals(plan.rules.deck, plan.rules.num_hole_cards, boards[begin:end])
            index = plan.classes.index(cards, r)
            kernels.count_deals(index, place, len(hand_cards), weights[begin:end], counted)

        for _ in self._map(f"deals of round {r}", work, len(boards), BOARDS_A_CHUNK):
            pass
        self._write(array, counted)

    def _boards(self, r: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        boards, deal = self.plan.classes.boards(r), _board_round(self.plan, r)
        return boards.cards(deal), boards.weights(deal)

    def _map(
        self, stage: str, work: Callable[[int, int], Result], size: int, step: int, first: int = 0
    ) -> Iterator[Result]:
        """Do chunks on threads, from chunk `first` on, and yield their results in order."""
        skipped = min(first * step, size)
        progress = Progress(lambda done, total: self.report(stage, skipped + done, size), size - skipped)

        def shifted(begin: int, end: int) -> Result:
            return work(skipped + begin, skipped + end)

        with start_workers(self.num_threads) as workers:
            for begin, end, result in workers.map(shifted, size - skipped, step, progress):
                yield result
                progress.add(end - begin)
        progress.finish()

    @contextmanager
    def _filled(self, name: str, plans: list[ArrayPlan]) -> "Iterator[_Stage]":
        """Open the arrays of a stage where an earlier attempt left them, and finish them at the end."""
        partial = [PartialArray(self._path(array), self._header(array)) for array in plans]
        stage = _Stage(self._journal(name), partial, self.plan.fingerprint)
        yield stage
        for array in partial:
            array.finish()
        stage.journal.unlink(missing_ok=True)

    def _journal(self, name: str) -> Path:
        return self.plan.folder / f".{name}.journal"

    def _path(self, array: ArrayPlan) -> Path:
        return self.plan.folder / f"{array.name}.array"

    def _has(self, array: ArrayPlan) -> bool:
        return self._path(array).exists()

    def _header(self, array: ArrayPlan) -> ArrayHeader:
        return ArrayHeader(array.name, array.shape, array.dtype, array.units, self.plan.fingerprint)

    def _write(self, array: ArrayPlan, numbers: Array) -> None:
        write_array(
            self._path(array),
            numbers.astype(array.dtype),
            name=array.name,
            units=array.units,
            fingerprint=self.plan.fingerprint,
        )

    def _read(self, array: ArrayPlan) -> Array:
        return map_array(self._path(array), fingerprint=self.plan.fingerprint)[1]


class _Stage:
    """Arrays that are filled chunk by chunk, and the journal of the chunks that are safe.

    Attributes:
        arrays: mapped for writing.
        journal: the journal's file.
    """

    def __init__(self, journal: Path, partial: list[PartialArray], fingerprint: str) -> None:
        self.journal = journal
        self.arrays = [one.array for one in partial]
        self._partial = partial
        self._fingerprint = fingerprint

    def run(self, build: _Build, name: str, work: Callable[[int, int], None], size: int, step: int) -> None:
        """Do the chunks that are not done yet; what is done when it ends early stays."""
        first = done = self._chunks_done(size, step)
        flushed = time.monotonic()
        try:
            for _ in build._map(name, work, size, step, first):
                done += 1
                if time.monotonic() - flushed > SECONDS_BETWEEN_FLUSHES:
                    self._note(size, step, done)
                    flushed = time.monotonic()
        except BaseException:
            self._note(size, step, done)
            raise

    def _chunks_done(self, size: int, step: int) -> int:
        if not all(one.resumed for one in self._partial) or not self.journal.exists():
            return 0
        try:
            noted = json.loads(self.journal.read_text())
        except ValueError:
            return 0
        expected = {"fingerprint": self._fingerprint, "size": size, "step": step}
        return int(noted.pop("done")) if {**noted, "done": 0} == {**expected, "done": 0} else 0

    def _note(self, size: int, step: int, done: int) -> None:
        for one in self._partial:
            one.flush()
        noted = {"fingerprint": self._fingerprint, "size": size, "step": step, "done": done}
        write_text(self.journal, json.dumps(noted))


def _from_weakest(
    labels: npt.NDArray[np.integer], weakness: npt.NDArray[np.float64], num_clusters: int
) -> npt.NDArray[np.uint16]:
    """Number clusters from the weakest hands to the strongest."""
    sizes = np.maximum(np.bincount(labels, minlength=num_clusters), 1)
    mean = np.bincount(labels, weights=weakness, minlength=num_clusters) / sizes
    number = np.empty(num_clusters, dtype=np.uint16)
    number[np.argsort(-mean, kind="stable")] = np.arange(num_clusters)
    return np.asarray(number[labels])


def _board_round(plan: FeaturePlan, r: int) -> int:
    """Return the round that unordered boards have in `CanonicalBoards`: -1 for the empty board."""
    return 0 if plan.classes.num_board_cards(r) else -1


def next_sets(plan: FeaturePlan, r: int) -> npt.NDArray[np.uint8]:
    """Return the sets of public cards of the deck that the next round may deal: uint8[*, cards]."""
    num_new = plan.classes.num_board_cards(r + 1) - plan.classes.num_board_cards(r)
    return np.array(list(combinations(plan.rules.deck.cards, num_new)), dtype=np.uint8)


def num_next(plan: FeaturePlan, r: int) -> int:
    """Return how many sets of public cards may come next after a deal of a round."""
    known, following = plan.classes.num_board_cards(r), plan.classes.num_board_cards(r + 1)
    return comb(plan.rules.deck.size - plan.rules.num_hole_cards - known, following - known)


def _verify_disk(plan: FeaturePlan) -> None:
    """Refuse what does not fit on the disk; space that an earlier attempt has taken counts as free."""
    taken = sum(path.stat().st_blocks * 512 for path in plan.folder.iterdir() if path.is_file())
    free = free_disk(plan.folder)
    if plan.disk_bytes > free + taken:
        raise UsageError(
            f"the features of '{plan.rules.name}' need {format_bytes(plan.disk_bytes)} of disk in "
            f"'{plan.folder}', and {format_bytes(free)} are free"
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder against a second build at the same time."""
    with open(folder / ".lock", "ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"'{folder}' is being built by another process") from None
        remove_temporaries(folder)
        yield
