"""Sizes of games: published numbers, other programs' counts, abstractions, refusals."""

import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.games import poker_rules
from naive.tree import menus, naive_betting_tree, naive_bluff_tree, naive_round_counts, nolimit_rules

from errai import memory
from errai.errors import UsageError, shortened
from errai.games.acpc_files import parse_game_file
from errai.games.catalogue import Game, bluff, game_names, load_game
from errai.games.rules import PokerRules
from errai.memory import format_bytes
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import DECISION, TreePlan
from errai.tree.size import BYTES_A_SLOT, betting_counts, game_size, parse_buckets

# Canonical hands of hold'em by round: 2, 2-3, 2-3-1, 2-3-1-1 cards (Waugh 2013).
HOLDEM_ROWS = (169, 1_286_792, 55_190_538, 2_428_287_420)


def decisions(game: Game, menu: BetMenu | None = None) -> list[int]:
    return [one.betting.decisions for one in game_size(game, menu).rounds]


# Published numbers


@pytest.mark.parametrize(
    ("name", "infosets"),
    [
        ("kuhn", 12),  # Kuhn 1950
        ("leduc", 6 * 3 + 30 * 9),  # 288, suits merged
        ("rhode-island", 8 * 13 + 56 * 325 + 392 * 9_997),  # "3.94 million", THESIS chapter 3
        ("holdem-2-1", 4 * 169 + 12 * 1_286_792),
        ("holdem-2-4", 8 * 169 + 70 * 1_286_792),
        (
            "limit-holdem",  # 1.38e13 (CEP)
            8 * 169 + 70 * 1_286_792 + 630 * 55_190_538 + 5_670 * 2_428_287_420,
        ),
    ],
)
def test_canonical_information_sets(name: str, infosets: int) -> None:
    assert game_size(load_game(name)).canonical_infosets == infosets


def test_the_sums_above_are_the_numbers_people_quote() -> None:
    def canonical(name: str) -> int:
        return game_size(load_game(name)).canonical_infosets

    assert canonical("leduc") == 288
    assert canonical("rhode-island") == 3_937_128
    assert canonical("holdem-2-1") == 15_442_180
    assert canonical("holdem-2-4") == 90_076_792
    assert f"{canonical('limit-holdem'):.2e}" == "1.38e+13"


def test_limit_holdem() -> None:
    size = game_size(load_game("limit-holdem"))
    # THESIS table 5.2: betting sequences inside a round and continuing to the next.
    assert [one.betting.decisions for one in size.rounds] == [8, 70, 630, 5_670]
    assert [one.betting.continuing for one in size.rounds] == [7, 63, 567, 0]
    assert [one.rows for one in size.rounds] == list(HOLDEM_ROWS)
    assert [one.boards for one in size.rounds] == [1, 1_755, 63_193, 2_554_656]
    assert f"{size.raw_infosets:.2e}" == "3.19e+14"
    assert size.decisions == 8 + 70 + 630 + 5_670
    assert size.nodes == TreePlan(load_game("limit-holdem")).num_nodes


def test_nolimit_holdem_has_more_than_1e160_decision_points() -> None:
    size = game_size(load_game("nolimit-holdem"))
    assert len(str(size.raw_infosets)) == 162  # "about 10^160" in THESIS
    assert str(size.raw_infosets).startswith("6375")
    assert size.raw_infosets > size.canonical_infosets > size.decisions


def test_bluff() -> None:
    # THESIS chapter 3: Bluff(2,2) has 352 million information sets: 2^23 a player with 21 rolls each.
    top = game_size(load_game("bluff-2-2")).rounds[0]
    assert top.name == "dice 2-2"
    assert top.canonical_infosets == 2**24 * 21 == 352_321_536
    assert top.rows == 21
    assert top.raw_infosets == 2**24 * 36
    assert game_size(load_game("bluff-1-1")).canonical_infosets == 24_576


def test_bluff_counts_every_stage_once() -> None:
    names = [one.name for one in game_size(load_game("bluff-2-2")).rounds]
    assert names == ["dice 2-2", "dice 2-1", "dice 1-1"]
    one_more = game_size(load_game("bluff-2-1"))
    assert [one.name for one in one_more.rounds] == ["dice 2-1", "dice 1-1"]
    assert one_more.rounds[0].rows is None
    # The starter sees 21 rolls, the other 6, at 2^17 decisions each.
    assert one_more.rounds[0].canonical_infosets == 2**17 * (21 + 6)


@pytest.mark.parametrize("dice", [(1, 1), (2, 1), (1, 2)])
def test_bluff_slots_against_a_walk(dice: tuple[int, int]) -> None:
    rolls = {1: 6, 2: 21}
    slots = 0
    for node in naive_bluff_tree(6 * sum(dice)).walk():
        if node.kind == DECISION:
            slots += len(node.children) * rolls[dice[node.player]]
    assert game_size(bluff(*dice)).rounds[0].canonical_slots == slots


