"""The reference agents that look at nothing but the actions: tables filled decision by decision.

`always-fold` folds where it faces a bet and checks otherwise; `always-call` checks and calls; `always-raise`
raises, to every size alike where there are several, and calls where raises are used up; `half` calls or
raises at even odds; `random` plays every action alike. (Johanson's thesis, 2016, table 2.1, measures the
first four in limit hold'em.)
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.catalogue import Game
from errai.strategy.played import RulePlay
from errai.strategy.strategy import Strategy
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD, DECISION

ActionRule = Callable[[bool, bool, int], Sequence[float]]
"""(can fold, can raise, number of raises) -> probabilities of fold (if possible), call, raises."""


def _always_fold(can_fold: bool, can_raise: bool, num_raises: int) -> list[float]:
    return [1.0, 0.0, *([0.0] * num_raises)] if can_fold else [1.0, *([0.0] * num_raises)]


def _mixed(call: float) -> ActionRule:
    """Return the rule that calls with a probability and raises otherwise, if it can."""

    def rule(can_fold: bool, can_raise: bool, num_raises: int) -> list[float]:
        calls = call if can_raise else 1.0
        return [
            *([0.0] if can_fold else []),
            calls,
            *([(1 - calls) / num_raises] * num_raises if num_raises else []),
        ]

    return rule


def _random(can_fold: bool, can_raise: bool, num_raises: int) -> list[float]:
    num_actions = can_fold + 1 + num_raises
    return [1 / num_actions] * num_actions


SIMPLE_RULES: dict[str, ActionRule] = {
    "always-fold": _always_fold,
    "always-call": _mixed(1.0),
    "always-raise": _mixed(0.0),
    "half": _mixed(0.5),
    "random": _random,
}


def find_simple_rule(name: str) -> ActionRule:
    """Return the rule of a reference agent."""
    if name not in SIMPLE_RULES:
        raise UsageError(f"unknown agent '{name}': expected {', '.join(SIMPLE_RULES)}")
    return SIMPLE_RULES[name]


def simple_strategy(
    game: Game | str | Path, name: str, menu: BetMenu | None = None, second: str | None = None
) -> Strategy:
    """Return a reference agent as the strategy of both positions, or one for each.

    Args:
        game: a card game, or its name or ACPC game file.
        name: `always-fold`, `always-call`, `always-raise`, `half` or `random`.
        menu: bet sizes of a no-limit game.
        second: the agent in position 1; by default the same.
    """
    rules = (find_simple_rule(name), find_simple_rule(second or name))
    tree = PublicTree.of(game, menu)
    layout, links = tree.layout, tree.cells.links
    tables = layout.zeros(tree.default_dtype)
    weights = _weights_by_slot(tree, rules)
    for player, table in enumerate(tables):
        for r in range(tree.cells.num_rounds):
            for board in range(int(links.round_board[r]), int(links.round_board[r + 1])):
                begin, rows = int(layout.begin[player, board]), int(layout.rows[player, board])
                by_slot = weights[player][r]
                # All hands of a board play alike: one weight for each (decision, action), row after row.
                table[begin : begin + len(by_slot) * rows].reshape(-1, rows)[:] = by_slot[:, np.newaxis]
    return Strategy(tree, tables)


def simple_plays(tree: PublicTree, name: str, second: str | None = None) -> tuple[RulePlay, RulePlay]:
    """Return a reference agent in both positions, or one for each, without tables or hands.

    Args:
        tree: the game.
        name: as for `simple_strategy`.
        second: the agent in position 1; by default the same.
    """
    weights = _weights_by_slot(tree, (find_simple_rule(name), find_simple_rule(second or name)))
    plays = [RulePlay(tree.walk, q, np.concatenate(weights[q])) for q in (0, 1)]
    return plays[0], plays[1]


def _weights_by_slot(
    tree: PublicTree, rules: tuple[ActionRule, ActionRule]
) -> list[list[npt.NDArray[np.float64]]]:
    """Return what each player plays in each round: [player][round] float64[slots of the round]."""
    betting, walk = tree.betting, tree.walk
    weights = [
        [np.zeros(int(walk.num_slots[player, r])) for r in range(betting.num_rounds)] for player in (0, 1)
    ]
    for node in np.flatnonzero(betting.kind == DECISION).tolist():
        actions = [int(betting.action[child]) for child in betting.children(node)]
        num_raises = sum(action not in (ACTION_FOLD, ACTION_CALL) for action in actions)
        begin = int(walk.slot[node])
        by_slot = weights[int(betting.player[node])][int(betting.round[node])]
        rule = rules[int(betting.player[node])]
        by_slot[begin : begin + len(actions)] = rule(ACTION_FOLD in actions, num_raises > 0, num_raises)
    return weights
