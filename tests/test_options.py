"""What the shared options read, to the bounds."""

import re
from collections.abc import Callable

import pytest

from errai.cli.options import (
    MAX_SEED,
    MAX_THREADS,
    Refusal,
    decimal_number,
    duration,
    whole_number,
)
from errai.cli.solve import exponents, target
from errai.cli.spot import limit_bets, percent
from errai.errors import shortened

RunErrai = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("1h 30m 15s", 5415),
        ("2d", 172_800),
        ("1d1h1m1s", 90_061),
        ("0.5", 0.5),
        ("1.5h", 5400),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "0", "0s", "-1", "1e3", "h", "m10", "10m1h", "nan", "99999999d", "1..2"]
)
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(Refusal, match=re.escape(f"not '{text}'")):
        duration(text)


def test_bounds_are_valid_themselves() -> None:
    parse = whole_number("--x", -1, 3)
    assert [parse(text) for text in ("-1", "+3", "0", "03", 2)] == [-1, 3, 0, 3, 2]
    for text, sentence in (
        ("-2", "--x must be -1 or more, not -2"),
        ("4", "--x must be between -1 and 3, not 4"),
        ("1_0", "--x must be a whole number, not '1_0'"),
        ("\uff11", "--x must be a whole number, not '\uff11'"),
        ("0x1", "--x must be a whole number, not '0x1'"),
    ):
        with pytest.raises(Refusal) as refused:
            parse(text)
        assert refused.value.format_message() == sentence
    assert whole_number("--seed", 0, MAX_SEED)(str(2**63 - 1)) == 2**63 - 1
    assert whole_number("--threads", 1, MAX_THREADS)("1024") == 1024
    with pytest.raises(Refusal, match="--x must be at most 3, not 4"):
        whole_number("--x", most=3)("4")


def test_numbers() -> None:
    assert decimal_number("--x", least=0)("0") == 0
    assert decimal_number("--x", above=0)("1e-9") == 1e-9
    for options, text, sentence in (
        ({"least": 0.5}, "0.4", "--x must be 0.5 or more, not 0.4"),
        ({"above": 2.0}, "2", "--x must be more than 2.0, not 2"),
        ({}, "inf", "--x must be a finite number, not 'inf'"),
        ({}, "-inf", "--x must be a finite number, not '-inf'"),
        ({}, "", "--x must be a finite number, not ''"),
    ):
        with pytest.raises(Refusal) as refused:
            decimal_number("--x", **options)(text)
        assert refused.value.format_message() == sentence


def test_targets_and_sizes() -> None:
    assert [target(text) for text in ("1mbb", " 0.5 mbb/g ", "1e-3mbb")] == [1, 0.5, 0.001]
    assert [percent(text) for text in ("0.1%", "5", " 2 %")] == [0.1, 5, 2]
    assert limit_bets("10") == [10]
    assert limit_bets("10/20.5") == [10, 20.5]
    assert exponents("1.5,0,-2") == (1.5, 0, -2)
    assert exponents("inf,-inf,2") == (float("inf"), -float("inf"), 2)


def test_values_are_quoted_in_part_where_they_are_long() -> None:
    assert shortened("x" * 40) == "x" * 40
    assert shortened("xy" * 600) == "xy" * 15 + "... (1,200 characters)"


def test_ten_minutes_are_a_time_in_both_commands(run_errai: RunErrai) -> None:
    assert run_errai("solve", "kuhn", "--time", "10m", "--iterations", "5")[0] == 0
    spot = ["spot", "--board", "QsJh2h7c3d", "--oop", "AhKh", "--ip", "JsTs", "--pot", "50", "--stack", "9"]
    assert run_errai(*spot, "--time", "10m", "--iterations", "5")[0] == 0


def test_time_ends_a_spot(run_errai: RunErrai) -> None:
    """Far fewer than the iterations that would be allowed."""
    spot = ["spot", "--board", "QsJh2h7c3d", "--oop", "AhKh", "--ip", "JsTs", "--pot", "50", "--stack", "9"]
    status, out, _ = run_errai(*spot, "--time", "0.05s", "--iterations", "200000")
    assert status == 0
    assert int(re.search(r"([\d,]+) iterations of dcfr", out)[1].replace(",", "")) < 200_000  # type: ignore[index]
