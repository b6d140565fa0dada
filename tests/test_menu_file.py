"""Bet menus from TOML files: sizes by round, raise number and player, presets, keeping, refusals."""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive.tree import (
    MenuEntries,
    menu_files,
    menus,
    naive_arrays,
    naive_betting_tree,
    naive_raise_totals,
    naive_round_counts,
    nolimit_rules,
    small_nolimit_rules,
)

import errai
from errai.errors import UsageError
from errai.games.betting import BettingState, replay
from errai.games.catalogue import load_card_game
from errai.games.rules import PokerRules
from errai.runs.configuration import RunConfiguration
from errai.runs.job import Run
from errai.solvers.solve import configured_rule
from errai.strategy.files import describe_game, restore_game
from errai.tree import betting_tree, menu_file
from errai.tree.bet_menu import ALL_IN, BetMenu, raise_totals
from errai.tree.betting_tree import DECISION, RoundCount, TreePlan
from errai.tree.menu_file import (
    describe_menu,
    load_bets,
    parse_menu_file,
    preset_names,
    presets,
    restore_menu,
)
from errai.tree.show import show_subtree
from errai.tree.size import betting_counts

RunErrai = Callable[..., tuple[int, str, str]]

DEEP = nolimit_rules(blinds=(10, 5), stacks=(2_000, 2_000), num_rounds=4)
SHALLOW = nolimit_rules(blinds=(10, 5), stacks=(120, 120), num_rounds=4)
NOLIMIT = load_card_game("nolimit-holdem")
MAX_RANDOM_NODES = 3_000

EXAMPLE = """
description = "Three sizes for both, two more for the dealer on the flop"
force_all_in = 0.1
max_raises = 4
both = "0.5p,1p,all-in | 1p,all-in"

[rounds.flop]
dealer = "0.33p,2p | none"
max_raises = 3
"""


def menu_from(entries: MenuEntries, name: str = "drawn") -> BetMenu:
    return parse_menu_file(tomli_w.dumps(entries), f"{name}.toml")


def totals(menu: BetMenu, betting: str, rules: PokerRules = DEEP) -> list[int]:
    return list(raise_totals(replay(rules, betting), menu))


# Sizes by round, raise number and player


def test_the_example_of_the_module() -> None:
    assert menu_file.__doc__ is not None
    assert all(line.strip() in menu_file.__doc__ for line in EXAMPLE.splitlines())
    menu = parse_menu_file(EXAMPLE, "folder/example.toml")
    assert menu.text == "example"
    assert menu.force_all_in == Fraction(1, 10)
    # Both have put in 10 chips before the flop; the pot is 20. The dealer, position 1, acts second there.
    assert totals(menu, "cc/") == [20, 30, 2_000]
    assert totals(menu, "cc/c") == [20, 30, 50, 2_000]  # a third of the pot is less than the least bet of 10
    assert totals(menu, "r30c/c") == [50, 60, 90, 150, 2_000]
    # A raise has the head's second entry; the dealer's own second entry adds nothing.
    assert totals(menu, "r30c/r60") == totals(menu, "r30c/cr60") == [180, 2_000]
    assert totals(menu, "r30c/r60r180r600") == []  # three raises on the flop
    assert totals(menu, "r30c/cc/r60r90r120") == [360, 2_000]  # four elsewhere
    # The turn has no section: its sizes are those of the head.
    assert totals(menu, "cc/cc/c") == totals(menu, "cc/cc/") == [20, 30, 2_000]


def test_without_sizes_in_the_head_the_last_section_serves_later_rounds() -> None:
    menu = parse_menu_file('[rounds.1]\nboth = "1p"\n[rounds.2]\nboth = "2p"\nmax_raises = 1', "x.toml")
    assert totals(menu, "") == [30]
    assert [totals(menu, betting) for betting in ("cc/", "cc/cc/", "cc/cc/cc/")] == [[50]] * 3
    assert [totals(menu, betting) for betting in ("r30", "cc/r50", "cc/cc/cc/r50")] == [[90], [], []]


