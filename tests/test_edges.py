"""Edges of all hands against a known one, and strengths on a board: against slow twins and `equity`."""

from pathlib import Path

import numpy as np
import pytest
from naive import WITHOUT_JIT
from naive.edges import naive_edge, naive_strength

from errai.abstraction.features.cache import CACHED_EDGES
from errai.cards.boards import CanonicalBoards
from errai.cards.deck import FULL_DECK, parse_cards
from errai.cards.equity import equity, suit_permutations
from errai.errors import UsageError
from errai.evaluation import edges as module
from errai.evaluation.edges import Edges, holdem_edges
from errai.games.catalogue import load_card_game

LIMIT = load_card_game("limit-holdem")
LEDUC = load_card_game("leduc")


def test_every_edge_of_leduc() -> None:
    edges = Edges(LEDUC)
    cards = LEDUC.deck.cards
    for other in cards:
        for board in [(), *((card,) for card in cards if card != other)]:
            found = edges.against((other,), board)
            for hand, own in enumerate(edges.hands.tolist()):
                open_hand = own[0] != other and own[0] not in board
                expected = naive_edge(LEDUC, (own[0],), (other,), board) if open_hand else 0
                assert found[hand] == pytest.approx(expected, abs=1e-15)


@pytest.mark.skipif(WITHOUT_JIT, reason="a million hands")
@pytest.mark.parametrize("board", ["QcJh3d", "QcJh3d4d", "QcJh3d4dJd"])
def test_edges_of_holdem_are_equities(board: str) -> None:
    found = Edges(LIMIT).against(parse_cards("AsKs"), parse_cards(board))
    for hand in ("7h7d", "AhKd", "Qs2s"):
        exact = equity((hand, "AsKs"), board)
        assert found[FULL_DECK.hand_index(parse_cards(hand))] == pytest.approx(
            exact.win - exact.lose, abs=1e-12
        )
    assert found[FULL_DECK.hand_index(parse_cards("As2c"))] == 0


def test_strengths_as_naive() -> None:
    board = parse_cards("QcJh3d4dJd")
    found = Edges(LIMIT).strengths(board)
    for hand in ("7h7d", "JsJc", "2c5h", "AdKd"):
        cards = parse_cards(hand)
        assert found[FULL_DECK.hand_index(cards)] == pytest.approx(naive_strength(LIMIT, cards, board))
    leduc = Edges(LEDUC)
    for own in leduc.hands.tolist():
        expected = (
            naive_strength(LEDUC, tuple(own), LEDUC.deck.parse("Qs"))
            if own[0] != LEDUC.deck.parse("Qs")[0]
            else 0
        )
        assert leduc.strengths(LEDUC.deck.parse("Qs"))[leduc.hands.tolist().index(own)] == pytest.approx(
            expected
        )


def test_two_hands_after_every_river() -> None:
    edges = Edges(LIMIT)
    own, other, board = parse_cards("7h7d"), parse_cards("AsKs"), parse_cards("QcJh3d4d")
    rivers = np.array([[card] for card in parse_cards("7s2cTd")], dtype=np.uint8)
    strengths, found = edges.of_pair((own, other), board, rivers)
    for place, river in enumerate(rivers[:, 0].tolist()):
        full = (*board, river)
        assert strengths[place].tolist() == pytest.approx(
            [naive_strength(LIMIT, hand, full) for hand in (own, other)]
        )
        assert found[place] == naive_edge(LIMIT, own, other, full)


@pytest.mark.skipif(WITHOUT_JIT, reason="millions of pairs of hands")
def test_the_sum_over_boards_is_symmetrised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few canonical boards must give what all their images under the renaming of suits give."""
    chosen = np.array([0, 7000, 60000, 134458])
    cards, weights = CanonicalBoards((5,)).cards(0)[chosen], CanonicalBoards((5,)).weights(0)[chosen]

    class Few:
        def __init__(self, dealt: tuple[int, ...]) -> None: ...

        def cards(self, round: int) -> object:
            return cards

        def weights(self, round: int) -> object:
            return weights

    monkeypatch.setattr(module, "CanonicalBoards", Few)
    found = module._sum_all_boards()
    images, suit_maps = set(), suit_permutations()[0]
    for board in cards.tolist():
        images |= {frozenset(card & ~3 | suits[card & 3] for card in board) for suits in suit_maps}
    assert len(images) == weights.sum()
    for first, second in (("AsKs", "7h7d"), ("2c3d", "QhJh"), ("AsKd", "AcKh")):
        pair = parse_cards(first), parse_cards(second)
        expected = sum(
            int(naive_edge(LIMIT, *pair, sorted(board)))
            for board in images
            if not board & {*pair[0], *pair[1]}
        )
        a, b = (FULL_DECK.hand_index(hand) for hand in pair)
        assert found[a, b] == expected == -found[b, a]
    assert found[FULL_DECK.hand_index(parse_cards("AsKs")), FULL_DECK.hand_index(parse_cards("AsQs"))] == 0


def test_the_table_is_read_from_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "cache_root", lambda: tmp_path)
    made = []

    def make() -> np.ndarray:
        made.append(1)
        return np.full((2, 2), 1_712_304, dtype=np.int32)

    monkeypatch.setattr(module, "_sum_all_boards", make)
    for _ in range(2):
        holdem_edges.cache_clear()
        assert (holdem_edges() == 1).all()
    assert len(made) == 1
    (cached,) = tmp_path.iterdir()
    assert cached.name == CACHED_EDGES
    (tmp_path / module.TABLE_PATH).write_bytes(b"damaged")
    holdem_edges.cache_clear()
    assert (holdem_edges() == 1).all()
    assert len(made) == 2
    holdem_edges.cache_clear()


@pytest.mark.slow
def test_edges_before_the_flop_are_equities() -> None:
    found = holdem_edges()
    for first, second in (("7h7d", "AsKs"), ("AsKs", "QsJs"), ("2c2d", "AhKh")):
        exact = equity((first, second))
        a, b = (FULL_DECK.hand_index(parse_cards(hand)) for hand in (first, second))
        assert found[a, b] == pytest.approx(exact.win - exact.lose, abs=1e-12)


def test_games_without_edges() -> None:
    with pytest.raises(UsageError, match="'rhode-island' has no edges"):
        Edges(load_card_game("rhode-island"))
    with pytest.raises(UsageError, match="are too many to try"):
        Edges(load_card_game("holdem-3-1")).against(parse_cards("AsKs"), ())
