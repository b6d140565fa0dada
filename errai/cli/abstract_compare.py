"""`errai abstract compare`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from errai.cli.abstract_info import num_players, open_abstraction
from errai.cli.options import Json, Seed, whole_option
from errai.cli.output import print_json, print_table, round_keys

if TYPE_CHECKING:
    from errai.abstraction.compare import Overlap


def compare_command(
    first: Annotated[str, typer.Argument(metavar="A", help="A saved abstraction.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one of the same cards.")],
    deals: Annotated[
        int,
        whole_option("--deals", "Random deals in rounds where not all hands can be compared.", 2, 10**9),
    ] = 100_000,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Compare two abstractions round by round.

    On which pairs of hands do they agree?
    """
    from errai.abstraction.compare import compare_round
    from errai.games.rounds import round_name

    a, b = open_abstraction(first), open_abstraction(second)
    num_sides = max(num_players(a), num_players(b))
    rounds = [
        (player, r, compare_round(a, b, r, player, deals, seed))
        for player in range(num_sides)
        for r in range(a.game.num_rounds)
    ]
    if json:
        print_json(
            {
                "abstractions": [
                    {"path": path, "abstraction": one.name, "game": one.game.name}
                    for path, one in ((first, a), (second, b))
                ],
                "seed": seed,
                "rounds": [
                    {"position": p, **round_keys(a.game, r), **_agreement(found)} for p, r, found in rounds
                ],
            }
        )
        return
    print(f"A: {a.name} ({first})")
    print(f"B: {b.name} ({second})")
    many = num_sides > 1
    print_table(
        f"agreement on the cards of {a.game.name}",
        [
            "round",
            *(["player"] if many else []),
            "A used",
            "B used",
            "Rand",
            "adjusted",
            "inform.",
            "A in B",
            "B in A",
        ],
        [
            [
                round_name(a.game, r),
                *([str(p)] if many else []),
                *(f"{used:,}" for used in found.num_used),
                f"{found.rand:.4f}",
                f"{found.adjusted_rand:.4f}",
                f"{found.mutual_information:.4f}",
                *(f"{share:.1%}" for share in found.refinement),
            ]
            for p, r, found in rounds
        ],
    )
    print("  used: buckets with hands in them")
    print("  Rand: share of pairs of hands that are together in both or apart in both")
    print("  adjusted: the same, 0 by chance, 1 where A and B are the same")
    print("  inform.: mutual information over the mean entropy; 1 where each bucket tells the other")
    print("  A in B: share of A's buckets that lie within one bucket of B; 100%: A refines B")
    for unit in dict.fromkeys(found.unit for _, _, found in rounds):
        which = [round_name(a.game, r) for p, r, found in rounds if found.unit == unit and p == 0]
        more = f", seed {seed}" if unit == "random deals" else ""
        counted = ", ".join(f"{found.num_hands:,}" for p, _, found in rounds if found.unit == unit and p == 0)
        print(f"  compared in {', '.join(which)}: {counted} {unit}{more}")


def _agreement(found: "Overlap") -> dict[str, Any]:
    told = asdict(found)
    return {"buckets": told.pop("num_buckets"), "used_buckets": told.pop("num_used"), **told}
