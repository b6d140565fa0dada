"""CEP figure 1b: average and current strategies of CFR and CFR+."""

from errai.experiments.figure import PAPER, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.rhode_island import convergence, crossings_without_numbers
from errai.solvers.update_rules import find_rule


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; nothing is random."""
    rules = {"CFR": find_rule("cfr"), "CFR+": find_rule("cfr+")}
    return convergence(rules, size.iterations, tell, current=True)


FIGURE = Figure(
    "Rhode Island hold'em: average and current strategies",
    "mbb/g",
    {PAPER: Size(2000)},
    draw,
    crossings=crossings_without_numbers(["CFR average", "CFR current", "CFR+ average", "CFR+ current"]),
    claims=(("CFR+ current", "CFR average"), ("CFR+ average", "CFR average"), ("CFR average", "CFR current")),
)
