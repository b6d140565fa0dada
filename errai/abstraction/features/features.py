"""Features of every class of hands: strength, its distribution over what may come, strength against clusters.

Johanson, Burch, Valenzano and Bowling, "Evaluating State-Space Abstractions in Extensive-Form Games"
(AAMAS 2013; chapter 5 of Johanson's thesis) describe them:

- *hand strength* in the last round: the chance to beat a random hand of the opponent, a tie counting half.
  Kept as h2 = 2 x beaten + tied, an integer (0 to 1,980 in hold'em).
- *E[HS]* and *E[HS2]* before it: means, over the public cards to come, of the strength and of its square.
  Kept as sums over the `runouts` of a round, so they are exact.
- *histograms* of the strength over what may come, for the earth mover's distance. In one dimension that
  distance is the area between two cumulative distributions, so those are what is kept: F_b is the
  cumulative distribution averaged over bin b of 50, times bin width times runouts, an exact integer.
  Their sum gives back E[HS] exactly (`histogram_mean`), where the middles of bins would only come near.
- *OCHS*: the strength against each of 8 clusters of the opponent's hole cards, times 3,500; before the last
  round the mean over what may come. The clusters are made of the first round's histograms by k-means
  under the earth mover's distance (`opponent_clusters`).

The arrays lie in a cache folder, one file each with checksums and fingerprint, and are memory-mapped; every
bit is verified when a process first uses an array. The class of a hand (`hands.py`) is its row. `build.py`
makes them, those that are asked for and no others. Games with the same cards share a folder, whatever their
number of opponent clusters: only the arrays of OCHS depend on it, and have it in their names.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.abstraction.features import _features as kernels
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.features.stage import array_path
from errai.array_file import ArrayHeader, map_verified_array
from errai.cards import _evaluator
from errai.cards.evaluator import evaluate_three_card, evaluator_tables
from errai.cards.hands import open_deals
from errai.errors import UsageError, verify_whole
from errai.games.rounds import round_of_game
from errai.games.rules import PokerRules
from errai.kernels import cache_root

FORMAT = 2
"""Changes whenever the numbers of any array would, or its name: caches of other formats are not read."""

NUM_BINS = 50
DEFAULT_CLUSTERS = 8
OCHS_SCALE = kernels.OCHS_SCALE
ABOUT_NAME = "features.json"
FOLDER_PREFIX = "features-"

DEALS, STRENGTH, SQUARED, HISTOGRAMS, OCHS = "deals", "strength", "squared", "histograms", "ochs"
OPPONENT_CLUSTERS = "opponent-clusters"
COUNTS = "counts"
"""How many deals of the last round have each strength; made only where it is asked for."""
ALWAYS = (DEALS, STRENGTH, SQUARED)
"""What every recipe gets: small, and what `errai abstract show` tells of a hand."""

MANY_DEALS = 256
"""So many deals are looked up rather than compared: fewer are not worth opening a file for."""

HOW_TO_BUILD_ANEW = "'errai cache --clear features' removes the features, so that they are built anew"

Array = npt.NDArray[Any]


class ArrayPlan(NamedTuple):
    """What an array of the cache will be.

    Attributes:
        feature: what it is, such as `ochs-3`.
        header: what its file says about it; its name there has the number of opponent clusters, too.
    """

    feature: str
    header: ArrayHeader

    @property
    def num_bytes(self) -> int:
        """Bytes of its numbers."""
        return self.header.num_bytes


class BoardFeatures(NamedTuple):
    """Last-round features of all hands on one board.

    Attributes:
        is_open: bool[H] hands that share no card with the board.
        strength: uint16[H] h2.
        ochs: uint16[H, C].
    """

    is_open: npt.NDArray[np.bool_]
    strength: npt.NDArray[np.uint16]
    ochs: npt.NDArray[np.uint16]


@dataclass(frozen=True)
class FeaturePlan:
    """Which features of a game are wanted and how large they are; nothing is computed yet.

    Attributes:
        rules: the game.
        num_clusters: opponent clusters.
        needed: what is wanted: `histograms`, `ochs` or `opponent-clusters`, the first two also of one round,
            such as `ochs-3`; everything without it. Deals and strengths belong to it always.
    """

    rules: PokerRules
    num_clusters: int = DEFAULT_CLUSTERS
    needed: Collection[str] | None = None

    def __post_init__(self) -> None:
        most = self.classes.size(0)
        verify_whole("the number of opponent clusters", self.num_clusters)
        if not 1 <= self.num_clusters <= most:
            raise UsageError(
                f"the number of opponent clusters must be 1 to {most:,}, the classes of hole cards of "
                f"'{self.rules.name}', not {self.num_clusters}"
            )
        rounds = range(self.rules.num_rounds)
        of_rounds = {f"{kind}-{r}" for kind in (*ALWAYS, HISTOGRAMS, OCHS) for r in rounds}
        of_rounds.add(f"{COUNTS}-{self.last_round}")
        for name in self.needed or ():
            if name not in {*ALWAYS, HISTOGRAMS, OCHS, OPPONENT_CLUSTERS, *of_rounds}:
                raise UsageError(
                    f"'{name}' is not a feature of '{self.rules.name}': expected {', '.join(ALWAYS)}, "
                    f"{HISTOGRAMS}, {OCHS} or {OPPONENT_CLUSTERS}, or one of a round such as '{OCHS}-0'"
                )

    @staticmethod
    def of(
        rules: PokerRules, clusters: int | None = None, needed: Collection[str] | None = None
    ) -> "FeaturePlan":
        """Return a plan, by default with 8 opponent clusters, or with all classes of hole cards if fewer."""
        if clusters is None:
            clusters = min(DEFAULT_CLUSTERS, HandClasses(rules).size(0))
        return FeaturePlan(rules, clusters, needed)

    @cached_property
    def classes(self) -> HandClasses:
        """The classes of hands."""
        return HandClasses(self.rules)

    @property
    def last_round(self) -> int:
        """The round that ends with a showdown."""
        return self.rules.num_rounds - 1

    @property
    def max_strength(self) -> int:
        """The h2 of a hand that beats all others."""
        known = self.rules.num_hole_cards + self.classes.num_board_cards(self.last_round)
        return 2 * comb(self.rules.deck.size - known, self.rules.num_hole_cards)

    @property
    def bin_width(self) -> int:
        """Width of a histogram's bin, in halves: the least with which 50 bins hold every strength."""
        return self.max_strength // NUM_BINS + 1

    def runouts(self, round_index: int) -> int:
        """Return how many sets of public cards may still come after a deal of a round."""
        known = self.classes.num_board_cards(round_index)
        to_come = self.classes.num_board_cards(self.last_round) - known
        return comb(self.rules.deck.size - self.rules.num_hole_cards - known, to_come)

    @property
    def fingerprint(self) -> str:
        """Of everything that decides the numbers, the opponent clusters included."""
        return _fingerprint({**self._about_cards, "clusters": self.num_clusters})

    @property
    def _about_cards(self) -> dict[str, object]:
        return {"format": FORMAT, "cards": self.classes.card_signature(), "bins": NUM_BINS}

    @property
    def _cards_fingerprint(self) -> str:
        """Of what decides the numbers that do not depend on opponent clusters."""
        return _fingerprint(self._about_cards)

    @property
    def folder(self) -> Path:
        """Where the arrays are kept."""
        return cache_root() / f"{FOLDER_PREFIX}{self._cards_fingerprint}"

    def path(self, array: ArrayPlan) -> Path:
        """Return the file of an array."""
        return array_path(self.folder, array.header.name)

    @cached_property
    def arrays(self) -> dict[str, ArrayPlan]:
        """The arrays that are wanted, and those that are needed to build them, by feature."""
        return {name: array for name, array in self.all_arrays.items() if self._is_needed(name)}

    @cached_property
    def all_arrays(self) -> dict[str, ArrayPlan]:
        """Every array that there could be, by feature."""
        arrays = [array for r in range(self.rules.num_rounds) for array in self._of_round(r)]
        name = f"{OPPONENT_CLUSTERS}-{self.num_clusters}"
        header = ArrayHeader(name, (self.classes.size(0),), "<u2", "clusters", self.fingerprint)
        return {array.feature: array for array in [*arrays, ArrayPlan(OPPONENT_CLUSTERS, header)]}

    def _of_round(self, r: int) -> list[ArrayPlan]:
        size, runouts, most = self.classes.size(r), self.runouts(r), self.max_strength

        def plan(kind: str, shape: tuple[int, ...], dtype: str, units: str) -> ArrayPlan:
            header = ArrayHeader(f"{kind}-{r}", shape, dtype, units, self._cards_fingerprint)
            return ArrayPlan(header.name, header)

        of_ochs = f"{OCHS}-{r}-of-{self.num_clusters}"
        shape = (size, self.num_clusters)
        ochs = ArrayHeader(of_ochs, shape, "<u2", f"1/{OCHS_SCALE}", self.fingerprint)
        arrays = [
            plan(DEALS, (size,), _unsigned(2**16 - 1), "deals"),
            plan(STRENGTH, (size,), _unsigned(runouts * most), "half hands beaten"),
            ArrayPlan(f"{OCHS}-{r}", ochs),
        ]
        if r == self.last_round:
            return [*arrays, plan(COUNTS, (most + 1,), "<u8", "deals")]
        cumulative = _unsigned(runouts * self.bin_width)
        return [
            *arrays,
            plan(SQUARED, (size,), _unsigned(runouts * most**2), "squared half hands beaten"),
            plan(HISTOGRAMS, (size, NUM_BINS), cumulative, "runouts x bin width"),
        ]

    def _is_needed(self, feature: str) -> bool:
        """Return whether a feature is wanted, or one before it in the game that is summed up from it."""
        if feature.startswith(COUNTS):
            return self.needed is not None and feature in self.needed
        if self.goes_by_boards and feature in (f"{kind}-{self.last_round}" for kind in (DEALS, STRENGTH)):
            return False
        if self.needed is None or feature.startswith(ALWAYS):
            return True
        if feature == OPPONENT_CLUSTERS:
            return any(name.startswith((OPPONENT_CLUSTERS, OCHS)) for name in self.needed)
        kind, _, r = feature.rpartition("-")
        earlier = {f"{kind}-{e}" for e in range(int(r) + 1)}
        return bool(earlier.intersection(self.needed)) or kind in self.needed

    @property
    def goes_by_boards(self) -> bool:
        """Whether strengths before the last round are all that is wanted (`by_boards.py`)."""
        if self.needed is None or f"{COUNTS}-{self.last_round}" not in self.needed:
            return False
        earlier = {f"{kind}-{r}" for kind in (STRENGTH, SQUARED) for r in range(self.last_round)}
        return set(self.needed) <= {*earlier, f"{COUNTS}-{self.last_round}"}

    def has(self, feature: str) -> bool:
        """Return whether the cache has a feature such as `ochs-3`, wanted or not."""
        return feature in self.all_arrays and self.path(self.all_arrays[feature]).exists()

    def missing(self) -> dict[str, ArrayPlan]:
        """Return the arrays that are not in the cache yet: a file has its name only when it is whole."""
        return {name: array for name, array in self.arrays.items() if not self.has(name)}

    @property
    def disk_bytes(self) -> int:
        """Bytes of all arrays that are wanted, whether or not they are there."""
        return sum(array.num_bytes for array in self.arrays.values())

    @property
    def missing_bytes(self) -> int:
        """Bytes of the arrays that are not in the cache yet."""
        return sum(array.num_bytes for array in self.missing().values())

    def is_complete(self) -> bool:
        """Return whether the cache has all that is wanted."""
        return not self.missing()


