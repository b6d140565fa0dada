"""`errai abstract show`: whole texts and objects, charts of a terminal, and the axes of pictures."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from naive import WITHOUT_JIT

import errai
from errai.abstraction.build import abstract
from errai.abstraction.describe import Members, Profile, features_of, members, profile
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.features.hands import HandClasses
from errai.cli import abstract_show, bars
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.rules import PokerRules

RunErrai = Callable[..., tuple[int, str, str]]

NAME = "IR-HS-HS 2-4 / PR-KE-HS 2-2"
POINTS = Profile(0.25, 0.125, 0.5, 0.0625, (0.0, 0.5, 1.0), (0.25, 0.5, 0.0, 0.25), (0.0, 0.5, 1.0, 1.5))
"""Of three clusters and four strengths; the chart's 1 stands below the third."""


def rules() -> PokerRules:
    found = load_game("leduc")
    assert isinstance(found, PokerRules)
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A folder with an abstraction whose players see differently, and all features."""
    if WITHOUT_JIT:
        pytest.skip("features of a whole game")
    folder = tmp_path_factory.mktemp("home")
    build_features(FeaturePlan.of(rules()), num_threads=1)
    abstract(rules(), NAME, folder / "two")
    return folder


@pytest.fixture
def show(run_errai: RunErrai, home: Path, monkeypatch: pytest.MonkeyPatch) -> RunErrai:
    monkeypatch.chdir(home)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: run_errai("abstract", "show", *words)


def cards(text: str) -> Any:
    return np.array([rules().deck.parse(text)], dtype=np.uint8)


@pytest.mark.parametrize(("player", "bucket"), [(0, 2), (1, 1)])
def test_a_bucket_as_json(show: RunErrai, home: Path, player: int, bucket: int) -> None:
    found = errai.load_abstraction(home / "two")
    features = features_of(found)
    assert features is not None
    hands = members(found, 1, bucket, player, features)
    assert hands.deals is not None
    strength = features.expected_strength(1)[hands.classes]
    order = np.argsort(strength, kind="stable")
    status, out, err = show("two", "--bucket", f"2:{bucket}", "--player", str(player), "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert [one["strength"] for one in told["hands"]] == pytest.approx(strength[order].tolist(), rel=1e-12)
    for place, one in zip(order, told["hands"], strict=True):
        hole, board = one.pop("hand").split("|")
        assert HandClasses(rules()).index(cards(hole + board), 1)[0] == hands.classes[place]
    assert told | {"hands": len(told["hands"])} == {
        "game": "leduc",
        "abstraction": NAME,
        "position": player,
        "round": 2,
        "street": None,
        "bucket": bucket,
        "unit": "classes",
        "num_hands": len(hands),
        "num_deals": int(hands.deals.sum()),
        "num_random_deals": None,
        "mean": json.loads(json.dumps(asdict(profile(features, 1, hands.classes, hands.deals)))),
        "hands": len(hands),
    }


@pytest.mark.parametrize("player", [0, 1])
def test_a_hand_as_json(show: RunErrai, home: Path, player: int) -> None:
    found = errai.load_abstraction(home / "two")
    features = features_of(found)
    assert features is not None
    bucket = int(found.buckets(cards("KsQh"), 1, player)[0])
    others = members(found, 1, bucket, player, features)
    words = ["two", "--hand", "Ks", "--board", "Qh", "--player", str(player), "--json"]
    of_hand = profile(features, 1, HandClasses(rules()).index(cards("KsQh"), 1))
    told = json.loads(show(*words)[1])
    assert told == json.loads(
        json.dumps(
            {
                "game": "leduc",
                "abstraction": NAME,
                "position": player,
                "hand": "Ks",
                "board": "Qh",
                "round": 2,
                "street": None,
                "bucket": bucket,
                "buckets": 4,
                "of_hand": asdict(of_hand),
                "of_bucket": asdict(profile(features, 1, others.classes, others.deals)),
            }
        )
    )


def test_a_bucket_as_text(show: RunErrai, home: Path) -> None:
    out = show("two", "--bucket", "2:1", "--player", "1", "--limit", "1")[1]
    found = errai.load_abstraction(home / "two")
    features = features_of(found)
    assert features is not None
    hands = members(found, 1, 1, 1, features)
    assert hands.deals is not None
    mean = profile(features, 1, hands.classes, hands.deals)
    lines = out.splitlines()
    assert lines[:3] == [
        f"bucket 1 of round 2, {NAME}",
        f"{len(hands)} classes, {hands.deals.sum()} deals",
        f"E[HS] {mean.strength:.4f} on average, from {mean.weakest:.4f} to {mean.strongest:.4f}; "
        f"E[HS2] {mean.squared:.4f}",
    ]
    assert lines[3] == (
        "strength against the opponent's hands, from weak to strong clusters: mean of the bucket"
    )
    assert [line.split()[:3] for line in lines[4:8]] == [
        ["all", "hands", f"{mean.strength:.3f}"],
        *(["cluster", str(k), f"{mean.ochs[k]:.3f}"] for k in range(3)),
    ]
    assert lines[8] == "1 of them, from the weakest to the strongest:"
    assert lines[9].endswith(f" {mean.weakest:.3f}")
    assert len(lines) == 10
    assert len(show("two", "--bucket", "2:1", "--player", "1", "--limit", "0")[1].splitlines()) == 8


def test_a_bucket_in_full(show: RunErrai) -> None:
    """All are shown, so nothing is said of which they are."""
    assert show("two", "--bucket", "2:1", "--player", "1", "--limit", "3")[1] == (
        f"bucket 1 of round 2, {NAME}\n"
        "3 classes, 8 deals\n"
        "E[HS] 0.8125 on average, from 0.6250 to 1.0000; E[HS2] 0.6953\n"
        "strength against the opponent's hands, from weak to strong clusters: mean of the bucket\n"
        f"  all hands  0.812 {'█' * 19}▌\n"
        f"  cluster 0  1.000 {'█' * 24}\n"
        f"  cluster 1  0.750 {'█' * 18}\n"
        f"  cluster 2  0.500 {'█' * 12}\n"
        "  Qh|Kh 0.625   Qh|Qs 1.000   Jh|Js 1.000\n"
    )


def test_an_empty_bucket(show: RunErrai) -> None:
    assert show("two", "--bucket", "2:1")[1] == f"bucket 1 of round 2, {NAME}\n0 classes, 0 deals\n"
    told = json.loads(show("two", "--bucket", "2:1", "--json")[1])
    assert (told["num_hands"], told["num_deals"], told["mean"], told["hands"]) == (0, 0, None, [])


def test_a_hand_as_text(show: RunErrai) -> None:
    assert show("two", "--hand", "K", "--board", "Q", "--player", "1")[1] == (
        f"K on Q: bucket 2 of 4 in round 2, {NAME}\n"
        "  K: E[HS] 0.6250, E[HS2] 0.3906\n"
        "  mean of its bucket: E[HS] 0.6250, E[HS2] 0.3906\n"
        "strength against the opponent's hands, from weak to strong clusters: K, mean of its bucket\n"
        "  all hands  0.625 █████████████▏         0.625 █████████████▏\n"
        "  cluster 0  1.000 █████████████████████  0.500 ██████████▌\n"
        "  cluster 1  0.000                        0.500 ██████████▌\n"
        "  cluster 2  0.500 ██████████▌            0.500 ██████████▌\n"
        "next: errai abstract show two --bucket 2:2\n"
    )


def test_a_hand_of_hold_em(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Streets have names; a bucket of many strengths says from which to which."""
    monkeypatch.setenv("COLUMNS", "80")
    found: Any = SimpleNamespace(
        game=load_game("limit-holdem"),
        name="A",
        buckets=lambda cards, r, player: np.array([1234 + player]),
        num_buckets=lambda r, player: 5000 + player,
    )
    hand = replace(POINTS, points=(), ochs=(), weakest=0.25, strongest=0.25)
    some = Members(np.array([1, 2]), np.array([3, 4]), "classes", lambda at: cards("KsQh"))
    for name, stand_in in (
        ("features_of", lambda found: "features"),
        ("members", lambda *_: some),
        ("profile", lambda features, r, classes, deals=None: hand if deals is None else POINTS),
    ):
        monkeypatch.setattr(f"errai.abstraction.describe.{name}", stand_in)
    abstract_show._show_hand(found, "a b", "AsKd", "Qs7d2c", 1, None, False, 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "AsKd on Qs7d2c: bucket 1235 of 5,001 on the flop, A",
        "  AsKd: E[HS] 0.2500, E[HS2] 0.0625",
        "  mean of its bucket: E[HS] 0.2500 (from 0.1250 to 0.5000), E[HS2] 0.0625",
    ]
    assert lines[-1] == "next: errai abstract show 'a b' --bucket flop:1235"
    abstract_show._show_hand(found, "a b", "AsKd", "Qs7d2c", 1, None, True, 0)
    told = json.loads(capsys.readouterr().out)
    assert (told["round"], told["street"], told["bucket"], told["buckets"]) == (2, "flop", 1235, 5001)


