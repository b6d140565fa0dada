"""Play files: the same strategy from one file that needs nothing else, refused where it is damaged."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive.quantise import naive_quantised

import errai
from errai import array_file
from errai.abstraction.named_groups import leduc_abstraction
from errai.abstraction.public.abstract import abstract_public
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.runs import export, folder
from errai.strategy import play_file, play_file_writer
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import BucketSet, InformationSet
from errai.strategy.play_file import PlayFile, open_play_file
from errai.strategy.quantised import Quantiser, table_chunks
from errai.strategy.strategy import Strategy, strategy_from_function
from errai.tables import groups
from errai.tables.bucket_layout import bucket_layout

DEALS = (("", "As", ""), ("rc/", "2h", "Kd"), ("cc/rrc/c", "Td", "Tc9c"), ("cc/cr", "Td", "Tc"))


def random_tables(num_slots: tuple[int, int], seed: int = 1) -> tuple[Any, Any]:
    """Weights of which a third are zero and some negative."""
    rng = np.random.default_rng(seed)
    first, second = (
        np.where(rng.random(size) < 1 / 3, -rng.integers(0, 2, size), rng.random(size)).astype(np.float32)
        for size in num_slots
    )
    return first, second


def as_floats(strategy: Strategy | BucketStrategy) -> tuple[Any, Any]:
    return strategy.tables[0].astype(np.float64), strategy.tables[1].astype(np.float64)


def random_leduc(seed: int = 1) -> Strategy:
    tree = PublicTree.of("leduc")
    return Strategy(tree, random_tables(tree.layout.num_slots, seed))


def assert_rounded(
    opened: PlayFile | Strategy | BucketStrategy, strategy: Strategy | BucketStrategy, bits: int
) -> None:
    """Every information set is the one that was exported, rounded by the slow twin."""
    scale = (1 << bits) - 1
    played = opened.strategy if isinstance(opened, PlayFile) else opened
    num_sets, worst = 0, 0.0
    for found, given in zip(played.information_sets(), strategy.information_sets(), strict=True):
        assert found[:-1] == given[:-1]
        assert isinstance(found, InformationSet | BucketSet)
        assert isinstance(given, InformationSet | BucketSet)
        # Not the numbers themselves: two remainders may be the same, and a row of zeros is no error at all.
        _, error = naive_quantised(given.probabilities, scale)
        far = max(abs(x - y) for x, y in zip(found.probabilities, given.probabilities, strict=True))
        assert far <= float(error) + 1e-9
        worst = max(worst, far)
        num_sets += 1
    assert num_sets > 0
    if isinstance(opened, PlayFile):
        assert worst == pytest.approx(opened.largest_error, abs=1e-9)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_strategy_of_hands(tmp_path: Path, bits: int) -> None:
    strategy = random_leduc()
    opened = errai.export_strategy(strategy, tmp_path / "leduc.play", bits=bits)
    assert_rounded(opened, strategy, bits)
    assert opened.largest_error < 1.5 / (1 << bits)
    assert opened.tables[0].dtype == (np.uint8 if bits == 8 else np.uint16)
    assert not opened.tables[0].flags.writeable
    assert (opened.game, opened.layout) == (strategy.game, opened.tree.layout)
    assert opened.manifest["source"] == {"fingerprint": "", "iterations": None}
    assert opened.manifest["abstraction"] is None
    assert opened.manifest["bits"] == bits
    for one in strategy.information_sets():
        asked = opened.probabilities(one.betting, one.hand, one.board)
        assert tuple(asked.values()) == pytest.approx(one.probabilities, abs=opened.largest_error + 1e-12)


def test_a_row_without_weights_is_uniform(tmp_path: Path) -> None:
    opened = errai.export_strategy(errai.uniform_strategy("kuhn"), tmp_path / "kuhn.play", bits=8)
    assert opened.probabilities("cr", "K") == {"f": 0.5, "c": 0.5}
    assert opened.largest_error == 0.0


def test_a_run(tmp_path: Path) -> None:
    run = errai.solve("leduc", iterations=20, out=tmp_path / "run")
    opened = errai.export_strategy(tmp_path / "run", tmp_path / "leduc.play")
    assert_rounded(opened, run.average, 16)
    mark = (tmp_path / "run" / "fingerprint").read_text().strip()
    assert opened.manifest["source"] == {"fingerprint": mark, "iterations": 20}
    loaded = errai.load_strategy(tmp_path / "leduc.play", verify=True)
    assert isinstance(loaded, Strategy)
    assert folder.saved_game(tmp_path / "leduc.play") == (errai.load_game("leduc"), None)


def test_a_run_with_an_abstraction(tmp_path: Path) -> None:
    abstraction = leduc_abstraction("[JQ.K]")
    run = errai.solve("leduc", iterations=20, abstraction=abstraction, out=tmp_path / "run")
    opened = errai.export_strategy(tmp_path / "run", tmp_path / "leduc.play")
    shutil.rmtree(tmp_path / "run")
    assert opened.manifest["abstraction"]["name"] == "[JQ.K]"
    again = open_play_file(tmp_path / "leduc.play")
    assert_rounded(again, run.average, 16)
    assert again.tree.buckets is not None
    assert again.tree.buckets.fingerprint == again.manifest["abstraction"]["fingerprint"]
    assert len(again.tables[0]) < len(random_leduc().tables[0])


def test_a_saved_strategy(tmp_path: Path) -> None:
    """The numbers are those of the strategy itself; where they came from is told."""
    strategy = random_leduc()
    strategy.save(tmp_path / "saved")
    of_file = errai.export_strategy(tmp_path / "saved", tmp_path / "a.play")
    of_object = errai.export_strategy(strategy, tmp_path / "b.play")
    assert all((x == y).all() for x, y in zip(of_file.tables, of_object.tables, strict=True))
    mark = array_file.read_header_checksum(tmp_path / "saved")
    assert of_file.manifest["source"]["fingerprint"] == mark
    assert of_file.fingerprint != of_object.fingerprint


def test_the_same_strategy_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.play", "b.play"):
        errai.export_strategy(random_leduc(), tmp_path / name)
    assert (tmp_path / "a.play").read_bytes() == (tmp_path / "b.play").read_bytes()
    errai.export_strategy(random_leduc(2), tmp_path / "b.play")
    assert open_play_file(tmp_path / "a.play").fingerprint != open_play_file(tmp_path / "b.play").fingerprint


def test_tables_in_several_files_and_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the groups of a checkpoint nor the chunks of a table show in the file."""
    run = errai.solve("leduc", iterations=5, out=tmp_path / "whole")
    whole = errai.export_strategy(tmp_path / "whole", tmp_path / "whole.play")
    monkeypatch.setattr(groups, "GROUP_BYTES", 100)
    errai.solve("leduc", iterations=5, out=tmp_path / "parts")
    assert len(list((tmp_path / "parts").glob("averages-0.*.array"))) > 2
    monkeypatch.setattr(
        play_file_writer,
        "table_chunks",
        lambda walk, layout, boards, player: table_chunks(walk, layout, boards, player, 50),
    )
    parts = errai.export_strategy(tmp_path / "parts", tmp_path / "parts.play")
    assert all((x == y).all() for x, y in zip(whole.tables, parts.tables, strict=True))
    assert parts.largest_error == whole.largest_error
    assert_rounded(parts, run.average, 16)


