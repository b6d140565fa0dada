"""`errai analyse`: the table, the curves, and what is refused."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from enumerated_hands import enumerated_hands
from naive import WITHOUT_JIT

import errai
from errai.errors import UsageError
from errai.evaluation.analysis import analyse
from errai.evaluation.hand_chances import RuleChances, hand_chances
from errai.play.logs import read_log
from errai.strategy.simple import simple_strategy

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="thousands of deals")

RunErrai = Callable[..., tuple[int, str, str]]


@cache
def hands() -> list[str]:
    """Some hands of Leduc between `half` and the uniform strategy, each once."""
    half, uniform = simple_strategy("leduc", "half"), errai.uniform_strategy("leduc")
    return [str(record) for record, _ in enumerated_hands(half.game, (half, uniform))][::101]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with a broken line."""
    path = tmp_path / "match.log"
    path.write_text("\n".join(["# a comment", *hands(), "STATE:3", "SCORE:0|0:first|second"]) + "\n")
    return path


def test_the_table(run_errai: RunErrai, log: Path) -> None:
    status, out, err = run_errai("analyse", "match.log", "--agent", "half", "--game", "leduc")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "half as first in match.log: 43 hands"
    names = [line[2:18].strip() for line in lines[3:]]
    assert names == [
        *("Money", "DIVAT", "BC-DIVAT", "Early Folds", "All Cards", "AC+BC-DIVAT", "AC+EF+BC-DIVAT", "AIVAT")
    ]
    assert "match.log: line 45 was passed over: 'STATE:3' has 1 parts after 'STATE'" in err


def test_json_holds_the_same_numbers_as_python(run_errai: RunErrai, log: Path) -> None:
    status, out, _ = run_errai(
        "analyse", "match.log", "--agent", "half", "--game", "leduc", "--json", "--plot", "match.png"
    )
    assert status == 0
    assert Path("match.png").stat().st_size > 10_000
    told = json.loads(out)
    half = simple_strategy("leduc", "half")
    read = read_log(log, half.game).of_player("first")
    found = analyse(read, RuleChances(half.tree, "half"), num_threads=1)
    assert [one["mbb_per_game"] for one in told["estimates"]] == [one.mbb_per_game for one in found]
    money = np.array([float(hand.values[position]) for hand, position in read])
    assert found[0].mbb_per_game == money.mean() * 1000
    assert found[0].deviation_mbb == pytest.approx(money.std(ddof=1) * 1000)
    assert found[0].bankroll[-1] == money.sum()
    # Student's t of 42 degrees of freedom at 97.5% is 2.0180817.
    low, high = found[0].interval_mbb_per_game
    assert (low + high) / 2 == pytest.approx(found[0].mbb_per_game)
    assert high - low == pytest.approx(2 * 2.0180817 * money.std(ddof=1) / 43**0.5 * 1000)
    assert told["broken_lines"][0]["line"] == 45
    assert told["player"] == "first"


def test_from_python(log: Path) -> None:
    half, uniform = simple_strategy("leduc", "half"), errai.uniform_strategy("leduc")
    read = read_log(log, half.game)
    found = errai.analyse_log(log, uniform, half, player="first")
    direct = analyse(read.of_player("first"), hand_chances(uniform), hand_chances(half))
    assert [one.mbb_per_game for one in found] == [one.mbb_per_game for one in direct]
    assert errai.analyse_log(log, half)[0].mbb_per_game == errai.analyse_log(log, half, half)[0].mbb_per_game
    with pytest.raises(UsageError, match="expected a strategy, not 'half'"):
        errai.analyse_log(log, "half")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has no hand of 'kuhn'"):
        errai.analyse_log(log, errai.uniform_strategy("kuhn"))


def test_rows_off_policy_and_partial(run_errai: RunErrai, log: Path) -> None:
    options = ["--agent", "always-call", "--played", "half", "--game", "leduc", "--json"]
    _, out, _ = run_errai("analyse", "match.log", *options)
    names = [one["estimator"] for one in json.loads(out)["estimates"]]
    assert names == [
        "Basic",
        "DIVAT",
        "BC-DIVAT",
        "Early Folds",
        "All Cards",
        "AC+BC-DIVAT",
        "AC+EF+BC-DIVAT",
    ]
    _, out, _ = run_errai("analyse", "match.log", *options, "--partial")
    told = json.loads(out)
    assert [one["estimator"] for one in told["estimates"] if one["unbiased"]] == ["Basic", "Early Folds"]
    _, out, _ = run_errai("analyse", "match.log", "--agent", "half", "--game", "leduc", "--partial")
    assert "BC-DIVAT *" in out
    assert "All Cards *" not in out
    assert "* may be biased" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--agent", "half"], "'half' plays any game: --game must say which"),
        (["--agent", "none"], "'none' is neither"),
        (["--agent", "uniform.strategy", "--game", "leduc"], "--game needs simple agents alone"),
        (["--agent", "half", "--game", "kuhn"], "has no hand of this game, as line 2 was passed over"),
        (["--agent", "half", "--game", "leduc", "--name", "third"], "'third' is not a player of this log"),
        (["--agent", "always-fold", "--game", "leduc"], "cannot have been played by the strategy"),
        (["--agent", "half", "--game", "leduc", "--plot", "x/y.png"], "its folder does not exist"),
    ],
)
def test_what_is_refused(run_errai: RunErrai, log: Path, arguments: list[str], sentence: str) -> None:
    errai.uniform_strategy("leduc").save("uniform.strategy")
    status, out, err = run_errai("analyse", "match.log", *arguments)
    assert (status, out) == (2, "")
    assert sentence in err.splitlines()[-1]


def test_no_limit_has_equity_in_place_of_bets(tmp_path: Path) -> None:
    """A no-limit log of Kuhn's cards: no DIVAT, and the advantage-sum of plain all-in equity."""
    from dataclasses import replace

    rules = replace(errai.uniform_strategy("kuhn").game, raise_sizes=None, stacks=(3, 3))
    strategy = errai.uniform_strategy(rules)
    records = [record for record, _ in enumerated_hands(rules, (strategy, strategy))]
    found = analyse([(record, 0) for record in records], hand_chances(strategy))
    assert [one.name for one in found] == [
        *("Money", "Equity", "Early Folds", "All Cards", "AC+Equity", "AC+EF+Equity", "AIVAT")
    ]


def test_strategies_that_do_not_fit_each_other() -> None:
    """Their nodes would be others, and the numbers wrong."""
    from dataclasses import replace

    rules = replace(errai.uniform_strategy("kuhn").game, raise_sizes=None, stacks=(9, 9))
    every, some = errai.uniform_strategy(rules), errai.uniform_strategy(rules, errai.load_bets("1p"))
    hands = [(record, 0) for record, _ in enumerated_hands(rules, (some, some))]
    with pytest.raises(UsageError, match="other bet sizes"):
        analyse(hands, hand_chances(some), hand_chances(every))
    with pytest.raises(UsageError, match="cannot be evaluated on hands of 'leduc'"):
        analyse(hands, hand_chances(some), hand_chances(errai.uniform_strategy("leduc")))


def test_too_few_hands() -> None:
    half = simple_strategy("leduc", "half")
    record = next(iter(enumerated_hands(half.game, (half, half))))[0]
    with pytest.raises(UsageError, match="1 hands have no interval: expected at least 2"):
        analyse([(record, 0)], hand_chances(half))
