"""PUR table 1: random matrix games of 4 x 4, played by purified equilibria of a 3 x 3 abstraction.

PUR: Ganzfried, Sandholm and Waugh, "Strategy Purification and Thresholding" (AAMAS 2012), section 6.

Steps, for each game, whose payoffs are drawn uniformly from [-1, 1]:
1. solve it by the simplex method, which gives the column player's equilibrium strategy;
2. solve the game without the last row and the last column; what the row player plays there is its strategy;
3. value that strategy, and the same purified, against the column strategy of the full game.

Equilibria of such games are unique but for a set of games that has no chance of being drawn, so the numbers
do not depend on how a game is solved. Where both values are equal but for rounding, purification changed
nothing.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.experiments import _purification_matrix
from errai.experiments.figure import PAPER, Axes, Curves, Figure, Size, Tell, points_to_measure
from errai.experiments.kept import NOTHING_KEPT, Kept

Floats = npt.NDArray[np.float64]

NUM_ACTIONS = 4
GAMES_A_STEP = 50_000
PAPER_GAMES = 1_500_000

ROUNDING = 1e-9
"""Values that differ by less are equal."""

NORMAL_95 = 1.959964

PURIFIED, UNPURIFIED = "purified", "unpurified"
BETTER, WORSE, SAME = "better", "worse", "same"


class PublishedMean(NamedTuple):
    """A mean of table 1 and half of its 95% interval, as printed."""

    mean: float
    half_width: float


MEANS = {PURIFIED: PublishedMean(-0.050987, 0.00042), UNPURIFIED: PublishedMean(-0.054905, 0.00044)}
PERCENT = {BETTER: 17.44, WORSE: 11.48, SAME: 71.08}


def draw_games(num_games: int, seed: int, step: int) -> Floats:
    """Return the payoffs of some games: float64[games, 4, 4].

    Args:
        num_games: how many.
        seed: of all games.
        step: tells those drawn together from others.
    """
    generator = np.random.default_rng([seed, step])
    return generator.uniform(-1.0, 1.0, (num_games, NUM_ACTIONS, NUM_ACTIONS))


def play_games(num_games: int, seed: int, tell: Tell) -> dict[str, Floats]:
    """Return what the purified and the unpurified strategy win in each game."""
    won = {PURIFIED: np.empty(num_games), UNPURIFIED: np.empty(num_games)}
    for begin in range(0, num_games, GAMES_A_STEP):
        part = slice(begin, min(begin + GAMES_A_STEP, num_games))
        games = draw_games(GAMES_A_STEP, seed, begin // GAMES_A_STEP)[: part.stop - begin]
        _purification_matrix.play_abstractions(games, won[PURIFIED][part], won[UNPURIFIED][part])
        tell("games", part.stop, num_games)
    return won


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Play the games; the curves are the means so far, over the number of games."""
    won = play_games(size.iterations, seed, tell)
    gain = won[PURIFIED] - won[UNPURIFIED]
    happened = {BETTER: gain > ROUNDING, WORSE: gain < -ROUNDING}
    happened[SAME] = np.logical_not(happened[BETTER] | happened[WORSE])
    points = points_to_measure(size.iterations)
    places = np.array(points) - 1
    numbers = np.array(points, dtype=np.float64)
    values, half_widths = {}, {}
    for name, each in won.items():
        means = np.cumsum(each)[places] / numbers
        squares = np.cumsum(each * each)[places] / numbers
        values[name] = means
        half_widths[name] = NORMAL_95 * np.sqrt(np.maximum(squares - means**2, 0) / numbers)
    percent = {name: 100 * np.cumsum(each)[places] / numbers for name, each in happened.items()}
    beside = {f"{name}, half of the 95% interval": widths.tolist() for name, widths in half_widths.items()}
    beside |= {f"{name}, percent": of.tolist() for name, of in percent.items()}
    notes = [_tell_mean(name, values[name][-1], half_widths[name][-1]) for name in won]
    notes += [
        f"{name} {of[-1]:.2f}% (published: {PERCENT[name]:.2f}%, "
        f"{abs(of[-1] - PERCENT[name]):.2f} points apart)"
        for name, of in percent.items()
    ]
    means_so_far = {name: of.tolist() for name, of in values.items()}
    return Curves(points, means_so_far, beside=beside, notes=tuple(notes))


def _tell_mean(name: str, mean: float, half_width: float) -> str:
    """Lay a mean beside the published one: both are samples, and have an error each."""
    published = MEANS[name]
    off = abs(mean - published.mean)
    errors = off / (np.hypot(half_width, published.half_width) / NORMAL_95)
    excess = off - published.half_width
    where = "inside that interval" if excess <= 0 else f"{excess:.6f} outside that interval"
    return (
        f"{name} {mean:.6f} +- {half_width:.6f} (published: {published.mean} +- {published.half_width}; "
        f"{where}, {errors:.1f} standard errors of the difference apart)"
    )


FIGURE = Figure(
    title="purification in random 4 x 4 matrix games, 3 x 3 abstractions",
    unit="payoffs from -1 to 1",
    sizes={PAPER: Size(PAPER_GAMES)},
    draw=draw,
    claims=((UNPURIFIED, PURIFIED),),
    axes=Axes("games", "games", "games", "mean payoff", False),
)
