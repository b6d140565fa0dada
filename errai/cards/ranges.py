"""Ranges: weights of the 1,326 hold'em hands, as text and as a vector in the hand order.

A range is a comma-separated list of items, each with an optional weight in [0, 1], 1 if not given:

- `88`, `88+` (eights and better), `88-55` or `55-88`: pairs;
- `AKs`, `AKo`, `AK`: suited, offsuit, both;
- `AJs+`: the kicker climbs to one below the high card: AJs, AQs, AKs;
- `A5s-A2s`: one high card and a span of kickers; `JTs-87s`: a span of hands with the same gap;
- `KdQd`: one hand; `random`: every hand;
- `AKs:0.5`: with a weight.

Later items override earlier ones (`random, 72o:0` is every hand but seven-deuce offsuit), white space and
upper or lower case do not matter. These are the conventions of the common solvers.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from errai.cards.deck import FULL_DECK, NUM_RANKS, RANKS, format_cards, parse_cards
from errai.errors import UsageError

NUM_HANDS = 1326
EVERY_HAND = "random"
LEAST_RELATIVE_WEIGHT = 1e-9
"""Least weight of a hand in a range to be solved, as a part of the largest."""

Weights = npt.NDArray[np.float64]

# A cell of the 13 x 13 chart: high rank, low rank, and "s", "o" or "" (a pair).
Cell = tuple[int, int, str]

_WEIGHT = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_CELL = re.compile(rf"([{RANKS}])([{RANKS}])([so]?)", re.IGNORECASE)
_HAND = re.compile(rf"([{RANKS}][cdhs]){{2}}", re.IGNORECASE)

_ITEMS = "expected '88', '88+', '88-55', 'AKs', 'AKo', 'AK', 'AJs+', 'A5s-A2s', 'KdQd' or 'random'"


@lru_cache(maxsize=1)
def _hands_of_cells() -> dict[Cell, npt.NDArray[np.int64]]:
    """Return, for each of the 169 cells, the numbers of its 6, 4 or 12 hands in the hand order."""
    numbers: dict[Cell, list[int]] = {}
    for number, (a, b) in enumerate(FULL_DECK.hands(2).tolist()):
        low, high = a >> 2, b >> 2
        kind = "" if low == high else "s" if a & 3 == b & 3 else "o"
        numbers.setdefault((high, low, kind), []).append(number)
    return {cell: np.array(of_cell) for cell, of_cell in numbers.items()}


def _parse_cell(text: str, item: str) -> Cell:
    """Read `88`, `AKs`, `AKo` or `AK`; the last has the kind "" although it is no pair."""
    match = _CELL.fullmatch(text)
    if match is None:
        raise UsageError(f"'{item}' is not an item of a range: {_ITEMS}")
    ranks = sorted(RANKS.index(letter.upper()) for letter in match.group(1, 2))
    kind = match.group(3).lower()
    if kind and ranks[0] == ranks[1]:
        raise UsageError(f"'{item}' is not an item of a range: a pair is neither suited nor offsuit")
    return ranks[1], ranks[0], kind


def _climb(cell: Cell) -> list[Cell]:
    """Return the cells of `88+` or `AJs+`."""
    high, low, kind = cell
    if high == low:
        return [(rank, rank, "") for rank in range(low, NUM_RANKS)]
    return [(high, kicker, kind) for kicker in range(low, high)]


def _span(first: Cell, last: Cell, item: str) -> list[Cell]:
    """Return the cells of `88-55`, `A5s-A2s` or `JTs-87s`, whichever end comes first."""
    (high, low, kind), (last_high, last_low, last_kind) = first, last
    if kind == last_kind and (high == low) == (last_high == last_low):
        if high == last_high:
            return [(high, kicker, kind) for kicker in range(min(low, last_low), max(low, last_low) + 1)]
        if high - low == last_high - last_low:
            steps = range(min(low, last_low), max(low, last_low) + 1)
            return [(step + high - low, step, kind) for step in steps]
    raise UsageError(
        f"'{item}' is not a span: both ends must be pairs, or have one high card as in 'A5s-A2s' "
        "or one gap as in 'JTs-87s', and the same suitedness"
    )


def _parse_hands(body: str, item: str) -> npt.NDArray[np.int64]:
    """Return the numbers of the hands that an item without its weight stands for."""
    if body.lower() == EVERY_HAND:
        return np.arange(NUM_HANDS)
    if _HAND.fullmatch(body):
        return np.array([FULL_DECK.hand_index(parse_cards(body))])
    if body.endswith("+"):
        cells = _climb(_parse_cell(body[:-1].strip(), item))
    elif body.count("-") == 1:
        first, last = body.split("-")
        cells = _span(_parse_cell(first.strip(), item), _parse_cell(last.strip(), item), item)
    else:
        cells = [_parse_cell(body, item)]
    hands = _hands_of_cells()
    parts = []
    for high, low, kind in cells:
        kinds = ("s", "o") if high != low and not kind else (kind,)
        parts += [hands[high, low, one] for one in kinds]
    return np.concatenate(parts)


def _parse_weight(text: str, item: str) -> float:
    """Read the weight after the colon."""
    if _WEIGHT.fullmatch(text) and float(text) <= 1.0:
        return float(text)
    raise UsageError(f"'{item}' has the weight '{text}': a weight must be a number from 0 to 1")


def parse_range(text: str) -> Weights:
    """Read a range.

    Args:
        text: comma-separated items as in this module's description; later items override earlier ones.

    Returns:
        float64[1326], the weight of each hand in the order of `FULL_DECK.hands(2)`.

    >>> float(parse_range("KK+, AKs:0.5").sum())
    14.0
    """
    if not text.strip():
        raise UsageError(f"the range is empty: {_ITEMS}, separated by commas")
    weights = np.zeros(NUM_HANDS)
    for part in text.split(","):
        item = part.strip()
        if not item:
            raise UsageError(
                f"the range '{text.strip()}' has nothing between two commas or at an end: {_ITEMS}"
            )
        body, colon, weight = item.partition(":")
        weights[_parse_hands(body.strip(), item)] = _parse_weight(weight.strip(), item) if colon else 1.0
    return weights


def verify_weights(weights: npt.ArrayLike) -> Weights:
    """Return weights as float64[1326], refusing other shapes and values outside [0, 1]."""
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the weights are not numbers: expected {NUM_HANDS} numbers from 0 to 1") from error
    if array.shape != (NUM_HANDS,):
        raise UsageError(
            f"the weights have the shape {array.shape}: expected one number for each of {NUM_HANDS} hands"
        )
    outside = np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))
    if len(outside):
        hand = format_cards(FULL_DECK.hands(2)[outside[0]][::-1])
        raise UsageError(
            f"the weight of {hand} is {array[outside[0]]}: a weight must be a number from 0 to 1"
        )
    return array


def relative_weights(weights: Weights, whose: str) -> Weights:
    """Return the weights of a range over its largest one, which becomes 1.

    A hand that is held far more rarely than the others would be lost in the rounding of sums and of products
    of float32, so it is refused: it may be left out, or given a weight that counts.

    Args:
        weights: float64[1326], one of them above 0.
        whose: the player, to name in a refusal.
    """
    relative: npt.NDArray[np.float64] = weights / weights.max()
    small = np.flatnonzero((weights > 0) & (relative < LEAST_RELATIVE_WEIGHT))
    if len(small):
        hand = format_cards(FULL_DECK.hands(2)[small[0]][::-1])
        raise UsageError(
            f"the weight of {hand} in the range of {whose} is {weights[small[0]]:g}, where the largest is "
            f"{weights.max():g}: it must be 0, or at least {LEAST_RELATIVE_WEIGHT:g} of the largest"
        )
    return relative


def _runs(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last rank of each run of consecutive ranks, the highest run first."""
    runs: list[tuple[int, int]] = []
    for rank in sorted(ranks, reverse=True):
        if runs and runs[-1][0] == rank + 1:
            runs[-1] = (rank, runs[-1][1])
        else:
            runs.append((rank, rank))
    return runs


