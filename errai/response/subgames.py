"""Exact best response sub-game by sub-game, for games whose hands do not fit into memory at once.

The public tree is cut after the first public deal (Johanson, Waugh, Bowling and Zinkevich 2011: 24,570
sub-games in limit hold'em, one for each position, entry and flop). Steps:

1. The trunk takes the reach of both positions down to the cut.
2. For each board of the cut its hands and those of all boards that follow are made, both positions' best
   responses are walked below all entries at once, and the hands are dropped. Threads share the boards.
3. The trunk is walked once more with these values given.

What is done is kept in files of some boards each, so that a computation of hours can be interrupted and
resumed: the values of a board do not depend on when, or on which thread, it was walked. Boards and entries
that the opponent reaches with no hand are left out.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from errai.array_file import read_array, remove_temporaries, write_array
from errai.engine.plan import Plan
from errai.engine.public_tree import PublicTree
from errai.engine.root import Pair
from errai.engine.section import BEST, PLAY, VALUES, walk_section, whole_section
from errai.engine.workspace import Buffers, make_buffers
from errai.games.deals import Deals
from errai.response.results import Exploitability
from errai.response.trunk import DTYPE, Trunk, Values
from errai.strategy.played import Play, join_plays
from errai.tables.layout import Floats, Tables
from errai.tree.cells import cells_below
from errai.tree.subgame import boards_below
from errai.workers import Progress, start_workers

SAVE_EVERY = 5
"""Boards in one file of what is done; a kill costs no more than these and those under way."""

MODE_NAMES = {BEST: "best-response", PLAY: "play"}


class BoardWalk(NamedTuple):
    """What the walk of one board of the cut needs.

    Attributes:
        plan: its boards and hands.
        tables: what both positions play there.
        buffers: of the walk.
    """

    plan: Plan
    tables: Tables
    buffers: Buffers

    @property
    def nbytes(self) -> int:
        """Bytes that are in memory while the board is walked, what both positions play apart."""
        cells, arrays = self.plan.cells, self.plan.arrays
        parts: list[Floats] = [*cells.players[0], *cells.boards, *arrays, *self.tables.bucket]
        return sum(array.nbytes for array in parts) + self.buffers.nbytes


class SubgameResponse:
    """Best responses to what two positions play: the trunk, and the sub-games below it.

    Attributes:
        tree: the game; its cells are never asked for.
        plays: what each position plays.
        trunk: what is above the cut.
        cut: where the tree is cut.
        deals: the game's boards.
        given: [position] at the cut, [board, entry, cell]: the reach that arrives there and, once a board is
            walked, in its place what a best response wins: nobody needs both, and nothing is larger.
    """

    def __init__(
        self,
        tree: PublicTree,
        plays: tuple[Play, Play],
        mode: int = BEST,
        players: tuple[int, int] = (0, 2),
    ) -> None:
        """Make the trunk and take reach down to the cut.

        Args:
            tree: a game that deals public cards after its first round.
            plays: what each position plays.
            mode: BEST for best responses, PLAY for what the plays themselves win.
            players: whose values are wanted: the first, and one past the last.
        """
        self.tree, self.plays, self.deals = tree, plays, Deals(tree.rules)
        self.mode, self.players = mode, players
        self.trunk = Trunk(tree, plays, self.deals)
        self.cut = self.trunk.cut
        # Built here once: threads would build them at the same time.
        self.deals.boards.cards(self.deals.board_round(tree.rules.num_rounds - 1))
        self.given = self.trunk.reach()

    @property
    def num_boards(self) -> int:
        """Boards at the cut."""
        return self.trunk.num_boards

    @property
    def fingerprint(self) -> str:
        """Two computations with the same one have the same values."""
        tree = self.tree
        about = f"{tree.game!r} {tree.menu!r} {tree.payoffs.describe()} {self.cut} {self.mode} "
        whose = "" if self.players == (0, 2) else f"{self.players} "
        what = about + whose + " ".join(play.fingerprint for play in self.plays)
        return hashlib.blake2b(what.encode(), digest_size=16).hexdigest()

    def given_at(self, board: int) -> Pair:
        """Return what is given at the cut for one of its boards, [entry, cell] for each position."""
        return self.trunk.at_board(self.given, board)

    def is_live(self, board: int) -> bool:
        """Return whether any hand of either position reaches any sub-game of a board not yet walked."""
        return any(reach.any() for reach in self.given_at(board))

    def prepare_board(self, board: int) -> BoardWalk:
        """Make the hands of one board of the cut and of all that follow it, and look up what is played."""
        cells = cells_below(self.deals, self.cut.round, board)
        plan = Plan(self.tree.walk, cells, DTYPE)
        boards = boards_below(self.deals, self.cut.round, board)
        tables = join_plays(*(play.bind(cells, boards, DTYPE) for play in self.plays))
        return BoardWalk(plan, tables, make_buffers(plan, with_slots=True))

    def walk_board(self, board: int) -> None:
        """Find what both positions win below all entries at one board of the cut."""
        if self.is_live(board):
            values = self.walk_entries(board, self.prepare_board(board))
            for given, found in zip(self.given_at(board), values, strict=True):
                given[:] = found

    def walk_entries(self, board: int, walk: BoardWalk, entries: tuple[int, int] | None = None) -> Pair:
        """Walk below some entries of a board, all of them unless said otherwise; returns the values."""
        section, reach = whole_section(walk.plan), self.given_at(board)
        values = (np.zeros_like(reach[0]), np.zeros_like(reach[1]))
        walk_section(
            walk.plan,
            section if entries is None else replace(section, entries=entries),
            VALUES,
            self.players,
            np.full((2, walk.plan.num_rounds), self.mode, dtype=np.uint8),
            walk.tables,
            walk.buffers,
            reach,
            values,
        )
        return values

    def root_values(self) -> Values:
        """Return what a best response wins in each position, once all boards are walked."""
        return self.trunk.root_values(self.given, self.mode)


def exploitability_by_subgames(
    tree: PublicTree,
    plays: tuple[Play, Play],
    num_threads: int = 1,
    keep_in: Path | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Exploitability:
    """Measure what two positions play.

    Args:
        tree: a game that deals public cards after its first round.
        plays: what each position plays.
        num_threads: boards at a time; the result does not depend on it.
        keep_in: a folder in which what is done is kept and found again.
        report: called with (boards done, boards in all).
    """
    modes = [BEST] if tree.payoffs.is_zero_sum else [BEST, PLAY]
    found = []
    for i, mode in enumerate(modes):

        def tell(done: int, total: int, before: int = i) -> None:
            if report is not None:
                report(before * total + done, len(modes) * total)

        found.append(_walk_all(SubgameResponse(tree, plays, mode), num_threads, keep_in, tell))
    own = None if tree.payoffs.is_zero_sum else found[1]
    return Exploitability(found[0], tree.game.big_blind, tree.payoffs.describe(), own)


def _walk_all(
    response: SubgameResponse, num_threads: int, keep_in: Path | None, report: Callable[[int, int], None]
) -> Values:
    """Walk every board that is not kept already; returns what each position wins."""
    total = response.num_boards
    batches = [(first, min(first + SAVE_EVERY, total)) for first in range(0, total, SAVE_EVERY)]
    walk_boards(response, batches, num_threads, keep_in, report)
    return response.root_values()


def walk_boards(
    response: SubgameResponse,
    batches: Sequence[tuple[int, int]],
    num_threads: int,
    keep_in: Path | None,
    report: Callable[[int, int], None],
) -> None:
    """Walk some boards that nobody has walked yet, or take over what is kept of them.

    Args:
        response: whose boards.
        batches: first board, and one past the last: boards that are kept in one file.
        num_threads: boards at a time.
        keep_in: a folder in which what is done is kept and found again.
        report: called with (boards done, boards in all).
    """
    kept = _KeptValues(response, keep_in)
    known = {batch for batch in batches if kept.read(*batch)}
    boards = [(batch, board) for batch in batches for board in range(*batch)]

    def work(place: int, _: int) -> None:
        batch, board = boards[place]
        if batch not in known:
            response.walk_board(board)

    with start_workers(num_threads) as workers:
        for place, done, _ in workers.map(work, len(boards), 1, Progress(None, len(boards))):
            batch, board = boards[place]
            if batch not in known and board + 1 == batch[1]:
                kept.write(*batch)
            report(done, len(boards))


class _KeptValues:
    """What is done of a computation, in files of neighbouring boards."""

    def __init__(self, response: SubgameResponse, folder: Path | None) -> None:
        self.response, self.folder = response, folder
        self.fingerprint = response.fingerprint if folder is not None else ""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            remove_temporaries(folder)

    def read(self, first: int, last: int) -> bool:
        """Take over the values of some boards; returns whether they were there."""
        path = self._path(first, last)
        if path is None or not path.exists():
            return False
        _, values = read_array(path, fingerprint=self.fingerprint)
        begin = 0
        for part in self._parts(first, last):
            part[:] = values[begin : begin + len(part)]
            begin += len(part)
        return True

    def write(self, first: int, last: int) -> None:
        """Keep the values of some boards."""
        path = self._path(first, last)
        if path is not None:
            write_array(
                path,
                self._parts(first, last),
                name=path.stem,
                units="chips",
                fingerprint=self.fingerprint,
                notes={"boards": [first, last], "of": self.response.num_boards},
            )

    def _path(self, first: int, last: int) -> Path | None:
        return (
            None
            if self.folder is None
            else self.folder / f"{MODE_NAMES[self.response.mode]}-{first:06d}-{last:06d}.array"
        )

    def _parts(self, first: int, last: int) -> list[Floats]:
        """Return the values of some boards, position by position."""
        trunk, cut_at = self.response.trunk.plan, self.response.cut.round
        boards, entries = trunk.boards(cut_at)[0], trunk.entries(cut_at)
        parts = []
        for q in (0, 1):
            edges = [
                trunk.num_cells(q, boards, boards + board) * (entries[1] - entries[0])
                for board in (first, last)
            ]
            parts.append(self.response.given[q][edges[0] : edges[1]])
        return parts
