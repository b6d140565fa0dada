"""Slow obvious twins of the tree layer: nested nodes by plain recursion over the rules engine."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

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


MenuEntries = dict[str, Any]
"""What a TOML file of bet sizes holds."""


def naive_raise_totals(state: BettingState, menu: BetMenu | MenuEntries | None) -> list[int]:
    """Try every total up to the stack; with a menu keep those that its text, or file, asks for."""
    if isinstance(menu, dict):
        return _naive_file_totals(state, menu)
    if menu is None:
        return _naive_legal(state)
    rounds = menu.text.split("/")
    one_round = rounds[min(state.round, len(rounds) - 1)]
    return _naive_totals(state, [one_round], menu.max_raises, menu.force_all_in)


def _naive_file_totals(state: BettingState, file: MenuEntries) -> list[int]:
    streets = {"preflop": 0, "flop": 1, "turn": 2, "river": 3}
    sections = {streets[n] if n in streets else int(n) - 1: one for n, one in file.get("rounds", {}).items()}
    section = sections.get(state.round, {})
    own = ("position_1", "dealer") if state.player == 1 else ("position_0", "big_blind")
    heads = ("both", "position_0", "position_1", "big_blind", "dealer")
    if sections and state.round > max(sections) and not any(key in file for key in heads):
        section = sections[max(sections)]
    said = {**file, **section}
    texts = [said[key] for key in ("both", *own) if key in said]
    return _naive_totals(state, texts, said.get("max_raises"), Fraction(str(file.get("force_all_in", 0))))


def _naive_legal(state: BettingState) -> list[int]:
    return [n for n in range(1, min(state.stack_of(state.player), 10_000) + 1) if state.can_raise_to(n)]


def _naive_totals(state: BettingState, texts: list[str], cap: int | None, threshold: Fraction) -> list[int]:
    """Totals of the sizes in each of some texts, such as `0.5p,1p|all-in`."""
    legal = _naive_legal(state)
    if not legal or (cap is not None and state.num_raises >= cap):
        return []
    opponent_stack = state.stack_of(1 - state.player)
    # A raise beyond what the opponent has is the raise to just that, if that is legal.
    useful = [n for n in legal if n <= opponent_stack] or legal[:1]
    totals = set()
    for text in texts:
        raises = text.split("|")
        for size in raises[min(state.num_raises, len(raises) - 1)].split(","):
            if size.strip() != "none":
                totals.add(_naive_total(size.strip(), state, useful, threshold))
    return sorted(totals)


def _naive_total(size: str, state: BettingState, useful: list[int], threshold: Fraction) -> int:
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
    return all_in if left_behind < threshold * pot else total


def naive_betting_tree(rules: PokerRules, menu: BetMenu | MenuEntries | None = None) -> Node:
    return _naive_node(BettingState.start(rules), 0, ACTION_NONE, menu)


def _naive_node(
    state: BettingState, round_index: int, action: int, menu: BetMenu | MenuEntries | None
) -> Node:
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


@st.composite
def menu_files(draw: st.DrawFn) -> MenuEntries:
    """Draw what a TOML file of bet sizes may hold: a head, sections by street or number, sizes by player."""
    size = st.sampled_from(["0.25p", "0.5p", "33%", "75%", "1p", "1.5p", "200%", "min", "a", "all-in"])
    choices = st.one_of(st.just("none"), st.lists(size, min_size=1, max_size=3).map(",".join))
    one_round = st.lists(choices, min_size=1, max_size=3).map(" | ".join)
    seats = draw(st.sampled_from([("big_blind", "dealer"), ("position_0", "position_1")]))

    def sizes(must: bool) -> MenuEntries:
        keys = draw(st.sets(st.sampled_from(["both", *seats]), min_size=int(must)))
        entries: MenuEntries = {key: draw(one_round) for key in sorted(keys)}
        cap = draw(st.one_of(st.none(), st.integers(0, 4)))
        return entries if cap is None else entries | {"max_raises": cap}

    has_head = draw(st.booleans())
    file = sizes(must=True) if has_head else {}
    number = draw(st.integers(0 if has_head else 1, 4))
    skipped = draw(st.sets(st.integers(0, 3), max_size=2)) if has_head else set()
    names = [draw(st.sampled_from(pair)) for pair in (("preflop", "1"), ("flop", "2"), ("turn", "3"))]
    rounds = {(*names, "4")[r]: sizes(must=not has_head) for r in range(number) if r not in skipped}
    if rounds:
        file["rounds"] = rounds
    return file | {"force_all_in": draw(st.sampled_from([0, 0.05, 0.25, 1]))}
