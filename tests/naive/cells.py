"""Slow obvious twin of the cells: every deal and every hand, under every renaming that fixes the board."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

from errai.games.rules import PokerRules, Showdown
from naive import evaluation
from naive.isomorphism import rank_renamings, suit_renamings

Hand = tuple[int, ...]
Rounds = tuple[Hand, ...]
"""A board, the cards of each round that deals any."""

Renaming = dict[int, int]


@dataclass
class NaiveBoard:
    """A board and one player's cells there.

    Attributes:
        rounds: its cards.
        parent: the board before; None for a root.
        factor: chance of the deal, given that it hits neither hand.
        cells: the hands of each.
        strength: of each cell, comparable; all alike where nobody is shown down.
    """

    rounds: Rounds
    parent: "NaiveBoard | None"
    factor: Fraction
    fixing: list[Renaming]
    cells: list[list[Hand]]
    strength: list[Any]

    @property
    def cards(self) -> Hand:
        """All cards, in the order of their rounds."""
        return tuple(card for part in self.rounds for card in part)

    def cell_of(self, hand: Hand) -> int:
        """Return the cell that holds a hand, or -1."""
        return next((i for i, hands in enumerate(self.cells) if hand in hands), -1)

    def card(self, cell: int) -> list[int]:
        """Return the least image of each card of the first hand."""
        return [min(one[card] for one in self.fixing) for card in self.cells[cell][0]]

    def counts(self, cell: int) -> list[int]:
        """Return how many hands hold the first of these cards, the second if it is another, and all."""
        hands, images = self.cells[cell], self.card(cell)
        with_first = sum(images[0] in hand for hand in hands)
        with_second = sum(images[1] in hand for hand in hands) if len(set(images)) == 2 else 0
        return [with_first, with_second, len(hands)]

    def order(self, cell: int, other: "NaiveBoard") -> list[int]:
        """Return below, up to, tied up to and twin."""
        own, hand = self.strength[cell], self.cells[cell][0]
        return [
            sum(one < own for one in other.strength),
            sum(one <= own for one in other.strength),
            sum(one <= own for one in self.strength),
            other.cell_of(hand) if len(hand) == 2 else -1,
        ]


def all_renamings(rules: PokerRules) -> list[Renaming]:
    """Return every renaming of cards that the game does not notice."""
    if not rules.suits_matter:
        return list(rank_renamings(rules.deck))
    return [
        {card: card // 4 * 4 + suits[card % 4] for card in rules.deck.cards}
        for suits in suit_renamings(rules.deck)
    ]


def renamed(rounds: Rounds, renaming: Renaming) -> Rounds:
    """Rename the cards of a board."""
    return tuple(tuple(sorted(renaming[card] for card in part)) for part in rounds)


def naive_board(
    rules: PokerRules,
    rounds: Rounds,
    parent: NaiveBoard | None,
    factor: Fraction,
    is_last: bool,
    renamings: Iterable[Renaming],
    hands: list[Hand],
) -> NaiveBoard:
    """Sort the open hands of a board into cells."""
    fixed = tuple(tuple(sorted(part)) for part in rounds)
    fixing = [one for one in renamings if renamed(rounds, one) == fixed]
    on_board = {card for part in rounds for card in part}
    number = {hand: i for i, hand in enumerate(hands)}
    is_open = [hand for hand in hands if not set(hand) & on_board]
    classes = {frozenset(tuple(sorted(one[card] for card in hand)) for one in fixing) for hand in is_open}
    cells = [sorted(orbit, key=number.__getitem__) for orbit in classes]
    evaluate = (
        evaluation.three_card_strength if rules.showdown is Showdown.THREE_CARD else evaluation.strength
    )

    def strength(hand: Hand) -> Any:
        return evaluate([*hand, *(card for part in rounds for card in part)]) if is_last else 0

    cells.sort(key=lambda cell: (strength(cell[0]), number[cell[0]]))
    return NaiveBoard(rounds, parent, factor, fixing, cells, [strength(cell[0]) for cell in cells])


def boards_of(rules: PokerRules) -> tuple[NaiveBoard, list[list[NaiveBoard]]]:
    """Return the empty board, where nobody is shown down, and the boards of each round of a game.

    Of the deals that lead on from a board, those that its symmetry makes alike are one.
    """
    renamings = all_renamings(rules)
    hands = [tuple(hand) for hand in rules.deck.hands(rules.num_hole_cards).tolist()]
    root = naive_board(rules, (), None, Fraction(1), False, renamings, hands)
    levels: list[list[NaiveBoard]] = []
    for r, dealt in enumerate(rules.num_board_cards):
        is_last = r == rules.num_rounds - 1
        level = []
        for parent in levels[-1] if levels else [root]:
            unseen = [card for card in rules.deck.cards if card not in parent.cards]
            choices = comb(len(unseen) - 2 * rules.num_hole_cards, dealt)
            classes: dict[Hand, int] = {}
            for deal in combinations(unseen, dealt):
                least = min(tuple(sorted(one[card] for card in deal)) for one in parent.fixing)
                classes[least] = classes.get(least, 0) + 1
            for deal, number in sorted(classes.items()):
                rounds = (*parent.rounds, deal) if dealt else parent.rounds
                factor = Fraction(number, choices)
                level.append(naive_board(rules, rounds, parent, factor, is_last, renamings, hands))
        levels.append(level)
    return root, levels


def run_outs(
    rules: PokerRules, board: Hand, hands: tuple[list[Hand], list[Hand]]
) -> list[list[tuple[NaiveBoard, NaiveBoard]]]:
    """Return the boards of each round of a spot, for both players: no two hands or boards are alike."""
    identity = [{card: card for card in rules.deck.cards}]
    levels: list[list[tuple[NaiveBoard, NaiveBoard]]] = []
    for r, dealt in enumerate(rules.num_board_cards):
        is_last = r == rules.num_rounds - 1
        level = []
        for parents in levels[-1] if levels else [(None, None)]:
            before = parents[0].cards if parents[0] is not None else ()
            unseen = [card for card in rules.deck.cards if card not in before]
            for deal in combinations(unseen, dealt) if levels else [board]:
                choices = comb(len(unseen) - 2 * rules.num_hole_cards, dealt) if levels else 1
                first, second = (
                    naive_board(
                        rules, ((*before, *deal),), parent, Fraction(1, choices), is_last, identity, own
                    )
                    for parent, own in zip(parents, hands, strict=True)
                )
                level.append((first, second))
        levels.append(level)
    return levels
