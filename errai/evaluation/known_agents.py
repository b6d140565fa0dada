"""The agents of an analysis by name: saved strategies, and the reference agents in any game."""

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.evaluation.hand_chances import HandChances, RuleChances, hand_chances
from errai.games.catalogue import load_card_game
from errai.runs.folder import load_strategy
from errai.runs.measure import split_treatment
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.simple import SIMPLE_RULES
from errai.strategy.strategy import Strategy
from errai.strategy.treated import treated


def find_agents(
    evaluated: str, played: str | None = None, game: str | None = None
) -> tuple[HandChances, HandChances | None]:
    """Return the strategy that is evaluated and the one that played, None where they are the same.

    Args:
        evaluated: a saved strategy or run, with a treatment behind a colon where it has one, or a reference
            agent's name.
        played: the same; the evaluated one without it.
        game: where both are reference agents.
    """
    names = [evaluated, *([played] if played is not None and played != evaluated else [])]
    saved = {name: hand_chances(_saved(name)) for name in names if name not in SIMPLE_RULES}
    if saved and game is not None:
        raise UsageError(f"--game needs simple agents alone, and '{next(iter(saved))}' is a file or folder")
    if not saved and game is None:
        raise UsageError(f"'{evaluated}' plays any game: --game must say which")
    tree = next(iter(saved.values())).tree if saved else PublicTree.of(load_card_game(str(game)))
    found = [saved[name] if name in saved else RuleChances(tree, name) for name in names]
    return found[0], found[1] if len(found) > 1 else None


def _saved(name: str) -> Strategy | BucketStrategy:
    """Return a saved strategy, treated as what stands behind its colon says."""
    path, treatment = split_treatment(name)
    return treated(load_strategy(path), treatment)
