"""Rounds as people call them: streets in hold'em, numbers from 1 elsewhere; both are read."""

import pytest

from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rounds import find_round, in_round, round_name, round_of_game, street_name
from errai.games.rules import PokerRules


def rules_of(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


@pytest.mark.parametrize(
    ("game", "names"),
    [
        ("limit-holdem", ["preflop", "flop", "turn", "river"]),
        ("holdem-2-4", ["preflop", "flop"]),
        ("leduc", ["round 1", "round 2"]),
        ("rhode-island", ["round 1", "round 2", "round 3"]),
        ("kuhn", ["round 1"]),
    ],
)
def test_names_and_back(game: str, names: list[str]) -> None:
    rules = rules_of(game)
    assert [round_name(rules, r) for r in range(rules.num_rounds)] == names
    assert [find_round(rules, f" {name.upper()} ") for name in names] == list(range(len(names)))
    assert [find_round(rules, str(r + 1)) for r in range(len(names))] == list(range(len(names)))
    assert [street_name(rules, r) or f"round {r + 1}" for r in range(len(names))] == names


def test_names_in_sentences() -> None:
    holdem, leduc = rules_of("limit-holdem"), rules_of("leduc")
    assert [round_of_game(holdem, r) for r in range(4)] == [
        "the preflop round of limit-holdem",
        "the flop of limit-holdem",
        "the turn of limit-holdem",
        "the river of limit-holdem",
    ]
    assert [in_round(holdem, r) for r in range(4)] == [
        "in the preflop round",
        "on the flop",
        "on the turn",
        "on the river",
    ]
    assert [round_of_game(leduc, r) for r in range(2)] == ["round 1 of leduc", "round 2 of leduc"]
    assert [in_round(leduc, r) for r in range(2)] == ["in round 1", "in round 2"]


@pytest.mark.parametrize("text", ["", "0", "5", "-1", "(flop)", "show", "round 1"])
def test_unknown_rounds_of_holdem(text: str) -> None:
    sentence = f"unknown round '{text}' of 'limit-holdem': it must be preflop, flop, turn, river or 1 to 4"
    with pytest.raises(UsageError) as refused:
        find_round(rules_of("limit-holdem"), text)
    assert str(refused.value) == sentence


def test_unknown_rounds_of_other_games() -> None:
    with pytest.raises(UsageError, match=r"^unknown round 'flop' of 'rhode-island': it must be 1, 2, 3$"):
        find_round(rules_of("rhode-island"), "flop")
