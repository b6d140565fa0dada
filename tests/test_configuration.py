"""One configuration: to `run.toml` and back as the same object, and nothing else is read."""

import math
import re
from pathlib import Path

import pytest
from pydantic import Field

import errai
from errai.array_file import checksum
from errai.errors import UsageError
from errai.games.payoffs import Payoffs
from errai.runs.configuration import RunConfiguration
from errai.runs.folder import RunFolder
from errai.runs.job import prepare_resumed
from errai.runs.rule_section import ForeignRule, LinearProgramme
from errai.runs.run import configure
from errai.runs.sections import AbstractionSection
from errai.solvers.solve import configured_rule
from errai.solvers.update_rules import FactorRule, UpdateRule
from errai.tree.bet_menu import BetMenu

GAME_FILES = Path(__file__).parent / "game_files"
LEDUC = errai.load_game("leduc")
MARK = AbstractionSection(name="[JQ.K]", fingerprint="0123456789abcdef")
DCFR = RunConfiguration.of(LEDUC, None, configured_rule("dcfr", delay=4), "float64", seed=3, abstraction=MARK)


@pytest.mark.parametrize(
    "configuration",
    [
        DCFR,
        RunConfiguration.of(LEDUC, None, configured_rule("cfr+", alternating=False), "float32"),
        RunConfiguration.of(LEDUC, None, configured_rule("dcfr", discount=(1.0, 0.5, 2.0)), "float64"),
        RunConfiguration.of(
            LEDUC, None, configured_rule("dcfr", discount=(math.inf, -math.inf, 2.0)), "float64"
        ),
        RunConfiguration.of(
            LEDUC,
            None,
            configured_rule("pcfr+", delay=2),
            "float64",
            payoffs=Payoffs.parse("rake 5%; tilt 7,0,0,7 / 0,-3.5,0,0"),
        ),
        RunConfiguration.of(LEDUC, None, LinearProgramme(), "float64"),
        RunConfiguration.of(
            errai.load_game(GAME_FILES / "leduc.limit.2p.game"), None, configured_rule("cfr"), "float64"
        ),
        RunConfiguration.of(
            errai.load_game("nolimit-holdem"),
            BetMenu.parse("0.5p,1p|all-in / min", 3, 0.05),
            configured_rule("linear-cfr"),
            "float32",
            payoffs=Payoffs.parse("rake 5% cap 3"),
        ),
    ],
    ids=lambda one: f"{one.game.name}-{one.algorithm.name}",
)
def test_what_is_read_is_what_was_written(configuration: RunConfiguration) -> None:
    back = RunConfiguration.parse(configuration.text(), "run.toml")
    assert back == configuration
    assert back.text() == configuration.text()
    assert back.restored == configuration.restored
    assert back.algorithm == configuration.algorithm
    assert back.restored_payoffs == configuration.restored_payoffs


def test_text_is_for_people() -> None:
    assert DCFR.text() == (
        "# A run of Errai. Nothing here may change: the fingerprint beside it is checked.\n\n"
        '[format]\nkind = "run"\nversion = 4\n\n'
        '[game]\nname = "leduc"\n\n'
        '[abstraction]\nname = "[JQ.K]"\nfingerprint = "0123456789abcdef"\n\n'
        '[algorithm]\nname = "dcfr"\nalternating = true\ndelay = 4\naverage_power = 0.0\nfloor = false\n'
        "discount = [\n    1.5,\n    0.0,\n    2.0,\n]\n\n"
        '[tables]\ndtype = "float64"\n\n'
        "[random]\nseed = 3\n"
    )


