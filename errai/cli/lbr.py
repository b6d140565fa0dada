"""`errai lbr`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from errai.cli.options import Json, Seed, given_command, whole_option
from errai.cli.output import print_json
from errai.cli.progress import Progress
from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.evaluation.local_best_response import LocalBestResponse
    from errai.games.rules import PokerRules

MAX_HANDS = 10**8
MAX_RUN_OUTS = 10**6
MAX_ROUND = 4


def lbr_command(
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="A saved strategy or run, with a treatment or translation behind colons (runs/x:purify); "
            "always-call, always-raise, always-fold, half, probe or random; or a .py file with an agent.",
        ),
    ],
    game: Annotated[
        str | None,
        typer.Option("--game", metavar="GAME", help="What is played; a saved strategy has its own."),
    ] = None,
    hands: Annotated[
        int | None,
        whole_option(
            "--hands",
            "Hands to play, two on each deal: LBR in one position, then in the other. Without it all deals "
            "are enumerated, which only small games such as leduc allow.",
            4,
            MAX_HANDS,
        ),
    ] = None,
    bets: Annotated[
        str,
        typer.Option(
            "--bets",
            metavar="SET",
            help="What LBR thinks of: 'fc' (fold and call), 'fcpa' (pot and all-in as well; in limit games "
            "the raise) or '56bets' (all-in and 55 fractions of the pot from 0.05 to 94.8, each 1.15 "
            "times the last).",
        ),
    ] = "fcpa",
    from_round: Annotated[
        int,
        whole_option(
            "--from-round", "The first round in which LBR acts; before, it checks and calls.", 1, MAX_ROUND
        ),
    ] = 1,
    run_outs: Annotated[
        int,
        whole_option(
            "--run-outs",
            "Boards that have more run-outs than this are valued by so many, drawn by chance.",
            1,
            MAX_RUN_OUTS,
        ),
    ] = 300,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="FILE",
            help="With --hands: keep hands here, to go on later with the same command or with more hands.",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Measure a lower bound on what a best response wins from an agent, by local best response.

    Local best response knows the agent's probabilities. It acts as if after its own action both players
    checked and called to the end. What it wins, a best response wins too.
    """
    from errai.evaluation.local_best_response import local_best_response

    rules = _find_game(agent, game)
    if from_round > rules.num_rounds:
        raise UsageError(
            f"--from-round must be between 1 and {rules.num_rounds} in '{rules.name}', not {from_round}"
        )
    if keep is not None and hands is None:
        raise UsageError("--keep needs --hands: without hands all deals are enumerated at once")
    if keep is None:
        told = "nothing was kept: --keep FILE keeps hands"
    else:
        told = f"the hands so far stay in {keep}; go on with: {given_command(context)}"
    with Progress(told) as progress:
        found = local_best_response(
            agent,
            rules,
            hands,
            bets=bets,
            first_round=from_round - 1,
            run_outs=run_outs,
            seed=seed,
            keep_in=keep,
            report=lambda done, total: progress.report(f"{agent}: hands", done, total),
        )
    if json:
        _print_as_json(agent, rules.name, found, bets, from_round, seed)
        return
    _print_result(agent, rules.name, found, bets, from_round, seed)


def _find_game(agent: str, game: str | None) -> "PokerRules":
    """Return the game that is given, or else that of a saved strategy."""
    from errai.games.catalogue import load_card_game
    from errai.games.rules import PokerRules
    from errai.runs.folder import saved_game
    from errai.strategy.postprocessing import split_options

    if game is not None:
        return load_card_game(game)
    path, _ = split_options(agent)
    if path.endswith(".py") or not Path(path).exists():
        raise UsageError(f"the agent '{agent}' needs --game, such as --game limit-holdem")
    found, _ = saved_game(path)
    if not isinstance(found, PokerRules):
        raise UsageError(f"'{path}' is a strategy of '{found.name}': expected one of a card game")
    return found


def _print_as_json(
    agent: str, game: str, found: "LocalBestResponse", bets: str, from_round: int, seed: int
) -> None:
    print_json(
        {
            "agent": agent,
            "game": game,
            "bets": bets,
            "from_round": from_round,
            "seed": seed,
            "num_hands": found.num_hands,
            "local_best_response_chips": found.chips,
            "local_best_response_mbb_per_game": found.mbb_per_game,
            "local_best_response_values_chips": list(found.values),
            "interval_chips": list(found.interval),
            "interval_mbb_per_game": list(found.interval_mbb_per_game),
            "is_expected": found.is_expected,
            "money_mbb_per_game": found.in_mbb(found.money),
            "money_interval_mbb_per_game": [found.in_mbb(end) for end in found.money_interval],
        }
    )


def _print_result(
    agent: str, game: str, found: "LocalBestResponse", bets: str, from_round: int, seed: int
) -> None:
    rounds = "" if from_round == 1 else f" from round {from_round}"
    if found.num_hands is None:
        print(
            f"{agent} in {game}: a best response wins at least {found.mbb_per_game:.6g} mbb/g "
            f"({found.chips:.6g} chips), by local best response, {bets}{rounds}, over all deals"
        )
    else:
        low, high = found.interval_mbb_per_game
        print(
            f"{agent} in {game}: local best response wins {found.mbb_per_game:.6g} mbb/g "
            f"({low:.6g} to {high:.6g}, 95%), {found.num_hands:,} hands, {bets}{rounds}, seed {seed}"
        )
        print(f"  so a best response wins at least {low:.6g} mbb/g (97.5%)")
    first, second = found.values
    print(f"  it wins {first:.6g} chips a game in position 0, {second:.6g} in position 1")
    if found.num_hands is not None:
        low, high = (found.in_mbb(end) for end in found.money_interval)
        told = "without that" if found.is_expected else "this is what was paid"
        counted = "each hand counts as expected over the agent's range, less the luck of the cards; "
        print(
            f"  {counted if found.is_expected else ''}{told}: {found.in_mbb(found.money):.6g} mbb/g "
            f"({low:.6g} to {high:.6g})"
        )