def _format_run(low: int, high: int, top: int, names: Sequence[str]) -> str:
    """Write one run of ranks, `names[rank]` being the cell; a run that reaches `top` ends in a plus."""
    if low == high:
        return names[low]
    return f"{names[low]}+" if high == top else f"{names[high]}-{names[low]}"


def _format_cells(whole: set[Cell]) -> list[str]:
    """Write whole cells as items, spans where cells are neighbours."""
    pairs = [f"{rank}{rank}" for rank in RANKS]
    items = [
        _format_run(low, high, NUM_RANKS - 1, pairs)
        for low, high in _runs([high for high, low, _ in whole if high == low])
    ]
    for top in range(NUM_RANKS - 1, 0, -1):
        suited, offsuit = (
            _runs([low for high, low, kind in whole if high == top and kind == wanted]) for wanted in "so"
        )
        common = [run for run in suited if run in offsuit]
        for kind, runs in (("", common), ("s", suited), ("o", offsuit)):
            names = [f"{RANKS[top]}{rank}{kind}" for rank in RANKS]
            items += [
                _format_run(low, high, top - 1, names)
                for low, high in runs
                if not kind or (low, high) not in common
            ]
    return items


def format_range(weights: npt.ArrayLike) -> str:
    """Write a range so that `parse_range` returns exactly the same weights.

    Hands are grouped by weight, the heaviest first; inside a group whole cells come as pairs, then by
    high card, with `+` and `-` where they are neighbours, then single hands.

    Args:
        weights: float[1326] in [0, 1].

    >>> format_range(parse_range("AQs, AKs, QQ, AA, KK, AhKd:0.5"))
    'QQ+, AQs+, AhKd:0.5'
    """
    array = verify_weights(weights)
    items: list[str] = []
    for weight in np.unique(array)[::-1].tolist():
        at_weight = array == weight
        suffix = "" if weight == 1.0 else f":{weight!r}"
        if at_weight.all():
            return EVERY_HAND + (suffix if weight else ":0")
        if weight == 0.0:
            break
        whole = {cell for cell, hands in _hands_of_cells().items() if at_weight[hands].all()}
        texts = _format_cells(whole)
        for cell in whole:
            at_weight[_hands_of_cells()[cell]] = False
        texts += [format_cards(FULL_DECK.hands(2)[hand][::-1]) for hand in np.flatnonzero(at_weight)[::-1]]
        items += [text + suffix for text in texts]
    return ", ".join(items)


def remove_blocked(weights: npt.ArrayLike, cards: str | Iterable[int]) -> Weights:
    """Return a copy of the weights with 0 for every hand that holds one of the cards.

    Args:
        weights: float[1326] in [0, 1].
        cards: as text (`"Qs7d2c"`) or as numbers of 0 to 51.
    """
    left = verify_weights(weights).copy()
    blocking = parse_cards(cards) if isinstance(cards, str) else list(cards)
    FULL_DECK.verify(blocking)
    left[~FULL_DECK.is_open(2, blocking)] = 0.0
    return left
