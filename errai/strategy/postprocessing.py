"""What is played instead of a mixed strategy: thresholding, purification, and the family of Tartanian7.

- Thresholding: probabilities below a threshold become 0, the others are scaled up. Where all are below it,
  the largest are kept, as in purification.
- Purification: the likeliest action is played; ties are shared alike.
- The family of Tartanian7: if folding is likelier than a threshold, fold. Otherwise purify among fold, call
  and all bets taken together; if that chooses to bet, purify inside the bets. Both purifications may be
  thresholdings instead.

Each may spare the first action of a player in a hand, which is then played as it was.

Ganzfried, Sandholm and Waugh, "Strategy purification and thresholding", 2012; Brown, Ganzfried and Sandholm,
"Tartanian7", 2014, section 4. Deviations: none; where the papers leave it open, probabilities that differ by
less than 1e-9 tie, and a probability that equals a threshold is not below it.

Everything here takes float64[rows, actions] with a distribution in every row and returns a new array.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD

Chances = npt.NDArray[np.float64]

TIE = 1e-9
"""Probabilities that differ by less are alike."""

FOLD, CALL, RAISE = range(3)
"""Kinds of actions."""

_NUMBER = re.compile(r"[0-9]{1,3}(\.[0-9]{1,12})?|\.[0-9]{1,12}")
_EXPECTED = "expected 'purify', 'threshold=T' or 'new=T', with T from 0 to 1"


def purify(chances: Chances) -> Chances:
    """Return the likeliest action of each row with probability 1; ties share it.

    >>> purify(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]])).tolist()
    [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    """
    likeliest = chances >= chances.max(axis=1, keepdims=True) - TIE
    shared: Chances = likeliest / likeliest.sum(axis=1, keepdims=True)
    return shared


def threshold(chances: Chances, least: float) -> Chances:
    """Drop actions below a probability and scale the others up; where all are below it, purify.

    >>> threshold(np.array([[0.1, 0.3, 0.6]]), 0.15).round(6).tolist()
    [[0.0, 0.333333, 0.666667]]
    """
    kept = np.where(chances >= least - TIE, chances, 0.0)
    totals = kept.sum(axis=1, keepdims=True)
    return np.where(totals > 0, kept / np.where(totals > 0, totals, 1.0), purify(chances))


def fold_call_bet(
    chances: Chances,
    kinds: Sequence[int],
    fold_above: float,
    among: float | None = None,
    within: float | None = None,
) -> Chances:
    """Fold if that is likely enough; else choose among fold, call and all bets, then inside the bets.

    Args:
        chances: float64[rows, actions].
        kinds: [action] `FOLD`, `CALL` or `RAISE`.
        fold_above: folding that is likelier than this is played for certain.
        among: threshold among fold, call and bets; None purifies.
        within: threshold inside the bets; None purifies.
    """
    of_kind = np.asarray(kinds)
    groups = np.stack([chances[:, of_kind == kind].sum(axis=1) for kind in (FOLD, CALL, RAISE)], axis=1)
    chosen = purify(groups) if among is None else threshold(groups, among)
    chosen[groups[:, FOLD] > fold_above + TIE] = np.eye(3)[FOLD]
    bets = np.flatnonzero(of_kind == RAISE)
    played = chosen[:, of_kind]
    if len(bets):
        totals = groups[:, RAISE:]
        inside = chances[:, bets] / np.where(totals > 0, totals, 1.0)
        inside = purify(inside) if within is None else threshold(inside, within)
        played[:, bets] = inside * chosen[:, RAISE:]
    return played


@dataclass(frozen=True)
class Treatment:
    """What is done to a strategy before it is played.

    Attributes:
        kind: `none`, `purify`, `threshold` or `new`.
        least: the threshold of `threshold`; of `new`, the probability above which it folds.
        among: of `new`, the threshold among fold, call and bets; None purifies.
        within: of `new`, the threshold inside the bets; None purifies.
        spares_first: whether a player's first action of a hand stays as it was.
    """

    kind: str = "none"
    least: float = 0.0
    among: float | None = None
    within: float | None = None
    spares_first: bool = False

    @staticmethod
    def parse(text: str) -> "Treatment":
        """Read a treatment, such as `purify`, `threshold=0.15` or `new=0.2,among=0.4,within=0.1,spare-first`.

        >>> str(Treatment.parse("new=0.20, spare-first"))
        'new=0.2,spare-first'
        """
        head, *options = (part.strip() for part in text.split(","))
        kind, equals, number = (part.strip() for part in head.partition("="))
        if kind not in ("none", "purify", "threshold", "new") or bool(equals) != (
            kind in ("threshold", "new")
        ):
            raise UsageError(f"'{head}' is not a treatment of strategies: {_EXPECTED}")
        least = _parse_number(number, text) if equals else 0.0
        thresholds: dict[str, float | None] = {"among": None, "within": None}
        spares_first = False
        for option in options:
            name, equals, number = (part.strip() for part in option.partition("="))
            if name == "spare-first" and not equals and not spares_first and kind != "none":
                spares_first = True
            elif kind == "new" and name in thresholds and equals and thresholds[name] is None:
                thresholds[name] = _parse_number(number, text)
            else:
                allowed = "'spare-first', 'among=T' or 'within=T'" if kind == "new" else "'spare-first'"
                allowed = "nothing after 'none'" if kind == "none" else f"{allowed}, each once"
                raise UsageError(
                    f"'{option}' in the treatment '{text}' was not understood: expected {allowed}"
                )
        return Treatment(kind, least, thresholds["among"], thresholds["within"], spares_first)

    def __str__(self) -> str:
        parts = [self.kind + (f"={_number_text(self.least)}" if self.kind in ("threshold", "new") else "")]
        for name, value in (("among", self.among), ("within", self.within)):
            if value is not None:
                parts.append(f"{name}={_number_text(value)}")
        return ",".join(parts + ["spare-first"] * self.spares_first)

    @property
    def changes_nothing(self) -> bool:
        """Whether strategies are played as they are."""
        return self.kind == "none"

    def apply(self, chances: Chances, kinds: Sequence[int], is_first: bool = False) -> Chances:
        """Return what is played instead.

        Args:
            chances: float64[rows, actions] a distribution in every row.
            kinds: [action] `FOLD`, `CALL` or `RAISE`.
            is_first: whether this is the player's first action of the hand.
        """
        if self.kind == "none" or (is_first and self.spares_first):
            return chances
        if self.kind == "purify":
            return purify(chances)
        if self.kind == "threshold":
            return threshold(chances, self.least)
        return fold_call_bet(chances, kinds, self.least, self.among, self.within)


NO_TREATMENT = Treatment()


def split_options(text: str) -> tuple[str, list[str]]:
    """Return the path at the head of a text such as `runs/x:purify`, and what stands behind its colons.

    A path that exists may have colons of its own.
    """
    path, parts = text, list[str]()
    while ":" in path and not Path(path).exists():
        path, _, part = path.rpartition(":")
        parts.insert(0, part)
    return path, parts


def action_kind(action: int) -> int:
    """Return the kind of an action of a betting tree."""
    return {ACTION_FOLD: FOLD, ACTION_CALL: CALL}.get(action, RAISE)


def _parse_number(text: str, whole: str) -> float:
    if not _NUMBER.fullmatch(text) or float(text) > 1:
        raise UsageError(
            f"'{text}' in the treatment '{whole}' is not a threshold: expected a number from 0 to 1"
        )
    return float(text)


def _number_text(value: float) -> str:
    text = f"{value:.12f}".rstrip("0").rstrip(".")
    return text or "0"
