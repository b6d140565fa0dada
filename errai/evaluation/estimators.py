"""Estimators of what a known agent wins, hand by hand (THESIS chapter 7 and AIVAT).

THESIS: Johanson, "Robust Strategies and Counter-Strategies" (2016), chapter 7: Bowling, Johanson, Burch and
Szafron, "Strategy Evaluation in Extensive Games with Importance Sampling" (2008). An observed hand z stands
for all imaginary hands z' that it could have been in the opponent's eyes, each with its weight; V(z') is the
money, or any estimate of it that is unbiased itself:

- basic importance sampling: z alone, weighted by how much likelier the evaluated strategy plays it;
- early folds: every decision of the agent at which another action would have ended the hand at once (a fold,
  or a call that leads to the showdown);
- all cards: every hand that the agent might have held;
- both together.

V is the money or an advantage-sum: the money less what luck gave, where the luck of a deal is a value
function after it less its mean before it. With the value function `BetCall` that is bet-call DIVAT, with
`Divat` it is DIVAT (Billings and Kan 2006; Zinkevich, Bowling, Bard, Kan and Billings 2006).

AIVAT (Burch, Schmid, Moravcik, Morrill and Bowling 2018) takes all cards, and takes off the luck of the
agent's own draws among its actions, too.

Where the betting of a hand has left the tree of the strategy, by a bet that it does not have, the rest of the
hand counts as it was paid, less the luck of later boards by all-in equity: whether it has left is known
before whatever comes next, so that nothing becomes biased. Such hands can be evaluated on-policy alone.

Deviations. An all-in call in a no-limit game is not taken as a game-ending action: cards follow it. With
partial information a hand that ended in a fold counts every hand that the board leaves open, and an
advantage-sum falls back to the money there, as in THESIS 7.5.2; calls are then no game-ending actions.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.evaluation.hand_chances import HandChances
from errai.evaluation.observed import ObservedHand, Reach
from errai.evaluation.value_functions import ValueFunction, value_at
from errai.tree.betting_tree import FOLD

Floats64 = npt.NDArray[np.float64]
Ints64 = npt.NDArray[np.int64]

Estimator = Callable[["Question"], float]
"""Chips that an estimator gives for one hand."""


class Question:
    """One hand, the strategy that is evaluated, and the one that played.

    Attributes:
        seen: the hand.
        evaluated: whose winnings are asked for.
        played: who played; the same object where the question is on-policy.
    """

    def __init__(self, seen: ObservedHand, evaluated: HandChances, played: HandChances) -> None:
        self.seen, self.evaluated, self.played = seen, evaluated, played

    @property
    def is_on_policy(self) -> bool:
        """Whether the evaluated strategy is the one that played."""
        return self.evaluated is self.played

    @cached_property
    def reach(self) -> Reach:
        """Of the evaluated strategy."""
        return Reach(self.seen, self.evaluated)

    @cached_property
    def reach_played(self) -> Reach:
        """Of the strategy that played."""
        return self.reach if self.is_on_policy else Reach(self.seen, self.played)

    def ratio(self, num_decisions: int) -> float:
        """Return how much likelier the evaluated strategy takes the first decisions, with the cards held."""
        if self.is_on_policy:
            return 1.0
        if self.seen.has_left:
            record = self.seen.record
            raise UsageError(
                f"the betting '{record.betting.betting}' of hand {record.hand_number} leaves the strategy's "
                "tree: such hands can be evaluated for the strategy that played them alone"
            )
        hand = self.seen.hand
        chance = float(self.reach_played.before[num_decisions][hand])
        if chance == 0:
            raise UsageError(
                f"hand {self.seen.record.hand_number} cannot have been played by the strategy that is said "
                f"to have played it: it never takes the betting '{self.seen.record.betting.betting}' there"
            )
        return float(self.reach.before[num_decisions][hand]) / chance


def outcome(seen: ObservedHand, leaf: int, values: ValueFunction | None, hands: Ints64) -> Floats64:
    """Return V of an imaginary hand that ends at a leaf: the money, or its advantage-sum: float64[N].

    Args:
        seen: the hand that was observed, whose rounds up to the leaf's are shared.
        leaf: where it ends.
        values: the value function; None for the money.
        hands: what the agent might hold.
    """
    total = seen.utility(leaf)[hands]
    if values is None or seen.opponent is None:
        return total
    for entry in seen.entries[: seen.round_of(leaf) + 1]:
        total = total - (values.at(seen, entry, hands) - values.before_deal(seen, entry, hands))
    return total


def _rest(seen: ObservedHand, values: ValueFunction | None) -> float:
    """Return V of the cards that were held in a hand whose betting has left the tree."""
    if values is None or seen.opponent is None:
        return seen.paid
    held, luck = np.array([seen.hand]), seen.later_luck
    for entry in seen.entries:
        luck += float((values.at(seen, entry, held) - values.before_deal(seen, entry, held))[0])
    return seen.paid - luck


def basic(values: ValueFunction | None = None) -> Estimator:
    """Return importance sampling of the hand itself; on-policy it is V alone."""

    def estimate(asked: Question) -> float:
        seen = asked.seen
        ratio = asked.ratio(len(seen.decisions))
        if seen.has_left:
            return ratio * _rest(seen, values)
        return ratio * float(outcome(seen, seen.leaf, values, np.array([seen.hand]))[0])

    return estimate


def early_folds(values: ValueFunction | None = None) -> Estimator:
    """Return the estimator of game-ending actions."""

    def estimate(asked: Question) -> float:
        seen, held, total = asked.seen, np.array([asked.seen.hand]), 0.0
        ended = set()
        for number, decision in enumerate(seen.decisions):
            chances = asked.reach.chances[number][:, seen.hand]
            for action, child in _ending_actions(seen, decision.node):
                ended.add(child)
                weight = asked.ratio(number) * float(chances[action])
                total += weight * float(outcome(seen, child, values, held)[0])
        if seen.leaf not in ended:
            total += basic(values)(asked)
        return total

    return estimate


def all_cards(values: ValueFunction | None = None) -> Estimator:
    """Return the estimator of private information."""

    def estimate(asked: Question) -> float:
        seen = asked.seen
        if seen.has_left:
            return basic(values)(asked)
        hands = np.flatnonzero(seen.open(seen.round_of(seen.leaf)))
        weights = _shares(asked.reach.before[-1][hands], asked.reach_played.before[-1][hands], seen)
        return float(weights @ outcome(seen, seen.leaf, values, hands))

    return estimate


def all_cards_early_folds(values: ValueFunction | None = None) -> Estimator:
    """Return the combined estimator: other hands, and actions that would have ended the hand."""

    def estimate(asked: Question) -> float:
        seen, total = asked.seen, 0.0
        ended = set()
        for number, decision in enumerate(seen.decisions):
            hands = np.flatnonzero(seen.open(seen.round_of(decision.node)))
            shares = _shares(
                asked.reach.before[number][hands], asked.reach_played.before[number][hands], seen
            )
            for action, child in _ending_actions(seen, decision.node):
                ended.add(child)
                weights = shares * asked.reach.chances[number][action, hands]
                total += float(weights @ outcome(seen, child, values, hands))
        if seen.leaf not in ended:
            total += all_cards(values)(asked)
        return total

    return estimate


def aivat(values: ValueFunction) -> Estimator:
    """Return AIVAT with a value function, on-policy and with the opponent's cards known."""

    def estimate(asked: Question) -> float:
        if not asked.is_on_policy:
            raise UsageError("AIVAT evaluates the strategy that played: expected no other one")
        seen, reach = asked.seen, asked.reach
        if seen.has_left:
            total = seen.paid - seen.later_luck
        else:
            hands = np.flatnonzero(seen.open(seen.round_of(seen.leaf)))
            total = _mean(seen.utility(seen.leaf)[hands], reach.before[-1][hands])
        for r, entry in enumerate(seen.entries):
            number = sum(seen.round_of(decision.node) < r for decision in seen.decisions)
            weights = reach.before[number]
            before = np.flatnonzero(seen.open(r - 1)) if r else np.zeros(1, dtype=np.int64)
            after = np.flatnonzero(seen.open(r))
            total += _mean(values.before_deal(seen, entry, before), weights[before])
            total -= _mean(values.at(seen, entry, after), weights[after])
        for number, decision in enumerate(seen.decisions):
            hands = np.flatnonzero(seen.open(seen.round_of(decision.node)))
            weights, expected = reach.before[number][hands], np.zeros(len(hands))
            for action, child in enumerate(seen.tree.betting.children(decision.node)):
                value = value_at(values, seen, child, hands)
                chance = reach.chances[number][action, hands]
                expected += chance * value
                if action == decision.action:
                    total -= _mean(value, weights * chance)
            total += _mean(expected, weights)
        return total

    return estimate


def _ending_actions(seen: ObservedHand, node: int) -> list[tuple[int, int]]:
    """Return the actions of a decision that end the hand at once, each with its leaf."""
    betting = seen.tree.betting
    return [
        (action, child)
        for action, child in enumerate(betting.children(node))
        if seen.is_leaf(child) and (not seen.is_partial or betting.kind[child] == FOLD)
    ]


def _shares(evaluated: Floats64, played: Floats64, seen: ObservedHand) -> Floats64:
    """Return the weight of each imaginary hand: its probability over that of all, as they were played."""
    total = float(played.sum())
    if total <= 0:
        raise UsageError(
            f"hand {seen.record.hand_number} cannot have been played by the strategy that is said to have "
            f"played it: it takes the betting '{seen.record.betting.betting}' with no cards"
        )
    return evaluated / total


def _mean(values: Floats64, weights: Floats64) -> float:
    total = float(weights.sum())
    if total <= 0:
        raise UsageError("the strategy that is said to have played never plays a logged hand's betting")
    return float(values @ weights) / total
