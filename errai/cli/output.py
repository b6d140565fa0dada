"""How commands print: JSON for machines, tables for people, one sentence for errors.

The vocabulary of `--json`, one meaning for each key in all commands. A number's key ends with its unit.

| key | meaning |
|---|---|
| game, bets, abstraction, payoffs, algorithm | what was asked for, as in the options; null if nothing |
| seed, iterations, threads | whole numbers |
| seconds, seconds_to_cluster | time taken or, from `--estimate`, to be taken |
| interrupted | whether a signal ended the work early |
| path | the file or folder that was read, as given |
| out | the file or folder that was written; null if none |
| position | of a player: 0 or 1, as in ACPC match states; lists of two are by position |
| round, street | a betting round, counted from 1; its name in hold'em ("flop"), else null |
| betting, board, hand | as typed: ACPC betting string, cards |
| actions, probabilities | "f", "c", "r" or "rN"; the chance of each |
| exploitability_chips, exploitability_mbb_per_game | the mean over positions of what a best response wins |
| exploitability_percent_of_pot | of a spot: what a best response gains, in percent of the pot |
| best_response_values_chips, profile_values_chips | [position] won per game |
| value_chips, values_chips | what position 0 (in Bluff: who starts) wins per game; Bluff is won for 1 chip |
| expected_values_chips | of a spot: [position], summing to the pot; of its hands: [hand] |
| measurements | [{iteration, seconds, exploitability_chips, exploitability_mbb_per_game}] |
| betting_nodes, betting_sequences, boards | counts of a tree |
| information_sets, raw_, canonical_, bucketed_information_sets | of the tables; before and after merging |
| slots | actions over all information sets |
| table_bytes, buffer_bytes, hand_bytes, memory_bytes, disk_bytes, regret_bytes, average_bytes | bytes |
| buckets, used_buckets | how many buckets there are, and how many have hands |
| num_hands, num_deals, num_boards | counts |
| fingerprint | of an artefact: what it was made of |
| equity, win, tie, lose, frequencies, weights, shares (share_...) | parts of 1 |

Whole numbers are exact at any size.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.games.rules import PokerRules

MOST_DIGITS = 18
"""A whole number with more of them is told as a power of ten."""


def fail(sentence: str) -> int:
    """Print one sentence on standard error and return the exit status of bad input, 2."""
    text = " ".join(sentence.split())
    print(f"errai: {text}" + ("" if text.endswith(".") else "."), file=sys.stderr)
    return 2


def verify_picture(plot: str | None) -> None:
    """Find out before hours of work that a picture cannot be drawn."""
    if plot is None:
        return
    from errai.runs.plot import verify_plots

    verify_plots()
    if not Path(plot).absolute().parent.is_dir():
        raise UsageError(f"--plot cannot draw '{plot}': its folder does not exist")
    from matplotlib.figure import Figure

    formats = sorted(Figure().canvas.get_supported_filetypes())
    if Path(plot).suffix.lower().removeprefix(".") not in formats:
        raise UsageError(f"--plot cannot draw '{plot}': the name must end with one of {', '.join(formats)}")


def print_json(value: Any) -> None:
    """Print a value as JSON; integers of any size stay exact."""
    print(json.dumps(value, indent=2))


def round_keys(rules: "PokerRules", round_index: int) -> dict[str, Any]:
    """Return the keys that say which round something is about."""
    from errai.games.rounds import street_name

    return {"round": round_index + 1, "street": street_name(rules, round_index)}


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table with the first column to the left and numbers to the right, however wide."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(title)
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())


def short_number(number: int) -> str:
    """Write an integer with thousands separators, or as a power of ten where it has over 18 digits.

    >>> short_number(15442180)
    '15,442,180'
    >>> short_number(12345 * 10**20)
    '1.234e24'
    """
    digits = str(number)
    return f"{number:,}" if len(digits) <= MOST_DIGITS else f"{digits[0]}.{digits[1:4]}e{len(digits) - 1}"


def counted_number(number: int) -> str:
    """Write an integer, with the count of its digits where these are too many to be written.

    >>> counted_number(12345 * 10**20)
    '1.234e24 (25 digits)'
    """
    digits = len(str(number))
    return short_number(number) + (f" ({digits} digits)" if digits > MOST_DIGITS else "")


def format_seconds(seconds: float) -> str:
    """Write a time in the unit that suits it.

    >>> format_seconds(5400.0)
    '1.5 hours'
    """
    for unit, length in (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * length or (unit == "hours" and seconds >= length):
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


def format_threads(number: int) -> str:
    """Say how many threads."""
    return "1 thread" if number == 1 else f"{number} threads"
