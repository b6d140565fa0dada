"""The cut into trunk and sub-games: published counts, and a partition of the nodes at every cut."""

import pytest
from naive.tree import descendants, nolimit_rules

from errai.cards.boards import CanonicalBoards
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import CHANCE, BettingTree, build_betting_tree
from errai.tree.bluff_tree import build_bluff_tree
from errai.tree.cut import Cut


def poker_game(name: str) -> PokerRules:
    game = load_game(name)
    assert isinstance(game, PokerRules)
    return game


TREES = {
    "leduc": (poker_game("leduc"), None),
    "rhode-island": (poker_game("rhode-island"), None),
    "holdem-2-4": (poker_game("holdem-2-4"), None),
    "limit-holdem": (poker_game("limit-holdem"), None),
    "no-limit": (nolimit_rules(stacks=(16, 16), num_rounds=4), BetMenu.parse("1p,a")),
    "every chip": (nolimit_rules(stacks=(6, 8), num_rounds=3), None),
}
CUTS = [(name, r) for name, (rules, _) in TREES.items() for r in range(1, rules.num_rounds)]


def make_cut(name: str, round_index: int, dealt: bool = True) -> Cut:
    rules, menu = TREES[name]
    return Cut(build_betting_tree(rules, menu), Deals(rules), round_index, dealt)


@pytest.fixture(scope="module")
def limit_tree() -> BettingTree:
    return build_betting_tree(poker_game("limit-holdem"))


def test_limit_holdem_falls_apart_into_12285_flop_subgames(limit_tree: BettingTree) -> None:
    # 7 betting sequences x 1,755 flops; THESIS chapter 3 counts 24,570 = 2 x 12,285, one a player.
    cut = Cut(limit_tree, Deals(poker_game("limit-holdem")), round=1, dealt=True)
    assert (cut.num_entries, cut.num_boards) == (7, 1_755)
    assert cut.num_subgames == 12_285
    assert 2 * cut.num_subgames == 24_570


def test_limit_holdem_falls_apart_into_110565_turn_subgames(limit_tree: BettingTree) -> None:
    # CEP: 63 betting sequences that reach the turn x 1,755 flops, the turn card dealt inside.
    cut = Cut(limit_tree, Deals(poker_game("limit-holdem")), round=2, dealt=False)
    assert (cut.num_entries, cut.num_boards) == (63, 1_755)
    assert cut.num_subgames == 110_565
    assert cut.board_round == 0


@pytest.mark.parametrize(
    ("round_index", "dealt", "boards", "board_round"),
    [
        (1, True, 1_755, 0),
        (1, False, 1, -1),
        (2, True, 63_193, 1),
        (2, False, 1_755, 0),
        (3, False, 63_193, 1),
    ],
)
def test_the_board_is_that_of_the_round_or_of_the_one_before(
    limit_tree: BettingTree, round_index: int, dealt: bool, boards: int, board_round: int
) -> None:
    cut = Cut(limit_tree, Deals(poker_game("limit-holdem")), round_index, dealt)
    assert (cut.num_boards, cut.board_round) == (boards, board_round)
    assert cut.subgame(0).board_round == board_round


@pytest.mark.parametrize(("name", "round_index"), CUTS)
def test_trunk_and_blocks_partition_the_nodes(name: str, round_index: int) -> None:
    cut = make_cut(name, round_index)
    covered = list(range(cut.trunk_end))
    for entry in range(cut.num_entries):
        subgame = cut.subgame(entry * cut.num_boards)
        assert subgame.entry == entry
        assert subgame.board_index == 0
        assert len(subgame.blocks) == cut.tree.num_rounds - round_index
        nodes = [node for begin, end in subgame.blocks for node in range(begin, end)]
        assert set(nodes) == descendants(cut.tree, subgame.node)
        for r, (begin, end) in enumerate(subgame.blocks, start=round_index):
            assert set(cut.tree.round[begin:end].tolist()) == {r}
        assert cut.tree.kind[cut.tree.parent[subgame.node]] == CHANCE
        covered += nodes
    assert sorted(covered) == list(range(cut.tree.num_nodes))


