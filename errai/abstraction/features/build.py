"""Building the features of every class of hands, from the last round up: those that are wanted and missing.

1. Opponent clusters: the histograms of all hole cards, from the cache or by a sweep over every canonical
   last-round board (134,459 in hold'em), clustered by k-means under the earth mover's distance.
2. Last round: sweep the boards, cluster by cluster, and write strength and OCHS of every class, and how many
   deals it stands for.
3. Every earlier round: for each class, look up the classes that the next public cards lead to, and sum.
4. Deals of the earlier rounds.

Each stage works on chunks, several at a time on threads, and fills arrays on disk in place; a build that was
killed goes on where the journal of its stage stands (`stage.py`). An array gets its name when it is whole.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from errai.abstraction.clustering.kmeans import Metric, cluster
from errai.abstraction.features import _features as kernels
from errai.abstraction.features.by_boards import BoardSums, estimate_sums_seconds
from errai.abstraction.features.features import (
    ABOUT_NAME,
    COUNTS,
    DEALS,
    FORMAT,
    HISTOGRAMS,
    NUM_BINS,
    OCHS,
    OPPONENT_CLUSTERS,
    SQUARED,
    STRENGTH,
    Array,
    BoardSweep,
    FeaturePlan,
    Features,
    map_planned,
)
from errai.abstraction.features.stage import Stage
from errai.array_file import partial_path, write_array, write_text
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.folder_lock import FolderLock
from errai.games.rounds import round_name
from errai.memory import format_bytes, free_disk, verify_memory
from errai.workers import Progress, start_workers, verified_threads

BOARDS_A_CHUNK = 64
DEALS_A_CHUNK = 200_000

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
    """Return about how long it takes to build what is missing."""
    classes, missing, last = plan.classes, plan.missing(), plan.last_round
    if plan.goes_by_boards and missing:
        return estimate_sums_seconds(plan, SECONDS_A_SWEPT_BOARD) / verified_threads(num_threads)
    boards = classes.boards(last).num_boards(_board_round(plan, last))
    seconds = 0.0
    if OPPONENT_CLUSTERS in missing and not plan.has(f"{HISTOGRAMS}-0"):
        seconds += boards * SECONDS_A_SWEPT_BOARD
    if any(f"{kind}-{last}" in missing for kind in (DEALS, STRENGTH, OCHS)):
        seconds += boards * SECONDS_A_SWEPT_BOARD
    for r in range(last):
        if any(f"{kind}-{r}" in missing for kind in (STRENGTH, SQUARED, HISTOGRAMS, OCHS)):
            seconds += classes.size(r) * num_next(plan, r) * SECONDS_A_LOOK_UP
    return seconds / verified_threads(num_threads)


def build_features(
    plan: FeaturePlan, num_threads: int | None = None, report: Report | None = None
) -> Features:
    """Build what the plan wants and the cache does not have yet, and return the features.

    Args:
        plan: which features.
        num_threads: all cores without it; the numbers do not depend on it.
        report: called with a stage's name, steps done and steps in all about once a second; an exception of
            its own ends the build, which can be taken up again later.
    """
    if plan.is_complete():
        return Features(plan)
    with FolderLock(plan.folder, create=True):
        _verify_disk(plan)
        verify_memory(MEMORY_BYTES, f"building the features of '{plan.rules.name}'")
        if not (plan.folder / ABOUT_NAME).exists():
            about = {"format": FORMAT, "game": plan.rules.name, "cards": plan.classes.card_signature()}
            write_text(plan.folder / ABOUT_NAME, json.dumps(about))
        build = _Build(plan, num_threads, report or (lambda stage, done, total: None))
        if plan.goes_by_boards:
            build.by_boards()
        build.opponent_clusters()
        build.last_round()
        for r in range(plan.last_round - 1, -1, -1):
            build.earlier_round(r)
            build.deals(r)
        build.counts()
    return Features(plan)


@dataclass
class _Build:
    """One build under way."""

    plan: FeaturePlan
    num_threads: int | None
    report: Report

    def opponent_clusters(self) -> None:
        """Stage 1."""
        plan = self.plan
        if not self._missing(OPPONENT_CLUSTERS):
            return
        hands = np.bincount(plan.classes.index(plan.classes.hands, 0), minlength=plan.classes.size(0))
        if plan.has(f"{HISTOGRAMS}-0"):
            rows = np.asarray(self._read(f"{HISTOGRAMS}-0")).astype(np.int64)
        else:
            rows = self._hole_card_histograms(hands)
        total = plan.runouts(0) * plan.bin_width
        found = cluster(
            np.rint(rows * (CLUSTER_TOTAL / total)).astype(np.uint16),
            hands,
            plan.num_clusters,
            Metric.L1,
            restarts=CLUSTER_RESTARTS,
            max_iterations=CLUSTER_ITERATIONS,
            num_threads=1,
        )
        assert found.labels is not None
        weakness = rows.sum(axis=1) / total
        self._write(OPPONENT_CLUSTERS, from_weakest(found.labels, weakness, plan.num_clusters))

    def _hole_card_histograms(self, hands: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the cumulative histograms of the first round's classes: int64[N, 50].

        Args:
            hands: int64[N] hands of each class.
        """
        plan = self.plan
        sweep = BoardSweep(plan.classes, None, 0)
        boards, weights = self._boards(plan.last_round)
        partial, steps = (np.zeros((len(hands), NUM_BINS + 1), dtype=np.int64) for _ in range(2))

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
        # Every hand of a class has the same histogram.
        return np.asarray(cumulative // hands[:, np.newaxis])

    def by_boards(self) -> None:
        """Do without a table of the last round, where percentiles are all that is wanted."""
        last = self.plan.last_round
        of_rounds = [f"{kind}-{r}" for kind in (STRENGTH, SQUARED) for r in range(last)]
        if self._missing(*of_rounds, f"{COUNTS}-{last}"):
            BoardSums(self.plan, self.num_threads, self.report).build(self._write)

    def counts(self) -> None:
        """Count the deals of each strength of the last round."""
        feature, last = f"{COUNTS}-{self.plan.last_round}", self.plan.last_round
        if self._missing(feature):
            strength, deals = self._read(f"{STRENGTH}-{last}"), self._read(f"{DEALS}-{last}")
            self._write(feature, np.bincount(strength, deals, self.plan.max_strength + 1))

    def last_round(self) -> None:
        """Stage 2."""
        plan, r = self.plan, self.plan.last_round
        missing = self._missing(f"{DEALS}-{r}", f"{STRENGTH}-{r}", f"{OCHS}-{r}")
        if not missing:
            return
        clusters = self._read(OPPONENT_CLUSTERS) if f"{OCHS}-{r}" in missing else None
        sweep = BoardSweep(plan.classes, clusters, plan.num_clusters if clusters is not None else 0)
        boards, weights = self._boards(r)

        def work(begin: int, end: int, out: dict[str, Array]) -> None:
            _, h2, ochs = sweep.sweep(boards[begin:end])
            cards, place = open_deals(plan.rules.deck, plan.rules.num_hole_cards, boards[begin:end])
            index = plan.classes.index(cards, r)
            if (deals := out.get(f"{DEALS}-{r}")) is not None:
                kernels.count_deals(index, place, h2.shape[1], weights[begin:end], deals)
            if (strength := out.get(f"{STRENGTH}-{r}")) is not None:
                kernels.scatter_strength(index, place, h2, strength)
            if (against := out.get(f"{OCHS}-{r}")) is not None:
                kernels.scatter_ochs(index, place, ochs, against)

        self._fill(r, missing, work, len(boards), BOARDS_A_CHUNK)

    def earlier_round(self, r: int) -> None:
        """Stage 3."""
        plan = self.plan
        missing = self._missing(*(f"{kind}-{r}" for kind in (STRENGTH, SQUARED, HISTOGRAMS, OCHS)))
        if not missing:
            return
        is_last = r + 1 == plan.last_round
        needs_strength = any(not name.startswith(OCHS) for name in missing)
        needs_histograms = f"{HISTOGRAMS}-{r}" in missing
        names = ([STRENGTH] if is_last else [STRENGTH, SQUARED]) if needs_strength else []
        names += [HISTOGRAMS] if needs_histograms and not is_last else []
        names += [OCHS] if f"{OCHS}-{r}" in missing else []
        after = {kind: self._read(f"{kind}-{r + 1}") for kind in names}
        sets, num_sets = next_sets(plan, r), num_next(plan, r)
        to_come = plan.classes.num_board_cards(plan.last_round) - plan.classes.num_board_cards(r)
        times_counted = comb(to_come, sets.shape[1])

        def work(begin: int, end: int, out: dict[str, Array]) -> None:
            cards = plan.classes.unindex(np.arange(begin, end), r)
            deals = np.empty((len(cards) * num_sets, cards.shape[1] + sets.shape[1]), dtype=np.uint8)
            written = kernels.next_deals(cards, sets, deals)
            assert written == len(deals), "every deal leaves as many cards open"
            index = plan.classes.index(deals, r + 1).reshape(len(cards), num_sets)
            if needs_strength:
                sums = [_part(plan, out, f"{kind}-{r}", begin, end) for kind in (STRENGTH, SQUARED)]
                histograms = _part(plan, out, f"{HISTOGRAMS}-{r}", begin, end)
                if is_last:
                    bins = np.empty((2, NUM_BINS + 1), dtype=np.int64)
                    kernels.gather_last_round(index, after[STRENGTH], plan.bin_width, bins, *sums, histograms)
                else:
                    row = np.empty(histograms.shape[1], dtype=np.int64)
                    rows = after.get(HISTOGRAMS, np.empty((0, 0), dtype=histograms.dtype))
                    kernels.gather_middle_round(
                        index, times_counted, after[STRENGTH], after[SQUARED], rows, row, *sums, histograms
                    )
            if (ochs := out.get(f"{OCHS}-{r}")) is not None:
                scratch = np.empty(plan.num_clusters, dtype=np.int64)
                kernels.gather_ochs(index, after[OCHS], scratch, ochs[begin:end])

        self._fill(r, missing, work, plan.classes.size(r), max(1, DEALS_A_CHUNK // num_sets))

    def deals(self, r: int) -> None:
        """Stage 4."""
        plan = self.plan
        if not self._missing(f"{DEALS}-{r}"):
            return
        array = plan.arrays[f"{DEALS}-{r}"]
        hand_cards = BoardSweep(plan.classes, None, 0).hand_cards
        boards, weights = self._boards(r)
        counted = np.zeros(array.header.shape, dtype=array.header.dtype)

        def work(begin: int, end: int) -> None:
            cards, place = open_deals(plan.rules.deck, plan.rules.num_hole_cards, boards[begin:end])
            index = plan.classes.index(cards, r)
            kernels.count_deals(index, place, len(hand_cards), weights[begin:end], counted)

        for _ in self._map(f"deals of {round_name(self.plan.rules, r)}", work, len(boards), BOARDS_A_CHUNK):
            pass
        self._write(f"{DEALS}-{r}", counted)

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

    def _fill(
        self,
        r: int,
        missing: list[str],
        work: Callable[[int, int, dict[str, Array]], None],
        size: int,
        step: int,
    ) -> None:
        """Fill the missing arrays of a round chunk by chunk; what is done when it ends early stays.

        Args:
            r: the round.
            missing: their features.
            work: does the rows from a begin to an end, given the arrays by feature.
            size: rows in all.
            step: rows of a chunk.
        """
        headers = [self.plan.arrays[feature].header for feature in missing]
        stage = Stage(self.plan.folder, f"round-{r}", headers, -(-size // step), f"{size} by {step}")
        out = {one: stage.arrays[header.name] for one, header in zip(missing, headers, strict=True)}
        try:
            for _ in self._map(
                f"features of {round_name(self.plan.rules, r)}",
                lambda begin, end: work(begin, end, out),
                size,
                step,
                stage.chunks_done,
            ):
                stage.count()
        except BaseException:
            stage.note()
            raise
        out.clear()
        stage.finish()

    def _missing(self, *features: str) -> list[str]:
        """Return those of some features that are wanted and not there."""
        return [one for one in features if one in self.plan.arrays and not self.plan.has(one)]

    def _write(self, feature: str, numbers: Array) -> None:
        array = self.plan.arrays[feature]
        header = array.header
        write_array(
            self.plan.path(array),
            numbers.astype(header.dtype),
            name=header.name,
            units=header.units,
            fingerprint=header.fingerprint,
        )

    def _read(self, feature: str) -> Array:
        return map_planned(self.plan, self.plan.all_arrays[feature])


def _part(plan: FeaturePlan, out: dict[str, Array], feature: str, begin: int, end: int) -> Array:
    """Return the rows of an array to be filled; where it is not wanted, others, without columns."""
    if feature in out:
        return out[feature][begin:end]
    header = plan.all_arrays[feature].header
    return np.empty((end - begin, *(0 for _ in header.shape[1:])), dtype=header.dtype)


def from_weakest(
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
    needed = plan.missing_bytes
    begun = [partial_path(plan.path(array)) for array in plan.missing().values()]
    taken = sum(path.stat().st_blocks * 512 for path in begun if path.exists())
    free = free_disk(plan.folder)
    if needed > free + taken:
        raise UsageError(
            f"the features of '{plan.rules.name}' need {format_bytes(needed)} of disk in '{plan.folder}', "
            f"but only {format_bytes(free)} are free"
        )
