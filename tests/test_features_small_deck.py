"""Every feature of every class of a game of nine cards, four of them public, in chunks of a few rows."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import floor

import numpy as np
import pytest
from naive import abstraction_features as naive

from errai.abstraction.features import build as feature_build
from errai.abstraction.features.build import build_features, next_sets, num_next
from errai.abstraction.features.features import NUM_BINS, OCHS_SCALE, FeaturePlan, Features
from errai.cards.deck import Deck
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules

NUM_CLUSTERS = 3


def small_game() -> PokerRules:
    """Two hole cards of nine and twice two public ones: suits count, and boards have weights that differ.

    Four cards to come may be the next two and the last two in six ways.
    """
    rules = load_game("rhode-island")
    assert isinstance(rules, PokerRules)
    shown = type(rules.showdown).POKER
    return replace(
        rules, name="small", deck=Deck.top(3, 3), num_hole_cards=2, num_board_cards=(0, 2, 2), showdown=shown
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Features:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        for name, value in (("BOARDS_A_CHUNK", 3), ("DEALS_A_CHUNK", 50), ("CLUSTER_RESTARTS", 1)):
            patch.setattr(feature_build, name, value)
        found = build_features(FeaturePlan(small_game(), NUM_CLUSTERS), 2)
        for feature in found.plan.all_arrays:
            if not feature.startswith("counts-"):  # built for percentiles without a table alone
                found._array(feature)
    return found


@cache
def half_hands(hand: tuple[int, ...], board: tuple[int, ...]) -> int:
    return naive.half_hands_beaten(small_game(), hand, board)


def deals_of(rules: PokerRules, r: int) -> list[list[int]]:
    """All deals of a round: hole cards, and a board without an order."""
    num_board = rules.num_board_cards_by(r)
    return [
        [*hand, *board]
        for hand in combinations(rules.deck.cards, 2)
        for board in combinations([card for card in rules.deck.cards if card not in hand], num_board)
    ]


@pytest.mark.parametrize("r", [0, 1, 2])
def test_every_deal_is_counted_in_its_class(built: Features, r: int) -> None:
    deals = np.array(deals_of(built.plan.rules, r), dtype=np.uint8)
    assert len(deals) == (36, 36 * 21, 36 * 35)[r]
    counts = np.bincount(built.classes.index(deals, r), minlength=built.classes.size(r))
    assert built.deals(r).tolist() == counts.tolist()
    assert len(set(counts.tolist())) > 1


@pytest.mark.parametrize("r", [0, 1, 2])
def test_strengths_squares_and_histograms(built: Features, r: int) -> None:
    plan = built.plan
    assert (plan.max_strength, plan.bin_width) == (6, 1)
    for number, cards in enumerate(built.classes.unindex(np.arange(built.classes.size(r)), r).tolist()):
        hand, board = tuple(sorted(cards[:2])), tuple(cards[2:])
        boards = list(naive.runouts(plan.rules, hand, board))
        values = [half_hands(hand, tuple(sorted(whole))) for whole in boards]
        assert len(values) == plan.runouts(r) == (35, 10, 1)[r]
        assert built.strength(r)[number] == sum(values)
        assert built.squared(r)[number] == sum(value**2 for value in values)
        assert built.expected_strength(r)[number] == sum(values) / (6 * len(values))
        squares = sum(value**2 for value in values)
        assert built.expected_strength_squared(r)[number] == squares / (36 * len(values))
        if r < 2:
            row = built.histograms(r)[number].tolist()
            assert row == naive.cumulative_histogram(values, plan.bin_width, NUM_BINS)


def test_strengths_against_clusters_of_the_last_round(built: Features) -> None:
    classes, rules = built.classes, built.plan.rules
    hands = [tuple(sorted(hand)) for hand in classes.hands.tolist()]
    of_hand = built.opponent_clusters[classes.index(classes.hands, 0)].tolist()
    cluster_of = dict(zip(hands, of_hand, strict=True))
    num_empty = 0
    for number, cards in enumerate(classes.unindex(np.arange(classes.size(2)), 2).tolist()):
        hand, board = tuple(sorted(cards[:2])), cards[2:]
        chances = naive.chances_against_clusters(rules, hand, board, cluster_of, NUM_CLUSTERS)
        whole = Fraction(half_hands(hand, tuple(sorted(board))), 6)
        wanted = [floor(OCHS_SCALE * (whole if one is None else one) + Fraction(1, 2)) for one in chances]
        assert built.ochs(2)[number].tolist() == wanted
        num_empty += sum(one is None for one in chances)
    assert num_empty > 0


@pytest.mark.parametrize("r", [0, 1])
def test_strengths_against_clusters_before_are_means(built: Features, r: int) -> None:
    """Over the two cards of the next round: 21 pairs of cards, or 10."""
    classes, deck = built.classes, built.plan.rules.deck
    sets = list(combinations(deck.cards, 2))
    assert next_sets(built.plan, r).tolist() == [list(one) for one in sets]
    assert num_next(built.plan, r) == (21, 10)[r]
    for number, cards in enumerate(classes.unindex(np.arange(classes.size(r)), r).tolist()):
        following = [[*cards, *more] for more in sets if not set(more) & set(cards)]
        rows = built.ochs(r + 1)[classes.index(np.array(following, dtype=np.uint8), r + 1)]
        sums = rows.sum(axis=0, dtype=np.int64).tolist()
        nearest = [floor(Fraction(total, len(following)) + Fraction(1, 2)) for total in sums]
        assert built.ochs(r)[number].tolist() == nearest


def test_histograms_of_hole_cards_by_a_sweep_over_all_boards(
    built: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are made for opponent clusters; boards of different weights fall into different chunks."""
    hands = np.bincount(built.classes.index(built.classes.hands, 0))
    assert sorted(set(hands.tolist())) == [3, 6]
    for boards_a_chunk in (1, 4, 100):
        monkeypatch.setattr(feature_build, "BOARDS_A_CHUNK", boards_a_chunk)
        build = feature_build._Build(built.plan, 1, lambda stage, done, total: None)
        assert np.array_equal(build._hole_card_histograms(hands), built.histograms(0))
    weights = built.classes.boards(2).weights(0).tolist()
    assert weights != weights[:4] * (len(weights) // 4) + weights[: len(weights) % 4]


def test_means_of_histograms_are_expected_strengths(built: Features) -> None:
    for r in (0, 1):
        exact = built.expected_strength(r)
        assert built.histogram_total(r) == (35, 10)[r]
        np.testing.assert_allclose(built.histogram_mean(built.histograms(r), r), exact, rtol=1e-12)


def test_features_on_a_board_are_those_of_the_classes(built: Features) -> None:
    classes, cards = built.classes, built.plan.rules.deck.cards
    for board in (cards[:4], cards[8:4:-1], [cards[4], cards[0], cards[7], cards[2]]):
        found = built.on_board(np.array(board, dtype=np.uint8))
        for number, hand in enumerate(classes.hands.tolist()):
            is_open = not set(hand) & set(board)
            assert found.is_open[number] == is_open
            if is_open:
                row = classes.index(np.array([[*hand, *board]], dtype=np.uint8), 2)[0]
                assert found.strength[number] == built.strength(2)[row]
                assert found.ochs[number].tolist() == built.ochs(2)[row].tolist()
            else:
                assert found.strength[number] == 0
                assert not found.ochs[number].any()