class Features:
    """The features of a game, mapped from the cache.

    Attributes:
        plan: which they are.
    """

    def __init__(self, plan: FeaturePlan) -> None:
        """Open the cache, which must have all that is planned; more than that can be asked for."""
        if missing := plan.missing():
            raise _not_there(plan, next(iter(missing)))
        self.plan = plan
        self._mapped: dict[str, Array] = {}

    def has(self, feature: str) -> bool:
        """Return whether a feature such as `ochs-3` is in the cache, planned or not."""
        return self.plan.has(feature)

    @property
    def classes(self) -> HandClasses:
        """The classes of hands, which are the rows of all arrays."""
        return self.plan.classes

    def deals(self, round_index: int) -> npt.NDArray[np.uint16]:
        """Return how many deals each class stands for: uint16[N]."""
        return self._array(f"{DEALS}-{round_index}")

    def counts(self) -> npt.NDArray[np.uint64]:
        """Return how many deals of the last round have each strength: uint64[strengths]."""
        return self._array(f"{COUNTS}-{self.plan.last_round}")

    def strength(self, round_index: int) -> Array:
        """Return the sum of h2 over what may come: uint[N]."""
        return self._array(f"{STRENGTH}-{round_index}")

    def squared(self, round_index: int) -> Array:
        """Return the sum of squares of h2 over what may come: uint[N]; in the last round, of one value."""
        if round_index == self.plan.last_round:
            return np.square(self.strength(round_index).astype(np.uint32))
        return self._array(f"{SQUARED}-{round_index}")

    def histograms(self, round_index: int) -> Array:
        """Return the cumulative histograms of a round before the last: uint[N, 50]."""
        if round_index == self.plan.last_round:
            raise UsageError(
                f"{round_of_game(self.plan.rules, round_index)} is the last, where a hand has one strength "
                "and no histogram"
            )
        return self._array(f"{HISTOGRAMS}-{round_index}")

    def ochs(self, round_index: int) -> npt.NDArray[np.uint16]:
        """Return the strength against each opponent cluster: uint16[N, C]."""
        return self._array(f"{OCHS}-{round_index}")

    @cached_property
    def opponent_clusters(self) -> npt.NDArray[np.uint16]:
        """The cluster of each class of hole cards: uint16[classes of round 0]."""
        return self._array(OPPONENT_CLUSTERS)

    def expected_strength(self, round_index: int) -> npt.NDArray[np.float64]:
        """Return E[HS] of every class: float64[N]."""
        whole = self.plan.runouts(round_index) * self.plan.max_strength
        return np.asarray(self.strength(round_index)) / whole

    def expected_strength_squared(self, round_index: int) -> npt.NDArray[np.float64]:
        """Return E[HS2] of every class: float64[N]."""
        whole = self.plan.runouts(round_index) * self.plan.max_strength**2
        return np.asarray(self.squared(round_index)) / whole

    def histogram_total(self, round_index: int) -> int:
        """Return the value that a cumulative histogram ends at."""
        return self.plan.runouts(round_index) * self.plan.bin_width

    def histogram_mean(self, rows: Array, round_index: int) -> npt.NDArray[np.float64]:
        """Return the means of cumulative histograms, which equal E[HS].

        Args:
            rows: uint[..., 50].
            round_index: their round.
        """
        runouts = self.plan.runouts(round_index)
        half_hands = NUM_BINS * self.plan.bin_width * runouts - rows.sum(axis=-1, dtype=np.int64)
        return np.asarray(half_hands / (runouts * self.plan.max_strength))

    def on_board(self, board: npt.NDArray[np.uint8]) -> BoardFeatures:
        """Return the last round's features of all hands on a board; needs no table."""
        return self.board_sweep.features(board)

    @cached_property
    def board_sweep(self) -> "BoardSweep":
        """What compares all hands on last-round boards."""
        return BoardSweep(self.classes, self.opponent_clusters, self.plan.num_clusters)

    def _array(self, feature: str) -> Array:
        if feature not in self._mapped:
            if not self.has(feature):
                raise _not_there(self.plan, feature)
            array = self.plan.all_arrays[feature]
            self._mapped[feature] = map_planned(self.plan, array)
        return self._mapped[feature]


