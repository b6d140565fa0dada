"""What figures 4.4 and 4.5 of THESIS are made of: how exploitable abstract strategies of [2-4] hold'em are.

Two-round hold'em with four bets a round is small enough to be solved without an abstraction, so the price of
one can be told exactly: both players abstracted (A-vs-A), each position abstracted against an unabstracted
opponent (A-vs-U), and CFR-BR, which samples sub-games and should come to what A-vs-U finds, with trunks of
one and of two rounds. Between two measurements CFR-BR samples `SAMPLES` sub-games for each iteration of the
others, which see all 1,755 flops. Published, in mbb/g: 144 and 81 for a perfect-recall abstraction with 5
buckets in each round (1,790 information sets), 103 and 25 for an imperfect-recall one with 169 and 570
(41,252).

The thesis does not say how hands were put into buckets. Two ways are tried for each: by the strength that
hands have in this game, which ends on the flop, and by the features of Texas hold'em, as if two more cards
were to come (`FirstRounds`). The latter need the features of the whole of hold'em in the cache.

Seen, A-vs-A and A-vs-U: perfect recall by hold'em's E[HS2] 139.9 and 82.2 after 240 iterations, by the game's
own strength about 132 and 56 after 60 and 100; imperfect recall, after 100 iterations and not yet at rest, by
k-means over hold'em's histograms 83.8 and 29.7, over this game's own OCHS 92.3 and 19.4. So the published
perfect-recall buckets are most likely percentiles of hold'em's E[HS2].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.abstraction.build import build_abstraction
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.options import BuildOptions
from errai.abstraction.protocol import AbstractionPair, CardAbstraction
from errai.abstraction.recipe import parse_recipes
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.experiments.figure import Curves, Tell, points_to_measure
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules
from errai.solvers.make import make_solver
from errai.solvers.solve import Solver
from errai.solvers.update_rules import find_rule

GAME = "holdem-2-4"
BOTH_ABSTRACTED = "A-vs-A"
AGAINST_FULL = "A-vs-U"
AVERAGE, CURRENT = "CFR-BR average", "CFR-BR current"
TRUNKS = (1, 2)
SAMPLES = 400
"""Sub-games that CFR-BR samples for each iteration of CFR+."""


@dataclass(frozen=True, eq=False)
class FirstRounds:
    """An abstraction of a longer game in one that deals the same cards and ends sooner.

    Attributes:
        longer: the longer game's abstraction.
        game: the game that ends sooner.
    """

    longer: CardAbstraction
    game: PokerRules

    def __post_init__(self) -> None:
        mine, other = self.game, self.longer.game
        rounds = mine.num_rounds
        if (mine.deck, mine.num_hole_cards, mine.num_board_cards) != (
            other.deck,
            other.num_hole_cards,
            other.num_board_cards[:rounds],
        ):
            raise UsageError(f"the first rounds of '{other.name}' do not deal what '{mine.name}' does")

    @property
    def name(self) -> str:
        """That of the longer game's abstraction."""
        return f"{self.longer.name} of {self.longer.game.name}"

    @property
    def num_players_described(self) -> int:
        """1 where both players see alike, 2 where they do not."""
        return self.longer.num_players_described

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the buckets of a round."""
        return self.longer.num_buckets(round_index, player)

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.integer]:
        """Return the bucket of each row of hole cards and board."""
        return self.longer.buckets(cards, round_index, player)


def response_curve(trunk: int, what: str) -> str:
    """Name a curve of CFR-BR.

    >>> response_curve(2, AVERAGE)
    'CFR-BR average, 2-round trunk'
    """
    return f"{what}, {trunk}-round trunk"


class AbstractionCurves(NamedTuple):
    """Exploitability in the real game, in mbb/g, at each of some iterations.

    Attributes:
        both: both positions abstracted.
        against_full: each position abstracted against an unabstracted opponent.
    """

    both: list[float]
    against_full: list[float]


def build_for(game: PokerRules, recipe: str, features_of: PokerRules, seed: int) -> CardAbstraction:
    """Build an abstraction of a game, by its own features or by those of a longer one.

    Args:
        game: the game to be solved.
        recipe: as given to `errai abstract build`, for the game whose features decide.
        features_of: that game.
        seed: of the clustering.
    """
    features = build_features(FeaturePlan(features_of))
    options = BuildOptions(seed=seed, restarts=1)
    built = build_abstraction(parse_recipes(recipe, features_of), features, options)
    return built if features_of == game else FirstRounds(built, game)


def abstraction_curves(
    game: PokerRules,
    abstraction: CardAbstraction,
    points: Sequence[int],
    tell: Tell,
    num_threads: int | None = None,
) -> AbstractionCurves:
    """Solve a game by CFR+ with both positions abstracted, and with each against a full opponent.

    Args:
        game: the game.
        abstraction: of both positions.
        points: iterations after which to measure.
        tell: whom to tell after each.
        num_threads: as for `solve`.
    """
    tree = PublicTree.of(game)
    seatings: dict[str, AbstractionPair] = {
        "both abstracted": (abstraction, abstraction),
        "position 0 abstracted": (abstraction, None),
        "position 1 abstracted": (None, abstraction),
    }
    found: list[list[tuple[float, float]]] = []
    for seating, pair in seatings.items():
        solver = Solver(tree.abstracted_by(pair), find_rule("cfr+"), num_threads=num_threads)
        values = []
        for point in points:
            solver.run(point - solver.iteration)
            first, second = solver.measure().exploitability.best_response_values
            values.append((first / game.big_blind * 1000, second / game.big_blind * 1000))
            tell(f"{abstraction.name}, {seating}", point, points[-1])
        found.append(values)
    both, first_half, second_half = found
    # A best response to an abstracted position sits opposite to it.
    return AbstractionCurves(
        [(first + second) / 2 for first, second in both],
        [(of[0] + to[1]) / 2 for of, to in zip(second_half, first_half, strict=True)],
    )


def response_curves(
    game: PokerRules,
    abstraction: CardAbstraction,
    trunk: int,
    points: Sequence[int],
    tell: Tell,
    samples: int = SAMPLES,
    num_threads: int | None = None,
    seed: int = 0,
) -> dict[str, list[float]]:
    """Solve a game by CFR-BR with linear weights: exploitability in mbb/g of the real game, by curve.

    Args:
        game: the game.
        abstraction: of both learners.
        trunk: rounds of the trunk.
        points: when to measure.
        tell: whom to tell after each.
        samples: sub-games that are sampled for each of the points' iterations.
        num_threads: as for `solve`.
        seed: of the sub-games.
    """
    rule = find_rule("cfr-br").with_options(trunk=trunk, discount=(1.0, 1.0, 1.0))
    tree = PublicTree.of(game).abstracted_by((abstraction, abstraction))
    solver = make_solver(tree, rule, num_threads=num_threads, seed=seed)
    found: dict[str, list[float]] = {response_curve(trunk, what): [] for what in (AVERAGE, CURRENT)}
    for point in points:
        solver.run(point * samples - solver.iteration)
        for values, is_current in zip(found.values(), (False, True), strict=True):
            values.append(solver.measure(is_current).exploitability.mbb_per_game)
        tell(f"{abstraction.name}, CFR-BR, {trunk}-round trunk", point, points[-1])
    return found


def abstracted_curves(
    bucketings: Sequence[tuple[str, str]], iterations: int, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT
) -> Curves:
    """Solve [2-4] hold'em with some abstractions; those that need hold'em's features only where they are.

    Args:
        bucketings: recipe, and the game whose features decide; empty for [2-4] hold'em itself.
        iterations: of each solution.
        seed: of the clustering, and of what CFR-BR samples.
        tell: whom to tell.
        kept: where solutions that are done are kept.
    """
    game = load_game(GAME)
    assert isinstance(game, PokerRules)
    points = points_to_measure(iterations)
    values: dict[str, Sequence[float]] = {}
    left_out = []
    for recipe, features_of in bucketings:
        rules = load_game(features_of) if features_of else game
        assert isinstance(rules, PokerRules)
        if features_of and not FeaturePlan(rules).is_complete():
            left_out.append(
                f"'{recipe}' is left out: it needs the features of {features_of}, which "
                f"'errai abstract features {features_of}' builds"
            )
            continue
        abstraction = build_for(game, recipe, rules, seed)
        both, against_full = kept.part(
            f"{abstraction.name}, CFR+", partial(abstraction_curves, game, abstraction, points, tell)
        )
        values[f"{abstraction.name}, {BOTH_ABSTRACTED}"] = both
        values[f"{abstraction.name}, {AGAINST_FULL}"] = against_full
        for trunk in TRUNKS:
            of_trunk = kept.part(
                f"{abstraction.name}, {trunk}-round trunk",
                partial(response_curves, game, abstraction, trunk, points, tell, seed=seed),
            )
            values |= {f"{abstraction.name}, {name}": one for name, one in of_trunk.items()}
    return Curves(points, values, tuple(left_out))
