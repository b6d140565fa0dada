"""The engine's one primitive: walk a section of a public tree.

A section is the part of a plan between a start and a stop: some entries of a round, some of its boards, and
either the end of the game or a round boundary. Reach of both players' hands goes in at the start; in stage
VALUES the walked player's values come out there. At the stop, stage REACH hands out the reach that arrives,
and stage VALUES takes the values that are given (`_edges.py` says how they lie).

A whole game is the section from its root to its end; a cut makes a trunk, which stops, of one and sub-games,
which start where it stopped, of the rest.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.engine import _blocks
from errai.engine import _walk as kernels
from errai.engine.plan import Plan
from errai.engine.root import Pair
from errai.engine.workspace import Buffers
from errai.errors import UsageError
from errai.tables.layout import Floats, Tables

LEARN, BEST, PLAY, KEEP = _blocks.LEARN, _blocks.BEST, _blocks.PLAY, _blocks.KEEP
"""What the walked player does in a round: learn, take the best action, play its table, or take the best
action and write it down where regrets would go."""

REACH, VALUES = kernels.REACH, kernels.VALUES

NUM_FACTORS = 5
"""Numbers of an update rule's step."""

NO_SCALE = np.ones(2)
NO_STEP = np.zeros((1, 2, NUM_FACTORS))


class CutPlace(NamedTuple):
    """Where a walk is cut.

    Attributes:
        round: the first round below the cut, counted from the plan's first.
        dealt: whether that round's cards are dealt in the trunk.
    """

    round: int
    dealt: bool


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a plan.

    Attributes:
        top: its first round, counted as in the plan.
        entries: its entries in that round, first and one past the last.
        bounds: int64[S + 1] its boards in that round, in shares whose values come out apart.
        dealt: whether what is given at the start is for the cells of these boards, or of their parent.
        root_board: if dealt, the board whose cells come first in what is given.
        root_entries: the entries that are given, first and one past the last.
        widths: int64[2] if not dealt, each player's cells at the parent.
        stop: the first round that is not walked.
        cut: where it stops; None at the end of the game.
    """

    top: int
    entries: tuple[int, int]
    bounds: npt.NDArray[np.int64]
    dealt: bool
    root_board: int
    root_entries: tuple[int, int]
    widths: npt.NDArray[np.int64]
    stop: int
    cut: CutPlace | None = None


def whole_section(plan: Plan, cut: CutPlace | None = None) -> Section:
    """Return all of a plan from its root cells on, or its trunk above a cut."""
    entries = plan.entries(0)
    return Section(
        top=0,
        entries=entries,
        bounds=np.array(plan.boards(0)),
        dealt=False,
        root_board=0,
        root_entries=entries,
        widths=np.array([len(root.multiplicity) for root in plan.cells.root]),
        stop=plan.num_rounds if cut is None else cut.round,
        cut=cut,
    )


def section_below(
    plan: Plan, cut: CutPlace, bounds: npt.NDArray[np.int64], parent: int | None = None
) -> Section:
    """Return what is below a cut at some boards of its first round.

    Args:
        plan: boards of trunk and sub-games.
        cut: the cut.
        bounds: the boards, in shares.
        parent: if the cut lies before the deal, the board that they are dealt to.
    """
    entries = plan.entries(cut.round)
    widths = [0, 0] if parent is None else [plan.num_cells(q, parent, parent + 1) for q in (0, 1)]
    return Section(
        top=cut.round,
        entries=entries,
        bounds=bounds,
        dealt=parent is None,
        root_board=plan.boards(cut.round)[0],
        root_entries=entries,
        widths=np.array(widths),
        stop=plan.num_rounds,
    )


def verified_cut(plan: Plan, cut: CutPlace) -> CutPlace:
    """Refuse a cut where no round begins."""
    if not 1 <= cut.round < plan.num_rounds:
        raise UsageError(f"the round of a cut must be 1 to {plan.num_rounds - 1}, not {cut.round}")
    return cut


def given_boards(plan: Plan, cut: CutPlace) -> tuple[int, int]:
    """Return the boards at a cut, first and one past the last."""
    return plan.boards(cut.round if cut.dealt else cut.round - 1)


def given_size(plan: Plan, cut: CutPlace, player: int) -> int:
    """Return how many numbers a player's reach, or values, at a cut are."""
    first, last = plan.entries(cut.round)
    return plan.num_cells(player, *given_boards(plan, cut)) * (last - first)


def given_slice(plan: Plan, cut: CutPlace, given: Floats, player: int, board: int) -> Floats:
    """Return what is given at a cut for one board: float[entries x cells], entry by entry."""
    first, last = plan.entries(cut.round)
    begin = plan.num_cells(player, given_boards(plan, cut)[0], board) * (last - first)
    return given[begin : begin + plan.num_cells(player, board, board + 1) * (last - first)]


def walk_section(
    plan: Plan,
    section: Section,
    stage: int,
    players: tuple[int, int],
    modes: npt.NDArray[np.uint8],
    tables: Tables,
    buffers: Buffers,
    above: Pair,
    out: Pair,
    *,
    given_reach: Pair | None = None,
    given_values: Pair | None = None,
    steps: npt.NDArray[np.float64] = NO_STEP,
    scales: npt.NDArray[np.float64] = NO_SCALE,
    with_own: bool = False,
) -> None:
    """Walk a section for some players in turn.

    Args:
        plan: what is walked.
        section: which part of it.
        stage: REACH or VALUES.
        players: the first, and one past the last.
        modes: uint8[2, R] what each player does in each round when it is walked.
        tables: what both play, and what is written.
        buffers: of this caller, made for the section's rounds.
        above: [player] reach at the start.
        out: [player] values at the start; zero before if the section is dealt.
        given_reach: [player] reach at the stop, written in stage REACH; zero before.
        given_values: [player] values at the stop, read in stage VALUES.
        steps: float64[iterations, 2, 5] of the update rule.
        scales: float64[2] for each walked player, a factor of the opponent's reach at the start.
        with_own: whether the walked player's own reach is needed: where it learns. Without it, entries that
            the opponent reaches with no hand are left out.
    """
    cut = section.cut
    stops, given_board, given_entries = kernels.TO_THE_END, 0, (0, 0)
    if cut is not None:
        stops = kernels.DEALT if cut.dealt else kernels.UNDEALT
        given_board, given_entries = given_boards(plan, cut)[0], plan.entries(cut.round)
    kernels.walk(
        stage,
        *players,
        modes,
        with_own,
        steps,
        scales,
        section.top,
        *section.entries,
        section.bounds,
        section.dealt,
        section.root_board,
        section.root_entries[0],
        section.root_entries[1] - section.root_entries[0],
        section.widths,
        section.stop,
        stops,
        given_board,
        given_entries[0],
        given_entries[1] - given_entries[0],
        plan.walk.plan,
        plan.children,
        plan.bucketed_arrays if with_own and tables.row_kind.any() else plan.arrays,
        tables,
        above,
        above if given_reach is None else given_reach,
        above if given_values is None else given_values,
        buffers,
        out,
    )
