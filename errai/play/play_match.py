"""A match from names to a result: what the command line and Python call.

Whatever can be refused is refused before the first hand is played. Files and databases are left complete,
however a match ends: by its number of hands, by a narrow interval, early, or by an agent's exception.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from errai.errors import UsageError
from errai.games.catalogue import Game, load_card_game
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.match import AgentFailedError, MatchPlan, play_deals
from errai.play.match_logs import ACPC, PHH, HandFile, hand_files, log_names
from errai.play.match_results import MatchKey, MatchResults, ResultKeeper
from errai.play.match_score import Score, parse_until
from errai.play.named import load_agent
from errai.play.simple_agents import SIMPLE_AGENTS
from errai.play.table_match import exact_strategy
from errai.response.exploitability import expected_value
from errai.response.results import ExpectedValue
from errai.runs.folder import saved_game
from errai.strategy.postprocessing import split_options

DEFAULT_HANDS = 10_000
MOST_HANDS_UNTIL = 10_000_000
"""Where a match ends at the latest that is to go on until its interval is narrow."""


@dataclass(frozen=True, eq=False)
class MatchResult:
    """How a match came out, as seen from its first agent.

    Attributes:
        game: name of the game.
        agents: names of both.
        seed: of cards and draws.
        duplicate: whether every deal was played twice, with the seats swapped.
        score: `.mbb_per_game`, `.interval`, `.standard_deviation`, `.hands` and the exact sums.
        files: logs that were written.
        interrupted: whether it was stopped early.
        failure: the agent's exception that ended it, in one sentence; None where none did.
    """

    game: str
    agents: tuple[str, str]
    seed: int
    duplicate: bool
    score: Score
    files: tuple[Path, ...] = ()
    interrupted: bool = False
    failure: str | None = None


@dataclass(frozen=True)
class MatchOptions:
    """What matches are like, whoever plays.

    Attributes:
        hands: deals at most; by default 10,000, or 10,000,000 with `until`.
        duplicate: play every deal twice, with the seats swapped; the interval is that of pairs.
        seed: of cards and draws, 0 to 2^32 - 1.
        until: stop when the 95% interval is narrow enough, such as `95% +-5`, in mbb/g.
    """

    hands: int | None = None
    duplicate: bool = False
    seed: int = 0
    until: str | None = None

    def plan(self, first: Agent, second: Agent) -> MatchPlan:
        """Return a match of two agents."""
        half_width = parse_until(self.until) if self.until is not None else None
        default = DEFAULT_HANDS if half_width is None else MOST_HANDS_UNTIL
        deals = self.hands if self.hands is not None else default
        return MatchPlan((first, second), self.seed, deals, self.duplicate, half_width)


Report = Callable[[MatchPlan, Score], None]


def play_match(
    first: str | Agent,
    second: str | Agent,
    game: Game | str | Path | None = None,
    options: MatchOptions | None = None,
    *,
    log: str | Path | None = None,
    phh: str | Path | None = None,
    results: str | Path | None = None,
    report: Report | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> MatchResult:
    """Play a match of two agents.

    An agent that raises an exception ends it with a `UsageError` that names the agent and the hand.

    Args:
        first: an agent, or what names one: `half`, `runs/x:purify`, the path of a `.py` file.
        second: the other.
        game: what is played; may be left out where an agent is a saved strategy.
        options: number of hands, seed and the like.
        log: a new file for the hands in the competition's format; a duplicate match writes a second one for
            the swapped seats.
        phh: a new file for the hands in PHH, which needs PokerKit.
        results: an SQLite database to keep the result in; the match goes on where it was left there.
        report: called after every batch.
        is_stopped: asked after every batch whether to stop early.
    """
    options = options or MatchOptions()
    rules = find_game([first, second], game)
    with ExitStack() as stack:
        agents = [stack.enter_context(_seated(agent, rules, options.seed)) for agent in (first, second)]
        plan = options.plan(agents[0], agents[1])
        return _play(plan, _texts(first, second), log, phh, results, report, is_stopped)


def _texts(*agents: str | Agent) -> tuple[str, str]:
    first, second = (agent if isinstance(agent, str) else agent.name for agent in agents)
    return first, second


@contextmanager
def _seated(agent: str | Agent, rules: PokerRules, seed: int) -> Iterator[Agent]:
    """Lend an agent; one that was made from a name is closed again."""
    if isinstance(agent, Agent):
        if agent.game != rules:
            raise UsageError(
                f"the agent '{agent.name}' plays '{agent.game.name}': expected one of '{rules.name}'"
            )
        yield agent
        return
    made = load_agent(agent, rules, seed)
    try:
        yield made
    finally:
        made.close()


def _play(
    plan: MatchPlan,
    texts: tuple[str, str],
    log: str | Path | None,
    phh: str | Path | None,
    results: str | Path | None,
    report: Report | None,
    is_stopped: Callable[[], bool],
) -> MatchResult:
    names = log_names(*texts)
    files = [
        file
        for path, kind in ((log, ACPC), (phh, PHH))
        for file in hand_files(path, kind, plan.rules, names, plan.duplicate, plan.seed)
    ]
    score, stopped = plan.empty_score, [False]

    def told(so_far: Score) -> None:
        if report is not None:
            report(plan, so_far)

    def ends_early() -> bool:
        stopped[0] = is_stopped()
        return stopped[0]

    with ExitStack() as stack:
        keeper = ResultKeeper(files)
        if results is not None:
            database = MatchResults(results)
            stack.callback(database.close)
            number = database.match_number(MatchKey.of(plan, *texts))
            score, sizes = database.score(number, score)
            keeper = ResultKeeper(files, database, number)
        else:
            sizes = {}
        final: Score | None = None
        try:
            _open(files, sizes, score)
            final = play_deals(plan, score, (keeper,), told, ends_early)
        except AgentFailedError as failure:
            final = failure.score
            raise
        finally:
            for file in files:
                file.close(final)
    interrupted = stopped[0] and final.deals < plan.deals
    paths = tuple(file.path for file in files)
    return MatchResult(plan.rules.name, texts, plan.seed, plan.duplicate, final, paths, interrupted)


def _open(files: Sequence[HandFile], sizes: dict[str, int], score: Score) -> None:
    """Begin the files of a match, or go on with them: all of them or none."""
    for file in files:
        size = sizes.get(str(file.path.absolute()), 0)
        file.verify(size)
        if score.deals and not size:
            raise UsageError(
                f"'{file.path}' would lack the {score.deals:,} deals that were played before: "
                "expected another --results or --seed"
            )
    for file in files:
        file.open(sizes.get(str(file.path.absolute()), 0))


def find_game(agents: Sequence[str | Agent], game: Game | str | Path | None = None) -> PokerRules:
    """Return what agents play: the game that is given, or that of the first saved strategy among them."""
    if game is not None:
        return load_card_game(game)
    for agent in agents:
        found = agent.game if isinstance(agent, Agent) else saved_rules(agent)
        if found is not None:
            return found
    named = " and ".join(f"'{agent}'" for agent in agents)
    raise UsageError(f"{named} play any game: --game must say which")


def saved_rules(text: str) -> PokerRules | None:
    """Return the game of a saved strategy; None where the text is something else."""
    path, _ = split_options(text)
    if text in SIMPLE_AGENTS or text.endswith(".py") or not path or not Path(path).exists():
        return None
    return load_card_game(saved_game(path)[0])


def exact_match(
    first: str | Agent, second: str | Agent, game: Game | str | Path | None = None
) -> ExpectedValue:
    """Return what the first agent wins from the second, computed and not played.

    Args:
        first: an agent that is a strategy, with any treatment, or a simple agent of a limit game.
        second: another.
        game: as for `play_match`.
    """
    rules = find_game([first, second], game)
    with ExitStack() as stack:
        agents = [stack.enter_context(_seated(agent, rules, 0)) for agent in (first, second)]
        strategies = []
        for agent in agents:
            strategy = exact_strategy(agent)
            if strategy is None:
                raise UsageError(
                    f"the agent '{agent.name}' is not a strategy over a betting tree: expected saved "
                    "strategies, or simple agents of a limit game, for an exact value"
                )
            strategies.append(strategy)
        return expected_value(strategies[0], strategies[1], "plain")
