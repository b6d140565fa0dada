"""PUR table 2 and figure 3: purification and thresholds in Leduc hold'em, 24 pairs of abstractions, by LP.

PUR: Ganzfried, Sandholm and Waugh, "Strategy Purification and Thresholding" (AAMAS 2012), section 7.

Steps, for each pair of our player's abstraction and the one that it assumes its opponent to have:
1. solve the abstract game exactly, once with our player in each position;
2. value our player's strategy against one equilibrium of the full game, both positions averaged; the same
   with the strategy purified, and for figure 3 at thresholds;
3. equilibria are not unique, and the paper does not say which its solver found. So find the least and the
   most that any equilibrium of the abstract game wins: against our equilibrium of the full game exactly, by a
   linear programme over the optimal face; against any equilibrium of the full game by turns, the strategy
   and then the opponent (what these turns reach need not be the extreme). Purification is not linear:
   its range is that over equilibria which are furthest in random directions.

The flop is read as in `errai.abstraction.named_groups`; one chip, which is the ante and half a small bet,
counts as a thousand (`docs/findings.md` lists what else was tried). The text names one of figure 3's three
strategies, JQ.K-JQ.K; the other two shown are our choice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.abstraction.named_groups import FULL, LEDUC, leduc_abstraction
from errai.engine.public_tree import PublicTree
from errai.engine.root import weight_of_pairs
from errai.experiments.figure import PAPER, QUICK, Axes, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.solvers.linear_programme import Programme, solve_programme
from errai.solvers.optimal_face import OptimalFace
from errai.solvers.sequence_form import SequenceForm
from errai.strategy.postprocessing import purify, threshold

Floats = npt.NDArray[np.float64]
Treatment = Callable[[Floats], Floats]

PUBLISHED = {
    "JQ.K-J.QK": (-119.46, -37.75),
    "J.QK-full": (-115.63, -41.83),
    "J.QK-J.Q.K": (-96.66, -27.35),
    "JQ.K-J.Q.K": (-96.48, -28.76),
    "JQ.K-full": (-99.30, -39.13),
    "JQ.K-JQK": (-80.14, -24.50),
    "JQ.K-JQ.K": (-59.97, -8.31),
    "J.Q.K-J.QK": (-60.28, -13.97),
    "J.Q.K-J.Q.K": (-46.23, -1.86),
    "J.Q.K-JQ.K": (-44.61, -3.85),
    "full-JQK": (-43.80, -10.95),
    "J.QK-J.QK": (-96.60, -67.42),
    "J.QK-JQK": (-95.69, -67.14),
    "full-J.QK": (-52.94, -24.55),
    "J.QK-JQ.K": (-77.86, -52.62),
    "J.Q.K-full": (-68.10, -46.43),
    "full-JQ.K": (-55.52, -36.38),
    "full-J.Q.K": (-51.14, -40.32),
    "JQK-J.QK": (-282.94, -279.44),
    "JQK-full": (-273.87, -279.99),
    "JQK-J.Q.K": (-258.29, -279.99),
    "J.Q.K-JQK": (-156.35, -188.00),
    "JQK-JQK": (-386.89, -433.64),
    "JQK-JQ.K": (-274.69, -322.41),
}
"""Table 2, mb/h: the strategy (ours, then what it assumes), what it wins, and what it wins purified."""

SHOWN = ("JQ.K-JQ.K", "J.Q.K-J.Q.K", "J.QK-full")
THRESHOLDS = tuple(round(0.025 * k, 3) for k in range(21))

TO_MILLIBETS = 1000 / 2
"""From the sum over both positions, in chips, to their mean."""

ROUNDING = 1e-7
"""Turns that gain less have ended."""

PRINTED = 0.01
"""The published numbers are printed to so much."""

MAX_TURNS = 6


@dataclass(frozen=True, eq=False)
class Equilibria:
    """One position's equilibria of a game.

    Attributes:
        form: the game's sequences.
        player: the position.
        plan: the equilibrium that the solver found.
        face: all of them.
    """

    form: SequenceForm
    player: int
    plan: Floats
    face: OptimalFace

    def random(self, number: int, generator: np.random.Generator) -> list[Floats]:
        """Return the solver's equilibrium and some that are furthest in random directions."""
        directions = generator.normal(size=(number, len(self.plan)))
        return [self.plan, *(self.face.furthest(direction) for direction in directions)]

    def treated(self, plan: Floats, treatment: Treatment) -> Floats:
        """Return the plan whose probabilities are those of another one, treated."""
        table = self.form.probabilities(self.player, plan)
        for decision in self.form.decisions(self.player, table):
            # Boards that share slots come by again, which changes nothing.
            decision[:] = treatment(decision.T).T
        return self.form.plan(self.player, table)


