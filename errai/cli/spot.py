"""`errai spot`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.options import (
    Iterations,
    Json,
    Refusal,
    Seed,
    Threads,
    Time,
    decimal_number,
    number_option,
    whole_option,
)
from errai.cli.output import format_seconds, print_json, print_table
from errai.cli.progress import Progress
from errai.errors import UsageError, shortened

if TYPE_CHECKING:
    from errai.solvers.solve import StopRule
    from errai.strategy.spot import SpotMeasurement, SpotResult, SpotTable
    from errai.strategy.spot_tree import SpotTree

BYTES_A_NUMBER = 4
TABLES = 2
"""Regrets and averages."""


def percent(text: str | float) -> float:
    """Read a part of the pot in percent, with or without its sign."""
    try:
        return decimal_number("--until", above=0)(str(text).strip().removesuffix("%"))
    except Refusal:
        raise Refusal(
            f"--until must be a percentage above 0 such as '0.1%', not '{shortened(text)}'"
        ) from None


def limit_bets(text: str) -> list[float]:
    """Read bet sizes by round, joined by `/`."""
    try:
        return [decimal_number("--limit", above=0)(size) for size in text.split("/")]
    except Refusal:
        raise Refusal(
            f"--limit must be a bet size in chips, or one a round such as '10/20', not '{shortened(text)}'"
        ) from None


def _sizes(name: str, text: str) -> Any:
    return typer.Option(name, metavar="SIZES", help=text)


def spot_command(
    board: Annotated[str, typer.Option("--board", metavar="CARDS", help="3 to 5 cards, such as 'QsJh2h7c'.")],
    oop: Annotated[
        str, typer.Option("--oop", metavar="RANGE", help="Range of the first to act: '88+,AJs:0.5'.")
    ],
    ip: Annotated[str, typer.Option("--ip", metavar="RANGE", help="Range of the second to act.")],
    pot: Annotated[float, number_option("--pot", "Chips in the middle.", above=0)],
    stack: Annotated[float | None, number_option("--stack", "Chips behind of each player.", above=0)] = None,
    bets: Annotated[
        str | None,
        _sizes(
            "--bets", "First bets of a round: '50%,a' ('a' all-in, 'none' no bet); '/' parts rounds. [50%,a]"
        ),
    ] = None,
    raises: Annotated[
        str | None,
        _sizes(
            "--raises",
            "Raises: a call plus this part of the pot after calling; "
            "'/' parts rounds, '|' the first raise from the second. [60%,a]",
        ),
    ] = None,
    ip_bets: Annotated[str | None, _sizes("--ip-bets", "First bets of IP, where they differ.")] = None,
    ip_raises: Annotated[str | None, _sizes("--ip-raises", "Raises of IP, where they differ.")] = None,
    force_all_in: Annotated[
        float, number_option("--force-all-in", "A bet leaving less than this part of the pot is all-in.", 0)
    ] = 0.0,
    limit: Annotated[
        str | None, _sizes("--limit", "Limit spot: bet size in chips, '/' parts rounds.")
    ] = None,
    max_raises: Annotated[
        int | None, whole_option("--max-raises", "Bets and raises a round; in limit spots 4 without it.", 0)
    ] = None,
    chip: Annotated[
        float | None, number_option("--chip", "Round bets to multiples of this.", above=0)
    ] = None,
    iterations: Iterations = None,
    until: Annotated[
        float | None,
        typer.Option(
            "--until",
            parser=percent,
            metavar="PERCENT",
            help="Stop at this exploitability, such as '0.1%' of the pot.",
        ),
    ] = None,
    time: Time = None,
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", help="cfr, cfr+, linear-cfr, dcfr (the default) or pcfr+.")
    ] = None,
    threads: Threads = None,
    show: Annotated[
        str, typer.Option("--show", metavar="BETTING", help="Decision to print, such as 'cr25' or 'cc/'.")
    ] = "",
    show_board: Annotated[
        str,
        typer.Option("--show-board", metavar="CARDS", help="With --show: cards dealt since the spot began."),
    ] = "",
    hands: Annotated[bool, typer.Option("--hands", help="Print every hand instead of classes.")] = False,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Solve one hold'em sub-game.

    It is given by a board, two ranges, a pot, a stack and bet sizes. Without --iterations,
    --until and --time it stops after 1,000 iterations.
    """
    from errai.runs.spot import DEFAULT_ALGORITHM, solve_spot_tree
    from errai.solvers.solve import StopRule
    from errai.strategy.spot import verify_decision
    from errai.strategy.spot_tree import SpotBetting, build_spot_tree

    betting = SpotBetting.of(
        pot,
        stack,
        _by_position(bets, ip_bets, "bets"),
        _by_position(raises, ip_raises, "raises"),
        force_all_in,
        None if limit is None else limit_bets(limit),
        max_raises,
        chip,
    )
    spot = build_spot_tree(board, (oop, ip), betting)
    verify_decision(spot, show, show_board)
    with Progress("nothing was saved") as progress:

        def report(measured: "SpotMeasurement") -> None:
            text = (
                f"iteration {measured.iteration:,}, exploitability {measured.exploitability_percent:.3g}% of "
                "the pot"
            )
            left = most_seconds_left(measured, StopRule.of(iterations, until, time))
            if left is None:
                progress.show(text)
                return
            text += f", at most {format_seconds(left)} to go"
            progress.show(text, measured.seconds, measured.seconds + left)

        result = solve_spot_tree(
            spot,
            iterations,
            algorithm=algorithm or DEFAULT_ALGORITHM,
            until=until,
            seconds=time,
            num_threads=threads,
            report=report,
            report_start=None if json else lambda: _print_plan(spot),
        )
    table = result.strategy(show, show_board)
    if json:
        print_json(_as_json(result, table))
    else:
        _print_result(result)
        _print_strategy(table, hands)