def bucket_strategy(saved: Path) -> BucketStrategy:
    empty = BucketStrategy.uniform(PublicTree.of("rhode-island"), saved)
    return BucketStrategy(empty.tree, empty.saved, random_tables(empty.layout.num_slots))


@pytest.mark.parametrize("kind", ["imperfect", "perfect", "asymmetric", "refined", "public"])
def test_a_file_of_buckets_needs_nothing_else(folders: Path, tmp_path: Path, kind: str) -> None:
    """Every kind of abstraction, after its folder and the strategy's have gone."""
    saved = tmp_path / "saved"
    if kind == "public":
        abstract_public(folders / "imperfect", saved, public_clusters=3, buckets=(4, 5))
    else:
        shutil.copytree(folders / kind, saved)
    strategy = bucket_strategy(saved)
    abstraction = strategy.saved.abstraction
    errai.export_strategy(strategy, tmp_path / "first.play")
    cards = np.stack([np.random.default_rng(9).permutation(52)[:3] for _ in range(200)]).astype(np.uint8)
    expected = [
        [abstraction.buckets(np.ascontiguousarray(cards[:, : 1 + r]), r, player) for r in range(3)]
        for player in (0, 1)
    ]
    asked = [strategy.probabilities(*deal) for deal in DEALS]
    sets = list(strategy.information_sets())
    if kind != "public":  # whose tables are in memory; those of others are mapped, and stay while they are
        del abstraction
    shutil.rmtree(saved)
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "moved.play"
    (tmp_path / "first.play").rename(path)
    opened = open_play_file(path, verify=True)
    played = opened.strategy
    assert isinstance(played, BucketStrategy)
    assert opened.layout is played.layout
    assert played.saved.abstraction.name == opened.manifest["abstraction"]["name"]
    for player in (0, 1):
        for r in range(3):
            seen = np.ascontiguousarray(cards[:, : 1 + r])
            assert (played.saved.abstraction.buckets(seen, r, player) == expected[player][r]).all()
    for deal, chances in zip(DEALS, asked, strict=True):
        found = opened.probabilities(*deal)
        assert list(found) == list(chances)
        assert list(found.values()) == pytest.approx(list(chances.values()), abs=opened.largest_error + 1e-9)
    for one, given in zip(played.information_sets(), sets, strict=True):
        assert one[:-1] == given[:-1]
        assert one.probabilities == pytest.approx(given.probabilities, abs=opened.largest_error + 1e-9)
    with pytest.raises(
        UsageError, match=r"a strategy whose abstraction is inside '.*moved.play' cannot be saved"
    ):
        played.save(tmp_path / "again")


