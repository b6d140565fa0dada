"""What a log says of an agent, by every estimator that fits: estimate, standard deviation, interval.

The rows are those of THESIS table 7.1, with AIVAT below them, whose value function is what the strategy wins
from itself (`self_play_values.py`) or, for a reference agent or a very large betting tree, `BetCall`.
Off-policy, `Basic` is importance sampling and all rows are of the evaluated strategy. With partial
information the opponent's cards are hidden in hands that ended in a fold, as in THESIS table 7.3; the rows
that then need not be unbiased say so.
"""

import reprlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.evaluation.divat import Divat
from errai.evaluation.edges import Edges
from errai.evaluation.estimators import (
    Estimator,
    Question,
    aivat,
    all_cards,
    all_cards_early_folds,
    basic,
    early_folds,
)
from errai.evaluation.hand_chances import HandChances, hand_chances
from errai.evaluation.observed import ObservedHand
from errai.evaluation.self_play_values import MOST_NODES, SelfPlayValues
from errai.evaluation.value_functions import BetCall, ValueFunction
from errai.games.match_state import HandRecord
from errai.play.logs import read_log
from errai.response.flop_sample import interval_around, mean_error
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy
from errai.workers import Progress, start_workers

Floats64 = npt.NDArray[np.float64]
SeenBy = tuple[HandRecord, int]
"""A hand, and the position of the agent in it."""

HANDS_A_CHUNK = 50
LEAST_HANDS = 2

MONEY, BASIC = "Money", "Basic"
DIVAT, EARLY_FOLDS, ALL_CARDS, AIVAT = "DIVAT", "Early Folds", "All Cards", "AIVAT"
BET_CALL, EQUITY = "BC-DIVAT", "Equity"
"""The advantage-sum of all-in equity: with a bet a round in limit games, without one in no-limit ones."""


@dataclass(frozen=True, eq=False)
class Estimated:
    """What one estimator says.

    Attributes:
        name: of the estimator.
        values: float64[hands] chips, hand by hand.
        big_blind: the unit of `mbb_per_game`.
        is_unbiased: whether the mean over all that chance and the players might do is proved to be right.
    """

    name: str
    values: Floats64
    big_blind: int
    is_unbiased: bool

    @property
    def mbb_per_game(self) -> float:
        """The estimate, in thousandths of a big blind a hand."""
        return float(self.values.mean()) / self.big_blind * 1000

    @property
    def deviation_mbb(self) -> float:
        """The standard deviation of one hand, in thousandths of a big blind."""
        return float(self.values.std(ddof=1)) / self.big_blind * 1000

    @property
    def interval_mbb_per_game(self) -> tuple[float, float]:
        """The 95% interval of the estimate."""
        error = mean_error(self.values) / self.big_blind * 1000
        return interval_around(self.mbb_per_game, error, len(self.values))

    @property
    def bankroll(self) -> Floats64:
        """What has been won after each hand, in big blinds."""
        found: Floats64 = np.cumsum(self.values) / self.big_blind
        return found


def analyse(
    hands: Sequence[SeenBy],
    evaluated: HandChances,
    played: HandChances | None = None,
    *,
    is_partial: bool = False,
    seed: int = 0,
    num_threads: int | None = None,
    report: Callable[[str, int, int], None] | None = None,
) -> list[Estimated]:
    """Estimate what a strategy wins, by every estimator that fits.

    Args:
        hands: those of the agent, as `MatchLog.of_player` returns them.
        evaluated: the strategy whose winnings are asked for, ready to be asked for all hands.
        played: the one that played; the evaluated one without it.
        is_partial: whether the opponent's cards are hidden in hands that ended in a fold.
        seed: of the flops that DIVAT draws, and of the deals that AIVAT's values are fitted to.
        num_threads: all cores without it; the result does not depend on it.
        report: called with what is being done, steps done and steps in all.
    """
    if len(hands) < LEAST_HANDS:
        raise UsageError(f"{len(hands)} hands have no interval: expected at least {LEAST_HANDS}")
    tree = evaluated.tree
    if played is not None and played.tree.rules != tree.rules:
        raise UsageError(
            f"a strategy of '{tree.rules.name}' cannot be evaluated on hands of '{played.tree.rules.name}'"
        )
    if played is not None and not np.array_equal(played.tree.betting.action, tree.betting.action):
        raise UsageError(
            "the strategy that played has other bet sizes than the evaluated one: expected the same"
        )
    first = Edges(tree.rules)
    tell = report or (lambda stage, done, total: None)
    if first.is_holdem:
        tell("table of all pairs of hands, made once", 0, 1)
        first.of_pairs  # noqa: B018 - before the threads start
    names, unbiased = _rows(tree, is_on_policy=played is None, is_partial=is_partial)
    own_values: ValueFunction = BetCall(tree)
    if AIVAT in names and evaluated.strategy is not None and tree.betting.num_nodes <= MOST_NODES:
        own_values = SelfPlayValues(
            evaluated.strategy,
            first,
            seed=seed,
            report=lambda done, total: tell("deals against itself", done, total),
        )
    local = threading.local()

    def work(begin: int, end: int) -> Floats64:
        if not hasattr(local, "edges"):
            local.edges = Edges(tree.rules)
            estimators = _estimators(tree, local.edges, own_values, seed)
            local.chosen = [estimators[name] for name in names]
        found = np.empty((len(names), end - begin))
        for place, (record, position) in enumerate(hands[begin:end]):
            seen = ObservedHand(tree, local.edges, record, position, is_partial=is_partial)
            asked = Question(seen, evaluated, evaluated if played is None else played)
            found[:, place] = [estimate(asked) for estimate in local.chosen]
        return found

    parts = []
    progress = Progress(lambda done, total: tell("hands", done, total), len(hands))
    with start_workers(num_threads) as workers:
        for begin, end, part in workers.map(work, len(hands), HANDS_A_CHUNK, progress):
            parts.append(part)
            progress.add(end - begin)
    progress.finish()
    values = np.concatenate(parts, axis=1)
    return [
        Estimated(name, row, tree.rules.big_blind, name in unbiased)
        for name, row in zip(names, values, strict=True)
    ]


