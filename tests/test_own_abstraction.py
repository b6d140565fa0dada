"""Abstractions of one's own: a function of the cards, or a class with the protocol; and what is refused."""

import re
import subprocess
import sys
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive.abstraction_solving import naive_deals

import errai
from errai.abstraction import own
from errai.abstraction.abstraction import Abstraction
from errai.abstraction.clustering.kmeans import bytes_to_train
from errai.abstraction.features.features import NUM_BINS
from errai.abstraction.named_groups import RankGroups, leduc_abstraction
from errai.abstraction.own import FunctionAbstraction, abstraction_from_function
from errai.abstraction.protocol import NO_BUCKET, CardAbstraction, buckets_on_board
from errai.abstraction.public.abstract import plan_public
from errai.abstraction.public.abstraction import PublicAbstraction
from errai.abstraction.public.clusters import PublicClusters
from errai.cards.deck import Deck
from errai.errors import UsageError
from errai.games.catalogue import holdem, leduc, load_game

ROOT = Path(__file__).parent.parent
LEDUC = leduc()


def pairs_and_kings(hand: str, board: str, round_index: int) -> int:
    """`[JQ.K]` in a user's words."""
    king = int(hand[0] == "K")
    return king if round_index == 0 else 2 * king + int(hand[0] == board[0])


def test_a_function_says_what_a_named_abstraction_says() -> None:
    mine, named = errai.abstraction_from_function("leduc", pairs_and_kings, "mine"), leduc_abstraction("JQ.K")
    assert [mine.num_buckets(r) for r in (0, 1)] == [named.num_buckets(r) for r in (0, 1)] == [2, 4]
    for hand, board in naive_deals(LEDUC, 0) + naive_deals(LEDUC, 1):
        assert mine.bucket(hand, board) == named.bucket(hand, board)
    own_run, named_run = (errai.solve(LEDUC, "cfr+", 100, abstraction=one) for one in (mine, named))
    for table, other in zip(own_run.strategy.tables, named_run.strategy.tables, strict=True):
        assert np.array_equal(table, other)
    found = errai.exploitability(own_run.strategy).mbb_per_game
    assert found == errai.exploitability(named_run.strategy).mbb_per_game
    assert own_run.strategy.tree.buckets is not None
    assert own_run.strategy.tree.buckets.name == "mine"


def test_cards_are_told_high_card_first_and_boards_in_the_order_of_their_deals() -> None:
    asked: dict[int, set[tuple[str, str]]] = {0: set(), 1: set(), 2: set()}

    def listen(hand: str, board: str, round_index: int) -> int:
        asked[round_index].add((hand, board))
        return 0

    errai.abstraction_from_function("rhode-island", listen)
    assert [len(asked[r]) for r in range(3)] == [52, 52 * 51, 52 * 51 * 50]
    assert ("As", "2cKd") in asked[2]
    assert ("As", "Kd2c") in asked[2]
    game = load_game("holdem-2-1")
    asked = {0: set(), 1: set()}
    with pytest.raises(UsageError, match="check_suits=False asks once for each of its 1,286,792 canonical"):
        errai.abstraction_from_function(game, listen)
    assert asked == {0: set(), 1: set()}, "nothing is asked before everything is known to fit"


def test_without_the_check_each_canonical_deal_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "ROWS_A_CHUNK", 7)  # the last chunk is short
    asked = []

    def listen(hand: str, board: str, round_index: int) -> int:
        asked.append((hand, board))
        return len(asked) - 1 if round_index == 0 else 0

    found = abstraction_from_function("rhode-island", listen, check_suits=False)
    assert len(asked) == sum(len(table) for table in found.tables)
    assert found.num_buckets(0) == 13
    assert sorted(found.tables[0].tolist()) == list(range(13))


def test_boards_of_three_cards_are_one_deal() -> None:
    """The flop comes at once: hand and flop are each told high card first, whatever their order."""
    rules = replace(holdem(2, 1), name="small", deck=Deck("TJQKA", "hs"))
    asked = []

    def listen(hand: str, board: str, round_index: int) -> int:
        asked.append(hand + board)
        return "TJQKA".index(hand[0])

    found = abstraction_from_function(rules, listen)
    ranks = "TJQKA"
    for text in asked:
        cards = [(ranks.index(text[i]), text[i + 1]) for i in range(0, len(text), 2)]
        assert cards[:2] == sorted(cards[:2], reverse=True)
        assert cards[2:] == sorted(cards[2:], reverse=True)
    assert len(asked) == len(set(asked)) == 45 + 45 * 56
    assert found.bucket("ThAs", "JhJsKs") == found.bucket("AsTh", "KsJsJh") == 4


