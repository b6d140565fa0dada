"""THESIS figure 4.1: exploitability in the abstract game falls while the one in the real game does not.

The thesis shows it in limit hold'em, where one exact measurement in the real game took 76 processor-days: the
real game's exploitability falls, then rises again while the abstract game is solved ever better. Here both
are exact, in games where a measurement takes a moment:

- Leduc hold'em in which all cards look alike before the flop (`[JQK]`): the coarser the abstraction, the
  sooner and the more the real game's exploitability rises;
- [2-4] hold'em with perfect recall and 5 buckets in each round, by the strength that hands have in this
  game. An iteration takes half a second there, a measurement seconds.
"""

from collections.abc import Sequence
from functools import partial

from errai.abstraction.named_groups import LEDUC, leduc_abstraction
from errai.abstraction.protocol import CardAbstraction
from errai.engine.public_tree import PublicTree
from errai.experiments.abstracted_holdem import GAME, build_for
from errai.experiments.figure import PAPER, QUICK, Curves, Figure, Size, Tell, points_to_measure
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.games.catalogue import load_card_game
from errai.games.rules import PokerRules
from errai.response.abstract import abstract_exploitability
from errai.solvers.solve import Solver
from errai.solvers.update_rules import find_rule

GROUPS = "JQK"
RECIPE = "PR-PHS 5x1-5"
ABSTRACT, REAL, LOWEST = "abstract game", "real game", "real game, lowest so far"


def curve(game: str, what: str) -> str:
    """Name a curve."""
    return f"{game}, {what}"


def _abstraction(game: PokerRules, seed: int) -> CardAbstraction:
    return leduc_abstraction(GROUPS) if game.name == LEDUC else build_for(game, RECIPE, game, seed)


def _game(name: str, points: Sequence[int], seed: int, tell: Tell) -> tuple[Sequence[float], Sequence[float]]:
    """Return the exploitability of one game in the abstract game and in the real one, in mbb/g."""
    game = load_card_game(name)
    solver = Solver(PublicTree.of(game).abstracted_by(_abstraction(game, seed)), find_rule("cfr"))
    abstract: list[float] = []
    real: list[float] = []
    for point in points:
        solver.run(point - solver.iteration)
        real.append(solver.measure().exploitability.mbb_per_game)
        abstract.append(abstract_exploitability(solver.strategy(), solver.num_threads).mbb_per_game)
        tell(f"iterations in {name}", point, points[-1])
    return abstract, real


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Make the curves; nothing is random but the order in which equal hands are put into buckets."""
    points = points_to_measure(size.iterations)
    values: dict[str, Sequence[float]] = {}
    notes = []
    for name in size.parts:
        abstract, real = kept.part(name, partial(_game, name, points, seed, tell))
        lowest = [min(real[: place + 1]) for place in range(len(real))]
        for what, found in ((ABSTRACT, abstract), (REAL, real), (LOWEST, lowest)):
            values[curve(name, what)] = found
        turn = real.index(lowest[-1])
        notes.append(
            f"{name}: real game lowest at iteration {points[turn]:,} ({real[turn]:.1f} mbb/g, abstract game "
            f"{abstract[turn]:.1f}), at the end {real[-1]:.1f} (abstract game {abstract[-1]:.1f})"
        )
    return Curves(points, values, notes=tuple(notes))


FIGURE = Figure(
    "abstract games of perfect recall, CFR",
    "mbb/g",
    {QUICK: Size(2_000, 1, (LEDUC,)), PAPER: Size(10_000, 1, (LEDUC, GAME))},
    draw,
    claims=tuple(
        (curve(game, low), curve(game, REAL)) for game in (LEDUC, GAME) for low in (ABSTRACT, LOWEST)
    ),
)
