"""Subtrees as text: golden pieces of limit, no-limit and dice games, depth, refusals."""

import re

import pytest
from naive.tree import naive_betting_tree, nolimit_rules

from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import CHANCE, SHOWDOWN
from errai.tree.show import show_subtree

LEDUC = """\
(start)  player 0 acts, round 1, chips 1+1
  c        player 1 acts, round 1, chips 1+1
    c        player 0 acts, round 2, chips 1+1
      ...
    r        player 0 acts, round 1, chips 1+3
      ...
  r        player 1 acts, round 1, chips 3+1
    f        player 0 wins 1
    c        player 0 acts, round 2, chips 3+3
      ...
    r        player 0 acts, round 1, chips 3+5
      ..."""

LEDUC_SECOND_ROUND = """\
rrc/r    player 1 acts, round 2, chips 9+5
  f        player 0 wins 5
  c        showdown, chips 9+9
  r        player 0 acts, round 2, chips 9+13
    f        player 1 wins 9
    c        showdown, chips 13+13"""

NOLIMIT = """\
r300c/   player 0 acts, flop, chips 300+300
  c        player 1 acts, flop, chips 300+300
    ...
  r600     player 1 acts, flop, chips 600+300
    ...
  r20000   player 1 acts, flop, chips 20000+300
    ..."""

ALL_IN = """\
r20000   player 0 acts, preflop, chips 100+20000
  f        player 1 wins 100
  c        showdown, chips 20000+20000"""

BLUFF = """\
2-5      player 0 acts, 1+1 dice
  b        player 0 challenges 2-5
  2-*      player 1 acts, 1+1 dice
    b        player 1 challenges 2-*"""


@pytest.mark.parametrize(
    ("game", "betting", "depth", "bets", "golden"),
    [
        ("leduc", "", 2, None, LEDUC),
        ("leduc", "rrc/r", 9, None, LEDUC_SECOND_ROUND),
        ("nolimit-holdem", "r300c/", 1, "0.5p,a", NOLIMIT),
        ("nolimit-holdem", "r20000", 3, "0.5p,a", ALL_IN),
        ("nolimit-holdem", "r20000c", 3, "a", "r20000c/// showdown, chips 20000+20000"),
        ("leduc", "cc/", 0, None, "cc/      player 0 acts, round 2, chips 1+1\n  ..."),
        ("leduc", "rf", 0, None, "rf       player 0 wins 1"),
        ("bluff-1-1", "1-5,2-5", 2, None, BLUFF),
        ("bluff-1-1", "", 0, None, "(start)  player 0 acts, 1+1 dice\n  ..."),
    ],
)
def test_golden(game: str, betting: str, depth: int, bets: str | None, golden: str) -> None:
    menu = BetMenu.parse(bets) if bets else None
    assert "\n".join(show_subtree(load_game(game), betting, depth, menu)) == golden


def test_the_whole_tree_has_a_line_for_each_node() -> None:
    rules = nolimit_rules(stacks=(8, 8))
    menu = BetMenu.parse("1p,a", max_raises=2)
    lines = list(show_subtree(rules, "", 100, menu))
    # CHANCE nodes and what follows an all-in have no line: the action before says who acts next.
    nodes = [node for node in naive_betting_tree(rules, menu).walk() if node.kind != CHANCE]
    assert len(lines) == len(nodes)
    assert sum("showdown" in line for line in lines) == sum(node.kind == SHOWDOWN for node in nodes)
    assert not any(line.endswith("...") for line in lines)


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_depth_bounds_the_indent(depth: int) -> None:
    lines = list(show_subtree(load_game("limit-holdem"), "", depth))
    indents = [(len(line) - len(line.lstrip())) // 2 for line in lines]
    assert max(indents) == depth + 1
    assert all(line.strip() == "..." for line, indent in zip(lines, indents, strict=True) if indent > depth)


@pytest.mark.parametrize(
    ("game", "betting", "message"),
    [
        ("leduc", "crrr", "'crrr' is illegal at position 3, action 'r': no raise is legal here"),
        ("leduc", "f", "'f' is illegal at position 0, action 'f': a fold is legal only when facing a bet"),
        ("leduc", "cx", "'cx' is illegal at position 1, action 'x': 'x' is not an action"),
        ("leduc", "ccc", "'ccc' is illegal at position 2: a '/' is missing where the round ends"),
        ("leduc", "c/c", "'c/c' is illegal at position 1: a '/' stands where no round ends"),
        ("leduc", "rfc", "'rfc' is illegal at position 2, action 'c': the hand is over"),
        ("leduc", "r3", "'r3' is illegal at position 0, action 'r3'"),
        (
            "nolimit-holdem",
            "r150",
            "'r150' is illegal at position 0, action 'r150': a raise to 150 is not legal",
        ),
        ("nolimit-holdem", "r", "'r' is illegal at position 0, action 'r': a raise in a no-limit game names"),
        ("bluff-1-1", "2-5,1-5", "'2-5,1-5' is illegal at position 4, action '1-5': it does not exceed"),
        ("bluff-1-1", "3-1", "'3-1' is illegal at position 0, action '3-1': '3-1' is not a bid"),
        ("bluff-1-1", "1-2,b", "'1-2,b' is illegal at position 4, action 'b': 'b' is not a bid"),
    ],
)
def test_refuses_illegal_betting_by_action_and_position(game: str, betting: str, message: str) -> None:
    menu = BetMenu.parse("a") if game == "nolimit-holdem" else None
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        list(show_subtree(load_game(game), betting, 3, menu))


def test_refuses_a_negative_depth() -> None:
    with pytest.raises(UsageError, match="the depth must be 0 or more, not -1"):
        list(show_subtree(load_game("leduc"), "", -1))


def test_refuses_no_limit_without_a_menu() -> None:
    with pytest.raises(UsageError, match="'nolimit-holdem' has a branch for every chip: give the bet sizes"):
        list(show_subtree(load_game("nolimit-holdem")))


@pytest.mark.parametrize(("game", "kind"), [("leduc", "limit"), ("bluff-1-1", "dice")])
def test_refuses_a_menu_that_does_not_apply(game: str, kind: str) -> None:
    with pytest.raises(UsageError, match=f"'{game}' is a {kind} game"):
        list(show_subtree(load_game(game), menu=BetMenu.parse("1p")))