def test_an_export_of_an_export(folders: Path, tmp_path: Path) -> None:
    """Fewer bits of a file that has the abstraction inside, whose origin it keeps."""
    errai.solve("leduc", iterations=3, out=tmp_path / "run")
    errai.export_strategy(tmp_path / "run", tmp_path / "leduc.play")
    again = errai.export_strategy(tmp_path / "leduc.play", tmp_path / "leduc8.play", bits=8)
    assert again.manifest["source"]["iterations"] == 3
    fine = errai.export_strategy(bucket_strategy(folders / "perfect"), tmp_path / "fine.play")
    coarse = errai.export_strategy(tmp_path / "fine.play", tmp_path / "coarse.play", bits=8)
    assert_rounded(coarse, fine.strategy, 8)
    seen = [one.manifest["abstraction"] for one in (fine, coarse)]
    assert seen[0] == seen[1]


def test_mapped_strategies_are_measured_like_others(folders: Path, tmp_path: Path) -> None:
    """Responses, values and deals take whole numbers, and find what they find of the same fractions."""
    strategy = bucket_strategy(folders / "imperfect")
    played = errai.export_strategy(strategy, tmp_path / "ri.play").strategy
    assert isinstance(played, BucketStrategy)
    exact = BucketStrategy(strategy.tree, strategy.saved, as_floats(played))
    values = [errai.expected_value(one, "half", deals=50, seed=3).positions for one in (played, exact)]
    assert values[0] == values[1]
    sampled = [errai.exploitability(one, flops=2).chips for one in (played, exact)]
    assert sampled[0] == sampled[1]
    leduc = errai.export_strategy(random_leduc(), tmp_path / "leduc.play").strategy
    assert isinstance(leduc, Strategy)
    same = Strategy(PublicTree.of("leduc"), as_floats(leduc))
    assert errai.exploitability(leduc).chips == errai.exploitability(same).chips
    assert errai.best_response(leduc).values == errai.best_response(same).values
    assert errai.expected_value(leduc, random_leduc(2)) == errai.expected_value(same, random_leduc(2))
    changed = leduc.changed({("", "K"): {"r": 0.25, "c": 0.75}})
    assert changed.probabilities("", "K") == {"c": 0.75, "r": 0.25}
    assert changed.probabilities("", "Q") == leduc.probabilities("", "Q")


def test_bet_sizes_and_payoffs_are_kept(tmp_path: Path) -> None:
    game = tmp_path / "small.game"
    game.write_text(
        "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 1\nstack = 8 8\nblind = 1 1\nfirstPlayer = 1\n"
        "numSuits = 1\nnumRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n"
    )
    from errai.tree.bet_menu import BetMenu

    menu = BetMenu.parse("1p,a")
    strategy = strategy_from_function(game, lambda betting, hand, board, actions: {actions[-1]: 1.0}, menu)
    opened = errai.export_strategy(strategy, tmp_path / "small.play")
    game.unlink()
    again = errai.load_strategy(tmp_path / "small.play")
    assert isinstance(again, Strategy)
    assert (again.tree.menu, again.game) == (menu, strategy.game)
    assert_rounded(open_play_file(opened.path), strategy, 16)


