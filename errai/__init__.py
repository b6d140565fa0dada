"""Errai: build, solve and measure strategies for very large imperfect-information games.

Names load on first use, so that `import errai` and `errai --help` do not wait for Numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from errai.abstraction.build import abstract as abstract
    from errai.abstraction.load import load_abstraction as load_abstraction
    from errai.abstraction.own import abstraction_from_function as abstraction_from_function
    from errai.abstraction.public.abstract import abstract_public as abstract_public
    from errai.errors import UsageError as UsageError
    from errai.evaluation.analysis import analyse_log as analyse_log
    from errai.evaluation.local_best_response import local_best_response as local_best_response
    from errai.games.catalogue import load_game as load_game
    from errai.games.payoffs import Payoffs as Payoffs
    from errai.play.agent import Agent as Agent
    from errai.play.crosstable import play_all as play_all
    from errai.play.named import load_agent as load_agent
    from errai.play.play_match import MatchOptions as MatchOptions
    from errai.play.play_match import exact_match as exact_match
    from errai.play.play_match import play_match as play_match
    from errai.response.abstract import abstract_exploitability as abstract_exploitability
    from errai.response.exploitability import best_response as best_response
    from errai.response.exploitability import compare_exploitability as compare_exploitability
    from errai.response.exploitability import expected_value as expected_value
    from errai.response.exploitability import exploitability as exploitability
    from errai.runs.export import export_strategy as export_strategy
    from errai.runs.folder import load_strategy as load_strategy
    from errai.runs.run import solve as solve
    from errai.runs.spot import solve_spot as solve_spot
    from errai.runs.training import train as train
    from errai.solvers.matrix import solve_matrix as solve_matrix
    from errai.solvers.update_rules import SampledRule as SampledRule
    from errai.solvers.update_rules import UpdateRule as UpdateRule
    from errai.strategy.openspiel import from_openspiel as from_openspiel
    from errai.strategy.openspiel import to_openspiel as to_openspiel
    from errai.strategy.strategy import strategy_from_function as strategy_from_function
    from errai.strategy.strategy import uniform_strategy as uniform_strategy
    from errai.tree.menu_file import load_bets as load_bets

__version__ = "0.1.0"

_HOMES = {
    "Agent": "errai.play.agent",
    "MatchOptions": "errai.play.play_match",
    "Payoffs": "errai.games.payoffs",
    "SampledRule": "errai.solvers.update_rules",
    "UpdateRule": "errai.solvers.update_rules",
    "UsageError": "errai.errors",
    "abstract": "errai.abstraction.build",
    "abstract_exploitability": "errai.response.abstract",
    "abstract_public": "errai.abstraction.public.abstract",
    "abstraction_from_function": "errai.abstraction.own",
    "analyse_log": "errai.evaluation.analysis",
    "load_abstraction": "errai.abstraction.load",
    "load_agent": "errai.play.named",
    "load_bets": "errai.tree.menu_file",
    "load_game": "errai.games.catalogue",
    "best_response": "errai.response.exploitability",
    "compare_exploitability": "errai.response.exploitability",
    "exact_match": "errai.play.play_match",
    "expected_value": "errai.response.exploitability",
    "exploitability": "errai.response.exploitability",
    "export_strategy": "errai.runs.export",
    "from_openspiel": "errai.strategy.openspiel",
    "load_strategy": "errai.runs.folder",
    "play_all": "errai.play.crosstable",
    "play_match": "errai.play.play_match",
    "local_best_response": "errai.evaluation.local_best_response",
    "solve": "errai.runs.run",
    "solve_matrix": "errai.solvers.matrix",
    "solve_spot": "errai.runs.spot",
    "strategy_from_function": "errai.strategy.strategy",
    "to_openspiel": "errai.strategy.openspiel",
    "train": "errai.runs.training",
    "uniform_strategy": "errai.strategy.strategy",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'errai' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