def test_sections_may_come_in_any_order_and_by_either_name() -> None:
    by_street = parse_menu_file('[rounds.flop]\nboth = "2p"\n[rounds.preflop]\nboth = "1p"', "x.toml")
    by_number = parse_menu_file('[rounds.1]\nboth = "1p"\n[rounds.2]\nboth = "2p"', "x.toml")
    assert by_street.sizes == by_number.sizes == (((Fraction(1),),), ((Fraction(2),),))
    assert (by_street.names, by_number.names) == (("preflop", "flop"), ())


def test_positions_have_two_names_each() -> None:
    seats = parse_menu_file('both = "1p"\ndealer = "2p"\nbig_blind = "3p"', "x.toml")
    numbers = parse_menu_file('both = "1p"\nposition_1 = "2p"\nposition_0 = "3p"', "x.toml")
    assert seats.by_position == numbers.by_position
    assert totals(seats, "cc/") == [30, 70]  # the big blind, who is position 0
    assert totals(seats, "cc/c") == [30, 50]


def test_sizes_of_one_player_alone() -> None:
    menu = parse_menu_file('dealer = "all-in"', "x.toml")
    assert (totals(menu, ""), totals(menu, "c")) == ([2_000], [])


def test_positions_with_equal_sizes_are_one_menu() -> None:
    menu = parse_menu_file('both = "1p"\ndealer = "2p"\nbig_blind = "2p"', "x.toml")
    assert (menu.by_position, menu.names) == ((), ())
    assert menu.sizes == (((Fraction(1), Fraction(2)),),)


def test_the_cap_of_a_section_replaces_the_heads() -> None:
    menu = parse_menu_file('both = "min"\nmax_raises = 2\n[rounds.turn]\nmax_raises = 0', "x.toml")
    assert [menu.cap(r) for r in range(4)] == [2, 2, 0, 2]
    assert totals(menu, "r20") == [30]
    assert totals(menu, "r20r30") == totals(menu, "cc/cc/") == []
    assert totals(menu, "cc/cc/cc/") == [20]


@pytest.mark.parametrize(("threshold", "offered"), [(0.05, 90), (0.055, 90), (0.0556, 100)])
def test_all_in_just_below_the_threshold(threshold: float, offered: int) -> None:
    # From 30 each, a bet of 1p goes to 90: called, the pot is 180 and 10 stay behind, which is a 0.0555th.
    rules = nolimit_rules(blinds=(10, 5), stacks=(100, 100))
    menu = parse_menu_file(f'both = "1p"\nforce_all_in = {threshold}', "x.toml")
    assert totals(menu, "r30c/", rules) == [offered]


def test_as_much_as_the_threshold_is_not_less() -> None:
    # From 40 each, a bet of 1p goes to 120: called, the pot is 240 and 60 stay behind, a quarter of it.
    rules = nolimit_rules(blinds=(10, 5), stacks=(180, 180))
    for threshold, offered in (("0.25", 120), ("0.250000001", 180)):
        menu = parse_menu_file(f'both = "1p"\nforce_all_in = {threshold}', "x.toml")
        assert totals(menu, "r40c/", rules) == [offered]


# Against the naive twin


@settings(deadline=None, max_examples=120)
@given(rules=small_nolimit_rules(max_stack=60), file=menu_files(), data=st.data())
def test_every_offer_is_legal_and_as_naive(rules: PokerRules, file: MenuEntries, data: st.DataObject) -> None:
    menu, state = menu_from(file), BettingState.start(rules)
    while not state.is_over:
        offered = raise_totals(state, menu)
        assert list(offered) == naive_raise_totals(state, file)
        assert all(state.can_raise_to(total) for total in offered)
        following = [state.call(), *(state.raise_to(total) for total in offered)]
        state = following[data.draw(st.integers(0, len(following) - 1))]


