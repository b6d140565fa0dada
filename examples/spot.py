"""Solve one river spot with a bet size and an all-in, and read what both ranges are worth.

python examples/spot.py
"""

import errai


def main() -> None:
    """Solve the spot and print what is played at its first decision and after a check."""
    result = errai.solve_spot(
        board="QsJh2h7c3d",
        ranges=("AA, KQs, QJs, T9s, 87s", "KK, AQs, JJ, T9s, A5s"),
        pot=100,
        stack=200,
        bets="50%, a",
        raises="a",
        until=0.1,
    )
    print(f"Exploitability: {result.exploitability_percent:.2f}% of the pot")
    first, second = result.expected_values
    print(f"Expected values: {first:.1f} first to act (OOP), {second:.1f} second (IP)")
    for betting, who in (("", "OOP to act"), ("c", "IP after a check")):
        table = result.strategy(betting)
        mixed = zip(table.actions, table.mean_probabilities, strict=True)
        print(f"{who}:", ", ".join(f"{action} {chance:.0%}" for action, chance in mixed))
        for name, (share, chances) in table.by_class().items():
            print(f"  {name} ({share:.0%}):", ", ".join(f"{chance:.2f}" for chance in chances))


if __name__ == "__main__":
    main()