@pytest.mark.parametrize("dealt", [True, False])
def test_subgames_come_entry_major_and_by_number(dealt: bool) -> None:
    cut = make_cut("holdem-2-4", 1, dealt)
    subgames = list(cut.subgames())
    assert len(subgames) == cut.num_subgames
    assert [subgame.number for subgame in subgames] == list(range(cut.num_subgames))
    assert [(s.entry, s.board_index) for s in subgames] == [
        (entry, board) for entry in range(cut.num_entries) for board in range(cut.num_boards)
    ]
    for number in (0, 1, cut.num_boards - 1, cut.num_subgames // 2, cut.num_subgames - 1):
        assert cut.subgame(number) == subgames[number]


def test_a_trunk_holds_all_rounds_before_the_cut(limit_tree: BettingTree) -> None:
    cut = Cut(limit_tree, Deals(poker_game("limit-holdem")), round=2)
    assert set(limit_tree.round[: cut.trunk_end].tolist()) == {0, 1}
    assert set(limit_tree.round[cut.trunk_end :].tolist()) == {2, 3}


@pytest.mark.parametrize("round_index", [-1, 0, 4, 99])
def test_refuses_a_cut_at_no_boundary(limit_tree: BettingTree, round_index: int) -> None:
    expected = rf"cannot cut before round {round_index}: expected one of 1, 2, 3 \(counted from 0\)"
    with pytest.raises(UsageError, match=expected):
        Cut(limit_tree, Deals(poker_game("limit-holdem")), round_index)


def test_refuses_to_cut_one_round() -> None:
    kuhn = poker_game("kuhn")
    for tree in (build_betting_tree(kuhn), build_bluff_tree((1, 1))):
        with pytest.raises(UsageError, match="cannot cut before round 1: the game has one round"):
            Cut(tree, Deals(kuhn), 1)


@pytest.mark.parametrize("number", [-1, 15, 10**9])
def test_refuses_a_subgame_that_does_not_exist(number: int) -> None:
    cut = make_cut("leduc", 1)
    assert cut.num_subgames == 15  # 5 betting sequences x 3 ranks
    with pytest.raises(UsageError, match=f"sub-game {number} does not exist: expected 0 to 14"):
        cut.subgame(number)


# Deals: betting rounds matched with public deals


def test_deals_of_holdem() -> None:
    deals = Deals(poker_game("limit-holdem"))
    assert [deals.board_round(r) for r in range(4)] == [-1, 0, 1, 2]
    assert [deals.row_round(r) for r in range(4)] == [0, 1, 2, 3]
    assert [deals.num_boards(r) for r in range(4)] == [1, 1_755, 63_193, 2_554_656]
    assert [deals.num_rows(r) for r in range(4)] == [169, 1_286_792, 55_190_538, 2_428_287_420]


def test_deals_of_games_without_flushes_merge_suits() -> None:
    deals = Deals(poker_game("leduc"))
    assert [deals.num_boards(r) for r in range(2)] == [1, 3]
    assert [deals.num_rows(r) for r in range(2)] == [3, 9]
    kuhn = Deals(poker_game("kuhn"))
    assert (kuhn.num_boards(0), kuhn.num_rows(0), kuhn.board_round(0)) == (1, 3, -1)


def test_rounds_without_a_deal_share_the_board_before() -> None:
    rules = PokerRules(
        name="twice before the flop",
        deck=poker_game("limit-holdem").deck,
        num_hole_cards=2,
        num_board_cards=(0, 0, 3, 0),
        blinds=(2, 1),
        raise_sizes=(2, 2, 2, 2),
        max_raises=(1, 1, 1, 1),
        first_player=(1, 0, 0, 0),
    )
    deals = Deals(rules)
    assert [deals.board_round(r) for r in range(4)] == [-1, -1, 0, 0]
    assert [deals.num_boards(r) for r in range(4)] == [1, 1, 1_755, 1_755]
    assert [deals.num_rows(r) for r in range(4)] == [169, 169, 1_286_792, 1_286_792]
    assert isinstance(deals.boards, CanonicalBoards)
    assert deals.boards is deals.boards
    tree = build_betting_tree(rules)
    assert Cut(tree, deals, 1, dealt=True).num_boards == 1
    assert Cut(tree, deals, 3, dealt=True).num_boards == 1_755
