"""Which figures and tables there are. Names alone are here at once; one is imported when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

from errai.errors import UsageError

if TYPE_CHECKING:
    from errai.experiments.figure import Figure
    from errai.experiments.table import Table

FIGURES = {
    "cepheus-figure-1a": "cepheus_figure_1a",
    "cepheus-figure-1b": "cepheus_figure_1b",
    "cepheus-figure-2a": "cepheus_figure_2a",
    "cepheus-figure-2b": "cepheus_figure_2b",
    "purification-leduc": "purification_leduc",
    "purification-matrix": "purification_matrix",
    "purification-threshold": "purification_threshold",
    "sampled-exploitability": "sampled_exploitability",
    "sampled-exploitability-3-1": "sampled_exploitability_3_1",
    "t7-table-2": "t7_table_2",
    "thesis-figure-3.2": "thesis_figure_3_2",
    "thesis-figure-3.3": "thesis_figure_3_3",
    "thesis-figure-3.5": "thesis_figure_3_5",
    "thesis-figure-3.6": "thesis_figure_3_6",
    "thesis-figure-4.1": "thesis_figure_4_1",
    "thesis-figure-4.3": "thesis_figure_4_3",
    "thesis-figure-4.4": "thesis_figure_4_4",
    "thesis-figure-4.5": "thesis_figure_4_5",
    "thesis-table-5.3": "thesis_table_5_3",
    "thesis-table-7.1": "thesis_table_7_1",
}
"""Name of a figure, and the module that makes it."""

TABLES = {"thesis-table-4.1": "thesis_table_4_1"}
"""Name of a table, and the module that makes it."""


def find_figure(name: str) -> "Figure":
    """Return a figure by its name."""
    if name not in FIGURES:
        raise UsageError(
            f"unknown figure or table '{name}': expected one of {', '.join([*FIGURES, *TABLES])}"
        )
    figure: Figure = import_module(f"errai.experiments.{FIGURES[name]}").FIGURE
    return figure


def find_table(name: str) -> "Table":
    """Return a table by its name."""
    table: Table = import_module(f"errai.experiments.{TABLES[name]}").TABLE
    return table
