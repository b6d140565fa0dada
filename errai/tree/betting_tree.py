"""The betting tree of a two-player game as frozen flat arrays.

Layout. Nodes are sorted by round; inside a round by the entry node that they descend from; inside an
entry breadth first. So every parent comes before its children (walk up the index to push reach down,
down the index to pull values up), children are contiguous, and the part of a round below one entry
is one contiguous block. A round ends in a CHANCE node, whose only child is the entry node of the
next round. When both players are all-in the line goes on through CHANCE nodes alone, so that every
SHOWDOWN lies in the last round, with the whole board on the table.

Building. Inside a round the tree depends only on what each player has put in before it, so a block is
made once for each such state (a *template*) and stamped for every entry that needs it: a count pass
finds the templates and how often each occurs, a fill pass stamps them with array operations.

Dimension letters: N nodes, R rounds, E entries of a round.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError
from errai.games.betting import BettingState
from errai.games.rules import MAX_CHIPS, PokerRules
from errai.memory import format_bytes, verify_memory
from errai.tree.bet_menu import BetMenu, raise_totals

DECISION, CHANCE, FOLD, SHOWDOWN, CHALLENGE = range(5)
KIND_NAMES = ("decision", "chance", "fold", "showdown", "challenge")

NO_NODE = -1
NO_PLAYER = -1

ACTION_NONE = -3
ACTION_FOLD = -2
ACTION_CALL = -1
"""Any action from 0 up is the total of a raise in chips or, in Bluff, the number of a bid."""

MAX_NODES = 2**31 - 1
MAX_ACTIONS = 255
BYTES_A_NODE = 3 * 4 + 4 * 1 + 2 * 4
BYTES_A_NODE_TO_BUILD = BYTES_A_NODE + 16
"""With what building needs besides, as measured on limit, no-limit and Bluff trees: 2 to 10 bytes."""

MAX_TEMPLATE_NODES = 1_000_000
"""Templates are made by the rules engine one state at a time: many more take minutes and gigabytes."""


@dataclass(frozen=True, eq=False)
class BettingTree:
    """The betting of a two-player game. Arrays are read-only.

    Attributes:
        parent: int32[N] `NO_NODE` at the root.
        first_child: int32[N] children are `first_child .. first_child + num_children`; `NO_NODE` at a leaf.
        num_children: uint8[N].
        kind: int8[N] DECISION, CHANCE (a round ends), FOLD, SHOWDOWN or CHALLENGE.
        player: int8[N] who acts; at FOLD who folded, at CHALLENGE who called bluff; else `NO_PLAYER`.
        round: int8[N].
        action: int32[N] the action that led here: a total or bid, or one of `ACTION_...`.
        chips: int32[N, 2] what each player has put in over the hand.
        round_begin: int64[R + 1] the nodes of round r are `round_begin[r] .. round_begin[r + 1]`.
    """

    parent: npt.NDArray[np.int32]
    first_child: npt.NDArray[np.int32]
    num_children: npt.NDArray[np.uint8]
    kind: npt.NDArray[np.int8]
    player: npt.NDArray[np.int8]
    round: npt.NDArray[np.int8]
    action: npt.NDArray[np.int32]
    chips: npt.NDArray[np.int32]
    round_begin: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).setflags(write=False)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    @property
    def num_rounds(self) -> int:
        """Number of betting rounds."""
        return len(self.round_begin) - 1

    @cached_property
    def entry_nodes(self) -> tuple[npt.NDArray[np.int64], ...]:
        """For each round the nodes where it starts, ascending: int64[E]."""
        entries = [np.zeros(1, dtype=np.int64)]
        for r in range(self.num_rounds - 1):
            begin, end = self.round_begin[r], self.round_begin[r + 1]
            closing = begin + np.flatnonzero(self.kind[begin:end] == CHANCE)
            entries.append(self.first_child[closing].astype(np.int64))
        return tuple(entries)

    def block(self, round_index: int, entry: int) -> tuple[int, int]:
        """Return begin and end of the nodes of a round below its entry number `entry`."""
        entries = self.entry_nodes[round_index]
        last = entry + 1 == len(entries)
        end = self.round_begin[round_index + 1] if last else entries[entry + 1]
        return int(entries[entry]), int(end)

    def count(self, kind: int, round_index: int) -> int:
        """Return how many nodes of a kind a round has."""
        begin, end = self.round_begin[round_index], self.round_begin[round_index + 1]
        return int(np.count_nonzero(self.kind[begin:end] == kind))

    def children(self, node: int) -> range:
        """Return the children of a node."""
        first = int(self.first_child[node])
        return range(first, first + int(self.num_children[node])) if first != NO_NODE else range(0)


@dataclass(frozen=True, eq=False)
class Template:
    """The nodes of one round below one entry, relative to the entry; what `BettingTree` says of each.

    Attributes:
        next_keys: for each CHANCE node in order, which template the next round continues with.
        num_slots: actions at decision nodes in all.
    """

    parent: npt.NDArray[np.int32]
    first_child: npt.NDArray[np.int32]
    num_children: npt.NDArray[np.uint8]
    kind: npt.NDArray[np.int8]
    player: npt.NDArray[np.int8]
    action: npt.NDArray[np.int32]
    chips: npt.NDArray[np.int32]
    next_keys: tuple[Hashable, ...]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    @property
    def num_slots(self) -> int:
        """Actions over all decisions."""
        return int(self.num_children[self.kind == DECISION].sum())

    def count(self, kind: int) -> int:
        """Return how many nodes of a kind there are."""
        return int(np.count_nonzero(self.kind == kind))


_Key = tuple[int, tuple[int, ...], bool]
"""Round, chips of each player at its start, and whether betting is over because players are all-in."""


@dataclass(frozen=True)
class RoundCount:
    """How many betting nodes of each sort a round has. Exact at any size.

    Attributes:
        decisions: betting sequences at which a player acts inside the round.
        continuing: betting sequences that go on to the next round.
        folds: sequences that end in a fold.
        showdowns: sequences that end in a showdown (or, in Bluff, a challenge).
        slots: actions over all decisions.
    """

    decisions: int
    continuing: int
    folds: int
    showdowns: int
    slots: int

    @property
    def nodes(self) -> int:
        """All nodes of the round."""
        return self.decisions + self.continuing + self.folds + self.showdowns


class TreePlan:
    """The count pass: the templates of every round and how often each is stamped."""

    def __init__(
        self, rules: PokerRules, menu: BetMenu | None = None, start: BettingState | None = None
    ) -> None:
        """Find every template of the game.

        Args:
            rules: a two-player game.
            menu: bet sizes of a no-limit game; without it every legal size is a branch.
            start: where the first round starts; after the blinds without it.
        """
        if rules.num_players != 2:
            raise UsageError(f"'{rules.name}' has {rules.num_players} players: trees are built for 2")
        if menu is not None and rules.is_limit:
            raise UsageError(f"'{rules.name}' is a limit game: its bet sizes are fixed and take no menu")
        if menu is not None:
            menu.verify(rules)
        self.rules = rules
        self.menu = menu
        self.templates: dict[_Key, Template] = {}
        self.occurrences: list[Counter[Any]] = []
        self._num_template_nodes = 0
        start = start or BettingState.start(rules)
        frontier: dict[_Key, BettingState] = {(0, start.spent, False): start}
        counts = Counter(dict.fromkeys(frontier, 1))
        for _ in range(rules.num_rounds):
            self.occurrences.append(counts)
            following: dict[_Key, BettingState] = {}
            next_counts: Counter[Any] = Counter()
            for key, state in frontier.items():
                self.templates[key] = self._template(key, state, following)
                for next_key, times in Counter(self.templates[key].next_keys).items():
                    next_counts[next_key] += times * counts[key]
            frontier, counts = following, next_counts

    def _template(self, key: _Key, entry: BettingState, following: dict[_Key, BettingState]) -> Template:
        round_index, _, is_all_in = key
        last = round_index == self.rules.num_rounds - 1
        states, parents, actions = [entry], [NO_NODE], [ACTION_NONE]
        first, number, kinds, players = [], [], [], []
        next_keys: list[_Key] = []
        for node, state in enumerate(states):  # grows while it is walked: breadth first
            first_child, num_children, player = NO_NODE, 0, NO_PLAYER
            if state.folded.count(True):
                kind, player = FOLD, state.folded.index(True)
            elif last and state.is_over:
                kind = SHOWDOWN
            elif is_all_in or state.is_over or state.round > round_index:
                kind, num_children = CHANCE, 1
                next_key = (round_index + 1, state.spent, state.is_over)
                next_keys.append(next_key)
                following.setdefault(next_key, state)
            else:
                kind, player, first_child = DECISION, state.player, len(states)
                totals = raise_totals(state, self.menu)
                num_children = int(state.can_fold()) + 1 + len(totals)
                self._verify_decision(state, num_children, totals)
                for action, child in _branches(state, totals):
                    states.append(child)
                    parents.append(node)
                    actions.append(action)
            first.append(first_child)
            number.append(num_children)
            kinds.append(kind)
            players.append(player)
        return Template(
            parent=np.array(parents, dtype=np.int32),
            first_child=np.array(first, dtype=np.int32),
            num_children=np.array(number, dtype=np.uint8),
            kind=np.array(kinds, dtype=np.int8),
            player=np.array(players, dtype=np.int8),
            action=np.array(actions, dtype=np.int32),
            chips=np.array([state.spent for state in states], dtype=np.int32),
            next_keys=tuple(next_keys),
        )

    def _verify_decision(self, state: BettingState, num_children: int, totals: Sequence[int]) -> None:
        """Refuse what the arrays cannot hold or what would take minutes, before it is made."""
        name = self.rules.name
        if num_children > MAX_ACTIONS:
            raise UsageError(
                f"a decision of '{name}' has {num_children:,} actions, more than {MAX_ACTIONS}: "
                "give a menu of bet sizes (--bets) or a smaller one"
            )
        self._num_template_nodes += num_children
        if self._num_template_nodes > MAX_TEMPLATE_NODES:
            raise UsageError(
                f"the betting of '{name}' has more than {MAX_TEMPLATE_NODES:,} distinct states: "
                "give a menu of bet sizes (--bets) or a smaller one"
            )
        if totals and totals[-1] > MAX_CHIPS:
            raise UsageError(
                f"a raise to {totals[-1]:,} chips after '{state.betting}' in '{name}' is too large: "
                f"the total must be at most {MAX_CHIPS:,}"
            )

    def round_counts(self) -> tuple[RoundCount, ...]:
        """Return the exact number of nodes of each round, however many they are."""
        result = []
        for counts in self.occurrences:
            totals = [0, 0, 0, 0, 0]
            for key, times in counts.items():
                template = self.templates[key]
                sizes = [template.count(kind) for kind in (DECISION, CHANCE, FOLD, SHOWDOWN)]
                for i, size in enumerate([*sizes, template.num_slots]):
                    totals[i] += times * size
            result.append(RoundCount(*totals))
        return tuple(result)

    @property
    def num_nodes(self) -> int:
        """Number of nodes of the whole tree."""
        return sum(count.nodes for count in self.round_counts())

    def build(self) -> BettingTree:
        """The fill pass: allocate the arrays once and stamp every template into its places."""
        num_nodes = self.num_nodes
        verify_num_nodes(num_nodes, f"the betting tree of '{self.rules.name}'")
        return stamp_tree(self.templates, next(iter(self.occurrences[0])), num_nodes, self.rules.num_rounds)


def stamp_tree(
    templates: Mapping[Any, Template], root: Hashable, num_nodes: int, num_rounds: int
) -> BettingTree:
    """Allocate the arrays of a tree once and stamp every template into its places.

    Args:
        templates: the blocks by key; a template names the keys that its CHANCE nodes continue with.
        root: the key of the first round's only block.
        num_nodes: nodes in all, as counted.
        num_rounds: number of rounds.
    """
    arrays: dict[str, npt.NDArray[Any]] = {
        "parent": np.empty(num_nodes, dtype=np.int32),
        "first_child": np.empty(num_nodes, dtype=np.int32),
        "num_children": np.empty(num_nodes, dtype=np.uint8),
        "kind": np.empty(num_nodes, dtype=np.int8),
        "player": np.empty(num_nodes, dtype=np.int8),
        "round": np.empty(num_nodes, dtype=np.int8),
        "action": np.empty(num_nodes, dtype=np.int32),
        "chips": np.empty((num_nodes, 2), dtype=np.int32),
    }
    round_begin = np.zeros(num_rounds + 1, dtype=np.int64)
    closing = np.array([NO_NODE], dtype=np.int64)  # the CHANCE node before each entry
    keys: list[Hashable] = [root]
    entry_keys = np.zeros(1, dtype=np.int64)  # which of `keys` each entry stamps
    for r in range(num_rounds):
        sizes = np.array([templates[key].size for key in keys], dtype=np.int64)[entry_keys]
        starts = round_begin[r] + np.cumsum(sizes) - sizes
        round_begin[r + 1] = round_begin[r] + sizes.sum()
        following = dict.fromkeys(next_key for key in keys for next_key in templates[key].next_keys)
        next_ids = {key: i for i, key in enumerate(following)}
        continues_with = np.empty(int(sizes.sum()), dtype=np.int32)
        by_key = np.argsort(entry_keys, kind="stable")
        key_begin = np.searchsorted(entry_keys[by_key], np.arange(len(keys) + 1))
        for i, key in enumerate(keys):
            template = templates[key]
            stamped = starts[by_key[key_begin[i] : key_begin[i + 1]]]
            places = stamped[:, None] + np.arange(template.size)
            _stamp(arrays, template, places)
            chance = np.flatnonzero(template.kind == CHANCE)
            ids = [next_ids[next_key] for next_key in template.next_keys]
            continues_with[places[:, chance] - round_begin[r]] = ids
        arrays["round"][round_begin[r] : round_begin[r + 1]] = r
        arrays["parent"][starts] = closing
        if r > 0:
            arrays["first_child"][closing] = starts
        here = arrays["kind"][round_begin[r] : round_begin[r + 1]]
        closing = round_begin[r] + np.flatnonzero(here == CHANCE)
        entry_keys = continues_with[closing - round_begin[r]].astype(np.int64)
        keys = list(next_ids)
    return BettingTree(**arrays, round_begin=round_begin)


def verify_num_nodes(num_nodes: int, what: str) -> None:
    """Refuse a tree that node numbers of 32 bits or the free memory cannot hold."""
    if num_nodes > MAX_NODES:
        raise UsageError(
            f"{what} has {num_nodes:,} nodes, which would take {format_bytes(num_nodes * BYTES_A_NODE)}: "
            f"expected at most {MAX_NODES:,} nodes"
        )
    verify_memory(num_nodes * BYTES_A_NODE_TO_BUILD, f"{what} ({num_nodes:,} nodes)")


def _stamp(arrays: dict[str, npt.NDArray[Any]], template: Template, places: npt.NDArray[np.int64]) -> None:
    """Copy a template to `places` [copies, nodes], turning relative node numbers into absolute ones."""
    for name in ("num_children", "kind", "player", "action", "chips"):
        arrays[name][places] = getattr(template, name)
    starts = places[:, :1]
    for name in ("parent", "first_child"):
        relative = getattr(template, name)
        arrays[name][places] = np.where(relative == NO_NODE, NO_NODE, relative + starts)


def _branches(state: BettingState, totals: Sequence[int]) -> Iterator[tuple[int, BettingState]]:
    """Yield the actions of a decision in the tree's order: fold, call, raises ascending."""
    if state.can_fold():
        yield ACTION_FOLD, state.fold()
    yield ACTION_CALL, state.call()
    for total in totals:
        yield total, state.raise_to(total)


def build_betting_tree(rules: PokerRules, menu: BetMenu | None = None) -> BettingTree:
    """Return the betting tree of a two-player game."""
    return TreePlan(rules, menu).build()
