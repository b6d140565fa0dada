"""Slow obvious twins of post-processing, one row at a time, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction

from errai.strategy.postprocessing import CALL, FOLD, RAISE, Treatment

Row = list[Fraction]


def naive_purify(row: Row) -> Row:
    """Share 1 among the likeliest actions."""
    best = [i for i, chance in enumerate(row) if chance == max(row)]
    return [Fraction(i in best, len(best)) for i in range(len(row))]


def naive_threshold(row: Row, least: Fraction) -> Row:
    """Keep what is not below the threshold; all below: the likeliest."""
    kept = [chance if chance >= least else Fraction(0) for chance in row]
    return [chance / sum(kept) for chance in kept] if sum(kept) > 0 else naive_purify(row)


def naive_new(row: Row, kinds: Sequence[int], treatment: Treatment, numbers: dict[str, Fraction]) -> Row:
    """Fold, or choose among the three groups, then among the bets, as section 4 of Tartanian7 says."""
    groups = [
        sum((chance for chance, kind in zip(row, kinds, strict=True) if kind == group), Fraction(0))
        for group in (FOLD, CALL, RAISE)
    ]
    if groups[FOLD] > numbers["least"]:
        chosen = [Fraction(1), Fraction(0), Fraction(0)]
    elif treatment.among is None:
        chosen = naive_purify(groups)
    else:
        chosen = naive_threshold(groups, numbers["among"])
    bets = [chance / (groups[RAISE] or 1) for chance, kind in zip(row, kinds, strict=True) if kind == RAISE]
    if bets:
        bets = naive_purify(bets) if treatment.within is None else naive_threshold(bets, numbers["within"])
    inside = iter(bets)
    return [chosen[RAISE] * next(inside) if kind == RAISE else chosen[kind] for kind in kinds]


def naive_treated(row: Row, kinds: Sequence[int], treatment: Treatment, is_first: bool) -> Row:
    """Do to one row what a treatment says."""
    numbers = {name: Fraction(str(getattr(treatment, name) or 0)) for name in ("least", "among", "within")}
    if treatment.kind == "none" or (is_first and treatment.spares_first):
        return row
    if treatment.kind == "purify":
        return naive_purify(row)
    if treatment.kind == "threshold":
        return naive_threshold(row, numbers["least"])
    return naive_new(row, kinds, treatment, numbers)