@settings(deadline=None, max_examples=60)
@given(rules=small_nolimit_rules(), file=menu_files())
def test_random_trees_as_naive(rules: PokerRules, file: MenuEntries) -> None:
    menu = menu_from(file)
    assume(menu.suits(rules))
    plan = TreePlan(rules, menu)
    assume(plan.num_nodes <= MAX_RANDOM_NODES)
    root = naive_betting_tree(rules, file)
    tree = plan.build()
    for name, expected in naive_arrays(root).items():
        assert getattr(tree, name).tolist() == expected, name
    assert plan.round_counts() == naive_round_counts(root, rules.num_rounds)


def test_sizes_of_one_player_are_never_offered_to_the_other() -> None:
    menu = parse_menu_file('both = "1p"\n[rounds.2]\ndealer = "3p"\nbig_blind = "0.5p"', "x.toml")
    tree = TreePlan(DEEP, menu).build()
    parts: dict[tuple[int, int], set[Fraction]] = {}
    for node in (tree.kind == DECISION).nonzero()[0].tolist():
        largest = int(tree.chips[node].max())
        for total in (int(tree.action[child]) for child in tree.children(node)):
            if 0 < total < 2_000:  # no size here is below the least raise; all-in may be any size cut short
                where = (int(tree.round[node]), int(tree.player[node]))
                parts.setdefault(where, set()).add(Fraction(total - largest, 2 * largest))
    pot = {Fraction(1)}
    assert parts == {
        **{(r, player): pot for r in (0, 2, 3) for player in (0, 1)},
        (1, 0): pot | {Fraction(1, 2)},
        (1, 1): pot | {Fraction(3)},
    }


# Menus that come with the package


@cache
def counts_of(name: str) -> tuple[RoundCount, ...]:
    return betting_counts(NOLIMIT, load_bets(name))


@pytest.mark.parametrize(
    ("name", "nodes", "decisions"),
    [
        ("all-in-preflop", [10, 5, 5, 5], [4, 2, 2, 2]),
        ("fold-call-all-in", [10, 11, 13, 15], [4, 4, 4, 4]),
        ("pot-then-all-in", [22, 67, 205, 619], [8, 24, 72, 216]),
        ("pot-all-in", [58, 283, 957, 2_543], [20, 100, 340, 900]),
        ("few-of-dealer", [46, 359, 2_695, 15_787], [16, 124, 930, 5_494]),
        ("few-of-big-blind", [46, 359, 2_695, 15_787], [16, 124, 930, 5_494]),
        ("three-two-one", [58, 523, 4_189, 23_295], [20, 180, 1_444, 8_132]),
        ("half-pot-pot-all-in", [1_102, 11_323, 63_845, 257_947], [368, 3_896, 22_336, 90_952]),
        ("five-three-two-one", [250, 7_899, 107_341, 810_703], [84, 2_660, 36_612, 280_692]),
    ],
)
def test_the_size_of_each_preset(name: str, nodes: list[int], decisions: list[int]) -> None:
    assert [count.nodes for count in counts_of(name)] == nodes
    assert [count.decisions for count in counts_of(name)] == decisions


def test_presets_grow_from_a_dozen_decisions_to_a_million_nodes() -> None:
    assert [preset.name for preset in presets()] == list(preset_names())
    sizes = {name: sum(count.nodes for count in counts_of(name)) for name in preset_names()}
    assert (min(sizes.values()), max(sizes.values())) == (25, 926_193)
    assert len(set(preset_names())) == len(sizes) == 9
    assert all(preset.description.strip() and preset.menu.text == preset.name for preset in presets())


@pytest.mark.parametrize("name", preset_names())
def test_trees_of_presets_as_naive(name: str) -> None:
    text = (menu_file.PRESETS / f"{name}.toml").read_text()
    file = tomllib.loads(text)
    rules = replace(SHALLOW, stacks=(60, 60))
    tree = TreePlan(rules, load_bets(name)).build()
    for array, expected in naive_arrays(naive_betting_tree(rules, file)).items():
        assert getattr(tree, array).tolist() == expected, array


def test_a_preset_is_no_other_menus_text() -> None:
    for name in preset_names():
        with pytest.raises(UsageError, match="is not a bet size"):
            BetMenu.parse(name)


# Where menus come from


