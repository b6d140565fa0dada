"""Agents by name, as every command takes them.

An AGENT is

- `always-call`, `always-raise`, `always-fold`, `half`, `probe` or `random`;
- the path of a saved strategy or run, with a treatment behind a colon where it has one (`runs/x:purify`,
  `runs/x:threshold=0.15`, `runs/x:new=0.2`) and a translation of bets that the strategy does not know
  (`runs/x:purify:translation=nearest`);
- or the path of a `.py` file with one subclass of `errai.Agent`.
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
from errai.strategy.postprocessing import NO_TREATMENT, Treatment, split_options
from errai.strategy.translation import DEFAULT_TRANSLATION, find_translation

TRANSLATION = "translation="


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
    path, parts = split_options(text)
    if not path or not Path(path).exists():
        raise UsageError(
            f"unknown agent '{path}': expected {', '.join(SIMPLE_AGENTS)}, "
            "or the path of a saved strategy, a run or a .py file"
        )
    made_for, _ = saved_game(path)
    if not isinstance(made_for, PokerRules):
        raise UsageError(f"'{path}' is a strategy of '{made_for.name}': expected one of a card game")
    verify_fit(made_for, game, path)  # before its tables are read
    treatment, translation = _parse_options(parts)
    return BlueprintAgent(load_strategy(path), treatment, game, translation, seed, text)


def _parse_options(parts: list[str]) -> tuple[Treatment, str]:
    """Return the treatment and the translation that stand behind a path."""
    translations = [part for part in parts if part.startswith(TRANSLATION)]
    treatments = [part for part in parts if not part.startswith(TRANSLATION)]
    for given, what in ((treatments, "treatment"), (translations, "translation")):
        if len(given) > 1:
            raise UsageError(f"'{given[0]}' and '{given[1]}' are two {what}s: expected at most one")
    translation = translations[0].removeprefix(TRANSLATION) if translations else DEFAULT_TRANSLATION
    find_translation(translation)
    return Treatment.parse(treatments[0]) if treatments else NO_TREATMENT, translation


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
    try:
        return found[0](game)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"'{text}' has an agent that cannot be made: {type(error).__name__}: {error}"
        ) from error


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"errai_agent_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"'{path}' cannot be imported: {type(error).__name__}: {error}") from error
    return module