def test_random_deals_and_deals_that_are_not_known(
    show: RunErrai, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seed that is given decides the deals; among these a small bucket need not have been met."""
    seen: list[Any] = []
    deals = np.array([3, 4])

    def stand_in(found: Any, r: int, bucket: int, player: int, features: Any, seed: int) -> Members:
        seen.append((r, bucket, player, features is not None, seed))
        some = np.array([0, 1][: len(deals)], dtype=np.int64)
        return Members(some, deals, "canonical deals", lambda at: np.repeat(cards("KsQh"), len(at), 0), 9876)

    monkeypatch.setattr("errai.abstraction.describe.members", stand_in)
    out = show("two", "--bucket", "2:1", "--player", "1", "--seed", "8")[1]
    assert out.splitlines()[1] == "2 canonical deals among 9,876 random deals"
    told = json.loads(show("two", "--bucket", "2:1", "--json")[1])
    assert (told["num_deals"], told["num_random_deals"], told["unit"]) == (7, 9876, "canonical deals")
    show("two", "--hand", "K", "--seed", "7")
    assert seen == [(1, 1, 1, True, 8), (1, 1, 0, True, 0), (0, seen[2][1], 0, True, 7)]
    deals = np.array([], dtype=np.int64)
    told = json.loads(show("two", "--hand", "K", "--json")[1])
    assert told["of_hand"] is not None
    assert told["of_bucket"] is None
    assert show("two", "--bucket", "2:1")[1].splitlines()[1:] == [
        "0 canonical deals among 9,876 random deals"
    ]
    assert json.loads(show("two", "--bucket", "2:1", "--json")[1])["mean"] is None


def test_without_features(show: RunErrai, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errai.abstraction.describe.features_of", lambda found: None)
    missing = (
        "strengths are not known without the feature cache, which 'errai abstract features leduc' builds"
    )
    lines = show("two", "--bucket", "2:1", "--player", "1", "--limit", "1")[1].splitlines()
    assert lines[1:4] == [
        f"{len(members(errai.load_abstraction(home / 'two'), 1, 1, 1))} classes",
        missing,
        "1 of them, in the order of their numbers:",
    ]
    assert show("two", "--hand", "K")[1].splitlines()[1:] == [missing]
    told = json.loads(show("two", "--bucket", "2:3", "--json")[1])
    assert (told["num_deals"], told["mean"], told["hands"][0]["strength"]) == (None, None, None)
    told = json.loads(show("two", "--hand", "K", "--json")[1])
    assert (told["of_hand"], told["of_bucket"]) == (None, None)
    for what in (["--hand", "K"], ["--bucket", "1:0"]):
        assert show("two", *what, "--plot", "a.png") == (
            2,
            "",
            "errai: --plot has nothing to draw: strengths are not known without the feature cache.\n",
        )


def test_what_is_drawn(show: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(bars, "plot_profiles", lambda *one: drawn.append(one))
    show("two", "--hand", "K", "--board", "Q", "--player", "1", "--plot", "a.png")
    show("two", "--bucket", "2:3", "--plot", "b.png")
    assert [(list(profiles), path, title) for profiles, path, title in drawn] == [
        (["K", "mean of its bucket"], "a.png", f"K on Q: bucket 2 of 4 in round 2, {NAME}"),
        (["mean of the bucket"], "b.png", f"bucket 3 of round 2, {NAME}"),
    ]
    title = show("two", "--hand", "K", "--board", "Q", "--player", "1")[1].splitlines()[0]
    assert title == drawn[0][2]


def test_pictures_are_verified_first(show: RunErrai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abstract_show, "open_abstraction", None)
    assert show("two", "--hand", "K", "--plot", "none/a.png") == (
        2,
        "",
        "errai: --plot cannot draw 'none/a.png': its folder does not exist.\n",
    )


def test_numbers_of_buckets() -> None:
    found: Any = SimpleNamespace(game=load_game("limit-holdem"))
    assert abstract_show._parse_bucket(found, "flop:25") == (1, 25)
    assert abstract_show._parse_bucket(found, "4:0") == (3, 0)
    assert abstract_show._parse_bucket(found, "1:" + "9" * 18) == (0, 10**18 - 1)
    for text in ("flop", "flop:", "flop:-1", "flop:\u00b2", "1:" + "9" * 19):
        with pytest.raises(UsageError, match=r"^--bucket must be ROUND:NUMBER such as 'flop:25' or '2:25', "):
            abstract_show._parse_bucket(found, text)


# Text in columns


def test_hands_in_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Downwards: of five in two columns, three in the first."""
    monkeypatch.setenv("COLUMNS", "24")
    abstract_show._print_hands([("Ah", 0.1), ("Kh", 0.2344), ("Qh", 0.3), ("Jh", 0.4), ("Th", 0.5)])
    abstract_show._print_hands([("Ah", None), ("Kh|Qs", None)])
    abstract_show._print_hands([])
    monkeypatch.setenv("COLUMNS", "3")
    abstract_show._print_hands([("Ah", None), ("Kh", None)])
    assert capsys.readouterr().out == (
        "  Ah 0.100   Jh 0.400\n  Kh 0.234   Th 0.500\n  Qh 0.300\n  Ah      Kh|Qs\n  Ah\n  Kh\n"
    )


def test_chances_as_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On one scale: the largest of all fills the chart. The 1 stands below the strength of 1."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(bars, "blocks_up", lambda: " #")
    monkeypatch.setattr(abstract_show, "CHART_LINES", 2)
    small = replace(POINTS, points=(0.125, 0.125, 0.25, 0.5))
    empty = replace(POINTS, points=())
    abstract_show._draw_points({"a": POINTS, "none": empty, "b": small})
    abstract_show._draw_points({"none": empty})
    assert capsys.readouterr().out == (
        "chance of each strength at the end, a\n  | #\n  |## #\n  +----\n   0 1\n"
        "chance of each strength at the end, b\n  |   #\n  |####\n  +----\n   0 1\n"
    )
    monkeypatch.setenv("COLUMNS", "6")
    abstract_show._draw_points({"a": POINTS})
    assert capsys.readouterr().out.splitlines()[1:] == ["  |#", "  |##", "  +--", "   01"]


def test_strengths_as_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "blocks_right", lambda: " #")
    monkeypatch.setenv("COLUMNS", "36")
    abstract_show._draw_ochs({"a": POINTS})
    monkeypatch.setenv("COLUMNS", "200")
    abstract_show._draw_ochs({"a": replace(POINTS, ochs=()), "b": replace(POINTS, strength=1.0, ochs=())})
    assert capsys.readouterr().out == (
        "strength against the opponent's hands, from weak to strong clusters: a\n"
        "  all hands  0.250 ##\n"
        "  cluster 0  0.000\n"
        "  cluster 1  0.500 ####\n"
        "  cluster 2  1.000 ########\n"
        "strength against the opponent's hands, from weak to strong clusters: a, b\n"
        f"  all hands  0.250 {'#' * 6 + ' ' * 18}  1.000 {'#' * 24}\n"
    )


