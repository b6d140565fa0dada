"""Decisions of hold'em as a grid: against one question for each hand, in letters, in colour, as a picture."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import errai
from errai.cards.deck import FULL_DECK, format_cards
from errai.cli import hand_grid as printed
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.catalogue import load_card_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.grid import HandGrid, cells_of, class_name, hand_grid, is_holdem
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import bucket_layout

RunErrai = Callable[..., tuple[int, str, str]]

NAMES = [[class_name(i, j) for j in range(13)] for i in range(13)]


class CardSum:
    """An abstraction for tests: the sum of all cards decides the bucket; the first round is lossless."""

    name = "sum"
    num_players_described = 1

    def __init__(self, game: PokerRules) -> None:
        self.game = game

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        return 7 if round_index else 169

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int64]:
        if round_index == 0:
            return Deals(self.game).rows.index(cards, 0)
        found: npt.NDArray[np.int64] = cards[:, :2].astype(np.int64).prod(axis=1) + cards[:, 2:].sum(axis=1)
        return found % 7


@pytest.fixture(scope="module")
def limit() -> BucketStrategy:
    """A strategy of the whole of limit hold'em at random."""
    tree = PublicTree.of("limit-holdem")
    saved = SavedAbstraction(Path("nowhere"), "0" * 16, CardSum(tree.rules))
    pair = (saved.abstraction, saved.abstraction)
    sizes = bucket_layout(tree.walk, Deals(tree.rules), pair).num_slots
    rng = np.random.default_rng(2)
    return BucketStrategy(tree, saved, (rng.random(sizes[0]), rng.random(sizes[1])))


@pytest.fixture(scope="module")
def flop(tmp_path_factory: pytest.TempPathFactory) -> Strategy:
    """A strategy at random of a small game in which suits matter: one round, with the flop on the table."""
    path = tmp_path_factory.mktemp("games") / "flop.game"
    path.write_text(
        "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 1\nblind = 5 10\nraiseSize = 10\nfirstPlayer = 2\n"
        "maxRaises = 2\nnumSuits = 4\nnumRanks = 13\nnumHoleCards = 2\nnumBoardCards = 3\nEND GAMEDEF\n"
    )
    tree = PublicTree.of(path)
    rng = np.random.default_rng(5)
    first, second = (rng.random(size, dtype=np.float32) for size in tree.layout.num_slots)
    return Strategy(tree, (first, second))


@pytest.fixture
def pattern() -> HandGrid:
    """Pairs raise, suited hands raise with a quarter and call, offsuit ones fold."""
    shares = np.zeros((13, 13, 3))
    shares[np.tril_indices(13, -1)] = [1, 0, 0]
    shares[np.triu_indices(13, 1)] = [0, 0.75, 0.25]
    shares[np.diag_indices(13)] = [0, 0, 1]
    counts = np.full((13, 13), 12)
    counts[np.triu_indices(13, 1)] = 4
    counts[np.diag_indices(13)] = 6
    return HandGrid("r", "", 0, ("f", "c", "r"), counts, shares)


def naive_grid(strategy: Strategy | BucketStrategy, betting: str, board: str) -> dict[str, list[list[float]]]:
    """Ask for every hand that shares no card with the board; returns the answers by class."""
    found: dict[str, list[list[float]]] = {}
    public = set(FULL_DECK.parse(board))
    for low, high in combinations(range(52), 2):
        if {low, high} & public:
            continue
        hand = format_cards([high, low])
        name = hand[0] + hand[2] + ("" if hand[0] == hand[2] else "s" if hand[1] == hand[3] else "o")
        found.setdefault(name, []).append(list(strategy.probabilities(betting, hand, board).values()))
    return found


def assert_grid(grid: HandGrid, naive: dict[str, list[list[float]]]) -> None:
    for i in range(13):
        for j in range(13):
            answers = naive.get(NAMES[i][j], [])
            assert grid.counts[i, j] == len(answers)
            expected = np.mean(answers, axis=0) if answers else np.zeros(len(grid.actions))
            assert grid.probabilities[i, j] == pytest.approx(expected, abs=1e-12)
    everything = [answer for answers in naive.values() for answer in answers]
    assert grid.frequencies == pytest.approx(np.mean(everything, axis=0), abs=1e-12)


def test_names_and_places() -> None:
    assert [NAMES[0][0], NAMES[0][1], NAMES[1][0], NAMES[12][12], NAMES[3][9]] == [
        "AA",
        "AKs",
        "AKo",
        "22",
        "J5s",
    ]
    assert len({name for row in NAMES for name in row}) == 169
    rows, columns = cells_of(np.array([FULL_DECK.parse(hand) for hand in ("AsKs", "KdAs", "2c2h")]))
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 1), (1, 0), (12, 12)]