DAMAGE = [
    ("[game]", "[game", "is not TOML: Expected ']' at the end of a table declaration (at line 7, column 6)"),
    ("version = 4", "version = 1", "has format version 1: expected version 4"),
    ("version = 4", 'version = "4"', "format.version must be 2, 3 or 4, not '4'"),
    ('kind = "run"', 'kind = "walk"', "format.kind must be 'run', not 'walk'"),
    ("kind", "sort", "format.sort is unknown: expected kind, version"),
    ('[game]\nname = "leduc"\n', "", "game is missing"),
    ('[game]\nname = "leduc"\n', "[game]\n", "game.name is missing"),
    ('"leduc"', '"chess"', "game: 'chess' is neither a game nor an ACPC game file"),
    ('"leduc"', "7", "game.name must be text, not 7"),
    ('"leduc"', '"leduc"\nfile = "chess"', "game.file is 'chess': line 1 of 'a game': 'chess' stands where"),
    ("[game]", '[bets]\nmenu = "big"\n[game]', "bets.menu is 'big': 'big' in the menu 'big' is not a bet"),
    ("[game]", "[bets]\n[game]", "bets.menu is missing"),
    (
        "[game]",
        '[bets]\nmenu = "1p"\nmax_raises = -1\n[game]',
        "bets.max_raises must be 0 or more, not -1",
    ),
    (
        "[game]",
        '[bets]\nmenu = "1p"\nforce_all_in = "1/0"\n[game]',
        "bets.force_all_in is '1/0': expected a",
    ),
    (
        "[game]",
        '[bets]\nmenu = "1p"\nforce_all_in = "-1"\n[game]',
        "bets.force_all_in is '-1': expected a",
    ),
    ('fingerprint = "0123456789abcdef"\n', "", "abstraction.fingerprint is missing"),
    ('fingerprint = "0123456789abcdef"', "fingerprint = 5", "abstraction.fingerprint must be text, not 5"),
    ("[algorithm]", "[algorithms]", "algorithm is missing"),
    ('name = "dcfr"\n', "", "algorithm.name is missing"),
    ('"dcfr"', '"best"', "algorithm: unknown algorithm 'best': expected cfr, cfr+, linear-cfr, dcfr"),
    (
        '"dcfr"',
        '"cfr+"',
        "algorithm.discount is unknown: expected name, alternating, delay, average_power, floor",
    ),
    ('"dcfr"', '"pcfr+"', "algorithm.floor is unknown: expected name, alternating, delay, average_power"),
    (
        '"dcfr"',
        '"linear-cfr"',
        "algorithm: discount of 'linear-cfr' must be (1.0, 1.0, 1.0), not (1.5, 0.0, 2.0)",
    ),
    ("floor = false", "floor = true", "algorithm: floor of 'dcfr' must be False, not True"),
    ("floor = false", "floor = 0", "algorithm.floor must be true or false, not 0"),
    ("floor = false\n", "", "algorithm.floor is missing"),
    (
        "average_power = 0.0",
        "average_power = nan",
        "algorithm: average_power of 'FactorRule' must be a number, not NaN",
    ),
    ('"dcfr"', '"lp"', "algorithm.alternating is unknown: expected name"),
    ("true", '"yes"', "algorithm.alternating must be true or false, not 'yes'"),
    ("delay = 4", 'delay = "soon"', "algorithm.delay must be a whole number, not 'soon'"),
    ("delay = 4", "delay = -4", "algorithm: the delay must be 0 or more iterations, not -4"),
    ("delay = 4", "delay = 0.5", "algorithm.delay must be a whole number, not 0.5"),
    ("delay = 4\n", "", "algorithm.delay is missing"),
    (
        "delay",
        "speed = 3\ndelay",
        "algorithm.speed is unknown: expected name, alternating, delay, average_power,",
    ),
    ("    2.0,\n", "", "algorithm.discount is (1.5, 0.0): expected more entries"),
    ("2.0,", "2.0, 3.0,", "algorithm.discount must have at most 3 entries, not 4"),
    ("2.0,", '"two",', "algorithm.discount, entry 3 must be a number, not 'two'"),
    ('[tables]\ndtype = "float64"\n', "", "tables is missing"),
    ('"float64"', '"int8"', "tables.dtype must be 'float32' or 'float64', not 'int8'"),
    ("seed = 3", "seed = -3", "random.seed must be 0 or more, not -3"),
    ("seed = 3", "seed = true", "random.seed must be a whole number, not true"),
    ("seed = 3", "seeds = 3", "random.seeds is unknown: expected seed"),
    (
        "[random]",
        "[luck]\n[random]",
        "luck is unknown: expected format, game, bets, abstraction, algorithm, payoffs,",
    ),
    ("[format]", "payoffs = 3\n[format]", "payoffs must be a section, not 3"),
    ("[game]", '[payoffs]\ntext = "rake 5"\n[game]', "payoffs.text is 'rake 5': 'rake 5' are not payoffs"),
    ("[game]", "[payoffs]\nrake = 0.05\n[game]", "payoffs.text is missing"),
    ("[game]", '[payoffs]\ntext = "plain"\ncap = 3\n[game]', "payoffs.cap is unknown: expected text"),
]