def test_a_listing_is_even_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = SimpleNamespace(game=rules())
    some = ["KsQh", "KsJh", "JsQh", "QsQh", "JsJh"]
    classes = np.arange(5)
    dealt = np.concatenate([cards(one) for one in some])
    hands = Members(classes, None, "classes", lambda at: dealt[at])
    features: Any = SimpleNamespace(
        plan=SimpleNamespace(runouts=lambda r: 5, max_strength=2),
        strength=lambda r: np.array([4, 3, 2, 6, 1]),
    )
    listed = abstract_show._listed(found, features, hands, 1, 3)
    assert listed == [("Js|Jh", 0.1), ("Ks|Jh", 0.3), ("Qs|Qh", 0.6)]
    assert abstract_show._listed(found, None, hands, 1, 2) == [("Ks|Qh", None), ("Js|Jh", None)]
    assert abstract_show._listed(found, None, hands, 1, 0) == []
    assert len(abstract_show._listed(found, features, hands, 1, 20)) == 5


# Bars


def test_bars_to_their_bounds() -> None:
    assert bars.columns([3.0, 1.0], 2, 1.0, " #") == ["##", "##"], "what is too much fills all"
    assert bars.columns([1e-9], 3, 1.0, " #") == ["", "", "#"]
    assert bars.columns([0.75, 0.25], 1, 1.0, " .:") == [":."]
    assert bars.line(-1.0, 3, " #") == "   "
    assert bars.line(1 / 8, 1, bars.EIGHTHS_RIGHT) == "▏"
    assert bars.line(7 / 8, 1, bars.EIGHTHS_RIGHT) == "▉"
    assert bars.columns([1 / 8, 7 / 8, 1.0], 1, 1.0, bars.EIGHTHS_UP) == ["▁▇█"]
    assert bars.folded([1.0] * 5, 2) == [3.0, 2.0]