def test_a_function_that_tells_suits_apart_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        errai.abstraction_from_function("leduc", lambda hand, board, r: int(hand[1] == "s"))
    assert re.fullmatch(
        r"buckets must not depend on the names of suits: 'Js' on board '' has bucket 1 in round 0, and the "
        r"same hand in other suits has 0",
        str(caught.value),
    )
    blind = errai.abstraction_from_function("leduc", lambda hand, board, r: 0, check_suits=False)
    assert blind.num_buckets(1) == 1


@pytest.mark.parametrize("answer", [None, -1, 0.5, "1", 3, 10**30])
def test_answers_that_are_no_buckets(answer: object) -> None:
    def choose(hand: str, board: str, round_index: int) -> int:
        return answer if hand[0] == "Q" else 0  # type: ignore[return-value]

    with pytest.raises(UsageError) as caught:
        errai.abstraction_from_function("leduc", choose)
    assert str(caught.value) == (
        "the bucket of 'Qh' on board '' in round 0 must be a whole number from 0 to 2, not " + repr(answer)
    )


def never_asked(hand: str, board: str, round_index: int) -> int:
    pytest.fail("the game was to be refused before anything is asked")


def test_what_cannot_be_abstracted() -> None:
    with pytest.raises(UsageError, match="'bluff-1-1' is a dice game: expected a card game"):
        errai.abstraction_from_function("bluff-1-1", pairs_and_kings)
    with pytest.raises(UsageError, match="expected a game, its name or the path of its file, not 5"):
        errai.abstraction_from_function(5, pairs_and_kings)  # type: ignore[arg-type]
    with pytest.raises(
        UsageError, match=r"the turn of limit-holdem has 55,190,538 canonical deals: .* 5,000,000"
    ):
        errai.abstraction_from_function("limit-holdem", never_asked, check_suits=False)
    mine = errai.abstraction_from_function("leduc", pairs_and_kings)
    with pytest.raises(UsageError, match="'own' was made for 'leduc', whose cards are not those of 'kuhn'"):
        errai.solve("kuhn", "cfr+", 1, abstraction=mine)
    with pytest.raises(UsageError, match="the player must be 0 or 1, not 2"):
        mine.num_buckets(0, 2)
    with pytest.raises(
        UsageError, match="'KhKs' is not a hand of 'leduc': the number of cards must be 1, not 2"
    ):
        mine.bucket("KhKs")


def test_a_wrong_abstraction_is_told_before_memory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit hold'em's hands fit into no memory; that an abstraction is not its own costs nothing to tell."""
    mine = errai.abstraction_from_function("leduc", pairs_and_kings)
    with pytest.raises(UsageError, match="whose cards are not those of 'limit-holdem'"):
        errai.solve("limit-holdem", "cfr+", 1, abstraction=mine)


class EveryOther:
    """A class of a user's own with the protocol and nothing else."""

    game = LEDUC
    name = "every other"
    num_players_described = 1

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        return 2

    def buckets(self, cards: np.ndarray, round_index: int, player: int = 0) -> np.ndarray:
        return (cards[:, 0] >> 2) % 2


def test_every_abstraction_has_the_protocol() -> None:
    """Rounds before players, in every class; a user's own class is asked as ours are."""
    kinds: list[Any] = [Abstraction, PublicAbstraction, RankGroups, FunctionAbstraction, EveryOther]
    for kind in kinds:
        assert list(signature(kind.num_buckets).parameters) == ["self", "round_index", "player"]
        assert list(signature(kind.buckets).parameters) == ["self", "cards", "round_index", "player"]
    mine: CardAbstraction = EveryOther()
    run = errai.solve("leduc", "cfr+", 10, abstraction=mine)
    assert errai.exploitability(run.strategy).mbb_per_game > 0
    board = np.array(LEDUC.deck.parse("Qh"), dtype=np.uint8)
    hands = LEDUC.deck.hands(1)[:, 0]
    expected = [NO_BUCKET if card == board[0] else (card >> 2) % 2 for card in hands.tolist()]
    assert buckets_on_board(mine, board).tolist() == expected