@pytest.mark.parametrize(("old", "new", "told"), DAMAGE, ids=lambda value: " ".join(value.split())[:30])
def test_damage_is_one_sentence(old: str, new: str, told: str) -> None:
    text = DCFR.text()
    assert old in text
    with pytest.raises(UsageError) as refused:
        RunConfiguration.parse(text.replace(old, new, 1), "x/run.toml")
    assert type(refused.value) is UsageError
    assert str(refused.value).startswith("'x/run.toml' ")
    assert told in str(refused.value)


def test_sections_must_be_sections() -> None:
    text = DCFR.text().partition("[algorithm]")
    rest = text[2].partition("[tables]")
    with pytest.raises(UsageError, match="algorithm is 3: expected a section"):
        RunConfiguration.parse(f"algorithm = 3\n{text[0]}[tables]{rest[2]}", "x")
    for nothing in ("", "# nothing\n", "x" * 10_000, "[" * 5000):
        with pytest.raises(UsageError, match="'x' "):
            RunConfiguration.parse(nothing, "x")


def test_signed_damage_is_told_by_every_reader(
    run_errai,
    tmp_path: Path,
) -> None:
    """A run.toml that was changed and signed anew: each command refuses it in one sentence."""
    run = tmp_path / "run"
    errai.solve(LEDUC, "dcfr", 5, delay=4, out=run, seed=3)
    text = (run / "run.toml").read_text()
    tried = 0
    for old, new, told in DAMAGE:
        if old not in text:
            continue
        tried += 1
        damaged = text.replace(old, new, 1)
        (run / "run.toml").write_text(damaged)
        (run / "fingerprint").write_text(checksum(damaged.encode()) + "\n")
        for read in (RunFolder, errai.load_strategy, prepare_resumed):
            with pytest.raises(UsageError, match=re.escape(told)):
                read(run)
        status, out, err = run_errai("exploit", "run")
        said = re.sub(r"errai: compiling kernels .*\n", "", err)
        assert (status, out, said.count("\n")) == (2, "", 1)
        assert told in said
    assert tried > 30