class Range(NamedTuple):
    """The least and the most of some values."""

    least: float
    most: float

    def __add__(self, other: object) -> "Range":
        """Return the range of a sum."""
        assert isinstance(other, Range)
        return Range(self.least + other.least, self.most + other.most)

    def holds(self, published: float) -> bool:
        """Whether a published number is inside, as far as it is printed."""
        return self.least - PRINTED <= published <= self.most + PRINTED


NOTHING = Range(0.0, 0.0)


@dataclass
class PairValues:
    """What the strategy of a pair of abstractions wins, mb/h.

    Attributes:
        base: as the solver found it.
        on_face: over all equilibria of the abstract game.
        on_both: the same, the full game's equilibria varying as well.
        purified: as the solver found it, then purified.
        purified_seen: over random equilibria of the abstract game.
        by_threshold: [threshold].
    """

    base: float = 0.0
    on_face: Range = NOTHING
    on_both: Range = NOTHING
    purified: float = 0.0
    purified_seen: Range = NOTHING
    by_threshold: Floats = field(default_factory=lambda: np.zeros(len(THRESHOLDS)))


class LeducAbstractions:
    """Leduc hold'em in the eyes of any two of its named abstractions."""

    def __init__(self) -> None:
        self._tree = PublicTree.of(LEDUC)
        first, second = (np.ones(len(root.multiplicity)) for root in self._tree.cells.root)
        self._weights = (first, second)
        self._num_pairs = weight_of_pairs(self._tree.cells, self._weights)
        self.full = self.equilibria(FULL, FULL)

    def form(self, first: str, second: str) -> SequenceForm:
        """Return the sequences where the positions have these abstractions."""
        tree = self._tree.abstracted_by((leduc_abstraction(first), leduc_abstraction(second)))
        return SequenceForm(tree.betting, tree.cells, tree.layout, tree.payoffs)

    def payoffs(self, form: SequenceForm) -> Any:
        """Return what the first position wins in chips by sequences of both."""
        return form.payoff_matrix(self._weights) / self._num_pairs

    def equilibria(self, first: str, second: str) -> tuple[Equilibria, Equilibria]:
        """Solve the game of two abstractions; return both positions' equilibria."""
        form = self.form(first, second)
        payoffs = self.payoffs(form)
        own, other = form.constraints(0), form.constraints(1)
        programme = Programme(payoffs, own, other)
        value, *plans = solve_programme(programme)
        turned = Programme(-payoffs.T.tocsr(), other, own)
        return (
            Equilibria(form, 0, plans[0], OptimalFace(programme, value)),
            Equilibria(form, 1, plans[1], OptimalFace(turned, -value)),
        )

    def values_of(self, ours: str, assumed: str, num_random: int, generator: Any) -> PairValues:
        """Value the strategy of a pair of abstractions."""
        values = PairValues()
        for player in (0, 1):
            pair = (ours, assumed) if player == 0 else (assumed, ours)
            own = self.equilibria(*pair)[player]
            opponent = self.full[1 - player]
            # What our player wins, by its abstract sequences and the full game's of the opponent.
            matrix = self.payoffs(self.form(ours, FULL) if player == 0 else self.form(FULL, ours))
            won = TO_MILLIBETS * (matrix if player == 0 else -matrix.T.tocsr())
            measure = won @ opponent.plan
            values.base += float(measure @ own.plan)
            values.on_face += Range(
                float(measure @ own.face.furthest(-measure)), float(measure @ own.face.furthest(measure))
            )
            values.on_both += Range(-_by_turns(own, opponent, -won), _by_turns(own, opponent, won))
            purified = [
                float(measure @ own.treated(plan, purify)) for plan in own.random(num_random, generator)
            ]
            values.purified += purified[0]
            values.purified_seen += Range(min(purified), max(purified))
            values.by_threshold += [
                measure @ own.treated(own.plan, partial(threshold, least=least)) for least in THRESHOLDS
            ]
        return values


