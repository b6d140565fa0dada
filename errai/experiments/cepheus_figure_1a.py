"""CEP figure 1a: regret matching and regret matching+, averages with constant and with linear weights."""

from errai.experiments.figure import PAPER, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.rhode_island import convergence, crossings_without_numbers
from errai.solvers.update_rules import FactorRule, UpdateRule

RULES: dict[str, UpdateRule] = {
    "RM, constant (CFR)": FactorRule(),
    "RM, linear": FactorRule(average_power=1.0),
    "RM+, constant": FactorRule(floor=True),
    "RM+, linear (CFR+)": FactorRule(floor=True, average_power=1.0),
}


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; nothing is random."""
    return convergence(RULES, size.iterations, tell, current=False)


FIGURE = Figure(
    "Rhode Island hold'em: regret matching and weighting",
    "mbb/g",
    {PAPER: Size(2000)},
    draw,
    crossings=crossings_without_numbers(list(RULES)),
    claims=(("RM+, constant", "RM, constant (CFR)"), ("RM+, linear (CFR+)", "RM+, constant")),
)
