"""A run on disk: what is written where, and how it is found again.

A *run* is a folder:

    run.toml          the whole configuration: game, bets, abstraction, algorithm, options, dtype, seed
    fingerprint       checksum of run.toml; stands in every array
    checkpoint.json   the iteration, when to stop, and the arrays of the last good checkpoint
    regrets-0-NNNNNN.array, ...   the arrays
    buckets           with an abstraction: the bucket of every cell of the game
    progress.jsonl    one line for each measurement

`run.toml` is written once and never changed. Lines of `progress.jsonl` after the last checkpoint are
dropped when a run goes on: it measures again what it solves again. A run keeps the buckets that it was solved
with, so that its strategy does not depend on where the abstraction came from.
"""

import json
import os
import tomllib
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from errai.array_file import (
    Array,
    checksum,
    is_temporary,
    read_array,
    write_array,
    write_text,
)
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.catalogue import Game
from errai.response.exploitability import Exploitability
from errai.solvers.solve import Measurement, Solver, StopRule
from errai.strategy.files import describe_game, read_strategy, restore_game, strategy_game
from errai.strategy.strategy import Strategy
from errai.tables.checkpoint import CheckpointWriter, has_checkpoint, read_arrays, read_checkpoint
from errai.tree.bet_menu import BetMenu
from errai.tree.buckets import Buckets

CONFIGURATION_NAME = "run.toml"
FINGERPRINT_NAME = "fingerprint"
PROGRESS_NAME = "progress.jsonl"
BUCKETS_NAME = "buckets"
VERSION = 1

UNITS = {"regrets": "chips", "averages": "weight"}
"""Of the tables that every rule has; those of a rule's own are in units of its own."""


class AbstractionMark(NamedTuple):
    """What tells one abstraction from another.

    Attributes:
        name: what reports call it.
        fingerprint: checksum of the bucket of every cell.
    """

    name: str
    fingerprint: str

    @staticmethod
    def of(tree: PublicTree) -> "AbstractionMark | None":
        """Return the mark of a tree's buckets; None where it has none."""
        return None if tree.buckets is None else AbstractionMark(tree.buckets.name, tree.buckets.fingerprint)


@dataclass(frozen=True)
class RunConfiguration:
    """All that decides a run's tables, iteration by iteration.

    Attributes:
        game: the game.
        bets: bet sizes of a no-limit game.
        algorithm: as given to `solve`.
        alternating: whether players learn in turn.
        delay: iterations before averaging starts.
        discount: (alpha, beta, gamma) of `dcfr`.
        dtype: of the tables.
        seed: of everything random.
        abstraction: what the players see; None for everything.
        rule: the algorithm spelt out where its name does not say all of it; None where it does.
    """

    game: Game
    bets: BetMenu | None
    algorithm: str
    alternating: bool
    delay: int
    discount: tuple[float, float, float] | None
    dtype: str
    seed: int
    abstraction: AbstractionMark | None = None
    rule: str | None = None

    def text(self) -> str:
        """Return the configuration as TOML, the same text for the same configuration."""
        algorithm: dict[str, Any] = {
            "name": self.algorithm,
            "alternating": self.alternating,
            "delay": self.delay,
            **({"discount": list(self.discount)} if self.discount is not None else {}),
            **({"rule": self.rule} if self.rule is not None else {}),
            "dtype": self.dtype,
            "seed": self.seed,
        }
        lines = ["# A run of Errai. Nothing here may change: the fingerprint beside it is checked."]
        for section, entries in (
            ("format", {"kind": "run", "version": VERSION}),
            *describe_game(self.game, self.bets).items(),
            *([("abstraction", self.abstraction._asdict())] if self.abstraction is not None else []),
            ("algorithm", algorithm),
        ):
            lines += ["", f"[{section}]", *(f"{key} = {_toml(value)}" for key, value in entries.items())]
        return "\n".join(lines) + "\n"

    @staticmethod
    def parse(text: str, path: str) -> "RunConfiguration":
        """Read what `text` wrote."""
        entries = tomllib.loads(text)
        if entries["format"] != {"kind": "run", "version": VERSION}:
            raise UsageError(
                f"'{path}' has format version {entries['format']['version']}: version {VERSION} is allowed"
            )
        game, menu = restore_game(entries)
        about = entries["algorithm"]
        discount = about.get("discount")
        return RunConfiguration(
            game,
            menu,
            about["name"],
            about["alternating"],
            about["delay"],
            (discount[0], discount[1], discount[2]) if discount is not None else None,
            about["dtype"],
            about["seed"],
            AbstractionMark(**entries["abstraction"]) if "abstraction" in entries else None,
            about.get("rule"),
        )

    def verify_same(self, other: "RunConfiguration", path: str | Path) -> None:
        """Refuse to go on with a run of another configuration, by the name of what differs."""
        for name in RunConfiguration.__dataclass_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise UsageError(
                    f"'{path}' is a run with {name} {_brief(mine)}, not {_brief(theirs)}: "
                    "only the same configuration can go on"
                )


