"""Where a real betting stands in the betting tree of an abstraction, and what the tree's actions really are.

A bet that the tree does not have is taken for one that it has. With A < x < B, all as parts of the pot after
calling, a real bet x becomes the tree's A or B:

- `pseudo-harmonic`: A with probability (B - x)(1 + A) / ((B - A)(1 + x));
- `pseudo-harmonic-midpoint`: A where that probability is a half or more;
- `geometric`: A where A / x is at least x / B;
- `nearest`: A where it is at least as near as B.

A bet below all of the tree's becomes the smallest, one above all the largest. (Ganzfried and Sandholm,
"Action translation in extensive-form games with large action spaces", 2013.) Draws are given by the caller
for each action of a hand, so that the same bet is taken alike at every later decision of the hand.

What else no abstraction foresees:

- A bet whose real total is what a bet of the tree comes to in the real game (our own bets are) is that bet.
- An all-in, one below a minimum raise too, is the smallest bet of the tree that would be all-in in the real
  game, or else the largest.
- A raise where the tree has none (its cap is reached, or its menu is empty): the last raises of both players
  are taken as one, so the other player is back at the last own decision of the round, and faces the raise
  from there. Where the raiser opens the round, the raise is taken for a check.
- A real round that ends where the tree's goes on: the tree's players call until it ends.
- Betting that goes on where the tree's players are all-in: climbing from there, the first decision with an
  action that leads to the next round with chips behind is looked for, and of its actions the one whose pot is
  most like the real one is taken; failing that, the entry of the round whose pot is most like it; where no
  entry has a decision, `locate` returns `NOWHERE`.

The tree's actions are turned back so: a raise is the same part of the real pot, rounded, and brought between
the least and the greatest legal total; all-in stays all-in; where no raise is legal it is a call; where there
is nothing to fold to, a fold is a check.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.games.betting import BettingState
from errai.games.rules import PokerRules
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD, CHANCE, DECISION, NO_NODE, BettingTree

NOWHERE = -1
"""In place of a node: the tree has no decision that is like the real one."""

Unit = Callable[[int], float]
"""A number from 0 up to, but not, 1 for each action of a hand, counted from 0."""


def _pseudo_harmonic(below: float, above: float, bet: float) -> float:
    return (above - bet) * (1 + below) / ((above - below) * (1 + bet))


def _midpoint(below: float, above: float, bet: float) -> float:
    return float(_pseudo_harmonic(below, above, bet) >= 0.5)


def _geometric(below: float, above: float, bet: float) -> float:
    return float(below * above >= bet * bet)


def _nearest(below: float, above: float, bet: float) -> float:
    return float(bet - below <= above - bet)


TRANSLATIONS: dict[str, Callable[[float, float, float], float]] = {
    "pseudo-harmonic": _pseudo_harmonic,
    "pseudo-harmonic-midpoint": _midpoint,
    "geometric": _geometric,
    "nearest": _nearest,
}
"""[name] (A, B, x) -> how likely x becomes A."""

DEFAULT_TRANSLATION = "pseudo-harmonic"


def chance_of_smaller(translation: str, below: float, above: float, bet: float) -> float:
    """Return how likely a bet is taken for the smaller of its neighbours, all as parts of the pot.

    >>> chance_of_smaller("pseudo-harmonic", 0.5, 1.0, 0.7)
    0.5294117647058825
    """
    return find_translation(translation)(below, above, bet)


def find_translation(name: str) -> Callable[[float, float, float], float]:
    """Return a translation by name."""
    if name not in TRANSLATIONS:
        raise UsageError(f"unknown translation '{name}': expected {', '.join(TRANSLATIONS)}")
    return TRANSLATIONS[name]


@dataclass(slots=True)
class _Standing:
    """Where a hand stands.

    Attributes:
        text: the betting so far.
        node: of the tree.
        round: of the real game.
        player: who is next, if anybody.
        spent: [position] real chips.
        least: the least total of a full raise.
        num_actions: in the hand.
    """

    text: str
    node: int
    round: int
    player: int
    spent: list[int]
    least: int
    num_actions: int


class Follower:
    """Follows the betting of hands in a betting tree, from where it was last asked.

    Attributes:
        betting: the tree.
        rules: of the real game, which the tree was made for.
    """

    def __init__(
        self, betting: BettingTree, rules: PokerRules, translation: str = DEFAULT_TRANSLATION
    ) -> None:
        """Get ready.

        Args:
            betting: the tree, whose menu may be any.
            rules: of a game of two players.
            translation: how bets that are not in the tree are taken.
        """
        self.betting, self.rules = betting, rules
        self._chance_of_smaller = find_translation(translation)
        self._hand: Hashable = None
        self._at = self._start()
        # Without stacks, nobody is ever all-in.
        self._stacks = rules.stacks or (2**62, 2**62)

    def locate(self, state: BettingState, hand: Hashable, unit: Unit) -> int:
        """Return the decision of the tree that the player to act is at, or `NOWHERE`.

        Args:
            state: the real betting; somebody acts.
            hand: tells one hand, seen by one player, from others.
            unit: the draws of the hand.
        """
        text = state.betting
        if hand != self._hand or not text.startswith(self._at.text):
            self._hand, self._at = hand, self._start()
        at = self._at
        place, end = len(at.text), len(text)
        while place < end:
            letter = text[place]
            place += 1
            if letter == "/":
                self._enter_round(at)
            elif letter == "c":
                self._call(at)
            elif letter == "r":
                begin = place
                while place < end and text[place].isdigit():
                    place += 1
                self._raise(at, int(text[begin:place]) if place > begin else None, unit)
        at.text = text
        tree, node = self.betting, at.node
        if node == NOWHERE or tree.kind[node] != DECISION or tree.player[node] != state.player:
            return NOWHERE
        return node

    def actions(self, node: int) -> list[int]:
        """Return the actions at a decision, as in the tree."""
        first = int(self.betting.first_child[node])
        actions: list[int] = self.betting.action[
            first : first + int(self.betting.num_children[node])
        ].tolist()
        return actions

    def texts(self, node: int, state: BettingState) -> list[str]:
        """Return what the actions of a decision are in the real game; several may come to the same."""
        bounds = state.raise_bounds()
        largest, of_tree = state.largest, int(self.betting.chips[node].max())
        texts = []
        for action in self.actions(node):
            if action == ACTION_FOLD:
                texts.append("f" if state.to_call > 0 else "c")
            elif action == ACTION_CALL or bounds is None:
                texts.append("c")
            elif self.rules.is_limit:
                texts.append("r")
            else:
                texts.append(f"r{self._real_total(action, of_tree, largest, *bounds)}")
        return texts

    def is_first(self, node: int) -> bool:
        """Return whether a decision is its player's first of the hand."""
        tree, player = self.betting, int(self.betting.player[node])
        above = int(tree.parent[node])
        while above != NO_NODE:
            if tree.kind[above] == DECISION and tree.player[above] == player:
                return False
            above = int(tree.parent[above])
        return True

    # The steps of a hand

    def _start(self) -> _Standing:
        rules = self.rules
        return _Standing("", 0, 0, rules.first_player[0], list(rules.blinds), 2 * rules.big_blind, 0)

    def _call(self, at: _Standing) -> None:
        largest, player = max(at.spent), at.player
        at.spent[player] = min(largest, self._stacks[player])
        if at.node != NOWHERE:
            at.node = self._called(at.node)
        at.player = 1 - player
        at.num_actions += 1

    def _raise(self, at: _Standing, total: int | None, unit: Unit) -> None:
        largest, player = max(at.spent), at.player
        if total is None:
            assert self.rules.raise_sizes is not None
            total = min(largest + self.rules.raise_sizes[at.round], self._stacks[player])
        if at.node != NOWHERE:
            at.node = self._raised(at, total, largest, unit)
        at.spent[player] = total
        at.least = max(at.least, 2 * total - largest)
        at.player = 1 - player
        at.num_actions += 1

    def _enter_round(self, at: _Standing) -> None:
        tree, node = self.betting, at.node
        at.round += 1
        at.player = self.rules.first_player[at.round]
        at.least = max(at.spent) + self.rules.big_blind
        if node != NOWHERE:
            node = self._next_entry(node)
        if node == NOWHERE or tree.kind[node] != DECISION:
            node = self._similar_entry(at.node, at.round, max(at.spent))
        at.node = node

    def _called(self, node: int) -> int:
        """Return the node after a check or call; itself where nobody acts."""
        tree = self.betting
        if tree.kind[node] != DECISION:
            return node
        first = int(tree.first_child[node])
        return first + (int(tree.action[first]) == ACTION_FOLD)

    def _raised(self, at: _Standing, total: int, largest: int, unit: Unit) -> int:
        """Return the node after a raise from `largest` to `total` chips."""
        tree, node = self.betting, at.node
        if tree.kind[node] != DECISION:
            return node
        first = int(tree.first_child[node])
        actions = self.actions(node)
        begin = 1 + (actions[0] == ACTION_FOLD)
        totals = actions[begin:]
        if not totals:
            above = int(tree.parent[node])
            opens = above == NO_NODE or tree.kind[above] != DECISION
            return self._called(node) if opens else above
        if len(totals) == 1:
            return first + begin
        of_tree = int(tree.chips[node].max())
        # The pot after calling is twice the largest total.
        sizes = [(one / of_tree - 1) / 2 for one in totals]
        size = (total / largest - 1) / 2
        stack = self._stacks[at.player]
        bounds = (min(at.least, stack), stack)
        real = [self._real_total(one, of_tree, largest, *bounds) for one in totals]
        total = min(total, self._greatest(*bounds))  # more than the opponent has is the same bet
        if total in real:
            same = (i for i, one in enumerate(real) if one == total)
            return first + begin + min(same, key=lambda i: abs(sizes[i] - size))
        return first + begin + self._taken_for(sizes, size, at, unit)

    def _taken_for(self, sizes: Sequence[float], size: float, at: _Standing, unit: Unit) -> int:
        """Return which of some ascending sizes a bet is taken for."""
        above = bisect_left(sizes, size)
        if above == 0:
            return 0
        if above == len(sizes):
            return len(sizes) - 1
        smaller = self._chance_of_smaller(sizes[above - 1], sizes[above], size)
        if 0 < smaller < 1:
            smaller = float(unit(at.num_actions) < smaller)
        return above - 1 if smaller else above

    def _greatest(self, least: int, greatest: int) -> int:
        """Return the greatest legal raise that the opponent can call in full."""
        return max(least, min(greatest, *self._stacks))

    def _real_total(self, total: int, of_tree: int, largest: int, least: int, greatest: int) -> int:
        """Return what a raise of the tree comes to in the real game.

        Args:
            total: in the tree.
            of_tree: the largest total there before the raise.
            largest: the largest total in the real game.
            least: the least legal raise.
            greatest: the greatest legal raise.
        """
        greatest = self._greatest(least, greatest)
        if total >= min(self._stacks):
            return greatest
        scaled = (2 * total * largest + of_tree) // (2 * of_tree)
        return min(max(scaled, least), greatest)

    # Where rounds begin

    def _next_entry(self, node: int) -> int:
        """Return where the next round begins if everybody calls: an entry, or what is no decision."""
        tree = self.betting
        while tree.kind[node] == DECISION:
            node = self._called(node)
        return int(tree.first_child[node]) if tree.kind[node] == CHANCE else NOWHERE

    def _similar_entry(self, node: int, round_index: int, largest: int) -> int:
        """Return an entry of a round, with a decision, whose pot is most like the real one; or `NOWHERE`."""
        tree = self.betting
        above = int(tree.parent[node]) if node != NOWHERE else NO_NODE
        while above != NO_NODE and tree.round[above] == round_index - 1:
            entries = [self._next_entry(child) for child in tree.children(above)]
            alive = [entry for entry in entries if entry != NOWHERE and tree.kind[entry] == DECISION]
            if alive:
                return min(alive, key=lambda entry: _ratio(int(tree.chips[entry].max()), largest))
            above = int(tree.parent[above])
        entries_here, chips = self._alive_entries[round_index]
        if not len(entries_here):
            return NOWHERE
        return int(entries_here[np.abs(np.log(chips / largest)).argmin()])

    @cached_property
    def _alive_entries(self) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
        """[round] the entries with a decision, and what either player has put in there."""
        tree, found = self.betting, []
        for nodes in tree.entry_nodes:
            alive = nodes[tree.kind[nodes] == DECISION]
            found.append((alive, tree.chips[alive].max(axis=1).astype(np.float64)))
        return found


def _ratio(one: int, other: int) -> float:
    return max(one / other, other / one)