def test_text_names_and_paths(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(EXAMPLE)
    menu = errai.load_bets(path)
    assert menu == errai.load_bets(f" {path} ") == replace(parse_menu_file(EXAMPLE, "agent.toml"))
    assert errai.load_bets(menu) is menu
    assert errai.load_bets("1p,a", 2, 0.5) == BetMenu.parse("1p,a", 2, 0.5)
    assert errai.load_bets("pot-all-in").sizes == (((Fraction(1), ALL_IN),),)
    path.rename(tmp_path / "agent")
    assert errai.load_bets(tmp_path / "agent") == menu  # a Path is a file whatever its name


def test_solve_takes_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text('both = "all-in"\n[rounds.2]\nposition_0 = "1p"')
    (tmp_path / "short.game").write_text(
        "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 2\nstack = 20 20\nblind = 2 1\nfirstPlayer = 2 1\n"
        "numSuits = 2\nnumRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0 1\nEND GAMEDEF\n"
    )
    game = errai.load_game(tmp_path / "short.game")
    for bets in ("fold-call-all-in", tmp_path / "agent.toml", "1p"):
        out = tmp_path / f"run-{Path(bets).stem}"
        run = errai.solve(game, iterations=2, bets=bets, out=out)
        assert isinstance(run, Run)
        assert run.strategy.tree.menu == errai.load_bets(bets)
        run.strategy.save(tmp_path / "saved")
        for place in (out, tmp_path / "saved"):
            assert errai.load_strategy(place).tree.menu == errai.load_bets(bets)
    (tmp_path / "agent.toml").write_text('both = "all-in"')
    with pytest.raises(UsageError, match="is a run with bets 'agent', not another 'agent': only the same"):
        errai.solve(game, iterations=3, bets=tmp_path / "agent.toml", out=tmp_path / "run-agent", resume=True)


def test_menus_are_frozen_and_hashable() -> None:
    menu = parse_menu_file(EXAMPLE, "x.toml")
    assert hash(menu) == hash(parse_menu_file(EXAMPLE, "x.toml"))
    assert menu != parse_menu_file(EXAMPLE, "y.toml")
    with pytest.raises(FrozenInstanceError):
        menu.text = "other"  # type: ignore[misc]


# Keeping


@settings(deadline=None, max_examples=150)
@given(menu=st.one_of(menus(), menu_files().map(menu_from)))
def test_what_is_kept_comes_back(menu: BetMenu) -> None:
    about = describe_menu(menu)
    assert restore_menu(about) == menu
    assert restore_menu(json.loads(json.dumps(about))) == menu
    if menu.suits(NOLIMIT):
        configuration = RunConfiguration.of(NOLIMIT, menu, configured_rule("cfr+"), "float32")
        back = RunConfiguration.parse(configuration.text(), "run.toml")
        assert back == configuration
        assert back.restored == (NOLIMIT, menu)
    assert restore_game(describe_game(NOLIMIT, menu)) == (NOLIMIT, menu)


def test_a_menu_of_text_is_kept_as_before() -> None:
    menu = BetMenu.parse("0.5p,1p|all-in / min", 3, 0.05)
    about = {"menu": "0.5p,1p|all-in / min", "force_all_in": "1/20", "max_raises": 3}
    assert describe_menu(menu) == about
    assert restore_menu(about) == menu


def test_a_menu_of_a_file_is_kept_round_by_round() -> None:
    assert describe_menu(parse_menu_file(EXAMPLE, "example.toml")) == {
        "menu": "example",
        "force_all_in": "1/10",
        "rounds": {
            "1": {
                "big_blind": "0.5p,1p,all-in | 1p,all-in",
                "dealer": "0.5p,1p,all-in | 1p,all-in",
                "max_raises": 4,
            },
            "flop": {
                "big_blind": "0.5p,1p,all-in | 1p,all-in",
                "dealer": "0.5p,1p,all-in,0.33p,2p | 1p,all-in",
                "max_raises": 3,
            },
            "3": {
                "big_blind": "0.5p,1p,all-in | 1p,all-in",
                "dealer": "0.5p,1p,all-in | 1p,all-in",
                "max_raises": 4,
            },
        },
    }


def test_a_file_named_as_a_size_is_kept_as_what_it_says() -> None:
    for text in ('both = "2p"', 'both = "1p"', 'both = "1p"\ndealer = "2p"'):
        menu = parse_menu_file(text, "1p.toml")
        assert restore_menu(describe_menu(menu)) == menu


def test_other_chips_cannot_be_kept() -> None:
    with pytest.raises(
        UsageError, match=r"'nolimit-holdem' cannot be saved: .* bet sizes that are text or a file"
    ):
        describe_game(NOLIMIT, replace(BetMenu.parse("1p"), chip=5))


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ('menu = "x"\n[bets.rounds.1]\nboth = "big"', "bets.rounds.1.both is 'big': 'big' in the menu 'big'"),
        (
            'menu = "x"\n[bets.rounds.1]\nall = "1p"',
            "bets.rounds.1.all is unknown: expected both, dealer, big_blind,",
        ),
        ('menu = "x"\n[bets.rounds.2]\nboth = "1p"', "bets.rounds is {'2': {'both': '1p'}}: round 1 has no"),
        ('menu = "x"\n[bets.rounds]', "bets.rounds is {}: it has no sizes"),
        ('menu = "x"', "bets.menu is 'x': 'x' in the menu 'x' is not a bet size"),
    ],
)
def test_a_damaged_section_of_a_run_is_refused(section: str, told: str) -> None:
    text = RunConfiguration.of(NOLIMIT, None, configured_rule("cfr+"), "float32").text()
    with pytest.raises(UsageError, match=rf"^'run.toml' is invalid: {re.escape(told)}"):
        RunConfiguration.parse(f"{text}\n[bets]\n{section}\n", "run.toml")


