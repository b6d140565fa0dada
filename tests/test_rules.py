"""The record of rules: what it refuses, what it counts, and the built-in games against published figures."""

from dataclasses import replace
from math import comb
from typing import Any

import pytest

import errai
from errai.cards.deck import FULL_DECK, Deck, parse_cards
from errai.errors import UsageError
from errai.games.bluff import BluffRules
from errai.games.catalogue import game_names, holdem
from errai.games.rules import UNLIMITED_RAISES, PokerRules, Showdown

LIMIT = errai.load_game("limit-holdem")
NOLIMIT = errai.load_game("nolimit-holdem")


@pytest.mark.parametrize(
    ("game", "changes", "sentence"),
    [
        (LIMIT, {"num_board_cards": (0, 1, 1, 1, 1)}, "expected 1 to 4 rounds, not 5"),
        (LIMIT, {"num_board_cards": ()}, "expected 1 to 4 rounds, not 0"),
        (LIMIT, {"blinds": (1,)}, "expected 2 to 10 players, not 1"),
        (LIMIT, {"blinds": (1,) * 11}, "expected 2 to 10 players, not 11"),
        (LIMIT, {"max_raises": (1, 1)}, "maxRaises must have 4 values, not 2"),
        (LIMIT, {"first_player": (1,)}, "firstPlayer must have 4 values, not 1"),
        (LIMIT, {"raise_sizes": (1, 1, 1)}, "raiseSize must have 4 values, not 3"),
        (NOLIMIT, {"stacks": (1, 1, 1)}, "stack must have 2 values, not 3"),
        (LIMIT, {"blinds": (-1, 5)}, r"the blinds must be 0 or more .*, not \(-1, 5\)"),
        (LIMIT, {"blinds": (0, 0)}, r"one of them positive, not \(0, 0\)"),
        (
            LIMIT,
            {"raise_sizes": (10, 10, 0, 20)},
            r"the raise sizes must be positive, not \(10, 10, 0, 20\)",
        ),
        (LIMIT, {"raise_sizes": None}, "a no-limit game needs stacks"),
        (NOLIMIT, {"stacks": (100, 20000)}, "each stack must exceed the largest blind 100, not"),
        (NOLIMIT, {"stacks": (2**31, 20000)}, "expected at most 2147483647 chips, not 2147483648"),
        (LIMIT, {"max_raises": (3, 4, 4, 256)}, "the raises of a round must be 0 to 255, not"),
        (LIMIT, {"max_raises": (3, 4, 4, -1)}, "the raises of a round must be 0 to 255, not"),
        (LIMIT, {"first_player": (2, 0, 0, 0)}, "the first players must be positions 0 to 1, not"),
        (LIMIT, {"num_hole_cards": 0}, "expected 1 hole card or more, not 0"),
        (LIMIT, {"num_board_cards": (0, 3, -1, 1)}, "the board cards must be 0 or more, not"),
        (LIMIT, {"deck": Deck("A", "cdhs")}, "9 cards are dealt from a deck of 4"),
        (LIMIT, {"num_hole_cards": 3}, "a showdown must have at most 7 cards, not 8"),
        (LIMIT, {"showdown": Showdown.THREE_CARD}, "a three-card showdown must have 3 cards, not 7"),
    ],
)
def test_invalid_rules_are_refused_in_one_sentence(game, changes, sentence):
    with pytest.raises(UsageError, match=f"invalid rules of '{game.name}': .*{sentence}"):
        replace(game, **changes)


def test_every_listed_game_loads_under_its_own_name():
    for name in game_names():
        assert errai.load_game(name).name == name


@pytest.mark.parametrize(
    "name",
    [
        "hearts",
        "holdem-5-1",
        "holdem-2-0",
        "bluff-5-1",
        "bluff-0-1",
        "/nowhere.game",
        "",
        "holdem-" + "9" * 5000 + "-1",
        "\0",
    ],
)
def test_unknown_games_are_refused_by_name(name):
    with pytest.raises(
        UsageError, match=r"is not a game|must have 1 to|is neither a game nor an ACPC game file"
    ):
        errai.load_game(name)


def test_numbers_of_deals():
    kuhn, leduc = errai.load_game("kuhn"), errai.load_game("leduc")
    assert (kuhn.num_hands(), kuhn.num_deals(0)) == (3, 3)
    assert [leduc.num_deals(r) for r in range(2)] == [6, 30]
    assert LIMIT.num_hands() == 1326
    # Pairs of hand and board with the rounds kept apart, before any symmetry.
    expected = [comb(52, 2), comb(52, 2) * comb(50, 3), comb(52, 2) * comb(50, 3) * 47]
    assert [LIMIT.num_deals(r) for r in range(4)] == [*expected, expected[-1] * 46]
    assert [LIMIT.num_board_cards_by(r) for r in range(4)] == [0, 3, 4, 5]