def analyse_log(
    path: str | Path,
    agent: Strategy | BucketStrategy,
    played: Strategy | BucketStrategy | None = None,
    *,
    player: str | None = None,
    is_partial: bool = False,
    seed: int = 0,
    num_threads: int | None = None,
) -> list[Estimated]:
    """Estimate what a strategy wins from a match's log, by every estimator that fits; see `errai analyse`.

    Lines that cannot be read are passed over; `errai analyse` names them.

    Args:
        path: a log in the ACPC's format.
        agent: the strategy whose winnings are asked for.
        played: the one that played the logged hands, where it is not `agent` (off-policy).
        player: whose hands; the first player of the log without it.
        is_partial: whether the opponent's cards are hidden in hands that ended in a fold.
        seed: of the flops that DIVAT draws, and of the deals that AIVAT's values are fitted to.
        num_threads: all cores without it; the result does not depend on it.
    """
    for strategy in (agent, *([played] if played is not None else [])):
        if not isinstance(strategy, Strategy | BucketStrategy):
            raise UsageError(f"expected a strategy, not {reprlib.repr(strategy)}")
    log = read_log(path, agent.game)
    if not log.hands:
        raise UsageError(f"'{path}' has no hand of '{agent.game.name}'")
    other = None if played is None or played is agent else hand_chances(played)
    return analyse(
        log.of_player(player or log.first_player),
        hand_chances(agent),
        other,
        is_partial=is_partial,
        seed=seed,
        num_threads=num_threads,
    )


def _estimators(tree: PublicTree, edges: Edges, own_values: ValueFunction, seed: int) -> dict[str, Estimator]:
    """Return all estimators by name."""
    equity = BetCall(tree)
    name = BET_CALL if tree.rules.is_limit else EQUITY
    found = {
        MONEY: basic(),
        BASIC: basic(),
        EARLY_FOLDS: early_folds(),
        ALL_CARDS: all_cards(),
        name: basic(equity),
        f"AC+{name}": all_cards(equity),
        f"AC+EF+{name}": all_cards_early_folds(equity),
        AIVAT: aivat(own_values),
    }
    if tree.rules.is_limit:
        found[DIVAT] = basic(Divat(tree, edges, seed))
    return found


def _rows(tree: PublicTree, *, is_on_policy: bool, is_partial: bool) -> tuple[list[str], set[str]]:
    """Return the names of the estimators that fit, in the order of table 7.1, and those without bias."""
    equity = BET_CALL if tree.rules.is_limit else EQUITY
    money = MONEY if is_on_policy else BASIC
    names = [money, *([DIVAT] if tree.rules.is_limit else []), equity, EARLY_FOLDS, ALL_CARDS, f"AC+{equity}"]
    if is_partial:
        # A fold pays every hand alike, so that on-policy All Cards does not need the hidden cards.
        return names, {money, EARLY_FOLDS, *([ALL_CARDS] if is_on_policy else [])}
    names.append(f"AC+EF+{equity}")
    if is_on_policy:
        names.append(AIVAT)
    return names, set(names)
