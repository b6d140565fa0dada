"""Agents by name, as every command takes them.

An AGENT is `always-call`, `always-raise`, `always-fold`, `half`, `probe` or `random`; the path of a saved
strategy or run, with a treatment behind a colon where it has one (`runs/x:purify`, `runs/x:threshold=0.15`,
`runs/x:new=0.2`); or the path of a `.py` file with one subclass of `errai.Agent`.
"""

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

from errai.errors import UsageError
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent, verify_fit
from errai.play.simple_agents import SIMPLE_AGENTS, SimpleAgent
from errai.runs.folder import load_strategy, saved_game
from errai.strategy.postprocessing import NO_TREATMENT, Treatment


def load_agent(text: str, game: PokerRules, seed: int = 0) -> Agent:
    """Return the agent that a text names, ready to play a game.

    Args:
        text: a name, or a path, as above.
        game: what is to be played.
        seed: of what an agent draws for itself, such as translations of bets.

    >>> import errai
    >>> load_agent("half", errai.load_game("leduc")).name
    'half'
    """
    if text in SIMPLE_AGENTS:
        return SimpleAgent(game, text)
    if text.endswith(".py"):
        return _own_agent(text, game)
    path, treatment = _split(text)
    if not Path(path).exists():
        raise UsageError(
            f"unknown agent '{path}': expected {', '.join(SIMPLE_AGENTS)}, "
            "or the path of a saved strategy, a run or a .py file"
        )
    made_for, _ = saved_game(path)
    if not isinstance(made_for, PokerRules):
        raise UsageError(f"'{path}' is a strategy of '{made_for.name}': expected one of a card game")
    verify_fit(made_for, game, path)  # before its tables are read
    return BlueprintAgent(load_strategy(path), treatment, game, seed, text)


def _split(text: str) -> tuple[str, Treatment]:
    """Return the path and the treatment of a text; a path may have colons of its own."""
    if Path(text).exists() or ":" not in text:
        return text, NO_TREATMENT
    path, _, treatment = text.rpartition(":")
    return path, Treatment.parse(treatment)


def _own_agent(text: str, game: PokerRules) -> Agent:
    """Return the agent of a file."""
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"'{text}' was not found: expected a .py file with an agent")
    module = _imported(path)
    found = [
        made
        for made in vars(module).values()
        if inspect.isclass(made) and issubclass(made, Agent) and made.__module__ == module.__name__
    ]
    if len(found) != 1:
        named = f"{len(found)} agents ({', '.join(made.__name__ for made in found)})" if found else "no agent"
        raise UsageError(f"'{text}' has {named}: expected one subclass of errai.Agent")
    return found[0](game)


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"errai_agent_{path.stem}", path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"'{path}' cannot be imported: {type(error).__name__}: {error}") from error
    return module