def test_where_suits_matter():
    # Leduc's and Kuhn's cards have no flushes; Rhode Island's three cards and five-card hands do.
    games = [errai.load_game(name) for name in game_names()]
    without = [game.name for game in games if isinstance(game, PokerRules) and not game.suits_matter]
    assert without == ["kuhn", "leduc"]


def test_hands_and_boards_are_read_together() -> None:
    leduc, rhode_island = errai.load_game("leduc"), errai.load_game("rhode-island")
    assert (
        leduc.parse_deal("K", "K") == leduc.parse_deal("Kh", "Ks") == (parse_cards("Kh"), parse_cards("Ks"))
    )
    assert leduc.parse_deal("Q", "", 0) == (parse_cards("Qh"), ())
    assert leduc.parse_board("Q", 1) == parse_cards("Qh")
    assert rhode_island.parse_deal("As", "KsQd") == (parse_cards("As"), parse_cards("KsQd"))
    assert LIMIT.parse_deal("AsKd", "Qs7d2c", 1) == (parse_cards("AsKd"), parse_cards("Qs7d2c"))


@pytest.mark.parametrize(
    ("game", "deal", "sentence"),
    [
        ("rhode-island", ("A", "K"), "'A' gives the rank A without a suit"),
        ("rhode-island", ("As", "K"), "'K' gives the rank K without a suit"),
        ("limit-holdem", ("AK",), "'AK' gives the rank A without a suit"),
        (
            "limit-holdem",
            ("As",),
            "'As' is not a hand of 'limit-holdem': the number of cards must be 2, not 1",
        ),
        ("limit-holdem", ("AsKd", "Qs7d"), "a board of 2 cards .*: expected 0 or 3 or 4 or 5 cards"),
        ("limit-holdem", ("AsKd", "As7d2c"), "the card As occurs twice"),
        ("leduc", ("K", "QK"), "a board of 2 cards does not belong to a round of 'leduc': expected 0 or 1"),
        (
            "leduc",
            ("K", "", 1),
            "cards on the board '' must be 1 at this point of 'leduc', not 0",
        ),
    ],
)
def test_hands_and_boards_that_do_not_fit(game: str, deal: tuple[Any, ...], sentence: str) -> None:
    rules = errai.load_game(game)
    assert isinstance(rules, PokerRules)
    with pytest.raises(UsageError, match=sentence):
        rules.parse_deal(*deal)


def test_a_board_belongs_to_the_last_round_that_has_it() -> None:
    assert [LIMIT.round_of_board(number) for number in (0, 3, 4, 5)] == [0, 1, 2, 3]
    assert replace(LIMIT, num_board_cards=(0, 3, 0, 2)).round_of_board(3) == 2


def test_a_board_alone_must_fit_too() -> None:
    with pytest.raises(UsageError, match="'A72' gives the rank A without a suit"):
        LIMIT.parse_board("A72")
    with pytest.raises(UsageError, match="board 'As7d2c' must be 4 at this point"):
        LIMIT.parse_board("As7d2c", 2)


def test_games_that_deal_alike() -> None:
    """Bets may differ; deck, deals and showdown may not."""
    assert LIMIT.deals_like(NOLIMIT)
    assert NOLIMIT.deals_like(LIMIT)
    for changes in (
        {"deck": Deck.top(12, 4)},
        {"num_hole_cards": 1},
        {"num_board_cards": (0, 3, 0, 2)},
    ):
        assert not LIMIT.deals_like(replace(LIMIT, **changes))
    rhode_island = errai.load_game("rhode-island")
    assert not rhode_island.deals_like(replace(rhode_island, showdown=Showdown.POKER))


def test_big_blind_is_the_unit():
    units = {
        "kuhn": 1,
        "leduc": 1,
        "rhode-island": 5,
        "holdem-2-4": 10,
        "limit-holdem": 10,
        "nolimit-holdem": 100,
    }
    assert {name: errai.load_game(name).big_blind for name in units} == units


def test_holdem_r_b_follows_the_rule_of_bets():
    # Before the flop the big blind is the first bet, but a raise is always allowed; bets double on the flop.
    for num_bets, before_flop in ((1, 1), (2, 1), (3, 2), (4, 3)):
        assert holdem(2, num_bets).max_raises == (before_flop, num_bets)
    assert holdem(2, 4).raise_sizes == (10, 20)
    assert replace(holdem(4, 4), name="limit-holdem") == LIMIT


def test_bluff_is_loaded_with_its_dice():
    assert errai.load_game("bluff-2-1") == BluffRules("bluff-2-1", (2, 1))


def test_a_no_limit_game_may_bound_its_raises():
    rules = PokerRules(
        name="capped",
        deck=FULL_DECK,
        num_hole_cards=2,
        num_board_cards=(0, 3),
        blinds=(2, 1),
        raise_sizes=None,
        max_raises=(1, UNLIMITED_RAISES),
        first_player=(1, 0),
        stacks=(50, 50),
    )
    assert not rules.is_limit