def _brief(value: Any) -> str:
    if isinstance(value, AbstractionMark):
        return f"'{value.name}' (fingerprint {value.fingerprint[:12]})"
    if isinstance(value, BetMenu):
        return f"'{value.text}'"
    return f"'{getattr(value, 'name', value)}'"


def _toml(value: Any) -> str:
    if isinstance(value, str) and "\n" in value:
        return f'"""\n{value}"""'  # the text of a game file has no sign that needs an escape
    if isinstance(value, list):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, float):
        return repr(value)  # JSON has another word for infinity
    # Strings, numbers and booleans look alike in TOML and JSON but for one sign.
    return json.dumps(value).replace("\x7f", "\\u007f")


class RunFolder:
    """A run on disk."""

    def __init__(self, path: str | Path) -> None:
        """Open a run's folder and verify its configuration.

        Args:
            path: the folder.
        """
        self.path = Path(path)
        if not has_checkpoint(path):
            raise UsageError(f"'{path}' is not a run: it has no checkpoint.json")
        text = self._read_text(CONFIGURATION_NAME)
        self.fingerprint = checksum(text.encode())
        if self._read_text(FINGERPRINT_NAME) != f"{self.fingerprint}\n":
            raise UsageError(
                f"'{self.path / CONFIGURATION_NAME}' and '{self.path / FINGERPRINT_NAME}' do not fit: "
                "one of them was changed after the run began"
            )
        self.configuration = RunConfiguration.parse(text, str(self.path / CONFIGURATION_NAME))
        self._writer: CheckpointWriter | None = None

    @staticmethod
    def create(
        path: str | Path,
        configuration: RunConfiguration,
        state: dict[str, Any],
        buckets: Buckets | None = None,
    ) -> "RunFolder":
        """Make the folder of a run that has not begun; one that holds a run, or other things, is refused.

        Args:
            path: the folder.
            configuration: of the run.
            state: when it is to stop, as `stop_state` gives it.
            buckets: of its abstraction.
        """
        folder = Path(path)
        if has_checkpoint(folder):
            raise UsageError(f"'{path}' holds a run already: resume it, or choose another folder")
        # A kill right after the folder was made leaves nothing but a temporary file.
        is_ours = folder.is_dir() and (
            (folder / CONFIGURATION_NAME).exists() or all(is_temporary(one) for one in folder.iterdir())
        )
        if folder.exists() and not is_ours:
            raise UsageError(f"'{path}' is in use and holds no run: an empty or a new folder is allowed")
        text = configuration.text()
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / CONFIGURATION_NAME, text)
        write_text(folder / FINGERPRINT_NAME, checksum(text.encode()) + "\n")
        write_text(folder / PROGRESS_NAME, "")
        if buckets is not None:
            _write_buckets(folder / BUCKETS_NAME, buckets, checksum(text.encode()))
        writer = CheckpointWriter(folder, checksum(text.encode()))
        writer.write({"iteration": 0, "seconds": 0.0, **state, **_progress_state(b"")}, {})
        writer.close()
        return RunFolder(folder)

    def _read_text(self, name: str) -> str:
        try:
            return (self.path / name).read_bytes().decode()
        except OSError as error:
            raise UsageError(f"'{self.path / name}' cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"'{self.path / name}' is damaged: it is not text") from None

    def tree(self) -> PublicTree:
        """Return the public tree of the run's game, abstracted as the run was."""
        tree = PublicTree.of(self.configuration.game, self.configuration.bets)
        return tree if self.configuration.abstraction is None else tree.abstracted(self._buckets)

    @cached_property
    def _buckets(self) -> Buckets:
        assert self.configuration.abstraction is not None
        path = self.path / BUCKETS_NAME
        header, array = read_array(path, fingerprint=self.fingerprint)
        maps: tuple[dict[int, npt.NDArray[np.integer]], ...] = ({}, {})
        begin = 0
        for player, round_index, size in header.notes["maps"]:
            maps[player][round_index] = array[begin : begin + size]
            begin += size
        buckets = Buckets((maps[0], maps[1]), self.configuration.abstraction.name)
        if buckets.fingerprint != self.configuration.abstraction.fingerprint:
            raise UsageError(f"'{path}' holds other buckets than those of the run's abstraction")
        return buckets

    def state(self) -> dict[str, Any]:
        """Return what the last checkpoint says besides its arrays."""
        return read_checkpoint(self.path, self.fingerprint).state

    def strategy(self) -> Strategy:
        """Return the average strategy of the last checkpoint, every bit of it verified."""
        self.measurements()
        _, tables = read_arrays(self.path, ["averages-0", "averages-1"], self.fingerprint)
        tree = self.tree()
        if tuple(len(table) for table in tables) != tree.layout.num_slots:
            raise UsageError(f"'{self.path}' has tables that do not fit its game '{tree.game.name}'")
        return Strategy(tree, (tables[0], tables[1]))

    def restore(self, solver: Solver) -> None:
        """Put a solver where the last checkpoint was."""
        found = read_checkpoint(self.path, self.fingerprint)
        if found.state["iteration"] == 0:
            return
        found, arrays = read_arrays(self.path, list(solver_tables(solver)), self.fingerprint)
        pairs = zip(arrays[::2], arrays[1::2], strict=True)
        tables = dict(zip(solver.tables, pairs, strict=True))
        solver.restore(found.state["iteration"], found.state["seconds"], tables)

    def measurements(self) -> list[Measurement]:
        """Return the measurements up to the last checkpoint."""
        state = self.state()
        content = self._progress(state)
        points = [json.loads(line) for line in content.decode().splitlines()]
        big_blind = self.configuration.game.big_blind if points else 0
        return [
            Measurement(
                point["iteration"],
                point["seconds"],
                Exploitability(
                    (point["best_response_values"][0], point["best_response_values"][1]), big_blind
                ),
            )
            for point in points
        ]

    def _progress(self, state: dict[str, Any]) -> bytes:
        path = self.path / PROGRESS_NAME
        try:
            content = path.read_bytes()[: state["progress_bytes"]]
        except OSError as error:
            raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None
        if _progress_state(content) != {key: state[key] for key in ("progress_bytes", "progress_checksum")}:
            raise UsageError(f"'{path}' is damaged: it does not fit the checksum in checkpoint.json")
        return content

    def lock(self) -> None:
        """Become the process that writes, and drop the measurements after the last checkpoint."""
        self._writer = CheckpointWriter(self.path, self.fingerprint)
        write_text(self.path / PROGRESS_NAME, self._progress(self.state()).decode())

    def unlock(self) -> None:
        """Let another process write."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def log(self, measurement: Measurement) -> None:
        """Append a measurement to `progress.jsonl`."""
        measured = measurement.exploitability
        entry = {
            "iteration": measurement.iteration,
            "seconds": measurement.seconds,
            **asdict(measured),
            "chips": measured.chips,
            "mbb_per_game": measured.mbb_per_game,
        }
        with open(self.path / PROGRESS_NAME, "a") as lines:
            lines.write(json.dumps(entry) + "\n")

    def save(self, iteration: int, seconds: float, stop: dict[str, Any], tables: dict[str, Array]) -> None:
        """Write a checkpoint.

        Args:
            iteration: iterations done.
            seconds: time that they took.
            stop: when the run is to stop, as `stop_state` gives it.
            tables: by name, as `solver_tables` gives them.
        """
        assert self._writer is not None
        with open(self.path / PROGRESS_NAME, "rb") as lines:
            os.fsync(lines.fileno())  # what the checkpoint vouches for must be on disk before it
            progress = _progress_state(lines.read())
        state = {"iteration": iteration, "seconds": seconds, **stop, **progress}
        self._writer.write(
            state,
            {name: (table, UNITS.get(name.partition("-")[0], "rule")) for name, table in tables.items()},
        )


def _write_buckets(path: Path, buckets: Buckets, fingerprint: str) -> None:
    maps = [(player, r, of[r]) for player, of in enumerate(buckets.maps) for r in sorted(of)]
    parts = [found.astype(np.int32) for _, _, found in maps]
    notes = {"maps": [(player, r, len(found)) for player, r, found in maps]}
    array = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    write_array(path, array, name="buckets", units="buckets", fingerprint=fingerprint, notes=notes)


def stop_state(stop: StopRule, measure_every: int | None) -> dict[str, Any]:
    """Return a stop rule as a checkpoint keeps it."""
    return {"stop": asdict(stop), "measure_every": measure_every}


def stop_from_state(state: dict[str, Any]) -> tuple[StopRule, int | None]:
    """Return the stop rule that a checkpoint has kept."""
    return StopRule(**state["stop"]), state["measure_every"]


def solver_tables(solver: Solver) -> dict[str, Array]:
    """Return the tables of a solver by name and player, such as `regrets-0`."""
    return {
        f"{name}-{player}": table for name, pair in solver.tables.items() for player, table in enumerate(pair)
    }


def _progress_state(content: bytes) -> dict[str, Any]:
    return {"progress_bytes": len(content), "progress_checksum": checksum(content)}


def load_strategy(path: str | Path) -> Strategy:
    """Read a strategy that `Strategy.save` wrote, or the average strategy of a run's folder.

    Args:
        path: a strategy file or a run's folder.
    """
    return RunFolder(path).strategy() if Path(path).is_dir() else read_strategy(path)


def saved_game(path: str | Path) -> tuple[Game, BetMenu | None]:
    """Return the game and bet sizes of a saved strategy or run without reading its tables."""
    if Path(path).is_dir():
        about = RunFolder(path).configuration
        return about.game, about.bets
    return strategy_game(path)