def most_seconds_left(measured: "SpotMeasurement", stop: "StopRule") -> float | None:
    """Return how long a spot may take yet; None where only its target will stop it."""
    from errai.solvers.solve import UNLIMITED

    left = []
    if stop.iterations < UNLIMITED:
        left.append(measured.seconds * (stop.iterations - measured.iteration) / measured.iteration)
    if stop.seconds is not None:
        left.append(max(0.0, stop.seconds - measured.seconds))
    return min(left, default=None)


def _by_position(both: str | None, second: str | None, what: str) -> str | tuple[str, str] | None:
    if second is None:
        return both
    if both is None:
        raise UsageError(f"--ip-{what} needs --{what}, which is missing")
    return both, second


def _memory(spot: "SpotTree") -> int:
    return TABLES * BYTES_A_NUMBER * spot.tree.num_slots


def _print_plan(spot: "SpotTree") -> None:
    """Say what will be solved and what it takes, before it is taken."""
    from errai.cards.deck import format_cards
    from errai.memory import format_bytes

    boards = spot.tree.cells.boards
    print(f"{format_cards(spot.board)}: {len(spot.hands[0])} hands of OOP against {len(spot.hands[1])} of IP")
    print(
        f"  betting nodes {spot.tree.betting.num_nodes:,}, boards {sum(map(len, boards)):,}, "
        f"slots {spot.tree.num_slots:,}"
    )
    print(f"  memory for regrets and averages: {format_bytes(_memory(spot))}", flush=True)


def _print_result(result: "SpotResult") -> None:
    last = result.measurements[-1]
    print(f"{last.iteration:,} iterations of {result.algorithm} in {last.seconds:.3f} s")
    print(
        f"  exploitability {result.exploitability:.6g} chips, {result.exploitability_percent:.4g}% of the pot"
    )
    oop, ip = result.expected_values
    print(f"  expected values: OOP {oop:.6g}, IP {ip:.6g} chips")


def _print_strategy(table: "SpotTable", every_hand: bool) -> None:
    from errai.strategy.spot_tree import POSITIONS

    after = f" after '{table.betting}'" if table.betting else ""
    title = f"{POSITIONS[table.position]} on {table.board}{after}, in percent"
    names = [{"f": "fold", "c": "check/call"}.get(action, action) for action in table.actions]
    share = [100 * part for part in table.mean_probabilities.tolist()]
    rows = [["all", "100.00", *(f"{part:.1f}" for part in share)]]
    if not every_hand:
        for name, (frequency, played) in sorted(table.by_class().items(), key=lambda item: -item[1][0]):
            rows.append([name, f"{100 * frequency:.2f}", *(f"{100 * chance:.1f}" for chance in played)])
        print_table(title, ["hands", "of range", *names], rows)
        return
    values, equities = table.expected_values, table.equities
    if values is not None and equities is not None:
        names += ["EV", "equity"]
        rows[0] += ["", ""]
    for i, hand in enumerate(table.hands):
        row = [hand, f"{100 * table.frequencies[i]:.2f}"]
        row += [f"{100 * chance:.1f}" for chance in table.probabilities[i].tolist()]
        if values is not None and equities is not None:
            row += [f"{values[i]:.3f}", f"{100 * equities[i]:.1f}"]
        rows.append(row)
    print_table(title, ["hand", "of range", *names], rows)


def _as_json(result: "SpotResult", table: "SpotTable") -> dict[str, object]:
    from errai.cards.deck import format_cards

    spot = result.spot

    def numbers(values: Any) -> list[float | None] | None:
        return None if values is None else [None if x != x else x for x in values.tolist()]

    return {
        "board": format_cards(spot.board),
        "pot_chips": float(spot.betting.pot),
        "num_hands": [len(hands) for hands in spot.hands],
        "betting_nodes": spot.tree.betting.num_nodes,
        "slots": spot.tree.num_slots,
        "memory_bytes": _memory(spot),
        "algorithm": result.algorithm,
        "iterations": result.iterations,
        "seconds": result.measurements[-1].seconds,
        "expected_values_chips": list(result.expected_values),
        "exploitability_chips": result.exploitability,
        "exploitability_percent_of_pot": result.exploitability_percent,
        "measurements": [
            {
                "iteration": one.iteration,
                "seconds": one.seconds,
                "exploitability_chips": one.exploitability,
                "exploitability_percent_of_pot": one.exploitability_percent,
            }
            for one in result.measurements
        ],
        "strategy": {
            "betting": table.betting,
            "board": table.board,
            "position": table.position,
            "actions": list(table.actions),
            "hands": list(table.hands),
            "weights": table.weights.tolist(),
            "frequencies": table.frequencies.tolist(),
            "probabilities": table.probabilities.tolist(),
            "expected_values_chips": numbers(table.expected_values),
            "equities": numbers(table.equities),
        },
    }