@pytest.mark.parametrize(
    ("betting", "board"),
    [("", ""), ("rr", ""), ("rc/", "AcAd7h"), ("cc/cc/r", "2c3c4cTd"), ("cc/cc/cc/", "AcAdAhAs7h")],
)
def test_buckets_of_the_full_deck(limit: BucketStrategy, betting: str, board: str) -> None:
    grid = hand_grid(limit, betting, board)
    assert_grid(grid, naive_grid(limit, betting, board))
    assert grid.player == limit.tree.betting.player[0] if not betting else True
    if board == "AcAdAhAs7h":
        assert grid.counts[0].tolist() == [0] * 13, "no ace is left"


@pytest.mark.parametrize(("betting", "board"), [("r", "AcAd7h"), ("", "9s8s7s")])
def test_hands_without_buckets(flop: Strategy, betting: str, board: str) -> None:
    grid = hand_grid(flop, betting, board)
    assert_grid(grid, naive_grid(flop, betting, board))
    assert grid.counts.sum() == 1176


def test_kinds_and_frequencies(pattern: HandGrid) -> None:
    assert pattern.counts.sum() == 1326
    assert pattern.by_kind[0, 1].tolist() == [0, 0.75, 0.25]
    assert pattern.frequencies == pytest.approx([936 / 1326, 0.75 * 312 / 1326, (78 + 78) / 1326])


def test_what_has_no_grid(limit: BucketStrategy) -> None:
    games = {name: load_card_game(name) for name in ("limit-holdem", "holdem-1-2", "leduc", "rhode-island")}
    # With two cards and no board, suits never matter: there are no suited hands to be told apart.
    assert [name for name, game in games.items() if is_holdem(game)] == ["limit-holdem"]
    with pytest.raises(UsageError, match="'leduc' has no grid of hands: expected hold'em with the full deck"):
        hand_grid(errai.uniform_strategy("leduc"))
    with pytest.raises(UsageError, match="the number of cards on the board '' must be 3"):
        hand_grid(limit, "cc/")
    with pytest.raises(UsageError, match="nobody acts there"):
        hand_grid(limit, "f")


def test_letters_where_there_is_no_colour(pattern: HandGrid) -> None:
    lines = printed.plain_lines(pattern)
    assert lines[0] == "    A    K    Q    J    T    9    8    7    6    5    4    3    2"
    assert lines[1] == "  A R    " + " ".join(["c8r2"] * 12)
    assert lines[2] == "  K F    R    " + " ".join(["c8r2"] * 11)
    assert lines[13] == "  2 " + "F    " * 12 + "R"
    pattern.counts[0, 0] = 0
    assert printed.plain_lines(pattern)[1].startswith("  A -    c8r2")
    assert printed.legend(pattern) == "f 70.9%, c 17.7%, r 11.4% of 1,320 hands"


@pytest.mark.parametrize(
    ("chances", "text"),
    [
        ([1.0, 0.0, 0.0], "F"),
        ([0.0, 0.95, 0.05], "C"),
        ([0.0, 0.06, 0.94], "r9c1"),
        ([0.34, 0.33, 0.33], "f3c3"),
        ([0.5, 0.0, 0.5], "f5r5"),
    ],
)
def test_cells_in_letters(chances: list[float], text: str) -> None:
    assert printed.plain_cell(chances) == text


@pytest.mark.parametrize(
    ("chances", "parts"),
    [
        ([1.0, 0.0, 0.0], "fffff"),
        ([0.2, 0.4, 0.4], "fccrr"),
        ([0.0, 0.0, 1.0], "rrrrr"),
        ([0.0, 0.05, 0.95], "rrrrr"),
        ([0.0, 0.15, 0.85], "crrrr"),
    ],
)
def test_parts_in_colour(chances: list[float], parts: str) -> None:
    letters = dict(zip(printed.KIND_COLOURS, "fcr", strict=True))
    assert "".join(letters[colour] for colour in printed.part_colours(chances)) == parts


def test_rows_in_colour(pattern: HandGrid) -> None:
    first, second = printed.coloured_lines(pattern)[:2]
    assert first.plain.split() == NAMES[0]
    assert len(first.plain) == 13 * 6
    assert {str(span.style) for span in first.spans[:5]} == {f"white on {printed.RAISE}"}
    assert str(second.spans[0].style) == f"white on {printed.FOLD}"


# The command line


