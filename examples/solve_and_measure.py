"""Solve Leduc hold'em, measure the solution exactly, ask it, and keep it as a table.

python examples/solve_and_measure.py
"""

import tempfile
from pathlib import Path

import errai


def main() -> None:
    """Solve, measure, ask and export."""
    run = errai.solve("leduc", algorithm="cfr+", iterations=1000)
    strategy = run.strategy
    lost = errai.exploitability(strategy)
    print(f"Exploitability: {lost.mbb_per_game:.3f} mbb/g after {run.iterations:,} iterations")

    value = errai.expected_value(strategy, strategy).positions[0]
    print(f"The first position wins {value:+.4f} chips a game")

    caller = errai.strategy_from_function("leduc", lambda betting, hand, board, actions: {"c": 1})
    won, most = errai.expected_value(strategy, caller).chips, sum(errai.best_response(caller).values) / 2
    print(f"From one who always calls it wins {won:.4f} chips, a best response {most:.4f}")

    chances = strategy.probabilities("cr", hand="K")
    print("A king that faces a raise:", {action: round(chance, 2) for action, chance in chances.items()})

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "leduc.csv"
        strategy.to_csv(table)
        num_sets, num_lines = len(list(strategy.information_sets())), len(table.read_text().splitlines())
        print(f"{num_sets} information sets, {num_lines} lines of {table.name}")


if __name__ == "__main__":
    main()
