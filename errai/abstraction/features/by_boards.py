"""Strengths of every round without a table of the last one: board by board, for percentiles alone.

Steps, for a game whose last round has too many classes to look each of them up again and again:

1. Sweep every canonical board of the last round; keep the strengths of all its hands, [boards, hands], in
   memory, and count how many deals have each strength.
2. For every canonical board of the round before and every set of public cards that may come, add up the
   strengths of all hands on the board that comes, whose suits are renamed as its canonical board says.
3. The same for the rounds before that, from the sums of the round after.

The numbers are those of `build.py`, to the bit. Hold'em takes seconds, because neighbours in memory are read
one after the other, and its river leaves nothing on disk.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from errai.abstraction.features import _features as kernels
from errai.abstraction.features.features import COUNTS, SQUARED, STRENGTH, Array, BoardSweep, FeaturePlan
from errai.cards import _evaluator
from errai.cards.hands import open_deals
from errai.workers import Progress, start_workers

BOARDS_A_CHUNK = 64
SECONDS_A_SUM = 4e-9

Report = Callable[[str, int, int], None]


class BoardSums:
    """The strengths of all hands on all boards of a round, and what becomes of them a round before."""

    def __init__(self, plan: FeaturePlan, num_threads: int | None, report: Report) -> None:
        """Prepare.

        Args:
            plan: which features.
            num_threads: all cores without it.
            report: called with a stage's name, steps done and steps in all.
        """
        self._plan, self._threads, self._report = plan, num_threads, report
        self._sweep = BoardSweep(plan.classes, None, 0)
        self._hand_number = hand_numbers(self._sweep.hands)

    def build(self, write: Callable[[str, Array], None]) -> None:
        """Build the strengths and squares of all rounds before the last, and the counts of the last.

        Args:
            write: called with each feature when it is whole.
        """
        plan, last = self._plan, self._plan.last_round
        strength, counts = self._last_round()
        write(f"{COUNTS}-{last}", counts)
        squared: Array = np.empty((0, 0), dtype=np.uint64)
        for r in range(last - 1, -1, -1):
            found = {f"{kind}-{r}": _empty(plan, f"{kind}-{r}") for kind in (STRENGTH, SQUARED)}
            strength, squared = self._earlier_round(r, strength, squared, found)
            for feature, array in found.items():
                write(feature, array)

    def _last_round(self) -> tuple[Array, Array]:
        """Return uint16[boards, hands] the strengths, and uint64[strengths] how many deals have each."""
        plan = self._plan
        boards, weights = board_cards(plan, plan.last_round)
        kept = np.zeros((len(boards), len(self._sweep.hands)), dtype=np.uint16)
        counts = np.zeros(plan.max_strength + 1, dtype=np.uint64)

        def work(begin: int, end: int) -> Array:
            strengths, h2, _ = self._sweep.sweep(boards[begin:end])
            kept[begin:end] = h2
            is_open = strengths != _evaluator.BLOCKED
            each = np.broadcast_to(weights[begin:end, np.newaxis], h2.shape)
            return np.bincount(h2[is_open], each[is_open], len(counts)).astype(np.uint64)

        for some in self._map("strengths on last boards", work, len(boards)):
            counts += some
        return kept, counts

    def _earlier_round(
        self, r: int, next_strength: Array, next_squared: Array, found: dict[str, Array]
    ) -> tuple[Array, Array]:
        """Return the sums of all hands on a round's boards, and fill those of its classes."""
        plan, rules = self._plan, self._plan.rules
        boards, _ = board_cards(plan, r)
        following = plan.classes.boards(r + 1)
        num_new = plan.classes.num_board_cards(r + 1) - boards.shape[1]
        to_come = plan.classes.num_board_cards(plan.last_round) - boards.shape[1]
        times = comb(to_come, num_new)
        shape = (len(boards), len(self._sweep.hands))
        kept = tuple(np.zeros(shape, dtype=found[f"{kind}-{r}"].dtype) for kind in (STRENGTH, SQUARED))

        def work(begin: int, end: int) -> None:
            some = boards[begin:end]
            coming = np.stack([_next_boards(board, rules.deck.cards, num_new) for board in some])
            flat = coming.reshape(-1, coming.shape[2])
            canonical = following.canonicalise_many(flat, 0)
            renamed = np.full((len(flat), kernels.NO_CARD + 1), kernels.NO_CARD, dtype=np.uint8)
            renamed[:, : kernels.NO_CARD] = canonical.card_permutation
            sums = [np.empty((len(some), shape[1]), dtype=np.int64) for _ in kept]
            kernels.sum_next_boards(
                coming,
                canonical.board_index.reshape(coming.shape[:2]),
                renamed.reshape(*coming.shape[:2], -1),
                self._sweep.hand_cards,
                self._hand_number,
                next_strength,
                next_squared,
                *sums,
            )
            cards, place = open_deals(rules.deck, rules.num_hole_cards, some)
            index = plan.classes.index(cards, r)
            for kind, of_hands, all_sums in zip((STRENGTH, SQUARED), kept, sums, strict=True):
                kernels.scatter_sums(index, place, all_sums, times, found[f"{kind}-{r}"])
                of_hands[begin:end] = all_sums // times

        for _ in self._map(f"strengths of round {r + 1}", work, len(boards)):
            pass
        return kept[0], kept[1]

    def _map(self, stage: str, work: Callable[[int, int], Array | None], size: int) -> list[Array]:
        """Do chunks of boards on threads, and return their results in order."""
        results = []
        progress = Progress(lambda done, total: self._report(stage, done, total), size)
        with start_workers(self._threads) as workers:
            for begin, end, result in workers.map(work, size, BOARDS_A_CHUNK, progress):
                if result is not None:
                    results.append(result)
                progress.add(end - begin)
        progress.finish()
        return results


def board_cards(plan: FeaturePlan, r: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the canonical unordered boards of a round, and how many boards each stands for."""
    boards = plan.classes.boards(r)
    deal = 0 if plan.classes.num_board_cards(r) else -1
    return boards.cards(deal), boards.weights(deal)


def hand_numbers(hands: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the number of a hand by its cards in any order: int64[53, 53]; the second may be missing."""
    found = np.zeros((kernels.NO_CARD + 1, kernels.NO_CARD + 1), dtype=np.int64)
    first = hands[:, 0]
    second = hands[:, 1] if hands.shape[1] > 1 else np.full(len(hands), kernels.NO_CARD)
    found[first, second] = found[second, first] = np.arange(len(hands))
    return found


def estimate_sums_seconds(plan: FeaturePlan, seconds_a_board: float) -> float:
    """Return about how long it takes on one core."""
    num_hands = len(plan.classes.hands)
    seconds = len(board_cards(plan, plan.last_round)[0]) * seconds_a_board
    for r in range(plan.last_round):
        known, following = (plan.classes.num_board_cards(e) for e in (r, r + 1))
        coming = comb(plan.rules.deck.size - known, following - known)
        seconds += len(board_cards(plan, r)[0]) * coming * num_hands * SECONDS_A_SUM
    return seconds


def _next_boards(board: npt.NDArray[np.uint8], deck: Sequence[int], num_new: int) -> npt.NDArray[np.uint8]:
    """Return what a board may become: uint8[E, cards]."""
    left = sorted({*deck} - {*board.tolist()})
    new = np.array(list(combinations(left, num_new)), dtype=np.uint8)
    return np.concatenate([np.broadcast_to(board, (len(new), len(board))), new], axis=1)


def _empty(plan: FeaturePlan, feature: str) -> Array:
    header = plan.all_arrays[feature].header
    return np.zeros(header.shape, dtype=header.dtype)