# Other programs


def openspiel_infosets(game: str) -> int:
    """Walk every state of a game of OpenSpiel and count what the players can tell apart."""
    seen = set()
    stack = [pyspiel.load_game(game).new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            seen.add((state.current_player(), state.information_state_string()))
        stack.extend(state.child(action) for action in state.legal_actions())
    return len(seen)


@pytest.mark.parametrize(
    ("name", "theirs", "infosets"),
    [
        ("kuhn", "kuhn_poker", 12),
        ("leduc", "leduc_poker", 936),
        ("bluff-1-1", "liars_dice", 24_576),
    ],
)
def test_raw_information_sets_as_in_openspiel(name: str, theirs: str, infosets: int) -> None:
    assert openspiel_infosets(theirs) == infosets
    assert game_size(load_game(name)).raw_infosets == infosets


@pytest.mark.parametrize(
    ("blinds", "stacks", "first"),
    [
        ("2 1", "8 8", "2 1"),
        ("1 2", "8 8", "2 1"),
        ("1 1", "6 6", "1 1"),
        ("3 1", "9 9", "1 2"),
        ("2 1", "5 8", "2 1"),
        ("2 1", "8 5", "2 1"),
    ],
)
def test_nolimit_information_sets_as_in_openspiel(blinds: str, stacks: str, first: str) -> None:
    # OpenSpiel's universal_poker runs the ACPC's own rules.
    both = {
        "numPlayers": "2",
        "numRounds": "2",
        "blind": blinds,
        "firstPlayer": first,
        "numSuits": "1",
        "numRanks": "4",
        "numHoleCards": "1",
        "numBoardCards": "0 1",
        "stack": stacks,
    }
    settings_text = ",".join(f"{key}={value}" for key, value in both.items())
    theirs = openspiel_infosets(
        f"universal_poker(betting=nolimit,bettingAbstraction=fullgame,{settings_text})"
    )
    lines = ["GAMEDEF", "nolimit", *(f"{key} = {value}" for key, value in both.items()), "END GAMEDEF"]
    assert game_size(parse_game_file("\n".join(lines), "small")).raw_infosets == theirs


# Abstractions


def test_buckets_of_the_thesis() -> None:
    # THESIS table 5.2. Its column for IR 169-9000-9000-9000 adds up.
    limit = load_game("limit-holdem")
    assert game_size(limit, buckets="IR 169-9000-9000-9000").bucketed_infosets == 57_331_352
    # Its other two columns have a slip: 70 sequences x 100 buckets in round 2 are 7,000, printed as 700.
    published = 57_330_780
    right = 8 * 10 + 70 * 100 + 630 * 1_000 + 5_670 * 10_000
    assert right == published - 700 + 7_000 == 57_337_080
    assert game_size(limit, buckets="PR 10-10-10-10").bucketed_infosets == right
    assert game_size(limit, buckets="IR 10-100-1000-10000").bucketed_infosets == right


def test_buckets_of_two_round_holdem() -> None:
    # THESIS chapter 4: 1,790 information sets with 5 buckets, "41 thousand" with 570.
    game = load_game("holdem-2-4")
    assert game_size(game, buckets="PR 5-5").bucketed_infosets == 8 * 5 + 70 * 25 == 1_790
    assert game_size(game, buckets="IR 169-570").bucketed_infosets == 8 * 169 + 70 * 570 == 41_252


def test_tables_are_counted_in_buckets_where_given() -> None:
    leduc = load_game("leduc")
    plain, bucketed = game_size(leduc), game_size(leduc, buckets="IR 3-2")
    assert plain.bucketed_infosets is None
    assert plain.table_infosets == plain.canonical_infosets == 288
    assert plain.table_slots == 42 + 630
    assert bucketed.table_infosets == bucketed.bucketed_infosets == 6 * 3 + 30 * 2
    assert bucketed.table_slots == 14 * 3 + 70 * 2
    assert bucketed.canonical_infosets == 288
    assert bucketed.regret_bytes == bucketed.table_slots * BYTES_A_SLOT
    assert [one.bucketed_infosets for one in bucketed.rounds] == [18, 60]
    assert bucketed.abstraction == "IR 3-2"


@pytest.mark.parametrize(
    ("text", "by_round"),
    [
        ("5-5", (5, 5)),
        ("IR 5-6", (5, 6)),
        ("ir 5-6", (5, 6)),
        ("IR-5-6", (5, 6)),
        ("PR 5-6", (5, 30)),
        ("pr:5-6", (5, 30)),
        ("  PR  5-6 ", (5, 30)),
        ("169-9,000", (169, 9_000)),
    ],
)
def test_buckets_as_text(text: str, by_round: tuple[int, ...]) -> None:
    assert parse_buckets(text, 2) == by_round


@pytest.mark.parametrize(
    "text",
    ["", "5", "5-5-5", "0-5", "5-0", "-5", "5--5", "x-5", "QR 5-5", "PR5-5", "5.5-5", "5-" + "9" * 5000],
)
def test_refuses_buckets_that_are_none(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_buckets(text, 2)
    assert str(refused.value) == (
        f"'{shortened(text)}' are not buckets for 2 rounds: expected a positive number for each round, "
        "as in 'IR 10-10' or 'PR 10-10'"
    )


def test_refuses_more_buckets_than_hands() -> None:
    with pytest.raises(UsageError, match="4 buckets in round 1 are too many: it has 3 canonical hands"):
        game_size(load_game("leduc"), buckets="4-4")
    with pytest.raises(UsageError, match="10 buckets in round 2 are too many: it has 9 canonical hands"):
        game_size(load_game("leduc"), buckets="PR 2-5")
    assert game_size(load_game("leduc"), buckets="3-9").bucketed_infosets == 288


# Menus, and what does not go together


def test_a_menu_counts_only_its_sizes() -> None:
    rules = nolimit_rules(stacks=(20, 20))
    menu = BetMenu.parse("1p,a", max_raises=2)
    size = game_size(rules, menu)
    walked = naive_round_counts(naive_betting_tree(rules, menu), 2)
    assert tuple(one.betting for one in size.rounds) == walked
    assert size.bets == "1p,a"
    assert size.canonical_infosets == walked[0].decisions * 169 + walked[1].decisions * 1_286_792
    assert decisions(rules)[1] > walked[1].decisions


def test_unequal_stacks_and_capped_raises_are_walked() -> None:
    for rules in (nolimit_rules(stacks=(7, 9)), nolimit_rules(stacks=(9, 9), max_raises=(2, 1))):
        assert betting_counts(rules) == naive_round_counts(naive_betting_tree(rules), 2)


def test_refuses_a_menu_in_a_limit_game() -> None:
    with pytest.raises(UsageError, match="'leduc' is a limit game: its bet sizes are fixed and take no menu"):
        game_size(load_game("leduc"), BetMenu.parse("1p"))


@pytest.mark.parametrize("extra", [{"menu": BetMenu.parse("1p")}, {"buckets": "5"}])
def test_refuses_menus_and_buckets_in_a_dice_game(extra: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="'bluff-1-1' is a dice game: bet menus and buckets do not apply"):
        game_size(load_game("bluff-1-1"), **extra)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", game_names())
def test_every_listed_game_has_a_consistent_size(name: str) -> None:
    size = game_size(load_game(name))
    assert size.game == name
    assert size.nodes == sum(one.betting.nodes for one in size.rounds)
    for one in size.rounds:
        assert one.raw_infosets >= one.canonical_infosets >= one.betting.decisions > 0
        assert one.canonical_slots > one.canonical_infosets
    if not name.startswith("bluff"):
        # One tree: every node but the root has one action or one deal before it.
        moves = sum(one.betting.slots + one.betting.continuing for one in size.rounds)
        assert size.nodes == 1 + moves


@settings(deadline=None, max_examples=60)
@given(rules=poker_rules(max_players=3, max_stack=12), menu=st.one_of(st.none(), menus()))
def test_any_rules_are_counted_or_refused_in_words(rules: PokerRules, menu: BetMenu | None) -> None:
    if rules.num_players != 2 or (rules.is_limit and menu is not None):
        with pytest.raises(UsageError, match=r"^'random' (has 3 players|is a limit game)[^\n]*$"):
            game_size(rules, menu)
        return
    size = game_size(rules, menu)
    assert size.nodes == 1 + sum(one.betting.slots + one.betting.continuing for one in size.rounds)


# Memory


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (1024**2 - 1, "1023.9 KiB"),
        (5 * 2**40 // 2, "2.5 TiB"),
        (262 * 2**40, "262.0 TiB"),  # CEP, before compression
        (10**160 * 2**80, "1.00e160 YiB"),
    ],
)
def test_bytes_in_words(num_bytes: int, text: str) -> None:
    assert format_bytes(num_bytes) == text


def test_memory_is_refused_only_beyond_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.available_memory() > 2**20
    monkeypatch.setattr(memory, "available_memory", lambda: 2048)
    memory.verify_memory(2048, "a small thing")
    with pytest.raises(UsageError, match=r"^a thing needs 2.0 KiB of memory, and 2.0 KiB are free$"):
        memory.verify_memory(2049, "a thing")
