"""Results of matches in an SQLite database, batch by batch, so that a killed match goes on where it was.

`matches` has one row for each match: game, agents with a fingerprint of what they are, seed, and whether it
is a duplicate match. `batches` has one row for each batch of deals: its exact sums, and how long the match's
log files were after it. A batch is one transaction in write-ahead mode: after a kill at any moment it is
there as a whole or not at all, and cards and draws of later deals depend on nothing but the seed.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from errai.array_file import checksum
from errai.errors import UsageError
from errai.games.catalogue import describe_rules
from errai.play.match import MatchPlan
from errai.play.match_logs import HandFile
from errai.play.match_score import Score
from errai.play.played_hands import PlayedHands
from errai.runs.folder import CONFIGURATION_NAME
from errai.strategy.postprocessing import split_options
from errai.tables.checkpoint import FILE_NAME

APPLICATION = 0x45727261
"""SQLite's mark of a file that is ours."""

VERSION = 1

_SCHEMA = """
CREATE TABLE matches (
    id INTEGER PRIMARY KEY,
    game TEXT NOT NULL,
    first TEXT NOT NULL,
    second TEXT NOT NULL,
    first_fingerprint TEXT NOT NULL,
    second_fingerprint TEXT NOT NULL,
    seed INTEGER NOT NULL,
    duplicate INTEGER NOT NULL,
    UNIQUE (game, first, second, first_fingerprint, second_fingerprint, seed, duplicate)
);
CREATE TABLE batches (
    match INTEGER NOT NULL REFERENCES matches (id),
    first_deal INTEGER NOT NULL,
    deals INTEGER NOT NULL,
    sums TEXT NOT NULL,
    files TEXT NOT NULL,
    PRIMARY KEY (match, first_deal)
) WITHOUT ROWID;
"""


def agent_fingerprint(text: str) -> str:
    """Return what tells an agent from another of the same name: a checksum of its file or its run's state."""
    path = Path(split_options(text)[0])
    if path.is_file():
        return checksum(path.read_bytes())
    parts = [path / CONFIGURATION_NAME, path / FILE_NAME]
    found = b"".join(part.read_bytes() for part in parts if part.is_file())
    return checksum(found) if found else ""


@dataclass(frozen=True)
class MatchKey:
    """What tells a match from others.

    Attributes:
        game: the rules, as text.
        first: the first agent, as it was given.
        second: the second one.
        first_fingerprint: of what the first agent is.
        second_fingerprint: of what the second one is.
        seed: of cards and draws.
        duplicate: whether every deal is played twice.
    """

    game: str
    first: str
    second: str
    first_fingerprint: str
    second_fingerprint: str
    seed: int
    duplicate: bool

    @staticmethod
    def of(plan: MatchPlan, first: str, second: str) -> "MatchKey":
        """Return the key of a match between agents that were given as text."""
        game = json.dumps(describe_rules(plan.rules), sort_keys=True)
        prints = agent_fingerprint(first), agent_fingerprint(second)
        return MatchKey(game, first, second, *prints, plan.seed, plan.duplicate)


class MatchResults:
    """A database of matches."""

    def __init__(self, path: str | Path) -> None:
        """Open a database, or make it where there is none."""
        self.path = Path(path)
        try:
            self._connection = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
            self._prepare()
        except sqlite3.Error as error:
            raise UsageError(f"'{path}' cannot be used for results of matches: {error}") from None

    def _prepare(self) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run("BEGIN IMMEDIATE")
        try:
            (application,) = run("PRAGMA application_id").fetchone()
            (version,) = run("PRAGMA user_version").fetchone()
            if application == 0 and not run("SELECT name FROM sqlite_master").fetchall():
                for statement in _SCHEMA.split(";"):
                    run(statement)
                run(f"PRAGMA application_id={APPLICATION}")
                run(f"PRAGMA user_version={VERSION}")
            elif (application, version) != (APPLICATION, VERSION):
                raise UsageError(
                    f"'{self.path}' holds something else than results of matches: expected a new file, "
                    "or one that 'errai match --results' made"
                )
        finally:
            run("COMMIT")

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def match_number(self, key: MatchKey) -> int:
        """Return the number of a match, which is noted where it is new."""
        columns, values = zip(*asdict(key).items(), strict=True)
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        self._connection.execute(f"INSERT OR IGNORE INTO matches ({names}) VALUES ({marks})", values)
        where = " AND ".join(f"{column} = ?" for column in columns)
        (number,) = self._connection.execute(f"SELECT id FROM matches WHERE {where}", values).fetchone()
        return int(number)

    def score(self, match: int, empty: Score) -> tuple[Score, dict[str, int]]:
        """Return what a match has come to, and how long its files were after its last batch.

        Args:
            match: its number.
            empty: its score before the first deal.
        """
        score, files = empty, {}
        rows = self._connection.execute(
            "SELECT first_deal, deals, sums, files FROM batches WHERE match = ? ORDER BY first_deal", (match,)
        )
        for first_deal, deals, sums, sizes in rows:
            if first_deal != score.deals:
                raise UsageError(f"'{self.path}' is damaged: match {match} lacks deals before {first_deal}")
            totals, squares, hand_squares, illegal = json.loads(sums)
            batch = Score(
                empty.big_blind,
                empty.hands_a_deal,
                deals,
                tuple(totals),
                squares,
                hand_squares,
                (illegal[0], illegal[1]),
            )
            score, files = score.joined(batch), json.loads(sizes)
        return score, files

    def add(self, match: int, first_deal: int, batch: Score, files: dict[str, int]) -> None:
        """Keep a batch; it is safe when this returns.

        Args:
            match: whose.
            first_deal: number of its first deal.
            batch: the score of its deals alone.
            files: how long the match's files are now, by path.
        """
        # JSON, because squares may be too large for SQLite's whole numbers.
        sums = [list(batch.totals), batch.squares, batch.hand_squares, list(batch.illegal_actions)]
        try:
            self._connection.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?, ?)",
                (match, first_deal, batch.deals, json.dumps(sums), json.dumps(files)),
            )
        except sqlite3.IntegrityError:
            raise UsageError(
                f"another process plays the same match into '{self.path}': "
                "wait for it, or choose another file"
            ) from None
        except sqlite3.Error as error:
            raise UsageError(f"'{self.path}' cannot be written: {error}") from None


class ResultKeeper:
    """Keeps batches: first in files, then in a database that says how long these are."""

    def __init__(
        self, files: Sequence[HandFile], results: MatchResults | None = None, match: int | None = None
    ) -> None:
        self._files, self._results, self._match = files, results, match

    def keep(self, played: PlayedHands, first_deal: int, score: Score) -> None:
        """Keep a batch; see `Keeper`."""
        for file in self._files:
            file.add(played, first_deal)
        if self._results is not None and self._match is not None:
            sizes = {str(file.path.absolute()): file.size for file in self._files}
            self._results.add(self._match, first_deal, score, sizes)