def test_impossible_values_are_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^seed must be 0 or more, not -1"):
        errai.solve(LEDUC, iterations=5, seed=-1, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_nothing_in_it_can_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        DCFR.game.name = "kuhn"
    with pytest.raises(ValueError, match="frozen"):
        DCFR.random = DCFR.random


def test_a_rule_of_ones_own_is_kept_by_name_and_goes_on_where_it_is_given(tmp_path: Path) -> None:
    mine = FactorRule(name="mine", floor=True, average_power=1.0)
    straight = errai.solve(LEDUC, mine, 20)
    errai.solve(LEDUC, mine, 10, out=tmp_path / "run")
    found = RunFolder(tmp_path / "run").configuration.algorithm
    assert isinstance(found, ForeignRule)
    assert (found.name, found.origin) == ("mine", "errai.solvers.update_rules.FactorRule")
    with pytest.raises(
        UsageError, match=r"by the rule 'mine' \(errai.*FactorRule\), which Errai does not know"
    ):
        prepare_resumed(tmp_path / "run")
    with pytest.raises(UsageError, match="a run with floor 'True', not 'False'"):
        errai.solve(LEDUC, mine.with_options(floor=False), 20, out=tmp_path / "run", resume=True)
    resumed = errai.solve(LEDUC, mine, 20, out=tmp_path / "run", resume=True)
    loaded = errai.load_strategy(tmp_path / "run")
    for table, other, back in zip(
        straight.strategy.tables, resumed.strategy.tables, loaded.tables, strict=True
    ):
        assert (table == other).all()
        assert (table == back).all()
    with pytest.raises(UsageError, match="a run with delay '0', not '3'"):
        errai.solve(LEDUC, mine, 30, delay=3, out=tmp_path / "run", resume=True)


def test_a_rule_under_a_borrowed_name_is_not_the_named_one() -> None:
    for rule in (
        FactorRule(name="cfr+"),
        FactorRule(name="cfr", discount=(1.0, 1.0, 1.0)),
        UpdateRule(name="cfr"),
    ):
        configured = configure(LEDUC, rule)
        back = RunConfiguration.parse(configured.configuration.text(), "x")
        assert isinstance(back.algorithm, ForeignRule)
        with pytest.raises(UsageError, match="only the same one can be resumed"):
            back.verify_same(configure(LEDUC, rule.name).configuration, "x")
        back.verify_same(configured.configuration, "x")


def test_differences_are_told_by_name() -> None:
    base = RunConfiguration.of(LEDUC, None, configured_rule("cfr+"), "float64")
    nolimit = errai.load_game("nolimit-holdem")
    menus = [
        RunConfiguration.of(nolimit, BetMenu.parse(text), configured_rule("cfr+"), "float64")
        for text in ("1p", "2p")
    ]
    for one, other, told in (
        (
            base,
            RunConfiguration.of(LEDUC, None, configured_rule("cfr+"), "float64", 0, MARK),
            "abstraction 'None', not '[JQ.K]' (fingerprint 0123456789ab)",
        ),
        (menus[0], menus[1], "bets '1p', not '2p'"),
        (
            base,
            RunConfiguration.of(
                LEDUC, None, configured_rule("cfr+"), "float64", payoffs=Payoffs.parse("rake 5%")
            ),
            "payoffs 'plain', not 'rake 5%'",
        ),
        (base, RunConfiguration.of(LEDUC, None, LinearProgramme(), "float64"), "algorithm 'cfr+', not 'lp'"),
    ):
        with pytest.raises(UsageError, match=re.escape(told)):
            one.verify_same(other, "run")


class Weighted(UpdateRule):
    """A rule with options of several kinds."""

    weights: tuple[float, ...] = (1.0, 2.0)
    labels: list[str] = Field(default_factory=lambda: ["a"])
    limit: float | None = None


class Unwritable(UpdateRule):
    """A rule with an option that TOML has no word for."""

    nested: tuple[int | None, ...] = (1, None)


def test_options_of_all_kinds_are_kept(tmp_path: Path) -> None:
    rule = Weighted(weights=(0.5, math.inf))
    errai.solve(LEDUC, rule, 5, out=tmp_path / "run")
    assert errai.solve(LEDUC, rule, 10, out=tmp_path / "run", resume=True).iterations == 10
    for option, value in (("weights", (0.5,)), ("labels", ["b"]), ("limit", 3.0)):
        with pytest.raises(UsageError, match=f"is a run with {option} "):
            errai.solve(LEDUC, rule.with_options(**{option: value}), 20, out=tmp_path / "run", resume=True)


def test_options_that_cannot_be_written_are_told_before_a_folder_is_made(tmp_path: Path) -> None:
    assert errai.solve(LEDUC, Unwritable(), 5).iterations == 5
    with pytest.raises(UsageError, match="the options of the rule 'Unwritable' cannot be written: "):
        errai.solve(LEDUC, Unwritable(), 5, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
