"""Every agent against every other, with the same cards: a table of what each wins from each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from errai.array_file import is_array_file
from errai.errors import UsageError
from errai.games.catalogue import Game
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.match import AgentFailedError
from errai.play.named import load_agent
from errai.play.play_match import MatchOptions, MatchResult, Report, find_game, play_match, saved_rules
from errai.play.simple_agents import SimpleAgent
from errai.tables.checkpoint import has_checkpoint


@dataclass(frozen=True, eq=False)
class Crosstable:
    """Every agent against every other.

    Attributes:
        agents: names.
        results: [pair] matches of (0, 1), (0, 2), ... in order; those that were not played are missing.
        left_out: files that were not seated, each with the reason.
    """

    agents: tuple[str, ...]
    results: tuple[MatchResult, ...]
    left_out: tuple[str, ...] = ()

    @property
    def failures(self) -> list[str]:
        """The agents' exceptions that ended matches, each in one sentence."""
        return [result.failure for result in self.results if result.failure is not None]

    def score(self, row: int, column: int) -> tuple[float, float | None] | None:
        """Return what an agent wins from another in mbb/g, and half its interval; None where not played."""
        for result in self.results:
            if result.agents == (self.agents[row], self.agents[column]):
                return result.score.mbb_per_game, result.score.half_width
            if result.agents == (self.agents[column], self.agents[row]):
                return -result.score.mbb_per_game, result.score.half_width
        return None


def agents_in(folder: str | Path) -> list[str]:
    """Return the agents of a folder: runs, strategies, and `.py` files that do not begin with `_`."""
    if not Path(folder).is_dir():
        raise UsageError(f"'{folder}' is not a folder: expected one with strategies, runs or agents")
    found = []
    for path in sorted(Path(folder).iterdir()):
        is_own = path.suffix == ".py" and path.is_file() and not path.name.startswith("_")
        is_saved = has_checkpoint(path) if path.is_dir() else path.is_file() and is_array_file(path)
        if is_own or is_saved:
            found.append(str(path))
    return found


def play_all(
    agents: Sequence[str],
    game: Game | str | Path | None = None,
    options: MatchOptions | None = None,
    *,
    results: str | Path | None = None,
    report: Report | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Crosstable:
    """Play every agent against every other, all with the same cards; strategies of other games are left out.

    Args:
        agents: what names them.
        game: what is played; without it the game of the first saved strategy.
        options: of every match.
        results: an SQLite database; matches that it has go on where they were left.
        report: called after every batch.
        is_stopped: asked after every batch whether to stop early.
    """
    options = options or MatchOptions()
    rules = find_game(agents, game)
    names, left_out = [], []
    for text in dict.fromkeys(agents):
        try:
            saved = saved_rules(text)
        except UsageError as error:
            left_out.append(f"{text}: {error}")
            continue
        if saved is None or replace(saved, name=rules.name) == rules:
            names.append(text)
        else:
            left_out.append(f"{text}: a strategy of '{saved.name}'")
    if len(names) < 2:
        raise UsageError(
            f"expected 2 agents or more of '{rules.name}' for a crosstable, not {len(names)}"
            + (f" ({'; '.join(left_out)})" if left_out else "")
        )
    loaded: dict[str, Agent] = {}
    played = []
    for first, second in combinations(names, 2):
        pair = [_for_many(text, rules, options.seed, loaded) for text in (first, second)]
        try:
            result = play_match(
                pair[0], pair[1], rules, options, results=results, report=report, is_stopped=is_stopped
            )
        except AgentFailedError as error:
            # The others go on.
            result = MatchResult(
                rules.name, (first, second), options.seed, options.duplicate, error.score, failure=str(error)
            )
        played.append(result)
        if played[-1].interrupted or is_stopped():
            break
    return Crosstable(tuple(names), tuple(played), tuple(left_out))


def _for_many(text: str, rules: PokerRules, seed: int, loaded: dict[str, Agent]) -> str | Agent:
    """Return an agent for one of many matches: strategies are read once, what may remember is made anew."""
    if text not in loaded:
        agent = load_agent(text, rules, seed)
        if type(agent) not in (BlueprintAgent, SimpleAgent):
            agent.close()
            return text
        loaded[text] = agent
    return loaded[text]
