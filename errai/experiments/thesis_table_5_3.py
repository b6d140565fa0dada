"""THESIS table 5.3: a crosstable of card abstractions, by duplicate matches between what is trained in them.

THESIS: Johanson, "Robust Strategies and Counter-Strategies: from Superhuman to Optimal Play" (2016), chapter
5. Twelve abstractions: perfect or imperfect recall; PHS, KE or KO before the last round; PHS or KO in it.
Those of one recall have the same sizes. Imperfect recall is lossless in the first round and has as many
buckets in each later one as make the abstract game no larger than that with perfect recall, as in table 5.2.

Steps: train a strategy in each abstraction, play every pair in duplicate with the same cards, average over
opponents. The curves are the averages over the deals so far.

Deviations: the thesis trains for 4 days on 48 cores by PCS; here it is external sampling, as in the preset
`limit-quick`, for as long as the size says. The quick size is Rhode Island hold'em. In limit hold'em the
features of all hands take minutes and 4 GB of disk, and every one of the clusterings minutes more, so that
only the paper's size has it.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.experiments.figure import PAPER, QUICK, Axes, Curves, Figure, Size, Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.experiments.match_course import Course, averages, play_course
from errai.experiments.preset_training import train_preset
from errai.games.catalogue import load_card_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.play.blueprint_agent import BlueprintAgent
from errai.tree.betting_tree import DECISION

PRESET = "limit-quick"
PERFECT, IMPERFECT = "PR", "IR"
EARLY, LAST = ("PHS", "KE", "KO"), ("PHS", "KO")
METHODS = tuple(f"{early}-{last}" for early, last in product(EARLY, LAST))
AGENTS = tuple(f"{recall}-{methods}" for recall in (PERFECT, IMPERFECT) for methods in METHODS)

LEADERS = ("IR-KE-KO", "IR-KO-KO", "IR-KE-PHS")
"""The best three by their average, as published."""


def recipe(agent: str, rules: PokerRules, branching: int) -> str:
    """Return how to build an agent's abstraction.

    Args:
        agent: such as `IR-KE-KO`.
        rules: the game.
        branching: buckets of each round inside one of the round before, with perfect recall.

    >>> recipe("IR-PHS-KO", load_card_game("limit-holdem"), 10)
    'IR-PHS-KO 169-150x60-150x60-9000'
    """
    recall, early, _ = agent.split("-")
    later = rules.num_rounds - 1
    if recall == PERFECT:
        sizes = [branching] * (later + 1)
    else:
        sizes = [Deals(rules).num_rows(0), *[_imperfect_size(rules, branching)] * later]
    texts = [str(size) for size in sizes]
    if early == "PHS":
        first = 0 if recall == PERFECT else 1
        texts[first:later] = [_nested(size) for size in sizes[first:later]]
    return f"{agent} {'-'.join(texts)}"


def _imperfect_size(rules: PokerRules, branching: int) -> int:
    """Return the buckets of a later round: the game is to be no larger than with perfect recall."""
    betting = PublicTree.of(rules).betting
    decisions = np.bincount(betting.round[betting.kind == DECISION]).tolist()
    total = sum(number * branching ** (r + 1) for r, number in enumerate(decisions))
    return int((total - decisions[0] * Deals(rules).num_rows(0)) // sum(decisions[1:]))


def _nested(size: int) -> str:
    """Return sizes by E[HS2] and within them by E[HS], 5 to 2 as in the thesis."""
    within = max(1, round((size / 2.5) ** 0.5))
    return f"{size // within}x{within}"


def draw(size: Size, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT) -> Curves:
    """Train in every abstraction, and play all pairs."""
    if size.iterations < 2:
        raise UsageError(f"{size.iterations} deals have no interval: expected at least 2")
    game, branching, seconds = size.parts
    rules = load_card_game(game)
    recipes = {agent: recipe(agent, rules, int(branching)) for agent in AGENTS}
    seated = {}
    for place, (agent, name) in enumerate(recipes.items()):
        tell("training", place, len(AGENTS))
        changed = {"game": {"name": game}, "abstraction": {"name": name}}
        trained = train_preset(PRESET, float(seconds), seed, changed, kept.run_folder(agent))
        seated[agent] = BlueprintAgent(trained, name=agent)
    tell("training", len(AGENTS), len(AGENTS))
    courses: dict[tuple[str, str], Course] = {}
    for first, second in combinations(AGENTS, 2):
        course = play_course(seated[first], seated[second], size.iterations, seed, tell, kept)
        courses[first, second], courses[second, first] = course, course.reversed
    values: dict[str, Sequence[float]] = {}
    beside: dict[str, Sequence[float]] = {}
    for agent in AGENTS:
        of = [courses[agent, other] for other in AGENTS if other != agent]
        values[agent] = averages([one.means for one in of])
        beside[f"{agent}, half of the 95% interval at most"] = averages([one.half_widths for one in of])
    deals = courses[AGENTS[0], AGENTS[1]].deals
    notes = (f"in {game}: {', '.join(recipes.values())}", *_notes(courses, values))
    return Curves(deals, values, beside=beside, notes=notes, rows=_rows(courses, values))


def _rows(
    courses: Mapping[tuple[str, str], Course], values: Mapping[str, Sequence[float]]
) -> list[dict[str, str | float]]:
    """Return the crosstable: what the agent of a row wins from each."""
    rows = []
    for agent in AGENTS:
        row: dict[str, str | float] = {"agent": agent}
        for other in AGENTS:
            row[other] = "" if other == agent else courses[agent, other].means[-1]
        row["average"] = values[agent][-1]
        row["half-width of a match, at most"] = max(
            courses[agent, other].half_widths[-1] for other in AGENTS if other != agent
        )
        rows.append(row)
    return rows


def _notes(courses: Mapping[tuple[str, str], Course], values: Mapping[str, Sequence[float]]) -> list[str]:
    """Say what the thesis says of the table, and how far it is so here."""
    ranked = sorted(AGENTS, key=lambda agent: values[agent][-1], reverse=True)
    across = [
        courses[better, worse]
        for better, worse in product(AGENTS, repeat=2)
        if better.startswith(IMPERFECT) and worse.startswith(PERFECT)
    ]
    won = sum(one.means[-1] > 0 for one in across)
    surely = sum(one.means[-1] > one.half_widths[-1] for one in across)
    lost = sum(one.means[-1] < -one.half_widths[-1] for one in across)
    widest = max(one.half_widths[-1] for one in courses.values())
    return [
        "by average: " + ", ".join(f"{agent} {values[agent][-1]:+.1f}" for agent in ranked) + " mbb/g",
        f"intervals of matches are +- {widest:.1f} mbb/g or less",
        f"imperfect recall wins {won} of {len(across)} matches against perfect recall, {surely} beyond the "
        f"interval, and loses {lost} beyond it (published: wins all)",
        f"first three: {', '.join(ranked[:3])} (published: {', '.join(LEADERS)})",
    ]


FIGURE = Figure(
    "crosstable of card abstractions, duplicate matches",
    "mbb/g",
    {
        QUICK: Size(500_000, parts=("rhode-island", "4", "10")),
        PAPER: Size(5_000_000, parts=("limit-holdem", "10", "345600")),
    },
    draw,
    claims=(
        *((f"{PERFECT}-{methods}", f"{IMPERFECT}-{methods}") for methods in METHODS),
        *((other, LEADERS[0]) for other in LEADERS[1:]),
    ),
    axes=Axes("deals", "deals", "deals", "average win rate so far", False, "as published", False),
)