def map_planned(plan: FeaturePlan, array: ArrayPlan) -> Array:
    """Map an array of the cache, every bit verified when a process first does so."""
    try:
        header, numbers = map_verified_array(plan.path(array), fingerprint=array.header.fingerprint)
    except UsageError as error:
        raise UsageError(f"{error}; {HOW_TO_BUILD_ANEW}") from None
    if header != array.header:
        raise UsageError(
            f"'{plan.path(array)}' is not the feature '{array.feature}' of '{plan.rules.name}'; "
            f"{HOW_TO_BUILD_ANEW}"
        )
    return numbers


def _not_there(plan: FeaturePlan, feature: str) -> UsageError:
    return UsageError(
        f"the feature '{feature}' of '{plan.rules.name}' is not in '{plan.folder}': run "
        f"'errai abstract features {plan.rules.name}' to build it"
    )


class BoardSweep:
    """Compares all hands on last-round boards, with all others and with clusters of them.

    Attributes:
        hands: uint8[H, hole cards] all hands.
        hand_cards: uint8[H, 2] the same with `NO_CARD` for a missing second card.
        class_of_hand: int64[H] class of the hole cards.
    """

    def __init__(
        self, classes: HandClasses, opponent_clusters: npt.NDArray[np.integer] | None, num_clusters: int
    ) -> None:
        """Prepare what all boards share.

        Args:
            classes: of the game.
            opponent_clusters: the cluster of each class of hole cards; None without clusters.
            num_clusters: 0 without clusters.
        """
        hands = classes.hands
        self.hands = hands
        self._classes = classes
        self._num_clusters = num_clusters
        self.class_of_hand = classes.index(hands, 0)
        of_hand = np.zeros(len(hands)) if opponent_clusters is None else opponent_clusters[self.class_of_hand]
        self._cluster_of_hand = of_hand.astype(np.int64)
        self.hand_cards = np.full((len(hands), 2), kernels.NO_CARD, dtype=np.uint8)
        self.hand_cards[:, : hands.shape[1]] = hands
        self._keys, self._masks = (np.empty(len(hands), dtype=np.int64) for _ in range(2))
        _evaluator.pack_rows(hands, evaluator_tables(), self._keys, self._masks)

    def sweep(
        self, boards: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
        """Compare the hands of each board.

        Args:
            boards: uint8[J, K] last-round boards.

        Returns:
            Strengths int32[J, H] (negative where blocked), h2 uint16[J, H], ochs uint16[J, H, C].
        """
        num_hands = len(self.hand_cards)
        strengths = np.empty((len(boards), num_hands), dtype=np.int32)
        h2 = np.empty((len(boards), num_hands), dtype=np.uint16)
        ochs = np.empty((len(boards), num_hands, self._num_clusters), dtype=np.uint16)
        if not self._classes.is_three_card:
            kernels.sweep_boards(
                boards,
                evaluator_tables(),
                self._keys,
                self._masks,
                self.hand_cards,
                self._cluster_of_hand,
                self._num_clusters,
                strengths,
                h2,
                ochs,
            )
            return strengths, h2, ochs
        scratch = _sweep_scratch(num_hands, self._num_clusters)
        rules = self._classes.rules
        for j, board in enumerate(boards):
            strengths[j] = _evaluator.BLOCKED
            cards, numbers = open_deals(rules.deck, rules.num_hole_cards, board)
            strengths[j, numbers] = evaluate_three_card(cards)
            kernels.sweep_board(
                strengths[j],
                self.hand_cards,
                self._cluster_of_hand,
                self._num_clusters,
                *scratch,
                h2[j],
                ochs[j],
            )
        return strengths, h2, ochs

    def of_deals(
        self, cards: npt.NDArray[np.uint8], hand_number: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the h2 of each deal of the last round: int64[N].

        Many deals are looked up where the cache has the strengths of the last round; else hands are compared.

        Args:
            cards: uint8[N, hole + board]; deals of one board should be neighbours.
            hand_number: int64[53, 53] as `by_boards.hand_numbers` gives it.
        """
        if len(cards) >= MANY_DEALS and self._strengths is not None:
            last_round = self._classes.num_rounds - 1
            return self._strengths[self._classes.index(cards, last_round)].astype(np.int64)
        h2 = np.empty(len(cards), dtype=np.int64)
        num_hole = self.hands.shape[1]
        if self._classes.is_three_card or num_hole == 1:
            for n, row in enumerate(cards):
                second = row[1] if num_hole > 1 else kernels.NO_CARD
                h2[n] = self.features(row[num_hole:]).strength[hand_number[row[0], second]]
            return h2
        strengths = np.empty(len(self.hands), dtype=np.int32)
        kernels.strengths_of_deals(
            cards, evaluator_tables(), self._keys, self._masks, hand_number, strengths, h2
        )
        return h2

    @cached_property
    def _strengths(self) -> Array | None:
        """uint[classes] the h2 of every hand of the last round; None where the cache does not have them."""
        plan = FeaturePlan.of(self._classes.rules)
        feature = f"{STRENGTH}-{plan.last_round}"
        return map_planned(plan, plan.all_arrays[feature]) if plan.has(feature) else None

    def features(self, board: npt.NDArray[np.uint8]) -> BoardFeatures:
        """Return the features of all hands on one board."""
        strengths, h2, ochs = self.sweep(np.ascontiguousarray(board, dtype=np.uint8)[np.newaxis])
        return BoardFeatures(strengths[0] != _evaluator.BLOCKED, h2[0], ochs[0])


def _sweep_scratch(num_hands: int, num_clusters: int) -> tuple[Array, ...]:
    """Return the scratch arrays of `sweep_board`, in its order."""
    step = kernels.LANE_STEP
    num_lanes = step * ((num_clusters + step) // step)
    return (
        np.empty(num_hands, dtype=np.int64),
        np.empty(num_hands, dtype=np.int64),
        np.empty((2, 256), dtype=np.int64),
        np.empty(num_lanes, dtype=np.int16),
        np.empty((kernels.NO_CARD + 1, num_lanes), dtype=np.int16),
        np.empty(num_lanes, dtype=np.int16),
        np.empty((kernels.NO_CARD + 1, num_lanes), dtype=np.int16),
    )


def _fingerprint(about: dict[str, object]) -> str:
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def _unsigned(most: int) -> str:
    """Return the smallest unsigned type of 2, 4 or 8 bytes that holds a number."""
    for dtype in ("<u2", "<u4", "<u8"):
        if most <= np.iinfo(dtype).max:
            return dtype
    raise UsageError(f"sums up to {most:,} do not fit in 64 bits: this game deals too many cards")
