"""Agents by name, as every command takes them.

An AGENT is

- `always-call`, `always-raise`, `always-fold`, `half`, `probe` or `random`;
- the path of a saved strategy or run, with a treatment behind a colon where it has one (`runs/x:purify`,
  `runs/x:threshold=0.15`, `runs/x:new=0.2`) and a translation of bets that the strategy does not know
  (`runs/x:purify:translation=nearest`);
- or the path of a `.py` file with one subclass of `errai.Agent`, those whose names begin with `_` apart.
"""

import importlib.util
import inspect
import reprlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from errai.array_file import checksum
from errai.errors import UsageError
from errai.games.catalogue import Game, load_card_game
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent, verify_fit
from errai.play.simple_agents import SIMPLE_AGENTS, SimpleAgent
from errai.runs.folder import load_strategy, saved_game
from errai.strategy.postprocessing import NO_TREATMENT, Treatment, split_options
from errai.strategy.translation import DEFAULT_TRANSLATION, find_translation

TRANSLATION = "translation="


def load_agent(text: str, game: Game | str | Path, seed: int = 0) -> Agent:
    """Return the agent that a text names, ready to play a game.

    Args:
        text: the name of a simple agent; the path of a saved strategy or run, with a treatment and a
            translation behind colons (`runs/x:purify:translation=nearest`); or that of a `.py` file.
        game: what is to be played, a card game, or its name or ACPC game file.
        seed: of what an agent draws for itself, such as translations of bets.

    >>> load_agent("half", "leduc").name
    'half'
    """
    if not isinstance(text, str):
        raise UsageError(f"expected the name of an agent or a path, not {reprlib.repr(text)}")
    game = load_card_game(game)
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
    """Return the agent of a file; it finds modules beside it, as a program does."""
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"'{text}' was not found: expected a .py file with an agent")
    folder = str(path.absolute().parent)
    sys.path.insert(0, folder)
    try:
        with _told(f"'{text}' cannot be imported"):
            module = _imported(path)
        found = [
            made
            for name, made in vars(module).items()
            if inspect.isclass(made) and issubclass(made, Agent) and made.__module__ == module.__name__
            if not name.startswith("_")
        ]
        if len(found) != 1:
            named = ", ".join(made.__name__ for made in found)
            has = f"{len(found)} agents ({named})" if found else "no agent"
            raise UsageError(f"'{text}' has {has}: expected one subclass of errai.Agent")
        with _told(f"'{text}' has an agent that cannot be made"):
            return found[0](game)
    finally:
        sys.path.remove(folder)


def _imported(path: Path) -> ModuleType:
    # Its own name for every file: two agents may be called bot.py.
    name = f"errai_agent_{path.stem}_{checksum(str(path.absolute()).encode())}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickle look for it
    spec.loader.exec_module(module)
    return module


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn whatever goes wrong in somebody's file into one sentence."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{what}: {type(error).__name__}: {error}") from error
