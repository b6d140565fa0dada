"""Slow obvious twins of the tree layer: nested nodes by plain recursion over the rules engine."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import strategies as st

from errai.cards.deck import FULL_DECK
from errai.games.betting import BettingState
from errai.games.rules import UNLIMITED_RAISES, PokerRules
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import (
    ACTION_CALL,
    ACTION_FOLD,
    ACTION_NONE,
    CHALLENGE,
    CHANCE,
    DECISION,
    FOLD,
    NO_NODE,
    NO_PLAYER,
    SHOWDOWN,
    BettingTree,
    RoundCount,
)


@dataclass(eq=False)
class Node:
    """One node of a nested tree; `number` is its place in the flat order."""

    kind: int
    player: int
    round: int
    action: int
    chips: tuple[int, ...]
    children: list["Node"] = field(default_factory=list)
    number: int = NO_NODE

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()


# Poker


def naive_raise_totals(state: BettingState, menu: BetMenu | None) -> list[int]:
    """Try every total up to the stack; with a menu keep those that its text asks for."""
    legal = [n for n in range(1, min(state.stack_of(state.player), 10_000) + 1) if state.can_raise_to(n)]
    if menu is None or not legal or (menu.max_raises is not None and state.num_raises >= menu.max_raises):
        return legal if menu is None else []
    opponent_stack = state.stack_of(1 - state.player)
    # A raise beyond what the opponent has is the raise to just that, if that is legal.
    useful = [n for n in legal if n <= opponent_stack] or legal[:1]
    rounds = menu.text.split("/")
    raises = rounds[min(state.round, len(rounds) - 1)].split("|")
    sizes = raises[min(state.num_raises, len(raises) - 1)].split(",")
    return sorted({_naive_total(size.strip(), state, useful, menu) for size in sizes})


def _naive_total(size: str, state: BettingState, useful: list[int], menu: BetMenu) -> int:
    me, opponent = state.player, 1 - state.player
    all_in = useful[-1]
    if size in ("a", "all-in"):
        return all_in
    if size == "min":
        wanted = useful[0]
    else:
        part = Fraction(size[:-1]) / (100 if size.endswith("%") else 1)
        bet = max(state.spent)
        pot = max(state.spent[me], bet) + state.spent[opponent]
        exact = bet + part * pot
        wanted = int(exact) + (1 if exact - int(exact) >= Fraction(1, 2) else 0)
    total = next((n for n in useful if n >= wanted), all_in)
    left_behind, pot = all_in - total, 2 * total
    return all_in if left_behind < menu.force_all_in * pot else total


def naive_betting_tree(rules: PokerRules, menu: BetMenu | None = None) -> Node:
    return _naive_node(BettingState.start(rules), 0, ACTION_NONE, menu)


def _naive_node(state: BettingState, round_index: int, action: int, menu: BetMenu | None) -> Node:
    rules = state.rules
    node = Node(DECISION, state.player, round_index, action, state.spent)
    if True in state.folded:
        node.kind, node.player = FOLD, state.folded.index(True)
    elif state.is_over and round_index == rules.num_rounds - 1:
        node.kind, node.player = SHOWDOWN, NO_PLAYER
    elif state.is_over or state.round > round_index:
        node.kind, node.player = CHANCE, NO_PLAYER
        node.children = [_naive_node(state, round_index + 1, ACTION_NONE, menu)]
    else:
        steps = [(ACTION_FOLD, state.fold())] if state.can_fold() else []
        steps.append((ACTION_CALL, state.call()))
        if not rules.is_limit:
            steps += [(n, state.raise_to(n)) for n in naive_raise_totals(state, menu)]
        elif state.can_raise_to():
            after = state.raise_to()
            steps.append((max(after.spent), after))
        node.children = [_naive_node(child, round_index, label, menu) for label, child in steps]
    return node


# Bluff


def naive_bluff_tree(num_bids: int, split: int | None = None) -> Node:
    """Every ascending sequence of bids; those from `split` on lie in a second round, behind CHANCE."""
    return _naive_bidding((), num_bids, num_bids if split is None else split)


def _naive_bidding(bids: tuple[int, ...], num_bids: int, split: int, crossed: bool = False) -> Node:
    player = len(bids) % 2
    label = bids[-1] if bids else ACTION_NONE
    if bids and bids[-1] >= split and not crossed:
        closing = Node(CHANCE, NO_PLAYER, 0, label, (0, 0))
        closing.children = [_naive_bidding(bids, num_bids, split, crossed=True)]
        closing.children[0].action = ACTION_NONE
        return closing
    node = Node(DECISION, player, int(crossed), label, (0, 0))
    if bids:
        node.children.append(Node(CHALLENGE, player, int(crossed), ACTION_CALL, (0, 0)))
    for bid in range(num_bids):
        if not bids or bid > bids[-1]:
            node.children.append(_naive_bidding((*bids, bid), num_bids, split, crossed))
    return node


# Nested and flat


def flat_order(root: Node) -> list[Node]:
    """Rounds in order; inside a round the entries in order; inside an entry breadth first."""
    order: list[Node] = []
    entries = [root]
    while entries:
        next_entries: list[Node] = []
        for entry in entries:
            queue = [entry]
            for node in queue:
                order.append(node)
                (next_entries if node.kind == CHANCE else queue).extend(node.children)
        entries = next_entries
    for number, node in enumerate(order):
        node.number = number
    return order


def naive_arrays(root: Node) -> dict[str, list[object]]:
    """What the flat arrays must hold, as lists."""
    order = flat_order(root)
    parent = [NO_NODE] * len(order)
    for node in order:
        for child in node.children:
            parent[child.number] = node.number
    return {
        "parent": list(parent),
        "first_child": [node.children[0].number if node.children else NO_NODE for node in order],
        "num_children": [len(node.children) for node in order],
        "kind": [node.kind for node in order],
        "player": [node.player for node in order],
        "round": [node.round for node in order],
        "action": [node.action for node in order],
        "chips": [list(node.chips) for node in order],
    }


def naive_round_counts(root: Node, num_rounds: int) -> tuple[RoundCount, ...]:
    counts = [[0, 0, 0, 0, 0] for _ in range(num_rounds)]
    places = {DECISION: 0, CHANCE: 1, FOLD: 2, SHOWDOWN: 3, CHALLENGE: 3}
    for node in root.walk():
        counts[node.round][places[node.kind]] += 1
        if node.kind == DECISION:
            counts[node.round][4] += len(node.children)
    return tuple(RoundCount(*count) for count in counts)


def descendants(tree: BettingTree, node: int) -> set[int]:
    """A node and everything below it, found by following children."""
    found, stack = set(), [node]
    while stack:
        found.add(stack[-1])
        stack.extend(tree.children(stack.pop()))
    return found


# Random material


def nolimit_rules(
    blinds: tuple[int, ...] = (2, 1),
    stacks: tuple[int, ...] = (10, 10),
    num_rounds: int = 2,
    max_raises: tuple[int, ...] | None = None,
    first_player: tuple[int, ...] | None = None,
) -> PokerRules:
    """A small no-limit game, by default with blinds as in hold'em."""
    return PokerRules(
        name="small",
        deck=FULL_DECK,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1, 1)[:num_rounds],
        blinds=blinds,
        raise_sizes=None,
        max_raises=max_raises or (UNLIMITED_RAISES,) * num_rounds,
        first_player=first_player or (1, 0, 0, 0)[:num_rounds],
        stacks=stacks,
    )