# What is refused

BAD = [
    ("both = ", "is not TOML: "),
    ("a" + "[" * 5_000, "is not TOML: "),
    ("both = 1", "is invalid: both must be text, not 1"),
    ('both = ["1p"]', "is invalid: both must be text, not ['1p']"),
    (
        'all = "1p"',
        "is invalid: all is unknown: expected both, dealer, big_blind, position_0, position_1, max_raises",
    ),
    (
        'both = "big"',
        "is invalid: both is 'big': 'big' in the menu 'big' is not a bet size: expected '0.5p',",
    ),
    ('both = "1p / 2p"', "is invalid: both is '1p / 2p': '1p / 2p' in the menu '1p / 2p' is not a bet size"),
    ('both = ""', "is invalid: both is '': '' in the menu '' is not a bet size"),
    ('dealer = "1e9p"', "is invalid: dealer is '1e9p': '1e9p' in the menu"),
    ('both = "1p"\nmax_raises = -1', "is invalid: max_raises must be 0 or more, not -1"),
    ('both = "1p"\nmax_raises = 1.5', "is invalid: max_raises must be a whole number, not 1.5"),
    ('both = "1p"\nmax_raises = true', "is invalid: max_raises must be a whole number, not true"),
    ('both = "1p"\nforce_all_in = -0.1', "is invalid: force_all_in must be 0 or more, not -0.1"),
    ('both = "1p"\nforce_all_in = inf', "is invalid: force_all_in must be a finite number, not inf"),
    ('both = "1p"\nforce_all_in = nan', "is invalid: force_all_in must be"),
    ('both = "1p"\nforce_all_in = "0.1"', "is invalid: force_all_in must be a number, not '0.1'"),
    ('both = "1p"\nrounds = 3', "is invalid: rounds must be a section, not 3"),
    ('both = "1p"\n[rounds]\nflop = "2p"', "is invalid: rounds.flop must be a section, not '2p'"),
    ("[rounds.flop]\nboth = 2", "is invalid: rounds.flop.both must be text, not 2"),
    ('[rounds.flop]\nsizes = "1p"', "is invalid: rounds.flop.sizes is unknown: expected both, dealer,"),
    ("[rounds.flop]\nmax_raises = -2", "is invalid: rounds.flop.max_raises must be 0 or more, not -2"),
    (
        '[rounds.0]\nboth = "1p"',
        "is invalid: rounds.0 is unknown: expected preflop, flop, turn, river, or a number from 1",
    ),
    ('[rounds.100]\nboth = "1p"', "is invalid: rounds.100 is unknown"),
    ('[rounds.fourth]\nboth = "1p"', "is invalid: rounds.fourth is unknown"),
    (
        '[rounds.2]\nboth = "1p"\n[rounds.flop]\nboth = "1p"',
        "is invalid: rounds.2 and rounds.flop are one round",
    ),
    (
        '[rounds.flop]\nboth = "1p"',
        "is invalid: round 1 has no sizes: expected 'both', sizes of one position",
    ),
    ("max_raises = 3", "is invalid: it has no sizes: expected 'both', such as '0.5p,1p,all-in', or sections"),
    ("", "is invalid: it has no sizes"),
    (
        'dealer = "1p"\nposition_1 = "2p"',
        "is invalid: position_1 and dealer are one position: expected only one",
    ),
    ('dealer = "1p"\n[rounds.flop]\nposition_1 = "2p"', "is invalid: position_1 and dealer are one position"),
]


