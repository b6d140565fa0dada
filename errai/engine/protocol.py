"""What stands between solvers and whatever walks: a plan in, tables in and out.

The engine of the CPU is `errai.engine.traversal.Traversal`. Another one, on a GPU or a cluster, offers the
same: it is made for a public tree, learns in tables that the solver owns, and returns values.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from errai.engine.plan import Plan
from errai.engine.public_tree import PublicTree
from errai.tables.layout import Floats, Tables


class Engine(Protocol):
    """Walks of one plan, for one caller at a time."""

    @property
    def plan(self) -> Plan:
        """What is walked."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of all vectors and tables."""

    @property
    def num_threads(self) -> int:
        """How much goes on at once; results do not depend on it."""

    @property
    def nbytes(self) -> int:
        """Bytes of its buffers so far."""

    def num_gain_groups(self, num_slots: int) -> int:
        """Return how many tables of gains a walk needs besides those of a bucketed table of some slots."""

    def learn(self, tables: Tables, steps: npt.NDArray[np.float64]) -> None:
        """Run iterations in which the players learn in turn: steps float64[iterations, 2, 5]."""

    def walk_once(
        self,
        player: int,
        mode: int | npt.NDArray[np.uint8],
        tables: Tables,
        step: npt.NDArray[np.float64],
    ) -> Floats:
        """Walk once for a player; returns the root's values."""

    def mean_value(self, player: int, values: Floats) -> float:
        """Average root values over the player's hands."""

    def mean_values(self, mode: int, tables: Tables) -> tuple[float, float]:
        """Walk once for each player and average."""

    def close(self) -> None:
        """End its threads."""


EngineMaker = Callable[[PublicTree, npt.DTypeLike | None, int | None], Engine]
"""Makes an engine for a public tree, a dtype (by size without it) and a number of threads (likewise)."""