def _by_turns(own: Equilibria, opponent: Equilibria, won: Any) -> float:
    """Return the most that turns reach: our best equilibrium, then the opponent's that suits us best."""
    plan, best = opponent.plan, -np.inf
    for _ in range(MAX_TURNS):
        ours = own.face.furthest(won @ plan)
        plan = opponent.face.furthest(won.T @ ours)
        reached = float(ours @ (won @ plan))
        if reached <= best + ROUNDING:
            break
        best = reached
    return best


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Value all 24 strategies; the curves are three of them over thresholds, then purified."""
    game = LeducAbstractions()
    generator = np.random.default_rng(seed)
    found = {}
    for number, name in enumerate(PUBLISHED, start=1):
        ours, assumed = name.rsplit("-", 1)
        found[name] = game.values_of(ours, assumed, size.iterations, generator)
        tell("pairs of abstractions", number, len(PUBLISHED))
    curves = {name: found[name].by_threshold.tolist() for name in SHOWN}
    notes = tuple(_told(name, values) for name, values in found.items())
    rows = [_row(name, values) for name, values in found.items()]
    return Curves(THRESHOLDS, curves, notes=(*notes, *_summary(found)), rows=rows)


def _told(name: str, values: PairValues) -> str:
    base, purified = PUBLISHED[name]
    holds = values.on_both.holds(base)
    return (
        f"{name}: {values.base:.2f}, equilibria {values.on_face.least:.2f} to {values.on_face.most:.2f}, "
        f"of both games {values.on_both.least:.2f} to {values.on_both.most:.2f} (published: {base:.2f}, "
        f"{'inside' if holds else 'outside'}); purified {values.purified:.2f}, "
        f"{values.purified_seen.least:.2f} to {values.purified_seen.most:.2f} (published: {purified:.2f})"
    )


def _row(name: str, values: PairValues) -> dict[str, str | float]:
    base, purified = PUBLISHED[name]
    return {
        "strategy": name,
        "base": values.base,
        "base_least": values.on_face.least,
        "base_most": values.on_face.most,
        "base_least_of_both": values.on_both.least,
        "base_most_of_both": values.on_both.most,
        "base_published": base,
        "purified": values.purified,
        "purified_least_seen": values.purified_seen.least,
        "purified_most_seen": values.purified_seen.most,
        "purified_published": purified,
    }


def _summary(found: dict[str, PairValues]) -> list[str]:
    total = len(PUBLISHED)
    here = np.array([[values.base, values.purified] for values in found.values()])
    published = np.array([PUBLISHED[name] for name in found])
    fixed = sum(values.on_face.holds(PUBLISHED[name][0]) for name, values in found.items())
    both = sum(values.on_both.holds(PUBLISHED[name][0]) for name, values in found.items())
    seen = sum(values.purified_seen.holds(PUBLISHED[name][1]) for name, values in found.items())
    fits = [float(np.corrcoef(here[:, k], published[:, k])[0, 1]) for k in (0, 1)]
    improved = [int((each[:, 1] > each[:, 0]).sum()) for each in (here, published)]
    return [
        f"published values inside the range over equilibria: {fixed} of {total}, of both games {both} of "
        f"{total}; purified, inside the range seen: {seen} of {total}",
        f"correlation with the published values: {fits[0]:.3f}, purified {fits[1]:.3f}",
        f"purification improves {improved[0]} of {total} strategies (published: {improved[1]})",
    ]


FIGURE = Figure(
    title="purification and thresholds in Leduc hold'em's abstractions",
    unit="mb/h",
    sizes={QUICK: Size(8), PAPER: Size(50)},
    draw=draw,
    axes=Axes(
        "random equilibria of each game",
        "threshold",
        "threshold",
        "value against an equilibrium",
        False,
        is_over_logarithmic=False,
    ),
)
