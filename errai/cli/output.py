"""How commands print: JSON for machines, tables for people, one sentence for errors.

The vocabulary of `--json`, one meaning for each key in all commands. A number's key ends with its unit;
counts begin with `num_` or are plural; what does not apply is null.

| key | meaning |
|---|---|
| game, bets, abstraction, payoffs, algorithm, method, recall | what was asked for, as in the options |
| menus, description | bet sizes that come with the package, in words |
| seed, iterations, threads, clusters, flops | whole numbers, as the options of these names |
| path, out | the file or folder that was read; that was written |
| seconds, seconds_to_cluster | time taken or, from `--estimate`, to be taken |
| interrupted, built, fits | whether a signal ended the work; it was done now; it fits into memory |
| position | of a player: 0 or 1, as in ACPC match states; lists of two are by position |
| rounds, round, street | betting rounds; one, counted from 1; its name in hold'em ("flop") |
| betting, board, hand, ranges | as typed: ACPC betting string, cards |
| exploitability_chips, exploitability_mbb_per_game | the mean over positions of what a best response wins |
| local_best_response_chips, local_best_response_mbb_per_game | the same of what local best response wins |
| local_best_response_values_chips, from_round | [position] won per game by it; the first round it acts in |
| is_expected, money_mbb_per_game, money_interval_mbb_per_game | whether it is expected; what was paid |
| cross_validated | exploitability chosen on some flops and paid on others, beside the one from all |
| interval_chips, interval_mbb_per_game | 95% interval, low and high end |
| bounds_chips, bounds_mbb_per_game | low end of the estimate from below, high end of the one from above |
| first, second, difference, from_above, from_below | two compared on the same flops, by kind of estimate |
| exploitability_percent_of_pot | of a spot: what a best response gains |
| best_response_values_chips, profile_values_chips | [position] won per game by it; by the strategy |
| value_chips, values_chips | what position 0 (at Bluff: who starts) wins per game; Bluff is won for 1 chip |
| pot_chips, expected_values_chips | of a spot; [position], summing to the pot, or of its hands: [hand] |
| measurements, iteration | along the way: iteration, seconds and exploitability |
| agents, agent, expected_mbb_per_game | who played; of a training: simple agents; what is won on average |
| mbb_per_game, total_chips, duplicate | won in a match, on average or in all; if deals were played twice |
| standard_deviation_mbb, hand_standard_deviation_mbb | of a deal's mean over its hands; of a hand |
| illegal_actions, failure | of a match: [agent] how many; what ended it early |
| matches, left_out, logs, results | of a crosstable; files not played, and why; files written by a match |
| sampled | of a training: the exploitability estimated from flops |
| presets, name, preparation_seconds | configurations that come with the package; time before training |
| information_sets, slots | of the tables; actions over all information sets |
| raw_information_sets, canonical_information_sets | before any merging; up to the game's symmetry |
| bucketed_information_sets | of an abstraction |
| betting_nodes, betting_sequences, decisions, continuing, folds, showdowns | counts of a betting tree |
| table_bytes, buffer_bytes, hand_bytes, memory_bytes, disk_bytes, regret_bytes, average_bytes | bytes |
| steps, sample | of an estimate: nodes x hands x boards; what its pace was measured on |
| nodes, depth, kind, action, chips, dice, won_chips | of a betting tree; kind also of how buckets are kept |
| strategy, tables, hands, actions, probabilities | what is played: by board, hand and action |
| equity, equities, win, tie, lose, frequencies, weights, share_saved | parts of 1 |
| buckets, used_buckets, bucket, buckets_a_cluster, boards_a_cluster | how many; those with hands; which one |
| num_hands, num_deals, num_boards, num_random_deals, unit | counts, and of what |
| occupancy, hands_a_bucket, deals_a_bucket, smallest, median, largest | how full buckets are |
| mean, of_hand, of_bucket, strength, squared, weakest, strongest, ochs, points, grid | what features say |
| distance, objective | mean distance to a bucket's centre, in hand strength; what public clusters minimise |
| abstractions, rand, adjusted_rand, mutual_information, refinement | two compared |
| folders, contents, format, old, written, damaged, cleared | of the cache, with the kind of each folder |
| bits, largest_error, verified | of an exported strategy: its numbers, how far off; whether it was checked |
| features, fingerprint | the folder of the features; of an artefact: what it was made of |
| figure, data, picture, crossings, ends, claims, curve, target, value, published | of a figure made again |
| runs | independent runs whose mean a curve is |
| rows, row, form, percent_off | of a table made again: a number's name, its assumption, how far it is off |
| below, above, holds, against | which curve ends below which; whom an abstraction was solved against |
| names, num_played, totals_chips, warnings | of a match: players; hands; net; illegal actions, mended |
| verdict, told, statuses | how it ended; in words; with what status started programs left |
| answer_seconds, longest_answer_seconds | of a seat: all answers together; the longest |
| unfinished | of a match: the hand in which it broke off |
| num_decisions, decision_seconds_99_percent, longest_decision_seconds | of an agent: how many; how long |
| player, played, partial, num_hands_that_left | of a log: who, as whom, which hands left the tree |
| broken_lines, line, reason | of a log: what was passed over |
| estimates, estimator, deviation_mbb, unbiased | of a log: what each estimator says |
| notes | what else was seen in a figure: lines of text |

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
