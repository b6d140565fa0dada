"""Deals: the cards and dice of a stream, their rows in tables, and who wins."""

import math

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive.sampling import naive_deal

import errai
from errai.engine import _deals
from errai.engine.deals import BucketDeals, CellDeals, DiceDeals
from errai.engine.public_tree import PublicTree
from errai.games.bluff import STAR, BluffRules, rolls
from errai.games.deals import Deals
from errai.games.hand import showdown_strength
from errai.games.rules import PokerRules
from errai.strategy.strategy import find_cell
from errai.tables import bucket_layout as buckets_module
from errai.tables.bucket_layout import bucket_layout

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
"""Plain Python warns where 64 bits wrap, as they must."""

LEDUC = errai.load_game("leduc")


@pytest.mark.parametrize("name", ["kuhn", "leduc", "rhode-island"])
def test_deals_are_those_of_the_twin(name: str) -> None:
    game = errai.load_game(name)
    assert isinstance(game, PokerRules)
    tree = PublicTree.of(game)
    source = CellDeals(tree)
    batch = source.batch(40)
    source.fill(batch, 3, 7 * 4 + 1, 4)
    for i in range(40):
        iteration, lane = divmod(7 * 4 + 1 + i, 4)
        deal = naive_deal(game, 3, iteration, lane)
        strengths = [showdown_strength(game, hand, deal.board) for hand in deal.hands]
        assert batch.outcomes[i] - 1 == np.sign(strengths[1] - strengths[0])
        for q in (0, 1):
            for r in range(game.num_rounds):
                board = deal.board[: game.num_board_cards_by(r)]
                number, cell = find_cell(tree, q, r, deal.hands[q], board)
                first, rows = tree.layout.begin[q, number] + cell, tree.layout.rows[q, number]
                assert batch.by_round()[i, q, r].tolist() == [first, rows]


@pytest.mark.parametrize(("name", "most"), [("kuhn", 6), ("leduc", 120)])
def test_every_deal_is_as_likely_as_any_other(name: str, most: int) -> None:
    game = errai.load_game(name)
    assert isinstance(game, PokerRules)
    number = 200 if WITHOUT_JIT else 1000
    keys = np.empty(number * most, dtype=np.uint64)
    cards = np.empty((number * most, 2 + sum(game.num_board_cards)), dtype=np.uint8)
    deck, places = np.array(game.deck.cards, dtype=np.uint8), np.empty(cards.shape[1], dtype=np.uint64)
    _deals.deal_cards(1, 2, 2, deck, places, keys, cards)
    assert deck.tolist() == list(game.deck.cards)
    _, counts = np.unique(cards, axis=0, return_counts=True)
    assert len(counts) == most
    assert ((counts - number) ** 2 / number).sum() < most + 6 * math.sqrt(2 * most)


@pytest.mark.parametrize("is_shared", [True, False], ids=["alike", "each its own"])
def test_buckets_of_deals_are_looked_up_by_round_and_player(is_shared: bool) -> None:
    """Abstractions of Leduc, asked deal by deal, give what a table of all cells gives."""

    # The first round has a bucket for each rank, so its rows are cells.
    def paired(hand: str, board: str, r: int) -> int:
        return int(hand[0] == board[0]) if board else "JQK".index(hand[0])

    def compared(hand: str, board: str, r: int) -> int:
        ranks = "JQK"
        return int(ranks.index(hand[0]) >= ranks.index(board[0])) if board else ranks.index(hand[0])

    of_first = errai.abstraction_from_function("leduc", paired)
    of_second = of_first if is_shared else errai.abstraction_from_function("leduc", compared)
    tree, pair = PublicTree.of(LEDUC), (of_first, of_second)
    by_bucket = bucket_layout(tree.walk, Deals(LEDUC), pair)
    assert by_bucket.bucketed.tolist() == [[False, True]] * 2
    asked, found = BucketDeals(LEDUC, by_bucket, pair), CellDeals(tree.abstracted_by(pair))
    first, second = asked.batch(60), found.batch(60)
    asked.fill(first, 9, 2, 2)
    found.fill(second, 9, 2, 2)
    assert np.array_equal(first.rows, second.rows)
    assert np.array_equal(first.outcomes, second.outcomes)
    assert np.array_equal(first.keys, second.keys)


def test_dice_are_rolled_as_likely_as_they_fall() -> None:
    game = errai.load_game("bluff-2-1")
    assert isinstance(game, BluffRules)
    tree = PublicTree.of_bluff(game, (2, 1))
    source = DiceDeals(tree, (2, 1))
    number = 500 if WITHOUT_JIT else 50_000
    batch = source.batch(number)
    source.fill(batch, 1, 0, 2)
    first, second = (batch.by_round()[:, q, 0, _deals.FIRST] for q in (0, 1))
    assert tree.weights is not None
    for rolled, weights in zip((first, second), tree.weights, strict=True):
        counts, expected = np.bincount(rolled, minlength=len(weights)), weights / weights.sum() * number
        assert ((counts - expected) ** 2 / expected).sum() < len(weights) + 6 * math.sqrt(2 * len(weights))
    for i in range(20):
        dice = [*rolls(2)[first[i]], *rolls(1)[second[i]]]
        for bid in range(batch.by_outcome().shape[1]):
            matching = sum(die in (bid % 6, STAR) for die in dice)
            holds = matching >= bid // 6 + 1
            assert batch.by_outcome()[i, bid] == (_deals.FIRST_WINS if holds else _deals.SECOND_WINS)


def test_shards_of_buckets_cover_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    abstraction = errai.abstraction_from_function("leduc", lambda hand, board, r: int(hand[0] == "K"))
    layout = bucket_layout(PublicTree.of(LEDUC).walk, Deals(LEDUC), (abstraction, abstraction))
    monkeypatch.setattr(buckets_module, "SHARD_SLOTS", 10)
    for player, begin in enumerate(layout.shard_begin):
        assert begin[0] == 0
        assert begin[-1] == layout.num_slots[player]
        assert (np.diff(begin) > 0).all()
        assert np.diff(begin).max() <= 10
        assert set(layout.begin[player]) <= set(begin.tolist())