@pytest.mark.parametrize(
    ("encoding", "up", "right"),
    [
        ("utf-8", bars.EIGHTHS_UP, bars.EIGHTHS_RIGHT),
        ("ascii", " #", " #"),
        ("cp437", " #", " #"),
        (None, " #", " #"),
        ("no such encoding", " #", " #"),
    ],
)
def test_blocks_that_standard_output_can_show(
    monkeypatch: pytest.MonkeyPatch, encoding: str | None, up: str, right: str
) -> None:
    monkeypatch.setattr(bars, "sys", SimpleNamespace(stdout=SimpleNamespace(encoding=encoding)))
    assert (bars.blocks_up(), bars.blocks_right()) == (up, right)


# Pictures


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are saved, with their paths and resolutions."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    saved: list[Any] = []

    def save(self: Figure, path: str, dpi: int) -> None:
        saved.append((self, path, dpi))

    monkeypatch.setattr(Figure, "savefig", save)
    return saved


def test_a_picture_has_two_charts(figures: list[Any]) -> None:
    other = replace(POINTS, strength=0.75, ochs=(1.0, 0.25, 0.125), points=(0.0, 0.0, 0.5, 0.5))
    bars.plot_profiles({"hand": POINTS, "bucket": other}, "a.png", "title")
    ((figure, path, dpi),) = figures
    assert (path, dpi, figure.get_suptitle()) == ("a.png", 150, "title")
    assert figure.get_size_inches().tolist() == [10, 4]
    chances, strengths = figure.axes
    for line, name, one in zip(chances.get_lines(), ("hand", "bucket"), (POINTS, other), strict=True):
        assert line.get_label() == name
        assert tuple(line.get_xdata()) == one.grid
        assert tuple(line.get_ydata()) == one.points
        assert line.get_drawstyle() == "steps-mid"
    assert (chances.get_xlabel(), chances.get_ylabel()) == ("hand strength at the end", "chance")
    assert chances.get_xlim() == (0, 1)
    assert len(chances.collections) == 2
    assert [text.get_text() for text in chances.get_legend().get_texts()] == ["hand", "bucket"]
    assert (strengths.get_xlabel(), strengths.get_ylabel()) == (
        "opponent cluster, from weak to strong hands",
        "strength against it",
    )
    assert strengths.get_ylim() == (0, 1)
    assert [text.get_text() for text in strengths.get_xticklabels()] == ["all", "0", "1", "2"]
    assert [text.get_text() for text in strengths.get_legend().get_texts()] == ["hand", "bucket"]
    heights = [[bar.get_height() for bar in some] for some in strengths.containers]
    assert heights == [[0.25, 0.0, 0.5, 1.0], [0.75, 1.0, 0.25, 0.125]]
    edges = [(round(bar.get_x(), 9), round(bar.get_width(), 9)) for bar in strengths.patches]
    assert edges == [(k - 0.4, 0.4) for k in range(4)] + [(k, 0.4) for k in range(4)], "side by side"


def test_a_picture_of_the_last_round_has_one_chart(figures: list[Any]) -> None:
    bars.plot_profiles({"hand": POINTS, "bucket": replace(POINTS, points=())}, "a.png", "title")
    ((figure, _, _),) = figures
    assert figure.get_size_inches().tolist() == [6, 4]
    (strengths,) = figure.axes
    assert strengths.get_ylabel() == "strength against it"


def test_a_picture_that_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def save(*_: object, **__: object) -> None:
        raise ValueError("a reason\nand more")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", save)
    with pytest.raises(UsageError, match=r"^'a\.png' cannot be drawn: a reason$"):
        bars.plot_profiles({"hand": POINTS}, "a.png", "title")