@pytest.fixture
def saved(flop: Strategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    flop.save(tmp_path / "saved")
    return tmp_path / "saved"


BOARD = ["--board", "AcAdAh"]


def test_a_decision_in_the_terminal(
    flop: Strategy, saved: Path, run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same from a saved strategy and from an exported file, with and without colour."""
    grid = hand_grid(flop, "r", "AcAdAh")
    status, out, _ = run_errai("show", "saved", "r", *BOARD)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == f"{flop.game.name} after 'r', board AcAdAh: player 0 acts"
    assert lines[1:15] == printed.plain_lines(grid)
    assert lines[2].startswith("  A -  "), "no pair of aces is left"
    assert lines[15] == f"  {printed.legend(grid)}"
    assert "\x1b" not in out
    one = run_errai("show", "saved", "r", *BOARD, "--hand", "AsKs")[1]
    assert one.startswith(f"{flop.game.name} after 'r' with AsKs on AcAdAh: f 0.")
    status, told, _ = run_errai("export", "saved", "file.play", "--verify")
    assert status == 0
    assert told.startswith(f"file.play: {flop.game.name}, ")
    assert "19,301,880 probabilities of 16 bits, none off by more than " in told
    assert told.endswith("  every bit is as it was written\n")
    assert run_errai("show", "file.play", "r", *BOARD)[1] == out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = run_errai("show", "file.play", "r", *BOARD)[1]
    assert "\x1b[" in coloured
    assert " raise " in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert run_errai("show", "file.play", "r", *BOARD)[1] == out


def test_a_decision_as_data_and_as_a_picture(
    flop: Strategy, saved: Path, run_errai: RunErrai, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    told = json.loads(run_errai("show", "saved", "r", *BOARD, "--plot", "grid.png", "--json")[1])
    (table,) = told["tables"]
    grid = hand_grid(flop, "r", "AcAdAh")
    assert (told["game"], told["betting"], told["picture"]) == (flop.game.name, "r", "grid.png")
    assert (table["position"], table["board"]) == (0, "AcAdAh")
    assert [one["hand"] for one in table["hands"]] == [name for row in NAMES for name in row]
    assert table["hands"][0] == {"hand": "AA", "num_hands": 0, "probabilities": None}
    assert table["hands"][1]["num_hands"] == 1
    assert list(table["hands"][1]["probabilities"].values()) == grid.probabilities[0, 1].tolist()
    assert list(table["probabilities"].values()) == grid.frequencies.tolist()
    from matplotlib.image import imread

    picture = imread(tmp_path / "grid.png")
    shown = {tuple(round(float(x) * 255) for x in pixel[:3]) for pixel in picture.reshape(-1, 4)[::7]}
    for colour in printed.KIND_COLOURS:
        assert tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5)) in shown


def test_raises_of_several_sizes_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shares = np.tile([0.25, 0.25, 0.25, 0.25], (13, 13, 1))
    grid = HandGrid("", "", 0, ("f", "c", "r300", "r20000"), np.ones((13, 13), dtype=np.int64), shares)
    assert grid.by_kind[5, 5].tolist() == [0.25, 0.25, 0.5]
    printed.plot_grid(grid, tmp_path / "grid.svg", "title")
    text = (tmp_path / "grid.svg").read_text()
    assert all(colour in text for colour in printed.action_colours(grid.actions))
    with pytest.raises(UsageError, match="cannot be drawn"):
        printed.plot_grid(grid, tmp_path / "grid.unknown", "title")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "leduc", "--plot", "x.png"], "--hand, --board and --plot need a saved strategy or run"),
        (["show", "kuhn.saved", "--plot", "x.what"], "--plot cannot draw 'x.what'"),
        (["show", "kuhn.saved", "--plot", "x.png", "--hand", "K"], "--hand asks for one hand alone"),
        (["show", "kuhn.saved", "--plot", "x.png"], "'kuhn' is not hold'em with the full deck"),
        (["export", "kuhn.saved"], "the file to write is missing: expected 'errai export kuhn.saved FILE'"),
        (["export", "kuhn.saved", "x.play", "--bits", "12"], "--bits must be 8 or 16, not 12"),
        (["export", "kuhn.saved", "x.play", "--bits", "4"], "--bits must be 8 or more, not 4"),
        (
            ["export", "--verify", "kuhn.saved"],
            "'kuhn.saved' holds 'strategy': expected a file of 'errai export'",
        ),
        (["export", "gone", "x.play"], "'gone' was not found: expected a saved strategy or run"),
    ],
)
def test_bad_lines(tmp_path: Path, run_errai: RunErrai, arguments: list[str], sentence: str) -> None:
    pytest.importorskip("matplotlib")
    errai.uniform_strategy("kuhn").save(tmp_path / "kuhn.saved")
    status, out, error = run_errai(*arguments)
    assert (status, out) == (2, "")
    assert sentence in error
    assert error.count("\n") == 1