@pytest.mark.parametrize(("text", "told"), BAD)
def test_refuses_a_bad_file_by_name_and_key(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    expected = re.escape(f"'{path}' {told}")
    with pytest.raises(UsageError, match=rf"^{expected}[^\n]*$"):
        load_bets(path)


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "bytes.toml").write_bytes(b"both = '\xff'")
    for name, told in (
        ("missing.toml", "was not found: expected a TOML file of bet sizes"),
        ("folder.toml", "cannot be read: Is a directory"),
        ("bytes.toml", "is not TOML: 'utf-8' codec"),
        ("zero\0.toml", "cannot be read: embedded null byte"),
    ):
        with pytest.raises(UsageError, match=told):
            load_bets(str(tmp_path / name))


def test_a_word_that_is_no_size_is_told_the_names() -> None:
    expected = (
        "'pot-al-in' is not a menu of bet sizes: expected sizes such as '0.5p,1p,all-in', the path of a "
        f".toml file, or one of {', '.join(preset_names())}"
    )
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}$"):
        load_bets("pot-al-in")


@pytest.mark.parametrize("options", [{"max_raises": 2}, {"force_all_in": 0.1}])
def test_a_menu_with_a_name_keeps_its_own_cap_and_threshold(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="'pot-all-in' has its own"):
        load_bets("pot-all-in", **options)


def test_streets_and_seats_must_be_those_of_the_game() -> None:
    from_flop = replace(DEEP, num_board_cards=(3, 1, 1), max_raises=(9,) * 3, first_player=(0,) * 3)
    streets = parse_menu_file('both = "1p"\n[rounds.turn]\nboth = "2p"', "x.toml")
    told = "the bet sizes 'x' speak of the turn, which is not round 3 of 'small': expected numbers of rounds"
    with pytest.raises(UsageError, match=rf"^{re.escape(told)}, such as \[rounds.3\]$"):
        TreePlan(from_flop, streets)
    with pytest.raises(UsageError, match="speak of the turn"):
        list(show_subtree(from_flop, menu=streets))
    assert TreePlan(replace(from_flop, num_board_cards=(0, 3, 1)), streets).num_nodes > 0
    assert streets.suits(nolimit_rules(num_rounds=2))  # which ends before the turn
    seats = parse_menu_file('both = "1p"\ndealer = "2p"', "x.toml")
    antes = nolimit_rules(blinds=(1, 1))
    with pytest.raises(
        UsageError, match="speak of the dealer or the big blind, and position 0 of 'small' does not"
    ):
        TreePlan(antes, seats)
    assert TreePlan(antes, parse_menu_file('both = "1p"\nposition_1 = "2p"', "x.toml")).num_nodes > 0


