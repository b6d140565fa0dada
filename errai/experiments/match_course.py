"""How a match goes: what was won and how sure that is, batch by batch. The curves of tables of matches."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from errai.experiments.figure import Tell
from errai.experiments.kept import NOTHING_KEPT, Kept
from errai.play.agent import Agent
from errai.play.match import MatchPlan
from errai.play.match_score import Score
from errai.play.play_match import MatchOptions, play_match


class Course(NamedTuple):
    """How a match went.

    Attributes:
        deals: [batch] played so far.
        means: [batch] what was won so far, in mbb/g.
        half_widths: [batch] half of the 95% interval.
    """

    deals: Sequence[float]
    means: Sequence[float]
    half_widths: Sequence[float]

    @property
    def reversed(self) -> "Course":
        """The same as the other agent sees it."""
        return self._replace(means=[-mean for mean in self.means])


def play_course(
    first: Agent, second: Agent, num_deals: int, seed: int, tell: Tell, kept: Kept = NOTHING_KEPT
) -> Course:
    """Play a match in duplicate; one that is kept by the names of the agents is not played again."""
    name = f"{first.name} against {second.name}"
    return Course(*kept.part(name, lambda: _played(first, second, num_deals, seed, partial(tell, name))))


def _played(
    first: Agent, second: Agent, num_deals: int, seed: int, tell: Callable[[int, int], None]
) -> Sequence[Sequence[float]]:
    seen: list[Score] = []

    def report(plan: MatchPlan, score: Score) -> None:
        seen.append(score)
        tell(score.deals, plan.deals)

    play_match(first, second, first.game, MatchOptions(num_deals, True, seed), report=report)
    return (
        [score.deals for score in seen],
        [score.mbb_per_game for score in seen],
        [score.half_width or 0.0 for score in seen],
    )


def averages(columns: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over matches at each batch."""
    return [sum(row) / len(row) for row in zip(*columns, strict=True)]
