"""What people call the betting rounds of a game: streets in hold'em, numbers from 1 elsewhere.

Inside, rounds are counted from 0. Whatever a person reads or types goes through here.
"""

from errai.errors import UsageError
from errai.games.rules import PokerRules

STREETS = {0: "preflop", 3: "flop", 4: "turn", 5: "river"}
"""By the number of cards on the board."""

HOLE_CARDS_OF_HOLDEM = 2


def street_name(rules: PokerRules, round_index: int) -> str | None:
    """Return what hold'em calls a round; None in other games."""
    if rules.num_hole_cards != HOLE_CARDS_OF_HOLDEM:
        return None
    names = [STREETS.get(rules.num_board_cards_by(r)) for r in range(rules.num_rounds)]
    return names[round_index] if None not in names and len(set(names)) == len(names) else None


def round_name(rules: PokerRules, round_index: int) -> str:
    """Name a round: its street where it has one, else its number from 1.

    >>> from errai.games.catalogue import load_game
    >>> round_name(load_game("limit-holdem"), 1), round_name(load_game("leduc"), 1)
    ('flop', 'round 2')
    """
    return street_name(rules, round_index) or f"round {round_index + 1}"


def the_round(rules: PokerRules, round_index: int) -> str:
    """Name a round in a sentence: the flop, the preflop round, round 2."""
    street = street_name(rules, round_index)
    if street is None:
        return round_name(rules, round_index)
    return f"the {street}" if rules.num_board_cards_by(round_index) else f"the {street} round"


def in_round(rules: PokerRules, round_index: int) -> str:
    """Say where something happens: on the flop, in the preflop round, in round 2."""
    is_on_board = street_name(rules, round_index) is not None and rules.num_board_cards_by(round_index) > 0
    return f"{'on' if is_on_board else 'in'} {the_round(rules, round_index)}"


def round_of_game(rules: PokerRules, round_index: int) -> str:
    """Name a round of a game in a sentence.

    >>> from errai.games.catalogue import load_game
    >>> round_of_game(load_game("limit-holdem"), 1), round_of_game(load_game("leduc"), 1)
    ('the flop of limit-holdem', 'round 2 of leduc')
    """
    return f"{the_round(rules, round_index)} of {rules.name}"


def find_round(rules: PokerRules, text: str) -> int:
    """Return the index of the round that a street such as `flop` or a number from 1 names."""
    wanted = text.strip().lower()
    for r in range(rules.num_rounds):
        if wanted in (str(r + 1), round_name(rules, r)):
            return r
    valid = ", ".join(street_name(rules, r) or str(r + 1) for r in range(rules.num_rounds))
    numbers = f" or 1 to {rules.num_rounds}" if street_name(rules, 0) else ""
    raise UsageError(f"unknown round '{text}' of '{rules.name}': it must be {valid}{numbers}")