def test_a_menu_that_is_too_large_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(betting_tree, "MAX_TEMPLATE_NODES", 1_600)
    with pytest.raises(
        UsageError, match="the betting of 'nolimit-holdem' has more than 1,600 distinct states"
    ):
        TreePlan(NOLIMIT, load_bets("three-two-one"))
    monkeypatch.setattr(betting_tree, "MAX_NODES", 28_064)
    monkeypatch.setattr(betting_tree, "MAX_TEMPLATE_NODES", 1_000_000)
    with pytest.raises(
        UsageError, match=r"has 28,065 nodes, which would take .*: expected at most 28,064 nodes"
    ):
        TreePlan(NOLIMIT, load_bets("three-two-one")).build()


# The command line


def test_size_lists_every_preset(run_errai: RunErrai) -> None:
    status, out, _ = run_errai("size", "nolimit-holdem", "--bets", "list")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "Menus of bet sizes in nolimit-holdem: betting nodes, in all and by round"
    assert lines[1].split() == ["bets", "decisions", "nodes", "preflop", "flop", "turn", "river"]
    assert lines[3].split() == ["all-in-preflop", "10", "25", "10", "5", "5", "5"]
    assert lines[11].split()[:3] == ["five-three-two-one", "320,048", "926,193"]
    assert lines[13] == "fold-call-all-in: all-in is the only bet and the only raise"
    status, out, _ = run_errai("size", "nolimit-holdem", "--bets", "list", "--json")
    told = json.loads(out)
    assert (status, told["game"], len(told["menus"])) == (0, "nolimit-holdem", 9)
    second = told["menus"][1]
    assert (second["bets"], second["betting_nodes"], second["betting_sequences"]) == (
        "fold-call-all-in",
        49,
        16,
    )
    assert second["description"] == "all-in is the only bet and the only raise"
    assert second["rounds"][3] == {
        "round": 4,
        "street": "river",
        "betting_nodes": {"decisions": 4, "continuing": 0, "folds": 2, "showdowns": 9, "slots": 8},
    }


def test_size_lists_what_suits_the_game(run_errai: RunErrai, tmp_path: Path) -> None:
    (tmp_path / "antes.game").write_text(
        "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 1\nstack = 20 20\nblind = 1 1\nfirstPlayer = 1\n"
        "numSuits = 4\nnumRanks = 13\nnumHoleCards = 2\nnumBoardCards = 5\nEND GAMEDEF\n"
    )
    _, out, _ = run_errai("size", "antes.game", "--bets", "list", "--json")
    names = {menu["bets"] for menu in json.loads(out)["menus"]}
    assert names == set(preset_names()) - {"few-of-dealer", "few-of-big-blind"}


def test_commands_take_names_and_files(run_errai: RunErrai, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('both = "all-in"')
    for bets in ("mine.toml", "fold-call-all-in", "all-in"):
        status, out, error = run_errai("size", "nolimit-holdem", "--bets", bets, "--json")
        assert (status, error) == (0, "")
        assert (json.loads(out)["betting_nodes"], json.loads(out)["bets"]) == (49, bets.removesuffix(".toml"))
        status, out, _ = run_errai("show", "nolimit-holdem", "--bets", bets, "--depth", "1")
        assert [line.split()[0] for line in out.splitlines()] == ["(start)", "f", "c", "...", "r20000", "..."]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["list", "--max-raises", "2"],
            "--bets list goes without --max-raises, --force-all-in and --buckets.",
        ),
        (["list", "--buckets", "5-5-5-5"], "--bets list goes without"),
        (["pot-all-in", "--max-raises", "2"], "'pot-all-in' has its own."),
        (["missing.toml"], "'missing.toml' was not found: expected a TOML file of bet sizes."),
        (["lists"], "'lists' is not a menu of bet sizes: expected sizes such as"),
    ],
)
def test_bad_options_are_refused(run_errai: RunErrai, options: list[str], told: str) -> None:
    status, out, error = run_errai("size", "nolimit-holdem", "--bets", *options)
    assert (status, out) == (2, "")
    assert told in error


@pytest.mark.parametrize(("game", "told"), [("leduc", "is a limit game"), ("bluff-1-1", "is a dice game")])
def test_other_games_have_no_menus(run_errai: RunErrai, game: str, told: str) -> None:
    status, _, error = run_errai("size", game, "--bets", "list")
    assert status == 2
    assert told in error