@st.composite
def small_nolimit_rules(draw: st.DrawFn, max_stack: int = 14, equal: bool = False) -> PokerRules:
    """Draw any blinds or antes, who acts first, equal or unequal stacks, and caps on raises."""
    rounds = draw(st.integers(1, 4))
    blinds = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(any))
    stack = st.integers(max(blinds) + 1, max_stack)
    first = draw(stack)
    return nolimit_rules(
        blinds=blinds,
        stacks=(first, first if equal else draw(stack)),
        num_rounds=rounds,
        max_raises=tuple(
            draw(st.one_of(st.integers(0, 3), st.just(UNLIMITED_RAISES))) if not equal else UNLIMITED_RAISES
            for _ in range(rounds)
        ),
        first_player=tuple(draw(st.integers(0, 1)) for _ in range(rounds)),
    )


@st.composite
def menus(draw: st.DrawFn) -> BetMenu:
    """Draw a menu: up to three rounds, up to three raise numbers, up to three sizes each."""
    size = st.sampled_from(["0.25p", "0.5p", "33%", "75%", "1p", "1.5p", "200%", "min", "a", "all-in"])
    one_menu = st.lists(size, min_size=1, max_size=3).map(",".join)
    one_round = st.lists(one_menu, min_size=1, max_size=3).map(" | ".join)
    text = draw(st.lists(one_round, min_size=1, max_size=3).map(" / ".join))
    cap = draw(st.one_of(st.none(), st.integers(0, 4)))
    thresholds: list[float | str] = [0, 0.05, "0.25", 1.0]
    return BetMenu.parse(text, cap, draw(st.sampled_from(thresholds)))
