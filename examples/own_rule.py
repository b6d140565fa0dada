"""Write an update rule of your own and compare it with two named algorithms on Leduc hold'em.

python examples/own_rule.py
"""

import numpy as np

import errai
from errai.solvers.update_rules import Update


class Smooth(errai.UpdateRule):
    """Predictive CFR+ that expects the running mean of the gains so far, instead of the last gain."""

    extra_tables = ("mean", "predictions")
    source = "predictions"

    rate: float = 0.5
    average_power: float = 2.0

    def apply(self, update: Update) -> None:
        """Turn one iteration's gains into new tables."""
        tables = update.tables
        tables["regrets"] = np.maximum(tables["regrets"] + update.gains, 0)
        tables["mean"] += self.rate * (update.gains - tables["mean"])
        tables["predictions"] = tables["regrets"] + tables["mean"]
        tables["averages"] += update.played


def main() -> None:
    """Solve the same game with each and print the exploitability after 300 iterations."""
    for rule in ("cfr+", "pcfr+", Smooth(rate=0.5)):
        run = errai.solve("leduc", algorithm=rule, iterations=300)
        name = rule if isinstance(rule, str) else f"{rule.name}, rate {rule.rate}"
        print(f"{name:18} {errai.exploitability(run.strategy).mbb_per_game:8.4f} mbb/g")


if __name__ == "__main__":
    main()