def test_a_public_abstraction_by_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    base = errai.abstract("rhode-island", "IR-PHS-PHS 13-20-30", tmp_path / "base", clusters=4)
    told: list[tuple[str, int, int]] = []
    seen: list[PublicClusters] = []
    found = errai.abstract_public(
        base,
        tmp_path / "public",
        public_clusters=3,
        buckets=[6, 7],
        clusters=4,
        report=lambda *step: told.append(step),
        clustered=seen.append,
    )
    assert [found.num_buckets(r) for r in range(3)] == [13, 18, 21]
    assert seen[0].cluster_of_board.tolist() == found.cluster_of_board.tolist()
    assert ("private buckets", 3, 3) in told
    loaded = errai.load_abstraction(tmp_path / "public")
    again = errai.abstract_public(tmp_path / "base", public_clusters=3, buckets=(6, 7), clusters=4)
    deals = np.array([[0, 5, 9], [3, 7, 50]], dtype=np.uint8)
    assert (
        loaded.buckets(deals, 2).tolist()
        == again.buckets(deals, 2).tolist()
        == found.buckets(deals, 2).tolist()
    )
    other = errai.abstract_public(base, public_clusters=3, buckets=(6, 7), clusters=4, seed=5)
    assert any(other.clusters[c].centres.tolist() != found.clusters[c].centres.tolist() for c in range(3))
    # A base of any kind will do: every rank of the board is treated alike by one bucket.
    alike = errai.abstraction_from_function(
        "rhode-island", lambda hand, board, r: 0, "one", check_suits=False
    )
    assert errai.abstract_public(alike, public_clusters=2, buckets=2, clusters=4).num_clusters == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"restarts": 0}, "restarts must be 1 or more, not 0"),
        ({"public_clusters": 10}, "the number of public clusters must be 1 to 3, one for each board, not 10"),
        ({"buckets": 0}, "must be one number of 1 to 65,535, or 1, one a round from round 2 on, not 0"),
        ({"special_round": 0}, "must deal public cards, and round 1 of leduc deals none"),
    ],
)
def test_public_refusals_come_before_any_work(
    options: dict[str, int], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path))
    with pytest.raises(UsageError, match=sentence):
        errai.abstract_public(leduc_abstraction("JQ.K"), **{"public_clusters": 2, **options})  # type: ignore[arg-type]
    assert not list(tmp_path.rglob("*.array")), "no features were built"


def test_a_public_abstraction_tells_what_it_takes_and_is_refused_without_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables byte for byte; memory where it is that of the boards' distances, before anything is computed."""
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    base = errai.abstraction_from_function("rhode-island", lambda hand, board, r: 0, "one", check_suits=False)
    monkeypatch.setattr(FunctionAbstraction, "num_buckets", lambda *_: 1_000_001)
    options: dict[str, Any] = {"public_clusters": 4, "buckets": (5, 3), "clusters": 4, "num_threads": 1}
    plan = plan_public(base, tmp_path / "public", **options)
    # 13 boards: distances of 19 bytes a pair, and 4 bytes for each bucket of the base.
    needed = 13 * (19 * 13 + 4 * 1_000_001)
    assert plan.memory_bytes == needed
    assert plan.table_bytes == 2 * 13 * 52 + 2 * 4 * 3 * 4
    monkeypatch.setattr("errai.memory.available_memory", lambda: needed - 1)
    with pytest.raises(UsageError) as refused:
        errai.abstract_public(base, tmp_path / "public", **options)
    assert str(refused.value) == (
        "building a public abstraction of round 2 of rhode-island needs 49.5 MiB of memory, "
        "and 49.5 MiB are free"
    )
    monkeypatch.setattr("errai.abstraction.public.abstract.free_disk", lambda folder: plan.table_bytes - 1)
    monkeypatch.setattr("errai.memory.available_memory", lambda: needed)
    with pytest.raises(UsageError) as refused:
        errai.abstract_public(base, tmp_path / "public", **options)
    assert str(refused.value) == (
        f"the tables in '{tmp_path / 'public'}' need 1.4 KiB of disk, and 1.4 KiB are free"
    )
    assert not list(tmp_path.iterdir()), "nothing was computed"


@pytest.mark.parametrize("num_threads", [1, 2, 9])
def test_memory_of_a_public_abstractions_clusters(num_threads: int) -> None:
    """By hand, where it is that of the private buckets: 10 of the 13 boards at most are in one cluster."""
    base = errai.abstraction_from_function("rhode-island", lambda hand, board, r: 0, "one", check_suits=False)
    plan = plan_public(base, public_clusters=4, buckets=(5, 30), clusters=4, num_threads=num_threads)
    assert plan.features.classes.size(1) == 325
    # Places; 51 open hands a board; numbers, weights, labels and the list to draw from of 325 classes.
    second = 9 * 10 * 52 + max(49 * 10 * 51, 8 * 10 * 51 + 28 * 325 + bytes_to_train(NUM_BINS, 325, 5, 1))
    # All 51 ends of each board with 50 hands of 4 columns of 2 bytes.
    rows = 10 * 51 * 50
    swept = 64 * 52 * (31 + 8)
    last = swept + max(rows * (32 + 45), rows * (24 + 16) + bytes_to_train(4, rows, 30, 1))
    tables = 2 * 13 * 52 + 2 * 4 * 30 * 4
    assert plan.memory_bytes == tables + min(num_threads, 4) * max(second, last)


def test_the_example_and_the_guide() -> None:
    """The example runs, and the guide shows what it prints."""
    done = subprocess.run(
        [sys.executable, "examples/own_abstraction.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    guide = (ROOT / "docs" / "own_abstraction.md").read_text()
    printed = [line for line in done.stdout.splitlines() if line]
    assert len(printed) == 3
    for line in printed:
        assert line in guide
    for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        space: dict[str, object] = {"__name__": "guide"}
        exec(compile(block, "docs/own_abstraction.md", "exec"), space)