# What is refused


@pytest.fixture
def leduc_file(tmp_path: Path) -> Path:
    errai.export_strategy(random_leduc(), tmp_path / "leduc.play")
    return tmp_path / "leduc.play"


def test_a_thousand_flipped_bits_are_noticed(leduc_file: Path) -> None:
    content = bytearray(leduc_file.read_bytes())
    rng = np.random.default_rng(11)
    places = rng.choice(8 * len(content), 1000, replace=False).tolist()
    for bit in places:
        content[bit // 8] ^= 1 << bit % 8
        leduc_file.write_bytes(content)
        with pytest.raises(UsageError, match=r"leduc\.play'"):
            open_play_file(leduc_file, verify=True)
        content[bit // 8] ^= 1 << bit % 8
    leduc_file.write_bytes(content)
    open_play_file(leduc_file, verify=True).verify()


def test_opening_reads_the_manifest_alone(leduc_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage in a table is not seen before it is looked for, by name and place."""
    content = bytearray(leduc_file.read_bytes())
    content[-4096] ^= 1
    leduc_file.write_bytes(content)
    opened = open_play_file(leduc_file)
    with pytest.raises(UsageError, match=r"leduc\.play' is damaged: bytes 0 to 49,152 of its array"):
        opened.verify()
    with pytest.raises(UsageError, match="is damaged"):
        errai.load_strategy(leduc_file, verify=True)
    with pytest.raises(UsageError, match="is damaged"):
        errai.export_strategy(leduc_file, leduc_file.with_name("again.play"))
    assert not leduc_file.with_name("again.play").exists()


def test_verifying_tells_how_far_it_is(leduc_file: Path) -> None:
    told: list[tuple[int, int]] = []
    open_play_file(leduc_file).verify(lambda done, total: told.append((done, total)))
    assert told == [(49152, 49152)]


def test_what_is_no_play_file_is_refused_by_name(tmp_path: Path, leduc_file: Path) -> None:
    random_leduc().save(tmp_path / "saved")
    with pytest.raises(UsageError, match=r"saved' holds 'strategy': expected a file of 'errai export'"):
        open_play_file(tmp_path / "saved")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="text' is not an array file of Errai"):
        open_play_file(tmp_path / "text")
    with pytest.raises(UsageError, match=r"gone' cannot be read: No such file"):
        open_play_file(tmp_path / "gone")
    leduc_file.write_bytes(leduc_file.read_bytes()[:-1])
    with pytest.raises(UsageError, match=r"leduc\.play' is damaged: it has"):
        errai.load_strategy(leduc_file)


@pytest.mark.parametrize("what", ["FORMAT", "LAYOUT"])
def test_other_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(play_file_writer, what, 99)
    with pytest.raises(UsageError, match=r"99.*expected version 1 with layout 3, so export it again"):
        errai.export_strategy(random_leduc(), tmp_path / "leduc.play")


@pytest.mark.parametrize(
    ("source", "path", "more", "sentence"),
    [
        ("gone", "x.play", {}, "'gone' was not found: expected a saved strategy or run"),
        (".", "x.play", {}, "'.' is not a run: it has no checkpoint.json"),
        (3, "x.play", {}, "expected a strategy, or the path of one or of a run, not 3"),
        ("leduc.play", 3, {}, "expected the path of a file to write, not 3"),
        ("leduc.play", ".", {}, "'.' cannot be written: it is a folder"),
        ("leduc.play", "no/x.play", {}, "'no/x.play' cannot be written: its folder does not exist"),
        ("leduc.play", "x.play", {"bits": 12}, "bits must be 8 or 16, not 12"),
    ],
)
def test_bad_arguments(
    leduc_file: Path, monkeypatch: pytest.MonkeyPatch, source: Any, path: Any, more: Any, sentence: str
) -> None:
    monkeypatch.chdir(leduc_file.parent)
    with pytest.raises(UsageError) as caught:
        errai.export_strategy(source, path, **more)
    assert str(caught.value) == sentence
    assert {one.name for one in leduc_file.parent.iterdir()} == {"leduc.play"}


def test_tables_of_another_game_are_refused(tmp_path: Path) -> None:
    strategy = random_leduc()
    source = replace(export._play_source(strategy), tables=([strategy.tables[0][1:]], [strategy.tables[1]]))
    with pytest.raises(UsageError, match="the strategy has tables that do not fit its game 'leduc'"):
        play_file_writer.write_play_file(source, tmp_path / "x.play")


def test_an_abstraction_that_has_changed_is_refused(folders: Path, tmp_path: Path) -> None:
    strategy = bucket_strategy(folders / "perfect")
    other = replace(strategy, saved=replace(strategy.saved, folder=folders / "asymmetric"))
    with pytest.raises(UsageError, match="asymmetric' has changed: its fingerprint is"):
        errai.export_strategy(other, tmp_path / "x.play")


def test_a_full_disk_is_seen_before_anything_is_written(
    leduc_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = leduc_file.read_bytes()
    monkeypatch.setattr(play_file_writer, "free_disk", lambda folder: 49151)
    with pytest.raises(UsageError, match=r"leduc.play' needs 48.0 KiB of disk, and 47.9 KiB are free"):
        errai.export_strategy(random_leduc(2), leduc_file)
    assert leduc_file.read_bytes() == before
    monkeypatch.setattr(play_file_writer, "free_disk", lambda folder: 49152)
    errai.export_strategy(random_leduc(2), leduc_file)
    assert leduc_file.read_bytes() != before


def test_an_export_that_ends_early_leaves_what_was_there(leduc_file: Path) -> None:
    before = leduc_file.read_bytes()

    def interrupt(stage: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        errai.export_strategy(random_leduc(2), leduc_file, report=interrupt)
    assert leduc_file.read_bytes() == before
    assert [one.name for one in leduc_file.parent.iterdir()] == ["leduc.play"]


def test_progress_is_in_bytes(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    errai.export_strategy(random_leduc(), tmp_path / "x.play", report=lambda *what: told.append(what))
    assert told[-1][0] == "the strategy: writing"
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert all(done <= total for _, done, total in told)


def test_blocks_are_checked_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of any size make the same blocks."""
    monkeypatch.setattr(array_file, "BLOCK_BYTES", 1000)
    opened = errai.export_strategy(random_leduc(), tmp_path / "x.play")
    told: list[int] = []
    opened.verify(lambda done, total: told.append(done))
    assert told == [*range(1000, 49152, 1000), 49152]
    content = bytearray(opened.path.read_bytes())
    content[len(content) - 49152 + 2500] ^= 1
    opened.path.write_bytes(content)
    with pytest.raises(UsageError, match="bytes 2,000 to 3,000 of its array"):
        opened.verify()


def test_the_file_says_what_it_is(leduc_file: Path) -> None:
    """What another program needs: rules, sections, scale, all in the header of an array file."""
    header = array_file.read_header(leduc_file)
    assert (header.name, header.dtype, header.units) == ("play-file", "|u1", "bytes")
    assert header.notes["scale"] == 65535
    names = [one["name"] for one in header.notes["sections"]]
    assert names[-2:] == ["weights-0", "weights-1"]
    assert {"tree/parent", "tree/chips", "tree/slot"} <= set(names)
    assert all(one["begin"] % array_file.PAGE == 0 for one in header.notes["sections"])
    assert play_file.play_file_game(leduc_file)[0] == errai.load_game("leduc")


@pytest.mark.parametrize("most_slots", [5, 64, 10**6])
def test_chunks_of_buckets_cut_large_decisions_at_rows(folders: Path, most_slots: int) -> None:
    tree = PublicTree.of("rhode-island")
    abstraction = errai.load_abstraction(folders / "imperfect")
    layout = bucket_layout(tree.walk, Deals(tree.rules), (abstraction, abstraction))
    chunks = list(table_chunks(tree.walk, layout, None, 1, most_slots))
    assert sum(one.end - one.begin for one in chunks) == layout.num_slots[1]
    assert max(one.end - one.begin for one in chunks) <= max(most_slots, 13 * 3)
    quantiser, whole = Quantiser(8), Quantiser(8)
    table = np.random.default_rng(1).random(layout.num_slots[1])
    parts = np.concatenate([quantiser(table[one.begin : one.end], one) for one in chunks])
    (single,) = table_chunks(tree.walk, layout, None, 1, 10**9)
    assert (parts == whole(table, single)).all()
    assert quantiser.largest_error == whole.largest_error
